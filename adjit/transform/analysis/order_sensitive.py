"""What the values of a function, and the way it takes, depend on: variables and memory.

In: a function and which of its results are values whose every bit counts. Out: `Reach`. What is not in it only reaches
adjoints, so that a sum in it may be added up in any order. So may the sums of array statements, as NumPy adds them up
in an order of its own, unless something is decided by them: both sweeps have to decide alike, whatever loop they sum
in.

    total += e; x_bar[j] += e_bar       total is in the reach of the returned total, x_bar is not
    np.mean(x); np.where(x > mean, ...) the elements are added up in their order
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

import numpy as np
from numba import types

from adjit.runtime import vectormath
from adjit.runtime.library import check_apart, check_output, check_separate, reassociable_add, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases, names_given
from adjit.transform.analysis.signs import Signs

_OF_PLACES = (check_apart, check_output, check_separate)  # which look at where arrays are, and not at what is there


class Reach:
    """Everything that flows into the yields at `positions`, into a condition, a loop bound, an index, an extent or an
    effect."""

    def __init__(self, function: ir.Function, aliases: Aliases, positions: Collection[int] = ()):
        self._function, self._aliases = function, aliases
        wanted = [y for k, y in enumerate(function.body.yields) if k in positions]
        self._follow([*wanted, *self._ends(function.body.inside)])

    def _ends(self, ops: Collection[ir.Op]) -> Iterator[ir.Operand]:
        """What else is looked for: all that flows into these operands of operations."""
        for op in ops:
            if isinstance(op, ir.Call) and op.callee in _OF_PLACES:
                continue
            yield from steering(op)
            if isinstance(op, ir.Alloc | ir.Reshape):
                yield from op.shape
            elif isinstance(op, ir.Slice):
                yield from op.operands[1:]

    def _follow(self, wanted: Collection[ir.Operand]) -> None:
        """Everything that flows into these."""
        self._vars: set[ir.Operand] = set()
        self._memory: set[ir.Operand] = set()
        flows = self._function.analysis(_Flows)
        waiting = list(wanted)
        self._add_memory(wanted, waiting)
        while waiting:
            var = waiting.pop()
            if isinstance(var, ir.Var) and var not in self._vars:
                self._vars.add(var)
                waiting += flows.beside.get(var, ())
                # an extent is no element of its array
                if (op := flows.made.get(var)) is not None and not isinstance(op, ir.Extent):
                    waiting += op.operands
                    self._add_memory(op.memory_read, waiting)

    def has_var(self, var: ir.Var) -> bool:
        return var in self._vars

    def has_memory(self, array: ir.Operand) -> bool:
        return self._aliases.find(array) in self._memory

    def is_ordered(self, loop: ir.For, chain: Iterable[ir.Operand]) -> bool:
        """Whether a sum that the loop carries, under these names, has to be added up in the order of the trips."""
        names = {v for v in chain if isinstance(v, ir.Var) and self.has_var(v)}
        inner = (op for op in loop.body.inside if isinstance(op, ir.For) and not names.isdisjoint(op.outs))
        is_free = all(op.order_free for op in (loop, *inner)) and not any(map(self._decisions.has_var, names))
        return bool(names) and not is_free

    @functools.cached_property
    def _decisions(self) -> Reach:
        """What something is decided by: a branch, an index, a comparison, a step."""
        return _Decisions(self._function, self._aliases)

    def _add_memory(self, arrays: Iterable[ir.Operand], waiting: list[ir.Operand]) -> None:
        """What arrays hold, which is what is stored there."""
        for memory in (self._aliases.find(array) for array in arrays if ir.is_reference(array)):
            if memory not in self._memory:
                self._memory.add(memory)
                flows = self._function.analysis(_Flows)
                waiting += flows.stored.get(memory, ())
                self._add_memory(flows.factors.get(memory, ()), waiting)


class _Flows:
    """What makes each value, the names of one value, and what stores in the memory of each class use: `stored` has
    values, `factors` matrices of which a product is added there."""

    def __init__(self, function: ir.Function):
        aliases = function.analysis(Aliases)
        self.made: dict[ir.Operand, ir.Op] = {}
        self.beside: dict[ir.Operand, list[ir.Operand]] = {}
        self.stored: dict[ir.Operand, list[ir.Operand]] = {}
        self.factors: dict[ir.Operand, list[ir.Operand]] = {}
        for op in function.body.inside:
            if isinstance(op, ir.For | ir.While | ir.If):
                for name, value in names_given(op):
                    self.beside.setdefault(name, []).append(value)
                    self.beside.setdefault(value, []).append(name)
            elif isinstance(op, ir.AddProduct):
                self.factors.setdefault(aliases.find(op.target), []).extend((op.left, op.right))
            elif op.memory_written is not None:
                self.stored.setdefault(aliases.find(op.memory_written), []).extend(op.operands)
            else:
                self.made.update(dict.fromkeys(op.results, op))


class _Decisions(Reach):
    """Everything that flows into a condition, a loop bound, an index, an effect, a comparison or a step."""

    def _ends(self, ops: Collection[ir.Op]) -> Iterator[ir.Operand]:
        yield from super()._ends(ops)
        guards = _guards(ops)
        for op in ops:
            if isinstance(op, ir.Call) and _is_step(op) and op.outs[0] not in guards:
                yield from op.args


class _FarFromZero(Signs):
    """Numbers that stay positive when what is squared in them is rounded otherwise, to 1e-17 in the place of 0."""

    least = 1e-20


class Roundings(Reach):
    """Everything that flows into the yields at `positions`, into a decision, or into a function that is not smooth
    everywhere, such as a root: what is 0 there must not be 1e-17. `quotients`: what is divided by counts, too. A root
    of what is positive, and a quotient by it, is smooth.
    """

    def __init__(
        self, function: ir.Function, aliases: Aliases, positions: Collection[int] = (), quotients: bool = True
    ):
        self._quotients = quotients
        super().__init__(function, aliases, positions)

    def _ends(self, ops: Collection[ir.Op]) -> Iterator[ir.Operand]:
        yield from super()._ends(ops)
        for op in ops:
            told_apart = _told_apart(op, self._quotients)
            if told_apart and isinstance(op, ir.Call) and _is_one(op, _SMOOTH_ABOVE_ZERO):
                signs = self._function.analysis(_FarFromZero)
                told_apart = [operand for operand in told_apart if not signs.is_positive(operand, op)]
            yield from told_apart


def _told_apart(op: ir.Op, quotients: bool) -> Sequence[ir.Operand]:
    """Operands that an operation may be very different for where they are nearly equal."""
    if not isinstance(op, ir.Call) or _is_one(op, _SMOOTH) or _is_whole_power(op):
        return ()
    if op.callee is operator.truediv:
        return op.args[1:] if quotients else ()
    return op.args[:1] if op.callee is ir.select else op.args


def _is_whole_power(op: ir.Call) -> bool:
    """Whether it is x ** 2, x ** 3, ..."""
    exponent = op.args[1] if op.callee is operator.pow else None
    return isinstance(exponent, ir.Const) and isinstance(exponent.type, types.Integer) and exponent.value > 0


_SMOOTH: set[object] = {operator.add, operator.sub, operator.mul, operator.neg, operator.pos, ir.cast}
_SMOOTH |= {reassociable_add, reassociable_sub, *_OF_PLACES}
for _name in ("exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "erf", "erfc"):
    _SMOOTH |= {getattr(module, _name) for module in (math, np, vectormath) if hasattr(module, _name)}

# of what is positive: `sqrt(dx * dx + dy * dy + 0.01)`
_SMOOTH_ABOVE_ZERO: set[object] = {operator.truediv, operator.pow, abs}
for _name in ("sqrt", "cbrt", "log", "log2", "log10"):
    _SMOOTH_ABOVE_ZERO |= {getattr(module, _name) for module in (math, np, vectormath) if hasattr(module, _name)}

# What of floats is a float again, and no smooth function of them. That something is nan is so in any order.
_STEPS: set[object] = {math.floor, math.ceil, math.trunc, np.floor, np.ceil, np.trunc, np.rint, np.round, np.around}
_STEPS |= {operator.floordiv, operator.mod, np.floor_divide, np.mod, np.remainder, math.fmod, np.fmod, np.sign, round}
_NAN: set[object] = {math.isnan, np.isnan}


def _is_step(op: ir.Call) -> bool:
    """Whether it makes something discrete of floats."""
    if _is_one(op, _NAN) or not any(ir.is_float(o.type) for o in op.args):
        return False
    return _is_one(op, _STEPS) or any(not ir.is_float(out.type) for out in op.outs)


def _is_one(op: ir.Call, callees: Collection[object]) -> bool:
    return isinstance(op.callee, Hashable) and op.callee in callees


def _guards(ops: Collection[ir.Op]) -> set[ir.Operand]:
    """The comparisons that only keep a nan from an adjoint: where that is zero, or where a length is."""
    are_nan = {op.outs[0] for op in ops if isinstance(op, ir.Call) and _is_one(op, _NAN)}
    both = (op for op in ops if isinstance(op, ir.Call) and op.callee is operator.and_)
    found = {o for op in both if not are_nan.isdisjoint(op.args) for o in op.args}
    are_zero = {
        op.outs[0]
        for op in ops
        if isinstance(op, ir.Call) and op.callee is operator.eq and ir.is_literal(op.args[1], 0)
    }
    if are_zero:
        others = {o for op in ops for o in op.operands[_chooses_zero(op) :]}
        found |= are_zero - others.union(*(region.yields for op in ops for region in op.regions))
    return found


def _chooses_zero(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) and op.callee is ir.select and ir.is_literal(op.args[1], 0)


def steering(op: ir.Op) -> Iterator[ir.Operand]:
    """What decides which way an operation takes, or where in memory."""
    match op:
        case ir.For() | ir.While():
            yield from (op.start, op.stop, op.step) if isinstance(op, ir.For) else op.test.yields
            if op.stops:
                yield op.body.yields[-1]
        case ir.If() | ir.Raise():
            yield from op.operands
        case ir.Load() | ir.Store():
            yield from op.index
        case ir.Call(effect=True):
            yield from op.args
