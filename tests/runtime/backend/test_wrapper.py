"""The wrapper that Python calls: arguments, results, errors and references."""

import gc
import sys

import numpy as np
import pytest
from numba import njit, types
from numba.core.runtime import _nrt_python, rtsys

import adjit
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.versions import is_plain
from adjit.runtime.backend.wrapper import suits

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

compiled = njit(pipeline_class=GeneratedCompiler)


@compiled
def returned(a, b, n, flag, x):
    if flag:
        raise ValueError("asked for")
    made = np.zeros((n, 2), np.float32)
    made[0, 0] = x
    return (a, x), n, (made, b, a.T)


def test_arguments_and_results():
    for a in (
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.ones((2, 3))),
        np.arange(24.0).reshape(4, 6)[::2, ::2],
    ):
        b = np.arange(3, dtype=np.complex64)
        (same, x), n, (made, other, turned) = returned(a, b, 3, False, 0.5)
        assert (x, n) == (0.5, 3)
        np.testing.assert_array_equal(same, a)
        np.testing.assert_array_equal(turned, a.T)
        np.testing.assert_array_equal(made, [[0.5, 0], [0, 0], [0, 0]])
        assert made.dtype == np.float32
        assert other.dtype == np.complex64
        same[0, 0] = -1.0
        assert a[0, 0] == turned[0, 0] == -1.0


def test_references():
    a, b = np.ones((2, 3)), np.ones(3)
    returned(a, b, 3, False, 0.5)
    gc.collect()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for _ in range(5):
            returned(a, b, 3, False, 0.5)
            with pytest.raises(ValueError, match="asked for"):
                returned(a, b, 3, True, 0.5)
        gc.collect()
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 0


def faulty(a, k):
    if k == 1:
        raise ValueError("asked for", k, a[0])
    if k == 2:
        raise KeyError
    if k == 3:
        raise StopIteration
    return a[0] // k


def test_what_is_raised():
    own, numbas = compiled(faulty), njit(faulty)
    a = np.arange(3)
    for k in range(4):
        found = []
        for function in (own, numbas):
            with pytest.raises((ValueError, LookupError, StopIteration, ZeroDivisionError)) as raised:
                function(a, k)
            found.append((raised.type, raised.value.args))
        assert found[0] == found[1]


def test_what_is_no_array_of_the_type():
    call = compiled(faulty).compile((types.int64[::1], types.int64))
    assert call(np.arange(2, 5), 4) == 0
    for wrong in (object(), [1, 2], np.arange(3, dtype=np.int32)):
        before = sys.getrefcount(wrong)
        with pytest.raises(TypeError, match="can't unbox array from PyObject into native value"):
            call(wrong, 4)
        assert sys.getrefcount(wrong) == before


def of_kinds(a, x, n, y, flag, small, b):
    return a.sum() * x + n * y + small + b[0, 0] if flag else x


def test_arguments_of_all_kinds():
    kinds = (types.float64[::1], types.float64, types.int64, types.float32, types.boolean, types.int16)
    call = compiled(of_kinds).compile((*kinds, types.complex128[:, :]))
    a, b = np.arange(3.0), np.ones((2, 4), complex)[:, ::2]
    given = (a, 2, -1, 0.5, True, 7, b)
    assert call(*given) == 6.0 - 0.5 + 7.0 + 1.0
    assert call(*given[:4], 0, 7, b) == 2.0
    assert call(a, 2.5, 2**63 - 1, 0.0, True, 0, b) == 8.5
    assert call(a, 1, -(2**63), 1.0, True, 0, b) == 4.0 - 2.0**63
    counts = [sys.getrefcount(array) for array in (a, b)]
    for wrong, error in (
        ((a, [], -1, 0.5, True, 7, b), TypeError),
        ((a, 2, None, 0.5, True, 7, b), TypeError),
        ((a, 2, 2**63, 0.5, True, 7, b), OverflowError),
        ((a, 2, -1, object(), True, 7, b), TypeError),
        ((a, 2, -1, 0.5, True, 7, np.ones(3)), TypeError),
        ((a, 2, -1), TypeError),
        ((*given, 1), TypeError),
    ):
        with pytest.raises(error):
            call(*wrong)
    del wrong
    assert [sys.getrefcount(array) for array in (a, b)] == counts
    number = compiled(lambda n: n + 1).compile((types.int32,))
    assert number(3) == 4
    assert compiled(lambda: 1.5).compile(())() == 1.5


