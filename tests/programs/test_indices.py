"""Index arrays of every kind, in loads, stores and augmented stores, against plain Python.

Lists, nested lists, lists of booleans, arrays, alone and beside integers, slices, newaxis and `...`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjit
from tests.defining import define
from tests.programs.harness import check

LIST, PAIR, MASK, NONE = [2, 0], ([0, 1], [1, 2]), [True, False, True], []
MATRIX_INDICES = (
    "[0, 1]", "[1, 0]", "[0]", "[-1, 0]", "[0, 0]", "[[0, 1], [1, 2]]", "[]", "[True, False, True]",
    "[False, False, False]", "LIST", "PAIR", "MASK", "NONE", "own", "array", "rows[0]", "(0, [0, 2])", "([0, 1],)",
    "([0, 1], [1, 2])", "([0, 1], 1)", "([[0], [1]], [0, 2])", "(0, 1),", "[0, 1],", "(0, 1), 1", "[0, 1], [1, 2]",
    "[0, 1], 1", "1, [0, 1]", "[0, 1], :", ":, [0, 1]", ":, [[0, 1], [2, 0]]", "[0, 2], 1:", "1:, [0, 2]",
    "::-1, [0, 2]", "..., [0, 1]", "[0, 1], ...", "None, [0, 1]", "[0, 1], None", "[0, 1], None, [1, 2]",
    ":, None, [0, 1]", "[True, False, True], :", "[True, False, True], 1", "[True, False, True], [0, 1]",
    ":, [True, False, False, True]", "[k, k + 1]", "[k, k + 1], k", "k, [0, 1]", "[k], [k]", "np.array([0, 1])",
    "np.array([0, 1]), np.array([1, 2])", "np.array([k, 2])", "np.array([True, False, True]), 1", "A[:, 0] > 0.0",
    "A[:, 0] > 0.0, 1:", "np.nonzero(A > 0.0)", "[x[0] > 0.0, x[1] > 0.0, True]", "[*pair], 1", "np.array(pair)",
)  # fmt: skip
CUBE_INDICES = (
    "[0, 1]", "[0, 1], 1", "0, [0, 1]", "0, :, [0, 1]", "[0, 1], :, 1", ":, 0, [0, 1]", ":, [0, 1], 0",
    "[0, 1], :, [1, 0]", ":, [0, 1], [1, 0]", "[0, 1], [1, 0], [0, 1]", "[[0], [1]], :, [0, 1, 2]", "0, [0, 1], 1:",
    "[1], ..., [0, 1]", "None, 0, [0, 1]", "0, None, [0, 1]", ":, None, [1, 0], 0", "[0, 1], ..., 0",
    "[True, False], :, [0, 1]", "1, ..., [1, 2]", "(0, 1), :, [1, 1]",
)  # fmt: skip
TEXT = """def f(x):
    A = x.reshape({shape}) * 1.0
    k, own, array, pair, rows = 1, [1, 0], np.array([2, 1]), (0, 2), [[2, 0], 1]
    held = A[{index}]
    A[{index}] = A[{index}] * 2.0 + 1.0
    A[{index}] += np.cos(A[{index}])
    A[{index}] *= x[2]
    return np.sum(held * weights(held)) + np.sum(A * weights(A)) + np.sum(A[{index}] ** 2)
