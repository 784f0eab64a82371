"""Random kernels that only say which element is meant: neighbours, guards, short and long loops, sums, index arrays.

In: a seed. Out: the text of a kernel of one or two axes, a launch and arguments.
"""

import random

import numpy as np

from tests.cuda.kernels.maps import normal

HEADS = [
    """
import math
from numba import cuda, float64


@cuda.jit
def kernel(x, w, k, y, z):
    i = cuda.grid(1)
    n = x.size
    if i < y.size and i < n:
        v = math.sin(x[i])
        u = 0.3
""",
    """
import math
from numba import cuda, float64


@cuda.jit
def kernel(x, w, k, y, z):
    i, j = cuda.grid(2)
    n, m = x.shape
    if i < n and j < m:
        v = math.sin(x[i, j])
        u = 0.3
""",
]
PIECES = [
    [
        "if i + {a} < n:\n    u += x[i + {a}] * v",
        "if i - {a} >= 0:\n    v = v + 0.3 * math.cos(x[i - {a}])",
        "for j in range({b}):\n    if 0 <= i + j - 1 < n:\n        u += w[j] * x[i + j - 1] * v",
        "for j in range({b}):\n    if i - j >= 0 and i - j < n:\n        u += w[j] * x[i - j]",
        "u += x[(i + {a}) % n] * w[{c}]",
        "v = v * w[{c}] + x[k[i]]",
        "u = u + (x[n - 1 - i] if v > 0.1 else 0.2 * v)",
        "if v > 0.2:\n    u += w[{c}] * v",
        "for j in range(w.size):\n    u += w[j] * v * 0.1",
        "cuda.atomic.add(z, {c}, u * v)",
        "cuda.atomic.add(z, k[i] % 5, u * w[{c}])",
        "u = math.tanh(u)",
        "p = x[i - 1] if i > 0 else 0.4\nq = x[i + 1] if i + 1 < n else 0.3\nif v > 0.1:\n"
        "    u += math.sin(p * q)\nelse:\n    u += p * p * math.cos(q)",
        "t = 0\nwhile v > 0.3 and t < 4:\n    v = 0.7 * v\n    t += 1",
        "for j in range(min(k[i] % 4, {b})):\n    u = math.sin(u) + v * w[j]",
        "for j in range(-{a}, {b}):\n    if 0 <= i + j < n:\n        u += w[abs(j)] * x[i + j] * v",
        "r = w.size // 2\nfor j in range(-r, r + 1):\n    u += w[j + r] * x[(i + j) % n] * 0.1",
    ],
    [
        "if i + {a} < n:\n    u += x[i + {a}, j] * v",
        "if j > {a}:\n    u += x[i, j - {a}] * v",
        "if i > 0 and j + 1 < m:\n    v = v + 0.3 * x[i - 1, j + 1]",
        "for a in range({b}):\n    for b in range(2):\n        if i + a < n and j - b >= 0:\n"
        "            u += w[a] * x[i + a, j - b] * v",
        "for l in range(m):\n    u += x[i, l] * w[{c}] * v",
        "for l in range(n):\n    u += x[l, j] * v * 0.1",
        "for s in range((m + 1) // 2):\n    for l in range(2):\n        if 2 * s + l < m:\n"
        "            u += x[i, 2 * s + l] * v * 0.2",
        "u += w[{c}] * v",
        "v = v + x[j % n, i % m]",
        "cuda.atomic.add(z, {c}, u * v)",
        "cuda.atomic.add(z, i % 5, u * v)",
        "u = math.tanh(u)",
        "r = w.size // 2\nfor l in range(-r, r + 1):\n    cuda.atomic.add(z, l + r, u * w[l + r])",
    ],
]
TAILS = ["y[i] = u * v + 0.5 * y[i]", "y[i, j] = u * v + 0.5 * y[i, j]"]
LAUNCHES = [(3, 8), ((2, 2), (4, 3))]
SHAPES = [(21,), (7, 6)]


def text_of(seed):
    g = random.Random(seed)
    kind = seed % 2
    lines = HEADS[kind].rstrip().splitlines()
    for piece in (*g.sample(PIECES[kind], g.randint(1, 5)), TAILS[kind]):
        for name, least, most in (("a", 1, 3), ("b", 2, 4), ("c", 0, 4)):
            piece = piece.replace("{" + name + "}", str(g.randint(least, most)))
        lines += ["        " + line for line in piece.splitlines()]
    return "\n".join(lines) + "\n"


def arguments_of(seed):
    g = np.random.default_rng(seed)
    shape = SHAPES[seed % 2]
    return normal(g, *shape), normal(g, 5), g.integers(0, 21, 21), normal(g, *shape), normal(g, 5)
