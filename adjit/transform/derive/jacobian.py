"""Whole Jacobians, each in one function: by columns in forward mode, by rows in reverse mode.

In: a function, the arguments to differentiate with respect to, how to derive (by rows: the two sweeps). Out: a function
of the same arguments that returns the matrices: an array for each pair of a result and an argument, of shape
result.shape + argument.shape, in the tree in which they are returned.

    y = f(x)        for column in range(0, x.size, 8):               forward mode over chunks of unit directions
                        x_dot = np.zeros((x.size, 8))
                        x_dot[column + d, d] = 1.0                   for each direction d
                        y, y_dot = f(x), df(x) x_dot
                        y_by_x[:, column + d] = y_dot[:, d]

                    y = f(x)                                         the forward sweep, once
                    for row in range(y.size):
                        y_bar = np.zeros(y.size)
                        y_bar[row] = 1.0
                        x_bar = ...                                  the reverse sweep
                        y_by_x[row] = x_bar

The elements of all arguments are numbered through as columns, of which a chunk may cover those of several, the elements
of all results as rows. Where the sweeps cannot be had apart, both run for each row.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import is_check
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.derive.directions import SUFFIX, Directions, NotTogether, Tangent, extents, in_memory
from adjit.transform.derive.forward import Tangents
from adjit.transform.derive.rule_bodies import context
from adjit.transform.elaborate.entry import BuildDerivative, without_comments
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.arrays import allocated_part, shape_of, store
from adjit.transform.elaborate.values.elementwise import stretched
from adjit.transform.elaborate.values.values import dtype
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.source.derivative import WIDEST

Shape = Sequence[ir.Operand]
Body = Callable[[ir.Operand], None]  # of a loop, or for an element: what is done with the counter
_Key = TypeVar("_Key")

_OF_DRAWS = (
    "a Jacobian by columns, of a function that draws random numbers, has more than {} columns, and each further sweep "
    "would draw others: use adjit.jacrev, or pass the numbers drawn as an argument"
)
WIDEST_ALONE = 16  # directions of a chunk without such a loop, where all arguments are numbers


def by_columns(function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative) -> ir.Function:
    """The function that returns the Jacobian; `wrt`: parameters, as trees of Vars."""
    try:
        return _Columns(function, wrt, single, build, is_wide=True).made()
    except NotTogether:
        return _Columns(function, wrt, single, build, is_wide=False).made()


def by_rows(
    function: ir.Function,
    wrt: Sequence[ir.Tree],
    single: bool,
    halves: tuple[ir.Function, ir.Function],
    build: BuildDerivative,
) -> ir.Function | None:
    """The function that returns the Jacobian, from the halves of `split`; None if one reverse sweep spoils the next."""
    return _Rows(function, wrt, single, build).of_halves(halves)


def by_whole_rows(
    function: ir.Function, wrt: Sequence[ir.Tree], single: bool, joint: ir.Function, build: BuildDerivative
) -> ir.Function:
    """The same, with both sweeps for each row; the last parameter of `joint` is the seed."""
    return _Rows(function, wrt, single, build).of_both(joint)


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
        self.arguments = [var for var in ir.leaves(tuple(wrt)) if ir.is_float(var.type)]
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
        self.builder.ops.extend(ir.rewritten(copied, unheard).ops)
        return [extents(self.builder, y) for y in copied.yields]

    def allocate(self, shapes: Sequence[Shape], by_columns: bool) -> None:
        """Makes all blocks; `shapes` has one shape a yield."""
        self.shapes = shapes
        for k in dict.fromkeys(k for k in ir.leaves(self.primal.result) if k is not None):
            for var in ir.leaves(tuple(self.wrt)):
                self.blocks[k, var] = self._block(self.primal.body.yields[k], shapes[k], var, by_columns)

    def _block(self, result: ir.Operand, rows: Shape, argument: ir.Var, by_columns: bool) -> Block:
        columns = extents(self.builder, argument)
        name = f"{ir.name_of(result, 'value')}_by_{argument.name}"
        is_active = ir.is_float(result.type) and ir.is_float(argument.type)
        kind = dtype(result) if is_active else types.float64
        if not rows and not columns:
            if not is_active:
                return Block(typed_const(0, kind))
            # one number, kept in memory while the loop over the rows or columns runs
            return Block(ir.Var(name, kind), allocated_part(self.ctx, (ir.integer(1),), kind, None, name))
        made = allocated_part(self.ctx, (*rows, *columns), kind, None if is_active else 0, name)
        if not is_active:
            return Block(made)
        if len(columns if by_columns else rows) == 1:
            return Block(made, made)
        shape = (*rows, self.product(columns)) if by_columns else (self.product(rows), *columns)
        matrix = ir.Var(f"{name}_matrix", array_type(kind, len(shape)))
        self.builder.emit(ir.Reshape(base=made, shape=shape, out=matrix))
        return Block(made, matrix)

    # ----------------------------------------------------------------------------------------------- elements and loops

    def numbered(self, shapes: Mapping[_Key, Shape]) -> tuple[dict[_Key, Numbered], ir.Operand]:
        """The elements of arrays of these shapes numbered through, and how many there are in all."""
        found: dict[_Key, Numbered] = {}
        total: ir.Operand = ir.integer(0)
        for key, shape in shapes.items():
            found[key] = Numbered(shape, total, self.product(shape))
            total = self.integer(operator.add, total, found[key].size, name="total")
        return found, total

    def index(self, element: ir.Operand, shape: Shape) -> list[ir.Operand]:
        """The index of the element that has this number, in C order."""
        found: list[ir.Operand] = []
        for extent in shape[:0:-1]:
            found.insert(0, self.integer(operator.mod, element, extent))
            element = self.integer(operator.floordiv, element, extent)
        return [element, *found] if shape else []

    def loop(self, name: str, start: ir.Operand, stop: ir.Operand, step: int, body: Body, **fields: Any) -> None:
        """A loop; none where it would have one trip."""
        if isinstance(start, ir.Const) and isinstance(stop, ir.Const) and stop.value - start.value <= step:
            if start.value < stop.value:
                body(start)
            return
        with self.builder.loop(stop, name, start=start, step=ir.integer(step), **fields) as counter:
            body(counter)

    def unit(self, name: str, type_: ir.Type, element: ir.Operand, at: ir.Operand) -> ir.Operand:
        """One where `element` is the element `at`, and zero elsewhere."""
        is_own = scalars.scalar(self.ctx, operator.eq, (element, at))
        if isinstance(is_own, ir.Const):
            return typed_const(int(is_own.value), type_)
        return self.builder.call(ir.select, is_own, typed_const(1, type_), typed_const(0, type_), type=type_, name=name)

    def product(self, shape: Shape) -> ir.Operand:
        found: ir.Operand = ir.integer(1)
        for extent in shape:
            found = self.integer(operator.mul, found, extent, name="size")
        return found

    def integer(self, callee: Any, left: ir.Operand, right: ir.Operand, name: str = "") -> ir.Operand:
        return emit_integer(self.builder, callee, left, right, name or scalars.name_of(callee))


def unheard(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
    """An operation of a copy: it says nothing, and draws only where its shape depends on that."""
    if isinstance(op, ir.Call) and isinstance(op.callee, ir.Said):
        return ()
    if isinstance(op, ir.Call) and op.effect and op.outs and not is_check(op):
        op = dataclasses.replace(op, effect=False)
    return op.at(None)


class _Columns(Matrices):
    def __init__(
        self, function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative, is_wide: bool
    ):
        super().__init__(function, wrt, single, build)
        self.columns, self.total = self.numbered({var: extents(self.builder, var) for var in self.arguments})
        self.width = WIDEST if is_wide else 1
        if is_wide and isinstance(self.total, ir.Const) and self.total.value <= WIDEST_ALONE:
            self.width = int(self.total.value)
        self.directions = Directions(None if self.width == 1 else self.width)
        self.is_one_chunk = self.total == ir.integer(self.width)

    def made(self) -> ir.Function:
        self.allocate(self.shapes_of_results(), by_columns=True)
        self.check_draws()
        self.loop("column", ir.integer(0), self.total, self.width, self.chunk)
        return self.finished()

    def check_draws(self) -> None:
        """Of a function that draws, all columns have to be of the same draws: of one sweep."""
        draws = any(isinstance(op, ir.Call) and op.effect and op.outs for op in self.primal.body.inside)
        if draws and not self.is_one_chunk:
            fits = scalars.scalar(self.ctx, operator.le, (self.total, ir.integer(self.width)))
            self.builder.emit(ir.Raise(exception=ValueError, args=(_OF_DRAWS.format(self.width),), condition=fits))

    def chunk(self, column: ir.Operand) -> None:
        """All columns from number `column` on that fit into one sweep."""
        reach = {var: self.reach(own, column) for var, own in self.columns.items()}
        dots = {var: self.seed(var, column, *reach[var]) for var in self.columns}
        given = [dots.get(p) for p in self.primal.body.args]
        ops, tangents = Tangents(self.primal, given, self.directions, self.build).run()
        self.builder.ops.extend(ops)
        for (k, var), block in self.blocks.items():
            start = self.columns[var].start if block.matrix is not None else None
            if not ir.is_array(block.value) and self.is_one_chunk and isinstance(start, ir.Const):
                block.value, block.matrix = tangents[k][int(start.value)], None
            elif start is not None:
                self.take(k, var, tangents[k], column, *reach[var])

    def reach(self, own: Numbered, column: ir.Operand) -> tuple[ir.Operand, ir.Operand]:
        """The first direction of the chunk that is an element of this argument, and the one after the last."""
        before = self.integer(operator.sub, own.start, column)
        is_first = own.start == ir.integer(0)
        first = ir.integer(0) if is_first else self.integer(max, before, ir.integer(0), name="first")
        end = self.integer(operator.add, before, own.size)
        return first, self.integer(min, end, ir.integer(self.width), name="last")

    def seed(self, var: ir.Var, column: ir.Operand, first: ir.Operand, last: ir.Operand) -> Tangent:
        """The unit directions of an argument: one element is one in each direction that is the element's."""
        own = self.columns[var]
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
        self, k: int, var: ir.Var, tangent: Tangent, column: ir.Operand, first: ir.Operand, last: ir.Operand
    ) -> None:
        """Puts the tangents of a result into the columns that they are."""
        matrix = self.blocks[k, var].matrix
        assert matrix is not None
        shift = self.integer(operator.sub, column, self.columns[var].start)
        is_number = not ir.is_array(tangent[0])
        array = in_memory(self.builder, tangent, "tangents") if is_number else tangent[0]

        def row(index: tuple[ir.Operand, ...]) -> None:
            def store(d: ir.Operand) -> None:
                element = self.builder.load(array, (d,) if is_number else (*index, *self.directions.at(d)))
                self.builder.store(matrix, (*index, self.integer(operator.add, shift, d)), element)

            self.loop("d", first, last, 1, store, order_free=True)

        self.ctx.builder.nest(self.shapes[k], row)


