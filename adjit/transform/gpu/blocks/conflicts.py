"""Which threads are at one element: in a stretch, in two stretches with no barrier between them, in two blocks.

In: a function whose blocks store by their threads. Out: which additions have to be atomic, and whether two stretches
have to be kept apart.

    for t: tile_bar[t + k] += ...            atomic: threads that are near each other add to one element
    for t: part[t] = x[t]                    kept apart: what a thread loads, another one stores
    for t: y[t] = part[15 - t]

Within a stretch only additions are asked about: the user's kernel has no races, so between two barriers no thread
touches what another one stores to, and what loads do becomes additions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.outlined_region import alone
from adjit.transform.gpu.blocks.block_operations import around_block, axes_in, is_threads, launches_in, stretches


def with_atomics(function: ir.Function) -> ir.Function:
    """The function with additions that several threads, or blocks, may make to one element marked as atomic."""
    aliases = function.analysis(Aliases)
    found: set[ir.Op] = set()
    for loop in launches_in(function.body):
        found |= meeting(alone(function, loop), around_block(loop), aliases)
        for stretch in stretches(loop.body):
            found |= meeting(alone(function, stretch), [stretch, *axes_in(stretch)], aliases)
    marked: dict[ir.Op, Sequence[ir.Op]] = {
        op: [dataclasses.replace(op, atomic=True)] for op in found if isinstance(op, ir.Store)
    }
    return ir.with_body(function, ir.replaced(function.body, marked)) if marked else function


def meeting(function: ir.Function, loops: Sequence[ir.For], aliases: Aliases) -> set[ir.Op]:
    """The additions inside that two trips of one of the loops may make to one element, in one trip of those around."""
    model = function.analysis(IndexModel)
    found: set[ir.Op] = set()
    for loop in loops:
        given = {aliases.find(v) for v in ir.free_vars(loop.body) if ir.is_reference(v)}
        made = {aliases.find(op.out) for op in loop.body.inside if isinstance(op, ir.Alloc | ir.Copy)} - given
        additions = [op for op in loop.body.inside if isinstance(op, ir.Store) and op.add]
        for k, one in enumerate(additions):
            for other in additions[k:]:
                if one in found and other in found:
                    continue
                memory = aliases.find(one.array)
                if memory != aliases.find(other.array) or memory in made:
                    continue
                if model.may_meet_in_other_trip(loop, one, other):
                    found |= {one, other}
    return found


class Meeting:
    """Asks whether what the threads do in two places may be about one element, in other threads.

    private: the memory of which each thread has its own, or touches its own elements only, by alias class
    """

    def __init__(self, function: ir.Function, private: Collection[ir.Operand]):
        self.function, self.private = function, private
        self.aliases = function.analysis(Aliases)
        self._answers: dict[tuple[ir.Op, ir.Op, bool], bool] = {}

    def meet(self, one: ir.Op, other: ir.Op, varying: Collection[ir.Operand] | None = None) -> bool:
        """Whether a barrier has to be between the two. `varying`: what a trip of a loop makes, if `other` is run in a
        later one than `one`."""
        key = (one, other, varying is not None)
        if key not in self._answers:
            self._answers[key] = self._meet(one, other, varying)
        return self._answers[key]

    def _meet(self, one: ir.Op, other: ir.Op, varying: Collection[ir.Operand] | None) -> bool:
        firsts, seconds = self._accesses(one), self._accesses(other)
        clashing = [(k, j) for k, a in enumerate(firsts) for j, b in enumerate(seconds) if self._clash(a, b)]
        pairs = [(k, j) for k, j in clashing if varying is not None or not self._are_apart(firsts[k], seconds[j])]
        if not pairs:
            return False
        if not (is_threads(one) and is_threads(other)):
            return True  # what all threads do alike is about any element
        if any(not self._are_one(firsts[k], seconds[j]) for k, j in pairs):
            return True  # arrays that change places
        return self._in_other_threads(one, other, pairs, varying)

    def _accesses(self, op: ir.Op) -> list[ir.Op]:
        return [
            inner
            for inner in ir.with_inner(op)
            if any(self.aliases.find(a) not in self.private for a in touched(inner))
        ]

    def _clash(self, a: ir.Op, b: ir.Op) -> bool:
        """Whether one of them changes memory that the other one may be about."""
        if a.memory_written is None and b.memory_written is None:
            return False
        if isinstance(a, ir.Store) and isinstance(b, ir.Store) and a.atomic and b.atomic:
            return False
        mine = {self.aliases.find(o) for o in touched(a)} - set(self.private)
        return any(self.aliases.find(o) in mine for o in touched(b))

    def _are_apart(self, a: ir.Op, b: ir.Op) -> bool:
        """Whether they are about arrays that are never one, in one trip of the loops around."""
        return all(self.aliases.are_distinct(x, y) for x in touched(a) for y in touched(b))

    def _are_one(self, a: ir.Op, b: ir.Op) -> bool:
        """Whether they are about one array, by its name."""
        bases = {self.aliases.base(o) for op in (a, b) for o in touched(op)}
        return len(bases) == 1

    def _in_other_threads(
        self, one: ir.Op, other: ir.Op, pairs: Sequence[tuple[int, int]], varying: Collection[ir.Operand] | None
    ) -> bool:
        free = ir.free_vars(ir.Region((), (other,), ()))
        renamed = {v: dataclasses.replace(v) for v in free if varying is not None and v in varying}
        if any(map(ir.is_reference, renamed)):
            return True  # arrays that change places
        cloner = ir.Cloner(renamed)
        later = cloner.op(other)
        # operations that run once more are others; what they are about is where it was
        firsts, seconds = self._accesses(one), self._copied(other, later)
        function = alone(self.function, one, later)
        model = function.analysis(IndexModel)
        assert isinstance(one, ir.For)
        assert isinstance(later, ir.For)
        axes = list(zip([one, *axes_in(one)], [later, *axes_in(later)], strict=False))
        if len(axes_in(one)) != len(axes_in(later)):
            return True
        return any(
            not isinstance(firsts[k], ir.Load | ir.Store)
            or not isinstance(seconds[j], ir.Load | ir.Store)
            or any(model.may_meet(firsts[k], seconds[j], one, (a, "!=", b)) for a, b in axes)
            for k, j in pairs
        )

    def _copied(self, op: ir.Op, copy: ir.Op) -> list[ir.Op]:
        """The accesses of a copy, in the order of those of what it is a copy of."""
        wanted = set(self._accesses(op))
        return [b for a, b in zip(ir.with_inner(op), ir.with_inner(copy), strict=True) if a in wanted]
