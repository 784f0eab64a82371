"""Quantum mechanics, quantum optics, quantum computing and quantum chemistry."""

import functools
import itertools
import math

import numpy as np
from scipy import linalg
from scipy import linalg as sla
from scipy.special import erf

from tests.field_programs import program

# ---------------------------------------------------------------- loschmidt
sx = np.array([[0, 1], [1, 0]], dtype=complex)


sz = np.diag([1.0, -1.0]).astype(complex)


@program("time evolution of spin chain with kron", lambda: (np.array([0.8, 0.3]), 0.5), wrt=(0, 1))
def loschmidt(p, t):
    J, h = p
    n = 3
    Hm = np.zeros((8, 8), dtype=complex)
    for i in range(n - 1):
        ops = [np.eye(2)] * n
        ops[i] = sz
        ops[i + 1] = sz
        Hm += J * functools.reduce(np.kron, ops)
    for i in range(n):
        ops = [np.eye(2)] * n
        ops[i] = sx
        Hm += h * functools.reduce(np.kron, ops)
    psi = np.zeros(8, dtype=complex)
    psi[0] = 1
    U = linalg.expm(-1j * Hm * t)
    amp = np.vdot(psi, U @ psi)
    mz = np.real(np.vdot(U @ psi, functools.reduce(np.kron, [sz, np.eye(2), np.eye(2)]) @ (U @ psi)))
    return abs(amp) ** 2 + mz


# ---------------------------------------------------------------- jaynes_cummings
@program("physics: Wigner / ladder operators with kron, expm, trace", lambda: (0.8, 1.1, 0.3), wrt=(0, 1, 2))
def jaynes_cummings(g, w, t):
    N = 4
    a = np.diag(np.sqrt(np.arange(1, N)), 1)
    sm = np.array([[0, 1], [0, 0]])
    A = np.kron(a, np.eye(2))
    S = np.kron(np.eye(N), sm)
    H = w * A.conj().T @ A + 0.5 * w * np.kron(np.eye(N), np.diag([1, -1])) + g * (A.T @ S + A @ S.T)
    psi = np.zeros(2 * N, dtype=complex)
    psi[2] = 1
    U = np.eye(2 * N, dtype=complex)
    term = np.eye(2 * N, dtype=complex)
    for k in range(1, 15):
        term = term @ (-1j * H * t) / k
        U += term
    psi = U @ psi
    rho = np.outer(psi, psi.conj()).reshape(N, 2, N, 2)
    rq = np.einsum("iaib->ab", rho)
    purity = np.trace(rq @ rq).real
    return purity + np.vdot(psi, H @ psi).real + abs(psi[3]) ** 2


# ---------------------------------------------------------------- ising
@program("time evolving block, kron chain, expm of hermitian", lambda: (np.array([0.7, 0.3]),))
def ising(p):
    J, hx = p
    sx = np.array([[0, 1], [1, 0]], complex)
    sz = np.diag([1.0, -1.0]).astype(complex)
    I = np.eye(2)

    def op(o, k, n=3):
        return functools.reduce(np.kron, [o if i == k else I for i in range(n)])

    H = -J * sum(op(sz, i) @ op(sz, i + 1) for i in range(2)) - hx * sum(op(sx, i) for i in range(3))
    U = sla.expm(-1j * H * 0.5)
    psi = np.zeros(8, complex)
    psi[0] = 1
    for _ in range(2):
        psi = U @ psi
    return np.vdot(psi, op(sz, 1) @ psi).real


# ---------------------------------------------------------------- transmission
def evolve_split_step(psi, V, x, dt, nsteps):
    """Split-operator propagation, hbar = m = 1."""
    k = 2 * np.pi * np.fft.fftfreq(len(x), d=x[1] - x[0])
    half_v = np.exp(-0.5j * dt * V)
    kin = np.exp(-0.5j * dt * k**2)
    for _ in range(nsteps):
        psi = half_v * psi
        psi = np.fft.ifft(kin * np.fft.fft(psi))
        psi = half_v * psi
    return psi


@program("probability to the right of a Gaussian barrier", lambda: (1.1, 0.9, 1.7), wrt=(0, 1, 2))
def transmission(height, width, k0, n=32):
    """Probability to the right of a Gaussian barrier."""
    x = np.linspace(-10, 10, n, endpoint=False)
    dx = x[1] - x[0]
    V = height * np.exp(-((x / width) ** 2))
    psi = np.exp(-0.5 * (x + 4) ** 2 / 1.5**2 + 1j * k0 * x)
    psi = psi / np.sqrt(np.sum(np.abs(psi) ** 2) * dx)
    psi = evolve_split_step(psi, V, x, 0.1, 25)
    return np.sum(np.abs(psi[x > 0]) ** 2) * dx


