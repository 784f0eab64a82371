"""Programs of ten fields, checked for races as they run: their gradients against differences of the programs."""

import inspect

import numpy as np
import pytest
from numba import cuda

import adjit
from tests.cuda.programs_of_fields import PROGRAMS
from tests.cuda.simulated.checks import on_device, on_host

NAMES = [pytest.param(name, marks=[] if name == "heston option" else [pytest.mark.long]) for name in PROGRAMS]
STEP = 1e-5


def copied(value):
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name, monkeypatch):
    program, arguments, wrt = PROGRAMS[name]
    given = arguments(np.random.default_rng(3))
    places = [list(inspect.signature(program).parameters).index(one) for one in wrt]
    g = np.random.default_rng(5)
    dots = {place: g.normal(size=np.shape(given[place])) for place in places}

    def value(h):
        moved = [a + h * dots[k] if k in dots else a for k, a in enumerate(given)]
        return float(program(*(a.copy() if isinstance(a, np.ndarray) else a for a in moved)))

    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    found = adjit.value_and_grad(program, wrt=wrt, target="cuda")(*map(on_device, given))
    own, bars = on_host(found)
    assert own == pytest.approx(value(0.0), rel=1e-10)
    along = sum(np.vdot(bar, dots[place]) for bar, place in zip(bars, places, strict=True))
    assert along == pytest.approx((value(STEP) - value(-STEP)) / (2.0 * STEP), rel=1e-5, abs=1e-8)
