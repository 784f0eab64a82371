"""NumPy's and SciPy's functions that do to complex arrays what they do to real ones, as programs call them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import adjit
from tests.defining import define

Z = "(np.arange(1.0, 7.0) * np.exp(1j * a * np.arange(1.0, 7.0) / 3.0))"
MATRIX = f"{Z}.reshape(2, 3)"
T = "np.arange(1.0, 7.0) ** 1.5"
CALLS = {
    "apply_along_axis": f"np.apply_along_axis(np.sum, 0, {MATRIX})",
    "array_split": f"np.array_split({Z}, 4)[1]",
    "block": f"np.block([[{Z}], [2.0 * {Z}]])",
    "choose": f"np.choose(np.arange(6) % 2, [{Z}, 1j * {Z}])",
    "delete": f"np.delete({Z}, 1)",
    "exp2": f"np.exp2({Z})",
    "expm1": f"np.expm1({Z})",
    "expm1 near 0": f"np.expm1(1e-9 * {Z}) * 1e9",
    "gradient": f"np.gradient({Z}, 0.3)",
    "gradient at places": f"np.gradient({Z}, {T})",
    "insert": f"np.insert({Z}, 1, 0.5)",
    "interp": f"np.interp(np.array([1.2, 2.7]), {T}, {Z})",
    "iscomplex": f"{Z}[np.iscomplex({Z} * np.array([1, 0, 1, 0, 0, 1]))]",
    "isreal": f"{Z}[np.isreal({Z} * np.array([1, 0, 1, 0, 0, 1]))]",
    "log1p": f"np.log1p({Z})",
    "meshgrid": f"np.meshgrid({Z}, {Z})[1]",
    "moveaxis": f"np.moveaxis({MATRIX}, 0, 1)[1]",
    "nanmean": f"np.nanmean({Z})",
    "pad": f"np.pad({Z}, 2, mode='edge')",
    "polyval": f"np.polyval([1.0, 2.0, 3.0], {Z})",
    "polyval of complex coefficients": f"np.polyval({Z}, a)",
    "split": f"np.split({Z}, 2)[1]",
    "tile": f"np.tile({Z}, (2, 2))",
    "simpson": f"integrate.simpson({Z}, x={T})",
    "simpson of rows": f"integrate.simpson({MATRIX}, dx=0.2, axis=1)",
    "trapezoid": f"integrate.trapezoid({Z}, x={T})",
    "cumulative_trapezoid": f"integrate.cumulative_trapezoid({Z}, x={T}, initial=0)",
}


@pytest.mark.parametrize("name", CALLS)
def test_value_and_derivative(name):
    lines = [
        "def f(a):",
        f"    w = {CALLS[name]}",
        "    return np.sum(np.abs(w) ** 2) + np.sum(np.real(w) - 0.3 * np.imag(w))",
    ]
    f = define("\n".join(lines) + "\n", f"<{name}>", np=np, integrate=scipy.integrate)["f"]
    value, slope = adjit.value_and_grad(f, target="python")(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-12)
    assert slope == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-6, abs=1e-7)
