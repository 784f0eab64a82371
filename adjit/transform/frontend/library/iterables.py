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
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from adjit.rules import python
from adjit.transform import ir
from adjit.transform.frontend.arrays import indexing
from adjit.transform.frontend.heap.iterators import at_most, at_once, of_items, opened_in_turns, seen_through
from adjit.transform.frontend.heap.lists import elements, joined
from adjit.transform.frontend.heap.mutation_during_iteration import is_run_through
from adjit.transform.frontend.heap.references import as_reference, mutate
from adjit.transform.frontend.library.builtins import item_at, known_items, length, part_of_range
from adjit.transform.frontend.library.ordering import generator, written
from adjit.transform.frontend.operations.containers import get_item, to_list
from adjit.transform.frontend.operations.control import REDUCED, either_value, tried
from adjit.transform.frontend.operations.operators import binary, both, either, truth
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.argument_binding import Handler, dtype_argument, takes
from adjit.transform.frontend.values.arrays import array_of, shape_of
from adjit.transform.frontend.values.cells import Copied, ItemRef, Ref, View
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.dictionaries import Instance, RuntimeDict, any_order
from adjit.transform.frontend.values.elementwise import (
    as_lazy,
    broadcast_shapes,
    converted,
    copied,
    materialise,
    operand,
)
from adjit.transform.frontend.values.frame import Frame, as_index
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue, is_list, items_or_one, list_in
from adjit.transform.frontend.values.numbers import dtype, is_array, is_complex, is_number, is_numeric, ndim
from adjit.transform.frontend.values.ranges import ENDLESS, NdIndex, Range, SliceValue, Zip
from adjit.transform.frontend.values.statics import Method, Static, as_stream
from adjit.transform.frontend.values.values import LEAF, Value, dereference, describe, leaves_of, parts_of
from adjit.transform.ir.types import array_type_of, const, is_integer, typed_const
from adjit.transform.source.external_reads import is_defined


def _reversed(frame: Frame, value: Value) -> Value:
    ctx = frame.ctx
    items = known_items(frame, value)
    if items is not None:
        return TupleValue(tuple(items[::-1]))
    if not isinstance(value, Range):
        backwards = SliceValue(ir.Span(step=ir.integer(-1)))
        if isinstance(value, GrowableList):
            return get_item(frame, value, [backwards])
        if is_array(value) and ndim(value) > 0:
            return indexing.read(ctx, indexing.resolve(ctx, value, [backwards]))
        raise ctx.unsupported(f"reversed of {describe(value)}", "Give it a range, a list, a tuple or an array.")
    last = scalars.scalar(ctx, operator.sub, (length(frame, value), ir.integer(1)))
    start = scalars.scalar(ctx, operator.add, (value.start, scalars.scalar(ctx, operator.mul, (last, value.step))))
    stop = scalars.scalar(ctx, operator.sub, (value.start, value.step))
    return dataclasses.replace(value, start=start, stop=stop, step=scalars.scalar(ctx, operator.neg, (value.step,)))


def _of_all(name: str) -> Handler:
    """Python's any and all."""

    def handle(frame: Frame, value: Value) -> Value:
        combine, start = (either, False) if name == "any" else (both, True)
        found: ir.Operand = ir.boolean(start)
        value = any_order(value)
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


def _reduce(frame: Frame, function: Value, iterable: Value, initial: Value | None) -> Value:
    """functools.reduce."""
    ctx, whole = frame.ctx, to_list(frame, iterable)
    rest: Value = whole
    if initial is None:
        if isinstance(whole, TupleValue) and not whole.items:
            raise ctx.mismatch("functools.reduce of nothing", "Give an initial value.")
        initial = get_item(frame, whole, [ir.integer(0)])
        rest = get_item(frame, whole, [SliceValue(ir.Span(ir.integer(1), None))])
    frame.env[REDUCED] = as_reference(frame, materialise(ctx, initial))

    def step(one: Value) -> None:
        made = ctx.call(frame, function, [dereference(frame.env, frame.env[REDUCED]), one], {})
        frame.env[REDUCED] = as_reference(frame, materialise(ctx, made))

    ctx.for_each(frame, rest, step, (REDUCED,))
    return dereference(frame.env, frame.env.pop(REDUCED))


