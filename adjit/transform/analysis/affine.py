"""Integers and control flow of a function in the terms of integer sets: sums of loop counters and sizes.

In: a function. Out: `Iterations`, which gives each operation its place among loops and branches, each integer its
affine form where it has one, and each array its extents. A loop is counted from 0 by ones, whatever its range is.

    for i in range(1, n):      i = 1 + c,  where c >= 0 and 1 + c - n < 0
        a[2 * i - 1]           index 1 + 2 c
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numba import types

from adjit.runtime.library import check_apart, check_output, check_separate, same_extent
from adjit.transform import ir
from adjit.transform.analysis.extents import extent_source, ndim, sliced

Loop = ir.For | ir.While
# A loop stands for its counter, a variable for an integer fixed before all loops, a pair for an array's extent along
# an axis, a Count for a parameter that is never below zero. Other objects stand for indices of which nothing is known.
Symbol = Hashable
Chain = tuple[tuple[ir.Op, int], ...]  # operations from the outside in, and which region of each

_RELATIONS = {
    operator.lt: ("<", ">="),
    operator.le: ("<=", ">"),
    operator.gt: (">", "<="),
    operator.ge: (">=", "<"),
    operator.eq: ("=", "!="),
    operator.ne: ("!=", "="),
}


@dataclass(frozen=True)
class Count:
    """A parameter that is never below zero."""

    var: ir.Var


class Affine:
    """A sum of symbols times integers, and an integer."""

    def __init__(self, terms: dict[Symbol, int] | None = None, constant: int = 0):
        self.terms = {symbol: factor for symbol, factor in (terms or {}).items() if factor}
        self.constant = constant

    def plus(self, other: Affine | int, factor: int = 1) -> Affine:
        """self + factor * other."""
        if isinstance(other, int):
            return Affine(self.terms, self.constant + factor * other)
        terms = dict(self.terms)
        for symbol, count in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + factor * count
        return Affine(terms, self.constant + factor * other.constant)

    def times(self, factor: int) -> Affine:
        return Affine().plus(self, factor)

    def substituted(self, known: Mapping[Any, Affine]) -> Affine:
        """The same with other forms in the place of symbols."""
        found = Affine(constant=self.constant)
        for symbol, factor in self.terms.items():
            found = found.plus(known.get(symbol, Affine({symbol: 1})), factor)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def is_natural(self) -> bool:
        """Whether it is surely not below zero: numbers of trips and extents never are."""
        return self.constant >= 0 and all(
            factor > 0 and not isinstance(symbol, ir.Var) for symbol, factor in self.terms.items()
        )


ONE = Affine(constant=1)


class Equalities:
    """Integers that are equal: symbols, and what they are replaced by."""

    def __init__(self) -> None:
        self.equal: dict[Symbol, Affine] = {}

    def settled(self, value: Affine) -> Affine:
        """The value in terms of the symbols that are left."""
        return value.substituted({symbol: self.symbol(symbol) for symbol in value.terms})

    def symbol(self, symbol: Symbol) -> Affine:
        return self.settled(self.equal[symbol]) if symbol in self.equal else Affine({symbol: 1})

    def equate(self, left: Affine, right: Affine) -> None:
        """Takes note that the two are equal, if that says what a symbol is; the last such symbol is replaced."""
        rest = self.settled(left.plus(right, -1))
        for symbol, factor in reversed(rest.terms.items()):
            if abs(factor) == 1:
                self.equal[symbol] = Affine({symbol: 1}).plus(rest, -factor)
                return


def computed(callee: object, values: Sequence[Affine]) -> Affine | None:
    """What an operation on integers makes of affine forms, None if that is none."""
    match ir.canonical(callee), values:
        case operator.add, [left, right]:
            return left.plus(right)
        case operator.sub, [left, right]:
            return left.plus(right, -1)
        case operator.mul, [left, right] if left.is_constant or right.is_constant:
            return right.times(left.constant) if left.is_constant else left.times(right.constant)
        case operator.neg, [only]:
            return only.times(-1)
    return None


@dataclass(frozen=True)
class Constraint:
    """`value relation 0`, with a relation as isl writes it."""

    value: Affine
    relation: str

    @property
    def least(self) -> Affine:
        """What is not below zero where it holds; of `!=` there is nothing such."""
        found = self.value.times(-1) if self.relation in ("<", "<=") else self.value
        return found.plus(ONE, -1) if self.relation in ("<", ">") else found


def loops_in(chain: Chain) -> tuple[Loop, ...]:
    return tuple(op for op, _ in chain if isinstance(op, (ir.For, ir.While)))


_is_tape = ir.of_kinds(types.List)


class Place(NamedTuple):
    """Where an operation stands: `order` counts all operations; `chain` is what is around it, `loops` those of it."""

    order: int
    chain: Chain
    loops: tuple[Loop, ...]


class Iterations:
    """Places, affine forms and extents of one function."""

    def __init__(self, function: ir.Function):
        self.places: dict[ir.Op, Place] = {}
        self._body, self.definitions = function.body, function.body.made
        self._counts = frozenset(function.counts)
        self._scopes: dict[ir.Var, tuple[Loop, ...]] = dict.fromkeys(function.body.args, ())
        self._counters: dict[ir.Operand, ir.For] = {}
        self._values: dict[ir.Var, Affine | None] = {}
        self._carried: dict[ir.Operand, tuple[Loop, int]] = {}
        self._extents: dict[tuple[ir.Operand, int], Affine | None] = {}
        self._domains: dict[Chain, tuple[Constraint, ...]] = {}
        self._equalities = Equalities()
        self._values.update((v, Affine({Count(v): 1})) for v in function.counts)
        self._walk(function.body, (), ())
        self._checks(function.body.ops)

    def _checks(self, ops: Sequence[ir.Op]) -> None:
        """Takes note of the checks of extents that come before anything else, and so hold everywhere."""
        for op in ops:
            if isinstance(op, ir.Call) and op.callee is same_extent:
                left, right = map(self.value, op.args)
                assert left is not None
                assert right is not None
                self._equalities.equate(right, left)
            elif isinstance(op, ir.Call) and op.callee is check_output:
                output, argument = op.args
                for axis in range(ndim(output)):
                    own, other = self.extent(output, axis), self.extent(argument, axis)
                    assert own is not None
                    assert other is not None
                    self._equalities.equate(other, own)
            elif not isinstance(op, ir.Extent | ir.Comment) and not (
                isinstance(op, ir.Call) and op.callee in (check_apart, check_separate)
            ):
                break
        self._values = {v: found for v, found in self._values.items() if v in self._counts}

    def _walk(self, region: ir.Region, chain: Chain, loops: tuple[Loop, ...]) -> None:
        for op in region.ops:
            self.places[op] = Place(len(self.places), chain, loops)
            if isinstance(op, ir.For | ir.While):
                for slot, names in enumerate(ir.names_of_slots(op)):
                    self._carried.update(dict.fromkeys(names, (op, slot)))
            for out in op.results:
                self._scopes[out] = loops
            for number, inner in enumerate(op.regions):
                around = (*chain, (op, number))
                loops_around = loops_in(around)
                for arg in inner.args:
                    self._scopes[arg] = loops_around
                if isinstance(op, ir.For):
                    self._counters[inner.args[0]] = op
                self._walk(inner, around, loops_around)

    def scope(self, operand: ir.Operand) -> tuple[Loop, ...]:
        """The loops around the definition of the operand."""
        return self._scopes[operand] if isinstance(operand, ir.Var) else ()

    def counted(self, operand: ir.Operand) -> ir.For | None:
        """The loop whose counter a variable is."""
        return self._counters.get(operand)

    def carried(self, operand: ir.Operand) -> tuple[Loop, int] | None:
        """The loop that carries a variable, and in which place."""
        return self._carried.get(operand)

    # ------------------------------------------------------------------------------------------- integers

    def value(self, operand: ir.Operand) -> Affine | None:
        """The affine form of an integer, None if it has none."""
        if isinstance(operand, ir.Const):
            return Affine(constant=int(operand.value))
        if operand not in self._values:
            found = self._derived(operand)
            if found is None and not self._scopes[operand]:
                found = Affine({operand: 1})
            self._values[operand] = None if found is None else self._equalities.settled(found)
        return self._values[operand]

    def _derived(self, var: ir.Var) -> Affine | None:
        if var in self._counters:
            loop = self._counters[var]
            start, step = self.value(loop.start), self.value(loop.step)
            if start is None or step is None or not step.is_constant:
                return None
            return start.plus(Affine({loop: 1}), step.constant)
        definition = self.definitions.get(var)
        if isinstance(definition, ir.Extent):
            return self.extent(definition.array, definition.axis)
        if not isinstance(definition, ir.Call) or not all(isinstance(a.type, types.Integer) for a in definition.args):
            return None
        values = [value for arg in definition.args if (value := self.value(arg)) is not None]
        if len(values) < len(definition.args):
            return None
        if definition.callee is ir.cast:
            return values[0] if isinstance(var.type, types.Integer) else None
        return computed(definition.callee, values)

    def in_variables(self, value: Affine) -> Affine | None:
        """The same integer as a sum of variables of the program: for the number of a trip stands the loop's counter."""
        found = Affine(constant=value.constant)
        for symbol, factor in value.terms.items():
            if isinstance(symbol, ir.For):
                term = self._of_counter(symbol, factor)
            elif isinstance(symbol, Count):
                term = Affine({symbol.var: factor})
            else:
                term = Affine({symbol: factor}) if isinstance(symbol, ir.Var | tuple) else None
            if term is None:
                return None
            found = found.plus(term)
        return found

    def bounds(self, loop: ir.For) -> tuple[Affine, Affine] | None:
        """The least value of the counter of a loop in steps of one, and one more than the greatest, in variables."""
        ends = [self.value(loop.start), self._stop(loop)]
        start, stop = (None if end is None else self.in_variables(end) for end in ends)
        if start is None or stop is None or loop.step not in (ir.integer(1), ir.integer(-1)):
            return None
        return (start, stop) if loop.step == ir.integer(1) else (stop.plus(ONE), start.plus(ONE))

    def _of_counter(self, loop: ir.For, factor: int) -> Affine | None:
        """factor * (counter - start) / step, where that divides evenly."""
        start, step = self.value(loop.start), self.value(loop.step)
        start = None if start is None else self.in_variables(start)
        if start is None or step is None or not step.is_constant or not step.constant or factor % step.constant:
            return None
        return Affine({loop.body.args[0]: 1}).plus(start, -1).times(factor // step.constant)

    def extent(self, array: ir.Operand, axis: int) -> Affine | None:
        """The extent along an axis, None where it may differ from trip to trip in a way not known."""
        if isinstance(array, ir.Const):
            return Affine(constant=array.value.shape[axis])
        definition = self.definitions.get(array)
        source = extent_source(definition, axis, self.definitions)
        found: Affine | None = None
        if isinstance(source, tuple):
            found = self.extent(*source)
        elif source is not None:
            found = self.value(source)
        elif isinstance(definition, ir.Pull):
            found = self._taped_extent(definition.tape, axis)
        elif array in self._carried:
            found = self._carried_extent(array, axis)
        if found is None and not self._scopes[array]:
            found = self._equalities.symbol((array, axis))
        return found

    def _taped_extent(self, tape: ir.Operand, axis: int) -> Affine | None:
        """The extent that all arrays on a tape have."""
        definition = self.definitions.get(tape)
        pushed, handed_on = self._tapes
        if not isinstance(definition, ir.NewTape) or tape in handed_on:
            return None
        found = {self.extent(value, axis) for value in pushed.get(tape, ())}
        only = found.pop() if len(found) == 1 else None
        return only if only is not None and self._is_everywhere(only) else None

    @functools.cached_property
    def _tapes(self) -> tuple[Mapping[ir.Operand, list[ir.Operand]], set[ir.Operand]]:
        """What is put on each tape, and the tapes that are handed on."""
        pushed: dict[ir.Operand, list[ir.Operand]] = {}
        handed_on = {y for region in ir.regions(self._body) for y in region.yields if _is_tape(y)}
        for op in self._body.inside:
            if isinstance(op, ir.Push):
                handed_on.add(op.value)
                pushed.setdefault(op.tape, []).append(op.value)
            elif not isinstance(op, ir.Pull):
                handed_on.update(filter(_is_tape, op.operands))
        return pushed, handed_on

    def _is_everywhere(self, value: Affine) -> bool:
        """Whether what it is made of is there wherever a tape is read, and not in the branch alone that filled it."""
        names = [symbol[0] if isinstance(symbol, tuple) else symbol for symbol in value.terms]
        made = [self.definitions.get(name) for name in names if isinstance(name, ir.Var)]
        return len(made) == len(names) and not any(op is not None and self.places[op].chain for op in made)

    def _carried_extent(self, array: ir.Operand, axis: int) -> Affine | None:
        """The extent of the array that a loop starts from, if each trip hands on one of the same extent."""
        if (array, axis) not in self._extents:
            self._assume_extents(self._carried[array][0], axis)
        return self._extents[array, axis]

    def _assume_extents(self, loop: Loop, axis: int) -> None:
        """Takes the arrays that a loop carries to have the extents they start with, and sees whether that holds."""
        slots = [k for k, out in enumerate(loop.outs) if ir.is_array(out) and getattr(out.type, "ndim", 0) > axis]
        names = ir.names_of_slots(loop)
        known = {k: self.extent(loop.inits[k], axis) for k in slots}
        before = dict(self._extents), dict(self._values)
        self._extents.update(((name, axis), known[k]) for k in slots for name in names[k])
        self._domains.clear()
        for k in slots:
            start, after = known[k], self.extent(loop.body.yields[k], axis)
            if start is None or after is None or start != after:
                # what was found out in the meantime may rest on it
                self._extents, self._values = before
                self._domains.clear()
                self._extents.update(((name, axis), None) for place in slots for name in names[place])
                return

    # ------------------------------------------------------------------------------------------- which trips are made

    def conditions(self, condition: ir.Operand, holds: bool) -> list[Constraint] | None:
        """The constraints that hold exactly where a condition does, or does not; None if they are not known."""
        return self._conditions(condition, holds)

    def domain(self, chain: Chain) -> tuple[Constraint, ...]:
        """What holds of the counters wherever the innermost region of the chain is run."""
        found = self._domains.get(chain)
        if found is None:
            found = self._domains[chain] = tuple(self._constraints(chain))
        return found

    def _constraints(self, chain: Chain) -> Iterator[Constraint]:
        for op, number in chain:
            if isinstance(op, ir.For | ir.While):
                yield Constraint(Affine({op: 1}), ">=")
            if isinstance(op, ir.For):
                yield from self._bound(op)
            elif isinstance(op, ir.If):
                yield from self._implied(op.condition, number == 0)

    def is_certain(self, op: ir.Op, number: int = 0) -> bool:
        """Whether the constraints of `domain` say exactly when that region of `op` is run."""
        if isinstance(op, ir.If):
            return self._conditions(op.condition, number == 0) not in (None, [])
        # one of a loop says where it begins, and another one, if it is known, where it ends
        return isinstance(op, ir.For) and not op.stops and len(self.domain(((op, number),))) > 1

    def _bound(self, loop: ir.For) -> list[Constraint]:
        stop, step, counter = self._stop(loop), self.value(loop.step), self._derived(loop.body.args[0])
        if stop is None or step is None or counter is None:
            return []
        return [Constraint(counter.plus(stop, -1), "<" if step.constant > 0 else ">")]

    def _stop(self, loop: ir.For) -> Affine | None:
        """The stop of a loop. One that is never below zero ends a loop that goes up from there as if it could be."""
        definition = self.definitions.get(loop.stop)
        start = self.value(loop.start)
        found: Affine | None = None
        if start is not None and start.is_constant and start.constant >= 0 and loop.step == ir.integer(1):
            match definition:
                case ir.Extent(array=view, axis=axis):
                    found = self._unclipped(view, axis)
                case ir.Call(args=(length, bound)) if definition.callee is max and bound == ir.integer(0):
                    found = self.value(length)
        return self.value(loop.stop) if found is None else found

    def _unclipped(self, view: ir.Operand, axis: int) -> Affine | None:
        """What is left of an axis in a slice such as [1:-1], below zero where there is less than is left out."""
        definition = self.definitions.get(view)
        if not isinstance(definition, ir.Slice):
            return None
        selector, base_axis = sliced(definition, axis)
        if not isinstance(selector, ir.Span) or selector.left_out is None:
            return None
        extent = self.extent(definition.base, base_axis)
        return None if extent is None else extent.plus(ONE, -selector.left_out)

    def _implied(self, condition: ir.Operand, holds: bool) -> list[Constraint]:
        """Constraints that hold where a condition does, or does not; of `a and b` also where one of them has none."""
        found = self._conditions(condition, holds)
        test = self.definitions.get(condition)
        if found is not None or test is None:
            return found or []
        if isinstance(test, ir.If):
            place = test.outs.index(condition)
            yes, no = test.then.yields[place], test.orelse.yields[place]
            if (no if holds else yes) == ir.boolean(not holds):
                return [*self._implied(test.condition, holds), *self._implied(yes if holds else no, holds)]
        if isinstance(test, ir.Call) and test.callee is operator.not_:
            return self._implied(test.args[0], not holds)
        return []

    def _conditions(self, condition: ir.Operand, holds: bool) -> list[Constraint] | None:
        """The constraints that hold exactly where a condition does, or does not; None if they are not known.

        `a and b` is a branch that yields b where a holds, and False elsewhere.
        """
        test = self.definitions.get(condition)
        if isinstance(test, ir.If):
            place = test.outs.index(condition)
            yes, no = test.then.yields[place], test.orelse.yields[place]
            if holds and no == ir.boolean(False):
                return self._both(self._conditions(test.condition, True), self._conditions(yes, True))
            if not holds and yes == ir.boolean(True):
                return self._both(self._conditions(test.condition, False), self._conditions(no, False))
            return None
        if isinstance(test, ir.Call) and test.callee is operator.not_:
            return self._conditions(test.args[0], not holds)
        if not isinstance(test, ir.Call) or len(test.args) != 2:
            return None
        relations = _RELATIONS.get(ir.canonical(test.callee))
        if relations is None or not all(isinstance(a.type, types.Integer) for a in test.args):
            return None
        left, right = (self.value(a) for a in test.args)
        if left is None or right is None:
            return None
        return [Constraint(left.plus(right, -1), relations[0 if holds else 1])]

    @staticmethod
    def _both(one: list[Constraint] | None, other: list[Constraint] | None) -> list[Constraint] | None:
        return None if one is None or other is None else [*one, *other]
