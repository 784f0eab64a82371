"""Programs that choose functions at run time, hand them round, leave helpers early, and free names."""

import math
from enum import Enum, auto

import numpy as np

import adjit
from tests.programs.rows import Rows, vector, wave

CHOICES = Rows()
add = CHOICES.add


def square(v):
    return v * v


def cube(v):
    return v * v * v


def twice(f, v):
    return f(f(v))


# --------------------------------------------------------------------------------------------------- chosen functions


@add(lambda: (0.4, True), compiled=True)
def function_of_a_conditional_expression(x, flag):
    f = math.sin if flag else math.cos
    g = np.exp if x > 1.0 else square
    return f(x) * f(2.0 * x) + twice(g, x) * g(x)


@add(lambda: (wave(3), 1))
def functions_of_many_branches(a, k):
    total = 0.0
    for i in range(4):
        if i + k > 3:
            f = square
        elif i + k > 2:
            f = math.exp
        elif i + k > 1:
            f = lambda v: v * a[1]  # noqa: E731
        elif a[0] > 0.5:
            f = cube
        else:
            f = np.cos
        total += f(a[2] + i)
    return total * f(a[0])


@add(lambda: (wave(3), 1), compiled=True)
def function_that_changes_from_trip_to_trip(a, k):
    f = math.sin
    total = 0.0
    for i in range(5):
        total += f(a[0] + i)
        if i == 1:
            f = square
        elif i == 3 and k > 0:
            f = cube
    i = 0
    g = math.cos
    while i < 3:
        total += g(a[1])
        g = square if g(a[2]) > 0.5 else g
        i += 1
    return total * f(a[1]) * g(a[0])


@add(lambda: (wave(3), 2))
def function_of_a_tuple(a, k):
    functions = (math.sin, square, math.exp)
    total = 0.0
    for i in range(3):
        total += functions[(i + k) % 3](a[i]) * functions[-1 - i](a[0]) * (cube, math.cos)[i % 2](a[1])
    return total


def stores_first(a):
    a[0] = a[1] * a[2]


def stores_second(a):
    a[1] = a[0] * a[2]


@add(lambda: (wave(3), 0))
def chosen_function_that_stores(a, k):
    f = stores_first if k > 0 else stores_second
    f(a)
    g = stores_second if a[0] > a[1] else stores_first
    for _ in range(2):
        g(a)
    return np.sum(a) * a[0]


@add(lambda: (wave(3), 1))
def chosen_function_is_compared(a, k):
    f = square if k > 0 else cube
    if f is square:
        return f(a[0]) + np.sum(a)
    return f(a[1]) if f is not cube else 2.0 * a[0]


@add(lambda: (wave(3), 1))
def chosen_whole_and_checkpointed_functions(a, k):
    f = np.sum if k > 0 else np.prod
    g = np.sin if k > 1 else np.tanh
    return f(g(a) * a) + adjit.checkpoint(square if k > 0 else cube)(a[0])


# ---------------------------------------------------------------------------------- functions that get other functions


@add(lambda: (0.4,))
def function_inside_a_call_of_the_same(x):
    apply = lambda f, v: f(f(v))  # noqa: E731
    return twice(lambda v: twice(square, v) * x, x) + apply(lambda u: apply(cube, u), x)


def composed(f, g):
    return lambda v: f(g(v))


@add(lambda: (0.4,))
def functions_made_of_functions(x):
    return composed(composed(square, math.sin), cube)(x) * composed(math.exp, composed(math.cos, square))(x)


# ------------------------------------------------------------------------------------------------- helpers that return


def overwrites(a, k):
    if k < 0:
        return
    if a[0] > 0.2:
        a[0] = a[1] * a[k]
        return
    a[1] = a[0] * a[2]


def scales_up_to(a, k):
    for i in range(a.size):
        if i == k:
            return
        a[i] = a[i] * a[k]


@add(lambda: (wave(3), 2))
def helpers_with_a_bare_return(a, k):
    overwrites(a, k)
    overwrites(a, 0)
    overwrites(a, -1)
    scales_up_to(a, 1)
    scales_up_to(a, k + 1 - k)
    return np.sum(a) * a[0]


# ------------------------------------------------------------------------------------------------------ names, elements


@add(lambda: (wave(3),))
def names_are_deleted(a):
    y = a * a
    total = np.sum(y)
    del y
    z = total * a[0]
    for i in range(3):
        w, u = a * i, a[i]
        z += np.sum(w) * u
        del w, u
    w = z * z
    return w


@add(lambda: (wave(3), wave(2, 3)), (0, 1), compiled=True)
def elements_as_items(a, m):
    total = a.item(0) * a.item(-1) * m.item(1, 2) + m.item(4) * m.item(-2) + m.item((0, 1)) + a[:1].item()
    for k in range(-6, 6):
        total += m.item(k) * m.T.item(k) * (a * a).item(k % 3)
    return total + (a * a)[1:2].item() * a[1].item()


@add(lambda: (0.4, 0.1, 0.7), (0, 1, 2))
def numbers_are_clipped(x, low, high):
    total = np.clip(x, low, high) * x + np.clip(9.0 * x, None, high) + np.clip(0.1 * x, low, None) * high
    return total + np.clip(3, low, high) + np.clip(x, 0.5, 2.0) * low


@add(lambda: (vector(0.3, 0.4, 0.9), 0.5, vector(0.2, 0.8, 0.7)), (0, 1, 2))
def a_number_clipped_by_arrays(low, x, high):
    return np.sum(np.clip(x, low, high) * high) + np.sum(np.clip(x * low, 0.1, high))


@add(lambda: (wave(4),))
def none_before_a_loop(a):
    v = None
    total = 0.0
    for i in range(a.size):
        v = a[i] * i
        total += v * v
    return total


class Phase(Enum):
    DRY = auto()
    MOIST = auto()
    ICY = "ice"


@add(lambda: (wave(5), 0.3), (0, 1))
def phases_of_a_state(a, t):
    phase, total = Phase.DRY, 0.0
    for v in a:
        if phase is Phase.DRY:
            t = t + v * v
            phase = Phase.MOIST if t > 0.5 else Phase.DRY
        elif phase == Phase.MOIST:
            t = t * v
            phase = Phase.ICY
        else:
            phase = Phase.DRY
        total += t * t
    return total if phase != Phase.ICY else 2.0 * total * t


KINDS = ("tanh", "square", "none")
LAYERS = {"tanh": np.tanh, "square": lambda v: v * v, "none": abs}


@add(lambda: (wave(4), np.array([0, 1, 2, 1])))
def texts_picked_by_number(a, kinds):
    scale = {"tanh": a[0], "square": 2.0 * a[1], "none": 1.0}
    total = 0.0
    for i in range(a.size):
        kind = KINDS[kinds[i]]
        total += scale[kind] * a[i]
        if kind != "none":
            total += LAYERS[kind](a[i])
    best = max(scale, key=scale.get)
    return total * scale[best] + scale[min(scale, key=lambda name: abs(scale[name]))]
