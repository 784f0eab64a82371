"""Sums of a few terms, known while compiling, written out, so that the loop around them is an innermost one.

In: a function that is ready to be emitted. Out: the same, in which the compiler behind us runs several trips of such
loops at once. It would write the sums out, too, but only after it has looked for such loops.

    for i in range(n):                       for i in range(n):
        total = 0.0                              y[i] = 0.0 + x[i, 0] + x[i, 1]
        for k in range(2):
            total += x[i, k]
        y[i] = total

What else there is of short loops beside such a sum is written out with it.
"""

from __future__ import annotations

from adjit.transform import ir

MOST_TRIPS, MOST_OPERATIONS = 4, 64


def write_out(function: ir.Function) -> ir.Function:
    """The function with its short sums inside of loops written out."""
    return (
        ir.with_body(function, _region(function.body, False)) if any(map(_is_sum, function.body.inside)) else function
    )


def _region(region: ir.Region, in_loop: bool) -> ir.Region:
    """`in_loop`: right inside of a loop that has such sums."""
    ops: list[ir.Op] = []
    known: dict[ir.Var, ir.Operand] = {}  # by results of loops that are written out
    for op in region.ops:
        op = ir.substituted(op, known)
        trips = _few_trips(op) if in_loop else None
        is_loop = isinstance(op, ir.For | ir.While)
        inside = any(map(_is_sum, op.regions[-1].ops)) if is_loop and trips is None else in_loop
        op = ir.with_regions(op, [_region(inner, inside) for inner in op.regions])
        if isinstance(op, ir.For) and trips is not None and _is_small(op, len(trips)):
            values = op.inits
            for trip in trips:
                cloner = ir.Cloner(dict(zip(op.body.args, (ir.integer(trip), *values), strict=True)))
                ops += map(cloner.op, op.body.ops)
                values = tuple(map(cloner.operand, op.body.yields))
            known.update(zip(op.outs, values, strict=True))
        else:
            ops.append(op)
    return ir.with_ops(region, ops, [ir.substituted_operand(y, known) for y in region.yields])


def _is_sum(op: ir.Op) -> bool:
    return bool(op.results) and _few_trips(op) is not None


def _few_trips(op: ir.Op) -> range | None:
    """The trips of a loop that has few, for certain; None of others."""
    if not isinstance(op, ir.For) or op.stops or op.parallel or op.over_chunks or op.snapshots is not None:
        return None
    ends = [int(end.value) for end in (op.start, op.stop, op.step) if isinstance(end, ir.Const)]
    trips = range(*ends) if len(ends) == 3 and ends[2] else None
    return trips if trips is not None and len(trips) <= MOST_TRIPS else None


def _is_small(loop: ir.For, trips: int) -> bool:
    inside = loop.body.inside
    has_more = any(isinstance(op, ir.For | ir.While | ir.Alloc) for op in inside)
    return not has_more and trips * len(inside) <= MOST_OPERATIONS
