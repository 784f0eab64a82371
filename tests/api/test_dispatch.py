import dataclasses
import inspect
import linecache
import pickle
import threading

import numba
import numpy as np
import pytest

from adjit.api.functions import grad, hvp, jvp, value_and_grad, vjp
from adjit.api.specialise.dispatch import Derived, Interpreted, Options, derive
from adjit.errors import InternalError, NoRule, NotScalar, TypeMismatch, Unsupported
from adjit.transform import pipeline
from adjit.transform.pipeline import Derivative
from adjit.transform.source.parameters import plain
from tests.api.programs import X, chosen, energy, no_rule, scaled, vector_valued


def primal(function, **options):
    return derive(Derivative(function=function, kind="primal"), Options(**options))


# ------------------------------------------------------------------------------------------ types and specialisations


def test_one_specialisation_a_type():
    def weighted(x, k):
        return k * np.sum(x)

    f = primal(weighted)
    assert (f(X, 3.0), f(X, 4.0)) == (-1.5, -2.0)
    assert len(f.signatures) == 1
    assert f(X[::2], 4.0) == 6.0
    assert f(X, 4) == -2.0
    assert [str(types[1]) for types in f.signatures] == ["float64", "float64", "int64"]


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_defaults_and_keywords(target):
    f = grad(energy, target=target)
    np.testing.assert_array_equal(f(X), 4.0 * X)
    np.testing.assert_array_equal(f(k=1.0, x=X), 2.0 * X)
    np.testing.assert_array_equal(f(X, k=1.0), 2.0 * X)


def test_strings_are_static():
    for f in (grad(chosen), grad(chosen, target="python")):
        assert f(3.0, "square") == 6.0
        assert f(3.0) == 2.0
        assert f(4.0, kind="square") == 8.0
        assert f(3.0, "plain") == 2.0


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_wrong_arguments(target):
    f = grad(energy, target=target)
    with pytest.raises(TypeMismatch, match=r"argument `x` of grad\(energy\) is of type set") as fault:
        f({1.0, 2.0}, 1.0)
    assert "NumPy arrays" in str(fault.value)
    with pytest.raises(TypeMismatch, match=r"argument `k` of grad\(energy\) is of type object"):
        f(X, object())
    with pytest.raises(TypeError):
        f(X, 1.0, 2.0)


def test_unknown_target():
    with pytest.raises(Unsupported, match="target 'tpu'"):
        grad(energy, target="tpu")


def test_keyword_only_parameters():
    def shifted(x, *, shift=1.0):
        return (x + shift) * x

    for f in (grad(shifted), grad(shifted, target="python")):
        assert (f(2.0), f(2.0, shift=3.0)) == (5.0, 7.0)
    assert str(plain("f", inspect.signature(lambda x, /, y, *, z=1: x))) == "(x, y, z=1)"
    with pytest.raises(Unsupported, match="the parameter y of f, which has no default, after one with a default"):
        plain("f", inspect.signature(lambda x=1, *, y: x))


# ------------------------------------------------------------------------------------------ inside other functions


def test_inside_njit():
    f = grad(energy)

    @numba.njit
    def step(x):
        value, x_bar = both(x, k=0.5)
        return x - 0.25 * f(x, 1.0) + f(x), value + 0.0 * x_bar[0]

    both = value_and_grad(energy)
    moved, value = step(X)
    np.testing.assert_allclose(moved, 4.5 * X, rtol=1e-15)
    assert value == 0.5 * 5.25


def test_inside_njit_with_a_string():
    f = grad(chosen)

    @numba.njit
    def caller(x):
        return f(x, "square") + f(x)

    assert caller(3.0) == 8.0


