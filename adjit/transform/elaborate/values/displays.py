"""Tuples and lists of numbers where NumPy takes them for arrays.

In: a tuple or list display, of whatever depth. Out: an array of that shape, made element by element.

    a + [1.0, 2.0]      array = np.empty(2);  array[0] = 1.0;  array[1] = 2.0;  a + array
"""

from __future__ import annotations

import functools

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.arrays import allocated, store
from adjit.transform.elaborate.values.frame import Context
from adjit.transform.elaborate.values.values import (
    Complex,
    Number,
    TupleValue,
    Value,
    described,
    dtype,
    is_array,
    is_numeric,
)


def array_of(ctx: Context, value: Value, kind: types.Type | None = None, of_none: types.Type = types.float64) -> Number:
    """The array that np.array makes of a display; `kind`: of its elements, instead of their common one.

    of_none: their type where there are no elements.
    """
    extents, flat = _elements(ctx, value)
    type_ = kind or (functools.reduce(scalars.wider, map(dtype, flat)) if flat else of_none)
    out = allocated(ctx, [ir.integer(n) for n in extents], type_, None if flat else 0, "array")
    for place, leaf in zip(np.ndindex(*extents), flat, strict=True):
        store(ctx, out, [ir.integer(int(p)) for p in place], leaf)
    return out


def _elements(ctx: Context, value: Value) -> tuple[tuple[int, ...], list[Number]]:
    if is_numeric(value) and not is_array(value):
        assert isinstance(value, ir.Var | ir.Const | Complex)
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
        raise ctx.fail(errors.TypeMismatch, "the rows of an array differ in length", "", "Give rows of one length.")
    inner = parts[0][0] if parts else ()
    return (len(parts), *inner), [leaf for p in parts for leaf in p[1]]
