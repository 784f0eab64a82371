"""SciPy's special functions: slopes against mpmath's, arrays, single precision, kept code, saved files, refusals."""

import os
import subprocess
import sys
import warnings

import mpmath
import numpy as np
import pytest
from scipy import special

import adjit
from adjit.rules.incomplete_gamma import betainc_by_a, betainc_by_b, gammainc_by_a, hurwitz
from tests.programs.harness import check
from tests.rules.scipy_rows import NUMBERS

mpmath.mp.dps = 40


def exact_slope(function, x):
    return float(mpmath.diff(function, mpmath.mpf(x), h=mpmath.mpf(10) ** -12))


# ------------------------------------------------------------------------------------------------------------ accuracy

# Where formulas lose their digits: far out, and near points where they are quotients of zeros.
AGAINST_MPMATH = [
    (special.gammaln, mpmath.loggamma, (1e-6, 0.5, 3.0, 1e5)),
    (special.expit, lambda x: 1 / (1 + mpmath.exp(-x)), (-40.0, 0.3, 36.0)),
    (special.log_expit, lambda x: -mpmath.log1p(mpmath.exp(-x)), (-40.0, 0.3, 36.0)),
    (special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-2.0, 1.0, 9.9, 10.1, 100.0, 1e6)),
    (
        special.dawsn,
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
        (0.4, 9.9, -10.1, 30.0),
    ),
    (special.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), (-30.0, -8.0, -0.5, 0.0, 4.0, 8.0)),
    (special.ndtri, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), (1e-3, 0.5, 0.99)),
    (special.exprel, lambda x: mpmath.expm1(x) / x, (-3.0, 1e-9, 0.99, 1.01, 20.0)),
    (special.ellipk, mpmath.ellipk, (-3.0, 1e-9, 0.24, 0.26, 0.99)),
    (special.ellipe, mpmath.ellipe, (-3.0, 1e-9, 0.24, 0.26, 0.99)),
    (special.spence, lambda z: mpmath.polylog(2, 1 - z), (0.1, 0.99, 1.01, 1.6, 5.0)),
    (special.psi, mpmath.digamma, (-1.7, 0.02, 1.46, 50.0)),
    (special.i1e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), (0.01, 2.0, 20.0)),
    (special.k1, lambda x: mpmath.besselk(1, x), (0.01, 2.0, 20.0)),
]


@pytest.mark.parametrize(("ours", "exact", "points"), AGAINST_MPMATH, ids=[row[0].__name__ for row in AGAINST_MPMATH])
def test_slopes(ours, exact, points):
    slope = adjit.grad(lambda x: ours(x), target="python")
    for x in points:
        # what cancels in i1e and erfcx leaves that much
        assert slope(x) == pytest.approx(exact_slope(exact, x), rel=1e-12), x


@pytest.mark.parametrize("m", [-2.0, 1e-9, 0.04, 0.06, 0.9])
@pytest.mark.parametrize("ours, exact", [(special.ellipkinc, mpmath.ellipf), (special.ellipeinc, mpmath.ellipe)])
def test_elliptic_integrals_by_the_parameter(ours, exact, m):
    for phi in (0.3, 1.2, 4.0):
        got = adjit.grad(lambda phi, m: ours(phi, m), wrt=1, target="python")(phi, m)
        # at the join 1 / m digits are lost
        assert got == pytest.approx(exact_slope(lambda s: exact(phi, s), m), rel=1e-11)


@pytest.mark.parametrize("lmbda", [-1.3, -1e-7, 0.0, 1e-9, 0.4, 2.0])
def test_box_and_cox_by_the_power(lmbda):
    def exact(p):
        return mpmath.log(3.5) if p == 0 else (mpmath.mpf(3.5) ** p - 1) / p

    got = adjit.grad(lambda x, p: special.boxcox(x, p), wrt=1, target="python")(3.5, lmbda)
    expected = float(mpmath.log(3.5) ** 2 / 2) if lmbda == 0 else exact_slope(exact, lmbda)
    assert got == pytest.approx(expected, rel=1e-12, abs=0 if lmbda == 0 else 1e-12)


