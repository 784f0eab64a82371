"""Arrays of records, held fixed: their fields are arrays, and a record is a dictionary of these.

In: a structured array of NumPy's from outside, or an argument that is one. Out: the array of a field; the record at an
index; the list of all.

    rec["a"], rec.a           the array of a field
    rec[k]["a"], rec[k].a     its element
    for r in rec: r["a"]      a loop over the arrays of all fields
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from adjit.transform import ir
from adjit.transform.frontend.heap.lists import as_array
from adjit.transform.frontend.heap.references import item
from adjit.transform.frontend.values.dictionaries import Instance
from adjit.transform.frontend.values.frame import Context, as_index, wrap
from adjit.transform.frontend.values.lists import GrowableList, TupleValue
from adjit.transform.frontend.values.numbers import COMPLEX, Complex, Number, is_number, operands_in
from adjit.transform.frontend.values.ranges import SliceValue
from adjit.transform.frontend.values.statics import Static, stands_for
from adjit.transform.frontend.values.values import LEAF, Structure, Value


def is_records(value: Value) -> TypeGuard[Static]:
    """Whether it is an array of records, or one of these, from outside."""
    return stands_for(value, np.ndarray | np.void) and bool(value.value.dtype.names)


def field(ctx: Context, value: Static, name: str) -> Value:
    """The array of a field, the same one each time; the number of a record."""
    given = value.value
    if name not in given.dtype.names:
        raise ctx.mismatch(
            f"{_called(value)} has no field {name!r}", "Give one that exists.", why=f"It has {_names(given.dtype)}."
        )
    if isinstance(given, np.void) or given.dtype[name].names:
        return wrap(ctx, given[name])
    known = ctx.arrays.record_globals.get((id(given), name))
    if known is None:
        # the array is kept as well, so that no other gets its identity
        known = ctx.arrays.record_globals[id(given), name] = (given, wrap(ctx, np.ascontiguousarray(given[name])))
    return known[1]


def part_of_records(ctx: Context, value: Static, entries: Sequence[Value]) -> Value:
    """`value[entries]`."""
    given = value.value
    if len(entries) == 1 and stands_for(entries[0], str):
        return field(ctx, value, entries[0].value)
    if isinstance(given, np.void):
        raise ctx.unsupported(f"this subscript of {_called(value)}", "Use the name of a field.")
    known = [_known(entry) for entry in entries]
    if ... not in known:
        found = given[known[0] if len(known) == 1 else tuple(known)]
        parts = ctx.arrays.record_globals.setdefault((id(given), repr(known)), (given, Static(found)))
        return parts[1]
    if len(entries) == 1 and is_number(entries[0]) and given.ndim == 1:
        whole = rows(ctx, value)
        return item(ctx, whole, as_index(ctx, entries[0], "the index of a record"))
    raise ctx.unsupported(f"this subscript of {_called(value)}", "Take the field first: `records[name][...]`.")


def rows(ctx: Context, value: Static) -> GrowableList:
    """All records of a vector of them, as a list."""
    given = value.value
    if given.ndim != 1:
        raise ctx.unsupported(f"a loop over {_called(value)} of {given.ndim} axes", "Loop over indices.")
    shape, buffers = _shape(ctx, value)
    return GrowableList(shape, tuple(buffers), ir.integer(given.shape[0]))


def records_of(ctx: Context, names: Sequence[str], columns: Sequence[Value]) -> GrowableList:
    """An array of records that is an argument, by the arrays of its fields."""
    shapes = tuple(COMPLEX if isinstance(column, Complex) else LEAF for column in columns)
    buffers = [buffer for c in columns if isinstance(c, Number) for buffer in operands_in(c)]
    return GrowableList(Instance(tuple(names), shapes, of=np.record), tuple(buffers), ctx.shape(buffers[0])[0])


def has_fields(value: Value) -> TypeGuard[GrowableList]:
    """Whether it is an array of records that is an argument."""
    return isinstance(value, GrowableList) and getattr(value.item, "of", None) is np.record


def field_of(ctx: Context, value: GrowableList, name: str) -> Value:
    """The array of a field of such an array."""
    names = value.item.keys
    if name not in names:
        known = f"It has {', '.join(map(repr, names))}."
        raise ctx.mismatch(f"records without a field {name!r} of numbers", "Give one that they have.", why=known)
    return as_array(ctx, value.columns()[names.index(name)])


def _shape(ctx: Context, value: Static) -> tuple[Structure, list[ir.Operand]]:
    """How a record is put together, of the fields that are numbers, and the arrays of these."""
    dtype = value.value.dtype
    names, parts, buffers = [], [], list[ir.Operand]()
    for name in dtype.names:
        if dtype[name].names:
            inner, more = _shape(ctx, Static(value.value[name]))
        elif dtype[name].base.kind in "biufc":
            array = field(ctx, value, name)
            assert isinstance(array, ir.Const | Complex)
            inner, more = COMPLEX if isinstance(array, Complex) else LEAF, list(operands_in(array))
        else:
            continue
        names.append(name)
        parts.append(inner)
        buffers += more
    return Instance(tuple(names), tuple(parts), of=np.record), buffers


def _known(entry: Value) -> Any:
    """An entry of a subscript that is known while compiling, a list of names among these; else `...`."""
    if is_number(entry) and isinstance(entry, ir.Const):
        return int(entry.value)
    if isinstance(entry, SliceValue) and (known := entry.known()) is not None:
        return known
    if isinstance(entry, TupleValue) and all(isinstance(one, Static) for one in entry.items):
        return [one.value for one in entry.items if isinstance(one, Static)]
    return ...


def _called(value: Static) -> str:
    return "a record" if isinstance(value.value, np.void) else "an array of records"


def _names(dtype: np.dtype[Any]) -> str:
    return ", ".join(map(repr, dtype.names or ()))
