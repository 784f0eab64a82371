"""Arguments that are built of device arrays and numbers: lists, dictionaries, objects, parts of them; maps; DLPack."""

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda
from numba.cuda import random as numbas

import adjit
from adjit.runtime.library import xoroshiro
from adjit.runtime.library.gpus import SIMULATED
from tests.cuda.kernels.extremes import greatest, states, walks
from tests.cuda.simulated.checks import assert_close, on_device, on_host, simulated


@dataclasses.dataclass
class Layer:
    w: object
    b: object


class Scale(NamedTuple):
    factor: float
    shift: object


def network(params, x):
    y = np.tanh(params["w"] @ x + params["b"])
    return np.sum(y * params["scale"].factor + params["scale"].shift * y * y)


def of_layers(layers, x):
    for layer in layers:
        x = np.tanh(layer.w * x + layer.b)
    return np.sum(x * x)


def moved(value, move):
    """The same with other arrays."""
    if isinstance(value, np.ndarray) or hasattr(value, "copy_to_host"):
        return move(value)
    if isinstance(value, dict):
        return {key: moved(part, move) for key, part in value.items()}
    if dataclasses.is_dataclass(value):
        return type(value)(*(moved(getattr(value, f.name), move) for f in dataclasses.fields(value)))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(part, move) for part in value))
    return type(value)(moved(part, move) for part in value) if isinstance(value, list | tuple) else value


def parts(value):
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in parts(part)]
    if dataclasses.is_dataclass(value):
        return parts(list(vars(value).values()))
    return [leaf for part in value for leaf in parts(part)] if isinstance(value, list | tuple) else [value]


def assert_like(found, wanted):
    found = moved(found, on_host)
    assert type(found) is type(wanted)
    for one, other in zip(parts(found), parts(wanted), strict=True):
        assert_close(np.asarray(one), np.asarray(other), 1e-12)


def given(seed=1):
    g = np.random.default_rng(seed)
    params = {"w": g.normal(size=(3, 4)), "b": g.normal(size=3), "scale": Scale(1.5, g.normal(size=3))}
    return params, g.normal(size=4)


def test_gradients_are_built_like_their_arguments():
    params, x = given()
    wanted = adjit.value_and_grad(network, target="python")(params, x)
    value, gradient = adjit.value_and_grad(network, target="cuda")(moved(params, on_device), on_device(x))
    assert_close(on_host(value), wanted[0], 1e-13)
    assert_like(gradient, wanted[1])
    assert isinstance(gradient["scale"], Scale)
    assert hasattr(gradient["w"], "copy_to_host")


def test_lists_of_objects():
    g = np.random.default_rng(2)
    layers = [Layer(g.normal(size=5), 0.3), Layer(g.normal(size=5), -0.2)]
    x = g.normal(size=5)
    gradient = adjit.grad(of_layers, wrt=(0, 1), target="cuda")
    found = gradient(moved(layers, on_device), on_device(x))
    wanted = adjit.grad(of_layers, wrt=(0, 1), target="python")(layers, x)
    assert isinstance(found[0][0], Layer)
    assert_like(found, wanted)
    # of the same code
    assert_like(gradient(moved(layers, on_device), on_device(x)), wanted)


def test_tangents_and_pullbacks():
    params, x = given()
    dots, x_dot = given(5)
    own, device = functools.partial(moved, move=on_device), on_device
    wanted = adjit.jvp(network, (params, x), (dots, x_dot), target="python")
    assert_like(adjit.jvp(network, (own(params), device(x)), (own(dots), device(x_dot)), target="cuda"), wanted)
    _, pullback = adjit.vjp(network, own(params), device(x), target="cuda")
    assert_like(pullback(2.0), adjit.vjp(network, params, x, target="python")[1](2.0))


def test_parts_of_arguments():
    params, x = given()
    device = moved(params, on_device), on_device(x)
    for wrt in ("params['w']", ("params['scale'].shift", "x"), "params['scale']"):
        wanted = adjit.grad(network, wrt=wrt, target="python")(params, x)
        assert_like(adjit.grad(network, wrt=wrt, target="cuda")(*device), wanted)

    def of_pair(x, k):
        return np.sum(x[0] * x[1] ** k)

    pair = tuple(given()[0]["w"][:2])
    found = adjit.grad(of_pair, wrt="x[1]", target="cuda")(on_device(pair), 3)
    assert_close(on_host(found), 3 * pair[0] * pair[1] ** 2, 1e-12)


def test_what_is_in_the_memory_of_the_host_is_refused():
    params, x = given()
    with pytest.raises(adjit.WrongDevice, match="argument `params`"):
        adjit.grad(network, target="cuda")(params, on_device(x))
    with pytest.raises(adjit.Unsupported, match="a list of numbers"):
        adjit.grad(lambda c, x: np.sum(c[0] * x), target="cuda")([1.0, 2.0], on_device(x))
    with pytest.raises(adjit.TypeMismatch, match="on a device"):
        adjit.grad(of_layers, target="python")([Layer(on_device(x), 0.1)], x)


def single(w, x):
    return math.tanh(w[0] * x) + w[1] * x * x


