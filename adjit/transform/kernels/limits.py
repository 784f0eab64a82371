"""What a block has room for.

In: a kernel as a nest, and how many arrays there will be in the place of one. Out: nothing, or Unsupported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.ir.types import array_type_of

MOST_SHARED = 48 * 1024  # bytes of a block's arrays of literal shape


def check_shared(function: ir.Function, has_shadows: bool) -> None:
    """Unsupported where the shared arrays of a block, with shadows of those of floats, take more than there is."""
    arrays = list(_shared(function.body))
    taken = {op: _bytes(op, has_shadows) for op in arrays}
    if sum(taken.values()) <= MOST_SHARED:
        return
    largest = max(arrays, key=taken.__getitem__)
    raise errors.Unsupported(
        f"shared arrays of {sum(taken.values()):,} bytes" + ", with their shadows" * has_shadows,
        ir.place_of(largest.origin),
        f"A block has {MOST_SHARED:,}.",
        "Make the block smaller, or its arrays.",
    )


def _shared(region: ir.Region) -> Iterator[ir.Alloc]:
    for op in region.ops:
        if isinstance(op, ir.Alloc) and op.role is None and all(isinstance(n, ir.Const) for n in op.shape):
            yield op
        elif not (isinstance(op, ir.For) and op.level == "threads"):
            for inner in op.regions:
                yield from _shared(inner)


def _bytes(op: ir.Alloc, has_shadows: bool) -> int:
    dtype: Any = array_type_of(op.out).dtype
    own = math.prod(int(n.value) for n in op.shape if isinstance(n, ir.Const)) * int(dtype.bitwidth) // 8
    return own * (2 if has_shadows and isinstance(dtype, types.Float) else 1)
