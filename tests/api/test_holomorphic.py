"""Complex derivatives of holomorphic functions."""

import cmath

import numpy as np
import pytest

import adjit
from adjit.errors import NotScalar, WrongCall, WrongWrt

Z = 0.7 + 0.4j
ZS = np.array([Z, 1j, 2 - 1j])


def rational(z):
    return z**3 + (2 - 1j) * z * z - 1 / z


def of_two(z, w):
    return np.sum(z * z * w)


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (cmath.sin, cmath.cos),
        (cmath.exp, cmath.exp),
        (cmath.log, lambda z: 1 / z),
        (cmath.sqrt, lambda z: 0.5 / cmath.sqrt(z)),
        (cmath.tanh, lambda z: 1 - cmath.tanh(z) ** 2),
        (np.cosh, np.sinh),
        (rational, lambda z: 3 * z * z + (4 - 2j) * z + 1 / z**2),
    ],
)
def test_derivatives_are_those_of_calculus(function, derivative) -> None:
    for z in (Z, -1.3 + 0.2j, 0.1 - 2j):
        found = adjit.grad(function, holomorphic=True, target="python")(z)
        assert type(found) is complex
        assert found == pytest.approx(derivative(z), rel=1e-13)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_of_all_kinds_of_arguments(target: str) -> None:
    value, bar = adjit.value_and_grad(rational, holomorphic=True, target=target)(Z)
    assert (value, bar) == pytest.approx((rational(Z), 3 * Z * Z + (4 - 2j) * Z + 1 / Z**2), rel=1e-13)
    z_bar, w_bar = adjit.grad(of_two, wrt=(0, 1), holomorphic=True, target=target)(ZS, 2 * ZS)
    np.testing.assert_allclose(z_bar, 4 * ZS * ZS, rtol=1e-14)
    np.testing.assert_allclose(w_bar, ZS * ZS, rtol=1e-14)
    single = adjit.grad(rational, holomorphic=True, target=target)(np.complex64(Z))
    assert type(single) is np.complex64
    assert complex(single) == pytest.approx(bar, rel=1e-6)


def test_together_with_others() -> None:
    second = adjit.grad(adjit.grad(rational, holomorphic=True), holomorphic=True, target="python")(Z)
    assert second == pytest.approx(6 * Z + (4 - 2j) - 2 / Z**3, rel=1e-13)
    # forward mode agrees: along dz the derivative changes by f''(z) dz
    _, change = adjit.jvp(adjit.grad(rational, holomorphic=True), (Z,), (1j,), target="python")
    assert change == pytest.approx(1j * second, rel=1e-13)
    bars = adjit.grad(lambda p: p["a"] ** 2 * p["b"][0], holomorphic=True, target="python")({"a": Z, "b": ZS})
    assert bars["a"] == pytest.approx(2 * Z * Z)
    np.testing.assert_allclose(bars["b"], [Z * Z, 0, 0])
    assert adjit.grad(lambda z: (z * z, z), has_aux=True, holomorphic=True, target="python")(Z) == (2 * Z, Z)
    inside = adjit.grad(lambda x: adjit.grad(lambda z: z**3, holomorphic=True)(complex(x, 0.5)).real, target="python")
    assert inside(0.3) == pytest.approx(6 * 0.3)


def test_what_is_real_is_refused() -> None:
    with pytest.raises(WrongWrt, match="with respect to a real argument"):
        adjit.grad(rational, holomorphic=True, target="python")(0.5)
    with pytest.raises(WrongWrt, match="with respect to a real argument"):
        adjit.grad(lambda z, x: z * x, wrt=(0, 1), holomorphic=True, target="python")(Z, 1.0)
    with pytest.raises(NotScalar, match="does not return one complex number"):
        adjit.grad(abs, holomorphic=True, target="python")(Z)
    with pytest.raises(NotScalar, match="does not return one complex number"):
        adjit.grad(lambda z: z * z, holomorphic=True, target="python")(ZS)
    with pytest.raises(NotScalar, match="holomorphic=True"):
        adjit.grad(rational, target="python")(Z)
    with pytest.raises(WrongCall, match="unknown option 'holomorphic'"):
        adjit.hessian(rational, holomorphic=True)
    with pytest.raises(WrongCall, match="holomorphic=1"):
        adjit.grad(rational, holomorphic=1)
