"""Arrays that a loop makes anew in each trip, from those of the trip before, as arrays that it changes in place.

In: a function. Out: the same with the carried arrays of loops whose trips are to be run again in memory of their own.

    for t in checkpoint(range(n)):          u = u.copy()
        u = np.sin(u) * u                   for t in checkpoint(range(n)):
                                                v = np.sin(u) * u
                                                u[...] = v

What a trip starts from is then in arrays that stay where they are, of one shape, and snapshots are copies of those.
That each trip leaves an array of the shape that it found is checked where it is not known: `Stretched`. A loop that is
left early makes all its trips, so that it is known before it how many.

    for t in checkpoint(range(n)):          is_over = False
        x = step(x)                         for t in checkpoint(range(n)):
        if x > 1.0: break                       if not is_over: x = step(x); is_over = x > 1.0
"""

from __future__ import annotations

import dataclasses

from numba import types

from adjit.runtime.library import same_extent
from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import FRESH, named_by, names_given
from adjit.transform.analysis.extents import ndim
from adjit.transform.analysis.trip_counts import has_one_trip
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type_of, writable


def change_in_place(function: ir.Function, everywhere: bool, may_check: bool) -> ir.Function:
    """Loops that are marked, or with `everywhere` also those of the outermost level; not where that could be told.

    may_check: whether shapes that are not known to stay the same may be taken to be so, and checked.
    """
    loops = [op for op in ir.walk(function.body) if isinstance(op, ir.For) and op.snapshots is not None]
    if everywhere:
        loops += [op for op in function.body.ops if isinstance(op, ir.For) and op not in loops and not op.stops]
    loops = [op for op in loops if not (op.parallel or has_one_trip(op))]
    # from the inside out, as the body of a loop is that of the loop around it, too
    for loop in reversed(loops):
        # the loop as it is by now: its counter is the same
        now = function.analysis(Uses).counters[loop.body.args[0]]
        function = _Loop(function, now, may_check).changed()
    return function


def make_all_trips(function: ir.Function) -> ir.Function:
    """Marked loops without an early end."""
    return ir.with_body(function, ir.rewritten(function.body, _to_the_end))


def _to_the_end(op: ir.Op) -> ir.Op:
    if not isinstance(op, ir.For) or not op.stops or op.snapshots is None:
        return op
    counter, *args = op.body.args
    is_over, out = ir.Var("is_over", types.boolean), ir.Var("is_over", types.boolean)
    results = tuple(dataclasses.replace(arg) for arg in (*args, is_over))
    trip = ir.If(
        condition=is_over,
        then=ir.Region((), (), (*args, is_over)),
        orelse=ir.Region((), op.body.ops, op.body.yields),
        outs=results,
        origin=op.origin,
    )
    return dataclasses.replace(
        op,
        inits=(*op.inits, ir.boolean(False)),
        body=ir.Region((counter, *args, is_over), (trip,), results),
        outs=(*op.outs, out),
        stops=False,
    )


