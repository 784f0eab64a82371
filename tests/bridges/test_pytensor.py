"""Functions in PyTensor: values, gradients, second derivatives; in a model of PyMC."""

import numpy as np
import pytest

import adjit
from tests.bridges import programs

pytensor = pytest.importorskip("pytensor")
bridge = pytest.importorskip("adjit.bridges.pytensor")
pt = pytensor.tensor

pytestmark = pytest.mark.bridge
PLAIN = {"target": "python"}
X = np.random.default_rng(3).standard_normal(5)


def compiled(inputs, outputs):
    # the operations are ours: nothing is to be compiled around them
    return pytensor.function(inputs, outputs, mode="FAST_COMPILE")


def test_value_and_gradient():
    x, w = pt.dvector("x"), pt.dscalar("w")
    out = bridge.function(programs.energy)(x, w)
    value, *found = compiled([x, w], [out, *pytensor.grad(out, [x, w])])(X, 0.7)
    expected, gradient = adjit.value_and_grad(programs.energy, wrt=("x", "w"), target="python")(X, 0.7)
    assert value == pytest.approx(expected, rel=1e-13)
    assert found[0] == pytest.approx(gradient[0], rel=1e-13)
    assert found[1] == pytest.approx(gradient[1], rel=1e-13)


def test_arrays_of_any_length():
    x, k = pt.dvector("x"), pt.dscalar("k")
    out = bridge.function(programs.heat, **PLAIN)(x, k, 2)
    f = compiled([x, k], [out, pytensor.grad(pt.sum(out**2), x)])
    for n in (4, 6):
        value, gradient = f(X[:n] if n < 5 else np.arange(6.0), 0.1)
        given = X[:n] if n < 5 else np.arange(6.0)
        expected, pullback = adjit.vjp(programs.heat, given, 0.1, 2, target="python")
        assert value == pytest.approx(expected, rel=1e-14)
        assert gradient == pytest.approx(pullback(2.0 * expected)[0], rel=1e-13)


def test_second_order():
    x = pt.dvector("x")
    out = bridge.function(programs.energy, **PLAIN)(x, 0.7)
    v = pt.dvector("v")
    product = pytensor.grad(pt.sum(pytensor.grad(out, x) * v), x)
    found = compiled([x, v], product)(X, np.arange(5.0))
    expected = adjit.hvp(programs.energy, target="python")(X, 0.7, np.arange(5.0))
    assert found == pytest.approx(expected, rel=1e-12)


def test_several_results():
    x, w = pt.dvector("x"), pt.dscalar("w")
    a, b, n = bridge.function(programs.several, **PLAIN)(x, w, 2)
    assert n.dtype == "int64"
    found = compiled([x, w], [a, b, n, *pytensor.grad(b, [x, w])])(X, 0.7)
    assert found[2] == 7
    assert found[3] == pytest.approx(np.full(5, 0.49))
    assert found[4] == pytest.approx(X.sum() * 1.4)


def test_float32():
    x = pt.fvector("x")
    out = bridge.function(programs.heat, **PLAIN)(x, 0.1, 2)
    gradient = pytensor.grad(pt.sum(out), x)
    assert gradient.dtype == "float32"
    assert compiled([x], gradient)(X.astype("f")).dtype == np.float32


def test_graphs_that_are_rewritten():
    """What PyTensor makes of a graph by itself, constants folded and nodes merged, leaves the numbers."""
    x = pt.dvector("x")
    energy = bridge.function(programs.energy, **PLAIN)
    out = energy(x, 0.7) + energy(x, 0.7) + energy(pt.constant(X), 0.7)
    found = pytensor.function([x], out, mode="FAST_RUN" if pytensor.config.cxx else "FAST_COMPILE")(X)
    assert found == pytest.approx(3.0 * programs.energy(X, 0.7), rel=1e-13)


def test_model_that_nuts_samples():
    pm = pytest.importorskip("pymc")
    rng = np.random.default_rng(8)
    start = np.sin(np.linspace(0.0, np.pi, 12))
    seen = programs.heat(start, 0.3, 10) + 0.01 * rng.standard_normal(12)
    heat = bridge.function(programs.heat)
    with pm.Model():
        k = pm.Uniform("k", 0.05, 0.45)
        pm.Normal("seen", heat(start, k, 10), 0.01, observed=seen)
        trace = pm.sample(200, tune=200, chains=2, cores=1, random_seed=1, progressbar=False)
    found = trace.posterior["k"].values.ravel()
    # the posterior by quadrature
    grid = np.linspace(0.05, 0.45, 2001)
    logs = np.array([-0.5 * np.sum((programs.heat(start, k, 10) - seen) ** 2) / 0.01**2 for k in grid])
    weights = np.exp(logs - logs.max())
    mean = np.sum(weights * grid) / np.sum(weights)
    spread = np.sqrt(np.sum(weights * (grid - mean) ** 2) / np.sum(weights))
    assert abs(found.mean() - mean) < 0.35 * spread  # 400 draws, perhaps a hundred that are independent
    assert found.std() == pytest.approx(spread, rel=0.3)
