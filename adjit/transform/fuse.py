"""Loops whose forward and reverse trips run back to back, while the trip's values are still there.

In: a function with both sweeps. Out: the same, with a loop of the forward sweep and its mirror in one, where the trips
are independent but for sums and the adjoints that the mirror starts from are known before the loop.

    for i in range(n):                    for i in range(n):
        e = exp(x[i]); e_tape[i] = e          e = exp(x[i])
        total += e                            total += e
    for i in range(n - 1, -1, -1):            x_bar[i] += e * total_bar
        x_bar[i] += e_tape[i] * total_bar

What one trip tapes for itself loses the axis of the loop, or is no tape at all.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.alias import Aliases, memory_read
from adjit.transform.independence import is_sum
from adjit.transform.polyhedra import IndexModel
from adjit.transform.types import array_type, array_type_of, typed_const


def fuse(
    function: ir.Function, shadows: Mapping[ir.Operand, ir.Var], scratch: Mapping[ir.Operand, Sequence[ir.For]]
) -> ir.Function:
    """`shadows` has the shadow of each array that has one, `scratch` the arrays with a part for each trip of a loop."""
    while True:
        fusion = _Fusion(function, shadows, scratch)
        for a, b in fusion.pairs():
            detached = fusion.detached(a, b)
            candidate = fusion if detached is function else _Fusion(detached, shadows, scratch)
            fused = candidate.fused_at(a, b)
            if fused is not None:
                function = fused
                break
        else:
            return function


def unpaired(op: ir.Op) -> ir.Op:
    """The operation without pairs of loops in it, for a copy that is put elsewhere."""
    if not op.regions:
        return op
    regions = [ir.Region(r.args, tuple(unpaired(i) for i in r.ops), r.yields) for r in op.regions]
    op = op.rebuilt(op.operands, regions, op.results)
    return dataclasses.replace(op, pair=None, is_mirror=False) if isinstance(op, ir.For) else op


class _Effects:
    """What an operation and all inside it read, overwrite and add to, by alias class, and the variables it reads."""

    def __init__(self, op: ir.Op, aliases: Aliases):
        self.reads: set[ir.Operand] = set()
        self.writes: set[ir.Operand] = set()
        self.adds: set[ir.Operand] = set()
        self.ordered = False
        for inner in (op, *(i for r in op.regions for i in ir.walk(r))):
            self.reads.update(aliases.find(a) for a in memory_read(inner))
            if isinstance(inner, ir.Store):
                (self.adds if inner.add else self.writes).add(aliases.find(inner.array))
            elif isinstance(inner, ir.Push):
                self.writes.add(aliases.find(inner.tape))
            self.ordered = self.ordered or isinstance(inner, ir.Raise) or (isinstance(inner, ir.Call) and inner.effect)
        self.uses = {o for o in ir.reads(op) if isinstance(o, ir.Var)}
        self.makes = set(op.results)

    def conflicts(self, other: _Effects) -> bool:
        """Whether the two may not change places. Additions to the same memory may."""
        mine, theirs = self.reads | self.adds, other.reads | other.adds
        return bool(
            self.writes & (theirs | other.writes)
            or mine & other.writes
            or self.adds & other.reads
            or self.reads & other.adds
            or self.uses & other.makes
            or self.makes & other.uses
            or (self.ordered and other.ordered)
        )


class _Fusion:
    def __init__(
        self,
        function: ir.Function,
        shadows: Mapping[ir.Operand, ir.Var],
        scratch: Mapping[ir.Operand, Sequence[ir.For]],
    ):
        self.function = function
        self.ops = list(function.body.ops)
        self.aliases = Aliases(function)
        self.effects = [_Effects(op, self.aliases) for op in self.ops]
        self.primal_of = {self.aliases.find(s): self.aliases.find(p) for p, s in shadows.items()}
        self.parts = {self.aliases.find(array): loops for array, loops in scratch.items()}
        self.allocated = {op.out: op for op in ir.walk(function.body) if isinstance(op, ir.Alloc)}
        self.users: dict[ir.Operand, list[ir.Op]] = {}
        self.loads: dict[ir.Operand, list[ir.Load]] = {}
        for op in ir.walk(function.body):
            for operand in (*op.operands, *(y for r in op.regions for y in r.yields)):
                self.users.setdefault(operand, []).append(op)
            if isinstance(op, ir.Load):
                self.loads.setdefault(self.aliases.find(op.array), []).append(op)

    @functools.cached_property
    def index_model(self) -> IndexModel:
        return IndexModel(self.function)

    def pairs(self) -> list[tuple[int, int]]:
        """The loops of the forward sweep that have a mirror, and these."""
        forward = {
            op.pair: k for k, op in enumerate(self.ops) if isinstance(op, ir.For) and op.pair and not op.is_mirror
        }
        mirrors = [(op.pair, k) for k, op in enumerate(self.ops) if isinstance(op, ir.For) and op.is_mirror]
        return [(forward[pair], k) for pair, k in mirrors if pair in forward]

    def fused_at(self, a: int, b: int) -> ir.Function | None:
        """The function with the pair fused, None if that cannot be."""
        moved = self.movable(a, b)
        return self.fused(a, b, moved) if moved is not None and self.is_legal(a, b) else None

    def detached(self, a: int, b: int) -> ir.Function:
        """The function with the sums of the mirror at `b` starting from zero, if they start from what `a` leaves."""
        mirror = self.ops[b]
        assert isinstance(mirror, ir.For)
        late = {out for op in self.ops[a:b] for out in op.results}
        inits, outs, adds = list(mirror.inits), list(mirror.outs), []
        for k, init in enumerate(mirror.inits):
            arg = mirror.body.args[1 + k]
            if init in late and ir.is_float(arg.type) and _is_sum(arg, mirror.body.yields[k], mirror.body):
                inits[k] = typed_const(0, arg.type)
                outs[k] = dataclasses.replace(mirror.outs[k])
                adds.append(ir.Call(callee=operator.add, args=(init, outs[k]), outs=(mirror.outs[k],)))
        if not adds:
            return self.function
        ops = list(self.ops)
        ops[b : b + 1] = [dataclasses.replace(mirror, inits=tuple(inits), outs=tuple(outs)), *adds]
        old = self.function.body
        return dataclasses.replace(self.function, body=ir.Region(old.args, tuple(ops), old.yields))

    # --------------------------------------------------------------------------------------------------- legality

    def movable(self, a: int, b: int) -> set[int] | None:
        """The operations in between that have to run before the fused loop; None if one of them cannot."""
        mirror = self.effects[b]
        wanted = {k for k in range(a + 1, b) if self.effects[k].conflicts(mirror)}
        pending = list(wanted)
        while pending:
            k = pending.pop()
            for earlier in range(a + 1, k):
                if earlier not in wanted and self.effects[earlier].conflicts(self.effects[k]):
                    wanted.add(earlier)
                    pending.append(earlier)
        if mirror.uses & self.effects[a].makes or any(self.effects[k].conflicts(self.effects[a]) for k in wanted):
            return None
        return wanted

    def is_legal(self, a: int, b: int) -> bool:
        loop, mirror = self.ops[a], self.ops[b]
        assert isinstance(loop, ir.For)
        assert isinstance(mirror, ir.For)
        if loop.stops or mirror.stops or self.effects[b].ordered:
            return False
        args = mirror.body.args[1:]
        if not all(_is_sum(arg, y, mirror.body) for arg, y in zip(args, mirror.body.yields, strict=True)):
            return False
        forward, reverse = self.effects[a], self.effects[b]
        stored = reverse.writes | (reverse.adds & reverse.reads)
        for memory in stored:
            if memory in self.primal_of:
                # the shadow of what a trip makes for itself is zero again at the end of the trip
                owner = self.primal_of[memory]
                if self.is_own(memory, mirror) or loop.pair in self.parts.get(owner, ()):
                    continue
                if owner in forward.writes and self.is_private(owner, loop, a, b):
                    continue
                return False
            # memory of the primal that is put back: the next trip of the forward loop must not look at it
            if not self.is_private(memory, loop, a, b):
                return False
        return True

    def is_private(self, memory: ir.Operand, loop: ir.For, a: int, b: int) -> bool:
        """Whether each trip writes all that it reads of this memory first, and nobody reads it afterwards."""
        for k in range(a + 1, len(self.ops)):
            if k != b and memory in self.effects[k].reads | self.effects[k].adds:
                return False
        if any(self.aliases.find(y) == memory for y in self.function.body.yields if ir.is_array(y)):
            return False
        return self.index_model.is_private(memory, loop, lambda op: self.is_saving(op, memory))

    def is_saving(self, op: ir.Op, memory: ir.Operand) -> bool:
        """Whether a load only saves what is overwritten, to be put back: of what nobody reads, any value will do."""
        if not isinstance(op, ir.Load) or self.aliases.find(op.array) != memory:
            return False
        for saver in self.users.get(op.out, ()):
            if not isinstance(saver, ir.Store) or saver.value is not op.out or saver.array not in self.allocated:
                return False
            tape = self.aliases.find(saver.array)
            for load in self.loads.get(tape, ()):
                for user in self.users.get(load.out, ()):
                    if not isinstance(user, ir.Store) or user.value is not load.out:
                        return False
                    if self.aliases.find(user.array) != memory:
                        return False
        return True

    def is_own(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip touches elements of its own: some index is the counter, on the same axis everywhere."""
        counter = loop.body.args[0]
        axes: set[int] | None = None
        for op in ir.walk(loop.body):
            if isinstance(op, ir.Load | ir.Store) and self.aliases.find(op.array) == memory:
                here = {axis for axis, i in enumerate(op.index) if i is counter}
                axes = here if axes is None else axes & here
                if op.array not in self.allocated:
                    return False
            elif any(ir.is_array(o) and self.aliases.find(o) == memory for o in op.operands):
                return False
        return bool(axes)

    # ------------------------------------------------------------------------------------------------------ fusing

    def fused(self, a: int, b: int, moved: set[int]) -> ir.Function:
        loop, mirror = self.ops[a], self.ops[b]
        assert isinstance(loop, ir.For)
        assert isinstance(mirror, ir.For)
        counter = loop.body.args[0]
        mapping: dict[ir.Var, ir.Operand] = {mirror.body.args[0]: counter}
        second = [ir.substituted(op, mapping) for op in mirror.body.ops]
        body = ir.Region(
            (*loop.body.args, *mirror.body.args[1:]),
            (*loop.body.ops, ir.Comment(text=ir.REVERSE_TRIP), *second),
            (*loop.body.yields, *(ir.substituted_operand(y, mapping) for y in mirror.body.yields)),
        )
        made = dataclasses.replace(
            loop,
            inits=(*loop.inits, *mirror.inits),
            body=body,
            outs=(*loop.outs, *mirror.outs),
            pair=None,
            # the trips share what they tape for themselves, so in a derivative of this loop their order matters
            order_free=False,
        )
        before = [op for k, op in enumerate(self.ops) if k < a or k in moved]
        after = [op for k, op in enumerate(self.ops) if k > a and k != b and k not in moved]
        ops = _contracted([*before, made, *after], len(before))
        old = self.function.body
        return dataclasses.replace(self.function, body=ir.Region(old.args, tuple(ops), old.yields))


