"""Classes derived from Python's and NumPy's numbers, containers, named tuples and callables: as Python has them, or
refused. As arguments, as defaults, from outside, and made inside."""

import collections
import enum
import functools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


class Plain(float):
    pass


class Length(float):
    def __mul__(self, other: Any) -> float:
        return 50.0


class Narrow(np.float32):
    def __mul__(self, other: Any) -> float:
        return 9.0


class Count(int):
    pass


class FieldOver(namedtuple("FieldOver", "a b")):
    @property
    def a(self) -> float:
        return 50.0


class Long(namedtuple("Long", "a b")):
    def __len__(self) -> int:
        return 50


class Replacing(namedtuple("Replacing", "a b")):
    def _replace(self, **given: Any) -> Any:
        return Replacing(5.0, 6.0)


class Plus(namedtuple("Plus", "a b")):
    @property
    def both(self) -> float:
        return self.a + self.b


class Doubling(list):
    def append(self, item: Any) -> None:
        list.append(self, 2 * item)


class Answers(dict):
    def get(self, key: Any, default: Any = None) -> float:
        return 7.0


class Queue(collections.deque):
    def __iter__(self) -> Any:
        return iter([9.0])


class Bare(tuple):
    pass


class Holder:
    def __init__(self, v: Any) -> None:
        self.v = v


class Anything:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __getattr__(self, name: str) -> float:
        return 4.0


FIELD_OVER, REPLACING, NARROW, QUEUE = FieldOver(1.0, 2.0), Replacing(1.0, 2.0), Narrow(2.0), Queue([1.0])


def held(p: Any, x: float) -> float:
    return p.v * x


def product(p: Any, x: float) -> float:
    return p * x


def first(p: Any, x: float) -> float:
    return p[0] * x


def of_key(p: Any, x: float) -> float:
    return p.get("a") * x


@pytest.mark.parametrize(
    ("function", "given", "what", "instead"),
    [
        (product, Plain(3.0), "Plain, a class of numbers that adjit does not know", "float("),
        (product, Length(3.0), "Length, which has its own `__mul__`", "float("),
        (product, Count(3), "Count, a class of numbers that adjit does not know", "int("),
        (held, Holder(Plain(3.0)), "Plain, a class of numbers that adjit does not know", "float("),
        (first, [Length(3.0)], "Length, which has its own `__mul__`", "float(value)"),
        (held, FieldOver(1.0, 2.0), "FieldOver, which has its own `a`", "a plain tuple"),
        (first, Long(1.0, 2.0), "Long, which has its own `__len__`", "a plain tuple"),
        (first, (Replacing(1.0, 2.0), 1.0), "Replacing, which has its own `_replace`", "a plain tuple"),
        (first, Doubling([3.0]), "Doubling, which has its own `append`", "a plain list"),
        (of_key, Answers(a=3.0), "Answers, which has its own `get`", "a plain dict"),
        (held, Anything(3.0), "Anything, which has its own `__getattr__`", "a plain class"),
    ],
)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_refused_as_arguments(function: Any, given: Any, what: str, instead: str, target: str) -> None:
    with pytest.raises((adjit.TypeMismatch, adjit.Unsupported)) as fault:
        adjit.grad(function, wrt="x", target=target)(given, 2.0)
    assert what in str(fault.value)
    assert instead in str(fault.value)


def test_taken_as_arguments() -> None:
    def whole(p: Any, t: Any, x: float) -> float:
        return p.both * p.a * x * t[0]

    for target in ("python", "cpu"):
        given = Plus(1.0, 2.0), Bare((3.0, "a"))
        assert adjit.value_and_grad(whole, wrt=(0, 1, 2), target=target)(*given, 2.0) == (
            18.0, (Plus(24.0, 6.0), (6.0, "a"), 9.0)
        )  # fmt: skip


def of_default_matrix(x, m=np.matrix([[1.0, 2.0], [3.0, 4.0]])):  # noqa: B008
    return np.sum(m * m) * x


def of_named_default_matrix(x, *, m=np.matrix([[1.0, 2.0], [3.0, 4.0]])):  # noqa: B008
    return np.sum(m * m) * x


def of_default_mask(x, m=np.ma.array([1.0, 2.0], mask=[0, 1])):  # noqa: B008
    return np.sum(m) * x


