"""numba.guvectorize: a function of arrays, called for each place of the axes before those that it knows.

In: what numba makes of the function, and the values of a call. Out: the array that the calls have stored into.

    scale(A, 2.0)  with  (n),()->(n)      for i in range(A.shape[0]): scale(A[i], 2.0, out[i])
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.runtime.backend import core_function
from adjit.transform import ir
from adjit.transform.frontend.arrays import indexing
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import taken
from adjit.transform.frontend.values.arrays import allocated_part, array_of, shape_of
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.elementwise import broadcast_shapes, converted, materialise, stretched_index
from adjit.transform.frontend.values.frame import Context, Frame, as_index
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import dtype, is_array, is_complex
from adjit.transform.frontend.values.ranges import Range, SliceValue
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value

_Axes = tuple[str, ...]
_LOOP = "Write the loop in the function."


def of_guvectorize(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of what numba.guvectorize makes; None of anything else."""
    known = core_function(callee)
    if known is None:
        return None
    ctx, (function, signature, declared) = frame.ctx, known
    before, after = (_axes(side) for side in signature.split("->"))
    if not declared or named or len(args) != len(before):
        raise ctx.unsupported(
            f"this call of {callee.__name__}, a function of numba.guvectorize",
            "Give guvectorize the types, and pass only the inputs, by position.",
        )
    given = [materialise(ctx, taken(frame, callee.__name__, "value", a)) for a in args]
    kinds = _suited(ctx, declared, given)
    inputs = [_cast(ctx, v, _item(kind)) for v, kind in zip(given, kinds, strict=False)]
    if any(map(is_complex, inputs)):
        raise ctx.unsupported(f"{callee.__name__}, a function of numba.guvectorize, of complex numbers", _LOOP)
    if any(not axis.isidentifier() for axes in (*before, *after) for axis in axes):
        what = f"{callee.__name__}, a function of numba.guvectorize with the layout {signature}"
        raise ctx.unsupported(what, _LOOP, why="adjit takes layouts whose axes have names.")
    loops, sizes = _extents(ctx, before, inputs)
    around = broadcast_shapes(ctx, loops)
    places = [_places(ctx, own, around) for own in loops]
    outs: list[ir.Operand] = []
    for axes, kind in zip(after, kinds[len(before) :], strict=True):
        if any(axis not in sizes for axis in axes):
            raise ctx.unsupported(f"an output of {signature} with a size that no input has", "Write the loop.")
        # a number is an array of one element to the function that stores it
        shape = (*around, *(sizes[axis] for axis in axes)) if axes else (*around, ir.integer(1))
        item = _item(kind)
        out = allocated_part(ctx, shape, item, 0, callee.__name__)
        assert isinstance(out, ir.Var)
        outs.append(out)

    def run(index: tuple[ir.Operand, ...]) -> None:
        if len(index) < len(around):
            trips = Range(ir.integer(0), around[len(index)], ir.integer(1))
            ctx.for_each(frame, trips, lambda i: run((*index, as_index(ctx, i, "a place"))), ())
            return
        of_inputs = zip(inputs, before, kinds, places, strict=False)
        parts = [materialise(ctx, _part(ctx, v, axes, kind, at(index))) for v, axes, kind, at in of_inputs]
        begun = len(ctx.builder.ops)
        ctx.call(frame, Static(function), [*parts, *(_at(ctx, out, index) for out in outs)], {})
        _check_stores(ctx, callee, parts, ctx.builder.ops[begun:])

    run(())
    whole = SliceValue(ir.Span())
    found = [
        out if axes else _at(ctx, out, (*[whole] * len(around), ir.integer(0)))
        for out, axes in zip(outs, after, strict=True)
    ]
    return found[0] if len(found) == 1 else TupleValue(tuple(found))


def _axes(side: str) -> list[_Axes]:
    """The names of the axes of each operand: `(m,n),()` has (m, n) and none."""
    return [tuple(one.replace(" ", "").split(",")) if one.strip() else () for one in re.findall(r"\(([^)]*)\)", side)]


