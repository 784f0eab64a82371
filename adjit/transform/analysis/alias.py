"""Which array references may name the same memory, without regard to where in the function one stands.

In: a function. Out: `Aliases`, which gives each array and each tape its class; memory of two classes is disjoint.
Arguments are taken to be disjoint, as the runtime checks where one of them is written, but for those that the function
says may overlap.

    v = u[1:]            u and v are one class
    for ...: u, w = w, u     u and w are one class
    c = u.copy()         c is a class of its own
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adjit.transform import ir


class Aliases:
    """A union-find forest over the references of a function."""

    def __init__(self, function: ir.Function):
        self._above: dict[ir.Operand, ir.Operand] = {}
        for first, *others in function.overlapping:
            self._above.update(dict.fromkeys(others, first))
        targets: list[ir.Operand] = []
        for op in ir.walk(function.body):
            self.note(op)
            if (target := op.memory_written) is not None:
                targets.append(target)
        self.written = frozenset(map(self.find, targets))

    def note(self, op: ir.Op) -> None:
        """Takes in one more operation, such as a view made in a pass; what it looks at keeps its representative."""
        for name, memory in names_given(op):
            if ir.is_reference(name):
                self._above[self.find(name)] = self.find(memory)

    def find(self, operand: ir.Operand) -> ir.Operand:
        """The representative of the operand's class."""
        above = self._above
        top = operand
        while (step := above.get(top, top)) is not top:
            top = step
        while (step := above.get(operand, operand)) is not operand:
            above[operand] = top
            operand = step
        return top

    def stores(self, function: ir.Function) -> dict[ir.Operand, list[ir.Store]]:
        """The stores of the function, in order, by class."""
        found: dict[ir.Operand, list[ir.Store]] = {}
        for op in ir.walk(function.body):
            if isinstance(op, ir.Store):
                found.setdefault(self.find(op.array), []).append(op)
        return found

    def may_share(self, left: ir.Operand, right: ir.Operand) -> bool:
        return self.find(left) == self.find(right)

    def is_written(self, operand: ir.Operand) -> bool:
        """Whether anything in the function stores into memory that `operand` may name."""
        return self.find(operand) in self.written


def named_by(function: ir.Function, names: Iterable[ir.Operand]) -> set[ir.Operand]:
    """The references whose memory these names may stand for, themselves among them.

    Unlike a class it has a direction. Of what a loop hands on it has what was there before, not what has the same name
    at another time:

        for ...: y = a - x; y[0] = 1; x = y      y names what is made here, x also what was x before the loop
    """
    comes_from = function.analysis(_sources)
    found = set(names)
    pending = list(found)
    while pending:
        more = [memory for memory in comes_from.get(pending.pop(), ()) if memory not in found]
        found.update(more)
        pending.extend(more)
    return found


def _sources(function: ir.Function) -> dict[ir.Operand, list[ir.Operand]]:
    """What each reference may be a name of."""
    found: dict[ir.Operand, list[ir.Operand]] = {}
    for op in ir.walk(function.body):
        for name, memory in names_given(op):
            found.setdefault(name, []).append(memory)
    return found


def names_given(op: ir.Op) -> Iterable[tuple[ir.Operand, ir.Operand]]:
    """Pairs of operands of which `op` may make the first a name for memory of the second."""
    if type(op) in _NAME_NOTHING:
        return ()
    return _names_given(op)


# most operations, which are asked by the million
_NAME_NOTHING = frozenset((ir.Call, ir.Load, ir.Store, ir.Alloc, ir.Copy, ir.Comment))


def _names_given(op: ir.Op) -> Iterator[tuple[ir.Operand, ir.Operand]]:
    if isinstance(op, ir.VIEWS):
        yield op.out, op.base
    elif isinstance(op, ir.Push):
        if ir.is_reference(op.value):
            yield op.tape, op.value
    elif isinstance(op, ir.Pull):
        yield op.out, op.tape
    else:
        for name, *sources in ir.joined(op):
            for source in sources:
                yield name, source
