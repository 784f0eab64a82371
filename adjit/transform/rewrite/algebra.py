"""Identities of scalar arithmetic that hold for all values, nan and infinities included.

In: a call on scalars, and what defines its operands. Out: an operand that equals its result, or simpler calls, or
None.
One liberty is taken: x + 0 is x, though for x = -0.0 it is 0.0. And 0 * x stays, as x may be nan or infinite.

    x * 1 -> x     x + -y -> x - y     -(-x) -> x     x + -y * z -> x - y * z     (n - 1) - (n - 1 - i) -> i
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.ir.types import is_small_integer

Definitions = Mapping[ir.Operand, ir.Op]
Simpler = ir.Operand | tuple[ir.Call, ...] | None
_Rule = Callable[["_Site"], Simpler]

_OPPOSITE: dict[Any, Any] = {
    operator.lt: operator.ge, operator.ge: operator.lt, operator.gt: operator.le, operator.le: operator.gt,
    operator.eq: operator.ne, operator.ne: operator.eq,
}  # fmt: skip
_COMPARISONS = tuple(_OPPOSITE)
_ARITHMETIC = (operator.add, operator.sub, operator.mul)
_EXACT_INTEGERS = 2**53  # a double holds each integer up to here

is_scalar = ir.of_kinds(types.Integer, types.Float, types.Boolean)


def simpler(call: ir.Call, definitions: Definitions, uses: Callable[[ir.Var], int]) -> Simpler:
    """What may stand for the call: an operand, or calls of which the last defines the same result, or None."""
    found = call.analysis(_known)
    if found is None or isinstance(found, ir.Const):
        return found
    rules = _rules_for(found, type(call.outs[0].type), tuple([_head(definitions, arg) for arg in call.args]))
    if not rules:
        return None
    site = _Site(call, definitions, uses)
    return next((made for rule in rules if (made := rule(site)) is not None), None)


def _known(call: ir.Call) -> Any:
    """The callee by its common name, if there are rules for the call, or its result where it is known already."""
    callee = ir.canonical(call.callee)
    if callee not in _RULES or call.options or call.effect or len(call.outs) != 1:
        return None
    if not is_scalar(call.outs[0]) or not all(map(is_scalar, call.args)):
        return None
    if callee is not call.callee and is_small_integer(call.outs[0].type):
        # a ufunc of small integers cuts off what the operator computes in 64 bits
        return None
    return _folded(callee, call) or callee


@functools.cache
def _rules_for(callee: Any, kind: type, heads: tuple[Any, ...]) -> Sequence[_Rule]:
    """What is tried on calls with such a result, whose arguments are made by these."""
    return [
        rule
        for of, rule in _RULES[callee]
        if issubclass(kind, of) and (not isinstance(rule, _Identity) or all(map(_may_be, rule.args, heads)))
    ]


def _head(definitions: Definitions, operand: ir.Operand) -> Any:
    """What makes an operand, as far as the table asks for that."""
    if isinstance(operand, ir.Const):
        return ir.Const
    definition = definitions.get(operand)
    callee = ir.canonical(definition.callee) if isinstance(definition, ir.Call) else None
    return callee if callee is operator.neg or callee is operator.not_ else None


class _Site:
    """One call under inspection."""

    def __init__(self, call: ir.Call, definitions: Definitions, uses: Callable[[ir.Var], int]):
        self.call = call
        self.args = call.args
        self.type = call.outs[0].type
        self.definitions = definitions
        self.uses = uses

    def fits(self, operand: ir.Operand) -> ir.Operand | None:
        """The operand where it has the type of the result."""
        return operand if operand.type == self.type else None

    def made(self, callee: Any, *args: ir.Operand) -> tuple[ir.Call, ...]:
        return (dataclasses.replace(self.call, callee=callee, args=args),)

    def defining(self, operand: ir.Operand, *callees: Any) -> ir.Call | None:
        """The call of one of the callees that defines the operand."""
        definition = self.definitions.get(operand) if isinstance(operand, ir.Var) else None
        return definition if isinstance(definition, ir.Call) and ir.canonical(definition.callee) in callees else None

    def undone(self, callee: Any, operand: ir.Operand) -> ir.Operand | None:
        """The argument of the call of the one-argument `callee` that defines the operand.

        Of -x that is x of the same type: of integers that are cut off, in no other ring than their own.
        """
        definition = self.defining(operand, callee)
        if definition is None or len(definition.args) != 1:
            return None
        (found,) = definition.args
        if callee is not operator.neg or found.type == operand.type in (types.intp, self.type):
            return found
        return found if found.type == operand.type and isinstance(found.type, types.Float) else None


def literal(value: Any, type_: ir.Type) -> ir.Const:
    """The value as a literal of the type."""
    if isinstance(type_, types.Boolean):
        return ir.Const(bool(value), type_)
    if isinstance(type_, types.Integer):
        return ir.Const(int(value), type_)
    return ir.Const(float(value) if type_ == types.float64 else np.float32(value), type_)


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
        # cut off to as many bits
        return literal((int(value) - out.minval) % (out.maxval - out.minval + 1) + out.minval, out)
    return None


# ---------------------------------------------------------------------------------------------------------- identities

# What a call is and what it becomes, by the type of its result: letters stand for operands, -c for a literal below 0.
_TABLE: Mapping[type[types.Type], str] = {
    types.Type: """
        x + 0 -> x     0 + x -> x      x + -y -> x - y     -x + y -> y - x    x + -c -> x - c
        x - 0 -> x     0 - x -> -x     x - -y -> x + y                        x - -c -> x + c
        x * 1 -> x     x * -1 -> -x    1 * x -> x          -1 * x -> -x
        x / 1 -> x     x / -1 -> -x    x ** 1 -> x         x ** 0 -> 1
        --x -> x       +x -> x         not not x -> x
        x if True else y -> x          x if False else y -> y                 x if y else x -> x
    """,
    types.Float: "x + x -> 2 * x    -x * -y -> x * y    -x / -y -> x / y",
    types.Integer: "x * 0 -> 0    0 * x -> 0    x // 1 -> x    x % 1 -> 0",
    types.Boolean: """
        x & True -> x     True & x -> x     x & False -> False    False & x -> False    x & x -> x
        x | False -> x    False | x -> x    x | True -> True      True | x -> True      x | x -> x
        True if x else False -> x           False if x else True -> not x
    """,
}
_SIGNS: Mapping[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}  # fmt: skip


def _term(node: ast.AST) -> Any:
    """A number, a letter, or a callee with its arguments."""
    match node:
        case ast.Constant(value=value) | ast.Name(id=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.UnaryOp(op=sign, operand=arg):
            return _SIGNS[type(sign)], _term(arg)
        case ast.BinOp(left=left, op=sign, right=right):
            return _SIGNS[type(sign)], _term(left), _term(right)
        case ast.IfExp(test=test, body=yes, orelse=no):
            return ir.select, _term(test), _term(yes), _term(no)
    raise NotImplementedError


@dataclass(frozen=True)
class _Identity:
    """A row of the table: the arguments of a callee, and what the call becomes."""

    args: tuple[Any, ...]
    becomes: Any

    def __call__(self, site: _Site) -> Simpler:
        letters = self.letters(site)
        if letters is None:
            return None
        callee, *args = self.becomes if isinstance(self.becomes, tuple) else (None, self.becomes)
        operands = [letters[a] if isinstance(a, str) else literal(a, site.type) for a in args]
        # of several operands the callee knows what comes of their types
        if len(operands) == 1 and site.fits(operands[0]) is None:
            return None
        return operands[0] if callee is None else site.made(callee, *operands)

    def letters(self, site: _Site) -> dict[str, ir.Operand] | None:
        """What the letters stand for, None if the arguments are others."""
        found: dict[str, ir.Operand] = {}
        for term, operand in zip(self.args, site.args, strict=True):
            if type(term) is tuple:
                callee, term = term
                inner = _without_sign(operand) if term == "c" else site.undone(callee, operand)
                if inner is None:
                    return None
                operand = inner
            if not (found.setdefault(term, operand) == operand if type(term) is str else ir.is_literal(operand, term)):
                return None
        return found


def _may_be(term: Any, head: Any) -> bool:
    """Whether an argument that is made by `head` may be what a term says."""
    if isinstance(term, tuple) and term[1] != "c":
        return term[0] is head
    return isinstance(term, str) or head is ir.Const


def _without_sign(operand: ir.Operand) -> ir.Const | None:
    """The literal -c for a literal c below zero."""
    if not isinstance(operand, ir.Const) or isinstance(operand.type, types.Boolean) or not operand.value < 0:
        return None
    if isinstance(operand.type, types.Integer) and -operand.value > operand.type.maxval:
        return None
    return ir.Const(-operand.value, operand.type)


def _product_sign(site: _Site) -> Simpler:
    """x + -y * z -> x - y * z, and x - -y * z -> x + y * z, where the product is used only here."""
    left, right = site.args
    callee = operator.sub if ir.canonical(site.call.callee) is operator.add else operator.add
    product = _positive_product(site, right)
    if not product and callee is operator.sub:
        # -y * z + x -> x - y * z
        product, left = _positive_product(site, left), right
    return (*product, *site.made(callee, left, product[-1].outs[0])) if product else None


def _positive_product(site: _Site, operand: ir.Operand) -> tuple[ir.Call, ...]:
    """Calls that compute -operand, where that is a product or quotient with a negated factor; else none."""
    if not isinstance(operand, ir.Var) or operand.user or site.uses(operand) > 1:
        return ()
    definition = site.defining(operand, operator.mul, operator.truediv)
    if definition is None or not isinstance(operand.type, types.Float):
        return ()
    for k, factor in enumerate(definition.args):
        positive: ir.Operand | None = site.undone(operator.neg, factor) or _without_sign(factor)
        calls = () if positive is not None else _positive_product(site, factor)
        if calls:
            positive = calls[-1].outs[0]
        if positive is not None:
            args = (*definition.args[:k], positive, *definition.args[k + 1 :])
            return (*calls, dataclasses.replace(definition, args=args, outs=(dataclasses.replace(operand),)))
    return ()


def _cast(site: _Site) -> Simpler:
    (arg,) = site.args
    if arg.type == site.type:
        return arg
    narrow = site.undone(ir.cast, arg)
    if narrow is not None and isinstance(narrow.type, types.Float) and isinstance(arg.type, types.Float):
        # to a wider float and back
        return site.fits(narrow) if narrow.type.bitwidth < arg.type.bitwidth else None
    return None


def _not(site: _Site) -> Simpler:
    # not (a < b) is no a >= b where either may be nan
    compared = site.defining(site.args[0], *_COMPARISONS)
    if compared is None or not all(map(is_scalar, compared.args)):
        return None
    callee = ir.canonical(compared.callee)
    if callee not in (operator.eq, operator.ne) and any(isinstance(a.type, types.Float) for a in compared.args):
        return None
    return site.made(_OPPOSITE[callee], *compared.args)


def _compare(site: _Site) -> Simpler:
    left, right = site.args
    if left == right and not isinstance(left.type, types.Float):
        return ir.boolean(ir.canonical(site.call.callee) in (operator.le, operator.ge, operator.eq))
    return None


# ---------------------------------------------------------------------------------------------- integer sums


def _linear(site: _Site) -> Simpler:
    """Sums and differences of integers whose terms cancel: a literal, a variable, or a variable and a literal."""
    if site.type != types.intp or any(a.type != types.intp for a in site.args):
        return None
    total = _sum(site, site.call, 6)
    if total.is_constant:
        return literal(total.constant, site.type)
    (var, factor), *others = total.terms.items()
    if others or factor != 1:
        return None
    assert isinstance(var, ir.Var)
    if total.constant == 0:
        return var
    callee = operator.add if total.constant > 0 else operator.sub
    args = (var, ir.integer(abs(total.constant)))
    # the user's own `m - 1` stays, also where m is n - 1
    if site.args == args or any(isinstance(a, ir.Var) and a.user for a in site.args):
        return None
    return site.made(callee, *args)


def _sum(site: _Site, call: ir.Call, depth: int) -> Affine:
    """The sum that a call stands for, in what its arguments are sums of."""
    terms: list[Affine] = []
    for arg in call.args:
        definition = site.defining(arg, operator.add, operator.sub) if depth else None
        if isinstance(arg, ir.Const):
            terms.append(Affine(constant=int(arg.value)))
        elif definition is not None and all(a.type == types.intp for a in definition.args):
            terms.append(_sum(site, definition, depth - 1))
        else:
            terms.append(Affine({arg: 1}))
    return terms[0].plus(terms[1], -1 if ir.canonical(call.callee) is operator.sub else 1)


def _max(site: _Site) -> Simpler:
    """An extent is never below zero."""
    left, right = site.args
    for extent, zero in ((left, right), (right, left)):
        definition = site.definitions.get(extent) if isinstance(extent, ir.Var) else None
        if ir.is_literal(zero, 0) and isinstance(definition, ir.Extent):
            return site.fits(extent)
    return None


_RULES: dict[Any, list[tuple[type[types.Type], _Rule]]] = {
    ir.cast: [(types.Type, _cast)],
    max: [(types.Type, _max)],
    **{callee: [(types.Type, _compare)] for callee in _COMPARISONS},
}
for _type, _rows in _TABLE.items():
    for _row in re.split(r"\s{2,}", _rows.strip()):
        (_callee, *_args), _becomes = (_term(ast.parse(side, mode="eval").body) for side in _row.split(" -> "))
        _RULES.setdefault(_callee, []).append((_type, _Identity(tuple(_args), _becomes)))
for _callee in (operator.add, operator.sub):
    _RULES[_callee] += ((types.Float, _product_sign), (types.Integer, _linear))
_RULES[operator.not_].append((types.Type, _not))
