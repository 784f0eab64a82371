"""Which loops call the vectorisable functions, and that they compute what they did."""

import dataclasses
import math
import re

import numpy as np
import pytest
from numba import types

import adjit
from adjit.api import functions
from adjit.transform import ir, pipeline
from adjit.transform.emit.emit import emit
from adjit.transform.machine.vectors.elementary import vectorise
from adjit.transform.strategy import CHEAPEST, Strategy
from tests.defining import define

X = np.random.default_rng(0).uniform(0.1, 2.0, 700)


def elementwise(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = math.exp(-x[i]) * math.log(x[i])
    return y


def with_sum(x):
    total = 0.0
    for i in range(x.size):
        total += math.tanh(x[i]) * x[i]
    return total


def two_sums(x):
    first = 0.0
    second = 1.0
    for i in range(3, x.size - 2):
        e = math.exp(-x[i])
        first += e
        second = second * 0.5 + first * e
    return first, second


def branches(x):
    total = 0.0
    for i in range(x.size):
        if x[i] > 1.0:
            total += math.log(x[i])
        else:
            total -= x[i] * 2.0
    return total


def chosen(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = math.log(x[i]) if x[i] > 1.0 else math.erfc(x[i])
    return y


def histogram(x):
    counts = np.zeros(8)
    for i in range(x.size):
        counts[int(x[i] * 3.0)] += math.exp(x[i])
    return counts


def prefix(x):
    y = np.empty_like(x)
    s = 0.0
    for i in range(x.size):
        s += math.exp(-x[i])
        y[i] = s * math.log1p(x[i])
    return y


def last(x):
    value = 0.0
    place = 0
    for i in range(x.size):
        value = math.exp(x[i])
        place = i
    return value + place


def rows(x):
    a = x[:600].reshape((20, 30))
    total = 0.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += math.exp(a[i, j]) * a[i, j - 1]
        total += math.log(s)
    return total


def overwritten(x):
    y = x.copy()
    total = 0.0
    for i in range(y.size):
        total += y[i]
        y[i] = math.exp(y[i])
        total *= 0.999
    return total + y[7]


def powers(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 1.7 + x[i] ** 2.0
    return total


def float32_sum(x):
    z = x.astype(np.float32)
    total = np.float32(0.0)
    for i in range(z.size):
        total += np.exp(z[i])
    return total


SPLIT = [with_sum, two_sums, histogram, prefix, last, rows, overwritten, powers, float32_sum]
WHOLE = [elementwise, chosen]


def recurrent(x):
    s = 0.1
    for i in range(x.size):
        s = math.tanh(s * x[i])
    return s


def shifted(x):
    y = np.ones_like(x)
    for i in range(1, x.size):
        y[i] = math.exp(-y[i - 1])
    return y


def with_gamma(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = math.exp(math.lgamma(x[i]))
    return y


def few(x):
    total = 0.0
    for i in range(4):
        total += math.exp(x[i])
    return total


def ends_early(x):
    total = 0.0
    for i in range(x.size):
        total += math.exp(x[i])
        if total > 100.0:
            break
    return total


def raises(x):
    total = 0.0
    for i in range(x.size):
        total += math.exp(x[i])
        assert total < 1e9
    return total


def no_loop(x):
    return math.exp(x[0])


UNTOUCHED = [recurrent, shifted, with_gamma, few, ends_early, raises, no_loop]


def primal(function, **options):
    return functions.value_of(function, functions.make_options(options))


@pytest.mark.parametrize("function", WHOLE + SPLIT + [branches])
def test_values_are_those_of_libm_to_rounding(function):
    for x in (X, X[:0], X[:7], X[:32], X[:33], X[:257]):
        if x.size < 600 and function in (rows, overwritten):
            continue
        found, expected = primal(function)(x), primal(function, vectormath=False)(x)
        np.testing.assert_allclose(found, expected, rtol=1e-6 if function is float32_sum else 1e-13)


@pytest.mark.parametrize("function", WHOLE + SPLIT)
def test_loops_that_vectorise_call_vectorisable_functions(function):
    text = primal(function, strategy=Strategy(without=frozenset({"lanes"}))).source(X, tuned=True)
    assert "vectormath." in text
    code = re.sub(r"#.*|where=.*", "", text)
    assert "math.exp" not in code.replace("vectormath.", "")
    assert ("_start in range" in text) == (function in SPLIT)


@pytest.mark.parametrize("function", UNTOUCHED)
def test_other_loops_keep_what_they_call(function):
    assert primal(function).source(X, tuned=True) == primal(function, vectormath=False).source(X, tuned=True)
    assert "vectormath" not in primal(function).source(X, tuned=True)


@pytest.mark.parametrize("function", WHOLE + SPLIT)
def test_without_the_option_nothing_changes(function):
    assert "vectormath" not in primal(function, vectormath=False).source(X, tuned=True)
    assert "vectormath" not in primal(function, target="python", strategy=CHEAPEST).source(X, tuned=True)


def test_a_sum_keeps_its_order():
    """The recurrence runs as the user wrote it: a sum of values that need no rounding is the same to the last bit."""

    def total(x):
        s = 0.0
        for i in range(x.size):
            s += x[i] * math.exp(0.0 * x[i])
        return s

    assert primal(total)(X) == primal(total, vectormath=False)(X)


@pytest.mark.parametrize("function", [with_sum, rows, powers])
def test_gradients(function):
    found = adjit.value_and_grad(function)(X)
    expected = adjit.value_and_grad(function, vectormath=False)(X)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    assert "vectormath." in adjit.value_and_grad(function).source(X, tuned=True)


def test_derivatives_of_derivatives_are_made_of_the_original_functions():
    gradient = adjit.grad(with_sum)

    def norm(x):
        g = gradient(x)
        return (g * g).sum()

    found = adjit.grad(norm)(X)
    np.testing.assert_allclose(found, adjit.grad(norm, vectormath=False)(X), rtol=1e-11)


def test_trips_that_run_at_the_same_time_have_scratch_arrays_of_their_own():
    made = pipeline.primal(rows, (types.Array(types.float64, 1, "C"),))
    ops = [dataclasses.replace(op, parallel=True) if isinstance(op, ir.For) else op for op in made.body.ops]
    made = dataclasses.replace(made, body=ir.Region(made.body.args, tuple(ops), made.body.yields))
    text = emit(vectorise(made)).text
    assert text.index("in prange(") < text.index("np.empty(32)") < text.index("in range(")


def lagged(x):
    total = 0.0
    for i in range(1, x.size):
        total = total * x[i - 1] + math.exp(x[i])
    return total


def test_nothing_is_left_of_what_the_recurrence_computes_itself():
    text = emit(vectorise(pipeline.primal(lagged, (types.Array(types.float64, 1, "C"),)))).text
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    first, second = "\n".join(lines).split("for k in range(n):")[1:]
    assert "i_start +" not in first
    assert "i_start +" in second


def rows_of(width):
    """Stores to so many elements beside one another."""
    lines = [f"def rows_of_{width}(x, y):", "    for i in range(x.size):", "        e = math.exp(x[i])"]
    lines += [f"        y[i, {d}] = e * {d + 1}.0" for d in range(width)]
    text = "\n".join([*lines, "    return y.sum()", ""])
    return define(text, f"<rows of {width}>", math=math)[f"rows_of_{width}"]


@pytest.mark.parametrize(("width", "is_vector"), [(1, True), (4, True), (5, False), (8, False)])
def test_trips_that_store_long_rows_keep_their_functions(width, is_vector):
    """As with a chunk of directions: the compiler makes vectors of the row, and none of the trips."""
    made = pipeline.primal(rows_of(width), (types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")))
    assert ("vectormath.exp" in emit(vectorise(made)).text) == is_vector


def waits_in_a_branch(x):
    """What a branch of the recurrence calls is an elementary function, too."""
    state, total = 1.0, 0.0
    for i in range(x.size):
        e = math.exp(-x[i])
        if x[i] > 0.5:
            state = state * math.tanh(state + e)
        total += state * e
    return total


def neighbours_in_a_branch(x):
    """The Hessian's loop adds to neighbours in the branch."""
    total = 0.0
    for i in range(x.size):
        total += 0.1 * (x[i] - math.cos(0.7 * i)) ** 2
        if i > 0:
            total += math.log(math.cosh(x[i] - x[i - 1]))
    return total


def test_a_branch_of_the_recurrence_stays_in_it():
    x = X[:40]
    value, gradient = adjit.value_and_grad(waits_in_a_branch)(x)
    plain_value, plain = adjit.value_and_grad(waits_in_a_branch, vectormath=False)(x)
    assert math.isclose(value, waits_in_a_branch(x), rel_tol=1e-13)
    assert np.allclose(gradient, plain, rtol=1e-12, atol=1e-15)
    sparse = adjit.hessian(neighbours_in_a_branch, sparse=True)(x).toarray()
    assert np.allclose(sparse, adjit.hessian(neighbours_in_a_branch)(x), rtol=1e-12, atol=1e-14)
