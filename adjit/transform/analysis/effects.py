"""What an operation does besides giving its result.

In: an operation. Out: yes or no.

    is_check(call broadcast_extent(%n, %m))   ->   True: it raises, or gives an extent
"""

from __future__ import annotations

from adjit.runtime.library import broadcast_extent, stored_extent
from adjit.transform import ir

_CHECKS = (broadcast_extent, stored_extent)


def is_check(op: ir.Op) -> bool:
    """Whether an operation may raise an error, and does nothing else but to give an extent."""
    return isinstance(op, ir.Call) and op.callee in _CHECKS
