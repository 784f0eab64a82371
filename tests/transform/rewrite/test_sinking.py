"""What one branch alone needs goes into it; everything else stays where it is, and the values do not change."""

import math
import operator

import numpy as np

from adjit.transform import ir
from adjit.transform.ir.printing import to_text
from adjit.transform.ir.verify import verify
from adjit.transform.rewrite.sinking import sink
from tests.transform.building import VECTOR, F, Program, evaluate


def sunk(function: ir.Function) -> ir.Function:
    verify(function)
    result = sink(function)
    verify(result)
    return result


def only_then(p, value):
    """`value` where x < 0, else x."""
    (y,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (p.mul(value, 2.0),), lambda: (p["x"],))
    return y


def top(function):
    """The callees that are run whatever the branches do."""
    return [op.callee for op in function.body.ops if isinstance(op, ir.Call)]


def test_example():
    p = Program(x=F)
    f = p.function(only_then(p, p.do(math.acos, p.mul(p["x"], 2.0))))
    assert (
        to_text(sunk(f))
        == """\
func f(x = %x:float64) -> (0,) {
  %lt:bool = call lt(%x, 0.0)
  %phi:float64 = if %lt {
    %mul:float64 = call mul(%x, 2.0)
    %acos:float64 = call math.acos(%mul)
    %mul.1:float64 = call mul(%acos, 2.0)
    yield %mul.1
  } else {
    yield %x
  }
  yield %phi
}
"""
    )
    assert evaluate(sunk(f), 3.0) == (3.0,)


def test_what_is_read_twice_stays():
    p = Program(x=F)
    a, b = p.do(np.exp, p["x"]), p.do(np.sin, p["x"])
    (y,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (p.add(a, b),), lambda: (b,))
    f = sunk(p.function(y))
    assert top(f) == [np.sin, operator.lt]
    assert evaluate(f, 0.5) == (math.sin(0.5),)


def test_what_is_a_result_or_a_condition_stays():
    p = Program(x=F)
    a = p.do(np.exp, p["x"])
    y = only_then(p, a)
    assert sink(f := p.function(y, a)) is f
    q = Program(x=F)
    b = q.do(np.exp, q["x"])
    (y,) = q.branch(q.do(operator.lt, b, 1.0), lambda: (b,), lambda: (q["x"],))
    assert sink(f := q.function(y)) is f


def test_what_the_branch_yields_goes_in():
    p = Program(x=F)
    a = p.do(np.exp, p["x"])
    (y,) = p.branch(p.do(operator.lt, p["x"], 0.0), lambda: (p["x"],), lambda: (a,))
    f = sunk(p.function(y))
    assert top(f) == [operator.lt]
    assert evaluate(f, 0.0) == (1.0,)


def test_loads_and_draws_stay():
    """Memory may change before the branch; a draw happens once, whoever reads it."""
    p = Program(x=F, a=VECTOR)
    loaded = p.get(p["a"], 0)
    p.put(p["a"], 0, value=0.0)
    drawn = ir.Var("drawn", F)
    p.emit(ir.Call(callee=np.random.normal, args=(), outs=(drawn,), effect=True))
    f = p.function(only_then(p, p.mul(loaded, drawn)))
    assert top(sunk(f)) == [np.random.normal, operator.lt]
    assert any(isinstance(op, ir.Load) for op in sunk(f).body.ops)


def test_branches_go_into_branches():
    p = Program(x=F)
    (inner,) = p.branch(
        p.do(operator.lt, p["x"], -1.0), lambda: (p.do(np.exp, p["x"]),), lambda: (p.do(np.sin, p["x"]),)
    )
    f = sunk(p.function(only_then(p, inner)))
    (outer,) = (op for op in f.body.ops if isinstance(op, ir.If))
    assert any(isinstance(op, ir.If) for op in outer.then.ops)
    for x in (-2.0, -0.5, 1.0):
        right = x if x >= 0 else 2.0 * (math.exp(x) if x < -1.0 else math.sin(x))
        assert evaluate(f, x) == (right,)


def test_inside_loops_and_branches():
    p = Program(x=F)

    def body(i, s):
        root = p.do(np.sqrt, s)
        (y,) = p.branch(p.do(operator.lt, s, 0.0), lambda: (p.neg(s),), lambda: (root,))
        return (y,)

    (s,) = p.loop((3,), (p["x"],), body)
    f = sunk(p.function(s))
    assert [type(op) for op in f.body.ops[0].body.ops] == [ir.Call, ir.If]
    assert evaluate(f, -256.0) == (4.0,)


def test_into_a_loop_nothing_goes():
    p = Program(x=F)
    a = p.do(np.exp, p["x"])
    (s,) = p.loop((3,), (0.0,), lambda i, s: (p.add(s, a),))
    assert sink(f := p.function(s)) is f
