"""Arrays of which the trips of a loop read what trips before them stored; no other ones are state of the loop.

In: a loop of the primal, whose arrays have one name each. Out: which of the arrays that it carries, and of those around
it that it changes, it looks at before it has stored to what it looks at. isl is asked about as many trips in a row as
it takes for arrays to be where they were.

    for t in range(n):
        for i in range(1, m - 1):          u is exposed, and v is not: the next trip reads what is stored here, and
            v[i] = u[i - 1] + u[i + 1]     v[0] and v[m - 1], which no trip changes
        u, v = v, u
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from numba import types

from adjit.runtime.library import same_extent
from adjit.transform import ir
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.ir.types import array_type_of
from adjit.transform.storage.primal import Primal, with_parameters

MOST_PLACES = 4  # that an array goes through until it is where it was


def cycles(loop: ir.For, slots: Sequence[int]) -> list[tuple[int, ...]]:
    """The slots among which arrays change places: what is in one of them is in the next one in the next trip."""
    after = ir.next_slots(loop, slots)
    found: list[tuple[int, ...]] = []
    for k in slots:
        if not any(k in cycle for cycle in found):
            cycle = [k]
            while after[cycle[-1]] != k:
                cycle.append(after[cycle[-1]])
            found.append(tuple(cycle))
    return found


def exposed(
    primal: Primal, loop: ir.For, slots: Sequence[int], around: Sequence[ir.Var]
) -> tuple[set[int], set[ir.Var]]:
    """The slots of carried arrays, and the arrays around the loop, that are state of it."""
    among = cycles(loop, slots)
    if max(map(len, among), default=1) > MOST_PLACES:
        return set(slots), set(around)
    trips = _Trips(primal, loop, among)
    return (
        {k for cycle in among for k in cycle if trips.is_exposed([trips.params[j] for j in cycle], trips.params[k])},
        {array for array in around if trips.is_exposed([array], array)},
    )


class _Trips:
    """Some trips of a loop as a function: one of any number, of which only the stores count, and others in a row."""

    def __init__(self, primal: Primal, loop: ir.For, among: Sequence[tuple[int, ...]]):
        self.loop = loop
        free = [v for v in ir.free_vars(loop.body) if isinstance(v, ir.Var)]
        self.params = {k: dataclasses.replace(loop.body.args[1 + k]) for cycle in among for k in cycle}
        self.more: list[ir.Var] = []
        checks = self._alike(primal, among)
        any_trip = self._trip(self._start())
        state = self._start()
        row: list[ir.Op] = []
        for _ in range(max(map(len, among), default=1)):
            trip, state = self._trip(state)
            row += trip
        one = ir.For(stop=ir.integer(1), body=ir.Region((ir.Var("row", types.intp),), tuple(row), ()))
        params = (*free, *self.params.values(), *self.more)
        apart = dataclasses.replace(primal.function, overlapping=())
        self.function = with_parameters(apart, params, (*checks, *any_trip[0], one), ())
        self.row = one
        self.model = self.function.analysis(IndexModel)
        self.changes = [op for inner in any_trip[0] for op in ir.with_inner(inner) if isinstance(op, ir.Store)]

    def is_exposed(self, places: Sequence[ir.Operand], array: ir.Operand) -> bool:
        """Whether what the array holds before the row is read in it, where trips change it in one of its places."""
        return self.model.reads_older(array, self.row, self.changes, places)

    def _alike(self, primal: Primal, among: Sequence[tuple[int, ...]]) -> list[ir.Op]:
        """Checks that say that arrays which change places have the same extents, where that is so."""
        builder = ir.Builder()
        pairs: list[tuple[ir.Operand, ir.Operand]] = []
        for first, *others in among:
            for axis in range(array_type_of(self.params[first]).ndim):
                extent = primal.extent(self.loop.inits[first], axis)
                pairs += [
                    (builder.extent(self.params[first], axis), builder.extent(self.params[k], axis))
                    for k in others
                    if extent is not None and extent == primal.extent(self.loop.inits[k], axis)
                ]
        for left, right in pairs:
            builder.emit(ir.Call(callee=same_extent, args=(left, right), outs=()))
        return builder.ops

    def _start(self) -> dict[ir.Var, ir.Operand]:
        """Values that a trip may start from: these arrays, and any numbers."""
        args = self.loop.body.args
        numbers = [arg for k, arg in enumerate(args) if k - 1 not in self.params]
        made = {arg: dataclasses.replace(arg) for arg in numbers}
        self.more += made.values()
        return {**made, **{args[1 + k]: param for k, param in self.params.items()}}

    def _trip(self, state: dict[ir.Var, ir.Operand]) -> tuple[list[ir.Op], dict[ir.Var, ir.Operand]]:
        """A trip and what the next one starts from."""
        cloner = ir.Cloner(state)
        ops = [ir.unpaired(cloner.op(op)) for op in self.loop.body.ops]
        counter = dataclasses.replace(self.loop.body.args[0])
        self.more.append(counter)
        yields = map(cloner.operand, self.loop.body.yields)
        return ops, {self.loop.body.args[0]: counter, **dict(zip(self.loop.body.args[1:], yields, strict=True))}
