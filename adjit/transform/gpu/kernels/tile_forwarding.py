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


@dataclass(frozen=True)
class _Guard:
    """That `sign` times the index along an axis of what is behind the tile, and `rest`, is in a relation to zero."""

    axis: int
    sign: int
    rest: Affine
    relation: str

    def of(self, element: Form) -> Constraint:
        """The condition on an element."""
        return Constraint(self.rest.plus(element[self.axis], self.sign), self.relation)


@dataclass(eq=False)
class _Filled:
    """What a store fills a tile with: at `place`, the element `element` of what `load` loads from, where all `guards`
    hold; else `otherwise`. `form`: the element in terms of the place, as far as that tells it."""

    load: ir.Load
    place: Form
    element: Form
    form: Form
    guards: tuple[_Guard, ...]
    otherwise: ir.Const | None


@dataclass(eq=False)
class _Cache:
    """A tile: its elements are those of `source` at `form` where all guards hold, else `otherwise`."""

    source: ir.Operand
    form: Form
    guards: tuple[_Guard, ...]
    otherwise: ir.Const | None


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
        # those and the loops of a thread: the place that a store is to has to tell which trip of them it is
        self.in_stretch: set[ir.Op] = {*self.threads}
        for loop in self.threads:
            self.in_stretch.update(op for op in loop.body.inside if isinstance(op, ir.For | ir.While))

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
        equal = self.equalities(store)
        where = tuple(p.substituted(equal) for p in places if p is not None)
        element = tuple(e.substituted(equal) for e in elements if e is not None)
        told = self.solved(where)
        own = [self.guard(_normal(g), element, equal) for g in guards]
        if told is None or None in own:
            return None
        form = tuple(e.substituted(told) for e in element)
        return _Filled(op, where, element, form, tuple(dict.fromkeys(g for g in own if g is not None)), otherwise)

    def equalities(self, store: ir.Store) -> dict[Any, Affine]:
        """The trips that are told by a condition around the store, as in `if t == 0: tile[0] = ...`."""
        told: dict[Any, Affine] = {}
        for constraint in self.iterations.domain(self.iterations.places[store].chain):
            own = [s for s in constraint.value.terms if s in self.in_stretch]
            if constraint.relation == "=" and len(own) == 1 and abs(constraint.value.terms[own[0]]) == 1:
                factor = constraint.value.terms[own[0]]
                told[own[0]] = constraint.value.plus(Affine({own[0]: factor}), -1).times(-factor)
        return told

    def guard(self, constraint: Constraint, element: Form, equal: Mapping[Any, Affine]) -> _Guard | None:
        """A condition as one on the element; None if it is about something else."""
        value = constraint.value.substituted(equal)
        for axis, index in enumerate(element):
            for sign in (1, -1):
                rest = value.plus(index, -sign)
                if not any(s in self.in_stretch for s in rest.terms):
                    return _Guard(axis, sign, rest, constraint.relation)
        return None

    def solved(self, places: Sequence[Affine]) -> dict[Any, Affine] | None:
        """What a place in the tile says of the trips that store there: each counter, in terms of the place."""
        told: dict[Any, Affine] = {}
        for axis, place in enumerate(places):
            own = [s for s in place.terms if s in self.in_stretch]
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
        told = [f for f in filled if not any(s in self.in_stretch for entry in f.form for s in entry.terms)]
        if not told:
            return None
        first = max(told, key=lambda f: len({s for entry in f.form for s in entry.terms if isinstance(s, _Slot)}))
        otherwise = {(f.otherwise.value, str(f.otherwise.type)): f.otherwise for f in filled if f.otherwise is not None}
        if len(otherwise) > 1:
            return None
        guards = list(dict.fromkeys(guard for f in filled for guard in f.guards))
        for one in filled:
            there = dict[Any, Affine]((_Slot(axis), place) for axis, place in enumerate(one.place))
            is_same = tuple(entry.substituted(there) for entry in first.form) == one.element
            others = [guard.of(one.element) for guard in guards if guard not in one.guards]
            if (
                one.load.array is not first.load.array
                or not is_same
                or not all(self.holds(one.load, g) for g in others)
            ):
                return None
        return _Cache(first.load.array, first.form, tuple(guards), next(iter(otherwise.values()), None))

    def holds(self, op: ir.Op, constraint: Constraint) -> bool:
        """Whether it is sure to hold wherever an operation is run."""
        return constraint.relation in (">=", "<") and self.model.holds_at(op, constraint)


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
        element = tuple(entry.substituted(places) for entry in cache.form)
        load = dataclasses.replace(op, array=cache.source, index=tuple(map(writer.integer, element)))
        left = [c for guard in cache.guards if not self.is_sure(op, c := guard.of(element))]
        conditions = [self.condition(writer, c.value, c.relation) for c in left]
        if not conditions:
            return (*writer.ops, load)
        assert cache.otherwise is not None
        return (*writer.ops, *_guarded(load, conditions, cache.otherwise))

    def is_sure(self, op: ir.Op, constraint: Constraint) -> bool:
        """Whether the condition holds wherever the tile is loaded from."""
        return not any(isinstance(s, ir.Var) for s in constraint.value.terms) and self.search.holds(op, constraint)

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
