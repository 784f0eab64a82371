"""Functions with ways that part and meet, loops that are left, and values of all kinds: to be compiled by both ways."""

import math

import numpy as np

SCALE = 0.75
TABLE = np.array([1.0, -2.0, 0.5, 3.0])


def joined(n, a):
    total, kept = 0.0, a
    for i in range(n):
        last = total
        if i % 2:
            total = total + a[i]
            if total > 3.0:
                continue
            kept = a[i:]
        while total < 1.0:
            total += 0.25
            last, total = total, last
            if last > 5.0:
                break
            total += 0.5
    return total, kept[0], kept.size


def swapped(n, a):
    u, v, w = a, a if n < 0 else a.copy(), np.zeros_like(a)
    x, y, z = 1.0, 2.0, 3.0
    for i in range(n):
        for j in range(1, a.size - 1):
            w[j] = u[j - 1] + v[j + 1] * y
        u, v, w = v, w, u.copy()
        x, y, z = y + i, z, x
    return np.sum(u), np.sum(v), x, y, z


def widened(n, a):
    total, count = 0, 1
    for i in range(n):
        total += a[i]
        count = count * 2 if total > 0 else count + 1
    return total, count


def left_early(n, a):
    for i in range(n):
        for j in range(a.size):
            if a[j] > i:
                return i, j, a[j]
            if a[j] < -10.0:
                raise ValueError("too small", 3)
    assert n < 50, "too many"
    return -1, -1, 0.0


def last_of_loops(n, a):
    found = -1.0
    i = 7
    for i in range(n):
        square = a[i] * a[i]
        if square > 4.0:
            found = square
            break
    for k in range(1, n):
        step = a[k] - a[k - 1]
    return found, i, k, step, square


def conditions(n, a):
    count = 0
    for i in range(n):
        x = a[i]
        if 0.0 < x <= 2.0 and not (x == 1.0 or i == 3):
            count += 1
        flag = x > 1.0 and i > 2 or x < -1.0
        other = 0.0 < x < 1.5
        y = (x if x > 0.0 else -x) + (1.0 if flag else 0.0)
        count += 10 * int(flag) + 100 * int(other) + int(y)
        while True:
            if y < 1.0:
                break
            y /= 2.0
    return count


def parts(n, a):
    b = np.empty((n, 3))
    for i in range(n):
        b[i, 0] = a[i]
        b[i, 1:] = a[i] * 2.0
        b[i, -1] -= a[-1]
    c = b[1:, ::2].T
    first, second = c.shape
    one = (n, a[0], b.shape[1])
    k, x, m = one
    return c[1, 0], first, second, k, x, m, b[..., 0].sum(), c[:, 1][0], one[-1]


def lists(n, a):
    kept = []
    empty = [0 for _ in range(0)]
    for i in range(n):
        if a[i] > 0.0:
            kept.append(a[i] * SCALE)
    total = 0.0
    for k in range(len(kept) - 1, -1, -1):
        total = total * 0.5 + kept[k]
    return total, len(empty)


def calls(n, a):
    k = 2**10 - -3
    return (
        math.exp(a[0]) + math.pi, np.sum(a), np.dot(a[:4], TABLE), max(n, 3, k), abs(-a[1]), np.float32(a[2]),
        a.reshape(2, -1)[1, 0], np.full(n, 2.0).size, round(a[0], 1), a.sum(), -n // 2, n % 3, n / 4, 2.0 ** a[0],
    )  # fmt: skip


def maybe_undefined(n, a):
    if n > 2:
        view = a[1:]
        x = a[0]
    for _ in range(n - 2):
        x += view[0]
    return x if n > 2 else 0.0


def nothing(n, a):
    a[0] = n


def bits(value):
    """What a function gives, to be compared to the last bit."""
    return tuple(map(bits, value)) if isinstance(value, tuple) else np.asarray(value).tobytes()
