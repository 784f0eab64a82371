"""Questions about types, answered by numba's own inference.

In: callees and numba types. Out: the type of the result. numba's typing context is asked for each call as the front end
reaches it, so whatever numba can type, adjit can.

    call_type(operator.add, (float64, int64))  ->  float64
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numba import typeof, types

from adjit.runtime.backend import stand_in
from adjit.runtime.backend.typing import indexed, result_type, unified
from adjit.runtime.backend.typing import is_known as is_known
from adjit.runtime.library import distinct, held
from adjit.transform.ir.core import Const, Operand, Type
from adjit.transform.ir.memory import At, NewAxis, Selector, Span
from adjit.transform.ir.requested_places import Place

Layout = Literal["C", "F", "A"]


@functools.lru_cache(maxsize=4096)
def call_type(callee: Any, args: tuple[Type, ...], options: tuple[tuple[str, Any], ...] = ()) -> Type | None:
    """The type of `callee(*args, **options)`, None where numba has no such call."""
    if callee in (held, distinct):
        return args[0]
    if isinstance(callee, Place):
        return writable(args[0].copy(layout="C")) if isinstance(args[0], types.Array) else args[0]
    short = None if options else stand_in(callee, len(args))
    if short is not None and (of_short := call_type(short, args)) is not None:
        return of_short
    try:
        named = {name: _option_type(value) for name, value in options}
    except ValueError:
        # a function, say, which has no type
        return None
    found = result_type(callee, args, named)
    return None if found is None else unliteral(found)


def _option_type(value: Any) -> Type:
    """The type of a keyword argument that is written out in the call."""
    type_: Type = (types.literal if isinstance(value, str | int) else typeof)(value)  # type: ignore[no-untyped-call]
    return type_


def unliteral(type_: Type) -> Type:
    """The type without the value that a literal type knows."""
    plain: Type = types.unliteral(type_)  # type: ignore[no-untyped-call]
    return plain


def unify(left: Type, right: Type) -> Type | None:
    """The type that a variable has which is `left` on one path and `right` on another."""
    if left == right:
        return left
    found = unified(left, right)
    return None if found is None or isinstance(found, types.Optional) else unliteral(found)


def type_of(value: Any) -> Type:
    """The type of a Python value; array types are taken as they are (layout, readonly)."""
    return unliteral(typeof(value))  # type: ignore[no-untyped-call]


def array_type(dtype: Type, ndim: int, layout: Layout = "C") -> types.Array:
    return types.Array(dtype, ndim, layout)


def array_type_of(operand: Operand) -> types.Array:
    """The type of an operand that is an array."""
    assert isinstance(operand.type, types.Array)
    return operand.type


def writable(type_: Type) -> Type:
    """The type of an array, or of a tape of arrays, that is like one of type `type_` and may be written."""
    if isinstance(type_, types.List):
        return list_type(writable(type_.dtype))
    return type_.copy(readonly=False) if isinstance(type_, types.Array) else type_


def list_type(item: Type) -> types.List:
    return types.List(item, reflected=False)  # type: ignore[no-untyped-call]


def tuple_type(parts: Sequence[Type]) -> types.BaseTuple:
    made: types.BaseTuple = types.Tuple(tuple(parts))  # type: ignore[no-untyped-call]
    return made


def tuple_parts(type_: types.BaseTuple) -> tuple[Type, ...]:
    """The types of the items of a tuple."""
    return tuple(type_.types)  # type: ignore[attr-defined]


def slice_type(base: types.Array, selectors: Sequence[Selector]) -> types.Array:
    """The type of the view that basic indexing makes, as it is written."""
    index: list[Type] = []
    for s in selectors[: written_selectors(base, selectors)]:
        if isinstance(s, At):
            index.append(types.intp)
        elif isinstance(s, NewAxis):
            index.append(types.none)
        else:
            index.append(types.slice2_type if s.step is None else types.slice3_type)
    selected = tuple_type(index) if len(index) != 1 else index[0]
    found = indexed(base, selected)
    assert isinstance(found, types.Array)
    return found


def written_selectors(base: types.Array, selectors: Sequence[Selector]) -> int:
    """How many of them are written: a[i], not a[i, :, :], and a[:k], not a[:k, :], whose elements lie side by side,
    which numba does not see."""
    count = len(selectors)
    front = next((k for k, s in enumerate(selectors) if not isinstance(s, At)), count)
    if base.layout != "C" or front >= count - 1 or any(s != Span() for s in selectors[front + 1 :]):
        return count
    first = selectors[front]
    if first == Span():
        return front or count
    return front + 1 if isinstance(first, Span) and first.step is None else count


def transposed_type(base: types.Array, axes: Sequence[int]) -> types.Array:
    if tuple(axes) == tuple(range(base.ndim)):
        return base
    is_reversed = tuple(axes) == tuple(range(base.ndim))[::-1]
    layout: Layout = "A" if not is_reversed or base.layout == "A" else "F" if base.layout == "C" else "C"
    return base.copy(layout=layout)


_OF_PYTHON: dict[type, Type] = {
    float: types.float64, int: types.intp, bool: types.boolean, complex: types.complex128,
}  # fmt: skip


def dtype_of(value: Any) -> Type | None:
    """The numba scalar type that a dtype-like names: np.float32, "float32", a numba type, float, ..."""
    if isinstance(value, types.Type) and not isinstance(value, types.Callable):
        return value
    if isinstance(value, type) and value in _OF_PYTHON:
        return _OF_PYTHON[value]
    if isinstance(value, str | np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        from_numpy = np.dtype(value)
        return type_of(np.zeros(1, from_numpy)[0])
    return None


def part_type(type_: Type) -> Type | None:
    """The type of the parts of a complex number, or, copied in C order, of an array of them; None of another."""
    if isinstance(type_, types.Complex):
        return part_of(type_)
    if isinstance(type_, types.Array) and isinstance(type_.dtype, types.Complex):
        return types.Array(part_of(type_.dtype), type_.ndim, "C" if type_.layout == "C" else "A")
    return None


def complex_of(part: Type) -> types.Complex:
    """The type of the complex numbers with parts of this type."""
    made: types.Complex = types.complex64 if part == types.float32 else types.complex128
    return made


def part_of(type_: types.Complex) -> Type:
    """The type of the real and of the imaginary part."""
    part: Type = type_.underlying_float
    return part


def is_integer(type_: Type) -> bool:
    return isinstance(type_, types.Integer | types.Boolean)


def is_small(type_: Type) -> bool:
    """Whether these are numbers of fewer bits than Python's."""
    return type_ in (types.float32, types.complex64) or (isinstance(type_, types.Integer) and bits(type_) < 64)


