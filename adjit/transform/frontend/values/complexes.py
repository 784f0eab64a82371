"""Complex numbers as pairs of real ones, arrays of them as pairs of arrays; derivatives are those of the parts.

In: numbers, of which one is complex. Out: a pair of real operands, or a real one. No operation makes a value of a
complex type, for nothing could differentiate it: complex arguments and constants are taken apart where they come in.

    z * w    (z.real * w.real - z.imag * w.imag,  z.real * w.imag + z.imag * w.real)
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.numbers import Complex, Number, dtype, operands_in
from adjit.transform.ir.types import part_of, typed_const
from adjit.transform.source.callables import sign_of, spoken

Side = Callable[[], Number]


def apart(ctx: Context, value: ir.Operand, name: str = "") -> Complex:
    """The parts of a number of a complex type: an argument, or an element of one. It is held fixed."""
    assert isinstance(value.type, types.Complex)
    part, name = part_of(value.type), name or ir.name_of(value, "value")
    return Complex(
        ctx.builder.call(np.real, value, type=part, name=f"{name}_real"),
        ctx.builder.call(np.imag, value, type=part, name=f"{name}_imag"),
    )


def make(ctx: Context, real: ir.Operand, imag: ir.Operand | None = None) -> Complex:
    """The pair of two real numbers, as floats of one type."""
    type_ = _float(real.type)
    if imag is None:
        return Complex(scalars.cast(ctx, real, type_), typed_const(0.0, type_))
    wider = scalars.wider(type_, _float(imag.type))
    return Complex(scalars.cast(ctx, real, wider), scalars.cast(ctx, imag, wider))


def _float(type_: types.Type) -> types.Type:
    return type_ if isinstance(type_, types.Float) else types.float64


def promote(ctx: Context, value: Number) -> Complex:
    return value if isinstance(value, Complex) else make(ctx, value)


def cast(ctx: Context, value: Number, type_: types.Type) -> Number:
    """`value` as a number of a type that may be complex."""
    if isinstance(type_, types.Complex):
        pair, part = promote(ctx, value), part_of(type_)
        return Complex(scalars.cast(ctx, pair.real, part), scalars.cast(ctx, pair.imag, part))
    return scalars.cast(ctx, real(ctx, value), type_)


def real(ctx: Context, value: Number) -> ir.Operand:
    """A number that has to be real."""
    if isinstance(value, Complex):
        raise ctx.mismatch("a complex number instead of a real one", "Take its .real, .imag or abs().")
    return value


def chosen(ctx: Context, condition: ir.Operand, then: Side, orelse: Side, name: str = "value") -> Number:
    """A conditional expression; `then` and `orelse` are functions that emit and return their side's number."""
    if isinstance(condition, ir.Const):
        return then() if condition.value else orelse()
    sides: list[tuple[list[ir.Op], Number]] = []
    for side in (then, orelse):
        with ctx.builder.region() as ops:
            sides.append((ops, side()))
    type_ = scalars.common(ctx, *(dtype(value) for _, value in sides))
    regions: list[ir.Region] = []
    for ops, value in sides:
        with ctx.builder.region() as casts:
            yields = operands_in(cast(ctx, value, type_))
        regions.append(ir.Region((), (*ops, *casts), yields))
    outs: tuple[ir.Var, ...] = (ir.Var(name, type_),)
    if isinstance(type_, types.Complex):
        outs = tuple(ir.Var(f"{name}_{part}", part_of(type_)) for part in ("real", "imag"))
    ctx.builder.emit(ir.If(condition=condition, then=regions[0], orelse=regions[1], outs=outs))
    return Complex(*outs) if len(outs) == 2 else outs[0]


def branch(
    ctx: Context, condition: ir.Operand, then: scalars.Side, orelse: scalars.Side, name: str = "value"
) -> ir.Operand:
    """A conditional expression of real numbers."""
    return real(ctx, chosen(ctx, condition, then, orelse, name))


def _branch(ctx: Context, condition: ir.Operand, then: Side, orelse: Side, name: str) -> Complex:
    return promote(ctx, chosen(ctx, condition, then, orelse, name))


# ------------------------------------------------------------------------------------------------------------- calls

