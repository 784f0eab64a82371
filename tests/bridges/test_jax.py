"""Functions in JAX: under jit, grad, vmap and their compositions, in both precisions."""

import numpy as np
import pytest

import adjit
from adjit.errors import TypeMismatch, Unsupported, WrongCall
from tests.bridges import programs

jax = pytest.importorskip("jax")
bridge = pytest.importorskip("adjit.bridges.jax")
jnp = jax.numpy

pytestmark = pytest.mark.bridge
PLAIN = {"target": "python"}


@pytest.fixture(autouse=True, params=[True, False], ids=["x64", "x32"])
def x64(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def close(x64):
    """Whether arrays agree to the precision there is."""
    own = jnp.float64 if x64 else jnp.float32

    def check(found, expected):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert one.dtype == own
            np.testing.assert_allclose(one, other, rtol=1e-12 if x64 else 2e-5, atol=1e-13 if x64 else 1e-5)

    return check


X = np.random.default_rng(3).standard_normal(5)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_value_and_gradient_under_jit(close, target):
    energy = bridge.function(programs.energy, target=target)
    x = jnp.asarray(X)
    expected = adjit.value_and_grad(programs.energy, wrt=("x", "w"), target="python")(X, 0.7)
    close(energy(x, 0.7), expected[0])
    close(jax.jit(energy)(x, 0.7), expected[0])
    both = jax.value_and_grad(energy, argnums=(0, 1))
    close(both(x, 0.7), expected)
    close(jax.jit(both)(x, 0.7), expected)


def test_array_to_array(close):
    heat = bridge.function(programs.heat, **PLAIN)
    x, seed = jnp.asarray(X), np.arange(5.0)
    _, pullback = adjit.vjp(programs.heat, X, 0.1, 3, target="python")
    expected = pullback(seed)[:2]
    found = jax.jit(lambda x, k: jax.vjp(lambda x, k: heat(x, k, 3), x, k)[1](jnp.asarray(seed)))(x, 0.1)
    close(found, expected)
    # the number of steps may be one of JAX's
    close(jax.jit(heat)(x, 0.1, 3), programs.heat(X, 0.1, 3))


def test_second_order(close):
    energy = bridge.function(programs.energy, **PLAIN)
    expected = adjit.hessian(programs.energy, target="python")(X, 0.7)
    close(jax.jit(jax.jacrev(jax.grad(energy)))(jnp.asarray(X), 0.7), expected)


def test_several_results(close):
    several = bridge.function(programs.several, **PLAIN)
    a, b, n = jax.jit(lambda x, w: several(x, w, 2))(jnp.asarray(X), 0.7)
    close((a, b), (X * 0.7, X.sum() * 0.49))
    assert n == 7
    found = jax.grad(lambda x, w: several(x, w, 2)[1], argnums=(0, 1))(jnp.asarray(X), 0.7)
    close(found, (np.full(5, 0.49), X.sum() * 1.4))


def test_structures(close):
    rng = np.random.default_rng(1)
    params = {
        "layers": [{"w": rng.standard_normal((m, n)), "b": rng.standard_normal(m)} for m, n in ((3, 5), (2, 3))],
        "scale": 0.4,
    }
    layers = bridge.function(programs.layers, **PLAIN)
    expected = adjit.grad(programs.layers, target="python")(params, X)
    close(jax.jit(jax.grad(layers))(jax.tree.map(jnp.asarray, params), X), expected)


def test_vmap(close):
    energy, heat = bridge.function(programs.energy, **PLAIN), bridge.function(programs.heat, **PLAIN)
    rows = np.random.default_rng(5).standard_normal((4, 5))
    expected = np.array([programs.heat(x, 0.1, 2) for x in rows])
    close(jax.vmap(lambda x: heat(x, 0.1, 2))(jnp.asarray(rows)), expected)
    gradient = adjit.grad(programs.energy, target="python")
    expected = np.array([gradient(x, 0.7) for x in rows])
    close(jax.jit(jax.vmap(jax.grad(energy), (0, None)))(jnp.asarray(rows), 0.7), expected)
    # one inside another, over two arguments
    ws = np.array([0.5, 0.7, 1.1])
    expected = np.array([[gradient(x, w) for x in rows] for w in ws])
    found = jax.vmap(jax.vmap(jax.grad(energy), (0, None)), (None, 0))(jnp.asarray(rows), jnp.asarray(ws))
    close(found, expected)


def test_vmap_is_one_call(monkeypatch):
    calls = []
    run = bridge.Call.run
    monkeypatch.setattr(bridge.Call, "run", lambda call, tensors: calls.append(call) or run(call, tensors))
    energy = bridge.function(programs.energy, **PLAIN)
    jax.block_until_ready(jax.vmap(energy, (0, None))(jnp.ones((6, 5)), 0.7))
    assert len(calls) == 1


def test_float32_beside_float64(x64):
    heat = bridge.function(programs.heat, **PLAIN)
    x = jnp.asarray(X, jnp.float32)
    gradient = jax.grad(lambda x: heat(x, 0.1, 2).sum())(x)
    assert gradient.dtype == jnp.float32


def test_an_argument_that_is_written_stays_as_it_is(close):
    x = jnp.asarray(X)
    overwrites = bridge.function(programs.overwrites, **PLAIN)
    expected = adjit.grad(programs.overwrites, target="python")(np.array(x, np.float64))
    close(jax.jit(jax.grad(overwrites))(x), expected)
    assert np.array_equal(x, jnp.asarray(X))


def test_shape_that_a_call_alone_tells(close):
    x = jnp.asarray(X)
    with pytest.raises(Unsupported, match="result="):
        jax.jit(bridge.function(programs.chosen, **PLAIN))(x)
    count = int((X > 0.0).sum())
    told = bridge.function(programs.chosen, result=lambda x: jax.ShapeDtypeStruct((count,), x.dtype), **PLAIN)
    close(jax.jit(told)(x), X[X > 0.0] * 2.0)
    close(jax.jit(jax.grad(lambda x: told(x).sum()))(x), np.where(X > 0.0, 2.0, 0.0))
    with pytest.raises(Exception, match="was expected"):
        jax.block_until_ready(jax.jit(told)(-x * 0.0 + 1.0))
    with pytest.raises(WrongCall, match="not built like"):
        jax.jit(bridge.function(programs.chosen, result=lambda x: (x, x), **PLAIN))(x)


def test_refused():
    energy = bridge.function(programs.energy, **PLAIN)
    with pytest.raises(TypeMismatch, match="float32"):
        energy(jnp.ones(3, jnp.bfloat16), 0.5)
    with pytest.raises(Unsupported, match="complex"):
        jax.vjp(energy, jnp.ones(3, jnp.complex64), 0.5)
    with pytest.raises(Unsupported, match="Draw the numbers before"):
        bridge.function(programs.drawing, **PLAIN)(jnp.ones(3))
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.jacfwd(energy)(jnp.ones(3), 0.5)
