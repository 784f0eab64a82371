"""A kernel's nest that tells where it is, so that its accesses can be noted by block, thread and stretch.

In: a kernel as a nest, before it is shaped. Out: the same with a last parameter, the notes of `runtime/cuda/check.py`,
for plain Python to run on watched arrays.

    for b:                                        for b:
        tile = np.empty(16)                           tile = shared_in(notes, "tile", 16)
        for t: tile[t] = ...                          next_stretch(notes, b)
                                                      for t: at_thread(notes, t); tile[t] = ...
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numba import types

from adjit.runtime.cuda import check
from adjit.runtime.library import distinct
from adjit.transform import ir
from adjit.transform.analysis.extremes import as_atomic
from adjit.transform.rewrite.simplify import simplify


def at_thread(notes: check.Notes, *place: int) -> None:
    """The nest is at a thread."""
    notes.thread = place


def next_stretch(notes: check.Notes, *place: int) -> None:
    """The nest begins a stretch of a block."""
    notes.block, notes.stretch = place, notes.stretch + 1


def shared_in(notes: check.Notes, *shape: int, name: str, dtype: str) -> Any:
    """An array of the block."""
    return check.watch(np.empty(shape, dtype), notes, name, is_shared=True)


def telling(function: ir.Function) -> ir.Function:
    """The nest with calls that say where it is."""
    function = simplify(ir.with_body(function, ir.rewritten(function.body, as_atomic)))
    notes = ir.Var("notes", types.pyobject)
    body = ir.with_ops(function.body, _Telling(function, notes).ops(function.body.ops, (), ()))
    made = ir.Region((*function.body.args, notes), body.ops, ())
    return dataclasses.replace(
        function, names=(*function.names, "notes"), params=(*function.params, notes), body=made, result=None
    )


_ATOMIC = {"": check.add, "max": check.raised, "min": check.lowered}


class _Telling:
    def __init__(self, function: ir.Function, notes: ir.Var):
        self.notes, self.made = notes, function.body.made

    def ops(self, ops: tuple[ir.Op, ...], block: tuple[ir.Var, ...], thread: tuple[ir.Var, ...]) -> list[ir.Op]:
        found: list[ir.Op] = []
        for op in ops:
            is_axis = isinstance(op, ir.For) and op.level is not None
            is_stretch = _is_threads(op) and not thread
            if is_stretch:
                found.append(self.call(next_stretch, block))
            if isinstance(op, ir.For) and is_axis:
                counter = op.body.args[0]
                inner = (*block, counter) if op.level == "blocks" else block
                own = (*thread, counter) if op.level == "threads" else thread
                inside = self.ops(op.body.ops, inner, own)
                is_last = op.level == "threads" and not any(_is_threads(o) for o in op.body.ops)
                inside = [self.call(at_thread, own), *inside] if is_last else inside
                found.append(dataclasses.replace(op, body=ir.with_ops(op.body, inside)))
            elif isinstance(op, ir.Alloc) and not thread and op.role is None:
                options = (("name", op.out.name), ("dtype", str(op.out.type.dtype)))  # type: ignore[attr-defined]
                found.append(ir.Call(callee=shared_in, args=(self.notes, *op.shape), outs=(op.out,), options=options))
            elif isinstance(op, ir.Store) and (op.extreme or (op.add and not op.promised)):
                args, callee = (op.array, *op.index, op.value), _ATOMIC[op.extreme]
                found.append(ir.Call(callee=callee, args=args, outs=(), effect=True, origin=op.origin))
            elif isinstance(op, ir.Call) and op.callee is distinct:
                load = self.made.get(op.args[0])
                if isinstance(load, ir.Load):
                    found.append(self.call(check.promised, (load.array, op.args[0], *load.index)))
                found.append(dataclasses.replace(op, callee=ir.cast))
            else:
                regions = [ir.with_ops(r, self.ops(r.ops, block, thread)) for r in op.regions]
                found.append(ir.with_regions(op, regions))
            if is_stretch:
                # what the block does next, it does behind a barrier
                found.append(self.call(next_stretch, block))
        return found

    def call(self, callee: Any, place: tuple[ir.Operand, ...]) -> ir.Op:
        return ir.Call(callee=callee, args=(self.notes, *place), outs=(), effect=True)


def _is_threads(op: ir.Op) -> bool:
    return isinstance(op, ir.For) and op.level == "threads"
