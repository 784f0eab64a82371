"""Additions to elements of other trips are gathered: each element adds up what the trips have for it.

In: a function. Out: the same, with a nest over the elements behind a nest whose trips add to each other's, guards and
short loops included.

    for i in range(n):                              for i in range(n):
        r = math.sin(y[i])                              r_kept[i] = math.sin(y[i])
        for k in range(5):                          for e in range(x.size):
            if 0 <= i + k - 2 < x.size:                 total = 0.0
                x[i + k - 2] += h[k] * r                for k in range(5):
                                                            i = e - k + 2
                                                            if 0 <= i < n and 0 <= i + k - 2 < x.size:
                                                                total += h[k] * r_kept[i]
                                                        x[e] += total

Which trip it is follows from the element, as far as its index tells; over the other loops the element adds up. What
a trip adds is made again, of what the nest does not change afterwards; what costs more than a load is kept, in an array
of all trips. Where that cannot be, additions stay where they are.

    for i: for j: for k: a[i, k] += b[k, j] * c[i, j]          for i: for k: for j: total += b[k, j] * c[i, j]

An element that tells inner loops alone, and is added to in all trips of the nest, is added to by a nest of its own, so
that the trips are threads there, each with its sum (`loop_sums.py`).

    for i: s = ...; for j: w[j] += a[i, j] * s                 for i: for j: w[j] += a[i, j] * s_kept[i]
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Chain
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import cost
from adjit.transform.analysis.effects import Effects
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import array_type, array_type_of, is_scalar, typed_const
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked

MOST_CYCLES = 2  # of a value of a trip that is made again for each element, and not kept
MOST_CYCLES_OF_TESTS = 8  # of integers and conditions
MOST_AXES = 3
MOST_TRIPS = 16  # of a loop whose elements a thread has sums for


def gather_additions(function: ir.Function) -> ir.Function:
    """The function with such additions gathered."""
    while (made := _once(function)) is not None:
        function = checked(simplify(made), "gathered by elements")
    return function


def _once(function: ir.Function) -> ir.Function | None:
    """The function with the gathers of one nest; None if there are none."""
    sharings, search = LoopDependences(function), _Search(function)
    for region in _host(function.body, sharings):
        for place, op in enumerate(region.ops):
            if not isinstance(op, ir.For) or op.level is not None or not any(map(_is_addition, op.body.inside)):
                continue
            found = [sharings.of(loop) for loop in search.loops(op)]
            if isinstance(found[0], Serial):
                continue
            names = [v for shared in found if not isinstance(shared, Serial) for v in (*shared.added, *shared.shared)]
            made = search.nest(op, {search.aliases.find(v) for v in names}) if names else None
            if made is not None:
                instead, nests = made
                last = _behind(op, region.ops[place + 1 :], nests, search.aliases)
                instead[last] = [*instead.get(last, (last,)), *nests]
                return ir.with_body(function, ir.replaced(function.body, instead))
    return None


def _behind(nest: ir.For, later: Sequence[ir.Op], nests: Sequence[ir.Op], aliases: Aliases) -> ir.Op:
    """What the nests over elements come after: the last of the stores of single elements that have nothing to do with
    them, so that those go with the sums of the nest; else the nest itself."""
    own = [Effects(op, aliases) for op in nests]
    last: ir.Op = nest
    for op in later:
        effects = Effects(op, aliases)
        is_loop = any(isinstance(inner, ir.For | ir.While | ir.Launch) for inner in ir.with_inner(op))
        is_tied = effects.is_ordered or any(e.is_tied_to(effects) or e.may_clash(effects, True) for e in own)
        if is_loop or is_tied or isinstance(op, ir.Comment):
            break
        last = op if any(isinstance(inner, ir.Store) for inner in ir.with_inner(op)) else last
    return last


def _host(region: ir.Region, sharings: LoopDependences) -> list[ir.Region]:
    """The regions of the host: those that are in no loop whose trips run at the same time."""
    found = [region]
    for op in region.ops:
        is_launched = isinstance(op, ir.For) and (op.level is not None or not isinstance(sharings.of(op), Serial))
        if op.regions and not is_launched:
            found += [inner for r in op.regions for inner in _host(r, sharings)]
    return found


def _is_addition(op: ir.Op) -> bool:
    return isinstance(op, ir.Store) and op.add and isinstance(op.value.type, types.Float)


@dataclass(frozen=True, eq=False)
class _Place:
    """An index: the counter of a loop, once or negated, and what is added to it. With `low` it is `count` times that of
    the loop, and that of `low`, which has so many trips: those of a tile."""

    loop: ir.For
    sign: int
    rest: Affine
    low: ir.For | None = None
    count: int = 1


@dataclass(frozen=True, eq=False)
class _Scatter:
    """An addition: around it, in a trip, loops and branches; its index."""

    store: ir.Store
    chain: Chain
    places: tuple[_Place, ...]

    @property
    def loops(self) -> list[ir.For]:
        """Those inside of a trip."""
        return [op for op, _ in self.chain if isinstance(op, ir.For)]

    @property
    def told(self) -> set[ir.For]:
        """The loops whose trips the element tells."""
        return {loop for place in self.places for loop in (place.loop, place.low) if loop is not None}


@dataclass(frozen=True, eq=False)
class _Stores:
    """What a nest changes, by alias class of the memory."""

    nest: ir.For
    by_memory: Mapping[ir.Operand, Sequence[ir.Op]]


class _Search:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.model = function.analysis(IndexModel)
        self.made = function.body.made

    def nest(
        self, outer: ir.For, memory: set[ir.Operand]
    ) -> tuple[dict[ir.Op, Sequence[ir.Op]], Sequence[ir.Op]] | None:
        """What takes the place of a nest's operations, and the gathers, which come behind it."""
        loops = self.loops(outer)
        body = loops[-1].body
        stored = self.stores(outer)
        kept: dict[ir.Var, ir.Var] = {}
        taken: list[ir.Store] = []
        groups: dict[ir.Operand, list[_Scatter]] = {}
        beside: dict[tuple[ir.For, ...], list[_Scatter]] = {}
        for op in body.inside:
            if _is_addition(op) and self.aliases.find(op.array) in memory:  # type: ignore[attr-defined]
                assert isinstance(op, ir.Store)
                found = self.scatter(op, loops)
                other = self.beside(op, loops) if found is None else None
                if found is not None and self.can_be_made(found, loops, stored, kept):
                    groups.setdefault(op.array, []).append(found)
                    taken.append(op)
                elif other is not None and self.can_be_made(other, loops, stored, kept):
                    beside.setdefault(tuple(other.loops), []).append(other)
                    taken.append(op)
        bounds = [self.model.iterations.bounds(loop) for loop in loops]
        if not taken or any(b is None for b in bounds):
            return None
        ends = [b for b in bounds if b is not None]
        before, after = Writer(outer.origin), Writer(outer.origin)
        instead: dict[ir.Op, Sequence[ir.Op]] = dict.fromkeys(taken, ())
        for array in kept.values():
            shape = [_extent(before, low, high) for low, high in ends]
            before.emit(ir.Alloc(shape=tuple(shape), out=array))
        for op in dict.fromkeys(self.made[value] for value in kept):
            own = {value: array for value, array in kept.items() if self.made[value] is op}
            instead[op] = self.keeping(op, own, loops, ends)
        for target, scatters in groups.items():
            known = dict(zip(loops, ends, strict=True))
            for loop in (loop for scatter in scatters for loop in scatter.told if loop not in known):
                end = self.model.iterations.bounds(loop)
                assert end is not None
                known[loop] = end
            _Gather(after, target, scatters, loops, known, kept, self.made).write()
        for inner, scatters in beside.items():
            known = {loop: end for loop in (*inner, *loops) if (end := self.model.iterations.bounds(loop)) is not None}
            _Gather(after, scatters[0].store.array, scatters, loops, known, kept, self.made).write_beside(inner)
        return {**instead, outer: [*before.ops, outer]}, after.ops

    def stores(self, outer: ir.For) -> _Stores:
        """What the nest changes."""
        found: dict[ir.Operand, list[ir.Op]] = {}
        for op in outer.body.inside:
            if op.memory_written is not None:
                found.setdefault(self.aliases.find(op.memory_written), []).append(op)
        return _Stores(outer, found)

    def loops(self, outer: ir.For) -> list[ir.For]:
        """The loops of the nest: all that a trip does is the next one, which goes on with its sums, and numbers that
        this needs."""
        found = [outer]
        while len(found) < MOST_AXES:
            ops = [op for op in found[-1].body.ops if not isinstance(op, ir.Comment)]
            if not ops or not isinstance(ops[-1], ir.For) or ops[-1].stops or ops[-1].step not in _UNIT:
                break
            inner = ops[-1]
            varying = {v for loop in found for v in loop.body.args} | {out for op in ops[:-1] for out in op.results}
            goes_on = (inner.inits, inner.outs) == (found[-1].body.args[1:], found[-1].body.yields)
            if any(end in varying for end in (inner.start, inner.stop)) or not goes_on:
                break
            if not all(isinstance(op, ir.Call | ir.Extent) and _is_plain(op) for op in ops[:-1]):
                break
            found.append(inner)
        return found

    def scatter(self, store: ir.Store, loops: Sequence[ir.For]) -> _Scatter | None:
        """An addition whose element tells the trip; None if it does not."""
        element = self.model.element(store)
        around = self.model.iterations.places[store].chain
        chain = around[next(k for k, (op, _) in enumerate(around) if op is loops[-1]) + 1 :]
        if element is None or element[0] is not store.array:
            return None
        entries = [self.model.iterations.in_variables(entry) for entry in element[1]]
        outer = {loop.body.args[0]: loop for loop in loops}
        inner = {op.body.args[0]: op for op, _ in chain if isinstance(op, ir.For)}
        places: list[_Place] = []
        for entry in entries:
            place = None if entry is None else self.place(entry, outer, inner)
            if place is None or any(s in loops[0].body.defines and s not in inner for s in place.rest.terms):
                return None
            places.append(place)
        found = _Scatter(store, chain, tuple(places))
        are_plain = all(self.is_range(op, loops[0]) for op, _ in chain if not isinstance(op, ir.If))
        return found if are_plain and self.is_told(found, loops) else None

    def beside(self, store: ir.Store, loops: Sequence[ir.For]) -> _Scatter | None:
        """An addition whose element tells all loops around it that are inside of a trip, and nothing else; None if it
        does not, or those are so short that a thread has sums for all elements."""
        around = self.model.iterations.places[store].chain
        chain = around[next(k for k, (op, _) in enumerate(around) if op is loops[-1]) + 1 :]
        inner = [op for op, _ in chain if isinstance(op, ir.For)]
        own = {loop.body.args[0] for loop in inner}
        inside = loops[0].body.defines
        is_told = own and len(inner) == len(chain) and own == {i for i in store.index if i in inside}
        if not is_told or store.array in inside or len(inner) + len(loops) > MOST_AXES:
            return None
        for loop in inner:
            trips = literal_trips(loop)
            is_short = trips is not None and len(trips) <= MOST_TRIPS
            if is_short or not self.is_range(loop, loops[0]) or self.model.iterations.bounds(loop) is None:
                return None
        return _Scatter(store, chain, ())

    def place(self, entry: Affine, outer: Mapping[Any, ir.For], inner: Mapping[Any, ir.For]) -> _Place | None:
        """Which loops an index is the counter of; None if that is not one, or a tile and a place in it."""
        own = [s for s in entry.terms if s in outer] or [s for s in entry.terms if s in inner]
        rest = Affine({s: f for s, f in entry.terms.items() if s not in own}, entry.constant)
        loops = [{**outer, **inner}[s] for s in own]
        factors = [entry.terms[s] for s in own]
        if len(own) == 1 and abs(factors[0]) == 1:
            return _Place(loops[0], factors[0], rest)
        if len(own) != 2 or 1 not in factors:
            return None
        low = factors.index(1)
        count = factors[1 - low]
        is_tile = self.model.iterations.bounds(loops[low]) == (Affine(), Affine(constant=count))
        return _Place(loops[1 - low], 1, rest, loops[low], count) if is_tile and count > 1 else None

    def is_told(self, scatter: _Scatter, loops: Sequence[ir.For]) -> bool:
        """Whether the element tells as many trips as there are loops of the nest, one of those among them: so many
        threads there are then, too."""
        told = scatter.told
        if len(told) < max(len(loops), len(scatter.places)) or told.isdisjoint(loops):
            return False
        inside = {loop.body.args[0] for loop in told if loop not in loops}
        ends = [self.model.iterations.bounds(loop) for loop in told]
        rests = [place.rest for place in scatter.places if place.loop not in loops]
        return None not in ends and not any(inside.intersection(rest.terms) for rest in rests)

    def is_range(self, op: ir.Op, outer: ir.For) -> bool:
        """Whether an inner loop has the same range in all trips of the nest."""
        if not isinstance(op, ir.For) or op.stops:
            return False
        return not any(end in outer.body.defines for end in (op.start, op.stop, op.step))

    # --------------------------------------------------------------------------------------- what is made again

    def can_be_made(
        self, scatter: _Scatter, loops: Sequence[ir.For], stored: _Stores, kept: dict[ir.Var, ir.Var]
    ) -> bool:
        """Whether what is added, and the conditions for it, can be made again; `kept` gets the values that are kept."""
        wanted = [scatter.store.value, *(op.condition for op, _ in scatter.chain if isinstance(op, ir.If))]
        found: dict[ir.Var, ir.Var] = {}
        of_trip = set(loops[-1].body.ops)
        given = {loop.body.args[0] for loop in (*loops, *scatter.loops)}
        seen: set[ir.Operand] = set()
        while wanted:
            value = wanted.pop()
            if value in seen or not isinstance(value, ir.Var) or value in given or value not in loops[0].body.defines:
                continue
            seen.add(value)
            op = self.made.get(value)
            if op is None or not is_scalar(value.type):
                return False
            most = MOST_CYCLES if isinstance(value.type, types.Float) else MOST_CYCLES_OF_TESTS
            is_cheap = op not in of_trip or self.cycles(value, loops[0], given, stored, most) is not None
            if is_cheap and self.is_made_again(op, stored):
                wanted += ir.free_vars(ir.Region((), (op,), ()))
                continue
            if op not in of_trip:
                return False
            found[value] = ir.Var(f"{value.name}_kept", array_type(value.type, len(loops)))
        kept.update({value: array for value, array in found.items() if value not in kept})
        return True

    def cycles(self, value: ir.Operand, outer: ir.For, given: set[ir.Var], stored: _Stores, most: int) -> int | None:
        """What it costs to make a value again, with all that it is made of; None if that is more than `most`."""
        if not isinstance(value, ir.Var) or value in given or value not in outer.body.defines:
            return 0
        op = self.made.get(value)
        own = None if op is None or not self.is_made_again(op, stored) else cost(op)
        if op is None or own is None or own > most:
            return None
        for o in ir.free_vars(ir.Region((), (op,), ())):
            more = self.cycles(o, outer, given, stored, most - own)
            if more is None:
                return None
            own += more
        return own

    def is_made_again(self, op: ir.Op, stored: _Stores) -> bool:
        """Whether an operation gives the same after the nest."""
        if isinstance(op, ir.Load):
            changes = stored.by_memory.get(self.aliases.find(op.array), ())
            if not all(isinstance(s, ir.Store) and not self.model.may_change(op, s, stored.nest) for s in changes):
                return False
            return op.array not in self.made_inside(op)
        if isinstance(op, ir.If):
            return all(self.is_made_again(inner, stored) for region in op.regions for inner in region.ops)
        return isinstance(op, ir.Call | ir.Extent) and _is_plain(op)

    def made_inside(self, op: ir.Load) -> set[ir.Operand]:
        """The array, if a loop around makes it anew: then it is another one there."""
        around = self.model.iterations.places[op].loops
        return {op.array} if any(op.array in loop.body.defines for loop in around) else set()

    def keeping(
        self,
        op: ir.Op,
        kept: Mapping[ir.Var, ir.Var],
        loops: Sequence[ir.For],
        ends: Sequence[tuple[Affine, Affine]],
    ) -> list[ir.Op]:
        """An operation of a trip, and the stores of what it makes, each in its array."""
        writer = Writer(op.origin)
        writer.emit(op)
        index = [writer.integer(_number(loop, low)) for loop, (low, _) in zip(loops, ends, strict=True)]
        for value, array in kept.items():
            writer.store(array, index, value)
        return writer.ops


