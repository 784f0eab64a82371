"""What may be None, where Python takes it as any other value: asked for, compared, kept, said, given by the end."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


class Held:
    def __init__(self, value=None):
        self.value = value

    def put(self, value):
        self.value = value


def doubled(a):
    if a > 1.0:
        return a * 2.0


def asked_what_it_is(x):
    r = held = None
    if x > 1.0:
        r, held = x * 3.0, Held(x)
    y = x * (2.0 if isinstance(r, float) else 3.0)
    if isinstance(r, float):
        y += r * x
    if isinstance(held, Held):
        held = held.value * x
    if hasattr(held, "value") or bool(r):
        y *= 5.0
    return y * r + held if r is not None else y


def compared(x):
    r = doubled(x)
    y = x * (3.0 if r == 5.0 else 2.0) + (x if r != None else 2.0 * x)  # noqa: E711  as people write it
    y = y * (5.0 if r in (None, 7.0) else 3.0) + (x * x if None in (r, 2.0) else x)
    return y * (2.0 if r in [7.0, None] else 5.0) * (3.0 if r == doubled(x + 1.0) else 7.0)


def kept_in_containers(x):
    r = doubled(x)
    held, of_names, items = Held(r), {"r": r, "x": x}, [r, x]
    held.put(r)
    held.value = r
    of_names["again"] = r
    items.append(r)
    items[0] = r
    y = x * sum(1 for one in items if one is None)
    for one in (held.value, of_names["r"], of_names["again"], items[0], items[2], of_names.get("none", r)):
        y = y * x if one is None else y + one * x
    return y + len([v for v in (r, x, None) if v is not None]) * x


def made_by_a_comprehension(x):
    items = [doubled(x + 0.6 * k) for k in range(3)]
    return sum(v for v in items if v is not None) * x


def handed_on(x):
    r = doubled(x)

    def times(y, z=None):
        return y if z is None else y * z

    again = lambda: doubled(x)  # noqa: E731  as people write it
    y = times(x, r) + times(x, z=r) + times(x) + (x if again() is None else again() * x)
    doubled(y)
    z = r if x > 0.0 else None
    return y * (z or 3.0)


def matched(x):
    match doubled(x):
        case None:
            y = 3.0 * x
        case _:
            y = x * x
    r = doubled(x)
    match r:
        case float():
            return y * r
        case None:
            return y


def searched(x):
    best = None
    for k in range(4):
        t = x * (k - 1.6) ** 2
        if best is None or t < best["t"]:
            best = {"t": t * 1.0, "k": k + 0.0}
    return best["t"] + best["k"] * x


def found_in_a_loop(x, limit):
    for k in range(5):
        if x[k] > limit:
            return x[k] * k


def of_each(x):
    first, second = found_in_a_loop(x, 0.5), found_in_a_loop(x, 5.0)
    return (0.0 if first is None else first * first) + (x[0] if second is None else second)


X = np.array([0.1, 0.3, 0.7, 0.2, 0.9])
FUNCTIONS = [
    asked_what_it_is, compared, kept_in_containers, made_by_a_comprehension, handed_on, matched, searched,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("at", [0.45, 1.7])
def test_values_and_derivatives(function, at):
    check(function, lambda: (at,))


def test_a_loop_that_may_find_nothing():
    check(of_each, lambda: (X.copy(),))


@pytest.mark.parametrize("function", [asked_what_it_is, kept_in_containers, matched])
def test_compiled(function):
    for at in (0.45, 1.7):
        check(function, lambda: (at,), second=False, target="cpu")  # noqa: B023  called at once


def said(x):
    r = doubled(x)
    print("r", r)
    print(f"{x:.1f} and {r}")
    return x * x


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_none_is_said(target, capfd):
    assert adjit.grad(said, target=target)(2.0) == 4.0
    assert adjit.grad(said, target=target)(0.5) == 1.0
    assert capfd.readouterr().out == "r 4.0\n2.0 and 4.0\nr None\n0.5 and None\n"


def added(x):
    return doubled(x) + x


def in_an_array(x):
    return np.sum(np.array([doubled(x), x]))


def ordered(x):
    return x if doubled(x) < 5.0 else 2.0 * x


@pytest.mark.parametrize("function", [doubled, added, in_an_array, ordered])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_none_where_python_does_not_take_it(function, target):
    """It raises TypeError as it runs, and a number there is taken."""
    gradient = adjit.grad(function, target=target)
    assert gradient(2.0) == {doubled: 2.0, added: 3.0, in_an_array: 3.0, ordered: 1.0}[function]
    with pytest.raises(TypeError, match="is None"):
        gradient(0.5)
