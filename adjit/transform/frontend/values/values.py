"""What an expression of the user's program stands for while it is elaborated.

A value is an operand of the IR (a number or an array), or one of the static or lazy kinds below, which never reach the
IR. `leaves_of` and `rebuild` take a value apart into operands and put it together again, for loops, branches and
results. `structure` is a value with holes in place of its operands.

    (x, (y, 2))    TupleValue((%x, TupleValue((%y, 2))))
    a * b + 1      Lazy: the scalar body of an elementwise expression, written as a loop where it is stored or summed
    x + 1j         Complex(%x, 1.0), a pair of numbers; an array of complex numbers is a pair of arrays
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import ModuleType
from typing import Any, ClassVar, Self, TypeGuard

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import complex_of, const

Index = tuple[ir.Operand, ...]


class Kind:
    """What all values are but the operands of the IR.

    what: what it is, for a message. grows: whether it is in memory that grows, with numbers of one type.
    """

    what: ClassVar[str] = "a number"
    grows: ClassVar[bool] = False
    members: Any = ()

    def describe(self) -> str:
        return self.what

    def length(self) -> ir.Operand | None:
        """How many items it has, if it is a tuple, a list, a dictionary or the like."""
        return None

    def structure(self) -> Structure:
        return self

    def with_members(self, *members: Any) -> Self:
        return self

    def mapped(self, change: Callable[[Any], Any]) -> Self:
        """The same of what `change` makes of each member."""
        members = tuple(map(change, self.members))
        return self if ir.same(members, self.members) else self.with_members(*members)


@dataclass(frozen=True)
class Static(Kind):
    """A Python object known at compile time: a function, a module, None, a string, a dtype."""

    value: Any

    def describe(self) -> str:
        return _described_object(self.value)


class Followed:
    """A function that is known by its text and the variables that it sees."""


class Composite(Kind):
    """A value that is made of others, its members: what is in the fields `made_of`, of which a tuple has several."""

    made_of: ClassVar[Sequence[str]] = ()

    def __init_subclass__(cls, made_of: str = "") -> None:
        cls.made_of = made_of.split()

    @property
    def members(self) -> tuple[Any, ...]:
        held = [getattr(self, name) for name in self.made_of]
        return tuple(p for one in held for p in (one if type(one) is tuple else () if one is None else (one,)))

    def with_members(self, *members: Any) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        rest, several = iter(members), len(members) - len(self.made_of) + 1
        for name in self.made_of:
            if type(known := getattr(self, name)) is tuple:
                made.__dict__[name] = tuple(itertools.islice(rest, several))
            elif known is not None:
                made.__dict__[name] = next(rest)
        return made

    def structure(self) -> Self:
        return self.with_members(*map(structure, self.members))


class Container(Composite):
    """A tuple, list, dictionary or object; cell: what names know it by, if any does."""

    cell: Ref | ItemRef | View | Copied | None

    def known_by(self, cell: Ref | ItemRef | View | Copied | None) -> Self:
        return self if self.cell is cell else replace(self, cell=cell)  # type: ignore[type-var]

    def length(self) -> ir.Operand:
        return ir.integer(len(self.members))

    def structure(self) -> Self:
        return super().structure().known_by(None)


@dataclass(frozen=True, eq=False)
class Hole(ir.Const, Kind):
    """What stands for a number or an array, of any type, in the structure of a value; axes: how many it has there."""

    value: None = None
    type: types.Type = types.none
    axes: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hole)

    def __hash__(self) -> int:
        return hash(Hole)


LEAF = Hole()


@dataclass(frozen=True)
class RuntimeGenerator(Static):
    """A generator of random numbers that is an argument, so that it draws when the program runs."""

    generator: ir.Var

    def describe(self) -> str:
        return "a generator of random numbers"


@dataclass(frozen=True, eq=False)
class StringArray:
    """An array of texts, in a `Static`."""

    array: Any


class Fields(tuple[str, ...]):
    """The names that a named tuple has for its items; `of`: its class."""

    of: type

    def __new__(cls, of: type) -> Fields:
        made = super().__new__(cls, of._fields)  # type: ignore[attr-defined]
        made.of = of
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self.of is other.of

    def __hash__(self) -> int:
        return hash(self.of)


def fields_of(kind: Any) -> tuple[str, ...]:
    """The fields of a class of named tuples; none of any other."""
    return Fields(kind) if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields") else ()


@dataclass(frozen=True)
class TupleValue(Container, made_of="items"):
    """A tuple (or, with `is_list`, a list) of values; `fields`: the names that a named one has for them."""

    items: tuple[Value, ...]
    is_list: bool = False
    fields: tuple[str, ...] = ()
    cell: Ref | ItemRef | View | Copied | None = None

    def describe(self) -> str:
        if self.fields:
            return f"a named tuple of {', '.join(self.fields)}"
        return f"{'a list' if self.is_list else 'a tuple'} of {len(self.items)}"


@dataclass(frozen=True)
class Record(Container, made_of="items"):
    """A dictionary, or an object of the class `of`: what it has under each key, or as the attribute of each name."""

    keys: tuple[Any, ...]
    items: tuple[Value, ...]
    of: type | None = None
    cell: Ref | ItemRef | View | Copied | None = None

    def describe(self) -> str:
        return "a dictionary" if self.of is None else f"an object of the class {self.of.__name__}"

    def get(self, key: Any) -> Value | None:
        return self.items[self.keys.index(key)] if key in self.keys else None

    def with_item(self, key: Any, value: Value) -> Record:
        if key not in self.keys:
            return replace(self, keys=(*self.keys, key), items=(*self.items, value))
        place = self.keys.index(key)
        return replace(self, items=(*self.items[:place], value, *self.items[place + 1 :]))

    def without(self, key: Any) -> Record:
        place = self.keys.index(key)
        keys = self.keys[:place] + self.keys[place + 1 :]
        return replace(self, keys=keys, items=self.items[:place] + self.items[place + 1 :])


@dataclass(frozen=True)
class Ref(Kind):
    """A list, a dictionary or an object as the variables hold it that name it: what is in it now, the frame knows under
    `key`."""

    number: int

    @property
    def key(self) -> str:
        return f"{CELL}{self.number}"


CELL = "%list"


@dataclass(frozen=True)
class ClosureCell(Kind):
    """A variable that functions defined inside assign, as all see it that call these: its value stands under `key`."""

    number: int
    name: str

    @property
    def key(self) -> str:
        return f"{SHARED}{self.number}:{self.name}"


SHARED = "%shared"
COMMON = (CELL, SHARED)  # how keys begin under which all functions under way find the same


@dataclass(frozen=True)
class ItemRef(Composite, made_of="index"):
    """A list or an object that is an item of a list that grows, or part of one, as the variables hold it that name it.

    cell: of the list, None for one that has no name; index: of the item, from 0 on; path: which part of the item it is,
    as the places of parts in parts.
    """

    cell: Ref | None
    index: ir.Operand
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Copied:
    """What is known by no name: a list or an object as a copy of what is in one of several, chosen at run time."""


COPIED = Copied()


@dataclass(frozen=True)
class View(Kind):
    """`d.keys()`, `d.values()` or `d.items()` as a variable holds it: what is in the dictionary now; or, as
    'attributes', `vars(obj)`."""

    cell: Ref | ItemRef
    part: str


@dataclass(frozen=True)
class RuntimeDict(Container, made_of="items limit"):
    """A dictionary, a set or a queue whose members are found at run time: the list of its pairs, members or items.

    kind: 'dict', 'set' or 'deque'; or 'iterator' of a list, with the place that it has come to as its limit. default:
    what makes the value of a key that a dictionary lacks; limit: how many items a queue takes.
    """

    grows = True

    kind: str
    items: List
    default: Static | None = None
    limit: ir.Operand | None = None
    cell: Ref | ItemRef | Copied | None = None

    def length(self) -> ir.Operand:
        return self.items.length()

    def describe(self) -> str:
        return {"dict": "a dictionary", "set": "a set", "deque": "a deque", "iterator": "an iterator"}[self.kind]


@dataclass(frozen=True)
class GrowableList(Container, made_of="buffers count"):
    """A list whose length is known at run time only: of items that are put together like `item`, of which each leaf has
    an array, with one more axis in front, of which the first `count` belong to the list.

    shares: the lists whose items these are in Python, of which there are copies here.
    """

    what, grows = "a list", True

    item: Structure
    buffers: tuple[ir.Operand, ...]
    count: ir.Operand
    cell: Ref | ItemRef | View | Copied | None = None
    shares: frozenset[Ref] = frozenset()

    def structure(self) -> GrowableList:
        return list_of(rebuild(self.item, (Hole(axes=ndim(buffer) - 1) for buffer in self.buffers)))

    def length(self) -> ir.Operand:
        return self.count

    def columns(self) -> list[GrowableList]:
        """The list of each part of all items."""
        rest = iter(self.buffers)
        return [GrowableList(p, tuple(itertools.islice(rest, leaf_count(p))), self.count) for p in self.item.members]


@dataclass(frozen=True)
class Row(Composite, made_of="numbers"):
    """A list of numbers that is an item of a list, in all of which there are as many."""

    numbers: ir.Operand


@dataclass(frozen=True)
class Ragged(Composite, made_of="array extents"):
    """An array, or a list of numbers, that is an item of a list and has extents of its own."""

    array: ir.Operand
    extents: tuple[ir.Operand, ...]
    is_list: bool


@dataclass(frozen=True, eq=False)
class Lazy(Kind):
    """An array expression that is not computed yet: its element at an index, and the arrays that reading one reads.

    view_by: the function by which NumPy takes this as a read-only view of the sources, "" where it computes an array.
    has_gaps: it is a part of an array of complex numbers, so what wants it contiguous copies it in NumPy.
    is_dear: an element takes a division, a root or the like, so it is worked out once and not for each row.
    """

    what = "an array"

    shape: tuple[ir.Operand, ...]
    dtype: types.Type
    element: Callable[[Index], Number]
    sources: tuple[ir.Operand, ...]
    # sources that are read at an index other than the element's own: such an expression cannot be stored over them
    moved: tuple[ir.Operand, ...] = ()
    view_by: str = ""
    has_gaps: bool = False
    is_dear: bool = False
    # arrays besides the sources whose order NumPy's result takes; and whether that is in any order, whatever theirs is
    like: tuple[ir.Operand, ...] = ()
    is_free: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Complex(Composite, made_of="real imag"):
    """A complex number, or an array of them, as its real and imaginary part: two numbers or two arrays, of one type."""

    what = "a complex number"

    real: ir.Operand
    imag: ir.Operand


Number = ir.Operand | Complex
List = TupleValue | GrowableList


@dataclass(frozen=True)
class Flat(Kind):
    """`x.flat`, by the vector of all elements: its slices are copies, while stores into it reach `x`."""

    array: Number


@dataclass(frozen=True)
class Method(Kind):
    """`value.name` before it is called."""

    owner: Value
    name: str

    def describe(self) -> str:
        return f"the method `{self.name}`"


@dataclass(frozen=True)
class Range(Kind):
    what = "a range"

    start: ir.Operand
    stop: ir.Operand
    step: ir.Operand
    snapshots: int | None = None  # for the reverse sweep, where the user asks for some
    parallel: bool = False  # written prange


ENDLESS = ir.integer(2**62)  # where a range stops that does not end


@dataclass(frozen=True)
class Zip(Kind):
    """enumerate and zip: several things iterated over together; None stands for the counter of enumerate."""

    what = "a result of enumerate or zip"

    parts: tuple[Value | None, ...]
    first: ir.Operand | None = None


@dataclass(frozen=True)
class NdIndex(Kind):
    """np.ndindex, np.ndenumerate and np.nditer: the places of an array of this shape, in C order.

    Each gives its index, the elements there of these arrays, or, of ndenumerate, both.
    """

    what = "a result of np.ndindex, np.ndenumerate or np.nditer"

    shape: tuple[ir.Operand, ...]
    arrays: tuple[Value, ...] = ()
    has_index: bool = True


@dataclass(frozen=True)
class SliceValue(Kind):
    """`start:stop:step` in a subscript."""

    what = "a slice"

    span: ir.Span


@dataclass(frozen=True)
class Union(Composite, made_of="which options"):
    """One of several functions, texts, objects, tuples, ..., which one is known at run time only.

    which: of two, whether it is the first; of more, its number. What is in an option is undefined where it is another.
    """

    options: tuple[Value, ...]
    which: ir.Operand

    def describe(self) -> str:
        return f"a choice at run time between {' and '.join(map(describe, self.options))}"


@dataclass(frozen=True)
class Optional(Composite, made_of="is_there value"):
    """None, or a value, which of the two is known at run time only."""

    what = "a value that may be None at run time"

    is_there: ir.Operand
    value: Value


@dataclass(frozen=True)
class Poison(Kind):
    """A name that holds things of different kinds, depending on the path taken, or nothing. Reading it is an error.

    is_of_trips: of one kind when a loop starts, and of another one after a trip. text: a text that is made as the
    program runs, on the path on which it was made (of `output.py`).
    """

    what = "a value whose type depends on the path taken"

    why: str
    is_deleted: bool = False
    is_of_trips: bool = False
    text: Any = None

    def structure(self) -> Poison:
        return self.elsewhere()

    def elsewhere(self) -> Poison:
        """What is known of it where paths meet."""
        return self if self.text is None else replace(self, text=None)


Value = (
    Number
    | Static
    | Union
    | Optional
    | TupleValue
    | GrowableList
    | Row
    | Ragged
    | Record
    | RuntimeDict
    | Ref
    | ClosureCell
    | ItemRef
    | View
    | Lazy
    | Flat
    | Method
    | Range
    | Zip
    | NdIndex
    | SliceValue
    | Poison
)
Structure = Any  # how a value is put together: the value itself, with a `Hole` for each number and array


@dataclass(frozen=True, eq=False)
class Stream:
    """What gives its items once, one after the other: what a call of a generator makes, of map, of zip.

    run: how a generator is run through. make: of anything else, all that it runs over, worked out where that begins.
    ends: whether all items of a generator may be made at once, as it runs over lists. nests: whether it makes them in
    nested loops, in which a list that grows would move. at: its item at a place, of one that `next` may take by itself.
    spent: the cell that says whether it was run through, or how many `next` has taken, of one that a variable holds.
    through: the lists that it looks at as it is run through.
    """

    __name__: str
    run: Callable[..., None] | None = None
    make: Callable[..., Value] | None = None
    ends: bool = False
    nests: bool = False
    at: Callable[[ir.Operand], Value] | None = None
    spent: Ref | None = None
    through: frozenset[Ref | ItemRef] = frozenset()


def as_stream(value: Value) -> Stream | None:
    return value.value if stands_for(value, Stream) else None


AWAY = Poison("A loop over a generator assigns it while the generator reads it.")
MADE_TEXT = Poison("It is a string that is only known at run time.")
# what is said of such a string that goes elsewhere
WHERE_TEXTS_GO = "Write it in the raise, assert, print, warning or log call, or remove it."
MADE_BEFORE = Poison("It is a list of an earlier iteration of the loop.")


def dereference(env: Mapping[str, Value], value: Value) -> Value:
    """A value with what is in its lists now, but for items of lists that grow, which are read from memory."""
    if isinstance(value, Ref):
        state = env.get(value.key, MADE_BEFORE)
        return dereference(env, state).known_by(value) if isinstance(state, Container) else state  # type: ignore[union-attr]
    if isinstance(value, View) and isinstance(value.cell, Ref):
        return view_of(dereference(env, value.cell), value.part)
    if isinstance(value, RuntimeDict):
        whole = dereference(env, value.items)
        return replace(value, items=whole) if isinstance(whole, List) else value
    return value if isinstance(value, ir.Operand) else value.mapped(lambda part: dereference(env, part))


def open_reference(env: Mapping[str, Value], value: Value) -> Value:
    """A list of known length or an object with what is in it now, its own lists and objects by reference."""
    if not isinstance(value, Ref):
        return value
    state = env.get(value.key)
    return state.known_by(value) if isinstance(state, TupleValue | Record) else value


def view_of(value: Value, part: str) -> Value:
    """The list of the keys, the values or the items of a dictionary, or the dictionary of an object's attributes."""
    if part == "attributes":
        assert isinstance(value, Record)
        cell = View(value.cell, part) if isinstance(value.cell, Ref | ItemRef) else value.cell
        return replace(value, of=None, cell=cell)
    if isinstance(value, Record) and value.of is None:
        value = as_table(value)
    if not isinstance(value, RuntimeDict):
        return value
    cell = View(value.cell, part) if isinstance(value.cell, Ref | ItemRef) else None
    if isinstance(value.items, GrowableList):
        whole = value.items if part == "items" else value.items.columns()[part == "values"]
        return replace(whole, cell=cell)
    if part == "items":
        return TupleValue(value.items.items, cell=cell)
    pairs: Any = value.items.items
    return TupleValue(tuple(pair.items[part == "values"] for pair in pairs), cell=cell)


