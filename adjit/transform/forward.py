"""Forward mode: each operation of the primal, followed by that of its tangent.

In: a typed function and the tangent of each argument. Out: a function that returns value and tangent.

    y = x * w       y = x * w
                    y_dot = w * x_dot + x * w_dot

An active array has a shadow array with the same aliasing, all the way.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.activity import Activity, carries, is_constant
from adjit.transform.elaborate import scalars
from adjit.transform.elaborate.function import BuildDerivative
from adjit.transform.elaborate.values import Value, is_array, is_number
from adjit.transform.rules_as_ir import apply, context, no_rule, operands_of, pure_operations_for
from adjit.transform.shadows import carried_args
from adjit.transform.transposition import tangent_body
from adjit.transform.types import array_type_of, typed_const, writable

SUFFIX = "_dot"


def forward(
    function: ir.Function,
    dots: Sequence[ir.Var | None],
    extra_params: Sequence[ir.Tree],
    names: Sequence[str],
    build: BuildDerivative,
) -> ir.Function:
    """The function that also returns the tangents of its results; `dots` has the tangent of each parameter's leaf."""
    return _Forward(function, dots, build).run(extra_params, names)


class _Forward:
    def __init__(self, function: ir.Function, dots: Sequence[ir.Var | None], build: BuildDerivative):
        self.function = function
        self.build = build
        body = function.body
        inputs = [p for p, dot in zip(body.args, dots, strict=True) if dot is not None]
        self.activity = Activity(function, inputs, body.yields)
        self.builder = ir.Builder()
        self.dots: dict[ir.Operand, ir.Operand] = {}
        self.given = [(p, dot) for p, dot in zip(body.args, dots, strict=True) if dot is not None]

    def run(self, extra_params: Sequence[ir.Tree], names: Sequence[str]) -> ir.Function:
        body = self.function.body
        with self.builder.region() as ops:
            for p, dot in self.given:
                if self.activity.is_active(p):
                    self.dots[p] = self.typed(dot, p)
            self.region(body)
            tangents = [self.tangent(y) for y in body.yields]
        extra = tuple(ir.leaves(tuple(extra_params)))
        count = len(body.yields)
        region = ir.Region((*body.args, *extra), tuple(ops), (*body.yields, *tangents))
        moved = ir.map_tree(lambda k: None if k is None else k + count, self.function.result)
        return dataclasses.replace(
            self.function,
            names=(*self.function.names, *names),
            params=(*self.function.params, *extra_params),
            body=region,
            result=(self.function.result, moved),
        )

    def typed(self, dot: ir.Var, p: ir.Var) -> ir.Operand:
        if isinstance(p.type, types.Array) or dot.type == p.type:
            return dot
        return scalars.cast(context(self.builder, self.build), dot, p.type)

    def tangent(self, operand: ir.Operand) -> ir.Operand:
        """The tangent of a result, zero where nothing flows into it."""
        if operand in self.dots:
            return self.dots[operand]
        if isinstance(operand.type, types.Array):
            return self.zeros(operand, "tangent")
        return typed_const(0, operand.type)

    def zeros(self, like: ir.Operand, name: str) -> ir.Var:
        assert isinstance(like.type, types.Array)
        out = ir.Var(name, like.type.copy(readonly=False, layout="C" if like.type.layout == "A" else like.type.layout))
        fill = typed_const(0, like.type.dtype)
        if isinstance(like, ir.Var):
            self.builder.emit(ir.Alloc(shape=(), like=like, fill=fill, out=out))
        else:
            shape = tuple(ir.integer(int(n)) for n in like.value.shape)
            self.builder.emit(ir.Alloc(shape=shape, fill=fill, out=out))
        return out

    def dot_of(self, operand: ir.Operand) -> ir.Operand | None:
        return self.dots.get(operand)

    def dot_or_zero(self, operand: ir.Operand) -> ir.Operand:
        found = self.dots.get(operand)
        if found is not None:
            return found
        if isinstance(operand.type, types.Array):
            return self.zeros(operand, f"{_name(operand)}{SUFFIX}")
        return typed_const(0, operand.type)

    def new(self, out: ir.Var) -> ir.Var:
        made = ir.Var(out.name + SUFFIX, writable(out.type))
        self.dots[out] = made
        return made

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
                value = self.dot_of(op.value)
                if value is not None or not op.add:
                    zero = typed_const(0, op.value.type)
                    self.builder.store(self.dots[op.array], op.index, value if value is not None else zero, op.add)
        elif isinstance(op, ir.Push):
            if is_active(op.tape):
                self.builder.emit(
                    dataclasses.replace(op, tape=self.dots[op.tape], value=self.dot_or_zero(op.value), origin=None)
                )
        elif not any(is_active(out) for out in op.results):
            return
        elif isinstance(op, ir.Load):
            if op.array in self.dots:
                self.builder.emit(dataclasses.replace(op, array=self.dots[op.array], out=self.new(op.out)))
        elif isinstance(op, ir.Alloc):
            self.builder.emit(
                dataclasses.replace(op, fill=typed_const(0, array_type_of(op.out).dtype), out=self.new(op.out))
            )
        elif isinstance(op, ir.Copy):
            if op.source in self.dots:
                self.builder.emit(dataclasses.replace(op, source=self.dots[op.source], out=self.new(op.out)))
            else:
                self.dots[op.out] = self.zeros(op.out, op.out.name + SUFFIX)
        elif isinstance(op, ir.VIEWS):
            self.builder.emit(op.rebuilt((self.dots[op.base], *op.operands[1:]), (), (self.new(op.out),)))
        elif isinstance(op, ir.Pull):
            self.builder.emit(dataclasses.replace(op, tape=self.dots[op.tape], out=self.new(op.out)))
        elif isinstance(op, ir.NewTape | ir.Undefined):
            self.builder.emit(op.rebuilt((), (), (self.new(op.results[0]),)))

    def call(self, op: ir.Call) -> None:
        if not any(self.activity.is_active(out) for out in op.outs) or is_constant(op.callee):
            return
        if len(op.outs) == 1 and is_number(op.outs[0]) and all(is_number(a) for a in op.args):
            dot = self.number_call(op)
            if dot is not None:
                self.dots[op.outs[0]] = dot
        else:
            self.array_call(op)

    def number_call(self, op: ir.Call) -> ir.Operand | None:
        (out,) = op.outs
        ctx = context(self.builder, self.build)
        dots = [self.dot_of(a) for a in op.args]
        if all(d is None for d in dots):
            return None
        if op.callee is ir.cast:
            assert dots[0] is not None
            return scalars.cast(ctx, dots[0], out.type)
        if op.callee is ir.select:
            pair = [self.dot_or_zero(a) for a in op.args[1:]]
            return self.builder.call(ir.select, op.args[0], *pair, type=out.type, name=out.name + SUFFIX)
        entry = lookup(op.callee)
        if entry is None or entry.partials is None:
            self.array_call(op)
            return self.dots.get(out)
        with self.builder.region() as ops:
            partials = operands_of(apply(ctx, entry.partials, op.args, op.outs))
        used = [p for p, d in zip(partials, dots, strict=True) if d is not None]
        for needed in pure_operations_for(ops, used):
            self.builder.emit(needed)
        total: ir.Operand | None = None
        for partial, dot in zip(partials, dots, strict=True):
            if dot is None or (isinstance(partial, ir.Const) and partial.value == 0):
                continue
            term = self.times(partial, dot, out)
            total = (
                term
                if total is None
                else self.builder.call(operator.add, total, term, type=out.type, name=out.name + SUFFIX)
            )
        return total

    def times(self, partial: ir.Operand, dot: ir.Operand, out: ir.Var) -> ir.Operand:
        ctx = context(self.builder, self.build)
        name = out.name + SUFFIX
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
        given: dict[int, Value] = {k: self.dots[a] for k, a in enumerate(op.args) if a in self.dots}
        values = tangent_body(self.builder, entry.tangent, op.args, given, op.outs, self.build)
        for out, value in zip(op.outs, values, strict=True):
            if not self.activity.is_active(out):
                continue
            assert isinstance(value, ir.Var | ir.Const)
            if is_array(out) and any(value is d for d in given.values()):
                # the rule handed an argument's tangent through: the result's is memory of its own
                copied = self.new(out)
                self.builder.emit(ir.Copy(source=value, out=copied))
            else:
                self.dots[out] = value

    # --------------------------------------------------------------------------------------------------- control flow

    def conditional(self, op: ir.If) -> None:
        active = [k for k, out in enumerate(op.outs) if self.activity.is_active(out)]
        sides: list[ir.Region] = []
        for side in op.regions:
            with self.builder.region() as ops:
                self.region(side)
                extra = [self.dot_or_zero(side.yields[k]) for k in active]
            sides.append(ir.Region((), tuple(ops), (*side.yields, *extra)))
        outs = tuple(self.new(op.outs[k]) for k in active)
        self.builder.emit(dataclasses.replace(op, then=sides[0], orelse=sides[1], outs=(*op.outs, *outs)))

    def loop(self, op: ir.For | ir.While) -> None:
        args = carried_args(op)
        active = [
            k for k, out in enumerate(op.outs) if self.activity.is_active(out) or self.activity.is_active(args[k])
        ]
        active = [k for k in active if carries(args[k].type)]
        inits = tuple(self.dot_or_zero(op.inits[k]) for k in active)
        more = tuple(self.new(args[k]) for k in active)
        with self.builder.region() as ops:
            self.region(op.body)
            extra = [self.dot_or_zero(op.body.yields[k]) for k in active]
        cut = len(op.outs)
        old = op.body.yields
        body = ir.Region((*op.body.args, *more), tuple(ops), (*old[:cut], *extra, *old[cut:]))
        outs = (*op.outs, *(self.new(op.outs[k]) for k in active))
        if isinstance(op, ir.For):
            made: ir.Op = dataclasses.replace(op, inits=(*op.inits, *inits), body=body, outs=outs)
        else:
            tested = tuple(dataclasses.replace(m) for m in more)
            test = ir.Region((*op.test.args, *tested), op.test.ops, op.test.yields)
            made = dataclasses.replace(op, inits=(*op.inits, *inits), test=test, body=body, outs=outs)
        self.builder.emit(made)


def _name(operand: ir.Operand) -> str:
    return operand.name if isinstance(operand, ir.Var) else "value"