def _item(kind: types.Type) -> types.Type:
    return kind.dtype if isinstance(kind, types.Array) else kind


def _suited(ctx: Context, declared: Sequence[Sequence[types.Type]], given: Sequence[Value]) -> Sequence[types.Type]:
    """The first types that take the arguments."""
    own = [np.dtype(str(dtype(value))) for value in given]
    for kinds in declared:
        if all(np.can_cast(a, np.dtype(str(_item(b))), "safe") for a, b in zip(own, kinds, strict=False)):
            return kinds
    raise ctx.mismatch(
        f"a call of a function of numba.guvectorize with {', '.join(map(str, own))}",
        "Convert the arguments: astype(...).",
    )


def _cast(ctx: Context, value: Value, item: types.Type) -> Value:
    return value if dtype(value) == item else converted(ctx, value, item)


def _extents(
    ctx: Context, before: Sequence[_Axes], inputs: Sequence[Value]
) -> tuple[list[tuple[ir.Operand, ...]], dict[str, ir.Operand]]:
    """For each input, the extents of the axes that are looped over; and of those that the function knows by name."""
    sizes: dict[str, ir.Operand] = {}
    loops: list[tuple[ir.Operand, ...]] = []
    for value, axes in zip(inputs, before, strict=True):
        shape = shape_of(ctx, value) if is_array(value) else ()
        more = len(shape) - len(axes)
        if more < 0:
            raise ctx.mismatch(f"an input of {len(shape)} axes instead of {len(axes)}", "Give it all axes.")
        for axis, extent in zip(axes, shape[more:], strict=True):
            _check(ctx, sizes.setdefault(axis, extent), extent, f"inputs with a different size of the axis {axis}")
        loops.append(tuple(shape[:more]))
    return loops, sizes


def _places(
    ctx: Context, own: Sequence[ir.Operand], around: Sequence[ir.Operand]
) -> Callable[[Sequence[ir.Operand]], tuple[ir.Operand, ...]]:
    """Where the part of an input is that a place of the loops has: axes of one element are stretched."""
    extents = (ir.integer(1),) * (len(around) - len(own)) + tuple(own)
    at = [stretched_index(ctx, extent, whole) for extent, whole in zip(extents, around, strict=True)]
    return lambda index: tuple(f(i) for f, i in zip(at, index, strict=True))[len(around) - len(own) :]


def _check_stores(ctx: Context, callee: Any, parts: Sequence[Value], ops: Sequence[ir.Op]) -> None:
    """Refuses a store into an input."""
    inputs = frozenset[object]().union(*(ctx.roots_of(part) for part in parts if isinstance(part, ir.Operand)))
    targets = (each.memory_written for op in ops for each in ir.with_inner(op))
    if any(target is not None and ctx.roots_of(target) & inputs for target in targets):
        raise ctx.unsupported(
            f"{callee.__name__}, a function of numba.guvectorize that stores into an input",
            "Copy it in the function: a = a.copy().",
            why="It depends on NumPy's copies whether the caller's array changes.",
        )


def _check(ctx: Context, left: ir.Operand, right: ir.Operand, message: str) -> None:
    """ValueError where two extents differ."""
    fits = scalars.scalar(ctx, operator.eq, (left, right))
    if isinstance(fits, ir.Const) and not fits.value:
        raise ctx.mismatch(message, "Use np.broadcast_to.")
    require(ctx, fits, ValueError, message)


def _part(ctx: Context, value: Value, axes: _Axes, kind: types.Type, index: tuple[Value, ...]) -> Value:
    """What the function is called with at a place."""
    found = _at(ctx, value, index) if index else value
    # a number may be declared as an array
    return array_of(ctx, TupleValue((found,))) if not axes and isinstance(kind, types.Array) else found


def _at(ctx: Context, array: Value, index: Sequence[Value]) -> Value:
    return indexing.read(ctx, indexing.resolve(ctx, array, index)) if index else array
