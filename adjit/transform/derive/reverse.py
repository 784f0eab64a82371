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
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from numba import types

from adjit.rules.registry import Entry, lookup
from adjit.transform import ir
from adjit.transform.analysis.trip_counts import count_trips, has_one_trip, is_last_trip
from adjit.transform.derive.activity import Activity, is_constant, is_exchange
from adjit.transform.derive.adjoints import SUFFIX, Adjoints, Compiler, bar_name
from adjit.transform.derive.choices import Placed, places_in
from adjit.transform.derive.mirror import Group, Mirror, MirroredIf, MirroredLoop, Sweeps, to_text
from adjit.transform.derive.nan_safe import is_sure, unless_all_zero, unless_least, unless_zero
from adjit.transform.derive.not_finite import NotFinite
from adjit.transform.derive.rule_bodies import apply, is_plain_choice, no_rule, zero_like
from adjit.transform.derive.shadows import Shadows, zeros_like
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.numbers import is_array, is_number
from adjit.transform.ir.types import array_type_of, typed_const, writable
from adjit.transform.rewrite.notes import Differentiated, note
from adjit.transform.rewrite.verified import dump
from adjit.transform.source.routines import Routine


def reverse(
    function: ir.Function,
    wrt: Sequence[ir.Var],
    seeds: Sequence[ir.Operand | None],
    compiler: Compiler,
    given: Mapping[ir.Var, ir.Var] = MappingProxyType({}),
) -> Sweeps:
    """The adjoint with respect to the arguments `wrt`; `seeds` has the adjoint of each yield, None if it has none.

    `given`: the shadows that the caller holds of arguments which the function stores to, or only reads. They are
    parameters of the function, too; they start as the adjoints of what is in the arguments in the end.
    """
    outputs = [y for y, seed in zip(function.body.yields, seeds, strict=True) if seed is not None]
    activity = Activity(function, wrt, (*outputs, *given))
    pairs = enumerate(zip(function.body.yields, seeds, strict=True))
    note(Differentiated(function, tuple(wrt), tuple(k for k, (y, seed) in pairs if seed is not None or y in given)))
    shadows = Shadows(function, activity, SUFFIX, given)
    sweeps = _Reverse(shadows, activity, compiler, given).run(wrt, seeds)
    dump("mirror", lambda: to_text(sweeps))
    return sweeps


