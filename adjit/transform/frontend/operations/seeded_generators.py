"""Generators of random numbers that a program seeds itself: they draw while it is compiled, the same at each call.

In: `np.random.default_rng(seed)` of a constant, and its methods. Out: constants, and the state that they leave.

    rng = np.random.default_rng(0)
    z = rng.normal(m, s, (n, 2))            of constants n: z = m + s * <an array of constants>

A generator is a record, whose state is followed along the paths of the program. A loop that draws is run by Python,
if all that it reads is known while compiling (`source/compile_time_execution.py`); draws in other loops that are not
written out, as they would be others in each trip, are refused.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import libcst as cst
import numpy as np

from adjit import errors
from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.frontend.heap.lists import in_memory
from adjit.transform.frontend.heap.references import in_new_reference, mutate
from adjit.transform.frontend.values.arrays import array_of
from adjit.transform.frontend.values.dictionaries import Instance
from adjit.transform.frontend.values.elementwise import copied, materialise
from adjit.transform.frontend.values.fold import constant, execute, is_constant
from adjit.transform.frontend.values.frame import Context, Frame, wrap
from adjit.transform.frontend.values.lists import TupleValue
from adjit.transform.frontend.values.numbers import operands_in
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, dereference, describe
from adjit.transform.source.compile_time_execution import run_beforehand
from adjit.transform.source.parameters import misfit
from adjit.transform.source.syntax import names_in

_Drawing = np.random.Generator | np.random.RandomState
KINDS = (np.random.Generator, np.random.RandomState)  # those of which a program may make its own


def seeded(frame: Frame, seed: Value) -> Value:
    """`np.random.default_rng(seed)`."""
    return _seeded(frame, seed, np.random.default_rng)


def seeded_state(frame: Frame, seed: Value) -> Value:
    """`np.random.RandomState(seed)`."""
    return _seeded(frame, seed, np.random.RandomState)


def _seeded(frame: Frame, seed: Value, make: Callable[[int], _Drawing]) -> Value:
    if not isinstance(seed, ir.Const) or not isinstance(seed.value, int | np.integer):
        raise frame.ctx.not_constant(
            "a random generator whose seed is not a constant integer",
            "Pass the generator or its numbers as an argument.",
            why="Its numbers are drawn at compile time, and are the same in each call.",
        )
    return in_new_reference(frame, _of_state(make(int(seed.value))))


def _of_state(generator: _Drawing) -> Instance:
    if isinstance(generator, np.random.Generator):
        return Instance(("state",), (Static(_State(generator.bit_generator.state)),), of=np.random.Generator)
    found: Any = generator.get_state(legacy=False)
    found["state"]["key"] = found["state"]["key"].tolist()
    return Instance(("state",), (Static(_State(found)),), of=np.random.RandomState)


class _State:
    """The state of a generator, equal to one with the same next numbers."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.found = dict(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _State) and self.found == other.found

    def __hash__(self) -> int:
        return hash(repr(self.found))


