"""What goes along values in several directions, through memory, views and control flow.

In: a function, and what goes along its arguments. Out: its operations, each followed by what it does to that.

    a[i] = y            a[i] = y
                        a_dot[i, 0] = y_dot0
                        a_dot[i, 1] = y_dot1

What that is of a call is the matter of those who derive from this: the tangents of the results (`forward.py`), or the
results of other arguments (`multi_seed.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.directions import Directions, Tangent, extents, in_memory
from adjit.transform.derive.rule_bodies import context
from adjit.transform.derive.shadows import Beside
from adjit.transform.frontend.values.arrays import shape_of, store
from adjit.transform.frontend.values.elementwise import stretched
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.numbers import is_array, is_number
from adjit.transform.frontend.values.values import Value
from adjit.transform.frontend.walk.entry import BuildDerivative
from adjit.transform.ir.types import array_type, array_type_of

# What a call gives in one direction, from what goes along those of its arguments that have something, by position.
OneCall = Callable[[dict[int, Value]], Sequence[Value]]


class Along(Beside):
    """`dots`: what goes along each value, one operand a direction, or a shadow with all of them.

    Those who derive from this say in `activity` which values have something.
    """

    activity: Activity

    def __init__(self, function: ir.Function, directions: Directions, build: BuildDerivative) -> None:
        self.function, self.directions, self.build = function, directions, build
        self.builder = ir.Builder()
        self.dots: dict[ir.Operand, Tangent] = {}

    def context(self) -> Context:
        return context(self.builder, self.build)

    def has(self, operand: ir.Operand) -> bool:
        return self.activity.is_active(operand)

    def otherwise(self, operand: ir.Operand, name: str = "") -> Tangent:
        """What goes along a value that has nothing of its own."""
        raise NotImplementedError

    def call(self, op: ir.Call) -> None:
        raise NotImplementedError

    def of(self, operand: ir.Operand, name: str = "") -> Tangent:
        """What goes along a value."""
        found = self.dots.get(operand)
        return self.otherwise(operand, name) if found is None else found

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        made = self.directions.new(out)
        self.dots[out] = made
        return made

    def name(self, operand: ir.Operand) -> str:
        """The name of what goes along a value."""
        return ir.name_of(operand, "value") + self.directions.suffix

    def shadow(self, array: ir.Operand) -> ir.Operand:
        (found,) = self.dots[array]
        return found

    # -------------------------------------------------------------------------------------------------------- memory

    def op(self, op: ir.Op) -> None:
        if isinstance(op, ir.Call):
            self.call(op)
        elif isinstance(op, ir.Store):
            if self.has(op.array):
                self.store(op)
        elif not any(self.has(out) for out in op.results):
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
                # of an argument that has nothing, where a variable may also be an array that has something
                self.dots[op.out] = self.otherwise(op.out)

    def store(self, op: ir.Store) -> None:
        for value, at in zip(self.of(op.value), self.directions.indices, strict=True):
            self.builder.store(self.shadow(op.array), (*op.index, *at), value, op.add, op.promised)

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
        """What goes along a value, of the type that it has along what the value becomes."""
        dots, type_ = self.of(operand), self.directions.type_of(to)
        return (self.laid_out(dots[0], type_),) if isinstance(type_, types.Array) else dots

    # -------------------------------------------------------------------------------------- calls on whole arrays

    def in_turn(self, op: ir.Call, one: OneCall) -> None:
        """What goes along the results of a call on whole arrays, in a loop over the directions of the chunk."""
        active = [out for out in op.outs if self.has(out)]
        kept = {
            k: self.dots[a][0] if is_array(a) else in_memory(self.builder, self.dots[a], self.name(a))
            for k, a in enumerate(op.args)
            if a in self.dots
        }
        made: list[ir.Var] = []
        for out in active:
            type_ = array_type(out.type, 1) if is_number(out) else self.directions.type_of(out.type)
            made.append(ir.Var(self.name(out), type_))
            self.builder.emit(ir.Alloc(shape=(*extents(self.builder, out), *self.directions.extent), out=made[-1]))

        def in_one(index: Sequence[ir.Operand]) -> None:
            values = one({k: self.in_direction(op.args[k], all_, index[0]) for k, all_ in kept.items()})
            found = [v for out, v in zip(op.outs, values, strict=True) if self.has(out)]
            for value, all_ in zip(found, made, strict=True):
                self.stored(value, all_, index)

        self.builder.nest(self.directions.extent, in_one)
        for out, all_ in zip(active, made, strict=True):
            if is_number(out):
                for dot, at in zip(self.new(out), self.directions.indices, strict=True):
                    self.builder.emit(ir.Load(array=all_, index=at, out=dot))
            else:
                self.dots[out] = (all_,)

    def in_direction(self, argument: ir.Operand, dots: ir.Operand, direction: ir.Operand) -> ir.Operand:
        """What goes along an argument in one direction, contiguous as libraries want it."""
        if not is_array(argument):
            return self.builder.load(dots, (direction,), self.name(argument))
        type_ = array_type_of(argument)
        view = ir.Var("direction", type_.copy(layout="A", readonly=False))
        selectors: tuple[ir.Selector, ...] = (*(ir.Span() for _ in range(type_.ndim)), ir.At(direction))
        self.builder.emit(ir.Slice(base=dots, selectors=selectors, out=view))
        copied = ir.Var(self.name(argument), type_.copy(layout="C", readonly=False))
        self.builder.emit(ir.Copy(source=view, out=copied))
        return copied

    def stored(self, value: Value, all_: ir.Var, direction: Sequence[ir.Operand]) -> None:
        """Stores what goes along in one direction, of whatever float type a rule made it."""
        ctx = self.context()
        shape = shape_of(ctx, value)
        element = stretched(ctx, value, shape)
        ctx.builder.nest(shape, lambda index: store(ctx, all_, (*index, *direction), element(index)))
