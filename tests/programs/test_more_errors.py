"""More bad input, each with the whole message: library functions, arguments, calls; and that each message is of use.

Lines are counted from the `def` of the function that is named.
"""

from __future__ import annotations

import ast
import collections
import math
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import adjit
from adjit.errors import AdjitError
from tests.programs import test_errors as harness

REFUSED: list[harness.Refusal] = []


def refused(message: str, *arguments: Any, wrt: Any = 0, **options: Any) -> Any:
    def decorate(function: Any) -> Any:
        harness.refused(message, *arguments, wrt=wrt, **options)(function)
        REFUSED.append(harness.REFUSED.pop())
        return function

    return decorate


def relative(message: str, function: Any) -> str:
    """The message with lines counted from the function's own."""
    line = getattr(getattr(function, "__code__", None), "co_firstlineno", 0)
    source = Path(__file__).read_text().splitlines()
    while line and line <= len(source) and not source[line - 1].startswith("def "):
        line += 1
    for offset in range(9):
        message = message.replace(f"test_more_errors.py:{line + offset} ", f"test_more_errors.py:+{offset} ")
    return message


# ------------------------------------------------------------------------------------------------ library functions


@refused(
    """
    Unsupported: a call of np.loadtxt
      test_more_errors.py:+1 in a_file_that_is_read
        return x * np.loadtxt("table.txt")[0]
                   ^^^^^^^^^^^^^^^^^^^^^^^
      Compiled code cannot read files or ask the system.
      Call it before the function, and pass its result.
    """,
    2.0,
)
def a_file_that_is_read(x):
    return x * np.loadtxt("table.txt")[0]


@refused(
    """
    TypeMismatch: compiled code has no time.thread_time
      test_more_errors.py:+1 in a_clock_with_a_rule
        return x * time.thread_time()
                   ^^^^^^^^^^^^^^^^^^
      The derivative calls the function itself, too.
      Pass its result, write its operations out, or define a numba.extending.overload(time.thread_time).
    """,
    2.0,
)
def a_clock_with_a_rule(x):
    return x * time.thread_time()


@refused(
    """
    Unsupported: adjit.stop_gradient of complex numbers
      test_more_errors.py:+1 in a_complex_array_held_fixed
        return np.sum(np.abs(adjit.stop_gradient(x * 1j)) * x)
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hold the real and the imaginary parts fixed.
    """,
    np.ones(2),
)
def a_complex_array_held_fixed(x):
    return np.sum(np.abs(adjit.stop_gradient(x * 1j)) * x)


@refused(
    """
    WrongCall: searchsorted gets `v` twice
      test_more_errors.py:+1 in an_argument_given_twice
        return a.sum() * np.searchsorted(a, 0.3, "left", v=0.95)
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Its parameters are a, v, side='left', sorter=None.
      Give each argument only once.
    """,
    np.ones(2),
)
def an_argument_given_twice(a):
    return a.sum() * np.searchsorted(a, 0.3, "left", v=0.95)


@refused(
    """
    WrongCall: searchsorted takes 4 arguments, not 5
      test_more_errors.py:+1 in more_arguments_than_there_are
        return a.sum() * np.searchsorted(a, 0.3, "left", None, 5)
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Its parameters are a, v, side='left', sorter=None.
      Give each argument only once.
    """,
    np.ones(2),
)
def more_arguments_than_there_are(a):
    return a.sum() * np.searchsorted(a, 0.3, "left", None, 5)


@refused(
    """
    Unsupported: np.apply_over_axes, of the function sum
      test_more_errors.py:+1 in apply_over_axes
        return np.sum(np.apply_over_axes(np.sum, x, (0, 1)))
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit has no rule for np.apply_over_axes, and cannot read its source.
      Write the computation out, or give its source:  @adjit.rules.decomposition(np.apply_over_axes)
    """,
    np.eye(2),
)
def apply_over_axes(x):
    return np.sum(np.apply_over_axes(np.sum, x, (0, 1)))