# ---------------------------------------------------------------- ground_state_energy
@program(
    "lowest eigenvalue of an anharmonic oscillator in a truncated number basis",
    lambda: (1.1, 0.15, 0.07),
    wrt=(0, 1, 2),
)
def ground_state_energy(omega, lam, cubic, nbasis=8):
    """Lowest eigenvalue of an anharmonic oscillator in a truncated number basis."""
    n = np.arange(nbasis)
    a = np.diag(np.sqrt(n[1:]), k=1)
    q = (a + a.T) / np.sqrt(2 * omega)
    H = np.diag(omega * (n + 0.5)) + cubic * q @ q @ q + lam * np.linalg.matrix_power(q, 4)
    E = np.linalg.eigvalsh(H)
    return E[0] + 0.1 * (E[1] - E[0])


# ---------------------------------------------------------------- damped_jaynes_cummings
def destroy(n):
    return np.diag(np.sqrt(np.arange(1, n)), k=1).astype(complex)


@program(
    "quantum optics: Lindblad master equation with kron operators, RK4 on complex density",
    lambda: (1.0, 0.3, 0.2),
    wrt=(0, 1, 2),
)
def damped_jaynes_cummings(g, kappa, gamma, N=3, steps=20, dt=0.1):
    a = np.kron(destroy(N), np.eye(2))
    sm = np.kron(np.eye(N), np.array([[0, 1], [0, 0]], dtype=complex))
    dag = lambda X: X.conj().T
    H = g * (dag(a) @ sm + a @ dag(sm))
    collapse = [np.sqrt(kappa) * a, np.sqrt(gamma) * sm]

    def L(rho):
        out = -1j * (H @ rho - rho @ H)
        for c in collapse:
            cd = dag(c)
            out += c @ rho @ cd - 0.5 * (cd @ c @ rho + rho @ cd @ c)
        return out

    psi = np.zeros(2 * N, dtype=np.complex128)
    psi[1] = 1
    rho = np.outer(psi, psi.conj())
    n_t = []
    for _ in range(steps):
        k1 = L(rho)
        k2 = L(rho + dt / 2 * k1)
        k3 = L(rho + dt / 2 * k2)
        k4 = L(rho + dt * k3)
        rho = rho + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        n_t.append(np.trace(dag(a) @ a @ rho).real)
    purity = np.einsum("ij,ji->", rho, rho).real
    return sum(n_t) * dt + purity


# ---------------------------------------------------------------- vqe
@program(
    "quantum computing: a variational eigensolver with gates as tensors",
    lambda: (np.array([0.3, -0.8, 1.1, 0.4, 0.9, -0.2]),),
)
def vqe(theta):
    X = np.array([[0, 1], [1, 0]], dtype=complex)
    Z = np.diag([1.0 + 0j, -1.0])
    I = np.eye(2)
    CNOT = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])

    def ry(t):
        return np.array([[np.cos(t / 2), -np.sin(t / 2)], [np.sin(t / 2), np.cos(t / 2)]])

    def rz(t):
        return np.array([[np.exp(-0.5j * t), 0], [0, np.exp(0.5j * t)]])

    state = np.zeros(4, dtype=complex)
    state[0] = 1.0
    for a, b, c in theta.reshape(-1, 3):
        state = np.kron(ry(a), rz(b) @ ry(c)) @ state
        state = CNOT @ state
    H = 0.5 * np.kron(Z, Z) + 0.3 * np.kron(X, I) - 0.7 * np.kron(I, X)
    return np.vdot(state, H @ state).real


# ---------------------------------------------------------------- h2plus_energy
def overlap_1s(a, b, R2):
    p = a + b
    return (np.pi / p) ** 1.5 * np.exp(-a * b / p * R2)


def kinetic_1s(a, b, R2):
    mu = a * b / (a + b)
    return mu * (3 - 2 * mu * R2) * overlap_1s(a, b, R2)


def boys0(t):
    return 0.5 * np.sqrt(np.pi / t) * erf(np.sqrt(t))


@program(
    "quantum chemistry: variational energy of H2+ with s Gaussians on both protons",
    lambda: (np.array([0.15, 0.55, 2.2]), np.array([0.35, 0.4, 0.25]), 2.0),
    wrt=(0, 1, 2),
)
def h2plus_energy(alphas, coeffs, R):
    """Variational energy of H2+ with s Gaussians on both protons."""
    centers = np.array([0.0, R])
    S = H = 0.0
    basis = [(a, c, x) for x in centers for a, c in zip(alphas, coeffs)]
    for a, ca, xa in basis:
        for b, cb, xb in basis:
            R2 = (xa - xb) ** 2
            s = overlap_1s(a, b, R2)
            p = a + b
            xp = (a * xa + b * xb) / p
            v = sum(-2 * np.pi / p * np.exp(-a * b / p * R2) * boys0(p * (xp - xc) ** 2 + 1e-10) for xc in centers)
            S += ca * cb * s
            H += ca * cb * (kinetic_1s(a, b, R2) + v)
    return H / S + 1.0 / R


