"""What the elementary functions should give: mpmath's values, and the arguments at which they are compared.

Errors are counted in units in the last place (ulp) of the exact value, in the format of the result.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath
import numpy as np
from numba import njit

from adjit.runtime import vectormath

DTYPES = (np.float64, np.float32)


@dataclass(frozen=True)
class Row:
    """`exact` takes mpmath's numbers; `numpy` says what is right at inf, nan and the signs of zeros; the sample is
    uniform in `ranges` and logarithmic between `magnitudes`, with both signs where `is_signed`."""

    exact: Callable[[Any], Any]
    numpy: Callable[[Any], Any]
    ranges: tuple[tuple[float, float], ...]
    is_signed: bool = True
    ulps: float = 1.0


def _elementwise(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return lambda x: np.array([function(e) for e in x], x.dtype)


ROWS = {
    "exp": Row(mpmath.exp, np.exp, ((-745.2, 709.8), (-104, 88.8), (-1, 1), (-745.2, -708))),
    "exp2": Row(lambda x: mpmath.power(2, x), np.exp2, ((-1075, 1024), (-150, 128), (-1, 1), (-1075, -1022))),
    "expm1": Row(mpmath.expm1, np.expm1, ((-40, 709.8), (-18, 88.8), (-1, 1), (-0.01, 0.01))),
    "log": Row(mpmath.log, np.log, ((0.5, 2), (0.99, 1.01), (0, 10)), False),
    "log1p": Row(mpmath.log1p, np.log1p, ((-0.999999, 3), (-0.3, 0.45), (-0.001, 0.001))),
    "log2": Row(lambda x: mpmath.log(x) / mpmath.ln2, np.log2, ((0.5, 2), (0.99, 1.01), (0, 10)), False),
    "log10": Row(lambda x: mpmath.log(x) / mpmath.ln10, np.log10, ((0.5, 2), (0.99, 1.01), (0, 1000)), False),
    "sinh": Row(mpmath.sinh, np.sinh, ((-710.5, 710.5), (-89.5, 89.5), (-2, 2), (-0.1, 0.1))),
    "cosh": Row(mpmath.cosh, np.cosh, ((-710.5, 710.5), (-89.5, 89.5), (-2, 2), (-0.1, 0.1))),
    "tanh": Row(mpmath.tanh, np.tanh, ((-20, 20), (-1, 1), (-0.01, 0.01))),
    "erf": Row(mpmath.erf, _elementwise(math.erf), ((-6, 6), (-1.1, 1.1), (0.8, 1.0))),
    "erfc": Row(
        lambda x: mpmath.erfc(x) if abs(x) < 1000 else mpmath.mpf(1) - mpmath.sign(x),
        _elementwise(math.erfc),
        ((-6, 6), (-1.1, 1.1), (0.8, 1.0), (0, 27), (26.5, 27.3)),
        ulps=2.0,
    ),
}
CORNERS = (0.0, 1.0, 2.0, 0.5, 40.0, 600.0, 800.0, 1e5, math.inf, math.nan, 709.78271289338397, 709.782712893384)
CORNERS += (710.4758600739439, 744.4400719213812, 745.1332191019411, 745.1332191019412, 708.3964185322641, 1024.0)
CORNERS += (1022.0, 1074.0, 1075.0, 6.0, 0.84, 26.543, 27.226, 27.5, 2.0**-28, 2.0**-54, 0.5**0.5, 2.0**0.5, 88.72284)
CORNERS += (103.97208, 89.4159, 1023.999)


@cache
def compiled(function: Any) -> Any:
    """numba's loop over an array, into another."""

    @njit
    def each(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    return each


def values(name: str, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    compiled(getattr(vectormath, name))(x, out)
    return out


def corners(dtype: Any) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = [dtype(c) for c in CORNERS] + [info.max, info.tiny, info.smallest_subnormal, info.eps, 3 * info.tiny / 7]
    ends = np.array(sizes, dtype)
    around = np.concatenate([ends, np.nextafter(ends, dtype(0)), np.nextafter(ends, dtype(np.inf))])
    return np.concatenate([around, -around])


def sample(row: Row, dtype: Any, count: int, seed: int) -> np.ndarray:
    """Of all ranges and of all magnitudes, subnormal ones included."""
    random = np.random.default_rng(seed)
    info = np.finfo(dtype)
    parts = [random.uniform(low, high, count) for low, high in row.ranges]
    logs = random.uniform(np.log2(float(info.smallest_subnormal)), np.log2(float(info.max)), count)
    sizes = np.exp2(logs.astype(np.longdouble))
    parts.append(sizes * random.choice((-1, 1), count) if row.is_signed else sizes)
    with np.errstate(all="ignore"):
        found = np.concatenate(parts).astype(dtype)
    return found[np.isfinite(found)]


def worst_error(row: Row, x: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    """The largest error in ulps where x is finite and the function is defined, and the argument that has it."""
    return max(_errors(row, x, y), default=(0.0, None))


def _errors(row: Row, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[float, Any]]:
    info = np.finfo(x.dtype)
    for argument, value in zip(x, y, strict=True):
        if not np.isfinite(argument):
            continue
        with mpmath.workprec(300):
            exact = row.exact(mpmath.mpf(float(argument)))
            if not isinstance(exact, mpmath.mpf) or mpmath.isinf(exact):
                continue
            unit = _unit(exact, info)
            overflow = mpmath.mpf(2) ** info.maxexp
            if np.isinf(value):
                # as if the exponent had no bound
                value_ = overflow * int(np.sign(value))
                exact = min(max(exact, -overflow), overflow)
            else:
                value_ = mpmath.mpf(float(value))
            yield (math.inf if np.isnan(value) else float(abs(value_ - exact) / unit)), argument


def _unit(exact: Any, info: Any) -> Any:
    smallest = mpmath.mpf(float(info.smallest_subnormal))
    if exact == 0:
        return smallest
    exponent = min(mpmath.frexp(exact)[1], info.maxexp)
    return max(mpmath.mpf(2) ** (exponent - info.nmant - 1), smallest)
