"""A whole Jacobian in one function, by columns: forward mode over chunks of unit directions.

In: a function and the arguments to differentiate with respect to. Out: a function of the same arguments that returns
the matrices.

    y = f(x)        for column in range(0, x.size, 8):
                        x_dot = np.zeros((x.size, 8))
                        x_dot[column + d, d] = 1.0               for each direction d
                        y, y_dot = f(x), df(x) x_dot
                        y_by_x[:, column + d] = y_dot[:, d]

A chunk may cover elements of several arguments.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.derive.directions import SUFFIX, Directions, NotTogether, Tangent
from adjit.transform.derive.forward import sweep
from adjit.transform.derive.jacobian.matrices import Block, Matrices, Numbered, Shape
from adjit.transform.elaborate.entry import BuildDerivative
from adjit.transform.ir.types import array_type_of, typed_const
from adjit.transform.source.derivative import WIDEST

WIDEST_ALONE = 16  # directions of a chunk without such a loop, where all arguments are numbers


def by_columns(function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative) -> ir.Function:
    """The function that returns the Jacobian; `wrt`: parameters, as trees of Vars."""
    try:
        return _Columns(function, wrt, single, build, is_wide=True).made()
    except NotTogether:
        return _Columns(function, wrt, single, build, is_wide=False).made()


class _Columns(Matrices):
    def __init__(
        self, function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative, is_wide: bool
    ):
        super().__init__(function, wrt, single, build)
        arguments = [var for var in ir.leaves(tuple(wrt)) if ir.is_float(var.type)]
        numbers, self.total = self.numbered(map(self.shape, arguments))
        self.columns = dict(zip(arguments, numbers, strict=True))
        self.width = 1
        if is_wide and isinstance(self.total, ir.Const):
            self.width = int(self.total.value) if self.total.value <= WIDEST_ALONE else WIDEST
        elif is_wide:
            self.width = WIDEST
        self.directions = Directions(None if self.width == 1 else self.width)
        self.is_one_chunk = self.total == ir.integer(self.width)

    def made(self) -> ir.Function:
        self.shapes = self.shapes_of_results()
        self.allocate(self.shapes, by_columns=True)
        self.loop("column", ir.integer(0), self.total, self.width, self.chunk)
        return self.finished()

    def chunk(self, column: ir.Operand) -> None:
        """All columns from number `column` on that fit into one sweep."""
        reach = {var: self.reach(own, column) for var, own in self.columns.items()}
        dots = {var: self.seed(var, own, column, *reach[var]) for var, own in self.columns.items()}
        ops, tangents = sweep(self.primal, [dots.get(p) for p in self.primal.body.args], self.directions, self.build)
        for op in ops:
            self.builder.emit(op)
        for (k, var), block in self.blocks.items():
            if block.matrix is not None:
                self.take(block, self.columns[var], tangents[k], self.shapes[k], column, *reach[var])

    def reach(self, own: Numbered, column: ir.Operand) -> tuple[ir.Operand, ir.Operand]:
        """The first direction of the chunk that is an element of this argument, and the one after the last."""
        before = self.integer(operator.sub, own.start, column)
        is_first = own.start == ir.integer(0)
        first = ir.integer(0) if is_first else self.integer(max, before, ir.integer(0), name="first")
        end = self.integer(operator.add, before, own.size)
        return first, self.integer(min, end, ir.integer(self.width), name="last")

    def seed(self, var: ir.Var, own: Numbered, column: ir.Operand, first: ir.Operand, last: ir.Operand) -> Tangent:
        """The unit directions of an argument: one element is one in each direction that is the element's."""
        if not ir.is_array(var):
            names = [dot.name for dot in self.directions.new(var)]
            at = [self.integer(operator.add, column, ir.integer(d)) for d in range(self.width)]
            return tuple(self.unit(name, var.type, a, own.start) for name, a in zip(names, at, strict=True))
        one = typed_const(1, array_type_of(var).dtype)
        dot = self.directions.zeros(self.builder, var, var.name + SUFFIX)
        shift = self.integer(operator.sub, column, own.start)

        def store(d: ir.Operand) -> None:
            index = self.index(self.integer(operator.add, shift, d), own.shape)
            self.builder.store(dot, (*index, *self.directions.at(d)), one)

        self.loop("d", first, last, 1, store, order_free=True)
        return (dot,)

    def take(
        self,
        block: Block,
        own: Numbered,
        tangent: Tangent,
        shape: Shape,
        column: ir.Operand,
        first: ir.Operand,
        last: ir.Operand,
    ) -> None:
        """Puts the tangents of a result into the columns that they are."""
        assert block.matrix is not None
        if not ir.is_array(block.value) and self.is_one_chunk:
            assert isinstance(own.start, ir.Const)
            block.value, block.matrix = tangent[int(own.start.value)], None
            return
        matrix = block.matrix
        shift = self.integer(operator.sub, column, own.start)
        is_number = not ir.is_array(tangent[0])
        array = self.in_memory(tangent) if is_number else tangent[0]

        def row(index: tuple[ir.Operand, ...]) -> None:
            def store(d: ir.Operand) -> None:
                element = self.builder.load(array, (d,) if is_number else (*index, *self.directions.at(d)))
                self.builder.store(matrix, (*index, self.integer(operator.add, shift, d)), element)

            self.loop("d", first, last, 1, store, order_free=True)

        self.ctx.builder.nest(shape, row)

    def in_memory(self, tangent: Tangent) -> ir.Operand:
        """The tangents of a number as an array over the directions."""
        array = self.alloc("tangents", tangent[0].type, (ir.integer(self.width),))
        for d, dot in enumerate(tangent):
            self.builder.store(array, (ir.integer(d),), dot)
        return array
