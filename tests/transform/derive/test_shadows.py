"""Shadows go the way of their arrays through loops, branches and tapes; others are left to the reverse sweep."""

import operator

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.derive.activity import Activity
from adjit.transform.derive.shadows import Shadows, is_array_tape, is_scalar_tape
from adjit.transform.ir.printing import to_text
from adjit.transform.ir.verify import verify
from tests.transform.building import VECTOR, F, Program, evaluate


def shadowed(p: Program, inputs, *results) -> Shadows:
    function = p.function(*results)
    made = Shadows(function, Activity(function, inputs, results), "_bar")
    verify(made.forward)
    return made


def test_example():
    p = Program(u=VECTOR, v=VECTOR)
    u, _ = p.loop((3,), (p["u"], p["v"]), lambda i, u, v: (v, u))
    made = shadowed(p, [p["u"]], p.get(u, 0))
    assert (
        to_text(made.forward)
        == """\
func f(u = %u:array(float64, 1d, C), v = %v:array(float64, 1d, C)) -> (0,) {
  %u_bar:array(float64, 1d, C) = alloc like %u fill 0.0
  %v_bar:array(float64, 1d, C) = alloc like %v fill 0.0
  %out:array(float64, 1d, C), %out.1:array(float64, 1d, C), %out_bar:array(float64, 1d, C), \
%out_bar.1:array(float64, 1d, C) = for %i:int64 in (0, 3, 1) carrying (%c:array(float64, 1d, C), \
%c.1:array(float64, 1d, C), %c_bar:array(float64, 1d, C), %c_bar.1:array(float64, 1d, C)) = (%u, %v, %u_bar, %v_bar) {
    yield %c.1, %c, %c_bar.1, %c_bar
  }
  %out_item:float64 = load %out[0]
  yield %out_item
}
"""
    )
    assert set(made.of) >= {p["u"], p["v"], u}


def test_values_do_not_change():
    def program():
        p = Program(a=VECTOR, x=F)

        def body(i, u, v):
            p.put(v, 0, value=p.mul(p.get(u, 0), p["x"]))
            return v, u, p.do(operator.gt, p.get(v, 0), 100.0)

        u, v = p.loop((9,), (p.copy(p["a"]), p.copy(p["a"])), body, stops=True)
        (w,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (u,), lambda: (p.copy(v),))
        return p, p.get(w, 0)

    p, result = program()
    made = shadowed(p, [p["a"], p["x"]], result)
    for x in (-3.0, 2.0, 5.0):
        a = np.array([1.5, 2.0])
        assert evaluate(made.forward, a, x) == evaluate(p.function(result), a, x)


def test_arrays_with_one_name_have_none_here():
    p = Program(a=VECTOR)
    v = p.copy(p["a"])
    made = shadowed(p, [p["a"]], p.get(p.view(v, (1, None, None)), 0))
    assert made.of == {}
    assert [type(op) for op in made.forward.body.ops] == [ir.Copy, ir.Slice, ir.Load]


def test_inactive_arrays_have_none():
    p = Program(a=VECTOR, b=VECTOR, x=F)
    u, _ = p.loop((3,), (p["a"], p["b"]), lambda i, u, v: (v, u))
    made = shadowed(p, [p["x"]], p.mul(p.get(u, 0), p["x"]))
    assert made.of == {}


def test_views_that_are_joined_have_shadows_of_their_base():
    p = Program(a=VECTOR, x=F)
    w = p.copy(p["a"])
    left, right = p.view(w, (0, 1, None)), p.view(w, (1, 2, None))
    (v,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (left,), lambda: (right,))
    made = shadowed(p, [p["a"]], p.get(v, 0))
    assert {w, left, right, v} <= set(made.of)
    slices = [op for op in made.forward.body.ops if isinstance(op, ir.Slice)]
    assert [op.base for op in slices] == [w, made.of[w], w, made.of[w]]


def test_a_tape_of_arrays_has_a_tape_of_shadows():
    p = Program(a=VECTOR)
    tape, pulled = ir.Var("tape", types.List(VECTOR)), ir.Var("pulled", VECTOR)
    p.emit(ir.NewTape(out=tape))
    p.emit(ir.Push(tape=tape, index=ir.integer(0), value=p.copy(p["a"])))
    p.emit(ir.Pull(tape=tape, index=ir.integer(0), out=pulled))
    made = shadowed(p, [p["a"]], p.get(pulled, 1))
    assert made.of[tape].type == tape.type
    assert made.of[pulled] is not pulled
    assert is_array_tape(tape)
    assert not is_scalar_tape(tape)
    assert evaluate(made.forward, np.array([1.0, 2.0])) == (2.0,)


def test_a_tape_of_numbers_has_none():
    p = Program(x=F)
    tape, pulled = ir.Var("tape", types.List(F)), ir.Var("pulled", F)
    p.emit(ir.NewTape(out=tape))
    p.emit(ir.Push(tape=tape, index=ir.integer(0), value=p["x"]))
    p.emit(ir.Pull(tape=tape, index=ir.integer(0), out=pulled))
    made = shadowed(p, [p["x"]], pulled)
    assert made.of == {}
    assert is_scalar_tape(tape)


def test_a_global_array_beside_an_active_one():
    table = np.array([4.0, 5.0])
    p = Program(a=VECTOR, x=F)
    (w,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (p["a"],), lambda: (ir.Const(table, VECTOR),))
    made = shadowed(p, [p["a"]], p.get(w, 1))
    assert w in made.of
    assert evaluate(made.forward, np.array([1.0, 2.0]), 1.0) == (5.0,)
    assert evaluate(made.forward, np.array([1.0, 2.0]), -1.0) == (2.0,)
