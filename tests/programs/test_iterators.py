"""What gives its items once, under a name, in a call, in a list or an object: run through twice it is refused."""

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.transform.frontend.walk import statements
from tests.programs.harness import check


def tot(it):
    return sum(it) + sum(it)


def map_in_a_call(x):
    return tot(map(lambda v: v * v, x))


def generator_in_a_call(x):
    return tot((v * v for v in x))


def in_a_tuple(x):
    its = (map(lambda v: v * v, x), 1.0)
    return sum(its[0]) + sum(its[0])


class K:
    def __init__(self, it):
        self.it = it

    def go(self):
        return sum(self.it)


def in_an_object(x):
    k = K((v * v for v in x))
    return k.go() + k.go()


def reversed_twice(x):
    it = reversed(x)
    first = [v for v in it]
    second = [v for v in it]
    return sum(first) + len(second)


def in_a_dictionary(x):
    d = {"it": (v for v in x)}
    return sum(d["it"]) + sum(d["it"])


def left_and_again(x, it=None):
    it = it or map(lambda v: v, x)
    s = 0.0
    for v in it:
        s += v
        if s > 0.5:
            break
    for v in it:
        s += 10 * v
    return s


def the_rest_of_enumerate(x):
    it = enumerate(x)
    s = 0.0
    for k, v in it:
        if k == 1:
            break
    return s + sum((v for _, v in it))


def largest_and_sum(x):
    it = filter(lambda v: v > 0.35, x)
    m = max(it)
    return m + sum(it)


def chain_twice(x):
    files = itertools.chain(x, x)
    return sum(files) + sum(files)


def in_a_partial(x):
    f = functools.partial(sum, (v * v for v in x))
    return f() + f()


def accumulate_twice(x):
    it = itertools.accumulate(x)
    return sum(it) + sum(it)


def combinations_twice(x):
    it = itertools.combinations(x, 2)
    return sum((a * b for a, b in it)) + sum((a * b for a, b in it))


def starmap_twice(x):
    it = itertools.starmap(lambda a, b: a * b, zip(x, x))
    return sum(it) + sum(it)


def nditer_twice(x):
    it = np.nditer(x)
    return sum(it) + sum(it)


TWICE = (
    map_in_a_call,
    generator_in_a_call,
    in_a_tuple,
    in_an_object,
    reversed_twice,
    in_a_dictionary,
    left_and_again,
    the_rest_of_enumerate,
    largest_and_sum,
    chain_twice,
    in_a_partial,
    accumulate_twice,
    combinations_twice,
    starmap_twice,
    nditer_twice,
)


@pytest.mark.parametrize("function", TWICE, ids=lambda function: function.__name__)
def test_twice(function: Any) -> None:
    with pytest.raises(adjit.AdjitError, match="an iterator of .* that is used in more than one place, or in a loop"):
        adjit.grad(function, target="python")(np.array([0.3, 0.7, 1.1, 0.4]))


def made_anew(x: Any) -> Any:
    make = lambda: (v * v for v in x)
    return sum(make()) + max(make())


def changed_before_it_runs(x: Any) -> Any:
    k = 2.0
    items = (v * k for v in x)
    k = 5.0
    return sum(items)


def what_it_runs_over_is_read_at_once(x: Any) -> Any:
    y = x
    items = (v * v for v in y)
    y = 3.0 * x
    return sum(items) * y[0]


def mapped_over_what_changes(x: Any) -> Any:
    y = x.copy()
    items = map(lambda v: v * v, y)
    y *= 2.0
    return sum(items)


def passed_on(x: Any) -> Any:
    def weighted(items: Any) -> Any:
        return sum((k + 1) * v for k, v in items)

    return weighted(enumerate(x)) + weighted(zip(range(2), x, strict=False))


def returned(x: Any) -> Any:
    def squares(y: Any) -> Any:
        return (v * v for v in y)

    found = squares(x)
    return sum(found)


def kept_by_an_object(x: Any) -> Any:
    return K(v * v for v in x).go()


class Vector:
    def __init__(self, *parts: Any) -> None:
        self.parts = list(parts)

    def __iter__(self) -> Any:
        return iter(self.parts)

    def __add__(self, other: Any) -> Any:
        return Vector(*(a + b for a, b in zip(self, other, strict=True)))

    def __matmul__(self, other: Any) -> Any:
        return sum((k + 1) * v * w for k, (v, w) in enumerate(zip(self, other, strict=True)))


def over_objects(x: Any) -> Any:
    return (Vector(x[0], x[1]) + Vector(x[2], x[3])) @ Vector(x[1], 2.0)


def stars_in_a_list(x: Any) -> Any:
    items = [*range(3), *x, *(v * v for v in x)]
    return sum(k * v for k, v in enumerate(items))


ONCE = (
    over_objects, stars_in_a_list,
    made_anew, changed_before_it_runs, what_it_runs_over_is_read_at_once, mapped_over_what_changes, passed_on, returned,
    kept_by_an_object,
)  # fmt: skip


@pytest.mark.parametrize("function", ONCE, ids=lambda function: function.__name__)
def test_once(function: Any) -> None:
    check(function, lambda: (np.array([0.3, 0.7, 1.1, 0.4]),), (0,), second=False)


def products_of_tuples(x):
    s = 0.0
    for i, j, k in itertools.product((-1, 0, 2), repeat=3):
        for p, q in itertools.product((0, 1), repeat=2):
            y = np.array([(1 - 2 * p) * x[0] + 2 * i * x[1], q * x[1] - j * x[2]])
            s += np.sum(np.sin(y) ** 2) * (k + 0.5)
        if i == 2 and j == 0:
            break
    else:
        s += 100.0
    return s


def in_a_comprehension(x):
    rows = [
        np.array([a * x[0], b * x[1], x[2] ** a])
        for a, b in itertools.combinations((1, 2.5, 3, 4, 5, 6, 7, 8, 9, 10), 2)
    ]
    return sum(np.prod(np.cos(row)) for row in rows) + len(rows)


def keys_of_a_dictionary(x):
    weight = {0: x[0], 1: x[1] ** 2, 2: x[2]}
    return sum(weight[a] * weight[b] * weight[c] * weight[d] for a, b, c, d in itertools.product(range(3), repeat=4))


def names_of_a_dictionary(x):
    # which of its items a trip takes has to be known: this is written out however long it is
    held = dict(zip("abcdef", (x[0], (x[1], x[2]), x[0] * x[2], (x[2], x[2]), x[3], (x[3], x[1])), strict=True))
    return sum(np.sum(np.outer(held[n], held[m])) for n in "abcdef" for m in "ad")


def drawn(x):
    rng, s = np.random.default_rng(3), 0.0
    for a in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        e = rng.normal(size=4)
        for b in (0, 1, 2, 3, 4):
            s += np.sum(np.sin(e * x + b) * np.exp(-x / a)) * x[b % 4]
    return s


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (products_of_tuples, 60),
        (in_a_comprehension, 150),
        (keys_of_a_dictionary, 150),
        (names_of_a_dictionary, 0),
        (drawn, 0),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_many_known_items(function: Any, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long is no longer in the derivative than a loop is, where that can be one."""
    monkeypatch.setattr(statements, "WRITTEN_OUT", 5)
    check(function, lambda: (np.array([0.3, 0.7, 1.1, 0.4]),), (0,), second=False)
    text = adjit.grad(function, boundscheck=False).source(np.zeros(4))
    assert not lines or (text.count("\n") < lines and " in range(" in text), text
