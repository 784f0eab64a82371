"""Integrals of functions to a tolerance: quad and dblquad.

In: the arguments of the function of scipy.integrate. Out: the integral and an estimate of its error. Intervals are
halved where the estimate is largest, by the rules of Gauss and Kronrod with 10 and 21 nodes (Piessens et al., QUADPACK,
1983), to a hundredth of the tolerance, with nothing differentiated; the sum over those intervals is then made again. So
a derivative is that of the sum, which is the integral of the derivative on the same nodes; ends, and places given as
`points`, move the nodes with them, so that a jump that moves is seen where its place is one of `points`.

    s, e = quad(f, a, b)      parts = stop_gradient(parts of [0, 1])
                              s = the sum of w[j] * (b - a) * f(a + (b - a) * u[j]) over them
"""

import numpy as np
import scipy.integrate as si

from adjit.rules.registry import builtin
from adjit.runtime.library.hints import stop_gradient

decomposition = builtin.decomposition

# the positive nodes on [-1, 1], their weights, and those of Gauss's rule at every second one
_NODES = (
    0.995657163025808080735527280689, 0.973906528517171720077964012084, 0.930157491355708226001207180060,
    0.865063366688984510732096688423, 0.780817726586416897063717578345, 0.679409568299024406234327365115,
    0.562757134668604683339000099273, 0.433395394129247190799265943166, 0.294392862701460198131126603104,
    0.148874338981631210884826001130,
)
_WEIGHTS = (
    0.011694638867371874278064396062, 0.032558162307964727478818972459, 0.054755896574351996031381300245,
    0.075039674810919952767043140916, 0.093125454583697605535065465083, 0.109387158802297641899210590326,
    0.123491976262065851077958109585, 0.134709217311473325928054001772, 0.142775938577060080797094273139,
    0.147739104901338491374841515972,
)
_OF_GAUSS = (
    0.066671344308688137593568809893, 0.149451349150580593145863396958, 0.219086362515982043995534934228,
    0.269266719309996355091226921569, 0.295524224714752870173815619189,
)
_MIDDLE = 0.149445554002916905664936468390


def _both_sides(values, middle):
    return np.array([*values, middle, *values[::-1]])


# of the interval from 0 to 1
SHARES = 0.5 + 0.5 * np.array([*(-v for v in _NODES), 0.0, *_NODES[::-1]])
WEIGHTS = 0.5 * _both_sides(_WEIGHTS, _MIDDLE)
OF_GAUSS = 0.5 * _both_sides([w for pair in zip([0.0] * 5, _OF_GAUSS, strict=True) for w in pair], 0.0)


def bounds_of(a, b, points):
    """Where pieces begin and end, in order: the ends, the points between them, and 0 on the way from -inf to inf."""
    if points is None:
        return np.array([a, 0.0, b]) if a == -np.inf and b == np.inf else np.array([a, b])
    if a == -np.inf or b == np.inf:
        raise ValueError("Infinity inputs cannot be used with break points.")
    inside = np.asarray(points) * 1.0
    between = np.sort(inside[(inside > a) & (inside < b)])
    return np.concatenate((np.array([a]), between, np.array([b])))


def at_share(u, low, high):
    """The place at a share of a piece, and how fast it moves there; pieces without an end go by (1 - u) / u."""
    if high == np.inf:
        place, speed = low + (1.0 - u) / u, 1.0 / (u * u)
    elif low == -np.inf:
        place, speed = high - (1.0 - u) / u, 1.0 / (u * u)
    else:
        place, speed = low + (high - low) * u, high - low
    return place, speed


def estimated(f, low, high, start, width):
    """The integral over a part of a piece, and an estimate of its error."""
    values = np.zeros(SHARES.size)
    whole, by_gauss, absolute = 0.0, 0.0, 0.0
    for j in range(SHARES.size):
        place, speed = at_share(start + width * SHARES[j], low, high)
        values[j] = speed * f(place)
        whole += WEIGHTS[j] * values[j]
        by_gauss += OF_GAUSS[j] * values[j]
        absolute += WEIGHTS[j] * abs(values[j])
    spread = 0.0
    for j in range(SHARES.size):
        spread += WEIGHTS[j] * abs(values[j] - whole)
    error, spread, absolute = abs((whole - by_gauss) * width), spread * width, absolute * width
    if spread != 0.0 and error != 0.0:
        error = spread * min(1.0, (200.0 * error / spread) ** 1.5)
    return whole * width, max(error, 1.1e-14 * absolute)


