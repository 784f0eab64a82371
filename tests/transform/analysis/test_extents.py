"""Where extents come from, and that zeros are left out where a loop covers an array by way of them."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest
from numba import types

import adjit
from adjit.runtime.library import check_output, check_separate, same_extent
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Equalities, Iterations
from adjit.transform.analysis.extents import extent_source
from adjit.transform.strategy import CHEAPEST
from tests.transform.building import MATRIX, VECTOR, I, Program

RANDOM = np.random.default_rng(3)
A, B, x = RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((3, 5)), RANDOM.standard_normal(5)


def made(p):
    return p.ops[-1]


def source(p, axis):
    return extent_source(made(p), axis, {out: op for op in p.ops for out in op.results})


def product(p, left, right, type_):
    return p.do(np.dot, left, right, type=type_)


def test_products_take_the_outer_axes():
    p = Program(A=MATRIX, B=MATRIX, v=VECTOR)
    product(p, p["A"], p["B"], MATRIX)
    assert [source(p, k) for k in (0, 1)] == [(p["A"], 0), (p["B"], 1)]
    product(p, p["A"], p["v"], VECTOR)
    assert source(p, 0) == (p["A"], 0)
    product(p, p["v"], p["B"], VECTOR)
    assert source(p, 0) == (p["B"], 1)


def test_a_solution_is_as_long_as_the_right_side():
    p = Program(A=MATRIX, v=VECTOR)
    p.do(np.linalg.solve, p["A"], p["v"], type=VECTOR)
    assert source(p, 0) == (p["v"], 0)
    p.do(np.sort, p["v"], type=VECTOR)
    assert source(p, 0) is None


def test_views():
    p = Program(A=MATRIX)
    view = ir.Var("w", types_of(3))
    p.emit(ir.Slice(base=p["A"], selectors=(ir.Span(), ir.NewAxis(), ir.Span(ir.integer(1))), out=view))
    assert [source(p, k) for k in range(3)] == [(p["A"], 0), ir.integer(1), None]
    row = ir.Var("row", VECTOR)
    p.emit(ir.Slice(base=p["A"], selectors=(ir.At(ir.integer(0)), ir.Span()), out=row))
    assert source(p, 0) == (p["A"], 1)


def test_a_reshaped_array_is_as_long_as_what_is_not_below_zero():
    p = Program(A=MATRIX, n=types.intp)
    extent, half = ir.Var("extent", types.intp), ir.Var("half", types.intp)
    p.emit(ir.Extent(array=p["A"], axis=0, out=extent))
    p.emit(ir.Call(callee=operator.floordiv, args=(extent, ir.integer(2)), outs=(half,)))
    p.emit(ir.Reshape(base=p["A"], shape=(half, p["n"], ir.integer(-1)), out=ir.Var("w", types_of(3))))
    assert [source(p, k) for k in range(3)] == [half, None, None]


def types_of(ndim):
    return type(MATRIX)(MATRIX.dtype, ndim, "A")


def test_what_is_checked_on_entry_is_equal():
    p = Program(A=MATRIX, v=VECTOR, w=VECTOR)
    sizes = [p.extent(p["A"], 1), p.extent(p["v"], 0), p.extent(p["w"], 0)]
    for left, right in ((1, 0), (2, 1)):
        p.emit(ir.Call(callee=same_extent, args=(sizes[left], sizes[right]), outs=(), effect=True))
    iterations = Iterations(p.function())
    assert {iterations.extent(p[name], axis) for name, axis in (("A", 1), ("v", 0), ("w", 0))} == {
        Affine({(p["A"], 1): 1})
    }
    assert iterations.value(sizes[2]) == Affine({(p["A"], 1): 1})


def test_an_output_has_the_extents_of_its_argument():
    p = Program(A=MATRIX, v=VECTOR, A_bar=MATRIX)
    p.emit(ir.Call(callee=check_output, args=(p["A_bar"], p["A"]), outs=(), effect=True))
    p.emit(ir.Call(callee=check_separate, args=(p["A_bar"], p["v"]), outs=(), effect=True))
    sizes = [p.extent(p["A"], 1), p.extent(p["v"], 0)]
    p.emit(ir.Call(callee=same_extent, args=(sizes[1], sizes[0]), outs=(), effect=True))
    iterations = Iterations(p.function())
    for axis in range(2):
        assert iterations.extent(p["A_bar"], axis) == Affine({(p["A"], axis): 1})
    assert iterations.extent(p["v"], 0) == Affine({(p["A"], 1): 1})


def test_what_is_checked_after_something_else_is_not():
    p = Program(A=MATRIX, v=VECTOR)
    sizes = [p.extent(p["A"], 1), p.extent(p["v"], 0)]
    p.put(p["v"], 0, value=1.0)
    p.emit(ir.Call(callee=same_extent, args=tuple(sizes), outs=(), effect=True))
    assert Iterations(p.function()).extent(p["v"], 0) == Affine({(p["v"], 0): 1})


def test_equalities_that_no_symbol_can_follow_are_left_alone():
    equal = Equalities()
    n, m = ir.Var("n", I), ir.Var("m", I)
    equal.equate(Affine({n: 2}), Affine({m: 2}))
    assert equal.settled(Affine({n: 1})) == Affine({n: 1})
    equal.equate(Affine({m: 1}, 1), Affine({n: 3}))
    assert equal.settled(Affine({m: 2, n: 1})) == Affine({n: 7}, -2)


def layer(A, B, x):
    hidden = np.dot(A, B) + x
    total = 0.0
    for i in range(hidden.shape[0]):
        for j in range(hidden.shape[1]):
            total += hidden[i, j] ** 3
    return total


def turned(A, B, x):
    product = np.dot(A, B)
    total = 0.0
    for j in range(product.shape[1] - 1, -1, -1):
        for i in range(product.shape[0]):
            total += product[i, j] ** 3 * x[j]
    return total


def partly(A, B, x):
    product = np.dot(A, B)
    total = 0.0
    for i in range(product.shape[0]):
        for j in range(x.size):
            total += product[i, j] ** 3
    return total


def checked_source(function, *args):
    derived = adjit.grad(function, wrt=0, target="python", strategy=CHEAPEST)
    np.testing.assert_allclose(
        derived(*args), adjit.jacfwd(function, wrt=0, target="python", strategy=CHEAPEST)(*args), rtol=1e-12
    )
    return derived.source(*args, tuned=True)


@pytest.mark.parametrize("function", [layer, turned])
def test_the_shadow_of_a_product_is_not_filled(function):
    source = checked_source(function, A, B, x)
    assert not re.search(r"(hidden|product)_bar = \w+\.zeros", source)


def test_it_is_filled_where_the_loop_is_not_known_to_cover_it():
    rest = r"for j in range\(x\.size, B\.shape\[1\]\):\n +product_bar\[i, j\] = 0\.0"
    assert re.search(rf"product_bar = \w+\.zeros_like|{rest}", checked_source(partly, A, B, x[:2]))
