"""Splines and linear interpolation of scipy.interpolate: objects that are made of samples, and called at places.

In: samples, and places. Out: values of the piecewise polynomial. What is made inside of a program is one of the classes
here, with the methods that it has; what was made before, by SciPy, is read where it is called.

    CubicSpline(x, y)(t)      c = coefficients(x, y, ..);  c[3, k] + c[2, k] (t - x[k]) + ..
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from adjit.rules.numpy.linalg.triangular import banded_solve
from adjit.rules.registry import builtin

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
        raise NotImplementedError("a derivative of a negative order of a spline: call its antiderivative()")
    return one_by_one(places, lambda place: at_place(x, c, place, nu, extrapolate))


def one_by_one(places, value):
    if np.ndim(places) == 0:
        return value(places)
    places = np.asarray(places)
    flat = places.ravel()
    out = np.empty(flat.size)
    for k in range(flat.size):
        out[k] = value(flat[k])
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


def integrated(x, c):
    """The coefficients of the integral from the first knot on."""
    degree = c.shape[0] - 1
    out = np.zeros((degree + 2, c.shape[1]), c.dtype)
    for k in range(c.shape[1]):
        for m in range(degree + 1):
            out[m, k] = c[m, k] / (degree + 1 - m)
    total = out[degree + 1, 0]
    for k in range(c.shape[1] - 1):
        step, part = x[k + 1] - x[k], 0.0
        for m in range(degree + 1):
            part = (part + out[m, k]) * step
        total += part
        out[degree + 1, k + 1] = total
    return out


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

    def antiderivative(self, nu=1):
        if nu != 1 or self.nu != 0:
            raise NotImplementedError(
                "this antiderivative of a spline: adjit knows antiderivative() of the spline "
                "itself")
        return Spline(self.x, integrated(self.x, self.c), self.extrapolate)

    def integrate(self, a, b):
        if self.nu > 0:
            return at_places(self.x, self.c, b, self.nu - 1, True) - at_places(self.x, self.c, a, self.nu - 1, True)
        return up_to(self.x, self.c, b) - up_to(self.x, self.c, a)


@decomposition(si.PPoly.__call__)
def called(self, x, nu=0, extrapolate=None):
    if np.ndim(self.c) != 2:
        raise NotImplementedError("a spline of more than one curve: create one spline per curve")
    if extrapolate is None:
        extrapolate = self.extrapolate
    if extrapolate == "periodic":
        raise NotImplementedError("a periodic spline: reduce the point by the period first, x % period")
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
    """Of the spline with two continuous derivatives, by the tridiagonal system of de Boor 1978, chapter IV; of those
    through each column of a matrix."""
    n = x.size
    h = x[1:] - x[:-1]
    slopes = (y[1:] - y[:-1]) / (h if y.ndim == 1 else h[:, None])
    ab, right = np.zeros((3, n)), np.zeros(y.shape)
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
        raise NotImplementedError("a spline of more than one curve: create one spline per curve")
    if x.size < 2 or x.size != y.size:
        raise ValueError("`x` and `y` must have the same length, of at least 2.")
    for k in range(x.size - 1):
        if x[k + 1] <= x[k]:
            raise ValueError("`x` must be strictly increasing sequence.")


@decomposition(si.CubicSpline)
def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    if isinstance(bc_type, str) and bc_type not in ("not-a-knot", "natural", "clamped"):
        raise NotImplementedError("CubicSpline with this bc_type: adjit knows 'not-a-knot', 'natural' and 'clamped'")
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    s = slopes_at_knots(x, y, end_condition(bc_type, False), end_condition(bc_type, True))
    return Spline(x, coefficients(x, y, s), True if extrapolate is None else extrapolate)


@decomposition(si.CubicHermiteSpline)
def hermite_spline(x, y, dydx, axis=0, extrapolate=None):
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    return Spline(x, coefficients(x, y, np.asarray(dydx)), True if extrapolate is None else extrapolate)


def monotone_end(near, next_one, slope, slope_next):
    found = ((2.0 * near + next_one) * slope - near * slope_next) / (near + next_one)
    if np.sign(found) != np.sign(slope):
        return 0.0 * slope
    return 3.0 * slope if np.sign(slope) != np.sign(slope_next) and abs(found) > 3.0 * abs(slope) else found


def monotone_slopes(x, y):
    """Weighted harmonic means of the slopes on both sides, 0 where their signs differ (Fritsch and Butland 1984)."""
    n = x.size
    h = x[1:] - x[:-1]
    slopes = (y[1:] - y[:-1]) / h
    out = np.zeros(n, slopes.dtype)
    if n == 2:
        out[0], out[1] = slopes[0], slopes[0]
        return out
    for k in range(1, n - 1):
        if slopes[k - 1] * slopes[k] > 0.0:
            one, other = 2.0 * h[k] + h[k - 1], h[k] + 2.0 * h[k - 1]
            out[k] = (one + other) / (one / slopes[k - 1] + other / slopes[k])
    out[0] = monotone_end(h[0], h[1], slopes[0], slopes[1])
    out[n - 1] = monotone_end(h[n - 2], h[n - 3], slopes[n - 2], slopes[n - 3])
    return out


@decomposition(si.PchipInterpolator)
def monotone_spline(x, y, axis=0, extrapolate=None):
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    return Spline(x, coefficients(x, y, monotone_slopes(x, y)), True if extrapolate is None else extrapolate)


def slopes_of_akima(x, y):
    """Means of the slopes on both sides, by how much those beyond them differ (Akima 1970)."""
    n, slopes = x.size, (y[1:] - y[:-1]) / (x[1:] - x[:-1])
    m = np.empty(n + 3, slopes.dtype)
    for k in range(n - 1):
        m[k + 2] = slopes[k]
    m[1] = 2.0 * m[2] - m[3]
    m[0] = 2.0 * m[1] - m[2]
    m[n + 1] = 2.0 * m[n] - m[n - 1]
    m[n + 2] = 2.0 * m[n + 1] - m[n]
    differences = np.abs(m[1:] - m[:-1])
    most = np.max(differences[2:] + differences[:-2])
    out = np.empty(n, slopes.dtype)
    for k in range(n):
        after, before = differences[k + 2], differences[k]
        if after + before > 1e-9 * most:
            out[k] = m[k + 1] + before / (after + before) * (m[k + 2] - m[k + 1])
        else:
            out[k] = 0.5 * (m[k + 3] + m[k])
    return out


@decomposition(si.Akima1DInterpolator)
def akima_spline(x, y, axis=0, *, method="akima", extrapolate=None):
    if method != "akima":
        raise NotImplementedError("Akima1DInterpolator with a method other than 'akima'")
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    if x.size < 3:
        raise NotImplementedError("Akima1DInterpolator of two points: use a line")
    return Spline(x, coefficients(x, y, slopes_of_akima(x, y)), False if extrapolate is None else extrapolate)


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
    return outside_of(x, place, found, fill_value, bounds_error)


def outside_of(x, place, found, fill_value, bounds_error):
    """What is found, or what belongs outside of the knots."""
    if fill_value == "extrapolate":
        return found
    if bounds_error and (place < x[0] or place > x[x.size - 1]):
        raise ValueError("A value in x_new is outside of the interpolation range.")
    below, above = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
    return np.where(place < x[0], below, np.where(place > x[x.size - 1], above, found))


@dataclass(frozen=True)
class Steps:
    """The value of one of the knots: `shift` 0 of the one before, 1 of the next, 0.5 of the nearest."""

    x: Any
    y: Any
    shift: Any
    fill_value: Any
    bounds_error: Any

    def __call__(self, x):
        if np.ndim(x) == 0:
            return one_of(self.x, self.y, x, self.shift, self.fill_value, self.bounds_error)
        places = np.asarray(x)
        flat = places.ravel()
        out = np.empty(flat.size)
        for k in range(flat.size):
            out[k] = one_of(self.x, self.y, flat[k], self.shift, self.fill_value, self.bounds_error)
        return out.reshape(places.shape)


def one_of(x, y, place, shift, fill_value, bounds_error):
    if shift == 0.5:
        # half way it is the one to the left
        k = np.searchsorted(0.5 * (x[1:] + x[:-1]), place)
    elif shift == 0.0:
        k = max(np.searchsorted(x, place, side="right") - 1, 0)
    else:
        k = min(np.searchsorted(x, place), x.size - 1)
    return outside_of(x, place, y[k], fill_value, bounds_error)


@dataclass(frozen=True)
class Cubics:
    """A cubic spline with the ends of an `interp1d`."""

    x: Any
    c: Any
    fill_value: Any
    bounds_error: Any

    def __call__(self, x):
        if np.ndim(x) == 0:
            return outside_of(self.x, x, at_place(self.x, self.c, x, 0, True), self.fill_value, self.bounds_error)
        places = np.asarray(x)
        flat = places.ravel()
        out = np.empty(flat.size)
        for k in range(flat.size):
            found = at_place(self.x, self.c, flat[k], 0, True)
            out[k] = outside_of(self.x, flat[k], found, self.fill_value, self.bounds_error)
        return out.reshape(places.shape)


@decomposition(si.interp1d)
def interp1d(x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False):
    if kind not in ("linear", "slinear", 1, "cubic", 3, "previous", "zero", 0, "next", "nearest"):
        raise NotImplementedError(
            "interp1d of this kind: adjit knows 'linear', 'cubic', 'previous', 'next' and 'nearest'"
        )
    x, y = np.asarray(x), np.asarray(y)
    if y.ndim != 1:
        raise NotImplementedError("interp1d of more than one curve: create one per curve")
    if fill_value != "extrapolate" and bounds_error is None:
        bounds_error = not isinstance(fill_value, tuple) and np.isnan(fill_value)
    if not assume_sorted:
        order = np.argsort(x)
        x, y = x[order], y[order]
    if kind in ("cubic", 3):
        if x.size < 4:
            raise ValueError("The number of derivatives at boundaries does not match: give at least 4 points.")
        slopes = slopes_at_knots(x, y, "not-a-knot", "not-a-knot")
        return Cubics(x, coefficients(x, y, slopes), fill_value, bounds_error)
    if kind in ("previous", "zero", 0):
        return Steps(x, y, 0.0, fill_value, bounds_error)
    if kind in ("next", "nearest"):
        return Steps(x, y, 1.0 if kind == "next" else 0.5, fill_value, bounds_error)
    return Lines(x, y, fill_value, bounds_error)


@decomposition(si.interp1d.__call__)
def called_lines(self, x):
    # the class that has this method has others than interp1d, too
    if not isinstance(self, si.interp1d) or self._kind != "linear" or np.ndim(self.y) != 1:
        raise NotImplementedError("this interpolator: adjit knows splines, and linear interp1d of one curve")
    outside = "extrapolate" if self._extrapolate else (self._fill_value_below.item(), self._fill_value_above.item())
    return Lines(self.x, self.y, outside, self.bounds_error)(x)


# ------------------------------------------------------------------------------------------------------------- on grids


@dataclass(frozen=True)
class Grid:
    """Linear interpolation between the points of a grid, as SciPy's `RegularGridInterpolator`."""

    grid: Any
    values: Any
    bounds_error: Any
    fill_value: Any

    def __call__(self, xi):
        return on_grid(self.grid, self.values, xi, self.bounds_error, self.fill_value)


