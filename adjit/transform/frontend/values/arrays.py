"""Arrays element by element, real ones and complex ones, which are pairs of real ones.

In: an array, or a tuple or list where NumPy takes it for one. Out: its shape, a new one, an element loaded or stored.

    allocated(ctx, (%n,), complex128, None, "z")   Alloc z_real, Alloc z_imag
    store(ctx, z, (%i,), 1j)                       two stores
    np.add(a, [1.0, 2.0])                          array = np.empty(2);  array[0] = 1.0;  array[1] = 2.0;  a + array
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.runtime.library import distinct
from adjit.transform import ir
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.checks import require_equal
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import Complex, Lazy, Number, dtype, is_array, is_scalar, operands_in
from adjit.transform.frontend.values.unions import not_none
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import array_type, part_of, typed_const


def shape_of(ctx: Context, value: Value) -> tuple[ir.Operand, ...]:
    if isinstance(value, Lazy):
        return value.shape
    assert isinstance(value, Number)
    first = operands_in(value)[0]
    return ctx.shape(first) if isinstance(first.type, types.Array) else ()


def ordered_like(ctx: Context, made: Value, models: Iterable[Value]) -> None:
    """Takes note that NumPy makes an array in the order of these, which are C in all that is made here."""
    if not isinstance(made, Number):
        return
    like: list[ir.Operand] = []
    is_free = False
    for model in models:
        if isinstance(model, Lazy):
            like += [*model.sources, *model.like]
            is_free |= model.is_free
        elif isinstance(model, Number):
            like += operands_in(model)
    for part in operands_in(made):
        ctx.ordered(part, like, is_free)


def load(ctx: Context, array: Number, index: Sequence[ir.Operand]) -> Number:
    """An element of an array."""
    if isinstance(array, Complex):
        return Complex(ctx.builder.load(array.real, index), ctx.builder.load(array.imag, index))
    return ctx.builder.load(array, index)


def store(
    ctx: Context,
    array: Number,
    index: Sequence[ir.Operand],
    value: Number,
    add: bool = False,
    unsure: bool = False,
) -> None:
    """`array[index] = value`, or `+=`; the value is cast to the type of the elements."""
    value = complexes.cast(ctx, value, dtype(array))
    for target, part in zip(operands_in(array), operands_in(value), strict=True):
        ctx.builder.store(target, index, part, add=add, unsure=unsure)


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


MOST_STORES = 32  # of constants, one by one; what has more is copied


def array_of(ctx: Context, value: Value, kind: types.Type | None = None, of_none: types.Type = types.float64) -> Number:
    """The array that np.array makes of a display; `kind`: of its elements, instead of their common one.

    of_none: their type where there are no elements.
    """
    extents, flat = _elements(ctx, value)
    if any(map(is_array, flat)):
        return _stacked(ctx, extents, flat, kind)
    type_ = kind or (functools.reduce(scalars.wider, map(dtype, flat)) if flat else of_none)
    out = allocated(ctx, [ir.integer(n) for n in extents], type_, None if flat else 0, "array")
    if len(flat) > MOST_STORES and all(isinstance(leaf, ir.Const) for leaf in flat):
        table = np.array([leaf.value for leaf in flat], dtype=np.dtype(str(type_))).reshape(extents)
        _store_row(ctx, out, [], [ir.integer(n) for n in extents], ir.Const(table, array_type(type_, len(extents))))
        return out
    for place, leaf in zip(np.ndindex(*extents), flat, strict=True):
        store(ctx, out, [ir.integer(int(p)) for p in place], leaf)
    return out


def _stacked(ctx: Context, outer: Sequence[int], parts: Sequence[Number | Lazy], kind: types.Type | None) -> Number:
    """The array that np.array makes of arrays in lists or tuples, the first axes of which are those of the lists."""
    shapes = [shape_of(ctx, part) for part in parts]
    if len(set(map(len, shapes))) > 1:
        raise _uneven(ctx)
    type_ = kind or functools.reduce(scalars.wider, map(dtype, parts))
    out = allocated(ctx, [*(ir.integer(n) for n in outer), *shapes[0]], type_, None, "array")
    for place, part, own in zip(np.ndindex(*outer), parts, shapes, strict=True):
        _check_same(ctx, own, shapes[0])
        _store_row(ctx, out, [ir.integer(int(p)) for p in place], shapes[0], part)
    return out


def _check_same(ctx: Context, shape: Sequence[ir.Operand], other: Sequence[ir.Operand]) -> None:
    for mine, first in zip(shape, other, strict=True):
        fits = scalars.scalar(ctx, operator.eq, (mine, first))
        if isinstance(fits, ir.Const) and not fits.value:
            raise _uneven(ctx)
        require_equal(ctx, first, mine, "the rows of an array differ in length: {} and {}")


def _store_row(
    ctx: Context, out: Number, at: list[ir.Operand], shape: Sequence[ir.Operand], row: Number | Lazy
) -> None:
    def body(index: tuple[ir.Operand, ...]) -> None:
        element = row.element(index) if isinstance(row, Lazy) else load(ctx, row, index)
        store(ctx, out, [*at, *index], element)

    ctx.builder.nest(tuple(shape), body)


def _uneven(ctx: Context) -> errors.AdjitError:
    return ctx.mismatch("the rows of an array differ in length", "Give rows of one length.")


def _elements(ctx: Context, value: Value) -> tuple[tuple[int, ...], list[Any]]:
    """How many items there are in nested lists, in each level, and the numbers or arrays in them."""
    value = not_none(ctx, value, "an element of an array")
    if is_scalar(value) or is_array(value):
        return (), [value]
    if not isinstance(value, TupleValue):
        raise ctx.unsupported(
            f"{describe(value)} as an element of an array",
            "Store into an array of known shape.",
            why="The elements of np.array are numbers, in tuples and lists.",
        )
    parts = [_elements(ctx, item) for item in value.items]
    if any(p[0] != parts[0][0] for p in parts):
        raise _uneven(ctx)
    inner = parts[0][0] if parts else ()
    return (len(parts), *inner), [leaf for p in parts for leaf in p[1]]


def as_promised(ctx: Context, array: ir.Operand, element: ir.Var) -> ir.Var:
    """An element that was loaded, with what the user promises of the array: that its elements are all different."""
    if array not in ctx.arrays.distinct:
        return element
    return ctx.builder.call(distinct, element, type=element.type, name=element.name)
