"""The pool of memory on the device, which knows nothing of devices."""

import gc
import weakref

import pytest

from adjit.runtime.cuda import pool


def test_a_block_goes_back_with_its_last_reference_and_is_given_again():
    made = pool.Pool(bytearray)
    block = made.take(8000, 0)
    memory, other = block.memory, block
    del block
    assert made.bytes == 0
    del other
    assert made.bytes == len(memory)
    assert made.take(7990, 0).memory is memory


class Memory:
    """Memory of a driver's, which is let go of by a callback as the last reference goes."""

    def __init__(self, size):
        self.is_there = [True]
        weakref.finalize(self, self.is_there.clear)


def test_memory_of_a_block_that_goes_in_a_cycle_is_still_there():
    # an exception's frames have such cycles
    made = pool.Pool(Memory)
    kept = [made.take(100, 0)]
    kept.append(kept)
    is_there = kept[0].memory.is_there
    del kept
    gc.collect()
    assert made.bytes == 512
    assert is_there
    assert made.take(100, 0).memory.is_there is is_there


def test_blocks_are_given_again_on_their_stream_only():
    made = pool.Pool(bytearray)
    memory = made.take(100, "a").memory
    assert made.take(100, "b").memory is not memory
    assert made.take(100, "a").memory is memory
    made.clear()
    assert made.bytes == 0


@pytest.mark.parametrize("size", [1, 512, 513, 1000, 4096, 5000, 10**6, 10**9 + 7])
def test_a_block_is_large_enough_and_not_much_larger(size):
    own = pool.size_class(size)
    assert size <= own <= max(512, size * 9 // 8 + 1)
    assert pool.size_class(own) == own
