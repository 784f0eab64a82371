"""Gradients that are stored into arrays of the caller's."""

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.runtime.backend.versions import is_plain


def energy(x, k=2.0):
    total = 0.0
    for i in range(x.size):
        total += k * np.sin(x[i])
    return total


def quadratic(A, x):
    return x @ (A @ x)


def untouched(x, y):
    return np.sum(y * y)


def swapped(u):
    v = np.zeros_like(u)
    for t in range(3):
        for i in range(1, u.size - 1):
            v[i] = u[i - 1] * u[i] + np.sin(u[i + 1])
        u, v = v, u
    return np.sum(u)


def in_place(x):
    for i in range(1, x.size):
        x[i] = x[i] * x[i - 1]
    return x[-1]


def of_pair(pair, y):
    return np.sum(pair[0] * y) * pair[1]


def with_aux(x):
    return np.sum(x**3), 2.0 * x


x4, A = np.array([0.3, 0.5, 0.7, 1.1]), np.arange(16.0).reshape(4, 4)
CASES = [
    (energy, (x4, 3.0), ("x",), {}),
    (energy, (x4, 3.0), ("x", "k"), {}),
    (energy, (x4, 3.0), ("k",), {}),
    (quadratic, (A, x4), (0, 1), {}),
    (quadratic, (np.asfortranarray(A), x4[::-1]), (1, 0), {}),
    (untouched, (x4, x4.copy()), (0, 1), {}),
    (swapped, (x4,), (0,), {}),
    (in_place, (x4,), (0,), {}),
    (of_pair, ((x4, 2.0), x4.copy()), (0, 1), {}),
    (with_aux, (x4,), (0,), {"has_aux": True}),
    (lambda x: np.sum(x), (np.float32([1, 2]),), (0,), {}),
]


def empty_like(gradient, order):
    if isinstance(gradient, tuple):
        return tuple(empty_like(g, order) for g in gradient)
    return np.full(gradient.shape, np.nan, gradient.dtype, order) if isinstance(gradient, np.ndarray) else None


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("function, arguments, wrt, options", CASES)
def test_the_gradient_is_stored(function, arguments, wrt, options, target, order):
    derived = adjit.value_and_grad(function, wrt, target=target, **options)
    value, gradient = derived(*arguments)
    out = empty_like(gradient, order)
    for _ in range(2):  # what is left there the first time does not count
        found_value, found = derived.into(*arguments, out=out)
        for one, other in zip(flat((value, gradient)), flat((found_value, found)), strict=True):
            np.testing.assert_array_equal(one, other)
        for given, returned in zip(flat(out), flat(found), strict=True):
            assert given is None or np.shares_memory(given, returned)


def test_a_single_gradient_is_the_array_itself():
    out = np.empty(4)
    assert adjit.grad(energy).into(x4, out=out) is out
    np.testing.assert_array_equal(out, 2.0 * np.cos(x4))
    assert adjit.grad(energy, wrt="k").into(x4, out=None) == np.sum(np.sin(x4))
    assert adjit.grad(energy).into(x4, k=3.0, out=out) is out
    np.testing.assert_array_equal(out, 3.0 * np.cos(x4))


def test_views_are_stored_into():
    table = np.zeros((4, 2))
    adjit.grad(energy).into(x4, out=table[:, 1])
    np.testing.assert_array_equal(table, np.stack([np.zeros(4), 2.0 * np.cos(x4)], 1))


frozen = np.zeros(4)
frozen.flags.writeable = False


@pytest.mark.parametrize(
    "out, fault, what",
    [
        (x4, adjit.Aliased, "share memory"),
        (x4[::-1], adjit.Aliased, "share memory"),
        (np.zeros(3), adjit.TypeMismatch, "another shape"),
        (np.zeros(4, np.float32), adjit.TypeMismatch, "float32"),
        (np.zeros((4, 1)), adjit.TypeMismatch, r"float64\[:, :\], not float64\[:\]"),
        (frozen, adjit.TypeMismatch, "readonly, not float64"),
        (None, adjit.TypeMismatch, "none"),
        ((np.zeros(4),), adjit.TypeMismatch, "not structured like"),
    ],
)
def test_what_does_not_fit_is_refused(out, fault, what):
    with pytest.raises(fault, match=what):
        adjit.grad(energy).into(x4, out=out)


def test_outputs_may_not_overlap_each_other():
    memory = np.zeros(7)
    both = adjit.grad(untouched, wrt=(0, 1))
    with pytest.raises(adjit.Aliased):
        both.into(x4, x4.copy(), out=(memory[:4], memory[3:]))
    with pytest.raises(adjit.TypeMismatch, match="tuple of 2"):
        both.into(x4, x4.copy(), out=memory[:4])


def test_only_gradients_store():
    with pytest.raises(TypeError):
        adjit.grad(energy).into(x4)


@pytest.mark.skipif(is_plain(), reason="numba's own means are used, and there is no pool")
def test_nothing_large_is_allocated():
    stencil = adjit.grad(njit(swapped))
    u, out = np.linspace(0, 1, 500_000), np.empty(500_000)
    for _ in range(2):
        stencil.into(u, out=out)
    kept = adjit.workspace_bytes()
    for _ in range(3):
        stencil.into(u, out=out)
    assert adjit.workspace_bytes() == kept >= out.nbytes
