"""Lists and dictionaries that change while a loop, or an iterator, runs through them: as Python has it, or refused."""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.errors import Unsupported

SPEEDS = {"M2": 28.98, "S2": 30.0, "K1": 15.04, "O1": 13.94, "K2": 30.08, "P1": 14.95}


def grows(x):
    queue, seen, after = [0], {0}, {0: [1, 2], 1: [3], 2: [3, 4], 3: [], 4: []}
    total = 0.0
    for node in queue:
        total = total * x + node
        for other in after[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return total


def grows_numbered(x):
    xs, total = [1.0, 2.0, 3.0], 0.0
    for k, one in enumerate(xs, 1):
        total = total * x + k * one
        if k == 1:
            xs.insert(1, 9.0)
        if k > 5:
            break
    return total


def shrinks(x):
    xs = [1.0, x, 3.0, x * x]
    for one in xs:
        xs.remove(one)
    return sum(xs)


def grows_as_it_runs(x):
    xs = []
    for k in range(7):
        xs.append(k * x)
    for one in xs:
        if len(xs) < 12:
            xs.append(one * x)
    return sum(xs)


def grows_by_a_function(x):
    xs = [3.0, x]

    def grow(one):
        xs.append(one * 2)

    for one in xs:
        if len(xs) < 5:
            grow(one)
    return sum(xs)


def grows_in_two_loops(x):
    xs = [1.0, x]
    for a in xs:
        for b in xs:
            if len(xs) < 6:
                xs.append(a * b)
    return sum(xs)


def rows_grow(x):
    rows = [[1.0, 2.0], [x]]
    for row in rows:
        for one in row:
            if len(row) < 4:
                row.append(one * x)
    return sum(sum(row) for row in rows)


def stores_ahead(x):
    xs, total = [1.0, 2.0, 3.0], 0.0
    for one in xs:
        total = total * 10 + one
        xs[2] = 7.0 * x
    return total * x


def stores_ahead_in_many(x):
    xs, total = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.0
    for k, one in enumerate(xs):
        total = total * x + one
        if k < 5:
            xs[k + 1] += one
    return total


def turns_round(x):
    xs, total = [1.0, 2.0, x], 0.0
    for one in xs:
        total = total * 2 + one
        xs.reverse()
    return total * x


def stores_where_it_is(x):
    xs, ys = [1.0, 2.0, 3.0, x], [4.0, 5.0]
    for k, (a, b) in enumerate(zip(xs, ys, strict=False)):
        xs[k] = a * x
        ys[k] += b
    return sum(xs) + sum(ys)


def takes_one_out(x):
    xs = [1.0, 2.0, 3.0, x]
    for one in xs:
        if one == 2.0:
            xs.remove(one)
            break
    return sum(xs) + len(xs)


def may_go_on(x):
    xs, n = [1.0, 2.0, x], 0
    for one in xs:
        n += 1
        if one > 1.5 and len(xs) < 5:
            xs.append(one * x)
            if one < 100.0:
                continue
            break
    return sum(xs) * n


def under_keys(x):
    d, total = {"a": 2.0, "b": 4.0}, 0.0
    for key, one in d.items():
        d["b"] = 9.0 * x
        d[key] = one * 2
        total = total * 10 + one
    for one in d.values():
        d["b"] += 1.0
        total = total * 2 + one
    return total


def under_numbers(x):
    d, total = {1: 2.0, 3: 4.0}, 0.0
    for _, one in d.items():
        d[3] = 9.0 * x
        total = total * 10 + one
    return total


def views(x):
    d = {"a": 1.0, "b": x}
    values, keys, items = d.values(), d.keys(), d.items()
    d["c"], d["a"] = x * x, 5.0
    e = {1: x}
    numbers = e.keys()
    e[5] = 2.0
    return sum(values) + len(keys) + ("c" in keys) + sum(v for _, v in items) * x + len(numbers)


def iterators(x):
    xs = [1.0, x]
    doubled, pairs, numbered, back = (2 * a for a in xs), zip(xs, xs, strict=True), enumerate(xs), reversed(xs)
    scaled, some = map(lambda a: a * x, xs), filter(lambda a: a > 0.0, xs)
    xs[0] = 5.0
    products = itertools.product(xs, repeat=2)
    xs[1] = x * x

    def weighed(given):
        xs[0] += 1.0
        return sum(a * b for a, b in given)

    found = sum(doubled) + weighed(pairs) + sum(k * a for k, a in numbered) + sum(a * 3**k for k, a in enumerate(back))
    return found + sum(scaled) + sum(some) + sum(a * b for a, b in products)


def repeats(x):
    xs = [1.0, x]
    ys = xs
    xs *= 2
    d = {"a": [x]}
    row = d["a"]
    d["a"] *= 3
    return sum(ys) * len(ys) + len(row)


def adds_an_array(x):
    xs = [1.0, 2.0]
    ys = xs
    xs += np.array([3.0, x])
    ys *= 2
    return np.sum(xs * np.array([1.0, 10.0])) + len(ys)


def copied_as_one(x):
    row, a = [1.0], np.zeros(2)
    both = copy.deepcopy({"rows": [row, row], "arrays": [a, a]})
    both["rows"][0].append(x)
    both["arrays"][0][0] = x * x
    return len(row) + sum(both["rows"][1]) + both["arrays"][1][0] + a[0]


def keys_first(x):
    order = []

    def noted(one):
        order.append(one)
        return one

    d = {noted(1): noted(2), noted(3): noted(4)}
    return sum(one * x**k for k, one in enumerate(order)) + d[3]


def _chosen_apart(names, x, nearest):
    chosen = []
    for name in names:
        for other in chosen:
            if abs(SPEEDS[name] - SPEEDS[other]) * nearest < 0.9:
                break
        else:
            chosen.append(name)
    return sum(SPEEDS[name] * x ** (k + 1) for k, name in enumerate(chosen))


def grows_in_the_else_of_what_is_known(x):
    return _chosen_apart(SPEEDS, x, 0.5) + _chosen_apart(("K1", "O1"), x, 0.8)


def grows_in_the_else_of_what_is_not(x):
    """The numbers that stand apart, whose differences are known as it runs."""
    apart = [x]
    for one in (2.0 * x, 2.1 * x, 4.0, 4.1 * x, x * x):
        for other in apart:
            if abs(one - other) < 0.3:
                break
        else:
            apart.append(one)
    return sum(k * v for k, v in enumerate(apart, 1)) * len(apart)


def grows_in_the_else_of_an_inner_loop(x):
    """In the `else` of one loop, and in a trip of another one around it, which sees that."""
    queue, total = [1.0, 2.0], 0.0
    for one in queue:
        total = total * x + one
        for other in queue:
            if other > 4.0:
                break
        else:
            queue.append(2.0 * one)
    return total


def stores_what_is_mapped(x):
    y = np.array([0.5, x, 0.7])
    for one in map(lambda k: y[k] * x, range(3)):
        y[2] = one + x
    return y[2]


def adds_to_what_is_mapped(x):
    total = [0.0]
    for one in map(lambda v: v * total[0] + x, (1.0, 2.0, x)):
        total[0] += one
    return total[0]


def as_it_makes_items(x):
    order = []

    def noted(one):
        order.append(one)
        return one

    for one in map(noted, [1, 2, 3]):
        if one == 2:
            break
    return len(order) * x


@pytest.mark.parametrize(
    "f",
    [
        grows_in_the_else_of_what_is_known, grows_in_the_else_of_what_is_not, grows_in_the_else_of_an_inner_loop,
        grows, grows_numbered, shrinks, grows_as_it_runs, grows_by_a_function, grows_in_two_loops, rows_grow,
        stores_ahead, stores_ahead_in_many, turns_round, stores_where_it_is, takes_one_out, may_go_on, under_keys,
        under_numbers, views, iterators, repeats, adds_an_array, copied_as_one,
        keys_first, as_it_makes_items, stores_what_is_mapped, adds_to_what_is_mapped,
    ],
)  # fmt: skip
def test_as_in_python(f: Any) -> None:
    value, gradient = adjit.value_and_grad(f, target="python")(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-14)
    assert gradient == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-7)