def test_maps_are_threads():
    w, x = np.array([0.4, -0.3]), np.linspace(-1.0, 1.0, 21)
    found = adjit.vmap(single, (None, 0), target="cuda")(on_device(w), on_device(x))
    assert_close(on_host(found), np.tanh(0.4 * x) - 0.3 * x * x, 1e-13)
    each = adjit.vmap(adjit.grad(single, 1), {"x": 0}, target="cuda")
    assert_close(on_host(each(on_device(w), on_device(x))), 0.4 / np.cosh(0.4 * x) ** 2 - 0.6 * x, 1e-12)
    assert "one_thread" not in each.source("float64[::1], float64[::1]")
    rows = np.random.default_rng(1).normal(size=(9, 2))
    of_rows = adjit.vmap(adjit.grad(single), {"w": 0, "x": None}, target="cuda")
    wanted = adjit.vmap(adjit.grad(single), {"w": 0, "x": None}, target="python")(rows, 0.7)
    assert_close(on_host(of_rows(on_device(rows), 0.7)), wanted, 1e-12)

    def loss(w, x):
        return np.sum(adjit.vmap(single, (None, 0))(w, x) ** 2)

    assert_close(
        on_host(adjit.grad(loss, target="cuda")(on_device(w), on_device(x))),
        adjit.grad(loss, target="python")(w, x),
        1e-12,
    )
    with pytest.raises(adjit.Unsupported, match="vmap in a kernel"):
        adjit.vmap(single, target="cuda-device")


def elsewhere(array):
    """An array of another library, on the GPU if there is one."""
    return array if SIMULATED else pytest.importorskip("cupy").asarray(array)


class Tensor:
    """An array that speaks DLPack and nothing else; what it says of its device is not so, in the simulator."""

    def __init__(self, array, device=0):
        array = elsewhere(array)
        self.array, self.shape, self.dtype, self.device = array, array.shape, str(array.dtype), device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__() if SIMULATED else self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return (2, self.device)


def test_arrays_that_speak_dlpack_alone():
    x, y = np.random.default_rng(3).normal(size=(2, 6, 5))

    def both(x, y):
        return np.sum(x * np.sin(y))

    gradient = adjit.value_and_grad(both, wrt=(0, 1), target="cuda")
    wanted = adjit.value_and_grad(both, wrt=(0, 1), target="python")
    for pick in (lambda a: a, lambda a: a.T, lambda a: a[::2, 1:], lambda a: a[:0]):
        assert_close(
            on_host(gradient(Tensor(pick(elsewhere(x))), Tensor(pick(elsewhere(y))))), wanted(pick(x), pick(y)), 1e-12
        )
    single_x = x.astype(np.float32)
    found = adjit.grad(lambda x: np.sum(x * x), target="cuda")(Tensor(single_x))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.copy_to_host(), 2 * single_x, rtol=1e-6)
    # in what is built of them, as tangents and as seeds
    built = adjit.grad(lambda p: np.sum(p["x"] * p["x"]), target="cuda")({"x": Tensor(x)})
    assert_close(on_host(built["x"]), 2 * x, 1e-13)
    _, pullback = adjit.vjp(np.sin, Tensor(x), target="cuda")
    assert_close(on_host(pullback(Tensor(y))[0]), y * np.cos(x), 1e-13)
    with pytest.raises(adjit.TypeMismatch, match="an array on a device"):
        adjit.grad(both, target="python")(Tensor(x), y)


@simulated
def test_arrays_of_two_devices_are_refused():
    x = np.ones(3)
    with pytest.raises(adjit.WrongDevice, match=r"arguments of grad\(single\) are on devices 0 and 1"):
        adjit.grad(single, target="cuda")(Tensor(x), Tensor(x, 1))
    given = [Tensor(x, k) for k in (0, 0, 1)]
    with pytest.raises(adjit.WrongDevice, match="devices 0 and 1"):
        adjit.cuda.adjoint(greatest)[1, 4](*given[:2], x_bar=given[2], y_bar=given[1])


def payoff(states, s0, sigma, steps):
    """Two launches that draw, the second from where the first has left the states."""
    out = cuda.device_array(s0.size)
    walks[(s0.size + 7) // 8, 8](states, s0, 0.01, sigma, steps, out)
    total = np.sum(out)
    walks[(s0.size + 7) // 8, 8](states, s0, 0.01, sigma, steps, out)
    return total + np.sum(out * out)


def test_programs_that_draw():
    g = np.random.default_rng(1)
    given = states(g, 13), 1.0 + g.random(13), 0.2 * g.random(13), 4
    before = given[0].copy()
    wanted = adjit.value_and_grad(payoff, wrt=("s0", "sigma"), target="python")(*given)
    device = tuple(map(on_device, given))
    found = adjit.value_and_grad(payoff, wrt=("s0", "sigma"), target="cuda")(*device)
    assert_close(on_host(found), wanted, 1e-13 if SIMULATED else 1e-6)
    for left in (given[0], on_host(device[0])):
        np.testing.assert_array_equal(left, before)
    dot, h = g.normal(size=13), 1e-5
    ends = [adjit.vjp(payoff, before, given[1] + s * dot, *given[2:], target="python")[0] for s in (h, -h)]
    assert np.vdot(wanted[1][0], dot) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)


@simulated
@pytest.mark.parametrize("name", xoroshiro.DRAWS)
def test_draws_are_numbas(name):
    own = states(np.random.default_rng(1), 3)
    others = own.copy()
    with np.errstate(over="ignore"):
        drawn = [getattr(numbas, name)(own, 1) for _ in range(5)]
        ours = [xoroshiro.DRAWS[name](xoroshiro.States(others["s0"], others["s1"]), 1) for _ in range(5)]
    np.testing.assert_array_equal(own, others)
    np.testing.assert_allclose(np.array(drawn, float), np.array(ours, float), rtol=1e-7)
    assert "normal" in name or drawn == ours