def cell(knots, place, bounds_error):
    if bounds_error and not (place >= knots[0] and place <= knots[knots.size - 1]):
        raise ValueError("One of the requested xi is out of bounds.")
    return min(max(np.searchsorted(knots, place) - 1, 0), knots.size - 2)


def share(knots, k, place):
    return (place - knots[k]) / (knots[k + 1] - knots[k])


def is_outside(knots, place):
    return (place < knots[0]) | (place > knots[knots.size - 1])


def at_point(grid, values, point, bounds_error, fill_value):
    """Of the corners of the cell around it, the one after the other axis."""
    i = cell(grid[0], point[0], bounds_error)
    u, outside = share(grid[0], i, point[0]), is_outside(grid[0], point[0])
    if len(grid) == 1:
        found = (1 - u) * values[i] + u * values[i + 1]
    else:
        j = cell(grid[1], point[1], bounds_error)
        v, outside = share(grid[1], j, point[1]), outside | is_outside(grid[1], point[1])
        if len(grid) == 2:
            low = (1 - v) * values[i, j] + v * values[i, j + 1]
            high = (1 - v) * values[i + 1, j] + v * values[i + 1, j + 1]
        else:
            k = cell(grid[2], point[2], bounds_error)
            w, outside = share(grid[2], k, point[2]), outside | is_outside(grid[2], point[2])
            low = (1 - v) * ((1 - w) * values[i, j, k] + w * values[i, j, k + 1])
            low += v * ((1 - w) * values[i, j + 1, k] + w * values[i, j + 1, k + 1])
            high = (1 - v) * ((1 - w) * values[i + 1, j, k] + w * values[i + 1, j, k + 1])
            high += v * ((1 - w) * values[i + 1, j + 1, k] + w * values[i + 1, j + 1, k + 1])
        found = (1 - u) * low + u * high
    return found if fill_value is None else np.where(outside, fill_value, found)


