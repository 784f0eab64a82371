"""What is not taken of kernels is refused at its line, with what to write instead: one kernel a row."""

import math
import random

import numpy as np
import pytest
from numba import cuda, float64

import adjit.cuda
from adjit.errors import AdjitError, Aliased, TypeMismatch, Unsupported, WrongCall, WrongWrt
from tests.cuda.kernels.maps import scale

T = 8


@cuda.jit
def barrier_in_branch(x, y):
    t = cuda.threadIdx.x
    if t < 4:
        cuda.syncthreads()  # here
    y[t] = x[t]


@cuda.jit
def barrier_after_return(x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    cuda.syncthreads()  # here
    y[i] = x[i]


@cuda.jit
def barrier_in_loop(x, y):
    t = cuda.threadIdx.x
    for k in range(t):
        cuda.syncthreads()  # here
    y[t] = x[t]


@cuda.jit
def all_add_plainly(x, y):
    t = cuda.threadIdx.x
    y[0] += x[t]  # here


@cuda.jit
def missing_barrier(x, y):
    part = cuda.shared.array(T, float64)
    t = cuda.threadIdx.x
    part[t] = x[t]  # here
    y[t] = part[T - 1 - t]


@cuda.jit
def all_store(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[0] = x[i]  # here


@cuda.jit
def result_of_atomic(x, y):
    i = cuda.grid(1)
    if i < x.size:
        old = cuda.atomic.add(y, 0, x[i])  # here
        y[1] = old


@cuda.jit
def slot_of_atomic(x, y, count):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0.0:
        y[cuda.atomic.add(count, 0, 1)] = x[i]  # here


@cuda.jit
def exchange(x, y):
    i = cuda.grid(1)
    cuda.atomic.exch(y, 0, x[i])  # here


@cuda.jit
def compare_and_swap(x, y):
    i = cuda.grid(1)
    cuda.atomic.cas(y, i, 0, 1)  # here


@cuda.jit
def largest(x, y):
    i = cuda.grid(1)
    cuda.atomic.nanmax(y, 0, x[i])  # here


linked = cuda.declare_device("linked", "float64(float64)")


@cuda.jit
def calls_linked(x, y):
    i = cuda.grid(1)
    y[i] = linked(x[i])  # here


@cuda.jit
def shuffled(x, y):
    i = cuda.grid(1)
    y[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)  # here


@cuda.jit
def voted(x, y):
    i = cuda.grid(1)
    if cuda.all_sync(0xFFFFFFFF, x[i] > 0.0):  # here
        y[i] = x[i]


@cuda.jit
def in_warp(x, y):
    i = cuda.grid(1)
    cuda.syncwarp()  # here
    y[i] = x[i]


@cuda.jit
def cooperative(x, y):
    i = cuda.grid(1)
    cuda.cg.this_grid().sync()  # here
    y[i] = x[i]


@cuda.jit
def fenced(x, y):
    i = cuda.grid(1)
    y[i] = x[i]
    cuda.threadfence()  # here


@cuda.jit
def prints(x, y):
    i = cuda.grid(1)
    print(x[i])  # here
    y[i] = x[i]


@cuda.jit
def raises(x, y):
    i = cuda.grid(1)
    if x[i] > 9.0:
        raise ValueError("too large")  # here
    y[i] = x[i]


@cuda.jit
def decrements(x, y):
    i = cuda.grid(1)
    cuda.atomic.dec(y, 0, 9)  # here


@cuda.jit
def launches(x, y):
    scale[1, 8](x, y, 2.0)  # here


@cuda.jit
def calls_kernel(x, y):
    scale(x, y, 2.0)  # here


@cuda.jit
def draws(x, y):
    i = cuda.grid(1)
    y[i] = x[i] * random.random()  # here


@cuda.jit
def draws_of_numpy(x, y):
    i = cuda.grid(1)
    y[i] = x[i] * np.random.normal()  # here


@cuda.jit
def too_much_shared(x, y):
    part = cuda.shared.array(7000, float64)  # here
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    y[t] = part[T - 1 - t]


@cuda.jit
def too_much_local(x, y):
    own = cuda.local.array(600, float64)  # here
    i = cuda.grid(1)
    own[0] = x[i]
    y[i] = own[0]


@cuda.jit
def shared_of_run_time(x, y, n):
    part = cuda.shared.array(n, float64)  # here
    t = cuda.threadIdx.x
    part[t] = x[t]
    y[t] = part[t]


@cuda.jit
def returns(x, y):
    return x[cuda.grid(1)]


@cuda.jit
def host_array(x, y):
    i = cuda.grid(1)
    made = cuda.device_array(4)  # here
    y[i] = x[i]


@cuda.jit
def unknown_name(x, y):
    i = cuda.grid(1)
    y[i] = cuda.reverse_of_time(x[i])  # here


@cuda.jit
def four_axes(x, y):
    i = cuda.grid(4)  # here
    y[0] = x[0]


@cuda.jit
def overwrites_global(x, y):
    i = cuda.grid(1)
    TABLE[i] = x[i]  # here
    y[i] = TABLE[i]


TABLE = np.zeros(8)


@cuda.jit
def unwritten(x, y):
    part = cuda.shared.array(T, float64)
    t = cuda.threadIdx.x
    y[t] = x[t] * part[t]  # here


@cuda.jit
def without_rule(x, y):
    i = cuda.grid(1)
    y[i] = math.gcd(int(x[i]), 4) * cuda.libdevice.jn(2, x[i])  # here


# what a generated kernel cannot do, and a loop on the CPU can
REFUSED_ON_DEVICE = {
    "print": (prints, "print in a kernel", "Leave it out"),
    "raise": (raises, "an error that a kernel raises", "on the host"),
}
# kernel, what the message says, and what it proposes
REFUSED = {
    "barrier in a branch": (barrier_in_branch, "some threads may not reach", "Move the barrier out"),
    "barrier after a return": (barrier_after_return, "early return counts", "Move the barrier out"),
    "barrier in a loop": (barrier_in_loop, "a loop that some threads may not reach", "Move the barrier out"),
    "plain addition by all": (all_add_plainly, "all threads store to one element of `y`", "cuda.atomic.add"),
    "missing barrier": (missing_barrier, "that another one loads", "cuda.syncthreads()"),
    "store by all": (all_store, "all threads store to one element of `y`", "let one thread store"),
    "result of an atomic": (result_of_atomic, "the result of cuda.atomic.add", "integer array"),
    "slots": (slot_of_atomic, "the result of cuda.atomic.add", "integer array"),
    "exch": (exchange, "cuda.atomic.exch", "integer array"),
    "dec": (decrements, "cuda.atomic.dec", "integer array"),
    "cas": (compare_and_swap, "cuda.atomic.cas", "integer array"),
    "nanmax": (largest, "cuda.atomic.nanmax", "cuda.atomic.max"),
    "linked function": (calls_linked, "cuda.declare_device links in", "device function"),
    "shuffle": (shuffled, "which the threads of a warp execute together", "shared memory"),
    "vote": (voted, "which the threads of a warp execute together", "shared memory"),
    "syncwarp": (in_warp, "which the threads of a warp execute together", "shared memory"),
    "cooperative group": (cooperative, "a cooperative group", "Launch one kernel"),
    "fence": (fenced, "a fence between threads", "Launch one kernel per step"),
    "launch": (launches, "a kernel that launches another one", "Launch it"),
    "call of a kernel": (calls_kernel, "a kernel that calls another kernel", "device function"),
    "random": (draws, "drawn in a kernel", "pass the numbers"),
    "random of NumPy": (draws_of_numpy, "drawn in a kernel", "pass the numbers"),
    "too much shared memory": (too_much_shared, "56,000 bytes", "smaller"),
    "too much local memory": (too_much_local, "a local array of 4800 bytes", "axis for the threads"),
    "shared shape": (shared_of_run_time, "only known at run time", "Give literals"),
    "result": (returns, "returns a value", "Store it"),
    "device array": (host_array, "which belongs to the host", "before the launch"),
    "unknown name": (unknown_name, "cuda.reverse_of_time", "atomic additions"),
    "four axes": (four_axes, "other than 1, 2 and 3", "literal"),
    "global array": (overwrites_global, "TABLE", "argument"),
    "read before it is stored": (unwritten, "read before it is stored", "np.zeros"),
    "no function of ours": (without_rule, "cuda.libdevice.jn", "math"),
}


def launched(kernel, kind=adjit.cuda.adjoint):
    count = kernel.py_func.__code__.co_argcount
    arguments = [np.ones(8), np.ones(8), *[4] * (count - 2)]
    arguments = [np.zeros(1, np.int64) if k == 2 and kernel is slot_of_atomic else a for k, a in enumerate(arguments)]
    kind(kernel, target="python")[1, T](*arguments, x_bar=np.ones(8), y_bar=np.ones(8))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_taken_is_refused_at_its_line(name):
    kernel, what, instead = REFUSED[name]
    with pytest.raises(AdjitError) as caught:
        launched(kernel)
    fault = caught.value
    assert what in str(fault)
    assert instead in fault.instead
    assert fault.place.filename == __file__
    code = kernel.py_func.__code__
    marked = [number for number, line in enumerate(open(__file__), 1) if line.endswith("# here\n")]
    own = [n for n in marked if code.co_firstlineno < n <= max(line for *_, line in code.co_lines() if line)]
    assert not own or fault.place.line in own


@pytest.mark.parametrize("name", REFUSED_ON_DEVICE)
def test_what_kernels_cannot_do_is_refused_at_its_line(name):
    kernel, what, instead = REFUSED_ON_DEVICE[name]
    with pytest.raises(AdjitError) as caught:
        adjit.cuda.adjoint(kernel).source("float64[::1], float64[::1]", block=T)
    assert what in caught.value.what
    assert instead in caught.value.instead
    lines = open(__file__).read().splitlines()
    assert caught.value.place.filename == __file__
    assert lines[caught.value.place.line - 1].endswith("# here")


def scaled(*arguments, launch=(1, 8), **shadows):
    adjit.cuda.adjoint(scale, target="python")[launch](*arguments, **shadows)


def test_a_missing_shadow_is_an_error_at_the_store():
    with pytest.raises(WrongCall, match="without `y_bar`") as caught:
        scaled(np.ones(8), np.ones(8), 2.0, x_bar=np.ones(8))
    assert "y[i] = a * math.sin(x[i])" in str(caught.value)
    with pytest.raises(WrongCall, match="without a shadow"):
        scaled(np.ones(8), np.ones(8), 2.0)


def test_shadows_fit_their_arguments():
    x, y = np.ones(8), np.ones(8)
    for wrong in (np.ones(7), np.ones((8, 1)), np.ones(8, np.float32), [1.0] * 8, 1.0):
        with pytest.raises(TypeMismatch, match="`x_bar` is"):
            scaled(x, y, 2.0, x_bar=wrong, y_bar=np.ones(8))
    with pytest.raises(TypeMismatch, match="`a_bar` is"):
        scaled(x, y, 2.0, a_bar=np.array(1.0), y_bar=np.ones(8))
    with pytest.raises(WrongWrt, match="a is not a float"):
        scaled(x, y, 2, a_bar=np.zeros(1), y_bar=np.ones(8))
    with pytest.raises(WrongCall, match="no parameter `z_bar`"):
        scaled(x, y, 2.0, z_bar=np.ones(8), y_bar=np.ones(8))


def test_arguments_do_not_overlap():
    x = np.ones(16)
    with pytest.raises(Aliased):
        scaled(x[:8], np.ones(8), 2.0, x_bar=x[4:12], y_bar=np.ones(8))
    with pytest.raises(Aliased):
        scaled(np.ones(8), np.ones(8), 2.0, x_bar=x[:8], y_bar=x[:8])


def test_launches_are_as_of_kernels():
    arguments = (np.ones(8), np.ones(8), 2.0)
    for launch in ((1,), (1, 8, 0, 0, 0), (1, 2048), (1, (8, 8, 8, 8)), ((-1,), 8), (1, 0), (1.5, 8)):
        with pytest.raises(WrongCall):
            scaled(*arguments, launch=launch, x_bar=np.ones(8), y_bar=np.ones(8))


def test_what_is_not_read_may_be_none():
    x, y_bar, x_bar = np.linspace(0, 1, 8), np.ones(8), np.zeros(8)
    scaled(x, None, 2.0, x_bar=x_bar, y_bar=y_bar)
    np.testing.assert_allclose(x_bar, 2.0 * np.cos(x))
    with pytest.raises(WrongCall, match="`x` is None"):
        scaled(None, np.ones(8), 2.0, x_bar=x_bar, y_bar=np.ones(8))


def test_cuda_outside_of_a_kernel():
    def plain(x):
        return x * cuda.grid(1)

    with pytest.raises(Unsupported, match="outside of a kernel"):
        adjit.grad(plain)(1.0)