def unordered(value: Value) -> Value:
    """The members of a set, for what does not ask for their order; anything else as it is."""
    return replace(value.items, cell=None) if isinstance(value, RuntimeDict) and value.kind == "set" else value


def pairs_of(value: Record) -> TupleValue:
    """The keys of a dictionary, with what it has under them."""
    pairs = zip(map(key_value, value.keys), value.items, strict=True)
    return TupleValue(tuple(map(TupleValue, pairs)), is_list=True)


def as_table(value: Value) -> RuntimeDict:
    """A dictionary of constant keys as one to which others may come."""
    if isinstance(value, Record):
        return RuntimeDict("dict", pairs_of(value), cell=None if isinstance(value.cell, View) else value.cell)
    assert isinstance(value, RuntimeDict)
    return value


def key_value(key: Any) -> Value:
    """The value that stands for a constant key."""
    if isinstance(key, tuple):
        return TupleValue(tuple(map(key_value, key)), fields=fields_of(type(key)))
    return const(key) if isinstance(key, bool | int | float) else Static(key)


def is_mutable(value: Value) -> TypeGuard[TupleValue | GrowableList | Record | RuntimeDict]:
    """Whether it is a list, a dictionary or an object, of which all who have it see what becomes of it."""
    return is_list(value) or isinstance(value, Record | RuntimeDict)


