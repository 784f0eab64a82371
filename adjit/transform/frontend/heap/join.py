"""How one value is put together that is one of two: on two paths, or before a loop and after a trip.

In: two values, and what is in the lists that they have. Out: the structure of both, and the operands of each
as one of it.

    (1.0, "a") and (2.0, "b")        a tuple of a number and one of two texts
    (x, y) and (z,)                  one of two tuples: which of them it is, x, y, z
    two objects of one class         what is in them, as a copy, unless they have to stay the ones that they are
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.frontend.heap import aliasing, lists
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.assumptions import Restart
from adjit.transform.frontend.values.cells import Ref
from adjit.transform.frontend.values.dictionaries import Record, RuntimeDict, as_table, open_reference
from adjit.transform.frontend.values.frame import Context
from adjit.transform.frontend.values.lists import GrowableList, TupleValue, list_in
from adjit.transform.frontend.values.numbers import Complex
from adjit.transform.frontend.values.statics import Static, may_be_chosen
from adjit.transform.frontend.values.structures import apart, joint
from adjit.transform.frontend.values.unions import Optional, Union, number, renumbered
from adjit.transform.frontend.values.values import (
    Structure,
    Value,
    dereference,
    leaf_count,
    leaves_of,
    parts_of,
    structure,
)
from adjit.transform.ir.types import typed_const, unify

Env = Mapping[str, Value]

EMPTY = ir.Const(None, types.none)  # stands for an array of a list that has no items yet
NOTHING = ir.Const(None, types.none)  # and for the number or array of what is None


def _chooses_functions(shape: Structure) -> bool:
    """Whether functions and texts are all that is one of several in it."""
    if isinstance(shape, Union):
        return all(map(may_be_chosen, shape.options))
    return all(map(_chooses_functions, shape.members))


def both_shapes(ctx: Context, one: Structure, other: Structure) -> Structure | None:
    """How a value is put together that is one on a path and the other on another; a function, or one that is in it,
    becomes one of several."""
    found = joint(one, other)
    if found is None:
        several = joint(one, other, chooses=True)
        found = several if several is not None and _chooses_functions(several) else None
    return apart(found) if found is not None and ctx.assumed.own_extents else found


def common(ctx: Context, one: tuple[Env, Value], other: tuple[Env, Value], keeps: bool) -> Structure | None:
    """The same of values with what is in lists there. Lists that are not the same one are known by what is in them,
    unless it `keeps` them; what is put together in two ways is one of both, unless a loop around may be written out."""
    shapes = structure(one[1]), structure(other[1])
    return (both_shapes(ctx, *shapes) if keeps else by_content(ctx, one, other)) or choice(ctx, *shapes)


def by_content(ctx: Context, one: tuple[Env, Value], other: tuple[Env, Value]) -> Structure | None:
    return open_alike(ctx, one, other)[0]


def open_alike(ctx: Context, one: tuple[Env, Value], other: tuple[Env, Value]) -> tuple[Structure | None, Value, Value]:
    """How both are put together, and what is in each: no more is opened than makes them alike, so that lists and
    objects in them which are the same ones stay these."""
    for read in _OPENING:
        values = read(*one), read(*other)
        found = both_shapes(ctx, *map(structure, values))
        if found is not None:
            break
    return found, *values


def _as_it_is(env: Env, value: Value) -> Value:
    return value


_OPENING = (_as_it_is, open_reference, dereference)  # how a value is read, each time with more of what is in it


def note_copies(ctx: Context, env: Env, value: Value, content: Value | None) -> None:
    """Takes note that a variable has `content` in the place of a value: what is in lists and objects, and not
    themselves. They may not change; those that it has by reference may."""
    items = content.items if isinstance(content, TupleValue | Record) else ()
    if isinstance(value, Ref):
        if value == content or value.key in ctx.heap.copied_cells or ctx.assumed.keeps_chosen:
            return
        if not ctx.heap.changed_in.get(value.key, set()).isdisjoint(ctx.loop.around):
            raise Restart(keeps_chosen=True)
        ctx.heap.copied_cells.add(value.key)
        value = env.get(value.key, value)
    if isinstance(value, TupleValue | Record):
        for k, one in enumerate(value.items):
            note_copies(ctx, env, one, items[k] if k < len(items) else None)
    elif isinstance(value, Union | RuntimeDict):
        for part in parts_of(value):
            if part is not value:
                note_copies(ctx, env, part, None)


def choice(ctx: Context, one: Structure, other: Structure) -> Structure | None:
    if ctx.wants_known and not ctx.assumed.keeps_chosen:
        return None
    found = joint(one, other, chooses=True)
    return apart(found) if found is not None and ctx.assumed.own_extents else found


def _leaves_of_chosen(ctx: Context, shape: Union, value: Value) -> list[ir.Operand] | None:
    """The operands of a value that is one of several, of which this is one, or one of some."""
    options, which = (value.options, value) if isinstance(value, Union) else ((value,), None)
    if isinstance(value, Optional):
        options = (Static(None), value.value)
        which = Union(options, scalars.negated(ctx, value.is_there))
    places = [_place_in(shape.options, structure(option)) for option in options]
    if None in places or len(set(places)) < len(places):
        return None
    known = [place for place in places if place is not None]
    count = len(shape.options)
    found = [number(known[0], count) if which is None else renumbered(ctx, which, known, count)]
    for place, part in enumerate(shape.options):
        inner: list[ir.Operand] | None = [NOTHING] * leaf_count(part)
        if place in known:
            inner = leaves_as(ctx, part, options[known.index(place)])
        if inner is None:
            return None
        found += inner
    return found


def _place_in(options: Sequence[Structure], option: Structure) -> int | None:
    """Which of the options it is."""
    if option in options:
        return options.index(option)
    known = ((k, part, chooses) for chooses in (False, True) for k, part in enumerate(options))
    return next((k for k, part, chooses in known if joint(part, option, chooses) == part), None)


def leaves_as(ctx: Context, shape: Structure, value: Value) -> list[ir.Operand] | None:
    """The operands of a value put together like `shape`, real numbers taken as complex ones; None if it cannot be."""
    inner: list[ir.Operand] | None
    match shape, value:
        case Union(), _:
            return _leaves_of_chosen(ctx, shape, value)
        case Optional(value=held), Static(value=None):
            return [ir.boolean(False), *[NOTHING] * leaf_count(held)]
        case Optional(value=held), _:
            there, given = (value.is_there, value.value) if isinstance(value, Optional) else (ir.boolean(True), value)
            inner = leaves_as(ctx, held, given)
            return inner if inner is None else [there, *inner]
        case RuntimeDict(), _:
            table = as_table(value)
            inner = leaves_as(ctx, shape.items, table.items)
            return inner if inner is None or table.limit is None else [*inner, table.limit]
        case GrowableList(item=item), TupleValue(items=()):
            return [*[EMPTY] * leaf_count(item), ir.integer(0)]
        case GrowableList(item=item), _:
            return leaves_of(lists.grown(ctx, list_in(value), item))
        case _, TupleValue(items=items) | Record(items=items):
            found = [leaves_as(ctx, part, item) for part, item in zip(shape.items, items, strict=True)]
            return None if None in found else [leaf for leaves in found for leaf in leaves or ()]
        case Complex(), ir.Var(type=kind) | ir.Const(type=kind):
            if isinstance(kind, types.Array):
                return None
            return [value, typed_const(0.0, kind if isinstance(kind, types.Float) else types.float64)]
    return leaves_of(value)


def note_escapes(ctx: Context, shape: Structure, value: Value) -> None:
    """Takes note of what is in a list that becomes one that grows."""
    if shape.grows:
        aliasing.puts_away_items(ctx, value)


def unified(shape: Structure, one: ir.Operand, other: ir.Operand) -> types.Type | None:
    """The type of a leaf that is one on a path and the other on another; in a list that grows, integers and floats are
    floats."""
    if one is EMPTY or other is EMPTY or one is NOTHING or other is NOTHING:
        return other.type if one is EMPTY or one is NOTHING else one.type
    found = unify(one.type, other.type)
    return lists.widened(one.type, other.type) if found is None and shape.grows else found


def in_list(env: Env, shape: Structure, value: Value | None) -> Value | None:
    """A value that is put together like `shape`, which tells what is in a list, or which list it is."""
    found = value
    for read in _OPENING:
        found = None if value is None else read(env, value)
        if found is None or shape in (structure(found), joint(shape, structure(found), chooses=True)):
            break
    return found


def converted(ctx: Context, value: ir.Operand, type_: types.Type) -> ir.Operand:
    """A number cast; an array seen under a more general layout."""
    if value.type == type_:
        return value
    if isinstance(type_, types.Array):
        assert isinstance(value.type, types.Array)
        if value.type.dtype != type_.dtype:
            return lists.as_wide(ctx, value, type_)
        out = ir.Var(ir.name_of(value, "view"), type_)
        ctx.builder.emit(ir.Slice(base=value, selectors=(ir.Span(),) * type_.ndim, out=out))
        return ctx.new_array(out, ctx.shape(value), ctx.roots_of(value))
    return scalars.cast(ctx, value, type_)
