"""The two halves are what the joint derivative is; each half can run again, and they share nothing that is written."""

import numpy as np
import pytest
from numba import types

import adjit
from adjit.api.arguments.trees import snapshot
from adjit.transform import ir, pipeline
from adjit.transform.analysis.alias import Aliases
from adjit.transform.emit.emit import emit
from adjit.transform.ir.verify import verify
from adjit.transform.pipeline import Derivative
from tests.transform.emitting import python

F, I = types.float64, types.intp
VECTOR, MATRIX = types.Array(F, 1, "C"), types.Array(F, 2, "C")


def damped(x, w):
    phase = w * x
    return np.exp(-x) * np.sin(phase)


def recurrence(x, n):
    s = x
    for i in range(n):
        s = np.sin(s) * x
    return s


def newton(x):
    """How many trips there are is known only when they are done, so the tape is a list."""
    y = x
    while abs(y * y - x) > 1e-10:
        y = 0.5 * (y + x / y)
    return y


def smoothed(u, steps):
    u = u.copy()
    v = np.zeros_like(u)
    for t in range(steps):
        for i in range(1, u.size - 1):
            v[i] = u[i] + 0.1 * u[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return u


def in_place(a, x):
    for i in range(a.size):
        a[i] = a[i] * a[i - 1] * x
    return a


def two_results(a, b):
    return np.sum(a * b), a * np.exp(b)


def product(A, x):
    return np.sin(A @ x)


def branching(x, y):
    if x > y:
        return x * y
    return np.exp(x) * y


def made_in_a_branch(a, x):
    if x > 1.0:
        b = a * x
    else:
        b = a + x
    b[0] = b[1] * x
    return np.sum(a * b)


def given_back(a, x):
    return a, np.sum(a * a * x)


def linear(x, y):
    return 2.0 * x + y


A = np.array([1.0, -2.0])

ROWS = [
    (damped, (F, F), (0, 1), (0.7, 3.0), 1.5),
    (recurrence, (F, I), (0,), (0.7, 4), 1.5),
    (newton, (F,), (0,), (7.0,), 1.5),
    (smoothed, (VECTOR, I), (0,), (np.linspace(0.5, 2.0, 6) ** 2, 3), np.arange(6.0)),
    (in_place, (VECTOR, F), (0, 1), (np.array([0.5, -2.0, 3.0]), 1.5), np.array([1.0, 2.0, -1.0])),
    (
        two_results,
        (VECTOR, VECTOR),
        (0, 1),
        (np.array([1.0, 2.0]), np.array([0.5, -0.5])),
        (2.0, np.array([1.0, -1.0])),
    ),
    (
        product,
        (MATRIX, VECTOR),
        (0, 1),
        (np.arange(6.0).reshape(2, 3), np.array([0.1, 0.2, 0.3])),
        np.array([1.0, -2.0]),
    ),
    (branching, (F, F), (0, 1), (0.5, 1.0), 2.0),
    (made_in_a_branch, (VECTOR, F), (0, 1), (A, 0.5), 1.5),
    (given_back, (VECTOR, F), (0, 1), (np.array([1.0, 2.0]), 3.0), (np.array([1.0, -1.0]), 0.5)),
    (linear, (F, F), (0, 1), (0.5, 1.0), 2.0),
]
IDS = [row[0].__name__ for row in ROWS]


def halves(function, types_, wrt):
    forward = pipeline.build(Derivative(function, "split_forward", wrt), types_)
    value, *handed = forward.result
    taken = [types.Tuple([forward.body.yields[k].type for k in part]) for part in handed]
    reverse = pipeline.build(
        Derivative(function, "split_reverse", wrt, given=types_), (*taken, seed_type(forward, value))
    )
    return forward, reverse


def seed_type(forward, value):
    if isinstance(value, tuple):
        return types.Tuple([seed_type(forward, part) for part in value])
    return forward.body.yields[value].type


def copied(value):
    if isinstance(value, tuple):
        return tuple(map(copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def assert_same(found, wanted):
    for left, right in zip(flat(found), flat(wanted), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-14)


@pytest.mark.parametrize(("function", "types_", "wrt", "arguments", "seed"), ROWS, ids=IDS)
def test_halves_are_the_joint_derivative(function, types_, wrt, arguments, seed):
    made = halves(function, types_, wrt)
    for half in made:
        verify(half)
    forward, reverse = (python(emit(half)) for half in made)
    joint = python(pipeline.source(Derivative(function, "vjp", wrt), (*types_, seed_type(made[0], made[0].result[0]))))
    wanted = joint(*copied(arguments), copied(seed))
    given, right = copied(arguments), function(*copied(arguments))
    value, saved, changed = forward(*given)
    assert_same(value, right)
    assert_same(given, arguments)
    before, weight = copied(saved), copied(seed)
    bars = reverse(saved, snapshot(changed), weight)
    assert_same(bars, wanted)
    assert_same(saved, before)
    assert_same(weight, seed)
    # the caller may do what it wants with the value and the adjoints
    for array in flat((value, bars)):
        if isinstance(array, np.ndarray):
            array[...] = np.nan
    assert_same(reverse(saved, snapshot(changed), seed), wanted)


def test_text_of_the_halves():
    forward, reverse = halves(damped, (F, F), (0, 1))
    assert emit(forward).text.splitlines()[2:] == [
        "    # ---- forward sweep",
        "    phase = w * x",
        "    exp = np.exp(-x)",
        "    sin = np.sin(phase)",
        "    return exp * sin, (sin, exp, phase, x, w), ()",
    ]
    text = emit(reverse).text
    assert text.startswith("def damped_pullback(saved, changed, out_bar):")
    assert "    sin, exp, phase, x, w = saved\n" in text


def test_only_what_is_read_is_saved():
    forward, _ = halves(linear, (F, F), (0, 1))
    assert forward.result[1:] == ((), ())
    forward, _ = halves(lambda x, w: x * np.sin(w), (F, F), (0,))
    assert [forward.body.yields[k].name for k in forward.result[1]] == ["sin"]


def test_what_is_changed():
    """Here the arrays are put back element by element, so the next pullback needs them as they are now."""
    forward, _ = halves(in_place, (VECTOR, F), (0, 1))
    assert [forward.body.yields[k].name for k in forward.result[2]] == ["a"]
    forward, _ = halves(damped, (F, F), (0, 1))
    assert forward.result[2] == ()


def test_growing_tapes_leave_as_arrays():
    forward, reverse = halves(newton, (F,), (0,))
    saved = [forward.body.yields[k].type for k in forward.result[1]]
    assert any(isinstance(t, types.Array) for t in saved)
    assert not any(isinstance(t, types.List) for t in saved)
    assert not any(isinstance(op, ir.Pull) for op in ir.walk(reverse.body))


def remade(x, n):
    u = x.copy()
    v = 0.5 * x
    while u[0] < 1000.0 and n > 0:
        u, v = v, u * v + x
        n -= 1
    return u


def test_tapes_of_arrays_stay_inside():
    """Nothing is saved, and the runtime runs both sweeps instead."""
    forward = pipeline.build(Derivative(remade, "split_forward", (0,)), (VECTOR, I))
    assert forward.result[1] is None
    value, saved, changed = python(emit(forward))(np.array([1.5, 2.0]), 3)
    assert saved is changed is None
    np.testing.assert_allclose(value, remade(np.array([1.5, 2.0]), 3), rtol=1e-15)


def in_place_through_a_view(x):
    u = x.copy()
    v = u[1:]
    for i in range(v.size):
        v[i] = np.sin(v[i] * u[i])
    for i in range(v.size):
        u[i] = u[i] * v[i]
    return np.dot(u, u) * np.dot(v, v)


def test_the_pullback_knows_which_of_its_arrays_may_be_one():
    derivative = Derivative(in_place_through_a_view, "split_reverse", (0,), given=(VECTOR,))
    made = pipeline.build(derivative, (VECTOR, F))
    (group,) = made.overlapping
    assert {"u", "v"} <= {array.name for array in group}
    aliases = Aliases(made)
    assert len({aliases.find(array) for array in group}) == 1
    x = np.array([0.3, 0.8, -0.4, 1.1])
    _, pullback = adjit.vjp(in_place_through_a_view, x)
    np.testing.assert_allclose(pullback(1.0)[0], adjit.grad(in_place_through_a_view)(x), rtol=1e-12)
