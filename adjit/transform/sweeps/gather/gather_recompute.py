"""Contributions that are made again where they are gathered, so that both are one nest, which is one launch.

In: a function. Out: the same, in which a nest that keeps what it adds to neighbours, and the nest behind it that adds
that up, are one.

    for i in range(1, n - 1):                       for e in range(n):
        kept[i + 1] = k[i] * q_bar[i]                   left = k[e - 1] * q_bar[e - 1] if e - 1 is a trip else 0.0
        p_bar[i] = f(i)                                 right = k[e + 1] * q_bar[e + 1] if e + 1 is one else 0.0
    for e in range(n):                                  if e is one: p_bar[e] = f(e) + (left + right)
        p_bar[e] += kept[e] + kept[e + 2]               else: p_bar[e] += left + right

A contribution is made again of what neither nest stores to, if that is a few operations: neighbours have it in a cache,
where kept it goes to memory and back.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import cost
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial, Sharing
from adjit.transform.analysis.must_writes import Cover, Covers
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import typed_const
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked

MOST_CYCLES = 12  # of a contribution that is made again for each of its neighbours


def gather_at_once(function: ir.Function) -> ir.Function:
    """The function with such nests in one."""
    refused: set[ir.Op] = set()
    while (made := _once(function, refused)) is not None:
        function = made
    return function


def _once(function: ir.Function, refused: set[ir.Op]) -> ir.Function | None:
    search = _Search(function)
    for region in ir.regions(function.body):
        for place, op in enumerate(region.ops):
            first = search.before(region.ops[:place]) if op not in refused else None
            pair = search.pair(first, op) if first is not None else None
            if pair is None:
                continue
            nests = _Writing(function, pair).written()
            made = ir.with_body(function, ir.replaced(function.body, {pair.first: (), pair.second: nests}))
            made = checked(simplify(made), "gathered at once")
            if _is_one_launch(made, nests[-1]):
                return made
            refused.add(op)
    return None


def _is_one_launch(function: ir.Function, nest: ir.Op) -> bool:
    """Whether the trips of the nest, as it is by now, add to no element of each other's."""
    name = nest.regions[0].args[0]
    loop = next((op for op in function.body.inside if isinstance(op, ir.For) and op.body.args[0] is name), None)
    found = None if loop is None else function.analysis(LoopDependences).of(loop)
    return isinstance(found, Sharing) and not found.added and not found.shared


@dataclass(frozen=True, eq=False)
class _Pair:
    """own: what the first nest stores to the target; sums: what the second adds to it; kept: by array, how the first
    stores to it."""

    first: ir.For
    second: ir.For
    own: Cover
    sums: Cover
    kept: Mapping[ir.Operand, Cover]


