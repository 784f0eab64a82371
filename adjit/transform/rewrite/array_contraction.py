"""Arrays of which each trip of a loop has a part of its own lose the axis that tells the trips apart.

In: operations, and arrays with the axis that goes away. Out: the same operations on smaller arrays.

    d = np.empty((n, m))                     for i in range(n):
    for i in range(n):                           d = np.empty(m)
        for j in range(m): d[i, j] = ...         for j in range(m): d[j] = ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, TypeVar

from adjit.transform import ir
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type, array_type_of

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Smaller:
    """What stands for an array: that of `alloc`, without the axis `axis`, which has the extent `extent`."""

    axis: int
    extent: ir.Operand
    alloc: ir.Alloc


class Replaced:
    """Arrays that others of another rank stand for: what asks for the shape of one asks what it was made of.

    extents: what stands for the results of such questions
    """

    def __init__(self, allocs: Mapping[ir.Operand, ir.Alloc]):
        self.allocs = allocs
        self.extents: dict[ir.Var, ir.Operand] = {}

    def model(self, array: ir.Operand) -> ir.Alloc:
        """The operation that says of which shape the array was."""
        alloc = self.allocs[array]
        while alloc.like is not None and alloc.like in self.allocs:
            alloc = self.allocs[alloc.like]
        return alloc

    def asked(self, op: ir.Op) -> Sequence[ir.Op]:
        """The operation on what there is now, if it asks for the shape of such an array; none if that is an operand."""
        if isinstance(op, ir.Alloc) and op.like is not None and op.like in self.allocs:
            model = self.model(op.like)
            return [dataclasses.replace(op, like=model.like, shape=model.shape)]
        if not isinstance(op, ir.Extent) or op.array not in self.allocs:
            return [op]
        model = self.model(op.array)
        if model.like is not None:
            return [dataclasses.replace(op, array=model.like)]
        self.extents[op.out] = model.shape[op.axis]
        return []


def smaller(alloc: ir.Alloc, axis: int) -> Smaller:
    type_ = array_type_of(alloc.out)
    out = dataclasses.replace(alloc.out, type=array_type(type_.dtype, type_.ndim - 1))
    return Smaller(axis, alloc.shape[axis], dataclasses.replace(alloc, shape=_without(alloc.shape, axis), out=out))


def index_along(op: ir.Op, array: ir.Operand, axis: int) -> ir.Operand | None:
    """The one index along an axis that an operation touches of an array; None if there is no such index."""
    if isinstance(op, ir.Load) or (isinstance(op, ir.Store) and op.value is not array):
        return op.index[axis]
    if isinstance(op, ir.Slice):
        selector = [s for s in op.selectors if not isinstance(s, ir.NewAxis)][axis]
        return selector.index if isinstance(selector, ir.At) else None
    return None


def without_axes(ops: Iterable[ir.Op], found: Mapping[ir.Operand, Smaller]) -> list[ir.Op]:
    """The operations on the smaller arrays."""
    if not found:
        return list(ops)
    mapping: dict[ir.Var, ir.Operand] = {}
    made = [m for op in ops for m in _reindexed(op, found, mapping)]
    return [ir.substituted(op, mapping) for op in made] if mapping else made


def _reindexed(op: ir.Op, found: Mapping[ir.Operand, Smaller], mapping: dict[ir.Var, ir.Operand]) -> Iterator[ir.Op]:
    by = found.get(op.operands[0]) if isinstance(op, ir.Load | ir.Store | ir.Slice | ir.Extent) else None
    if by is None:
        regions = [ir.with_ops(r, [m for i in r.ops for m in _reindexed(i, found, mapping)]) for r in op.regions]
        yield ir.with_regions(op, regions)
        return
    array = by.alloc.out
    if isinstance(op, ir.Load):
        yield dataclasses.replace(op, array=array, index=_without(op.index, by.axis))
    elif isinstance(op, ir.Store):
        # what the user said of the elements is true of those of one trip no more
        yield dataclasses.replace(op, array=array, index=_without(op.index, by.axis), promised=False)
    elif isinstance(op, ir.Slice):
        axes = [k for k, s in enumerate(op.selectors) if not isinstance(s, ir.NewAxis)]
        made = dataclasses.replace(op, base=array, selectors=_without(op.selectors, axes[by.axis]))
        if made.out.type == array.type and all(s == ir.Span() for s in made.selectors):
            mapping[made.out] = array
        else:
            yield made
    elif isinstance(op, ir.Extent) and op.axis == by.axis:
        mapping[op.out] = by.extent
    elif isinstance(op, ir.Extent):
        yield dataclasses.replace(op, array=array, axis=op.axis - (op.axis > by.axis))


def _without(items: Sequence[_Item], place: int) -> tuple[_Item, ...]:
    return (*items[:place], *items[place + 1 :])


def contracted_tapes(function: ir.Function, place: int, trip: Collection[ir.Operand]) -> ir.Function:
    """Arrays that are used in the loop at `place` alone, always at the number of the trip, lose that axis."""
    ops = function.body.ops
    uses = function.analysis(Uses)

    def is_tape(op: ir.Op) -> TypeGuard[ir.Alloc]:
        if not isinstance(op, ir.Alloc) or op.fill is not None or len(op.shape) < 2 or op.out in uses.held:
            return False
        users = uses.users.get(op.out, ())
        return all(index_along(u, op.out, 0) in trip and ops[place] in uses.around[u] for u in users)

    found: dict[ir.Operand, Smaller] = {op.out: smaller(op, 0) for op in ops[:place] if is_tape(op)}
    made = [found[op.out].alloc if isinstance(op, ir.Alloc) and op.out in found else op for op in ops]
    return ir.with_body(function, ir.with_ops(function.body, without_axes(made, found)))
