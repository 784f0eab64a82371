"""Elements that threads of a kernel raise, or lower: `cuda.atomic.max` and `min`.

In: an operation. Out: the store that does it, and the same without the test before it, which is the device's then.

    old = m[0]                           store %m[0] max= %v
    if v > old: m[0] = v       ──►
"""

from __future__ import annotations

import dataclasses

from adjit.transform import ir


def extreme_in(op: ir.Op) -> ir.Store | None:
    """The store to an element that a branch raises or lowers; None of any other operation."""
    if not isinstance(op, ir.If) or len(op.then.ops) != 1 or op.orelse.ops:
        return None
    (inner,) = op.then.ops
    return inner if isinstance(inner, ir.Store) and inner.extreme else None


def as_atomic(op: ir.Op) -> ir.Op:
    """A branch that raises an element as one operation of the device's; other operations as they are."""
    store = extreme_in(op)
    return op if store is None else dataclasses.replace(store, atomic=True)