def is_list(value: Value) -> TypeGuard[List]:
    return isinstance(value, GrowableList) or (isinstance(value, TupleValue) and value.is_list)


def is_tuple(value: Value) -> TypeGuard[TupleValue]:
    return isinstance(value, TupleValue) and not value.is_list


def stands_for(value: Value | None, of: Any) -> TypeGuard[Static]:
    """Whether it is an object of this class, which is known."""
    return isinstance(value, Static) and isinstance(value.value, of)


def is_array(value: Value) -> bool:
    """An array or an array expression."""
    if isinstance(value, ir.Var | ir.Const | Complex):
        return isinstance(operands_in(value)[0].type, types.Array)
    return isinstance(value, Lazy)


def is_number(value: Value) -> TypeGuard[ir.Operand]:
    """A real number."""
    return isinstance(value, ir.Var | ir.Const) and not isinstance(value.type, types.Array)


def is_scalar(value: Value) -> TypeGuard[Number]:
    """A number, real or complex."""
    return isinstance(value, ir.Var | ir.Const | Complex) and not is_array(value)


def is_numeric(value: Value) -> bool:
    """A number or an array, real or complex."""
    return isinstance(value, ir.Var | ir.Const | Lazy | Complex)


def is_complex(value: Value) -> bool:
    """A complex number, or an array of them."""
    return isinstance(value, Complex) or (isinstance(value, Lazy) and isinstance(value.dtype, types.Complex))


