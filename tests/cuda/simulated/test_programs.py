"""Programs that launch kernels, as a whole: against the same in NumPy, and forward against reverse."""

import numpy as np
import pytest

import adjit
import adjit.api.gpu.on_device as on_device_module
from adjit.runtime.cuda.check import UNWRITTEN
from tests.cuda.launching import PROGRAMS, arguments, permuted
from tests.cuda.simulated.checks import assert_close, like, on_device, on_host, simulated, watched

# three of four are left to the long run
NAMES = [
    pytest.param(n, marks=[] if n in ("layers", "with blocks", "any width") else [pytest.mark.long]) for n in PROGRAMS
]


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


# extents are constants in gradients alone
TANGENTS = [n.values[0] for n in NAMES[1:] if n.values[0] != "extents"]


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(n, marks=pytest.mark.long) for n in TANGENTS)])
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


def test_launches_of_programs_are_looked_at(monkeypatch):
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    program, _, wrt = PROGRAMS["network"]
    given = arguments(np.random.default_rng(2))["network"]
    found = adjit.value_and_grad(program, wrt=wrt, target="cuda")(*map(on_device, given))
    assert_close(on_host(found), wanted("network", given), 1e-11)
    x, order = on_device(np.linspace(0.0, 1.0, 8)), np.array([0, 1, 2, 3, 4, 5, 6, 0])
    with pytest.raises(adjit.Race, match="the kernel picked has a race: two"):
        adjit.grad(permuted, target="cuda")(x, on_device(order))


@simulated
def test_launches_of_a_derivative_are_looked_at(monkeypatch):
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    x, order = on_device(np.linspace(0.0, 1.0, 8)), np.array([0, 1, 2, 3, 4, 5, 6, 0])
    # where the programs' own are not looked at, those of the derivative have it as well
    monkeypatch.setattr(on_device_module, "check_program", lambda *_: None)
    with pytest.raises(adjit.InternalError, match="a generated kernel has a race: "):
        adjit.grad(permuted, target="cuda")(x, on_device(order))
