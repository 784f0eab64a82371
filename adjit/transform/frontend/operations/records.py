"""Dictionaries and objects, which exist while compiling: items, attributes, methods, and how they are made.

In: the value of a dictionary or an object, or of what stands outside. Out: what is asked of it; its state, changed.

    p = Params(k=2.0, x0=x)      the record (k: 2.0, x0: %x)
    p.energy(y)                  the method's body, inlined, with `self` the record
    for name, w in d.items():    the loop, written out
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.rules.registry import class_of, stood_for
from adjit.runtime.backend import members
from adjit.runtime.library import under_cache
from adjit.transform import ir
from adjit.transform.frontend.heap.references import as_reference, latest, mutate
from adjit.transform.frontend.operations.derivatives import arguments
from adjit.transform.frontend.operations.seeded_generators import KINDS, drawn
from adjit.transform.frontend.values.dictionaries import Instance, KnownDict, Record
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.fold import constant, execute, is_constant, is_texts, items_of_texts, members_in
from adjit.transform.frontend.values.frame import Context, Frame, wrap
from adjit.transform.frontend.values.lists import Fields, TupleValue, is_list, items_or_one
from adjit.transform.frontend.values.numbers import is_array
from adjit.transform.frontend.values.statics import Method, Static, StringArray, object_of, stands_for
from adjit.transform.frontend.values.unions import Optional
from adjit.transform.frontend.values.values import Kind, Value, dereference, describe
from adjit.transform.ir.types import is_integer
from adjit.transform.source.callables import held_by
from adjit.transform.source.external_reads import (
    contents_read,
    inherited_attribute,
    is_defined,
    memory_read,
    read_attribute,
    static_attribute,
)
from adjit.transform.source.parameters import by_name
from adjit.transform.source.protocols import own_of_named_tuple, own_of_object
from adjit.transform.source.structures import Unread

# --------------------------------------------------------------------------------------------------------- from outside


def unwrap(ctx: Context, value: Value) -> Value:
    """A list, a dictionary, a set or a queue from outside as what is in it."""
    match value:
        case Static(value=StringArray()):
            return items_of_texts(ctx, value)
        case Static(value=list() as known):
            return TupleValue(tuple(wrap(ctx, one) for one in known), is_list=True)
        case Static(value=set() | frozenset() | collections.deque() as known):
            return TupleValue(tuple(wrap(ctx, one) for one in known))
        case Static(value=known) if type(known) in (dict, collections.OrderedDict, MappingProxyType):
            return KnownDict(tuple(known), tuple(wrap(ctx, one) for one in known.values()))
    return value


def members_of(ctx: Context, value: Value) -> Value:
    """The members of an enumeration, or the flags in one of its members, as a loop has them; anything else as it is."""
    members = members_in(value)
    return value if members is None else TupleValue(tuple(wrap(ctx, one) for one in members))


# --------------------------------------------------------------------------------------------------------- dictionaries


def key_of(ctx: Context, value: Value) -> Any:
    """The Python object that is a key."""

    def refused(part: Value) -> errors.AdjitError:
        return ctx.mismatch(f"{describe(part)} as a key of a dictionary", "Give a number, a string or a tuple of them.")

    parts = value.items if isinstance(value, TupleValue) else ()
    if any(is_list(part) or is_texts(part) for part in (value, *parts)):
        raise refused(value)
    return constant(value, refused, is_frozen=True)


def item_of_record(frame: Frame, owner: Record, entries: Sequence[Value]) -> Value:
    """`owner[key]`."""
    ctx = frame.ctx
    if isinstance(owner, Instance) and owner.of is not np.record:
        return call_method(frame, owner, "__getitem__", [_one(entries)], {})
    key = key_of(ctx, _one(entries))
    found = owner.get(key)
    if found is None:
        raise ctx.fail(errors.WrongCall, f"a dictionary without the key {key!r}", _keys(owner), "Give one that exists.")
    return found


def _one(entries: Sequence[Value]) -> Value:
    return entries[0] if len(entries) == 1 else TupleValue(tuple(entries))


MOST_KEYS, MOST_LETTERS = 8, 40  # that a message shows


def _keys(owner: Record) -> str:
    shown = [repr(key)[:MOST_LETTERS] for key in owner.keys[:MOST_KEYS]]
    more = [f"{len(owner.keys) - MOST_KEYS} more"] if len(owner.keys) > MOST_KEYS else []
    return f"It has {', '.join([*shown, *more]) or 'none'}."


def store_in_record(frame: Frame, owner: Record, entries: Sequence[Value], value: Value) -> None:
    """`owner[key] = value`."""
    if isinstance(owner, Instance):
        call_method(frame, owner, "__setitem__", [_one(entries), value], {})
        return
    state = owner.with_item(key_of(frame.ctx, _one(entries)), materialise(frame.ctx, value))
    mutate(frame, owner, state, "a store into an item")


def _get(frame: Frame, owner: KnownDict, key: Value, default: Value | None = None) -> Value:
    found = owner.get(key_of(frame.ctx, key))
    return found if found is not None else default or Static(None)


def _pop(frame: Frame, owner: KnownDict, key: Value, default: Value | None = None) -> Value:
    name = key_of(frame.ctx, key)
    if name not in owner.keys and default is not None:
        return default
    found = item_of_record(frame, owner, [key])
    mutate(frame, owner, owner.without(name), "`pop`")
    return found


def _setdefault(frame: Frame, owner: KnownDict, key: Value, default: Value | None = None) -> Value:
    name = key_of(frame.ctx, key)
    if name not in owner.keys:
        mutate(frame, owner, owner.with_item(name, default or Static(None)), "`setdefault`")
    known = latest(frame, owner)
    return known.items[known.keys.index(name)]


_METHODS: dict[str, tuple[int, Callable[..., Value]]] = {
    "items": (0, lambda frame, owner: owner.view("items")),
    "keys": (0, lambda frame, owner: owner.view("keys")),
    "values": (0, lambda frame, owner: owner.view("values")),
    "get": (2, _get),
    "pop": (2, _pop),
    "setdefault": (2, _setdefault),
    "copy": (0, lambda frame, owner: owner.known_by(None)),
}


def dictionary(frame: Frame, args: Sequence[Value], named: Mapping[str, Value]) -> KnownDict:
    """`dict(...)`."""
    ctx = frame.ctx
    made = KnownDict((), ())
    for given in args:
        whole = unwrap(ctx, given)
        made = merged(made, whole) if isinstance(whole, KnownDict) else _of_pairs(frame, made, whole)
    for name, value in named.items():
        made = made.with_item(name, materialise(ctx, value))
    return made


def _of_pairs(frame: Frame, made: KnownDict, given: Value) -> KnownDict:
    pairs = frame.ctx.collected(frame, given, None)
    if not isinstance(pairs, TupleValue):
        raise frame.ctx.unsupported("a dictionary whose number of items is only known at run time", "Use arrays.")
    for pair in pairs.items:
        if not isinstance(pair, TupleValue) or len(pair.items) != 2:
            raise frame.ctx.mismatch(f"{describe(pair)} as an item of a dictionary", "Give pairs (key, value).")
        made = made.with_item(key_of(frame.ctx, pair.items[0]), pair.items[1])
    return made


def merged(one: KnownDict, other: KnownDict) -> KnownDict:
    """`{**one, **other}`."""
    made = one.known_by(None)
    for key, value in zip(other.keys, other.items, strict=True):
        made = made.with_item(key, value)
    return made


def _updated(frame: Frame, owner: KnownDict, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`owner.update(...)`."""
    mutate(frame, owner, merged(owner, dictionary(frame, args, named)), "`update`")
    return Static(None)


