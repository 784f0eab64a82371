"""What makes one iterable of another, or a value of all its items: reversed, sorted, map, any, reduce, combinations.

In: the values of a call. Out: a list, known while compiling or growing, or a value.

    functools.reduce(f, xs, x0)      a loop, written out over known items
    itertools.product(a, b)          the list of all pairs
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from adjit.transform import ir
from adjit.transform.elaborate import indexing
from adjit.transform.elaborate.containers import append, get_item, listed
from adjit.transform.elaborate.control import REDUCED
from adjit.transform.elaborate.operators import binary, both, either, truth
from adjit.transform.elaborate.python_builtins import known_items, length
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.arrays import array_of, shape_of
from adjit.transform.elaborate.values.elementwise import (
    as_lazy,
    broadcast_shapes,
    converted,
    copied,
    materialise,
    operand,
)
from adjit.transform.elaborate.values.frame import Frame, as_index
from adjit.transform.elaborate.values.handlers import Handler, dtype_argument, takes
from adjit.transform.elaborate.values.lists import elements, kept
from adjit.transform.elaborate.values.values import (
    Grown,
    Paired,
    Places,
    Range,
    SliceValue,
    Static,
    TupleValue,
    Value,
    described,
    dtype,
    is_array,
    is_numeric,
    leaves_of,
    ndim,
    seen,
)
from adjit.transform.elaborate.values.whole import whole_call
from adjit.transform.ir.types import array_type_of, typed_const


def _reversed(frame: Frame, value: Value) -> Value:
    ctx = frame.ctx
    items = known_items(frame, value)
    if items is not None:
        return TupleValue(tuple(items[::-1]))
    if not isinstance(value, Range):
        backwards = SliceValue(ir.Span(step=ir.integer(-1)))
        if isinstance(value, Grown):
            return get_item(frame, value, [backwards])
        if is_array(value) and ndim(value) > 0:
            return indexing.read(ctx, indexing.resolve(ctx, value, [backwards]))
        raise ctx.unsupported(f"reversed of {described(value)}", "Give it a range, a list, a tuple or an array.")
    last = scalars.scalar(ctx, operator.sub, (length(frame, value), ir.integer(1)))
    start = scalars.scalar(ctx, operator.add, (value.start, scalars.scalar(ctx, operator.mul, (last, value.step))))
    stop = scalars.scalar(ctx, operator.sub, (value.start, value.step))
    return dataclasses.replace(value, start=start, stop=stop, step=scalars.scalar(ctx, operator.neg, (value.step,)))


def _sorted(frame: Frame, value: Value, key: Value | None, reverse: Value | None) -> Value:
    ctx = frame.ctx
    if key is not None and not (isinstance(key, Static) and key.value is None):
        raise ctx.unsupported("sorted with a key", "Sort indices: `order = np.argsort(keys)`.")
    if reverse is not None and not isinstance(reverse, ir.Const):
        raise ctx.unsupported("sorted in an order that is known at run time only", "Write reverse=True.")
    given = listed(frame, value)
    array = array_of(ctx, given) if isinstance(given, TupleValue) else elements(ctx, given)
    if not is_array(array) or ndim(array) != 1:
        raise ctx.unsupported("sorted of what is not numbers", "Sort indices: `order = np.argsort(keys)`.")
    found = listed(frame, whole_call(ctx, np.sort, (operand(ctx, array),)))
    return _reversed(frame, found) if reverse is not None and reverse.value else found


def _map(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if named or len(args) < 2:
        raise frame.ctx.unsupported("map with these arguments", "Give a function, and what it is called with.")
    function, *columns = args
    if len(columns) == 1:
        return frame.ctx.collected(frame, columns[0], lambda one: frame.ctx.call(frame, function, [one], {}))

    def each(row: Value) -> Value:
        assert isinstance(row, TupleValue)
        return frame.ctx.call(frame, function, row.items, {})

    return frame.ctx.collected(frame, Paired(tuple(columns)), each)


def _of_all(name: str) -> Handler:
    """Python's any and all."""

    def handle(frame: Frame, value: Value) -> Value:
        combine, start = (either, False) if name == "any" else (both, True)
        found: ir.Operand = ir.boolean(start)
        if isinstance(value, TupleValue):
            for one in value.items:
                found = combine(frame, found, scalars.ready(truth(frame, one)))
            return found
        lazy = as_lazy(frame.ctx, elements(frame.ctx, value))
        if lazy.ndim != 1:
            raise frame.ctx.unsupported(f"Python's {name} of an array of rank above 1", f"Use np.{name}.")
        return frame.ctx.reduce(
            lazy.shape,
            found,
            lambda i, known: combine(frame, known, lambda: truth(frame, lazy.element(i))),
            f"{name}_true",
            order_free=True,
        )

    return takes(name, "iterable", handle)


