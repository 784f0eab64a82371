"""Additions to shifted elements of an array become a gather: a nest of its own, in which each element is added to once.

In: a function. Out: the same with such nests. What a trip contributes is kept in an array with a rim of zeros, as wide
as the shifts reach, so that every element of the target takes all its contributions, those that no trip makes included.

    for i in range(n - 2, 0, -1):             for i in range(n - 2, 0, -1):
        e_bar = k[i] * v_bar[i]                   e_bars[i + 1] = k[i] * v_bar[i]
        u_bar[i + 1] += e_bar                 if n > 2:
        u_bar[i - 1] += e_bar                     for i in range(n):
                                                      u_bar[i] += e_bars[i] + e_bars[i + 2]

A loop that scatters so runs one trip after the other, since the next trip reads what this one has stored; in both loops
of the gather the trips are independent. It is legal where nothing else in the nest touches the memory that is added to.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.affine import Affine, Iterations
from adjit.transform.alias import Aliases, memory_read
from adjit.transform.distinct import Distinct
from adjit.transform.gathered import Axis, Edits, Gather, Term
from adjit.transform.polyhedra import IndexModel

MOST_FACTORS = 4  # arrays that one gather reads
_UNIT = (ir.integer(1), ir.integer(-1))


def gather(function: ir.Function) -> ir.Function:
    """The function with its scattered additions written as gathers, where that is legal and helps."""
    candidates = [op for op in ir.walk(function.body) if isinstance(op, ir.For) and len(_additions(op)) > 1]
    if not candidates:
        return function
    search = _Search(function)
    edits = Edits(search.iterations)
    for loop in candidates:
        for found in search.gathers(loop):
            edits.add(found)
    return edits.applied(function)


def _additions(loop: ir.For) -> list[ir.Store]:
    return [
        op for op in loop.body.ops if isinstance(op, ir.Store) and op.add and isinstance(op.value.type, types.Float)
    ]


@dataclass(frozen=True)
class _Scatter:
    """Additions to one array whose indices differ in their constants only; `index` in terms of the counters."""

    root: ir.Operand
    stores: tuple[ir.Store, ...]
    index: dict[ir.Store, tuple[Affine, ...]]

    @property
    def axes(self) -> range:
        return range(len(self.index[self.stores[0]]))

    def constants(self, axis: int) -> set[int]:
        return {self.index[store][axis].constant for store in self.stores}

    def loops(self, axis: int, spine: Sequence[ir.For]) -> list[ir.For]:
        """The loops whose counters are in the index."""
        terms = self.index[self.stores[0]][axis].terms
        return [loop for loop in spine if loop.body.args[0] in terms]

    def split(self, axis: int) -> Iterator[_Scatter]:
        """The parts that do not differ on this axis."""
        for constant in sorted(self.constants(axis)):
            stores = tuple(s for s in self.stores if self.index[s][axis].constant == constant)
            yield _Scatter(self.root, stores, self.index)


class _Search:
    def __init__(self, function: ir.Function):
        self.model = IndexModel(function)
        self.iterations: Iterations = self.model.iterations
        self.distinct = Distinct(function, Aliases(function))

    def gathers(self, loop: ir.For) -> Iterator[Gather]:
        """The gathers that take the place of additions in the body of this loop, the innermost of its nest."""
        spine = self.spine(loop)
        pending = self.scatters(loop)
        while pending:
            scatter = pending.pop(0)
            axis = self.outermost_axis(scatter, spine)
            if axis is None:
                continue
            (outer,) = scatter.loops(axis, spine)
            found = self.gathered(scatter, spine[spine.index(outer) :])
            if found is not None:
                yield found
            else:
                pending += scatter.split(axis)

    def spine(self, loop: ir.For) -> list[ir.For]:
        """The loops around, outermost first, as far out as all are plain loops in steps of one."""
        found: list[ir.For] = []
        for op, _ in reversed((*self.iterations.places[loop].chain, (loop, 0))):
            if not isinstance(op, ir.For) or op.stops or op.step not in _UNIT:
                break
            found.insert(0, op)
        return found

    def scatters(self, loop: ir.For) -> list[_Scatter]:
        """The additions in the body of the loop, those together that are of one form."""
        index: dict[ir.Store, tuple[Affine, ...]] = {}
        groups: dict[object, list[ir.Store]] = {}
        for store in _additions(loop):
            element = self.model.element(store)
            if element is None:
                continue
            root, entries = element
            shown = [self.iterations.in_variables(entry) for entry in entries]
            if all(entry is not None for entry in shown):
                index[store] = tuple(entry for entry in shown if entry is not None)
                form = tuple(frozenset(entry.terms.items()) for entry in index[store])
                groups.setdefault((root, store.value.type, form), []).append(store)
        roots = {key: key[0] for key in groups if isinstance(key, tuple)}
        return [_Scatter(roots[key], tuple(stores), index) for key, stores in groups.items() if key in roots]

    def outermost_axis(self, scatter: _Scatter, spine: Sequence[ir.For]) -> int | None:
        """The axis of the outermost loop that the additions differ in; None if the innermost loop has no conflict."""
        differing: dict[ir.For, int] = {}
        for axis in scatter.axes:
            if len(scatter.constants(axis)) > 1:
                loops = scatter.loops(axis, spine)
                if len(loops) != 1:
                    return None
                differing[loops[0]] = axis
        if spine[-1:] == [] or spine[-1] not in differing:
            return None
        return next(differing[loop] for loop in spine if loop in differing)

    def gathered(self, scatter: _Scatter, nest: Sequence[ir.For]) -> Gather | None:
        """The additions as a gather over the nest, None where that is not legal or does not help."""
        axes = self.axes(scatter, nest)
        if axes is None or not self.is_legal(scatter, nest[0]):
            return None
        terms = self.moved([self.term(store) for store in scatter.stores], scatter, axes)
        if not 1 <= len({term.factor for term in terms}) <= MOST_FACTORS:
            return None
        return Gather(scatter.root, tuple(nest), tuple(axes), scatter.index, tuple(terms))

    # --------------------------------------------------------------------------------------------------- legality

    def axes(self, scatter: _Scatter, nest: Sequence[ir.For]) -> list[Axis] | None:
        """How the elements follow the nest: a box of trips, and each of its loops on an axis of its own."""
        counters = {loop.body.args[0] for loop in nest}
        bounds = [self.bounds(loop) for loop in nest]
        places = [[axis for axis in scatter.axes if loop in scatter.loops(axis, nest)] for loop in nest]
        if any(len(place) != 1 for place in places) or len({place[0] for place in places}) != len(nest):
            return None
        made: list[Axis] = []
        for loop, bound, (axis,) in zip(nest, bounds, places, strict=True):
            if bound is None or any(symbol in counters for end in bound for symbol in end.terms):
                return None
            scale = scatter.index[scatter.stores[0]][axis].terms[loop.body.args[0]]
            made.append(Axis(loop, axis, scale, *bound))
        return made

    def bounds(self, loop: ir.For) -> tuple[Affine, Affine] | None:
        """The least value of the counter, and one more than the greatest."""
        ends = [self.iterations.value(loop.start), self.iterations.value(loop.stop)]
        shown = [None if end is None else self.iterations.in_variables(end) for end in ends]
        if shown[0] is None or shown[1] is None:
            return None
        if loop.step == ir.integer(1):
            return shown[0], shown[1]
        return shown[1].plus(Affine(constant=1)), shown[0].plus(Affine(constant=1))

    def is_legal(self, scatter: _Scatter, nest: ir.For) -> bool:
        """Whether nothing in the nest but additions touches the memory, which is made outside."""
        if nest in self.iterations.scope(scatter.root):
            return False
        for op in ir.walk(nest.body):
            touched = list(memory_read(op))
            if isinstance(op, ir.Store) and not op.add:
                touched.append(op.array)
            if any(ir.is_array(array) and not self.distinct.are_distinct(array, scatter.root) for array in touched):
                return False
        return True

    # --------------------------------------------------------------------------------------------- what is added

    def term(self, store: ir.Store) -> Term:
        """The contribution as a number times a factor, which others may share."""
        value, coefficient, is_scaled = store.value, 1.0, False
        while True:
            made = self.iterations.definitions.get(value) if isinstance(value, ir.Var) else None
            if not isinstance(made, ir.Call) or any(arg.type != value.type for arg in made.args[-1:]):
                break
            if made.callee is operator.neg:
                value, coefficient = made.args[0], -coefficient
            elif made.callee is operator.mul and isinstance(made.args[0], ir.Const) and not is_scaled:
                value, coefficient, is_scaled = made.args[1], coefficient * float(made.args[0].value), True
            else:
                break
        return Term(store, value, coefficient)

    def moved(self, terms: Sequence[Term], scatter: _Scatter, axes: Sequence[Axis]) -> list[Term]:
        """The terms to gather. Those of one place may stay, which is best done with such as share no factor."""
        factors = [term.factor for term in terms]
        shared = {factor for factor in factors if factors.count(factor) > 1}
        alone: dict[tuple[int, ...], list[ir.Store]] = {}
        for term in terms:
            if term.factor not in shared:
                place = tuple(scatter.index[term.store][axis.axis].constant for axis in axes)
                alone.setdefault(place, []).append(term.store)
        middle = min(alone, key=lambda place: (-len(alone[place]), sum(map(abs, place)), place), default=None)
        staying = alone[middle] if middle is not None else []
        return [
            term if term.factor in shared else Term(term.store, term.store.value, 1.0)
            for term in terms
            if term.store not in staying
        ]
