"""Tiles that a loop fills anew in each trip are filled again where the mirror reads them, and have no axis for trips.

In: a function with loops over blocks. Out: the same, with such tiles as large as they are in the user's kernel.

    tile = np.empty((trips, 16))                tile = np.empty(16)
    for s in range(trips):                      for s in range(trips):
        for t: tile[s, t] = sin(x[16 * s + t])      for t: tile[t] = sin(x[16 * s + t])
        for t: ... tile[s, k]                       for t: ... tile[k]
    for s in reversed(range(trips)):            for s in reversed(range(trips)):
        for t: ... tile[s, k]                       for t: tile[t] = sin(x[16 * s + t])
                                                    for t: ... tile[k]

The stretch that fills a tile is run again if what it loads is stored to nowhere in the kernel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.gpu.blocks.block_operations import is_threads, launches_in
from adjit.transform.ir.types import array_type, array_type_of, is_scalar


def with_refills(function: ir.Function) -> ir.Function:
    """The function with such tiles without their axes for trips."""
    while (made := _once(function)) is not None:
        function = made
    return function


def _once(function: ir.Function) -> ir.Function | None:
    aliases = function.analysis(Aliases)
    for launch in launches_in(function.body):
        for region in _of_block(launch.body):
            for op in region.ops:
                if isinstance(op, ir.Alloc) and op.role is not None and op.role.kind == "axes":
                    found = _Tile(op, region, launch, aliases).refilled()
                    if found is not None:
                        return ir.with_body(function, ir.replaced(function.body, found))
    return None


def _of_block(region: ir.Region) -> Iterator[ir.Region]:
    """The regions of what a block does."""
    yield region
    for op in region.ops:
        if not is_threads(op):
            for inner in op.regions:
                yield from _of_block(inner)


class _Tile:
    def __init__(self, alloc: ir.Alloc, region: ir.Region, launch: ir.For, aliases: Aliases):
        self.alloc, self.region, self.launch, self.aliases = alloc, region, launch, aliases
        self.loops: dict[ir.For, list[ir.Load | ir.Store]] = {}

    def refilled(self) -> dict[ir.Op, Sequence[ir.Op]] | None:
        """What takes the place of operations; None if the tile cannot be filled again."""
        if len(self.alloc.shape) < 2 or not self.find_loops():
            return None
        filling = [loop for loop, users in self.loops.items() if any(isinstance(u, ir.Store) for u in users)]
        if len(filling) != 1 or len(self.loops) < 2:
            return None
        (loop,) = filling
        stretches = [op for op in loop.body.ops if any(self.stores(inner) for inner in ir.with_inner(op))]
        if len(stretches) != 1 or not is_threads(stretches[0]):
            return None
        again = self.again(loop, stretches[0])
        if again is None:
            return None
        type_ = array_type_of(self.alloc.out)
        out = dataclasses.replace(self.alloc.out, type=array_type(type_.dtype, type_.ndim - 1))
        role = self.alloc.role if len(self.alloc.shape) > 2 else None
        found: dict[ir.Op, Sequence[ir.Op]] = {
            self.alloc: [dataclasses.replace(self.alloc, shape=self.alloc.shape[1:], out=out, role=role)]
        }
        for users in self.loops.values():
            for user in users:
                found[user] = [dataclasses.replace(user, array=out, index=user.index[1:])]
        for other in self.loops:
            if other is not loop:
                cloner = ir.Cloner({loop.body.args[0]: other.body.args[0]})
                ops = [ir.unpaired(cloner.op(self.narrowed(op, out))) for op in again]
                body = ir.Region(other.body.args, (*ops, *other.body.ops), other.body.yields)
                found[other] = [dataclasses.replace(other, body=body)]
        return found

    def find_loops(self) -> bool:
        """Whether all accesses are in loops beside each other, the counters of which are the first indices."""
        for op in self.region.ops:
            inside = [inner for inner in ir.with_inner(op) if any(o is self.alloc.out for o in inner.operands)]
            if not inside:
                continue
            if not isinstance(op, ir.For) or op.level is not None or op.stops:
                return False
            users = [inner for inner in inside if isinstance(inner, ir.Load | ir.Store)]
            if len(users) < len(inside) or any(user.index[0] is not op.body.args[0] for user in users):
                return False
            self.loops[op] = users
        return not any(self.alloc.out in region.yields for region in ir.regions(self.launch.body))

    def stores(self, op: ir.Op) -> bool:
        return isinstance(op, ir.Store) and op.array is self.alloc.out

    def again(self, loop: ir.For, stretch: ir.Op) -> list[ir.Op] | None:
        """What fills the tile in a trip: operations of the block that it needs, and the stretch."""
        inside = loop.body.defines
        made = loop.body.made
        needed: list[ir.Op] = []
        wanted = [v for v in ir.free_vars(ir.Region((), (stretch,), ())) if v in inside]
        while wanted:
            v = wanted.pop()
            if v is loop.body.args[0]:
                continue
            op = made.get(v)
            if op is None or op not in loop.body.ops or not self.is_plain(op):
                return None
            if op not in needed:
                needed.append(op)
                wanted += [o for o in ir.free_vars(ir.Region((), (op,), ())) if o in inside]
        if stretch.results or not all(self.is_plain(op) for op in ir.with_inner(stretch) if not op.regions):
            return None
        return [*(op for op in loop.body.ops if op in needed), stretch]

    def is_plain(self, op: ir.Op) -> bool:
        """Whether it may be done once more: it makes numbers, of memory that the kernel does not change."""
        if isinstance(op, ir.Load):
            return not self.aliases.is_written(op.array)
        if isinstance(op, ir.Call):
            return not op.effect and all(is_scalar(o.type) for o in (*op.args, *op.outs))
        if isinstance(op, ir.If):
            return all(map(self.is_plain, (inner for region in op.regions for inner in region.ops)))
        return self.stores(op) or isinstance(op, ir.Extent | ir.Comment)

    def narrowed(self, op: ir.Op, out: ir.Var) -> ir.Op:
        """An operation with the tile as it is then."""

        def made(inner: ir.Op) -> ir.Op:
            if isinstance(inner, ir.Store) and self.stores(inner):
                return dataclasses.replace(inner, array=out, index=inner.index[1:])
            return inner

        return ir.rewritten_op(op, made)
