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
from collections.abc import Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.alias import Aliases, is_reference, memory_read
from adjit.transform.cost import is_cheap
from adjit.transform.expansion import Scratch, expanded
from adjit.transform.forward_edits import ForwardEdits
from adjit.transform.mirror import Group, Mirror, MirroredIf, MirroredLoop, Sweeps
from adjit.transform.polyhedra import IndexModel
from adjit.transform.retrace import Step, retraceable
from adjit.transform.shadows import carried_args
from adjit.transform.trips import mirrored_range

LARGEST_BRANCH = 16  # operations in a branch that is evaluated again


@dataclass(frozen=True)
class Joint:
    """Both sweeps in one function: the value's leaves if asked for, then the adjoints.

    `shadows` has the shadow of each array that has one, `scratch` the arrays of which a trip of these loops has a part
    to itself.
    """

    function: ir.Function
    shadows: dict[ir.Operand, ir.Var]
    scratch: dict[ir.Operand, Sequence[ir.For]]


def join(sweeps: Sweeps, extra_params: Sequence[ir.Var], with_value: bool) -> Joint:
    """Forward and reverse sweep in one function."""
    return _Storage(sweeps).joint(extra_params, with_value)


class _Scope:
    """The mirror of one region while it is lowered: what stands for the values of the primal region so far."""

    def __init__(self, region: ir.Region, mapping: dict[ir.Var, ir.Operand]):
        self.region = region
        self.mapping = mapping
        self.ops: list[ir.Op] = []
        # growable tapes below here: the position to start from, and the one left at the end
        self.positions: dict[ir.Region, tuple[ir.Var, ir.Operand]] = {}
        # up to which operation of the region stores are not undone yet
        self.undone = len(region.ops)


class _Carried:
    """What a reverse loop carries."""

    def __init__(self, args: list[ir.Var], inits: list[ir.Operand], yields: list[ir.Operand], outs: list[ir.Var]):
        self.args, self.inits, self.yields, self.outs = args, inits, yields, outs

    def add_position(self, entry: ir.Var, left: ir.Operand) -> tuple[ir.Var, ir.Operand]:
        """One more slot, for the position in a growable tape; gives where it comes from and where it ends."""
        before, out = ir.Var("position", types.intp), ir.Var("position", types.intp)
        self.args.append(entry)
        self.inits.append(before)
        self.yields.append(left)
        self.outs.append(out)
        return before, out


