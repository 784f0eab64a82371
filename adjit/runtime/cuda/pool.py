"""Memory that earlier arrays gave back, for later ones: the driver's own allocation waits for the device.

In: a number of bytes and a stream. Out: a `Block`, which goes back when its last reference goes.

    block = pool.take(8000, stream)      del block      pool.take(7900, stream)      the same memory
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

LEAST = 512  # bytes of a block


class Pool:
    """Blocks by stream and size. `allocate` makes memory of so many bytes.

    What a block held is still read by kernels that were launched before it went back, so it is given again on the same
    stream only, where those come first. A block goes whenever the collector runs, so there is no lock: each step is one
    operation of a dictionary or a list.
    """

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        self._allocate = allocate
        self._free: dict[tuple[Any, int], list[Any]] = {}
        self._taken: dict[weakref.ref[Block], tuple[tuple[Any, int], Any]] = {}

    def take(self, size: int, stream: Any) -> Block:
        """A block of at least so many bytes."""
        key = (stream, size_class(size))
        try:
            memory = self._free[key].pop()
        except LookupError:
            memory = self._allocate(key[1])
        block = Block(memory)
        self._taken[weakref.ref(block, self._give_back)] = key, memory
        return block

    def _give_back(self, gone: weakref.ref[Block]) -> None:
        """Keeps memory for later."""
        key, memory = self._taken.pop(gone)
        self._free.setdefault(key, []).append(memory)

    def clear(self) -> None:
        """Lets go of all memory that nobody uses."""
        self._free.clear()

    @property
    def bytes(self) -> int:
        """How much is kept that nobody uses."""
        return sum(size * len(kept) for (_, size), kept in list(self._free.items()))


class Block:
    """Memory from a pool, which has it again as the block goes.

    Not by a method of the block's, which would run after the memory is let go of where both go as parts of one cycle.
    """

    __slots__ = ("__weakref__", "memory")

    def __init__(self, memory: Any) -> None:
        self.memory = memory


def size_class(size: int) -> int:
    """Sizes that share their blocks: an eighth of a power of two apart."""
    if size <= LEAST:
        return LEAST
    step = 1 << max(0, (size - 1).bit_length() - 4)
    return -(-size // step) * step
