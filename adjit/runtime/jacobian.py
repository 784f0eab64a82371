"""Jacobians and Hessians, a column or a row at a time.

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
    push,
    signature,
    specification,
    value_of,
)
from adjit.runtime.dispatch import Options
from adjit.runtime.trees import Leaf, Template, flat, is_active, leaves, map_leaves, nested, template, units, zero

Blocks = list[list[Any]]  # an array a leaf of the result and a leaf of the arguments


def jacfwd(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, a column a forward sweep: for functions with fewer arguments than results."""
    return _wrapped(jacfwd, function, wrt, options, by_columns=True)


def jacrev(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, a row a reverse sweep: for functions with fewer results than arguments."""
    return _wrapped(jacrev, function, wrt, options, by_columns=False)


def jacobian(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, by rows or by columns, whichever are fewer."""
    return _wrapped(jacobian, function, wrt, options, by_columns=None)


def hessian(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Hessian of a scalar function: the Jacobian, by columns, of its gradient."""
    if function is None:
        return functools.partial(hessian, wrt=wrt, **options)
    return named_after(function, jacfwd(grad(function, wrt, **options), wrt, **options))


def _wrapped(entry: Any, function: Any, wrt: Wrt, options: dict[str, Any], by_columns: bool | None) -> Any:
    if function is None:
        return functools.partial(entry, wrt=wrt, **options)
    spec, chosen = specification(function), make_options(options)
    positions, single = positions_of(spec, wrt)

    def matrix(*arguments: Any, **keywords: Any) -> Any:
        bound = bind(spec, arguments, keywords)
        point = _Point(spec, chosen, bound, tuple(map(template, bound)), positions)
        point.check()
        result = template(value_of(spec, chosen)(*bound))
        few_columns = sum(map(_size, point.chosen)) <= _size(result)
        columns = few_columns if by_columns is None else by_columns
        blocks = _columns(point, result) if columns else _rows(point, result)
        return nested(result, [_nested_by_argument(row, point.chosen, single) for row in blocks])

    return named_after(function, matrix)


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

    def push(self, tangents: Sequence[Any]) -> Any:
        return push(self.spec, self.options, self.arguments, self.shapes, tangents, self.positions)[1]

    def check(self) -> None:
        for position in self.positions:
            if not is_active(self.shapes[position]):
                name = list(signature(self.spec).parameters)[position]
                raise WrongWrt(f"argument {name!r} has no float in it, so no derivative", instead="Pass a float.")


def _columns(point: _Point, result: Template) -> Blocks:
    zeros = [zero(s) for s in point.shapes]
    blocks: Blocks = [[] for _ in leaves(result)]
    for position in point.positions:
        for k, leaf in enumerate(leaves(point.shapes[position])):
            found = []
            for unit in units(leaf) if leaf.is_active else ():
                tangents = list(zeros)
                tangents[position] = _with_leaf(point.shapes[position], k, unit)
                found.append(flat(point.push(tangents)))
            for r, out in enumerate(leaves(result)):
                blocks[r].append(_stacked([column[r] for column in found], out, leaf, axis=-1))
    return blocks


def _rows(point: _Point, result: Template) -> Blocks:
    _, pullback = evaluate(point.spec, point.options, point.arguments, point.positions)
    blocks: Blocks = []
    for r, out in enumerate(leaves(result)):
        found = []
        for unit in units(out) if out.is_active else ():
            found.append(flat(pullback(_with_leaf(result, r, unit))))
        inner = [leaf for shape in point.chosen for leaf in leaves(shape)]
        blocks.append([_stacked([row[k] for row in found], out, leaf, axis=0) for k, leaf in enumerate(inner)])
    return blocks


def _with_leaf(shape: Template, k: int, value: Any) -> Any:
    """Zero, but for leaf k."""
    values = flat(zero(shape))
    values[k] = value
    return nested(shape, values)


def _stacked(vectors: list[Any], result: Leaf, argument: Leaf, axis: int) -> Any:
    shape = result.shape + argument.shape
    if not vectors or not (result.is_active and argument.is_active):
        return np.zeros(shape)[()]
    return np.stack([np.asarray(v).ravel() for v in vectors], axis).reshape(shape)[()]


def _nested_by_argument(row: list[Any], chosen: Sequence[Template], single: bool) -> Any:
    rest = iter(row)
    parts = tuple(map_leaves(lambda leaf: next(rest), shape) for shape in chosen)
    return parts[0] if single else parts


def _size(found: Template) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves(found) if leaf.is_active)
