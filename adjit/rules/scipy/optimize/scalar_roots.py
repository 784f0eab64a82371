"""Roots of functions of a number: brentq, brenth, bisect, ridder, newton and root_scalar.

In: the arguments of the function of scipy.optimize. Out: what it returns. The search is SciPy's (Brent, Algorithms for
Minimization without Derivatives, 1973, chapter 4; Ridders 1979; secants, and the methods of Newton and Halley), with
nothing differentiated. From where it ends, the root moves as the implicit function theorem says, so that the function
keeps the value that it has there: a step of Newton's method each for the first, the second and the third derivative,
which leave the value of the root as it is.

    x = brentq(f, a, b)      x = stop_gradient(search(f, a, b)); level = stop_gradient(f(x))
                             three times: x = x - (f(x) - level) / stop_gradient(f'(x))
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.optimize as so

from adjit.rules.registry import Maker, builtin
from adjit.runtime.library.hints import stop_gradient

decomposition, partials = builtin.decomposition, builtin.partials
grad, jvp = Maker("grad"), Maker("jvp")

ORDERS = 3  # of the derivatives that roots have; a fourth is refused, as `root_third_derivative` has no rule
LEAST = 4 * np.finfo(np.float64).eps  # of `rtol`

# -------------------------------------------------------------------------------------- how a root that is found moves


@numba.njit
def root(x):
    """x, which has derivatives of so many orders as the steps that made it."""
    return x


@numba.njit
def root_derivative(x):
    """The derivative of `root`, 1, which knows its order, as the next two do."""
    return 1.0


@numba.njit
def root_second_derivative(x):
    return 0.0


@numba.njit
def root_third_derivative(x):
    return 0.0


partials(root, lambda x: root_derivative(x))
partials(root_derivative, lambda x: root_second_derivative(x))
partials(root_second_derivative, lambda x: root_third_derivative(x))
builtin.without_rule(root_third_derivative)


def moving(f, found):
    """The root of f that was found, as the function of what f depends on."""
    level, slope = stop_gradient(f(found)), stop_gradient(grad(f)(found))
    if slope == 0.0:
        raise ValueError("a root has no derivative where the derivative of the function is zero")
    x = found
    for _ in range(ORDERS):
        x = x - (f(x) - level) / slope
    return root(x)


def moving_each(f, found):
    """The same of an array of roots, each of its own element of f."""
    level, change = jvp(f, (found,), (np.ones_like(found),))
    level, slope = stop_gradient(level), stop_gradient(change)
    if np.any(slope == 0.0):
        raise ValueError("a root has no derivative where the derivative of the function is zero")
    x = found
    for _ in range(ORDERS):
        x = x - (f(x) - level) / slope
    return roots(x)


def roots(x):
    """`root` of each element."""
    made = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        made[k] = root(x[k])
    return made


# ------------------------------------------------------------------------------------------------------------- searches


def checked(value):
    if value != value:
        raise ValueError("The function value is NaN; solver cannot continue.")
    return value


def at_ends(f, a, b):
    """f at both ends, of which one at least is not on the side of the other."""
    ends, values = np.array([a, b]), np.zeros(2)
    for k in range(2):
        values[k] = checked(f(ends[k]))
    if values[0] * values[1] > 0.0:
        raise ValueError("f(a) and f(b) must have different signs")
    return values[0], values[1]


def by_brent(f, a, b, xtol, rtol, most, is_hyperbolic):
    """The root between a and b, whether it is that, and after how many trips and evaluations."""
    before, x = a, b
    f_before, f_x = at_ends(f, a, b)
    if f_before == 0.0:
        return before, True, 0, 2
    if f_x == 0.0:
        return x, True, 0, 2
    other, f_other, last, step = 0.0, 0.0, 0.0, 0.0
    for k in range(most):
        if f_before != 0.0 and f_x != 0.0 and (f_before < 0.0) != (f_x < 0.0):
            other, f_other = before, f_before
            last = step = x - before
        if abs(f_other) < abs(f_x):
            before, f_before, x, f_x, other, f_other = x, f_x, other, f_other, x, f_x
        within = 0.5 * (xtol + rtol * abs(x))
        half = 0.5 * (other - x)
        if f_x == 0.0 or abs(half) < within:
            return x, True, k + 1, k + 2
        is_short = False
        if abs(last) > within and abs(f_x) < abs(f_before):
            if before == other:
                tried = -f_x * (x - before) / (f_x - f_before)
            else:
                of_before = (f_before - f_x) / (before - x)
                of_other = (f_other - f_x) / (other - x)
                if is_hyperbolic:
                    tried = -f_x * (f_other - f_before) / (f_other * of_before - f_before * of_other)
                else:
                    top = f_other * of_other - f_before * of_before
                    tried = -f_x * top / (of_other * of_before * (f_other - f_before))
            is_short = 2.0 * abs(tried) < min(abs(last), 3.0 * abs(half) - within)
            if is_short:
                last, step = step, tried
        if not is_short:
            last = step = half
        before, f_before = x, f_x
        x = x + (step if abs(step) > within else within if half > 0.0 else -within)
        f_x = checked(f(x))
    return x, False, most, most + 2


def by_halves(f, a, b, xtol, rtol, most):
    f_a, f_b = at_ends(f, a, b)
    if f_a == 0.0:
        return a, True, 0, 2
    if f_b == 0.0:
        return b, True, 0, 2
    low, width = a, b - a
    for k in range(most):
        width = 0.5 * width
        middle = low + width
        value = checked(f(middle))
        if (value < 0.0) == (f_a < 0.0):
            low = middle
        if value == 0.0 or abs(width) < xtol + rtol * abs(middle):
            return middle, True, k + 1, k + 3
    return low, False, most, most + 2


def by_ridders(f, a, b, xtol, rtol, most):
    f_a, f_b = at_ends(f, a, b)
    if f_a == 0.0:
        return a, True, 0, 2
    if f_b == 0.0:
        return b, True, 0, 2
    places, values, x = np.zeros(2), np.zeros(2), a
    for k in range(most):
        half = 0.5 * (b - a)
        places[0] = a + half
        within = xtol + rtol * abs(x)
        for j in range(2):
            values[j] = checked(f(places[j]))
            if j == 0:
                move = np.sign(f_b - f_a) * half * values[0] / np.sqrt(values[0] ** 2 - f_a * f_b)
                places[1] = places[0] - np.sign(move) * min(abs(move), abs(half) - 0.5 * within)
        x, f_x = places[1], values[1]
        if (values[0] < 0.0) != (f_x < 0.0):
            a, f_a, b, f_b = x, f_x, places[0], values[0]
        elif (f_x < 0.0) != (f_a < 0.0):
            b, f_b = x, f_x
        else:
            a, f_a = x, f_x
        within = xtol + rtol * abs(x)
        if f_x == 0.0 or abs(b - a) < within:
            return x, True, k + 1, 2 * k + 4
    return x, False, most, 2 * most + 2


def is_near(x, y, tol, rtol):
    return abs(x - y) <= tol + rtol * abs(y)


def by_slopes(f, slope_of, curvature_of, x, tol, rtol, most):
    """By Newton's method, or, with second derivatives, Halley's."""
    for k in range(most):
        value = f(x)
        if value == 0.0:
            return x, True, k, 2 * k + 1
        slope = slope_of(x)
        if slope == 0.0:
            return x, False, k + 1, 2 * k + 2
        step = value / slope
        if curvature_of is not None:
            share = 0.5 * step * curvature_of(x) / slope
            step = step / (1.0 - share) if abs(share) < 1.0 else step
        if is_near(x - step, x, tol, rtol):
            return x - step, True, k + 1, 2 * k + 2
        x = x - step
    return x, False, most, 2 * most


def by_secants(f, start, second, tol, rtol, most):
    if second is None:
        after = start * (1.0 + 1e-4)
        after = after + 1e-4 if after >= 0.0 else after - 1e-4
    else:
        after = float(second)
        if after == start:
            raise ValueError("x1 and x0 must be different")
    places, values = np.array([start, after]), np.zeros(2)
    for k in range(2):
        values[k] = f(places[k])
    old, x, f_old, f_x = start, after, values[0], values[1]
    if abs(f_x) < abs(f_old):
        old, x, f_old, f_x = x, old, f_x, f_old
    for k in range(most):
        if f_x == f_old:
            return 0.5 * (x + old), x == old, k + 1, k + 2
        if abs(f_x) > abs(f_old):
            new = (-f_old / f_x * x + old) / (1.0 - f_old / f_x)
        else:
            new = (-f_x / f_old * old + x) / (1.0 - f_x / f_old)
        if is_near(new, x, tol, rtol):
            return new, True, k + 1, k + 2
        old, f_old, x = x, f_x, new
        f_x = f(x)
    return x, False, most, most + 2


def by_slopes_each(f, slope_of, curvature_of, x, tol, most):
    """Newton's or Halley's method of arrays, until all have come to rest."""
    is_done = np.zeros(x.shape, np.bool_)
    for _ in range(most):
        values, slopes = f(x), slope_of(x)
        if not np.any(values):
            return x, np.ones(x.shape, np.bool_)
        steps = np.where(slopes != 0.0, values / np.where(slopes != 0.0, slopes, 1.0), 0.0)
        if curvature_of is not None:
            steps = steps / (1.0 - 0.5 * steps * curvature_of(x) / np.where(slopes != 0.0, slopes, 1.0))
        x = x - steps
        is_done = (np.abs(steps) < tol) & (slopes != 0.0)
        if np.all(is_done | (slopes == 0.0)):
            return x, is_done
    return x, is_done


def by_secants_each(f, start, tol, most):
    width = np.finfo(np.float64).eps ** 0.33
    old, x = start, start * (1.0 + width) + np.where(start >= 0.0, width, -width)
    f_old, f_x = f(old), f(x)
    rests = np.zeros(x.shape, np.bool_)
    for _ in range(most):
        moves = f_x != f_old
        steps = np.where(moves, f_x * (x - old) / np.where(moves, f_x - f_old, 1.0), 0.5 * (x - old))
        old, x = x, x - steps
        rests = (np.abs(steps) < tol) | ~moves
        if np.all(rests):
            return x, (np.abs(steps) < tol)
        f_old = f_x
        f_x = f(x)
    return x, rests


# ------------------------------------------------------------------------------------------------------- what is called


@dataclass(frozen=True)
class RootResults:
    """What root_scalar returns, and the others with full_output."""

    root: Any
    iterations: Any
    function_calls: Any
    converged: Any
    flag: Any
    method: Any


def with_arguments(f, args):
    return (lambda x: f(x, *args)) if isinstance(args, tuple) else (lambda x: f(x, args))


def between(f, a, b, xtol, rtol, most, method):
    """The root that a method finds between a and b, whether it is that, and what it took."""
    if xtol <= 0.0:
        raise ValueError("xtol too small")
    if rtol < LEAST:
        raise ValueError("rtol too small")
    low, high = float(a), float(b)
    if method == "bisect":
        return stop_gradient(by_halves(f, low, high, xtol, rtol, most))
    if method == "ridder":
        return stop_gradient(by_ridders(f, low, high, xtol, rtol, most))
    return stop_gradient(by_brent(f, low, high, xtol, rtol, most, method == "brenth"))


def given_out(f, found, is_root, trips, calls, full_output, disp, method):
    if disp and not is_root:
        raise RuntimeError("Failed to converge: maxiter is reached, or a slope is zero")
    x = moving(f, found)
    if full_output:
        return x, RootResults(x, trips, calls, is_root, "converged" if is_root else "convergence error", method)
    return x


def in_an_interval(method):
    """The function of scipy.optimize that has the name of this method."""

    def found(f, a, b, args=(), xtol=2e-12, rtol=LEAST, maxiter=100, full_output=False, disp=True):
        own = with_arguments(f, args)
        return given_out(own, *between(own, a, b, xtol, rtol, maxiter, method), full_output, disp, method)

    return found


for _search in (so.brentq, so.brenth, so.bisect, so.ridder):
    decomposition(_search)(in_an_interval(_search.__name__))


@decomposition(so.toms748)
def toms748(*given, **named):
    raise NotImplementedError("scipy.optimize.toms748: write brentq, which finds a root in the same interval")


def from_start(f, start, slope_of, curvature_of, second, tol, rtol, most):
    """The root that is found from a start on, by slopes where they are given, else by secants."""
    if slope_of is None:
        return stop_gradient(by_secants(f, start, second, tol, rtol, most))
    return stop_gradient(by_slopes(f, slope_of, curvature_of, start, tol, rtol, most))


@decomposition(so.newton)
def newton(
    func,
    x0,
    fprime=None,
    args=(),
    tol=1.48e-8,
    maxiter=50,
    fprime2=None,
    x1=None,
    rtol=0.0,
    full_output=False,
    disp=True,
):
    f = with_arguments(func, args)
    slope_of = None if fprime is None else with_arguments(fprime, args)
    curvature_of = None if fprime2 is None else with_arguments(fprime2, args)
    if np.ndim(x0) == 0:
        found = from_start(f, float(x0), slope_of, curvature_of, x1, tol, rtol, maxiter)
        return given_out(f, *found, full_output, disp, "secant" if fprime is None else "newton")
    if full_output:
        raise NotImplementedError("scipy.optimize.newton of an array with full_output: leave it out")
    start = np.asarray(x0) * 1.0
    if slope_of is None:
        places, is_root = stop_gradient(by_secants_each(f, start, tol, maxiter))
    else:
        places, is_root = stop_gradient(by_slopes_each(f, slope_of, curvature_of, start, tol, maxiter))
    if not np.any(is_root):
        raise RuntimeError("some failed to converge: maxiter is reached, or a slope is zero")
    return moving_each(f, places)


def first_of(f):
    return lambda x: f(x)[0]


def own_slope(f, fprime, args):
    """The slopes that the caller gives: by a function, or, with True, by what f gives beside its value."""
    if callable(fprime):
        return with_arguments(fprime, args)
    return lambda x: f(x)[1]


@decomposition(so.root_scalar)
def root_scalar(
    f,
    args=(),
    method=None,
    bracket=None,
    fprime=None,
    fprime2=None,
    x0=None,
    x1=None,
    xtol=None,
    rtol=None,
    maxiter=None,
    options=None,
):
    asked = {} if options is None else options
    xtol, rtol, maxiter = asked.get("xtol", xtol), asked.get("rtol", rtol), asked.get("maxiter", maxiter)
    whole = with_arguments(f, args)
    gives_slope = fprime is not None and not callable(fprime)
    gives_curvature = fprime2 is not None and not callable(fprime2)
    own = first_of(whole) if gives_slope or gives_curvature else whole
    if method is None:
        if bracket is not None:
            used = "brentq"
        elif x0 is None:
            raise ValueError("Unable to select a solver as neither bracket nor starting point provided.")
        elif fprime is not None:
            used = "newton" if fprime2 is None else "halley"
        else:
            used = "newton" if x1 is None else "secant"
    else:
        used = method.lower()
    if used in ("bisect", "ridder", "brentq", "brenth"):
        within, share = 2e-12 if xtol is None else xtol, LEAST if rtol is None else rtol
        most = 100 if maxiter is None else maxiter
        found = between(own, bracket[0], bracket[1], within, share, most, used)
        return given_out(own, *found, True, False, used)[1]
    if used not in ("secant", "newton", "halley"):
        raise NotImplementedError("scipy.optimize.root_scalar with this method: use brentq")
    within, share = 1.48e-8 if xtol is None else xtol, 0.0 if rtol is None else rtol
    slope_of, curvature_of = None, None
    if used != "secant":
        slope_of = grad(own) if fprime is None and fprime2 is None else own_slope(whole, fprime, args)
    if used == "halley":
        curvature_of = with_arguments(fprime2, args) if callable(fprime2) else (lambda x: whole(x)[2])
    found = from_start(own, float(x0), slope_of, curvature_of, x1, within, share, 50 if maxiter is None else maxiter)
    return given_out(own, *found, True, False, used)[1]
