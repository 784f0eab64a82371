"""The mirror of a region in the making: what stands for the values of the primal, and what its loops carry.

In: a region of the primal. Out: the operations of its reverse, and where growable tapes stand before and after it.
"""

from __future__ import annotations

from numba import types

from adjit.transform import ir


class Scope:
    """The mirror of one region while it is lowered: what stands for the values of the primal region so far."""

    def __init__(self, region: ir.Region, mapping: dict[ir.Var, ir.Operand]):
        self.region = region
        self.mapping = mapping
        self.ops: list[ir.Op] = []
        # growable tapes below here: the position to start from, and the one left at the end
        self.positions: dict[ir.Region, tuple[ir.Var, ir.Operand]] = {}
        # up to which operation of the region stores are not undone yet
        self.undone = len(region.ops)


class Carried:
    """What a reverse loop carries."""

    def __init__(self, args: list[ir.Var], inits: list[ir.Operand], yields: list[ir.Operand], outs: list[ir.Var]):
        self.args, self.inits, self.yields, self.outs = args, inits, yields, outs

    def add_position(self, entry: ir.Var, left: ir.Operand) -> tuple[ir.Var, ir.Operand]:
        """One more slot, for the position in a growable tape; gives where it comes from and where it ends."""
        before, out = ir.Var("position", types.intp), ir.Var("position", types.intp)
        self.args.append(entry)
        self.inits.append(before)
        self.yields.append(left)
        self.outs.append(out)
        return before, out
