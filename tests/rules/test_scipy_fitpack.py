"""Splines through all samples, on a line and on a grid: SciPy's values everywhere, and gradients by differences."""

import numpy as np
import pytest
from scipy import interpolate

import adjit

X, Y = np.array([0.0, 0.7, 1.5, 2.0, 3.1, 4.0]), np.array([-1.0, 0.0, 0.4, 1.3, 2.0])
Z = np.random.default_rng(0).normal(size=(6, 5))
# at points of the grid and outside of it
P, Q = np.array([0.0, 0.3, 0.7, 1.6, 3.9, 4.0, 4.5, -0.7]), np.array([-1.0, 0.1, 0.4, 0.5, 1.9, 2.0, 2.2, -1.3])

LINE = interpolate.InterpolatedUnivariateSpline(X, Z[:, 0], ext=3)
QUARTIC = interpolate.InterpolatedUnivariateSpline(X, Z[:, 0], k=4)
SMOOTH = interpolate.UnivariateSpline(X, Z[:, 0], s=0.3)
THROUGH = interpolate.make_interp_spline(X, Z[:, 0], k=5)
NEAR = interpolate.make_lsq_spline(X, Z[:, 0], np.array([0, 0, 0, 0, 2, 4, 4, 4, 4], float))
SURFACE = interpolate.RectBivariateSpline(X, Y, Z)
ROUGH = interpolate.RectBivariateSpline(X, Y, Z, kx=1)
SMOOTH_SURFACE = interpolate.RectBivariateSpline(X, Y, Z, s=0.5)
QUADRATIC = interpolate.RectBivariateSpline(X, Y, Z, kx=2)


def on_grid(kx, ky, dx, dy):
    return lambda z, p, q: interpolate.RectBivariateSpline(X, Y, z, kx=kx, ky=ky).ev(p, q, dx, dy)


def on_line(ext):
    def f(z, p, q):
        spline = interpolate.UnivariateSpline(X, z[:, 0], s=0, ext=ext)
        lines = interpolate.InterpolatedUnivariateSpline(X, z[:, 0], k=1, ext=ext)
        return spline(p) * spline(p, 1) + lines(p) * spline.derivative()(p) + lines(p, ext="zeros")

    return f


def integrals(z, p, q):
    spline = interpolate.UnivariateSpline(X, z[:, 0], s=0)
    lines = interpolate.UnivariateSpline(X, z[:, 0], k=1, s=0)
    whole = spline.integral(p[1], p[6]) + spline.integral(p[4], p[7]) + lines.derivative().integral(p[1], p[3])
    return spline.antiderivative()(p) * whole


def through(z, p, q):
    spline, lines = interpolate.make_interp_spline(X, z[:, 0]), interpolate.make_interp_spline(X, z[:, 0], k=1)
    natural = interpolate.make_interp_spline(X, z[:, 0], bc_type="natural")
    clamped = interpolate.make_interp_spline(X, z[:, 0], bc_type="clamped")
    return spline(p) + lines(p) * natural(p, 1) + clamped.derivative(2)(p) + spline.integrate(p[1], p[3])


def numbers(z, p, q):
    spline = interpolate.RectBivariateSpline(list(X), list(Y), z)
    return spline(p[1], q[1], grid=False) + spline.ev(p[2], q) + spline.partial_derivative(1, 1)(p, q, dy=1, grid=False)


def of_lists(z, p, q):
    rows = [[1, 2, 3, 4], [2, 4, 1, 0], [0, 0, 1, 2], [3, 2, 1, 0]]
    line = interpolate.UnivariateSpline([0, 1, 3, 4], [1, 4, 2, 3], s=0)
    return interpolate.RectBivariateSpline([0, 1, 2, 3], [0, 1, 3, 4], rows).ev(p, q) * line(p)


def from_outside(z, p, q):
    lines = LINE(p) * SMOOTH(p, 1) + QUARTIC(p, 2) + SMOOTH(p, ext=1) + SMOOTH.derivative()(q)
    splines = THROUGH(p) * NEAR(p, 1) + THROUGH.derivative()(q)
    surfaces = SURFACE.ev(p, q) * ROUGH.ev(p, q, dy=2) + SMOOTH_SURFACE(p, q, 1, 1, grid=False)
    return lines + splines + surfaces


