"""Elements of views as elements of the array behind them, so that index questions are about one array.

In: a function. Out: the same, where loads and stores through slices, rows and transposes name the base itself. A view
that goes elsewhere (into a call, round a loop) stays; so does one whose first element is only known at run time.

    v = u[1:-1]
    for i in range(n - 2): s += v[i]             for i in range(n - 2): s += u[i + 1]
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.integers import emit_integer


def see_through_views(function: ir.Function) -> ir.Function:
    """The function with direct loads and stores; views that nobody reads any more are left for others to remove."""
    return ir.with_body(function, ir.rewritten(function.body, _Direct(function).direct))


class _Direct:
    def __init__(self, function: ir.Function):
        self.function = function
        self.iterations = function.analysis(Iterations)
        self.moved: set[ir.Operand] = set()  # indices made here, which are not below zero

    def direct(self, op: ir.Op) -> ir.Op | list[ir.Op]:
        """The operation, naming the base if it names a view of it, after what makes the index."""
        if not isinstance(op, ir.Load | ir.Store):
            return op
        builder = ir.Builder(op.origin)
        array, index = op.array, op.index
        while isinstance(array, ir.Var):
            view = self.iterations.definitions.get(array)
            if isinstance(view, ir.Slice):
                through = self.sliced(view, index, builder)
            elif isinstance(view, ir.Transpose):
                of_view = dict(zip(view.axes, index, strict=True))
                through = tuple(of_view[axis] for axis in range(len(index)))
            else:
                break
            if through is None:
                break
            array, index = view.base, through
        return [*builder.ops, op if array is op.array else dataclasses.replace(op, array=array, index=index)]

    def sliced(self, view: ir.Slice, index: Sequence[ir.Operand], builder: ir.Builder) -> tuple[ir.Operand, ...] | None:
        """The index into the base, None where it is not known."""
        rest = iter(index)
        pairs = [(s, None if isinstance(s, ir.At) else next(rest)) for s in view.selectors]
        if not all(own is None or self.is_plain(s, own) for s, own in pairs):
            return None
        found: list[ir.Operand] = []
        for selector, own in pairs:
            if isinstance(selector, ir.At):
                found.append(selector.index)
            elif isinstance(selector, ir.Span) and own is not None:
                found.append(_moved(selector, own, builder))
                if found[-1] is not own:
                    self.moved.add(found[-1])
        return tuple(found)

    def is_natural(self, operand: ir.Operand) -> bool:
        """Whether an integer is surely not below zero: counters, which count from 0 here, and extents never are."""
        if operand in self.moved:
            return True
        value = self.iterations.value(operand)
        return self.is_running_on(operand) if value is None else value.is_natural

    def is_running_on(self, operand: ir.Operand) -> bool:
        """Whether a loop carries it, starts it where it is not below zero, and only adds what is not below zero."""
        loop, slot = self.iterations.carried(operand) or (None, 0)
        if not isinstance(loop, ir.For):
            return False
        init, before, after, _ = loop.slots[slot]
        step = self.iterations.definitions.get(after)
        if not isinstance(step, ir.Call) or step.callee is not operator.add or not self.is_natural(init):
            return False
        added = [arg for arg in step.args if arg is not before]
        value = self.iterations.value(added[0]) if len(added) == 1 else None
        return value is not None and self.function.analysis(IndexModel).is_natural(step, value)

    def is_plain(self, selector: ir.Selector, own: ir.Operand) -> bool:
        """Whether the element counted `own` along a slice is `start + step * own` along the axis."""
        if not isinstance(selector, ir.Span) or selector == ir.Span():
            return True
        step = selector.step is None or (isinstance(selector.step, ir.Const) and selector.step.value > 0)
        start = selector.start is None or self.is_natural(selector.start)
        # an index from the end counts from the end of the slice
        return step and start and self.is_natural(own)


def _moved(span: ir.Span, own: ir.Operand, builder: ir.Builder) -> ir.Operand:
    name = ir.name_of(own, "i")
    for callee, operand, neutral in ((operator.mul, span.step, 1), (operator.add, span.start, 0)):
        if operand is not None and operand != ir.integer(neutral):
            own = emit_integer(builder, callee, own, operand, name)
    return own
