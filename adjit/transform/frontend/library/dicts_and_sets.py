"""Dictionaries, sets and queues whose members are found at run time.

In: the value of one, and a key, a member or an item. Out: what is there; its state with something else in it.

    d[k] = v        where is k among the keys?  there: the value stored in place;  nowhere: a pair more
    k in s          whether it is among the members
    q.popleft()     the first item; the others each one place to the left

What is in them is a list (of pairs, members or items) in the order of insertion, which is searched from the start:
to look into a dictionary of n keys takes up to n comparisons. A dictionary whose keys are all constants is a
`KnownDict` until another key comes.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from enum import EnumMeta, Flag
from typing import Any

from numba import typed, types

from adjit import errors
from adjit.rules import python
from adjit.transform import ir
from adjit.transform.frontend.heap.aliasing import note_escape, puts_away_items
from adjit.transform.frontend.heap.lists import extents_differ, fitted, grown, store_item, with_width
from adjit.transform.frontend.heap.references import as_reference, changes_rows, item, latest, mutate
from adjit.transform.frontend.library.ordering import written
from adjit.transform.frontend.operations.containers import (
    copied_item,
    get_item,
    item_at,
    list_method,
    longer,
    part_replaced,
    set_item,
    to_list,
    without,
)
from adjit.transform.frontend.operations.control import conditional, either_value, for_option, of_option
from adjit.transform.frontend.operations.operators import binary, either, truth
from adjit.transform.frontend.operations.records import (
    call_method,
    dictionary,
    item_of_record,
    key_of,
    merged,
    store_in_record,
    unwrap,
    wrong_method,
)
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.argument_binding import Handler, takes
from adjit.transform.frontend.values.cells import Container
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.dictionaries import Instance, KnownDict, Record, RuntimeDict, as_table, is_keyed
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.fold import execute, members_in
from adjit.transform.frontend.values.frame import Context, Frame, as_index
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue, is_tuple, items_or_one, list_in
from adjit.transform.frontend.values.numbers import dtype, is_array, is_number, is_numeric
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Static, stands_for
from adjit.transform.frontend.values.unions import Union
from adjit.transform.frontend.values.values import Value, dereference, describe, parts_of
from adjit.transform.source.external_reads import is_defined

EMPTY = TupleValue((), is_list=True)
COUNTS = Static(collections.Counter)  # the default of a Counter, which counts 0 of what it lacks and keeps nothing


def members(value: RuntimeDict) -> List:
    """Its keys, members or items, in the order of insertion."""
    return list_in(value.view("keys")) if value.kind == "dict" else value.items


# ----------------------------------------------------------------------------------------------------------------- keys


def _is_known(key: Value) -> bool:
    if isinstance(key, TupleValue):
        return not key.is_list and all(map(_is_known, key.items))
    return isinstance(key, Static) or (isinstance(key, ir.Const) and not is_array(key))


def _checked(ctx: Context, key: Value) -> Value:
    """A key or a member, if it is one that Python takes and we can compare."""
    if _is_known(key):
        return key
    if is_tuple(key):
        return dataclasses.replace(key, items=tuple(_checked(ctx, one) for one in key.items))
    if not is_number(key):
        raise ctx.mismatch(
            f"{describe(key)} as a key of a dictionary or a member of a set", "Give a number, or a tuple of numbers."
        )
    if ctx.wants_known:
        raise ctx.not_constant("a key that is only known at run time", "Use an array and an index.")
    return key


def _is_same(frame: Frame, one: Value, other: Value) -> ir.Operand:
    if isinstance(one, TupleValue) and isinstance(other, TupleValue):
        if len(one.items) != len(other.items):
            return ir.boolean(False)
        found: ir.Operand = ir.boolean(True)
        for a, b in zip(one.items, other.items, strict=True):
            same = functools.partial(_is_same, frame, a, b)
            found = complexes.branch(frame.ctx, found, same, lambda: ir.boolean(False), "is_same")
        return found
    if not (is_number(one) and is_number(other)) and not (isinstance(one, Static) and isinstance(other, Static)):
        return ir.boolean(False)
    return truth(frame, binary(frame, operator.eq, one, other))


def _place(frame: Frame, value: RuntimeDict, key: Value) -> ir.Operand:
    """Where a key, a member or an item is; -1 where it is not there."""
    ctx, whole = frame.ctx, members(value)
    if isinstance(whole, GrowableList):
        found = written(python.lists.place_of)(frame, [whole.known_by(None), key], {})
        assert isinstance(found, ir.Operand)
        return found
    place: ir.Operand = ir.integer(-1)
    for k in range(len(whole.items) - 1, -1, -1):
        same, others = _is_same(frame, key, whole.items[k]), place
        if isinstance(same, ir.Const):
            place = ir.integer(k) if same.value else place
        else:
            place = complexes.branch(ctx, same, scalars.ready(ir.integer(k)), scalars.ready(others), "place")
    return place


def _is_missing(ctx: Context, place: ir.Operand) -> ir.Operand:
    return scalars.scalar(ctx, operator.lt, (place, ir.integer(0)), "is_missing")


def _value_at(frame: Frame, value: RuntimeDict, place: ir.Operand) -> Value:
    whole = value.view("values")
    if isinstance(whole, GrowableList):
        return item(frame.ctx, whole, place)
    assert isinstance(whole, TupleValue)
    return get_item(frame, dataclasses.replace(whole, is_list=True), [place])


def _must_be_there(frame: Frame, value: RuntimeDict, place: ir.Operand, what: str = "key") -> None:
    """KeyError, as Python has it, where something is not there."""
    ctx = frame.ctx
    if isinstance(place, ir.Const):
        if place.value < 0:
            raise ctx.fail(errors.WrongCall, f"{describe(value)} without this {what}", instead="Give one that exists.")
        return
    is_there = scalars.scalar(ctx, operator.ge, (place, ir.integer(0)))
    require(ctx, is_there, errors.MissingKey, f"{describe(value)} lacks this {what}")


def contains(frame: Frame, value: RuntimeDict, key: Value) -> ir.Operand:
    """`key in value`."""
    found = for_option(frame, key, lambda one: contains(frame, value, one)) if value.kind != "deque" else None
    if found is not None:
        return found
    key = _checked(frame.ctx, key) if value.kind != "deque" else key
    return scalars.scalar(frame.ctx, operator.ge, (_place(frame, value, key), ir.integer(0)), "is_there")


def _entry(entries: Sequence[Value]) -> Value:
    return entries[0] if len(entries) == 1 else TupleValue(tuple(entries))


def is_in(frame: Frame, one: Value, whole: Value) -> ir.Operand:
    """`one in whole`."""
    ctx = frame.ctx
    match whole:
        case Instance(of=kind) if is_defined(kind, "__contains__"):
            return truth(frame, call_method(frame, whole, "__contains__", [one], {}))
        case RuntimeDict(kind="iterator"):
            what = "`in` on an iterator"
            raise ctx.unsupported(what, "Search a list.", why="In Python the search consumes items of the iterator.")
        case GrowableList():
            return contains(frame, RuntimeDict("deque", whole.known_by(None)), materialise(ctx, one))
        case KnownDict() | RuntimeDict():
            return contains(frame, as_table(whole), materialise(ctx, one))
        case Static(value=str() as text) if stands_for(one, str):
            return ir.boolean(one.value in text)
    if (known := members_in(whole)) is not None:
        return _is_member(frame, one, known)
    if not isinstance(whole, TupleValue):
        raise ctx.unsupported("`in` on something that is not a tuple", "Write the search as a loop.")
    found: ir.Operand = ir.boolean(False)
    for each in whole.items:
        found = either(frame, found, scalars.ready(truth(frame, binary(frame, operator.eq, one, each))))
    return found


def _is_member(frame: Frame, left: Value, members: EnumMeta | Flag) -> ir.Operand:
    """Whether something known is a member of an enumeration, or a flag in one of its members, as Python has it."""
    if isinstance(left, Union):
        return truth(frame, of_option(frame, left, lambda option: _is_member(frame, option, members)))
    if not isinstance(left, Static | ir.Const):
        raise frame.ctx.not_constant(
            f"`in` with {describe(left)} that is only known at run time, and {describe(Static(members))}",
            "Compare with the values of members.",
        )
    return ir.boolean(execute(frame.ctx, "", "Look for a member.", operator.contains, (members, left.value)))


# ------------------------------------------------------------------------------------------------------- items of these


def item_of(frame: Frame, owner: Container, entries: Sequence[Value]) -> Value:
    """`owner[entries]` of a list or a tuple, a dictionary, a queue or an object."""
    if isinstance(owner, List):
        return item_at(frame, owner, entries)
    found = for_option(frame, _entry(entries), lambda key: item_of(frame, owner, [key])) if is_keyed(owner) else None
    if found is not None:
        return found
    if isinstance(owner, Instance) or (isinstance(owner, KnownDict) and _is_known(_entry(entries))):
        return item_of_record(frame, owner, entries)
    value = as_table(owner)
    if value.kind == "set":
        raise frame.ctx.mismatch("a subscript of a set", "Make a list of it: `sorted(...)`.")
    if value.kind == "deque":
        return item_at(frame, value.items.known_by(None), entries, "a deque")
    return _read(frame, value, _checked(frame.ctx, _entry(entries)))


def _read(frame: Frame, value: RuntimeDict, key: Value) -> Value:
    ctx = frame.ctx
    place = _place(frame, value, key)
    if value.default is None:
        _must_be_there(frame, value, place)
        return _value_at(frame, value, place)
    if value.default == COUNTS:
        return _or_default(frame, value, place, ir.integer(0))
    whole, there = _with_default(frame, value, key, place, ctx.call(frame, value.default, [], {}))
    return _value_at(frame, whole, there)


def _or_default(frame: Frame, value: RuntimeDict, place: ir.Operand, default: Value) -> Value:
    if isinstance(place, ir.Const):
        return default if place.value < 0 else _value_at(frame, value, place)
    found = functools.partial(_value_at, frame, value, place)
    return either_value(frame, _is_missing(frame.ctx, place), lambda: default, found)


def _with_default(
    frame: Frame, value: RuntimeDict, key: Value, place: ir.Operand, default: Value
) -> tuple[RuntimeDict, ir.Operand]:
    """The dictionary with a key that it may have lacked until now, and where that is."""
    ctx, count = frame.ctx, value.length()
    if isinstance(place, ir.Const) and place.value >= 0:
        return value, place
    is_missing = _is_missing(ctx, place)
    _stored(frame, value, key, default, place, is_new_alone=True)
    return _now(frame, value), complexes.branch(ctx, is_missing, scalars.ready(count), scalars.ready(place), "place")


def store(frame: Frame, owner: Container, entries: Sequence[Value], value: Value) -> None:
    """`owner[entries] = value`."""
    ctx, key = frame.ctx, _entry(entries)
    if isinstance(owner, List):
        set_item(frame, owner, entries, value)
        return

    def stored(one: Value) -> Value:
        store(frame, owner, [one], value)
        return Static(None)

    if is_keyed(owner) and for_option(frame, key, stored) is not None:
        return
    if isinstance(owner, Instance) or (isinstance(owner, KnownDict) and _is_known(key)):
        store_in_record(frame, owner, entries, value)
        return
    table, given = as_table(owner), materialise(ctx, value)
    if table.kind == "set":
        raise ctx.mismatch("a store into a set", "Use `add`.")
    if table.kind == "deque":
        _on_list(frame, table, lambda items: set_item(frame, items, entries, given))
        return
    key = _checked(ctx, key)
    _stored(frame, table, key, given, _place(frame, table, key))


def _stored(
    frame: Frame, table: RuntimeDict, key: Value, given: Value, place: ir.Operand, is_new_alone: bool = False
) -> None:
    """A pair in a dictionary; `is_new_alone`: if the key is not there yet."""
    pair = TupleValue((key, given))
    becomes = functools.partial(_becomes, frame, table, what="a store into an item")
    if isinstance(place, ir.Const):
        assert isinstance(table.items, TupleValue)
        pairs, k = table.items.items, int(place.value)
        becomes(TupleValue((*pairs, pair) if k < 0 else (*pairs[:k], pair, *pairs[k + 1 :]), is_list=True))
        return
    puts_away_items(frame.ctx, table.items)
    extents_differ(frame.ctx, table, given)
    choose = functools.partial(either_value, frame)
    whole = with_width(frame.ctx, fitted(frame.ctx, table.items, pair), pair, choose)
    becomes(whole)

    def put() -> None:
        if not is_new_alone:
            values = RuntimeDict("dict", whole).view("values")
            assert isinstance(values, GrowableList)
            changes_rows(frame.ctx, values)
            note_escape(frame.ctx, given)
            store_item(frame.ctx, values, place, given)

    conditional(frame, _is_missing(frame.ctx, place), lambda: becomes(longer(frame, whole, pair)), put)


def delete(frame: Frame, owner: Value, entries: Sequence[Value]) -> None:
    """`del owner[entries]`."""
    match owner, list(entries):
        case KnownDict() | RuntimeDict(kind="dict"), _:
            method(frame, owner, "pop", [_entry(entries)], {})
        case RuntimeDict(kind="deque"), _:
            _on_list(frame, owner, lambda items: delete(frame, items, entries))
        case Instance(), _:
            call_method(frame, owner, "__delitem__", [_entry(entries)], {})
        case TupleValue(is_list=True) | GrowableList(), [SliceValue(span=span)]:
            mutate(frame, owner, part_replaced(frame, owner, span, TupleValue((), is_list=True)), "`del`")
        case TupleValue(is_list=True) | GrowableList(), [entry] if is_number(entry):
            list_method(frame, owner, "pop", entries, {})
        case _:
            raise frame.ctx.unsupported(f"`del` of an item of {describe(owner)}", "Create a new one without it.")


# -------------------------------------------------------------------------------------------------------------- methods


def method(
    frame: Frame, owner: KnownDict | RuntimeDict, name: str, args: Sequence[Value], named: dict[str, Value]
) -> Value:
    """`owner.name(*args, **named)`."""
    ctx = frame.ctx
    args = [materialise(ctx, a) for a in args]
    if args and name in _KEYED:
        rest = args[1:]
        found = for_option(frame, args[0], lambda key: method(frame, owner, name, [key, *rest], named))
        if found is not None:
            return found
    if name == "__getitem__":
        return item_of(frame, owner, args)
    if isinstance(owner, KnownDict) and not (name in _KEYED and args and not _is_known(args[0])):
        whole = unwrap(ctx, args[0]) if name == "update" and args else None
        if name not in ("popitem", "clear") and (whole is None or isinstance(whole, KnownDict)):
            return call_method(frame, owner, name, args, named)
    value = as_table(owner)
    if value.kind == "deque" and name in _OF_LISTS:
        return _on_list(frame, value, lambda items: list_method(frame, items, name, args, named)) or Static(None)
    most, handler = _METHODS[value.kind].get(name, (0, None))
    if handler is None or named or len(args) > most:
        own = collections.Counter if value.default == COUNTS else _CLASSES.get(value.kind, object)
        raise wrong_method(ctx, value, own, name, handler is not None)
    return handler(frame, value, *args)


_KEYED = ("get", "pop", "setdefault")
_OF_LISTS = ("insert", "reverse", "sort", "index", "count", "remove")


def _now(frame: Frame, value: RuntimeDict) -> RuntimeDict:
    return as_table(latest(frame, value))


def _becomes(frame: Frame, value: RuntimeDict, items: List, what: str) -> None:
    mutate(frame, value, dataclasses.replace(value, items=items), what)


def _on_list(frame: Frame, value: RuntimeDict, do: Callable[[List], Value | None]) -> Value | None:
    """Does what a list does to the items, which have no name of their own."""
    cell = as_reference(frame, value.items.known_by(None) if value.items.cell else _fresh(value.items))
    result = do(list_in(dereference(frame.env, cell)))
    _becomes(frame, value, list_in(dereference(frame.env, cell)), "a change")
    return result


def _fresh(items: List) -> List:
    return dataclasses.replace(items, is_list=True) if isinstance(items, TupleValue) else items


def _clear(frame: Frame, value: RuntimeDict) -> Value:
    _becomes(frame, value, EMPTY, "`clear`")
    return Static(None)


def _copy(frame: Frame, value: RuntimeDict) -> Value:
    items = to_list(frame, value.items.known_by(None))
    return dataclasses.replace(value, items=items, cell=None)


def _view(part: str) -> Callable[[Frame, RuntimeDict], Value]:
    return lambda frame, value: value.view(part)


def _get(frame: Frame, value: RuntimeDict, key: Value, default: Value | None = None) -> Value:
    place = _place(frame, value, _checked(frame.ctx, key))
    if default is None and not isinstance(place, ir.Const):
        raise frame.ctx.unsupported(
            "`get` without a default, of a key that is only known at run time",
            "Give a default of the same kind as the values, d.get(key, 0.0), or test `if key in d`.",
        )
    return _or_default(frame, value, place, Static(None) if default is None else default)


def _setdefault(frame: Frame, value: RuntimeDict, key: Value, default: Value | None = None) -> Value:
    key = _checked(frame.ctx, key)
    given = Static(None) if default is None else default
    return _value_at(frame, *_with_default(frame, value, key, _place(frame, value, key), given))


def _without_place(frame: Frame, value: RuntimeDict, place: ir.Operand, what: str) -> None:
    if isinstance(value.items, TupleValue) and isinstance(place, ir.Const) and value.kind == "dict":
        k = int(place.value)
        _becomes(frame, value, TupleValue(value.items.items[:k] + value.items.items[k + 1 :], is_list=True), what)
        return
    # of a set that has lost a member, Python's order depends on what there was
    _becomes(frame, value, without(frame, grown(frame.ctx, value.items), place), what)


def _pop(frame: Frame, value: RuntimeDict, key: Value, default: Value | None = None) -> Value:
    place = _place(frame, value, _checked(frame.ctx, key))

    def taken() -> Value:
        found = copied_item(frame, _value_at(frame, value, place))
        _without_place(frame, value, place, "`pop`")
        return found

    if default is None or isinstance(place, ir.Const):
        if default is not None and isinstance(place, ir.Const) and place.value < 0:
            return default
        _must_be_there(frame, value, place)
        return taken()
    return either_value(frame, _is_missing(frame.ctx, place), lambda: default, taken)


def _popitem(frame: Frame, value: RuntimeDict) -> Value:
    found = _on_list(frame, value, lambda items: list_method(frame, items, "pop", [], {}))
    assert found is not None
    return found


def _update(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    whole = unwrap(frame.ctx, other)
    pairs = whole.view("items") if isinstance(whole, Record | RuntimeDict) else whole

    def put(pair: Value) -> None:
        if not isinstance(pair, TupleValue) or len(pair.items) != 2:
            raise frame.ctx.mismatch(f"{describe(pair)} as an item of a dictionary", "Give pairs (key, value).")
        store(frame, _now(frame, value), [pair.items[0]], pair.items[1])

    frame.ctx.for_each(frame, pairs, put, ())
    return Static(None)


def _count(frame: Frame, value: RuntimeDict, given: Value, callee: Any = operator.add) -> Value:
    """`update` of a Counter, with what it counts, or with the counts that a dictionary has; or `subtract`."""

    def add(key: Value, count: Value) -> None:
        known = item_of(frame, _now(frame, value), [key])
        store(frame, _now(frame, value), [key], binary(frame, callee, known, count))

    whole = unwrap(frame.ctx, given)
    if is_keyed(whole) and as_table(whole).kind == "dict":
        frame.ctx.for_each(frame, whole.view("items"), lambda pair: add(*items_or_one(pair)), ())
    else:
        each = members(whole) if isinstance(whole, RuntimeDict) else whole
        frame.ctx.for_each(frame, each, lambda one: add(one, ir.integer(1)), ())
    return Static(None)


def _of_counter(function: Callable[..., Any]) -> Callable[..., Value]:
    """A method that only a Counter has."""

    def handle(frame: Frame, value: RuntimeDict, *args: Value) -> Value:
        if value.default != COUNTS:
            what = f"{describe(value)} has no method of a Counter"
            raise frame.ctx.unsupported(what, "Make it a collections.Counter.")
        return written(function)(frame, [value, *args], {})

    return handle


def _dict_update(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    return (_count if value.default == COUNTS else _update)(frame, value, other)


_CLASSES = {"dict": dict, "set": set, "deque": collections.deque}


# ----------------------------------------------------------------------------------------------------------------- sets


def add(frame: Frame, value: RuntimeDict, member: Value) -> Value:
    member = _checked(frame.ctx, member)
    place = _place(frame, value, member)

    def more(items: List) -> None:
        _becomes(frame, value, longer(frame, items, member), "`add`")

    if isinstance(place, ir.Const):
        if place.value < 0:
            more(value.items)
        return Static(None)
    whole = fitted(frame.ctx, value.items, member)
    _becomes(frame, value, whole, "`add`")
    conditional(frame, _is_missing(frame.ctx, place), lambda: more(whole), lambda: None)
    return Static(None)


def _added(frame: Frame, value: RuntimeDict, member: Value) -> None:
    add(frame, _now(frame, value), member)


def _discard(frame: Frame, value: RuntimeDict, member: Value) -> Value:
    place = _place(frame, value, _checked(frame.ctx, member))
    if isinstance(place, ir.Const):
        if place.value >= 0:
            _without_place(frame, value, place, "`discard`")
        return Static(None)
    gone = functools.partial(_without_place, frame, value, place, "`discard`")
    conditional(frame, _is_missing(frame.ctx, place), lambda: None, gone)
    return Static(None)


def _remove(frame: Frame, value: RuntimeDict, member: Value) -> Value:
    place = _place(frame, value, _checked(frame.ctx, member))
    _must_be_there(frame, value, place, "member")
    _without_place(frame, value, place, "`remove`")
    return Static(None)


def _members_of(frame: Frame, other: Value) -> Value:
    """What an iterable has, in whatever order."""
    whole = unwrap(frame.ctx, other)
    return members(as_table(whole)) if is_keyed(whole) else whole


def _add_all(frame: Frame, value: RuntimeDict, *others: Value) -> Value:
    for other in others:
        frame.ctx.for_each(frame, _members_of(frame, other), functools.partial(_added, frame, value), ())
    return Static(None)


def _of_those(frame: Frame, value: Value, is_taken: Callable[[Value], ir.Operand]) -> RuntimeDict:
    """The set of the members for which that holds."""
    cell = as_reference(frame, RuntimeDict("set", EMPTY))

    def one(member: Value) -> None:
        held = is_taken(member)
        conditional(frame, held, lambda: _added(frame, as_table(dereference(frame.env, cell)), member), lambda: None)

    frame.ctx.for_each(frame, _members_of(frame, value), one, ())
    return as_table(dereference(frame.env, cell))


def as_set(frame: Frame, value: Value) -> RuntimeDict:
    """`set(value)`."""
    return (
        value
        if isinstance(value, RuntimeDict) and value.kind == "set"
        else _of_those(frame, value, lambda one: ir.boolean(True))
    )


def _union(frame: Frame, value: RuntimeDict, *others: Value) -> Value:
    cell = as_reference(frame, _copy(frame, value))
    _add_all(frame, as_table(dereference(frame.env, cell)), *others)
    return dereference(frame.env, cell)


def _common(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    known = as_set(frame, other)
    return _of_those(frame, value, lambda one: contains(frame, known, one))


def _difference(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    known = as_set(frame, other)
    return _of_those(frame, value, lambda one: scalars.negated(frame.ctx, contains(frame, known, one)))


def _symmetric(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    known = as_set(frame, other)
    return _union(frame, as_table(_difference(frame, value, known)), _difference(frame, known, value))


def _is_subset(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    rest = as_table(_difference(frame, value, other))
    return scalars.scalar(frame.ctx, operator.eq, (rest.length(), ir.integer(0)))


def _is_superset(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    return _is_subset(frame, as_set(frame, other), value)


def _is_disjoint(frame: Frame, value: RuntimeDict, other: Value) -> Value:
    return scalars.scalar(frame.ctx, operator.eq, (as_table(_common(frame, value, other)).length(), ir.integer(0)))


_OPERATORS: dict[Any, Callable[[Frame, RuntimeDict, Value], Value]] = {
    operator.or_: _union,
    operator.and_: _common,
    operator.sub: _difference,
    operator.xor: _symmetric,
    operator.le: _is_subset,
    operator.ge: _is_superset,
}


# what an operator of Counters does to each two counts
_OF_COUNTS = {operator.add: operator.add, operator.sub: operator.sub, operator.or_: max, operator.and_: min}


def _are_counts(value: Value) -> bool:
    return isinstance(value, RuntimeDict) and value.default == COUNTS


def combined(frame: Frame, callee: Any, left: Value, right: Value) -> Value | None:
    """An operator of two sets, or of two dictionaries; None of anything else."""
    if isinstance(left, RuntimeDict) and isinstance(right, RuntimeDict) and left.kind == right.kind == "set":
        if callee in (operator.eq, operator.ne):
            same = _is_subset(frame, as_table(_symmetric(frame, left, right)), RuntimeDict("set", EMPTY))
            return same if callee is operator.eq else scalars.negated(frame.ctx, truth(frame, same))
        if callee in _OPERATORS:
            return _OPERATORS[callee](frame, left, right)
    if _are_counts(left) and _are_counts(right):
        if callee in (operator.eq, operator.ne):
            same = written(python.collections.are_same_counts)(frame, [left, right], {})
            return same if callee is operator.eq else scalars.negated(frame.ctx, truth(frame, same))
        if callee in _OF_COUNTS:
            return written(python.collections.join_counts)(frame, [left, right, Static(_OF_COUNTS[callee])], {})
    if callee is operator.or_ and is_keyed(left) and is_keyed(right):
        own = as_table(_copy(frame, as_table(left)))
        cell = as_reference(frame, dataclasses.replace(own, default=None) if _are_counts(left) else own)
        _update(frame, as_table(dereference(frame.env, cell)), right)
        return dereference(frame.env, cell)
    return None


def changed_by(frame: Frame, callee: Any, old: Value, value: Value) -> Value | None:
    """`old callee= value` of a set, a dictionary or a queue, which stays the same one; None of anything else."""
    if not is_keyed(old):
        return None
    table = as_table(old)
    if table.kind == "deque" and callee is operator.add:
        method(frame, table, "extend", [value], {})
        return latest(frame, table)
    if table.default == COUNTS and is_keyed(value):
        value = dataclasses.replace(as_table(value), default=COUNTS)
    elif callee is operator.or_:
        method(frame, old, "update", [value], {})
        return latest(frame, old)
    made = combined(frame, callee, table, value)
    if made is None:
        return None
    _becomes(frame, table, as_table(made).items, "an operator")
    return latest(frame, table)


# --------------------------------------------------------------------------------------------------------------- queues


def _first_gone(frame: Frame, items: List) -> List:
    """A list without its first item."""
    if isinstance(items, TupleValue):
        return TupleValue(items.items[1:], is_list=True)
    cell = as_reference(frame, items)
    written(python.lists.move_up)(frame, [dereference(frame.env, cell)], {})
    return list_in(dereference(frame.env, cell))


def _append(frame: Frame, value: RuntimeDict, given: Value) -> Value:
    items = longer(frame, fitted(frame.ctx, value.items, given), given)
    _limited(frame, value, items, functools.partial(_first_gone, frame))
    return Static(None)


def _append_left(frame: Frame, value: RuntimeDict, given: Value) -> Value:
    one = TupleValue((given,), is_list=True)
    items = list_in(binary(frame, operator.add, one, _fresh(value.items)))
    last_gone = SliceValue(ir.Span(None, ir.integer(-1)))
    _limited(frame, value, items, lambda whole: get_item(frame, whole, [last_gone]))
    return Static(None)


def _limited(frame: Frame, value: RuntimeDict, items: List, shorter: Callable[[List], Value]) -> None:
    """The queue with these items, of which one is too many where it has reached its limit."""
    ctx = frame.ctx
    _becomes(frame, value, items, "`append`")
    if value.limit is None:
        return
    full = _now(frame, value)

    def cut() -> None:
        _becomes(frame, full, list_in(shorter(full.items.known_by(None))), "`append`")

    is_over = scalars.scalar(ctx, operator.gt, (full.length(), value.limit), "is_over")
    conditional(frame, is_over, cut, lambda: None)


def _extend(adding: Callable[[Frame, RuntimeDict, Value], Value]) -> Callable[[Frame, RuntimeDict, Value], Value]:
    def extend(frame: Frame, value: RuntimeDict, other: Value) -> Value:
        given = to_list(frame, other)

        def one(each: Value) -> None:
            adding(frame, _now(frame, value), each)

        frame.ctx.for_each(frame, given, one, ())
        return Static(None)

    return extend


def _there(frame: Frame, value: RuntimeDict) -> None:
    """IndexError, as Python has it, where a queue is empty."""
    is_any = scalars.scalar(frame.ctx, operator.gt, (value.length(), ir.integer(0)))
    if isinstance(is_any, ir.Const) and not is_any.value:
        raise frame.ctx.mismatch("an item of an empty deque", "Test its length first.")
    require(frame.ctx, is_any, IndexError, "pop from an empty deque")


def _pop_right(frame: Frame, value: RuntimeDict) -> Value:
    _there(frame, value)
    found = _on_list(frame, value, lambda items: list_method(frame, items, "pop", [], {}))
    assert found is not None
    return found


def _pop_left(frame: Frame, value: RuntimeDict) -> Value:
    _there(frame, value)
    found = copied_item(frame, get_item(frame, _fresh(value.items), [ir.integer(0)]))
    _becomes(frame, value, _first_gone(frame, _fresh(value.items)), "`popleft`")
    return found


_METHODS: dict[str, dict[str, tuple[int, Callable[..., Value]]]] = {
    "dict": {
        "items": (0, _view("items")),
        "keys": (0, _view("keys")),
        "values": (0, _view("values")),
        "get": (2, _get),
        "pop": (2, _pop),
        "popitem": (0, _popitem),
        "setdefault": (2, _setdefault),
        "update": (1, _dict_update),
        "clear": (0, _clear),
        "copy": (0, _copy),
        "most_common": (1, _of_counter(python.collections.most_common)),
        "subtract": (1, functools.partial(_count, callee=operator.sub)),
        "total": (0, _of_counter(python.collections.total)),
        "elements": (0, _of_counter(python.collections.elements)),
    },
    "set": {
        "add": (1, add),
        "discard": (1, _discard),
        "remove": (1, _remove),
        "update": (9, _add_all),
        "union": (9, _union),
        "intersection": (1, _common),
        "difference": (1, _difference),
        "symmetric_difference": (1, _symmetric),
        "issubset": (1, _is_subset),
        "issuperset": (1, _is_superset),
        "isdisjoint": (1, _is_disjoint),
        "clear": (0, _clear),
        "copy": (0, _copy),
    },
    "deque": {
        "append": (1, _append),
        "appendleft": (1, _append_left),
        "extend": (1, _extend(_append)),
        "extendleft": (1, _extend(_append_left)),
        "pop": (0, _pop_right),
        "popleft": (0, _pop_left),
        "clear": (0, _clear),
        "copy": (0, _copy),
    },
}


# --------------------------------------------------------------------------------------------------- how these are made


def new_dictionary(frame: Frame, args: Sequence[Value], named: dict[str, Value]) -> Value:
    """`dict(...)`."""
    ctx = frame.ctx
    given = [unwrap(ctx, a) for a in args]
    if any(isinstance(a, RuntimeDict) for a in given):
        return _filled(frame, RuntimeDict("dict", EMPTY), given, named)
    pairs = [a if isinstance(a, KnownDict) else to_list(frame, a) for a in given]
    if all(isinstance(a, KnownDict) or _has_known_keys(a) for a in pairs):
        return dictionary(frame, pairs, named)
    return _filled(frame, RuntimeDict("dict", EMPTY), pairs, named)


def _has_known_keys(pairs: Value) -> bool:
    if not isinstance(pairs, TupleValue):
        return False
    return all(not isinstance(p, TupleValue) or len(p.items) != 2 or _is_known(p.items[0]) for p in pairs.items)


def _filled(frame: Frame, made: RuntimeDict, args: Sequence[Value], named: dict[str, Value]) -> Value:
    """A dictionary with what others have."""
    cell = as_reference(frame, made)
    for one in args:
        _dict_update(frame, as_table(dereference(frame.env, cell)), one)
    for name, value in named.items():
        store(frame, as_table(dereference(frame.env, cell)), [Static(name)], materialise(frame.ctx, value))
    return dereference(frame.env, cell)


def of_parts(frame: Frame, parts: Sequence[tuple[Value, Value] | KnownDict | RuntimeDict]) -> Value:
    """`{key: value, **others}`."""
    made = KnownDict((), ())
    if all(isinstance(one, KnownDict) or (isinstance(one, tuple) and _is_known(one[0])) for one in parts):
        for one in parts:
            if isinstance(one, tuple):
                made = made.with_item(key_of(frame.ctx, one[0]), one[1])
            elif isinstance(one, KnownDict):
                made = merged(made, one)
        return made
    cell = as_reference(frame, made)
    for one in parts:
        whole = as_table(dereference(frame.env, cell))
        if isinstance(one, tuple):
            store(frame, whole, [one[0]], one[1])
        else:
            _update(frame, whole, one)
    return dereference(frame.env, cell)


def _default_dictionary(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    factory, *others = args or [Static(None)]
    if not isinstance(factory, Static):
        raise frame.ctx.unsupported("a defaultdict with this default", "Give float, int, list or a function.")
    made = RuntimeDict("dict", EMPTY, None if factory.value is None else factory)
    return _filled(frame, made, [unwrap(frame.ctx, a) for a in others], named)


def _counter(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    made = as_table(_filled(frame, RuntimeDict("dict", EMPTY, COUNTS), args, {}))
    for name, value in named.items():
        _count(frame, _now(frame, made), KnownDict((name,), (materialise(frame.ctx, value),)))
    return latest(frame, made)


def _set(frame: Frame, iterable: Value | None) -> Value:
    if isinstance(iterable, RuntimeDict) and iterable.kind == "set":
        return _copy(frame, iterable)
    return RuntimeDict("set", EMPTY) if iterable is None else as_set(frame, iterable)


def _deque(frame: Frame, iterable: Value | None, limit: Value | None) -> Value:
    ctx = frame.ctx
    most = None if limit is None or limit == Static(None) else as_index(ctx, limit, "maxlen")
    if iterable is None:
        return RuntimeDict("deque", EMPTY, limit=most)
    cell = as_reference(
        frame, RuntimeDict("deque", EMPTY if most is not None else to_list(frame, iterable), limit=most)
    )
    if most is not None:
        _extend(_append)(frame, as_table(dereference(frame.env, cell)), iterable)
    return dereference(frame.env, cell)


def _typed_list(frame: Frame, iterable: Value | None) -> Value:
    found = EMPTY if iterable is None else to_list(frame, iterable)
    for part in parts_of(found):
        if is_numeric(part):
            _check_wide(frame, "numba.typed.List", dtype(part))
    return found


def _check_wide(frame: Frame, what: str, kind: types.Type) -> None:
    if kind not in _WIDE:
        raise frame.ctx.unsupported(
            f"{what} of {kind}", "Use int64 or float64.", why="Stored values would be converted to its type."
        )


_WIDE = (types.int64, types.intp, types.float64, types.boolean, types.complex128)


def _typed(what: str, made: Callable[[Frame], Value]) -> Handler:
    """numba's empty containers, which hold numbers of the types that they are made with."""

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        for given in (*args, *named.values()):
            kind = given.value if isinstance(given, Static) else given
            if isinstance(kind, types.Number):
                _check_wide(frame, what, kind)
        return made(frame)

    return handle


TABLES: dict[Any, Handler] = {
    dict: lambda frame, args, named: new_dictionary(frame, args, named),
    collections.OrderedDict: lambda frame, args, named: new_dictionary(frame, args, named),
    collections.defaultdict: _default_dictionary,
    collections.Counter: _counter,
    set: takes("set", "iterable?", _set),
    frozenset: takes("frozenset", "iterable?", _set),
    collections.deque: takes("collections.deque", "iterable? maxlen?", _deque),
    typed.List: takes("numba.typed.List", "iterable?", _typed_list),
    typed.List.empty_list: _typed("numba.typed.List.empty_list", lambda frame: EMPTY),
    typed.Dict: takes(
        "numba.typed.Dict", "other?", lambda frame, a: new_dictionary(frame, [] if a is None else [a], {})
    ),
    typed.Dict.empty: _typed("numba.typed.Dict.empty", lambda frame: RuntimeDict("dict", EMPTY)),
}
