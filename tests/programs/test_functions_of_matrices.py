"""Functions of matrices by eigenvalues and vectors, or singular ones, where values are equal, exactly or nearly.

Both modes give what differences give; where it matters which vectors of a space LAPACK gives, or that cannot be seen
not to, nan, and `debug="nan"` names the line.
"""

from __future__ import annotations

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST

PLAIN = {"target": "python", "strategy": CHEAPEST}
TURN = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.7, 1.0]]))[0]
WEIGHTS = np.arange(9.0).reshape(3, 3) - 2.5


def like(*values):
    found = TURN @ np.diag(values) @ TURN.T
    return 0.5 * (found + found.T)


MATRICES = {
    "all equal": 2.0 * np.eye(3),
    "two equal": np.diag([1.0, 1.0, 4.0]),
    "two equal, turned": like(1.0, 1.0, 4.0),
    "nearly, 1e-14": like(1.0, 1.0 + 1e-14, 4.0),
    "nearly, 1e-9": like(2.0, 1.0, 1.0 + 1e-9),
    "nearly, 1e-7": like(1.0, 1.0 + 1e-7, 4.0),
    "none": like(1.0, 2.0, 3.0),
}


def differences(function, a):
    found = np.zeros(np.shape(function(a)) + a.shape)
    for place in np.ndindex(a.shape):
        step = np.zeros(a.shape)
        step[place] = 1e-5
        found[(..., *place)] = (function(a + step) - function(a - step)) / 2e-5
    return found


def check(function, a, **options):
    with np.errstate(all="ignore"):
        reverse, forward = adjit.jacrev(function, **options)(a), adjit.jacfwd(function, **options)(a)
    wanted = differences(function, a)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(forward, reverse, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(reverse, wanted, rtol=1e-6, atol=1e-6 * scale)


def scaled_columns(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v * np.sqrt(w)) @ v.T * WEIGHTS)


def diagonal(a):
    w, v = np.linalg.eigh(a)
    return np.sum(v @ np.diag(w**-0.5) @ v.T * WEIGHTS)


def scaled_rows(a):
    w, v = np.linalg.eigh(a)
    return np.sum(v @ (np.log(w)[:, None] * v.conj().T) * WEIGHTS)


def einstein_sum(a):
    w, v = np.linalg.eigh(a)
    return np.sum(np.einsum("ij,j,kj->ik", v, np.exp(w), v) * WEIGHTS)


def vector(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v @ (np.exp(-w) * (v.T @ WEIGHTS[0]))) ** 2)


def regularised_solve(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v @ ((v.T @ WEIGHTS) / (w[:, None] + 0.1)))[0] ** 2)


def whitened(a):
    w, v = np.linalg.eigh(a)
    white = WEIGHTS @ (v / np.sqrt(np.maximum(w, 1e-10)))
    return np.sum((white @ white.T) ** 2)


def inverse_above_a_bound(a):
    w, v = np.linalg.eigh(a)
    w, v = w[::-1], v[:, ::-1]
    return np.sum((v * np.where(w > 1e-3, 1.0 / w, 0.0)) @ v.T * WEIGHTS)


def squares(a):
    w, v = np.linalg.eigh(a)
    return np.sum(v**2 * np.sqrt(w) * WEIGHTS[0][:, None]) + np.dot((v.T @ WEIGHTS[1]) ** 2, np.log(w))


def squares_of_each_row(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v**2 @ np.exp(w)) ** 2) + np.sum(np.einsum("ij,j,ij->i", v, w**3, v) * WEIGHTS[2])


def lyapunov(a):
    w, v = np.linalg.eigh(a)
    inner = (v.T @ WEIGHTS @ v) / (w[:, None] + w[None, :])
    return np.sum(v @ inner @ v.T * WEIGHTS.T)


def loops(a):
    w, v = np.linalg.eigh(a)
    total = 0.0
    for i in range(w.size):
        for j in range(w.size):
            for k in range(w.size):
                total += v[i, k] * np.exp(0.5 * w[k]) * v[j, k] * WEIGHTS[i, j]
    return total


def outer_products(a):
    w, v = np.linalg.eigh(a)
    found = np.zeros((3, 3))
    for k in range(w.size):
        found += np.sqrt(w[k]) * np.outer(v[:, k], v[:, k])
    return np.sum(found * WEIGHTS)


