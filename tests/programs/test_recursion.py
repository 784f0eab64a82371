"""Recursion of run-time depth: right in all modes, and refused where a loop with stacks cannot stand for it."""

import math

import numpy as np
import pytest

import adjit
from tests.programs.harness import check
from tests.programs.recursive import RECURSIVE
from tests.programs.rows import Row


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", RECURSIVE.rows, ids=lambda row: row.name)
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, single=row.single, tolerance=row.tolerance)


@pytest.mark.parametrize("row", [row for row in RECURSIVE.rows if row.compiled], ids=lambda row: row.name)
def test_compiled(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, target="cpu", tolerance=row.tolerance)


def test_memory_goes_with_the_calls_and_not_with_the_depth_alone() -> None:
    """What is fixed is no item of a stack; what the adjoint needs of each call is."""

    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    text = adjit.grad(power).source("float64, int64")
    assert "x_stack" not in text
    assert adjit.grad(power)(1.01, 5000) == pytest.approx(5000 * 1.01**4999)


def test_recursion_without_an_end() -> None:
    def forever(x):
        return math.sin(x) + forever(x - 1.0)

    with pytest.raises(RecursionError, match="forever calls itself more than 1000000 calls deep"):
        adjit.jvp(forever, (1.5,), (1.0,))


def own_stack(x, n):
    stack = [x * k for k in range(1, n + 1)]
    total = stack.pop() + stack.pop()
    return total if n < 5 else total * own_stack(x, n - 3)


def handed_list(items, x, n):
    return x if n == 0 else items.pop() * handed_list(items, x, n - 1)


def with_handed_list(x, n):
    return handed_list([x, 2.0 * x, x * x], x, n)


def popped_after_the_call(items, x, n):
    if n == 0:
        return x
    rest = popped_after_the_call(items, x, n - 1)
    return items.pop(0) * rest


def with_a_list_that_grew(x, n):
    items = []
    for k in range(3):
        items.append(x + k)
    return popped_after_the_call(items, x, n)


def with_an_inner_function(x, n):
    def power(items, k):
        return x if k == 0 else items.pop() * power(items, k - 1)

    return power([x, x], n)


@pytest.mark.parametrize(
    "function", [own_stack, with_handed_list, with_a_list_that_grew, with_an_inner_function], ids=lambda f: f.__name__
)
def test_pop_of_a_list_of_the_users(function) -> None:
    """The stacks of the loop that stands for the calls are never empty; lists of the user's may be."""
    derived, empty = adjit.value_and_grad(function, target="cpu"), 0
    for n in range(7):
        try:
            value = function(1.5, n)
        except IndexError:
            empty += 1
            with pytest.raises(IndexError, match=r"out of bounds for a list with size 0\n  test_recursion.py:\d+ in"):
                derived(1.5, n)
        else:
            slope = (function(1.5 + 1e-6, n) - function(1.5 - 1e-6, n)) / 2e-6
            # the error of the difference
            assert derived(1.5, n) == pytest.approx((value, slope), rel=1e-8)
    assert 0 < empty < 6


def of_parts(items, x):
    return x if not items else items[0] * of_parts(items[1:], x) + items[5]


def test_what_a_call_that_is_written_out_cannot_do_is_named() -> None:
    with pytest.raises(adjit.errors.TypeMismatch, match="a tuple of 1 has no item 5\n  test_recursion"):
        adjit.grad(lambda x: of_parts((1.0, 2.0, 3.0), x))(2.0)


def in_a_try(x, n):
    if n == 0:
        return x
    try:
        y = in_a_try(x, n - 1)
    except ValueError:
        y = 0.0
    return y * x


def in_a_comprehension(x, n):
    if n == 0:
        return x
    return max([in_a_comprehension(x * 0.5, n - 1) for _ in range(2)])


def under_another_name(x, n):
    again = under_another_name
    return x if n == 0 else again(x, n - 1) * x


def in_a_chain(x, n):
    return x if n == 0 or 0.0 < in_a_chain(x, n - 1) < 1.0 else 2 * x


def in_a_target(x, n):
    a = np.zeros(3)
    a[int(in_a_target(x, n - 1))] = x
    return a[0]


def in_an_index(x, n):
    a = np.zeros(3)
    a[int(x)] += in_an_index(x, n - 1)
    return a[0]


def with_a_default_array(x, n, w=np.ones(2)):  # noqa: B008
    return x if n == 0 else with_a_default_array(x, n - 1) * w[0]


def with_a_star(x, n):
    given = (x, n - 1)
    return x if n == 0 else with_a_star(*given)


lambda_that_calls_itself = lambda x, n: x if n == 0 else x * lambda_that_calls_itself(x, n - 1)  # noqa: E731


def changes_what_its_caller_keeps(a, n):
    if n == 0:
        a[0] = 3.0 * a[0]
        return 0.0
    s = changes_what_its_caller_keeps(a[1:], n - 1)
    return s + a[1] * a[0]


def kept_by_callers(x, n):
    return changes_what_its_caller_keeps(x * 1.0, n)


def changes_one_of_two(t, b, n):
    if n <= 0:
        return t[0]
    own = 0.5 * changes_one_of_two(t, b, n - 1)
    b *= 2.0
    return t[1] * own


def one_array_under_two_names(x, n):
    e = x * 1.0
    return changes_one_of_two(e, e, n)


def changes_a_parameter_that_it_also_makes(x, y, n):
    if n == 0:
        return y[0]
    if x[0] > 100.0:
        x = np.zeros(3)
    x[0] = x[0] * 2.0
    below = changes_a_parameter_that_it_also_makes(y, y * 1.0, n - 1)
    return below + y[0]


def one_array_as_both(x, n):
    both = x * 1.0
    return changes_a_parameter_that_it_also_makes(both, both, n)


@pytest.mark.parametrize(
    ("function", "message", "first"),
    [
        (in_a_try, "in_a_try calls itself inside `try`", 0.5),
        (in_a_comprehension, "in_a_comprehension calls itself inside a comprehension or lambda", 0.5),
        (under_another_name, "under_another_name, which calls itself under another name", 0.5),
        (in_a_chain, "in_a_chain calls itself in a chain of comparisons", 0.5),
        (in_a_target, "in_a_target calls itself in the target of an assignment", 0.5),
        (in_an_index, "calls itself in an augmented assignment to an element whose index is computed", 0.5),
        (with_a_default_array, r"without `w`, whose default is not a number\n(.*\n)*.*Pass it in each call", 0.5),
        (with_a_star, r"with `\*` or `\*\*`\n(.*\n)*.*Give each argument by itself", 0.5),
        (lambda_that_calls_itself, "<lambda> calls itself", 0.5),
        (kept_by_callers, "an array that is used after a recursive call, in a function", np.ones(5)),
        (one_array_as_both, "an array that is used after a recursive call", np.ones(3)),
        (one_array_under_two_names, "an array that is used after a recursive call", np.ones(3)),
    ],
)
def test_refused(function, message: str, first) -> None:
    with pytest.raises(adjit.AdjitError, match=message) as caught:
        adjit.grad(function)(first, 2)
    assert "test_recursion.py" in str(caught.value)
