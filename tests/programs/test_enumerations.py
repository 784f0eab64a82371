"""Enumerations: classes run through, members by name and value, flags."""

from __future__ import annotations

import functools
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto

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


# ------------------------------------------------------------------------------------------------------- as arguments


class Half(float, Enum):
    ONE = 0.5
    THREE = 1.5


class Mark(IntFlag):
    LOW = 1
    HIGH = 2


class Word(str):
    pass


def is_metre(x, unit):
    return x * x * len(unit) if unit == "m" else x * {"mile": 3.0, "n": 5.0}[unit]


def is_red(x, shade):
    return shade.gain(x) * (3.0 if shade is Shade.RED else 5.0) * len(shade.name)


def times_member(x, member):
    return x * member * x * (3.0 if isinstance(member, Level) else 5.0) * len(member.name)


def is_marked(x, mark):
    return x * x if mark & Mark.LOW else x


def of_several(x, shades, gains):
    total = 0.0
    for shade in shades:
        total += shade.gain(x) * gains[shade]
    return total


ARGUMENTS = [
    (is_metre, (Unit.METRE,)),
    (is_metre, (Unit.MILE,)),
    (is_metre, (np.str_("m"),)),
    (is_metre, (np.str_("n"),)),
    (is_metre, (Word("m"),)),
    (is_red, (Shade.RED,)),
    (is_red, (Shade.BLUE,)),
    (times_member, (Level.LOW,)),
    (times_member, (Level.HIGH,)),
    (times_member, (Mark.HIGH,)),
    (is_marked, (Mark.LOW | Mark.HIGH,)),
    (is_marked, (Mark.HIGH,)),
]


@pytest.mark.parametrize("function, given", ARGUMENTS)
def test_arguments_that_are_members(function, given):
    """They are constants: they are known by their class, whatever number or text they are as well."""
    check(function, lambda: (0.7, *given))


def test_members_are_arguments_of_compiled_code():
    compiled, forward = adjit.value_and_grad(is_red), []
    for shade in (Shade.RED, Shade.BLUE, Shade.RED):
        value, bar = compiled(0.7, shade)
        assert value == pytest.approx(is_red(0.7, shade), rel=1e-14)
        expected = (is_red(0.7 + 1e-6, shade) - is_red(0.7 - 1e-6, shade)) / 2e-6
        assert bar == pytest.approx(expected, rel=1e-8)
        forward.append(adjit.jvp(is_red, (0.7, shade), (1.0, None)))
        assert forward[-1] == pytest.approx((value, bar), rel=1e-14)
        # and of what holds one by name
        assert adjit.value_and_grad(functools.partial(is_red, shade=shade))(0.7) == (value, bar)
    assert forward[0] == forward[2]
    assert adjit.grad(times_member)(0.7, Half.THREE) == pytest.approx(2 * 0.7 * 1.5 * 5 * 5, rel=1e-14)
    gains = {Shade.RED: 3.0, Shade.BLUE: 5.0}
    for shades in ([Shade.RED, Shade.BLUE], (Shade.BLUE, Shade.RED)):
        assert adjit.grad(of_several)(0.7, shades, gains) == pytest.approx(2 * 3 + 3 * 0.7**2 * 5, rel=1e-14)
    for text in (Unit.METRE, np.str_("m")):
        assert adjit.value_and_grad(is_metre)(0.7, text) == adjit.value_and_grad(is_metre)(0.7, "m")


@pytest.mark.parametrize("member", [Shade.RED, Level.LOW, Half.ONE])
def test_no_derivative_flows_into_a_member(member):
    with pytest.raises(
        adjit.AdjitError, match=f"argument `member` of grad\\(times_member\\) is a member of .*{type(member).__name__}"
    ):
        adjit.grad(times_member, wrt="member")(0.7, member)


def of_a_number(x):
    return x if x in Shade else 2 * x


def without_such_a_name(x):
    return Shade["PINK"].gain(x)


def without_such_a_value(x):
    return Shade(7).gain(x)


@pytest.mark.parametrize(
    "function, said",
    [
        (of_a_number, "only known at run time, and the class Shade"),
        (without_such_a_name, "not the name of a member"),
        (without_such_a_value, "7 is not a valid Shade"),
    ],
)
def test_refused(function, said):
    with pytest.raises(adjit.AdjitError, match=said):
        adjit.grad(function)(0.7)
