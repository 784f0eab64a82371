"""The programs whose explanations stand beside this file.

`CASES` lists them: the name of the file, the derivative, and its arguments.
"""

import numpy as np

import adjit
from tests.golden import primals


def heat(u0, alpha, steps):
    # explicit Euler steps on a plate, from one array into the other
    n, m = u0.shape
    u = u0.copy()
    for t in range(steps):
        before = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lap = before[i + 1, j] + before[i - 1, j] + before[i, j + 1] + before[i, j - 1] - 4.0 * before[i, j]
                u[i, j] = before[i, j] + alpha[i, j] * lap * lap
    return np.sum(u * u)


def wave(u, c, steps):
    now, after = u.copy(), u.copy()
    for t in adjit.checkpoint(range(steps)):
        for i in range(1, u.size - 1):
            after[i] = now[i] + c * now[i] * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, after = after, now
    return np.sum(now * now)


def walk(x, w, limit):
    # of a branch, a comparison, and a variable that reaches nothing
    total = 0.0
    worst = 0.0
    for i in range(x.size):
        step = np.sin(w * x[i])
        if step > limit:
            step = limit + np.log(1.0 + step - limit)
        worst = max(worst, step)
        total += step * step
    unused = worst * 2.0  # noqa: F841
    return total


def softplus(x, scale):
    hidden = np.exp(x * scale)
    return np.sum(np.log(1.0 + hidden))


U = np.sin(np.arange(12.0))
PLATE = np.cos(np.arange(42.0)).reshape(6, 7)
_by_name = {case.name: case for case in primals.CASES}

CASES = {
    "diffuse": (adjit.grad(primals.diffuse, wrt=("u", "alpha")), (U, 0.1, 5)),
    "diffuse_u": (adjit.grad(primals.diffuse, wrt="u"), (U, 0.1, 5)),
    "diffuse_types": (adjit.grad(primals.diffuse, wrt="alpha"), ("float64[:], float, int",)),
    "log_likelihood": (
        adjit.value_and_grad(primals.log_likelihood, wrt=("means", "log_weights")),
        _by_name["log_likelihood"].arguments,
    ),
    "heat": (adjit.grad(heat, wrt=("u0", "alpha")), (PLATE, 0.1 * PLATE, 4)),
    "square_root": (adjit.grad(primals.square_root, wrt="a"), (2.0, 1e-12)),
    "wave": (adjit.grad(wave, wrt=("u", "c")), (U, 0.1, 30)),
    "heat_in_memory": (adjit.grad(heat, wrt=("u0", "alpha"), memory_limit="4 kB"), (PLATE, 0.1 * PLATE, 20)),
    "walk": (adjit.value_and_grad(walk, wrt=("x", "w")), (U, 0.7, 0.5)),
    "softplus": (adjit.grad(softplus, wrt=("x", "scale")), (U, 0.3)),
    "trimmed": (adjit.grad(primals.trimmed, wrt=("x", "lower", "upper")), _by_name["trimmed"].arguments),
}
