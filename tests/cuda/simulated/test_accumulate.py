"""accumulate="float64": sums that lose ones in single precision, and do not in double precision."""

import numpy as np
import pytest

import adjit
from adjit.runtime.cuda.check import UNWRITTEN
from tests.cuda.simulated.checks import assert_close, on_device, on_host, watched
from tests.cuda.wide import columns, ones, scaled, total, turned


def test_functions():
    x, a = ones(100), np.ones(1, np.float32)
    exact, found = np.float32(np.sum(x.astype(np.float64))), {}
    for options in ({}, {"accumulate": "float64"}):
        gradient = adjit.value_and_grad(total, wrt=("x", "a"), target="cuda", **options)
        with watched() as faults:
            value, (x_bar, a_bar) = gradient(on_device(x), on_device(a))
        assert [fault for fault in faults if UNWRITTEN not in fault] == []
        assert value.dtype == x_bar.dtype == a_bar.dtype == np.float32
        np.testing.assert_array_equal(on_host(x_bar), 1.0)
        found[bool(options)] = on_host(value), on_host(a_bar)[0]
    assert found[True] == (exact, exact)
    assert max(found[False]) < exact


def test_sums_of_rows_that_threads_keep():
    x, a = ones(300, 3), np.ones(3, np.float32)
    exact = np.sum(x.astype(np.float64), axis=0).astype(np.float32)
    made, usual = (
        on_host(adjit.grad(columns, "a", target="cuda", **options)(on_device(x), on_device(a)))
        for options in ({"accumulate": "float64"}, {})
    )
    np.testing.assert_array_equal(made, exact)
    assert usual[0] < exact[0]


def launched(kernel, x, c, **options):
    bars = [on_device(a) for a in (np.zeros_like(x), np.zeros(1, np.float32), np.ones_like(x))]
    named = dict(zip(("x_bar", "c_bar", "y_bar"), bars, strict=True))
    adjit.cuda.adjoint(kernel, **options)[x.size // 8, 8](on_device(x), c, on_device(np.zeros_like(x)), **named)
    return on_host(bars[0]), on_host(bars[1])[0]


@pytest.mark.parametrize("kernel, size", [(turned, 3 * 8), (scaled, 12 * 8)])
def test_kernels(kernel, size):
    x = ones(size)
    x_bar, found = launched(kernel, x, np.float32(1.5), accumulate="float64")
    assert found == np.float32(np.sum(x.astype(np.float64)))
    others, usual = launched(kernel, x, np.float32(1.5))
    assert_close(others, x_bar, 1e-6)
    assert usual < found
