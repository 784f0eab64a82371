"""What numba compiles in the place of a function, a method or an attribute: what `numba.extending` was told.

In: a call or an attribute in a function that numba compiles. Out: the value of what numba would run; None where that is
what Python would.

    def fill(x, out): pass                       a stub
    @overload(fill)                              what numba calls for arguments of these types
    def _(x, out): return implementation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numba import types

from adjit.runtime.backend.third_party_overloads import Hidden, Untaken, attribute_function, implementation, is_told
from adjit.transform.frontend.numba.declared_types import type_of_value
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Frame
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir import Const
from adjit.transform.source.callables import spoken


def implemented(
    frame: Frame, callee: Any, has_rule: bool, args: Sequence[Value], named: Mapping[str, Value]
) -> Value | None:
    """A call of a function for which numba was told what to compile; None of any other."""
    return _called(frame, callee, spoken(callee), args, named, has_rule) if is_told(callee, has_rule) else None


def attribute_implemented(frame: Frame, owner: Value, name: str) -> Value | None:
    """`owner.name` by `overload_attribute`; None where that says nothing of it."""
    function = _function_of(frame, owner, name, is_method=False)
    return None if function is None else _called(frame, function, f"`{name}`", [owner], {})


def method_implemented(
    frame: Frame, owner: Value, name: str, args: Sequence[Value], named: Mapping[str, Value]
) -> Value | None:
    """`owner.name(*args, **named)` by `overload_method`; None where that says nothing of it."""
    function = _function_of(frame, owner, name, is_method=True)
    return None if function is None else _called(frame, function, f"`{name}`", [owner, *args], named)


def _function_of(frame: Frame, owner: Value, name: str, is_method: bool) -> Any:
    kind = type_of_value(materialise(frame.ctx, owner))
    found = None if kind is None else attribute_function(kind, name)
    return found[0] if found is not None and found[1] == is_method else None


def _called(
    frame: Frame, callee: Any, name: str, args: Sequence[Value], named: Mapping[str, Value], has_rule: bool = False
) -> Value | None:
    ctx = frame.ctx
    given = [materialise(ctx, one) for one in args]
    by_name = {key: materialise(ctx, one) for key, one in named.items()}
    kinds = [_kind(one) for one in given], {key: _kind(one) for key, one in by_name.items()}
    try:
        found = implementation(callee, *kinds)
    except Hidden as fault:
        raise ctx.unsupported(
            f"{name}, which {fault.how} compiles",
            f"Write it in Python:  @adjit.rules.decomposition({name})",
            why="It has no Python source.",
        ) from None
    except Untaken:
        if has_rule:
            return None
        what = next(
            (describe(v) for v in (*given, *by_name.values()) if _kind(v) is types.undefined), "these arguments"
        )
        raise ctx.unsupported(
            f"a call of {name}, whose numba.extending.overload does not take {what}",
            "Call it with arguments that it takes.",
            why="numba compiles the overload here, not the function itself.",
        ) from None
    return None if found is None else ctx.call(frame, Static(found), given, by_name)


def _kind(value: Value) -> types.Type:
    """numba's type of an argument, of integers and texts that are known with what they are."""
    if isinstance(value, Const) and isinstance(value.value, int):
        literal: types.Type = types.literal(value.value)  # type: ignore[no-untyped-call]
        return literal
    return type_of_value(value) or types.undefined
