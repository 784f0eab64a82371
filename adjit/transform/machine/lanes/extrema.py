"""The greatest and least elements of arrays as loops, where they are taken inside of a loop.

In: a function that is ready to be emitted. Out: the same, in which lanes and vectors can be made of such loops too.

    for i in range(n):                       for i in range(n):
        largest = np.max(a[i, :])                some_elements(d)
                                                 largest = a[i, 0]
                                                 for k in range(1, d):
                                                     a_item = a[i, k]
                                                     largest = a_item if a_item > largest or is nan else largest

As in NumPy, an element that is nan is what comes out, and no elements are an error.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numba import types

from adjit.runtime.library import some_elements
from adjit.transform import ir
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.dead import eliminate_dead
from adjit.transform.rewrite.simplify import simplify

_BETTER = {np.max: operator.gt, np.amax: operator.gt, np.min: operator.lt, np.amin: operator.lt}


def write_extrema(function: ir.Function) -> ir.Function:
    """The function with its greatest and least elements in loops taken by loops."""
    found = _inside_loops(function.body, False)
    made: dict[ir.Op, Sequence[ir.Op]] = {op: _written(op, function.body.made) for op in found}
    if not made:
        return function
    return eliminate_dead(simplify(dataclasses.replace(function, body=ir.replaced(function.body, made))))


def _inside_loops(region: ir.Region, in_loop: bool) -> Iterator[ir.Call]:
    """What takes a greatest or least element inside of a loop."""
    for op in region.ops:
        if in_loop and isinstance(op, ir.Call) and _is_extremum(op):
            yield op
        # what threads raise does not get out of them
        elif not isinstance(op, ir.For) or not op.parallel:
            for inner in op.regions:
                yield from _inside_loops(inner, in_loop or isinstance(op, ir.For | ir.While))


def _is_extremum(op: ir.Call) -> bool:
    if op.callee not in _BETTER or len(op.args) != 1 or op.options:
        return False
    return ir.is_array(op.args[0]) and array_type_of(op.args[0]).ndim == 1 and ir.is_float(op.outs[0].type)


def _written(op: ir.Call, made: Mapping[ir.Operand, ir.Op]) -> Sequence[ir.Op]:
    """The loop that takes the element. `made`: by result."""
    builder = ir.Builder(op.origin)
    array = op.args[0]
    n = builder.extent(array, 0)
    builder.emit(ir.Call(callee=some_elements, args=(n,), outs=(), effect=True))
    first = _element(builder, made, array, ir.integer(0))

    def better(counter: ir.Var, best: ir.Var) -> tuple[ir.Operand]:
        item = _element(builder, made, array, counter)
        is_better = builder.call(_BETTER[op.callee], item, best, type=types.boolean, name="is_better")
        is_nan = builder.call(operator.ne, item, item, type=types.boolean, name="is_nan")
        is_taken = builder.call(operator.or_, is_better, is_nan, type=types.boolean, name="is_taken")
        return (builder.call(ir.select, is_taken, item, best, type=best.type, name=best.name),)

    builder.fold(n, "k", [first], [dataclasses.replace(op.outs[0])], better, op.outs, start=ir.integer(1))
    return builder.ops


def _element(builder: ir.Builder, made: Mapping[ir.Operand, ir.Op], array: ir.Operand, index: ir.Operand) -> ir.Var:
    """An element of a vector, if it is a row or column then of the matrix."""
    view = made.get(array)
    if isinstance(view, ir.Slice) and all(isinstance(s, ir.At) or s == ir.Span() for s in view.selectors):
        places = tuple(s.index if isinstance(s, ir.At) else index for s in view.selectors)
        return builder.load(view.base, places)
    return builder.load(array, (index,))
