"""The functions and methods that the compiler itself writes as IR: the tables of them, and sums and choices.

In: a callee or the name of a method. Out: what emits its operations.

    np.sum(x)  a loop          np.where(c, x, y)  a branch in each element          np.any(x)  a loop that may end early
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import types

from adjit.rules.arrays import as_view
from adjit.runtime.library import held, stop_gradient
from adjit.transform import ir
from adjit.transform.elaborate.creation import CREATION
from adjit.transform.elaborate.indexing import read, resolve
from adjit.transform.elaborate.operators import applied, both, either, truth
from adjit.transform.elaborate.operators import binary as by_operator
from adjit.transform.elaborate.python_builtins import PYTHON_BUILTINS
from adjit.transform.elaborate.shaping import SHAPING, SHAPING_METHODS
from adjit.transform.elaborate.values import scalars
from adjit.transform.elaborate.values.arrays import allocated_part, ordered_like, shape_of
from adjit.transform.elaborate.values.elementwise import as_lazy, operand, store_all, total, where
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.handlers import Handler, axes_of, identity, refused, taken, takes
from adjit.transform.elaborate.values.values import SliceValue, Static, Value, dtype, is_array, is_complex, ndim
from adjit.transform.elaborate.values.whole import whole_call


def _sum(frame: Frame, value: Value, axis: Value | None, keepdims: Value | None) -> Value:
    if not is_array(value):
        # a number is its own sum
        is_boolean = isinstance(dtype(value), types.Boolean)
        return scalars.cast(frame.ctx, operand(frame.ctx, value), types.intp) if is_boolean else value
    axes = axes_of(frame, "np.sum", axis, ndim(value))
    return _kept_axes(frame, total(frame.ctx, value, axes), axes, ndim(value), keepdims)


def _mean(frame: Frame, value: Value, axis: Value | None, keepdims: Value | None) -> Value:
    """np.mean along axes: the sum over the number of elements in it."""
    ctx = frame.ctx
    axes = axes_of(frame, "np.mean", axis, ndim(value))
    shape = shape_of(ctx, value)
    count: ir.Operand = ir.integer(1)
    for k in range(ndim(value)) if axes is None else axes:
        count = scalars.scalar(ctx, operator.mul, (count, shape[k]))
    sums = total(ctx, value, axes)
    number = scalars.cast(ctx, count, dtype(value) if isinstance(dtype(value), types.Float) else types.float64)
    return _kept_axes(frame, by_operator(frame, operator.truediv, sums, number), axes, ndim(value), keepdims)


def _extremum(callee: Any) -> Handler:
    """np.max and np.min, along axes one row after the other: so each row's ties share, as those of a whole array do."""
    name = f"np.{callee.__name__}"

    def handle(frame: Frame, value: Value, axis: Value | None, keepdims: Value | None) -> Value:
        ctx = frame.ctx
        rank = ndim(value)
        axes = axes_of(frame, name, axis, rank)
        if axes is None or len(axes) == rank:
            return _kept_axes(frame, whole_call(ctx, callee, (operand(ctx, value),)), axes, rank, keepdims)
        array = operand(ctx, value)
        shape = shape_of(ctx, array)
        rest = tuple(shape[k] for k in range(rank) if k not in axes)
        out = allocated_part(ctx, rest, dtype(array), None, "extrema")

        def row(index: tuple[ir.Operand, ...]) -> None:
            given = iter(index)
            place: list[Value] = [SliceValue(ir.Span()) if k in axes else next(given) for k in range(rank)]
            found = whole_call(ctx, callee, (operand(ctx, read(ctx, resolve(ctx, array, place))),))
            ctx.builder.store(out, index, operand(ctx, found))

        ctx.builder.nest(rest, row)
        ordered_like(ctx, out, [array])
        return _kept_axes(frame, out, axes, rank, keepdims)

    return takes(name, "a:array axis? keepdims?", handle)


