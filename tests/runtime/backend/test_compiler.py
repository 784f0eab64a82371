import gc

import numpy as np
import pytest
from numba import njit
from numba.core import event

import adjit
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.dispatcher import sparing
from adjit.runtime.backend.versions import is_plain

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")

compiled = njit(pipeline_class=GeneratedCompiler)


def test_collections_stop_and_go_on():
    assert gc.isenabled()
    with sparing():
        assert not gc.isenabled()
        with sparing():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), sparing():
        1 / 0  # noqa: B018
    assert gc.isenabled()
    gc.disable()
    try:
        with sparing():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_array_expressions_are_fused_as_ever():
    def fused(a, b):
        return np.exp(a) * b + a

    a, b = np.arange(6.0).reshape(2, 3), np.ones(3)

    def allocations(run):
        np.testing.assert_allclose(run(a, b), fused(a, b))
        (text,) = run.inspect_llvm().values()
        return text.count("NRT_MemInfo_alloc")

    assert allocations(compiled(fused)) == allocations(njit(fused)) < allocations(njit(fused, no_rewrites=True))


def test_nothing_else_is_compiled_for_a_gradient():
    def energy(x, w):
        total = 0.0
        largest = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                total += min(x[i, j], 3) * w[j]
                largest = max(largest, x[i, j])
        return total * largest

    x, w = np.random.default_rng(0).random((4, 3)), np.ones(3)
    # what is compiled once a process
    adjit.grad(lambda x: np.sum(np.exp(x)))(x)
    with event.install_recorder("numba:compile") as recorder:
        adjit.grad(energy, wrt=(0, 1))(x, w)
    started = [found.data["dispatcher"] for _, found in recorder.buffer if found.is_start]
    assert len(started) == 1


def test_types_of_operators_are_those_of_numba():
    def mixed(a, b, c):
        return a + b, a * c, b - c, a / b, a < b, -a, a == c, a // b, a % b

    run, own = compiled(mixed), njit(mixed)
    for arguments in ((1, 2, 3.0), (2.0, 3, np.float32(1)), (True, 1, 2), (1, 2, 3.0)):
        assert [type(x) for x in run(*arguments)] == [type(x) for x in own(*arguments)]
        assert run(*arguments) == own(*arguments)
    assert [str(s) for s in run.signatures] == [str(s) for s in own.signatures]


TABLE = np.array([1.0, 2.0, 3.0, 4.0])


def test_methods_of_global_arrays():
    def product(x):
        return np.sum(np.dot(TABLE.reshape(2, 2), x))

    np.testing.assert_allclose(adjit.grad(product)(np.array([1.0, 2.0])), [4.0, 6.0])