@pytest.mark.parametrize("a", [0.05, 1.0, 2.5, 60.0, 2000.0])
def test_gammainc_by_its_parameter(a):
    for ratio in (0.3, 0.99, 1.01, 3.0):
        x = a * ratio
        expected = exact_slope(lambda s: mpmath.gammainc(s, 0, mpmath.mpf(x), regularized=True), a)  # noqa: B023
        if abs(expected) > 1e-200:
            assert gammainc_by_a(a, x) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("a, b", [(0.05, 4.0), (0.7, 0.7), (1.0, 1.0), (2.5, 30.0), (60.0, 1.0), (300.0, 250.0)])
def test_betainc_by_its_parameters(a, b):
    for x in (0.2, a / (a + b), 0.8):
        by_a = exact_slope(lambda s: mpmath.betainc(s, b, 0, mpmath.mpf(x), regularized=True), a)  # noqa: B023
        by_b = exact_slope(lambda s: mpmath.betainc(a, s, 0, mpmath.mpf(x), regularized=True), b)  # noqa: B023
        # mpmath's own differences are of numbers near 1
        assert betainc_by_a(a, b, x) == pytest.approx(by_a, rel=1e-11, abs=1e-26)
        assert betainc_by_b(a, b, x) == pytest.approx(by_b, rel=1e-11, abs=1e-26)


def of_whole_parameters(x):
    return special.gammainc(2, x) + special.gammaincc(3, x) + special.betainc(2, 3, x)


def test_whole_parameters():
    # their slopes by the parameters, which nobody asks for, are of integers
    slope = adjit.grad(of_whole_parameters, target="python")(0.4)
    exact = sum_of_densities(0.4)
    assert abs(slope - exact) <= 1e-13 * abs(exact)


def of_whole_numbers(x):
    total = 0.0
    for k in range(1, 4):
        total += (special.psi(k) + special.polygamma(1, k)) * x
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_of_whole_numbers(target):
    value, slope = adjit.value_and_grad(of_whole_numbers, target=target)(0.4)
    assert abs(value - of_whole_numbers(0.4)) <= 1e-14
    assert abs(slope - of_whole_numbers(1.0)) <= 1e-14


def sum_of_densities(x):
    gammas = x * np.exp(-x) - x**2 * np.exp(-x) / 2.0
    return gammas + 12.0 * x * (1.0 - x) ** 2


@pytest.mark.parametrize("x", [1.01, 1.5, 2.0, 4.0, 30.0])
def test_zeta(x):
    for q in (0.01, 0.5, 1.0, 7.3, 1e4):
        assert hurwitz(x, q) == pytest.approx(special.zeta(x, q), rel=1e-13)


def test_poles_and_ends():
    assert np.isnan(gammainc_by_a(-1.0, 2.0))
    assert gammainc_by_a(2.0, 0.0) == gammainc_by_a(2.0, np.inf) == 0.0
    assert betainc_by_a(2.0, 3.0, 0.0) == betainc_by_b(2.0, 3.0, 1.0) == 0.0
    assert np.isnan(betainc_by_a(2.0, -3.0, 0.5))


# ------------------------------------------------------------------------------------------------------ special points


