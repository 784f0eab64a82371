"""Lists, dictionaries and objects that a function is called with, as the numbers and arrays in them.

In: a value. Out: its `Layout`, which is part of what is compiled, and its leaves, which are passed; and the way back.

    {"w": W, "b": [1.0, 2.0]}     Layout("dict", keys=("w", "b"), ...)     [W, array([1., 2.])]

A list of numbers, and a long list of items that are built alike, is a table: one array for each number of an item.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import numbers
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from adjit.runtime.library import own_attribute
from adjit.runtime.library.gpus import is_on_device
from adjit.transform.source.protocols import own_of_argument

# the classes of arrays that are nothing but arrays: others have masks, units or operators of their own
ARRAYS = (np.ndarray, np.memmap)
# what says that there is an array in a value of another library
_INTERFACES = ("__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__")
_HELD = (np.ndarray, np.void, np.datetime64, np.timedelta64, numbers.Number)
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_BUILT = (list, dict, tuple, set, frozenset, str)
_TAKEN = (list, dict, type, FunctionType, BuiltinFunctionType, MethodType, functools.partial, np.ufunc)
LONGEST = 8  # items of a list that stand one by one
_LIBRARIES = ("builtins", "numpy", "scipy", "numba", "pandas", "torch", "jax", "random", "logging")


@dataclass(frozen=True)
class Layout:
    """How a value is put together of leaves.

    kind: 'number', 'array', 'static', 'tuple', 'list', 'dict', 'object', 'table', a list of items like its part,
          'records', an array of records, 'branch', a part that is an argument of its own, with the number `of`, or
          'unread', an attribute that no derivative can take, which may be there as long as nothing reads it
    keys: of a dictionary, or the names of an object's attributes, or of the fields of records that are numbers; of an
          array, its extents where they are part of what is compiled
    of:   the class of an object or a named tuple; what a static value is; of numbers in a table, NumPy's type of them,
          None where they are Python's; of an array of indices, "held"; of what is not read, an `Unread`
    same: of a list, a dictionary or an object that stands in several places, the number that all of these have
    """

    kind: str
    parts: tuple[Layout, ...] = ()
    keys: tuple[Any, ...] = ()
    of: Any = None
    same: int = 0


@dataclass(frozen=True)
class Unread:
    """What an attribute is that no derivative can take, and what to do: both are for whoever reads it."""

    what: str
    instead: str


NUMBER, ARRAY = Layout("number"), Layout("array")
HELD = Layout("array", of="held")


class NotTaken(TypeError):
    """Something that a derivative cannot take was met in an argument."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"a value of type {type(value).__name__}")
        self.value = value


class InCircle(NotTaken):
    """A list, a dictionary or an object that has itself in it."""


def has_array(value: Any) -> bool:
    """Whether it is no array of NumPy's, but has one, or one on a device."""
    return any(hasattr(type(value), name) or name in getattr(value, "__dict__", ()) for name in _INTERFACES)


def is_structure(value: Any) -> bool:
    """Whether a value is, or has in it, a list, a dictionary, a function or an object of the user's; or texts in a
    tuple."""
    if isinstance(value, tuple):
        return any(isinstance(part, str) or is_structure(part) for part in value)
    kind = type(value)
    if kind is float or kind is int or hasattr(kind, "is_on_gpu") or hasattr(kind, "__cuda_ndarray__"):
        # what calls that take microseconds are made with
        return False
    return isinstance(value, _TAKEN) or is_member(value) or is_records(value) or is_object(value) or is_sparse(value)


def is_member(value: Any) -> bool:
    """Whether it is a member of an enumeration, or a text of a class of its own, as NumPy's texts are: what it is known
    by is its class, so that it is a constant, whatever number or text it may be as well."""
    return isinstance(value, enum.Enum) or (isinstance(value, str) and type(value) is not str)


def is_records(value: Any) -> bool:
    """Whether it is a vector of records of NumPy's, with numbers in them."""
    if not isinstance(value, np.ndarray) or not value.dtype.names or value.ndim != 1:
        return False
    return any(value.dtype[name].base.kind in "biufc" for name in value.dtype.names)


