"""Products that are added to one adjoint and have a factor in common are one product."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit
from adjit.transform import ir
from adjit.transform.strategy import Strategy
from adjit.transform.sweeps.common_factors import with_common_factors
from tests.programs.harness import check
from tests.transform.building import MATRIX, F, Program, evaluate

A = np.sin(np.arange(20.0)).reshape(5, 4)
SQUARE = np.cos(np.arange(16.0)).reshape(4, 4)
APART = Strategy(without=frozenset({"factors"}))


def covariance(data):
    c = data - np.sum(data, axis=0) / data.shape[0]
    return np.sum((c.T @ c / (data.shape[0] - 1.0)) ** 3)


def gram(x):
    return np.sum(np.exp(-0.1 * (x @ x.T)))


def two_of_one(x, v, w):
    return np.sum((x @ v) ** 2 * (x @ w))


def squared(x):
    return np.sum((x @ x) ** 2)


def count(function, *arguments, **options):
    made = adjit.grad(function, wrt=0, **options)
    return len(re.findall(r"workspace\.dot\(", made.source(*arguments, tuned=True)))


@pytest.mark.parametrize(
    ("function", "arguments"), [(covariance, (A,)), (gram, (A,))], ids=lambda v: getattr(v, "__name__", "")
)
def test_one_product_for_two(function, arguments):
    assert count(function, *arguments) == 2
    assert count(function, *arguments, strategy=APART) == 3
    check(function, lambda: tuple(a.copy() for a in arguments), (0,))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (7, 3)])
def test_shapes(shape):
    x = np.sin(np.arange(float(shape[0] * shape[1]))).reshape(shape)
    np.testing.assert_allclose(adjit.grad(gram)(x), adjit.grad(gram, strategy=APART)(x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(squared, (SQUARE,)), (two_of_one, (A, SQUARE, SQUARE.T.copy()))],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_others_stay(function, arguments):
    assert count(function, *arguments) == count(function, *arguments, strategy=APART)
    check(function, lambda: tuple(a.copy() for a in arguments), (0,))


def program(between=lambda p, total: None):
    """`total += a @ b; total += a @ c`, with something `between`."""
    p = Program(a=MATRIX, b=MATRIX, c=MATRIX)
    b = p.emit(ir.Copy(source=p["b"], out=ir.Var("b", MATRIX))).out
    extents = (p.extent(p["a"], 0), p.extent(b, 1))
    total = ir.Var("total", MATRIX)
    p.emit(ir.Alloc(shape=extents, out=total, fill=ir.Const(0.0, F), role=ir.Role("shadow")))
    for right in (b, p["c"]):
        product = p.do(np.dot, p["a"], right, type=MATRIX)
        nest = ir.Builder()
        nest.nest(extents, lambda at, b=nest, y=product: b.store(total, at, b.load(y, at), add=True))
        p.ops.extend(nest.ops)
        if right is b:
            between(p, b, total)
    return p.function(total)


def products(function):
    return sum(isinstance(op, ir.Call) and op.callee is np.dot for op in function.body.inside)


def test_what_it_is():
    function = program(lambda p, b, total: None)
    made = with_common_factors(function)
    assert (products(function), products(made)) == (2, 1)
    given = (A, SQUARE, SQUARE + 1.0)
    np.testing.assert_allclose(evaluate(made, *given)[0], evaluate(function, *given)[0], rtol=1e-14)


@pytest.mark.parametrize(
    "between",
    [
        lambda p, b, total: p.put(b, 0, 0, value=3.0),
        lambda p, b, total: p.put(b, 0, 0, value=p.load(total, (ir.integer(0), ir.integer(0)))),
    ],
    ids=["overwritten", "read"],
)
def test_what_does_not_wait_stays(between):
    function = program(between)
    assert with_common_factors(function) is function
