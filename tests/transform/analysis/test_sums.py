"""Which carried values are only added to."""

from __future__ import annotations

import operator

import pytest

from adjit.transform import ir
from adjit.transform.analysis.sums import is_sum
from tests.transform.building import F


class Body(ir.Builder):
    """The body of a loop that carries `s`; `x` and `c` are there."""

    def __init__(self):
        super().__init__()
        self.s, self.x, self.c = ir.Var("s", F), ir.Var("x", F), ir.Var("c", ir.boolean(True).type)

    def plus(self, left, right=None):
        return self.call(operator.add, left, right or self.x, type=F)

    def chosen(self, then, orelse):
        """An `if` whose sides yield what these give."""
        sides = []
        for side in (then, orelse):
            with self.region() as ops:
                made = side()
            sides.append(ir.Region((), tuple(ops), (made,)))
        out = ir.Var("s", F)
        self.emit(ir.If(condition=self.c, then=sides[0], orelse=sides[1], outs=(out,)))
        return out

    def is_sum(self, yielded):
        return is_sum(self.s, yielded, ir.Region((ir.Var("i", F), self.s), tuple(self.ops), (yielded,)))


def twice_added(b):
    return b.plus(b.call(operator.sub, b.s, b.x, type=F))


def in_a_branch(b):
    return b.chosen(lambda: b.plus(b.s), lambda: b.s)


def in_both_branches(b):
    return b.chosen(lambda: b.plus(b.s), lambda: b.chosen(lambda: b.plus(b.plus(b.s)), lambda: b.s))


def set_anew_in_a_branch(b):
    return b.chosen(lambda: b.x, lambda: b.s)


def scaled(b):
    return b.call(operator.mul, b.s, b.x, type=F)


def taken_from(b):
    return b.call(operator.sub, b.x, b.s, type=F)


def looked_at(b):
    made = b.plus(b.s)
    b.call(operator.mul, b.s, b.x, type=F)
    return made


def partial_sum_looked_at(b):
    made = b.plus(b.s)
    b.call(operator.mul, made, b.x, type=F)
    return made


@pytest.mark.parametrize("made", [lambda b: b.s, lambda b: b.plus(b.s), twice_added, in_a_branch, in_both_branches])
def test_sums(made):
    b = Body()
    assert b.is_sum(made(b))


@pytest.mark.parametrize(
    "made", [set_anew_in_a_branch, scaled, taken_from, looked_at, partial_sum_looked_at, lambda b: b.plus(b.s, b.s)]
)
def test_other_carried_values(made):
    b = Body()
    assert not b.is_sum(made(b))


def test_a_value_that_another_one_takes_is_no_sum():
    s, t = ir.Var("s", F), ir.Var("t", F)
    body = ir.Region((ir.Var("i", F), s, t), (), (s, s))
    assert not is_sum(s, s, body)
    assert is_sum(s, s, ir.Region((ir.Var("i", F), s, t), (), (s, t)))
