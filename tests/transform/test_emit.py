"""Emission: what the source of a function looks like, and that it computes what the IR says, on random functions too."""

import ast
import importlib.util
import math
import operator
import time
from typing import Any

import numba
import numpy as np
import pytest
from numba import types

from adjit.transform import ir
from adjit.transform.emit import Emitted, emit
from adjit.transform.support import broadcast_extent
from adjit.transform.verify import verify
from tests.transform.interpreter import run
from tests.transform.random_functions import RandomFunction

F, I, B, F32 = types.float64, types.intp, types.boolean, types.float32
VECTOR, MATRIX = types.Array(F, 1, "C"), types.Array(F, 2, "C")
add, sub, mul, div, lt = operator.add, operator.sub, operator.mul, operator.truediv, operator.lt


def u(name: str, type_: ir.Type = F) -> ir.Var:
    """A variable of the user's."""
    return ir.Var(name, type_, user=True)


def const(value: Any) -> ir.Operand:
    if isinstance(value, ir.Var | ir.Const):
        return value
    if isinstance(value, bool):
        return ir.boolean(value)
    return ir.integer(value) if isinstance(value, int) else ir.Const(value, F)


class Builder(ir.Builder):
    def do(self, callee: Any, *args: Any, out: ir.Var | None = None, type: ir.Type = F, **more: Any) -> ir.Var:
        out = out or ir.Var(getattr(callee, "__name__", "value"), type)
        self.emit(ir.Call(callee=callee, args=tuple(map(const, args)), outs=(out,), **more))
        return out

    def at(self, array: ir.Var, *index: Any, out: ir.Var | None = None) -> ir.Var:
        out = out or ir.Var(ir.element_name(array), array.type.dtype)
        self.emit(ir.Load(array=array, index=tuple(map(const, index)), out=out))
        return out

    def put(self, array: ir.Var, *index: Any, value: Any, plus: bool = False) -> None:
        self.store(array, tuple(map(const, index)), const(value), plus)

    def block(self, args: tuple[ir.Var, ...], build: Any) -> ir.Region:
        with self.region() as ops:
            yields = build()
        return ir.Region(args, tuple(ops), tuple(map(const, yields)))

    def loop(self, counter: ir.Var, bounds: tuple[Any, ...], carried: Any, build: Any, **more: Any) -> None:
        """`carried` has (result, initial value, argument) for each value."""
        outs, inits, args = zip(*carried, strict=True) if carried else ((), (), ())
        start, stop, step = map(const, bounds)
        body = self.block((counter, *args), build)
        inits = tuple(map(const, inits))
        self.emit(ir.For(start=start, stop=stop, step=step, inits=inits, body=body, outs=outs, **more))

    def branch(self, condition: Any, outs: tuple[ir.Var, ...], then: Any, orelse: Any, **more: Any) -> None:
        one, other = self.block((), then), self.block((), orelse)
        self.emit(ir.If(condition=const(condition), then=one, orelse=other, outs=outs, **more))

    def function(self, params: dict[str, Any], results: tuple[Any, ...], tree: Any = 0, **more: Any) -> ir.Function:
        leaves = [leaf for tree_ in params.values() for leaf in ir.leaves(tree_)]
        body = ir.Region(tuple(leaves), tuple(self.ops), tuple(map(const, results)))
        made = ir.Function("f", tuple(params), tuple(params.values()), body, tree, **more)
        verify(made)
        return made


def body_of(function: ir.Function) -> str:
    """The emitted text without its first line and indentation."""
    emitted = emit(function)
    compile(emitted.text, "<emitted>", "exec")
    return "\n".join(line[4:] for line in emitted.text.splitlines()[1:])


def python(emitted: Emitted) -> Any:
    namespace = dict(emitted.globals)
    exec(emitted.text, namespace)
    return namespace[emitted.name]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True)


def expression(build: Any, type_: ir.Type = F, **params: ir.Type) -> str:
    """The text of `return ...` for one expression of the parameters."""
    b = Builder()
    variables = {name: u(name, t) for name, t in params.items()}
    result = build(b, *variables.values())
    return body_of(b.function(variables, (result,))).removeprefix("return ")


