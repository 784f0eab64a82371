"""Shapes of arrays: views, copies and conversions, and questions about extents.

In: an array and where it goes. Out: a view or an array made of it, or a number.

    x.reshape(2, 3)  Reshape          x.T  Transpose          x.size  the product of its extents
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from adjit.transform import ir
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import (
    Handler,
    axes_of,
    axis_argument,
    dtype_argument,
    refused,
    shape_argument,
    sizes_argument,
    taken,
    takes,
)
from adjit.transform.frontend.values.arrays import ordered_like, shape_of
from adjit.transform.frontend.values.checks import is_checked, require, require_size
from adjit.transform.frontend.values.elementwise import (
    as_lazy,
    broadcast_shapes,
    check_fits,
    converted,
    copied,
    halves,
    operand,
    paired,
    store_all,
    stretched,
)
from adjit.transform.frontend.values.frame import Context, Frame, as_index
from adjit.transform.frontend.values.lists import TupleValue, items_or_one
from adjit.transform.frontend.values.numbers import Complex, Flat, Lazy, Number, dtype, is_array, is_complex, ndim
from adjit.transform.frontend.values.statics import Static, is_none
from adjit.transform.frontend.values.values import Value
from adjit.transform.ir.types import Layout, array_type, array_type_of, slice_type, transposed_type


def array_attribute(ctx: Context, owner: Value, name: str) -> Value | None:
    """An attribute of an array that is not a method, None for the methods."""
    if name == "shape":
        return TupleValue(tuple(shape_of(ctx, owner)))
    if name == "size":
        return size(ctx, owner)
    if name == "ndim":
        return ir.integer(ndim(owner))
    if name == "dtype":
        return Static(np.dtype(str(dtype(owner))) if not isinstance(dtype(owner), types.Boolean) else np.dtype(bool))
    if name == "real":
        return owner
    if name == "mT":
        if ndim(owner) < 2:
            raise ctx.mismatch("`mT` of an array of rank below 2", "Give it a matrix, or a stack of matrices.")
        axes = tuple(range(ndim(owner)))
        return of_parts(ctx, owner, lambda array: transpose(ctx, array, (*axes[:-2], axes[-1], axes[-2])))
    if name == "T":
        return of_parts(ctx, owner, lambda array: transpose(ctx, array, tuple(range(ndim(owner)))[::-1]))
    if name == "flat":
        vector = of_parts(ctx, owner, lambda array: ravel(ctx, operand(ctx, array), "`.flat`", always=True))
        assert isinstance(vector, Number)
        return Flat(vector)
    return None


def of_parts(ctx: Context, value: Value, made_of: Callable[[Value], Value]) -> Value:
    """What is made of an array; of one of complex numbers, of each of its parts."""
    if not is_complex(value):
        return made_of(value)
    return paired(*map(made_of, halves(ctx, value)))


def _name_of(array: ir.Operand) -> str:
    return ir.name_of(array, "array")


def size(ctx: Context, owner: Value) -> ir.Operand:
    result: ir.Operand = ir.integer(1)
    for k, extent in enumerate(shape_of(ctx, owner)):
        result = extent if k == 0 else scalars.scalar(ctx, operator.mul, (result, extent), "size")
    return result


def transpose(ctx: Context, value: Value, axes: tuple[int, ...]) -> Value:
    if axes == tuple(range(len(axes))):
        return value
    if isinstance(value, Lazy):
        lazy = value

        def element(index: tuple[ir.Operand, ...]) -> Number:
            return lazy.element(tuple(index[axes.index(k)] for k in range(len(axes))))

        shape = tuple(lazy.shape[a] for a in axes)
        return dataclasses.replace(lazy, shape=shape, element=element, moved=lazy.sources, is_free=True)
    array = operand(ctx, value)
    out = ir.Var(f"{_name_of(array)}_T", transposed_type(array_type_of(array), axes))
    ctx.builder.emit(ir.Transpose(base=array, axes=axes, out=out))
    extents = ctx.shape(array)
    return ctx.new_array(out, [extents[a] for a in axes], ctx.roots_of(array))


def contiguous(ctx: Context, value: Value, what: str, always: bool = False) -> ir.Operand:
    """The array itself if numba knows it to be in C order, else a copy.

    Of others, too, NumPy may give a view in the place of that copy, or does so `always`; `what` asks for it.
    """
    array = operand(ctx, value)
    if array_type_of(array).layout == "C":
        return array
    made = operand(ctx, copied(ctx, array, _name_of(array), keeps_order=False))
    ctx.detached(made, array, what, always)
    return made


def itself(ctx: Context, array: ir.Operand, what: str, by: str = "layout") -> ir.Operand:
    """The array, which numba knows to be in the order (or, `by` type, of the type) that `what` asks for: a view, if it
    is so in NumPy."""
    if not ctx.notes_order or not isinstance(array, ir.Var):
        return array
    out = ir.Var(array.name, array.type, array.user)
    ctx.builder.emit(ir.Slice(base=array, selectors=(ir.Span(),) * ndim(array), out=out))
    ctx.detached(out, array, what, is_view=True, by=by)
    if by == "layout" and array_type_of(array).layout == "C":
        ctx.ordered(out, ())
    return ctx.new_array(out, ctx.shape(array), ctx.roots_of(array))


def _reshaped(ctx: Context, array: ir.Operand, shape: Sequence[ir.Operand], what: str) -> ir.Var:
    """A view of other extents; `what` asks for it where NumPy may give a copy, "" where it does not."""
    if _is_row_or_column(array, shape):
        # an index of the view is one of the array
        out = sliced(ctx, array, [ir.Span() if s == ir.integer(-1) else ir.NewAxis() for s in shape])
        if what:
            ctx.detached(out, array, what, is_view=True)
        return out
    if list(shape) != [ir.integer(-1)]:
        _require_fitting(ctx, array, shape)
    out = ir.Var(f"{_name_of(array)}_view", array_type(array_type_of(array).dtype, len(shape)))
    ctx.builder.emit(ir.Reshape(base=array, shape=tuple(shape), out=out))
    if what:
        ctx.detached(out, array, what, is_view=True)
    is_known = not any(s == ir.integer(-1) or isinstance(s, ir.Var) for s in shape)
    return ctx.new_array(out, list(shape) if is_known else None, ctx.roots_of(array))


def _require_fitting(ctx: Context, array: ir.Operand, shape: Sequence[ir.Operand]) -> None:
    """Checks that an array has as many elements as its new shape; ValueError at the user's line."""
    if not is_checked(ctx):
        return

    def product(left: ir.Operand, right: ir.Operand) -> ir.Operand:
        return scalars.scalar(ctx, operator.mul, (left, right), "size")

    one: ir.Operand = ir.integer(1)
    given = functools.reduce(product, ctx.shape(array), one)
    known = [extent for extent in shape if extent != ir.integer(-1)]
    wanted, what = functools.reduce(product, known, one), "an array of {} elements cannot have this shape"
    if len(known) < len(shape):
        # with the extent that NumPy works out
        wanted = product(scalars.scalar(ctx, operator.floordiv, (given, wanted), "whole"), wanted)
    require_size(ctx, given, wanted, what if len(known) < len(shape) else f"{what}, which has {{}}")


