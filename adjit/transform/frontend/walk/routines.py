"""Calls of functions that stay functions, where a program is long when its calls are written out.

In: a call of a function of the user's. Out: a call of a routine, which has been read apart from the program; or None,
and the call is written out.

    def chi2(x): return f(x[0]) + f(x[1])       %a = call f(%x0)
                                                %b = call f(%x1)

A routine takes and gives numbers, and does nothing else: it stores nothing that outlives it, raises nothing and draws
nothing. What is known while compiling, such as functions, texts and counts, is part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.effects import has_effect, is_check
from adjit.transform.frontend.operations.derivatives import result_value
from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import Complex, is_number
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, leaves_of, rebuild, structure
from adjit.transform.source.derivative import Enclosed
from adjit.transform.source.parameters import by_name
from adjit.transform.source.parsing import FunctionSource
from adjit.transform.source.routines import Build, Routine, Routines

_OURS = "adjit.transform."  # functions and derivatives that the program makes, which know its values
MOST_WRITTEN_OUT = 1000  # operations of a program that has no routines
DEEPEST = 6  # functions that are read for each other at a time
MOST_OF_SINGLE = 100  # operations of a function that is called from one place, in a loop, and is written out there
OF_FUNCTION = 2  # regions that are open in a function, outside of its loops
MOST_SHORT = 12  # operations of a function that is written out all the same


def count_call(ctx: Context, function: object) -> None:
    """Takes note of a call of a function of the user's that is written out; Restart where the program is long by now,
    and functions that are called from several places may stay functions."""
    routines = ctx.routines
    if routines is None:
        return
    is_in_loop = ctx.depth()[0] > OF_FUNCTION
    routines.places.setdefault(function, set()).add((ctx.node, is_in_loop))
    if ctx.builder.count <= MOST_WRITTEN_OUT:
        return
    if not ctx.assumed.routines and any(len(places) > 1 for places in routines.places.values()):
        under_way = {call[0] for call in ctx.active_calls}  # of which there is no length
        routines.single = {f for f in routines.places if f not in under_way and _is_single(routines, f)}
        raise Restart(routines=True)
    if routines.single and ctx.builder.count > 2 * MOST_WRITTEN_OUT:
        # they may be called from more places further on
        routines.single.clear()
        raise Restart(routines=True)


def _is_single(routines: Routines, function: object) -> bool:
    """Whether a function is short, and called from one place, in a loop."""
    places = routines.places[function]
    is_in_loop = len(places) == 1 and all(in_loop for _, in_loop in places)
    return is_in_loop and routines.lengths[function] <= MOST_OF_SINGLE


def note_length(ctx: Context, function: object, begin: int) -> None:
    """Takes note of how long a call was that was written out; `begin`: how much there was before it."""
    if ctx.routines is not None:
        ctx.routines.lengths[function] = ctx.builder.count - begin


def begin_with_routines(ctx: Context) -> None:
    """Restart where functions may stay functions, and none does so far."""
    if ctx.routines is not None and not ctx.assumed.routines:
        raise Restart(routines=True)


def called_apart(ctx: Context, source: FunctionSource, bound: Mapping[str, Value]) -> Value | None:
    """The result of a call of a routine; None where the function cannot be one."""
    if ctx.routines is None or not ctx.assumed.routines or source.function in ctx.routines.single:
        return None
    if any(frame.catching for frame in ctx.frames):
        # it may raise what the program catches
        return None
    if (source.dispatcher is None and ctx.frames and ctx.frames[-1].is_compiled) or source.function in ctx.recursive:
        # numba's semantics go with the caller, and a loop with stacks goes with what calls itself
        return None
    given: dict[str, Value] = {}
    known: dict[str, Static | ir.Const] = {}
    for name, value in bound.items():
        is_float = isinstance(value, ir.Const) and isinstance(value.type, types.Float)
        if isinstance(value, Static | ir.Const) and not (is_float or type(value.value).__module__.startswith(_OURS)):
            known[name] = value
        elif _is_of_numbers(value):
            given[name] = value
        else:
            return None
    shapes = {name: structure(value) for name, value in given.items()}
    leaves = [leaf for value in given.values() for leaf in leaves_of(value)]
    if not leaves:
        return None
    key = (source.function, tuple(shapes.items()), tuple(leaf.type for leaf in leaves), _key(known))
    if key not in ctx.routines.known:
        _read(ctx.routines, key, lambda: _routine(ctx, source, shapes, known, leaves))
    routine = ctx.routines.known[key]
    if routine is None:
        return None
    made = routine.function
    outs: Sequence[ir.Operand]
    if len(made.body.inside) <= MOST_SHORT:
        cloner = ir.Cloner(dict(zip(made.body.args, leaves, strict=True)))
        for op in made.body.ops:
            ctx.builder.emit(cloner.op(op))
        outs = [cloner.operand(y) for y in made.body.yields]
    else:
        results = tuple(ir.Var(ir.name_of(y, source.name), y.type) for y in made.body.yields)
        ctx.builder.emit(ir.Call(callee=routine, args=tuple(leaves), outs=results))
        outs = results
    return result_value(routine.whole.result, outs)


class _Needed(Exception):
    """A routine has to be read before what calls it, as too many would be under way."""

    def __init__(self, key: Hashable, read: Callable[[], Routine | None]):
        super().__init__(key)
        self.key, self.read = key, read


def _read(routines: Routines, key: Hashable, read: Callable[[], Routine | None]) -> None:
    """Reads a routine, with those that it calls."""
    if routines.depth >= DEEPEST:
        raise _Needed(key, read)
    waiting = [(key, read)]
    while waiting:
        key, read = waiting[-1]
        routines.known[key] = None  # a call of itself in it is written out
        routines.depth += 1
        try:
            routines.known[key] = read()
            waiting.pop()
        except _Needed as needed:
            del routines.known[key]
            if routines.depth > 1:
                raise
            waiting.append((needed.key, needed.read))
        finally:
            routines.depth -= 1


def _is_of_numbers(value: Value) -> bool:
    if isinstance(value, TupleValue):
        return not value.is_list and value.cell is None and all(map(_is_of_numbers, value.items))
    if isinstance(value, Complex):
        return is_number(value.real)
    return isinstance(value, ir.Var | ir.Const) and is_number(value)


def _key(known: Mapping[str, Static | ir.Const]) -> Hashable:
    """What tells arguments apart that are known: numbers and texts by what they are, the others by which they are."""

    def of(value: Any) -> Hashable:
        return value if isinstance(value, bool | int | float | str | None) else id(value)

    return tuple((name, type(v.value), of(v.value)) for name, v in known.items())


def _routine(
    ctx: Context,
    source: FunctionSource,
    shapes: Mapping[str, Any],
    known: Mapping[str, Static | ir.Const],
    leaves: Sequence[ir.Operand],
) -> Routine | None:
    """The routine for such calls; None where the function cannot be one, or nothing says that it can."""
    assert ctx.routines is not None
    counts = {name: len(leaves_of(shape)) for name, shape in shapes.items()}
    names = [name if n == 1 else f"{name}_{k}" for name, n in counts.items() for k in range(n)]
    if len(set(names)) < len(names):
        return None
    given = tuple(leaf.type for leaf in leaves)

    def variables(values: dict[str, Value]) -> dict[str, Value]:
        own = iter([values[name] for name in names])
        return {**known, **{name: rebuild(shape, own) for name, shape in shapes.items()}}  # type: ignore[arg-type]

    def elaborate(arg_types: Sequence[types.Type], build: Build) -> ir.Function:
        return ctx.elaborate_apart(source, names, arg_types, variables, build)

    enclosed = Enclosed(source.name, by_name(names), by_name(names), elaborate)
    derivative = ctx.routines.primal(enclosed)
    try:
        whole = ctx.build_derivative(derivative, given)
    except (errors.AdjitError, NotApart):
        return None
    parameters, gives = list(zip(names, given, strict=True)), range(len(whole.body.yields))
    return ctx.routines.made(whole.name, derivative, parameters, range(len(names)), gives, lambda: whole)


class NotApart(Exception):
    """A function that does more than to give numbers."""


def check_apart_result(value: Value) -> None:
    """NotApart if a result is not of numbers."""
    if not _is_of_numbers(value):
        raise NotApart


def check_apart_effects(function: ir.Function) -> None:
    """NotApart if a function does more than to raise, or to give results that its arguments go into."""
    effects = (op for op in function.body.inside if has_effect(op) and not (isinstance(op, ir.Raise) or is_check(op)))
    if any(effects) or not all(isinstance(y, ir.Var) for y in function.body.yields):
        raise NotApart
