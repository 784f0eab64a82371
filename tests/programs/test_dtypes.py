"""What `dtype=` says to reductions, running sums and ranges: the numbers are cut off where NumPy cuts them off.

Values are NumPy's, uncompiled one by one and compiled all of a dtype in one function; what is cut off has
a derivative of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import adjit
from tests.programs.harness import check

KINDS: dict[str, Any] = {
    "int": int, "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "int64": np.int64, "float32": np.float32,
    "float": float,
}  # fmt: skip

# Of a vector of numbers and a dtype; each gives a number.
OF_ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, kind: np.sum(a, dtype=kind),
    "sum method": lambda a, kind: a.sum(dtype=kind),
    "sum from": lambda a, kind: np.sum(a, dtype=kind, initial=3),
    "sum of some": lambda a, kind: np.sum(a, dtype=kind, where=a > 0),
    "sum of an axis": lambda a, kind: np.sum(np.sum(a.reshape(2, 2), axis=0, dtype=kind)),
    "sum into": lambda a, kind: put_into(np.sum, a, kind),
    "mean": lambda a, kind: np.mean(a, dtype=kind),
    "mean method": lambda a, kind: a.mean(dtype=kind),
    "mean of an axis": lambda a, kind: np.sum(np.mean(a.reshape(2, 2), axis=1, dtype=kind)),
    "mean of some": lambda a, kind: np.mean(a, dtype=kind, where=a > 0),
    "prod": lambda a, kind: np.prod(a, dtype=kind),
    "cumsum": lambda a, kind: np.sum(np.cumsum(a, dtype=kind) * 1.0),
    "cumsum of an axis": lambda a, kind: np.sum(np.cumsum(a.reshape(2, 2), axis=0, dtype=kind) * 1.0),
    "cumprod": lambda a, kind: np.sum(np.cumprod(a, dtype=kind) * 1.0),
    "reduce": lambda a, kind: np.add.reduce(a, dtype=kind),
    "trace": lambda a, kind: np.trace(np.outer(a, a), dtype=kind),
    "astype": lambda a, kind: np.sum(a.astype(kind) * 1.0),
}

OF_RANGES: dict[str, Callable[[Any], Any]] = {
    "arange below a step": lambda kind: np.arange(0, 3.9, 0.9, dtype=kind),
    "arange down": lambda kind: np.arange(3.9, 0.1, -0.7, dtype=kind),
    "arange over a step": lambda kind: np.arange(1, 9, 2.5, dtype=kind),
    "arange to": lambda kind: np.arange(4.5, dtype=kind),
    "arange of integers": lambda kind: np.arange(2, 9, 3, dtype=kind),
    "linspace": lambda kind: np.linspace(0.0, 5.5, 4, dtype=kind),
    "linspace below zero": lambda kind: np.linspace(-5.5, 0.0, 4, dtype=kind),
    "logspace": lambda kind: np.logspace(0.0, 2.0, 4, dtype=kind),
    "full": lambda kind: np.full(3, 2.7, dtype=kind),
}

GIVEN: dict[str, np.ndarray] = {
    "floats": np.array([2.3, -0.4, 1.9, 0.6]),
    "integers": np.array([100, -128, 50, 7]),
    "bytes": np.array([100, 200, 50, 7], np.uint8),
    "flags": np.array([True, False, True, True]),
}


def put_into(function: Any, a: Any, kind: Any) -> Any:
    out = np.zeros(2)
    function(a.reshape(2, 2), axis=0, dtype=kind, out=out)
    return out[0] + 2.0 * out[1]


def scaled_by(row: Any, kind: Any) -> Any:
    return lambda y, a: y * row(a, kind)


def weighed_by(made: Any, kind: Any) -> Any:
    def weighed(y):
        found = made(kind) * 1.0
        return y * np.sum(found * np.arange(1.0, 1.0 + found.size))

    return weighed


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_reductions(name: str, given: str) -> None:
    row, a = OF_ARRAYS[name], GIVEN[given]
    for kind in KINDS.values():
        scaled = scaled_by(row, kind)
        with np.errstate(all="ignore"):
            right = float(row(a, kind))
        value, gradient = adjit.value_and_grad(scaled, target="python")(1.5, a)
        np.testing.assert_allclose([value, gradient], [1.5 * right, right], rtol=1e-6, err_msg=f"{name}, {kind}")


@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_compiled(kind: str) -> None:
    """All rows in one function: reductions of each kind of array, and ranges."""
    of_arrays, of_ranges, dtype = tuple(OF_ARRAYS.values()), tuple(OF_RANGES.values()), KINDS[kind]

    def all_of_them(y, floats, integers):
        total = 0.0
        for row in of_arrays:
            for a in (floats, integers):
                found = row(a, dtype) * 1.0
                total = 0.9 * total + y * found / (1.0 + np.abs(found))
        for made in of_ranges:
            if not (made is below_zero and dtype is np.uint8):
                total = 0.9 * total + y * np.sum(made(dtype) * 1.0)
        return total

    arguments = (1.5, GIVEN["floats"], GIVEN["integers"])
    with np.errstate(all="ignore"):
        right = all_of_them(*arguments)
    found = adjit.value_and_grad(all_of_them)(*arguments)
    np.testing.assert_allclose(found, [right, right / 1.5], rtol=1e-6)
    tangent = adjit.jvp(all_of_them, arguments, (1.0, *map(np.zeros_like, arguments[1:])))[1]
    np.testing.assert_allclose(tangent, found[1], rtol=1e-10)


below_zero = OF_RANGES["linspace below zero"]


@pytest.mark.parametrize("name", OF_RANGES)
def test_ranges(name: str) -> None:
    made = OF_RANGES[name]
    for kind in KINDS.values():
        weighed = weighed_by(made, kind)
        value = adjit.value_and_grad(weighed, target="python")(1.5)[0]
        np.testing.assert_allclose(value, weighed(1.5), rtol=1e-6, err_msg=f"{name}, {kind}")


@pytest.mark.parametrize("kind", [int, np.int8, np.float32])
def test_what_is_cut_off_has_no_derivative(kind: Any) -> None:
    def added(x):
        cut = np.sum(x, dtype=kind) + 2.0 * np.mean(x, dtype=kind) + put_into(np.sum, x, kind)
        # by itself what is cut off to an integer is refused
        return cut + 0.0 * x[0]

    x = GIVEN["floats"]
    right = np.array([2.5, 3.5, 2.5, 3.5]) if kind is np.float32 else np.zeros(4)
    np.testing.assert_allclose(adjit.grad(added)(x), right)
    tangent = adjit.jvp(added, (x,), (np.array([1.0, 2.0, 3.0, 4.0]),), target="python")[1]
    np.testing.assert_allclose(tangent, right @ [1.0, 2.0, 3.0, 4.0])


def test_sum_of_booleans_is_or() -> None:
    def any_above(y, n):
        return y * np.sum(n > 1, dtype=bool) + np.sum(n > 9, axis=0, dtype=np.bool_)

    n = np.array([1, 2, 3, 4, 5])
    assert adjit.value_and_grad(any_above)(1.1, n) == (any_above(1.1, n), 1.0)


@pytest.mark.parametrize(
    "row",
    [
        lambda a: np.var(a, dtype=int), lambda a: a.std(dtype=np.int8), lambda a: np.nanmean(a, dtype=np.int64),
        lambda a: np.cumsum(a, dtype=bool)[0], lambda a: np.mean(a, dtype=bool), lambda a: np.prod(a, dtype=bool),
        lambda a: a[0] + np.arange(0, 2, dtype=bool)[0],
    ],
)  # fmt: skip
def test_refused(row: Any) -> None:
    with pytest.raises(adjit.Unsupported, match=r"test_dtypes.py:\d+"):
        adjit.grad(lambda a: row(a) * 1.0, target="python")(GIVEN["floats"])


# ---------------------------------------------------------------------------------------- side by side, and known items


def of_equal_lengths(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += a * b
    return total + sum(a * b for a, b in zip([1.0, 2.0], [x[0], y[0]], strict=True))


def test_zip_of_unequal_lengths() -> None:
    x, y = np.array([0.3, 0.5, 0.9]), np.ones(3)
    for target in ("cpu", "python"):
        gradient = adjit.grad(of_equal_lengths, target=target)
        np.testing.assert_allclose(gradient(x, y), [2.0, 1.0, 1.0])
        with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter or longer than the first"):
            gradient(x, y[:2])
    with pytest.raises(adjit.TypeMismatch, match=r"zip\(\) argument 3"):
        adjit.grad(lambda x: sum(a * b * c for a, b, c in zip([x, x], [1, 2], [3], strict=True)))(1.5)


def known_items(x):
    tenths = tuple(s / 10.0 for s in range(-9, 9))
    items = tuple(x.tolist())
    rows = tuple(np.outer(x, x).tolist())
    return sum(items) * sum(tenths) + items[1] * max(items) * len(tenths) + rows[0][1] + sum(rows[2])


def edges(x):
    return np.sum(scipy.ndimage.laplace(x) ** 2) + math_of_nothing(x[0])


def math_of_nothing(a):
    return a * math.prod(()) + a * np.zeros(math.prod((2, 3)[:0])).size


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_tuples_of_what_is_known(target: str) -> None:
    check(known_items, lambda: (np.array([0.3, 0.5, 0.9]),), target=target)
    check(edges, lambda: (np.array([0.3, 0.5, 0.9, -0.4]),), target=target)


def of_singles(x, k):
    """Rules whose partials are chosen among numbers, of arrays and numbers in single precision."""
    t = np.sum(np.maximum(k * x, np.float32(0))) + np.sum(np.minimum(x / k, np.float32(0.1)))
    t += np.sum(np.fmax(x[0] * x, np.float32(0))) + np.sum(np.fmin(np.outer(x, x), x * k))
    t += np.max(x * k) * np.min(x / k) + np.sum(np.abs(x * k)) + np.sum(np.clip(x * k, np.float32(-0.1), x[2]))
    for i in range(x.size):
        t += max(k * x[i], np.float32(0.2)) * np.float32(0.5)
    return t


def test_choices_in_single_precision():
    x = np.array([0.1, -0.2, 0.3, 0.7])
    single = x.astype(np.float32), np.float32(1.5)
    value, (x_bar, k_bar) = adjit.value_and_grad(of_singles, wrt=(0, 1))(*single)
    wanted, (x_wanted, k_wanted) = adjit.value_and_grad(of_singles, wrt=(0, 1))(x, 1.5)
    assert x_bar.dtype == np.float32
    np.testing.assert_allclose([value, k_bar], [wanted, k_wanted], rtol=1e-5)
    np.testing.assert_allclose(x_bar, x_wanted, rtol=1e-5)
    tangent = adjit.jvp(of_singles, single, (np.ones(4, np.float32), np.float32(1)))[1]
    np.testing.assert_allclose(tangent, np.sum(x_wanted) + k_wanted, rtol=1e-5)