def in_a_helper_and_twice(a):
    def apply(m, f):
        w, v = np.linalg.eigh(m)
        return v @ np.diag(f(w)) @ v.T

    root = apply(a, np.sqrt)
    return np.sum(apply(root @ a @ root + a, np.log) * WEIGHTS)


def in_a_loop_over_times(a):
    w, v = np.linalg.eigh(a)
    total = np.zeros(3)
    for t in range(4):
        total = total + (v * np.exp(-0.3 * t * w)) @ (v.T @ WEIGHTS[t % 3])
    return np.sum(total**2)


def all_but_the_last(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v[:, :-1] * np.exp(w[:-1])) @ v[:, :-1].T * WEIGHTS) + np.sum(np.outer(v[:, 2], v[:, 2]) * w[2] * a)


def of_singular_values(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(u @ np.diag(np.sqrt(s)) @ vt * WEIGHTS) + np.sum((u * s**2) @ u.T * WEIGHTS)


def shrunk(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return np.sum((u * np.maximum(s - 0.3, 0.0)) @ vt * WEIGHTS)


def with_a_floor(a):
    w, v = np.linalg.eigh(a)
    w[w < 1.5] = 1.5
    return np.sum(v @ np.diag(w) @ v.T * WEIGHTS)


def changed_in_place_several_times(a):
    w, v = np.linalg.eigh(a)
    f = w.copy()
    f *= w
    f[f > 9.0] = 9.0
    f[:] = np.clip(f, 1.5, 8.0) + w
    return np.sum((v * f) @ v.T * WEIGHTS)


def chosen_in_a_loop(a):
    w, v = np.linalg.eigh(a)
    f = np.zeros(w.size)
    for k in range(w.size):
        if w[k] > 1.5:
            f[k] = 1.0 / w[k]
        elif w[k] > 0.5:
            f[k] = w[k] ** 2
            f[k] += 1.0
    return np.sum((v * f) @ v.T * WEIGHTS)


def hard_threshold(a):
    u, s, vt = np.linalg.svd(a)
    s[s < 1.5] = 0.0
    return np.sum((u * s) @ vt * WEIGHTS)


EVERYWHERE = [
    [scaled_columns, diagonal, scaled_rows, einstein_sum, vector, regularised_solve],
    [whitened, inverse_above_a_bound, squares, squares_of_each_row, lyapunov],
    [loops, outer_products, in_a_helper_and_twice, in_a_loop_over_times],
    [of_singular_values, shrunk, hard_threshold],
    [with_a_floor, changed_in_place_several_times, chosen_in_a_loop],
]


@pytest.mark.parametrize("functions", EVERYWHERE)
def test_functions_of_a_matrix(functions):
    """Each adds to a result of its own: a nan of one of them is not lost in the others."""

    def all_of_them(a):
        found = np.zeros(len(functions))
        for k, function in enumerate(functions):
            found[k] = function(a)
        return found

    for a in MATRICES.values():
        check(all_of_them, a, **PLAIN)


def some_of_them(a):
    return scaled_columns(a) + diagonal(a) + squares_of_each_row(a) + shrunk(a)


def test_compiled():
    gradient = adjit.grad(some_of_them)
    for a in (MATRICES["all equal"], MATRICES["nearly, 1e-14"], MATRICES["none"]):
        wanted = differences(some_of_them, a)
        np.testing.assert_allclose(gradient(a), wanted, atol=1e-6 * np.abs(wanted).max())
        v = np.eye(3) + 0.1 * WEIGHTS
        _, tangent = adjit.jvp(some_of_them, (a,), (v,))
        np.testing.assert_allclose(tangent, np.sum(gradient(a) * v), rtol=1e-9)


@pytest.mark.parametrize("name", ["two equal", "two equal, turned", "nearly, 1e-14", "none"])
def test_a_part_that_has_the_whole_space(name):
    check(all_but_the_last, MATRICES[name], **PLAIN)


def truncated(a):
    u, s, vt = np.linalg.svd(a)
    return np.sum(u[:, :1] * s[:1] @ vt[:1] * WEIGHTS)


def truncated_of_a_tall_matrix(a):
    u, s, vt = np.linalg.svd(np.vstack((a, 0.5 * a)), full_matrices=False)
    return np.sum((u[:, :1] * s[:1]) @ vt[:1, :])


@pytest.mark.parametrize("function", [truncated, truncated_of_a_tall_matrix])
@pytest.mark.parametrize("name", ["two equal", "two equal, turned", "nearly, 1e-14", "none"])
def test_a_truncated_decomposition_whose_tail_is_equal(function, name):
    check(function, MATRICES[name], **PLAIN)


def test_low_rank():
    """The tail is zero, up to rounding or exactly."""
    for a in (np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0]), np.diag([3.0, 0.0, 0.0])):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(adjit.grad(truncated, **PLAIN)(a), differences(truncated, a), atol=1e-6)


