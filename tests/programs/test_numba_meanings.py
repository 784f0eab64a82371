"""numba's ways to give a function another meaning than its text has: what numba runs is what is differentiated.

Each program has its value, which numba's own call gives, and its derivative, worked out by hand.
"""

import functools
import math

import numba
import numpy as np
import pytest
from numba import literal_unroll, literally, njit, objmode, prange, types
from numba.experimental import jitclass
from numba.extending import intrinsic, overload, overload_attribute, overload_method, register_jitable, type_callable

import adjit
from adjit.errors import TypeMismatch, Unsupported
from adjit.rules import registry

X = 2.7

# -------------------------------------------------------------------------------------------- signatures and variables


@functools.cache
def of_signatures():
    """Functions whose arguments and results are cast; numba compiles these at once."""
    found = {}

    def program(value, slope):
        def add(function):
            found[function.__name__] = (function, value, slope)
            return function

        return add

    @njit("float64(int64, float64)")
    def cut(k, x):
        return k * x

    @program(10.8, 4.0)
    def argument(x):
        return cut(1.5 * x, x)

    @program(10.8, 4.0)
    @njit
    def argument_in_compiled(x):
        return cut(1.5 * x, x)

    @njit("int64(float64)")
    def whole(x):
        return 1.5 * x

    @program(10.8, 4.0)
    def result(x):
        return whole(x) * x

    @program(-11.8 * 2.7, -4.0 - 7.8)
    @njit
    def negative_result(x):
        return whole(-x) * x - 7.8 * x

    @njit("float32(float32)")
    def single(x):
        return x / 3

    @program(float(np.float32(2.7) / np.float32(3)) * 2.7, float(np.float32(2.7) / np.float32(3)) + 2.7 / 3)
    def single_precision(x):
        return single(x) * x

    @njit(["float64(int64)", "float64(float64)"])
    def several(x):
        return x / 2

    @program(1.35 + 1.0 * 2.7, 1.5)
    def best_of_several(x):
        return several(x) + several(2) * x

    @njit(["float64(int64, float64)", "float64(float64, int64)"])
    def alike(a, b):
        return a * b

    @program(2 * 2.7, 2.0)
    @njit
    def first_of_those_alike(x):
        return alike(x, x)

    @njit("UniTuple(int64, 2)(UniTuple(float32, 2))")
    def pair(p):
        return p[0] * 2, p[1] * 3

    @program(5 * 2.7 + 4, 5.0)
    def tuples(x):
        a, b = pair((x, 1.5))
        return a * x + b

    @njit("float64(optional(int64))")
    def maybe(x):
        return 1.0 if x is None else 1.5 * x

    @program(4.0 * 2.7, 4.0)
    def optional(x):
        return (maybe(None) + maybe(x)) * x

    @njit("complex128(float64)")
    def widened(x):
        return x

    @program(2.7**2, 5.4)
    def complex_result(x):
        return (widened(x) * widened(x)).real

    @njit("uint8(float64)")
    def byte(x):
        return 50 * x

    @program(135 * 2.7, 135.0)
    def few_bits(x):
        return byte(x) * x

    @njit("boolean(float64)")
    def is_there(x):
        return x

    @program(2.7, 1.0)
    def booleans(x):
        return x * is_there(x) + is_there(0.0 * x)

    @njit("float64(float64[:])")
    def first(a):
        return a[0] * a[1]

    @program(2.7**2, 5.4)
    def arrays(x):
        return first(np.array([x, x]))

    @njit("int64(int64)")
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @program(2.0 * 2.7, 2.0)
    def calls_itself(x):
        return factorial(x) * x

    @njit(types.float64(types.FunctionType(types.int64(types.float64)), types.float64))
    def given(f, x):
        return f(x) * x

    @njit
    def three_halves(x):
        return 1.5 * x

    @program(10.8, 4.0)
    def function_of_a_signature(x):
        return given(three_halves, x)

    @numba.cfunc("int64(float64)")
    def callback(x):
        return 1.5 * x

    @program(10.8, 4.0)
    @njit
    def callback_in_compiled(x):
        return callback(x) * x

    @program(1.5 * 2.7**2, 3.0 * 2.7)
    def callback_in_python(x):
        return callback(x) * x  # which calls the function itself

    @numba.vectorize(["int64(float64)"])
    def element(x):
        return 1.5 * x

    @program(8 * 2.7, 8.0)
    def ufunc(x):
        return np.sum(element(np.array([x, x]))) * x

    @numba.guvectorize([(types.int64[:], types.float64[:])], "(n)->(n)")
    def halves(a, r):
        for i in range(a.size):
            r[i] = a[i] / 2

    @program(3.0 * 2.7, 3.0)
    def generalised_ufunc(x):
        return np.sum(halves(np.array([2, 4]))) * x

    return found


