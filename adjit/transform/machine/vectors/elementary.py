"""Elementary functions that the compiler can vectorise, in the loops that it can vectorise.

In: a function, as it will be emitted. Out: the same, where innermost loops call `vectormath` for np.exp and its like;
what carries a value from trip to trip stands in a loop of its own after them (`strips.py`).

    for i in range(n):               for i in range(n):
        y[i] = np.exp(x[i])              y[i] = vectormath.exp(x[i])

A loop in which something else stands in the way of vectorising keeps the functions that it has, unless their results
may be compared with those of `vectormath`. These may differ in the last bit, and `np.exp(x[i]) > np.exp(x[0])` would
hold at i = 0.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.runtime import vectormath
from adjit.runtime.library import reassociable_add, reassociable_sub
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import is_cheap
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.order_sensitive import Roundings
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.machine.vectors.recurrence import Recurrence
from adjit.transform.machine.vectors.strips import Strips
from adjit.transform.rewrite.dead_code import eliminate_dead

_OF_BOTH = ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sinh", "cosh", "tanh")  # math and NumPy
ELEMENTARY: dict[Any, Any] = {
    **{getattr(module, name): getattr(vectormath, name) for name in _OF_BOTH for module in (math, np)},
    math.erf: vectormath.erf,
    math.erfc: vectormath.erfc,
    **dict.fromkeys((operator.pow, operator.ipow, math.pow, np.power), vectormath.pow),
}
_FUNCTIONS = frozenset(ELEMENTARY.values())
# Cheap, but not as vectors.
_SCALAR = frozenset({operator.floordiv, operator.mod, math.floor, math.ceil})
# Powers that the compiler has its own instructions for.
_PLAIN_POWERS = (-1.0, 0.5, 1.0, 2.0)
# Numbers beside one another that a trip stores: with more, as in chunks of directions, the trips are not made vectors.
_MOST_BESIDE = 4
_FEWEST_TRIPS = 8  # of a loop of which the number is known, to be worth a second loop


def vectorise(function: ir.Function) -> ir.Function:
    """The function with elementary functions replaced; the same object if there are none to replace."""
    body = _Pass(function).region(function.body, holds_scratch=True)
    # what only the recurrence reads, and computes itself, is not left with the rest
    made = function if body is function.body else eliminate_dead(dataclasses.replace(function, body=body))
    return _alike(made)


def _alike(function: ir.Function) -> ir.Function:
    """The function with calls of one elementary function made alike where they may be compared with each other."""
    called = [op for op in function.body.inside if isinstance(op, ir.Call | ir.OfRows)]
    made = [op for op in called if isinstance(op.callee, Hashable) and op.callee in _FUNCTIONS]
    names = {op.callee for op in made}
    others = [op for op in called if isinstance(op, ir.Call) and is_elementary(op) and ELEMENTARY[op.callee] in names]
    if not others:
        return function
    # what is divided by exp(x) - exp(y) is infinite at best
    reach = Roundings(function, function.analysis(Aliases), quotients=False)
    compared = {
        op.callee
        for op in made
        if (reach.has_memory(op.target) if isinstance(op, ir.OfRows) else reach.has_var(op.outs[0]))
    }
    instead: dict[ir.Op, Sequence[ir.Op]] = {
        op: (dataclasses.replace(op, callee=ELEMENTARY[op.callee]),)
        for op in others
        if ELEMENTARY[op.callee] in compared and reach.has_var(op.outs[0])
    }
    return ir.with_body(function, ir.replaced(function.body, instead)) if instead else function


class _Pass:
    """One walk over the function."""

    def __init__(self, function: ir.Function):
        self.aliases = function.analysis(Aliases)
        self.scratch: list[ir.Op] = []  # arrays to be made before the operation that is being looked at
        self.naturals = function.analysis(Naturals)

    def region(self, region: ir.Region, holds_scratch: bool = False) -> ir.Region:
        """`holds_scratch`: the scratch arrays of what is inside are made here, not further out."""
        ops: list[ir.Op] = []
        for op in region.ops:
            made = self.op(op)
            if holds_scratch:
                ops += self.scratch
                self.scratch = []
            ops.append(made)
        return ir.with_ops(region, ops)

    def op(self, op: ir.Op) -> ir.Op:
        if isinstance(op, ir.For) and not any(isinstance(inner, ir.For | ir.While) for inner in ir.walk(op.body)):
            return self.innermost(op)
        # trips that run at the same time have scratch arrays of their own
        regions = [self.region(r, isinstance(op, ir.For) and op.parallel) for r in op.regions]
        return ir.with_regions(op, regions)

    def innermost(self, loop: ir.For) -> ir.For:
        """The loop with elementary functions replaced, and without its recurrence where it has one; or as it is."""
        inner = loop.body.inside
        # what raises must find memory as the trips before left it
        if loop.stops or any(isinstance(op, ir.Raise) for op in inner) or not any(map(is_elementary, inner)):
            return loop
        is_plain = loop.step == ir.integer(1) and self.naturals.counts(loop)
        if _stores_rows(inner):
            return loop
        rest = Recurrence(loop, self.aliases.find, is_plain)
        first = [op for op in loop.body.ops if op not in rest.ops]
        if not are_vectorisable(first) or not any(is_elementary(i) for op in first for i in ir.with_inner(op)):
            return loop
        replaced = dataclasses.replace(loop, body=_replaced(loop.body, rest.ops))
        if rest.is_empty:
            return replaced
        trips = literal_trips(loop)
        if loop.parallel or not is_plain or (trips is not None and len(trips) < _FEWEST_TRIPS):
            return loop
        scratch, made = Strips(replaced, rest).made()
        self.scratch += scratch
        return made


def is_elementary(op: ir.Op) -> bool:
    """Whether it is a call of a function that there is a vectorisable form of, on floats of one type."""
    if not isinstance(op, ir.Call) or op.options or len(op.outs) != 1 or _is_plain_power(op):
        return False
    kinds = {operand.type for operand in (*op.args, *op.outs)}
    return len(kinds) == 1 and kinds <= {types.float32, types.float64} and op.callee in ELEMENTARY


def _is_plain_power(op: ir.Call) -> bool:
    if ELEMENTARY.get(op.callee) is not vectormath.pow:
        return False
    exponent = op.args[1]
    return isinstance(exponent, ir.Const) and isinstance(exponent.type, types.Float) and exponent.value in _PLAIN_POWERS


def are_vectorisable(ops: Sequence[ir.Op]) -> bool:
    """Whether operations without inner loops become instructions that vectors have."""
    for op in ops:
        for inner in ir.with_inner(op):
            if isinstance(inner, ir.Call):
                is_plain = _is_plain_power(inner) or inner.callee in (reassociable_add, reassociable_sub)
                is_plain = is_plain or (is_cheap(inner) and inner.callee not in _SCALAR)
                if not is_plain and not is_elementary(inner):
                    return False
            elif not isinstance(inner, ir.Load | ir.Store | ir.If | ir.Comment):
                return False
    return True


def _stores_rows(ops: Sequence[ir.Op]) -> bool:
    """Whether a trip stores to many elements beside one another, so that those of other trips are far from them."""
    beside: dict[ir.Operand, set[ir.Operand]] = {}
    for op in ops:
        if isinstance(op, ir.Store) and len(op.index) > 1 and isinstance(op.index[-1], ir.Const):
            beside.setdefault(op.array, set()).add(op.index[-1])
    return any(len(places) > _MOST_BESIDE for places in beside.values())


def _replaced(region: ir.Region, kept: Collection[ir.Op]) -> ir.Region:
    """The region with elementary functions replaced, but for the operations in `kept` with all that is inside them:
    they are told by what they are, so they stay the objects that they are."""
    ops: list[ir.Op] = []
    for op in region.ops:
        if op not in kept:
            op = ir.with_regions(op, [_replaced(inner, kept) for inner in op.regions]) if op.regions else op
            if isinstance(op, ir.Call) and is_elementary(op):
                op = dataclasses.replace(op, callee=ELEMENTARY[op.callee])
        ops.append(op)
    return ir.with_ops(region, ops)