def _choices(maker: Callable[..., Any], body: Callable[..., Any]) -> Handler:
    """itertools.combinations and permutations."""

    def handle(frame: Frame, iterable: Value, count: Value | None) -> Value:
        if count is not None and not isinstance(count, ir.Const):
            raise frame.ctx.unsupported(f"itertools.{maker.__name__} of a count that is not constant", "Write it.")
        whole = to_list(frame, iterable)
        if isinstance(whole, TupleValue):
            chosen = maker(whole.items, len(whole.items) if count is None else int(count.value))
            return TupleValue(tuple(TupleValue(tuple(one)) for one in chosen), is_list=True)
        if count is None:
            raise frame.ctx.unsupported(
                f"itertools.{maker.__name__} of a number of items that is only known at run time", "Give a count."
            )
        items = iterable if isinstance(iterable, Range) else dereference(frame.env, as_reference(frame, whole))

        def chosen_items(places: Value) -> Value:
            return TupleValue(tuple(item_at(frame, items, k) for k in items_or_one(places) if is_number(k)))

        stream = as_stream(generator(body, nests=True)(frame, [length(frame, items), count], {}))
        assert stream is not None
        return seen_through(stream, chosen_items)

    return takes(f"itertools.{maker.__name__}", "iterable r?", handle)


