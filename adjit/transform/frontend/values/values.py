"""What an expression of the user's program stands for while it is elaborated.

A value is an operand of the IR (a number or an array), or one of the static or lazy kinds below, which never reach the
IR. `leaves_of` and `rebuild` take a value apart into operands and put it together again, for loops, branches and
results.

    (x, (y, 2))    TupleValue((%x, TupleValue((%y, 2))))
    a * b + 1      Lazy: the scalar body of an elementwise expression, written as a loop where it is stored or summed
    x + 1j         Complex(%x, 1.0), a pair of numbers; an array of complex numbers is a pair of arrays
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import ModuleType
from typing import Any, TypeGuard

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import complex_of, const

Index = tuple[ir.Operand, ...]


@dataclass(frozen=True)
class Static:
    """A Python object known at compile time: a function, a module, None, a string, a dtype."""

    value: Any


class Followed:
    """A function that is known by its text and the variables that it sees."""


@dataclass(frozen=True)
class RuntimeGenerator(Static):
    """A generator of random numbers that is an argument, so that it draws when the program runs."""

    generator: ir.Var


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
class TupleValue:
    """A tuple (or, with `is_list`, a list) of values; `fields`: the names that a named one has for them.

    cell: what names know the list by, if any does.
    """

    items: tuple[Value, ...]
    is_list: bool = False
    fields: tuple[str, ...] = ()
    cell: Ref | ItemRef | View | Copied | None = None


@dataclass(frozen=True)
class Record:
    """A dictionary, or an object of the class `of`: what it has under each key, or as the attribute of each name."""

    keys: tuple[Any, ...]
    items: tuple[Value, ...]
    of: type | None = None
    cell: Ref | ItemRef | View | Copied | None = None

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
class Ref:
    """A list, a dictionary or an object as the variables hold it that name it: what is in it now, the frame knows under
    `key`."""

    number: int

    @property
    def key(self) -> str:
        return f"{CELL}{self.number}"


CELL = "%list"


@dataclass(frozen=True)
class ClosureCell:
    """A variable that functions defined inside assign, as all see it that call these: its value stands under `key`."""

    number: int
    name: str

    @property
    def key(self) -> str:
        return f"{SHARED}{self.number}:{self.name}"


SHARED = "%shared"
COMMON = (CELL, SHARED)  # how keys begin under which all functions under way find the same


@dataclass(frozen=True)
class ItemRef:
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
class View:
    """`d.keys()`, `d.values()` or `d.items()` as a variable holds it: what is in the dictionary now; or, as
    'attributes', `vars(obj)`."""

    cell: Ref | ItemRef
    part: str


@dataclass(frozen=True)
class RuntimeDict:
    """A dictionary, a set or a queue whose members are found at run time: the list of its pairs, members or items.

    kind: 'dict', 'set' or 'deque'; or 'iterator' of a list, with the place that it has come to as its limit. default:
    what makes the value of a key that a dictionary lacks; limit: how many items a queue takes.
    """

    kind: str
    items: List
    default: Static | None = None
    limit: ir.Operand | None = None
    cell: Ref | ItemRef | Copied | None = None


@dataclass(frozen=True)
class GrowableList:
    """A list whose length is known at run time only: of items that are put together like `item`, of which each leaf has
    an array, with one more axis in front, of which the first `count` belong to the list.

    shares: the lists whose items these are in Python, of which there are copies here.
    """

    item: Shape
    buffers: tuple[ir.Operand, ...]
    count: ir.Operand
    cell: Ref | ItemRef | View | Copied | None = None
    shares: frozenset[Ref] = frozenset()


@dataclass(frozen=True, eq=False)
class Lazy:
    """An array expression that is not computed yet: its element at an index, and the arrays that reading one reads.

    view_by: the function by which NumPy takes this as a read-only view of the sources, "" where it computes an array.
    has_gaps: it is a part of an array of complex numbers, so what wants it contiguous copies it in NumPy.
    is_dear: an element takes a division, a root or the like, so it is worked out once and not for each row.
    """

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
class Complex:
    """A complex number, or an array of them, as its real and imaginary part: two numbers or two arrays, of one type."""

    real: ir.Operand
    imag: ir.Operand


Number = ir.Operand | Complex
List = TupleValue | GrowableList


@dataclass(frozen=True)
class Flat:
    """`x.flat`, by the vector of all elements: its slices are copies, while stores into it reach `x`."""

    array: Number


@dataclass(frozen=True)
class Method:
    """`value.name` before it is called."""

    owner: Value
    name: str


@dataclass(frozen=True)
class Range:
    start: ir.Operand
    stop: ir.Operand
    step: ir.Operand
    snapshots: int | None = None  # for the reverse sweep, where the user asks for some
    parallel: bool = False  # written prange


ENDLESS = ir.integer(2**62)  # where a range stops that does not end


@dataclass(frozen=True)
class Zip:
    """enumerate and zip: several things iterated over together; None stands for the counter of enumerate."""

    parts: tuple[Value | None, ...]
    first: ir.Operand | None = None


@dataclass(frozen=True)
class NdIndex:
    """np.ndindex, np.ndenumerate and np.nditer: the places of an array of this shape, in C order.

    Each gives its index, the elements there of these arrays, or, of ndenumerate, both.
    """

    shape: tuple[ir.Operand, ...]
    arrays: tuple[Value, ...] = ()
    has_index: bool = True


@dataclass(frozen=True)
class SliceValue:
    """`start:stop:step` in a subscript."""

    span: ir.Span


@dataclass(frozen=True)
class Union:
    """One of several functions, texts, objects, tuples, ..., which one is known at run time only.

    which: of two, whether it is the first; of more, its number. What is in an option is undefined where it is another.
    """

    options: tuple[Value, ...]
    which: ir.Operand


@dataclass(frozen=True)
class Optional:
    """None, or a value, which of the two is known at run time only."""

    is_there: ir.Operand
    value: Value


@dataclass(frozen=True)
class Poison:
    """A name that holds things of different kinds, depending on the path taken, or nothing. Reading it is an error.

    is_of_trips: of one kind when a loop starts, and of another one after a trip. text: a text that is made as the
    program runs, on the path on which it was made (of `output.py`).
    """

    why: str
    is_deleted: bool = False
    is_of_trips: bool = False
    text: Any = None

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
    return value.value if isinstance(value, Static) and isinstance(value.value, Stream) else None


AWAY = Poison("A loop over a generator assigns it while the generator reads it.")
MADE_TEXT = Poison("It is a string that is only known at run time.")
# what is said of such a string that goes elsewhere
WHERE_TEXTS_GO = "Write it in the raise, assert, print, warning or log call, or remove it."
MADE_BEFORE = Poison("It is a list of an earlier iteration of the loop.")


def dereference(env: Mapping[str, Value], value: Value) -> Value:
    """A value with what is in its lists now, but for items of lists that grow, which are read from memory."""
    if isinstance(value, Ref):
        state = env.get(value.key, MADE_BEFORE)
        if isinstance(state, TupleValue | Record):
            return replace(state, items=tuple(dereference(env, one) for one in state.items), cell=value)
        if isinstance(state, RuntimeDict):
            whole = dereference(env, state.items)
            assert isinstance(whole, List)
            return replace(state, items=whole, cell=value)
        return replace(state, cell=value) if isinstance(state, GrowableList) else state
    if isinstance(value, View) and isinstance(value.cell, Ref):
        return view_of(dereference(env, value.cell), value.part)
    if isinstance(value, RuntimeDict):
        whole = dereference(env, value.items)
        return replace(value, items=whole) if isinstance(whole, List) else value
    if isinstance(value, TupleValue | Record):
        items = tuple(dereference(env, one) for one in value.items)
        return value if ir.same(items, value.items) else replace(value, items=items)
    return of_options(value, lambda option: dereference(env, option)) if isinstance(value, Union) else value


def of_options(value: Union, change: Callable[[Value], Value]) -> Union:
    """What is chosen at run time, with each option as `change` makes it."""
    options = tuple(map(change, value.options))
    return value if ir.same(options, value.options) else replace(value, options=options)


def view_of(value: Value, part: str) -> Value:
    """The list of the keys, the values or the items of a dictionary, or the dictionary of an object's attributes."""
    if part == "attributes":
        assert isinstance(value, Record)
        cell = View(value.cell, part) if isinstance(value.cell, Ref | ItemRef) else value.cell
        return replace(value, of=None, cell=cell)
    if isinstance(value, Record) and value.of is None:
        own = value.cell if not isinstance(value.cell, View) else None
        value = RuntimeDict("dict", pairs_of(value), cell=own)
    if not isinstance(value, RuntimeDict):
        return value
    cell = View(value.cell, part) if isinstance(value.cell, Ref | ItemRef) else None
    if isinstance(value.items, GrowableList):
        whole = value.items
        key, given = whole.item.parts
        count = leaf_count(key)
        if part == "keys":
            return GrowableList(key, whole.buffers[:count], whole.count, cell)
        return (
            replace(whole, cell=cell)
            if part == "items"
            else GrowableList(given, whole.buffers[count:], whole.count, cell)
        )
    if part == "items":
        return TupleValue(value.items.items, cell=cell)
    place = 0 if part == "keys" else 1
    found = tuple(pair.items[place] for pair in value.items.items if isinstance(pair, TupleValue))
    return TupleValue(found, cell=cell)


