"""What numba says of the types of operations. Of numbers and arrays it is asked once, or what it would say is known.

In: an operation and the types of its operands. Out: a signature, or the type of an attribute.

    signature(context, operator.mul, (float64, int64))      (float64, float64) -> float64

A test asks numba for all that is known here.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import types
from numba.core.typing.arraydecl import GetItemBuffer, SetItemBuffer
from numba.core.typing.templates import signature as make_signature


class NotRead(Exception):
    """Says what of a function is left to numba."""


_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_PARTS = types.Integer | types.SliceType

_attributes: dict[tuple[types.Type, str], Any] = {}
_plain: dict[types.Type, bool] = {}


def _known_signatures() -> dict[tuple[Any, tuple[types.Type, ...]], Any]:
    real, whole = types.float64, types.int64
    found: dict[tuple[Any, tuple[types.Type, ...]], Any] = {}
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv, *_COMPARISONS):
        for left, right in ((real, real), (real, whole), (whole, real), (whole, whole)):
            result: types.Type = types.boolean if operation in _COMPARISONS else real
            taken = real if real in (left, right) else whole
            if taken == whole and operation in (operator.add, operator.sub, operator.mul):
                result = whole
            found[operation, (left, right)] = make_signature(result, taken, taken)
    return found


_signatures = _known_signatures()


def signature(context: Any, operation: Any, args: tuple[types.Type, ...]) -> Any:
    """That of an operation that Python has a sign for, or of one of numba's own, which it knows by a name."""
    if operation is operator.getitem and isinstance(args[0], types.Array) and _is_of_parts(args[1]):
        return _of_array(GetItemBuffer, operation, context, args)
    args = tuple(map(types.unliteral, args)) if operation not in (range, slice) else args
    key = operation, args
    found = _signatures.get(key)
    if found is None:
        named = operation if isinstance(operation, str) else context.resolve_value_type(operation)
        found = context.resolve_function_type(named, args, {})
        if found is None:
            raise NotRead(f"{operation} of {args} has no type")
        if all(map(is_plain, args)):
            _signatures[key] = found
    return found


def set_signature(context: Any, args: tuple[types.Type, ...]) -> Any:
    """That of an assignment to a part: of what, where and what."""
    if isinstance(args[0], types.Array) and _is_of_parts(args[1]):
        return _of_array(SetItemBuffer, operator.setitem, context, args)
    found = context.resolve_setitem(*args)
    if found is None:
        raise NotRead(f"an assignment to a part of {args} has no type")
    return found


def _of_array(template: Any, operation: Any, context: Any, args: tuple[types.Type, ...]) -> Any:
    """That of a part of an array, by what numba has for integers and slices."""
    key = operation, args
    found = _signatures.get(key)
    if found is None:
        found = _signatures[key] = template(context).generic(args, {})
        if found is None:
            raise NotRead(f"there is no part {args[1]} of {args[0]}")
    return found


def _is_of_parts(index: types.Type) -> bool:
    if isinstance(index, types.BaseTuple):
        return all(isinstance(part, _PARTS) for part in index.types)  # type: ignore[attr-defined]
    return isinstance(index, _PARTS)


def attribute(context: Any, kind: types.Type, name: str) -> Any:
    """The type of an attribute."""
    key = kind, name
    found = _attributes.get(key)
    if found is None:
        found = context.resolve_getattr(kind, name)
        if found is None:
            raise NotRead(f"{kind} has no {name}")
        # of a method, what it is a method of may be found out later
        if is_plain(kind) and not isinstance(found, types.BoundFunction):
            _attributes[key] = found
    return found


def is_plain(kind: types.Type) -> bool:
    """Whether it is a number, an array of numbers, what stands between the brackets of one, or a range."""
    found = _plain.get(kind)
    if found is None:
        found = _plain[kind] = _is_plain(kind)
    return found


def _is_plain(kind: types.Type) -> bool:
    if isinstance(kind, types.Array):
        return isinstance(kind.dtype, types.Number | types.Boolean)
    if isinstance(kind, types.BaseTuple):
        return all(map(is_plain, kind.types))  # type: ignore[attr-defined]
    known = types.Number | types.Boolean | types.SliceType | types.NoneType | types.EllipsisType
    return isinstance(kind, known | types.RangeType | types.RangeIteratorType)
