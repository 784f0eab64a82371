"""Programs whose loops make scratch and multiply it: arrays that get an axis, and what libraries take of them."""

import numpy as np

from tests.programs.rows import Rows, vector, wave

MATRICES_IN_LOOPS = Rows()
add = MATRICES_IN_LOOPS.add


# ---------------------------------------------------------------------- filled where it is made, written further inside


@add(lambda: (vector(0.3, 0.7, 0.45, 0.9), 4))
def zeros_that_inner_trips_write_over(b, n):
    b = b.copy()
    for t in range(3):
        w = np.zeros(n)
        for _ in range(2):
            for j in range(n):
                w[j] = b[t]
            b += w[::-1] * w
    return np.sum(b * b)


@add(lambda: (vector(0.3, 0.7, 0.45), 3))
def ones_of_two_axes_written_over_and_read_both_ways(b, n):
    total = 0.0
    for _ in range(3):
        w = np.ones((n, n))
        for i in range(2):
            for j in range(n):
                for k in range(n):
                    w[j, k] = b[j] * b[k] + i
            total += np.sum(w.T * w)
    return total


@add(lambda: (vector(0.3, 0.7, 0.45, 0.9),))
def half_of_what_is_filled_is_written(b):
    b = b.copy()
    for t in range(2):
        w = np.full(b.size, 0.5)
        for i in range(2):
            for j in range(b.size - 1):
                w[j] = b[t] * b[i]
            b += 0.1 * w[::-1] * w
    return np.sum(b * b)


@add(lambda: (vector(0.3, 0.7, 0.45, 0.9),))
def a_branch_writes_over_what_the_trip_fills(b):
    b = b.copy()
    for t in range(2):
        w = np.ones(b.size)
        for i in range(3):
            if i != t:
                for j in range(b.size):
                    w[j] = b[i] * b[j]
                v = w[1:]
                b[1:] += 0.1 * v[::-1] * v
    return np.sum(b * b)


# ------------------------------------------------------------------------------------------- products of what was made


@add(lambda: (wave(4), wave(3, 4)), (0, 1), compiled=True)
def products_of_expressions(x, a):
    for _ in range(3):
        m = (a * x) @ a.T
        x = x + 0.1 * (a.T @ (m @ (a @ x)))
    return np.sum(x * x)


@add(lambda: (wave(3), wave(3, 3), wave(3, 3, 3)), (0, 1, 2), compiled=True)
def products_of_parts_of_three_axes(x, b, c):
    w = 0.5 * c
    total = 0.0
    for t in range(3):
        w[t] = 0.3 * (c[t, :, :] @ (b * x))
        total += np.sum(w[t, :, :].T @ c[t - 1, :, :])
        x = x + 0.1 * (w[t - 1, :, :] @ np.sin(w[t] @ x))
    return total + np.sum(x * x)


@add(lambda: (wave(3), wave(3, 3)), (0, 1))
def solves_and_inverses_of_expressions(x, b):
    for t in range(2):
        m = b * x + 6.0 * np.eye(3)
        p = np.linalg.solve(m * m, (b - x) @ b.T)
        x = x + 0.1 * (np.linalg.inv(m + p) @ (p.T @ x)) + 0.01 * t * np.linalg.det(m * 0.2)
    return np.sum(x * x)


def accelerations(position, mass, softening):
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inv_r3 = (dx**2 + dy**2 + dz**2 + softening**2) ** (-1.5)
    return np.hstack(((dx * inv_r3) @ mass, (dy * inv_r3) @ mass, (dz * inv_r3) @ mass))


def energies(position, velocity, mass):
    x, y = position[:, 0:1], position[:, 1:2]
    inv_r = 1.0 / np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + 0.5)
    kinetic = 0.5 * np.sum(mass * velocity**2)
    return kinetic, np.sum(np.triu(-(mass * mass.T) * inv_r, 1))


@add(lambda: (wave(4, 3), 0.3 * wave(4, 3), 1.0 + wave(4, 1) ** 2), (0, 1, 2), second=False)
def bodies_in_matrices(position, velocity, mass):
    kinetic, potential = np.zeros(3), np.zeros(3)
    a = accelerations(position, mass, 0.4)
    kinetic[0], potential[0] = energies(position, velocity, mass)
    for t in range(2):
        velocity += a * 0.05
        position += velocity * 0.1
        a = accelerations(position, mass, 0.4)
        velocity += a * 0.05
        kinetic[t + 1], potential[t + 1] = energies(position, velocity, mass)
    return np.sum(kinetic * potential)


# ------------------------------------------------------------- results that NumPy has in C order, and numba does not

MATRIX = np.array([[3.0, 1.0, 0.2], [0.5, 2.5, 0.1], [0.3, 0.7, 4.0]])


@add(lambda: (MATRIX.copy(),), compiled=True)
def results_of_libraries_turned_and_flattened(a):
    p, x = np.linalg.inv(a), np.linalg.solve(a, a * a)
    return np.sum(np.sin(p.T.ravel()) * x.ravel()) + np.sum(np.linalg.qr(a)[1].T.ravel()[1:5] * x.T.ravel()[2])


@add(lambda: (MATRIX.copy(),))
def results_of_libraries_joined_and_carried(a):
    if a[0, 0] > 0.0:
        m = np.linalg.inv(a)
    else:
        m = a * 2.0
    p = np.eye(3)
    for k in range(3):
        m = m @ a
        p = np.linalg.solve(a + p, m) if k != 1 else p * m.T
    return np.sum(m * p) + np.sum(p.T.ravel()[:4] * m.ravel()[2])


@add(lambda: (vector(0.3, 0.7),))
def constants_of_libraries_written_to(x):
    p, q = np.eye(2), np.eye(2)
    p[0, 1] = x[0] * x[1]
    v = q[1:]
    v[0, 0] = x[1]
    return np.sum(p * x * q) + np.sum(v @ p)
