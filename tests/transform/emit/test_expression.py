"""The text of expressions: parentheses, literals, casts, conditions, callees, memory."""

import math
import operator
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

from adjit.runtime.library import broadcast_extent
from adjit.transform import ir
from adjit.transform.emit.emit import emit
from tests.transform.emitting import (
    F32,
    MATRIX,
    VECTOR,
    B,
    Builder,
    F,
    I,
    add,
    body_of,
    div,
    expression,
    lt,
    mul,
    python,
    sub,
    u,
)
from tests.transform.interpreter import run

# -------------------------------------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda b, x, y: b.do(mul, b.do(add, x, y), y), "(x + y) * y"),
        (lambda b, x, y: b.do(add, b.do(mul, x, y), y), "x * y + y"),
        (lambda b, x, y: b.do(sub, x, b.do(sub, y, x)), "x - (y - x)"),
        (lambda b, x, y: b.do(sub, b.do(sub, x, y), x), "x - y - x"),
        (lambda b, x, y: b.do(div, x, b.do(mul, y, x)), "x / (y * x)"),
        (lambda b, x, y: b.do(operator.pow, b.do(operator.neg, x), 2), "(-x) ** 2"),
        (lambda b, x, y: b.do(operator.neg, b.do(operator.pow, x, 2)), "-x ** 2"),
        (lambda b, x, y: b.do(operator.pow, x, b.do(operator.neg, y)), "x ** -y"),
        (lambda b, x, y: b.do(operator.pow, x, b.do(operator.pow, x, y)), "x ** x ** y"),
        (lambda b, x, y: b.do(operator.pow, b.do(operator.pow, x, x), y), "(x ** x) ** y"),
        (lambda b, x, y: b.do(operator.neg, b.do(operator.neg, x)), "-(-x)"),
        (lambda b, x, y: b.do(operator.neg, -1.5), "-(-1.5)"),
        (lambda b, x, y: b.do(mul, -1.5, b.do(operator.neg, x)), "-1.5 * -x"),
        (lambda b, x, y: b.do(operator.pow, -1.5, x), "(-1.5) ** x"),
        (lambda b, x, y: b.do(np.tanh, b.do(add, x, math.inf)), "np.tanh(x + np.inf)"),
        (
            lambda b, x, y: b.do(max, b.do(abs, x), b.do(math.hypot, x, -math.inf)),
            "max(abs(x), math.hypot(x, -np.inf))",
        ),
        (lambda b, x, y: b.do(np.absolute, b.do(add, x, math.nan)), "np.abs(x + np.nan)"),
        (lambda b, x, y: b.do(ir.select, b.do(lt, x, y, type=B), x, y), "x if x < y else y"),
        (
            lambda b, x, y: b.do(mul, 2.0, b.do(ir.select, b.do(lt, x, y, type=B), x, y)),
            "2.0 * (x if x < y else y)",
        ),
    ],
)
def test_parentheses(build, text):
    assert expression(build, x=F, y=F) == text


def test_literals_have_the_type_that_numba_gives_them():
    def text(value: Any, type_: ir.Type) -> str:
        b = Builder()
        return body_of(b.function({}, (ir.Const(value, type_),))).removeprefix("return ")

    for value, type_, expected in [
        (0.1, F, "0.1"),
        (np.float32(0.1), F32, "np.float32(0.1)"),
        (-np.float32(1e10), F32, "np.float32(-1e+10)"),
        (np.float32(np.inf), F32, "np.float32(np.inf)"),
        (3, I, "3"),
        (np.int32(3), types.int32, "np.int32(3)"),
        (np.uint64(3), types.uint64, "np.uint64(3)"),
        (np.True_, B, "True"),
        (1 + 2j, types.complex128, "complex(1.0, 2.0)"),
    ]:
        assert text(value, type_) == expected
        namespace = {"np": np}
        compiled = numba.njit(eval(f"lambda: {expected}", namespace))
        compiled.compile(())
        assert types.unliteral(compiled.overloads[()].signature.return_type) == type_


