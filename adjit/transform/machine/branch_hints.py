"""The test that decides between two ways of the compiler's own says which of them is taken where time matters.

In: a derivative as it is emitted. Out: the same. LLVM takes the loops of the other way as they are: no vectors, no
trips made one. Without, those for small grids are a tenth of what a stencil's first gradient waits for.

    if (n > 3) & (m > 3): ...           if usual((n > 3) & (m > 3)): ...
    else: ...                           else: ...
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from numba import types

from adjit.runtime.library import usual
from adjit.transform import ir


def mark_likely(function: ir.Function) -> ir.Function:
    """The function, with tests that say so."""
    return ir.with_body(function, ir.rewritten(function.body, _said))


def _said(op: ir.Op) -> Sequence[ir.Op]:
    if not isinstance(op, ir.If) or not op.usual or not any(isinstance(o, ir.For | ir.While) for o in op.orelse.inside):
        return (op,)
    builder = ir.Builder(op.origin)
    test = builder.call(usual, op.condition, type=types.boolean, name="is_usual")
    return (*builder.ops, dataclasses.replace(op, condition=test, usual=False))
