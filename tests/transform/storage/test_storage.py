"""What the reverse sweep keeps, restores and computes again, seen in the generated source and checked on numbers."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST
from tests.programs.diffusion import diffuse


def gradient(function, wrt, *arguments):
    return adjit.grad(function, wrt=wrt, target="python", strategy=CHEAPEST)(*arguments)


def text(function, wrt, *arguments):
    return adjit.grad(function, wrt=wrt, target="python", strategy=CHEAPEST).source(*arguments, tuned=True)


def tapes(source):
    return set(re.findall(r"^ *(\w+_tape\w*) =", source, re.MULTILINE))


def difference(function, arguments, place, step=1e-6):
    def at(shift):
        moved = [np.array(a, copy=True) if isinstance(a, np.ndarray) else a for a in arguments]
        moved[place[0]][place[1]] += shift
        return function(*moved)

    return (at(step) - at(-step)) / (2 * step)


U = np.sin(np.arange(9.0))


def test_a_linear_stencil_needs_no_tape():
    assert tapes(text(diffuse, "u", U, 0.1, 4)) == set()


def test_one_sum_is_kept_in_place_of_the_values_in_it():
    source = text(diffuse, "alpha", U, 0.1, 4)
    assert tapes(source) == {"sum_tape"}
    got = gradient(diffuse, "alpha", U, 0.1, 4)
    step = 1e-6
    wanted = (diffuse(U, 0.1 + step, 4) - diffuse(U, 0.1 - step, 4)) / (2 * step)
    assert got == pytest.approx(wanted, rel=1e-7)


def multiply(u, steps):
    v = u.copy()
    for t in range(steps):
        for i in range(1, v.size - 1):
            v[i] = v[i - 1] * v[i] * v[i + 1]
    return (v * v).sum()


def test_what_a_store_overwrites_is_put_back():
    """One element is put back for three that are read."""
    source = text(multiply, "u", U, 2)
    assert tapes(source) == {"v_old_tape"}
    got = gradient(multiply, "u", U, 2)
    for k in range(U.size):
        assert got[k] == pytest.approx(difference(multiply, (U, 2), (0, k)), rel=1e-6, abs=1e-9)


def cholesky(a):
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
        a[j, j] = math.sqrt(a[j, j])
        for i in range(j + 1, n):
            a[i, j] = a[i, j] / a[j, j]
    return a[n - 1, n - 1] + a[n - 1, 0]


def test_factors_that_are_final_are_read_again():
    """What isl shows never to be overwritten after it is read is neither taped nor restored."""
    a = np.diag([4.0, 5.0, 6.0]) + 0.3
    source = text(cholesky, "a", a)
    loads_of_factors = [line for line in source.splitlines() if "a_old_tape" in line]
    # the quotient overwrites its own numerator, the root its radicand; the products a[i, k] * a[j, k] are final
    assert len(loads_of_factors) <= 6
    got = gradient(cholesky, "a", a)
    assert got[2, 0] == pytest.approx(difference(cholesky, (a,), (0, (2, 0))), rel=1e-6)
    assert got[2, 2] == pytest.approx(difference(cholesky, (a,), (0, (2, 2))), rel=1e-6)


def iterate(x, n):
    for k in range(n):
        x = math.sin(x) * x + 0.5
    return x


def test_expensive_values_are_taped_and_cheap_ones_computed_again():
    source = text(iterate, "x", 0.4, 5)
    assert tapes(source) == {"x_tape", "sin_tape"}
    h = 1e-6
    assert gradient(iterate, "x", 0.4, 5) == pytest.approx(
        (iterate(0.4 + h, 5) - iterate(0.4 - h, 5)) / (2 * h), rel=1e-8
    )


def swap(u, n):
    v = np.zeros(u.size)
    for k in range(n):
        for i in range(u.size):
            v[i] = u[i] * u[i - 1]
        u, v = v, u
    return (u * v).sum()


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_swapped_buffers_are_swapped_back(trips):
    u = np.array([0.8, 1.2, 0.7])
    source = text(swap, "u", u, trips)
    assert "u, v = v, u" in source.split("reverse sweep")[1].replace("u_2", "u").replace("v_2", "v")
    got = gradient(swap, "u", u, trips)
    for i in range(3):
        assert got[i] == pytest.approx(difference(swap, (u, trips), (0, i)), abs=1e-8)


def packed(a, n):
    total, p = 0.0, 0
    for i in range(n):
        for j in range(i + 1):
            total += a[p] * a[p] * total
            total += a[p]
            p += 1
    return total * a[p]


def test_running_integers_are_counted_back():
    a = 0.3 * np.cos(np.arange(8.0))
    source = text(packed, "a", a, 3)
    assert "p_tape" not in source
    assert "p -= 1" in source
    got = gradient(packed, "a", a, 3)
    for i in range(7):
        assert got[i] == pytest.approx(difference(packed, (a, 3), (0, i)), abs=1e-8)


def rows(a, n):
    total = 0.0
    for k in range(n):
        row = a[k] * np.sin(a[k])
        row[0] = row[1] * row[1]
        total += (row * row).sum() * total + row[0]
    return total


def test_arrays_made_in_a_loop_are_kept_by_reference():
    a = np.array([[0.4, 0.9], [1.1, -0.3], [0.2, 0.6]])
    got = gradient(rows, "a", a, 3)
    for k in range(3):
        for i in range(2):
            assert got[k, i] == pytest.approx(difference(rows, (a, 3), (0, (k, i))), abs=1e-7)


def only_square(x):
    unused = math.exp(x) * 3.0
    return x * x + 0.0 * (unused > 1e9)


def test_dead_primal_code_is_not_in_the_gradient():
    source = text(lambda x: x * x, "x", 1.5)
    assert "return 2.0 * x" in source or "return x * 2.0" in source
    assert gradient(only_square, "x", 1.5) == 3.0
