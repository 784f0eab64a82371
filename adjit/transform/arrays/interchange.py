"""Loops around array statements are turned inside out, where each element goes its own way.

In: a function whose array statements are fused. Out: the same, where arrays that such loops keep between statements
are no longer there, or have an axis less.

    y = np.zeros(n)                          for i in range(n):
    for k in range(m):                           y = 0.0
        for i in range(n):                       for k in range(m):
            y[i] += a[k] * x[i, k]                   y += a[k] * x[i, k]
    for i in range(n): s += y[i] ** 2            s += y ** 2

The loops over i are array statements. What is done for one element needs nothing of the others (isl says so), so that
all can be done for it before the next. A loop is only turned where an array becomes smaller for it: one that is always
indexed by the counters of loops over one range, which come together then; and not if memory was run through in its
order before. In a stencil, elements meet, and so a loop over time stays where it is.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Collection, Iterator, Sequence

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import SLOT, cost
from adjit.transform.analysis.effects import Effects, touched
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type_of, typed_const
from adjit.transform.rewrite.array_contraction import index_along, smaller, without_axes

MOST_TURNS = 16  # for one array


def turn_inside_out(function: ir.Function, fuse: Callable[[ir.Function], ir.Function]) -> ir.Function:
    """The function with arrays made smaller. `fuse` puts loops together that come to stand side by side."""
    turned: set[ir.Var] = set()

    def brought_together(function: ir.Function, candidates: Sequence[tuple[ir.Var, int]]) -> ir.Function:
        """The function with all that is done to the elements of each array in one loop, as far as that can be."""
        view, beside, axes, met = _View(function), function, dict[ir.Var, int](), set[ir.Op]()
        for array, axis in candidates:
            # arrays that have loops in common come one after the other
            nests = {op for loop in view.loops_over(array, axis) for op in (*view.around[loop], loop)}
            nests -= {*view.around[view.alloc_of[array]]}
            made = _side_by_side(beside, array, axis) if met.isdisjoint(nests) else None
            if made is not None:
                beside, axes[array] = made, axis
                met |= nests
        fused = fuse(beside) if axes else function
        view = _View(fused)
        if all(len(view.loops_over(array, axis)) <= 1 for array, axis in axes.items()):
            turned.update(axes)
            return fused
        half = len(candidates) // 2
        parts = (candidates[:half], candidates[half:]) if half else ()
        return functools.reduce(brought_together, parts, function)

    while True:
        view = _View(function)
        made = view.contracted(turned) or brought_together(function, list(view.candidates()))
        if made is function:
            return function
        function = made


def _side_by_side(function: ir.Function, array: ir.Var, axis: int) -> ir.Function | None:
    """The function with all loops over the elements of an array where it is made; None if one cannot be."""
    for _ in range(MOST_TURNS):
        view = _View(function)
        home = view.around[view.alloc_of[array]]
        inner = next((loop for loop in view.loops_over(array, axis) if view.around[loop] != home), None)
        if inner is None:
            return function
        turned = view.turned(inner)
        if turned is None:
            return None
        function = turned
    return None


class _View:
    """What stands where in a function."""

    def __init__(self, function: ir.Function):
        self.function = function
        self.uses = function.analysis(Uses)
        self.around = self.uses.around
        self.alloc_of = {op.out: op for op in ir.walk(function.body) if isinstance(op, ir.Alloc) and op.like is None}

    def loops_over(self, array: ir.Var, axis: int) -> list[ir.For]:
        """The loops whose counters tell the elements along an axis; none if something else does."""
        if array in self.uses.held:
            return []
        loops: dict[ir.For, None] = {}
        for op in self.uses.users.get(array, ()):
            if isinstance(op, ir.Extent):
                continue
            index = index_along(op, array, axis)
            loop = None if index is None else self.uses.counters.get(index)
            if loop is None or loop.parallel or loop.stops:
                return []
            loops[loop] = None
        found = list(loops)
        return found if len({(loop.start, loop.stop, loop.step) for loop in found}) == 1 else []

    def candidates(self) -> Iterator[tuple[ir.Var, int]]:
        """Arrays, with an axis, that some loop around array statements keeps from getting smaller."""
        for alloc in self.alloc_of.values():
            for axis in range(array_type_of(alloc.out).ndim):
                loops = self.loops_over(alloc.out, axis)
                if len(loops) > 1 and any(self.around[loop] != self.around[alloc] for loop in loops):
                    yield alloc.out, axis

    # ------------------------------------------------------------------------------------------- smaller arrays

    def contracted(self, turned: Collection[ir.Var]) -> ir.Function | None:
        """The function with the next array made in the trips of the one loop that knows it, None if there is none.

        `turned`: arrays for which loops were turned. The others stay where they are in loops of the user's.
        """
        for alloc in self.alloc_of.values():
            for axis in range(array_type_of(alloc.out).ndim):
                loops = self.loops_over(alloc.out, axis)
                if len(loops) != 1 or self.around[loops[0]] != self.around[alloc]:
                    continue
                around = (*self.around[alloc], loops[0])
                if alloc.out in turned or any(isinstance(op, ir.For) and op.order_free for op in around):
                    made = self._with_part(alloc, axis, loops[0])
                    if made is not None:
                        return made
        return None

    def _with_part(self, alloc: ir.Alloc, axis: int, loop: ir.For) -> ir.Function | None:
        if len(alloc.shape) == 1:
            return self._with_value(alloc, loop)
        by = smaller(alloc, axis)
        body = ir.with_ops(loop.body, (by.alloc, *loop.body.ops))
        made = ir.replaced(self.function.body, {alloc: (), loop: (ir.with_regions(loop, [body]),)})
        return ir.with_body(self.function, ir.with_ops(made, without_axes(made.ops, {alloc.out: by})))

    def _with_value(self, alloc: ir.Alloc, loop: ir.For) -> ir.Function | None:
        """The same for an array of which a trip has one element."""
        users = self.uses.users.get(alloc.out, [])
        if not all(isinstance(op, ir.Load | ir.Store) for op in users) or not _may_be_value(loop.body, alloc.out):
            return None
        zero = typed_const(0, array_type_of(alloc.out).dtype)
        body = _as_value(loop.body, alloc.out, zero if alloc.fill is None else alloc.fill)
        made = ir.replaced(self.function.body, {alloc: (), loop: (ir.with_regions(loop, [body]),)})
        return ir.with_body(self.function, made)

    # ------------------------------------------------------------------------------------------- turning a loop

    def turned(self, inner: ir.For) -> ir.Function | None:
        """The function with the loop around `inner` inside of it; None if that cannot be."""
        chain = self.around[inner]
        outer = chain[-1] if chain else None
        if not isinstance(outer, ir.For) or not self._may_turn(outer, inner):
            return None
        made = dataclasses.replace(inner, body=_turned_body(outer, inner), order_free=True)
        # what the loop around hands on does not come from the elements
        body = ir.Cloner().region(ir.with_ops(outer.body, [op for op in outer.body.ops if op is not inner]))
        left = (ir.with_regions(outer, [body]),) if outer.outs else ()
        return ir.with_body(self.function, ir.replaced(self.function.body, {outer: (*left, made)}))

    def _may_turn(self, outer: ir.For, inner: ir.For) -> bool:
        if outer.stops or outer.parallel or outer.snapshots is not None or inner.outs or inner.step != ir.integer(1):
            return False
        if outer.level is not None or inner.level is not None:
            return False
        if outer.body.defines.intersection((inner.start, inner.stop)):
            return False
        aliases = self.function.analysis(Aliases)
        effects = Effects(inner, aliases)
        stored = effects.writes | effects.adds
        rest = [op for op in outer.body.ops if op is not inner]
        if not all(_may_run_again(op, stored, aliases) for op in rest) or sum(cost(op) or 0 for op in rest) > SLOT:
            return False
        return not _runs_along(inner) and self._are_apart(outer, inner, effects, aliases)

    def _are_apart(self, outer: ir.For, inner: ir.For, effects: Effects, aliases: Aliases) -> bool:
        """Whether two trips of the inner loop never have to do with each other, in whatever trips of the outer one."""
        if effects.is_ordered or any(isinstance(op, ir.Push | ir.Pull) for op in effects.touching):
            return False
        own = {aliases.find(op.out) for op in ir.walk(inner.body) if isinstance(op, ir.Alloc | ir.Copy)}
        touching = [op for op in effects.touching if not own.issuperset(map(aliases.find, touched(op)))]
        model = self.function.analysis(IndexModel)
        stores = [op for op in touching if isinstance(op, ir.Store)]
        return not model.any_meet(stores, touching, outer, (inner, "!=", inner))


def _may_run_again(op: ir.Op, stored: set[ir.Operand], aliases: Aliases) -> bool:
    """Whether an operation beside the inner loop may be run in each of its trips."""
    if isinstance(op, ir.Comment | ir.Extent | ir.Slice | ir.Transpose | ir.Undefined):
        return True
    if isinstance(op, ir.Load):
        return aliases.find(op.array) not in stored
    return isinstance(op, ir.Call) and not op.effect and not any(ir.is_array(o) for o in (*op.args, *op.outs))


def _runs_along(loop: ir.For) -> bool:
    """Whether the trips of a loop mostly go along the axis of matrices whose elements lie side by side."""
    count = 0
    for op in ir.walk(loop.body):
        if isinstance(op, ir.Load | ir.Store) and len(op.index) > 1 and loop.body.args[0] in op.index:
            fastest = {"C": -1, "F": 0}.get(array_type_of(op.array).layout)
            count += 1 if fastest is not None and op.index[fastest] is loop.body.args[0] else -1
    return count > 0


def _turned_body(outer: ir.For, inner: ir.For) -> ir.Region:
    """The body of the inner loop, with the outer one in it."""
    ops = ir.replaced(outer.body, {inner: inner.body.ops}).ops
    outs = tuple(dataclasses.replace(out) for out in outer.outs)
    turned = dataclasses.replace(outer, body=ir.with_ops(outer.body, ops), outs=outs)
    return ir.Region(inner.body.args, (turned,), ())


# --------------------------------------------------------------------------------------------- an element as a value


def _as_value(body: ir.Region, array: ir.Var, start: ir.Operand) -> ir.Region:
    """The body with a value for the one element of `array` that it loads and stores; at first it is `start`.

    y[i] = 0.0                               y = 0.0
    for j in range(m): y[i] += x[i, j]       for j in range(m): y = y + x[i, j]
    s += y[i] * y[i]                         s += y * y
    """
    writing = _AsValue(array)
    made, _ = writing.inside(body, start)
    return ir.substituted_region(made, writing.mapping)


def _may_be_value(body: ir.Region, array: ir.Var) -> bool:
    """Whether loops that store to the element can carry it."""
    loops = (op for op in ir.walk(body) if isinstance(op, ir.While) or (isinstance(op, ir.For) and op.stops))
    return not any(_stores_to(array, loop) for loop in loops)


def _stores_to(array: ir.Var, op: ir.Op) -> bool:
    return any(isinstance(inner, ir.Store) and inner.array is array for inner in ir.with_inner(op))


class _AsValue:
    def __init__(self, array: ir.Var):
        self.array = array
        self.mapping: dict[ir.Var, ir.Operand] = {}

    def fresh(self) -> ir.Var:
        return ir.Var(self.array.name, array_type_of(self.array).dtype, self.array.user)

    def current(self, operand: ir.Operand) -> ir.Operand:
        while isinstance(operand, ir.Var) and operand in self.mapping:
            operand = self.mapping[operand]
        return operand

    def inside(self, region: ir.Region, value: ir.Operand) -> tuple[ir.Region, ir.Operand]:
        """A region that starts with a value of the element, without the array, and the value at its end."""
        made: list[ir.Op] = []
        for op in region.ops:
            if isinstance(op, ir.Load) and op.array is self.array:
                self.mapping[op.out] = value
            elif isinstance(op, ir.Store) and op.array is self.array:
                stored = self.current(op.value)
                if op.add:
                    out = self.fresh()
                    made.append(ir.Call(callee=operator.add, args=(value, stored), outs=(out,), origin=op.origin))
                    stored = out
                value = stored
            else:
                op, value = self.control(op, value)
                made.append(op)
        return ir.with_ops(region, made), value

    def control(self, op: ir.Op, value: ir.Operand) -> tuple[ir.Op, ir.Operand]:
        if not _stores_to(self.array, op):
            return ir.with_regions(op, [self.inside(r, value)[0] for r in op.regions]), value
        out = self.fresh()
        if isinstance(op, ir.If):
            sides = [self.inside(r, value) for r in op.regions]
            regions = [ir.with_ops(side, side.ops, (*side.yields, last)) for side, last in sides]
            return op.rebuilt(op.operands, regions, (*op.outs, out)), out
        assert isinstance(op, ir.For)
        arg = self.fresh()
        body, last = self.inside(op.body, arg)
        return ir.with_slots(op, [ir.Slot(value, arg, last, out)], body.ops), out