def test_zero_log_zero():
    def gradient(f, *args):
        return adjit.grad(f, wrt=(0, 1), target="python")(*args)

    with np.errstate(all="ignore"):
        assert gradient(lambda x, y: special.xlogy(x, y), 0.0, 0.0) == (-np.inf, 0.0)
        assert gradient(lambda x, y: special.xlogy(x, y), 0.0, 2.0) == (np.log(2.0), 0.0)
        assert gradient(lambda x, y: special.xlog1py(x, y), 0.0, -1.0) == (-np.inf, 0.0)
        assert gradient(lambda x, y: special.rel_entr(x, y), 0.0, 2.0) == (-np.inf, 0.0)
        assert gradient(lambda x, y: special.kl_div(x, y), 0.0, 2.0) == (-np.inf, 1.0)
        assert gradient(lambda x, y: special.rel_entr(x, y), 0.0, 0.0) == (0.0, 0.0)
        assert gradient(lambda x, y: special.kl_div(x, y), 0.0, 0.0) == (0.0, 1.0)
        mixed = adjit.grad(adjit.grad(lambda x, y: special.xlogy(x, y), wrt=1, target="python"), target="python")
        assert mixed(0.0, 2.0) == 0.5


def test_exponentials_of_any_size():
    a = np.array([1000.0, 1001.0, -np.inf])
    share = 1.0 / (1.0 + np.exp(-1.0))
    value, slope = adjit.value_and_grad(lambda a: special.logsumexp(a), target="python")(a)
    assert value == pytest.approx(special.logsumexp(a), rel=1e-15)
    np.testing.assert_allclose(slope, [1.0 - share, share, 0.0], rtol=1e-13)
    value, _ = adjit.value_and_grad(lambda a: special.logsumexp(a), target="python")(np.full(2, -np.inf))
    assert value == -np.inf


# ------------------------------------------------------------------------------------------- as they are used, compiled


def of_parameters(a, b, x):
    return np.sum(special.gammainc(a, x) * special.betaincc(a, b, x / 2) + special.gammaincinv(b, x / 3))


def test_by_parameters():
    check(of_parameters, lambda: (1.3, 2.1, np.array([0.4, 1.1])), (0, 1, 2), second=False, target="cpu")


def test_broadcasting():
    def f(x, y, n):
        c = special.xlogy(x, y) + special.expit(y) * special.jv(n, x)
        return special.betaln(c**2 + 1.0, y + 0.5)

    check(f, lambda: (np.array([[0.5], [1.2]]), np.array([0.3, 0.8, 2.0]), 2), (0, 1), second=False, target="cpu")


def test_numbers_compiled():
    rows = NUMBERS[::4]
    functions = tuple(row.function for row in rows)
    points = tuple(row.sample(np.random.default_rng(k)) for k, row in enumerate(rows))

    def total(points):
        found = 0.0
        for function, point in zip(functions, points):
            found += function(*point)
        return found

    check(total, lambda: (points,), second=False, target="cpu")


def test_single_precision():
    x = np.array([0.3, 0.7], np.float32)
    value, slope = adjit.value_and_grad(lambda x: np.sum(special.gammaln(x) * special.erfinv(x)))(x)
    exact = adjit.grad(lambda x: np.sum(special.gammaln(x) * special.erfinv(x)), target="python")(x.astype(float))
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, exact, rtol=1e-6)
    sums, _ = adjit.vjp(lambda x: special.logsumexp(x, axis=1), x.reshape(1, 2))
    assert sums.dtype == np.float32


def test_lists_and_orders_in_arrays():
    def f(x, y):
        shares = special.softmax([x, y, 1.0])
        return special.logsumexp([x, y]) * shares[0] + np.sum(special.polygamma(np.array([0, 1, 2]), y))

    check(f, lambda: (0.4, 1.3), (0, 1))


def test_output_array():
    def f(x):
        out = np.empty(x.size)
        special.psi(x, out=out)
        return out @ out

    check(f, lambda: (np.array([0.5, 1.7]),), second=False)


def test_a_users_variable_may_have_the_name_of_a_function():
    def f(psi, gamma):
        return special.gammaln(psi) * gamma + special.gamma(gamma)

    check(f, lambda: (1.3, 2.1), (0, 1), target="cpu")


