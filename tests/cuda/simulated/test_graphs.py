"""`adjit.cuda.graph`: what is launched again gives what a call gives, on what the arrays hold by then."""

import contextlib
import gc
import math

import numpy as np
import pytest
from numba import cuda

import adjit
from adjit.errors import Unsupported, WrongCall
from tests.cuda.simulated.checks import arguments, assert_close, on_device, on_gpu, on_host
from tests.cuda.simulated.functions import FUNCTIONS, chain, damped_until, misfit, norm, scattered, with_global


def tabled(x):
    return np.sum(with_global(x))


def added(x, idx):
    return np.sum(scattered(x, idx) ** 2)


def damped(x, tolerance):
    return np.sum(damped_until(x, tolerance))


# sums, a time loop, loops over rows, arrays that the host makes, an array of the program's own, atomic additions
RECORDED = {name: FUNCTIONS[name] for name in ("misfit", "heat_plane", "loss_of_rows", "on_a_grid", "monte_carlo")}
RECORDED |= {"tabled": (tabled, FUNCTIONS["with_global"][1]), "added": (added, FUNCTIONS["scattered"][1])}


def refilled(sent, given):
    """Other numbers in the same arrays."""
    for own, array in zip(sent, given, strict=True):
        if isinstance(array, np.ndarray):
            own.copy_to_device(array)


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_launched_again_is_what_a_call_gives(name):
    function, shapes = RECORDED[name]
    first, second = (arguments(shapes, np.float64, seed) for seed in (3, 4))
    wrt = tuple(k for k, shape in enumerate(shapes) if isinstance(shape, list))
    gradient = adjit.value_and_grad(function, wrt=wrt, target="cuda")
    sent = tuple(map(on_device, first))
    step = adjit.cuda.graph(gradient, *sent)
    assert step.result is None
    kept = None
    for given in (first, second, first):
        refilled(sent, given)
        found = step()
        wanted = gradient(*sent)
        assert_close(on_host(found), on_host(wanted), 1e-13)
        assert kept is None or all(a is b for a, b in zip(kept[1], found[1], strict=True))
        kept = found
        assert step.result is found


def test_an_array_that_takes_the_gradient_is_filled_again():
    x, y = arguments(([200], [200]), np.float64)
    sent, out = on_device((x, y)), on_device(np.zeros(200))
    gradient = adjit.grad(lambda x, y: np.sum(chain(x, y)), target="cuda")
    step = adjit.cuda.graph(gradient.into, *sent, out=out)
    assert step() is out
    wanted = on_host(gradient(*sent))
    assert_close(on_host(out), wanted, 1e-14)
    out.copy_to_device(np.full(200, 7.0))
    step()
    assert_close(on_host(out), wanted, 1e-14)


@cuda.jit
def squares(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i]


@cuda.jit
def descend(x, x_bar, rate):
    i = cuda.grid(1)
    if i < x.size:
        x[i] -= rate * x_bar[i]
        x_bar[i] = 0.0


def test_nothing_runs_but_what_is_launched():
    # an adjoint adds to its shadows: recording it adds nothing
    x = np.linspace(0.1, 1.0, 300)
    own, y, x_bar, y_bar = map(on_device, (x, np.zeros(300), np.zeros(300), np.zeros(300)))
    adjoint = adjit.cuda.adjoint(squares)

    def sweep():
        adjoint[2, 256](own, None, y_bar=y_bar, x_bar=x_bar)

    step = adjit.cuda.graph(sweep)
    for count in (1, 2, 3):
        y_bar.copy_to_device(np.ones(300))
        assert step() is None
        assert_close(on_host(x_bar), 2.0 * count * x, 1e-14)


def test_a_step_of_a_fit_with_a_kernel_of_the_users():
    x = np.linspace(0.1, 1.0, 300)
    own, x_bar = map(on_device, (x, np.zeros(300)))
    gradient = adjit.grad(norm, target="cuda")

    def fit():
        gradient.into(own, out=x_bar)
        descend[2, 256, adjit.cuda.current()](own, x_bar, 0.1)

    step = adjit.cuda.graph(fit)
    for _ in range(5):
        step()
        x = x - 0.1 * adjit.grad(norm)(x)
    assert_close(on_host(own), x, 1e-13)


