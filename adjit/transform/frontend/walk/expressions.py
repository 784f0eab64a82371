"""Expressions of the user's program, one function a kind.

In: a node of the tree. Out: its value.

    evaluate(frame, <a[i] * np.sin(x)>)  ->  the operand that holds the product, its operations emitted
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import EnumMeta
from types import FunctionType
from typing import Any, get_args

import libcst as cst
import numpy as np
from numba import types

from adjit.runtime.backend import is_dispatcher
from adjit.transform import ir
from adjit.transform.frontend.arrays import indexing
from adjit.transform.frontend.arrays.grid_subscripts import ON_GRIDS, Ends, on_grid
from adjit.transform.frontend.heap.iterators import all_of_stream, of_items, opened_stream
from adjit.transform.frontend.heap.lists import columns, contents, elements, joined
from adjit.transform.frontend.heap.mutation_during_iteration import looked_at
from adjit.transform.frontend.heap.record_arrays import field_of, has_fields, is_records, part_of_records
from adjit.transform.frontend.heap.references import as_reference, current_view
from adjit.transform.frontend.library import dicts_and_sets
from adjit.transform.frontend.library.builtins import part_of_range, so_many
from adjit.transform.frontend.library.cuda import is_kernel
from adjit.transform.frontend.library.launches import configured
from adjit.transform.frontend.library.output import LEVELS, literal_text, said, says
from adjit.transform.frontend.numba.declared_types import variable
from adjit.transform.frontend.operations.containers import exhaust, item_at, to_list
from adjit.transform.frontend.operations.control import conditional, either_value, of_option, unless_changing
from adjit.transform.frontend.operations.foreign_libraries import refuse_foreign
from adjit.transform.frontend.operations.operators import BINARY, COMPARISONS, UNARY, binary, both, either, truth, unary
from adjit.transform.frontend.operations.records import is_instance, members_of, unwrap
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.arrays import shape_of
from adjit.transform.frontend.values.cells import MADE_TEXT, WHERE_TEXTS_GO, Container
from adjit.transform.frontend.values.dictionaries import Instance, KnownDict, Record, RuntimeDict, is_keyed
from adjit.transform.frontend.values.elementwise import copied, materialise
from adjit.transform.frontend.values.evaluation_order import in_order, settled
from adjit.transform.frontend.values.fold import ARRAYS_OF_TEXTS, TEXTS, fold, is_texts
from adjit.transform.frontend.values.frame import Context, Frame, Guess, LocalFunction, wrap
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue
from adjit.transform.frontend.values.numbers import Flat, Number, is_array, is_number, is_scalar, ndim
from adjit.transform.frontend.values.ranges import Range, SliceValue
from adjit.transform.frontend.values.statics import Static, as_stream, is_none, object_of, stands_for
from adjit.transform.frontend.values.unions import Optional, Union, as_options, fitting, narrowed, not_none
from adjit.transform.frontend.values.values import Value, dereference, describe
from adjit.transform.frontend.walk.calls import attribute, call, takes_none
from adjit.transform.ir.types import is_integer
from adjit.transform.source.callables import python_function, signature
from adjit.transform.source.external_reads import is_defined, static_attribute
from adjit.transform.source.syntax import names_read, nonlocals


def evaluate(frame: Frame, node: cst.BaseExpression) -> Value:
    """The value of an expression; TypeError where it is None as it runs."""
    return not_none(frame.ctx, evaluate_or_none(frame, node), _called_so(node))


def _called_so(node: cst.BaseExpression) -> str:
    """What a message calls an expression."""
    return f"`{node.value}`" if isinstance(node, cst.Name) else "this expression as a value"


def evaluate_or_none(frame: Frame, node: cst.BaseExpression) -> Value:
    """The value of an expression, also where it may be None."""
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
    if isinstance(node, cst.BooleanOperation):
        return _decision(frame, node)
    return truth(frame, evaluate_or_none(frame, node))


Facts = Mapping[str, Value]


def facts(frame: Frame, node: cst.BaseExpression) -> tuple[Facts, Facts]:
    """What variables that may be None, or of several classes, are where a condition holds that was just evaluated, and
    where it does not."""
    match node:
        case cst.Call():
            return _of_class(frame, node)
        case cst.Name() | cst.NamedExpr():
            name = _variable(node)
            known = _without_none(frame.ctx, frame.env.get(name))
            return ({}, {}) if known is None else ({name: known}, {})
        case cst.UnaryOperation(operator=cst.Not()):
            return facts(frame, node.expression)[::-1]
        case cst.BooleanOperation(operator=combining):
            one, other = facts(frame, node.left), facts(frame, node.right)
            is_and = isinstance(combining, cst.And)
            return ({**one[0], **other[0]}, {}) if is_and else ({}, {**one[1], **other[1]})
        case cst.Comparison(comparisons=[cst.ComparisonTarget(comparator=cst.Name(value="None"), operator=compared)]):
            name = _variable(node.left)
            known = _without_none(frame.ctx, frame.env.get(name))
            if known is not None and isinstance(compared, cst.IsNot | cst.NotEqual):
                return {name: known}, {name: Static(None)}
            if known is not None and isinstance(compared, cst.Is | cst.Equal):
                return {name: Static(None)}, {name: known}
    return {}, {}


def _variable(node: cst.BaseExpression) -> str:
    """The variable that an expression reads or assigns, "" for any other."""
    node = node.target if isinstance(node, cst.NamedExpr) else node
    return node.value if isinstance(node, cst.Name) else ""


def _without_none(ctx: Context, value: Value | None) -> Value | None:
    """What is left of a value that may be None if it is not; None where nothing is known of that."""
    if isinstance(value, Optional):
        return value.value
    return narrowed(ctx, value, lambda option: option != Static(None)) if isinstance(value, Union) else None


def _of_class(frame: Frame, node: cst.Call) -> tuple[Facts, Facts]:
    """What `isinstance(name, kinds)` tells of a variable that is chosen at run time."""
    names = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
    variable = frame.env.get(names[0].value) if len(names) == 2 and isinstance(names[0], cst.Name) else None
    value = as_options(variable) if variable is not None else None
    asks = isinstance(node.func, cst.Name) and node.func.value == "isinstance"
    if not asks or not isinstance(value, Union) or evaluate(frame, node.func) != Static(isinstance):
        return {}, {}
    kinds = evaluate(frame, names[1])

    def is_one(option: Value) -> bool:
        return is_instance(frame, dereference(frame.env, option), kinds) == ir.boolean(True)

    yes, no = narrowed(frame.ctx, value, is_one), narrowed(frame.ctx, value, lambda option: not is_one(option))
    name = names[0].value  # type: ignore[attr-defined]
    return {name: yes} if yes is not None else {}, {name: no} if no is not None else {}


@contextlib.contextmanager
def knowing(frame: Frame, known: Facts, stay: Collection[str] = ()) -> Iterator[None]:
    """Within it variables are what is known of them; afterwards what they were, where nothing else was assigned. Those
    that `stay` are as they are known, since another side of the branch assigns them."""
    before = {name: frame.env[name] for name in known}
    frame.env.update(known)
    yield
    unchanged = (name for name, value in known.items() if name not in stay and frame.env.get(name) is value)
    frame.env.update((name, before[name]) for name in unchanged)


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
    if name in frame.gone:
        raise ctx.unsupported(
            f"`{name}` of a comprehension, in a function that is called later",
            f"Pass it as a default: `lambda ..., {name}={name}: ...`.",
            why=f"In Python the function reads the value that `{name}` has at the call.",
        )
    for scope in (frame.kept, frame.source.closure, frame.source.globals):
        if name in scope:
            return wrap(ctx, scope[name])
    if hasattr(builtins, name):
        return wrap(ctx, getattr(builtins, name))
    raise ctx.unsupported(f"`{name}` is not defined", "Define it in the function or around it.")


_Literal = cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString | cst.ConcatenatedString | cst.Ellipsis


def _literal(frame: Frame, node: _Literal) -> Value:
    return wrap(frame.ctx, Ellipsis if isinstance(node, cst.Ellipsis) else node.evaluated_value)


MOST_STARRED = 64  # elements of an array that are written out
_STARRED = "Write its items one by one: their number has to be known at compile time."


def _tuple(frame: Frame, node: cst.Tuple | cst.List) -> Value:
    ctx, is_a_list = frame.ctx, isinstance(node, cst.List)
    before: List = TupleValue((), is_a_list)  # what ends with items that are not known one by one
    items: list[Value] = []
    for element in node.elements:
        value = evaluate_or_none(frame, element.value)
        if not isinstance(element, cst.StarredElement):
            items.append(materialise(ctx, value) if as_stream(value) is None else as_reference(frame, value))
            continue
        value = to_list(frame, value) if is_a_list else all_of_stream(frame, value)
        if is_a_list and isinstance(value, GrowableList):
            before = joined(ctx, joined(ctx, before, TupleValue(tuple(items), is_list=True)), value)
            items = []
        else:
            items.extend(_items(frame, value, element))
    last = TupleValue(tuple(items), is_a_list)
    return last if isinstance(before, TupleValue) and not before.items else joined(ctx, before, last)


def _formatted(frame: Frame, node: cst.FormattedString) -> Value:
    """An f-string of what is known while compiling."""
    if frame.ctx.makes_error and not all(map(_is_literal_part, node.parts)):
        return MADE_TEXT
    return Static("".join(_formatted_part(frame, part) for part in node.parts))


def _is_literal_part(part: cst.BaseFormattedStringContent) -> bool:
    return isinstance(part, cst.FormattedStringText)


def _formatted_part(frame: Frame, part: cst.BaseFormattedStringContent) -> str:
    if isinstance(part, cst.FormattedStringText):
        return literal_text(part)
    assert isinstance(part, cst.FormattedStringExpression)
    value = evaluate(frame, part.expression)
    if not isinstance(value, Static | ir.Const) or is_array(value):
        raise frame.ctx.not_constant("an f-string of a value that is only known at run time", WHERE_TEXTS_GO)
    spec = "".join(_formatted_part(frame, one) for one in part.format_spec or ())
    conversions: dict[str, Callable[[Any], Any]] = {"r": repr, "s": str, "a": ascii}
    shown = conversions[part.conversion](value.value) if part.conversion else value.value
    return format(shown, spec)


def _set(frame: Frame, node: cst.Set) -> Value:
    members: List = TupleValue((), is_list=True)
    for element in node.elements:
        value = evaluate(frame, element.value)
        if not isinstance(element, cst.StarredElement):
            more: List = TupleValue((materialise(frame.ctx, value),), is_list=True)
        elif isinstance(value, RuntimeDict) and value.kind == "set":
            more = value.items  # in whatever order
        else:
            more = to_list(frame, value)
        members = joined(frame.ctx, members, more)
    return dicts_and_sets.as_set(frame, members)


def _set_comprehension(frame: Frame, node: cst.SetComp) -> Value:
    return dicts_and_sets.as_set(frame, frame.ctx.comprehension(frame, cst.GeneratorExp(node.elt, node.for_in)))


def _items(frame: Frame, value: Value, node: cst.CSTNode, instead: str = _STARRED) -> tuple[Value, ...]:
    """What `*` stands for before a value."""
    value = members_of(frame.ctx, unwrap(frame.ctx, all_of_stream(frame, value)))
    value = value.view("keys") if isinstance(value, KnownDict) else value
    if is_array(value) and ndim(value) > 0:
        extent = shape_of(frame.ctx, value)[0]
        if isinstance(extent, ir.Const) and extent.value <= MOST_STARRED:
            return tuple(so_many(frame, value, int(extent.value)))
    if not isinstance(value, TupleValue):
        raise frame.ctx.not_constant(f"`*` before {describe(value)}", instead, node=node)
    return value.items


def _walrus(frame: Frame, node: cst.NamedExpr) -> Value:
    value = materialise(frame.ctx, evaluate_or_none(frame, node.value))
    assert isinstance(node.target, cst.Name)
    frame.store(node.target.value, as_reference(frame, variable(frame, node.target.value, value)))
    return frame.lookup(node.target.value) or value


def local_function(frame: Frame, node: cst.Lambda | cst.FunctionDef) -> Value:
    """A function defined here; its defaults are evaluated now."""
    params = node.params
    listed = (*params.posonly_params, *params.params, *params.kwonly_params)
    # a list there is one for all calls, as in Python
    defaults = {
        p.name.value: as_reference(frame, materialise(frame.ctx, evaluate(frame, p.default)))
        for p in listed
        if p.default is not None
    }
    frame.shared = (*frame.shared, *(name for name in nonlocals(node) if name not in frame.shared))
    frame.ctx.loop.holds_values |= bool(frame.ctx.loop.around)
    return Static(LocalFunction(node, frame, defaults, frame.comprehensions, tuple(frame.ctx.loop.around)))


# ------------------------------------------------------------------------------------------------- operators


def _binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    sides = (node.left, node.right)
    left, right = in_order(frame.ctx, [functools.partial(evaluate, frame, side) for side in sides])
    return _operate(frame, BINARY[type(node.operator).__name__], left, right)


def _operate(frame: Frame, callee: Any, left: Value, right: Value) -> Value:
    return dicts_and_sets.combined(frame, callee, left, right) or binary(frame, callee, left, right)


def _unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    if isinstance(node.operator, cst.Not):
        return scalars.negated(frame.ctx, condition(frame, node.expression))
    return unary(frame, UNARY[type(node.operator).__name__], evaluate(frame, node.expression))


def _boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    """`left and right`, or with `or`: one of the two values, as in Python; `_decision` has its truth."""
    left = evaluate_or_none(frame, node.left)
    first = truth(frame, left)
    is_and = isinstance(node.operator, cst.And)
    if isinstance(first, ir.Const):
        return evaluate_or_none(frame, node.right) if bool(first.value) == is_and else left
    right = functools.partial(_knowing, frame, facts(frame, node.left)[0 if is_and else 1], node.right)
    if isinstance(left, Optional) and not is_and:
        left = left.value
    elif is_number(left) and isinstance(left.type, types.Boolean):
        left = ir.boolean(not is_and)
    if is_scalar(left):
        number, one = unless_changing(frame, functools.partial(_number, frame, right, node.right)), left
        if number is not None and is_and:
            return complexes.chosen(frame.ctx, first, number, lambda: one, "both")
        if number is not None:
            return complexes.chosen(frame.ctx, first, lambda: one, number, "either")
    held = left
    if is_and:
        return either_value(frame, first, right, lambda: held)
    return either_value(frame, first, lambda: held, right)


def _decision(frame: Frame, node: cst.BooleanOperation) -> ir.Operand:
    """The truth of `left and right`, or with `or`."""
    first = condition(frame, node.left)
    is_and = isinstance(node.operator, cst.And)
    if isinstance(first, ir.Const):
        return condition(frame, node.right) if bool(first.value) == is_and else first
    known = facts(frame, node.left)[0 if is_and else 1]

    def second() -> ir.Operand:
        with knowing(frame, known):
            return condition(frame, node.right)

    return (both if is_and else either)(frame, first, second)


def _knowing(frame: Frame, known: Facts, node: cst.BaseExpression) -> Value:
    with knowing(frame, known):
        return evaluate_or_none(frame, node)


def _number(frame: Frame, run: Callable[[], Value], node: cst.BaseExpression) -> Number:
    value = run()
    if not is_scalar(value):
        raise frame.ctx.mismatch(
            f"`and` or `or` of a number and {describe(value)}",
            "Give a number on both sides, or write it with `if`.",
            node=node,
        )
    return value


# comparisons that Python makes of None, too
_OF_ANYTHING = (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual, cst.In, cst.NotIn)


def _comparison(frame: Frame, node: cst.Comparison) -> Value:
    def chain(k: int, left: Value) -> Value:
        target = node.comparisons[k]
        name = type(target.operator).__name__
        mark = len(frame.ctx.builder.ops)
        right = evaluate_or_none(frame, target.comparator)
        left = settled(frame.ctx, left, mark)
        if not isinstance(target.operator, _OF_ANYTHING):
            before = node.left if k == 0 else node.comparisons[k - 1].comparator
            sides = ((before, left), (target.comparator, right))
            left, right = (not_none(frame.ctx, side, _called_so(own)) for own, side in sides)
        elif isinstance(target.operator, cst.In | cst.NotIn):
            right = not_none(frame.ctx, right, _called_so(target.comparator))
        is_search = name in ("In", "NotIn")
        result = (_is_in if is_search else _operate)(frame, COMPARISONS.get(name, name), left, right)
        if k + 1 == len(node.comparisons):
            return result
        held = truth(frame, result)
        if isinstance(held, ir.Const):
            return chain(k + 1, right) if held.value else held
        return both(frame, held, lambda: truth(frame, chain(k + 1, right)))

    return chain(0, evaluate_or_none(frame, node.left))


def _is_in(frame: Frame, name: str, one: Value, owner: Value) -> ir.Operand:
    """`one in owner` or `one not in owner`; an object without a method for it is what it iterates over."""
    whole = unwrap(frame.ctx, owner)
    if isinstance(whole, Instance) and not is_defined(whole.of, "__contains__"):
        whole = unwrap(frame.ctx, exhaust(frame, whole))
    if isinstance(whole, Union):
        return of_option(frame, whole, functools.partial(_is_in, frame, name, one))
    chosen = as_options(one)
    if isinstance(chosen, Union) and (chosen is not one or stands_for(whole, str)):
        return of_option(frame, chosen, lambda option: _is_in(frame, name, option, whole))
    found = dicts_and_sets.is_in(frame, one, whole)
    return found if name == "In" else scalars.negated(frame.ctx, found)


def _conditional(frame: Frame, node: cst.IfExp) -> Value:
    test = condition(frame, node.test)
    if isinstance(test, ir.Const):
        return evaluate_or_none(frame, node.body if test.value else node.orelse)
    sides = zip(facts(frame, node.test), (node.body, node.orelse), strict=True)
    then, orelse = (functools.partial(_knowing, frame, known, side) for known, side in sides)
    return either_value(frame, test, then, orelse)


# --------------------------------------------------------------------------------------- attributes, subscripts


def _attribute(frame: Frame, node: cst.Attribute) -> Value:
    owner = evaluate(frame, node.value)
    return attribute(frame, owner, node.attr.value)


def subscript_place(frame: Frame, node: cst.Subscript, container: Value) -> indexing.Place | indexing.Pair:
    """Where a subscript of a value points."""
    base = elements(frame.ctx, container)
    if not is_array(base):
        raise frame.ctx.unsupported(f"a store into {describe(base)}", "Store into an array.", node=node)
    return indexing.resolve(frame.ctx, base, subscript_entries(frame, node))


def _of_integers(frame: Frame, node: cst.Slice) -> SliceValue:
    return SliceValue(ir.Span(*(_slice_end(frame, end) for end in (node.lower, node.upper, node.step))))


def subscript_entries(
    frame: Frame, node: cst.Subscript, sliced: Callable[[Frame, cst.Slice], Any] = _of_integers
) -> list[Any]:
    """What stands in the brackets: a tuple there is one entry an item, a tuple in a tuple is one entry; `sliced`: what
    a slice is."""
    entries: list[Any] = []
    for element in node.slice:
        if isinstance(element.slice, cst.Slice):
            entries.append(sliced(frame, element.slice))
            continue
        assert isinstance(element.slice, cst.Index)
        entry = materialise(frame.ctx, evaluate(frame, element.slice.value))
        if isinstance(entry, Range):
            entry = materialise(frame.ctx, call(frame, Static(np.arange), (entry.start, entry.stop, entry.step), {}))
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
    value = _end(frame, node)
    if value is None or (is_number(value) and is_integer(value.type)):
        return value
    raise frame.ctx.mismatch("the end of a slice is not an integer", "Convert it: int(...).", node=node)


def _end(frame: Frame, node: cst.BaseExpression | None) -> Value | None:
    value = None if node is None else evaluate(frame, node)
    return None if is_none(value) else value


_OF_SUBSCRIPTS = type(np.s_)


def _subscript(frame: Frame, node: cst.Subscript) -> Value:
    ctx = frame.ctx
    base = evaluate(frame, node.value)
    if stands_for(base, ON_GRIDS):
        return on_grid(frame, base.value, subscript_entries(frame, node, _ends_on_grid))
    mark = len(ctx.builder.ops)
    entries = subscript_entries(frame, node)
    if stands_for(base, _OF_SUBSCRIPTS):
        # np.s_[...] is what stands between the brackets, np.index_exp[...] a tuple of it
        return TupleValue(tuple(entries)) if base.value.maketuple or len(entries) > 1 else entries[0]
    return _item_of(frame, base, entries, mark)


def _ends_on_grid(frame: Frame, node: cst.Slice) -> Ends:
    return Ends(*(_end_on_grid(frame, end) for end in (node.lower, node.upper, node.step)))


def _end_on_grid(frame: Frame, node: cst.BaseExpression | None) -> Value | None:
    value = _end(frame, node)
    if value is not None and not is_scalar(value):
        raise frame.ctx.mismatch(f"{describe(value)} as an end of a slice", "Give a number.", node=node)
    return value


_LACKING = (LookupError, "the value that is chosen at run time has no such item")


def _has_item(value: Value, entries: Sequence[Value]) -> bool:
    """Whether a dictionary, a tuple or a list has the key or place, where that is known."""
    (entry,) = entries if len(entries) == 1 else (None,)
    if isinstance(value, KnownDict) and isinstance(entry, Static | ir.Const):
        return entry.value in value.keys
    if isinstance(value, TupleValue) and isinstance(entry, ir.Const):
        return bool(-len(value.items) <= entry.value < len(value.items))
    return True


def _item_of(frame: Frame, base: Value, entries: list[Value], mark: int) -> Value:
    """`base[entries]`, after which so many operations the base was there."""
    ctx = frame.ctx
    if is_texts(base) and not any(isinstance(entry, ir.Var) for entry in entries):
        index = entries[0] if len(entries) == 1 else TupleValue(tuple(entries))
        return fold(ctx, ARRAYS_OF_TEXTS, operator.getitem, (base, index))
    base = unwrap(ctx, base)
    if isinstance(base, Union):
        base = fitting(ctx, base, lambda option: _has_item(option, entries), *_LACKING)
    match base:
        case Union():
            return of_option(frame, base, lambda option: _item_of(frame, option, entries, mark))
        case GrowableList() if has_fields(base) and len(entries) == 1 and isinstance(entries[0], Static):
            return field_of(ctx, base, entries[0].value)
        case Container():
            return dicts_and_sets.item_of(frame, base, entries)
        case Static() if is_records(base):
            return part_of_records(ctx, base, entries)
        case Static(value=EnumMeta() as members):
            names = [*map(object_of, entries)]
            if len(names) != 1 or names[0] not in members.__members__:
                raise ctx.mismatch(
                    f"a subscript of {members.__name__} that is not the name of a member", "Write the name."
                )
            return wrap(ctx, members[names[0]])
        case Range():
            return part_of_range(frame, base, entries)
        case Flat(array=array):
            selected = indexing.read(ctx, indexing.resolve(ctx, array, entries))
            # an iterator has no views
            return copied(ctx, selected) if is_array(selected) else selected
        case Static(value=str() as text):
            letters = item_at(frame, TupleValue(tuple(map(Static, text))), entries, "a string")
            return Static("".join(map(object_of, letters.items))) if isinstance(letters, TupleValue) else letters
        case Static(value=re.Match() as found):
            return fold(ctx, TEXTS, found.group, entries)
        case Static(value=known):
            if is_kernel(known):
                return configured(frame, known, entries)
            refuse_foreign(ctx, known)
    if is_scalar(base) and all(e in (TupleValue(()), Static(Ellipsis)) for e in entries):
        # of NumPy's numbers, and of the elements that np.nditer gives
        return base
    if not is_array(base):
        raise ctx.unsupported(f"a subscript of {describe(base)}", "Index an array or a tuple.")
    return indexing.read(ctx, indexing.resolve(ctx, settled(ctx, base, mark), entries))


# ------------------------------------------------------------------------------------------------------- calls


def _call(frame: Frame, node: cst.Call) -> Value:
    ctx = frame.ctx
    saying = _saying(frame, node.func)
    if saying is not None:
        _say(frame, node, saying)
        return Static(None)
    parts = (node.func, *(argument.value for argument in node.args))
    runs = [functools.partial(evaluate_or_none, frame, part) for part in parts]
    given = node.args[0].value if node.args else None
    if isinstance(given, cst.GeneratorExp) and isinstance(node.func, cst.Name) and runs[0]() == Static(next):
        runs[1] = functools.partial(ctx.comprehension, frame, given, True)
    function, *values = in_order(ctx, runs)
    if not takes_none(function):
        shown = (a.value.value if isinstance(a.value, cst.Name) else "an argument" for a in node.args)
        values = [not_none(frame.ctx, value, f"`{name}`") for value, name in zip(values, shown, strict=True)]
    return _called(frame, node, function, values)


def _called(frame: Frame, node: cst.Call, function: Value, values: Sequence[Value]) -> Value:
    """The call of a function; `values`: those of what stands between the parentheses."""
    if function == Static(zip) and [argument.star for argument in node.args] == ["*"]:
        rows = contents(frame.ctx, all_of_stream(frame, values[0]))
        if isinstance(rows, GrowableList) and isinstance(rows.item, TupleValue):
            return columns(frame.ctx, rows)
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for k, (argument, value) in enumerate(zip(node.args, values, strict=True)):
        if argument.star and isinstance(value, Union):
            rest = functools.partial(_called, frame, node, function)
            return of_option(frame, value, lambda option: rest([*values[:k], option, *values[k + 1 :]]))  # noqa: B023
        if argument.star == "*":
            positional.extend(_starred(frame, function, value, node, argument))
        elif argument.star == "**":
            named |= _named_arguments(frame, value, argument)
        elif argument.keyword is not None:
            named[argument.keyword.value] = value
        else:
            positional.append(value)
    return call(frame, function, positional, named)


def _say(frame: Frame, node: cst.Call, function: Any) -> None:
    """The call of a function that says something, once for each of what variables in it may be None or not."""
    names = dict.fromkeys(name for argument in node.args for name in names_read(argument.value))
    name = next((name for name in names if isinstance(frame.env.get(name), Optional)), None)
    if name is None:
        said(frame, node, function, evaluate)
        return
    value = frame.env[name]
    assert isinstance(value, Optional)

    def known(one: Value) -> None:
        with knowing(frame, {name: one}):
            _say(frame, node, function)

    held = value.value
    conditional(frame, value.is_there, lambda: known(held), lambda: known(Static(None)))


def _saying(frame: Frame, node: cst.BaseExpression) -> Any:
    """The function that says something, if a call is one of that; None if not."""
    base = node
    while isinstance(base, cst.Attribute):
        base = base.value
    if frame.is_rule or not isinstance(base, cst.Name):
        return None
    is_own = base.value in frame.env or base.value in frame.local_names
    owner = node.value if isinstance(node, cst.Attribute) else base
    is_of_logger = isinstance(node, cst.Attribute) and node.attr.value in LEVELS
    if not is_of_logger and (is_own or owner is not base):
        return None
    found = evaluate(frame, node)
    return found.value if isinstance(found, Static) and says(found.value) else None


def _starred(frame: Frame, function: Value, value: Value, node: cst.Call, argument: cst.Arg) -> Sequence[Value]:
    """What `*` stands for before an argument: of an array, as many as the function needs beside the others."""
    needed = _needed(function.value) if isinstance(function, Static) else None
    if not is_array(value) or needed is None or any(a.star == "**" for a in node.args):
        return _items(frame, value, argument)
    others = sum(not a.star and a.keyword is None for a in node.args)
    named = {a.keyword.value for a in node.args if a.keyword is not None}
    return so_many(frame, value, len([name for name in needed if name not in named]) - others)


def _needed(callee: Any) -> list[str] | None:
    """The parameters that a function has to be given by position or name; None if that is not known."""
    if isinstance(callee, np.ufunc):
        return [str(k) for k in range(callee.nin)]
    if callee is np.where:
        return ["condition", "x", "y"]
    if isinstance(callee, type) and issubclass(callee, tuple) and hasattr(callee, "_fields"):
        return [name for name in callee._fields if name not in getattr(callee, "_field_defaults", {})]
    if isinstance(callee, LocalFunction):
        expected = callee.signature
    elif isinstance(callee, FunctionType) or is_dispatcher(callee):
        expected = signature(python_function(callee))
    elif isinstance(callee, type) and isinstance(made := static_attribute(callee, "__init__", None), FunctionType):
        expected = signature(made)
        expected = expected.replace(parameters=list(expected.parameters.values())[1:])
    else:
        return None
    given = expected.parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY) for p in given):
        return None
    return [p.name for p in given if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def _named_arguments(frame: Frame, value: Value, node: cst.CSTNode) -> dict[str, Value]:
    """What `**` stands for before a value."""
    given = unwrap(frame.ctx, value)
    if not isinstance(given, Record) or not all(isinstance(key, str) for key in given.keys):
        raise frame.ctx.unsupported(f"`**` before {describe(value)}", "Give it a dictionary of names.", node=node)
    return dict(zip(given.keys, given.items, strict=True))


def _dictionary(frame: Frame, node: cst.Dict) -> Value:
    ctx = frame.ctx
    parts: list[tuple[Value, Value] | KnownDict | RuntimeDict] = []
    for element in node.elements:
        key = evaluate(frame, element.key) if isinstance(element, cst.DictElement) else None
        value = materialise(ctx, evaluate_or_none(frame, element.value))
        if key is None:
            more = unwrap(ctx, not_none(ctx, value, _called_so(element.value)))
            if not is_keyed(more):
                raise ctx.unsupported(f"`**` before {describe(value)}", "Give it a dictionary.", node=element)
            parts.append(more)
        else:
            parts.append((key, value))
    return dicts_and_sets.of_parts(frame, parts)


def _dictionary_comprehension(frame: Frame, node: cst.DictComp) -> Value:
    pair = cst.Tuple([cst.Element(node.key), cst.Element(node.value)])
    return dicts_and_sets.new_dictionary(
        frame, [frame.ctx.comprehension(frame, cst.GeneratorExp(pair, node.for_in))], {}
    )


def _comprehension(frame: Frame, node: cst.ListComp) -> Value:
    return frame.ctx.comprehension(frame, node)


def _generated(frame: Frame, node: cst.GeneratorExp) -> Value:
    """What a generator expression gives: what it runs over is evaluated now, the rest where it is run through."""
    first = materialise(frame.ctx, evaluate(frame, node.for_in.iter))
    first = first if as_stream(first) is None else as_reference(frame, first)

    def make(user: Frame) -> Value:
        ctx, begun = user.ctx, opened_stream(user, current_view(user, first))
        if user is frame:
            return ctx.comprehension(frame, node, first=begun)
        with ctx.entered(frame):
            return ctx.comprehension(frame, node, first=begun)

    return of_items(frame.ctx, "a generator expression", make, through=looked_at(first))


_HANDLERS: dict[type, Callable[[Frame, Any], Value]] = {
    cst.Name: _name,
    **dict.fromkeys(get_args(_Literal), _literal),
    cst.Tuple: _tuple,
    cst.List: _tuple,
    cst.Set: _set,
    cst.FormattedString: _formatted,
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
    cst.ListComp: _comprehension,
    cst.SetComp: _set_comprehension,
    cst.GeneratorExp: _generated,
    cst.Dict: _dictionary,
    cst.DictComp: _dictionary_comprehension,
}

_REFUSED: dict[type, tuple[str, str]] = {
    cst.Yield: (
        "a value that is sent to a generator",
        "Write `yield` as a statement, and keep the value in an object.",
    ),
    cst.Await: ("`await`", "Call a function that is not a coroutine."),
}