_BINARY = {
    "add": operator.add, "sub": operator.sub, "subtract": operator.sub, "mul": operator.mul, "multiply": operator.mul,
    "truediv": operator.truediv, "divide": operator.truediv, "true_divide": operator.truediv, "pow": operator.pow,
    "power": operator.pow, "eq": operator.eq, "equal": operator.eq, "ne": operator.ne, "not_equal": operator.ne,
}  # fmt: skip


def is_known(callee: Any, count: int) -> bool:
    """Whether `call` has the function of so many numbers."""
    name = getattr(callee, "__name__", "")
    if getattr(callee, "__module__", "") == "math":
        # it takes none
        return False
    return name in _FUNCTIONS if count == 1 else count == 2 and (name in _BINARY or callee in (cmath.rect, cmath.log))


def call(ctx: Context, callee: Any, args: Sequence[Number], name: str = "") -> Number:
    """The call of a function of numbers, real or complex."""
    if not any(isinstance(a, Complex) for a in args) and getattr(callee, "__module__", "") != "cmath":
        return scalars.scalar(ctx, callee, [real(ctx, a) for a in args], name)
    known = getattr(callee, "__name__", str(callee))
    if len(args) == 2 and known in _BINARY:
        return binary(ctx, _BINARY[known], args[0], args[1])
    if callee is cmath.log and len(args) == 2:
        return binary(ctx, operator.truediv, *(_log(ctx, promote(ctx, a)) for a in args))
    if callee is cmath.rect and len(args) == 2:
        return _turned(ctx, real(ctx, args[0]), real(ctx, args[1]))
    if len(args) == 1:
        return function(ctx, known, promote(ctx, args[0]))
    raise ctx.no_rule(f"{spoken(callee)} of complex numbers")


def binary(ctx: Context, callee: Any, left: Number, right: Number) -> Number:
    if callee is operator.pow:
        return _power(ctx, left, right)
    a, b = promote(ctx, left), promote(ctx, right)
    is_pair, is_by_pair = isinstance(left, Complex), isinstance(right, Complex)
    if callee in (operator.add, operator.sub):
        return _by_parts(ctx, callee, a, b)
    if callee is operator.mul:
        if is_pair == is_by_pair:
            return _times(ctx, a, b)
        return _by_parts(ctx, callee, a if is_pair else a.real, b if is_by_pair else b.real)
    if callee is operator.truediv:
        if not is_by_pair:
            return _by_parts(ctx, callee, a, b.real)
        # by parts of a number of size 1, whose squares neither overflow nor vanish
        size = _size(ctx, b)
        unit = _by_parts(ctx, callee, b, size)
        return _by_parts(ctx, callee, _times(ctx, a, conjugate(ctx, unit)), size)
    if callee in (operator.eq, operator.ne):
        same = _by_parts(ctx, callee, a, b)
        return _call(ctx, operator.and_ if callee is operator.eq else operator.or_, same.real, same.imag)
    raise ctx.unsupported(f"`{sign_of(callee)}` of complex numbers", "Write it with real and imaginary parts.")


def unary(ctx: Context, callee: Any, value: Complex) -> Number:
    if callee in (operator.pos, operator.neg, operator.not_):
        return function(ctx, callee.__name__, value)
    raise ctx.unsupported(f"`{sign_of(callee)}` of a complex number", "Write it with real and imaginary parts.")


def truth(ctx: Context, value: Number) -> ir.Operand:
    """The boolean that Python's `if` makes of a number."""
    if not isinstance(value, Complex):
        return scalars.truth(ctx, value)
    return _call(ctx, operator.or_, scalars.truth(ctx, value.real), scalars.truth(ctx, value.imag))


def conjugate(ctx: Context, value: Complex) -> Complex:
    return Complex(value.real, _call(ctx, operator.neg, value.imag))


def function(ctx: Context, name: str, value: Complex) -> Number:
    """A function of one complex number by the name that NumPy and cmath give it."""
    found = _FUNCTIONS.get(name)
    if found is None:
        raise ctx.no_rule(f"{name} of complex numbers")
    return found(ctx, value)


# ------------------------------------------------------------------------------------------------------- functions


def _size(ctx: Context, z: Complex) -> ir.Operand:
    return _call(ctx, math.hypot, z.real, z.imag)


