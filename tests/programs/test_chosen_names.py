"""A list or an object that was chosen at run time is the one that it is: what is done to it under one name, all see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.programs.harness import check


class A:
    def __init__(self, v):
        self.v = v
        self.n = 0
        self.l = [v]


class B(A):
    def __init__(self, v, w):
        super().__init__(v)
        self.w = w


def changed_under_another_name(x, n):
    a, b = A(x[0]), A(x[1])
    s = a if n > 2 else b
    t = s
    t.v *= 2.0
    return s.v * 3 + a.v + b.v * x[2]


def handed_to_a_function(x, n):
    a, b = A(x[0]), A(x[1])

    def change(o, d):
        o.v = o.v * d
        o.l.append(d)

    for i in range(n):
        change(a if i % 2 else b, x[2])
    return a.v + b.v * 2 + sum(a.l) + sum(b.l) * 3


def of_two_classes_in_a_loop(x, n):
    a, b = A(x[0]), B(x[1], x[2])
    best = a
    for i in range(n):
        if b.v * i > best.v * 2:
            best = b
        a.v += 0.1
        best.n += 1
    return best.v * 2 + best.n + a.n * x[0] + (best.w if isinstance(best, B) else 0.0)


def read_after_a_change(x, n):
    d = {"a": x[0]}
    e = {"a": x[1]}
    h = d if n > 2 else e
    d["a"] = x[2]
    return h["a"] + 2 * e["a"]


def a_list_of_one(x, n):
    q = [A(x[0]), A(x[1])]
    inner = (q[0] if n > 2 else q[1]).l
    inner.append(x[2])
    return sum(q[0].l) * 2 + sum(q[1].l)


def in_a_pair(x, n):
    a, b = A(x[0]), A(x[1])
    pair = (a, b) if n > 2 else (b, a)
    first, second = pair
    first.v += x[2]
    return a.v * 2 + b.v * second.v


def lists_that_change_places(x, n):
    cur, other = [x[0]], [x[1]]
    for i in range(n):
        cur, other = other, cur
        cur.append(x[2] * i)
    return sum(cur) + 2 * sum(other)


def objects_that_change_places(x, n):
    a, b = A(x[0]), A(x[1])
    for i in range(n):
        a, b = b, a
        a.v += x[2]
    return a.v * 2 + b.v


def none_at_first(x, n):
    a = A(x[0])
    s = None
    for i in range(n):
        if i == 1:
            s = a
        a.v += 1.0
    return (s.v if s is not None else 0.0) * x[1]


def functions(x, n):
    f = [lambda y: y * x[0], lambda y: y + x[1]]
    g = f[n % 2]
    k = [g, f[0]][n % 2]
    return g(x[2]) * k(x[2])


def rows(x, n):
    out = []
    keep = []
    for i in range(n):
        row = [x[0] * i]
        out.append(row)
        if i % 2:
            keep.append(row[0])
    last = out[-1] if n > 1 else [x[1]]
    return sum(keep) + last[0] * x[2]


def by_a_key(x, n):
    c = {"k": [x[0]], "m": [x[1], x[2]]}
    name = "k" if n > 2 else "m"
    c[name].append(x[2])
    return sum(c["k"]) * 2 + sum(c["m"])


def a_dictionary_and_its_copy(x, n):
    state = {"x": x[0], "mode": "a"}
    for i in range(n):
        old = state
        state = dict(state)
        state["x"] = state["x"] * 1.1
        if state["x"] > 0.9:
            state["mode"] = "b"
        if old["mode"] == "b":
            state["x"] -= 0.05
    return state["x"] * (2.0 if state["mode"] == "b" else 1.0)


class Moth:
    def __init__(self, v):
        self.v, self.stage = v, "egg"

    def grow(self):
        self.v *= 1.3
        if self.v > 1.2 and self.stage == "egg":
            self.stage = "adult"
        elif self.v > 2.0:
            self.stage = "old"


def stages(x, n):
    moths = [Moth(x[0]), Moth(x[1])]
    best = moths[0]
    for i in range(n):
        moths[i % 2].grow()
        best = max(moths, key=lambda m: m.v)
    return best.v * (3.0 if best.stage == "adult" else 1.0)


def both_grow(x, n):
    a, b = [x[0]], [x[1], x[2]]
    for i in range(n):
        one = a if i % 2 else b
        one.append(one[-1] * 0.5 + 0.7)
    return sum(a) * len(b) + sum(b)


PROGRAMS: list[Callable[..., Any]] = [
    changed_under_another_name, handed_to_a_function, of_two_classes_in_a_loop, read_after_a_change, a_list_of_one,
    in_a_pair, lists_that_change_places, objects_that_change_places, none_at_first, functions, rows, by_a_key,
    a_dictionary_and_its_copy, stages, both_grow,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: Callable[..., Any]) -> None:
    for n in (1, 4):
        check(program, lambda n=n: (np.array([0.7, 1.1, 0.4]), n), (0,), second=False)