def on_grid(grid, values, xi, bounds_error, fill_value):
    if isinstance(xi, tuple) and np.ndim(xi[0]) == 0:
        return at_point(grid, values, xi, bounds_error, fill_value)
    if isinstance(xi, tuple):
        axes = np.broadcast_arrays(*xi)
        flat = [np.ascontiguousarray(one).ravel() for one in axes]
        out = np.empty(flat[0].size)
        for n in range(flat[0].size):
            out[n] = at_point(grid, values, tuple([one[n] for one in flat]), bounds_error, fill_value)
        return out.reshape(axes[0].shape)
    places = np.asarray(xi)
    rows = places.reshape((-1, len(grid)))
    out = np.empty(rows.shape[0])
    for n in range(rows.shape[0]):
        out[n] = at_point(grid, values, rows[n], bounds_error, fill_value)
    return out if places.ndim == 1 else out.reshape(places.shape[:-1])


@decomposition(si.RegularGridInterpolator)
def grid_interpolator(points, values, method="linear", bounds_error=True, fill_value=np.nan):
    if method != "linear":
        raise NotImplementedError("RegularGridInterpolator with a method other than 'linear'")
    if not isinstance(points, (tuple, list)) or len(points) > 3 or np.ndim(values) != len(points):
        raise NotImplementedError("RegularGridInterpolator of more than three axes, or of values that are not numbers")
    grid = tuple([np.asarray(one) for one in points])
    for axis, knots in enumerate(grid):
        if knots.size != values.shape[axis] or np.any(knots[1:] <= knots[:-1]):
            raise ValueError("the points of a grid must be strictly ascending, one for each value along the axis")
    return Grid(grid, values, bounds_error, fill_value)


@decomposition(si.RegularGridInterpolator.__call__)
def called_grid(self, xi):
    if self.method != "linear" or len(self.grid) > 3 or np.ndim(self.values) != len(self.grid):
        raise NotImplementedError("RegularGridInterpolator of another method, of more axes, or of values of arrays")
    return on_grid(self.grid, self.values, xi, self.bounds_error, self.fill_value)


@decomposition(si.splrep, si.splev, si.griddata, si.interpn, si.RBFInterpolator)
def others(*given, **named):
    raise NotImplementedError(
        "this interpolation: adjit knows CubicSpline, PchipInterpolator, interp1d and RegularGridInterpolator"
    )
