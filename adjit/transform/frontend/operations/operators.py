"""Operators on values of every kind: numbers, arrays, tuples, complex numbers and static things.

In: an operator and values. Out: the value of the result.

    binary(frame, operator.mul, %x, Lazy)  ->  Lazy;   binary(frame, operator.add, (1, 2), (3,))  ->  (1, 2, 3)
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.rules.registry import class_of
from adjit.transform import ir
from adjit.transform.frontend.heap import aliasing, lists
from adjit.transform.frontend.heap.references import in_new_reference
from adjit.transform.frontend.operations.control import either_value, of_option, unless_changing
from adjit.transform.frontend.operations.foreign_libraries import refuse_foreign
from adjit.transform.frontend.operations.records import call_method, class_of_object, fields_compared, method_of, unwrap
from adjit.transform.frontend.values import complexes, integers, scalars
from adjit.transform.frontend.values.arrays import array_of
from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.cells import Container, ItemRef, Ref
from adjit.transform.frontend.values.dictionaries import Instance, Record, RuntimeDict, is_mutable
from adjit.transform.frontend.values.elementwise import elementwise, materialise, operand, overlaps, paired
from adjit.transform.frontend.values.fold import (
    ARRAYS_OF_TEXTS,
    BY_PERCENT,
    OPERATORS,
    TEXTS,
    as_floats,
    fold,
    is_known_object,
    takes_operands,
    takes_texts,
)
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.library_calls import whole_call
from adjit.transform.frontend.values.lists import GrowableList, TupleValue, is_list
from adjit.transform.frontend.values.numbers import (
    Complex,
    Number,
    dtype,
    is_array,
    is_complex,
    is_number,
    is_numeric,
    is_scalar,
    ndim,
    operands_in,
)
from adjit.transform.frontend.values.statics import Static, object_of, stands_for
from adjit.transform.frontend.values.unions import Optional, Union, functions_in, holds_for, is_option
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import call_type, is_integer, typed_const
from adjit.transform.source.callables import sign_of
from adjit.transform.source.external_reads import is_defined, read_attribute, static_attribute

BINARY: dict[str, Any] = {
    "Add": operator.add, "Subtract": operator.sub, "Multiply": operator.mul, "Divide": operator.truediv,
    "FloorDivide": operator.floordiv, "Modulo": operator.mod, "Power": operator.pow, "MatrixMultiply": operator.matmul,
    "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "LeftShift": operator.lshift, "RightShift": operator.rshift,
}  # fmt: skip

UNARY: dict[str, Any] = {
    "Minus": operator.neg, "Plus": operator.pos, "Not": operator.not_, "BitInvert": operator.invert,
}  # fmt: skip

COMPARISONS: dict[str, Any] = {
    "LessThan": operator.lt, "LessThanEqual": operator.le, "GreaterThan": operator.gt,
    "GreaterThanEqual": operator.ge, "Equal": operator.eq, "NotEqual": operator.ne,
    "Is": operator.is_, "IsNot": operator.is_not,
}  # fmt: skip

_OF_TWO = {*BINARY.values(), *COMPARISONS.values()}
_OF_ONE = set(UNARY.values())
_IN_PLACE = {getattr(operator, f"i{of.__name__.strip('_')}"): of for of in BINARY.values()}


def spelt_out(frame: Frame, callee: Any, args: Sequence[Value]) -> Value | None:
    """A call of a function of `operator`, which is the operator; None for other functions."""
    if len(args) == 2 and callee in _OF_TWO:
        return binary(frame, callee, args[0], args[1])
    if len(args) == 2 and callee in _IN_PLACE:
        if is_mutable(args[0]) or is_array(args[0]):
            of = _IN_PLACE[callee].__name__.strip("_")
            raise frame.ctx.unsupported(
                f"operator.{callee.__name__} of {describe(args[0])}",
                f"Write it as a statement, or use operator.{of} if no other name has the value.",
                why="It changes its argument.",
            )
        return in_place(frame, _IN_PLACE[callee], args[0], args[1])
    if len(args) == 1 and callee in _OF_ONE:
        return unary(frame, callee, args[0])
    return None


def binary(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    """`left callee right`, arithmetic or comparison; `is` is decided when the code is compiled."""
    ctx = frame.ctx
    if callee in (operator.is_, operator.is_not):
        same = _is_same(frame, left, right)
        return same if callee is operator.is_ else scalars.negated(ctx, same)
    is_of_chosen = isinstance(left, Union | Optional) or isinstance(right, Union | Optional)
    if is_of_chosen and callee in (operator.eq, operator.ne):
        return _chosen_equal(frame, callee, left, right)
    if takes_operands((left, right)):
        return fold(ctx, OPERATORS, callee, (left, right))
    if any(map(is_known_object, (left, right))):
        left, right = as_floats((left, right))
    found = _by_method(frame, callee, left, right)
    if found is not None:
        return found
    if callee is operator.add:
        left, right = (unwrap(ctx, side) if stands_for(side, list) else side for side in (left, right))
    found = _of_lists(frame, callee, left, right)
    if found is not None:
        return found
    if is_array(left) or is_array(right):
        left, right = (array_of_list(ctx, side) for side in (left, right))
    if is_numeric(left) and is_numeric(right):
        return _of_numbers(frame, callee, left, right)
    for run in (_of_tuples, _of_known):
        found = run(frame, callee, left, right)
        if found is not None:
            return found
    if isinstance(left, Union):
        return of_option(frame, left, lambda option: binary(frame, callee, option, right))
    if isinstance(right, Union):
        return of_option(frame, right, lambda option: binary(frame, callee, left, option))
    raise _no_operation(ctx, callee, left, right)


def _of_lists(frame: Frame, callee: Any, left: Value, right: Value) -> Value | None:
    """Lists that are joined, and lists and tuples that are repeated."""
    if is_list(left) and is_list(right) and callee is operator.add:
        whole = lists.joined(frame.ctx, left, right)
        shares = frozenset[Ref]().union(
            *(aliasing.shared_by(one) for one in (left, right) if isinstance(one, GrowableList))
        )
        return dataclasses.replace(whole, shares=shares) if isinstance(whole, GrowableList) else whole
    if isinstance(right, TupleValue) and callee is operator.mul and is_number(left):
        left, right = right, left
    if isinstance(left, TupleValue) and callee is operator.mul and is_number(right) and is_integer(right.type):
        # in Python the same lists and objects again
        items = tuple(in_new_reference(frame, one) if is_mutable(one) else one for one in left.items)
        return lists.repeated(frame.ctx, dataclasses.replace(left, items=items), right)
    return None


def _of_numbers(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    """Numbers and arrays, real or complex."""
    ctx = frame.ctx
    if is_complex(left) or is_complex(right):
        if callee is operator.matmul:
            return product(frame, callee, left, right)
        if is_scalar(left) and is_scalar(right):
            return complexes.binary(ctx, callee, left, right)
        return elementwise(ctx, callee, (left, right))
    if frame.weak:
        left, right = _weak_against(left, right), _weak_against(right, left)
    if callee is not operator.matmul:
        return applied(ctx, callee, (left, right))
    is_product = is_array(left) and is_array(right)
    if is_product and (max(ndim(left), ndim(right)) > 2 or overlaps(ctx, left) or overlaps(ctx, right)):
        return ctx.call(frame, Static(np.matmul), (left, right), {})
    return whole_call(ctx, operator.matmul, (operand(ctx, left), operand(ctx, right)))


def _of_tuples(frame: Frame, callee: Any, left: Value, right: Value) -> Value | None:
    """Tuples and lists that are joined or compared."""
    if not isinstance(left, TupleValue) or not isinstance(right, TupleValue):
        return None
    if callee is operator.add and not left.is_list and not right.is_list:
        return TupleValue(left.items + right.items)
    if callee in (operator.eq, operator.ne):
        return _tuples_equal(frame, callee, left, right)
    if callee in _ORDERING and left.is_list == right.is_list:
        return _tuples_ordered(frame, callee, left.items, right.items)
    return None


def _of_known(frame: Frame, callee: Any, left: Value, right: Value) -> Value | None:
    """Texts and other objects that are known."""
    ctx = frame.ctx
    if takes_texts(callee, (left, right), {}):
        return fold(ctx, ARRAYS_OF_TEXTS, callee, (left, right))
    if isinstance(left, Static) and isinstance(right, Static) and callee in (operator.eq, operator.ne):
        return ir.boolean(bool(callee(left.value, right.value)))
    is_of_two = stands_for(left, str) and stands_for(right, str) and (callee is operator.add or callee in _ORDERING)
    is_count = callee is operator.mul and isinstance(right, ir.Const) and is_integer(right.type)
    if is_of_two or (stands_for(left, str) and is_count):
        return fold(ctx, TEXTS, callee, (left, right))
    if callee in (operator.eq, operator.ne) and (isinstance(left, Static) or isinstance(right, Static)):
        if is_array(left) or is_array(right):
            raise ctx.unsupported(
                f"{describe(left)} compared with {describe(right)}",
                "Write `is None`, or compare with numbers.",
                why="NumPy compares each element.",
            )
        return ir.boolean(callee is operator.ne)
    is_format = callee is operator.mod and stands_for(left, str)
    return fold(ctx, BY_PERCENT, callee, (left, right)) if is_format and not isinstance(right, Union) else None


def _no_operation(ctx: Context, callee: Any, left: Value, right: Value) -> errors.AdjitError:
    what = f"`{sign_of(callee)}` of {describe(left)} and {describe(right)}"
    if any(isinstance(v, Static) and type(v.value).__module__.startswith("scipy.sparse.") for v in (left, right)):
        return ctx.unsupported(what, "Compress it before the function, with .tocsr() or .tocsc().")
    for value in (left, right):
        refuse_foreign(ctx, object_of(value))
    return ctx.unsupported(what, _as_numbers((left, right)))


def _as_numbers(values: Sequence[Value]) -> str:
    """What to do where an operator gets what has no arithmetic."""
    for value in values:
        if is_list(value) or isinstance(value, TupleValue):
            kind = "list" if is_list(value) else "tuple"
            return f"Write np.array(...) of the {kind}, or take its items."
        if stands_for(value, str):
            return "Convert the string to a number with float(...)."
        if isinstance(value, RuntimeDict | Record):
            return f"Take the numbers or arrays out of {describe(value)}."
    return "Use numbers or arrays."


def in_place(frame: Frame, callee: Any, target: Value, value: Value) -> Value:
    """What `target callee= value` puts into the place of what is no array and no list."""
    method = method_of(target, f"__i{_DUNDERS.get(callee, callee.__name__)}__")
    found = Static(NotImplemented) if method is None else frame.ctx.call(frame, Static(method), [target, value], {})
    return binary(frame, callee, target, value) if found == Static(NotImplemented) else found


def array_of_list(ctx: Context, value: Value) -> Value:
    """What NumPy sees of a list or a tuple beside an array; of anything else, that."""
    value = lists.displayed(ctx, value)
    if isinstance(value, TupleValue):
        return array_of(ctx, value)
    return lists.elements(ctx, value) if isinstance(value, GrowableList) else value


def _by_method(frame: Frame, callee: Any, left: Value, right: Value) -> Value | None:
    """What the class of an object says that an operator does; None where none is an object, or says nothing."""
    ctx, name = frame.ctx, _DUNDERS.get(callee, callee.__name__)
    sides = [(left, right, f"__{name}__"), (right, left, f"__{_REFLECTED.get(name, 'r' + name)}__")]
    one, other = (class_of_object(side) for side in (left, right))
    if one is None and other is None:
        return None
    if one is not None and other is not None and one is not other and issubclass(other, one):
        # that of a derived class is asked first where it has one of its own
        own, inherited = (static_attribute(kind, sides[1][2], None) for kind in (other, one))
        sides = sides[::-1] if own is not inherited else sides
    for owner, beside, asked in sides:
        method = method_of(owner, asked)
        if method is None:
            continue
        if is_array(beside) and owner is right and not _stands_back(right.of if isinstance(right, Instance) else other):
            raise ctx.unsupported(
                f"`{sign_of(callee)}` of an array and {describe(owner)}",
                f"Write `__array_ufunc__ = None` in the class, or put {describe(owner)} to the left.",
                why="NumPy calls the object's operator for each element.",
            )
        if owner is right and is_scalar(beside) and other is not None and _takes_for_sequence(ctx, beside, other):
            raise ctx.unsupported(
                f"`{sign_of(callee)}` of a number of NumPy's and {describe(owner)}",
                "Write float(...) of the number, `__array_ufunc__ = None` in the class, or put the object to the left.",
                why="The class has `__len__` and `__getitem__`: NumPy makes an array of it.",
            )
        compared = fields_compared(owner, method)
        if compared is None:
            found = ctx.call(frame, Static(method), [owner, beside], {})
        elif class_of_object(beside) is class_of_object(owner):
            rest = fields_compared(beside, method)
            assert rest is not None
            found = binary(frame, callee if owner is left else _MIRRORED[callee], compared, rest)
        else:
            continue
        if found != Static(NotImplemented):
            return found
    if callee is operator.ne and any(method_of(owner, "__eq__") for owner in (left, right)):
        return scalars.negated(ctx, truth(frame, binary(frame, operator.eq, left, right)))
    if callee in (operator.eq, operator.ne) and one is other is SimpleNamespace:
        return _namespaces_equal(frame, callee, left, right)
    if callee in (operator.eq, operator.ne) and isinstance((one and left) or right, Instance):
        return binary(frame, operator.is_ if callee is operator.eq else operator.is_not, left, right)
    return None


def _namespaces_equal(frame: Frame, callee: Any, left: Any, right: Any) -> Value:
    are_like = set(left.keys) == set(right.keys)
    sides = [TupleValue(tuple(side.items[side.keys.index(k)] for k in left.keys)) for side in (left, right) if are_like]
    return _tuples_equal(frame, callee, *sides) if are_like else ir.boolean(callee is operator.ne)


def _takes_for_sequence(ctx: Context, number: Value, kind: type) -> bool:
    """Whether a number takes an object to its right for a sequence, as one of NumPy's does, unless it stands back."""
    parts = operands_in(number) if ctx.is_plain and isinstance(number, Number) else ()
    is_pythons = all(integers.is_pythons(ctx, part) for part in parts)
    is_sequence = all(static_attribute(kind, name, None) for name in ("__len__", "__getitem__"))
    return not is_pythons and is_sequence and not _stands_back(kind)


