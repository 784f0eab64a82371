"""What loops over lanes add up that is a product of matrices.

In: a loop in the trips of another, of which one loop over lanes is all that it does. Out: the matrices.

    for j in range(m):                  around
        for k in range(d):              inner        s[j, lane] += w[j, k] * x[k, lane]
            for lane in range(lanes):
                s_lanes[lane] += x[k, lane] * w[j, k]

Each of the two counters and the lane runs along one axis of two of the matrices, from an element on that a literal
tells: `w[j, k + 1]`. An array with an element a lane that each trip of the loop around makes anew counts as one with an
axis for these trips.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from numba import types

from adjit.runtime.library import reassociable_add
from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.integers import Naturals, parted
from adjit.transform.analysis.trip_counts import literal_trips
from adjit.transform.ir.types import array_type_of

LEAST_TRIPS = 4  # of loops that are known to be short


class Element(NamedTuple):
    """An element of an array that a term reads, or is added to: along each axis an index, and how far on from it."""

    array: ir.Operand
    place: tuple[ir.Operand, ...]
    shifts: tuple[int, ...]


def element(array: ir.Operand, index: Sequence[ir.Operand], made: Mapping[ir.Operand, ir.Op]) -> Element:
    """The element at an index. `made`: by result."""
    place = [parted(operand, made) for operand in index]
    return Element(array, tuple(base for base, _ in place), tuple(far for _, far in place))


class Product(NamedTuple):
    """target += one * other, or -=, for all trips of two loops and all lanes."""

    target: Element
    one: Element
    other: Element
    is_taken_off: bool
    origin: ir.Origin | None

    @property
    def elements(self) -> tuple[Element, Element, Element]:
        return self.target, self.one, self.other


class Finding:
    """Finds products in what stands for a loop in lanes.

    lanes: the counters of its loops over lanes; defined: all that it defines; kept: arrays with an element a lane;
    is_free: whether what is added to an array may be so in any order.
    """

    def __init__(
        self,
        lanes: Collection[ir.Operand],
        defined: Collection[ir.Operand],
        kept: Collection[ir.Operand],
        aliases: Aliases,
        naturals: Naturals,
        is_free: Callable[[ir.Operand], bool],
    ):
        self.lanes, self.defined, self.kept = lanes, defined, kept
        self.aliases, self.naturals, self.is_free = aliases, naturals, is_free

    def is_plain(self, loop: ir.For) -> bool:
        """Whether a loop counts from a literal to what is known before the block, and not for sure to a few."""
        is_marked = loop.stops or loop.parallel or loop.over_chunks or loop.level or loop.body.args[0] in self.lanes
        if is_marked or loop.stop in self.defined:
            return False
        trips = literal_trips(loop)
        is_long = trips is None or len(trips) >= LEAST_TRIPS
        starts = isinstance(loop.start, ir.Const) and loop.start.value >= 0
        return is_long and starts and loop.step == ir.integer(1)

    def is_parted(self, loop: ir.For) -> bool:
        """Whether such a loop has a number of trips that is known before the block, for what they hand on."""
        return self.is_plain(loop) and loop.stop in self.naturals

    def over_lanes(self, inner: ir.For) -> ir.For | None:
        """The one loop in another, if it goes over lanes."""
        loops = [op for op in inner.body.ops if isinstance(op, ir.For)]
        return loops[0] if len(loops) == 1 and loops[0].body.args[0] in self.lanes else None

    def products(self, inner: ir.For, around: ir.For, more: Collection[ir.Operand] = ()) -> list[Product]:
        """The products that are all that a loop in the trips of another does; none if it does something else.

        more: further arrays with an element for each lane.
        """
        loop = self.over_lanes(inner)
        if loop is None or not self.is_plain(inner) or inner.slots:
            return []
        if not all(isinstance(op, ir.For | ir.Load | ir.Store | ir.Comment) or _is_index(op) for op in inner.body.ops):
            return []
        if not all(isinstance(op, ir.Load | ir.Store | ir.Call | ir.Comment) for op in loop.body.ops):
            return []
        made = {**around.body.made, **inner.body.made, **loop.body.made}
        found: list[Product] = []
        for term in _terms(loop, inner.body.ops, made):
            product = None if term is None else made.get(term.value)
            if term is None or not isinstance(product, ir.Call) or product.callee is not operator.mul:
                return []
            loads = [op for op in map(made.get, product.args) if isinstance(op, ir.Load)]
            if len(loads) != 2:
                return []
            one, other = (element(op.array, op.index, made) for op in loads)
            found.append(Product(term.target, one, other, term.is_taken_off, term.origin))
        # whatever else there is would be left out
        read = {arg for op in loop.body.ops for arg in ir.reads(op)} | set(loop.body.yields)
        if any(out not in read for op in loop.body.ops for out in op.results) or not self.are_apart(found):
            return []
        kept = {*self.kept, *more}
        if not all(_is_product(product, inner, around, self.lanes, kept) for product in found):
            return []
        starts: dict[ir.Operand, ir.Operand] = {loop.body.args[0]: loop.start for loop in (inner, around)}
        return found if all(_is_inside(e, starts) for product in found for e in product.elements) else []

    def are_apart(self, products: Sequence[Product]) -> bool:
        """Whether no product is added to what another one reads, nor to what another one is added to if the order of
        that counts."""
        targets = [self.aliases.find(product.target.array) for product in products]
        factors = {self.aliases.find(e.array) for product in products for e in (product.one, product.other)}
        is_free = all(
            len({product.target for product in products if self.aliases.find(product.target.array) == memory}) == 1
            and self.is_free(memory)
            for memory in targets
            if targets.count(memory) > 1
        )
        return is_free and factors.isdisjoint(targets)


def _is_product(
    product: Product, inner: ir.For, around: ir.For, lanes: Collection[ir.Operand], kept: Collection[ir.Operand]
) -> bool:
    """Whether each of both counters and the lane runs along one axis of two of the three matrices."""
    kinds = [array_type_of(element.array) for element in product.elements]
    if {kind.dtype for kind in kinds} not in ({types.float64}, {types.float32}) or not all(k.aligned for k in kinds):
        return False
    found: list[str] = []
    for element in product.elements:
        along = ["around"] if element.array in kept else []
        for index in element.place:
            if index is inner.body.args[0] or index is around.body.args[0]:
                along.append("inner" if index is inner.body.args[0] else "around")
            elif index in lanes:
                along.append("lane")
            elif index in around.body.defines:
                return False
        if len(along) != 2 or len(set(along)) != 2:
            return False
        found += along
    return sorted(found) == ["around", "around", "inner", "inner", "lane", "lane"]


def _is_index(op: ir.Op) -> bool:
    """Whether it makes an integer, and does no more."""
    return isinstance(op, ir.Call) and not op.effect and all(isinstance(out.type, types.Integer) for out in op.outs)


def _is_inside(element: Element, starts: Mapping[ir.Operand, ir.Operand]) -> bool:
    """Whether no index is below zero that is a literal from a counter, and none from a lane. `starts`: of counters."""
    for index, shift in zip(element.place, element.shifts, strict=True):
        start = starts.get(index)
        if shift and (not isinstance(start, ir.Const) or start.value + shift < 0):
            return False
    return True


def may_be_product(inner: ir.For, around: ir.For, trips: ir.For) -> bool:
    """Whether a loop inside of another may make a product, with the trips of a third one in lanes."""
    counters = [loop.body.args[0] for loop in (inner, around, trips)]
    made = {**around.body.made, **inner.body.made}
    for op in inner.body.ops:
        if not isinstance(op, ir.Call) or op.callee is not operator.mul:
            continue
        loads = [load for load in map(made.get, op.args) if isinstance(load, ir.Load)]
        places = [element(load.array, load.index, made).place for load in loads]
        along = [frozenset(c for c in counters if c in place) for place in places]
        if len(along) == 2 and along[0] != along[1] and all(len(way) == 2 for way in along):
            return True
    return False


class _Term(NamedTuple):
    """What is added to an element, or taken off."""

    target: Element
    value: ir.Operand
    is_taken_off: bool
    origin: ir.Origin | None


def _terms(loop: ir.For, around: Sequence[ir.Op], defined: Mapping[ir.Operand, ir.Op]) -> Iterator[_Term | None]:
    """What a loop over lanes adds to which elements; None for whatever else it stores, or hands on.

    around: the operations among which it stands; defined: what makes indices, by result.
    """
    made = loop.body.made
    yield from (_stored(op, made, defined) for op in loop.body.ops if isinstance(op, ir.Store))
    stores = [op for op in around if isinstance(op, ir.Store)]
    for slot in loop.slots:
        added = made.get(slot.yielded)
        store = next((op for op in stores if op.value is slot.out), None)
        readers = [op for op in around if slot.out in op.operands]
        is_sum = isinstance(added, ir.Call) and added.callee is reassociable_add and added.args[0] is slot.arg
        is_sum = is_sum and ir.is_literal(slot.init, 0)
        if store is None or not isinstance(added, ir.Call) or not is_sum or readers != [store]:
            yield None
            continue
        stores.remove(store)
        target = element(store.array, store.index, defined)
        yield _Term(target, added.args[1], False, store.origin) if store.add else None
    # what is stored beside the loop
    yield from (None for _ in stores)


def _stored(op: ir.Store, made: Mapping[ir.Operand, ir.Op], defined: Mapping[ir.Operand, ir.Op]) -> _Term | None:
    target = element(op.array, op.index, defined)
    if op.add:
        return _Term(target, op.value, False, op.origin)
    added = made.get(op.value)
    if not isinstance(added, ir.Call) or added.callee not in (operator.add, operator.sub):
        return None
    old = made.get(added.args[0])
    if not isinstance(old, ir.Load) or element(old.array, old.index, defined) != target:
        return None
    return _Term(target, added.args[1], added.callee is operator.sub, op.origin)
