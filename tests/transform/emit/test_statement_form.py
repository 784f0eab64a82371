"""Loops, branches, copies, breaks and returns as a person writes them."""

import operator
from typing import Any

import numba
import numpy as np

from adjit.transform import ir
from adjit.transform.emit.emit import emit
from tests.transform.emitting import VECTOR, B, Builder, F, I, add, body_of, const, div, lt, mul, python, sub, u
from tests.transform.interpreter import run

# -------------------------------------------------------------------------------------------- loops


def test_carried_values_swap():
    b = Builder()
    a, c, n = u("a"), u("b"), u("n", I)
    left, right = u("a"), u("b")
    out = u("a"), u("b")
    b.loop(u("_", I), (0, n, 1), [(out[0], a, left), (out[1], c, right)], lambda: (right, b.do(mul, left, right)))
    text = body_of(b.function({"a": a, "b": c, "n": n}, out, (0, 1)))
    assert text == "for _ in range(n):\n    a, b = b, a * b\nreturn a, b"


def test_arrays_swap_and_are_not_updated_in_place():
    b = Builder()
    v, w, n = u("v", VECTOR), u("w", VECTOR), u("n", I)
    args, outs = (u("v", VECTOR), u("w", VECTOR)), (u("v", VECTOR), u("w", VECTOR))
    b.loop(u("t", I), (0, n, 1), list(zip(outs, (v, w), args, strict=True)), lambda: (args[1], args[0]))
    last = b.do(add, outs[0], outs[1], out=u("v", VECTOR))
    text = body_of(b.function({"v": v, "w": w, "n": n}, (last,)))
    assert text == "for t in range(n):\n    v, w = w, v\nv = v + w\nreturn v"


def test_updates_are_augmented():
    b = Builder()
    s, x, n = u("s"), u("x"), u("n", I)
    p, q, r = ir.Var("p", F), ir.Var("q", F), ir.Var("r", I)
    outs = ir.Var("p", F), ir.Var("q", F), ir.Var("r", I)
    b.loop(
        u("i", I),
        (0, n, 1),
        [(outs[0], s, p), (outs[1], 1.0, q), (outs[2], 0, r)],
        lambda: (b.do(add, b.do(mul, x, 2.0), p), b.do(div, q, b.do(add, x, 1.0)), b.do(sub, r, 1, type=I)),
    )
    text = body_of(b.function({"s": s, "x": x, "n": n}, outs, (0, 1, 2)))
    assert text == (
        "p = s\nq = 1.0\nr = 0\nfor i in range(n):\n    p += x * 2.0\n    q /= x + 1.0\n    r -= 1\nreturn p, q, r"
    )


def test_ranges():
    b = Builder()
    n = u("n", I)
    for bounds in ((0, n, 1), (1, n, 1), (b.do(sub, n, 1, type=I), -1, -1), (0, n, 2)):
        b.loop(u("i", I), bounds, [], lambda: ())
    b.loop(u("i", I), (0, n, 1), [], lambda: (), parallel=True)
    emitted = emit(b.function({"n": n}, (n,)))
    heads = [line.strip() for line in emitted.text.splitlines() if "for" in line]
    assert heads == [
        "for i in range(n):",
        "for i in range(1, n):",
        "for i in range(n - 1, -1, -1):",
        "for i in range(0, n, 2):",
        "for i in prange(n):",
    ]
    assert emitted.text.count("pass") == 5
    assert emitted.globals["prange"] is numba.prange


def test_break_in_a_branch_at_the_end_leaves_the_rest_unnested():
    b = Builder()
    a, n = u("a", VECTOR), u("n", I)
    i, s, out, stop = u("i", I), u("s"), u("s"), ir.Var("stop", B)
    after = u("s")

    def body() -> tuple[ir.Var, ...]:
        def rest() -> tuple[Any, ...]:
            b.put(a, i, value=0.0)
            return b.do(add, s, b.at(a, 0), out=u("s")), False

        b.branch(b.do(lt, b.at(a, i), 0.0, type=B), (after, stop), lambda: (s, True), rest)
        return after, stop

    b.loop(i, (0, n, 1), [(out, 0.0, s)], body, stops=True)
    assert body_of(b.function({"a": a, "n": n}, (out,))) == (
        "s = 0.0\nfor i in range(n):\n    if a[i] < 0.0:\n        break\n    a[i] = 0.0\n    s += a[0]\nreturn s"
    )


def test_break_on_a_flag():
    b = Builder()
    x, n = u("x"), u("n", I)
    s, out = u("s"), u("s")

    def body() -> tuple[ir.Var, ...]:
        new = b.do(mul, s, x, out=u("s"))
        return new, b.do(lt, 10.0, new, type=B)

    b.loop(u("i", I), (0, n, 1), [(out, 1.0, s)], body, stops=True)
    assert body_of(b.function({"x": x, "n": n}, (out,))) == (
        "s = 1.0\nfor i in range(n):\n    s *= x\n    if 10.0 < s:\n        break\nreturn s"
    )


def repeat(b: Builder, init: Any, test: Any, body: Any, stops: bool = False) -> ir.Var:
    outer, inner, out = u("x"), u("x"), u("x")
    tested = b.block((outer,), lambda: test(outer))
    done = b.block((inner,), lambda: body(inner))
    b.emit(ir.While(inits=(const(init),), test=tested, body=done, outs=(out,), stops=stops))
    return out


