"""Python's builtins: ranges and lengths, conversions, and sums over what they are given; what a loop runs over.

In: the values of a call, or the value after `in`. Out: a value, mostly a number; or a range, and a function from its
counter to the value, or all items, where they are known when the code is compiled.

    len(x)  the first extent          max(a, b, 0)  two scalar calls
    for x, k in zip(a, range(3, n))   range(min(len(a), n - 3));  counter i  ->  (a[i], 3 + i)
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.frontend.arrays import indexing
from adjit.transform.frontend.heap.iterators import at_most, at_once, opened_in_turns, opened_stream
from adjit.transform.frontend.heap.lists import contents, elements
from adjit.transform.frontend.heap.record_arrays import is_records, rows
from adjit.transform.frontend.heap.references import current, current_view
from adjit.transform.frontend.heap.references import item as list_item
from adjit.transform.frontend.operations.containers import exhaust, get_item, to_list
from adjit.transform.frontend.operations.operators import applied, binary, truth
from adjit.transform.frontend.operations.records import (
    as_plain,
    assign_attribute,
    call_method,
    class_of_value,
    delete_attribute,
    get_attribute,
    has_attribute,
    is_instance,
    members_of,
    parent,
    replaced,
    unwrap,
    variables_of,
)
from adjit.transform.frontend.operations.seeded_generators import seeded, seeded_state
from adjit.transform.frontend.values import complexes, scalars
from adjit.transform.frontend.values.argument_binding import Handler, operands_of, takes
from adjit.transform.frontend.values.arrays import shape_of
from adjit.transform.frontend.values.cells import Container
from adjit.transform.frontend.values.checks import require, require_equal
from adjit.transform.frontend.values.dictionaries import Instance, KnownDict, Record, any_order
from adjit.transform.frontend.values.elementwise import converted, elementwise, materialise, operand, stretched, total
from adjit.transform.frontend.values.fold import execute
from adjit.transform.frontend.values.frame import Context, Frame, as_index, static_items, wrap
from adjit.transform.frontend.values.lists import GrowableList, TupleValue, is_list, is_tuple, items_or_one
from adjit.transform.frontend.values.numbers import Complex, Number, dtype, is_array, is_number, is_numeric, ndim
from adjit.transform.frontend.values.ranges import ENDLESS, NdIndex, Range, SliceValue, Zip
from adjit.transform.frontend.values.statics import Static, as_stream, is_none, stands_for
from adjit.transform.frontend.values.unions import Union, functions_in, is_text
from adjit.transform.frontend.values.values import Value, describe
from adjit.transform.ir.types import const, is_integer, is_small_integer, typed_const
from adjit.transform.source.external_reads import is_defined
from adjit.transform.source.marks import Checkpointed, checkpoint


def _range(frame: Frame, args: list[Value], named: dict[str, Value]) -> Range:
    ctx = frame.ctx
    given = operands_of(frame, "range", args, named, 3)
    ends = [scalars.cast(ctx, as_index(ctx, a, "an end of range"), types.intp) for a in given]
    if len(ends) == 1:
        ends = [ir.integer(0), *ends]
    start, stop, step = (*ends, ir.integer(1))[:3]
    return Range(start, stop, step)


def _prange(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return dataclasses.replace(_range(frame, args, named), parallel=True)


def _checkpoint(frame: Frame, what: Value, snapshots: Value | None) -> Value:
    ctx = frame.ctx
    functions = functions_in(what) if snapshots is None and not is_text(what) else ()
    marked = tuple(Static(Checkpointed(function.value)) for function in functions)
    if isinstance(what, Union) and marked:
        return Union(marked, what.which)
    if marked:
        return marked[0]
    if not isinstance(what, Range):
        raise ctx.unsupported(
            "adjit.checkpoint of something that is neither a range nor a function", "Loop over a range and index."
        )
    if snapshots is None:
        return dataclasses.replace(what, snapshots=0)
    if not isinstance(snapshots, ir.Const) or not isinstance(snapshots.value, int) or snapshots.value < 0:
        raise ctx.unsupported("a number of snapshots that is not a literal", "Write the number, or leave it out.")
    return dataclasses.replace(what, snapshots=snapshots.value)


def _of_object(frame: Frame, iterable: Value) -> Value:
    """What an object iterates over; anything else as it is."""
    return exhaust(frame, iterable) if isinstance(iterable, Record) else iterable


def _enumerate(frame: Frame, iterable: Value, first: Value | None) -> Value:
    start = None if first is None else as_index(frame.ctx, first, "the start of enumerate")
    iterable = opened_stream(frame, _of_object(frame, iterable))
    if (stream := as_stream(iterable)) is not None:
        counter = Range(start or ir.integer(0), ENDLESS, ir.integer(1))
        return at_most(
            frame, stream, None, lambda one, k: TupleValue((item_at(frame, counter, k), one)), is_first=False
        )
    return Zip((None, contents(frame.ctx, iterable)), start)


def _beside_stream(frame: Frame, args: Sequence[Value]) -> Value:
    """zip of what a generator gives and of other things."""
    ctx = frame.ctx
    places = [k for k, one in enumerate(args) if as_stream(one) is not None]
    (place,), stream = places[:1], as_stream(args[places[0]])
    assert stream is not None
    if len(places) > 1:
        raise ctx.unsupported(
            "zip of two generators", "Make a list of one: `list(...)`.", why="Their code runs in turns, item by item."
        )
    others = Zip(tuple(contents(ctx, one) for k, one in enumerate(args) if k != place))
    limit, item = (None, None) if not others.parts else (length(frame, others), iteration(frame, others)[1])

    def row(one: Value, k: ir.Operand) -> Value:
        beside = items_or_one(item(k)) if item is not None else ()
        return TupleValue((*beside[:place], one, *beside[place:]))

    return at_most(frame, stream, limit, row, is_first=place == 0)


def _zip(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx, strict = frame.ctx, named.pop("strict", ir.boolean(False))
    if named or not isinstance(strict, ir.Const):
        raise ctx.unsupported("zip with these arguments", "Give the iterables, and strict=True if needed.")
    args = [opened_in_turns(frame, _of_object(frame, one)) for one in args]
    known = [one for arg in args if as_stream(arg) is None for one in known_items(frame, arg) or ()]
    if strict.value or sum(as_stream(one) is not None for one in args) > 1 or not all(map(is_number, known)):
        args = [at_once(frame, one) for one in args]
    if any(as_stream(one) is not None for one in args):
        if strict.value:
            raise ctx.unsupported(
                "zip(..., strict=True) of an iterator", "Make lists of its arguments: zip(list(...), ...)."
            )
        return _beside_stream(frame, args)
    paired = Zip(tuple(contents(ctx, a) for a in args))
    if strict.value:
        _same_lengths(frame, paired)
    return paired


def _same_lengths(frame: Frame, paired: Zip) -> None:
    """ValueError, as Python has it, where what runs side by side is of several lengths."""
    ctx = frame.ctx
    first, *others = (length(frame, Zip((part,))) for part in paired.parts)
    for k, other in enumerate(others, 2):
        fits = scalars.scalar(ctx, operator.eq, (first, other))
        said = f"zip() argument {k} is shorter or longer than the first"
        if isinstance(fits, ir.Const) and not fits.value:
            raise ctx.mismatch(said, "Give all of them the same number of items, or leave out strict=True.")
        require(ctx, fits, ValueError, said)


def _slice(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    if named or not 1 <= len(args) <= 3:
        raise ctx.unsupported("slice with these arguments", "Give one to three arguments, by position.")
    ends = [None if is_none(a) else as_index(ctx, a, "an end of a slice") for a in args]
    return SliceValue(ir.Span(None, ends[0]) if len(ends) == 1 else ir.Span(*ends))


def _len(frame: Frame, value: Value) -> Value:
    value = members_of(frame.ctx, unwrap(frame.ctx, value))
    if stands_for(value, str) or (stands_for(value, np.ndarray) and is_records(value)):
        return ir.integer(len(value.value))
    if isinstance(value, Instance):
        return call_method(frame, value, "__len__", [], {})
    if isinstance(value, Container) and (count := value.length()) is not None:
        return count
    if isinstance(value, Range):
        return length(frame, value)
    if not is_array(value) or ndim(value) == 0:
        what = describe(value) if not is_array(value) else "an array of rank 0"
        raise frame.ctx.mismatch(f"len of {what}", "Give it an array or a tuple.")
    return shape_of(frame.ctx, value)[0]


def _abs(frame: Frame, value: Value) -> Value:
    if isinstance(value, Instance) and is_defined(value.of, "__abs__"):
        return call_method(frame, value, "__abs__", [], {})
    if not is_numeric(value):
        raise frame.ctx.mismatch(f"abs of {describe(value)}", "Give a number or an array.")
    if is_array(value):
        return elementwise(frame.ctx, np.absolute, (value,))
    return applied(frame.ctx, abs, (value,))


def _to_number(name: str, kind: types.Type) -> Handler:
    def handle(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        if not args and not named:
            return typed_const(0, kind)
        method = f"__{name}__"
        if len(args) == 1 and isinstance(args[0], Instance) and is_defined(args[0].of, method):
            return call_method(frame, args[0], method, [], {})
        if len(args) == 1 and stands_for(args[0], str):
            return _of_text(frame, name, args[0].value)
        if args == [Static(None)]:
            raise frame.ctx.fail(errors.WrongCall, f"{name} of None", instead="Give a number, or test for None first.")
        items = [frame.ctx.builder.load(operand(frame.ctx, a), ()) if is_array(a) and ndim(a) == 0 else a for a in args]
        (number,) = operands_of(frame, name, items, named, 1)
        if is_integer(kind) and isinstance(number.type, types.Float):
            return scalars.scalar(frame.ctx, int, (number,))
        made = scalars.cast(frame.ctx, number, kind)
        frame.ctx.numbers.whose[made] = True
        return made

    return handle


def _bool(frame: Frame, value: Value | None = None) -> Value:
    """`bool(...)`: what a condition makes of it."""
    if value is None:
        return ir.boolean(False)
    is_element = is_array(value) and ndim(value) == 0
    return truth(frame, frame.ctx.builder.load(operand(frame.ctx, value), ()) if is_element else value)


def _of_text(frame: Frame, name: str, text: str) -> Value:
    """The number that a text says."""
    kind = {"float": float, "int": int}[name]
    return wrap(frame.ctx, execute(frame.ctx, "", "Write the number.", kind, [text]))


def _complex(frame: Frame, real: Number | None, imag: Number | None) -> Value:
    ctx = frame.ctx
    real = const(0.0) if real is None else real
    if imag is None:
        return complexes.promote(ctx, real)
    if not isinstance(real, Complex) and not isinstance(imag, Complex):
        return complexes.make(ctx, real, imag)
    return binary(frame, operator.add, real, binary(frame, operator.mul, wrap(ctx, 1j), imag))


def _round(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    ctx = frame.ctx
    if any(is_array(a) for a in args):
        raise ctx.mismatch("round of an array", "Use np.round for arrays.")
    return scalars.scalar(ctx, round, operands_of(frame, "round", args, named, 2))


def _tuple_builtin(frame: Frame, value: Value | None) -> Value:
    if value is None:
        return TupleValue(())
    # a tuple has so many items as are known: where there may be a loop, it is written out
    ctx = frame.ctx
    knew, ctx.knows_extents = ctx.knows_extents, True
    try:
        made = to_list(frame, value)
    finally:
        ctx.knows_extents = knew
    return TupleValue(static_items(ctx, made, "the argument of tuple"))


def _list_builtin(frame: Frame, value: Value | None) -> Value:
    return TupleValue((), is_list=True) if value is None else to_list(frame, value)


def _sum_builtin(frame: Frame, value: Value, start: Value | None) -> Value:
    ctx = frame.ctx
    value = any_order(value)
    has_objects = isinstance(value, GrowableList) and (isinstance(value.item, Record) or is_tuple(value.item))
    if has_objects or not (start is None or is_number(start)):
        # what `+` of the items says
        return ctx.call(frame, Static(functools.reduce), [Static(operator.add), value, start or const(0)], {})
    value = elements(ctx, value) if is_list(value) else materialise(ctx, value)
    if not is_array(value) and not isinstance(value, TupleValue):
        value = elements(ctx, to_list(frame, value))
    if is_array(value):
        result = total(ctx, value, None if ndim(value) == 1 else (0,))
        if ctx.is_plain and is_small_integer(dtype(value)):
            # NumPy's numbers and arrays, one after the other, and not np.sum
            result = converted(ctx, result, dtype(value))
        return result if start is None else binary(frame, operator.add, start, result)
    accumulated: Value = const(0) if start is None else start
    for item in static_items(ctx, value, "the argument of sum"):
        accumulated = binary(frame, operator.add, accumulated, item)
    return accumulated


def _replace(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    if len(args) != 1:
        raise frame.ctx.fail(errors.WrongCall, "dataclasses.replace takes one object", instead="Name the new values.")
    return replaced(frame, args[0], named)


PYTHON_BUILTINS: dict[Any, Handler] = {
    range: _range,
    numba.prange: _prange,
    checkpoint: takes("adjit.checkpoint", "what snapshots?", _checkpoint),
    enumerate: takes("enumerate", "iterable start?", _enumerate),
    zip: _zip,
    len: takes("len", "obj", _len),
    abs: takes("abs", "x", _abs),
    float: _to_number("float", types.float64),
    int: _to_number("int", types.intp),
    bool: takes("bool", "object?", _bool),
    complex: takes("complex", "real:scalar? imag:scalar?", _complex),
    round: _round,
    tuple: takes("tuple", "iterable?", _tuple_builtin),
    list: takes("list", "iterable?", _list_builtin),
    slice: _slice,
    np.random.default_rng: takes("np.random.default_rng", "seed", seeded),
    np.random.RandomState: takes("np.random.RandomState", "seed", seeded_state),
    isinstance: takes("isinstance", "obj class_or_tuple", is_instance),
    type: takes("type", "object", class_of_value),
    setattr: takes("setattr", "obj name value", assign_attribute),
    getattr: takes("getattr", "obj name default?", get_attribute),
    hasattr: takes("hasattr", "obj name", has_attribute),
    delattr: takes("delattr", "obj name", delete_attribute),
    vars: takes("vars", "object", variables_of),
    dataclasses.replace: _replace,
    dataclasses.asdict: takes("dataclasses.asdict", "obj", as_plain(dict)),
    dataclasses.astuple: takes("dataclasses.astuple", "obj", as_plain(tuple)),
    super: parent,
    builtins.sum: takes("sum", "iterable start?", _sum_builtin),
}

# What takes a list for what it is, and no array in its place.
OF_LISTS = frozenset((
    list, tuple, len, enumerate, zip, builtins.sum, checkpoint, isinstance, getattr, hasattr,
    dataclasses.replace, dataclasses.asdict, dataclasses.astuple, setattr, delattr, vars, type,
))  # fmt: skip

# What takes None as it takes any other value.
ASKING = frozenset((isinstance, type, hasattr, callable, bool))


# ------------------------------------------------------------------------------------------------ what a loop runs over


def iteration(frame: Frame, iterated: Value) -> tuple[Range, Callable[[ir.Operand], Value]]:
    """The range a loop runs over, and what its target is bound to at a counter."""

    def at(counter: ir.Operand) -> Value:
        frame.ctx.numbers.whose[counter] = True
        return counter if isinstance(iterated, Range) else item_at(frame, iterated, counter)

    if isinstance(iterated, Range):
        return iterated, at
    return Range(ir.integer(0), length(frame, iterated), ir.integer(1)), at


def length(frame: Frame, iterated: Value) -> ir.Operand:
    ctx = frame.ctx
    match iterated:
        case Static() if is_records(iterated):
            return rows(ctx, iterated).count
        case Zip(parts=parts):
            lengths = [length(frame, p) for p in parts if p is not None]
            shortest = lengths[0]
            for other in lengths[1:]:
                shortest = shortest if other == shortest else scalars.scalar(ctx, min, (shortest, other), "n")
            return shortest
        case NdIndex(shape=shape):
            count: ir.Operand = ir.integer(1)
            for k, extent in enumerate(shape):
                count = extent if k == 0 else scalars.scalar(ctx, operator.mul, (count, extent), "size")
            return count
        case Range(start=start, stop=stop, step=step):
            span = scalars.scalar(ctx, operator.sub, (stop, start))
            ahead = scalars.scalar(ctx, operator.add, (span, step))
            is_up = scalars.scalar(ctx, operator.gt, (step, ir.integer(0)))
            sign = complexes.branch(ctx, is_up, lambda: ir.integer(-1), lambda: ir.integer(1), "sign")
            ahead = scalars.scalar(ctx, operator.add, (ahead, sign))
            count = scalars.scalar(ctx, operator.floordiv, (ahead, step))
            return scalars.scalar(ctx, max, (count, ir.integer(0)), "n")
    known = known_items(frame, iterated)
    if known is not None:
        return ir.integer(len(known))
    if isinstance(iterated, GrowableList):
        return iterated.count
    if is_array(iterated) and ndim(iterated) > 0:
        return shape_of(ctx, iterated)[0]
    raise ctx.unsupported("a loop over this", "Loop over a range, an array, a tuple, enumerate(...) or zip(...).")


def part_of_range(frame: Frame, whole: Range, entries: Sequence[Value]) -> Value:
    """`range(...)[k]` and `range(...)[a:b:step]`."""
    ctx = frame.ctx
    (entry,) = entries if len(entries) == 1 else (None,)
    count = length(frame, whole)
    if entry is not None and is_number(entry):
        index = as_index(ctx, entry, "the index of a range")
        from_end = functools.partial(scalars.scalar, ctx, operator.add, (count, index), "place")
        is_from_end = scalars.scalar(ctx, operator.lt, (index, ir.integer(0)))
        place = complexes.branch(ctx, is_from_end, from_end, scalars.ready(index), "place")
        for is_inside in ((ir.integer(0), place), (scalars.scalar(ctx, operator.add, (place, ir.integer(1))), count)):
            fits = scalars.scalar(ctx, operator.le, is_inside)
            require(ctx, fits, IndexError, "range object index out of range")
        return item_at(frame, whole, place)
    step = entry.span.step if isinstance(entry, SliceValue) else None
    by = 1 if step is None else step.value if isinstance(step, ir.Const) else 0
    if not isinstance(entry, SliceValue) or by == 0:
        raise ctx.unsupported(
            "this part of a range", "Change the bounds of the range, or make a list: list(range(...))."
        )
    return _slice_of_range(frame, whole, entry.span.start, entry.span.stop, int(by))


def _slice_of_range(frame: Frame, whole: Range, start: ir.Operand | None, stop: ir.Operand | None, by: int) -> Range:
    """`range(...)[start:stop:by]`."""
    ctx, count = frame.ctx, length(frame, whole)
    last = scalars.scalar(ctx, operator.sub, (count, ir.integer(1)))
    least, most = (ir.integer(0), count) if by > 0 else (ir.integer(-1), last)

    def item(place: ir.Operand) -> ir.Operand:
        steps = scalars.scalar(ctx, operator.mul, (place, whole.step))
        return scalars.scalar(ctx, operator.add, (whole.start, steps))

    def bound(given: ir.Operand) -> ir.Operand:
        from_end = functools.partial(scalars.scalar, ctx, operator.add, (count, given), "place")
        is_from_end = scalars.scalar(ctx, operator.lt, (given, ir.integer(0)))
        place = complexes.branch(ctx, is_from_end, from_end, scalars.ready(given), "place")
        return item(scalars.scalar(ctx, min, (scalars.scalar(ctx, max, (place, least)), most)))

    if by > 0:
        first, end = whole.start, whole.stop
    else:
        first, end = item(last), scalars.scalar(ctx, operator.sub, (whole.start, whole.step))
    if by > 0 and isinstance(start, ir.Const) and start.value >= 0:
        first = item(start)  # where that is behind the end, there are no items
    elif start is not None:
        first = bound(start)
    step = scalars.scalar(ctx, operator.mul, (whole.step, ir.integer(by)))
    return dataclasses.replace(whole, start=first, stop=end if stop is None else bound(stop), step=step)


def item_at(frame: Frame, iterated: Value, counter: ir.Operand) -> Value:
    ctx = frame.ctx
    match iterated:
        case Zip(parts=parts):
            items = (_number(ctx, iterated, counter) if p is None else item_at(frame, p, counter) for p in parts)
            return TupleValue(tuple(items))
        case NdIndex():
            return _at_place(ctx, iterated, counter)
        case Range(start=start, step=step):
            moved = scalars.scalar(ctx, operator.mul, (counter, step))
            return scalars.scalar(ctx, operator.add, (start, moved))
    iterated = current_view(frame, iterated) if isinstance(iterated, TupleValue) else iterated
    known = known_items(frame, iterated)
    if known is not None:
        return get_item(frame, TupleValue(tuple(known), is_list=True), [counter])
    if is_records(iterated):
        iterated = rows(ctx, iterated)
    if isinstance(iterated, GrowableList):
        return list_item(ctx, current(frame, iterated), counter)
    return indexing.read(ctx, indexing.resolve(ctx, iterated, (counter,)))


def _at_place(ctx: Context, places: NdIndex, counter: ir.Operand) -> Value:
    """What belongs to the place of this number, in C order."""
    found: list[ir.Operand] = []
    rest = counter
    for k, extent in reversed(tuple(enumerate(places.shape))):
        found.append(rest if k == 0 else scalars.scalar(ctx, operator.mod, (rest, extent), "i"))
        rest = rest if k == 0 else scalars.scalar(ctx, operator.floordiv, (rest, extent), "rest")
    index = tuple(reversed(found))
    beside = tuple(stretched(ctx, a, places.shape)(index) for a in places.arrays)
    if not places.has_index:
        return beside[0] if len(beside) == 1 else TupleValue(beside)
    return TupleValue((TupleValue(index), *beside)) if beside else TupleValue(index)


def known_items(frame: Frame, iterated: Value) -> Sequence[Value] | None:
    """All that a loop runs over, where that is tuples, and their numbers; else None."""
    ctx = frame.ctx
    iterated = contents(ctx, members_of(ctx, unwrap(ctx, iterated)))
    match iterated:
        case TupleValue(items=items):
            return items
        case KnownDict(keys=keys):
            return tuple(wrap(ctx, key) for key in keys)
        case Static(value=str() as text):
            return tuple(map(Static, text))
    if not isinstance(iterated, Zip):
        return None
    columns = [p if p is None else known_items(frame, p) for p in iterated.parts]
    known = [column for column in columns if column is not None]
    if len(known) < sum(p is not None for p in iterated.parts):
        return _beside_arrays(frame, iterated, columns) if known else None
    return [
        TupleValue(tuple(_number(ctx, iterated, ir.integer(k)) if c is None else c[k] for c in columns))
        for k in range(min(map(len, known), default=0))
    ]


def _beside_arrays(frame: Frame, iterated: Zip, columns: Sequence[Sequence[Value] | None]) -> Sequence[Value] | None:
    """What zip gives of known items that are more than numbers, and of arrays; None where all are numbers.

    ValueError where an array ends before the items do.
    """
    ctx = frame.ctx
    known = [column for column in columns if column is not None]
    if all(is_number(one) for column in known for one in column):
        return None
    parts = [
        p if p is None or isinstance(p, GrowableList) else materialise(ctx, elements(ctx, p)) for p in iterated.parts
    ]
    lengths = [length(frame, p) for p, column in zip(parts, columns, strict=True) if p is not None and column is None]
    ends = [int(n.value) for n in lengths if isinstance(n, ir.Const)]
    count = min([*map(len, known), *ends])
    for end in lengths:
        if isinstance(end, ir.Var):
            is_enough = scalars.scalar(ctx, operator.ge, (end, ir.integer(count)))
            require(ctx, is_enough, ValueError, f"zip of an array with fewer than {count} items")

    def row(k: int) -> Value:
        place, found = ir.integer(k), list[Value]()
        for part, column in zip(parts, columns, strict=True):
            if column is not None:
                found.append(column[k])
            else:
                found.append(_number(ctx, iterated, place) if part is None else item_at(frame, part, place))
        return TupleValue(tuple(found))

    return [row(k) for k in range(count)]


def so_many(frame: Frame, value: Value, count: int) -> Sequence[Value]:
    """The items of what has to have so many. ValueError, as Python has it, where it has not."""
    ctx, iterated = (
        frame.ctx,
        materialise(frame.ctx, value if isinstance(value, GrowableList) else elements(frame.ctx, value)),
    )
    if not isinstance(iterated, Range | Zip | NdIndex | GrowableList) and not (
        is_array(iterated) and ndim(iterated) > 0
    ):
        raise ctx.mismatch(f"unpacking of {describe(value)}", "Give it a tuple, or an array.")
    items = length(frame, iterated)
    if isinstance(items, ir.Const) and items != ir.integer(count):
        raise ctx.mismatch(f"unpacking to {count} names, of a value with another length", "Write one name per value.")
    require_equal(ctx, ir.integer(count), items, "{1} values to unpack to {0} names")
    return [item_at(frame, iterated, ir.integer(k)) for k in range(count)]


def _number(ctx: Context, iterated: Zip, counter: ir.Operand) -> Value:
    """What enumerate says in the trip of this number, from 0."""
    if iterated.first is None or iterated.first == ir.integer(0):
        return counter
    return scalars.scalar(ctx, operator.add, (counter, iterated.first))
