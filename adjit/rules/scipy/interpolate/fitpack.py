"""Splines through all samples, on a line and on a grid, for which SciPy has FITPACK and B-splines.

In: samples, and places. Out: values of the spline, of degree 1, or of degree 3 whose third derivative is continuous at
the second place and at the last but one, as FITPACK's knots have it. A spline on a grid is one of splines: between four
points it is given by the values there, both slopes, and how the one slope goes along the other axis.

    UnivariateSpline(x, y, s=0)(t)           c[3, k] + c[2, k] (t - x[k]) + ..
    RectBivariateSpline(x, y, z).ev(p, q)    a[0] row(z, i) + a[1] row(z, i + 1) + a[2] row(z_x, i) + ..
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from adjit.rules.registry import builtin, known_when_compiled
from adjit.rules.scipy.interpolate.splines import (
    Spline,
    at_place,
    coefficients,
    end_condition,
    in_order,
    integrated,
    one_by_one,
    slopes_at_knots,
    up_to,
)

decomposition = builtin.decomposition

# ------------------------------------------------------------------------------------------------------------ on a line


def check_degree(x, k):
    if k != 1 and k != 3:
        raise NotImplementedError("a spline of this degree: adjit knows degrees 1 and 3")
    if x.size <= k:
        raise ValueError("a spline needs more samples than its degree.")


def of_degree(x, y, k, first, last):
    """The coefficients between the places, of the spline of this degree."""
    if k == 3:
        return coefficients(x, y, slopes_at_knots(x, y, first, last))
    c = np.empty((2, x.size - 1))
    for n in range(x.size - 1):
        c[0, n], c[1, n] = (y[n + 1] - y[n]) / (x[n + 1] - x[n]), y[n]
    return c


@decomposition(si.make_interp_spline)
def through(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    if t is not None:
        raise NotImplementedError("make_interp_spline with knots: leave `t` out")
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    check_degree(x, k)
    if bc_type is None or bc_type == "not-a-knot":
        return Spline(x, of_degree(x, y, k, "not-a-knot", "not-a-knot"))
    if k != 3 or bc_type not in ("natural", "clamped"):
        raise NotImplementedError(
            "make_interp_spline with this bc_type: adjit knows 'natural' and 'clamped', for "
            "cubic splines")
    return Spline(x, of_degree(x, y, k, end_condition(bc_type, False), end_condition(bc_type, True)))


def mode(ext):
    """What belongs outside of the samples: 0 for the polynomials there, 1 for zeros, 2 for an error, 3 for the ends."""
    if ext in (0, "extrapolate"):
        return 0
    if ext in (1, "zeros"):
        return 1
    if ext in (2, "raise"):
        return 2
    if ext in (3, "const"):
        return 3
    raise ValueError("Unknown extrapolation mode.")


def within(x, place):
    """A place, or the end that is nearest to it."""
    first, last = x[0], x[x.size - 1]
    return first if place < first else last if place > last else place


def at_place_or(x, c, place, nu, ext):
    # derivatives go on beyond the ends, as in SciPy
    if ext == 0 or (ext == 3 and nu > 0):
        return at_place(x, c, place, nu, True)
    if ext == 3:
        return at_place(x, c, within(x, place), nu, True)
    is_outside = (place < x[0]) | (place > x[x.size - 1])
    if ext == 2 and is_outside:
        raise ValueError("a point outside of the samples, where the spline raises an error.")
    return np.where(is_outside, 0.0, at_place(x, c, place, nu, True))


def at_places_or(x, c, places, nu, ext):
    if nu < 0 or nu >= c.shape[0]:
        raise ValueError("the order of a derivative has to be between 0 and the degree of the spline.")
    return one_by_one(places, lambda place: at_place_or(x, c, place, nu, ext))


@dataclass(frozen=True)
class Fitted:
    """A spline that knows what belongs outside of its samples, as SciPy's `UnivariateSpline`."""

    x: Any
    c: Any
    ext: Any
    nu: int = 0

    def __call__(self, x, nu=0, ext=None):
        return at_places_or(self.x, self.c, x, nu + self.nu, self.ext if ext is None else mode(ext))

    def derivative(self, n=1):
        return Fitted(self.x, self.c, 1 if self.ext == 3 else self.ext, self.nu + n)

    def antiderivative(self, n=1):
        if n != 1 or self.nu != 0:
            raise NotImplementedError(
                "this antiderivative of a spline: adjit knows antiderivative() of the spline "
                "itself")
        return Fitted(self.x, integrated(self.x, self.c), self.ext)

    def integral(self, a, b):
        """Where it is zero outside of the samples."""
        low, high = within(self.x, a), within(self.x, b)
        if self.nu > 0:
            order = self.nu - 1
            return at_place(self.x, self.c, high, order, True) - at_place(self.x, self.c, low, order, True)
        return up_to(self.x, self.c, high) - up_to(self.x, self.c, low)


