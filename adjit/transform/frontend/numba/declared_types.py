"""Types that numba was given for a function: of its arguments and its result, and of its variables.

In: a function that numba compiles, and the values of a call. Out: the values, cast as numba casts them.

    @njit("float64(int64, float64)")                f(2.7, x)    is f's body of 2 and x
    @njit(locals={"k": int64})       k = 1.5 * x     k is int(1.5 * x)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from numba import typeof, types

from adjit.notation import to_text
from adjit.runtime.backend.objects import (
    Undeclared,
    callback,
    declared,
    has_address,
    has_signatures,
    is_safe,
    variables,
)
from adjit.transform import ir
from adjit.transform.frontend.values.elementwise import converted
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.lists import Fields, TupleValue
from adjit.transform.frontend.values.numbers import Complex, dtype, is_array, is_scalar, ndim
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import tuple_parts, tuple_type
from adjit.transform.source.callables import python_function
from adjit.transform.source.parsing import FunctionSource


@dataclasses.dataclass(frozen=True)
class Callback:
    """A function that compiled code calls by its signature alone: what numba.cfunc makes, and what is passed where a
    function of a signature is declared."""

    function: Any
    takes: tuple[types.Type, ...]
    gives: types.Type


def type_of_value(value: Value) -> types.Type | None:
    """numba's type of what a call is made with; None where that is not known."""
    match value:
        case ir.Var(type=kind) | ir.Const(type=kind):
            return kind
        case Complex(real=real):
            return real.type.copy(dtype=dtype(value)) if isinstance(real.type, types.Array) else dtype(value)
        case TupleValue(is_list=False, fields=fields):
            items = [type_of_value(item) for item in value.items]
            known = [item for item in items if item is not None]
            if len(known) < len(items):
                return None
            if isinstance(fields, Fields):
                return types.NamedTuple(known, fields.of)  # type: ignore[no-untyped-call]
            return tuple_type(known)
        case Static(value=None):
            return types.none
        case Static(value=str() as text):
            return types.StringLiteral(text)
    if isinstance(value, Static) and callable(value.value):
        try:
            found: types.Type = typeof(value.value)  # type: ignore[no-untyped-call]
        except ValueError:
            return None
        return found
    return None


# ------------------------------------------------------------------------------------------------------------ functions


def taken(
    ctx: Context, source: FunctionSource, given: dict[str, Value], is_compiled: bool
) -> tuple[dict[str, Value], types.Type | None]:
    """The arguments of a call as the body sees them, and the type of its result where that was declared; is_compiled:
    whether compiled code makes the call."""
    compiled, result = source.dispatcher, None
    if compiled is None:
        return given, None
    if has_signatures(compiled):
        kinds, result = _signature(ctx, source, given, is_compiled)
        given = {
            name: cast(ctx, value, kind, f"argument `{name}` of {source.name}")
            for (name, value), kind in zip(given.items(), kinds, strict=True)
        }
    declared_there = variables(compiled)
    return {name: _of_variable(ctx, declared_there, name, value) for name, value in given.items()}, result


def _signature(
    ctx: Context, source: FunctionSource, given: Mapping[str, Value], is_compiled: bool
) -> tuple[Sequence[types.Type], types.Type]:
    kinds: list[types.Type] = []
    for name, value in given.items():
        kind = type_of_value(value)
        if kind is None:
            raise ctx.unsupported(
                f"{describe(value)} for `{name}` of {source.name}, whose types are declared",
                "Leave the types out of @njit(...), or pass numbers and arrays.",
            )
        kinds.append(kind)
    try:
        found = declared(source.dispatcher, kinds, is_compiled)
    except Undeclared as fault:
        own = ", ".join(to_text(kind) for kind in kinds)
        known = " and ".join(_shown(signature) for signature in fault.declared)
        raise ctx.mismatch(
            f"a call of {source.name} with ({own})",
            "Convert the arguments, or declare these types as well.",
            why=f"It is declared for {known} only.",
        ) from None
    return found.args, found.return_type


def _shown(signature: Any) -> str:
    return f"({', '.join(map(str, signature.args))})"