"""


def weights(a):
    return np.cos(1.0 + np.arange(a.size)).reshape(a.shape)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "shape, index", [*(((3, 4), i) for i in MATRIX_INDICES), *(((2, 2, 3), i) for i in CUBE_INDICES)]
)
def test_index(shape: tuple[int, ...], index: str) -> None:
    names = {"np": np, "weights": weights, "LIST": LIST, "PAIR": PAIR, "MASK": MASK, "NONE": NONE}
    function = define(TEXT.format(shape=shape, index=index), f"<index {shape} {index}>", **names)["f"]
    check(function, lambda: (np.random.default_rng(0).normal(size=12),), second=False)


def swap_rows(A: np.ndarray) -> float:
    A[[0, 1]] = A[[1, 0]]
    A[:, [0, 2]] = A[:, [2, 0]]
    return np.sum(A * np.arange(6.0).reshape(2, 3))


def pivots(A: np.ndarray, b: np.ndarray) -> float:
    for k in range(2):
        p = k + np.argmax(np.abs(A[k:, k]))
        A[[k, p]] = A[[p, k]]
        b[[k, p]] = b[[p, k]]
        for i in range(k + 1, 3):
            m = A[i, k] / A[k, k]
            A[i] -= m * A[k]
            b[i] -= m * b[k]
    return np.sum(A * A) + b @ b


def lists_as_values(x: np.ndarray) -> float:
    a = np.zeros((2, 3))
    a[0] = [x[0], 1, x[1] * x[2]]
    a[1, [0, 2]] = (x[2], x[0] * x[1])
    a[:, 1] += [x[0], x[2]]
    return np.sum(a * a * x[0])


def places_in_the_target(x: np.ndarray) -> float:
    p = np.array([1, 2, 0])
    p[p] = [0, 1, 2]
    return np.sum(x[p] * np.arange(3.0))


def sequences_for_functions(x: np.ndarray) -> float:
    taken = np.take(x, [2, 0, 2]) * np.take(x, (0, 1, 1), axis=0)
    return np.sum(taken) + np.sum(np.append(x, [1.0, x[0]]) ** 2) + np.ndim([[1, 2]]) * np.size((1.0, 2.0)) * x[1]


def a_closure(indices: Any) -> Any:
    def f(x: np.ndarray) -> float:
        x[indices] *= 2.0
        return np.sum(x[indices] ** 2 * x[0])

    return f


MATRIX = np.array([[1.0, 2.5, -1.0], [3.0, 0.5, 1.0], [-2.0, 1.5, 2.0]])
PROGRAMS: tuple[tuple[Any, tuple[np.ndarray, ...]], ...] = (
    (swap_rows, (MATRIX[:2],)),
    (pivots, (MATRIX, MATRIX[0])),
    (lists_as_values, (MATRIX[0],)),
    (places_in_the_target, (MATRIX[0],)),
    (sequences_for_functions, (MATRIX[0],)),
    (a_closure([2, 0]), (MATRIX[1],)),
    (a_closure(([2, 0],)), (MATRIX[1],)),
    (a_closure([True, False, True]), (MATRIX[1],)),
)


@pytest.mark.parametrize("function, arguments", PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_program(function: Any, arguments: tuple[np.ndarray, ...]) -> None:
    check(function, lambda: tuple(a.copy() for a in arguments), range(len(arguments)))


def test_what_does_not_fit() -> None:
    def stores(A: np.ndarray, b: np.ndarray) -> float:
        A[[1, 0]] = b
        return np.sum(A * A)

    gradient = adjit.grad(stores, wrt=1, target="python")
    np.testing.assert_array_equal(gradient(np.ones((3, 2)), np.array([2.0, 3.0])), [8.0, 12.0])
    np.testing.assert_array_equal(gradient(np.ones((3, 2)), np.array([2.0])), [16.0])
    for extent in (3, 4):
        with pytest.raises(ValueError, match="cannot take a value of length"):
            gradient(np.ones((3, 2)), np.ones(extent))


def test_compiled() -> None:
    gradient = adjit.grad(swap_rows)
    np.testing.assert_array_equal(gradient(MATRIX[:2].copy()), [[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]])


def stores_through_a_mask(a, chosen, v):
    a[chosen] = v
    return np.sum(a * a)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_goes_through_a_mask_has_as_many_elements_or_one(target):
    derived = adjit.value_and_grad(stores_through_a_mask, (0, 2), target=target)
    value, (a_bar, v_bar) = derived(np.ones(3), np.array([True, False, True]), np.array([5.0]))
    assert (value, a_bar.tolist(), v_bar.tolist()) == (51.0, [0.0, 2.0, 0.0], [20.0])
    with pytest.raises(ValueError, match="cannot take a value of length"):
        derived(np.ones(3), np.array([True, False, True]), np.ones(3))
