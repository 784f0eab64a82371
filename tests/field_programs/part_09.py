from functools import reduce
from itertools import combinations

import numpy as np
from scipy.special import erf

PROGRAMS = []


# ---------------------------------------------------------------- structural dynamics
def newmark_peak(m, c, k, ground, dt=0.02, beta=0.25, gamma=0.5):
    """Linear SDOF under ground acceleration; p-norm of the displacement as a smooth peak."""
    u, v = 0.0, 0.0
    a = -ground[0]
    keff = k + gamma / (beta * dt) * c + m / (beta * dt**2)
    disp = []
    for ag in ground[1:]:
        p = -m * ag
        p += m * (u / (beta * dt**2) + v / (beta * dt) + (1 / (2 * beta) - 1) * a)
        p += c * (gamma / (beta * dt) * u + (gamma / beta - 1) * v + dt * (gamma / (2 * beta) - 1) * a)
        u_new = p / keff
        v_new = gamma / (beta * dt) * (u_new - u) + (1 - gamma / beta) * v + dt * (1 - gamma / (2 * beta)) * a
        a = (u_new - u) / (beta * dt**2) - v / (beta * dt) - (1 / (2 * beta) - 1) * a
        u, v = u_new, v_new
        disp.append(u)
    return np.linalg.norm(np.array(disp), ord=8)


