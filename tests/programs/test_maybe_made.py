"""What a loop without trips, or a branch, does not make, and what a branch alone reads."""

import itertools
import math

import numpy as np
import pytest

import adjit
from adjit.transform.strategy import CHEAPEST, FORCED
from tests.defining import define

MADE = {
    "while": "c = 0\nwhile c < 2 and r < 0.7:\n    w = np.sin(u) * x\n    c += 1",
    "for": "for k in range(n):\n    w = np.sin(u) * x",
    "nested loops": "for k in range(n):\n    for l in range(k):\n        w = np.sin(u) * x",
    "branch": "if r < 0.7:\n    w = np.sin(u) * x",
    "branch in a loop": "for k in range(n):\n    if r < 0.7:\n        w = np.sin(u) * x\n        v = w * w",
}
READ = {
    "elements": "s += w[0] * w[-1] if r < 0.6 else x",
    "stored to": "if r < 0.6:\n    s += w[0] * w[-1]\n    w[0] = x\n    s += w[0] * u[0]",
    "loop": "for m in range(q):\n    s += w[m] * x",
    "sum": "if r < 0.6:\n    s += np.sum(w * w)",
    "product": "if r < 0.6:\n    s += np.dot(w, u)",
    "call": "if r < 0.6:\n    w = np.cumsum(w)\n    s += w[1]",
}
AROUND = {
    "nothing": "{}",
    "a branch": "if r > 0.5:\n    {}",
    "two branches": "if r > 0.5:\n    if x > 0.1:\n        {}",
    "a loop": "for t in range(2):\n    {}",
    "a branch in a loop": "for t in range(2):\n    if r > 0.5:\n        {}",
    "while": "t = 0\nwhile t < 2:\n    t += 1\n    {}",
    "a loop that stores": "for t in range(2):\n    u[0] = u[0] * 0.5 + x\n    {}",
}
PLACES = ((0.2, 0, 0), (0.55, 2, 2), (0.65, 2, 0), (0.65, 0, 0), (0.8, 0, 0), (0.8, 2, 0), (0.4, 2, 1))
U, X, STEP = np.array([0.3, 0.4]), 0.5, 1e-6


def program(made, read, around):
    inside = AROUND[around]
    margin = " " * (inside.rpartition("\n")[2].index("{"))
    body = inside.format(f"\n{margin}".join(f"{MADE[made]}\n{READ[read]}".splitlines()))
    lines = ["u = u * 1.5", "s = x", *body.splitlines(), "return x * s + np.sum(u * u)"]
    text = "def program(u, x, r, n, q):\n" + "".join(f"    {line}\n" for line in lines)
    return define(text, f"<{made}, {read}, {around}>", np=np)["program"]


def check(function, strategy):
    derived = adjit.value_and_grad(function, wrt=(0, 1), target="python", strategy=strategy)
    tried = 0
    for place in PLACES:
        try:
            wanted = function(U, X, *place)
        except UnboundLocalError:
            # what is not there is read
            continue
        value, (u_bar, x_bar) = derived(U, X, *place)
        assert math.isclose(value, wanted, rel_tol=1e-12)
        slope = function(U, X + STEP, *place) - function(U, X - STEP, *place)
        slopes = [function(U + d, X, *place) - function(U - d, X, *place) for d in STEP * np.eye(2)]
        np.testing.assert_allclose(x_bar, slope / (2 * STEP), rtol=1e-6)
        np.testing.assert_allclose(u_bar, np.array(slopes) / (2 * STEP), rtol=1e-6, atol=1e-7)
        pulled = adjit.vjp(function, U, X, *place, target="python")[1](1.0)
        np.testing.assert_allclose(pulled[0], u_bar, rtol=1e-12, atol=1e-15)
        tried += 1
    assert tried > 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("around", ["nothing", "a branch in a loop"])
@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("made", MADE)
def test_some(made, read, around):
    check(program(made, read, around), CHEAPEST)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["again", "kept", "plain", "trips again", "readable", "without fuse"])
def test_all(strategy):
    for names in itertools.product(MADE, READ, AROUND):
        check(program(*names), FORCED[strategy])


def found_in_loops_without_trips(x, v):
    found = {}
    for i in v:
        found[i % 3] = x * i
    return sum(w * w for w in found.values())


@pytest.mark.parametrize("strategy", FORCED.values(), ids=FORCED)
def test_counters_of_loops_without_trips_are_put_aside(strategy):
    derived = adjit.value_and_grad(found_in_loops_without_trips, "x", target="python", strategy=strategy)
    assert derived(1.5, np.array([1, 2, 3, 4, 5])) == (112.5, 150.0)
