"""A whole Jacobian in one function: forward mode over chunks of unit directions.

In: a function and the arguments to differentiate with respect to. Out: a function of the same arguments that returns
the matrices, for each result and each argument one of shape result.shape + argument.shape.

    y = f(x)        for column in range(0, x.size, 8):
                        x_dot = np.zeros((x.size, 8))
                        x_dot[column + d, d] = 1.0               for each direction d
                        y, y_dot = f(x), df(x) x_dot
                        y_by_x[:, column + d] = y_dot[:, d]

The elements of all these arguments are numbered through, so that a chunk may cover several of them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.directions import SUFFIX, Directions, NotTogether, Tangent, extents
from adjit.transform.elaborate import scalars
from adjit.transform.elaborate.function import BuildDerivative, without_comments
from adjit.transform.forward import sweep
from adjit.transform.rules_as_ir import context
from adjit.transform.types import array_type, array_type_of, typed_const

WIDEST = 8  # directions of a chunk; their values are unrolled, and fill a vector register or two


def by_columns(function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative) -> ir.Function:
    """The function that returns the Jacobian; `wrt`: parameters, as trees of Vars."""
    try:
        return _Columns(function, wrt, build, WIDEST).function(wrt, single)
    except NotTogether:
        return _Columns(function, wrt, build, 1).function(wrt, single)


@dataclass(frozen=True)
class _Leaf:
    """A float among the arguments, with the number of its first element and of its elements."""

    var: ir.Var
    shape: Sequence[ir.Operand]
    start: ir.Operand
    size: ir.Operand


@dataclass
class _Block:
    """The derivative of a result by an argument: `matrix` has the axes of the result, and one for the argument's."""

    value: ir.Operand
    matrix: ir.Var | None = None


