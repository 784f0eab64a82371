"""Results that depend on what is differentiated through decisions alone: refused, with ways out that work.

And those that depend on it in both ways, as most programs do, which are taken without a word.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.optimize import brentq

import adjit
from tests.programs.harness import _central

PYTHON = {"target": "python", "cache": False}

# ----------------------------------------------------------------------------------------------- reached by decisions


def fall_time(v: float) -> float:
    y, t, dt = 100.0, 0.0, 1e-3
    while y > 0.0:
        v -= 9.8 * dt
        y += v * dt
        t += dt
    return t


def fall_time_by_break(v: float) -> float:
    y, t, dt = 100.0, 0.0, 1e-3
    for _ in range(100000):
        v -= 9.8 * dt
        y += v * dt
        t += dt
        if y < 0.0:
            break
    return t


def number_of_trips(a: float) -> float:
    total = 0.0
    for _ in range(int(a)):
        total += 0.5
    return total


def bisected(p: float) -> float:
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle * middle - p > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def golden_section(p: float) -> float:
    a, b, share = 0.0, 10.0, 0.5 * (np.sqrt(5.0) - 1.0)
    while b - a > 1e-8:
        c, d = b - share * (b - a), a + share * (b - a)
        if (c - p) ** 2 < (d - p) ** 2:
            b = d
        else:
            a = c
    return 0.5 * (a + b)


def nelder_mead(p: float) -> float:
    simplex = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    values = np.zeros(3)
    for i in range(3):
        values[i] = (simplex[i, 0] - p) ** 2 + (simplex[i, 1] - 1.0) ** 2
    for _ in range(50):
        order = np.argsort(values)
        simplex, values = simplex[order], values[order]
        centre = 0.5 * (simplex[0] + simplex[1])
        reflected = 2.0 * centre - simplex[2]
        value = (reflected[0] - p) ** 2 + (reflected[1] - 1.0) ** 2
        if value < values[2]:
            simplex[2], values[2] = reflected, value
        else:
            simplex[2] = 0.5 * (simplex[2] + centre)
            values[2] = (simplex[2, 0] - p) ** 2 + (simplex[2, 1] - 1.0) ** 2
    return simplex[0, 0]


def grid_search(p: float) -> float:
    grid = np.linspace(0.0, 5.0, 51)
    return grid[np.argmin((grid - p) ** 2)]


def place(x: np.ndarray) -> float:
    return float(np.argmin(x))


def nearest_entry(x: float) -> float:
    table = np.array([1.0, 2.0, 4.0, 8.0])
    return table[np.searchsorted(np.array([0.1, 0.2, 0.3]), x)]


def how_many(x: np.ndarray) -> float:
    return np.sum(x > 0.5) * 1.0


def how_many_are_left(x: np.ndarray) -> float:
    return float(x[x > 0.5].size)


def how_many_places(x: np.ndarray) -> float:
    return float(np.flatnonzero(x > 0.5).size)


def length_of_a_list(x: np.ndarray) -> float:
    found = []
    for v in x:
        if v > 0.5:
            found.append(v)
    return float(len(found))


def rounded(x: float) -> float:
    return 2.0 * np.floor(x) + np.round(x) + np.sign(x) + x // 0.3


def accuracy(w: np.ndarray) -> float:
    points, labels = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.2]]), np.array([1.0, -1.0, 1.0])
    return np.mean(np.sign(points @ w) == labels)


def stored_under_a_condition(x: float) -> float:
    y = np.zeros(2)
    if x > 0.5:
        y[0] = 2.0
    return y[0] + y[1]


def early_return(x: float) -> float:
    if x > 0.5:
        return 1.0
    return 2.0


def of_sign_alone(x: float) -> float:
    return np.copysign(3.0, x)


def thresholded(threshold: float) -> float:
    x = np.array([0.1, 0.4, 0.8])
    return np.sum(np.where(x > threshold, x, 0.0))


def drawn(p: float) -> float:
    np.random.seed(0)
    total = 0.0
    for _ in range(10):
        if np.random.random() < p:
            total += 1.0
    return total


X = np.array([0.7, 0.2, 0.9])
REFUSED: list[tuple[Callable[..., Any], Any, str]] = [
    (fall_time, 5.0, "while y > 0.0:"),
    (fall_time_by_break, 5.0, "if y < 0.0:"),
    (number_of_trips, 3.7, "for _ in range(int(a)):"),
    (bisected, 2.0, "if middle * middle - p > 0.0:"),
    (golden_section, 2.0, "if (c - p) ** 2 < (d - p) ** 2:"),
    (nelder_mead, 0.7, "if value < values[2]:"),
    (grid_search, 1.1, "return grid[np.argmin((grid - p) ** 2)]"),
    (place, X, "return float(np.argmin(x))"),
    (nearest_entry, 0.15, "return table[np.searchsorted"),
    (how_many, X, "return np.sum(x > 0.5) * 1.0"),
    (how_many_are_left, X, "return float(x[x > 0.5].size)"),
    (how_many_places, X, "return float(np.flatnonzero(x > 0.5).size)"),
    (length_of_a_list, X, "if v > 0.5:"),
    (rounded, 0.7, "return 2.0 * np.floor(x)"),
    (accuracy, np.array([0.3, 0.4]), "return np.mean(np.sign(points @ w) == labels)"),
    (stored_under_a_condition, 0.7, "if x > 0.5:"),
    (early_return, 0.7, "if x > 0.5:"),
    (of_sign_alone, 0.7, "return np.copysign(3.0, x)"),
    (thresholded, 0.3, "return np.sum(np.where(x > threshold, x, 0.0))"),
    (drawn, 0.3, "if np.random.random() < p:"),
]


@pytest.mark.parametrize(("function", "argument", "line"), REFUSED, ids=lambda part: getattr(part, "__name__", ""))
def test_what_only_decides_is_refused_at_its_line(function, argument, line):
    (name,) = function.__code__.co_varnames[: function.__code__.co_argcount]
    with pytest.raises(adjit.NotDifferentiable) as refused:
        adjit.grad(function, **PYTHON)(argument)
    text = str(refused.value)
    assert f"{function.__name__} depends on `{name}` only through conditions, indices or rounding" in text
    assert line in text
    assert text.count("\n") == 7
    for asked in (
        lambda: adjit.vjp(function, argument, **PYTHON),
        lambda: adjit.jvp(function, (argument,), (argument,), **PYTHON),
        lambda: adjit.jacobian(function, **PYTHON)(argument),
        lambda: adjit.hessian(function, **PYTHON)(argument),
        lambda: adjit.check_grads(function, (argument,), **PYTHON),
    ):
        with pytest.raises(adjit.NotDifferentiable, match="only through conditions, indices or rounding"):
            asked()


def test_compiled_as_well():
    with pytest.raises(adjit.NotDifferentiable, match=r"fall_time depends on `v` [^\n]*\n *test_silent_zeros.py:\d+"):
        adjit.value_and_grad(fall_time)(5.0)
    with pytest.raises(adjit.NotDifferentiable, match="bisected depends on `p`"):
        adjit.grad(lambda x: x * adjit.grad(bisected)(x))(2.0)


# ---------------------------------------------------------------------------------------------------- what to do then


def height(t: float, v: float) -> float:
    return 100.0 + v * t - 4.9 * t * t


fallen = adjit.implicit(fall_time, height, tolerance=None)


def fall_time_by_newton(v: float) -> float:
    t = fall_time(v)
    g = lambda t: height(t, v)
    return t - g(t) / adjit.grad(g)(t)


def held_at_the_condition(v: float) -> float:
    y, t, dt = 100.0, 0.0, 1e-3
    while adjit.stop_gradient(y) > 0.0:
        v -= 9.8 * dt
        y += v * dt
        t += dt
    return t


def held_at_the_end(v: float) -> float:
    return adjit.stop_gradient(fall_time(v)) + float(adjit.stop_gradient(int(v)))


def held_at_the_start(v: float) -> float:
    return fall_time(adjit.stop_gradient(v))


def held_truth(v: float) -> float:
    return 2.0 if adjit.stop_gradient(v > 1.0) else 3.0


def held_place(x: np.ndarray) -> float:
    k = adjit.stop_gradient(np.argmin(x))
    mask = adjit.stop_gradient(x > 0.5)
    return float(k) + np.sum(mask) + float(adjit.stop_gradient(np.argsort(x))[2])


def test_the_ways_out_of_the_message():
    v = 5.0
    root = math.sqrt(v * v + 2.0 * 9.8 * 100.0)
    slope = (1.0 + v / root) / 9.8
    for function in (fallen, lambda v: fallen(v), fall_time_by_newton):
        value, found = adjit.value_and_grad(function)(v)
        assert value == pytest.approx((v + root) / 9.8, abs=2e-3)
        # to the error of the steps, of 1e-3
        assert found == pytest.approx(slope, abs=2e-5)
    for function in (held_at_the_condition, held_at_the_start):
        assert adjit.value_and_grad(function)(v) == (fall_time(v), 0.0)
    assert adjit.value_and_grad(held_at_the_end)(v) == (fall_time(v) + 5.0, 0.0)
    assert adjit.value_and_grad(held_truth)(v) == (2.0, 0.0)
    value, found = adjit.value_and_grad(held_place)(X)
    assert value == held_place(X)
    assert found.tolist() == [0.0, 0.0, 0.0]


def test_what_is_left_out_or_constant():
    def over(x, threshold):
        return np.sum(np.where(x > threshold, x * x, 0.0))

    gradient = adjit.grad(over, wrt=("x", "threshold"), **PYTHON)
    with pytest.raises(adjit.NotDifferentiable, match=r"over depends on `threshold`[\s\S]*or leave it out of wrt"):
        gradient(X, 0.5)
    assert adjit.grad(over, **PYTHON)(X, 0.5).tolist() == [1.4, 0.0, 1.8]

    @njit
    def counted(x):
        return np.sum(x > 0.5) * 1.0

    adjit.rules.constant(counted)
    assert adjit.grad(lambda x: counted(x), **PYTHON)(X).tolist() == [0.0, 0.0, 0.0]


# ------------------------------------------------------------------------------------------- one of many, and several


def loss(params, x):
    h = params["w"] * x + params["b"][0]
    return np.sum(np.where(h > params["threshold"], h * h, 0.0))


def test_a_leaf_that_only_decides_is_told_of_once():
    params = {"w": np.ones(3), "threshold": 0.5, "b": [0.1]}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for made in (adjit.grad, adjit.value_and_grad):
            found = made(loss, **PYTHON)(params, X)
        assert found[1]["threshold"] == 0.0
        adjit.vjp(loss, params, X, **PYTHON)
        adjit.jvp(loss, (params, X), (params, X), **PYTHON)
        adjit.check_grads(loss, (params, X), order=1, **PYTHON)
    (one,) = told
    assert one.category is adjit.OnlyDecides
    assert 'the result of loss depends on `params["threshold"]` only through conditions' in str(one.message)
    assert one.filename == __file__
    assert one.lineno == loss.__code__.co_firstlineno + 2
    with pytest.raises(adjit.NotDifferentiable, match="params_threshold"):
        adjit.grad(loss, wrt="params['threshold']", **PYTHON)(params, X)


def test_what_is_kept_on_disk_tells_of_it_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ADJIT_CACHE", "1")
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)

    def made():
        def scaled(p):
            return p["w"] if p["w"] > p["threshold"] else -p["w"]

        return adjit.grad(scaled)

    for count in range(2):
        hits = adjit.cache_info().hits
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert made()({"w": 2.0, "threshold": 0.5}) == {"w": 1.0, "threshold": 0.0}
        assert [(one.category, one.filename) for one in told] == [(adjit.OnlyDecides, __file__)]
        assert "threshold" in str(told[0].message)
        assert adjit.cache_info().hits - hits == count


def test_a_row_of_a_jacobian():
    def landing(v):
        x, y, t = 0.0, 10.0, 0.0
        while y > 0.0:
            x, y, t = x + v * 0.01, y - 0.02, t + 0.01
            if x > 3.0:
                y -= 0.01
        return x, t

    with pytest.warns(adjit.OnlyDecides, match="a result of landing depends on `v`"):
        found = adjit.jacobian(landing, **PYTHON)(2.0)
    assert found[1] == 0.0


def test_arguments_that_nobody_named():
    def solved(a, tolerance):
        x = 1.0
        for _ in range(50):
            step = (x * x - a) / (2.0 * x)
            x -= step
            if abs(step) < tolerance:
                break
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adjit.vjp(solved, 2.0, 1e-9, **PYTHON)[1](1.0) == pytest.approx((0.5 / math.sqrt(2.0), 0.0))
        assert adjit.jvp(solved, (2.0, 1e-9), (1.0, 0.0), **PYTHON)[1] == pytest.approx(0.5 / math.sqrt(2.0))
        checked = adjit.check_grads(solved, (2.0, 1e-9), **PYTHON)
    (decided,) = checked.decisions
    assert decided.text == "if abs(step) < tolerance:"
    assert decided.by == ("a", "tolerance")
    assert repr(checked).endswith(f"; L{decided.line} decide by conditions, which have no derivative>")
    with pytest.raises(adjit.NotDifferentiable, match="solved depends on `tolerance`"):
        adjit.grad(solved, wrt="tolerance", **PYTHON)(2.0, 1e-9)


def test_what_does_not_depend_at_all_is_zero():
    def sized(x):
        return float(x.size) * np.mean(np.ones_like(x)) * len(x)

    def guarded(x, y):
        if not x > 0.0:
            raise ValueError("x")
        assert x < 5.0
        return y * y

    assert adjit.grad(sized, **PYTHON)(X).tolist() == [0.0, 0.0, 0.0]
    assert adjit.grad(lambda x: 3.0, **PYTHON)(2.0) == 0.0
    assert adjit.grad(guarded, **PYTHON)(2.0, 3.0) == 0.0


def test_derivatives_of_derivatives_may_be_zero():
    def hinge(x):
        return np.sum(np.where(x > 0.3, x, 0.0)) + np.max(x) + np.sum(np.abs(x))

    assert not adjit.hessian(hinge, **PYTHON)(X).any()
    assert adjit.hvp(hinge, **PYTHON)(X, X).tolist() == [0.0, 0.0, 0.0]
    inner = adjit.grad(lambda x: np.sum(adjit.grad(hinge)(x)), **PYTHON)
    assert inner(X).tolist() == [0.0, 0.0, 0.0]
    assert adjit.grad(lambda x: adjit.jvp(lambda t: abs(t), (x,), (1.0,))[1], **PYTHON)(2.0) == 0.0


# -------------------------------------------------------------------------------------------------- what is shown of it


@pytest.mark.filterwarnings("ignore::adjit.OnlyDecides")
def test_explain_names_the_lines():
    def clipped(x, low):
        total = 0.0
        for i in range(x.size):
            if x[i] > low:
                total += x[i]
        return total * x[np.argmax(x)]

    told = adjit.grad(clipped, **PYTHON).explain(X, 0.3)
    assert [(d.text, d.by) for d in told.decisions] == [
        ("if x[i] > low:", ("x",)),
        ("return total * x[np.argmax(x)]", ("x",)),
    ]
    assert "Decisions (they have no derivative)\n  line  statement" in str(told)
    told = adjit.grad(loss, **PYTHON).explain({"w": np.ones(3), "threshold": 0.5, "b": [0.1]}, X)
    (threshold,) = (v for v in told.variables if v.why.endswith("through conditions alone"))
    assert threshold.why == "in wrt, but it enters the result through conditions alone"


def test_check_grads_names_the_line_where_differences_do_not_agree():
    def bracketed(p):
        low, high = 0.0, 2.0 * p
        for _ in range(60):
            middle = 0.5 * (low + high)
            if middle * middle - p > 0.0:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)

    with pytest.raises(AssertionError, match=r"\n  L\d+, if middle \* middle - p > 0.0:, is decided by p, and held"):
        adjit.check_grads(bracketed, (2.0,), **PYTHON)


# ------------------------------------------------------------------------------------------------------- no false alarm


def pivoted(x: np.ndarray) -> float:
    a = np.array([[x[0], 2.0, 0.1], [1.0, x[1], 3.0], [2.0, 0.5, x[2]]])
    sign = 1.0
    for k in range(3):
        p = k
        for i in range(k + 1, 3):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            sign = -sign
            for j in range(3):
                a[k, j], a[p, j] = a[p, j], a[k, j]
        for i in range(k + 1, 3):
            a[i] -= a[i, k] / a[k, k] * a[k]
    return sign * a[0, 0] * a[1, 1] * a[2, 2]


def sorted_numbers(x: np.ndarray) -> float:
    order = np.argsort(x)
    return np.sort(x)[1] * x[order][0] + np.median(x) + np.quantile(x, 0.3)


def by_insertion(x: np.ndarray) -> float:
    y = x.copy()
    for i in range(1, y.size):
        k, j = y[i], i - 1
        while j >= 0 and y[j] > k:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = k
    return y[0] + 2.0 * y[1] * y[2]


def kinks(x: np.ndarray) -> float:
    return np.sum(np.abs(x)) + max(x[0], x[1]) + np.max(x) + np.min(x) + np.sum(np.clip(x, 0.3, 0.8)) + abs(x[2])


def newton(x: float) -> float:
    y = 1.0
    for _ in range(50):
        step = (y * y - x) / (2.0 * y)
        y -= step
        if abs(step) < 1e-12:
            return y
    raise ValueError("no root")


def polished_bisection(x: float) -> float:
    y = bisected(x)
    return y - (y * y - x) / (2.0 * y)


def adaptive_steps(x: float) -> float:
    t, h, y = 0.0, 0.3, 1.0
    while t < 1.0:
        h = min(h, 1.0 - t)
        k1 = -x * y
        k2 = -x * (y + h * k1)
        error = abs(0.5 * h * (k2 - k1))
        if error < 1e-2:
            t += h
            y += 0.5 * h * (k1 + k2)
        h = h * min(2.0, max(0.3, 0.9 * np.sqrt(1e-2 / (error + 1e-14))))
    return y


def rejected_steps(x: float) -> float:
    y, h = 0.0, 1.0
    for _ in range(8):
        trial = y + h * (x - y)
        if (trial - x) ** 2 < (y - x) ** 2:
            y = trial
        else:
            h *= 0.5
        h *= 0.7
    return y * y


def table_look_up(x: float) -> float:
    places, values = np.array([0.0, 0.5, 1.0, 2.0]), np.array([1.0, 3.0, 2.0, 5.0])
    k = np.searchsorted(places, x) - 1
    share = (x - places[k]) / (places[k + 1] - places[k])
    return values[k] + share * (values[k + 1] - values[k]) + np.interp(x, places, values)


def event_between_steps(x: float) -> float:
    y, t, dt = 1.0, 0.0, 0.1
    while y > 0.0:
        before = y
        y -= x * dt
        t += dt
    return t - dt + dt * before / (before - y)


def rectified(x: np.ndarray) -> float:
    return np.sum(np.where(x > 0.5, x * x, 0.1 * x)) + np.sum(x[x > 0.5]) + np.mean(x[x < 0.8])


def best_of(x: np.ndarray) -> float:
    k = int(np.argmax(x))
    return x[k] ** 2 + float(k)


def sawtooth(x: float) -> float:
    return (x - np.floor(x)) ** 2 + x % 0.3 + np.sign(x) * x + float(x > 0.2) * x


def steps_of_a_length(x: float) -> float:
    n = int(x / 0.1)
    h, y = x / n, 1.0
    for _ in range(n):
        y -= h * y
    return y


def warped(x: np.ndarray) -> float:
    other = np.array([0.3, 0.6, 0.1])
    cost = np.full((4, 4), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, 4):
        for j in range(1, 4):
            cost[i, j] = (x[i - 1] - other[j - 1]) ** 2 + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[3, 3]


def nearest_centre(x: np.ndarray) -> float:
    centres, total = np.array([0.1, 0.8]), 0.0
    for v in x:
        k = np.argmin((centres - v) ** 2)
        total += (v - centres[k]) ** 2
    return total


def guarded_density(x: float) -> float:
    if x <= 0.0:
        return -np.inf
    assert x < 100.0
    if x > 50.0:
        raise ValueError("too large")
    return -0.5 * x * x - np.log(x)


def fixed_point_of_cosine(x: float) -> float:
    y, last = 0.5, 0.0
    while abs(y - last) > 1e-13:
        last = y
        y = np.cos(x * y)
    return y


def growing_list(x: np.ndarray) -> float:
    kept = []
    for v in x:
        if v > 0.3:
            kept.append(v * v)
    return np.sum(np.array(kept)) / len(kept)


def line_search(x: float) -> float:
    y = 0.0
    for _ in range(20):
        slope, step = 2.0 * (y - x) + 4.0 * y**3, 1.0
        while (y - step * slope - x) ** 2 + (y - step * slope) ** 4 > (y - x) ** 2 + y**4 - 0.1 * step * slope**2:
            step *= 0.5
            if step < 1e-6:
                break
        y -= step * slope
    return (y - x) ** 2 + y**4


def root_of_scipy(x: float) -> float:
    return brentq(lambda t: t**3 + t - x, 0.0, 5.0)


TAKEN: list[tuple[Callable[..., Any], Any]] = [
    *((f, X) for f in (pivoted, sorted_numbers, by_insertion, kinks, rectified, best_of, warped, nearest_centre)),
    *((f, 0.7) for f in (newton, polished_bisection, rejected_steps, table_look_up, event_between_steps, sawtooth)),
    *((f, 0.73) for f in (steps_of_a_length, guarded_density, fixed_point_of_cosine, line_search, root_of_scipy)),
    (adaptive_steps, 1.3),
    (growing_list, X),
]


@pytest.mark.parametrize(("function", "argument"), TAKEN, ids=lambda part: getattr(part, "__name__", ""))
def test_no_false_alarm(function, argument):
    with warnings.catch_warnings():
        warnings.simplefilter("error", adjit.OnlyDecides)
        found = adjit.grad(function, **PYTHON)(argument)
    direction = np.cos(np.arange(np.size(argument)) + 0.3) if np.ndim(argument) else 1.0
    wanted = _central(lambda step: function(argument + step * direction), 1e-5)
    # the steps of a search are not those of its neighbours, to the size of its last step
    assert np.sum(found * direction) == pytest.approx(wanted, rel=1e-4)
