"""Arrays element by element, real ones and complex ones, which are pairs of real ones.

In: an array. Out: its shape, a new one, an element loaded or stored.

    allocated(ctx, (%n,), complex128, None, "z")   Alloc z_real, Alloc z_imag
    store(ctx, z, (%i,), 1j)                       two stores
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.elaborate.values import complexes
from adjit.transform.elaborate.values.frame import Context
from adjit.transform.elaborate.values.values import Complex, Lazy, Number, Value, dtype, operands_in
from adjit.transform.ir.types import array_type, part_of, typed_const


def shape_of(ctx: Context, value: Value) -> tuple[ir.Operand, ...]:
    if isinstance(value, Lazy):
        return value.shape
    if isinstance(value, Complex):
        return shape_of(ctx, value.real)
    assert isinstance(value, ir.Var | ir.Const)
    return ctx.shape(value) if isinstance(value.type, types.Array) else ()


def ordered_like(ctx: Context, made: Value, models: Iterable[Value]) -> None:
    """Takes note that NumPy makes an array in the order of these, which are C in all that is made here."""
    if not isinstance(made, ir.Var | ir.Const | Complex):
        return
    like: list[ir.Operand] = []
    is_free = False
    for model in models:
        if isinstance(model, Lazy):
            like += [*model.sources, *model.like]
            is_free |= model.is_free
        elif isinstance(model, ir.Var | ir.Const | Complex):
            like += operands_in(model)
    for part in operands_in(made):
        ctx.ordered(part, like, is_free)


def load(ctx: Context, array: Number, index: Sequence[ir.Operand]) -> Number:
    """An element of an array."""
    if isinstance(array, Complex):
        return Complex(ctx.builder.load(array.real, index), ctx.builder.load(array.imag, index))
    return ctx.builder.load(array, index)


def store(ctx: Context, array: Number, index: Sequence[ir.Operand], value: Number, add: bool = False) -> None:
    """`array[index] = value`, or `+=`; the value is cast to the type of the elements."""
    value = complexes.cast(ctx, value, dtype(array))
    for target, part in zip(operands_in(array), operands_in(value), strict=True):
        ctx.builder.store(target, index, part, add=add)


def allocated(
    ctx: Context, shape: Sequence[ir.Operand], kind: types.Type, fill: Any, name: str, user: bool = False
) -> Number:
    """A new array; of complex numbers, two. `fill`: the number in it, if any."""
    if not isinstance(kind, types.Complex):
        return allocated_part(ctx, shape, kind, fill, name, user)
    real, imag = (None, None) if fill is None else (complex(fill).real, complex(fill).imag)
    part = part_of(kind)
    return Complex(
        allocated_part(ctx, shape, part, real, f"{name}_real"), allocated_part(ctx, shape, part, imag, f"{name}_imag")
    )


def allocated_part(
    ctx: Context, shape: Sequence[ir.Operand], kind: types.Type, fill: Any, name: str, user: bool = False
) -> ir.Var:
    """A new array of real numbers."""
    out = ir.Var(name, array_type(kind, len(shape)), user)
    ctx.builder.emit(ir.Alloc(shape=tuple(shape), out=out, fill=None if fill is None else typed_const(fill, kind)))
    return ctx.new_array(out, shape)
