"""Random numbers that kernels draw: what `numba.cuda.random` has, of states whose two words are an array each.

In: `States`, the words of the states of all threads, uint64, and the place of one. Out: a number, the same bits as
numba's but for roundings of logarithms; the state is the next one then.

The generator is xoroshiro128+ of Blackman and Vigna (2018); normal numbers are Box and Muller's, of two draws each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class States(NamedTuple):
    """The words of the states, an array each."""

    s0: Any
    s1: Any


def xoroshiro128p_next(states: States, index: int) -> Any:
    """The next 64 bits."""
    s0, s1 = states.s0[index], states.s1[index]
    drawn = s0 + s1
    s1 = s1 ^ s0
    states.s0[index] = _turned(s0, np.uint64(55), np.uint64(9)) ^ s1 ^ (s1 << np.uint64(14))
    states.s1[index] = _turned(s1, np.uint64(36), np.uint64(28))
    return drawn


def _turned(word: Any, left: Any, right: Any) -> Any:
    return (word << left) | (word >> right)


def xoroshiro128p_uniform_float64(states: States, index: int) -> Any:
    """A number in [0, 1), of 53 bits."""
    return np.float64(xoroshiro128p_next(states, index) >> np.uint64(11)) * np.float64(2.0**-53)


def xoroshiro128p_uniform_float32(states: States, index: int) -> Any:
    """The same in single precision, rounded."""
    return np.float32(xoroshiro128p_uniform_float64(states, index))


def xoroshiro128p_normal_float64(states: States, index: int) -> Any:
    """A number of the standard normal distribution, which numba makes of two in single precision."""
    u, v = xoroshiro128p_uniform_float32(states, index), xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float64(-2.0) * math.log(u)) * math.cos(np.float64(2.0 * math.pi) * v)


def xoroshiro128p_normal_float32(states: States, index: int) -> Any:
    """The same in single precision."""
    u, v = xoroshiro128p_uniform_float32(states, index), xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float32(-2.0) * math.log(u)) * math.cos(np.float32(2.0 * math.pi) * v)


DRAWS: dict[str, Callable[[States, int], Any]] = {
    f.__name__: f
    for f in (
        xoroshiro128p_next, xoroshiro128p_uniform_float64, xoroshiro128p_uniform_float32, xoroshiro128p_normal_float64,
        xoroshiro128p_normal_float32,
    )
}  # fmt: skip


def is_states(value: Any) -> bool:
    """Whether it is an array of such states, as `create_xoroshiro128p_states` makes it."""
    dtype = getattr(value, "dtype", None)
    is_pair = isinstance(dtype, np.dtype) and dtype.names == States._fields and len(value.shape) == 1
    return is_pair and all(dtype[name] == np.uint64 for name in States._fields)  # type: ignore[index]
