"""Variables that some path leaves undefined, where the derivative reads them on every path.

In: operations, and what is read of them. Out: the same, with an empty array, an empty tape or a zero for `Undefined`.

    while c: f = ...                 f = np.empty(0)
    if d: s = f[0]                   while c: f = ...
    f_bar = np.zeros_like(f)         f_bar = np.zeros_like(f)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import typed_const


def defined_between_sweeps(function: ir.Function) -> ir.Function:
    """Both sweeps, where what the reverse sweep reads in any case is there in any case.

    What the forward sweep reads in any case is: else the user's own program would fail there.
    """
    ops = function.body.ops
    middle = next((k for k, op in enumerate(ops) if isinstance(op, ir.Comment) and op.text == ir.REVERSE_SWEEP), 0)
    made = {out for op in ops[:middle] if op.regions for out in op.results if ir.is_reference(out)}
    sure = {o for op in ops[:middle] for o in op.operands}
    read = {o for op in ops[middle:] for o in op.operands if o in made and o not in sure}
    if not read:
        return function
    body = dataclasses.replace(function.body, ops=(*all_defined(ops[:middle], read), *ops[middle:]))
    return dataclasses.replace(function, body=body)


def all_defined(ops: Sequence[ir.Op], saved: Collection[ir.Operand]) -> list[ir.Op]:
    """The operations with something in place of what a path leaves undefined, where `saved` may come to be that."""
    wanted: set[ir.Operand] = set(saved)
    size = -1
    while size != len(wanted):
        size = len(wanted)
        for op in (inner for top in ops for inner in ir.with_inner(top)):
            joined: list[tuple[ir.Operand, ...]] = []
            if isinstance(op, ir.If):
                joined = [(out, op.then.yields[k], op.orelse.yields[k]) for k, out in enumerate(op.outs)]
            elif isinstance(op, ir.For | ir.While):
                args = ir.carried_args(op)
                joined = [(out, args[k], op.inits[k], op.body.yields[k]) for k, out in enumerate(op.outs)]
            for same in joined:
                # what a loop carries is read in it, whether or not its last value is
                if wanted.intersection(same[: len(same) - 2]):
                    wanted.update(same)
    return list(ir.rewritten(ir.Region((), tuple(ops), ()), lambda op: _defined(op, wanted)).ops)


def _defined(op: ir.Op, wanted: set[ir.Operand]) -> ir.Op:
    if isinstance(op, ir.Undefined) and op.out in wanted:
        type_ = op.out.type
        if isinstance(type_, types.Array):
            return ir.Alloc(shape=(ir.integer(0),) * type_.ndim, out=op.out)
        if isinstance(type_, types.List):
            return ir.NewTape(out=op.out)
        return ir.Call(callee=ir.cast, args=(typed_const(0, type_),), outs=(op.out,))
    return op
