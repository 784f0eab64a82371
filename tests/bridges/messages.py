"""Programs with messages, and what each process finds of their derivatives; run by mpiexec, once for all programs.

mpiexec -n 4 python messages.py         {"ring": {"reverse": -63.4, "forward": -63.4, ...}, ...}    in process 0
"""

import json
import sys

import numba
import numba_mpi
import numpy as np
from mpi4py import MPI
from mpi4py.MPI import ANY_SOURCE, PROC_NULL
from numba_mpi import Operator

import adjit
import adjit.bridges.mpi

WORLD = MPI.COMM_WORLD


def blocking(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    y = np.zeros_like(x)
    total = 0.0
    for trip in range(3):
        if r > 0:
            numba_mpi.recv(y, r - 1, trip)
        if r < n - 1:
            status = numba_mpi.send(np.sin(k * x) + y, r + 1, trip)
            assert status == 0
        total += np.sum(y * x) + k
    return total


def any_source(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    total = k * x[0]
    if r > 0:
        # fewer than there is room for
        numba_mpi.send(np.exp(x[:2]) * k, 0, r)
    else:
        y = np.ones(5)
        for other in range(1, n):
            numba_mpi.recv(y, ANY_SOURCE)
            total += np.sum(y * y) * x[1]
    # or what is sent in the next run might come here
    numba_mpi.barrier()
    return total


def ring(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    # what is sent has to be there until it is
    y, z = np.zeros_like(x), np.exp(k * x)
    _, sending = numba_mpi.isend(z, (r + 1) % n, 3)
    _, receiving = numba_mpi.irecv(y, (r - 1) % n, 3)
    numba_mpi.waitall((sending, receiving))
    return np.sum(y * x) + z[0]


def both_ways(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    y, z, sent = np.zeros(x.size), np.zeros((2, x.size)), np.zeros((2, x.size))
    for trip in range(4):
        _, from_left = numba_mpi.irecv(y, (r - 1) % n, 0)
        sent[0] = k * x * x
        _, to_left = numba_mpi.isend(sent[0], (r - 1) % n, 1)
        sent[1] = x + z[0]
        _, to_right = numba_mpi.isend(sent[1], (r + 1) % n, 0)
        _, from_right = numba_mpi.irecv(z[1], (r + 1) % n, 1)
        numba_mpi.wait(to_right)
        numba_mpi.wait(from_right)
        numba_mpi.wait(from_left)
        numba_mpi.wait(to_left)
        z[0] += np.sin(y) + k * z[1]
    return np.sum(z[0] ** 2) + np.sum(z[1] * x)


def sendrecv(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    y = np.ones(x.size)
    to = r + 1 if r < n - 1 else PROC_NULL
    fro = r - 1 if r > 0 else PROC_NULL
    numba_mpi.sendrecv(np.cos(k * x), to, y, fro, 5, 5)
    return np.sum(y * x)


def columns(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    u = np.outer(x, x) * k
    if n > 1:
        if r == 0:
            numba_mpi.send(u[:, 1], 1)
        elif r == 1:
            numba_mpi.recv(u[:, 0], 0)
    return np.sum(u * u)


def allreduced(x, k):
    y = np.zeros_like(x)
    numba_mpi.allreduce(x * x * k, y)
    return np.sum(np.sin(y) * x)


def extremes(x, k):
    highest, lowest, at_root = np.zeros(x.size), np.zeros(1), np.zeros(1)
    numba_mpi.allreduce(np.sin(k * x), highest, Operator.MAX)
    numba_mpi.allreduce(np.sum(x) * k, lowest, Operator.MIN)
    numba_mpi.reduce(x[0] * x[1], at_root, Operator.MAX, 0)
    return np.sum(highest * x) * lowest[0] + at_root[0] * k


def rooted(x, k):
    y = np.zeros(1)
    root = numba_mpi.size() - 1
    numba_mpi.reduce(np.sum(x * x) * k, y, Operator.SUM, root)
    if numba_mpi.rank() == root:
        y[0] = np.sin(y[0])
    numba_mpi.barrier()
    numba_mpi.bcast(y, root)
    return y[0] * np.sum(x)


def spread(x, k):
    n = numba_mpi.size()
    y, z, w = np.zeros(x.size * n), np.zeros_like(x), np.zeros(x.size * n)
    numba_mpi.gather(x * x, y, x.size, 0)
    for i in range(1, y.size):
        y[i] += k * y[i - 1]
    numba_mpi.scatter(y, z, x.size, 0)
    numba_mpi.allgather(z, w, x.size)
    return np.sum(w * w) * x[0]


def integers(x, k):
    n = np.zeros(1, np.int64)
    numba_mpi.allreduce(np.array([x.size]), n)
    order = np.arange(x.size)[::-1].copy()
    numba_mpi.bcast(order, 0)
    return np.sum(x[order] * np.arange(x.size)) * k / n[0]


FIXED = np.array([1.0, 2.0, 3.0, 4.0])


def inert(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    # what does not depend on the arguments, and what nobody reads
    y, z, unread = np.zeros(4), np.zeros(4), np.zeros(4)
    numba_mpi.allreduce(FIXED, y)
    numba_mpi.allreduce(x * k, unread)
    if r == 0:
        z[:] = x * k
    numba_mpi.bcast(z, 0)
    return np.sum(z * z * x * y) if r > 0 else k


def matrices(x, k):
    r, n = numba_mpi.rank(), numba_mpi.size()
    u, v, w = np.outer(x, x) * k, np.zeros((4, 4)), np.zeros((4, 3))
    _, sending = numba_mpi.isend(u, (r + 1) % n)
    numba_mpi.recv(v, (r - 1) % n)
    numba_mpi.wait(sending)
    _, sending = numba_mpi.isend(v[1, :], (r + 1) % n)
    numba_mpi.recv(w[:, 2], (r - 1) % n)
    numba_mpi.wait(sending)
    everywhere, total, trips = np.zeros((n, 16)), np.zeros((4, 4)), 0
    numba_mpi.allgather(v, everywhere, 16)
    while trips < 3:
        numba_mpi.allreduce(np.sin(u) + 0.1 * total, total)
        trips += 1
    return np.sum(w[:, 2] * x) + np.sum(np.sin(everywhere)) + np.sum(total * u)


PROGRAMS = (
    blocking, any_source, ring, both_ways, sendrecv, columns, allreduced, extremes, rooted, spread, integers, inert,
    matrices,
)  # fmt: skip


def shared(number):
    return WORLD.allreduce(float(number))


def of_program(f):
    """The derivative of the sum of the results along a direction: by each mode, and by differences."""
    rng = np.random.default_rng(WORLD.rank)
    x, k = rng.uniform(0.2, 0.9, 4), rng.uniform(0.4, 0.6)
    x_dot, k_dot = rng.standard_normal(4), rng.standard_normal()
    value, (x_bar, k_bar) = adjit.value_and_grad(f, wrt=("x", "k"))(x, k)
    own, tangent = adjit.jvp(f, (x, k), (x_dot, k_dot))
    # of those with loops: the two sweeps apart, or both in the pullback
    of_x, of_k = adjit.vjp(f, x, k)[1](1.0) if f in (blocking, spread) else (x_bar, k_bar)
    plain, h = numba.njit(f), 1e-5
    ahead, behind = plain(x + h * x_dot, k + h * k_dot), plain(x - h * x_dot, k - h * k_dot)
    return {
        "value": shared(value - plain(x, k)),
        "reverse": shared(x_bar @ x_dot + k_bar * k_dot),
        "forward": shared(tangent),
        "pullback": shared(of_x @ x_dot + of_k * k_dot),
        "difference": shared((ahead - behind) / (2 * h)),
    }


def greatest(x):
    y = np.zeros_like(x)
    numba_mpi.allreduce(x, y, Operator.MAX)
    return np.sum(y)


def of_ties():
    """The gradient where all processes have the same, and so equal shares of as many results."""
    return adjit.grad(greatest)(np.array([1.0, -2.0])).tolist()


# ------------------------------------------------------------------------------------------------- the heat equation


def heat(u, k, steps):
    """The sum of squares of this process's part of a rod after some steps; the ends of the rod are held at 0."""
    r, n = numba_mpi.rank(), numba_mpi.size()
    left = r - 1 if r > 0 else PROC_NULL
    right = r + 1 if r < n - 1 else PROC_NULL
    v = np.zeros(u.size + 2)
    v[1:-1] = u
    w = np.zeros_like(v)
    for step in range(steps):
        _, a = numba_mpi.irecv(v[:1], left, 0)
        _, b = numba_mpi.irecv(v[-1:], right, 1)
        _, c = numba_mpi.isend(v[-2:-1], right, 0)
        _, d = numba_mpi.isend(v[1:2], left, 1)
        numba_mpi.waitall((a, b, c, d))
        for i in range(1, v.size - 1):
            w[i] = v[i] + k * (v[i - 1] - 2.0 * v[i] + v[i + 1])
        v, w = w, v
    return np.sum(v[1:-1] ** 2)


def serial_heat(u, k, steps):
    v = np.zeros(u.size + 2)
    v[1:-1] = u
    w = np.zeros_like(v)
    for step in range(steps):
        for i in range(1, v.size - 1):
            w[i] = v[i] + k * (v[i - 1] - 2.0 * v[i] + v[i + 1])
        v, w = w, v
    return np.sum(v[1:-1] ** 2)


def of_heat():
    """The greatest differences between the gradient in parts and that of the rod as a whole."""
    whole, k, steps = np.random.default_rng(3).standard_normal(32), 0.2, 25
    n = whole.size // WORLD.size
    part = slice(WORLD.rank * n, (WORLD.rank + 1) * n)
    value, (u_bar, k_bar) = adjit.value_and_grad(heat, wrt=("u", "k"))(whole[part].copy(), k, steps)
    expected, (whole_bar, whole_k_bar) = adjit.value_and_grad(serial_heat, wrt=("u", "k"))(whole, k, steps)
    product = adjit.hvp(heat, wrt="u")(whole[part].copy(), k, steps, np.sin(whole[part]))
    whole_product = adjit.hvp(serial_heat, wrt="u")(whole, k, steps, np.sin(whole))
    return {
        "value": abs(shared(value) - expected),
        "u_bar": WORLD.allreduce(np.abs(u_bar - whole_bar[part]).max(), MPI.MAX),
        "k_bar": abs(shared(k_bar) - whole_k_bar),
        "product": WORLD.allreduce(np.abs(product - whole_product[part]).max(), MPI.MAX),
    }


if __name__ == "__main__":
    PROGRAMS = [f for f in PROGRAMS if f.__name__ in sys.argv[1:] or not sys.argv[1:]]
    found = {f.__name__: of_program(f) for f in PROGRAMS} | {"heat": of_heat(), "ties": of_ties()}
    if WORLD.rank == 0:
        print(json.dumps(found))
