"""Jacobians by chunks of columns, against one direction at a time."""

import math

import numpy as np
import pytest

import adjit
from adjit.transform.derive.jacobians.jacobian import WIDEST
from adjit.transform.strategy import CHEAPEST

SIZES = [1, 2, 3, 8, 9, 16, 17, 30, 33]
RNG = np.random.default_rng(5)


def residual(x, t):
    """Stencil, branch and transcendental function in a loop."""
    r = np.empty(x.size)
    for i in range(x.size):
        s = (3.0 - 2.0 * x[i]) * x[i] + 1.0
        if i > 0:
            s -= x[i - 1]
        if i < x.size - 1:
            s -= math.exp(t * x[i + 1])
        r[i] = s
    return r


def relaxed(x, t):
    """Carried numbers, arrays that change names, early ends."""
    u = x.copy()
    v = 0.5 * x
    a, b = 0.0, t
    for k in range(4):
        for i in range(1, x.size):
            v[i] = u[i] * u[i - 1] + 0.1 * v[i] + a
        u, v = v, u
        a, b = b, 0.3 * a + u[0]
        if a > 1e6:
            break
    n = 0
    while n < 3 and b < 1e3:
        b = b * 1.25 + a
        n += 1
    return u * b


def squared(x, t):
    r = residual(x, t)
    return np.sum(r * r)


def calls(x, t):
    """Whole-array calls: products, a solve, a factorisation, reductions."""
    a = np.outer(x, x) + (3.0 + t) * np.eye(x.size)
    y = np.linalg.solve(a, np.sin(x))
    s = np.linalg.det(0.1 * a)
    return (a @ y) * s + np.dot(y, x) + np.cumsum(x)


def shaped(x, t):
    """Views: slices, transposes, reshapes, rows."""
    a = x.reshape(3, -1)
    b = a.T * 2.0
    c = np.empty((a.shape[1], 3))
    for i in range(c.shape[0]):
        row = c[i]
        row[:] = b[i, :] * t
        row[1] += a[0, i] ** 2
    c[::2, 1:] += 1.5 * c[::2, :-1]
    return c.ravel(), c.T


def recursive(x, t):
    """Arrays made anew in each trip, and kept in a list of values that a gradient needs."""
    u = np.sin(x)
    for _ in range(3):
        u = np.cos(u) * t + u[::-1] * x
    return u


def by_columns(function, x, t):
    """One direction after the other."""
    columns = []
    for k in range(x.size):
        unit = np.zeros(x.size)
        unit[k] = 1.0
        columns.append(adjit.jvp(function, (x, t), (unit.reshape(x.shape), 0.0))[1])
    return columns


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [residual, relaxed, pytest.param(calls, marks=pytest.mark.long), recursive])
def test_sizes(function, size):
    x = RNG.uniform(0.2, 1.0, size)
    got = adjit.jacfwd(function)(x, 0.4)
    want = np.stack(by_columns(function, x, 0.4), -1)
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)  # sums in another order


@pytest.mark.parametrize("size", [3, 9, 12, 33])
def test_views(size):
    x = RNG.uniform(0.2, 1.0, size)
    flat, matrix = adjit.jacfwd(shaped)(x, 0.4)
    want = by_columns(shaped, x, 0.4)
    np.testing.assert_allclose(flat, np.stack([w[0] for w in want], -1), rtol=1e-13)
    np.testing.assert_allclose(matrix, np.stack([w[1] for w in want], -1), rtol=1e-13)


