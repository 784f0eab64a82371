"""Elementwise array code: expressions stay lazy until they are stored, summed or passed on, then become one loop nest.

In: a scalar operation and values, of which one is an array. Out: a `Lazy`, or the array that it is stored in.

    y = np.tanh(a @ w + b)      product = a @ w;  y = np.empty(...)
                                for i ..: for j ..: y[i, j] = np.tanh(product[i, j] + b[j])
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.runtime.library import broadcast_extent, check_mask, stored_extent
from adjit.transform import ir
from adjit.transform.frontend.values import arrays, complexes, integers, scalars
from adjit.transform.frontend.values.checks import fitting_extent
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import (
    Complex,
    Index,
    Lazy,
    Number,
    dtype,
    is_array,
    is_complex,
    is_scalar,
    ndim,
    operands_in,
)
from adjit.transform.frontend.values.ranges import NdIndex, Zip
from adjit.transform.frontend.values.statics import Method
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import array_type, bits, call_type, is_integer, part_of, typed_const


def as_lazy(ctx: Context, array: Value) -> Lazy:
    """An array, or what NumPy takes for one, as an expression of its own elements."""
    if isinstance(array, TupleValue):
        array = arrays.array_of(ctx, array)
    if isinstance(array, Lazy):
        return array
    if not isinstance(array, Number) or not is_array(array):
        raise ctx.mismatch(f"{describe(array)} instead of an array", "Give an array.")
    shape = arrays.shape_of(ctx, array)
    return Lazy(shape, dtype(array), lambda index: arrays.load(ctx, array, index), operands_in(array))


def broadcast_shapes(ctx: Context, shapes: Sequence[tuple[ir.Operand, ...]]) -> tuple[ir.Operand, ...]:
    """The common shape; extents that are not the same operand are compared at run time."""
    rank = max(map(len, shapes), default=0)
    result: list[ir.Operand] = []
    for axis in range(rank):
        found: list[ir.Operand] = []
        for shape in shapes:
            place = axis - rank + len(shape)
            if place >= 0 and shape[place] not in found and shape[place] != ir.integer(1):
                found.append(shape[place])
        result.append(functools.reduce(functools.partial(_common_extent, ctx), found or [ir.integer(1)]))
    return tuple(result)


def _common_extent(ctx: Context, left: ir.Operand, right: ir.Operand) -> ir.Operand:
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        raise ctx.mismatch(
            f"axes of length {left.value} and {right.value} cannot be broadcast together",
            "Give both axes the same length, or one of them the length 1.",
        )
    what = "operands could not be broadcast together: axes of length {} and {}"
    return fitting_extent(ctx, broadcast_extent, left, right, what, effect=False)


def stretched(ctx: Context, value: Value, shape: Sequence[ir.Operand]) -> Callable[[Index], Number]:
    """The element of `value` broadcast to `shape`. Whether an axis has size 1 is asked once, outside the loops."""
    if is_scalar(value):
        return lambda index: value
    lazy = as_lazy(ctx, value)
    offset = len(shape) - lazy.ndim
    is_repeated = offset > 0 or any(n == ir.integer(1) != whole for n, whole in zip(lazy.shape, shape, strict=True))
    if lazy.is_dear and is_repeated:
        lazy = as_lazy(ctx, copied(ctx, lazy))
    own = [stretched_index(ctx, extent, whole) for extent, whole in zip(lazy.shape, shape[offset:], strict=True)]
    return lambda index: lazy.element(tuple(f(i) for f, i in zip(own, index[offset:], strict=True)))


def stretched_index(ctx: Context, extent: ir.Operand, whole: ir.Operand) -> Callable[[ir.Operand], ir.Operand]:
    """From a place along an axis of the length `whole` to that along an axis of this extent, which is stretched if it
    is 1; that is asked once, before."""
    if extent == whole or extent == ir.integer(1):
        is_wide: ir.Operand = ir.boolean(extent != ir.integer(1))
    else:
        is_wide = scalars.scalar(ctx, operator.ne, (extent, ir.integer(1)), name="is_wide")

    def own(i: ir.Operand) -> ir.Operand:
        if isinstance(is_wide, ir.Const):
            return i if is_wide.value else ir.integer(0)
        name = f"{i.name}_own" if isinstance(i, ir.Var) else "own"
        return ctx.builder.call(ir.select, is_wide, i, ir.integer(0), type=types.intp, name=name)

    return own


def elementwise(ctx: Context, callee: Any, args: Sequence[Value], name: str = "") -> Value:
    """A scalar function applied to arrays and numbers, lazily; of arrays of rank 0 it is a number, as in NumPy."""
    shape = broadcast_shapes(ctx, [arrays.shape_of(ctx, a) for a in args if is_array(a)])
    way = integers.way_of(ctx, callee, args)
    kind, is_narrow = _element_type(ctx, callee, args) if way is None else (way.made, False)
    if isinstance(kind, types.Float):
        args = [integers.as_floats(ctx, a) for a in args]
    elements = [stretched(ctx, a, shape) for a in args]

    def element(index: Index) -> Number:
        found = [e(index) for e in elements]
        if way is not None:
            return integers.computed(ctx, way, [complexes.real(ctx, f) for f in found], name)
        if is_narrow:
            return scalars.wrapped(ctx, callee, [complexes.real(ctx, f) for f in found], kind, name)
        made = complexes.call(ctx, callee, found, name)
        return made if isinstance(made, Complex) else scalars.cast(ctx, made, kind)

    if not shape:
        return element(()) if way is not None else complexes.call(ctx, callee, [e(()) for e in elements], name)
    return expression(args, shape, kind, element, is_dear=callee not in _CHEAP)


_CHEAP = frozenset((
    operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.lt, operator.le, operator.gt,
    operator.ge, operator.eq, operator.ne, abs, np.add, np.subtract, np.multiply, np.negative, np.abs, np.maximum,
    np.minimum,
))  # fmt: skip


def _element_type(ctx: Context, callee: Any, args: Sequence[Value]) -> tuple[types.Type, bool]:
    """The type of the elements of the result, and whether they are integers of fewer bits than numba's numbers have."""
    dtypes = tuple(dtype(a) for a in args)
    kind = call_type(callee, dtypes)
    if callee in _NOT_OF_BOOLEANS and all(isinstance(d, types.Boolean) for d in dtypes):
        raise ctx.mismatch(
            "`-` of boolean arrays", "Use ~ or ^, or convert them: a.astype(np.int64).", why="NumPy refuses it."
        )
    if kind is None:
        raise scalars.no_such_call(ctx, callee, dtypes)
    if all(d in (types.float64, types.intp) for d in dtypes):
        return kind, False
    # of integers in arrays numba makes what NumPy makes, and of numbers what has 64 bits
    found = call_type(callee, tuple(array_type(dtype(a), 1) if is_array(a) else dtype(a) for a in args))
    if not isinstance(found, types.Array) or not is_integer(found.dtype) or not is_integer(kind):
        return kind, False
    return found.dtype, bits(found.dtype) < bits(kind)