def unordered(value: Value) -> Value:
    """The members of a set, for what does not ask for their order; anything else as it is."""
    return replace(value.items, cell=None) if isinstance(value, RuntimeDict) and value.kind == "set" else value


def pairs_of(value: Record) -> TupleValue:
    """The keys of a dictionary, with what it has under them."""
    pairs = zip(map(key_value, value.keys), value.items, strict=True)
    return TupleValue(tuple(map(TupleValue, pairs)), is_list=True)


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


@dataclass(frozen=True)
class Shape:
    """How a value is put together, and its parts.

    'leaf', 'tuple', 'list', 'record', 'complex', 'static' or 'poison'; 'chosen', as one of its parts; 'grown', of items
    like its part; 'row', such a list of numbers that is an item of another; 'ragged', an array, or a list of numbers,
    that is an item and has extents of its own; 'table', with the list that is its part; 'within', the place of an item,
    with its list and path. fields: the names or keys of its parts; of a table, its kind, its default, and whether it
    has a limit; of what is ragged, how many axes it has, and whether it is a list; of: its class; axes: how many a leaf
    has.
    """

    kind: str
    parts: tuple[Any, ...] = ()
    fields: tuple[Any, ...] = ()
    of: type | None = None
    axes: int = field(default=0, compare=False)