@njit(locals={"k": types.int64})
def cast_at_each_assignment(x):
    k = 1.5 * x
    k = 1.5 * k + 0.4 * x
    return k * x


@njit(locals={"x": types.int64})
def cast_of_an_argument(x):
    return 1.5 * x


@njit(locals={"k": types.int64})
def cast_in_loops(x):
    k = 0 * x
    for _ in range(3):
        k += x
    if x > 1:
        k, m = k + 0.5 * x, x
    else:
        m = 1.0
    return k * m


@njit(locals={"k": types.int64})
def cast_of_a_target(x):
    total = 0.0
    for k in (1.5, 2.5):
        total += k * x
    return total


@njit(locals={"k": types.float32})
def cast_to_single_precision(x):
    k = x / 3
    while k < 2.0:
        k = k * 1.5
    return k * x


OF_VARIABLES = [
    (cast_at_each_assignment, 7 * X, 7.0),
    (cast_of_an_argument, 3.0, 0.0),
    (cast_in_loops, 7 * X, 7.0),
    (cast_of_a_target, 3 * X, 3.0),
    (cast_to_single_precision, float(np.float32(X / 3) * np.float32(1.5) ** 2) * X, 1.5**2 * 2 * X / 3),
]


# ------------------------------------------------------------------------------------------------------ implementations


def fill(x, out):
    pass


@overload(fill)
def _fill(x, out):
    def implementation(x, out):
        for i in range(out.size):
            out[i] = x * i

    return implementation


@njit
def stub_that_returns_nothing(x):
    out = np.zeros(3)
    fill(x, out)
    return np.sum(out)


def stub_in_python(x):
    out = np.zeros(3)
    fill(x, out)
    return np.sum(out) + x


def kind(x, n=2):
    return x


@overload(kind)
def _kind(x, n=2):
    if isinstance(x, types.Array):
        return lambda x, n=2: np.sum(x) * n
    if isinstance(x, types.Integer):
        return lambda x, n=2: 100.0 * n
    return lambda x, n=2: x * x * n


@njit
def by_types(x):
    return kind(x) + kind(np.ones(3) * x, 3) + kind(2, n=4) * x


def power(n, x):
    raise NotImplementedError


@overload(power, prefer_literal=True)
def _power(n, x):
    if isinstance(n, types.Literal):
        order = n.literal_value
        return lambda n, x: 10.0 * x**order
    return lambda n, x: x**n


@njit
def by_literals(x):
    n = 2 if x > 0 else 3
    return power(2, x) + power(n, x)


def either(x, y=None):
    pass


@overload(either)
def _either(x, y=None):
    if y is None or isinstance(y, types.NoneType):
        return lambda x, y=None: 2 * x
    return lambda x, y=None: kind(x) * y


@njit
def calls_another(x):
    return either(x) + either(x, None) + either(x, x)


@register_jitable
def half(x):
    return kind(x) / 2


@njit
def jitable(x):
    inner = lambda y: half(y) + kind(y)  # noqa: E731
    return inner(x)


def jitable_in_python(x):
    return half(x) * x


def variadic(*a):
    pass


@overload(variadic)
def _variadic(*a):
    n = len(a)
    return lambda *a: a[0] * n


@njit
def any_number(x):
    return variadic(x, x, x)


@overload_method(types.Array, "twisted")
def _twisted(a, k):
    return lambda a, k: np.sum(a * a) * k


@overload_attribute(types.Array, "square_sum")
def _square_sum(a):
    return lambda a: np.sum(a * a)


@overload_method(types.Float, "cube")
def _cube(x):
    return lambda x: x**3


@overload_attribute(types.Float, "double")
def _double(x):
    return lambda x: 2 * x


@overload_method(types.UniTuple, "total")
def _total(t):
    return lambda t: t[0] + t[1]


@njit
def methods(x):
    a = np.ones(3) * x
    return a.twisted(2.0) + x.cube() + (x, 2 * x).total()


@njit
def attributes(x):
    a = np.ones(3) * x
    return a.square_sum + x.double


@numba.vectorize(["float64(float64)"])
def element_by_types(x):
    return kind(x)


def in_a_ufunc(x):
    return element_by_types(x) * x


@overload(np.bitwise_count)
def _bitwise_count(n):
    return lambda n: 3.0 * n


@njit
def of_a_library(x):
    return np.bitwise_count(5) * x


