"""Runs the kernels of the tables in numba's CUDA simulator, beside their nests, and looks for races there.

NUMBA_ENABLE_CUDASIM=1 python -m tests.cuda.kernels.simulated           those that are run each time
NUMBA_ENABLE_CUDASIM=1 python -m tests.cuda.kernels.simulated seldom    the others
"""

import sys

import numpy as np
from numba import config, cuda

from adjit.runtime.cuda.check import watched
from adjit.runtime.library.xoroshiro import is_states
from tests.cuda.kernels.harness import copies, derived
from tests.cuda.kernels.test_kernels import CASES, SELDOM


@cuda.jit
def without_barrier(x):
    part = cuda.shared.array(8, np.float64)
    t = cuda.threadIdx.x
    part[t] = x[t]
    x[t] = part[7 - t]


@cuda.jit
def plain_sum(x):
    x[0] += 1.0


@cuda.jit
def half_a_block(x):
    if cuda.threadIdx.x < 4:
        cuda.syncthreads()
    x[cuda.threadIdx.x] = 1.0


@cuda.jit
def unwritten(x):
    part = cuda.shared.array(8, np.float64)
    x[cuda.threadIdx.x] = part[cuda.threadIdx.x]


@cuda.jit
def blocks_meet(x):
    x[cuda.threadIdx.x] = cuda.blockIdx.x


PLANTED = {
    without_barrier: ((1, 8), "shared memory, with no barrier between them"),
    plain_sum: ((1, 8), "global memory, with no barrier between them"),
    half_a_block: ((1, 8), "do not reach a barrier"),
    unwritten: ((1, 8), "read before it is stored"),
    blocks_meet: ((2, 8), "two blocks are at"),
}
# what all threads store, they store once in the nest
SAME_VALUE = {"told by all"}


def main():
    assert config.ENABLE_CUDASIM, "set NUMBA_ENABLE_CUDASIM=1"
    seldom = SELDOM
    names = sorted(seldom if "seldom" in sys.argv else CASES.keys() - seldom)
    failed = [name for name in names if not agrees(name)]
    missed = [
        kernel.fn.__name__ for kernel, (launch, fault) in PLANTED.items() if fault not in found_in(kernel, launch)
    ]
    print(f"{len(names)} kernels, differing: {failed}; planted faults not found: {missed}")
    sys.exit(bool(failed or missed))


def found_in(kernel, launch):
    with watched() as found:
        kernel[launch](np.zeros(8))
    return " ".join(found)


def agrees(name):
    kernel, launch, arguments = CASES[name]
    given = arguments(np.random.default_rng(3))
    own, nest = copies(given), copies(given)
    with watched() as found:
        if np.prod(launch[0]):
            kernel[launch](*own)
    derived(kernel, "primal", target="python")[launch](*nest)
    # math's functions give the simulator numbers of double precision
    is_single = any(getattr(a, "dtype", None) == np.float32 or is_states(a) for a in given)
    tolerance = 3e-5 if is_single else 1e-9
    is_same = all(is_like(a, b, tolerance) for a, b in zip(own, nest, strict=True))
    return is_same and (not found or name in SAME_VALUE)


def is_like(own, nest, tolerance):
    if is_states(own):
        return np.array_equal(own, nest)
    return np.allclose(own, nest, rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    main()
