"""Additions to elements that several threads may add to, in an order that does not vary from run to run.

In: a function as its launches stand, with additions that would be atomic. Out: the same, in which these are kept, with
the element that each is for, and added up after the launch in the order of the trips; Unsupported where there is no
room for them.

    for i in prange(n):                     places = np.full(n, -1)
        a[k[i]] += x[i]                     for i in prange(n): places[i] = k[i]; values[i] = x[i]
                                            add_in_order(a, places, values)
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

from numba import types

from adjit.errors import Unsupported
from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched
from adjit.transform.analysis.extents import ndim
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.analysis.trip_counts import count_trips, trip_number
from adjit.transform.gpu import callees
from adjit.transform.gpu.mapping import Mapping
from adjit.transform.ir.types import array_type, array_type_of
from adjit.transform.rewrite.verified import checked

MOST_AXES = 3  # of an array in memory of any layout


def in_order(function: ir.Function) -> ir.Function:
    """The function without atomic additions of floats."""
    mapping = Mapping(function)
    found = _InOrder(function)
    for op, nest in mapping.nests.items():
        apart = set(nest.split.stores) if nest.split else set()
        inside = (store for store in nest.outer.body.inside if isinstance(store, ir.Store) and store.add)
        shared = [s for s in inside if s not in apart and found.aliases.find(s.array) in nest.atomic]
        found.launch(op, shared)
    for op, block in mapping.launches.items():
        found.launch(op, [s for s in block.outer.body.inside if isinstance(s, ir.Store) and s.atomic])
    if not found.instead:
        return function
    return checked(ir.with_body(function, ir.replaced(function.body, found.instead)), "in order")


class _InOrder:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.iterations = function.analysis(Iterations)
        self.instead: dict[ir.Op, Sequence[ir.Op]] = {}

    def launch(self, outer: ir.Op, stores: Sequence[ir.Store]) -> None:
        """Takes note of what becomes of a launch with additions that threads share."""
        stores = [store for store in stores if ir.is_float(store.value.type)]
        if not stores:
            return
        assert isinstance(outer, ir.For)
        before, after = ir.Builder(outer.origin), ir.Builder(outer.origin)
        inside: dict[ir.Op, Sequence[ir.Op]] = {}
        for store in stores:
            self._check(store, outer, stores)
            inside[store] = self._kept(store, outer, before, after)
        changed = ir.with_regions(outer, [ir.replaced(outer.body, inside)])
        self.instead[outer] = [*before.ops, changed, *after.ops]

    def _check(self, store: ir.Store, outer: ir.For, stores: Sequence[ir.Store]) -> None:
        """Unsupported where the additions cannot wait until the launch is over."""
        if self.aliases.base(store.array) in outer.body.defines:
            raise _refused(store, "The block uses the sums of its threads afterwards.", _BLOCK)
        memory = self.aliases.find(store.array)
        for op in outer.body.inside:
            if op not in stores and any(self.aliases.find(a) == memory for a in touched(op)):
                raise _refused(store, "The launch uses the sums of its threads afterwards.", _BLOCK)
        if ndim(store.array) > MOST_AXES:
            raise _refused(store, f"The array has more than {MOST_AXES} axes.", "Use fewer axes, with reshape.")

    def _kept(self, store: ir.Store, outer: ir.For, before: ir.Builder, after: ir.Builder) -> Sequence[ir.Op]:
        """What keeps an addition in the place of making it."""
        loops = list(self._loops(store, outer))
        shape = [count_trips(before, loop) for loop in loops]
        name = ir.name_of(store.array, "sum")
        places = ir.Var(f"{name}_places", array_type(types.int64, len(loops)))
        values = ir.Var(f"{name}_values", array_type(array_type_of(store.array).dtype, len(loops)))
        before.emit(ir.Alloc(shape=tuple(shape), out=places, fill=ir.integer(-1)))
        before.emit(ir.Alloc(shape=tuple(shape), out=values))
        builder = ir.Builder(store.origin)
        at = [trip_number(builder, loop, loop.body.args[0]) for loop in loops]
        builder.store(places, at, self._element(builder, store))
        builder.store(values, at, store.value)
        args = (store.array, places, values)
        after.emit(ir.Call(callee=callees.ADD_IN_ORDER, args=args, outs=(), effect=True))
        return builder.ops

    def _loops(self, store: ir.Store, outer: ir.For) -> Iterator[ir.For]:
        """The loops of the launch around an addition, of which it is known before how many trips they make."""
        around = self.iterations.places[store].loops
        for loop in around[around.index(outer) :]:
            is_known = isinstance(loop, ir.For) and not loop.stops
            bounds = (loop.start, loop.stop, loop.step) if isinstance(loop, ir.For) else ()
            if not is_known or any(end in outer.body.defines for end in bounds):
                raise _refused(
                    store,
                    "Their number is not known before the launch.",
                    "Give the loop around it bounds that are the same for all threads.",
                )
            assert isinstance(loop, ir.For)
            yield loop

    def _element(self, builder: ir.Builder, store: ir.Store) -> ir.Operand:
        """The number of the element, in the order of the indices."""
        found: ir.Operand | None = None
        for extent, index in zip(builder.shape(store.array), store.index, strict=True):
            below = builder.call(operator.lt, index, ir.integer(0), type=types.boolean, name="is_below")
            turned = emit_integer(builder, operator.add, index, extent, "place")
            place: ir.Operand = builder.call(ir.select, below, turned, index, type=types.int64, name="place")
            if found is not None:
                row = emit_integer(builder, operator.mul, found, extent, "row")
                place = emit_integer(builder, operator.add, row, place, "place")
            found = place
        assert found is not None
        return found


_BLOCK = "Leave deterministic out, or add up in an array with one element per thread."


def _refused(store: ir.Store, why: str, instead: str) -> Unsupported:
    what = f"additions to `{ir.name_of(store.array, 'an array')}` by many threads, in a fixed order"
    return Unsupported(what, ir.place_of(store.origin), why, instead)