def test_casts_give_exactly_the_type():
    for source, target, text in [
        (I, F, "float(x)"),
        (F32, F, "np.float64(x)"),
        (B, F, "np.float64(x)"),
        (F, I, "int(x)"),
        (types.int32, I, "np.int64(x)"),
        (F, F32, "np.float32(x)"),
        (F, B, "bool(x)"),
        (F, types.complex128, "complex(x)"),
        (F, F, "x"),
    ]:
        assert expression(lambda b, x: b.do(ir.cast, x, type=target), x=source) == text
        compiled = numba.njit(eval(f"lambda x: {text}", {"np": np}))
        compiled.compile((source,))
        assert compiled.overloads[(source,)].signature.return_type == target


def test_conditions():
    def both(b, x, y):
        c = ir.Var("c", B)
        b.branch(b.do(lt, 0.0, x, type=B), (c,), lambda: (b.do(lt, x, y, type=B),), lambda: (False,))
        d = ir.Var("d", B)
        b.branch(c, (d,), lambda: (True,), lambda: (b.do(operator.eq, x, y, type=B),))
        return d

    def neither(b, x, y):
        c, d = ir.Var("c", B), ir.Var("d", B)
        b.branch(b.do(lt, 0.0, x, type=B), (c,), lambda: (True,), lambda: (b.do(lt, x, y, type=B),))
        b.branch(b.do(operator.not_, c, type=B), (d,), lambda: (b.do(operator.ne, x, y, type=B),), lambda: (False,))
        return b.do(operator.not_, b.do(operator.not_, d, type=B), type=B)

    assert expression(both, x=F, y=F) == "0.0 < x and x < y or x == y"
    assert expression(neither, x=F, y=F) == "not (0.0 < x or x < y) and x != y"
    negated = lambda sign: lambda b, x, y: b.do(operator.not_, b.do(sign, x, y, type=B), type=B)
    # a comparison with nan is false, so its opposite is another thing
    assert expression(negated(lt), x=F, y=F) == "not x < y"
    assert expression(negated(lt), x=I, y=I) == "x >= y"
    assert expression(negated(operator.eq), x=F, y=F) == "x != y"


def test_conditional_expression_and_statement():
    def build(user: bool, origin: str) -> str:
        b = Builder()
        x, out, c = u("x"), ir.Var("y", F, user), u("c", B)
        place = ir.Origin("f.py", "f", 2, 4, 2, 9, origin)
        b.branch(c, (out,), lambda: (b.do(mul, 2.0, x),), lambda: (b.do(np.sin, x),), origin=place)
        return body_of(b.function({"x": x, "c": c}, (b.do(add, out, out),)))

    assert build(False, "y = ...") == "y = 2.0 * x if c else np.sin(x)\nreturn y + y"
    assert build(True, "y = ...") == "y = 2.0 * x if c else np.sin(x)\nreturn y + y"
    assert build(True, "if c:") == "if c:\n    y = 2.0 * x\nelse:\n    y = np.sin(x)\nreturn y + y"


def test_a_conditional_update_is_a_statement():
    b = Builder()
    x, c = u("x"), u("c", B)
    out = ir.Var("x", F)
    b.branch(c, (out,), lambda: (b.do(mul, x, 3.0),), lambda: (x,))
    assert body_of(b.function({"x": x, "c": c}, (b.do(np.sin, out),))) == "if c:\n    x *= 3.0\nreturn np.sin(x)"


def test_callees():
    a, b_ = VECTOR, MATRIX
    assert expression(lambda b, a, m: b.do(operator.matmul, m, a, type=VECTOR), a=a, m=b_) == "m @ a"
    assert expression(lambda b, a, m: b.do(np.linalg.solve, m, a, type=VECTOR), a=a, m=b_) == "np.linalg.solve(m, a)"
    assert expression(lambda b, x: b.do(np.random.normal, x), x=F) == "np.random.normal(x)"
    assert expression(lambda b, x: b.do(round, x, type=I), x=F) == "round(x)"
    options = (("axis", 0), ("dtype", np.dtype("float32")), ("mode", "same"))
    text = expression(lambda b, a: b.do(np.sum, a, options=options), a=a)
    assert text == 'np.sum(a, axis=0, dtype=np.float32, mode="same")'