# -------------------------------------------------------------------------------------------- random functions


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_functions_compute_what_the_interpreter_says(first):
    for seed in range(first, first + 50):
        made = RandomFunction(seed)
        verify(made.function)
        args = made.arguments()
        expected = run(made.function, *args)
        emitted = emit(made.function)
        changed = made.arguments()
        assert same(expected, python(emitted)(*changed)), f"seed {seed}"
        # arrays that the function writes end up the same
        assert all(map(same, args[3:], changed[3:])), f"seed {seed}"


@pytest.mark.parametrize("seed", range(8))
def test_random_functions_compile(seed):
    made = RandomFunction(seed, size=5, depth=2, effects=False)
    args = made.arguments()
    expected = run(made.function, *args)
    changed = made.arguments()
    compiled = numba.njit(python(emit(made.function)), error_model="numpy")
    # contraction in compiled code changes the last bits
    np.testing.assert_allclose(_flat(compiled(*changed)), _flat(expected), rtol=1e-12)
    np.testing.assert_allclose(changed[3:], args[3:], rtol=1e-12)


def _flat(tree: Any) -> list[float]:
    return [leaf for part in tree for leaf in _flat(part)] if isinstance(tree, tuple) else [float(tree)]


def test_emission_is_deterministic():
    assert len({emit(RandomFunction(5).function).text for _ in range(3)}) == 1


def test_emission_is_quick():
    b = Builder()
    x, v = u("x"), u("v", VECTOR)
    value = x
    for k in range(500):
        value = b.do((add, mul, sub)[k % 3], value, x, out=u(f"x{k % 20}") if k % 4 == 0 else None)
        if k % 10 == 0:
            b.put(v, k, value=value)
    function = b.function({"x": x, "v": v}, (value,))
    emit(function)
    start = time.perf_counter()
    emit(function)
    # 10 ms on the machine this was written on
    assert time.perf_counter() - start < 0.25


# -------------------------------------------------------------------------------------------- the golden example


def test_stencil_reads_like_the_golden_source():
    b = Builder()
    a, alpha, steps = u("u", VECTOR), u("alpha"), u("steps", I)
    n, v = u("n", I), u("v", VECTOR)
    b.emit(ir.Extent(array=a, axis=0, out=n))
    b.emit(ir.Copy(source=a, out=v))
    i, left, energy = u("i", I), u("left"), u("energy")

    def inner() -> tuple[ir.Var, ...]:
        here = b.at(v, i, out=u("here"))
        beside = b.at(v, b.do(add, i, 1, type=I))
        b.put(v, i, value=b.do(add, here, b.do(mul, alpha, b.do(add, b.do(sub, left, b.do(mul, 2.0, here)), beside))))
        return (here,)

    def outer() -> tuple[ir.Var, ...]:
        first = b.at(v, 0, out=u("left"))
        b.loop(i, (1, b.do(sub, n, 1, type=I), 1), [(u("left"), first, left)], inner)
        return ()

    b.loop(u("t", I), (0, steps, 1), [], outer)
    k = u("i", I)
    total = u("energy")
    b.loop(k, (0, n, 1), [(total, 0.0, energy)], lambda: (b.do(add, energy, b.do(mul, b.at(v, k), b.at(v, k))),))
    function = b.function({"u": a, "alpha": alpha, "steps": steps}, (total,), doc="The energy after some steps.")
    assert emit(function).text == '''\
def f(u, alpha, steps):
    """The energy after some steps."""
    n = u.size
    v = u.copy()
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            left = here
    energy = 0.0
    for i in range(n):
        energy += v[i] * v[i]
    return energy
'''


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
        (lambda b, x, y: b.do(max, b.do(abs, x), b.do(math.hypot, x, -math.inf)), "max(abs(x), math.hypot(x, -np.inf))"),
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


# -------------------------------------------------------------------------------------------- folding


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
    assert body_of(function) == (
        "x = a\nwhile 1e-12 < abs(x * x - a):\n    x -= (x * x - a) / (2.0 * x)\nreturn x"
    )
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


# -------------------------------------------------------------------------------------------- memory


