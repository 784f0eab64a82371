"""The functions and methods that the compiler itself writes as IR: the tables of them, and choices.

In: a callee or the name of a method. Out: what emits its operations.

    np.sum(x)  a loop          np.where(c, x, y)  a branch in each element
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import random
from typing import Any

import numpy as np
from numba import types

from adjit.rules.numpy.arrays import as_view
from adjit.rules.numpy.arrays import overlaps as overlapping
from adjit.rules.numpy.axes import normal_axes
from adjit.runtime.library import held, stop_gradient, unique
from adjit.transform import ir
from adjit.transform.frontend.arrays.creation import CREATION
from adjit.transform.frontend.arrays.shaping import SHAPING, SHAPING_METHODS
from adjit.transform.frontend.library import builtins, iterables
from adjit.transform.frontend.library.dicts_and_sets import TABLES
from adjit.transform.frontend.library.ordering import ORDERING
from adjit.transform.frontend.library.reductions import ALONG_AXES as ALONG_AXES
from adjit.transform.frontend.library.reductions import REDUCTION_METHODS, REDUCTIONS, into
from adjit.transform.frontend.library.standard_library import PYTHON_LIBRARY
from adjit.transform.frontend.operations.containers import popped, to_list
from adjit.transform.frontend.operations.derivatives import intermediate_value
from adjit.transform.frontend.operations.operators import applied
from adjit.transform.frontend.operations.operators import binary as by_operator
from adjit.transform.frontend.values.argument_binding import Handler, axes_of, bound, identity, refused, taken, takes
from adjit.transform.frontend.values.dictionaries import Record, RuntimeDict
from adjit.transform.frontend.values.elementwise import operand, overlaps, store_all, where
from adjit.transform.frontend.values.frame import Frame
from adjit.transform.frontend.values.library_calls import whole_call
from adjit.transform.frontend.values.lists import GrowableList, TupleValue, is_list
from adjit.transform.frontend.values.numbers import Complex, dtype, is_array, is_complex, is_number, is_numeric, ndim
from adjit.transform.frontend.values.ranges import Range
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, parts_of
from adjit.transform.frontend.walk.recursion import held_number, last_taken, with_places
from adjit.transform.source.callables import spoken
from adjit.transform.source.marks import intermediate


def _where(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if len(args) == 1 and not named:
        return frame.ctx.call(frame, Static(np.nonzero), args, {})
    if len(args) != 3 or named:
        raise frame.ctx.unsupported(
            "np.where with other than three arguments", "Give all three arguments, or index with a mask."
        )
    condition, yes, no = (taken(frame, "np.where", "value", a) for a in args)
    return where(frame.ctx, condition, yes, no)


def _dot(frame: Frame, left: Value, right: Value, out: Value | None) -> Value:
    ctx = frame.ctx
    if is_complex(left) or is_complex(right):
        return by_operator(frame, operator.matmul if is_array(left) and is_array(right) else operator.mul, left, right)
    if not is_array(left) or not is_array(right):
        return applied(ctx, operator.mul, (left, right))
    if max(ndim(left), ndim(right)) > 2 or (
        min(ndim(left), ndim(right)) == 1 and (overlaps(ctx, left) or overlaps(ctx, right))
    ):
        return into(frame, out, frame.ctx.call(frame, Static(np.tensordot), (left, right, _axes_of_dot(right)), {}))
    product = whole_call(ctx, np.dot, (operand(ctx, left), operand(ctx, right)), "product")
    return into(frame, out, product)


def _axes_of_dot(right: Value) -> Value:
    """The axes that np.dot sums over: the last one of the left array, and of the right one the last but one."""
    return TupleValue((ir.integer(-1), ir.integer(-1 if ndim(right) == 1 else -2)))


def _as_view(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    copy, base, what, *readonly = args
    assert isinstance(copy, ir.Var)
    assert isinstance(what, Static)
    is_readonly = readonly != [ir.boolean(False)]
    frame.ctx.detached(copy, operand(frame.ctx, base), what.value, always=True, readonly=is_readonly)
    return copy


def _overlaps(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return ir.boolean(overlaps(frame.ctx, args[0]))


def _normal_axes(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """As `normal_axes` itself has it, with what is refused told of the function that a rule is written for."""
    axis, rank = args
    name = spoken(frame.ctx.decomposed[-1]) if frame.ctx.decomposed else "a function"
    if not isinstance(rank, ir.Const):
        raise frame.ctx.mismatch(f"{name} of a value that is not an array", "Give an array.")
    axes = axes_of(frame, name, axis, rank.value)
    return TupleValue(tuple(map(ir.integer, range(rank.value) if axes is None else axes)))


def _limits(kind: Any) -> Handler:
    """What is known of a type of numbers: `np.finfo(float)`, `np.iinfo(x.dtype)`."""

    def handle(frame: Frame, value: Value) -> Value:
        if not isinstance(value, Static) and not is_numeric(value):
            raise frame.ctx.mismatch(
                f"np.{kind.__name__} of a value that is neither a type nor a number", "Give a type."
            )
        of = value.value if isinstance(value, Static) else np.dtype(str(dtype(value)))
        try:
            return Static(kind(of))
        except ValueError as error:
            raise frame.ctx.mismatch(
                f"np.{kind.__name__} of this type",
                "Give a floating-point type to np.finfo, an integer type to np.iinfo.",
            ) from error

    return takes(f"np.{kind.__name__}", "dtype", handle)


def _stop_gradient(frame: Frame, value: Value) -> Value:
    """adjit.stop_gradient, of all that is in lists, tuples, dictionaries and objects."""
    match to_list(frame, value) if isinstance(value, GrowableList) else value:
        case TupleValue() | Record() as whole:
            return whole.mapped(functools.partial(_stop_gradient, frame)).known_by(None)
        case RuntimeDict() as whole:
            items = _stop_gradient(frame, whole.items.known_by(None))
            return dataclasses.replace(whole, items=items, cell=None)  # type: ignore[arg-type]
        case GrowableList() as whole:
            buffers = tuple(operand(frame.ctx, _stop_gradient(frame, buffer)) for buffer in whole.buffers)
            return dataclasses.replace(whole, buffers=buffers, cell=None)
    if not is_numeric(value):
        return value
    if is_complex(value):
        raise frame.ctx.unsupported(
            "adjit.stop_gradient of complex numbers", "Hold the real and the imaginary parts fixed."
        )
    is_fixed = isinstance(value, ir.Const) or (not is_array(value) and not isinstance(dtype(value), types.Float))
    return value if is_fixed else applied(frame.ctx, held, (value,))


def _stop_all(frame: Frame, value: Value) -> Value:
    """The same; an integer or a boolean by itself is held, too, with all that it decides."""
    is_counted = isinstance(value, ir.Var) and is_number(value) and not isinstance(value.type, types.Float)
    return applied(frame.ctx, held, (value,)) if is_counted else _stop_gradient(frame, value)


def _in_place(function: Any) -> Handler:
    """A method that puts into the array what the function makes of it."""

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        owner = args[0]
        if not isinstance(owner, ir.Var | Complex):
            name = function.__name__
            raise frame.ctx.unsupported(f"{name} in place, of an array without a name", f"Use np.{name}.")
        store_all(frame.ctx, owner, frame.ctx.call(frame, Static(function), args, named))
        return Static(None)

    return handle


_DOT = takes("np.dot", "a:value b:value out:array?", _dot)


def _held_number(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if any(is_array(part) for part in parts_of(args[0])):
        raise frame.ctx.unsupported(
            "an array that is used after a recursive call, in a function that changes arrays in place",
            "Pass it on in every call as the same parameter, or write a loop.",
            why="adjit would keep a copy of it.",
        )
    return args[0]


def _with_places(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (value,) = args
    has_places = is_array(value) or isinstance(value, TupleValue | GrowableList | Range | Static)
    return value if has_places else to_list(frame, value)


def _last_taken(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    (stack,) = args
    assert is_list(stack)
    return popped(frame, stack)


def _unique(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """The array itself, of which is noted that its elements are all different."""
    (array,) = bound(frame, "adjit.cuda.unique", "index:array", args, named)
    if not isinstance(array, ir.Var) or not isinstance(dtype(array), types.Integer):
        raise frame.ctx.mismatch(
            "adjit.cuda.unique of a value that is not an array of integers", "Give it the array of indices."
        )
    frame.ctx.arrays.distinct.add(array)
    return array


INTRINSICS: dict[Any, Handler] = {
    held_number: _held_number,
    last_taken: _last_taken,
    with_places: _with_places,
    unique: _unique,
    **CREATION,
    **SHAPING,
    **builtins.PYTHON_BUILTINS,
    **iterables.ITERABLES,
    **ORDERING,
    **TABLES,
    **PYTHON_LIBRARY,
    **REDUCTIONS,
    np.where: _where,
    np.dot: _DOT,
    np.real: identity,
    np.iscomplexobj: takes("np.iscomplexobj", "x:value", lambda frame, value: ir.boolean(is_complex(value))),
    np.isrealobj: takes("np.isrealobj", "x:value", lambda frame, value: ir.boolean(not is_complex(value))),
    np.finfo: _limits(np.finfo),
    np.iinfo: _limits(np.iinfo),
    as_view: _as_view,
    overlapping: _overlaps,
    normal_axes: _normal_axes,
    stop_gradient: takes("adjit.stop_gradient", "x", _stop_all),
    intermediate: takes("adjit.intermediate", "x name? adjoint?", intermediate_value),
}

ASKING = builtins.ASKING
# What takes a list for what it is, and no array in its place.
_SHUFFLES = {np.random.shuffle, random.shuffle}
RUNNING_THROUGH, ONCE, LAZY = iterables.RUNNING_THROUGH, iterables.ONCE, iterables.LAZY
OF_LISTS = (
    builtins.OF_LISTS
    | iterables.ITERABLES.keys()
    | ORDERING.keys()
    | TABLES.keys()
    | PYTHON_LIBRARY.keys()
    | _SHUFFLES
    | {last_taken, with_places}
)

METHODS: dict[str, Handler] = {
    **SHAPING_METHODS,
    **REDUCTION_METHODS,
    "dot": _DOT,
    "conj": identity,
    "conjugate": identity,
    "sort": _in_place(np.sort),
    "partition": _in_place(np.partition),
    "resize": refused("resizing in place", "Make an array of the new size and copy into it."),
}
