"""Carried arrays that each trip makes anew, so that the reverse loop can make their shadows anew as well.

In: a function and its alias classes. Out: the results of loops that are such arrays.

    for _ in range(n):              the array of the next trip is no memory of this one: going back, its shadow is what
        x = A @ x                   the trip after handed back, and that of the old x starts from zero
"""

from __future__ import annotations

from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.trip_counts import has_one_trip, literal_trips

_FRESH = (ir.Alloc, ir.Copy, ir.Call)


def renewed(function: ir.Function, aliases: Aliases) -> set[ir.Var]:
    """The array results of loops that each trip makes anew, where nothing stores into an older one later on."""
    search = _Search(function, aliases)
    return {out for op in ir.walk(function.body) if isinstance(op, ir.For | ir.While) for out in search.slots(op)}


class _Search:
    def __init__(self, function: ir.Function, aliases: Aliases):
        self.aliases = aliases
        self.made = function.body.made
        # which operation of the function's own region each one is in
        self.place = {inner: k for k, op in enumerate(function.body.ops) for inner in ir.with_inner(op)}
        self.stores = aliases.stores(function)

    def slots(self, op: ir.For | ir.While) -> list[ir.Var]:
        own = {out for inner in op.body.ops for out in self.fresh(inner)}
        inside = {out for inner in ir.walk(op.body) if isinstance(inner, _FRESH) for out in inner.results}
        yielded = [y for y in op.body.yields if ir.is_array(y)]
        found: list[ir.Var] = []
        for _, arg, new, out in op.slots:
            if not isinstance(out.type, types.Array) or new not in own or yielded.count(new) > 1 or arg in yielded:
                continue
            stores = self.stores.get(self.aliases.find(out), ())
            if has_one_trip(op) or all(self.is_harmless(store, op, inside) for store in stores):
                found.append(out)
        return found

    def fresh(self, op: ir.Op) -> Sequence[ir.Var]:
        """What an operation makes anew: a loop that does make a trip, with all that this makes."""
        if isinstance(op, _FRESH):
            return op.results
        if isinstance(op, ir.For) and literal_trips(op):
            return self.slots(op)
        return ()

    def is_harmless(self, store: ir.Store, loop: ir.Op, inside: set[ir.Var]) -> bool:
        """Whether a store is into memory of one trip, or over before the loop is reached."""
        return ir.base_of(store.array, self.made) in inside or self.place[store] < self.place[loop]
