"""Numbers that may go unread: their adjoint is then zero, whatever their partials are.

In: a function and its activity. Out: those of which a partial may be infinite or undefined; zero times that must stay
zero for them.

    s = np.sqrt(x)                          at x == 0 the partial of s is infinite, but its element is not selected
    y = np.where(x > 0.0, s, 1.0)
    s[0] = 2.0                              or is overwritten before anything reads it

A number is read if one of its uses is sure to run and what that makes is read, too. Of what a loop carries, a use in
the next trip alone does not count. Of elements of arrays, isl is asked. That a loop makes
no trip, or an array has no elements, is not among what is asked: such loops stand between most numbers and the result.

Where a branch or a store decides, nothing infinite or undefined gets through, be it the program's own input. Elsewhere,
as for elements that nobody happens to read, what goes in is taken to be finite.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence, Set

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.derive.activity import Activity, is_constant
from adjit.transform.derive.not_finite import ASKING, EXTREMA, NotFinite, is_bounded
from adjit.transform.ir.types import typed_const

# these look at all elements, and give some of them
_PICKING = (
    *ASKING, np.max, np.amax, np.min, np.amin, np.median, np.quantile, np.percentile,
)  # fmt: skip


def selective(function: ir.Function, activity: Activity) -> dict[ir.Var, Collection[ir.Operand]]:
    """The active float results of calls on numbers whose adjoint may be zero though they are read, or as they are not,
    with the arguments by which the partials may not be finite then."""
    calls = [op for op in function.body.inside if isinstance(op, ir.Call) and _is_of_numbers(op, activity)]
    if all(is_bounded(op) for op in calls):
        return {}
    not_finite = function.analysis(NotFinite)
    reading = _Reading(function, activity, not_finite)
    wild = not_finite.values
    unread = reading.unread(wild) if any(out in wild for op in calls for out in op.outs) else set()
    found = {out: not_finite.guarded_levelled(op) for op in calls for out in op.outs}
    found |= {out: not_finite.guarded(op) for op in calls for out in op.outs if out in unread}
    decided = _made_of(reading.decided(wild, unread), reading.made, not_finite)
    found |= {out: op.args for op in calls for out in op.outs if out in decided and not is_bounded(op)}
    return found


def is_sure(partial: ir.Operand) -> bool:
    """Whether it is known, and finite."""
    return isinstance(partial, ir.Const) and bool(np.isfinite(partial.value))


def unless_zero(builder: ir.Builder, factor: ir.Operand, product: ir.Operand) -> ir.Operand:
    """A partial times an adjoint or tangent; zero where that is zero, even if the partial is infinite or undefined.

    Where the partial is finite the product stays as it is, so its own derivative does.
    """
    is_zero = builder.call(operator.eq, factor, typed_const(0, factor.type), type=types.boolean, name="is_zero")
    is_nan = builder.call(np.isnan, product, type=types.boolean, name="is_nan")
    unread = builder.call(operator.and_, is_zero, is_nan, type=types.boolean, name="is_unread")
    zero = typed_const(0, product.type)
    name = ir.name_of(product, "product")
    return builder.call(ir.select, unread, zero, product, type=product.type, name=name)


def unless_all_zero(builder: ir.Builder, factors: Sequence[ir.Operand], total: ir.Operand) -> ir.Operand:
    """A sum of partials times these adjoints or tangents; zero where all of them are zero."""
    sizes = [builder.call(abs, factor, type=factor.type, name="size") for factor in factors] if factors[1:] else factors
    factor = sizes[0]
    for size in sizes[1:]:
        factor = builder.call(operator.add, factor, size, type=factor.type, name="size")
    return unless_zero(builder, factor, total)


def unless_least(builder: ir.Builder, length: ir.Operand, product: ir.Operand) -> ir.Operand:
    """A partial of the root of a sum of squares, times an adjoint or tangent; zero where the root is."""
    is_least = builder.call(operator.eq, length, typed_const(0, length.type), type=types.boolean, name="is_least")
    name, zero = ir.name_of(product, "product"), typed_const(0, product.type)
    return builder.call(ir.select, is_least, zero, product, type=product.type, name=name)


def _is_of_numbers(op: ir.Call, activity: Activity) -> bool:
    return any(map(activity.is_active, op.outs)) and not any(map(ir.is_reference, (*op.args, *op.outs)))


def _made_of(stores: list[ir.Store], made: Mapping[ir.Operand, ir.Op], not_finite: NotFinite) -> set[ir.Var]:
    """The float results of calls on numbers that go into what is stored."""
    found: set[ir.Var] = set()
    pending = [store.value for store in stores]
    while pending:
        value = pending.pop()
        if not isinstance(value, ir.Var) or value in found or not ir.is_float(value.type):
            continue
        op = made.get(value)
        if isinstance(op, ir.Call) and not any(map(ir.is_array, op.args)):
            found.add(value)
            pending.extend(op.args)
        elif isinstance(op, ir.If) and not_finite.is_of_mask(op.condition):
            place = next(k for k, out in enumerate(op.outs) if out is value)
            pending.extend(side.yields[place] for side in op.regions)
    return found


# What has to be read for a use to count, all of it: numbers, stores, and numbers in a branch.
_Node = ir.Operand | ir.Store | tuple[ir.Operand, ir.Region]
_Use = tuple[_Node, ...]


class _Reading:
    def __init__(self, function: ir.Function, activity: Activity, not_finite: NotFinite):
        self.function = function
        self.activity = activity
        self.hidden = not_finite.hidden(activity.is_active)
        self.find = activity.aliases.find
        self.model = function.analysis(IndexModel)
        self.made = function.body.made
        # the branches around what makes a number, innermost last
        self.branches: dict[ir.Operand, tuple[ir.Region, ...]] = {}
        self.other: dict[ir.Region, ir.Region] = {}
        self.uses: dict[_Node, list[_Use]] = {}
        # elements of these are looked at in ways that are not followed
        self.shown = {self.find(y) for y in function.body.yields if ir.is_reference(y)}
        self.stores: dict[ir.Operand, list[ir.Store]] = {}
        self.readers: dict[ir.Operand, list[ir.Load | ir.Call]] = {}
        self.chosen: set[ir.Operand] = set()
        self.met = {o for op in function.body.ops for o in op.reads}.union(function.body.yields)
        self._note(function.body, ())
        for y in function.body.yields:
            self._use(y, (), ())

    # ---------------------------------------------------------------------------------------------------------- uses

    def _note(self, region: ir.Region, branches: tuple[ir.Region, ...]) -> None:
        self.branches.update(dict.fromkeys(region.args, branches))
        for op in region.ops:
            self.branches.update(dict.fromkeys(op.results, branches))
            self._note_memory(op, bool(branches))
            if isinstance(op, ir.If):
                self.other.update({op.then: op.orelse, op.orelse: op.then})
                for side in op.regions:
                    self._note(side, (*branches, side))
                    for y, out in zip(side.yields, op.outs, strict=True):
                        self._use(y, (*branches, side), (out,))
            else:
                for inner in op.regions:
                    self._note(inner, branches)
            for value, use in self._uses(op):
                self._use(value, branches, use)

    def _note_memory(self, op: ir.Op, is_in_branch: bool) -> None:
        if isinstance(op, ir.Store):
            self.stores.setdefault(self.find(op.array), []).append(op)
        elif isinstance(op, ir.Push | ir.Pull):
            self.shown.add(self.find(op.tape))
        elif isinstance(op, ir.Load) or (isinstance(op, ir.Call) and not is_constant(op.callee)):
            for array in op.memory_read:
                self.readers.setdefault(self.find(array), []).append(op)
                if is_in_branch and isinstance(op, ir.Load) and ir.is_float(op.out.type):
                    self.chosen.add(self.find(array))

    def _use(self, value: ir.Operand, branches: tuple[ir.Region, ...], use: _Use) -> None:
        """A use in branches is one where the number is made if there is one in the other branches as well."""
        if ir.is_reference(value) or not self.activity.is_active(value):
            return
        outside = len(self.branches[value])
        node: _Node = value if len(branches) == outside else (value, branches[-1])
        self.uses.setdefault(node, []).append(use)
        for depth in range(len(branches) - 1, outside - 1, -1):
            side = branches[depth]
            around: _Node = value if depth == outside else (value, branches[depth - 1])
            both = ((value, side), (value, self.other[side]))
            if both[1] not in self.uses:
                self.uses.setdefault(both[1], [])
                self.uses.setdefault(around, []).append(both)

    def _uses(self, op: ir.Op) -> Iterator[tuple[ir.Operand, _Use]]:
        """What an operation itself uses, and what has to be read for that to count."""
        if isinstance(op, ir.Call):
            if op.callee is ir.select and op.args[1] is not op.args[2]:
                return
            for out in op.outs:
                if self.activity.is_active(out):
                    for a in op.args:
                        if op.callee not in (*EXTREMA, *ASKING) or a not in self.hidden:
                            yield a, () if ir.is_reference(out) else (out,)
        elif isinstance(op, ir.Store):
            yield op.value, (op,)
        elif isinstance(op, ir.Push):
            yield op.value, ()
        elif isinstance(op, ir.For | ir.While):
            for init, arg, y, out in op.slots:
                yield init, (arg,)
                # what only the next trip reads is not read of the last one, and what is read after the last trip only
                # is not read of those before
                if arg in self.met and out in self.met:
                    yield y, (arg,)
                    yield y, (out,)

    # -------------------------------------------------------------------------------------------------------- unread

    def unread(self, wild: Set[ir.Operand]) -> set[_Node]:
        """The numbers that may go unread, and the stores of which an element may, as far as such go into them."""
        stores = [s for of in self.stores.values() for s in of if s.value in wild and self.activity.is_active(s.value)]
        lost: set[_Node] = set()
        while True:
            found = self._without(lost)
            more = {s for s in stores if s not in lost and self._may_stay_unread(s, found)}
            if not more:
                return found
            lost |= more

    def _without(self, lost: Set[_Node]) -> set[_Node]:
        """These, and what goes unread where they do: all but what has a use that is read, from the results on."""
        unread: set[_Node] = {*self.branches, *(node for node in self.uses if isinstance(node, tuple)), *lost}
        # how many of what a use makes are not known to be read, by the use, and the uses that make something
        missing: dict[tuple[_Node, int], int] = {}
        waiting: dict[_Node, list[tuple[_Node, int]]] = {}
        read: list[_Node] = []
        for node, uses in self.uses.items():
            for k, use in enumerate(uses):
                makes = [one for one in use if one in unread]
                missing[node, k] = len(makes)
                for one in makes:
                    waiting.setdefault(one, []).append((node, k))
                if not makes:
                    read.append(node)
        while read:
            node = read.pop()
            if node in unread and node not in lost:
                unread.remove(node)
                for source, k in waiting.get(node, ()):
                    missing[source, k] -= 1
                    if missing[source, k] == 0:
                        read.append(source)
        return unread

    def _may_stay_unread(self, store: ir.Store, unread: set[_Node]) -> bool:
        memory = self.find(store.array)
        reads = self._reads(memory, unread)
        if store.value in self.hidden:
            reads = [op for op in reads if not self._skims(op, unread, frozenset())]
        may_stay = memory not in self.shown and self.model.may_stay_unread(store, reads)
        return may_stay or self.model.may_be_lost(store, reads)

    def _skims(self, op: ir.Op, unread: set[_Node], within: frozenset[ir.Op]) -> bool:
        """Whether an operation on an array only picks elements, or makes arrays of which elements may go unread."""
        if isinstance(op, ir.Load):
            return op.out in unread or bool(self.branches[op.out])
        assert isinstance(op, ir.Call)
        if op.callee in _PICKING or not op.outs or not all(map(ir.is_array, op.outs)):
            return op.callee in _PICKING
        return all(self._goes_unread(self.find(out), unread, within | {op}) for out in op.outs)

    def _goes_unread(self, memory: ir.Operand, unread: set[_Node], within: frozenset[ir.Op]) -> bool:
        """Whether elements that a call makes may be overwritten, or are only picked."""
        if not all(store.add for store in self.stores.get(memory, ())):
            return True
        readers = self.readers.get(memory, ())
        return (
            memory not in self.shown
            and within.isdisjoint(readers)
            and all(self._skims(one, unread, within) for one in readers)
        )

    def _reads(self, memory: ir.Operand, unread: set[_Node]) -> list[ir.Op]:
        return [op for op in self.readers.get(memory, ()) if isinstance(op, ir.Call) or op.out not in unread]

    def decided(self, wild: Set[ir.Operand], unread: set[_Node]) -> list[ir.Store]:
        """The stores of which a branch or another store decides whether what they store is read."""
        return [
            store
            for memory, stores in self.stores.items()
            for store in stores
            if memory in self.chosen
            or (
                self.activity.is_active(store.value)
                and (store in unread or store.value not in wild)
                and self.model.may_be_lost(store, self._reads(memory, unread))
            )
        ]
