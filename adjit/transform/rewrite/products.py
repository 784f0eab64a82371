"""Products of vectors and matrices as loops, which launches are made of, and passes over a matrix.

In: a function, or one of its products. Out: the same without such calls; loops for the product.

    z = a @ x           for i: total = 0.0; for k: total += a[i, k] * x[k]; z[i] = total
    z = u @ a           for k: for i: z[i] += u[k] * a[k, i]          by rows
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence

from adjit.runtime.library import reassociable_add
from adjit.transform import ir
from adjit.transform.analysis.extents import extent_source, is_product, ndim
from adjit.transform.ir.types import array_type_of, typed_const


def products_as_loops(function: ir.Function) -> ir.Function:
    """The function with a loop, or a nest of them, for each product."""
    made = function.body.made

    def as_loops(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
        return product_as_loops(op, made, operator.add) if isinstance(op, ir.Call) and is_product(op) else op

    return ir.with_body(function, ir.rewritten(function.body, as_loops))


def product_as_loops(
    op: ir.Call, made: Mapping[ir.Operand, ir.Op], add: Callable[..., float] = reassociable_add
) -> list[ir.Op]:
    """A loop, or a nest of them, for a product; `made`: what makes the function's arrays."""
    builder, left = ir.Builder(op.origin), op.args[0]
    shared = _extent(builder, left, ndim(left) - 1, made)
    _sums(builder, op, shared, add, made)
    return builder.ops


def _source(array: ir.Operand, axis: int, made: Mapping[ir.Operand, ir.Op]) -> ir.Operand | tuple[ir.Operand, int]:
    """Where the extent of an axis comes from: an integer, or an axis of an array of which no more is known."""
    while True:
        source = extent_source(made.get(array), axis, made)
        asked = None if source is None or isinstance(source, tuple) else made.get(source)
        if isinstance(asked, ir.Extent):
            source = asked.array, asked.axis
        if not isinstance(source, tuple):
            return (array, axis) if source is None else source
        array, axis = source


def _extent(builder: ir.Builder, array: ir.Operand, axis: int, made: Mapping[ir.Operand, ir.Op]) -> ir.Operand:
    """That of what a view is of, which may be the same in all trips of a loop that makes the view."""
    source = _source(array, axis, made)
    return builder.extent(*source) if isinstance(source, tuple) else source


def _sums(
    builder: ir.Builder,
    op: ir.Call,
    shared: ir.Operand,
    add: Callable[..., float],
    made: Mapping[ir.Operand, ir.Op],
) -> None:
    """Each element of a product as a sum, along an axis of that extent."""
    (left, right), (out,) = op.args, op.outs
    rows = [_extent(builder, left, axis, made) for axis in range(ndim(left) - 1)]
    columns = [_extent(builder, right, axis, made) for axis in range(1, ndim(right))]
    kind = array_type_of(left).dtype

    def total(at: Sequence[ir.Operand], outs: Sequence[ir.Var] = ()) -> ir.Operand:
        own, others = at[: len(rows)], at[len(rows) :]

        def step(k: ir.Var, so_far: ir.Var) -> Sequence[ir.Operand]:
            factors = builder.load(left, (*own, k)), builder.load(right, (k, *others))
            product = builder.call(operator.mul, *factors, type=kind, name="product")
            return (builder.call(add, so_far, product, type=kind, name="total"),)

        args = [ir.Var("total", kind)]
        return builder.fold(shared, "k", [typed_const(0, kind)], args, step, outs, order_free=True)[0]

    if not rows and not columns:
        total((), op.outs)
        return
    builder.emit(ir.Alloc(shape=(*rows, *columns), out=out))
    builder.nest((*rows, *columns), lambda at: builder.store(out, at, total(at)))


# ---------------------------------------------------------------------------------------------------- row after row


@dataclasses.dataclass(frozen=True)
class OfRows:
    """A product of a matrix whose rows lie side by side and a vector, which may be on either side of it."""

    call: ir.Call
    matrix: ir.Operand
    vector: ir.Operand
    is_first: bool

    def as_loops(self, made: Mapping[ir.Operand, ir.Op]) -> list[ir.Op]:
        """A loop over the rows, the first of these; `made`: what makes the function's arrays."""
        builder, (out,) = ir.Builder(self.call.origin), self.call.outs
        factors = (self.matrix, self.vector) if self.is_first else (self.vector, self.matrix)
        # that of the matrix, as other loops over it have
        shared = _extent(builder, self.matrix, int(self.is_first), made)
        if self.is_first:
            _sums(builder, dataclasses.replace(self.call, args=factors), shared, reassociable_add, made)
            return builder.ops
        kind = array_type_of(self.matrix).dtype
        columns = _extent(builder, self.matrix, 1, made)
        builder.emit(ir.Alloc(shape=(columns,), fill=typed_const(0, kind), out=out))
        with builder.loop(shared, "i", order_free=True) as i:
            factor = builder.load(self.vector, (i,))
            with builder.loop(columns, "j", order_free=True) as j:
                element = builder.load(self.matrix, (i, j))
                builder.store(
                    out, (j,), builder.call(operator.mul, factor, element, type=kind, name="product"), add=True
                )
        return builder.ops


def of_rows(op: ir.Op, made: Mapping[ir.Operand, ir.Op]) -> OfRows | None:
    """The operation as such a product; None if it is none."""
    if not isinstance(op, ir.Call) or not is_product(op) or sorted(map(ndim, op.args)) != [1, 2]:
        return None
    kinds = [array_type_of(arg).dtype for arg in op.args]
    if kinds[0] != kinds[1] or not ir.is_float(kinds[0]):
        return None
    is_first = ndim(op.args[0]) == 2
    matrix, vector = op.args if is_first else op.args[::-1]
    view = made.get(matrix)
    if isinstance(view, ir.Transpose):
        matrix, is_first = view.base, not is_first
    # elements of a vector that are apart would be fetched one by one in each row
    is_fit = _has_rows(matrix, made) and (not is_first or array_type_of(vector).layout == "C")
    return OfRows(op, matrix, vector, is_first) if is_fit else None


def _has_rows(matrix: ir.Operand, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether the elements of a row lie side by side."""
    view = made.get(matrix)
    if isinstance(view, ir.Slice):
        is_whole = isinstance(view.selectors[-1], ir.Span) and view.selectors[-1].step in (None, ir.integer(1))
        return is_whole and array_type_of(view.base).layout == "C"
    return array_type_of(matrix).layout == "C"
