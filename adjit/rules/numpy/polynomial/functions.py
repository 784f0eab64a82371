"""Polynomials: their roots, values and products; those of numpy.polynomial, too, whose lowest power comes first.

In: the arguments of the NumPy function; axes, orders and constants are static. Out: what it returns. Zeros are cut off
where NumPy does so: how many coefficients there are then depends on the values.

    np.roots(p)      roots = np.roots(p);  roots_dot[k] = -polyval(p_dot, roots[k]) / polyval(polyder(p), roots[k])
"""

import numpy as np
import numpy.polynomial.polynomial as of_lowest_first
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polyutils

from adjit.rules.numpy.arrays import common_dtype
from adjit.rules.numpy.axes import float_type, one_axis
from adjit.rules.numpy.complex_numbers import complex_of, parts
from adjit.rules.numpy.real_or_complex import complex_roots, real_roots, roots_of_real
from adjit.rules.registry import builtin

decomposition, tangent = builtin.decomposition, builtin.tangent
of_complex, in_parts = builtin.of_complex, builtin.in_parts


def horner(highest_first, x):
    if np.ndim(x) == 0:
        found = 0.0 * x
        for k in range(highest_first.shape[0]):
            found = found * x + highest_first[k]
        return found
    out = 0.0 * x
    for k in range(highest_first.shape[0]):
        out[...] = out * x + highest_first[k]
    return out


# --------------------------------------------------------------------------------------------------------------- roots


@tangent(real_roots)
def real_roots_dot(p, p_dot, *, y):
    # of simple roots: inf or nan where two are one
    return -horner(p_dot, y) / horner(np.polyder(p), y)


@tangent(complex_roots)
def complex_roots_dot(real, imag, real_dot, imag_dot, *, y):
    return moved_roots(complex_of(real, imag), complex_of(real_dot, imag_dot), y)


@tangent(roots_of_real)
def roots_of_real_dot(p, p_dot, *, y):
    return moved_roots(complex_of(p, np.zeros_like(p)), complex_of(p_dot, np.zeros_like(p_dot)), y)


def moved_roots(p, p_dot, y):
    roots = complex_of(y[0], y[1])
    slopes = of_complex_numbers(p[:-1] * np.arange(p.size - 1, 0, -1), roots)
    moved = -of_complex_numbers(p_dot, roots) / slopes
    return moved.real, moved.imag


def of_complex_numbers(p, x):
    """The values of a polynomial."""
    found = 0.0 * x
    for k in range(p.size):
        found[...] = found * x + p[k]
    return found


def as_coefficients(p):
    if np.ndim(p) != 1:
        raise NotImplementedError("np.roots of a value that is not a vector of coefficients")
    return p if p.dtype.kind == "f" else p.astype(np.float64)


decomposition(np.roots)(lambda p: real_roots(as_coefficients(p)))
in_parts(np.roots)(lambda p: complex_of(*roots_of_real(as_coefficients(p))))


@of_complex(np.roots)
def roots_of_complex(p):
    return complex_of(*complex_roots(*parts(p)))


@decomposition(of_lowest_first.polyroots)
def polyroots(c):
    return np.sort(np.roots(c[::-1]))


def product_of(roots, is_highest_first):
    """The coefficients of the product of all x - root."""
    out = np.zeros(roots.size + 1, float_type(roots))
    out[0] = 1.0
    for k in range(roots.size):
        out[1 : k + 2] -= roots[k] * out[: k + 1].copy()
    return out if is_highest_first else out[::-1].copy()


@decomposition(np.poly)
def poly(seq_of_zeros):
    zeros = np.asarray(seq_of_zeros)
    if zeros.ndim != 1:
        raise NotImplementedError("np.poly of a matrix: give its eigenvalues, np.poly(np.linalg.eigvals(A))")
    return product_of(zeros, True)


decomposition(of_lowest_first.polyfromroots)(lambda roots: product_of(roots, False))

# ----------------------------------------------------------------------------------------------- of highest power first

decomposition(np.polyval)(lambda p, x: horner(p, x))


@decomposition(np.polyder)
def polyder(p, m=1):
    found = p
    for _ in tuple(range(m)):
        found = found[:-1] * np.arange(found.size - 1, 0, -1)
    return found


