"""The pool of memory on the device, which knows nothing of devices."""

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
