"""What an expression of the user's program stands for while it is elaborated.

A value is an operand of the IR (a number or an array), or of one of the static or lazy kinds in the files beside this
one, which never reach the IR. `leaves_of` and `rebuild` take a value apart into operands and put it together again, for
loops, branches and results. `structure` is a value with holes in place of its operands.

    (x, (y, 2))    TupleValue((%x, TupleValue((%y, 2))))
    a * b + 1      Lazy: the scalar body of an elementwise expression, written as a loop where it is stored or summed
    x + 1j         Complex(%x, 1.0), a pair of numbers; an array of complex numbers is a pair of arrays
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numba import types

from adjit.transform import ir


class Kind:
    """What all values are but the operands of the IR.

    what: what it is, for a message. grows: whether it is in memory that grows, with numbers of one type. classes: those
    that it may be of in Python.
    """

    what: ClassVar[str] = "a number"
    grows: ClassVar[bool] = False
    members: Any = ()
    classes: Any = ()

    def describe(self) -> str:
        return self.what

    def length(self) -> ir.Operand | None:
        """How many items it has, if it is a tuple, a list, a dictionary or the like."""
        return None

    def structure(self) -> Structure:
        return self

    def with_members(self, *members: Any) -> Self:
        return self

    def mapped(self, change: Callable[[Any], Any]) -> Self:
        """The same of what `change` makes of each member."""
        members = tuple(map(change, self.members))
        return self if ir.same(members, self.members) else self.with_members(*members)

    def state(self, env: Mapping[str, Value]) -> Value:
        """What is in it now."""
        return self.mapped(lambda part: dereference(env, part))

    def view(self, part: str) -> Value:
        """Of a dictionary, the list of its keys, values or items; of an object, the dictionary of its attributes."""
        return self

    def flatten(self) -> list[Value]:
        """What is in a tuple and in the tuples in it, in order; of what is no tuple, that."""
        return [self]


Value = ir.Operand | Kind
Structure = Any  # how a value is put together: the value itself, with a `Hole` for each number and array


class Composite(Kind):
    """A value that is made of others, its members: what is in the fields `made_of`, of which a tuple has several."""

    made_of: ClassVar[Sequence[str]] = ()

    def __init_subclass__(cls, made_of: str = "") -> None:
        cls.made_of = made_of.split() or cls.made_of

    @property
    def members(self) -> tuple[Any, ...]:
        held = [getattr(self, name) for name in self.made_of]
        return tuple(p for one in held for p in (one if type(one) is tuple else () if one is None else (one,)))

    def with_members(self, *members: Any) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        rest, several = iter(members), len(members) - len(self.made_of) + 1
        for name in self.made_of:
            if type(known := getattr(self, name)) is tuple:
                made.__dict__[name] = tuple(itertools.islice(rest, several))
            elif known is not None:
                made.__dict__[name] = next(rest)
        return made

    def structure(self) -> Self:
        return self.with_members(*map(structure, self.members))


@dataclass(frozen=True, eq=False)
class Hole(ir.Const, Kind):
    """What stands for a number or an array, of any type, in the structure of a value; axes: how many it has there."""

    value: None = None
    type: types.Type = types.none
    axes: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hole)

    def __hash__(self) -> int:
        return hash(Hole)


LEAF = Hole()


def describe(value: Value) -> str:
    """What a value is, for a message."""
    if isinstance(value, Kind):
        return value.describe()
    return "an array" if isinstance(value.type, types.Array) else "a number"


def structure(value: Value) -> Structure:
    if isinstance(value, Kind):
        return value.structure()
    return Hole(axes=value.type.ndim if isinstance(value.type, types.Array) else 0)


def dereference(env: Mapping[str, Value], value: Value) -> Value:
    """A value with what is in its lists now, but for items of lists that grow, which are read from memory."""
    return value if isinstance(value, ir.Operand) else value.state(env)


def leaves_of(value: Value) -> list[ir.Operand]:
    return [value] if isinstance(value, ir.Operand) else [leaf for part in value.members for leaf in leaves_of(part)]


def parts_of(value: Value) -> list[Value]:
    """What is in a tuple and in the tuples in it, in order; of what is no tuple, that."""
    return [value] if isinstance(value, ir.Operand) else value.flatten()


def leaf_count(shape: Structure) -> int:
    """How many numbers and arrays a value is made of."""
    return len(leaves_of(shape))


def rebuild(shape: Structure, operands: Iterable[ir.Operand]) -> Value:
    rest = iter(operands)
    return next(rest) if type(shape) is Hole else shape.with_members(*[rebuild(part, rest) for part in shape.members])
