"""Rows of the rule table for SciPy's functions of samples: integrals, distances, filters, splines."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, interpolate, ndimage, optimize, signal
from scipy.signal import windows
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

from tests.rules import rows as at
from tests.rules.rows import Row, array, fixed, positive, row, vector

SUMS: list[Row] = [
    row(integrate.trapezoid, lambda y, x: integrate.trapezoid(y, x), vector(6), at.knots, tags="double"),
    row(integrate.trapezoid, lambda y: integrate.trapezoid(y, dx=0.5, axis=0), array(3, 2), note="axis0"),
    row(integrate.simpson, lambda y, x: integrate.simpson(y, x=x), vector(6), at.knots),
    row(
        integrate.simpson,
        lambda y, x: integrate.simpson(y, x),
        array(2, 5),
        fixed(np.arange(5.0) ** 1.5),
        active=(0,),
        tags="double",
        note="odd",
    ),
    row(integrate.simpson, lambda y: integrate.simpson(y, dx=0.5), vector(4), note="even"),
    row(integrate.cumulative_trapezoid, lambda y, x: integrate.cumulative_trapezoid(y, x), vector(6), at.knots),
    row(
        integrate.cumulative_trapezoid,
        lambda y: integrate.cumulative_trapezoid(y, initial=0, axis=0),
        array(3, 2),
        note="initial",
    ),
    row(
        integrate.fixed_quad,
        lambda a, b: integrate.fixed_quad(lambda x, c: np.exp(-c * x), a, b, args=(a,), n=7)[0],
        positive,
        positive,
        tags="double",
    ),
]

DISTANCES: list[Row] = [
    row(distance.cdist, lambda a, b: distance.cdist(a, b), array(2, 2), array(3, 2), tags="double"),
    row(distance.cdist, lambda a, b: distance.cdist(a, b, "cityblock"), array(2, 2), array(3, 2), note="blocks"),
    row(distance.pdist, lambda x: distance.pdist(x), array(3, 2), tags="double"),
    row(distance.pdist, lambda x: distance.pdist(x, metric="sqeuclidean"), array(3, 2), note="squares"),
    row(distance.squareform, lambda x: distance.squareform(x), vector(3)),
    row(distance.squareform, lambda x: distance.squareform(x + x.T, checks=False), array(3, 3), note="matrix"),
    *[
        row(c, _of_two, vector(3), vector(3), tags="double")
        for c, _of_two in (
            (distance.euclidean, lambda u, v: distance.euclidean(u, v)),
            (distance.sqeuclidean, lambda u, v: distance.sqeuclidean(u, v)),
            (distance.cityblock, lambda u, v: distance.cityblock(u, v)),
            (distance.chebyshev, lambda u, v: distance.chebyshev(u, v)),
            (distance.cosine, lambda u, v: distance.cosine(u, v)),
        )
    ],
]

SECTIONS = np.array([[0.2, 0.1, -0.3, 1.0, 0.4, 0.1], [1.0, -0.5, 0.2, 1.0, -0.3, 0.2]])
FILTERS: list[Row] = [
    row(signal.convolve, lambda a, b: signal.convolve(a, b, mode="same"), vector(4), vector(3)),
    row(signal.fftconvolve, lambda a, b: signal.fftconvolve(a, b, "valid"), vector(4), vector(2), tags="double"),
    row(signal.oaconvolve, lambda a, b: signal.oaconvolve(a, b), vector(4), vector(2), tags="double"),
    row(signal.correlate, lambda a, b: signal.correlate(a, b), vector(4), vector(3), tags="double"),
    row(signal.convolve2d, lambda a, b: signal.convolve2d(a, b, "same"), array(3, 3), array(2, 2), tags="double"),
    row(signal.correlate2d, lambda a, b: signal.correlate2d(a, b, "valid"), array(3, 3), array(2, 2), tags="double"),
    row(
        signal.lfilter,
        lambda b, a, x: signal.lfilter(b, a, x),
        vector(2),
        fixed(np.array([2.0, 0.5, -0.3])),
        vector(5),
        tags="double",
    ),
    row(signal.lfilter, lambda x: signal.lfilter([1.0, -0.8], [1.0], x), array(2, 3), tags="double", note="of-rows"),
    row(signal.sosfilt, lambda x: signal.sosfilt(SECTIONS, x), vector(5), tags="double"),
    row(
        signal.sosfilt,
        lambda s, x: signal.sosfilt(s * np.array([[1.0, 1.0, 1.0, 0.0, 0.5, -0.2]]) + SECTIONS, x),
        positive,
        array(2, 4),
        tags="double",
        note="of-rows",
    ),
    row(
        signal.sosfilt,
        lambda x: signal.sosfilt(signal.butter(2, [0.2, 0.5], "bandpass", output="sos"), x),
        vector(5),
        tags="double",
        note="designed",
    ),
    row(signal.savgol_filter, lambda x: signal.savgol_filter(x, 5, 2), vector(8), tags="double"),
    row(signal.detrend, lambda x: signal.detrend(x), vector(4), tags="double"),
    row(signal.detrend, lambda x: signal.detrend(x, type="constant"), array(2, 3), tags="double", note="constant"),
]

WINDOWS: list[Row] = [
    row(windows.gaussian, lambda x, s: x * windows.gaussian(x.size, s), vector(5), positive),
    row(windows.exponential, lambda x, t: x * windows.exponential(x.size, tau=t), vector(4), positive, tags="double"),
    row(
        windows.tukey, lambda x, a: x * windows.tukey(x.size, 0.2 + 0.1 * a, False), vector(6), positive, tags="double"
    ),
    row(windows.kaiser, lambda x, b: x * windows.kaiser(x.size, b), vector(5), positive, tags="double"),
    row(windows.chebwin, lambda x, a: x * windows.chebwin(x.size, 50.0 + a), vector(5), positive, tags="double"),
    row(windows.general_hamming, lambda x, a: x * windows.general_hamming(x.size, a), vector(4), positive),
    row(
        windows.general_cosine, lambda x, a: x * windows.general_cosine(x.size, a), vector(4), vector(3), tags="double"
    ),
    row(signal.get_window, lambda x, s: x * signal.get_window(("gaussian", s), x.size), vector(4), positive),
]

SPLINE = interpolate.CubicSpline([0.0, 0.7, 1.5, 2.0, 3.1], [0.3, -1.0, 0.5, 0.4, 2.0])
LINES = interpolate.interp1d([-4.0, 0.7, 1.5, 2.0, 4.1], [0.3, -1.0, 0.5, 0.4, 2.0])

GRID = interpolate.RegularGridInterpolator((np.arange(4.0), np.arange(3.0)), np.cos(np.arange(12.0)).reshape(4, 3))


def on_grid(values: Any) -> Any:
    return interpolate.RegularGridInterpolator((np.arange(2.0), [0.0, 0.7, 1.5]), values, "linear", False, None)


SMOOTH = interpolate.UnivariateSpline(np.arange(7.0) - 3.0, np.cos(np.arange(7.0)), s=0.1)
THROUGH = interpolate.make_interp_spline(np.arange(7.0) - 3.0, np.cos(np.arange(7.0)), k=5)
SURFACE = interpolate.RectBivariateSpline(np.arange(4.0) - 2.0, np.arange(5.0) - 2.0, GRID.values[:4, [0, 1, 2, 1, 0]])


def over_grid(z: Any, t: Any) -> Any:
    spline = interpolate.RectBivariateSpline(np.arange(4.0) - 2.0, np.arange(5.0) - 2.0, z)
    return spline.ev(t, t * t) * spline(t, 0.3, dx=1, grid=False)


SPLINES: list[Row] = [
    row(
        interpolate.PchipInterpolator,
        lambda x, y: interpolate.PchipInterpolator(x, y)([1.4, 2.3]),
        at.knots,
        vector(6),
        tags="double",
    ),
    row(
        interpolate.Akima1DInterpolator,
        lambda x, y: 1.0 * interpolate.Akima1DInterpolator(x, y)(1.4),
        at.knots,
        vector(6),
        tags="double",
    ),
    row(
        interpolate.interp1d,
        lambda y, t: interpolate.interp1d(np.arange(5.0), y, "cubic", fill_value="extrapolate")(t) * t[0],
        vector(5),
        vector(2),
        tags="double",
        note="cubic",
    ),
    row(interpolate.RegularGridInterpolator, lambda v, p: on_grid(v)(p) * 1.0, array(2, 3), array(2, 2), tags="double"),
    row(interpolate.RegularGridInterpolator.__call__, lambda p: GRID(0.3 * p + [1.5, 1.3]), array(2, 2), tags="double"),
    row(
        interpolate.CubicSpline,
        lambda x, y, t: interpolate.CubicSpline(x, y)(t) + interpolate.CubicSpline(x, y).integrate(0.3, t[0]),
        at.knots,
        vector(6),
        vector(2),
        tags="double",
    ),
    row(
        interpolate.CubicSpline,
        lambda x, y: 1.0 * interpolate.CubicSpline(x, y, bc_type=("natural", (1, 0.3))).derivative()(1.4),
        at.knots,
        vector(6),
        tags="double",
        note="ends",
    ),
    row(
        interpolate.CubicHermiteSpline,
        lambda x, y, s: interpolate.CubicHermiteSpline(x, y, s)([1.4, 2.3]),
        at.knots,
        vector(6),
        vector(6),
        tags="double",
    ),
    row(interpolate.PPoly.__call__, lambda t: SPLINE(t) * SPLINE(t, 1), vector(3), tags="double"),
    row(
        interpolate.interp1d,
        lambda x, y, t: interpolate.interp1d(x, y, fill_value="extrapolate")(t),
        at.knots,
        vector(6),
        vector(3),
        tags="double",
    ),
    row(interpolate.interp1d.__call__, lambda t: LINES(t), vector(3), tags="double"),
    row(
        interpolate.make_interp_spline,
        lambda x, y, t: interpolate.make_interp_spline(x, y)(t) * interpolate.make_interp_spline(x, y, 1)(t),
        at.knots,
        vector(6),
        vector(2),
        tags="double",
    ),
    row(
        interpolate.UnivariateSpline,
        lambda x, y, t: interpolate.UnivariateSpline(x, y, s=0)(t) * interpolate.UnivariateSpline(x, y, s=0)(t, 1),
        at.knots,
        vector(6),
        vector(2),
        tags="double",
    ),
    row(
        interpolate.InterpolatedUnivariateSpline,
        lambda y, t: 1.0 * interpolate.InterpolatedUnivariateSpline(np.arange(5.0), y, ext=3).integral(0.3, t[0]),
        vector(5),
        vector(2),
        tags="double",
    ),
    row(interpolate.UnivariateSpline.__call__, lambda t: SMOOTH(t) * SMOOTH(t, 1), vector(3), tags="double"),
    row(interpolate.BSpline.__call__, lambda t: THROUGH(t) * THROUGH(t, 1), vector(3), tags="double"),
    row(interpolate.RectBivariateSpline, over_grid, array(4, 5), vector(3), tags="double"),
    row(interpolate.RectBivariateSpline.__call__, lambda t: SURFACE(t, t, grid=False), vector(3), tags="double"),
    row(interpolate.RectBivariateSpline.ev, lambda t: SURFACE.ev(t, t * t, dy=1), vector(3), tags="double"),
]

VALLEY = row(optimize.rosen, lambda x: optimize.rosen(x), vector(3), tags="double")

SAMPLES: list[Row] = [VALLEY, *SUMS, *DISTANCES, *FILTERS, *WINDOWS, *SPLINES]

# What test_scipy_ndimage.py, test_scipy_rotations.py and test_scipy_arrays.py are of (windows without parameters),
# test_initial_values.py, test_quadrature.py and test_roots.py of tests/programs, and what is refused.
WITHOUT_EXAMPLE = (
    ndimage.correlate1d, ndimage.convolve1d, ndimage.correlate, ndimage.convolve, ndimage.gaussian_filter1d,
    ndimage.gaussian_filter, ndimage.uniform_filter1d, ndimage.uniform_filter, ndimage.sobel, ndimage.prewitt,
    ndimage.laplace,
    optimize.brentq, optimize.brenth, optimize.bisect, optimize.ridder, optimize.toms748, optimize.newton,
    optimize.root_scalar, optimize.fsolve, optimize.root, optimize.minimize_scalar, optimize.fminbound, optimize.brent,
    optimize.minimize, optimize.least_squares, optimize.leastsq, optimize.curve_fit, optimize.linprog, optimize.nnls,
    integrate.solve_ivp, integrate.odeint, integrate.quad, integrate.dblquad,
    interpolate.LSQUnivariateSpline, interpolate.splrep, interpolate.splev, interpolate.make_lsq_spline,
    interpolate.SmoothBivariateSpline, interpolate.LSQBivariateSpline,
    windows.hann, windows.hamming, windows.blackman, windows.nuttall, windows.blackmanharris, windows.flattop,
    windows.boxcar, windows.triang, windows.bartlett, windows.cosine, windows.parzen,
    interpolate.griddata, interpolate.interpn, interpolate.RBFInterpolator,
    Rotation.from_quat, Rotation.from_rotvec, Rotation.from_matrix, Rotation.from_euler, Rotation.identity,
    Rotation.apply, Rotation.from_mrp, Rotation.from_davenport, Rotation.align_vectors, Rotation.concatenate,
)  # fmt: skip
