"""Additions to shifted elements of an array become a gather: a nest of its own, in which each element is added to once.

In: a function. Out: the same with such nests. What a trip contributes is kept in an array with a rim of zeros, as wide
as the shifts reach, so that every element of the target takes all its contributions, those that no trip makes included.
A contribution that costs no more than a product with an element is not kept: the gather reads that element. What the
nest itself stores to the elements goes with it, so that memory is passed over once.

    for i in range(n - 2, 0, -1):             for i in range(n - 2, 0, -1):
        e_bar = k[i] * v_bar[i]                   e_bars[i + 1] = k[i] * v_bar[i]
        u_bar[i + 1] += e_bar                 if n > 2:
        u_bar[i - 1] += e_bar                     for i in range(n):
                                                      u_bar[i] += e_bars[i] + e_bars[i + 2]

A loop that scatters so runs one trip after the other, since the next trip reads what this one has stored; in both loops
of the gather the trips are independent. It is legal where nothing else in the nest touches the memory that is added to.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import cost, is_cheap
from adjit.transform.analysis.elements import IndexModel, is_clear
from adjit.transform.analysis.sums import carries_adjoint_sums
from adjit.transform.sweeps.gather.gather_nests import Axis, Gather, Multiple, Own, Term, with_gathers

MOST_FACTORS = 2  # with more, or where what is kept is for one run of the nest, memory costs more than the scatter
MOST_CYCLES = 2  # of a factor that is not kept, beside those to load what it is a multiple of
MOST_PIECES = 80  # statements for the elements around
MOST_OPERATIONS = 8  # that make what a nest stores once more
MOST_ARRAYS = 1  # that this reads, element by element, beside that of the multiples
_UNIT = (ir.integer(1), ir.integer(-1))

# Of a clear in each trip of a loop around, an addition in the next, and what will come after that in its nest: that
# loop, what is to be cleared after it, and the addition, if that may be a store without the clear; see `CarriedClears`.
Carried = Callable[[ir.Store, ir.Store, Collection[ir.Op]], tuple[ir.For, Sequence[ir.Op], ir.Store] | None]


def gather(function: ir.Function, carried: Carried | None, uses: Callable[[str], bool]) -> ir.Function:
    """The function with its scattered additions written as gathers, where that is legal and helps.

    uses: which mechanisms it may. "multiples": what is a multiple of an element is not kept; "inner": where a
    nest cannot be gathered as a whole, its rows are, one by one.
    """
    candidates = [op for op in ir.walk(function.body) if isinstance(op, ir.For) and len(_additions(op)) > 1]
    if not candidates:
        return function
    search = _Search(function, carried, uses)
    return with_gathers(function, [found for loop in candidates for found in search.gathers(loop)], search.model)


def _additions(loop: ir.For) -> list[ir.Store]:
    return [
        op for op in loop.body.ops if isinstance(op, ir.Store) and op.add and isinstance(op.value.type, types.Float)
    ]


def _own_axes(index: Sequence[Affine], nest: Sequence[ir.For]) -> Sequence[int]:
    """The axis that each of the loops runs along, if each has one, which is no other's; else none."""
    found = [[axis for axis, entry in enumerate(index) if loop.body.args[0] in entry.terms] for loop in nest]
    is_one_each = all(len(own) == 1 for own in found) and len({axis for own in found for axis in own}) == len(nest)
    return [axis for (axis,) in found] if is_one_each else ()


class _Scatter(NamedTuple):
    """Additions to one array, at indices in terms of the counters that differ in their constants only.

    form: the index but for those.
    """

    root: ir.Operand
    form: tuple[Affine, ...]
    constants: dict[ir.Store, tuple[int, ...]]


