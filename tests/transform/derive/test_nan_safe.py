"""An infinite or undefined partial of a value that no branch selects reaches nothing."""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

X = np.array([0.0, 4.0, -1.0, 9.0])


def gradient(function, *arguments):
    with np.errstate(all="ignore"):
        return adjit.grad(function, target="python", strategy=CHEAPEST)(*arguments)


def where_of_arrays(x):
    roots = np.sqrt(x)
    logs = x * np.log(x)
    return np.where(x > 0.0, roots, 2.0 * x).sum() + np.where(x > 1.0, logs, 0.0).sum()


def test_where_of_arrays_made_before():
    wanted = [2.0, 0.25 + np.log(4.0) + 1.0, 2.0, 1.0 / 6.0 + np.log(9.0) + 1.0]
    np.testing.assert_allclose(gradient(where_of_arrays, X), wanted, rtol=1e-14)


def branch_in_a_loop(x):
    inverse = np.empty(x.size)
    for i in range(x.size):
        inverse[i] = 3.0 / x[i]
    total = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            total += inverse[i]
        else:
            total += x[i]
    return total


def test_a_branch_of_a_loop():
    np.testing.assert_allclose(gradient(branch_in_a_loop, X), [1.0, -3.0 / 16.0, -3.0, -3.0 / 81.0], rtol=1e-14)


def all_selected(x):
    roots = np.sqrt(x)
    return np.where(x > -5.0, roots, x).sum()


def test_where_it_is_selected_it_is_infinite_as_agreed():
    found = gradient(all_selected, np.array([0.0, 4.0]))
    assert found[0] == np.inf
    assert found[1] == 0.25


def square_of_a_selection(x):
    roots = np.sqrt(x)
    shifted = np.where(x > 0.0, roots - 1.0, 0.0)
    return (shifted * shifted).sum()


def test_an_adjoint_that_is_zero_by_chance_has_its_derivative():
    """At x == 1 the adjoint of the root is 2 (1 - 1) = 0, and the second derivative 1 / 2."""
    found = adjit.hessian(square_of_a_selection, target="python", strategy=CHEAPEST)(np.array([1.0, 4.0]))
    np.testing.assert_allclose(found, np.diag([0.5, 0.0625]), rtol=1e-12)
    gradient = adjit.grad(square_of_a_selection, target="python", strategy=CHEAPEST)
    rows = adjit.jacrev(gradient, target="python", strategy=CHEAPEST)(np.array([1.0, 4.0]))
    np.testing.assert_allclose(rows, np.diag([0.5, 0.0625]), rtol=1e-12)


# -------------------------------------------------------- what is overwritten, or not read: the adjoint is zero as well


def overwritten_element(x):
    y = np.sqrt(x)
    y[0] = 2.0
    return (y * y * x).sum()


def overwritten_under_a_mask(x):
    y = 1.0 / x
    y[np.isinf(y)] = 0.0
    z = y * y
    return np.sum(z * x)


def overwritten_by_an_index_array(x):
    y = np.sqrt(x)
    y[np.array([0, 0])] = 1.0
    return np.sum(y * y * y)


def overwritten_in_a_loop(x):
    y = np.sqrt(x)
    for _ in range(3):
        y[0] = x[1]
        y = y * 1.5
    return np.sum(y * y)


def overwritten_in_place(x):
    y = x.copy()
    for i in range(4):
        y[i] = np.sqrt(y[i])
        if x[i] == 0:
            y[i] = 1.0
    return (y * y * y).sum()


def overwritten_further_on(x):
    y = np.sqrt(x)
    z = y * x + 1.0
    w = np.cumsum(z[1:])
    z[0] = 3.0
    return z.sum() * w.sum()


def overwritten_columns(x):
    m = np.empty((2, 2))
    m[0] = np.sqrt(x[:2])
    m[1] = np.log(x[:2])
    m[:, 0] = 1.0
    return np.sum(m @ m)


def overwritten_in_one_of_two_buffers(x):
    u, v = np.sqrt(x), np.empty(4)
    for _ in range(2):
        for i in range(4):
            v[i] = np.sqrt(u[i]) + 0.1 * x[i]
        v[0] = 1.0
        u, v = v, u
    return np.sum(u)


def never_read(x):
    y = np.sqrt(x)
    return y[1:].sum() + y[2] * y[3]


def read_by_a_norm(x):
    y = np.sqrt(x)
    return np.linalg.norm(y[1:])


