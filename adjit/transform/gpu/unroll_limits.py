"""Loops over a thread's own arrays stay loops where the arrays would fill its registers.

In: the operations of a kernel. Out: the same, in which the number of trips of such loops is a parameter, and those
parameters with their values; or how many registers a thread of it should have.

    for t in range(64): x_tape[t] = x              for t in range(trips): x_tape[t] = x         trips: 64
    for t in range(63, -1, -1): x = x_tape[t]      for t in range(trips - 1, -1, -1): x = x_tape[t]

A compiler that knows the trips writes all of them out. Then each element of the array is a register, and so is what the
second loop would make of it again and the first one has made before. A thread has 255 of them, what goes beyond is
spilled, and where threads have so many few of them run at a time. In its local memory the array takes none, and each
access goes through the memory of the device, beyond its caches: where a thread has little else to do there, it is
written out all the same. Measured on an H200, milliseconds, loops and written out, in double precision (in single): 48
steps of a logistic map 1.15 and 0.22 (0.38 and 0.16), 96 of them 2.5 and 0.42 (1.03 and 0.23), with what is spilled;
tridiagonal systems of 12 rows 0.87 and 0.82 (0.47 and 0.38), of 24 rows 0.99 and 0.96 (0.55 and 0.74), of 32 1.36 and
1.51 (0.76 and 1.05).

Where loops are written out because a thread has little else to do, the compiler keeps all that it has made, up to three
registers an element, and few threads run at a time. It is told then how many are to: so many that the arrays have
registers, and 32 are left. It makes again what it can, and spills the rest. The same 48 steps, of 2^24 threads, with
one, two, three and four blocks of 256 on a multiprocessor: in single precision 0.76, 0.55, 0.41 (three are chosen) and
0.66, in double 1.06, 0.88 (two are chosen), 5.7 and 7.4.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.affine_ops import Writer

MOST_KEPT = 384  # bytes from loop to loop: 96 registers of the 128 with which enough threads run at a time
MOST_WRITTEN_OUT = 3072  # bytes, where a thread's arrays are most of what it loads and stores
MOST = 3  # times as many bytes
OTHERS = 32  # registers beside those of arrays
_REGISTER = 4  # bytes


def rolled(ops: Sequence[ir.Op]) -> tuple[Sequence[ir.Op], dict[ir.Var, ir.Const]]:
    """The operations with those loops, and the parameters that say how many trips these make."""
    region = ir.Region((), tuple(ops), ())
    loops = _Loops(region).rolled()
    counts = {len(trips): ir.Var("trips", types.intp) for trips in loops.values()}

    def counted(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
        trips = loops.get(op)
        return op if trips is None or not isinstance(op, ir.For) else _counted(op, trips, counts[len(trips)])

    made = ir.rewritten(region, counted) if loops else region
    return made.ops, {var: ir.integer(count) for count, var in counts.items()}


def registers_of(kernel: ir.Region) -> int:
    """How many registers a thread should have, where its arrays are written out as they are most of what it loads and
    stores; 0 where the compiler knows best."""
    return _Loops(kernel).registers()


def _counted(loop: ir.For, trips: range, count: ir.Var) -> Sequence[ir.Op]:
    """The loop with as many trips as a variable says, which are those that it makes."""
    builder = Writer(loop.origin)
    if trips.step > 0:
        stop = builder.integer(Affine({count: trips.step}, trips.start))
        return (*builder.ops, dataclasses.replace(loop, stop=stop))
    start = builder.integer(Affine({count: -trips.step}, trips[-1] + trips.step))
    return (*builder.ops, dataclasses.replace(loop, start=start))


class _Loops:
    def __init__(self, region: ir.Region):
        self.region, self.made = region, region.made
        self.sizes = {
            op.out: math.prod(int(n.value) for n in op.shape if isinstance(n, ir.Const)) * _bytes(op.out)
            for op in region.inside
            if isinstance(op, ir.Alloc) and (op.role is None or op.role.kind != "block")
        }

    def rolled(self) -> dict[ir.Op, range]:
        """The loops, and their trips."""
        found = {loop: (trips, self.places(loop)) for loop, trips in self.over_arrays(self.region)}
        limit = MOST_WRITTEN_OUT if self.is_mostly_own() else MOST_KEPT
        full: set[ir.Operand] = {array for array, size in self.sizes.items() if size > limit}
        for loop, (trips, places) in found.items():
            if len(trips) * self.kept(loop, places) > limit:
                full.update(places.values())
        return {loop: trips for loop, (trips, places) in found.items() if full.intersection(places.values())}

    def registers(self) -> int:
        if not self.sizes or not self.is_mostly_own():
            return 0
        written: set[ir.Operand] = set()
        others: set[ir.Operand] = set()
        for op in self.region.inside:
            if isinstance(op, ir.For) and (places := self.places(op)):
                (others if literal_trips(op) is None else written).update(places.values())
        size = sum(own for array, own in self.sizes.items() if array in written - others)
        return size // _REGISTER + OTHERS if size else 0

    def is_mostly_own(self) -> bool:
        """Whether a thread's own arrays are most of what it loads and stores."""
        own = others = 0
        for op, count in _counted_inside(self.region, 1):
            if isinstance(op, ir.Load | ir.Store):
                is_own = ir.base_of(op.array, self.made) in self.sizes
                size = count * _bytes(op.array) * (1 + (isinstance(op, ir.Store) and op.add))
                own, others = (own + size, others) if is_own else (own, others + size)
        return own > MOST * others

    def over_arrays(self, region: ir.Region) -> Iterator[tuple[ir.For, range]]:
        """The outermost loops of literal trips that index a thread's array with their counter."""
        for op in region.ops:
            trips = literal_trips(op) if isinstance(op, ir.For) else None
            if isinstance(op, ir.For) and trips is not None and len(trips) > 1 and self.places(op):
                yield op, trips
            else:
                for inside in op.regions:
                    yield from self.over_arrays(inside)

    def places(self, loop: ir.For) -> dict[ir.Op, ir.Operand]:
        """The accesses to a thread's arrays at an index that hangs on the loop's counter, and those arrays."""
        varying: set[ir.Operand] = {loop.body.args[0]}
        found: dict[ir.Op, ir.Operand] = {}
        for op in loop.body.inside:
            if isinstance(op, ir.Call | ir.Slice) and varying.intersection(op.operands):
                varying.update(op.results)
            elif isinstance(op, ir.Load | ir.Store):
                array = ir.base_of(op.array, self.made)
                if array in self.sizes and varying.intersection((op.array, *op.index)):
                    found[op] = array
        return found

    def kept(self, loop: ir.For, places: dict[ir.Op, ir.Operand]) -> int:
        """The bytes, in a trip, of what is loaded from a thread's arrays and what follows from that alone, as far as
        it is read for something else."""
        own: dict[ir.Operand, int] = {}
        read: set[ir.Operand] = set(loop.body.yields)
        for op, count in _counted_inside(loop.body, 1):
            is_pure = isinstance(op, ir.Call) and not op.effect and not any(map(ir.is_reference, op.operands))
            follows = is_pure and all(o in own or o not in loop.body.defines for o in op.operands)
            if isinstance(op, ir.Load) and op in places:
                own[op.out] = count
            elif follows and any(o in own for o in op.operands):
                own.update(dict.fromkeys(op.results, count))
            else:
                read.update(op.operands)
                read.update(y for inside in op.regions for y in inside.yields)
        return sum(count * _bytes(o) for o, count in own.items() if o in read)


def _counted_inside(region: ir.Region, count: int) -> Iterator[tuple[ir.Op, int]]:
    """The operations, each with the number of times that literal loops do it."""
    for op in region.ops:
        yield op, count
        trips = literal_trips(op) if isinstance(op, ir.For) else None
        for inside in op.regions:
            yield from _counted_inside(inside, count * (1 if trips is None else len(trips)))


def _bytes(operand: ir.Operand) -> int:
    """Those of a number, or of an array's elements."""
    type_ = array_type_of(operand).dtype if ir.is_array(operand) else operand.type
    return -(-getattr(type_, "bitwidth", 8) // 8)
