"""Comments, headings, docstrings, long lines."""

import ast
import math
import operator

import numpy as np

from adjit.transform import ir
from adjit.transform.emit.emit import emit
from tests.transform.emitting import VECTOR, Builder, F, I, add, body_of, mul, python, u
from tests.transform.interpreter import run


def origin(line: int, text: str, *comments: str) -> ir.Origin:
    return ir.Origin("f.py", "f", line, 4, line, 4 + len(text), text, comments)


def test_comments_of_the_user_stand_above_the_first_statement_of_theirs():
    b = Builder()
    x, w = u("x"), u("w")
    b.origin = origin(2, "phase = w * x", "# phase of the oscillator")
    phase = b.do(mul, w, x, out=u("phase"))
    b.origin = origin(3, "return np.exp(-x) * np.sin(phase)", "# damped")
    decay = b.do(np.exp, b.do(operator.neg, x), out=ir.Var("decay", F))
    wave = b.do(np.sin, phase, out=ir.Var("wave", F))
    result = b.do(mul, decay, b.do(mul, wave, decay))
    assert body_of(b.function({"x": x, "w": w}, (result,))) == (
        "# phase of the oscillator\nphase = w * x\n# damped\ndecay = np.exp(-x)\nreturn decay * (np.sin(phase) * decay)"
    )


def test_array_statements_head_their_loops():
    b = Builder()
    a = u("a", VECTOR)
    statement = origin(3, "v = np.sin(a)", "# waves")
    b.origin = statement
    n = b.extent(a, 0)
    v, i = u("v", VECTOR), ir.Var("i", I)
    b.emit(ir.Alloc(shape=(n,), out=v))
    b.loop(i, (0, n, 1), [], lambda: b.put(v, i, value=b.do(np.sin, b.at(a, i))) or (), order_free=True)
    b.origin = origin(4, "for i in range(n):")
    k = u("k", I)
    b.loop(k, (0, n, 1), [], lambda: b.put(v, k, value=0.0) or (), order_free=True)
    # in the reverse sweep the primal's line stands over its adjoints
    b.emit(ir.Comment(text=ir.REVERSE_SWEEP, origin=None))
    b.origin = statement
    j = ir.Var("i", I)
    b.loop(j, (0, n, 1), [], lambda: b.put(v, j, value=1.0, plus=True) or (), order_free=True)
    assert body_of(b.function({"a": a}, (v,))) == (
        "# waves\n# v = np.sin(a)\nv = np.empty(a.size)\nfor i in range(a.size):\n    v[i] = np.sin(a[i])\n"
        "for k in range(a.size):\n    v[k] = 0.0\n"
        "# ---- reverse sweep\n# L3: v = np.sin(a)\nfor i in range(a.size):\n    v[i] += 1.0\nreturn v"
    )


def test_comments_that_head_nothing_are_left_out():
    b = Builder()
    n = u("n", I)
    b.loop(u("i", I), (0, n, 1), [], lambda: b.emit(ir.Comment(text="nothing")) and ())
    assert body_of(b.function({"n": n}, (n,))) == "for i in range(n):\n    pass\nreturn n"


def test_docstrings_are_quoted():
    b = Builder()
    x = u("x")
    doc = 'Returns "x" with \\alpha and """.\n\nMore "here"'
    text = emit(b.function({"x": x}, (x,), doc=doc)).text
    assert text.startswith("def f(x):\n")
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    assert ast.get_docstring(definition) == doc
    only = emit(b.function({"x": x}, (), None, doc='ends in "quotes"')).text
    assert ast.get_docstring(ast.parse(only).body[0]) == 'ends in "quotes" '.strip() or ast.parse(only)


def test_long_expressions_are_broken_or_cut():
    b = Builder()
    x = u("a_rather_long_name")
    value = x
    for _ in range(30):
        value = b.do(add, value, b.do(np.sin, b.do(mul, x, x)))
    function = b.function({"a_rather_long_name": x}, (value,))
    text = emit(function).text
    assert max(map(len, text.splitlines())) <= 110
    assert "    return (\n        total\n        + np.sin(a_rather_long_name * a_rather_long_name)\n" in text
    assert python(emit(function))(0.3) == run(function, 0.3)


def test_long_calls_and_results_are_broken():
    b = Builder()
    x = u("x_with_a_name_of_some_length")
    calls = [b.do(max, b.do(math.hypot, x, b.do(mul, x, float(k))), b.do(math.hypot, x, x)) for k in range(3)]
    function = b.function({x.name: x}, tuple(calls), ((0, 1), 2))
    text = emit(function).text
    assert max(map(len, text.splitlines())) <= 110
    assert python(emit(function))(0.3) == run(function, 0.3)


def test_comments_of_a_loop_stand_above_it():
    b = Builder()
    n = u("n", I)
    b.origin = origin(3, "for i in range(n):", "# all of them")
    s, out = u("s"), u("s")
    b.loop(u("i", I), (0, n, 1), [(out, 0.0, s)], lambda: (b.do(add, s, 1.0),))
    assert body_of(b.function({"n": n}, (out,))) == (
        "s = 0.0\n# all of them\nfor i in range(n):\n    s += 1.0\nreturn s"
    )
