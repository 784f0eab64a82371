"""What is told to compilers: to LLVM that a sum has no order, to adjit that a value is fixed.

In: numbers, and arrays to be held fixed. Out: the same, or their sum.

    total = reassociable_add(total, x[i])       LLVM may add several at once
    best = reassociable_max(best, x[i])         and compare several at once
"""

from __future__ import annotations

import copy
from typing import TypeVar

import numpy as np
from numba import types
from numba.extending import overload

Value = TypeVar("Value")


def stop_gradient(x: Value) -> Value:
    """x itself, a copy of what can be changed, which every derivative takes as constant; also for @njit functions."""
    return x.copy() if isinstance(x, np.ndarray) else copy.deepcopy(x)


@overload(stop_gradient)
def _compiled_stop_gradient(x):  # type: ignore[no-untyped-def]  # numba wants the annotations of both to be equal
    return (lambda x: x.copy()) if isinstance(x, types.Array) else (lambda x: x)


def held(number: float) -> float:
    """number, while derivatives are made: what `stop_gradient` is of each element. No text calls it."""
    return number


def unique(index: Value) -> Value:
    """index itself, an array of integers, with the promise that no two of them name one element.

    What is added through it, as in the adjoint of `x[unique(k)[i]]`, is then added by one thread to an element, and not
    atomically. The promise is believed of arrays that the program does not change; a race where it does not hold. With
    ADJIT_CUDA_CHECK=1 adjoints and tangents of kernels look, and raise Race.
    """
    return index


@overload(unique)
def _compiled_unique(index):  # type: ignore[no-untyped-def]
    return lambda index: index


def distinct(number: int) -> int:
    """number, an element of an array that `unique` was promised of. No text calls it."""
    return number


def reassociable_add(total: float, term: float) -> float:
    """total + term, in a sum that the compiler may add up in any order, and so in SIMD lanes."""
    return total + term


def reassociable_sub(total: float, term: float) -> float:
    """total - term, in such a sum."""
    return total - term


def multiply_add(left: float, right: float, total: float) -> float:
    """total + left * right; compiled, it is rounded once, where the machine has an instruction for it."""
    return total + left * right


def multiply_subtract(left: float, right: float, total: float) -> float:
    """total - left * right, in the same way."""
    return total - left * right


def reassociable_max(best: float, item: float) -> float:
    """The greater one, or nan if one is, among numbers that the compiler may compare in any order; of two zeros any."""
    return item if item > best or item != item else best


def reassociable_min(best: float, item: float) -> float:
    """The lesser one, or nan if one is, among such numbers."""
    return item if item < best or item != item else best


IN_ANY_ORDER = (reassociable_add, reassociable_sub, reassociable_max, reassociable_min)
