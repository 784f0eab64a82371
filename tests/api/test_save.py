"""Both levels of source: what is read, kept and run without adjit, and what is compiled."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import adjit
from adjit import cli
from adjit.errors import Unsupported, WrongCall
from adjit.transform.strategy import CHEAPEST
from tests.api import saved_programs as programs
from tests.random_programs.analytic import flat
from tests.random_programs.checks import _copied
from tests.random_programs.writing import write

DRAW = np.random.default_rng(3)
X, W = DRAW.normal(size=6), DRAW.normal(size=(6, 4))
# what is derived, and arguments as JSON has them
CASES = {
    "chain": (adjit.grad(programs.chain, wrt=("x", "k")), (X, 2.0)),
    "chain, value too": (adjit.value_and_grad(programs.chain), (X, 2.0)),
    "layered": (adjit.grad(programs.layered, wrt=(0, 1)), (W.T.copy(), W)),
    "stretched": (adjit.grad(programs.stretched, wrt=(0, 1)), (W, X)),
    "over time": (adjit.grad(programs.over_time), (X, 7)),
    "over time, in little memory": (adjit.grad(programs.over_time, memory_limit="1 kB"), (X, 7)),
    "looked up": (adjit.grad(programs.looked_up), (0.5, 0)),
    "shared sums": (adjit.grad(programs.shared_sums, wrt=(0, 1), parallel=True), (X, X[:3])),
    "distribution": (adjit.grad(programs.distribution, fastmath={"contract"}), (0.7,)),
    "in place": (adjit.grad(programs.in_place, wrt=(0, 1)), (X, X + 1.0)),
    "helped": (adjit.grad(programs.helped), (0.3,)),
    "second": (adjit.hessian(programs.chain), (X, 2.0)),
    "along": (adjit.hvp(programs.chain), (X, 2.0, X)),
    "jacobian": (adjit.jacrev(lambda x, k: k * np.sin(x)), (X, 2.0)),
    "again": (adjit.grad(adjit.grad(programs.distribution)), (0.7,)),
}

RUN = """
import importlib.util, json, sys
import numpy as np