def _known(frame: Frame, value: Value, what: str) -> Sequence[Value]:
    """All items, which have to be known while compiling."""
    made = listed(frame, value)
    if not isinstance(made, TupleValue):
        raise frame.ctx.unsupported(
            f"{what} of so many items as are known at run time only", "Write it as nested loops."
        )
    return made.items


def _reduce(frame: Frame, function: Value, iterable: Value, initial: Value | None) -> Value:
    """functools.reduce."""
    ctx, whole = frame.ctx, listed(frame, iterable)
    assert isinstance(whole, TupleValue | Grown)
    rest: Value = whole
    if initial is None:
        if isinstance(whole, TupleValue) and not whole.items:
            raise ctx.mismatch("functools.reduce of nothing", "Give an initial value.")
        initial = get_item(frame, whole, [ir.integer(0)])
        rest = get_item(frame, whole, [SliceValue(ir.Span(ir.integer(1), None))])
    frame.env[REDUCED] = kept(frame, materialise(ctx, initial))

    def step(one: Value) -> None:
        made = ctx.call(frame, function, [seen(frame.env, frame.env[REDUCED]), one], {})
        frame.env[REDUCED] = kept(frame, materialise(ctx, made))

    ctx.for_each(frame, rest, step, (REDUCED,))
    return seen(frame.env, frame.env.pop(REDUCED))


def _accumulate(frame: Frame, iterable: Value, function: Value | None, initial: Value | None) -> Value:
    """itertools.accumulate."""
    items = list(_known(frame, iterable, "itertools.accumulate"))
    made = [items.pop(0) if initial is None else initial] if items or initial is not None else []
    for one in items:
        last = made[-1]
        more = binary(frame, operator.add, last, one)
        made.append(more if function is None else frame.ctx.call(frame, function, [last, one], {}))
    return TupleValue(tuple(made), is_list=True)


def _picked(maker: Callable[..., Any]) -> Handler:
    """itertools.combinations and permutations, of known items."""

    def handle(frame: Frame, iterable: Value, count: Value | None) -> Value:
        if count is not None and not isinstance(count, ir.Const):
            raise frame.ctx.unsupported(f"itertools.{maker.__name__} of a count that is not constant", "Write it.")
        whole = listed(frame, iterable)
        if isinstance(whole, Grown) and maker is itertools.combinations and count == ir.integer(2):
            return _pairs(frame, whole)
        items = _known(frame, whole, f"itertools.{maker.__name__}")
        chosen = maker(items, len(items) if count is None else int(count.value))
        return TupleValue(tuple(TupleValue(tuple(one)) for one in chosen), is_list=True)

    return takes(f"itertools.{maker.__name__}", "iterable r?", handle)


def _pairs(frame: Frame, whole: Grown) -> Value:
    """All pairs of two items of a list, each with those after it."""
    ctx, one = frame.ctx, ir.integer(1)
    cell = kept(frame, TupleValue((), is_list=True))

    def beside(i: Value) -> None:
        assert isinstance(i, ir.Var | ir.Const)

        def pair(j: Value) -> None:
            both_items = TupleValue(tuple(get_item(frame, whole, [place]) for place in (i, j)))
            made = seen(frame.env, cell)
            assert isinstance(made, TupleValue | Grown)
            append(frame, made, both_items)

        ctx.for_each(frame, Range(scalars.scalar(ctx, operator.add, (i, one)), whole.count, one), pair, ())

    ctx.for_each(frame, Range(ir.integer(0), whole.count, one), beside, ())
    return seen(frame.env, cell)


