"""What a block has room for.

In: a kernel as a nest. Out: nothing, or Unsupported. Of its derivatives, what has no room is in global memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from adjit import errors
from adjit.transform import ir
from adjit.transform.ir.types import array_type_of

MOST_SHARED = 48 * 1024  # bytes of a block's arrays of literal shape


def check_shared(function: ir.Function) -> None:
    """Unsupported where the shared arrays of a block take more than there is."""
    arrays = list(_shared(function.body))
    taken = {op: _bytes(op) for op in arrays}
    if sum(taken.values()) <= MOST_SHARED:
        return
    largest = max(arrays, key=taken.__getitem__)
    raise errors.Unsupported(
        f"shared arrays of {sum(taken.values()):,} bytes",
        ir.place_of(largest.origin),
        f"A block has {MOST_SHARED:,}.",
        "Use smaller blocks, or smaller arrays.",
    )


def _shared(region: ir.Region) -> Iterator[ir.Alloc]:
    for op in region.ops:
        if isinstance(op, ir.Alloc) and op.role is None and all(isinstance(n, ir.Const) for n in op.shape):
            yield op
        elif not (isinstance(op, ir.For) and op.level == "threads"):
            for inner in op.regions:
                yield from _shared(inner)


def _bytes(op: ir.Alloc) -> int:
    dtype: Any = array_type_of(op.out).dtype
    return math.prod(int(n.value) for n in op.shape if isinstance(n, ir.Const)) * int(dtype.bitwidth) // 8
