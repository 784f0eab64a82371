"""An infinite or undefined partial of a value that no branch selects reaches nothing."""

from __future__ import annotations

import numpy as np

import adjit

X = np.array([0.0, 4.0, -1.0, 9.0])


def gradient(function, *arguments):
    with np.errstate(all="ignore"):
        return adjit.grad(function, target="python")(*arguments)


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
    found = adjit.hessian(square_of_a_selection, target="python")(np.array([1.0, 4.0]))
    np.testing.assert_allclose(found, np.diag([0.5, 0.0625]), rtol=1e-12)
    gradient = adjit.grad(square_of_a_selection, target="python")
    rows = adjit.jacrev(gradient, target="python")(np.array([1.0, 4.0]))
    np.testing.assert_allclose(rows, np.diag([0.5, 0.0625]), rtol=1e-12)
