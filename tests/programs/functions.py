"""Programs that call other functions, and all kinds of arguments and results."""

import functools
import math
from collections import namedtuple

import numpy as np
from numba import njit

from tests.programs.rows import Rows, vector, wave

FUNCTIONS = Rows()
add = FUNCTIONS.add

SCALE = 1.5
WEIGHTS = np.array([0.5, -1.0, 2.0])
SIZES = (2, 3)


def square(x):
    return x * x


@njit
def product(x, y):
    return x * y


@njit(cache=False, fastmath=True)
def with_options(x):
    return np.sin(x) * x


def with_defaults(x, power=2, scale=SCALE):
    return scale * x**power


@njit
def with_keyword_only(x, *, shift=0.5):
    return (x + shift) * x


def with_star(first, *rest):
    total = first
    for r in rest:
        total = total * r + 1.0
    return total


@add(lambda: (0.7, 1.3), (0, 1), compiled=True)
def calls(x, y):
    return square(x) * product(x, y) + with_options(y)


@add(lambda: (0.7, 1.3), (0, 1))
def calls_within_calls(x, y):
    return square(product(square(x), with_options(product(x, y))))


@add(lambda: (0.7, 1.3), (0, 1))
def defaults_and_keywords(x, y):
    z = with_defaults(x) + with_defaults(y, 3) + with_defaults(x, scale=y)
    return z + with_defaults(power=1, x=x) + with_keyword_only(x, shift=y)


@add(lambda: (0.7, 1.3), (0, 1))
def star_parameters(x, y):
    pair = (x, y)
    return with_star(x) + with_star(x, y) + with_star(x, y, 2.0, x) + product(*pair) + with_star(*pair, x)


@add(lambda: (0.7, 1.3), (0, 1))
def lambdas(x, y):
    f = lambda t: t * t + y
    g = lambda a, b: f(a) * b
    return f(x) * g(x, y) + (lambda: x * y)()


cube = lambda x: x * x * x


@add(lambda: (0.7,))
def global_lambda(x):
    return cube(x) + cube(x * x)


FUNCTIONS.rows.append(FUNCTIONS.rows[-1].__class__(lambda x, y: x * np.sin(y) + x * x, lambda: (0.7, 1.3), (0, 1)))


def made_with(factor, table):
    def inner(x):
        return factor * x * table[1] + deeper(x)

    def deeper(x):
        return x * x * factor

    return inner


closure = made_with(2.5, np.array([1.0, 3.0]))
add(lambda: (0.7,))(closure)


@add(lambda: (0.7, 1.3), (0, 1))
def calls_a_closure(x, y):
    return closure(x) * y


@add(lambda: (wave(3),))
def global_constants(a):
    n, m = SIZES
    total = 0.0
    for k in range(m):
        total += a[k] * a[k] * WEIGHTS[k]
    return total * SCALE + (a * WEIGHTS).sum() * n


def change(a, k, v):
    a[k] = a[k] * v
    a[k - 1] += v


@njit
def scale_all(a, factor):
    for k in range(a.size):
        a[k] *= factor
    return a


@add(lambda: (wave(4), 0.7), (0, 1), compiled=True)
def functions_that_write(a, x):
    change(a, 2, x)
    change(a[1:], 1, a[0])
    b = scale_all(a, x)
    b[0] = b[1] * x
    return (a * a).sum() + b[0]


def ends_early(x, limit):
    for k in range(5):
        x = x * 1.5
        if x > limit:
            return x * k
    return x


@add(lambda: (0.7,))
def called_function_returns_early(x):
    total = 0.0
    for limit in (1.0, 2.0, 100.0):
        total += ends_early(x, limit) * x
    return total


def without_result(a):
    if a[0] > 0.0:
        a[0] = a[0] * a[1]


@add(lambda: (wave(3),))
def function_without_result(a):
    without_result(a)
    without_result(a[1:])
    return a[0] * a[1] + a[2]


def apply(f, x, n):
    for _ in range(n):
        x = f(x)
    return x


@add(lambda: (0.7, 1.3), (0, 1))
def functions_as_arguments(x, y):
    return apply(square, x, 2) * apply(math.sin, y, 2) + apply(lambda t: t * y, x, 3) + apply(with_options, x, 2)


def both_parts(x, y):
    return x * y, (x + y, x - y)


@add(lambda: (0.7, 1.3), (0, 1))
def functions_that_return_tuples(x, y):
    p, (s, d) = both_parts(x, y)
    q = both_parts(s, d)
    return p * q[0] + q[1][1] * s


@functools.lru_cache
def cached_constant():
    return 3.0


@add(lambda: (0.7,))
def name_of_a_method_as_variable(x):
    sum = x * x
    shape = sum * x
    dot = shape + sum
    return dot * shape


# ----------------------------------------------------------------------------------------------- arguments and results


@add(lambda: (0.7, 2, True, 1.3), (0, 3))
def arguments_of_all_scalar_kinds(x, n, flag, y):
    return x * n + y * y * flag + n * flag * x * y


