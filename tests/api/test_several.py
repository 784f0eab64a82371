"""Several tangents, or seeds, at once are what they are one by one."""

import numpy as np
import pytest

import adjit
from adjit.errors import TypeMismatch, Unsupported, WrongCall
from tests.api.programs import relaxed as renewed

RNG = np.random.default_rng(3)
X, A, Z = RNG.normal(size=5), RNG.normal(size=(5, 5)), RNG.normal(size=3) + 1j * RNG.normal(size=3)


def recurrence(x, w):
    y = np.empty_like(x)
    s = 0.0
    for i in range(x.size):
        s = s * 0.5 + np.sin(x[i]) * w
        y[i] = np.tanh(s) * x[i] if s > 0.0 else x[i] ** 2
    return y


def solves(x, a):
    z = a @ x
    u = np.linalg.solve(a + 4.0 * np.eye(x.size), z)
    return np.sum(u * u), np.tanh(u), x.size


def stencil(x, steps):
    u, v = x.copy(), np.zeros_like(x)
    for _ in range(steps):
        for i in range(1, x.size - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u, v = v, u
    return u


def until(a, b):
    c = a
    while c < 10.0:
        c = c * b + a
    return c


def turned(z, k):
    return k * z[0] * np.exp(1j * z[1]), np.sum(np.abs(z))


def in_parts(p):
    return p["w"] @ p["b"] * p["k"]


def single(x):
    return x * np.sum(x)


CASES = {
    "recurrence": (recurrence, (X, 0.7)),
    "solves": (solves, (X, A)),
    "stencil": (stencil, (X, 4)),
    "until": (until, (0.3, 1.4)),
    "complex": (turned, (Z, 1.5)),
    "dictionary": (in_parts, ({"w": A, "b": X, "k": 0.3},)),
    "float32": (single, (X.astype(np.float32),)),
    "columns": (single, (A[:, 1],)),
    "tape of arrays": (renewed, (X, 3)),
}


def stacked(value, count):
    """Random tangents, or seeds, of a value, with a first axis."""
    if isinstance(value, dict):
        return {name: stacked(part, count) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(stacked(part, count) for part in value)
    if isinstance(value, int):
        return value
    found = RNG.normal(size=(count, *np.shape(value)))
    if np.iscomplexobj(value):
        found = found + 1j * RNG.normal(size=found.shape)
    return found.astype(np.asarray(value).dtype)


def one_of(values, k):
    if isinstance(values, dict):
        return {name: one_of(part, k) for name, part in values.items()}
    if isinstance(values, tuple):
        return tuple(one_of(part, k) for part in values)
    return values[k] if isinstance(values, np.ndarray) else values


def compare(found, wanted, rtol):
    if isinstance(wanted, dict):
        found, wanted = tuple(found.values()), tuple(wanted.values())
    if isinstance(wanted, tuple):
        for f, w in zip(found, wanted, strict=True):
            compare(f, w, rtol)
    elif wanted is None:
        assert found is None
    else:
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


def check(function, arguments, count, target):
    rtol = 1e-5 if function is single and arguments[0].dtype == np.float32 else 1e-11  # sums in other orders
    tangents = stacked(arguments, count)
    value, found = adjit.jvp(function, arguments, tangents, several=True, target=target)
    for k in range(count):
        own, wanted = adjit.jvp(function, arguments, one_of(tangents, k), target=target)
        compare(one_of(found, k), wanted, rtol)
        compare(value, own, 0.0)
    value, pullback = adjit.vjp(function, *arguments, target=target)
    seeds = stacked(value, count)
    found = pullback(seeds, several=True)
    for k in range(count):
        compare(one_of(found, k), pullback(one_of(seeds, k)), rtol)


@pytest.mark.parametrize("count", [1, 3, 11])
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name == "complex")) for name in CASES])
def test_as_one_by_one(name, count):
    check(*CASES[name], count, "python")


@pytest.mark.parametrize("name", ["recurrence", pytest.param("stencil", marks=pytest.mark.long)])
def test_compiled(name):
    check(*CASES[name], 11, "cpu")


