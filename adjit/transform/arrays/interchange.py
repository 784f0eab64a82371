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
from collections.abc import Callable, Collection, Iterator

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.cost import SLOT, cost
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.uses import Uses
from adjit.transform.arrays.one_element import as_value, may_be_value
from adjit.transform.ir.types import array_type_of, typed_const
from adjit.transform.rewrite.axes import index_along, smaller, without_axes

MOST_TURNS = 16  # for one array


def turn_inside_out(function: ir.Function, fuse: Callable[[ir.Function], ir.Function]) -> ir.Function:
    """The function with arrays made smaller. `fuse` puts loops together that come to stand side by side."""
    tried: set[tuple[ir.Var, int]] = set()
    turned: set[ir.Var] = set()
    while True:
        view = _View(function)
        made = view.contracted(turned) or _brought_together(view, tried, turned, fuse)
        if made is None:
            return function
        # what stood in the way before may be gone
        tried.clear()
        function = made


def _brought_together(
    view: _View,
    tried: set[tuple[ir.Var, int]],
    turned: set[ir.Var],
    fuse: Callable[[ir.Function], ir.Function],
) -> ir.Function | None:
    """The function with all that is done to the elements of one array in one loop; None if no array is left to try."""
    for array, axis in view.candidates():
        if (array, axis) not in tried:
            tried.add((array, axis))
            beside = _side_by_side(view.function, array, axis)
            made = None if beside is None else fuse(beside)
            if made is not None and len(_View(made).loops_over(array, axis)) <= 1:
                turned.add(array)
                return made
    return None


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
        body = dataclasses.replace(loop.body, ops=(by.alloc, *loop.body.ops))
        made = ir.replaced(self.function.body, {alloc: (), loop: (dataclasses.replace(loop, body=body),)})
        ops = without_axes(made.ops, {alloc.out: by})
        return dataclasses.replace(self.function, body=dataclasses.replace(made, ops=tuple(ops)))

    def _with_value(self, alloc: ir.Alloc, loop: ir.For) -> ir.Function | None:
        """The same for an array of which a trip has one element."""
        users = self.uses.users.get(alloc.out, [])
        if not all(isinstance(op, ir.Load | ir.Store) for op in users) or not may_be_value(loop.body, alloc.out):
            return None
        zero = typed_const(0, array_type_of(alloc.out).dtype)
        body = as_value(loop.body, alloc.out, zero if alloc.fill is None else alloc.fill)
        made = ir.replaced(self.function.body, {alloc: (), loop: (dataclasses.replace(loop, body=body),)})
        return dataclasses.replace(self.function, body=made)

    # ------------------------------------------------------------------------------------------- turning a loop

    def turned(self, inner: ir.For) -> ir.Function | None:
        """The function with the loop around `inner` inside of it; None if that cannot be."""
        chain = self.around[inner]
        outer = chain[-1] if chain else None
        if not isinstance(outer, ir.For) or not self._may_turn(outer, inner):
            return None
        made = dataclasses.replace(inner, body=_turned_body(outer, inner), order_free=True)
        # what the loop around hands on does not come from the elements
        rest = [op for op in outer.body.ops if op is not inner]
        cloner = ir.Cloner()
        body = cloner.region(dataclasses.replace(outer.body, ops=tuple(rest)))
        left = (dataclasses.replace(outer, body=body),) if outer.outs else ()
        return dataclasses.replace(self.function, body=ir.replaced(self.function.body, {outer: (*left, made)}))

    def _may_turn(self, outer: ir.For, inner: ir.For) -> bool:
        if outer.stops or outer.parallel or outer.snapshots is not None or inner.outs or inner.step != ir.integer(1):
            return False
        made = outer.body.defines
        if made.intersection((inner.start, inner.stop)):
            return False
        aliases = self.function.analysis(Aliases)
        stored = {aliases.find(w) for op in ir.walk(inner.body) if (w := op.memory_written) is not None}
        rest = [op for op in outer.body.ops if op is not inner]
        if not all(_may_run_again(op, stored, aliases) for op in rest) or sum(cost(op) or 0 for op in rest) > SLOT:
            return False
        if _runs_along(inner):
            return False
        return self._are_apart(outer, inner, aliases)

    def _are_apart(self, outer: ir.For, inner: ir.For, aliases: Aliases) -> bool:
        """Whether two trips of the inner loop never have to do with each other, in whatever trips of the outer one."""
        own = {aliases.find(op.out) for op in ir.walk(inner.body) if isinstance(op, ir.Alloc | ir.Copy)}
        touching: list[ir.Op] = []
        for op in ir.walk(inner.body):
            if isinstance(op, ir.Raise | ir.Push | ir.Pull) or (isinstance(op, ir.Call) and op.effect):
                return False
            written = op.memory_written
            memory = {aliases.find(a) for a in (*op.memory_read, *(() if written is None else (written,)))}
            if memory - own:
                touching.append(op)
        model = self.function.analysis(IndexModel)
        trips = (inner, "!=", inner)
        stores = [op for op in touching if isinstance(op, ir.Store)]
        return not any(model.may_meet(store, op, outer, trips) for store in stores for op in touching)


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
    ops: list[ir.Op] = []
    for op in outer.body.ops:
        ops += inner.body.ops if op is inner else (op,)
    turned = dataclasses.replace(outer, body=dataclasses.replace(outer.body, ops=tuple(ops)))
    outs = tuple(dataclasses.replace(out) for out in outer.outs)
    return ir.Region(inner.body.args, (dataclasses.replace(turned, outs=outs),), ())
