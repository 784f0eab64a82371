"""Enumerations: classes run through, members by name and value, flags."""

from __future__ import annotations

from enum import Enum, Flag, IntEnum, StrEnum, auto

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


class Shade(Enum):
    RED = 1
    GREEN = 2
    ROT = 1
    BLUE = "b"

    @property
    def label(self):
        return self.name.lower()

    def gain(self, x):
        return 2.0 * x if self is Shade.RED else x**3

    @classmethod
    def first(cls):
        return next(iter(cls))


class Level(IntEnum):
    LOW = 1
    HIGH = 3
    TOP = 3


class Unit(StrEnum):
    METRE = "m"
    MILE = "mile"


class Side(Flag):
    LEFT = auto()
    RIGHT = auto()
    TOP = auto()
    ACROSS = LEFT | RIGHT


class Planet(Enum):
    EARTH = (5.9, 6.3)
    MARS = (0.6, 3.4)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius

    @property
    def pull(self):
        return self.mass / self.radius**2


def table_of_members(x):
    table = {shade: shade.gain(x) for shade in Shade}
    return table[Shade.RED] * table[Shade.ROT] + table[Shade.BLUE] / len(table)


def members_in_loops(x):
    total = 0.0
    for k, planet in enumerate(Planet):
        total += (k + 1) * x**2 * planet.pull
    for planet, shade in zip(reversed(Planet), Shade, strict=False):
        total += planet.mass * shade.gain(x)
    return total * max(Planet, key=lambda p: p.pull).radius


def names_and_values(x):
    total = x * len(Shade) + Shade["GREEN"].gain(x) * Shade(2).value + Shade.first().gain(x)
    for name, member in Shade.__members__.items():
        total = total + member.gain(x) * len(name) * len(member.label)
    red, *others = Shade
    return total * len(others) * len([*Shade, red]) + list(Shade)[1].gain(x)


def integers(x):
    total = np.zeros(4)
    for level in Level:
        total[level] = x**level * level.value * len(level.name)
    above = sum(1 for level in Level if level >= Level.HIGH)
    return total.sum() * above * Level(3) + sorted(Level, reverse=True)[0] * x**2


def texts(x):
    total = 0.0
    for unit in Unit:
        total += x * len(unit) * (2 if unit == "mile" else 3) * len(unit.value)
    return total**2 * (2 if Unit("mile") is Unit.MILE else 3)


def flags(x):
    both = Side.LEFT | Side.RIGHT
    total = x * (2 if Side.LEFT in both else 3) * (5 if Side.TOP in both else 7) * (11 if both & Side.TOP else 13)
    for side in both:
        total = total + side.value * x**2
    return total * (~both).value * len(both) if both == Side.ACROSS and Side.ACROSS in both else total


def which_is_chosen(x):
    shade = Shade.RED if x > 1.0 else Shade.GREEN
    return shade.gain(x) * (2 if shade in Shade else 3) * (5 if Shade.BLUE in list(Shade) else 7)


@pytest.mark.parametrize(
    "function", [table_of_members, members_in_loops, names_and_values, integers, texts, flags, which_is_chosen]
)
def test_values_and_gradients(function):
    check(function, lambda: (0.7,))


def test_compiled():
    check(integers, lambda: (0.7,), target="cpu")


def of_a_number(x):
    return x if x in Shade else 2 * x


def without_such_a_name(x):
    return Shade["PINK"].gain(x)


def without_such_a_value(x):
    return Shade(7).gain(x)


@pytest.mark.parametrize(
    "function, said",
    [
        (of_a_number, "known at run time only, `in` the class Shade"),
        (without_such_a_name, "no name of a member"),
        (without_such_a_value, "7 is not a valid Shade"),
    ],
)
def test_refused(function, said):
    with pytest.raises(adjit.AdjitError, match=said):
        adjit.grad(function)(0.7)