class ByRows(Matrices):
    """What is found a row at a time, from a sweep of the reverse mode each."""

    def of_halves(self, halves: tuple[ir.Function, ir.Function]) -> ir.Function | None:
        """The function, from the halves of `split`; None if one reverse sweep spoils the next."""
        forward, reverse = map(without_comments, halves)
        changed = ir.leaves(reverse.params[1])
        aliases = forward.analysis(Aliases)
        if len({aliases.find(c) for c in changed}) < len(changed):
            # copies would have to share memory as these do
            return None
        self.builder.ops.extend(forward.body.ops)
        shapes = [extents(self.builder, y) for y in forward.body.yields[: len(self.primal.body.yields)]]
        return self.made(shapes, reverse.body, reverse.params[2], changed)

    def of_both(self, joint: ir.Function) -> ir.Function:
        """The function, from both sweeps, which run for each row; the last parameter is the seed."""
        return self.made(self.shapes_of_results(), without_comments(joint).body, joint.params[-1], ())

    def made(self, shapes: Sequence[Shape], sweep: ir.Region, seed: ir.Tree, changed: Sequence[ir.Var]) -> ir.Function:
        """`shapes`: of the yields. `sweep` has the adjoints as yields; `changed`: arrays that it writes into."""
        raise NotImplementedError


