"""Whether the trips of a loop are independent, so that they may run in any order or at the same time.

In: a function and a loop in it. Out: yes where it is proved that no trip touches an element that another one stores to;
two trips may both add to one, unless the question is whether each adds to elements of its own.

    for i in range(1, n): v[i] = u[i - 1]        independent
    for i in range(1, n): u[i] = u[i - 1]        not
    for i in range(1, n): u_bar[i - 1] += v_bar[i];  u_bar[i] += v_bar[i]      but for sums
"""

from __future__ import annotations

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.sums import carries_adjoint_sums


class Independence:
    """Answers for one function."""

    def __init__(self, function: ir.Function, model: IndexModel):
        self._model = model
        self._aliases = function.analysis(Aliases)

    def holds(self, loop: ir.For, but_for_sums: bool = True) -> bool:
        """Whether the trips are independent; `but_for_sums`: two of them may add to the same element.

        In the reverse sweep, where order is of no account, they may add to what the loop carries.
        """
        if loop.stops or (loop.inits and not carries_adjoint_sums(loop)):
            return False
        inside = loop.body.inside
        if any(isinstance(op, ir.Push | ir.Raise) or (isinstance(op, ir.Call) and op.effect) for op in inside):
            return False
        stores = [op for op in inside if isinstance(op, ir.Store)]
        return not any(self._meet(loop, op, store, but_for_sums) for store in stores for op in inside)

    def _meet(self, loop: ir.For, op: ir.Op, store: ir.Store, but_for_sums: bool) -> bool:
        if isinstance(op, ir.Store):
            if but_for_sums and op.add and store.add:
                return False
            touched: tuple[ir.Operand, ...] = (op.array,)
        else:
            touched = op.memory_read
        if all(self._aliases.are_distinct(array, store.array) for array in touched):
            return False
        return self._model.may_meet_in_other_trip(loop, op, store)
