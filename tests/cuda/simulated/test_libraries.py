"""Arrays of CuPy, torch and JAX on a GPU: taken where they lie, results of the first one's library, on its stream."""

import numpy as np
import pytest
from numba import cuda

import adjit
from tests.cuda.simulated.checks import assert_close, on_gpu
from tests.cuda.simulated.functions import misfit, norm

pytestmark = on_gpu


def given():
    g = np.random.default_rng(4)
    return *g.uniform(0.1, 0.9, (3, 1000)), g.uniform(0.1, 0.9, 2)


def own(library):
    """What sends an array to the GPU, and what fetches one, of a library."""
    module = pytest.importorskip(library)
    if library == "cupy":
        return module.asarray, module.asnumpy, module.ndarray
    if library == "torch":
        return (lambda a: module.as_tensor(a, device="cuda")), (lambda t: t.cpu().numpy()), module.Tensor
    module.config.update("jax_enable_x64", True)
    return module.numpy.asarray, np.asarray, cuda.devicearray.DeviceNDArrayBase


@pytest.mark.parametrize("library", ["cupy", "torch", "jax"])
def test_values_and_gradients(library):
    send, fetch, kind = own(library)
    wanted = adjit.value_and_grad(misfit, wrt=("x", "a"))(*given())
    value, bars = adjit.value_and_grad(misfit, wrt=("x", "a"), target="cuda")(*map(send, given()))
    assert all(isinstance(bar, kind) for bar in (value, *bars))
    assert_close(tuple(map(fetch, (value, *bars))), (wanted[0], *wanted[1]), 1e-11)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_on_their_streams(library):
    send, fetch, _ = own(library)
    module = pytest.importorskip(library)
    stream = module.cuda.Stream()
    x = np.random.default_rng(4).normal(size=1_000_003)
    gradient = adjit.grad(norm, target="cuda")
    with stream if library == "cupy" else module.cuda.stream(stream):
        sent = send(x)
        # what is asked of the gradient is asked on the same stream, behind it
        for _ in range(20):
            sent = sent + 0.01 * gradient(sent)
    stream.synchronize()
    wanted, own_gradient = x, adjit.grad(norm)
    for _ in range(20):
        wanted = wanted + 0.01 * own_gradient(wanted)
    assert_close(fetch(sent), wanted, 1e-11)


def test_on_streams_of_the_backend():
    gradient = adjit.grad(norm, target="cuda")
    streams = [cuda.stream() for _ in range(4)]
    inputs = np.random.default_rng(4).normal(size=(4, 1_000_003))
    sent = [cuda.to_device(x, stream=s) for x, s in zip(inputs, streams, strict=True)]
    found = []
    for _ in range(3):
        found = []
        for x, stream in zip(sent, streams, strict=True):
            with adjit.cuda.on(stream):
                found.append(gradient(x))
    for x, bar, stream in zip(inputs, found, streams, strict=True):
        stream.synchronize()
        assert_close(bar.copy_to_host(), adjit.grad(norm)(x), 1e-11)


def test_memory_is_used_again():
    from adjit.runtime.cuda.backend import pool

    gradient = adjit.grad(norm, target="cuda")
    x = cuda.to_device(np.ones(100_000))
    gradient(x)
    cuda.synchronize()
    free = cuda.current_context().get_memory_info().free
    for _ in range(50):
        gradient(x)
    assert cuda.current_context().get_memory_info().free >= free - (4 << 20)
    assert pool.bytes > 0
    adjit.cuda.clear_workspaces()
    assert pool.bytes == 0


def test_what_kernels_take_is_told():
    gradient = adjit.value_and_grad(misfit, wrt=("x", "a"), target="cuda")
    sent = tuple(map(cuda.to_device, given()))
    gradient(*sent)
    told = str(gradient.explain(*sent))
    assert "registers" in told
    assert "of 2,048" in told
