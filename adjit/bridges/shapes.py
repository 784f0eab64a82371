"""The shapes of what a function returns, before it runs.

In: a function's IR, and what is known of its arguments: numbers, and the extents of arrays. Out: the extents of its
results, None for those that only a call tells.

    u = np.zeros((n, 3))                          (n, 3), where n is known
    for t in range(steps): u = u + dt * slope     what a loop hands on keeps its extents, if a trip leaves them so
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjit.transform import ir
from adjit.transform.analysis.extents import ndim
from adjit.transform.explain import Shaped, Sizes

Extents = tuple[int | None, ...]


def extents_of_results(function: ir.Function, values: Mapping[ir.Var, Any]) -> list[Extents]:
    """The extents of each result; `values`: of the leaves of the parameters, as far as they are known."""
    reader = _Reader(function, values)
    reader.region(function.body)
    return [reader.extents(operand) for operand in function.body.yields]


class _Reader:
    def __init__(self, function: ir.Function, values: Mapping[ir.Var, Any]) -> None:
        self.known: dict[ir.Var, Any] = dict(values)
        self.sizes = Sizes(function, lambda var: var.name, self.known)

    def extents(self, operand: ir.Operand) -> Extents:
        if not ir.is_array(operand):
            return ()
        return tuple(self.sizes.extent(operand, axis).value for axis in range(ndim(operand)))

    def region(self, region: ir.Region) -> None:
        for op in region.ops:
            if isinstance(op, ir.For | ir.While):
                self.loop(op)
                continue
            for inner in op.regions:
                self.region(inner)
            if isinstance(op, ir.If):
                ends = zip(op.outs, op.then.yields, op.orelse.yields, strict=True)
                self.note(
                    (out, self.extents(one)) for out, one, other in ends if self.extents(one) == self.extents(other)
                )

    def loop(self, op: ir.For | ir.While) -> None:
        """By induction over the trips: an array is as long as it was, unless a trip that begins so changes that."""
        carried = [
            (arg, out, init, k)
            for k, (arg, out, init) in enumerate(zip(ir.carried_args(op), op.outs, op.inits, strict=True))
        ]
        kept = [one for one in carried if ir.is_array(one[0])]
        while True:
            before = dict(self.known)
            self.note((arg, self.extents(init)) for arg, _, init, _ in kept)
            for inner in op.regions:
                self.region(inner)
            left = [one for one in kept if self.extents(op.body.yields[one[3]]) == self.extents(one[2])]
            if len(left) == len(kept):
                break
            # what was found inside rests on what does not hold
            self.known.clear()
            self.known.update(before)
            kept = left
        self.note((out, self.extents(init)) for _, out, init, _ in kept)

    def note(self, found: Any) -> None:
        self.known.update({var: Shaped(extents) for var, extents in found if extents and None not in extents})
