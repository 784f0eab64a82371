"""The reverse sweep before its storage is decided: a tree of regions, each the mirror of one of the primal.

`reverse.py` makes it, `storage.py` turns it into IR. Its operations refer to values of the primal as if those were
still there.

    primal region   [p, q, r]        mirror   opening ops, then groups  r: [...], q: [...], p: [...]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.trip_counts import mirrored_range
from adjit.transform.ir.printing import region_text


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


def to_text(sweeps: Sweeps) -> str:
    """The mirror in the notation of the IR, of which it is not a program: it reads values of the primal."""
    return region_text(dataclasses.replace(_region(sweeps.mirror), yields=tuple(sweeps.bars)))


def _region(mirror: Mirror, args: Sequence[ir.Var] = ()) -> ir.Region:
    ops = [op for group in mirror.groups for item in group.ops for op in _ops(item)]
    return ir.Region(tuple(args), tuple(ops), tuple(mirror.yields))


def _ops(item: ir.Op | MirroredLoop | MirroredIf) -> Iterator[ir.Op]:
    if isinstance(item, MirroredIf):
        then, orelse = _region(item.then), _region(item.orelse)
        yield ir.If(condition=item.op.condition, then=then, orelse=orelse, outs=tuple(item.outs), origin=item.op.origin)
    elif isinstance(item, MirroredLoop):
        builder = ir.Builder(item.op.origin)
        if isinstance(item.op, ir.For) and not item.op.stops:
            counter = item.op.body.args[0]
            start, stop, step = mirrored_range(builder, item.op, backwards=False)
        else:
            # how many there were is known when storage has counted them
            counter = ir.Var("trip", types.intp)
            start, stop, step = ir.Var("last", types.intp), ir.integer(-1), ir.integer(-1)
        yield from builder.ops
        yield ir.For(
            start=start,
            stop=stop,
            step=step,
            inits=tuple(item.inits),
            body=_region(item.body, (counter, *item.args)),
            outs=tuple(item.outs),
            origin=item.op.origin,
        )
    else:
        yield item
