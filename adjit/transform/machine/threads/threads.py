"""Loops over prange, made to run in parallel in the derivative wherever that is proved to give the same.

In: a function. Out: the same, in which `For.parallel` says that the trips do run at the same time. What the trips share
is decided by `analysis/loop_dependences.py`; a comment over the loop says what is done about each array.

    for i in prange(n):                     # parallel: u_bar disjoint; w_bar private to a chunk, added up in order
        u_bar[i] += w[k[i]]                 for chunk in prange(chunks):
        w_bar[k[i]] += u[i]                     w_bar_part = w_bar_parts[chunk]
                                                for i in range(n * chunk // chunks, n * (chunk + 1) // chunks):
                                                    u_bar[i] += w[k[i]]
                                                    w_bar_part[k[i]] += u[i]
                                            for chunk in range(chunks): w_bar += w_bar_parts[chunk]

The user's own loop may be serial, as its derivative is made of proofs and not of promises: then it says why.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integers import Naturals
from adjit.transform.analysis.loop_dependences import LoopDependences, Serial, Sharing
from adjit.transform.analysis.trip_counts import count_trips
from adjit.transform.machine.lanes import LEAST_LANES, fitting_lanes
from adjit.transform.machine.threads.chunks import Chunks
from adjit.transform.machine.vectors import LEAST_TRIPS, suits_windows
from adjit.transform.rewrite.affine_ops import Writer
from adjit.transform.rewrite.dead_code import eliminate_dead
from adjit.transform.rewrite.hoisted_checks import checked_apart, checked_first
from adjit.transform.rewrite.verified import checked
from adjit.transform.strategy import Strategy


def threaded(function: ir.Function, values: Collection[int], is_parallel: bool, strategy: Strategy) -> ir.Function:
    """The function as it is emitted, with loops in parallel or without; the results at `values` keep all their bits."""
    is_parallel = is_parallel and strategy.tuned
    return checked(_parallel(function, values, strategy) if is_parallel else serial(function), "parallel")


def serial(function: ir.Function) -> ir.Function:
    """The function with all trips one after the other."""
    return dataclasses.replace(function, body=ir.rewritten(function.body, _in_turn))


def _parallel(function: ir.Function, values: Collection[int], strategy: Strategy) -> ir.Function:
    """The function with its loops over prange in parallel where that may be."""
    if not any(isinstance(op, ir.For) and op.parallel for op in ir.walk(function.body)):
        return function
    function = dataclasses.replace(function, body=ir.rewritten(function.body, _checked_first))
    apart = functools.partial(_checked_apart, function.analysis(Aliases))
    function = dataclasses.replace(function, body=ir.rewritten(function.body, apart))
    counters = {op.body.args[0] for op in ir.walk(function.body) if isinstance(op, ir.For) and op.parallel}
    side_by_side: frozenset[ir.Var] = frozenset()
    if strategy.uses("lanes"):
        side_by_side = fitting_lanes(serial(function), values, counters, strategy)
    made = _Parallel(function, side_by_side).region(function.body)
    return eliminate_dead(dataclasses.replace(function, body=made))


def _in_turn(op: ir.Op) -> ir.Op:
    return dataclasses.replace(op, parallel=False) if isinstance(op, ir.For) and op.parallel else op


def _checked_first(op: ir.Op) -> Sequence[ir.Op]:
    return checked_first(op) if isinstance(op, ir.For) and op.parallel else [op]


def _checked_apart(aliases: Aliases, op: ir.Op) -> Sequence[ir.Op]:
    return checked_apart(op, aliases) if isinstance(op, ir.For) and op.parallel else [op]


class _Parallel:
    """`side_by_side`: the counters of loops whose trips will go in SIMD lanes, which chunks have to leave room for."""

    def __init__(self, function: ir.Function, side_by_side: Collection[ir.Var]):
        self._sharings = LoopDependences(function)
        self._naturals = function.analysis(Naturals)
        self._bounds = function.analysis(Iterations).bounds
        self._side_by_side = side_by_side

    def region(self, region: ir.Region) -> ir.Region:
        return ir.with_ops(region, [made for op in region.ops for made in self.op(op)])

    def inside(self, op: ir.Op) -> ir.Op:
        return _in_turn(ir.with_regions(op, [self.region(r) for r in op.regions]))

    def op(self, op: ir.Op) -> Sequence[ir.Op]:
        if not isinstance(op, ir.For) or not op.parallel:
            return [self.inside(op)]
        found = self._sharings.of(op)
        if isinstance(found, Serial):
            # what stands inside may still run in parallel
            return [ir.Comment(text=f"serial: {found.why}", about=found.about), self.inside(op)]
        writer = Writer(op.origin)
        made = self._upwards(writer, op)
        is_plain = found.is_plain and made.step == ir.integer(1)
        suits = is_plain and suits_windows(made)
        is_laned = op.body.args[0] in self._side_by_side
        if is_plain and not suits and not is_laned:
            writer.emit(made)
        else:
            grain = LEAST_LANES if is_laned else LEAST_TRIPS if suits else 1
            writer.ops.extend(Chunks(made, self._trips(writer, op), found, grain, suits and not is_laned).ops)
        return [*_comment(found), *writer.ops]

    def _upwards(self, writer: Writer, loop: ir.For) -> ir.For:
        """The loop with its trips in ascending order, now that they may come in any, and nothing parallel inside."""
        bounds = self._bounds(loop) if loop.step == ir.integer(-1) else None
        body = ir.rewritten(loop.body, _in_turn)
        if bounds is None:
            return dataclasses.replace(loop, body=body)
        start, stop = (writer.integer(end) for end in bounds)
        return dataclasses.replace(loop, start=start, stop=stop, step=ir.integer(1), body=body)

    def _trips(self, writer: Writer, loop: ir.For) -> ir.Operand:
        """How many trips there are."""
        if loop.start == ir.integer(0) and loop.step == ir.integer(1):
            trips = loop.stop
        else:
            bounds = self._bounds(loop)
            if bounds is None:
                return count_trips(writer, loop)
            trips = writer.integer(bounds[1].plus(bounds[0], -1))
        if trips in self._naturals:
            return trips
        return writer.call(max, trips, ir.integer(0), type=types.intp, name="trips")


def _comment(sharing: Sharing) -> list[ir.Op]:
    """What is done about each array and sum."""
    kinds = (
        (sharing.disjoint, "disjoint"),
        (sharing.shared, "shared by neighbouring iterations"),
        (tuple(sharing.scratch.values()), "one per chunk"),
        ((*sharing.added, *sharing.sums), "one per chunk, added up in order"),
    )
    texts = [f"{', '.join(['{}'] * len(names))} {what}" for names, what in kinds if names]
    about = tuple(name for names, _ in kinds for name in names)
    return [ir.Comment(text=f"parallel: {'; '.join(texts)}", about=about)] if texts else []
