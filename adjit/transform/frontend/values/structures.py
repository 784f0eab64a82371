"""How values are put together that are one thing on one path and another on the other, or items of one list.

In: structures, which are values with holes. Out: one structure for all of them, None where there is none.

    joint([x], [x, y])      the list that grows, of numbers
"""

from __future__ import annotations

from dataclasses import replace

from adjit.transform.frontend.values.cells import Container, Poison, Ref
from adjit.transform.frontend.values.dictionaries import KnownDict, Record, RuntimeDict, key_value
from adjit.transform.frontend.values.lists import ROW, GrowableList, Ragged, Row, TupleValue, is_list, items_in, list_of
from adjit.transform.frontend.values.numbers import COMPLEX, Complex
from adjit.transform.frontend.values.statics import Static, may_be_chosen
from adjit.transform.frontend.values.unions import Optional, Union
from adjit.transform.frontend.values.values import LEAF, Composite, Hole, Structure, structure

_NOTHING = Static(None)
MOST_OPTIONS = 12  # of values that hold numbers and arrays


def joint(left: Structure, right: Structure, chooses: bool = False) -> Structure | None:
    """How a value is put together that is `left` on one path and `right` on another; a number may become complex.

    `chooses`: as one of both, or with parts that are, where it is put together in two ways.
    """
    if left == right:
        return left
    if chooses:
        return _joint_items(left, right, chooses) or joint(left, right) or _either(left, right)
    kinds = {type(left), type(right)}
    if _NOTHING in (left, right) or Optional in kinds:
        return _maybe(*(shape for shape in (left, right) if shape != _NOTHING))
    if kinds == {Hole, Complex}:
        return COMPLEX
    if Ragged in kinds:
        own, given = (left, right) if type(left) is Ragged else (right, left)
        return own if own == with_own_extents(given) else None
    if _are_alike(left, right):
        return _joint_items(left, right)
    if kinds <= {KnownDict, RuntimeDict}:
        one, other = _as_table(left), _as_table(right)
        if one is None or other is None or replace(one, items=other.items) != other:
            return None
        held = joint(one.items, other.items)
        return None if held is None else replace(one, items=held)
    if all(is_list(shape) or type(shape) is Row for shape in (left, right)):
        item = item_of(*items_in(left), *items_in(right))
        if Row in kinds:
            return Row(LEAF) if item == LEAF else None
        return None if item is None else list_of(item)
    return None


def _are_alike(left: Structure, right: Structure) -> bool:
    """Whether they are tuples, lists or objects with as many parts."""
    if type(left) is not type(right):
        return False
    if isinstance(left, TupleValue):
        return bool(left.is_list == right.is_list and len(left.items) == len(right.items))
    return isinstance(left, Record) and left.with_members() == right.with_members()


def _joint_items(left: Structure, right: Structure, chooses: bool = False) -> Structure | None:
    """That of tuples, lists or objects with as many parts; with `chooses`, some of these may be one of several."""
    are_named_alike = _are_alike(left, right) and left.with_members() == right.with_members()
    if chooses and not are_named_alike:
        return None
    items = [joint(a, b, chooses) for a, b in zip(left.items, right.items, strict=True)]
    own = left if are_named_alike else TupleValue((), left.is_list)
    return None if None in items else own.with_members(*items)


def _either(left: Structure, right: Structure) -> Structure | None:
    """That of a value that is one or the other; None where one of them is a number, an array or not known."""
    options = list(options_in(left))
    for new in options_in(right):
        found = ((k, joint(known, new)) for k, known in enumerate(options) if _NOTHING not in (known, new))
        place, both = next(((k, shape) for k, shape in found if shape is not None), (len(options), new))
        options[place : place + 1] = [both] if new not in options else options[place : place + 1]
    with_parts = sum(isinstance(shape, Composite) for shape in options)
    return Union(tuple(options), LEAF) if all(map(_is_option, options)) and with_parts <= MOST_OPTIONS else None


def options_in(shape: Structure) -> tuple[Structure, ...]:
    """How those are put together that a value may be."""
    if isinstance(shape, Union):
        return shape.options
    return (_NOTHING, shape.value) if isinstance(shape, Optional) else (shape,)


def _is_option(shape: Structure) -> bool:
    if isinstance(shape, Container):
        return all(is_put_together(part) or _is_option(part) for part in shape.members)
    return isinstance(shape, Ref) or may_be_chosen(shape)


def is_put_together(shape: Structure) -> bool:
    """Whether it has numbers or arrays, or is not known: no function, text, reference or the like."""
    return isinstance(shape, Hole | Composite | Poison)


def _maybe(*shapes: Structure) -> Structure | None:
    """How None or a value like one of these is put together."""
    one, *others = (shape.value if isinstance(shape, Optional) else shape for shape in shapes)
    found = joint(one, others[0]) if others else one
    return Optional(LEAF, found) if found is not None and _is_item(found) else None


def _as_table(shape: Structure) -> RuntimeDict | None:
    """A dictionary of constant keys as one whose keys are found at run time."""
    if not isinstance(shape, KnownDict):
        return shape if isinstance(shape, RuntimeDict) else None
    keys = (structure(key_value(key)) for key in shape.keys)
    pairs = tuple(map(TupleValue, zip(keys, shape.items, strict=True)))
    return RuntimeDict("dict", TupleValue(pairs, is_list=True))


def with_own_extents(shape: Structure) -> Structure:
    """How an item is put together whose arrays and lists may have other extents than those of the next one."""
    if shape == LEAF and shape.axes:
        return Ragged(LEAF, (LEAF,) * shape.axes, is_list=False)
    is_of_numbers = is_list(shape) and all(p == LEAF and not p.axes for p in items_in(shape))
    return ROW if is_of_numbers or isinstance(shape, Row) else shape


def apart(shape: Structure) -> Structure:
    """How a list that grows is put together whose items have extents of their own."""
    if isinstance(shape, RuntimeDict | Optional):
        return shape.with_members(*map(apart, shape.members))
    return list_of(item_apart(shape.item)) if isinstance(shape, GrowableList) else shape


def item_apart(item: Structure) -> Structure:
    """The same of an item."""
    is_whole = isinstance(item, TupleValue | Record)
    return item.with_members(*map(item_apart, item.items)) if is_whole else with_own_extents(item)


def item_of(*shapes: Structure) -> Structure | None:
    """How the items of a list that grows are put together, which are like these; None if they differ."""
    found: Structure | None = None
    for shape in shapes:
        found = shape if found is None else joint(found, shape)
        found = None if found is None else _as_item(found)
        if found is None or not _is_item(found):
            return None
    return found


def _as_item(shape: Structure) -> Structure:
    """The same for an item of a list, in which another list is a row."""
    if isinstance(shape, TupleValue | Record):
        return shape.with_members(*map(_as_item, shape.items))
    return Row(LEAF) if isinstance(shape, GrowableList) and shape.item == LEAF else shape


def _is_item(shape: Structure) -> bool:
    """Whether an item of a list that grows may be put together so: of numbers, arrays, and texts and the like that are
    the same in all of them."""
    if isinstance(shape, TupleValue | Record):
        return all(isinstance(part, Static) or _is_item(part) for part in shape.items)
    return isinstance(shape, Hole | Complex | Row | Ragged)