def _angle(ctx: Context, z: Complex) -> ir.Operand:
    return _call(ctx, math.atan2, z.imag, z.real)


def _turned(ctx: Context, size: ir.Operand, angle: ir.Operand) -> Complex:
    """The number of that size and angle."""
    return make(ctx, _mul(ctx, size, _call(ctx, math.cos, angle)), _mul(ctx, size, _call(ctx, math.sin, angle)))


def _exp(ctx: Context, z: Complex) -> Complex:
    return _turned(ctx, _call(ctx, math.exp, z.real), z.imag)


def _log(ctx: Context, z: Complex) -> Complex:
    return Complex(_call(ctx, math.log, _size(ctx, z)), _angle(ctx, z))


def _exp2(ctx: Context, z: Complex) -> Complex:
    return _exp(ctx, _by_parts(ctx, operator.mul, z, typed_const(math.log(2.0), z.real.type)))


def _expm1(ctx: Context, z: Complex) -> Complex:
    """`expm1(x) cos(y) - 2 sin(y / 2)^2` and `exp(x) sin(y)`: near 0 no digits cancel."""
    half, two = (typed_const(v, z.real.type) for v in (0.5, 2.0))
    sine = _call(ctx, math.sin, _mul(ctx, half, z.imag))
    turned = _mul(ctx, _call(ctx, math.expm1, z.real), _call(ctx, math.cos, z.imag))
    real = _call(ctx, operator.sub, turned, _mul(ctx, two, _mul(ctx, sine, sine)))
    return Complex(real, _mul(ctx, _call(ctx, math.exp, z.real), _call(ctx, math.sin, z.imag)))


def _log1p(ctx: Context, z: Complex) -> Complex:
    """`log1p(x (2 + x) + y^2) / 2` and the angle of 1 + z."""
    half, one, two = (typed_const(v, z.real.type) for v in (0.5, 1.0, 2.0))
    more = _call(ctx, operator.add, one, z.real)
    square = _mul(ctx, z.real, _call(ctx, operator.add, two, z.real))
    square = _call(ctx, operator.add, square, _mul(ctx, z.imag, z.imag))
    return Complex(_mul(ctx, half, _call(ctx, math.log1p, square)), _call(ctx, math.atan2, z.imag, more))


def _log_to_base(base: float) -> Callable[[Context, Complex], Complex]:
    return lambda ctx, z: _by_parts(ctx, operator.truediv, _log(ctx, z), typed_const(math.log(base), z.real.type))


def _sqrt(ctx: Context, z: Complex) -> Complex:
    """The principal root: t + i y / 2t with t = sqrt((|z| + x) / 2), and the other way round where x is negative."""
    half, two, zero = (typed_const(v, z.real.type) for v in (0.5, 2.0, 0.0))
    size = _size(ctx, z)

    def over_twice(y: ir.Operand, t: ir.Operand) -> ir.Operand:
        return _call(ctx, operator.truediv, y, _mul(ctx, two, t))

    def right() -> Complex:
        t = _call(ctx, math.sqrt, _mul(ctx, half, _call(ctx, operator.add, size, z.real)))
        is_above = _call(ctx, operator.gt, t, zero)
        # at 0 the imaginary part is itself 0
        return Complex(t, branch(ctx, is_above, lambda: over_twice(z.imag, t), scalars.ready(z.imag)))

    def left() -> Complex:
        t = _call(ctx, math.sqrt, _mul(ctx, half, _call(ctx, operator.sub, size, z.real)))
        return Complex(over_twice(_call(ctx, abs, z.imag), t), _call(ctx, math.copysign, t, z.imag))

    return _branch(ctx, _call(ctx, operator.ge, z.real, zero), right, left, "root")


def _crossed(
    first: Any, second: Any, third: Any, fourth: Any, sign: Any = None
) -> Callable[[Context, Complex], Complex]:
    """`first(x) second(y) + i third(x) fourth(y)`; `sign`: neg, of the imaginary part."""

    def function(ctx: Context, z: Complex) -> Complex:
        real = _mul(ctx, _call(ctx, first, z.real), _call(ctx, second, z.imag))
        imag = _mul(ctx, _call(ctx, third, z.real), _call(ctx, fourth, z.imag))
        return Complex(real, imag if sign is None else _call(ctx, sign, imag))

    return function


