"""Subscripts of NumPy's `r_`, `c_`, `mgrid` and `ogrid`, by what they stand for.

In: the object and the entries of its subscript. Out: an array, or a tuple of them.

    np.r_[0.0, v, 2:5]  np.hstack((0.0, v, np.arange(2, 5)))          np.mgrid[0:n, 0:m]  np.indices((n, m))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjit.transform import ir
from adjit.transform.elaborate.values.frame import Frame, wrap
from adjit.transform.elaborate.values.values import SliceValue, Static, TupleValue, Value

ON_GRIDS = (type(np.r_), type(np.c_), type(np.mgrid), type(np.ogrid))


def on_grid(frame: Frame, owner: Any, entries: Sequence[Value]) -> Value:
    """`owner[entries]`."""
    ctx = frame.ctx

    def called(callee: Any, *args: Value, **named: Value) -> Value:
        return ctx.call(frame, Static(callee), args, named)

    parts = [_range(frame, e) if isinstance(e, SliceValue) else e for e in entries]
    if any(isinstance(part, Static) for part in parts):
        raise ctx.unsupported("a text in this subscript", "Join the arrays with np.concatenate.")
    if owner is np.r_ or owner is np.c_:
        return called(np.hstack if owner is np.r_ else np.column_stack, TupleValue(tuple(parts)))
    if not all(isinstance(e, SliceValue) for e in entries):
        raise ctx.unsupported("this subscript of a grid", "Give it slices.")
    if len(parts) == 1:
        return parts[0]
    grids = called(np.meshgrid, *parts, indexing=wrap(ctx, "ij"), sparse=wrap(ctx, owner is np.ogrid))
    return called(np.stack, grids) if owner is np.mgrid else grids


def _range(frame: Frame, entry: SliceValue) -> Value:
    """The numbers of a slice."""
    span = entry.span
    if span.stop is None:
        raise frame.ctx.unsupported("a slice without an end in this subscript", "Write its end.")
    ends = [ir.integer(0) if span.start is None else span.start, span.stop]
    return frame.ctx.call(frame, Static(np.arange), [*ends, *([] if span.step is None else [span.step])], {})
