"""Seven workloads for a GPU, each with hand-written kernels and a hand-written adjoint.

The hand-written adjoints clear elements under a condition, as generated kernels do: a store to an element that is
being loaded holds up a multiprocessor (adjit/transform/gpu/memory_order.py).

`workloads(dtype, scale)` creates them in one precision; `scale` is 1 for the published sizes. The `ways` of a workload
are the gradients to compare, by name. They are functions without arguments that add to the device arrays `bars`, which
`fresh` resets. `primal` runs the program itself.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, from_dtype, prange

import adjit
import cuda_peers
from adjit.runtime.cuda.backend import SIMULATED
from adjit.transform.strategy import ON_GPU

TX = 16 if SIMULATED else 256  # threads of a block
TAPS, STEPS, ROWS = 5, 48, 12
RIMMED = TX + TAPS - 1
# as a compiler would that knows no tiles, no gathers and no sums
MECHANICAL = type(ON_GPU)(machine="cuda", without=ON_GPU.without | {"tiles", "gather", "fuse", "clears", "fills"})


@dataclass
class Workload:
    """`moved`: the bytes that a gradient has to read and write at least; `seeds`: of `bars`, what the adjoint starts
    from."""

    name: str
    primal: Callable[[], Any]
    ways: dict[str, Callable[[], Any]]
    bars: dict[str, Any]
    seeds: dict[str, Any]
    moved: int

    def fresh(self):
        """Zeros in all shadows, and the seeds."""
        for name, bar in self.bars.items():
            bar.copy_to_device(self.seeds.get(name, np.zeros(bar.shape, bar.dtype)))

    def __post_init__(self):
        self.kept = {name: cuda.to_device(seed) for name, seed in self.seeds.items()}

    def reseed(self):
        """The seeds, which a run takes away."""
        for name, seed in self.kept.items():
            self.bars[name].copy_to_device(seed)

    def found(self):
        return {name: bar.copy_to_host() for name, bar in self.bars.items() if name not in self.seeds}


def blocks(n):
    return -(-n // TX)


ASKED = []  # the libraries to be beside, of `cuda_peers.LIBRARIES`


def peers(name, arguments, wrt, seed=None):
    """The gradients by other libraries, in their own arrays."""
    own = [a.copy_to_host() if hasattr(a, "copy_to_host") else a for a in arguments]
    return cuda_peers.ways(name, own, wrt, seed, ASKED)


def workloads(dtype, scale):
    """All of them, in this precision."""
    g = np.random.default_rng(1)
    makers = (misfits, advection, filters, log_sums, interpolation, logistic, tridiagonal)
    return [lambda make=make: make(np.dtype(dtype), scale, g) for make in makers]


def sent(g, *shape, dtype, low=0.1, high=0.9):
    return cuda.to_device(g.uniform(low, high, shape).astype(dtype))


def zeros(array):
    return cuda.to_device(np.zeros(array.shape, array.dtype))


def kernel_ways(kernel, grid, block, arguments, bars):
    """The adjoint of a kernel, as adjit makes it, the same as a graph, and mechanically."""
    shadows = {f"{name}_bar": bar for name, bar in bars.items()}

    def way(**options):
        made = adjit.cuda.adjoint(kernel, **options)
        return lambda: made[grid, block](*arguments, **shadows)

    own = way()
    return {"adjit, kernel": own, "adjit, graph": adjit.cuda.graph(own), "adjit, mechanical": way(strategy=MECHANICAL)}


def function_ways(function, wrt, arguments, bars):
    """The gradient of a function, into the arrays that the others fill; and the same as a graph."""
    made = adjit.grad(function, wrt=wrt, target="cuda")
    outputs = tuple(bars[name] for name in wrt)
    own = functools.partial(made.into, *arguments, out=outputs)
    return {"adjit, function": own, "adjit, graph": adjit.cuda.graph(own)}


# --------------------------------------------------------------------------------------- a map with sums, as a function


def misfits(dtype, scale, g):
    n = max(2 * TX + 3, int(2**26 * scale))
    one, two = dtype.type(1), dtype.type(2)
    real = from_dtype(dtype)

    def misfit(x, d, w, a):
        total = dtype.type(0)
        for i in prange(x.size):
            r = a[0] * math.tanh(a[1] * x[i]) - d[i]
            total += w[i] * r * r
        return total

    @cuda.jit
    def primal(x, d, w, a, parts):
        part = cuda.shared.array(TX, real)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        total = real(0)
        while i < x.size:
            r = a[0] * math.tanh(a[1] * x[i]) - d[i]
            total += w[i] * r * r
            i += cuda.gridsize(1)
        part[t] = total
        cuda.syncthreads()
        half = TX // 2
        while half > 0:
            if t < half:
                part[t] += part[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            parts[cuda.blockIdx.x] = part[0]

    @cuda.jit
    def adjoint(x, d, w, a, x_bar, a_bar):
        first = cuda.shared.array(TX, real)
        second = cuda.shared.array(TX, real)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        a0, a1 = a[0], a[1]
        sum0, sum1 = real(0), real(0)
        while i < x.size:
            tanh = math.tanh(a1 * x[i])
            r_bar = two * w[i] * (a0 * tanh - d[i])
            inner = (one - tanh * tanh) * a0 * r_bar
            x_bar[i] = a1 * inner
            sum0 += tanh * r_bar
            sum1 += x[i] * inner
            i += cuda.gridsize(1)
        first[t] = sum0
        second[t] = sum1
        cuda.syncthreads()
        half = TX // 2
        while half > 0:
            if t < half:
                first[t] += first[t + half]
                second[t] += second[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            cuda.atomic.add(a_bar, 0, first[0])
            cuda.atomic.add(a_bar, 1, second[0])

    x, d, w = (sent(g, n, dtype=dtype) for _ in range(3))
    a = sent(g, 2, dtype=dtype)
    bars = {"x": zeros(x), "a": zeros(a)}
    grid = min(blocks(n), 3 if SIMULATED else 1024)
    parts = cuda.device_array(grid, dtype)
    ways = {
        "hand": lambda: adjoint[grid, TX](x, d, w, a, bars["x"], bars["a"]),
        **function_ways(misfit, ("x", "a"), (x, d, w, a), bars),
        **peers("misfit", (x, d, w, a), {0: "x", 3: "a"}),
    }
    return Workload("misfit", lambda: primal[grid, TX](x, d, w, a, parts), ways, bars, {}, 4 * n * dtype.itemsize)


# ------------------------------------------------------------------------------------ a program that launches in a loop


def advection(dtype, scale, g):
    rows = columns = max(9, int(4096 * math.sqrt(scale)))
    steps = 3 if SIMULATED else 20
    across, down = (4, 4) if SIMULATED else (32, 8)

    @cuda.jit
    def advect(u, speed, after):
        j, i = cuda.grid(2)
        if i >= 1 and i < u.shape[0] and j >= 1 and j < u.shape[1]:
            after[i, j] = u[i, j] - speed[i, j] * (u[i, j] - u[i - 1, j]) - speed[i, j] * (u[i, j] - u[i, j - 1])

    @cuda.jit
    def back(u, speed, after_bar, u_bar, speed_bar):
        j, i = cuda.grid(2)
        if i < u.shape[0] and j < u.shape[1]:
            total = u_bar[i, j]
            if i >= 1 and j >= 1:
                total += after_bar[i, j] - speed[i, j] * after_bar[i, j] - speed[i, j] * after_bar[i, j]
                speed_bar[i, j] -= (u[i, j] - u[i - 1, j] + u[i, j] - u[i, j - 1]) * after_bar[i, j]
            if i + 1 < u.shape[0] and j >= 1:
                total += speed[i + 1, j] * after_bar[i + 1, j]
            if j + 1 < u.shape[1] and i >= 1:
                total += speed[i, j + 1] * after_bar[i, j + 1]
            u_bar[i, j] = total

    @cuda.jit
    def clear(bar):
        j, i = cuda.grid(2)
        if i >= 1 and i < bar.shape[0] and j >= 1 and j < bar.shape[1]:
            bar[i, j] = dtype.type(0)

    @cuda.jit
    def added(total, more):
        j, i = cuda.grid(2)
        if i < total.shape[0] and j < total.shape[1]:
            total[i, j] += more[i, j]

    grid = (-(-columns // across), -(-rows // down))

    def program(u0, speed, weight):
        u, after = cuda.to_device(u0), cuda.to_device(u0)
        for _ in range(steps):
            shape = ((u0.shape[1] + across - 1) // across, (u0.shape[0] + down - 1) // down)
            advect[shape, (across, down)](u, speed, after)
            u, after = after, u
        return np.sum(u * weight)

    u0, weight = (sent(g, rows, columns, dtype=dtype) for _ in range(2))
    speed = sent(g, rows, columns, dtype=dtype, low=0.1, high=0.4)
    bars = {"u0": zeros(u0), "speed": zeros(u0)}
    states = [cuda.to_device(u0.copy_to_host()) for _ in range(steps + 1)]
    other = zeros(u0)
    launch = grid, (across, down)

    def primal():
        for t in range(steps):
            advect[launch](states[t], speed, states[t + 1])

    def hand():
        primal()
        u_bar, after_bar = weight_bar, other
        u_bar.copy_to_device(weight)
        after_bar.copy_to_device(nothing)
        for t in range(steps - 1, -1, -1):
            # the buffer that is stored to was two steps ago; its rim is as it was
            u_bar, after_bar = after_bar, u_bar
            back[launch](states[t], speed, after_bar, u_bar, bars["speed"])
            clear[launch](after_bar)
        added[launch](bars["u0"], u_bar)
        added[launch](bars["u0"], after_bar)

    weight_bar, nothing = zeros(u0), zeros(u0)
    ways = {
        "hand": hand,
        **function_ways(program, ("u0", "speed"), (u0, speed, weight), bars),
        **peers("advection", (u0, speed, weight, steps), {0: "u0", 1: "speed"}),
    }
    moved = (2 + 6) * steps * rows * columns * dtype.itemsize
    return Workload("advection", primal, ways, bars, {}, moved)


# ------------------------------------------------------------------------------------------------------ a tile, a cache


def filters(dtype, scale, g):
    n = max(3 * TX - 5, int(2**25 * scale))
    real = from_dtype(dtype)
    none = dtype.type(0)

    @cuda.jit(device=True)
    def at(a, i):
        return a[i] if 0 <= i < a.size else none

    @cuda.jit
    def fir(x, h, y):
        tile = cuda.shared.array(RIMMED, real)
        i, t = cuda.grid(1), cuda.threadIdx.x
        tile[t + 2] = at(x, i)
        if t < 2:
            tile[t] = at(x, i - 2)
        if t >= TX - 2:
            tile[t + 4] = at(x, i + 2)
        cuda.syncthreads()
        if i < y.size:
            total = none
            for k in range(TAPS):
                total += h[k] * tile[t + k]
            y[i] = math.tanh(total)

    one = dtype.type(1)

    @cuda.jit
    def contributions(x, h, y_bar, kept, h_bar):
        part = cuda.shared.array((TAPS, TX), real)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        for k in range(TAPS):
            part[k, t] = none
        while i < y_bar.size:
            total = none
            for k in range(TAPS):
                total += h[k] * at(x, i + k - 2)
            y = math.tanh(total)
            seed = y_bar[i]
            bar = (one - y * y) * seed
            if seed != none:
                y_bar[i] = none
            kept[i] = bar
            for k in range(TAPS):
                part[k, t] += at(x, i + k - 2) * bar
            i += cuda.gridsize(1)
        cuda.syncthreads()
        half = TX // 2
        while half > 0:
            if t < half:
                for k in range(TAPS):
                    part[k, t] += part[k, t + half]
            cuda.syncthreads()
            half //= 2
        if t < TAPS:
            cuda.atomic.add(h_bar, t, part[t, 0])

    @cuda.jit
    def gather(h, kept, x_bar):
        i = cuda.grid(1)
        if i < x_bar.size:
            total = none
            for k in range(TAPS):
                total += h[k] * at(kept, i - k + 2)
            x_bar[i] += total

    x, h = sent(g, n, dtype=dtype), sent(g, TAPS, dtype=dtype)
    y, kept = zeros(x), zeros(x)
    bars = {"x": zeros(x), "h": zeros(h), "y": zeros(y)}
    seeds = {"y": g.normal(size=n).astype(dtype)}
    few = min(blocks(n), 3 if SIMULATED else 1024)

    def hand():
        contributions[few, TX](x, h, bars["y"], kept, bars["h"])
        gather[blocks(n), TX](h, kept, bars["x"])

    ways = {
        "hand": hand,
        **kernel_ways(fir, blocks(n), TX, (x, h, y), bars),
        **peers("fir", (x, h), {0: "x", 1: "h"}, seeds["y"]),
    }
    return Workload("fir", lambda: fir[blocks(n), TX](x, h, y), ways, bars, seeds, 7 * n * dtype.itemsize)


# ---------------------------------------------------------------------------------------------------- a tree in a block


def log_sums(dtype, scale, g):
    rows = max(3, int(2**17 * scale))
    real, one, none = from_dtype(dtype), dtype.type(1), dtype.type(0)
    levels = TX.bit_length() - 1

    @cuda.jit
    def lse(x, out):
        part = cuda.shared.array(TX, real)
        row, t = cuda.blockIdx.x, cuda.threadIdx.x
        part[t] = x[row, t]
        cuda.syncthreads()
        half = TX // 2
        while half > 0:
            if t < half:
                part[t] = part[t] + math.log1p(math.exp(part[t + half] - part[t]))
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[row] = part[0]

    @cuda.jit
    def adjoint(x, out_bar, x_bar):
        part = cuda.shared.array(TX, real)
        part_bar = cuda.shared.array(TX, real)
        kept = cuda.local.array(levels, real)
        row, t = cuda.blockIdx.x, cuda.threadIdx.x
        part[t] = x[row, t]
        part_bar[t] = none
        cuda.syncthreads()
        for level in range(levels):
            half = (TX // 2) >> level
            if t < half:
                exp = math.exp(part[t + half] - part[t])
                kept[level] = exp
                part[t] = part[t] + math.log1p(exp)
            cuda.syncthreads()
        if t == 0:
            seed = out_bar[row]
            part_bar[0] = seed
            if seed != none:
                out_bar[row] = none
        for level in range(levels - 1, -1, -1):
            cuda.syncthreads()
            half = (TX // 2) >> level
            if t < half:
                exp = kept[level]
                other = exp * part_bar[t] / (one + exp)
                part_bar[t + half] = other
                part_bar[t] -= other
        cuda.syncthreads()
        x_bar[row, t] += part_bar[t]

    x = sent(g, rows, TX, dtype=dtype)
    out = cuda.to_device(np.zeros(rows, dtype))
    bars = {"x": zeros(x), "out": zeros(out)}
    seeds = {"out": g.normal(size=rows).astype(dtype)}
    ways = {
        "hand": lambda: adjoint[rows, TX](x, bars["out"], bars["x"]),
        **kernel_ways(lse, rows, TX, (x, out), bars),
        **peers("lse", (x,), {0: "x"}, seeds["out"]),
    }
    return Workload("lse", lambda: lse[rows, TX](x, out), ways, bars, seeds, 3 * rows * TX * dtype.itemsize)


# ----------------------------------------------------------------------------------------------- through an index array


def interpolation(dtype, scale, g):
    n, m = max(2 * TX + 5, int(2**24 * scale)), max(9, int(2**20 * scale))
    one, none = dtype.type(1), dtype.type(0)

    @cuda.jit
    def interpolate(table, k, f, y):
        i = cuda.grid(1)
        if i < y.size:
            j = k[i]
            y[i] = (one - f[i]) * table[j] + f[i] * table[j + 1]

    @cuda.jit
    def adjoint(table, k, f, y_bar, table_bar, f_bar):
        i = cuda.grid(1)
        if i < y_bar.size:
            j, bar, part = k[i], y_bar[i], f[i]
            if bar != none:
                y_bar[i] = none
            f_bar[i] += (table[j + 1] - table[j]) * bar
            cuda.atomic.add(table_bar, j, (one - part) * bar)
            cuda.atomic.add(table_bar, j + 1, part * bar)

    table, f = sent(g, m, dtype=dtype), sent(g, n, dtype=dtype)
    k = cuda.to_device(g.integers(0, m - 1, n))
    y = zeros(f)
    bars = {"table": zeros(table), "f": zeros(f), "y": zeros(y)}
    seeds = {"y": g.normal(size=n).astype(dtype)}
    shadows = {name: bars[name] for name in ("table", "f", "y")}
    ways = {
        "hand": lambda: adjoint[blocks(n), TX](table, k, f, bars["y"], bars["table"], bars["f"]),
        **kernel_ways(interpolate, blocks(n), TX, (table, k, f, y), shadows),
        **peers("interpolation", (table, k, f), {0: "table", 2: "f"}, seeds["y"]),
    }
    moved = n * (8 + 9 * dtype.itemsize)
    return Workload("interpolation", lambda: interpolate[blocks(n), TX](table, k, f, y), ways, bars, seeds, moved)


# ------------------------------------------------------------------------------------------------------ a loop a thread


def logistic(dtype, scale, g):
    n = max(2 * TX + 1, int(2**24 * scale))
    real, one, none = from_dtype(dtype), dtype.type(1), dtype.type(0)

    @cuda.jit
    def iterate(x0, r, y):
        i = cuda.grid(1)
        if i < y.size:
            x, own = x0[i], r[i]
            for _ in range(STEPS):
                x = own * x * (one - x)
            y[i] = x

    @cuda.jit
    def adjoint(x0, r, y_bar, x0_bar, r_bar):
        kept = cuda.local.array(STEPS, real)
        i = cuda.grid(1)
        if i < y_bar.size:
            x, own = x0[i], r[i]
            for t in range(STEPS):
                kept[t] = x
                x = own * x * (one - x)
            bar, own_bar = y_bar[i], none
            if bar != none:
                y_bar[i] = none
            for t in range(STEPS - 1, -1, -1):
                x = kept[t]
                own_bar += x * (one - x) * bar
                bar *= own * (one - x - x)
            x0_bar[i] += bar
            r_bar[i] += own_bar

    x0 = sent(g, n, dtype=dtype)
    r = sent(g, n, dtype=dtype, low=1.5, high=2.9)
    y = zeros(x0)
    bars = {"x0": zeros(x0), "r": zeros(r), "y": zeros(y)}
    seeds = {"y": g.normal(size=n).astype(dtype)}
    ways = {
        "hand": lambda: adjoint[blocks(n), TX](x0, r, bars["y"], bars["x0"], bars["r"]),
        **kernel_ways(iterate, blocks(n), TX, (x0, r, y), bars),
        **peers("logistic", (x0, r), {0: "x0", 1: "r"}, seeds["y"]),
    }
    return Workload("logistic", lambda: iterate[blocks(n), TX](x0, r, y), ways, bars, seeds, 8 * n * dtype.itemsize)


# --------------------------------------------------------------------------------------------- arrays of a thread's own


def tridiagonal(dtype, scale, g):
    n = max(2 * TX + 1, int(2**20 * scale))
    real, none = from_dtype(dtype), dtype.type(0)

    @cuda.jit
    def solve(a, b, c, d, x):
        """Row k of system i is at [k, i]: a below the diagonal, b on it, c above."""
        i = cuda.grid(1)
        if i < x.shape[1]:
            up, right = cuda.local.array(ROWS, real), cuda.local.array(ROWS, real)
            up[0] = c[0, i] / b[0, i]
            right[0] = d[0, i] / b[0, i]
            for k in range(1, ROWS):
                pivot = b[k, i] - a[k, i] * up[k - 1]
                up[k] = c[k, i] / pivot
                right[k] = (d[k, i] - a[k, i] * right[k - 1]) / pivot
            last = right[ROWS - 1]
            x[ROWS - 1, i] = last
            for k in range(ROWS - 2, -1, -1):
                last = right[k] - up[k] * last
                x[k, i] = last

    @cuda.jit
    def adjoint(a, b, c, d, x_bar, a_bar, b_bar, c_bar, d_bar):
        """The solution again, and that of the transposed system."""
        i = cuda.grid(1)
        if i < x_bar.shape[1]:
            up, right = cuda.local.array(ROWS, real), cuda.local.array(ROWS, real)
            x = cuda.local.array(ROWS, real)
            up[0] = c[0, i] / b[0, i]
            right[0] = d[0, i] / b[0, i]
            for k in range(1, ROWS):
                pivot = b[k, i] - a[k, i] * up[k - 1]
                up[k] = c[k, i] / pivot
                right[k] = (d[k, i] - a[k, i] * right[k - 1]) / pivot
            x[ROWS - 1] = right[ROWS - 1]
            for k in range(ROWS - 2, -1, -1):
                x[k] = right[k] - up[k] * x[k + 1]
            up[0] = a[1, i] / b[0, i]
            right[0] = x_bar[0, i] / b[0, i]
            for k in range(1, ROWS):
                pivot = b[k, i] - c[k - 1, i] * up[k - 1]
                up[k] = a[k + 1, i] / pivot if k + 1 < ROWS else none
                right[k] = (x_bar[k, i] - c[k - 1, i] * right[k - 1]) / pivot
            bar = none
            for k in range(ROWS - 1, -1, -1):
                bar = right[k] - up[k] * bar
                x_bar[k, i] = none
                d_bar[k, i] += bar
                b_bar[k, i] -= bar * x[k]
                if k > 0:
                    a_bar[k, i] -= bar * x[k - 1]
                if k + 1 < ROWS:
                    c_bar[k, i] -= bar * x[k + 1]

    a, c, d = (sent(g, ROWS, n, dtype=dtype) for _ in range(3))
    b = sent(g, ROWS, n, dtype=dtype, low=2.5, high=4.0)
    x = zeros(a)
    bars = {name: zeros(a) for name in "abcdx"}
    seeds = {"x": g.normal(size=(ROWS, n)).astype(dtype)}
    shadows = [bars[name] for name in "xabcd"]
    ways = {
        "hand": lambda: adjoint[blocks(n), TX](a, b, c, d, *shadows),
        **kernel_ways(solve, blocks(n), TX, (a, b, c, d, x), bars),
        **peers("tridiagonal", (a, b, c, d), dict(enumerate("abcd")), seeds["x"]),
    }
    moved = 14 * ROWS * n * dtype.itemsize
    return Workload("tridiagonal", lambda: solve[blocks(n), TX](a, b, c, d, x), ways, bars, seeds, moved)