def test_while():
    b = Builder()
    a = u("a")
    residual = lambda x: b.do(sub, b.do(mul, x, x), a)
    out = repeat(
        b,
        a,
        lambda x: (b.do(lt, 1e-12, b.do(abs, residual(x)), type=B),),
        lambda x: (b.do(sub, x, b.do(div, residual(x), b.do(mul, 2.0, x)), out=u("x")),),
    )
    function = b.function({"a": a}, (out,))
    assert body_of(function) == ("x = a\nwhile 1e-12 < abs(x * x - a):\n    x -= (x * x - a) / (2.0 * x)\nreturn x")
    assert python(emit(function))(2.0) == run(function, 2.0)


def test_while_with_statements_in_its_test():
    b = Builder()
    a, v = u("a"), u("v", VECTOR)

    def test(x: ir.Var) -> tuple[ir.Var, ...]:
        b.put(v, 0, value=x)
        return (b.do(lt, x, 100.0, type=B),)

    out = repeat(b, a, test, lambda x: (b.do(mul, x, 2.0),))
    assert body_of(b.function({"a": a, "v": v}, (out,))) == (
        "x = a\nwhile True:\n    v[0] = x\n    if not x < 100.0:\n        break\n    x *= 2.0\nreturn x"
    )


def test_while_true_with_break():
    b = Builder()
    a = u("a")

    def body(x: ir.Var) -> tuple[ir.Var, ...]:
        after, stop = u("x"), ir.Var("stop", B)
        b.branch(b.do(lt, 9.0, x, type=B), (after, stop), lambda: (x, True), lambda: (b.do(mul, x, 2.0), False))
        return after, stop

    out = repeat(b, a, lambda x: (True,), body, stops=True)
    text = body_of(b.function({"a": a}, (out,)))
    assert text == "x = a\nwhile True:\n    if 9.0 < x:\n        break\n    x *= 2.0\nreturn x"


# -------------------------------------------------------------------------------------------- branches


def test_elif_chains():
    b = Builder()
    x, a = u("x"), u("a", VECTOR)

    def store(value: float) -> Any:
        return lambda: b.put(a, 0, value=value) or ()

    def third() -> tuple[()]:
        b.branch(b.do(lt, x, 3.0, type=B), (), lambda: (), store(4.0))
        return ()

    def second() -> tuple[()]:
        b.branch(b.do(lt, x, 2.0, type=B), (), store(2.0), third)
        return ()

    b.branch(b.do(lt, x, 1.0, type=B), (), store(1.0), second)
    assert body_of(b.function({"x": x, "a": a}, (), None)) == (
        "if x < 1.0:\n    a[0] = 1.0\nelif x < 2.0:\n    a[0] = 2.0\nelif not x < 3.0:\n    a[0] = 4.0"
    )


def test_early_return():
    b = Builder()
    x = u("x")
    out = ir.Var("out", F)

    def rest() -> tuple[ir.Var, ...]:
        y = b.do(mul, x, x, out=u("y"))
        return (b.do(add, y, y),)

    b.branch(b.do(lt, x, 0.0, type=B), (out,), lambda: (b.do(operator.neg, x),), rest)
    assert body_of(b.function({"x": x}, (out,), (0,))) == "if x < 0.0:\n    return (-x,)\ny = x * x\nreturn (y + y,)"


def test_undefined_variables():
    b = Builder()
    c, x = u("c", B), u("x")
    y, empty = u("y"), u("y")
    place = ir.Origin("f.py", "f", 2, 4, 2, 9, "if c:")

    def undefined() -> tuple[ir.Var, ...]:
        b.emit(ir.Undefined(out=empty))
        return (empty,)

    b.branch(c, (y,), lambda: (b.do(np.sin, x, out=u("y")),), undefined, origin=place)
    assert body_of(b.function({"c": c, "x": x}, (y,))) == "if c:\n    y = np.sin(x)\nreturn y"
    # where the value is copied on under another name, plain Python must find something to copy
    kept = u("z")
    b.loop(u("i", I), (0, 2, 1), [(kept, y, u("z"))], lambda: (b.do(np.cos, x, out=u("z")),))
    text = body_of(b.function({"c": c, "x": x}, (kept,)))
    assert text.startswith("if c:\n    y = np.sin(x)\nelse:\n    y = 0.0\nz = y\n")


def test_raise_and_assert():
    b = Builder()
    x, n = u("x"), u("n", I)
    b.emit(ir.Raise(exception=AssertionError, condition=b.do(lt, x, 1.0, type=B), args=("x is large",)))
    b.emit(ir.Raise(exception=ValueError, condition=b.do(lt, n, 3, type=B), args=("n is large", ir.integer(3))))
    b.emit(ir.Raise(exception=AssertionError, condition=b.do(lt, n, 2, type=B)))
    b.branch(b.do(lt, n, 0, type=B), (), lambda: b.emit(ir.Raise(exception=IndexError)) and (), lambda: ())
    assert body_of(b.function({"x": x, "n": n}, (x,))) == (
        'assert x < 1.0, "x is large"\nif n >= 3:\n    raise ValueError("n is large", 3)\nassert n < 2\n'
        "if n < 0:\n    raise IndexError()\nreturn x"
    )
