"""What numba makes beside compiled functions: ufuncs, generalised ufuncs, instances of jitclasses."""

import numba
import numpy as np
import pytest
from numba.experimental import jitclass

import adjit
from adjit.errors import TypeMismatch, Unsupported
from tests.programs.harness import check
from tests.programs.rows import vector, wave


@numba.vectorize
def weighted(a, b):
    return a * a * b


@numba.vectorize(["float64(float64)"])
def bent(a):
    if a > 0.6:
        return a**3
    return np.sin(a)


@numba.guvectorize([(numba.float64[:], numba.float64[:])], "(n)->()")
def squares(a, r):
    s = 0.0
    for i in range(a.size):
        s += a[i] ** 2
    r[0] = s


@numba.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
def scaled(a, k, r):
    for i in range(a.shape[0]):
        r[i] = a[i] * k


@numba.guvectorize(["void(float64[:,:], float64[:], float64[:], float64[:])"], "(m,n),(n)->(m),()")
def product(a, x, r, total):
    total[0] = 0.0
    for i in range(a.shape[0]):
        r[i] = 0.0
        for j in range(a.shape[1]):
            r[i] += a[i, j] * x[j]
        total[0] += r[i]


@jitclass([("k", numba.float64), ("w", numba.float64[:])])
class Model:
    def __init__(self, k):
        self.k = k
        self.w = np.arange(3.0)

    def times(self, v):
        return self.k * v + self.w[1]

    @property
    def twice(self):
        return 2 * self.k


MODEL = Model(2.0)
A = 0.3 * wave(6).reshape(2, 3)
X = vector(0.5, 0.7, 0.9)


def of_ufuncs(x, a):
    total = np.sum(weighted(x, 2.0)) + np.sum(weighted(x[:, None], x)) + np.sum(bent(a) * a) + weighted(x[0], x[1])
    for k in range(2):
        if x[k] > 0.6:
            total += np.sum(bent(weighted(a, x)[k]))
    return total + np.sum(weighted(x, x, out=np.empty(3)))


def of_generalised_ufuncs(x, a):
    total = squares(x) + np.sum(squares(a * x) * np.array([1.0, 2.0])) + np.sum(scaled(x, x[0]) * x)
    total += np.sum(scaled(a * x, np.array([1.0, 2.0])) ** 2)
    rows, sums = product(np.stack((a, 2 * a)), x)
    return total + np.sum(rows**2) + sums[0] * sums[1]


def of_a_jitclass(x):
    return MODEL.k * x[0] ** 2 + MODEL.times(x[1]) * x[2] + np.sum(MODEL.w * x) * MODEL.twice


def of_axes_that_are_stretched(x, k):
    total = np.sum(scaled(np.stack((x, x)), k) ** 2) + np.sum(scaled(x[None, :], np.ones((2, 3)) * k) ** 3)
    rows, sums = product(np.ones((4, 1, 2, 3)) * x, np.stack((x, 2 * x)))
    return total + np.sum(rows**2) + np.sum(sums * sums)


PROGRAMS = [
    (of_ufuncs, (X, A)), (of_generalised_ufuncs, (X, A)), (of_a_jitclass, (X,)),
    (of_axes_that_are_stretched, (X, vector(0.4))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_program(function, arguments) -> None:
    active = tuple(range(len(arguments)))
    check(function, lambda: tuple(a.copy() for a in arguments), active)
    assert adjit.value_and_grad(function, target="python")(*arguments)[0] == pytest.approx(function(*arguments))


@pytest.mark.parametrize(
    "function",
    [
        of_a_jitclass,
        lambda x: squares(x) + np.sum(weighted(x, x)),
        lambda x: of_axes_that_are_stretched(x, x[:1]) + np.sum(scaled(x[None, :], x)),
    ],
)
def test_compiled(function) -> None:
    value, bar = adjit.value_and_grad(function)(X)
    assert value == pytest.approx(function(X))
    np.testing.assert_allclose(bar, adjit.grad(function, target="python")(X), rtol=1e-14)


def test_themselves() -> None:
    assert adjit.grad(weighted, target="python")(0.5, 2.0) == 2.0
    np.testing.assert_allclose(adjit.grad(squares, target="python")(X), 2 * X)


def test_second_derivatives() -> None:
    np.testing.assert_allclose(adjit.hessian(lambda x: squares(x * x), target="python")(X), np.diag(12 * X * X))


def test_types() -> None:
    """Arguments are those that numba was asked for: integers become floats, and single precision double."""
    assert adjit.grad(lambda x, n: x * bent(n), target="python")(2.0, 3) == 27.0
    single = X.astype(np.float32)
    bar = adjit.grad(lambda x: np.sum(bent(x)), target="python")(single)
    assert bar.dtype == np.float32
    np.testing.assert_allclose(bar, adjit.grad(lambda x: np.sum(bent(x)), target="python")(X), rtol=1e-6)
    empty = adjit.value_and_grad(lambda x: np.sum(weighted(x, x)) + squares(x), target="python")(np.zeros(0))
    assert (empty[0], empty[1].shape) == (0.0, (0,))
    with pytest.raises(
        TypeMismatch,
        match=r"a call of bent with \(complex128\)(.*\n)*  numba\.vectorize declares it for \(float64\) only",
    ):
        adjit.grad(lambda x: abs(bent(x + 1j)), target="python")(0.5)


@numba.guvectorize([(numba.float64[:], numba.float64[:])], "(n)->(n)")
def doubled_in_place(a, r):
    part = a[1:]
    part *= 2
    r[:] = a


@numba.guvectorize("(n)->(n)")
def untyped(a, r):
    r[:] = a


def test_what_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"(?s)this call of untyped.*Give guvectorize the types"):
        adjit.grad(lambda x: np.sum(untyped(x, np.empty(3))), target="python")(X)
    with pytest.raises(ValueError, match="broadcast"):
        adjit.grad(lambda x, k: np.sum(scaled(np.stack((x, x)), k)), target="python")(X, np.ones(3))
    with pytest.raises(Unsupported, match=r"(?s)doubled_in_place, .* stores into an input.*a\.copy\(\)"):
        adjit.grad(lambda x: np.sum(doubled_in_place(x)), target="python")(X)
    with pytest.raises(Unsupported, match="argument `where`"):
        adjit.grad(lambda x: np.sum(bent(x, where=x > 0)), target="python")(X)
    with pytest.raises(Unsupported, match="Model has no attribute `q`"):
        adjit.grad(lambda x: x * MODEL.q, target="python")(0.5)