class _Search:
    def __init__(self, function: ir.Function, carried: Carried | None, uses: Callable[[str], bool]):
        self.carried, self.uses = carried, uses
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
            elif outer is not loop and self.uses("inner"):
                rows = (self.gathered(row, [loop]) for row in self.rows(scatter, loop))
                yield from (row for row in rows if row is not None)

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
        groups: dict[tuple[ir.Operand, object, tuple[Affine, ...]], dict[ir.Store, tuple[int, ...]]] = {}
        for store in _additions(loop):
            root, entries = self.model.element(store) or (store.array, ())
            index = [shown for entry in entries if (shown := self.model.iterations.in_variables(entry)) is not None]
            if index and len(index) == len(entries):
                form = tuple(Affine(entry.terms) for entry in index)
                constants = tuple(entry.constant for entry in index)
                groups.setdefault((root, store.value.type, form), {})[store] = constants
        return [_Scatter(root, form, constants) for (root, _, form), constants in groups.items()]

    def by_counters(self, index: Sequence[ir.Operand]) -> list[Affine] | None:
        """An index in terms of variables of the program."""
        values = [self.model.iterations.value(operand) for operand in index]
        shown = [None if value is None else self.model.iterations.in_variables(value) for value in values]
        return None if any(entry is None for entry in shown) else [entry for entry in shown if entry is not None]

    def rows(self, scatter: _Scatter, loop: ir.For) -> list[_Scatter]:
        """Those of the additions that a loop alone shifts, row by row."""
        counter, rows = loop.body.args[0], dict[tuple[int | None, ...], dict[ir.Store, tuple[int, ...]]]()
        for store, constants in scatter.constants.items():
            pairs = zip(constants, scatter.form, strict=True)
            row = tuple(None if counter in entry.terms else constant for constant, entry in pairs)
            rows.setdefault(row, {})[store] = constants
        return [scatter._replace(constants=found) for found in rows.values() if len(set(found.values())) > 1]

    def outermost(self, scatter: _Scatter, spine: Sequence[ir.For]) -> ir.For | None:
        """The outermost loop whose trips the additions shift; None if that is not so of the innermost one."""
        axes = zip(scatter.form, zip(*scatter.constants.values(), strict=True), strict=True)
        moved = [entry.terms for entry, constants in axes if len(set(constants)) > 1]
        shifted = [[loop for loop in spine if loop.body.args[0] in terms] for terms in moved]
        if any(len(loops) != 1 for loops in shifted) or spine[-1:] not in shifted:
            return None
        return next(loop for loop in spine if [loop] in shifted)

    def gathered(self, scatter: _Scatter, nest: Sequence[ir.For]) -> Gather | None:
        """The additions as a gather over the nest, None where that is not legal or does not help."""
        # a sum of values takes as long as the scatter, at the same time; one of adjoints may be added up in any order
        axes = None if nest[-1].inits and not carries_adjoint_sums(nest[-1]) else self.axes(scatter, nest)
        if axes is None or not self.is_legal(scatter, nest[0]):
            return None
        terms = self.moved([self.term(store, scatter.constants[store], axes) for store in scatter.constants])
        if not 1 <= len({term.factor for term in terms}) <= MOST_FACTORS:
            return None
        home = self.home(axes, nest[0])
        # along the axes of the loops the terms have the constants
        common = dict(enumerate(next(iter(scatter.constants.values())))) | dict.fromkeys([a.axis for a in axes], 0)
        index = tuple(entry.plus(common[k]) for k, entry in enumerate(scatter.form))
        found = Gather(scatter.root, tuple(nest), tuple(axes), index, tuple(terms), home).with_kept()
        direct = self.in_place(found)
        if direct is not None and direct.pieces() <= MOST_PIECES:
            return direct
        return None if home is nest[0] else found

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
        made: list[Axis] = []
        for loop, axis in zip(nest, _own_axes(scatter.form, nest), strict=False):
            bounds = self.model.iterations.bounds(loop)
            if bounds is None or any(symbol in counters for end in bounds for symbol in end.terms):
                return None
            made.append(Axis(loop, axis, scatter.form[axis].terms[loop.body.args[0]], *bounds))
        return made or None

    def is_legal(self, scatter: _Scatter, nest: ir.For) -> bool:
        """Whether nothing in the nest but additions touches the elements, in memory that is made outside."""
        if nest in self.model.iterations.scope(scatter.root):
            return False
        others = (op for op in ir.walk(nest.body) if self.aliases.may_access(op, scatter.root))
        # other elements, such as those of a row of their own, may be touched
        return all(
            isinstance(op, ir.Load | ir.Store) and not any(self.model.may_meet(op, s, nest) for s in scatter.constants)
            for op in others
            if not isinstance(op, ir.Store) or not op.add
        )

    # --------------------------------------------------------------------------------------------- what is added

    def term(self, store: ir.Store, constants: Sequence[int], axes: Sequence[Axis]) -> Term:
        """The contribution as a number times a factor, which others may share."""
        value, coefficient, is_scaled = store.value, 1.0, False
        made = self.model.iterations.definitions
        while isinstance(op := made.get(value), ir.Call) and all(a.type == value.type for a in op.args[-1:]):
            match op.callee, op.args:
                case operator.neg, (only,):
                    value, coefficient = only, -coefficient
                # a literal that leaves the zeros of the rim zeros
                case operator.mul, (ir.Const(value=number), other) if math.isfinite(number) and not is_scaled:
                    value, coefficient, is_scaled = other, coefficient * float(number), True
                case _:
                    break
        shifts, rests = zip(*(axis.shift(constants[axis.axis]) for axis in axes), strict=True)
        return Term(store, value, coefficient, shifts, rests)

    def moved(self, terms: Sequence[Term]) -> list[Term]:
        """The terms to gather. Of those that reach the same elements, such as share no factor may stay in one place."""
        factors = [term.factor for term in terms]
        shared = {factor for factor in factors if factors.count(factor) > 1}
        places: dict[tuple[int, ...], dict[tuple[int, ...], list[Term]]] = {}
        for term in terms:
            places.setdefault(term.rests, {}).setdefault(term.shifts, []).append(term)
        staying: set[ir.Store] = set()
        for elements in places.values():
            alone = {
                place: [term for term in found if term.factor not in shared or len(elements) == 1]
                for place, found in elements.items()
            }
            middle = min(alone, key=lambda place: (-len(alone[place]), sum(map(abs, place)), place))
            staying.update(term.store for term in alone[middle])
        return [
            term if term.factor in shared else dataclasses.replace(term, factor=term.store.value, coefficient=1.0)
            for term in terms
            if term.store not in staying
        ]

    # ----------------------------------------------------------------------------- what is not kept, and what moves

    def in_place(self, gather: Gather) -> Gather | None:
        """The gather of multiples of elements, which are read where they are, if that is all that there is."""
        first = gather.terms[0]
        is_one = all(term.factor == first.factor and term.rests == first.rests for term in gather.terms)
        multiple = self.multiple(first.factor, gather.nest) if is_one and self.uses("multiples") else None
        if multiple is None:
            return None
        clear = self.clear(multiple.load, gather.nest)
        direct = dataclasses.replace(gather, kept={}, multiple=multiple, clear=clear)
        found = self.with_own(direct, multiple.load.array)
        # with nothing in the place of a clear, there are two passes as well
        is_worse = clear is not None and found.own is None
        return found if not is_worse and self.is_lasting(found, multiple.load) else None

    def multiple(self, factor: ir.Operand, nest: Sequence[ir.For]) -> Multiple | None:
        """What a factor is a multiple of, and the operations that make it from that."""
        inside = nest[0].body.defines
        made = self.model.iterations.definitions
        ops: list[ir.Op] = []
        load = made.get(factor) if factor in inside else None
        while isinstance(load, ir.Call):
            own = [arg for arg in load.args if arg in inside]
            is_quotient = load.callee is operator.truediv and own == [load.args[0]]
            if len(own) != 1 or not (is_quotient or load.callee in (operator.mul, operator.neg)):
                return None
            ops.insert(0, load)
            load = made.get(own[0])
        if not isinstance(load, ir.Load):
            return None
        index = self.by_counters(load.index)
        cycles = sum(cost(op) or 0 for op in ops)
        if index is None or load.out.type != factor.type or cycles > MOST_CYCLES:
            return None
        return Multiple(load, index, ops) if _own_axes(index, nest) else None

    def clear(self, load: ir.Load, nest: Sequence[ir.For]) -> ir.Store | None:
        """The store of zero to an element once its contribution is made, which can wait for the gather."""
        ops = nest[-1].body.ops
        stores = [op for op in ops if isinstance(op, ir.Store) and is_clear(op) and op.array is load.array]
        if len(stores) != 1 or stores[0].index != load.index:
            return None
        before = set(ops[: ops.index(stores[0])])
        loads = [op for op in ir.with_inner(nest[0]) if isinstance(op, ir.Load) and op.array is load.array]
        return stores[0] if before.issuperset(loads) else None

    def is_lasting(self, gather: Gather, load: ir.Load) -> bool:
        """Whether nothing is changed in the meantime that contributes, and nothing looks at what is cleared later."""
        is_late = gather.clear is not None and gather.carried is None
        for op in ir.with_inner(gather.nest[0]):
            if op is not gather.clear and self.aliases.may_access(op, load.array):
                is_own = isinstance(op, ir.Load) and op.array is load.array and op.index == load.index
                if isinstance(op, ir.Store) or (is_late and not is_own):
                    return False
        return True

    def with_own(self, gather: Gather, read: ir.Operand) -> Gather:
        """The gather, which reads the array `read`, with what the nest itself stores to the elements, if that can be
        made there, too."""
        stores = self.own_stores(gather)
        if stores is None:
            return gather
        clears = (op for op in gather.nest[-1].body.ops if isinstance(op, ir.Store) and is_clear(op))
        clear = gather.clear or next(clears, None)
        if stores:
            (own,) = stores
        elif clear is not None and self.is_own(clear.index, gather):
            # zeros, to be stored and not added to
            zero = ir.Const(0.0, gather.terms[0].factor.type)
            own = ir.Store(array=gather.root, index=clear.index, value=zero, add=True)
        else:
            return gather
        carried = None
        is_run_again = gather.home is not gather.nest[0]
        if own.add and clear is not None and self.carried is not None and is_run_again:
            carried = self.carried(clear, own, [term.store for term in gather.terms])
        if not stores and carried is None:
            return gather
        gone = clear if carried is not None else gather.clear
        moved = {own, gone, *(term.store for term in gather.terms)}
        writes = [op for op in ir.with_inner(gather.nest[0]) if isinstance(op, ir.Store) and op not in moved]
        value = _made_again(own, gather.nest, writes, read, self.aliases)
        if value is None:
            return gather
        return dataclasses.replace(gather, own=Own(own, value), clear=gone, carried=carried)

    def own_stores(self, gather: Gather) -> list[ir.Store] | None:
        """The store of the nest itself to the elements that bear its trips' numbers; None if it does anything else."""
        rests = {term.rests for term in gather.terms}
        if len(rests) != 1 or any(low > 0 or high < 0 for low, high in gather.reach):
            return None
        scattered, innermost = {term.store for term in gather.terms}, gather.nest[-1].body.ops
        inside = (op for op in ir.with_inner(gather.nest[0]) if op not in scattered)
        others = [op for op in inside if self.aliases.may_access(op, gather.root)]
        stores = [op for op in others if isinstance(op, ir.Store) and op.array is gather.root and op in innermost]
        is_all = len(stores) == len(others) <= 1 and all(self.is_own(store.index, gather) for store in stores)
        return stores if is_all else None

    def is_own(self, index: Sequence[ir.Operand], gather: Gather) -> bool:
        """Whether this is the element of the target that bears the trip's numbers."""
        return self.by_counters(index) == gather.element(gather.trip)