def read_in_two_branches(x):
    s, t = np.sqrt(x[0]), x[2]
    if x[0] > 0:
        t += s
    u = t * x[1]
    if x[0] > 1:
        u += 2 * s
    return u


def read_where_it_is_a_condition(x):
    y, t = np.sqrt(x), 0.0
    for v in y:
        if v > 0:
            t += v
    return t


def read_unless_the_loop_ends(x):
    t = 0.0
    for i in range(1, 5):
        s = np.sqrt(x[4 - i])
        if s == 0.0:
            break
        t += s
    return t


def read_by_the_next_trip(x):
    s, t = 1.0, 0.0
    for i in range(4):
        t += s * x[i]
        s = np.sqrt(x[(i + 1) % 4])
    return t


def read_after_the_last_trip(x):
    s = 1.0
    for i in range(4):
        s = np.sqrt(x[i])
    return s


def an_inverse_that_is_not_finite(x):
    y = 1.0 / x
    y = np.where(np.isfinite(y), y, 0.0)
    return np.sum(y * x)


ROOT_OF_ZERO = np.array([0.0, 4.0, 9.0, 1.0])
UNREAD = [
    overwritten_element, overwritten_under_a_mask, overwritten_by_an_index_array, overwritten_in_a_loop,
    overwritten_in_place, overwritten_further_on, overwritten_columns, overwritten_in_one_of_two_buffers, never_read,
    read_by_a_norm, read_in_two_branches, read_where_it_is_a_condition, read_unless_the_loop_ends,
    read_by_the_next_trip, read_after_the_last_trip, an_inverse_that_is_not_finite,
]  # fmt: skip


@pytest.mark.parametrize("program", UNREAD)
def test_what_nobody_reads_contributes_nothing(program):
    """Forward mode, whose tangents go with the values, tells the right gradient."""
    with np.errstate(all="ignore"):
        directions = np.eye(4)
        wanted = [adjit.jvp(program, (ROOT_OF_ZERO,), (d,), target="python", strategy=CHEAPEST)[1] for d in directions]
        found = gradient(program, ROOT_OF_ZERO)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_compiled():
    np.testing.assert_allclose(adjit.grad(overwritten_element)(ROOT_OF_ZERO), [4.0, 8.0, 18.0, 2.0], rtol=1e-14)


def missing(x, w):
    y = x * w
    y[np.isnan(x)] = 0.0
    return y.sum()


def test_an_undefined_input_that_is_overwritten_reaches_nothing():
    found = adjit.grad(missing, wrt="w", target="python", strategy=CHEAPEST)(
        np.array([1.0, np.nan]), np.array([2.0, 3.0])
    )
    np.testing.assert_array_equal(found, [1.0, 0.0])


# ------------------------------------------------------------------------------------ forward mode: what does not move


def power(x, p):
    return (-x) ** p


def test_an_exponent_that_does_not_move():
    assert adjit.jvp(power, (0.5, 2.0), (1.0, 0.0), target="python", strategy=CHEAPEST) == (0.25, 1.0)
    assert np.isnan(adjit.jvp(power, (0.5, 2.0), (0.0, 1.0), target="python", strategy=CHEAPEST)[1])
    gradient = adjit.grad(power, target="python", strategy=CHEAPEST)
    assert adjit.jvp(gradient, (0.5, 2.0), (1.0, 0.0), target="python", strategy=CHEAPEST) == (1.0, 2.0)


def test_a_base_that_does_not_move():
    assert adjit.jvp(lambda x, p: x**p, (0.0, 0.5), (0.0, 1.0)) == (0.0, 0.0)


def test_an_exponent_in_the_same_array():
    columns = adjit.jacfwd(lambda a: (-a[0]) ** a[1], target="python", strategy=CHEAPEST)(np.array([0.5, 2.0]))
    assert columns[0] == 1.0
    assert np.isnan(columns[1])


def read_along_an_axis(x, w):
    scores = np.empty(x.size)
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            scores[j] = np.exp(x[j] / x[i])
        for k in range(w.shape[1]):
            for j in range(x.size):
                total += scores[j] * w[j, k]
    return total


def test_what_only_arrays_without_elements_leave_unread_has_no_test():
    assert "isnan" not in adjit.grad(read_along_an_axis, target="python", strategy=CHEAPEST).source(
        X, np.ones((4, 2)), tuned=True
    )
