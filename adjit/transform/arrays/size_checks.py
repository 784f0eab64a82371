"""Integers that can be worked out before anything else is done, with the loops that they come of.

In: a function. Out: `Beforehand`, which says what hangs on nothing but integers and extents that are given, and writes
the checks of slices whose bounds are made of those.

    p = n                                    p = n
    for j in range(n):                       for j in range(n):
        s += np.sum(a[p : p + j] * b[:j])        slice_inside(p, p + j, a.size)
        p += j                                   p += j

A loop that the bounds do not follow from is left out. What is checked may then be a trip that is not made; that only
makes the check stricter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from numba import types

from adjit.runtime.library import slice_inside
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine, Symbol
from adjit.transform.rewrite.affine_ops import Writer

_Extents = Callable[[ir.Operand, int], ir.Operand | None]

_PLAIN = (operator.add, operator.sub, operator.mul, operator.neg, min, max, ir.cast)


@dataclass(frozen=True)
class Bounds:
    """0 <= start <= stop <= extent, in terms of variables of the function and of the extents of its arguments."""

    start: Affine
    stop: Affine
    extent: Affine

    @property
    def symbols(self) -> Iterator[Symbol]:
        for value in (self.start, self.stop, self.extent):
            yield from value.terms


class Beforehand:
    def __init__(self, function: ir.Function):
        self._body = function.body
        self._params = frozenset(function.body.args)
        self._made = function.body.made
        self._impossible: set[ir.Operand] = {p for p in self._params if not isinstance(p.type, types.Integer)}
        size = -1
        while size != (size := len(self._impossible)):
            for op in ir.walk(function.body):
                self._impossible.update(self._no_results(op))

    def is_possible(self, bounds: Bounds) -> bool:
        return all(
            symbol[0] in self._params if isinstance(symbol, tuple) else self._is_known(symbol)
            for symbol in bounds.symbols
        )

    def _is_known(self, symbol: object) -> bool:
        return isinstance(symbol, ir.Const) or (isinstance(symbol, ir.Var) and symbol not in self._impossible)

    def _no_results(self, op: ir.Op) -> Iterator[ir.Operand]:
        """Variables that an operation makes and that cannot be known before."""
        match op:
            case ir.For(stops=False, body=body):
                is_counted = all(map(self._is_known, (op.start, op.stop, op.step)))
                if not is_counted:
                    yield body.args[0]
                for init, arg, yielded, out in op.slots:
                    is_integer = isinstance(out.type, types.Integer)
                    if not (is_counted and is_integer and self._is_known(init) and self._is_known(yielded)):
                        yield from (arg, out)
            case ir.Extent(array=array, axis=axis):
                if array not in self._params and self._extent(array, axis) is None:
                    yield op.out
            case ir.Call():
                are_integers = all(isinstance(o.type, types.Integer) for o in (*op.args, *op.outs))
                is_plain = not op.effect and ir.canonical(op.callee) in _PLAIN and are_integers
                if not is_plain or not all(map(self._is_known, op.args)):
                    yield from op.outs
            case _:
                yield from op.results
                for region in op.regions:
                    yield from region.args

    def _extent(self, array: ir.Operand, axis: int) -> ir.Operand | None:
        """An operand that holds the extent of an array made here."""
        made = self._made.get(array) if isinstance(array, ir.Var) else None
        if isinstance(made, ir.Alloc) and made.like is None and self._is_known(made.shape[axis]):
            return made.shape[axis]
        return None

    # ---------------------------------------------------------------------------------------------- writing

    def checks(self, bounds: Sequence[Bounds]) -> list[ir.Op]:
        """What raises Stretched if a slice with one of these bounds goes beyond its array."""
        writing = _Writing(self._body, self._needed(bounds), bounds, self._extent)
        writing.inside(self._body)
        return writing.ops

    def _needed(self, bounds: Sequence[Bounds]) -> set[ir.Operand]:
        """Variables that the bounds follow from."""
        needed: set[ir.Operand] = {s for b in bounds for s in b.symbols if isinstance(s, ir.Var)}
        size = -1
        while size != (size := len(needed)):
            for op in ir.walk(self._body):
                if isinstance(op, ir.For):
                    found = [slot for slot in op.slots if slot.arg in needed or slot.out in needed]
                    needed.update(operand for slot in found for operand in (slot.init, slot.arg, slot.yielded))
                    if found or op.body.args[0] in needed:
                        needed.update((op.start, op.stop, op.step))
                elif isinstance(op, ir.Extent) and op.out in needed:
                    extent = self._extent(op.array, op.axis)
                    needed.update(() if extent is None else (extent,))
                elif any(out in needed for out in op.results):
                    needed.update(op.operands)
        return needed


class _Writing(Writer):
    """One walk that copies what is needed."""

    def __init__(self, body: ir.Region, needed: set[ir.Operand], bounds: Sequence[Bounds], extent: _Extents):
        super().__init__(name="n")
        self.body = body
        self.needed = needed
        self.left = list(dict.fromkeys(bounds))
        self.made_extent = extent
        self.known: set[Symbol] = set(body.args)
        self.cloner = ir.Cloner()

    def inside(self, region: ir.Region) -> None:
        self.check()
        for op in region.ops:
            if isinstance(op, ir.For) and self.needed.intersection((*op.body.args, *op.outs)):
                self.counted(op)
            elif op.regions:
                for inner in op.regions:
                    self.inside(inner)
            elif self.needed.intersection(op.results):
                self.copy(op)
            self.check()

    def copy(self, op: ir.Op) -> None:
        if isinstance(op, ir.Extent) and op.array not in self.body.args:
            extent = self.made_extent(op.array, op.axis)
            assert extent is not None
            self.cloner.mapping[op.out] = self.cloner.operand(extent)
        else:
            self.emit(self.cloner.op(op))
        self.known.update(op.results)

    def counted(self, op: ir.For) -> None:
        kept = [k for k, slot in enumerate(op.slots) if slot.arg in self.needed or slot.out in self.needed]
        op = ir.with_results(op, kept)
        before = set(self.known)
        start, stop, step, *inits = map(self.cloner.operand, op.operands)
        args = tuple(map(self.cloner.fresh, op.body.args))
        self.known.update(op.body.args)
        with self.region() as ops:
            self.inside(op.body)
        body = ir.Region(args, tuple(ops), tuple(map(self.cloner.operand, op.body.yields)))
        outs = tuple(map(self.cloner.fresh, op.outs))
        self.known = before.union(op.outs)
        self.emit(ir.For(start=start, stop=stop, step=step, inits=tuple(inits), body=body, outs=outs, origin=op.origin))

    def check(self) -> None:
        """The checks of which all that they name is known now."""
        for bounds in self.left[:]:
            if all(symbol in self.known for symbol in bounds.symbols if isinstance(symbol, ir.Var)):
                self.left.remove(bounds)
                args = tuple(map(self.integer, (bounds.start, bounds.stop, bounds.extent)))
                self.emit(ir.Call(callee=slice_inside, args=args, outs=(), effect=True))

    def symbol(self, symbol: Symbol) -> ir.Operand:
        if not isinstance(symbol, ir.Var):
            return super().symbol(symbol)
        operand = self.cloner.operand(symbol)
        return operand if operand.type == types.intp else self.call(ir.cast, operand, type=types.intp, name="n")