def has_records(layout: Layout) -> bool:
    """Whether there are records in what has this layout: they are held fixed."""
    return layout.kind == "records" or any(map(has_records, layout.parts))


def has_held(layout: Layout | None) -> bool:
    """Whether there are indices of sparse matrices in what has this layout."""
    return layout is not None and (layout == HELD or any(map(has_held, layout.parts)))


def has_same(layout: Layout | None) -> bool:
    """Whether something in what has this layout stands in several places."""
    return layout is not None and (layout.same > 0 or any(map(has_same, layout.parts)))


def in_several_places(values: Iterable[Any]) -> dict[int, int]:
    """A number for each list, dictionary and object, by its identity, that stands in several places of these values,
    be it as a part of another one that does."""
    counts: dict[int, int] = {}

    def look(value: Any) -> None:
        if isinstance(value, list | dict) or (not isinstance(value, tuple) and is_object(value)):
            counts[id(value)] = counts.get(id(value), 0) + 1
            if counts[id(value)] > 2:
                return
        elif not isinstance(value, tuple):
            return
        for part in _inside(value):
            look(part)

    for value in values:
        look(value)
    several = (identity for identity, count in counts.items() if count > 1)
    return {identity: k for k, identity in enumerate(several, 1)}


def sized(layout: Layout, leaves: Iterator[Any]) -> Layout:
    """The layout of these leaves in which the extents of arrays are known."""
    if layout.kind in ("number", "array"):
        leaf = next(leaves)
        is_known = layout == ARRAY and type(leaf) is np.ndarray
        return dataclasses.replace(layout, keys=leaf.shape) if is_known else layout
    if layout.kind in ("table", "records"):
        for _ in range(count(layout.parts[0]) if layout.kind == "table" else len(layout.keys)):
            next(leaves)
        return layout
    return dataclasses.replace(layout, parts=tuple(sized(part, leaves) for part in layout.parts))


def is_object(value: Any) -> bool:
    """Whether it is an object of a class of the user's, known by its attributes."""
    kind = type(value)
    if isinstance(value, (type, np.ndarray, *_NUMBERS)) or is_member(value) or has_array(value):
        return False
    if kind.__module__.partition(".")[0] in _LIBRARIES or hasattr(kind, "__code__"):
        return False
    # (of the class, as an object may answer for any name)
    is_derived = hasattr(kind, "derivative") or (
        "derivative" in getattr(value, "__dict__", ()) and own_attribute(value, "derivative") is not None
    )
    return dataclasses.is_dataclass(value) or (hasattr(value, "__dict__") and not is_derived)


def is_derived_number(value: Any) -> bool:
    """Whether it is a number of a class of the user's, of which nothing but the number would be known."""
    is_plain = type(value).__module__ in ("builtins", "numpy") or is_member(value)
    return isinstance(value, _NUMBERS) and not is_plain


def own_of(value: Any) -> str | None:
    """What the class of an argument, or of a part of one, does in its own way where Python asks it; None if nothing."""
    return own_of_argument(type(value)) if isinstance(value, _BUILT) or is_object(value) else None


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object that are its own."""
    if dataclasses.is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return found | getattr(value, "__dict__", {})
    return dict(vars(value))


def known_by(value: Any) -> dict[str, Any]:
    """The attributes by which an object of SciPy's is known that may stand among constants; none of any other."""
    kind = type(value)
    names = _KNOWN_BY.get(kind.__name__, ()) if kind.__module__.startswith("scipy.") else ()
    found = {name: getattr(value, name) for name in names}
    if "dist" in found:
        # frozen ones have copies of the distributions that scipy.stats has
        own = getattr(sys.modules["scipy.stats"], found["dist"].name, None)
        found["dist"] = own if type(own) is type(found["dist"]) else found["dist"]
    return found