def test_compiled() -> None:
    value, gradient = adjit.value_and_grad(grows)(0.7)
    assert value == pytest.approx(grows(0.7), rel=1e-14)
    assert gradient == pytest.approx((grows(0.7 + 1e-6) - grows(0.7 - 1e-6)) / 2e-6, rel=1e-7)


def backwards(x):
    xs, total = [1.0, 2.0, x], 0.0
    for one in reversed(xs):
        total = total * 2 + one
        xs[0] = 8.0
    return total


def in_a_comprehension(x):
    xs = [1.0, x]
    return sum([one for one in xs if len(xs) > 5 or xs.append(one) is None])


def of_a_dictionary(x):
    d = {"a": x}
    for key in d:
        d[key + "b"] = 1.0
    return d["a"]


def assigned_under_a_map(x):
    total = 0.0
    for one in map(lambda v: v * total + x, (1.0, 2.0, x)):
        total += one
    return total


def takes_a_few(x):
    order = []

    def noted(one):
        order.append(one)
        return one

    few = list(itertools.islice((noted(k) for k in range(9)), 2))
    return (len(order) + len(few)) * x


def the_first_one(x):
    return any((hit := one) > 2.0 for one in (1.0, 3.0, 5.0)) and hit * x


def in_place_by_a_function(x):
    xs = [1.0]
    ys = operator.iadd(xs, [x])
    return ys[1] * len(xs)


def under_the_loop(x):
    it, total = iter([1.0, 2.0, x]), 0.0
    for one in it:
        total = total * 10 + one
        next(it, None)
    return total


def searched(x):
    it = iter([1, 2, 3])
    return x * (2 in it) + (1 in it)


def remembered(x):
    order = []

    @functools.lru_cache(maxsize=None)
    def scaled(n):
        order.append(n)
        return n * x

    return scaled(1) + scaled(1) + len(order)


def rows_of_an_array(x):
    a = np.zeros((2, 3))
    rows = list(a)
    rows[0][0] = x
    return np.sum(a)


def array_of_rows(x):
    a = np.zeros((2, 3))
    rows = [*a]
    a[0, 0] = x
    return np.sum(rows[0])


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (backwards, "changes while code runs over it"),
        (in_a_comprehension, "changes while code runs over it"),
        (of_a_dictionary, "changes its length"),
        (assigned_under_a_map, "`total`, which a generator reads and a loop over the generator assigns"),
        (takes_a_few, "a loop over a generator that changes a variable"),
        (the_first_one, "any of a generator that changes a variable"),
        (in_place_by_a_function, "operator.iadd of a list"),
        (under_the_loop, "next of an iterator inside a loop over it"),
        (searched, "`in` on an iterator"),
        (remembered, "a function with a cache"),
        (rows_of_an_array, "an array that is also an item of a list"),
        (array_of_rows, "an item of this list shares"),
    ],
)
def test_refused(f: Any, what: str) -> None:
    with pytest.raises(Unsupported, match=what):
        adjit.grad(f, target="python")(0.7)
