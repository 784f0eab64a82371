"""Random kernels: tiles, trees, registers that live past barriers, loops, branches and atomics, one after the other.

A seed makes a kernel without races. Its nest's tangent and adjoint are checked as those of the tables are, its threads
run in other orders, and its own races are looked for.
"""

import importlib.util
import random

import numpy as np
import pytest

from tests.cuda.kernels import elements
from tests.cuda.kernels.harness import Checked, derived
from tests.cuda.kernels.maps import normal
from tests.cuda.kernels.test_orders import ORDERS, launched

HEAD = """
import math
from numba import cuda, float64

T = 8


@cuda.jit(device=True)
def bent(v, k):
    return math.sin(v) * k if v > 0.1 else v * k - 0.2


@cuda.jit
def kernel(x, w, y, z, steps):
    a = cuda.shared.array(T, float64)
    b = cuda.shared.array((2, T), float64)
    {places}
    v = x[i] if i < x.size else 0.3
    u = 0.5 * v
"""
# of blocks of one axis, and of two
PLACES = [
    "t, i = cuda.threadIdx.x, cuda.grid(1)",
    "t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x; i = cuda.blockIdx.x * T + t",
]
LAUNCHES = [(2, 8), ((2, 1), (4, 2))]
TAIL = """
if i < y.size:
    y[i] = v * u + 0.5 * y[i]
"""
PIECES = [
    # parts of shared arrays by names of their own, of known length and of one that the launch tells
    """
    p, q = b[0], b[1]
    p[t] = v
    q[t] = 0.5 * u
    {barrier}
    v = v + 0.2 * p[T - 1 - t] * q[(t + {k}) % T]
    cuda.syncthreads()
    """,
    """
    a[t] = u
    cuda.syncthreads()
    c = a[: steps + {m}]
    d = a[steps:]
    if t < steps + {m}:
        u = u + 0.3 * c[steps + {m} - 1 - t] * v
    if t < T - steps:
        v = v + 0.2 * d[T - steps - 1 - t]
    cuda.syncthreads()
    """,
    """
    c = a[: T // 2]
    d = a[{m} :]
    if t < T // 2:
        c[t] = v
    cuda.syncthreads()
    if t < T - {m}:
        d[t] = d[t] * u + 0.1 * v
    cuda.syncthreads()
    u = u + 0.2 * a[T - 1 - t]
    cuda.syncthreads()
    """,
    """
    for k in range({m}):
        v = math.sin(v) * u + 0.1 * a[t]
    """,
    """
    a[t] = v
    cuda.syncthreads()
    for k in range({m}):
        if k < t:
            u = math.cos(u) * a[(t + k) % T] + v * u
    {barrier}
    """,
    """
    v = math.sin(a[t] * v)
    u = v * v + u
    """,
    "v = math.tanh(v) + 0.3 * u",
    "u = bent(v, w[{k}]) + u",
    "v, u = u, v",
    """
    a[t] = v
    cuda.syncthreads()
    u = u + 0.3 * a[(t + {k}) % T] * v
    cuda.syncthreads()
    """,
    """
    b[0, t] = v
    b[1, T - 1 - t] = u * v
    cuda.syncthreads()
    v = b[1, t] + 0.2 * b[0, (t + {k}) % T]
    cuda.syncthreads()
    """,
    """
    a[t] = u
    cuda.syncthreads()
    if t < T // 2:
        a[t] = a[t] * a[t + T // 2] + v
    cuda.syncthreads()
    v = v + 0.1 * a[t % {m}]
    cuda.syncthreads()
    """,
    """
    for k in range({m}):
        a[t] = v * w[k]
        cuda.syncthreads()
        v = 0.5 * v + a[T - 1 - t] * u
        cuda.syncthreads()
    """,
    """
    a[t] = math.sin(v)
    cuda.syncthreads()
    half = T // 2
    while half > 0:
        if t < half:
            a[t] += a[t + half] * a[t + half]
        cuda.syncthreads()
        half //= 2
    u = u + 0.1 * a[0]
    cuda.syncthreads()
    """,
    """
    if i < x.size:
        cuda.atomic.add(z, i % {m}, v * u)
    """,
    """
    if t < 2:
        a[t] = 0.1
    cuda.syncthreads()
    cuda.atomic.add(a, t % 2, v)
    cuda.syncthreads()
    v = v + 0.1 * a[t % 2] * u
    cuda.syncthreads()
    """,
    """
    for k in range(t % {m}):
        v = 0.9 * v + 0.1 * w[k] * u
    """,
    """
    q = cuda.local.array(2, float64)
    q[0] = v
    q[1] = v * u
    a[t] = q[1]
    cuda.syncthreads()
    v = q[0] + 0.2 * q[1] * a[(t + 1) % T]
    cuda.syncthreads()
    """,
    """
    for d in range(2):
        b[d, t] = x[i + d] if i + d < x.size else 0.0
    cuda.syncthreads()
    u = u + 0.2 * b[0, (t + {k}) % T] * b[1, t]
    cuda.syncthreads()
    """,
    """
    for d in range(2):
        a[t] = x[i + d] if i + d < x.size else 0.0
    cuda.syncthreads()
    v = v + 0.2 * a[T - 1 - t]
    cuda.syncthreads()
    """,
    """
    if steps > {k}:
        b[0, t] = u
        cuda.syncthreads()
        u = u * b[0, T - 1 - t]
    else:
        u = 0.7 * u
    cuda.syncthreads()
    """,
    """
    if i < y.size:
        y[i] = y[i] * v + 0.1
        v = y[i]
    """,
    """
    if t == {k}:
        b[1, 0] = v * u
    cuda.syncthreads()
    s = b[1, 0]
    v = v + 0.1 * s * s
    cuda.syncthreads()
    """,
    """
    k = 0
    while k < steps:
        a[t] = v
        cuda.syncthreads()
        v = 0.5 * a[(t + 1) % T] + 0.1 * k * u
        cuda.syncthreads()
        k += 2
    """,
    """
    if v > 0.2 and i < x.size:
        u = u + 0.3 * v * x[i]
    elif t > 3:
        u = u * w[t - 4]
    """,
]


