"""The two sweeps of a joint derivative as two functions: one returns what the other one takes.

In: a function with both sweeps in it. Out: the forward function, whose result is (value, saved), and the reverse function
of (saved, seed); or None where what is saved cannot be handed from one compiled function to another.

    y = np.exp(x)                   forward:  y = np.exp(x); return y, (y,)
    x_bar = y * y_bar               reverse:  x_bar = y * y_bar; return x_bar
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.alias import Aliases


def split(joint: ir.Function, values: int, seeds: Sequence[ir.Var], names: Sequence[str]) -> tuple[ir.Function, ir.Function] | None:
    """`values` of the yields are those of the primal; `seeds` are the last parameters, called `names` by parameter."""
    ops = joint.body.ops
    middle = next(k for k, op in enumerate(ops) if isinstance(op, ir.Comment) and op.text == ir.REVERSE_SWEEP)
    first, second = list(ops[:middle]), list(ops[middle + 1 :])
    own = [p for p in joint.body.args if p not in set(seeds)]
    bars = joint.body.yields[values:]
    saved = _saved(own, first, second, bars)
    renamed: dict[ir.Var, ir.Operand] = {}
    for tape in [s for s in saved if isinstance(s.type, types.List)]:
        if isinstance(tape.type.dtype, types.Array):
            return None
        # a list would be converted entry by entry on the way out and in again
        array = ir.Var(tape.name, types.Array(tape.type.dtype, 1, "C"))
        first.append(ir.Call(callee=np.array, args=(tape,), outs=(array,)))
        renamed[tape] = array
    second = [_reading_arrays(op, renamed) for op in second]
    handed = [renamed.get(s, s) for s in saved]
    entry = _own_copies(joint, [s for s in saved if s not in renamed], second)
    if entry is None:
        return None
    copies, mapping = entry
    second = [ir.substituted(op, mapping) for op in second]
    bars = tuple(ir.substituted_operand(b, mapping) for b in bars)
    first, yields = _own_results(joint, first, saved, joint.body.yields[:values])
    count = len(yields)
    forward = dataclasses.replace(
        joint,
        names=joint.names[: len(joint.names) - len(names)],
        params=joint.params[: len(joint.params) - len(names)],
        body=ir.Region(tuple(own), tuple(first), (*yields, *handed)),
        result=(joint.result, tuple(range(count, count + len(handed)))),
    )
    params = tuple(h for h in handed if isinstance(h, ir.Var))
    reverse = dataclasses.replace(
        joint,
        names=("saved", *names),
        params=(params, *joint.params[len(joint.params) - len(names) :]),
        body=ir.Region((*params, *seeds), (*copies, *second), bars),
        result=tuple(range(len(bars))),
    )
    return forward, reverse


def _saved(
    own: Sequence[ir.Var], first: Sequence[ir.Op], second: Sequence[ir.Op], bars: Sequence[ir.Operand]
) -> list[ir.Var]:
    """The values of the forward sweep that the reverse sweep reads."""
    made = {*own, *(out for op in first for out in op.results)}
    read = [o for op in second for o in ir.reads(op)] + list(bars)
    return list(dict.fromkeys(o for o in read if isinstance(o, ir.Var) and o in made))


def _reading_arrays(op: ir.Op, renamed: dict[ir.Var, ir.Operand]) -> ir.Op:
    """Reads of a tape that is now an array."""
    if isinstance(op, ir.Pull) and op.tape in renamed:
        assert isinstance(op.tape, ir.Var)
        return ir.Load(array=renamed[op.tape], index=(op.index,), out=op.out, origin=op.origin)
    regions = [
        ir.Region(r.args, tuple(_reading_arrays(inner, renamed) for inner in r.ops), r.yields) for r in op.regions
    ]
    operands = [ir.substituted_operand(o, renamed) for o in op.operands]
    return op.rebuilt(operands, regions, op.results) if regions or op.operands else op


def _own_copies(
    joint: ir.Function, saved: Sequence[ir.Var], second: Sequence[ir.Op]
) -> tuple[list[ir.Op], dict[ir.Var, ir.Operand]] | None:
    """Copies of the saved arrays that the reverse sweep writes into, as it may run again; None where two share memory."""
    aliases = Aliases(joint)
    written = {aliases.find(op.array) for top in second for op in (top, *_inside(top)) if isinstance(op, ir.Store)}
    arrays = [s for s in saved if isinstance(s.type, types.Array)]
    copies: list[ir.Op] = []
    mapping: dict[ir.Var, ir.Operand] = {}
    for array in arrays:
        memory = aliases.find(array)
        if memory not in written:
            continue
        if sum(aliases.find(other) == memory for other in arrays) > 1:
            return None
        own = dataclasses.replace(array)
        copies.append(ir.Copy(source=array, out=own))
        mapping[array] = own
    return copies, mapping


def _own_results(
    joint: ir.Function, first: list[ir.Op], saved: Sequence[ir.Var], values: Sequence[ir.Operand]
) -> tuple[list[ir.Op], list[ir.Operand]]:
    """The values, copied where what is saved shares their memory: they belong to the caller."""
    aliases = Aliases(joint)
    kept = {aliases.find(s) for s in saved if isinstance(s.type, types.Array)}
    yields: list[ir.Operand] = []
    for value in values:
        if isinstance(value, ir.Var) and isinstance(value.type, types.Array) and aliases.find(value) in kept:
            out = dataclasses.replace(value)
            first = [*first, ir.Copy(source=value, out=out)]
            value = out
        yields.append(value)
    return first, yields


def _inside(op: ir.Op) -> list[ir.Op]:
    return [inner for region in op.regions for inner in ir.walk(region)]
