"""Reductions that are loops: sums, means, extrema and tests, of all elements or along axes.

In: an array and what NumPy takes with it. Out: a number, or an array without those axes.

    np.sum(x, axis=1)      for i ..: for j ..: total += x[i, j]          np.any(x)      a loop that may end early
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.frontend.arrays.indexing import read, resolve
from adjit.transform.frontend.operations.operators import applied, both, either, truth
from adjit.transform.frontend.operations.operators import binary as by_operator
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import Handler, axes_of, dtype_argument, takes
from adjit.transform.frontend.values.arrays import allocated, allocated_part, ordered_like, shape_of, store
from adjit.transform.frontend.values.checks import require_equal
from adjit.transform.frontend.values.elementwise import (
    as_lazy,
    check_kept,
    converted,
    expression,
    materialise,
    operand,
    store_all,
    total,
    where,
)
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.library_calls import whole_call
from adjit.transform.frontend.values.numbers import Complex, Index, Lazy, Number, dtype, is_array, is_number, ndim
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import typed_const


def _is_given(value: Value | None) -> bool:
    """Whether an argument is there, and says something."""
    return value is not None and not (isinstance(value, Static) and value.value in (None, np._NoValue))


def into(frame: Frame, out: Value | None, result: Value, fixed: int | None = None) -> Value:
    """What a function returns that may be given an array to write into.

    `fixed`: so many of its last axes are those of the result, which is not stretched along them; None for all.
    """
    if not _is_given(out):
        return result
    if not isinstance(out, ir.Var | Complex) or not is_array(out):
        raise frame.ctx.mismatch(f"`out` is {describe(out) if out else None}", "Give an array to write into.")
    check_kept(frame.ctx, dtype(out), dtype(result), "by `out`")
    put_into(frame.ctx, out, result, fixed)
    return out


def put_into(ctx: Context, out: Number, result: Value, fixed: int | None) -> None:
    """`out[...] = result`, where so many of the last axes are the same in both; None for all."""
    if fixed == 0:
        store_all(ctx, out, result)
        return
    if ndim(result) != ndim(out):
        raise ctx.mismatch(
            f"a result of rank {ndim(result)} is put into an array of rank {ndim(out)}", "Give an array of its rank."
        )
    first = 0 if fixed is None else max(0, ndim(out) - fixed)
    made = shape_of(ctx, result) if ndim(result) else ()
    for extent, own in list(zip(shape_of(ctx, out), made, strict=True))[first:]:
        require_equal(ctx, extent, own, "the output array and the result differ in shape: axes of length {} and {}")
    store_all(ctx, out, result)


def _counted(ctx: Context, value: Value, condition: Value | None, otherwise: Value) -> Value:
    """The elements of which a condition holds, another number in the place of the others."""
    return where(ctx, condition, value, otherwise) if condition is not None and _is_given(condition) else value


# ------------------------------------------------------------------------------------------------------- sums and means


def _sum(
    frame: Frame, value: Value, axis: Value | None, kind: Value | None, out: Value | None,
    keepdims: Value | None, initial: Value | None, condition: Value | None,
) -> Value:  # fmt: skip
    ctx = frame.ctx
    asked = dtype_argument(frame, kind, None)
    if isinstance(asked, types.Boolean):
        if _is_given(initial):
            raise ctx.unsupported("np.sum with dtype=bool and `initial`", "Write np.any(...) or initial.")
        return _ANY(frame, [value], _named(axis=axis, out=out, keepdims=keepdims, where=condition))
    if not is_array(value):
        # a number is its own sum
        is_boolean = isinstance(dtype(value), types.Boolean)
        value = scalars.cast(ctx, operand(ctx, value), types.intp) if is_boolean else value
        return value if asked is None else converted(ctx, value, asked)
    value = value if asked is None else converted(ctx, value, asked)
    value = _counted(ctx, value, condition, typed_const(0, dtype(value)))
    axes = axes_of(frame, "np.sum", axis, ndim(value))
    made = total(ctx, value, axes)
    if initial is not None and _is_given(initial):
        made = by_operator(frame, operator.add, made, initial)
    # what is added up in 64 bits is cut off to what was asked for
    made = made if asked is None else converted(ctx, made, asked)
    return into(frame, out, kept_axes(frame, made, axes, ndim(value), keepdims))


def _named(**given: Value | None) -> dict[str, Value]:
    return {name: value for name, value in given.items() if value is not None}


def _mean(
    frame: Frame, value: Value, axis: Value | None, kind: Value | None, out: Value | None,
    keepdims: Value | None, condition: Value | None,
) -> Value:  # fmt: skip
    """np.mean: the sum over the number of elements in it."""
    ctx = frame.ctx
    asked = dtype_argument(frame, kind, None)
    if isinstance(asked, types.Boolean):
        raise ctx.unsupported("np.mean with dtype=bool", "Write np.any(...).")
    value = value if asked is None else converted(ctx, value, asked)
    axes = axes_of(frame, "np.mean", axis, ndim(value))
    shape, float_type = shape_of(ctx, value), _float_of(dtype(value))
    if condition is not None and _is_given(condition):
        one, zero = typed_const(1, float_type), typed_const(0, float_type)
        number = total(ctx, where(ctx, condition, Lazy(shape, float_type, lambda index: one, ()), zero), axes)
        value = where(ctx, condition, value, typed_const(0, dtype(value)))
    else:
        count: ir.Operand = ir.integer(1)
        for k in range(ndim(value)) if axes is None else axes:
            count = scalars.scalar(ctx, operator.mul, (count, shape[k]))
        number = scalars.cast(ctx, count, float_type)
    whole = total(ctx, value, axes)
    whole = whole if asked is None else converted(ctx, whole, asked)
    made = by_operator(frame, operator.truediv, whole, number)
    made = made if asked is None else converted(ctx, made, asked)
    return into(frame, out, kept_axes(frame, made, axes, ndim(value), keepdims))


def _float_of(kind: types.Type) -> types.Type:
    return kind if isinstance(kind, types.Float) else types.float64


# -------------------------------------------------------------------------------------------------------------- extrema


def _extremum(callee: Any) -> Handler:
    """np.max and np.min, along axes one row after the other: so each row's ties share, as those of a whole array do."""
    name, larger = f"np.{callee.__name__}", np.maximum if callee is np.max else np.minimum

    def handle(
        frame: Frame, value: Value, axis: Value | None, out: Value | None, keepdims: Value | None,
        initial: Value | None, condition: Value | None,
    ) -> Value:  # fmt: skip
        ctx = frame.ctx
        axes = axes_of(frame, name, axis, ndim(value))
        first = initial if initial is not None and _is_given(initial) else None
        if first is not None:
            value = _counted(ctx, value, condition, first)
        elif _is_given(condition):
            raise ctx.mismatch(f"{name} with `where` and without `initial`", "Give `initial`, too.")
        made = _extrema(ctx, callee, value, axes)
        if first is not None:
            made = applied(ctx, larger, (made, first))
        return into(frame, out, kept_axes(frame, made, axes, ndim(value), keepdims))

    return takes(name, "a:array axis? out? keepdims? initial? where?", handle)


