"""The greatest and least elements of arrays as loops, where they are taken inside of a loop.

In: a function that is ready to be emitted. Out: the same, in which lanes and vectors can be made of such loops too.

    for i in range(n):                       for i in range(n):
        largest = np.max(a[i, :])                some_elements(d)
                                                 largest = a[i, 0]
                                                 for k in range(d):
                                                     largest = reassociable_max(largest, a[i, k])

As in NumPy, an element that is nan is what comes out, no elements are an error, and nobody can tell which of several
zeros it is: vectors compare several elements at once. On a GPU a thread takes them in turn.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numba import types

from adjit.runtime.library import reassociable_max, reassociable_min, some_elements
from adjit.transform import ir
from adjit.transform.analysis.extents import extent_source
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.dead_code import eliminate_dead
from adjit.transform.rewrite.simplify import simplify

_BETTER = {np.max: operator.gt, np.amax: operator.gt, np.min: operator.lt, np.amin: operator.lt}
_BEST = {operator.gt: reassociable_max, operator.lt: reassociable_min}


def write_extrema(function: ir.Function, for_gpu: bool = False) -> ir.Function:
    """The function with its greatest and least elements in loops, or anywhere if it is for a GPU, taken by loops."""
    calls = _inside_loops(function.body, for_gpu, for_gpu)
    found = (op for op in calls if _is_extremum(op, function.body.made))
    made: dict[ir.Op, Sequence[ir.Op]] = {op: _written(op, function.body.made, for_gpu) for op in found}
    if not made:
        return function
    return eliminate_dead(simplify(dataclasses.replace(function, body=ir.replaced(function.body, made))))


def _inside_loops(region: ir.Region, in_loop: bool, in_threads: bool) -> Iterator[ir.Call]:
    """What takes a greatest or least element inside of a loop, of whatever."""
    for op in region.ops:
        if in_loop and isinstance(op, ir.Call) and op.callee in _BETTER:
            yield op
        # what threads raise does not get out of them
        elif in_threads or not isinstance(op, ir.For) or not op.parallel:
            for inner in op.regions:
                yield from _inside_loops(inner, in_loop or isinstance(op, ir.For | ir.While), in_threads)


def _is_extremum(op: ir.Call, made: Mapping[ir.Operand, ir.Op]) -> bool:
    """Whether it is of a vector of floats, or of a block of a few. `made`: by result."""
    if len(op.args) != 1 or op.options or not ir.is_array(op.args[0]) or not ir.is_float(op.outs[0].type):
        return False
    ndim = array_type_of(op.args[0]).ndim
    return ndim == 1 or all(_literal_extent(op.args[0], axis, made) is not None for axis in range(ndim))


def _written(op: ir.Call, made: Mapping[ir.Operand, ir.Op], in_turn: bool) -> Sequence[ir.Op]:
    """The loops that take the element. `made`: by result; `in_turn`: one comparison waits for the other."""
    builder = ir.Builder(op.origin)
    array = op.args[0]
    ndim = array_type_of(array).ndim
    extents = [_literal_extent(array, axis, made) or builder.extent(array, axis) for axis in range(ndim)]
    for n in extents:
        if not isinstance(n, ir.Const):
            builder.emit(ir.Call(callee=some_elements, args=(n,), outs=(), effect=True))
    first = _element(builder, made, array, [ir.integer(0)] * ndim)

    def better(index: Sequence[ir.Var], best: ir.Var) -> Sequence[ir.Operand]:
        if len(index) < ndim:
            return along(index, best, ())
        item = _element(builder, made, array, index)
        if not in_turn:
            return (builder.call(_BEST[_BETTER[op.callee]], best, item, type=best.type, name=best.name),)
        is_better = builder.call(_BETTER[op.callee], item, best, type=types.boolean, name="is_better")
        is_nan = builder.call(operator.ne, item, item, type=types.boolean, name="is_nan")
        is_taken = builder.call(operator.or_, is_better, is_nan, type=types.boolean, name="is_taken")
        return (builder.call(ir.select, is_taken, item, best, type=best.type, name=best.name),)

    def along(index: Sequence[ir.Var], best: ir.Var, outs: Sequence[ir.Var]) -> Sequence[ir.Var]:
        def step(counter: ir.Var, carried: ir.Var) -> Sequence[ir.Operand]:
            return better((*index, counter), carried)

        # rows of a whole number of vectors are that from their first element on
        n, start = extents[len(index)], ir.integer(int(ndim == 1 and in_turn))
        return builder.fold(n, "k", [best], [dataclasses.replace(op.outs[0])], step, outs, start=start)

    along((), first, op.outs)
    return builder.ops


def _literal_extent(array: ir.Operand, axis: int, made: Mapping[ir.Operand, ir.Op]) -> ir.Const | None:
    """The extent of an axis, where that is known while compiling, and not zero."""
    while not isinstance(array, ir.Const):
        source = extent_source(made.get(array), axis, made)
        if not isinstance(source, tuple):
            return source if isinstance(source, ir.Const) and source.value > 0 else None
        array, axis = source
    return None


def _element(
    builder: ir.Builder, made: Mapping[ir.Operand, ir.Op], array: ir.Operand, index: Sequence[ir.Operand]
) -> ir.Var:
    """An element, if the array is rows, columns or blocks of another then of that."""
    view = made.get(array)
    if isinstance(view, ir.Slice) and all(isinstance(s, ir.At) or s == ir.Span() for s in view.selectors):
        rest = iter(index)
        places = tuple(s.index if isinstance(s, ir.At) else next(rest) for s in view.selectors)
        return builder.load(view.base, places)
    return builder.load(array, tuple(index))
