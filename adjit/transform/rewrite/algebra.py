"""Identities of scalar arithmetic that hold for all values, nan and infinities included.

In: a call on scalars, and what defines its operands. Out: an operand that equals its result, or simpler calls, or
None.
One liberty is taken: x + 0 is x, though for x = -0.0 it is 0.0. And 0 * x stays, as x may be nan or infinite.

    x * 1 -> x     x + -y -> x - y     -(-x) -> x     x + -y * z -> x - y * z     (n - 1) - (n - 1 - i) -> i
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.ir.callees import canonical
from adjit.transform.ir.types import is_small_integer

Definitions = Mapping[ir.Var, ir.Op]
Simpler = ir.Operand | tuple[ir.Call, ...] | None

_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_OPPOSITE: dict[Any, Any] = {operator.eq: operator.ne, operator.ne: operator.eq}
_OPPOSITE_INTEGER: dict[Any, Any] = {
    **_OPPOSITE,
    operator.lt: operator.ge,
    operator.ge: operator.lt,
    operator.gt: operator.le,
    operator.le: operator.gt,
}
_ARITHMETIC = (operator.add, operator.sub, operator.mul)
_EXACT_INTEGERS = 2**53  # a double holds each integer up to here

is_scalar = ir.of_kinds(types.Integer, types.Float, types.Boolean)


def simpler(call: ir.Call, definitions: Definitions, uses: Mapping[ir.Var, int]) -> Simpler:
    """What may stand for the call: an operand, or calls of which the last defines the same result, or None."""
    found = call.analysis(_rule_for)
    if found is None:
        return None
    rule, folded = found
    return rule(_Site(call, definitions, uses)) if folded is None else folded


def _rule_for(call: ir.Call) -> tuple[Callable[[_Site], Simpler], ir.Const | None] | None:
    """What is tried on a call, and its result where it is known already."""
    rule = _RULES.get(canonical(call.callee))
    if rule is None or call.options or call.effect or len(call.outs) != 1:
        return None
    if not is_scalar(call.outs[0]) or not all(map(is_scalar, call.args)):
        return None
    callee = canonical(call.callee)
    if callee is not call.callee and is_small_integer(call.outs[0].type):
        # a ufunc of small integers cuts off what the operator computes in 64 bits
        return None
    return rule, _folded(callee, call)


class _Site:
    """One call under inspection."""

    def __init__(self, call: ir.Call, definitions: Definitions, uses: Mapping[ir.Var, int]):
        self.call = call
        self.args = call.args
        self.type = call.outs[0].type
        self.definitions = definitions
        self.uses = uses

    def is_float(self) -> bool:
        return isinstance(self.type, types.Float)

    def fits(self, operand: ir.Operand) -> ir.Operand | None:
        """The operand where it has the type of the result."""
        return operand if operand.type == self.type else None

    def made(self, callee: Any, *args: ir.Operand) -> tuple[ir.Call, ...]:
        return (dataclasses.replace(self.call, callee=callee, args=args),)

    def negated(self, operand: ir.Operand) -> ir.Operand | None:
        """x where the operand is -x of the same type: of integers that are cut off, in no other ring than their own."""
        found = inner(operand, operator.neg, self.definitions)
        if found is None or found.type != operand.type:
            return None
        is_exact = isinstance(found.type, types.Float) or found.type in (types.intp, self.type)
        return found if is_exact else None

    def constant(self, value: float) -> ir.Const:
        return literal(value, self.type)


def inner(operand: ir.Operand, callee: Any, definitions: Definitions) -> ir.Operand | None:
    """The argument of the call of the one-argument `callee` that defines the operand."""
    definition = definitions.get(operand) if isinstance(operand, ir.Var) else None
    if isinstance(definition, ir.Call) and canonical(definition.callee) is callee and len(definition.args) == 1:
        return definition.args[0]
    return None


def literal(value: Any, type_: ir.Type) -> ir.Const:
    """The value as a literal of the type."""
    if isinstance(type_, types.Boolean):
        return ir.Const(bool(value), type_)
    if isinstance(type_, types.Integer):
        return ir.Const(int(value), type_)
    return ir.Const(float(value) if type_ == types.float64 else np.float32(value), type_)


def is_value(operand: ir.Operand, value: float) -> bool:
    return isinstance(operand, ir.Const) and bool(operand.value == value)


# ------------------------------------------------------------------------------------------------------------- folding


def _folded(callee: Any, call: ir.Call) -> ir.Const | None:
    """The result where all arguments are literals and it is exactly what the compiled operation gives."""
    out = call.outs[0].type
    values = [a.value for a in call.args if isinstance(a, ir.Const)]
    if len(values) != len(call.args):
        return None
    if callee is operator.not_:
        return ir.boolean(not values[0])
    if callee in _COMPARISONS:
        # Python compares integers with floats exactly, numba as floats
        return ir.boolean(bool(callee(*values))) if all(_is_exact(v) for v in values) else None
    if callee is ir.cast:
        return _cast_literal(values[0], out)
    if callee is ir.select or callee is operator.pow:
        return None
    if isinstance(out, types.Integer):
        if callee in (operator.floordiv, operator.mod) and values[1] == 0:
            return None
        if not all(isinstance(a.type, types.Integer) for a in call.args):
            return None
        number = callee(*(int(v) for v in values))
        return ir.Const(number, out) if out.minval <= number <= out.maxval else None
    if isinstance(out, types.Float) and (out == types.float64 or all(a.type == out for a in call.args)):
        return _float_result(callee, values, out)
    return None


def _float_result(callee: Any, values: list[Any], out: types.Float) -> ir.Const | None:
    if out.bitwidth not in (32, 64) or not all(_is_exact(v) for v in values):
        return None
    scalar = np.float64 if out == types.float64 else np.float32
    if callee is operator.truediv and values[1] == 0:
        return None
    if callee in (*_ARITHMETIC, operator.truediv, operator.neg, operator.pos):
        with np.errstate(all="ignore"):
            return literal(callee(*(scalar(v) for v in values)), out)
    return None


def _is_exact(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) or abs(int(value)) <= _EXACT_INTEGERS


def _cast_literal(value: Any, out: ir.Type) -> ir.Const | None:
    if isinstance(out, types.Float):
        return literal(value, out) if out.bitwidth in (32, 64) and _is_exact(value) else None
    if isinstance(out, types.Boolean):
        return literal(value, out)
    if isinstance(out, types.Integer) and not isinstance(value, (float, np.floating)):
        return literal(value, out) if out.minval <= int(value) <= out.maxval else None
    return None


# ---------------------------------------------------------------------------------------------------------- identities


def _add(site: _Site) -> Simpler:
    left, right = site.args
    if is_value(right, 0) and site.fits(left):
        return left
    if is_value(left, 0) and site.fits(right):
        return right
    if (y := site.negated(right)) is not None:
        return site.made(operator.sub, left, y)
    if (y := site.negated(left)) is not None:
        return site.made(operator.sub, right, y)
    if (positive := _without_sign(right)) is not None:
        return site.made(operator.sub, left, positive)
    if left is right and site.is_float():
        return site.made(operator.mul, site.constant(2), left)
    return _product_sign(site, operator.sub) or _linear(site)


def _sub(site: _Site) -> Simpler:
    left, right = site.args
    if is_value(right, 0) and site.fits(left):
        return left
    if is_value(left, 0) and site.fits(right):
        return site.made(operator.neg, right)
    if (y := site.negated(right)) is not None:
        return site.made(operator.add, left, y)
    if (positive := _without_sign(right)) is not None:
        return site.made(operator.add, left, positive)
    return _product_sign(site, operator.add) or _linear(site)


def _without_sign(operand: ir.Operand) -> ir.Const | None:
    """The literal -c for a literal c below zero."""
    if not isinstance(operand, ir.Const) or isinstance(operand.type, types.Boolean) or not operand.value < 0:
        return None
    if isinstance(operand.type, types.Integer) and -operand.value > operand.type.maxval:
        return None
    return ir.Const(-operand.value, operand.type)


def _product_sign(site: _Site, callee: Any) -> Simpler:
    """x + -y * z -> x - y * z, and x - -y * z -> x + y * z, where the product is used only here."""
    left, right = site.args
    product = _positive_product(site, right)
    if not product and callee is operator.sub:
        # -y * z + x -> x - y * z
        product, left = _positive_product(site, left), right
    return (*product, *site.made(callee, left, product[-1].outs[0])) if product else None


def _positive_product(site: _Site, operand: ir.Operand) -> tuple[ir.Call, ...]:
    """Calls that compute -operand, where that is a product or quotient with a negated factor; else none."""
    if not isinstance(operand, ir.Var) or operand.user or site.uses.get(operand, 0) > 1:
        return ()
    definition = site.definitions.get(operand)
    if not isinstance(definition, ir.Call) or canonical(definition.callee) not in (operator.mul, operator.truediv):
        return ()
    if not isinstance(operand.type, types.Float):
        return ()
    for k, factor in enumerate(definition.args):
        positive: ir.Operand | None = site.negated(factor) or _without_sign(factor)
        calls = () if positive is not None else _positive_product(site, factor)
        if calls:
            positive = calls[-1].outs[0]
        if positive is not None:
            args = (*definition.args[:k], positive, *definition.args[k + 1 :])
            return (*calls, dataclasses.replace(definition, args=args, outs=(dataclasses.replace(operand),)))
    return ()


def _mul(site: _Site) -> Simpler:
    left, right = site.args
    for x, factor in ((left, right), (right, left)):
        if is_value(factor, 1) and site.fits(x):
            return x
        if is_value(factor, -1) and site.fits(x):
            return site.made(operator.neg, x)
        if is_value(factor, 0) and isinstance(site.type, types.Integer):
            return site.constant(0)
    return _both_signs(site)


def _truediv(site: _Site) -> Simpler:
    left, right = site.args
    if is_value(right, 1) and site.fits(left):
        return left
    if is_value(right, -1) and site.fits(left):
        return site.made(operator.neg, left)
    return _both_signs(site)


def _both_signs(site: _Site) -> Simpler:
    """-x * -y -> x * y, and the same for quotients."""
    left, right = (site.negated(a) for a in site.args)
    if left is None or right is None or not site.is_float():
        return None
    return site.made(site.call.callee, left, right)


def _neg(site: _Site) -> Simpler:
    (arg,) = site.args
    x = site.negated(arg)
    return site.fits(x) if x is not None else None


def _pos(site: _Site) -> Simpler:
    return site.fits(site.args[0])


def _pow(site: _Site) -> Simpler:
    base, exponent = site.args
    if is_value(exponent, 1):
        return site.fits(base)
    if is_value(exponent, 0):
        return site.constant(1)  # of nan too
    return None


def _floordiv(site: _Site) -> Simpler:
    left, right = site.args
    return site.fits(left) if is_value(right, 1) and isinstance(site.type, types.Integer) else None


def _mod(site: _Site) -> Simpler:
    return site.constant(0) if is_value(site.args[1], 1) and isinstance(site.type, types.Integer) else None


def _cast(site: _Site) -> Simpler:
    (arg,) = site.args
    if arg.type == site.type:
        return arg
    narrow = inner(arg, ir.cast, site.definitions)
    if narrow is not None and isinstance(narrow.type, types.Float) and isinstance(arg.type, types.Float):
        # to a wider float and back
        return site.fits(narrow) if narrow.type.bitwidth < arg.type.bitwidth else None
    return None


def _select(site: _Site) -> Simpler:
    condition, yes, no = site.args
    if isinstance(condition, ir.Const):
        return site.fits(yes if condition.value else no)
    if yes == no:
        return site.fits(yes)
    if isinstance(site.type, types.Boolean) and isinstance(yes, ir.Const) and isinstance(no, ir.Const):
        return condition if yes.value else site.made(operator.not_, condition)
    return None


def _not(site: _Site) -> Simpler:
    (arg,) = site.args
    double = inner(arg, operator.not_, site.definitions)
    if double is not None:
        return site.fits(double)
    definition = site.definitions.get(arg) if isinstance(arg, ir.Var) else None
    if not isinstance(definition, ir.Call) or len(definition.args) != 2:
        return None
    # not (a < b) is no a >= b where either may be nan
    whole = not any(isinstance(a.type, types.Float) for a in definition.args)
    opposite = (_OPPOSITE_INTEGER if whole else _OPPOSITE).get(canonical(definition.callee))
    if opposite is None or not all(is_scalar(a) for a in definition.args):
        return None
    return site.made(opposite, *definition.args)


def _and(site: _Site) -> Simpler:
    return _boolean(site, True)


def _or(site: _Site) -> Simpler:
    return _boolean(site, False)


def _boolean(site: _Site, neutral: bool) -> Simpler:
    if not all(isinstance(a.type, types.Boolean) for a in (*site.args, *site.call.outs)):
        return None
    left, right = site.args
    for x, other in ((left, right), (right, left)):
        if isinstance(x, ir.Const):
            return other if x.value == neutral else ir.boolean(not neutral)
    return left if left == right else None


def _compare(site: _Site) -> Simpler:
    left, right = site.args
    if left == right and not isinstance(left.type, types.Float):
        return ir.boolean(canonical(site.call.callee) in (operator.le, operator.ge, operator.eq))
    return None


# ---------------------------------------------------------------------------------------------- integer sums


def _linear(site: _Site) -> Simpler:
    """Sums and differences of integers whose terms cancel: a literal, a variable, or a variable and a literal."""
    if site.type != types.intp or any(a.type != types.intp for a in site.args):
        return None
    terms: dict[ir.Var, int] = {}
    constant = _collect(site.call, 1, terms, site.definitions, 6)
    terms = {var: factor for var, factor in terms.items() if factor}
    if not terms:
        return site.constant(constant)
    if len(terms) > 1:
        return None
    ((var, factor),) = terms.items()
    if factor != 1:
        return None
    if constant == 0:
        return var
    callee = operator.add if constant > 0 else operator.sub
    args = (var, ir.integer(abs(constant)))
    # the user's own `m - 1` stays, also where m is n - 1
    if site.args == args or any(isinstance(a, ir.Var) and a.user for a in site.args):
        return None
    return site.made(callee, *args)


def _collect(call: ir.Call, factor: int, terms: dict[ir.Var, int], definitions: Definitions, depth: int) -> int:
    """Adds `factor` times the sum that the call stands for to `terms`; returns its constant part."""
    constant = 0
    signs = (factor, -factor if canonical(call.callee) is operator.sub else factor)
    for sign, arg in zip(signs, call.args, strict=True):
        if isinstance(arg, ir.Const):
            constant += sign * int(arg.value)
            continue
        definition = definitions.get(arg)
        if (
            depth
            and isinstance(definition, ir.Call)
            and canonical(definition.callee) in (operator.add, operator.sub)
            and all(a.type == types.intp for a in definition.args)
        ):
            constant += _collect(definition, sign, terms, definitions, depth - 1)
        else:
            terms[arg] = terms.get(arg, 0) + sign
    return constant


def _max(site: _Site) -> Simpler:
    """An extent is never below zero."""
    left, right = site.args
    for extent, zero in ((left, right), (right, left)):
        definition = site.definitions.get(extent) if isinstance(extent, ir.Var) else None
        if is_value(zero, 0) and isinstance(definition, ir.Extent):
            return site.fits(extent)
    return None


_RULES: dict[Any, Callable[[_Site], Simpler]] = {
    operator.add: _add,
    operator.sub: _sub,
    operator.mul: _mul,
    operator.truediv: _truediv,
    operator.floordiv: _floordiv,
    operator.mod: _mod,
    operator.neg: _neg,
    operator.pos: _pos,
    operator.pow: _pow,
    operator.not_: _not,
    operator.and_: _and,
    operator.or_: _or,
    ir.cast: _cast,
    ir.select: _select,
    max: _max,
    **dict.fromkeys(_COMPARISONS, _compare),
}
