"""The matrices of a Jacobian, as the function that fills them sees them.

In: a function and the arguments to differentiate with respect to. Out: an array for each pair of a result and an
argument, of shape result.shape + argument.shape, and the tree in which they are returned.

    y_by_x = np.empty((y.size, x.size))        filled by columns (`by_columns.py`) or by rows (`by_rows.py`)

The elements of all arguments are numbered through as columns, those of all results as rows.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.derive.directions import extents
from adjit.transform.derive.rule_bodies import context
from adjit.transform.elaborate.entry import BuildDerivative, without_comments
from adjit.transform.elaborate.values import scalars
from adjit.transform.ir.types import array_type, typed_const

Shape = Sequence[ir.Operand]


@dataclass(frozen=True)
class Numbered:
    """A float among the arguments or the results: the number of its first element, and how many it has."""

    shape: Shape
    start: ir.Operand
    size: ir.Operand


@dataclass
class Block:
    """The derivative of a result by an argument.

    `matrix` is where it is filled in: an array in which the axes of the argument (of the result, where rows are what is
    filled in) are one. None where nothing has to be.
    """

    value: ir.Operand
    matrix: ir.Var | None = None


class Matrices:
    """What the two ways to make a Jacobian have in common; `wrt`: parameters, as trees of Vars."""

    def __init__(self, function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative):
        self.primal = without_comments(function)
        self.wrt = wrt
        self.single = single
        self.build = build
        self.builder = ir.Builder()
        self.ctx = context(self.builder, build)
        self.blocks: dict[tuple[int, ir.Var], Block] = {}

    def finished(self) -> ir.Function:
        """The function, once all blocks are filled in."""
        results: list[ir.Operand] = []

        def position(k: int | None, var: ir.Var) -> int | None:
            if k is None:
                return None
            block = self.blocks[k, var]
            value = block.value
            if block.matrix is not None and not ir.is_array(value):
                value = self.builder.load(block.matrix, (ir.integer(0),))
            results.append(value)
            return len(results) - 1

        def by_argument(k: int | None) -> ir.Tree:
            parts = tuple(ir.map_tree(lambda var: position(k, var), tree) for tree in self.wrt)
            return parts[0] if self.single else parts

        tree = ir.map_tree(by_argument, self.primal.result)
        body = ir.Region(self.primal.body.args, tuple(self.builder.ops), tuple(results))
        return dataclasses.replace(self.primal, body=body, result=tree)

    def shapes_of_results(self) -> list[Shape]:
        """The shape of each yield, from a copy of the function of which only that is left once it is simplified."""
        body = self.primal.body
        if not any(ir.is_array(y) for y in body.yields):
            return [()] * len(body.yields)
        copied = ir.Cloner().region(dataclasses.replace(body, args=()))
        for op in copied.ops:
            self.builder.emit(_without_origin(op))
        return [self.shape(y) for y in copied.yields]

    def shape(self, operand: ir.Operand) -> Shape:
        return extents(self.builder, operand) if ir.is_array(operand) else ()

    def allocate(self, shapes: Sequence[Shape], by_columns: bool) -> None:
        """Makes all blocks; `shapes` has one shape a yield."""
        for k in dict.fromkeys(k for k in ir.leaves(self.primal.result) if k is not None):
            for var in ir.leaves(tuple(self.wrt)):
                self.blocks[k, var] = self._block(self.primal.body.yields[k], shapes[k], var, by_columns)

    def _block(self, result: ir.Operand, rows: Shape, argument: ir.Var, by_columns: bool) -> Block:
        columns = self.shape(argument)
        name = f"{result.name if isinstance(result, ir.Var) else 'value'}_by_{argument.name}"
        is_active = ir.is_float(result.type) and ir.is_float(argument.type)
        dtype: ir.Type = types.float64
        if is_active:
            dtype = result.type.dtype if isinstance(result.type, types.Array) else result.type
        if not rows and not columns:
            if not is_active:
                return Block(typed_const(0, dtype))
            # one number, kept in memory while the loop over the rows or columns runs
            return Block(ir.Var(name, dtype), self.alloc(name, dtype, (ir.integer(1),)))
        made = self.alloc(name, dtype, (*rows, *columns), None if is_active else 0)
        if not is_active:
            return Block(made)
        if len(columns if by_columns else rows) == 1:
            return Block(made, made)
        shape = (*rows, self.product(columns)) if by_columns else (self.product(rows), *columns)
        matrix = ir.Var(f"{name}_matrix", array_type(dtype, len(shape)))
        self.builder.emit(ir.Reshape(base=made, shape=shape, out=matrix))
        return Block(made, matrix)

    def alloc(self, name: str, dtype: ir.Type, shape: Shape, fill: int | None = None) -> ir.Var:
        out = ir.Var(name, array_type(dtype, len(shape)))
        value = None if fill is None else typed_const(fill, dtype)
        self.builder.emit(ir.Alloc(shape=tuple(shape), out=out, fill=value))
        return out

    # ----------------------------------------------------------------------------------------------- elements and loops

    def numbered(self, shapes: Iterable[Shape]) -> tuple[list[Numbered], ir.Operand]:
        """The elements of arrays of these shapes numbered through, and how many there are in all."""
        found: list[Numbered] = []
        total: ir.Operand = ir.integer(0)
        for shape in shapes:
            size = self.product(shape)
            found.append(Numbered(shape, total, size))
            total = self.integer(operator.add, total, size, name="total")
        return found, total

    def index(self, element: ir.Operand, shape: Shape) -> list[ir.Operand]:
        """The index of the element that has this number, in C order."""
        found: list[ir.Operand] = []
        for extent in shape[:0:-1]:
            found.insert(0, self.integer(operator.mod, element, extent))
            element = self.integer(operator.floordiv, element, extent)
        return [element, *found] if shape else []

    def loop(
        self,
        name: str,
        start: ir.Operand,
        stop: ir.Operand,
        step: int,
        body: Callable[[ir.Operand], None],
        order_free: bool = False,
    ) -> None:
        """A loop; none where it would have one trip."""
        if isinstance(start, ir.Const) and isinstance(stop, ir.Const) and stop.value - start.value <= step:
            if start.value < stop.value:
                body(start)
            return
        counter = ir.Var(name, types.intp)
        with self.builder.region() as ops:
            body(counter)
        self.builder.emit(
            ir.For(
                start=start, stop=stop, step=ir.integer(step), inits=(),
                body=ir.Region((counter,), tuple(ops), ()), outs=(), order_free=order_free,
            )
        )  # fmt: skip

    def unit(self, name: str, type_: ir.Type, element: ir.Operand, at: ir.Operand) -> ir.Operand:
        """One where `element` is the element `at`, and zero elsewhere."""
        is_own = scalars.scalar(self.ctx, operator.eq, (element, at))
        if isinstance(is_own, ir.Const):
            return typed_const(int(is_own.value), type_)
        return self.builder.call(ir.select, is_own, typed_const(1, type_), typed_const(0, type_), type=type_, name=name)

    def product(self, shape: Shape) -> ir.Operand:
        found: ir.Operand = ir.integer(1)
        for extent in shape:
            found = extent if found == ir.integer(1) else self.integer(operator.mul, found, extent, name="size")
        return found

    def integer(self, callee: Any, left: ir.Operand, right: ir.Operand, name: str = "") -> ir.Operand:
        """A call on integers, less additions of zero."""
        if callee in (operator.add, operator.sub) and right == ir.integer(0):
            return left
        if callee is operator.add and left == ir.integer(0):
            return right
        return scalars.scalar(self.ctx, callee, (left, right), name)


def _without_origin(op: ir.Op) -> ir.Op:
    regions = [ir.Region(r.args, tuple(map(_without_origin, r.ops)), r.yields) for r in op.regions]
    made = ir.with_regions(op, regions)
    return dataclasses.replace(made, origin=None)