def _stands_back(kind: type | None) -> bool:
    """Whether NumPy leaves an operator to such objects, if they stand to its right."""
    if kind is None:
        return False
    missing = object()
    asked = static_attribute(kind, "__array_ufunc__", missing)
    return asked is None or (asked is missing and bool(read_attribute(kind, "__array_priority__", 0.0) > 0.0))


_DUNDERS = {operator.and_: "and", operator.or_: "or"}
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_MIRRORED = {
    operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le,
    operator.eq: operator.eq, operator.ne: operator.ne,
}  # fmt: skip


def applied(ctx: Context, callee: Any, args: Sequence[Value]) -> Value:
    """A function of numbers, real or complex: of these, or of the elements of these."""
    if any(map(is_array, args)):
        return elementwise(ctx, callee, args)
    numbers = [a for a in args if is_scalar(a)]
    if all(isinstance(a, ir.Operand) and is_integer(a.type) for a in numbers):
        if (way := integers.way_of(ctx, callee, numbers)) is not None:
            return integers.computed(ctx, way, [complexes.real(ctx, a) for a in numbers])
        if (own := integers.of_python(ctx, callee, numbers)) is not None:
            return own
    if ctx.numbers.as_floats and isinstance(call_type(callee, tuple(map(dtype, numbers))), types.Float):
        of_base = 1 if callee is operator.pow else len(numbers)  # an exponent stays the integer that it is
        numbers = [integers.as_floats(ctx, a) if k < of_base else a for k, a in enumerate(numbers)]
    return complexes.call(ctx, callee, numbers)


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