def _product(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """itertools.product."""
    if named:
        raise frame.ctx.unsupported("itertools.product with `repeat`", "Give the iterable as often as it is meant.")
    columns = [_known(frame, one, "itertools.product") for one in args]
    return TupleValue(tuple(TupleValue(one) for one in itertools.product(*columns)), is_list=True)


def _chain(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """itertools.chain."""
    return TupleValue(tuple(one for each in args for one in _known(frame, each, "itertools.chain")), is_list=True)


def _filter(frame: Frame, function: Value, iterable: Value) -> Value:
    """filter, of known items that the function tells apart while compiling."""
    made: list[Value] = []
    for one in _known(frame, iterable, "filter"):
        held = truth(frame, frame.ctx.call(frame, function, [one], {}))
        if not isinstance(held, ir.Const):
            raise frame.ctx.unsupported("filter by what is known at run time only", "Write `[x for x in xs if f(x)]`.")
        if held.value:
            made.append(one)
    return TupleValue(tuple(made), is_list=True)


def _folded(name: str, callee: Any, start: float) -> Handler:
    """math.fsum and math.prod."""

    def handle(frame: Frame, iterable: Value, initial: Value | None) -> Value:
        array = as_lazy(frame.ctx, elements(frame.ctx, listed(frame, iterable)))
        if array.ndim != 1:
            raise frame.ctx.mismatch(f"math.{name} of what is not numbers", "Give a vector, or a list of numbers.")
        given = operand(frame.ctx, initial) if initial is not None else typed_const(start, array.dtype)
        kind = scalars.wider(dtype(given), array.dtype)
        first = scalars.cast(frame.ctx, given, kind)

        def step(index: tuple[ir.Operand, ...], known: ir.Operand) -> ir.Operand:
            element = complexes.real(frame.ctx, array.element(index))
            return scalars.cast(frame.ctx, scalars.scalar(frame.ctx, callee, (known, element)), kind)

        return frame.ctx.reduce(array.shape, first, step, name, order_free=callee is operator.add)

    return takes(f"math.{name}", "iterable start?", handle)


def _ndindex(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """np.ndindex, of a shape or of its extents."""
    if named:
        raise frame.ctx.unsupported("np.ndindex with an argument by name", "Give the extents by position.")
    given = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
    return Places(tuple(as_index(frame.ctx, n, "an extent") for n in given))


def _ndenumerate(frame: Frame, array: Value) -> Value:
    return Places(tuple(shape_of(frame.ctx, array)), (array,))


def _nditer(frame: Frame, op: Value, order: Value | None) -> Value:
    """np.nditer, which goes in the order of memory unless it is told to go in C order."""
    ctx = frame.ctx
    if order not in (None, Static("K"), Static("C")):
        raise ctx.unsupported("np.nditer in this order", 'Write order="C".')
    given = op.items if isinstance(op, TupleValue) else (op,)
    arrays = [materialise(ctx, array_of(ctx, a) if isinstance(a, TupleValue) else a) for a in given]
    if not arrays or not all(map(is_numeric, arrays)):
        raise ctx.mismatch("np.nditer of what is no array", "Give it an array, or several in a tuple.")
    leaves = [leaf for a in arrays if is_array(a) and ndim(a) > 1 for leaf in leaves_of(a)]
    if order in (None, Static("K")) and leaves:
        fault = ctx.unsupported(
            "np.nditer of an array that may lie in another order than C", 'Write np.nditer(..., order="C").',
            why="It goes through the elements in the order of memory.",
        )  # fmt: skip

        def refuse(positions: Collection[int]) -> None:
            raise fault

        if any(array_type_of(leaf).layout != "C" for leaf in leaves):
            raise fault
        ctx.passed(leaves, refuse)
    shape = tuple(broadcast_shapes(ctx, [shape_of(ctx, a) for a in arrays if is_array(a)]))
    for extent in shape:
        is_any = scalars.scalar(ctx, operator.gt, (extent, ir.integer(0)))
        if not isinstance(is_any, ir.Const):
            message = ("Iteration of zero-sized operands is not enabled",)
            ctx.builder.emit(ir.Raise(exception=ValueError, args=message, condition=is_any))
    return Places(shape, tuple(arrays), has_index=False)


def _fromiter(frame: Frame, iterable: Value, kind: Value, count: Value | None) -> Value:
    """np.fromiter."""
    ctx = frame.ctx
    if count not in (None, ir.integer(-1)):
        raise ctx.unsupported("np.fromiter with a count", "Slice what it is given, or what it gives.")
    made = listed(frame, iterable)
    array = array_of(ctx, made) if isinstance(made, TupleValue) else elements(ctx, made)
    if not is_array(array) or ndim(array) != 1:
        raise ctx.mismatch("np.fromiter of what is not numbers", "Use np.array of a list.")
    return copied(ctx, converted(ctx, array, dtype_argument(frame, kind, dtype(array))))


ITERABLES: dict[Any, Handler] = {
    reversed: takes("reversed", "sequence", _reversed),
    sorted: takes("sorted", "iterable key? reverse?", _sorted),
    map: _map,
    filter: takes("filter", "function iterable", _filter),
    any: _of_all("any"),
    all: _of_all("all"),
    functools.reduce: takes("functools.reduce", "function iterable initial?", _reduce),
    itertools.accumulate: takes("itertools.accumulate", "iterable func? initial?", _accumulate),
    itertools.combinations: _picked(itertools.combinations),
    itertools.permutations: _picked(itertools.permutations),
    itertools.product: _product,
    itertools.chain: _chain,
    math.fsum: _folded("fsum", operator.add, 0.0),
    math.prod: _folded("prod", operator.mul, 1.0),
    np.ndindex: _ndindex,
    np.ndenumerate: takes("np.ndenumerate", "arr:array", _ndenumerate),
    np.nditer: takes("np.nditer", "op order?", _nditer),
    np.fromiter: takes("np.fromiter", "iter dtype count?", _fromiter),
}
