"""Splines and linear interpolation of scipy.interpolate: objects that are made of samples, and called at places.

In: samples, and places. Out: values of the piecewise polynomial. What is made inside of a program is one of the classes
here, with the methods that it has; what was made before, by SciPy, is read where it is called.

    CubicSpline(x, y)(t)      c = coefficients(x, y, ..);  c[3, k] + c[2, k] (t - x[k]) + ..
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from adjit.rules.registry import builtin
from adjit.rules.triangular import banded_solve

decomposition = builtin.decomposition

# --------------------------------------------------------------------------------------------- piecewise polynomials


def at_place(x, c, place, nu, extrapolate):
    """The derivative of order `nu`, with the coefficients c[m, k] of (t - x[k]) ** (degree - m) from x[k] on."""
    k = min(max(np.searchsorted(x, place, side="right") - 1, 0), x.size - 2)
    step, degree = place - x[k], c.shape[0] - 1
    found = 0.0
    for m in range(degree + 1 - nu):
        factor = 1.0
        for q in range(nu):
            factor *= degree - m - q
        found = found * step + factor * c[m, k]
    return found if extrapolate else np.where((place < x[0]) | (place > x[x.size - 1]), np.nan, found)


def at_places(x, c, places, nu, extrapolate):
    if nu < 0:
        raise NotImplementedError("a spline's antiderivative: integrate(a, b) of a spline is known")
    if np.ndim(places) == 0:
        return at_place(x, c, places, nu, extrapolate)
    places = np.asarray(places)
    flat = places.ravel()
    out = np.empty(flat.size)
    for k in range(flat.size):
        out[k] = at_place(x, c, flat[k], nu, extrapolate)
    return out.reshape(places.shape)


def up_to(x, c, place):
    """The integral from the first knot to a place."""
    last = min(max(np.searchsorted(x, place, side="right") - 1, 0), x.size - 2)
    total = 0.0
    for k in range(last + 1):
        step = place - x[k] if k == last else x[k + 1] - x[k]
        part = 0.0
        for m in range(c.shape[0]):
            part = (part + c[m, k] / (c.shape[0] - m)) * step
        total += part
    return total


@dataclass(frozen=True)
class Spline:
    """A piecewise polynomial, as SciPy's `PPoly`."""

    x: Any
    c: Any
    extrapolate: Any = True
    nu: int = 0

    def __call__(self, x, nu=0, extrapolate=None):
        return at_places(self.x, self.c, x, nu + self.nu, self.extrapolate if extrapolate is None else extrapolate)

    def derivative(self, nu=1):
        return Spline(self.x, self.c, self.extrapolate, self.nu + nu)

    def integrate(self, a, b):
        if self.nu > 0:
            return at_places(self.x, self.c, b, self.nu - 1, True) - at_places(self.x, self.c, a, self.nu - 1, True)
        return up_to(self.x, self.c, b) - up_to(self.x, self.c, a)


@decomposition(si.PPoly.__call__)
def called(self, x, nu=0, extrapolate=None):
    if np.ndim(self.c) != 2:
        raise NotImplementedError("a spline of several curves: make one of each")
    if extrapolate is None:
        extrapolate = self.extrapolate
    if extrapolate == "periodic":
        raise NotImplementedError("a periodic spline: take the remainder of the place by the period first")
    return at_places(self.x, self.c, x, nu, extrapolate)


# -------------------------------------------------------------------------------------------------------- cubic splines


def end_condition(bc_type, last):
    """What holds at one end: 'not-a-knot', or the order of a derivative and its value."""
    given = bc_type[1 if last else 0] if isinstance(bc_type, tuple) else bc_type
    if given == "natural":
        return 2, 0.0
    if given == "clamped":
        return 1, 0.0
    return given


def end_row(bc, near, next_one, slope, slope_next, is_line, is_parabola):
    """At one end, of the equations for the slopes: the diagonal, the coefficient of the neighbour, the right side."""
    if bc == "not-a-knot":
        if is_line:
            return 1.0, 0.0, slope
        if is_parabola:
            return 1.0, 1.0, 2.0 * slope
        whole = near + next_one
        return next_one, whole, ((near + 2.0 * whole) * next_one * slope + near * near * slope_next) / whole
    order, value = bc
    if order == 1:
        return 1.0, 0.0, value
    return 2.0 * near, near, 3.0 * slope * near - 0.5 * value * near * near


