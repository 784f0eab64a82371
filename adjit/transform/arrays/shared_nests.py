"""Array statements that work out the same twice: the second takes what the first one made.

In: a function whose array statements are nests of loops. Out: the same without nests that do what an earlier one of the
same region did, to memory that nothing has changed since. An array that only such a nest stores into goes with it.

    mean = x.mean(axis=0)                    mean = x.mean(axis=0)
    deviation = x.std(axis=0)                deviation = np.sqrt(np.mean((x - mean) ** 2, axis=0))

Loops that the user wrote stay, and so do arrays that the user calls by two names, or that go anywhere but into loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.uses import Uses
from adjit.transform.rewrite.simplify import renamed


def share_nests(function: ir.Function) -> ir.Function:
    """The function with each of these made once."""
    sharing = _Sharing(function)
    body = sharing.region(function.body)
    return ir.with_body(function, renamed(body, sharing.names) if sharing.names else body)


class _Sharing:
    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.names: dict[ir.Operand, ir.Var] = {}  # by array of ours: the user's name of one that was the same
        self.known: dict[ir.Var, ir.Operand] = {}  # by what is not made any more: what is there in its place
        self.versions: Counter[ir.Operand] = Counter()  # how often each memory may have been stored to so far
        self.writers: dict[ir.Operand, list[ir.Op]] = {}
        for op in function.body.inside:
            if op.memory_written is not None:
                self.writers.setdefault(self.aliases.find(op.memory_written), []).append(op)
        held = filter(ir.is_reference, function.analysis(Uses).held)
        self.held = set(map(self.aliases.find, held))

    def region(self, region: ir.Region) -> ir.Region:
        made: dict[Hashable, tuple[ir.Var, ...]] = {}
        allocs: dict[ir.Operand, ir.Alloc] = {}  # arrays that nothing has touched yet, by memory
        ops: list[ir.Op] = []
        has_more = sum(isinstance(op, ir.For) for op in region.ops) > 1
        for given in region.ops:
            op = ir.substituted(given, self.known)
            if isinstance(op, ir.Alloc):
                allocs[self.aliases.find(op.out)] = op
            found = self.nest(op, given.regions[0].inside, allocs) if has_more and isinstance(op, ir.For) else None
            theirs = None if found is None else made.setdefault(*found)
            if found is not None and theirs is not None and theirs is not found[1] and self.are_one(found[1], theirs):
                continue
            ops.append(ir.with_regions(op, [self.region(inner) for inner in op.regions]))
            for inner in ir.with_inner(op):
                for array in inner.memory_read:
                    allocs.pop(self.aliases.find(array), None)
                if inner.memory_written is not None:
                    memory = self.aliases.find(inner.memory_written)
                    allocs.pop(memory, None)
                    self.versions[memory] += 1
        # the user's name is on the earlier one now
        names = set(self.names.values())
        ops = [op for op in ops if not isinstance(op, ir.Alloc) or op.out not in names]
        return ir.with_ops(region, ops, [ir.substituted_operand(y, self.known) for y in region.yields])

    def are_one(self, ours: tuple[ir.Var, ...], theirs: tuple[ir.Var, ...]) -> bool:
        """Takes the earlier results for the later ones, unless the user has a name for each."""
        pairs = list(zip(ours, theirs, strict=True))
        if any(our.user and (their.user or their in self.names) and our.name != their.name for our, their in pairs):
            return False
        self.names.update((their, our) for our, their in pairs if our.user and not their.user)
        self.known.update(pairs)
        return True

    def nest(
        self, loop: ir.For, inside: Sequence[ir.Op], allocs: Mapping[ir.Operand, ir.Alloc]
    ) -> tuple[Hashable, tuple[ir.Var, ...]] | None:
        """What equal nests have in common, and what this one makes; None of one that is not shared.

        `inside`: its operations, as they were given.
        """
        written = {self.aliases.find(op.memory_written) for op in loop.body.inside if op.memory_written is not None}
        if not written:
            key = _Key(self).of(loop)
            return None if key is None or not loop.outs else (key, loop.outs)
        memory = written.pop()
        alloc = allocs.get(memory)
        if written or alloc is None or alloc.like is not None or loop.outs or memory in self.held:
            return None
        if not set(self.writers[memory]) <= set(inside):
            return None
        key = _Key(self, alloc.out).of(loop)
        return None if key is None else ((alloc.out.type, alloc.shape, alloc.fill, key), (alloc.out,))


class _Key:
    """What a nest does, with its own variables numbered as they come."""

    def __init__(self, sharing: _Sharing, own: ir.Var | None = None):
        self.sharing = sharing
        self.numbers: dict[ir.Operand, int] = {} if own is None else {own: 0}
        self.own = own

    def of(self, op: ir.Op) -> Hashable | None:
        """None for an operation that has to happen as often as it is written, or is the user's own loop."""
        match op:
            case ir.For():
                if op.stops or op.snapshots is not None or op.body.args[0].user:
                    return None
                kind: Hashable = (op.order_free, op.parallel)
            case ir.Call(effect=False):
                kind = (ir.canonical(op.callee), op.options)
            case ir.Load():
                is_own = op.array is self.own
                kind = None if is_own else self.sharing.versions[self.sharing.aliases.find(op.array)]
            case ir.Store():
                if op.array is not self.own:
                    return None
                kind = op.add
            case ir.If():
                kind = None
            case _:
                return None
        operands = tuple(map(self.operand, op.operands))
        inner = tuple(map(self.region, op.regions))
        results = tuple(map(self.result, op.results))
        return None if None in inner else (type(op), kind, operands, inner, results)

    def region(self, region: ir.Region) -> Hashable | None:
        args = tuple(map(self.result, region.args))
        ops = [self.of(op) for op in region.ops if not isinstance(op, ir.Comment)]
        return None if None in ops else (args, tuple(ops), tuple(map(self.operand, region.yields)))

    def operand(self, operand: ir.Operand) -> Hashable:
        return self.numbers.get(operand, operand)

    def result(self, result: ir.Var) -> Hashable:
        return self.numbers.setdefault(result, len(self.numbers)), result.type
