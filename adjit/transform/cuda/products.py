"""Products of vectors and matrices as loops, which launches are made of.

In: a function. Out: the same without such calls. Factors that do not fit are a ValueError, as they are in NumPy.

    z = a @ x           for i: total = 0.0; for k: total += a[i, k] * x[k]; z[i] = total
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.runtime.library import inner_extent
from adjit.transform import ir
from adjit.transform.analysis.extents import extent_source, is_product, ndim
from adjit.transform.ir.types import array_type_of, typed_const


def products_as_loops(function: ir.Function) -> ir.Function:
    """The function with a loop, or a nest of them, for each product."""
    made = function.body.made
    return ir.with_body(function, ir.rewritten(function.body, lambda op: _as_loops(op, made)))


def _as_loops(op: ir.Op, made: Mapping[ir.Operand, ir.Op]) -> ir.Op | Sequence[ir.Op]:
    if not isinstance(op, ir.Call) or not is_product(op):
        return op
    (left, right), (out,) = op.args, op.outs
    builder = ir.Builder(op.origin)

    def extent(array: ir.Operand, axis: int) -> ir.Operand:
        """That of what a view is of, which may be the same in all trips of a loop that makes the view."""
        source = extent_source(made.get(array), axis, made)
        if isinstance(source, tuple):
            return extent(*source)
        return builder.extent(array, axis) if source is None else source

    rows = [extent(left, axis) for axis in range(ndim(left) - 1)]
    columns = [extent(right, axis) for axis in range(1, ndim(right))]
    inner = ndim(left) - 1
    shared = extent(left, inner)
    if left is not right or inner:
        checked, args = ir.Var("n", types.intp), (shared, extent(right, 0))
        builder.emit(ir.Call(callee=inner_extent, args=args, outs=(checked,), effect=True))
        shared = checked
    kind = array_type_of(left).dtype

    def total(at: Sequence[ir.Operand], outs: Sequence[ir.Var] = ()) -> ir.Operand:
        own, others = at[: len(rows)], at[len(rows) :]

        def step(k: ir.Var, so_far: ir.Var) -> Sequence[ir.Operand]:
            factors = builder.load(left, (*own, k)), builder.load(right, (k, *others))
            product = builder.call(operator.mul, *factors, type=kind, name="product")
            return (builder.call(operator.add, so_far, product, type=kind, name="total"),)

        args = [ir.Var("total", kind)]
        return builder.fold(shared, "k", [typed_const(0, kind)], args, step, outs, order_free=True)[0]

    if not rows and not columns:
        total((), op.outs)
        return builder.ops
    builder.emit(ir.Alloc(shape=(*rows, *columns), out=out))
    builder.nest((*rows, *columns), lambda at: builder.store(out, at, total(at)))
    return builder.ops
