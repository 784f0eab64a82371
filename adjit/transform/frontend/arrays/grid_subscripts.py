"""Subscripts of NumPy's `r_`, `c_`, `mgrid` and `ogrid`, by what they stand for.

In: the object and the entries of its subscript, with numbers of any kind in slices. Out: an array, or a tuple of them.

    np.r_[0.0, v, 2:5]  np.hstack((0.0, v, np.arange(2, 5)))          np.mgrid[0:n, 0:m]  np.indices((n, m))
    np.r_[a:b:5j]       np.linspace(a, b, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values.elementwise import converted
from adjit.transform.frontend.values.frame import Frame, wrap
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import Complex, dtype, is_array, ndim
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value

ON_GRIDS = (type(np.r_), type(np.c_), type(np.mgrid), type(np.ogrid))


class Ends(NamedTuple):
    """`start:stop:step` in such a subscript: a step that is imaginary says how many numbers there are."""

    start: Value | None
    stop: Value | None
    step: Value | None


def on_grid(frame: Frame, owner: Any, entries: Sequence[Value | Ends]) -> Value:
    """`owner[entries]`."""
    ctx = frame.ctx

    def called(callee: Any, *args: Value, **named: Value) -> Value:
        return ctx.call(frame, Static(callee), args, named)

    parts = [_range(frame, e) if isinstance(e, Ends) else e for e in entries]
    if any(isinstance(part, Static) for part in parts):
        raise ctx.unsupported("a string in this subscript", "Join the arrays with np.concatenate.")
    if owner is np.c_:
        return called(np.column_stack, TupleValue(tuple(parts)))
    if owner is np.r_:
        has_axes = any(is_array(part) and ndim(part) > 1 for part in parts)
        return called(np.concatenate if has_axes else np.hstack, TupleValue(tuple(parts)))
    if not all(isinstance(e, Ends) for e in entries):
        raise ctx.unsupported("this subscript of a grid", "Give it slices.")
    if len(parts) == 1:
        return parts[0]
    kinds = [dtype(part) for part in parts]
    if types.float64 in kinds:
        parts = [converted(ctx, part, types.float64) for part in parts]
    grids = called(np.meshgrid, *parts, indexing=wrap(ctx, "ij"), sparse=wrap(ctx, owner is np.ogrid))
    return called(np.stack, grids) if owner is np.mgrid else grids


def _range(frame: Frame, entry: Ends) -> Value:
    """The numbers of a slice."""
    if entry.stop is None:
        raise frame.ctx.unsupported("a slice without an end in this subscript", "Write its end.")
    start = ir.integer(0) if entry.start is None else entry.start
    if isinstance(entry.step, Complex):
        size = frame.ctx.call(frame, Static(abs), [entry.step], {})
        count = frame.ctx.call(frame, Static(int), [size], {})
        return frame.ctx.call(frame, Static(np.linspace), [start, entry.stop, count], {})
    return frame.ctx.call(
        frame, Static(np.arange), [start, entry.stop, *([] if entry.step is None else [entry.step])], {}
    )
