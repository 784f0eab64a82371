"""Filters of scipy.ndimage: SciPy's values in all modes, with their gradients by the array and the weights."""

import numpy as np
import pytest
import scipy.ndimage as ndi

import adjit

X = np.random.default_rng(1).normal(size=(5, 6))
WEIGHTS = np.array([[0.2, -0.5, 1.0], [0.3, 0.1, -0.4], [0.7, 0.0, 0.6]])


def gaussian(x, w):
    smooth = ndi.gaussian_filter(x, w[0, 0] + 1.0) * ndi.gaussian_filter(x, (0.7, w[0, 2]), mode="nearest")
    return np.sum(smooth * ndi.gaussian_filter1d(x, 1.1, axis=0, order=1, mode="wrap")) + np.sum(
        ndi.gaussian_filter(x, 0.8, order=(0, 2), mode=("mirror", "constant"), cval=0.3) ** 2
    )


def weighted(x, w):
    along = ndi.convolve1d(x, w[0], axis=0, mode="mirror") * ndi.correlate1d(x, w[1, :2], mode="constant", cval=2.0)
    both = ndi.convolve(x, w, mode="nearest") * ndi.correlate(x, w, mode="constant", cval=0.5)
    return np.sum(along * both) + np.sum(ndi.convolve1d(x, w[2, :2], mode="wrap") * x)


def edges(x, w):
    steep = np.hypot(ndi.sobel(x, axis=0), ndi.sobel(x)) + ndi.prewitt(x, 0, mode="nearest")
    return np.sum(steep * ndi.laplace(x, mode="mirror")) * w[0, 0]


def uniform(x, w):
    return np.sum(ndi.uniform_filter(x, 3) * ndi.uniform_filter(x, size=(2, 5), mode="wrap") * w[0, 0]) + np.sum(
        ndi.uniform_filter1d(x, 4, axis=0, mode="constant", cval=1.0) ** 2
    )


@pytest.mark.parametrize("function", [gaussian, weighted, edges, uniform])
def test_value_and_gradient(function) -> None:
    value, bars = adjit.value_and_grad(function, wrt=(0, 1), target="python")(X, WEIGHTS)
    assert value == pytest.approx(function(X, WEIGHTS), rel=1e-12)
    v, u = np.cos(np.arange(30.0)).reshape(X.shape), np.sin(np.arange(9.0)).reshape(3, 3)
    h = 1e-5
    expected = (function(X + h * v, WEIGHTS + h * u) - function(X - h * v, WEIGHTS - h * u)) / (2 * h)
    assert np.sum(bars[0] * v) + np.sum(bars[1] * u) == pytest.approx(expected, rel=1e-7)


def test_what_is_refused() -> None:
    with pytest.raises(adjit.AdjitError, match="assign what it returns"):
        adjit.grad(lambda x: np.sum(ndi.laplace(x, x)), target="python")(X)
    with pytest.raises(adjit.AdjitError, match="gaussian_filter1d along each"):
        adjit.grad(lambda x: np.sum(ndi.gaussian_filter(x, 1.0, axes=(0,))), target="python")(X)