@pytest.mark.parametrize("decorate", [lambda f: f, numba.njit], ids=["plain", "njit"])
def test_inside_a_function_that_is_differentiated(decorate):
    """f' of x**3 is 3 x**2; its product with x has the derivative 9 x**2."""
    slope = grad(lambda x: x**3)

    @decorate
    def outer(x):
        return x * slope(x)

    for target in ("cpu", "python"):
        assert value_and_grad(outer, target=target)(2.0) == (24.0, 36.0)
    assert jvp(outer, (2.0,), (1.0,), target="python") == (24.0, 36.0)


def test_error_is_unchanged_from_python_and_from_njit():
    f, g = grad(vector_valued), grad(no_rule)

    @numba.njit
    def caller(x):
        return f(x)

    @numba.njit
    def other_caller(x):
        return g(x)

    for function in (f, caller, grad(vector_valued, target="python")):
        with pytest.raises(NotScalar) as fault:
            function(X)
        assert str(fault.value).startswith("the gradient of vector_valued")
    texts = []
    for function in (g, other_caller, grad(no_rule, target="python")):
        with pytest.raises(NoRule) as missing:
            function(X)
        texts.append(str(missing.value))
    assert len(set(texts)) == 1
    assert "math.frexp(x[0])[0]" in texts[0]


def test_a_failed_call_leaves_the_function_usable():
    f = grad(lambda x: x * 2.0)
    with pytest.raises(NotScalar):
        f(X)
    assert f(3.0) == 2.0


def test_numba_error_is_ours(monkeypatch):
    """A fault in what is generated is reported as one of adjit, with numba's message under it."""

    def broken(x):
        return x

    right = pipeline.source

    def wrong(*given):
        made = right(*given)
        return dataclasses.replace(made, text=made.text.replace("return x", "return x.no_such_attribute"))

    monkeypatch.setattr(pipeline, "source", wrong)
    with pytest.raises(InternalError, match="report") as fault:
        primal(broken)(X)
    assert isinstance(fault.value.__cause__, numba.core.errors.NumbaError)
    assert "<adjit broken float64[:]>" in str(fault.value.__cause__)


# ---------------------------------------------------------------------------------------------------- as Python objects


def test_looks_like_the_function():
    for f, kind in ((grad(energy), Derived), (grad(energy, target="python"), Interpreted)):
        assert isinstance(f, kind)
        assert (f.__name__, f.__doc__, f.__wrapped__) == ("energy", energy.__doc__, energy)
        assert list(inspect.signature(f).parameters) == ["x", "k"]
    assert repr(grad(energy, wrt="k")) == "<grad of energy with respect to (1,)>"
    pullback = derive(Derivative(energy, "vjp", (0, 1)), Options())
    assert list(inspect.signature(pullback).parameters) == ["x", "k", "out_bar"]


def test_pickle():
    for f in (grad(energy, wrt="k"), grad(energy, wrt="k", target="python"), grad(grad(chosen))):
        assert pickle.loads(pickle.dumps(f)) is f
    assert pickle.loads(pickle.dumps(grad(energy, wrt="k")))(X, 3.0) == 5.25


@grad(target="python")
def decorated(x):
    return x * x


def test_pickle_of_a_decorated_function():
    assert pickle.loads(pickle.dumps(decorated))(3.0) == 6.0


def test_same_object_for_same_request():
    assert grad(energy) is grad(energy, wrt="x")
    assert grad(energy) is not grad(energy, fastmath=True)
    assert grad(energy) is not grad(energy, wrt=(0,))


def test_threads_make_one_specialisation(monkeypatch):
    def fresh(x, k):
        return k * np.sum(x * x)

    right, requests = pipeline.source, []
    monkeypatch.setattr(pipeline, "source", lambda *a: requests.append(a) or right(*a))
    for target in ("cpu", "python"):
        f, results, start = value_and_grad(fresh, wrt=(0, 1), target=target), [], threading.Barrier(4)

        def call():
            start.wait()
            results.append(f(X, 2.0))

        requests.clear()
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(requests) == 1
        assert len(results) == 4
        for value, (x_bar, k_bar) in results:
            assert (value, k_bar) == (10.5, 5.25)
            np.testing.assert_array_equal(x_bar, 4.0 * X)