PROGRAM = """
import sys
import numpy as np
from scipy import special
import adjit

def likelihood(r, p, counts):
    return np.sum(special.gammaln(counts + r) - special.gammaln(r)) + special.gammainc(r, p) + special.polygamma(1, p)

print(*adjit.grad(likelihood, wrt=(0, 1), cache=True)(1.5, 0.4, np.arange(4.0)))
print(adjit.cache_info().hits, file=sys.stderr)
"""


def test_machine_code_is_kept(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    (tmp_path / "cache").mkdir(mode=0o700)
    environment = {**os.environ, "ADJIT_CACHE_DIR": str(tmp_path / "cache"), "ADJIT_VERIFY": "", "ADJIT_CACHE": ""}
    first, second = (
        subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout == second.stdout
    assert (first.stderr.strip(), second.stderr.strip()) == ("0", "1")


@pytest.mark.parametrize("tuned", [False, True])
def test_a_saved_file_needs_scipy_alone(tmp_path, tuned):
    def f(x, n):
        return special.gammaln(x) * special.jv(n, x) + special.eval_hermite(n, x) + special.gammainc(x, 1.0)

    gradient = adjit.grad(f)
    gradient.save(tmp_path / "saved.py", 1.5, 2, tuned=tuned)
    text = (tmp_path / "saved.py").read_text()
    assert "# It needs SciPy" in text
    namespace = {}
    exec(compile(text, "saved.py", "exec"), namespace)
    assert namespace["f_grad"](1.5, 2) == pytest.approx(gradient(1.5, 2), rel=1e-15)


def test_adjit_imports_no_special_functions(tmp_path):
    path = tmp_path / "program.py"
    # what numba finds of other packages, rocket-fft for one, may import it when it first compiles
    path.write_text("import sys, adjit\nprint('scipy.special' in sys.modules)\n")
    found = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_numpys_bessel_function_in_a_program_without_scipy(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import adjit, numpy as np\nf = lambda x: np.i0(x)\nprint(adjit.grad(f, target='python')(0.5))\n")
    found = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert float(found.stdout) == pytest.approx(special.i1(0.5), rel=1e-15)


# ------------------------------------------------------------------------------------------------------------- refusals


def test_the_order_is_to_be_held_fixed():
    def f(n, x):
        return special.jv(n, x)

    with pytest.raises(adjit.NoRule, match="scipy.special.jv has no derivative rule for its argument `v`") as found:
        adjit.grad(f)(1.5, 2.0)
    assert "stop_gradient" in str(found.value)
    assert "in f" in str(found.value)
    expected = (special.jv(0.5, 2.0) - special.jv(2.5, 2.0)) / 2
    assert adjit.grad(f, wrt=1)(1.5, 2.0) == pytest.approx(expected, rel=1e-14)


def test_second_derivatives_by_parameters_are_refused():
    def f(a, x):
        return special.gammainc(a, x)

    with pytest.raises(adjit.NoRule, match="gammainc"):
        adjit.grad(adjit.grad(f))(1.5, 2.0)
    mixed = adjit.grad(adjit.grad(f), wrt=1, target="python")(1.5, 2.0)
    assert mixed == pytest.approx(adjit.grad(adjit.grad(f, wrt=1), target="python")(1.5, 2.0), rel=1e-10)


def test_functions_without_a_rule_are_computed_and_refused():
    def f(x, n):
        return x * special.mathieu_a(n, 2.0)

    assert adjit.grad(f)(3.0, 1) == pytest.approx(special.mathieu_a(1, 2.0))
    with pytest.raises(adjit.NoRule, match="scipy.special.mathieu_a"):
        adjit.grad(lambda x: special.mathieu_a(1, x))(3.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: special.comb(5, x, exact=True),
        lambda x: special.logsumexp(x, return_sign=True),
        lambda x: special.airy(x)[0],
    ],
)
def test_what_is_not_taken(function):
    with warnings.catch_warnings(), pytest.raises(adjit.AdjitError):
        warnings.simplefilter("ignore")
        adjit.grad(function, target="python")(2.0)