LEAF = Shape("leaf")
ROW = Shape("ragged", fields=(1, True))  # a list of numbers in a list, of a length of its own


def describe(value: Value) -> str:
    """What a value is, for a message."""
    if isinstance(value, TupleValue):
        if value.fields:
            return f"a named tuple of {', '.join(value.fields)}"
        return f"{'a list' if value.is_list else 'a tuple'} of {len(value.items)}"
    if isinstance(value, Record):
        return "a dictionary" if value.of is None else f"an object of the class {value.of.__name__}"
    if isinstance(value, RuntimeDict):
        return {"dict": "a dictionary", "set": "a set", "deque": "a deque", "iterator": "an iterator"}[value.kind]
    if isinstance(value, Method):
        return f"the method `{value.name}`"
    if isinstance(value, RuntimeGenerator):
        return "a generator of random numbers"
    if isinstance(value, Union):
        return f"a choice at run time between {' and '.join(map(describe, value.options))}"
    if isinstance(value, Static):
        return _described_object(value.value)
    return _DESCRIBED.get(type(value)) or ("an array" if is_array(value) else "a number")


_DESCRIBED: Mapping[type, str] = {
    Complex: "a complex number",
    Range: "a range",
    Zip: "a result of enumerate or zip",
    NdIndex: "a result of np.ndindex, np.ndenumerate or np.nditer",
    SliceValue: "a slice",
    Poison: "a value whose type depends on the path taken",
    GrowableList: "a list",
    Optional: "a value that may be None at run time",
}


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