def _is_row_or_column(array: ir.Operand, shape: Sequence[ir.Operand]) -> bool:
    """Whether a vector is to be the only row of a matrix, or its only column, or the like with more axes."""
    whole = [s for s in shape if s == ir.integer(-1)]
    return ndim(array) == 1 and len(whole) == 1 and all(s in (ir.integer(-1), ir.integer(1)) for s in shape)


def ravel(ctx: Context, value: Value, what: str = "ravel", always: bool = False) -> Value:
    if isinstance(value, Lazy) and value.ndim == 1:
        return value
    given = operand(ctx, value)
    array = contiguous(ctx, given, what, always)
    if ndim(array) == 1:
        return array if always or array is not given else itself(ctx, array, what)
    made = _reshaped(ctx, array, [ir.integer(-1)], "" if always else what)
    ctx.ordered(made, ())
    return made


def sliced(ctx: Context, array: ir.Operand, selectors: Sequence[ir.Selector], unsure: bool = False) -> ir.Var:
    """The view that basic indexing makes. `unsure`: whether its integers are in bounds has yet to be seen."""
    name = ir.name_of(array, "view")
    out = ir.Var(f"{name}_view", slice_type(array_type_of(array), selectors))
    unsure = unsure and any(isinstance(s, ir.At) for s in selectors)
    ctx.builder.emit(ir.Slice(base=array, selectors=tuple(selectors), out=out, unsure=unsure))
    shape: list[ir.Operand] = []
    base_shape = iter(ctx.shape(array))
    for s in selectors:
        if isinstance(s, ir.NewAxis):
            shape.append(ir.integer(1))
            continue
        extent = next(base_shape)
        if isinstance(s, ir.Span):
            left_out, count = s.left_out, s.count_of(extent) if ctx.knows_extents else None
            if count is not None:
                shape.append(ir.integer(count))
            elif left_out is not None:
                shape.append(ctx.shortened(extent, left_out, out, len(shape)))
            else:
                shape.append(ctx.builder.extent(out, len(shape)))
            if s.is_one:
                ctx.arrays.at_most_one.add(shape[-1])
    return ctx.new_array(out, shape, ctx.roots_of(array))


