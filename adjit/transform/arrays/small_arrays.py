"""Small arrays of fixed size become the numbers in them.

In: a function. Out: the same without arrays of a literal shape, such as `np.array([x, y])`, that are only made, read
and stored to at literal places, copied, and passed on round loops and out of branches.

    state = np.array([x, y])                  state_0, state_1 = x, y
    for _ in range(n):                        for _ in range(n):
        state = state + h * rate(state)           state_0, state_1 = state_0 + h * ..., state_1 + h * ...

Arrays are references: one has to be complete before it gets another name, so that no store is seen under two.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Iterator, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import array_type_of, typed_const

MOST_ELEMENTS = 16
MOST_TRIPS = 8
MOST_OPERATIONS = 64  # of all trips of a loop that need not be written out


def dissolve(function: ir.Function) -> ir.Function:
    """The function without its small arrays."""
    aliases = function.analysis(Aliases)
    allocs = [op for op in ir.walk(function.body) if isinstance(op, ir.Alloc)]
    shapes = {aliases.find(op.out): shape for op in allocs if (shape := _literal_shape(op)) is not None}
    for op in ir.walk(function.body):
        if isinstance(op, ir.Copy) and (source := aliases.find(op.source)) in shapes:
            shapes.setdefault(aliases.find(op.out), shapes[source])
    for operand in (*function.body.args, *function.body.yields):
        if ir.is_reference(operand):
            shapes.pop(aliases.find(operand), None)
    for op in ir.walk(function.body):
        if not isinstance(op, _TAKEN):
            for operand in (*op.operands, *op.results):
                if ir.is_reference(operand):
                    shapes.pop(aliases.find(operand), None)
    while shapes:
        before = len(shapes)
        body = _Dissolving(aliases, shapes).region(function.body)
        if len(shapes) == before:
            return dataclasses.replace(function, body=body)
    return function


# what may be done with small arrays
_TAKEN = (ir.Load, ir.Store, ir.Extent, ir.Alloc, ir.Copy, ir.If, ir.For, ir.While)


class _Refused(Exception):
    """An array is used in a way that numbers have nothing like."""

    def __init__(self, array: ir.Operand):
        self.array = array


def _literal_shape(op: ir.Alloc) -> tuple[int, ...] | None:
    shape = tuple(int(n.value) for n in op.shape if isinstance(n, ir.Const))
    is_small = op.like is None and len(shape) == len(op.shape) > 0 and 0 < math.prod(shape) <= MOST_ELEMENTS
    return shape if is_small and min(shape) > 0 else None


class _Dissolving:
    """One walk. `shapes` has the classes of memory that are dissolved, less those of which a walk finds that they
    cannot be. Others stand where these are then left out, so that another walk is made."""

    def __init__(self, aliases: Aliases, shapes: dict[ir.Operand, tuple[int, ...]]):
        self.aliases = aliases
        self.shapes = shapes
        self.classes: dict[ir.Operand, ir.Operand] = {}  # of arrays in the copies of unrolled loops
        self.mapping: dict[ir.Var, ir.Operand] = {}
        self.elements: dict[ir.Operand, list[ir.Operand | None]] = {}
        self.home: dict[ir.Operand, list[ir.Op]] = {}  # arrays that may be stored to, and the region they are made in

    def find(self, array: ir.Operand) -> ir.Operand:
        return self.classes.get(array) or self.aliases.find(array)

    def operand(self, operand: ir.Operand) -> ir.Operand:
        while isinstance(operand, ir.Var) and operand in self.mapping:
            operand = self.mapping[operand]
        return operand

    def is_small(self, operand: ir.Operand) -> bool:
        return ir.is_reference(operand) and self.find(operand) in self.shapes

    def region(self, region: ir.Region) -> ir.Region:
        args = tuple(self.expanded(region.args))
        done: list[ir.Op] = []
        for op in region.ops:
            self.settle(op, done)
        return ir.Region(args, tuple(done), tuple(self.passed(region.yields)))

    def expanded(self, variables: Sequence[ir.Var]) -> Iterator[ir.Var]:
        """A variable an element in the place of each small array."""
        for var in variables:
            if not self.is_small(var):
                yield var
                continue
            dtype = array_type_of(var).dtype
            places = itertools.product(*map(range, self.shapes[self.find(var)]))
            own = [ir.Var("_".join((var.name, *map(str, place))), dtype) for place in places]
            self.elements[var] = list(own)
            yield from own

    def passed(self, operands: Sequence[ir.Operand]) -> Iterator[ir.Operand]:
        """What is handed on to another name: from here on nothing may be stored into it."""
        for operand in map(self.operand, operands):
            if not self.is_small(operand):
                yield operand
                continue
            self.home.pop(operand, None)
            for element in self.known(operand):
                if element is None:
                    raise _Refused(operand)
                yield element

    def settle(self, op: ir.Op, done: list[ir.Op]) -> None:
        """Does an operation, without the arrays that it is in the way of."""
        while True:
            try:
                return self.op(op, done)
            except _Refused as fault:
                del self.shapes[self.find(fault.array)]

    def op(self, op: ir.Op, done: list[ir.Op]) -> None:
        if isinstance(op, ir.For) and self.is_short(op) and not _has_level(op):
            self.unrolled(op, done)
        elif isinstance(op, ir.Load | ir.Store | ir.Extent) and self.is_small(op.array):
            self.element(op, done)
        elif isinstance(op, ir.Alloc) and self.is_small(op.out):
            shape = self.shapes[self.find(op.out)]
            if _literal_shape(op) != shape:
                raise _Refused(op.out)
            fill = None if op.fill is None else typed_const(op.fill.value, array_type_of(op.out).dtype)
            self.make(op.out, [fill] * math.prod(shape), done)
        elif isinstance(op, ir.Copy) and self.is_small(op.source) and self.is_small(op.out):
            if self.shapes[self.find(op.source)] != self.shapes[self.find(op.out)]:
                raise _Refused(op.out)
            self.make(op.out, self.known(self.operand(op.source)), done)
        elif isinstance(op, ir.If | ir.For | ir.While):
            operands = list(self.passed(op.operands))
            regions = [self.region(r) for r in op.regions]
            done.append(op.rebuilt(operands, regions, list(self.expanded(op.results))))
        else:
            for operand in (*op.operands, *op.results):
                if self.is_small(operand):
                    raise _Refused(operand)
            done.append(op.rebuilt([self.operand(o) for o in op.operands], op.regions, op.results))

    def known(self, array: ir.Operand) -> Sequence[ir.Operand | None]:
        """The elements by now; of an array from outside the function they are its numbers."""
        shape = self.shapes[self.find(array)]
        if not isinstance(array, ir.Const):
            return self.elements.get(array) or [None] * math.prod(shape)
        if array.value.shape != shape:
            raise _Refused(array)
        return [typed_const(element, array_type_of(array).dtype) for element in array.value.flat]

    def make(self, array: ir.Var, elements: Sequence[ir.Operand | None], done: list[ir.Op]) -> None:
        self.elements[array] = list(elements)
        self.home[array] = done

    def element(self, op: ir.Load | ir.Store | ir.Extent, done: list[ir.Op]) -> None:
        array = self.operand(op.array)
        shape = self.shapes[self.find(array)]
        if isinstance(op, ir.Extent):
            self.mapping[op.out] = ir.integer(shape[op.axis])
            return
        place = 0
        for index, extent in zip(map(self.operand, op.index), shape, strict=True):
            if not isinstance(index, ir.Const) or not -extent <= index.value < extent:
                raise _Refused(array)
            place = place * extent + int(index.value) % extent
        old = self.known(array)[place]
        if isinstance(op, ir.Load):
            if old is None:
                raise _Refused(array)
            self.mapping[op.out] = old
            return
        value = self.operand(op.value)
        if self.home.get(array) is not done or (op.add and old is None):
            raise _Refused(array)
        if op.add:
            assert old is not None
            out = ir.Var("sum", old.type)
            done.append(ir.Call(callee=operator.add, args=(old, value), outs=(out,), origin=op.origin))
            value = out
        self.elements[array][place] = value

    def is_short(self, op: ir.For) -> bool:
        """Whether it is a loop over few literal numbers that say which element of a small array is meant, or do little.

        Steps in time with small arrays in them are few, too, at times: such a loop stays, and hands the elements on.
        """
        trips = literal_trips(op)
        if trips is None or len(trips) > MOST_TRIPS:
            return False
        if len(trips) * len(op.body.inside) <= MOST_OPERATIONS:
            return any(self.is_small(o) for inner in op.body.inside for o in inner.operands)
        accesses = [a for a in op.body.inside if isinstance(a, ir.Load | ir.Store) and self.is_small(a.array)]
        return any(any(k is op.body.args[0] for k in access.index) for access in accesses)

    def unrolled(self, op: ir.For, done: list[ir.Op]) -> None:
        carried = [self.operand(o) for o in op.inits]
        for trip in literal_trips(op) or ():
            counter, *args = op.body.args
            cloner = ir.Cloner({counter: ir.integer(trip), **dict(zip(args, carried, strict=True))})
            for inner in op.body.ops:
                made = cloner.op(inner)
                names = (*inner.results, *(name for region in inner.regions for name in region.defines))
                self.classes.update((cloner.operand(name), self.find(name)) for name in names if self.is_small(name))
                self.settle(made, done)
            carried = [self.operand(cloner.operand(y)) for y in op.body.yields]
        for out, last in zip(op.outs, carried, strict=True):
            self.mapping[out] = last


def _has_level(loop: ir.For) -> bool:
    """Whether it is about blocks or threads, which stay loops."""
    return any(isinstance(op, ir.For) and op.level is not None for op in ir.with_inner(loop))