def of_default_number(x, m=Length(2.0)):  # noqa: B008
    return (m * m + 2) * x


def of_default_tuple(x, m=FieldOver(1.0, 2.0)):  # noqa: B008
    return m.a * x


def of_default_list(x, m=[np.matrix([[1.0]])]):  # noqa: B006, B008
    return m[0] * x


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (of_default_matrix, "`m` of grad(of_default_matrix) is of type numpy.matrix"),
        (of_named_default_matrix, "`m` of grad(of_named_default_matrix) is of type numpy.matrix"),
        (of_default_mask, "a masked array"),
        (of_default_number, "Length, which has its own `__mul__`"),
        (of_default_tuple, "FieldOver, which has its own `a`"),
        (of_default_list, "is of type numpy.matrix"),
    ],
)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_defaults_are_checked_as_arguments_are(function: Any, what: str, target: str) -> None:
    with pytest.raises(adjit.TypeMismatch) as fault:
        adjit.grad(function, target=target)(2.0)
    assert what in str(fault.value)
    with pytest.raises(adjit.TypeMismatch):
        adjit.jvp(function, (2.0,), (1.0,), target=target)


def test_defaults_are_taken_as_arguments_are() -> None:
    def whole(x, act=np.tanh, *, table=[1.0, 2.0], keys={"a": 3.0}, holder=Holder(4.0)):  # noqa: B006, B008
        return act(x) * table[1] * keys["a"] * holder.v

    for target in ("python", "cpu"):
        value, slope = adjit.value_and_grad(whole, target=target)(0.5)
        np.testing.assert_allclose((value, slope), (24.0 * np.tanh(0.5), 24.0 / np.cosh(0.5) ** 2), rtol=1e-14)


class Hundred(functools.partial):
    def __call__(self, x: float) -> float:
        return 100.0 * x


class Same(functools.partial):
    pass


class Five(np.vectorize):
    def __call__(self, x: float) -> float:
        return x * 5.0


class SameEach(np.vectorize):
    pass


hundred, same = Hundred(lambda x, k: x * k, k=3.0), Same(lambda x, k: x * k, k=3.0)
five, same_each = Five(lambda x: x), SameEach(lambda x: x * x)


def of_callables(x):
    return hundred(x) * same(x) * five(x) * same_each(x)


class Side(enum.IntFlag):
    LEFT = 1
    RIGHT = 2
    BOTH = 3


def of_flags(x):
    both = Side.LEFT | Side.RIGHT
    total = x * (2 if both & Side.LEFT else 3) * (5 if Side.RIGHT in both else 7) * (11 if both == Side.BOTH else 13)
    total = total * (~Side.LEFT) * len(both) * both.value * (3 if isinstance(both, Side) else 5) + x * both
    for side in both:
        total = total + side * x**2
    return total * (Side.LEFT + 2) * (Side.LEFT << 1) * (1 | Side.RIGHT) * (7 if both is Side.BOTH else 1)


def of_flags_and_numbers(x, k):
    found = Side.LEFT | k
    return x * (2 if found & Side.RIGHT else 3) * (5 if found & Side.LEFT else 7) * (Side.BOTH - k)


def test_followed() -> None:
    check(of_callables, lambda: (1.3,), second=False)
    check(of_callables, lambda: (1.3,), second=False, target="cpu")
    check(of_flags, lambda: (1.3,), second=False, target="cpu")
    check(of_flags_and_numbers, lambda: (1.3, 2), second=False, target="cpu")
    assert adjit.value_and_grad(hundred)(3.0) == (300.0, 100.0)
    assert adjit.value_and_grad(same)(3.0) == (9.0, 3.0)


def of_field(x):
    return FIELD_OVER.a * x


def of_replacing(x):
    return REPLACING._replace(a=2.0).a * x


def of_made(x):
    return FieldOver(x, 2.0).a * x


def of_narrow(x):
    return NARROW * x


def of_queue(x):
    return sum(v for v in QUEUE) * x


@pytest.mark.parametrize("function", [of_field, of_replacing, of_made, of_narrow, of_queue])
def test_refused_from_outside(function: Any) -> None:
    with pytest.raises(adjit.Unsupported, match="does not call (it|the method) where Python would"):
        adjit.grad(function)(1.3)
