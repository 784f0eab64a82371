"""Ops with derivative zero or none: what rounds, compares, counts, or gives integers or shapes; and what is refused.

    k = np.searchsorted(table, x)      no derivative flows through k
"""

import builtins
import math
import operator
from typing import Any

import numpy as np

from adjit.rules.registry import builtin
from adjit.runtime.library.hints import held, stop_gradient

constant = builtin.constant

constant(stop_gradient, held)

# ------------------------------------------------------------------------------------------------------------- rounding

constant(builtins.round, operator.floordiv, np.floor_divide, np.round, np.around)
constant(math.floor, math.ceil, math.trunc, np.floor, np.ceil, np.trunc, np.rint)
constant(np.sign, np.signbit, np.spacing)

# ------------------------------------------------------------------------------------ comparison, logic, integers, bits

constant(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
constant(operator.is_, operator.is_not, operator.not_, operator.truth, operator.contains)
constant(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
constant(np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
constant(operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift)
constant(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift)
constant(math.gcd, np.gcd, np.lcm)
constant(math.isnan, math.isinf, math.isfinite, np.isnan, np.isinf, np.isfinite, np.isnat)
constant(np.isneginf, np.isposinf, np.isreal, np.iscomplex, np.isrealobj, np.iscomplexobj, np.isscalar)
constant(np.angle, np.imag)  # of real numbers; complex ones are the compiler's own


@builtin.general(np.angle)
def angle(z: Any, deg: Any = False) -> Any:
    if not isinstance(deg, (bool, int)):
        raise NotImplementedError("np.angle with a `deg` that is neither True nor False")
    return np.angle(z, bool(deg))


constant(np.array_equal, np.isin, np.all, np.any)


@builtin.decomposition(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    # where `b` is infinite, so is what is allowed
    found = ((abs(a - b * 1.0) <= atol + rtol * abs(b)) & np.isfinite(b)) | (a == b)
    if equal_nan:
        return found | ((a != a) & (b != b))
    return found


@builtin.decomposition(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


builtin.as_of_real(np.isclose, np.allclose)

# ------------------------------------------------------------------------------------------------- positions and counts

constant(np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.argwhere)
constant(np.flatnonzero, np.count_nonzero, np.searchsorted, np.digitize)
constant(np.shape, np.size, np.broadcast_shapes, np.linalg.matrix_rank)

# ---------------------------------------------------------------------------------------------- arrays made of integers

constant(np.eye, np.identity)
constant(np.bartlett, np.blackman, np.hamming, np.hanning)

# ------------------------------------------------------------------------- refused, with what to write in its place

BY_VALUE = "whose result is real or complex, depending on its values"
INSTEAD = {
    np.emath.sqrt: f"np.emath.sqrt, {BY_VALUE}: write np.sqrt(x + 0j)",
    np.emath.log: f"np.emath.log, {BY_VALUE}: write np.log(x + 0j)",
    np.emath.log2: f"np.emath.log2, {BY_VALUE}: write np.log2(x + 0j)",
    np.emath.log10: f"np.emath.log10, {BY_VALUE}: write np.log10(x + 0j)",
    np.emath.power: f"np.emath.power, {BY_VALUE}: write (x + 0j) ** p",
    np.emath.arccos: f"np.emath.arccos, {BY_VALUE}: write np.arccos(x + 0j)",
    np.emath.arcsin: f"np.emath.arcsin, {BY_VALUE}: write np.arcsin(x + 0j)",
    np.emath.arctanh: f"np.emath.arctanh, {BY_VALUE}: write np.arctanh(x + 0j)",
    np.ma.MaskedArray: "a masked array: keep the mask in a separate array, as in np.sum(x, where=mask) or x[mask]",
    np.ma.array: "a masked array: keep the mask in a separate array, as in np.sum(x, where=mask) or x[mask]",
    np.ma.masked_where: "a masked array: keep the mask in a separate array, as in np.sum(x, where=mask) or x[mask]",
    np.ma.masked_invalid: "a masked array: keep the mask in a separate array, as in np.sum(x, where=np.isfinite(x))",
    np.matrix: "np.matrix, whose * is a matrix product: use an array, and @",
    np.asmatrix: "np.matrix, whose * is a matrix product: use an array, and @",
    np.packbits: "np.packbits, which returns integers: call it before the function, and pass its result",
    np.unpackbits: "np.unpackbits, of integers: call it before the function, and pass its result",
}


def refusing(message: str) -> Any:
    def rule(*args: Any, **named: Any) -> Any:
        raise NotImplementedError(message)

    return rule


for callee, message in INSTEAD.items():
    builtin.decomposition(callee)(refusing(message))
