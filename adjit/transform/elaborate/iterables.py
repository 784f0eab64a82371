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
from collections.abc import Callable, Sequence
from typing import Any

from adjit.transform import ir
from adjit.transform.elaborate import indexing
from adjit.transform.elaborate.containers import append, get_item, listed
from adjit.transform.elaborate.control import REDUCED
from adjit.transform.elaborate.operators import binary, both, either, truth
from adjit.transform.elaborate.python_builtins import known_items, length
from adjit.transform.elaborate.values import complexes, scalars
from adjit.transform.elaborate.values.elementwise import as_lazy, materialise, operand
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.handlers import Handler, takes
from adjit.transform.elaborate.values.lists import elements, kept
from adjit.transform.elaborate.values.values import (
    Grown,
    Paired,
    Range,
    SliceValue,
    TupleValue,
    Value,
    described,
    dtype,
    is_array,
    ndim,
    seen,
    unordered,
)
from adjit.transform.ir.types import typed_const


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
        value = unordered(value)
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


ITERABLES: dict[Any, Handler] = {
    reversed: takes("reversed", "sequence", _reversed),
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
}
