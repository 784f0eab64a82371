"""np.vectorize and numba.vectorize: a function of numbers, called for each element.

In: the function, or the object that NumPy makes of it, and the values of a call. Out: an array expression.

    np.vectorize(f)(x, 2.0)      out[i] = f(x[i], 2.0)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.runtime.backend import element_function
from adjit.transform import ir
from adjit.transform.frontend.library.reductions import into
from adjit.transform.frontend.values.argument_binding import taken
from adjit.transform.frontend.values.arrays import shape_of
from adjit.transform.frontend.values.elementwise import broadcast_shapes, converted, expression, materialise, stretched
from adjit.transform.frontend.values.fold import Unknown, constant
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.numbers import Index, Number, dtype, is_array, is_scalar
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value
from adjit.transform.ir.types import type_of


@dataclasses.dataclass(frozen=True)
class Vectorized:
    """What np.vectorize makes of a function, called in a function that is differentiated."""

    function: Any
    types: tuple[str, ...] = ()  # NumPy's codes of those that a call is made with, `dd->d`; () for any
    is_numbas: bool = False  # whose results are of one type for all paths
    name: str = "the function"
    otypes: tuple[Any, ...] | None = None  # those of the results, as np.vectorize is given them


def vectorizing(frame: Frame, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`np.vectorize(f)`."""
    other = next((name for name in named if name not in ("otypes", "doc", "cache")), None)
    if len(args) != 1 or other is not None or not isinstance(args[0], Static):
        raise frame.ctx.unsupported(
            "np.vectorize with these arguments", "Give it a function whose arguments are numbers."
        )
    try:
        asked = constant(named.get("otypes", Static(None)))
        otypes = np.vectorize(len, otypes=asked).otypes
    except (Unknown, TypeError, ValueError):
        raise frame.ctx.mismatch("otypes of np.vectorize that are not types", "Write otypes=[float].") from None
    return Static(Vectorized(args[0].value, otypes=None if otypes is None else tuple(otypes)))


def vectorized(
    frame: Frame, callee: Vectorized | np.vectorize, args: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """A call of it."""
    ctx = frame.ctx
    function = callee.function if isinstance(callee, Vectorized) else callee.pyfunc
    if isinstance(callee, np.vectorize) and (callee.signature is not None or callee.excluded):
        raise ctx.unsupported(
            "np.vectorize with `signature` or `excluded`", "Give it a function whose arguments are numbers."
        )
    given = [materialise(ctx, taken(frame, "np.vectorize", "value", a)) for a in (*args, *named.values())]
    made = _returned(ctx, callee.otypes)
    if isinstance(callee, Vectorized) and callee.types:
        given, made = _of_types(ctx, callee.name, callee.types, given)
    shape = broadcast_shapes(ctx, [shape_of(ctx, a) for a in given if is_array(a)])
    elements = [stretched(ctx, a, shape) for a in given]

    def element(index: Index) -> Number:
        numbers = [e(index) for e in elements]
        by_name = dict(zip(named, numbers[len(args) :], strict=True))
        found = ctx.call(frame, Static(function), numbers[: len(args)], by_name)
        if not is_scalar(found):
            raise ctx.unsupported("np.vectorize of a function that does not return a number", "Write a loop.")
        if (
            made is None
            and found in ctx.numbers.of_two_kinds
            and not (isinstance(callee, Vectorized) and callee.is_numbas)
        ):
            raise ctx.unsupported(
                "np.vectorize of a function that returns an integer on one path and a float on another",
                "Return floats (0.0 for 0), or say which: np.vectorize(f, otypes=[float]).",
                why="NumPy converts all results to the type of the first one.",
            )
        return found if made is None else converted(ctx, found, made)  # type: ignore[return-value]

    with ctx.builder.region():
        kind = dtype(element((ir.integer(0),) * len(shape)))
    return materialise(ctx, expression(given, shape, kind, element)) if shape else element(())


def _returned(ctx: Context, asked: Any) -> types.Type | None:
    """The type that the results are cast to, as otypes says; None for that of the function's own."""
    if asked is None:
        return None
    kinds = [np.dtype(one) for one in asked]
    if len(kinds) != 1 or kinds[0].kind not in "biuf" or kinds[0].char in "eg":
        raise ctx.unsupported(
            f"np.vectorize with otypes of {', '.join(map(str, kinds))}", "Give it one type of numbers: otypes=[float]."
        )
    return type_of(kinds[0].type(0))


def of_numba(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of what numba.vectorize makes; None of anything else."""
    known = element_function(callee)
    if known is None:
        return None
    ctx, (function, signatures) = frame.ctx, known
    other = next((name for name in named if name != "out"), None)
    if other is not None or len(args) != callee.nin:
        what = f"{callee.__name__} with {len(args)} arguments" if other is None else f"argument `{other}`"
        raise ctx.unsupported(f"{what} of a function of numba.vectorize", f"Give it {callee.nin}, and `out` by name.")
    return into(
        frame,
        named.get("out"),
        vectorized(frame, Vectorized(function, signatures, True, callee.__name__), args, {}),
        fixed=0,
    )


def _of_types(
    ctx: Context, name: str, signatures: Sequence[str], given: Sequence[Value]
) -> tuple[list[Value], types.Type | None]:
    """The arguments as the first signature has them that takes these, and the type of its result."""
    own = [np.dtype(str(dtype(value))) for value in given]
    for signature in signatures:
        before, _, after = signature.partition("->")
        if all(np.can_cast(a, np.dtype(b), "safe") for a, b in zip(own, before, strict=True)):
            wanted = [type_of(np.dtype(code).type(0)) for code in before]
            return [converted(ctx, v, t) for v, t in zip(given, wanted, strict=True)], type_of(np.dtype(after).type(0))
    declared = [", ".join(np.dtype(code).name for code in one.partition("->")[0]) for one in signatures]
    raise ctx.mismatch(
        f"a call of {name} with ({', '.join(map(str, own))})",
        "Convert the arguments with astype(...), or declare these types as well.",
        why=f"numba.vectorize declares it for ({') and ('.join(declared)}) only.",
    )