def structure(value: Value) -> Shape:
    if isinstance(value, ir.Var | ir.Const):
        return Shape("leaf", axes=value.type.ndim) if isinstance(value.type, types.Array) else LEAF
    if isinstance(value, TupleValue):
        return Shape("list" if value.is_list else "tuple", tuple(structure(v) for v in value.items), value.fields)
    if isinstance(value, Complex):
        return Shape("complex")
    if isinstance(value, Union):
        return Shape("chosen", tuple(map(structure, value.options)))
    if isinstance(value, Optional):
        return Shape("maybe", (structure(value.value),))
    if isinstance(value, GrowableList):
        return Shape("grown", (_with_axes(value.item, iter(value.buffers)),))
    if isinstance(value, Record):
        return Shape("record", tuple(structure(v) for v in value.items), value.keys, value.of)
    if isinstance(value, RuntimeDict):
        return Shape("table", (structure(value.items),), (value.kind, value.default, value.limit is not None))
    if isinstance(value, ItemRef):
        return Shape("within", (value.cell, value.path))
    return Shape("poison", (value.elsewhere(),)) if isinstance(value, Poison) else Shape("static", (value,))


def _with_axes(item: Shape, buffers: Iterator[ir.Operand]) -> Shape:
    """How an item is put together, with the number of axes that the arrays in it have."""
    if item.kind == "leaf":
        return replace(item, axes=ndim(next(buffers)) - 1)
    if item.kind in ("tuple", "list", "record"):
        return replace(item, parts=tuple(_with_axes(part, buffers) for part in item.parts))
    for _ in range(leaf_count(item)):
        next(buffers)
    return item


def joint(left: Shape, right: Shape, chooses: bool = False) -> Shape | None:
    """How a value is put together that is `left` on one path and `right` on another; a number may become complex.

    `chooses`: as one of both, or with parts that are, where it is put together in two ways.
    """
    if left == right:
        return left
    if chooses:
        return _joint_parts(left, right) or joint(left, right) or _either(left, right)
    if _NOTHING in (left, right) or "maybe" in (left.kind, right.kind):
        return _maybe(*(shape for shape in (left, right) if shape != _NOTHING))
    if {left.kind, right.kind} == {"leaf", "complex"}:
        return Shape("complex")
    if "ragged" in (left.kind, right.kind):
        own, given = (left, right) if left.kind == "ragged" else (right, left)
        return own if own == ragged(given) else None
    is_alike = left.kind == right.kind and left.kind in ("tuple", "list", "record") and left.of is right.of
    if is_alike and len(left.parts) == len(right.parts) and (left.kind != "record" or left.fields == right.fields):
        parts = [joint(a, b) for a, b in zip(left.parts, right.parts, strict=True)]
        fields = left.fields if left.fields == right.fields else ()
        return None if None in parts else Shape(left.kind, tuple(parts), fields, left.of)
    if {left.kind, right.kind} <= {"record", "table"}:
        one, other = _as_table(left), _as_table(right)
        if one is None or other is None or one.fields != other.fields:
            return None
        held = joint(one.parts[0], other.parts[0])
        return None if held is None else Shape("table", (held,), one.fields)
    if {left.kind, right.kind} <= {"list", "grown", "row"}:
        item = item_of(*left.parts, *right.parts)
        return None if item is None else Shape("row" if "row" in (left.kind, right.kind) else "grown", (item,))
    return None


