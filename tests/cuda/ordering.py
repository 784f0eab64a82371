"""Functions and kernels whose adjoints have threads that add to elements which they share."""

import math

import numpy as np
from numba import prange

import adjit
from tests.cuda.package import cuda


def gathered(x, k, w):
    total = 0.0
    for i in prange(k.size):
        total += w[i] * math.sin(x[k[i]])
    return total


def in_planes(x, k, w):
    """Elements of two axes, from the end too, a loop inside and a guard."""
    total = 0.0
    for i in prange(k.shape[0]):
        for j in range(k.shape[1]):
            if i != j:
                total += w[i] * math.sin(x[k[i, j] - 3, j]) * x[i, j]
    return total


@cuda.jit
def interpolated(table, k, y):
    i = cuda.grid(1)
    if i < k.size:
        j = k[i]
        y[i] = table[j] * table[j + 1]


@cuda.jit
def in_blocks(x, k, y):
    """Blocks that stay: what is in shared memory is read through an index array."""
    part = cuda.shared.array(8, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t] = x[b, t] * x[b, t]
    cuda.syncthreads()
    y[b, t] = part[7 - t] * x[0, k[b, t]]


@cuda.jit
def shared_reads(x, k, y):
    part = cuda.shared.array(8, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t] = x[b, t] * x[b, t]
    cuda.syncthreads()
    y[b, t] = part[k[b, t]]


@cuda.jit
def ragged(x, starts, k, y):
    """How many additions a thread makes is in an array."""
    i = cuda.grid(1)
    if i < y.size:
        total = 0.0
        for j in range(starts[i], starts[i + 1]):
            total += x[k[j]]
        y[i] = total


# ------------------------------------------------------------------------------------- indices that are all different

unique = adjit.cuda.unique


def permuted(x, k, w):
    total = 0.0
    u = adjit.cuda.unique(k)
    for i in prange(k.size):
        total += w[i] * math.sin(x[u[i]])
    return total


def permuted_rows(x, k, w):
    total = 0.0
    for i in prange(k.size):
        row = unique(k)[i]
        for j in range(x.shape[1]):
            total += w[i] * x[row, j] ** 2
    return total


def met_again(x, k, w):
    """An element of k serves several trips: the promise says nothing about them."""
    total = 0.0
    u = adjit.cuda.unique(k)
    for i in prange(k.size):
        total += w[i] * math.sin(x[u[i // 2]])
    return total


def of_two(x, k, w):
    """Two arrays of indices, each of different ones, may name one element."""
    total = 0.0
    u, v = adjit.cuda.unique(k), adjit.cuda.unique(w)
    for i in prange(k.size):
        total += x[u[i]] * x[v[i]]
    return total


@cuda.jit
def picked(x, k, y):
    i = cuda.grid(1)
    if i < k.size:
        j = unique(k)[i]
        y[i] = x[j] * x[j]
