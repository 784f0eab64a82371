"""Times adjit's vectorised elementary functions and those of libm.

    python benchmarks/elementary.py [NAME ...]

For each function and type it prints ns per element, in a loop that vectorises and in a chain, where each value waits
for the one before, and the ratios to libm's times. Generated code uses libm's functions in chains.
"""

import argparse
import math
import time

import numpy as np
from numba import njit

from adjit.runtime import vectormath

# The functions, with what numba calls otherwise and a range of usual arguments.
FUNCTIONS = {
    "exp": (math.exp, -10, 10),
    "exp2": (np.exp2, -10, 10),
    "expm1": (math.expm1, -2, 2),
    "log": (math.log, 0.1, 10),
    "log1p": (math.log1p, -0.5, 3),
    "log2": (math.log2, 0.1, 10),
    "log10": (math.log10, 0.1, 10),
    "sinh": (math.sinh, -5, 5),
    "cosh": (math.cosh, -5, 5),
    "tanh": (math.tanh, -3, 3),
    "erf": (math.erf, -4, 4),
    "erfc": (math.erfc, -4, 4),
    "pow": (None, 0.1, 10),
}
COUNT, ROUNDS, REPEATS = 4096, 7, 30


def loops(function, kind):
    """A loop over an array, and one in which a value has to wait for the one before; ** if there is no function."""
    exponent, tiny = kind(1.7), kind(1e-30)
    if function is None:
        function = njit(forceinline=True)(lambda x: x**exponent)
    elif function is vectormath.pow:
        function = njit(forceinline=True)(lambda x: vectormath.pow(x, exponent))

    @njit
    def each(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    @njit
    def chain(x, out):
        last = x[0]
        for i in range(x.size):
            last = function(x[i] + last * tiny)
            out[i] = last

    return each, chain


def nanoseconds(loop, x):
    out = np.empty_like(x)
    loop(x, out)
    best = math.inf
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(REPEATS):
            loop(x, out)
        best = min(best, time.perf_counter() - begin)
    return best / REPEATS / x.size * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FUNCTIONS))
    names = parser.parse_args().names or FUNCTIONS
    print(f"{'':16s} {'loop':>8s} {'/libm':>6s} {'chain':>8s} {'/libm':>6s}")
    for name in names:
        libm, low, high = FUNCTIONS[name]
        for dtype in (np.float64, np.float32):
            x = np.random.default_rng(0).uniform(low, high, COUNT).astype(dtype)
            ours = [nanoseconds(loop, x) for loop in loops(getattr(vectormath, name), dtype)]
            theirs = [nanoseconds(loop, x) for loop in loops(libm, dtype)]
            each, chain = (f"{a:8.2f} {a / b:6.2f}" for a, b in zip(ours, theirs, strict=True))
            print(f"{name:8s} {dtype.__name__} {each} {chain}", flush=True)


if __name__ == "__main__":
    main()