def _joint_parts(left: Shape, right: Shape) -> Shape | None:
    """That of tuples, lists or objects with as many parts, some of which may be one of several; None of others."""
    is_alike = left.kind == right.kind and left.kind in ("tuple", "list", "record") and left.of is right.of
    if not is_alike or left.fields != right.fields or len(left.parts) != len(right.parts):
        return None
    parts = tuple(joint(a, b, chooses=True) for a, b in zip(left.parts, right.parts, strict=True))
    return None if None in parts else replace(left, parts=parts)


MOST_OPTIONS = 12  # of values that hold numbers and arrays


def _either(left: Shape, right: Shape) -> Shape | None:
    """That of a value that is one or the other; None where one of them is a number, an array or not known."""
    options = list(options_in(left))
    for new in options_in(right):
        found = ((k, joint(known, new)) for k, known in enumerate(options) if _NOTHING not in (known, new))
        place, both = next(((k, shape) for k, shape in found if shape is not None), (len(options), new))
        options[place : place + 1] = [both] if new not in options else options[place : place + 1]
    with_parts = sum(shape.kind != "static" for shape in options)
    return Shape("chosen", tuple(options)) if all(map(_is_option, options)) and with_parts <= MOST_OPTIONS else None


def options_in(shape: Shape) -> tuple[Shape, ...]:
    """How those are put together that a value may be."""
    return shape.parts if shape.kind == "chosen" else (_NOTHING, *shape.parts) if shape.kind == "maybe" else (shape,)


def _is_option(shape: Shape) -> bool:
    if shape.kind == "static":
        (held,) = shape.parts
        return isinstance(held, Ref) or may_be_chosen(held)
    is_one = shape.kind in ("tuple", "list", "record", "grown", "table")
    return is_one and all(part.kind != "static" or _is_option(part) for part in shape.parts)


def may_be_chosen(value: Value) -> bool:
    """Whether it is a function, a text, a member of an enumeration or None."""
    if not isinstance(value, Static):
        return False
    thing = value.value
    return thing is None or isinstance(thing, str | Enum | Followed) or callable(thing)


_NOTHING = Shape("static", (Static(None),))


def _maybe(*shapes: Shape) -> Shape | None:
    """How None or a value like one of these is put together."""
    one, *others = (shape.parts[0] if shape.kind == "maybe" else shape for shape in shapes)
    found = joint(one, others[0]) if others else one
    is_known = found is not None and _is_of_numbers(found) and found.kind != "static"
    return Shape("maybe", (found,)) if is_known else None


def _as_table(shape: Shape) -> Shape | None:
    """A dictionary of constant keys as one whose keys are found at run time."""
    if shape.kind == "table" or shape.of is not None:
        return shape if shape.kind == "table" else None
    keys = (structure(key_value(key)) for key in shape.fields)
    pairs = tuple(Shape("tuple", pair) for pair in zip(keys, shape.parts, strict=True))
    return Shape("table", (Shape("list", pairs),), ("dict", None, False))


def ragged(shape: Shape) -> Shape:
    """How an item is put together whose arrays and lists may have other extents than those of the next one."""
    if shape.kind == "leaf" and shape.axes:
        return Shape("ragged", fields=(shape.axes, False))
    if shape.kind == "row" or (shape.kind in ("list", "grown") and all(p == LEAF and not p.axes for p in shape.parts)):
        return ROW
    return shape


def apart(shape: Shape) -> Shape:
    """How a list that grows is put together whose items have extents of their own."""
    if shape.kind in ("table", "maybe"):
        return replace(shape, parts=tuple(map(apart, shape.parts)))
    return replace(shape, parts=tuple(map(_own, shape.parts))) if shape.kind == "grown" else shape


def _own(item: Shape) -> Shape:
    if item.kind in ("tuple", "list", "record"):
        return replace(item, parts=tuple(map(_own, item.parts)))
    return ragged(item)


def item_of(*shapes: Shape) -> Shape | None:
    """How the items of a list that grows are put together, which are like these; None if they differ."""
    found: Shape | None = None
    for shape in shapes:
        own: Shape | None = shape if found is None else joint(found, shape)
        found = None if own is None else _as_item(own)
        if found is None or not _is_of_numbers(found) or found.kind == "static":
            return None
    return found


