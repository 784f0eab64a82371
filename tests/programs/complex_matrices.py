"""Programs with matrices of complex numbers: solves, determinants, eigenvalues, norms, moments."""

import numpy as np

from tests.programs.rows import Rows, wave

MATRICES = Rows()
program = MATRICES.add

TURN = np.array([[0.3 + 0.1j, -0.2j, 0.4], [0.1, 0.5 - 0.3j, -0.1 + 0.2j], [0.2j, -0.3, 0.1 + 0.7j]])


def admittances(x):
    """A matrix far from singular."""
    return TURN * x[:, None] + 1j * np.outer(x, x) + (3.0 + 1.0j) * np.eye(3)


@program(lambda: (wave(3),), second=False)
def solves(x):
    a = admittances(x)
    b = np.linalg.solve(a, x + 1j) + np.linalg.solve(a.real, 1j * x)
    return np.sum(np.abs(b) ** 2) + np.sum(np.linalg.solve(a, a.conj().T * x).real)


@program(lambda: (wave(3),), second=False)
def inverses(x):
    a = admittances(x)
    b = np.linalg.inv(a) + np.linalg.matrix_power(a, -2) + np.linalg.matrix_power(a, 3) / 90.0
    return np.sum(np.abs(b)) + np.sum(np.abs(np.linalg.pinv(a[:, :2])))


@program(lambda: (wave(3),), second=False)
def determinants(x):
    a = admittances(x)
    d = np.linalg.det(a)
    sign, size = np.linalg.slogdet(a)
    return d.real + 0.5 * d.imag + sign.real - 2.0 * sign.imag + size


@program(lambda: (0.0,), second=False, expected=(1.0 - 2.0,))
def determinant_of_a_singular_matrix(x):
    a = np.array([[1.0 + 1.0j, 2.0 + 2.0j], [2.0, 4.0]])
    a[1, 1] += x * (1.0 + 2.0j)
    return np.linalg.det(a).real


@program(lambda: (wave(3),), second=False)
def spectrum_of_a_hermitian_matrix(x):
    a = admittances(x)
    values, vectors = np.linalg.eigh(a + a.conj().T)
    weights = np.array([1.0, 2.0, 3.0])
    of_vectors = np.sum(vectors.real * weights - vectors.imag * weights[:, None]) + np.sum(np.abs(vectors[1]) ** 2 * x)
    return values @ weights + of_vectors + np.linalg.eigvalsh(a @ a.conj().T)[2]


@program(lambda: (wave(3),), second=False)
def spectrum_of_a_matrix(x):
    a = admittances(x)
    values, vectors = np.linalg.eig(a)
    return np.sum(np.abs(values - 1j)) + np.sum(np.abs(vectors + 1j)) + np.sum(np.abs(np.linalg.eigvals(a)) ** 3)


@program(lambda: (wave(3),), second=False)
def factor(x):
    a = admittances(x)
    l = np.linalg.cholesky(a @ a.conj().T + np.identity(3, dtype=complex))
    return np.sum(l.real) - 2.0 * np.sum(l.imag) + np.sum(np.abs(l @ (x + 1j)))


@program(lambda: (wave(3),), second=False)
def norms(x):
    a, z = admittances(x), x + 1j * x[0]
    of_vectors = np.linalg.norm(z) + np.linalg.norm(z, np.inf) + np.linalg.norm(z, 3)
    return (
        of_vectors + np.linalg.norm(a) + np.linalg.norm(a, "fro") + np.linalg.norm(a, 1) + np.linalg.norm(a[:, :2], 2)
    )


@program(lambda: (0.0,), expected=(0.0,))
def norm_of_what_is_real(x):
    """The second derivative by the imaginary part, which is zero, is that of a length."""
    return np.linalg.norm(np.array([1.0 + 1j * x, 0.0]))


@program(lambda: (wave(3),), second=False)
def moments(x):
    z, a = x + 1j * x**2, admittances(x)
    of_numbers = np.var(z) + np.std(z) + np.abs(np.prod(z)) + np.sum(np.abs(np.cumprod(z)))
    found = np.cov(a)
    return of_numbers + np.sum(found.real) + np.sum(found.imag * wave(3, 3)) + np.cov(z).real.sum()


@program(lambda: (wave(3),), second=False)
def correlations(x):
    z = x + 1j * x[::-1]
    found = np.correlate(x * (1.0 + 2.0j), z, "full") + np.correlate(z, x, "full") + np.convolve(z, x)
    return np.sum(np.abs(found)) + np.sum(np.angle(z, deg=True))


@program(lambda: (wave(3),), second=False)
def identities(x):
    a = (
        np.eye(3, dtype=complex) * x[0]
        + np.eye(3, k=1, dtype=np.complex128) * 1j * x
        + np.eye(3, 3, dtype="complex128")
    )
    return np.sum(np.abs(a @ (x + 1j))) + np.abs(np.trace(np.matmul(a, 1j * a) + np.eye(3)))


@program(lambda: (np.array([[0.0, 1.0, 0.3], [-1.0, 0.1, 0.2], [0.2, 0.4, 0.5]]),), second=False)
def spectrum_of_a_real_matrix(a):
    values = np.linalg.eigvals(a.astype(complex)) * np.linalg.eigvals(a + 0j)
    return np.sum(np.abs(values - 0.3j) ** 2 + values.imag**2)
