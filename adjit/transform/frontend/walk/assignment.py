"""Assignments: to names, to tuples of them, to elements and parts of arrays; plain and augmented.

In: a target and a value. Out: an entry of the environment, or stores. A value that has no name of the user's yet takes
that of the variable it is assigned to.

    y = a * b          env["y"] = %y, the product under that name
    x[1:] += y         a loop of stores
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from adjit.transform import ir
from adjit.transform.frontend.arrays import indexing
from adjit.transform.frontend.heap.iterators import all_of_stream
from adjit.transform.frontend.heap.references import as_reference, latest, mutate
from adjit.transform.frontend.library.builtins import known_items, so_many
from adjit.transform.frontend.library.dicts_and_sets import changed_by, item_of, store
from adjit.transform.frontend.library.output import named_text
from adjit.transform.frontend.library.reductions import put_into
from adjit.transform.frontend.numba.declared_types import variable
from adjit.transform.frontend.operations.containers import exhaust, extended, get_item, to_list
from adjit.transform.frontend.operations.control import do_for_option, of_option, unless_left
from adjit.transform.frontend.operations.operators import BINARY, binary, in_place
from adjit.transform.frontend.operations.records import set_attribute
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.cells import Container
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.dictionaries import Record, is_mutable
from adjit.transform.frontend.values.elementwise import materialise, store_all
from adjit.transform.frontend.values.evaluation_order import settled
from adjit.transform.frontend.values.frame import Context, Frame
from adjit.transform.frontend.values.lists import GrowableList, TupleValue, is_list, list_in
from adjit.transform.frontend.values.numbers import Lazy, Number, is_array
from adjit.transform.frontend.values.ranges import NdIndex, SliceValue, Zip
from adjit.transform.frontend.values.statics import Method, as_stream
from adjit.transform.frontend.values.unions import Union, fitting, not_none
from adjit.transform.frontend.values.values import Value, leaves_of, parts_of
from adjit.transform.frontend.walk.calls import attribute
from adjit.transform.frontend.walk.expressions import evaluate, evaluate_or_none, subscript_entries, subscript_place


def assignment(frame: Frame, node: cst.Assign) -> None:
    if named_text(frame, node, evaluate):
        return
    value = evaluate_or_none(frame, node.value)
    unless_left(frame, functools.partial(_assigned, frame, node, value))


def _assigned(frame: Frame, node: cst.Assign, value: Value) -> None:
    targets = [t.target for t in node.targets]
    if len(targets) > 1:
        value = materialise(frame.ctx, value)
    elif isinstance(targets[0], cst.Subscript):
        value = _named_item(frame, targets[0], value)
    value = value if as_stream(value) is None else as_reference(frame, value)
    for target in targets:
        assign(frame, target, value)
        if isinstance(target, cst.Name):
            # the operation that made it has its name now
            value = frame.lookup(target.value) or value


def annotated_assignment(frame: Frame, node: cst.AnnAssign) -> None:
    if node.value is not None:
        value = evaluate_or_none(frame, node.value)
        unless_left(frame, lambda: assign(frame, node.target, value))


def augmented_assignment(frame: Frame, node: cst.AugAssign) -> None:
    callee = BINARY[type(node.operator).__name__.removesuffix("Assign")]
    target = node.target
    if isinstance(target, cst.Subscript | cst.Attribute):
        _updated_part(frame, node, target, callee, evaluate(frame, target.value))
        return
    assert isinstance(target, cst.Name)
    old = evaluate(frame, target)
    value = evaluate(frame, node.value)
    unless_left(frame, functools.partial(_updated_name, frame, target, callee, old, value))


def _updated_name(frame: Frame, target: cst.Name, callee: Any, old: Value, value: Value) -> None:
    """`name op= value`."""
    ctx = frame.ctx
    if isinstance(old, ir.Var) and old in ctx.numbers.of_views:
        raise ctx.unsupported(
            "augmented assignment to a view of one element",
            f"Store into the array, or write `{target.value} = {target.value} ...`.",
            why="NumPy stores into the array.",
        )
    if isinstance(old, Number) and is_array(old):
        for array in leaves_of(old):
            indexing.writable(ctx, array)
        _updated_array(frame, old, callee, value)
        frame.store(target.value, old)
        return
    if _list_updated(frame, old, callee, value):
        return
    found = changed_by(frame, callee, old, value)
    bind(frame, target.value, in_place(frame, callee, old, value) if found is None else found)


def _updated_part(
    frame: Frame, node: cst.AugAssign, target: cst.Subscript | cst.Attribute, callee: Any, container: Value
) -> None:
    """`container[...] op= value` or `container.name op= value`."""
    ctx = frame.ctx
    if isinstance(container, Union):
        do_for_option(
            frame, container, lambda option: _updated_part(frame, node, target, callee, latest(frame, option))
        )
        return
    if isinstance(target, cst.Subscript) and not is_mutable(container):
        place = subscript_place(frame, target, container)
        mark = len(ctx.builder.ops)
        value = evaluate(frame, node.value)
        if callee is operator.matmul:
            unless_left(frame, lambda: _product_at(frame, place, value))
            return
        unless_left(frame, lambda: indexing.update(ctx, place, callee, value, mark))
        return
    put: Callable[[Any, Value], None]
    if isinstance(target, cst.Subscript):
        assert isinstance(container, Container)
        entries = subscript_entries(frame, target)
        old, put = item_of(frame, container, entries), lambda owner, new: store(frame, owner, entries, new)
    else:
        name = target.attr.value
        old, put = attribute(frame, container, name), lambda owner, new: set_attribute(frame, owner, name, new)
    value = evaluate(frame, node.value)
    unless_left(frame, lambda: _updated(frame, old, callee, value, lambda new: put(latest(frame, container), new)))


def _updated(frame: Frame, old: Value, callee: Any, value: Value, put: Callable[[Value], None]) -> None:
    """`place op= value` of an item of a list or a dictionary, or of an attribute, which holds `old`; `put`: in what
    is there now, which the value may have changed."""
    old = latest(frame, old)
    if _list_updated(frame, old, callee, value):
        return
    if isinstance(old, Number) and is_array(old):
        for array in leaves_of(old):
            indexing.writable(frame.ctx, array)
        _updated_array(frame, old, callee, value)
    else:
        put(in_place(frame, callee, old, value))


def _list_updated(frame: Frame, old: Value, callee: Any, value: Value) -> bool:
    """Whether `old op= value` changes a list itself, as it has done then; with an array it is an operation of that."""
    if not is_list(old) or is_array(value) or callee not in (operator.add, operator.mul):
        return False
    if callee is operator.add:
        extended(frame, old, value, "`+=`")
        return True
    mutate(frame, old, list_in(binary(frame, callee, old, value)), "`*=`", keeps_places=True)
    return True


def _product_at(frame: Frame, place: indexing.Place | indexing.Pair, value: Value) -> None:
    """`array[...] @= value`, into a view."""
    ctx = frame.ctx
    places = (place.real, place.imag) if isinstance(place, indexing.Pair) else (place,)
    if any(one.kind != "view" for one in places):
        raise ctx.unsupported("`@=` on a value that is not a view", "Write `array[...] = array[...] @ ...`.")
    old = indexing.read(ctx, place)
    assert isinstance(old, Number)
    for array in leaves_of(old):
        indexing.writable(ctx, array)
    _updated_array(frame, old, operator.matmul, value)


def _updated_array(frame: Frame, old: Number, callee: Any, value: Value) -> None:
    """`old op= value`, of an array that is written into."""
    value = indexing.stored(frame.ctx, value)
    if callee is operator.matmul:
        put_into(frame.ctx, old, binary(frame, callee, old, value), fixed=2)
    else:
        store_all(frame.ctx, old, value, callee)


def assign(frame: Frame, target: cst.BaseExpression, value: Value, is_item: bool = False) -> None:
    """`target = value`; `is_item`: of a tuple, which others may know."""
    ctx = frame.ctx
    if isinstance(target, cst.Name):
        bind(frame, target.value, value, is_item)
        return
    if isinstance(target, cst.Subscript | cst.Attribute):
        mark = len(ctx.builder.ops)
        _put(frame, target, evaluate(frame, target.value), value, mark)
        return
    if isinstance(target, cst.Tuple | cst.List):
        value = all_of_stream(frame, not_none(ctx, value, "the value"))
        starred = [k for k, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)]
        items = _unpacked(frame, value, len(target.elements), starred[0] if starred else None)
        for element, item in zip(target.elements, items, strict=True):
            assign(frame, element.value, item, is_item=isinstance(value, TupleValue))
    else:
        raise ctx.unsupported("an assignment to this", "Assign to a variable.", node=target)


def _put(frame: Frame, target: cst.Subscript | cst.Attribute, owner: Value, value: Value, mark: int) -> None:
    """`owner[...] = value` or `owner.name = value`; after so many operations the value was there."""
    if isinstance(owner, Union):
        value = materialise(frame.ctx, value)
        do_for_option(frame, owner, lambda option: _put(frame, target, latest(frame, option), value, mark))
    elif isinstance(target, cst.Attribute):
        set_attribute(frame, owner, target.attr.value, value)
    elif is_mutable(owner):
        store(frame, owner, subscript_entries(frame, target), value)
    else:
        place = subscript_place(frame, target, owner)
        indexing.write(frame.ctx, place, settled(frame.ctx, not_none(frame.ctx, value, "the value"), mark))


def _unpacked(frame: Frame, value: Value, count: int, starred: int | None) -> Sequence[Value]:
    """The items for `count` targets, of which the `starred` one takes all that the others leave."""
    ctx, value = frame.ctx, exhaust(frame, value) if isinstance(value, Record) else value
    if isinstance(value, Union):
        fits = functools.partial(_has_so_many, count=count, is_least=starred is not None)
        value = fitting(ctx, value, fits, ValueError, "a wrong number of values to unpack")
    if isinstance(value, Union):
        return of_option(frame, value, lambda o: TupleValue(tuple(_unpacked(frame, o, count, starred)))).items
    items = known_items(frame, value)
    if items is None and starred is not None:
        return _with_rest(frame, to_list(frame, value), starred, count - 1 - starred)
    if items is None:
        return so_many(frame, value, count)
    if starred is not None and len(items) >= count - 1:
        end = len(items) - (count - 1 - starred)
        return (*items[:starred], TupleValue(tuple(items[starred:end]), is_list=True), *items[end:])
    if len(items) != count:
        raise ctx.mismatch(f"{len(items)} values for {count} names", "Write one name per value.")
    return items


def _has_so_many(value: Value, count: int, is_least: bool) -> bool:
    """Whether a tuple or list has an item for each of so many targets, one of which `is_least` takes the others."""
    have = len(value.items) if isinstance(value, TupleValue) else count
    return have >= count - 1 if is_least else have == count


def _with_rest(frame: Frame, whole: GrowableList | TupleValue, before: int, after: int) -> Sequence[Value]:
    """Items from the start, the list of those between, items at the end. ValueError, as in Python, of too few."""
    ctx = frame.ctx
    if isinstance(whole, GrowableList):
        fits = scalars.scalar(ctx, operator.ge, (whole.count, ir.integer(before + after)))
        require(ctx, fits, ValueError, f"not at least {before + after} values to unpack")
    places = (*range(before), *range(-after, 0))
    items = [get_item(frame, whole, [ir.integer(k)]) for k in places]
    rest = get_item(frame, whole, [SliceValue(ir.Span(ir.integer(before), ir.integer(-after) if after else None))])
    return (*items[:before], rest, *items[before:])


def bind(frame: Frame, name: str, value: Value, is_item: bool = False) -> None:
    """`name = value`."""
    value = named(frame, name, variable(frame, name, value), is_item)
    frame.store(name, as_reference(frame, value))
    if not frame.is_rule:
        frame.ctx.names.bound.append((name, frame.ctx.builder.origin, value))


def named(frame: Frame, name: str, value: Value, is_item: bool = False) -> Value:
    """The value under the user's name, where it has none yet; lazy arrays are computed."""
    ctx = frame.ctx
    if isinstance(value, Lazy | Method | Zip | NdIndex):
        return materialise(ctx, value, name, user=True)
    if not isinstance(value, ir.Var) or value.user or frame.is_rule:
        return value
    made = None if is_item else _renamed(frame, name, value, user=True)
    if made is None:
        # known by its variable already: an array's extent, an item of a tuple
        ctx.names.called.setdefault(value, (name, ctx.builder.origin))
    return made or value