def _tangents(ctx: Context, t: ir.Operand, h: ir.Operand) -> tuple[ir.Operand, ir.Operand]:
    """`t (1 - h^2) / (1 + t^2 h^2)` and `h (1 + t^2) / (1 + t^2 h^2)`: the parts of tan, from tan(x) and tanh(y)."""
    one = typed_const(1.0, t.type)
    th = _mul(ctx, t, h)
    below = _call(ctx, operator.add, one, _mul(ctx, th, th))
    less = _mul(ctx, _call(ctx, operator.sub, one, h), _call(ctx, operator.add, one, h))
    more = _call(ctx, operator.add, one, _mul(ctx, t, t))
    of_tan = _call(ctx, operator.truediv, _mul(ctx, t, less), below)
    return of_tan, _call(ctx, operator.truediv, _mul(ctx, h, more), below)


def _tan(ctx: Context, z: Complex) -> Complex:
    return Complex(*_tangents(ctx, _call(ctx, math.tan, z.real), _call(ctx, math.tanh, z.imag)))


def _tanh(ctx: Context, z: Complex) -> Complex:
    small, large = _tangents(ctx, _call(ctx, math.tan, z.imag), _call(ctx, math.tanh, z.real))
    return Complex(large, small)


def _asinh(ctx: Context, z: Complex) -> Complex:
    """By the roots of 1 + iz and 1 - iz, of which no digits cancel (Kahan 1987), as are the other inverses."""
    one = typed_const(1.0, z.real.type)
    above, below = (_call(ctx, f, one, z.imag) for f in (operator.add, operator.sub))
    first, second = _sqrt(ctx, Complex(above, _call(ctx, operator.neg, z.real))), _sqrt(ctx, Complex(below, z.real))
    across, along = _times(ctx, conjugate(ctx, first), second).imag, _times(ctx, first, second).real
    return Complex(_call(ctx, math.asinh, across), _call(ctx, math.atan2, z.imag, along))


def _with_roots(ctx: Context, z: Complex, turned: bool) -> tuple[Complex, Complex]:
    """The roots of z - 1, or of 1 - z, and of 1 + z."""
    one = typed_const(1.0, z.real.type)
    less = Complex(_call(ctx, operator.sub, z.real, one), z.imag)
    if turned:
        less = Complex(_call(ctx, operator.sub, one, z.real), _call(ctx, operator.neg, z.imag))
    return _sqrt(ctx, less), _sqrt(ctx, Complex(_call(ctx, operator.add, one, z.real), z.imag))


def _acosh(ctx: Context, z: Complex) -> Complex:
    first, second = _with_roots(ctx, z, turned=False)
    real = _call(ctx, math.asinh, _times(ctx, conjugate(ctx, first), second).real)
    return Complex(real, _twice_the_angle(ctx, first.imag, second.real))


def _acos(ctx: Context, z: Complex) -> Complex:
    first, second = _with_roots(ctx, z, turned=True)
    imag = _call(ctx, math.asinh, _times(ctx, conjugate(ctx, second), first).imag)
    return Complex(_twice_the_angle(ctx, first.real, second.real), imag)


def _twice_the_angle(ctx: Context, y: ir.Operand, x: ir.Operand) -> ir.Operand:
    return _mul(ctx, typed_const(2.0, y.type), _call(ctx, math.atan2, y, x))


def _atanh(ctx: Context, z: Complex) -> Complex:
    one, two, four, quarter = (typed_const(v, z.real.type) for v in (1.0, 2.0, 4.0, 0.25))
    square = _mul(ctx, z.imag, z.imag)

    def real_of(x: ir.Operand) -> ir.Operand:
        less = _call(ctx, operator.sub, one, x)
        below = _call(ctx, operator.add, _mul(ctx, less, less), square)
        return _mul(ctx, quarter, _call(ctx, math.log1p, _call(ctx, operator.truediv, _mul(ctx, four, x), below)))

    def mirrored() -> ir.Operand:
        return _call(ctx, operator.neg, real_of(_call(ctx, operator.neg, z.real)))

    is_left = _call(ctx, operator.lt, z.real, typed_const(0.0, z.real.type))
    real = branch(ctx, is_left, mirrored, lambda: real_of(z.real), "real")
    less, more = (_call(ctx, f, one, z.real) for f in (operator.sub, operator.add))
    along = _call(ctx, operator.sub, _mul(ctx, less, more), square)
    angle = _call(ctx, math.atan2, _mul(ctx, two, z.imag), along)
    return Complex(real, _mul(ctx, typed_const(0.5, z.real.type), angle))