@pytest.mark.parametrize("size", SIZES)
def test_hessian(size):
    x = RNG.uniform(0.2, 1.0, size)
    got = adjit.hessian(squared)(x, 0.4)
    want = np.stack(by_columns(adjit.grad(squared), x, 0.4), -1)
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(got, got.T, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("layout", ["C", *(pytest.param(layout, marks=pytest.mark.long) for layout in "FA")])
def test_matrices_of_any_layout(layout):
    x = RNG.uniform(0.2, 1.0, (3, 5))
    x = {"C": x, "F": np.asfortranarray(x), "A": np.repeat(x, 2, axis=1)[:, ::2]}[layout]

    def product(x):
        y = x.T @ x
        y[0] += x[1] * x[:, 2].sum()
        return y, x.T[1:, ::-1]

    first, second = adjit.jacfwd(product)(x)
    c_first, c_second = adjit.jacfwd(product)(np.ascontiguousarray(x))
    assert first.shape == (5, 5, 3, 5)
    assert second.shape == (4, 3, 3, 5)
    np.testing.assert_allclose(first, c_first, rtol=1e-13)
    np.testing.assert_array_equal(second, c_second)
    columns = by_columns(lambda x, t: product(x), x, 0.0)
    np.testing.assert_allclose(first.reshape(5, 5, 15), np.stack([c[0] for c in columns], -1), rtol=1e-13)


def test_what_cannot_travel_together_goes_alone():
    def raveled(x):
        return x.T.ravel() ** 2

    x = np.asfortranarray(RNG.uniform(0.2, 1.0, (2, 3)))
    got = adjit.jacfwd(raveled)(x)
    want = np.diag(2.0 * x.T.ravel()).reshape(6, 3, 2).transpose(0, 2, 1)
    np.testing.assert_allclose(got, want)


def test_numbers_and_arrays_share_a_chunk():
    def mixed(a, x, n, b, c):
        return a * b * x[0] * n, x * c + a

    x = RNG.uniform(size=7)
    wrt = ("a", "x", "b", "c")
    scalars, arrays = adjit.jacfwd(mixed, wrt=wrt)(2.0, x, 3, np.float32(5.0), 7.0)
    np.testing.assert_allclose(scalars[0], 15.0 * x[0])
    np.testing.assert_allclose(scalars[1], [30.0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(scalars[2:], (6.0 * x[0], 0.0))
    np.testing.assert_allclose(arrays[0], np.ones(7))
    np.testing.assert_allclose(arrays[1], 7.0 * np.eye(7))
    np.testing.assert_allclose(arrays[2], np.zeros(7))
    np.testing.assert_allclose(arrays[3], x)


def test_numbers_alone_need_no_loop():
    def polar(r, phi):
        return r * np.cos(phi), r * np.sin(phi)

    of = adjit.jacfwd(polar, wrt=(0, 1))
    (xr, xp), (yr, yp) = of(2.0, 0.5)
    np.testing.assert_allclose([xr, xp, yr, yp], [np.cos(0.5), -2 * np.sin(0.5), np.sin(0.5), 2 * np.cos(0.5)])
    assert "for " not in of.source(2.0, 0.5, tuned=True)


def test_more_numbers_than_a_chunk_has():
    def many(a, b, c, d, e, f, g, h, i, j):
        return a * b * c * d * e * f * g * h * i * j

    values = tuple(RNG.uniform(1.0, 2.0, 10))
    got = adjit.jacfwd(many, wrt=tuple(range(10)))(*values)
    assert len(got) > WIDEST
    np.testing.assert_allclose(got, np.prod(values) / np.array(values), rtol=1e-13)


def test_single_precision():
    x = RNG.uniform(0.2, 1.0, 11).astype(np.float32)
    got = adjit.jacfwd(residual)(x, np.float32(0.4))
    np.testing.assert_allclose(got, adjit.jacfwd(residual)(x.astype(float), 0.4), rtol=1e-5, atol=1e-6)


def test_inside_compiled_code():
    import numba

    of = adjit.jacfwd(residual)

    @numba.njit
    def trace(x):
        return np.trace(of(x, 0.4))

    x = RNG.uniform(0.2, 1.0, 5)
    assert trace(x) == pytest.approx(np.trace(of(x, 0.4)))


def test_derivative_of_a_jacobian():
    of = adjit.jacfwd(residual)

    def norm(x):
        return np.sum(of(x, 0.4) ** 2)

    x = RNG.uniform(0.2, 1.0, 9)
    adjit.check_grads(norm, (x,))


def test_jacobian_of_a_jacobian():
    def cubic(x):
        return x**3

    x = RNG.uniform(0.2, 1.0, 9)
    got = adjit.jacfwd(adjit.jacfwd(cubic))(x)
    want = np.zeros((9, 9, 9))
    want[np.arange(9), np.arange(9), np.arange(9)] = 6.0 * x
    np.testing.assert_allclose(got, want)


def product_and_numbers(u):
    return np.prod(u), np.nan_to_num(u) * u


def test_rules_that_make_more_bits_of_float32():
    """Each pass is verified, so what is stored has to be of the type of the array."""
    of_product, of_numbers = adjit.jacfwd(product_and_numbers, target="python", strategy=CHEAPEST)(
        np.array([1.0, 2.0, 3.0], np.float32)
    )
    assert of_product.dtype == of_numbers.dtype == np.float32
    assert np.array_equal(of_product, [6.0, 3.0, 2.0])
    assert np.array_equal(of_numbers, np.diag([2.0, 4.0, 6.0]))