def _is_sum(arg: ir.Var, yielded: ir.Operand, body: ir.Region) -> bool:
    """Whether a carried value is only added to, so that the order of the trips does not matter (up to rounding)."""
    return (yielded is arg or isinstance(arg.type, types.Float)) and is_sum(arg, yielded, body)


def _contracted(ops: Sequence[ir.Op], place: int) -> list[ir.Op]:
    """Tapes that are used in the loop at `place` alone, always at the number of the trip, lose that axis."""
    loop = ops[place]
    assert isinstance(loop, ir.For)
    tapes = {op.out: op for op in ops[:place] if isinstance(op, ir.Alloc) and op.fill is None and len(op.shape) > 1}
    firsts: dict[ir.Var, set[ir.Operand]] = {}
    for k, op in enumerate(ops):
        for inner in (op, *(i for r in op.regions for i in ir.walk(r))):
            for operand in inner.operands:
                if not isinstance(operand, ir.Var) or operand not in tapes:
                    continue
                is_element = isinstance(inner, ir.Load) or (isinstance(inner, ir.Store) and inner.value is not operand)
                if k != place or not is_element:
                    tapes.pop(operand)
                    continue
                assert isinstance(inner, ir.Load | ir.Store)
                firsts.setdefault(operand, set()).add(inner.index[0])
    trip = {loop.body.args[0]} | {
        out
        for op in loop.body.ops
        if isinstance(op, ir.Call) and op.callee is operator.sub and op.args == (loop.body.args[0], loop.start)
        for out in op.outs
    }
    smaller: dict[ir.Operand, ir.Var] = {
        t: ir.Var(t.name, array_type(array_type_of(t).dtype, len(op.shape) - 1))
        for t, op in tapes.items()
        if firsts.get(t, {None}) <= trip
    }
    made: list[ir.Op] = []
    for op in ops:
        if isinstance(op, ir.Alloc) and op.out in smaller:
            made.append(dataclasses.replace(op, shape=op.shape[1:], out=smaller[op.out]))
        else:
            made.append(_reindexed(op, smaller))
    return made


def _reindexed(op: ir.Op, smaller: Mapping[ir.Operand, ir.Var]) -> ir.Op:
    if not smaller:
        return op
    if isinstance(op, ir.Load | ir.Store) and op.array in smaller:
        return dataclasses.replace(op, array=smaller[op.array], index=op.index[1:])
    if not op.regions:
        return op
    regions = [ir.Region(r.args, tuple(_reindexed(i, smaller) for i in r.ops), r.yields) for r in op.regions]
    return op.rebuilt(op.operands, regions, op.results)