@refused(
    """
    TypeMismatch: np.einsum needs one subscript per axis of an operand
      test_more_errors.py:+1 in einsum
        return np.sum(np.einsum("ij,i->i", x, x))
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^
      See NumPy's documentation.
    """,
    np.eye(2),
)
def einsum(x):
    return np.sum(np.einsum("ij,i->i", x, x))


@refused(
    """
    Unsupported: `beta` of a random generator, with a number that is not constant
      test_more_errors.py:+2 in random_beta
        return rng.beta(x, 2.0)
               ^^^^^^^^^^^^^^^^
      Its numbers are drawn at compile time.
      Pass the generator or its numbers as an argument.
    """,
    1.5,
)
def random_beta(x):
    rng = np.random.default_rng(3)
    return rng.beta(x, 2.0)


@refused(
    """
    Unsupported: random.sample, of a list of 2
      test_more_errors.py:+1 in sampled
        return random.sample([x, 2 * x], 1)[0]
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit has no rule for random.sample, and cannot read its source.
      Write the computation out, or give its source:  @adjit.rules.decomposition(random.sample)
    """,
    1.5,
)
def sampled(x):
    return random.sample([x, 2 * x], 1)[0]


@refused(
    """
    Unsupported: numbers of float16
      test_more_errors.py:+1 in half_precision
        return np.sum(x.astype(np.float16))
                      ^^^^^^^^^^^^^^^^^^^^
      numba does not calculate with them.
      Use np.float32 or np.float64.
    """,
    np.ones(3),
)
def half_precision(x):
    return np.sum(x.astype(np.float16))


@refused(
    """
    Unsupported: numbers of float16
      test_more_errors.py:+1 in a_half
        return np.float16(x) * x
               ^^^^^^^^^^^^^
      numba does not calculate with them.
      Use np.float32 or np.float64.
    """,
    1.5,
)
def a_half(x):
    return np.float16(x) * x


@refused(
    """
    TypeMismatch: np.sum over an axis twice
      test_more_errors.py:+1 in an_axis_twice
        return np.sum(x, axis=(0, 0))
               ^^^^^^^^^^^^^^^^^^^^^^
      Name each axis once.
    """,
    np.eye(2),
)
def an_axis_twice(x):
    return np.sum(x, axis=(0, 0))


@refused(
    """
    TypeMismatch: axis 2 of an array of rank 2
      test_more_errors.py:+1 in an_axis_that_is_not_there
        return np.sum(np.max(x, axis=2))
                      ^^^^^^^^^^^^^^^^^
      Give an axis from 0 to 1.
    """,
    np.eye(2),
)
def an_axis_that_is_not_there(x):
    return np.sum(np.max(x, axis=2))


@refused(
    """
    Unsupported: np.max over an axis that is only known at run time
      test_more_errors.py:+1 in extrema_along_an_unknown_axis
        return np.sum(np.max(x, axis=k))
                      ^^^^^^^^^^^^^^^^^
      The remaining axes have to be known at compile time.
      Write the axis as a number, or a tuple of numbers.
    """,
    np.eye(2),
    1,
)
def extrema_along_an_unknown_axis(x, k):
    return np.sum(np.max(x, axis=k))


# --------------------------------------------------------------------------------------------------------- values

Point = collections.namedtuple("Point", "a b")
RECORDS = np.zeros(3, [("p", float), ("q", float)])


@refused(
    """
    Unsupported: `+` of a named tuple of a, b and a number
      test_more_errors.py:+1 in adds_to_a_named_tuple
        return p + 1.0
               ^^^^^^^
      Write np.array(...) of the tuple, or take its items.
    """,
    Point(1.0, 2.0),
)
def adds_to_a_named_tuple(p):
    return p + 1.0


@refused(
    """
    WrongCall: Point is called without `b`
      test_more_errors.py:+1 in makes_half_a_point
        return Point(x).a
               ^^^^^^^^
      Its parameters are a, b.
      Give each parameter one value, by position or by name.
    """,
    1.5,
)
def makes_half_a_point(x):
    return Point(x).a


