"""Eigenvalues and roots of real numbers, which may be complex: programs that look at their parts go on with these."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import adjit

P = np.array([1.0, -2.0, 3.0, -4.5, 1.0])
REAL = np.array([1.0, -6.0, 11.0, -6.0])
A = np.array([[0.3, -1.2, 0.5], [0.9, 0.2, 0.1], [0.3, 0.4, -0.7]])


def those_that_are_real(p):
    roots = np.roots(p)
    real = roots[np.isreal(roots)].real
    return real[0] ** 2 if real.size > 0 else 0.0


def least_of_the_real_ones(p):
    return min([r.real for r in np.roots(p) if abs(r.imag) < 1e-9 and r.real > 0])


def growth(a):
    spectrum = np.linalg.eigvals(a)
    return spectrum.real.max() + 0.1 * np.abs(spectrum).sum()


def radius(a):
    return np.max(np.abs(np.linalg.eigvals(a)))


def vectors(a):
    values, directions = np.linalg.eig(a)
    return np.sum(values.imag**2) + np.abs(directions[0, 0]) + np.abs(np.sum(directions[:, 2]))


def one_by_one(p):
    total = 0.0
    for k, root in enumerate(np.roots(p)):
        total += root.real * (k + 1) + abs(root)
    return total


def the_fastest(a):
    spectrum = np.linalg.eigvals(a)
    fastest = np.argmax(np.abs(spectrum.imag))
    return np.abs(spectrum[fastest].imag) + 2.0 * spectrum[fastest].real


def of_stacks(a):
    return np.sum(np.linalg.eigvals(np.stack([a, 2.0 * a])).real.max(axis=1))


def with_a_root_at_zero(p):
    roots = np.roots(np.concatenate((p, np.zeros(1))))
    return np.sum(np.abs(roots) ** 2) + roots.size


def as_real_numbers(p):
    return np.sort(np.roots(p))[0]


CASES = [
    (those_that_are_real, P), (those_that_are_real, REAL), (least_of_the_real_ones, P), (least_of_the_real_ones, REAL),
    (growth, A), (growth, A + A.T), (radius, A), (vectors, A), (one_by_one, P), (one_by_one, REAL), (the_fastest, A),
    (of_stacks, A), (with_a_root_at_zero, P[:-1]), (as_real_numbers, REAL),
]  # fmt: skip


def check(function, x, target):
    value, bar = adjit.value_and_grad(function, target=target)(x)
    assert value == pytest.approx(function(x), rel=1e-10)
    wanted = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        h = np.zeros_like(x)
        h[place] = 1e-6
        wanted[place] = (function(x + h) - function(x - h)) / 2e-6
    np.testing.assert_allclose(bar, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("function", "x"), CASES)
def test_gradient(function, x):
    check(function, x, "python")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("function", "x"), [CASES[k] for k in (0, 4, 7, 8)])
def test_compiled(function, x):
    check(function, x, "cpu")


def test_in_single_precision():
    value, bar = adjit.value_and_grad(growth)(A.astype(np.float32))
    wanted = adjit.grad(growth, target="python")(A)
    assert bar.dtype == np.float32
    assert value == pytest.approx(growth(A), rel=1e-5)
    np.testing.assert_allclose(bar, wanted, rtol=2e-4, atol=1e-5)


def test_complex_ones_where_the_program_takes_them_for_real():
    with pytest.raises(ValueError, match="complex eigenvalues or roots"):
        adjit.grad(as_real_numbers, target="python")(P)


def test_a_saved_source_needs_adjit(tmp_path):
    derived = adjit.grad(one_by_one)
    with pytest.raises(adjit.errors.Unsupported, match="needs adjit"):
        derived.save(tmp_path / "made.py", P)
    derived.save(tmp_path / "made.py", P, tuned=True)
    names = runpy.run_path(str(tmp_path / "made.py"))
    np.testing.assert_allclose(names["one_by_one_grad"](P), adjit.grad(one_by_one, target="python")(P), rtol=1e-10)
