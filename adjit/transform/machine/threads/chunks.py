"""Writes a loop as chunks of trips, which run at the same time and have what they add up, and scratch, to themselves.

In: a loop whose trips may come in any order, and what they share. Out: operations that do the same, up to the rounding
of what is added up.

    for i in range(n):                      for chunk in prange(64):
        total += x[i]                           total = 0.0
                                                for i in range(n * chunk // 64, n * (chunk + 1) // 64):
                                                    total += x[i]
                                                total_parts[chunk] = total
                                            for chunk in range(64):
                                                total += total_parts[chunk]

Where neighbouring trips add to the same elements, every second chunk is run, and then the others: no two chunks that
run at the same time are next to each other, and each is as long as neighbours reach.

The number of chunks depends on sizes and never on the number of threads, so that all numbers are the same to the last
bit whatever runs them. numba gives each thread a run of neighbouring chunks: no two write to one cache line in turn.
Where trips are to go side by side, a chunk has so many that they do: it begins at a multiple of its `grain`.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.integers import emit_integer
from adjit.transform.analysis.loop_dependences import Sharing
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.machine.vectors import write_windows

MOST_CHUNKS = 64  # where a chunk has a few numbers of its own
MOST_ARRAYS = 16  # where it has arrays, which are made and added up once for each


class Chunks(ir.Builder):
    """What stands for the loop, of so many trips, in chunks, each but the last of a multiple of `grain` trips.

    `in_windows`: it suits them.
    """

    _integer = emit_integer

    def __init__(self, loop: ir.For, trips: ir.Operand, sharing: Sharing, grain: int, in_windows: bool):
        super().__init__(loop.origin)
        self._loop, self._trips, self._sharing = loop, trips, sharing
        self._grain, self._in_windows, self._blocks = grain, in_windows, trips
        if self._grain > 1:
            filled = self._integer(operator.add, self._trips, ir.integer(self._grain - 1), "filled")
            self._blocks = self._integer(operator.floordiv, filled, ir.integer(self._grain), "blocks")
        shapes = {array: self.shape(array) for array in sharing.added}
        most = self._most(shapes)
        pairs = self._pairs(most) if sharing.near else most
        self._chunks = self._integer(operator.mul, ir.integer(2), pairs, "chunks") if sharing.near else most
        parts = {array: self._parts(array, shape) for array, shape in shapes.items()}
        sums = {arg: self._parts(arg, None) for arg in sharing.sums}
        if sharing.near:
            two = ir.integer(2)
            in_phases = self.loop(two, "phase", over_chunks=True)
            with in_phases as phase, self.loop(pairs, "pair", parallel=True, over_chunks=True) as pair:
                first = self._integer(operator.mul, two, pair, "first")
                self._chunk(self._integer(operator.add, first, phase, "chunk"), parts, sums)
        else:
            with self.loop(most, "chunk", parallel=True, over_chunks=True) as chunk:
                self._chunk(chunk, parts, sums)
        for array, shape in shapes.items():
            self._add_up(array, parts[array], shape)
        for slot, arg in enumerate(sharing.sums):
            self._add_up_numbers(loop, slot, sums[arg])

    # ------------------------------------------------------------------------------------------------ how many chunks

    def _most(self, shapes: Mapping[ir.Var, tuple[ir.Operand, ...]]) -> ir.Operand:
        """How many chunks there may be, so that to add up what they have costs no more than their trips."""
        if not shapes and self._grain == 1:
            return ir.integer(MOST_CHUNKS)
        bounds: list[ir.Operand] = [ir.integer(MOST_ARRAYS if shapes else MOST_CHUNKS), self._blocks]
        direct = [op.array for op in self._loop.body.ops if isinstance(op, ir.Store) and op.add]
        for array, shape in shapes.items():
            if array in direct:
                # a trip adds to a few elements only
                size = shape[0]
                for extent in shape[1:]:
                    size = self._integer(operator.mul, size, extent, "size")
                size = self._integer(max, size, ir.integer(1), "size")
                enough = self._integer(operator.floordiv, self._trips, size, "enough")
                bounds.append(self._integer(max, enough, ir.integer(1), "enough"))
        known = min(b.value for b in bounds if isinstance(b, ir.Const))
        unknown = dict.fromkeys(b for b in bounds if isinstance(b, ir.Var))
        if not unknown:
            return ir.integer(known)
        return self.call(min, ir.integer(known), *unknown, type=types.intp, name="chunks")

    def _pairs(self, most: ir.Operand) -> ir.Operand:
        """How many pairs of chunks there are, if each is at least so long as neighbours reach."""
        least = max(1, -(-self._sharing.near // self._grain))
        enough = self._integer(operator.floordiv, self._blocks, ir.integer(2 * least), "enough")
        half = self._integer(operator.floordiv, most, ir.integer(2), "half")
        return self._integer(max, self._integer(min, enough, half, "most"), ir.integer(1), "pairs")

    # ------------------------------------------------------------------------------------------------------ one chunk

    def _parts(self, of: ir.Var, shape: tuple[ir.Operand, ...] | None) -> ir.Var:
        """What the chunks have of their own: an array each, of zeros, or a number."""
        dtype = of.type.dtype if isinstance(of.type, types.Array) else of.type
        out = ir.Var(f"{of.name}_parts", array_type(dtype, 1 + len(shape or ())))
        fill = None if shape is None else typed_const(0, dtype)
        self.emit(ir.Alloc(shape=(self._chunks, *(shape or ())), fill=fill, out=out))
        return out

    def _chunk(self, chunk: ir.Operand, parts: Mapping[ir.Var, ir.Var], sums: Mapping[ir.Var, ir.Var]) -> None:
        loop = self._loop
        mapping: dict[ir.Var, ir.Operand] = {}
        for array, made in parts.items():
            selectors: tuple[ir.Selector, ...] = (ir.At(chunk), *[ir.Span()] * array_type_of(array).ndim)
            mapping[array] = self.slice(made, selectors, f"{array.name}_part")
        for alloc, own in self._sharing.scratch.items():
            mapping[alloc.out] = own
            self.emit(dataclasses.replace(alloc, out=own))
        first = self._place(chunk)
        end = self._place(self._integer(operator.add, chunk, ir.integer(1), "next"), is_end=True)
        outs = tuple(dataclasses.replace(out) for out in loop.outs)
        inits = tuple(typed_const(0, arg.type) for arg in self._sharing.sums)
        (body,) = ir.substituted(loop, mapping).regions
        trips = dataclasses.replace(loop, inits=inits, body=body, outs=outs, parallel=False, pair=None)
        if self._in_windows:
            write_windows(self, trips, first, end)
        else:
            self.emit(dataclasses.replace(trips, start=self._counter(first, "first"), stop=self._counter(end, "end")))
        for out, made in zip(outs, sums.values(), strict=True):
            self.store(made, (chunk,), out)

    def _place(self, chunk: ir.Operand, is_end: bool = False) -> ir.Operand:
        """The number of the trip with which a chunk begins; `is_end`: with which the one before it ends."""
        before = self._integer(operator.mul, self._blocks, chunk, "before")
        name = "end" if is_end else "first"
        place = self._integer(operator.floordiv, before, self._chunks, name)
        if self._grain > 1:
            place = self._integer(operator.mul, ir.integer(self._grain), place, name)
            place = self._integer(min, place, self._trips, name) if is_end else place
        return place

    def _counter(self, place: ir.Operand, name: str) -> ir.Operand:
        """What the loop counts to in a trip."""
        if self._loop.step != ir.integer(1):
            place = self._integer(operator.mul, place, self._loop.step, name)
        if self._loop.start != ir.integer(0):
            place = self._integer(operator.add, self._loop.start, place, name)
        return place

    # ----------------------------------------------------------------------------------------------------- after them

    def _add_up(self, array: ir.Var, parts: ir.Var, shape: Sequence[ir.Operand]) -> None:
        """Adds the chunks' arrays, in the order of the chunks."""
        with self.loop(self._chunks, "chunk", over_chunks=True) as chunk:

            def add(place: tuple[ir.Var, ...]) -> None:
                self.store(array, place, self.load(parts, (chunk, *place)), add=True)

            self.nest(shape, add, "ijkl", ordered=range(len(shape)))

    def _add_up_numbers(self, loop: ir.For, slot: int, parts: ir.Var) -> None:
        init, arg, _, out = loop.slots[slot]

        def add(chunk: ir.Var, total: ir.Var) -> tuple[ir.Operand]:
            return (self.call(operator.add, total, self.load(parts, (chunk,)), type=arg.type, name=arg.name),)

        self.fold(self._chunks, "chunk", [init], [dataclasses.replace(arg)], add, [out], over_chunks=True)
