"""Bad input: for each kind of fault a program that makes it, and the whole message that it is answered with.

Lines are counted from the `def` of the function that is named.
"""

from __future__ import annotations

import inspect
import math
import random
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit, objmode

import adjit
from adjit.errors import AdjitError
from adjit.rules.numpy.real_or_complex import SPECTRA_ARE_COMPLEX


@dataclass(frozen=True)
class Refusal:
    function: Any
    arguments: tuple[Any, ...]
    message: str
    wrt: Any = 0
    options: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        return str(self.function.__name__)


REFUSED: list[Refusal] = []


def refused(message: str, *arguments: Any, wrt: Any = 0, **options: Any) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        REFUSED.append(Refusal(function, arguments, textwrap.dedent(message).strip(), wrt, options))
        return function

    return decorate


def relative(message: str, function: Any) -> str:
    """The message with each line counted from the `def` of the function that it belongs to."""

    def counted(found: re.Match[str]) -> str:
        named = globals().get(found["name"], function)
        lines, first = inspect.getsourcelines(named)
        # the last one, because the decorator above may quote it
        start = max(k for k, line in enumerate(lines) if line.lstrip().startswith(f"def {found['name']}("))
        return f"test_errors.py:{int(found['line']) - first - start:+d} in {found['name']}"

    return re.sub(r"test_errors\.py:(?P<line>\d+) in (?P<name>\w+)", counted, message)


# ------------------------------------------------------------------------------------------------- statements


@refused(
    """
    Unsupported: `except` for a ZeroDivisionError that an operation raises
      test_errors.py:+3 in tries
        except ZeroDivisionError:
        ^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit catches `raise`, `assert`, and a Cholesky factorisation that fails,
      written as a single statement: `l = np.linalg.cholesky(k)`.
      Test with `if` before the operation.
    """,
    1.5,
)
def tries(x):
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = 0.0
    return y


@refused(
    """
    Unsupported: `except` for a ValueError that an operation raises
      test_errors.py:+3 in tries_a_logarithm
        except Exception:  # noqa: BLE001  as people write it
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit catches `raise`, `assert`, and a Cholesky factorisation that fails,
      written as a single statement: `l = np.linalg.cholesky(k)`.
      Test with `if` before the operation.
    """,
    1.5,
)
def tries_a_logarithm(x):
    try:
        y = math.log(x)
    except Exception:  # noqa: BLE001  as people write it
        y = 0.0
    return y


