"""Minima of functions of a number: minimize_scalar, brent and fminbound; and what of minimisation is refused.

In: the arguments of the function of scipy.optimize. Out: what it returns. The search is Brent's (Algorithms for
Minimization without Derivatives, 1973, chapter 5) on what brackets a minimum, as SciPy has it, with nothing
differentiated. From where it ends, the minimum moves so that the derivative keeps the value that it has there; one at
a bound, where the function falls towards it, moves with the bound.

    x = minimize_scalar(f).x      x = stop_gradient(search(f)); level = stop_gradient(f'(x))
                                  three times: x = x - (f'(x) - level) / stop_gradient(f''(x))
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize as so

from adjit.rules.registry import Maker, builtin
from adjit.rules.scipy.optimize.scalar_roots import ORDERS, root, with_arguments
from adjit.runtime.library.hints import stop_gradient

decomposition = builtin.decomposition
grad = Maker("grad")

SHARE = 0.3819660  # of the golden section
ROUNDING = np.sqrt(2.2e-16)


def moving(f, found):
    """The minimum that was found inside, as the function of what f depends on."""
    level, curvature = stop_gradient(grad(f)(found)), stop_gradient(grad(grad(f))(found))
    if curvature == 0.0:
        raise ValueError("a minimum has no derivative where the second derivative of the function is zero")
    x = found
    for _ in range(ORDERS):
        x = x - (grad(f)(x) - level) / curvature
    return root(x)


def within(f, found, low, high, tolerance):
    """The same of a minimum between bounds."""
    slope = stop_gradient(grad(f)(found))
    if found - stop_gradient(low) <= tolerance and slope > 0.0:
        return low + (found - stop_gradient(low))
    if stop_gradient(high) - found <= tolerance and slope < 0.0:
        return high - (stop_gradient(high) - found)
    return moving(f, found)


# ------------------------------------------------------------------------------------------------------------- searches


def bracketed(f, a, b):
    """Three places of which the middle one is the lowest, found downhill by parabolas; and how often f ran."""
    places, values = np.array([a, b, 0.0]), np.zeros(3)
    for k in range(3):
        if k == 2:
            if values[0] < values[1]:
                places[0], places[1] = places[1], places[0]
                values[0], values[1] = values[1], values[0]
            places[2] = places[1] + 1.618034 * (places[1] - places[0])
        values[k] = f(places[k])
    (a, b, c), (f_a, f_b, f_c) = places, values
    calls, trips, is_done = 3, 0, False
    while f_c < f_b and not is_done:
        one, other = (b - a) * (f_b - f_c), (b - c) * (f_b - f_a)
        bend = 2.0 * (other - one) if abs(other - one) >= 1e-21 else 2e-21
        new = b - ((b - c) * other - (b - a) * one) / bend
        last = b + 110.0 * (c - b)
        if trips > 1000:
            raise RuntimeError("no bracket of a minimum was found: try other initial points")
        trips += 1
        is_between = (new - c) * (b - new) > 0.0
        is_beyond = not is_between and (new - last) * (last - c) >= 0.0
        is_ahead = not is_between and not is_beyond and (new - last) * (c - new) > 0.0
        if is_beyond:
            new = last
        elif not is_between and not is_ahead:
            new = c + 1.618034 * (c - b)
        f_new, again = 0.0, True
        while again:
            # a parabola's place is tried, and where that is not enough, one further on
            again = False
            f_new = f(new)
            calls += 1
            if is_between and f_new < f_c:
                a, b, f_a, f_b, is_done = b, new, f_b, f_new, True
            elif is_between and f_new > f_b:
                c, f_c, is_done = new, f_new, True
            elif is_between:
                new, is_between, again = c + 1.618034 * (c - b), False, True
            elif is_ahead and f_new < f_c:
                b, c, f_b, f_c = c, new, f_c, f_new
                new, is_ahead, again = c + 1.618034 * (c - b), False, True
        if not is_done:
            a, b, c, f_a, f_b, f_c = b, c, new, f_b, f_c, f_new
    is_lowest = (f_b < f_c and f_b <= f_a) or (f_b < f_a and f_b <= f_c)
    if not is_lowest or not ((a < b and b < c) or (c < b and b < a)) or not np.isfinite(a + b + c):
        raise RuntimeError("no bracket of a minimum was found: try other initial points")
    return a, b, c, f_b, calls


def by_brent(f, a, x, c, f_x, tol, most):
    low, high = min(a, c), max(a, c)
    second, third, f_second, f_third = x, x, f_x, f_x
    last, step = 0.0, 0.0
    for k in range(most):
        middle, near = 0.5 * (low + high), tol * abs(x) + 1e-11
        if abs(x - middle) < 2.0 * near - 0.5 * (high - low):
            return x, f_x, True, k
        is_golden = True
        if abs(last) > near:
            one, other = (x - second) * (f_x - f_third), (x - third) * (f_x - f_second)
            p, q = (x - third) * other - (x - second) * one, 2.0 * (other - one)
            p, q = (-p, q) if q > 0.0 else (p, -q)
            before = last
            last = step
            if p > q * (low - x) and p < q * (high - x) and abs(p) < abs(0.5 * q * before):
                step, is_golden = p / q, False
                if x + step - low < 2.0 * near or high - x - step < 2.0 * near:
                    step = near if middle >= x else -near
        if is_golden:
            last = low - x if x >= middle else high - x
            step = SHARE * last
        u = x + (step if abs(step) >= near else near if step >= 0.0 else -near)
        f_u = f(u)
        if f_u > f_x:
            if u < x:
                low = u
            else:
                high = u
            if f_u <= f_second or second == x:
                third, second, f_third, f_second = second, u, f_second, f_u
            elif f_u <= f_third or third in (x, second):
                third, f_third = u, f_u
        else:
            if u >= x:
                low = x
            else:
                high = x
            third, second, x, f_third, f_second, f_x = second, x, u, f_second, f_x, f_u
    return x, f_x, False, most


def between(f, low, high, tolerance, most):
    """The minimum between bounds, the value there, whether it came to rest, and how often f was evaluated."""
    share = 0.5 * (3.0 - np.sqrt(5.0))
    x = low + share * (high - low)
    second, third, step, last = x, x, 0.0, 0.0
    f_x = f(x)
    f_second, f_third, calls = f_x, f_x, 1
    middle, near = 0.5 * (low + high), ROUNDING * abs(x) + tolerance / 3.0
    while abs(x - middle) > 2.0 * near - 0.5 * (high - low):
        is_golden = True
        if abs(last) > near:
            r, q = (x - second) * (f_x - f_third), (x - third) * (f_x - f_second)
            p, q = (x - third) * q - (x - second) * r, 2.0 * (q - r)
            p, q = (-p, q) if q > 0.0 else (p, -q)
            before, last = last, step
            if abs(p) < abs(0.5 * q * before) and p > q * (low - x) and p < q * (high - x):
                step, is_golden = p / q, False
                if x + step - low < 2.0 * near or high - x - step < 2.0 * near:
                    step = near if middle >= x else -near
        if is_golden:
            last = low - x if x >= middle else high - x
            step = share * last
        u = x + (max(abs(step), near) if step >= 0.0 else -max(abs(step), near))
        f_u = f(u)
        calls += 1
        if f_u <= f_x:
            if u >= x:
                low = x
            else:
                high = x
            third, second, x, f_third, f_second, f_x = second, x, u, f_second, f_x, f_u
        else:
            if u < x:
                low = u
            else:
                high = u
            if f_u <= f_second or second == x:
                third, second, f_third, f_second = second, u, f_second, f_u
            elif f_u <= f_third or third in (x, second):
                third, f_third = u, f_u
        middle, near = 0.5 * (low + high), ROUNDING * abs(x) + tolerance / 3.0
        if calls >= most:
            return x, f_x, False, calls
    return x, f_x, True, calls


# ------------------------------------------------------------------------------------------------------- what is called


@dataclass(frozen=True)
class OptimizeResult:
    """What minimize_scalar returns."""

    x: Any
    fun: Any
    success: Any
    nfev: Any
    nit: Any


def start_of(f, bracket):
    """A bracket of a minimum: of three places that are one, or from two, by default 0 and 1, downhill."""
    if bracket is None:
        return bracketed(f, 0.0, 1.0)
    if len(bracket) == 2:
        return bracketed(f, float(bracket[0]), float(bracket[1]))
    a, b, c = float(bracket[0]), float(bracket[1]), float(bracket[2])
    low, high = min(a, c), max(a, c)
    f_low, f_b, f_high = f(low), f(b), f(high)
    if not (low < b and b < high and f_b < f_low and f_b < f_high):
        raise ValueError("the bracket of a minimum is not in order, or its middle is not its lowest point")
    return low, b, high, f_b, 3


def free(f, bracket, tol, most):
    a, b, c, f_b, calls = stop_gradient(start_of(f, bracket))
    found, _, is_done, trips = stop_gradient(by_brent(f, a, b, c, f_b, tol, most))
    x = moving(f, found)
    return OptimizeResult(x, f(x), is_done, calls + trips, trips)


def bounded(f, bounds, tolerance, most):
    low, high = float(bounds[0]), float(bounds[1])
    if low > high:
        raise ValueError("The lower bound exceeds the upper bound.")
    found, _, is_done, calls = stop_gradient(between(f, low, high, tolerance, most))
    x = within(f, found, low, high, 4.0 * (ROUNDING * stop_gradient(abs(found)) + tolerance / 3.0))
    return OptimizeResult(x, f(x), is_done, calls, calls)


@decomposition(so.minimize_scalar)
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    f, asked = with_arguments(fun, args), {} if options is None else options
    most = asked.get("maxiter", 500)
    used = ("brent" if bounds is None else "bounded") if method is None else method.lower()
    if used == "bounded":
        return bounded(f, bounds, asked.get("xatol", 1e-5 if tol is None else tol), most)
    if used != "brent":
        raise NotImplementedError(
            "scipy.optimize.minimize_scalar with this method: use brent, which finds the "
            "same minimum")
    return free(f, bracket, asked.get("xtol", 1.48e-8 if tol is None else tol), most)


@decomposition(so.brent)
def brent(func, args=(), brack=None, tol=1.48e-8, full_output=0, maxiter=500):
    if full_output:
        raise NotImplementedError("scipy.optimize.brent with full_output: write minimize_scalar")
    return free(with_arguments(func, args), brack, tol, maxiter).x


@decomposition(so.fminbound)
def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, disp=1):
    if full_output:
        raise NotImplementedError("scipy.optimize.fminbound with full_output: write minimize_scalar")
    return bounded(with_arguments(func, args), (x1, x2), xtol, maxfun).x


@decomposition(so.minimize, so.least_squares, so.leastsq, so.curve_fit, so.linprog, so.nnls)
def of_several(*given, **named):
    raise NotImplementedError("a fit or a minimum by SciPy: write fsolve of its equation, or use adjit.implicit")
