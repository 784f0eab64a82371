"""Structured arrays that are made inside: fields and records, read and written, as NumPy has them."""

import numpy as np
import pytest

import adjit

X = np.array([0.5, 1.5, -0.7, 1.1])
KIND = np.dtype([("mass", "f8"), ("at", float), ("count", int)])


def of_known_rows(x):
    table = np.array([(0.0, 0.1, 2), (-0.4, 0.2, 3), (0.3, 0.0, 1)], dtype=[("a", "f8"), ("d", "f8"), ("n", int)])
    total = 0.0
    for value, row in zip(x, table):
        total += np.sin(value * row["n"] + row["a"]) * (1 + row["d"])
    return total + np.sum(table["a"] * x[:3]) * len(table)


def of_computed_rows(x):
    bodies = np.array([(v * v, v + k, k) for k, v in enumerate(x)], dtype=KIND)
    heavy = bodies[bodies["mass"] > 0.4]
    ordered = bodies[np.argsort(bodies["at"])]
    return np.sum(heavy["mass"] * heavy["at"]) + ordered["mass"][0] * bodies[-1]["at"] + ordered[1:3]["count"].sum()


def filled(x):
    state = np.zeros(x.size, dtype=KIND)
    state["mass"] = x**2
    for k in range(x.size):
        state["at"][k] = np.cos(x[k])
        state[k]["count"] = k
    state[2] = (x[0] * x[1], 3.0, 7)
    state["at"] += 0.5 * x
    first = state[0]
    state["mass"][0] = x[3]
    return np.sum(state["mass"] * state["at"] * state["count"]) + first["mass"] * state.size


def in_a_time_loop(x):
    p = np.zeros(2, dtype=[("r", float, (2,)), ("v", float, (2,))])
    p["r"], p["v"] = x.reshape(2, 2), 1.0
    for _ in range(3):
        for one in p:
            one["v"] = one["v"] - 0.1 * one["r"]
            one["r"] += 0.1 * one["v"]
    before = p.copy()
    p["r"] *= 2.0
    return np.sum(p["r"] ** 2) + np.sum(before["v"] * before["r"])


@pytest.mark.parametrize("function", [of_known_rows, of_computed_rows, filled, in_a_time_loop])
def test_value_and_gradient(function) -> None:
    value, bar = adjit.value_and_grad(function, target="python")(X)
    assert value == pytest.approx(function(X), rel=1e-14)
    sides = [(function(X + h), function(X - h)) for h in np.eye(4) * 1e-5]
    np.testing.assert_allclose(bar, [(a - b) / 2e-5 for a, b in sides], rtol=1e-7, atol=1e-9)


def test_what_is_not_taken_is_said() -> None:
    def of_two_axes(x):
        return np.sum(np.zeros((2, 2), dtype=KIND)["at"] * x[0])

    with pytest.raises(adjit.AdjitError, match="use one axis"):
        adjit.grad(of_two_axes, target="python")(X)
