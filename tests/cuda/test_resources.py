"""What kernels take of a GPU: how many threads fit at a time, and what `explain` says of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda
from numba.cuda.random import xoroshiro128p_uniform_float32

import adjit
from tests.cuda.compiled import needs_compiler
from tests.cuda.kernels import blocks
from tests.cuda.simulated.functions import misfit

pytestmark = needs_compiler
TYPES = "float64[:], float64[:], float64[:], float64[:]"


# registers, bytes of shared memory, threads of a block; by hand, from NVIDIA's tables and how registers are given out
@pytest.mark.parametrize(
    "registers, shared, threads, cc, found",
    [
        (32, 0, 256, (9, 0), (2048, 2048)),
        (33, 0, 256, (9, 0), (1536, 2048)),  # 40 of a thread, 1,280 of a warp: 48 warps, six blocks
        (64, 0, 256, (8, 0), (1024, 2048)),
        (255, 0, 256, (8, 0), (256, 2048)),
        (16, 48 * 1024, 256, (8, 0), (768, 2048)),  # three blocks of 49 KB in 164 KB
        (16, 0, 32, (8, 0), (1024, 2048)),  # 32 blocks
        (16, 0, 1024, (8, 6), (1024, 1536)),
        (128, 0, 1024, (9, 0), (0, 2048)),
        (65, 0, 1024, (9, 0), (0, 2048)),  # it cannot be launched
        (32, 0, 256, (3, 5), None),
    ],
)
def test_threads_at_a_time(registers, shared, threads, cc, found):
    from adjit.runtime.cuda.resources import resident

    assert resident(registers, shared, threads, cc) == found


def test_gradients_tell_what_their_kernels_take():
    gradient = adjit.grad(misfit, wrt=("x", "a"), target="cuda")
    assert gradient.explain(TYPES).resources == ()
    made = gradient.explain(TYPES, cc=(9, 0))
    assert [row[0] for row in made.resources] == ["misfit_grad_L22", "misfit_grad_L22_reverse_tail"]
    for _, registers, local, shared, threads in made.resources:
        assert 16 <= int(registers) <= 40
        assert local == ""
        assert shared in ("2,048 bytes", "4,096 bytes")
        assert threads in ("2,048 of 2,048", "1,536 of 2,048")
    assert "What kernels take\n  kernel" in str(made)


def test_kernels_tell_for_the_shape_of_their_blocks():
    adjoint = adjit.cuda.adjoint(blocks.staged)
    found = {}
    for block in (8, 1024):
        made = adjoint.explain("float64[:, ::1], float64[::1], float64[::1]", block=block, cc=(8, 0))
        ((_, registers, local, shared, threads),) = made.resources
        assert (local, shared) == ("40 bytes", "128 bytes")
        found[block] = int(registers), threads
    # 32 blocks of 8 threads; all threads of a large block have registers
    assert found[8][1] == "256 of 2,048"
    assert found[1024][0] <= 64
    assert found[1024][1] == "1,024 of 2,048"


@cuda.jit
def of_steps(x, r, y):
    i = cuda.grid(1)
    if i < y.size:
        state, rate = x[i], r[i]
        for _ in range(STEPS):
            state = rate * (state - state * state)
        y[i] = state


STEPS = 48


@pytest.mark.parametrize(
    "dtype, registers, threads", [("float32", 80, "768 of 2,048"), ("float64", 128, "512 of 2,048")]
)
def test_threads_whose_arrays_are_registers_are_enough(dtype, registers, threads):
    # left alone, the compiler takes more of them for what it has made before, and 256 threads fit
    made = adjit.cuda.adjoint(of_steps).explain(", ".join([f"{dtype}[::1]"] * 3), block=256, cc=(9, 0))
    ((_, taken, _, _, fitting),) = made.resources
    assert int(taken) <= registers
    assert fitting.startswith(threads)
    assert "bounds(256, " in adjit.cuda.adjoint(of_steps).source(", ".join([f"{dtype}[::1]"] * 3), block=256)


@cuda.jit
def of_noise(states, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * xoroshiro128p_uniform_float32(states, i)


@cuda.jit
def of_squares(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i]


def test_parameters_that_are_taken_apart_are_told():
    states = np.zeros(4, np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True))
    x = np.ones(4, np.float32)
    text = " ".join(str(adjit.cuda.adjoint(of_noise).explain(states, x, x, block=8)).split())
    assert "for states: (uint64[:] strided, uint64[:] strided), x: float32[:], y: float32[:]" in text


def test_code_that_is_linked_on_the_device_is_not_measured():
    made = adjit.cuda.adjoint(of_squares)
    assert "for x: float16[:]" in str(made.explain("float16[::1], float16[::1]", block=8))
    with pytest.raises(adjit.Unsupported, match="functions of half precision are linked later"):
        made.explain("float16[::1], float16[::1]", block=8, cc=(9, 0))
    with pytest.raises(adjit.WrongCall, match=r"cc=\(3, 0\), for which numba has no code"):
        made.explain("float32[::1], float32[::1]", block=8, cc=(3, 0))


@pytest.mark.parametrize("cc", [(9,), 90, "9.0", (9.0, 0)])
def test_what_is_no_compute_capability(cc):
    with pytest.raises(adjit.WrongCall, match=r"not a compute capability"):
        adjit.grad(misfit, target="cuda").explain(TYPES, cc=cc)


def test_without_ptxas_it_says_so(monkeypatch):
    monkeypatch.setattr("adjit.runtime.cuda.resources.ptxas", lambda: None)
    with pytest.raises(adjit.Unsupported, match="nvidia-cuda-nvcc"):
        adjit.grad(misfit, target="cuda").explain(TYPES, cc=(9, 0))


def test_compiled_kernels_are_asked():
    from adjit.runtime.cuda.resources import Taken, row, taken_of

    def answers(registers, local, shared):
        own = {"get_regs_per_thread": registers, "get_local_mem_per_thread": local, "get_shared_mem_per_block": shared}
        return SimpleNamespace(**{name: lambda value=value: value for name, value in own.items()})

    assert taken_of(answers(40, 0, 2048)) == Taken(40, 0, 2048)
    # by signature, where there are several
    assert taken_of(answers({"a": 20, "b": 30}, {"a": 0, "b": 8}, {"a": 0, "b": 0})) == Taken(30, 8, 0)
    assert row("k", Taken(160, 96, 0), 0, (9, 0))[2:] == (
        "96 bytes", "", "256 of 2,048; many registers; local memory, which is slow"
    )  # fmt: skip
    assert row("k", Taken(255, 64, 0, 128), 128, (3, 5))[-1] == "many registers; 128 bytes spilled"
