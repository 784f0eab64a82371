"""Time loops as they are written: buffers that change places, arrays that each step makes, arrays that it changes."""

from __future__ import annotations

import numpy as np
from numba import cuda, prange


def heat(u0, c, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            v[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u)


def heat_made_anew(u0, c, steps):
    u = u0.copy()
    for _ in range(steps):
        v = np.zeros_like(u)
        v[1:-1] = u[1:-1] + c * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = v
    return np.sum(u * u)


def heat_in_place(u0, c, steps):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + c * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return np.sum(u * u)


def conducting(u0, k, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                near = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                v[i, j] = u[i, j] + k[i, j] * (near - 4.0 * u[i, j])
        u, v = v, u
    return np.sum(u * u)


def waves(u0, c, steps):
    before, now, after = u0.copy(), u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, now.size - 1):
            after[i] = 2.0 * now[i] - before[i] + c[i] * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        before, now, after = now, after, before
    return np.sum(now * now)


def pushed(u, k):
    return u + k * np.sin(u)


def stepped(u0, k, steps):
    u = u0
    for _ in range(steps):
        u = pushed(u, k)
    return np.sum(u * u)


def springs(x0, v0, steps):
    x, v = x0.copy(), v0.copy()
    for _ in range(steps):
        v -= 0.1 * np.sin(x)
        x += 0.1 * v * x
    return np.sum(x * v)


@cuda.jit
def advect(u, speed, after):
    j, i = cuda.grid(2)
    if i >= 1 and i < u.shape[0] and j >= 1 and j < u.shape[1]:
        after[i, j] = u[i, j] - speed[i, j] * (u[i, j] - u[i - 1, j]) - speed[i, j] * (u[i, j] - u[i, j - 1])


def advection(u0, speed, weight, steps):
    """That of benchmarks/cuda_workloads.py."""
    u, after = cuda.to_device(u0), cuda.to_device(u0)
    for _ in range(steps):
        advect[((u0.shape[1] + 3) // 4, (u0.shape[0] + 3) // 4), (4, 4)](u, speed, after)
        u, after = after, u
    return np.sum(u * weight)


V, M = "float64[::1]", "float64[:, ::1]"
# what is differentiated with respect to, types of arguments, and their shapes; None: of the steps
PROGRAMS = {
    "heat": (heat, ("u0", "c"), (V, "float64", "int64"), ([13], 0.2, None)),
    "heat_made_anew": (heat_made_anew, ("u0", "c"), (V, "float64", "int64"), ([13], 0.2, None)),
    "heat_in_place": (heat_in_place, ("u0", "c"), (M, "float64", "int64"), ([5, 6], 0.1, None)),
    "conducting": (conducting, ("u0", "k"), (M, M, "int64"), ([5, 6], [5, 6], None)),
    "waves": (waves, ("u0", "c"), (V, V, "int64"), ([13], [13], None)),
    "stepped": (stepped, ("u0", "k"), (V, V, "int64"), ([13], [13], None)),
    "springs": (springs, ("x0", "v0"), (V, V, "int64"), ([13], [13], None)),
    "advection": (advection, ("u0", "speed"), (M, M, M, "int64"), ([5, 6], [5, 6], [5, 6], None)),
}
