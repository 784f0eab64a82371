"""NumPy's objects that are polynomials: `Polynomial`, the lowest power first, and `poly1d`, the highest power first.

In: coefficients. Out: an object that is called, differentiated, integrated, added and multiplied as NumPy's.

    Polynomial([a, b])(x)      a + b * x
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial, polynomial

from adjit.rules.numpy.axes import float_type
from adjit.rules.registry import builtin

decomposition = builtin.decomposition


def in_a_vector(given):
    found = np.atleast_1d(np.asarray(given))
    if found.dtype.kind == "c" or found.ndim != 1:
        raise NotImplementedError("a polynomial with complex coefficients, or with coefficients in a matrix")
    return found


def as_coefficients(given):
    found = in_a_vector(given)
    return found.astype(float_type(found))


@dataclass(frozen=True)
class LowestFirst:
    """As NumPy's `Polynomial`, whose domain is its window."""

    coef: Any

    def __call__(self, arg):
        return polynomial.polyval(arg, self.coef)

    def deriv(self, m=1):
        return LowestFirst(polynomial.polyder(self.coef, m))

    def integ(self, m=1, k=(), lbnd=None):
        return LowestFirst(polynomial.polyint(self.coef, m, k, 0 if lbnd is None else lbnd))

    def __neg__(self):
        return LowestFirst(-self.coef)

    def degree(self):
        return self.coef.size - 1

    def roots(self):
        return polynomial.polyroots(self.coef)

    def __add__(self, other):
        return LowestFirst(polynomial.polyadd(self.coef, lowest_first(other)))

    def __radd__(self, other):
        return LowestFirst(polynomial.polyadd(lowest_first(other), self.coef))

    def __sub__(self, other):
        return LowestFirst(polynomial.polysub(self.coef, lowest_first(other)))

    def __rsub__(self, other):
        return LowestFirst(polynomial.polysub(lowest_first(other), self.coef))

    def __mul__(self, other):
        return LowestFirst(polynomial.polymul(self.coef, lowest_first(other)))

    def __rmul__(self, other):
        return LowestFirst(polynomial.polymul(lowest_first(other), self.coef))

    def __truediv__(self, other):
        return LowestFirst(self.coef / other)

    def __pow__(self, other):
        found = LowestFirst(np.ones(1))
        for _ in tuple(range(other)):
            found = found * self
        return found


def lowest_first(other):
    return other.coef if isinstance(other, (LowestFirst, Polynomial)) else as_coefficients(other)


@decomposition(Polynomial)
def made_polynomial(coef, domain=None, window=None, symbol="x"):
    if domain is not None or window is not None:
        raise NotImplementedError("a Polynomial with a domain or a window: scale the argument, p(scale * x + start)")
    return LowestFirst(as_coefficients(coef))


@decomposition(Chebyshev.__call__)
def called(self, arg):
    # the method of all classes of numpy.polynomial
    if not isinstance(self, Polynomial):
        raise NotImplementedError("a series of this kind: convert it, p.convert(kind=Polynomial)")
    start, stop = self.domain
    first, last = self.window
    scale = (last - first) / (stop - start)
    return polynomial.polyval(first + scale * (arg - start), self.coef)


@decomposition(Polynomial.fit)
def fit(x, y, deg):
    raise NotImplementedError("Polynomial.fit: write np.polyval(np.polyfit(x, y, deg), x)")


@dataclass(frozen=True)
class HighestFirst:
    """As NumPy's `poly1d`."""

    c: Any

    @property
    def coef(self):
        return self.c

    @property
    def coeffs(self):
        return self.c

    @property
    def order(self):
        return self.c.size - 1

    @property
    def roots(self):
        return np.roots(self.c)

    def __neg__(self):
        return HighestFirst(-self.c)

    def __call__(self, val):
        return np.polyval(self.c, val)

    def deriv(self, m=1):
        return without_zeros(np.polyder(self.c, m))

    def integ(self, m=1, k=None):
        return without_zeros(np.polyint(self.c, m, k))

    def __add__(self, other):
        return without_zeros(np.polyadd(self.c, highest_first(other)))

    def __radd__(self, other):
        return without_zeros(np.polyadd(highest_first(other), self.c))

    def __sub__(self, other):
        return without_zeros(np.polysub(self.c, highest_first(other)))

    def __rsub__(self, other):
        return without_zeros(np.polysub(highest_first(other), self.c))

    def __mul__(self, other):
        return without_zeros(np.polymul(self.c, highest_first(other)))

    def __rmul__(self, other):
        return without_zeros(np.polymul(highest_first(other), self.c))


def highest_first(other):
    return other.c if isinstance(other, (HighestFirst, np.poly1d)) else as_coefficients(other)


def without_zeros(coefficients):
    """The polynomial without leading zeros; one of zeros alone keeps one."""
    found = np.trim_zeros(coefficients, "f")
    return HighestFirst(found if found.size > 0 else np.zeros(1, coefficients.dtype))


@decomposition(np.poly1d)
def made_poly1d(c_or_r, r=False, variable=None):
    if isinstance(c_or_r, (HighestFirst, np.poly1d)):
        return HighestFirst(c_or_r.c)
    # in the memory of what it is made of
    return without_zeros(np.poly(as_coefficients(c_or_r)) if r else in_a_vector(c_or_r))


decomposition(np.poly1d.__call__)(lambda self, val: np.polyval(self.coeffs, val))
