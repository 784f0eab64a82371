"""Emission as a whole: random functions compute what the IR says, a golden source, speed, modules."""

import importlib.util
import math
import time
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

from adjit.runtime.library import broadcast_extent
from adjit.transform import ir
from adjit.transform.emit import folding
from adjit.transform.emit.emit import emit
from adjit.transform.emit.modules import module_text
from adjit.transform.ir.verify import verify
from tests.transform.emitting import VECTOR, Builder, F, I, add, mul, python, same, sub, u
from tests.transform.interpreter import run
from tests.transform.random_functions import RandomFunction

# -------------------------------------------------------------------------------------------- random functions


@pytest.mark.parametrize("shorter", [1, 9])  # as they are printed, and cut into short lines
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_functions_compute_what_the_interpreter_says(first, shorter, monkeypatch):
    monkeypatch.setattr(folding, "LONGEST", folding.LONGEST // shorter)
    monkeypatch.setattr(folding, "LONGEST_CHOICE", folding.LONGEST_CHOICE // shorter)
    for seed in range(first, first + 50):
        made = RandomFunction(seed)
        verify(made.function)
        args = made.arguments()
        expected = run(made.function, *args)
        emitted = emit(made.function)
        changed = made.arguments()
        assert same(expected, python(emitted)(*changed)), f"seed {seed}"
        # arrays that the function writes end up the same
        assert all(map(same, args[3:], changed[3:])), f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
def test_random_functions_compile(seed):
    made = RandomFunction(seed, size=5, depth=2, effects=False)
    args = made.arguments()
    expected = run(made.function, *args)
    changed = made.arguments()
    compiled = numba.njit(python(emit(made.function)), error_model="numpy")
    # contraction in compiled code changes the last bits
    np.testing.assert_allclose(_flat(compiled(*changed)), _flat(expected), rtol=1e-12)
    assert all(np.allclose(*pair, rtol=1e-12, atol=0.0) for pair in zip(changed[3:], args[3:], strict=True))


def _flat(tree: Any) -> list[float]:
    return [leaf for part in tree for leaf in _flat(part)] if isinstance(tree, tuple) else [float(tree)]


def test_emission_is_deterministic():
    assert len({emit(RandomFunction(5).function).text for _ in range(3)}) == 1


def test_emission_is_quick():
    b = Builder()
    x, v = u("x"), u("v", VECTOR)
    value = x
    for k in range(500):
        value = b.do((add, mul, sub)[k % 3], value, x, out=u(f"x{k % 20}") if k % 4 == 0 else None)
        if k % 10 == 0:
            b.put(v, k, value=value)
    function = b.function({"x": x, "v": v}, (value,))
    emit(function)
    start = time.perf_counter()
    emit(function)
    # 10 ms on the machine this was written on
    assert time.perf_counter() - start < 0.25


# -------------------------------------------------------------------------------------------- the golden example


def test_stencil_reads_like_the_golden_source():
    b = Builder()
    a, alpha, steps = u("u", VECTOR), u("alpha"), u("steps", I)
    n, v = u("n", I), u("v", VECTOR)
    b.emit(ir.Extent(array=a, axis=0, out=n))
    b.emit(ir.Copy(source=a, out=v))
    i, left, energy = u("i", I), u("left"), u("energy")

    def inner() -> tuple[ir.Var, ...]:
        here = b.at(v, i, out=u("here"))
        beside = b.at(v, b.do(add, i, 1, type=I))
        b.put(v, i, value=b.do(add, here, b.do(mul, alpha, b.do(add, b.do(sub, left, b.do(mul, 2.0, here)), beside))))
        return (here,)

    def outer() -> tuple[ir.Var, ...]:
        first = b.at(v, 0, out=u("left"))
        b.loop(i, (1, b.do(sub, n, 1, type=I), 1), [(u("left"), first, left)], inner)
        return ()

    b.loop(u("t", I), (0, steps, 1), [], outer)
    k = u("i", I)
    total = u("energy")
    b.loop(k, (0, n, 1), [(total, 0.0, energy)], lambda: (b.do(add, energy, b.do(mul, b.at(v, k), b.at(v, k))),))
    function = b.function({"u": a, "alpha": alpha, "steps": steps}, (total,), doc="The energy after some steps.")
    assert (
        emit(function).text
        == '''\
def f(u, alpha, steps):
    """The energy after some steps."""
    n = u.size
    v = u.copy()
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            left = here
    energy = 0.0
    for i in range(n):
        energy += v[i] * v[i]
    return energy
'''
    )


# -------------------------------------------------------------------------------------------- modules


@pytest.mark.parametrize("tuned", [False, True])
def test_module_text_can_be_imported(tmp_path, tuned):
    b = Builder()
    x, n = u("x"), u("abs", I)
    extent = b.do(broadcast_extent, n, 1, type=I)
    array = ir.Const(np.array([[1.0, np.inf]]), types.Array(F, 2, "C", readonly=True))
    result = b.do(mul, b.do(math.sin, b.do(abs, x)), b.at(array, 0, b.do(sub, extent, n, type=I)))
    function = b.function({"x": x, "abs": n}, (b.do(np.tanh, result),))
    text = module_text(emit(function, in_workspace=tuned), "@njit", tuned)
    if tuned:
        assert text.startswith("# Tuned code: it needs adjit")
        assert "\nfrom adjit.runtime.library import broadcast_extent\n" in text
    else:
        assert text.startswith("import math\n\nimport numpy as np\nfrom numba import njit\n")
        assert "import" not in text.partition("njit\n")[2]
    path = tmp_path / "derived.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("derived", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.f.py_func(-0.3, 3) == run(function, -0.3, 3) == pytest.approx(module.f(-0.3, 3), rel=1e-15)
