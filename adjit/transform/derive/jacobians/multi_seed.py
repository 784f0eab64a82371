"""A function run for several values of some arguments at once, in one pass over its operations.

In: a region, such as a reverse sweep, and for each variable outside that varies its values, laid out as tangents in
several directions are. Out: its operations, each once for every value, and what it yields.

    x_bar = c * y_bar                  x_bar0 = c * y_bar0
                                       x_bar1 = c * y_bar1
    a_bar[i] += x_bar                  a_bar[i, 0] += x_bar0
                                       a_bar[i, 1] += x_bar1

What does not depend on those variables is computed once; of what does, the operations on one value alone stay where
they are, for nobody, until the function is simplified. Where values decide which way it takes, they cannot be run
together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.order_sensitive import steering
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.batching import Along
from adjit.transform.derive.directions import Directions, NotTogether, Tangent, extents
from adjit.transform.frontend.values.numbers import is_number
from adjit.transform.frontend.values.values import Value
from adjit.transform.frontend.walk.entry import BuildDerivative
from adjit.transform.ir.types import array_type_of, typed_const


def repeated(
    sweep: ir.Region, given: Mapping[ir.Var, Tangent], directions: Directions, build: BuildDerivative
) -> tuple[list[ir.Op], list[Tangent]]:
    """The operations of a region for all values of some variables that are free in it, and what it yields for each.

    Raises NotTogether where the way through it depends on them.
    """
    inside = dataclasses.replace(sweep, args=())
    if directions.width is None:
        alone = ir.Cloner({var: value for var, (value,) in given.items()}).region(inside)
        return list(alone.ops), [(y,) for y in alone.yields]
    cloner = ir.Cloner()
    fresh = {cloner.fresh(var): values for var, values in given.items()}
    body = cloner.region(inside)
    args = tuple(dict.fromkeys((*fresh, *ir.free_vars(body))))
    function = ir.Function("sweep", (), args, dataclasses.replace(body, args=args), ())
    return _Repeated(function, fresh, directions, build).run()


class Copies(Directions):
    """How the values of one variable are laid out: as tangents are, by the names that they have anyway."""

    suffix = ""

    def alloc(self, builder: ir.Builder, op: ir.Alloc, out: ir.Var) -> None:
        shape = op.shape if op.like is None else extents(builder, op.like)
        builder.emit(dataclasses.replace(op, shape=(*shape, *self.extent), like=None, out=out))


class _Dependence(Activity):
    """What depends on some inputs, be it a number or a truth value; whatever the results need."""

    @staticmethod
    def is_constant(op: ir.Op) -> bool:
        return isinstance(op, ir.Call) and op.callee is len

    def _carries(self, operand: ir.Operand) -> bool:
        return isinstance(operand, ir.Var)

    def is_active(self, operand: ir.Operand) -> bool:
        return self.is_varied(operand)


class _Repeated(Along):
    def __init__(
        self, function: ir.Function, given: Mapping[ir.Var, Tangent], directions: Directions, build: BuildDerivative
    ) -> None:
        super().__init__(function, directions, build)
        self.given = given
        self.activity = _Dependence(function, given, function.body.yields)

    def run(self) -> tuple[list[ir.Op], list[Tangent]]:
        for p in self.function.body.args:
            if p in self.given:
                self.dots[p] = self.given[p]
                self.alone(p)
            elif self.has(p):
                self.dots[p] = self.spread(p)
        self.region(self.function.body)
        return self.builder.ops, [self.of(y) for y in self.function.body.yields]

    def alone(self, p: ir.Var) -> None:
        """Something for the operations on one value to work on, until they go."""
        if is_number(p):
            self.builder.emit(ir.Call(callee=ir.cast, args=(typed_const(0, p.type),), outs=(p,)))
            return
        (values,) = self.given[p]
        shape = tuple(extents(self.builder, values)[:-1])
        self.builder.emit(ir.Alloc(shape=shape, fill=typed_const(0, array_type_of(p).dtype), out=p))

    def spread(self, array: ir.Operand) -> Tangent:
        """The same numbers for each value."""
        if is_number(array):
            return (array,) * len(self.directions.indices)
        if not isinstance(array, ir.Var) or not isinstance(array.type, types.Array):
            raise NotTogether
        type_ = self.directions.type_of(array.type)
        made, shape = ir.Var(array.name, type_), extents(self.builder, array)
        self.builder.emit(ir.Alloc(shape=(*shape, *self.directions.extent), out=made))

        def one(index: tuple[ir.Var, ...]) -> None:
            element = self.builder.load(array, index)
            for at in self.directions.indices:
                self.builder.store(made, (*index, *at), element)

        self.builder.nest(shape, one)
        return (made,)

    def otherwise(self, operand: ir.Operand, name: str = "") -> Tangent:
        return self.spread(operand)

    def beside(self, op: ir.Op) -> None:
        if any(self.has(o) for o in _deciding(op)):
            raise NotTogether
        super().beside(op)

    def call(self, op: ir.Call) -> None:
        if not any(map(self.has, op.outs)):
            return
        if op.effect:
            raise NotTogether
        if all(map(is_number, (*op.args, *op.outs))):
            args = list(zip(*map(self.of, op.args), strict=True))
            outs = list(zip(*map(self.new, op.outs), strict=True))
            for own, made in zip(args, outs, strict=True):
                self.builder.emit(op.rebuilt(own, (), made))
            return
        self.in_turn(op, lambda given: self.one_call(op, given))

    def one_call(self, op: ir.Call, given: Mapping[int, Value]) -> list[Value]:
        made = [dataclasses.replace(out) for out in op.outs]
        own = [given.get(k, argument) for k, argument in enumerate(op.args)]
        self.builder.emit(op.rebuilt(own, (), made))  # type: ignore[arg-type]
        return list(made)


def _deciding(op: ir.Op) -> Iterable[ir.Operand]:
    """What decides which way an operation takes, where in memory, or of what shape its result is."""
    if isinstance(op, ir.Push | ir.Pull):
        return (op.index,)
    if isinstance(op, ir.Alloc | ir.Slice | ir.Reshape):
        return [o for o in op.operands if not ir.is_reference(o)]
    return steering(op)