_NOT_OF_BOOLEANS = (operator.sub, operator.neg, np.subtract, np.negative)


def where(ctx: Context, condition: Value, yes: Value, no: Value) -> Value:
    """np.where: the side not selected is not evaluated, so nothing of it reaches the derivative."""
    args = (condition, yes, no)
    shape = broadcast_shapes(ctx, [arrays.shape_of(ctx, a) for a in args if is_array(a)])
    test, one, other = (stretched(ctx, a, shape) for a in args)

    way = integers.way_of(ctx, operator.add, (yes, no)) if any(map(is_array, args)) else None

    def side(number: Number) -> Number:
        return number if way is None else complexes.cast(ctx, number, way.made)

    def chosen(index: Index) -> Number:
        is_one = complexes.truth(ctx, test(index))
        return complexes.chosen(ctx, is_one, lambda: side(one(index)), lambda: side(other(index)), "selected")

    if not any(map(is_array, args)):
        return chosen(())
    kind = _element_type(ctx, operator.add, (yes, no))[0] if way is None else way.made
    return expression(args, shape, kind, lambda index: complexes.cast(ctx, chosen(index), kind))


def converted(ctx: Context, value: Value, kind: types.Type) -> Value:
    """Elements cast to another type."""
    if is_scalar(value):
        return complexes.cast(ctx, value, kind)
    lazy = as_lazy(ctx, value)
    return expression([lazy], lazy.shape, kind, lambda index: complexes.cast(ctx, lazy.element(index), kind))


def part(ctx: Context, value: Value, name: str) -> Value:
    """The part, "real" or "imag", of what is a complex number, or an array of them."""
    if isinstance(value, Lazy):
        assert isinstance(value.dtype, types.Complex)
        kind, taken = part_of(value.dtype), operator.attrgetter(name)
        return expression([value], value.shape, kind, lambda i: taken(complexes.promote(ctx, value.element(i))))
    assert isinstance(value, Complex)
    return value.real if name == "real" else value.imag