# -------------------------------------------------------------------------------------------------------------- objects


def attribute_of_record(frame: Frame, owner: Record, name: str) -> Value:
    """`owner.name`."""
    ctx = frame.ctx
    if not isinstance(owner, Instance):
        return Method(owner, name)
    found = owner.get(name)
    if name == "__dict__":
        return owner.view("attributes")
    if name == "__class__":
        return Static(owner.of)
    if isinstance(static_attribute(class_of(owner.of), name, None), functools.cached_property):
        return _remembered(frame, owner, name, found)
    if stands_for(found, Unread):
        raise ctx.unsupported(f"attribute `{name}` of {owner.of.__name__} is {found.value.what}", found.value.instead)
    if found is not None:
        return found
    if owner.of in KINDS:
        return Method(owner, name)
    missing, own = object(), class_of(owner.of)
    thing = static_attribute(own, name, missing)
    if thing is missing and own is not owner.of:
        raise without(ctx, owner, name)
    if thing is missing:
        raise ctx.unsupported(
            f"{describe(owner)} has no attribute `{name}`",
            "Check the name, or assign it first.",
            why=f"It has {', '.join(owner.keys) or 'none'}.",
        )
    return attribute_of_class(frame, owner, own, name)


def _remembered(frame: Frame, owner: Instance, name: str, found: Value | None) -> Value:
    """What a `cached_property` gives: what the object has under its name, else what the function says, from now on."""
    own = class_of(owner.of)
    if found is not None and not isinstance(found, Optional) and found != _UNREAD:
        return found

    def computed() -> Value:
        made = materialise(frame.ctx, attribute_of_class(frame, latest(frame, owner), own, name))
        known = latest(frame, owner)
        if known.cell is not None and name in known.keys:
            mutate(frame, known, known.with_item(name, made), f"`{name}`")
        return made

    if not isinstance(found, Optional):
        return computed()
    return frame.ctx.either_value(frame, found.is_there, lambda: found.value, computed)


