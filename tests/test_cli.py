from types import SimpleNamespace

import pytest

from adjit import cli
from adjit.transform import pipeline


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A file with a function, and a transformation that says what it was asked for."""

    def source(derivative, arg_types, vectormath):
        return SimpleNamespace(text=f"{derivative.kind} {derivative.wrt} {len(arg_types)}\n")

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
    assert capsys.readouterr().err.startswith("WrongWrt: energy has no parameter 'z'")


@pytest.mark.parametrize("where", ["energy", "no_such_file.py:energy"])
def test_no_such_file(where):
    with pytest.raises(SystemExit, match="adjit: "):
        cli.main(["source", where])


def test_no_such_function(program):
    with pytest.raises(SystemExit, match="no 'force'"):
        cli.main(["source", f"{program}:force"])


CHAIN = """def energy(x, k):
    # stiffness first
    half = 0.5 * k
    total = 0.0
    for i in range(x.size - 1):
        stretch = x[i + 1] - x[i]
        total += half * stretch * stretch
    return total
"""

GRADIENT = '''def energy_grad(x, k):
    """Gradient of energy at chain_for_cli.py:1 with respect to x."""
    # ---- forward sweep
    # stiffness first
    half = 0.5 * k
    # ---- reverse sweep
    x_bar = np.zeros_like(x)
    for i in range(x.size - 2, -1, -1):
        # L7: total += half * stretch * stretch
        stretch = x[i + 1] - x[i]
        stretch_bar = 2.0 * (half * stretch)
        # L6: stretch = x[i + 1] - x[i]
        x_bar[i] -= stretch_bar
        x_bar[i + 1] += stretch_bar
    return x_bar
'''


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "chain_for_cli.py"
    path.write_text(CHAIN)
    return f"{path}:energy"


def test_gradient_as_text(chain, capsys):
    assert cli.main(["source", chain, "--wrt", "x", "--types", "float64[:], float64"]) == 0
    assert capsys.readouterr().out == GRADIENT


EXPLANATION = """Gradient of energy at chain_for_cli.py:1 with respect to x
  for x: float64[:], k: float64

Variables
  name     line                  why
  x        argument  active      in wrt
  k        argument  not active  not in wrt: held fixed
  half     L3        not active  does not depend on x
  total    L4, L7    active      depends on x
  i        L5        not active  an integer
  stretch  L6        active      depends on x

Values that the reverse sweep reads
  value    line  how                                 where, and its bytes
  x              alive
  half     L3    alive
  stretch  L6    computed in the reverse sweep only

Memory
  array  for          bytes
  x_bar  shadow of x  8 * x.size

Loops
  line  loop                        what becomes of it
  L5    for i in range(x.size - 1)  reverse sweep only: the reverse sweep reads nothing that its
                                    forward trips make
"""


def test_explanation(chain, capsys):
    assert cli.main(["explain", chain, "--wrt", "x", "--types", "float64[:], float64"]) == 0
    assert capsys.readouterr().out == EXPLANATION


def test_explanation_of_a_tangent(chain, capsys):
    assert cli.main(["explain", chain, "--wrt", "x", "--types", "float64[:], float64", "--mode", "forward"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Value and tangent of energy at chain_for_cli.py:1 with respect to x"
    assert any(line.split()[:2] == ["L5", "for"] and line.endswith("with its tangents") for line in lines)
    assert "Memory" not in lines


def test_tangent_as_text(chain, capsys):
    assert cli.main(["source", chain, "--wrt", "x", "--types", "float64[:], float64", "--mode", "forward"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "def energy_jvp(x, k, x_dot, k_dot):"
    assert "        stretch_dot = x_dot[i + 1] - x_dot[i]" in lines
    assert not any("k_dot" in line for line in lines[1:])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import math\n\nlimit = math.sqrt(-1.0)\n",
            "FILE cannot be imported: ValueError: math domain error (line 3)",
        ),
        (
            "def f(x:\n    return x\n",
            "FILE cannot be imported: SyntaxError: '(' was never closed (broken_for_cli.py, line 1)",
        ),
        (
            "import nothing_of_the_kind\n",
            "FILE cannot be imported: ModuleNotFoundError: No module named 'nothing_of_the_kind'",
        ),
    ],
)
def test_a_file_that_cannot_be_imported(tmp_path, text, message):
    path = tmp_path / "broken_for_cli.py"
    path.write_text(text)
    with pytest.raises(SystemExit) as fault:
        cli.main(["source", f"{path}:f"])
    told = str(fault.value).replace(str(path), "FILE")
    assert told.startswith(f"adjit: {message}")
