"""Single precision, sizes at the edge, the other kinds of derivatives, and what callers give and get."""

import runpy

import numpy as np
import pytest
from numba import cuda

import adjit
from adjit.runtime.library.gpus import SIMULATED
from tests.cuda.simulated.checks import arguments, assert_close, check, on_device, on_gpu, on_host, simulated
from tests.cuda.simulated.functions import FUNCTIONS, chain, ensemble, in_threads, misfit, norm, pairs, seep, two_sums

SINGLE = [
    "chain", "misfit", "in_threads", "two_sums", "softmax_rows", "seep", "heat_plane", "scattered", "small_solves",
    "monte_carlo", "recurrence", "accumulated",
]  # fmt: skip


@pytest.mark.parametrize("name", [*SINGLE[:1], *(pytest.param(name, marks=pytest.mark.long) for name in SINGLE[1:])])
def test_single_precision(name):
    function, shapes = FUNCTIONS[name]
    check(function, arguments(shapes, np.float32), np.float32)


@pytest.mark.parametrize("n", [0, 17, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 16, 48, 49))])
@pytest.mark.parametrize("function, others", [(chain, 1), (two_sums, 1), (in_threads, 0)])
def test_sizes_that_fill_blocks_and_leave_them_part_full(function, others, n):
    x = np.random.default_rng(n).uniform(0.1, 0.9, n)
    more = [x * 0.5 + 0.1] * others or [0.7]
    wanted = adjit.jvp(function, (x, *more), (x, *more), target="python")
    got = adjit.jvp(
        function, (on_device(x), *map(on_device, more)), (on_device(x), *map(on_device, more)), target="cuda"
    )
    if n or function is not two_sums:
        assert_close(on_host(got), wanted, 1e-12)
    else:
        assert np.isnan(on_host(got)[0])


@on_gpu
@pytest.mark.parametrize("n", [255, 256, 257, 10_001, 1_000_003])
@pytest.mark.parametrize("function, others", [(chain, 1), (two_sums, 1), (in_threads, 0)])
def test_many_blocks(function, others, n):
    x = np.random.default_rng(n).uniform(0.1, 0.9, n)
    more = [x * 0.5 + 0.1] * others or [0.7]
    given = x, *more
    value, pullback = adjit.vjp(function, *given)
    seed = value * 0.0 + 0.3
    own, pulled = adjit.vjp(function, *map(on_device, given), target="cuda")
    assert_close(on_host(own), value, 1e-11)
    wanted = pullback(seed)
    for bar, expected in zip(on_host(pulled(on_device(seed))), wanted, strict=True):
        assert_close(bar, expected, 1e-11)


@on_gpu
@pytest.mark.parametrize("shape", [(300, 500), (1, 70_000), (70_000, 3)])
def test_many_blocks_of_planes(shape):
    g = np.random.default_rng(1)
    given = g.random(shape[0]), g.random(shape[1])
    value, pullback = adjit.vjp(pairs, *given)
    seed = g.random(np.shape(value))
    own, pulled = adjit.vjp(pairs, *map(on_device, given), target="cuda")
    assert_close(on_host(own), value, 1e-11)
    assert_close(on_host(pulled(on_device(seed))), pullback(seed), 1e-11)


@pytest.mark.parametrize(
    "shape", [(0, 3), (20, 1), *(pytest.param(shape, marks=pytest.mark.long) for shape in ((3, 0), (1, 20), (5, 5)))]
)
def test_planes_of_any_shape(shape):
    g = np.random.default_rng(1)
    x, y = g.random(shape[0]), g.random(shape[1])
    check(pairs, (x, y), np.float64)


def test_value_and_gradient_are_on_the_device():
    x, d, w, a = (on_device(v) for v in arguments(FUNCTIONS["misfit"][1], np.float64))
    value, (x_bar, a_bar) = adjit.value_and_grad(misfit, wrt=("x", "a"), target="cuda")(x, d, w, a)
    host = [on_host(v) for v in (x, d, w, a)]
    wanted = adjit.value_and_grad(misfit, wrt=("x", "a"))(*host)
    assert value.shape == ()
    assert hasattr(x_bar, "copy_to_host")
    assert_close(on_host((value, (x_bar, a_bar))), wanted, 1e-12)


def test_arguments_are_not_changed():
    p0, k, steps = arguments(FUNCTIONS["seep"][1], np.float64)
    given = on_device(p0), on_device(k)
    adjit.grad(seep, wrt=("p0", "k"), target="cuda")(*given, steps)
    np.testing.assert_array_equal(on_host(given[0]), p0)
    np.testing.assert_array_equal(on_host(given[1]), k)