PROGRAMS.append(
    (
        "newmark_sdof",
        "structural dynamics",
        newmark_peak,
        lambda: (1.2, 0.8, 240.0, 3.0 * np.sin(13.0 * np.arange(30) * 0.02) * np.exp(-np.arange(30) / 20)),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- groundwater flow
def assemble_poisson(kappa, dx):
    """1-D finite volume matrix with harmonic mean face conductivities."""
    n = len(kappa)
    face = 2 * kappa[1:] * kappa[:-1] / (kappa[1:] + kappa[:-1])
    A = np.zeros((n, n))
    for i, k in enumerate(face):
        A[i, i] += k / dx**2
        A[i + 1, i + 1] += k / dx**2
        A[i, i + 1] -= k / dx**2
        A[i + 1, i] -= k / dx**2
    A[0, 0] += 2 * kappa[0] / dx**2
    A[-1, -1] += 2 * kappa[-1] / dx**2
    return A


def head_misfit(log_k, recharge, h_left, h_right, wells, heads, reg=0.1):
    k = np.exp(log_k)
    n = k.size
    dx = 1.0 / n
    A = assemble_poisson(k, dx)
    b = np.full(n, recharge)
    b[0] += 2 * k[0] * h_left / dx**2
    b[-1] += 2 * k[-1] * h_right / dx**2
    h = np.linalg.solve(A, b)
    tik = np.sum(np.diff(log_k, n=2) ** 2)
    return 0.5 * np.sum((h[wells] - heads) ** 2) + reg * tik


PROGRAMS.append(
    (
        "aquifer_inverse",
        "groundwater flow",
        head_misfit,
        lambda: (0.3 * np.sin(np.arange(10.0)), 1.5, 2.0, 1.0, [2, 5, 8], np.array([2.1, 1.9, 1.4])),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- electronics
def mna_gain(R, C, gm, freqs, target_db):
    """Three-node amplifier, nodal analysis at each frequency."""
    err = 0.0
    for f in freqs:
        s = 2j * np.pi * f
        Y = np.zeros((3, 3), dtype=complex)
        Y[0, 0] = 1 / R[0] + s * C[0] + 1 / R[1]
        Y[0, 1] = Y[1, 0] = -1 / R[1]
        Y[1, 1] = 1 / R[1] + s * (C[1] + C[2])
        Y[1, 2] = -s * C[2]
        Y[2, 1] = gm - s * C[2]
        Y[2, 2] = 1 / R[2] + s * C[2]
        v = np.linalg.solve(Y, np.array([1 / R[0], 0, 0]))
        err += (20 * np.log10(abs(v[2])) - target_db) ** 2
    return err / len(freqs)


PROGRAMS.append(
    (
        "amplifier_mna",
        "electronic circuits",
        mna_gain,
        lambda: (np.array([50.0, 200.0, 4000.0]), np.array([2e-9, 30e-12, 2e-12]), 0.02, np.logspace(4, 7, 6), 25.0),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- climate
def energy_balance(T, S, albedo_ice, A, B, D, x):
    """North-type diffusive energy balance, right hand side on a grid in sin(latitude)."""
    albedo = 0.3 + 0.5 * (albedo_ice - 0.3) * (1 - np.tanh((T + 10.0) / 4.0))
    dx = x[1] - x[0]
    xe = 0.5 * (x[1:] + x[:-1])
    flux = D * (1 - xe**2) * np.diff(T) / dx
    div = np.diff(np.pad(flux, 1)) / dx
    return S * (1 - 0.48 * 0.5 * (3 * x**2 - 1)) * (1 - albedo) - A - B * T + div


def mean_temperature(S, albedo_ice, A, B, D, n=14, dt=0.02, steps=40):
    x = np.linspace(-0.95, 0.95, n)
    T = 14.0 - 30.0 * x**2
    for _ in range(steps):
        T = T + dt * energy_balance(T, S, albedo_ice, A, B, D, x)
    return np.average(T, weights=np.sqrt(1 - x**2))


PROGRAMS.append(("north_ebm", "climate", mean_temperature, lambda: (342.0, 0.62, 203.3, 2.09, 0.4), (0, 1, 2, 3, 4)))


# ---------------------------------------------------------------- reservoir of neurons: computational neuroscience
def vtrap(x, y):
    return x / (np.exp(x / y) - 1.0)


def hodgkin_huxley(I_ext, gna, gk, gl, dt=0.02, steps=60, V0=-55.3):
    """Forward Euler Hodgkin-Huxley, returns time-averaged squared deviation from rest."""
    V, m, h, n = V0, 0.25, 0.5, 0.37
    acc = 0.0
    for i in range(steps):
        am = 0.1 * vtrap(-(V + 40.0), 10.0)
        bm = 4.0 * np.exp(-(V + 65.0) / 18.0)
        ah = 0.07 * np.exp(-(V + 65.0) / 20.0)
        bh = 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0))
        an = 0.01 * vtrap(-(V + 55.0), 10.0)
        bn = 0.125 * np.exp(-(V + 65.0) / 80.0)
        i_ion = gna * m**3 * h * (V - 50.0) + gk * n**4 * (V + 77.0) + gl * (V + 54.387)
        V += dt * (I_ext - i_ion)
        m += dt * (am * (1 - m) - bm * m)
        h += dt * (ah * (1 - h) - bh * h)
        n += dt * (an * (1 - n) - bn * n)
        acc += (V + 65.0) ** 2
    return acc / steps


PROGRAMS.append(
    ("hodgkin_huxley", "computational neuroscience", hodgkin_huxley, lambda: (10.0, 120.0, 36.0, 0.3), (0, 1, 2, 3))
)


# ---------------------------------------------------------------- microwave network
def abcd_line(z0, theta):
    return np.array([[np.cos(theta), 1j * z0 * np.sin(theta)], [1j * np.sin(theta) / z0, np.cos(theta)]])


def matching_loss(z_lines, theta0, load, band, z_ref=50.0):
    """Mean |Gamma|^2 of a multisection transformer over a relative band."""
    gammas = []
    for w in band:
        M = reduce(np.matmul, [abcd_line(z, theta0 * w) for z in z_lines])
        zl = load.real + 1j * w * load.imag
        zin = (M[0, 0] * zl + M[0, 1]) / (M[1, 0] * zl + M[1, 1])
        gammas.append((zin - z_ref) / (zin + z_ref))
    return np.mean(np.abs(np.array(gammas)) ** 2)


PROGRAMS.append(
    (
        "quarter_wave_match",
        "microwave engineering",
        matching_loss,
        lambda: ([55.0, 72.0, 93.0], np.pi / 2, 100 + 8j, np.linspace(0.7, 1.3, 7)),
        (0, 1),
    )
)


# ---------------------------------------------------------------- quantum chemistry
def overlap_1s(a, b, R2):
    p = a + b
    return (np.pi / p) ** 1.5 * np.exp(-a * b / p * R2)


def kinetic_1s(a, b, R2):
    mu = a * b / (a + b)
    return mu * (3 - 2 * mu * R2) * overlap_1s(a, b, R2)


def boys0(t):
    return 0.5 * np.sqrt(np.pi / t) * erf(np.sqrt(t))


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


PROGRAMS.append(
    (
        "h2plus_gaussians",
        "quantum chemistry",
        h2plus_energy,
        lambda: (np.array([0.15, 0.55, 2.2]), np.array([0.35, 0.4, 0.25]), 2.0),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- anharmonic oscillator
def ground_state_energy(omega, lam, cubic, nbasis=8):
    """Lowest eigenvalue of an anharmonic oscillator in a truncated number basis."""
    n = np.arange(nbasis)
    a = np.diag(np.sqrt(n[1:]), k=1)
    q = (a + a.T) / np.sqrt(2 * omega)
    H = np.diag(omega * (n + 0.5)) + cubic * q @ q @ q + lam * np.linalg.matrix_power(q, 4)
    E = np.linalg.eigvalsh(H)
    return E[0] + 0.1 * (E[1] - E[0])


PROGRAMS.append(("anharmonic_levels", "quantum mechanics", ground_state_energy, lambda: (1.1, 0.15, 0.07), (0, 1, 2)))


# ---------------------------------------------------------------- n-body
def leapfrog(pos, vel, mass, dt, steps, soft=0.1):
    def accel(x):
        d = x[None, :, :] - x[:, None, :]
        r3 = (np.sum(d**2, axis=-1) + soft**2) ** 1.5
        return np.sum(mass[None, :, None] * d / r3[..., None], axis=1)

    a = accel(pos)
    for _ in range(steps):
        vel = vel + 0.5 * dt * a
        pos = pos + dt * vel
        a = accel(pos)
        vel = vel + 0.5 * dt * a
    return pos, vel


def tidal_spread(pos, vel, mass):
    """Mean pair separation after a short integration plus kinetic energy."""
    x, v = leapfrog(pos, vel, mass, 0.05, 15)
    sep = [np.linalg.norm(x[i] - x[j]) for i, j in combinations(range(len(x)), 2)]
    return np.mean(sep) + 0.5 * np.sum(mass * np.sum(v**2, axis=1))


PROGRAMS.append(
    (
        "nbody_leapfrog",
        "astrophysics",
        tidal_spread,
        lambda: (
            np.array([[0.0, 0.0], [1.0, 0.2], [-0.4, 0.9], [0.3, -1.1]]),
            np.array([[0.0, 0.1], [0.0, 0.9], [-0.8, -0.2], [0.7, 0.1]]),
            np.array([2.0, 0.3, 0.2, 0.4]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- macroeconomics
def steady_state(alpha, beta, delta):
    return (alpha / (1 / beta - 1 + delta)) ** (1 / (1 - alpha))


def euler_residual(k_path, alpha, beta, delta, gamma):
    """Sum of squared Euler equation errors along a deterministic capital path."""
    y = k_path**alpha
    c = y[:-1] + (1 - delta) * k_path[:-1] - k_path[1:]
    if np.any(c <= 0):
        raise ValueError("consumption must stay positive")
    R = alpha * k_path[1:-1] ** (alpha - 1) + 1 - delta
    res = 1 - beta * (c[1:] / c[:-1]) ** (-gamma) * R
    k_ss = steady_state(alpha, beta, delta)
    return np.sum(res**2) + 0.1 * (k_path[-1] / k_ss - 1) ** 2


PROGRAMS.append(
    (
        "ramsey_euler",
        "macroeconomics",
        euler_residual,
        lambda: (np.array([2.0, 2.3, 2.5, 2.83, 2.95, 3.2, 3.3, 3.45]), 0.36, 0.95, 0.1, 2.0),
        (0, 1, 2, 3, 4),
    )
)