IMPLEMENTED = [
    (stub_that_returns_nothing, 3 * X, 3.0),
    (stub_in_python, X, 1.0),
    (by_types, 2 * X**2 + 9 * X + 400 * X, 4 * X + 409),
    (by_literals, 11 * X**2, 22 * X),
    (calls_another, 4 * X + 2 * X**3, 4 + 6 * X**2),
    (jitable, 3 * X**2, 6 * X),
    (jitable_in_python, X**2 / 2, X),
    (any_number, 3 * X, 3.0),
    (methods, 6 * X**2 + X**3 + 3 * X, 12 * X + 3 * X**2 + 3),
    (attributes, 3 * X**2 + 2 * X, 6 * X + 2),
    (in_a_ufunc, 2 * X**3, 6 * X**2),
    (of_a_library, 15 * X, 15.0),
]


# --------------------------------------------------------------------- options and types that leave the text as it is


@njit(fastmath=True, boundscheck=True, error_model="numpy", nogil=True)
def options(x):
    a = np.array([x, 2.0, 3.0])
    return a[0] * a[1] if not math.isnan(x) else 0.0


@njit(error_model="python")
def python_errors(x):
    return 1.0 / x + 7 // 2 * x


@njit(inline="always")
def square(x):
    return x * x


@njit
def inlined(x):
    return square(x) + square(2 * x)


@njit
def unrolled(x):
    total = 0.0
    for k in literal_unroll((1, 2.5, 3)):
        total += k * x
    return total


@njit
def to_a_power(x, n):
    return x ** literally(n)


@njit
def literal(x):
    return to_a_power(x, 2)


@njit(parallel=True)
def parallel(x):
    total = 0.0
    for i in prange(4):
        total += x * i
    return total


@njit
def applied(f, x):
    return f(x) * x


@njit
def functions(x):
    total = applied(square, x)
    for f in (square, square):
        total += f(x)
    return total


@njit
def typed_containers(x):
    items = numba.typed.List.empty_list(types.float64)
    items.append(7)
    items.append(x)
    kept = numba.typed.Dict.empty(types.int64, types.float64)
    kept[1] = items[0] / 2 * items[1]
    return kept[1] + items[0] // 2


@njit
def stored_in_integers(x):
    a = np.zeros(2, np.int64)
    a[0] = 1.5 * x
    return a[0] * x


@njit
def numba_types(x):
    return types.int64(1.5 * x) * x + types.float64(2) * x


@numba.jit(forceobj=True)
def run_by_python(x):
    return kind(x) * x


AS_WRITTEN = [
    (options, 2 * X, 2.0),
    (python_errors, 1 / X + 3 * X, 3 - 1 / X**2),
    (inlined, 5 * X**2, 10 * X),
    (unrolled, 6.5 * X, 6.5),
    (literal, X**2, 2 * X),
    (parallel, 6 * X, 6.0),
    (functions, X**3 + 2 * X**2, 3 * X**2 + 4 * X),
    (typed_containers, 3.5 * X + 3, 3.5),
    (stored_in_integers, 4 * X, 4.0),
    (numba_types, 6 * X, 6.0),
    (run_by_python, X**2, 2 * X),
]


# ---------------------------------------------------------------------------------------------------------------- tests

GROUPS = {"signatures": lambda: [*of_signatures().values()], "variables": lambda: OF_VARIABLES,
          "implementations": lambda: IMPLEMENTED, "as written": lambda: AS_WRITTEN}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_what_numba_runs(group) -> None:
    """Forward and reverse, uncompiled one by one."""
    for function, value, slope in GROUPS[group]():
        name = function.__name__
        assert function(X) == pytest.approx(value, rel=1e-6), name
        if slope == 0.0:
            # an integer is made of x
            with pytest.raises(adjit.NotDifferentiable):
                adjit.grad(function, target="python")(X)
            continue
        found = adjit.value_and_grad(function, target="python")(X)
        assert found == (pytest.approx(value, rel=1e-12), pytest.approx(slope, rel=1e-6)), name
        along = adjit.jvp(function, (X,), (1.0,), target="python")
        assert along == (pytest.approx(value, rel=1e-12), pytest.approx(slope, rel=1e-6)), name


@pytest.mark.parametrize("group", GROUPS)
def test_compiled(group) -> None:
    """All at once."""
    functions = tuple(function for function, _, _ in GROUPS[group]())
    value, slope = (sum(column) for column in list(zip(*GROUPS[group](), strict=True))[1:])

    def whole(x):
        total = 0.0
        for function in functions:
            total += function(x)
        return total

    expected = pytest.approx(value, rel=1e-12), pytest.approx(slope, rel=1e-6)
    assert adjit.value_and_grad(whole)(X) == expected
    assert adjit.jvp(whole, (X,), (1.0,)) == expected


