"""Clears of elements that nothing reads afterwards are left out.

    y_bar = h_bar[i]                          y_bar = h_bar[i]
    h_bar[i] = 0.0                            x_bar[i] += w * y_bar
    x_bar[i] += w * y_bar

In: a function. Out: the same without such clears. The adjoint of a store reads and clears the adjoint of the element,
as an earlier value may have been read; where there is none, isl finds no read that comes after the clear.
"""

from __future__ import annotations

import dataclasses

from adjit.transform import ir
from adjit.transform.analysis.alias import Aliases
from adjit.transform.analysis.elements import IndexModel, is_clear


def leave_out_clears(function: ir.Function) -> ir.Function:
    """The function without the clears of its own arrays that nothing reads."""
    clears = [op for op in ir.walk(function.body) if isinstance(op, ir.Store) and is_clear(op)]
    if not clears:
        return function
    aliases = function.analysis(Aliases)
    shown = {aliases.find(o) for o in (*function.body.args, *function.body.yields) if ir.is_reference(o)}
    model = function.analysis(IndexModel)
    readers: dict[ir.Operand, list[ir.Op]] = {}
    for op in ir.walk(function.body):
        arrays = (op.array,) if isinstance(op, ir.Store) and op.add else op.memory_read
        for memory in {aliases.find(array) for array in arrays}:
            readers.setdefault(memory, []).append(op)
    idle = {
        clear
        for clear in clears
        if (memory := aliases.find(clear.array)) not in shown
        and not any(model.may_read(clear, reader) for reader in readers.get(memory, ()))
    }
    return dataclasses.replace(function, body=ir.replaced(function.body, dict.fromkeys(idle, ()))) if idle else function
