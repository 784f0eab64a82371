"""Buffers of time loops with memory of its own for what each trip makes of them, so that nothing is put back.

In: sweeps. Out: the same, where a trip that stores to a buffer all over, but for a rim, stores to a copy of it, which
has its place from there on.

    for t in range(n):                                  for t in range(n):
        for i in range(1, m - 1): q[i] = f(p, i)            q_2 = q.copy()
        p, q = q, p                                         for i in range(1, m - 1): q_2[i] = f(p, i)
                                                            p, q = q_2, p

What a trip has read is there in the reverse sweep then, and a tape holds which memory it was: no element is saved, and
none is stored back. That pays where fresh memory costs nothing, as on a GPU, where the launch that stores copies the
rim as well. Shadows change places as before. Buffers are those that the function makes and knows by no other name: what
a loop hands on, and what it changes where it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import FRESH, Aliases
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.analysis.must_writes import Covers
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.analysis.uses import Uses
from adjit.transform.derive.mirror import Group, Mirror, MirroredIf, MirroredLoop, Sweeps
from adjit.transform.ir.types import array_type_of
from adjit.transform.storage.reversible_updates import handed_round

FEW_TRIPS = 16  # a nest of fewer, known while compiling, is not worth it
Names = Mapping[ir.Var, ir.Operand]


def with_versions(sweeps: Sweeps) -> Sweeps | None:
    """The sweeps with such copies; None if there is no such buffer."""
    search = _Versions(sweeps.forward)
    function = search.applied()
    if not search.made:
        return None
    mirror = _Remade(search, sweeps.forward.body, function.body).mirror(sweeps.mirror, {})
    shadows = dict(sweeps.shadows)
    shadows.update({new: shadows[old] for new, old in search.made.items() if old in shadows})
    return Sweeps(function, mirror, sweeps.bars, shadows)


def are_kept(function: ir.Function) -> bool:
    """Whether a tape of both sweeps holds arrays that a loop of the forward sweep copies."""
    aliases = function.analysis(Aliases)
    loops = [op for op in function.body.ops if isinstance(op, ir.For)]
    copied = [op.out for loop in loops for op in loop.body.ops if isinstance(op, ir.Copy)]
    pushed = [op.value for op in function.body.inside if isinstance(op, ir.Push) and ir.is_array(op.value)]
    return any(aliases.may_share(one, other) for one in copied for other in pushed)


class _Versions:
    """made: the versions, and of which buffer each is; names: what stands for buffers at an operation."""

    def __init__(self, function: ir.Function):
        self.function = function
        self.aliases = function.analysis(Aliases)
        self.covers = function.analysis(Covers)
        self.uses = function.analysis(Uses)
        self.sharings = LoopDependences(function)
        self.made: dict[ir.Var, ir.Var] = {}
        self.copies: set[ir.Op] = set()
        self.names: dict[ir.Op, Names] = {}
        self.known: dict[ir.Operand, set[ir.Operand]] = {}
        args = (arg for region in ir.regions(function.body) for arg in region.args)
        for name in filter(ir.is_reference, (*args, *(out for op in function.body.inside for out in op.results))):
            self.known.setdefault(self.aliases.find(name), set()).add(name)

    def applied(self) -> ir.Function:
        body, after, ops = self.function.body, dict[ir.Var, ir.Operand](), list[ir.Op]()
        for op in body.ops:
            self.names[op] = dict(after)
            changed = self.loop(op, after) if isinstance(op, ir.For) else None
            ops.append(ir.substituted(op, after) if changed is None else ir.substituted(changed, self.names[op]))
        yields = [ir.substituted_operand(y, after) for y in body.yields]
        return ir.with_body(self.function, ir.with_ops(body, ops, yields))

    def loop(self, loop: ir.For, after: dict[ir.Var, ir.Operand]) -> ir.Op | None:
        """The loop with versions of its buffers, None if it has none; `after` gets what stands for those behind it."""
        if loop.parallel or loop.order_free or loop.level or loop.snapshots is not None:
            return None
        carried = self.carried(loop)
        buffers = {w for w in (*carried, *self.changed(loop)) if self.is_stored_whole(loop, w)}
        if not buffers:
            return None
        now: dict[ir.Var, ir.Operand] = {}
        ops: list[ir.Op] = []
        for op in loop.body.ops:
            self.names[op] = dict(now)
            kept: dict[ir.Op, ir.Operand] = {}
            for w in [w for w in self.stored(op) if w in buffers]:
                found = self.cover(op, w)
                if found is not None:
                    kept.update(dict.fromkeys(found, now.get(w, w)))
                    new = ir.Var(w.name, w.type, w.user)
                    ops.append(ir.Copy(source=now.get(w, w), out=new, origin=op.origin))
                    self.copies.add(ops[-1])
                    self.made[new] = w
                    now[w] = new
            ops.append(self.with_names(op, now, kept))
        yields = [ir.substituted_operand(y, now) for y in loop.body.yields]
        slots: list[ir.Slot] = []
        for w in [w for w in now if w not in carried]:
            # changed where it is: from here on the loop hands it on
            arg, out = (dataclasses.replace(w) for _ in range(2))
            slots.append(ir.Slot(w, arg, now[w], out))
            after[w] = out
            self.made[arg] = self.made[out] = w
        inside = {slot.init: slot.arg for slot in slots if isinstance(slot.init, ir.Var)}
        self.names.update({op: {**inside, **self.names[op]} for op in loop.body.ops})
        body = ir.substituted_region(ir.Region(loop.body.args, tuple(ops), tuple(yields)), inside)
        return ir.with_slots(dataclasses.replace(loop, body=body), slots)

    # -------------------------------------------------------------------------------------------------------- buffers

    def carried(self, loop: ir.For) -> list[ir.Var]:
        """The arrays that change places in a loop, of memory that the function makes for that."""
        slots = [loop.slots[k] for k in handed_round(loop)]
        own = {name for slot in slots for name in (slot.init, slot.arg, slot.out)}
        inits = [slot.init for slot in slots]
        found = [slot.arg for slot in slots if self.known[self.aliases.find(slot.arg)] <= own]
        are_made = all(self.is_own(init, loop) and inits.count(init) == 1 for init in inits)
        return found if are_made and not any(self.is_held(name) for name in own) else []

    def changed(self, loop: ir.Op) -> Iterator[ir.Var]:
        """The arrays that a loop stores to, of memory that the function has made before and knows by one name."""
        for array in self.stored(loop):
            is_alone = self.known[self.aliases.find(array)] == {array}
            op = self.function.body.made.get(array)
            if is_alone and op in self.function.body.ops and isinstance(op, FRESH) and not self.is_held(array):
                yield array

    def stored(self, op: ir.Op) -> list[ir.Var]:
        found = dict.fromkeys(inner.array for inner in ir.with_inner(op) if isinstance(inner, ir.Store))
        return [array for array in found if isinstance(array, ir.Var)]

    def is_own(self, init: ir.Operand, loop: ir.Op) -> bool:
        """Whether an array is made for a loop: nothing looks at it afterwards, or in the loop."""
        body = self.function.body
        op = body.made.get(init)
        if op not in body.ops or not isinstance(op, FRESH) or init in self.uses.held:
            return False
        before = {inner for one in body.ops[: body.ops.index(loop)] for inner in ir.with_inner(one)}
        return all(user in before or user is loop for user in self.uses.users.get(init, ()))

    def is_held(self, name: ir.Operand) -> bool:
        """Whether something keeps the array by itself: a tape, or another loop."""
        return any(isinstance(user, ir.Push) for user in self.uses.users.get(name, ()))

    # --------------------------------------------------------------------------------------------------------- stores

    def is_stored_whole(self, loop: ir.For, w: ir.Var) -> bool:
        """Whether the first of the trip's operations that stores to the array does so all over."""
        first = next((op for op in loop.body.ops if w in self.stored(op)), None)
        return first is not None and array_type_of(w).layout == "C" and self.cover(first, w) is not None

    def cover(self, nest: ir.Op, w: ir.Var) -> Sequence[ir.Load] | None:
        """The loads of the array in a nest that stores to all of it but a rim, each of the element that is stored next;
        None if it is no such nest."""
        if not isinstance(nest, ir.For) or isinstance(self.sharings.of(nest), Serial):
            return None
        trips = literal_trips(nest)
        found = None if trips is not None and len(trips) < FEW_TRIPS else self.covers.of(nest, w)
        return None if found is None else found.loads

    def with_names(self, op: ir.Op, now: Names, kept: Mapping[ir.Op, ir.Operand]) -> ir.Op:
        """The operation with what buffers are called by now; `kept`: loads of what an array was before."""

        def renamed(inner: ir.Op) -> ir.Op:
            if inner in kept:
                assert isinstance(inner, ir.Load)
                assert isinstance(inner.array, ir.Var)
                return ir.substituted(inner, {**now, inner.array: kept[inner]})
            # of what has regions, those are done
            operands = [ir.substituted_operand(o, now) for o in inner.operands]
            return inner.rebuilt(operands, inner.regions, inner.results)

        return ir.rewritten_op(op, renamed)