def test_allocations():
    b = Builder()
    n, a = u("n", I), u("a", MATRIX)
    kinds = [
        (VECTOR, (n,), None, "np.empty(n)"),
        (MATRIX, (n, ir.integer(2)), ir.Const(0.0, F), "np.zeros((n, 2))"),
        (VECTOR, (n,), ir.Const(2.5, F), "np.full(n, 2.5)"),
        (VECTOR, (n,), ir.Const(-0.0, F), "np.full(n, -0.0)"),
        (types.Array(F32, 1, "C"), (n,), None, "np.empty(n, np.float32)"),
        (types.Array(I, 1, "C"), (n,), ir.integer(0), "np.zeros(n, np.int64)"),
        (types.Array(B, 1, "C"), (n,), ir.boolean(True), "np.ones(n, np.bool_)"),
        (types.Array(F, 0, "C"), (), None, "np.empty(())"),
        (types.Array(types.int32, 1, "C"), (n,), ir.Const(np.int32(7), types.int32), "np.full(n, np.int32(7), np.int32)"),
    ]
    for type_, shape, fill, text in kinds:
        b.emit(ir.Alloc(shape=shape, fill=fill, out=u("w", type_)))
    for type_, fill in ((MATRIX, None), (MATRIX, ir.Const(0.0, F)), (types.Array(I, 2, "C"), ir.integer(0))):
        b.emit(ir.Alloc(shape=(), like=a, fill=fill, out=u("w", type_)))
    lines = body_of(b.function({"n": n, "a": a}, (n,))).splitlines()
    expected = [text for *_, text in kinds]
    expected += ["np.empty_like(a)", "np.zeros_like(a)", "np.zeros_like(a, np.int64)"]
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
    assert view(lambda m, n, out: sliced(span(one, n), ir.At(n))(m, n, out), VECTOR) == "m[1:n, n]"
    assert view(sliced(span(None, None, two), span()), MATRIX) == "m[::2, :]"
    cube = types.Array(F, 3, "A")
    assert view(sliced(ir.NewAxis(), span(None, ir.integer(-1)), span(two)), cube) == "m[np.newaxis, :-1, 2:]"
    assert view(lambda m, n, out: ir.Transpose(base=m, axes=(1, 0), out=out), MATRIX) == "m.T"
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
    turned, row = ir.Var("turned", MATRIX), ir.Var("row", VECTOR)
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


# -------------------------------------------------------------------------------------------- names


def test_a_user_variable_keeps_its_name_before_modules_and_builtins():
    b = Builder()
    x = u("np")
    magnitude = b.do(abs, x, out=u("abs"))
    wave = b.do(math.sin, b.do(np.tanh, magnitude), out=u("math"))
    largest = b.do(max, wave, b.do(abs, wave))
    function = b.function({"np": x}, (b.do(math.cos, largest),))
    emitted = emit(function)
    assert emitted.text == (
        "def f(np):\n    abs = abs_2(np)\n    math = math_module.sin(numpy.tanh(abs))\n"
        "    return math_module.cos(max(math, abs_2(math)))\n"
    )
    assert emitted.globals["numpy"] is np
    assert emitted.globals["abs_2"] is abs
    assert python(emitted)(-0.4) == run(function, -0.4) == numba.njit(python(emitted))(-0.4)


def test_temporaries_avoid_the_names_of_functions():
    b = Builder()
    x = u("x")
    largest = b.do(max, x, 1.0)
    other = b.do(np.sin, b.do(mul, largest, largest), out=ir.Var("broadcast_extent", F))
    text = body_of(b.function({"x": x}, (b.do(max, other, other),)))
    assert text == "max_2 = max(x, 1.0)\nbroadcast_extent = np.sin(max_2 * max_2)\nreturn max(broadcast_extent, broadcast_extent)"


def test_user_variables_with_two_names_are_not_merged():
    b = Builder()
    n = u("n", I)
    i, last, out = u("i", I), u("last", I), u("last", I)
    b.loop(i, (0, n, 1), [(out, 0, last)], lambda: (i,))
    assert body_of(b.function({"n": n}, (out,))) == "last = 0\nfor i in range(n):\n    last = i\nreturn last"


def test_a_loop_variable_that_is_read_after_the_loop():
    b = Builder()
    n = u("n", I)
    i, before, out = u("i", I), u("i", I), u("i", I)
    b.loop(i, (0, n, 1), [(out, 0, before)], lambda: (i,))
    assert body_of(b.function({"n": n}, (out,))) == "i = 0\nfor i in range(n):\n    pass\nreturn i"


def test_versions_that_live_at_once_get_numbers():
    b = Builder()
    x = u("x")
    new = b.do(np.sin, x, out=u("x"))
    text = body_of(b.function({"x": x}, (b.do(mul, b.do(add, new, new), b.do(add, x, x)),)))
    assert text == "x_2 = np.sin(x)\nreturn (x_2 + x_2) * (x + x)"


