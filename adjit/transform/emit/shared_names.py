"""Which variables share one name: those that are handed on to each other, where their lives do not cross.

In: a program. Out: `Classes`, disjoint sets of variables, and for two of them whether they may be named alike.
Lives are bit sets over the variables, found in one backward walk: the program is structured and was in
single-assignment form, so what lives at the head of a loop is known from what the loop reads.

    Copies [(%s0, 0.0)]                          s = 0.0
    Loop: %s2 = add(%s0, %e); Copies [(%s0, %s2)]    s += e     one class {%s0, %s2}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeGuard

from adjit.transform import ir
from adjit.transform.emit.folding import Folding
from adjit.transform.emit.statement_form import (
    Assign,
    Branch,
    Break,
    Copies,
    Loop,
    Program,
    Repeat,
    Return,
    Statement,
    Unpack,
)


@dataclass(eq=False)
class Group:
    """Variables with one name. `fixed` is the name of a parameter, `user` the user's name."""

    first: int
    type: ir.Type
    members: int
    clashes: int
    names: list[tuple[int, int, str]] = field(default_factory=list)  # (rank, order, name), the best ranks lowest
    fixed: str | None = None
    user: str | None = None

    def interferes(self, other: Group) -> bool:
        return bool(self.clashes & other.members or other.clashes & self.members)


