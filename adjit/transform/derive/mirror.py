"""The reverse sweep before its storage is decided: a tree of regions, each the mirror of one of the primal.

`reverse.py` makes it, `storage.py` turns it into IR. Its operations refer to values of the primal as if those were
still there.

    primal region   [p, q, r]        mirror   opening ops, then groups  r: [...], q: [...], p: [...]
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adjit.transform import ir


@dataclass(eq=False)
class Group:
    """The adjoint of one operation of the primal."""

    op: ir.Op | None
    ops: list[ir.Op | MirroredLoop | MirroredIf] = field(default_factory=list)


@dataclass(eq=False)
class Mirror:
    """The reverse of a region: groups in the order in which they run. The first has no operation: it makes shadows."""

    region: ir.Region
    groups: list[Group]
    yields: list[ir.Operand] = field(default_factory=list)


@dataclass(eq=False)
class MirroredLoop:
    """The reverse of a For or While: its trips in reverse order, carrying adjoints."""

    op: ir.For | ir.While
    inits: list[ir.Operand]
    args: list[ir.Var]
    body: Mirror
    outs: list[ir.Var]


@dataclass(eq=False)
class MirroredIf:
    """The reverse of an If."""

    op: ir.If
    then: Mirror
    orelse: Mirror
    outs: list[ir.Var]


@dataclass(eq=False)
class Sweeps:
    """Both sweeps. `bars` are the adjoints of the arguments asked for, in their order; `shadows` those of arrays."""

    forward: ir.Function
    mirror: Mirror
    bars: list[ir.Operand]
    shadows: dict[ir.Operand, ir.Var]
