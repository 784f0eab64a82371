"""Times gradients of programs with prange, in parallel and serial.

    python benchmarks/parallel.py [--threads 2] [--rounds 15] [--size default] [NAME ...]

The two take turns; both are adjit's, with the same options except `parallel`. It prints the median and best times in
ms, the ratios parallel / serial of both and of the busiest thread's processor time, the largest difference between the
gradients (relative to the largest entry), and the seconds to each first gradient. On a busy machine threads wait for
processors, and the busiest thread's time is the best estimate for an idle one.
"""

import argparse
import functools
import glob
import math
import os
import statistics
import sys
import time

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "MALLOC_TOP_PAD_": "67108864",
}
READY = "ADJIT_BENCH_READY"


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs to time; default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--size", choices=("small", "default", "large"), default="default")
    return parser.parse_args()


OPTIONS = options()
if READY not in os.environ:
    # glibc and numba read these when they start
    threads = {"NUMBA_NUM_THREADS": str(OPTIONS.threads), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    once = {READY: "1", "ADJIT_CACHE": "0"}
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY, **threads, **once})

import numpy as np  # noqa: E402
from numba import prange  # noqa: E402

import adjit  # noqa: E402


def black_scholes(spot, strike, maturity, volatility, rate):
    total = 0.0
    for i in prange(spot.size):
        spread = volatility[i] * math.sqrt(maturity[i])
        drift = (rate + 0.5 * volatility[i] * volatility[i]) * maturity[i]
        d1 = (math.log(spot[i] / strike[i]) + drift) / spread
        d2 = d1 - spread
        n1 = 0.5 * (1.0 + math.erf(d1 * math.sqrt(0.5)))
        n2 = 0.5 * (1.0 + math.erf(d2 * math.sqrt(0.5)))
        total += spot[i] * n1 - strike[i] * math.exp(-rate * maturity[i]) * n2
    return total


def mixture(logits, means, factors, x):
    """The log-likelihood of points under Gaussians with inverse covariances in lower triangular factors."""
    n, d = x.shape
    k = logits.size
    total = 0.0
    for i in prange(n):
        terms = np.empty(k)
        centred = np.empty(d)
        scaled = np.empty(d)
        for c in range(k):
            log_scale = 0.0
            for j in range(d):
                centred[j] = x[i, j] - means[c, j]
                scaled[j] = math.exp(factors[c, j]) * centred[j]
                log_scale += factors[c, j]
            p = d
            for j in range(d):
                for row in range(j + 1, d):
                    scaled[row] += factors[c, p] * centred[j]
                    p += 1
            squares = 0.0
            for j in range(d):
                squares += scaled[j] * scaled[j]
            terms[c] = logits[c] + log_scale - 0.5 * squares
        most = terms[0]
        for c in range(1, k):
            most = max(most, terms[c])
        scale = 0.0
        for c in range(k):
            scale += math.exp(terms[c] - most)
        total += math.log(scale) + most
    return total


def heat(u0, k, steps):
    n, m = u0.shape
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                bend = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                v[i, j] = u[i, j] + k[i, j] * bend
        u, v = v, u
    total = 0.0
    for i in prange(n):
        for j in range(m):
            total += u[i, j] * u[i, j]
    return total


def programs(size):
    draw = np.random.default_rng(0)
    scale = {"small": 1, "default": 8, "large": 32}[size]
    n = 100_000 * scale
    side, steps = 64 * scale, {"small": 20, "default": 20, "large": 10}[size]
    points, d, k = 200 * scale, 10, 25
    options = (draw.uniform(50, 150, n), draw.uniform(50, 150, n), draw.uniform(0.1, 2.1, n), draw.uniform(0.1, 0.5, n))
    clusters = (draw.normal(size=k), draw.normal(size=(k, d)))
    factors = 0.3 * draw.normal(size=(k, d + d * (d - 1) // 2))
    return {
        "blackscholes": (black_scholes, (0, 1, 2, 3, 4), (*options, 0.03)),
        "gmm": (
            mixture,
            (0, 1, 2),
            (*clusters, factors, draw.normal(size=(points, d))),
        ),
        "heat": (heat, (0, 1), (draw.normal(size=(side, side)), 0.1 + 0.1 * draw.random((side, side)), steps)),
    }


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def busiest(function, repeat):
    """Seconds of processor time a call, of the thread that had most. The system counts in hundredths of seconds."""

    def used():
        found = {}
        for file in glob.glob("/proc/self/task/*/stat"):
            with open(file) as stat:
                fields = stat.read().rpartition(")")[2].split()
            found[file] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    before = used()
    for _ in range(repeat):
        function()
    return max(seconds - before.get(file, 0.0) for file, seconds in used().items()) / repeat


def largest_difference(gradients, references):
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(gradients, references, strict=True)]
    return max(float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1.0)) for a, b in pairs)


def measure(name, function, wrt, arguments, rounds):
    kinds = [adjit.value_and_grad(function, wrt=wrt, parallel=parallel) for parallel in (False, True)]
    calls = [functools.partial(kind, *arguments) for kind in kinds]
    ((_, serial), serial_first), ((_, parallel), parallel_first) = map(timed, calls)
    times = [[], []]
    for k in range(rounds):
        for which in (0, 1) if k % 2 else (1, 0):
            times[which].append(1e3 * timed(calls[which])[1])
    (m0, m1), (b0, b1) = map(statistics.median, times), map(min, times)
    repeat = max(1, int(2e3 / b0))
    c0, c1 = (statistics.median(busiest(call, repeat) for _ in range(3)) for call in calls)
    print(
        f"{name:<14}{m0:9.2f}{b0:9.2f}  {m1:9.2f}{b1:9.2f}  ratio{m1 / m0:6.2f}{b1 / b0:6.2f}{c1 / c0:6.2f}"
        f"  difference {largest_difference(parallel, serial):.0e}  first {serial_first:.1f}, {parallel_first:.1f} s"
    )


def main():
    print(f"{OPTIONS.threads} threads; serial and parallel in ms: median, best; ratios: median, best, busiest thread")
    for name, program in programs(OPTIONS.size).items():
        if name in OPTIONS.names or not OPTIONS.names:
            measure(name, *program, OPTIONS.rounds)


if __name__ == "__main__":
    main()
