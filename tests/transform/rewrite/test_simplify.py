"""Simplification: each identity once, that what must not change does not, and that values stay on random programs."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types

from adjit.transform import ir
from adjit.transform.ir.printing import to_text
from adjit.transform.ir.verify import verify
from adjit.transform.rewrite.simplify import simplify
from tests.transform.building import MATRIX, VECTOR, F, I, Program, count, evaluate, operand

F32 = types.float32
B = types.boolean


def simplified(function: ir.Function) -> ir.Function:
    verify(function)
    result = simplify(function)
    verify(result)
    return result


def shown(build, **params) -> str:
    """The body after simplification, as text without its frame."""
    p = Program(**params)
    result = build(p)
    results = result if isinstance(result, tuple) else (result,)
    lines = to_text(simplified(p.function(*results))).splitlines()
    return "; ".join(line.strip() for line in lines[1:-1])


POW, DIV, NOT = operator.pow, operator.truediv, operator.not_

SCALARS = {
    "x * 1": (lambda p, x, y: p.mul(x, 1.0), "yield %x"),
    "1 * x": (lambda p, x, y: p.mul(1.0, x), "yield %x"),
    "x / 1": (lambda p, x, y: p.do(DIV, x, 1.0), "yield %x"),
    "x + 0": (lambda p, x, y: p.add(x, 0.0), "yield %x"),
    "0 + x": (lambda p, x, y: p.add(0.0, x), "yield %x"),
    "x - 0": (lambda p, x, y: p.sub(x, 0.0), "yield %x"),
    "x + -0.0": (lambda p, x, y: p.add(x, -0.0), "yield %x"),
    "0 - x": (lambda p, x, y: p.sub(0.0, x), "%sub:float64 = call neg(%x); yield %sub"),
    "--x": (lambda p, x, y: p.neg(p.neg(x)), "yield %x"),
    "x - -y": (lambda p, x, y: p.sub(x, p.neg(y)), "%sub:float64 = call add(%x, %y); yield %sub"),
    "x + -y": (lambda p, x, y: p.add(x, p.neg(y)), "%add:float64 = call sub(%x, %y); yield %add"),
    "-x + y": (lambda p, x, y: p.add(p.neg(x), y), "%add:float64 = call sub(%y, %x); yield %add"),
    "x + -2": (lambda p, x, y: p.add(x, -2.0), "%add:float64 = call sub(%x, 2.0); yield %add"),
    "-x * -y": (lambda p, x, y: p.mul(p.neg(x), p.neg(y)), "%mul:float64 = call mul(%x, %y); yield %mul"),
    "x * -1": (lambda p, x, y: p.mul(x, -1.0), "%mul:float64 = call neg(%x); yield %mul"),
    "x + -y * x": (
        lambda p, x, y: p.add(x, p.mul(p.neg(y), x)),
        "%mul:float64 = call mul(%y, %x); %add:float64 = call sub(%x, %mul); yield %add",
    ),
    "x - x * -y / 2": (
        lambda p, x, y: p.sub(x, p.do(DIV, p.mul(x, p.neg(y)), 2.0)),
        "%mul:float64 = call mul(%x, %y); %truediv:float64 = call truediv(%mul, 2.0); "
        "%sub:float64 = call add(%x, %truediv); yield %sub",
    ),
    "x ** 1": (lambda p, x, y: p.do(POW, x, 1), "yield %x"),
    "x ** 0": (lambda p, x, y: p.do(POW, x, 0), "yield 1.0"),
    "cast": (lambda p, x, y: p.do(ir.cast, x, type=F), "yield %x"),
    "2 * 3 + 1": (lambda p, x, y: p.add(p.mul(2.0, 3.0), 1.0), "yield 7.0"),
    "1 / 3": (lambda p, x, y: p.do(DIV, 1.0, 3.0), "yield 0.3333333333333333"),
    "int / int": (lambda p, x, y: p.do(DIV, 1, 4, type=F), "yield 0.25"),
    "cast 3": (lambda p, x, y: p.do(ir.cast, 3, type=F), "yield 3.0"),
    "7 // 2": (lambda p, x, y: p.do(operator.floordiv, 7, 2), "yield 3"),
    "1 < 2": (lambda p, x, y: p.do(operator.lt, 1, 2), "yield True"),
    "select(True)": (lambda p, x, y: p.do(ir.select, True, x, y, type=F), "yield %x"),
    "select(c, x, x)": (lambda p, x, y: p.do(ir.select, p.do(operator.lt, x, y), x, x, type=F), "yield %x"),
    "not not": (
        lambda p, x, y: p.do(NOT, p.do(NOT, p.do(operator.lt, x, y))),
        "%lt:bool = call lt(%x, %y); yield %lt",
    ),
    "not ==": (lambda p, x, y: p.do(NOT, p.do(operator.eq, x, y)), "%not_:bool = call ne(%x, %y); yield %not_"),
    "common": (
        lambda p, x, y: (p.mul(x, y), p.mul(y, x)),
        "%mul:float64 = call mul(%x, %y); yield %mul, %mul",
    ),
}


@pytest.mark.parametrize("case", SCALARS)
def test_identity(case):
    build, expected = SCALARS[case]
    assert shown(lambda p: build(p, p["x"], p["y"]), x=F, y=F) == expected


UNCHANGED = {
    "0 * x may be nan": lambda p: p.mul(0.0, p["x"]),
    "x - x may be nan": lambda p: p.sub(p["x"], p["x"]),
    "x / x": lambda p: p.do(DIV, p["x"], p["x"]),
    "not x < y is no x >= y": lambda p: p.do(NOT, p.do(operator.lt, p["x"], p["y"])),
    "x == x": lambda p: p.do(operator.eq, p["x"], p["x"]),
    "1 / 0": lambda p: p.do(DIV, 1.0, 0.0),
    "1 // 0": lambda p: p.do(operator.floordiv, 1, 0),
    "k * 1.0 is no k": lambda p: p.mul(p["k"], 1.0, type=F),
    "h * 1.0 is no h": lambda p: p.mul(p["h"], 1.0, type=F),
    "overflow": lambda p: p.mul(2**62, 2),
    "(x + y) - y rounds": lambda p: p.sub(p.add(p["x"], p["y"]), p["y"]),
    "two statements of the user's": lambda p: (
        p.mul(p["x"], p["y"], name="s", user=True),
        p.mul(p["x"], p["y"], name="t", user=True),
    ),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_unchanged(case):
    p = Program(x=F, y=F, k=I, h=F32)
    result = UNCHANGED[case](p)
    f = p.function(*(result if isinstance(result, tuple) else (result,)))
    assert simplified(f) is f


def test_float32_is_folded_in_float32():
    p = Program()
    third = ir.Const(np.float32(0.1), F32)
    f = simplified(p.function(p.add(third, third)))
    (out,) = f.body.yields
    assert out.type == F32
    assert out.value == np.float32(0.1) + np.float32(0.1)


def test_widening_and_back_goes():
    assert shown(lambda p: p.do(ir.cast, p.do(ir.cast, p["h"], type=F), type=F32), h=F32) == "yield %h"


INTEGERS = {
    "n - 1 + 1": (lambda p, n, i: p.add(p.sub(n, 1), 1), "yield %n"),
    "(n - 1) - (n - 1 - i)": (lambda p, n, i: p.sub(p.sub(n, 1), p.sub(p.sub(n, 1), i)), "yield %i"),
    "n - n": (lambda p, n, i: p.sub(n, n), "yield 0"),
    "n + 2 - 3": (lambda p, n, i: p.sub(p.add(n, 2), 3), "%sub:int64 = call sub(%n, 1); yield %sub"),
    "n * 0": (lambda p, n, i: p.mul(n, 0), "yield 0"),
    "n <= n": (lambda p, n, i: p.do(operator.le, n, n), "yield True"),
    "not n < i": (lambda p, n, i: p.do(NOT, p.do(operator.lt, n, i)), "%not_:bool = call ge(%n, %i); yield %not_"),
}


@pytest.mark.parametrize("case", INTEGERS)
def test_integers(case):
    build, expected = INTEGERS[case]
    assert shown(lambda p: build(p, p["n"], p["i"]), n=I, i=I) == expected


def test_users_own_sizes_stay():
    def build(p):
        m = p.sub(p["n"], 1, name="m", user=True)
        return p.sub(m, 1), m

    assert shown(build, n=I) == "%m:int64 = call sub(%n, 1); %sub:int64 = call sub(%m, 1); yield %sub, %m"


def test_the_users_name_wins():
    def build(p):
        t = p.do(math.sin, p["x"])
        wave = p.do(math.sin, p["x"], name="wave", user=True)
        return p.mul(t, wave)

    assert shown(build, x=F) == "%wave:float64 = call math.sin(%x); %mul:float64 = call mul(%wave, %wave); yield %mul"


def test_branches_on_literals_are_inlined():
    def build(p):
        return p.branch(p.do(operator.lt, 1, 2), lambda: (p.mul(p["x"], 2.0),), lambda: (p["x"],))

    assert shown(build, x=F) == "%mul:float64 = call mul(%x, 2.0); yield %mul"


def test_a_condition_is_known_inside_its_branches():
    p = Program(x=F, c=B)
    inner = lambda: p.branch(p["c"], lambda: (p["x"],), lambda: (p.neg(p["x"]),))
    f = simplified(p.function(*p.branch(p["c"], inner, inner)))
    assert count(f, ir.If) == 1
    assert evaluate(f, 2.0, False) == (-2.0,)


def test_branches_that_yield_the_same_or_the_condition():
    def build(p):
        same, yes, no = p.branch(p["c"], lambda: (p["x"], True, False), lambda: (p["x"], False, True))
        return same, yes, no

    assert shown(build, x=F, c=B) == "%phi:bool = call not_(%c); yield %x, %c, %phi"


def test_loops_of_no_trip_and_of_one():
    p = Program(x=F)
    (a,) = p.loop((3, 3), (p["x"],), lambda i, s: (p.mul(s, s),))
    (b,) = p.loop((3, 4), (p["x"],), lambda i, s: (p.mul(s, p.do(ir.cast, i, type=F)),))
    f = simplified(p.function(a, b))
    assert count(f, ir.For) == 0
    assert evaluate(f, 2.0) == (2.0, 6.0)


def test_slots_that_never_change_go():
    p = Program(x=F, n=I)

    def inner(j, s, k, z):
        return p.add(s, p.mul(k, z)), k, p["x"]

    def body(i, s, k):
        s, k, _ = p.loop((p["n"],), (s, k, p["x"]), inner, counter="j")
        return s, k

    s, k = p.loop((p["n"],), (0.0, p["x"]), body)
    f = simplified(p.function(s, k))
    assert [len(op.outs) for op in ir.walk(f.body) if isinstance(op, ir.For)] == [1, 1]
    assert evaluate(f, 3.0, 2) == (36.0, 3.0)


def test_equal_slots_become_one():
    p = Program(x=F, n=I)

    def body(i, s, t):
        e = p.add(s, p["x"])
        return e, p.add(s, p["x"])

    s, t = p.loop((p["n"],), (0.0, 0.0), body)
    f = simplified(p.function(s, t))
    assert len(f.body.ops[0].outs) == 1
    assert evaluate(f, 3.0, 2) == (6.0, 6.0)


def test_while_loops():
    p = Program(x=F)
    s, k = p.repeat((1.0, p["x"]), lambda s, k: p.do(operator.lt, s, 100.0), lambda s, k: (p.mul(s, p.add(k, 0.0)), k))
    (never,) = p.repeat((p["x"],), lambda s: p.do(operator.lt, 2, 1), lambda s: (p.mul(s, s),))
    f = simplified(p.function(s, k, never))
    assert count(f, ir.While) == 1
    assert len(f.body.ops[0].outs) == 1
    assert evaluate(f, 3.0) == (243.0, 3.0, 3.0)


def test_extents_are_read_at_their_source():
    def build(p):
        v = p.copy(p["m"])
        t = ir.Var("t", MATRIX.copy(layout="F"))
        p.emit(ir.Transpose(base=v, axes=(1, 0), out=t))
        row = p.view(t, p["n"], (None, None, None))
        w = p.alloc(p["n"], 4)
        return p.size(row), p.size(w, 0), p.size(w, 1), p.size(p["m"], 0)

    assert shown(build, m=MATRIX, n=I) == "%n:int64 = extent %m, 0; yield %n, %n.1, 4, %n".replace(
        "%n:", "%n.1:"
    ).replace("yield %n, %n.1, 4, %n", "yield %n.1, %n, 4, %n.1")


def test_part_of_an_axis_keeps_its_extent():
    p = Program(a=VECTOR)
    f = p.function(p.size(p.view(p["a"], (1, None, None))))
    assert simplified(f) is f


def test_views_of_two_types_stay_two():
    p = Program(a=VECTOR)
    views = [p.view(p["a"], (None, None, None), layout=layout) for layout in "CCA"]
    f = p.function(*(p.get(view, 0) for view in views))
    assert to_text(simplified(f)).count("slice") == 2


def test_sizes_are_computed_before_loops():
    p = Program(a=VECTOR)

    def body(i, s):
        last = p.sub(p.size(p["a"]), 1)
        return (p.add(s, p.get(p["a"], p.sub(last, i))),)

    (s,) = p.loop((p.size(p["a"]),), (0.0,), body)
    f = simplified(p.function(s))
    assert [type(op) for op in f.body.ops] == [ir.Extent, ir.Call, ir.For]
    assert evaluate(f, np.array([1.0, 2.0])) == (3.0,)


def test_sizes_leave_all_loops_around():
    p = Program(a=VECTOR)

    def inner(i, s):
        return (p.add(s, p.get(p["a"], p.sub(p.sub(p.size(p["a"]), 1), i))),)

    def outer(j, s):
        return p.loop((p.size(p["a"]),), (s,), inner)

    (s,) = p.loop((p.size(p["a"]),), (0.0,), outer)
    f = simplified(p.function(s))
    assert [type(op) for op in f.body.ops] == [ir.Extent, ir.Call, ir.For]
    assert evaluate(f, np.array([1.0, 2.0])) == (6.0,)


@pytest.mark.parametrize(("divisor", "is_moved"), [(2, True), (0, False), ("n", False)])
def test_quotients_that_cannot_fail_are_computed_before_loops(divisor, is_moved):
    """Otherwise a loop over half an array inside another loop has a number of trips that is not known."""
    p = Program(a=VECTOR, n=I)
    by = p["n"] if divisor == "n" else ir.integer(divisor)

    def body(i, s):
        return (p.add(s, p.call(operator.floordiv, p.size(p["a"]), by, type=I)),)

    (s,) = p.loop((p.size(p["a"]),), (0,), body)
    f = simplified(p.function(s))
    (loop,) = [op for op in f.body.ops if isinstance(op, ir.For)]
    made = [op for op in ir.walk(f.body) if isinstance(op, ir.Call) and op.callee is operator.floordiv]
    assert len(made) == 1
    assert (made[0] in f.body.ops) == is_moved == (made[0] not in loop.body.ops)


def test_what_may_be_undefined_is_not_moved():
    p = Program(a=VECTOR, n=I, c=B)

    def nothing():
        out = ir.Var("w", VECTOR)
        p.emit(ir.Undefined(out=out))
        return (out,)

    (w,) = p.branch(p["c"], lambda: (p.copy(p["a"]),), nothing)
    (s,) = p.loop((p["n"],), (0,), lambda i, s: (p.add(p.mul(s, p.size(p["a"])), p.size(w)),))
    f = simplified(p.function(s))
    assert evaluate(f, np.ones(2), 0, False) == (0,)
    assert evaluate(f, np.ones(2), 2, True) == (6,)
    assert sum(isinstance(op, ir.Extent) for op in f.body.ops) == 1


def test_loads_are_shared_where_nothing_stores():
    p = Program(a=VECTOR, x=F)
    w = p.copy(p["a"])
    e = p.add(p.get(p["a"], 0), p.get(p["a"], 0))
    d = p.get(w, 0)
    p.put(w, 0, value=p["x"])
    f = simplified(p.function(e, d, p.get(w, 0)))
    # the second load of w gives what was just stored there
    assert count(f, ir.Load) == 2
    assert evaluate(f, np.array([1.0]), 5.0) == (2.0, 1.0, 5.0)


def test_random_draws_are_not_shared():
    p = Program()
    draws = []
    for _ in range(2):
        draws.append(ir.Var("r", F))
        p.emit(ir.Call(callee=np.random.normal, args=(), outs=(draws[-1],), effect=True))
    f = p.function(p.add(*draws))
    assert simplified(f) is f


def test_assertions_that_hold_go():
    p = Program(x=F)
    p.emit(ir.Raise(exception=ValueError, condition=ir.boolean(True)))
    assert count(simplified(p.function(p["x"]))) == 0


def test_a_thousand_operations_become_few():
    p = Program(a=VECTOR, x=F, n=I)
    x = p["x"]

    def body(i, s):
        for _ in range(200):
            t = p.mul(p.add(s, 0.0), p.get(p["a"], p.add(i, 1)))
            s = p.add(p.neg(p.mul(p.neg(t), x)), p.do(math.sin, t))
        return (s,)

    f = p.function(*p.loop((p["n"],), (0.0,), body))
    assert count(f) > 1000
    # of a round the product, the sine and what is added up are left
    assert count(simplify(f)) < 4 * 200 + 10


# --------------------------------------------------------------------------------------------------- random programs


@st.composite
def programs(draw):
    p = Program(x=F, y=F, n=I, a=VECTOR)
    w = p.copy(p["a"])

    def block(floats, ints, depth):
        floats, ints = list(floats), list(ints)
        pick = lambda pool: draw(st.sampled_from(pool))
        for _ in range(draw(st.integers(1, 5))):
            kind = draw(st.sampled_from("ffffiigsbhlw" if depth < 3 else "ffffiigs"))
            constants = [operand(c) for c in (0.0, 1.0, -1.0, 2.0)]
            if kind == "f":
                callee = pick([operator.add, operator.sub, operator.mul, operator.neg, operator.truediv])
                args = [pick(floats + constants) for _ in range(1 if callee is operator.neg else 2)]
                if callee is operator.truediv:
                    # the sign of a zero may change, and that of x / 0 with it
                    args[1] = pick(constants[1:])
                floats.append(p.do(callee, *args, type=F))
            elif kind == "i":
                callee = pick([operator.add, operator.sub, operator.mul])
                ints.append(p.do(callee, *(pick(ints + [0, 1, -1]) for _ in range(2)), type=I))
            elif kind == "g":
                floats.append(p.get(pick([w, p["a"]]), draw(st.integers(-2, 1))))
            elif kind == "s":
                p.put(w, draw(st.integers(0, 1)), value=pick(floats + constants), add=draw(st.booleans()))
            elif kind == "b" or kind == "h":
                condition = True if kind == "h" else p.do(operator.lt, pick(floats), pick(floats + constants))
                branch = lambda: tuple(pick(pool) for pool in block(floats, ints, depth + 1))
                f, k = p.branch(condition, branch, branch)
                floats.append(f)
                ints.append(k)
            elif kind == "l":
                carried = lambda i, f, g, k: (
                    lambda pools: (pick(pools[0]), pick([*pools[0], g]), pick([*pools[1], k]))
                )(block([*floats, f, g], [*ints, i, k], depth + 1))
                trips = draw(st.sampled_from([0, 1, 2, p["n"]]))
                f, g, k = p.loop((trips,), (pick(floats), pick(floats), pick(ints)), carried)
                floats += [f, g]
                ints.append(k)
            else:
                limit = pick(floats)

                def turn(f, t):
                    pools = block([*floats, f], [*ints, t], depth + 1)
                    return pick(pools[0]), p.add(t, 1)

                f, t = p.repeat((limit, 0), lambda f, t: p.do(operator.lt, t, 3), turn)
                floats.append(f)
        return floats, ints

    floats, ints = block([p["x"], p["y"]], [p["n"]], 0)
    return p.function(floats[-1], ints[-1], p.get(w, 0), p.get(w, 1))


@settings(max_examples=150, deadline=None)
@given(programs(), st.sampled_from([(0.5, -2.0), (math.nan, 1.0), (math.inf, 3.0)]))
def test_values_stay_on_random_programs(f, at):
    arguments = (*map(np.float64, at), 2, np.array([1.5, -0.5]))
    expected = evaluate(f, *arguments)
    found = evaluate(simplified(f), *arguments)
    for a, b in zip(expected, found, strict=True):
        assert a == b or (math.isnan(a) and math.isnan(b))
