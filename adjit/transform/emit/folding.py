"""Which operations are printed inside the expression of their reader, instead of as a statement of their own.

In: a function. Out: a `Folding`. An operation folds if it is pure, its result is no variable of the user's and is read
once, in the same region, and nothing between the two places writes the memory that it reads or takes the names of its
operands. Extents
and the likes of `i + 1` may be read more often.

    %n = extent %u, 0          for i in range(u.size):
    for %i in (0, %n, 1) {         v[i] = 2.0 * u[i]
      %e = load %u[%i]
      %p = call mul(2.0, %e)
      store %v[%i] = %p }
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.ir.types import is_scalar

# Estimated characters of an expression: above the first, what it is made of gets names; above the second, a conditional
# expression is written as a statement.
LONGEST = 260
LONGEST_CHOICE = 90

# An array expression folds into these and into yields, and never into an access of single elements.
_TAKES_ARRAYS = (ir.AddProduct, ir.OfRows, ir.Call, ir.Copy, ir.Transpose, ir.Reshape, ir.Push, ir.For, ir.While)


# where any memory may be written: by other threads, while this one waits
_ALL = ir.boolean(True)


def is_statement(op: ir.Op) -> bool:
    """Whether the user wrote this `if` as a statement rather than as an expression."""
    return op.origin is not None and op.origin.text.startswith(("if ", "if(", "elif ", "elif("))


class Folding:
    """The folded operations by their results; `choices` are the Ifs that are printed as expressions."""

    def __init__(self, function: ir.Function):
        self.folded: dict[ir.Operand, ir.Op] = {}
        self.choices: set[ir.Op] = set()
        self._uses: Counter[ir.Var] = Counter()
        self._readers: dict[ir.Var, tuple[ir.Region, int]] = {}
        self._copied: set[ir.Operand] = set()
        self._names: Counter[str] = Counter()  # of the user's variables
        self._users: set[str] = set(function.names)  # names of the user's
        self._versions: set[str] = set()  # names that a value may take over from another
        self._counters: set[ir.Var] = set()
        self._made = function.body.made
        self._sizes: dict[ir.Var, int] = {}
        self._aliases = function.analysis(Aliases)
        self._count(function.body, None)
        for leaf in ir.leaves(function.result):
            if leaf is not None:
                self._use(function.body.yields[leaf], function.body, len(function.body.ops))
        self._decide(function.body, None)
        self._shorten(function.body)

    def leaves(self, operand: ir.Operand) -> Iterator[ir.Var]:
        """The variables whose names the text of `operand` reads."""
        if not isinstance(operand, ir.Var):
            return
        op = self.folded.get(operand)
        if op is None:
            yield operand
        else:
            yield from self.leaves_of(op)

    def leaves_of(self, op: ir.Op) -> Iterator[ir.Var]:
        """The same for the operands of an operation, and for the branches of a conditional expression."""
        for operand in (op.tape, op.value) if isinstance(op, ir.Push) else op.operands:
            yield from self.leaves(operand)
        if op in self.choices:
            for region in op.regions:
                yield from self.leaves(region.yields[0])

    # ---------------------------------------------------------------------------------------------- counting

    def _use(self, operand: ir.Operand, region: ir.Region, position: int) -> None:
        if isinstance(operand, ir.Var):
            self._uses[operand] += 1
            self._readers[operand] = region, position

    def _count(self, region: ir.Region, holder: ir.Op | None) -> None:
        self._note_names(region.args, True)
        for position, op in enumerate(region.ops):
            for operand in op.operands:
                self._use(operand, region, position)
            self._note_names(op.results, bool(op.regions))
            for inner in op.regions:
                self._count(inner, op)
            if isinstance(op, ir.Undefined):
                self.folded[op.out] = op
            elif isinstance(op, (ir.For, ir.While)):
                if isinstance(op, ir.For):
                    self._counters.add(op.body.args[0])
                self._copied.update(op.inits)
                if op.stops:
                    # what is read to decide that is read when the next trip's values have their names
                    self._copied.update(ir.carried_args(op))
        if holder is not None:
            is_stopping = isinstance(holder, (ir.For, ir.While)) and holder.stops and region is holder.body
            for k, operand in enumerate(region.yields):
                # a loop tests whether to stop after it has handed the carried values on
                late = is_stopping and k == len(region.yields) - 1
                self._use(operand, region, len(region.ops) + late)
                if isinstance(operand, ir.Var):
                    self._copied.add(operand)
                    self._versions.add(operand.name)

    def _note_names(self, variables: Sequence[ir.Var], handed: bool) -> None:
        for var in variables:
            self._names[var.name] += var.user
            if var.user:
                self._users.add(var.name)
            if var.user or handed:
                self._versions.add(var.name)

    # ---------------------------------------------------------------------------------------------- deciding

    def _decide(self, region: ir.Region, holder: ir.Op | None) -> set[str]:
        """Fold what folds in `region`, last operation first; returns the names it assigns."""
        end = len(region.ops)
        last = list(range(end))  # where the text of each operation ends up
        assigned: dict[str, int] = {}  # the first assignment of each name after the operation at hand
        written: dict[ir.Operand, int] = {}  # the first store into each class of memory after it
        handed = {} if holder is None else self._handed_in_place(holder, region)
        renewed = _renewed(holder, region)
        for position in range(end - 1, -1, -1):
            op = region.ops[position]
            names = {result.name for result in op.results}.union(*(self._decide(inner, op) for inner in op.regions))
            if isinstance(op, ir.If) and self._is_choice(op):
                self.choices.add(op)
            if isinstance(op, ir.Undefined):
                continue
            if self._reads_well(op):
                self.folded[op.results[0]] = op
                continue
            final = self._final(op, region, last)
            if final is not None and self._chooses(op) and _is_atomic(region, final):
                # its array would be handed on by both branches, and a compiler may lose where that is
                final = None
            is_alone = final is None or self._stands_alone(op, region, holder, handed, position)
            if final is not None and not is_alone and self._may_move(op, final, region, assigned, written, renewed):
                last[position] = final
                self.folded[op.results[0]] = op
                continue
            assigned.update(dict.fromkeys(names, position))
            if any(map(_waits, ir.with_inner(op))):
                written[_ALL] = position
            stored = [op.memory_written, *(memory for inner in op.regions for memory in inner.memory_written)]
            stored += (a for inner in ir.with_inner(op) if _has_effect(inner) for a in inner.memory_read)
            written.update((self._aliases.find(memory), position) for memory in stored if memory is not None)
        return set(assigned)

    def _reads_well(self, op: ir.Op) -> bool:
        """Whether it can stand wherever it is read: `a.shape[k]` or `i + 1`, of what keeps its name throughout."""
        if len(op.results) != 1 or op.results[0].user or not self._uses[op.results[0]]:
            return False
        if isinstance(op, ir.Extent):
            return not isinstance(op.array, ir.Var) or self._keeps_its_name(op.array)
        if not isinstance(op, ir.Call) or op.callee not in (operator.add, operator.sub) or len(op.args) != 2:
            return False
        one, other = op.args
        if not isinstance(op.outs[0].type, types.Integer) or isinstance(one, ir.Const) is isinstance(other, ir.Const):
            return False
        read = other if isinstance(one, ir.Const) else one
        if not isinstance(read, ir.Var):
            return False
        maker = self._made.get(read)
        if isinstance(maker, ir.Extent) and self._reads_well(maker):
            return True
        goes_in_here = isinstance(maker, (ir.Call, ir.Load, ir.Pull, ir.If)) and self._uses[read] == 1
        # then it must not be written again and again, nor beyond a store to what it reads
        if maker is not None and goes_in_here and (self._uses[op.results[0]] > 1 or not self._reads_well(maker)):
            return False
        return read in self._counters or self._keeps_its_name(read)

    def _keeps_its_name(self, var: ir.Var) -> bool:
        """Whether no other value comes under its name. What is not the user's can have a name for itself alone."""
        return var not in self._copied and (not var.user or self._names[var.name] == 1)

    def _is_choice(self, op: ir.If) -> bool:
        if len(op.outs) != 1 or not is_scalar(op.outs[0].type) or (op.outs[0].user and is_statement(op)):
            return False
        # a variable that is changed on one path and left as it is on the other is updated in a statement
        is_update = any(y.name == op.outs[0].name and y not in self.folded for y in _yielded(op))
        is_undefined = any(isinstance(self.folded.get(y), ir.Undefined) for y in _yielded(op))
        return not is_undefined and not is_update and self._is_folded_within(op)

    def _is_folded_within(self, op: ir.If) -> bool:
        return all(o.results and o.results[0] in self.folded for region in op.regions for o in region.ops)

    def _final(self, op: ir.Op, region: ir.Region, last: list[int]) -> int | None:
        """Where the text of `op` would end up if it folded; None if it is not of the kind that folds."""
        if len(op.results) != 1 or op.results[0].user or self._uses[op.results[0]] != 1:
            return None
        if isinstance(op, ir.Load) and op.early:
            return None
        out = op.results[0]
        reader, position = self._readers[out]
        if reader is not region:
            return None
        reading = region.ops[position] if position < len(region.ops) else None
        if isinstance(op, ir.If):
            foldable = op in self.choices
        elif isinstance(op, ir.Call):
            foldable = not op.effect
        else:
            foldable = isinstance(op, (ir.Load, ir.Pull, ir.Extent, ir.Copy, ir.Alloc, *ir.VIEWS))
        if not is_scalar(out.type):
            foldable &= isinstance(out.type, types.Array) and (reading is None or isinstance(reading, _TAKES_ARRAYS))
        if not foldable:
            return None
        return position if reading is None else last[position]

    def _chooses(self, op: ir.Op) -> bool:
        """Whether its text has branches."""
        return op in self.choices or (isinstance(op, ir.Call) and op.callee is ir.select)

    def _handed_in_place(self, holder: ir.Op, region: ir.Region) -> dict[ir.Var, int]:
        """What a region hands on under the name that it came in with, and where that name is read last."""
        targets = ir.carried_args(holder) if isinstance(holder, ir.For | ir.While) else holder.results
        found: dict[ir.Var, int] = {}
        for target, operand in zip(targets, region.yields, strict=False):
            if not isinstance(operand, ir.Var) or operand.name != target.name or target in region.yields:
                continue
            if isinstance(holder, ir.If) and len(targets) == 1:
                continue  # it may become a conditional expression
            readers = (k for k in reversed(range(len(region.ops))) if _reads_name(region.ops[k], target.name))
            found[operand] = next(readers, -1)
        return found

    def _stands_alone(
        self, op: ir.Op, region: ir.Region, holder: ir.Op | None, handed: dict[ir.Var, int], position: int
    ) -> bool:
        """Whether `op`, which could fold, is a statement of the derivative that belongs under the primal's.

        So are the adjoint and the tangent of a variable of the user's, where another statement reads them, and what
        a loop changes in each trip.
        """
        out = op.results[0]
        if isinstance(op, ir.If) or not is_scalar(out.type):
            return False
        if handed.get(out, position + 1) <= position:
            return True
        base, _, ending = out.name.rpartition("_")
        if ending not in ("bar", "dot") or base not in self._users:
            return False
        at = self._readers[out][1]
        return holder is None if at >= len(region.ops) else region.ops[at].origin != op.origin

    def _may_move(
        self,
        op: ir.Op,
        final: int,
        region: ir.Region,
        assigned: dict[str, int],
        written: dict[ir.Operand, int],
        renewed: frozenset[ir.Operand],
    ) -> bool:
        """Whether `op` means the same at `final`, with no copies of its operands needed for that.

        `renewed`: what has another value when the loop tests whether to stop.
        """
        read = [array for inner in ir.with_inner(op) for array in inner.memory_read]
        if any(written.get(self._aliases.find(array), final) < final for array in read):
            return False
        if read and written.get(_ALL, final) < final:
            return False
        for leaf in self.leaves_of(op):
            if leaf in renewed and final > len(region.ops):
                return False
            if leaf.name not in self._versions:
                continue  # it can have a name for itself alone
            if assigned.get(leaf.name, final) < final and not (leaf in region.yields and final > len(region.ops)):
                return False
        return True

    # ---------------------------------------------------------------------------------------------- lengths

    def _size(self, operand: ir.Operand) -> int:
        if isinstance(operand, ir.Var):
            return self._sizes.get(operand, len(operand.name)) if operand in self.folded else len(operand.name)
        return len(repr(operand.value)) if is_scalar(operand.type) else 8

    def _shorten(self, region: ir.Region) -> None:
        """Take operations out of expressions that have become too long to read."""
        for op in region.ops:
            for inner in op.regions:
                self._shorten(inner)
            size = 4 + sum(self._size(o) + 3 for o in op.operands)
            if isinstance(op, ir.Call):
                size += len(getattr(op.callee, "__name__", ""))
            if isinstance(op, ir.If) and op in self.choices:
                size += sum(self._size(y) for r in op.regions for y in r.yields)
                if size > LONGEST_CHOICE or not self._is_folded_within(op):
                    self.choices.discard(op)
                    self.folded.pop(op.results[0], None)
                    continue
            if size > LONGEST and not isinstance(op, (ir.For, ir.While)):
                size = self._cut(op, size)
            for result in op.results:
                self._sizes[result] = size

    def _cut(self, reader: ir.Op, size: int) -> int:
        parts = dict.fromkeys(o for o in reader.operands if isinstance(o, ir.Var))
        for part in sorted(parts, key=self._size, reverse=True):
            op = self.folded.get(part)
            if size > LONGEST and op is not None and self._uses[part] == 1 and not isinstance(op, ir.Undefined):
                size -= self._size(part) - len(part.name)
                del self.folded[part]
        return size