def _turned_in(function: Callable[[Context, Complex], Complex]) -> Callable[[Context, Complex], Complex]:
    """`-i function(iz)`, as asin is of asinh, and atan of atanh."""

    def of(ctx: Context, z: Complex) -> Complex:
        found = function(ctx, Complex(_call(ctx, operator.neg, z.imag), z.real))
        return Complex(found.imag, _call(ctx, operator.neg, found.real))

    return of


def is_close(ctx: Context, a: Number, b: Number, rel_tol: ir.Operand, abs_tol: ir.Operand) -> ir.Operand:
    """cmath.isclose."""
    left, right = promote(ctx, a), promote(ctx, b)
    apart_by = _size(ctx, _by_parts(ctx, operator.sub, left, right))
    larger = _call(ctx, max, _size(ctx, left), _size(ctx, right))
    allowed = _call(ctx, max, _mul(ctx, rel_tol, larger), abs_tol)
    # infinities are close to themselves
    same = binary(ctx, operator.eq, left, right)
    assert not isinstance(same, Complex)
    finite = _call(ctx, math.isfinite, larger)
    near = _call(ctx, operator.and_, finite, _call(ctx, operator.le, apart_by, allowed))
    return _call(ctx, operator.or_, same, near)


def _of_parts(predicate: Any, combine: Any = operator.or_) -> Callable[[Context, Complex], ir.Operand]:
    return lambda ctx, z: _call(ctx, combine, *operands_in(_by_parts(ctx, predicate, z)))


_FUNCTIONS: dict[str, Callable[[Context, Complex], Number]] = {
    **dict.fromkeys(("abs", "absolute", "fabs"), _size),
    **dict.fromkeys(("angle", "phase"), _angle),
    **dict.fromkeys(("conj", "conjugate"), conjugate),
    "real": lambda ctx, z: z.real,
    "imag": lambda ctx, z: z.imag,
    **dict.fromkeys(("complex", "positive", "pos"), lambda ctx, z: z),
    **dict.fromkeys(("neg", "negative"), lambda ctx, z: _by_parts(ctx, operator.neg, z)),
    "not_": lambda ctx, z: scalars.negated(ctx, truth(ctx, z)),
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "log2": _log_to_base(2.0),
    "log10": _log_to_base(10.0),
    "sqrt": _sqrt,
    "square": lambda ctx, z: _times(ctx, z, z),
    "reciprocal": lambda ctx, z: binary(ctx, operator.truediv, typed_const(1.0, z.real.type), z),
    "sin": _crossed(math.sin, math.cosh, math.cos, math.sinh),
    "cos": _crossed(math.cos, math.cosh, math.sin, math.sinh, operator.neg),
    "sinh": _crossed(math.sinh, math.cos, math.cosh, math.sin),
    "cosh": _crossed(math.cosh, math.cos, math.sinh, math.sin),
    "tan": _tan,
    "tanh": _tanh,
    **dict.fromkeys(("asinh", "arcsinh"), _asinh),
    **dict.fromkeys(("acosh", "arccosh"), _acosh),
    **dict.fromkeys(("atanh", "arctanh"), _atanh),
    **dict.fromkeys(("acos", "arccos"), _acos),
    **dict.fromkeys(("asin", "arcsin"), _turned_in(_asinh)),
    **dict.fromkeys(("atan", "arctan"), _turned_in(_atanh)),
    "isreal": lambda ctx, z: _call(ctx, operator.eq, z.imag, typed_const(0.0, z.imag.type)),
    "iscomplex": lambda ctx, z: _call(ctx, operator.ne, z.imag, typed_const(0.0, z.imag.type)),
    "isnan": _of_parts(math.isnan),
    "isinf": _of_parts(math.isinf),
    "isfinite": _of_parts(math.isfinite, operator.and_),
}

