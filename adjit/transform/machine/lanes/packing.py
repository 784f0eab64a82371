"""Arrays of which a block of trips is worth copying with the lanes along the last axis.

In: a loop whose trips go in lanes. Out: such arrays, and the axis along which the trips go through each.

    for i in range(n):                            for j in range(d):
        for k in range(m):                            for lane in range(lanes):
            for j in range(d):                            x_turned[j, lane] = x_block[lane, j]
                s[k] += x[i, j] * w[k, j]

Elements of neighbouring lanes are apart in memory, and are fetched one by one. Where that would be done again and again
the block is copied once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from adjit.transform import ir
from adjit.transform.ir.types import array_type_of
from adjit.transform.machine.lanes.uniformity import Uniformity

Loops = tuple[ir.For, ...]
TurnedKind = Literal["read", "own", "summed"]
_Uses = list[tuple[ir.Load | ir.Store, Loops]]


def turned_axes(uniformity: Uniformity) -> dict[ir.Var, tuple[int, TurnedKind]]:
    """The arrays to copy, the axis of each that the loop's counter runs along, and what becomes of the copy.

    Elements of arrays that are stored to, each trip to its own, go back at the end of the block; what is added to
    elements is added up apart.
    """
    body = uniformity.loop.body
    accesses: dict[ir.Operand, _Uses] = {}
    for op, loops in _accesses(body, (), uniformity):
        accesses.setdefault(op.array, []).append((op, loops))
    found: dict[ir.Var, tuple[int, TurnedKind]] = {}
    for array, uses in accesses.items():
        if not isinstance(array, ir.Var) or array in body.made or uniformity.is_laned(array):
            continue
        is_stored = any(isinstance(op, ir.Store) for op, _ in uses)
        shared = uniformity.trips.kinds.get(uniformity.aliases.find(array))
        is_summed = shared == "summed"
        if is_stored and shared not in ("own", "summed"):
            continue
        # what is the same for all lanes stands beside, and may only be read there, or added to what is added to
        together = [op for op, _ in uses if not any(map(uniformity.differs, op.index))]
        if any(op not in uniformity or (is_stored and not is_summed) for op in together):
            continue
        uses = [(op, loops) for op, loops in uses if op not in together]
        axes = {tuple(k for k, i in enumerate(op.index) if uniformity.differs(i)) for op, _ in uses}
        (axis,) = axes.pop() if len(axes) == 1 and all(len(a) == 1 for a in axes) else (None,)
        if axis is None or any(op.index[axis] is not body.args[0] for op, _ in uses):
            continue
        kind: TurnedKind = "read" if not is_stored else "summed" if is_summed else "own"
        type_ = array_type_of(array)
        if axis != (0 if type_.layout == "F" else type_.ndim - 1) and _is_worth_it(uses, axis, kind == "own"):
            found[array] = axis, kind
    return found


def _is_worth_it(uses: _Uses, axis: int, goes_back: bool) -> bool:
    """Whether elements are fetched more often than copied, in loops that go through most of what is copied."""
    runs_through = any(_runs_through(op, {around.body.args[0]: around for around in loops}, axis) for op, loops in uses)
    again = any(around.body.args[0] not in op.index for op, loops in uses for around in loops)
    return runs_through and (again or len(uses) > 1 + goes_back)


def _runs_through(op: ir.Load | ir.Store, loops: dict[ir.Operand, ir.For], axis: int) -> bool:
    """Whether an access goes along all axes but that of the lanes, and no loop for it is short for sure.

    An axis on which it stands still, such as that of an outer loop, would be copied for nothing.
    """
    around = [loops.get(index) for k, index in enumerate(op.index) if k != axis]
    moving = [loop for loop in around if loop is not None]
    is_long = any(isinstance(loop.stop, ir.Var) or isinstance(loop.start, ir.Var) for loop in moving)
    return len(moving) == len(around) and is_long


def _accesses(region: ir.Region, loops: Loops, uniformity: Uniformity) -> Iterator[tuple[ir.Load | ir.Store, Loops]]:
    """Loads and stores with the loops around them that all lanes make together."""
    for op in region.ops:
        if isinstance(op, ir.Load | ir.Store):
            yield op, loops
        is_around = isinstance(op, ir.For) and op in uniformity and uniformity.kind(op) == "together"
        for inner in op.regions:
            yield from _accesses(inner, (*loops, op) if is_around and isinstance(op, ir.For) else loops, uniformity)
