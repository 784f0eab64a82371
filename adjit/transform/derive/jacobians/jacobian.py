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
                    for row in range(0, y.size, 8):
                        y_bar = np.zeros((y.size, 8))
                        y_bar[row + d, d] = 1.0
                        x_bar = ...                                  the reverse sweep, for all of them
                        y_by_x[row + d] = x_bar[:, d]

The elements of all arguments are numbered through as columns, of which a chunk may cover those of several, the elements
of all results as rows. Where the sweeps cannot be had apart, both run for each row.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from numba import types

from adjit.runtime.library import is_same_array
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import draws, is_check
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.derive.adjoints import bar_name
from adjit.transform.derive.directions import SUFFIX, Directions, NotTogether, Tangent, extents, in_memory
from adjit.transform.derive.forward import Tangents
from adjit.transform.derive.jacobians.multi_seed import Copies, repeated
from adjit.transform.derive.rule_bodies import context
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.arrays import allocated_part
from adjit.transform.frontend.values.numbers import dtype
from adjit.transform.frontend.walk.entry import BuildDerivative, without_comments
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.source.derivative import WIDEST

Shape = Sequence[ir.Operand]
Body = Callable[[ir.Operand], None]  # of a loop, or for an element: what is done with the counter
_Key = TypeVar("_Key")
_Made = TypeVar("_Made")

_OF_DRAWS = (
    "a Jacobian by columns of a function with random numbers has more than {} columns. A second sweep "
    "would draw other numbers: use adjit.jacrev, or pass the random numbers as an argument"
)
WIDEST_ALONE = 16  # directions of a chunk without such a loop, where all arguments are numbers


def by_columns(function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative) -> ir.Function:
    """The function that returns the Jacobian; `wrt`: parameters, as trees of Vars."""
    return together(lambda is_wide: _Columns(function, wrt, single, build, is_wide).made())


def by_rows(
    function: ir.Function,
    wrt: Sequence[ir.Tree],
    single: bool,
    halves: tuple[ir.Function, ir.Function],
    build: BuildDerivative,
    is_of_host: bool,
) -> ir.Function | None:
    """The function that returns the Jacobian, from the halves of `split`; None if one reverse sweep spoils the next.
    `is_of_host`: it can be asked whether two arrays are the same."""
    return together(lambda is_wide: _Rows(function, wrt, single, build, is_wide).of_halves(halves, is_of_host))


def by_whole_rows(
    function: ir.Function, wrt: Sequence[ir.Tree], single: bool, joint: ir.Function, build: BuildDerivative
) -> ir.Function:
    """The same, with both sweeps for each row; the last parameter of `joint` is the seed."""
    return together(lambda is_wide: _Rows(function, wrt, single, build, is_wide).of_both(joint))


def together(make: Callable[[bool], _Made]) -> _Made:
    """What is made with several directions that travel together or, where that cannot be, one by one."""
    try:
        return make(True)
    except NotTogether:
        return make(False)


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


class Changed(NamedTuple):
    """The arrays that a sweep stores into and that the next sweep needs as they are, with what is known of them where
    they were made."""

    arrays: Sequence[ir.Var] = ()
    aliases: Aliases | None = None

    def copied(self, sweep: ir.Region) -> ir.Region:
        """The sweep on copies of its own, which are one where the arrays are."""
        builder = ir.Builder()
        copies: dict[ir.Var, ir.Operand] = {}
        for array in self.arrays:
            assert self.aliases is not None
            others = [other for other in copies if not self.aliases.are_distinct(array, other)]
            copies[array] = self._copy(builder, array, others, copies)
        renamed = ir.substituted_region(sweep, copies) if copies else sweep
        return dataclasses.replace(renamed, ops=(*builder.ops, *renamed.ops))

    def _copy(
        self, builder: ir.Builder, array: ir.Var, others: Sequence[ir.Var], copies: Mapping[ir.Var, ir.Operand]
    ) -> ir.Var:
        """A copy of an array, or that of one of these others, if it is the same."""
        out = dataclasses.replace(array)
        if not others:
            builder.emit(ir.Copy(source=array, out=out))
            return out
        first, *rest = others
        is_same = builder.call(is_same_array, array, first, type=types.boolean, name="is_same")
        with builder.region() as ops:
            copied = self._copy(builder, array, rest, copies)
        sides = ir.Region((), (), (copies[first],)), ir.Region((), tuple(ops), (copied,))
        builder.emit(ir.If(condition=is_same, then=sides[0], orelse=sides[1], outs=(out,)))
        return out