def _weak_against(value: Value, other: Value) -> Value:
    """In a rule a literal takes the float type of the other operand."""
    kind = dtype(other)
    if not isinstance(value, ir.Const) or is_array(value) or isinstance(value.type, types.Boolean):
        return value
    return typed_const(value.value, kind) if isinstance(kind, types.Float) else value


def _tuples_equal(frame: Frame, callee: Any, left: TupleValue, right: TupleValue) -> Value:
    comparable = len(left.items) == len(right.items) and left.is_list == right.is_list
    result: ir.Operand = ir.boolean(comparable)
    if comparable:
        for a, b in zip(left.items, right.items, strict=True):
            same = truth(frame, binary(frame, operator.eq, a, b))
            result = both(frame, result, scalars.ready(same))
    return scalars.negated(frame.ctx, result) if callee is operator.ne else result


_REFUSES = static_attribute(object, "__lt__")
_ORDERING = (operator.lt, operator.le, operator.gt, operator.ge)


def _tuples_ordered(frame: Frame, callee: Any, left: Sequence[Value], right: Sequence[Value]) -> ir.Operand:
    """Whether one tuple is before another: by the first items that differ."""
    if not left or not right:
        return ir.boolean(callee(len(left), len(right)))
    (a, *more_left), (b, *more_right) = left, right
    if isinstance(a, Static) and a == b:
        return _tuples_ordered(frame, callee, more_left, more_right)
    if not _are_comparable(a, b):
        # reached where all items before these are equal: Python raises there, and nowhere else
        # (of an array it asks first whether it is the same as the other)
        kind = ValueError if is_numeric(a) and is_numeric(b) else TypeError
        error = ir.Raise(exception=kind, args=(f"{describe(a)} and {describe(b)} cannot be compared",))
        frame.ctx.builder.emit(error)
        return ir.boolean(False)
    if not more_left and not more_right:
        return truth(frame, binary(frame, callee, a, b))
    rest = functools.partial(_tuples_ordered, frame, callee, more_left, more_right)
    is_same = truth(frame, binary(frame, operator.eq, a, b))
    return complexes.branch(frame.ctx, is_same, rest, lambda: truth(frame, binary(frame, callee, a, b)), "is_before")


