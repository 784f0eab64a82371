import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import adjit
from adjit import cli
from adjit.transform import pipeline
from adjit.transform.emit import Emitted

ROOT = Path(__file__).parents[1]


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A file with a function, and a transformation that says what it was asked for."""

    def source(derivative, arg_types, vectormath):
        return Emitted("source", f"{derivative.kind} {derivative.wrt} {len(arg_types)}\n", {})

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


def test_a_reader_that_has_read_enough(program):
    command = [sys.executable, "-m", "adjit", "cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_refusal(program, capsys):
    assert cli.main(["source", f"{program}:energy", "--wrt", "z"]) == 1
    assert capsys.readouterr().err.startswith("WrongWrt: energy has no parameter 'z'")


def test_versions(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    said = capsys.readouterr().out
    assert said.startswith(f"adjit {adjit.__version__} (Python 3.")
    assert f"numba {numba.__version__}, NumPy {np.__version__})" in said


@pytest.mark.parametrize("where", ["energy", "no_such_file.py:energy"])
def test_no_such_file(where):
    with pytest.raises(SystemExit, match="adjit: "):
        cli.main(["source", where])


def test_no_such_function(program):
    with pytest.raises(SystemExit, match=f"no 'force' in .*; name a function: {re.escape(program)}:energy"):
        cli.main(["source", f"{program}:force"])


def test_what_is_no_function(program):
    with pytest.raises(SystemExit, match="'__name__' in .* is not a function; name a function"):
        cli.main(["source", f"{program}:__name__", "--types", "float64"])


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_types_are_asked_for(program, mode):
    with pytest.raises(SystemExit, match="give --types, or example arguments as --values, for the arguments "):
        cli.main(["source", f"{program}:energy", "--mode", mode])


@pytest.mark.parametrize("command", ["source", "report"])
def test_a_file_that_cannot_be_written(chain, tmp_path, command):
    out = tmp_path / "nowhere" / "out"
    with pytest.raises(SystemExit, match=f"{re.escape(str(out))} cannot be written: No such file"):
        cli.main([command, chain, "--wrt", "x", "--types", "float64[:], float64", "-o", str(out)])


def test_defaults_need_no_type(tmp_path, capsys):
    path = tmp_path / "default_for_cli.py"
    path.write_text("def f(x, k=0.5):\n    return k * x\n")
    for mode in ("reverse", "forward"):
        assert cli.main(["source", f"{path}:f", "--types", "float64", "--mode", mode]) == 0
    assert "return k * x, k * x_dot" in capsys.readouterr().out


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
  k        argument  not active  not in wrt
  half     L3        not active  does not depend on x
  total    L4, L7    active      depends on x
  i        L5        not active  an integer
  stretch  L6        active      depends on x

Values that the reverse sweep reads
  value    line  how                                 where, and bytes
  x              alive
  half     L3    alive
  stretch  L6    computed in the reverse sweep only

Memory
  array  for          bytes
  x_bar  shadow of x  8 * x.size

Loops
  line  loop                        how it is differentiated
  L5    for i in range(x.size - 1)  reverse loop only: the reverse sweep needs no value of its
                                    forward iterations
"""


def test_explanation(chain, capsys):
    assert cli.main(["explain", chain, "--wrt", "x", "--types", "float64[:], float64"]) == 0
    assert capsys.readouterr().out == EXPLANATION


def test_explanation_of_a_tangent(chain, capsys):
    assert cli.main(["explain", chain, "--wrt", "x", "--types", "float64[:], float64", "--mode", "forward"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Value and tangent of energy at chain_for_cli.py:1 with respect to x"
    assert any(line.split()[:2] == ["L5", "for"] and line.endswith("values and tangents in one loop") for line in lines)
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


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "spring_for_cli.py"
    path.write_text("import adjit\ndef energy(x, k):\n    return k * x * x\nslope = adjit.grad(energy)\n")
    return str(path)


def test_compiling_ahead_showing_and_clearing(cached, capsys):
    assert cli.main(["cache"]) == 0
    assert "0 derivatives" in capsys.readouterr().out
    types = ["--types", "float64, float64", "--types", "int64, float64"]
    assert cli.main(["compile", f"{cached}:energy", "--wrt", "k", *types]) == 0
    assert cli.main(["compile", f"{cached}:slope", "--types", "float64, float64"]) == 0
    assert cli.main(["cache"]) == 0
    assert "3 derivatives" in capsys.readouterr().out
    misses = adjit.cache_info().misses
    program = sys.modules["spring_for_cli"]
    assert program.slope(3.0, 2.0) == 12.0
    assert adjit.value_and_grad(program.energy, wrt="k")(3, 2.0) == (18.0, 9.0)
    assert adjit.cache_info().misses == misses
    assert cli.main(["cache", "--clear"]) == 0
    assert "removed" in capsys.readouterr().out
    assert adjit.cache_info().entries == 0


def test_compiling_what_is_not_kept_fails(cached, capsys, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE", "0")
    assert cli.main(["compile", f"{cached}:energy", "--types", "float64, float64"]) == 1
    assert "its cache is off" in capsys.readouterr().err
    assert cli.main(["cache"]) == 0
    assert "ADJIT_CACHE turns it off" in capsys.readouterr().out