def _renewed(holder: ir.Op | None, region: ir.Region) -> frozenset[ir.Operand]:
    """What a loop carries and a trip hands on another value for."""
    if not isinstance(holder, ir.For | ir.While) or region is not holder.body:
        return frozenset()
    pairs = zip(ir.carried_args(holder), region.yields, strict=False)
    return frozenset(arg for arg, handed in pairs if handed is not arg)


def _is_atomic(region: ir.Region, position: int) -> bool:
    """Whether an atomic operation stands there."""
    op = region.ops[position] if position < len(region.ops) else None
    return isinstance(op, ir.Store) and op.atomic


def _reads_name(op: ir.Op, name: str) -> bool:
    return any(isinstance(o, ir.Var) and o.name == name for o in op.reads)


def _waits(op: ir.Op) -> bool:
    """Whether other threads may have stored something when it is done."""
    return isinstance(op, ir.Barrier) or (isinstance(op, ir.Call) and op.effect and isinstance(op.callee, ir.External))


def _has_effect(op: ir.Op) -> bool:
    """Whether it is a call that may store to the arrays that it is given."""
    return isinstance(op, ir.Call) and op.effect


def _yielded(op: ir.If) -> Iterator[ir.Var]:
    return (y for r in op.regions for y in r.yields if isinstance(y, ir.Var))
