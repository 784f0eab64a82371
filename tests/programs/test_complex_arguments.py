"""Complex arguments to differentiate with respect to, and complex results, against differences and in both modes.

The gradient of a real L by z is dL/dx + i dL/dy, so that L changes by the real part of conj(gradient) * change.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError, Aliased

PLAIN = {"target": "python"}
Z = np.array([0.7 + 0.2j, -0.3 - 1.0j, 1.1 + 0.4j])
X = np.array([0.5, -1.2, 0.8])
C = 0.4 - 0.3j


def powers(z):
    return np.sum(np.abs(z**2 + 1j) ** 2) + (z[0] * z[1]).real


def beside_real_ones(x, z):
    return np.abs(np.sum(x * np.exp(1j * z))) ** 2 + np.abs(z[0])


def of_a_number(z):
    return abs(z * z + 1.0) * z.real


def written_to(z):
    z[0] = z[1] * 1j
    return np.sum(np.abs(z) ** 2)


def one_of_two_written_to(z, w):
    z[0] = w[1]
    return np.sum(np.abs(z * w) ** 2)


def in_tuples(p):
    a, (z, x) = p
    return np.sum(np.abs(a * z * x) ** 2)


def of_a_matrix(m):
    return np.abs(np.trace(m @ m.conj()) + m.ravel()[1]) + np.linalg.norm(m)


def gradient_inside(z):
    return np.sum(np.abs(adjit.grad(powers)(z)) ** 2) + adjit.value_and_grad(of_a_number)(z[0])[0]


def complex_results(z, x):
    return z * z * x + np.exp(1j * x), np.sum(z)


CASES = [
    (powers, (Z,)),
    (powers, (Z[::-1],)),
    (beside_real_ones, (X, Z)),
    (of_a_number, (C,)),
    (of_a_number, (np.complex64(C),)),
    (written_to, (Z,)),
    (one_of_two_written_to, (Z, 2.0 * Z)),
    (in_tuples, ((C, (Z, X)),)),
    (of_a_matrix, (np.asfortranarray(np.outer(Z, X)),)),
    (gradient_inside, (Z,)),
]


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def dot(left: Any, right: Any) -> float:
    """The real inner product: of the parts of complex numbers."""
    pairs = zip(leaves(left), leaves(right), strict=True)
    return float(sum(np.sum(np.conj(a) * b).real for a, b in pairs))


def moved(value: Any, change: Any, step: float) -> Any:
    if isinstance(value, tuple):
        return tuple(moved(v, c, step) for v, c in zip(value, change, strict=True))
    return value + step * change


def direction(like: Any, rng: np.random.Generator) -> Any:
    if isinstance(like, tuple):
        return tuple(direction(part, rng) for part in like)
    made = rng.normal(size=np.shape(like))
    made = made + 1j * rng.normal(size=np.shape(like)) if np.iscomplexobj(like) else made
    return made if np.shape(like) else type(like)(made)


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_gradient(function: Any, arguments: tuple[Any, ...]) -> None:
    rng, wrt = np.random.default_rng(3), tuple(range(len(arguments)))
    before = copy.deepcopy(arguments)
    value, got = adjit.value_and_grad(function, wrt, **PLAIN)(*arguments)
    assert value == pytest.approx(function(*copy.deepcopy(arguments)), rel=1e-6)
    along = direction(arguments, rng)
    step = 1e-3 if any(getattr(a, "dtype", None) == np.complex64 for a in leaves(arguments)) else 1e-6
    up, down = (function(*copy.deepcopy(moved(arguments, along, s))) for s in (step, -step))
    assert dot(got, along) == pytest.approx((up - down) / (2.0 * step), rel=step)
    assert adjit.jvp(function, arguments, along, **PLAIN)[1] == pytest.approx(dot(got, along), rel=1e-6)
    for a, b, bar in zip(leaves(arguments), leaves(before), leaves(got), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.shape(bar) == np.shape(a)
        assert np.asarray(bar).dtype == np.asarray(a).dtype


def test_second_order() -> None:
    v, gradient = direction(Z, np.random.default_rng(1)), adjit.grad(powers, **PLAIN)
    expected = (gradient(Z + 1e-6 * v) - gradient(Z - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(adjit.hvp(powers, **PLAIN)(Z, v), expected, rtol=1e-7)
    adjit.check_grads(beside_real_ones, (X, Z), **PLAIN)


def test_complex_results() -> None:
    rng = np.random.default_rng(2)
    along = direction((Z, X), rng)
    value, tangent = adjit.jvp(complex_results, (Z, X), along, **PLAIN)
    np.testing.assert_allclose(value[0], complex_results(Z, X)[0])
    (up, up_sum), (down, down_sum) = (complex_results(*moved((Z, X), along, s)) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(tangent[0], (up - down) / 2e-6, rtol=1e-7)
    assert tangent[1] == pytest.approx((up_sum - down_sum) / 2e-6)
    seed = direction(value, rng)
    bars = adjit.vjp(complex_results, Z, X, **PLAIN)[1](seed)
    assert dot(bars, along) == pytest.approx(dot(seed, tangent), rel=1e-12)
    adjit.check_grads(complex_results, (Z, X), order=1, **PLAIN)


def test_compiled() -> None:
    for wrt, arguments in (((0, 1), (X, Z)), (1, (X, Z))):
        got = adjit.grad(beside_real_ones, wrt)(*arguments)
        expected = adjit.grad(beside_real_ones, wrt, **PLAIN)(*arguments)
        for found, right in zip(leaves(got), leaves(expected), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-13)


def test_one_array_twice() -> None:
    with pytest.raises(Aliased):
        adjit.grad(one_of_two_written_to, (0, 1), **PLAIN)(Z, Z)


def test_what_explain_says() -> None:
    found = adjit.grad(powers, **PLAIN).explain(Z)
    assert [v.name for v in found.variables if v.is_active][:2] == ["z_real", "z_imag"]


@pytest.mark.parametrize("derived", [adjit.jacobian, adjit.jacfwd, adjit.jacrev, adjit.hessian])
def test_matrices_are_refused(derived: Any) -> None:
    with pytest.raises(AdjitError, match="with complex arguments in wrt or complex results"):
        derived(powers, **PLAIN)(Z)


def test_what_is_refused() -> None:
    with pytest.raises(AdjitError, match="which returns complex numbers"):
        adjit.grad(lambda z: z * z, **PLAIN)(C)
    with pytest.raises(AdjitError, match="into arrays of complex numbers"):
        adjit.grad(powers, **PLAIN).into(Z, out=np.zeros_like(Z))
    with pytest.raises(AdjitError, match="is complex, but it belongs to a real number"):
        adjit.vjp(of_a_number, C, **PLAIN)[1](1j)
