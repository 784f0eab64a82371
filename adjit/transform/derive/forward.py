"""Forward mode: each operation of the primal, followed by that of its tangent.

In: a typed function and the tangent of each argument. Out: a function that returns value and tangent.

    y = x * w       y = x * w
                    y_dot = w * x_dot + x * w_dot

An active array has a shadow array with the same aliasing, all the way. Several directions may travel together
(`directions.py`): then every tangent is one of each.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

from numba import types

from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.analysis.squares import Squares
from adjit.transform.derive.activity import Activity, is_constant, is_exchange
from adjit.transform.derive.batching import Along
from adjit.transform.derive.directions import Directions, Tangent
from adjit.transform.derive.nan_safe import is_sure, unless_all_zero, unless_least, unless_zero
from adjit.transform.derive.not_finite import NotFinite, is_partly_undefined
from adjit.transform.derive.rule_bodies import Partials, is_plain_choice, no_rule, tangent_body
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.elementwise import converted, copied
from adjit.transform.frontend.values.numbers import is_array, is_number
from adjit.transform.frontend.values.values import Value
from adjit.transform.frontend.walk.entry import BuildDerivative
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.rewrite.notes import Differentiated, note
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.source.routines import Routine


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


def taylor(
    function: ir.Function,
    dots: Sequence[ir.Var | None],
    extra_params: Sequence[ir.Tree],
    names: Sequence[str],
    order: int,
    build: BuildDerivative,
) -> ir.Function:
    """The function that returns the Taylor coefficients of its results along `dots`, up to this order.

    Coefficient k is the k-th derivative over k!, which is the tangent of the one before in the same direction.
    """
    count = len(function.body.yields)
    extra = tuple(ir.leaves(tuple(extra_params)))
    made = dataclasses.replace(
        function,
        names=(*function.names, *names),
        params=(*function.params, *extra_params),
        body=dataclasses.replace(function.body, args=(*function.body.args, *extra)),
    )
    along = [*dots, *(None for _ in extra)]
    for _ in range(order):
        pushed = forward(made, along, (), (), build)
        yields = (*made.body.yields, *pushed.body.yields[-count:])
        # what was there already is made a second time, until it is seen to be the same
        made = simplify(dataclasses.replace(made, body=dataclasses.replace(pushed.body, yields=yields)))
    builder = ir.Builder()
    builder.ops.extend(made.body.ops)
    coefficients = [
        y if k < 2 * count or not ir.is_float(y.type) else _divided(builder, y, math.factorial(k // count))
        for k, y in enumerate(made.body.yields)
    ]

    def coefficient(order: int) -> ir.Tree:
        return ir.map_tree(lambda k: None if k is None else order * count + k, function.result)

    body = ir.Region(made.body.args, tuple(builder.ops), tuple(coefficients))
    return dataclasses.replace(made, body=body, result=tuple(map(coefficient, range(order + 1))))


def _divided(builder: ir.Builder, value: ir.Operand, number: int) -> ir.Operand:
    """A value divided by an integer."""
    kind = array_type_of(value).dtype if is_array(value) else value.type
    by = typed_const(number, kind)
    if not is_array(value):
        return builder.call(operator.truediv, value, by, type=kind, name=ir.name_of(value, "coefficient"))
    shape = builder.shape(value)
    made = ir.Var(ir.name_of(value, "coefficient"), array_type(kind, len(shape)))
    builder.emit(ir.Alloc(shape=shape, out=made))

    def one(index: tuple[ir.Var, ...]) -> None:
        quotient = builder.call(operator.truediv, builder.load(value, index), by, type=kind)
        builder.store(made, index, quotient)

    builder.nest(shape, one)
    return made


class _Term(NamedTuple):
    """A partial and the tangents of its argument; whether these may be zero, or the partial, where the other one is not
    finite."""

    partial: ir.Operand
    dots: Tangent
    may_be_still: bool
    may_be_level: bool


class Tangents(Along):
    """The tangents beside the values of a function; `dots`: those of its arguments, None where one is held fixed."""

    def __init__(
        self, function: ir.Function, dots: Sequence[Tangent | None], directions: Directions, build: BuildDerivative
    ):
        super().__init__(function, directions, build)
        body = function.body
        self.partials = Partials(self.builder, build)
        # the partials of the call at hand that are another number or 0
        self.choices: dict[ir.Operand, ir.If] = {}
        self.given = [(p, dot) for p, dot in zip(body.args, dots, strict=True) if dot is not None]
        inputs = tuple(p for p, _ in self.given)
        self.activity = Activity(function, inputs, body.yields)
        self.not_finite = function.analysis(NotFinite)
        self.squares = Squares(function, self.activity.is_active)
        note(Differentiated(function, inputs, tuple(range(len(body.yields)))))

    def run(self) -> tuple[list[ir.Op], list[Tangent]]:
        """The operations of the function with those of its tangents, and the tangents of its results."""
        for p, dot in self.given:
            if self.has(p):
                self.dots[p] = tuple(self.typed(d, p) for d in dot)
        self.region(self.function.body)
        tangents = [self.of(y, "tangent") for y in self.function.body.yields]
        return self.builder.ops, tangents

    def typed(self, dot: ir.Operand, p: ir.Var) -> ir.Operand:
        """The tangent that is given for an argument as one of its type: views of both are made alike."""
        if isinstance(p.type, types.Array):
            return self.laid_out(dot, p.type)
        return scalars.cast(self.context(), dot, p.type)

    def zeros(self, like: ir.Operand, name: str = "") -> Tangent:
        return (self.directions.zeros(self.builder, like, name or self.name(like)),)

    def otherwise(self, operand: ir.Operand, name: str = "") -> Tangent:
        """Zero."""
        if isinstance(operand.type, types.Array):
            return self.zeros(operand, name)
        return self.directions.number(0, operand.type)

    # ---------------------------------------------------------------------------------------------------- operations

    def store(self, op: ir.Store) -> None:
        if not op.add or op.value in self.dots:
            super().store(op)

    def call(self, op: ir.Call) -> None:
        if is_exchange(op):
            self.array_call(op)
            return
        if not any(map(self.has, op.outs)):
            return
        if isinstance(op.callee, Routine):
            self.routine_call(op, op.callee)
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

    def routine_call(self, op: ir.Call, routine: Routine) -> None:
        active = [k for k, arg in enumerate(op.args) if arg in self.dots]
        flowing = [k for k, out in enumerate(op.outs) if self.has(out)]
        if not active:
            return
        pushed, is_guarded = routine.jvp(active, flowing, self.build), bool(self.not_finite.guarded_levelled(op))
        made: list[list[ir.Operand]] = [[] for _ in flowing]
        for dots in zip(*(self.dots[op.args[k]] for k in active), strict=True):
            outs = tuple(ir.Var(self.name(op.outs[k]), op.outs[k].type) for k in flowing)
            self.builder.emit(ir.Call(callee=pushed, args=(*op.args, *dots), outs=outs))
            for own, out in zip(made, outs, strict=True):
                own.append(unless_all_zero(self.builder, dots, out) if is_guarded else out)
        self.dots.update((op.outs[k], tuple(own)) for k, own in zip(flowing, made, strict=True))

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
            return self.selected(op, op.args[0], op.args[1:])
        entry = lookup(op.callee)
        if entry is None or entry.partials is None:
            self.array_call(op)
            return self.dots.get(out)
        before = len(self.builder.ops)
        partials = self.partials.of(op, entry.partials, self.dots.__contains__)
        self.choices = {o.outs[0]: o for o in self.builder.ops[before:] if isinstance(o, ir.If) and is_plain_choice(o)}
        if op.callee in (max, min) and partials[-1] in self.choices and None not in dots:
            # all to one of the two
            return self.selected(op, self.choices[partials[-1]].condition, op.args[::-1])
        is_apart = sum(d is not None for d in dots) > 1 and is_partly_undefined(op)
        is_length = self.squares.is_length(op)
        still = () if is_length else op.args if is_apart else self.not_finite.guarded_forward(op)
        level = self.not_finite.levels(op)
        terms = [
            _Term(p, d, a in still and not is_sure(p), a in level)
            for p, d, a in zip(partials, dots, op.args, strict=True)
            if d is not None and not ir.is_literal(p, 0)
        ]
        if not terms:
            return None
        names = [d.name for d in self.directions.new(out)]
        return tuple(self.combined(terms, k, out, name, is_length) for k, name in enumerate(names))

    def selected(self, op: ir.Call, condition: ir.Operand, sides: Sequence[ir.Operand]) -> Tangent:
        """The tangent of one of two values."""
        yes, no = map(self.of, sides)
        made = self.directions.new(op.outs[0])
        for y, n, d in zip(yes, no, made, strict=True):
            self.builder.emit(ir.Call(callee=ir.select, args=(condition, y, n), outs=(d,)))
        return made

    def combined(self, terms: Sequence[_Term], direction: int, out: ir.Var, name: str, is_length: bool) -> ir.Operand:
        """The sum of partials times tangents, in one direction."""
        total: ir.Operand | None = None
        for partial, dots, may_be_still, may_be_level in terms:
            dot = dots[direction]
            if ir.is_literal(dot, 0):
                continue
            term = self.times(partial, dot, out, name)
            if may_be_still:
                term = unless_zero(self.builder, dot, term)
            if may_be_level:
                term = unless_zero(self.builder, partial, term)
            total = term if total is None else self.builder.call(operator.add, total, term, type=out.type, name=name)
        if total is None:
            return typed_const(0, out.type)
        return unless_least(self.builder, out, total) if is_length else total

    def times(self, partial: ir.Operand, dot: ir.Operand, out: ir.Var, name: str) -> ir.Operand:
        ctx = self.context()
        if partial in self.choices:
            chosen, zero = self.choices[partial], typed_const(0, out.type)
            sides = (side.yields[0] for side in chosen.regions)
            terms = [zero if ir.is_literal(side, 0) else self.times(side, dot, out, name) for side in sides]
            return self.builder.call(ir.select, chosen.condition, *terms, type=out.type, name=name)
        if ir.is_literal(partial, -1):
            dot = scalars.scalar(ctx, operator.neg, (dot,), name)
        elif not ir.is_literal(partial, 1):
            dot = scalars.scalar(ctx, operator.mul, (partial, dot), name)
        return scalars.cast(ctx, dot, out.type)

    def array_call(self, op: ir.Call) -> None:
        entry = lookup(op.callee)
        if entry is None or entry.tangent is None:
            raise no_rule(op, self.activity.is_active, in_forward=True)
        rule, wanted = entry.tangent, [self.has(out) for out in op.outs]
        if self.directions.width is not None:
            self.in_turn(op, lambda dots: tangent_body(self.builder, rule, op.args, dots, op.outs, self.build, wanted))
            return
        given: dict[int, Value] = {k: self.dots[a][0] for k, a in enumerate(op.args) if a in self.dots}
        values = tangent_body(self.builder, rule, op.args, given, op.outs, self.build, wanted)
        for out, value in zip(op.outs, values, strict=True):
            if not self.has(out):
                continue
            assert isinstance(value, ir.Var | ir.Const)
            type_ = array_type_of(out) if is_array(out) else None
            if type_ is None:
                # a rule may begin a sum with a number of more bits
                self.dots[out] = (scalars.cast(self.context(), value, out.type),)
            elif array_type_of(value).dtype != type_.dtype:
                made = copied(self.context(), converted(self.context(), value, type_.dtype), self.name(out))
                assert isinstance(made, ir.Var)
                self.dots[out] = (made,)
            elif any(value is d for d in given.values()) or type_.layout not in ("A", array_type_of(value).layout):
                # the rule handed an argument's tangent through, or a view: the result's is memory of its own
                (own,) = self.new(out)
                self.builder.emit(ir.Copy(source=value, out=own))
            else:
                self.dots[out] = (value,)
