"""What `lowering.py` writes means the same as what numba writes, in fewer instructions."""

import gc

import numpy as np
import pytest
from numba import njit
from numba.core.codegen import CPUCodeLibrary
from numba.core.runtime import _nrt_python, rtsys

from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.versions import is_plain

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

compiled = njit(pipeline_class=GeneratedCompiler, error_model="numpy")


def laid_out(array):
    """The array in C order, in Fortran order, and with gaps."""
    gaps = np.zeros(tuple(2 * n for n in array.shape), array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
    gaps[...] = array
    return [array.copy(), np.asfortranarray(array), gaps]


def swapped(a, i, j):
    kept = a[i, j]
    a[i, j] = a[j, -1]
    a[j, -1] = kept
    return kept


def block(a, start, stop):
    total = 0.0
    part = a[start:stop]
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            total += (i + 1) * part[i, j] + 10 * part.size
    return total


def row_part(a, i, start, stop):
    part = a[i, start:stop]
    total = 0.0
    for k in range(part.shape[0]):
        total += (k + 1) * part[k] + part.strides[0]
        part[k] = -1.0
    return total


def ends(a, k):
    head, tail, whole = a[:k], a[k:], a[:]
    return head.size, tail.size, whole.size, head[-1] if head.size else 0.0, tail[0] if tail.size else 0.0


def column(a, j):
    part = a[:, j]
    return part[0] + part[-1], part.shape[0], part.strides[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64, np.bool_])
def test_elements(dtype):
    plain = (np.arange(12.0).reshape(3, 4) % 5).astype(dtype)
    for array in laid_out(plain):
        for i, j in ((0, 1), (-1, 2), (2, -2), (np.uint8(1), np.int32(-1)), (np.uint64(2), 0)):
            expected, found = array.copy(), array
            want = swapped(expected, i, j)
            assert compiled(swapped)(found, i, j) == want
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("start", [-9, -3, -1, 0, 1, 3, 4, 9])
@pytest.mark.parametrize("stop", [-9, -2, 0, 2, 4, 9])
def test_slices(start, stop):
    for array in laid_out(np.arange(20.0).reshape(4, 5)):
        assert _block(array, start, stop) == block(array, start, stop)
        other = array.copy(order="K")
        if array.strides != other.strides:
            other = np.zeros((8, 10))[::2, ::2]
            other[...] = array
        assert _row_part(array, -2, start, stop) == row_part(other, -2, start, stop)
        np.testing.assert_array_equal(array, other)


_block, _row_part = compiled(block), compiled(row_part)


@pytest.mark.parametrize("k", [-5, -1, 0, 2, 4, 7])
def test_slices_with_one_end_or_none(k):
    assert compiled(ends)(np.arange(4.0), k) == ends(np.arange(4.0), k)


def test_columns():
    for array in laid_out(np.arange(20.0).reshape(4, 5)):
        assert compiled(column)(array, -2) == column(array, -2)


def counted_up(start, stop):
    found = 0
    for i in range(start, stop):
        found = 10 * found + i
    return found


def counted_down(start, stop):
    found = 0
    for i in range(start, stop, -1):
        found = 10 * found + i
    return found


def by_threes(start, stop):
    found = 0
    for i in range(start, stop, 3):
        found = 10 * found + i
    for i in range(stop, start, -3):
        found = 10 * found + i
    return found


def by_any(start, stop, step):
    found = 0
    for i in range(start, stop, step):
        if i == 7:
            break
        for _ in range(i):
            found += i
    return found


@pytest.mark.parametrize("start", [-4, 0, 2, 5])
@pytest.mark.parametrize("stop", [-5, -4, 0, 1, 2, 3, 6, 8])
@pytest.mark.parametrize("kind", [int, np.int32])
def test_ranges(start, stop, kind):
    for function in (counted_up, counted_down, by_threes):
        assert _RANGES[function](kind(start), kind(stop)) == function(start, stop)
    for step in (1, 2, -1, -2):
        assert _by_any(start, stop, step) == by_any(start, stop, step)


_RANGES = {function: compiled(function) for function in (counted_up, counted_down, by_threes)}
_by_any = compiled(by_any)


