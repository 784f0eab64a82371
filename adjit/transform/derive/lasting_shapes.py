"""An array of the same shape that is there for longer, so that a shadow need not keep the array itself alive.

w = v.copy()                                     w is like v
for _ in range(n): v = <an array like v>         v is, in each trip, like what it was before the loop
for _ in range(n): v = <an array like x>         and where it was nothing, like x
"""

from __future__ import annotations

from adjit.transform import ir


class Likeness:
    def __init__(self, function: ir.Function):
        self._made = function.body.made
        self._slots: dict[ir.Var, tuple[ir.For | ir.While, int]] = {}
        self._inside: dict[ir.Op, set[ir.Var]] = {}
        for op in ir.walk(function.body):
            if isinstance(op, ir.For | ir.While):
                self._slots.update((arg, (op, k)) for k, arg in enumerate(ir.carried_args(op)))

    def of(self, array: ir.Var) -> ir.Var:
        """The array itself, or one that was there before the loops that carry it."""
        while True:
            source = self._source(array)
            if source is not None:
                array = source
                continue
            slot = self._slots.get(array)
            if slot is None:
                return array
            op, k = slot
            before = op.inits[k]
            if isinstance(before, ir.Var) and isinstance(self._made.get(before), ir.Undefined):
                # the trip before made it, and there is none that could have been there before the loop
                origin = self._origin(op.body.yields[k])
                if not isinstance(origin, ir.Var) or self._is_inside(origin, op):
                    return array
                array = origin
                continue
            if not isinstance(before, ir.Var) or self._origin(op.body.yields[k]) is not array:
                return array
            array = before

    def extents(self, array: ir.Var) -> tuple[ir.Operand, ...] | None:
        """The extents of an array that only the trip before made, where they are the same in each trip."""
        if array not in self._slots:
            return None
        op, k = self._slots[array]
        before, made = op.inits[k], op.body.yields[k]
        if not isinstance(before, ir.Var) or not isinstance(self._made.get(before), ir.Undefined):
            return None
        alloc = self._made.get(made) if isinstance(made, ir.Var) else None
        if not isinstance(alloc, ir.Alloc) or alloc.like is not None:
            return None
        return None if any(isinstance(n, ir.Var) and self._is_inside(n, op) for n in alloc.shape) else alloc.shape

    def _is_inside(self, var: ir.Var, loop: ir.For | ir.While) -> bool:
        """Whether a trip of the loop makes it."""
        if loop not in self._inside:
            ops = loop.body.inside
            own = [loop.body.args, *(op.results for op in ops), *(r.args for op in ops for r in op.regions)]
            self._inside[loop] = {v for group in own for v in group}
        return var in self._inside[loop]

    def _origin(self, array: ir.Operand) -> ir.Operand:
        """Back through copies, as far as they go."""
        while isinstance(array, ir.Var) and (source := self._source(array)) is not None:
            array = source
        return array

    def _source(self, array: ir.Var) -> ir.Var | None:
        """The array that this one was made as large as."""
        op = self._made.get(array)
        if isinstance(op, ir.Copy):
            return op.source if isinstance(op.source, ir.Var) else None
        if not isinstance(op, ir.Alloc):
            return None
        if op.like is not None:
            return op.like
        extents = [self._made.get(n) if isinstance(n, ir.Var) else None for n in op.shape]
        if not extents or not all(isinstance(e, ir.Extent) for e in extents):
            return None
        arrays = {e.array for e in extents if isinstance(e, ir.Extent)}
        axes = [e.axis for e in extents if isinstance(e, ir.Extent)]
        (source,) = arrays if len(arrays) == 1 else (None,)
        same_rank = isinstance(source, ir.Var) and getattr(source.type, "ndim", -1) == len(axes)
        return source if isinstance(source, ir.Var) and same_rank and axes == list(range(len(axes))) else None
