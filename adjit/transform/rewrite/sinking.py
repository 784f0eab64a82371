"""Operations moved into the one branch that reads them.

A value that only one branch needs is not computed, and not differentiated, when the other one runs; so a nan or an
infinity in it reaches nothing.

    a = np.arccos(2 * x)            if x < 0:
    if x < 0: y = y + a                 a = np.arccos(2 * x); y = y + a
"""

from __future__ import annotations

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
    return _is_pure_number(op) and (ir.is_float(op.results[0].type) or not is_cheap(op))


def _is_pure_number(op: ir.Op) -> bool:
    is_pure = isinstance(op, ir.Call) and not op.effect and bool(op.outs)
    return is_pure and not any(map(ir.is_reference, (*op.operands, *op.results)))


def _only_branch(
    results: tuple[ir.Var, ...], later: list[ir.Op], yields: tuple[ir.Operand, ...]
) -> tuple[int, int] | None:
    """Which later operation, and which of its two sides, reads any of the results; None if that is not one branch."""
    wanted: set[ir.Operand] = set(results)
    if not wanted.isdisjoint(yields):
        return None
    found: tuple[int, int] | None = None
    for place, op in enumerate(later):
        if wanted.isdisjoint(op.reads):
            continue
        if found is not None or not isinstance(op, ir.If) or op.condition in wanted:
            return None
        sides = [k for k, side in enumerate(op.regions) if _reads(side, wanted)]
        if len(sides) != 1:
            return None
        found = (place, sides[0])
    return found


def _reads(region: ir.Region, wanted: set[ir.Operand]) -> bool:
    return not all(map(wanted.isdisjoint, (region.yields, *(op.reads for op in region.ops))))
