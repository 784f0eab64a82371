"""Memory that earlier arrays gave back, for later ones: the driver's own allocation waits for the device.

In: a number of bytes and a stream. Out: a `Block`, which goes back when its last reference goes.

    block = pool.take(8000, stream)      del block      pool.take(7900, stream)      the same memory
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

LEAST = 512  # bytes of a block


class Pool:
    """Blocks by stream and size. `allocate` makes memory of so many bytes.

    What a block held is still read by kernels that were launched before it went back, so it is given again on the same
    stream only, where those come first.
    """

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        self._allocate = allocate
        self._free: dict[tuple[Any, int], list[Any]] = {}
        self._lock = threading.Lock()

    def take(self, size: int, stream: Any) -> Block:
        """A block of at least so many bytes."""
        key = (stream, size_class(size))
        with self._lock:
            kept = self._free.get(key)
            memory = kept.pop() if kept else None
        return Block(self, key, self._allocate(key[1]) if memory is None else memory)

    def give_back(self, key: tuple[Any, int], memory: Any) -> None:
        """Keeps memory for later."""
        with self._lock:
            self._free.setdefault(key, []).append(memory)

    def clear(self) -> None:
        """Lets go of all memory that nobody uses."""
        with self._lock:
            self._free.clear()

    @property
    def bytes(self) -> int:
        """How much is kept that nobody uses."""
        with self._lock:
            return sum(size * len(kept) for (_, size), kept in self._free.items())


class Block:
    """Memory from a pool, which has it again as the block goes.

    Not by a method of the block's, which would run after the memory is let go of where both go as parts of one cycle.
    """

    def __init__(self, pool: Pool, key: tuple[Any, int], memory: Any) -> None:
        self.memory = memory
        weakref.finalize(self, pool.give_back, key, memory).atexit = False


def size_class(size: int) -> int:
    """Sizes that share their blocks: an eighth of a power of two apart."""
    if size <= LEAST:
        return LEAST
    step = 1 << max(0, (size - 1).bit_length() - 4)
    return -(-size // step) * step
