"""Which arrays may lie in another order in NumPy: its arrays take the order of others, and here all are in C order.

In: a function with notes of the orders of arrays (`Ordered`). Out: `Orders`, which knows those that may not be in
C order; a view of one of them may be a copy.

    b = a * 2.0        with `a` in Fortran order, so is NumPy's b
    c = b + 1.0        and c
    d = a[:, [0, 1]]   in whatever order
    r = c.ravel()      a view here, a copy there
"""

from __future__ import annotations

from adjit.transform import ir
from adjit.transform.analysis.alias import Names
from adjit.transform.ir.types import array_type_of


class Orders:
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
        while any(self.look_at(note) for note in self.notes):
            pass

    def is_in_doubt(self, array: ir.Operand) -> bool:
        """Whether the array, or what it is a view of, may lie in another order than C."""
        return bool(self.names.memory(array) & self.loose)

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
