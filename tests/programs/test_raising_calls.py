"""`except` around calls that raise, at any depth: what follows the call is left out, in the order of Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.harness import check


class DidNotConverge(RuntimeError):
    def __init__(self, best, steps=0):
        super().__init__("did not converge")
        self.best, self.steps = best, steps


class OutOfRange(ValueError):
    pass


def root(a, most):
    x = 1.0
    for k in range(most):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12:
            return new
        x = new
    raise DidNotConverge(x, most)


def checked(v):
    if v > 1.0:
        raise OutOfRange("too large", v)
    if v < 0.3:
        raise KeyError("too small")
    return np.sin(v)


def twice(v):
    return checked(v) + checked(v * 1.5)


def plain(x, n):
    try:
        r = root(x[0], n)
    except DidNotConverge:
        return x[1]
    return r * x[2]


def value_kept(x, n):
    r = x[1]
    total = 0.0
    for v in x:
        try:
            r = checked(v)
            total += r
        except (OutOfRange, KeyError):
            total += 10.0 * r
    return total


def with_object(x, n):
    total = 0.0
    for v in x:
        try:
            total += root(v, n)
        except DidNotConverge as error:
            total += error.best * 2.0 + error.steps
    return total


def arguments(x, n):
    try:
        return twice(x[1])
    except OutOfRange as e:
        return e.args[1] * x[0] + len(e.args)
    except KeyError:
        return x[0]


def in_expressions(x, n):
    out = []
    total = np.zeros(3)
    for i in range(3):
        try:
            total[i] = x[i] + 2.0 * checked(x[i]) * twice(x[i] * 0.5)
            out.append(np.exp(checked(x[i])))
            more = checked(x[i] / 1.2) if i else twice(x[i])
            total[i] += more
        except ValueError:
            total[i] += 3.0 * x[i]
        except KeyError:
            out.append(x[i])
    return total.sum() + sum(out) * len(out)


def in_conditions(x, n):
    count = 0.0
    v = x[1]
    try:
        if checked(x[0]) > 0.5 and checked(x[1]) > 0.1:
            count += x[0]
        elif checked(x[2]) > 0.1:
            count += x[2]
        while checked(v) > 0.2:
            v *= 0.8
            count += v
    except OutOfRange:
        count -= x[1]
    except KeyError:
        count += 7.0 * v
    return count


def comprehension(x, n):
    try:
        values = [checked(v) for v in x if v > 0.1]
        best = max(checked(v * 0.9) for v in x)
    except OutOfRange:
        return x[0]
    except KeyError:
        return x[1]
    return sum(values) * best


def else_and_finally(x, n):
    log, total = 0.0, x[0]
    for v in x:
        try:
            r = checked(v)
        except OutOfRange:
            total *= 2.0
        except KeyError:
            total *= v
        else:
            total += r
            try:
                total += twice(v)
            except OutOfRange:
                total += 1.0
        finally:
            log += total
    return total + log


def raised_again(x, n):
    def inner(v):
        try:
            return twice(v)
        except OutOfRange:
            if v > 0.9:
                raise
            return -v
        except KeyError as e:
            raise OutOfRange("other") from e

    total = 0.0
    for v in x:
        try:
            total += inner(v)
        except OutOfRange:
            total += v**3
    return total


def nested(x, n):
    total = 0.0
    for i in range(n):
        try:
            try:
                total += checked(x[i % 3] * (0.6 + 0.2 * i))
            except KeyError:
                total += x[0]
                total += twice(x[1])
        except OutOfRange:
            total -= x[2]
            continue
        total *= 1.1
    return total


class Solver:
    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.failures = 0

    def solve(self, a, most):
        try:
            return root(a, most)
        except DidNotConverge as error:
            self.failures += 1
            if self.failures > 2:
                raise
            return error.best + self.tolerance


def methods(x, n):
    solver = Solver(x[2])
    total = 0.0
    try:
        for v in x:
            total += solver.solve(v, n) * v
    except RuntimeError:
        total = total * x[0]
    return total + solver.failures


class Positive:
    def __init__(self, value):
        if value <= 0.35:
            raise ValueError("must be positive")
        self.value = value


def constructor(x, n):
    total = 0.0
    for v in x:
        try:
            total += Positive(v - 0.1).value * Positive(v).value
        except ValueError:
            total -= v
    return total


def retried(x, n):
    step = x[1]
    for attempt in range(5):
        try:
            y = checked(step * 2.0)
            break
        except OutOfRange:
            step *= 0.6
    else:
        y = 0.0
    return y + step


def early(x, n):
    def first(values):
        for v in values:
            try:
                return checked(v)
            except KeyError:
                continue
            except OutOfRange as e:
                return 2.0 * e.args[1]
        return 0.0

    return first(x) + first(x[::-1]) * first(0.5 * x)


def base_classes(x, n):
    total = 0.0
    for v in x:
        try:
            total += twice(v)
        except LookupError:
            total += 5.0 * v
        except (ValueError, TypeError):
            total -= v
    return total


def asserted(x, n):
    def positive(v):
        assert v > 0.5, "too small"
        return math.sqrt(v)

    total = 0.0
    for v in x:
        try:
            total += positive(v) + positive(v * 0.9)
        except AssertionError:
            total += v
    return total


def factorised(x, n):
    def log_det(a):
        l = np.linalg.cholesky(a)
        return 2.0 * np.sum(np.log(np.diag(l)))

    a = np.outer(x, x) + np.diag(x)
    try:
        return log_det(a) + log_det(a - 2.0 * np.eye(3))
    except np.linalg.LinAlgError:
        return log_det(a) * 3.0


PROGRAMS: list[Callable[..., Any]] = [
    plain, value_kept, with_object, arguments, in_expressions, in_conditions, comprehension, else_and_finally,
    raised_again, nested, methods, constructor, retried, early, base_classes, asserted, factorised,
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: Callable[..., Any]) -> None:
    for n, point in ((2, [0.7, 1.1, 0.4]), (9, [0.52, 0.61, 0.57])):
        check(program, lambda n=n, p=point: (np.array(p), n), (0,), second=False)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled(program: Callable[..., Any]) -> None:
    check(program, lambda: (np.array([0.7, 1.1, 0.4]), 9), (0,), second=False, target="cpu")


def over_many(x):
    try:
        return sum(map(checked, x))
    except OutOfRange:
        return x[0]


def test_a_call_within_a_loop_in_an_expression_is_refused() -> None:
    with pytest.raises(adjit.AdjitError, match="inside a larger statement"):
        adjit.grad(over_many, target="python")(np.array([0.7, 1.1]))
