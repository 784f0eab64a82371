"""Python objects from outside the function as values: numbers and arrays are constants, as they are for numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import complexes
from adjit.transform.elaborate.frame import Context
from adjit.transform.elaborate.values import Static, TupleValue, Value
from adjit.transform.types import const, type_of


def wrap(ctx: Context, thing: Any) -> Value:
    """The value that stands for a Python object."""
    if isinstance(thing, bool | int | float | np.bool_ | np.integer | np.floating):
        return const(thing)
    if isinstance(thing, complex):
        return complexes.literal(thing)
    if isinstance(thing, tuple):
        return TupleValue(tuple(wrap(ctx, part) for part in thing))
    if isinstance(thing, np.ndarray):
        type_ = type_of(thing)
        assert isinstance(type_, types.Array)
        if not isinstance(type_.dtype, types.Float | types.Integer | types.Boolean):
            raise ctx.fail(errors.Unsupported, f"a global array of {thing.dtype}", "", "Use an array of numbers.")
        return ir.Const(thing, type_)
    return Static(thing)
