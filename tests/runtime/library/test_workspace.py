"""Products in the workspace are numba's own, for each layout, kind of float and empty extent."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit, types
from numba.core.runtime import _nrt_python, rtsys

import adjit
from adjit.runtime.backend import linear_algebra
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.versions import is_plain
from adjit.runtime.library import workspace

OWN = pytest.mark.skipif(is_plain(), reason="numba's own means are used")


@njit
def product(left, right):
    return workspace.dot(left, right)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("orders", list(itertools.product("CF", repeat=2)))
@pytest.mark.parametrize(
    "m, k, n", [(3, 4, 5), (1, 4, 5), (3, 4, 1), (1, 4, 1), (3, 0, 5), (0, 4, 5), (300, 7, 600), (600, 350, 5)]
)
def test_products(m, k, n, orders, kind):
    draw = np.random.default_rng(0)
    left = np.array(draw.standard_normal((m, k)), kind, order=orders[0])
    right = np.array(draw.standard_normal((k, n)), kind, order=orders[1])
    for _ in range(2):  # memory that was used before
        found = product(left, right)
        # sums of k products, in another order
        np.testing.assert_allclose(found, left @ right, rtol=0, atol=max(64, 4 * k) * np.finfo(kind).eps)
        assert (found.dtype, found.shape) == (kind, (m, n))


@OWN
def test_a_narrow_product_is_made_turned(monkeypatch):
    """Of few columns and many multiplications: BLAS is asked for the transposed product, and its result turned."""
    monkeypatch.setattr(linear_algebra, "workspace", SimpleNamespace(empty=np.empty))
    asked = []

    def gemm(left, right, made, left_turned, right_turned):
        asked.append((made.shape, left_turned, right_turned))
        made[:] = (left.T if left_turned else left) @ (right.T if right_turned else right)

    monkeypatch.setattr(linear_algebra, "_gemm_turned", gemm)
    monkeypatch.setattr(linear_algebra, "takes_tiles", lambda: False)
    a, b = np.random.default_rng(0).normal(size=(300, 200)), np.random.default_rng(1).normal(size=(300, 20))
    for left, right, turned in ((a, b, (1, 0)), (a, b.T.copy(), (1, 1)), (a.T.copy(), b, (0, 0))):
        out = np.empty((200, 20))
        linear_algebra.dot_into(left, right, out, *turned)
        assert np.allclose(out, a.T @ b, rtol=1e-12, atol=1e-12)
    assert asked == [((20, 200), 1, 0), ((20, 200), 0, 0), ((200, 20), 0, 0)]


def test_extents_that_do_not_fit():
    with pytest.raises(ValueError, match="incompatible"):
        product(np.zeros((2, 3)), np.zeros((2, 3)))


@pytest.mark.parametrize(
    "left, right",
    [
        (types.Array(types.float64, 2, "A"), types.Array(types.float64, 2, "C")),
        (types.Array(types.float64, 2, "C"), types.Array(types.float64, 1, "C")),
        (types.Array(types.float32, 2, "C"), types.Array(types.float64, 2, "C")),
        (types.Array(types.complex128, 2, "C"), types.Array(types.complex128, 2, "C")),
        (types.float64, types.Array(types.float64, 2, "C")),
    ],
)
def test_other_products_are_left_to_numba(left, right):
    assert workspace.product_type(np.dot, (left, right)) is None


@pytest.mark.long
def test_gradients_of_products():
    def f(a, b):
        return np.sum(np.sin(a @ b) * np.dot(a, b))

    def of_strided(a, b):
        return np.sum(np.dot(a[:, ::2], b[::2]))

    draw = np.random.default_rng(1)
    a, b = draw.standard_normal((3, 4)), draw.standard_normal((4, 5))
    gradient = adjit.grad(f, wrt=(0, 1))
    assert "workspace.dot(a, b)" in gradient.source(a, b, tuned=True)
    p = a @ b
    p_bar = np.cos(p) * p + np.sin(p)
    for found, expected in zip(gradient(a, b), (p_bar @ b.T, a.T @ p_bar), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    adjit.check_grads(f, (a, b))
    adjit.check_grads(of_strided, (a, b))


def test_products_are_given_back():
    @njit
    def product(a, b):
        return workspace.dot(a, b)

    _nrt_python.memsys_enable_stats()
    for left, columns in ((np.ones((100, 100)), 100), (np.ones((600, 600)), 600), (np.ones((600, 600)).T, 5)):
        right = np.ones((600, columns))[: left.shape[1]]
        product(left, right)
        before = rtsys.get_allocation_stats()
        for _ in range(5):
            product(left, right)
        after = rtsys.get_allocation_stats()
        assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


@OWN
def test_new_arrays_are_known_to_be_apart():
    def pair(x):
        left, right = np.zeros_like(x), workspace.zeros_like(x)
        for i in range(x.size):
            left[i] += x[i]
            right[i] -= x[i] * left[i]
        return left, right.sum()

    x = np.arange(50.0)
    run, own = njit(pair, pipeline_class=GeneratedCompiler), njit(pair)
    for found, expected in zip(run(x), own(x), strict=True):
        np.testing.assert_allclose(found, expected)
    (text,) = run.inspect_llvm().values()
    assert "<4 x double>" in text or "<8 x double>" in text or "<2 x double>" in text
    assert "vector.memcheck" not in text


def test_what_was_read_of_an_array_outlives_it():
    def last(x, n):
        kept = 0.0
        for i in range(n):
            new = np.zeros(3000)
            other = workspace.empty(3000)
            for k in range(3000):
                other[k] = x[i] + k
                new[k] += other[k]
            kept = new[1]
        again = np.zeros(3000)
        return kept + again[1]

    x = np.arange(9.0)
    for n in (1, 2, 9):
        assert njit(last, pipeline_class=GeneratedCompiler)(x, n) == n
