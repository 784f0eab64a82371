"""Functions and kernels in single precision whose sums lose ones: of a number of 2**24 and many of 1."""

import numpy as np
from numba import cuda, float32


def total(x, a):
    found = np.float32(0.0)
    for i in range(x.size):
        found += a[0] * x[i]
    return found


def columns(x, a):
    """The sum of each column, times a number of its own."""
    found = np.float32(0.0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            found += a[j] * x[i, j]
    return found


@cuda.jit
def turned(x, c, y):
    part = cuda.shared.array(8, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i]
    cuda.syncthreads()
    y[i] = c * part[7 - t]


@cuda.jit
def scaled(x, c, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = c * x[i]


def ones(*shape):
    x = np.ones(shape, np.float32)
    x.flat[0] = 2.0**24
    return x
