"""How the functions that the compiler itself writes as IR take their arguments.

In: the values of a call, by position and by name. Out: one for each parameter, None where not given.

    bound(frame, "np.full", "shape fill_value dtype?", (%n, 0.0), {})  ->  [%n, 0.0, None]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate.frame import Frame, as_index
from adjit.transform.elaborate.values import Static, TupleValue, Value
from adjit.transform.types import dtype_of

Handler = Callable[[Frame, list[Value], dict[str, Value]], Value]


def bound(
    frame: Frame, name: str, parameters: str, args: Sequence[Value], named: dict[str, Value]
) -> list[Value | None]:
    """Arguments in the order of `parameters` ('shape dtype?'), None where not given."""
    ctx = frame.ctx
    names = parameters.split()
    required = [n for n in names if not n.endswith("?")]
    names = [n.removesuffix("?") for n in names]
    if len(args) > len(names):
        raise ctx.fail(errors.Unsupported, f"{len(args)} arguments for {name}", "numba does not take them.")
    found: dict[str, Value] = dict(zip(names, args, strict=False))
    for key, value in named.items():
        if key not in names or key in found:
            raise ctx.fail(
                errors.Unsupported,
                f"argument `{key}` of {name}",
                "numba does not take it.",
                "Write the computation without it.",
            )
        found[key] = value
    for key in required:
        if key not in found:
            raise ctx.fail(errors.TypeMismatch, f"{name} needs `{key}`")
    return [found.get(n) for n in names]


def shape_argument(frame: Frame, value: Value) -> tuple[ir.Operand, ...]:
    ctx = frame.ctx
    if isinstance(value, TupleValue):
        return tuple(as_index(ctx, v, "an extent") for v in value.items)
    return (as_index(ctx, value, "the shape"),)


def dtype_argument(frame: Frame, value: Value | None, default: types.Type) -> types.Type:
    if value is None or (isinstance(value, Static) and value.value is None):
        return default
    found = dtype_of(value.value) if isinstance(value, Static) else None
    if found is None:
        raise frame.ctx.fail(errors.TypeMismatch, "this is not a dtype")
    return found


def refused(what: str, instead: str) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        raise frame.ctx.fail(errors.Unsupported, what, "", instead)

    return handle


def identity(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    return value