# ------------------------------------------------------------------------------------------------ functions and methods


def copied_whole(ctx: Context, array: ir.Operand, name: str, layout: Layout | None = None) -> ir.Var:
    """An array of its own, in that layout, or in that of the original."""
    type_ = array_type_of(array)
    own = type_.layout if type_.layout in "CF" else "C"
    out = ir.Var(name, type_.copy(layout=layout or own, readonly=False))
    ctx.builder.emit(ir.Copy(source=array, out=out))
    return ctx.new_array(out, ctx.shape(array))


def _reshape(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    named = dict(named)
    is_by_columns = _is_by_columns(frame, "reshape", named.pop("order", None))
    for name in ("shape", "newshape"):
        args = [*args, named.pop(name)] if name in named else args
    if named:
        raise ctx.unsupported(f"argument `{next(iter(named))}` of reshape", "Write the computation without it.")
    owner, *rest = args
    owner = taken(frame, "reshape", "array", owner)
    if not rest:
        raise ctx.mismatch("reshape without a shape", "Give the lengths, or a tuple.")
    shape = [extent for part in rest for extent in shape_argument(frame, part)]
    if is_by_columns:
        turned = _reshaped(ctx, operand(ctx, _flat_by_columns(ctx, owner)), shape[::-1], "")
        return transpose(ctx, turned, tuple(range(len(shape)))[::-1])
    given = operand(ctx, owner)
    array = contiguous(ctx, given, "reshape")
    made = _reshaped(ctx, array, shape, "reshape" if array is given else "")
    if array is not given:
        # if NumPy's is a view, it has gaps, and what wants it contiguous copies it
        ctx.ordered(made, (), is_free=True)
    return made


def _ravel(frame: Frame, value: Value, order: Value | None = None) -> Value:
    if _is_by_columns(frame, "ravel", order):
        return _flat_by_columns(frame.ctx, value)
    return ravel(frame.ctx, value)


def _is_by_columns(frame: Frame, name: str, order: Value | None) -> bool:
    """Whether the first axis is to run fastest."""
    if order is None or order == Static("C"):
        return False
    if order != Static("F"):
        raise frame.ctx.unsupported(f"{name} in this order", 'Write order="C", or order="F".')
    return True


def _flat_by_columns(ctx: Context, value: Value) -> Value:
    return ravel(
        ctx, copied(ctx, transpose(ctx, value, tuple(range(ndim(value)))[::-1]), keeps_order=False), always=True
    )


def _flatten(frame: Frame, value: Value, order: Value | None = None) -> Value:
    if _is_by_columns(frame, "flatten", order):
        return _flat_by_columns(frame.ctx, value)
    if not isinstance(value, Lazy) and array_type_of(operand(frame.ctx, value)).layout == "C":
        return _copy(frame, ravel(frame.ctx, value, always=True))
    name = value.name if isinstance(value, ir.Var) else "array"
    made = operand(frame.ctx, copied(frame.ctx, value, name, keeps_order=False))
    return made if ndim(made) == 1 else _reshaped(frame.ctx, made, [ir.integer(-1)], "")


def _transpose(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    owner, *rest = args
    owner = taken(frame, "transpose", "array", owner)
    axes = list(range(ndim(owner)))[::-1]
    if named:
        rest = [*rest, *named.values()]
    if rest and not is_none(rest[0]):
        given = rest[0].items if isinstance(rest[0], TupleValue) else tuple(rest)
        axes = [axis_argument(frame, "transpose", g, ndim(owner)) for g in given]
        if sorted(axes) != list(range(ndim(owner))):
            named_axes = ", ".join(map(str, axes))
            raise ctx.mismatch(
                f"transpose with the axes ({named_axes}) of an array with {ndim(owner)} axes", "Name each axis once."
            )
    return transpose(ctx, owner, tuple(axes))


def _swapaxes(frame: Frame, owner: Value, a: Value, b: Value) -> Value:
    axes = list(range(ndim(owner)))
    p, q = (axis_argument(frame, "swapaxes", axis, ndim(owner)) for axis in (a, b))
    axes[p], axes[q] = axes[q], axes[p]
    return transpose(frame.ctx, owner, tuple(axes))


def _moveaxis(frame: Frame, owner: Value, source: Value, destination: Value) -> Value:
    rank = ndim(owner)
    starts, ends = (
        [axis_argument(frame, "np.moveaxis", axis, rank) for axis in items_or_one(given)]
        for given in (source, destination)
    )
    if len(starts) != len(ends) or len(set(starts)) < len(starts) or len(set(ends)) < len(ends):
        raise frame.ctx.mismatch(
            "np.moveaxis with these arguments", "Name the same number of axes twice, each only once."
        )
    axes = [axis for axis in range(rank) if axis not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        axes.insert(end, start)
    return transpose(frame.ctx, owner, tuple(axes))


def _expand_dims(frame: Frame, owner: Value, axis: Value) -> Value:
    ctx = frame.ctx
    if isinstance(axis, TupleValue):
        rank = ndim(owner) + len(axis.items)
        for k in sorted(axis_argument(frame, "np.expand_dims", one, rank) for one in axis.items):
            owner = _expand_dims(frame, owner, ir.integer(k))
        return owner
    place = axis_argument(frame, "np.expand_dims", axis, ndim(owner) + 1)
    if not isinstance(owner, Lazy):
        spans: list[ir.Selector] = [ir.Span()] * ndim(owner)
        return sliced(ctx, operand(ctx, owner), [*spans[:place], ir.NewAxis(), *spans[place:]])
    shape = (*owner.shape[:place], ir.integer(1), *owner.shape[place:])
    return dataclasses.replace(
        owner, shape=shape, element=lambda i: owner.element(i[:place] + i[place + 1 :]), moved=owner.sources
    )


def _broadcast_to(frame: Frame, value: Value, shape: Value) -> Value:
    ctx = frame.ctx
    extents = sizes_argument(frame, shape)
    element = stretched(ctx, value, extents)
    check_fits(ctx, extents, value)
    sources = as_lazy(ctx, value).sources if is_array(value) else ()
    # an expression that is stretched has no memory of its own that one could store into
    by = value.view_by if isinstance(value, Lazy) else "np.broadcast_to"
    return Lazy(extents, dtype(value), element, sources, sources, by)


def _copy(frame: Frame, value: Value) -> Value:
    """In C order whatever the order of the original, as numba has it."""
    if isinstance(value, Lazy):
        return copied(frame.ctx, value, keeps_order=False)
    array = operand(frame.ctx, value)
    return copied_whole(frame.ctx, array, _name_of(array), "C")


def _copy_in_order(frame: Frame, value: Value) -> Value:
    """np.copy, which keeps the order, as the method does not."""
    made = _copy(frame, value)
    ordered_like(frame.ctx, made, [value])
    return made


def _ascontiguous(frame: Frame, value: Value) -> Value:
    given = operand(frame.ctx, value)
    array = contiguous(frame.ctx, given, "np.ascontiguousarray")
    return itself(frame.ctx, array, "np.ascontiguousarray") if array is given else array


def _asfortran(frame: Frame, value: Value) -> Value:
    ctx, array = frame.ctx, operand(frame.ctx, value)
    if array_type_of(array).layout == "F" or (array_type_of(array).layout == "C" and ndim(array) == 1):
        return itself(ctx, array, "np.asfortranarray")
    made = operand(ctx, copied(ctx, array, _name_of(array), keeps_order=False))
    ctx.ordered(made, (), is_free=True)
    ctx.detached(made, array, "np.asfortranarray")
    return made


def _view(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if (len(args) > 1 or named) and is_complex(args[0]):
        raise frame.ctx.unsupported(
            "the array method `view` of complex numbers, with another type",
            "Write np.stack((z.real, z.imag), axis=-1), which copies.",
            why="adjit keeps real and imaginary parts in separate arrays.",
        )
    if len(args) > 1 or named:
        raise frame.ctx.unsupported("the array method `view` with another type", "Use astype, which converts.")

    def whole(array: Value) -> Value:
        return sliced(frame.ctx, operand(frame.ctx, array), [ir.Span()] * ndim(array))

    return of_parts(frame.ctx, args[0], whole)


def _squeeze(frame: Frame, owner: Value, axis: Value | None) -> Value:
    """Without an axis, those that are known to be of one element: slices such as [:1] are, if there is any element."""
    ctx, shape, rank = frame.ctx, shape_of(frame.ctx, owner), ndim(owner)
    given = axes_of(frame, "np.squeeze", Static(None) if axis is None else axis, rank)
    known = [k for k, n in enumerate(shape) if n == ir.integer(1) or n in ctx.arrays.at_most_one]
    axes = known if given is None else given
    if given is None and not known and not all(isinstance(n, ir.Const) for n in shape):
        raise ctx.unsupported(
            "np.squeeze of axes whose lengths are only known at run time",
            "Name the axis, np.squeeze(a, axis=...), or take its only element, a[0].",
            why="The number of remaining axes has to be known at compile time.",
        )
    for k, extent in enumerate(shape):
        kind: type[Exception] = ValueError
        if k in axes:
            holds = scalars.scalar(ctx, operator.eq, (extent, ir.integer(1)))
            message = "cannot select an axis to squeeze out which has size not equal to one"
        elif given is None:
            # of what rank the result is depends on the extents, and is part of what is compiled
            kind, holds = NotImplementedError, scalars.scalar(ctx, operator.ne, (extent, ir.integer(1)))
            message = "np.squeeze of an axis that happens to have one element: name it, axis=..."
        else:
            continue
        if isinstance(holds, ir.Const) and not holds.value:
            raise ctx.mismatch("np.squeeze of an axis with more than one element", "Name an axis of length 1.")
        require(ctx, holds, kind, message)
    first = ir.integer(0)
    if isinstance(owner, Lazy):
        lazy, left = owner, [k for k in range(rank) if k not in axes]

        def element(index: tuple[ir.Operand, ...]) -> Number:
            at = dict(zip(left, index, strict=True))
            return lazy.element(tuple(at.get(k, first) for k in range(rank)))

        if not left:
            return element(())
        return dataclasses.replace(lazy, shape=tuple(shape[k] for k in left), element=element, moved=lazy.sources)

    def view(array: Value) -> Value:
        if len(axes) == rank:
            return ctx.builder.load(operand(ctx, array), (first,) * rank)
        return sliced(ctx, operand(ctx, array), [ir.At(first) if k in axes else ir.Span() for k in range(rank)])

    return of_parts(ctx, owner, view)


def _sliding_window_view(
    frame: Frame, x: Value, window_shape: Value, axis: Value | None, subok: Value | None, writeable: Value | None
) -> Value:
    """An expression: its element in a window is that of the array further on."""
    ctx, rank = frame.ctx, ndim(x)
    if writeable not in (None, ir.boolean(False)) or subok not in (None, ir.boolean(False)):
        raise ctx.unsupported("sliding_window_view with writeable=True", "Store into the array itself.")
    windows = shape_argument(frame, window_shape)
    axes = axes_of(frame, "sliding_window_view", Static(None) if axis is None else axis, rank)
    along = tuple(range(rank)) if axes is None else _in_given_order(frame, axis, rank)
    if len(along) != len(windows):
        raise ctx.mismatch(
            "sliding_window_view with a number of windows that differs from the number of axes", "Give one per axis."
        )
    lazy = as_lazy(ctx, x)
    shape = list(lazy.shape)
    for k, window in zip(along, windows, strict=True):
        fits = scalars.scalar(ctx, operator.le, (window, shape[k]))
        if isinstance(fits, ir.Const) and not fits.value:
            raise ctx.mismatch("a window that is longer than the axis", "Give a shorter one.")
        require(ctx, fits, ValueError, "window shape cannot be larger than input array shape")
        less = scalars.scalar(ctx, operator.sub, (shape[k], window))
        shape[k] = scalars.scalar(ctx, operator.add, (less, ir.integer(1)), "windows")

    def element(index: tuple[ir.Operand, ...]) -> Number:
        place = list(index[:rank])
        for k, inside in zip(along, index[rank:], strict=True):
            place[k] = scalars.scalar(ctx, operator.add, (place[k], inside))
        return lazy.element(tuple(place))

    by = "sliding_window_view"
    return Lazy((*shape, *windows), lazy.dtype, element, lazy.sources, lazy.sources, by, is_free=True)


def _in_given_order(frame: Frame, axis: Value | None, rank: int) -> tuple[int, ...]:
    """The axes of an argument, each as often and in the place as it says."""
    given = axis.items if isinstance(axis, TupleValue) else (axis,)
    return tuple(axis_argument(frame, "sliding_window_view", one, rank) for one in given)


def _astype(frame: Frame, owner: Value, kind: Value) -> Value:
    return copied(frame.ctx, converted(frame.ctx, as_lazy(frame.ctx, owner), dtype_argument(frame, kind, dtype(owner))))


def _fill(frame: Frame, owner: Value, value: Value) -> Value:
    if not isinstance(owner, ir.Var | Complex):
        raise frame.ctx.unsupported("fill of an array that has no name", "Assign the array to a variable first.")
    store_all(frame.ctx, owner, value)
    return Static(None)


def _question(name: str) -> Handler:
    """np.shape and the like, also of numbers."""

    def answer(frame: Frame, value: Value) -> Value:
        found = array_attribute(frame.ctx, value, name)
        assert found is not None
        return found

    return takes(f"np.{name}", "a:value", answer)


def _item(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    owner, *places = args
    array = as_lazy(ctx, owner)
    if len(places) == 1 and isinstance(places[0], TupleValue):
        places = list(places[0].items)
    if named or len(places) not in (0, 1, array.ndim):
        raise ctx.mismatch(f"item() of {array.ndim} axes with these arguments", "Give one index per axis.")
    indices = [as_index(ctx, place, "an argument of item()") for place in places]
    if len(indices) == array.ndim > 0:
        return ctx.builder.load(operand(ctx, owner), indices, unsure=ctx.unsure)
    if not indices:
        _check_one_element(ctx, array)
        return array.element((ir.integer(0),) * array.ndim)
    # the element of that number in C order; rounding down is right for numbers counted from the end, too
    (place,) = indices
    found: list[ir.Operand] = []
    for extent in reversed(array.shape):
        found.append(scalars.scalar(ctx, operator.mod, (place, extent), "place"))
        place = scalars.scalar(ctx, operator.floordiv, (place, extent), "place")
    return array.element(tuple(reversed(found)))


def _check_one_element(ctx: Context, array: Lazy) -> None:
    """ValueError, as NumPy has it."""
    for extent in array.shape:
        is_one = scalars.scalar(ctx, operator.eq, (extent, ir.integer(1)))
        if isinstance(is_one, ir.Const) and is_one.value:
            continue
        require(ctx, is_one, ValueError, "can only convert an array of size 1 to a Python scalar")


def _size(frame: Frame, value: Value, axis: Value | None) -> Value:
    if axis is None or axis == Static(None):
        return size(frame.ctx, value)
    return shape_of(frame.ctx, value)[axis_argument(frame, "np.size", axis, ndim(value))]


def _broadcast_shapes(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return TupleValue(broadcast_shapes(frame.ctx, [shape_argument(frame, a) for a in args]))


SHAPING: dict[Any, Handler] = {
    np.ascontiguousarray: takes("np.ascontiguousarray", "a:array", _ascontiguous),
    np.asfortranarray: takes("np.asfortranarray", "a:array", _asfortran),
    np.copy: takes("copy", "a:array", _copy_in_order),
    np.reshape: _reshape,
    np.ravel: takes("ravel", "a:array order?", _ravel),
    np.transpose: _transpose,
    np.swapaxes: takes("swapaxes", "a:array axis1 axis2", _swapaxes),
    np.moveaxis: takes("np.moveaxis", "a:array source destination", _moveaxis),
    np.squeeze: takes("np.squeeze", "a:array axis?", _squeeze),
    sliding_window_view: takes(
        "sliding_window_view", "x:array window_shape axis? subok? writeable?", _sliding_window_view
    ),
    as_strided: refused(
        "as_strided", "Use sliding_window_view for windows, and slices, reshape or np.broadcast_to for the rest."
    ),
    np.expand_dims: takes("np.expand_dims", "a:array axis", _expand_dims),
    np.broadcast_to: takes("np.broadcast_to", "array:value shape", _broadcast_to),
    np.shape: _question("shape"),
    np.size: takes("np.size", "a:value axis?", _size),
    np.broadcast_shapes: _broadcast_shapes,
    np.ndim: _question("ndim"),
}

SHAPING_METHODS: dict[str, Handler] = {
    "copy": takes("copy", "a:array", _copy),
    "reshape": _reshape,
    "ravel": SHAPING[np.ravel],
    "flatten": takes("flatten", "a:array order?", _flatten),
    "transpose": _transpose,
    "swapaxes": SHAPING[np.swapaxes],
    "astype": takes("astype", "a:array dtype", _astype),
    "fill": takes("fill", "a:array value:scalar", _fill),
    "view": _view,
    "item": _item,
}
