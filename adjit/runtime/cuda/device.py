"""Functions that kernels call: sums over a block, and what a GPU's `math` has not.

In: numbers, in each thread. Out: a number, in each thread; sums in the first thread of a block, in a fixed order.

    block_sum(total, parts[0])            parts[0, block] is the sum of `total` over the threads of the block
    sum_of_parts(parts[0])                the parts added up, in the order of the blocks
"""

from __future__ import annotations

import math

import numpy as np

from adjit.runtime.cuda.backend import INLINED, cuda
from adjit.runtime.library.gpus import SIMULATED

# The simulator has a thread of the operating system for each.
THREADS = 16 if SIMULATED else 256
MOST_BLOCKS = 3 if SIMULATED else 1024  # of a sum; the same on every device, and so are the bits of the sum


# Neither calls the other or a third one: what two of them call would be linked twice, with its shared memory. Parts are
# taken by `while`, as a `range` in steps is unrolled with indices that may be negative: 52 registers in place of 40.


@cuda.jit(device=True, **INLINED)
def block_sum(value, parts):
    """Stores the sum of `value` over the block as its part of the sum. All threads call it."""
    part = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
        parts[block] = part[0]
    # the memory is that of the next call, too
    cuda.syncthreads()


@cuda.jit(device=True, **INLINED)
def sum_of_parts(parts):
    """The parts of a sum added up. One block calls it, with all its threads."""
    part = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x
    own = parts.dtype.type(0)
    block = t
    while block >= 0 and block < parts.size:
        own += parts[block]
        block += THREADS
    part[t] = own
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    total = part[0]
    cuda.syncthreads()
    return total


@cuda.jit(device=True, **INLINED)
def block_max(value, parts):
    """Stores the greatest `value` of the block, nan if one is, as its part. All threads call it."""
    part = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            other = part[t + half]
            if other > part[t] or other != other:
                part[t] = other
        cuda.syncthreads()
        half //= 2
    if t == 0:
        block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
        parts[block] = part[0]
    # the memory is that of the next call, too
    cuda.syncthreads()


@cuda.jit(device=True, **INLINED)
def max_of_parts(parts):
    """The greatest of the parts, nan if one is. One block calls it, with all its threads."""
    part = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x
    # what a block starts from may be taken more than once
    own = parts[min(t, parts.size - 1)]
    block = t
    while block >= 0 and block < parts.size:
        other = parts[block]
        if other > own or other != other:
            own = other
        block += THREADS
    part[t] = own
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            other = part[t + half]
            if other > part[t] or other != other:
                part[t] = other
        cuda.syncthreads()
        half //= 2
    total = part[0]
    cuda.syncthreads()
    return total


@cuda.jit(device=True, **INLINED)
def block_min(value, parts):
    """Stores the least `value` of the block, nan if one is, as its part. All threads call it."""
    part = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            other = part[t + half]
            if other < part[t] or other != other:
                part[t] = other
        cuda.syncthreads()
        half //= 2
    if t == 0:
        block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
        parts[block] = part[0]
    # the memory is that of the next call, too
    cuda.syncthreads()


@cuda.jit(device=True, **INLINED)
def min_of_parts(parts):
    """The least of the parts, nan if one is. One block calls it, with all its threads."""
    part = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x
    # what a block starts from may be taken more than once
    own = parts[min(t, parts.size - 1)]
    block = t
    while block >= 0 and block < parts.size:
        other = parts[block]
        if other < own or other != other:
            own = other
        block += THREADS
    part[t] = own
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            other = part[t + half]
            if other < part[t] or other != other:
                part[t] = other
        cuda.syncthreads()
        half //= 2
    total = part[0]
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def block_total(value, part):
    """The sum of `value` over the threads of a block of any shape, in each of them. `part`: shared, one a thread.

    All threads call it.
    """
    t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[t] = value
    cuda.syncthreads()
    left = part.size
    while left > 1:
        half = (left + 1) // 2
        if t + half < left:
            part[t] += part[t + half]
        cuda.syncthreads()
        left = half
    total = part[0]
    # the memory is that of the next call, too
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def row_barrier(threads):
    """The threads of a row wait for each other; of one thread there is nothing to wait for."""
    if threads > 1:
        cuda.syncthreads()