def _kept_axes(frame: Frame, reduced: Value, axes: tuple[int, ...] | None, rank: int, keepdims: Value | None) -> Value:
    """With `keepdims` an axis of one element stands where each axis was that is gone."""
    if keepdims is None or (isinstance(keepdims, ir.Const) and not keepdims.value):
        return reduced
    ctx = frame.ctx
    if not isinstance(keepdims, ir.Const):
        raise ctx.unsupported("keepdims that is not constant", "Write keepdims=True.")
    gone = range(rank) if axes is None else axes
    if not is_array(reduced):
        number = operand(ctx, reduced)
        full = allocated_part(ctx, (ir.integer(1),) * rank, number.type, None, "values")
        ctx.builder.store(full, (ir.integer(0),) * rank, number)
        return full
    place: list[Value] = [Static(None) if k in gone else SliceValue(ir.Span()) for k in range(rank)]
    return read(ctx, resolve(ctx, reduced, place))


def _where(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if len(args) != 3 or named:
        raise frame.ctx.unsupported(
            "np.where with other than three arguments", "Use the three-argument form, or a mask as an index."
        )
    condition, yes, no = (taken(frame, "np.where", "value", a) for a in args)
    return where(frame.ctx, condition, yes, no)


def _any_all(name: str) -> Handler:
    def handle(frame: Frame, value: Value) -> Value:
        ctx = frame.ctx
        lazy = as_lazy(ctx, value)
        combine = either if name == "any" else both
        return ctx.reduce(
            lazy.shape,
            ir.boolean(name == "all"),
            lambda index, found: combine(frame, found, lambda: truth(frame, lazy.element(index))),
            f"{name}_true",
        )

    return takes(f"np.{name}", "a:array", handle)


def _dot(frame: Frame, left: Value, right: Value, out: Value | None) -> Value:
    ctx = frame.ctx
    if is_complex(left) or is_complex(right):
        return by_operator(frame, operator.matmul if is_array(left) and is_array(right) else operator.mul, left, right)
    if not is_array(left) or not is_array(right):
        return applied(ctx, operator.mul, (left, right))
    product = whole_call(ctx, np.dot, (operand(ctx, left), operand(ctx, right)), "product")
    if out is None:
        return product
    assert isinstance(out, ir.Var)
    store_all(ctx, out, product)
    return out


def _as_view(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    copy, base, what = args
    assert isinstance(copy, ir.Var)
    assert isinstance(what, Static)
    frame.ctx.detached(copy, operand(frame.ctx, base), what.value, always=True, readonly=True)
    return copy


def _stop_gradient(frame: Frame, value: Value) -> Value:
    if is_complex(value):
        raise frame.ctx.unsupported(
            "adjit.stop_gradient of complex numbers", "Hold their real and their imaginary parts fixed."
        )
    is_fixed = not is_array(value) and not isinstance(dtype(value), types.Float)
    return value if is_fixed else applied(frame.ctx, held, (value,))


_SUM = takes("np.sum", "a:value axis? keepdims?", _sum)
_DOT = takes("np.dot", "a:value b:value out:array?", _dot)

INTRINSICS: dict[Any, Handler] = {
    **CREATION,
    **SHAPING,
    **PYTHON_BUILTINS,
    np.sum: _SUM,
    np.where: _where,
    np.any: _any_all("any"),
    np.all: _any_all("all"),
    np.dot: _DOT,
    np.real: identity,
    as_view: _as_view,
    stop_gradient: takes("adjit.stop_gradient", "x:value", _stop_gradient),
}

# What has a rule, or numba's own code, for whole arrays only.
ALONG_AXES: dict[Any, Handler] = {
    np.mean: takes("np.mean", "a:array axis? keepdims?", _mean),
    np.max: _extremum(np.max),
    np.amax: _extremum(np.max),
    np.min: _extremum(np.min),
    np.amin: _extremum(np.min),
}

METHODS: dict[str, Handler] = {
    **SHAPING_METHODS,
    "sum": _SUM,
    "dot": _DOT,
    "any": INTRINSICS[np.any],
    "all": INTRINSICS[np.all],
    "conj": identity,
    "conjugate": identity,
    "sort": refused("sorting in place", "Use np.sort, which returns a sorted copy."),
    "partition": refused("partitioning in place", "Use np.partition, which returns a copy."),
    "resize": refused("resizing in place", "Make an array of the new size and copy into it."),
}
