"""SciPy's functions of arrays: the forms and options that rows of the table do not have, by their values."""

import numpy as np
import pytest
from scipy import interpolate, linalg, signal
from scipy.signal import windows

import adjit

A = np.random.default_rng(0).normal(size=(4, 4))
S = A @ A.T + np.eye(4)
B = A[:, :2].copy()
X, Y = np.array([0.0, 0.7, 1.5, 2.0, 3.1]), np.array([0.3, -1.0, 0.5, 0.4, 2.0])
T = np.array([[-0.5, 0.2, 0.7], [1.9, 3.0, 4.0]])


def assert_same(f, *args):
    """The value is SciPy's."""
    got, _ = adjit.vjp(f, *args, target="python")
    expected = f(*args)
    for mine, right in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
        assert np.shape(mine) == np.shape(right)
        np.testing.assert_allclose(mine, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("trans", "lower", "unit"), [(0, False, True), (1, True, False), ("T", False, False)])
def test_triangles(trans, lower, unit):
    def f(a, b):
        return linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)

    assert_same(f, A + 3.0 * np.eye(4), B)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: linalg.solve(a, b, assume_a="sym"),
        lambda a, b: linalg.solve(a, b, transposed=True),
        lambda a, b: linalg.solve(a, b, assume_a="upper triangular"),
        lambda a, b: linalg.solve_banded((1, 1), [[0, 1, 1, 1], [-4, 3, -4, 5], [1, 1, 2, 0]], b),
        lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1),
        lambda a, b: linalg.lu(a),
        lambda a, b: linalg.lu(a, permute_l=True),
        lambda a, b: linalg.qr(b, mode="economic"),
        lambda a, b: linalg.expm(30.0 * a) / linalg.norm(linalg.expm(30.0 * a)),
        lambda a, b: linalg.norm(a, "fro") + linalg.norm(a, axis=0, keepdims=True),
        lambda a, b: linalg.block_diag(a, [1.0, 2.0], 3.0 * a[0, 0]),
        lambda a, b: linalg.lstsq(b, a)[:2],
        lambda a, b: linalg.sqrtm(linalg.expm(a)) + linalg.norm(a, axis=(0, 1)),
        lambda a, b: linalg.solveh_banded(np.stack([a[0] + 9.0, a[1], a[2]]), b, lower=True),
    ],
)
def test_linear_algebra(f):
    assert_same(f, A, B)


def test_triangles_that_are_not_read():
    garbage = S + np.tril(np.ones((4, 4)), -1)
    assert_same(lambda a: linalg.cholesky(a), garbage)
    assert_same(lambda a, b: linalg.eigh(a, b, lower=False, eigvals_only=True), A, garbage)


