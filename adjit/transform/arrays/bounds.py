"""Indices that the program gives are in bounds: proved, checked before the loops they stand in, or checked in place.

In: a function with indices of which that is not known yet. Out: the same with checks, and every index known.

    for i in range(1, x.size):           nothing: x[i - 1] is there
        s += x[i - 1] * w[i]             check_bounds(1, x.size - 1, w.size)                   before the loop
        y[left[i]] += s                  first, last = index_range(left); check_bounds(first, last, y.size)
        k = find(x, k); z[k] = s         check_index(k, z.size, where="...")                   before the store

With `may_assume`, a check before the loops may be too strict: it takes all trips to be made, and elements that an index
is loaded from to be read, all of them. It raises BeyondLoop, which is Stretched, and the caller takes the code that
assumes nothing, as of sizes: there each index is looked at where it is used. So is one here that follows from no more
than its own trip.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np
from numba import types

from adjit.runtime.library import (
    broadcast_extent,
    check_bounds,
    check_index,
    check_mask,
    check_size,
    equal_extent,
    equal_size,
    index_range,
    some_elements,
    stored_extent,
)
from adjit.transform import ir
from adjit.transform.analysis.affine import ONE, Affine, Chain, Symbol
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import has_effect, is_check, is_unsure
from adjit.transform.analysis.loop_counters import Counting
from adjit.transform.analysis.ranges import Found, Range, Ranges, is_natural
from adjit.transform.arrays.size_checks import Beforehand, Inside
from adjit.transform.rewrite.affine_ops import Writer

_Ends = tuple[Affine, ...]


def settle_indices(function: ir.Function, may_assume: bool) -> ir.Function:
    """The function with checks of the indices that may be out of bounds, and none of which that is not known."""
    if not any(is_unsure(op) or _is_given_check(op) for op in function.body.inside):
        return function
    made = _Checks(function, may_assume)
    body = ir.replaced(function.body, made.instead)
    return ir.with_body(function, ir.with_ops(body, made.first(body.ops)))


def unchecked(function: ir.Function) -> ir.Function:
    """The function with all indices taken to be in bounds, all masks to fit, and no size to be below zero."""
    kept = ir.replaced(function.body, {op: () for op in function.body.inside if _is_given_check(op)})
    return ir.with_body(function, ir.rewritten(kept, _sure))


def without_places(function: ir.Function) -> ir.Function:
    """The function with checks of lengths that name no place, and without those that what is called makes as well.

    Where one fails, the code that assumes nothing runs instead, and its error names the place.
    """

    def bare(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
        if isinstance(op, ir.Call) and op.callee in (some_elements, equal_size):
            return ()
        is_named = isinstance(op, ir.Call) and op.callee in (broadcast_extent, stored_extent, equal_extent)
        return dataclasses.replace(op, options=()) if is_named else op  # type: ignore[call-arg]

    return ir.with_body(function, ir.rewritten(function.body, bare))


def _is_given_check(op: ir.Op) -> bool:
    """Whether it is a check that the program was read with: of an item of a list, of a mask, or of a size."""
    return isinstance(op, ir.Call) and op.callee in (check_index, check_mask, check_size)


def _sure(op: ir.Op) -> ir.Op:
    return dataclasses.replace(op, unsure=False) if is_unsure(op) else op  # type: ignore[call-arg]


@dataclasses.dataclass
class _Demand:
    """What is checked of one axis at one place; alike are those whose ends differ by literals."""

    lows: _Ends
    highs: _Ends
    extent: Affine  # as many times as the ends are the index

    @property
    def kind(self) -> object:
        """What demands have in common that are one check."""
        if len(self.lows) == len(self.highs) == 1:
            return (*(frozenset(end.terms.items()) for end in (*self.lows, *self.highs)), self.extent)
        return self.lows, self.highs, self.extent

    def take(self, other: _Demand) -> None:
        """Takes in one of its kind."""
        if len(self.lows) == len(self.highs) == 1:
            self.lows = (min(self.lows + other.lows, key=lambda end: end.constant),)
            self.highs = (max(self.highs + other.highs, key=lambda end: end.constant),)

    @property
    def symbols(self) -> Iterator[Symbol]:
        for end in (*self.lows, *self.highs, self.extent):
            yield from end.terms


class _Checks:
    """The checks, by place: `instead` has what stands for an operation, `first` what stands at the head."""

    def __init__(self, function: ir.Function, may_assume: bool):
        self.instead: dict[ir.Op, Sequence[ir.Op]] = {}
        self._function, self._params = function, frozenset(function.body.args)
        self.iterations = function.analysis(Counting)
        self.aliases = function.analysis(Aliases)
        self.places = self.iterations.places
        self._demands: dict[ir.Op | None, dict[object, _Demand]] = {}
        self._elements: dict[ir.Op | None, dict[ir.Operand, tuple[ir.Var, ir.Var]]] = {}
        self._run: dict[Inside, None] = {}
        # what has happened once cannot be made anew
        happens = any(has_effect(op) and not is_check(op) and not isinstance(op, ir.Raise) for op in self.places)
        self._may_assume, self._is_repeatable = may_assume, not happens
        self._natural: list[tuple[Chain, Affine]] = []  # what is checked not to be below zero
        # where an index is checked in its place
        self._in_place: dict[tuple[ir.Operand | Affine, Affine], list[Chain]] = {}
        calls = [op for op in self.places if isinstance(op, ir.Call)]
        self.instead.update((op, ()) for op in calls if op.callee is check_size and self._is_natural(op))
        of_items = {op for op in calls if op.callee is check_index}
        in_place = {op: self._settled(op) for op in self.places if is_unsure(op) or op in of_items}
        for place in {**in_place, **dict.fromkeys(filter(None, self._demands))}:
            before = [*self._before(place), *in_place.get(place, ())]
            self.instead[place] = before if place in of_items else [*before, _sure(place)]

    def first(self, ops: Sequence[ir.Op]) -> Sequence[ir.Op]:
        """The operations of the function, after the checks that follow from its arguments alone."""
        checks = self._before(None)
        if self._run:
            checks += self._beforehand.checks(tuple(self._run))
        if not checks:
            return ops
        heads = (k for k, op in enumerate(ops) if not (isinstance(op, ir.Extent | ir.Comment) or is_check(op)))
        head = next(heads, len(ops))
        return [*ops[:head], *checks, *ops[head:]]

    # ------------------------------------------------------------------------------------------------ what is checked

    def _settled(self, op: ir.Op) -> list[ir.Op]:
        """What is checked right before an operation; what is checked further out is noted."""
        if isinstance(op, ir.Call):
            index, count = op.args
            return [] if self._is_seen_to(op, index, self.iterations.value(count)) else [op]
        b = ir.Builder(op.origin)
        for array, axis, index in _indices(op):
            if not self._is_seen_to(op, index, self.iterations.extent(array, axis)):
                where = (("where", ir.axis_at(op.origin, array, axis)),)
                args = (index, b.extent(array, axis))
                b.emit(ir.Call(callee=check_index, args=args, outs=(), options=where, effect=True))
        return b.ops

    def _is_seen_to(self, op: ir.Op, index: ir.Operand, extent: Affine | None) -> bool:
        """Whether an index is in bounds, or checked further out."""
        if extent is None:
            return False
        chain, value = self.places[op].chain, self.iterations.value(index)
        before = self._in_place.setdefault((index if value is None else value, extent), [])
        if any(_begins_with(chain, around) for around in before) or self._is_proved(op, index, extent):
            return True
        if self._may_assume and (self._is_demanded(op, index, extent) or self._is_run(op, index, extent)):
            return True
        before.append(chain)
        if chain and isinstance(chain[-1][0], ir.While) and chain[-1][1] == 0:
            # what a test has looked at is there in the trip
            before.append((*chain[:-1], (chain[-1][0], 1)))
        return False

    def _is_proved(self, op: ir.Op, index: ir.Operand, extent: Affine) -> bool:
        value = self.iterations.value(index)
        if value is not None and self._is_inside(op, (value,), (value,), extent):
            return True
        place, elements = self._place(op), dict[ir.Operand, tuple[ir.Var, ir.Var]]()
        found = _InArrays(self, place, elements, made=True).ranges.of(index, self.places[op].chain)
        return found is not None and all(self._is_inside(place, r.lows, r.highs, extent.times(r.scale)) for r in found)

    def _is_natural(self, op: ir.Op) -> bool:
        """Whether the size that a check is of is surely not below zero; else it is not where that has been checked."""
        (size,), chain = op.operands, self.places[op].chain
        value, ranges = self.iterations.value(size), Ranges(self.iterations, lambda load: None, made=True)
        facts = [Affine(), *(fact for around, fact in self._natural if _begins_with(chain, around))]
        from_zero: dict[ir.Operand, bool] = {}

        def is_known(low: Affine) -> bool:
            own = [s for s, factor in low.terms.items() if factor > 0 and isinstance(s, ir.Var) and is_from_zero(s)]
            rest = low.substituted(dict.fromkeys(own, Affine()))
            return any(is_natural(self.iterations, chain, rest.plus(fact, -1)) for fact in facts)

        def is_from_zero(operand: ir.Operand) -> bool:
            if operand not in from_zero:
                from_zero[operand] = False  # while it is asked: two that bound each other prove nothing
                found, alone = ranges.of(operand, chain), Affine({operand: 1})
                from_zero[operand] = found is not None and all(
                    any(is_known(low) for low in one.lows if low != alone) for one in found
                )
            return from_zero[operand]

        if (value is not None and is_known(value)) or is_from_zero(size):
            return True
        if value is not None:
            self._natural.append((chain, value))
        return False

    def _is_inside(self, op: ir.Op, lows: _Ends, highs: _Ends, extent: Affine) -> bool:
        """Whether one of each of the ends is in bounds wherever the operation is run."""

        natural = functools.partial(is_natural, self.iterations, self.places[op].chain)
        return any(natural(extent.plus(end, -1).plus(ONE, -1)) for end in highs) and any(
            natural(end) or natural(end.plus(extent)) for end in lows
        )

    def _is_demanded(self, op: ir.Op, index: ir.Operand, extent: Affine) -> bool:
        """Whether a check further out sees to an index; it is noted."""
        chain, place = self.places[op].chain, self._place(op)
        elements: dict[ir.Operand, tuple[ir.Var, ir.Var]] = {}
        found = _InArrays(self, place, elements).ranges.of(index, chain)
        if found is None:
            return False
        demands = [_Demand(r.lows, r.highs, extent.times(r.scale)) for r in found]
        demands = [d for d in demands if not self._is_inside(place, d.lows, d.highs, d.extent)]
        own = {end for ends in elements.values() for end in ends}
        symbols = {s for d in demands for s in d.symbols}
        elements = {array: ends for array, ends in elements.items() if not symbols.isdisjoint(ends)}
        symbols -= own
        if not all(self.is_there(symbol, place) for symbol in symbols):
            return False
        is_first = not self.places[place].chain and not elements and all(map(self._is_given, symbols))
        if not is_first and not self._is_repeatable:
            return False
        target = None if is_first else place
        for demand in demands:
            self._demands.setdefault(target, {}).setdefault(demand.kind, demand).take(demand)
        self._elements.setdefault(target, {}).update(elements)
        return True

    def _place(self, op: ir.Op) -> ir.Op:
        """The outermost loop around an operation; itself if there is none."""
        return next((o for o, _ in self.places[op].chain if isinstance(o, ir.For | ir.While)), op)

    def _is_run(self, op: ir.Op, index: ir.Operand, extent: Affine) -> bool:
        """Whether an index is checked by running the loops that it comes of first; these are fewer than those here."""
        value = self.iterations.value(index)
        if not isinstance(index, ir.Var):
            return False
        if value is None or any(isinstance(symbol, ir.While) for symbol in value.terms):
            value = Affine({index: 1})
        check = Inside(value, extent)
        if not self._beforehand.is_possible(check):
            return False
        if all(loop in self._beforehand.loops(check) for loop in self.places[op].loops):
            return False
        self._run[check] = None
        return True

    @functools.cached_property
    def _beforehand(self) -> Beforehand:
        return Beforehand(self._function)

    def ends(self, place: ir.Op, array: ir.Operand) -> tuple[ir.Var, ir.Var]:
        """The least and the greatest element of an array of integers, which are looked for at a place."""
        known = self._elements.get(place, {}).get(array)
        return known or (ir.Var("least", types.intp), ir.Var("greatest", types.intp))

    def _is_given(self, symbol: Symbol) -> bool:
        name = symbol[0] if isinstance(symbol, tuple) else symbol
        return isinstance(name, ir.Const) or name in self._params

    def is_there(self, symbol: Symbol, place: ir.Op) -> bool:
        """Whether what a symbol stands for is known at a place."""
        name = symbol[0] if isinstance(symbol, tuple) else symbol
        if isinstance(name, ir.Const) or name in self._params:
            return True
        made = self.iterations.definitions.get(name) if isinstance(name, ir.Var) else None
        if made is None:
            return False
        own, other = self.places[made], self.places[place]
        return own.order < other.order and _begins_with(other.chain, own.chain)

    def is_changed(self, place: ir.Op, array: ir.Operand) -> bool:
        """Whether something may be stored into the array from a place on, or what is inside there."""
        written = (op.memory_written for op in ir.with_inner(place))
        return any(o is not None and self.aliases.may_share(o, array) for o in written)

    def stores(self, array: ir.Operand) -> list[ir.Store] | None:
        """All that is ever in an array that is made here, but for what it is filled with; None if that is not known."""
        named = [v for op in self.places for v in op.results if ir.is_array(v) and self.aliases.may_share(v, array)]
        if not all(isinstance(self.iterations.definitions.get(v), (ir.Alloc, *ir.VIEWS)) for v in named):
            return None
        writing = [o for o in self.places if o.memory_written and self.aliases.may_share(o.memory_written, array)]
        stores = [op for op in writing if isinstance(op, ir.Store) and not op.add]
        return stores if len(stores) == len(writing) else None

    # ------------------------------------------------------------------------------------------------ writing

    def _before(self, place: ir.Op | None) -> list[ir.Op]:
        b = Writer(None if place is None else place.origin, name="n")
        for array, outs in self._elements.get(place, {}).items():
            b.emit(ir.Call(callee=index_range, args=(array,), outs=outs))
        for demand in self._demands.get(place, {}).values():
            lows, highs = [b.integer(end) for end in demand.lows], [b.integer(end) for end in demand.highs]
            low = functools.reduce(lambda one, other: b.call(max, one, other, type=types.intp, name="n"), lows)
            high = functools.reduce(lambda one, other: b.call(min, one, other, type=types.intp, name="n"), highs)
            args = (low, high, b.integer(demand.extent))
            b.emit(ir.Call(callee=check_bounds, args=args, outs=(), effect=True))
        return b.ops


class _InArrays:
    """The ranges of integers that are elements of arrays, as far as they are known at a place.

    found: the arrays of which the least and the greatest element have to be looked for, with these.
    """

    def __init__(
        self, checks: _Checks, place: ir.Op, found: dict[ir.Operand, tuple[ir.Var, ir.Var]], made: bool = False
    ):
        self._checks, self._place, self._found = checks, place, found
        self._asked: set[ir.Operand] = set()
        self.ranges = Ranges(checks.iterations, self._of_load, made)

    def _of_load(self, load: ir.Load) -> Found | None:
        array, definitions = load.array, self._checks.iterations.definitions
        while isinstance(made := definitions.get(array), ir.VIEWS):
            array = made.base
        if isinstance(array, ir.Const):
            ends = (int(array.value.min()), int(array.value.max())) if array.value.size else (0, -1)
            return (_between(*(Affine(constant=end) for end in ends)),)
        if not isinstance(load.out.type, types.Integer):
            return None
        if isinstance(made, ir.Alloc) and (found := self._of_made(made)) is not None:
            return found
        if isinstance(made, ir.Call) and not self._checks.aliases.is_written(array):
            end = self._end_of_places(made)
            if end is not None and all(self._checks.is_there(s, self._place) for s in end.terms):
                return (_between(Affine(), end.plus(ONE, -1)),)
        if not self._checks.is_there(array, self._place) or self._checks.is_changed(self._place, array):
            return None
        least, greatest = self._found.setdefault(array, self._checks.ends(self._place, array))
        return (_between(Affine({least: 1}), Affine({greatest: 1})),)

    def _end_of_places(self, made: ir.Call) -> Affine | None:
        """What the elements of a vector are below, if none is below zero."""
        given = made.args[0] if made.args else None
        if made.callee is np.arange and len(made.args) == 1 and isinstance(made.args[0].type, types.Integer):
            return self._checks.iterations.value(made.args[0])
        is_of_vector = given is not None and isinstance(given.type, types.Array) and given.type.ndim == 1
        if made.callee in (np.argsort, np.flatnonzero) and given is not None and is_of_vector:
            return self._checks.iterations.extent(given, 0)
        return None

    def _of_made(self, made: ir.Alloc) -> Found | None:
        """Of an array by what is stored into it."""
        stores = self._checks.stores(made.out)
        if stores is None or made.out in self._asked:
            return None
        self._asked.add(made.out)
        found = self.ranges.any_of((op.value, self._checks.places[op].chain) for op in stores)
        self._asked.remove(made.out)
        if found is not None and made.fill is not None:
            filled = Affine(constant=int(made.fill.value))
            found = (*found, _between(filled, filled))
        own = {end for ends in self._found.values() for end in ends}
        symbols = {s for one in found or () for s in _symbols(one)} - own
        return found if all(self._checks.is_there(s, self._place) for s in symbols) else None


def _between(low: Affine, high: Affine) -> Range:
    return Range((low,), (high,))


def _symbols(found: Range) -> Iterator[Symbol]:
    for end in (*found.lows, *found.highs):
        yield from end.terms


def _indices(op: ir.Op) -> Iterator[tuple[ir.Operand, int, ir.Operand]]:
    """The arrays, axes and integers of an index."""
    if isinstance(op, ir.Load | ir.Store):
        yield from ((op.array, axis, index) for axis, index in enumerate(op.index))
    elif isinstance(op, ir.Slice):
        own = [selector for selector in op.selectors if not isinstance(selector, ir.NewAxis)]
        yield from ((op.base, axis, s.index) for axis, s in enumerate(own) if isinstance(s, ir.At))


def _begins_with(chain: Chain, other: Chain) -> bool:
    return len(other) <= len(chain) and all(a is b and m == n for (a, m), (b, n) in zip(chain, other, strict=False))