def returned(ctx: Context, source: FunctionSource, result: types.Type | None, value: Value, is_loop: bool) -> Value:
    """The result of a call as its caller sees it; is_loop: of a function that calls itself, as a loop with stacks."""
    if result is None:
        return value
    if is_loop and type_of_value(value) != result:
        raise ctx.unsupported(
            f"{source.name}, which calls itself and whose result numba casts to {result}",
            "Leave the types out of @njit(...), or declare the type of its results.",
            why="The depth of the recursion is only known at run time.",
        )
    return cast(ctx, value, result, f"the result of {source.name}")


def cast(ctx: Context, value: Value, kind: types.Type, what: str) -> Value:
    """The value where one of a type is declared; `what` it is to the user."""
    match kind:
        case types.Optional():
            return value if value == Static(None) else cast(ctx, value, kind.type, what)
        case types.Number() | types.Boolean() if is_scalar(value):
            return converted(ctx, value, kind)
        case types.Literal() | types.Omitted() | types.NoneType() | types.UnicodeType() | types.Dispatcher():
            return value
        case types.Array() if is_array(value) and (dtype(value), ndim(value)) == (kind.dtype, kind.ndim):
            return value
        case types.BaseTuple() if isinstance(value, TupleValue) and len(value.items) == len(kind):
            parts = zip(value.items, tuple_parts(kind), strict=True)
            return dataclasses.replace(value, items=tuple(cast(ctx, one, part, what) for one, part in parts))
        case types.FunctionType() if isinstance(value, Static):
            return Static(Callback(value.value, tuple(kind.signature.args), kind.signature.return_type))
    raise ctx.unsupported(
        f"{describe(value)} for {what}, which is declared as {kind}",
        "Declare numbers, arrays or tuples of them, or leave the types out.",
    )


# ------------------------------------------------------------------------------------------------------------ variables


def _of_variable(ctx: Context, declared_there: Mapping[str, types.Type], name: str, value: Value) -> Value:
    kind = declared_there.get(name)
    return value if kind is None else cast(ctx, value, kind, f"`{name}`")


def variable(frame: Frame, name: str, value: Value) -> Value:
    """What `name = value` gives the variable."""
    kind = frame.declared.get(name)
    if kind is None:
        return value
    if any(name in each.names and not each.are_gone for each in frame.comprehensions):
        raise frame.ctx.unsupported(
            f"`{name}` in a comprehension, a name that has a type in `locals`", "Use another name in the comprehension."
        )
    return cast(frame.ctx, value, kind, f"`{name}`")


def of_body(source: FunctionSource) -> Mapping[str, types.Type]:
    """The types of the variables in a function's body that were declared."""
    return {} if source.dispatcher is None else variables(source.dispatcher)


# ------------------------------------------------------------------------------------------------------------ callbacks


def called_by_address(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of a callback, which compiled code makes by its signature; None of any other call."""
    ctx = frame.ctx
    made = callee if isinstance(callee, Callback) else None
    if made is None and frame.is_compiled:
        known = callback(callee)
        if known is not None:
            function, signature = known
            made = Callback(function, tuple(signature.args), signature.return_type)
        elif has_address(callee):
            raise ctx.unsupported(
                f"a call of an object of type {type(callee).__name__}, which is known by its address only",
                "Call a Python function that does the same.",
                why="adjit cannot read machine code.",
            )
    if made is None:
        return None
    name = python_function(made.function).__name__
    kinds = [type_of_value(one) for one in args]
    fits = len(args) == len(made.takes) and all(
        kind is not None and is_safe(kind, wanted) for kind, wanted in zip(kinds, made.takes, strict=False)
    )
    if named or not fits:
        own = ", ".join("?" if kind is None else to_text(kind) for kind in kinds)
        raise ctx.mismatch(
            f"a call of {name} with ({own})",
            "Convert the arguments.",
            why=f"numba compiles it for ({', '.join(map(str, made.takes))}), and takes them by position.",
        )
    given = [cast(ctx, one, kind, f"an argument of {name}") for one, kind in zip(args, made.takes, strict=True)]
    return cast(ctx, ctx.call(frame, Static(made.function), given, {}), made.gives, f"the result of {name}")
