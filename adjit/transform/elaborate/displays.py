"""Tuples and lists of numbers where NumPy takes them for arrays.

In: a tuple or list display, of whatever depth. Out: an array of that shape, made element by element.

    a + [1.0, 2.0]      array = np.empty(2);  array[0] = 1.0;  array[1] = 2.0;  a + array
"""

from __future__ import annotations

import operator

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import scalars
from adjit.transform.elaborate.frame import Context
from adjit.transform.elaborate.values import TupleValue, Value, described, is_number
from adjit.transform.types import array_type, call_type


def array_of(ctx: Context, value: Value, kind: types.Type | None = None) -> ir.Var:
    """The array that np.array makes of a display; `kind`: of its elements, instead of their common one."""
    extents, flat = _elements(ctx, value)
    type_ = kind or _common_type(flat)
    out = ir.Var("array", array_type(type_, len(extents)))
    shape = [ir.integer(n) for n in extents]
    ctx.builder.emit(ir.Alloc(shape=tuple(shape), out=out))
    ctx.new_array(out, shape)
    for place, leaf in zip(np.ndindex(*extents), flat, strict=True):
        ctx.builder.store(out, [ir.integer(int(p)) for p in place], scalars.cast(ctx, leaf, type_))
    return out


def _common_type(flat: list[ir.Operand]) -> types.Type:
    type_: types.Type = flat[0].type if flat else types.float64
    for leaf in flat[1:]:
        if type_ != leaf.type:
            wider = call_type(operator.add, (type_, leaf.type))
            assert wider is not None
            type_ = wider
    return type_


def _elements(ctx: Context, value: Value) -> tuple[tuple[int, ...], list[ir.Operand]]:
    if is_number(value):
        assert isinstance(value, ir.Var | ir.Const)
        return (), [value]
    if not isinstance(value, TupleValue):
        raise ctx.fail(
            errors.Unsupported,
            f"{described(value)} as an element of an array",
            "The elements of np.array are numbers, in tuples and lists.",
            "Store into an array of known shape.",
        )
    parts = [_elements(ctx, item) for item in value.items]
    if any(p[0] != parts[0][0] for p in parts):
        raise ctx.fail(errors.TypeMismatch, "the rows of an array differ in length", "", "Give all rows one length.")
    inner = parts[0][0] if parts else ()
    return (len(parts), *inner), [leaf for p in parts for leaf in p[1]]
