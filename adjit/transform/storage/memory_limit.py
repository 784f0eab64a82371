"""What a limit in bytes leaves for snapshots, beside the other arrays that a derivative makes.

In: a function with both sweeps. Out: the same, with the bytes of its other arrays taken off the limit, as far as their
sizes are known when snapshots are allotted.

    snapshots = fitting_snapshots(n, 30000000, 8 * m)        fitting_snapshots(n, 30000000 - 4 * (8 * m), 8 * m)
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Mapping, Set

from numba import types

from adjit.runtime.library import fitting_snapshots
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Iterations
from adjit.transform.analysis.alias import Names
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.affine_ops import Writer


def leave_room(function: ir.Function) -> ir.Function:
    """The function with snapshots in what its other arrays leave of the limit; several loops bear an equal part."""
    calls = [op for op in function.body.ops if isinstance(op, ir.Call) and op.callee is fitting_snapshots]
    if not calls:
        return function
    iterations, names = function.analysis(Iterations), Names(function)
    known: set[object] = set(function.body.args)
    instead: dict[ir.Op, list[ir.Op]] = {}
    for op in function.body.ops:
        if op in calls:
            assert isinstance(op, ir.Call)
            trips, limit, each = op.args
            writer = Writer(op.origin)
            others = _bytes(writer, _sizes(function, iterations, known))
            if others is not None and len(calls) > 1:
                others = writer.call(operator.floordiv, others, ir.integer(len(calls)), type=types.intp, name="part")
            if others is not None:
                room = writer.call(operator.sub, limit, others, type=types.intp, name="room")
                instead[op] = [*writer.ops, dataclasses.replace(op, args=(trips, room, each))]
        known.update(out for out in op.results if not _is_partly_undefined(out, names, function.body.made))
    return dataclasses.replace(function, body=ir.replaced(function.body, instead))


def _is_partly_undefined(operand: ir.Operand, names: Names, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether it has no value where some branch was not taken, or is an extent of what has none."""
    makers = [made.get(origin) for origin in names.memory(operand)]
    extents = [op.array for op in makers if isinstance(op, ir.Extent)]
    is_undefined = any(isinstance(op, ir.Undefined) for op in makers)
    return is_undefined or any(_is_partly_undefined(array, names, made) for array in extents)


def _sizes(
    function: ir.Function, iterations: Iterations, known: Set[object]
) -> Counter[tuple[int, tuple[Affine, ...]]]:
    """How many arrays there are of an item's size and these extents, snapshots aside, as far as they are known."""
    found: Counter[tuple[int, tuple[Affine, ...]]] = Counter()
    for op in ir.walk(function.body):
        role = op.role if isinstance(op, ir.Alloc) else None
        if not isinstance(op, ir.Alloc | ir.Copy) or (role is not None and role.kind == "snapshots"):
            continue
        type_ = array_type_of(op.out)
        extents = [_extent(iterations, op.out, axis, known) for axis in range(type_.ndim)]
        if hasattr(type_.dtype, "bitwidth") and all(extent is not None for extent in extents):
            shape = tuple(extent for extent in extents if extent is not None)
            found[type_.dtype.bitwidth // 8, shape] += 1
    return found


def _extent(iterations: Iterations, array: ir.Var, axis: int, known: Set[object]) -> Affine | None:
    extent = iterations.extent(array, axis)
    found = None if extent is None else iterations.in_variables(extent)
    if found is not None and len(found.terms) == 1 and found.constant == 0:
        # what is at least so long: max(n + 2, 4)
        (symbol,) = found.terms
        definition = iterations.definitions.get(symbol) if isinstance(symbol, ir.Var) else None
        if isinstance(definition, ir.Call) and definition.callee is max and symbol not in known:
            inner = iterations.value(definition.args[0])
            found = None if inner is None else iterations.in_variables(inner)
    if found is None:
        return None
    arrays_or_numbers = [symbol[0] if isinstance(symbol, tuple) else symbol for symbol in found.terms]
    return found if all(symbol in known for symbol in arrays_or_numbers) else None


def _bytes(writer: Writer, sizes: Counter[tuple[int, tuple[Affine, ...]]]) -> ir.Operand | None:
    """The sum over all arrays; None if there are none."""
    total: ir.Operand | None = None
    for (item, shape), count in sizes.items():
        size: ir.Operand = ir.integer(item)
        for extent in shape:
            size = writer.call(operator.mul, size, writer.integer(extent), type=types.intp, name="size")
        if count > 1:
            size = writer.call(operator.mul, ir.integer(count), size, type=types.intp, name="sizes")
        total = size if total is None else writer.call(operator.add, total, size, type=types.intp, name="bytes")
    return total
