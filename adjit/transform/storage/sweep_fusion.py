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

import copy
import dataclasses
import functools
import operator

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.effects import Effects, needed_before
from adjit.transform.analysis.sums import is_sum
from adjit.transform.ir.types import typed_const
from adjit.transform.rewrite.array_contraction import contracted_tapes
from adjit.transform.rewrite.notes import Scheduled, note
from adjit.transform.storage.primal import Joint, roots


def fuse(function: ir.Function, joint: Joint) -> ir.Function:
    """`function` is that of `joint`, simplified."""
    while True:
        fusion = _Fusion(function, joint)
        apart: list[Scheduled] = []
        for pair, a, b in fusion.pairs():
            fused = fusion.detached(a, b).fused_at(a, b)
            if isinstance(fused, ir.Function):
                function = fused
                note(Scheduled(pair, "fused"))
                break
            apart.append(Scheduled(pair, "apart", fused))
        else:
            note(*apart)
            return function


class _Fusion:
    def __init__(self, function: ir.Function, joint: Joint):
        self.function = function
        self.primal = joint.primal
        self.ops = list(function.body.ops)
        self.aliases = function.analysis(Aliases)
        self.effects_of = functools.cache(functools.partial(Effects, aliases=self.aliases))
        self.primal_of = {self.aliases.find(s): self.aliases.find(p) for p, s in joint.shadows.items()}
        self.parts = {self.aliases.find(array): loops for array, loops in joint.scratch.items()}
        # arrays that are no part of another one
        self.whole = {op.out for op in ir.walk(function.body) if isinstance(op, ir.Alloc)}
        self.whole |= set(function.body.args).difference(*function.overlapping)
        # where memory is made
        self.roots = roots(function, self.aliases)

    def pairs(self) -> list[tuple[object, int, int]]:
        """What a loop of the forward sweep and its mirror have in common, and the two."""
        loops = [(op, k) for k, op in enumerate(self.ops) if isinstance(op, ir.For) and op.pair]
        forward = {op.pair: k for op, k in loops if not op.is_mirror}
        return [(op.pair, forward[op.pair], k) for op, k in loops if op.is_mirror and op.pair in forward]

    def loop(self, k: int) -> ir.For:
        op = self.ops[k]
        assert isinstance(op, ir.For)
        return op

    def effects(self, k: int) -> Effects:
        return self.effects_of(self.ops[k])

    def fused_at(self, a: int, b: int) -> ir.Function | str:
        """The function with the pair fused, or why that cannot be."""
        moved = self.movable(a, b)
        if isinstance(moved, str):
            return moved
        return self.obstacle(a, b) or self.fused(a, b, moved)

    def detached(self, a: int, b: int) -> _Fusion:
        """The same with the sums of the mirror at `b` starting from zero, if they start from what `a` leaves."""
        mirror = self.loop(b)
        late = {out for op in self.ops[a:b] for out in op.results}
        inits, outs, adds = list(mirror.inits), list(mirror.outs), []
        for k, (init, arg, yielded, out) in enumerate(mirror.slots):
            if init in late and ir.is_float(arg.type) and is_sum(arg, yielded, mirror.body):
                inits[k] = typed_const(0, arg.type)
                outs[k] = dataclasses.replace(out)
                adds.append(ir.Call(callee=operator.add, args=(init, outs[k]), outs=(out,)))
        if not adds:
            return self
        # what arrays are called stays as it is
        made = copy.copy(self)
        made.ops = list(self.ops)
        made.ops[b : b + 1] = [dataclasses.replace(mirror, inits=tuple(inits), outs=tuple(outs)), *adds]
        return made

    # --------------------------------------------------------------------------------------------------- legality

    def conflict(self, one: int, other: int) -> bool:
        """Whether the operations at two places may not change them. Additions to the same memory may."""
        mine, theirs = self.effects(one), self.effects(other)
        return mine.is_tied_to(theirs) or mine.may_clash(theirs, in_any_order=True)

    def movable(self, a: int, b: int) -> set[int] | str:
        """The operations in between that have to run before the fused loop, or why one of them cannot."""
        wanted = set(needed_before(a, b, self.effects, in_any_order=True))
        needed = self.effects(b).uses & self.effects(a).makes
        late = sorted(needed, key=lambda v: (isinstance(v.type, types.Integer), v.name))
        if late:
            what = "the number of saved values" if isinstance(late[0].type, types.Integer) else f"`{late[0].name}`"
            return f"its reverse needs {what}, which is only known after the loop"
        held = next((k for k in sorted(wanted) if self.conflict(k, a)), None)
        if held is not None:
            where = self.ops[held].origin
            what = "a statement" if where is None else f"L{where.line}"
            return f"{what} uses the loop's result, and its reverse comes first"
        return wanted

    def obstacle(self, a: int, b: int) -> str:
        """Why the trips of a pair cannot run back to back; empty if they can."""
        loop, mirror = self.loop(a), self.loop(b)
        if loop.stops or mirror.stops:
            return "it may end early"
        if self.effects(b).is_ordered:
            return "its reverse may raise an exception, or draws random numbers"
        for _, arg, yielded, _ in mirror.slots:
            if not is_sum(arg, yielded, mirror.body):
                return f"in the reverse, `{arg.name}` goes from one iteration to the next, and is not a sum"
        reverse = self.effects(b)
        if loop.level == "threads":
            # between two barriers no thread touches what another one stores to
            return ""
        stored = reverse.writes | (reverse.adds & reverse.reads)
        # in their order: the first one is the reason
        for memory in dict.fromkeys(map(self.aliases.find, mirror.body.memory_written)):
            if memory not in stored:
                continue
            if memory in self.primal_of:
                # the shadow of what a trip makes for itself is zero again at the end of the trip
                owner = self.primal_of[memory]
                if self.is_own(memory, mirror) or self.is_scratch(owner, loop):
                    continue
                return f"in the reverse, an iteration reads elements of `{self.name(memory)}` that another one stores"
            # memory of the primal that is put back: the next trip of the forward loop must not look at it
            if not self.is_scratch(memory, loop) and not self.is_made_in(memory, mirror):
                return f"the reverse restores elements of `{self.name(memory)}` that other statements read"
        return ""

    def name(self, memory: ir.Operand) -> str:
        """What an alias class is called: by the user, where it is."""
        found = sorted(self.roots.get(memory, ()), key=lambda v: v.name)
        names = [v.name for v in found if v.user] or [v.name for v in (*found, memory) if isinstance(v, ir.Var)]
        return min(names, key=len) if names else "memory"

    def is_scratch(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip of a loop has the memory to itself, in the primal with all that it reads.

        What the primal reads counts even where the value is not needed: the adjoint of a read goes to the shadow all
        the same.
        """
        if memory in self.parts:
            return loop.pair in self.parts[memory]
        made, pair = self.roots.get(memory, ()), loop.pair
        assert isinstance(pair, ir.For)
        return bool(made) and all(root in self.primal.made and self.primal.is_scratch(root, pair) for root in made)

    def is_made_in(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether all that the memory may be is made in a trip of the loop."""
        made = self.roots.get(memory, ())
        return bool(made) and all(root in loop.body.made for root in made)

    def is_own(self, memory: ir.Operand, loop: ir.For) -> bool:
        """Whether each trip touches elements of its own: some index is the counter, on the same axis everywhere."""
        counter = loop.body.args[0]
        axes: set[int] | None = None
        for op in ir.walk(loop.body):
            if isinstance(op, ir.Load | ir.Store) and self.aliases.find(op.array) == memory:
                here = {axis for axis, i in enumerate(op.index) if i is counter}
                axes = here if axes is None else axes & here
                if op.array not in self.whole:
                    return False
            elif any(ir.is_array(o) and self.aliases.find(o) == memory for o in op.operands):
                return False
        return bool(axes)

    # ------------------------------------------------------------------------------------------------------ fusing

    def fused(self, a: int, b: int, moved: set[int]) -> ir.Function:
        heading = ir.Comment(text=ir.REVERSE_TRIP)
        # the trips share what they tape for themselves, so in a derivative of this loop their order matters
        made = ir.with_trips_of(self.loop(a), self.loop(b), [heading], pair=None, order_free=False)
        before = [op for k, op in enumerate(self.ops) if k < a or k in moved]
        after = [op for k, op in enumerate(self.ops) if k > a and k != b and k not in moved]
        joined = ir.with_body(self.function, ir.with_ops(self.function.body, [*before, made, *after]))
        # threads run at the same time: each has its own row
        return joined if made.level == "threads" else contracted_tapes(joined, len(before), _numbers_of_trips(made))


def _numbers_of_trips(loop: ir.For) -> set[ir.Operand]:
    """What says which trip it is: the counter, and that less where it starts."""
    counter = loop.body.args[0]
    differences = (op for op in loop.body.ops if isinstance(op, ir.Call) and op.callee is operator.sub)
    return {counter, *(out for op in differences if op.args == (counter, loop.start) for out in op.outs)}