@add(lambda: ((0.7, 1.3),))
def tuple_argument(p):
    x, y = p
    return x * y + p[0]


@add(lambda: ((0.7, (wave(3), 2, 1.3)), 0.4), (0, 1))
def nested_tuple_argument(p, s):
    x, (a, n, y) = p
    a[0] = x * y
    return (a * a).sum() * n + s * y * x


@add(lambda: ((wave(2), wave(2)),))
def tuple_of_arrays(pair):
    total = 0.0
    for a in pair:
        total += (a * a).sum() * a[0]
    return total + pair[0] @ pair[1]


@add(lambda: ((0.7, 1.3, 0.4),))
def uniform_tuple_argument(values):
    total = 1.0
    for v in values:
        total = total * v + len(values)
    return total + values[1] * values[-1]


Point = namedtuple("Point", "x y")


@add(lambda: (Point(0.7, 1.3), 0.5), (1,))
def named_tuple_argument(p, s):
    return p[0] * s * s + p[1] * s


@add(lambda: (wave(3), np.array([2, 0]), np.array([True, False, True])))
def integer_and_boolean_arrays(a, places, mask):
    total = a[places[0]] * a[places[1]]
    for k in range(a.size):
        if mask[k]:
            total += a[k] * a[k] * places.sum()
    return total * mask.sum()


@add(lambda: (np.array([0.5, 1.25], np.float32), np.float32(0.7)), (0, 1), second=False, tolerance=1e-3)
def single_precision_arguments(a, x):
    return (a * x).sum() * x


@add(lambda: (wave(4), 0.7), (0, 1), single=True)
def either_precision(a, x):
    total = x * 0.0
    for k in range(a.size):
        if a[k] > 0:
            total += a[k] * a[k] * x
        else:
            total -= np.sin(a[k]) / 2
    return total


@add(lambda: (0.7, 1.3), (0, 1))
def tuple_result(x, y):
    return x * y, x + y * y


@add(lambda: (wave(3), 0.7), (0, 1), compiled=True)
def array_result(a, x):
    return a * x + a[::-1]


@add(lambda: (wave(3), 0.7, 2), (0, 1))
def nested_result(a, x, n):
    b = a * a
    return (b, x), ((a[0] * x, n), b[1:] * x)


@add(lambda: (wave(3),))
def result_is_an_argument(a):
    return a


@add(lambda: (wave(4),))
def result_is_a_view(a):
    a[1] = a[0] * a[2]
    return a[1:], a[1]


@add(lambda: (wave(3), 0.7), (0, 1))
def one_array_returned_twice(a, x):
    b = a * x
    return b, b, x


@add(lambda: (wave(2, 2), 0.7), (0, 1))
def matrix_result(a, x):
    return a @ a.T * x


@add(lambda: (0.7, 1.3), (0, 1))
def constant_parts_of_a_result(x, y):
    return 3.0, x * y, 2


@add(lambda: (0.7, 1.3), (0, 1))
def result_does_not_depend(x, y):
    return x * x


@add(lambda: (vector(0.3, 0.4), 1.0), (0, 1))
def rank_zero_result(a, x):
    return np.full((), a[0] * x) + 1.0


@add(lambda: (0.7, 3), (0,), compiled=True)
def functions_defined_inside(x, n):
    def step(y, scale=0.5):
        for k in range(2):
            y = y * scale + np.sin(x)
        return y

    z = x
    for i in range(n):
        z = step(z)
        if z > 0.5:
            z = step(z, scale=x)
    return z * step(y=x)


@add(lambda: (1.3,), (0,))
def default_taken_at_the_definition(x):
    k = 2.0
    g = lambda t, m=k: t * m * k + x
    k = 3.0
    return g(x) * g(x, 1.0)


@add(lambda: (0.8,), (0,))
def inside_function_sees_a_later_one(x):
    def outer():
        return x * inner(x)

    def inner(t):
        if t > 0.0:
            return t * t
        return -t

    return outer() + inner(-x)


@add(lambda: (vector(1.0, 2.0),), (0,))
def inside_function_writes_into_its_argument(x):
    def bump(a):
        a[0] += x[1]

    y = x * 2.0
    bump(y)
    return y[0] * y[1]


@add(lambda: (1.2, 5))
def assigns_around_itself(x, n):
    s, count = 0.0, 0

    def more(v):
        nonlocal s, count
        s += v * v
        count += 1

    more(x)
    for i in range(n):
        if i % 2:
            more(x * i)
    while count < 20:
        more(0.1 * x)
    return s * x + count


@add(lambda: (2.0,))
def any_number_of_arguments(x):
    def scaled(*a, scale=2.0, **more):
        return a[0] * scale + more.get("k", x) * len(a)

    def passed_on(*a, **named):
        return scaled(*a, **named)

    total = lambda *v: sum(v) * x  # noqa: E731  as people write it
    return scaled(x, x) + passed_on(x, k=x * x, scale=x) + total(x, 2.0, x)