class _Search:
    def __init__(self, function: ir.Function):
        self.function = function
        self.aliases, self.covers = function.analysis(Aliases), function.analysis(Covers)
        self.uses, self.sharings = function.analysis(Uses), function.analysis(LoopDependences)
        self.made = function.body.made

    def before(self, ops: Sequence[ir.Op]) -> ir.For | None:
        """The loop right before, but for numbers."""
        for op in reversed(ops):
            if not isinstance(op, ir.Comment | ir.Extent) and not _is_plain(op):
                return op if isinstance(op, ir.For) else None
        return None

    def pair(self, first: ir.For, second: ir.Op) -> _Pair | None:
        if not isinstance(second, ir.For) or first.level or second.level or first.stops or second.outs:
            return None
        stores = [op for op in ir.with_inner(second) if isinstance(op, ir.Store)]
        if len(stores) != 1 or not stores[0].add or not ir.is_float(stores[0].array.type):
            return None
        target = stores[0].array
        own, sums = self.covers.of(first, target), self.covers.of(second, target)
        if own is None or sums is None or own.loads or any(rim != (0, 0) for rim in sums.rims) or any(sums.shifts):
            return None
        if (
            not _is_perfect(own)
            or not _is_perfect(sums)
            or any(isinstance(self.sharings.of(op), Serial) for op in (first, second))
        ):
            return None
        kept: dict[ir.Operand, Cover] = {}
        for load in [op for op in sums.loops[-1].body.ops if isinstance(op, ir.Load)]:
            found = self.kept(load.array, first, second)
            if found is not None:
                kept[load.array] = found
        pair = _Pair(first, second, own, sums, kept)
        return pair if kept and self.is_legal(pair) else None

    def kept(self, array: ir.Operand, first: ir.For, second: ir.For) -> Cover | None:
        """How the first nest stores to an array of contributions, which is zero elsewhere and read in the second."""
        made = self.made.get(array)
        if not isinstance(made, ir.Alloc) or made.fill is None or made.fill.value != 0 or array in self.uses.held:
            return None
        inside = {*ir.with_inner(first), *ir.with_inner(second)}
        users = [op for op in self.uses.users[array] if not isinstance(op, ir.Extent)]
        found = self.covers.of(first, array, is_whole=False)
        is_ours = all(op in inside and isinstance(op, ir.Load | ir.Store) for op in users)
        return found if found is not None and is_ours and not found.store.add and not found.loads else None

    def is_legal(self, pair: _Pair) -> bool:
        """Whether neither nest looks at what the other one stores, once contributions are made again."""
        target = pair.own.store.array
        stored = [op.array for op in ir.with_inner(pair.first) if isinstance(op, ir.Store)]
        others = [array for array in stored if array is not target and array not in pair.kept]
        if not all(self.aliases.are_distinct(array, target) for array in others):
            return False
        loads = [op for op in ir.with_inner(pair.first) if isinstance(op, ir.Load)]
        if not all(self.aliases.are_distinct(op.array, target) for op in loads):
            return False
        second = [op for op in ir.with_inner(pair.second) if isinstance(op, ir.Load) and op.array not in pair.kept]
        again = [self.again(cover) for cover in pair.kept.values()]
        if any(found is None for found in again):
            return False
        late = [*second, *(op for found in again if found for op in found if isinstance(op, ir.Load))]
        return all(self.aliases.are_distinct(op.array, array) for op in late for array in (*others, target))

    def again(self, cover: Cover) -> list[ir.Op] | None:
        """The operations that make a contribution; None if they are too many, or do more than that."""
        found = _made_of(cover.store.value, cover)
        cycles = [cost(op) for op in found]
        is_plain = all(isinstance(op, ir.Load | ir.Extent) or _is_plain(op) for op in found)
        known = [c for c in cycles if c is not None]
        return found if is_plain and len(known) == len(cycles) and sum(known) <= MOST_CYCLES else None


def _ops_of(cover: Cover) -> list[ir.Op]:
    """What a trip of the nest does, in all its loops."""
    beside = [op for loop in cover.loops[:-1] for op in loop.body.ops if op not in cover.loops]
    return [op for op in (*beside, *cover.loops[-1].body.ops) if not isinstance(op, ir.Comment)]


def _made_of(value: ir.Operand, cover: Cover) -> list[ir.Op]:
    """The operations of a trip that make a value, in their order."""
    wanted, found = {value}, set[ir.Op]()
    ops = _ops_of(cover)
    for op in reversed(ops):
        if not wanted.isdisjoint(op.results):
            found.add(op)
            wanted.update(ir.free_vars(ir.Region((), (op,), ())))
    return [op for op in ops if op in found]


def _is_plain(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) and not op.effect and not any(map(ir.is_reference, (*op.args, *op.outs)))


def _is_perfect(cover: Cover) -> bool:
    """Whether a trip does nothing but the next loop, and numbers before it."""
    return all(
        op is inner or isinstance(op, ir.Comment | ir.Extent) or _is_plain(op)
        for loop, inner in zip(cover.loops, cover.loops[1:], strict=False)
        for op in loop.body.ops
    )