class _Remade:
    """The mirror of a function for the same with versions: of its operations and regions, with its names."""

    def __init__(self, search: _Versions, old: ir.Region, new: ir.Region):
        self.names, self.copies = search.names, {op.out for op in search.copies if isinstance(op, ir.Copy)}
        self.ops: dict[ir.Op, ir.Op] = {}
        self.regions: dict[ir.Region, ir.Region] = {}
        self.pair(old, new)

    def pair(self, old: ir.Region, new: ir.Region) -> None:
        self.regions[old] = new
        left = [op for op in new.ops if not (isinstance(op, ir.Copy) and op.out in self.copies)]
        for one, other in zip(old.ops, left, strict=True):
            self.ops[one] = other
            for inner, made in zip(one.regions, other.regions, strict=True):
                self.pair(inner, made)

    def mirror(self, mirror: Mirror, names: Names) -> Mirror:
        groups: list[Group] = []
        for group in mirror.groups:
            op = None if group.op is None else self.ops[group.op]
            own = names if group.op is None else {**names, **self.names.get(group.op, {})}
            groups.append(Group(op, [self.item(item, own) for item in group.ops]))
        return Mirror(self.regions[mirror.region], groups, mirror.yields)

    def item(self, item: ir.Op | MirroredLoop | MirroredIf, names: Names) -> ir.Op | MirroredLoop | MirroredIf:
        if isinstance(item, MirroredLoop):
            loop = self.ops[item.op]
            assert isinstance(loop, ir.For | ir.While)
            return MirroredLoop(loop, item.inits, item.args, self.mirror(item.body, names), item.outs)
        if isinstance(item, MirroredIf):
            branch = self.ops[item.op]
            assert isinstance(branch, ir.If)
            then, orelse = self.mirror(item.then, names), self.mirror(item.orelse, names)
            return MirroredIf(branch, then, orelse, item.outs)
        return ir.substituted(item, names)