def expression(
    args: Sequence[Value],
    shape: tuple[ir.Operand, ...],
    kind: types.Type,
    element: Callable[[Index], Number],
    is_dear: bool = False,
) -> Lazy:
    """An expression of the elements of these, stretched to the shape."""
    sources: list[ir.Operand] = []
    moved: list[ir.Operand] = []
    for a in args:
        if isinstance(a, Lazy):
            sources.extend(a.sources)
            moved.extend(a.moved if a.shape == shape else a.sources)
        elif isinstance(a, Number) and is_array(a):
            sources.extend(operands_in(a))
            if ndim(a) != len(shape):
                moved.extend(operands_in(a))
    lazy = [a for a in args if isinstance(a, Lazy)]
    like, is_free = tuple(o for a in lazy for o in a.like), any(a.is_free for a in lazy)
    is_dear = is_dear or any(a.is_dear for a in lazy)
    return Lazy(shape, kind, element, tuple(sources), tuple(moved), is_dear=is_dear, like=like, is_free=is_free)


def materialise(ctx: Context, value: Value, name: str = "", user: bool = False) -> Value:
    """A lazy expression as a fresh array, also inside what is called or iterated over later; anything else as it is."""
    match value:
        case Method(owner=owner, name=called):
            return Method(materialise(ctx, owner), called)
        case Zip(parts=parts, first=first):
            return Zip(tuple(p if p is None else materialise(ctx, p) for p in parts), first)
        case NdIndex(shape=shape, arrays=held, has_index=has_index):
            return NdIndex(shape, tuple(materialise(ctx, a) for a in held), has_index)
    if not isinstance(value, Lazy):
        return value
    out = copied(ctx, value, name, user)
    if value.view_by:
        ctx.arrays.overlapping.update(operands_in(out))
        for made in operands_in(out):
            for source in value.sources:
                ctx.detached(made, source, value.view_by, always=True, readonly=True)
    if value.has_gaps and isinstance(out, ir.Var):
        ctx.ordered(out, (), is_free=True)
    return out


def overlaps(ctx: Context, value: Value) -> bool:
    """Whether an array is known to be a view in which elements stand several times, or a copy that stands for one."""
    if isinstance(value, Lazy):
        return bool(value.view_by)
    return isinstance(value, Number) and any(ctx.roots_of(part) & ctx.arrays.overlapping for part in operands_in(value))


def copied(ctx: Context, value: Value, name: str = "", user: bool = False, keeps_order: bool = True) -> Number:
    """An array or expression as a fresh array; `keeps_order`: NumPy's is in the order of the original, else in C."""
    lazy = as_lazy(ctx, value)
    out = arrays.allocated(ctx, lazy.shape, lazy.dtype, None, name or "values", user)
    ctx.builder.nest(lazy.shape, lambda index: arrays.store(ctx, out, index, lazy.element(index)))
    if keeps_order:
        arrays.ordered_like(ctx, out, [lazy])
    return out


def operand(ctx: Context, value: Value) -> ir.Operand:
    """An operand of the IR: lazy expressions are computed."""
    if is_complex(value):
        raise ctx.unsupported(
            "complex numbers here",
            "Write it with real and imaginary parts.",
            why="adjit stores complex numbers as pairs of real ones.",
        )
    made = arrays.array_of(ctx, value) if isinstance(value, TupleValue) else materialise(ctx, value)
    if not isinstance(made, ir.Operand):
        raise ctx.unsupported(f"{describe(value)} in this place", "Give a number or an array.")
    return made


def store_all(ctx: Context, target: Number, value: Value, accumulate: Any = None) -> None:
    """`target[...] = value` or, with an operator, `target[...] op= value`, with broadcasting.

    The right side is evaluated before the store, as NumPy does: where it reads what is overwritten elsewhere in the
    target, it is computed into an array of its own first.
    """
    shape = arrays.shape_of(ctx, target)
    if is_array(value) and _reads_elsewhere(ctx, value, target):
        stored = operands_in(target)[0]
        value = materialise(ctx, as_lazy(ctx, value), f"{stored.name}_new" if isinstance(stored, ir.Var) else "")
    check_fits(ctx, shape, value)
    element = stretched(ctx, value, shape)
    kind = dtype(target)
    if accumulate is not None:
        made = types.float64 if accumulate in (operator.truediv, np.divide) else dtype(value)
        check_kept(ctx, kind, made, "in place")
    has_derivative = isinstance(kind, types.Float | types.Complex)
    way = None if accumulate is None else integers.way_of(ctx, accumulate, (target, value))
    adds = accumulate in (operator.add, operator.sub) and has_derivative and dtype(value) == kind

    def body(index: Index) -> None:
        new = element(index)
        if adds:
            added = new if accumulate is operator.add else complexes.call(ctx, operator.neg, (new,))
            arrays.store(ctx, target, index, added, add=True)
            return
        if way is not None:
            new = integers.computed(ctx, way, [complexes.real(ctx, n) for n in (arrays.load(ctx, target, index), new)])
        elif accumulate is not None:
            new = complexes.call(ctx, accumulate, (arrays.load(ctx, target, index), new))
        arrays.store(ctx, target, index, new)

    ctx.builder.nest(shape, body)