class Chunked:
    """What works through many directions, a chunk of them at a time: the loops, and the numbers of elements."""

    directions: Directions
    width: int  # of a chunk

    def __init__(self, build: BuildDerivative) -> None:
        self.build = build
        self.builder = ir.Builder()
        self.ctx = context(self.builder, build)

    def widen(self, width: int, kind: type[Directions] = Directions) -> None:
        """Sets how many directions travel together, and how they are laid out."""
        self.width, self.directions = width, kind(None if width == 1 else width)

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

    def reach(self, own: Numbered, chunk: ir.Operand, is_alone: bool = False) -> tuple[ir.Operand, ir.Operand]:
        """The first direction of a chunk that is an element of this array, and the one after the last. `is_alone`:
        all elements are its own."""
        if is_alone and self.width == 1:
            return ir.integer(0), ir.integer(1)
        before = self.integer(operator.sub, own.start, chunk)
        is_first = own.start == ir.integer(0)
        first = ir.integer(0) if is_first else self.integer(max, before, ir.integer(0), name="first")
        end = self.integer(operator.add, before, own.size)
        return first, self.integer(min, end, ir.integer(self.width), name="last")

    def units(
        self, var: ir.Var, own: Numbered, chunk: ir.Operand, reach: tuple[ir.Operand, ir.Operand], blank: ir.Var | None
    ) -> Tangent:
        """The unit directions of a variable: one element is one in each direction that is the element's. `blank`: zeros
        for them, where it is an array."""
        if blank is None:
            names = [dot.name for dot in self.directions.new(var)]
            at = [self.integer(operator.add, chunk, ir.integer(d)) for d in range(self.width)]
            return tuple(self.unit(name, var.type, a, own.start) for name, a in zip(names, at, strict=True))
        one = typed_const(1, array_type_of(var).dtype)
        shift = self.integer(operator.sub, chunk, own.start)

        def store(d: ir.Operand) -> None:
            index = self.index(self.integer(operator.add, shift, d), own.shape)
            self.builder.store(blank, (*index, *self.directions.at(d)), one)

        self.loop("d", *reach, 1, store, order_free=True)
        return (blank,)

    def unit(self, name: str, type_: ir.Type, element: ir.Operand, at: ir.Operand) -> ir.Operand:
        """One where `element` is the element `at`, and zero elsewhere."""
        is_own = scalars.scalar(self.ctx, operator.eq, (element, at))
        if isinstance(is_own, ir.Const):
            return typed_const(int(is_own.value), type_)
        return self.builder.call(ir.select, is_own, typed_const(1, type_), typed_const(0, type_), type=type_, name=name)

    def reading(self, tangent: Tangent, name: str) -> Callable[[Sequence[ir.Operand], ir.Operand], ir.Operand]:
        """What loads an element of a tangent in a direction of the chunk."""
        if ir.is_array(tangent[0]):
            shadow = tangent[0]
            return lambda index, d: self.builder.load(shadow, (*index, *self.directions.at(d)))
        if self.directions.width is None:
            return lambda index, d: tangent[0]
        memory = in_memory(self.builder, tangent, name)
        return lambda index, d: self.builder.load(memory, (d,))

    def swept(self, sweep: ir.Region, seeds: Mapping[ir.Var, Tangent], changed: Changed) -> list[Tangent]:
        """What a sweep yields for all seeds of a chunk."""
        ops, yields = repeated(changed.copied(sweep), seeds, self.directions, self.build)
        self.builder.ops.extend(ops)
        return yields

    def product(self, shape: Shape) -> ir.Operand:
        found: ir.Operand = ir.integer(1)
        for extent in shape:
            found = self.integer(operator.mul, found, extent, name="size")
        return found

    def integer(self, callee: Any, left: ir.Operand, right: ir.Operand, name: str = "") -> ir.Operand:
        return emit_integer(self.builder, callee, left, right, name or scalars.name_of(callee))


