"""Where the arrays of a thread's own live: those that a trip makes, and scratch of which each trip has its own.

In: a loop whose trips run at the same time. Out: a `Place` for each array, None where one has none.

    c = np.empty(4)        in the thread: c = cuda.local.array(4, np.float64)
    y = np.empty(n)        in an array of all threads, the thread last: y = y_slots[:, thread]
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.ir.types import array_type_of

MOST_LOCAL = 2048  # bytes of an array that is the thread's, in its local memory; its registers, if loops are unrolled


@dataclass(frozen=True, eq=False)
class Place:
    """`made`: what makes the array, an Alloc or a Copy. `shape`: in what is known before the loop.

    is_local: it is the thread's; else it has an axis for the threads, last, or first where it is reshaped.
    """

    made: ir.Alloc | ir.Copy
    shape: tuple[Affine, ...]
    is_local: bool
    is_first: bool

    @property
    def type(self) -> types.Array:
        """That of the array with an axis for the threads."""
        own = array_type_of(self.made.out)
        return types.Array(own.dtype, own.ndim + 1, "C")

    def selectors(self, thread: ir.Operand, is_first: bool) -> tuple[ir.Selector, ...]:
        """The part of one thread, or of one row of threads."""
        spans = (ir.Span(),) * len(self.shape)
        return (ir.At(thread), *spans) if is_first else (*spans, ir.At(thread))


def places(loop: ir.For, scratch: Collection[ir.Alloc], iterations: Iterations) -> tuple[Place, ...] | None:
    """A place for each array that a trip makes, and for `scratch`; None where a shape is not known before the loop."""
    made = [op for op in loop.body.inside if isinstance(op, ir.Alloc | ir.Copy)]
    reshaped = {op.base for op in loop.body.inside if isinstance(op, ir.Reshape)}
    found: list[Place] = []
    for op in (*scratch, *made):
        shape = shape_before(op, loop, iterations)
        # what a view of it is reshaped as, nobody knows
        is_handed_on = array_type_of(op.out).layout == "F" and array_type_of(op.out).ndim > 1
        if shape is None or is_handed_on:
            return None
        found.append(Place(op, shape, _is_small(op, shape), op.out in reshaped))
    return tuple(found)


def shape_before(op: ir.Alloc | ir.Copy, loop: ir.For, iterations: Iterations) -> tuple[Affine, ...] | None:
    """The extents of an array in what is known before a loop; None where that is not so."""
    count = array_type_of(op.out).ndim
    given: Sequence[Affine | None]
    if isinstance(op, ir.Alloc) and op.like is None:
        given = [iterations.value(extent) for extent in op.shape]
    else:
        given = [iterations.extent(op.out, axis) for axis in range(count)]
    found: list[Affine] = []
    for extent in given:
        shown = None if extent is None else iterations.in_variables(extent)
        if shown is None or any(_names(symbol) in loop.body.defines for symbol in shown.terms):
            return None
        found.append(shown)
    return tuple(found)


def _names(symbol: object) -> ir.Operand:
    """The operand that a symbol is about."""
    found = symbol[0] if isinstance(symbol, tuple) else symbol
    assert isinstance(found, ir.Var | ir.Const)
    return found


def _is_small(op: ir.Alloc | ir.Copy, shape: Sequence[Affine]) -> bool:
    if not all(extent.is_constant for extent in shape):
        return False
    dtype = array_type_of(op.out).dtype
    return math.prod(extent.constant for extent in shape) * getattr(dtype, "bitwidth", 8) <= 8 * MOST_LOCAL