def by_blocks(n, width):
    step = min(64, max(1, n), 16 * max(1, width // 5))
    seen = []
    for first in range(0, n, step):
        seen.append(first)
        for k in range(n, first, step):
            seen.append(-k)
    return seen


def test_ranges_whose_step_is_known_to_be_positive():
    made = compiled(by_blocks)
    for n in (-3, 0, 1, 63, 64, 200):
        for width in (-20, 0, 3, 4, 7, 11, 100):
            assert made(n, width) == by_blocks(n, width)


def test_a_step_of_zero_is_an_error():
    with pytest.raises(ValueError, match="must not be zero"):
        _by_any(0, 3, 0)


def parts_by_constants(a):
    views = a[1:, ::2], a[:-1, 1::3], a[-2:, :1], a[5:, 0:], a[-1], a[0, 1:4:2], a[:, -2], a.T, a.T[1:]
    total = 0.0
    for view in views[:4]:
        for i in range(view.shape[0]):
            for j in range(view.shape[1]):
                total += (1 + i + 10 * j) * view[i, j]
    return total, views[4].sum(), views[5].sum(), views[6].sum(), views[7].shape, views[8].size, views[7][3, 2], a.size


def test_views_by_constants():
    for array in laid_out(np.arange(20.0).reshape(4, 5)):
        assert compiled(parts_by_constants)(array) == parts_by_constants(array)


def counted_both_ways(a):
    total = 0.0
    for i in range(a.size):
        total += (i + 1) * a[i] * a[i - 2] * a[-i]
    for i in range(a.size - 1, -1, -1):
        total += a[i] * a[i - 1]
    for i in range(-2, a.size):
        total += 3.0 * a[i]
    for i in range(-1, -a.size, -1):
        total += (i + 0.5) * a[i]
    return total


def test_counters_that_are_never_negative_and_others():
    a = np.random.default_rng(0).normal(size=6)
    assert compiled(counted_both_ways)(a) == counted_both_ways(a)


@pytest.mark.parametrize("shape, message", [(-1, "negative dimensions"), (2**62, "too big")])
def test_arrays_that_cannot_be(shape, message):
    with pytest.raises(ValueError, match=message):
        compiled(lambda n: np.empty((n, 2)).size)(shape)
    with pytest.raises(ValueError, match=message):
        compiled(lambda n: np.zeros((2, n)).size)(shape)


def exchanged(n, m):
    old, new = np.zeros(m), np.ones(m)
    kept = old
    for k in range(n):
        if k % 2:
            kept = new[1:]
        else:
            part = old[:2]
            kept = part
        old, new = new, old
    return kept, old


def test_references_are_counted():
    run = compiled(exchanged)
    run(3, 4)
    gc.collect()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for n in range(5):
            found, expected = run(n, 4), exchanged(n, 4)
            for left, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(left, right)
        del found, left
        gc.collect()
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def weighted(a, b, n):
    total = 0.0
    for i in range(n):
        part = a[i, 1:n]
        for j in range(n - 1):
            b[i, j] = part[j] * a[j, i]
            total += b[i, j]
    return total


def test_there_are_fewer_instructions(monkeypatch):
    sizes = []
    add = CPUCodeLibrary.add_ir_module

    def counting(self, module):
        if "weighted" in module.name:
            sizes.append(len(str(module).splitlines()))
        return add(self, module)

    monkeypatch.setattr(CPUCodeLibrary, "add_ir_module", counting)
    a = np.arange(9.0).reshape(3, 3)
    assert compiled(weighted)(a, np.zeros((3, 3)), 3) == njit(weighted)(a, np.zeros((3, 3)), 3)
    assert 2 * sizes[0] < sizes[1]


def arithmetic(x, y, k):
    return x + y, x - y, x * y, x / y, x * k, k / y, x * 2.0 - 1.0


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_arithmetic(kind):
    for x, y in ((3.0, -0.5), (1.0, 0.0), (np.inf, -np.inf), (1e30, 1e-20)):
        x, y = kind(x), kind(y)
        expected = njit(arithmetic, error_model="numpy")(x, y, 3)
        for found, want in zip(compiled(arithmetic)(x, y, 3), expected, strict=True):
            assert type(found) is type(want)
            np.testing.assert_array_equal(found, want)


def test_a_division_by_zero_is_what_the_error_model_says():
    def quotient(x, y):
        return x / y

    assert compiled(quotient)(1.0, 0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        njit(quotient, pipeline_class=GeneratedCompiler)(1.0, 0.0)


def divided(a, b):
    return a // b, a % b


def divided_by_constants(a):
    return a // 3, a % 3, a // -2, a % -2, a // 1, a % 1, a // -1, a % -1


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16])
def test_quotients_of_integers_are_those_of_numba(kind):
    """Of the least by -1, and of any by zero, too."""
    ends = np.iinfo(kind)
    made, by_constants = compiled(divided), compiled(divided_by_constants)
    wanted, wanted_by_constants = (njit(f, error_model="numpy") for f in (divided, divided_by_constants))
    values = [kind(x) for x in {0, 1, 2, 3, 7, ends.max, ends.min, ends.min // 3 + 1, -1 if ends.min else 5}]
    for a in values:
        assert by_constants(a) == wanted_by_constants(a)
        for b in values:
            assert made(a, b) == wanted(a, b)
    with pytest.raises(ZeroDivisionError):
        njit(divided, pipeline_class=GeneratedCompiler)(kind(1), kind(0))


def turns(n):
    total = 0
    for k in range(n):
        total += k % 3 + 100 * (k // 4) + 1000 * ((k + 2) // 7)
    return total


def test_quotients_of_counters():
    assert compiled(turns)(50) == turns(50)


def of_numbers(x, y, k):
    return np.sign(x), np.floor(x), np.exp(x), np.hypot(x, y), np.isnan(x), np.sign(k), np.exp(k), np.logical_and(x, k)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_ufuncs_of_numbers_are_those_of_numba(monkeypatch, kind):
    texts, add = [], CPUCodeLibrary.add_ir_module

    def noted(self, module):
        texts.append(str(module))
        return add(self, module)

    monkeypatch.setattr(CPUCodeLibrary, "add_ir_module", noted)
    made, wanted = compiled(of_numbers), njit(of_numbers)
    made(kind(1.0), kind(0.5), 2)
    assert not any("loop.index" in text for text in texts)
    for x in (1.5, -2.5, 0.0, -0.0, np.inf, -np.inf, np.nan):
        for k in (-3, 0, 2):
            found, right = made(kind(x), kind(0.5), k), wanted(kind(x), kind(0.5), k)
            assert [type(x) for x in found] == [type(x) for x in right]
            np.testing.assert_array_equal(found, right)
            assert np.signbit(found[0]) == np.signbit(right[0])


def extremes(a, b):
    return np.maximum(a, b), np.minimum(a, b)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_extremes_are_those_of_numba(kind):
    """The first of equals, be they zeros of two signs, and nan where either is."""
    values = [kind(x) for x in (1.0, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan)]
    made, wanted = compiled(extremes), njit(extremes)
    for a in values:
        for b in (*values, 1, True):
            found, right = made(a, b), wanted(a, b)
            assert [type(x) for x in found] == [type(x) for x in right]
            np.testing.assert_array_equal(found, right)
            np.testing.assert_array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(right)[~np.isnan(right)])


def reshaped(a, n, m):
    cut, flat, column = a.reshape(n, 2, m), a.reshape(-1), a.reshape(-1, 1)
    total = 0.0
    for i in range(cut.shape[0]):
        for j in range(cut.shape[1]):
            for k in range(cut.shape[2]):
                total += (100 * i + 10 * j + k) * cut[i, j, k]
    return total, cut.shape, cut.size, flat.shape, column.shape, (cut.strides, flat.strides, column.strides)


def test_views_of_other_extents():
    a = np.cos(np.arange(24.0)).reshape(4, 6)
    made, wanted = compiled(reshaped), njit(reshaped)
    for given, n, m in ((a, 3, 4), (a, -1, 2), (a, 2, -1), (a[:0], 0, 7), (a[:0], 3, -1)):
        (*found, strides), (*expected, of_numba) = made(given, n, m), wanted(given, n, m)
        assert found == expected
        assert strides == of_numba or not given.size
    for n, m, message in ((3, 5, "total size"), (-1, 5, "total size"), (-1, -1, "multiple negative"), (-1, 0, "total")):
        with pytest.raises(ValueError, match=message):
            made(a, n, m)


def test_views_of_other_extents_keep_what_they_are_views_of():
    def of_new(n):
        return np.arange(n).astype(np.float64).reshape(2, -1)

    made = compiled(of_new)
    made(6)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        found = made(6)
        np.testing.assert_array_equal(found, np.arange(6.0).reshape(2, 3))
        del found
        gc.collect()
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


@pytest.mark.parametrize("kind", (np.int8, np.int32, np.int64, np.uint8, np.uint32))
def test_counters_of_any_integer_type(kind):
    def counted(a, n):
        total = 0.0
        for i in range(n):
            a[i, i] += 1.0
            total += a[i, 2] * (i + 1)
        return total

    a = np.arange(9.0).reshape(3, 3)
    own, expected = a.copy(), a.copy()
    assert compiled(counted)(own, kind(3)) == counted(expected, 3)
    np.testing.assert_array_equal(own, expected)


def made_in_turns(n, m):
    total = 0.0
    for i in range(n):
        a = np.zeros(m)
        for j in range(m):
            a[j] = i + j
        if i % 2 == 0:
            b = np.zeros(m + 1)
            for j in range(m):
                b[j + 1] = a[j]
            total += b[m]
        part = a[1:]
        for j in range(part.size):
            total += part[j] * b[j]
    return total, part


def test_arrays_that_are_made_in_each_trip():
    run = compiled(made_in_turns)
    run(2, 4)
    gc.collect()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for n in (1, 2, 5):
            found, expected = run(n, 4), made_in_turns(n, 4)
            assert found[0] == expected[0]
            np.testing.assert_array_equal(found[1], expected[1])
        del found
        gc.collect()
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def around(a, shift):
    """Indices that are known not to be negative, and others."""
    n, m = a.shape
    total = 0.0
    for i in range(1, n - 1):
        for j in range(m):
            total += a[i - 1, j] * a[i + 1, j] + 2.0 * a[i - 2, j] + a[i - 1 - 1, j]
    for i in range(-2, n):
        total += 3.0 * a[i, m - 1] + a[i - 1, 1 - m]
    for i in range(n - 1, 0, -1):
        total += 5.0 * a[i - 1, 0] * a[i - 2, m - 2]
    for i in range(shift, n):
        total += 7.0 * a[i, 0] + a[n - 3, m - 4]
    for i in range(n - 1, -3, -1):
        total += 11.0 * a[i + 1 - 2, 0]
    for i in range(2, n, 2):
        total += 13.0 * a[i - 2, 0] + a[i - 3, 0]
    return total


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 2), (5, 5)])
def test_indices_below_zero(shape):
    numbers = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for array in laid_out(numbers):
        for shift in (-2, 0, 1):
            assert _around(array, shift) == around(array, shift)


_around = compiled(around)


def result(function, number):
    try:
        return function(number)
    except ZeroDivisionError:
        return None


def test_powers_by_constants():
    x = np.array([0.3, -1.7, 2.9, 0.0, np.inf, np.nan])
    for power in (
        lambda x: x**0, lambda x: x**1, lambda x: x**2, lambda x: x**3, lambda x: x**7, lambda x: x**12,
        lambda x: x**-1, lambda x: x**-4,
    ):  # fmt: skip
        own, other = compiled(power), njit(error_model="numpy")(power)
        for number in (*x, *x.astype(np.float32), 3):
            found, expected = result(own, number), result(other, number)
            assert type(found) is type(expected)
            np.testing.assert_array_equal(found, expected)


def copied(a):
    b = a.copy()
    b[0, 0] = -1
    return b


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int8])
def test_copies(dtype):
    own, other = compiled(copied), njit(copied)
    for array in laid_out(np.arange(6).reshape(2, 3).astype(dtype)):
        found, expected = own(array), other(array)
        np.testing.assert_array_equal(found, expected)
        assert found.flags.c_contiguous == expected.flags.c_contiguous
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        assert array[0, 0] == 0