def is_sparse(value: Any) -> bool:
    """Whether it is a matrix or an array that is compressed by rows or columns."""
    return _KNOWN_BY.get(type(value).__name__) == _COMPRESSED and type(value).__module__.startswith("scipy.")


_COMPRESSED = ("data", "indices", "indptr", "shape")
_KNOWN_BY = {
    **dict.fromkeys(("csr_matrix", "csr_array", "csc_matrix", "csc_array"), _COMPRESSED),
    **dict.fromkeys(("coo_matrix", "coo_array"), ("data", "row", "col", "shape")),
    **dict.fromkeys(("rv_continuous_frozen", "rv_discrete_frozen"), ("dist", "args", "kwds")),
    "multivariate_normal_frozen": ("mean", "cov"),
}


def taken_apart(
    value: Any,
    leaves: list[Any],
    same: Mapping[int, int] = MappingProxyType({}),
    unread: Callable[[NotTaken, str], Unread] | None = None,
    around: tuple[int, ...] = (),
) -> Layout:
    """The layout of a value, whose leaves are appended. NotTaken where it has something in it that is no such thing.

    same: what `in_several_places` says of all that is taken apart. unread: says of an attribute of an object what it
    is, where that may stay as long as nothing reads it. around: the identities of the values that it is in.
    """
    if isinstance(value, _NUMBERS) and not is_member(value) and not is_derived_number(value):
        leaves.append(value)
        return NUMBER
    if is_records(value):
        names = tuple(name for name in value.dtype.names if value.dtype[name].base.kind in "biufc")
        leaves.extend(np.ascontiguousarray(value[name]) for name in names)
        return Layout("records", keys=names)
    if type(value) in ARRAYS:
        leaves.append(value)
        return ARRAY
    if is_derived_number(value) or own_of(value):
        raise NotTaken(value)  # which may answer to whatever it is asked
    if is_on_device(value):
        leaves.append(value)
        return ARRAY
    if is_member(value):
        return static(value)
    if id(value) in around:
        raise InCircle(value)
    around = (*around, id(value))
    if isinstance(value, tuple):
        of = type(value) if hasattr(type(value), "_fields") else None
        return Layout("tuple", _taken_apart(value, leaves, same, unread, around), of=of)
    number = same.get(id(value), 0)
    if isinstance(value, list):
        table = _table(value, leaves, same, unread, around)
        if table is not None:
            return dataclasses.replace(table, same=number) if number else table
        return Layout("list", _taken_apart(value, leaves, same, unread, around), same=number)
    if isinstance(value, dict):
        return Layout("dict", _taken_apart(value.values(), leaves, same, unread, around), tuple(value), same=number)
    if is_object(value):
        found = attributes(value)
        parts = tuple(attribute_apart(part, name, leaves, same, unread, around) for name, part in found.items())
        return Layout("object", parts, tuple(found), type(value), same=number)
    if is_sparse(value):
        leaves.extend((value.data, value.indices, value.indptr))
        return Layout("object", (ARRAY, HELD, HELD, static(value.shape)), _COMPRESSED, type(value))
    return static(value)


_Unread = Callable[[NotTaken, str], Unread] | None


def _taken_apart(
    values: Iterable[Any], leaves: list[Any], same: Mapping[int, int], unread: _Unread, around: tuple[int, ...]
) -> tuple[Layout, ...]:
    return tuple(taken_apart(value, leaves, same, unread, around) for value in values)


def attribute_apart(
    value: Any, name: str, leaves: list[Any], same: Mapping[int, int], unread: _Unread, around: tuple[int, ...] = ()
) -> Layout:
    """As `taken_apart`, of an attribute of this name."""
    count = len(leaves)
    try:
        return taken_apart(value, leaves, same, unread, around)
    except NotTaken as fault:
        if unread is None:
            raise
        del leaves[count:]
        return Layout("unread", of=unread(fault, name))