def fitted(x, y, w, bbox, k, ext):
    if w is not None or bbox[0] is not None or bbox[1] is not None:
        raise NotImplementedError("a spline through samples with `w` or `bbox`: leave them out")
    x, y = np.asarray(x), np.asarray(y)
    in_order(x, y)
    check_degree(x, k)
    return Fitted(x, of_degree(x, y, k, "not-a-knot", "not-a-knot"), mode(ext))


@decomposition(si.InterpolatedUnivariateSpline)
def interpolated(x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
    return fitted(x, y, w, bbox, k, ext)


@decomposition(si.UnivariateSpline)
def univariate(x, y, w=None, bbox=(None, None), k=3, s=None, ext=0, check_finite=False):
    if s is None or s != 0:
        raise NotImplementedError("a smoothing UnivariateSpline: adjit knows s=0, which goes through all samples")
    return fitted(x, y, w, bbox, k, ext)


@known_when_compiled
def pieces(t, c, k):
    """The places between which a B-spline is a polynomial, and the coefficients of the polynomials."""
    whole = si.PPoly.from_spline((t, c, k))
    last = whole.x.size - 1 - k
    return whole.x[k : last + 1].copy(), np.ascontiguousarray(whole.c[:, k:last])


@decomposition(si.UnivariateSpline.__call__)
def called_fitted(self, x, nu=0, ext=None):
    knots, c = pieces(*self._eval_args)
    return at_places_or(knots, c, x, nu, self.ext if ext is None else mode(ext))


@decomposition(si.BSpline.__call__)
def called_through(self, x, nu=0, extrapolate=None):
    if np.ndim(self.c) != 1:
        raise NotImplementedError("a spline of more than one curve: create one spline per curve")
    if extrapolate is None:
        extrapolate = self.extrapolate
    if extrapolate == "periodic":
        raise NotImplementedError("a periodic spline: reduce the point by the period first, x % period")
    knots, c = pieces(self.t, self.c, self.k)
    return Spline(knots, c, extrapolate)(x, nu)


# ------------------------------------------------------------------------------------------------------------ on a grid


def interval(x, place):
    return min(max(np.searchsorted(x, place, side="right") - 1, 0), x.size - 2)


def shares(x, k, place, degree, nu):
    """What the values at both ends of an interval, and the slopes there, are taken times for a derivative."""
    h = x[k + 1] - x[k]
    u = (place - x[k]) / h
    v = 1.0 - u
    if degree == 1:
        return v, u, 0.0, 0.0
    if nu == 0:
        return (1.0 + 2.0 * u) * v * v, u * u * (3.0 - 2.0 * u), h * u * v * v, -h * u * u * v
    if nu == 1:
        slope = 6.0 * u * v / h
        return -slope, slope, v * (1.0 - 3.0 * u), u * (3.0 * u - 2.0)
    bend = 6.0 * (2.0 * u - 1.0) / (h * h)
    return bend, -bend, (6.0 * u - 4.0) / h, (6.0 * u - 2.0) / h


def along_row(z, slopes, i, j, b):
    return b[0] * z[i, j] + b[1] * z[i, j + 1] + b[2] * slopes[i, j] + b[3] * slopes[i, j + 1]


@dataclass(frozen=True)
class Surface:
    """A spline of splines, by its values, slopes and slopes of slopes at the points of a grid."""

    x: Any
    y: Any
    z: Any
    slopes_x: Any
    slopes_y: Any
    both: Any
    kx: Any
    ky: Any
    dx: int = 0
    dy: int = 0

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        dx, dy = dx + self.dx, dy + self.dy
        if dx < 0 or dx >= self.kx or dy < 0 or dy >= self.ky:
            raise ValueError("the order of a derivative along an axis has to be less than the degree there.")
        if grid:
            return on_lines(self, x, y, dx, dy)
        return at_points(self, x, y, dx, dy)

    def ev(self, xi, yi, dx=0, dy=0):
        return self(xi, yi, dx, dy, False)

    def partial_derivative(self, dx, dy):
        dx, dy = dx + self.dx, dy + self.dy
        return Surface(self.x, self.y, self.z, self.slopes_x, self.slopes_y, self.both, self.kx, self.ky, dx, dy)


def at_point(of, p, q, dx, dy):
    """Outside of the grid, the value at the point of it that is nearest."""
    p, q = within(of.x, p), within(of.y, q)
    i, j = interval(of.x, p), interval(of.y, q)
    a, b = shares(of.x, i, p, of.kx, dx), shares(of.y, j, q, of.ky, dy)
    found = a[0] * along_row(of.z, of.slopes_y, i, j, b) + a[1] * along_row(of.z, of.slopes_y, i + 1, j, b)
    if of.kx == 1:
        return found
    found += a[2] * along_row(of.slopes_x, of.both, i, j, b)
    return found + a[3] * along_row(of.slopes_x, of.both, i + 1, j, b)


def at_points(of, x, y, dx, dy):
    if np.ndim(x) == 0 and np.ndim(y) == 0:
        return at_point(of, x, y, dx, dy)
    one, other = np.broadcast_arrays(x, y)
    flat_x, flat_y = np.ascontiguousarray(one).ravel(), np.ascontiguousarray(other).ravel()
    out = np.empty(flat_x.size)
    for k in range(flat_x.size):
        out[k] = at_point(of, flat_x[k], flat_y[k], dx, dy)
    return out.reshape(one.shape)


def on_lines(of, x, y, dx, dy):
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    if x.ndim > 1 or y.ndim > 1:
        raise NotImplementedError("a spline on a grid that is given by matrices: write grid=False")
    if np.any(x[1:] < x[:-1]) or np.any(y[1:] < y[:-1]):
        raise ValueError("x and y must be in order when `grid` is True")
    out = np.empty((x.size, y.size))
    for i in range(x.size):
        for j in range(y.size):
            out[i, j] = at_point(of, x[i], y[j], dx, dy)
    return out


def slopes_along(x, z, degree):
    """The slopes of the spline through each column."""
    if degree == 1:
        return np.zeros(z.shape)
    return slopes_at_knots(x, z, "not-a-knot", "not-a-knot")


@decomposition(si.RectBivariateSpline)
def on_grid(x, y, z, bbox=(None, None, None, None), kx=3, ky=3, s=0, maxit=20):
    if s != 0:
        raise NotImplementedError("a smoothing RectBivariateSpline: adjit knows s=0, which goes through all points")
    if any(end is not None for end in bbox):
        raise NotImplementedError("RectBivariateSpline with `bbox`: leave it out")
    x, y, z = np.asarray(x), np.asarray(y), np.asarray(z) * 1.0
    if x.ndim != 1 or y.ndim != 1 or z.ndim != 2:
        raise ValueError("x and y are vectors, and z is a matrix.")
    if np.any(x[1:] <= x[:-1]) or np.any(y[1:] <= y[:-1]):
        raise ValueError("x and y must be strictly increasing")
    if x.size != z.shape[0] or y.size != z.shape[1]:
        raise ValueError("each dimension of z must have the same number of elements as x, or y")
    check_degree(x, kx)
    check_degree(y, ky)
    slopes_x = slopes_along(x, z, kx)
    slopes_y = np.ascontiguousarray(slopes_along(y, np.ascontiguousarray(z.T), ky).T)
    return Surface(x, y, z, slopes_x, slopes_y, slopes_along(x, slopes_y, kx), kx, ky)


@known_when_compiled
def nodes(spline):
    """What is known of a spline from outside at the points of its grid."""
    (t, u), (kx, ky) = spline.tck[:2], spline.degrees
    x, y = np.unique(t), np.unique(u)
    grids = [spline(x, y, dx=dx, dy=dy) if dx < kx and dy < ky else np.zeros((x.size, y.size)) for dx, dy in CORNER]
    return x, y, *grids


CORNER = ((0, 0), (1, 0), (0, 1), (1, 1))


@decomposition(si.RectBivariateSpline.__call__)
def called_on_grid(self, x, y, dx=0, dy=0, grid=True):
    kx, ky = self.degrees
    if kx not in (1, 3) or ky not in (1, 3):
        raise NotImplementedError("a spline of this degree: adjit knows degrees 1 and 3")
    return Surface(*nodes(self), kx, ky)(x, y, dx, dy, grid)


@decomposition(si.RectBivariateSpline.ev)
def called_at_points(self, xi, yi, dx=0, dy=0):
    return called_on_grid(self, xi, yi, dx, dy, False)


@decomposition(si.LSQUnivariateSpline, si.SmoothBivariateSpline, si.LSQBivariateSpline, si.make_lsq_spline)
def smoothed(*given, **named):
    raise NotImplementedError(
        "a spline that is fitted to samples: adjit knows splines through all samples, such as make_interp_spline"
    )
