"""Active is what depends on an input and reaches an output; memory is active as a whole."""

import math
import operator

import numpy as np
from numba import types

from adjit import stop_gradient
from adjit.transform import ir
from adjit.transform.derive.activity import Activity, carries, is_constant
from tests.transform.building import VECTOR, F, I, Program


def activity(p: Program, inputs, outputs) -> Activity:
    return Activity(p.function(*outputs), inputs, outputs)


def test_example():
    p = Program(x=F, n=F)
    floor = p.do(np.floor, p["x"])
    y = p.add(p.mul(p["x"], p["n"]), floor)
    found = activity(p, [p["x"]], [y])
    assert found.is_active(p["x"])
    assert found.is_active(y)
    assert not found.is_active(p["n"])
    assert not found.is_active(floor)


def test_what_reaches_no_output_is_varied_alone():
    p = Program(x=F)
    unused = p.do(np.sin, p["x"])
    y = p.mul(p["x"], 2.0)
    found = activity(p, [p["x"]], [y])
    assert found.is_varied(unused)
    assert not found.is_active(unused)


def test_integers_and_booleans_end_it():
    p = Program(x=F)
    whole = p.do(ir.cast, p["x"], type=I)
    back = p.do(ir.cast, whole, type=F)
    below = p.do(operator.lt, p["x"], 0.0)
    (y,) = p.branch(below, lambda: (back,), lambda: (1.0,))
    found = activity(p, [p["x"]], [y])
    assert not any(map(found.is_active, (whole, back, below, y)))
    assert not carries(types.boolean)
    assert carries(types.float32)


def test_what_is_held_fixed():
    p = Program(x=F)
    held = p.do(stop_gradient, p["x"])
    y = p.mul(held, p["x"])
    found = activity(p, [p["x"]], [y])
    assert not found.is_active(held)
    assert found.is_active(y)
    assert is_constant(stop_gradient)
    assert not is_constant(ir.cast)
    assert is_constant(math.floor)
    assert not is_constant(math.sin)


def test_memory():
    p = Program(x=F)
    stored, apart = p.alloc(2), p.alloc(2, fill=1.0)
    view = p.view(stored, (0, 1, None))
    p.put(view, 0, value=p["x"])
    y = p.mul(p.get(stored, 1), p.get(apart, 0))
    found = activity(p, [p["x"]], [y])
    assert found.is_active(stored)
    assert found.is_active(view)
    assert not found.is_active(apart)


def test_memory_that_is_never_read_back():
    p = Program(x=F)
    log = p.alloc(2)
    p.put(log, 0, value=p["x"])
    found = activity(p, [p["x"]], [p.mul(p["x"], 2.0)])
    assert found.is_varied(log)
    assert not found.is_active(log)


def test_loops_carry_it_round():
    """The second value becomes active by the first one of the trip before."""
    p = Program(x=F)
    a, b, c = p.loop((5,), (p["x"], 0.0, 1.0), lambda i, a, b, c: (a, a, p.mul(c, 2.0)))
    found = activity(p, [p["x"]], [b, c])
    loop = p.ops[-1]
    _, a_arg, b_arg, c_arg = loop.body.args
    assert found.is_active(b)
    assert found.is_active(a_arg)
    assert not found.is_active(a)
    assert not found.is_active(c)
    assert not found.is_active(c_arg)
    assert found.is_varied(b_arg)


def test_chains_through_a_loop_take_several_rounds():
    p = Program(x=F)
    *_, d = p.loop((9,), (p["x"], 0.0, 0.0, 0.0), lambda i, a, b, c, d: (a, a, b, c))
    found = activity(p, [p["x"]], [d])
    assert found.is_active(d)
    assert all(found.is_active(arg) for arg in p.ops[-1].body.args[1:4])


def test_while_and_branch():
    p = Program(x=F)
    (s,) = p.repeat((p["x"],), lambda s: p.do(operator.lt, s, 9.0), lambda s: (p.mul(s, s),))
    (y,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (1.0,), lambda: (s,))
    found = activity(p, [p["x"]], [y])
    assert found.is_active(y)
    assert found.is_active(s)
    assert found.is_active(p.ops[0].body.args[0])


def test_tapes():
    p = Program(x=F)
    tape, pulled = ir.Var("tape", types.List(F)), ir.Var("pulled", F)
    p.emit(ir.NewTape(out=tape))
    p.emit(ir.Push(tape=tape, index=ir.integer(0), value=p["x"]))
    p.emit(ir.Pull(tape=tape, index=ir.integer(0), out=pulled))
    found = activity(p, [p["x"]], [pulled])
    assert found.is_active(tape)
    assert found.is_active(pulled)


def test_arrays_that_stand_for_one_another():
    """After a swap either name may be the active memory."""
    p = Program(a=VECTOR, b=VECTOR)
    u, v = p.loop((3,), (p["a"], p["b"]), lambda i, u, v: (v, u))
    found = activity(p, [p["a"]], [p.get(u, 0)])
    assert found.is_active(u)
    assert found.is_active(v)
    assert found.is_active(p["b"])
