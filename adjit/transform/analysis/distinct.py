"""Which array references never name the same memory while both are in scope.

In: a function, two references in it. Out: whether their memory is disjoint. `alias.py` puts arrays that a loop swaps in
one class; here two names of that class are told apart, by induction over the trips.

    u, v = a.copy(), a.copy()
    for _ in range(n): u, v = v, u       u and v are never one array
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases

_FRESH = (ir.Alloc, ir.Copy, ir.Call)


@dataclass(frozen=True)
class _Source:
    """Where a reference comes from: result or argument number `slot` of `op`, which stands at `depth` and `order`."""

    op: ir.Op | None
    slot: int
    is_arg: bool
    depth: int
    order: int

    @property
    def is_fresh(self) -> bool:
        return isinstance(self.op, _FRESH)


class Distinct:
    """Answers for one function. Memory of two arguments is disjoint, as `Aliases` takes it to be."""

    def __init__(self, function: ir.Function, aliases: Aliases):
        self._aliases = aliases
        self._sources: dict[ir.Operand, _Source] = {p: _Source(None, 0, False, 0, 0) for p in function.body.args}
        self._around: dict[ir.Op, ir.Op | None] = {}
        self._walk(function.body, None, 1)

    def _walk(self, region: ir.Region, owner: ir.Op | None, depth: int) -> None:
        for op in region.ops:
            self._around[op] = owner
            for slot, out in enumerate(op.results):
                self._sources[out] = _Source(op, slot, False, depth, len(self._sources))
            for inner in op.regions:
                first = 1 if isinstance(op, ir.For) else 0
                for slot, arg in enumerate(inner.args[first:]):
                    self._sources[arg] = _Source(op, slot, True, depth + 1, len(self._sources))
                self._walk(inner, op, depth + 1)

    def are_distinct(self, one: ir.Operand, other: ir.Operand) -> bool:
        """Whether the two are disjoint for certain, wherever both are in scope."""
        return not self._aliases.may_share(one, other) or self._holds(one, other, frozenset())

    def _holds(self, one: ir.Operand, other: ir.Operand, assumed: frozenset[frozenset[ir.Operand]]) -> bool:
        one, other = self._base(one), self._base(other)
        pair = frozenset((one, other))
        if pair in assumed:
            return True
        a, b = self._sources.get(one), self._sources.get(other)
        if one is other or a is None or b is None:
            return False
        assumed |= {pair}
        if a.op is b.op and a.is_arg == b.is_arg and isinstance(a.op, ir.For | ir.While | ir.If):
            before = zip(self._before(a), self._before(b), strict=True)
            return all(self._holds(x, y, assumed) for x, y in before)
        if self._is_older(a, b) or self._is_older(b, a):
            return True
        if (a.depth, a.order) < (b.depth, b.order):
            one, other, a, b = other, one, b, a
        # the inner one first, of two in one region the later: what it is made of is then in scope beside the other
        for source, rest in ((a, other), (b, one)):
            if isinstance(source.op, ir.For | ir.While | ir.If):
                return all(self._holds(x, rest, assumed) for x in self._before(source))
            if not source.is_fresh and source.op is not None:
                return False
        return True

    def _base(self, array: ir.Operand) -> ir.Operand:
        """The array that a view looks into."""
        source = self._sources.get(array)
        while source is not None and isinstance(source.op, ir.VIEWS):
            array = source.op.base
            source = self._sources.get(array)
        return array

    def _before(self, source: _Source) -> list[ir.Operand]:
        """What a result of a branch or a value carried by a loop may be."""
        assert source.op is not None
        # results come first
        _, *before = list(ir.joined(source.op))[source.slot]
        return before

    def _is_older(self, a: _Source, b: _Source) -> bool:
        """Whether `a` is carried by a loop in which `b` is made anew, so that it was there before."""
        if not a.is_arg or not b.is_fresh:
            return False
        around = self._around[b.op] if b.op is not None else None
        while around is not None and around is not a.op:
            around = self._around[around]
        return around is not None
