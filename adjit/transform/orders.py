"""Which views may be copies in NumPy: its arrays take the order of others, and here all are in C order.

In: a function with notes of the orders of arrays (`Ordered`) and of what is a view of what is in order (`Detached`).
Out: the notes of those that may not be in order.

    b = a * 2.0        with `a` in Fortran order, so is NumPy's b
    c = b + 1.0        and c
    d = a[:, [0, 1]]   in whatever order
    r = c.ravel()      a view here, a copy there
"""

from __future__ import annotations

from collections.abc import Iterable

from adjit.transform import ir
from adjit.transform.memories import Names
from adjit.transform.types import array_type_of


def in_doubt(function: ir.Function, views: Iterable[ir.Detached]) -> set[ir.Detached]:
    """Those of the views of which the base may lie in another order than C."""
    orders = _Orders(function)
    while any(orders.look_at(note) for note in orders.notes):
        pass
    return {view for view in views if orders.names.memory(view.base) & orders.loose}


class _Orders:
    """What is known of the order of each array; `loose`: the fresh ones that may not be in C order."""

    def __init__(self, function: ir.Function):
        self.names = Names(function)
        self.notes = [op for op in ir.walk(function.body) if isinstance(op, ir.Ordered)]
        # whatever numba says, and whatever they are views of
        self.in_c_order = {note.array for note in self.notes if not note.like and not note.is_free}
        for array in self.in_c_order:
            self.names.sources.pop(array, None)
        self.turned = {op.out for op in ir.walk(function.body) if isinstance(op, ir.Transpose)}
        self.loose: set[ir.Operand] = set()

    def look_at(self, note: ir.Ordered) -> bool:
        """Whether the note tells of another array."""
        if not note.is_free and all(map(self.is_sorted, note.like)):
            return False
        # what a function gives back of its arguments is not made by it
        made = self.names.memory(note.array).difference(*map(self.names.memory, note.like)) - self.loose
        self.loose |= made
        return bool(made)

    def is_sorted(self, operand: ir.Operand) -> bool:
        """Whether the strides are those of C order, perhaps with gaps or backwards: what is made like it is C."""
        seen, waiting = {operand}, [operand]
        while waiting:
            here = waiting.pop()
            type_ = array_type_of(here)
            if type_.layout == "C":
                if self.names.memory(here) & self.loose:
                    return False
            elif here not in self.in_c_order and type_.ndim > 1:
                sources = self.names.sources.get(here)
                if sources is None or here in self.turned:
                    return False
                waiting += [s for s in sources if s not in seen]
                seen.update(sources)
        return True
