"""Indices: which are known to be in bounds, which are checked before their loops, and which in their place."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import adjit
from adjit.errors import BeyondLoop
from adjit.runtime.library import check_bounds, check_index, check_mask, index_range
from adjit.transform import ir, pipeline
from adjit.transform.analysis.effects import is_unsure
from adjit.transform.emit import emit

VECTOR, MATRIX = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
INTEGERS, N = types.Array(types.int64, 1, "C"), types.intp


def made(function, *kinds, **options):
    return pipeline.primal(function, kinds, bounds=True, **options)


def checks(function):
    """The lines of a function's text that check something."""
    text = emit(function, in_workspace=False).text
    return [line.strip() for line in text.splitlines() if "check_" in line or "index_range" in line]


# ------------------------------------------------------------------------------------------------------------- proved


def along(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[-1 - i] + x[i - x.size]
    return s


def neighbours(x):
    y = np.zeros(x.size)
    for i in range(1, x.shape[0] - 1):
        y[i] = x[i - 1] + x[i + 1]
        if i > 1:
            y[i] += x[i - 2]
    return np.sum(y)


def triangle(a):
    n = a.shape[0]
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            c[i, j] = a[i, 0] * c[i - j, j]
    return np.sum(c)


def wrapped(x):
    s = 0.0
    for i in range(x.size):
        s += x[(i + 1) % x.size] * x[i // 2]
    return s


def by_twos(x):
    s = 0.0
    for k in range(0, x.size - 1, 2):
        s += x[k] * x[k + 1]
    for k in range(x.size - 1, -1, -3):
        s += x[k]
    return s


def nearest(x):
    k = 0
    for i in range(x.size):
        if x[i] > 0.5:
            k = i
    y = np.zeros(x.size + 1)
    for i in range(x.size):
        k = i if x[i] > 0.0 else k
        y[k] += x[i]
    return np.sum(y)


def picked(x):
    return np.sum(x[np.arange(x.size)] * x[np.argsort(x)])


def upwards(x):
    s, i = 0.0, 0
    while i < x.size and x[i] > 0.0:
        s += x[i] ** 2
        i += 1
    i = 0
    while True:
        if i >= x.size:
            break
        i += 1
        if x[i - 1] < 0.5:
            continue
        s += x[i - 1]
    return s


def least_of(x):
    best, which, i = np.inf, 0, 0
    while i < x.size:
        if x[i] < best:
            best, which = x[i], i
        i += 1
    for i in range(x.size):
        best = min(best, x[i])
    return best + which


def downwards(x):
    s, i = 0.0, x.size - 1
    while i >= 0:
        j = i - 1
        while j >= 0 and s < 5.0:
            s += x[i] * x[j]
            j -= 2
        i -= 1
    return s


def from_both_ends(x):
    s, i, j = 0.0, 0, x.size - 1
    while i < j:
        s += x[i] * x[j]
        i += 1
        j -= 1
    return s


def merged(x):
    y = 1.1 * x
    s, i, j = 0.0, 0, 0
    while i < x.size and j < y.size:
        if x[i] < y[j]:
            s += x[i] * y[j]
            i += 1
        else:
            s += y[j] ** 2
            j += 2
    return s


def of_items(x):
    items, few = [v * v for v in x], [2.0, 3.0, 4.0]
    s = 0.0
    for i in range(len(items)):
        s += items[i] * items[-i] * x[i]
    for i in range(3):
        s += few[i] * few[i - 3]
    return s


PROVED = [
    along, neighbours, wrapped, by_twos, nearest, picked, upwards, least_of, downwards, from_both_ends, merged,
    of_items,
]  # fmt: skip


@pytest.mark.parametrize("function", PROVED)
def test_what_follows_from_ranges_is_not_checked(function):
    assert checks(made(function, VECTOR)) == []
    assert not any(op.callee is check_index for op in calls(made(function, VECTOR, stretches=True)))


def test_of_triangles():
    assert checks(made(triangle, MATRIX)) == ["check_bounds(0, 0, a.shape[1])"]


def calls(function):
    return [op for op in function.body.inside if isinstance(op, ir.Call)]


# -------------------------------------------------------------------------------------------------------------- masks


def positive(x):
    y = 2.0 * x
    y[y > 0.0] = x[x > 0.0]
    y[y < 1.0] += 1.0
    a = np.outer(x, x)
    return np.sum(y[x > 0.5]) + np.sum(a[a > 0.5]) + np.sum(a[x > 0.0, 1:]) + np.sum(a[None, :, x > 0.0])


def through_mask(x, mask):
    y = 2.0 * x
    y[mask] += 1.0
    return np.sum(x[mask] * y[mask])


def test_masks_that_are_as_long_as_their_axes_are_not_checked():
    for stretches in (False, True):
        assert not any(op.callee is check_mask for op in calls(made(positive, VECTOR, stretches=stretches)))


def test_masks_of_arguments_are_checked_once():
    kinds = VECTOR, types.Array(types.boolean, 1, "C")
    assert "same_extent(mask.size, x.size)" in emit(made(through_mask, *kinds), in_workspace=False).text
    assert not any(op.callee is check_mask for op in calls(made(through_mask, *kinds)))
    assert any(op.callee is check_mask for op in calls(made(through_mask, *kinds, stretches=True)))
    assert not any(op.callee is check_mask for op in calls(pipeline.primal(through_mask, kinds, stretches=True)))


# ------------------------------------------------------------------------------------------------- before the loops


def of_length(x, n):
    s = 0.0
    for t in range(10):
        for i in range(n):
            s += x[i] * x[i + 1]
            if i > 2:
                s += x[i - 3]
    return s


def of_two(x, w):
    s = 0.0
    for i in range(1, x.size):
        s += x[i] * w[x.size - i]
    return s


def guarded(x, w):
    s = 0.0
    for i in range(x.size):
        if i < w.size and x[i] > 0.0:
            s += w[i]
        if i + 1 < x.size:
            s += x[i + 1]
    return s


def scattered(x, idx):
    y = np.zeros(x.size)
    for i in range(idx.size):
        y[idx[i]] += x[idx[i] - 1]
    return np.sum(y)


def rows(x, idx):
    s = 0.0
    for i in range(idx.size - 1):
        for k in range(idx[i], idx[i + 1]):
            s += x[k]
    return s


def running(x, w):
    s = 0.0
    for i in range(x.size):
        p = 0
        for j in range(w.size):
            for k in range(j):
                s += w[p] * x[i]
                p += 1
    return s


def chosen(x, flag):
    s = 0.0
    if flag > 0:
        for i in range(flag):
            s += x[i]
    return s


@pytest.mark.parametrize(
    ("function", "kind", "wanted"),
    [
        (of_length, N, ["check_bounds(0, n, x.size)"]),
        (of_two, VECTOR, ["check_bounds(1, x.size - 1, w.size)"]),
        (guarded, VECTOR, []),
        (
            scattered, INTEGERS,
            [
                "least, greatest = index_range(idx)", "check_bounds(least - 1, greatest, x.size)",
            ],
        ),
        (rows, INTEGERS, ["least, greatest = index_range(idx)", "check_bounds(least, greatest - 1, x.size)"]),
        (running, VECTOR, ["check_bounds(p, p, w.size)"]),
        (chosen, N, ["check_bounds(0, flag - 1, x.size)"]),
    ],
)  # fmt: skip
def test_what_is_known_before_the_loops_is_checked_there(function, kind, wanted):
    program = made(function, VECTOR, kind)
    assert sorted(checks(program)) == sorted(wanted)
    assert not any(is_unsure(op) for op in program.body.inside)
    heads = [op for op in calls(program) if op.callee in (check_bounds, index_range)]
    inside = [op for outer in program.body.ops if isinstance(outer, ir.For) for op in outer.body.inside]
    assert function is running or not any(op in inside for op in heads)
    # what assumes nothing looks at each where it is used
    assert any(op.callee is check_index for op in calls(made(function, VECTOR, kind, stretches=True))) or not wanted


def test_a_check_stays_in_the_branch_of_its_loop():
    (branch,) = [op for op in made(chosen, VECTOR, N).body.ops if isinstance(op, ir.If)]
    assert any(isinstance(op, ir.Call) and op.callee is check_bounds for op in branch.then.ops)


# ---------------------------------------------------------------------------------------------------------- in place


def sought(x, n):
    k = 0
    while x[k] > 0.0:
        k += n
    return x[k]


def by_value(x, n):
    s = 0.0
    for i in range(n):
        s += x[int(x[0] * i)]
    return s


def made_by_trips(x, n):
    order = np.zeros(n, dtype=np.int64)
    s = 0.0
    for t in range(n):
        order[t] = order[t - 1] + t
        s += x[order[t]]
    return s


@pytest.mark.parametrize("function", [sought, by_value, made_by_trips])
def test_what_is_known_in_its_trip_alone_is_checked_in_it(function):
    assert any(op.callee is check_index for op in calls(made(function, VECTOR, N)))


# ------------------------------------------------------------------------------------------------------------- values

X, W = np.array([0.5, 0.7, 0.9, 1.1]), np.array([0.3, 0.2, 0.1, 0.8, 0.6, 0.4])


def too_strict(x, w, idx, n):
    """All in bounds, though a check before the loops would not know."""
    s = 0.0
    for i in range(n):
        if x[i % x.size] > 1.0:
            s += w[i + 2]
        if i == 3:
            break
        s += x[i]
    for i in range(idx.size):
        if idx[i] < x.size:
            s += x[idx[i]] ** 2
    return s


def test_no_error_of_what_is_not_reached():
    arguments = X, W, np.array([2, 7, 1]), 9
    for target in ("python", "cpu"):
        value, (x_bar, w_bar) = adjit.value_and_grad(too_strict, wrt=(0, 1), target=target)(*arguments)
        assert value == pytest.approx(too_strict(*arguments), rel=1e-14)
        np.testing.assert_allclose(x_bar, [1.0, 1.0 + 1.4, 1.0 + 1.8, 0.0], rtol=1e-14)
        np.testing.assert_allclose(w_bar, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], rtol=1e-14)
    with pytest.raises(IndexError):
        adjit.grad(too_strict)(X, W[:5], *arguments[2:])


def test_the_text_says_what_it_takes_for_granted():
    scope: dict[str, object] = {"np": np, "check_bounds": check_bounds}
    exec(adjit.grad(of_length).source(X, 3).partition("\n\n\n")[0], scope)
    np.testing.assert_allclose(scope["of_length_grad"](X, 3), adjit.grad(of_length)(X, 3), rtol=1e-14)
    with pytest.raises(BeyondLoop, match="index 4 is out of bounds for an axis with size 4"):
        scope["of_length_grad"](X, 4)