def of_zeros(a):
    """A function that is zero at zero: its adjoints are zero there, and its derivative is not."""
    u, s, vt = np.linalg.svd(a)
    return np.sum((u * np.sin(s)) @ vt * WEIGHTS)


def of_zeros_not_followed(a):
    w, v = np.linalg.eigh(a)
    w = np.sort(w)
    return np.sum((v * w) @ v.T * WEIGHTS)


@pytest.mark.parametrize("function", [of_zeros, of_zeros_not_followed])
def test_an_adjoint_of_zero_is_not_that_of_what_nobody_reads(function):
    with np.errstate(all="ignore"):
        for derivative in (adjit.grad, adjit.jacfwd):
            assert np.isnan(derivative(function, **PLAIN)(np.diag([3.0, 0.0, 0.0]))).any()


# ------------------------------------------------------------------------------------ where the vectors matter


def element(a):
    return np.linalg.eigh(a)[1][0, 0] ** 2


def part_of_a_space(a):
    w, v = np.linalg.eigh(a)
    return np.sum(v[:, :1] * np.exp(w[:1]) @ v[:, :1].T)


def sum_of_vectors(a):
    w, v = np.linalg.eigh(a)
    return np.sum(v / np.sqrt(w))


def weights_by_position(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v * (w * np.arange(3.0))) @ v.T * WEIGHTS)


def sizes_of_elements(a):
    return np.sum(np.abs(np.linalg.eigh(a)[1]))


def rows_of_u(a):
    return np.sum(np.linalg.svd(a)[0][0] ** 4)


@pytest.mark.parametrize(
    "function", [element, part_of_a_space, sum_of_vectors, weights_by_position, sizes_of_elements, rows_of_u]
)
def test_the_choice_of_vectors_is_nan(function):
    for name in ("all equal", "nearly, 1e-14"):
        with np.errstate(all="ignore"):
            reverse, forward = (
                adjit.grad(function, **PLAIN)(MATRICES[name]),
                adjit.jacfwd(function, **PLAIN)(MATRICES[name]),
            )
        assert np.array_equal(np.isnan(reverse), np.isnan(forward))
        assert np.isnan(reverse).any()
    check(function, MATRICES["none"], **PLAIN)
    for derivative in (adjit.grad, adjit.jacfwd):
        with pytest.raises(FloatingPointError, match=r"(eigh|svd)\("):
            derivative(function, debug="nan", target="python")(MATRICES["nearly, 1e-14"])


def by_an_element_of_memory(a):
    w, v = np.linalg.eigh(a)
    kept, found = np.zeros(1), np.zeros((3, 3))
    for k in range(w.size):
        kept[0] = np.exp(w[k])
        for i in range(w.size):
            found[i, k] = v[i, k] * kept[0]
    return np.sum(found @ v.T * WEIGHTS)


def by_steps_of_newton(a):
    w, v = np.linalg.eigh(a)
    found = np.zeros((3, 3))
    for k in range(w.size):
        x = 3.0
        while abs(x * x - w[k]) > 1e-12:
            x = 0.5 * (x + w[k] / x)
        for i in range(w.size):
            found[i, k] = v[i, k] * x
    return np.sum(found @ v.T * WEIGHTS)


def by_carried_products(a):
    w, v = np.linalg.eigh(a)
    found = np.zeros((3, 3))
    for k in range(w.size):
        power, last = w[k], 1.0
        for _ in range(2):
            last = power
            power = power * w[k]
        for i in range(w.size):
            found[i, k] = v[i, k] * (power + last)
    return np.sum(found @ v.T * WEIGHTS)


def by_a_sum_beside(a):
    w, v = np.linalg.eigh(a)
    total = 0.0
    for k in range(w.size):
        carried = 0.0
        for j in range(3):
            half = 0.5 * carried
            carried = carried + w[k] * j
            for i in range(w.size):
                total += v[i, k] * half * v[0, k] * WEIGHTS[i, j]
    return total


