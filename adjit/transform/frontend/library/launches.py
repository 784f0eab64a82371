"""Programs that launch kernels: `kernel[grid, block](*args)`, and what the host does with arrays on the device.

In: the values of such a call. Out: the operations of the launch, as the loops over blocks and threads that it is, in
the place of the call; device arrays are arrays as any others.

    step[blocks, 64](p, q, c)          for i in prange(min(p.size, blocks * 64)): q[i] = ...
    q = cuda.device_array_like(p)      q = np.empty_like(p)
    step[blocks, 128 if n > 1000 else 32](p, q, c)      if threads == 128: ..., else: ...

The program's streams and events are gone: in one stream, one after the other, is an order that they allow as well.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from adjit import errors
from adjit.runtime.library.xoroshiro import States
from adjit.transform import ir
from adjit.transform.frontend.heap.record_arrays import has_fields, is_records
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.argument_binding import bound
from adjit.transform.frontend.values.elementwise import materialise, operand
from adjit.transform.frontend.values.frame import Context, Frame, as_index
from adjit.transform.frontend.values.lists import Fields, TupleValue, items_or_one
from adjit.transform.frontend.values.numbers import dtype, is_array, is_number
from adjit.transform.frontend.values.statics import Static
from adjit.transform.frontend.values.values import Value, describe, parts_of
from adjit.transform.ir.types import is_integer
from adjit.transform.source.callables import python_function, signature

MOST_THREADS = 1024  # of a block
MOST_USUAL = 256  # of one of which the program does not say how many it has
MOST_SHAPES = 8  # of the blocks of one launch, each of which is a kernel of its own


def apart(*arrays: Any) -> None:
    """Stands behind a launch, and `begun` before it, until it is known that those of these arrays that it stores to
    share no memory with others."""
    raise NotImplementedError


def begun() -> None:
    """Stands before a launch."""
    raise NotImplementedError


@dataclass(frozen=True)
class Queue:
    """A "stream" or an "event" that the program makes."""

    kind: str


@dataclass(frozen=True)
class Launched:
    """How a kernel is launched, as far as it is compiled for that: the threads of a block along x, y, z, and along how
    many axes there are blocks."""

    block: tuple[int, int, int]
    axes: int


@dataclass(frozen=True)
class KernelLaunch:
    """A kernel, and how it is launched, as far as it is compiled for that."""

    kernel: Any
    launched: Launched


@dataclass(frozen=True)
class ForAll:
    """`kernel.forall`."""

    kernel: Any


@dataclass(frozen=True, eq=False)
class Configured:
    """`kernel[grid, block]`: what is called to launch it. `grid` and `block` have a number for each axis, `shapes` what
    the threads of a block may be, along x, y, z: one of those is what `block` says."""

    kernel: Any
    grid: tuple[ir.Operand, ...]
    block: tuple[ir.Operand, ...]
    shapes: tuple[tuple[int, int, int], ...]
    shared_bytes: ir.Operand


def configured(frame: Frame, kernel: Any, entries: Sequence[Value]) -> Value:
    """`kernel[grid, block, stream, shared bytes]` in a program."""
    ctx = frame.ctx
    if ctx.kernel is not None:
        raise ctx.unsupported("a kernel that launches another one", "Launch it from the host, as this one is.")
    if not 2 <= len(entries) <= 4:
        raise ctx.fail(
            errors.WrongCall,
            f"a launch with {len(entries)} entries in brackets",
            "The entries are the grid, the block, a stream, and the bytes of dynamic shared memory.",
            "Write kernel[grid, block](...).",
        )
    grid, block, stream, shared_bytes = (*entries, ir.integer(0), ir.integer(0))[:4] if len(entries) < 4 else entries
    _check_stream(ctx, stream)
    blocks = tuple(as_index(ctx, n, "a number of blocks") for n in _sizes(ctx, grid))
    threads = tuple(as_index(ctx, n, "a number of threads") for n in _sizes(ctx, block))
    taken = as_index(ctx, shared_bytes, "the bytes of shared memory")
    return Static(Configured(kernel, blocks, threads, _shapes(ctx, threads), taken))


def for_all(frame: Frame, found: ForAll, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`kernel.forall(n)`: so many blocks that there are n threads, of a shape that is left to us."""
    ctx = frame.ctx
    tasks, wanted, stream, taken = bound(
        frame, "forall", "ntasks:number tpb? stream? sharedmem?", list(args), dict(named)
    )
    threads = ir.integer(MOST_USUAL) if wanted in (None, ir.integer(0)) else wanted
    assert threads is not None
    width = ctx.call(frame, Static(operator.sub), [threads, ir.integer(1)], {})
    more = ctx.call(frame, Static(operator.add), [tasks, width], {})  # type: ignore[list-item]
    blocks = ctx.call(frame, Static(operator.floordiv), [more, threads], {})
    return configured(frame, found.kernel, (blocks, threads, stream or ir.integer(0), taken or ir.integer(0)))


