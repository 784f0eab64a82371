"""Arrays that a loop only passes round among themselves, and that are therefore never one and the same.

In: a function. Out: `Separation`, which says of two variables of one loop whether they name different memory.

    u, v = a.copy(), b.copy()
    for t in range(n):
        ...                      u and v are apart here, and after the loop
        u, v = v, u
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.transform import ir

_FRESH = (ir.Alloc, ir.Copy, ir.Call)


class Separation:
    def __init__(self, function: ir.Function):
        self._params = frozenset(function.body.args)
        self._made = function.body.made
        self._group: dict[ir.Operand, int] = {}  # variables of one number are apart from each other
        for op in ir.walk(function.body):
            if isinstance(op, ir.For | ir.While):
                self._note(op)

    def are_apart(self, left: ir.Operand, right: ir.Operand) -> bool:
        """Whether the memory of two arrays is surely different, as long as both are there."""
        if left is right:
            return False
        if self._is_own(left) and self._is_own(right):
            return True
        group = self._group.get(left)
        return group is not None and group == self._group.get(right)

    def _is_own(self, array: ir.Operand) -> bool:
        return array in self._params or isinstance(self._made.get(array) if isinstance(array, ir.Var) else None, _FRESH)

    def _note(self, op: ir.For | ir.While) -> None:
        """Slots that start apart and that each trip hands on in another order, or as they are."""
        slots = [k for k, out in enumerate(op.outs) if ir.is_array(out)]
        args, yields = ir.carried_args(op), op.body.yields
        while True:
            kept = [k for k in slots if yields[k] in [args[j] for j in slots]]
            kept = [k for k in kept if [yields[j] for j in kept].count(yields[k]) == 1]
            if kept == slots:
                break
            slots = kept
        if any(not self.are_apart(op.inits[j], op.inits[k]) for j in slots for k in slots if j < k):
            return
        bodies: list[Sequence[ir.Var]] = [args, op.outs]
        if isinstance(op, ir.While):
            bodies.append(op.test.args)
        for variables in bodies:
            number = len(self._group)
            self._group.update((variables[k], number) for k in slots)
