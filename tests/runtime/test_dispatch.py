import inspect
import linecache
import pickle
import threading

import numba
import numpy as np
import pytest
from adjit.transform.pipeline import Derivative

from adjit.errors import InternalError, NotScalar, TypeMismatch, Unsupported
from adjit.runtime.api import grad, value_and_grad
from adjit.runtime.dispatch import Interpreted, Options, derive, plain_signature

X = np.array([1.0, -2.0, 0.5])


def primal(function, **options):
    return derive(Derivative(function=function, kind="primal", wrt=None), Options(**options))


def test_one_specialisation_a_type(handmade):
    f = primal(handmade.energy)
    assert f(X, 3.0) == 3.0 * 5.25
    assert f(X, 4.0) == 4.0 * 5.25
    assert len(handmade.requests) == 1
    assert f(X[::2], 4.0) == 4.0 * 1.25
    assert f(X, 4) == 4.0 * 5.25
    assert [str(types[1]) for _, types in handmade.requests] == ["float64", "float64", "int64"]
    assert len(f.signatures) == 3


def test_defaults_and_keywords(handmade):
    f = primal(handmade.energy)
    assert f(X) == 2.0 * 5.25
    assert f(k=1.0, x=X) == 5.25
    assert str(handmade.requests[0][1][1]) == "float64"


def test_inside_njit(handmade):
    f = grad(handmade.energy)

    @numba.njit
    def step(x):
        return x - 0.25 * f(x, 1.0) + f(x)

    np.testing.assert_allclose(step(X), X - 0.5 * X + 4.0 * X, rtol=1e-15)


def test_error_is_unchanged_from_python_and_from_njit(handmade):
    f = grad(handmade.vector_valued)

    @numba.njit
    def caller(x):
        return f(x)

    for function in (f, caller):
        with pytest.raises(NotScalar) as fault:
            function(X)
        assert str(fault.value) == "NotScalar: the result of vector_valued is an array"


def test_numba_error_is_ours(handmade):
    with pytest.raises(InternalError, match="report") as fault:
        primal(handmade.broken)(X)
    assert isinstance(fault.value.__cause__, numba.core.errors.NumbaError)
    assert "<adjit broken float64[:]>" in str(fault.value.__cause__)


def test_looks_like_the_function(handmade):
    f = primal(handmade.energy)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("energy", None, handmade.energy)
    assert list(inspect.signature(f).parameters) == ["x", "k"]
    assert repr(grad(handmade.energy, wrt="k")) == "<grad of energy with respect to (1,)>"
    assert (
        list(inspect.signature(derive(Derivative(handmade.energy, "vjp", (0, 1)), Options())).parameters)[-1]
        == "out_bar"
    )


def test_pickle(handmade):
    f = pickle.loads(pickle.dumps(primal(handmade.energy)))
    assert f.derivative.kind == "primal"


def test_same_object_for_same_request(handmade):
    assert grad(handmade.energy) is grad(handmade.energy, wrt="x")
    assert grad(handmade.energy) is not grad(handmade.energy, fastmath=False)


scale = 2.0


def _inner(x):
    return scale * x


def _reads_a_global(x):
    return _inner(x)


def test_a_rebound_global_is_seen(handmade, monkeypatch):
    first = primal(_reads_a_global)
    assert primal(_reads_a_global) is first
    monkeypatch.setitem(globals(), "scale", 3.0)
    second = primal(_reads_a_global)
    assert second is not first
    assert primal(_reads_a_global) is second


def test_threads_make_one_specialisation(handmade):
    f, results, start = value_and_grad(handmade.energy, wrt=(0, 1)), [], threading.Barrier(4)

    def call():
        start.wait()
        results.append(f(X, 2.0))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handmade.requests) == 1
    for value, (x_bar, k_bar) in results:
        assert (value, k_bar) == (10.5, 5.25)
        np.testing.assert_array_equal(x_bar, 4.0 * X)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_wrong_arguments(handmade, target):
    f = primal(handmade.energy, target=target)
    with pytest.raises(TypeMismatch, match="argument 'x' is a list") as fault:
        f([1.0, 2.0], 1.0)
    assert "np.array" in str(fault.value)
    with pytest.raises(TypeMismatch, match="argument 'k' has a type"):
        f(X, object())
    with pytest.raises(TypeError):
        f(X, 1.0, 2.0)


def test_python_target(handmade):
    f = primal(handmade.energy, target="python")
    assert isinstance(f, Interpreted)
    assert f(X) == f(X, k=2.0) == 10.5
    assert len(handmade.requests) == 1
    assert f.__name__ == "energy"


def test_unknown_target(handmade):
    with pytest.raises(Unsupported, match="target 'tpu'"):
        primal(handmade.energy, target="tpu")


def test_source(handmade):
    f = grad(handmade.energy)
    assert f.source(X, 1.0) == f.source("float64[:], float64") == f.source(X) == f.source(numba.float64[::1], "float")
    assert f.source(X).startswith("def energy_grad(x, k):")
    with pytest.raises(TypeMismatch, match="types of 3 arguments are given, 2 are needed"):
        f.source("float64, float64, float64")


def test_generated_code_can_be_listed(handmade):
    primal(handmade.energy, target="python")(X, 1)
    assert linecache.getline("<adjit energy float64[:], int64>", 1) == "def energy(x, k):\n"


def test_strings_are_static(handmade):
    f = primal(handmade.chosen)
    assert f(1.5, "fancy") == f(1.5) == 1.5
    assert f(2.5, "fancy") == 2.5
    assert [types[1].literal_value for _, types in handmade.requests] == ["fancy", "plain"]


def test_star_parameters_are_refused(handmade):
    with pytest.raises(Unsupported, match=r"the parameter \*many"):
        grad(lambda *many: many[0])


def test_keyword_only_parameters():
    plain = plain_signature(inspect.signature(lambda x, /, y, *, z=1: x))
    assert str(plain) == "(x, y, z=1)"
    with pytest.raises(Unsupported, match="keyword-only"):
        plain_signature(inspect.signature(lambda x=1, *, y: x))
