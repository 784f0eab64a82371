"""Operators on values of every kind: numbers, arrays, tuples, complex numbers and static things.

In: an operator and values. Out: the value of the result.

    binary(frame, operator.mul, %x, Lazy)  ->  Lazy;   binary(frame, operator.add, (1, 2), (3,))  ->  (1, 2, 3)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.choices import is_function
from adjit.transform.elaborate.values.elementwise import elementwise, materialise, operand, paired
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.values import (
    Complex,
    OneOf,
    Static,
    TupleValue,
    Value,
    described,
    dtype,
    is_array,
    is_complex,
    is_number,
    is_numeric,
)
from adjit.transform.elaborate.values.whole import whole_call
from adjit.transform.ir.types import typed_const

BINARY: dict[str, Any] = {
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "Divide": operator.truediv,
    "FloorDivide": operator.floordiv,
    "Modulo": operator.mod,
    "Power": operator.pow,
    "MatrixMultiply": operator.matmul,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LeftShift": operator.lshift,
    "RightShift": operator.rshift,
}

UNARY: dict[str, Any] = {
    "Minus": operator.neg,
    "Plus": operator.pos,
    "Not": operator.not_,
    "BitInvert": operator.invert,
}

COMPARISONS: dict[str, Any] = {
    "LessThan": operator.lt,
    "LessThanEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanEqual": operator.ge,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
}


_OF_TWO = {*BINARY.values(), *COMPARISONS.values()}
_OF_ONE = set(UNARY.values())


def spelt_out(frame: Frame, callee: Any, args: Sequence[Value]) -> Value | None:
    """A call of a function of `operator`, which is the operator; None for other functions."""
    if len(args) == 2 and callee in _OF_TWO:
        return binary(frame, callee, args[0], args[1])
    if len(args) == 1 and callee in _OF_ONE:
        return unary(frame, callee, args[0])
    return None


def binary(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    """`left callee right`, arithmetic or comparison."""
    ctx = frame.ctx
    if (is_complex(left) or is_complex(right)) and is_numeric(left) and is_numeric(right):
        return _of_complexes(frame, callee, left, right)
    if is_number(left) and is_number(right):
        assert isinstance(left, ir.Var | ir.Const)
        assert isinstance(right, ir.Var | ir.Const)
        left, right = _balanced(frame, left, right)
        return scalars.scalar(ctx, callee, (left, right))
    if (is_array(left) or is_number(left)) and (is_array(right) or is_number(right)):
        if callee is operator.matmul:
            return whole_call(ctx, operator.matmul, (operand(ctx, left), operand(ctx, right)))
        if frame.weak:
            left, right = _weak_against(left, right), _weak_against(right, left)
        return elementwise(ctx, callee, (left, right))
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        if callee is operator.add and left.is_list == right.is_list:
            return TupleValue(left.items + right.items, left.is_list)
        if callee in (operator.eq, operator.ne):
            return _tuples_equal(frame, callee, left, right)
    if isinstance(left, TupleValue) and isinstance(right, ir.Const) and callee is operator.mul:
        return TupleValue(left.items * int(right.value), left.is_list)
    if isinstance(left, Static) and isinstance(right, Static) and callee in (operator.eq, operator.ne):
        return ir.boolean(bool(callee(left.value, right.value)))
    if callee in (operator.eq, operator.ne) and (isinstance(left, Static) or isinstance(right, Static)):
        if is_array(left) or is_array(right):
            raise ctx.fail(
                errors.Unsupported, f"{described(left)} compared with {described(right)}",
                "NumPy compares each element.", "Write `is None`, or compare with numbers.",
            )  # fmt: skip
        return ir.boolean(callee is operator.ne)
    raise ctx.fail(
        errors.Unsupported,
        f"`{getattr(callee, '__name__', callee)}` of {described(left)} and {described(right)}",
        "",
        "Give numbers or arrays: take what is in tuples, and convert what is text.",
    )


def _of_complexes(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    """`left callee right` of which one is complex."""
    ctx = frame.ctx
    if callee is operator.matmul:
        return product(frame, callee, left, right)
    if is_array(left) or is_array(right):
        return elementwise(ctx, callee, (left, right))
    assert isinstance(left, ir.Var | ir.Const | Complex)
    assert isinstance(right, ir.Var | ir.Const | Complex)
    return complexes.binary(ctx, callee, left, right)


def product(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    """The matrix product of arrays of which one is complex, in real ones: of `np.dot` or `@`."""
    ctx = frame.ctx
    left, right = materialise(ctx, left), materialise(ctx, right)

    def of(a: Value, b: Value) -> Value:
        return whole_call(ctx, callee, (operand(ctx, a), operand(ctx, b)), "product")

    def combined(operation: Any, a: Value, b: Value) -> Value:
        return materialise(ctx, binary(frame, operation, a, b), "product")

    if not isinstance(left, Complex):
        assert isinstance(right, Complex)
        return paired(of(left, right.real), of(left, right.imag))
    if not isinstance(right, Complex):
        return paired(of(left.real, right), of(left.imag, right))
    return paired(
        combined(operator.sub, of(left.real, right.real), of(left.imag, right.imag)),
        combined(operator.add, of(left.real, right.imag), of(left.imag, right.real)),
    )


def _balanced(frame: Frame, left: ir.Operand, right: ir.Operand) -> tuple[ir.Operand, ir.Operand]:
    """In a rule a literal takes the float type of the other operand."""
    if not frame.weak:
        return left, right
    return _weak_number(left, right.type), _weak_number(right, left.type)


def _weak_number(number: ir.Operand, other: types.Type) -> ir.Operand:
    if isinstance(number, ir.Const) and isinstance(other, types.Float) and not isinstance(number.type, types.Boolean):
        return typed_const(number.value, other)
    return number


def _weak_against(value: Value, other: Value) -> Value:
    if isinstance(value, ir.Const) and is_number(value) and is_array(other):
        return _weak_number(value, dtype(other))
    return value


def _tuples_equal(frame: Frame, callee: Any, left: TupleValue, right: TupleValue) -> Value:
    comparable = len(left.items) == len(right.items) and left.is_list == right.is_list
    result: ir.Operand = ir.boolean(comparable)
    if comparable:
        for a, b in zip(left.items, right.items, strict=True):
            same = truth(frame, binary(frame, operator.eq, a, b))
            result = both(frame, result, scalars.ready(same))
    return scalars.negated(frame.ctx, result) if callee is operator.ne else result


def both(frame: Frame, left: ir.Operand, right: Callable[[], ir.Operand]) -> ir.Operand:
    """`left and right`, short-circuiting."""
    if isinstance(left, ir.Const):
        return right() if left.value else left
    return complexes.branch(frame.ctx, left, right, lambda: ir.boolean(False), "both")


def either(frame: Frame, left: ir.Operand, right: Callable[[], ir.Operand]) -> ir.Operand:
    """`left or right`, short-circuiting."""
    if isinstance(left, ir.Const):
        return left if left.value else right()
    return complexes.branch(frame.ctx, left, lambda: ir.boolean(True), right, "either")


def unary(frame: Frame, callee: Any, value: Value) -> Value:
    ctx = frame.ctx
    if isinstance(value, Complex) and not is_array(value):
        return complexes.unary(ctx, callee, value)
    if callee is operator.not_:
        return scalars.negated(ctx, truth(frame, value))
    if is_number(value):
        assert isinstance(value, ir.Var | ir.Const)
        return scalars.scalar(ctx, callee, (value,))
    if is_array(value):
        return elementwise(ctx, callee, (value,))
    raise ctx.fail(errors.Unsupported, f"`{callee.__name__}` of {described(value)}", "", "Give a number or an array.")


def truth(frame: Frame, value: Value) -> ir.Operand:
    """The boolean of a value in a condition."""
    ctx = frame.ctx
    if is_numeric(value) and not is_array(value):
        assert isinstance(value, ir.Var | ir.Const | Complex)
        return complexes.truth(ctx, value)
    if isinstance(value, Static):
        return ir.boolean(bool(value.value))
    if isinstance(value, OneOf):
        return ir.boolean(True)
    if isinstance(value, TupleValue):
        return ir.boolean(bool(value.items))
    raise ctx.fail(
        errors.Unsupported,
        "an array as a condition",
        "Its truth value is ambiguous.",
        "Use .any() or .all(), or np.where.",
    )


def compare(frame: Frame, name: str, left: Value, right: Value) -> Value:
    """One comparison; `is` and `in` are decided when the code is compiled."""
    ctx = frame.ctx
    if name in ("Is", "IsNot") and (isinstance(left, OneOf) or isinstance(right, OneOf)):
        one, other = (left, right) if isinstance(left, OneOf) else (right, left)
        if not isinstance(one, OneOf) or isinstance(other, OneOf):
            raise ctx.fail(
                errors.Unsupported, "a comparison of two functions that are chosen at run time", "",
                "Compare what they are chosen by.",
            )  # fmt: skip
        is_same = is_function(ctx, one, other)
        return is_same if name == "Is" else scalars.negated(ctx, is_same)
    if name in ("Is", "IsNot"):
        same = isinstance(left, Static) and isinstance(right, Static) and left.value is right.value
        if isinstance(left, ir.Const) and isinstance(right, ir.Const):
            same = left == right
        return ir.boolean(same == (name == "Is"))
    if name in ("In", "NotIn"):
        if not isinstance(right, TupleValue):
            raise ctx.fail(
                errors.Unsupported, "`in` on something that is not a tuple", "", "Write the search as a loop."
            )
        found: ir.Operand = ir.boolean(False)
        for item in right.items:
            same_item = truth(frame, binary(frame, operator.eq, left, item))
            found = either(frame, found, scalars.ready(same_item))
        return found if name == "In" else scalars.negated(ctx, found)
    return binary(frame, COMPARISONS[name], left, right)
