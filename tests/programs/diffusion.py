"""Diffusion in place, from left to right, for tests of what is told of a derivative."""

import numpy as np


def diffuse(u, alpha, steps):
    v = u.copy()
    for t in range(steps):
        left = v[0]
        for i in range(1, v.size - 1):
            here = v[i]
            v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            left = here
    return np.sum(v * v)
