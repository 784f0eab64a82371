"""Runs the kernels of the tables in numba's CUDA simulator, beside their nests; prints the names of those that differ.

NUMBA_ENABLE_CUDASIM=1 python -m tests.cuda.kernels.simulated
"""

import sys

import numpy as np
from numba import config

from tests.cuda.kernels.harness import copies, derived
from tests.cuda.kernels.test_kernels import CASES


def main():
    assert config.ENABLE_CUDASIM, "set NUMBA_ENABLE_CUDASIM=1"
    failed = [name for name in CASES if not agrees(name)]
    print(f"{len(CASES)} kernels, differing: {failed}")
    sys.exit(bool(failed))


def agrees(name):
    kernel, launch, arguments = CASES[name]
    given = arguments(np.random.default_rng(3))
    own, nest = copies(given), copies(given)
    if np.prod(launch[0]):
        kernel[launch](*own)
    derived(kernel, "primal", target="python")[launch](*nest)
    return all(np.allclose(a, b, rtol=1e-6, atol=1e-6) for a, b in zip(own, nest, strict=True))


if __name__ == "__main__":
    main()
