"""The adjoints at places inside a function, that it names.

In: a function, and names of places. Out: the function with a shift at each of these places, which is zero, and the
shifts: the derivatives by them are the adjoints there.

    for i in range(n):                          for i in range(n):
        y = intermediate(a * y, "y")                y = shifted(a * y, y_shift)

A place that is passed several times, in a loop or by several calls, has one shift, of a number: its adjoint is the sum
over all that. That of an array is made beside it, and so has to be passed once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from numba import types

from adjit.errors import Unsupported, WrongCall
from adjit.rules.registry import Entry
from adjit.transform import ir
from adjit.transform.ir.types import array_type_of, typed_const, writable
from adjit.transform.rewrite.strip_markers import names_of_places

SHIFTED = Entry(
    partials=lambda x, shift, *, y: (1, 1),
    tangent=lambda x, shift, x_dot, shift_dot, *, y: x_dot + shift_dot,
    adjoint=lambda x, shift, *, y, y_bar: (y_bar, y_bar),
)


@dataclasses.dataclass(frozen=True)
class Shifted:
    """`function` has further parameters, the shifts of numbers; `shifts` are those of all places, in their order."""

    function: ir.Function
    shifts: tuple[ir.Var, ...]

    def without(self, made: ir.Function) -> ir.Function:
        """A derivative of the function without these parameters, of which nothing is left but their adjoints."""
        numbers = [shift for shift in self.shifts if not ir.is_array(shift)]
        count = len(made.params) - len(numbers)
        zeros: dict[ir.Var, ir.Operand] = {shift: typed_const(0, shift.type) for shift in numbers}
        args = made.body.args[: len(made.body.args) - len(zeros)]
        body = ir.substituted_region(dataclasses.replace(made.body, args=args), zeros)
        return dataclasses.replace(made, names=made.names[:count], params=made.params[:count], body=body)


def check_places(function: ir.Function, names: Sequence[str]) -> None:
    """WrongCall if it has no place of a name."""
    known = names_of_places(function) if names else []
    for name in names:
        if name not in known:
            raise WrongCall(
                f"{function.name} has no intermediate {name!r}",
                ir.place_of(function.origin),
                f"It has {', '.join(map(repr, known))}." if known else "It names none.",
                f"Name a value inside it:  y = adjit.intermediate(y, {name!r})",
            )


def shifted(function: ir.Function, names: Sequence[str]) -> Shifted:
    """The function with shifts at places; Unsupported for an array that is in a loop."""
    check_places(function, names)
    found: dict[str, list[ir.Call]] = {name: [] for name in names}
    for op in function.body.inside:
        if isinstance(op, ir.Call) and isinstance(op.callee, ir.Place) and op.callee.name in found:
            found[op.callee.name].append(op)
    instead: dict[ir.Op, Sequence[ir.Op]] = {}
    shifts = [_shift(function, name, calls, instead) for name, calls in found.items()]
    numbers = tuple(shift for shift in shifts if not ir.is_array(shift))
    body = ir.replaced(function.body, instead)
    made = dataclasses.replace(
        function,
        names=(*function.names, *(shift.name for shift in numbers)),
        params=(*function.params, *numbers),
        body=dataclasses.replace(body, args=(*body.args, *numbers)),
    )
    return Shifted(made, tuple(shifts))


def _shift(function: ir.Function, name: str, calls: Sequence[ir.Call], instead: dict[ir.Op, Sequence[ir.Op]]) -> ir.Var:
    """The shift of a place; what stands for its calls goes to `instead`."""
    first = calls[0]
    kinds = {call.args[0].type for call in calls}
    is_array = any(isinstance(kind, types.Array) for kind in kinds)
    if is_array and (len(calls) > 1 or first not in function.body.ops):
        raise Unsupported(
            f"the adjoint of the array {name!r}, which is marked more than once or under a condition",
            ir.place_of(next(call for call in calls if ir.is_array(call.outs[0])).origin),
            "The name does not say which of the arrays is meant.",
            f"Add an argument that is zero, y = y + {name}[t], and differentiate with respect to it;\n"
            "or pass a function that gets each adjoint: adjit.intermediate(y, adjoint=...).",
        )
    if len(kinds) > 1:
        raise Unsupported(
            f"the adjoint of the numbers {name!r}, which differ in type",
            ir.place_of(first.origin),
            instead="Give each of them its own name.",
        )
    (kind,) = kinds
    shift = ir.Var(f"{first.args[0].name if isinstance(first.args[0], ir.Var) else name}_shift", writable(kind))
    callee = ir.Place(name, SHIFTED)
    for call in calls:
        made: ir.Op = dataclasses.replace(call, callee=callee, args=(call.args[0], shift))
        instead[call] = (_zeros(call.args[0], shift), made) if is_array else (made,)
    return shift


def _zeros(array: Any, shift: ir.Var) -> ir.Op:
    fill = typed_const(0, array_type_of(shift).dtype)
    if isinstance(array, ir.Const):
        return ir.Alloc(shape=tuple(ir.integer(int(n)) for n in array.value.shape), fill=fill, out=shift)
    return ir.Alloc(shape=(), like=array, fill=fill, out=shift)