@refused(
    """
    Unsupported: `except` for a LinAlgError that an operation raises
      test_errors.py:+3 in tries_inside_an_expression
        except np.linalg.LinAlgError:
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit catches `raise`, `assert`, and a Cholesky factorisation that fails,
      written as a single statement: `l = np.linalg.cholesky(k)`.
      Test with `if` before the operation.
    """,
    np.eye(2),
)
def tries_inside_an_expression(a):
    try:
        y = np.sum(np.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        y = 0.0
    return y


@refused(
    """
    Unsupported: np.errstate that raises
      test_errors.py:+1 in with_block
        with np.errstate(all="raise"):
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Test the condition, and raise.
    """,
    1.5,
)
def with_block(x):
    with np.errstate(all="raise"):
        y = x * x
    return y


@refused(
    """
    Unsupported: `with` of this context
      test_errors.py:+1 in with_a_file
        with open("numbers") as f:
        ^^^^^^^^^^^^^^^^^^^^^^^^^^
      Move it outside the differentiated function.
    """,
    1.5,
)
def with_a_file(x):
    with open("numbers") as f:
        y = x * float(f.read())
    return y


@refused(
    """
    Unsupported: `with objmode`
      test_errors.py:+1 in with_object_mode
        with objmode(y="float64"):
        ^^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit does not see code that Python's interpreter runs.
      Compute it before the call and pass it as an argument, or write a rule.
    """,
    1.5,
)
def with_object_mode(x):
    with objmode(y="float64"):
        y = x * x
    return y


@refused(
    """
    Unsupported: an import that fails: No module named 'no_such_module'
      test_errors.py:+1 in imports
        import no_such_module
        ^^^^^^^^^^^^^^^^^^^^^
      Install it, or look for the right name.
    """,
    1.5,
)
def imports(x):
    import no_such_module

    return no_such_module.sin(x)


@refused(
    """
    Unsupported: an assignment to the global `COUNT`
      test_errors.py:+1 in changes_a_global
        global COUNT
        ^^^^^^^^^^^^
      Pass it as an argument and return the new value.
    """,
    1.5,
)
def changes_a_global(x):
    global COUNT
    COUNT = x
    return x * x


def _made_counter():
    calls = 0

    def counts(x):
        nonlocal calls
        calls += 1
        return x * calls

    return counts


refused(
    """
    Unsupported: an assignment to `calls` of a function around the differentiated one
      test_errors.py:+1 in counts
        nonlocal calls
        ^^^^^^^^^^^^^^
      Pass it as an argument and return the new value.
    """,
    1.5,
)(_made_counter())


@refused(
    """
    Unsupported: `del` of something that is not a name
      test_errors.py:+1 in deletes_an_element
        del a[0]
        ^^^^^^^^
      Leave it out.
    """,
    np.ones(3),
)
def deletes_an_element(a):
    del a[0]
    return np.sum(a)


@refused(
    """
    Unsupported: `y` is read after it may have been deleted
      test_errors.py:+4 in reads_what_it_deleted
        return y
               ^
      Leave the `del` out.
    """,
    1.5,
)
def reads_what_it_deleted(x):
    y = x * x
    if x > 1.0:
        del y
    return y


@refused(
    """
    Unsupported: `y` is read after it may have been deleted
      test_errors.py:+4 in deletes_in_each_trip
        t += y
             ^
      Leave the `del` out.
    """,
    1.5,
)
def deletes_in_each_trip(x):
    y = x * x
    t = 0.0
    for _ in range(2):
        t += y
        del y
    return t


@refused(
    """
    TypeMismatch: item() of 1 axes with these arguments
      test_errors.py:+1 in item_of_two_axes
        return a.item(1, 0)
               ^^^^^^^^^^^^
      Give one index per axis.
    """,
    np.ones(3),
)
def item_of_two_axes(a):
    return a.item(1, 0)


@refused(
    """
    Unsupported: a class inside a function is not supported
      test_errors.py:+1 in defines_a_class
        class Point:
        ^^^^^^^^^^^^
      Define it outside.
    """,
    1.5,
)
def defines_a_class(x):
    class Point:
        pass

    return x


@refused(
    """
    Unsupported: an iterator of a generator expression that is used in more than one place, or in a loop
      test_errors.py:+2 in runs_through_twice
        return sum(squares) + sum(squares)
                              ^^^^^^^^^^^^
      In Python the second use starts where the first one stopped.
      Make a list of it, `list(...)`, or create it where you use it.
    """,
    np.ones(3),
)
def runs_through_twice(a):
    squares = (v * v for v in a)
    return sum(squares) + sum(squares)


@refused(
    """
    Unsupported: a pattern for a list whose length is only known at run time
      test_errors.py:+4 in matches
        match items:
        ^^^^^^^^^^^^
      Test its length with `if`.
    """,
    1.5,
    2,
)
def matches(x, n):
    items = [x]
    for _ in range(n):
        items.append(x * x)
    match items:
        case [one]:
            return one
        case _:
            return x * x


@refused(
    """
    Unsupported: `total` is read before it is assigned
      test_errors.py:+4 in reads_what_an_inner_function_assigns_later
        part = total * t  # noqa: F823
               ^^^^^
      Assign it first, on every path.
    """,
    1.5,
)
def reads_what_an_inner_function_assigns_later(x):
    total = 1.0

    def inner(t):
        part = total * t  # noqa: F823
        total = part
        return total

    return inner(x)


@refused(
    """
    TypeMismatch: unpacking of a number
      test_errors.py:+1 in unpacks_a_number
        x, y = a
        ^^^^^^^^
      Give it a tuple, or an array.
    """,
    2.0,
)
def unpacks_a_number(a):
    x, y = a
    return x * y


@refused(
    """
    TypeMismatch: unpacking to 2 names, of a value with another length
      test_errors.py:+1 in unpacks_too_much
        x, y = a * np.array([1.0, 2.0, 3.0])
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Write one name per value.
    """,
    2.0,
)
def unpacks_too_much(a):
    x, y = a * np.array([1.0, 2.0, 3.0])
    return x * y


@refused(
    """
    TypeMismatch: 2 values for 3 names
      test_errors.py:+1 in unpacks_too_few
        a, b, c = x, x * x
        ^^^^^^^^^^^^^^^^^^
      Write one name per value.
    """,
    1.5,
)
def unpacks_too_few(x):
    a, b, c = x, x * x
    return a * b * c


@refused(
    """
    Unsupported: assignment to an attribute of an array
      test_errors.py:+1 in assigns_an_attribute
        a.shape = (3, 1)
        ^^^^^^^^^^^^^^^^
      Objects from outside the function are constants, as in numba.
      Pass the object as an argument, or return the changed values.
    """,
    np.ones(3),
)
def assigns_an_attribute(a):
    a.shape = (3, 1)
    return a.sum()


@refused(
    """
    Unsupported: yields is a generator
      test_errors.py:+2 in yields
        yield x * k
        ^^^^^^^^^^^
      A generator has no single result.
      Return an array or a sum.
    """,
    1.5,
)
def yields(x):
    for k in range(3):
        yield x * k


@refused(
    """
    Unsupported: this raise
      test_errors.py:+3 in raises_an_expression
        raise error
        ^^^^^^^^^^^
      Raise an exception class with a constant message.
    """,
    1.5,
)
def raises_an_expression(x):
    error = x * x
    if x < 0.0:
        raise error
    return error


# ------------------------------------------------------------------------------------------------ expressions


@refused(
    """
    Unsupported: `name`, a string that is only known at run time
      test_errors.py:+2 in f_string
        return x * len(name)
                       ^^^^
      Write it in the raise, assert, print, warning or log call, or remove it.
    """,
    1.5,
)
def f_string(x):
    name = f"{x}"
    return x * len(name)


@refused(
    """
    Unsupported: `missing` is not defined
      test_errors.py:+1 in unknown_name
        return x * missing  # noqa: F821
                   ^^^^^^^
      Define it in the function or around it.
    """,
    1.5,
)
def unknown_name(x):
    return x * missing  # noqa: F821


@refused(
    """
    Unsupported: `z` is read before it is assigned
      test_errors.py:+1 in unassigned_name
        y = z * x  # noqa: F821
            ^
      Assign it first, on every path.
    """,
    1.5,
)
def unassigned_name(x):
    y = z * x  # noqa: F821
    z = y
    return z


@refused(
    """
    Unsupported: the type of `y` depends on the path taken
      test_errors.py:+4 in number_or_tuple
        return y[0]
               ^
      It has values of different kinds on two paths.
      Give `y` one type on every path.
    """,
    1.5,
)
def number_or_tuple(x):
    y = x
    if x > 1.0:
        y = (x, x)
    return y[0]


@refused(
    """
    Unsupported: the type of `y` depends on the path taken
      test_errors.py:+4 in changes_its_kind_in_a_loop
        y = (y, x)
             ^
      It has values of different kinds in two iterations.
      Give `y` one type on every path.
    """,
    1.5,
)
def changes_its_kind_in_a_loop(x):
    y, s = x, 0.0
    while s < x:
        s += 1.0
        y = (y, x)
    return s


@refused(
    """
    Unsupported: the type of `y` depends on the path taken
      test_errors.py:+3 in changes_its_type_in_a_loop
        s += np.sum(y)
                    ^
      It is float64 before the loop and float64[:] after an iteration.
      Give `y` one type on every path.
    """,
    1.5,
)
def changes_its_type_in_a_loop(x):
    y, s = x, 0.0
    while s < x:
        s += np.sum(y)
        y = np.array([y, y])
    return s


@refused(
    """
    Unsupported: `*` of a tuple of 2 and a number
      test_errors.py:+2 in tuple_at_an_unknown_place
        return parts[k] * x
               ^^^^^^^^^^^^
      Write np.array(...) of the tuple, or take its items.
    """,
    1.5,
    1,
)
def tuple_at_an_unknown_place(x, k):
    parts = (x, (x, x))
    return parts[k] * x


@refused(
    """
    TypeMismatch: a tuple of 2 has no item 2
      test_errors.py:+2 in tuple_too_short
        return pair[2]
               ^^^^^^^
      Give an index within its length.
    """,
    1.5,
)
def tuple_too_short(x):
    pair = (x, x * x)
    return pair[2]


@refused(
    """
    Unsupported: `+` of a number and a string
      test_errors.py:+1 in adds_text
        return x + "1"
               ^^^^^^^
      Convert the string to a number with float(...).
    """,
    1.5,
)
def adds_text(x):
    return x + "1"


@refused(
    """
    Unsupported: a subscript of a number
      test_errors.py:+1 in subscript_of_a_number
        return x[0]
               ^^^^
      Index an array or a tuple.
    """,
    1.5,
)
def subscript_of_a_number(x):
    return x[0]


@refused(
    """
    Unsupported: numpy has no attribute `sinus`
      test_errors.py:+1 in attribute_that_is_not_there
        return np.sinus(x)
               ^^^^^^^^
      Check the name.
    """,
    1.5,
)
def attribute_that_is_not_there(x):
    return np.sinus(x)


# -------------------------------------------------------------------------------------------------- arrays


@refused(
    """
    TypeMismatch: 3 indices for an array of rank 2
      test_errors.py:+1 in too_many_indices
        return a[0, 1, 2]
               ^^^^^^^^^^
      Give 2 or fewer.
    """,
    np.ones((2, 3)),
)
def too_many_indices(a):
    return a[0, 1, 2]


@refused(
    """
    TypeMismatch: a number as an index
      test_errors.py:+1 in float_index
        return a[a[0]]
               ^^^^^^^
      Give an integer, a slice, newaxis, Ellipsis or an array; convert floats with int(...).
    """,
    np.ones(3),
)
def float_index(a):
    return a[a[0]]


@refused(
    """
    Unsupported: a mask that does not cover the whole array
      test_errors.py:+1 in mask_of_two_axes
        return a[a[:, :, 0] > 0.0].sum()
               ^^^^^^^^^^^^^^^^^^^
      Write the selection as a loop.
    """,
    np.ones((2, 3, 2)),
)
def mask_of_two_axes(a):
    return a[a[:, :, 0] > 0.0].sum()


@refused(
    """
    Unsupported: a boolean as an index
      test_errors.py:+1 in boolean_index
        return a[a[0] > 0.0].sum()
               ^^^^^^^^^^^^^
      NumPy takes it as a mask, not as 0 or 1.
      Write int(...).
    """,
    np.ones(3),
)
def boolean_index(a):
    return a[a[0] > 0.0].sum()


@refused(
    """
    Unsupported: a store into memory that reshape shares
      test_errors.py:+2 in may_be_seen
        a[0, 0] = 2.0
        ^^^^^^^^^^^^^
      In NumPy reshape at test_errors.py:+1 in may_be_seen returns a view or a copy, depending on its layout.
      Compiled code takes a copy, and the other one is read after this store.
      Take a copy there, with .copy(), or store before it.
    """,
    np.ones((2, 3)),
)
def may_be_seen(a):
    row = a.T.reshape(6)
    a[0, 0] = 2.0
    return row[1] * a[0, 0]


@refused(
    """
    ReadOnly: a store into the result of np.broadcast_to
      test_errors.py:+2 in is_stretched
        rows[0, 1] = 2.0
        ^^^^^^^^^^^^^^^^
      NumPy returns a view that is read-only.
      Take a copy first, with .copy().
    """,
    np.ones(3),
)
def is_stretched(a):
    rows = np.broadcast_to(a, (2, 3))
    rows[0, 1] = 2.0
    return rows.sum()


@refused(
    """
    Unsupported: augmented assignment to a view of one element
      test_errors.py:+2 in adds_to_a_view_of_one_element
        first += 1.0
        ^^^^^^^^^^^^
      NumPy stores into the array.
      Store into the array, or write `first = first ...`.
    """,
    np.ones(3),
)
def adds_to_a_view_of_one_element(a):
    first = a[..., 0]
    first += 1.0
    return a[0] * first


@refused(
    """
    Unsupported: np.nan_to_num in place
      test_errors.py:+1 in changes_nans_in_place
        return np.nan_to_num(a, False).sum()
               ^^^^^^^^^^^^^^^^^^^^^^^
      Write the computation out, in loops.
    """,
    np.ones(3),
)
def changes_nans_in_place(a):
    return np.nan_to_num(a, False).sum()


@refused(
    """
    Unsupported: np.squeeze of axes whose lengths are only known at run time
      test_errors.py:+1 in squeezes_what_may_be_of_one_element
        return np.squeeze(a)[0]
               ^^^^^^^^^^^^^
      The number of remaining axes has to be known at compile time.
      Name the axis, np.squeeze(a, axis=...), or take its only element, a[0].
    """,
    np.ones((1, 3)),
)
def squeezes_what_may_be_of_one_element(a):
    return np.squeeze(a)[0]


@refused(
    """
    Unsupported: np.nditer of an array that may not be in C order
      test_errors.py:+2 in goes_through_memory
        for v in np.nditer(a.T * 2.0):
                 ^^^^^^^^^^^^^^^^^^^^
      np.nditer follows the order in memory.
      Write np.nditer(..., order="C").
    """,
    np.ones((2, 3)),
)
def goes_through_memory(a):
    s = 1.0
    for v in np.nditer(a.T * 2.0):
        s = s * v + v
    return s


@refused(
    """
    Unsupported: np.sqrt with `where`, but without `out`
      test_errors.py:+1 in leaves_elements_open
        return np.sum(np.sqrt(a, where=a > 0.0))
                      ^^^^^^^^^^^^^^^^^^^^^^^^^
      Elements where the condition is false would be undefined.
      Give it an array, out=np.zeros(...), or use np.where.
    """,
    np.ones(3),
)
def leaves_elements_open(a):
    return np.sum(np.sqrt(a, where=a > 0.0))


@refused(
    """
    Unsupported: the array method `view` of complex numbers, with another type
      test_errors.py:+1 in views_parts_side_by_side
        return np.sum((a + 1j).view(np.float64))
                      ^^^^^^^^^^^^^^^^^^^^^^^^^
      adjit keeps real and imaginary parts in separate arrays.
      Write np.stack((z.real, z.imag), axis=-1), which copies.
    """,
    np.ones(3),
)
def views_parts_side_by_side(a):
    return np.sum((a + 1j).view(np.float64))


@refused(
    """
    TypeMismatch: a store of an array of rank 2 into an array of rank 1
      test_errors.py:+1 in stores_too_large_a_rank
        a[:] = b
        ^^^^^^^^
      Index or reduce it first.
    """,
    np.ones(3),
    np.ones((2, 3)),
)
def stores_too_large_a_rank(a, b):
    a[:] = b
    return a.sum()


TABLE = np.ones(3)


@refused(
    """
    Unsupported: a change of `total`, whose default is an array
      test_errors.py:+1 in adds_to_a_default
        total[0] += x
        ^^^^^^^^^^^^^
      In Python all calls share the default, so each call sees the changes of the last one.
      Write `total=None`, and `if total is None: total = np.zeros(...)` in the function.
    """,
    1.5,
)
def adds_to_a_default(x, total=np.zeros(2)):  # noqa: B008
    total[0] += x
    return total[0] * x


def set_all(values):
    values[:] = 2.0


@refused(
    """
    Unsupported: a change of `total`, whose default is an array
      test_errors.py:+1 in set_all
        values[:] = 2.0
        ^^^^^^^^^^^^^^^
      In Python all calls share the default, so each call sees the changes of the last one.
      Write `total=None`, and `if total is None: total = np.zeros(...)` in the function.
    """,
    1.5,
)
def changes_a_view_of_a_default(x, total=np.zeros(2)):  # noqa: B008
    set_all(total[::-1])
    return total[0] * x


@refused(
    """
    Unsupported: a change of `seen`, whose default is a list of 0
      test_errors.py:+1 in has_an_empty_list_as_default
        seen.append(x)
        ^^^^^^^^^^^^^^
      In Python all calls share the default, so each call sees the changes of the last one.
      Write `seen=None`, and `if seen is None: seen = []` in the function.
    """,
    1.5,
)
def has_an_empty_list_as_default(x, seen=[]):  # noqa: B006
    seen.append(x)
    return len(seen) * x


SEEN = [1.0]


@refused(
    """
    Unsupported: the method `append` of a list from outside
      test_errors.py:+1 in appends_to_a_global_list
        SEEN.append(2.0)
        ^^^^^^^^^^^^^^^^
      Objects from outside the function are constants, as in numba.
      Pass numbers and arrays as arguments, and return the changed values.
    """,
    1.5,
)
def appends_to_a_global_list(x):
    SEEN.append(2.0)
    return x


@refused(
    """
    Unsupported: a change of a global array
      test_errors.py:+1 in writes_a_global_array
        TABLE[0] = x
        ^^^^^^^^^^^^
      Arrays from outside the function are constants, as in numba.
      Pass it as an argument, or copy it first.
    """,
    1.5,
)
def writes_a_global_array(x):
    TABLE[0] = x
    return TABLE[0]


@refused(
    """
    Unsupported: a change of a global array
      test_errors.py:+1 in augments_a_global_array
        TABLE[:] += x
        ^^^^^^^^^^^^^
      Arrays from outside the function are constants, as in numba.
      Pass it as an argument, or copy it first.
    """,
    1.5,
)
def augments_a_global_array(x):
    TABLE[:] += x
    return TABLE[0]


@refused(
    """
    Unsupported: a change of a global array
      test_errors.py:+4 in writes_a_global_array_under_another_name
        other[0] = x
        ^^^^^^^^^^^^
      Arrays from outside the function are constants, as in numba.
      Pass it as an argument, or copy it first.
    """,
    1.5,
)
def writes_a_global_array_under_another_name(x):
    table = TABLE[1:]
    for k in range(2):
        table, other = table[:1], table
        other[0] = x
    return x


def _store(target, value):
    target[0] = value


@refused(
    """
    Unsupported: a change of a global array
      test_errors.py:+1 in _store
        target[0] = value
        ^^^^^^^^^^^^^^^^^
      Arrays from outside the function are constants, as in numba.
      Called from test_errors.py:+1 in has_a_global_array_written.
      Pass it as an argument, or copy it first.
    """,
    1.5,
)
def has_a_global_array_written(x):
    _store(TABLE, x)
    return TABLE[0]


@refused(
    """
    Unwritten: an element of `scratch` is read before it is stored
      test_errors.py:+3 in reads_what_nobody_wrote
        return scratch[0] * scratch[1]
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      np.empty leaves it undefined.
      Use np.zeros.
    """,
    1.5,
)
def reads_what_nobody_wrote(x):
    scratch = np.empty(3)
    scratch[0] = x
    return scratch[0] * scratch[1]


@refused(
    """
    Unsupported: np.sum over an axis that is only known at run time
      test_errors.py:+1 in sums_an_unknown_axis
        return a.sum(axis=k)[0]
               ^^^^^^^^^^^^^
      The remaining axes have to be known at compile time.
      Write the axis as a number, or a tuple of numbers.
    """,
    np.ones((2, 2)),
    1,
)
def sums_an_unknown_axis(a, k):
    return a.sum(axis=k)[0]


@refused(
    """
    TypeMismatch: axis 2 of an array of rank 2
      test_errors.py:+1 in sums_an_axis_that_is_not_there
        return a.sum(axis=2)[0]
               ^^^^^^^^^^^^^
      Give an axis from 0 to 1.
    """,
    np.ones((2, 2)),
)
def sums_an_axis_that_is_not_there(a):
    return a.sum(axis=2)[0]


@refused(
    """
    Unsupported: sort in place, of an array without a name
      test_errors.py:+1 in sorts_in_place
        (a * 2.0).sort()
        ^^^^^^^^^^^^^^^^
      Use np.sort.
    """,
    np.ones(3),
)
def sorts_in_place(a):
    (a * 2.0).sort()
    return a[0]


@refused(
    """
    TypeMismatch: the rows of an array differ in length
      test_errors.py:+1 in ragged_array
        b = np.array([[a[0], a[1]], [a[2]]])
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Give rows of one length.
    """,
    np.ones(3),
)
def ragged_array(a):
    b = np.array([[a[0], a[1]], [a[2]]])
    return b.sum()


# --------------------------------------------------------------------------------------------------- calls


@refused(
    """
    Unsupported: a call of the class Random
      test_errors.py:+1 in calls_what_numba_does_not_know
        return x * random.Random(3).random()
                   ^^^^^^^^^^^^^^^^
      adjit knows list, tuple, dict, set, deque, Counter, defaultdict and OrderedDict.
      Use a class that adjit knows, or define a class.
    """,
    1.5,
)
def calls_what_numba_does_not_know(x):
    return x * random.Random(3).random()


@njit
def _scaled(x, factor):
    return x * factor


@refused(
    """
    WrongCall: _scaled is called without `factor`
      test_errors.py:+1 in forgets_an_argument
        return _scaled(x)
               ^^^^^^^^^^
      Its parameters are x, factor.
      Give each parameter one value, by position or by name.
    """,
    1.5,
)
def forgets_an_argument(x):
    return _scaled(x)


@refused(
    """
    WrongCall: _scaled has no parameter `faktor`
      test_errors.py:+1 in misspells_a_keyword
        return _scaled(x, faktor=2.0)
               ^^^^^^^^^^^^^^^^^^^^^^
      Its parameters are x, factor.
      Give each parameter one value, by position or by name.
    """,
    1.5,
)
def misspells_a_keyword(x):
    return _scaled(x, faktor=2.0)


@refused(
    """
    Unsupported: `**` before a tuple of 2
      test_errors.py:+2 in double_star
        return _scaled(x, **options)
                          ^^^^^^^^^
      Give it a dictionary of names.
    """,
    1.5,
)
def double_star(x):
    options = (1, 2)
    return _scaled(x, **options)


@refused(
    """
    WrongCall: <lambda> is called without `b`
      test_errors.py:+2 in lambda_without_argument
        return f(x)
               ^^^^
      Its parameters are a, b.
      Give each parameter one value, by position or by name.
    """,
    1.5,
)
def lambda_without_argument(x):
    f = lambda a, b: a * b
    return f(x)


@refused(
    """
    Unsupported: a call of a number
      test_errors.py:+1 in calls_a_number
        return x(2.0)
               ^^^^^^
      Call a function.
    """,
    1.5,
)
def calls_a_number(x):
    return x(2.0)


@refused(
    """
    NoRule: math.frexp has no derivative rule
      test_errors.py:+1 in without_a_rule
        return math.frexp(x)[0]
               ^^^^^^^^^^^^^
      It depends on x, which is in wrt.
      Either write a rule:  @adjit.rules.tangent(math.frexp)    or hold it fixed:  adjit.stop_gradient(...)
    """,
    3.0,
)
def without_a_rule(x):
    return math.frexp(x)[0]


@refused(
    """
    NoRule: sinc of complex numbers has no derivative rule
      test_errors.py:+1 in without_a_rule_for_complex_numbers
        return np.sinc(1j * x).imag
               ^^^^^^^^^^^^^^^
      Write it with real and imaginary parts.
    """,
    1.5,
)
def without_a_rule_for_complex_numbers(x):
    return np.sinc(1j * x).imag


@refused(
    """
    TypeMismatch: numba has no operator.matmul(float64[:, :], float64)
      test_errors.py:+1 in product_of_the_wrong_ranks
        return (a @ v[0]).sum()
                ^^^^^^^^
      Check the types and the number of arguments, or write the computation out.
    """,
    np.ones((2, 3)),
    np.ones(2),
)
def product_of_the_wrong_ranks(a, v):
    return (a @ v[0]).sum()


def _sends(x):
    y = yield x
    return y


@refused(
    """
    Unsupported: a value that is sent to a generator is not supported
      test_errors.py:+1 in _sends
        y = yield x
            ^^^^^^^
      Called from test_errors.py:+1 in calls_what_is_refused.
      Write `yield` as a statement, and keep the value in an object.
    """,
    1.5,
)
def calls_what_is_refused(x):
    return sum(_sends(x)) * x


_without_source = eval("lambda x: x * x")


@refused(
    """
    SourceUnavailable: the source of <lambda> cannot be read
      test_errors.py:+1 in calls_what_has_no_text
        return _without_source(x) * x
               ^^^^^^^^^^^^^^^^^^
      It was defined in <string>, line 1. Python keeps no source of code that is executed as a string.
      Define it in a file or a notebook cell. After an edit, import the file or run the cell again.
    """,
    1.5,
)
def calls_what_has_no_text(x):
    return _without_source(x) * x


@refused(
    """
    Unsupported: the shuffling of a list in place, instead of an array
      test_errors.py:+2 in shuffles
        np.random.shuffle(many)
        ^^^^^^^^^^^^^^^^^^^^^^^
      Write the computation out, in loops.
    """,
    np.ones(3),
)
def shuffles(a):
    many = [a[0], a[1]]
    np.random.shuffle(many)
    return many[0]


# ------------------------------------------------------------------------------------------- what is asked for


def half_square(x, n=2):
    return 0.5 * x * x * n


def first_item(pair):
    return pair[0] * 0.5


def two_results(x):
    return x, x * x


def counted(x):
    return int(x)


def nothing(x):
    x = x * x


def exponential(x):
    return np.exp(1j * x)


refused(
    """
    WrongWrt: `x` of half_square is an integer, which has no derivative
      test_errors.py:+0 in half_square
      Derivatives are with respect to floats, and to arrays and tuples of them.
      Pass a float, or leave `x` out of wrt.
    """,
    3,
)(half_square)
refused(
    """
    WrongWrt: `x` of half_square is a boolean, which has no derivative
      test_errors.py:+0 in half_square
      Derivatives are with respect to floats, and to arrays and tuples of them.
      Pass a float, or leave `x` out of wrt.
    """,
    True,
)(half_square)
refused(
    """
    WrongWrt: `x` of half_square is an array of int64, which has no derivative
      test_errors.py:+0 in half_square
      Derivatives are with respect to floats, and to arrays and tuples of them.
      Pass x.astype(float), or leave `x` out of wrt.
    """,
    np.arange(3),
)(half_square)
refused(
    """
    WrongWrt: `pair` of first_item is a tuple of integers, which has no derivative
      test_errors.py:+0 in first_item
      Derivatives are with respect to floats, and to arrays and tuples of them.
      Pass floats, or leave `pair` out of wrt.
    """,
    (1, 2),
)(first_item)
refused(
    """
    WrongWrt: half_square has no parameter 2 to differentiate with respect to
      Its parameters are x, n.
      Give the position or the name of a parameter, or a tuple of them.
    """,
    1.5,
    wrt=2,
)(half_square)
refused(
    """
    WrongWrt: half_square has no parameter 'y' to differentiate with respect to
      Its parameters are x, n.
      Give the position or the name of a parameter, or a tuple of them.
    """,
    1.5,
    wrt="y",
)(half_square)
refused(
    """
    WrongWrt: wrt=(0, 'x') names a parameter of half_square twice
      Its parameters are x, n.
      Name each only once.
    """,
    1.5,
    wrt=(0, "x"),
)(half_square)
refused(
    """
    WrongWrt: wrt=() for half_square
      Its parameters are x, n.
      Give the position or the name of a parameter, or a tuple of them.
    """,
    1.5,
    wrt=(),
)(half_square)
refused(
    """
    WrongWrt: wrt=1.0 for half_square
      Its parameters are x, n.
      Give the position or the name of a parameter, or a tuple of them.
      adjit.grad(f) gives a function: write adjit.grad(f)(x).
    """,
    1.5,
    wrt=1.0,
)(half_square)
refused(
    """
    TypeMismatch: argument `x` of grad(half_square) is of type object
      Pass numbers, NumPy arrays of numbers, or tuples of them.
    """,
    object(),
)(half_square)
refused(
    """
    NotScalar: the gradient of half_square, which returns an array of rank 1
      test_errors.py:+0 in half_square
      A gradient needs a result that is one float.
      Sum it up, or use adjit.vjp or adjit.jacobian. For a result (value, aux) pass has_aux=True.
    """,
    np.ones(3),
)(half_square)
refused(
    """
    Unsupported: target 'gpu'
      Write target="cpu", target="cuda", target="cuda-device" or target="python".
    """,
    1.5,
    target="gpu",
)(half_square)
refused(
    """
    NotScalar: half_square does not return a pair
      test_errors.py:+0 in half_square
      has_aux asks for (value, aux).
      Return a pair, or leave has_aux out.
    """,
    1.5,
    has_aux=True,
)(half_square)
refused(
    """
    NotScalar: the gradient of two_results, which returns a tuple of 2
      test_errors.py:+0 in two_results
      A gradient needs a result that is one float.
      Sum it up, or use adjit.vjp or adjit.jacobian. For a result (value, aux) pass has_aux=True.
    """,
    1.5,
)(two_results)
refused(
    """
    NotScalar: the gradient of counted, which returns an integer
      test_errors.py:+0 in counted
      A gradient needs a result that is one float.
      Return a float that depends on the arguments without rounding or conditions.
    """,
    1.5,
)(counted)
refused(
    """
    NotScalar: the gradient of nothing, which returns nothing
      test_errors.py:+0 in nothing
      A gradient needs a result that is one float.
      End the function with `return` and one number.
    """,
    1.5,
)(nothing)
refused(
    """
    NotScalar: the gradient of exponential, which returns complex numbers
      test_errors.py:+0 in exponential
      A gradient needs a result that is one float.
      Return its real part, or abs() of it, use adjit.vjp with a complex seed, or pass holomorphic=True.
    """,
    1.5,
)(exponential)
refused(
    """
    SourceUnavailable: the source of <lambda> cannot be read
      It was defined in <string>, line 1. Python keeps no source of code that is executed as a string.
      Define it in a file or a notebook cell. After an edit, import the file or run the cell again.
    """,
    1.5,
)(_without_source)
refused(
    """
    SourceUnavailable: len is not a Python function
      It is of type builtin_function_or_method; adjit reads functions, lambdas and functions that numba compiles.
      Write a function that calls it: lambda x: len(x).
    """,
    1.5,
)(len)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_message(case: Refusal) -> None:
    with pytest.raises(AdjitError) as fault:
        adjit.grad(case.function, case.wrt, **{"target": "python", **case.options})(*case.arguments)
    assert relative(fault.value.message, case.function) == case.message


# ------------------------------------------------------------------------------------- seeds, tangents, what runs


def scaled_sum(a: Any, x: Any) -> Any:
    return a * x


def _pulled(seed: Any) -> Any:
    return adjit.vjp(scaled_sum, np.ones(3), 2.0, target="python")[1](seed)


def _pushed(*tangents: Any) -> Any:
    return adjit.jvp(scaled_sum, (np.ones(3), 2.0), tangents, target="python")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _pulled(np.ones(2)), "the seed is an array of shape (2,), not an array of shape (3,)"),
        (lambda: _pulled(np.ones((3, 1))), "the seed is an array of shape (3, 1), not an array of shape (3,)"),
        (lambda: _pulled(1.0), "the seed is of type float, not an array of shape (3,)"),
        (lambda: _pulled((np.ones(3),)), "the seed is a tuple of 1, not an array of shape (3,)"),
        (lambda: _pushed(np.ones(3)), "the tangents of scaled_sum are a tuple of 1, not a tuple of 2"),
        (
            lambda: _pushed(np.ones(4), 0.0),
            "the tangent of argument 'a' is an array of shape (4,), not an array of shape (3,)",
        ),
        (
            lambda: _pushed(np.ones(3), np.ones(3)),
            "the tangent of argument 'x' is an array of shape (3,), not a number",
        ),
        (lambda: _pushed(np.ones(3), "up"), "the tangent of argument 'x' is of type str, not a number"),
    ],
)
def test_seeds_and_tangents_that_do_not_fit(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(AdjitError) as fault:
        call()
    instead = "Give a float." if "a number" in message else "Give a NumPy array of that shape."
    instead = "Give one tangent per argument, with the shape of the argument." if "a tuple of 2" in message else instead
    assert fault.value.message == f"TypeMismatch: {message}\n  {instead}"


def written_product(a: Any, b: Any) -> Any:
    a[0] = a[1] * b[0]
    return (a * b).sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_arguments_that_share_memory(target: str) -> None:
    base = np.ones(3)
    with pytest.raises(AdjitError) as fault:
        adjit.grad(written_product, (0, 1), target=target)(base[:2], base[1:])
    assert (
        fault.value.message
        == "Aliased: two arguments share memory, and the function writes into one of them\n  Pass a copy."
    )


def unequal(a: Any, b: Any) -> Any:
    return (a * b).sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_operands_that_do_not_fit_fail_when_they_run(target: str) -> None:
    with pytest.raises(ValueError, match="operands could not be broadcast together"):
        adjit.grad(unequal, target=target)(np.ones(3), np.ones(2))


def of_real_numbers(a: Any) -> Any:
    return np.sum(np.linalg.eigvals(a))


@pytest.mark.skipif(SPECTRA_ARE_COMPLEX, reason="eigenvalues are complex numbers from NumPy 2.5 on")
@pytest.mark.parametrize("target", ["python", pytest.param("cpu", marks=pytest.mark.long)])
def test_complex_results_of_real_numbers_are_an_error(target: str) -> None:
    with pytest.raises(ValueError, match=r"eigvals\(A.astype\(complex\)\)"):
        adjit.grad(of_real_numbers, target=target)(np.array([[0.0, 1.0], [-1.0, 0.1]]))


def positive_root(x: Any) -> Any:
    assert x < 1e6, "out of range"
    if x < 0.0:
        raise ValueError("no root of a negative number")
    return np.sqrt(x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_the_program_raises_is_raised(target: str) -> None:
    derived = adjit.grad(positive_root, target=target)
    with pytest.raises(ValueError, match="no root of a negative number"):
        derived(-1.0)
    with pytest.raises(AssertionError, match="out of range"):
        derived(1e7)


UNIT = "metres"


class OutOfRange(ValueError):
    def __init__(self, text: str, value: float, code: int = 7) -> None:
        super().__init__(text)
        self.value, self.code = value, code


def positive(v: Any, name: str) -> None:
    if v < 0.0:
        raise ValueError(f"{name} must be positive, got {v}")


def told(x: Any, n: Any) -> Any:
    if x < 0.0:
        raise ValueError("a length in " + UNIT + f" is no {x:.2f} {UNIT}")
    assert n < 20, "too many: %d, %5.1f%%" % (n, x)
    y = np.array([x, 2.0 * x])
    said = f"step {n}"
    if n == 5:
        raise IndexError(UNIT, 3, n, "", x)
    if n == 6:
        raise RuntimeError("{0} of {k:>3d}: {0:+.1e}".format(x, k=n) + " in " + str(y[1]))
    if n == 7:
        raise ArithmeticError(f"{x=} {{y}} = {y} of {y.shape},\n{n:0{4}d} {UNIT!r:>10} {(x, [n])}")
    if n == 8:
        raise OutOfRange(f"{x} is out of range", x)
    if n == 9:
        raise OverflowError(said)
    if n == 10:
        positive(x - 10.0, "mass")
    for k in range(n):
        said = f"{k}: {y[0] * k}"
        if x * k > 30.0:
            raise FloatingPointError(said)
    assert n != 11, f"no {len(y)} {x > 1.0} {1 + 2} {'text'}"
    return x * n


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_an_exception_says(target: str) -> None:
    derived = adjit.value_and_grad(told, target=target)
    for x, n in ((-1.5, 3), (1.0, 25), *((1.25, n) for n in range(5, 12)), (8.0, 15)):
        with pytest.raises((ValueError, AssertionError, LookupError, RuntimeError, ArithmeticError)) as wanted:
            told(x, n)
        with pytest.raises(type(wanted.value)) as raised:
            derived(x, n)
        assert type(raised.value) is type(wanted.value)
        # (to that of an assertion pytest adds)
        args = [a.partition("\nassert")[0] if isinstance(a, str) else a for a in wanted.value.args]
        assert list(raised.value.args) == args
        assert vars(raised.value) == vars(wanted.value)
    assert derived(1.25, 4) == (5.0, 4.0)


def test_what_an_exception_says_in_halves_forward_and_saved(tmp_path: Any) -> None:
    for run in (lambda: adjit.vjp(told, -1.5, 3), lambda: adjit.jvp(told, (-1.5, 3), (1.0, 0))):
        with pytest.raises(ValueError, match=r"^a length in metres is no -1.50 metres$"):
            run()
    file = tmp_path / "saved.py"
    adjit.grad(told).save(file, 1.5, 3)
    scope: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    with pytest.raises(ValueError, match=r"^a length in metres is no <x> metres$"):
        scope["told_grad"](-1.5, 3)
    assert scope["told_grad"](1.5, 3) == 3.0


RATE = 2.0


def rated(x: Any) -> Any:
    return RATE * x * x


def test_a_global_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in numba: what is compiled keeps the value it saw; what is derived anew sees the new one."""
    before = adjit.grad(rated)
    compiled = njit(rated)
    assert before(1.0) == 4.0
    assert compiled(1.0) == 2.0
    monkeypatch.setattr(f"{__name__}.RATE", 3.0)
    assert compiled(1.0) == 2.0
    assert before(1.0) == 4.0
    assert adjit.grad(rated)(1.0) == 6.0
