"""Elements of views as elements of the array behind them, so that index questions are about one array.

In: a function. Out: the same, where loads and stores through slices, rows and transposes name the base itself. A view
that goes elsewhere (into a call, round a loop) stays; so does one whose first element is only known at run time.

    v = u[1:-1]
    for i in range(n - 2): s += v[i]             for i in range(n - 2): s += u[i + 1]
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.analysis.affine import Iterations
from adjit.transform.analysis.elements import IndexModel


def see_through_views(function: ir.Function) -> ir.Function:
    """The function with direct loads and stores; views that nobody reads any more are left for others to remove."""
    body = _Direct(function).region(function.body)
    return ir.with_body(function, body)


class _Direct:
    def __init__(self, function: ir.Function):
        self.function = function
        self.iterations = function.analysis(Iterations)
        self.moved: set[ir.Operand] = set()  # indices made here, which are not below zero

    def region(self, region: ir.Region) -> ir.Region:
        builder = ir.Builder()
        for op in region.ops:
            builder.origin = op.origin
            if isinstance(op, ir.Load | ir.Store):
                builder.emit(self.element(op, builder))
                continue
            builder.ops.append(ir.with_regions(op, [self.region(r) for r in op.regions]))
        return ir.with_ops(region, builder.ops)

    def element(self, op: ir.Load | ir.Store, builder: ir.Builder) -> ir.Op:
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
        return op if array is op.array else dataclasses.replace(op, array=array, index=index)

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
        if value is None:
            return self.is_running_on(operand)
        return value.constant >= 0 and all(
            factor > 0 and not isinstance(symbol, ir.Var) for symbol, factor in value.terms.items()
        )

    def is_running_on(self, operand: ir.Operand) -> bool:
        """Whether a loop carries it, starts it where it is not below zero, and only adds what is not below zero."""
        found = self.iterations.carried(operand)
        if found is None:
            return False
        loop, slot = found
        after = loop.body.yields[slot]
        step = self.iterations.definitions.get(after) if isinstance(after, ir.Var) else None
        if not isinstance(loop, ir.For) or not isinstance(step, ir.Call) or step.callee is not operator.add:
            return False
        before = loop.body.args[1 + slot]
        added = [arg for arg in step.args if arg is not before]
        if len(added) != 1 or not self.is_natural(loop.inits[slot]):
            return False
        value = self.iterations.value(added[0])
        return value is not None and self.index_model.is_natural(step, value)

    @functools.cached_property
    def index_model(self) -> IndexModel:
        return self.function.analysis(IndexModel)

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
        if operand is None or operand == ir.integer(neutral):
            continue
        if isinstance(own, ir.Const) and isinstance(operand, ir.Const):
            own = ir.integer(callee(own.value, operand.value))
        else:
            own = builder.call(callee, own, operand, type=types.intp, name=name)
    return own
