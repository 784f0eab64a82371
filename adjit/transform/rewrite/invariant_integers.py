"""Integers that are the same in all trips are made before the loop: of a launch, by the host.

In: a function, and which loops. Out: the same, with what these need of sizes made outside, so that it is known before a
launch how large arrays are, and before a loop with launches in it how many trips they make.

    for b in range(blocks):                     trips = (x.size + 15) // 16
        trips = (x.size + 15) // 16             for b in range(blocks):
        tape = np.empty((trips, 16))                tape = np.empty((trips, 16))
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

from numba import types

from adjit.transform import ir


def is_launch(op: ir.Op) -> bool:
    """Whether it is a loop over blocks, or one whose trips run at the same time."""
    return isinstance(op, ir.For) and (op.parallel or op.level == "blocks")


def has_launches(op: ir.Op) -> bool:
    """Whether it is a loop with launches in it."""
    return isinstance(op, ir.For) and not is_launch(op) and any(map(is_launch, op.body.inside))


def made_before(function: ir.Function, around: Callable[[ir.Op], bool] = is_launch) -> ir.Function:
    """The function with such integers made before the loops that are asked for."""
    return ir.with_body(function, _without_fixed(function.body, around))


def _without_fixed(region: ir.Region, around: Callable[[ir.Op], bool]) -> ir.Region:
    """A region in which they are made before the loops."""
    ops: list[ir.Op] = []
    for before in region.ops:
        op = ir.with_regions(before, [_without_fixed(inner, around) for inner in before.regions])
        if not isinstance(op, ir.For) or not around(op):
            ops.append(op)
            continue
        inside = set(op.body.args) | op.body.defines
        moved: dict[ir.Op, Sequence[ir.Op]] = {}
        for inner in _of_nest(op.body):
            if _is_whole(inner) and not inside.intersection(inner.operands):
                moved[inner] = ()
                inside.difference_update(inner.results)
        ops += [*moved, ir.with_regions(op, [ir.replaced(op.body, moved)])]
    return ir.with_ops(region, ops)


def _of_nest(region: ir.Region) -> Iterator[ir.Op]:
    """What the trips of a loop do themselves, and of loops in it that are over blocks and threads as well; and what
    they do before a launch that is under a condition."""
    for op in region.ops:
        yield op
        is_level = isinstance(op, ir.For) and op.level is not None
        if is_level or (isinstance(op, ir.If) and any(map(is_launch, ir.with_inner(op)))):
            for inside in op.regions:
                yield from _of_nest(inside)


def _is_whole(op: ir.Op) -> bool:
    """Whether it makes an integer or a boolean of such, and cannot fail."""
    if isinstance(op, ir.Extent):
        return True
    if not isinstance(op, ir.Call) or op.effect:
        return False
    divides = op.callee in (operator.floordiv, operator.mod) and not isinstance(op.args[1], ir.Const)
    return not divides and all(isinstance(o.type, types.Integer | types.Boolean) for o in (*op.args, *op.outs))
