import inspect
from types import SimpleNamespace

import pytest

from adjit import cli
from adjit.transform import pipeline


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A file with a function, and a transformation that says what it was asked for."""

    def signature(derivative):
        names = list(inspect.signature(derivative.function).parameters)
        names += [f"{name}_dot" for name in names] if derivative.kind == "jvp" else []
        return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def source(derivative, arg_types):
        return SimpleNamespace(text=f"{derivative.kind} {derivative.wrt} {len(arg_types)}\n")

    monkeypatch.setattr(pipeline, "signature", signature)
    monkeypatch.setattr(pipeline, "source", source)
    path = tmp_path / "bonds_for_cli.py"
    path.write_text("def energy(x, k):\n    return k * x.sum()\n")
    return str(path)


def test_reverse(program, capsys):
    assert cli.main(["source", f"{program}:energy", "--wrt", "x", "--types", "float64[:], float64"]) == 0
    assert capsys.readouterr().out == "grad (0,) 2\n"


def test_forward(program, capsys):
    arguments = ["source", f"{program}:energy", "--wrt", "k, -2", "--types", "float64[:], float64", "--mode", "forward"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out == "jvp (1, 0) 4\n"


def test_refusal(program, capsys):
    assert cli.main(["source", f"{program}:energy", "--wrt", "z"]) == 1
    assert capsys.readouterr().err.startswith("WrongWrt: there is no parameter 'z'")


@pytest.mark.parametrize("where", ["energy", "no_such_file.py:energy"])
def test_no_such_file(where):
    with pytest.raises(SystemExit, match="adjit: "):
        cli.main(["source", where])


def test_no_such_function(program):
    with pytest.raises(SystemExit, match="no 'force'"):
        cli.main(["source", f"{program}:force"])
