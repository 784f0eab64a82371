"""What stands to the right of `and` and `or`, or further on in a chain, changes something only where Python runs it."""

from __future__ import annotations

import pytest

import adjit


class Counter:
    def __init__(self):
        self.n = 0
        self.items = [1.0]

    def bump(self):
        self.n += 1
        return self.n

    def push(self, x):
        self.items.append(x)
        return 2.0


def largest_of(a, x):
    found = []
    for k in range(3):
        if x > 0.1 * k:
            found.append(a * k)
    total = 0.0
    for one in found:
        total += one
    return total


def in_a_conditional_expression(x):
    c = Counter()
    y = 1.0 if x > 0.5 or c.bump() > 0 else 2.0
    return x * c.n + y


def as_a_value(x):
    c = Counter()
    y = x > 0.5 or c.bump()
    return x * c.n + y


def with_and(x):
    c = Counter()
    if x > 0.5 and c.bump() > 0:
        return x * c.n
    return x * (c.n + 5)


def of_a_list(x):
    c = Counter()
    if x > 0.5 and c.push(x) > 0 and x > 3:
        return x
    return x * len(c.items)


def in_a_chain(x):
    c = Counter()
    y = 2.0 if 0.5 < x < c.bump() < c.bump() + 1 else 3.0
    return x * c.n + y


def in_the_test_of_a_loop(x):
    c, y = Counter(), x
    while y < 2.0 and c.push(y) > 0:
        y *= 1.5
    return y + sum(c.items)


def by_a_closure(x):
    count = 0

    def counted(v):
        nonlocal count
        count += 1
        return v

    y = x > 0.5 and counted(x) > 0.6
    return x * count + (1.0 if y else 2.0)


def of_a_dictionary(x):
    known = {"a": 1.0}
    y = x < 0.5 or known.pop("a") > 0.0
    return x * len(known) + (1.0 if y else 2.0)


def of_what_is_made_on_the_way(x):
    y = 0.0
    if x > 0.2:
        y = x > 0.5 or largest_of(x, x)
    return y * x + (largest_of(x, x) > 0.3 or x) * x


def with_not(x):
    c = Counter()
    return x if not (x > 0.5 or c.push(3.0 * x) > 3.0) else sum(c.items) * x


@pytest.mark.parametrize("x", [0.3, 0.7])
@pytest.mark.parametrize(
    "function",
    [
        in_a_conditional_expression, as_a_value, with_and, of_a_list, in_a_chain, in_the_test_of_a_loop, by_a_closure,
        of_a_dictionary, of_what_is_made_on_the_way, with_not,
    ],
    ids=lambda part: getattr(part, "__name__", None),
)  # fmt: skip
def test_value_and_slope(function, x):
    h = 1e-4
    value, slope = adjit.value_and_grad(function, target="python")(x)
    assert value == pytest.approx(function(x), rel=1e-12)
    assert slope == pytest.approx((function(x + h) - function(x - h)) / (2 * h), rel=1e-6, abs=1e-9)


def any_with_a_change(x):
    c = Counter()
    return x * c.n + any(v > 0.5 and c.bump() > 0 for v in (x, 2.0 * x))


def all_with_a_change(x):
    c = Counter()
    return x * len(c.items) + all(c.push(v) > 3.0 for v in (x, 2.0 * x))


def any_of_an_iterator_that_goes_on(x):
    left = iter([x, 2.0 * x, 3.0 * x])
    return any(v > 0.1 for v in left) + sum(left)


def all_of_a_map_that_goes_on(x):
    left = map(lambda v: v * x, [1.0, 2.0, 3.0])
    return all(v > 1.0 for v in left) + sum(left)


@pytest.mark.parametrize(
    "function, message",
    [
        (any_with_a_change, "any of a generator that changes a variable"),
        (all_with_a_change, "all of a generator that changes a variable"),
        (any_of_an_iterator_that_goes_on, "any of a generator that changes a variable"),
        (all_of_a_map_that_goes_on, "used in more than one place"),
    ],
)
def test_what_any_and_all_would_leave_out_is_refused(function, message):
    with pytest.raises(adjit.Unsupported, match=message):
        adjit.grad(function, target="python")(0.7)


def test_any_and_all_of_what_changes_nothing():
    def function(x):
        values = [x, 2.0 * x]
        several = map(lambda v: v * v, values)
        return x * (any(v > 0.5 for v in values) + 2.0 * all(v < 1.0 for v in several))

    assert adjit.value_and_grad(function, target="python")(0.7) == (function(0.7), 1.0)
