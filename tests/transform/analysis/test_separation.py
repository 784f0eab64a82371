"""Arrays that loops pass round are apart, or are not."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.separation import Separation
from adjit.transform.elaborate.entry import elaborate
from adjit.transform.pipeline import build
from adjit.transform.rewrite.simplify import simplify

VECTOR = types.Array(types.float64, 1, "C")


def swapped(a, n):
    u, v = a.copy(), a.copy()
    for _ in range(n):
        u[0] = v[0] + 1.0
        u, v = v, u
    return u[0] + v[1]


def one_twice(a, n):
    u = a.copy()
    v = u
    for _ in range(n):
        u[0] = v[0] + 1.0
        u, v = v, u
    return u[0] + v[1]


def joined(a, n):
    u, v = a.copy(), a.copy()
    for _ in range(n):
        u[0] = v[0] + 1.0
        v = u
    return u[0] + v[1]


@pytest.mark.parametrize("function, apart", [(swapped, True), (one_twice, False), (joined, False)])
def test_apart(function, apart):
    made = simplify(elaborate(function, (VECTOR, types.intp), build))
    (loop,) = [op for op in made.body.ops if isinstance(op, ir.For)]
    separate = Separation(made)
    names = [out for out in loop.body.args[1:] if ir.is_array(out)]
    outs = [out for out in loop.outs if ir.is_array(out)]
    for group in (names, outs):
        pairs = [(p, q) for p in group for q in group if p is not q]
        assert all(separate.are_apart(p, q) == apart for p, q in pairs)
    assert not any(separate.are_apart(p, p) for p in names)
    assert np.isfinite(function(np.ones(3), 3))
