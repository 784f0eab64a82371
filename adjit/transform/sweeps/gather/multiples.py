"""Gathers of multiples of an array read that array itself: no array of contributions is made.

    for i in range(1, n - 1):                     for i in range(2, n - 2):
        e_bars[i + 1] = c * v_bar[i]                  u_bar[i] += c * (v_bar[i - 1] + v_bar[i + 1])
    for i in range(n):                            if n > 2:
        u_bar[i] += e_bars[i] + e_bars[i + 2]         u_bar[0] += c * v_bar[1]; u_bar[1] += c * v_bar[2]; ...

In: a function with the gathers of `find.py`. Out: the same without those arrays of contributions that cost no more
than a product each. One pass over memory takes the place of two. Elements that get all terms are one nest; boxes around
them get the terms that there are.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Iterator, Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import cost
from adjit.transform.analysis.elements import IndexModel, is_clear
from adjit.transform.sweeps.gather.late_stores import made_again, touches
from adjit.transform.sweeps.gather.multiples_in_place import Axis, Own, Place, Term, substituted

MOST_CYCLES = 2  # of a contribution, beside those to load what it is a multiple of
MOST_PIECES = 80  # statements for the elements around


def read_in_place(function: ir.Function) -> ir.Function:
    """The function without the arrays of contributions that need not be kept."""
    while True:
        found = next(_Search(function).places(), None)
        if found is None:
            return function
        function = found.applied(function)


class _Search:
    def __init__(self, function: ir.Function):
        self.function = function
        self.model = function.analysis(IndexModel)
        self.aliases = function.analysis(Aliases)
        self.users: dict[ir.Operand, list[ir.Op]] = {}
        self.held: set[ir.Operand] = set(function.body.yields)
        self.home: dict[ir.Op, ir.Region] = {}
        for region in ir.regions(function.body):
            self.held.update(region.yields)
            for op in region.ops:
                self.home[op] = region
                for operand in dict.fromkeys(op.operands):
                    if ir.is_array(operand):
                        self.users.setdefault(operand, []).append(op)

    def places(self) -> Iterator[Place]:
        for op in ir.walk(self.function.body):
            if isinstance(op, ir.Alloc) and op.fill is not None and op.fill.value == 0 and op.out not in self.held:
                found = self.place(op)
                if found is not None and self.is_legal(found):
                    yield found

    def place(self, kept: ir.Alloc) -> Place | None:
        users = self.users.get(kept.out, [])
        stores = [op for op in users if isinstance(op, ir.Store) and not op.add]
        loads = [op for op in users if isinstance(op, ir.Load)]
        if len(stores) != 1 or not loads or len(loads) + 1 != len(users) or kept.like is not None:
            return None
        (store,) = stores
        making, gathering = self.nests(store, loads)
        addition = _addition(gathering) if making else None
        if addition is None:
            return None
        multiple = self.multiple(store, making)
        form = _linear(gathering[-1].body, addition.value)
        if multiple is None or form is None or set(form) != set(loads):
            return None
        axes = self.axes(store, loads, making, gathering)
        target = [self.shown(entry) for entry in addition.index]
        if axes is None or not all(entry is not None for entry in target):
            return None
        terms = [Term(shifts, form[load]) for load in loads if (shifts := self.shifts(load, axes, gathering))]
        if len(terms) != len(loads):
            return None
        load, ops = multiple
        found = Place(
            kept, store, making[0], load, ops, gathering[0], addition,
            tuple(entry for entry in target if entry is not None), axes, tuple(terms), self.clear(load, making), None,
        )  # fmt: skip
        suits = all(axis.suits(shifts) for axis, shifts in zip(axes, found.shifts(), strict=True))
        return dataclasses.replace(found, own=self.own(found, making)) if suits else None

    def own(self, place: Place, making: Sequence[ir.For]) -> Own | None:
        """What the nest of the contributions stores to the elements that they go to, if the gather can do that, too."""
        array = place.addition.array
        stores = [op for op in making[-1].body.ops if isinstance(op, ir.Store) and op.array is array]
        if len(stores) != 1 or any(below > 0 or above > 0 for below, above in place.interior()):
            return None
        (store,) = stores
        counters = {axis.element: Affine({axis.counter: 1}) for axis in place.axes}
        if [self.shown(index) for index in store.index] != [substituted(entry, counters) for entry in place.target]:
            return None
        between = self.between(place)
        if {op for op in between if touches(op, array, self.aliases)} != {store, place.addition}:
            return None
        moved = (store, place.addition, place.store, place.clear)
        writes = [op for op in between if isinstance(op, ir.Store) and op not in moved]
        reading = ir.Region((), (place.load,), ())
        value = made_again(store, making, writes, reading, self.aliases)
        return None if value is None else Own(store, tuple(value))

    def between(self, place: Place) -> list[ir.Op]:
        """All operations from the nest that contributes to the one that gathers, both included."""
        ops = self.home[place.maker].ops
        nests = ops[ops.index(place.maker) : ops.index(place.gather) + 1]
        return [inner for op in nests for inner in ir.with_inner(op)]

    def nests(self, store: ir.Store, loads: Sequence[ir.Load]) -> tuple[list[ir.For], list[ir.For]]:
        """The loops around the store and those around the loads, two nests of one region; none if there are others."""
        places = self.model.iterations.places
        chain, *others = [places[op].chain for op in (store, *loads)]
        if any(other != others[0] for other in others):
            return [], []
        common = next((k for k, (a, b) in enumerate(zip(chain, others[0], strict=False)) if a != b), None)
        if common is None:
            return [], []
        making, gathering = ([op for op, _ in around[common:]] for around in (chain, others[0]))
        rank = len(store.index)
        if len(making) != rank or len(gathering) != rank:
            return [], []
        found = [op for op in (*making, *gathering) if isinstance(op, ir.For) and not op.stops]
        if len(found) != 2 * rank or any(op.outs or op.step != ir.integer(1) for op in found[rank:]):
            return [], []
        region = self.home[found[0]]
        is_after = region is self.home[found[rank]] and region.ops.index(found[0]) < region.ops.index(found[rank])
        return (found[:rank], found[rank:]) if is_after else ([], [])

    def shown(self, operand: ir.Operand) -> Affine | None:
        value = self.model.iterations.value(operand)
        return None if value is None else self.model.iterations.in_variables(value)

    def axes(
        self, store: ir.Store, loads: Sequence[ir.Load], making: Sequence[ir.For], gathering: Sequence[ir.For]
    ) -> tuple[Axis, ...] | None:
        found: list[Axis] = []
        counters = [loop.body.args[0] for loop in making]
        known: set[object] = set()
        inside = _variables(making[0])
        for k, operand in enumerate(store.index):
            index = self.shown(operand)
            own = [] if index is None else [loop for loop in making if index.terms.get(loop.body.args[0]) == 1]
            if index is None or len(own) != 1 or sum(counter in index.terms for counter in counters) != 1:
                return None
            made, gathered = self.model.iterations.bounds(own[0]), self.model.iterations.bounds(gathering[k])
            if made is None or gathered is None:
                return None
            below, above = made[0].plus(gathered[0], -1), gathered[1].plus(made[1], -1)
            if not below.is_constant or not above.is_constant:
                return None
            known.update((*made[0].terms, *made[1].terms))
            counter = own[0].body.args[0]
            place = index.plus(Affine({counter: 1}), -1)
            known.update(place.terms)
            element = gathering[k].body.args[0]
            found.append(Axis(counter, element, *made, below.constant, above.constant, place))
        is_box = len({axis.counter for axis in found}) == len(found) and not known & inside
        return tuple(found) if is_box else None

    def shifts(self, load: ir.Load, axes: Sequence[Axis], gathering: Sequence[ir.For]) -> tuple[int, ...] | None:
        found: list[int] = []
        for operand, axis, loop in zip(load.index, axes, gathering, strict=True):
            index = self.shown(operand)
            shift = None if index is None else index.plus(axis.place, -1).plus(Affine({loop.body.args[0]: 1}), -1)
            if shift is None or not shift.is_constant:
                return None
            found.append(shift.constant)
        return tuple(found)

    def multiple(self, store: ir.Store, making: Sequence[ir.For]) -> tuple[ir.Load, tuple[ir.Op, ...]] | None:
        """What the contribution is a multiple of, and the operations that make it from that."""
        inside = _variables(making[0])
        ops: list[ir.Op] = []
        value = store.value
        while True:
            op = self.model.iterations.definitions.get(value) if isinstance(value, ir.Var) else None
            if isinstance(op, ir.Load):
                break
            own = [arg for arg in op.args if arg in inside] if isinstance(op, ir.Call) else []
            if not isinstance(op, ir.Call) or len(own) != 1 or value not in inside:
                return None
            is_product = op.callee in (operator.mul, operator.neg)
            if not is_product and not (op.callee is operator.truediv and op.args[0] is own[0]):
                return None
            ops.insert(0, op)
            (value,) = own
        counters = [loop.body.args[0] for loop in making]
        is_element = len(op.index) == len(counters) and set(op.index) == set(counters)
        cycles = sum(cost(op) or 0 for op in ops)
        is_alike = op.out.type == store.value.type
        return (op, tuple(ops)) if value in inside and is_element and is_alike and cycles <= MOST_CYCLES else None

    def clear(self, load: ir.Load, making: Sequence[ir.For]) -> ir.Store | None:
        """The store of zero to an element once its contribution is made, which can wait for the gather."""
        ops = making[-1].body.ops
        stores = [op for op in ops if isinstance(op, ir.Store) and is_clear(op) and op.array is load.array]
        if len(stores) != 1 or stores[0].index != load.index:
            return None
        before = set(ops[: ops.index(stores[0])])
        loads = [op for op in ir.with_inner(making[0]) if isinstance(op, ir.Load) and op.array is load.array]
        return stores[0] if before.issuperset(loads) else None

    def is_legal(self, place: Place) -> bool:
        """Whether nothing is changed in the meantime that contributes, and nothing looks at what is cleared later."""
        if place.pieces() > MOST_PIECES:
            return False
        array = place.load.array
        for op in self.between(place):
            written = op.memory_written if op is not place.clear else None
            if written is not None and not self.aliases.are_distinct(written, array):
                return False
            for read in op.memory_read if place.clear is not None else ():
                is_own = isinstance(op, ir.Load) and read is array and op.index == place.load.index
                if not is_own and not self.aliases.are_distinct(read, array):
                    return False
        return True


def _variables(op: ir.Op) -> set[ir.Operand]:
    """What an operation and those inside it define."""
    inner = list(ir.with_inner(op))
    return {v for op in inner for v in (*op.results, *(arg for region in op.regions for arg in region.args))}


def _addition(nest: Sequence[ir.For]) -> ir.Store | None:
    """The only store of a nest, an addition at its end, if the nest is nothing but loads and what is made of them."""
    for loop, inner in itertools.pairwise(nest):
        if any(op is not inner and not isinstance(op, ir.Call | ir.Extent) for op in loop.body.ops):
            return None
    *before, last = nest[-1].body.ops
    if not all(isinstance(op, ir.Load | ir.Call | ir.Extent) for op in before):
        return None
    return last if isinstance(last, ir.Store) and last.add else None


def _linear(region: ir.Region, value: ir.Operand) -> dict[ir.Load, float] | None:
    """How many times each load is in a sum that is made in a region; None where it is no such sum."""
    made = {out: op for op in region.ops for out in op.results}
    found: dict[ir.Load, float] = {}
    pending = [(value, 1.0)]
    while pending:
        operand, factor = pending.pop()
        op = made.get(operand) if isinstance(operand, ir.Var) else None
        if isinstance(op, ir.Load):
            found[op] = found.get(op, 0.0) + factor
        elif not isinstance(op, ir.Call):
            return None
        elif op.callee in (operator.add, operator.sub):
            pending += [(op.args[0], factor), (op.args[1], factor if op.callee is operator.add else -factor)]
        elif op.callee is operator.neg:
            pending.append((op.args[0], -factor))
        elif op.callee is operator.mul and isinstance(op.args[0], ir.Const):
            pending.append((op.args[1], factor * float(op.args[0].value)))
        else:
            return None
    return found