@refused(
    """
    Unsupported: a call of a tuple of 2
      test_more_errors.py:+2 in calls_a_tuple
        return p(1)
               ^^^^
      Call a function.
    """,
    1.5,
)
def calls_a_tuple(x):
    p = (x, x)
    return p(1)


@refused(
    """
    Unsupported: `-` of a string
      test_more_errors.py:+1 in negates_a_string
        return -"up" * x
               ^^^^^
      Convert the string to a number with float(...).
    """,
    1.5,
)
def negates_a_string(x):
    return -"up" * x


@refused(
    """
    Unsupported: `*` before a number
      test_more_errors.py:+1 in stars_a_number
        return max(*x)
                   ^^
      Write its items one by one: their number has to be known at compile time.
    """,
    1.5,
)
def stars_a_number(x):
    return max(*x)


@refused(
    """
    TypeMismatch: len of a number
      test_more_errors.py:+1 in length_of_a_number
        return len(x) * x
               ^^^^^^
      Give it an array or a tuple.
    """,
    1.5,
)
def length_of_a_number(x):
    return len(x) * x


@refused(
    """
    TypeMismatch: abs of a tuple of 2
      test_more_errors.py:+1 in absolute_value_of_a_tuple
        return abs((x, x))
               ^^^^^^^^^^^
      Give a number or an array.
    """,
    1.5,
)
def absolute_value_of_a_tuple(x):
    return abs((x, x))


@refused(
    """
    TypeMismatch: a store of an array into a single element
      test_more_errors.py:+1 in stores_a_tuple
        x[0] += (1.0, 2.0)
        ^^^^^^^^^^^^^^^^^^
      Store a number, or store into a slice.
    """,
    np.ones(3),
)
def stores_a_tuple(x):
    x[0] += (1.0, 2.0)
    return x[0]


@refused(
    """
    Unsupported: a store into a number
      test_more_errors.py:+1 in stores_into_a_number
        x[0] = 1.0
        ^^^^
      Store into an array.
    """,
    1.5,
)
def stores_into_a_number(x):
    x[0] = 1.0
    return x


@refused(
    """
    TypeMismatch: the end of a slice is not an integer
      test_more_errors.py:+1 in slice_to_a_float
        return np.sum(x[: x[0]])
                          ^^^^
      Convert it: int(...).
    """,
    np.ones(3),
)
def slice_to_a_float(x):
    return np.sum(x[: x[0]])


@refused(
    """
    Unsupported: an array has no attribute `undefined`
      test_more_errors.py:+1 in names_what_is_not_there
        return x.undefined
               ^^^^^^^^^^^
      Check the name.
    """,
    np.ones(3),
)
def names_what_is_not_there(x):
    return x.undefined


@refused(
    """
    Unsupported: returns_a_method returns the method `sum`
      test_more_errors.py:+0 in returns_a_method
        def returns_a_method(x):
        ^^^^^^^^^^^^^^^^^^^^^^^^
      A result consists of numbers and arrays, in tuples or lists.
      Leave it out of the result.
    """,
    np.ones(3),
)
def returns_a_method(x):
    return x.sum


@refused(
    """
    TypeMismatch: np.zeros_like of a number
      test_more_errors.py:+1 in likes_a_number
        return np.sum(np.zeros_like(x[0]))
                      ^^^^^^^^^^^^^^^^^^^
      Give it an array.
    """,
    np.ones(3),
)
def likes_a_number(x):
    return np.sum(np.zeros_like(x[0]))


@refused(
    """
    Unsupported: a string as an element of an array
      test_more_errors.py:+1 in sine_of_a_tuple
        return np.sin((x[0], "a"))
               ^^^^^^^^^^^^^^^^^^^
      The elements of np.array are numbers, in tuples and lists.
      Store into an array of known shape.
    """,
    np.ones(3),
)
def sine_of_a_tuple(x):
    return np.sin((x[0], "a"))


@refused(
    """
    TypeMismatch: an array of records has no field 'r'
      test_more_errors.py:+1 in a_global_of_records
        return x * RECORDS["r"].sum()
                   ^^^^^^^^^^^^
      It has 'p', 'q'.
      Give one that exists.
    """,
    1.5,
)
def a_global_of_records(x):
    return x * RECORDS["r"].sum()


