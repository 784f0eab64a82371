"""adjit.cuda.unique: what it makes plain, what it does not, and kernels that call it."""

import numpy as np
import pytest
from numba import njit

import adjit
from tests.cuda.compiled import code_of_kernel, needs_compiler
from tests.cuda.ordering import met_again, of_two, permuted, permuted_rows, picked

TYPES = "float64[::1], int64[::1], float64[::1]"


def atomics(text):
    return sum(line.lstrip().startswith("cuda.atomic.add(") for line in text.splitlines())


@pytest.mark.parametrize(
    "function, types, count",
    [
        (permuted, TYPES, 0),
        (permuted_rows, "float64[:, ::1], int64[::1], float64[::1]", 0),
        (met_again, TYPES, 1),
        (of_two, "float64[::1], int64[::1], int64[::1]", 2),
    ],
)
def test_additions(function, types, count):
    assert atomics(adjit.grad(function, target="cuda").source(types)) == count


def test_of_kernels():
    text = adjit.cuda.adjoint(picked).source(TYPES, block=8)
    assert atomics(text) == 0
    assert "unique" not in text


def test_on_the_cpu_it_is_the_array_itself():
    g = np.random.default_rng(2)
    x, k, w = g.normal(size=9), g.permutation(9), g.normal(size=9)
    wanted = np.zeros(9)
    wanted[k] = w * np.cos(x[k])
    np.testing.assert_allclose(adjit.grad(permuted)(x, k, w), wanted)
    np.testing.assert_allclose(adjit.grad(permuted, target="python")(x, k, w), wanted)
    assert njit(permuted)(x, k, w) == pytest.approx(permuted(x, k, w))


@needs_compiler
def test_kernels_that_call_it_compile():
    assert code_of_kernel(picked.py_func, TYPES).atomics == 0


def of_floats(x, w):
    return x[0] * adjit.cuda.unique(w)[0]


def test_refused_of_what_holds_no_indices():
    with pytest.raises(adjit.TypeMismatch, match="not an array of integers") as fault:
        adjit.grad(of_floats, target="cuda").source("float64[::1], float64[::1]")
    assert "unique(w)" in fault.value.place.text
