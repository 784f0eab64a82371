"""Programs that launch kernels, as a whole: against the same in NumPy, and forward against reverse."""

import numpy as np
import pytest

import adjit
from adjit.runtime.cuda.check import watched
from tests.cuda.launching import PROGRAMS, arguments
from tests.cuda.simulated.checks import assert_close, like, on_device, on_host

# what is saved of an element before it is first stored to is put back, and never used
UNWRITTEN = "read before anything is stored there"
# three of four are left to the long run
NAMES = [pytest.param(n, marks=[] if n in ("layers", "with blocks") else [pytest.mark.long]) for n in PROGRAMS]


def wanted(name, given):
    _, in_numpy, wrt = PROGRAMS[name]
    return adjit.value_and_grad(in_numpy, wrt=tuple(range(len(wrt))), target="python")(*given)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name):
    program, _, wrt = PROGRAMS[name]
    given = arguments(np.random.default_rng(2))[name]
    with watched() as faults:
        found = adjit.value_and_grad(program, wrt=wrt, target="cuda")(*map(on_device, given))
    assert [fault for fault in faults if UNWRITTEN not in fault] == []
    assert_close(on_host(found), wanted(name, given), 1e-11)


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(*n.values, marks=pytest.mark.long) for n in NAMES[1:])])
def test_tangents(name):
    program, _, wrt = PROGRAMS[name]
    given = arguments(np.random.default_rng(2))[name]
    g = np.random.default_rng(5)
    dots = [like(a, g) if k < len(wrt) else a for k, a in enumerate(given)]
    bars = wanted(name, given)[1]
    changed = sum(np.vdot(bar, dot) for bar, dot in zip(bars, dots, strict=False))
    _, tangent = adjit.jvp(program, tuple(map(on_device, given)), tuple(map(on_device, dots)), target="cuda")
    assert on_host(tangent) == pytest.approx(changed, rel=1e-10)


@pytest.mark.parametrize("name", ["pushed", pytest.param("with blocks", marks=pytest.mark.long)])
def test_under_a_memory_limit(name):
    program, _, wrt = PROGRAMS[name]
    given = arguments(np.random.default_rng(2))[name]
    found = adjit.value_and_grad(program, wrt=wrt, target="cuda", memory_limit="1 kB")(*map(on_device, given))
    assert_close(on_host(found), wanted(name, given), 1e-11)
