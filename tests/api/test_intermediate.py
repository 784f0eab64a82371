"""Adjoints at places inside a function: returned by name, or given to a function on their way."""

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.errors import NoRule, TypeMismatch, Unsupported, WrongCall

RNG = np.random.default_rng(2)
X, A = RNG.normal(size=3), RNG.normal(size=(3, 3))
PYTHON = {"target": "python"}


def damped(x, w, shift=0.0):
    phase = adjit.intermediate(w * x, "phase") + shift
    return np.exp(-x) * np.sin(phase)


def filtered(x, n, shift=0.0):
    s = 0.0
    for i in range(n):
        s = adjit.intermediate(s * 0.5 + np.sin(x * i), "state") + shift
        if s > 1.0:
            s = adjit.intermediate(s * s, "large") + 0.0 * shift
    return s * s


def halved(x):
    return adjit.intermediate(0.5 * x, "half")


def called_twice(x, shift=0.0):
    return (halved(x) + shift) * (halved(x * x) + shift)


def until(x, shift=0.0):
    while x < 10.0:
        x = adjit.intermediate(x * 1.5, "grown") + shift
    return x * x


CASES = {
    "number": (damped, (0.7, 3.0), "phase"),
    "loop": (filtered, (0.7, 6), "state"),
    "called twice": (called_twice, (0.7,), "half"),
    "while": (until, (0.7,), "grown"),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_derivatives_by_what_is_added(name):
    function, arguments, place = CASES[name]
    gradient, adjoint = adjit.grad(function, intermediates=place, **PYTHON)(*arguments)
    by_x, by_shift = adjit.grad(function, wrt=(0, "shift"), **PYTHON)(*arguments, 0.0)
    assert gradient == pytest.approx(by_x, rel=1e-14)
    assert adjoint == pytest.approx(by_shift, rel=1e-13)
    h = 1e-6
    difference = (function(*arguments, h) - function(*arguments, -h)) / (2.0 * h)
    assert adjoint == pytest.approx(difference, rel=1e-8)


def layered(x, a):
    y = adjit.intermediate(a @ x, "y")
    z = adjit.intermediate(np.tanh(y), "z")
    y[0] *= 2.0
    return np.sum(z * z) + y[0]


@pytest.mark.parametrize("options", [PYTHON, {}])
def test_arrays(options):
    gradient = adjit.value_and_grad(layered, intermediates=("z", "y"), wrt=("x", "a"), **options)
    (value, (by_z, by_y)), (by_x, by_a) = gradient(X, A)
    y = A @ X
    z = np.tanh(y)
    np.testing.assert_allclose(by_z, 2.0 * z, rtol=1e-14)
    wanted = 2.0 * z * (1.0 - z * z) + np.array([2.0, 0.0, 0.0])
    np.testing.assert_allclose(by_y, wanted, rtol=1e-13)
    np.testing.assert_allclose(by_x, A.T @ wanted, rtol=1e-13)
    np.testing.assert_allclose(by_a, np.outer(wanted, X), rtol=1e-13)
    assert value == pytest.approx(layered(X, A), rel=1e-14)


def test_what_is_not_asked_for_is_not_there():
    assert "phase_bar =" in adjit.grad(damped, intermediates="phase", **PYTHON).source(0.7, 3.0)
    for source in (adjit.grad(damped, **PYTHON).source(0.7, 3.0), adjit.jacfwd(damped, **PYTHON).source(0.7, 3.0)):
        assert "intermediate(" not in "".join(line for line in source.splitlines() if "#" not in line)
    everything = adjit.grad(filtered, intermediates=("large", "state"), **PYTHON)(0.7, 6)[1]
    for name, found in zip(("large", "state"), everything, strict=True):
        assert found == adjit.grad(filtered, intermediates=name, **PYTHON)(0.7, 6)[1]


def test_with_structures_and_explained():
    def loss(p, x):
        return np.sum(adjit.intermediate(p["w"] * x, "z") ** 2) + p["b"]

    derived = adjit.grad(loss, intermediates="z", **PYTHON)
    gradient, adjoint = derived({"w": X, "b": 1.0}, 2.0)
    np.testing.assert_allclose(adjoint, 4.0 * X)
    np.testing.assert_allclose(gradient["w"], 8.0 * X)
    assert gradient["b"] == 1.0
    assert "phase" in str(adjit.grad(damped, intermediates="phase", **PYTHON).explain(0.7, 3.0))


def clip(bar):
    return min(max(bar, -0.1), 0.1)


def by_norm(bar):
    return bar / max(1.0, np.sqrt(np.sum(bar * bar)))


def clipped(x):
    total = 0.0
    for i in range(x.size):
        total += adjit.intermediate(x[i] ** 2, adjoint=clip) * (i - 1.0)
    return total


def normed(x):
    return np.sum(adjit.intermediate(3.0 * x, "y", adjoint=by_norm) ** 3)


@pytest.mark.parametrize("options", [PYTHON, {}])
def test_functions_of_adjoints(options):
    np.testing.assert_allclose(adjit.grad(clipped, **options)(X), [-0.2 * X[0], 0.0, 0.2 * X[2]], rtol=1e-14)
    bar = 3.0 * (3.0 * X) ** 2
    gradient, adjoint = adjit.grad(normed, intermediates="y", **options)(X)
    np.testing.assert_allclose(adjoint, bar / np.linalg.norm(bar), rtol=1e-13)
    np.testing.assert_allclose(gradient, 3.0 * adjoint, rtol=1e-14)


def test_derivatives_of_a_clipped_gradient():
    found = adjit.hessian(normed, **PYTHON)(X)
    wanted = adjit.jacfwd(lambda x: 3.0 * by_norm(3.0 * (3.0 * x) ** 2), **PYTHON)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_checks_in_the_reverse_sweep():
    def check(bar):
        if abs(bar) > 2.0:
            raise ValueError("too steep")
        return bar

    derived = adjit.grad(lambda x: adjit.intermediate(x * 1.0, adjoint=check) ** 2, **PYTHON)
    assert derived(0.5) == 1.0
    with pytest.raises(ValueError, match="too steep"):
        derived(1.5)


def test_the_function_itself():
    assert damped(0.7, 3.0) == np.exp(-0.7) * np.sin(3.0 * 0.7)
    kept = adjit.intermediate(X, "x")
    assert kept is not X
    np.testing.assert_array_equal(kept, X)

    @njit
    def compiled(x):
        return np.sum(adjit.intermediate(x, "x")) + adjit.intermediate(2.0, "two")

    assert compiled(X) == np.sum(X) + 2.0


def test_refusals():
    with pytest.raises(NoRule, match=r"(?s)in forward mode.*test_intermediate.py:\d+ in clipped"):
        adjit.jvp(clipped, (X,), (X,), **PYTHON)
    with pytest.raises(WrongCall, match="no intermediate 'phas'\n(.|\n)*It has 'phase'"):
        adjit.grad(damped, intermediates="phas", **PYTHON)(0.7, 3.0)
    with pytest.raises(WrongCall, match="no intermediate 'phase'\n"):
        adjit.grad(adjit.grad(damped), intermediates="phase", **PYTHON)(0.7, 3.0)
    with pytest.raises(WrongCall, match="twice"):
        adjit.grad(damped, intermediates=("phase", "phase"))
    with pytest.raises(WrongCall, match="has_aux"):
        adjit.grad(damped, intermediates="phase", has_aux=True)
    with pytest.raises(Unsupported, match="on a GPU"):
        adjit.grad(damped, intermediates="phase", target="cuda")
    with pytest.raises(Unsupported, match="store into"):
        adjit.grad(damped, intermediates="phase", **PYTHON).into(0.7, 3.0, out=None)

    def in_a_loop(x, n):
        for _ in range(n):
            x = adjit.intermediate(x * x, "x")
        return np.sum(x)

    with pytest.raises(Unsupported, match=r"(?s)the array 'x', which is marked more than once.*x = adjit.interm"):
        adjit.grad(in_a_loop, intermediates="x", **PYTHON)(X, 2)
    np.testing.assert_allclose(adjit.grad(in_a_loop, **PYTHON)(X, 2), 4.0 * X**3)
    with pytest.raises(TypeMismatch, match="a float or an array of floats"):
        adjit.grad(lambda x, n: x * adjit.intermediate(n, "n"), **PYTHON)(0.5, 2)
    with pytest.raises(WrongCall, match="without a name or a function"):
        adjit.grad(lambda x: adjit.intermediate(x), **PYTHON)(0.5)
    with pytest.raises(Unsupported, match="complex numbers"):
        adjit.grad(lambda x: adjit.intermediate(x + 1j, "z").real, **PYTHON)(0.5)
    with pytest.raises(ValueError, match="another shape"):
        adjit.grad(lambda x: np.sum(adjit.intermediate(x, adjoint=lambda bar: bar[:2])), **PYTHON)(X)

    def reads(x, k):
        return adjit.intermediate(x * 1.0, adjoint=lambda bar: bar * k)

    with pytest.raises(Unsupported, match="reads variables around it"):
        adjit.grad(reads, **PYTHON)(0.5, 2.0)
