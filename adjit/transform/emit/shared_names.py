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
from adjit.transform.emit import statement_form as form
from adjit.transform.emit.folding import Folding


@dataclass(eq=False)
class Group:
    """Variables with one name. `fixed` is the name of a parameter, `user` the user's name. `is_loose`: one of them is
    assigned and read under the same condition: who follows the branches alone may read it before it is assigned."""

    bits: list[int]
    type: ir.Type
    members: int
    clashes: int
    is_loose: bool
    names: list[tuple[int, int, str]] = field(default_factory=list)  # (rank, order, name), the best ranks lowest
    fixed: str | None = None
    user: str | None = None

    def interferes(self, other: Group) -> bool:
        return bool(self.clashes & other.members or other.clashes & self.members)


class Classes:
    """The groups of a program; `copies` holds what is left to do of each parallel copy."""

    def __init__(self, function: ir.Function, program: form.Program, folding: Folding):
        self.copies: dict[form.Copies, list[tuple[ir.Var, ir.Operand]]] = {}
        self._program = program
        self._folding = folding
        self._bits: dict[ir.Var, int] = {}
        self._variables: list[ir.Var] = []
        self._clashes: list[int] = []
        self._masks: dict[ir.Operand, int] = {}
        self._summaries: dict[form.Statement, tuple[int, int]] = {}
        # copies, the most urgent lowest: (whether names differ, loops around it, order, target, source)
        self._handed: list[tuple[bool, int, int, ir.Var, ir.Var]] = []
        self._targets: set[ir.Var] = set()  # of copies
        self.unread: set[form.Assign] = set()  # assignments whose results nobody reads
        self._loose = 0  # variables that are assigned on some ways to where they are read
        for parameter in program.parameters:
            self._bit(parameter)
        self._number(program.body)
        live = self._block(program.body, 0, 0, 0)
        entry = self._mask(program.parameters)
        self._loose |= live & ~entry
        for parameter in program.parameters:
            self._define(parameter, entry | live)
        self._groups = self._singletons(function)  # by bit
        self._merge()

    def has(self, var: ir.Var) -> bool:
        """Whether the variable is one of the program's."""
        return self._program.resolve(var) in self._bits

    def group(self, var: ir.Var) -> Group:
        return self._groups[self._bit(var)]

    def all(self) -> list[Group]:
        return list(dict.fromkeys(self._groups))

    # ---------------------------------------------------------------------------------------------- numbering

    def _bit(self, var: ir.Var) -> int:
        var = self._program.resolve(var)
        bit = self._bits.get(var)
        if bit is None:
            bit = self._bits[var] = len(self._variables)
            self._variables.append(var)
            self._clashes.append(0)
        return bit

    def _number(self, block: list[form.Statement]) -> None:
        """Give the variables their bits in the order in which the program assigns them."""
        for statement in block:
            _, assigned, blocks = form.parts(statement, self._folding)
            # the parts of a parameter come when they are first read
            for target in assigned if not isinstance(statement, form.Unpack) else ():
                self._bit(target)
            for inner in blocks:
                self._number(inner)

    def _mask(self, variables: Iterable[ir.Var]) -> int:
        mask = 0
        for var in variables:
            mask |= 1 << self._bit(var)
        return mask

    def _read(self, operand: ir.Operand) -> int:
        if operand not in self._masks:
            self._masks[operand] = self._mask(self._folding.leaves(operand))
        return self._masks[operand]

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

    def _block(self, block: list[form.Statement], live: int, leaving: int, depth: int) -> int:
        """What lives before `block`, given what lives after it and, for `break`, after the loop around it."""
        for statement in reversed(block):
            live = self._statement(statement, live, leaving, depth)
        return live

    def _statement(self, statement: form.Statement, live: int, leaving: int, depth: int) -> int:
        read, assigned, blocks = form.parts(statement, self._folding)
        reads = self._reads(read)
        match statement:
            case form.Copies():
                return self._copies(statement, live, depth)
            case form.Branch():
                for block in blocks:
                    reads |= self._block(block, live, leaving, depth)
                return reads
            case form.Loop(counter=counter, carried=carried, body=body):
                head = self._head(body, 0, carried, live) & ~self._mask([counter])
                inside = self._block(body, head, live, depth + 1)
                self._define(counter, inside)
                return head | reads
            case form.Repeat(carried=carried, test=test, body=body):
                head = self._head([*test, *body], reads, carried, live)
                inside = self._block(body, head, live, depth + 1)
                return self._block(test, inside | live | reads, live, depth + 1)
            case form.Break():
                return leaving
            case form.Return():
                return reads
            case _:
                written = self._mask(assigned)
                if isinstance(statement, form.Assign) and not live & written:
                    self.unread.add(statement)
                for target in assigned:
                    self._define(target, live | written)
                return (live & ~written) | reads

    def _is_plain(self, source: ir.Operand) -> TypeGuard[ir.Var]:
        return isinstance(source, ir.Var) and source not in self._folding.folded

    def _copies(self, statement: form.Copies, live: int, depth: int) -> int:
        # a copy to a variable that nobody reads, or to itself, is none
        pairs = []
        for target, source in statement.pairs:
            own = 1 << self._bit(target)
            if live & own and not (self._is_plain(source) and self._read(source) == own):
                pairs.append((target, source))
        self.copies[statement] = pairs
        written = self._mask(target for target, _ in pairs)
        # what is not defined is not written, as a rule
        undefined = [t for t, source in pairs if isinstance(self._folding.folded.get(source), ir.Undefined)]
        self._loose |= self._mask(undefined)
        self._targets.update(target for target, _ in pairs)
        for target, source in pairs:
            beside = live
            if self._is_plain(source):
                # after the copy both hold the same value, unless the source is given another by the same copies
                beside &= ~(self._read(source) & ~written)
                self._handed.append((target.name != source.name, -depth, len(self._handed), target, source))
            self._define(target, beside)
        return (live & ~written) | self._reads(source for _, source in pairs)

    def _head(self, body: list[form.Statement], tested: int, carried: tuple[ir.Var, ...], leaving: int) -> int:
        """What lives where a loop decides whether to go on: what it reads and does not make, and what is read later."""
        reads, writes = self._summary(body)
        reads |= tested
        return (reads & ~writes) | (reads & self._mask(carried)) | leaving

    def _summary(self, block: list[form.Statement]) -> tuple[int, int]:
        reads = writes = 0
        for statement in block:
            if statement not in self._summaries:
                read, assigned, blocks = form.parts(statement, self._folding)
                inner = self._summary([part for block in blocks for part in block])
                self._summaries[statement] = inner[0] | self._reads(read), inner[1] | self._mask(assigned)
            found = self._summaries[statement]
            reads |= found[0]
            writes |= found[1]
        return reads, writes

    # ---------------------------------------------------------------------------------------------- merging

    def _singletons(self, function: ir.Function) -> list[Group]:
        groups = [
            Group([bit], var.type, 1 << bit, self._clashes[bit], bool(self._loose >> bit & 1))
            for bit, var in enumerate(self._variables)
        ]
        aliases = [(var, 1) for var in self._program.same]
        for var, rank in [*((v, 0 if v in self._targets else 2) for v in self._variables), *aliases]:
            if self.has(var):
                bit = self._bit(var)
                groups[bit].names.append((rank, bit, var.name))
                if var.user and groups[bit].user is None:
                    groups[bit].user = var.name
        for name, parameter in zip(function.names, self._program.parameters, strict=True):
            group = groups[self._bit(parameter)]
            group.fixed = group.user = name
        return groups

    def _merge(self) -> None:
        for *_, target, source in sorted(self._handed):
            one, other = self.group(target), self.group(source)
            if one is other or one.type != other.type or one.interferes(other) or not _agree(one, other):
                continue
            merged = _merged(one, other)
            for bit in merged.bits:
                self._groups[bit] = merged


def _agree(one: Group, other: Group) -> bool:
    """Whether one name does for both: never two names of the user's, and a parameter stays what it is called."""
    if one.fixed is not None or other.fixed is not None:
        return chosen_name(one) == chosen_name(other)
    return one.user is None or other.user is None or one.user == other.user


def _merged(one: Group, other: Group) -> Group:
    return Group(
        bits=one.bits + other.bits,
        type=one.type,
        members=one.members | other.members,
        clashes=one.clashes | other.clashes,
        is_loose=one.is_loose or other.is_loose,
        names=one.names + other.names,
        fixed=one.fixed if one.fixed is not None else other.fixed,
        user=one.user if one.user is not None else other.user,
    )


def chosen_name(group: Group) -> str:
    """The name that the group would like."""
    return group.user if group.user is not None else min(group.names)[2]
