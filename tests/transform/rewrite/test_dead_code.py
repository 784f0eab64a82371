"""Dead code goes, what the user asked to happen stays, and the values do not change."""

import operator

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.ir.verify import verify
from adjit.transform.rewrite.dead_code import eliminate_dead
from tests.transform.building import VECTOR, F, Program, count, evaluate


def swept(function: ir.Function) -> ir.Function:
    verify(function)
    result = eliminate_dead(function)
    verify(result)
    return result


def test_a_live_function_stays_the_same_object():
    p = Program(x=F)
    f = p.function(p.mul(p["x"], p["x"]))
    assert eliminate_dead(f) is f


def test_unused_calls_and_stores_go():
    p = Program(x=F)
    w = p.alloc(3)
    p.put(w, 0, value=p.add(p["x"], 1.0))
    f = swept(p.function(p.mul(p["x"], p["x"])))
    assert count(f) == 1


def test_stores_that_are_read_through_a_view_stay():
    p = Program(x=F)
    w = p.alloc(3)
    p.put(w, 1, value=p["x"])
    f = swept(p.function(p.get(p.view(w, (1, None, None)), 0)))
    assert count(f, ir.Store) == 1
    assert evaluate(f, 2.5) == (2.5,)


def test_stores_into_a_returned_array_stay():
    p = Program(x=F)
    w = p.alloc(1)
    p.put(w, 0, value=p["x"])
    assert evaluate(swept(p.function(w)), 2.5)[0][0] == 2.5


def test_stores_into_a_parameter_that_nothing_reads_go():
    p = Program(a=VECTOR, x=F)
    p.put(p["a"], 0, value=p["x"])
    assert count(swept(p.function(p["x"]))) == 0


def test_a_slot_that_only_feeds_itself_goes():
    p = Program(x=F)
    s, _ = p.loop((5,), (0.0, 1.0), lambda i, s, t: (p.add(s, p["x"]), p.mul(t, s)))
    f = swept(p.function(s))
    (loop,) = f.body.ops
    assert len(loop.outs) == 1
    assert evaluate(f, 2.0) == (10.0,)


def test_a_slot_whose_result_is_dead_but_whose_argument_is_used_stays():
    p = Program(x=F)
    s, _ = p.loop((5,), (0.0, 1.0), lambda i, s, t: (p.add(s, t), p.mul(t, 2.0)))
    f = swept(p.function(s))
    assert len(f.body.ops[0].outs) == 2
    assert evaluate(f, 0.0) == (31.0,)


def test_what_a_break_needs_stays():
    p = Program(x=F)
    s, _ = p.loop(
        (9,), (0.0, 1.0), lambda i, s, t: (p.add(s, 1.0), p.mul(t, 2.0), p.do(operator.gt, t, 4.0)), stops=True
    )
    f = swept(p.function(s))
    assert evaluate(f, 0.0) == (4.0,)


def test_while_keeps_what_its_test_needs_and_drops_the_rest():
    p = Program(x=F)
    s, _, _ = p.repeat(
        (0.0, 1.0, 1.0),
        lambda s, t, u: p.do(operator.lt, t, 10.0),
        lambda s, t, u: (p.add(s, 1.0), p.mul(t, 2.0), p.mul(u, u)),
    )
    f = swept(p.function(s))
    assert len(f.body.ops[0].outs) == 2
    assert evaluate(f, 0.0) == (4.0,)


def test_dead_loops_and_branches_go():
    p = Program(x=F)
    p.loop((5,), (0.0,), lambda i, s: (p.add(s, 1.0),))
    p.repeat((1.0,), lambda s: p.do(operator.lt, s, 9.0), lambda s: (p.add(s, 1.0),))
    p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (p.add(p["x"], 1.0),), lambda: (p["x"],))
    assert count(swept(p.function(p["x"]))) == 0


def test_dead_results_of_a_live_branch_go():
    p = Program(x=F)
    a, _ = p.branch(
        p.do(operator.lt, p["x"], 0.0), lambda: (p.neg(p["x"]), p.mul(p["x"], 3.0)), lambda: (p["x"], p["x"])
    )
    f = swept(p.function(a))
    assert len(f.body.ops[-1].outs) == 1
    assert count(f, ir.Call) == 2
    assert evaluate(f, -2.0) == (2.0,)


def test_assertions_and_random_draws_stay():
    p = Program(x=F)
    p.emit(ir.Raise(exception=ValueError, condition=p.do(operator.lt, p["x"], 0.0)))
    p.emit(ir.Call(callee=np.random.normal, args=(), outs=(ir.Var("r", F),), effect=True))
    assert count(swept(p.function(p["x"]))) == 3


def test_comments_stay_with_their_region():
    p = Program(x=F)
    p.emit(ir.Comment(text="stays"))
    p.branch(p.do(operator.lt, p["x"], 0.0), lambda: p.emit(ir.Comment(text="goes")) and ())
    f = swept(p.function(p["x"]))
    assert [op.text for op in f.body.ops] == ["stays"]


def test_a_live_store_keeps_the_loop_and_its_bounds():
    p = Program(a=VECTOR)
    n = p.size(p["a"])
    w = p.alloc(n)
    p.loop((n,), (), lambda i: p.put(w, i, value=p.get(p["a"], i)) and ())
    p.loop((n,), (), lambda i: p.put(p["a"], i, value=0.0) and ())
    f = swept(p.function(w))
    assert (
        count(f, ir.For) == 2
    )  # the second overwrites what the first reads: memory is told apart by class, not by time
    assert evaluate(f, np.arange(3.0))[0].tolist() == [0.0, 1.0, 2.0]


def test_memory_swapped_by_a_loop_is_one_class():
    p = Program(a=VECTOR)
    u, v = p.copy(p["a"]), p.copy(p["a"])

    def body(i, u, v):
        p.put(v, 0, value=p.mul(p.get(u, 0), 2.0))
        return v, u

    u, _ = p.loop((3,), (u, v), body)
    f = swept(p.function(p.get(u, 0)))
    assert evaluate(f, np.array([1.0])) == (8.0,)


def test_pushes_stay_where_the_tape_is_read():
    p = Program(x=F)
    tapes = [ir.Var("tape", types.List(F)) for _ in range(2)]
    for tape in tapes:
        p.emit(ir.NewTape(out=tape))
        p.emit(ir.Push(tape=tape, index=ir.integer(0), value=p["x"]))
    out = ir.Var("out", F)
    p.emit(ir.Pull(tape=tapes[0], index=ir.integer(0), out=out))
    f = swept(p.function(out))
    assert count(f) == 3
    assert evaluate(f, 4.0) == (4.0,)


def test_arrays_on_a_tape_keep_their_stores():
    p = Program(x=F)
    tape, pulled = ir.Var("tape", types.List(VECTOR)), ir.Var("pulled", VECTOR)
    p.emit(ir.NewTape(out=tape))
    w = p.alloc(1)
    p.put(w, 0, value=p["x"])
    p.emit(ir.Push(tape=tape, index=ir.integer(0), value=w))
    p.emit(ir.Pull(tape=tape, index=ir.integer(0), out=pulled))
    f = swept(p.function(p.get(pulled, 0)))
    assert evaluate(f, 4.0) == (4.0,)