_UNREAD = Static(None)


def unread(kind: type) -> dict[str, Value]:
    """What an object has under the names of the properties that it remembers, before one is read."""
    named = ((name, inspect.getattr_static(kind, name, None)) for name in dir(kind))
    return {name: _UNREAD for name, thing in named if isinstance(thing, functools.cached_property)}


def attribute_of_class(frame: Frame, owner: Value, own: type, name: str) -> Value:
    """`owner.name`, of what its class has."""
    ctx = frame.ctx
    thing = static_attribute(own, name, None)
    match thing:
        case property(fget=getter) | functools.cached_property(func=getter):
            return ctx.call(frame, Static(getter), [owner], {})
        case staticmethod() | classmethod():
            return Static(read_attribute(own, name))
        case functools._lru_cache_wrapper():
            return Static(Partial(Static(under_cache(thing)), (owner,), {}))
    if isinstance(thing, FunctionType) or thing is None or hasattr(type(thing), "__get__"):
        return Method(owner, name)
    return wrap(ctx, thing)


def without(ctx: Context, owner: Instance, name: str) -> errors.AdjitError:
    """The refusal of what an object of a library has in Python, and not here."""
    own = class_of(owner.of)
    public = getattr(own, "KNOWN", tuple(one for one in dir(own) if not one.startswith("_")))
    why = f"Known are {', '.join(public)}."
    return ctx.unsupported(f"`{name}` of {describe(owner)}", "Write the computation out with its attributes.", why)


def attribute_of_jitclass(frame: Frame, owner: Static, name: str) -> Value | None:
    """`owner.name` of an instance of a jitclass from outside, which is held fixed; None of anything else."""
    ctx, known = frame.ctx, members(owner.value)
    if known is None:
        return None
    methods, getters = known
    if name in methods:
        return Static(Partial(Static(methods[name]), (owner,), {}))
    if name in getters:
        return ctx.call(frame, Static(getters[name]), [owner], {})
    if not is_defined(owner.value, name):
        raise ctx.unsupported(f"{type(owner.value).__name__} has no attribute `{name}`", "Check the name.")
    # an array is another object each time that numba is asked for it
    place = (id(owner.value), name)
    if place not in ctx.arrays.record_globals:
        found = read_attribute(owner.value, name)
        ctx.arrays.record_globals[place] = (found, wrap(ctx, found))
    return ctx.arrays.record_globals[place][1]


