"""Programs with `match`, `try` and `with`: which case is taken, and what is caught."""

import dataclasses

import numpy as np

from tests.programs.rows import Rows, wave

LEAVING = Rows()
add = LEAVING.add


@dataclasses.dataclass
class Sphere:
    radius: float
    weight: float


def matrix(sign=1.0):
    half = np.array([[0.9, 0.2, -0.4], [0.1, 1.3, 0.5], [-0.6, 0.3, 0.7]])
    return sign * (half @ half.T + np.eye(3))


FACTOR = 3.0


@add(lambda: (1.3, 2))
@add(lambda: (1.3, 7), called="of_texts_and_numbers_others")
def of_texts_and_numbers(x, n):
    total = 0.0
    for kind in ("b", "c", "d"):
        match kind:
            case "a" | "b":
                r = x * 2
            case "c":
                r = x**3
            case _:
                r = 1.0
        match n:
            case 1:
                r = r * x
            case 2:
                r = r * x * x
            case k if k > 5:
                r = r * k
        total += r
    return total


@add(lambda: (1.3, 0.4), (0, 1))
@add(lambda: (0.3, 0.4), (0, 1), called="of_pairs_others")
def of_pairs(x, y):
    match (x, y):
        case (a, b) if a > b:
            return a * a * b
        case (a, *rest):
            return a * rest[0] ** 3


@add(lambda: (1.3, 0.4), (0, 1))
def of_classes(x, y):
    s = Sphere(x, y)
    total = 0.0
    for thing in (s, (x, y), {"k": x}, 3.0, None):
        match thing:
            case Sphere(r, weight=w):
                total += r * r * w
            case [p, q]:
                total += p * q
            case {"k": v}:
                total += v**3
            case float() as f:
                total += f * x
            case None:
                total += y
    return total


@add(lambda: (1.3, 8), compiled=True)
def of_each_trip(x, n):
    s = 0.0
    for i in range(n):
        match i % 3:
            case 0:
                s += x * x
            case 1:
                if s > 100:
                    break
                s *= x
            case _:
                continue
        s += 1.0
    return s


@add(lambda: (np.array([0.3, -0.5, 2.0]),))
def without_warnings(x):
    global FACTOR  # noqa: PLW0602  only read
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(x > 0, np.log(np.abs(x)), 0.0)
    return np.sum(y) * FACTOR


@add(lambda: (matrix(), wave(3)), (0, 1))
@add(lambda: (matrix(-1.0), wave(3)), (0, 1), called="a_factorisation_that_fails")
def a_factorisation_that_may_fail(k, y):
    try:
        lower = np.linalg.cholesky(k)
    except np.linalg.LinAlgError:
        return 5.0 * y[0]
    z = np.linalg.solve(lower, y)
    return z @ z + 2 * np.log(np.diag(lower)).sum()


@add(lambda: (matrix() - 2.0 * np.eye(3), wave(3)), (0, 1), second=False)
def more_and_more_on_the_diagonal(k, y):
    jitter = 1e-3
    lower = np.eye(3)
    for _ in range(6):
        try:
            lower = np.linalg.cholesky(k + jitter * np.eye(3))
            break
        except np.linalg.LinAlgError:
            jitter *= 10.0
    return np.sum(lower * y) + jitter * y[1]


@add(lambda: (1.1, 7), compiled=True)
def caught_in_trips(x, n):
    s = 0.0
    for i in range(n):
        try:
            if i == 2:
                raise ValueError("two")
            s += x * i
            assert i != 4, "four"
            s = s * x
        except ValueError:
            s = s * 2.0
        except AssertionError:
            continue
        else:
            s += 0.5 * x
        finally:
            s += 0.1 * x * x
    return s


@add(lambda: (1.1,))
@add(lambda: (0.1,), called="raised_in_no_trip")
def raised_in_a_trip(x):
    try:
        for _ in range(5):
            x = x * 1.5
            if x > 4.0:
                raise RuntimeError
        x = x + 1
    except RuntimeError as fault:  # noqa: F841  as people write it
        x = x * x
    return x


@add(lambda: (1.1,))
@add(lambda: (0.1,), called="caught_by_nobody")
def caught_further_out(x):
    try:
        try:
            if x > 1:
                raise KeyError("k")
            x = 2 * x
        except ValueError:
            x = 0.0
        x = x + 7
    except Exception:  # noqa: BLE001  as people write it
        x = x**3
    return x


@add(lambda: (1.1,))
def in_any_case(x):
    try:
        return x * x
    finally:
        x = x + 1
