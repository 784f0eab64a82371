"""Forward mode: each operation of the primal, followed by that of its tangent.

In: a typed function and the tangent of each argument. Out: a function that returns value and tangent.

    y = x * w       y = x * w
                    y_dot = w * x_dot + x * w_dot

An active array has a shadow array with the same aliasing, all the way. Several directions may travel together
(`directions.py`): then every tangent is one of each.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

from numba import types

from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.derive.activity import Activity, carries, is_constant
from adjit.transform.derive.branch_only import is_partly_undefined, unless_zero
from adjit.transform.derive.directions import SUFFIX, Directions, Tangent, extents
from adjit.transform.derive.rule_bodies import apply, context, no_rule, operands_of, pure_operations_for, tangent_body
from adjit.transform.elaborate.entry import BuildDerivative
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.frame import Context
from adjit.transform.elaborate.values.values import Value, is_array, is_number
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.rewrite.notes import Differentiated, note


def forward(
    function: ir.Function,
    dots: Sequence[ir.Var | None],
    extra_params: Sequence[ir.Tree],
    names: Sequence[str],
    build: BuildDerivative,
) -> ir.Function:
    """The function that also returns the tangents of its results; `dots` has the tangent of each parameter's leaf."""
    body = function.body
    ops, tangents = sweep(function, [None if dot is None else (dot,) for dot in dots], Directions(), build)
    extra = tuple(ir.leaves(tuple(extra_params)))
    count = len(body.yields)
    region = ir.Region((*body.args, *extra), tuple(ops), (*body.yields, *(t for (t,) in tangents)))
    moved = ir.map_tree(lambda k: None if k is None else k + count, function.result)
    return dataclasses.replace(
        function,
        names=(*function.names, *names),
        params=(*function.params, *extra_params),
        body=region,
        result=(function.result, moved),
    )


def sweep(
    function: ir.Function, dots: Sequence[Tangent | None], directions: Directions, build: BuildDerivative
) -> tuple[list[ir.Op], list[Tangent]]:
    """The operations of the function with those of its tangents, and the tangents of its results."""
    return _Forward(function, dots, directions, build).run()


