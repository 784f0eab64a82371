"""Programs with each kind of expression on numbers, tuples and whole arrays."""

import math

import numpy as np

from tests.programs.rows import Rows, vector, wave

EXPRESSIONS = Rows()
add = EXPRESSIONS.add


@add(lambda: (0.7, 1.3), (0, 1), single=True, compiled=True)
def arithmetic(x, y):
    return x + y - x * y / (1.0 + x**2) - (-y) + (+x)


@add(lambda: (7.3, 2.1), (0, 1))
def quotients_and_remainders(x, y):
    return x // y * x + x % y * y + (-x) // y + (-x) % y * x


@add(lambda: (1.4, 7, 2))
def integer_arithmetic(x, n, m):
    return x ** (n // m) + n % m * x + (n / m) * x + (n << m) * x + (n >> 1) + (n & m) + (n | m) + (n ^ m) * x + (~n)


@add(lambda: (1.4, 2.2), (0, 1))
def powers(x, y):
    return x**y + x**2 + x**-1 + x**0.5 + 2.0**y + x**3.0


@add(lambda: (1.4, 3))
def powers_of_integers(x, n):
    return x**n + 2**n * x + x**-n + (x * x) ** (n + 1)


@add(lambda: (0.7, 1.3), (0, 1))
def comparisons(x, y):
    total = 0.0
    if x < y:
        total += x * y
    if x <= y:
        total += x
    if x == y:
        total += 100.0
    if x != y:
        total += y * y
    if x > y:
        total -= 100.0
    if x >= y:
        total -= 100.0
    return total


@add(lambda: (0.7, 1.3), (0, 1), compiled=True)
def chained_comparisons(x, y):
    total = x
    if 0.0 < x < y < 2.0:
        total = total * y
    if 0.0 < x > y:
        total = 0.0
    if x < y <= 1.0 < 100.0:
        total = 0.0
    return total * (0.0 < x < 1.0)


@add(lambda: (wave(3), 3))
def short_circuit_and(a, k):
    if k < a.size and a[k] > 0.0:
        return a[k]
    if k - 1 < a.size and a[k - 1] != 0.0 and a[0] > 0.0:
        return a[k - 1] * a[0]
    return a[1]


@add(lambda: (wave(3), 3))
def short_circuit_or(a, k):
    if k >= a.size or a[k] > 0.0:
        return a[k - 1] * a[k - 2]
    return a[0]


@add(lambda: (0.7, 0.0))
def or_of_numbers(x, y):
    z = y or x * x
    w = x and x * 3.0
    return z * w


@add(lambda: (0.7, 1.3), (0, 1))
def negation(x, y):
    if not x > y and not (x > 1.0 or y < 0.0):
        return x * y
    return x


@add(lambda: (0.7, 1.3), (0, 1), compiled=True)
def conditional_expression(x, y):
    z = x * x if x < y else y
    w = (x if x > y else y) * (1.0 if x > 0.0 else -1.0)
    return z * w + (x if y > 0.0 else y if x > 0.0 else 0.0)


@add(lambda: (wave(3), vector(0.3, 0.4, 0.6), True), (0, 1))
def conditional_expression_of_arrays(a, b, flag):
    c = a * b if flag else a
    d = a if flag else b
    return (c * d).sum()


@add(lambda: (wave(2), 5))
def guarded_conditional_expression(a, k):
    return (a[k] if k < a.size else a[0] * a[1]) * (a[k - 5] if k >= 5 else a[k])


@add(lambda: (0.7, 1.3), (0, 1))
def tuples(x, y):
    pair = (x, y)
    triple = pair + (x * y,)
    inner = (pair, (triple, 2.0))
    single = (x,)
    return inner[0][0] * inner[1][0][2] + triple[-1] * len(triple) + inner[1][1] * single[0]


@add(lambda: (0.7, 1.3), (0, 1))
def tuple_slices(x, y):
    t = (x, y, x * y, 3.0)
    a, b = t[1:3]
    c = t[::2]
    return a * b + c[1] * t[-2]


@add(lambda: (0.7, 1.3, 1), (0, 1))
def tuple_at_run_time_index(x, y, k):
    t = (x, y, x * y)
    return t[k] * t[k + 1] + t[-k]


@add(lambda: (0.7, 1.3), (0, 1))
def membership_and_tuple_comparison(x, y):
    n = 3
    t = (1, 2, 3)
    if n in t and 5 not in t:
        return x * y
    return x


@add(lambda: (wave(2, 3),))
def attributes(a):
    n, m = a.shape
    total = a.size * a[0, 0] + a.ndim * a[0, 1] * a[1, 0]
    b = a.T
    total += (b * b).sum() * b.shape[0] + a.real[0, 1] * len(a)
    return total


@add(lambda: (wave(4), wave(4)[::-1].copy()), (0, 1))
def methods(x, y):
    z = x.copy()
    z[0] = y.dot(x)
    m = z.reshape(2, 2) * y.reshape((2, 2))
    return m.sum() * z.mean() + x.max() - y.min() + m.T.ravel()[1] * m.flatten()[2] + x.prod() + y.std() + x.var()


@add(lambda: (wave(3, 4),))
def methods_with_axes(a):
    rows, columns = a.sum(axis=1), a.sum(0)
    return rows[0] * columns[1] + (rows * rows).sum() + a.mean() * columns[3]


@add(lambda: (wave(4),))
def elementwise_functions(a):
    b = np.exp(np.sin(a)) * np.tanh(a) + np.sqrt(a * a + 1.0)
    return np.sum(b / (1.0 + np.abs(a)))


@add(lambda: (wave(4), 0.6), (0, 1), single=True, compiled=True)
def arrays_and_numbers(a, x):
    b = 2.0 * a + x * a - a / x + x / (a * a + 1.0) + a**2 - x
    return (b * -a).sum()


@add(lambda: (wave(3), wave(2, 3)), (0, 1))
def broadcast_of_ranks(a, b):
    return ((a + b) * (b - a * a)).sum()


@add(lambda: (wave(3), wave(2)), (0, 1))
def outer_by_newaxis(a, b):
    c = a[:, np.newaxis] * b[None, :] + a[:, None]
    return (c * c).sum()


@add(lambda: (wave(4), vector(0.3, 2.0, -0.5, 1.5)), (0, 1))
def comparisons_of_arrays(a, b):
    mask = (a > 0.0) & (b > 0.0) | ~(b < 1.0)
    return (a * mask).sum() * b[0] + np.where(mask, a * b, b).sum() + (a > b).sum() * a[0]


@add(lambda: (wave(4), vector(0.3, 2.0, 0.5, 1.5)), (0, 1))
def array_operators(a, b):
    c = a @ b
    d = b**a - a // 1.0 + a % b
    return c * d.sum() + (-a).sum() * (+b).sum()


@add(lambda: (wave(2, 3), wave(3, 2), wave(3)), (0, 1, 2), single=True, compiled=True)
def products_of_matrices(a, b, v):
    c = a @ b
    return (c * c.T).sum() + (a @ v) @ c[0] + np.dot(v, b)[1]


@add(lambda: (0.7, 1.3), (0, 1), compiled=True)
def functions_of_math(x, y):
    z = math.sin(x) * math.exp(y) + math.log(x + y)
    return z * math.sqrt(x) + math.atan2(x, y) + math.hypot(x, y) + math.pi * x


@add(lambda: (0.7, 1.3), (0, 1))
def builtins_of_numbers(x, y):
    n = int(3.7 * y)
    z = abs(-x) * max(x, y) + min(x, y, 0.5 * x)
    return z + float(n) * x + round(y) * x + n * y + pow(x, 3) + divmod(n, 2)[1] * x


@add(lambda: (0.7, 1.3), (0, 1))
def sum_and_len_of_tuples(x, y):
    t = (x, y, x * y)
    return sum(t) * len(t) + sum((x, y), x) + max(t) * min((y, x))


@add(lambda: (0.7,))
def numbers_in_all_notations(x):
    return x * 1_000.5 + 0x10 * x + 1e-3 * x * x + 0b11 * x + 0o7 + 0.5e1 * x - True * x


@add(lambda: (0.7, 1.3), (0, 1))
def arrays_from_numbers(x, y):
    a = np.array([x, y, x * y])
    b = np.array([[x, 1.0], [2.0, y]])
    c = np.array((x, 3))
    return (a * a).sum() + b[0, 0] * b[1, 1] + b.sum() * c[1] * c[0]


@add(lambda: (0.7, 1.3), (0, 1))
def creations(x, y):
    a, b, c = np.zeros(3), np.ones((2, 3)), np.empty(3)
    d = np.full(3, x)
    e = np.arange(3) * y
    f, g = np.linspace(0.0, 1.0, 3), np.eye(3)
    c[:] = x
    a[1] = y
    h = np.zeros_like(b) + np.ones_like(b) * np.full_like(d, y) + np.empty_like(c).size
    return (a + d * e + f * c).sum() + (g * x)[1, 1] + (h * b).sum() * x


@add(lambda: (0.7, 1.3), (0, 1))
def dtypes_given(x, y):
    a = np.zeros(2, dtype=np.float64)
    a[0] = x
    n = np.arange(3, dtype=np.int64)
    b = np.ones(2, np.int32)
    return (a * a).sum() * n[2] + b.sum() * y + n.astype(np.float64)[1] * x + np.float64(x) * np.int64(y * 2)


# fmt: off
@add(lambda: (0.7, 1.3), (0, 1))
def long_expression(x, y):
    return (
        np.sin(x) * np.cos(y)  # comments inside
        + (x - y) * (x + y)
        - x / (
            1.0
            + y * y
        )
    ) * (x if x > 0.5 else y) \
        + x
# fmt: on


@add(lambda: (0.8, 1.3), (0, 1))
def complex_numbers(x, y):
    z = complex(x, y)
    w = z * z.conjugate() + 2j * z / (1.0 + z) - np.exp(1j * x)
    return abs(w) + w.real * w.imag


@add(lambda: (wave(3),))
def same_operand_twice(a):
    b = a * a
    return (b * b).sum() + (a - a).sum() + a.dot(a)


@add(lambda: (0.7, 1.3), (0, 1))
def constants_as_names(x, y):
    tau = 2.0 * np.pi
    return x * tau + y * np.e + math.tau * x * y + np.inf * 0.0 if x < 0 else x * tau * y


@add(lambda: (wave(5),))
def boolean_values(a):
    positive = a[0] > 0.0
    many = a.size > 3
    both = positive and many
    return a[0] * both + a[1] * (not both) + positive * a[2] * a[2]


@add(lambda: (wave(4),))
def any_and_all(a):
    if np.any(a > 1.0) and not np.all(a > 0.0) and (a < 10.0).all():
        return (a * a).sum()
    return a[0]