def text_of(seed):
    g = random.Random(seed)
    lines = HEAD.replace("{places}", PLACES[seed % 3 == 2]).splitlines()
    lines += ["    a[t] = 0.5", "    cuda.syncthreads()"]
    for piece in (*g.sample(PIECES, g.randint(2, 6)), TAIL):
        piece = piece.replace("{barrier}", g.choice(["cuda.syncthreads()", "cuda.syncthreads(); a[t] = u"]))
        own = piece.replace("{k}", str(g.randint(0, 4))).replace("{m}", str(g.randint(1, 4))).splitlines()
        own = [line for line in own if line.strip()]
        margin = min(len(line) - len(line.lstrip()) for line in own)
        lines += ["    " + line[margin:] for line in own]
    return "\n".join(lines) + "\n"


def kernel_of(seed, folder, text_of=text_of):
    path = folder / f"kernel_{seed}.py"
    path.write_text(text_of(seed))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def launch_of(seed):
    return LAUNCHES[seed % 3 == 2]


def arguments_of(seed):
    g = np.random.default_rng(seed)
    return normal(g, 13), normal(g, 5), normal(g, 13), normal(g, 4), 3


def check(seed, folder, monkeypatch):
    kernel = kernel_of(seed, folder)
    launch = launch_of(seed)
    Checked(kernel, launch, arguments_of(seed), seed, target="python").check(1e-4, 1e-5)
    for kind in ("tangent", "adjoint"):
        expected = launched(kernel, launch, arguments_of(seed), kind)
        for order in ORDERS:
            for one, other in zip(expected, launched(kernel, launch, arguments_of(seed), kind, order), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    derived(kernel, "primal", target="python")[launch](*arguments_of(seed))
    monkeypatch.delenv("ADJIT_CUDA_CHECK")


@pytest.mark.parametrize("seed", range(4))
def test_random_kernels_of_elements(seed, tmp_path):
    kernel = kernel_of(seed, tmp_path, elements.text_of)
    Checked(kernel, elements.LAUNCHES[seed % 2], elements.arguments_of(seed), seed, target="python").check(1e-5, 1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 250))
def test_more_random_kernels(seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch)