def test_calls_with_several_results():
    b = Builder()
    m, w, v = u("m", MATRIX), u("w", VECTOR), u("v", MATRIX)
    b.emit(ir.Call(callee=np.linalg.eigh, args=(m,), outs=(w, v)))
    assert body_of(b.function({"m": m}, (w, v), (0, 1))) == "w, v = np.linalg.eigh(m)\nreturn w, v"


def test_helpers_and_frozen_arrays_are_globals():
    b = Builder()
    x = u("x", I)
    table = np.array([1, 2])
    array = ir.Const(table, types.Array(I, 1, "C", readonly=True))
    item = ir.Var("item", I)
    b.emit(ir.Load(array=array, index=(b.do(broadcast_extent, x, 1, type=I),), out=item))
    emitted = emit(b.function({"x": x}, (item,)))
    assert emitted.text == "def f(x):\n    return constant[broadcast_extent(x, 1)]\n"
    assert emitted.globals["broadcast_extent"] is broadcast_extent
    assert emitted.globals["constant"] is table


# -------------------------------------------------------------------------------------------- memory


def test_allocations():
    b = Builder()
    n, a = u("n", I), u("a", MATRIX)
    kinds = [
        (VECTOR, (n,), None, "workspace.empty(n)"),
        (MATRIX, (n, ir.integer(2)), ir.Const(0.0, F), "workspace.zeros((n, 2))"),
        (VECTOR, (n,), ir.Const(2.5, F), "np.full(n, 2.5)"),
        (VECTOR, (n,), ir.Const(-0.0, F), "np.full(n, -0.0)"),
        (types.Array(F32, 1, "C"), (n,), None, "workspace.empty(n, np.float32)"),
        (types.Array(I, 1, "C"), (n,), ir.integer(0), "workspace.zeros(n, np.int64)"),
        (types.Array(B, 1, "C"), (n,), ir.boolean(True), "np.ones(n, np.bool_)"),
        (types.Array(F, 0, "C"), (), None, "np.empty(())"),
        (
            types.Array(types.int32, 1, "C"),
            (n,),
            ir.Const(np.int32(7), types.int32),
            "np.full(n, np.int32(7), np.int32)",
        ),
    ]
    for type_, shape, fill, text in kinds:
        b.emit(ir.Alloc(shape=shape, fill=fill, out=u("w", type_)))
    for type_, fill in ((MATRIX, None), (MATRIX, ir.Const(0.0, F)), (types.Array(I, 2, "C"), ir.integer(0))):
        b.emit(ir.Alloc(shape=(), like=a, fill=fill, out=u("w", type_)))
    lines = body_of(b.function({"n": n, "a": a}, (n,))).splitlines()
    expected = [text for *_, text in kinds]
    expected += ["workspace.empty_like(a)", "workspace.zeros_like(a)", "np.zeros_like(a, np.int64)"]
    assert [line.partition(" = ")[2] for line in lines[:-1]] == expected
    made = emit(b.function({"n": n, "a": a}, (n,)))
    assert numba.njit(python(made))(3, np.zeros((2, 2))) == 3


def test_views():
    def view(op: Any, type_: ir.Type) -> str:
        b = Builder()
        m, n = u("m", MATRIX), u("n", I)
        b.emit(op(m, n, ir.Var("view", type_)))
        return body_of(b.function({"m": m, "n": n}, (b.ops[-1].results[0],))).removeprefix("return ")

    span = ir.Span
    one, two = ir.integer(1), ir.integer(2)
    sliced = lambda *s: lambda m, n, out: ir.Slice(base=m, selectors=s, out=out)
    assert view(lambda m, n, out: sliced(span(one, n), ir.At(n))(m, n, out), VECTOR.copy(layout="A")) == "m[1:n, n]"
    assert view(sliced(span(None, None, two), span()), MATRIX.copy(layout="A")) == "m[::2, :]"
    cube = types.Array(F, 3, "A")
    assert view(sliced(ir.NewAxis(), span(None, ir.integer(-1)), span(two)), cube) == "m[np.newaxis, :-1, 2:]"
    assert view(lambda m, n, out: ir.Transpose(base=m, axes=(1, 0), out=out), MATRIX.copy(layout="F")) == "m.T"
    assert view(lambda m, n, out: ir.Reshape(base=m, shape=(ir.integer(-1),), out=out), VECTOR) == "m.reshape(-1)"
    assert view(lambda m, n, out: ir.Reshape(base=m, shape=(n, two), out=out), MATRIX) == "m.reshape(n, 2)"


