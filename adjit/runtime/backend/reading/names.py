"""Which names of a function are needed where: by the structure of its text, without rounds.

In: statements. Out: sets of names as numbers with a bit for each.

    t = x * x            needed before it: x; after it: t
    if t > 1.0:
        t = 1.0          needed after the `if`: t
    y = t + 1.0

What is read of a block before it is assigned there, and what is assigned in it in any case, is found once for each
statement; what is needed after a statement follows from that and from what is needed after its block.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple


class Summary(NamedTuple):
    """reads: names that are read before they are assigned, if they are. assigns: those that are assigned on all ways
    to its end; may_assign: on some. breaks, continues: whether it may leave the innermost loop, or its trip."""

    reads: int
    assigns: int
    may_assign: int
    breaks: bool = False
    continues: bool = False


class Exits(NamedTuple):
    """What is needed where a block ends, where a loop is left from it, and where the next trip of that begins."""

    end: int
    after_loop: int = 0
    next_trip: int = 0


_NOTHING = Summary(0, 0, 0)


class Names:
    """The names of one function."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._known: dict[ast.AST, Summary] = {}

    def bit(self, name: str) -> int:
        found = self._bits.get(name)
        if found is None:
            found = self._bits[name] = 1 << len(self._bits)
        return found

    def of(self, bits: int) -> list[str]:
        """The names of a set, in the order in which they were met."""
        return [name for name, bit in self._bits.items() if bits & bit]

    def needed_after(self, block: Sequence[ast.stmt], exits: Exits) -> list[int]:
        """What is needed after each statement of a block."""
        found, needed = [0] * len(block), exits.end
        for k in range(len(block) - 1, -1, -1):
            found[k] = needed
            needed = self.needed_before(self.summary(block[k]), exits._replace(end=needed))
        return found

    def needed_before(self, one: Summary, exits: Exits) -> int:
        needed = one.reads | (exits.end & ~one.assigns)
        if one.breaks:
            needed |= exits.after_loop
        if one.continues:
            needed |= exits.next_trip
        return needed

    def at_test(self, loop: ast.For | ast.While, after: int) -> int:
        """What is needed where it is found out whether there is another trip."""
        return self.summary(loop).reads | after

    # ------------------------------------------------------------------------------------------------- summaries

    def block(self, block: Sequence[ast.stmt]) -> Summary:
        reads = assigns = may_assign = 0
        breaks = continues = False
        for statement in block:
            one = self.summary(statement)
            reads |= one.reads & ~assigns
            assigns |= one.assigns
            may_assign |= one.may_assign
            breaks, continues = breaks or one.breaks, continues or one.continues
        return Summary(reads, assigns, may_assign, breaks, continues)

    def summary(self, statement: ast.stmt) -> Summary:
        found = self._known.get(statement)
        if found is None:
            found = self._known[statement] = self._summary(statement)
        return found

    def _summary(self, statement: ast.stmt) -> Summary:
        match statement:
            case ast.Assign(targets=targets, value=value):
                reads, assigns = self._reads(value), 0
                for target in targets:
                    more, bits = self._target(target)
                    reads, assigns = reads | more, assigns | bits
                return Summary(reads, assigns, assigns)
            case ast.AugAssign(target=target, value=value):
                reads, assigns = self._target(target)
                return Summary(reads | assigns | self._reads(value), assigns, assigns)
            case ast.For(target=target, iter=over, body=body):
                reads, assigns = self._target(target)
                inner = self.block(body)
                # there may be no trip
                return Summary(self._reads(over) | reads | (inner.reads & ~assigns), 0, inner.may_assign | assigns)
            case ast.While(test=test, body=body):
                inner = self.block(body)
                return Summary(self._reads(test) | inner.reads, 0, inner.may_assign)
            case ast.If(test=test, body=body, orelse=orelse):
                then, other = self.block(body), self.block(orelse)
                return Summary(
                    self._reads(test) | then.reads | other.reads,
                    then.assigns & other.assigns,
                    then.may_assign | other.may_assign,
                    then.breaks or other.breaks,
                    then.continues or other.continues,
                )
            case ast.Break():
                return _NOTHING._replace(breaks=True)
            case ast.Continue():
                return _NOTHING._replace(continues=True)
            case _:
                return Summary(self._reads(statement), 0, 0)

    def _target(self, target: ast.expr) -> tuple[int, int]:
        """What is read for an assignment to it, and what that assigns."""
        match target:
            case ast.Name(id=name):
                return 0, self.bit(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                reads = assigns = 0
                for part in parts:
                    more, bits = self._target(part)
                    reads, assigns = reads | more, assigns | bits
                return reads, assigns
            case _:
                return self._reads(target), 0

    def _reads(self, node: ast.AST | None) -> int:
        kind = type(node)
        if kind is ast.Name:
            return self.bit(node.id)  # type: ignore[union-attr]
        if kind is ast.Constant or node is None:
            return 0
        found = 0
        for field in node._fields:
            part = getattr(node, field)
            if isinstance(part, ast.AST):
                found |= self._reads(part)
            elif isinstance(part, list):
                for one in part:
                    if isinstance(one, ast.AST):
                        found |= self._reads(one)
        return found
