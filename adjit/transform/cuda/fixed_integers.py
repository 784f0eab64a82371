"""Integers that are the same in all trips are made before the loop, by the host.

In: a function. Out: the same, with what its blocks and the trips of its parallel loops need of sizes made outside, so
that it is known before a launch how large arrays are.

    for b in range(blocks):                     trips = (x.size + 15) // 16
        trips = (x.size + 15) // 16             for b in range(blocks):
        tape = np.empty((trips, 16))                tape = np.empty((trips, 16))
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

from numba import types

from adjit.transform import ir


def made_before(function: ir.Function) -> ir.Function:
    """The function with such integers made before launches."""
    return ir.with_body(function, _without_fixed(function.body))


def _without_fixed(region: ir.Region) -> ir.Region:
    """A region in which they are made before the loops."""
    ops: list[ir.Op] = []
    for op in region.ops:
        if not isinstance(op, ir.For) or not (op.parallel or op.level == "blocks"):
            ops.append(ir.with_regions(op, [_without_fixed(inner) for inner in op.regions]))
            continue
        inside = set(op.body.args) | op.body.defines
        moved: dict[ir.Op, Sequence[ir.Op]] = {}
        for inner in _of_nest(op):
            if _is_whole(inner) and not inside.intersection(inner.operands):
                moved[inner] = ()
                inside.difference_update(inner.results)
        ops += [*moved, ir.with_regions(op, [ir.replaced(op.body, moved)])]
    return ir.with_ops(region, ops)


def _of_nest(loop: ir.For) -> Iterator[ir.Op]:
    """What the trips of a loop do themselves, and of loops in it that are over blocks and threads as well."""
    for op in loop.body.ops:
        yield op
        if isinstance(op, ir.For) and op.level is not None:
            yield from _of_nest(op)


def _is_whole(op: ir.Op) -> bool:
    """Whether it makes an integer or a boolean of such, and cannot fail."""
    if isinstance(op, ir.Extent):
        return True
    if not isinstance(op, ir.Call) or op.effect:
        return False
    divides = op.callee in (operator.floordiv, operator.mod) and not isinstance(op.args[1], ir.Const)
    return not divides and all(isinstance(o.type, types.Integer | types.Boolean) for o in (*op.args, *op.outs))
