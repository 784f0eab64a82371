"""New arrays: of zeros, of a value, of a display, of a range.

In: a shape or the elements. Out: an array, allocated and stored into.

    np.zeros((n, m))  Alloc          np.array([x, y])  Alloc and two stores
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.rules.numpy import structured_arrays
from adjit.rules.numpy.complex_numbers import complex_of, parts
from adjit.rules.registry import class_of
from adjit.transform import ir
from adjit.transform.frontend.arrays.shaping import itself
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.argument_binding import (
    Handler,
    checked_size,
    dtype_argument,
    sizes_argument,
    taken,
    takes,
)
from adjit.transform.frontend.values.arrays import allocated, array_of, ordered_like, shape_of, store
from adjit.transform.frontend.values.dictionaries import Instance
from adjit.transform.frontend.values.elementwise import as_lazy, converted, copied, halves, operand, paired, store_all
from adjit.transform.frontend.values.fold import structured_dtype
from adjit.transform.frontend.values.frame import Context, Frame, as_index, wrap
from adjit.transform.frontend.values.library_calls import whole_call, with_options
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import Complex, Index, Lazy, Number, dtype, is_array, is_complex, is_scalar
from adjit.transform.frontend.values.statics import Static, is_none
from adjit.transform.frontend.values.values import Value
from adjit.transform.ir.types import complex_of as complex_type
from adjit.transform.ir.types import dtype_of
from adjit.transform.source.external_reads import is_defined


def _fields(frame: Frame, kind: Value | None) -> Value | None:
    """The fields of records that a dtype stands for, with their types and shapes; None of any other."""
    known = None if kind is None else structured_dtype(kind)
    if known is None:
        return None
    own = ((name, known[name]) for name in known.names or ())
    return wrap(frame.ctx, tuple((name, field.base.type, field.shape) for name, field in own))


def _creator(name: str, fill: int | None) -> Handler:
    def create(frame: Frame, shape: Value, kind: Value | None) -> Value:
        if (fields := _fields(frame, kind)) is not None:
            return frame.ctx.call(frame, Static(structured_arrays.filled), [shape, fields, ir.integer(fill or 0)], {})
        type_ = dtype_argument(frame, kind, types.float64)
        return allocated(frame.ctx, sizes_argument(frame, shape), type_, fill, "array")

    return takes(name, "shape dtype?", create)


def _like_creator(name: str, fill: int | None) -> Handler:
    def create(frame: Frame, prototype: Value, kind: Value | None) -> Value:
        type_ = dtype_argument(frame, kind, dtype(prototype))
        made = allocated(frame.ctx, shape_of(frame.ctx, prototype), type_, fill, "array")
        ordered_like(frame.ctx, made, [prototype])
        return made

    return takes(name, "a:array dtype?", create)


def _full(frame: Frame, shape: Value, value: Number, kind: Value | None) -> Value:
    return _filled(frame, sizes_argument(frame, shape), value, kind)


def _full_like(frame: Frame, prototype: Value, value: Number, kind: Value | None) -> Value:
    type_ = kind if kind is not None else Static(dtype(prototype))
    made = _filled(frame, shape_of(frame.ctx, prototype), value, type_)
    if isinstance(made, Lazy):
        model = as_lazy(frame.ctx, prototype)
        return dataclasses.replace(made, like=(*model.sources, *model.like), is_free=model.is_free)
    ordered_like(frame.ctx, made, [prototype])
    return made


def _filled(frame: Frame, shape: Sequence[ir.Operand], value: Number, kind: Value | None) -> Value:
    ctx = frame.ctx
    type_ = dtype_argument(frame, kind, dtype(value))
    if is_array(value):
        made = allocated(ctx, shape, type_, None, "array")
        store_all(ctx, made, value)
        return made
    if isinstance(value, ir.Const):
        return allocated(ctx, shape, type_, value.value, "array")
    return Lazy(tuple(shape), type_, lambda index: complexes.cast(ctx, value, type_), ())


def _arange(frame: Frame, *given_or_none: Value | None) -> Value:
    ctx = frame.ctx
    *ends, kind = given_or_none
    given = [e for e in ends if e is not None and not is_none(e)]
    if len(given) < 3 and ends[2] in given:
        raise ctx.unsupported("np.arange with a step and no stop", "Give start, stop and step.")
    numbers = [operand(ctx, taken(frame, "np.arange", "number", e)) for e in given]
    asked = dtype_argument(frame, kind, None)
    if isinstance(asked, types.Boolean):
        raise ctx.unsupported("np.arange of booleans", "Write np.array([False, True]).")
    if isinstance(asked, types.Integer) and any(isinstance(e.type, types.Float) for e in numbers):
        return _cut_off_range(ctx, numbers, asked)
    grid = whole_call(ctx, np.arange, numbers)
    count = _count_of(numbers)
    if count is not None and isinstance(grid, ir.Var):
        ctx.arrays.shapes[grid] = (ir.integer(count),)
    return converted(ctx, grid, dtype_argument(frame, kind, dtype(grid)))


def _cut_off_range(ctx: Context, ends: Sequence[ir.Operand], kind: types.Type) -> Value:
    """np.arange of floats as integers: NumPy cuts off the first two numbers, and goes on by the step between these."""
    start, stop, step = (ir.integer(0), *ends, ir.integer(1)) if len(ends) == 1 else (*ends, ir.integer(1))[:3]
    last = scalars.scalar(ctx, operator.sub, (stop, start))
    count = scalars.scalar(ctx, math.ceil, (scalars.scalar(ctx, operator.truediv, (last, step)),), "count")
    known = _count_of(ends)
    extent = ir.integer(known) if known is not None else scalars.scalar(ctx, max, (count, ir.integer(0)), "count")
    first = scalars.cast(ctx, start, types.intp)
    second = scalars.cast(ctx, scalars.scalar(ctx, operator.add, (start, step)), types.intp)
    by = scalars.scalar(ctx, operator.sub, (second, first), "step")

    def element(index: Index) -> ir.Operand:
        gone = scalars.scalar(ctx, operator.mul, (index[0], by))
        return scalars.cast(ctx, scalars.scalar(ctx, operator.add, (first, gone)), kind)

    return Lazy((extent,), kind, element, ())


def _count_of(ends: Sequence[ir.Operand]) -> int | None:
    """How many numbers np.arange makes of these, where that is known while compiling."""
    known = [e.value for e in ends if isinstance(e, ir.Const) and isinstance(e.type, types.Integer | types.Float)]
    if len(known) < len(ends) or not all(map(math.isfinite, known)) or 0 in known[2:]:
        return None
    if all(isinstance(value, int | np.integer) for value in known):
        return len(range(*map(int, known)))
    start, stop, step = (0, *known, 1) if len(known) == 1 else (*known, 1)[:3]
    return max(0, math.ceil(float((stop - start) / step)))


def _eye(callee: Any) -> Handler:
    """np.eye and np.identity: a call of numba's, of which those of complex numbers are made."""
    signature = inspect.signature(callee)

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        position = list(signature.parameters).index("dtype")
        bound = signature.bind_partial(*args, **named).arguments
        for extent in (value for name, value in bound.items() if name in ("N", "M", "n")):
            if is_scalar(extent):
                checked_size(frame, as_index(ctx, extent, "the shape"))
        given = named.get("dtype") if len(args) <= position else args[position]
        kind = None if not isinstance(given, Static) else dtype_of(given.value)
        if not isinstance(kind, types.Complex):
            operands, options = with_options(ctx, callee, args, named)
            return whole_call(ctx, callee, operands, options=options)
        real = {name: value for name, value in named.items() if name != "dtype"}
        return converted(ctx, handle(frame, args[:position], real), kind)

    return handle


