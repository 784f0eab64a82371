"""Derived functions that kernels call: in the simulator, against the same derivatives on the CPU."""

import numpy as np
import pytest
from numba import cuda

import adjit
from tests.cuda.in_kernels import KERNELS, cubic, energy, of_rows, solved, step_jacobian
from tests.cuda.simulated.checks import on_host

X = np.linspace(0.2, 0.9, 5)


@pytest.mark.parametrize("name", KERNELS)
def test_what_threads_store(name):
    kernel, expected = KERNELS[name]
    out = np.zeros(X.size)
    cuda.jit(kernel)[2, 4](X, out)
    np.testing.assert_allclose(out, [expected(x) for x in X], rtol=1e-12, atol=1e-12)


def test_rows_of_arrays():
    x = np.random.default_rng(4).uniform(0.1, 0.9, (5, 3))
    out = np.zeros_like(x)
    cuda.jit(of_rows)[2, 4](x, out)
    wanted = [adjit.grad(energy, target="python")(row, 0.7) for row in x]
    np.testing.assert_allclose(out, wanted, rtol=1e-13)


SLOPE = adjit.grad(cubic, target="cuda-device")
SOLVED = adjit.cuda.device(solved)


@cuda.jit
def through(x, a, y):
    """It is differentiated itself: second derivatives, and a derivative of what makes derivatives."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = SLOPE(x[i], a[i]) * SOLVED(x[i], a[i])


def test_kernels_that_call_them_are_differentiated():
    g = np.random.default_rng(7)
    x, a, y = g.uniform(0.2, 0.9, 5), g.uniform(0.5, 1.5, 5), np.zeros(5)
    x_dot, a_dot, y_bar = g.normal(size=5), g.normal(size=5), g.normal(size=5)

    def alone(x, a):
        return adjit.grad(cubic)(x, a) * solved(x, a)

    wanted = adjit.vjp(np.vectorize(alone), x, a, target="python")[1](y_bar)
    for target in ("python", "cuda"):
        put = cuda.to_device if target == "cuda" else np.copy
        bars = {"x_bar": put(np.zeros(5)), "a_bar": put(np.zeros(5))}
        adjit.cuda.adjoint(through, target=target)[2, 4](put(x), put(a), put(y), y_bar=put(y_bar), **bars)
        found = [on_host(b) for b in bars.values()]
        for bar, own in zip(found, wanted, strict=True):
            np.testing.assert_allclose(bar, own, rtol=1e-12)
    dots = {"x_dot": x_dot.copy(), "a_dot": a_dot.copy(), "y_dot": np.zeros(5)}
    adjit.cuda.tangent(through, target="python")[2, 4](x, a, y, **dots)
    assert dots["y_dot"] @ y_bar == pytest.approx(found[0] @ x_dot + found[1] @ a_dot, rel=1e-12)


def test_outside_of_a_kernel_it_says_where_it_belongs():
    with pytest.raises(adjit.WrongCall, match="outside of a kernel"):
        step_jacobian(0.1, 0.2, 0.1)
