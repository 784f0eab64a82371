"""Derivatives with respect to parts of arguments that are put together of others."""

import collections
import dataclasses

import numpy as np
import pytest

import adjit
from adjit.errors import WrongWrt

TARGETS = pytest.mark.parametrize("target", ["python", "cpu"])
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Layer:
    w: object
    b: object


@dataclasses.dataclass
class Network:
    layers: list
    scale: float


def loss(params, x):
    for layer in params.layers:
        x = np.tanh(layer.w @ x + layer.b)
    return params.scale * np.sum(x * x)


def of_a_dictionary(params, x):
    return params["k"] * np.sum(params["w"] * x) + params["t"].a * params["t"].b ** 2


A, B, X = np.array([[0.3, 0.2], [0.1, -0.4]]), np.array([0.1, 0.2]), np.array([0.5, -1.0])
NETWORK = Network([Layer(A, B), Layer(A.T.copy(), 2 * B)], 1.5)
DICTIONARY = {"k": 2.0, "w": X, "t": Pair(2.0, 3.0), "name": "n"}


def same(left, right) -> bool:
    if dataclasses.is_dataclass(left):
        return type(left) is type(right) and same(vars(left), vars(right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return type(left) is type(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    # the last bits depend on what else is computed, as products and sums of adjoints may round once
    return type(left) is type(right) and np.allclose(left, right, rtol=1e-14, atol=0.0)


@TARGETS
def test_gradients_are_parts_of_the_whole_one(target: str) -> None:
    whole, x_bar = adjit.grad(loss, wrt=(0, 1), target=target)(NETWORK, X)
    parts = {
        "params.layers": whole.layers,
        "params.layers[0].w": whole.layers[0].w,
        "params.layers[-1].b": whole.layers[1].b,
        ("params.layers[1]", "params.scale", "x"): (whole.layers[1], whole.scale, x_bar),
        ("params.scale", 1): (whole.scale, x_bar),
    }
    for wrt, wanted in parts.items():
        made = adjit.grad(loss, wrt=wrt, target=target)
        for _ in range(2):
            assert same(made(NETWORK, X), wanted)
        assert same(made(x=X, params=NETWORK), wanted)


@TARGETS
def test_keys_fields_and_values(target: str) -> None:
    whole = adjit.grad(of_a_dictionary, target=target)(DICTIONARY, X)
    for path, wanted in (
        ("params['k']", whole["k"]),
        ('params["t"]', whole["t"]),
        ("params['t'].a", whole["t"].a),
        ("params['t'][1]", whole["t"].b),
    ):
        value, bar = adjit.value_and_grad(of_a_dictionary, wrt=path, target=target)(DICTIONARY, X)
        assert value == pytest.approx(of_a_dictionary(DICTIONARY, X))
        assert same(bar, wanted)


def test_items_of_lists_that_would_be_one_array() -> None:
    def squares(values, x):
        return sum(value * value for value in values) * x

    made = adjit.grad(squares, wrt="values[1]", target="python")
    assert made([1.0, 2.0, 3.0], 2.0) == 8.0
    assert same(adjit.grad(squares, wrt=("values[0]", "x"), target="python")([1.0, 2.0], 2.0), (4.0, 5.0))


def test_numbers_and_arrays_have_second_derivatives() -> None:
    path, b = "params.layers[0].b", NETWORK.layers[0].b
    matrix = adjit.hessian(loss, wrt=path, target="python")(NETWORK, X)
    dot = np.array([0.3, -1.0])

    def moved(by):
        return Network([Layer(A, b + by), NETWORK.layers[1]], 1.5)

    made = adjit.grad(loss, wrt=path, target="python")
    difference = (made(moved(1e-6 * dot), X) - made(moved(-1e-6 * dot), X)) / 2e-6
    np.testing.assert_allclose(matrix @ dot, difference, rtol=1e-7)
    np.testing.assert_allclose(adjit.hvp(loss, wrt=path, target="python")(NETWORK, X, dot), matrix @ dot, rtol=1e-13)
    jacobian = adjit.jacobian(lambda p, x: p["w"] * x, wrt="p['w']", target="python")({"w": X, "c": 1.0}, B)
    np.testing.assert_array_equal(jacobian, np.diag(B))
    with pytest.raises(WrongWrt, match="It has no hessian"):
        adjit.hessian(loss, wrt="params.layers", target="python")(NETWORK, X)


def test_methods() -> None:
    class Model:
        def __init__(self):
            self.w, self.k = X.copy(), 2.0

        def loss(self, y):
            return self.k * np.sum(self.w * y)

    model = Model()
    np.testing.assert_array_equal(adjit.grad(model.loss, wrt="self.w", target="python")(X), 2.0 * X)
    assert adjit.grad(Model.loss, wrt="self.k", target="python")(model, X) == pytest.approx(X @ X)


@pytest.mark.parametrize(
    ("function", "wrt", "message"),
    [
        (loss, "params.layrs", r"(?s)`params` has no `\.layrs`.*It has \.layers, \.scale"),
        (loss, "params.layers[2]", r"(?s)`params\.layers` has no `\[2\]`.*\[0\], \[1\]"),
        (loss, "params.layers[0].w[0]", r"`params\.layers\[0\]\.w` has no `\[0\]`"),
        (loss, "x[0]", r"`x` has no `\[0\]`"),
        (loss, ("params", "params.scale"), "names `params.scale` and `params`"),
        (loss, ("params.layers[1].b", "params.layers[-1]"), r"names `params\.layers\[1\]`, or a part of it, twice"),
        (loss, "prams.scale", "no parameter 'prams'"),
        (loss, "params.", "is not a path"),
        (of_a_dictionary, "params.k", r"(?s)has no `\.k`.*\['k'\], \['w'\]"),
        (of_a_dictionary, "params['name']", "of type str"),
    ],
)
def test_what_there_is_not(function, wrt, message: str) -> None:
    with pytest.raises(WrongWrt, match=message):
        adjit.grad(function, wrt=wrt, target="python")(NETWORK if function is loss else DICTIONARY, X)


def test_derivatives_of_derivatives_name_whole_parameters() -> None:
    with pytest.raises(WrongWrt, match="which is a derivative itself"):
        adjit.grad(adjit.grad(loss, wrt="x"), wrt="params.scale")
