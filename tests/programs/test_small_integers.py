"""Integers of fewer than 64 bits, and booleans: cut off as NumPy's, in plain functions also beside Python's numbers.

docs/conventions.md says so. Values and derivatives are the same on both targets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError

EIGHT = np.array([100, -128, 50, 7], np.int8)
BYTES = np.array([200, 255, 3, 7], np.uint8)
FLAGS = np.array([True, True, False, True])


def wide(n: Any) -> Any:
    return n.astype(np.int64)


# What is computed of an array and of its elements, and what it is in NumPy once the types are written out.
ARRAYS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda n: n + n, lambda n: n + n),
    "kept": (lambda n: twice(n), lambda n: n + n),
    "difference": (lambda n: n - n[::-1], lambda n: n - n[::-1]),
    "product": (lambda n: n * n, lambda n: n * n),
    "negative": (lambda n: -n, lambda n: -n),
    "negative ufunc": (lambda n: np.negative(n), lambda n: -n),
    "size": (lambda n: abs(n), lambda n: abs(n)),
    "complement": (lambda n: ~n, lambda n: ~n),
    "quotient": (lambda n: n // n[::-1], lambda n: n // n[::-1]),
    "shifted": (lambda n: n << n, lambda n: n << n),
    "ufuncs": (lambda n: np.add(n, n) + np.square(n), lambda n: np.add(n, n) + np.square(n)),
    "with an element": (lambda n: n + n[0], lambda n: n + n[0]),
    "chosen": (lambda n: np.where(n > 0, n, n + n), lambda n: np.where(n > 0, n, n + n)),
    "larger": (lambda n: np.maximum(n, n + n), lambda n: np.maximum(n, n + n)),
    "in place": (lambda n: stepped(n), lambda n: n + n),
    "divided": (lambda n: n / n[::-1], lambda n: n / n[::-1]),
    # Python's numbers beside them have as many bits as they have
    "with a number": (lambda n: n + 100, lambda n: n + 100),
    "times a number": (lambda n: n * 2, lambda n: n * 2),
    "squared": (lambda n: n**2, lambda n: n**2),
    "shifted by a number": (lambda n: n << 1, lambda n: n << 1),
    "chosen with a number": (lambda n: np.where(n > 0, n, 1) * 2, lambda n: np.where(n > 0, n, 1) * 2),
    "larger than a number": (lambda n: np.maximum(n, 5) * 3, lambda n: np.maximum(n, 5) * 3),
    "with a counter": (lambda n: counted_up(n), lambda n: n * 0 + n * 1 + n * 2),
    "in place with a number": (lambda n: tripled(n), lambda n: n * 3),
    "smallest to largest": (lambda n: np.ptp(n), lambda n: np.ptp(n)),
    "with another type": (lambda n: n + wide(n), lambda n: wide(n) * 2),
    # sums and products are accumulated in 64 bits, in NumPy and in numba
    "running sum": (lambda n: np.cumsum(n), lambda n: np.cumsum(n)),
    "added up": (lambda n: np.sum(n) + n.prod(), lambda n: np.sum(n) + n.prod()),
    "mean": (lambda n: np.mean(n), lambda n: np.mean(n)),
    "elements": (lambda n: n[0] + n[1] + n[2] * n[3], lambda n: n[0] + n[1] + n[2] * n[3]),
    "element times number": (lambda n: n[0] * 3 + 100 - abs(-n[1]), lambda n: n[0] * 3 + 100 - abs(-n[1])),
    "added up by Python": (lambda n: sum(n), lambda n: sum(n)),
    # a variable of 64 bits to which a loop adds: 64 bits, as in numba
    "counted": (lambda n: counted(n), lambda n: np.sum(wide(n))),
}


# The same of functions that give a number, or an array of which the sum is taken.
PRODUCTS: dict[str, Any] = {
    "dot": lambda n: np.dot(n, n[::-1]) + n @ n,
    "matrices": lambda n: np.sum(n.reshape(2, 2) @ n.reshape(2, 2)) + np.sum(n[:2] @ n.reshape(2, 2)),
    "einsum": lambda n: np.einsum("i,i->", n, n) + np.tensordot(n, n, 1) + np.inner(n, n) + np.vdot(n, n),
    "outer": lambda n: np.sum(np.outer(n, n)) + np.sum(np.kron(n, n)) + np.sum(n[:, None] * n + 1),
    "cross": lambda n: np.sum(np.cross(n[:3], n[1:])) + np.sum(np.convolve(n, n)),
    "average": lambda n: np.average(n, weights=n) + np.sum(np.gradient(n)) + np.mean((n - n[::-1]) ** 2),
    "pythons": lambda n: n.item(0) * 3 + sum([v * 3 for v in n.tolist()]) + float(n[1]) * 5 + int(n[2]) * 7,
    "joined": lambda n: np.sum(np.concatenate((n, n)) * 2) + np.sum(np.full_like(n, 100) + 100) + np.max(n) * 2,
    "extents": lambda n: np.sum(n * len(n)) + np.sum(n * n.shape[0] * n.size) + np.sum(n * np.arange(4)),
}  # fmt: skip


def twice(n):
    m = n + n
    return m.copy()


def stepped(n):
    m = n.copy()
    m += n
    return m


def tripled(n):
    m = n.copy()
    m *= 3
    return m


def counted_up(n):
    m = n * 0
    for k in range(3):
        m = m + n * k
    return m


def counted(n):
    s = 0
    for k in range(n.size):
        s += n[k]
    return s


def check(name: str, n: np.ndarray, targets: tuple[str, ...] = ("python",)) -> None:
    made, right = ARRAYS[name]
    with np.errstate(all="ignore"):
        factor = np.asarray(right(n), float) * np.ones(n.size)
    x = np.array([0.5, 0.25, 2.0, -1.0])

    def weighed(x, n):
        return np.sum(x * made(n))

    for target in targets:
        value, gradient = adjit.value_and_grad(weighed, target=target)(x, n)
        np.testing.assert_allclose(gradient, factor, rtol=1e-15, err_msg=f"{name}, {target}: reverse")
        np.testing.assert_allclose(value, x @ factor, rtol=1e-14, err_msg=f"{name}, {target}: value")
        tangent = adjit.jvp(weighed, (x, n), (np.ones(4), np.zeros_like(n)), target=target)[1]
        np.testing.assert_allclose(tangent, factor.sum(), rtol=1e-14, err_msg=f"{name}, {target}: forward")


@pytest.mark.parametrize("n", [EIGHT, BYTES], ids=["int8", "uint8"])
@pytest.mark.parametrize("name", ARRAYS)
def test_bytes(name: str, n: np.ndarray) -> None:
    check(name, n)


PRODUCTS_OF = tuple(PRODUCTS.values())


def all_products(y, n):
    total = 0.0
    for k, made in enumerate(PRODUCTS_OF):
        total += y * (k + 1) * made(n)
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("n", [EIGHT, BYTES], ids=["int8", "uint8"])
def test_products(n: np.ndarray, target: str) -> None:
    with np.errstate(all="ignore"):
        right = all_products(1.5, n)
    found = adjit.value_and_grad(all_products, target=target)(1.5, n)
    np.testing.assert_allclose(found, [right, right / 1.5], rtol=1e-14)


@pytest.mark.parametrize("name", ["sum", "product", "complement", "with a number", "counted", "added up", "mean"])
def test_booleans(name: str) -> None:
    check(name, FLAGS)


@pytest.mark.parametrize("name", ["sum", "negative", "with a number", "times a number", "elements", "counted"])
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.uint16, np.uint32])
def test_other_sizes(name: str, dtype: Any) -> None:
    info = np.iinfo(dtype)
    check(name, np.array([info.max, info.min, info.max // 2 + 1, 7], dtype))


def all_at_once(x, n):
    m = n + n
    one = np.sum(x * m) + 3.0 * np.sum(x * (n - n[::-1])) + 5.0 * np.sum(x * -n) + 7.0 * np.sum(x * (n * n))
    two = np.sum(x * (n + 100)) + 5.0 * np.sum(x * np.where(n > 0, n, m))
    return one + 11.0 * two + x[0] * (n[0] + n[1]) + x[1] * n[0] * 3 + 13.0 * x[2] * np.sum(n) + x[3] * counted(n)


@pytest.mark.parametrize("n", [EIGHT, BYTES], ids=["int8", "uint8"])
def test_both_targets_agree(n: np.ndarray) -> None:
    x = np.array([0.5, 0.25, 2.0, -1.0])
    plain, compiled = (adjit.value_and_grad(all_at_once, target=t)(x, n) for t in ("python", "cpu"))
    np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-14)
    np.testing.assert_allclose(compiled[1], plain[1], rtol=1e-14)


def difference_of_flags(x, n):
    return np.sum(x * (n - n[::-1]))


def negated_flags(x, n):
    return np.sum(x * -n)


@pytest.mark.parametrize("function", [difference_of_flags, negated_flags])
def test_what_numpy_refuses_of_booleans(function: Any) -> None:
    with pytest.raises(AdjitError) as fault:
        adjit.grad(function, target="python")(np.ones(4), FLAGS)
    what, *_, why, instead = fault.value.message.splitlines()
    assert what == "TypeMismatch: `-` of boolean arrays"
    assert why == "  NumPy refuses it."
    assert instead == "  Use ~ or ^, or convert them: a.astype(np.int64)."


def stored_literal(x, n):
    m = n.copy()
    m[0] = 300
    return np.sum(x * m)


def test_a_literal_that_does_not_fit_is_cut_off() -> None:
    assert adjit.grad(stored_literal, target="python")(np.ones(4), EIGHT)[0] == 300 - 256


def of_constants(x):
    return 2**64 % 1000 + (2**70 >> 60) + 2**64 / 2**60 * x + 10**21 * x * 1e-21 + math.log(2**70) + (x < 2**70)


def hashed(x):
    h = 14695981039346656037
    for c in (1, 2, 3, 4):
        h = ((h ^ c) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return h * 1e-19 * x


@pytest.mark.parametrize("f", [of_constants, hashed])
def test_of_more_bits_while_compiling(f: Any) -> None:
    for target in ("python", "cpu"):
        value, gradient = adjit.value_and_grad(f, target=target)(0.7)
        assert value == pytest.approx(f(0.7), rel=1e-14)
        assert gradient == pytest.approx((f(0.8) - f(0.6)) / 0.2, rel=1e-9)


def congruent(x, n):
    s = 12345
    for _ in range(n):
        s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
    return s / 2**64 * x


def test_of_more_bits_as_it_runs() -> None:
    with pytest.raises(AdjitError, match="the integer 18446744073709551616 with an integer that is only known"):
        adjit.grad(congruent)(0.7, 100)


def inverted(x):
    return x if ~(1 > 2) else 2.0 * x


def test_inverted_booleans_that_are_known() -> None:
    with pytest.raises(AdjitError, match="`~` of a boolean that is known while compiling"):
        adjit.grad(inverted)(0.7)


def inverted_of_python(x, y):
    return x * ~(x > 0)


def inverted_in_a_loop(x, y):
    is_below = False
    for k in range(3):
        if not ~is_below:
            x = x * 2.0
        is_below = k > 0
    return x


@pytest.mark.parametrize("function", [inverted_of_python, inverted_in_a_loop])
def test_inverted_booleans_of_python(function: Any) -> None:
    with pytest.raises(AdjitError, match="`~` of a Python boolean"):
        adjit.grad(function)(0.7, np.ones(2))


def inverted_of_numpy(x, y):
    mask = y > 1.0
    total = 0.0
    for k in range(y.size):
        if ~mask[k] and ~(y[k] > 5.0):
            total += x * y[k]
    return total * (2.0 if ~np.any(y > 9.0) else 3.0) * (2.0 if ~(y > 9.0).any() else 3.0) * ~np.isnan(x)


def test_inverted_booleans_of_numpy() -> None:
    y = np.array([0.5, 2.0, -1.5])
    for target in ("python", "cpu"):
        found = adjit.value_and_grad(inverted_of_numpy, target=target)(0.7, y)
        np.testing.assert_allclose(found, [inverted_of_numpy(0.7, y), inverted_of_numpy(1.0, y)])
