"""Expressions of the user's program, one function a kind.

In: a node of the tree. Out: its value.

    evaluate(frame, <a[i] * np.sin(x)>)  ->  the operand that holds the product, its operations emitted
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from typing import Any, get_args

import libcst as cst
from numba import types

from adjit.transform import ir
from adjit.transform.elaborate import indexing
from adjit.transform.elaborate.calls import attribute, call
from adjit.transform.elaborate.control import either_value
from adjit.transform.elaborate.operators import BINARY, UNARY, binary, both, compare, either, truth, unary
from adjit.transform.elaborate.syntax import contains
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.choices import functions_in
from adjit.transform.elaborate.values.elementwise import copied, materialise
from adjit.transform.elaborate.values.frame import Frame, Guess, LocalFunction, wrap
from adjit.transform.elaborate.values.order import in_order, settled
from adjit.transform.elaborate.values.values import (
    Flat,
    SliceValue,
    Static,
    TupleValue,
    Value,
    described,
    elements,
    is_array,
    is_number,
)
from adjit.transform.ir.types import is_integer


def evaluate(frame: Frame, node: cst.BaseExpression) -> Value:
    ctx = frame.ctx
    outer = ctx.node, ctx.frame
    if not frame.is_rule:
        ctx.node, ctx.frame = node, frame
    try:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            what, instead = _REFUSED.get(type(node), (f"`{type(node).__name__}`", "Write it with other statements."))
            raise ctx.unsupported(f"{what} is not supported", instead)
        return handler(frame, node)
    finally:
        ctx.node, ctx.frame = outer


def condition(frame: Frame, node: cst.BaseExpression) -> ir.Operand:
    """An expression in a condition, as a boolean operand."""
    return truth(frame, evaluate(frame, node))


# ----------------------------------------------------------------------------------------------------- atoms


def _name(frame: Frame, node: cst.Name) -> Value:
    ctx = frame.ctx
    name = node.value
    found = frame.lookup(name)
    if found is not None:
        return found
    if name in frame.local_names:
        if frame.in_loop:
            raise Guess(name)
        raise ctx.unsupported(f"`{name}` is read before it is assigned", "Assign it first, on every path.")
    for scope in (frame.source.closure, frame.source.globals):
        if name in scope:
            return wrap(ctx, scope[name])
    if hasattr(builtins, name):
        return wrap(ctx, getattr(builtins, name))
    raise ctx.unsupported(f"`{name}` is not defined", "Define it in the function or around it.")


_Literal = cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString | cst.ConcatenatedString | cst.Ellipsis


def _literal(frame: Frame, node: _Literal) -> Value:
    return wrap(frame.ctx, Ellipsis if isinstance(node, cst.Ellipsis) else node.evaluated_value)


_STARRED = "Write its items one by one: how many there are has to be known to compile it."


def _tuple(frame: Frame, node: cst.Tuple | cst.List) -> Value:
    items: list[Value] = []
    for element in node.elements:
        value = evaluate(frame, element.value)
        if isinstance(element, cst.StarredElement):
            items.extend(_items(frame, value, element))
        else:
            items.append(materialise(frame.ctx, value))
    return TupleValue(tuple(items), isinstance(node, cst.List))


def _items(frame: Frame, value: Value, node: cst.CSTNode, instead: str = _STARRED) -> tuple[Value, ...]:
    """What `*` stands for before a value."""
    if not isinstance(value, TupleValue):
        raise frame.ctx.unsupported(f"`*` before {described(value)}", instead, node=node)
    return value.items


def _walrus(frame: Frame, node: cst.NamedExpr) -> Value:
    value = materialise(frame.ctx, evaluate(frame, node.value))
    assert isinstance(node.target, cst.Name)
    frame.env[node.target.value] = value
    return value


def local_function(frame: Frame, node: cst.Lambda | cst.FunctionDef) -> Value:
    """A function defined here; its defaults are evaluated now."""
    params = node.params
    if params.star_kwarg is not None or isinstance(params.star_arg, cst.Param):
        raise frame.ctx.unsupported(
            "`*` or `**` parameters of a function defined inside",
            "Name the parameters one by one, or pass a tuple.",
        )
    listed = (*params.posonly_params, *params.params, *params.kwonly_params)
    defaults = {
        p.name.value: materialise(frame.ctx, evaluate(frame, p.default)) for p in listed if p.default is not None
    }
    return Static(LocalFunction(node, frame, defaults))


# ------------------------------------------------------------------------------------------------- operators


def _binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    sides = (node.left, node.right)
    left, right = map(elements, in_order(frame.ctx, [functools.partial(evaluate, frame, side) for side in sides]))
    return binary(frame, BINARY[type(node.operator).__name__], left, right)


def _unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    return unary(frame, UNARY[type(node.operator).__name__], evaluate(frame, node.expression))


def _boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    left = evaluate(frame, node.left)
    first = truth(frame, left)
    is_and = isinstance(node.operator, cst.And)
    if isinstance(first, ir.Const):
        return evaluate(frame, node.right) if bool(first.value) == is_and else left
    if is_number(left) and not isinstance(left.type, types.Boolean):
        # `x or y` of numbers is one of the numbers
        sides = (lambda: _number_of(frame, node.right)), scalars.ready(left)
        yes, no = sides if is_and else sides[::-1]
        if contains(node, cst.NamedExpr):
            return either_value(frame, first, yes, no)
        return complexes.branch(frame.ctx, first, yes, no)
    return _decided(frame, is_and, first, lambda: condition(frame, node.right), node)


def _decided(
    frame: Frame, is_and: bool, first: ir.Operand, second: Callable[[], ir.Operand], node: cst.BaseExpression
) -> ir.Operand:
    """`first and second`, or with `or`, of booleans, of which `first` is no literal."""
    if not contains(node, cst.NamedExpr):
        return (both if is_and else either)(frame, first, second)
    known = scalars.ready(ir.boolean(not is_and))
    chosen = either_value(frame, first, second if is_and else known, known if is_and else second)
    assert isinstance(chosen, ir.Var | ir.Const)
    return chosen


def _number_of(frame: Frame, node: cst.BaseExpression) -> ir.Operand:
    value = evaluate(frame, node)
    if not is_number(value):
        raise frame.ctx.mismatch(
            f"`and` or `or` of a number and {described(value)}",
            "Give a number on both sides, or write it with `if`.",
            node=node,
        )
    return value


def _comparison(frame: Frame, node: cst.Comparison) -> Value:
    left = evaluate(frame, node.left)

    def chain(k: int, left: Value) -> Value:
        target = node.comparisons[k]
        name = type(target.operator).__name__
        mark = len(frame.ctx.builder.ops)
        right = evaluate(frame, target.comparator)
        result = compare(frame, name, settled(frame.ctx, left, mark), right)
        if k + 1 == len(node.comparisons):
            return result
        held = truth(frame, result)
        if isinstance(held, ir.Const):
            return chain(k + 1, right) if held.value else held
        return _decided(frame, True, held, lambda: truth(frame, chain(k + 1, right)), node)

    return chain(0, left)


def _conditional(frame: Frame, node: cst.IfExp) -> Value:
    test = condition(frame, node.test)
    if isinstance(test, ir.Const):
        return evaluate(frame, node.body if test.value else node.orelse)
    then, orelse = (functools.partial(evaluate, frame, side) for side in (node.body, node.orelse))
    return either_value(frame, test, then, orelse)


# --------------------------------------------------------------------------------------- attributes, subscripts


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    owner = evaluate(frame, node.value)
    return attribute(frame, owner, node.attr.value)


def subscript_place(frame: Frame, node: cst.Subscript) -> indexing.Place | indexing.Pair:
    """Where a subscript points."""
    base = elements(evaluate(frame, node.value))
    if not is_array(base):
        raise frame.ctx.unsupported(f"a store into {described(base)}", "Store into an array.", node=node)
    return indexing.resolve(frame.ctx, base, _entries(frame, node))


def _entries(frame: Frame, node: cst.Subscript) -> list[Value]:
    """What stands in the brackets: a tuple there is one entry an item, a tuple in a tuple is one entry."""
    entries: list[Value] = []
    for element in node.slice:
        if isinstance(element.slice, cst.Slice):
            ends = [_slice_end(frame, e) for e in (element.slice.lower, element.slice.upper, element.slice.step)]
            entries.append(SliceValue(ir.Span(*ends)))
            continue
        assert isinstance(element.slice, cst.Index)
        entry = materialise(frame.ctx, evaluate(frame, element.slice.value))
        if element.slice.star:
            entries.extend(_items(frame, entry, element, "Put it before a tuple or a list."))
        else:
            entries.append(entry)
    (only, *more) = node.slice
    is_one = not more and isinstance(only.comma, cst.MaybeSentinel)
    if is_one and len(entries) == 1 and isinstance(entries[0], TupleValue) and not entries[0].is_list:
        return list(entries[0].items)
    return entries


def _slice_end(frame: Frame, node: cst.BaseExpression | None) -> ir.Operand | None:
    if node is None:
        return None
    value = evaluate(frame, node)
    if isinstance(value, Static) and value.value is None:
        return None
    if not is_number(value) or not is_integer(value.type):
        raise frame.ctx.mismatch("the end of a slice is not an integer", "Convert it: int(...).", node=node)
    return value


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    ctx = frame.ctx
    base = evaluate(frame, node.value)
    mark = len(ctx.builder.ops)
    entries = _entries(frame, node)
    if isinstance(base, TupleValue):
        return _tuple_item(frame, base, entries)
    if isinstance(base, Flat):
        selected = indexing.read(ctx, indexing.resolve(ctx, base.array, entries))
        # an iterator has no views
        return copied(ctx, selected) if is_array(selected) else selected
    if not is_array(base):
        raise ctx.unsupported(f"a subscript of {described(base)}", "Index an array or a tuple.")
    return indexing.read(ctx, indexing.resolve(ctx, settled(ctx, base, mark), entries))


def _tuple_item(frame: Frame, base: TupleValue, entries: list[Value]) -> Value:
    ctx = frame.ctx
    (entry,) = entries if len(entries) == 1 else (None,)
    if isinstance(entry, ir.Const) and is_integer(entry.type):
        if not -len(base.items) <= entry.value < len(base.items):
            raise ctx.mismatch(f"{described(base)} has no item {entry.value}", "Give an index that is inside it.")
        return base.items[int(entry.value)]
    if isinstance(entry, SliceValue):
        ends = (entry.span.start, entry.span.stop, entry.span.step)
        if not any(isinstance(e, ir.Var) for e in ends):
            start, stop, step = (e.value if isinstance(e, ir.Const) else None for e in ends)
            return TupleValue(base.items[start:stop:step], base.is_list)
    if isinstance(entry, ir.Var) and is_integer(entry.type) and base.items:
        if all(map(is_number, base.items)):
            return _chosen(frame, base, entry, functools.partial(complexes.branch, ctx, name="item"))
        if all(map(functions_in, base.items)):
            return _chosen(frame, base, entry, functools.partial(either_value, frame))
    raise ctx.unsupported("a tuple indexed with a value that is not constant", "Use an array, or a constant index.")


def _is_at(frame: Frame, index: ir.Var, place: int, count: int) -> ir.Operand:
    """Whether an index, which may be counted from the end, is that of a place."""
    is_from_end = functools.partial(scalars.scalar, frame.ctx, operator.eq, (index, ir.integer(place - count)))
    return either(frame, scalars.scalar(frame.ctx, operator.eq, (index, ir.integer(place))), is_from_end)


def _chosen(frame: Frame, base: TupleValue, index: ir.Var, choose: Callable[..., Value]) -> Value:
    """An item of a tuple at an index known at run time only: `choose` makes one of two."""
    result = base.items[-1]
    for k in range(len(base.items) - 2, -1, -1):
        item, rest = (functools.partial(_same, value) for value in (base.items[k], result))
        result = choose(_is_at(frame, index, k, len(base.items)), item, rest)
    return result


def _same(value: Value) -> Value:
    return value


# ------------------------------------------------------------------------------------------------------- calls


def _call(frame: Frame, node: cst.Call) -> Value:
    ctx = frame.ctx
    parts = (node.func, *(argument.value for argument in node.args))
    function, *values = in_order(ctx, [functools.partial(evaluate, frame, part) for part in parts])
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for argument, value in zip(node.args, values, strict=True):
        if argument.star == "*":
            positional.extend(_items(frame, value, argument))
        elif argument.star == "**":
            raise ctx.unsupported("`**` in a call", "Name the arguments.", node=argument)
        elif argument.keyword is not None:
            named[argument.keyword.value] = value
        else:
            positional.append(value)
    return call(frame, function, positional, named)


_HANDLERS: dict[type, Callable[[Frame, Any], Value]] = {
    cst.Name: _name,
    **dict.fromkeys(get_args(_Literal), _literal),
    cst.Tuple: _tuple,
    cst.List: _tuple,
    cst.NamedExpr: _walrus,
    cst.Lambda: local_function,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison,
    cst.IfExp: _conditional,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Call: _call,
}

_REFUSED: dict[type, tuple[str, str]] = {
    cst.Dict: ("a dictionary", "Use variables, a tuple or an array."),
    cst.Set: ("a set", "Use a tuple or an array."),
    cst.ListComp: ("a list comprehension", "Store into an array in a loop."),
    cst.GeneratorExp: ("a generator expression", "Write it as a loop."),
    cst.DictComp: ("a dictionary comprehension", "Store into an array in a loop."),
    cst.SetComp: ("a set comprehension", "Store into an array in a loop."),
    cst.Yield: ("`yield`", "Return an array or a sum."),
    cst.Await: ("`await`", "Call a function that is no coroutine."),
    cst.FormattedString: ("an f-string", "Take it out."),
}