# ----------------------------------------------------------------------------------------------------------- powers


def _power(ctx: Context, base: Number, exponent: Number) -> Complex:
    if isinstance(exponent, Complex):
        return _complex_power(ctx, promote(ctx, base), exponent)
    z = promote(ctx, base)
    if isinstance(exponent, ir.Const) and float(exponent.value).is_integer() and abs(exponent.value) <= 64:
        return _inverted_below_zero(ctx, _product_of(ctx, z, abs(int(exponent.value))), exponent)
    if not isinstance(exponent.type, types.Float):
        return _inverted_below_zero(ctx, _repeated(ctx, z, _call(ctx, abs, exponent)), exponent)
    angle = _mul(ctx, exponent, _angle(ctx, z))
    return _turned(ctx, _call(ctx, operator.pow, _size(ctx, z), exponent), angle)


def _product_of(ctx: Context, z: Complex, count: int) -> Complex:
    """z * z * ... * z, by squares."""
    result: Complex | None = None
    while count:
        if count % 2:
            result = z if result is None else _times(ctx, result, z)
        count //= 2
        if count:
            z = _times(ctx, z, z)
    return result or make(ctx, typed_const(1.0, z.real.type))


def _repeated(ctx: Context, z: Complex, count: ir.Operand) -> Complex:
    """z * z * ... * z, as a loop: a number of factors known at run time."""
    type_ = z.real.type
    args = [ir.Var(name, type_) for name in ("power_real", "power_imag")]

    def times(k: ir.Var, real: ir.Var, imag: ir.Var) -> tuple[ir.Operand, ir.Operand]:
        product = _times(ctx, Complex(real, imag), z)
        return product.real, product.imag

    starts = typed_const(1.0, type_), typed_const(0.0, type_)
    return Complex(*ctx.builder.fold(scalars.cast(ctx, count, types.intp), "k", starts, args, times))


def _inverted_below_zero(ctx: Context, z: Complex, exponent: ir.Operand) -> Complex:
    is_below = _call(ctx, operator.lt, exponent, typed_const(0, exponent.type))
    return _branch(ctx, is_below, lambda: function(ctx, "reciprocal", z), lambda: z, "power")


def _complex_power(ctx: Context, z: Complex, w: Complex) -> Complex:
    """`exp(w log z)`; of 0 it is 1 where the exponent is 0, and 0 elsewhere."""
    size = _size(ctx, z)

    def at_zero() -> Complex:
        one, zero = typed_const(1.0, z.real.type), typed_const(0.0, z.real.type)
        return Complex(branch(ctx, truth(ctx, w), scalars.ready(zero), scalars.ready(one)), zero)

    def elsewhere() -> Complex:
        return _exp(ctx, _times(ctx, w, Complex(_call(ctx, math.log, size), _angle(ctx, z))))

    return _branch(ctx, _call(ctx, operator.eq, size, typed_const(0.0, size.type)), at_zero, elsewhere, "power")


# ------------------------------------------------------------------------------------------------------- arithmetic


def _times(ctx: Context, a: Complex, b: Complex) -> Complex:
    real = _call(ctx, operator.sub, _mul(ctx, a.real, b.real), _mul(ctx, a.imag, b.imag))
    return Complex(real, _call(ctx, operator.add, _mul(ctx, a.real, b.imag), _mul(ctx, a.imag, b.real)))


def _by_parts(ctx: Context, callee: Any, *args: Number) -> Complex:
    """The function of the real parts, and that of the imaginary ones; a real number is an argument of both."""
    pairs = [a if isinstance(a, Complex) else Complex(a, a) for a in args]
    return Complex(_call(ctx, callee, *(p.real for p in pairs)), _call(ctx, callee, *(p.imag for p in pairs)))


def _mul(ctx: Context, left: ir.Operand, right: ir.Operand) -> ir.Operand:
    return scalars.scalar(ctx, operator.mul, (left, right))


def _call(ctx: Context, callee: Any, *args: ir.Operand) -> ir.Operand:
    return scalars.scalar(ctx, callee, args)