@cuda.jit(device=True)
def row_sum(value, part, t, threads, far):
    """The sum of `value` over the threads of a row, in each of them. `part`: shared, one a thread of the block.

    t: which thread of the row it is. threads: how many it has, a power of two. far: how far apart two of them are in
    the block. All threads of the block call it.
    """
    if threads == 1:
        return value
    place = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[place] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            part[place] += part[place + half * far]
        cuda.syncthreads()
        half //= 2
    total = part[place - t * far]
    # the memory is that of the next call, too
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def row_max(value, part, t, threads, far):
    """The greatest `value` of the threads of a row, nan if one is, in each of them. See `row_sum`."""
    if threads == 1:
        return value
    place = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[place] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            other = part[place + half * far]
            if other > part[place] or other != other:
                part[place] = other
        cuda.syncthreads()
        half //= 2
    total = part[place - t * far]
    # the memory is that of the next call, too
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def row_min(value, part, t, threads, far):
    """The least `value` of the threads of a row, nan if one is, in each of them. See `row_sum`."""
    if threads == 1:
        return value
    place = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    part[place] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            other = part[place + half * far]
            if other < part[place] or other != other:
                part[place] = other
        cuda.syncthreads()
        half //= 2
    total = part[place - t * far]
    # the memory is that of the next call, too
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def thread_number():
    """Which thread of its block it is, x first."""
    return cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)


@cuda.jit(device=True)
def block_number():
    """Which block of its grid it is, x first."""
    return cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)


# ------------------------------------------------------------------------------------------------- numbers

# the simulator's numbers are NumPy's, and its functions have to be, where those of `math` give integers or raise


@cuda.jit(device=True)
def maximum(x, y):
    """The greater one, nan if one is."""
    if x != x:
        return x
    if y != y:
        return y
    return x if x >= y else y


@cuda.jit(device=True)
def minimum(x, y):
    """The lesser one, nan if one is."""
    if x != x:
        return x
    if y != y:
        return y
    return x if x <= y else y


@cuda.jit(device=True)
def fmax(x, y):
    """The greater one, the other if one is nan."""
    if x != x:
        return y
    if y != y:
        return x
    return x if x >= y else y


@cuda.jit(device=True)
def fmin(x, y):
    """The lesser one, the other if one is nan."""
    if x != x:
        return y
    if y != y:
        return x
    return x if x <= y else y


@cuda.jit(device=True)
def greater(x, y):
    """Python's max."""
    return y if y > x else x


@cuda.jit(device=True)
def lesser(x, y):
    """Python's min."""
    return y if y < x else x


@cuda.jit(device=True)
def sign(x):
    """-1, 0 or 1; nan of nan."""
    one = x**0
    if x > 0:
        return one
    if x < 0:
        return -one
    return x - x


@cuda.jit(device=True)
def heaviside(x, middle):
    """0 below zero, 1 above, `middle` at zero; nan of nan."""
    if x < 0:
        return middle * 0
    if x > 0:
        return middle * 0 + x**0
    return middle if x == 0 else x


@cuda.jit(device=True)
def logaddexp(x, y):
    """log(exp(x) + exp(y))."""
    if x == y:
        return x + math.log(x**0 + x**0)
    d = x - y
    if d > 0:
        return x + math.log1p(math.exp(-d))
    if d <= 0:
        return y + math.log1p(math.exp(d))
    return d


@cuda.jit(device=True)
def logaddexp2(x, y):
    """log2(2**x + 2**y)."""
    if x == y:
        return x + x**0
    d = x - y
    if d > 0:
        return x + math.log2(x**0 + math.exp2(-d))
    if d <= 0:
        return y + math.log2(x**0 + math.exp2(d))
    return d


@cuda.jit(device=True)
def degrees(x):
    """Radians in degrees."""
    return x * (180.0 / math.pi)


@cuda.jit(device=True)
def radians(x):
    """Degrees in radians."""
    return x * (math.pi / 180.0)


@cuda.jit(device=True)
def logical_and(x, y):
    """Whether both are true."""
    return bool(x) and bool(y)


@cuda.jit(device=True)
def logical_or(x, y):
    """Whether one is true."""
    return bool(x) or bool(y)


if SIMULATED:
    ceil, floor, trunc, rint, cbrt, signbit = np.ceil, np.floor, np.trunc, np.rint, np.cbrt, np.signbit
else:

    @cuda.jit(device=True)
    def ceil(x):
        """The least whole number that is not less, as a float."""
        return math.ceil(x)

    @cuda.jit(device=True)
    def floor(x):
        """The greatest whole number that is not greater, as a float."""
        return math.floor(x)

    @cuda.jit(device=True)
    def trunc(x):
        """The whole number towards zero, as a float."""
        return math.trunc(x)

    @cuda.jit(device=True)
    def rint(x):
        """The nearest whole number, the even one of two."""
        return cuda.libdevice.rint(x)

    @cuda.jit(device=True)
    def cbrt(x):
        """The cubic root."""
        return cuda.libdevice.cbrt(x)

    @cuda.jit(device=True)
    def signbit(x):
        """Whether it is less than zero, or -0."""
        return math.copysign(1.0, x) < 0.0
