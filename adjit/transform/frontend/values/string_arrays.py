"""Arrays of texts, which are there while compiling alone: what NumPy makes of them is made then.

In: a call of NumPy's, an operator, a method or a subscript, whose operands are known. Out: the value of the result.

    labels, z = np.unique(groups, return_inverse=True)      labels: an array of texts; z: a constant array
    x[labels == "a"]                                        a mask that is a constant
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from adjit.transform.frontend.values.fold import Unknown, constant, structured_dtype
from adjit.transform.frontend.values.frame import Context, wrap
from adjit.transform.frontend.values.values import Static, StringArray, TupleValue, Value


def is_texts(value: Value) -> TypeGuard[Static]:
    """Whether it is an array of texts."""
    return isinstance(value, Static) and isinstance(value.value, StringArray)


def _is_of_texts(value: Value) -> bool:
    """Whether it is a text, or has texts in it."""
    if isinstance(value, TupleValue):
        return any(map(_is_of_texts, value.items))
    return isinstance(value, Static) and isinstance(value.value, str | StringArray)


def made_of_texts(
    ctx: Context, callee: Any, args: Sequence[Value], named: Mapping[str, Value] | None = None
) -> Value | None:
    """What NumPy, or an operator, makes of texts in arrays and lists; None of a call without such."""
    named = named or {}
    if not _is_of_numpy(callee) or not args:
        return None
    has_texts = any(map(is_texts, args)) or _is_of_texts(args[0])
    if not has_texts or (isinstance(args[0], Static) and isinstance(args[0].value, str)):
        return None
    if any(structured_dtype(one) is not None for one in (*args[1:2], *named.values())):
        return None
    name = getattr(callee, "__name__", "a function")
    try:
        given, keywords = [constant(one) for one in args], {key: constant(one) for key, one in named.items()}
    except Unknown:
        if not any(map(is_texts, args)):
            return None
        raise ctx.not_constant(
            f"{name} of an array of strings and a value that is only known at run time",
            "Number the strings before the call: np.unique(..., return_inverse=True).",
        ) from None
    try:
        return wrap(ctx, callee(*given, **keywords))
    except (TypeError, ValueError, LookupError) as error:
        raise ctx.mismatch(f"{name} of an array of strings: {error}", "See NumPy's documentation.") from None


def _is_of_numpy(callee: Any) -> bool:
    """Whether it is a function of NumPy's, a method of its arrays, or an operator."""
    is_method = getattr(callee, "__objclass__", None) is np.ndarray
    home = str(getattr(callee, "__module__", "")).split(".")[0]
    return isinstance(callee, np.ufunc) or is_method or home in ("numpy", "_operator")


def items_of_texts(ctx: Context, value: Static) -> TupleValue:
    """What a loop over an array of texts runs over."""
    return TupleValue(tuple(wrap(ctx, one) for one in value.value.array))