# ---------------------------------------------------------------- huckel
@program(
    "chemistry: Hueckel theory of a ring with a heteroatom, bond orders",
    lambda: (np.array([0.5, 0.0, 0.0, 0.1, 0.0, 0.2]), -1.0),
)
def huckel(alpha, beta):
    n = alpha.size
    H = np.diag(alpha)
    for i in range(n):
        j = (i + 1) % n
        H[i, j] = H[j, i] = beta * (1 + 0.1 * i)
    E, C = np.linalg.eigh(H)
    occ = np.zeros(n)
    occ[: n // 2] = 2
    P = (C * occ) @ C.T
    bonds = [P[i, (i + 1) % n] for i in range(n)]
    return occ @ E + np.var(bonds)


# ---------------------------------------------------------------- rhf_h2
def boys(t):
    if t < 1e-8:
        return 1.0 - t / 3
    return 0.5 * math.sqrt(math.pi / t) * math.erf(math.sqrt(t))


@program(
    "chemistry: Hartree-Fock H2 in STO-3G, with ERI by symmetric loops and DIIS left out",
    lambda: (np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.4]]), 1.24),
    wrt=(0, 1),
)
def rhf_h2(R, zeta):
    alphas = np.array([0.109818, 0.405771, 2.22766]) * zeta**2
    coefs = np.array([0.444635, 0.535328, 0.154329])
    norms = (2 * alphas / np.pi) ** 0.75
    d = coefs * norms
    nb = len(R)
    S, T, V = np.zeros((nb, nb)), np.zeros((nb, nb)), np.zeros((nb, nb))
    for i, j in itertools.product(range(nb), repeat=2):
        AB = np.sum((R[i] - R[j]) ** 2)
        for (a, da), (b, db) in itertools.product(zip(alphas, d), zip(alphas, d)):
            p = a + b
            P = (a * R[i] + b * R[j]) / p
            K = math.exp(-a * b / p * AB)
            s = da * db * (math.pi / p) ** 1.5 * K
            S[i, j] += s
            T[i, j] += a * b / p * (3 - 2 * a * b / p * AB) * s
            for C in R:
                V[i, j] -= da * db * 2 * math.pi / p * K * boys(p * np.sum((P - C) ** 2))
    eri = np.zeros((nb,) * 4)
    for i in range(nb):
        for j in range(i + 1):
            for k in range(nb):
                for l in range(k + 1):
                    if i * (i + 1) // 2 + j < k * (k + 1) // 2 + l:
                        continue
                    val = 0.0
                    for a, b, c, e in itertools.product(range(3), repeat=4):
                        p, q = alphas[a] + alphas[b], alphas[c] + alphas[e]
                        P = (alphas[a] * R[i] + alphas[b] * R[j]) / p
                        Q = (alphas[c] * R[k] + alphas[e] * R[l]) / q
                        Kab = np.exp(-alphas[a] * alphas[b] / p * np.sum((R[i] - R[j]) ** 2))
                        Kcd = np.exp(-alphas[c] * alphas[e] / q * np.sum((R[k] - R[l]) ** 2))
                        val += (
                            d[a]
                            * d[b]
                            * d[c]
                            * d[e]
                            * 2
                            * np.pi**2.5
                            / (p * q * np.sqrt(p + q))
                            * Kab
                            * Kcd
                            * boys(p * q / (p + q) * np.sum((P - Q) ** 2))
                        )
                    for (x, y), (z, w) in [((i, j), (k, l)), ((k, l), (i, j))]:
                        eri[x, y, z, w] = eri[y, x, z, w] = eri[x, y, w, z] = eri[y, x, w, z] = val
    H = T + V
    s, U = np.linalg.eigh(S)
    X = U @ np.diag(s**-0.5) @ U.T
    D = np.zeros((nb, nb))
    E_old, it = np.inf, 0
    while it < 50:
        J = np.einsum("pqrs,rs->pq", eri, D)
        K = np.einsum("prqs,rs->pq", eri, D)
        F = H + 2 * J - K
        e, C = np.linalg.eigh(X.T @ F @ X)
        C = X @ C
        D = np.outer(C[:, 0], C[:, 0])
        E = np.sum(D * (H + F))
        if abs(E - E_old) < 1e-12:
            break
        E_old = E
        it += 1
    return E + 1 / np.linalg.norm(R[0] - R[1])


# ---------------------------------------------------------------- bond_energy
@program(
    "quantum chemistry: a Hueckel matrix of a ring, charges of the occupied orbitals, bond orders",
    lambda: (np.array([-0.1, 0.2, 0.05, -0.15, 0.1]), -1.0),
    wrt=(0, 1),
)
def bond_energy(alpha, beta):
    n = alpha.size
    H = np.diag(alpha)
    for i in range(n):
        j = (i + 1) % n
        H[i, j] = H[j, i] = beta * (1.0 + 0.03 * i)
    energies, orbitals = np.linalg.eigh(H)
    occupation = np.zeros(n)
    left = n
    for k in range(n):
        occupation[k] = min(2, left)
        left -= occupation[k]
    D = np.einsum("k,ik,jk->ij", occupation, orbitals, orbitals)
    charges = 1.0 - np.diag(D)
    orders = [D[i, (i + 1) % n] for i in range(n)]
    return occupation @ energies + np.sum(charges**2) + 0.1 * math.prod(orders)
