"""Sums that keep their order, with their terms kept apart, so that the trips which make those may go in lanes.

In: a function and a loop in it. Out: the same, where inner loops of its trips only make terms, and loops after them
add up.

    for i in range(n):                       terms = np.empty(d)
        for k in range(d):                   for i in range(n):
            out = ...                            for k in range(d):
            total += out * out                       out = ...
                                                     terms[k] = out * out
                                                 for k in range(d):
                                                     total += terms[k]

Each sum has the bits that it had.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Sequence

from adjit.transform import ir
from adjit.transform.analysis.integers import Naturals
from adjit.transform.ir.types import array_type


def with_terms_apart(function: ir.Function, loop: ir.For, ordered: Collection[ir.Operand]) -> ir.Function:
    """The function in which the trips of the loop do so; itself where they cannot. `ordered`: the names of the sums."""
    naturals = function.analysis(Naturals)
    allocs: list[ir.Op] = []
    ops: list[ir.Op] = []
    for op in loop.body.ops:
        path = _path(op, loop, ordered, naturals) if isinstance(op, ir.For) else None
        if path is None:
            ops.append(op)
            continue
        *_, (last, k) = path
        step = next(inner for inner in last.body.ops if isinstance(inner, ir.Call) and _adds(inner, last.slots[k]))
        terms = ir.Var("terms", array_type(step.outs[0].type, len(path)))
        allocs.append(ir.Alloc(shape=tuple(around.stop for around, _ in path), out=terms, origin=op.origin))
        ops += [_kept(path, step, terms, ()), _added(path, step, terms)]
    if not allocs:
        return function
    made = ir.with_regions(loop, [ir.with_ops(loop.body, ops)])
    return ir.with_body(function, ir.replaced(function.body, {loop: (*allocs, made)}))


_Path = Sequence[tuple[ir.For, int]]


def _path(op: ir.For, loop: ir.For, ordered: Collection[ir.Operand], naturals: Naturals) -> _Path | None:
    """The loops inside of each other that such a sum goes through, and which of their values it is."""
    places = [k for k, slot in enumerate(op.slots) if slot.arg in ordered]
    if len(places) != 1 or op.stops or op.parallel or op.step != ir.integer(1):
        return None
    if op.start not in naturals or op.stop not in naturals or op.stop in loop.body.defines:
        return None
    slot = op.slots[places[0]]
    (reader,) = [inner for inner in op.body.ops if any(o is slot.arg for o in ir.reads(inner))] or (None,)
    here = (op, places[0])
    if isinstance(reader, ir.Call):
        return (here,) if _adds(reader, slot) else None
    if not isinstance(reader, ir.For) or slot.yielded not in reader.outs:
        return None
    rest = _path(reader, loop, ordered, naturals)
    return None if rest is None else (here, *rest)


def _adds(op: ir.Call, slot: ir.Slot) -> bool:
    """Whether it adds a term to what the loop carries, and that is handed on."""
    is_sum = op.callee is operator.add or (op.callee is operator.sub and op.args[0] is slot.arg)
    return is_sum and sum(a is slot.arg for a in op.args) == 1 and op.outs[0] is slot.yielded


def _kept(path: _Path, step: ir.Call, terms: ir.Var, index: tuple[ir.Operand, ...]) -> ir.For:
    """The loops, which keep the terms and carry the sum no more."""
    (loop, k), *rest = path
    index = (*index, loop.body.args[0])
    ops: list[ir.Op] = []
    for op in loop.body.ops:
        if op is step:
            term = next(a for a in step.args if a is not loop.slots[k].arg)
            ops.append(ir.Store(array=terms, index=index, value=term, origin=step.origin))
        elif rest and op is rest[0][0]:
            ops.append(_kept(rest, step, terms, index))
        else:
            ops.append(op)
    carried = [n for n in range(len(loop.outs)) if n != k]
    return ir.with_results(ir.with_regions(loop, [ir.with_ops(loop.body, ops)]), carried)


def _added(path: _Path, step: ir.Call, terms: ir.Var) -> ir.For:
    """Loops of the same trips that add up the terms."""

    def level(depth: int, index: tuple[ir.Operand, ...]) -> ir.For:
        loop, k = path[depth]
        slot = loop.slots[k]
        out = slot.out if depth == 0 else dataclasses.replace(slot.out)
        counter, arg = dataclasses.replace(loop.body.args[0]), dataclasses.replace(slot.arg)
        builder = ir.Builder(step.origin)
        if depth + 1 < len(path):
            inner = level(depth + 1, (*index, counter))
            builder.emit(dataclasses.replace(inner, inits=(arg,)))
            total: ir.Operand = inner.outs[0]
        else:
            item = builder.load(terms, (*index, counter))
            args = [arg if a is slot.arg else item for a in step.args]
            total = builder.call(step.callee, *args, type=arg.type, name=arg.name)
        body = ir.Region((counter, arg), tuple(builder.ops), (total,))
        return ir.For(start=loop.start, stop=loop.stop, inits=(slot.init,), body=body, outs=(out,), origin=step.origin)

    return level(0, ())