def test_forward_against_reverse():
    tangents, seeds = stacked((X, 0.7), 6), stacked(X, 4)
    _, along = adjit.jvp(recurrence, (X, 0.7), tangents, several=True, target="python")
    _, pullback = adjit.vjp(recurrence, X, 0.7, target="python")
    by_x, by_w = pullback(seeds, several=True)
    found = by_x @ tangents[0].T + np.outer(by_w, tangents[1])
    np.testing.assert_allclose(found, seeds @ along.T, rtol=1e-12)


def test_one_pass_for_eight():
    """The loop of the function is there twice, for the value and for the tangents, and its sine once in each."""
    tangents = stacked((X, 0.7), 8)
    adjit.jvp(recurrence, (X, 0.7), tangents, several=True, target="python")
    _, pullback = adjit.vjp(recurrence, X, 0.7, target="python")
    assert pullback(stacked(X, 8), several=True)[0].shape == (8, 5)
    source = adjit.jacrev(recurrence, target="python").source(X, 0.7)
    assert "range(0, x.size, 8)" in source
    assert source.count("np.cos(") == 1


def weighted(x):
    return x * 3.0


@adjit.rules.adjoint(weighted)
def _(x, *, y_bar):
    # by the sign of the seed, so that several cannot go one way
    if y_bar > 0.0:
        return 3.0 * y_bar
    return y_bar * 3.0


def test_a_way_that_depends_on_the_seed():
    def function(x):
        return weighted(x) * x

    _, pullback = adjit.vjp(function, 0.5, target="python")
    np.testing.assert_allclose(pullback(np.array([1.0, -2.0, 0.0]), several=True)[0], [3.0, -6.0, 0.0])


def test_arrays_that_cannot_have_an_axis_more():
    def function(a):
        return a.T.reshape(-1) * 2.0 + a.ravel()

    tangents = RNG.normal(size=(3, 2, 3))
    _, found = adjit.jvp(function, (np.ones((2, 3)),), (tangents,), several=True, target="python")
    np.testing.assert_allclose(found, [t.T.reshape(-1) * 2.0 + t.ravel() for t in tangents])


def test_what_is_held_fixed():
    value, tangent = adjit.jvp(lambda n: n * 2, (3,), (0,), target="python")
    assert (value, tangent) == (6, 0)
    bound = adjit.jvp(recurrence, (X, 0.7), (np.eye(5), np.zeros(5)), several=True, target="python")[1]
    np.testing.assert_allclose(bound.T, adjit.jacfwd(recurrence, target="python")(X, 0.7), rtol=1e-13)


def test_refusals():
    options = {"several": True, "target": "python"}
    for tangents in ((X, 1.0), (np.ones((2, 5)), np.ones(3)), (np.ones((0, 5)), np.ones(0))):
        with pytest.raises(TypeMismatch, match="differ in the length of their first axis"):
            adjit.jvp(recurrence, (X, 0.7), tangents, **options)
    with pytest.raises(TypeMismatch, match=r"not an array of shape \(2, 5\)"):
        adjit.jvp(recurrence, (X, 0.7), (np.ones((2, 4)), np.ones(2)), **options)
    with pytest.raises(WrongCall, match="several=1"):
        adjit.jvp(recurrence, (X, 0.7), (X, 1.0), several=1)
    with pytest.raises(Unsupported, match="several tangents at once of .* draws random numbers"):
        adjit.jvp(lambda x: x * np.random.rand(), (0.5,), (np.ones(2),), **options)
    _, pullback = adjit.vjp(recurrence, X, 0.7, target="python")
    with pytest.raises(TypeMismatch, match=r"not an array of shape \(2, 5\)"):
        pullback(np.ones((2, 3)), several=True)
    _, pullback = adjit.vjp(lambda values: values[0] * values[1], [1.0, 2.0], target="python")
    with pytest.raises(Unsupported, match="lists of numbers"):
        pullback(np.ones(2), several=True)
    with pytest.raises(Unsupported, match="on a GPU"):
        adjit.jvp(recurrence, (X, 0.7), (X, 1.0), several=True, target="cuda")
    with pytest.raises(WrongCall, match=r"(?s)`several` of adjit.jvp inside.*Map over them"):
        adjit.grad(lambda x: adjit.jvp(np.sin, (x,), (1.0,), several=True)[1], target="python")(0.5)