def _are_comparable(left: Value, right: Value) -> bool:
    match left, right:
        case TupleValue(), TupleValue():
            # of the items in these, those which are reached are asked
            return left.is_list == right.is_list
        case (Record(), _) | (_, Record()):
            # every class has the method that refuses
            kinds = [a.of for a in (left, right) if isinstance(a, Instance)]
            return any(static_attribute(kind, "__lt__") is not _REFUSES for kind in kinds)
    return (is_number(left) and is_number(right)) or (stands_for(left, str) and stands_for(right, str))


def both(frame: Frame, left: ir.Operand, right: Callable[[], ir.Operand]) -> ir.Operand:
    """`left and right`, short-circuiting."""
    if isinstance(left, ir.Const):
        return right() if left.value else left
    known, placed = scalars.ready(ir.boolean(False)), unless_changing(frame, right)
    if placed is None:
        return either_value(frame, left, right, known)
    return complexes.branch(frame.ctx, left, placed, known, "both")


def either(frame: Frame, left: ir.Operand, right: Callable[[], ir.Operand]) -> ir.Operand:
    """`left or right`, short-circuiting."""
    if isinstance(left, ir.Const):
        return left if left.value else right()
    known, placed = scalars.ready(ir.boolean(True)), unless_changing(frame, right)
    if placed is None:
        return either_value(frame, left, known, right)
    return complexes.branch(frame.ctx, left, known, placed, "either")