class Classes:
    """The groups of a program; `copies` holds what is left to do of each parallel copy."""

    def __init__(self, function: ir.Function, program: Program, folding: Folding):
        self.copies: dict[Copies, list[tuple[ir.Var, ir.Operand]]] = {}
        self._program = program
        self._folding = folding
        self._bits: dict[ir.Var, int] = {}
        self._variables: list[ir.Var] = []
        self._clashes: list[int] = []
        self._masks: dict[ir.Var, int] = {}
        self._summaries: dict[int, tuple[int, int]] = {}
        self._handed: list[tuple[int, int, ir.Var, ir.Var]] = []  # (loops around it, order, target, source)
        self._targets: set[ir.Var] = set()  # of copies
        self.unread: set[Assign] = set()  # assignments whose results nobody reads
        for parameter in program.parameters:
            self._bit(parameter)
        self._number(program.body)
        live = self._block(program.body, 0, 0, 0)
        entry = self._mask(program.parameters)
        for parameter in program.parameters:
            self._define(parameter, entry | live)
        self._parent = list(range(len(self._variables)))
        self.groups: list[Group | None] = self._singletons(function)
        self._merge()

    def has(self, var: ir.Var) -> bool:
        """Whether the variable is one of the program's."""
        return self._program.same.get(var, var) in self._bits

    def group(self, var: ir.Var) -> Group:
        found = self.groups[self._find(self._bit(var))]
        assert found is not None
        return found

    def all(self) -> list[Group]:
        return [group for group in self.groups if group is not None]

    # ---------------------------------------------------------------------------------------------- numbering

    def _bit(self, var: ir.Var) -> int:
        var = self._program.same.get(var, var)
        bit = self._bits.get(var)
        if bit is None:
            bit = self._bits[var] = len(self._variables)
            self._variables.append(var)
            self._clashes.append(0)
        return bit

    def _number(self, block: list[Statement]) -> None:
        """Give the variables their bits in the order in which the program assigns them."""
        for statement in block:
            match statement:
                case Assign(targets=targets):
                    for target in targets:
                        self._bit(target)
                case Copies(pairs=pairs):
                    for target, _ in pairs:
                        self._bit(target)
                case Branch(then=first, orelse=second) | Repeat(test=first, body=second):
                    self._number(first)
                    self._number(second)
                case Loop(counter=counter, body=body):
                    self._bit(counter)
                    self._number(body)
                case _:
                    pass

    def _mask(self, variables: Iterable[ir.Var]) -> int:
        mask = 0
        for var in variables:
            mask |= 1 << self._bit(var)
        return mask

    def _read(self, operand: ir.Operand) -> int:
        if not isinstance(operand, ir.Var):
            return 0
        mask = self._masks.get(operand)
        if mask is None:
            op = self._folding.folded.get(operand)
            if op is None:
                mask = 1 << self._bit(operand)
            else:
                mask = self._mask(self._folding.leaves_of(op))
            self._masks[operand] = mask
        return mask

    def _reads(self, operands: Iterable[ir.Operand]) -> int:
        mask = 0
        for operand in operands:
            mask |= self._read(operand)
        return mask

    # ---------------------------------------------------------------------------------------------- lives

    def _define(self, var: ir.Var, live: int) -> None:
        """An assignment to `var` after which `live` live: it must not go to the name of one of them."""
        bit = self._bit(var)
        self._clashes[bit] |= live & ~(1 << bit)

    def _block(self, block: list[Statement], live: int, leaving: int, depth: int) -> int:
        """What lives before `block`, given what lives after it and, for `break`, after the loop around it."""
        for statement in reversed(block):
            live = self._statement(statement, live, leaving, depth)
        return live

    def _statement(self, statement: Statement, live: int, leaving: int, depth: int) -> int:
        match statement:
            case Assign(op=op, targets=targets):
                written = self._mask(targets)
                if not live & written:
                    self.unread.add(statement)
                for target in targets:
                    self._define(target, live | written)
                return (live & ~written) | self._mask(self._folding.leaves_of(op))
            case Copies():
                return self._copies(statement, live, depth)
            case Branch(condition=condition, then=then, orelse=orelse):
                into = self._block(then, live, leaving, depth) | self._block(orelse, live, leaving, depth)
                return into | self._read(condition)
            case Loop(op=op, counter=counter, body=body):
                head = self._head(body, [], statement.carried, live) & ~self._mask([counter])
                inside = self._block(body, head, live, depth + 1)
                self._define(counter, inside)
                return head | self._reads((op.start, op.stop, op.step))
            case Repeat(test=test, condition=condition, body=body):
                head = self._head([*test, *body], [condition], statement.carried, live)
                inside = self._block(body, head, live, depth + 1)
                return self._block(test, inside | live | self._read(condition), live, depth + 1)
            case Break():
                return leaving
            case Return(operands=operands):
                return self._reads(operands)
            case Unpack(source=source, tree=tree):
                leaves = [leaf for leaf in ir.leaves(tree) if isinstance(leaf, ir.Var)]
                written = self._mask(leaves)
                for leaf in leaves:
                    self._define(leaf, live | written)
                return (live & ~written) | self._mask([source])
            case _:
                raise NotImplementedError(type(statement).__name__)

    def _is_plain(self, source: ir.Operand) -> TypeGuard[ir.Var]:
        return isinstance(source, ir.Var) and source not in self._folding.folded

    def _copies(self, statement: Copies, live: int, depth: int) -> int:
        # a copy to a variable that nobody reads, or to itself, is none
        pairs = []
        for target, source in statement.pairs:
            own = 1 << self._bit(target)
            if live & own and not (self._is_plain(source) and self._read(source) == own):
                pairs.append((target, source))
        self.copies[statement] = pairs
        written = self._mask(target for target, _ in pairs)
        self._targets.update(target for target, _ in pairs)
        for target, source in pairs:
            beside = live
            if self._is_plain(source):
                # after the copy both hold the same value, unless the source is given another by the same copies
                beside &= ~(self._read(source) & ~written)
                self._handed.append((-depth, len(self._handed), target, source))
            self._define(target, beside)
        return (live & ~written) | self._reads(source for _, source in pairs)

    def _head(self, body: list[Statement], tested: list[ir.Operand], carried: tuple[ir.Var, ...], leaving: int) -> int:
        """What lives where a loop decides whether to go on: what it reads and does not make, and what is read later."""
        reads, writes = self._summary(body)
        reads |= self._reads(tested)
        return (reads & ~writes) | (reads & self._mask(carried)) | leaving

    def _summary(self, block: list[Statement]) -> tuple[int, int]:
        reads = writes = 0
        for statement in block:
            found = self._summaries.get(id(statement))
            if found is None:
                found = self._summaries[id(statement)] = self._summarised(statement)
            reads |= found[0]
            writes |= found[1]
        return reads, writes

    def _summarised(self, statement: Statement) -> tuple[int, int]:
        match statement:
            case Assign(op=op, targets=targets):
                return self._mask(self._folding.leaves_of(op)), self._mask(targets)
            case Copies(pairs=pairs):
                return self._reads(s for _, s in pairs), self._mask(t for t, _ in pairs)
            case Branch(condition=condition, then=then, orelse=orelse):
                reads, writes = self._summary([*then, *orelse])
                return reads | self._read(condition), writes
            case Loop(op=op, counter=counter, body=body):
                reads, writes = self._summary(body)
                return reads | self._reads((op.start, op.stop, op.step)), writes | self._mask([counter])
            case Repeat(test=test, condition=condition, body=body):
                reads, writes = self._summary([*test, *body])
                return reads | self._read(condition), writes
            case Return(operands=operands):
                return self._reads(operands), 0
            case _:
                return 0, 0

    # ---------------------------------------------------------------------------------------------- merging

    def _singletons(self, function: ir.Function) -> list[Group | None]:
        groups: list[Group | None] = []
        for bit, var in enumerate(self._variables):
            groups.append(Group(bit, var.type, 1 << bit, self._clashes[bit]))
        aliases = [(var, 1) for var in self._program.same]
        for var, rank in [*((v, 0 if v in self._targets else 2) for v in self._variables), *aliases]:
            bit = self._bits.get(self._program.same.get(var, var), -1)
            group = groups[bit] if bit >= 0 else None
            if group is not None:
                group.names.append((rank, bit, var.name))
                if var.user and group.user is None:
                    group.user = var.name
        for name, parameter in zip(function.names, self._program.parameters, strict=True):
            group = groups[self._bits[parameter]]
            assert group is not None
            group.fixed = group.user = name
        return groups

    def _find(self, bit: int) -> int:
        parent = self._parent
        while parent[bit] != bit:
            parent[bit] = parent[parent[bit]]
            bit = parent[bit]
        return bit

    def _merge(self) -> None:
        def urgency(handed: tuple[int, int, ir.Var, ir.Var]) -> tuple[bool, int, int]:
            return handed[2].name != handed[3].name, handed[0], handed[1]

        for _, _, target, source in sorted(self._handed, key=urgency):
            left, right = self._find(self._bit(target)), self._find(self._bit(source))
            if left == right:
                continue
            one, other = self.group(target), self.group(source)
            if one.type != other.type or one.interferes(other) or not _agree(one, other):
                continue
            low, high = min(left, right), max(left, right)
            self._parent[high] = low
            self.groups[low] = _merged(one, other)
            self.groups[high] = None


def _agree(one: Group, other: Group) -> bool:
    """Whether one name does for both: never two names of the user's, and a parameter stays what it is called."""
    if one.fixed is not None or other.fixed is not None:
        return chosen_name(one) == chosen_name(other)
    return one.user is None or other.user is None or one.user == other.user


def _merged(one: Group, other: Group) -> Group:
    return Group(
        first=min(one.first, other.first),
        type=one.type,
        members=one.members | other.members,
        clashes=one.clashes | other.clashes,
        names=one.names + other.names,
        fixed=one.fixed if one.fixed is not None else other.fixed,
        user=one.user if one.user is not None else other.user,
    )


def chosen_name(group: Group) -> str:
    """The name that the group would like."""
    return group.user if group.user is not None else min(group.names)[2]