def bits(type_: Type) -> int:
    """The size of an integer, 1 for a boolean."""
    return int(type_.bitwidth) if isinstance(type_, types.Integer) else 1  # type: ignore[attr-defined]


def is_small_integer(type_: Type) -> bool:
    """Whether it has fewer bits than what numba computes with."""
    return isinstance(type_, types.Integer) and bits(type_) < 64


def is_scalar(type_: Type) -> bool:
    return isinstance(type_, types.Number | types.Boolean)


def const(value: Any) -> Const:
    """A literal operand for a Python or NumPy number."""
    if isinstance(value, bool | np.bool_):
        return Const(bool(value), types.boolean)
    if isinstance(value, int) and not isinstance(value, np.generic):
        return Const(value, types.intp)
    return Const(value, type_of(value))


def typed_const(value: float, type_: Type) -> Const:
    """The number `value` as a literal of a given type."""
    if isinstance(type_, types.Boolean):
        return Const(bool(value), type_)
    if type_ == types.float64:
        return Const(float(value), type_)
    if type_ == types.intp:
        return Const(int(value), type_)
    if isinstance(type_, types.Integer):
        # what does not fit is cut off, as numba and NumPy's casts do
        least: int = type_.minval
        value = (int(value) - least) % (1 << bits(type_)) + least
    return Const(np.dtype(str(type_)).type(value), type_)
