"""Variables that are None on some paths, and variables that hold one of several texts."""

import math

import numpy as np

from tests.programs.rows import Rows, wave

MAYBE = Rows()
add = MAYBE.add


@add(lambda: (wave(7),), compiled=True)
def none_in_the_first_trip(x):
    previous = None
    total = 0.0
    for v in x:
        if previous is not None:
            total += (v - previous) ** 2
        previous = v
    return total


@add(lambda: (wave(7),))
def none_until_something_is_found(x):
    best, place = None, None
    for k in range(x.size):
        if x[k] < -0.5 and (best is None or x[k] < best):
            best = x[k]
            place = k
    if best is None:
        return np.sum(x)
    return best * best + place


@add(lambda: (wave(7),))
def nothing_is_found(x):
    best = None
    for k in range(x.size):
        if x[k] > 9.0 and (best is None or x[k] > best):
            best = x[k]
    return np.sum(x) if best is None else best


@add(lambda: (wave(5, 2),))
def an_array_or_none(points):
    last = None
    length = 0.0
    for p in points:
        if last is None:
            last = p
            continue
        length += np.hypot(*(p - last))
        last = p
    return length


@add(lambda: (wave(6),))
def none_again(x):
    held = None
    total = 0.0
    for v in x:
        if held is None:
            held = v
        elif not v > 0:
            total += held * v
            held = None
        else:
            held = held + v
    return total + (held or 1.5) + (0.5 if not held else held * 2)


def _root(a, b, c):
    d = b * b - 4 * a * c
    if d < 0:
        return None
    return (-b + math.sqrt(d)) / (2 * a)


@add(lambda: (wave(6),))
def functions_that_give_none(x):
    total = 0.0
    for k in range(4):
        r = _root(x[k], x[k + 1], x[k + 2])
        if r is not None:
            total += r
        else:
            total -= x[k]
    return total


def _scaled(x, scale=None):
    if scale is None:
        scale = 2.0
    return x * scale


@add(lambda: (wave(6),))
def handed_to_functions(x):
    scale = None
    total = 0.0
    for v in x:
        total += _scaled(v, scale)
        scale = v if v > 0 else scale
    return total


@add(lambda: (wave(6),))
def of_pairs(x):
    pair = None
    total = 0.0
    for k, v in enumerate(x):
        if pair is not None and v > pair[0]:
            total += pair[0] * pair[1] * v
        pair = (v, k + 1)
    return total


@add(lambda: (wave(6), 2))
def none_or_a_number_by_a_condition(x, n):
    shift = x[0] if n > 1 else None
    factor = None if n > 1 else 3.0
    total = 0.0
    if shift is not None:
        total += shift * x[1]
    if factor is not None:
        total += factor * x[2]
    return total + x[3] ** 2


@add(lambda: (0.9, 0.4, 0.2), (0, 1, 2), compiled=True)
def state_machine(a, b, c):
    state, x, total = "idle", 0.0, 0.0
    for _ in range(40):
        if state == "idle":
            x += a * 0.1
            if x > 0.5:
                state = "run"
        elif state == "run":
            total += b * x
            x *= 1 - c * 0.3
            if x < 0.2:
                state = "cool"
        else:
            total -= 0.01 * x
            x *= 0.9
            if x < 0.1:
                state = "idle"
    return total + x * (2.0 if state in ("run", "cool") else 1.0)


@add(lambda: (wave(6), 1))
def texts_of_two_paths(x, n):
    side = "left" if n > 0 else "right"
    other = "left" if n > 2 else "right"
    total = x[0] if side != "right" else x[1]
    total *= x[2] if side == other else x[3]
    return total + (x[4] if side else x[5])


@add(lambda: (wave(6), 1))
def text_or_none(x, n):
    kind = None
    if n > 0:
        kind = "one"
    elif n > 3:
        kind = "two"
    return x[0] * 2 if kind == "one" else x[1]


@add(lambda: (1.3,))
@add(lambda: (-1.3,), called="a_function_or_none_none")
def a_function_or_none(x):
    f = math.sin if x > 0.0 else None
    g = np.cos if x > 5.0 else None
    return (x if f is None else f(x)) * (g(x) if g else x)


def _falls_off(x, k):
    a = x * x
    if k < 0:
        return None
    return a * a


@add(lambda: (1.5, 1))
def none_or_a_number_is_taken_for_a_number(x, k):
    return _falls_off(x, k) * 2.0
