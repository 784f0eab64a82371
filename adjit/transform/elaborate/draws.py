"""Generators of random numbers that a program seeds itself: they draw while it is compiled, the same at each call.

In: `np.random.default_rng(seed)` of a constant, and its methods. Out: constants, and the state that they leave.

    rng = np.random.default_rng(0)          z = m + s * rng.normal(size=(n, 2))
    z = rng.normal(m, s, (n, 2))            of constants n: z = m + s * <an array of constants>

A generator is a record, whose state is followed along the paths of the program: draws in loops that are not written
out, which would be others in each trip, are refused.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate.values.elementwise import elementwise
from adjit.transform.elaborate.values.frame import Frame, wrap
from adjit.transform.elaborate.values.lists import changed
from adjit.transform.elaborate.values.values import Record, Static, Value, described, is_array, object_of

# Distributions that are a standard one, shifted and scaled.
_SCALED = {
    "normal": ("standard_normal", "loc scale size"),
    "uniform": ("random", "low high size"),
    "exponential": ("standard_exponential", "scale size"),
}


def seeded(frame: Frame, seed: Value) -> Value:
    """`np.random.default_rng(seed)`."""
    if not isinstance(seed, ir.Const) or not isinstance(seed.value, int | np.integer):
        raise frame.ctx.not_constant(
            "a generator of random numbers whose seed is not a constant integer",
            "Draw before, and pass the numbers as an argument.",
            why="Its numbers are drawn while the program is compiled, the same at each call.",
        )
    return _of_state(np.random.default_rng(int(seed.value)))


def _of_state(generator: np.random.Generator) -> Record:
    return Record(("state",), (Static(_State(generator.bit_generator.state)),), np.random.Generator)


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
    if name in _SCALED:
        return _scaled(frame, owner, name, args, named)
    method = getattr(np.random.Generator, name, None)
    if method is None or name in ("shuffle", "bit_generator", "spawn"):
        raise frame.ctx.unsupported(f"`{name}` of a generator of random numbers", "Draw before, and pass the numbers.")
    given = [_constant(frame, name, a) for a in args]
    keywords = {key: _constant(frame, name, a) for key, a in named.items()}
    return _drawn(frame, owner, name, given, keywords)


def _drawn(frame: Frame, owner: Record, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Value:
    (state,) = owner.items
    assert isinstance(state, Static)
    generator = np.random.default_rng()
    generator.bit_generator.state = state.value.found
    found = getattr(generator, name)(*args, **named)
    changed(frame, owner, _of_state(generator), f"`{name}`")
    return wrap(frame.ctx, found)


def _constant(frame: Frame, name: str, value: Value) -> Any:

    def refused(part: Value) -> errors.AdjitError:
        return frame.ctx.not_constant(
            f"`{name}` of a generator of random numbers, with {described(part)} that is not constant",
            "Draw before, and pass the numbers as an argument.",
            why="Its numbers are drawn while the program is compiled.",
        )

    return object_of(value, refused)


def _scaled(frame: Frame, owner: Record, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A draw with respect to whose parameters there are derivatives: `loc + scale * z`."""
    ctx = frame.ctx
    standard, parameters = _SCALED[name]
    order = parameters.split()
    given = dict(zip(order, args, strict=False)) | dict(named)
    if len(args) > len(order) or not given.keys() <= set(order):
        raise ctx.unsupported(f"`{name}` of a generator with these arguments", f"Give {', '.join(order)}.")
    size = _constant(frame, name, given.pop("size", Static(None)))
    if size is None and any(map(is_array, given.values())):
        raise ctx.unsupported(f"`{name}` of arrays without a size", "Give the size.")
    values = {key: given.get(key, wrap(ctx, start)) for key, start in _STARTS[name].items()}
    z = _drawn(frame, owner, standard, (), {"size": size})
    if name == "exponential":
        return _of(frame, operator.mul, z, values["scale"])
    if name == "uniform":
        width = _of(frame, operator.sub, values["high"], values["low"])
        return _of(frame, operator.add, values["low"], _of(frame, operator.mul, width, z))
    return _of(frame, operator.add, values["loc"], _of(frame, operator.mul, values["scale"], z))


_STARTS = {
    "normal": {"loc": 0.0, "scale": 1.0},
    "uniform": {"low": 0.0, "high": 1.0},
    "exponential": {"scale": 1.0},
}


def _of(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    return elementwise(frame.ctx, callee, (left, right))