_UNIT = (ir.integer(1), ir.integer(-1))


class _Gather:
    """Writes the nest over the elements of an array."""

    def __init__(
        self,
        writer: Writer,
        array: ir.Operand,
        scatters: Sequence[_Scatter],
        loops: Sequence[ir.For],
        ends: Mapping[ir.For, tuple[Affine, Affine]],
        kept: Mapping[ir.Var, ir.Var],
        made: Mapping[ir.Operand, ir.Op],
    ):
        self.writer, self.array, self.scatters, self.made = writer, array, scatters, made
        self.loops, self.ends, self.kept = loops, ends, kept

    def write(self) -> None:
        writer = self.writer
        writer.origin = self.scatters[0].store.origin
        names = [place.loop.body.args[0].name for place in self.scatters[0].places]
        extents = writer.shape(self.array)

        def level(done: tuple[ir.Var, ...]) -> None:
            depth = len(done)
            if depth < len(extents):
                with writer.loop(extents[depth], names[depth], order_free=True, parallel=True) as index:
                    level((*done, index))
                return
            total: ir.Operand = typed_const(0, array_type_of(self.array).dtype)
            for scatter in self.scatters:
                total = self.added(scatter, done, total)
            writer.store(self.array, done, total, add=True)

        level(())

    def write_beside(self, inner: Sequence[ir.For]) -> None:
        """A nest over the loops of the nest, whose trips all add to the elements, and in them the inner ones."""
        writer, known = self.writer, dict[ir.Var, ir.Operand]()
        writer.origin = self.scatters[0].store.origin

        def level(left: Sequence[ir.For]) -> None:
            if not left:
                for scatter in self.scatters:
                    store, made = scatter.store, dict(known)
                    index = [ir.substituted_operand(i, made) for i in store.index]
                    writer.store(store.array, index, self.again(store.value, made), add=True)
                return
            loop, *rest = left
            start, stop = (writer.integer(end) for end in self.ends[loop])
            counter = known[loop.body.args[0]] = dataclasses.replace(loop.body.args[0])
            with writer.region() as ops:
                level(rest)
            body = ir.Region((counter,), tuple(ops), ())
            writer.emit(ir.For(start=start, stop=stop, body=body, order_free=True, parallel=True))

        level([*self.loops, *inner])

    def added(self, scatter: _Scatter, element: Sequence[ir.Var], total: ir.Operand) -> ir.Operand:
        """The total with what the trips add that reach an element: a loop for each around the addition."""
        loops = [loop for loop in (*self.loops, *scatter.loops) if loop not in scatter.told]
        return self.inner(scatter, loops, element, total, {})

    def inner(
        self,
        scatter: _Scatter,
        loops: list[ir.For],
        element: Sequence[ir.Var],
        total: ir.Operand,
        known: dict[ir.Var, ir.Operand],
    ) -> ir.Operand:
        writer = self.writer
        if not loops:
            return self.trip(scatter, element, total, known)
        loop, *rest = loops
        counter, arg = dataclasses.replace(loop.body.args[0]), ir.Var("total", total.type)
        known[loop.body.args[0]] = counter
        with writer.region() as ops:
            last = self.inner(scatter, rest, element, arg, known)
        out = ir.Var("total", total.type)
        body = ir.Region((counter, arg), tuple(ops), (last,))
        made = ir.For(start=loop.start, stop=loop.stop, step=loop.step, inits=(total,), body=body, outs=(out,))
        writer.emit(made)
        return out

    def trip(
        self, scatter: _Scatter, element: Sequence[ir.Var], total: ir.Operand, known: dict[ir.Var, ir.Operand]
    ) -> ir.Operand:
        """What the trip adds that an element tells, if there is one."""
        writer, known = self.writer, dict(known)
        tests: list[ir.Operand] = []
        # what inner loops count may be needed to tell what outer ones do
        places = list(zip(element, scatter.places, strict=True))
        for index, place in sorted(places, key=lambda pair: pair[1].loop in self.loops):
            shown = {v: Affine({o: 1}) for v, o in known.items() if isinstance(o, ir.Var)}
            number = writer.integer(Affine({index: 1}).plus(place.rest.substituted(shown), -1).times(place.sign))
            if place.low is not None:
                count = ir.integer(place.count)
                within = writer.call(operator.mod, number, count, type=types.intp, name="within")
                known[place.low.body.args[0]] = within
                number = writer.call(operator.floordiv, number, count, type=types.intp, name="tile")
            low, high = self.ends[place.loop]
            counter = known[place.loop.body.args[0]] = number
            for callee, end in ((operator.ge, low), (operator.lt, high)):
                args = (counter, writer.integer(end))
                tests.append(writer.call(callee, *args, type=types.boolean, name="is_trip"))
        return self.where(tests, total, lambda: self.guarded(list(scatter.chain), scatter, known, total))

    def guarded(
        self, chain: list[tuple[ir.Op, int]], scatter: _Scatter, known: dict[ir.Var, ir.Operand], total: ir.Operand
    ) -> ir.Operand:
        """The addition in the branches that are around it."""
        while chain and not isinstance(chain[0][0], ir.If):
            chain = chain[1:]
        if not chain:
            value = self.again(scatter.store.value, known)
            return self.writer.call(operator.add, total, value, type=total.type, name="total")
        (op, number), *rest = chain
        assert isinstance(op, ir.If)
        condition = self.again(op.condition, known)
        if number:
            condition = self.writer.call(operator.not_, condition, type=types.boolean, name="is_other")
        return self.where([condition], total, lambda: self.guarded(rest, scatter, known, total))

    def where(self, tests: Sequence[ir.Operand], total: ir.Operand, more: Callable[[], ir.Operand]) -> ir.Operand:
        """The total, with more where all tests hold."""
        if not tests:
            return more()
        with self.writer.region() as ops:
            last = self.where(tests[1:], total, more)
        out = ir.Var("total", total.type)
        then, orelse = ir.Region((), tuple(ops), (last,)), ir.Region((), (), (total,))
        self.writer.emit(ir.If(condition=tests[0], then=then, orelse=orelse, outs=(out,)))
        return out

    def again(self, value: ir.Operand, known: dict[ir.Var, ir.Operand]) -> ir.Operand:
        """A value of the trip, made again or loaded."""
        if not isinstance(value, ir.Var) or value not in self.loops[0].body.defines:
            return value
        if value in known:
            return known[value]
        if value in self.kept:
            index = []
            for loop in self.loops:
                counter = known[loop.body.args[0]]
                number = Affine({counter: 1}) if isinstance(counter, ir.Var) else Affine(constant=counter.value)
                index.append(self.writer.integer(number.plus(self.ends[loop][0], -1)))
            known[value] = self.writer.load(self.kept[value], index, value.name)
            return known[value]
        op = self.made[value]
        for o in ir.free_vars(ir.Region((), (op,), ())):
            self.again(o, known)
        cloner = ir.Cloner(known)
        self.writer.emit(cloner.op(op))
        known.update({out: cloner.mapping[out] for out in op.results})
        return known[value]


def _number(loop: ir.For, low: Affine) -> Affine:
    """Which trip it is, from the least value of the counter on."""
    return Affine({loop.body.args[0]: 1}).plus(low, -1)


def _extent(writer: Writer, low: Affine, high: Affine) -> ir.Operand:
    trips = writer.integer(high.plus(low, -1))
    if isinstance(trips, ir.Const):
        return ir.integer(max(0, trips.value))
    return writer.call(max, trips, ir.integer(0), type=types.intp, name="trips")


def _is_plain(op: ir.Call | ir.Extent) -> bool:
    """Whether it makes a number, and does nothing else."""
    if isinstance(op, ir.Extent):
        return True
    return not op.effect and all(is_scalar(o.type) for o in (*op.args, *op.outs))