def set_attribute(frame: Frame, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    ctx = frame.ctx
    if not isinstance(owner, Instance):
        kind = "an object from outside" if isinstance(owner, Static) else describe(owner)
        raise ctx.unsupported(
            f"assignment to an attribute of {kind}",
            "Pass the object as an argument, or return the changed values.",
            why="Objects from outside the function are constants, as in numba.",
        )
    thing = static_attribute(class_of(owner.of), name, None)
    if isinstance(thing, property):
        if thing.fset is None:
            raise ctx.unsupported(
                f"assignment to `{name}`, which is read-only", "Assign the attributes that it is computed from."
            )
        ctx.call(frame, Static(thing.fset), [owner, value], {})
        return
    params = read_attribute(owner.of, "__dataclass_params__", None)
    if params is not None and params.frozen:
        raise ctx.unsupported(f"assignment to `{name}` of a frozen dataclass", "Use dataclasses.replace.")
    mutate(frame, owner, owner.with_item(name, materialise(ctx, value)), "assignment to an attribute")


EXCEPTION_MADE = "__init__"  # of Python's own exceptions


def call_method(frame: Frame, owner: Record, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`owner.name(*args, **named)`."""
    ctx = frame.ctx
    if name == EXCEPTION_MADE:
        mutate(frame, owner, owner.with_item("args", TupleValue(tuple(args))), "`__init__`")
        return Static(None)
    if isinstance(owner, Instance):
        if owner.of in KINDS:
            return drawn(frame, owner, name, args, named)
        own = class_of(owner.of)
        method = static_attribute(own, name, None)
        if not isinstance(method, FunctionType) and own is not owner.of:
            raise without(ctx, owner, name)
        if not isinstance(method, FunctionType):
            raise ctx.unsupported(
                f"{describe(owner)} without a method `{name}`", "Define it, or write its operations out."
            )
        return ctx.call(frame, Static(method), [owner, *args], named)
    if name == "update":
        return _updated(frame, owner, args, named)  # type: ignore[arg-type]
    most, handler = _METHODS.get(name, (0, None))
    if handler is None or named or len(args) > most:
        raise wrong_method(ctx, owner, dict, name, handler is not None)
    return handler(frame, owner, *args)


def wrong_method(ctx: Context, owner: Value, kind: type, name: str, is_known: bool) -> errors.AdjitError:
    """The refusal of a method that a container does not have, or, `is_known`, of arguments that adjit does not take."""
    if not hasattr(kind, name):
        return ctx.mismatch(f"{describe(owner)} has no method `{name}`", "Check the name.")
    what = f"the method `{name}` of {describe(owner)}"
    return ctx.unsupported(f"{what} with these arguments" if is_known else what, "Write its operations out.")


def _member(ctx: Context, kind: type[Enum], args: Sequence[Value]) -> Value:
    """The member of an enumeration that has a value."""
    if len(args) != 1 or not is_constant(args[0]):
        raise ctx.unsupported(f"{kind.__name__} of a value that is not constant", "Write the member.")
    return wrap(ctx, execute(ctx, "", "Check the value.", kind, [constant(args[0])]))


def check_class(ctx: Context, kind: type) -> None:
    """Refuses a class whose objects do not have attributes, or are not made, as Python's own do."""
    own = own_of_named_tuple(kind) if issubclass(kind, tuple) else own_of_object(kind)
    if own is not None:
        what = own if " " in own else f"`{own}`"
        raise ctx.unsupported(
            f"the class {kind.__name__}, which has its own {what}",
            "Use a plain class, a dataclass or a named tuple.",
            why="adjit does not call it where Python would.",
        )


def class_of_object(value: Value) -> type | None:
    """The class of an object or a named tuple, as far as it is the user's; None of any other value."""
    if isinstance(value, Instance):
        return class_of(value.of)
    fields = value.fields if isinstance(value, TupleValue) else ()
    return fields.of if isinstance(fields, Fields) else None


def method_of(value: Value, name: str) -> FunctionType | None:
    """A method that the class of a value has, of the user's, or None."""
    of = class_of_object(value)
    found = None if of is None else static_attribute(of, name, None)
    is_own = isinstance(found, FunctionType) and not (isinstance(value, TupleValue) and name in _OF_NAMED_TUPLES)
    return found if is_own else None


def fields_compared(value: Value, method: FunctionType) -> TupleValue | None:
    """What a comparison compares that `dataclass` wrote; None of any other."""
    if not isinstance(value, Instance) or method.__code__.co_filename != "<string>":
        return None
    names = [field.name for field in dataclasses.fields(value.of) if field.compare]
    return TupleValue(tuple(value.items[value.keys.index(name)] for name in names if name in value.keys))


_OF_NAMED_TUPLES = ("_replace", "_asdict", "_make", "__repr__", "__getnewargs__", "__new__", "__replace__")


def constructed(frame: Frame, kind: type, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`kind(*args, **named)`, of a class of the user's."""
    ctx = frame.ctx
    if issubclass(kind, Enum):
        return _member(ctx, kind, args)
    check_class(ctx, kind)
    if kind is SimpleNamespace:
        known = dictionary(frame, args, named)
        return dereference(frame.env, as_reference(frame, Instance(known.keys, known.items, of=kind)))
    if static_attribute(kind, "__new__") is not static_attribute(object, "__new__"):
        raise ctx.unsupported(
            f"a call of the class {kind.__name__}, which has its own `__new__`",
            "Use a plain class, a dataclass or a named tuple.",
        )
    initial = static_attribute(kind, "__init__", None)
    if dataclasses.is_dataclass(kind) and _is_generated(kind):
        made, handed_on = _of_dataclass(frame, kind, args, named)
        cell = as_reference(frame, made)
        after = static_attribute(kind, "__post_init__", None)
        if isinstance(after, FunctionType):
            ctx.call(frame, Static(after), [dereference(frame.env, cell), *handed_on], {})
        return dereference(frame.env, cell)
    remembered = unread(kind)
    cell = as_reference(frame, Instance(tuple(remembered), tuple(remembered.values()), of=kind))
    if isinstance(initial, FunctionType):
        ctx.call(frame, Static(initial), [dereference(frame.env, cell), *args], named)
    elif args or named:
        raise ctx.fail(errors.WrongCall, f"{kind.__name__} takes no arguments", instead="Leave them out.")
    return dereference(frame.env, cell)


def _is_generated(kind: type) -> bool:
    """Whether the constructor is the one that `dataclass` writes, for this class."""
    params = read_attribute(kind, "__dataclass_params__", None)
    initial = vars(kind).get("__init__")
    return params is not None and params.init and (initial is None or initial.__code__.co_filename == "<string>")


def _of_dataclass(
    frame: Frame, kind: type, args: Sequence[Value], named: Mapping[str, Value]
) -> tuple[Instance, list[Value]]:
    """An object of a dataclass, and what its constructor only hands on to `__post_init__`."""
    ctx = frame.ctx
    fields = dataclasses.fields(kind)
    missing = dataclasses.MISSING
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not missing}
    defaults = {f.name: f.default for f in fields if f.name in factories or f.default is not missing}
    parameters = inspect.signature(kind).parameters
    handed_on = [name for name in parameters if name not in {f.name for f in fields}]
    given = {n: parameters[n].default for n in handed_on if parameters[n].default is not inspect.Parameter.empty}
    expected = by_name(list(parameters), defaults | given)
    values = arguments(ctx, kind.__name__, expected, args, named)
    items: dict[str, Value] = unread(kind)
    for field in fields:
        value = values.get(field.name, wrap(ctx, field.default))
        if value == Static(missing) and field.name in factories:
            value = ctx.call(frame, Static(factories[field.name]), [], {})
        if value != Static(missing):
            items[field.name] = materialise(ctx, value)
    made = Instance(tuple(items), tuple(items.values()), of=stood_for(kind))
    return made, [values[name] for name in handed_on]


def replaced(frame: Frame, owner: Value, named: Mapping[str, Value]) -> Value:
    """`dataclasses.replace(owner, **named)`."""
    if not isinstance(owner, Instance):
        raise frame.ctx.mismatch(f"dataclasses.replace of {describe(owner)}", "Give it an object of a dataclass.")
    known = {f.name for f in dataclasses.fields(owner.of) if f.init}
    pairs = {n: v for n, v in zip(owner.keys, owner.items, strict=True) if n in known}
    return constructed(frame, owner.of, (), {**pairs, **named})


# -------------------------------------------------------------------------------------------------------------- parents


@dataclasses.dataclass(frozen=True, eq=False)
class Parent:
    """What `super()` gives: an object, as the classes see it that come after one in its order of them."""

    kind: type
    owner: Instance


def parent(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """`super()` in a method, `super(kind, owner)`."""
    ctx = frame.ctx
    if not args:
        # the class is in the closure of each function that names `super`, and its first argument is the object
        first = next(iter(frame.source.parameters.parameters), "")
        kind, owner = frame.source.closure.get("__class__"), frame.lookup(first)
    else:
        kind, owner = object_of(args[0]), args[-1]
    if named or len(args) not in (0, 2) or not isinstance(kind, type) or not isinstance(owner, Instance):
        raise ctx.unsupported("super of these", "Call it without arguments, in a method of a class.")
    return Static(Parent(kind, owner))


def attribute_of_parent(frame: Frame, above: Parent, name: str) -> Value:
    """`super().name`."""
    ctx, owner = frame.ctx, latest(frame, above.owner)
    order = owner.of.__mro__
    after = order[order.index(above.kind) + 1 :] if above.kind in order else ()
    found = inherited_attribute(owner.of, after, name)
    if found is object.__init__:
        return Static(_does_nothing)
    if isinstance(found, type(object.__init__)) and issubclass(owner.of, BaseException):
        return Method(owner, EXCEPTION_MADE)
    if isinstance(found, property):
        return ctx.call(frame, Static(found.fget), [owner], {})
    if isinstance(found, staticmethod | classmethod):
        return Static(found.__get__(None, owner.of))
    if isinstance(found, FunctionType):
        return Static(Partial(Static(found), (owner,), {}))
    if found is None:
        raise ctx.unsupported(f"{describe(owner)} has no `{name}` above {above.kind.__name__}", "Check the name.")
    return wrap(ctx, found)


def _does_nothing() -> None:
    """`object.__init__`."""


# ------------------------------------------------------------------------------------------------ functions with values


@dataclasses.dataclass(frozen=True, eq=False)
class Partial:
    """A function with some of its arguments, as `functools.partial` makes it."""

    function: Value
    args: tuple[Value, ...]
    named: Mapping[str, Value]


def partial(frame: Frame, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`functools.partial(function, *args, **named)`."""
    ctx = frame.ctx
    function, *rest = args
    made = tuple(as_reference(frame, materialise(ctx, a)) for a in rest)
    ctx.loop.holds_values |= bool(ctx.loop.around)
    return Static(Partial(function, made, {n: as_reference(frame, materialise(ctx, v)) for n, v in named.items()}))


def called_object(frame: Frame, thing: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of what holds values and a function: a partial, a bound method, an object with `__call__`; else None."""
    ctx = frame.ctx
    if isinstance(thing, Partial):
        first = [latest(frame, dereference(frame.env, a)) for a in thing.args]
        given = {n: latest(frame, dereference(frame.env, v)) for n, v in thing.named.items()}
        return ctx.call(frame, thing.function, [*first, *args], {**given, **named})
    if isinstance(thing, operator.itemgetter | operator.attrgetter):
        made = thing.__reduce__()
        assert isinstance(made, tuple)
        getter = ctx.call(frame, Static(made[0]), [wrap(ctx, one) for one in made[1]], {})
        return ctx.call(frame, getter, args, named)
    held_arguments = held_by(thing)
    if held_arguments is None:
        return None
    function, before, more = held_arguments
    first, given = [wrap(ctx, a) for a in before], {n: wrap(ctx, v) for n, v in more.items()}
    return ctx.call(frame, Static(function), [*first, *args], {**given, **named})


# ------------------------------------------------------------------------------------------------------------ questions


def is_instance(frame: Frame, value: Value, kinds: Value) -> Value:
    """`isinstance(value, kinds)`, which the types answer."""
    given = items_or_one(kinds)
    asked = tuple(one.value for one in given if stands_for(one, type))
    if len(asked) < len(given):
        raise frame.ctx.unsupported("isinstance without a class", "Give a class, or a tuple of classes.")
    may_be = classes_of(value)
    # to a rule numbers are Python's
    may_be = may_be[:1] if frame.is_rule else may_be
    answers = {any(issubclass(own, kind) for kind in asked) for own in may_be}
    if len(answers) != 1:
        raise frame.ctx.unsupported(
            f"isinstance of {describe(value)} with these classes",
            "Decide it before the call.",
            why="Its class in Python is not known when the code is compiled.",
        )
    return ir.boolean(answers.pop())


def class_of_value(frame: Frame, value: Value) -> Value:
    """`type(value)`, `value.__class__`."""
    kinds = classes_of(value)
    if len(kinds) != 1:
        raise frame.ctx.unsupported(
            f"the class of {describe(value)}",
            "Ask with isinstance.",
            why="It is not known at compile time whether the number is NumPy's or Python's.",
        )
    return Static(kinds[0])


def variables_of(frame: Frame, value: Value) -> Value:
    """`vars(value)`: the attributes of an object, by their names."""
    if isinstance(value, Instance):
        return value.view("attributes")
    if isinstance(value, Static) and hasattr(value.value, "__dict__"):
        contents_read(vars(value.value))
        memory_read(value.value)
        return wrap(frame.ctx, dict(vars(value.value)))
    raise frame.ctx.mismatch(f"vars of {describe(value)}", "Give it an object with attributes.")


def as_plain(whole: type) -> Callable[[Frame, Value], Value]:
    """dataclasses.asdict and astuple: an object of a dataclass, and those in it, as dictionaries or tuples."""

    def plain(frame: Frame, value: Value) -> Value:
        if isinstance(value, Instance) and dataclasses.is_dataclass(value.of):
            names = [field.name for field in dataclasses.fields(value.of)]
            items = tuple(plain(frame, value.items[value.keys.index(name)]) for name in names)
            return KnownDict(tuple(names), items) if whole is dict else TupleValue(items)
        if isinstance(value, TupleValue | KnownDict):
            return dataclasses.replace(value, items=tuple(plain(frame, one) for one in value.items), cell=None)
        # what is no dataclass is copied, as copy.deepcopy does
        return frame.ctx.call(frame, Static(copy.deepcopy), [value], {})

    def handle(frame: Frame, value: Value) -> Value:
        if isinstance(value, Instance) and dataclasses.is_dataclass(value.of):
            return plain(frame, value)
        raise frame.ctx.mismatch(f"{describe(value)} instead of a dataclass", "Give an object of a dataclass.")

    return handle


def classes_of(value: Value) -> tuple[type, ...]:
    """The classes of which a value may be in Python."""
    if isinstance(value, Kind):
        return tuple(value.classes)
    if is_array(value):
        return (np.ndarray,)
    if isinstance(value, ir.Const):
        return (type(value.value),)
    if isinstance(value.type, types.Boolean):
        return (bool, np.bool_)
    if is_integer(value.type):
        return (int, np.int64)
    return (float, np.float64) if value.type == types.float64 else (np.float32,)


def get_attribute(frame: Frame, owner: Value, name: Value, default: Value | None = None) -> Value:
    """`getattr(owner, name, default)`."""
    if not stands_for(name, str):
        raise frame.ctx.unsupported("getattr with a name that is not constant", "Write the name.")
    if default is None:
        return frame.ctx.attribute(frame, owner, name.value)
    is_there = _may_have(frame, owner, name.value)
    found = frame.ctx.attribute(frame, owner, name.value) if is_there is not False else default
    if is_there is None and found != default:
        raise _of_either(frame.ctx, owner, name.value)
    return found


def assign_attribute(frame: Frame, owner: Value, name: Value, value: Value) -> Value:
    """`setattr(owner, name, value)`."""
    if not stands_for(name, str):
        raise frame.ctx.unsupported("setattr with a name that is not constant", "Write the name.")
    set_attribute(frame, owner, name.value, value)
    return Static(None)


def delete_attribute(frame: Frame, owner: Value, name: Value) -> Value:
    """`delattr(owner, name)`."""
    if not isinstance(name, Static) or not isinstance(owner, Instance) or name.value not in owner.keys:
        raise frame.ctx.unsupported(f"`del` of this attribute of {describe(owner)}", "Leave it out.")
    mutate(frame, owner, owner.without(name.value), "`del`")
    return Static(None)


def has_attribute(frame: Frame, owner: Value, name: Value) -> Value:
    """`hasattr(owner, name)`."""
    if not stands_for(name, str):
        raise frame.ctx.unsupported("hasattr with a name that is not constant", "Write the name.")
    is_there = _may_have(frame, owner, name.value)
    if is_there is None:
        raise _of_either(frame.ctx, owner, name.value)
    return ir.boolean(is_there)


def _may_have(frame: Frame, owner: Value, name: str) -> bool | None:
    """Whether a value has that attribute; None of a number that has it if it is NumPy's; in rules they are Python's."""
    kinds = classes_of(owner)
    answers = {hasattr(kind, name) for kind in (kinds[:1] if frame.is_rule else kinds)}
    return has(owner, name) if len(answers) < 2 else None


def _of_either(ctx: Context, owner: Value, name: str) -> errors.AdjitError:
    return ctx.unsupported(
        f"the test whether {describe(owner)} has the attribute `{name}`",
        "Write `np.ndim(x) > 0` or `isinstance(x, np.ndarray)`, or decide it before the call.",
        why="It is not known at compile time whether the number is NumPy's or Python's.",
    )


def has(owner: Value, name: str) -> bool:
    """Whether a value has that attribute."""
    if isinstance(owner, Instance):
        return name in owner.keys or is_defined(class_of(owner.of), name)
    if isinstance(owner, Static):
        return is_defined(owner.value, name)
    is_field = isinstance(owner, TupleValue) and name in owner.fields
    return is_field or any(is_defined(own, name) for own in classes_of(owner))