def _made_again(
    store: ir.Store,
    spine: Sequence[ir.For],
    writes: Sequence[ir.Store],
    known: ir.Operand,
    aliases: Aliases,
) -> list[ir.Op] | None:
    """The operations that make the value of `store` in the nest `spine`, to be made again in another nest further on.

    None if they are not to be had there: `writes` are the other stores of this nest. That nest reads the array `known`
    anyway.
    """
    own, counters = spine[0].body.made, {loop.body.args[0] for loop in spine}
    carried = {arg for loop in spine for arg in loop.body.args[1:]}
    found: dict[ir.Var, ir.Op] = {}

    def needs(operand: ir.Operand) -> bool:
        if operand in carried:
            return False
        if not isinstance(operand, ir.Var) or operand in found or operand not in own:
            return True
        op = own[operand]
        is_there = is_cheap(op) and all(needs(o) for o in op.operands if not ir.is_array(o))
        if isinstance(op, ir.Load):
            is_there = is_there and all(aliases.are_distinct(w.array, op.array) for w in writes)
        found[operand] = op
        return is_there and isinstance(op, ir.Load | ir.Call)

    if not needs(store.value) or len(found) > MOST_OPERATIONS:
        return None
    loads = [op for op in found.values() if isinstance(op, ir.Load) and op.array is not known]
    # rows and columns, as of an outer product, are in the cache
    has_whole = any(counters <= set(op.index) for op in loads)
    return list(found.values()) if not has_whole or len({op.array for op in loads}) <= MOST_ARRAYS else None