# ------------------------------------------------------------------------------------------------------ arguments


def squares(x):
    return np.sum(x * x)


def of_two(x, k=2.0):
    return x * k


class Holder:
    def __call__(self, x):
        return x

    def method(self, x):
        return x


class Foreign:
    """An array of another library."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


for given, message in (
    (
        RECORDS,
        """
        TypeMismatch: argument `x` of grad(squares) is an array of records
          Pass each field as an argument: x['p'], x['q'].
        """,
    ),
    (
        np.ones(3, np.float16),
        """
        TypeMismatch: argument `x` of grad(squares) is an array of float16, which numba does not take
          Pass x.astype(np.float64), or np.float32.
        """,
    ),
    (
        np.ones(3, np.longdouble),
        """
        TypeMismatch: argument `x` of grad(squares) is an array of LONGDOUBLE, which numba does not take
          Pass x.astype(np.float64), or np.float32.
        """,
    ),
    (
        np.ones(3, ">f8"),
        """
        TypeMismatch: argument `x` of grad(squares) is an array of >f8, with swapped bytes
          Pass x.astype("=f8").
        """,
    ),
    (
        np.float16(1.0),
        """
        TypeMismatch: argument `x` of grad(squares) is a number of float16, which numba does not take
          Pass float(x) or np.float32(x).
        """,
    ),
    (
        np.longdouble(1.0),
        """
        TypeMismatch: argument `x` of grad(squares) is a number of LONGDOUBLE, which numba does not take
          Pass float(x) or np.float32(x).
        """,
    ),
    (
        np.array([1.0, None]),
        """
        TypeMismatch: argument `x` of grad(squares) is an array of Python objects
          Pass an array of numbers: x.astype(np.float64).
        """,
    ),
    (
        np.array(["a"]),
        """
        TypeMismatch: argument `x` of grad(squares) is an array of strings, <U1
          Pass an array of integers: np.unique(x, return_inverse=True) numbers the strings.
        """,
    ),
    (
        np.ma.array([1.0]),
        """
        TypeMismatch: argument `x` of grad(squares) is a masked array
          Pass x.filled(...), or its data and its mask as two arguments.
        """,
    ),
    (
        Foreign(),
        """
        TypeMismatch: argument `x` of grad(squares) is of type tests.Foreign, which is not a NumPy array
          Pass np.asarray(x).
        """,
    ),
    (
        {1.0},
        """
        TypeMismatch: argument `x` of grad(squares) is of type set
          Pass numbers, NumPy arrays of numbers, or tuples of them.
        """,
    ),
    (
        {"a": 1.0},
        """
        Unsupported: `*` of a dictionary and a dictionary
          test_more_errors.py:+1 in squares
            return np.sum(x * x)
                          ^^^^^
          Take the numbers or arrays out of a dictionary.
        """,
    ),
    (
        b"ab",
        """
        TypeMismatch: argument `x` of grad(squares) is of type bytes
          Pass numbers, NumPy arrays of numbers, or tuples of them.
        """,
    ),
    (
        math.sin,
        """
        TypeMismatch: argument `x` of grad(squares) is of type builtin_function_or_method
          Pass a function that numba.njit compiles, or call it by its global or enclosing name.
        """,
    ),
    (
        squares,
        """
        TypeMismatch: argument `x` of grad(squares) is a Python function
          Pass a function that numba.njit compiles, or call it by its global or enclosing name.
        """,
    ),
    (
        (1.0, [2.0]),
        """
        Unsupported: `*` of a tuple of 2 and a tuple of 2
          test_more_errors.py:+1 in squares
            return np.sum(x * x)
                          ^^^^^
          Write np.array(...) of the tuple, or take its items.
        """,
    ),
    (
        "text",
        """
        WrongWrt: `x` of squares is the string 'text', which has no derivative
          test_more_errors.py:+0 in squares
          Derivatives are with respect to floats, and to arrays and tuples of them.
          Pass a float, or leave `x` out of wrt.
        """,
    ),
    (
        [1, 2, 3],
        """
        WrongWrt: `x` of squares is a list of integers, which has no derivative
          test_more_errors.py:+0 in squares
          Derivatives are with respect to floats, and to arrays and tuples of them.
          Pass np.array(x, float), or leave `x` out of wrt.
        """,
    ),
    (
        ["a"],
        """
        WrongWrt: `x` of squares is a list of strings, which has no derivative
          test_more_errors.py:+0 in squares
          Derivatives are with respect to floats, and to arrays and tuples of them.
          Pass floats, or leave `x` out of wrt.
        """,
    ),
    (
        {"a": 1},
        """
        WrongWrt: `x` of squares is a dictionary without floats, which has no derivative
          test_more_errors.py:+0 in squares
          Derivatives are with respect to floats, and to arrays and tuples of them.
          Pass floats, or leave `x` out of wrt.
        """,
    ),
    (
        None,
        """
        WrongWrt: `x` of squares is None, which has no derivative
          test_more_errors.py:+0 in squares
          Derivatives are with respect to floats, and to arrays and tuples of them.
          Pass a float, or leave `x` out of wrt.
        """,
    ),
):
    refused(message, given)(squares)

refused(
    """
    WrongCall: grad(of_two) is called without `x`
      Its parameters are x, k=2.0.
      Give each parameter one value, by position or by name.
    """,
)(of_two)
refused(
    """
    WrongCall: grad(of_two) takes 2 arguments, not 3
      Its parameters are x, k=2.0.
      Give each parameter one value, by position or by name.
    """,
    1.0,
    2.0,
    3.0,
)(of_two)
refused(
    """
    WrongCall: fastmath='yes'
      LLVM's flags are afn, arcp, contract, fast, ninf, nnan, nsz, reassoc.
      Write fastmath=True, fastmath=False, or a set of flags.
    """,
    1.0,
    fastmath="yes",
)(of_two)
refused(
    """
    WrongCall: parallel=2
      Write parallel=True or parallel=False.
    """,
    1.0,
    parallel=2,
)(of_two)
refused(
    """
    TypeMismatch: 'lots' is not an amount of memory
      Write memory_limit="200 MB" or "1.5 GiB".
    """,
    1.0,
    memory_limit="lots",
)(of_two)
refused(
    """
    WrongCall: unknown option 'wtr'
      The options are wrt, has_aux, holomorphic, intermediates, target, fastmath, memory_limit, parallel, vectormath, cache, boundscheck, deterministic, debug, accumulate.
      Did you mean wrt?
    """,  # noqa: E501
    1.0,
    wtr=0,
)(of_two)
refused(
    """
    WrongCall: unknown option 'colour'
      The options are wrt, has_aux, holomorphic, intermediates, target, fastmath, memory_limit, parallel, vectormath, cache, boundscheck, deterministic, debug, accumulate.
      Leave it out.
    """,  # noqa: E501
    1.0,
    colour="red",
)(of_two)
refused(
    """
    WrongCall: has_aux=1
      Write has_aux=True or has_aux=False.
    """,
    1.0,
    has_aux=1,
)(of_two)

for thing, message in (
    (
        Holder,
        """
        SourceUnavailable: Holder is a class, not a function
          adjit reads functions, lambdas and functions that numba compiles.
          Write a function of the numbers and arrays in its objects.
        """,
    ),
    (
        np.einsum,
        """
        SourceUnavailable: np.einsum is not a Python function
          It is of type _ArrayFunctionDispatcher; adjit reads functions, lambdas and functions that numba compiles.
          Write a function that calls it: lambda x: np.einsum(x).
        """,
    ),
    (
        "of_two",
        """
        SourceUnavailable: an object of type str is not a function
          adjit reads functions, lambdas and functions that numba compiles.
          Pass the function itself, and the arguments to its derivative: adjit.grad(f)(x), not adjit.grad(f(x)).
        """,
    ),
    (
        np.ones(3),
        """
        SourceUnavailable: an object of type ndarray is not a function
          adjit reads functions, lambdas and functions that numba compiles.
          Pass the function itself, and the arguments to its derivative: adjit.grad(f)(x), not adjit.grad(f(x)).
        """,
    ),
    (
        3.0,
        """
        SourceUnavailable: an object of type float is not a function
          adjit reads functions, lambdas and functions that numba compiles.
          Pass the function itself, and the arguments to its derivative: adjit.grad(f)(x), not adjit.grad(f(x)).
        """,
    ),
):
    refused(message, 1.0)(thing)


def _name(case: harness.Refusal) -> str:
    return str(getattr(case.function, "__name__", type(case.function).__name__))


@pytest.mark.parametrize("case", REFUSED, ids=_name)
def test_message(case: harness.Refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjit.rules.registry.user, "entries", dict(adjit.rules.registry.user.entries))
    adjit.rules.constant(time.thread_time)
    with pytest.raises(AdjitError) as fault:
        adjit.grad(case.function, case.wrt, **{"target": "python", **(case.options or {})})(*case.arguments)
    long = str(np.dtype(np.longdouble))
    assert relative(fault.value.message, case.function) == case.message.replace("LONGDOUBLE", long)


def sums_a_named_tuple(p):
    q = Point(b=p.a, a=p.b * p.b)
    if p.a > 0.0:
        q = Point(q.a * 2.0, q.b)
    return q.a * q.b


def test_named_tuples_have_their_fields():
    """d (2 b^2 a) = (2 b^2, 4 a b)."""
    for target in ("cpu", "python"):
        assert adjit.grad(sums_a_named_tuple, target=target)(Point(1.5, 2.0)) == (8.0, 12.0)
    assert sums_a_named_tuple(Point(1.5, 2.0)) == adjit.value_and_grad(sums_a_named_tuple)(Point(1.5, 2.0))[0]


def softmax(x):
    weights = np.exp(x - np.max(x))
    return weights / np.sum(weights)


def test_what_is_advised_of_library_functions_works(monkeypatch):
    """The source given for scipy.special.softmax stands for it, in both modes."""
    monkeypatch.setattr(adjit.rules.registry.user, "entries", dict(adjit.rules.registry.user.entries))
    adjit.rules.decomposition(scipy.special.softmax)(softmax)
    x = np.array([0.3, -0.2, 0.5])
    adjit.check_grads(lambda x: np.sum(scipy.special.softmax(x) ** 2), (x,), target="python")


# ------------------------------------------------------------------------------------------------ each says what to do

ROOT = Path(adjit.__file__).parent
KINDS = {n for n, c in vars(adjit.errors).items() if isinstance(c, type) and issubclass(c, AdjitError)}


def _sites():
    """Every place where a refusal is made: its line, and its arguments by position and by name."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.name == "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            where = f"{path.relative_to(ROOT)}:{node.lineno}"
            if name in KINDS:
                yield where, name, node.args, node.keywords
            elif name == "fail" and path.name != "verify.py":
                yield where, ast.unparse(node.args[0]).rpartition(".")[2], node.args, node.keywords
            elif name in ("unsupported", "mismatch") and not isinstance(node.args[0], ast.Starred):
                what, instead, *why = node.args
                yield where, name, [what, None, why, instead], node.keywords


def test_each_refusal_says_what_to_do():
    found = list(_sites())
    assert len(found) > 150
    silent = []
    for where, kind, args, named in found:
        has_usual = getattr(getattr(adjit.errors, kind, None), "usual", "")
        said = args[3] if len(args) > 3 else next((k.value for k in named if k.arg == "instead"), None)
        empty = said is None or (isinstance(said, ast.Constant) and not said.value)
        # run-time errors of compiled code are one text
        if empty and not has_usual and "_ANOTHER_SHAPE" not in ast.unparse(args[0]):
            silent.append(where)
    assert not silent


def limits_of_a_list(x):
    return x * np.finfo([x, 2.0]).eps


def test_limits_are_those_of_a_type():
    with pytest.raises(adjit.TypeMismatch, match="np.finfo of a value that is neither a type nor a number"):
        adjit.grad(limits_of_a_list, target="python")(1.0)