class _Writing:
    def __init__(self, function: ir.Function, pair: _Pair):
        self.function, self.pair = function, pair
        self.before = Writer(pair.second.origin, name="n")
        # by axis: the element's
        self.elements = [
            dataclasses.replace(self.loop_of(pair.sums, axis).body.args[0]) for axis in range(len(pair.sums.shifts))
        ]

    def loop_of(self, cover: Cover, axis: int) -> ir.For:
        return cover.loops[cover.axes.index(axis)]

    def written(self) -> list[ir.Op]:
        pair, own = self.pair, self.pair.own
        region = self.body()
        made: ir.Op | None = None
        for loop, axis in zip(reversed(own.loops), reversed(own.axes), strict=True):
            if made is not None:
                region = ir.Region(loop.body.args, (made,), loop.body.yields)
            counter = self.elements[axis]
            stop = self.before.integer(pair.sums.extents[axis])
            region = ir.Region((counter, *region.args[1:]), region.ops, region.yields)
            made = dataclasses.replace(loop, start=ir.integer(0), stop=stop, body=region)
        assert made is not None
        return [*self.before.ops, made]

    def body(self) -> ir.Region:
        """What a trip does for its element."""
        pair, own, builder = self.pair, self.pair.own, ir.Builder(self.pair.second.origin)
        last = own.loops[-1].body
        named: dict[ir.Var, ir.Operand] = {
            self.loop_of(pair.sums, axis).body.args[0]: element for axis, element in enumerate(self.elements)
        }
        cloner = ir.Cloner(named)
        total: ir.Operand | None = None
        for op in _ops_of(pair.sums):
            if op is pair.sums.store:
                total = cloner.operand(pair.sums.store.value)
            elif isinstance(op, ir.Load) and op.array in pair.kept:
                index = [cloner.operand(i) for i in op.index]
                cloner.mapping[op.out] = self.contribution(builder, pair.kept[op.array], index)
            else:
                builder.emit(cloner.op(op))
        assert total is not None
        counters, tests = self.trip(builder, own, self.elements)
        with builder.region() as inside:
            places: dict[ir.Var, ir.Operand] = dict(counters)
            for op in _ops_of(own):
                if isinstance(op, ir.Store) and op.array in pair.kept:
                    continue
                made = ir.substituted(op, places)
                if op is own.store:
                    assert isinstance(made, ir.Store)
                    type_ = max(made.value.type, total.type, key=lambda t: t.bitwidth)  # type: ignore[attr-defined]
                    value = builder.call(operator.add, made.value, total, type=type_, name="stored")
                    made = dataclasses.replace(made, value=value)
                builder.emit(made)
        yields = [ir.substituted_operand(y, places) for y in last.yields]
        with builder.region() as rim:
            builder.store(own.store.array, self.elements, total, add=True)
        _, *args = last.args
        if not tests:
            builder.ops.extend(inside)
            return ir.Region(last.args, tuple(builder.ops), tuple(yields))
        outs = tuple(dataclasses.replace(arg) for arg in args)
        then, orelse = ir.Region((), tuple(inside), tuple(yields)), ir.Region((), tuple(rim), tuple(args))
        builder.emit(
            ir.If(condition=self.all(builder, tests), then=then, orelse=orelse, outs=outs, origin=own.store.origin)
        )
        return ir.Region(last.args, tuple(builder.ops), outs)

    def contribution(self, builder: ir.Builder, cover: Cover, index: Sequence[ir.Operand]) -> ir.Operand:
        """What the trip that stores to this element of a kept array would; zero if there is none."""
        counters, tests = self.trip(builder, cover, index)
        with builder.region() as ops:
            cloner = ir.Cloner(dict(counters))
            for op in _made_of(cover.store.value, cover):
                builder.emit(cloner.op(op).at(self.pair.second.origin))
            value = cloner.operand(cover.store.value)
        if not tests:
            builder.ops.extend(ops)
            return value
        zero = typed_const(0, cover.store.value.type)
        out = ir.Var(ir.name_of(cover.store.value, "kept"), cover.store.value.type)
        then, orelse = ir.Region((), tuple(ops), (value,)), ir.Region((), (), (zero,))
        builder.emit(ir.If(condition=self.all(builder, tests), then=then, orelse=orelse, outs=(out,)))
        return out

    def trip(
        self, builder: ir.Builder, cover: Cover, index: Sequence[ir.Operand]
    ) -> tuple[dict[ir.Var, ir.Operand], list[ir.Operand]]:
        """The counters of the trip that stores to an element, and the tests whether there is one."""
        counters: dict[ir.Var, ir.Operand] = {}
        tests: list[ir.Operand] = []
        for loop, axis in zip(cover.loops, cover.axes, strict=True):
            counter, shift = index[axis], cover.shifts[axis]
            if shift:
                counter = builder.call(operator.sub, counter, ir.integer(shift), type=types.intp, name="trip")
            counters[loop.body.args[0]] = counter
            is_kept = index is not self.elements
            low, left = (1, 1) if is_kept else cover.rims[axis]
            for needed, callee, end in (
                (low, operator.ge, loop.start),
                (left, operator.lt, loop.stop),
            ):
                if needed:
                    tests.append(builder.call(callee, counter, end, type=types.boolean, name="is_trip"))
        return counters, tests

    def all(self, builder: ir.Builder, tests: Sequence[ir.Operand]) -> ir.Operand:
        condition = tests[0]
        for test in tests[1:]:
            condition = builder.call(operator.and_, condition, test, type=types.boolean, name="is_trip")
        return condition
