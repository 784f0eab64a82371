"""Sparse Jacobians: all entries that a pattern has, from few directions, each of which is several columns at once.

In: a function, the arguments to differentiate with respect to, how to derive (by rows: the two sweeps). Out: a function
of the same arguments, and of what says which columns (rows) travel together and where each entry is found, that returns
the entries.

    for colour in range(0, count, 4):                    forward mode over chunks of directions
        x_dot[j, colours[j] - colour] = 1.0              for each column j whose colour is in the chunk
        y_dot = df(x) x_dot
        entries[k] = y_dot[lines[k], via[k] - colour]    for each entry k that is found in one of these directions

By rows a colour is the seed of one reverse sweep, `lines` has columns, and the entries are taken from the adjoints.
(Curtis, Powell and Reid 1974; Coleman and Verma 1998.)
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.derive.directions import SUFFIX, Tangent, extents, in_memory
from adjit.transform.derive.forward import Tangents
from adjit.transform.derive.jacobians.jacobian import ByRows, Changed, Matrices, Numbered, Shape, together
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.numbers import dtype
from adjit.transform.frontend.walk.entry import BuildDerivative
from adjit.transform.ir.types import array_type, array_type_of, typed_const


@dataclass(frozen=True)
class Plan:
    """The parameters: the colour of each column (row), the line and the colour that each entry is found in, and the
    number of colours."""

    colours: ir.Var
    lines: ir.Var
    via: ir.Var
    count: ir.Var


def compressed_columns(
    function: ir.Function, wrt: Sequence[ir.Tree], plan: Plan, width: int, build: BuildDerivative
) -> ir.Function:
    """The function that returns the entries, `width` directions a sweep."""
    return together(lambda is_wide: _Columns(function, wrt, plan, build).made(width if is_wide else 1))


def compressed_rows(
    function: ir.Function,
    wrt: Sequence[ir.Tree],
    plan: Plan,
    halves: tuple[ir.Function, ir.Function],
    build: BuildDerivative,
) -> ir.Function | None:
    """The function that returns the entries, from the halves of `split`; None if one reverse sweep spoils the next."""
    return _Rows(function, wrt, plan, build).of_halves(halves)


def compressed_whole_rows(
    function: ir.Function, wrt: Sequence[ir.Tree], plan: Plan, joint: ir.Function, build: BuildDerivative
) -> ir.Function:
    """The same, with both sweeps for each colour; the last parameter of `joint` is the seed."""
    return _Rows(function, wrt, plan, build).of_both(joint)


# what loads an element, from its number and the direction in the chunk
Loaded = Callable[[ir.Operand, ir.Operand], ir.Operand]


class _Compressed(Matrices):
    def __init__(self, function: ir.Function, wrt: Sequence[ir.Tree], plan: Plan, build: BuildDerivative) -> None:
        super().__init__(function, wrt, True, build)
        self.plan = plan
        # one value may be several results
        self.results = [k for k in ir.leaves(self.primal.result) if k is not None]
        self.values = self.primal.body.yields
        kinds: list[types.Type] = [dtype(self.values[k]) for k in self.results if ir.is_float(self.values[k].type)]
        self.kind = functools.reduce(scalars.wider, kinds) if kinds else types.float64

    def place(self, shapes: Sequence[Shape]) -> None:
        """Numbers all elements through, `shapes` being those of the yields, and makes the array of the entries."""
        rows, _ = self.numbered({position: shapes[k] for position, k in enumerate(self.results)})
        own = [(k, rows[position]) for position, k in enumerate(self.results)]
        self.rows = [(k, numbered) for k, numbered in own if ir.is_float(self.values[k].type)]
        self.columns, _ = self.numbered({var: extents(self.builder, var) for var in self.arguments})
        self.size = self.builder.extent(self.plan.lines, 0)
        self.entries = ir.Var("entries", array_type(self.kind, 1))
        self.builder.emit(ir.Alloc(shape=(self.size,), fill=typed_const(0, self.kind), out=self.entries))

    def function(self) -> ir.Function:
        own = (self.plan.colours, self.plan.lines, self.plan.via, self.plan.count)
        body = ir.Region((*self.primal.body.args, *own), tuple(self.builder.ops), (self.entries,))
        names = (*self.primal.names, *(var.name for var in own))
        params = (*self.primal.params, *own)
        return dataclasses.replace(self.primal, names=names, params=params, body=body, result=0)

    def coloured(self, own: Numbered, body: Callable[[Sequence[ir.Operand], ir.Operand], None]) -> None:
        """Runs for each element of an array, with its colour."""

        def one(index: tuple[ir.Var, ...]) -> None:
            flat: ir.Operand = ir.integer(0)
            for at, extent in zip(index, own.shape, strict=True):
                flat = self.integer(operator.add, self.integer(operator.mul, flat, extent), at)
            number = self.integer(operator.add, own.start, flat)
            body(index, self.builder.load(self.plan.colours, (number,), "own"))

        self.builder.nest(own.shape, one)

    def take(self, colour: ir.Operand, width: int, found: Sequence[tuple[Numbered, Loaded]]) -> None:
        """Stores the entries that are found in the directions from `colour` on, in these arrays or numbers."""
        with self.builder.loop(self.size, "k", order_free=True) as entry:
            via = self.builder.load(self.plan.via, (entry,), "own")
            direction = self.integer(operator.sub, via, colour)
            with self.builder.when(self.between(direction, ir.integer(width))):
                line = self.builder.load(self.plan.lines, (entry,), "line")
                for own, load in found:
                    at = self.integer(operator.sub, line, own.start)
                    is_own = ir.boolean(True) if len(found) == 1 else self.between(at, own.size)
                    with contextlib.nullcontext() if len(found) == 1 else self.builder.when(is_own):
                        value = scalars.cast(self.ctx, load(at, direction), self.kind)
                        self.builder.store(self.entries, (entry,), value)

    def element(self, array: ir.Operand, own: Numbered, last: Callable[[ir.Operand], tuple[ir.Operand, ...]]) -> Loaded:
        """Loads an element by its number; `last`: what follows its index, from the direction."""
        type_ = array_type_of(array)
        if len(own.shape) > 1 and type_.layout == "C":
            further = type_.ndim - len(own.shape)
            more = [self.builder.extent(array, len(own.shape) + k) for k in range(further)]
            flat = ir.Var(ir.name_of(array, "array"), type_.copy(ndim=1 + further))
            self.builder.emit(ir.Reshape(base=array, shape=(own.size, *more), out=flat))
            return lambda at, direction: self.builder.load(flat, (at, *last(direction)))
        return lambda at, direction: self.builder.load(array, (*self.index(at, own.shape), *last(direction)))

    def between(self, value: ir.Operand, end: ir.Operand) -> ir.Operand:
        """Whether an integer is at least zero and less than `end`."""
        is_after = scalars.scalar(self.ctx, operator.ge, (value, ir.integer(0)))
        is_before = scalars.scalar(self.ctx, operator.lt, (value, end))
        return scalars.scalar(self.ctx, operator.and_, (is_after, is_before))


class _Columns(_Compressed):
    def made(self, width: int) -> ir.Function:
        self.widen(width)
        self.place(self.shapes_of_results())
        self.loop("colour", ir.integer(0), self.plan.count, width, self.chunk)
        return self.function()

    def chunk(self, colour: ir.Operand) -> None:
        dots = {var: self.seed(var, own, colour) for var, own in self.columns.items()}
        given = [dots.get(p) for p in self.primal.body.args]
        ops, tangents = Tangents(self.primal, given, self.directions, self.build).run()
        self.builder.ops.extend(ops)
        self.take(colour, self.width, [(own, self.loaded(tangents[k], own)) for k, own in self.rows])

    def loaded(self, tangent: Tangent, own: Numbered) -> Loaded:
        if not ir.is_array(tangent[0]):
            memory = in_memory(self.builder, tangent, "tangents")
            return lambda at, direction: self.builder.load(memory, (direction,))
        (shadow,) = tangent
        return self.element(shadow, own, self.directions.at)

    def seed(self, var: ir.Var, own: Numbered, colour: ir.Operand) -> Tangent:
        """The directions of an argument: in each, the elements of one colour are one."""
        if not ir.is_array(var):
            mine = self.builder.load(self.plan.colours, (own.start,), "own")
            names = [dot.name for dot in self.directions.new(var)]
            at = [self.integer(operator.add, colour, ir.integer(d)) for d in range(self.width)]
            return tuple(self.unit(name, var.type, a, mine) for name, a in zip(names, at, strict=True))
        one = typed_const(1, array_type_of(var).dtype)
        dot = self.directions.zeros(self.builder, var, var.name + SUFFIX)

        def store(index: Sequence[ir.Operand], mine: ir.Operand) -> None:
            direction = self.integer(operator.sub, mine, colour)
            with self.builder.when(self.between(direction, ir.integer(self.width))):
                self.builder.store(dot, (*index, *self.directions.at(direction)), one)

        self.coloured(own, store)
        return (dot,)


class _Rows(_Compressed, ByRows):
    def made(self, shapes: Sequence[Shape], sweep: ir.Region, seed: ir.Tree, changed: Changed) -> ir.Function:
        """`shapes`: of the yields. `sweep` has the adjoints as yields; `changed`: what it writes into."""
        self.widen(1)
        self.place(shapes)
        # where one value is two results, the seed of the last is read
        bars = dict(zip(ir.leaves(self.primal.result), ir.leaves(seed), strict=True))

        def one(colour: ir.Operand) -> None:
            seeds: dict[ir.Var, Tangent] = {}
            for k in dict.fromkeys(k for k, _ in self.rows):
                seeds[bars[k]] = (self.seed(bars[k], [own for of, own in self.rows if of == k], colour),)
            found = self.swept(sweep, seeds, changed)
            adjoints = zip(self.arguments, (bar for (bar,) in found), strict=True)
            self.take(colour, 1, [(self.columns[var], self.loaded(bar, self.columns[var])) for var, bar in adjoints])

        self.loop("colour", ir.integer(0), self.plan.count, 1, one)
        return self.function()

    def loaded(self, bar: ir.Operand, own: Numbered) -> Loaded:
        if not ir.is_array(bar):
            return lambda at, direction: bar
        return self.element(bar, own, lambda direction: ())

    def seed(self, bar: ir.Var, places: Sequence[Numbered], colour: ir.Operand) -> ir.Operand:
        """The seed of a value, which is a result at these places: the elements of one colour are one."""
        if not ir.is_array(bar):
            found: ir.Operand = typed_const(0, bar.type)
            for own in places:
                mine = self.builder.load(self.plan.colours, (own.start,), "own")
                found = scalars.scalar(self.ctx, operator.add, (found, self.unit(bar.name, bar.type, mine, colour)))
            return found
        type_ = array_type_of(bar)
        made = dataclasses.replace(bar)
        shape = tuple(places[0].shape)
        self.builder.emit(ir.Alloc(shape=shape, fill=typed_const(0, type_.dtype), out=made))

        def store(index: Sequence[ir.Operand], mine: ir.Operand) -> None:
            with self.builder.when(scalars.scalar(self.ctx, operator.eq, (mine, colour))):
                self.builder.store(made, index, typed_const(1, type_.dtype))

        for own in places:
            self.coloured(own, store)
        return made