def _as_item(shape: Shape) -> Shape:
    """The same for an item of a list, in which another list is a row."""
    if shape.kind in ("tuple", "list", "record"):
        return replace(shape, parts=tuple(map(_as_item, shape.parts)))
    return Shape("row", shape.parts) if shape.kind == "grown" else shape


def _is_of_numbers(shape: Shape) -> bool:
    if shape.kind == "row":
        return shape.parts == (LEAF,)
    if shape.kind == "static":
        # a text or the like, the same in all of them
        return isinstance(shape.parts[0], Static)
    return shape.kind in ("leaf", "complex", "ragged") or (
        shape.kind in ("tuple", "list", "record") and all(map(_is_of_numbers, shape.parts))
    )


def leaves_of(value: Value) -> list[ir.Operand]:
    if isinstance(value, ir.Var | ir.Const):
        return [value]
    if isinstance(value, TupleValue | Record):
        return [leaf for v in value.items for leaf in leaves_of(v)]
    if isinstance(value, Complex):
        return [value.real, value.imag]
    if isinstance(value, GrowableList):
        return [*value.buffers, value.count]
    if isinstance(value, Optional):
        return [value.is_there, *leaves_of(value.value)]
    if isinstance(value, RuntimeDict):
        return [*leaves_of(value.items), *([] if value.limit is None else [value.limit])]
    if isinstance(value, ItemRef):
        return [value.index]
    return [value.which, *(leaf for v in value.options for leaf in leaves_of(v))] if isinstance(value, Union) else []


def parts_of(value: Value) -> list[Value]:
    """What is in a tuple and in the tuples in it, in order; of what is no tuple, that."""
    if isinstance(value, RuntimeDict):
        return parts_of(value.items)
    if isinstance(value, Union):
        return [
            value,
            *(part for option in value.options if not isinstance(option, Static) for part in parts_of(option)),
        ]
    return (
        [part for item in value.items for part in parts_of(item)] if isinstance(value, TupleValue | Record) else [value]
    )


def leaf_count(shape: Shape) -> int:
    """How many numbers and arrays a value is made of."""
    if shape.kind == "static":
        return 0
    if shape.kind in ("leaf", "row", "within"):
        return 1
    if shape.kind in ("chosen", "grown", "maybe") or (shape.kind == "table" and shape.fields[2]):
        return 1 + sum(map(leaf_count, shape.parts))
    if shape.kind == "ragged":
        return 1 + int(shape.fields[0])
    return 2 if shape.kind == "complex" else sum(map(leaf_count, shape.parts))


def rebuild(shape: Shape, operands: Iterable[ir.Operand]) -> Value:
    rest = iter(operands)
    if shape.kind == "leaf":
        return next(rest)
    if shape.kind in ("tuple", "list"):
        return TupleValue(tuple(rebuild(part, rest) for part in shape.parts), shape.kind == "list", shape.fields)
    if shape.kind == "record":
        return Record(shape.fields, tuple(rebuild(part, rest) for part in shape.parts), shape.of)
    if shape.kind == "complex":
        return Complex(next(rest), next(rest))
    if shape.kind == "grown":
        return GrowableList(shape.parts[0], tuple(next(rest) for _ in range(leaf_count(shape.parts[0]))), next(rest))
    if shape.kind == "table":
        kind, default, is_limited = shape.fields
        items = rebuild(shape.parts[0], rest)
        assert isinstance(items, List | Ref)
        return RuntimeDict(kind, items, default, next(rest) if is_limited else None)  # type: ignore[arg-type]
    if shape.kind == "chosen":
        which = next(rest)
        return Union(tuple(rebuild(part, rest) for part in shape.parts), which)
    if shape.kind == "maybe":
        return Optional(next(rest), rebuild(shape.parts[0], rest))
    if shape.kind == "within":
        cell, path = shape.parts
        return ItemRef(cell, next(rest), path)
    value: Value = shape.parts[0]
    return value
