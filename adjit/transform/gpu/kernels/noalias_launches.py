"""Launches in a program are of arrays that share no memory, as their kernels were read.

In: a program with marks around each launch, of which the second says what each array is called in the kernel. Out: the
same without marks; Unsupported where an array that the launch stores to may overlap with another one.

    step[blocks, 64](p, p)               refused
    dot[blocks, 64](r, r, total)         not: what is only loaded may be one array
    step[blocks, 64](u[t], u[t + 1])     not: parts that have no element in common
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.affine import Affine
from adjit.transform.analysis.alias import Aliases, stored_in
from adjit.transform.analysis.elements import IndexModel
from adjit.transform.analysis.integers import Naturals
from adjit.transform.frontend import apart, begun


def launched_apart(function: ir.Function) -> ir.Function:
    """The program without the marks of its launches."""
    aliases, parts = function.analysis(Aliases), _Parts(function)
    marks: list[ir.Op] = []
    for region in (function.body, *(r for op in function.body.inside for r in op.regions)):
        begins = [k for k, op in enumerate(region.ops) if _is_mark(op, begun)]
        ends = [k for k, op in enumerate(region.ops) if _is_mark(op, apart)]
        for first, last in zip(begins, ends, strict=True):
            _check(region.ops[last], stored_in(region.ops[first:last]), aliases, parts)
        marks += [region.ops[k] for k in (*begins, *ends)]
    gone: dict[ir.Op, Sequence[ir.Op]] = dict.fromkeys(marks, ())
    return ir.with_body(function, ir.replaced(function.body, gone))


def _is_mark(op: ir.Op, callee: object) -> bool:
    return isinstance(op, ir.Call) and op.callee is callee


def _check(mark: ir.Op, stored: set[ir.Operand], aliases: Aliases, parts: _Parts) -> None:
    """Unsupported if one of the arrays that the launch stores to may overlap with another one."""
    assert isinstance(mark, ir.Call)
    names = dict(mark.options)["names"]
    for k, one in enumerate(mark.args):
        for j, other in enumerate(mark.args[:k]):
            if stored.isdisjoint((one, other)) or aliases.are_distinct(one, other):
                continue
            if not parts.are_apart(mark, one, other):
                raise errors.Unsupported(
                    f"a launch whose arrays `{names[j]}` and `{names[k]}` may share memory",
                    ir.place_of(mark.origin),
                    "The kernel stores to one of them.",
                    "Launch it with a copy: cuda.to_device(x), or x.copy().",
                )


class _Parts:
    """Asks whether views of one array have an element in common."""

    def __init__(self, function: ir.Function):
        self.function, self.made, self.naturals = function, function.body.made, function.analysis(Naturals)

    @functools.cached_property
    def model(self) -> IndexModel:
        return self.function.analysis(IndexModel)

    def are_apart(self, place: ir.Op, one: ir.Operand, other: ir.Operand) -> bool:
        """Whether two views surely have none where an operation is run: along some axis one ends before the other."""
        a, b = self.made.get(one), self.made.get(other)
        if not isinstance(a, ir.Slice) or not isinstance(b, ir.Slice) or a.base is not b.base:
            return False
        pairs = zip(_axes(a), _axes(b), strict=True)
        return any(self.is_before(place, s, r) or self.is_before(place, r, s) for s, r in pairs)

    def is_before(self, place: ir.Op, one: ir.At | ir.Span, other: ir.At | ir.Span) -> bool:
        """Whether the places that one takes of an axis, none of them counted from the end, come before the other's."""
        ends = [_start(one), _end(one), _start(other), _end(other)]
        gap = self.gap(ends[1], ends[2])
        if gap is None or ends[0] is None or not all(end is None or self.is_natural(place, end) for end in ends):
            return False
        return self.model.is_natural(place, gap.plus(Affine(constant=-1)) if isinstance(one, ir.At) else gap)

    def gap(self, end: ir.Operand | None, start: ir.Operand | None) -> Affine | None:
        """How far it is from an end to a start; None if that is not known."""
        low, high = (None if o is None else self.model.iterations.value(o) for o in (end, start))
        return None if low is None or high is None else high.plus(low, -1)

    def is_natural(self, place: ir.Op, operand: ir.Operand) -> bool:
        value = self.model.iterations.value(operand)
        return operand in self.naturals or (value is not None and self.model.is_natural(place, value))


def _axes(view: ir.Slice) -> list[ir.At | ir.Span]:
    """What is taken of each axis of the array that a view is of."""
    return [s for s in view.selectors if not isinstance(s, ir.NewAxis)]


def _start(selector: ir.At | ir.Span) -> ir.Operand | None:
    """Where a selector begins, None if it runs backwards."""
    if isinstance(selector, ir.At):
        return selector.index
    is_forwards = selector.step is None or (isinstance(selector.step, ir.Const) and selector.step.value > 0)
    return (selector.start or ir.integer(0)) if is_forwards else None


def _end(selector: ir.At | ir.Span) -> ir.Operand | None:
    """Before where a selector ends, of one place that itself; None where that is the axis's end."""
    return selector.index if isinstance(selector, ir.At) else selector.stop