class _Loop:
    def __init__(self, function: ir.Function, loop: ir.For, may_check: bool):
        self.function, self.loop, self.may_check = function, loop, may_check
        self.iterations, self.uses = function.analysis(Iterations), function.analysis(Uses)
        self.args, self.yields = loop.body.args[1:], loop.body.yields

    def changed(self) -> ir.Function:
        slots = self.slots()
        if not slots or not self.is_unseen(slots) or not (self.may_check or all(map(self.keeps_shape, slots))):
            return self.function
        own = {k: dataclasses.replace(self.loop.outs[k], type=writable(self.args[k].type)) for k in slots}
        origin = self.loop.origin
        before = [ir.Copy(source=self.loop.inits[k], out=array, origin=origin) for k, array in own.items()]
        kept = [k for k in range(len(self.args)) if k not in own]
        narrowed = ir.with_results(ir.with_regions(self.loop, [self.body(own)]), kept)
        made = ir.replaced(self.function.body, {self.loop: (*before, narrowed)})
        after: dict[ir.Var, ir.Operand] = {self.loop.outs[k]: array for k, array in own.items()}
        return ir.with_body(self.function, ir.substituted_region(made, after))

    def slots(self) -> list[int]:
        """Those of arrays that a trip looks at and does not leave as they are; none if they only change places."""
        read = {o for op in self.loop.body.ops for o in ir.reads(op)}.union(self.yields)
        found = [k for k, arg in enumerate(self.args) if ir.is_array(arg) and arg in read]
        found = [k for k in found if self.yields[k] is not self.args[k]]
        if {self.yields[k] for k in found} == {self.args[k] for k in found}:
            return []
        while True:
            # what another variable has of such an array is no longer there after the trip
            own = {self.args[k] for k in found}
            others = [k for k, arg in enumerate(self.args) if ir.is_array(arg) and k not in found]
            more = [k for k in others if named_by(self.function, [self.yields[k]]) & own]
            if not more:
                return found
            found += more

    def is_unseen(self, slots: list[int]) -> bool:
        """Whether it makes no difference that the array of each trip is not another one.

        So it is if nothing is stored into it once it is handed on, or into what it may be another name of; or if it has
        no other name. A copy is in C order.
        """
        starts = [self.loop.inits[k] for k in slots]
        is_undefined = any(isinstance(self.function.body.made.get(start), ir.Undefined) for start in starts)
        if is_undefined or any(array_type_of(self.args[k]).layout == "F" for k in slots):
            return False
        inside = self.loop.body.made.keys()
        stored = named_by(self.function, self.targets())
        names = named_by(self.function, [self.yields[k] for k in slots])
        own = {name for k in slots for name in (self.args[k], self.loop.outs[k])}
        # what else has the array of a trip when that is over
        others = [k for k in range(len(self.args)) if k not in slots and ir.is_array(self.args[k])]
        others = [k for k in others if named_by(self.function, [self.yields[k]]) & names]
        shared = {name for k in others for name in (self.args[k], self.loop.outs[k])}
        changed = ((names - inside) | own | shared) & stored
        return not changed or (not shared and changed <= own.union(starts) and all(map(self.has_one_name, slots)))

    def targets(self) -> list[ir.Operand]:
        """What is stored into, but for what is over before the function comes to the loop."""
        ops = self.function.body.ops
        outermost = (*self.uses.around[self.loop], self.loop)[0]
        inner = (made for op in ops[ops.index(outermost) :] for made in ir.with_inner(op))
        return [target for op in inner if (target := op.memory_written) is not None]

    def has_one_name(self, slot: int) -> bool:
        """Whether nothing but this variable stands for the arrays: each is made for it, the first one, too."""
        start, last = self.loop.inits[slot], self.yields[slot]
        made = {out for op in self.loop.body.ops if isinstance(op, FRESH) for out in op.results}
        region = self.uses.home[self.loop]
        place = region.ops.index(self.loop)
        before, after = region.ops[:place], region.ops[place + 1 :]
        is_made_here = any(isinstance(op, FRESH) and start in op.results for op in before)
        given = (memory for op in before for inner in ir.with_inner(op) for _, memory in names_given(inner))
        later = [o for op in (*self.loop.body.ops, *after) for o in ir.reads(op)]
        is_handed_on = start in (*given, *later, *self.yields, *region.yields) or self.loop.inits.count(start) > 1
        return last in made and self.yields.count(last) == 1 and is_made_here and not is_handed_on

    def keeps_shape(self, slot: int) -> bool:
        """Whether a trip is known to leave an array of the shape that it found."""
        return all(self.keeps_extent(slot, axis) for axis in range(ndim(self.args[slot])))

    def keeps_extent(self, slot: int, axis: int) -> bool:
        before = self.iterations.extent(self.loop.inits[slot], axis)
        return before is not None and before == self.iterations.extent(self.yields[slot], axis)

    def body(self, own: dict[int, ir.Var]) -> ir.Region:
        """A trip, at whose end what it leaves goes where the next one looks for it."""
        mapping: dict[ir.Var, ir.Operand] = {self.args[k]: array for k, array in own.items()}
        body = ir.substituted_region(self.loop.body, mapping)
        builder = ir.Builder(self.loop.origin)
        left = {k: body.yields[k] for k in own}
        for k in own:
            if named_by(self.function, [self.yields[k]]) & mapping.keys():
                # what another store of these may change
                copied = ir.Var(own[k].name, writable(self.yields[k].type))
                builder.emit(ir.Copy(source=left[k], out=copied))
                left[k] = copied
        for k, array in own.items():
            self.store_all(builder, k, array, left[k])
        return ir.Region(body.args, (*body.ops, *builder.ops), body.yields)

    def store_all(self, builder: ir.Builder, slot: int, array: ir.Var, value: ir.Operand) -> None:
        """Element by element, what the trip has left into the array that is there for it."""
        extents = builder.shape(array)
        for axis, extent in enumerate(extents):
            if not self.keeps_extent(slot, axis):
                other = builder.extent(value, axis)
                builder.emit(ir.Call(callee=same_extent, args=(extent, other), outs=(), effect=True))
        name = ir.element_name(array)
        builder.nest(extents, lambda index: builder.store(array, index, builder.load(value, index, name)))