def operands_in(value: Number) -> tuple[ir.Operand, ...]:
    """The operand, or the two that a complex value is."""
    return (value.real, value.imag) if isinstance(value, Complex) else (value,)


def dtype(value: Value) -> types.Type:
    if isinstance(value, Lazy):
        return value.dtype
    if isinstance(value, Complex):
        return complex_of(dtype(value.real))
    assert isinstance(value, ir.Var | ir.Const)
    return value.type.dtype if isinstance(value.type, types.Array) else value.type


def ndim(value: Value) -> int:
    if isinstance(value, Lazy):
        return value.ndim
    assert isinstance(value, ir.Var | ir.Const | Complex)
    type_ = operands_in(value)[0].type
    return type_.ndim if isinstance(type_, types.Array) else 0


def describe(value: Value) -> str:
    """What a value is, for a message."""
    return value.describe() if isinstance(value, Kind) else "an array" if is_array(value) else "a number"


def _described_object(thing: Any) -> str:
    if thing is None or thing is Ellipsis:
        return "None" if thing is None else "`...`"
    if isinstance(thing, str | StringArray):
        return "a string" if isinstance(thing, str) else "an array of strings"
    if isinstance(thing, Stream):
        return f"an iterator, of {thing.__name__}"
    name = getattr(thing, "__name__", None) or getattr(thing, "name", None)
    if isinstance(thing, ModuleType):
        return f"the module {name}"
    if isinstance(thing, type):
        return f"the class {name}"
    return f"the function {name}" if isinstance(name, str) else f"an object of type {type(thing).__name__}"


