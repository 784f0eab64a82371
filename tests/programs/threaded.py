"""The gradients of PRANGES by 1, 2 and 8 threads, each twice: a script, as numba reads their number at the start.

    NUMBA_NUM_THREADS=8 python -m tests.programs.threaded squares total

The serial gradient, in plain Python, gives the same but for the rounding of sums; all the parallel ones have the same
bits. An AssertionError says where that is not so.
"""

from __future__ import annotations

import sys

import numba
import numpy as np

import adjit
from tests.programs.pranges import PRANGES

THREADS = (1, 2, 8, 1, 2, 8)
SIZES = (0, 1, 2, 3, 7, 40, 1500)
LARGEST_SERIAL = 40  # beyond it, plain Python takes too long


def flat(value, gradients):
    return [np.asarray(a) for a in (value, *gradients)]


def check(name):
    row = PRANGES[name]
    parallel = adjit.value_and_grad(row.function, wrt=row.wrt, parallel=True)
    serial = adjit.value_and_grad(row.function, wrt=row.wrt, target="python")
    for n in SIZES:
        arguments = row.arguments(np.random.default_rng(n), min(n, row.largest))
        found = []
        for threads in THREADS:
            numba.set_num_threads(threads)
            found.append(flat(*parallel(*arguments)))
        for other in found[1:]:
            assert all(a.tobytes() == b.tobytes() for a, b in zip(found[0], other, strict=True)), (name, n)
        if n <= LARGEST_SERIAL:
            for a, b in zip(found[0], flat(*serial(*arguments)), strict=True):
                tolerance = 1e-5 if np.float32 in (a.dtype, b.dtype) else 1e-12
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"{name} {n}")


if __name__ == "__main__":
    for each in sys.argv[1:] or PRANGES:
        check(each)
