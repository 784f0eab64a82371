"""Types that are asked for are inferred; what is called is compiled."""

from __future__ import annotations

import operator
import warnings

import numba
import numpy as np
import pytest
from numba import types
from numba.core import errors
from numba.core.registry import cpu_target

from adjit.runtime.backend import separate_compilation
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.inference import is_for_types, only_types
from adjit.runtime.backend.typing import inferred_type
from adjit.runtime.backend.versions import is_plain

VECTOR, MATRIX = types.float64[::1], types.float64[:, ::1]


@numba.njit
def halved(x):
    return 0.5 * x


@numba.njit
def summed(x, factor=2.0):
    total = 0.0
    for v in np.partition(x, 1):
        total += halved(v) * factor
    return total


@numba.njit
def descending(n):
    return 1.0 if n < 1 else n * descending(n - 1)


@numba.njit
def unfit(x):
    return x + "a"


def context():
    return cpu_target.typing_context


def typed(function, *args):
    return context().resolve_function_type(context().resolve_value_type(function), args, {})


@pytest.mark.parametrize(
    "callee, args",
    [
        (np.partition, (VECTOR, types.int64)),
        (np.linalg.norm, (VECTOR,)),
        (np.linalg.solve, (MATRIX, VECTOR)),
        (np.cross, (VECTOR, VECTOR)),
        (operator.getitem, (MATRIX, types.int64)),
        (summed, (VECTOR,)),
        (descending, (types.int64,)),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_same_as_compiled(callee, args):
    assert inferred_type(callee, args, {}) == typed(callee, *args).return_type


def test_nothing_is_compiled_for_a_type():
    @numba.njit
    def inner(x):
        return 2.0 * x

    @numba.njit
    def outer(x):
        return inner(x) + 1

    with only_types():
        assert is_for_types()
        assert typed(outer, types.float64).return_type == types.float64
    assert not is_for_types()
    assert not outer.overloads
    assert not inner.overloads
    assert outer(1.5) == 4.0
    assert inner.overloads


def test_what_is_compiled_meanwhile_is_compiled_whole():
    """A compilation within a question compiles what it calls."""
    with only_types():
        assert summed.py_func is not None
        found = numba.njit(lambda x: summed(x) + 1.0)(np.array([3.0, 1.0, 2.0]))
        assert is_for_types()
    assert found == 7.0


def test_what_has_no_type_says_so_each_time():
    for _ in range(2):
        with only_types(), pytest.raises(errors.TypingError):
            typed(unfit, types.float64)


def test_results_of_what_is_compiled_apart():
    args = (types.float64[:, :, ::1], types.int64)
    assert separate_compilation.known_result(np.trace, (MATRIX,)) == types.float64
    assert separate_compilation.known_result(np.trace, args) is None
    assert separate_compilation.known_result(np.trace, (types.unicode_type,)) is None


def test_functions_of_the_rules_as_python_calls_them():
    from adjit.rules.numpy.linalg.matrices import cofactors
    from adjit.rules.special_functions import digamma

    other = separate_compilation.for_python(cofactors)
    assert other is separate_compilation.for_python(cofactors) is not cofactors
    assert separate_compilation.for_python(halved) is halved
    assert separate_compilation.for_python(digamma) is separate_compilation.for_python(digamma) is not digamma
    assert separate_compilation.for_python(digamma)(1.0) == pytest.approx(-np.euler_gamma, rel=1e-14)
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    np.testing.assert_allclose(other(a), [[3.0, -0.5], [-1.0, 2.0]], rtol=1e-14)


# ------------------------------------------------------------------------------------------------- types of functions

own_means = pytest.mark.skipif(is_plain(), reason="numba's own means are used")


def widened(x):
    """`total` is an integer first, and `kept` what it was in the trip before."""
    total, kept = 0, 0
    for i in range(x.size):
        kept, total = total, total + x[i]
        if total > 3:
            total = total * 1j
    return total, kept


def handed_on(x):
    a, b, c = 0, 0, 0
    for _ in range(3):
        c, b, a = b, a, x
    return a, b, c


def multiplied(a):
    return a[::2, ::2] @ a[::2, ::2]


def mixed(x):
    y = 1
    for _ in range(3):
        y = y + "a"
    return y + x


@own_means
@pytest.mark.parametrize("function", [widened, handed_on])
def test_types_of_names_that_change_theirs(function):
    own, other = numba.njit(pipeline_class=GeneratedCompiler)(function), numba.njit(function)
    for kinds in ((types.complex128[::1],), (types.complex64[::1],)) if function is widened else (
        (types.float32,), (types.complex128,), (types.float64[::1],)
    ):  # fmt: skip
        try:
            other.compile(kinds)
        except errors.TypingError:
            with pytest.raises(errors.TypingError):
                own.compile(kinds)
        else:
            own.compile(kinds)
            assert own.overloads[kinds].signature == other.overloads[kinds].signature


@own_means
def test_warnings_are_handed_on_once():
    told = []
    for options in ({"pipeline_class": GeneratedCompiler}, {}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numba.njit(**options)(multiplied).compile((types.float64[:, ::1],))
        told.append([(str(w.message).splitlines()[0], w.category) for w in caught])
    assert told[0] in ([], told[1])


@own_means
def test_errors_are_numbas():
    with pytest.raises(errors.TypingError, match="unicode"):
        numba.njit(pipeline_class=GeneratedCompiler)(mixed)(np.ones(3))