def static(value: Any) -> Layout:
    """The layout of what is part of what is compiled: True is not 1 there. NotTaken where it cannot be."""
    is_number = isinstance(value, _HELD) and not isinstance(value, numbers.Integral)
    if not is_member(value) and (is_number or has_array(value)):
        # a number or an array that would have no gradient, without a word
        raise NotTaken(value)
    try:
        hash(value)
    except TypeError:
        raise NotTaken(value) from None
    return Layout("static", keys=(type(value),), of=value)


def _table(
    items: list[Any], leaves: list[Any], same: Mapping[int, int], unread: _Unread, around: tuple[int, ...]
) -> Layout | None:
    """The layout of a list whose items are built alike, with a column for each leaf; None if they are not."""
    rows: list[list[Any]] = [[] for _ in items]
    if not items or not (all(map(_is_real, items)) or len(items) > LONGEST):
        return None
    layouts = [taken_apart(item, row, same, unread, around) for item, row in zip(items, rows, strict=True)]
    first = layouts[0]
    if any(layout != first for layout in layouts) or not _is_even(first):
        return None
    given = list(zip(*rows, strict=True))
    columns = [_column(column) for column in given]
    if not columns or any(column is None for column in columns):
        return None
    leaves.extend(columns)
    return Layout("table", (_typed(first, map(_type_of_all, given)),))


def _type_of_all(values: Sequence[Any]) -> type | None:
    """The type that these numbers of NumPy's have; None if they are not all of one, or of Python's."""
    kinds = set(map(type, values))
    kind = kinds.pop()
    return kind if not kinds and issubclass(kind, np.generic) else None


def _typed(layout: Layout, kinds: Iterator[type | None]) -> Layout:
    """The layout of an item of a table with the types of the numbers in it."""
    if layout.kind in ("number", "array", "table"):
        kind = next(kinds)
        return Layout("number", of=kind) if layout.kind == "number" else layout
    return dataclasses.replace(layout, parts=tuple(_typed(part, kinds) for part in layout.parts))


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | enum.Enum)


def _is_even(layout: Layout) -> bool:
    """Whether items of this layout go into columns."""
    if layout.kind == "table":
        return layout.parts[0].kind == "number"
    return layout.kind in ("number", "array") or (
        layout.kind in ("tuple", "list", "dict", "object") and all(map(_is_even, layout.parts))
    )


def _column(values: Sequence[Any]) -> np.ndarray[Any, Any] | None:
    """The numbers, or the arrays of one shape, as one array."""
    if all(isinstance(value, np.ndarray) for value in values):
        is_alike = all(v.shape == values[0].shape and v.dtype == values[0].dtype for v in values)
        return np.stack(values) if is_alike else None
    if all(map(_is_real, values)):
        is_typed = all(isinstance(v, int | np.integer) for v in values) or _type_of_all(values) is not None
        return np.array(values, dtype=None if is_typed else np.float64)
    return None


def put_together(layout: Layout, leaves: Iterator[Any]) -> Any:
    """A value of the layout, with other leaves. What is static stays as it is."""
    if layout.kind in ("number", "array"):
        return next(leaves)
    if layout.kind in ("static", "unread"):
        return layout.of
    if layout.kind == "table":
        (item,) = layout.parts
        columns = [_items(next(leaves), kind) for kind in _types_in(item)]
        if item.kind == "number":
            return columns[0]
        return [put_together(item, iter(row)) for row in zip(*columns, strict=True)]
    parts = [put_together(part, leaves) for part in layout.parts]
    if layout.kind == "tuple":
        return tuple(parts) if layout.of is None else layout.of(*parts)
    if layout.kind == "list":
        return parts
    both = zip(layout.keys, parts, layout.parts, strict=True)
    named = {key: part for key, part, own in both if own.kind != "unread"}
    if layout.kind == "dict":
        return named
    if layout.keys == _COMPRESSED:
        data, indices, indptr, shape = parts
        return layout.of((np.zeros(indices.size) if np.ndim(data) == 0 else data, indices, indptr), shape=shape)
    made = empty(layout.of)
    for name, part in named.items():
        object.__setattr__(made, name, part)
    return made


def empty(kind: Any) -> Any:
    """An object of a class, without attributes."""
    return kind.__new__(kind) if issubclass(kind, SimpleNamespace) else object.__new__(kind)


