"""Programs whose pages are looked at."""

import numpy as np


def step(v, alpha, i):
    return v[i] + alpha * (v[i - 1] - 2.0 * v[i] + v[i + 1])


def diffuse(u, alpha, steps):
    v = u.copy()
    # explicit steps in time
    for t in range(steps):
        w = v.copy()
        for i in range(1, v.size - 1):
            w[i] = np.tanh(step(v, alpha, i)) if v[i] < 1.0 else (
                step(v, alpha, i)
            )  # fmt: skip
        v = w
    return np.sum(v * v)


square = lambda x: x * x  # noqa: E731
