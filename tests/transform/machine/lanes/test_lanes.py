"""Trips of a loop in SIMD lanes: the same derivatives, the same value to the bit, and only of independent trips."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from numba import prange

import adjit
from adjit.runtime import library
from adjit.runtime.library import workspace
from adjit.transform.machine import steps
from adjit.transform.machine.lanes import lanes
from adjit.transform.strategy import CHEAPEST, Strategy

SIZES = (0, 1, 15, 16, 17, 64, 65, 130)
SUPPORT = (
    "check_separate", "same_extent", "some_elements", "reassociable_add", "reassociable_sub", "reassociable_max",
    "add_product", "fused_add_product", "fused_subtract_product", "check_bounds", "check_index", "index_range",
)  # fmt: skip
lay_lanes = steps.lay_lanes
WHEREVER = Strategy(without=frozenset({"weigh", "terms"}))
TERMS_APART = Strategy(without=frozenset({"weigh"}))


def run(source, arguments):
    scope = {"math": math, "np": np, "workspace": workspace, **{name: getattr(library, name) for name in SUPPORT}}
    exec(source, scope)
    name = source.split("(", 1)[0].removeprefix("def ")
    return scope[name](*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))


def sources(function, wrt, arguments, monkeypatch, of=adjit.value_and_grad, where=WHEREVER):
    """The source with lanes wherever there can be, and without."""
    monkeypatch.setattr(steps, "lay_lanes", lambda made, values, strategy: lay_lanes(made, values, where))
    # the order of sums of array statements is that of their loops, which lanes keep
    in_order = {"vectormath": False, "strategy": Strategy(without=frozenset({"sums"}))}
    with_lanes = of(function, wrt=wrt, **in_order).source(*arguments, tuned=True)
    monkeypatch.setattr(steps, "lay_lanes", lambda made, values, strategy: made)
    return with_lanes, of(function, wrt=wrt, **in_order).source(*arguments, tuned=True)


def check(function, wrt, arguments_of, monkeypatch, sizes=SIZES, where=WHEREVER):
    """Lanes give the same value, to the bit, and the same gradient, to rounding, for any number of trips."""
    source, plain = sources(function, wrt, arguments_of(3), monkeypatch, where=where)
    assert "for lane in range(lanes):" in source
    assert "in range(lanes)" not in plain
    for size in sizes:
        arguments = arguments_of(size)
        value, gradient = run(source, arguments)
        wanted, wanted_gradient = run(plain, arguments)
        assert value == wanted
        for found, expected in zip(gradient, wanted_gradient, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    return source


def random(size, *shape):
    return np.random.default_rng(size).standard_normal((size, *shape))


# --------------------------------------------------------------------------------------------------- what is laid out


def mixture(points, means, weights):
    total = 0.0
    logits = np.empty(weights.size)
    for i in range(points.shape[0]):
        largest = -np.inf
        for k in range(weights.size):
            distance = 0.0
            for d in range(points.shape[1]):
                offset = points[i, d] - means[k, d]
                distance += offset * offset
            logits[k] = weights[k] - 0.5 * distance
            largest = max(largest, logits[k])
        summed = 0.0
        for k in range(weights.size):
            summed += math.exp(logits[k] - largest)
        total += largest + math.log(summed)
    return total


def mixture_arguments(size):
    return random(size, 3), random(4, 3), random(4)


def test_sums_over_trips_with_scratch_of_their_own(monkeypatch):
    source = check(mixture, (1, 2), mixture_arguments, monkeypatch)
    assert "logits = workspace.empty((weights.size, width))" in source
    # sums of one trip in arrays by lane, those of all trips in a variable
    assert "distance_lanes[lane]" in source
    assert "means_bar_sum = reassociable_add(means_bar_sum, " in source
    # the value is added up trip by trip
    assert "total += " in source


def test_a_block_that_is_read_again_is_copied_once(monkeypatch):
    source = check(mixture, (1, 2), mixture_arguments, monkeypatch, sizes=(17,))
    assert "points_turned[j, lane] = points_block[lane, j]" in source


def test_compiled(monkeypatch):
    arguments = mixture_arguments(70)
    value, gradient = adjit.value_and_grad(mixture, wrt=(1, 2))(*arguments)
    _, plain = sources(mixture, (1, 2), arguments, monkeypatch)
    wanted, wanted_gradient = run(plain, arguments)
    assert value == pytest.approx(wanted, rel=1e-14)
    for found, expected in zip(gradient, wanted_gradient, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_differences():
    arguments = list(mixture_arguments(5))
    _, (_, found) = adjit.value_and_grad(mixture, wrt=(1, 2), target="python", strategy=CHEAPEST)(*arguments)
    for k in range(4):
        moved = [arguments[2].copy(), arguments[2].copy()]
        moved[0][k] += 1e-6
        moved[1][k] -= 1e-6
        difference = (mixture(*arguments[:2], moved[0]) - mixture(*arguments[:2], moved[1])) / 2e-6
        assert found[k] == pytest.approx(difference, rel=1e-6)


def standardised(x, scale):
    total = 0.0
    for i in range(x.shape[0]):
        mean = 0.0
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= x.shape[1]
        loss = 0.0
        for j in range(x.shape[1]):
            loss += ((x[i, j] - mean) * scale[j]) ** 2
        total += loss
    return total


def test_elements_of_their_own(monkeypatch):
    source = check(standardised, (0, 1), lambda size: (random(size, 3), random(3)), monkeypatch)
    assert "x_bar_block[lane, j] += " in source


def path(start, drift, noise):
    total = 0.0
    for i in range(noise.shape[0]):
        s = start
        for t in range(noise.shape[1]):
            s = s * (1.0 + drift * noise[i, t])
        total += max(s - 1.0, 0.0)
    return total


def test_recurrences(monkeypatch):
    source = check(path, (0, 1), lambda size: (1.1, 0.3, random(size, 5)), monkeypatch)
    # what inner loops add to a sum over all trips, each lane adds up by itself
    assert "drift_bar_lanes[lane] = reassociable_add(drift_bar_lanes[lane], " in source
    assert "drift_bar = reassociable_add(drift_bar, drift_bar_lanes[lane])" in source


def huber(w, x, delta):
    total = 0.0
    for i in range(x.shape[0]):
        r = 0.1
        for j in range(x.shape[1]):
            r += x[i, j] * w[j]
        if abs(r) <= delta:
            total += 0.5 * r * r
        else:
            total += delta * (abs(r) - 0.5 * delta)
    return total


def test_branches_that_differ_between_lanes(monkeypatch):
    check(huber, (0,), lambda size: (random(3), random(size, 3), 1.0), monkeypatch)


def swapped(x, w, turns):
    total = 0.0
    for i in range(x.size):
        a = x[i]
        b = w[0]
        for k in range(turns):
            if k > 1:
                a = a * w[1]
            a, b = b + w[2] * a, a
        total += a * b
    return total


def test_values_that_change_places_and_branches_of_all_lanes(monkeypatch):
    check(swapped, (0, 1), lambda size: (random(size), random(3), 4), monkeypatch)


def packed(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        p = 0
        y = 0.0
        for j in range(x.shape[1]):
            for l in range(j + 1):
                y += w[p] * x[i, j] * x[i, l]
                p += 1
        total += y * y
    return total


def test_counters_that_are_the_same_for_all_lanes(monkeypatch):
    source = check(packed, (1,), lambda size: (random(size, 3), random(6)), monkeypatch)
    assert "        p = 0\n" in source
    # what the inner of two loops adds up is handed on where it is
    assert not re.search(r"(\w+)\[lane\] = \1\[lane\]\n", source)


def looked_up(w, x, labels):
    total = 0.0
    scores = np.empty(w.shape[0])
    for i in range(x.shape[0]):
        for k in range(w.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                s += w[k, j] * x[i, j]
            scores[k] = s
        total += scores[labels[i]] * w[labels[i], 0]
    return total


def test_indices_that_differ_between_lanes(monkeypatch):
    def arguments(size):
        return random(4, 2), random(size, 2), np.arange(size) * 7 % 4

    check(looked_up, (0,), arguments, monkeypatch)


def squared(x, w):
    total = 0.0
    for i in range(1, x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s = s * w[j] + x[i, j]
        total += math.sin(s)
    return total * total


def test_a_reverse_loop_by_itself(monkeypatch):
    source = check(squared, (0, 1), lambda size: (random(size, 3), random(3)), monkeypatch)
    assert source.count("for i0 in range(") >= 1


def trailing(x, w, out):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * w[j]
        out[i] = s * s
    return np.sum(out * out)


def test_results_of_each_trip(monkeypatch):
    check(trailing, (0, 1), lambda size: (random(size, 3), random(3), np.zeros(size)), monkeypatch)


def test_blocks_get_narrower_where_a_trip_keeps_much(monkeypatch):
    monkeypatch.setattr(lanes, "ELEMENTS", 256)
    source = check(mixture, (1, 2), mixture_arguments, monkeypatch)
    assert "16 * max(1, 16 // (" in source


def test_second_derivatives(monkeypatch):
    arguments = mixture_arguments(20)
    with_lanes, plain = sources(mixture, 2, arguments, monkeypatch, of=adjit.hessian)
    np.testing.assert_allclose(run(with_lanes, arguments), run(plain, arguments), rtol=1e-12, atol=1e-12)


# --------------------------------------------------------------------------------------------------- what is not


def carried_over(x, w):
    total, last = 0.0, 0.5
    for i in range(x.shape[0]):
        s = last
        for j in range(x.shape[1]):
            s = s * w[j] + x[i, j]
        last = s
        total += s
    return total


def scratch_carried_over(x, w):
    total = 0.0
    v = np.zeros(w.size)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            v[j] = v[j] * w[j] + x[i, j]
            s += v[j]
        total += s
    return total


def value_in_inner_loop(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s = s * w[j] + x[i, j]
            total += s
    return total


def triangle(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(i, x.shape[1]):
            s += x[i, j] * w[j]
        total += s * s
    return total


def elementwise(x, w):
    total = 0.0
    y = np.empty(w.size)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] = x[i, j] * w[j]
        total += y[0] * y[1]
    return total


def until(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = x[i, 0]
        while s > 0.01:
            s = s * w[0] * 0.1
        total += s
    return total


def neighbours(x, w):
    y = x.copy()
    for i in range(1, x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += y[i - 1, j] * w[j]
        y[i, 0] = s
    return y[x.shape[0] - 1, 0]


def from_the_end(x, w):
    y = np.zeros(x.shape[0])
    for i in range(-1, x.shape[0] - 1):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * w[j]
        y[i] = s * y[i]
    return np.sum(y)


@pytest.mark.parametrize(
    "function",
    [carried_over, scratch_carried_over, triangle, elementwise, until, neighbours, from_the_end],
)
def test_trips_that_depend_on_each_other_stay_as_they_are(function, monkeypatch):
    arguments = (random(4, 3), random(3))
    with_lanes, plain = sources(function, (0, 1), arguments, monkeypatch)
    forward = with_lanes.split("reverse sweep")[0]
    assert "in range(lanes)" not in forward
    value, gradient = run(with_lanes, arguments)
    wanted, wanted_gradient = run(plain, arguments)
    assert value == wanted
    for found, expected in zip(gradient, wanted_gradient, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def in_two_loops(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(1, w.size):
            s = x[i, 0]
            for k in range(x.shape[1]):
                s = s * w[j] + x[i, k]
                total -= math.sin(s)
        total += x[i, 0]
    return total


@pytest.mark.parametrize("function", [value_in_inner_loop, in_two_loops])
def test_terms_of_sums_that_keep_their_order_are_kept_apart(function, monkeypatch):
    def arguments(size):
        return random(size, 3), random(3)

    source = check(function, (0, 1), arguments, monkeypatch, where=TERMS_APART)
    assert "total" not in source.split("terms[", 1)[1].split("\n", 1)[0]
    with_lanes, _ = sources(function, (0, 1), arguments(4), monkeypatch)
    assert "terms" not in with_lanes


def test_terms_are_not_kept_apart_where_the_loop_stays_as_it_is(monkeypatch):
    source, _ = sources(triangle, (0, 1), (random(4, 3), random(3)), monkeypatch, where=TERMS_APART)
    assert "terms" not in source


def films(x, w):
    """A trip over time reads its own part of `x`: to turn all of it would be a copy of all times, each time."""
    s = 0.5
    for t in range(x.shape[0]):
        total = 0.0
        for i in range(x.shape[1]):
            inner = 0.0
            for k in range(w.size):
                inner = math.sin(inner + x[t, i, k] * w[k])
            again = 0.0
            for k in range(w.size):
                again += x[t, i, k] * inner
            total += again * inner
        s = math.sin(s) + total
    return s


def test_only_what_a_block_goes_through_is_turned():
    source = adjit.value_and_grad(films, wrt=(0, 1)).source("float64[:, :, :], float64[:]", tuned=True)
    assert "for lane in range(lanes):" in source
    assert "x_turned" not in source


def packed_factors(means, factors, x):
    """In the reverse of the loop over c, each trip counts p down from where it ended."""
    k, d = means.shape
    total = 0.0
    for i in prange(x.shape[0]):
        centred = np.empty(d)
        scaled = np.empty(d)
        terms = np.empty(k)
        for c in range(k):
            for j in range(d):
                centred[j] = x[i, j] - means[c, j]
                scaled[j] = math.exp(factors[c, j]) * centred[j]
            p = d
            for j in range(d):
                for row in range(j + 1, d):
                    scaled[row] += factors[c, p] * centred[j]
                    p += 1
            squares = 0.0
            for j in range(d):
                squares += scaled[j] * scaled[j]
            terms[c] = -0.5 * squares
        scale = 0.0
        for c in range(k):
            scale += math.exp(terms[c])
        total += math.log(scale)
    return total


def test_integers_that_each_lane_counts():
    arguments = random(4, 3), 0.3 * random(4, 6), random(50, 3)
    made = [
        adjit.value_and_grad(packed_factors, wrt=(0, 1), target="python", parallel=True, strategy=strategy)(*arguments)
        for strategy in (CHEAPEST, Strategy(without=frozenset({"lanes"})))
    ]
    for a, b in zip(made[0][1], made[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def pairs(points, weights):
    total = 0.0
    n, d = points.shape
    pull = np.zeros((n, d))
    for i in range(n):
        for j in range(n):
            squares = 0.0
            for k in range(d):
                squares += (points[j, k] - points[i, k]) ** 2
            factor = weights[j] / (squares + 0.5)
            for k in range(d):
                pull[i, k] += factor * (points[j, k] - points[i, k])
        for k in range(d):
            total += pull[i, k] ** 2
    return total


def test_what_lanes_add_up_is_turned_and_goes_back(monkeypatch):
    def arguments(n):
        return random(n, 3), np.cos(np.arange(float(n)))

    source = check(pairs, (0, 1), arguments, monkeypatch, (0, 1, 17, 65))
    # the own points of a block are copied, others are read where they are
    assert "points_turned[j, lane] = points_block[lane, j]" in source
    assert "points_bar_turned[j, lane] = 0.0" in source
    assert "points_bar_block[lane, j] += points_bar_turned[j, lane]" in source


def flow(points, weights):
    x = points.copy()
    n, d = x.shape
    for t in range(2):
        pull = np.zeros((n, d))
        for i in range(n):
            for j in range(n):
                squares = 0.0
                for k in range(d):
                    squares += (x[j, k] - x[i, k]) ** 2
                factor = weights[j] / (squares + 0.5)
                for k in range(d):
                    pull[i, k] += factor * (x[j, k] - x[i, k])
        for i in range(n):
            for k in range(d):
                x[i, k] += 0.1 * pull[i, k]
    return np.sum(x * x)


def test_own_rows_are_turned_and_go_back(monkeypatch):
    def arguments(n):
        return random(n, 3), np.cos(np.arange(float(n)))

    source = check(flow, (0, 1), arguments, monkeypatch, (0, 1, 17, 65))
    assert "pull_turned[j, lane] = pull_block[lane, j]" in source
    assert "pull_block[lane, j] = pull_turned[j, lane]" in source


# -------------------------------------------------------------------------------------- what is along rows, or closer


def scaled(alpha, A, x):
    return np.sum((alpha * A @ x) ** 2)


def scaled_rows(A, w, s):
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[i, j] ** 2 * (w[i] + s)
    return total


@pytest.mark.parametrize("function, arguments", [
    (scaled, (0.5, random(3, 4), random(4))), (scaled_rows, (random(3, 4), random(3), 0.2)),
])  # fmt: skip
def test_sums_of_adjoints_along_rows_are_vectors_as_they_are(function, arguments):
    made = adjit.value_and_grad(function, wrt=(0, 1, 2))
    source = made.source(*arguments, tuned=True)
    assert "in range(lanes)" not in source
    assert "reassociable_add(" in source
    value, gradient = made(*arguments)
    wanted, wanted_gradient = adjit.value_and_grad(function, wrt=(0, 1, 2), target="python")(*arguments)
    assert value == pytest.approx(wanted, rel=1e-14)
    for found, expected in zip(gradient, wanted_gradient, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def normalised_by_channel(x, w):
    variance = x.var(axis=(0, 2, 3), keepdims=True)
    return np.sum(w * (x - x.mean(axis=(0, 2, 3), keepdims=True)) / np.sqrt(variance))


def test_rows_of_channels_are_vectors_where_sums_are_in_any_order():
    arguments = random(2, 3, 4, 5), random(2, 3, 4, 5)
    source = adjit.value_and_grad(normalised_by_channel, wrt=(0, 1)).source(*arguments, tuned=True)
    before, after = source.split("# ---- reverse sweep", 1)
    assert "in range(lanes)" not in source
    # means are values, but those of array statements
    assert "reassociable_add(" in before
    assert "reassociable_sub(" in after
    in_order = Strategy(without=frozenset({"sums"}))
    source = adjit.value_and_grad(normalised_by_channel, wrt=(0, 1), strategy=in_order).source(*arguments, tuned=True)
    before, after = source.split("# ---- reverse sweep", 1)
    assert "in range(lanes)" in before
    assert "in range(lanes)" not in after


def softmax_of_last(x, w):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(w * (e / np.sum(e, axis=-1, keepdims=True)))


def test_lanes_only_where_that_is_faster():
    """What lanes would fetch one by one, and rows read as vectors, against sums that wait for one another."""
    rows = random(1, 5, 4, 8, 3), random(2, 5, 4, 8, 3)
    assert "in range(lanes)" not in adjit.value_and_grad(softmax_of_last, wrt=(0, 1)).source(*rows, tuned=True)
    assert "lanes" in adjit.value_and_grad(standardised, wrt=(0, 1)).source(random(9, 5), random(5), tuned=True)
    everywhere = Strategy(without=frozenset({"weigh"}))
    found = adjit.value_and_grad(softmax_of_last, wrt=(0, 1), strategy=everywhere).source(*rows, tuned=True)
    assert "in range(lanes)" in found


def two_nests(L, x):
    """The first one would only be in lanes for a product, which it turns out not to have."""
    d = L.shape[0]
    w = np.empty(d)
    total = 0.0
    for n in range(x.shape[0]):
        for i in range(d):
            w[i] = math.sin(x[n, i])
        for i in range(d):
            s = 0.5
            for j in range(d):
                s += L[i, j] * x[n, j] * w[j]
            total += s * w[i]
    for m in range(x.shape[0]):
        for i in range(d):
            s = 0.0
            for j in range(d):
                s += L[j, i] * s + x[m, j]
            total += s * s
    return total


def test_a_loop_that_is_not_laid_after_all_keeps_its_arrays(monkeypatch):
    monkeypatch.setattr(lanes, "is_faster_in_lanes", lambda found, *_: found.loop.body.args[0].name == "m")
    L, x = random(4, 4), random(30, 4)
    gradient = adjit.grad(two_nests, wrt=(0, 1), cache=False)
    wanted = adjit.grad(two_nests, wrt=(0, 1), target="python", strategy=Strategy(without=frozenset({"lanes"})))(L, x)
    for found, bar in zip(gradient(L, x), wanted, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-11)
    source = gradient.source(L, x, tuned=True)
    assert "for m0 in range(" in source
    assert "for n0 in range(" not in source


def largest_of_blocks(x, w):
    n, h, v = x.shape
    return np.sum(w * np.max(x.reshape(n, h // 2, 2, v // 2, 2), axis=(2, 4)))


def test_what_lanes_would_store_one_by_one_is_dearer_than_what_they_fetch():
    arguments = random(3, 6, 8), random(3, 3, 4)
    assert "in range(lanes)" not in adjit.value_and_grad(largest_of_blocks, wrt=(0, 1)).source(*arguments, tuned=True)


def test_of_two_loops_that_suit_lanes_the_one_whose_elements_lie_closer_gets_them(monkeypatch):
    def arguments(size):
        return random(2, 3, size, 4), random(3, 3, size, 4)[:2]

    source = check(softmax_of_last, (0, 1), arguments, monkeypatch, (1, 16, 65))
    assert "x_block = x[:, :, k0:k1, :]" in source
    assert "[:, j0:j1" not in source