def test_slices_with_expressions_have_blanks():
    b = Builder()
    a, n = u("a", VECTOR), u("n", I)
    out = ir.Var("view", VECTOR)
    b.emit(ir.Slice(base=a, selectors=(ir.Span(None, b.do(sub, n, 1, type=I)),), out=out))
    assert body_of(b.function({"a": a, "n": n}, (out,))) == "return a[: n - 1]"


def test_views_fold_into_calls_and_not_into_accesses():
    b = Builder()
    a, m = u("a", VECTOR), u("m", MATRIX)
    turned, row = ir.Var("turned", MATRIX.copy(layout="F")), ir.Var("row", VECTOR)
    b.emit(ir.Transpose(base=m, axes=(1, 0), out=turned))
    b.emit(ir.Slice(base=m, selectors=(ir.At(ir.integer(0)), ir.Span()), out=row))
    item = b.at(row, 1)
    product = b.do(operator.matmul, turned, a, type=VECTOR)
    text = body_of(b.function({"a": a, "m": m}, (product, item), (0, 1)))
    assert text == "row = m[0, :]\nreturn m.T @ a, row[1]"


def test_tapes_type_in_numba():
    b = Builder()
    a, n = u("a", VECTOR), u("n", I)
    tape, arrays, unused = (ir.Var("x_tape", types.List(t)) for t in (F, VECTOR, F))
    for var in (tape, arrays, unused):
        b.emit(ir.NewTape(out=var))
    i, k = u("i", I), u("i", I)

    def fill() -> tuple[()]:
        b.emit(ir.Push(tape=tape, index=i, value=b.do(mul, 2.0, b.at(a, i))))
        copied = ir.Var("copied", VECTOR)
        b.emit(ir.Copy(source=a, out=copied))
        b.emit(ir.Push(tape=arrays, index=i, value=copied))
        return ()

    def sum_up() -> tuple[ir.Var, ...]:
        entry, array = ir.Var("entry", F), ir.Var("array", VECTOR)
        b.emit(ir.Pull(tape=tape, index=k, out=entry))
        b.emit(ir.Pull(tape=arrays, index=k, out=array))
        return (b.do(add, s, b.do(mul, entry, b.at(array, 0))),)

    s, out = ir.Var("s", F), ir.Var("s", F)
    b.loop(i, (0, n, 1), [], fill)
    b.loop(k, (0, n, 1), [(out, 0.0, s)], sum_up)
    function = b.function({"a": a, "n": n}, (out,))
    assert body_of(function) == (
        "x_tape = []\nx_tape_2 = []\nx_tape_3 = [0.0 for _ in range(0)]\n"
        "for i in range(n):\n    x_tape.append(2.0 * a[i])\n    x_tape_2.append(a.copy())\n"
        "s = 0.0\nfor i in range(n):\n    array = x_tape_2[i]\n    s += x_tape[i] * array[0]\nreturn s"
    )
    values = np.arange(1.0, 4.0)
    expected = run(function, values, 3)
    assert expected == python(emit(function))(values, 3) == numba.njit(python(emit(function)))(values, 3)


def test_the_inverse_of_a_boolean_is_its_negation():
    # in plain Python ~True is -2, which is true
    assert expression(lambda b, c: b.do(operator.invert, c, type=B), B, c=B) == "not c"
    assert expression(lambda b, n: b.do(operator.invert, n, type=I), I, n=I) == "~n"