def test_the_function_itself() -> None:
    """Casts of the function that is differentiated, in all interfaces."""

    @njit("float64(int64, float64)")
    def cut(k, x):
        return k * x**2

    assert adjit.value_and_grad(cut, wrt="x")(2.7, 1.5) == (4.5, 6.0)
    with pytest.raises(adjit.NotDifferentiable, match="cut depends on `k`"):
        adjit.grad(cut, wrt=("k", "x"))(2.7, 1.5)
    assert adjit.hessian(cut, wrt="x", target="python")(2.7, 1.5) == 4.0
    assert adjit.grad(cut, wrt="x").source(2.7, 1.5).count("int(k)") == 1
    adjit.check_grads(cut, (2.7, 1.5), wrt="x")


def test_signatures_that_do_not_fit() -> None:
    @njit("float64(float64[:])")
    def first(a):
        return a[0]

    @njit(["float64(int64, float64)", "float64(float64, int64)"])
    def alike(a, b):
        return a * b

    @njit("float64(float64, float64)")
    def scaled(x, k=2.0):
        return x * k

    with pytest.raises(TypeMismatch, match=r"(?s)a call of first with \(int64\[:\]\).*float64, 1d, A"):
        adjit.grad(lambda x: x * first(np.arange(3)), target="python")(X)
    with pytest.raises(TypeMismatch, match=r"alike with \(float64, float64\)"):
        adjit.grad(lambda x: alike(x, x), target="python")(X)
    with pytest.raises(TypeMismatch, match=r"first with \(float64\)"):
        adjit.grad(first, target="python")(X)
    assert adjit.grad(lambda x: scaled(x, 3), target="python")(X) == 3.0


@intrinsic
def twice(context, x):
    def lowered(context, builder, signature, args):
        return builder.fadd(args[0], args[0])

    return x(x), lowered


class Boxed:
    def __init__(self, v):
        self.v = v


@type_callable(Boxed)
def _boxed(context):
    return lambda v: types.float64


@numba.cfunc("float64(float64)")
def doubled(x):
    return 2 * x


@numba.stencil
def neighbours(a):
    return 0.5 * (a[-1] + a[1])


@njit
def in_the_interpreter(x):
    with objmode(y="float64"):
        y = x * 2.0
    return y * x


@jitclass([("k", types.int64)])
class Cell:
    def __init__(self, k):
        self.k = k


def of_single_numbers(x):
    items = numba.typed.List.empty_list(types.float32)
    items.append(x)
    return items[0] * x


def of_given_numbers(x):
    items = numba.typed.List([np.float32(0.1), np.float32(2.0)])
    items[0] = x * 0.1
    return items[0] * x


def of_integers(x):
    kept = numba.typed.Dict.empty(types.int64, types.int32)
    kept[1] = x
    return kept[1] * x


REFUSED = [
    (lambda x: np.sum(neighbours(x * np.arange(5.0))), r"(?s)a function of numba\.stencil.*Write the loops"),
    (njit(lambda x: np.sum(neighbours(x * np.arange(5.0)))), r"(?s)a function of numba\.stencil.*Write the loops"),
    (in_the_interpreter, "with objmode"),
    (lambda x: Cell(x).k * x, "(?s)the class Cell.*Use a plain class"),
    (njit(lambda x: Cell(x).k * x), "(?s)the class Cell.*Use a plain class"),
    (of_single_numbers, r"(?s)empty_list of float32.*Use int64 or float64"),
    (of_given_numbers, r"(?s)typed.List of float32.*Use int64 or float64"),
    (njit(of_integers), r"(?s)Dict\.empty of int32.*Use int64 or float64"),
    (njit(lambda x: twice(x) * x), r"twice, which numba\.extending\.intrinsic compiles"),
    (njit(lambda x: Boxed(x) * x), r"Boxed, which numba\.extending\.type_callable"),
    (njit(lambda x: kind([x, x])), r"(?s)kind, whose numba\.extending\.overload does not take a list.*compiles the ov"),
    (njit(lambda x: doubled(x + 1j).real), r"doubled with \(complex128\)"),
    (njit(lambda x: doubled(x=x)), r"doubled.*takes them by position"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_what_is_refused(function, message) -> None:
    with pytest.raises((Unsupported, TypeMismatch), match=message):
        adjit.grad(function, target="python")(X)


def test_an_intrinsic_with_a_decomposition(monkeypatch) -> None:
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))
    adjit.rules.decomposition(twice)(lambda x: x + x)
    assert adjit.value_and_grad(njit(lambda x: twice(x) * x), target="python")(X) == (2 * X * X, 4 * X)