@pytest.mark.parametrize("bc", ["not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.4))])
@pytest.mark.parametrize("n", [2, 3])
def test_splines(bc, n):
    assert_same(lambda x, y, t: interpolate.CubicSpline(x, y, bc_type=bc)(t), X[:n], Y[:n], T)


def test_splines_from_outside():
    spline, slope = interpolate.PchipInterpolator(X, Y), interpolate.CubicSpline(X, Y).derivative()
    lines = interpolate.interp1d(X, Y, bounds_error=False, fill_value=0.5)
    assert_same(lambda t: spline(t) + slope(t) * lines(t) + spline(t, 1), T)


@pytest.mark.parametrize("kind", ["cubic", "nearest", "previous", "next"])
def test_kinds(kind):
    assert_same(lambda x, y, t: interpolate.interp1d(x, y, kind, bounds_error=False, fill_value=0.7)(t), X, Y, T)
    assert_same(lambda x, y, t: interpolate.interp1d(x, y, kind)(x), X, Y, T)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_monotone_splines(n):
    def f(x, y, t):
        spline = interpolate.PchipInterpolator(x, y)
        return spline(t) + spline.derivative()(t) + spline.antiderivative()(t) + spline.integrate(0.1, 0.5)

    assert_same(f, X[:n], Y[:n], T)
    if n > 2:
        assert_same(lambda x, y, t: interpolate.Akima1DInterpolator(x, y)(t), X[:n], Y[:n], T)


def test_grids():
    values = np.cos(np.arange(125.0)).reshape(5, 5, 5)

    def f(x, v, t):
        whole = interpolate.RegularGridInterpolator((x, x, x), v)
        plane = interpolate.RegularGridInterpolator((x, x), v[0], bounds_error=False)
        line = interpolate.RegularGridInterpolator((x,), v[0, 0], bounds_error=False, fill_value=None)
        return (
            whole((abs(t), abs(t[0]), 0.3)) + plane((t, t[::-1])) + line(t.ravel()).reshape(t.shape) + line([t[0, 0]])
        )

    assert_same(f, X, values, T[:, :2])
    with pytest.raises(ValueError, match="out of bounds"):
        adjit.vjp(f, X, values, 9.0 * T[:, :2], target="python")


def test_lines():
    assert_same(lambda x, y, t: interpolate.interp1d(x, y, bounds_error=False, fill_value=(0.0, 1.0))(t), X, Y, T)
    with pytest.raises(ValueError, match="interpolation range"):
        adjit.vjp(lambda x, y, t: interpolate.interp1d(x, y)(t), X, Y, T, target="python")


def all_windows(x, sym):
    n = x.size
    plain = [
        windows.hann(n, sym), windows.hamming(n, sym), windows.blackman(n, sym), windows.nuttall(n, sym),
        windows.blackmanharris(n, sym), windows.flattop(n, sym), windows.boxcar(n, sym), windows.triang(n, sym),
        windows.bartlett(n, sym), windows.cosine(n, sym), windows.parzen(n, sym), windows.tukey(n, sym=sym),
        windows.tukey(n, 0.0, sym), windows.tukey(n, 1.5, sym), windows.gaussian(n, 2.0, sym),
        windows.exponential(n, sym=sym), windows.kaiser(n, 5.0, sym), windows.chebwin(n, 60, sym=sym),
        windows.general_hamming(n, 0.6, sym), windows.general_cosine(n, [0.5, 0.3, 0.2], sym),
    ]  # fmt: skip
    named = [
        signal.get_window("hann", n), signal.get_window("parz", n, fftbins=sym), signal.get_window(4.0, n),
        signal.get_window(("chebwin", 70.0), n, not sym), windows.exponential(n, 1.5, 2.0, False),
    ]  # fmt: skip
    return x[0] * np.array(plain), x[0] * np.array(named)


@pytest.mark.parametrize("f", [lambda x: all_windows(x, True), lambda x: all_windows(x, False)])
def test_windows_whose_length_is_known_at_run_time(f):
    for length in (1, 2, 5, 6):
        assert_same(f, np.linspace(0.5, 1.0, length))


def test_windows_of_constants_and_by_unknown_names():
    assert_same(lambda x: x * signal.get_window(("dpss", 2.0), 5) * signal.get_window("bohman", 5), Y)
    with pytest.raises(adjit.AdjitError, match="of this name"):
        adjit.vjp(lambda x: x * signal.get_window("hamming_", x.size), Y, target="python")
    with pytest.raises(adjit.AdjitError, match="NW must be less"):
        adjit.vjp(lambda x: x * signal.get_window(("dpss", 2.5), 5), Y, target="python")
    with pytest.raises(ValueError, match="center must be None"):
        adjit.vjp(lambda x: x * windows.exponential(x.size, 2.0), Y, target="python")


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda a: linalg.logm(a), "symmetric"),
        (lambda a: linalg.orth(a), "not unique"),
        (lambda a: linalg.eig(a)[0], "np.linalg.eig"),
        (lambda a: linalg.eigh(a, subset_by_index=[0, 1]), "adjit takes"),
        (lambda a: linalg.qr(a, pivoting=True), "leave it out"),
        (lambda a: signal.lfilter(a[0], a[1], a[2], zi=a[3]), "recurrence"),
        (lambda a: interpolate.CubicSpline(a[0], a[1], bc_type="periodic")(0.5), "natural"),
        (lambda a: interpolate.UnivariateSpline(a[0], a[1])(0.5), "knows s=0"),
        (lambda a: interpolate.splev(0.5, interpolate.splrep(a[0], a[1])), "RegularGridInterpolator"),
    ],
)
def test_what_is_refused(f, match):
    with pytest.raises(adjit.AdjitError, match=match):
        adjit.vjp(f, S, target="python")