class _Rows(ByRows):
    is_alone: bool

    def made(self, shapes: Sequence[Shape], sweep: ir.Region, seed: ir.Tree, changed: Sequence[ir.Var]) -> ir.Function:
        """`shapes`: of the yields. `sweep` has the adjoints as yields; `changed`: arrays that it writes into."""
        self.allocate(shapes, by_columns=False)
        # where one value is two results, the seed of the last is read
        bars = dict(zip(ir.leaves(self.primal.result), ir.leaves(seed), strict=True))
        bars = {k: bar for k, bar in bars.items() if k is not None and ir.is_float(self.primal.body.yields[k].type)}
        results, total = self.numbered({k: shapes[k] for k in bars})
        self.is_alone = len(results) == 1

        def row(number: ir.Operand) -> None:
            mapping: dict[ir.Var, ir.Operand] = {bar: self.seed(bar, results[k], number) for k, bar in bars.items()}
            for array in changed:
                copied = mapping[array] = dataclasses.replace(array)
                self.builder.emit(ir.Copy(source=array, out=copied))
            cloned = ir.Cloner(mapping).region(dataclasses.replace(sweep, args=()))
            self.builder.ops.extend(cloned.ops)
            adjoints = dict(zip(self.arguments, cloned.yields, strict=True))
            for k, own in results.items():
                self.among(own, number, functools.partial(self.take, k, adjoints, total))

        self.loop("row", ir.integer(0), total, 1, row)
        return self.finished()

    def seed(self, bar: ir.Var, own: Numbered, row: ir.Operand) -> ir.Operand:
        """The unit seed of a result: zero if the row is another result's."""
        if not ir.is_array(bar):
            return self.unit(bar.name, bar.type, row, own.start)
        type_ = array_type_of(bar)
        made = dataclasses.replace(bar)
        self.builder.emit(ir.Alloc(shape=tuple(own.shape), fill=typed_const(0, type_.dtype), out=made))
        one = typed_const(1, type_.dtype)
        self.among(own, row, lambda element: self.builder.store(made, self.index(element, own.shape), one))
        return made

    def take(self, k: int, adjoints: dict[ir.Var, ir.Operand], total: ir.Operand, row: ir.Operand) -> None:
        """Puts the adjoints of the arguments into the row of a result."""
        for var, bar in adjoints.items():
            block = self.blocks[k, var]
            if total == ir.integer(1) and not ir.is_array(block.value):
                block.value, block.matrix = bar, None
            elif block.matrix is not None:
                self.fill(block.matrix, row, bar)

    def fill(self, matrix: ir.Var, row: ir.Operand, bar: ir.Operand) -> None:
        shape = shape_of(self.ctx, bar)
        element = stretched(self.ctx, bar, shape)
        self.builder.nest(shape, lambda index: store(self.ctx, matrix, (row, *index), element(index)))

    def among(self, own: Numbered, row: ir.Operand, body: Body) -> None:
        """Runs if the row is an element of this result, with the number that it has there."""
        if self.is_alone:
            body(row)
            return
        element = self.integer(operator.sub, row, own.start)
        is_after = scalars.scalar(self.ctx, operator.ge, (element, ir.integer(0)))
        is_before = scalars.scalar(self.ctx, operator.lt, (element, own.size))
        is_own = scalars.scalar(self.ctx, operator.and_, (is_after, is_before))
        with self.builder.when(is_own):
            body(element)
