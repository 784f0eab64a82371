"""Whether trips are faster side by side, or as they are: what inner loops wait for against what lanes fetch one by one.

In: a loop whose trips may go in lanes, and which arrays are copied for them. Out: a yes or no.

    for j in range(m): total += x[i, j]                 in order, each trip waits for a sum; lanes fetch one x
    for j in range(m): x_bar[i, j] += total_bar         vectors as it is; lanes fetch an element and put it back

Where an inner loop runs along the last axis of an array, the elements of neighbouring lanes are apart in memory and
come one by one; the loop itself takes them as vectors, if all it hands on are sums that may be added up in any order.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence

from adjit.transform import ir
from adjit.transform.analysis.choices import extrema_of
from adjit.transform.analysis.cost import cost, is_cheap
from adjit.transform.analysis.order_sensitive import Reach
from adjit.transform.analysis.sums import is_unordered, partial_sums
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import array_type_of
from adjit.transform.machine.lanes.uniformity import Uniformity

# Half cycles of a common processor: an element that lanes do not have side by side, and one to store, of which the line
# is fetched, too; one of an array with an axis for the lanes, which is in a further cache; arithmetic on floats that
# waits for what was before; a running extremum, which is searched afterwards; an innermost loop's start, and of one in
# strips, as functions are apart from what waits
FETCHED, STORED, TURNED, WAITED, SEARCHED, STARTED, STRIPS = 4, 6, 1, 8, 3, 6, 30
TRIPS, SHORT = 8, 16  # what is taken for the trips of a loop; fewer make no vectors
_QUICK: set[object] = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}
_QUICK |= {operator.and_, operator.or_, operator.not_, ir.select}

Loops = tuple[ir.For, ...]


def is_faster_in_lanes(uniformity: Uniformity, copied: Mapping[ir.Var, int], reach: Reach) -> bool:
    """`copied`: arrays of which a block is copied for the lanes, and how often, there and back."""
    counter = uniformity.loop.body.args[0]
    waited = fetched = 0
    for loops in _innermost((), uniformity.loop.body, uniformity):
        weight = TRIPS ** len(loops)
        waiting = [slot for slot in loops[-1].slots if not _is_free(loops[-1], slot, reach)]
        has_functions = any(isinstance(op, ir.Call) and not is_cheap(op) for op in loops[-1].body.inside)
        started = STRIPS if waiting and has_functions else STARTED
        waited += weight * _waited(loops[-1], waiting) + weight // TRIPS * started
        touched = [op for op in loops[-1].body.inside if isinstance(op, ir.Load | ir.Store)]
        beside = [op for op in touched if op.array in copied or uniformity.is_laned(op.array)]
        apart = [op for op in touched if op not in beside and counter in op.index[:-1]]
        places = {(op.array, op.index, type(op)) for op in apart}
        fetched += weight * sum(STORED if kind is ir.Store else FETCHED for *_, kind in places)
        fetched += weight * TURNED * len(beside)
    for array, times in copied.items():
        fetched += TRIPS ** (array_type_of(array).ndim - 1) * FETCHED * times
    return waited >= fetched


def _innermost(around: Loops, region: ir.Region, uniformity: Uniformity) -> Iterator[Loops]:
    """The innermost loops that all lanes make together, each after those around it."""
    for op in region.ops:
        if op not in uniformity or uniformity.kind(op) != "together":
            continue
        loops = (*around, op) if isinstance(op, ir.For) else around
        if isinstance(op, ir.For) and not any(isinstance(inner, ir.For | ir.While) for inner in op.body.inside):
            yield loops
        for inner in op.regions:
            yield from _innermost(loops, inner, uniformity)


def _waited(loop: ir.For, waiting: Sequence[ir.Slot]) -> int:
    """What a trip of an innermost loop takes, as it is, over what it takes in vectors."""
    if not _makes_vectors(loop):
        return WAITED // 4 * sum(cost(op) or 1 for op in loop.body.inside)
    searched = {slot for extremum in extrema_of(loop) for slot in extremum.slots}
    return max((SEARCHED if slot in searched else _latency(loop, slot) for slot in waiting), default=0)


def _makes_vectors(loop: ir.For) -> bool:
    """Whether a loop, not short for sure, goes along the last axes of arrays, but for what it carries."""
    counter, made = loop.body.args[0], loop.body.made
    trips = literal_trips(loop)
    if trips is not None and len(trips) < SHORT:
        return False
    places: dict[ir.Operand, set[tuple[ir.Operand, ...]]] = {}
    for op in loop.body.ops:
        if isinstance(op, ir.Load | ir.Store):
            *others, last = op.index or (None,)
            if counter in others or any(i in made for i in op.index):
                return False
            if isinstance(op, ir.Store) and last is not counter:
                return False
            places.setdefault(op.array, set()).add(op.index)
        elif not all(isinstance(i, ir.Call | ir.If | ir.Comment) for i in ir.with_inner(op)):
            return False
    stored = {op.array for op in loop.body.ops if isinstance(op, ir.Store)}
    # of two rows of an array nobody knows that they are not one
    is_known = all(len(places[array]) == 1 for array in stored)
    return is_known and not any(isinstance(op, ir.Call) and op.effect for op in loop.body.inside)


def _is_free(loop: ir.For, slot: ir.Slot, reach: Reach) -> bool:
    """Whether it is a sum that may be added up in any order."""
    chain = partial_sums(slot.arg, slot.yielded, loop.body)
    if chain is None:
        return False
    return is_unordered(chain, loop.body) or not reach.is_ordered(loop, chain)


def _latency(loop: ir.For, slot: ir.Slot) -> int:
    """The cycles from what one trip hands on to what the next one does."""
    until: dict[ir.Operand, int] = {slot.arg: 0}
    for op in loop.body.ops:
        starts = [until[o] for o in ir.reads(op) if o in until]
        if starts:
            quick = isinstance(op, ir.Call) and op.callee in _QUICK
            taken = WAITED // 4 if quick else WAITED * (cost(op) or 1)
            until.update(dict.fromkeys(op.results, max(starts) + taken))
    return until.get(slot.yielded, 0)
