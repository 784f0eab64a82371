"""Operations moved into the one branch that reads them.

A value that only one branch needs is not computed, and not differentiated, when the other one runs; so a nan or an
infinity in it reaches nothing.

    a = np.arccos(2 * x)            if x < 0:
    if x < 0: y = y + a                 a = np.arccos(2 * x); y = y + a
"""

from __future__ import annotations

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.cost import is_cheap


def sink(function: ir.Function) -> ir.Function:
    """The function with pure operations on numbers moved into the branch that alone reads them."""
    return ir.with_body(function, _region(function.body))


def _region(region: ir.Region) -> ir.Region:
    ops = [ir.with_regions(op, [_region(r) for r in op.regions]) for op in region.ops]
    # last first, so that what an operation that moved was made of can follow it
    k = len(ops) - 1
    while k >= 0:
        op = ops[k]
        if _may_move(op):
            target = _only_branch(op.results, ops[k + 1 :], region.yields)
            if target is not None:
                place, side = target
                regions = list(ops[k + 1 + place].regions)
                regions[side] = ir.with_ops(regions[side], (op, *regions[side].ops))
                ops[k + 1 + place] = ir.with_regions(ops[k + 1 + place], regions)
                del ops[k]
        k -= 1
    return ir.with_ops(region, ops)


def _may_move(op: ir.Op) -> bool:
    if isinstance(op, ir.If):
        inner = [i for r in op.regions for i in ir.walk(r)]
        return bool(op.outs) and all(_is_pure_number(i) or isinstance(i, ir.If) for i in inner)
    # what costs nothing and is always finite for finite operands gains nothing by moving
    return _is_pure_number(op) and not _is_plain(op)


def _is_pure_number(op: ir.Op) -> bool:
    return (
        isinstance(op, ir.Call)
        and not op.effect
        and bool(op.outs)
        and not any(isinstance(o.type, types.Array | types.List) for o in (*op.args, *op.outs))
    )


def _is_plain(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) and is_cheap(op) and not ir.is_float(op.outs[0].type)


def _only_branch(
    results: tuple[ir.Var, ...], later: list[ir.Op], yields: tuple[ir.Operand, ...]
) -> tuple[int, int] | None:
    """Which later operation, and which of its two sides, reads any of the results; None if that is not one branch."""
    wanted = set(results)
    if wanted.intersection(y for y in yields if isinstance(y, ir.Var)):
        return None
    found: tuple[int, int] | None = None
    for place, op in enumerate(later):
        if not any(o in wanted for o in ir.reads(op)):
            continue
        if found is not None or not isinstance(op, ir.If) or any(o in wanted for o in op.operands):
            return None
        sides = [k for k, r in enumerate(op.regions) if _reads(r, wanted)]
        if len(sides) != 1:
            return None
        found = (place, sides[0])
    return found


def _reads(region: ir.Region, wanted: set[ir.Var]) -> bool:
    return any(y in wanted for y in region.yields) or any(o in wanted for op in region.ops for o in ir.reads(op))