def _product(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """itertools.product."""
    times = named.pop("repeat", ir.integer(1))
    if named or not isinstance(times, ir.Const):
        raise frame.ctx.unsupported("itertools.product with these arguments", "Give it iterables, and how often.")
    columns = [to_list(frame, one) for one in args] * int(times.value)
    known = [column.items for column in columns if isinstance(column, TupleValue)]
    if len(known) == len(columns):
        return TupleValue(tuple(TupleValue(one) for one in itertools.product(*known)), is_list=True)
    ranges = args * int(times.value)
    pools = (one if isinstance(one, Range) else column for one, column in zip(ranges, columns, strict=True))
    return generator(python.itertools.product, nests=True)(frame, [TupleValue(tuple(pools))], {})


def _chain(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """itertools.chain."""
    made: List = TupleValue((), is_list=True)
    for one in args:
        made = joined(frame.ctx, made, to_list(frame, one))
    return made


def _chained(frame: Frame, iterable: Value) -> Value:
    """itertools.chain.from_iterable."""
    whole = to_list(frame, iterable)
    if isinstance(whole, TupleValue):
        return _chain(frame, list(whole.items), {})
    return generator(python.itertools.from_iterable)(frame, [whole], {})


# ------------------------------------------------------------------------------------------------------------ iterators


def _iter(frame: Frame, iterable: Value) -> Value:
    """iter: of a list or an array itself, whatever becomes of that; of anything else, of a list of its items."""
    if as_stream(iterable) is not None:
        return iterable
    if isinstance(iterable, RuntimeDict) and iterable.kind == "iterator":
        return iterable
    whole: Value = iterable
    if is_array(iterable) and not is_complex(iterable) and ndim(iterable) > 0:
        rows = operand(frame.ctx, iterable)
        whole = GrowableList(LEAF, (rows,), frame.ctx.shape(rows)[0])
    elif not is_list(iterable):
        whole = to_list(frame, iterable)
    return RuntimeDict("iterator", list_in(whole), limit=ir.integer(0))


def _is_named(frame: Frame, cell: Ref | ItemRef | View | Copied | None) -> bool:
    """Whether a variable, or what one holds, has that list."""
    return cell is not None and any(part == cell for value in frame.env.values() for part in parts_of(value))


def _next(frame: Frame, iterator: Value, default: Value | None) -> Value:
    """next."""
    ctx = frame.ctx
    stream = as_stream(iterator)
    if stream is not None and stream.at is not None and stream.spent is not None:
        place = frame.env.get(stream.spent.key)
        if isinstance(place, ir.Operand):
            frame.env[stream.spent.key] = scalars.scalar(ctx, operator.add, (place, ir.integer(1)), "place")
            return stream.at(place)
    if isinstance(iterator, Instance) and is_defined(iterator.of, "__next__") and default is None:
        return ctx.call(frame, Method(iterator, "__next__"), [], {})
    if stream is not None and (stream.make is None or stream.spent is not None):
        what, instead = f"next of {describe(iterator)}", "Use it in a `for` loop, which may `break`."
        raise ctx.unsupported(what, instead, why="The state of the generator would have to be kept between calls.")
    iterator = iterator if stream is None else to_list(frame, iterator)
    if is_list(iterator) and not _is_named(frame, iterator.cell):
        # what the call itself makes: a generator expression, map or filter
        iterator = RuntimeDict("iterator", iterator, limit=ir.integer(0))
    if not isinstance(iterator, RuntimeDict) or iterator.kind != "iterator" or iterator.limit is None:
        raise ctx.unsupported(f"next of {describe(iterator)}", "Give it `iter(...)` of a list.")
    if is_run_through(ctx, iterator):
        raise ctx.unsupported(
            "next of an iterator inside a loop over it", "Call `next` in a `while` loop, or loop over the list."
        )
    whole, place = iterator.items, iterator.limit
    is_there = scalars.scalar(ctx, operator.lt, (place, whole.length()), "is_there")

    def taken() -> Value:
        found = get_item(frame, whole, [place])
        if iterator.cell is not None:
            further = scalars.scalar(ctx, operator.add, (place, ir.integer(1)), "place")
            mutate(frame, iterator, dataclasses.replace(iterator, limit=further), "`next`")
        return found

    if isinstance(is_there, ir.Const):
        if is_there.value:
            return taken()
        if default is None:
            raise ctx.mismatch("next of an iterator without further items", "Give a default.")
        return default
    if default is None:
        ctx.builder.emit(ir.Raise(exception=StopIteration, args=(), condition=is_there))
        return taken()
    other = default
    return either_value(frame, is_there, taken, lambda: other)


def _folded(name: str, callee: Any, start: float) -> Handler:
    """math.fsum and math.prod."""

    def handle(frame: Frame, iterable: Value, initial: Value | None) -> Value:
        items = to_list(frame, iterable)
        if isinstance(items, TupleValue) and not items.items:
            return const(start) if initial is None else initial
        array = as_lazy(frame.ctx, elements(frame.ctx, items))
        if array.ndim != 1:
            raise frame.ctx.mismatch(
                f"math.{name} of values that are not numbers", "Give a vector, or a list of numbers."
            )
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
        raise frame.ctx.unsupported("np.ndindex with an argument by name", "Give the lengths by position.")
    given = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
    return NdIndex(tuple(as_index(frame.ctx, n, "an extent") for n in given))


def _ndenumerate(frame: Frame, array: Value) -> Value:
    return NdIndex(tuple(shape_of(frame.ctx, array)), (array,))


def _nditer(frame: Frame, op: Value, order: Value | None) -> Value:
    """np.nditer, which goes in the order of memory unless it is told to go in C order."""
    ctx = frame.ctx
    if order not in (None, Static("K"), Static("C")):
        raise ctx.unsupported("np.nditer in this order", 'Write order="C".')
    given = items_or_one(op)
    arrays = [materialise(ctx, array_of(ctx, a) if isinstance(a, TupleValue) else a) for a in given]
    if not arrays or not all(map(is_numeric, arrays)):
        raise ctx.mismatch("np.nditer of a value that is not an array", "Give it an array, or a tuple of arrays.")
    leaves = [leaf for a in arrays if is_array(a) and ndim(a) > 1 for leaf in leaves_of(a)]
    if order in (None, Static("K")) and leaves:
        fault = ctx.unsupported(
            "np.nditer of an array that may not be in C order", 'Write np.nditer(..., order="C").',
            why="np.nditer follows the order in memory.",
        )  # fmt: skip

        def refuse(positions: Collection[int]) -> None:
            raise fault

        if any(array_type_of(leaf).layout != "C" for leaf in leaves):
            raise fault
        ctx.passed(leaves, refuse)
    shape = tuple(broadcast_shapes(ctx, [shape_of(ctx, a) for a in arrays if is_array(a)]))
    for extent in shape:
        is_any = scalars.scalar(ctx, operator.gt, (extent, ir.integer(0)))
        require(ctx, is_any, ValueError, "Iteration of zero-sized operands is not enabled")
    return NdIndex(shape, tuple(arrays), has_index=False)


def _fromiter(frame: Frame, iterable: Value, kind: Value, count: Value | None) -> Value:
    """np.fromiter."""
    ctx = frame.ctx
    if count not in (None, ir.integer(-1)):
        raise ctx.unsupported("np.fromiter with a count", "Slice its argument or its result.")
    made = to_list(frame, iterable)
    array = array_of(ctx, made) if isinstance(made, TupleValue) else elements(ctx, made)
    if not is_array(array) or ndim(array) != 1:
        raise ctx.mismatch("np.fromiter of values that are not numbers", "Use np.array of a list.")
    return copied(ctx, converted(ctx, array, dtype_argument(frame, kind, dtype(array))))


def _count(frame: Frame, start: Value | None, step: Value | None) -> Value:
    """itertools.count, which a loop has to leave."""
    first, by = (ir.integer(k) if a is None else a for k, a in enumerate((start, step)))
    if not is_number(first) or not is_number(by):
        raise frame.ctx.mismatch(f"itertools.count of {describe(by if is_number(first) else first)}", "Give numbers.")
    start_at, step_by = first, by

    def counted(user: Frame) -> Value:
        if not is_integer(start_at.type) or not is_integer(step_by.type):
            raise user.ctx.unsupported(
                "itertools.count of a value that is not an integer", "Count in integers and write `x0 + k * dx`."
            )
        if not isinstance(step_by, ir.Const) or step_by.value <= 0:
            raise user.ctx.unsupported("itertools.count with a step that is not a positive literal", "Use range.")
        return Range(start_at, ENDLESS, step_by)

    def at(place: ir.Operand) -> Value:
        far = scalars.scalar(frame.ctx, operator.mul, (step_by, place))
        return scalars.scalar(frame.ctx, operator.add, (start_at, far), "counted")

    return of_items(frame.ctx, "count", counted, at)


def _repeat(frame: Frame, thing: Value, times: Value | None) -> Value:
    """itertools.repeat."""
    if times is None:
        raise frame.ctx.unsupported("itertools.repeat without end", "Give the number of times.")
    return binary(frame, operator.mul, TupleValue((thing,), is_list=True), as_index(frame.ctx, times, "`times`"))


def _part(frame: Frame, iterable: Value, span: ir.Span) -> Value:
    """So many of the items."""
    if is_array(iterable):
        return indexing.read(frame.ctx, indexing.resolve(frame.ctx, iterable, [SliceValue(span)]))
    return get_item(
        frame, iterable if isinstance(iterable, GrowableList) else to_list(frame, iterable), [SliceValue(span)]
    )


def _pairwise(frame: Frame, iterable: Value) -> Value:
    """itertools.pairwise."""
    whole = iterable if is_array(iterable) or is_list(iterable) else to_list(frame, iterable)
    return Zip((whole, _part(frame, whole, ir.Span(ir.integer(1), None))))


def _islice(frame: Frame, iterable: Value, *ends: Value | None) -> Value:
    """itertools.islice."""
    ctx, iterable = frame.ctx, opened_in_turns(frame, iterable)
    iterable = iterable if len(ends) == 1 else at_once(frame, iterable)
    stream = as_stream(iterable)
    given = [None if end in (None, Static(None)) else as_index(frame.ctx, end, "an end") for end in ends if end]
    span = ir.Span(None, given[0]) if len(given) == 1 else ir.Span(*given)
    if any(isinstance(end, ir.Const) and end.value < 0 for end in given):
        raise frame.ctx.mismatch("itertools.islice of a negative number", "Count from the start.")
    if stream is not None:
        if len(given) > 1:
            what, instead = "itertools.islice of a generator with a start", "Make a list of it: `list(...)`."
            raise ctx.unsupported(what, instead)
        return at_most(frame, stream, given[0], lambda one, k: one, is_first=False)
    if isinstance(iterable, Range):
        whole = dataclasses.replace(iterable, stop=_end_of(frame, iterable, span))
        return part_of_range(frame, whole, [SliceValue(dataclasses.replace(span, stop=None))])
    return _part(frame, iterable, span)


def _end_of(frame: Frame, whole: Range, span: ir.Span) -> ir.Operand:
    """Where the items of a range end, of which so many are taken."""
    if span.stop is None:
        return whole.stop
    ahead = scalars.scalar(frame.ctx, operator.mul, (span.stop, whole.step))
    end = scalars.scalar(frame.ctx, operator.add, (whole.start, ahead))
    is_up = scalars.scalar(frame.ctx, operator.gt, (whole.step, ir.integer(0)))
    up, down = (functools.partial(scalars.scalar, frame.ctx, callee, (end, whole.stop), "end") for callee in (min, max))
    return complexes.branch(frame.ctx, is_up, up, down, "end")


# What gives its items once.
ONCE = frozenset((
    map, filter, zip, enumerate, reversed, itertools.accumulate, itertools.combinations, itertools.permutations,
    itertools.product, itertools.repeat, itertools.starmap, itertools.pairwise, itertools.islice,
    itertools.chain, itertools.chain.from_iterable, np.ndindex, np.ndenumerate, np.nditer,
))  # fmt: skip

# What looks at the lists that it is given when it is run through; the others have copies of the items.
LAZY = ONCE - {itertools.combinations, itertools.permutations, itertools.product}

# What takes the items of a generator one by one, as somebody runs through it.
RUNNING_THROUGH = frozenset((
    enumerate, zip, map, filter, iter, next, tuple, itertools.islice, itertools.accumulate, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse, itertools.compress, itertools.starmap,
))  # fmt: skip


def _sum_in_turn(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value | None:
    """sum; None of items that 0 cannot be added to in a loop, such as arrays: these are summed as a list."""
    found: list[Value] = []
    is_sum = tried(frame, lambda: found.append(written(python.builtins.sum)(frame, args, named)))
    return found[0] if is_sum else None


# What does so where one of its arguments is a generator; of lists it makes lists.
_IN_TURN: dict[Any, Callable[..., Value | None]] = {
    itertools.chain.from_iterable: generator(python.itertools.from_iterable),
    any: written(python.builtins.any),
    all: written(python.builtins.all),
    sum: _sum_in_turn,
    itertools.chain: written(python.itertools.chain),
}


def in_turn(frame: Frame, callee: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """A call of what takes the items of a generator only as far as its own are used; None if no argument is one."""
    is_any = any(stream.run is not None for stream in map(as_stream, args) if stream is not None)
    return _IN_TURN[callee](frame, list(args), dict(named)) if is_any and callee in _IN_TURN else None


ITERABLES: dict[Any, Handler] = {
    reversed: takes("reversed", "sequence", _reversed),
    map: generator(python.builtins.map),
    filter: generator(python.builtins.filter),
    itertools.accumulate: generator(python.itertools.accumulate),
    any: _of_all("any"),
    all: _of_all("all"),
    functools.reduce: takes("functools.reduce", "function iterable initial?", _reduce),
    itertools.combinations: _choices(itertools.combinations, python.itertools.combinations),
    itertools.permutations: _choices(itertools.permutations, python.itertools.permutations),
    itertools.product: _product,
    itertools.count: takes("itertools.count", "start? step?", _count),
    itertools.repeat: takes("itertools.repeat", "object times?", _repeat),
    itertools.starmap: generator(python.itertools.starmap),
    itertools.pairwise: takes("itertools.pairwise", "iterable", _pairwise),
    itertools.islice: takes("itertools.islice", "iterable first more? step?", _islice),
    itertools.chain: _chain,
    itertools.chain.from_iterable: takes("itertools.chain.from_iterable", "iterable", _chained),
    iter: takes("iter", "iterable", _iter),
    next: takes("next", "iterator default?", _next),
    math.fsum: _folded("fsum", operator.add, 0.0),
    math.prod: _folded("prod", operator.mul, 1),
    np.ndindex: _ndindex,
    np.ndenumerate: takes("np.ndenumerate", "arr:array", _ndenumerate),
    np.nditer: takes("np.nditer", "op order?", _nditer),
    np.fromiter: takes("np.fromiter", "iter dtype count?", _fromiter),
}