def test_the_same_bits_each_time():
    x, y = (on_device(v) for v in arguments([[70], [70]], np.float64))
    gradient = adjit.grad(two_sums, wrt=("x", "y"), target="cuda")
    first, second = on_host(gradient(x, y)), on_host(gradient(x, y))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("make", [adjit.jacfwd, adjit.jacrev])
def test_jacobians(make):
    x, y = arguments([[5], [5]], np.float64)
    assert_close(on_host(make(chain, target="cuda")(on_device(x), on_device(y))), make(chain)(x, y), 1e-12)


def test_second_derivatives():
    x, v = arguments([[9], [9]], np.float64)
    assert_close(on_host(adjit.hvp(norm, target="cuda")(on_device(x), on_device(v))), adjit.hvp(norm)(x, v), 1e-12)
    along = adjit.jvp(adjit.jacfwd(ensemble), (x, 3), (v, 0), target="python")
    got = adjit.jvp(adjit.jacfwd(ensemble), (on_device(x), 3), (on_device(v), 0), target="cuda")
    assert_close(on_host(got), along, 1e-11)
    assert_close(on_host(adjit.hessian(norm, target="cuda")(on_device(x))), adjit.hessian(norm)(x), 1e-11)
    assert_close(
        on_host(adjit.jacobian(chain, target="cuda")(on_device(x), on_device(v))),
        np.diag(adjit.grad(lambda x, v: np.sum(chain(x, v)))(x, v)),
        1e-11,
    )


def test_strided_arrays_are_taken_as_they_are():
    whole = np.random.default_rng(4).random((12, 6))
    x, y = whole[::2, 1], whole[::2, 4]
    device = cuda.to_device(whole)
    got = adjit.grad(two_sums, wrt=("x", "y"), target="cuda")(device[::2, 1], device[::2, 4])
    assert_close(on_host(got), adjit.grad(two_sums, wrt=("x", "y"))(x, y), 1e-12)


def test_numbers_may_be_on_the_device():
    x, c = np.linspace(0.1, 0.9, 9), np.array(1.3)
    got = adjit.vjp(in_threads, on_device(x), on_device(c), target="cuda")[1](on_device(x))
    assert_close(on_host(got), adjit.vjp(in_threads, x, 1.3)[1](x), 1e-12)


def test_arrays_of_numpy_are_refused():
    with pytest.raises(adjit.WrongDevice, match="argument `y` of chain") as fault:
        adjit.jvp(chain, (on_device(np.ones(3)), np.ones(3)), (on_device(np.ones(3)), np.ones(3)), target="cuda")
    assert "to_device" in str(fault.value)
    with pytest.raises(adjit.WrongDevice, match="argument `x`"):
        adjit.grad(norm, target="cuda")(np.ones(3))


def test_gradients_are_stored_in_arrays_of_the_callers():
    x, y = arguments([[20], [20]], np.float64)
    given, out = (on_device(x), on_device(y)), (cuda.device_array(20), cuda.device_array(20))
    found = adjit.grad(two_sums, wrt=("x", "y"), target="cuda").into(*given, out=out)
    assert found[0] is out[0]
    assert_close(on_host(out), adjit.grad(two_sums, wrt=("x", "y"))(x, y), 1e-12)
    with pytest.raises(adjit.Aliased):
        adjit.grad(norm, target="cuda").into(given[0], out=given[0])
    with pytest.raises(adjit.TypeMismatch, match="another shape"):
        adjit.grad(norm, target="cuda").into(given[0], out=cuda.device_array(3))


@pytest.mark.parametrize("given", ["x", object(), 1j])
def test_what_is_no_number_is_refused(given):
    with pytest.raises(adjit.Unsupported, match=r"argument `x` of grad\(norm\) of type"):
        adjit.grad(norm, target="cuda")(given)


def test_seeds_and_vectors_are_like_what_they_belong_to():
    x = on_device(np.ones(4))
    _, pullback = adjit.vjp(chain, x, x, target="cuda")
    for wrong in (np.ones(4), on_device(np.ones(3)), on_device(np.ones(4, np.float32)), 1.0):
        with pytest.raises(adjit.TypeMismatch, match="the seed"):
            pullback(wrong)
    with pytest.raises(adjit.TypeMismatch, match="the vector along 'x'"):
        adjit.hvp(norm, target="cuda")(x, np.ones(4))


