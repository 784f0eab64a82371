"""Functions of a matrix by its eigenvalues and eigenvectors have derivatives where eigenvalues are equal.

In: a function with factorisations. Out: the same, with what stands for those of which only spaces of equal values
matter (invariant_subspaces.py), and behind each product of vectors with a function of the values what mixes equal ones:

    w, v = np.linalg.eigh(a)                     w, v, spaces, mixing = spectrum(a, cuts)
    for i, k: p[i, k] = v[i, k] * exp(w[k])      for i, k: p[i, k] = v[i, k] * exp(w[k])
    z = p @ v.T                                  if mixing.size > 0:
                                                     turned = np.dot(v, mixing)
                                                     for i, k: p[i, k] += moved(turned[i, k], exp(w[k]))
                                                 z = p @ v.T

exp(w[k]) in the last but one line is the slope of the function. All that is added is zero, and has a tangent where
`mixing` has one (rules/numpy/linalg/equal_eigenvalues.py). A product of degree 2, as v[i, k] ** 2 * exp(w[k]), takes
half of what turns both of its factors. Nothing of it is run where no values are equal.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numba import types

from adjit.rules.registry import lookup
from adjit.transform import ir
from adjit.transform.analysis.extents import is_product, ndim
from adjit.transform.analysis.uses import Uses
from adjit.transform.derive.activity import is_constant
from adjit.transform.derive.in_place_updates import fill_anew
from adjit.transform.derive.invariant_subspaces import ALL, InPlace, Spaces, Unproven, axes_of_base, is_square
from adjit.transform.derive.phase_invariance import check_phases
from adjit.transform.derive.rule_bodies import Partials, context
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.walk.entry import BuildDerivative
from adjit.transform.ir.types import array_type, array_type_of, typed_const
from adjit.transform.rewrite.simplify import simplify

_Op = TypeVar("_Op", bound=ir.Op)


def mix_equal_values(function: ir.Function, build: BuildDerivative) -> ir.Function:
    """The function with the derivatives of functions of matrices at equal eigenvalues."""
    if not any(_is_spectral(op) for op in function.body.inside):
        return function
    function = simplify(function)
    unproven: set[ir.Op] = set()
    while True:
        calls = (op for op in function.body.inside if _is_spectral(op) and op not in unproven)
        call = next(calls, None)
        if call is None:
            return function
        assert isinstance(call, ir.Call)
        try:
            function = _mixed(function, call, build)
        except Unproven:
            unproven.add(call)


def _mixed(function: ir.Function, call: ir.Call, build: BuildDerivative) -> ir.Function:
    entry = lookup(call.callee)
    if entry is not None and entry.spectral is not None and entry.spectral.in_parts:
        function = _with_squared_parts(function)
    while True:
        try:
            return _Mixing(function, call, build).run()
        except InPlace as found:
            function = fill_anew(function, found.store)


def _with_squared_parts(function: ir.Function) -> ir.Function:
    """The function with re * re + im * im for hypot(re, im) ** 2, as abs(z) ** 2 is written."""
    made, instead = function.body.made, dict[ir.Op, Sequence[ir.Op]]()
    for op in function.body.inside:
        if not isinstance(op, ir.Call) or not is_square(op):
            continue
        size = made.get(op.args[0])
        if isinstance(size, ir.Call) and ir.canonical(size.callee) is math.hypot:
            b = ir.Builder(op.origin)
            parts = [b.call(operator.mul, a, a, type=op.outs[0].type) for a in size.args]
            b.emit(ir.Call(callee=operator.add, args=tuple(parts), outs=op.outs))
            instead[op] = b.ops
            if all(user in instead for user in function.analysis(Uses).users[size.outs[0]]):
                instead[size] = ()
    return ir.with_body(function, ir.replaced(function.body, instead))


def _is_spectral(op: ir.Op) -> bool:
    if not isinstance(op, ir.Call) or len(op.outs) < 2 or not any(map(ir.is_array, op.args)):
        return False
    entry = lookup(op.callee)
    return entry is not None and entry.spectral is not None


class _Mixing:
    def __init__(self, function: ir.Function, call: ir.Call, build: BuildDerivative):
        self.function, self.call, self.build = function, call, build
        entry = lookup(call.callee)
        assert entry is not None
        assert entry.spectral is not None
        self.spectral = entry.spectral
        self.spaces = Spaces(function, call, entry.spectral)
        self.uses = self.spaces.uses
        if self.spectral.in_parts:
            home = self.uses.home[call]
            check_phases(self.spaces, home, home.ops.index(call) + 1)
        kind = array_type(array_type_of(call.outs[0]).dtype, 2)
        parts = [call.outs[k] for k in self.spectral.vectors] if self.spectral.in_parts else []
        self.turned: dict[ir.Operand, ir.Var] = {out: dataclasses.replace(out) for out in parts}
        self.mixed_by = [*self.turned.values()] or [ir.Var("mixing", kind)]

    def run(self) -> ir.Function:
        roots: dict[ir.Op, list[ir.Store | ir.Var]] = {}
        stores = [s for s in (*self.spaces.met, *self.spaces.diagonals) if isinstance(s, ir.Store)]
        for store in sorted(stores, key=self.spaces.order):
            roots.setdefault(self.root_of(store), []).append(store)
        for total in self.spaces.totals:
            roots.setdefault(self.spaces.made[total], []).append(total)
        for product in self.spaces.products:
            roots.setdefault(product, []).append(product.outs[0])
        instead: dict[ir.Op, Sequence[ir.Op]] = {self.call: self.factorised()}
        if self.spaces.is_square:
            # all axes are as long as the matrix's, which other passes need not know of what stands for the call
            lengths = (
                op for op in self.function.body.inside if isinstance(op, ir.Extent) and op.array in self.call.outs
            )
            matrix = self.call.args[0]
            instead |= {op: (dataclasses.replace(op, array=matrix, axis=0),) for op in lengths}
        instead |= {root: self.mixed(root, what) for root, what in roots.items()}
        return ir.with_body(self.function, ir.replaced(self.function.body, instead))

    def root_of(self, store: ir.Store) -> ir.Op:
        """What stands in the region that the array is made in, or the factorisation, and has the store in it."""
        made = self.spaces.made.get(ir.base_of(store.array, self.spaces.made))
        found = None if made is None else self.uses.within(store, self.uses.home[made])
        if found is None or made is None or self.call in found or self.uses.home[self.call] not in self.homes(made):
            found = self.uses.within(store, self.uses.home[self.call])
        assert found is not None
        return found[0]

    def homes(self, op: ir.Op) -> list[ir.Region]:
        """The regions that an operation is in."""
        return [self.uses.home[one] for one in (*self.uses.around[op], op)]

    def factorised(self) -> Sequence[ir.Op]:
        b = ir.Builder(self.call.origin)
        cuts = ir.Var("cuts", array_type(types.intp, 1))
        places = list(dict.fromkeys(self.spaces.cuts))
        b.emit(ir.Alloc(shape=(ir.integer(len(places)),), out=cuts))
        for k, (place, further) in enumerate(places):
            if isinstance(place, ir.Const):
                found: ir.Operand = ir.integer(int(place.value) + further)
            else:
                found = b.call(operator.add, place, ir.integer(further), type=types.intp, name="cut")
            b.store(cuts, (ir.integer(k),), found)
        args = (*self.call.args, cuts)
        spaces = ir.Var("spaces", array_type(types.int64, 1))
        b.emit(ir.Call(callee=self.spectral.function, args=args, outs=(*self.call.outs, spaces, *self.mixed_by)))
        return b.ops

    def mixed(self, root: ir.Op, what: Sequence[ir.Store | ir.Var]) -> Sequence[ir.Op]:
        """What takes the place of an operation that makes products: it, and what mixes equal values."""
        totals = [one for one in what if isinstance(one, ir.Var) and not ir.is_array(one)]
        plain = {out: dataclasses.replace(out) for out in totals}
        b = ir.Builder(root.origin)
        b.emit(ir.with_parts(root, root.operands, root.regions, [plain.get(out, out) for out in root.results]))
        is_any = b.call(operator.gt, b.extent(self.mixed_by[0], 0), ir.integer(0), type=types.boolean, name="has_equal")
        with b.region() as inside:
            change = _Change(self, root, b)
            for store in what:
                if store in self.spaces.diagonals:
                    assert isinstance(store, ir.Store)
                    change.diagonal(store)
            if isinstance(root, ir.Call):
                change.contract(root)
            elif any(one not in self.spaces.diagonals for one in what):
                change.walk([root], change.around)
            sums = [b.call(operator.add, plain[t], change.found[t], type=t.type, name=t.name) for t in totals]
        then = ir.Region((), (*change.head, *inside), tuple(sums))
        orelse = ir.Region((), (), tuple(plain[t] for t in totals))
        b.emit(ir.If(condition=is_any, then=then, orelse=orelse, outs=tuple(totals)))
        return b.ops


class Env(dict[ir.Operand, ir.Operand]):
    """What stands for values of the program where they are worked out again."""


class _Change:
    """What mixing changes in one operation of the program, and the loops in it.

    head: what is made before these loops. found: changes of numbers that loops and branches give.
    """

    def __init__(self, mixing: _Mixing, root: ir.Op, builder: ir.Builder):
        self.spaces, self.mixing, self.root, self.builder = mixing.spaces, mixing.mixed_by[0], root, builder
        self.zero_moved = mixing.spectral.moved
        self.made, self.uses = mixing.spaces.made, mixing.uses
        self.context = context(builder, mixing.build)
        self.partials = Partials(builder, mixing.build)
        self.head: list[ir.Op] = []
        self.found: dict[ir.Operand, ir.Operand] = {}
        self.around = Env()
        self._turned: dict[tuple[ir.Operand, int], ir.Var] = {}
        self._turned_parts = mixing.turned
        self._carried: dict[tuple[ir.Operand, ir.Operand], ir.Operand] = {}
        self._known: dict[tuple[object, ...], tuple[Env, list[ir.Op], ir.Operand | None]] = {}
        self._visible = mixing.spaces.defined_before(root)
        self._last = max(mixing.spaces.order(op) for op in ir.with_inner(root))

    # ----------------------------------------------------------------------------------------------------- loops

    def walk(self, ops: Sequence[ir.Op], env: Env) -> None:
        """Goes where products are stored, or added up."""
        for op in ops:
            if isinstance(op, ir.Store):
                if op in self.spaces.met:
                    index = [self.value(place, env) for place in op.index]
                    self.builder.store(self.value(op.array, env), index, self.change(op.value, env), add=True)
            elif not self.has_products(op):
                continue
            elif isinstance(op, ir.For):
                self.loop(op, env)
            elif isinstance(op, ir.If):
                self.branch(op, env)
            else:
                raise Unproven

    def has_products(self, op: ir.Op) -> bool:
        return any(
            inner in self.spaces.met
            or any(out in self.spaces.met or out in self.spaces.totals for out in inner.results)
            for inner in ir.with_inner(op)
            if isinstance(inner, ir.Store | ir.For | ir.If)
        )

    def loop(self, op: ir.For, env: Env) -> None:
        changing = [s for s in op.slots if s.out in self.spaces.met or s.out in self.spaces.totals]
        inits = [self.found.get(s.init, typed_const(0, s.arg.type)) for s in changing]
        args = [ir.Var(s.arg.name, s.arg.type) for s in changing]

        def trip(counter: ir.Operand, *found: ir.Operand) -> Sequence[ir.Operand]:
            inner = Env(env)
            inner[op.body.args[0]] = counter
            self.found.update({s.arg: f for s, f in zip(changing, found, strict=True)})
            self.walk(op.body.ops, inner)
            return [self.change(s.yielded, inner) for s in changing]

        stop, name = self.value(op.stop, env), op.body.args[0].name
        outs = self.builder.fold(stop, name, inits, args, trip, order_free=op.order_free)
        self.found.update({s.out: out for s, out in zip(changing, outs, strict=True)})

    def branch(self, op: ir.If, env: Env) -> None:
        changing = [k for k, out in enumerate(op.outs) if out in self.spaces.met]
        condition = self.value(op.condition, env)
        sides = []
        for side in op.regions:
            with self.builder.region() as ops:
                self.walk(side.ops, env)
                yields = [self.change(side.yields[k], env) for k in changing]
            sides.append(ir.Region((), (*ops,), tuple(yields)))
        outs = [dataclasses.replace(op.outs[k]) for k in changing]
        self.builder.emit(ir.If(condition=condition, then=sides[0], orelse=sides[1], outs=tuple(outs)))
        self.found.update({op.outs[k]: out for k, out in zip(changing, outs, strict=True)})

    def diagonal(self, store: ir.Store) -> None:
        """A function of the values on a diagonal: off it, too, where they are equal."""
        if not isinstance(self.root, ir.For) or store not in self.root.body.ops:
            raise Unproven
        counter = self.root.body.args[0]
        mixing = self.part(self.spaces.spans[counter])

        def add(index: tuple[ir.Var, ...]) -> None:
            slopes = [self.slope(store.value, counter, Env({counter: own})) for own in index]
            slope = self.plus(*slopes)
            if slope is not None:
                mean = self.times(typed_const(0.5, store.value.type), slope)
                self.builder.store(store.array, index, self.moved(self.builder.load(mixing, index), mean), add=True)

        self.builder.nest((self.root.stop, self.root.stop), add)

    def contract(self, op: ir.Call) -> None:
        """A product of an array of degree 2 with a function of the values."""
        (left, right), (out,) = op.args, op.outs
        rank = ndim(left) - 1
        diagonal = next((a for a in op.args if a in self.spaces.diagonal), None)
        if diagonal is not None:
            self.scaled(op, diagonal)
            return

        def total(places: Sequence[ir.Operand]) -> ir.Operand:
            def trip(counter: ir.Operand, total: ir.Operand) -> Sequence[ir.Operand]:
                env = Env({one: one for one in (*places, counter)})
                sides = [(left, [*places[:rank], counter]), (right, [counter, *places[rank:]])]
                axes = (self.spaces.entries(left).axes[-1], self.spaces.entries(right).axes[0])
                vectors, function = sides if axes[0] is not None and axes[0].degree == 2 else sides[::-1]
                slope = self.slope_of_element(*function, counter, env)
                turned = self.inlined(*self.through_views(*vectors), counter, env, self.turned)
                if slope is None or turned is None:
                    return [total]
                half = self.times(typed_const(0.5, turned.type), turned)
                return [self.call(operator.add, total, self.moved(half, slope))]

            kind = array_type_of(left).dtype
            stop = self.builder.extent(left, rank)
            args = [ir.Var("total", kind)]
            return self.builder.fold(stop, "k", [typed_const(0, kind)], args, trip, order_free=True)[0]

        if ir.is_array(out):
            self.builder.nest(
                self.builder.shape(out), lambda places: self.builder.store(out, places, total(places), add=True)
            )
        else:
            self.found[out] = total(())

    def scaled(self, op: ir.Call, diagonal: ir.Operand) -> None:
        """A product of parts of vectors with a function of the values on a diagonal."""
        (left, right), (out,) = op.args, op.outs
        store = self.spaces.diagonal[diagonal]
        vectors, axis = (left, ndim(left) - 1) if diagonal is right else (right, 0)
        turned = self.turned_array(vectors, axis, ALL)

        def add(places: tuple[ir.Var, ...]) -> None:
            slope = self.slope(store.value, store.index[0], Env({store.index[0]: places[axis]}))
            if slope is not None:
                self.builder.store(out, places, self.moved(self.builder.load(turned, places), slope), add=True)

        self.builder.nest(self.builder.shape(out), add)

    # --------------------------------------------------------------------------------------------------- changes

    def change(self, value: ir.Operand, env: Env) -> ir.Operand:
        found = self.mixed(value, env)
        return typed_const(0, value.type) if found is None else found

    def mixed(self, value: ir.Operand, env: Env) -> ir.Operand | None:
        """By how much a number changes; None for not at all."""
        if value in self.found:
            return self.found[value]
        if value not in self.spaces.met:
            return None
        op = self.made.get(value)
        if not isinstance(op, ir.Call):
            raise Unproven
        found = self.through(op, env, self.mixed)
        if self.spaces.meets(op):
            found = self.plus(found, self.product(op, env))
        return found

    def product(self, op: ir.Call, env: Env) -> ir.Operand | None:
        """By how much a product of vectors with a function of the values changes, for each index that they share."""
        given = [self.spaces.number(a) for a in op.args]
        callee, found = ir.canonical(op.callee), None
        if callee is ir.select:
            return None
        for counter in {k: None for g in given for k in g.degrees}:
            first, second = (g.degrees.get(counter) for g in given)
            if first is None or second is None or (first > 0) == (second > 0):
                continue
            vectors, function = op.args if first > 0 else op.args[::-1]
            slope, turned = self.slope(function, counter, env), self.turned(vectors, counter, env)
            if slope is None or turned is None:
                continue
            if callee is operator.truediv:
                over = self.value(function, env)
                slope = self.call(operator.truediv, self.call(operator.neg, slope), self.times(over, over))
            if max(first, second) == 2:
                turned = self.times(typed_const(0.5, turned.type), turned)
            found = self.plus(found, self.moved(turned, slope))
        return found

    def turned(self, value: ir.Operand, counter: ir.Operand, env: Env) -> ir.Operand | None:
        """What the vectors of equal values add to a number that is made of vectors, each weighed by the mixing."""
        if (value, counter) in self._carried:
            return self._carried[value, counter]
        number = self.spaces.number(value)
        if all(one.degrees.get(counter, 0) == 0 for one in (number, *(number.terms or ()))):
            return None

        def work() -> ir.Operand | None:
            op = self.made.get(value)
            if isinstance(op, ir.Load):
                return self.turned_element(op, counter, env)
            if isinstance(op, ir.If):
                return self.of_branches(op, env, lambda side: self.turned(side, counter, env))
            if isinstance(op, ir.For):
                return self.turned_sum(op, op.outs.index(value), counter, env)
            if not isinstance(op, ir.Call):
                raise Unproven
            return self.through(op, env, lambda a, env: self.turned(a, counter, env))

        return self.once(("turned", value, counter), env, work)

    def turned_sum(self, op: ir.For, place: int, counter: ir.Operand, env: Env) -> ir.Operand:
        """The same of a sum that a loop carries."""
        slot = op.slots[place]
        zero = typed_const(0, slot.arg.type)

        def trip(own: ir.Operand, total: ir.Operand) -> Sequence[ir.Operand]:
            inner = Env(env)
            inner[op.body.args[0]] = own
            self._carried[slot.arg, counter] = total
            found = self.turned(slot.yielded, counter, inner)
            del self._carried[slot.arg, counter]
            return [total if found is None else found]

        init = self.turned(slot.init, counter, env) or zero
        args = [ir.Var(slot.arg.name, slot.arg.type)]
        stop, name = self.value(op.stop, env), op.body.args[0].name
        return self.builder.fold(stop, name, [init], args, trip, order_free=op.order_free)[0]

    def turned_element(self, op: ir.Load, counter: ir.Operand, env: Env) -> ir.Operand | None:
        array, index = self.through_views(op.array, op.index)
        axes, found = self.spaces.entries(array).axes, None
        if counter in self.spaces.entries(array).at:
            return self.inlined(array, index, counter, env, self.turned)
        for k, (axis, place) in enumerate(zip(axes, index, strict=True)):
            if axis is None or self.spaces.counter(place) is not counter:
                continue
            if axis.degree == 2:
                return self.inlined(array, index, counter, env, self.turned)
            places = [self.value(one, env) for one in index]
            self.stays(op, array)
            found = self.plus(found, self.builder.load(self.turned_array(array, k, axis.of), places))
        if found is None:
            raise Unproven
        return found

    def turned_array(self, array: ir.Operand, axis: int, of: ir.Span) -> ir.Var:
        """The array times the mixing along an axis."""
        key = (array, axis)
        if key not in self._turned:
            kind = array_type_of(array)
            if array not in self._visible or kind.ndim > 2 or kind.dtype != array_type_of(self.mixing).dtype:
                raise Unproven
            if self._turned_parts:
                self._turned[key] = self.turned_part(array, axis)
                return self._turned[key]
            mixing = self.part(of)
            with self.builder.region(self.head):
                args = (array, mixing) if axis == kind.ndim - 1 else (mixing, array)
                self._turned[key] = self.builder.call(
                    np.dot, *args, type=array_type(kind.dtype, kind.ndim), name="turned"
                )
        return self._turned[key]

    def turned_part(self, array: ir.Operand, axis: int) -> ir.Var:
        """The same of what is made of the parts of complex vectors."""
        if array in self._turned_parts:
            return self._turned_parts[array]
        op, (out, *_) = self.made[array], self.made[array].results
        if isinstance(op, ir.Transpose | ir.Slice):
            from_base = op.axes if isinstance(op, ir.Transpose) else axes_of_base(op)
            operands = [self.turned_array(op.base, from_base[axis], ALL), *op.operands[1:]]
        elif isinstance(op, ir.Call) and is_product(op):
            left, right = op.args
            behind = axis - ndim(left) + 2
            if behind > 0:
                operands = [left, self.turned_array(right, behind, ALL)]
            else:
                operands = [self.turned_array(left, axis, ALL), right]
        else:
            return self.filled(array, axis)
        made = op.rebuilt(operands, (), [dataclasses.replace(out)])
        with self.builder.region(self.head):
            self.builder.emit(made)
        return made.results[0]

    def filled(self, array: ir.Operand, axis: int) -> ir.Var:
        with self.builder.region(self.head):
            new = ir.Var("turned", array_type(array_type_of(array).dtype, ndim(array)))
            shape = self.builder.shape(array)
            self.builder.emit(ir.Alloc(shape=shape, out=new))

            def fill(places: tuple[ir.Var, ...]) -> None:
                env = Env({one: one for one in places})
                found = self.inlined(array, places, places[axis], env, self.turned)
                zero = typed_const(0, array_type_of(array).dtype)
                self.builder.store(new, places, zero if found is None else found)

            self.builder.nest(shape, fill)
        return new

    def part(self, of: ir.Span) -> ir.Var:
        """The mixing of the pairs in a slice."""
        if of == ALL:
            return self.mixing
        with self.builder.region(self.head):
            return self.builder.slice(self.mixing, (of, of), "mixing")

    def slope(self, value: ir.Operand, counter: ir.Operand, env: Env) -> ir.Operand | None:
        """The derivative of a number by the value of its own index."""
        if counter not in self.spaces.number(value).degrees:
            return None
        return self.once(("slope", value, counter), env, lambda: self.slope_of(self.made[value], counter, env))

    def slope_of(self, op: ir.Op, counter: ir.Operand, env: Env) -> ir.Operand | None:
        if isinstance(op, ir.Load):
            return self.slope_of_element(op.array, op.index, counter, env)
        if isinstance(op, ir.If):
            return self.of_branches(op, env, lambda side: self.slope(side, counter, env))
        if not isinstance(op, ir.Call):
            raise Unproven
        slopes = [self.slope(a, counter, env) for a in op.args]
        if all(s is None for s in slopes) or is_constant(op.callee):
            return None
        if op.callee is ir.cast:
            return None if slopes[0] is None else scalars.cast(self.context, slopes[0], op.outs[0].type)
        if op.callee is ir.select:
            sides = [typed_const(0, op.outs[0].type) if s is None else s for s in slopes[1:]]
            return self.call(ir.select, self.value(op.args[0], env), *sides, type_=op.outs[0].type)
        entry = lookup(op.callee)
        if entry is None or entry.partials is None:
            raise Unproven
        again = self.again(op, env)
        asked = {a for a, s in zip(again.args, slopes, strict=True) if s is not None}
        found: ir.Operand | None = None
        for partial, slope in zip(self.partials.of(again, entry.partials, asked.__contains__), slopes, strict=True):
            if slope is not None:
                found = self.plus(found, self.times(partial, slope))
        return found

    def slope_of_element(
        self, array: ir.Operand, index: Sequence[ir.Operand], counter: ir.Operand, env: Env
    ) -> ir.Operand | None:
        array, index = self.through_views(array, index)
        if ir.base_of(array, self.made) is self.spaces.values:
            return typed_const(1, array_type_of(array).dtype)
        return self.inlined(array, index, counter, env, self.slope)

    def inlined(
        self,
        array: ir.Operand,
        index: Sequence[ir.Operand],
        counter: ir.Operand,
        env: Env,
        how: Callable[[ir.Operand, ir.Operand, Env], ir.Operand | None],
    ) -> ir.Operand | None:
        """The same of what is stored in an array."""
        store, inner = self.stored(array, index, env)
        places = [own for own, place in zip(store.index, index, strict=True) if self.spaces.counter(place) is counter]
        if counter in self.spaces.entries(array).at:
            places.append(counter)
        if len(set(places)) != 1:
            raise Unproven
        return how(store.value, places[0], inner)

    def stored(self, array: ir.Operand, index: Sequence[ir.Operand], env: Env) -> tuple[ir.Store, Env]:
        """The store that fills an array, and what its counters are where an element is read."""
        if array not in self.made:
            raise Unproven
        store = self.spaces.stored(array)
        nest = self.uses.within(store, self.uses.home[self.made[array]])
        if store.add or nest is None:
            raise Unproven
        if not all(isinstance(op, ir.For) for op in nest[:-1]):
            raise InPlace(store)
        inner = Env(env)
        inner.update({own: self.value(place, env) for own, place in zip(store.index, index, strict=True)})
        return store, inner

    def through_views(self, array: ir.Operand, index: Sequence[ir.Operand]) -> tuple[ir.Operand, Sequence[ir.Operand]]:
        """The array that an element is of, and its index there, behind views of all its elements."""
        while True:
            view = self.made.get(array)
            if isinstance(view, ir.Transpose):
                turned = list(index)
                for k, axis in enumerate(view.axes):
                    turned[axis] = index[k]
                array, index = view.base, turned
            elif isinstance(view, ir.Copy) and not self.spaces.aliases.is_written(array):
                array = view.source
            elif isinstance(view, ir.Slice) and all(not isinstance(s, ir.Span) or s == ALL for s in view.selectors):
                rest, found = iter(index), []
                for s in view.selectors:
                    if isinstance(s, ir.At):
                        found.append(s.index)
                    else:
                        place = next(rest)
                        found += [] if isinstance(s, ir.NewAxis) else [place]
                array, index = view.base, found
            elif isinstance(view, ir.Reshape) and view.base in self.spaces.arrays:
                found = [place for extent, place in zip(view.shape, index, strict=True) if not ir.is_literal(extent, 1)]
                array, index = view.base, found
            else:
                return array, index

    # ---------------------------------------------------------------------------------------------------- values

    def value(self, value: ir.Operand, env: Env) -> ir.Operand:
        """A value of the program, which is worked out again where it is not at hand."""
        if isinstance(value, ir.Const):
            return value
        if value in env:
            return env[value]
        if value in self._visible:
            return value
        op = self.made.get(value)
        if not isinstance(op, ir.Call | ir.Load | ir.Extent | ir.If):
            raise Unproven
        return self.once(("value", value), env, lambda: self.worked_out(op, value, env)) or value

    def worked_out(self, op: ir.Op, value: ir.Operand, env: Env) -> ir.Operand:
        if isinstance(op, ir.If):
            found = self.of_branches(op, env, lambda side: self.value(side, env), op.outs.index(value))
            assert found is not None
            return found
        if isinstance(op, ir.Load):
            array, index = self.through_views(op.array, op.index)
            if isinstance(array, ir.Var) and array not in self._visible:
                store, inner = self.stored(array, index, env)
                return self.value(store.value, inner)
            self.stays(op, array)
            places = [self.value(place, env) for place in index]
            return self.builder.load(array, places)
        again = self.again(op, env)
        return again.results[op.results.index(value)]

    def again(self, op: _Op, env: Env) -> _Op:
        """The operation of values at hand."""
        if isinstance(op, ir.Call) and (op.effect or any(map(ir.is_array, (*op.args, *op.outs)))):
            raise Unproven
        operands = [self.value(o, env) for o in op.operands]
        made = op.rebuilt(operands, (), [dataclasses.replace(out) for out in op.results])
        self.builder.emit(made)
        return made

    def stays(self, load: ir.Load, array: ir.Operand) -> None:
        """Sees to it that nothing is stored into an array from where it was read on."""
        loops = [op for op in self.uses.around[load] if op not in self.uses.around[self.root]]
        first = self.spaces.order(loops[0] if loops else load)
        memory = self.spaces.aliases.find(array)
        for store in self.spaces.aliases.stores().get(memory, ()):
            if first <= self.spaces.order(store) <= self._last:
                raise Unproven

    def of_branches(
        self, op: ir.If, env: Env, how: Callable[[ir.Operand], ir.Operand | None], place: int = 0
    ) -> ir.Operand | None:
        if len(op.outs) > 1 and place == 0:
            raise Unproven
        condition, sides, out = self.value(op.condition, env), [], op.outs[place]
        for side in op.regions:
            with self.builder.region() as ops:
                found = how(side.yields[place])
                yields = typed_const(0, out.type) if found is None else found
            sides.append(ir.Region((), (*ops,), (yields,)))
        made = dataclasses.replace(out)
        self.builder.emit(ir.If(condition=condition, then=sides[0], orelse=sides[1], outs=(made,)))
        return made

    def once(self, key: tuple[object, ...], env: Env, work: Callable[[], ir.Operand | None]) -> ir.Operand | None:
        known = self._known.get((*key, id(env)))
        if known is not None and self.builder.is_open(known[1]):
            return known[2]
        found = work()
        self._known[(*key, id(env))] = (env, self.builder.ops, found)
        return found

    # -------------------------------------------------------------------------------------------------- operators

    def through(self, op: ir.Call, env: Env, how: Callable[[ir.Operand, Env], ir.Operand | None]) -> ir.Operand | None:
        """The change of a result by those of what it is made of, in which it is linear, or quadratic."""
        callee, changes = ir.canonical(op.callee), [how(a, env) for a in op.args]
        if all(c is None for c in changes):
            return None
        if callee is ir.select:
            sides = [typed_const(0, op.outs[0].type) if c is None else c for c in changes[1:]]
            return self.call(ir.select, self.value(op.args[0], env), *sides, type_=op.outs[0].type)
        first = changes[0]
        if callee is ir.cast:
            return None if first is None else scalars.cast(self.context, first, op.outs[0].type)
        if callee is operator.pos:
            return first
        if callee is operator.neg:
            return None if first is None else self.call(operator.neg, first)
        if callee is operator.add:
            return self.plus(*changes)
        if callee is operator.sub:
            return self.plus(first, None if changes[1] is None else self.call(operator.neg, changes[1]))
        if callee is operator.truediv and changes[1] is None and first is not None:
            return self.call(operator.truediv, first, self.value(op.args[1], env))
        if callee is operator.mul:
            terms = [
                None if change is None else self.times(change, self.value(other, env))
                for change, other in zip(changes, op.args[::-1], strict=True)
            ]
            return self.plus(*terms)
        if first is not None and is_square(op):
            twice = self.times(typed_const(2, op.outs[0].type), self.value(op.args[0], env))
            return self.times(twice, first)
        raise Unproven

    def plus(self, first: ir.Operand | None, second: ir.Operand | None) -> ir.Operand | None:
        if first is None or second is None:
            return first if second is None else second
        return self.call(operator.add, first, second)

    def times(self, first: ir.Operand, second: ir.Operand) -> ir.Operand:
        return self.call(operator.mul, first, second)

    def moved(self, turned: ir.Operand, slope: ir.Operand) -> ir.Operand:
        slope = scalars.cast(self.context, slope, turned.type)
        return self.builder.call(self.zero_moved, turned, slope, type=turned.type)

    def call(self, callee: object, *args: ir.Operand, type_: types.Type | None = None) -> ir.Operand:
        if type_ is not None:
            return self.builder.call(callee, *args, type=type_)
        return scalars.scalar(self.context, callee, args)