@on_gpu
def test_memory_of_a_graph_is_nobody_elses():
    # what it keeps between its launches of kernels, it has; what callers are given meanwhile is not among it
    x = np.linspace(0.1, 0.9, 5000)
    sent = on_device(x)
    gradient = adjit.value_and_grad(norm, target="cuda")
    step = adjit.cuda.graph(gradient, sent)
    found = step()
    others = [adjit.cuda.full(5000, 1.0 * k) for k in range(20)]
    more = [gradient(sent) for _ in range(5)]
    step()
    assert all(np.all(on_host(a) == 1.0 * k) for k, a in enumerate(others))
    assert_close(on_host(found), on_host(more[0]), 0.0)
    # results outlive it
    del step
    gc.collect()
    more += [gradient(sent) for _ in range(5)]
    assert_close(on_host(found), on_host(more[0]), 0.0)


def test_what_the_host_reads_is_refused():
    step = adjit.cuda.graph(adjit.grad(damped, target="cuda"), on_device(np.full(30, 0.7)), 0.1)
    for _ in range(2):
        with pytest.raises(Unsupported, match="the host reads a number"):
            step()


def test_a_stream_is_chosen_where_it_is_called():
    stream = cuda.stream()
    x = np.linspace(0.1, 0.9, 50)
    gradient = adjit.grad(norm, target="cuda")

    def elsewhere(x):
        with adjit.cuda.on(stream):
            return gradient(x)

    with pytest.raises(WrongCall, match="a stream is selected"):
        adjit.cuda.graph(elsewhere, on_device(x))()
    with adjit.cuda.on(stream):
        found = adjit.cuda.graph(gradient, on_device(x))()
    stream.synchronize()
    assert_close(on_host(found), adjit.grad(norm)(x), 1e-14)


def test_a_graph_in_a_graph_is_refused():
    inner = adjit.cuda.graph(adjit.grad(norm, target="cuda"), on_device(np.ones(50)))
    with pytest.raises(WrongCall, match="within a graph"):
        adjit.cuda.graph(lambda: inner())()


def test_what_goes_wrong_leaves_nothing_behind():
    x = on_device(np.linspace(0.1, 0.9, 50))
    gradient = adjit.grad(norm, target="cuda")

    def broken(x):
        gradient(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        adjit.cuda.graph(broken, x)()
    assert_close(on_host(adjit.cuda.graph(gradient, x)()), on_host(gradient(x)), 0.0)


@on_gpu
@pytest.mark.parametrize("fault, asked", [((), "CAPTURE"), (Exception, "cannot be recorded")])
def test_what_cannot_be_recorded_is_told(fault, asked):
    x = on_device(np.linspace(0.1, 0.9, 50))

    def waiting():
        with contextlib.suppress(fault):
            adjit.cuda.current().synchronize()

    with pytest.raises(Exception, match=asked):
        adjit.cuda.graph(waiting)()
    assert_close(on_host(adjit.grad(norm, target="cuda")(x)), adjit.grad(norm)(on_host(x)), 1e-14)


@on_gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_libraries(library):
    module = pytest.importorskip(library)
    send = module.asarray if library == "cupy" else lambda a: module.as_tensor(a, device="cuda")
    x, d, w, a = arguments(FUNCTIONS["misfit"][1], np.float64)
    sent = tuple(map(send, (x, d, w, a)))
    step = adjit.cuda.graph(adjit.value_and_grad(misfit, wrt=("x",), target="cuda"), *sent)
    stream = module.cuda.Stream()
    with stream if library == "cupy" else module.cuda.stream(stream):
        for _ in range(3):
            value, (x_bar,) = step()
            assert type(x_bar) is type(sent[0])
            kept = value + 0.0, x_bar + 0.0
            sent[0][...] = sent[0] * 0.9
    stream.synchronize()
    wanted = adjit.value_and_grad(misfit, wrt=("x",))(0.9**2 * x, d, w, a)
    fetch = module.asnumpy if library == "cupy" else lambda t: t.cpu().numpy()
    assert math.isclose(float(fetch(kept[0])), wanted[0], rel_tol=1e-12)
    assert_close(fetch(kept[1]), wanted[1][0], 1e-12)


@on_gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_what_others_capture_is_refused(library):
    module = pytest.importorskip(library)
    x = module.ones(1000, dtype=module.float64, **({"device": "cuda"} if library == "torch" else {}))
    gradient = adjit.grad(norm, target="cuda")
    gradient(x)
    stream = module.cuda.Stream() if library == "torch" else module.cuda.Stream(non_blocking=True)
    if library == "torch":
        captured = module.cuda.CUDAGraph()
        with pytest.raises(WrongCall, match="captured"), module.cuda.graph(captured, stream=stream):
            gradient(x)
        return
    with stream:
        stream.begin_capture()
        with pytest.raises(WrongCall, match="captured"):
            gradient(x)
        stream.end_capture()
