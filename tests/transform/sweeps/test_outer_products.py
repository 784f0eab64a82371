"""Products with adjoints that are outer products go through vectors, where the vectors are still what they were."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest

import adjit
from adjit.transform import ir
from adjit.transform.strategy import Strategy
from adjit.transform.sweeps.outer_products import through_vectors
from tests.programs.harness import check
from tests.transform.building import MATRIX, VECTOR, F, Program, evaluate

A = np.sin(np.arange(6.0)).reshape(2, 3)
B = np.cos(np.arange(12.0)).reshape(3, 4)
X = np.linspace(-1.0, 1.0, 4)


def of_the_right(A, B, x):
    return np.sum(((A @ B) @ x) ** 2)


def of_the_left(A, B, x):
    return np.sum(np.tanh(x[:2] @ (A @ B)))


def of_three(A, B, x):
    return np.sum((A @ B @ B.T) @ x[:3])


@pytest.mark.parametrize(("function", "left"), [(of_the_right, 1), (of_the_left, 1), (of_three, 2)])
def test_only_the_products_of_the_primal_are_of_two_matrices(function, left):
    text = adjit.value_and_grad(function, wrt=(0, 1, 2)).source(A, B, X, tuned=True)
    assert len(re.findall(r"workspace\.dot\(", text)) == left
    whole = adjit.value_and_grad(function, wrt=(0, 1, 2), strategy=Strategy(without=frozenset({"outer"})))
    assert len(re.findall(r"workspace\.dot\(", whole.source(A, B, X, tuned=True))) > left
    check(function, lambda: (A.copy(), B.copy(), X.copy()), (0, 1, 2))


def store(b, y, u, v, at, add):
    left, right = b.load(u, at[:1]), b.load(v, at[1:])
    b.store(y, at, b.call(operator.mul, left, right, type=F), add=add)


def program(between=lambda p: None, role=True, is_left=True, other="B", add=False):
    """`y[i, j] = u[i] * v[j]`, what comes `between`, then a product of y and another array."""
    p = Program(u=VECTOR, v=VECTOR, B=MATRIX, x=VECTOR)
    u, v = p.emit(ir.Copy(source=p["u"], out=ir.Var("u", VECTOR))).out, p["v"]
    extents = (p.extent(u, 0), p.extent(v, 0))
    y = ir.Var("y", MATRIX)
    fill = ir.Const(0.0, F) if add else None
    p.emit(ir.Alloc(shape=extents, out=y, fill=fill, role=ir.Role("shadow") if role else None))
    nest = ir.Builder()
    nest.nest(extents, lambda at: store(nest, y, u, v, at, add))
    p.ops.extend(nest.ops)
    between(p, u)
    sides = (y, p[other]) if is_left else (p[other], y)
    return p.function(p.do(np.dot, *sides, type=MATRIX if other == "B" else VECTOR))


def matrices(function):
    return [op for op in ir.walk(function.body) if isinstance(op, ir.Call) and op.callee is np.dot and all(
        a.type.ndim == 2 for a in op.args
    )]  # fmt: skip


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("other", ["B", "x"])
@pytest.mark.parametrize("size", [0, 3])
def test_what_it_is(is_left, other, size):
    function = program(lambda p, u: None, is_left=is_left, other=other)
    made = through_vectors(function)
    assert made is not function
    assert not matrices(made)
    given = (np.arange(1.0, 1.0 + size), np.arange(4.0, 4.0 + size), np.ones((size, size)) * 0.5, np.ones(size))
    np.testing.assert_allclose(evaluate(made, *given)[0], evaluate(function, *given)[0])


def overwritten(p, u):
    p.put(u, 0, value=3.0)


@pytest.mark.parametrize(
    "function",
    [program(overwritten), program(lambda p, u: None, role=False), program(lambda p, u: None, add=True)],
    ids=["overwritten", "of the primal", "added to"],
)
def test_others_stay(function):
    assert through_vectors(function) is function