def _extrema(ctx: Context, callee: Any, value: Value, axes: tuple[int, ...] | None) -> Value:
    array, rank = operand(ctx, value), ndim(value)
    if axes is None or len(axes) == rank:
        return whole_call(ctx, callee, (array,))
    shape = ctx.shape(array)
    rest = tuple(shape[k] for k in range(rank) if k not in axes)
    out = allocated_part(ctx, rest, dtype(array), None, "extrema")

    def row(index: Index) -> None:
        given = iter(index)
        place: list[Value] = [SliceValue(ir.Span()) if k in axes else next(given) for k in range(rank)]
        found = whole_call(ctx, callee, (operand(ctx, read(ctx, resolve(ctx, array, place))),))
        ctx.builder.store(out, index, operand(ctx, found))

    ctx.builder.nest(rest, row)
    ordered_like(ctx, out, [array])
    return out


# ---------------------------------------------------------------------------------------------------------------- tests


def _any_all(name: str) -> Handler:
    def handle(
        frame: Frame, value: Value, axis: Value | None, out: Value | None, keepdims: Value | None,
        condition: Value | None,
    ) -> Value:  # fmt: skip
        ctx, combine = frame.ctx, either if name == "any" else both
        if not is_array(value):
            return truth(frame, value)
        lazy = as_lazy(ctx, _counted(ctx, value, condition, ir.boolean(name == "all")))
        axes = axes_of(frame, f"np.{name}", axis, lazy.ndim)
        inside = range(lazy.ndim) if axes is None else axes
        left = [k for k in range(lazy.ndim) if k not in inside]

        def element(index: Index) -> Number:
            def test(inner: Index, found: ir.Operand) -> ir.Operand:
                at = dict(zip((*left, *inside), (*index, *inner), strict=True))
                return combine(frame, found, lambda: truth(frame, lazy.element(tuple(map(at.get, range(lazy.ndim))))))  # type: ignore[arg-type]

            extents = [lazy.shape[k] for k in inside]
            return ctx.reduce(extents, ir.boolean(name == "all"), test, f"{name}_true", order_free=True)

        rest = tuple(lazy.shape[k] for k in left)
        made: Value = element(()) if not left else materialise(ctx, expression([lazy], rest, types.boolean, element))
        return into(frame, out, kept_axes(frame, made, axes, lazy.ndim, keepdims))

    return takes(f"np.{name}", "a:value axis? out? keepdims? where?", handle)


# ----------------------------------------------------------------------------------------------------- axes that remain


def kept_axes(frame: Frame, reduced: Value, axes: Sequence[int] | None, rank: int, keepdims: Value | None) -> Value:
    """With `keepdims` an axis of one element stands where each axis was that is gone."""
    if keepdims is None or not _is_given(keepdims) or (isinstance(keepdims, ir.Const) and not keepdims.value):
        return reduced
    ctx = frame.ctx
    if not isinstance(keepdims, ir.Const):
        raise ctx.unsupported("keepdims that is not constant", "Write keepdims=True.")
    gone = range(rank) if axes is None else axes
    if not is_array(reduced):
        assert is_number(reduced) or isinstance(reduced, Complex)
        full = allocated(ctx, (ir.integer(1),) * rank, dtype(reduced), None, "values")
        store(ctx, full, (ir.integer(0),) * rank, reduced)
        return full
    place: list[Value] = [Static(None) if k in gone else SliceValue(ir.Span()) for k in range(rank)]
    made = resolve(ctx, reduced, place)
    return read(ctx, made)


_SUM = takes("np.sum", "a:value axis? dtype? out? keepdims? initial? where?", _sum)
_ANY, _ALL = _any_all("any"), _any_all("all")

REDUCTIONS: dict[Any, Handler] = {np.sum: _SUM, np.any: _ANY, np.all: _ALL}
REDUCTION_METHODS: dict[str, Handler] = {"sum": _SUM, "any": _ANY, "all": _ALL}

# What has a rule, or numba's own code, for whole arrays only.
ALONG_AXES: dict[Any, Handler] = {
    np.mean: takes("np.mean", "a:array axis? dtype? out? keepdims? where?", _mean),
    np.max: _extremum(np.max),
    np.amax: _extremum(np.max),
    np.min: _extremum(np.min),
    np.amin: _extremum(np.min),
}
