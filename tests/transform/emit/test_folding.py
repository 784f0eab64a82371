"""What is printed within the expression that reads it, and what must not be."""

import operator

import numpy as np

from adjit.runtime.library import broadcast_extent
from adjit.transform import ir
from tests.transform.emitting import INTS, MATRIX, VECTOR, Builder, F, I, add, body_of, div, mul, sub, u


def test_loads_do_not_move_past_stores_to_the_same_memory():
    b = Builder()
    a, w = u("a", VECTOR), u("w", VECTOR)
    before = b.at(a, 0)
    other = b.at(w, 0)
    b.put(a, 0, value=2.0)
    text = body_of(b.function({"a": a, "w": w}, (b.do(add, before, other),)))
    # the arrays are arguments, which do not overlap
    assert text == "a_item = a[0]\na[0] = 2.0\nreturn a_item + w[0]"


def test_loads_move_into_the_store_that_reads_them():
    b = Builder()
    a, i = u("a", VECTOR), u("i", I)
    b.put(a, i, value=b.do(mul, b.at(a, i), b.at(a, b.do(add, i, 1, type=I))))
    b.put(a, i, value=b.do(operator.neg, b.at(a, 0)), plus=True)
    assert body_of(b.function({"a": a, "i": i}, (), None)) == "a[i] *= a[i + 1]\na[i] -= a[0]"


def test_effects_stay_in_their_order():
    b = Builder()
    one = b.do(np.random.normal, effect=True)
    two = b.do(np.random.normal, effect=True)
    text = body_of(b.function({}, (b.do(sub, two, one),)))
    assert text == "normal = np.random.normal()\nnormal_2 = np.random.normal()\nreturn normal_2 - normal"


def test_values_that_are_read_twice_have_a_name():
    b = Builder()
    x = u("x")
    twice = b.do(mul, x, x)
    assert body_of(b.function({"x": x}, (b.do(add, twice, twice),))) == "product = x * x\nreturn product + product"
    b = Builder()
    once = b.do(mul, x, x)
    assert body_of(b.function({"x": x}, (once,), (0, 0))) == "product = x * x\nreturn product, product"


def test_old_values_are_not_read_after_their_name_is_taken():
    b = Builder()
    x = u("x")
    old = b.do(np.sin, x)
    new = b.do(mul, x, 2.0, out=u("x"))
    assert body_of(b.function({"x": x}, (b.do(add, old, new),))) == "sin = np.sin(x)\nx *= 2.0\nreturn sin + x"


def test_extents_stand_where_they_are_read():
    b = Builder()
    a, m = u("a", VECTOR), u("m", MATRIX)
    n, rows = b.extent(a, 0), b.extent(m, 0)
    out, total, i = ir.Var("s", F), ir.Var("s", F), u("i", I)
    b.loop(i, (0, n, 1), [(out, 0.0, total)], lambda: (b.do(add, total, b.at(a, i)),))
    scaled = b.do(div, out, b.do(ir.cast, b.do(mul, n, rows, type=I)))
    assert body_of(b.function({"a": a, "m": m}, (scaled,))) == (
        "s = 0.0\nfor i in range(a.size):\n    s += a[i]\nreturn s / float(a.size * m.shape[0])"
    )


def test_integer_steps_stand_where_they_are_read():
    b = Builder()
    a, n = u("a", VECTOR), u("n", I)
    i = u("i", I)
    last = b.do(sub, b.extent(a, 0), 1, type=I)

    def body() -> tuple[()]:
        beside = b.do(add, i, 1, type=I)
        b.put(a, beside, value=b.do(mul, b.at(a, beside), 2.0))
        b.put(a, last, value=0.0)
        return ()

    b.loop(i, (0, last, 1), [], body)
    assert body_of(b.function({"a": a, "n": n}, (n,))) == (
        "for i in range(a.size - 1):\n    a[i + 1] *= 2.0\n    a[a.size - 1] = 0.0\nreturn n"
    )


def test_results_that_nobody_reads_have_no_name():
    b = Builder()
    n = u("n", I)
    b.do(broadcast_extent, n, n, type=I)
    b.do(np.random.normal, effect=True)
    assert body_of(b.function({"n": n}, (n,))) == "broadcast_extent(n, n)\nnp.random.normal()\nreturn n"


def test_old_elements_are_read_before_they_are_stepped():
    b = Builder()
    c, x = u("c", INTS), u("x", VECTOR)
    after = b.do(add, b.at(c, 0), 1, type=I)
    b.put(c, 0, value=after)
    first = b.at(x, after)
    b.put(c, 0, value=7)
    text = body_of(b.function({"c": c, "x": x}, (b.do(mul, first, b.do(ir.cast, after)),)))
    assert text == "index = c[0] + 1\nc[0] = index\nc[0] = 7\nreturn x[index] * float(index)"


def test_old_elements_do_not_move_into_loops():
    b = Builder()
    c, x, s, out = u("c", INTS), u("x", VECTOR), u("s"), u("s")
    beside = b.do(sub, b.at(c, 0), 1, type=I)

    def body() -> tuple[ir.Var, ...]:
        b.put(c, 0, value=3)
        return (b.do(add, s, b.at(x, beside)),)

    b.loop(u("i", I), (0, 3, 1), [(out, 0.0, s)], body)
    assert body_of(b.function({"c": c, "x": x}, (out,))) == (
        "index = c[0] - 1\ns = 0.0\nfor i in range(3):\n    c[0] = 3\n    s += x[index]\nreturn s"
    )