def held(layout: Layout, leaves: Sequence[Any]) -> dict[int, Any]:
    """Those of its leaves, by their places, that say how it is put together: a gradient has them as it has."""
    return {k: leaf for k, (kind, leaf) in enumerate(zip(_leaves(layout), leaves, strict=True)) if kind == HELD}


def _leaves(layout: Layout) -> list[Layout]:
    if layout.kind in ("number", "array"):
        return [layout]
    if layout.kind == "records":
        return [ARRAY for _ in layout.keys]
    return [leaf for part in layout.parts for leaf in _leaves(part)]


def _types_in(layout: Layout) -> Iterator[Any]:
    """The type of each leaf of an item of a table: NumPy's of a number, None of one of Python's; `...` of an array."""
    if layout.kind in ("number", "array", "table"):
        yield layout.of if layout.kind == "number" else ...
    else:
        for part in layout.parts:
            yield from _types_in(part)


def _items(column: Any, kind: Any) -> list[Any]:
    """The items that a column has been made of."""
    if not isinstance(column, np.ndarray):
        return list(column)
    found: list[Any] = column.tolist() if kind is None else list(column)
    return found


def paths(layout: Layout, name: str) -> list[str]:
    """What a program calls the leaves of a value of this layout and name: `params["w"]`, `body.parts[0]`."""
    if layout.kind in ("number", "array"):
        return [name]
    if layout.kind in ("dict", "records"):
        keys = [f'["{key}"]' if isinstance(key, str) else f"[{key!r}]" for key in layout.keys]
    elif layout.kind == "object":
        keys = [f".{key}" for key in layout.keys]
    else:
        keys = [f"[{k}]" if layout.kind != "table" else "" for k in range(len(layout.parts))]
    parts = layout.parts or tuple(ARRAY for _ in keys)
    return [path for key, part in zip(keys, parts, strict=True) for path in paths(part, name + key)]


def _inside(value: Any) -> Iterable[Any]:
    """What is in a list, a tuple, a dictionary or an object, in the order of its layout's parts."""
    if isinstance(value, list | tuple):
        return value
    return (value if isinstance(value, dict) else attributes(value)).values()


def part_at(value: Any, path: Sequence[int]) -> Any:
    """The part of a value that is taken apart to which the places of parts in its layout lead."""
    for place in path:
        value = list(_inside(value))[place]
    return value


def memory_in(value: Any) -> Iterator[Any]:
    """The arrays, lists, dictionaries and objects in a value that is taken apart, and itself if it is one."""
    if isinstance(value, np.ndarray):
        yield value
        return
    if not isinstance(value, list | dict | tuple) and not is_object(value):
        return
    if not isinstance(value, tuple):
        yield value
    for part in _inside(value):
        yield from memory_in(part)


def columns_of(layout: Layout) -> Iterator[tuple[int | None, int, tuple[int, ...]]]:
    """The leaves in which the arrays of a list are one array: the number of the part that is an argument of its own and
    that they belong to, None where there is none; the place among the leaves of that; where the list stands."""
    places: dict[int | None, int] = {}

    def found(one: Layout, part: int | None, path: tuple[int, ...]) -> Iterator[Any]:
        first = places.get(part, 0)
        if one.kind == "branch":
            yield from found(one.parts[0], one.of, path)
        elif one.kind in ("number", "array", "records", "table"):
            places[part] = first + count(one)
            if one.kind == "table":
                of_arrays = (k for k, leaf in enumerate(_leaves(one.parts[0])) if leaf.kind == "array")
                yield from ((part, first + k, path) for k in of_arrays)
        else:
            for place, inner in enumerate(one.parts):
                yield from found(inner, part, (*path, place))

    return found(layout, None, ())


def count(layout: Layout) -> int:
    """How many leaves a layout has."""
    if layout.kind == "records":
        return len(layout.keys)
    return 1 if layout.kind in ("number", "array") else sum(map(count, layout.parts))