def _named_item(frame: Frame, target: cst.Subscript, value: Value) -> Value:
    """The value of `x[i] = ...` named after the array, for those who read the element again."""
    array = target.value
    if not isinstance(array, cst.Name) or not isinstance(value, ir.Var) or value.user or frame.is_rule:
        return value
    return value if is_array(value) else _renamed(frame, f"{array.value}_item", value, user=False) or value


def _is_kept(frame: Frame, value: ir.Var) -> bool:
    """Whether a list or an object has it, as what a method puts there and returns, or a generator that gave it has it
    in a variable, which it may read when it goes on."""
    giving = (each.env.values() for each in frame.ctx.frames if each.giving and each is not frame)
    held = itertools.chain(frame.lists().values(), *giving)
    return any(value in _variables_in(frame.ctx, one) for one in held)


def _variables_in(ctx: Context, whole: Value) -> frozenset[ir.Var]:
    found = ctx.variables_in.get(id(whole))
    if found is None or found[0] is not whole:
        leaves = (leaf for part in parts_of(whole) for leaf in leaves_of(part))
        found = ctx.variables_in[id(whole)] = (whole, frozenset(leaf for leaf in leaves if isinstance(leaf, ir.Var)))
    return found[1]


def _renamed(frame: Frame, name: str, value: ir.Var, user: bool) -> ir.Var | None:
    """The value with another name, if the statement at hand just made it, so that nobody knows its variable."""
    ctx = frame.ctx
    # the operation that made it is among the last ones: views and fresh arrays are followed by their extents
    for k in range(len(ctx.builder.ops) - 1, max(frame.begun - 1, len(ctx.builder.ops) - 9), -1):
        op = ctx.builder.ops[k]
        if any(r is value for r in op.results):
            if _is_kept(frame, value):
                return None
            renamed = dataclasses.replace(value, name=name, user=user)
            results = [renamed if r is value else r for r in op.results]
            following = [ir.substituted(later, {value: renamed}) for later in ctx.builder.ops[k + 1 :]]
            ctx.builder.ops[k:] = [op.rebuilt(op.operands, op.regions, results), *following]
            if value in ctx.numbers.of_views:
                ctx.numbers.of_views.add(renamed)
            if value in ctx.arrays.shapes:
                ctx.arrays.shapes[renamed] = ctx.arrays.shapes[value]
                roots = ctx.arrays.roots[value]
                ctx.arrays.roots[renamed] = frozenset(renamed if r is value else r for r in roots)
            return renamed
        if op.regions:
            break
    return None
