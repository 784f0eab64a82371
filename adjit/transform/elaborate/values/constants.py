"""Python objects from outside the function as values: numbers and arrays are constants, as they are for numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate.values import complexes
from adjit.transform.elaborate.values.frame import Context
from adjit.transform.elaborate.values.values import Complex, Static, TupleValue, Value
from adjit.transform.ir.types import const, type_of


def wrap(ctx: Context, thing: Any) -> Value:
    """The value that stands for a Python object."""
    if isinstance(thing, bool | int | float | np.bool_ | np.integer | np.floating):
        return const(thing)
    if isinstance(thing, complex | np.complexfloating):
        return complexes.literal(thing)
    if isinstance(thing, tuple):
        return TupleValue(tuple(wrap(ctx, part) for part in thing), fields=tuple(getattr(thing, "_fields", ())))
    if isinstance(thing, np.ndarray):
        type_ = type_of(thing)
        assert isinstance(type_, types.Array)
        if isinstance(type_.dtype, types.Complex):
            return _parts(ctx, thing)
        if not isinstance(type_.dtype, types.Float | types.Integer | types.Boolean):
            raise ctx.fail(errors.Unsupported, f"a global array of {thing.dtype}", "", "Use an array of numbers.")
        return ir.Const(thing, type_)
    return Static(thing)


def _parts(ctx: Context, array: np.ndarray[Any, Any]) -> Complex:
    """A global array of complex numbers as two constants, the same two each time: constants are known by identity."""
    found = ctx.parts.get(id(array))
    if found is None:
        real, imag = np.ascontiguousarray(array.real), np.ascontiguousarray(array.imag)
        found = ctx.parts[id(array)] = Complex(ir.Const(real, type_of(real)), ir.Const(imag, type_of(imag)))
    return found
