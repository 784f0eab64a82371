"""Extents of arrays that are surely, or presumably, the same: one operand for all of them, and no stretching of axes.

In: a function whose array statements ask at run time which axes have the length 1. Out: the same where those axes are
as long as the loop anyway. With `may_assume`, axes of arguments that are combined are taken to be of one length, which
is checked first of all: `same_extent` raises Stretched where they are not, and the caller takes the code that assumes
nothing. So are slices whose bounds can be worked out first: `slice_inside` raises Stretched where one is clipped.

    n = broadcast_extent(a.size, b.size)             same_extent(b.size, a.size)
    is_wide = b.size != 1                            for i in range(a.size):
    for i in range(n):                                   c[i] = a[i] + b[i]
        c[i] = a[i] + b[i if is_wide else 0]
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from numba import types

from adjit.runtime.library import broadcast_extent, same_extent
from adjit.transform import ir
from adjit.transform.analysis.affine import ONE, Affine, Equalities, Symbol, computed
from adjit.transform.analysis.effects import is_check_of_extents
from adjit.transform.analysis.extents import Axis, extent_source, ndim, sliced
from adjit.transform.arrays.size_checks import Beforehand, Bounds, Clipped, Same
from adjit.transform.rewrite.affine_ops import Writer

Shape = tuple[Affine, ...]


@dataclass(frozen=True)
class AtLeastZero:
    """max(0, value): the extent of `a[1:-1]`."""

    value: Affine


def settle_sizes(function: ir.Function, may_assume: bool) -> ir.Function:
    """The function with each extent computed once, and without the stretching of axes that cannot be of length 1."""
    facts = _Facts(function, may_assume)
    changing: set[ir.Var] = set()
    known: tuple[int, ...] = ()
    while known != (known := (len(facts.equal), len(facts.whole), len(changing))):
        walk = _Walk(facts, changing)
        body = walk.region(function.body)
    if not walk.has_changed and not facts.equal and not facts.whole:
        return function
    return ir.with_body(function, ir.with_ops(body, (*facts.checks(walk), *body.ops)))


class _Facts(Equalities):
    """Which integers are taken to be equal."""

    def __init__(self, function: ir.Function, may_assume: bool):
        super().__init__()
        self.may_assume = may_assume
        self.function = function
        self.whole: dict[Clipped, Bounds] = {}  # slices that are taken to be as long as their bounds say
        arrays = filter(ir.is_array, function.body.args)
        given: list[Symbol] = [(array, axis) for array in arrays for axis in range(ndim(array))]
        self.given = frozenset(given)
        self.order = {symbol: k for k, symbol in enumerate(given)}  # of what is known on entry; the last is replaced

    def symbol(self, symbol: Symbol) -> Affine:
        if isinstance(symbol, AtLeastZero):
            return at_least_zero(self.settled(symbol.value))
        if isinstance(symbol, Clipped):
            start, stop = (None if end is None else self.settled(end) for end in (symbol.start, symbol.stop))
            made = Clipped(start, stop, symbol.step, self.settled(symbol.extent))
            if made in self.whole:
                bounds = self.whole[made]
                return self.settled(bounds.stop.plus(bounds.start, -1))
            return super().symbol(made)
        return super().symbol(symbol)

    @functools.cached_property
    def _beforehand(self) -> Beforehand:
        return Beforehand(self.function)

    def is_equal(self, left: Affine, right: Affine) -> bool:
        """Whether two extents of arrays are the same, or may be assumed to be."""
        left, right = self.settled(left), self.settled(right)
        one, other = _only_symbol(left), _only_symbol(right)
        if isinstance(one, Clipped) and isinstance(other, Clipped) and one.is_cut_like(other):
            return self.is_equal(one.extent, other.extent)
        # of arrays that exist, so that neither is below zero
        left = one.value if isinstance(one, AtLeastZero) else left
        right = other.value if isinstance(other, AtLeastZero) else right
        rest = left.plus(right, -1)
        if rest.is_constant:
            return rest.constant == 0
        if not self.may_assume:
            return False
        clipped = [symbol for symbol in (one, other) if isinstance(symbol, Clipped) and not symbol.is_literal]
        return self._assume_whole(rest, clipped) if clipped else self._assume(rest)

    def _assume_whole(self, rest: Affine, clipped: Sequence[Clipped]) -> bool:
        """Takes slices to be as long as their bounds say, where `rest` is zero then and that can be checked first."""
        found: dict[Clipped, Bounds] = {}
        for symbol in clipped:
            bounds = symbol.bounds
            if bounds is None or not self._beforehand.is_possible(bounds):
                return False
            factor = rest.terms[symbol]
            rest = rest.plus(Affine({symbol: 1}), -factor).plus(bounds.stop.plus(bounds.start, -1), factor)
            found[symbol] = bounds
        rest = self.settled(rest)
        if rest.constant if rest.is_constant else not self._assume(rest):
            return False
        self.whole.update(found)
        return True

    def _assume(self, rest: Affine) -> bool:
        """Takes `rest` to be zero, where that says that an extent which is known on entry is another, or a literal."""
        if len(rest.terms) > 2 or not all(map(self._is_known_on_entry, rest.terms)):
            return False
        if len(rest.terms) == 2 and self._is_made_of_other(*rest.terms):
            return False
        last = max(rest.terms, key=lambda symbol: self.order.setdefault(symbol, len(self.order)))
        factor = rest.terms[last]
        if abs(factor) != 1 or any(other == factor for symbol, other in rest.terms.items() if symbol != last):
            return False
        value = Affine({last: 1}).plus(rest, -factor)
        if value.is_constant and value.constant < 2:
            return False
        self.equal[last] = value
        return True

    def _is_known_on_entry(self, symbol: Symbol) -> bool:
        """Whether an extent is given, or follows from what is given and can be worked out first."""
        if symbol in self.given:
            return True
        if isinstance(symbol, Clipped) and not symbol.is_literal:
            return False
        value = Affine({symbol: 1})
        is_fixed = isinstance(symbol, ir.Var | Clipped) and self._beforehand.is_at_top(symbol)
        return is_fixed and self._beforehand.is_possible(Same(value, value))

    def _is_made_of_other(self, one: Symbol, other: Symbol) -> bool:
        """Whether one follows from the other, as half of an extent does, so that they will hardly be equal."""
        return one in self._beforehand.sources(other) or other in self._beforehand.sources(one)

    def checks(self, walk: _Walk) -> list[ir.Op]:
        """What makes sure on entry that the assumptions hold, but for what is known after all."""
        builder = Writer(name="n")
        later: list[Bounds | Same] = []
        for symbol, value in self.equal.items():
            if symbol not in self.given or any(other not in self.given for other in value.terms):
                later.append(Same(value, Affine({symbol: 1})))
                continue
            left, right = builder.symbol(symbol), builder.integer(value)
            builder.emit(ir.Call(callee=same_extent, args=(left, right), outs=(), effect=True))
        settled = [Bounds(*map(self.settled, (b.start, b.stop, b.extent))) for b in self.whole.values()]
        later += [b for b in settled if not walk.is_inside(b)]
        return [*builder.ops, *(self._beforehand.checks(later) if later else ())]


def _only_symbol(value: Affine) -> Symbol | None:
    if value.constant == 0 and len(value.terms) == 1:
        ((symbol, factor),) = value.terms.items()
        return symbol if factor == 1 else None
    return None


def at_least_zero(value: Affine) -> Affine:
    if value.is_natural:
        return value
    return Affine(constant=0) if value.is_constant else Affine({AtLeastZero(value): 1})


class _Walk:
    """One walk through the function: the values of integers, the shapes of arrays, and the operations rewritten."""

    def __init__(self, facts: _Facts, changing: set[ir.Var]):
        self.facts = facts
        # arrays that loops carry and that have another shape after a trip, as they are called after it
        self.changing = changing
        self.has_changed = False
        self.values: dict[ir.Var, Affine] = {}
        self.shapes: dict[ir.Var, Shape] = {}
        self.ranges: dict[ir.Operand, tuple[Affine, Affine]] = {}  # first and end of counters that go up by one
        self.definitions: dict[ir.Operand, ir.Op] = {}
        self.mapping: dict[ir.Var, ir.Operand] = {}
        self.lengths: dict[ir.Operand, ir.Operand] = {}  # by max(n, 0): n, which is as good an end of a range from 0
        self.carried: set[ir.Operand] = set()  # arrays that go round a loop
        self.leaders: list[dict[Affine, ir.Var]] = []  # operands that hold an extent, region by region

    # ------------------------------------------------------------------------------------------------ values

    def value(self, operand: ir.Operand) -> Affine:
        if isinstance(operand, ir.Const):
            return Affine(constant=int(operand.value))
        return self.facts.settled(self.values.get(operand, Affine({operand: 1})))

    def shape(self, array: ir.Operand) -> Shape:
        if isinstance(array, ir.Const):
            return tuple(Affine(constant=n) for n in array.value.shape)
        if array not in self.shapes:
            self.shapes[array] = tuple(Affine({(array, axis): 1}) for axis in range(ndim(array)))
        return tuple(map(self.facts.settled, self.shapes[array]))

    def is_within(self, value: Affine, low: Affine) -> bool:
        """Whether low <= value in each trip of the loops around."""
        rest = self.facts.settled(value.plus(low, -1))
        for _ in range(8):
            counters = [s for s in rest.terms if isinstance(s, ir.Var) and s in self.ranges]
            if not counters:
                break
            for symbol in counters:
                first, end = self.ranges[symbol]
                factor = rest.terms[symbol]
                bound = first if factor > 0 else end.plus(ONE, -1)
                rest = self.facts.settled(rest.plus(Affine({symbol: 1}), -factor).plus(bound, factor))
        return rest.is_natural

    def is_inside(self, bounds: Bounds) -> bool:
        """Whether a slice is as long as its bounds say."""
        ordered = (Affine(), bounds.start, bounds.stop, bounds.extent)
        return all(self.is_within(value, low) for low, value in itertools.pairwise(ordered))

    def length_of(self, span: ir.Span, extent: Affine) -> Affine:
        """The extent of a slice of an axis."""
        start, stop = (None if end is None else self.value(end) for end in (span.start, span.stop))
        step = ONE if span.step is None else self.value(span.step)
        if start is None and stop is None and step in (ONE, Affine(constant=-1)):
            return extent
        zero = Affine()
        if step == ONE:
            first = zero if start is None else start
            if self.is_within(first, zero):
                if stop is None:
                    return at_least_zero(extent.plus(first, -1))
                if stop.is_constant and stop.constant < 0:
                    return at_least_zero(extent.plus(stop).plus(first, -1))
                if self.is_within(stop, zero) and self.is_within(extent, stop):
                    length = stop.plus(first, -1)
                    return length if self.is_within(length, zero) else at_least_zero(length)
        return Affine({Clipped(start, stop, step, extent): 1})

    def define(self, op: ir.Op) -> None:
        """Takes note of what an operation without regions makes."""
        for out in op.results:
            self.definitions[out] = op
        if isinstance(op, ir.Slice):
            self.shapes[op.out] = self.view_shape(op)
        elif isinstance(op, ir.Extent):
            self.values[op.out] = self.shape(op.array)[op.axis]
        elif len(op.results) == 1 and ir.is_array(array := op.results[0]):
            sources = [extent_source(op, axis, self.definitions) or (array, axis) for axis in range(ndim(array))]
            self.shapes[array] = tuple(map(self.length, sources))
        elif isinstance(op, ir.Call) and all(isinstance(o.type, types.Integer) for o in (*op.args, *op.outs)):
            found = _computed(op, [self.value(a) for a in op.args])
            if found is not None:
                self.values[op.outs[0]] = found

    def length(self, source: ir.Operand | Axis) -> Affine:
        return self.shape(source[0])[source[1]] if isinstance(source, tuple) else self.value(source)

    def view_shape(self, op: ir.Slice) -> Shape:
        base = self.shape(op.base)
        axes = [sliced(op, axis) for axis in range(ndim(op.out))]
        return tuple(self.length_of(s, base[axis]) if isinstance(s, ir.Span) else ONE for s, axis in axes)

    # ------------------------------------------------------------------------------------------------ rewriting

    def operand(self, operand: ir.Operand) -> ir.Operand:
        while isinstance(operand, ir.Var) and operand in self.mapping:
            operand = self.mapping[operand]
        return operand

    def region(self, region: ir.Region) -> ir.Region:
        self.leaders.append({})
        ops: list[ir.Op] = []
        for op in region.ops:
            self.op(op, ops)
        self.leaders.pop()
        return ir.with_ops(region, ops, [self.operand(y) for y in region.yields])

    def op(self, op: ir.Op, done: list[ir.Op]) -> None:
        """Puts what is left of an operation at the end of `done`."""
        operands = [self.operand(o) for o in op.operands]
        if op.regions:
            done.append(self.control(op, operands))
            return
        made = ir.with_parts(op, operands, (), op.results)
        self.define(made)
        if isinstance(made, ir.Extent):
            self.once(made, made.out, done)
        elif isinstance(made, ir.Call):
            self.call(made, done)
        elif isinstance(made, ir.Reshape) and self.is_its_own(made):
            self.replaced(made.out, made.base)
        else:
            done.append(made)

    def is_its_own(self, view: ir.Reshape) -> bool:
        """Whether a view has the shape of its base, and no name that the user gave it."""
        return view.base.type == view.out.type and not view.out.user and self.shape(view.base) == self.shape(view.out)

    def call(self, op: ir.Call, done: list[ir.Op]) -> None:
        if op.callee is broadcast_extent:
            stretched = [other for one, other in zip(op.args, op.args[::-1], strict=True) if self.value(one) == ONE]
            if stretched or self.is_equal(*op.args):
                wide = stretched[0] if stretched else op.args[0]
                self.values[op.outs[0]] = self.value(wide)
                self.replaced(op.outs[0], wide)
            else:
                self.once(op, op.outs[0], done)
        elif is_check_of_extents(op) and self.is_equal(*op.args):
            self.has_changed = True
        elif op.callee is ir.select and self.is_counter_of(op.args[0], op.args[1]):
            self.replaced(op.outs[0], op.args[1])
        elif len(op.outs) == 1 and op.outs[0] in self.facts.equal:
            self.once(op, op.outs[0], done)
        else:
            if len(op.outs) == 1 and op.outs[0] in self.values and _only_symbol(self.value(op.outs[0])) is None:
                # a size that the user works out is as good as one that is asked for
                self.leaders[-1].setdefault(self.value(op.outs[0]), op.outs[0])
            done.append(op)

    def is_equal(self, left: ir.Operand, right: ir.Operand) -> bool:
        return self.facts.is_equal(self.value(left), self.value(right))

    def replaced(self, out: ir.Var, operand: ir.Operand) -> None:
        self.has_changed = True
        self.mapping[out] = operand

    def once(self, op: ir.Op, out: ir.Var, done: list[ir.Op]) -> None:
        """The operation that computes an extent, unless that is known already, or comes of what is known."""
        value = self.value(out)
        known = self.known(value, out)
        if known is not None:
            self.replaced(out, known)
            return
        inner = _only_symbol(value)
        length = self.offset(inner.value, out, done) if isinstance(inner, AtLeastZero) else None
        if length is not None and not out.user:
            self.has_changed = True
            op = ir.Call(callee=max, args=(length, ir.integer(0)), outs=(out,), origin=op.origin)
            self.lengths[out] = length
        if isinstance(op, ir.Extent) and inner in self.facts.given and self.is_better_given(op.array):
            # known before the loop, and with it how many trips a loop inside makes; or as long as a slice
            assert isinstance(inner, tuple)
            self.has_changed = True
            op = dataclasses.replace(op, array=inner[0], axis=inner[1])
        leader = self.leaders[-1].setdefault(value, out)
        if out.user and not leader.user and leader.type == out.type:
            # from here on the user's name
            self.leaders[-1][value] = out
            self.replaced(leader, out)
        done.append(op)

    def is_better_given(self, array: ir.Operand) -> bool:
        """Whether an extent of the array that is an extent of an argument as well is rather called that."""
        return array in self.carried or isinstance(self.definitions.get(array), ir.Slice)

    def known(self, value: Affine, wanted: ir.Var) -> ir.Operand | None:
        """An operand that holds the value; not one that is ours for one that has the user's name."""
        if value.is_constant:
            return ir.integer(value.constant)
        symbol = _only_symbol(value)
        if isinstance(symbol, ir.Var) and symbol is not wanted and not wanted.user:
            return symbol
        for leaders in self.leaders:
            leader = leaders.get(value)
            if leader is not None and (leader.user or not wanted.user) and leader.type == wanted.type:
                return leader
        return None

    def offset(self, value: Affine, wanted: ir.Var, done: list[ir.Op]) -> ir.Operand | None:
        """An operand for a sum of extents, counters and a literal, None where one of them has none."""
        if value.constant >= 0 and len(value.terms) < 2:
            return self.known(value, wanted)
        made: list[ir.Op] = []
        total = self.total(value, wanted, made)
        if total is not None:
            done += made
            return total
        for op in made:
            # what is not written is known by nothing
            (out,) = op.results
            part = self.values.pop(out)
            if self.leaders[-1][part] is out:
                del self.leaders[-1][part]
        return None

    def total(self, value: Affine, wanted: ir.Var, done: list[ir.Op]) -> ir.Operand | None:
        """The same, where a sum of which nothing is known is made of its parts."""
        known = self.known(value, wanted)
        if known is not None:
            return known
        *rest, (symbol, factor) = sorted(value.terms.items(), key=lambda item: item[1] < 0)
        if value.constant:
            left = self.total(value.plus(ONE, -value.constant), wanted, done)
            return None if left is None else self.summed(left, ir.integer(value.constant), value, done)
        if rest:
            left = self.total(Affine(dict(rest)), wanted, done)
            right = None if abs(factor) != 1 else self.total(Affine({symbol: 1}), wanted, done)
            return None if left is None or right is None else self.summed(left, right, value, done, factor)
        if factor != 1 or symbol not in self.facts.given:
            return None
        assert isinstance(symbol, tuple)
        return self.noted(ir.Extent(array=symbol[0], axis=symbol[1], out=ir.Var("n", types.intp)), value, done)

    def summed(
        self, left: ir.Operand, right: ir.Operand, value: Affine, done: list[ir.Op], factor: int = 1
    ) -> ir.Operand:
        if isinstance(right, ir.Const) and right.value < 0:
            right, factor = ir.integer(-right.value), -factor
        callee = operator.add if factor > 0 else operator.sub
        return self.noted(ir.Call(callee=callee, args=(left, right), outs=(ir.Var("n", types.intp),)), value, done)

    def noted(self, op: ir.Op, value: Affine, done: list[ir.Op]) -> ir.Operand:
        (out,) = op.results
        done.append(op)
        self.values[out] = value
        self.leaders[-1].setdefault(value, out)
        return out

    def is_counter_of(self, flag: ir.Operand, index: ir.Operand) -> bool:
        """Whether `flag` asks if an axis is longer than 1 that `index` runs along: if it is 1, `index` is 0."""
        test = self.definitions.get(flag)
        if (
            not isinstance(test, ir.Call)
            or ir.canonical(test.callee) is not operator.ne
            or test.args[1] != ir.integer(1)
        ):
            return False
        if index not in self.ranges:
            return False
        first, end = self.ranges[index]
        return first == Affine() and self.facts.is_equal(end, self.value(test.args[0]))

    def control(self, op: ir.Op, operands: list[ir.Operand]) -> ir.Op:
        if isinstance(op, ir.For) and op.step == ir.integer(1):
            start, stop, *_ = operands
            if start == ir.integer(0) and stop in self.lengths:
                operands[1] = stop = self.lengths[stop]
            self.ranges[op.body.args[0]] = (self.value(start), self.value(stop))
        if isinstance(op, ir.For | ir.While):
            for slot, names in zip(op.slots, ir.names_of_slots(op), strict=True):
                if ir.is_array(slot.out) and slot.out not in self.changing:
                    self.shapes.update(dict.fromkeys(names, self.shape(self.operand(slot.init))))
                    self.carried.update(names)
        regions = [self.region(r) for r in op.regions]
        sources = {name: both for name, *both in ir.joined(op)}
        for out in filter(ir.is_array, op.results):
            one, other = map(self.operand, sources[out])
            if not isinstance(op, ir.If):
                is_same = all(map(self.facts.is_equal, self.shape(one), self.shape(other)))
                self.changing.update(() if is_same else (out,))
            elif self.shape(one) == self.shape(other):
                self.shapes[out] = self.shape(one)
        return ir.with_parts(op, operands, regions, op.results)


def _computed(op: ir.Call, values: list[Affine]) -> Affine | None:
    if op.callee is ir.cast:
        return values[0] if op.outs[0].type == types.intp and op.args[0].type != types.uint64 else None
    return computed(op.callee, values)
