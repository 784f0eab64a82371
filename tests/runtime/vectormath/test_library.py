"""How the functions get into compiled code: as instructions of their own, in vectors, and through Python."""

import math
import re

import numpy as np
import pytest
from numba import njit

from adjit.runtime import vectormath
from tests.runtime.vectormath.reference import ROWS, compiled, sample, values

X = sample(ROWS["erf"], np.float64, 200, seed=7)


def assembly(function):
    return next(iter(function.inspect_asm().values()))


@pytest.mark.parametrize("name", ROWS)
def test_a_loop_is_vectorised(name):
    values(name, X)
    code = assembly(compiled(getattr(vectormath, name)))
    assert re.search(r"mulpd|fmadd\d+pd|fmla\s+v", code)
    assert not re.search(rf"\b{name}f?\b@PLT|call.*\b{name}\b", code)


@pytest.mark.parametrize("name", ["log2", "erfc", "sinh", "tanh"])
def test_fast_math_of_the_caller_changes_nothing(name):
    function = getattr(vectormath, name)

    @njit(fastmath={"contract", "reassoc", "nsz", "arcp", "afn"})
    def loose(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    out = np.empty_like(X)
    loose(np.abs(X), out)
    np.testing.assert_array_equal(out, values(name, np.abs(X)))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("number", [0.3, np.float32(0.3)])
def test_python_takes_them_from_numpy(name, number):
    found = getattr(vectormath, name)(number)
    assert found == pytest.approx(getattr(math, name)(number), rel=1e-6)
    assert isinstance(found, np.float32) == isinstance(number, np.float32)


def test_python_has_no_errors_at_the_ends():
    assert vectormath.log(0.0) == -math.inf
    assert vectormath.exp(1e6) == math.inf
    assert vectormath.pow(0.0, -1.0) == math.inf


def test_integers_are_not_taken():
    with pytest.raises(Exception, match="No implementation"):
        njit(lambda x: vectormath.exp(x))(1)
