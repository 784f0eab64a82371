"""The two sweeps of a joint derivative as two functions: one returns what the other one takes.

In: a function with both sweeps in it. Out: the forward function, whose result is (value, saved, changed), and the
reverse function of (saved, changed, seed); or None where what is saved cannot be handed from one compiled function to
another. `changed` has the arrays that the reverse sweep writes into or returns: who runs it again gives it copies,
which share memory among themselves as the originals do.

    y = np.exp(x)                   forward:  y = np.exp(x); return y, (y,), ()
    x_bar = y * y_bar               reverse:  x_bar = y * y_bar; return x_bar
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.derive.shadows import is_array_tape
from adjit.transform.rewrite.define_undefined import all_defined


def split(
    joint: ir.Function, values: int, seeds: Sequence[ir.Var], names: Sequence[str]
) -> tuple[ir.Function, ir.Function] | None:
    """`values` of the yields are those of the primal; `seeds` are the last parameters, called `names` by parameter."""
    ops, aliases = joint.body.ops, joint.analysis(Aliases)
    middle = next(k for k, op in enumerate(ops) if isinstance(op, ir.Comment) and op.text == ir.REVERSE_SWEEP)
    first, second = list(ops[:middle]), list(ops[middle + 1 :])
    own = [p for p in joint.body.args if p not in set(seeds)]
    bars = joint.body.yields[values:]
    saved = _saved(own, first, second, bars)
    renamed: dict[ir.Var, ir.Var] = {}
    for tape in saved:
        if not isinstance(tape.type, types.List):
            continue
        if is_array_tape(tape) or isinstance(tape.type.dtype, types.List):
            return None
        # a list would be converted entry by entry on the way out and in again
        array = ir.Var(tape.name, types.Array(tape.type.dtype, 1, "C"))
        # an empty list says nothing of its type to plain Python
        is_float64 = tape.type.dtype == types.float64
        options = () if is_float64 else (("dtype", np.dtype(str(tape.type.dtype))),)
        first.append(ir.Call(callee=np.array, args=(tape,), outs=(array,), options=options))
        renamed[tape] = array
    first = all_defined(first, saved)
    second = [_reading_arrays(op, renamed) for op in second]
    changed = _changed(aliases, saved, second, bars)
    kept = [renamed.get(s, s) for s in saved if s not in changed]
    copies, yields = _own_results(aliases, saved, joint.body.yields[:values])
    cut, count, border = len(joint.params) - len(names), len(yields), len(yields) + len(kept)
    forward = dataclasses.replace(
        joint,
        names=joint.names[:cut],
        params=joint.params[:cut],
        body=ir.Region(tuple(own), (*first, *copies), (*yields, *kept, *changed)),
        result=(joint.result, tuple(range(count, border)), tuple(range(border, border + len(changed)))),
    )
    reverse = dataclasses.replace(
        joint,
        names=("saved", "changed", *names),
        params=(tuple(kept), tuple(changed), *joint.params[cut:]),
        body=ir.Region((*kept, *changed, *seeds), tuple(second), bars),
        result=tuple(range(len(bars))),
        overlapping=_overlapping(aliases, changed),
        comments=(),
    )
    return forward, reverse


def _saved(
    own: Sequence[ir.Var], first: Sequence[ir.Op], second: Sequence[ir.Op], bars: Sequence[ir.Operand]
) -> list[ir.Var]:
    """The values of the forward sweep that the reverse sweep reads."""
    made = {*own, *(out for op in first for out in op.results)}
    read = [o for op in second for o in ir.reads(op)] + list(bars)
    return list(dict.fromkeys(o for o in read if isinstance(o, ir.Var) and o in made))


def _reading_arrays(op: ir.Op, renamed: Mapping[ir.Var, ir.Var]) -> ir.Op:
    """The operation with what it reads of a tape read of an array."""

    def read(inner: ir.Op) -> ir.Op:
        if isinstance(inner, ir.Pull) and inner.tape in renamed:
            return ir.Load(array=inner.tape, index=(inner.index,), out=inner.out, origin=inner.origin)
        return inner

    return ir.substituted(ir.rewritten_op(op, read), renamed)


def _changed(
    aliases: Aliases, saved: Sequence[ir.Var], second: Sequence[ir.Op], bars: Sequence[ir.Operand]
) -> list[ir.Var]:
    """The saved arrays that the reverse sweep writes into or returns, and all that may share memory with them."""
    stores = [inner.array for op in second for inner in ir.with_inner(op) if isinstance(inner, ir.Store)]
    touched = {aliases.find(array) for array in (*bars, *stores) if ir.is_array(array)}
    return [s for s in saved if ir.is_array(s) and aliases.find(s) in touched]


def _overlapping(aliases: Aliases, changed: Sequence[ir.Var]) -> tuple[tuple[ir.Var, ...], ...]:
    """The arrays that may be names of one memory which is changed, such as an array and a view of it."""
    groups: dict[ir.Operand, list[ir.Var]] = {}
    for array in changed:
        groups.setdefault(aliases.find(array), []).append(array)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _own_results(
    aliases: Aliases, saved: Sequence[ir.Var], values: Sequence[ir.Operand]
) -> tuple[list[ir.Op], list[ir.Operand]]:
    """The values, copied where what is saved shares their memory: they belong to the caller."""
    copies: list[ir.Op] = []
    yields: list[ir.Operand] = []
    for value in values:
        if isinstance(value, ir.Var) and ir.is_array(value) and aliases.is_named(aliases.find(value), saved):
            out = dataclasses.replace(value)
            copies.append(ir.Copy(source=value, out=out))
            value = out
        yields.append(value)
    return copies, yields