def unary(frame: Frame, callee: Any, value: Value) -> Value:
    ctx = frame.ctx
    if isinstance(value, Complex) and not is_array(value):
        return complexes.unary(ctx, callee, value)
    if callee is operator.invert and is_number(value) and isinstance(value.type, types.Boolean):
        is_known = isinstance(value, ir.Const)
        if isinstance(value, ir.Const) and frame.is_rule:
            return ir.boolean(not value.value)
        if is_known or (ctx.is_plain and integers.is_pythons(ctx, value) is not False):
            raise ctx.unsupported(
                "`~` of a boolean that is known while compiling" if is_known else "`~` of a Python boolean",
                "Write `not c`.",
                why="In Python `~True` is -2; for NumPy `~` is `not`.",
            )
    if callee is operator.not_:
        return scalars.negated(ctx, truth(frame, value))
    if (method := method_of(value, f"__{callee.__name__}__")) is not None:
        return ctx.call(frame, Static(method), [value], {})
    if takes_operands((value,)):
        return fold(ctx, OPERATORS, callee, (value,))
    if is_numeric(value):
        return applied(ctx, callee, (value,))
    if isinstance(value, Union):
        return of_option(frame, value, functools.partial(unary, frame, callee))
    raise ctx.unsupported(f"`{sign_of(callee)}` of {describe(value)}", _as_numbers((value,)))


