"""Derivatives of library functions themselves, `grad(np.tanh)`, and of functions with rules."""

import functools
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numba import njit

import adjit
from adjit.errors import SourceUnavailable
from adjit.rules import registry
from adjit.rules.library_functions import as_python

X, A = np.array([0.5, 0.3, 0.7]), np.array([[2.0, 0.3], [0.1, 1.5]])
FUNCTIONS = [
    (np.tanh, (0.5,)), (math.sin, (0.5,)), (math.hypot, (0.5, 0.4)), (np.power, (0.5, 2.0)), (np.logaddexp, (1.0, 2.0)),
    (np.sum, (X,)), (np.mean, (X,)), (np.var, (X,)), (np.prod, (X,)), (np.dot, (X, X)), (np.linalg.norm, (X,)),
    (np.linalg.det, (A,)), (np.clip, (0.5, 0.1, 0.9)), (np.quantile, (X, 0.3)), (np.interp, (0.4, X[[1, 0, 2]], X)),
    (abs, (-2.0,)), (max, (2.0, 1.0)), (pow, (2.0, 3.0)), (scipy.special.gammaln, (0.5,)),
    (scipy.special.logsumexp, (X,)), (scipy.stats.norm.logpdf, (0.5,)), (np.vectorize(lambda v: v**3), (0.5,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), FUNCTIONS, ids=lambda f: getattr(f, "__name__", ""))
def test_gradients_are_those_of_a_function_that_calls_it(function, arguments) -> None:
    bar = adjit.grad(function, target="python")(*arguments)
    first, rest = arguments[0], arguments[1:]
    dot = np.ones_like(first) if isinstance(first, np.ndarray) else 1.0
    difference = (function(first + 1e-6 * dot, *rest) - function(first - 1e-6 * dot, *rest)) / 2e-6
    assert np.sum(bar * dot) == pytest.approx(difference, rel=1e-7, abs=1e-9)
    dots = (dot, *(np.zeros_like(a) if isinstance(a, np.ndarray) else 0.0 for a in rest))
    assert adjit.jvp(function, arguments, dots, target="python")[1] == pytest.approx(np.sum(bar * dot), abs=1e-12)
    assert adjit.grad(function) is adjit.grad(function)


def test_of_every_kind() -> None:
    assert adjit.grad(np.tanh)(0.5) == pytest.approx(1 - np.tanh(0.5) ** 2)
    assert "def tanh_grad(x):" in adjit.grad(np.tanh).source(0.5)
    np.testing.assert_allclose(adjit.vjp(np.sin, X, target="python")[1](X)[0], np.cos(X) * X)
    np.testing.assert_allclose(adjit.jvp(np.sin, (X,), (X,), target="python")[1], np.cos(X) * X)
    np.testing.assert_allclose(adjit.jacobian(np.exp, target="python")(X), np.diag(np.exp(X)))
    product = adjit.hvp(np.linalg.norm, target="python")(X, A[:, 0].sum() * X)
    np.testing.assert_allclose(product, 0.0, atol=1e-15)
    twice = adjit.grad(adjit.grad(np.tanh), target="python")(0.5)
    assert twice == pytest.approx(-2 * np.tanh(0.5) * (1 - np.tanh(0.5) ** 2))
    # and inside of what is differentiated
    inner = adjit.grad(lambda x: adjit.grad(np.tanh)(x) + adjit.jvp(np.sin, (x,), (1.0,))[1], target="python")
    assert inner(0.5) == pytest.approx(twice - math.sin(0.5))


def test_what_has_no_parameters_that_are_known_is_refused() -> None:
    with pytest.raises(SourceUnavailable, match="not a Python function"):
        adjit.grad(np.einsum)


def test_nearly_every_ufunc_with_a_rule_is_taken() -> None:
    ufuncs = [callee for callee in registry.registered() if isinstance(callee, np.ufunc)]
    assert len(ufuncs) > 100
    assert all(as_python(callee) is as_python(callee) is not callee for callee in ufuncs)


def test_functions_with_rules_are_differentiated_by_these() -> None:
    @njit
    def root(p, most=60):
        low, high = 0.0, 10.0
        for _ in range(most):
            middle = 0.5 * (low + high)
            if middle * middle - p > 0.0:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)

    adjit.rules.partials(root, lambda p, most, *, y: (0.5 / y, None))
    assert adjit.grad(root)(4.0) == pytest.approx(0.25, rel=1e-12)
    assert adjit.grad(root)(4.0, 5) == 0.5 / root(4.0, 5)
    assert adjit.jvp(root, (4.0,), (2.0,))[1] == pytest.approx(0.5, rel=1e-12)
    assert adjit.grad(lambda p: adjit.grad(root)(p, 60), target="python")(4.0) == pytest.approx(-0.03125, rel=1e-12)
    # no address of it is in the text
    assert "at <adjit root(p, most)>:1 with respect to p" in adjit.grad(root).source(4.0)
    assert as_python(root) is as_python(root)

    @functools.wraps(root)
    def doubled(x):
        return 2.0 * x * x

    assert adjit.grad(doubled, target="python")(4.0) == 16.0
    solved = adjit.implicit(root, lambda x, p, most: x * x - p)
    assert adjit.value_and_grad(solved, target="python")(4.0) == pytest.approx((2.0, 0.25), rel=1e-12)
