"""Additions of all trips to the same few elements, as sums that the loop carries.

In: a function. Out: the same, in which what trips that run at the same time add to an element that is the same in all
of them is added up in a variable, through branches and inner loops, and goes into the element once.

    for i in range(n):                                sum_0 = sum_1 = 0.0
        if x[i] > 0.0:                                for i in range(n):
            for k in range(2):                            if x[i] > 0.0: sum_0 += v[i, 0]; sum_1 += v[i, 1]
                h[k] += v[i, k]                       if 0 < h.shape[0]: h[0] += sum_0
                                                      if 1 < h.shape[0]: h[1] += sum_1

Inner loops that are short, known while compiling, are written out for that. Nobody knows whether a trip got to an
addition, so it is looked first whether the element is there.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import touched
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial
from adjit.transform.analysis.outlined_region import alone
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.gpu.blocks.block_operations import around_block, axes_in, stretches
from adjit.transform.gpu.blocks.conflicts import meeting
from adjit.transform.ir.types import array_type_of, typed_const
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked

MOST_SUMS = 32  # of a loop: each is a register in the thread
MOST_TRIPS, MOST_OPERATIONS = 16, 512  # of loops that are written out


def sum_uniform(function: ir.Function) -> ir.Function:
    """The function with such additions as sums."""
    short: dict[ir.Op, Sequence[ir.Op]] = {
        op: _written_out(op) for loop in together(function) for op in _short(function, loop)
    }
    if short:
        function = checked(simplify(ir.with_body(function, ir.replaced(function.body, short))), "written out")
    while True:
        made = _once(function)
        if made is function:
            return function
        function = checked(simplify(made), "uniform sums")


def together(function: ir.Function) -> list[ir.For]:
    """The outermost loops whose trips run at the same time."""
    sharings = LoopDependences(function)

    def found(region: ir.Region) -> list[ir.For]:
        loops: list[ir.For] = []
        for op in region.ops:
            if isinstance(op, ir.For) and (op.level is not None or _adds(op, sharings)):
                loops.append(op)
            else:
                loops += [loop for inner in op.regions for loop in found(inner)]
        return loops

    return found(function.body)


def _adds(loop: ir.For, sharings: LoopDependences) -> bool:
    if not any(isinstance(op, ir.Store) and op.add for op in loop.body.inside):
        return False
    shared = sharings.of(loop)
    return not isinstance(shared, Serial) and bool(shared.added or shared.shared)


# ---------------------------------------------------------------------------------------------------------- written out


def _short(function: ir.Function, loop: ir.For) -> list[ir.For]:
    """Short loops inside, the counter of which is all that tells elements apart that are added to."""
    found: list[ir.For] = []
    for inner in loop.body.inside:
        trips = literal_trips(inner) if isinstance(inner, ir.For) and inner.level is None else None
        if trips is None or not isinstance(inner, ir.For):
            continue
        size = len(trips) * len(inner.body.inside)
        is_short = len(trips) <= MOST_TRIPS and size <= MOST_OPERATIONS
        known = {inner.body.args[0]}
        if is_short and any(inner.body.args[0] in store.index for store in uniform_additions(function, loop, known)):
            found.append(inner)
    return [op for op in found if not any(op in other.body.inside for other in found)]


def _written_out(loop: ir.For) -> list[ir.Op]:
    """The trips one after the other."""
    trips = literal_trips(loop)
    assert trips is not None
    ops: list[ir.Op] = []
    values = loop.inits
    for trip in trips:
        cloner = ir.Cloner(dict(zip(loop.body.args, (ir.integer(trip), *values), strict=True)))
        ops += map(cloner.op, loop.body.ops)
        values = tuple(map(cloner.operand, loop.body.yields))
    for out, value in zip(loop.outs, values, strict=True):
        ops.append(ir.Call(callee=ir.cast, args=(value,), outs=(out,), origin=loop.origin))
    return ops


# ----------------------------------------------------------------------------------------------------------------- sums


def _once(function: ir.Function) -> ir.Function:
    """The function with the sums of one loop, itself if there are none."""
    for loop in together(function):
        for inner in (*stretches(loop.body), loop):
            found = uniform_additions(function, inner, ())
            elements: dict[object, list[ir.Store]] = {}
            for store in found:
                elements.setdefault((store.array, store.index), []).append(store)
            if elements and inner.level is not None:
                axes = around_block(inner) if inner.level == "blocks" else [inner, *axes_in(inner)]
                shared = meeting(alone(function, inner), axes, function.analysis(Aliases))
                elements = {key: stores for key, stores in elements.items() if shared.intersection(stores)}
            if elements and len(elements) <= MOST_SUMS:
                made = _carrying(inner, list(elements.values()))
                return ir.with_body(function, ir.replaced(function.body, {inner: made}))
    return function


def uniform_additions(function: ir.Function, loop: ir.For, known: Collection[ir.Var]) -> list[ir.Store]:
    """The additions in a loop to elements that are the same in all trips, in memory that they only add to.

    known: counters that are taken to be literals
    """
    aliases = function.analysis(Aliases)
    inside = loop.body.defines - set(known)
    others: set[ir.Operand] = set()
    for op in loop.body.inside:
        if isinstance(op, ir.Store) and op.add:
            continue
        if not isinstance(op, ir.Extent):
            named = (*touched(op), *(o for o in (*op.operands, *op.results) if ir.is_reference(o)))
            others.update(aliases.find(o) for o in named)
    return [
        op
        for op in loop.body.inside
        if isinstance(op, ir.Store)
        and op.add
        and aliases.find(op.array) not in others
        and isinstance(array_type_of(op.array).dtype, types.Float)
        and not any(o in inside for o in (op.array, *op.index))
    ]


def _carrying(loop: ir.For, elements: Sequence[Sequence[ir.Store]]) -> list[ir.Op]:
    """The loop with a sum for each element, and the additions of those."""
    after = ir.Builder()
    for stores in elements:
        first = stores[0]
        zero = typed_const(0, array_type_of(first.array).dtype)
        total = ir.Var(f"{ir.name_of(first.array, 'array')}_sum", zero.type)
        out = dataclasses.replace(total)
        ops, last = _with_sum(loop.body.ops, set(stores), total)
        loop = ir.with_slots(loop, [ir.Slot(zero, total, last, out)], ops)
        after.origin = first.origin
        _add(after, first, out)
    return [loop, *after.ops]


def _add(builder: ir.Builder, store: ir.Store, total: ir.Operand) -> None:
    """The addition of a sum, if the element is there."""
    tests: list[ir.Operand] = []
    for axis, index in enumerate(store.index):
        extent = builder.extent(store.array, axis)
        tests.append(builder.call(operator.lt, index, extent, type=types.boolean, name="is_there"))
        if not isinstance(index, ir.Const) or index.value < 0:
            end = builder.call(operator.neg, extent, type=types.intp, name="end")
            tests.append(builder.call(operator.ge, index, end, type=types.boolean, name="is_there"))
    made: Sequence[ir.Op] = [dataclasses.replace(store, value=total)]
    for test in reversed(tests):
        made = [ir.If(condition=test, then=ir.Region((), tuple(made), ()), origin=store.origin)]
    for op in made:
        builder.emit(op)


def _with_sum(ops: Sequence[ir.Op], stores: set[ir.Store], total: ir.Var) -> tuple[list[ir.Op], ir.Var]:
    """The operations with what is added to an element added to a number, and what that is in the end."""
    builder = ir.Builder()
    value = total
    for op in ops:
        if isinstance(op, ir.Store) and op in stores:
            builder.origin = op.origin
            value = builder.call(operator.add, value, op.value, type=total.type, name=total.name)
        elif not any(isinstance(inner, ir.Store) and inner in stores for inner in ir.with_inner(op)):
            builder.ops.append(op)
        elif isinstance(op, ir.If):
            sides = [_with_sum(region.ops, stores, value) for region in op.regions]
            regions = [
                ir.Region((), tuple(inner), (*region.yields, last))
                for region, (inner, last) in zip(op.regions, sides, strict=True)
            ]
            out = dataclasses.replace(total)
            builder.ops.append(op.rebuilt((op.condition,), regions, (*op.outs, out)))
            value = out
        else:
            assert isinstance(op, ir.For | ir.While)
            arg, out = dataclasses.replace(total), dataclasses.replace(total)
            inner, last = _with_sum(op.body.ops, stores, arg)
            builder.ops.append(ir.with_slots(op, [ir.Slot(value, arg, last, out)], inner))
            value = out
    return builder.ops, value
