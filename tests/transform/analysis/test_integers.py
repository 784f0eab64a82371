"""Integers that are never negative: what is known of them, and of nothing else."""

from __future__ import annotations

import operator

import pytest

from adjit.transform import ir
from adjit.transform.analysis.integers import Naturals
from tests.transform.building import VECTOR, I, Program


def known(make):
    """Whether what `make` computes, of an extent and an integer of which nothing is known, is a natural number."""
    p = Program(a=VECTOR, k=I)
    made = make(p, p.size(p["a"]), p["k"])
    return made in Naturals(p.function(made))


def do(callee, *args):
    return lambda p, n, k: p.do(callee, *({"n": n, "k": k}.get(a, a) for a in args), type=I)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (do(operator.add, "n", 3), True),
        (do(operator.mul, "n", "n"), True),
        (do(operator.floordiv, "n", 64), True),
        (do(min, "n", 16), True),
        (do(max, "k", 0), True),
        (lambda p, n, k: n, True),
        (lambda p, n, k: k, False),
        (do(operator.sub, "n", 1), False),
        (do(operator.add, "n", "k"), False),
        (do(operator.mul, "k", "k"), False),
        (do(operator.floordiv, "n", "k"), False),
        (do(min, "n", "k"), False),
        (do(max, "k", -1), False),
    ],
)
def test_what_is_known(make, expected):
    assert known(make) is expected


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, "n", 1), True),
        ((2, "k", 3), True),
        (("n", "k", 1), True),
        (("k", "n", 1), False),
        ((-1, "n", 1), False),
        (("k", -1, -1), True),
        (("k", "n", -1), True),
        (("n", -2, -1), False),
        (("n", "k", -1), False),
        (("n", 0, "k"), False),
    ],
)
def test_counters(bounds, expected):
    p = Program(a=VECTOR, k=I)
    names = {"n": p.size(p["a"]), "k": p["k"]}
    p.loop(tuple(names.get(b, b) for b in bounds), (), lambda i: ())
    function = p.function()
    (loop,) = (op for op in ir.walk(function.body) if isinstance(op, ir.For))
    naturals = Naturals(function)
    assert naturals.counts(loop) is expected
    assert (loop.body.args[0] in naturals) is expected