class Matrices(Chunked):
    """What the two ways to make a Jacobian have in common; `wrt`: parameters, as trees of Vars."""

    def __init__(self, function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative):
        super().__init__(build)
        self.primal = without_comments(function)
        self.wrt = wrt
        self.arguments = [var for var in ir.leaves(tuple(wrt)) if ir.is_float(var.type)]
        self.single = single
        self.blocks: dict[tuple[int, ir.Var], Block] = {}

    def widen_for(self, total: ir.Operand, is_wide: bool, most: int, kind: type[Directions] = Directions) -> None:
        """Sets the width for so many directions; `most` of them are one chunk, where their number is known."""
        width = WIDEST if is_wide else 1
        if is_wide and isinstance(total, ir.Const) and total.value <= most:
            width = max(int(total.value), 1)
        self.widen(width, kind)

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
        self.widen_for(self.total, is_wide, WIDEST_ALONE)
        self.is_one_chunk = self.total == ir.integer(self.width)

    def made(self) -> ir.Function:
        self.allocate(self.shapes_of_results(), by_columns=True)
        self.check_draws()
        self.loop("column", ir.integer(0), self.total, self.width, self.chunk)
        return self.finished()

    def check_draws(self) -> None:
        """Of a function that draws, all columns have to be of the same draws: of one sweep."""
        if any(map(draws, self.primal.body.inside)) and not self.is_one_chunk:
            fits = scalars.scalar(self.ctx, operator.le, (self.total, ir.integer(self.width)))
            self.builder.emit(ir.Raise(exception=ValueError, args=(_OF_DRAWS.format(self.width),), condition=fits))

    def chunk(self, column: ir.Operand) -> None:
        """All columns from number `column` on that fit into one sweep."""
        reach = {var: self.reach(own, column) for var, own in self.columns.items()}
        dots = {var: self.seed(var, column, reach[var]) for var in self.columns}
        given = [dots.get(p) for p in self.primal.body.args]
        ops, tangents = Tangents(self.primal, given, self.directions, self.build).run()
        self.builder.ops.extend(ops)
        for (k, var), block in self.blocks.items():
            start = self.columns[var].start if block.matrix is not None else None
            if not ir.is_array(block.value) and self.is_one_chunk and isinstance(start, ir.Const):
                block.value, block.matrix = tangents[k][int(start.value)], None
            elif start is not None:
                self.take(k, var, tangents[k], column, *reach[var])

    def seed(self, var: ir.Var, column: ir.Operand, reach: tuple[ir.Operand, ir.Operand]) -> Tangent:
        """The unit directions of an argument."""
        blank = self.directions.zeros(self.builder, var, var.name + SUFFIX) if ir.is_array(var) else None
        return self.units(var, self.columns[var], column, reach, blank)

    def take(
        self, k: int, var: ir.Var, tangent: Tangent, column: ir.Operand, first: ir.Operand, last: ir.Operand
    ) -> None:
        """Puts the tangents of a result into the columns that they are."""
        matrix = self.blocks[k, var].matrix
        assert matrix is not None
        shift = self.integer(operator.sub, column, self.columns[var].start)
        load = self.reading(tangent, "tangents")

        def row(index: tuple[ir.Operand, ...]) -> None:
            def store(d: ir.Operand) -> None:
                element = load(index, d)
                self.builder.store(matrix, (*index, self.integer(operator.add, shift, d)), element)

            self.loop("d", first, last, 1, store, order_free=True)

        self.ctx.builder.nest(self.shapes[k], row)


