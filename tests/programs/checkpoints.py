"""Time loops whose trips are run again, as people write them: arrays made anew, loops left early, run-time counts."""

import math

import numpy as np

import adjit
from tests.programs.rows import Rows, vector, wave

CHECKPOINTS = Rows()
add = CHECKPOINTS.add


@add(lambda: (wave(3), 5), compiled=True)
def vector_made_anew(u, n):
    for _ in adjit.checkpoint(range(n)):
        u = np.sin(u) * u + 0.1
    return np.sum(u * u)


@add(lambda: (wave(3), 0.4 * wave(3, 3), 9), (0, 1))
def products_made_anew(u, a, n):
    for t in adjit.checkpoint(range(1, n, 2)):
        u = np.tanh(a @ u) + 0.1 * t
    return np.sum(u * u)


@add(lambda: (0.3 * wave(3, 3) + 2.0 * np.eye(3), 4))
def matrices_made_anew(a, n):
    p = np.eye(3)
    for _ in adjit.checkpoint(range(n)):
        gain = np.linalg.inv(p + a)
        p = p @ gain + 0.1 * a.T
    return np.sum(p * p)


@add(lambda: (wave(3), 0.5 + wave(3) ** 2, 5), (0, 1), compiled=True)
def two_that_move_on(u, v, n):
    for _ in adjit.checkpoint(range(n), 2):
        u, v = v, 0.3 * u * np.sin(v) + 0.1
    return np.sum(u * v)


@add(lambda: (wave(3), 5))
def view_of_the_one_before(u, n):
    x, y = u, 0.5 * u
    for _ in adjit.checkpoint(range(n)):
        x = y[::-1]
        y = np.sin(y) + x
    return np.sum(x * y)


@add(lambda: (wave(3), 4))
def the_one_before_kept(u, n):
    v = 2.0 * u
    for _ in adjit.checkpoint(range(n)):
        v = u
        u = np.sin(u) * v + 0.1
    return np.sum(u * v)


@add(lambda: (wave(3), 4))
def numbers_and_vectors(u, n):
    s = 0.3
    for _ in adjit.checkpoint(range(n)):
        w = np.sin(u) * s
        s = 0.5 * s + np.sum(w * u)
        u = 0.1 * w + 0.1 * u * s
        u[0] = s
    return np.sum(u * u) * s


@add(lambda: (wave(3), 4))
def borders_set_before_and_after(u, n):
    a = 2.0 * u
    for _ in adjit.checkpoint(range(n)):
        a[0] = 0.5 * a[1]
        a = np.sin(a) * a + 0.1
    a[1] = a[0]
    return np.sum(a * a)


@add(lambda: (wave(3), 3))
def checkpointed_in_a_checkpointed_one(u, n):
    for _ in adjit.checkpoint(range(n)):
        for _ in adjit.checkpoint(range(2)):
            u = np.sin(u) * u + 0.1
        u = u * u
    return np.sum(u * u)


@add(lambda: (wave(4), 4))
def pieces_put_together(u, n):
    for _ in adjit.checkpoint(range(n)):
        u = u + 0.1 * np.concatenate((u[1:] * u[:-1], u[:1]))
        if u[0] > 1.2:
            u = 0.5 * u
    return np.sum(u * u)


@add(lambda: (wave(3), 0))
def no_trip(u, n):
    for _ in adjit.checkpoint(range(n)):
        u = np.sin(u) * u + 0.1
    return np.sum(u * u)


@add(lambda: (wave(3), 30))
def count_of_run_time(u, m):
    n = 0
    while n * n < m:
        n += 1
    for _ in adjit.checkpoint(range(n)):
        u = np.sin(u) * u + 0.1
    return np.sum(u * u)


# ---------------------------------------------------------------------------------------------------------- left early


@add(lambda: (0.5, 6), compiled=True)
def number_until_it_is_large(x, n):
    for _ in adjit.checkpoint(range(n)):
        x = math.sin(x) * x + 0.4
        if x > 0.62:
            break
    return x * x


@add(lambda: (wave(3), 6))
def vector_until_it_is_large(u, n):
    for _ in adjit.checkpoint(range(n)):
        w = np.sin(u) * u
        if w[0] > 0.9:
            return np.sum(w)
        u = w + 0.2
    return np.sum(u * u)


@add(lambda: (vector(0.3, 0.5, 0.7), 6))
def stores_until_the_sum_is_large(u, n):
    s = 0.1
    for _ in adjit.checkpoint(range(n), 2):
        u[1:] = u[1:] * u[:-1] + 0.3
        s += u[1]
        if s > 1.2:
            break
        s = s * 1.01
    return np.sum(u * s)


@add(lambda: (wave(3), 3))
def never_left_after_all(u, n):
    for _ in adjit.checkpoint(range(n)):
        u = np.sin(u) * u + 0.2
        if u[0] > 9.0:
            break
    else:
        u = u * 2.0
    return np.sum(u * u)