def parts_of(f, bounds, absolute, relative, most):
    """The parts: of which piece, from which share on, and how wide; and the error. ValueError if that stays large."""
    pieces = bounds.size - 1
    piece = np.zeros(most + pieces, np.int64)
    start, width, sums, errors = (np.zeros(most + pieces) for _ in range(4))
    for k in range(pieces):
        piece[k], width[k] = k, 1.0
        sums[k], errors[k] = estimated(f, bounds[k], bounds[k + 1], 0.0, 1.0)
    count = pieces
    total, error = np.sum(sums), np.sum(errors)
    while error > 0.01 * max(absolute, relative * abs(total)) and count < most:
        worst = 0
        for k in range(count):
            if errors[k] > errors[worst]:
                worst = k
        low, high = bounds[piece[worst]], bounds[piece[worst] + 1]
        width[worst] *= 0.5
        piece[count], width[count] = piece[worst], width[worst]
        start[count] = start[worst] + width[worst]
        sums[worst], errors[worst] = estimated(f, low, high, start[worst], width[worst])
        sums[count], errors[count] = estimated(f, low, high, start[count], width[count])
        count += 1
        total, error = np.sum(sums), np.sum(errors)
    if not error <= max(absolute, relative * abs(total)):
        raise ValueError("quad: the integral does not reach its tolerance: it may diverge, or be singular inside")
    return piece[:count].copy(), start[:count].copy(), width[:count].copy(), error


def summed(f, bounds, piece, start, width):
    total = 0.0
    for k in range(piece.size):
        low, high = bounds[piece[k]], bounds[piece[k] + 1]
        for j in range(SHARES.size):
            place, speed = at_share(start[k] + width[k] * SHARES[j], low, high)
            total += WEIGHTS[j] * width[k] * speed * f(place)
    return total


def integral(f, a, b, absolute, relative, most, points):
    """From a to b, a below b; and an estimate of its error."""
    bounds = bounds_of(a, b, points)
    piece, start, width, error = stop_gradient(parts_of(f, bounds, absolute, relative, most))
    return summed(f, bounds, piece, start, width), error


@decomposition(si.quad)
def quad(
    func,
    a,
    b,
    args=(),
    full_output=0,
    epsabs=1.49e-8,
    epsrel=1.49e-8,
    limit=50,
    points=None,
    weight=None,
    wvar=None,
    wopts=None,
    maxp1=50,
    limlst=50,
    complex_func=False,
):
    if full_output:
        raise NotImplementedError("scipy.integrate.quad with full_output: leave it out")
    if weight is not None:
        raise NotImplementedError("scipy.integrate.quad with a weight: multiply the function by it")
    if complex_func:
        raise NotImplementedError("scipy.integrate.quad of a complex function: integrate its two parts")
    f = (lambda x: func(x, *args)) if isinstance(args, tuple) else (lambda x: func(x, args))
    first, last = float(a), float(b)
    if first == last:
        return 0.0 * (last - first), 0.0
    sign = 1.0 if first < last else -1.0
    low, high = (first, last) if first < last else (last, first)
    value, error = integral(f, low, high, epsabs, epsrel, 10 * limit, points)
    return sign * value, error


def bound_at(bound, x):
    return bound(x) if callable(bound) else bound


@decomposition(si.dblquad)
def dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    def inner(x):
        below, above = bound_at(gfun, x), bound_at(hfun, x)
        return quad(lambda y: func(y, x, *args), below, above, epsabs=epsabs, epsrel=epsrel)[0]

    return quad(inner, a, b, epsabs=epsabs, epsrel=epsrel)