def structure(value: Value) -> Structure:
    return value.structure() if isinstance(value, Kind) else Hole(axes=ndim(value))


def list_of(item: Structure) -> GrowableList:
    """How a list of such items is put together."""
    return GrowableList(item, tuple(leaves_of(item)), LEAF)


def items_in(shape: Structure) -> Sequence[Structure]:
    """How the items of a list are put together: each of them, or all."""
    return (shape.item,) if isinstance(shape, GrowableList) else shape.members


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
        return own if own == ragged(given) else None
    if _are_alike(left, right):
        return _joint_items(left, right)
    if kinds <= {Record, RuntimeDict}:
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
    if {type(left), type(right)} == {TupleValue}:
        return left.is_list == right.is_list and len(left.items) == len(right.items)
    return {type(left), type(right)} == {Record} and left.with_members() == right.with_members()


def _joint_items(left: Structure, right: Structure, chooses: bool = False) -> Structure | None:
    """That of tuples, lists or objects with as many parts; with `chooses`, some of these may be one of several."""
    are_named_alike = _are_alike(left, right) and left.with_members() == right.with_members()
    if chooses and not are_named_alike:
        return None
    items = [joint(a, b, chooses) for a, b in zip(left.items, right.items, strict=True)]
    own = left if are_named_alike else TupleValue((), left.is_list)
    return None if None in items else own.with_members(*items)


