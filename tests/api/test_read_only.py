"""Arguments that are read-only: one that is stored into is refused, as NumPy refuses it; others are taken as ever."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit


def fixed(values: Any) -> np.ndarray:
    made = np.array(values) * 1.0
    made.flags.writeable = False
    return made


X, MATRIX, COMPLEX = fixed([1.0, 2.0, 3.0]), fixed([[1.0, 2.0], [3.0, 4.0]]), fixed([1j, 2.0])


def element(x):
    x[0] = 5.0
    return np.sum(x * x)


def part(x):
    y = x[1:]
    y += 1.0
    return np.sum(x**2)


def turned(x):
    x.T[0, 0] = 1.0
    return np.sum(x)


def laid_flat(x):
    r = x.ravel()
    r[0] = 1.0
    return np.sum(r)


def sorted_in_place(x):
    x.sort()
    return x[0] ** 2


def through_output(x):
    np.exp(x, out=x)
    return np.sum(x)


def on_one_path(x):
    y = x if x[0] > 0.0 else x.copy()
    y[0] = 2.0
    return np.sum(y)


def changed_by(a):
    a[0] = 0.0


def by_callee(x):
    changed_by(x)
    return np.sum(x)


@njit
def by_compiled(x):
    x[0] = 1.0
    return np.sum(x)


def of_complex(z):
    z[0] = 1.0
    return np.sum(z.real**2)


def of_diagonal(x):
    d = np.einsum("ii->i", x)
    d[0] = 1.0
    return np.sum(d)


def in_inner_derivative(x):
    return np.sum(adjit.grad(element)(x))


STORING = [
    (element, X), (part, X), (turned, MATRIX), (laid_flat, X), (laid_flat, MATRIX), (sorted_in_place, X),
    (through_output, X), (on_one_path, X), (by_callee, X), (by_compiled, X), (of_complex, COMPLEX),
    (of_diagonal, MATRIX), (in_inner_derivative, X),
]  # fmt: skip


def modes(function: Any, x: Any, **options: Any) -> list[Any]:
    """Calls of all derivatives that there are of it."""
    along = np.ones_like(x)
    return [
        lambda: adjit.grad(function, **options)(x),
        lambda: adjit.value_and_grad(function, **options)(x),
        lambda: adjit.grad(function, **options).into(x, out=np.zeros(x.shape)),
        lambda: adjit.vjp(function, x, **options),
        lambda: adjit.jvp(function, (x,), (along,), **options),
        lambda: adjit.jacobian(function, **options)(x),
        lambda: adjit.jacfwd(function, **options)(x),
        lambda: adjit.hessian(function, **options)(x),
        lambda: adjit.hvp(function, **options)(x, along),
        lambda: adjit.vmap(function, **options)(fixed([x, x])),
        lambda: adjit.grad(function, **options).source(x),
    ]


@pytest.mark.parametrize(("function", "x"), STORING)
def test_what_is_stored_into_a_read_only_argument_is_refused(function: Any, x: np.ndarray) -> None:
    with pytest.raises((ValueError, Exception), match="(?i)read-?only"):
        function(x)
    line = r"test_read_only\.py:\d+ in (?!test)\w+\n"
    calls = modes(function, x, target="python")
    if x.dtype.kind == "c" or function is in_inner_derivative:
        calls = calls[3:5] if x.dtype.kind == "c" else calls[:5]
    for call in calls:
        with pytest.raises(adjit.ReadOnly, match=rf"`\w+`, which is read-only\n  {line}") as caught:
            call()
        assert isinstance(caught.value, ValueError)
    assert np.isfinite(adjit.jvp(function, (x.copy(),), (np.ones_like(x),), target="python")[0])


def test_in_compiled_code() -> None:
    for call in modes(part, X):
        with pytest.raises(adjit.ReadOnly, match=re.escape("y += 1.0")):
            call()
    np.testing.assert_array_equal(adjit.grad(part)(X.copy()), [2.0, 6.0, 8.0])
    with pytest.raises(adjit.ReadOnly):
        adjit.grad(part)(X)


def in_structure(model):
    model.weights[0][1] = 2.0
    return np.sum(model.weights[0] * model.rest["b"])


def test_parts_of_structures() -> None:
    def model(weights: np.ndarray, rest: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(weights=[weights], rest={"b": rest})

    with pytest.raises(adjit.ReadOnly, match="`model`"):
        adjit.grad(in_structure, target="python")(model(X, X.copy()))
    found = adjit.grad(in_structure, target="python")(model(X.copy(), X))
    np.testing.assert_array_equal(found.weights[0], [1.0, 0.0, 3.0])


def only_read(x, y):
    z = x.copy()
    z[0] = y[0]
    y[1] = 2.0
    return np.sum(z * x) + y[1] * y[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_only_read_is_taken_as_ever(target: str) -> None:
    y = np.array([0.5, 1.5])
    value, slopes = adjit.value_and_grad(only_read, wrt=(0, 1), target=target)(X, y)
    assert value == only_read(X, y.copy()) == 14.5
    np.testing.assert_array_equal(slopes[0], [0.5, 4.0, 6.0])
    np.testing.assert_array_equal(slopes[1], [3.0, 0.0])
    found, pullback = adjit.vjp(only_read, X, y, target=target)
    np.testing.assert_array_equal(pullback(1.0)[0], slopes[0])
    assert found == value
    assert adjit.jvp(only_read, (X, y), (np.ones(3), np.zeros(2)), target=target)[1] == 10.5
