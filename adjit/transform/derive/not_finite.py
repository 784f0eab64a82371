"""Numbers that may be infinite or undefined, and operations that have such partials.

In: a function. Out: `NotFinite`. What goes in is taken to be finite, unless the program says otherwise:

    np.sqrt(x), 1.0 / x             have such partials themselves, where x is not known to be positive
    if not np.isnan(r): ...         what r is made of may be nan, or infinite
    np.where(mask, r, 0.0)          and so here, where a mask is given
    np.full(n, np.inf)              infinite from the start
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Set

import numpy as np

from adjit.runtime.library import reassociable_add, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.signs import Signs
from adjit.transform.derive.activity import goes_into

# the partials of these are finite whatever goes in
_BOUNDED = (
    operator.add, operator.sub, operator.neg, operator.pos, ir.cast, ir.select, reassociable_add, reassociable_sub,
)  # fmt: skip
_PRODUCTS = (operator.mul, np.multiply)
_DIVISIONS = (operator.truediv, np.divide)
_POWERS = (operator.pow, np.power, math.pow)
# and of these, for finite arguments
_SMOOTH = {
    *_BOUNDED, operator.mul, max, min, builtins.abs, np.add, np.subtract, np.multiply, np.negative, np.square,
    np.absolute, np.fabs, math.fabs, np.maximum, np.minimum, np.fmax, np.fmin, math.sin, np.sin, math.cos, np.cos,
    math.exp, np.exp, math.exp2, np.exp2, math.expm1, np.expm1, math.sinh, np.sinh, math.cosh, np.cosh, math.tanh,
    np.tanh, math.atan, np.arctan, math.asinh, np.arcsinh, math.hypot, np.hypot, math.erf, math.erfc, np.logaddexp,
    np.logaddexp2, np.sinc, math.radians, np.radians, np.deg2rad, math.degrees, np.degrees, np.rad2deg,
    math.copysign, np.copysign,
}  # fmt: skip
_LOGARITHMS = (math.log, np.log, math.log2, np.log2, math.log10, np.log10)
# and of these for positive ones
_SMOOTH_IF_POSITIVE = (math.sqrt, np.sqrt, np.cbrt, *_LOGARITHMS)
# these are infinite themselves where their partials are
_INFINITE_AS_WELL = (
    *_DIVISIONS, *_LOGARITHMS, math.log1p, np.log1p, math.atanh, np.arctanh, math.tan, np.tan, np.reciprocal,
    operator.mod, np.remainder, np.fmod,
)  # fmt: skip
# finite where what goes in is infinite, and so are quotients by it, and some powers
_LEVELLING = (
    np.reciprocal, math.exp, np.exp, math.exp2, np.exp2, math.expm1, np.expm1, math.tanh, np.tanh, math.atan, np.arctan,
    math.atan2, np.arctan2, math.erf, math.erfc, np.logaddexp, np.logaddexp2,
)  # fmt: skip
# these give one of their arguments
EXTREMA = (max, min, np.maximum, np.minimum, np.fmax, np.fmin)
# what these are asked of may not be finite
ASKING = (
    np.isnan, math.isnan, np.isinf, math.isinf, np.isfinite, math.isfinite, np.nan_to_num, np.nansum, np.nanprod,
    np.nancumsum, np.nancumprod, np.nanmax, np.nanmin, np.nanmedian, np.nanquantile, np.nanpercentile, np.fmax, np.fmin,
)  # fmt: skip
_EQUALITIES = (operator.eq, operator.ne, np.equal, np.not_equal)
_NOTS = (operator.not_, operator.invert, np.logical_not)
# the places where a mask holds, or something is not nan
_PLACES = (np.flatnonzero, np.nonzero, np.argwhere, np.nanargmax, np.nanargmin)


def is_bounded(op: ir.Call) -> bool:
    return op.callee in _BOUNDED


def is_partly_undefined(op: ir.Call) -> bool:
    """Whether one partial may be infinite or undefined where another one is neither, as of (-2.0) ** y."""
    return len(op.args) > 1 and not _is_smooth(op) and op.callee not in _DIVISIONS


class NotFinite:
    def __init__(self, function: ir.Function):
        self._find = function.analysis(Aliases).find
        self._signs = function.analysis(Signs)
        self._made = function.body.made
        self._args = set(map(self._find, function.body.args))
        self._into: dict[ir.Operand, list[ir.Operand]] = {}
        self._outs: dict[ir.Operand, list[tuple[ir.Op, ir.Operand]]] = {}
        calls = []
        for op in function.body.inside:
            if isinstance(op, ir.Call):
                calls.append(op)
            if not isinstance(op, ir.Push | ir.Pull):
                for out, *of in goes_into(op):
                    self._note(op, self._find(out), map(self._find, of))
        infinities = [o for of in self._into.values() for o in of if _is_infinite(o)]
        filled = [
            self._find(op.out)
            for op in function.body.inside
            if isinstance(op, ir.Alloc) and op.fill is not None and _is_infinite(op.fill)
        ]
        # by the program's own word: data that is missing, and what is filled up with infinity
        self._given = self._reached(self._asked(function)) | self._reached([*infinities, *filled], are_constants=True)
        self._own = [op for op in calls if not self._is_smooth(op)]
        self.values = self._given | self._reached(self._find(out) for op in self._own for out in op.outs)

    def _note(self, op: ir.Op, out: ir.Operand, of: Iterable[ir.Operand]) -> None:
        for operand in of:
            self._into.setdefault(out, []).append(operand)
            self._outs.setdefault(operand, []).append((op, out))

    def hidden(self, is_active: Callable[[ir.Operand], bool]) -> Set[ir.Operand]:
        """What may be finite though a partial of what it is made by is not, and what is so by the program's word."""
        hiding = [op for op in self._own if self._hides(op) and any(map(is_active, op.args))]
        return self._given | self._reached(self._find(out) for op in hiding for out in op.outs)

    def guarded(self, op: ir.Call) -> Collection[ir.Operand]:
        """The arguments by which the partials may not be finite."""
        return () if is_bounded(op) else self._wild(op, self.values)

    def guarded_forward(self, op: ir.Call) -> Collection[ir.Operand]:
        """The same, where the value may be finite, or becomes so, and the argument need not move."""
        if not is_bounded(op) and not self._is_smooth(op) and self._hides(op):
            return op.args
        return self.guarded_levelled(op)

    def guarded_levelled(self, op: ir.Call) -> Collection[ir.Operand]:
        """The same, where the program says that the value may be infinite, and makes something finite of that."""
        if is_bounded(op) or op.outs[0] not in self._levelled or (not self._is_smooth(op) and self._hides(op)):
            return ()
        return self._wild(op, self._given)

    def is_given(self, operand: ir.Operand) -> bool:
        """Whether it may be infinite or undefined by the program's own word."""
        return operand in self._given

    def levels(self, op: ir.Call) -> Collection[ir.Operand]:
        """The arguments that may be infinite by the program's own word, where the value is finite and stays so."""
        return [a for a in op.args if self.is_given(a) and _levels(op, a)]

    def _wild(self, op: ir.Call, values: Set[ir.Operand]) -> Collection[ir.Operand]:
        if op.callee in _PRODUCTS:
            left, right = op.args
            return [a for a, by in ((left, right), (right, left)) if by in values]
        return () if self._is_smooth(op) and values.isdisjoint(op.args) else op.args

    def _is_smooth(self, op: ir.Call) -> bool:
        """Whether partials are finite for finite arguments."""
        if _is_smooth(op):
            return True
        if op.callee in _SMOOTH_IF_POSITIVE or op.callee in _POWERS:
            return self._signs.is_positive(op.args[0], op)
        return op.callee in _DIVISIONS and self._signs.is_not_zero(op.args[1], op)

    @staticmethod
    def _hides(op: ir.Call) -> bool:
        """Whether the value may be finite where a partial is not."""
        return op.callee not in _INFINITE_AS_WELL and not _is_inverse(op)

    @functools.cached_property
    def _levelled(self) -> set[ir.Operand]:
        """What may be infinite or undefined by the program's own word, and goes into what is finite again."""
        levelling = [
            o for o in self._given for op, _ in self._outs.get(o, ()) if isinstance(op, ir.Call) and _levels(op, o)
        ]
        return _closure(levelling, lambda o: (of for of in self._into.get(o, ()) if of in self._given))

    def _reached(self, sources: Iterable[ir.Operand], are_constants: bool = False) -> set[ir.Operand]:
        """All that is made of these; infinities that are constants are where a running extremum begins."""

        def made_of(operand: ir.Operand) -> Iterator[ir.Operand]:
            for op, out in self._outs.get(operand, ()):
                # loops are taken to make trips
                is_beginning = isinstance(op, ir.For | ir.While) and out in op.outs and operand in op.inits
                if not are_constants or not (is_beginning or (isinstance(op, ir.Call) and op.callee in EXTREMA)):
                    yield out

        return _closure(sources, made_of)

    def _asked(self, function: ir.Function) -> set[ir.Operand]:
        """What goes into the function, and into what it asks whether it is finite, or which a mask chooses of."""
        inside = function.body.inside
        places = self._reached(self._find(place) for op in inside for place in self._places_by(op))
        asked = [self._find(a) for op in inside for a in self._asked_by(op)]
        asked += [self._find(op.array) for op in inside if isinstance(op, ir.Load) and not places.isdisjoint(op.index)]
        return {o for o in _closure(asked, lambda o: self._into.get(o, ())) if o in self._args or o not in self._into}

    def _asked_by(self, op: ir.Op) -> Iterable[ir.Operand]:
        if isinstance(op, ir.If):
            return self._chosen(op) if self.is_of_mask(op.condition) else ()
        if not isinstance(op, ir.Call):
            return ()
        if op.callee in ASKING or (op.callee in _EQUALITIES and op.args[0] is op.args[1]):
            return op.args
        return op.args[1:] if op.callee is ir.select and self.is_of_mask(op.args[0]) else ()

    def _places_by(self, op: ir.Op) -> Iterator[ir.Operand]:
        """Arrays of the places where a mask holds."""
        if isinstance(op, ir.Call) and op.callee in _PLACES:
            yield from op.outs
        elif isinstance(op, ir.If) and self.is_of_mask(op.condition):
            yield from (o for o in self._chosen(op) if ir.is_reference(o) and not ir.is_float(o.type))

    @staticmethod
    def _chosen(op: ir.If) -> Iterator[ir.Operand]:
        """What one side of a branch makes or stores, and what else is in the memory that it stores to."""
        yield from (y for side in op.regions for y in side.yields)
        for inner in (one for side in op.regions for one in side.inside):
            if isinstance(inner, ir.Store):
                yield from (inner.value,) if inner.add else (inner.value, inner.array)

    def is_of_mask(self, condition: ir.Operand) -> bool:
        """Whether it is an element of an array."""
        op = self._made.get(condition)
        if isinstance(op, ir.Call) and op.callee in _NOTS:
            return self.is_of_mask(op.args[0])
        return isinstance(op, ir.Load)


