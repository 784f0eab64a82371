"""Programs that launch kernels, and the same in NumPy. In the simulator they run on what it calls a device.

PROGRAMS: by name, the program, what it computes in NumPy, its arguments, and those to differentiate with respect to.
"""

import math

import numpy as np
from numba import cuda, float64

import adjit


@cuda.jit
def diffuse(p, q, c):
    i = cuda.grid(1)
    if i >= 1 and i < p.size - 1:
        q[i] = p[i] + c[i] * (p[i - 1] - 2.0 * p[i] + p[i + 1])


@cuda.jit
def weigh(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i] * x[i])


@cuda.jit
def log_sums(x, out):
    part = cuda.shared.array(8, float64)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    part[t] = x[row, t]
    cuda.syncthreads()
    half = 8 // 2
    while half > 0:
        if t < half:
            part[t] = part[t] + math.log1p(math.exp(part[t + half] - part[t]))
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[row] = part[0]


@cuda.jit
def rotate(x, out, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = math.tanh(x[i, j] - 0.3 * out[i] * x[i, (j + 1) % x.shape[1]])


@cuda.jit
def push(x, v, dt):
    """In place: what it overwrites is put back on the way."""
    i = cuda.grid(1)
    if i < x.size:
        force = -math.sin(x[i])
        v[i] += dt * force
        x[i] += dt * v[i]


@cuda.jit(device=True)
def inside(a, i):
    return a[i] if 0 <= i < a.size else 0.0


@cuda.jit
def filtered(x, h, y):
    """A tile that is a cache."""
    tile = cuda.shared.array(8 + 2, float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t + 1] = inside(x, i)
    if t < 1:
        tile[t] = inside(x, i - 1)
    if t >= 7:
        tile[t + 2] = inside(x, i + 1)
    cuda.syncthreads()
    if i < y.size:
        total = 0.0
        for k in range(3):
            total += h[k] * tile[t + k]
        y[i] = math.tanh(total)


@cuda.jit
def means(x, out):
    """Dynamic shared memory, and a barrier."""
    part = cuda.shared.array(0, float64)
    t, b, n = cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockDim.x
    part[t] = x[b * n + t] * x[b * n + t]
    cuda.syncthreads()
    out[b * n + t] = part[t] * part[(t + 1) % n]


def blocks_of(n):
    return (n + 7) // 8


def layers(x0, c, steps):
    """A time loop whose buffers change places, and a sum by another kernel."""
    x, y = cuda.to_device(x0), cuda.to_device(x0)
    for _ in range(steps):
        diffuse[blocks_of(x0.size), 8](x, y, c)
        x, y = y, x
    total = cuda.to_device(np.zeros(1))
    weigh[blocks_of(x0.size), 8](x, total)
    return total[0]


def layers_in_numpy(x0, c, steps):
    x = x0
    for _ in range(steps):
        y = x.copy()
        y[1:-1] = x[1:-1] + c[1:-1] * (x[:-2] - 2.0 * x[1:-1] + x[2:])
        x = y
    return np.sum(x * x)


def with_blocks(x0, steps):
    """A tree in shared memory in a time loop, a grid of two dimensions, and loops of the host's around them."""
    x, y = cuda.to_device(x0), cuda.device_array_like(x0)
    out = cuda.device_array(x0.shape[0])
    for _ in range(steps):
        log_sums[x.shape[0], 8](x, out)
        rotate[(-(-x.shape[0] // 4), 2), (4, 4)](x, out, y)
        x, y = y, x
    total = 0.0
    for i in range(x0.shape[0]):
        total += out[i] * x[i, 0]
    return total


def with_blocks_in_numpy(x, steps):
    for _ in range(steps):
        out = np.log(np.sum(np.exp(x), axis=1))
        x = np.tanh(x - 0.3 * out.reshape(-1, 1) * np.roll(x, -1, axis=1))
    return np.sum(out * x[:, 0])


def pushed(x0, v0, dt, steps):
    """What kernels overwrite, a number that a kernel takes, and statements of NumPy's between launches."""
    x, v = x0.copy(), v0.copy()
    for _ in range(steps):
        push[blocks_of(x.size), 8](x, v, dt)
        v *= 0.98
    return np.sum(x * v)


def pushed_in_numpy(x, v, dt, steps):
    for _ in range(steps):
        v = v - dt * np.sin(x)
        x = x + dt * v
        v = v * 0.98
    return np.sum(x * v)


def checkpointed(x0, v0, dt, steps):
    x, v = cuda.to_device(x0), cuda.to_device(v0)
    for _ in adjit.checkpoint(range(steps), snapshots=2):
        push[blocks_of(x.size), 8](x, v, dt)
        v *= 0.98
    return np.sum(x * v)


def network(x, h, twice):
    """A tile, a branch of the host's, a copy, and a grid that does not reach the end."""
    y, z = cuda.device_array_like(x), cuda.device_array_like(x)
    z.copy_to_device(x)
    filtered[blocks_of(x.size), 8](x, h, y)
    if twice:
        filtered[2, 8](y, h, z)
    cuda.synchronize()
    return np.sum(z.copy_to_host() * y)


def network_in_numpy(x, h, twice):
    def layer(x):
        padded = np.concatenate((np.zeros(1), x, np.zeros(1)))
        return np.tanh(h[0] * padded[:-2] + h[1] * padded[1:-1] + h[2] * padded[2:])

    y = layer(x)
    z = np.concatenate((layer(y)[:16], x[16:])) if twice else x
    return np.sum(z * y)


def of_means(x):
    out = cuda.device_array(x.size)
    means[x.size // 4, 4, 0, 32](x, out)
    return np.sum(out * out)


def of_means_in_numpy(x):
    s = (x * x).reshape(-1, 4)
    return np.sum((s * np.roll(s, -1, axis=1)) ** 2)


def on_streams(x0, v0, dt, steps):
    """Streams, events, and blocks of any shape: all goes to one stream."""
    first, second, done = cuda.stream(), cuda.stream(), cuda.event()
    x = cuda.to_device(x0, stream=first)
    v = cuda.to_device(v0, second)
    for _ in range(steps):
        push[blocks_of(x.size), 8, first](x, v, dt)
        done.record(first)
        done.wait(second)
        push.forall(x.size, stream=second)(x, v, 0.5 * dt)
        second.synchronize()
    total = x.copy_to_host(stream=first)
    return np.sum(total * v)


def on_streams_in_numpy(x0, v0, dt, steps):
    x, v = x0.copy(), v0.copy()
    for _ in range(steps):
        for h in (dt, 0.5 * dt):
            v = v - h * np.sin(x)
            x = x + h * v
    return np.sum(x * v)


def chosen(x0, steps, wide):
    """Blocks of one of two shapes, which a condition says, in launches under conditions."""
    if wide:
        block = (8, 2)
    else:
        block = (4, 4)
    x, y = cuda.to_device(x0), cuda.device_array_like(x0)
    out = cuda.to_device(np.linspace(-1.0, 1.0, 7))
    for step in range(steps):
        if step % 2 == 0:
            rotate[((x0.shape[0] + block[0] - 1) // block[0], -(-x0.shape[1] // block[1])), block](x, out, y)
        else:
            rotate[(2, 2), (4, 4)](x, out, y)
        x, y = y, x
    return np.sum(x * x)


def chosen_in_numpy(x, steps, wide):
    out = np.linspace(-1.0, 1.0, 7).reshape(-1, 1)
    for _ in range(steps):
        x = np.tanh(x - 0.3 * out * np.roll(x, -1, axis=1))
    return np.sum(x * x)


def of_any_width(x0, c, steps, width):
    """Blocks of a shape that is an argument, known while compiling then."""
    x, y = cuda.to_device(x0), cuda.to_device(x0)
    for _ in range(steps):
        diffuse[(x0.size + width - 1) // width, min(width, 32)](x, y, c)
        x, y = y, x
    return np.sum(x * x)


def of_any_width_in_numpy(x0, c, steps, width):
    return layers_in_numpy(x0, c, steps)


@cuda.jit
def picked(x, order, y):
    i = cuda.grid(1)
    if i < x.size:
        y[order[i]] = x[i]


def permuted(x, order):
    """Without a race if no two elements of the order are the same."""
    y = cuda.to_device(np.zeros(8))
    picked[2, 4](x, order, y)
    return np.sum(y * y * y)


def of_extents(x0, c, steps):
    """Blocks of a shape that follows from an array's."""
    x, y = cuda.to_device(x0), cuda.to_device(x0)
    threads = min(32, x0.shape[0])
    for _ in range(steps):
        diffuse[math.ceil(x0.shape[0] / threads), threads](x, y, c)
        x, y = y, x
    return np.sum(x * x)


def history(x0, c, steps):
    """Launches from one row of an array to the next, and from one half of it to the other."""
    u = cuda.device_array((steps + 1, x0.size))
    u[0] = x0
    u[1:] = 0.0
    for t in range(steps):
        diffuse[blocks_of(x0.size), 8](u[t], u[t + 1], c)
    half = x0.size // 2
    push[1, 16](u[steps, :half], u[steps, half:], 0.1)
    return np.sum(u * u)


def history_in_numpy(x0, c, steps):
    x, total, half = x0, np.sum(x0 * x0), x0.size // 2
    for t in range(steps):
        y = np.zeros(x.size)
        y[1:-1] = x[1:-1] + c[1:-1] * (x[:-2] - 2.0 * x[1:-1] + x[2:])
        x = y
        if t < steps - 1:
            total += np.sum(x * x)
    v = x[half : 2 * half] - 0.1 * np.sin(x[:half])
    y = x[:half] + 0.1 * v
    return total + np.sum(v * v) + np.sum(y * y) + np.sum(x[2 * half :] ** 2)


def arguments(g):
    n = 21
    return {
        "layers": (g.normal(size=n), g.uniform(0.1, 0.3, n), 4),
        "with blocks": (g.normal(size=(3, 8)), 2),
        "pushed": (g.normal(size=n), g.normal(size=n), 0.1, 3),
        "checkpointed": (g.normal(size=n), g.normal(size=n), 0.1, 7),
        "network": (g.normal(size=n), g.normal(size=3), True),
        "network once": (g.normal(size=n), g.normal(size=3), False),
        "means": (g.normal(size=12),),
        "on streams": (g.normal(size=n), g.normal(size=n), 0.1, 2),
        "chosen": (g.normal(size=(7, 8)), 3, False),
        "any width": (g.normal(size=n), g.uniform(0.1, 0.3, n), 2, 16),
        "history": (g.normal(size=n), g.uniform(0.1, 0.3, n), 2),
        "extents": (g.normal(size=n), g.uniform(0.1, 0.3, n), 2),
    }


PROGRAMS = {
    "layers": (layers, layers_in_numpy, ("x0", "c")),
    "with blocks": (with_blocks, with_blocks_in_numpy, ("x0",)),
    "pushed": (pushed, pushed_in_numpy, ("x0", "v0", "dt")),
    "checkpointed": (checkpointed, pushed_in_numpy, ("x0", "v0", "dt")),
    "network": (network, network_in_numpy, ("x", "h")),
    "network once": (network, network_in_numpy, ("x", "h")),
    "means": (of_means, of_means_in_numpy, ("x",)),
    "on streams": (on_streams, on_streams_in_numpy, ("x0", "v0", "dt")),
    "chosen": (chosen, chosen_in_numpy, ("x0",)),
    "history": (history, history_in_numpy, ("x0", "c")),
    "extents": (of_extents, layers_in_numpy, ("x0", "c")),
    "any width": (of_any_width, of_any_width_in_numpy, ("x0", "c")),
}
