"""Initial value problems: solve_ivp by explicit Runge-Kutta methods, and odeint.

In: the arguments of the function of scipy.integrate. Out: what it returns. The steps are SciPy's own (Hairer, Norsett,
Wanner, Solving Ordinary Differential Equations I, II.4 and II.5), and are found first, with nothing differentiated; the
solution is then made again on them. So a derivative is that of the method on these steps, without how they would move,
which is less than the tolerance; it needs no tape of the search, and is itself exact.

    s = solve_ivp(f, (t0, t1), y0)   times = stop_gradient(steps of f);  for each of them y = y + h * (b[0] * k[0] + ..)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate as si
from scipy.integrate import DOP853, RK23, RK45

from adjit.rules.registry import builtin
from adjit.runtime.library.hints import stop_gradient

decomposition = builtin.decomposition

_DONE = "The solver successfully reached the end of the integration interval."
_TOO_SMALL = "Required step size is less than spacing between numbers."


@dataclass(frozen=True)
class Method:
    """An explicit Runge-Kutta method: its tableau, what estimates its errors, and what interpolates."""

    a: Any
    b: Any
    c: Any
    order: Any  # of the error estimate
    e: Any = None  # the weights of its error
    p: Any = None  # of the interpolant, power by power
    e3: Any = None  # the two error estimates of DOP853
    e5: Any = None
    more_a: Any = None  # the further stages of its interpolant
    more_c: Any = None
    d: Any = None


def made(solver, **more):
    return Method(solver.A, solver.B, solver.C, solver.error_estimator_order, **more)


_RK23 = made(RK23, e=RK23.E, p=RK23.P)
_RK45 = made(RK45, e=RK45.E, p=RK45.P)
_DOP853 = made(DOP853, e3=DOP853.E3, e5=DOP853.E5, more_a=DOP853.A_EXTRA, more_c=DOP853.C_EXTRA, d=DOP853.D)


def method_of(method):
    if method == "RK45" or method is RK45:
        return _RK45
    if method == "DOP853" or method is DOP853:
        return _DOP853
    if method == "RK23" or method is RK23:
        return _RK23
    raise NotImplementedError(
        "scipy.integrate.solve_ivp with this method: adjit knows RK45, RK23 and DOP853"
    )


# ------------------------------------------------------------------------------------------------------------ one step


def rate(f, t, y):
    return np.asarray(f(t, y)) * 1.0


def stages(f, t, y, first, h, method, size):
    """The slopes at the stages of a step, one a row; the last one is that at its end, for which a row is left."""
    k = np.zeros((size, y.size), y.dtype)
    k[0] = first
    for s in range(1, method.c.size):
        move = np.zeros(y.size, y.dtype)
        for j in range(s):
            move += method.a[s, j] * k[j]
        k[s] = rate(f, t + method.c[s] * h, y + move * h)
    return k


def moved(y, k, h, method):
    total = np.zeros(y.size, y.dtype)
    for s in range(method.b.size):
        total += method.b[s] * k[s]
    return y + h * total


def weighted(weights, k):
    total = np.zeros(k.shape[1], k.dtype)
    for s in range(weights.size):
        total += weights[s] * k[s]
    return total


def size_of(x):
    """The root of the mean square."""
    total = 0.0
    for i in range(x.size):
        total += abs(x[i]) ** 2
    return (total / x.size) ** 0.5


def error_of(k, h, scale, method):
    if method.e3 is None:
        return size_of(weighted(method.e, k) * h / scale)
    error5, error3 = size_of(weighted(method.e5, k) / scale), size_of(weighted(method.e3, k) / scale)
    if error5 == 0.0 and error3 == 0.0:
        return 0.0
    return abs(h) * error5**2 / (error5**2 + 0.01 * error3**2) ** 0.5


# --------------------------------------------------------------------------------------------------- the steps it takes


def first_width(f, t0, y0, tf, max_step, first, order, rtol, atol):
    length, direction = abs(tf - t0), 1.0 if tf >= t0 else -1.0
    if length == 0.0:
        return 0.0
    scale = atol + np.abs(y0) * rtol
    of_value, of_slope = size_of(y0 / scale), size_of(first / scale)
    small = 1e-6 if of_value < 1e-5 or of_slope < 1e-5 else 0.01 * of_value / of_slope
    small = min(small, length)
    ahead = rate(f, t0 + small * direction, y0 + small * direction * first)
    of_change = size_of((ahead - first) / scale) / small
    if of_slope <= 1e-15 and of_change <= 1e-15:
        width = max(1e-6, small * 1e-3)
    else:
        width = (0.01 / max(of_slope, of_change)) ** (1.0 / (order + 1))
    return min(100.0 * small, width, length, max_step)


def steps_of(f, t0, tf, y0, method, rtol, atol, max_step, first_step, most):
    """The times between which it steps, `t0` first; the last is not `tf` where steps would be smaller than roundings.

    RuntimeError where it would take more than so many steps.
    """
    y, t = y0.copy(), t0
    slope = rate(f, t, y)
    direction = 1.0 if tf >= t0 else -1.0
    width = first_step
    if first_step is None:
        width = first_width(f, t0, y, tf, max_step, slope, method.order, rtol, atol)
    power = -1.0 / (method.order + 1)
    times = [t]
    failed = False
    while not failed and direction * (t - tf) < 0:
        least = 10.0 * abs(np.nextafter(t, direction * np.inf) - t)
        width = min(max(width, least), max(max_step, least))
        accepted, rejected = False, False
        while not accepted and not failed:
            if width < least:
                failed = True
            else:
                end = t + width * direction
                if direction * (end - tf) > 0:
                    end = tf
                h = end - t
                width = abs(h)
                k = stages(f, t, y, slope, h, method, method.c.size + 1)
                new = moved(y, k, h, method)
                k[method.c.size] = rate(f, t + h, new)
                error = error_of(k, h, atol + np.maximum(np.abs(y), np.abs(new)) * rtol, method)
                if error < 1.0:
                    factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error**power)
                    width *= min(1.0, factor) if rejected else factor
                    y, t, slope = new, end, k[method.c.size].copy()
                    accepted = True
                else:
                    width *= max(0.2, 0.9 * error**power)
                    rejected = True
        if accepted:
            times.append(t)
            if len(times) > most:
                raise RuntimeError("too many steps of an explicit Runge-Kutta method: is the problem stiff?")
    return np.array(times)


# -------------------------------------------------------------------------------------------------- between two of them


def powers(f, t, y, k, h, new, method):
    """What interpolates over a step, one term a row: of powers (RK23, RK45), or of nested products (DOP853)."""
    if method.p is not None:
        out = np.zeros((method.p.shape[1], y.size), y.dtype)
        for m in range(method.p.shape[1]):
            out[m] = h * weighted(method.p[:, m].copy(), k)
        return out
    last = method.c.size + 1
    for s in range(method.more_c.size):
        move = np.zeros(y.size, y.dtype)
        for j in range(last + s):
            move += method.more_a[s, j] * k[j]
        k[last + s] = rate(f, t + method.more_c[s] * h, y + move * h)
    out = np.zeros((7, y.size), y.dtype)
    out[0] = new - y
    out[1] = h * k[0] - (new - y)
    out[2] = 2.0 * (new - y) - h * (k[last - 1] + k[0])
    for m in range(method.d.shape[0]):
        out[3 + m] = h * weighted(method.d[m], k)
    return out


def between(y, terms, x, method):
    """The solution at a share `x` of a step."""
    if method.p is not None:
        found, power = y.copy(), x
        for m in range(terms.shape[0]):
            found = found + terms[m] * power
            power = power * x
        return found
    found = np.zeros(y.size, y.dtype)
    for m in range(terms.shape[0]):
        found = (found + terms[terms.shape[0] - 1 - m]) * (x if m % 2 == 0 else 1.0 - x)
    return y + found


def stages_of(method, interpolates):
    return method.c.size + 1 + (method.more_c.size if interpolates and method.more_c is not None else 0)


def on_steps(f, t0, tf, y0, times, method):
    """The solution at the end of each step, one a row."""
    out = np.zeros((times.size, y0.size), y0.dtype)
    y, last = y0.copy(), times.size - 1
    slope = rate(f, t0, y)
    out[0] = y
    for n in range(last):
        t, end = t0 if n == 0 else times[n], tf if n == last - 1 else times[n + 1]
        h = end - t
        k = stages(f, t, y, slope, h, method, method.c.size)
        y = moved(y, k, h, method)
        slope = rate(f, end, y)
        out[n + 1] = y
    return out


def at_times(f, t0, tf, y0, times, places, method):
    """The solution at places, which lie in the order of the steps, one a row."""
    out = np.zeros((places.size, y0.size), y0.dtype)
    y, last, at = y0.copy(), times.size - 1, 0
    slope = rate(f, t0, y)
    direction = 1.0 if tf >= t0 else -1.0
    for n in range(last):
        t, end = t0 if n == 0 else times[n], tf if n == last - 1 else times[n + 1]
        h = end - t
        k = stages(f, t, y, slope, h, method, stages_of(method, True))
        new = moved(y, k, h, method)
        slope = rate(f, end, new)
        k[method.c.size] = slope
        first = at
        while at < places.size and direction * (stop_gradient(places[at]) - times[n + 1]) <= 0:
            at += 1
        if at > first:
            terms = powers(f, t, y, k, h, new, method)
            for q in range(first, at):
                out[q] = between(y, terms, (places[q] - t) / h, method)
        y = new
    for q in range(at, places.size):
        # without a step there is the start alone
        out[q] = y
    return out


#------------------------------------------------------------------------------------------------------- what is called


@dataclass(frozen=True)
class Solution:
    """What solve_ivp returns."""

    t: Any
    y: Any
    status: Any
    message: Any
    success: Any
    sol: Any = None
    t_events: Any = None
    y_events: Any = None
    njev: Any = 0
    nlu: Any = 0


def not_below_rounding(rtol):
    return np.maximum(rtol, 100 * np.finfo(np.float64).eps)


@decomposition(si.solve_ivp)
def solve_ivp(
    fun,
    t_span,
    y0,
    method="RK45",
    t_eval=None,
    dense_output=False,
    events=None,
    vectorized=False,
    args=None,
    rtol=1e-3,
    atol=1e-6,
    max_step=np.inf,
    first_step=None,
):
    if events is not None:
        raise NotImplementedError("scipy.integrate.solve_ivp with events: step by a loop, and stop it by `break`")
    if dense_output:
        raise NotImplementedError("scipy.integrate.solve_ivp with dense_output: give the times as t_eval")
    if vectorized:
        raise NotImplementedError("scipy.integrate.solve_ivp with vectorized=True: leave it out")
    used = method_of(method)
    f = fun if args is None else (lambda t, y: fun(t, y, *args))
    t0, tf = float(t_span[0]), float(t_span[1])
    start = np.asarray(y0) * 1.0
    within = not_below_rounding(rtol)
    times = stop_gradient(steps_of(f, t0, tf, start, used, within, np.asarray(atol), max_step, first_step, np.inf))
    reached = times[times.size - 1]
    ended = reached == stop_gradient(tf)
    end = tf if ended else reached
    message = _DONE if ended else _TOO_SMALL
    status = 0 if ended else -1
    if t_eval is None:
        places = times.copy()
        places[0] = t0
        if times.size > 1:
            places[times.size - 1] = end
        return Solution(places, on_steps(f, t0, end, start, times, used).T, status, message, ended)
    places = np.asarray(t_eval) * 1.0
    direction = 1.0 if tf >= t0 else -1.0
    for q in range(places.size):
        if direction * (places[q] - t0) < 0 or direction * (places[q] - tf) > 0:
            raise ValueError("Values in `t_eval` are not within `t_span`.")
        if q > 0 and direction * (places[q] - places[q - 1]) <= 0:
            raise ValueError("Values in `t_eval` are not properly sorted.")
    known = 0
    for q in range(places.size):
        if direction * (places[q] - reached) <= 0:
            known += 1
    places = places[:known].copy()
    return Solution(places, at_times(f, t0, end, start, times, places, used).T, status, message, ended)


@decomposition(si.odeint)
def odeint(
    func,
    y0,
    t,
    args=(),
    Dfun=None,
    col_deriv=0,
    full_output=0,
    ml=None,
    mu=None,
    rtol=None,
    atol=None,
    tcrit=None,
    h0=0.0,
    hmax=0.0,
    hmin=0.0,
    ixpr=0,
    mxstep=0,
    mxhnil=0,
    mxordn=12,
    mxords=5,
    printmessg=0,
    tfirst=False,
):
    """By DOP853 in the place of LSODA, to a hundredth of the tolerance: what is solved is the same, within it."""
    if full_output:
        raise NotImplementedError("scipy.integrate.odeint with full_output: leave it out")
    f = (lambda s, y: func(s, y, *args)) if tfirst else (lambda s, y: func(y, s, *args))
    places = np.asarray(t) * 1.0
    start = np.atleast_1d(np.asarray(y0)) * 1.0
    first, last = places[0], places[places.size - 1]
    within = not_below_rounding(0.01 * (1.49012e-8 if rtol is None else rtol))
    allowed = 0.01 * np.asarray(1.49012e-8 if atol is None else atol)
    widest = np.inf if hmax == 0.0 else hmax
    most = 500 * places.size + 10000
    times = stop_gradient(steps_of(f, first, last, start, _DOP853, within, allowed, widest, None, most))
    if times[times.size - 1] != stop_gradient(last):
        raise RuntimeError("steps of an explicit Runge-Kutta method became too small: is the problem stiff?")
    return at_times(f, first, last, start, times, places, _DOP853)
