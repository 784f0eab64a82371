"""Sparse matrices of scipy.sparse: from outside, as arguments, inside of loops and branches; and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from scipy import stats

import adjit
from tests.programs.harness import check

KINDS = (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array)
DENSE = np.random.default_rng(0).normal(size=(4, 6)) * (np.random.default_rng(1).random((4, 6)) < 0.5)
X = np.array([0.81, 0.57, 0.93, 1.37, 0.66, 1.12])
S, A, C = sp.csr_matrix(DENSE), sp.csr_array(DENSE), sp.csc_array(DENSE)
DIAGONAL, COO = sp.dia_matrix(np.eye(6)), sp.coo_matrix(DENSE)


def products(s, x):
    return (
        np.sum((s @ x) ** 3) + np.sum((x[:4] @ s) ** 2) + np.sum(s.T.dot(x[:4]) * x) + s.nnz * np.sum((s / x[0]).data)
    )


def matrices(s, x):
    return np.sum((s @ np.outer(x, x)) ** 2) + np.sum((np.outer(x, x[:4]) @ (-s)) ** 2) + np.sum(s.T.toarray() @ x[:4])


def others(s, x):
    turned = s.tocsc().data * s.tocsr().data[::-1]
    return np.sum(s.diagonal() * x[:4]) + s.sum() * s.mean() * s.shape[1] + np.sum(turned * s.indices) + s.trace()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", [products, matrices, others])
def test_as_arguments(f, kind):
    s, t = kind(DENSE), kind(DENSE)
    t.data = np.cos(np.arange(s.nnz))
    value, (s_bar, x_bar) = adjit.value_and_grad(f, wrt=(0, 1), target="python")(s, X)
    assert value == pytest.approx(f(s, X), rel=1e-13)
    assert type(s_bar) is kind
    assert s_bar.shape == s.shape
    np.testing.assert_array_equal(s_bar.indices, s.indices)
    assert not np.shares_memory(s_bar.indices, s.indices)
    tangent = adjit.jvp(f, (s, X), (t, np.ones(6)), target="python")[1]
    assert tangent == pytest.approx(np.sum(s_bar.data * t.data) + np.sum(x_bar), rel=1e-12)
    h = 1e-6
    expected = (f(s + h * t, X + h) - f(s - h * t, X - h)) / (2 * h)
    assert tangent == pytest.approx(expected, rel=1e-7)


def test_second_derivatives_and_pullbacks():
    adjit.check_grads(products, (C, X), order=2, target="python")
    s = S.copy()
    _, pullback = adjit.vjp(lambda s, x: s @ x, s, X, target="python")
    s.indices[:], s.data[:] = 0, 0.0
    s_bar, x_bar = pullback(np.ones(4))
    np.testing.assert_allclose(s_bar.toarray(), (DENSE != 0) * X)
    np.testing.assert_allclose(x_bar, np.sum(DENSE, axis=0))


class Diffusion:
    def __init__(self, laplacian, rate):
        self.laplacian, self.rate = laplacian, rate

    def run(self, u, steps):
        for _ in range(steps):
            u = u + self.rate * (self.laplacian @ u)
        return np.sum(u**2)


def evolved(model, u):
    return model.run(u, 3)


LINE = sp.csr_matrix(np.diag(-2.0 * np.ones(6)) + np.eye(6, k=1) + np.eye(6, k=-1))
OUTSIDE = Diffusion(LINE, 0.1)


def outside(u):
    held = LINE @ u if u[0] > 0.0 else COO @ u
    return OUTSIDE.run(u, 4) + np.sum(held**2) + np.sum(COO @ u) + np.sum(sp.eye(6, format="csr") @ u)


def test_in_objects_and_from_outside():
    model, (model_bar, _) = Diffusion(LINE, 0.1), adjit.grad(evolved, wrt=(0, 1), target="python")(OUTSIDE, X)
    assert type(model_bar.laplacian) is sp.csr_matrix
    h = 1e-6
    model.laplacian = LINE + h * LINE
    assert np.sum(model_bar.laplacian.data * LINE.data) == pytest.approx(
        (evolved(model, X) - evolved(OUTSIDE, X)) / h, rel=1e-5
    )
    check(outside, lambda: (X.copy(),), second=False)


def test_the_adjoint_is_the_loops_that_one_would_write():
    derived = adjit.grad(lambda s, x: np.sum((s @ x) ** 2))
    text = derived.source(S, X)
    assert text.count("for ") == 3
    assert "tape" not in text
    np.testing.assert_allclose(derived(S, X).toarray(), 2.0 * np.outer(S @ X, X) * (DENSE != 0), rtol=1e-13)


def test_what_is_held_counts_for_the_cache(tmp_path, monkeypatch, recwarn):
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.delenv("ADJIT_CACHE", raising=False)
    (tmp_path / "cache").mkdir(mode=0o700)
    matrix, noise = A, stats.norm(0.0, 2.0)

    def f(x):
        return np.sum(matrix @ x) + noise.logpdf(x[0])

    first = adjit.grad(f, cache=True)(X)
    matrix, noise = 2.0 * A, stats.norm(0.0, 1.0)
    np.testing.assert_allclose(adjit.grad(f, cache=True)(X) - first, A.sum(axis=0) - 0.75 * X[0] * (X == X[0]))
    assert not recwarn.list


def test_types():
    single = sp.csr_matrix(DENSE.astype(np.float32))
    assert adjit.grad(products, target="python")(single, X.astype(np.float32)).data.dtype == np.float32
    whole = sp.csr_matrix(np.arange(24).reshape(4, 6) % 3)
    np.testing.assert_allclose(
        adjit.grad(lambda x: np.sum((whole @ x) ** 2), target="python")(X), 2.0 * whole.T @ (whole @ X)
    )
    none = sp.csc_array((4, 6))
    assert adjit.grad(matrices, target="python")(none, X).nnz == 0


def test_wrong_sizes_and_patterns():
    with pytest.raises(ValueError, match="dimension mismatch"):
        adjit.grad(lambda x: np.sum(S @ x), target="python")(X[:3])
    with pytest.raises(ValueError, match="outside of its shape"):
        adjit.grad(lambda d: np.sum(sp.csr_matrix((d, ([0, 9], [0, 1])), shape=(4, 4)).data), target="python")(X[:2])
    with pytest.raises(adjit.errors.TypeMismatch, match="differs from the argument"):
        adjit.jvp(products, (S, X), (sp.csr_matrix(DENSE + 1.0), X), target="python")
    with pytest.raises(adjit.errors.TypeMismatch, match="not structured like"):
        adjit.jvp(products, (S, X), (C, X), target="python")


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda x: S.sorted_indices() @ x, r"Known are \+, .*toarray"),
        (lambda x: S[0] @ x, "toarray"),
        (lambda x: S / S, "toarray"),
        (lambda x: S**2 @ x, "multiply with the vector"),
        (lambda x: sp.diags([x], [0], format="bsr") @ x, "csr, csc, coo and dia"),
        (lambda x: sp.lil_matrix((3, 3)), "csr_matrix"),
        (lambda x: sla.spilu(S).solve(x), "splu"),
        (lambda x: DIAGONAL @ x, "tocsr"),
        (lambda x: sp.csr_matrix(np.outer(x, x)) @ x, "data, indices, indptr"),
        (lambda x: sla.cg(S, x)[0], "spsolve"),
        (lambda x: x[0] * S, "returns an object of the class csr_matrix"),
        (lambda x: np.sum(sp.random(3, 3).toarray()) * x, "draw it outside"),
    ],
)
def test_what_is_refused(f, match):
    with pytest.raises(adjit.AdjitError, match=match):
        adjit.vjp(f, X, target="python")