class _Columns:
    def __init__(self, function: ir.Function, wrt: Sequence[ir.Tree], build: BuildDerivative, widest: int):
        self.primal = without_comments(function)
        self.build = build
        self.builder = ir.Builder()
        self.ctx = context(self.builder, build)
        self.leaves: list[_Leaf] = []
        self.total: ir.Operand = ir.integer(0)
        for var in ir.leaves(tuple(wrt)):
            if ir.is_float(var.type):
                shape = extents(self.builder, var) if ir.is_array(var) else ()
                size = self.product(shape)
                self.leaves.append(_Leaf(var, shape, self.total, size))
                self.total = self.int_call(operator.add, self.total, size, name="columns")
        width = min(widest, self.total.value) if isinstance(self.total, ir.Const) else widest
        self.width = width
        self.directions = Directions(None if width == 1 else width)
        self.is_one_chunk = isinstance(self.total, ir.Const) and self.total.value <= width

    def function(self, wrt: Sequence[ir.Tree], single: bool) -> ir.Function:
        yields = self.primal.body.yields
        shapes = self.shapes_of_results()
        is_wanted = {k for k in ir.leaves(self.primal.result) if k is not None}
        blocks: dict[tuple[int, ir.Var], _Block] = {}
        for k in sorted(is_wanted):
            for var in ir.leaves(tuple(wrt)):
                blocks[k, var] = self.block(yields[k], shapes[k], var)
        if self.is_one_chunk:
            self.chunk(ir.integer(0), shapes, blocks)
        else:
            column = ir.Var("column", types.intp)
            with self.builder.region() as ops:
                self.chunk(column, shapes, blocks)
            self.builder.emit(
                ir.For(
                    start=ir.integer(0), stop=self.total, step=ir.integer(self.width), inits=(),
                    body=ir.Region((column,), tuple(ops), ()), outs=(),
                )
            )  # fmt: skip
        results: list[ir.Operand] = []

        def position(k: int | None, var: ir.Var) -> int | None:
            if k is None:
                return None
            found = blocks[k, var]
            value = found.value
            if found.matrix is not None and not ir.is_array(value):
                value = self.builder.load(found.matrix, (ir.integer(0),))
            results.append(value)
            return len(results) - 1

        def by_argument(k: int | None) -> ir.Tree:
            parts = tuple(ir.map_tree(lambda var: position(k, var), tree) for tree in wrt)
            return parts[0] if single else parts

        tree = ir.map_tree(by_argument, self.primal.result)
        body = ir.Region(self.primal.body.args, tuple(self.builder.ops), tuple(results))
        return dataclasses.replace(self.primal, body=body, result=tree)

    # --------------------------------------------------------------------------------------------------- the matrices

    def shapes_of_results(self) -> list[Sequence[ir.Operand]]:
        """The shape of each yield, from a copy of the function of which only that is left once it is simplified."""
        body = self.primal.body
        if not any(ir.is_array(y) for y in body.yields):
            return [()] * len(body.yields)
        copied = ir.Cloner().region(dataclasses.replace(body, args=()))
        for op in copied.ops:
            self.builder.emit(_without_origin(op))
        return [extents(self.builder, y) if ir.is_array(y) else () for y in copied.yields]

    def block(self, result: ir.Operand, shape: Sequence[ir.Operand], argument: ir.Var) -> _Block:
        own = extents(self.builder, argument) if ir.is_array(argument) else ()
        name = f"{_name(result)}_by_{argument.name}"
        is_active = ir.is_float(result.type) and ir.is_float(argument.type)
        dtype: ir.Type = types.float64
        if is_active:
            dtype = result.type.dtype if isinstance(result.type, types.Array) else result.type
        if not shape and not own:
            if not is_active:
                return _Block(typed_const(0, dtype))
            # one number, kept in memory while the loop over the chunks runs
            return _Block(ir.Var(name, dtype), self.alloc(name, dtype, (ir.integer(1),)))
        made = self.alloc(name, dtype, (*shape, *own), None if is_active else 0)
        if not is_active:
            return _Block(made)
        if len(own) == 1:
            return _Block(made, made)
        matrix = ir.Var(f"{name}_matrix", array_type(dtype, len(shape) + 1))
        self.builder.emit(ir.Reshape(base=made, shape=(*shape, self.product(own)), out=matrix))
        return _Block(made, matrix)

    def alloc(self, name: str, dtype: ir.Type, shape: Sequence[ir.Operand], fill: int | None = None) -> ir.Var:
        out = ir.Var(name, array_type(dtype, len(shape)))
        value = None if fill is None else typed_const(fill, dtype)
        self.builder.emit(ir.Alloc(shape=tuple(shape), out=out, fill=value))
        return out

    # -------------------------------------------------------------------------------------------------------- a chunk

    def chunk(
        self, column: ir.Operand, shapes: list[Sequence[ir.Operand]], blocks: dict[tuple[int, ir.Var], _Block]
    ) -> None:
        """All columns from number `column` on that fit into one sweep."""
        reach = {leaf.var: self.reach(leaf, column) for leaf in self.leaves}
        dots = {leaf.var: self.seed(leaf, column, *reach[leaf.var]) for leaf in self.leaves}
        ops, tangents = sweep(self.primal, [dots.get(p) for p in self.primal.body.args], self.directions, self.build)
        for op in ops:
            self.builder.emit(op)
        for k, tangent in enumerate(tangents):
            for leaf in self.leaves:
                block = blocks.get((k, leaf.var))
                if block is not None and block.matrix is not None:
                    self.take(block, leaf, tangent, shapes[k], column, *reach[leaf.var])

    def reach(self, leaf: _Leaf, column: ir.Operand) -> tuple[ir.Operand, ir.Operand]:
        """The first direction of the chunk that is an element of this argument, and the one after the last."""
        before = self.int_call(operator.sub, leaf.start, column)
        is_first = isinstance(leaf.start, ir.Const) and leaf.start.value == 0
        first = ir.integer(0) if is_first else self.int_call(max, before, ir.integer(0), name="first")
        end = self.int_call(operator.add, before, leaf.size)
        return first, self.int_call(min, end, ir.integer(self.width), name="last")

    def seed(self, leaf: _Leaf, column: ir.Operand, first: ir.Operand, last: ir.Operand) -> Tangent:
        """The unit directions of an argument: one element is one in each direction that is the element's."""
        if not ir.is_array(leaf.var):
            one, zero = typed_const(1, leaf.var.type), typed_const(0, leaf.var.type)
            made: list[ir.Operand] = []
            for d in range(self.width):
                own = self.int_call(operator.add, column, ir.integer(d))
                is_own = scalars.scalar(self.ctx, operator.eq, (own, leaf.start))
                if isinstance(is_own, ir.Const):
                    made.append(one if is_own.value else zero)
                else:
                    name = self.directions.new(leaf.var)[d].name
                    made.append(self.builder.call(ir.select, is_own, one, zero, type=leaf.var.type, name=name))
            return tuple(made)
        one = typed_const(1, array_type_of(leaf.var).dtype)
        dot = self.directions.zeros(self.builder, leaf.var, leaf.var.name + SUFFIX)
        shift = self.int_call(operator.sub, column, leaf.start)

        def store(d: ir.Operand) -> None:
            index = self.index(self.int_call(operator.add, shift, d), leaf.shape)
            self.builder.store(dot, (*index, *self.directions.at(d)), one)

        self.each_direction(first, last, store)
        return (dot,)

    def index(self, element: ir.Operand, shape: Sequence[ir.Operand]) -> list[ir.Operand]:
        """The index of an element that has this number, in C order."""
        found: list[ir.Operand] = []
        for extent in shape[:0:-1]:
            found.insert(0, self.int_call(operator.mod, element, extent))
            element = self.int_call(operator.floordiv, element, extent)
        return [element, *found] if shape else []

    def take(
        self,
        block: _Block,
        leaf: _Leaf,
        tangent: Tangent,
        shape: Sequence[ir.Operand],
        column: ir.Operand,
        first: ir.Operand,
        last: ir.Operand,
    ) -> None:
        """Puts the tangents of a result into the columns that they are."""
        assert block.matrix is not None
        if not ir.is_array(block.value) and self.is_one_chunk:
            assert isinstance(leaf.start, ir.Const)
            block.value, block.matrix = tangent[leaf.start.value], None
            return
        matrix = block.matrix
        shift = self.int_call(operator.sub, column, leaf.start)
        is_number = not ir.is_array(tangent[0])
        array = self.in_memory(tangent) if is_number else tangent[0]

        def row(index: tuple[ir.Operand, ...]) -> None:
            def store(d: ir.Operand) -> None:
                element = self.builder.load(array, (d,) if is_number else (*index, *self.directions.at(d)))
                self.builder.store(matrix, (*index, self.int_call(operator.add, shift, d)), element)

            self.each_direction(first, last, store)

        self.ctx.nest(shape, row)

    def in_memory(self, tangent: Tangent) -> ir.Operand:
        """The tangents of a number as an array over the directions."""
        array = self.alloc("tangents", tangent[0].type, (ir.integer(self.width),))
        for d, dot in enumerate(tangent):
            self.builder.store(array, (ir.integer(d),), dot)
        return array

    def each_direction(self, first: ir.Operand, last: ir.Operand, body: Callable[[ir.Operand], None]) -> None:
        """A loop over directions of the chunk; without a loop where they are known, or there is but one."""
        if isinstance(first, ir.Const) and isinstance(last, ir.Const) and last.value - first.value <= 1:
            for d in range(int(first.value), int(last.value)):
                body(ir.integer(d))
            return
        direction = ir.Var("d", types.intp)
        with self.builder.region() as ops:
            body(direction)
        self.builder.emit(
            ir.For(
                start=first, stop=last, step=ir.integer(1), inits=(),
                body=ir.Region((direction,), tuple(ops), ()), outs=(), order_free=True,
            )
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- integers

    def product(self, shape: Sequence[ir.Operand]) -> ir.Operand:
        found: ir.Operand = ir.integer(1)
        for extent in shape:
            found = extent if found == ir.integer(1) else self.int_call(operator.mul, found, extent, name="size")
        return found

    def int_call(self, callee: Any, left: ir.Operand, right: ir.Operand, name: str = "") -> ir.Operand:
        if callee in (operator.add, operator.sub) and right == ir.integer(0):
            return left
        if callee is operator.add and left == ir.integer(0):
            return right
        return scalars.scalar(self.ctx, callee, (left, right), name)


def _name(operand: ir.Operand) -> str:
    return operand.name if isinstance(operand, ir.Var) else "value"


def _without_origin(op: ir.Op) -> ir.Op:
    regions = [ir.Region(r.args, tuple(map(_without_origin, r.ops)), r.yields) for r in op.regions]
    made = op.rebuilt(op.operands, regions, op.results) if regions else op
    return dataclasses.replace(made, origin=None)
