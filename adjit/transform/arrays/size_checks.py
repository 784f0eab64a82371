"""Integers that can be worked out before anything else is done, with the loops that they come of.

In: a function. Out: `Beforehand`, which says what hangs on nothing but integers and extents that are given, and writes
the checks of slices whose bounds are made of those, of indices, and of extents that are taken to be equal.

    p = n                                    p = n
    for j in range(n):                       for j in range(n):
        s += np.sum(a[p : p + j] * b[:j])        slice_inside(p, p + j, a.size)
        p += j                                   p += j

A loop that the bounds do not follow from is left out. What is checked may then be a trip that is not made; that only
makes the check stricter.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.runtime.library import check_bounds, same_extent, slice_inside
from adjit.transform import ir
from adjit.transform.analysis.affine import ONE, Affine, Symbol
from adjit.transform.analysis.integers import emit_integer, is_quotient
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


@dataclass(frozen=True)
class Same:
    """left = right, in the same terms, and of extents of slices."""

    left: Affine
    right: Affine

    @property
    def symbols(self) -> Iterator[Symbol]:
        for value in (self.left, self.right):
            for symbol in value.terms:
                yield from symbol.extent.terms if isinstance(symbol, Clipped) else (symbol,)


@dataclass(frozen=True)
class Inside:
    """An axis of this extent has an element at the index, in the same terms."""

    index: Affine
    extent: Affine

    @property
    def symbols(self) -> Iterator[Symbol]:
        for value in (self.index, self.extent):
            yield from value.terms


Check = Bounds | Same | Inside


@dataclass(frozen=True)
class Clipped:
    """The extent of a slice of an axis, where its bounds may lie outside."""

    start: Affine | None
    stop: Affine | None
    step: Affine
    extent: Affine

    def is_cut_like(self, other: Clipped) -> bool:
        return dataclasses.replace(self, extent=other.extent) == other

    @property
    def bounds(self) -> Bounds | None:
        """What has to hold for it to be stop - start."""
        if self.step != ONE or self.stop is None:
            return None
        return Bounds(Affine() if self.start is None else self.start, self.stop, self.extent)

    @property
    def is_literal(self) -> bool:
        """Whether its ends and its step are literals, as in [1::2]; the step goes up, the start is not from the end."""
        ends = [end for end in (self.start, self.stop, self.step) if end is not None]
        is_up = self.step.constant > 0 and (self.start is None or self.start.constant >= 0)
        return is_up and all(end.is_constant for end in ends)


class Beforehand:
    def __init__(self, function: ir.Function):
        self._body = function.body
        self._params = frozenset(function.body.args)
        self._made = function.body.made
        self._top = frozenset(function.body.ops)
        self._impossible: set[ir.Operand] = {p for p in self._params if not isinstance(p.type, types.Integer)}
        size = -1
        while size != (size := len(self._impossible)):
            for op in ir.walk(function.body):
                self._impossible.update(self._no_results(op))

    def is_possible(self, check: Check) -> bool:
        return all(
            symbol[0] in self._params if isinstance(symbol, tuple) else self._is_known(symbol)
            for symbol in check.symbols
        )

    def sources(self, symbol: Symbol) -> set[Symbol]:
        """The extents and integers that are given from which an integer, or the extent of a slice, follows."""
        if isinstance(symbol, Clipped):
            return set().union(*map(self.sources, symbol.extent.terms))
        if not isinstance(symbol, ir.Var) or symbol in self._params:
            return {symbol}
        made = self._made.get(symbol)
        if isinstance(made, ir.Extent) and made.array in self._params:
            return {(made.array, made.axis)}
        return set() if made is None else set().union(*map(self.sources, made.operands))

    def is_at_top(self, symbol: Symbol) -> bool:
        """Whether it is the same wherever it is named: no loop makes it, and no branch."""
        return not isinstance(symbol, ir.Var) or symbol in self._params or self._made.get(symbol) in self._top

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
                is_plain = not op.effect and (ir.canonical(op.callee) in _PLAIN or is_quotient(op)) and are_integers
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

    def loops(self, check: Check) -> set[ir.Op]:
        """The loops that are run for a check."""
        needed = self._needed((check,))
        return {op for op in self._body.inside if isinstance(op, ir.For) and _is_run(op, needed)}

    def checks(self, wanted: Sequence[Check]) -> list[ir.Op]:
        """What raises Stretched if a slice or an index goes beyond its array, or extents are not the same."""
        writing = _Writing(self._body, self._needed(wanted), wanted, self._extent)
        writing.inside(self._body)
        assert not writing.left
        return writing.ops

    def _needed(self, checks: Sequence[Check]) -> set[ir.Operand]:
        """Variables that the checks follow from."""
        needed: set[ir.Operand] = {s for check in checks for s in check.symbols if isinstance(s, ir.Var)}
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


def _is_run(loop: ir.For, needed: set[ir.Operand]) -> bool:
    return not needed.isdisjoint((*loop.body.args, *loop.outs))


def _call(check: Check) -> tuple[Any, tuple[Affine, ...]]:
    """What makes a check, and of what."""
    if isinstance(check, Same):
        return same_extent, (check.left, check.right)
    if isinstance(check, Inside):
        return check_bounds, (check.index, check.index, check.extent)
    return slice_inside, (check.start, check.stop, check.extent)


class _Writing(Writer):
    """One walk that copies what is needed."""

    def __init__(self, body: ir.Region, needed: set[ir.Operand], checks: Sequence[Check], extent: _Extents):
        super().__init__(name="n")
        self.body = body
        self.needed = needed
        self.left = list(dict.fromkeys(checks))
        self.made_extent = extent
        self.known: set[Symbol] = set(body.args)
        self.cloner = ir.Cloner()

    def inside(self, region: ir.Region) -> None:
        self.check()
        for op in region.ops:
            if isinstance(op, ir.For) and _is_run(op, self.needed):
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
        for check in self.left[:]:
            if not all(symbol in self.known for symbol in check.symbols if isinstance(symbol, ir.Var)):
                continue
            self.left.remove(check)
            callee, parts = _call(check)
            self.emit(ir.Call(callee=callee, args=tuple(map(self.integer, parts)), outs=(), effect=True))

    def clipped(self, symbol: Clipped) -> ir.Operand:
        """max(0, ceil((stop - start) / step))"""
        stop = self.integer(symbol.extent)
        if symbol.stop is not None and symbol.stop.constant < 0:
            stop = emit_integer(self, operator.add, stop, ir.integer(symbol.stop.constant), "n")
        elif symbol.stop is not None:
            stop = self.call(min, stop, ir.integer(symbol.stop.constant), type=types.intp, name="n")
        start, step = 0 if symbol.start is None else symbol.start.constant, symbol.step.constant
        ahead = emit_integer(self, operator.add, stop, ir.integer(step - 1 - start), "n")
        trips = emit_integer(self, operator.floordiv, ahead, ir.integer(step), "n")
        return self.call(max, trips, ir.integer(0), type=types.intp, name="n")

    def symbol(self, symbol: Symbol) -> ir.Operand:
        if isinstance(symbol, Clipped):
            return self.clipped(symbol)
        if not isinstance(symbol, ir.Var):
            return super().symbol(symbol)
        operand = self.cloner.operand(symbol)
        return operand if operand.type == types.intp else self.call(ir.cast, operand, type=types.intp, name="n")
