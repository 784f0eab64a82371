"""Objects that are bags of attributes: SimpleNamespace, `vars`, `__dict__`, copies, dataclasses as what is in them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


@dataclass
class P:
    a: float
    b: float = 2.0

    def f(self):
        return self.a * self.b


class Q:
    def __init__(self, a):
        self.a = a


def namespace(x, n):
    s = SimpleNamespace(a=x[0], b=[x[1]], name="k")
    s.c = s.a * 2
    s.b.append(x[2])
    t = SimpleNamespace(**{"a": s, "z": 1.0})
    t.a.a *= 3.0
    return s.a * s.c + sum(s.b) + t.z + len(s.name)


def in_a_loop(x, n):
    s = SimpleNamespace(t=0.0, y=x[0])
    for i in range(n):
        s.y = s.y + 0.1 * np.sin(s.y) * x[1]
        s.t += 0.1
    return s.y * s.t


def items(x, n):
    out = []
    for v in x:
        out.append(SimpleNamespace(v=v, w=v * v))
    out[1].w += x[0]
    return sum(o.v * o.w for o in out) + out[n % 3].w


def variables(x, n):
    s = SimpleNamespace(a=x[0], b=x[1])
    q = Q(x[2])
    p = P(x[0])
    total = sum(vars(s).values()) + q.__dict__["a"] ** 2 + sum(k * v for k, v in enumerate(p.__dict__.values()))
    for name, value in vars(p).items():
        total += value * len(name)
    return total + sum(getattr(s, k) for k in vars(s))


def variables_set(x, n):
    q = Q(x[2])
    q.__dict__.update(b=x[0], c=2.0)
    vars(q)["a"] = x[1]
    return q.a * q.b * q.c


def by_names(x, n):
    class_args = {"a": x[0], "b": x[1]}
    s = SimpleNamespace()
    s.__dict__.update(class_args)
    for k, v in class_args.items():
        setattr(s, k + "2", v * v)
    return s.a2 * s.b + (s.q if hasattr(s, "q") else getattr(s, "zz", 2.0))


def copies(x, n):
    s = SimpleNamespace(a=x[0], b=[x[1], x[2]])
    t = copy.copy(s)
    u = copy.deepcopy(s)
    t.a = x[1]
    t.b[0] = 5.0
    u.b.append(1.0)
    return s.a * s.b[0] + t.a * t.b[0] + sum(u.b)


def replaced(x, n):
    p = P(x[0])
    r = dataclasses.replace(p, b=x[1])
    d = dataclasses.asdict(r)
    return p.f() + r.f() * d["a"] + sum(dataclasses.astuple(r))


def compared(x, n):
    s, t = SimpleNamespace(a=x[0]), SimpleNamespace(a=x[0])
    return x[1] * (2.0 if s == t else 1.0)


def fields(x, n):
    p = P(x[0], x[1])
    return sum(getattr(p, f.name) for f in dataclasses.fields(p))


def deleted(x, n):
    s = SimpleNamespace(a=x[0], b=x[1])
    del s.a
    if hasattr(s, "b"):
        delattr(s, "b")
    return x[2] * (1 + hasattr(s, "a") + hasattr(s, "b"))


def classes(x, n):
    p, q = P(x[0]), Q(x[1])
    made = type(p)(x[2], b=x[1])
    kinds = sum(1.0 for one in (p, q, made) if type(one) is P)
    return made.f() * kinds + q.__class__(x[0]).a * len(type(q).__name__)


class Model:
    def __init__(self, **given):
        self.rate = 1.0
        self.__dict__.update(given)

    def step(self, y):
        return y + 0.1 * self.rate * y - self.loss * y**2


def given_by_name(x, n):
    model = Model(rate=x[0], loss=x[1])
    y = x[2]
    for _ in range(n):
        y = model.step(y)
    return y


PROGRAMS: list[Callable[..., Any]] = [
    namespace, in_a_loop, items, variables, variables_set, by_names, copies, replaced, compared, fields, deleted,
    classes, given_by_name,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: Callable[..., Any]) -> None:
    check(program, lambda: (np.array([0.7, 1.1, 0.4]), 4), (0,), second=False)


def test_an_argument() -> None:
    def energy(s):
        return s.k * s.x[0] ** 2 + s.x[1]

    bar = adjit.grad(energy, target="python")(SimpleNamespace(k=2.0, x=np.array([1.0, 3.0])))
    assert type(bar) is SimpleNamespace
    assert bar.k == 1.0
    np.testing.assert_allclose(bar.x, [4.0, 1.0])
