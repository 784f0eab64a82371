"""Times sparse Jacobians and Hessians of 1e5 unknowns: `python benchmarks/sparse.py`.

    python benchmarks/sparse.py [--rounds 9] [--size 100000] [--dense 2000]

Each is compared with the compiled function, and with SciPy's differences along the same groups of columns
(`approx_derivative`). The dense matrix is timed for fewer unknowns and extrapolated by its number of elements. All take
turns in each round, and medians of the rounds count.
"""

import argparse
import math
import time

import numpy as np
from numba import njit
from scipy.optimize._numdiff import approx_derivative

import adjit
from run import medians

LEAST = 12  # directions, at most


def burgers(u, nu, dx):
    r = np.empty_like(u)
    n = u.size
    r[0] = u[0]
    r[n - 1] = u[n - 1]
    for i in range(1, n - 1):
        r[i] = u[i] * (u[i + 1] - u[i - 1]) / (2.0 * dx) - nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]) / dx**2
    return r


def upwind(u, nu, dx):
    """Burgers' equation with differences against the flow: which they are depends on the values."""
    r = np.empty_like(u)
    n = u.size
    r[0] = u[0]
    r[n - 1] = u[n - 1]
    for i in range(1, n - 1):
        slope = u[i] - u[i - 1] if u[i] > 0.0 else u[i + 1] - u[i]
        r[i] = u[i] * slope / dx - nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]) / dx**2
    return r


def gray_scott(z, f, k):
    """Two species that react and diffuse on a torus."""
    r = np.empty_like(z)
    n, m = z.shape[1], z.shape[2]
    for i in range(n):
        up, down = (i + 1) % n, (i - 1) % n
        for j in range(m):
            left, right = (j - 1) % m, (j + 1) % m
            u, v = z[0, i, j], z[1, i, j]
            reaction = u * v * v
            r[0, i, j] = (
                z[0, up, j] + z[0, down, j] + z[0, i, left] + z[0, i, right] - 4.0 * u - reaction + f * (1.0 - u)
            )
            r[1, i, j] = 0.5 * (z[1, up, j] + z[1, down, j] + z[1, i, left] + z[1, i, right] - 4.0 * v) + reaction
            r[1, i, j] -= (f + k) * v
    return r


def surface(z):
    """The area of a surface over a grid."""
    total = 0.0
    for i in range(z.shape[0] - 1):
        for j in range(z.shape[1] - 1):
            total += math.sqrt(1.0 + (z[i + 1, j] - z[i, j]) ** 2 + (z[i, j + 1] - z[i, j]) ** 2)
    return total


def cases(size):
    """Name, function, arguments, whether it is a Hessian that is asked for."""
    draw = np.random.default_rng(5)
    side = math.isqrt(size // 2)
    whole = math.isqrt(size)
    return (
        ("Burgers", burgers, (draw.normal(size=size), 0.1, 0.01), False),
        ("Burgers, upwind", upwind, (draw.normal(size=size), 0.1, 0.01), False),
        ("Gray-Scott", gray_scott, (draw.uniform(size=(2, side, side)), 0.04, 0.06), False),
        ("area, Hessian", surface, (draw.normal(size=(whole, whole)),), True),
    )


def timed(function):
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def differences(function, arguments, own):
    """SciPy's differences, and the groups of columns that they go along."""
    compiled = njit(function)
    x, *rest = arguments

    def flat(v):
        return compiled(v.reshape(x.shape), *rest).ravel()

    given = own.pattern.astype(float).tocsr(), own.colours
    return lambda: approx_derivative(flat, x.ravel(), method="2-point", sparsity=given)


def run(name, function, arguments, is_hessian, rounds, dense):
    kind = adjit.hessian if is_hessian else adjit.jacobian
    make = kind(function, sparse=True)
    make(*arguments)
    again = kind(function, sparse=True)
    first, matrix = timed(lambda: again(*arguments))
    own = make.sparsity(*arguments)
    compiled = njit(function)
    compiled(*arguments)
    candidates = {"itself": lambda: compiled(*arguments), "adjit": lambda: make(*arguments)}
    if own.by == "columns":
        candidates["SciPy"] = differences(function, arguments, own)
    taken = medians(candidates, rounds)
    full = kind(function)
    few = next(a for n, _, a, _ in cases(dense) if n == name)
    full(*few)
    each = min(timed(lambda: full(*few))[0] for _ in range(3)) / few[0].size ** 2
    x_dot = np.random.default_rng(1).normal(size=arguments[0].shape)
    rest = tuple(0.0 for _ in arguments[1:])
    if is_hessian:
        along = adjit.hvp(function)(*arguments, x_dot)
    else:
        along = adjit.jvp(function, arguments, (x_dot, *rest))[1]
    difference = np.abs(matrix @ x_dot.ravel() - np.ravel(along)).max() / np.abs(along).max()
    row = (
        f"{name:16} {matrix.shape[0]:8,} {own.directions:10} {1e3 * taken['itself']:9.2f} {1e3 * first:9.1f} "
        f"{1e3 * taken['adjit']:9.2f} "
    )
    row += f"{1e3 * taken['SciPy']:9.2f}" if "SciPy" in taken else f"{'':9}"
    print(f"{row} {each * arguments[0].size ** 2:9.1f} {difference:10.1e}", flush=True)
    return own.directions


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--dense", type=int, default=2_000)
    given = parser.parse_args()
    print("first: with pattern and colours, compiled before; SciPy: differences; dense: extrapolated, in seconds")
    print(f"{'function':16} {'unknowns':>8} {'directions':>10} {'itself ms':>9} {'first ms':>9} {'ms':>9} ", end="")
    print(f"{'SciPy ms':>9} {'dense s':>9} {'difference':>10}")
    found = [run(*case, given.rounds, given.dense) for case in cases(given.size)]
    print(f"directions, most: {max(found)}, bar {LEAST} {'met' if max(found) <= LEAST else 'NOT MET'}")


if __name__ == "__main__":
    main()