def check_fits(ctx: Context, shape: Sequence[ir.Operand], value: Value) -> None:
    """Checks that a value can be stored where an array of this shape is; the extents when it runs."""
    own_shape = arrays.shape_of(ctx, value) if is_array(value) else ()
    if len(own_shape) > len(shape):
        raise ctx.mismatch(
            f"a store of an array of rank {len(own_shape)} into an array of rank {len(shape)}",
            "Index or reduce it first.",
        )
    for extent, own in zip(shape[len(shape) - len(own_shape) :], own_shape, strict=True):
        if own not in (extent, ir.integer(1)):
            what = "an axis of length {} cannot take a value of length {}"
            fitting_extent(ctx, stored_extent, extent, own, what)


def check_mask_fits(ctx: Context, array: ir.Operand, first: int, mask: ir.Operand) -> None:
    """Checks that the axes of an array from the first on are as long as those of a mask that chooses from them."""
    if ctx.kernel is not None:
        return
    for axis, own in enumerate(ctx.shape(mask), first):
        extent = ctx.shape(array)[axis]
        if own != extent:
            where = (("where", ir.axis_at(ctx.builder.origin, array, axis)),)
            ctx.builder.emit(ir.Call(callee=check_mask, args=(extent, own), outs=(), options=where, effect=True))


def check_kept(ctx: Context, kind: types.Type, given: types.Type, how: str) -> None:
    """Checks that such numbers can be put into an array of that kind, in place or by `out`: no ufunc cuts them off."""
    if isinstance(given, types.Float) and isinstance(kind, types.Integer | types.Boolean):
        raise ctx.mismatch(
            f"a store of floats into an array of {kind} {how}",
            "Convert the array to floats: astype(float).",
            why="Their fractions would be cut off.",
        )


def _reads_elsewhere(ctx: Context, value: Value, target: Number) -> bool:
    """Whether an element of `value` may read an element of the target other than the one it is stored to."""
    lazy = as_lazy(ctx, value)
    met = [(source, t) for source in lazy.sources for t in operands_in(target) if ctx.may_alias(source, t)]
    if any(source is not t or any(source is m for m in lazy.moved) for source, t in met):
        return True
    return bool(met) and lazy.shape != arrays.shape_of(ctx, target)


def paired(real: Value, imag: Value) -> Complex:
    """A complex value from parts that are computed."""
    assert isinstance(real, ir.Operand)
    assert isinstance(imag, ir.Operand)
    return Complex(real, imag)


def halves(ctx: Context, value: Value) -> tuple[ir.Operand, ir.Operand]:
    """The real and the imaginary part of what is complex."""
    pair = materialise(ctx, value)
    assert isinstance(pair, Complex)
    return pair.real, pair.imag


def total(ctx: Context, value: Value, axes: Sequence[int] | None = None) -> Value:
    """np.sum, over everything or along some axes."""
    if is_complex(value):
        return paired(*(total(ctx, one, axes) for one in halves(ctx, value)))
    lazy = as_lazy(ctx, value)
    dtype = lazy.dtype
    if is_integer(dtype):
        is_unsigned = isinstance(dtype, types.Integer) and not dtype.signed  # type: ignore[attr-defined]
        dtype = types.uint64 if is_unsigned else types.intp
    zero = typed_const(0, dtype)

    def term(index: Index) -> ir.Operand:
        return scalars.cast(ctx, complexes.real(ctx, lazy.element(index)), dtype)

    def add(index: Index, partial: ir.Operand) -> ir.Operand:
        return scalars.cast(ctx, scalars.scalar(ctx, operator.add, (partial, term(index))), dtype)

    if axes is None or len(axes) == lazy.ndim:
        return ctx.reduce(lazy.shape, zero, add, "total", order_free=True)
    left = [k for k in range(lazy.ndim) if k not in axes]
    rest = tuple(lazy.shape[k] for k in left)
    if lazy.ndim - 1 not in axes and ir.is_float(dtype):
        # row by row, as the elements are in memory
        out = arrays.allocated_part(ctx, rest, dtype, 0, "totals")

        def accumulate(index: Index) -> None:
            ctx.builder.store(out, tuple(index[k] for k in left), term(index), add=True)

        ctx.builder.nest(lazy.shape, accumulate, ordered=tuple(axes))
        arrays.ordered_like(ctx, out, [lazy])
        return out

    def element(index: Index) -> ir.Operand:
        def add_inner(inner: Index, partial: ir.Operand) -> ir.Operand:
            at = dict(zip((*left, *axes), (*index, *inner), strict=True))
            return add(tuple(at[k] for k in range(lazy.ndim)), partial)

        return ctx.reduce([lazy.shape[k] for k in axes], zero, add_inner, "total", order_free=True)

    return materialise(ctx, expression([lazy], rest, dtype, element), "totals")