sys.modules["adjit"] = None  # whoever imports it now fails
for line in sys.stdin:
    path, name, arguments = json.loads(line)
    spec = importlib.util.spec_from_file_location("saved", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = [np.array(a) if isinstance(a, list) else a for a in arguments]
    listed = lambda r: [listed(e) for e in r] if isinstance(r, tuple) else np.asarray(r).tolist()
    print(json.dumps(listed(getattr(module, name)(*given))))
"""


def listed(result):
    return [listed(r) for r in result] if isinstance(result, tuple) else np.asarray(result).tolist()


def test_saved_sources_run_without_adjit(tmp_path):
    asked = []
    for name, (derived, arguments) in CASES.items():
        path = tmp_path / f"{name.replace(' ', '_')}.py"
        derived.save(path, *arguments)
        text = path.read_text("utf-8")
        assert "adjit" not in re.sub(r"#.*|\"\"\"(.|\n)*?\"\"\"", "", text), name
        *_, function = re.findall(r"^def (\w+)\(", text, re.MULTILINE)
        asked.append(json.dumps([str(path), function, listed(arguments)]))
    done = subprocess.run(
        [sys.executable, "-c", RUN], input="\n".join(asked), capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for line, (name, (derived, arguments)) in zip(done.stdout.splitlines(), CASES.items(), strict=True):
        wanted = derived(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
        for found, value in zip(flat(json.loads(line)), flat(listed(wanted)), strict=True):
            assert found == pytest.approx(value, rel=1e-12, abs=1e-13), name


def test_a_tuned_file_says_that_it_needs_adjit(tmp_path):
    derived = adjit.grad(programs.shared_sums, wrt=(0, 1), parallel=True)
    derived.save(tmp_path / "tuned.py", X, X[:3], tuned=True)
    text = (tmp_path / "tuned.py").read_text("utf-8")
    assert "needs adjit" in text.splitlines()[0]
    assert "parallel=True" in text
    environment = {**os.environ, "PYTHONPATH": str(Path(adjit.__file__).parent.parent)}
    run = (
        "import numpy as np, tuned; x, w = np.array(%r), np.array(%r); print(tuned.shared_sums_grad(x, w)[1].tolist())"
    )
    command = [sys.executable, "-c", run % (X.tolist(), X[:3].tolist())]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_allclose(json.loads(done.stdout), derived(X, X[:3])[1], rtol=1e-12)


def test_an_index_out_of_range_in_a_saved_file(tmp_path):
    derived = adjit.grad(programs.of_length)
    for is_tuned in (False, True):
        derived.save(tmp_path / "saved.py", X, 3, 0, tuned=is_tuned)
        *_, saved = runpy.run_path(str(tmp_path / "saved.py")).values()
        for call in (saved, saved.py_func):
            np.testing.assert_allclose(call(X, 6, 5), derived(X, 6, 5), rtol=1e-14)
            with pytest.raises(IndexError, match="index 8 is out of bounds for an axis with size 6"):
                call(X, 9, 5)
            with pytest.raises(IndexError, match="index 6 is out of bounds for an axis with size 6"):
                call(X, 6, 6)


def test_without_arguments_those_of_the_calls(tmp_path):
    derived = adjit.grad(programs.chain)
    with pytest.raises(WrongCall, match="save without arguments\n  It was called with none so far"):
        derived.save(tmp_path / "none.py")
    derived(X, 2.0)
    derived.save(tmp_path / "one.py")
    assert (tmp_path / "one.py").read_text().endswith(derived.source(X, 2.0))
    derived(X, 2)
    with pytest.raises(WrongCall, match="called with different types"):
        derived.save(tmp_path / "two.py")
    stepped = adjit.grad(programs.chain, target="python")
    stepped(X, 2.0)
    stepped.save(tmp_path / "stepped.py")
    assert (tmp_path / "stepped.py").read_text() == (tmp_path / "one.py").read_text()


def test_what_was_called_is_saved(tmp_path):
    """A Jacobian by the way that was taken; arrays of which axes were stretched as such."""
    jacobian = adjit.jacobian(lambda x, k: k * np.sin(x))
    wanted = jacobian(X, 2.0)
    jacobian.save(tmp_path / "jacobian.py")
    *_, saved = runpy.run_path(str(tmp_path / "jacobian.py")).values()
    np.testing.assert_allclose(saved(X, 2.0), wanted, rtol=1e-12)
    weighed = adjit.grad(lambda x, y: np.sum(x * y) + np.sum(y), wrt=(0, 1))
    one = np.array([2.0])
    wanted = weighed(X, one)
    weighed.save(tmp_path / "weighed.py")
    *_, saved = runpy.run_path(str(tmp_path / "weighed.py")).values()
    for found, right in zip(saved(X, one), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)


def test_what_cannot_be_imported_is_refused(tmp_path):
    @njit
    def inner(x):
        return x * x

    adjit.rules.partials(inner, lambda x: 2.0 * x)
    derived = adjit.grad(lambda x: math_free(inner, x))
    with pytest.raises(Unsupported) as fault:
        derived.save(tmp_path / "no.py", 0.5)
    assert "inner is tests.api.test_save.inner, which cannot be imported" in str(fault.value)
    assert not (tmp_path / "no.py").exists()


def math_free(inner, x):
    return inner(x) * inner(x)


def test_plain_python_runs_what_is_read():
    stepped = adjit.grad(programs.over_time, target="python")
    assert stepped.source(X, 7) == adjit.grad(programs.over_time).source(X, 7)
    np.testing.assert_allclose(stepped(X, 7), adjit.grad(programs.over_time)(X, 7), rtol=1e-12)
    tuned = adjit.grad(programs.over_time, target="python", strategy=CHEAPEST)
    np.testing.assert_allclose(stepped(X, 7), tuned(X, 7), rtol=1e-12)


def test_two_levels():
    derived = adjit.grad(programs.layered, wrt=(0, 1))
    read, compiled = derived.source(W.T.copy(), W), derived.source(W.T.copy(), W, tuned=True)
    assert "workspace." in compiled
    assert "workspace." not in read
    assert "np.dot(" in read
    # a derivative of a derivative, and one made inside a function, are of the level that is asked for
    assert "workspace." not in adjit.hvp(programs.layered).source(W.T.copy(), W, W.T.copy())
    assert "workspace." not in adjit.grad(lambda x, w: np.sum(adjit.grad(programs.layered)(x, w))).source(W.T.copy(), W)


def test_on_the_command_line(tmp_path, capsys):
    program = tmp_path / "springs.py"
    program.write_text("def energy(x, k):\n    return 0.5 * k * x * x\n")
    command = ["source", f"{program}:energy", "--types", "float64, float64"]
    assert cli.main([*command, "-o", str(tmp_path / "gradient.py")]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'gradient.py'}\n"
    saved = (tmp_path / "gradient.py").read_text("utf-8")
    assert saved.startswith("from numba import njit\n\n\n@njit(error_model=")
    assert cli.main([*command, "--tuned"]) == 0
    assert capsys.readouterr().out.startswith("def energy_grad(x, k):")
    assert cli.main([*command, "--tuned", "-o", str(tmp_path / "tuned.py")]) == 0
    assert "needs adjit" not in (tmp_path / "tuned.py").read_text("utf-8")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(1, 25))
def test_random_programs(seed, tmp_path):
    """What is saved of them, run by plain Python, gives what adjit itself gives."""
    module = write(seed).module()
    function, arguments = module["program"], module["arguments"]()
    wrt = tuple(k for k, a in enumerate(arguments) if np.asarray(a).dtype.kind == "f")
    stepped = adjit.grad(function, wrt=wrt, target="python")
    try:
        wanted = stepped(*_copied(arguments))
    except (adjit.AdjitError, NotImplementedError):
        # what a rule cannot do with arguments of these shapes is known when they are there
        return
    path = tmp_path / "saved.py"
    adjit.grad(function, wrt=wrt).save(path, *arguments)
    assert "import adjit" not in path.read_text("utf-8")
    assert "from adjit" not in path.read_text("utf-8")
    *_, saved = runpy.run_path(str(path)).values()
    try:
        with np.errstate(all="ignore"):
            found = saved.py_func(*_copied(arguments))
    except ZeroDivisionError:
        # numbers of Python's own, uncompiled
        return
    except saved.py_func.__globals__.get("Stretched", ()):
        # axes of length 1 are stretched, which saved code says it does not
        return
    for one, other in zip(flat(found), flat(wanted), strict=True):
        # numbers of 32 bits, which stay so beside those that are Python's own and not NumPy's
        is_single = any(getattr(a, "dtype", None) == np.float32 for a in (other, *arguments))
        atol = 1e-6 * np.max(np.abs(other), initial=0.0) if is_single else 1e-12
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=atol)


IMPLICIT = """
import numba
import numpy as np

import adjit


def residual(x, a):
    return x**3 + a * x - 1.0


def newton(a):
    x = 1.0
    for _ in range(50):
        x = x - residual(x, a) / (3.0 * x * x + a)
    return x


def step(x, a):
    return np.cos(a * x)


newton_solution = adjit.implicit(newton, residual)
cosine = adjit.fixed_point(step)


@numba.njit
def black_box(x):
    return np.floor(x) + x * x


adjit.rules.partials(black_box, lambda x, *, y: 2.0 * x)


def energy(a):
    return newton_solution(a) ** 2


def at_rest(a):
    return cosine(0.5, a) ** 2


def boxed(x):
    return black_box(3.0 * x)
"""


def test_what_needs_adjit_is_refused_or_said(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "with_solvers.py").write_text(IMPLICIT, encoding="utf-8")
    import with_solvers

    for function, name in ((with_solvers.energy, "newton_solution"), (with_solvers.at_rest, "step_repeated_solution")):
        with pytest.raises(Unsupported, match=f"It calls {name}, which comes from adjit.implicit or adjit.fixed_point"):
            adjit.grad(function, target="python").save(tmp_path / "saved.py", 0.5)
    assert not (tmp_path / "saved.py").exists()
    with pytest.raises(Unsupported, match="Bind it to that name in the solver's module:  step_repeated_solution = "):
        adjit.grad(with_solvers.at_rest).save(tmp_path / "saved.py", 0.5, tuned=True)
    # importable under its name, it runs where adjit is
    adjit.grad(with_solvers.energy).save(tmp_path / "tuned.py", 0.5, tuned=True)
    text = (tmp_path / "tuned.py").read_text("utf-8")
    assert "# It needs with_solvers, which imports adjit.\n" in text
    gradient = runpy.run_path(str(tmp_path / "tuned.py"))["energy_grad"]
    assert gradient(0.5) == pytest.approx(adjit.grad(with_solvers.energy, target="python")(0.5), rel=1e-14)
    adjit.value_and_grad(with_solvers.boxed, target="python").save(tmp_path / "boxed.py", 0.7)
    assert (tmp_path / "boxed.py").read_text("utf-8").startswith("# It needs with_solvers, which imports adjit.\n")