@decomposition(np.polyint)
def polyint(p, m=1, k=None):
    found = p
    for step in tuple(range(m)):
        constant = 0.0 if k is None else k if np.ndim(k) == 0 else k[step]
        found = np.append(found / np.arange(found.size, 0, -1), constant)
    return found


def as_long(a, n):
    """The same polynomial with so many coefficients."""
    out = np.zeros(n, a.dtype)
    out[n - a.size :] = a
    return out


decomposition(np.polyadd)(
    lambda a1, a2: as_long(a1, max(a1.size, a2.size)) + as_long(a2, max(a1.size, a2.size))
)
decomposition(np.polysub)(
    lambda a1, a2: as_long(a1, max(a1.size, a2.size)) - as_long(a2, max(a1.size, a2.size))
)
decomposition(np.polymul)(lambda a1, a2: np.convolve(np.trim_zeros(a1, "f"), np.trim_zeros(a2, "f")))


@decomposition(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    if full or cov:
        raise NotImplementedError("np.polyfit with `full` or `cov`")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    powers = np.vander(x, deg + 1)
    weights = np.ones(x.size) if w is None else w
    rows = powers * weights.reshape(-1, 1)
    sizes = np.sqrt(np.sum(rows * rows, axis=0))
    found = np.linalg.lstsq(rows / sizes, y * (weights if y.ndim == 1 else weights.reshape(-1, 1)))[0]
    return found / (sizes if y.ndim == 1 else sizes.reshape(-1, 1))



@decomposition(np.polydiv)
def polydiv(u, v):
    given, by = np.atleast_1d(u), np.atleast_1d(v)
    m, n = given.size - 1, by.size - 1
    quotient = np.zeros(max(m - n + 1, 1), common_dtype((given, by, np.zeros(0, np.float32))))
    rest = given.astype(quotient.dtype)
    for k in range(m - n + 1):
        quotient[k] = rest[k] / by[0]
        rest[k + 1 : k + n + 1] -= quotient[k] * by[1:]
        rest[k] = 0.0
    # what NumPy takes for zero
    start = 0
    while start < m and np.abs(rest[start]) <= 1e-8:
        start += 1
    return quotient, rest[start:].copy()


# ------------------------------------------------------------------------------------------------ of lowest power first


def length_of(c):
    """How many coefficients there are without the zeros at the end; one at least."""
    n = c.size
    while n > 1 and c[n - 1] == 0:
        n -= 1
    return n


decomposition(polyutils.trimseq)(lambda seq: seq[: length_of(seq)])


def as_floats(c):
    """The coefficients without the zeros at the end, in an array of floats of its own."""
    given = np.atleast_1d(c)
    if given.ndim != 1 or given.dtype.kind == "c":
        raise NotImplementedError("polynomials with a matrix of coefficients, or with complex ones")
    return given[: length_of(given)].astype(float_type(given))


@decomposition(polyutils.as_series)
def as_series(alist, trim=True):
    if not trim:
        raise NotImplementedError("as_series without `trim`")
    return [as_floats(np.asarray(c)) for c in alist]


def sum_of(c1, c2, sign):
    left, right = as_floats(c1), as_floats(c2)
    out = np.zeros(max(left.size, right.size), common_dtype((left, right)))
    out[: left.size] += left
    out[: right.size] += sign * right
    return out[: length_of(out)].copy()


decomposition(of_lowest_first.polyadd)(lambda c1, c2: sum_of(c1, c2, 1))
decomposition(of_lowest_first.polysub)(lambda c1, c2: sum_of(c1, c2, -1))


@decomposition(of_lowest_first.polymul)
def polymul_of_lowest_first(c1, c2):
    out = np.convolve(as_floats(c1), as_floats(c2))
    return out[: length_of(out)].copy()


@decomposition(of_lowest_first.polymulx)
def polymulx(c):
    return np.append(np.zeros(1, float_type(c)), c)


@decomposition(of_lowest_first.polydiv)
def polydiv_of_lowest_first(c1, c2):
    left, right = as_floats(c1), as_floats(c2)
    n = right.size
    if right[n - 1] == 0:
        raise ZeroDivisionError("a division of a polynomial by zero")
    rest = left.astype(common_dtype((left, right)))
    quotient = np.zeros(max(rest.size - n + 1, 1), rest.dtype)
    for step in range(rest.size - n + 1):
        k = rest.size - n - step
        quotient[k] = rest[k + n - 1] / right[n - 1]
        rest[k : k + n - 1] -= quotient[k] * right[: n - 1]
        rest[k + n - 1] = 0.0
    return quotient, rest[: length_of(rest)].copy()


@decomposition(of_lowest_first.polyder)
def polyder_of_lowest_first(c, m=1, scl=1, axis=0):
    axis = one_axis(axis, c.ndim)
    rows = np.moveaxis(c, axis, 0)
    count = rows.shape[0] - m
    out = np.zeros((max(count, 1),) + rows.shape[1:], float_type(c))
    for k in range(count):
        factor = 1.0
        for j in range(m):
            factor *= (k + 1 + j) * scl
        out[k] = factor * rows[k + m]
    return np.moveaxis(out, 0, axis)


@decomposition(of_lowest_first.polyint)
def polyint_of_lowest_first(c, m=1, k=(), lbnd=0, scl=1, axis=0):
    axis = one_axis(axis, c.ndim)
    constants = (k,) if np.ndim(k) == 0 else k
    found = np.moveaxis(c, axis, 0)
    for step in tuple(range(m)):
        found = integral(found, constants[step] if step < len(constants) else 0.0, lbnd, scl)
    return np.moveaxis(found, 0, axis)


def integral(c, constant, lbnd, scl):
    n = c.shape[0]
    is_zero = n == 1 and bool(np.all(c[0] == 0))
    out = np.zeros((n if is_zero else n + 1,) + c.shape[1:], float_type(c))
    if is_zero:
        out[0] = c[0] + constant
    else:
        out[1:] = scl * c / np.arange(1, n + 1).reshape((n,) + (1,) * (c.ndim - 1))
        out[0] = constant - of_lowest_first.polyval(lbnd, out)
    return out


@decomposition(of_lowest_first.polyval)
def polyval_of_lowest_first(x, c, tensor=True):
    if np.ndim(c) == 1:
        return horner(c[::-1], x)
    # each column is a polynomial: for all of x, or with `tensor=False` for its own
    rows = c.reshape(c.shape + (1,) * np.ndim(x)) if tensor else c
    out = rows[-1] + 0.0 * x
    for k in range(1, rows.shape[0]):
        out[...] = rows[rows.shape[0] - 1 - k] + out * x
    return out


# --------------------------------------------------------------------------------------- of orthogonal polynomials


def clenshaw(x, c, tensor, slope, share):
    """The sum of c[k] P[k](x), where P[k + 1] = slope(k, x) P[k] - share(k) P[k - 1] and P[0] = 1."""
    rows = c.reshape(c.shape + (1,) * np.ndim(x)) if tensor and np.ndim(c) > 1 else c
    now = 0.0 * rows[0] + 0.0 * x
    last = now
    for k in range(rows.shape[0] - 1, -1, -1):
        now, last = rows[k] + slope(k, x) * now - share(k + 1) * last, now
    return now


@decomposition(chebyshev.chebval)
def chebval(x, c, tensor=True):
    return clenshaw(x, c, tensor, lambda k, x: (2.0 if k > 0 else 1.0) * x, lambda k: 1.0)


@decomposition(legendre.legval)
def legval(x, c, tensor=True):
    return clenshaw(x, c, tensor, lambda k, x: (2 * k + 1) / (k + 1) * x, lambda k: k / (k + 1))


@decomposition(laguerre.lagval)
def lagval(x, c, tensor=True):
    return clenshaw(x, c, tensor, lambda k, x: (2 * k + 1 - x) / (k + 1), lambda k: k / (k + 1))


@decomposition(hermite.hermval)
def hermval(x, c, tensor=True):
    return clenshaw(x, c, tensor, lambda k, x: 2.0 * x, lambda k: 2 * k)


@decomposition(hermite_e.hermeval)
def hermeval(x, c, tensor=True):
    return clenshaw(x, c, tensor, lambda k, x: x, lambda k: k)


builtin.as_of_real(chebyshev.chebval, legendre.legval, laguerre.lagval, hermite.hermval, hermite_e.hermeval)
