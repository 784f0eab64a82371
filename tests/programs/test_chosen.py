"""What is chosen at run time among objects, functions, tuples and dictionaries: each use is a branch over these."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.programs.harness import check


class Square:
    kind = "square"

    def __init__(self, side):
        self.side = side
        self.hits = 0

    def area(self, scale=1.0):
        return scale * self.side**2

    @property
    def edge(self):
        return 4 * self.side

    def __len__(self):
        return 4

    def __mul__(self, other):
        return self.side * other


class Disc:
    kind = "disc"

    def __init__(self, radius, label="d"):
        self.radius, self.label = radius, label
        self.hits = 0

    def area(self, scale=1.0):
        return scale * math.pi * self.radius**2

    @property
    def edge(self):
        return 2 * math.pi * self.radius

    def __len__(self):
        return 1

    def __mul__(self, other):
        return self.radius + other

    def __call__(self, x):
        return x * self.radius


class Ring(Disc):
    def __init__(self, radius, hole):
        super().__init__(radius)
        self.hole = hole

    def area(self, scale=1.0):
        return super().area(scale) - scale * math.pi * self.hole**2


@dataclass
class Gas:
    rate: float
    name: str = "gas"


class Pair(NamedTuple):
    a: float
    b: float


def methods(x, n):
    shapes = [Square(x[0]), Disc(x[1]), Ring(x[2], 0.5 * x[0]), Square(x[2])]
    total = 0.0
    for i in range(n):
        total += shapes[i % 4].area(2.0) * (i + 1) + shapes[i % 4].edge
    return total


def called_later(x, n):
    shapes = (Square(x[0]), Disc(x[1]))
    total = 0.0
    for i in range(n):
        area = shapes[i % 2].area
        total += area() * area(0.5 + i)
    return total


def attributes_that_one_lacks(x, n):
    shapes = [Square(x[0]), Disc(x[1])]
    total = 0.0
    for i in range(n):
        s = shapes[i % 2]
        if s.kind == "disc":
            total += s.radius * len(s.label)
        else:
            total += s.side**3
    return total


def by_class(x, n):
    shapes = [Square(x[0]), Disc(x[1]), Ring(x[2], 0.1)]
    total = 0.0
    for i in range(n):
        s = shapes[(i * i) % 3]
        if isinstance(s, Ring):
            total += s.hole * s.radius
        elif isinstance(s, Disc):
            total += s.radius**3
        else:
            total -= s.side
    return total


def matched(x, n):
    shapes = [Square(x[0]), Disc(x[1]), (x[0], x[2]), None]
    total = 0.0
    for i in range(n):
        match shapes[i % 4]:
            case Square(side=a):
                total += a**2
            case Disc(radius=r) if r > 0:
                total += 3 * r
            case (a, b):
                total += a * b
            case None:
                total += 1.0
    return total


def changed(x, n):
    shapes = [Square(x[0]), Disc(x[1])]
    for i in range(n):
        s = shapes[i % 2]
        s.hits += i
        if i == 2:
            shapes[0].side = x[2]
    return shapes[0].side * shapes[0].hits + shapes[1].hits * shapes[1].radius


def alike_changed(x, n):
    a, b = Square(x[0]), Square(x[1])
    for i in range(n):
        s = a if x[0] * i < x[1] else b
        s.hits += 1
        s.side *= 1.1
    c = a if n > 3 else b
    c.side += x[2]
    return a.side * a.hits + b.side * b.hits + c.area()


def stays_the_same(x, n):
    a, b = Square(x[0]), Square(x[1])
    s = a if n > 2 else b
    a.side = x[2]
    b.side += 1.0
    return s.side * x[0]


def which_one(x, n):
    shapes = [Square(x[0]), Square(x[1]), Square(x[2])]
    best = min(range(3), key=lambda k: shapes[k].side)
    s = shapes[(best + n) % 3]
    return sum(t.side for t in shapes if t is not s) * s.side


def best_of(x, n):
    best, value = None, -1.0
    for s in (Square(x[0]), Disc(x[1]), Ring(x[2], 0.2)):
        if s.area() > value:
            best, value = s, s.area()
    return best.edge * value + len(best)


def operators(x, n):
    shapes = [Square(x[0]), Disc(x[1])]
    return sum(shapes[i % 2] * (i + x[2]) + len(shapes[i % 2]) for i in range(n))


def tuples(x, n):
    routes = [("a", "d"), ("b", "c"), ("a", "e", "c")]
    cost = {"a": x[0], "b": x[1], "c": x[2], "d": x[0] * x[1], "e": 1.0}
    total = 0.0
    for i in range(n):
        r = routes[i % 3]
        total += sum(cost[l] for l in r) / len(r)
        if "e" in r and r[0] == "a":
            total *= 1.5
        for k, l in enumerate(r):
            total += k * cost[l]
        for l, w in zip(r, x):
            total += w * cost[l]
        total += max(cost[l] for l in reversed(r)) + min(map(cost.get, r))
    return total


def tuples_of_numbers(x, n):
    layers = [(x[0], x[1]), (x[2],), (x[1], x[2], x[0])]
    total = 0.0
    for i in range(n):
        first, *rest = layers[i % 3]
        total += first**2 + 3 * sum(rest) + len(rest)
        total += np.sum(np.array(layers[i % 3])) + layers[i % 3][-1]
    return total


def arrays(x, n):
    weights = [np.outer(x, x), np.outer(x[:2], x), np.outer(x, x[:2])]
    return sum(np.sum(np.sin(weights[i % 3])) * (i + 1) for i in range(n))


def unpacked(x, n):
    pairs = [(x[0], x[1]), Pair(x[2], x[0]), [x[1], x[2]]]
    total = 0.0
    for i in range(n):
        a, b = pairs[i % 3]
        total += a * b * i
        total += math.hypot(*pairs[(i + 1) % 3])
    return total


def dictionaries(x, n):
    modes = [{"f": x[0], "g": x[1]}, {"f": x[2], "damping": 0.5}, {"f": x[1], "g": 1.0}]
    total = 0.0
    for i in range(n):
        m = modes[i % 3]
        total += m["f"] * m.get("damping", 2.0)
        if "g" in m:
            total += m["g"] ** 2
        for name, value in m.items():
            total += len(name) * value
    return total


def stored_into(x, n):
    tables = [{"a": x[0]}, {"a": x[1], "b": 1.0}]
    for i in range(n):
        tables[i % 2]["a"] *= x[2]
        tables[(i + 1) % 2]["a"] = tables[(i + 1) % 2]["a"] + 1.0
    return tables[0]["a"] * tables[1]["a"] + tables[1]["b"]


def rules(x, n):
    table = {"lin": lambda a: a * x[0], "sq": lambda a: a**2 + x[1], "sin": math.sin}
    names = ["sq", "sin", "lin"]
    rule = [math.cos, lambda a: a * x[2], Disc(x[1])]
    total = x[0]
    for i in range(n):
        total = table[names[i % 3]](total) + rule[(i * 2) % 3](total)
    return total


def on_paths(x, n):
    total = 0.0
    for i in range(n):
        if x[0] * i > 1.0:
            s, args = Square(x[0] + i), (x[1],)
        elif i % 2:
            s, args = Disc(x[1]), ()
        else:
            s, args = Gas(x[2]), (x[0], x[2])
        total += len(args) + sum(args)
        total += s.rate if isinstance(s, Gas) else s.area(*args)
    return total


def handed_on(x, n):
    def weight(s, power):
        return s.area() ** power + s.hits

    s = Square(x[0])
    for i in range(n):
        before = s
        s = Disc(x[1] * i) if i % 2 else Square(x[2] + i)
        s.hits = before.hits + 1
    return weight(s, 2) + s.hits * x[0]


def in_objects(x, n):
    class_like = [Gas(x[0], "air"), Gas(x[1], "co2")]
    held = Gas(x[2])
    held.inner = Square(x[0]) if n % 2 else Disc(x[1])
    held.path = (x[0],) if n > 2 else (x[1], x[2])
    g = class_like[n % 2]
    return held.inner.area() * sum(held.path) + (g.rate if g.name == "air" else 2 * g.rate)


def returned(x, n):
    def pick(k):
        if k == 0:
            return Square(x[0])
        if k == 1:
            return Ring(x[1], 0.1)
        return x[0], x[1]

    total = 0.0
    for k in range(n):
        one = pick(k % 2)
        total += one.area()
    return total + pick(n % 2).edge


def early(x, n):
    shapes = [Square(x[0]), Disc(x[1])]

    def first_large():
        for i in range(n):
            for v in ((x[0], x[1]), (x[2],))[i % 2]:
                if v * i > 1.0:
                    return v * i
        return -1.0

    for i in range(n):
        s = shapes[i % 2]
        if s.hits > 1:
            break
        s.hits += 1
    return first_large() + s.area() * shapes[0].hits


def lists(x, n):
    groups = [[x[0], x[1]], [x[2]], []]
    for i in range(n):
        g = groups[i % 3]
        g.append(x[0] * i)
        groups[0 if i % 2 else 2].extend([1.0, x[1]])
    return sum(sum(g) * (k + 1) for k, g in enumerate(groups)) + len(groups[1])


def columns_of(x, n):
    pts = []
    for k in range(n):
        if x[k % 3] > 0.5:
            pts.append((x[k % 3] * k, x[0] + k, k))
    a, b, c = zip(*pts)
    u, v = zip(*((p[0], p[1] * p[0]) for p in pts))
    return np.dot(np.array(a), np.roll(b, 1)) + sum(c) + max(v) * u[0]


class Link:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest


def linked(x, n):
    # each trip goes to a shorter one, of another kind than where it begins
    chain, rows, weight = None, (x[0] * n, (x[1], (x[2], ()))), 1.0
    for k in range(4):
        chain = Link(x[k % 3] * (k + n), chain)
    total = 0.0
    while chain is not None:
        total += weight * chain.value
        weight *= 2.0
        chain = chain.rest
    while rows:
        value, rows = rows
        total = total * value + 1.0
    return total


def linked_in_each_trip(x, n):
    chain, rows = None, []
    for k in range(n):
        chain, rows = Link(x[k % 3] * k, chain), [x[k % 3], rows]
    return chain.value * chain.rest.value + rows[0] * rows[1][0] * rows[1][1][0]


PROGRAMS: list[Callable[..., Any]] = [
    methods, called_later, attributes_that_one_lacks, by_class, matched, changed, alike_changed, stays_the_same,
    which_one, best_of, operators, tuples, tuples_of_numbers, arrays, unpacked, dictionaries, stored_into, rules,
    on_paths, handed_on, in_objects, returned, early, lists, columns_of, linked, linked_in_each_trip,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: Callable[..., Any]) -> None:
    for n in (3, 6):
        check(program, lambda n=n: (np.array([0.7, 1.1, 0.4]), n), (0,), second=False)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled(program: Callable[..., Any]) -> None:
    check(program, lambda: (np.array([0.7, 1.1, 0.4]), 5), (0,), second=False, target="cpu")
