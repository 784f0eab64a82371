"""Functions of whole numbers of Python's `math`, as ordinary Python.

In: integers. Out: floats where Python's integers have no end, else integers.

    math.comb(n, 2)      the body of `comb`, inlined
"""

from __future__ import annotations

import numpy as np


def factorial(n: int) -> float:
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    found = 1.0
    for k in range(2, n + 1):
        found = found * k
    return found


def comb(n: int, k: int) -> float:
    if n < 0 or k < 0:
        raise ValueError("comb of a negative number")
    found = 1.0
    for j in range(1, min(k, n - k) + 1):
        # each product is one of j numbers in a row, so that nothing is left
        found = found * (n - j + 1) / j
    return found if k <= n else 0.0


def perm(n: int, k: int = -1) -> float:
    if n < 0 or k < -1:
        raise ValueError("perm of a negative number")
    found = 1.0
    for j in range(n if k < 0 else k):
        found = found * (n - j)
    return found


def isqrt(n: int) -> int:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(np.sqrt(float(n)))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root
