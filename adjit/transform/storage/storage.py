"""Storage: how each value of the forward sweep that the reverse sweep reads gets there.

In: `Sweeps`, whose mirror names values of the primal as if they were alive. Out: one region of IR for both sweeps.
A value is used where it is still alive, computed again where that is cheap, read again from memory where nothing
overwrote it, and taped otherwise. Memory that the reverse sweep reads and that was overwritten is restored on the way
back:

    invariant: at the mirror of a statement, all memory that the reverse still reads holds what it held there.

    v[i] = here + ...        here = v[i]; v_tape[t, i - 1] = here; v[i] = here + ...
                             ...
                             v[i] = v_tape[t, i - 1]
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.trip_counts import counter_of, has_one_trip, mirrored_range
from adjit.transform.derive.mirror import Group, Mirror, MirroredIf, MirroredLoop, Sweeps
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.notes import How, Provided, Remark, Restored, Swept, note, recording
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked
from adjit.transform.storage.expansion import expanded
from adjit.transform.storage.planning import plan
from adjit.transform.storage.primal import Joint, Primal
from adjit.transform.storage.reexecution import Refusal, Request, Rerun, state_of, with_what_is_around
from adjit.transform.storage.reversible_updates import retraceable
from adjit.transform.storage.snapshots import Kept, State
from adjit.transform.storage.sweep_fusion import fuse
from adjit.transform.storage.tapes import ForwardEdits, position
from adjit.transform.strategy import Strategy


def join(
    sweeps: Sweeps,
    extra_params: Sequence[ir.Var],
    with_value: bool,
    strategy: Strategy,
    requests: Mapping[ir.Op, Request] | None = None,
) -> Joint:
    """Forward and reverse sweep in one function; the trips of the loops in `requests` are run again."""
    return _Storage(sweeps, strategy, requests or {}).joint(extra_params, with_value)


class Scope:
    """The mirror of one region while it is lowered: what stands for the values of the primal region so far."""

    def __init__(self, region: ir.Region):
        self.region = region
        self.mapping: dict[ir.Var, ir.Operand] = {}
        self.ops: list[ir.Op] = []
        # growable tapes below here: the position to start from, and the one left at the end
        self.positions: dict[ir.Region, tuple[ir.Var, ir.Var]] = {}
        # up to which operation of the region stores are not undone yet
        self.undone = len(region.ops)


class _Storage:
    def __init__(self, sweeps: Sweeps, strategy: Strategy, requests: Mapping[ir.Op, Request]):
        self.sweeps = sweeps
        self.strategy = strategy
        self.requests = requests
        self.function = sweeps.forward
        self.top = sweeps.forward.body
        self.primal = Primal(self.function)
        self.aliases = self.primal.aliases
        self.made = self.primal.made
        self.plan = plan(self.primal, sweeps.mirror, strategy)
        self.saved: set[ir.Store] = set()
        # the statement whose adjoint is being made
        self.origin: ir.Origin | None = None
        self.stored_at = self.primal.stored_values()

    # -------------------------------------------------------------------------------------------------------- driver

    def joint(self, extra_params: Sequence[ir.Var], with_value: bool) -> Joint:
        while True:
            self.edits = ForwardEdits(self.primal, self.strategy.machine == "cpu" and self.strategy.uses("triangles"))
            # in the order in which they are met: from these comes the order in which arrays are given axes, and stand
            self.loads: dict[ir.Op, None] = {}
            self.whole_reads: dict[tuple[ir.Op | None, ir.Operand], None] = {}
            self.views: dict[ir.Operand, ir.Operand] = {}
            self.olds: dict[ir.Store, ir.Var] = {}
            self.taped: list[ir.Op] = []
            self.rerun: list[ir.For] = []
            with recording() as noted:
                scope = self.lower(self.sweeps.mirror)
            overwriting = self.overwriting()
            if self.expand(overwriting):
                continue
            if self.saved.issuperset(overwriting):
                break
            self.saved.update(overwriting)
        note(Swept(self.function, self.sweeps.shadows), *noted)
        forward, positions = self.edits.apply()
        ends = {start: positions[region] for region, (start, _) in scope.positions.items()}
        reverse = [ir.substituted(op, ends) for op in scope.ops]
        bars = [ir.substituted_operand(b, scope.mapping) for b in self.sweeps.bars]
        ops, values = self._values(forward, with_value)
        params = (*self.top.args, *extra_params)
        both = (ir.Comment(text=ir.FORWARD_SWEEP), *ops, ir.Comment(text=ir.REVERSE_SWEEP), *reverse)
        body, new = expanded(ir.Region(params, both, (*values, *bars)), self.primal.expanded)
        function = self.function
        made = dataclasses.replace(
            function,
            names=(*function.names, *(p.name for p in extra_params)),
            params=(*function.params, *extra_params),
            body=body,
            result=tuple(range(len(values) + len(bars))),
        )
        shadows = {new.get(array, array): shadow for array, shadow in self.sweeps.shadows.items()}
        scratch: dict[ir.Operand, Sequence[ir.For]] = {}
        tapes = {top: list(axes) for top, axes in self.edits.axes.items()}
        for array, loops in self.primal.expanded.items():
            scratch[new[array]] = loops
            tapes.setdefault(loops[0], []).append(len(loops) + array_type_of(array).ndim)
        return Joint(made, shadows, scratch, self.primal, tapes)

    def _values(self, forward: ir.Region, with_value: bool) -> tuple[list[ir.Op], list[ir.Operand]]:
        """The results of the primal; arrays that the reverse sweep restores to older contents are copied first."""
        ops = list(forward.ops)
        if not with_value:
            return ops, []
        values: list[ir.Operand] = []
        rerun = [op for loop in self.rerun for op in ir.walk(loop.body) if isinstance(op, ir.Store)]
        restored = {self.aliases.find(s.array) for s in (*self.saved, *rerun)}
        for y in forward.yields:
            if isinstance(y, ir.Var) and isinstance(y.type, types.Array) and self.aliases.find(y) in restored:
                out = dataclasses.replace(y)
                ops.append(ir.Copy(source=y, out=out))
                y = out
            values.append(y)
        return ops, values

    def expand(self, overwriting: Sequence[ir.Store]) -> bool:
        """Gives scratch arrays that would be put back axes of their own instead; whether there are more of them."""
        if not self.strategy.uses("expand"):
            return False
        makers = [self.primal.made_by(store.array) for store in overwriting if store not in self.saved]
        allocs = [op for op in (*makers, *self.taped) if isinstance(op, ir.Alloc)]
        if not self.primal.expand(op.out for op in allocs):
            return False
        self.stored_at = self.primal.stored_values()
        return True

    def overwriting(self) -> list[ir.Store]:
        """The stores that may overwrite what the reverse sweep reads."""
        found = [store for load in self.loads for store in self.primal.overwriters(load)]
        for reader, array in self.whole_reads:
            found += self.primal.overwriters_of(reader, array)
        for loop in self.rerun:
            inside = dict.fromkeys(ir.walk(loop.body))
            found += [store for op in inside for store in self.primal.overwriters(op) if store not in inside]
        return list(dict.fromkeys(found))

    # ------------------------------------------------------------------------------------------------------- lowering

    def lower(self, mirror: Mirror, scope: Scope | None = None) -> Scope:
        scope = scope or Scope(mirror.region)
        for group in mirror.groups:
            self.group(group, scope)
        for y in mirror.yields:
            self.require(y, scope)
        self._own_position(mirror.region, scope)
        return scope

    def group(self, group: Group, scope: Scope) -> None:
        op = group.op
        self.origin = None if op is None else op.origin
        if op is not None:
            scope.undone = self.primal.undone_at(op)
            if isinstance(op, ir.Store) and op in self.saved:
                self.restore(op, scope)
        for item in group.ops:
            if isinstance(item, MirroredLoop):
                self.loop(item, scope)
            elif isinstance(item, MirroredIf):
                self.conditional(item, scope)
            else:
                self.note_reads(item, op)
                self.put(scope, item)
            self.origin = None if op is None else op.origin

    def put(self, scope: Scope, *ops: ir.Op) -> None:
        """Emits operations of the reverse sweep, each after what it needs."""
        for op in ops:
            for operand in ir.reads(op):
                self.require(operand, scope)
            made = ir.substituted(op, scope.mapping)
            scope.ops.append(made if made.regions else made.at(self.origin))

    def note_reads(self, op: ir.Op, group: ir.Op | None) -> None:
        """Memory of the primal that an adjoint operation reads, maybe through a view that it made itself."""
        for inner in ir.with_inner(op):
            self.aliases.note(inner)
            if isinstance(inner, ir.VIEWS):
                self.views[inner.out] = self.views.get(inner.base, inner.base)
            for array in inner.memory_read:
                self.whole_reads[group, self.views.get(array, array)] = None

    def restore(self, store: ir.Store, scope: Scope) -> None:
        """Puts back what a store overwrote."""
        if self.primal.is_shared_addition(store):
            # what one of them finds there is what others have added to, or not
            raise errors.InternalError(f"additions of threads that would be restored: {store}")
        if store not in self.olds:
            assert isinstance(store.array.type, types.Array)
            old = ir.Var(f"{ir.name_of(store.array, 'array')}_old", store.array.type.dtype)
            self.olds[store] = old
            self.made[old] = (self.primal.region_of[store], self.primal.position[store])
            self.edits.before(store, ir.Load(array=store.array, index=store.index, out=old, origin=store.origin))
            self.edits.overwritten[old] = store
            note(Restored(store, old))
        self.put(scope, dataclasses.replace(store, value=self.olds[store], add=False))

    def run_again(self, item: MirroredLoop, request: Request, scope: Scope) -> None:
        """The mirror of a loop whose trips are run again."""
        assert isinstance(item.op, ir.For)
        loop = item.op
        wanted = {self.aliases.find(s.array) for s in self.saved.intersection(ir.walk(loop.body))}
        shadows = self.sweeps.shadows
        state = state_of(self.primal, loop, set(shadows.values()), wanted)
        is_outermost = scope.region is self.top or has_one_trip(loop)
        if isinstance(state, State) and not (state.is_empty or is_outermost):
            state = Refusal("It is inside a loop that is not checkpointed.")
        if isinstance(state, Refusal):
            if request.is_own:
                what, place = "call" if has_one_trip(loop) else "loop", ir.place_of(loop.origin)
                raise errors.Unsupported(f"a checkpoint of this {what}", place, state.why, "Leave it out.")
            note(Remark(loop.origin, f"its iterations are not recomputed: {state.why}"))
            self.requests = {op: r for op, r in self.requests.items() if op is not loop}
            self.loop(item, scope)
            return
        rerun = Rerun(self.primal, item, state, request, self.both_sweeps_of_a_trip)
        for op in rerun.before.ops:
            self.edits.before(loop, op)
        for _, copy in rerun.kept.copies if isinstance(rerun.kept, Kept) else ():
            self.made[copy] = (self.primal.region_of[loop], self.primal.position[loop])
        self.edits.replaced[loop] = rerun.kept.forward()
        self.rerun.append(loop)
        after = ir.Builder(loop.origin)
        if wanted:
            rerun.kept.put_back(after)
        self.put(scope, *rerun.reverse(shadows), *after.ops)

    def both_sweeps_of_a_trip(self, trip: Sweeps) -> ir.Function:
        joint = join(trip, (), False, self.strategy, self.requests)
        function = checked(simplify(checked(with_what_is_around(joint), "reversed")), "stored")
        return checked(simplify(fuse(function, joint)), "fused") if self.strategy.uses("fuse") else function

    def loop(self, item: MirroredLoop, scope: Scope) -> None:
        op = item.op
        request = self.requests.get(op)
        if request is None and isinstance(op, ir.For) and op.snapshots is not None:
            request = Request(op.snapshots or None)
        if request is not None:
            self.run_again(item, request, scope)
            return
        inner, builder = Scope(op.body), ir.Builder()
        mapping = inner.mapping
        if isinstance(op, ir.For) and not op.stops:
            counter = mapping[op.body.args[0]] = dataclasses.replace(op.body.args[0])
        else:
            counter = self.edits.trip_counter[op.body] = ir.Var("trip", types.intp)
            if isinstance(op, ir.For):
                # the counter of the primal, from the number of the trip
                mapping[op.body.args[0]] = counter_of(builder, op, counter)
        steps = retraceable(op)
        stepped = [op.slots[k] for k in steps]
        ends, backs = ([dataclasses.replace(slot.arg) for slot in stepped] for _ in range(2))
        for slot, end, step in zip(stepped, ends, steps.values(), strict=True):
            _, arg, yielded, _ = slot
            assert isinstance(yielded, ir.Var)
            # of arrays that change places this is what another one starts from
            mapping[yielded] = end
            if step.amount is not None:
                mapping[arg] = builder.call(step.inverse, end, step.amount, type=arg.type, name=arg.name)
            self.provided(arg, "stepped back", inner)
        self.put(inner, *builder.ops)
        self.lower(item.body, inner)
        carried = list(map(ir.Slot, item.inits, item.args, self.resolved(item.body.yields, inner), item.outs))
        starts = self.resolved([slot.arg for slot in stepped], inner)
        carried += map(ir.Slot, (slot.out for slot in stepped), ends, starts, backs)
        for region, (entry, left) in inner.positions.items():
            scope.positions[region] = first, last = position(), position()
            carried.append(ir.Slot(first, entry, left, last))
        self.put_loop(op, counter, carried, inner, scope)
        # what a loop started from is what its reverse ends with
        for (init, *_), back in zip(stepped, backs, strict=True):
            if isinstance(init, ir.Var) and scope.region is not self.top and self.made[init][0] is scope.region:
                scope.mapping.setdefault(init, back)

    def put_loop(
        self, op: ir.For | ir.While, counter: ir.Var, carried: Sequence[ir.Slot], inner: Scope, scope: Scope
    ) -> None:
        builder = ir.Builder()
        is_in_order = isinstance(op, ir.For) and self.primal.puts_back_in_order(op, self.saved)
        if is_in_order:
            self.edits.in_order.add(op)
        if isinstance(op, ir.For) and not op.stops:
            # a growable tape is read from its end
            start, stop, step = mirrored_range(builder, op, backwards=bool(inner.positions) or is_in_order)
        else:
            trips = self.edits.trips(op)
            self.made.setdefault(trips, (self.primal.region_of[op], self.primal.position[op]))
            start = builder.call(operator.sub, trips, ir.integer(1), type=types.intp, name="last")
            stop, step = ir.integer(-1), ir.integer(-1)
        self.put(scope, *builder.ops)
        region = ir.Region((counter,), tuple(inner.ops), ())
        loop = ir.For(start=start, stop=stop, step=step, body=region, origin=op.origin, pair=op, is_mirror=True)
        if isinstance(op, ir.For):
            is_free, is_parallel = op.order_free and not is_in_order, op.parallel and not is_in_order
            loop = dataclasses.replace(loop, order_free=is_free, parallel=is_parallel, level=op.level)
        self.put(scope, ir.with_slots(loop, carried))

    def _own_position(self, region: ir.Region, scope: Scope) -> None:
        """A region with growable tapes steps back one entry a trip."""
        index = self.edits.reverse_index.get(region)
        if index is None:
            return
        entry = position()
        scope.ops.insert(0, ir.Call(callee=operator.sub, args=(entry, ir.integer(1)), outs=(index,)))
        scope.positions[region] = (entry, index)

    def conditional(self, item: MirroredIf, scope: Scope) -> None:
        sides = [self.lower(mirror) for mirror in (item.then, item.orelse)]
        yields = [
            self.resolved(mirror.yields, side) for mirror, side in zip((item.then, item.orelse), sides, strict=True)
        ]
        outs = list(item.outs)
        positions: dict[ir.Region, tuple[ir.Var, ir.Var]] = {}
        for k, inner in enumerate(sides):
            for region, (entry, left) in inner.positions.items():
                positions[region] = (entry, position())
                outs.append(positions[region][1])
                yields[k].append(left)
                yields[1 - k].append(entry)
        then, orelse = (ir.Region((), tuple(side.ops), tuple(y)) for side, y in zip(sides, yields, strict=True))
        op = item.op
        self.put(scope, ir.If(condition=op.condition, then=then, orelse=orelse, outs=tuple(outs), origin=op.origin))
        scope.positions.update(positions)

    # ------------------------------------------------------------------------------------------------------- providing

    def resolved(self, operands: Sequence[ir.Operand], scope: Scope) -> list[ir.Operand]:
        """What stands for values of the primal at the end of the mirror of their region."""
        for operand in operands:
            self.require(operand, scope)
        return [ir.substituted_operand(operand, scope.mapping) for operand in operands]

    def require(self, operand: ir.Operand, scope: Scope) -> None:
        """Sees to it that a value of the primal is there at this point of the mirror of its region."""
        again: dict[ir.Op, bool] = {}
        # what it is made of comes first; a chain of values may be longer than Python's stack
        pending = [operand]
        while pending:
            value = pending[-1]
            op = self.maker(value, scope)
            if op is not None and op not in again:
                again[op] = self.is_recomputable(op, scope)
            is_again = op is not None and again[op]
            operands = ir.reads(op) if op is not None and is_again else ()
            first = next((o for o in operands if self.is_missing(o, scope)), None)
            if first is not None:
                pending.append(first)
            else:
                self.provide(pending.pop(), is_again, scope)

    def is_missing(self, value: ir.Operand, scope: Scope) -> bool:
        """Whether it is a value of the mirror's region that is not there yet."""
        if not isinstance(value, ir.Var) or value in scope.mapping or value not in self.made:
            return False
        region, _ = self.made[value]
        return region is scope.region and region is not self.top and value not in self.primal.expanded

    def maker(self, value: ir.Operand, scope: Scope) -> ir.Op | None:
        """The operation that makes a missing value; None if a carried value, or an edit of the forward sweep."""
        if not isinstance(value, ir.Var) or not self.is_missing(value, scope) or value in self.edits.overwritten:
            return None
        region, k = self.made[value]
        return region.ops[k] if k >= 0 and value in region.ops[k].results else None

    def provide(self, value: ir.Operand, is_again: bool, scope: Scope) -> None:
        """Makes a value again, if what it is made of is there, or gets it from where it is kept."""
        if not isinstance(value, ir.Var) or value in scope.mapping or value not in self.made:
            return
        region, _ = self.made[value]
        if region is self.top or value in self.primal.expanded:
            self.provided(value, "alive" if region is self.top else "with axes", scope)
            return
        if region is not scope.region:
            return
        op, store = self.maker(value, scope), self.stored_at.get(value)
        if op is None:
            self.tape(value, scope)
        elif is_again:
            self.recompute(op, scope)
        elif (
            store is not None
            and store not in self.saved
            and not self.is_put_back(store, store, scope)
            and not self.is_made_of(value, store.index, scope)
        ):
            load = ir.Load(array=store.array, index=store.index, out=dataclasses.replace(value))
            self.put(scope, load)
            self.provided(value, "reloaded", scope, load.out)
        else:
            self.taped.append(op)
            self.tape(value, scope)

    def is_made_of(self, value: ir.Operand, operands: Sequence[ir.Operand], scope: Scope) -> bool:
        """Whether missing values among these are made of this value, as where it tells its own place: `a[k] = k`."""
        seen: set[ir.Operand] = set()
        pending = list(operands)
        while pending:
            operand = pending.pop()
            if operand == value:
                return True
            op = self.maker(operand, scope)
            if op is not None and operand not in seen:
                seen.add(operand)
                pending.extend(ir.reads(op))
        return False

    def is_recomputable(self, op: ir.Op, scope: Scope) -> bool:
        if not self.plan.is_again(op):
            return False
        place = self.primal.position[op]
        loads = [inner for inner in ir.with_inner(op) if isinstance(inner, ir.Load)]
        if any(self.primal.is_shared_addition(store) for load in loads for store in self.primal.overwriters(load)):
            return False
        return not any(
            self.primal.is_stored_between(load, scope.region, place, scope.undone) or self.is_put_back(op, load, scope)
            for load in loads
        )

    def is_put_back(self, op: ir.Op, access: ir.Load | ir.Store, scope: Scope) -> bool:
        """Whether the memory of an access may hold by now what it held before `op`: the adjoint of a product, added to
        that of a factor read earlier, is the other factor, and stands in the group of where the first was read."""
        place = self.primal.position[op]
        return self.primal.is_stored_between(access, scope.region, scope.undone - 1, place, self.saved)

    def recompute(self, op: ir.Op, scope: Scope) -> None:
        for operand in ir.reads(op):
            self.require(operand, scope)
        for inner in ir.with_inner(op):
            if isinstance(inner, ir.Load):
                self.loads[inner] = None
        cloner = ir.Cloner(scope.mapping)
        scope.ops.append(dataclasses.replace(cloner.op(op), origin=self.origin))
        for out in op.results:
            self.provided(out, "recomputed", scope, cloner.mapping[out])

    def provided(self, value: ir.Var, how: How, scope: Scope, copy: ir.Operand | None = None) -> None:
        """Notes how a value gets there; `copy` stands for it from here on."""
        if copy is not None:
            scope.mapping[value] = copy
        region, k = self.made[value]
        op = region.ops[k] if k >= 0 else self.primal.owner.get(region)
        note(Provided(value, how, None if op is None else _assigned_at(op, value), copy))

    def tape(self, value: ir.Var, scope: Scope) -> None:
        """Keeps a value in the forward sweep: out of a branch as a result of the If, out of a loop on a tape."""
        owner = self.primal.owner[scope.region]
        if isinstance(owner, ir.If) and not self.primal.is_in_loop(scope.region):
            out = self.edits.lift(value, owner, scope.region)
            self.made.setdefault(out, (self.primal.region_of[owner], self.primal.position[owner]))
            self.provided(value, "lifted", scope, out)
        else:
            ops, loaded = self.edits.tape(value, scope.region)
            self.put(scope, *ops)
            self.provided(value, "taped", scope, loaded)


def _assigned_at(op: ir.Op, value: ir.Operand) -> ir.Origin | None:
    """The statement that gives a result of `op` its value: of an `if`, the last one in its branches that does."""
    if isinstance(op, ir.If) and value in op.outs:
        for region in (op.orelse, op.then):
            made = region.yields[op.outs.index(value)]
            maker = next((inner for inner in region.ops if made in inner.results), None)
            if maker is not None:
                return _assigned_at(maker, made)
    return op.origin