TAKEN = {
    **{
        f"degrees {kx} {ky}, derivative {dx} {dy}": on_grid(kx, ky, dx, dy)
        for kx, ky, dx, dy in ((1, 1, 0, 0), (1, 3, 0, 2), (3, 1, 1, 0), (3, 3, 0, 0), (3, 3, 1, 1), (3, 3, 2, 1))
    },
    **{f"outside {ext}": on_line(ext) for ext in (0, 1, "const")},
    "knots": lambda z, p, q: interpolate.RectBivariateSpline(X + p[:6] / 99, Y + q[:5] / 99, z)(p, q, 1, grid=False),
    "grid": lambda z, p, q: interpolate.RectBivariateSpline(X, Y, z, [None] * 4, 3, 1, 0)(np.sort(p), np.sort(q), dx=2),
    "grid of one": lambda z, p, q: interpolate.RectBivariateSpline(X, Y, z)(p[1], q[1]),
    "broadcast": lambda z, p, q: interpolate.RectBivariateSpline(X, Y, z).ev(p.reshape(2, 4), q[:4]),
    "grid from outside": lambda z, p, q: SURFACE(np.sort(p), np.sort(q), dx=1),
    "numbers": numbers,
    "lists": of_lists,
    "integrals": integrals,
    "B-splines": through,
    "from outside": from_outside,
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name):
    function, step, rng = TAKEN[name], 1e-5, np.random.default_rng(1)
    at_knots, _ = adjit.vjp(function, Z, P, Q, target="python")
    np.testing.assert_allclose(at_knots, function(Z, P, Q), rtol=1e-10, atol=1e-11)
    args = (Z, P + 0.0371, Q + 0.0293)
    value, pullback = adjit.vjp(function, *args, target="python")
    expected = function(*args)
    assert np.shape(value) == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-11)
    seed = rng.normal(size=np.shape(expected))
    for k, bar in enumerate(pullback(seed)):
        way = rng.normal(size=args[k].shape)
        above, below = (function(*args[:k], args[k] + s * way, *args[k + 1 :]) for s in (step, -step))
        wanted = np.sum(seed * (above - below)) / (2.0 * step)
        assert np.sum(bar * way) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_slope_at_the_edge():
    spline = interpolate.RectBivariateSpline(X, Y, Z)
    for p, q in ((X[0], 0.3), (X[-1], 0.3), (1.0, Y[0]), (1.0, Y[-1])):
        found = adjit.grad(lambda p, q: interpolate.RectBivariateSpline(X, Y, Z).ev(p, q), wrt=(0, 1))(p, q)
        np.testing.assert_allclose(found, (spline.ev(p, q, dx=1), spline.ev(p, q, dy=1)), rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda z: interpolate.RectBivariateSpline(X, Y, z, kx=2).ev(1.0, 1.0), adjit.AdjitError, "degree"),
        (lambda z: interpolate.RectBivariateSpline(X, Y, z, s=1.0).ev(1.0, 1.0), adjit.AdjitError, "smooths"),
        (lambda z: interpolate.RectBivariateSpline(X, Y, z, [0, 5, -1, 2]).ev(1.0, 1.0), adjit.AdjitError, "bbox"),
        (lambda z: interpolate.RectBivariateSpline(X, Y, z).ev(1.0, 1.0, dx=3), ValueError, "order of a derivative"),
        (lambda z: interpolate.RectBivariateSpline(X, Y, z[:3]).ev(1.0, 1.0), ValueError, "same number of elements"),
        (lambda z: interpolate.RectBivariateSpline(X, Y, z)([2.0, 1.0], 1.0)[0, 0], ValueError, "in order"),
        (
            lambda z: interpolate.RectBivariateSpline(X[:3], Y, z[:3]).ev(1.0, 1.0),
            ValueError,
            "more samples than its degree",
        ),
        (lambda z: z[0, 0] * QUADRATIC.ev(z[0, 0], 1.0), adjit.AdjitError, "degrees"),
        (lambda z: interpolate.UnivariateSpline(X, z[:, 0])(1.0), adjit.AdjitError, "smooths"),
        (lambda z: interpolate.UnivariateSpline(X, z[:, 0], w=X, s=0)(1.0), adjit.AdjitError, "`w`"),
        (lambda z: interpolate.UnivariateSpline(X, z[:, 0], s=0, ext=2)(5.0), ValueError, "outside of the samples"),
        (lambda z: interpolate.InterpolatedUnivariateSpline(X, z[:, 0], k=2)(1.0), adjit.AdjitError, "degree"),
        (lambda z: interpolate.make_interp_spline(X, z[:, 0], bc_type="periodic")(1.0), adjit.AdjitError, "natural"),
        (lambda z: interpolate.make_lsq_spline(X, z[:, 0], X)(1.0), adjit.AdjitError, "fitted to samples"),
    ],
)
def test_refused(function, error, says):
    with pytest.raises(error) as raised:
        adjit.grad(function, target="python")(Z)
    assert says in str(raised.value)
