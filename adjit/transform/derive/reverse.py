"""Reverse mode: the adjoint of a function, one group of adjoint operations per operation of the primal, last first.

In: a typed function, the arguments to differentiate with respect to, the adjoints of the results. Out: `Sweeps`: the
forward sweep (the primal, with shadows where arrays change names) and the mirror of it, which `storage.py` makes into
IR.

    y = x * w          # y = x * w
                       x_bar += w * y_bar
                       w_bar += x * y_bar

Adjoints of numbers are values and accumulate as values: the first contribution is the adjoint, later ones are added.
Arrays have a shadow with the same aliasing: a load adds into it, a store takes out of it and leaves zero.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from numba import types

from adjit import errors
from adjit.rules.registry import Entry, lookup
from adjit.transform import ir
from adjit.transform.analysis.trip_counts import count_trips, has_one_trip, is_last_trip
from adjit.transform.derive.activity import Activity, is_constant
from adjit.transform.derive.adjoints import SUFFIX, Adjoints, Compiler, bar_name, is_one, is_zero
from adjit.transform.derive.branch_only import is_bounded, unless_zero
from adjit.transform.derive.mirror import Group, Mirror, MirroredIf, MirroredLoop, Sweeps
from adjit.transform.derive.rule_bodies import apply, context, no_rule, operands_of, pure_operations_for, zero_like
from adjit.transform.derive.shadows import Shadows
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.values import TupleValue, is_array, is_number
from adjit.transform.ir.types import typed_const, writable
from adjit.transform.rewrite.notes import Differentiated, note


def reverse(
    function: ir.Function, wrt: Sequence[ir.Var], seeds: Sequence[ir.Operand | None], compiler: Compiler
) -> Sweeps:
    """The adjoint with respect to the arguments `wrt`; `seeds` has the adjoint of each yield, None if it has none."""
    outputs = [y for y, seed in zip(function.body.yields, seeds, strict=True) if seed is not None]
    activity = Activity(function, wrt, outputs)
    note(Differentiated(function, tuple(wrt), tuple(k for k, seed in enumerate(seeds) if seed is not None)))
    shadows = Shadows(function, activity, SUFFIX)
    return _Reverse(shadows, activity, compiler).run(wrt, seeds)


class _Reverse(Adjoints):
    def run(self, wrt: Sequence[ir.Var], seeds: Sequence[ir.Operand | None]) -> Sweeps:
        body = self.function.body
        mirror = self.open(body)
        start = Group(None)
        mirror.groups.append(start)
        with self.into(start):
            for yielded, seed in zip(body.yields, seeds, strict=True):
                if seed is None or not self.activity.is_active(yielded):
                    continue
                assert isinstance(yielded, ir.Var)
                if is_array(yielded):
                    self.accumulate(yielded, seed)
                else:
                    self.add(yielded, seed)
        self.region(body, mirror)
        end = Group(None)
        mirror.groups.append(end)
        bars: list[ir.Operand] = []
        with self.into(end):
            for p in wrt:
                bars.append(self._argument_bar(p))
        return Sweeps(self.function, mirror, bars, {**self.shadow_of, **self.in_forward})

    def _argument_bar(self, p: ir.Var) -> ir.Operand:
        if isinstance(p.type, types.Array):
            if self.activity.is_active(p):
                return self.shadow(p)
            # nothing depends on it: a zero of its shape
            out = ir.Var(p.name + SUFFIX, writable(p.type))
            self.builder.emit(
                ir.Alloc(shape=(), like=p, fill=typed_const(0, p.type.dtype), out=out, role=ir.Role("shadow", p))
            )
            return out
        return self.bars.get(p, typed_const(0, p.type))

    def times(self, partial: ir.Operand, bar: ir.Operand, name: str) -> ir.Operand | None:
        if isinstance(partial, ir.Const):
            if partial.value == 0:
                return None
            if partial.value == 1:
                return bar
            if partial.value == -1:
                return self.builder.call(operator.neg, bar, type=bar.type, name=name)
        if isinstance(bar, ir.Const) and bar.value == 1:
            return partial
        ctx = context(self.builder, self.build)
        made = next((op for op in reversed(self.builder.ops) if partial in op.results), None)
        if isinstance(made, ir.Call) and made.callee is operator.truediv and is_one(made.args[0]):
            # (1 / y) x_bar is x_bar / y, unless the quotient is there for another partial as well
            is_shared = any(o is partial for op in self.builder.ops for o in ir.reads(op))
            if not is_shared:
                return scalars.scalar(ctx, operator.truediv, (bar, made.args[1]), name)
        if isinstance(made, ir.If) and len(made.outs) == 1 and not made.then.ops and not made.orelse.ops:
            # 1 or 0 times the adjoint is the adjoint or nothing: a choice, in which no 0 * inf can arise
            sides = (made.then.yields[0], made.orelse.yields[0])
            zero = typed_const(0, bar.type)
            if is_one(sides[0]) and is_zero(sides[1]):
                return self.builder.call(ir.select, made.condition, bar, zero, type=bar.type, name=name)
            if is_zero(sides[0]) and is_one(sides[1]):
                return self.builder.call(ir.select, made.condition, zero, bar, type=bar.type, name=name)
        return scalars.scalar(ctx, operator.mul, (partial, bar), name)

    # ---------------------------------------------------------------------------------------------------- regions

    def region(self, region: ir.Region, mirror: Mirror) -> None:
        for op in reversed(region.ops):
            group = Group(op)
            mirror.groups.append(group)
            self.depth += bool(op.regions)
            with self.into(group):
                self.builder.origin = op.origin
                self.op(op, group)
            self.builder.origin = None
            self.depth -= bool(op.regions)

    def op(self, op: ir.Op, group: Group) -> None:
        if isinstance(op, ir.Call):
            self.call(op)
        elif isinstance(op, ir.Load):
            bar = self.take(op.out)
            if bar is not None and self.activity.is_active(op.array):
                self.builder.store(self.shadow(op.array), op.index, bar, add=True)
        elif isinstance(op, ir.Store):
            self.store(op)
        elif isinstance(op, ir.Copy):
            if self.activity.is_active(op.out) and isinstance(op.source, ir.Var) and self.activity.is_active(op.source):
                self.contribute(op.source, self.shadow(op.out), is_last=True)
        elif isinstance(op, ir.Pull):
            self.pull(op)
        elif isinstance(op, ir.Push):
            if not is_array(op.value) and self.activity.is_active(op.value):
                shadow = self.shadow(op.tape)
                self.add(op.value, self.builder.load(shadow, (op.index,), bar_name(op.value)))
        elif isinstance(op, ir.If):
            self.conditional(op, group)
        elif isinstance(op, ir.For | ir.While):
            self.loop(op, group)

    def store(self, op: ir.Store) -> None:
        if not self.activity.is_active(op.array):
            return
        shadow = self.shadow(op.array)
        if self.activity.is_active(op.value):
            bar = self.builder.load(shadow, op.index, "stored_bar")
            if not op.add:
                self.builder.store(shadow, op.index, typed_const(0, bar.type), promised=op.promised)
            self.add(op.value, bar)
        elif not op.add:
            assert isinstance(shadow.type, types.Array)
            self.builder.store(shadow, op.index, typed_const(0, shadow.type.dtype), promised=op.promised)

    def pull(self, op: ir.Pull) -> None:
        if is_array(op.out):
            return
        bar = self.take(op.out)
        if bar is not None and self.activity.is_active(op.tape):
            self.builder.store(self.shadow(op.tape), (op.index,), bar, add=True)

    # ------------------------------------------------------------------------------------------------ control flow

    def conditional(self, op: ir.If, group: Group) -> None:
        outs = [k for k, out in enumerate(op.outs) if not is_array(out) and self.activity.is_active(out)]
        bars = {k: self.take(op.outs[k]) for k in outs}
        before = dict(self.bars)
        sides: list[tuple[Mirror, dict[ir.Var, ir.Operand]]] = []
        for side in op.regions:
            self.bars = dict(before)
            mirror = self.open(side)
            start = Group(None)
            mirror.groups.append(start)
            with self.into(start):
                for k, bar in bars.items():
                    if bar is not None:
                        self.add(side.yields[k], bar)
            self.region(side, mirror)
            sides.append((mirror, self.bars))
        (then, after_then), (orelse, after_else) = sides
        local = {v for side in op.regions for inner in ir.walk(side) for v in inner.results}
        changed = [
            v
            for v in dict.fromkeys((*after_then, *after_else))
            if v not in local and (after_then.get(v) is not after_else.get(v))
        ]
        made: list[ir.Var] = []
        for v in changed:
            zero = typed_const(0, v.type)
            then.yields.append(after_then.get(v, zero))
            orelse.yields.append(after_else.get(v, zero))
            made.append(ir.Var(v.name + SUFFIX, v.type))
        self.bars = {v: bar for v, bar in after_then.items() if v not in local and v not in changed}
        self.bars.update(zip(changed, made, strict=True))
        group.ops.append(MirroredIf(op, then, orelse, made))

    def loop(self, op: ir.For | ir.While, group: Group) -> None:
        args = ir.carried_args(op)
        slots = [
            k
            for k, out in enumerate(op.outs)
            if not is_array(out) and (self.activity.is_active(out) or self.activity.is_active(args[k]))
        ]
        outer = [
            v
            for v in ir.free_vars(op.body)
            if not is_array(v) and not isinstance(v.type, types.List) and self.activity.is_active(v)
        ]
        before = self.bars
        slot_inits = [before.pop(op.outs[k], typed_const(0, op.outs[k].type)) for k in slots]
        outer_inits = [before.get(v, typed_const(0, v.type)) for v in outer]
        slot_args = [ir.Var(args[k].name + SUFFIX, args[k].type) for k in slots]
        outer_args = [ir.Var(v.name + SUFFIX, v.type) for v in outer]
        mirror = self.open(op.body)
        start = Group(None)
        mirror.groups.append(start)
        self.bars = dict(zip(outer, outer_args, strict=True))
        fresh = [k for k, out in enumerate(op.outs) if out in self.renewed and self.activity.is_active(out)]
        of_last_trip = [k for k in fresh if self.is_of_last_trip(op, k)]
        fresh = [k for k in fresh if k not in of_last_trip]
        fresh_inits = [self.shadow(op.outs[k]) for k in fresh]
        fresh_args = [self.renew(op.body.yields[k]) for k in fresh]
        with self.into(start):
            for k, arg in zip(slots, slot_args, strict=True):
                self.add(op.body.yields[k], arg)
            for k in of_last_trip:
                assert isinstance(op, ir.For)
                is_last = is_last_trip(self.builder, op)
                self.contribute_if(is_last, op.body.yields[k], self.shadow(op.outs[k]))
        self.region(op.body, mirror)
        inside = self.bars
        self.bars = before
        loop = MirroredLoop(op, [], [], mirror, [])
        for k, init, arg in zip(slots, slot_inits, slot_args, strict=True):
            out = ir.Var(bar_name(op.inits[k]), arg.type)
            loop.inits.append(init)
            loop.args.append(arg)
            loop.outs.append(out)
            mirror.yields.append(inside.get(args[k], typed_const(0, arg.type)))
        carried = [(v, i, a) for v, i, a in zip(outer, outer_inits, outer_args, strict=True) if inside.get(v) is not a]
        for v, init, arg in carried:
            out = ir.Var(v.name + SUFFIX, v.type)
            loop.inits.append(init)
            loop.args.append(arg)
            loop.outs.append(out)
            mirror.yields.append(inside.get(v, typed_const(0, v.type)))
            self.bars[v] = out
        fresh_outs = [ir.Var(bar_name(op.inits[k]), arg.type) for k, arg in zip(fresh, fresh_args, strict=True)]
        loop.inits.extend(fresh_inits)
        loop.args.extend(fresh_args)
        loop.outs.extend(fresh_outs)
        mirror.yields.extend(self.shadow(args[k]) for k in fresh)
        group.ops.append(loop)
        for k, out in zip(slots, loop.outs, strict=False):
            self.add(op.inits[k], out)
        for k, out in zip(fresh, fresh_outs, strict=True):
            if self.activity.is_active(op.inits[k]):
                self.contribute(op.inits[k], out)
        for k in of_last_trip:
            if self.activity.is_active(op.inits[k]):
                assert isinstance(op, ir.For)
                trips = count_trips(self.builder, op)
                is_idle = self.builder.call(operator.eq, trips, ir.integer(0), type=types.boolean, name="has_no_trips")
                self.contribute_if(is_idle, op.inits[k], self.shadow(op.outs[k]))

    def is_of_last_trip(self, op: ir.For | ir.While, k: int) -> bool:
        """Whether only what is after a loop sees the array that a trip makes, whose size may differ from trip to trip.

        The shadow that a trip would hand to the one before it is zero all over, and would have to have the size of an
        array that is not there any more.
        """
        arg = ir.carried_args(op)[k]
        if isinstance(op, ir.While) or op.stops or has_one_trip(op):
            return False
        if arg in {o for inner in op.body.ops for o in ir.reads(inner)}:
            return False
        like, shape = self.model(arg)
        return like is arg and shape is None

    def contribute_if(self, condition: ir.Operand, array: ir.Operand, shadow: ir.Var) -> None:
        assert isinstance(array, ir.Var)
        with self.builder.when(condition):
            self.accumulate(array, shadow)

    # -------------------------------------------------------------------------------------------------------- calls

    def call(self, op: ir.Call) -> None:
        flowing = [out for out in op.outs if self.activity.is_active(out)]
        if not flowing or is_constant(op.callee):
            for out in op.outs:
                self.bars.pop(out, None)
            return
        if len(op.outs) == 1 and is_number(op.outs[0]) and all(is_number(a) for a in op.args):
            self.number_call(op)
        else:
            self.array_call(op)

    def number_call(self, op: ir.Call) -> None:
        (out,) = op.outs
        bar = self.take(out)
        if bar is None:
            return
        if op.callee is ir.cast:
            self.add(op.args[0], bar)
            return
        if op.callee is ir.select:
            condition, yes, no = op.args
            zero = typed_const(0, bar.type)
            for side, pair in ((yes, (bar, zero)), (no, (zero, bar))):
                if self.activity.is_active(side):
                    chosen = self.builder.call(ir.select, condition, *pair, type=bar.type, name=bar_name(side))
                    self.add(side, chosen)
            return
        entry = self.entry(op)
        if entry.partials is None:
            self.array_call(op, bar)
            return
        with self.builder.region() as ops:
            partials = operands_of(apply(context(self.builder, self.build), entry.partials, op.args, op.outs))
        if len(partials) != len(op.args):
            raise errors.InternalError(
                f"the rule of {op.callee} has {len(partials)} partials for {len(op.args)} arguments"
            )
        used = [p for p, a in zip(partials, op.args, strict=True) if self.activity.is_active(a)]
        for needed in pure_operations_for(ops, used):
            self.builder.emit(needed)
        is_selective = out in self.selective and not is_bounded(op)
        for arg, partial in self.by_argument(op.args, partials):
            contribution = self.times(partial, bar, bar_name(arg))
            if is_selective and contribution is not None and not isinstance(partial, ir.Const):
                contribution = unless_zero(self.builder, bar, contribution)
            self.add(arg, contribution)

    def by_argument(
        self, args: Sequence[ir.Operand], partials: Sequence[ir.Operand]
    ) -> Iterable[tuple[ir.Operand, ir.Operand]]:
        """Each active argument once, with the sum of its partials: x * x has 2 x."""
        found: dict[ir.Operand, ir.Operand] = {}
        for arg, partial in zip(args, partials, strict=True):
            if not self.activity.is_active(arg):
                continue
            if arg in found:
                partial = scalars.scalar(context(self.builder, self.build), operator.add, (found[arg], partial))
            found[arg] = partial
        return found.items()

    def array_call(self, op: ir.Call, bar: ir.Operand | None = None) -> None:
        entry = self.entry(op)
        active = [k for k, a in enumerate(op.args) if self.activity.is_active(a)]
        flowing: dict[int, ir.Operand] = {}
        for k, out in enumerate(op.outs):
            if is_array(out):
                if self.activity.is_active(out):
                    flowing[k] = self.shadow(out)
            else:
                found = bar if bar is not None else self.take(out)
                if found is not None:
                    flowing[k] = found
        if not flowing:
            return
        ctx = context(self.builder, self.build)
        bars = [flowing[k] if k in flowing else zero_like(out, ctx) for k, out in enumerate(op.outs)]
        whole = bars[0] if len(bars) == 1 else TupleValue(tuple(bars))
        if all(k in entry.transposes for k in active):
            for k in active:
                ctx = context(self.builder, self.build)
                (contribution,) = apply(ctx, entry.transposes[k], op.args, op.outs, whole)
                self.contribute(op.args[k], contribution)
        elif entry.adjoint is not None:
            contributions = apply(ctx, entry.adjoint, op.args, op.outs, whole)
            for k in active:
                self.contribute(op.args[k], contributions[k])
        elif entry.tangent is not None:
            function = self.compiler.transpose(op, entry.tangent, tuple(active), tuple(flowing), self.compiler)
            given = (*(a for a in op.args if isinstance(a, ir.Var)), *op.outs, *flowing.values())
            cloner = ir.Cloner(dict(zip(function.body.args, given, strict=True)))
            for inner in function.body.ops:
                self.builder.emit(cloner.op(inner))
            for k, yielded in zip(active, function.body.yields, strict=True):
                self.contribute(op.args[k], cloner.operand(yielded))
        else:
            raise no_rule(op, self.active_name(op))

    def entry(self, op: ir.Call) -> Entry:
        entry = lookup(op.callee)
        if entry is None or (entry.effect and not entry.constant):
            raise no_rule(op, self.active_name(op))
        return entry

    def active_name(self, op: ir.Call) -> str:
        return next((a.name for a in op.args if isinstance(a, ir.Var) and self.activity.is_active(a) and a.user), "")
