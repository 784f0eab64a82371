"""What a row of the rule table is made of: `Row`, where arguments are sampled, and the shapes of examples."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

Sample = Callable[[np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True)
class Row:
    callee: Any
    function: Callable[..., Any]
    sample: Sample
    active: tuple[int, ...] = (0,)
    tags: frozenset[str] = frozenset()
    note: str = ""

    @property
    def name(self) -> str:
        module = getattr(self.callee, "__module__", None) or type(self.callee).__name__
        return f"{module}.{getattr(self.callee, '__name__', self.callee)}{'-' if self.note else ''}{self.note}"


# ---------------------------------------------------------------------------------------------- where to sample numbers

Domain = Callable[[np.random.Generator], Any]


def real(rng: np.random.Generator) -> float:
    """Either sign, not near 0."""
    return float(rng.uniform(0.2, 2.2) * rng.choice((-1.0, 1.0)))


def positive(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.2, 3.0))


def unit(rng: np.random.Generator) -> float:
    return float(rng.uniform(-0.9, 0.9))


def above_one(rng: np.random.Generator) -> float:
    return float(rng.uniform(1.2, 4.0))


def above_minus_one(rng: np.random.Generator) -> float:
    return float(rng.uniform(-0.8, 3.0))


def small_integer(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 5))


def between_integers(rng: np.random.Generator) -> float:
    """Not near an integer."""
    return float(rng.integers(-3, 4) + rng.uniform(0.15, 0.85))


def between_quarters(rng: np.random.Generator) -> float:
    """Not near a half, or a multiple of it."""
    return float(rng.integers(-3, 4) + rng.uniform(0.1, 0.4))


def numbers(*domains: Domain) -> Sample:
    return lambda rng: tuple(domain(rng) for domain in domains)


def quotient_between_integers(rng: np.random.Generator) -> tuple[float, float]:
    """(a, b) with a / b not near an integer."""
    b = positive(rng)
    return between_integers(rng) * b, b


def distinct(rng: np.random.Generator) -> tuple[float, float]:
    a = real(rng)
    return a, a + real(rng)


# ----------------------------------------------------------------------------------------------- where to sample arrays


def vector(n: int = 5, low: float = 0.2) -> Domain:
    """Distinct entries of either sign, none near 0."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        sizes = low + 0.35 * np.arange(n) + rng.uniform(0.0, 0.2, n)
        return rng.permutation(sizes) * rng.choice((-1.0, 1.0), n)

    return draw


def array(*shape: int) -> Domain:
    flat = vector(math.prod(shape))
    return lambda rng: np.ascontiguousarray(flat(rng).reshape(shape))


def positive_array(*shape: int) -> Domain:
    return lambda rng: rng.uniform(0.3, 2.0, shape)


def with_nan(rng: np.random.Generator) -> np.ndarray:
    a = vector(6)(rng)
    a[2] = np.nan
    return a


def regular(n: int) -> Domain:
    return lambda rng: rng.normal(size=(n, n)) + 3.0 * np.eye(n)


def small_matrix(n: int) -> Domain:
    return lambda rng: 0.3 * rng.normal(size=(n, n))


def spd(n: int) -> Domain:
    """Symmetric and positive definite."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        a = rng.normal(size=(n, n))
        return a @ a.T + np.diag(1.0 + np.arange(float(n)))

    return draw


def knots(rng: np.random.Generator) -> np.ndarray:
    return np.cumsum(rng.uniform(0.5, 1.0, 6))


def fixed(value: Any) -> Domain:
    return lambda rng: copy.copy(value)


# ----------------------------------------------------------------------------------------------------------- scalar ops


def _of_one(callee: Any) -> Callable[..., Any]:
    return lambda x: callee(x)


def _of_two(callee: Any) -> Callable[..., Any]:
    return lambda x, y: callee(x, y)


def scalar(
    callees: Any, *domains: Domain, active: tuple[int, ...] | None = None, sample: Sample | None = None
) -> list[Row]:
    count = 2 if sample is not None else len(domains)
    chosen = tuple(range(count)) if active is None else active
    return [
        Row(c, _of_one(c) if count == 1 else _of_two(c), sample or numbers(*domains), chosen, frozenset({"scalar"}))
        for c in (callees if isinstance(callees, tuple) else (callees,))
    ]


# ------------------------------------------------------------------------------------------------------------ array ops


def row(
    callee: Any,
    function: Callable[..., Any],
    *domains: Domain,
    active: tuple[int, ...] | None = None,
    tags: str = "",
    note: str = "",
) -> Row:
    chosen = tuple(range(len(domains))) if active is None else active
    return Row(callee, function, numbers(*domains), chosen, frozenset({"array", *tags.split()}), note)


# -------------------------------------------------------------------------------------------------- constants and draws


def constant(callees: Any, function: Callable[[Any], Callable[..., Any]], *domains: Domain) -> list[Row]:
    chosen = tuple(k for k, d in enumerate(domains) if d not in (small_integer, some_integers))
    return [Row(c, function(c), numbers(*domains), chosen, frozenset({"constant"})) for c in callees]


def some_integers(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 3, 4)


def times(c: Any) -> Callable[..., Any]:
    return lambda x: c(x) * x


def times_of_two(c: Any) -> Callable[..., Any]:
    return lambda x, y: c(x, y) * x + y


def chosen_by(c: Any) -> Callable[..., Any]:
    return lambda x: x * x if c(x) else x


def chosen_by_two(c: Any) -> Callable[..., Any]:
    return lambda x, y: x * y if c(x, y) else x


def of_integers(c: Any) -> Callable[..., Any]:
    return lambda x, m, n: c(m, n) * x


def of_integer(c: Any) -> Callable[..., Any]:
    return lambda x, m: c(m) * x


def at_place(c: Any) -> Callable[..., Any]:
    return lambda a: a[c(a)] * a[0]


def if_array(c: Any) -> Callable[..., Any]:
    return lambda a: a.sum() if c(a) else a[0]


def matrix_of(c: Any) -> Callable[..., Any]:
    return lambda x, n: c(n) * x


def drawn_times(c: Any) -> Callable[..., Any]:
    return seeded(lambda x: c() * x)


def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that draws, made one that draws the same each time. Only @njit functions may seed `random`."""

    @njit
    def of_one(x):
        np.random.seed(3)
        random.seed(3)
        return function(x)

    @njit
    def of_two(x, y):
        np.random.seed(3)
        random.seed(3)
        return function(x, y)

    return of_one if function.__code__.co_argcount == 1 else of_two
