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

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.sums import carries_adjoint_sums
from adjit.transform.sweeps.gather.gathered import Axis, Edits, Gather, Term

MOST_FACTORS = 2  # with more, or with an array made for one run of the nest, memory costs more than the scatter
_UNIT = (ir.integer(1), ir.integer(-1))


def gather(function: ir.Function) -> ir.Function:
    """The function with its scattered additions written as gathers, where that is legal and helps."""
    candidates = [op for op in ir.walk(function.body) if isinstance(op, ir.For) and len(_additions(op)) > 1]
    if not candidates:
        return function
    search = _Search(function)
    edits = Edits(search.model)
    for loop in candidates:
        for found in search.gathers(loop):
            edits.add(found)
    return edits.applied(function)


def _additions(loop: ir.For) -> list[ir.Store]:
    return [
        op for op in loop.body.ops if isinstance(op, ir.Store) and op.add and isinstance(op.value.type, types.Float)
    ]


def _is_finite(operand: ir.Operand) -> bool:
    """Whether the operand is a literal that leaves the zeros of the rim zeros."""
    return isinstance(operand, ir.Const) and math.isfinite(operand.value)


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


class _Search:
    def __init__(self, function: ir.Function):
        self.model = function.analysis(IndexModel)
        self.aliases = function.analysis(Aliases)

    def gathers(self, loop: ir.For) -> Iterator[Gather]:
        """The gathers that take the place of additions in the body of this loop, the innermost of its nest."""
        spine = self.spine(loop)
        for scatter in self.scatters(loop):
            outer = self.outermost(scatter, spine)
            found = None if outer is None else self.gathered(scatter, spine[spine.index(outer) :])
            if found is not None:
                yield found

    def spine(self, loop: ir.For) -> list[ir.For]:
        """The loops around, outermost first, as far out as all are plain loops in steps of one."""
        found: list[ir.For] = []
        for op, _ in reversed((*self.model.iterations.places[loop].chain, (loop, 0))):
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
            shown = [self.model.iterations.in_variables(entry) for entry in entries]
            if all(entry is not None for entry in shown):
                index[store] = tuple(entry for entry in shown if entry is not None)
                form = tuple(frozenset(entry.terms.items()) for entry in index[store])
                groups.setdefault((root, store.value.type, form), []).append(store)
        roots = {key: key[0] for key in groups if isinstance(key, tuple)}
        return [_Scatter(roots[key], tuple(stores), index) for key, stores in groups.items() if key in roots]

    def outermost(self, scatter: _Scatter, spine: Sequence[ir.For]) -> ir.For | None:
        """The outermost loop whose trips the additions shift; None if that is not so of the innermost one."""
        shifted = [scatter.loops(axis, spine) for axis in scatter.axes if len(scatter.constants(axis)) > 1]
        if any(len(loops) != 1 for loops in shifted) or spine[-1:] not in shifted:
            return None
        return next(loop for loop in spine if [loop] in shifted)

    def gathered(self, scatter: _Scatter, nest: Sequence[ir.For]) -> Gather | None:
        """The additions as a gather over the nest, None where that is not legal or does not help."""
        # a sum of values takes as long as the scatter, at the same time; one of adjoints may be added up in any order
        axes = None if nest[-1].inits and not carries_adjoint_sums(nest[-1]) else self.axes(scatter, nest)
        if axes is None or not self.is_legal(scatter, nest[0]):
            return None
        terms = self.moved([self.term(store) for store in scatter.stores], scatter, axes)
        home = self.home(axes, nest[0])
        if home is nest[0] or not 1 <= len({term.factor for term in terms}) <= MOST_FACTORS:
            return None
        return Gather(scatter.root, tuple(nest), tuple(axes), scatter.index, tuple(terms), home)

    def home(self, axes: Sequence[Axis], nest: ir.For) -> ir.Op:
        """The outermost loop around that runs the nest with the same bounds each time, the nest itself if none does."""
        needed = {symbol for axis in axes for end in (axis.low, axis.high) for symbol in end.terms}
        found: ir.Op = nest
        for loop in reversed(self.model.iterations.places[nest].loops):
            if isinstance(loop, ir.For) and (loop.parallel or loop.body.args[0] in needed):
                break
            found = loop
        return found

    # --------------------------------------------------------------------------------------------------- legality

    def axes(self, scatter: _Scatter, nest: Sequence[ir.For]) -> list[Axis] | None:
        """How the elements follow the nest: a box of trips, and each of its loops on an axis of its own."""
        counters = {loop.body.args[0] for loop in nest}
        bounds = [self.model.iterations.bounds(loop) for loop in nest]
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

    def is_legal(self, scatter: _Scatter, nest: ir.For) -> bool:
        """Whether nothing in the nest but additions touches the elements, in memory that is made outside."""
        if nest in self.model.iterations.scope(scatter.root):
            return False
        for op in ir.walk(nest.body):
            touched = list(op.memory_read)
            if isinstance(op, ir.Store) and not op.add:
                touched.append(op.array)
            if all(not ir.is_array(array) or self.aliases.are_distinct(array, scatter.root) for array in touched):
                continue
            # other elements, such as those of a row of their own, may be
            if not isinstance(op, ir.Load | ir.Store):
                return False
            if any(self.model.may_meet(op, store, nest) for store in scatter.stores):
                return False
        return True

    # --------------------------------------------------------------------------------------------- what is added

    def term(self, store: ir.Store) -> Term:
        """The contribution as a number times a factor, which others may share."""
        value, coefficient, is_scaled = store.value, 1.0, False
        while True:
            made = self.model.iterations.definitions.get(value) if isinstance(value, ir.Var) else None
            if not isinstance(made, ir.Call) or any(arg.type != value.type for arg in made.args[-1:]):
                break
            if made.callee is operator.neg:
                value, coefficient = made.args[0], -coefficient
            elif made.callee is operator.mul and _is_finite(made.args[0]) and not is_scaled:
                assert isinstance(made.args[0], ir.Const)
                value, coefficient, is_scaled = made.args[1], coefficient * float(made.args[0].value), True
            else:
                break
        return Term(store, value, coefficient)

    def moved(self, terms: Sequence[Term], scatter: _Scatter, axes: Sequence[Axis]) -> list[Term]:
        """The terms to gather. Of those that reach the same elements, such as share no factor may stay in one place."""
        factors = [term.factor for term in terms]
        shared = {factor for factor in factors if factors.count(factor) > 1}
        places: dict[tuple[int, ...], dict[tuple[int, ...], list[Term]]] = {}
        for term in terms:
            shifts = [axis.shift(scatter.index[term.store][axis.axis].constant) for axis in axes]
            elements = places.setdefault(tuple(rest for _, rest in shifts), {})
            elements.setdefault(tuple(shift for shift, _ in shifts), []).append(term)
        staying: set[ir.Store] = set()
        for elements in places.values():
            alone = {
                place: [term for term in found if term.factor not in shared or len(elements) == 1]
                for place, found in elements.items()
            }
            middle = min(alone, key=lambda place: (-len(alone[place]), sum(map(abs, place)), place))
            staying.update(term.store for term in alone[middle])
        return [
            term if term.factor in shared else Term(term.store, term.store.value, 1.0)
            for term in terms
            if term.store not in staying
        ]
