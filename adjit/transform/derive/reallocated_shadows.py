"""Carried arrays that each trip makes anew, so that the reverse loop can make their shadows anew as well.

In: a function and its alias classes. Out: the results of loops that are such arrays; and for an array another one of
the same shape that is there for longer, so that a shadow need not keep the array itself alive.

    for _ in range(n):              the array of the next trip is no memory of this one: going back, its shadow is what
        x = A @ x                   the trip after handed back, and that of the old x starts from zero

    w = v.copy()                                     w is like v
    for _ in range(n): v = <an array like v>         v is, in each trip, like what it was before the loop
    for _ in range(n): v = <an array like x>         and where it was nothing, like x

    u = u0                                           k is as long as u0 is, so u has that extent in each trip, and
    for _ in range(n): u = <an array like k>         that need not be asked of the u of a trip
"""

from __future__ import annotations

from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import FRESH, Aliases
from adjit.transform.analysis.extents import Axis, extent_source
from adjit.transform.analysis.trip_counts import has_one_trip, literal_trips
from adjit.transform.ir.types import array_type_of


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
        self.stores = aliases.stores()

    def slots(self, op: ir.For | ir.While) -> list[ir.Var]:
        own = {out for inner in op.body.ops for out in self.fresh(inner)}
        inside = {out for inner in ir.walk(op.body) if isinstance(inner, FRESH) for out in inner.results}
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
        if isinstance(op, FRESH):
            return op.results
        if isinstance(op, ir.For) and literal_trips(op):
            return self.slots(op)
        return ()

    def is_harmless(self, store: ir.Store, loop: ir.Op, inside: set[ir.Var]) -> bool:
        """Whether a store is into memory of one trip, or over before the loop is reached."""
        return ir.base_of(store.array, self.made) in inside or self.place[store] < self.place[loop]


class Likeness:
    def __init__(self, function: ir.Function):
        self._function = function
        self._made = function.body.made
        loops = [op for op in ir.walk(function.body) if isinstance(op, ir.For | ir.While)]
        self._slots = {slot.arg: (loop, slot) for loop in loops for slot in loop.slots}

    def of(self, array: ir.Var) -> ir.Var:
        """The array itself, or one that was there before the loops that carry it."""
        while (array := self._origin(array)) in self._slots:
            loop, slot = self._slots[array]
            origin = self._origin(slot.yielded) if isinstance(slot.yielded, ir.Var) else None
            if isinstance(self._made.get(slot.init), ir.Undefined):
                # the trip before made it, and there is none that could have been there before the loop
                if origin is None or origin in loop.body.defines:
                    return array
                array = origin
            elif isinstance(slot.init, ir.Var) and origin is array:
                array = slot.init
            else:
                return array
        return array

    def extents(self, array: ir.Var) -> tuple[ir.Operand, ...] | None:
        """The extents of an array that only the trip before made, where they are the same in each trip."""
        if array not in self._slots:
            return None
        loop, slot = self._slots[array]
        alloc = self._made.get(slot.yielded)
        is_first = isinstance(self._made.get(slot.init), ir.Undefined)
        if not is_first or not isinstance(alloc, ir.Alloc) or alloc.like is not None:
            return None
        return alloc.shape if loop.body.defines.isdisjoint(alloc.shape) else None

    def fixed(self, array: ir.Var) -> tuple[Affine, ...] | None:
        """The extents of an array that a loop carries, where they follow from what is there outside of all loops."""
        if array not in self._slots or array_type_of(array).layout != "C":
            return None
        iterations = self._function.analysis(Iterations)
        values = [iterations.extent(array, axis) for axis in range(array_type_of(array).ndim)]
        found = [shown for v in values if v is not None and (shown := iterations.in_variables(v)) is not None]
        names = {s[0] if isinstance(s, tuple) else s for value in found for s in value.terms}
        return tuple(found) if len(found) == len(values) and all(map(self._is_at_top, names)) else None

    def of_call(self, array: ir.Var) -> tuple[ir.Operand | Axis, ...] | None:
        """The extents of what a call makes, where they are those of arrays that it is given, or follow from theirs."""
        if not isinstance(self._made.get(array), ir.Call) or array_type_of(array).layout != "C":
            return None
        found = [self._extent_of_call(array, axis) for axis in range(array_type_of(array).ndim)]
        shape = [extent for extent in found if extent is not None]
        return tuple(shape) if len(shape) == len(found) else None

    def _extent_of_call(self, array: ir.Operand, axis: int) -> ir.Operand | Axis | None:
        """None if it is that of an array which would have to be kept for it."""
        while isinstance(made := self._made.get(array), (ir.Transpose, *FRESH)):
            source = extent_source(made, axis, self._made)
            if not isinstance(source, tuple):
                return source
            array, axis = source
        return (array, axis) if self._is_at_top(ir.base_of(array, self._made)) else None

    def _is_at_top(self, name: object) -> bool:
        body = self._function.body
        return name in body.args or self._made.get(name) in body.ops  # type: ignore[call-overload]

    def _origin(self, array: ir.Var) -> ir.Var:
        """Back through copies, as far as they go."""
        while (source := self._source(array)) is not None:
            array = source
        return array

    def _source(self, array: ir.Var) -> ir.Var | None:
        """The array that this one was made as large as."""
        op = self._made.get(array)
        if isinstance(op, ir.Copy):
            return op.source if isinstance(op.source, ir.Var) else None
        if not isinstance(op, ir.Alloc):
            return None
        if op.like is not None:
            return op.like
        extents = [e for n in op.shape if isinstance(e := self._made.get(n), ir.Extent)]
        source = extents[0].array if extents else None
        is_whole = len(extents) == len(op.shape) == getattr(getattr(source, "type", None), "ndim", -1)
        is_in_order = all(e.array == source and e.axis == axis for axis, e in enumerate(extents))
        return source if isinstance(source, ir.Var) and is_whole and is_in_order else None