def drawn(frame: Frame, owner: Instance, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`generator.name(*args, **named)`."""
    ctx = frame.ctx
    method = getattr(owner.of, name, None)
    if method is None or name in ("bit_generator", "spawn", "seed", "get_state", "set_state"):
        raise ctx.unsupported(f"`{name}` of a random generator", "Draw the numbers before the call, and pass them.")
    entry = lookup(method) if owner.of is np.random.Generator else None
    rule = None if entry is None else entry.general or entry.decomposition
    is_known = name != "shuffle" and all(is_constant(one, is_frozen=True) for one in (*args, *named.values()))
    if rule is None or method in ctx.decomposed or is_known:
        known = {key: _constant(frame, name, a) for key, a in named.items()}
        return _drawn(frame, owner, name, [_constant(frame, name, a) for a in args], known)
    signature = inspect.signature(rule)
    if misfit(name, signature, len(args) + 1, named):
        expected = ", ".join([*signature.parameters][1:])
        raise ctx.unsupported(f"`{name}` of a generator with these arguments", f"Give {expected}.")
    if name != "shuffle":
        args, named = [_as_array(ctx, a) for a in args], {key: _as_array(ctx, a) for key, a in named.items()}
    ctx.decomposed.append(method)
    found = ctx.inline(rule, [owner, *args], named, True, False)
    ctx.decomposed.pop()
    return found


_METHODS = frozenset(method for kind in KINDS for method in vars(kind).values() if callable(method))


def _as_array(ctx: Context, value: Value) -> Value:
    """A parameter that is a list of numbers not known as the array that NumPy makes of it."""
    is_plain = not isinstance(value, TupleValue) or is_constant(value)
    return materialise(ctx, value) if is_plain else array_of(ctx, value)


def _drawn(frame: Frame, owner: Instance, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Value:
    (state,) = owner.items
    assert isinstance(state, Static)
    generator: _Drawing = np.random.RandomState() if owner.of is np.random.RandomState else np.random.default_rng()
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state.value.found
    else:
        generator.set_state(state.value.found)
    what, instead = f"`{name}` of a generator", "See NumPy's documentation."
    found = execute(frame.ctx, what, instead, getattr(generator, name), args, named)
    mutate(frame, owner, _of_state(generator), f"`{name}`")
    return _drawn_array(frame, found) if isinstance(found, np.ndarray) else wrap(frame.ctx, found)


def _drawn_array(frame: Frame, array: np.ndarray[Any, Any]) -> Value:
    """An array that is known while compiling: a constant, or where such arrays are changed a copy, made at each run."""
    ctx, value = frame.ctx, wrap(frame.ctx, array)
    if ctx.assumed.copies_drawn and not frame.is_rule:
        return copied(ctx, value)
    ctx.arguments.drawn[id(array)] = array
    return value


# ------------------------------------------------------------------------------------------------------------- in loops

MOST_ITEMS = 64  # of a list that are values of their own


def after_draws(frame: Frame, loop: cst.For | cst.While, known: Container[Any]) -> dict[str, Value] | None:
    """What a loop that draws from a generator seeded inside makes of variables, if all that it reads is known while
    compiling, else None; `known`: functions of libraries that have no effects, besides those that have a rule."""
    if frame.is_rule or frame.home is not None or frame.giving is not None or not _draws(frame, loop):
        return None
    parsed, source = frame.source.parsed(loop), frame.source
    if parsed is None:
        return None
    own = frame.local_names | source.parameters.parameters.keys()

    def outside(name: str) -> Any:
        scopes = (frame.kept, source.closure, source.globals, vars(builtins))
        return next(scope for scope in scopes if name in scope)[name]

    def is_known(function: Any) -> bool:
        entry = lookup(function)
        return function in known or (entry is not None and not entry.effect)

    found = run_beforehand(*parsed, frozenset(own), frame.constants, outside, is_known)
    if found is None or not all(map(_is_taken, found.values())):
        return None
    return {name: _found(frame, one) for name, one in found.items()}


def _draws(frame: Frame, loop: cst.For | cst.While) -> bool:
    """Whether a loop has to do with a generator that is seeded inside."""
    values = (dereference(frame.env, frame.env[name]) for name in names_in(loop) & frame.env.keys())
    return any(isinstance(value, Instance) and value.of in KINDS for value in values)


def _is_taken(thing: Any) -> bool:
    return not isinstance(thing, list) or len(thing) <= MOST_ITEMS or all(isinstance(one, _NUMBERS) for one in thing)


_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def _found(frame: Frame, thing: Any) -> Value:
    """What a variable holds after such a loop."""
    if isinstance(thing, KINDS):
        return _of_state(thing)
    if isinstance(thing, np.ndarray):
        return _drawn_array(frame, thing)
    if not isinstance(thing, list):
        return wrap(frame.ctx, thing)
    items = tuple(wrap(frame.ctx, one) for one in thing)
    if len(items) <= MOST_ITEMS:
        return TupleValue(items, is_list=True)
    table = in_memory(frame.ctx, items)
    buffers = (part for buffer in table.buffers for part in operands_in(copied(frame.ctx, buffer)))
    return dataclasses.replace(table, buffers=tuple(buffers))


# ----------------------------------------------------------------------------------------------------------- constants


def _constant(frame: Frame, name: str, value: Value) -> Any:

    def refused(part: Value) -> errors.AdjitError:
        asked = next((m.__name__ for m in frame.ctx.decomposed if m in _METHODS), name)
        return frame.ctx.not_constant(
            f"`{asked}` of a random generator, with {describe(part)} that is not constant",
            "Pass the generator or its numbers as an argument.",
            why="Its numbers are drawn at compile time.",
        )

    return constant(value, refused, is_frozen=True)
