"""Generators of random numbers that a program seeds itself: they draw while it is compiled, the same at each call.

In: `np.random.default_rng(seed)` of a constant, and its methods. Out: constants, and the state that they leave.

    rng = np.random.default_rng(0)
    z = rng.normal(m, s, (n, 2))            of constants n: z = m + s * <an array of constants>

A generator is a record, whose state is followed along the paths of the program: draws in loops that are not written
out, which would be others in each trip, are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjit import errors
from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.elaborate.values.arrays import array_of
from adjit.transform.elaborate.values.elementwise import materialise
from adjit.transform.elaborate.values.frame import Context, Frame, wrap
from adjit.transform.elaborate.values.names import changed, under_a_cell
from adjit.transform.elaborate.values.values import (
    Record,
    Static,
    TupleValue,
    Value,
    described,
    object_of,
    parts_of,
)
from adjit.transform.source.parameters import misfit

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
            "a generator of random numbers whose seed is not a constant integer",
            "Pass the generator as an argument, or what it draws.",
            why="Its numbers are drawn while the program is compiled, the same at each call.",
        )
    return under_a_cell(frame, _of_state(make(int(seed.value))))


def _of_state(generator: _Drawing) -> Record:
    if isinstance(generator, np.random.Generator):
        return Record(("state",), (Static(_State(generator.bit_generator.state)),), np.random.Generator)
    found: Any = generator.get_state(legacy=False)
    found["state"]["key"] = found["state"]["key"].tolist()
    return Record(("state",), (Static(_State(found)),), np.random.RandomState)


class _State:
    """The state of a generator, equal to one with the same next numbers."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.found = dict(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _State) and self.found == other.found

    def __hash__(self) -> int:
        return hash(repr(self.found))


def drawn(frame: Frame, owner: Record, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`generator.name(*args, **named)`."""
    ctx = frame.ctx
    assert owner.of is not None
    method = getattr(owner.of, name, None)
    if method is None or name in ("bit_generator", "spawn", "seed", "get_state", "set_state"):
        raise ctx.unsupported(f"`{name}` of a generator of random numbers", "Draw before, and pass the numbers.")
    entry = lookup(method) if owner.of is np.random.Generator else None
    rule = None if entry is None else entry.general or entry.decomposition
    is_known = name != "shuffle" and all(map(_is_known, (*args, *named.values())))
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


def _is_known(value: Value) -> bool:
    return all(isinstance(part, Static | ir.Const) for part in parts_of(value))


def _as_array(ctx: Context, value: Value) -> Value:
    """A parameter that is a list of numbers not known as the array that NumPy makes of it."""
    is_plain = not isinstance(value, TupleValue) or _is_known(value)
    return materialise(ctx, value) if is_plain else array_of(ctx, value)


def _drawn(frame: Frame, owner: Record, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Value:
    (state,) = owner.items
    assert isinstance(state, Static)
    generator: _Drawing = np.random.RandomState() if owner.of is np.random.RandomState else np.random.default_rng()
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state.value.found
    else:
        generator.set_state(state.value.found)
    try:
        found = getattr(generator, name)(*args, **named)
    except (TypeError, ValueError) as error:
        raise frame.ctx.mismatch(f"`{name}` of a generator: {error}", "See NumPy's documentation.") from None
    changed(frame, owner, _of_state(generator), f"`{name}`")
    return wrap(frame.ctx, found)


def _constant(frame: Frame, name: str, value: Value) -> Any:

    def refused(part: Value) -> errors.AdjitError:
        asked = next((m.__name__ for m in frame.ctx.decomposed if m in _METHODS), name)
        return frame.ctx.not_constant(
            f"`{asked}` of a generator of random numbers, with {described(part)} that is not constant",
            "Pass the generator as an argument, or what it draws.",
            why="Its numbers are drawn while the program is compiled.",
        )

    return object_of(value, refused)
