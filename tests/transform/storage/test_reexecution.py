"""Loops whose trips are run again: from snapshots by a binomial schedule, or from nothing if they are independent."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import tracemalloc

import numba
import numpy as np
import pytest

import adjit
from adjit.runtime.library import checkpoint_distance, default_snapshots, fitting_snapshots, reassociable_add
from adjit.transform.strategy import CHEAPEST, Strategy

# ------------------------------------------------------------------------------------------------------ the schedule


@functools.cache
def fewest(trips, snapshots):
    """How many trips have to be run again at least, by trying every place for the next snapshot."""
    if trips <= 1:
        return 0
    if snapshots == 1:
        return trips * (trips - 1) // 2
    return min(d + fewest(trips - d, snapshots - 1) + fewest(d, snapshots) for d in range(1, trips))


@functools.cache
def fewest_after_all(trips, snapshots):
    """The same where all trips have been run once, and snapshots were taken on the way."""
    if trips <= 1:
        return 0
    if snapshots == 1:
        return fewest(trips, 1)
    return min(fewest_after_all(trips - d, snapshots - 1) + fewest(d, snapshots) for d in range(1, trips))


def griewank_walther(trips, snapshots):
    """r n - C(s + r, s + 1), for the smallest r with n <= C(s + r, s)."""
    repeats = 0
    while math.comb(snapshots + repeats, snapshots) < trips:
        repeats += 1
    return repeats * trips - math.comb(snapshots + repeats, snapshots + 1)


def made(trips, snapshots):
    if trips <= 1:
        return 0
    distance = checkpoint_distance(trips, snapshots)
    if snapshots == 1:
        assert distance == trips
        return trips * (trips - 1) // 2
    assert 1 <= distance < trips
    return distance + made(trips - distance, snapshots - 1) + made(distance, snapshots)


@pytest.mark.parametrize("snapshots", [1, 2, 3, 5, 8])
def test_the_schedule_runs_the_fewest_trips_again(snapshots):
    for trips in range(1, 60):
        assert made(trips, snapshots) == fewest(trips, snapshots) == griewank_walther(trips, snapshots)


def test_numbers_of_snapshots():
    for trips in (0, 1, 2, 10, 1000):
        s = default_snapshots(trips)
        assert math.comb(s + 2, s) >= trips
        assert s == 1 or math.comb(s + 1, s - 1) < trips
    assert fitting_snapshots(10, 100, 30) == 3
    assert fitting_snapshots(2, 100, 30) == 2
    assert fitting_snapshots(10, 10, 30) == 1


def iterated(x, n):
    for t in adjit.checkpoint(range(n), 3):
        x = math.sin(x) + 0.5 * x
    return x


@pytest.mark.parametrize("n", [0, 1, 2, 5, 10, 20])
def test_the_gradient_runs_as_many_trips_as_the_schedule_says(n):
    calls = []

    def counted(x):
        calls.append(x)
        return math.sin(x)

    text = adjit.grad(iterated, target="python", strategy=CHEAPEST).source(0.3, n, tuned=True)
    names = {"math": math, "np": np, "counted": counted, "reassociable_add": reassociable_add}
    names["checkpoint_distance"] = checkpoint_distance
    exec(text.replace("math.sin(", "counted("), names)
    names["iterated_grad"](0.3, n)
    # The forward sweep runs all trips, and the schedule is that of one trip more, of which there is nothing to reverse:
    # so as few trips are run again as can be.
    again = len(calls) - n
    assert again == griewank_walther(n + 1, 3) - n == fewest_after_all(n, 3)


# ------------------------------------------------------------------------------------------------------------ programs


def differences(function, arguments, position):
    base = np.asarray(arguments[position], dtype=float)
    found = np.zeros_like(base)
    for place in np.ndindex(base.shape):
        ends = []
        for sign in (1, -1):
            moved = base.copy()
            moved[place] += sign * 1e-6
            given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            given[position] = moved if base.ndim else float(moved)
            ends.append(function(*given))
        found[place] = (ends[0] - ends[1]) / 2e-6
    return found


def check(function, wrt, *arguments, target="python", strategy=CHEAPEST, **options):
    derived = adjit.value_and_grad(function, wrt=wrt, target=target, strategy=strategy, **options)
    value, gradients = derived(*arguments)
    assert value == pytest.approx(function(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)))
    for position, found in zip(wrt, gradients, strict=True):
        np.testing.assert_allclose(found, differences(function, arguments, position), rtol=2e-6, atol=1e-8)
    return derived.source(*arguments, tuned=True)


U = np.sin(np.arange(7.0)) + 1.5


def in_place(u, k, steps):
    u = u.copy()
    for t in adjit.checkpoint(range(steps), 2):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * u[i - 1] * u[i + 1]
    return (u * u).sum()


def swapped(u, k, steps):
    u = u.copy()
    v = u.copy()
    for t in adjit.checkpoint(range(steps)):
        for i in range(1, u.size - 1):
            v[i] = u[i] * u[i] * k + u[i - 1]
        u, v = v, u
    return (u * v).sum()


def several(u, k, steps):
    """Numbers and an array, a strided range, and values of the loop read after it."""
    u = u.copy()
    a, b, total = k, 1.0, 0.0
    for t in adjit.checkpoint(range(2 * steps, 0, -2), 2):
        a, b = b, a * math.cos(a) + u[t % u.size]
        u[t % u.size] = u[t % u.size] * b
        total += a * a
    return total * a + (u * u).sum()


def before_and_after(u, k, steps):
    """What the loop overwrites is needed as it was before, and what it reads is overwritten after."""
    w = u * u
    s = (w * w).sum()
    for t in adjit.checkpoint(range(steps), 2):
        for i in range(w.size - 1):
            w[i] = w[i] * w[i + 1] * k
    r = (w * w).sum()
    w[0] = 3.0 * s
    return s * r + w[0] * w[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("function", [in_place, swapped, several, before_and_after])
def test_programs(function, target):
    for steps in (0, 1, 2, 6):
        source = check(function, (0, 1), U * 0.5, 0.3, steps, target=target)
    assert "checkpoint_distance" in source


@pytest.mark.parametrize("function", [in_place, swapped, several, before_and_after])
def test_a_pullback(function):
    value, pullback = adjit.vjp(function, U * 0.5, 0.3, 6)
    for _ in range(2):
        bars = pullback(1.0)
        np.testing.assert_allclose(bars[0], differences(function, (U * 0.5, 0.3, 6), 0), rtol=2e-6)


def test_second_order():
    found = adjit.hessian(iterated_smooth, target="python", strategy=CHEAPEST)(0.3, 5)
    h = 1e-4
    wanted = iterated_smooth(0.3 + h, 5) - 2 * iterated_smooth(0.3, 5) + iterated_smooth(0.3 - h, 5)
    assert found == pytest.approx(wanted / h**2, rel=1e-5)


def iterated_smooth(x, n):
    for t in adjit.checkpoint(range(n), 2):
        x = math.sin(x) + 0.5 * x
    return x * x


def test_a_checkpoint_makes_no_difference_to_the_function():
    assert iterated_smooth(0.3, 4) == numba.njit(iterated_smooth)(0.3, 4)
    with pytest.raises(adjit.AdjitError, match="range"):
        adjit.checkpoint([1, 2])


# -------------------------------------------------------------------------------------------------------- memory_limit


def plain(u, k, steps):
    u = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * u[i - 1] * u[i + 1]
    return (u * u).sum()


@pytest.mark.parametrize("limit", [1, 200, "1 kB", "1 GiB"])
def test_a_limit_makes_loops_run_again(limit):
    source = check(plain, (0, 1), U * 0.5, 0.3, 6, memory_limit=limit)
    assert "fitting_snapshots" in source
    assert "_tape = workspace.empty((" not in source


def in_one_branch(u, k, steps):
    """An array that is not there in the other branch, and a number."""
    v, factor = u.copy(), 1.0
    if k > 0.0:
        rows = steps - 1
        w = np.cumprod(u)
        w[0] = 2.0
        factor = 0.1 * np.sum(np.cumprod(w) * w)
    for t in range(steps):
        for i in range(v.size):
            v[i] = np.sin(v[i]) * factor + k
    if k > 0.0:
        z = np.zeros((rows, rows))
        for i in range(rows):
            for j in range(rows):
                z[i, j] = v[i] * v[j] * w[1]
        return np.sum(z @ z) + np.sum(v)
    return np.sum(v * v)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_one_branch_makes_does_not_count_in_the_other(target):
    limited = adjit.grad(in_one_branch, memory_limit=300, target=target)
    free = adjit.grad(in_one_branch, target="python", strategy=CHEAPEST)
    for k in (0.3, -0.3):
        np.testing.assert_allclose(limited(U * 0.5, k, 5), free(U * 0.5, k, 5), rtol=1e-12)
    assert "fitting_snapshots" in limited.source(U, 0.3, 5, tuned=True)


@pytest.mark.parametrize("wrong", [0, -3, "much", "5 parsecs", 1.5, True])
def test_limits_that_are_none(wrong):
    with pytest.raises(adjit.TypeMismatch, match="memory"):
        adjit.grad(plain, memory_limit=wrong)


def heat(u, k, steps):
    u = u.copy()
    v = u.copy()
    for t in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                v[i, j] = u[i, j] + k[i, j] * (around - 4.0 * u[i, j])
        u, v = v, u
    return (u * u).sum()


def run_twice(u, k, steps):
    """Two loops that share what there is."""
    for t in range(steps):
        for i in range(1, u.shape[0]):
            u[i] = u[i - 1] * np.cos(u[i])
    for t in range(steps):
        for i in range(1, u.shape[0]):
            u[i] = u[i] + k[i] * np.sin(u[i - 1])
    return (u * u).sum()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [heat, run_twice])
def test_all_arrays_count_towards_a_limit(function):
    draw = np.random.default_rng(0)
    shape = (24, 24) if function is heat else 576
    u, k = draw.random(shape), 0.2 * draw.random(shape)
    limit, bars, peaks = 90_000, [], []
    for options in ({"memory_limit": limit}, {}):
        gradient = adjit.grad(function, wrt=(0, 1), target="python", strategy=CHEAPEST, **options)
        gradient(u.copy(), k, 1)
        given = u.copy()
        tracemalloc.start()
        bars.append(gradient(given, k, 24))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Python has some numbers and arrays to describe as well
    assert 0.8 * limit < peaks[0] <= limit + 2_000 < peaks[1]
    for one, other in zip(*bars, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


# ------------------------------------------------------------------------------------------------------ from nothing


def log_of_a_sum(x, w):
    total = 0.0
    for i in range(x.size):
        inner = 1.0
        for k in range(w.size):
            inner = math.sin(inner * w[k] * x[i]) + inner
        total += inner * inner
    return math.log(total)


def test_independent_trips_leave_nothing_behind():
    # in lanes, there is a trip's worth for each of them
    one_by_one = Strategy(without=frozenset({"lanes"}))
    source = check(log_of_a_sum, (0, 1), U, U[:3], strategy=one_by_one)
    # the values of one trip, and no more
    assert re.findall(r"_tape\w* = workspace.empty\((.*)\)", source)
    assert not re.search(r"_tape\w* = workspace.empty\(\(", source)
    check(log_of_a_sum, (0, 1), U, U[:3], target="cpu")


# ------------------------------------------------------------------------------------------------------------ refusals


def shrinking(x, n):
    for t in adjit.checkpoint(range(n)):
        x = x[1:] * x[:-1]
    return x.sum()


def renewed_and_kept(x, n):
    a = x * 2.0
    first = a
    for t in adjit.checkpoint(range(n)):
        a[0] = 0.5 * a[1]
        a = np.sin(a) * a
    return np.sum(a * first)


def in_a_plain_loop(x, n):
    for _ in range(2):
        for t in adjit.checkpoint(range(n)):
            x = np.sin(x) * x + 0.1
    return x.sum()


def drawn(x, n):
    for t in adjit.checkpoint(range(n)):
        x = x * np.random.random()
    return x


def under_two_names(x, n):
    """The array that `a` is, is now `u` and now `v`."""
    a, b = x.copy(), 2.0 * x
    u, v = a, b
    for t in adjit.checkpoint(range(n), 2):
        for i in range(x.size):
            v[i] = u[i] * u[i] * 0.5 + a[i] * v[i]
        u, v = v, u
    return (u * u * v).sum()


def of_something_else(x, n):
    for t in adjit.checkpoint((1, 2)):
        x = x * x
    return x


def run_time_number(x, n):
    for t in adjit.checkpoint(range(n), n):
        x = x * x
    return x


@pytest.mark.parametrize(
    ("function", "argument", "why"),
    [
        (shrinking, U, "of another shape"),
        (renewed_and_kept, U, "second name"),
        (in_a_plain_loop, U, "inside a loop that is not checkpointed"),
        (drawn, 0.5, "It draws random numbers or exchanges messages"),
        (under_two_names, U, "second name"),
        (of_something_else, 0.5, "neither a range"),
        (run_time_number, 0.5, "literal"),
    ],
)
def test_refusals(function, argument, why):
    with pytest.raises(adjit.Unsupported, match=why):
        adjit.grad(function, target="python", strategy=CHEAPEST)(argument, 3)


def renewed(u, k, steps):
    for t in adjit.checkpoint(range(steps), 2):
        u = np.sin(u) * u + k
    return np.sum(u * u)


def left_early(u, k, steps):
    for t in adjit.checkpoint(range(steps), 2):
        u = np.sin(u) * u + k
        if u[0] > 0.7:
            break
    return np.sum(u * u)


@pytest.mark.parametrize("function", [renewed, left_early])
def test_arrays_made_anew_and_loops_left_early_are_run_again_from_snapshots(function):
    source = check(function, (0, 1), U * 0.5, 0.3, 6)
    assert "u_snapshots = workspace.empty((2, " in source
    # lists have what one trip saves
    forward, reverse = source.split("---- reverse sweep")
    assert "append" not in forward
    assert "for t in range(steps - 1, -1, -1):" in reverse


def test_a_limit_holds_for_arrays_made_anew():
    def steps(u, n):
        for _ in range(n):
            u = np.sin(u) * u + 0.1
        return np.sum(u * u)

    u = np.linspace(0.1, 0.9, 40)
    free = adjit.grad(steps, target="python", strategy=CHEAPEST)
    limited = adjit.grad(steps, target="python", strategy=CHEAPEST, memory_limit="4 kB")
    np.testing.assert_allclose(limited(u, 30), free(u, 30), rtol=1e-12)
    assert "u_snapshots" in limited.source(u, 30, tuned=True)
    assert "u_snapshots" not in free.source(u, 30, tuned=True)


def slices(u, k, steps):
    """The check of a slice store is not a draw: it may run again."""
    u = u.copy()
    for t in adjit.checkpoint(range(steps), 2):
        u[1:-1] = u[1:-1] + k * u[:-2] * u[2:]
    return (u * u).sum()


def test_a_slice_store_may_run_again():
    assert "checkpoint_distance" in check(slices, (0, 1), U * 0.5, 0.3, 5)


def test_a_trip_run_again_stores_nothing_that_its_adjoint_does_not_read():
    """The state after the trip is put back before the next one is looked at."""
    source = check(swapped, (0, 1), U * 0.5, 0.3, 6)
    again = source.split("taken = last if")[1].split("---- reverse of the iteration")[0]
    assert not re.search(r"\b[uv](_\d)?\[.*\] = ", again)
    # in place, later trips of the inner loop read what it stores
    source = check(in_place, (0, 1), U * 0.5, 0.3, 6)
    again = source.split("taken = last if")[1].split("---- reverse of the iteration")[0]
    assert re.search(r"\bu(_\d)?\[.*\] = ", again)


def entropies(x, w):
    """Each trip makes exponentials of a row, which the reverse sweep reads."""
    found = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        e = np.exp(x[i] - np.max(x[i]))
        found[i] = np.sum(w[i] * np.log(e / np.sum(e)))
    return np.sum(found * found) * np.sum(found)


def polynomials(x, w):
    """What they make is cheaper than a slot."""
    found = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        y = 1.0
        for j in range(x.shape[1]):
            y = y * x[i, j] + w[i, j]
        found[i] = y
    return np.sum(found * found) * np.sum(found)


def waves(x, n):
    """No array is there with as many elements as there are trips."""
    found = np.empty(x.size)
    for i in range(x.size):
        y = x[i]
        for _ in range(n):
            y = math.exp(math.sin(y))
        found[i] = y
    return np.sum(found * found) * np.sum(found)


def test_costly_trips_keep_what_they_make_where_an_array_of_its_size_is_there():
    x, w = np.random.default_rng(1).normal(size=(2, 4, 5))
    for function, arguments, is_kept in (
        (entropies, (x, w), True), (polynomials, (x, w), False), (waves, (w[0], 3), False)
    ):  # fmt: skip
        made = adjit.grad(function, target="python", strategy=CHEAPEST)
        again = adjit.grad(
            function, target="python", strategy=dataclasses.replace(CHEAPEST, without=frozenset({"costly"}))
        )
        same = made.source(*arguments, tuned=True) == again.source(*arguments, tuned=True)
        assert same is not is_kept
        np.testing.assert_allclose(made(*arguments), again(*arguments), rtol=1e-12)
        adjit.check_grads(function, arguments, wrt=0, target="python", strategy=CHEAPEST)
