"""The grammar: good programs pass, and each breach is found and named."""

import operator

import pytest
from numba import types

from adjit.errors import InternalError
from adjit.transform import ir
from adjit.transform.ir.verify import verify
from tests.transform.building import MATRIX, VECTOR, F, I, Program


def everything() -> ir.Function:
    """A program with each kind of operation in it."""
    p = Program(a=VECTOR, m=MATRIX, x=F)
    n = p.size(p["a"])
    v = p.copy(p["a"])
    row = p.view(p["m"], 0, (None, None, 2))
    column = p.view(v, (1, None, None), None)
    t = ir.Var("t", types.Array(F, 2, "F"))
    p.emit(ir.Transpose(base=p["m"], axes=(1, 0), out=t))
    flat = ir.Var("flat", VECTOR)
    p.emit(ir.Reshape(base=p["m"], shape=(ir.integer(-1),), out=flat))
    tape = ir.Var("tape", types.List(F))
    p.emit(ir.NewTape(out=tape))
    like = ir.Var("like", VECTOR)
    p.emit(ir.Alloc(shape=(), out=like, fill=ir.Const(0.0, F), like=v))

    def body(i, s):
        e = p.get(v, i)
        p.emit(ir.Push(tape=tape, index=i, value=e))
        p.put(v, i, value=s)
        (s,) = p.branch(p.do(operator.lt, e, 0.0), lambda: (s,), lambda: (p.add(s, e),))
        return s, p.do(operator.gt, s, 10.0)

    (s,) = p.loop((n,), (0.0,), body, stops=True)
    (s,) = p.repeat((s,), lambda s: p.do(operator.gt, s, 1.0), lambda s: (p.mul(s, 0.5),))
    p.emit(ir.Comment(text="the last one"))
    last = ir.Var("last", F)
    p.emit(ir.Pull(tape=tape, index=ir.integer(0), out=last))
    p.emit(ir.Raise(exception=ValueError, args=("no",), condition=p.do(operator.lt, s, 2.0)))
    return p.function(s, last, row, column)


def test_a_program_with_everything_passes():
    verify(everything())


def in_body(*ops: ir.Op, results: tuple[ir.Operand, ...] = (), **params: ir.Type) -> ir.Function:
    p = Program(**params)
    p.ops.extend(ops)
    return p.function(*results)


X, A, K = ir.Var("x", F), ir.Var("a", VECTOR), ir.Var("k", I)
M, T = ir.Var("m", MATRIX), ir.Var("t", types.Array(F, 2, "F"))
ONE, ZERO, TRUE = ir.Const(1.0, F), ir.integer(0), ir.boolean(True)
EMPTY = ir.Region((), (), ())


def define_a(*ops: ir.Op, results: tuple[ir.Operand, ...] = ()) -> ir.Function:
    return in_body(ir.Alloc(shape=(ZERO,), out=A), *ops, results=results)


def in_matrix(*ops: ir.Op) -> ir.Function:
    return in_body(ir.Alloc(shape=(ZERO, ZERO), out=M), *ops)


def a_for(init, arg, handed, out, stops=False):
    body = ir.Region((K, arg), (), handed)
    return ir.For(start=ZERO, stop=ZERO, step=ZERO, inits=(init,), body=body, outs=(out,), stops=stops)


def over(level: ir.Level, *ops: ir.Op, stops: bool = False) -> ir.For:
    body = ir.Region((ir.Var("i", I),), ops, (TRUE,) if stops else ())
    return ir.For(stop=ZERO, body=body, level=level, stops=stops)


