"""Jacobians and Hessians, by columns or by rows.

In: a function of numbers and arrays. Out: a function that returns the matrix, of shape result.shape + argument.shape.

    jacfwd(f)(x)[i, j] == d f(x)[i] / d x[j]

Where the result or an argument is a tuple, or `wrt` is one, so is the Jacobian: by result first, then by argument.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjit.errors import WrongWrt
from adjit.runtime.api import (
    Wrt,
    bind,
    evaluate,
    grad,
    make_options,
    named_after,
    positions_of,
    signature,
    specification,
    value_of,
)
from adjit.runtime.dispatch import Options, derive
from adjit.runtime.trees import Leaf, Template, flat, is_active, leaves, map_leaves, nested, template, units, zero
from adjit.transform.columns import WIDEST
from adjit.transform.pipeline import Derivative

MOST_KEPT = 4096  # shapes of arguments that a Jacobian's choice is remembered for

Blocks = list[list[Any]]  # an array a leaf of the result and a leaf of the arguments


def jacfwd(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, eight columns a forward sweep, in one compiled function, which @njit code can call too.

    Its parameters are the function's. For functions with more results than arguments, or not many more arguments.
    """
    if function is None:
        return functools.partial(jacfwd, wrt=wrt, **options)
    spec = specification(function)
    positions, single = positions_of(spec, wrt)
    return derive(Derivative(function=spec, kind="jacfwd", wrt=positions, single=single), make_options(options))


def jacrev(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, a row a reverse sweep: for functions with fewer results than arguments."""
    if function is None:
        return functools.partial(jacrev, wrt=wrt, **options)
    spec, chosen = specification(function), make_options(options)
    positions, single = positions_of(spec, wrt)

    def matrix(*arguments: Any, **keywords: Any) -> Any:
        bound = bind(spec, arguments, keywords)
        point = _Point(spec, chosen, bound, tuple(map(template, bound)), positions)
        point.check()
        result = template(value_of(spec, chosen)(*bound))
        return nested(result, [_nested_by_argument(row, point.chosen, single) for row in _rows(point, result)])

    return named_after(function, matrix)


def jacobian(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, by columns (`jacfwd`) where that takes no more sweeps, of eight columns each, than there are rows,
    and by rows (`jacrev`) otherwise. How many results there are is found out by one evaluation for each new tuple of
    shapes (and integers) of the arguments."""
    if function is None:
        return functools.partial(jacobian, wrt=wrt, **options)
    spec, chosen = specification(function), make_options(options)
    positions, _ = positions_of(spec, wrt)
    forward, reverse = jacfwd(function, wrt, **options), jacrev(function, wrt, **options)
    taken: dict[Any, Any] = {}

    def matrix(*arguments: Any, **keywords: Any) -> Any:
        given = bind(spec, arguments, keywords) if keywords else arguments
        key = tuple(map(_kind, given))
        found = taken.get(key)
        if found is None:
            bound = bind(spec, given)
            columns = sum(_size(template(bound[p])) for p in positions)
            rows = _size(template(value_of(spec, chosen)(*bound)))
            if len(taken) >= MOST_KEPT:
                taken.clear()
            found = taken[key] = forward if -(-columns // WIDEST) <= rows else reverse
        return found(*given)

    return named_after(function, matrix)


def _kind(argument: Any) -> Any:
    """What the number of results may depend on, as far as it is cheap to know."""
    if isinstance(argument, np.ndarray):
        return argument.shape
    if isinstance(argument, tuple):
        return tuple(map(_kind, argument))
    return argument if isinstance(argument, int) else None


def hessian(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Hessian of a scalar function: the Jacobian, by columns, of its gradient."""
    if function is None:
        return functools.partial(hessian, wrt=wrt, **options)
    return jacfwd(grad(function, wrt, **options), wrt, **options)


@dataclass(frozen=True)
class _Point:
    """Where a Jacobian is taken, and with respect to what."""

    spec: Any
    options: Options
    arguments: tuple[Any, ...]
    shapes: tuple[Template, ...]
    positions: tuple[int, ...]

    @property
    def chosen(self) -> list[Template]:
        return [self.shapes[p] for p in self.positions]

    def check(self) -> None:
        for position in self.positions:
            if not is_active(self.shapes[position]):
                name = list(signature(self.spec).parameters)[position]
                raise WrongWrt(f"argument {name!r} has no float in it, so no derivative", instead="Pass a float.")


def _rows(point: _Point, result: Template) -> Blocks:
    _, pullback = evaluate(point.spec, point.options, point.arguments, point.positions)
    blocks: Blocks = []
    for r, out in enumerate(leaves(result)):
        found = []
        for unit in units(out) if out.is_active else ():
            found.append(flat(pullback(_with_leaf(result, r, unit))))
        inner = [leaf for shape in point.chosen for leaf in leaves(shape)]
        blocks.append([_stacked([row[k] for row in found], out, leaf) for k, leaf in enumerate(inner)])
    return blocks


def _with_leaf(shape: Template, k: int, value: Any) -> Any:
    """Zero, but for leaf k."""
    values = flat(zero(shape))
    values[k] = value
    return nested(shape, values)


def _stacked(vectors: list[Any], result: Leaf, argument: Leaf) -> Any:
    shape = result.shape + argument.shape
    if not vectors or not (result.is_active and argument.is_active):
        return np.zeros(shape)[()]
    return np.stack([np.asarray(v).ravel() for v in vectors]).reshape(shape)[()]


def _nested_by_argument(row: list[Any], chosen: Sequence[Template], single: bool) -> Any:
    rest = iter(row)
    parts = tuple(map_leaves(lambda leaf: next(rest), shape) for shape in chosen)
    return parts[0] if single else parts


def _size(found: Template) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves(found) if leaf.is_active)
