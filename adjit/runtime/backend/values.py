"""Which variables of numba's form of a function are values, and need no place in memory; and values that are parts.

In: blocks of statements in single assignment. Out: the names of those that are set once, before all that reads them.

    n = u.shape[0]             n is the extent wherever it is read, in this block and in those after it
    b[i + 1, j] = c * x        (i + 1, j) is two numbers: no tuple is put together and taken apart

LLVM finds the same, by an analysis of memory in which most of what numba writes is loads and stores of variables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llvmlite import ir as llvm
from numba import types
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.unsafe import eh

from adjit.runtime.backend import lifetimes


class Parts(NamedTuple):
    """A tuple, a range, or what an iterator gives next, as the values that it is made of."""

    kind: types.Type
    values: Sequence[llvm.Value]


class Known(NamedTuple):
    """Variables that are set once."""

    local: frozenset[str]  # and read in that block alone
    wide: frozenset[str]  # and read after it in others, too


def known_variables(blocks: Mapping[int, Any]) -> Known:
    """Those whose only assignment comes before all that reads them, in whatever way a block is reached."""
    uses = {label: lifetimes.of_block(block) for label, block in blocks.items()}
    times = Counter(s.target.name for b in blocks.values() for s in b.body if isinstance(s, ir.Assign))
    read: dict[str, list[int]] = {}
    for label, used in uses.items():
        for name in used.read:
            read.setdefault(name, []).append(label)
    set_in = {name: label for label, used in uses.items() for name in used.set if times[name] == 1}
    local = frozenset(name for name in set_in if name not in read)
    if _catches(blocks):
        # what raises goes from the middle of a block to where it is caught
        return Known(local, frozenset())
    above = compute_cfg_from_blocks(blocks).dominators()
    wide = frozenset(
        name
        for name, label in set_in.items()
        # blocks are written in the order of their labels
        if name in read and all(label < other and label in above[other] for other in read[name])
    )
    return Known(local, wide)


def _catches(blocks: Mapping[int, Any]) -> bool:
    return any(
        isinstance(s, ir.Assign) and isinstance(s.value, ir.Global) and s.value.value is eh.exception_check
        for block in blocks.values()
        for s in block.body
    )
