"""Launches in a program, over what they are over; and fewer of them.

In: a program whose sizes are settled. Out: the same, in which a grid with a thread for each element is not asked about
any more, and what launches in a loop are over is made before the loop.

    blocks = (n + 63) // 64
    for t in range(steps):                                      for t in range(steps):
        for i in prange(min(blocks * 64, n)): ...                   for i in prange(n): ...

In: a derivative. Out: the same with nests of one range in one, which are launches then: what versions of buffers and
gathers leave, as the mirror of an array statement and that of the copy to where it goes.
"""

from __future__ import annotations

import operator

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.arrays.offsets import from_zero, move_origins
from adjit.transform.rewrite.fusion import fuse_maps
from adjit.transform.rewrite.invariant_integers import has_launches, made_before
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked


def settle_launches(function: ir.Function) -> ir.Function:
    """The program with the ranges of its launches as they are."""
    found = _Covered(function)
    body = ir.rewritten(function.body, found.without)
    return simplify(made_before(simplify(ir.with_body(function, body)), has_launches))


def fuse_launches(function: ir.Function) -> ir.Function:
    """The derivative with what may be one launch in one. Blocks and threads of the user's kernels stay as they are."""
    if any(isinstance(op, ir.For) and op.level for op in function.body.inside):
        return function
    moved = simplify(from_zero(function))
    fused = fuse_maps(moved, launched=True, fits=_are_alike)
    return function if fused is moved else checked(simplify(move_origins(fused)), "fused for launches")


def _are_alike(function: ir.Function, first: ir.For, second: ir.For) -> bool:
    """Whether two nests are launches over one grid."""
    sharings = function.analysis(LoopDependences)
    is_launched = not any(isinstance(sharings.of(loop), Serial) for loop in (first, second))
    return is_launched and _grid(first) == _grid(second)


def _grid(loop: ir.For) -> list[tuple[ir.Operand, ...]]:
    """The ranges of nested loops, as far in as a trip does nothing behind the next one."""
    found: list[tuple[ir.Operand, ...]] = [(loop.start, loop.stop, loop.step)]
    while loop.body.ops and isinstance(inner := loop.body.ops[-1], ir.For) and inner.order_free and not inner.stops:
        if inner.outs != loop.body.yields:
            break
        found.append((inner.start, inner.stop, inner.step))
        loop = inner
    return found


class _Covered:
    def __init__(self, function: ir.Function):
        self.made = function.body.made
        self.iterations = function.analysis(Iterations)

    def without(self, op: ir.Op) -> ir.Op:
        """The lesser of two integers as the one that it is, where that is known."""
        if not isinstance(op, ir.Call) or ir.canonical(op.callee) is not min or len(op.args) != 2:
            return op
        for least, other in (op.args, op.args[::-1]):
            if isinstance(op.outs[0].type, types.Integer) and self.is_within(least, other):
                return ir.Call(callee=ir.cast, args=(least,), outs=op.outs, origin=op.origin)
        return op

    def is_within(self, count: ir.Operand, threads: ir.Operand) -> bool:
        """Whether so many threads, those of whole blocks, are surely not less."""
        product = self.call(threads, operator.mul)
        if product is None or not isinstance(product.args[1], ir.Const):
            return False
        blocks, width = product.args[0], int(product.args[1].value)
        least, wanted = self.least(blocks, width), self.iterations.value(count)
        return least is not None and wanted is not None and least.plus(wanted, -1).is_natural

    def least(self, blocks: ir.Operand, width: int) -> Affine | None:
        """What blocks of this width surely have as threads: `(n + 63) // 64` and `-(-n // 64)` have n."""
        negated = self.call(blocks, operator.neg)
        quotient = self.call(blocks if negated is None else negated.args[0], operator.floordiv)
        if quotient is None or quotient.args[1] != ir.integer(width):
            return None
        value = self.iterations.value(quotient.args[0])
        if value is None:
            return None
        return value.plus(1 - width) if negated is None else value.times(-1)

    def call(self, operand: ir.Operand, callee: object) -> ir.Call | None:
        op = self.made.get(operand)
        while isinstance(op, ir.Call) and op.callee is ir.cast:
            op = self.made.get(op.args[0])
        return op if isinstance(op, ir.Call) and ir.canonical(op.callee) is callee else None