def by_rows_of_weights(a):
    w, v = np.linalg.eigh(a)
    found = np.zeros((3, 3))
    for k in range(w.size):
        own = WEIGHTS[k]
        for i in range(w.size):
            found[i, k] = v[i, k] * own[0] * w[k]
    return np.sum(found @ v.T * WEIGHTS)


def by_matrices_of_each_value(a):
    w, v = np.linalg.eigh(a)
    found = np.zeros(3)
    for k in range(w.size):
        inverse = np.linalg.inv(np.eye(3) + w[k] * np.ones((3, 3)))
        own = (inverse @ np.ones(3)) * w[k]
        found = found + v[:, k] * own[0] * v[1, k]
    return np.sum(found * WEIGHTS[0])


def by_sums_and_constants(a):
    w, v = np.linalg.eigh(a)
    found = np.zeros((3, 3))
    for i in range(w.size):
        for k in range(w.size):
            total = 0.0
            for j in range(w.size):
                total += v[j, k] * WEIGHTS[i, j]
                total += 0.25
            found[i, k] = total * w[k]
    return np.sum(found @ v.T * WEIGHTS)


@pytest.mark.parametrize(
    "functions",
    [
        [by_an_element_of_memory, by_steps_of_newton, by_carried_products, by_a_sum_beside],
        [by_rows_of_weights, by_matrices_of_each_value, by_sums_and_constants],
    ],
)
def test_what_depends_on_values_in_other_ways_is_right_or_nan(functions):
    for function in functions:
        for name in ("two equal, turned", "none"):
            a = MATRICES[name]
            with np.errstate(all="ignore"):
                reverse, forward = adjit.grad(function, **PLAIN)(a), adjit.jacfwd(function, **PLAIN)(a)
            assert np.array_equal(np.isnan(reverse), np.isnan(forward))
            wanted = differences(function, a)
            known = ~np.isnan(reverse)
            assert known.all() or name != "none"
            np.testing.assert_allclose(reverse[known], wanted[known], atol=1e-6 * np.abs(wanted).max())
            np.testing.assert_allclose(forward[known], reverse[known], rtol=1e-8, atol=1e-9 * np.abs(wanted).max())


def replaced_by_position(a):
    w, v = np.linalg.eigh(a)
    w[0] = 0.5
    return np.sum((v * w) @ v.T * WEIGHTS)


def replaced_in_order(a):
    w, v = np.linalg.eigh(a)
    for k in range(1, w.size):
        w[k] = w[k] + w[k - 1]
    return np.sum((v * w) @ v.T * WEIGHTS)


def columns_by_a_mask(a):
    w, v = np.linalg.eigh(a)
    keep = w > 0.5
    return np.sum((v[:, keep] / w[keep]) @ v[:, keep].T * WEIGHTS)


def filled_before_it_is_read(a):
    w, v = np.linalg.eigh(a)
    found, kept = np.zeros((3, 3)), np.zeros((3, 3))
    for _ in range(2):
        found = found + kept @ v.T
        for i in range(w.size):
            for k in range(w.size):
                kept[i, k] = v[i, k] * w[k]
    return np.sum(found * WEIGHTS)


@pytest.mark.parametrize(
    "function", [replaced_by_position, replaced_in_order, columns_by_a_mask, filled_before_it_is_read]
)
def test_what_is_not_followed_is_nan_and_never_wrong(function):
    with np.errstate(all="ignore"):
        for derivative in (adjit.grad, adjit.jacfwd):
            assert np.isnan(derivative(function, **PLAIN)(MATRICES["two equal"])).any()
    check(function, MATRICES["none"], **PLAIN)


def test_values_stay_as_they_are():
    """Also where a slope is infinite: the root of a singular matrix."""
    a = np.diag([0.0, 0.0, 2.0])
    with np.errstate(all="ignore"):
        value, _ = adjit.value_and_grad(scaled_columns, **PLAIN)(a)
    assert value == scaled_columns(a)


def test_second_derivatives():
    a, v = MATRICES["none"], np.eye(3) + 0.1 * WEIGHTS
    found = adjit.hvp(scaled_columns, **PLAIN)(a, v)
    step = 1e-5
    gradient = adjit.grad(scaled_columns, **PLAIN)
    wanted = (gradient(a + step * v) - gradient(a - step * v)) / (2 * step)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    with np.errstate(all="ignore"):
        assert np.isnan(adjit.hvp(scaled_columns, **PLAIN)(MATRICES["two equal, turned"], v)).any()