class _Forward:
    def __init__(
        self, function: ir.Function, dots: Sequence[Tangent | None], directions: Directions, build: BuildDerivative
    ):
        self.function = function
        self.directions = directions
        self.build = build
        body = function.body
        self.given = [(p, dot) for p, dot in zip(body.args, dots, strict=True) if dot is not None]
        inputs = tuple(p for p, _ in self.given)
        self.activity = Activity(function, inputs, body.yields)
        note(Differentiated(function, inputs, tuple(range(len(body.yields)))))
        self.builder = ir.Builder()
        self.dots: dict[ir.Operand, Tangent] = {}

    def run(self) -> tuple[list[ir.Op], list[Tangent]]:
        body = self.function.body
        with self.builder.region() as ops:
            for p, dot in self.given:
                if self.activity.is_active(p):
                    self.dots[p] = tuple(self.typed(d, p) for d in dot)
            self.region(body)
            tangents = [self.dot_or_zero(y, "tangent") for y in body.yields]
        return ops, tangents

    def typed(self, dot: ir.Operand, p: ir.Var) -> ir.Operand:
        """The tangent that is given for an argument as one of its type: views of both are made alike."""
        if isinstance(p.type, types.Array):
            return self.laid_out(dot, p.type)
        if dot.type == p.type:
            return dot
        return scalars.cast(context(self.builder, self.build), dot, p.type)

    def zeros(self, like: ir.Operand, name: str) -> Tangent:
        return (self.directions.zeros(self.builder, like, name),)

    def dot_of(self, operand: ir.Operand) -> Tangent | None:
        return self.dots.get(operand)

    def dot_or_zero(self, operand: ir.Operand, name: str = "") -> Tangent:
        found = self.dots.get(operand)
        if found is not None:
            return found
        if isinstance(operand.type, types.Array):
            return self.zeros(operand, name or f"{ir.name_of(operand, 'value')}{SUFFIX}")
        return self.directions.number(0, operand.type)

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        made = self.directions.new(out)
        self.dots[out] = made
        return made

    def shadow(self, array: ir.Operand) -> ir.Operand:
        (found,) = self.dots[array]
        return found

    # ---------------------------------------------------------------------------------------------------- operations

    def region(self, region: ir.Region) -> None:
        for op in region.ops:
            self.builder.origin = op.origin
            if isinstance(op, ir.For | ir.While):
                self.loop(op)
            elif isinstance(op, ir.If):
                self.conditional(op)
            else:
                self.builder.emit(op)
                self.op(op)
        self.builder.origin = None

    def op(self, op: ir.Op) -> None:
        is_active = self.activity.is_active
        if isinstance(op, ir.Call):
            self.call(op)
        elif isinstance(op, ir.Store):
            if is_active(op.array):
                self.store(op)
        elif isinstance(op, ir.Push):
            if is_active(op.tape):
                assert isinstance(op.tape.type, types.List)
                values = self.handed_on(op.value, op.tape.type.dtype)
                for tape, value in zip(self.dots[op.tape], values, strict=True):
                    self.builder.emit(dataclasses.replace(op, tape=tape, value=value, origin=None))
        elif not any(is_active(out) for out in op.results):
            return
        elif isinstance(op, ir.Load):
            if op.array in self.dots:
                shadow = self.shadow(op.array)
                for out, at in zip(self.new(op.out), self.directions.indices, strict=True):
                    self.builder.emit(dataclasses.replace(op, array=shadow, index=(*op.index, *at), out=out))
        elif isinstance(op, ir.Alloc):
            (out,) = self.new(op.out)
            self.directions.alloc(self.builder, op, out)
        elif isinstance(op, ir.Copy):
            if op.source in self.dots:
                (out,) = self.new(op.out)
                self.builder.emit(dataclasses.replace(op, source=self.shadow(op.source), out=out))
            else:
                self.dots[op.out] = self.zeros(op.out, op.out.name + SUFFIX)
        elif isinstance(op, ir.VIEWS):
            if op.base in self.dots:
                shadow = self.shadow(op.base)
                (out,) = self.new(op.out)
                self.builder.emit(self.directions.view(op, shadow, out))
            else:
                # of an argument that is held fixed, where a variable may also be an array that is not
                self.dots[op.out] = self.zeros(op.out, op.out.name + SUFFIX)
        elif isinstance(op, ir.Pull):
            for tape, out in zip(self.dots[op.tape], self.new(op.out), strict=True):
                self.builder.emit(dataclasses.replace(op, tape=tape, out=out))
        elif isinstance(op, ir.NewTape | ir.Undefined):
            for out in self.new(op.results[0]):
                self.builder.emit(op.rebuilt((), (), (out,)))

    def store(self, op: ir.Store) -> None:
        values = self.dot_of(op.value)
        if values is None:
            if op.add:
                return
            values = self.directions.number(0, op.value.type)
        for value, at in zip(values, self.directions.indices, strict=True):
            self.builder.store(self.shadow(op.array), (*op.index, *at), value, op.add, op.promised)

    def call(self, op: ir.Call) -> None:
        if not any(self.activity.is_active(out) for out in op.outs):
            return
        if is_constant(op.callee):
            # memory that something active gets into later
            self.dots.update((out, self.zeros(out, out.name + SUFFIX)) for out in op.outs if is_array(out))
            return
        if len(op.outs) == 1 and is_number(op.outs[0]) and all(is_number(a) for a in op.args):
            dot = self.number_call(op)
            if dot is not None:
                self.dots[op.outs[0]] = dot
        else:
            self.array_call(op)

    def number_call(self, op: ir.Call) -> Tangent | None:
        (out,) = op.outs
        ctx = context(self.builder, self.build)
        dots = [self.dot_of(a) for a in op.args]
        if all(d is None for d in dots):
            return None
        if op.callee is ir.cast:
            assert dots[0] is not None
            return tuple(scalars.cast(ctx, d, out.type) for d in dots[0])
        if op.callee is ir.select:
            yes, no = (self.dot_or_zero(a) for a in op.args[1:])
            made = self.directions.new(out)
            for y, n, d in zip(yes, no, made, strict=True):
                self.builder.emit(ir.Call(callee=ir.select, args=(op.args[0], y, n), outs=(d,)))
            return made
        entry = lookup(op.callee)
        if entry is None or entry.partials is None:
            self.array_call(op)
            return self.dots.get(out)
        with self.builder.region() as ops:
            partials = operands_of(apply(ctx, entry.partials, op.args, op.outs))
        used = [p for p, d in zip(partials, dots, strict=True) if d is not None]
        for needed in pure_operations_for(ops, used):
            self.builder.emit(needed)
        pairs = [(p, d) for p, d in zip(partials, dots, strict=True) if d is not None and not _is_zero(p)]
        if not pairs:
            return None
        names = [d.name for d in self.directions.new(out)]
        is_apart = len(pairs) > 1 and is_partly_undefined(op)
        return tuple(self.combined([(p, d[k]) for p, d in pairs], out, name, is_apart) for k, name in enumerate(names))

    def combined(
        self, pairs: Sequence[tuple[ir.Operand, ir.Operand]], out: ir.Var, name: str, is_apart: bool
    ) -> ir.Operand:
        """The sum of partials times tangents, in one direction; `is_apart`: what does not move adds nothing."""
        total: ir.Operand | None = None
        for partial, dot in pairs:
            if _is_zero(dot):
                continue
            term = self.times(partial, dot, out, name)
            if is_apart and not isinstance(partial, ir.Const):
                term = unless_zero(self.builder, dot, term)
            if total is None:
                total = term
            else:
                total = self.builder.call(operator.add, total, term, type=out.type, name=name)
        return typed_const(0, out.type) if total is None else total

    def times(self, partial: ir.Operand, dot: ir.Operand, out: ir.Var, name: str) -> ir.Operand:
        ctx = context(self.builder, self.build)
        if isinstance(partial, ir.Const) and partial.value == 1:
            return scalars.cast(ctx, dot, out.type)
        if isinstance(partial, ir.Const) and partial.value == -1:
            return scalars.cast(ctx, scalars.scalar(ctx, operator.neg, (dot,), name), out.type)
        return scalars.cast(ctx, scalars.scalar(ctx, operator.mul, (partial, dot), name), out.type)

    def array_call(self, op: ir.Call) -> None:
        entry = lookup(op.callee)
        if entry is None or entry.tangent is None:
            name = next(
                (a.name for a in op.args if isinstance(a, ir.Var) and a.user and self.activity.is_active(a)), ""
            )
            raise no_rule(op, name)
        if self.directions.width is not None:
            self.one_by_one(op, entry.tangent)
            return
        given: dict[int, Value] = {k: self.dots[a][0] for k, a in enumerate(op.args) if a in self.dots}
        values = tangent_body(self.builder, entry.tangent, op.args, given, op.outs, self.build)
        for out, value in zip(op.outs, values, strict=True):
            if not self.activity.is_active(out):
                continue
            assert isinstance(value, ir.Var | ir.Const)
            if not is_array(out):
                # a rule may begin a sum with a number of more bits
                self.dots[out] = (scalars.cast(context(self.builder, self.build), value, out.type),)
            elif array_type_of(value).dtype != array_type_of(out).dtype:
                self.dots[out] = (self.converted(value, out),)
            elif any(value is d for d in given.values()) or not self.has_layout(value, out):
                # the rule handed an argument's tangent through, or a view: the result's is memory of its own
                (copied,) = self.new(out)
                self.builder.emit(ir.Copy(source=value, out=copied))
            else:
                self.dots[out] = (value,)

    def converted(self, dots: ir.Operand, out: ir.Var) -> ir.Var:
        """What a rule made of the numbers of another type, as the tangent of a result."""
        type_ = array_type_of(out)
        made = ir.Var(f"{out.name}{SUFFIX}", array_type(type_.dtype, type_.ndim))
        self.builder.emit(ir.Alloc(shape=tuple(extents(self.builder, dots)), out=made))
        self.stored(context(self.builder, self.build), dots, made, ())
        return made

    def has_layout(self, dot: ir.Operand, out: ir.Operand) -> bool:
        """Whether views of a result have their counterparts in this tangent of it."""
        type_ = self.directions.type_of(out.type)
        return not isinstance(type_, types.Array) or type_.layout in ("A", array_type_of(dot).layout)

    def one_by_one(self, op: ir.Call, rule: Any) -> None:
        """The tangent of a call on whole arrays, in a loop over the directions of the chunk."""
        ctx = context(self.builder, self.build)
        active = [out for out in op.outs if self.activity.is_active(out)]
        kept = {k: self.in_memory(a) for k, a in enumerate(op.args) if a in self.dots}
        made: list[ir.Var] = []
        for out in active:
            type_ = array_type(out.type, 1) if is_number(out) else self.directions.type_of(out.type)
            made.append(ir.Var(out.name + SUFFIX, type_))
            shape = () if is_number(out) else extents(self.builder, out)
            self.builder.emit(ir.Alloc(shape=(*shape, *self.directions.extent), out=made[-1]))

        def one(index: Sequence[ir.Operand]) -> None:
            given: dict[int, Value] = {k: self.in_direction(op.args[k], all_, index[0]) for k, all_ in kept.items()}
            values = tangent_body(self.builder, rule, op.args, given, op.outs, self.build)
            found = [v for out, v in zip(op.outs, values, strict=True) if self.activity.is_active(out)]
            for out, value, all_ in zip(active, found, made, strict=True):
                assert isinstance(value, ir.Var | ir.Const)
                if is_number(out):
                    self.builder.store(all_, index, scalars.cast(ctx, value, array_type_of(all_).dtype))
                else:
                    self.stored(ctx, value, all_, index)

        ctx.nest(self.directions.extent, one)
        for out, all_ in zip(active, made, strict=True):
            if is_number(out):
                for dot, at in zip(self.new(out), self.directions.indices, strict=True):
                    self.builder.emit(ir.Load(array=all_, index=at, out=dot))
            else:
                self.dots[out] = (all_,)

    def in_memory(self, argument: ir.Operand) -> ir.Operand:
        """The tangents of an argument as an array whose last axis is the direction."""
        dots = self.dots[argument]
        if is_array(argument):
            return dots[0]
        made = ir.Var(f"{ir.name_of(argument, 'value')}{SUFFIX}", array_type(argument.type, 1))
        self.builder.emit(ir.Alloc(shape=self.directions.extent, out=made))
        for dot, at in zip(dots, self.directions.indices, strict=True):
            self.builder.store(made, at, dot)
        return made

    def in_direction(self, argument: ir.Operand, dots: ir.Operand, direction: ir.Operand) -> ir.Operand:
        """The tangent of an argument in one direction, contiguous as libraries want it."""
        if not is_array(argument):
            return self.builder.load(dots, (direction,), f"{ir.name_of(argument, 'value')}{SUFFIX}")
        type_ = array_type_of(argument)
        view = ir.Var("direction", type_.copy(layout="A", readonly=False))
        selectors: tuple[ir.Selector, ...] = (*(ir.Span() for _ in range(type_.ndim)), ir.At(direction))
        self.builder.emit(ir.Slice(base=dots, selectors=selectors, out=view))
        copied = ir.Var(f"{ir.name_of(argument, 'value')}{SUFFIX}", type_.copy(layout="C", readonly=False))
        self.builder.emit(ir.Copy(source=view, out=copied))
        return copied

    def stored(self, ctx: Context, value: ir.Operand, all_: ir.Var, direction: Sequence[ir.Operand]) -> None:
        """Stores the elements of a tangent, of whatever float type a rule made them."""
        dtype = array_type_of(all_).dtype

        def one(index: Sequence[ir.Operand]) -> None:
            element = scalars.cast(ctx, self.builder.load(value, index), dtype)
            self.builder.store(all_, (*index, *direction), element)

        ctx.nest(extents(self.builder, value), one)

    def laid_out(self, array: ir.Operand, like: types.Array) -> ir.Operand:
        """The array in the layout of a type: itself, seen under the general one, or a copy."""
        type_ = array_type_of(array)
        if type_.layout == like.layout:
            return array
        out = ir.Var(ir.name_of(array, "value"), type_.copy(layout=like.layout, readonly=False))
        if like.layout == "A":
            self.builder.emit(ir.Slice(base=array, selectors=(ir.Span(),) * type_.ndim, out=out))
        else:
            self.builder.emit(ir.Copy(source=array, out=out))
        return out

    # --------------------------------------------------------------------------------------------------- control flow

    def conditional(self, op: ir.If) -> None:
        active = [k for k, out in enumerate(op.outs) if self.activity.is_active(out)]
        sides: list[ir.Region] = []
        for side in op.regions:
            with self.builder.region() as ops:
                self.region(side)
                extra = [dot for k in active for dot in self.handed_on(side.yields[k], op.outs[k].type)]
            sides.append(ir.Region((), tuple(ops), (*side.yields, *extra)))
        outs = tuple(dot for k in active for dot in self.new(op.outs[k]))
        self.builder.emit(dataclasses.replace(op, then=sides[0], orelse=sides[1], outs=(*op.outs, *outs)))

    def handed_on(self, operand: ir.Operand, to: ir.Type) -> Tangent:
        """The tangents of a value, of the type that those of what it becomes have."""
        dots, type_ = self.dot_or_zero(operand), self.directions.type_of(to)
        return (self.laid_out(dots[0], type_),) if isinstance(type_, types.Array) else dots

    def loop(self, op: ir.For | ir.While) -> None:
        is_active = self.activity.is_active
        active = [s for s in op.slots if (is_active(s.out) or is_active(s.arg)) and carries(s.arg.type)]
        inits = [dot for s in active for dot in self.handed_on(s.init, s.arg.type)]
        args = [dot for s in active for dot in self.new(s.arg)]
        with self.builder.region() as ops:
            self.region(op.body)
            yields = [dot for s in active for dot in self.handed_on(s.yielded, s.arg.type)]
        outs = [dot for s in active for dot in self.new(s.out)]
        self.builder.emit(ir.with_slots(op, list(map(ir.Slot, inits, args, yields, outs)), ops))


def _is_zero(operand: ir.Operand) -> bool:
    return isinstance(operand, ir.Const) and bool(operand.value == 0)