def is_reduction(thing: Any) -> bool:
    """Whether it is what `@cuda.reduce` makes of a function of two numbers; in the simulator that is a function."""
    return type(thing).__name__ == "Reduce" and type(thing).__module__.endswith(".kernels.reduction")


def reduction(frame: Frame, found: Any, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """A call of that: what the function makes of all elements, one after the other."""
    ctx = frame.ctx
    array, size, into, first, stream = bound(
        frame, "cuda.reduce", "arr:array size? res? init:number? stream?", list(args), dict(named)
    )
    _check_stream(ctx, stream)
    if size not in (None, Static(None)) or into not in (None, Static(None)):
        raise ctx.unsupported(
            "`size` or `res` of a function of cuda.reduce", "Pass the part x[:size], and use the result."
        )
    assert array is not None
    init = scalars.cast(ctx, operand(ctx, first or ir.integer(0)), dtype(array))
    return ctx.call(frame, Static(functools.reduce), [Static(found._functor), array, init], {})


def _sizes(ctx: Context, value: Value) -> Sequence[Value]:
    found = items_or_one(value)
    if not 1 <= len(found) <= 3 or not all(is_number(n) for n in found):
        raise ctx.fail(errors.WrongCall, "a launch with this shape", "", "Give a number, or a tuple of up to three.")
    return found


def _shapes(ctx: Context, block: Sequence[ir.Operand]) -> tuple[tuple[int, int, int], ...]:
    """The shapes that a block may have, in order; not_constant where nobody knows them."""
    found = _values(ctx, block, {})
    if found is None or len(found) > MOST_SHAPES:
        raise ctx.not_constant(
            "a block whose shape is only known at run time",
            f"Write it as a literal or a global, or as a choice between at most {MOST_SHAPES} of them: "
            "128 if n > 1000 else 32.",
            why="Kernels are compiled for the shape of their blocks.",
        )
    shapes = []
    for sizes in sorted(found):
        if min(sizes) < 1 or math.prod(sizes) > MOST_THREADS:
            most = f"A block has at most {MOST_THREADS:,} threads."
            raise ctx.fail(errors.WrongCall, f"a block of {list(sizes)} threads", most, "Launch more blocks.")
        x, y, z = (*sizes, 1, 1)[:3]
        shapes.append((x, y, z))
    return tuple(shapes)


def _values(
    ctx: Context, operands: Sequence[ir.Operand], conditions: Mapping[ir.Operand, bool]
) -> set[tuple[int, ...]] | None:
    """What integers may be together, where the conditions are so; None if nobody knows, or it is too much."""
    if len(conditions) > MOST_SHAPES:
        return None
    found: list[int] = []
    for size in operands:
        value = _value(ctx, size, conditions)
        if value is None:
            return None
        if not isinstance(value, int):
            parts = [_values(ctx, operands, {**conditions, value: holds}) for holds in (True, False)]
            return None if None in parts else {one for part in parts if part is not None for one in part}
        found.append(value)
    return {tuple(found)}


def _value(ctx: Context, operand: ir.Operand, conditions: Mapping[ir.Operand, bool]) -> int | ir.Operand | None:
    """What an integer is where the conditions are so; the condition that it hangs on besides; None if nobody knows."""
    if isinstance(operand, ir.Const):
        return int(operand.value) if is_integer(operand.type) else None
    op = ctx.builder.maker(operand)
    if isinstance(op, ir.If):
        if op.condition not in conditions:
            return op.condition
        taken = op.then if conditions[op.condition] else op.orelse
        return _value(ctx, taken.yields[op.outs.index(operand)], conditions)
    if not isinstance(op, ir.Call) or op.effect:
        return None
    if op.callee is ir.select:
        condition, yes, no = op.args
        return _value(ctx, yes if conditions[condition] else no, conditions) if condition in conditions else condition
    if ir.canonical(op.callee) not in _EXACT:
        return None
    found: list[int] = []
    for arg in op.args:
        value = _value(ctx, arg, conditions)
        if not isinstance(value, int):
            return value
        found.append(value)
    return int(ir.canonical(op.callee)(*found))


# of Python's integers as of those of programs
_EXACT = (operator.add, operator.sub, operator.mul, min, max)


def launch(frame: Frame, found: Configured, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """The operations of a launch."""
    ctx, kernel = frame.ctx, found.kernel
    expected: inspect.Signature = signature(python_function(kernel))
    name = python_function(kernel).__name__
    try:
        given = list(expected.bind(*args, **named).args)
    except TypeError as fault:
        raise ctx.fail(errors.WrongCall, f"{name}: {fault}", "", "Give each argument exactly one value.") from None
    given = [_words(value) for value in given]
    for value, parameter in zip(given, expected.parameters, strict=True):
        if _are_words(value):
            continue
        if is_records(value) or has_fields(value):
            raise ctx.unsupported(
                f"`{parameter}` of the kernel {name}, an array of records",
                "Pass its fields as arrays.",
            )
        if not (is_array(value) or is_number(value)):
            raise ctx.mismatch(
                f"`{parameter}` of the kernel {name} is {describe(value)}", "Pass numbers and arrays on the device."
            )
    given = [value if _are_words(value) else materialise(ctx, value) for value in given]
    parts = [(p, a) for p, value in zip(expected.parameters, given, strict=True) for a in parts_of(value)]
    pairs = [(p, a) for p, a in parts if isinstance(a, ir.Var) and is_array(a)]
    names, arrays = tuple(p for p, _ in pairs), tuple(a for _, a in pairs)
    ctx.builder.emit(ir.Call(callee=begun, args=(), outs=(), effect=True))
    _of_shape(ctx, found, given, found.shapes)
    ctx.builder.emit(ir.Call(callee=apart, args=arrays, outs=(), effect=True, options=(("names", names),)))
    return Static(None)


def _words(value: Value) -> Value:
    """The words of states that kernels draw from, where the value is an array of them; else itself."""
    if not has_fields(value) or value.item.keys != States._fields:
        return value
    return TupleValue(tuple(value.buffers), fields=Fields(States))


def _are_words(value: Value) -> bool:
    return isinstance(value, TupleValue) and isinstance(value.fields, Fields) and value.fields.of is States


def _of_shape(ctx: Context, found: Configured, given: Sequence[Value], shapes: Sequence[tuple[int, int, int]]) -> None:
    """The launch with a block of one of these shapes, asked for one after the other."""
    (shape, *others) = shapes
    sizes = zip(found.block, shape, strict=False)
    known: dict[ir.Operand, ir.Const] = {n: ir.integer(size) for n, size in sizes if isinstance(n, ir.Var)}

    def one() -> None:
        # what follows from the shape is said anew: that so many blocks reach the last element is seen then
        grid = [_made_of(ctx, n, known) for n in found.grid]
        launched = KernelLaunch(found.kernel, Launched(shape, len(grid)))
        ctx.inline_derivative(launched, (*given, *grid, _made_of(ctx, found.shared_bytes, known)))

    axes = {n: found.block.index(n) for n in known}
    tests = [(n, size) for n, size in known.items() if any(other[axes[n]] != size.value for other in others)]
    if not tests:
        one()
        return
    holds: ir.Operand = ir.boolean(True)
    for n, size in tests:
        test = ctx.builder.call(operator.eq, n, size, type=types.boolean, name="has_shape")
        holds = test if holds == ir.boolean(True) else ctx.builder.call(operator.and_, holds, test, type=types.boolean)
    with ctx.builder.region() as then:
        one()
    with ctx.builder.region() as orelse:
        _of_shape(ctx, found, given, others)
    ctx.builder.emit(
        ir.If(condition=holds, then=ir.Region((), tuple(then), ()), orelse=ir.Region((), tuple(orelse), ()))
    )


def _made_of(ctx: Context, operand: ir.Operand, known: Mapping[ir.Operand, ir.Const]) -> ir.Operand:
    """An integer, worked out anew where it follows from what is known now."""
    if operand in known:
        return known[operand]
    op = ctx.builder.maker(operand)
    if not isinstance(op, ir.Call) or op.effect or not all(isinstance(a.type, types.Integer) for a in op.args):
        return operand
    args = [_made_of(ctx, arg, known) for arg in op.args]
    if args == list(op.args):
        return operand
    return ctx.builder.call(op.callee, *args, type=operand.type, name=ir.name_of(operand, "blocks"))


# ------------------------------------------------------------------------------------------------------ what hosts call


def host_call(frame: Frame, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """`cuda.name(*args, **named)` outside of a kernel."""
    return _HOST[name](frame, list(args), dict(named))


def _numpys(function: Any) -> Callable[[Frame, list[Value], dict[str, Value]], Value]:
    def made(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
        _check_stream(frame.ctx, named.pop("stream", None))
        return frame.ctx.call(frame, Static(function), args, named)

    return made


def _check_stream(ctx: Context, stream: Value | None) -> None:
    if stream not in (None, ir.integer(0), Static(None), Static(Queue("stream"))):
        raise ctx.unsupported(
            "a stream from outside, in a program that is differentiated",
            "Leave it out and use `with adjit.cuda.on(stream):`, or create it inside with cuda.stream().",
        )


def _to_device(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    array, stream = bound(frame, "cuda.to_device", "obj:array stream?", args, named)
    _check_stream(frame.ctx, stream)
    return frame.ctx.call(frame, Static(np.copy), [array], {})  # type: ignore[list-item]


def _nothing(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    return Static(None)


def _queue(kind: str) -> Callable[[Frame, list[Value], dict[str, Value]], Value]:
    return lambda frame, args, named: Static(Queue(kind))


_HOST: dict[str, Callable[[Frame, list[Value], dict[str, Value]], Value]] = {
    "device_array": _numpys(np.empty),
    "device_array_like": _numpys(np.empty_like),
    "to_device": _to_device,
    **dict.fromkeys(("stream", "default_stream", "per_thread_default_stream", "external_stream"), _queue("stream")),
    "event": _queue("event"),
    **dict.fromkeys(("synchronize", "stream.synchronize", "event.record", "event.synchronize", "event.wait"), _nothing),
}
OF_HOST = frozenset(_HOST)  # what programs call


def copy_to_host(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """`array.copy_to_host(into)`: the array as it is then. It stays where it is; what the host reads of it, it
    fetches."""
    array, into, stream = bound(frame, "copy_to_host", "self:array ary? stream?", args, named)
    _check_stream(frame.ctx, stream)
    assert array is not None
    if into in (None, Static(None)):
        return frame.ctx.call(frame, Static(np.copy), [array], {})
    frame.ctx.call(frame, Static(np.copyto), [into, array], {})
    return into


def copy_to_device(frame: Frame, args: list[Value], named: dict[str, Value]) -> Value:
    """`array.copy_to_device(other)`: the array takes the elements of another one."""
    _check_stream(frame.ctx, named.pop("stream", None))
    array, source = bound(frame, "copy_to_device", "self:array ary:array", args, named)
    return frame.ctx.call(frame, Static(np.copyto), [array, source], {})  # type: ignore[list-item]


HOST_METHODS = {"copy_to_host": copy_to_host, "copy_to_device": copy_to_device}
