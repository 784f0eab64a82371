"""What was made in a trip of a loop and is used after the loop, by a function that holds it.

In: a function as IR. Out: nothing, or the refusal.

    for v in x:
        scaled = lambda u, v=v: u * v
    return scaled(2.0)                  reads the `v` of the last trip, which the loop does not hand on
"""

from __future__ import annotations

from collections.abc import Collection

from adjit import errors
from adjit.transform import ir


def check_trips(function: ir.Function) -> None:
    """Refuses the use of what is known in the trips of a loop alone."""
    _check(function.body, set())


def _check(region: ir.Region, known: set[ir.Operand]) -> None:
    """known: what is there where the region begins, and afterwards what was made in it."""
    known.update(region.args)
    origin: ir.Origin | None = None
    for op in region.ops:
        origin = op.origin or origin
        _check_operands(op.operands, known, origin)
        for inner in op.regions:
            _check(inner, known)
        if isinstance(op, ir.For | ir.While):
            for inner in op.regions:
                known -= inner.defines
        known.update(op.results)
    _check_operands(region.yields, known, origin)


def _check_operands(operands: Collection[ir.Operand], known: set[ir.Operand], origin: ir.Origin | None) -> None:
    if any(isinstance(one, ir.Var) and one not in known for one in operands):
        raise errors.Unsupported(
            "a function that is defined in one iteration of a loop and called in another, or after the loop",
            ir.place_of(origin),
            "It reads values of its iteration, which the loop does not keep.",
            "Keep the values in variables, and define the function where it is called.",
        )
