"""Names: those of the user stay, others keep out of the way."""

import math

import numba
import numpy as np

from adjit.transform import ir
from adjit.transform.emit.emit import emit
from tests.transform.emitting import Builder, F, I, add, body_of, mul, python, u
from tests.transform.interpreter import run


def test_a_user_variable_keeps_its_name_before_modules_and_builtins():
    b = Builder()
    x = u("np")
    magnitude = b.do(abs, x, out=u("abs"))
    wave = b.do(math.sin, b.do(np.tanh, magnitude), out=u("math"))
    largest = b.do(max, wave, b.do(abs, wave))
    function = b.function({"np": x}, (b.do(math.cos, largest),))
    emitted = emit(function)
    assert emitted.text == (
        "def f(np):\n    abs = abs_2(np)\n    math = math_module.sin(numpy.tanh(abs))\n"
        "    return math_module.cos(max(math, abs_2(math)))\n"
    )
    assert emitted.globals["numpy"] is np
    assert emitted.globals["abs_2"] is abs
    assert python(emitted)(-0.4) == run(function, -0.4) == numba.njit(python(emitted))(-0.4)


def test_temporaries_avoid_the_names_of_functions():
    b = Builder()
    x = u("x")
    largest = b.do(max, x, 1.0)
    other = b.do(np.sin, b.do(mul, largest, largest), out=ir.Var("broadcast_extent", F))
    text = body_of(b.function({"x": x}, (b.do(max, other, other),)))
    assert text.splitlines() == [
        "max_2 = max(x, 1.0)",
        "broadcast_extent = np.sin(max_2 * max_2)",
        "return max(broadcast_extent, broadcast_extent)",
    ]


def test_user_variables_with_two_names_are_not_merged():
    b = Builder()
    n = u("n", I)
    i, last, out = u("i", I), u("last", I), u("last", I)
    b.loop(i, (0, n, 1), [(out, 0, last)], lambda: (i,))
    assert body_of(b.function({"n": n}, (out,))) == "last = 0\nfor i in range(n):\n    last = i\nreturn last"


def test_a_loop_variable_that_is_read_after_the_loop():
    b = Builder()
    n = u("n", I)
    i, before, out = u("i", I), u("i", I), u("i", I)
    b.loop(i, (0, n, 1), [(out, 0, before)], lambda: (i,))
    assert body_of(b.function({"n": n}, (out,))) == "i = 0\nfor i in range(n):\n    pass\nreturn i"


def test_versions_that_live_at_once_get_numbers():
    b = Builder()
    x = u("x")
    new = b.do(np.sin, x, out=u("x"))
    text = body_of(b.function({"x": x}, (b.do(mul, b.do(add, new, new), b.do(add, x, x)),)))
    assert text == "x_2 = np.sin(x)\nreturn (x_2 + x_2) * (x + x)"


def test_names_that_are_no_names():
    b = Builder()
    x = u("x")
    one = b.do(np.sin, x, out=ir.Var("lambda", F))
    other = b.do(np.cos, x, out=ir.Var("2 bad", F))
    text = body_of(b.function({"x": x}, (b.do(mul, b.do(add, one, one), b.do(add, other, other)),)))
    assert text == "lambda_ = np.sin(x)\n_2_bad = np.cos(x)\nreturn (lambda_ + lambda_) * (_2_bad + _2_bad)"


def test_tuple_parameters_and_results():
    b = Builder()
    x, y, z, w = u("x"), u("y"), u("z"), u("w")
    function = b.function(
        {"state": (x, (y, z)), "one": (w,), "empty": ()}, (y, b.do(mul, z, w), x), ((0,), (1, None), 2, ())
    )
    emitted = emit(function)
    assert emitted.text == (
        "def f(state, one, empty):\n    x, (y, z) = state\n    (w,) = one\n    return (y,), (z * w, None), x, ()\n"
    )
    args = (1.0, (2.0, 3.0)), (4.0,), ()
    assert python(emitted)(*args) == run(function, *args) == ((2.0,), (12.0, None), 1.0, ())


def test_a_tuple_parameter_may_lend_its_name():
    b = Builder()
    x, y = u("x"), u("y")
    state = b.do(mul, x, y, out=u("state"))
    text = body_of(b.function({"state": (x, y)}, (b.do(add, state, state),)))
    assert text == "x, y = state\nstate = x * y\nreturn state + state"