def slopes_at_knots(x, y, first, last):
    """Of the spline with two continuous derivatives, by the tridiagonal system of de Boor 1978, chapter IV."""
    n = x.size
    h = x[1:] - x[:-1]
    slopes = (y[1:] - y[:-1]) / h
    ab, right = np.zeros((3, n)), np.zeros(n)
    for k in range(1, n - 1):
        ab[2, k - 1], ab[1, k], ab[0, k + 1] = h[k], 2.0 * (h[k - 1] + h[k]), h[k - 1]
        right[k] = 3.0 * (h[k] * slopes[k - 1] + h[k - 1] * slopes[k])
    one, is_line = min(1, n - 2), n == 2
    is_parabola = n == 3 and first == "not-a-knot" and last == "not-a-knot"
    ab[1, 0], ab[0, 1], right[0] = end_row(first, h[0], h[one], slopes[0], slopes[one], is_line, is_parabola)
    e, d = n - 2, n - 2 - one
    # from the other end, second derivatives change their sign in the equation
    turned = (last[0], -last[1]) if last != "not-a-knot" and last[0] == 2 else last
    ab[1, n - 1], ab[2, e], right[n - 1] = end_row(turned, h[e], h[d], slopes[e], slopes[d], is_line, is_parabola)
    return banded_solve(1, 1, ab, right)


def coefficients(x, y, s):
    """Of the cubics with these values and slopes at both ends of each interval."""
    h = x[1:] - x[:-1]
    c = np.empty((4, h.size))
    for k in range(h.size):
        slope = (y[k + 1] - y[k]) / h[k]
        excess = (s[k] + s[k + 1] - 2.0 * slope) / h[k]
        c[0, k], c[1, k] = excess / h[k], (slope - s[k]) / h[k] - excess
        c[2, k], c[3, k] = s[k], y[k]
    return c


def in_order(x, y):
    if x.ndim != 1 or y.ndim != 1:
        raise NotImplementedError("a spline of several curves: make one of each")
    if x.size < 2 or x.size != y.size:
        raise ValueError("`x` and `y` must have the same length, of at least 2.")
    for k in range(x.size - 1):
        if x[k + 1] <= x[k]:
            raise ValueError("`x` must be strictly increasing sequence.")


@decomposition(si.CubicSpline)
def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    if isinstance(bc_type, str) and bc_type not in ("not-a-knot", "natural", "clamped"):
        raise NotImplementedError("CubicSpline with this bc_type: 'not-a-knot', 'natural' and 'clamped' are known")
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    s = slopes_at_knots(x, y, end_condition(bc_type, False), end_condition(bc_type, True))
    return Spline(x, coefficients(x, y, s), True if extrapolate is None else extrapolate)


@decomposition(si.CubicHermiteSpline)
def hermite_spline(x, y, dydx, axis=0, extrapolate=None):
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    return Spline(x, coefficients(x, y, np.asarray(dydx)), True if extrapolate is None else extrapolate)


# ------------------------------------------------------------------------------------------------------------- in lines


@dataclass(frozen=True)
class Lines:
    """Linear interpolation, as SciPy's `interp1d`."""

    x: Any
    y: Any
    fill_value: Any
    bounds_error: Any

    def __call__(self, x):
        if np.ndim(x) == 0:
            return between(self.x, self.y, x, self.fill_value, self.bounds_error)
        places = np.asarray(x)
        flat = places.ravel()
        out = np.empty(flat.size)
        for k in range(flat.size):
            out[k] = between(self.x, self.y, flat[k], self.fill_value, self.bounds_error)
        return out.reshape(places.shape)


def between(x, y, place, fill_value, bounds_error):
    # at a knot the slope is that to its left
    k = min(max(np.searchsorted(x, place), 1), x.size - 1)
    found = y[k - 1] + (y[k] - y[k - 1]) / (x[k] - x[k - 1]) * (place - x[k - 1])
    if fill_value == "extrapolate":
        return found
    if bounds_error and (place < x[0] or place > x[x.size - 1]):
        raise ValueError("A value in x_new is outside of the interpolation range.")
    below, above = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
    return np.where(place < x[0], below, np.where(place > x[x.size - 1], above, found))


@decomposition(si.interp1d)
def interp1d(x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False):
    if kind not in ("linear", "slinear", 1):
        raise NotImplementedError("interp1d of this kind: 'linear' is known, and CubicSpline for 'cubic'")
    x, y = np.asarray(x), np.asarray(y)
    if y.ndim != 1:
        raise NotImplementedError("interp1d of several curves: make one of each")
    if fill_value != "extrapolate" and bounds_error is None:
        bounds_error = not isinstance(fill_value, tuple) and np.isnan(fill_value)
    if not assume_sorted:
        order = np.argsort(x)
        x, y = x[order], y[order]
    return Lines(x, y, fill_value, bounds_error)


@decomposition(si.interp1d.__call__)
def called_lines(self, x):
    # the class that has this method has others than interp1d, too
    if not isinstance(self, si.interp1d) or self._kind != "linear" or np.ndim(self.y) != 1:
        raise NotImplementedError("this interpolator: splines, and linear interp1d of one curve, are known")
    outside = "extrapolate" if self._extrapolate else (self._fill_value_below.item(), self._fill_value_above.item())
    return Lines(self.x, self.y, outside, self.bounds_error)(x)
