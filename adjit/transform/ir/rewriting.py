"""Regions rewritten: what is not changed stays the object it is.

In: a region, and what stands for each operation. Out: the region with that.

    rewritten(body, lambda op: () if isinstance(op, Comment) else op)          without comments, at any depth
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from adjit.transform.ir.core import Function, Op, Operand, Region, Var

_Op = TypeVar("_Op", bound=Op)


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
    return op if same(regions, op.regions) else op.rebuilt(op.operands, regions, op.results)


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
        if isinstance(found, Op):
            ops.append(found)
        else:
            ops += found
    return with_ops(region, ops)


def rewritten_op(op: Op, make: Callable[[Op], Op]) -> Op:
    """As `rewritten`, of an operation and what is inside it."""
    return make(with_regions(op, [rewritten(inner, make) for inner in op.regions]))