class ByRows(Matrices):
    """What is found a row at a time, from a sweep of the reverse mode each."""

    def of_halves(self, halves: tuple[ir.Function, ir.Function], is_of_host: bool = True) -> ir.Function | None:
        """The function, from the halves of `split`; None if one reverse sweep spoils the next."""
        forward, reverse = map(without_comments, halves)
        aliases = forward.analysis(Aliases)
        changed = Changed(ir.leaves(reverse.params[1]), aliases)
        if aliases.may_be_views(changed.arrays, is_of_host):
            # copies would have to share memory as these do
            return None
        self.builder.ops.extend(forward.body.ops)
        shapes = [extents(self.builder, y) for y in forward.body.yields[: len(self.primal.body.yields)]]
        return self.made(shapes, reverse.body, reverse.params[2], changed)

    def of_both(self, joint: ir.Function) -> ir.Function:
        """The function, from both sweeps, which run for each row; the last parameter is the seed."""
        return self.made(self.shapes_of_results(), without_comments(joint).body, joint.params[-1], Changed())

    def made(self, shapes: Sequence[Shape], sweep: ir.Region, seed: ir.Tree, changed: Changed) -> ir.Function:
        """`shapes`: of the yields. `sweep` has the adjoints as yields; `changed`: what it writes into."""
        raise NotImplementedError


class _Rows(ByRows):
    def __init__(
        self, function: ir.Function, wrt: Sequence[ir.Tree], single: bool, build: BuildDerivative, is_wide: bool
    ):
        super().__init__(function, wrt, single, build)
        self.is_wide = is_wide

    def made(self, shapes: Sequence[Shape], sweep: ir.Region, seed: ir.Tree, changed: Changed) -> ir.Function:
        """`shapes`: of the yields. `sweep` has the adjoints as yields; `changed`: what it writes into."""
        self.allocate(shapes, by_columns=False)
        # where one value is two results, the seed of the last is read
        bars = dict(zip(ir.leaves(self.primal.result), ir.leaves(seed), strict=True))
        bars = {k: bar for k, bar in bars.items() if k is not None and ir.is_float(self.primal.body.yields[k].type)}
        rows, total = self.numbered({k: shapes[k] for k in bars})
        self.widen_for(total, self.is_wide, WIDEST, Copies)

        def chunk(row: ir.Operand) -> None:
            reach = {k: self.reach(own, row, len(rows) == 1) for k, own in rows.items()}
            seeds = {bar: self.seed(bar, rows[k], row, reach[k]) for k, bar in bars.items()}
            adjoints = dict(zip(self.arguments, self.swept(sweep, seeds, changed), strict=True))
            for k, own in rows.items():
                for var, bar in adjoints.items():
                    if total == ir.integer(1) and not ir.is_array(self.blocks[k, var].value):
                        self.blocks[k, var] = Block(bar[0])
                    elif (matrix := self.blocks[k, var].matrix) is not None:
                        self.take(matrix, var, bar, self.integer(operator.sub, row, own.start), reach[k])

        self.loop("row", ir.integer(0), total, self.width, chunk)
        return self.finished()

    def seed(self, bar: ir.Var, own: Numbered, row: ir.Operand, reach: tuple[ir.Operand, ir.Operand]) -> Tangent:
        """The unit seeds of a result, which are zero where a row is another result's."""
        if not ir.is_array(bar):
            return self.units(bar, own, row, reach, None)
        type_ = self.directions.type_of(bar.type)
        blank = ir.Var(bar.name, type_)
        fill = typed_const(0, array_type_of(bar).dtype)
        self.builder.emit(ir.Alloc(shape=(*own.shape, *self.directions.extent), fill=fill, out=blank))
        return self.units(bar, own, row, reach, blank)

    def take(
        self, matrix: ir.Var, var: ir.Var, bar: Tangent, shift: ir.Operand, reach: tuple[ir.Operand, ir.Operand]
    ) -> None:
        """Puts the adjoints of an argument into the rows of a result."""
        load = self.reading(bar, bar_name(var))

        def one(index: tuple[ir.Operand, ...]) -> None:
            def put(d: ir.Operand) -> None:
                self.builder.store(matrix, (self.integer(operator.add, shift, d), *index), load(index, d))

            self.loop("d", *reach, 1, put, order_free=True)

        self.builder.nest(extents(self.builder, var), one)
