"""How tangents are laid out when several directions travel together.

In: values of the primal. Out: the types, names and indices of their tangents in a chunk of directions.

    one direction       y_dot = w * x_dot              a_dot[i] = y_dot
    a chunk of two      y_dot0 = w * x_dot0            a_dot[i, 0] = y_dot0
                        y_dot1 = w * x_dot1            a_dot[i, 1] = y_dot1

The tangent of a number is one value a direction, unrolled: partial derivatives are computed once for all of them, and
LLVM packs the rest into vectors. The shadow of an array has one more axis, the last and contiguous one, of the literal
extent of the chunk: no new memory, and none that only a loop could reach.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import Layout, array_type, array_type_of, list_type, slice_type, typed_const, writable

SUFFIX = "_dot"

Tangent = tuple[ir.Operand, ...]  # a number: one operand a direction; an array or a tape of arrays: its shadow alone


class NotTogether(Exception):
    """A function whose shadows cannot have an axis for directions: they have to travel one by one."""


class Directions:
    """A chunk of `width` directions; None for the one direction of ordinary forward mode, without an axis for it."""

    suffix = SUFFIX

    def __init__(self, width: int | None = None):
        self.width = width
        count = 1 if width is None else width
        self.indices: tuple[tuple[ir.Operand, ...], ...] = tuple(self.at(ir.integer(d)) for d in range(count))
        self.extent: tuple[ir.Operand, ...] = () if width is None else (ir.integer(width),)

    def at(self, direction: ir.Operand) -> tuple[ir.Operand, ...]:
        """What follows the index of an element in the index of its tangent."""
        return () if self.width is None else (direction,)

    def type_of(self, primal: ir.Type) -> ir.Type:
        """The type of one operand of the tangent of a value of this type."""
        if self.width is None:
            return writable(primal)
        if isinstance(primal, types.List):
            return list_type(self.type_of(primal.dtype))
        if isinstance(primal, types.Array):
            # of the memory of anything but C order nothing is claimed
            layout: Layout = "C" if primal.layout == "C" else "A"
            return primal.copy(ndim=primal.ndim + 1, layout=layout, readonly=False)
        return primal

    def new(self, out: ir.Var) -> tuple[ir.Var, ...]:
        """Variables for the tangent of `out`."""
        name, type_ = out.name + self.suffix, self.type_of(out.type)
        item = out.type.dtype if isinstance(out.type, types.List) else out.type
        if self.width is None or isinstance(item, types.Array):
            return (ir.Var(name, type_),)
        return tuple(ir.Var(f"{name}{d}", type_) for d in range(self.width))

    def number(self, value: float, type_: ir.Type) -> Tangent:
        return (typed_const(value, type_),) * len(self.indices)

    def zeros(self, builder: ir.Builder, like: ir.Operand, name: str) -> ir.Var:
        """The shadow of an array into which nothing flows."""
        type_ = self.type_of(like.type)
        assert isinstance(type_, types.Array)
        fill = typed_const(0, type_.dtype)
        if self.width is None and type_.layout == "A":
            type_ = type_.copy(layout="C")
        out, model = ir.Var(name, type_), like if isinstance(like, ir.Var) and self.width is None else None
        shape = () if model else (*extents(builder, like), *self.extent)
        builder.emit(ir.Alloc(shape=shape, like=model, fill=fill, out=out, role=ir.Role("shadow", like)))
        return out

    def alloc(self, builder: ir.Builder, op: ir.Alloc, out: ir.Var) -> None:
        """The shadow of an array that is made here."""
        fill, role = typed_const(0, array_type_of(op.out).dtype), ir.Role("shadow", op.out)
        if self.width is not None:
            shape = op.shape if op.like is None else extents(builder, op.like)
            op = dataclasses.replace(op, shape=(*shape, *self.extent), like=None)
        builder.emit(dataclasses.replace(op, fill=fill, out=out, role=role))

    def same(self, op: ir.Copy | ir.Slice | ir.Transpose | ir.Reshape, base: ir.Operand, out: ir.Var) -> ir.Op:
        """The same copy or view, of a shadow."""
        if self.width is None or isinstance(op, ir.Copy):
            return op.rebuilt((base, *op.operands[1:]), (), (out,))
        if isinstance(op, ir.Slice):
            selectors = (*op.selectors, ir.Span())
            self._check(slice_type(array_type_of(base), selectors), out)
            return dataclasses.replace(op, base=base, selectors=selectors, out=out)
        if isinstance(op, ir.Transpose):
            if op.axes != tuple(range(len(op.axes))):
                self._check(array_type_of(base).copy(layout="A"), out)
            return dataclasses.replace(op, base=base, axes=(*op.axes, len(op.axes)), out=out)
        if array_type_of(base).layout != "C":
            raise NotTogether
        return dataclasses.replace(op, base=base, shape=(*op.shape, *self.extent), out=out)

    def _check(self, made: types.Array, out: ir.Var) -> None:
        if array_type_of(out).layout == "C" and made.layout != "C":
            raise NotTogether


def extents(builder: ir.Builder, operand: ir.Operand) -> Sequence[ir.Operand]:
    """The shape of an array, as operands; none of a number."""
    if not isinstance(operand.type, types.Array):
        return ()
    if isinstance(operand, ir.Const):
        return [ir.integer(int(n)) for n in operand.value.shape]
    return builder.shape(operand)


def in_memory(builder: ir.Builder, tangent: Tangent, name: str) -> ir.Var:
    """The tangents of a number as an array over the directions."""
    made = ir.Var(name, array_type(tangent[0].type, 1))
    builder.emit(ir.Alloc(shape=(ir.integer(len(tangent)),), out=made))
    for d, dot in enumerate(tangent):
        builder.store(made, (ir.integer(d),), dot)
    return made
