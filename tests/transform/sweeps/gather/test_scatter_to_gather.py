"""Shifted additions as gathers: which loops become one, and that the derivatives are right at every size."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, Strategy
from tests.defining import define


def inner_products(function, arguments, wrt, target="python"):
    """The same derivative along a random direction, by reverse and by forward mode."""
    generator = np.random.default_rng(7)
    found = adjit.grad(function, wrt=wrt, target=target, strategy=CHEAPEST)(*arguments)
    dots = [
        generator.standard_normal(np.shape(a)) * (k in wrt) if isinstance(a, np.ndarray) else type(a)(1.3 * (k in wrt))
        for k, a in enumerate(arguments)
    ]
    _, along = adjit.jvp(function, arguments, tuple(dots), target="python", strategy=CHEAPEST)
    return sum(float(np.sum(g * dots[k])) for k, g in zip(wrt, found, strict=True)), float(along)


def check(function, arguments, wrt=(0,), target="python"):
    found, wanted = inner_products(function, arguments, wrt, target)
    # sums of some hundred numbers of order one, in another order
    assert found == pytest.approx(wanted, rel=1e-11, abs=1e-11)


def reverse_sweep(function, arguments, wrt=(0,)):
    return (
        adjit.grad(function, wrt=wrt, target="python", strategy=Strategy(without=frozenset({"contract"})))
        .source(*arguments, tuned=True)
        .split("reverse sweep")[1]
    )


def is_gathered(function, arguments, wrt=(0,)):
    """Whether it changes what is compiled, apart from loops that run upwards."""
    without_one, without_both = {"upwards"}, {"upwards", "gather"}
    texts = [
        adjit.grad(function, wrt=wrt, target="python", strategy=Strategy(without=frozenset(without))).source(
            *arguments, tuned=True
        )
        for without in (without_one, without_both)
    ]
    return texts[0] != texts[1]


# ------------------------------------------------------------------------------------------------------ random stencils


def axis_of_stencil(generator, axis):
    """An index with a shift, as text, and the range of its counter in which all shifts are inside the array."""
    counter = "ijk"[axis]
    n = f"x.shape[{axis}]"
    low, high = generator.randint(-2, 0), generator.randint(0, 2)
    kind = generator.choice(["plain", "plain", "plain", "strided", "reversed", "literal"])
    if kind == "strided":
        return lambda o: f"2 * {counter} + {o}", low, high, f"{(1 - low) // 2}, ({n} - 1 - {high}) // 2 + 1"
    if kind == "reversed":
        return lambda o: f"{n} - 1 - {counter} + {o}", low, high, f"{high}, {n} + {low}"
    if kind == "literal":
        return lambda o: f"{counter} + {o + 1}", low, high, f"{max(-low - 1, 0)}, min({n} - 1 - {high}, 3)"
    return lambda o: f"{counter} + {o}", low, high, f"{-low}, {n} - {high}"


def stencil(seed):
    """A random stencil: a nest that reads x at shifted places, with constant, varying and nonlinear coefficients."""
    generator = random.Random(seed)
    rank = generator.choice([1, 1, 2, 2, 3])
    axes = [axis_of_stencil(generator, axis) for axis in range(rank)]
    counters = ", ".join("ijk"[:rank])
    loads = [
        f"x[{', '.join(index(generator.randint(low, high)) for index, low, high, _ in axes)}]"
        for _ in range(generator.randint(2, 6))
    ]
    terms = [
        generator.choice(
            [load, load, f"-3.0 * {load}", f"a * {load}", f"w[{counters}] * {load}", f"{load} * {loads[0]}"]
        )
        for load in loads
    ]
    lines = ["def stencil(x, w, a, steps):", "    y = x.copy()", "    x = x.copy()"]
    lines += [f"    first_{axis}, last_{axis} = {bounds}" for axis, (_, _, _, bounds) in enumerate(axes)]
    lines.append("    for t in range(steps):")
    indent = "        "
    for axis in range(rank):
        lines.append(f"{indent}for {'ijk'[axis]} in range(first_{axis}, last_{axis}):")
        indent += "    "
    lines.append(f"{indent}y[{counters}] = {generator.choice(['', f'w[{counters}] * '])}({' + '.join(terms)})")
    if generator.random() < 0.5:
        lines.append("        x, y = y, x")
    text = "\n".join([*lines, "    return np.sum(y * y) + np.sum(x * y)", ""])
    return define(text, f"<stencil {seed}>", np=np)["stencil"], rank


def arguments_of(rank, sizes):
    generator = np.random.default_rng(sum(sizes))
    return generator.standard_normal(sizes), generator.standard_normal(sizes), 0.7, 2


@pytest.mark.parametrize("seed", range(40))
def test_random_stencils_at_all_small_sizes(seed):
    function, rank = stencil(seed)
    for sizes in itertools.product((0, 1, 2, 3, 4, 6), repeat=rank) if rank < 3 else [(3, 4, 6), (1, 5, 4), (5, 0, 4)]:
        check(function, arguments_of(rank, sizes), (0, 1, 2))


@pytest.mark.parametrize("seed", range(40, 44))
def test_random_stencils_compiled(seed):
    function, rank = stencil(seed)
    for sizes in [(7, 6, 5), (1, 2, 3), (0, 4, 4)]:
        check(function, arguments_of(rank, sizes[:rank]), (0, 1, 2), "cpu")


@pytest.mark.parametrize("count", [10, pytest.param(40, marks=pytest.mark.long)])
def test_most_random_stencils_are_gathered(count):
    made = [stencil(seed) for seed in range(count)]
    assert sum(is_gathered(function, arguments_of(rank, (6, 6, 6)[:rank])) for function, rank in made) > count // 2


# ----------------------------------------------------------------------------------------------------- what is gathered


def swapped(u, k, steps):
    v = u.copy()
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1):
            v[i] = u[i] + k[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u)


def test_swapped_buffers_are_gathered_in_loops_that_run_upwards():
    arguments = (np.cos(np.arange(7.0)), np.full(7, 0.2), 3)
    source = reverse_sweep(swapped, arguments)
    assert "_bar_2[i] += sum_bars[i] + sum_bars[i + 2]" in source
    assert source.count("-1, -1") == 1  # the time steps
    check(swapped, arguments, (0, 1))


def in_place(u, k, steps):
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return np.sum(u * u)


def test_a_sweep_in_place_is_left_alone():
    arguments = (np.cos(np.arange(7.0)), np.full(7, 0.2), 3)
    assert not is_gathered(in_place, arguments)
    check(in_place, arguments, (0, 1))


def maybe_the_same(u, k, steps):
    v = u.copy()
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1):
            v[i] = u[i] + k[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        if t == 1:
            u = v
    return np.sum(u * u) + np.sum(v)


def test_buffers_that_may_be_one_array_are_left_alone():
    arguments = (np.cos(np.arange(7.0)), np.full(7, 0.2), 4)
    assert not is_gathered(maybe_the_same, arguments)
    check(maybe_the_same, arguments, (0, 1))


def wrapping(u, steps):
    v = u.copy()
    u = u.copy()
    for t in range(steps):
        for i in range(u.size - 1):
            v[i] = 0.3 * u[i - 1] + u[i] * u[i + 1]
        u, v = v, u
    return np.sum(u * u)


def test_an_index_that_counts_from_the_end_in_some_trips_is_left_alone():
    arguments = (np.cos(np.arange(7.0)), 3)
    check(wrapping, arguments)
    assert "u_bar_2[i - 1] +=" in reverse_sweep(wrapping, arguments).replace("v_bar_2", "u_bar_2")


def triangular(u, steps):
    v = u.copy()
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, i):
                v[i, j] = u[i - 1, j - 1] + u[i + 1, j + 1]
        u, v = v, u
    return np.sum(u * u)


def test_a_nest_that_is_no_box_is_left_alone():
    arguments = (np.cos(np.arange(25.0)).reshape(5, 5), 3)
    assert not is_gathered(triangular, arguments)
    check(triangular, arguments)


def infinite_weight(u, steps):
    v = u.copy()
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1):
            v[i] = 1e400 * u[i - 1] + u[i + 1]
        u, v = v, u
    return np.sum(u)


def test_a_rim_of_zeros_makes_no_nan():
    (found,) = adjit.grad(infinite_weight, wrt=(0,), target="python", strategy=CHEAPEST)(np.ones(5), 1)
    np.testing.assert_array_equal(found, [np.inf, np.inf, np.inf, 1.0, 2.0])


def shrinking(u, steps):
    v = u.copy()
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1 - t):
            v[i] = u[i] * 0.5 + u[i - 1] + u[i + 1]
        u, v = v, u
    return np.sum(u * u)


def test_bounds_that_differ_from_run_to_run():
    for size in range(7):
        check(shrinking, (np.cos(np.arange(float(size))), 4))


def resampled(x, steps):
    y = x.copy()
    x = x.copy()
    last = x.size // 2 - 1
    for t in range(steps):
        for i in range(1, last):
            y[i] = x[2 * i - 1] + 2.0 * x[2 * i] + 3.0 * x[2 * i + 1]
        x, y = y, x
    return np.sum(x * x)


def test_elements_between_the_strides_take_what_reaches_them():
    arguments = (np.cos(np.arange(12.0)), 3)
    source = reverse_sweep(resampled, arguments)
    # the even ones have one contribution each, which stays where it is
    assert "[2 * i] += 2.0 * stored_bar" in source
    assert "[2 * i + 1] += " in source
    for size in range(9):
        check(resampled, (np.cos(np.arange(float(size))), 3))


swapped_gradient = adjit.grad(swapped, wrt=(0,))


def second(u, k, steps):
    (g,) = swapped_gradient(u, k, steps)
    return np.sum(g * g * g)


def test_a_gather_is_differentiated_again():
    check(second, (np.cos(np.arange(6.0)), np.full(6, 0.2), 3), (0, 1))


# ------------------------------------------------------------------------------------------------------ array notation


def sliced(u, k, steps):
    for t in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (u[:-2, 1:-1] + u[2:, 1:-1] - 3.0 * u[1:-1, :-2] + u[1:-1, 2:])
        u = v
    return np.sum(u * u)


def sliced_in_place(u, k, steps):
    u = u.copy()
    for t in range(steps):
        u[1:-1, 1:-1] += k * (u[:-2, 1:-1] + u[2:, 1:-1] - 3.0 * u[1:-1, :-2] + u[1:-1, 2:])
    return np.sum(u * u)


@pytest.mark.parametrize("function", [sliced, sliced_in_place])
def test_slices_are_gathered(function):
    arguments = (np.cos(np.arange(30.0)).reshape(5, 6), 0.1, 3)
    assert is_gathered(function, arguments)
    # slices that leave out as much of an axis have the same extent, which nobody asks for again
    assert "is_wide" not in adjit.grad(function, wrt=(0,), target="python", strategy=CHEAPEST).source(
        *arguments, tuned=True
    )
    for sizes in itertools.product((0, 1, 2, 3, 5), repeat=2):
        check(function, (np.cos(np.arange(float(np.prod(sizes)))).reshape(sizes), 0.1, 3), (0, 1))


def test_slices_that_leave_out_differently_are_stretched_at_run_time():
    def halves(u):
        return np.sum(u[1:] * u[:1])

    check(halves, (np.array([0.5, 2.0, -1.0, 0.3]),))
    check(halves, (np.array([0.5, 2.0]),))


# ------------------------------------------------------------------------------------------- rows, and nests run once


def laplacian_energy(u, c):
    inner = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return np.sum(inner * inner) * c


def total_variation(u, c):
    n, m = u.shape
    total = 0.0
    for i in range(n - 1):
        for j in range(m - 1):
            total += np.sqrt(c + (u[i + 1, j] - u[i, j]) ** 2 + (u[i, j + 1] - u[i, j]) ** 2)
    return total


def of_each_second_column(u, c):
    total = 0.0
    for i in range(u.shape[0] - 1):
        for j in range(1, u.shape[1] // 2):
            total += np.exp(c * u[i, 2 * j + 1] * u[i + 1, 2 * j - 1]) * u[i, 2 * j]
    return total


def in_three(u, c):
    n, m, k = u.shape
    total = 0.0
    for i in range(n - 1):
        for j in range(m - 1):
            for l in range(1, k - 1):
                total += np.log1p(c * (u[i + 1, j, l + 1] - u[i, j, l - 1]) ** 2 + u[i, j + 1, l - 1] * u[i, j, l])
    return total


def smoothed_once(u, c):
    v = np.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return np.sum(v * v * v)


SHAPES = [(0, 4), (1, 1), (2, 3), (3, 2), (3, 3), (4, 4), (3, 9), (9, 3), (7, 12)]


@pytest.mark.parametrize("function", [laplacian_energy, total_variation, of_each_second_column, smoothed_once])
def test_rows_of_all_lengths(function):
    for shape in SHAPES:
        check(function, (np.cos(np.arange(float(np.prod(shape)))).reshape(shape), 0.3), (0, 1))


def test_rows_of_three_axes():
    for shape in [(2, 3, 2), (3, 2, 5), (2, 2, 3), (3, 4, 9)]:
        check(in_three, (np.cos(np.arange(float(np.prod(shape)))).reshape(shape), 0.3), (0, 1))


@pytest.mark.parametrize("function", [laplacian_energy, total_variation, in_three])
def test_rows_are_gathered(function):
    given = np.ones((3, 4, 5) if function is in_three else (5, 7)), 0.3
    text, scattered = (
        adjit.grad(function, strategy=Strategy(without=frozenset(without))).source(*given, tuned=True)
        for without in ((), ("inner",))
    )
    # by a loop of its own over the row
    assert text.count("for ") > scattered.count("for ")


def test_what_is_run_once_is_kept_nowhere():
    given = np.ones((5, 7)), 0.3
    assert is_gathered(smoothed_once, given)
    text = adjit.grad(smoothed_once).source(*given, tuned=True)
    assert text.count("np.zeros") + text.count("workspace.zeros") == 2