MOST_OPTIONS = 12  # of values that hold numbers and arrays


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
    if type(shape) in (TupleValue, Record, GrowableList, RuntimeDict):
        return all(is_put_together(part) or _is_option(part) for part in shape.members)
    return isinstance(shape, Ref) or may_be_chosen(shape)


def is_put_together(shape: Structure) -> bool:
    """Whether it has numbers or arrays, or is not known: no function, text, reference or the like."""
    return isinstance(shape, Hole | Composite | Poison)


def may_be_chosen(value: Value) -> bool:
    """Whether it is a function, a text, a member of an enumeration or None."""
    if not isinstance(value, Static):
        return False
    thing = value.value
    return thing is None or isinstance(thing, str | Enum | Followed) or callable(thing)


_NOTHING = Static(None)


def _maybe(*shapes: Structure) -> Structure | None:
    """How None or a value like one of these is put together."""
    one, *others = (shape.value if isinstance(shape, Optional) else shape for shape in shapes)
    found = joint(one, others[0]) if others else one
    return Optional(LEAF, found) if found is not None and _is_item(found) else None


def _as_table(shape: Structure) -> RuntimeDict | None:
    """A dictionary of constant keys as one whose keys are found at run time."""
    if not isinstance(shape, Record) or shape.of is not None:
        return shape if isinstance(shape, RuntimeDict) else None
    keys = (structure(key_value(key)) for key in shape.keys)
    pairs = tuple(map(TupleValue, zip(keys, shape.items, strict=True)))
    return RuntimeDict("dict", TupleValue(pairs, is_list=True))


def ragged(shape: Structure) -> Structure:
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
    return item.with_members(*map(item_apart, item.items)) if isinstance(item, TupleValue | Record) else ragged(item)


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


def leaves_of(value: Value) -> list[ir.Operand]:
    return [value] if isinstance(value, ir.Operand) else [leaf for part in value.members for leaf in leaves_of(part)]


def parts_of(value: Value) -> list[Value]:
    """What is in a tuple and in the tuples in it, in order; of what is no tuple, that."""
    if isinstance(value, RuntimeDict):
        return parts_of(value.items)
    if isinstance(value, Union):
        return [value, *(p for option in value.options if not isinstance(option, Static) for p in parts_of(option))]
    return [p for one in value.items for p in parts_of(one)] if isinstance(value, TupleValue | Record) else [value]


def leaf_count(shape: Structure) -> int:
    """How many numbers and arrays a value is made of."""
    return len(leaves_of(shape))


def rebuild(shape: Structure, operands: Iterable[ir.Operand]) -> Value:
    rest = iter(operands)
    return next(rest) if type(shape) is Hole else shape.with_members(*[rebuild(part, rest) for part in shape.members])


COMPLEX = Complex(LEAF, LEAF)
ROW = Ragged(LEAF, (LEAF,), is_list=True)  # a list of numbers in a list, of a length of its own
