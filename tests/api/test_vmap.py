"""A mapped function is the loop over its calls, and so are its derivatives."""

import numpy as np
import pytest

import adjit
from adjit.errors import TypeMismatch, WrongCall


def wave(*shape):
    return 1.3 * np.sin(1.0 + 0.9 * np.arange(float(np.prod(shape)))).reshape(shape) + 0.05


def loss(w, x, y):
    total = 0.0
    for i in range(x.size):
        total += np.tanh(w[i] * x[i]) if x[i] > 0.0 else w[i] * x[i] ** 2
    return (total - y) ** 2


W, X, Y = wave(3), wave(5, 3), wave(5)
EACH = np.array([loss(W, x, y) for x, y in zip(X, Y, strict=True)])


@pytest.mark.parametrize("in_axes", [(None, 0, 0), {"x": 0, "y": 0}, [None, -2, 0]])
def test_values(in_axes):
    np.testing.assert_allclose(adjit.vmap(loss, in_axes, target="python")(W, X, Y), EACH, rtol=1e-14)


@pytest.mark.parametrize(
    "options", [{"target": "python"}, {}, pytest.param({"parallel": True}, marks=pytest.mark.long)]
)
def test_gradients_of_samples(options):
    of_each = adjit.vmap(adjit.grad(loss, **options), (None, 0, 0), **options)
    gradient = adjit.grad(loss, target="python")
    expected = np.array([gradient(W, x, y) for x, y in zip(X, Y, strict=True)])
    np.testing.assert_allclose(of_each(W, X, Y), expected, rtol=1e-13)


def mapped_sum(w, x, y):
    return np.sum(adjit.vmap(loss, (None, 0, 0))(w, x, y) ** 2)


def looped_sum(w, x, y):
    total = 0.0
    for i in range(y.size):
        total += loss(w, x[i], y[i]) ** 2
    return total


def test_derivatives_of_a_map_inside():
    for make in (adjit.grad, adjit.hessian):
        for wrt in ("w", "x"):
            found = make(mapped_sum, wrt=wrt, target="python")(W, X, Y)
            np.testing.assert_allclose(
                found, make(looped_sum, wrt=wrt, target="python")(W, X, Y), rtol=1e-11, atol=1e-12
            )


def test_derivatives_of_a_map():
    mapped = adjit.vmap(loss, (None, 0, 0), target="python")
    found = adjit.jacobian(mapped, wrt="w", target="python")(W, X, Y)
    of_each = adjit.vmap(adjit.grad(loss, target="python"), (None, 0, 0), target="python")
    np.testing.assert_allclose(found, of_each(W, X, Y), rtol=1e-13)
    _, pullback = adjit.vjp(mapped, W, X, Y, target="python")
    np.testing.assert_allclose(pullback(np.ones(5))[0], found.sum(axis=0), rtol=1e-13)
    along = adjit.jvp(mapped, (W, X, Y), (W, 0.0 * X, 0.0 * Y), target="python")[1]
    np.testing.assert_allclose(along, found @ W, rtol=1e-13)
    sparse = adjit.jacobian(mapped, wrt="x", sparse=True, target="python")(W, X, Y)
    assert sparse.nnz == 15


def test_axes_of_results_and_tuples():
    def parts(x):
        return x[::-1] * x[0], (x.sum(), x.size)

    for out_axes in (0, -1):
        rows, (sums, sizes) = adjit.vmap(parts, 1, out_axes, target="python")(X)
        np.testing.assert_array_equal(rows, np.stack([parts(x)[0] for x in X.T], axis=out_axes))
        np.testing.assert_allclose(sums, X.sum(axis=0), rtol=1e-15)
        np.testing.assert_array_equal(sizes, [5, 5, 5])


def test_orders_of_memory_complex_numbers_and_maps_of_maps():
    def scaled(z, k):
        return np.sum(z * k)

    z = wave(4, 3) + 1j * wave(3, 4).T
    for given in (z, np.asfortranarray(z), z[::2]):
        np.testing.assert_allclose(adjit.vmap(scaled, (0, None), target="python")(given, 2.0), 2.0 * given.sum(axis=1))
    outer = adjit.vmap(adjit.vmap(lambda a, b: a * np.exp(b), (None, 0), target="python"), (0, None), target="python")
    np.testing.assert_allclose(outer(Y, W), np.outer(Y, np.exp(W)), rtol=1e-14)


def test_what_a_call_writes_the_next_does_not_see():
    def written(scratch, x):
        scratch[0] += x
        return scratch[0] * x

    scratch = np.ones(2)
    mapped = adjit.vmap(written, (None, 0), target="python")
    np.testing.assert_allclose(mapped(scratch, Y), (1.0 + Y) * Y, rtol=1e-14)
    np.testing.assert_array_equal(scratch, np.ones(2))
    rows = np.ones((5, 2))
    np.testing.assert_allclose(adjit.vmap(written, target="python")(rows, Y), (1.0 + Y) * Y, rtol=1e-14)
    np.testing.assert_array_equal(rows, np.ones((5, 2)))


def test_dictionaries_defaults_and_methods():
    class Model:
        def __init__(self, k):
            self.k = k

        def value(self, x, shift=0.5):
            return self.k * np.sum(x) + shift

    model = Model(2.0)
    mapped = adjit.vmap(model.value, target="python")
    np.testing.assert_allclose(mapped(X), 2.0 * X.sum(axis=1) + 0.5, rtol=1e-14)
    both = adjit.vmap(lambda p, k: p["a"][0] * k + p["b"], (0, None), target="python")
    np.testing.assert_allclose(both({"a": X, "b": Y}, 3.0), X[:, 0] * 3.0 + Y, rtol=1e-14)


def test_draws_follow_each_other():
    np.random.seed(5)
    expected = X[:, 0] * np.random.rand(5)
    np.random.seed(5)
    np.testing.assert_allclose(adjit.vmap(lambda x: x[0] * np.random.rand(), target="python")(X), expected, rtol=1e-15)


def test_refusals():
    mapped = adjit.vmap(loss, (None, 0, 0), target="python")
    with pytest.raises(ValueError, match="differ in length"):
        mapped(W, X, Y[1:])
    with pytest.raises(TypeMismatch, match="`y` of vmap.* has no axis 0"):
        mapped(W, X, 1.0)
    with pytest.raises(TypeMismatch, match="has no axis 2"):
        adjit.vmap(loss, {"x": 2}, target="python")(W, X, 1.0)
    with pytest.raises(ValueError, match="has no elements"):
        adjit.vmap(lambda x: x * x, target="python")(X[:0])
    assert adjit.vmap(lambda x: np.sum(x), target="python")(X[:0]).shape == (0,)
    with pytest.raises(WrongCall, match="out_axes=3"):
        adjit.vmap(lambda x: x * x, 0, 3, target="python")(X)
    for in_axes in (None, (None,), {"z": 0}, (0, 0, 0, 0), "x", (True,), {}):
        with pytest.raises(WrongCall, match="in_axes"):
            adjit.vmap(loss, in_axes)
