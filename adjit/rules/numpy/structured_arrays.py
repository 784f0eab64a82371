"""Structured arrays that are made inside: an array for each field, and records that are places in these.

In: a shape or rows, and the fields with their types. Out: an object that is indexed as NumPy's structured arrays are.

    rows = np.zeros(n, dtype=[("a", "f8"), ("b", int)])      columns = {"a": np.zeros(n), "b": np.zeros(n, int)}
    rows["a"][1] = x;  rows[1]["b"] += 2                     columns["a"][1] = x;  columns["b"][1] += 2
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adjit.rules.registry import builtin


@dataclass(frozen=True, eq=False)
class Row:
    """A record of a structured array, which reads and writes the elements of its fields there."""

    columns: Any
    index: Any

    KNOWN: ClassVar[tuple[str, ...]] = ("[name]", "tolist")

    def __getitem__(self, name):
        return self.columns[name][self.index]

    def __setitem__(self, name, value):
        self.columns[name][self.index] = value

    def __iter__(self):
        for name in self.columns:
            yield self.columns[name][self.index]

    def tolist(self):
        return tuple(self.columns[name][self.index] for name in self.columns)


@dataclass(frozen=True, eq=False)
class Structured:
    """A structured array."""

    columns: Any

    KNOWN: ClassVar[tuple[str, ...]] = ("[name]", "[index]", "copy", "ndim", "shape", "size")

    @property
    def shape(self):
        return (self.size,)

    @property
    def ndim(self):
        return 1

    @property
    def size(self):
        return len(next(iter(self.columns.values())))

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if isinstance(index, str):
            return self.columns[index]
        if isinstance(index, list) and isinstance(index[0], str):
            return Structured({name: self.columns[name] for name in index})
        if isinstance(index, int):
            return Row(self.columns, index)
        return Structured({name: column[index] for name, column in self.columns.items()})

    def __setitem__(self, index, value):
        if isinstance(index, str):
            self.columns[index][:] = value
        elif isinstance(value, (Structured, Row)):
            for name in self.columns:
                self.columns[name][index] = value[name]
        elif isinstance(value, tuple):
            for name, one in zip(self.columns, value, strict=True):
                self.columns[name][index] = one
        else:
            raise NotImplementedError(
                "a store of this value into a structured array: give a tuple, or store into "
                "its fields")

    def __iter__(self):
        for k in range(self.size):
            yield Row(self.columns, k)

    def copy(self):
        return Structured({name: column.copy() for name, column in self.columns.items()})


builtin.stands_for(np.void, Row)
builtin.stands_for(np.recarray, Structured)


def filled(shape, fields, value):
    """An array of records of which each number is the value. `fields`: name, type and shape of each."""
    if isinstance(shape, tuple) and len(shape) != 1:
        raise NotImplementedError("a structured array with more than one axis: use one axis, and reshape its fields")
    size = shape[0] if isinstance(shape, tuple) else shape
    return Structured({name: np.full((size, *inner), value, kind) for name, kind, inner in fields})


def of_rows(rows, fields):
    """An array of records from tuples of their fields."""
    columns = {}
    for k, (name, kind, _) in enumerate(fields):
        columns[name] = np.array([row[k] for row in rows], dtype=kind)
    return Structured(columns)
