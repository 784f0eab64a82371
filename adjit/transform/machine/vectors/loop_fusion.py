"""Loops that make vectors, one after the other over one range, are one, so that what they share is fetched once.

    for j in range(m):                       for j in range(m):
        y_bar[j] += a * e[j]                     y_bar[j] += a * e[j]
    for j in range(m):                           x_bar[i, j] = y_bar[j] / c
        x_bar[i, j] = y_bar[j] / c

In: a function, as it will be emitted, with the sums that may be added up in any order told from others. Out: the same
with fewer loops. No trip of them touches an element that another trip changes, so it is all the same which of the two
loops a trip belongs to. Sums that keep their order would keep what they are put together with from being vectors, and
what shares no more than what it reads with an elementary function is not put together with it: it takes the registers
that the function has for itself (a softmax takes 1.13 of the time then, in the place of 0.77). Nests are one where all
their loops are.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import Effects, needed_before
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.loop_dependences import is_own
from adjit.transform.machine.vectors.elementary import are_vectorisable, is_elementary
from adjit.transform.machine.vectors.recurrence import Recurrence

MOST_ARRAYS = 16  # beyond that LLVM gives up on checking at run time that they do not overlap
NEAR = 8  # loops that lie between two that are looked at, at most


def go_through_once(function: ir.Function) -> ir.Function:
    """The function with such loops in one; the same object if there are none."""
    merging = _Merging(function)
    return ir.with_body(function, merging.region(function.body))


_IN_NESTS = (ir.Call, ir.Load, ir.Store, ir.Comment, ir.For)


class _Merging:
    def __init__(self, function: ir.Function):
        self.naturals = function.analysis(Naturals)
        self.aliases = function.analysis(Aliases)
        self.effects_of: Callable[[ir.Op], Effects] = functools.cache(functools.partial(Effects, aliases=self.aliases))
        self.is_fit: Callable[[ir.Op], bool] = functools.cache(self._is_fit)

    def region(self, region: ir.Region) -> ir.Region:
        ops = [ir.with_regions(op, [self.region(inner) for inner in op.regions]) for op in region.ops]
        b = 1
        while b < len(ops):
            merged = self.merged(ops, b) if self.is_fit(ops[b]) else None
            ops, b = (ops, b + 1) if merged is None else (merged, b)
        return ir.with_ops(region, ops)

    def merged(self, ops: list[ir.Op], b: int) -> list[ir.Op] | None:
        """The operations with the loop at `b` in the last one before it that takes it; None if there is none."""
        second = ops[b]
        for a in [k for k in range(b - 1, -1, -1) if isinstance(ops[k], ir.For | ir.While)][:NEAR]:
            made = self.one(ops[a], second) if self.is_fit(ops[a]) else None
            moved = self.movable(ops, a, b) if made is not None else None
            if made is not None and moved is not None:
                before = (*ops[:a], *(ops[k] for k in sorted(moved)))
                return [*before, made, *(op for k, op in enumerate(ops) if k > a and k != b and k not in moved)]
        return None

    def _is_fit(self, op: ir.Op) -> bool:
        """Whether an operation is a loop of which LLVM makes vectors, along the last axes of arrays, or a nest."""
        if not isinstance(op, ir.For) or op.stops or op.parallel or op.over_chunks or op.level:
            return False
        if op.step != ir.integer(1) or not self.naturals.counts(op):
            return False
        if not _is_innermost(op):
            return all(isinstance(inner, _IN_NESTS) for inner in op.body.ops)
        counter, made = op.body.args[0], op.body.made
        touched = [inner.index for inner in op.body.inside if isinstance(inner, ir.Load | ir.Store)]
        if any(counter in index[:-1] or not made.keys().isdisjoint(index) for index in touched):
            return False
        return are_vectorisable(op.body.ops) and self.makes_vectors(op)

    def makes_vectors(self, loop: ir.For) -> bool:
        """Whether no trip of an innermost loop waits for one before it, nor touches what another one changes."""
        return Recurrence(loop, self.aliases.find, True).is_empty

    def one(self, first: ir.Op, second: ir.Op) -> ir.For | None:
        """Both loops in one; None if that is not worth while, or not right."""
        assert isinstance(first, ir.For)
        assert isinstance(second, ir.For)
        if (first.start, first.stop) != (second.start, second.stop) or _is_innermost(first) != _is_innermost(second):
            return None
        one, other = (_arrays(loop, ir.Load | ir.Store) for loop in (first, second))
        shared = one & other
        if any(map(is_elementary, (*first.body.inside, *second.body.inside))):
            shared = _arrays(first, ir.Store) & _arrays(second, ir.Load)
        if not shared or len(one | other) > MOST_ARRAYS:
            return None
        made = ir.with_trips_of(first, second, order_free=first.order_free and second.order_free)
        if _is_innermost(first):
            return made if self.makes_vectors(made) else None
        if _loops(first) != _loops(second) or not self.are_apart(first, second):
            return None
        made = dataclasses.replace(made, body=self.region(made.body))
        return made if _loops(made) == _loops(first) else None

    def are_apart(self, first: ir.For, second: ir.For) -> bool:
        """Whether no trip of one nest touches what another trip of the other one changes."""
        counters = (first.body.args[0], second.body.args[0])
        one, other = self.effects_of(first), self.effects_of(second)
        changed = {memory for sets in (one, other) for memory in (*sets.writes, *sets.adds)}
        for memory in changed & (one.reads | one.writes | one.adds) & (other.reads | other.writes | other.adds):
            found = [op for op in (*one.touching, *other.touching) if self.aliases.touches(op, memory)]
            elements = [op for op in found if isinstance(op, ir.Load | ir.Store)]
            if len(elements) < len(found) or not is_own(elements, lambda index: 0 if index in counters else None):
                return False
        return True

    def movable(self, ops: Sequence[ir.Op], a: int, b: int) -> set[int] | None:
        """The operations in between that have to run before both loops; None if one of them cannot."""
        first, second = self.effects_of(ops[a]), self.effects_of(ops[b])
        if first.makes & second.uses or (first.is_ordered and second.is_ordered):
            return None
        wanted = set(needed_before(a, b, lambda k: self.effects_of(ops[k]), in_any_order=False))
        for k in wanted:
            between, effects = ops[k], self.effects_of(ops[k])
            takes_long = isinstance(between, ir.Call) and any(map(ir.is_array, (*between.operands, *between.results)))
            if takes_long or between.regions:
                return None
            if effects.is_tied_to(first) or effects.may_clash(first, in_any_order=False):
                return None
        return wanted


def _is_innermost(loop: ir.For) -> bool:
    return not any(isinstance(op, ir.For | ir.While) for op in loop.body.inside)


def _loops(nest: ir.For) -> list[int]:
    """How many loops there are in a loop, and in each of those."""
    inner = [op for op in nest.body.ops if isinstance(op, ir.For)]
    return [len(inner), *(count for loop in inner for count in _loops(loop))]


def _arrays(loop: ir.For, kind: Any) -> set[ir.Operand]:
    """The arrays of which a loop loads or stores elements."""
    return {op.array for op in loop.body.inside if isinstance(op, kind)}
