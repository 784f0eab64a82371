"""Roots of systems of equations: fsolve, and root by its method hybr.

In: the arguments of the function of scipy.optimize. Out: what it returns. The search is Powell's hybrid method as
MINPACK has it (More, Garbow, Hillstrom, User Guide for MINPACK-1, 1980): steps of Newton's method, shortened towards
the gradient inside a trust region, with Broyden's updates of the matrix, which begins exact here; nothing is
differentiated in it. How the root moves is then that of `scalar_roots.py`, with the matrix of derivatives.

    x = fsolve(f, x0)      x = stop_gradient(search(f, x0)); level = stop_gradient(f(x))
                           three times: x = x - solve(stop_gradient(df/dx), f(x) - level)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize as so

from adjit.rules.registry import Maker, builtin
from adjit.rules.scipy.optimize.scalar_roots import ORDERS, roots, with_arguments
from adjit.runtime.library.hints import stop_gradient

decomposition = builtin.decomposition
jacfwd = Maker("jacfwd")

TINY = np.finfo(np.float64).eps


def values_of(f, x):
    return np.asarray(f(x)) * 1.0


def length(x):
    return np.sqrt(np.sum(x * x))


def eliminated(matrix, values):
    """The solution of a linear system, with a tiny number for a pivot that is zero."""
    a, x, n = matrix.copy(), values.copy(), values.size
    tiny = TINY * np.max(np.abs(matrix)) if np.any(matrix) else TINY
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        for j in range(k, n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        x[k], x[p] = x[p], x[k]
        if a[k, k] == 0.0:
            a[k, k] = tiny
        for i in range(k + 1, n):
            share = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= share * a[k, j]
            x[i] -= share * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= a[k, j] * x[j]
        x[k] /= a[k, k]
    return x


def dogleg(matrix, values, scale, radius):
    """The step inside the region: Newton's, or one on the way there from the minimum along the gradient."""
    newton = eliminated(matrix, -values)
    if length(scale * newton) <= radius:
        return newton
    along = -(matrix.T @ values) / scale
    size = length(along)
    if size == 0.0:
        return newton * (radius / length(scale * newton))
    along = along / size / scale
    far = size / length(matrix @ along) / length(matrix @ along)
    if far >= radius:
        return radius * along
    first, way = far * along, newton - far * along
    a, b = np.sum((scale * way) ** 2), np.sum(scale * first * scale * way)
    c = np.sum((scale * first) ** 2) - radius * radius
    share = -c / (b + np.sqrt(b * b - a * c))
    return first + share * way


def searched(f, start, xtol, factor, most):
    """Where the search ends, whether that is a root, and how often f was evaluated."""
    x = start.copy()
    values = values_of(f, x)
    size, calls = length(values), 1
    scale, radius, is_first = np.ones(x.size), 0.0, True
    slow, slow_matrices, ended, is_root = 0, 0, size == 0.0, size == 0.0
    while not ended:
        matrix = np.asarray(jacfwd(lambda at: values_of(f, at))(x)) * 1.0
        calls += x.size
        norms = np.sqrt(np.sum(matrix * matrix, axis=0))
        if is_first:
            scale = np.where(norms == 0.0, 1.0, norms)
            radius = factor * length(scale * x)
            radius = factor if radius == 0.0 else radius
        scale = np.maximum(scale, norms)
        good, bad, is_new = 0, 0, True
        while not ended and bad < 2:
            step = dogleg(matrix, values, scale, radius)
            width = length(scale * step)
            if is_first:
                radius = min(radius, width)
            new = x + step
            new_values = values_of(f, new)
            new_size = length(new_values)
            calls += 1
            gain = 1.0 - (new_size / size) ** 2 if new_size < size else -1.0
            linear = length(values + matrix @ step)
            hoped = 1.0 - (linear / size) ** 2 if linear < size else 0.0
            ratio = gain / hoped if hoped > 0.0 else 0.0
            if ratio < 0.1:
                good, bad, radius = 0, bad + 1, 0.5 * radius
            else:
                good, bad = good + 1, 0
                if ratio >= 0.5 or good > 1:
                    radius = max(radius, 2.0 * width)
                if abs(ratio - 1.0) <= 0.1:
                    radius = 2.0 * width
            change = (new_values - values - matrix @ step) / (width * width)
            if ratio >= 1e-4:
                x, values, size, is_first = new, new_values, new_size, False
            slow = 0 if gain >= 1e-3 else slow + 1
            slow_matrices = slow_matrices + 1 if is_new else slow_matrices
            slow_matrices = 0 if gain >= 0.1 else slow_matrices
            is_root = radius <= xtol * length(scale * x) or size == 0.0
            is_stuck = calls >= most or slow_matrices == 5 or slow == 10
            ended = is_root or is_stuck or 0.1 * max(0.1 * radius, width) <= TINY * length(scale * x)
            matrix = matrix + np.outer(change, scale * scale * step)
            is_new = False
    return x, is_root, calls


def moving_together(f, found):
    """The root of the system that was found, as the function of what f depends on."""
    level, matrix = stop_gradient(values_of(f, found)), stop_gradient(jacfwd(lambda at: values_of(f, at))(found))
    x = found
    for _ in range(ORDERS):
        x = x - np.linalg.solve(matrix, values_of(f, x) - level)
    return roots(x)


def solved(f, x0, xtol, factor, most):
    start = np.atleast_1d(np.asarray(x0)) * 1.0
    limit = 200 * (start.size + 1) if most == 0 else most
    found, is_root, calls = stop_gradient(searched(f, start, xtol, factor, limit))
    return moving_together(f, found), is_root, calls


@decomposition(so.fsolve)
def fsolve(
    func,
    x0,
    args=(),
    fprime=None,
    full_output=0,
    col_deriv=0,
    xtol=1.49012e-8,
    maxfev=0,
    band=None,
    epsfcn=None,
    factor=100,
    diag=None,
):
    """Of a function's own derivatives `fprime` is not asked: they are there."""
    if full_output:
        raise NotImplementedError("scipy.optimize.fsolve with full_output: leave it out, or write root")
    if diag is not None:
        raise NotImplementedError("scipy.optimize.fsolve with diag: leave it out")
    return solved(with_arguments(func, args), x0, xtol, factor, maxfev)[0]


@dataclass(frozen=True)
class OptimizeResult:
    """What root returns."""

    x: Any
    success: Any
    fun: Any
    nfev: Any


@decomposition(so.root)
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    if method != "hybr" and method != "lm":
        raise NotImplementedError("scipy.optimize.root with this method: adjit knows hybr and lm")
    if callback is not None:
        raise NotImplementedError("scipy.optimize.root with a callback: leave it out")
    whole = with_arguments(fun, args)
    f = (lambda x: whole(x)[0]) if jac is not None and not callable(jac) and jac else whole
    asked = {} if options is None else options
    within = asked.get("xtol", 1.49012e-8 if tol is None else tol)
    x, is_root, calls = solved(f, x0, within, asked.get("factor", 100.0), asked.get("maxfev", 0))
    return OptimizeResult(x, is_root, values_of(f, x), calls)
