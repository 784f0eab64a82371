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
from adjit.transform.derive.activity import Activity, is_constant
from adjit.transform.derive.branch_only import is_partly_undefined, is_sure, unless_zero
from adjit.transform.derive.directions import SUFFIX, Directions, Tangent, extents, in_memory
from adjit.transform.derive.rule_bodies import context, no_rule, partials_of, tangent_body
from adjit.transform.derive.shadows import Beside
from adjit.transform.elaborate.entry import BuildDerivative
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.arrays import shape_of, store
from adjit.transform.elaborate.values.elementwise import converted, copied, stretched
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
    ops, tangents = Tangents(function, [None if dot is None else (dot,) for dot in dots], Directions(), build).run()
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


class Tangents(Beside):
    """The tangents beside the values of a function; `dots`: those of its arguments, None where one is held fixed."""

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
        """The operations of the function with those of its tangents, and the tangents of its results."""
        for p, dot in self.given:
            if self.activity.is_active(p):
                self.dots[p] = tuple(self.typed(d, p) for d in dot)
        self.region(self.function.body)
        tangents = [self.dot_or_zero(y, "tangent") for y in self.function.body.yields]
        return self.builder.ops, tangents

    def context(self) -> Context:
        return context(self.builder, self.build)

    def typed(self, dot: ir.Operand, p: ir.Var) -> ir.Operand:
        """The tangent that is given for an argument as one of its type: views of both are made alike."""
        if isinstance(p.type, types.Array):
            return self.laid_out(dot, p.type)
        return scalars.cast(self.context(), dot, p.type)

    def zeros(self, like: ir.Operand, name: str = "") -> Tangent:
        return (self.directions.zeros(self.builder, like, name or _dot_name(like)),)

    def has(self, operand: ir.Operand) -> bool:
        return self.activity.is_active(operand)

    def dot_or_zero(self, operand: ir.Operand, name: str = "") -> Tangent:
        found = self.dots.get(operand)
        if found is not None:
            return found
        if isinstance(operand.type, types.Array):
            return self.zeros(operand, name)
        return self.directions.number(0, operand.type)

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        made = self.directions.new(out)
        self.dots[out] = made
        return made

    def shadow(self, array: ir.Operand) -> ir.Operand:
        (found,) = self.dots[array]
        return found

    # ---------------------------------------------------------------------------------------------------- operations

    def op(self, op: ir.Op) -> None:
        is_active = self.activity.is_active
        if isinstance(op, ir.Call):
            self.call(op)
        elif isinstance(op, ir.Store):
            if is_active(op.array):
                self.store(op)
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
        elif isinstance(op, (ir.Copy, *ir.VIEWS)):
            base = op.operands[0]
            if base in self.dots:
                (out,) = self.new(op.out)
                self.builder.emit(self.directions.same(op, self.shadow(base), out))
            else:
                # of an argument that is held fixed, where a variable may also be an array that is not
                self.dots[op.out] = self.zeros(op.out)

    def store(self, op: ir.Store) -> None:
        if op.add and op.value not in self.dots:
            return
        values = self.dot_or_zero(op.value)
        for value, at in zip(values, self.directions.indices, strict=True):
            self.builder.store(self.shadow(op.array), (*op.index, *at), value, op.add, op.promised)

    def call(self, op: ir.Call) -> None:
        if not any(self.activity.is_active(out) for out in op.outs):
            return
        if is_constant(op.callee):
            # memory that something active gets into later
            self.dots.update((out, self.zeros(out)) for out in op.outs if is_array(out))
            return
        if len(op.outs) == 1 and is_number(op.outs[0]) and all(is_number(a) for a in op.args):
            dot = self.number_call(op)
            if dot is not None:
                self.dots[op.outs[0]] = dot
        else:
            self.array_call(op)

    def number_call(self, op: ir.Call) -> Tangent | None:
        (out,) = op.outs
        ctx = self.context()
        dots = [self.dots.get(a) for a in op.args]
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
        partials = partials_of(self.builder, op, entry.partials, self.dots.__contains__, self.build)
        pairs = [(p, d) for p, d in zip(partials, dots, strict=True) if d is not None and not ir.is_literal(p, 0)]
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
            if ir.is_literal(dot, 0):
                continue
            term = self.times(partial, dot, out, name)
            if is_apart and not is_sure(partial):
                term = unless_zero(self.builder, dot, term)
            total = term if total is None else self.builder.call(operator.add, total, term, type=out.type, name=name)
        return typed_const(0, out.type) if total is None else total

    def times(self, partial: ir.Operand, dot: ir.Operand, out: ir.Var, name: str) -> ir.Operand:
        ctx = self.context()
        if ir.is_literal(partial, -1):
            dot = scalars.scalar(ctx, operator.neg, (dot,), name)
        elif not ir.is_literal(partial, 1):
            dot = scalars.scalar(ctx, operator.mul, (partial, dot), name)
        return scalars.cast(ctx, dot, out.type)

    def array_call(self, op: ir.Call) -> None:
        entry = lookup(op.callee)
        if entry is None or entry.tangent is None:
            raise no_rule(op, self.activity.is_active)
        if self.directions.width is not None:
            self.one_by_one(op, entry.tangent)
            return
        given: dict[int, Value] = {k: self.dots[a][0] for k, a in enumerate(op.args) if a in self.dots}
        values = tangent_body(self.builder, entry.tangent, op.args, given, op.outs, self.build)
        for out, value in zip(op.outs, values, strict=True):
            if not self.activity.is_active(out):
                continue
            assert isinstance(value, ir.Var | ir.Const)
            type_ = array_type_of(out) if is_array(out) else None
            if type_ is None:
                # a rule may begin a sum with a number of more bits
                self.dots[out] = (scalars.cast(self.context(), value, out.type),)
            elif array_type_of(value).dtype != type_.dtype:
                made = copied(self.context(), converted(self.context(), value, type_.dtype), _dot_name(out))
                assert isinstance(made, ir.Var)
                self.dots[out] = (made,)
            elif any(value is d for d in given.values()) or type_.layout not in ("A", array_type_of(value).layout):
                # the rule handed an argument's tangent through, or a view: the result's is memory of its own
                (own,) = self.new(out)
                self.builder.emit(ir.Copy(source=value, out=own))
            else:
                self.dots[out] = (value,)

    def one_by_one(self, op: ir.Call, rule: Any) -> None:
        """The tangent of a call on whole arrays, in a loop over the directions of the chunk."""
        active = [out for out in op.outs if self.activity.is_active(out)]
        kept = {
            k: self.dots[a][0] if is_array(a) else in_memory(self.builder, self.dots[a], _dot_name(a))
            for k, a in enumerate(op.args)
            if a in self.dots
        }
        made: list[ir.Var] = []
        for out in active:
            type_ = array_type(out.type, 1) if is_number(out) else self.directions.type_of(out.type)
            made.append(ir.Var(_dot_name(out), type_))
            self.builder.emit(ir.Alloc(shape=(*extents(self.builder, out), *self.directions.extent), out=made[-1]))

        def one(index: Sequence[ir.Operand]) -> None:
            given: dict[int, Value] = {k: self.in_direction(op.args[k], all_, index[0]) for k, all_ in kept.items()}
            values = tangent_body(self.builder, rule, op.args, given, op.outs, self.build)
            found = [v for out, v in zip(op.outs, values, strict=True) if self.activity.is_active(out)]
            for value, all_ in zip(found, made, strict=True):
                self.stored(value, all_, index)

        self.builder.nest(self.directions.extent, one)
        for out, all_ in zip(active, made, strict=True):
            if is_number(out):
                for dot, at in zip(self.new(out), self.directions.indices, strict=True):
                    self.builder.emit(ir.Load(array=all_, index=at, out=dot))
            else:
                self.dots[out] = (all_,)

    def in_direction(self, argument: ir.Operand, dots: ir.Operand, direction: ir.Operand) -> ir.Operand:
        """The tangent of an argument in one direction, contiguous as libraries want it."""
        if not is_array(argument):
            return self.builder.load(dots, (direction,), _dot_name(argument))
        type_ = array_type_of(argument)
        view = ir.Var("direction", type_.copy(layout="A", readonly=False))
        selectors: tuple[ir.Selector, ...] = (*(ir.Span() for _ in range(type_.ndim)), ir.At(direction))
        self.builder.emit(ir.Slice(base=dots, selectors=selectors, out=view))
        copied = ir.Var(_dot_name(argument), type_.copy(layout="C", readonly=False))
        self.builder.emit(ir.Copy(source=view, out=copied))
        return copied

    def stored(self, value: Value, all_: ir.Var, direction: Sequence[ir.Operand]) -> None:
        """Stores the tangent in one direction, of whatever float type a rule made it."""
        ctx = self.context()
        shape = shape_of(ctx, value)
        element = stretched(ctx, value, shape)
        ctx.builder.nest(shape, lambda index: store(ctx, all_, (*index, *direction), element(index)))

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

    def handed_on(self, operand: ir.Operand, to: ir.Type) -> Tangent:
        """The tangents of a value, of the type that those of what it becomes have."""
        dots, type_ = self.dot_or_zero(operand), self.directions.type_of(to)
        return (self.laid_out(dots[0], type_),) if isinstance(type_, types.Array) else dots


def _dot_name(operand: ir.Operand) -> str:
    return ir.name_of(operand, "value") + SUFFIX
