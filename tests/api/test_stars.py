"""Functions with `*` and `**` parameters: each argument of a call is a parameter."""

import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.errors import NotScalar, Unsupported, WrongCall, WrongWrt

X = np.array([1.0, 2.0])


def product(*args):
    return args[0] ** 2 * args[1]


def energy(x, *args, k=2.0, **options):
    total = k * x**2
    for a in args:
        total += a * x
    for name in options:
        total += options[name] * x
    return total


def squares(*args):
    total = 0.0
    for a in args:
        total += np.sum(a**2)
    return total


def pair(*args):
    return np.array([args[0] * args[1], args[0] ** 2])


def options_alone(**options):
    return options["a"] ** 2 * options.get("b", 1.0)


def in_turn(**options):
    total = 0.0
    for value in options.values():
        total = 2.0 * total + value
    return total


def clash(x, /, **options):
    return x * options["x"] ** 2


def part(*args):
    return args[0]["a"] ** 2 * args[1]


@njit
def compiled(*args):
    return args[0] ** 2 * args[1]


class Spring:
    def energy(self, *args):
        return args[0]


@pytest.fixture(params=["python", "cpu"])
def target(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"target": request.param}


def test_arguments_by_position(target: dict[str, Any]) -> None:
    assert adjit.grad(product, **target)(2.0, 3.0) == 12.0
    assert adjit.grad(product, wrt=(0, 1), **target)(2.0, 3.0) == (12.0, 4.0)
    assert adjit.value_and_grad(product, wrt=-1, **target)(2.0, 3.0) == (12.0, 4.0)
    assert adjit.grad(product, wrt="args_1", **target)(2.0, 3.0) == 4.0


def test_arguments_by_name(target: dict[str, Any]) -> None:
    made = adjit.grad(energy, **target)
    assert made(2.0) == 8.0
    assert made(x=2.0, k=3.0) == 12.0
    # one derived function, of each number of arguments
    assert [made(2.0, *range(1, n)) for n in range(1, 4)] == [8.0, 9.0, 11.0]
    assert made(2.0, 1.0, 3.0, z=5.0) == 17.0
    found = adjit.grad(energy, wrt=("x", "z", "args_1", "k"), **target)(2.0, 1.0, 3.0, z=5.0)
    assert found == (17.0, 2.0, 2.0, 4.0)
    assert adjit.grad(energy, wrt="k", **target)(2.0) == 4.0


def test_keywords_are_in_the_order_of_the_call(target: dict[str, Any]) -> None:
    made = adjit.grad(in_turn, wrt=("a", "b"), **target)
    assert made(a=1.0, b=1.0) == (2.0, 1.0)
    assert made(b=1.0, a=1.0) == (1.0, 2.0)
    assert adjit.grad(options_alone, wrt="a", **target)(a=2.0, b=3.0) == 12.0
    assert adjit.grad(options_alone, **target)(a=2.0) == 4.0


def test_a_keyword_may_be_called_as_a_positional_parameter(target: dict[str, Any]) -> None:
    assert adjit.grad(clash, wrt=(0, 1), **target)(2.0, x=3.0) == (9.0, 12.0)


def test_arrays_and_structures(target: dict[str, Any]) -> None:
    first, second = adjit.grad(squares, wrt=(0, 1), **target)(X, 3.0)
    np.testing.assert_array_equal(first, 2.0 * X)
    assert second == 6.0
    assert adjit.grad(part, **target)({"a": 2.0, "b": 1}, 3.0) == {"a": 12.0, "b": 0}
    assert adjit.grad(part, wrt="args_0['a']", **target)({"a": 2.0, "b": 1}, 3.0) == 12.0
    out = np.empty(2)
    adjit.grad(squares, **target).into(X, out=out)
    np.testing.assert_array_equal(out, 2.0 * X)


def test_other_transformations(target: dict[str, Any]) -> None:
    assert adjit.hessian(product, wrt=(0, 1), **target)(2.0, 3.0) == ((6.0, 4.0), (4.0, 0.0))
    assert adjit.hvp(product, **target)(2.0, 3.0, 1.0) == 6.0
    assert adjit.hvp(product, wrt=(0, 1), **target)(2.0, 3.0, (1.0, 0.0)) == (6.0, 4.0)
    assert adjit.jet(product, 2, **target)(2.0, 3.0, 1.0) == (12.0, 12.0, 3.0)
    assert adjit.grad(adjit.grad(product, **target), **target)(2.0, 3.0) == 6.0
    assert adjit.grad(adjit.hvp(product, **target), wrt=1, **target)(2.0, 3.0, 1.0) == 2.0
    for kind in (adjit.jacobian, adjit.jacfwd, adjit.jacrev):
        first, second = kind(pair, wrt=(0, 1), **target)(2.0, 3.0)
        np.testing.assert_array_equal(first, [3.0, 4.0])
        np.testing.assert_array_equal(second, [2.0, 0.0])
    np.testing.assert_array_equal(adjit.jacobian(pair, sparse=True, **target)(2.0, 3.0).toarray(), [[3.0], [4.0]])