def _is_smooth(op: ir.Call) -> bool:
    if op.callee in _DIVISIONS or op.callee in _POWERS:
        right = op.args[1]
        return (
            isinstance(right, ir.Const)
            and not ir.is_array(right)
            and (right.value >= 1 or (right.value != 0 and op.callee in _DIVISIONS))
        )
    return isinstance(op.callee, Hashable) and op.callee in _SMOOTH


def _is_inverse(op: ir.Call) -> bool:
    """Whether it is a power that is infinite where its partial is."""
    if op.callee not in _POWERS or not isinstance(op.args[1], ir.Const) or ir.is_array(op.args[1]):
        return False
    return bool(op.args[1].value < 0)


def _levels(op: ir.Call, operand: ir.Operand) -> bool:
    """Whether the value may be finite where this argument is infinite."""
    if op.callee in _DIVISIONS:
        return operand is op.args[1]
    if op.callee in _POWERS:
        return _is_inverse(op) or not isinstance(op.args[1], ir.Const)
    return op.callee in _LEVELLING


def _is_infinite(operand: ir.Operand) -> bool:
    return isinstance(operand, ir.Const) and ir.is_float(operand.type) and not bool(np.all(np.isfinite(operand.value)))


def _closure(start: Iterable[ir.Operand], after: Callable[[ir.Operand], Iterable[ir.Operand]]) -> set[ir.Operand]:
    found: set[ir.Operand] = set()
    pending = list(start)
    while pending:
        operand = pending.pop()
        if operand not in found:
            found.add(operand)
            pending += after(operand)
    return found
