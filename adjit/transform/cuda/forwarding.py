"""Tiles that are caches are seen through: what is loaded of them is loaded where they were filled from.

In: a kernel as a nest. Out: the same, in which loads of such an array of a block are loads of the array behind it.

    for t:                                                    for t:
        tile[t + 2] = x[i] if 0 <= i < n else 0.0                 y[i] = x[i + 1] if 0 <= i + 1 < n else 0.0
        if t < 2: tile[t] = x[i - 2] if 0 <= i - 2 < n else 0.0
    for t: y[i] = tile[t + 3]

A tile is a cache where one stretch alone stores to it, where all that it stores is one map of the places in the tile to
elements of an array that the kernel does not change, and where what is outside of that array is one literal. Of two
stores that are not alike in their guards, isl is asked whether they are where they are run.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Constraint
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.rewrite.affine_ops import Writer

Form = tuple[Affine, ...]


@dataclass(frozen=True)
class _Slot:
    """A symbol: the place along an axis of a tile."""

    axis: int


@dataclass(eq=False)
class _Filled:
    """What a store fills a tile with: elements of `source` at `form`, in terms of the place in the tile, where all
    `guards` hold; else `otherwise`."""

    store: ir.Store
    load: ir.Load
    source: ir.Operand
    form: Form
    guards: tuple[Constraint, ...]
    otherwise: ir.Const | None


@dataclass(eq=False)
class _Cache:
    """A tile, and what stands for its elements."""

    filled: _Filled
    guards: tuple[Constraint, ...]


def see_through_tiles(function: ir.Function) -> ir.Function:
    """The function with loads of caches as loads of what is behind them; itself if it has none."""
    search = _Search(function)
    caches: dict[ir.Operand, _Cache] = {
        tile: found for tile in search.tiles() if (found := search.cache(tile)) is not None
    }
    if not caches:
        return function
    made = _Rewritten(search, caches)
    return ir.with_body(function, ir.rewritten(function.body, made.op))


class _Search:
    def __init__(self, function: ir.Function):
        self.function = function
        self.model = function.analysis(IndexModel)
        self.iterations = self.model.iterations
        self.aliases = function.analysis(Aliases)
        self.made = function.body.made
        loops = [op for op in function.body.inside if isinstance(op, ir.For) and op.level is not None]
        # the counters of blocks and of threads, and how many of these a block has
        self.pairs = [
            (b.body.args[0], t.body.args[0], int(t.stop.value))
            for b in loops
            for t in loops
            if b.level == "blocks" and t.level == "threads" and isinstance(t.stop, ir.Const)
        ]
        self.threads = {op for op in function.body.inside if isinstance(op, ir.For) and op.level == "threads"}

    def tiles(self) -> Iterator[ir.Var]:
        """The arrays that blocks have, of floats."""
        for op in self.function.body.inside:
            if isinstance(op, ir.Alloc) and op.role is None and ir.is_float(op.out.type):
                loops = self.iterations.places[op].loops
                if loops and not any(loop in self.threads for loop in loops):
                    yield op.out

    def cache(self, tile: ir.Var) -> _Cache | None:
        users = [op for op in self.function.body.inside if tile in op.operands]
        stores = [op for op in users if isinstance(op, ir.Store) and op.array is tile and not op.add]
        loads = [op for op in users if isinstance(op, ir.Load)]
        if not stores or len(stores) + len(loads) < len(users):
            return None
        stretch = self.stretch(stores[0])
        if stretch is None or any(self.stretch(store) is not stretch for store in stores):
            return None
        if not all(self.is_after(stretch, load) for load in loads):
            return None
        filled = [self.filled(store) for store in stores]
        found = [one for one in filled if one is not None]
        if len(found) < len(filled) or not self.is_in_its_trip(tile, stretch):
            return None
        return self.joint(found)

    def stretch(self, op: ir.Op) -> ir.Op | None:
        """The loop over threads around an operation, the outermost."""
        return next((loop for loop in self.iterations.places[op].loops if loop in self.threads), None)

    def is_after(self, stretch: ir.Op, load: ir.Op) -> bool:
        """Whether an operation follows the stretch in each trip of what is around that."""
        around = self.iterations.places[stretch].chain
        chain = self.iterations.places[load].chain
        if chain[: len(around)] != around or self.stretch(load) is stretch:
            return False
        return self.iterations.places[stretch].order < self.iterations.places[load].order

    def is_in_its_trip(self, tile: ir.Var, stretch: ir.Op) -> bool:
        """Whether what is loaded was stored in that trip, and not left by an earlier one."""
        inner = self.iterations.places[stretch].loops[-1]
        alloc = self.made[tile]
        if inner in self.iterations.places[alloc].loops:
            return True  # what was never stored nobody may load
        return self.model.is_private(self.aliases.find(tile), inner)

    # ------------------------------------------------------------------------------------------ what a store fills in

    def filled(self, store: ir.Store) -> _Filled | None:
        value, otherwise, guards = store.value, None, list[Constraint]()
        op = self.made.get(value)
        if isinstance(op, ir.If):
            place = op.outs.index(value)
            sides = [(op.then.yields[place], True), (op.orelse.yields[place], False)]
            consts = [side for side, _ in sides if isinstance(side, ir.Const)]
            others = [(side, holds) for side, holds in sides if not isinstance(side, ir.Const)]
            if len(consts) != 1:
                return None
            ((value, holds),) = others
            known = self.iterations.conditions(op.condition, holds)
            if known is None:
                return None
            otherwise, guards, op = consts[0], known, self.made.get(value)
        if not isinstance(op, ir.Load) or self.aliases.is_written(op.array) or op.array not in self.function.body.args:
            return None
        places = [self.iterations.value(i) for i in store.index]
        elements = [self.iterations.value(i) for i in op.index]
        if None in places or None in elements:
            return None
        told = self.solved([p for p in places if p is not None])
        if told is None:
            return None
        form = tuple(e.substituted(told) for e in elements if e is not None)
        bounds = tuple(Constraint(g.value.substituted(told), g.relation) for g in guards)
        symbols = {s for entry in (*form, *(b.value for b in bounds)) for s in entry.terms}
        if symbols & self.threads:
            return None
        return _Filled(store, op, op.array, form, bounds, otherwise)

    def solved(self, places: Sequence[Affine]) -> dict[Any, Affine] | None:
        """What a place in the tile says of the thread that stores there: each counter, in terms of the place."""
        told: dict[Any, Affine] = {}
        for axis, place in enumerate(places):
            own = [s for s in place.terms if s in self.threads]
            if not own:
                continue
            if len(own) > 1 or own[0] in told or abs(place.terms[own[0]]) != 1:
                return None
            sign = place.terms[own[0]]
            rest = place.plus(Affine({own[0]: sign}), -1)
            told[own[0]] = Affine({_Slot(axis): 1}).plus(rest, -1).times(sign)
        return told

    # ----------------------------------------------------------------------------------------------- one map of all

    def joint(self, filled: Sequence[_Filled]) -> _Cache | None:
        """One map for all stores, if there is one."""
        first = filled[0]
        if any(f.source is not first.source or f.form != first.form for f in filled):
            return None
        otherwise = {f.otherwise for f in filled if f.otherwise is not None}
        if len({(c.value, str(c.type)) for c in otherwise}) > 1:
            return None
        guards: dict[tuple[Affine, str], Constraint] = {}
        for one in filled:
            guards.update(((g.value, g.relation), g) for g in map(_normal, one.guards))
        for one in filled:
            own = {(g.value, g.relation) for g in map(_normal, one.guards)}
            for key, guard in guards.items():
                if key not in own and not self.holds_where_filled(one, guard):
                    return None
        if guards and not otherwise:
            return None
        named = next((f for f in filled if f.otherwise is not None), first)
        return _Cache(named, tuple(guards.values()))

    def holds_where_filled(self, one: _Filled, guard: Constraint) -> bool:
        """Whether a guard of another store holds wherever this one stores an element."""
        places = [self.iterations.value(i) for i in one.store.index]
        known = {_Slot(axis): place for axis, place in enumerate(places) if place is not None}
        value = guard.value.substituted(known)
        return guard.relation in (">=", "<") and self.model.holds_at(one.load, Constraint(value, guard.relation))


def _normal(constraint: Constraint) -> Constraint:
    """The constraint with >= or < in the place of > and <=."""
    if constraint.relation == ">":
        return Constraint(constraint.value.plus(-1), ">=")
    if constraint.relation == "<=":
        return Constraint(constraint.value.plus(-1), "<")
    return constraint


# ------------------------------------------------------------------------------------------------------------- writing


class _Written(Writer):
    """Writes affine forms; where a block and a thread say which element is meant, that is one variable."""

    def __init__(self, search: _Search, origin: ir.Origin | None):
        super().__init__(origin)
        self.search = search

    def integer(self, value: Affine) -> ir.Operand:
        shown = self.search.iterations.in_variables(value)
        assert shown is not None
        terms = dict(shown.terms)
        for block, thread, size in self.search.pairs:
            factor = terms.get(thread, 0)
            if factor and terms.get(block) == factor * size:
                del terms[block], terms[thread]
                start = self._made(operator.mul, "product", block, ir.integer(size))
                element = self._made(operator.add, "element", start, thread)
                terms = {element: factor, **terms}
        return super().integer(Affine(terms, shown.constant))


class _Rewritten:
    """Loads of tiles as loads of what is behind them."""

    def __init__(self, search: _Search, caches: Mapping[ir.Operand, _Cache]):
        self.search, self.caches = search, caches

    def op(self, op: ir.Op) -> Sequence[ir.Op]:
        if not isinstance(op, ir.Load) or op.array not in self.caches:
            return (op,)
        cache, writer = self.caches[op.array], _Written(self.search, op.origin)
        places: dict[Any, Affine] = {}
        for axis, index in enumerate(op.index):
            value = self.search.iterations.value(index)
            places[_Slot(axis)] = Affine({index: 1}) if value is None else value
        element = tuple(writer.integer(entry.substituted(places)) for entry in cache.filled.form)
        load = dataclasses.replace(op, array=cache.filled.source, index=element)
        conditions = [self.condition(writer, g.value.substituted(places), g.relation) for g in cache.guards]
        if not conditions:
            return (*writer.ops, load)
        assert cache.filled.otherwise is not None
        return (*writer.ops, *_guarded(load, conditions, cache.filled.otherwise))

    def condition(self, writer: _Written, value: Affine, relation: str) -> ir.Operand:
        """`value relation 0`, with what is subtracted on the right."""
        positive = {symbol: factor for symbol, factor in value.terms.items() if factor > 0}
        negative = {symbol: -factor for symbol, factor in value.terms.items() if factor < 0}
        left = writer.integer(Affine(positive, max(value.constant, 0)))
        right = writer.integer(Affine(negative, max(-value.constant, 0)))
        callee = operator.ge if relation == ">=" else operator.lt
        return writer.call(callee, left, right, type=types.boolean, name="is_inside")


def _guarded(load: ir.Load, conditions: Sequence[ir.Operand], otherwise: ir.Const) -> Sequence[ir.Op]:
    """The load where all conditions hold, else the literal."""
    inner: ir.Op = load
    for k, condition in enumerate(reversed(conditions)):
        out = load.out if k == len(conditions) - 1 else ir.Var(load.out.name, load.out.type)
        made = inner.results[0]
        if made is load.out:
            value = ir.Var(load.out.name, load.out.type)
            inner = inner.rebuilt(inner.operands, inner.regions, (value,))
            made = value
        then, orelse = ir.Region((), (inner,), (made,)), ir.Region((), (), (otherwise,))
        inner = ir.If(condition=condition, then=then, orelse=orelse, outs=(out,), origin=load.origin)
    return (inner,)
