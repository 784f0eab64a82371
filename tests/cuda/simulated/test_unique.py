"""adjit.cuda.unique in the simulator: values, races, and the check of the promise."""

import numpy as np
import pytest

import adjit
from tests.cuda.ordering import permuted, permuted_rows, picked
from tests.cuda.simulated.checks import assert_close, on_device, on_host, watched


@pytest.mark.parametrize("function, shape", [(permuted, (12,)), (permuted_rows, (12, 3))])
def test_values(function, shape):
    g = np.random.default_rng(6)
    given = g.normal(size=shape), g.permutation(12)[:9], g.normal(size=9)
    with watched() as faults:
        found = adjit.grad(function, wrt=("x", "w"), target="cuda")(*map(on_device, given))
    assert faults == []
    assert_close(on_host(found), adjit.grad(function, wrt=("x", "w"), target="python")(*given), 1e-13)


def test_the_promise_is_looked_after(monkeypatch):
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    g = np.random.default_rng(6)
    x, k = g.normal(size=12), g.permutation(12)[:9]
    bars = {"x_bar": on_device(np.zeros(12)), "y_bar": on_device(np.ones(9))}
    adjit.cuda.adjoint(picked)[2, 8](on_device(x), on_device(k), on_device(np.zeros(9)), **bars)
    np.testing.assert_allclose(on_host(bars["x_bar"])[k], 2.0 * x[k], rtol=1e-14)
    k[3] = k[5]
    with pytest.raises(adjit.Race, match="`k`, marked with adjit.cuda.unique"):
        adjit.cuda.adjoint(picked)[2, 8](on_device(x), on_device(k), on_device(np.zeros(9)), **bars)