# ------------------------------------------------------------------------------------------------- the generated source


def test_source():
    f = grad(energy)
    assert f.source(X, 1.0) == f.source("float64[:], float64") == f.source(X) == f.source(numba.float64[::1], "float")
    assert f.source(X).startswith("def energy_grad(x, k):")
    with pytest.raises(TypeMismatch, match="the number of argument types is 3, not 2"):
        f.source("float64, float64, float64")
    assert grad(chosen).source("float64, 'square'") != grad(chosen).source(1.0)


def test_source_is_what_runs():
    f = grad(energy, target="python")
    f(X, 1)
    text = f.source(X, 1)
    assert linecache.getline("<adjit energy_grad float64[:], int64>", 1) == text.splitlines(keepends=True)[0]


def test_source_of_derivatives_of_derivatives():
    text = grad(grad(lambda x: x**4)).source("float")
    scope = {}
    exec(text, scope)
    (function,) = (v for k, v in scope.items() if k != "__builtins__")
    assert function(2.0) == 48.0


# -------------------------------------------------------------------------------------- global and enclosing variables

scale = 2.0
weights = np.array([1.0, 2.0, 3.0])


def _inner(x):
    return scale * x


def reads_a_global(x):
    return _inner(x)


def reads_an_array(x):
    return np.sum(weights * x)


def reads_in_both_sweeps(x):
    return np.sum(np.sin(x) ** 2) if scale > 2.5 else scale * np.sum(np.exp(x))


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_a_derivative_keeps_the_globals_that_it_was_made_with(target, monkeypatch):
    first = grad(reads_a_global, target=target)
    assert grad(reads_a_global, target=target) is first
    assert first(1.0) == 2.0
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert first(1.0) == 2.0
    second = grad(reads_a_global, target=target)
    assert second is not first
    assert second(1.0) == 3.0
    assert grad(reads_a_global, target=target) is second
    assert jvp(reads_a_global, (1.0,), (1.0,), target=target) == (3.0, 3.0)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_a_derivative_keeps_the_elements_of_global_arrays(target, monkeypatch):
    monkeypatch.setitem(globals(), "weights", np.array([1.0, 2.0, 3.0]))
    f = grad(reads_an_array, target=target)
    np.testing.assert_array_equal(f(X), [1.0, 2.0, 3.0])
    weights[0] = 7.0
    np.testing.assert_array_equal(f(X), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_pullback_is_of_the_globals_that_the_value_was_made_with(target, monkeypatch):
    value, pullback = vjp(reads_in_both_sweeps, X, target=target)
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert value == pytest.approx(2.0 * np.exp(X).sum(), rel=1e-15)
    np.testing.assert_allclose(pullback(1.0)[0], 2.0 * np.exp(X), rtol=1e-15)
    np.testing.assert_allclose(vjp(reads_in_both_sweeps, X, target=target)[1](1.0)[0], np.sin(2.0 * X), rtol=1e-14)


def test_closures_are_told_apart():
    def times(k):
        return lambda x: k * x * x

    assert [grad(times(k), target="python")(1.0) for k in (1.0, 2.0)] == [2.0, 4.0]
    assert [hvp(times(k), target="python")(1.0, 1.0) for k in (1.0, 2.0)] == [2.0, 4.0]


def test_arguments_may_be_views_and_read_only():
    fixed = X.copy()
    fixed.flags.writeable = False
    matrix = np.arange(6.0).reshape(3, 2)
    for x in (fixed, matrix[:, 1], X[::-1]):
        value, pullback = vjp(scaled, x, 2.0)
        np.testing.assert_array_equal(value, 2.0 * x * x)
        np.testing.assert_array_equal(pullback(np.ones(3))[0], 4.0 * x)
        np.testing.assert_array_equal(grad(energy)(x, 1.0), 2.0 * x)