BREACHES = {
    "x is read before it is defined": lambda: in_body(results=(X,)),
    "x is read out of its region": lambda: in_body(
        ir.If(
            condition=TRUE,
            then=ir.Region((), (ir.Call(callee=abs, args=(ONE,), outs=(X,)),), ()),
            orelse=EMPTY,
            outs=(),
        ),
        results=(X,),
    ),
    "x is defined twice": lambda: in_body(
        ir.Call(callee=abs, args=(ONE,), outs=(X,)), ir.Call(callee=abs, args=(ONE,), outs=(X,))
    ),
    "the literal 1 is no float64": lambda: in_body(results=(ir.Const(1, F),)),
    "2 indices for 1 axes": lambda: define_a(ir.Load(array=A, index=(ZERO, ZERO), out=X)),
    "the index 1.0 is float64, not an integer": lambda: define_a(ir.Load(array=A, index=(ONE,), out=X)),
    "the elements are float64": lambda: define_a(ir.Store(array=A, index=(ZERO,), value=ZERO)),
    "not an array": lambda: in_body(ir.Load(array=ONE, index=(ZERO,), out=X)),
    "2 selectors for array": lambda: define_a(
        ir.Slice(base=A, selectors=(ir.Span(), ir.Span()), out=ir.Var("b", MATRIX))
    ),
    "the view has 1 axes, its type has 2": lambda: define_a(
        ir.Slice(base=A, selectors=(ir.Span(),), out=ir.Var("b", MATRIX))
    ),
    "axis 1 of array": lambda: define_a(ir.Extent(array=A, axis=1, out=K)),
    "is no order of 1 axes": lambda: define_a(ir.Transpose(base=A, axes=(1,), out=ir.Var("b", VECTOR))),
    "b is array(float64, 2d, F), and said to be array(float64, 2d, C)": lambda: in_matrix(
        ir.Transpose(base=M, axes=(1, 0), out=ir.Var("b", MATRIX))
    ),
    "b is array(float64, 2d, A), and said to be array(float64, 2d, C)": lambda: in_matrix(
        ir.Slice(base=M, selectors=(ir.Span(), ir.Span(ZERO)), out=ir.Var("b", MATRIX))
    ),
    "t is not contiguous, but array(float64, 2d, F)": lambda: in_matrix(
        ir.Transpose(base=M, axes=(1, 0), out=T), ir.Reshape(base=T, shape=(ZERO,), out=A)
    ),
    "the condition 1.0 is float64, not a boolean": lambda: in_body(
        ir.If(condition=ONE, then=EMPTY, orelse=EMPTY, outs=())
    ),
    "other branch and result: 0 against 1": lambda: in_body(
        ir.If(condition=TRUE, then=ir.Region((), (), (ONE,)), orelse=EMPTY, outs=(X,))
    ),
    "initial value and argument: 0 is int64, %c is float64": lambda: in_body(a_for(ZERO, ir.Var("c", F), (ONE,), X)),
    "carried value and result: 0 is int64, %x is float64": lambda: in_body(a_for(ONE, ir.Var("c", F), (ZERO,), X)),
    "what ends the loop 1.0 is float64": lambda: in_body(a_for(ONE, ir.Var("c", F), (ONE, ONE), X, stops=True)),
    "carried value and result: 2 against 1": lambda: in_body(a_for(ONE, ir.Var("c", F), (ONE, ONE), X)),
    "the test 1.0 is float64, not a boolean": lambda: in_body(
        ir.While(inits=(), test=ir.Region((), (), (ONE,)), body=EMPTY, outs=())
    ),
    "the entries are float64": lambda: in_body(
        ir.NewTape(out=(tape := ir.Var("tape", types.List(F)))), ir.Push(tape=tape, index=ZERO, value=ZERO)
    ),
    "an exception has a variable as argument": lambda: in_body(
        ir.Call(callee=abs, args=(ONE,), outs=(X,)), ir.Raise(exception=ValueError, args=(X,))
    ),
    "1 extents for 2 axes": lambda: in_body(ir.Alloc(shape=(ZERO,), out=ir.Var("b", MATRIX))),
    "1 names for 0 parameters": lambda: ir.Function("f", ("x",), (), EMPTY, ()),
    "the parameters of f are not the arguments": lambda: ir.Function("f", ("x",), (X,), EMPTY, ()),
    "blocks in a thread": lambda: in_body(over("blocks", over("threads", over("blocks")))),
    "blocks of more than three axes": lambda: in_body(over("blocks", over("blocks", over("blocks", over("blocks"))))),
    "a loop over blocks that stops": lambda: in_body(over("blocks", stops=True)),
    "the result of f names 0": lambda: ir.Function("f", (), (), EMPTY, 0),
}


@pytest.mark.parametrize("problem", BREACHES)
def test_each_breach_is_named(problem):
    with pytest.raises(InternalError) as caught:
        verify(BREACHES[problem]())
    assert problem in caught.value.what


def test_the_message_shows_operation_and_region():
    function = define_a(ir.Load(array=A, index=(ZERO, ZERO), out=X))
    with pytest.raises(InternalError) as caught:
        verify(function)
    assert "in: %x:float64 = load %a[0, 0]" in caught.value.what
    assert "%a:array(float64, 1d, C) = alloc (0)" in caught.value.why
