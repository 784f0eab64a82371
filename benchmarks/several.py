"""Times several tangents, several seeds, and several samples at once: `python benchmarks/several.py`.

    python benchmarks/several.py [--rounds 9] [--size 20000] [--count 16]

Each is compared with the same number of single calls: Jacobians by rows with calls of the pullback, and gradients per
sample of `adjit.vmap` with a compiled loop that calls the gradient. All take turns in each round, and medians count.
"""

import argparse

import numpy as np
from numba import njit

import adjit
from run import medians

MAP_BAR = 1.1


def stencil(u, nu, steps):
    """A heat equation with a source, in two arrays that change places."""
    u, v = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            v[i] = u[i] + nu * (u[i - 1] - 2.0 * u[i] + u[i + 1]) + 0.01 * np.sin(u[i])
        u, v = v, u
    return u


def network(x, w):
    """Two layers of a network, in loops."""
    hidden, y = np.empty(w.shape[0]), np.empty(w.shape[0])
    for i in range(w.shape[0]):
        s = 0.0
        for j in range(x.size):
            s += w[i, j] * x[j]
        hidden[i] = np.tanh(s)
    for i in range(w.shape[0]):
        y[i] = hidden[i] * hidden[(i + 1) % w.shape[0]]
    return y


def recursion(x, k):
    """A filter, of which each value waits for the one before."""
    y = np.empty_like(x)
    s = 0.0
    for i in range(x.size):
        s = np.tanh(k * s + x[i])
        y[i] = s * x[i]
    return y


def cases(size):
    draw = np.random.default_rng(5)
    side = int(size**0.5)
    return (
        ("heat equation", stencil, (draw.normal(size=size), 0.1, 20)),
        ("network", network, (draw.normal(size=side), draw.normal(size=(side, side)) / side)),
        ("recursion", recursion, (draw.normal(size=size), 0.5)),
    )


def run(name, function, arguments, count, rounds):
    draw = np.random.default_rng(6)
    tangents = tuple(0 if isinstance(a, int) else draw.normal(size=(count, *np.shape(a))) for a in arguments)
    each = [tuple(t if isinstance(t, int) else t[k] for t in tangents) for k in range(count)]
    value, pullback = adjit.vjp(function, *arguments)
    seeds = draw.normal(size=(count, *value.shape))
    taken = medians(
        {
            "tangents": lambda: adjit.jvp(function, arguments, tangents, several=True),
            "calls of jvp": lambda: [adjit.jvp(function, arguments, one) for one in each],
            "seeds": lambda: pullback(seeds, several=True),
            "pullbacks": lambda: [pullback(seed) for seed in seeds],
        },
        rounds,
    )
    for kind, single in (("tangents", "calls of jvp"), ("seeds", "pullbacks")):
        print(f"{name:14} {kind:8} {1e3 * taken[kind]:8.2f} ms, {taken[kind] / taken[single]:.2f} of {single}")


def run_rows(name, function, arguments, rounds):
    by_rows = adjit.jacrev(function)
    value, pullback = adjit.vjp(function, *arguments)
    unit = np.eye(value.size)
    taken = medians({"rows": lambda: by_rows(*arguments), "calls": lambda: [pullback(row) for row in unit]}, rounds)
    print(f"{name:14} Jacobian by rows {1e3 * taken['rows']:8.2f} ms, {taken['rows'] / taken['calls']:.2f} of calls")


def of_sample(x, w):
    """A loss of one sample."""
    total = 0.0
    for i in range(w.shape[0]):
        s = 0.0
        for j in range(x.size):
            s += w[i, j] * x[j]
        total += np.tanh(s) ** 2
    return total


gradient = adjit.grad(of_sample, wrt="w")


@njit
def one_by_one(x, w):
    bars = np.empty((x.shape[0], *w.shape))
    for k in range(x.shape[0]):
        bars[k] = gradient(x[k], w)
    return bars


def run_map(size, rounds):
    draw = np.random.default_rng(7)
    side = int(size**0.25)
    x, w = draw.normal(size=(size // side, side)), draw.normal(size=(side, side)) / side
    mapped = adjit.vmap(gradient, in_axes=(0, None))
    np.testing.assert_allclose(mapped(x, w), one_by_one(x, w), rtol=1e-12)
    taken = medians({"map": lambda: mapped(x, w), "loop": lambda: one_by_one(x, w)}, rounds)
    ratio = taken["map"] / taken["loop"]
    print(f"gradients per sample {1e3 * taken['map']:8.2f} ms, {ratio:.2f} of a loop, bar {MAP_BAR}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--count", type=int, default=16)
    given = parser.parse_args()
    for case in cases(given.size):
        run(*case, given.count, given.rounds)
    for case in cases(400):
        run_rows(*case, given.rounds)
    run_map(given.size, given.rounds)