def test_forward_and_reverse_mode(target: dict[str, Any]) -> None:
    assert adjit.jvp(product, (2.0, 3.0), (1.0, 1.0), **target) == (12.0, 16.0)
    assert adjit.jvp(energy, (2.0, 3.0), (1.0, 1.0), **target) == (14.0, 13.0)
    value, pullback = adjit.vjp(energy, 2.0, 3.0, **target)
    assert (value, pullback(1.0)) == (14.0, (11.0, 2.0))


def test_maps(target: dict[str, Any]) -> None:
    np.testing.assert_array_equal(adjit.vmap(product, **target)(X, X), X**3)
    np.testing.assert_array_equal(adjit.vmap(product, in_axes=(0, None), **target)(X, 2.0), 2.0 * X**2)
    np.testing.assert_array_equal(adjit.vmap(adjit.grad(product, **target), **target)(X, X), 2.0 * X**2)


def test_functions_that_numba_compiles() -> None:
    assert adjit.grad(compiled)(2.0, 3.0) == 12.0


def test_checks() -> None:
    adjit.check_grads(product, (2.0, 3.0))
    adjit.check_grads(energy, (2.0, 3.0, 4.0), order=1)
    assert adjit.rounding_error(product)(2.0, 3.0).value == 12.0


def test_sources_are_of_the_arguments_of_a_call(tmp_path: Any) -> None:
    made = adjit.grad(product)
    assert made.source("float64, float64").splitlines()[0] == "def product_grad(args_0, args_1):"
    assert made.source(2.0, 3.0) == made.source("float64, float64")
    assert "with respect to args_0" in str(made.explain(2.0, 3.0))
    made.save(tmp_path / "saved_spread.py", 2.0, 3.0)
    spec = importlib.util.spec_from_file_location("saved_spread", tmp_path / "saved_spread.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    assert module.product_grad(2.0, 3.0) == 12.0
    source = adjit.grad(energy, wrt=("x", "z")).source(2.0, z=1.0)
    assert source.splitlines()[0] == "def energy_grad(x, k, z):"


def test_it_is_shown_and_pickled() -> None:
    made = adjit.grad(product)
    assert repr(made) == "<grad of product>"
    assert repr(adjit.hvp(made)) == "<hvp of <grad of product>>"
    assert pickle.loads(pickle.dumps(made))(2.0, 3.0) == 12.0


scale = 2.0


def scaled(*args):
    return scale * args[0]


def test_a_new_derivative_sees_globals(monkeypatch: pytest.MonkeyPatch, target: dict[str, Any]) -> None:
    before = adjit.grad(scaled, **target)
    assert before(1.0) == 2.0
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert adjit.grad(scaled, **target)(1.0) == 3.0
    assert before(1.0) == 2.0


def test_calls_that_do_not_fit() -> None:
    with pytest.raises(WrongCall, match=r"called without `x`\n.*x, \*args, k=2.0, \*\*options"):
        adjit.grad(energy)(k=3.0)
    with pytest.raises(WrongWrt, match=r"no parameter 'q'.*\n.*x, args_0, k\."):
        adjit.grad(energy, wrt="q")(1.0, 2.0)
    with pytest.raises(WrongWrt, match="no parameter 0"):
        adjit.grad(product)()
    with pytest.raises(NotScalar):
        adjit.grad(pair)(1.0, 2.0)
    with pytest.raises(WrongCall, match="without a vector"):
        adjit.hvp(product)()
    with pytest.raises(WrongCall, match="unknown option"):
        adjit.grad(product, nothing=1)


made_outside = adjit.grad(product)


def test_where_names_are_needed() -> None:
    def calls_one(x):
        return made_outside(x, 2.0)

    def makes_one(x):
        return adjit.grad(product)(x, 2.0)

    for function in (calls_one, makes_one, Spring().energy):
        with pytest.raises(Unsupported, match="Write a function with named parameters that calls it"):
            adjit.grad(function)(1.0)

    def named(x):
        return adjit.grad(lambda y, z: product(y, z))(x, 2.0)

    assert adjit.grad(named, target="python")(1.0) == 4.0


def test_tab_offers_what_users_call() -> None:
    offered = [name for name in dir(adjit.grad(product)) if not name.startswith("_")]
    assert offered == ["explain", "into", "precompile", "report", "save", "source"]