def _complex_of(frame: Frame, real: Value, imag: Value) -> Value:
    """The complex number, or array of them, with these parts."""
    ctx = frame.ctx
    if is_array(real) or is_array(imag):
        return paired(operand(ctx, real), operand(ctx, imag))
    return complexes.make(ctx, operand(ctx, real), operand(ctx, imag))


def _parts(frame: Frame, value: Value) -> Value:
    """Real and imaginary part, as floats."""
    ctx = frame.ctx
    return TupleValue(halves(ctx, value if is_complex(value) else converted(ctx, value, complex_type(dtype(value)))))


def _array(frame: Frame, value: Value, kind: Value | None = None) -> Value:
    """np.array and np.asarray of an array (copied by np.array) or of a display of numbers."""
    ctx = frame.ctx
    value = _of_object(frame, value)
    if (fields := _fields(frame, kind)) is not None:
        return ctx.call(frame, Static(structured_arrays.of_rows), [value, fields], {})
    if is_array(value):
        made = copied(ctx, value, "array")
        return converted(ctx, made, dtype_argument(frame, kind, dtype(value))) if kind is not None else made
    if is_scalar(value):
        made = allocated(ctx, (), dtype_argument(frame, kind, dtype(value)), None, "array")
        store(ctx, made, (), value)
        return made
    return array_of(ctx, value, dtype_argument(frame, kind, None))


def _of_object(frame: Frame, value: Value) -> Value:
    """The array that an object says that it is."""
    is_object = isinstance(value, Instance) and value.of is not np.record
    if not is_object or not is_defined(class_of(value.of), "__array__"):  # type: ignore[union-attr]
        return value
    return frame.ctx.call(frame, frame.ctx.attribute(frame, value, "__array__"), [], {})


def _asarray(frame: Frame, value: Value, kind: Value | None) -> Value:
    value = _of_object(frame, value)
    if not is_array(value) or kind is None:
        return value if is_array(value) else _array(frame, value)
    ctx, what = frame.ctx, "np.asarray"
    is_view = dtype_argument(frame, kind, dtype(value)) == dtype(value)
    if isinstance(value, Lazy | Complex) or not ctx.is_of_doubtful_type(operand(ctx, value)):
        return value if is_view else _array(frame, value, kind)
    array = operand(ctx, value)
    if is_view:
        return itself(ctx, array, what, by="type")
    made = operand(ctx, _array(frame, value, kind))
    ctx.ordered(made, (), is_free=True)
    ctx.detached(made, array, what, by="type")
    return made


CREATION: dict[Any, Handler] = {
    np.empty: _creator("np.empty", None),
    np.eye: _eye(np.eye),
    np.identity: _eye(np.identity),
    np.zeros: _creator("np.zeros", 0),
    np.ones: _creator("np.ones", 1),
    np.empty_like: _like_creator("np.empty_like", None),
    np.zeros_like: _like_creator("np.zeros_like", 0),
    np.ones_like: _like_creator("np.ones_like", 1),
    np.full: takes("np.full", "shape fill_value:value dtype?", _full),
    np.full_like: takes("np.full_like", "a:array fill_value:scalar dtype?", _full_like),
    np.arange: takes("np.arange", "start:number stop? step? dtype?", _arange),
    complex_of: takes("adjit's complex_of", "real imag", _complex_of),
    parts: takes("adjit's parts", "a:value", _parts),
    np.array: takes("np.array", "object dtype?", _array),
    np.asarray: takes("np.asarray", "a dtype?", _asarray),
}
