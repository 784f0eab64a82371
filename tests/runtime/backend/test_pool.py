"""Memory that arrays give back: it is taken again, never while it is held, by any thread, and within bounds."""

import ctypes
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.runtime.backend import pool
from adjit.runtime.backend.versions import is_plain
from adjit.runtime.library import workspace

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

MIB = 2**20


@pytest.fixture(autouse=True)
def fresh():
    pool.ready()
    pool.clear_workspaces()
    yield
    pool._pool().limits(1024 * MIB, MIB)
    pool.clear_workspaces()


@njit(nogil=True)
def made(n):
    return workspace.empty(n)


@njit(nogil=True)
def all_kinds(n, m):
    plain, single = workspace.empty((n, m)), workspace.zeros(n, np.float32)
    like, empty = workspace.zeros_like(plain), workspace.empty_like(single)
    plain[:, :] = 3.0
    empty[:] = 1
    return plain, single, like, empty


@pytest.mark.parametrize("shape", [(3, 4), (0, 5), (700, 900)])
def test_arrays_are_as_numpys(shape):
    for call in (all_kinds, all_kinds.py_func):
        for _ in range(2):
            plain, single, like, empty = call(*shape)
            np.testing.assert_array_equal(plain, np.full(shape, 3.0))
            np.testing.assert_array_equal(single, np.zeros(shape[0], np.float32))
            np.testing.assert_array_equal(like, np.zeros(shape))
            np.testing.assert_array_equal(empty, np.ones(shape[0], np.float32))
            assert [a.dtype for a in (plain, single, like, empty)] == [float, np.float32, float, np.float32]
            assert all(a.flags.c_contiguous and a.flags.writeable for a in (plain, single, like, empty))


def test_faults_are_numpys():
    with pytest.raises(ValueError, match="negative"):
        made(-1)
    with pytest.raises(ValueError, match="too big"):
        made(2**61)
    with pytest.raises(MemoryError):
        made(2**58)


@njit
def of_rank(rank, a, b):
    if rank == 3:
        return workspace.empty((2, a, b)).size + np.empty((a, b, 2)).size
    return workspace.empty((b, 2, 1, a)).size + np.empty((a, 1, 1, 2 * b)).size


def test_extents_are_checked_whatever_their_number():
    for rank in (3, 4):
        assert [of_rank(rank, 3, 5), of_rank(rank, 0, 5)] == [60, 0]
        for a, b in ((-1, 5), (5, -1), (-(2**40), 2**40)):
            with pytest.raises(ValueError, match="negative"):
                of_rank(rank, a, b)
        with pytest.raises(ValueError, match="too big"):
            of_rank(rank, 2**31, 2**31)
    assert of_rank.py_func(3, 3, 5) == 60


def test_code_that_numba_kept_finds_the_pool():
    """Its first call may come before anything is compiled here."""
    raised = ctypes.c_void_p()
    for name in (pool.BLOCK, pool.ALLOCATION):
        make = pool._FIRST[name]
        assert make(ctypes.addressof(raised), 8, 3, 1, 0, None)
        assert not raised.value
        assert make(ctypes.addressof(raised), 8, 3, -1, 0, None) is None
        assert pool._Fault.from_address(raised.value).length == 77
        raised.value = None


def test_memory_comes_back_and_is_taken_again():
    first = made(MIB)
    place = first.ctypes.data
    assert place % 64 == 0
    assert adjit.workspace_bytes() == 0
    del first
    assert adjit.workspace_bytes() == 8 * MIB
    again = made(MIB - 1000)
    assert again.ctypes.data == place
    assert adjit.workspace_bytes() == 0


def test_memory_that_is_held_is_not_taken():
    held = made(MIB)
    view = held[10:]
    held[:] = 1.0
    del held
    for _ in range(3):
        made(MIB)[:] = 2.0
    assert np.all(view == 1.0)


def test_small_arrays_are_not_kept():
    made(1000)
    assert adjit.workspace_bytes() == 0


def test_a_much_smaller_array_does_not_take_a_large_block():
    made(8 * MIB)
    small = made(MIB)
    assert adjit.workspace_bytes() == 64 * MIB
    del small


def test_what_is_kept_is_bounded_and_the_oldest_goes():
    pool._pool().limits(40 * MIB, MIB)
    arrays = [made(n * MIB) for n in (1, 2, 1)]
    places = [a.ctypes.data for a in arrays]
    while arrays:
        del arrays[0]
    assert adjit.workspace_bytes() == 32 * MIB
    made(3 * MIB)  # 24 MiB: makes the first two go
    assert adjit.workspace_bytes() == 32 * MIB
    assert made(MIB).ctypes.data == places[2]
    made(6 * MIB)  # larger than all that may be kept
    assert adjit.workspace_bytes() == 32 * MIB


def test_there_is_room_for_a_bounded_number():
    arrays = [made(MIB // 4) for _ in range(100)]
    while arrays:
        arrays.pop()
    assert adjit.workspace_bytes() == 64 * 2 * MIB


def test_threads_share_it():
    wrong = []

    def work(seed):
        draw = np.random.default_rng(seed)
        for _ in range(200):
            n = int(draw.integers(100_000, 600_000))
            array = made(n)
            array[:] = seed
            if array.size != n or not np.all(array == seed):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    pool.clear_workspaces()
    assert adjit.workspace_bytes() == 0


def test_a_derivative_leaves_its_tape_there():
    def long(x, n):
        for t in range(n):
            x = np.sin(x) * x
        return x

    gradient = adjit.grad(long)
    assert "workspace.empty(" in gradient.source(0.5, 2, tuned=True)
    first = gradient(1.5, 300_000)
    kept = adjit.workspace_bytes()
    assert kept >= 300_000 * 8
    assert gradient(1.5, 300_000) == first
    assert adjit.workspace_bytes() == kept


def test_a_gradient_that_is_returned_is_the_callers():
    def total(x):
        return np.sum(np.exp(x))

    gradient = adjit.grad(total)
    first = gradient(np.zeros(300_000))
    second = gradient(np.ones(300_000))
    assert not np.shares_memory(first, second)
    assert np.all(first == 1.0)


def advised(address):
    """Whether the system was asked for large pages at the address."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if bounds:
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    return False


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists() or not Path("/proc/self/smaps").exists(),
    reason="the system has no large pages to ask for",
)
def test_long_blocks_ask_for_large_pages():
    long = made(4 * MIB)
    assert advised(long.ctypes.data + 16 * MIB)