class _Storage:
    def __init__(self, sweeps: Sweeps):
        self.sweeps = sweeps
        self.function = sweeps.forward
        self.top = sweeps.forward.body
        self.aliases = Aliases(self.function)
        self.index_model = IndexModel(self.function)
        self.scratch = Scratch(self.function, self.aliases, self.index_model)
        # the scratch arrays that get an axis more for each of these loops
        self.expanded: dict[ir.Var, Sequence[ir.For]] = {}
        self.region_of: dict[ir.Op, ir.Region] = {}
        self.position: dict[ir.Op, int] = {}
        self.owner: dict[ir.Region, ir.Op] = {}
        self.made: dict[ir.Var, tuple[ir.Region, int]] = {}
        self._note(self.top)
        self.stores: dict[ir.Operand, list[ir.Store]] = {}
        for op in ir.walk(self.top):
            if isinstance(op, ir.Store):
                self.stores.setdefault(self.aliases.find(op.array), []).append(op)
        self.saved: set[ir.Store] = set()
        # the statement whose adjoint is being made
        self.origin: ir.Origin | None = None
        self.stored_at: dict[ir.Var, ir.Store] = self._stored_values()

    def _note(self, region: ir.Region) -> None:
        for arg in region.args:
            self.made[arg] = (region, -1)
        for k, op in enumerate(region.ops):
            self.region_of[op] = region
            self.position[op] = k
            for out in op.results:
                self.made[out] = (region, k)
            for inner in op.regions:
                self.owner[inner] = op
                self._note(inner)

    def _stored_values(self) -> dict[ir.Var, ir.Store]:
        """Numbers that are stored, in the region that makes them, in memory that nothing overwrites afterwards."""
        found: dict[ir.Var, ir.Store] = {}
        for op in ir.walk(self.top):
            if not isinstance(op, ir.Store) or op.add or not isinstance(op.value, ir.Var) or op.value in found:
                continue
            region, _ = self.made[op.value]
            if region is self.region_of[op] and region is not self.top and not self._is_overwritten(op):
                found[op.value] = op
        return found

    def _is_overwritten(self, store: ir.Store) -> bool:
        """Whether what is stored may be gone before the mirror of the store."""
        # asked of isl as if the element were read where it is stored
        return any(
            self.index_model.stored_may_be_overwritten(store, other)
            for other in self.stores[self.aliases.find(store.array)]
        )

    # -------------------------------------------------------------------------------------------------------- driver

    def joint(self, extra_params: Sequence[ir.Var], with_value: bool) -> Joint:
        while True:
            self.edits = ForwardEdits(self.function, self.made, self.owner, self.region_of)
            self.loads: set[ir.Op] = set()
            self.whole_reads: set[tuple[ir.Op | None, ir.Operand]] = set()
            self.olds: dict[ir.Store, ir.Var] = {}
            self.taped_arrays: list[ir.Op] = []
            scope = self.lower(self.sweeps.mirror, {})
            overwriting = self.overwriting()
            if self.expand(overwriting):
                continue
            if overwriting <= self.saved:
                break
            self.saved |= overwriting
        forward, positions = self.edits.apply()
        ends = {start: positions[region] for region, (start, _) in scope.positions.items()}
        reverse = [ir.substituted(op, ends) for op in scope.ops]
        bars = [ir.substituted_operand(b, scope.mapping) for b in self.sweeps.bars]
        ops, values = self._values(forward, with_value)
        params = (*self.top.args, *extra_params)
        both = (ir.Comment(text=ir.FORWARD_SWEEP), *ops, ir.Comment(text=ir.REVERSE_SWEEP), *reverse)
        body, new = expanded(ir.Region(params, both, (*values, *bars)), self.expanded)
        function = self.function
        made = dataclasses.replace(
            function,
            names=(*function.names, *(p.name for p in extra_params)),
            params=(*function.params, *extra_params),
            body=body,
            result=tuple(range(len(values) + len(bars))),
        )
        shadows = {new.get(array, array): shadow for array, shadow in self.sweeps.shadows.items()}
        return Joint(made, shadows, {new[array]: loops for array, loops in self.expanded.items()})

    def _values(self, forward: ir.Region, with_value: bool) -> tuple[list[ir.Op], list[ir.Operand]]:
        """The results of the primal; arrays that the reverse sweep restores to older contents are copied first."""
        ops = list(forward.ops)
        if not with_value:
            return ops, []
        values: list[ir.Operand] = []
        restored = {self.aliases.find(s.array) for s in self.saved}
        for y in forward.yields:
            if isinstance(y, ir.Var) and isinstance(y.type, types.Array) and self.aliases.find(y) in restored:
                out = dataclasses.replace(y)
                ops.append(ir.Copy(source=y, out=out))
                y = out
            values.append(y)
        return ops, values

    def expand(self, overwriting: set[ir.Store]) -> bool:
        """Gives scratch arrays that would be put back axes of their own instead; whether there are more of them."""
        found = {}
        makers = [self._made_by(store.array) for store in overwriting - self.saved]
        for array in (*makers, *self.taped_arrays):
            if isinstance(array, ir.Alloc) and array.out not in self.expanded:
                loops = self.scratch.loops(self.aliases.find(array.out))
                if loops:
                    found[array.out] = loops
        if not found:
            return False
        self.expanded.update(found)
        self.index_model = IndexModel(self.function, self.expanded)
        self.stored_at = self._stored_values()
        return True

    def overwriting(self) -> set[ir.Store]:
        """The stores that may overwrite what the reverse sweep reads."""
        found: set[ir.Store] = set()
        for load in self.loads:
            (array,) = memory_read(load)
            for store in self.stores.get(self.aliases.find(array), ()):
                if store in found or not self._may_follow(load, store):
                    continue
                if self.index_model.may_overwrite(load, store):
                    found.add(store)
        for reader, array in self.whole_reads:
            for store in self.stores.get(array, ()):
                if store not in found and self._may_follow(reader, store):
                    found.add(store)
        return found

    def _may_follow(self, first: ir.Op | None, second: ir.Store) -> bool:
        """Whether a store may run in the forward sweep after `first`, and in memory that was there by then."""
        if first is None:
            return False
        a, b = self._path(first), self._path(second)
        home = self._made_by(second.array)
        if home is not None:
            # each run of its region makes the array anew: only what follows in that run sees it
            region, made = self.region_of[home], self.position[home]
            if isinstance(home, ir.Alloc) and home.out in self.expanded:
                region, made = self.expanded[home.out][-1].body, -1
            depth = next((k for k, (inside, _, _) in enumerate(a) if inside is region), None)
            if depth is None or a[depth][1] <= made:
                return False
            a, b = a[depth:], b[depth:]
        for (region, p, op), (_, q, other) in zip(a, b, strict=False):
            if op is other:
                if isinstance(op, ir.For | ir.While):
                    return True
                continue
            return self.region_of[other] is region and q > p
        return False

    def _made_by(self, array: ir.Operand) -> ir.Op | None:
        """The operation that makes the array, where views lead to a single one."""
        while isinstance(array, ir.Var):
            region, k = self.made[array]
            op = region.ops[k] if k >= 0 else None
            if isinstance(op, ir.VIEWS):
                array = op.base
                continue
            return op if isinstance(op, ir.Alloc | ir.Copy | ir.Call) else None
        return None

    def _path(self, op: ir.Op) -> list[tuple[ir.Region, int, ir.Op]]:
        path: list[tuple[ir.Region, int, ir.Op]] = []
        while True:
            region = self.region_of[op]
            path.append((region, self.position[op], op))
            if region is self.top:
                return path[::-1]
            op = self.owner[region]

    # ------------------------------------------------------------------------------------------------------- lowering

    def lower(self, mirror: Mirror, mapping: dict[ir.Var, ir.Operand]) -> _Scope:
        scope = _Scope(mirror.region, mapping)
        for group in mirror.groups:
            self.group(group, scope)
        self._own_position(mirror.region, scope)
        return scope

    def group(self, group: Group, scope: _Scope) -> None:
        op = group.op
        self.origin = None if op is None else op.origin
        if op is not None:
            # a region operation is undone by its mirror, anything else before its adjoint runs
            scope.undone = self.position[op] + (1 if op.regions else 0)
            if isinstance(op, ir.Store) and op in self.saved:
                self.restore(op, scope)
        for item in group.ops:
            if isinstance(item, MirroredLoop):
                self.loop(item, scope)
            elif isinstance(item, MirroredIf):
                self.conditional(item, scope)
            else:
                self.note_reads(item, op)
                self.put(item, scope)
            self.origin = None if op is None else op.origin

    def put(self, op: ir.Op, scope: _Scope) -> None:
        """Emits an operation of the reverse sweep after what it needs."""
        for operand in ir.reads(op):
            self.require(operand, scope)
        op = ir.substituted(op, scope.mapping)
        scope.ops.append(op if op.regions else dataclasses.replace(op, origin=self.origin))

    def note_reads(self, op: ir.Op, group: ir.Op | None) -> None:
        """Memory of the primal that an adjoint operation reads, maybe through a view that it made itself."""
        self.aliases.note(op)
        for array in memory_read(op):
            self.whole_reads.add((group, self.aliases.find(array)))
        for region in op.regions:
            for inner in region.ops:
                self.note_reads(inner, group)

    def restore(self, store: ir.Store, scope: _Scope) -> None:
        """Puts back what a store overwrote."""
        if store not in self.olds:
            assert isinstance(store.array.type, types.Array)
            old = ir.Var(f"{_name(store.array)}_old", store.array.type.dtype)
            self.olds[store] = old
            self.made[old] = (self.region_of[store], self.position[store])
            self.edits.before(store, ir.Load(array=store.array, index=store.index, out=old, origin=store.origin))
            self.edits.overwritten[old] = store
        self.put(ir.Store(array=store.array, index=store.index, value=self.olds[store]), scope)

    def loop(self, item: MirroredLoop, scope: _Scope) -> None:
        op = item.op
        mapping: dict[ir.Var, ir.Operand] = {}
        if isinstance(op, ir.For) and not op.stops:
            counter = dataclasses.replace(op.body.args[0])
            mapping[op.body.args[0]] = counter
        else:
            counter = ir.Var("trip", types.intp)
            self.edits.trip_counter[op.body] = counter
        steps = retraceable(op)
        args = carried_args(op)
        ends = {k: ir.Var(args[k].name, args[k].type, args[k].user) for k in steps}
        for k, end in ends.items():
            yielded = op.body.yields[k]
            assert isinstance(yielded, ir.Var)
            mapping[yielded] = end
        inner = self.lower_body(op, item, mapping, counter, steps, ends)
        carried = _Carried(
            [*item.args, *ends.values()],
            [*item.inits, *(op.outs[k] for k in steps)],
            [self.resolved(y, inner) for y in (*item.body.yields, *(args[k] for k in steps))],
            [*item.outs, *(ir.Var(args[k].name, args[k].type, args[k].user) for k in steps)],
        )
        for region, (entry, left) in inner.positions.items():
            scope.positions[region] = carried.add_position(entry, left)
        self.put_loop(op, counter, carried, inner, scope)
        # what a loop started from is what its reverse ends with
        for k, out in zip(steps, carried.outs[len(item.outs) :], strict=False):
            start = op.inits[k]
            if isinstance(start, ir.Var) and scope.region is not self.top and self.made[start][0] is scope.region:
                scope.mapping.setdefault(start, out)

    def put_loop(self, op: ir.For | ir.While, counter: ir.Var, carried: _Carried, inner: _Scope, scope: _Scope) -> None:
        builder = ir.Builder()
        if isinstance(op, ir.For) and not op.stops:
            # a growable tape is read from its end
            start, stop, step = mirrored_range(builder, op, backwards=bool(inner.positions))
        else:
            trips = self.edits.trips(op)
            self.made.setdefault(trips, (self.region_of[op], self.position[op]))
            start = builder.call(operator.sub, trips, ir.integer(1), type=types.intp, name="last")
            stop, step = ir.integer(-1), ir.integer(-1)
        for made in builder.ops:
            self.put(made, scope)
        body = ir.Region((counter, *carried.args), tuple(inner.ops), tuple(carried.yields))
        loop = ir.For(
            start=start, stop=stop, step=step, inits=tuple(carried.inits), body=body, outs=tuple(carried.outs),
            order_free=isinstance(op, ir.For) and op.order_free, origin=op.origin, pair=op, is_mirror=True,
        )  # fmt: skip
        self.put(loop, scope)

    def lower_body(
        self,
        op: ir.For | ir.While,
        item: MirroredLoop,
        mapping: dict[ir.Var, ir.Operand],
        counter: ir.Var,
        steps: dict[int, Step],
        ends: dict[int, ir.Var],
    ) -> _Scope:
        scope = _Scope(item.body.region, mapping)
        builder = ir.Builder()
        if isinstance(op, ir.For) and op.stops:
            # the counter of the primal, from the number of the trip
            place: ir.Operand = counter
            if op.step != ir.integer(1):
                place = builder.call(operator.mul, place, op.step, type=types.intp, name="offset")
            if op.start != ir.integer(0):
                place = builder.call(operator.add, op.start, place, type=types.intp, name=op.body.args[0].name)
            mapping[op.body.args[0]] = place
        args = carried_args(op)
        for k, step in steps.items():
            if step.amount is not None:
                mapping[args[k]] = builder.call(
                    step.inverse, ends[k], step.amount, type=args[k].type, name=args[k].name
                )
            elif is_reference(args[k]):
                mapping[args[k]] = ends[next(j for j in steps if op.body.yields[j] is args[k])]
        for made in builder.ops:
            self.put(made, scope)
        for group in item.body.groups:
            self.group(group, scope)
        for y in item.body.yields:
            self.require(y, scope)
        self._own_position(item.body.region, scope)
        return scope

    def _own_position(self, region: ir.Region, scope: _Scope) -> None:
        """A region with growable tapes steps back one entry a trip."""
        index = self.edits.reverse_index.get(region)
        if index is None:
            return
        entry = ir.Var("position", types.intp)
        step = ir.Call(callee=operator.sub, args=(entry, ir.integer(1)), outs=(index,))
        scope.ops.insert(0, step)
        scope.positions[region] = (entry, index)

    def conditional(self, item: MirroredIf, scope: _Scope) -> None:
        op = item.op
        sides: list[tuple[_Scope, list[ir.Operand]]] = []
        for mirror in (item.then, item.orelse):
            inner = self.lower(mirror, {})
            yields = [self.resolved(y, inner) for y in mirror.yields]
            sides.append((inner, yields))
        outs = list(item.outs)
        positions: dict[ir.Region, tuple[ir.Var, ir.Operand]] = {}
        for k, (inner, yields) in enumerate(sides):
            for region, (entry, left) in inner.positions.items():
                out = ir.Var("position", types.intp)
                outs.append(out)
                yields.append(left)
                sides[1 - k][1].append(entry)
                positions[region] = (entry, out)
        (then, then_yields), (orelse, else_yields) = sides
        made = ir.If(
            condition=op.condition,
            then=ir.Region((), tuple(then.ops), tuple(then_yields)),
            orelse=ir.Region((), tuple(orelse.ops), tuple(else_yields)),
            outs=tuple(outs),
            origin=op.origin,
        )
        self.put(made, scope)
        scope.positions.update(positions)

    # ------------------------------------------------------------------------------------------------------- providing

    def resolved(self, operand: ir.Operand, scope: _Scope) -> ir.Operand:
        """What stands for a value of the primal at the end of the mirror of its region."""
        self.require(operand, scope)
        return ir.substituted_operand(operand, scope.mapping)

    def require(self, operand: ir.Operand, scope: _Scope) -> None:
        """Sees to it that a value of the primal is there at this point of the mirror of its region."""
        if not isinstance(operand, ir.Var) or operand in scope.mapping or operand not in self.made:
            return
        region, k = self.made[operand]
        if region is not scope.region or region is self.top or operand in self.expanded:
            return
        store = self.stored_at.get(operand)
        if operand in self.edits.overwritten or k < 0:
            self.tape(operand, scope)
            return
        op = region.ops[k]
        if operand not in op.results:
            # made by an edit of the forward sweep, such as the number of trips of a loop
            self.tape(operand, scope)
        elif self.is_recomputable(op, scope):
            self.recompute(op, scope)
        elif store is not None and store not in self.saved:
            load = ir.Load(array=store.array, index=store.index, out=dataclasses.replace(operand))
            self.put(load, scope)
            scope.mapping[operand] = load.out
        else:
            if isinstance(op, ir.Alloc):
                self.taped_arrays.append(op)
            self.tape(operand, scope)

    def is_recomputable(self, op: ir.Op, scope: _Scope) -> bool:
        if isinstance(op, ir.Call):
            return is_cheap(op)
        if isinstance(op, ir.Load):
            return self._can_load_again(op, self.position[op], scope)
        if isinstance(op, ir.If):
            inner = [i for side in op.regions for i in ir.walk(side)]
            if len(inner) > LARGEST_BRANCH:
                return False
            place = self.position[op]
            return all(
                is_cheap(i)
                if isinstance(i, ir.Call)
                else self._can_load_again(i, place, scope)
                if isinstance(i, ir.Load)
                else isinstance(i, ir.If | ir.Extent | ir.Undefined)
                for i in inner
            ) and not any(is_reference(out) for out in op.outs)
        return isinstance(op, (*ir.VIEWS, ir.Extent, ir.Undefined, ir.Pull))

    def _can_load_again(self, load: ir.Load, place: int, scope: _Scope) -> bool:
        """No store between here and there may have changed the element."""
        memory = self.aliases.find(load.array)
        between = scope.region.ops[place + 1 : scope.undone]
        return not any(
            isinstance(inner, ir.Store) and self.aliases.find(inner.array) == memory
            for op in between
            for inner in _with_inner(op)
        )

    def recompute(self, op: ir.Op, scope: _Scope) -> None:
        for operand in ir.reads(op):
            self.require(operand, scope)
        for inner in _with_inner(op):
            if isinstance(inner, ir.Load):
                self.loads.add(inner)
        cloner = ir.Cloner(scope.mapping)
        scope.ops.append(dataclasses.replace(cloner.op(op), origin=self.origin))
        for out in op.results:
            scope.mapping[out] = cloner.mapping[out]

    def tape(self, value: ir.Var, scope: _Scope) -> None:
        """Keeps a value in the forward sweep: out of a branch as a result of the If, out of a loop on a tape."""
        owner = self.owner[scope.region]
        if isinstance(owner, ir.If) and not self.edits.is_in_loop(scope.region):
            out = self.edits.lift(value, owner, scope.region)
            self.made.setdefault(out, (self.region_of[owner], self.position[owner]))
            scope.mapping[value] = out
            return
        ops, loaded = self.edits.tape(value, scope.region)
        for op in ops:
            self.put(op, scope)
        scope.mapping[value] = loaded


def _with_inner(op: ir.Op) -> list[ir.Op]:
    found = [op]
    for region in op.regions:
        found.extend(ir.walk(region))
    return found


def _name(operand: ir.Operand) -> str:
    return operand.name if isinstance(operand, ir.Var) else "array"
