"""What is inside an operation or a region, and others like it: rewritten, or copied with other operands.

In: an operation or a region. Out: what it holds, or one like it; what is not changed stays the object it is.

    walk(body)           every operation, outer before inner
    rewritten(body, lambda op: () if isinstance(op, Comment) else op)          without comments, at any depth
    Cloner({%x: %z})     the same operations on %z in the place of %x, with fresh results
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from numba import types

from adjit.transform.ir.control import For, with_slots
from adjit.transform.ir.core import Function, Op, Operand, Region, Type, Var, is_kind
from adjit.transform.ir.memory import VIEWS

_Op = TypeVar("_Op", bound=Op)


def walk(region: Region) -> Iterator[Op]:
    """Every operation, outer before inner, in order."""
    return iter(region.inside)


def with_inner(op: Op) -> Iterator[Op]:
    """An operation and all that is inside it."""
    yield op
    for region in op.regions:
        yield from region.inside


def regions(region: Region) -> Iterator[Region]:
    """The region and all regions in it, outer before inner."""
    yield region
    for op in region.ops:
        for inner in op.regions:
            yield from regions(inner)


def reads(op: Op) -> Iterator[Operand]:
    """Every operand of `op` and of what is inside it, yields included."""
    return iter(op.reads)


def free_vars(region: Region) -> list[Var]:
    """Variables that are read inside and defined outside, in order of first reading."""
    operands = (*(operand for op in region.ops for operand in op.reads), *region.yields)
    return list(dict.fromkeys(o for o in operands if isinstance(o, Var) and o not in region.defines))


def is_float(type_: Type) -> bool:
    """Whether values of this type carry a derivative: a float, or an array of floats."""
    if is_kind(type(type_), types.Array):
        type_ = type_.dtype  # type: ignore[attr-defined]
    return is_kind(type(type_), types.Float)


def base_of(array: Operand, made: Mapping[Any, Op]) -> Operand:
    """The array that views look into, as far as the operations that make them are known."""
    while isinstance(view := made.get(array), VIEWS):
        array = view.base
    return array


def name_of(operand: Operand, otherwise: str) -> str:
    """What the operand is called; a literal has no name."""
    return operand.name if isinstance(operand, Var) else otherwise


def names_like(name: str, mark: str = "") -> Iterator[str]:
    """`name`, then name_2, name_3, ...; `mark` stands before the number."""
    yield name
    count = 2
    while True:
        yield f"{name}_{mark}{count}"
        count += 1


def same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether both hold the very same objects."""
    return len(left) == len(right) and all(map(operator.is_, left, right))


def with_ops(region: Region, ops: Sequence[Op], yields: Sequence[Operand] | None = None) -> Region:
    """The region with these operations, and these yields if there are any; itself if they are its own."""
    yields = region.yields if yields is None else yields
    is_same = same(ops, region.ops) and same(yields, region.yields)
    return region if is_same else Region(region.args, tuple(ops), tuple(yields))


def with_regions(op: _Op, regions: Sequence[Region]) -> _Op:
    """The operation with these regions; itself if they are its own."""
    return op if not op.regions or same(regions, op.regions) else op.rebuilt(op.operands, regions, op.results)


def with_parts(op: _Op, operands: Sequence[Operand], regions: Sequence[Region], results: Sequence[Var]) -> _Op:
    """The operation with these parts; itself if they are its own."""
    if same(operands, op.operands) and same(regions, op.regions) and same(results, op.results):
        return op
    return op.rebuilt(operands, regions, results)


def with_body(function: Function, body: Region) -> Function:
    """The function with this body; itself if it is its own."""
    return function if body is function.body else dataclasses.replace(function, body=body)


def rewritten(region: Region, make: Callable[[Op], Op | Sequence[Op]]) -> Region:
    """The region with what `make` gives in the place of each operation, the innermost first."""
    ops: list[Op] = []
    for op in region.ops:
        found = make(with_regions(op, [rewritten(inner, make) for inner in op.regions]) if op.regions else op)
        ops += [found] if isinstance(found, Op) else found
    return with_ops(region, ops)


def rewritten_op(op: Op, make: Callable[[Op], Op]) -> Op:
    """As `rewritten`, of an operation and what is inside it."""
    return make(with_regions(op, [rewritten(inner, make) for inner in op.regions]))


def replaced(region: Region, instead: Mapping[Op, Sequence[Op]]) -> Region:
    """The region with other operations in the place of some, at any depth, also inside those that take a place.

    What is not changed stays the object it is.
    """
    ops: list[Op] = []
    for op in region.ops:
        for made in instead.get(op, (op,)):
            ops.append(with_regions(made, [replaced(inner, instead) for inner in made.regions]))
    return with_ops(region, ops)


def unpaired(op: Op) -> Op:
    """The operation without pairs of loops in it, for a copy that is put elsewhere."""
    return with_loops(op, pair=None, is_mirror=False)


def with_loops(op: Op, **fields: Any) -> Op:
    """The operation with these fields in it and the loops inside it."""
    return rewritten_op(op, lambda inner: dataclasses.replace(inner, **fields) if isinstance(inner, For) else inner)


def with_trips_of(first: For, second: For, between: Sequence[Op] = (), **fields: Any) -> For:
    """The first loop, which does in a trip what the second does there as well, after its own; with these fields."""
    mapping: Mapping[Var, Operand] = {second.body.args[0]: first.body.args[0]}
    slots = [slot._replace(yielded=substituted_operand(slot.yielded, mapping)) for slot in second.slots]
    ops = (*first.body.ops, *between, *(substituted(op, mapping) for op in second.body.ops))
    return with_slots(first, slots, ops, **fields)


class Cloner:
    """Copies of operations with fresh results; operands are looked up in `mapping` and otherwise kept."""

    def __init__(self, mapping: Mapping[Var, Operand] | None = None):
        self.mapping: dict[Var, Operand] = dict(mapping or {})

    def operand(self, operand: Operand) -> Operand:
        return self.mapping.get(operand, operand) if isinstance(operand, Var) else operand

    def fresh(self, var: Var) -> Var:
        made = dataclasses.replace(var)
        self.mapping[var] = made
        return made

    def op(self, op: Op) -> Op:
        operands = [self.operand(o) for o in op.operands]
        regions = [self.region(r) for r in op.regions]
        return op.rebuilt(operands, regions, [self.fresh(r) for r in op.results])

    def region(self, region: Region) -> Region:
        args = tuple(self.fresh(a) for a in region.args)
        ops = tuple(self.op(o) for o in region.ops)
        return Region(args, ops, tuple(self.operand(y) for y in region.yields))


def substituted_operand(operand: Operand, mapping: Mapping[Var, Operand]) -> Operand:
    return mapping.get(operand, operand) if isinstance(operand, Var) else operand


def substituted(op: Op, mapping: Mapping[Var, Operand]) -> Op:
    """The same operation, results included, with other operands, inside its regions too."""
    if not mapping:
        return op
    operands = [substituted_operand(o, mapping) for o in op.operands]
    return op.rebuilt(operands, [substituted_region(r, mapping) for r in op.regions], op.results)


def substituted_region(region: Region, mapping: Mapping[Var, Operand]) -> Region:
    """The region with other operands in it."""
    ops = tuple(substituted(op, mapping) for op in region.ops)
    return Region(region.args, ops, tuple(substituted_operand(y, mapping) for y in region.yields))
