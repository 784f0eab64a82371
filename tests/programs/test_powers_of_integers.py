"""Powers, shifts and remainders of integers: as Python's, as NumPy's in plain functions, as numba's where it compiles.

A power to a negative exponent, and a shift by 64 bits and more, are the floats that they are where floats are beside
them, and ValueError where an integer is needed.
"""

from __future__ import annotations

import ast
from typing import Any

import numba
import numpy as np
import pytest

import adjit
from tests.programs.harness import check


def of_tenths(x, n):
    total = 0.0
    for i in range(n):
        total += 10 ** (-i) * x
    return total + 2**-3 * x


def of_arguments(x, i, j):
    return i**j * x + x / i ** (j - 1) + np.sqrt(float(i**j)) + x ** (i**2)


def of_lists(x):
    weights = [2**-k for k in range(5)]
    table = np.zeros(4)
    for k in range(4):
        table[k] = 3 ** (1 - k) * x
    return sum(weights) * x + np.sum(table * table)


def of_large(x, k):
    return (1 << k) * 1e-19 * x + 7**k * 1e-60 * x + (5 >> k) * x + (-5 >> k) * x


def of_whole(x, k):
    n = 2**k
    out = np.zeros(n)
    for j in range(n):
        out[j] = x * (j % 2**2) + (n >> 1) * x
    return np.sum(out[: 1 << k]) + n % 3 * x


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (of_tenths, (1.5, 4)), (of_arguments, (1.5, 2, -3)), (of_arguments, (1.5, 2, 3)), (of_lists, (0.7,)),
        (of_large, (0.7, 64)), (of_large, (0.7, 70)), (of_large, (0.7, 3)), (of_whole, (0.7, 3)),
    ],
)  # fmt: skip
def test_pythons_integers(function: Any, arguments: Any, target: str) -> None:
    check(function, lambda: arguments, target=target, second=False)


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (lambda x, k: x * sum(x * j for j in range(2**k)), (1.5, -1), "an integer to a negative power"),
        (lambda x, k: x * (1 << k), (1.5, -1), "negative shift count"),
        (lambda x, k: x * (8 >> k), (1.5, -1), "negative shift count"),
        (lambda x, n: np.sum(x * n ** n[::-1]), (np.ones(2), np.array([2, -1])), "an integer to a negative power"),
        (lambda x, n: x * n[0] ** n[1], (1.5, np.array([2, -1])), "an integer to a negative power"),
        (lambda x, n: np.sum(x * np.power(n, -n)), (np.ones(2), np.array([2, 1], np.int8)), "an integer to a negative"),
    ],
)  # fmt: skip
def test_what_raises_as_it_runs(function: Any, arguments: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        function(*arguments)
    for target in ("python", "cpu"):
        with pytest.raises(ValueError, match=said):
            adjit.grad(function, target=target)(*arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, n: np.sum(x * n**-2), (np.ones(2), np.array([2, 1]))),
        (lambda x, n: np.sum(x * np.power(n, -1)), (np.ones(2), np.array([2, 1], np.int16))),
        (lambda x, n: np.sum(x * (n + 300)), (np.ones(2), np.array([2, 1], np.int8))),
        (lambda x, n: np.sum(x * (-1 - n)), (np.ones(2), np.array([2, 1], np.uint8))),
    ],
)  # fmt: skip
def test_what_numpy_raises_in_any_case(function: Any, arguments: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        function(*arguments)
    with pytest.raises(adjit.TypeMismatch, match=r"test_powers_of_integers.py:\d+"):
        adjit.grad(function)(*arguments)


def test_what_does_not_fit_beside_an_array() -> None:
    def added(x, n, k):
        return np.sum(x * (n + k))

    x, n = np.ones(2), np.array([2, 1], np.int8)
    for target in ("python", "cpu"):
        assert adjit.grad(added, target=target)(x, n, 100).tolist() == [102.0, 101.0]
        for k in (128, -129):
            with pytest.raises(OverflowError, match="Python integer out of bounds for int8"):
                adjit.grad(added, target=target)(x, n, k)


def test_an_integer_that_a_branch_made() -> None:
    def scaled(x, n, m):
        k = m[0] if x[0] > 0.5 else 3
        return np.sum(x * (n * k))

    def said(x, n, m):
        k = m[0] if x[0] > 0.5 else 3
        return np.sum(x * (n * int(k))) + np.sum(x * (n * np.int64(k)))

    x, n, m = np.ones(2), np.array([100, 50], np.int8), np.array([3])
    with pytest.raises(adjit.TypeMismatch, match="an array of small integers and `k"):
        adjit.grad(scaled)(x, n, m)
    assert adjit.value_and_grad(said)(x, n, m)[0] == 44 - 106 + 450


# ------------------------------------------------------------------------------------------------- by widths, compiled

WIDTHS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def operands(kind: Any) -> tuple[np.ndarray, np.ndarray]:
    info = np.iinfo(kind)
    left, right = [7, 7, 0, info.max, info.max, 100, 3, 1, 5], [2, 3, 3, 2, info.max, 100, 4, 0, 70]
    if info.min < 0:
        left += [-7, -7, 7, info.min, info.min, -1, -6, 6, -8]
        right += [2, -2, -2, 3, 2, 3, 3, -3, 0]
    return np.array(left, kind), np.array(right, kind)


ROWS: dict[str, Any] = {
    "fmod": lambda a, b: (np.fmod(a, b), np.fmod(a, 3)),
    "remainder": lambda a, b: (a % b, np.remainder(a, b), a % 3, np.mod(a, 5)),
    "quotient": lambda a, b: (a // b, np.floor_divide(a, b), a // 3, 100 // a),
    "both": lambda a, b: np.divmod(a, b),
    "left": lambda a, b: (a << b, np.left_shift(a, b), a << 1, a << 100),
    "right": lambda a, b: (a >> b, np.right_shift(a, b), a >> 1, a >> 100),
    "power": lambda a, b: (a ** (b * b % 7), np.power(a, b * b % 5), a**2, a**3, np.power(a, 2)),
    "sum": lambda a, b: (a + b, a + 100, 5 - a, a * 3, np.add(a, 100), np.multiply(b, 7)),
    "bits": lambda a, b: (a & b, a | 1, a ^ 9, np.bitwise_xor(a, b), ~a),
    "of one": lambda a, b: (-a, abs(a), +a, np.square(a), np.negative(b), np.sign(a)),
    "of numbers": lambda a, b: (a[0] * 3 + a[3] * b[3], a[3] + a[3], -a[3] - 1, a[4] // 2 + b[1] ** 2, a[1] << b[1]),
    "chosen": lambda a, b: (np.where(a > 3, a, 1) * 2, np.maximum(a, 5) * b, np.minimum(a, b) + b),
    "in place": lambda a, b: changed(a, b),
}  # fmt: skip


def changed(a: Any, b: Any) -> Any:
    c, d, e = a.copy(), a.copy(), a.copy()
    c *= 3
    c += b
    c[1:] -= 100
    d <<= 1
    d >>= b
    e **= 2
    e[0] *= 2
    return c, d, e


def of_all_widths(row: Any) -> Any:
    def made(y, pairs):
        total = 0.0
        for a, b in pairs:
            for k, found in enumerate(row(a, b)):
                total = 0.9 * total + y * (k + 1) * np.sum(found * 1.0 * np.sin(np.arange(np.size(found)) + 1.0))
        return total

    return made


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("target", ["python", pytest.param("cpu", marks=pytest.mark.sampled(5))])
def test_all_widths(name: str, target: str) -> None:
    function, pairs = of_all_widths(ROWS[name]), tuple(map(operands, WIDTHS))
    with np.errstate(all="ignore"):
        right = function(1.5, pairs)
    found = adjit.value_and_grad(function, target=target)(1.5, pairs)
    np.testing.assert_allclose(found, [right, right / 1.5], rtol=1e-12)


# -------------------------------------------------------------------------------------------- where numba compiles them


@numba.njit
def by_numba(x, n, m, k):
    return np.sum(x * (n * 3)) + np.sum(x * (n + 100)) + x[0] * 2.0 * (n[0] + n[1]) + x[0] * 2**k + np.sum(x * m**k)


def test_in_compiled_functions_numbas_meaning_holds() -> None:
    x, n, m = np.array([0.5, 1.5]), np.array([100, 50], np.int8), np.array([2, 3])
    for k in (3, -1):
        value, gradient = adjit.value_and_grad(by_numba)(x, n, m, k)
        np.testing.assert_allclose(value, by_numba(x, n, m, k), rtol=1e-14)
        plain = adjit.grad(by_numba.py_func)
        if k > 0:
            assert not np.allclose(plain(x, n, m, k), gradient)  # asked of one text after the other


def test_the_text_has_no_more_than_it_needs() -> None:
    def scaled(x, k):
        return x * 2**k + x * 10**2 + x * (1 << 3)

    text = adjit.grad(scaled).source(1.5, 3)
    assert "2.0 ** k" in text
    assert "integer_power" not in text
    ast.parse(text)
