"""Counters: what they are made of, their arithmetic, and classes of named tuples that functions make."""

import collections
from collections import Counter, defaultdict, namedtuple

import numpy as np
import pytest

import adjit


def of_counts_and_keywords(x):
    c = Counter("aab", a=3, d=1)
    return (c["a"] + 10 * c["d"]) * x


def of_a_mapping(x):
    c = Counter({"a": x, "b": 2.0 * x})
    c.update({"a": x * x})
    return c["a"] * c["b"]


def of_a_default_dictionary(x):
    return x * Counter(defaultdict(int, a=4))["a"] + Counter(Counter("aab"))["a"]


def with_keys_known_when_it_runs(x):
    found = Counter(int(v > 0.5) for v in x)
    found.update({int(x[0] > 0.5): x[1]})
    found.update(Counter({2: 3}))
    return found[0] * x[0] + found[1] * x[1] + found[2] * x[2]


def updated_twice(x):
    weights = [3, 1, 3, 2]
    c = Counter(weights)
    c.update(Counter(weights))
    c.subtract([1, 5])
    c.subtract({3: 1})
    return x * (c[3] + 10 * c[1] + 100 * c[5] + c[7])


def added(x):
    c = Counter("aab") + Counter("abc")
    c += {"a": 1}
    return (c["a"] + 10 * c["b"]) * x


def taken_away(x):
    c = Counter("aab") - Counter("abc")
    return (c["a"] + 10 * len(c)) * x


def greatest_and_least(x):
    one, other = Counter("aab"), Counter("abbc")
    either, both = one | other, one & other
    one |= Counter("cc")
    return x * (either["b"] + 10 * both["b"] + 100 * len(both) + 1000 * one["c"])


def joined_with_a_dictionary(x):
    c = Counter({"a": 2}) | {"a": 1, "b": -1}
    return x * (c["a"] + 10 * c["b"])


def counted_in_all(x):
    c = Counter({"a": 2, "b": 1})
    return x * c.total() + sum(x * x for _ in c.elements())


def compared(x):
    same = Counter("aab") == Counter(a=2, b=1, c=0)
    return x * (2.0 if same and Counter("a") != Counter("b") else 3.0)


def as_a_dictionary(x):
    return dict(Counter({"a": x}))["a"] * x


def of_weights(x):
    total = Counter()
    for k in range(6):
        total += Counter({k % 2: x * k})
    return total[0] * total[1]


def of_named_tuples(x):
    Point = namedtuple("Point", "x y", defaults=[2.0])
    Pair = collections.namedtuple("Pair", ["left", "right"])
    p = Pair(Point(x), Point(x * x, y=x))
    return p.left.y * p.right.x + p.right._replace(y=3.0).y * p.left.x


@pytest.mark.parametrize(
    "function",
    [f for name, f in list(globals().items()) if getattr(f, "__module__", "") == __name__],
    ids=lambda f: f.__name__,
)
def test_as_in_python(function):
    x = np.array([0.7, 0.2, 0.9]) if function is with_keys_known_when_it_runs else 0.7
    value, slope = adjit.value_and_grad(function, target="python")(x)
    assert np.isclose(value, function(x), rtol=1e-14)
    step = 1e-6 * np.ones_like(x)
    expected = (function(x + step) - function(x - step)) / 2e-6
    assert np.isclose(np.sum(slope), expected, rtol=1e-8)


def test_what_only_counters_have():
    with pytest.raises(adjit.Unsupported, match="a dictionary has no method"):
        adjit.grad(lambda x: x * {int(x > 0): 1}.total(), target="python")(0.3)
