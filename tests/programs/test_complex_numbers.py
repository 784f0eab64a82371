"""Complex numbers: programs of every kind with them, what is refused of them, and what a derived function takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError
from adjit.rules.numpy.real_or_complex import SPECTRA_ARE_COMPLEX
from tests.programs.complex_matrices import MATRICES
from tests.programs.complex_numbers import COMPLEX, PHASES, array_argument, size_of_a_multiple
from tests.programs.harness import check
from tests.programs.rows import Row


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", COMPLEX.rows, ids=lambda row: row.name)
@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
def test_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, expected=row.expected)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("row", MATRICES.rows, ids=lambda row: row.name)
@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
def test_program_with_matrices(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=row.second, expected=row.expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [r for r in COMPLEX.rows if r.compiled], ids=lambda row: row.name)
def test_compiled_program(row: Row) -> None:
    check(row.function, row.arguments, row.active, second=False, expected=row.expected, target="cpu")


def test_every_derivative_sees_a_fixed_complex_argument() -> None:
    x, options = np.array([0.5, -0.2, 0.7]), {"target": "python"}
    right = adjit.grad(lambda x: array_argument(x, PHASES), **options)(x)
    curvature = np.diag(2.0 * np.abs(PHASES) ** 2)
    for derived in (adjit.grad, adjit.jacobian, adjit.jacfwd, adjit.jacrev):
        np.testing.assert_allclose(derived(array_argument, **options)(x, PHASES), right)
    np.testing.assert_allclose(adjit.hessian(array_argument, **options)(x, PHASES), curvature)
    np.testing.assert_allclose(adjit.hvp(array_argument, **options)(x, PHASES, np.ones(3)), curvature.sum(axis=1))
    for nothing in (0, 0j):
        assert adjit.jvp(size_of_a_multiple, (0.5, 1 + 1j), (1.0, nothing), **options)[1] == pytest.approx(2**0.5)


def test_single_precision() -> None:
    """As numba computes: with a float64 in double precision, from parts that are of single precision."""
    x, a = np.array([0.5, -0.2, 0.7]), PHASES.astype(np.complex64)
    found = adjit.grad(array_argument, target="python")(x, a)
    np.testing.assert_allclose(found, adjit.grad(array_argument, target="python")(x, a.astype(complex)), rtol=1e-14)
    assert found.dtype == np.float64
    narrow = adjit.grad(array_argument, target="python")(x.astype(np.float32), a)
    np.testing.assert_allclose(narrow, found, rtol=1e-5)
    assert narrow.dtype == np.float32


def one_array_twice(x, z, w):
    z[0] = x
    return abs(w[0])


def test_a_complex_array_given_twice_is_refused_where_one_is_written() -> None:
    with pytest.raises(AdjitError, match="two arguments share memory"):
        adjit.grad(one_array_twice, target="python")(0.5, PHASES, PHASES)
    assert adjit.grad(one_array_twice, target="python")(0.5, PHASES.copy(), PHASES) == 0.0


def ordered(x):
    return x if x * 1j > 0 else 0.0


def stored(x):
    a = np.zeros(2)
    a[0] = x * 1j
    return a[0]


def added(x):
    a = np.zeros(2)
    a += x * 1j
    return a[0]


def whole(x):
    return np.abs(np.sort(np.ones(2) * x * 1j)[0])


def singular_vectors(x):
    return np.linalg.svd(np.ones((2, 2)) * x * 1j)[1][0]


def tie_of_complex_numbers(x):
    return np.max(np.array([x * 1j, 1.0])).real


def of_math(x):
    return math.sin(x * 1j)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (ordered, "Unsupported: `>` of complex numbers"),
        (stored, "TypeMismatch: a store of a complex number into a real array"),
        (added, "TypeMismatch: a complex number instead of a real one"),
        (whole, "NoRule: sort of complex numbers has no derivative rule"),
        (
            singular_vectors,
            "Unsupported: np.linalg.svd of a complex matrix, whose vectors have an arbitrary phase: "
            "write np.linalg.eigh(a.conj().T @ a)",
        ),
        (tie_of_complex_numbers, "NoRule: max of complex numbers has no derivative rule"),
        (of_math, "NoRule: sin of complex numbers has no derivative rule"),
    ],
)
def test_what_complex_numbers_do_not_have(function: Any, message: str) -> None:
    with pytest.raises(AdjitError) as fault:
        adjit.grad(function, target="python")(0.5)
    assert fault.value.message.splitlines()[0] == message


def of_a_real_matrix(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    lead = np.argmax(values.real)
    stack = np.linalg.eigvals(np.stack((a, 2.0 * a.T)))
    along = np.abs(vectors[:, lead]) ** 2 @ np.array([1.0, 2.0, 3.0])
    return np.abs(values) @ np.array([1.0, -0.5, 0.3]) + values[lead].real * along + np.sum(np.abs(stack + 1j))


# real ones, and a pair of complex ones
MATRICES_OF_REALS = [np.diag([3.0, 1.0, -2.0]) + 0.1, np.array([[0.2, 1.5, 0.1], [-1.0, 0.3, 0.2], [0.3, -0.2, 1.7]])]


@pytest.mark.skipif(not SPECTRA_ARE_COMPLEX, reason="eigenvalues are real or an error before NumPy 2.5")
@pytest.mark.parametrize("a", MATRICES_OF_REALS, ids=["real", "complex"])
def test_spectra_of_real_matrices(a: Any) -> None:
    check(of_a_real_matrix, lambda: (a.copy(),), second=False)
