"""Stand-ins do what the functions do that they stand for."""

import operator

import numpy as np
import pytest
from numba import njit, types
from numba.core import event

from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.stand_ins import stand_in
from adjit.runtime.backend.versions import is_plain
from adjit.transform.ir.types import call_type

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

compiled = njit(pipeline_class=GeneratedCompiler)


def likes(x):
    return np.empty_like(x), np.zeros_like(x), np.zeros_like(x, np.float32), np.empty_like(x, np.int64)


def shaped(n):
    return np.empty((2, n, 3)), np.zeros(n), np.zeros((n, 2), np.int32), np.empty(n, np.complex64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_likes(dtype, order):
    x = np.ones((3, 4), dtype, order)
    for found, expected in zip(compiled(likes)(x), likes(x), strict=True):
        assert (found.shape, found.dtype, found.strides) == (expected.shape, expected.dtype, expected.strides)
    for found in compiled(likes)(x[::2, ::3]):
        assert found.shape == (2, 2)
        assert found.flags.c_contiguous


@pytest.mark.parametrize("n", [0, 5])
def test_shapes(n):
    for found, expected in zip(compiled(shaped)(n), njit(shaped)(n), strict=True):
        assert (found.shape, found.dtype, found.strides) == (expected.shape, expected.dtype, expected.strides)


def test_zeros_are_zero():
    def zeros(x):
        return np.zeros_like(x), np.zeros(x.shape[0]), np.zeros_like(x.T)

    x = np.ones((30, 40))
    run = compiled(zeros)
    for _ in range(3):
        for found in run(x):
            assert not found.any()
            found[...] = 1.0


def test_readonly_arrays_have_likes_that_are_written():
    def copied(x):
        y = np.empty_like(x)
        for i in range(x.size):
            y[i] = x[i]
        return y

    x = np.arange(4.0)
    x.flags.writeable = False
    np.testing.assert_array_equal(compiled(copied)(x), x)


def test_what_is_too_large_is_an_error():
    def large(n):
        return np.zeros((n, n, n))

    with pytest.raises(ValueError, match="array is too big"):
        compiled(large)(2**40)


def extremes(a, b, c):
    return min(a, b), max(a, b), min(a, b, c), max(a, b, c)


@pytest.mark.parametrize(
    "numbers",
    [
        (1, 2, 3),
        (3, 2.5, 1),
        (0.0, -0.0, 0.0),
        (np.nan, 1.0, 2.0),
        (1.0, np.nan, 2.0),
        (np.float32(2), 1, 0),
        (True, 2, 0),
    ],
)
def test_extremes(numbers):
    expected = njit(extremes)(*numbers)
    for found, want in zip(compiled(extremes)(*numbers), expected, strict=True):
        assert type(found) is type(want)
        np.testing.assert_array_equal(found, want)
        assert np.signbit(found) == np.signbit(want)


def test_calls_that_no_stand_in_takes_are_numbas():
    def other(x):
        return max((1, 4, 2)), np.zeros(3, dtype=np.int64)[0], min(x, x, x, x)

    assert compiled(other)(2.0) == other(2.0)


def test_types_are_found_without_compiling():
    with event.install_recorder("numba:compile") as recorder:
        assert call_type(max, (types.float64, types.int32)) == types.float64
        assert call_type(min, (types.int64, types.int64)) == types.int64
        assert call_type(np.zeros, (types.UniTuple(types.int64, 2),)) == types.Array(types.float64, 2, "C")
    assert not recorder.buffer
    assert stand_in(operator.add, 2) is None