class _Reverse(Adjoints):
    # the choices in the loops whose mirrors are open, by the operation that makes them, with the counter of the loop
    placed: dict[ir.Op, list[tuple[Placed, ir.Var]]]

    def run(self, wrt: Sequence[ir.Var], seeds: Sequence[ir.Operand | None]) -> Sweeps:
        body = self.function.body
        self.placed = {}
        mirror = self.open(body)
        with self.group(mirror):
            for yielded, seed in zip(body.yields, seeds, strict=True):
                if seed is not None and self.activity.is_active(yielded):
                    self.contribute(yielded, seed)
        self.region(body, mirror)
        with self.group(mirror):
            bars = [self._argument_bar(p) for p in wrt]
        return Sweeps(self.function, mirror, bars, {**self.shadow_of, **self.in_forward})

    def _argument_bar(self, p: ir.Var) -> ir.Operand:
        if isinstance(p.type, types.Array):
            if self.activity.is_active(p):
                return self.shadow(p)
            # nothing depends on it: a zero of its shape
            out = ir.Var(p.name + SUFFIX, writable(p.type))
            self.builder.emit(zeros_like(p, out))
            return out
        return self.bars.get(p, typed_const(0, p.type))

    def times(self, partial: ir.Operand, bar: ir.Operand, name: str) -> ir.Operand | None:
        if ir.is_literal(partial, 0):
            return None
        if ir.is_literal(partial, 1):
            return bar
        if ir.is_literal(partial, -1):
            return self.builder.call(operator.neg, bar, type=bar.type, name=name)
        if ir.is_literal(bar, 1):
            return partial
        made = next((op for op in reversed(self.builder.ops) if partial in op.results), None)
        if isinstance(made, ir.Call) and made.callee is operator.truediv and ir.is_literal(made.args[0], 1):
            # (1 / y) x_bar is x_bar / y, unless the quotient is there for another partial as well
            is_shared = any(o is partial for op in self.builder.ops for o in ir.reads(op))
            if not is_shared:
                return scalars.scalar(self.numbers, operator.truediv, (bar, made.args[1]), name)
        if isinstance(made, ir.If) and is_plain_choice(made):
            zero = typed_const(0, bar.type)
            terms = (self.times(side.yields[0], bar, name) or zero for side in made.regions)
            chosen = [scalars.cast(self.numbers, term, bar.type) for term in terms]
            return self.builder.call(ir.select, made.condition, *chosen, type=bar.type, name=name)
        return scalars.scalar(self.numbers, operator.mul, (partial, bar), name)

    # ---------------------------------------------------------------------------------------------------- regions

    def region(self, region: ir.Region, mirror: Mirror) -> None:
        for op in reversed(region.ops):
            self.depth += bool(op.regions)
            with self.group(mirror, op) as group:
                self.builder.origin = op.origin
                self.op(op, group)
            self.builder.origin = None
            self.depth -= bool(op.regions)

    def op(self, op: ir.Op, group: Group) -> None:
        if isinstance(op, ir.Call):
            self.call(op)
        elif isinstance(op, ir.Load | ir.Pull):
            bar = self.take(op.out)
            memory, *index = op.operands
            if bar is not None and self.activity.is_active(memory):
                self.builder.store(self.shadow(memory), index, bar, add=True)
        elif isinstance(op, ir.Store):
            self.store(op)
        elif isinstance(op, ir.Copy):
            if self.activity.is_active(op.out) and isinstance(op.source, ir.Var) and self.activity.is_active(op.source):
                self.contribute(op.source, self.shadow(op.out), is_last=True)
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
        is_active = self.activity.is_active(op.value)
        bar = self.builder.load(shadow, op.index, "stored_bar") if is_active else None
        if not op.add:
            zero = typed_const(0, array_type_of(shadow).dtype)
            self.builder.emit(
                ir.Store(array=shadow, index=tuple(op.index), value=zero, promised=op.promised, handed_on=True)
            )
        self.add(op.value, bar)

    # ------------------------------------------------------------------------------------------------ control flow

    def conditional(self, op: ir.If, group: Group) -> None:
        for out in self.place(op):
            self.bars.pop(out, None)
        bars = [None if is_array(out) else self.take(out) for out in op.outs]
        before = dict(self.bars)
        sides: list[tuple[Mirror, dict[ir.Var, ir.Operand]]] = []
        for side in op.regions:
            self.bars = dict(before)
            mirror = self.open(side)
            with self.group(mirror):
                for yielded, bar in zip(side.yields, bars, strict=True):
                    self.add(yielded, bar)
            self.region(side, mirror)
            sides.append((mirror, self.bars))
        (then, after_then), (orelse, after_else) = sides
        local = {**op.then.made, **op.orelse.made}
        outer = [v for v in {**after_then, **after_else} if v not in local]
        changed = [v for v in outer if after_then.get(v) is not after_else.get(v)]
        made: list[ir.Var] = []
        for v in changed:
            zero = typed_const(0, v.type)
            then.yields.append(after_then.get(v, zero))
            orelse.yields.append(after_else.get(v, zero))
            made.append(_new_bar(v))
        self.bars = {v: bar for v, bar in after_then.items() if v not in local and v not in changed}
        self.bars.update(zip(changed, made, strict=True))
        group.ops.append(MirroredIf(op, then, orelse, made))

    def place(self, op: ir.Op) -> list[ir.Var]:
        """Adds the adjoints of what an operation replaced, in the trip that did so last; gives the results that are
        done with."""
        done = []
        for placed, counter in self.placed.pop(op, ()):
            choice = placed.choice
            assert isinstance(choice.slot.yielded, ir.Var)
            done.append(choice.slot.yielded)
            bar = self.bars.get(choice.slot.yielded)
            if bar is not None:
                self.add(choice.value, self.where(counter, placed.place, bar, bar_name(choice.value)))
        return done

    def where(self, left: ir.Operand, right: ir.Operand, bar: ir.Operand, name: str) -> ir.Operand:
        """An adjoint where two integers are equal, and 0 elsewhere."""
        is_there = self.builder.call(operator.eq, left, right, type=types.boolean, name="is_there")
        return self.builder.call(ir.select, is_there, bar, typed_const(0, bar.type), type=bar.type, name=name)

    def loop(self, op: ir.For | ir.While, group: Group) -> None:
        is_active = self.activity.is_active
        outer = [v for v in ir.free_vars(op.body) if not ir.is_reference(v) and is_active(v)]
        fresh = [s for s in op.slots if s.out in self.renewed and is_active(s.out)]
        of_last_trip = [s for s in fresh if self.is_of_last_trip(op, s)]
        before = self.bars
        placed = [p for p in places_in(op) if is_active(p.choice.slot.out)]
        chosen = {p.choice.slot.out: before.pop(p.choice.slot.out, None) for p in placed}
        # what is carried, its adjoint after the loop, and what the reverse loop calls that
        slots = [
            (s, before.pop(s.out, typed_const(0, s.out.type)), _new_bar(s.arg))
            for s in op.slots
            if not is_array(s.out) and s.out not in chosen and (is_active(s.out) or is_active(s.arg))
        ]
        for p in placed:
            assert isinstance(op, ir.For)
            self.placed.setdefault(p.choice.op, []).append((p, op.body.args[0]))
        outer_args = [_new_bar(v) for v in outer]
        mirror = self.open(op.body)
        self.bars = dict(zip(outer, outer_args, strict=True))
        arrays = [(s, self.shadow(s.out), self.renew(s.yielded)) for s in fresh if s not in of_last_trip]
        with self.group(mirror):
            for s, _, arg in slots:
                self.add(s.yielded, arg)
            for p in placed:
                self.add(p.choice.slot.yielded, chosen[p.choice.slot.out])
            for s in of_last_trip:
                assert isinstance(op, ir.For)
                with self.builder.when(is_last_trip(self.builder, op)):
                    self.accumulate(s.yielded, self.shadow(s.out))
        self.region(op.body, mirror)
        inside, self.bars = self.bars, before
        loop = MirroredLoop(op, [], [], mirror, [])

        def carry(init: ir.Operand, arg: ir.Var, yielded: ir.Operand | None, name: str) -> ir.Var:
            loop.inits.append(init)
            loop.args.append(arg)
            loop.outs.append(ir.Var(name, arg.type))
            mirror.yields.append(typed_const(0, arg.type) if yielded is None else yielded)
            return loop.outs[-1]

        ends = [(s.init, carry(init, arg, inside.get(s.arg), bar_name(s.init))) for s, init, arg in slots]
        for v, arg in zip(outer, outer_args, strict=True):
            if inside.get(v) is not arg:
                self.bars[v] = carry(before.get(v, typed_const(0, v.type)), arg, inside.get(v), v.name + SUFFIX)
        ends += [(s.init, carry(init, arg, self.shadow(s.arg), bar_name(s.init))) for s, init, arg in arrays]
        group.ops.append(loop)
        for init, bar in ends:
            if is_active(init):
                self.contribute(init, bar)
        for p in placed:
            init, bar_out = p.choice.slot.init, chosen[p.choice.slot.out]
            if bar_out is not None and is_active(init):
                self.add(init, self.where(p.place, p.nowhere, bar_out, bar_name(init)))
        for s in of_last_trip:
            if is_active(s.init):
                assert isinstance(op, ir.For)
                trips = count_trips(self.builder, op)
                is_idle = self.builder.call(operator.eq, trips, ir.integer(0), type=types.boolean, name="has_no_trips")
                with self.builder.when(is_idle):
                    self.accumulate(s.init, self.shadow(s.out))

    def is_of_last_trip(self, op: ir.For | ir.While, slot: ir.Slot) -> bool:
        """Whether only what is after a loop sees the array that a trip makes, whose size may differ from trip to trip.

        The shadow that a trip would hand to the one before it is zero all over, and would have to have the size of an
        array that is not there any more.
        """
        if isinstance(op, ir.While) or op.stops or has_one_trip(op):
            return False
        if any(slot.arg in inner.reads for inner in op.body.ops):
            return False
        return self.model(slot.arg) == (slot.arg, None)

    # -------------------------------------------------------------------------------------------------------- calls

    def call(self, op: ir.Call) -> None:
        if is_exchange(op):
            self.array_call(op)
            return
        if isinstance(op.callee, Routine):
            self.routine_call(op, op.callee)
            return
        if is_constant(op.callee) or not any(map(self.activity.is_active, op.outs)):
            for out in op.outs:
                self.bars.pop(out, None)
            return
        if len(op.outs) == 1 and is_number(op.outs[0]) and all(is_number(a) for a in op.args):
            self.number_call(op)
        else:
            self.array_call(op)

    def routine_call(self, op: ir.Call, routine: Routine) -> None:
        found = {out: bar for out in op.outs if (bar := self.take(out)) is not None}
        active = [k for k, arg in enumerate(op.args) if self.activity.is_active(arg)]
        if not found or not active:
            return
        seeds = [found.get(out, typed_const(0, out.type)) for out in op.outs if ir.is_float(out.type)]
        bars = tuple(ir.Var(bar_name(op.args[k]), op.args[k].type) for k in active)
        self.builder.emit(ir.Call(callee=routine.vjp(active, self.build), args=(*op.args, *seeds), outs=bars))
        guarded = {arg for out in found for arg in self.selective.get(out, ())}
        for k, bar in zip(active, bars, strict=True):
            arg = op.args[k]
            self.add(arg, unless_all_zero(self.builder, tuple(found.values()), bar) if arg in guarded else bar)

    def number_call(self, op: ir.Call) -> None:
        (out,) = op.outs
        if self.place(op):
            self.bars.pop(out, None)
            return
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
            self.bars[out] = bar
            self.array_call(op)
            return
        partials = self.partials.of(op, entry.partials, self.activity.is_active)
        guarded, is_length = self.selective.get(out, ()), self.squares.is_length(op)
        for arg, partial in self.by_argument(op.args, partials):
            contribution = self.times(partial, bar, bar_name(arg))
            if contribution is not None and not is_sure(partial):
                if is_length:
                    contribution = unless_least(self.builder, out, contribution)
                if arg in guarded and (not is_length or self.function.analysis(NotFinite).is_given(arg)):
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
                partial = scalars.scalar(self.numbers, operator.add, (found[arg], partial))
            found[arg] = partial
        return found.items()

    def array_call(self, op: ir.Call) -> None:
        entry = self.entry(op)
        active = [k for k, a in enumerate(op.args) if self.activity.is_active(a)]
        flowing: dict[int, ir.Operand] = {}
        for k, out in enumerate(op.outs):
            is_shadowed = is_array(out) and self.activity.is_active(out)
            bar = self.shadow(out) if is_shadowed else self.take(out)
            if bar is not None:
                flowing[k] = bar
        if not flowing and not is_exchange(op):
            return
        ctx = self.context()
        bars = [flowing[k] if k in flowing else zero_like(out, ctx) for k, out in enumerate(op.outs)]
        if active and all(k in entry.transposes for k in active):
            for k in active:
                (contribution,) = apply(self.context(), entry.transposes[k], op.args, op.outs, bars)
                self.contribute(op.args[k], contribution)
        elif entry.adjoint is not None:
            wanted = [k in flowing for k in range(len(op.outs))]
            contributions = apply(ctx, entry.adjoint, op.args, op.outs, bars, wanted)
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
            raise no_rule(op, self.activity.is_active)

    def entry(self, op: ir.Call) -> Entry:
        entry = lookup(op.callee)
        if entry is None or (entry.effect and not entry.constant and not entry.exchange):
            raise no_rule(op, self.activity.is_active)
        return entry


def _new_bar(value: ir.Var) -> ir.Var:
    return ir.Var(value.name + SUFFIX, value.type)