def test_results_of_all_kinds():
    kinds = (types.int8, types.uint8, types.int16, types.uint32, types.uint64, types.float32, types.float64)

    @compiled
    def handed_on(a, b, c, d, e, f, g, x):
        return a, (b, x, (c, f)), (d, e), g

    call = handed_on.compile((*kinds, types.float32[:, :, ::1]))
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    given = (-(2**7), 2**8 - 1, -(2**15), 2**32 - 1, 2**64 - 1, 0.1, 0.1, x)
    a, (b, same, (c, f)), (d, e), g = call(*given)
    assert (a, b, c, d, e, f, g) == (*given[:5], float(np.float32(0.1)), 0.1)
    np.testing.assert_array_equal(same, x)
    whole = compiled(lambda e: e).compile((types.uint64,))
    for wrong, error in ((-1, OverflowError), (2**64, OverflowError), ([], TypeError)):
        with pytest.raises(error):
            whole(wrong)


class Undecided:
    def __bool__(self):
        raise RuntimeError("who knows")


def test_a_truth_that_raises():
    call = compiled(lambda flag: 1 if flag else 2).compile((types.boolean,))
    assert [call(given) for given in (True, 0, [], "a")] == [1, 2, 2, 1]
    with pytest.raises(RuntimeError, match="who knows"):
        call(Undecided())


@pytest.mark.parametrize("count", [1, 3, 4, 7, 14, 28])
def test_many_arguments(count):
    """In registers, and on the stack."""
    names = [f"a{k}" for k in range(count)]
    scope = {}
    exec(
        f"def weighted({', '.join(names)}, x, k):\n"
        f"    return x * k + {' + '.join(f'{j + 2} * {n}[-1]' for j, n in enumerate(names))}\n",
        scope,
    )
    kinds = (*(types.float64[:] for _ in names), types.float64, types.int64)
    call = compiled(scope["weighted"]).compile(kinds)
    given = [np.arange(5.0)[:: 1 + k % 2] + k for k in range(count)]
    want = 0.5 * 3 + sum((k + 2) * a[-1] for k, a in enumerate(given))
    assert suits(types.float64, kinds)
    assert call(*given, 0.5, 3) == want


def test_many_floats():
    """More than there are registers for."""
    floats = (types.float64, types.float32) * 5

    @compiled
    def combined(a, k, b, c, d, x, e, f, g, h, i, j):
        return (a + 2 * b - c, d * e, f - g * h, x[k], i - j)

    kinds = (floats[0], types.int64, *floats[1:4], types.float64[::1], *floats[4:])
    assert suits(types.float64, kinds)
    x = np.arange(5.0)
    assert combined.compile(kinds)(1, 4, 0.5, 3, 0.25, x, 2, 8, 7, 0.5, 3, 0.25) == (-1.0, 0.5, 4.5, 4.0, 2.75)


def test_what_it_is_for():
    matrix = types.float64[:, ::1]
    assert suits(types.Tuple((types.float64, types.UniTuple(matrix, 3))), (matrix, types.int64, types.boolean))
    assert not suits(types.Optional(types.float64), ())
    assert not suits(types.float64, (types.unicode_type,))
    assert not suits(types.float64, (types.UniTuple(types.float64, 2),))


def energy(x):
    return x * x * x


def test_calls_by_address():
    kind = types.FunctionType(types.float64(types.float64))
    apply = njit(types.float64(kind, types.float64))(lambda h, x: h(x) + 1.0)
    for _ in range(2):
        assert apply(adjit.grad(energy), 2.0) == 13.0
