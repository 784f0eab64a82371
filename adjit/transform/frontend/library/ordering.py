"""What orders items: heaps, sorted lists, the least and the greatest, by themselves or by a key.

In: the values of a call. Out: a list in order, an item, or the list of a heap with its items in other places.

    heapq.heappop(heap)            the body of `python.heapq.heappop`, inlined
    sorted(items, key=f)           the list of keys; the stable order of those; the items in that order
    min(xs, default=0.0)           where there are none, the default
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import heapq
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjit.rules import python
from adjit.transform import ir
from adjit.transform.frontend.heap.lists import elements
from adjit.transform.frontend.operations.containers import copied_item, get_item, to_list
from adjit.transform.frontend.operations.control import either_value
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.argument_binding import Handler, refused, takes
from adjit.transform.frontend.values.arrays import array_of
from adjit.transform.frontend.values.checks import require
from adjit.transform.frontend.values.dictionaries import any_order
from adjit.transform.frontend.values.elementwise import as_lazy, materialise, operand
from adjit.transform.frontend.values.frame import Frame
from adjit.transform.frontend.values.library_calls import whole_call
from adjit.transform.frontend.values.lists import GrowableList, List, TupleValue, is_list, list_in
from adjit.transform.frontend.values.numbers import Index, Lazy, is_array, is_number, ndim
from adjit.transform.frontend.values.ranges import ENDLESS, Range, SliceValue
from adjit.transform.frontend.values.statics import Method, Static, as_stream, is_none
from adjit.transform.frontend.values.structures import item_of
from adjit.transform.frontend.values.values import LEAF, Value, describe, structure


def written(function: Callable[..., Any]) -> Handler:
    """What calls one of our own functions, whose body is inlined where the call is."""

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        given = [materialise(frame.ctx, a) for a in args]
        keywords = {name: materialise(frame.ctx, value) for name, value in named.items()}
        return frame.ctx.inline(function, given, keywords, True, False)

    return handle


def generator(function: Callable[..., Any], nests: bool = False) -> Handler:
    """The same of a generator: of what ends, its items may be made at once. nests: it makes them in nested loops."""
    inlined = written(function)

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        stream = as_stream(inlined(frame, args, named))
        assert stream is not None
        return Static(dataclasses.replace(stream, ends=all(map(_ends, (*args, *named.values()))), nests=nests))

    return handle


def _ends(value: Value) -> bool:
    stream = as_stream(value)
    return stream.ends if stream is not None else not isinstance(value, Range) or value.stop != ENDLESS


def _keys(frame: Frame, items: List, key: Value | None) -> List:
    """By what items are ordered."""
    if key is None or is_none(key):
        return items
    # the keys of a dictionary by its values: of keys that it has
    function = Method(key.owner, "__getitem__") if isinstance(key, Method) and key.name == "get" else key
    return frame.ctx.collected(frame, items, lambda one: frame.ctx.call(frame, function, [one], {}))


def _known_keys(keys: List) -> list[Any] | None:
    """The keys, where all are known while compiling; of tuples their first items, where those tell all apart."""
    if not isinstance(keys, TupleValue):
        return None
    if all(isinstance(k, Static | ir.Const) for k in keys.items):
        return [k.value for k in keys.items if isinstance(k, Static | ir.Const)]
    tuples = [k.items for k in keys.items if isinstance(k, TupleValue)]
    if len(tuples) < len(keys.items):
        return None
    starts = [list(itertools.takewhile(lambda i: isinstance(i, Static | ir.Const), items)) for items in tuples]
    least = min(map(len, starts), default=0)
    known = [tuple(i.value for i in start[:least] if isinstance(i, Static | ir.Const)) for start in starts]
    return known if all(a != b for a, b in itertools.combinations(known, 2)) else None


def _numbers(frame: Frame, items: List) -> Value | None:
    """Items that are numbers as an array, which NumPy orders; None of other items."""
    if isinstance(items, TupleValue):
        return array_of(frame.ctx, items) if all(map(is_number, items.items)) else None
    array = elements(frame.ctx, items) if items.item == LEAF else None
    return array if array is not None and ndim(array) == 1 else None


# --------------------------------------------------------------------------------------------------------------- sorted


def _sorted(frame: Frame, value: Value, key: Value | None, reverse: Value | None) -> Value:
    is_reversed = ir.boolean(False) if reverse is None else reverse
    if not isinstance(is_reversed, ir.Const):
        raise frame.ctx.unsupported("sorted in an order that is only known at run time", "Write reverse=True.")
    items = to_list(frame, any_order(value))
    keys = _keys(frame, items, key)
    known = _known_keys(keys)
    if known is not None and isinstance(items, TupleValue):
        places = sorted(range(len(known)), key=known.__getitem__, reverse=bool(is_reversed.value))
        return TupleValue(tuple(items.items[k] for k in places), is_list=True)
    if keys is items:
        array = _numbers(frame, items)
        if array is not None:
            found = to_list(frame, whole_call(frame.ctx, np.sort, (operand(frame.ctx, array),)))
            backwards = SliceValue(ir.Span(step=ir.integer(-1)))
            return get_item(frame, found, [backwards]) if is_reversed.value else found
    order = written(python.lists.stable_order)(frame, [keys, is_reversed], {})
    if isinstance(items, TupleValue) and item_of(*map(structure, items.items)) is None:
        # texts and functions are in no list that grows: each place has one of them
        ranked = to_list(frame, order)
        its = (get_item(frame, ranked, [ir.integer(k)]) for k in range(len(items.items)))
        return TupleValue(tuple(get_item(frame, items, [place]) for place in its), is_list=True)
    return written(python.lists.pick)(frame, [items, order], {})


# ------------------------------------------------------------------------------------------- the least, the greatest


def _extreme(callee: Any) -> Handler:
    name = callee.__name__

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        ctx = frame.ctx
        key, default = named.pop("key", None), named.pop("default", None)
        if named or not args or (default is not None and len(args) > 1):
            raise ctx.unsupported(f"{name} with these arguments", "Give an iterable, or two or more items.")
        args = [any_order(a) for a in args]
        if is_none(key) and default is None:
            found = _of_numbers(frame, callee, args)
            if found is not None:
                return found
        items: List = to_list(frame, args[0]) if len(args) == 1 else TupleValue(tuple(args), is_list=True)
        if isinstance(items, TupleValue) and not items.items:
            if default is not None:
                return default
            raise ctx.mismatch(f"{name} of no items", "Give it items, or a default.")
        if default is None or isinstance(items, TupleValue):
            return _best(frame, callee, items, key)
        is_any = scalars.scalar(ctx, operator.gt, (items.count, ir.integer(0)))
        return either_value(frame, is_any, functools.partial(_best, frame, callee, items, key), lambda: default)

    return handle


def _best(frame: Frame, callee: Any, items: List, key: Value | None) -> Value:
    keys = _keys(frame, items, key)
    known = _known_keys(keys)
    if known is not None and isinstance(items, TupleValue):
        return items.items[known.index(callee(known))]
    place = written(python.lists.place_of_extreme)(frame, [keys, ir.boolean(callee is max)], {})
    return get_item(frame, items, [place])


def _of_numbers(frame: Frame, callee: Any, args: Sequence[Value]) -> Value | None:
    """Python's max or min of numbers or a vector; None of anything else."""
    ctx = frame.ctx
    if any(isinstance(a, GrowableList) and a.item != LEAF for a in args):
        return None
    args = [elements(ctx, a) for a in args]
    items = list(args[0].items) if len(args) == 1 and isinstance(args[0], TupleValue) else args
    if len(items) == 1 and is_array(items[0]):
        if ndim(items[0]) != 1:
            raise ctx.unsupported(f"{callee.__name__} of this", f"Use np.{callee.__name__}, or two or more numbers.")
        return _extreme_element(frame, callee, as_lazy(ctx, items[0]))
    if not items or not all(is_number(i) for i in items):
        return None
    result = operand(ctx, items[0])
    for item in items[1:]:
        result = scalars.scalar(ctx, callee, (result, operand(ctx, item)))
    return result