def truth(frame: Frame, value: Value) -> ir.Operand:
    """The boolean of a value in a condition."""
    ctx = frame.ctx
    if is_scalar(value):
        return complexes.truth(ctx, value)
    match value:
        case Instance(of=kind):
            asked = next((name for name in ("__bool__", "__len__") if is_defined(class_of(kind), name)), None)
            return ir.boolean(True) if asked is None else truth(frame, call_method(frame, value, asked, [], {}))
        case Container():
            return scalars.scalar(ctx, operator.gt, (value.length(), ir.integer(0)))
        case Union(options=options):
            if all(isinstance(option, Static) for option in options):
                return holds_for(ctx, value, lambda option: bool(object_of(option)))
            return of_option(frame, value, functools.partial(truth, frame))
        case Optional(is_there=is_there, value=held):
            return both(frame, is_there, lambda: truth(frame, held))
        case Static(value=known):
            return ir.boolean(bool(known))
    raise ctx.unsupported(
        "an array as a condition", "Use .any() or .all(), or np.where.", why="The truth value of an array is ambiguous."
    )


def _chosen_equal(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    """`left == right` or `left != right`, of which one is chosen at run time, or may be None."""
    if isinstance(left, Union) or isinstance(right, Union):
        same = _is_equal(frame, left, right)
        return same if callee is operator.eq else scalars.negated(frame.ctx, same)
    one, other = (left, right) if isinstance(left, Optional) else (right, left)
    assert isinstance(one, Optional)
    return truth(frame, of_option(frame, one.as_union(), lambda option: binary(frame, callee, option, other)))


def _is_equal(frame: Frame, left: Value, right: Value) -> ir.Operand:
    """Whether what is chosen at run time equals another value."""
    one, other = (left, right) if isinstance(left, Union) else (right, left)
    assert isinstance(one, Union)
    if not functions_in(one):
        return truth(frame, of_option(frame, one, lambda option: binary(frame, operator.eq, option, other)))
    if isinstance(other, Union) and not functions_in(other):
        return _is_equal(frame, other, one)
    if isinstance(other, Union):
        found: ir.Operand = ir.boolean(False)
        for k, option in enumerate(one.options):
            is_other = functools.partial(_is_equal, frame, other, option)
            found = either(frame, found, scalars.ready(both(frame, is_option(frame.ctx, one, k), is_other)))
        return found
    return holds_for(frame.ctx, one, lambda option: option == other)


def _are_one_object(one: Value, other: Value) -> bool:
    return isinstance(one, Static) and isinstance(other, Static) and one.value is other.value


def _is_same(frame: Frame, left: Value, right: Value) -> ir.Operand:
    one, other = (left, right) if isinstance(left, Union | Optional) else (right, left)
    match one, other:
        case Union(), Static():
            return holds_for(frame.ctx, one, functools.partial(_are_one_object, other))
        case Union(), _:
            return truth(frame, of_option(frame, one, lambda option: _is_same(frame, option, other)))
        case Optional(is_there=is_there), Static(value=None):
            return scalars.negated(frame.ctx, is_there)
        case Optional(), _:
            raise frame.ctx.unsupported("`is` between values", "Use `is` with None, and `==` for numbers.")
        case (Static(), _) | (_, Static()):
            return ir.boolean(_are_one_object(left, right))
        case ir.Const(), ir.Const():
            return ir.boolean(left == right)
    if left == right and not isinstance(left, Container):
        return ir.boolean(True)
    here, there = (side.cell if is_mutable(side) else None for side in (left, right))
    match here, there:
        case Ref(), Ref():
            known = frame.ctx.arguments.same
            is_one = here in known and there in known and known[here][0] == known[there][0]
            return ir.boolean(is_one or here == there)
        case ItemRef(), ItemRef() if here.is_beside(there) and not frame.ctx.heap.items_are_shared:
            # none of the items of a list stands in it twice
            return scalars.scalar(frame.ctx, operator.eq, (here.index, there.index), "is_same")
    is_of_two_kinds = type(left) is not type(right) and (isinstance(left, Container) or isinstance(right, Container))
    if not frame.ctx.assumed.keeps_chosen and is_mutable(left) and is_mutable(right):
        raise Restart(keeps_chosen=True)
    if frame.is_rule or is_array(left) != is_array(right) or is_of_two_kinds:
        return ir.boolean(False)
    raise frame.ctx.unsupported(
        f"`is` of {describe(left)} and {describe(right)}", "Compare with `==`, or compare their contents.",
        why="It is not known whether Python has one object or two here.",
    )  # fmt: skip