def test_several_seeds_are_for_the_cpu():
    x = on_device(np.ones(4))
    _, pullback = adjit.vjp(chain, x, x, target="cuda")
    with pytest.raises(adjit.Unsupported, match="several seeds at once on a GPU") as fault:
        pullback(on_device(np.ones((2, 4))), several=True)
    assert "jacrev" in fault.value.instead


@pytest.mark.long
def test_extremes_are_of_all_elements():
    for place in range(0, 53, 4):
        x = np.linspace(0.0, 1.0, 53)
        x[place] = 2.0
        assert on_host(adjit.jvp(np.max, (on_device(x),), (on_device(x),), target="cuda")) == (2.0, 2.0)
        assert on_host(adjit.jvp(np.min, (on_device(-x),), (on_device(x),), target="cuda")) == (-2.0, 2.0)
        x[place] = np.nan
        assert np.isnan(on_host(adjit.jvp(np.max, (on_device(x),), (on_device(x),), target="cuda"))[0])


def test_jacobians_of_checkpointed_loops():
    # where snapshots were taken is in an array of the host's, and so are copies of that
    def stepped(x, k, steps):
        for _ in adjit.checkpoint(range(steps), snapshots=2):
            x = x + k[0] * np.sin(x) + k[1]
        return np.sum(x * x)

    x, k = np.linspace(0.1, 0.9, 5), np.array([0.1, 0.2])
    found = on_host(adjit.jacrev(stepped, "k", target="cuda")(on_device(x), on_device(k), 4))
    assert_close(found, adjit.grad(stepped, "k", target="python")(x, k, 4), 1e-12)


def test_a_limit_of_memory():
    p0, k, _ = arguments(FUNCTIONS["seep"][1], np.float64)
    limited = adjit.grad(seep, wrt=("p0", "k"), target="cuda", memory_limit="3 KB")
    assert "checkpoint_distance" in limited.source("float64[:], float64[:], int64")
    assert_close(on_host(limited(on_device(p0), on_device(k), 7)), adjit.grad(seep, wrt=("p0", "k"))(p0, k, 7), 1e-12)


def test_the_source_runs_as_it_is_printed(tmp_path):
    x, d, w, a = (on_device(v) for v in arguments(FUNCTIONS["misfit"][1], np.float64))
    gradient = adjit.grad(misfit, wrt=("x", "a"), target="cuda")
    file = tmp_path / "misfit_grad.py"
    file.write_text(gradient.source(x, d, w, a))
    found = runpy.run_path(str(file))["misfit_grad"](x, d, w, a)
    assert_close(on_host(found), on_host(gradient(x, d, w, a)), 0.0)


def test_what_compiles_is_told():
    assert (adjit.cuda.backend() == "simulator") == SIMULATED


def test_streams_are_where_launches_go():
    stream = cuda.stream()
    seen = []
    launch = adjit.cuda.cover
    with adjit.cuda.on(stream):
        seen.append(launch(5)[2])
        adjit.grad(norm, target="cuda")(on_device(np.ones(3)))
    assert seen == [stream]
    assert launch(5)[2] == 0


@simulated
def test_launches_with_other_types_are_noticed():
    # the fixture that looks at all of them: a GPU would have no kernel for these
    @cuda.jit("void(int64[::1], float64)")
    def kernel(x, c):
        x[cuda.grid(1)] = c

    kernel[1, 2](cuda.to_device(np.zeros(2, np.int64)), 1.0)
    for x in (np.zeros(2), np.zeros((2, 2), np.int64)):
        with pytest.raises(AssertionError, match=r"is not int64\[::1\]"):
            kernel[1, 2](cuda.to_device(x), 1.0)


def test_numbers_of_kernels_are_as_on_a_gpu():
    # where Python raises: a root whose slope is infinite, functions that overflow
    def steep(x):
        return np.where(x > 0.0, np.sqrt(x), 0.0) + np.exp(800.0 * x) + np.log(x) + 1.0 / x

    x = np.array([0.0, 0.5, 1.0])
    slope = on_host(adjit.grad(lambda x: np.sum(steep(x)), target="cuda")(on_device(x)))
    np.testing.assert_array_equal(np.isfinite(slope), [False, True, False])
    with pytest.raises(ValueError, match="factors of a product"):
        adjit.grad(lambda a, x: np.sum(a @ x), target="cuda")(on_device(np.ones((3, 4))), on_device(np.ones(3)))