def _extreme_element(frame: Frame, callee: Any, array: Lazy) -> Value:
    """Python's max or min of a vector. ValueError if it is empty, as Python has it."""
    ctx, one = frame.ctx, ir.integer(1)
    is_any = scalars.scalar(ctx, operator.ge, (array.shape[0], one))
    require(ctx, is_any, ValueError, f"{callee.__name__}() iterable argument is empty")
    rest = scalars.scalar(ctx, operator.sub, (array.shape[0], one))
    first = complexes.real(ctx, array.element((ir.integer(0),)))

    def better(index: Index, known: ir.Operand) -> ir.Operand:
        place = scalars.scalar(ctx, operator.add, (index[0], one))
        return scalars.scalar(ctx, callee, (known, complexes.real(ctx, array.element((place,)))))

    return ctx.reduce((rest,), first, better, callee.__name__)


# ---------------------------------------------------------------------------------------------------------------- heaps


def _on_heap(function: Callable[..., Any]) -> Handler:
    inlined = written(function)

    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        if args and not is_list(args[0]):
            raise frame.ctx.mismatch(f"heapq.{function.__name__} of {describe(args[0])}", "Give it a list.")
        return inlined(frame, args, named)

    return handle


def _first_few(name: str) -> Handler:
    """heapq.nlargest and nsmallest."""

    def handle(frame: Frame, count: Value, iterable: Value, key: Value | None) -> Value:
        if not is_number(count):
            raise frame.ctx.mismatch(f"heapq.{name} of {describe(count)}", "Give it the number of items first.")
        ordered = list_in(_sorted(frame, iterable, key, ir.boolean(name == "nlargest")))
        end = scalars.scalar(frame.ctx, max, (count, ir.integer(0)))
        return get_item(frame, ordered, [SliceValue(ir.Span(None, end))])

    return takes(f"heapq.{name}", "n iterable key?", handle)


ORDERING: dict[Any, Handler] = {
    bisect.bisect_left: written(python.bisect.bisect_left),
    bisect.bisect_right: written(python.bisect.bisect_right),
    bisect.insort_left: written(python.bisect.insort_left),
    bisect.insort_right: written(python.bisect.insort_right),
    sorted: takes("sorted", "iterable key? reverse?", _sorted),
    max: _extreme(max),
    min: _extreme(min),
    python.lists.move_out: takes("taken", "item", copied_item),
    heapq.heapify: _on_heap(python.heapq.heapify),
    heapq.heappush: _on_heap(python.heapq.heappush),
    heapq.heappop: _on_heap(python.heapq.heappop),
    heapq.heappushpop: _on_heap(python.heapq.heappushpop),
    heapq.heapreplace: _on_heap(python.heapq.heapreplace),
    heapq.nlargest: _first_few("nlargest"),
    heapq.nsmallest: _first_few("nsmallest"),
    heapq.merge: refused("heapq.merge", "Sort all items: `sorted([*a, *b])`."),
}