def test_names_that_are_no_names():
    b = Builder()
    x = u("x")
    one = b.do(np.sin, x, out=ir.Var("lambda", F))
    other = b.do(np.cos, x, out=ir.Var("2 bad", F))
    text = body_of(b.function({"x": x}, (b.do(mul, b.do(add, one, one), b.do(add, other, other)),)))
    assert text == "lambda_ = np.sin(x)\n_2_bad = np.cos(x)\nreturn (lambda_ + lambda_) * (_2_bad + _2_bad)"


def test_tuple_parameters_and_results():
    b = Builder()
    x, y, z, w = u("x"), u("y"), u("z"), u("w")
    function = b.function(
        {"state": (x, (y, z)), "one": (w,), "empty": ()}, (y, b.do(mul, z, w), x), ((0,), (1, None), 2, ())
    )
    emitted = emit(function)
    assert emitted.text == (
        "def f(state, one, empty):\n    x, (y, z) = state\n    (w,) = one\n    return (y,), (z * w, None), x, ()\n"
    )
    args = (1.0, (2.0, 3.0)), (4.0,), ()
    assert python(emitted)(*args) == run(function, *args) == ((2.0,), (12.0, None), 1.0, ())


def test_a_tuple_parameter_may_lend_its_name():
    b = Builder()
    x, y = u("x"), u("y")
    state = b.do(mul, x, y, out=u("state"))
    text = body_of(b.function({"state": (x, y)}, (b.do(add, state, state),)))
    assert text == "x, y = state\nstate = x * y\nreturn state + state"


# -------------------------------------------------------------------------------------------- comments


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
    # the reverse sweep heads its blocks itself
    b.emit(ir.Comment(text="---- reverse sweep", origin=None))
    b.origin = statement
    b.emit(ir.Comment(text="L3: v = np.sin(a)"))
    j = ir.Var("i", I)
    b.loop(j, (0, n, 1), [], lambda: b.put(v, j, value=1.0, plus=True) or (), order_free=True)
    assert body_of(b.function({"a": a}, (v,))) == (
        "# waves\n# v = np.sin(a)\nv = np.empty(a.size)\nfor i in range(a.size):\n    v[i] = np.sin(a[i])\n"
        "for k in range(a.size):\n    v[k] = 0.0\n"
        "# ---- reverse sweep\n# L3: v = np.sin(a)\nfor i in range(a.size):\n    v[i] += 1.0\nreturn v"
    )


def test_a_block_of_comments_is_a_block():
    b = Builder()
    n = u("n", I)
    b.loop(u("i", I), (0, n, 1), [], lambda: b.emit(ir.Comment(text="nothing")) and ())
    assert body_of(b.function({"n": n}, (n,))) == "for i in range(n):\n    # nothing\n    pass\nreturn n"


def test_docstrings_are_quoted():
    b = Builder()
    x = u("x")
    doc = 'Returns "x" with \\alpha and """.\n\nMore "here"'
    text = emit(b.function({"x": x}, (x,), doc=doc), header="made by adjit").text
    assert text.startswith("# made by adjit\ndef f(x):\n")
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    assert ast.get_docstring(definition) == doc
    only = emit(b.function({"x": x}, (), None, doc='ends in "quotes"')).text
    assert ast.get_docstring(ast.parse(only).body[0]) == 'ends in "quotes" '.strip() or ast.parse(only)


# -------------------------------------------------------------------------------------------- modules


def test_module_text_can_be_imported(tmp_path):
    b = Builder()
    x, n = u("x"), u("abs", I)
    extent = b.do(broadcast_extent, n, 1, type=I)
    array = ir.Const(np.array([[1.0, np.inf]]), types.Array(F, 2, "C", readonly=True))
    result = b.do(mul, b.do(math.sin, b.do(abs, x)), b.at(array, 0, b.do(sub, extent, n, type=I)))
    function = b.function({"x": x, "abs": n}, (b.do(np.tanh, result),))
    text = emit(function).module_text
    assert text.startswith("import math\nimport numpy as np\nfrom adjit.transform.support import broadcast_extent\n")
    path = tmp_path / "derived.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("derived", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.f(-0.3, 3) == run(function, -0.3, 3)
