"""Which memory an array may be in, along all paths: what it began as, in the words of the program.

In: a function. Out: for an operand, the operation results, arguments and constants that its memory began as.

    if c: b = np.zeros(3)         memory(v) is {%zeros, %a}
    else: b = a
    v = b[1:]
"""

from __future__ import annotations

from adjit.transform import ir


class Names:
    """Which memory an operand may name, by the operation results, arguments and constants that memory began as."""

    def __init__(self, function: ir.Function):
        self.sources: dict[ir.Operand, list[ir.Operand]] = {}
        self.carried: set[ir.Operand] = set()
        self.known: dict[ir.Operand, frozenset[ir.Operand]] = {}
        for op in ir.walk(function.body):
            self.note(op)

    def note(self, op: ir.Op) -> None:
        if isinstance(op, ir.VIEWS):
            self.sources[op.out] = [op.base]
        elif isinstance(op, ir.Push):
            self.sources.setdefault(op.tape, []).append(op.value)
        elif isinstance(op, ir.Pull):
            self.sources[op.out] = [op.tape]
        else:
            self.carried.update(*(region.args for region in op.regions))
            self.sources.update((name, [one, other]) for name, one, other in ir.joined(op))

    def memory(self, operand: ir.Operand) -> frozenset[ir.Operand]:
        if operand not in self.known:
            seen, waiting = {operand}, [operand]
            while waiting:
                for source in self.sources.get(waiting.pop(), ()):
                    if source not in seen:
                        seen.add(source)
                        waiting.append(source)
            self.known[operand] = frozenset(o for o in seen if o not in self.sources or isinstance(o, ir.Const))
        return self.known[operand]

    def is_last(self, operand: ir.Operand, made: ir.Operand) -> bool:
        """Whether the memory, if it was made as `made`, is what was made there last: no loop has handed it on."""
        if operand in self.carried:
            return False
        naming = [s for s in self.sources.get(operand, ()) if made in self.memory(s)]
        return all(self.is_last(s, made) for s in naming)
