import itertools
import math
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Optional

import numpy as np
from scipy import sparse

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# ADBench: hand tracking, the skinning of a small hand with theta -> pose -> vertex positions
BONES = [("root", -1), ("palm", 0), ("index1", 1), ("index2", 2), ("thumb1", 1), ("thumb2", 4)]


def angle_axis_to_rotation_matrix(angle_axis):
    n = np.sqrt(np.sum(angle_axis**2))
    if n < 0.0001:
        return np.identity(3)
    x, y, z = angle_axis / n
    s, c = np.sin(n), np.cos(n)
    return np.array(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )


def euler_angles_to_rotation_matrix(xzy):
    tx, tz, ty = xzy
    Rx = np.array([[1, 0, 0], [0, np.cos(tx), -np.sin(tx)], [0, np.sin(tx), np.cos(tx)]])
    Ry = np.array([[np.cos(ty), 0, np.sin(ty)], [0, 1, 0], [-np.sin(ty), 0, np.cos(ty)]])
    Rz = np.array([[np.cos(tz), -np.sin(tz), 0], [np.sin(tz), np.cos(tz), 0], [0, 0, 1]])
    return Rz @ Ry @ Rx


def to_pose_params(theta, nbones):
    pose = np.zeros((nbones + 3, 3))
    pose[0] = theta[0:3]
    pose[1] = 1.0
    pose[2] = theta[3:6]
    i_theta, i_pose = 6, 5
    for _ in range(2):
        for i in (2, 3):
            if i_pose >= nbones + 3:
                break
            pose[i_pose, 0] = theta[i_theta]
            i_theta += 1
            if i == 2:
                pose[i_pose, 1] = theta[i_theta]
                i_theta += 1
            i_pose += 1
    return pose


@prog("ADBench hand", lambda: (rng(0).normal(size=12) * 0.4, rng(1).random((8, 3)), rng(2).random((8, 3))), (0, 1))
def hand_objective(theta, verts, points):
    n = len(BONES)
    pose = to_pose_params(theta, n)
    base_relative = [np.eye(4) for _ in range(n)]
    for i in range(n):
        base_relative[i][:3, 3] = [0.1 * i, 0.3, -0.05 * i]
    relatives = []
    for i in range(n):
        tr = np.eye(4)
        R = euler_angles_to_rotation_matrix(pose[i + 3])
        tr[:3, :3] = R
        relatives.append(base_relative[i] @ tr)
    absolutes = []
    for (name, parent), rel in zip(BONES, relatives):
        absolutes.append(rel if parent == -1 else absolutes[parent] @ rel)
    weights = np.abs(np.sin(np.arange(n * len(verts)).reshape(n, -1) + 1.0))
    weights /= weights.sum(axis=0, keepdims=True)
    homog = np.hstack([verts, np.ones((verts.shape[0], 1))])
    positions = np.zeros((len(verts), 3))
    for i, transform in enumerate(absolutes):
        positions += (transform[:3, :] @ homog.T).T * weights[i][:, None]
    R = angle_axis_to_rotation_matrix(pose[0])
    positions = (positions * pose[1]) @ R.T + pose[2]
    err = points - positions
    return np.sum(err**2)


# ADBench: bundle adjustment with radial distortion
N_CAM_PARAMS = 11
ROT_IDX, C_IDX, F_IDX, X0_IDX, RAD_IDX = 0, 3, 6, 7, 9


def rodrigues_rotate_point(rot, X):
    sqtheta = np.sum(np.square(rot))
    if sqtheta != 0.0:
        theta = np.sqrt(sqtheta)
        costheta = np.cos(theta)
        sintheta = np.sin(theta)
        theta_inverse = 1.0 / theta
        w = theta_inverse * rot
        w_cross_X = np.cross(w, X)
        tmp = np.dot(w, X) * (1.0 - costheta)
        return X * costheta + w_cross_X * sintheta + w * tmp
    else:
        return X + np.cross(rot, X)


def radial_distort(rad_params, proj):
    rsq = np.sum(np.square(proj))
    L = 1.0 + rad_params[0] * rsq + rad_params[1] * rsq * rsq
    return proj * L


def project(cam, X):
    Xcam = rodrigues_rotate_point(cam[ROT_IDX : ROT_IDX + 3], X - cam[C_IDX : C_IDX + 3])
    distorted = radial_distort(cam[RAD_IDX : RAD_IDX + 2], Xcam[0:2] / Xcam[2])
    return distorted * cam[F_IDX] + cam[X0_IDX : X0_IDX + 2]


@prog(
    "ADBench ba",
    lambda: (
        rng(3).random((2, 11)),
        rng(4).random((4, 3)) + np.array([0, 0, 3.0]),
        rng(5).random(6),
        np.array([[0, 0], [0, 1], [1, 1], [1, 2], [0, 3], [1, 3]]),
        rng(6).random((6, 2)),
    ),
    (0, 1, 2),
)
def ba_objective(cams, X, w, obs, feats):
    p = obs.shape[0]
    reproj_err = np.zeros((p, 2))
    for i in range(p):
        reproj_err[i] = w[i] * (project(cams[obs[i, 0]], X[obs[i, 1]]) - feats[i])
    w_err = 1.0 - np.square(w)
    return 0.5 * (np.sum(reproj_err**2) + np.sum(w_err**2))


# brachistochrone: JAX style, points of the curve and the time by conservation of energy
@prog("brachistochrone", lambda: (np.linspace(-0.1, -0.9, 9) - 0.05,))
def brachistochrone(y_inner):
    y = np.concatenate(([0.0], y_inner, [-1.0]))
    x = np.linspace(0.0, 1.0, y.size)
    dx, dy = np.diff(x), np.diff(y)
    v = np.sqrt(2 * 9.81 * np.maximum(-y, 1e-12))
    ds = np.hypot(dx, dy)
    return (2 * ds / (v[1:] + v[:-1])).sum()


# Speelpenning, and Helmholtz free energy as in Griewank
@prog("Griewank", lambda: (np.array([0.11, 0.25, 0.08, 0.3]), np.array([0.2, 0.4, 0.1, 0.3])), (0, 1))
def helmholtz(x, b):
    n = len(x)
    A = np.fromfunction(lambda i, j: 1.0 / (i + j + 1), (n, n))
    bx = b @ x
    speel = reduce(lambda acc, xi: acc * (1 + xi), x, 1.0)
    energy = 0.0826 * 300 * sum(xi * math.log(xi / (1 - bx)) for xi in x)
    quad = x @ A @ x / (math.sqrt(8) * bx)
    return energy - quad * math.log((1 + (1 + math.sqrt(2)) * bx) / (1 + (1 - math.sqrt(2)) * bx)) + speel


# geodesy: UTM forward by Krueger series, dataclass ellipsoid with properties
@dataclass(frozen=True)
class Ellipsoid:
    a: float = 6378137.0
    f: float = 1 / 298.257223563

    @property
    def n(self) -> float:
        return self.f / (2 - self.f)

    @property
    def A(self) -> float:
        return self.a / (1 + self.n) * (1 + self.n**2 / 4 + self.n**4 / 64)

    @classmethod
    def grs80(cls) -> "Ellipsoid":
        return cls(f=1 / 298.257222101)


@prog("geodesy", lambda: (np.radians([47.3, 8.5]), math.radians(9.0)), (0, 1))
def utm_forward(latlon, lon0, *, k0: float = 0.9996, E0=500e3, ell: Optional[Ellipsoid] = None):
    ell = ell or Ellipsoid.grs80()
    lat, lon = latlon
    n = ell.n
    alpha = [n / 2 - 2 * n**2 / 3 + 5 * n**3 / 16, 13 * n**2 / 48 - 3 * n**3 / 5, 61 * n**3 / 240]
    c = 2 * math.sqrt(n) / (1 + n)
    t = math.sinh(math.atanh(math.sin(lat)) - c * math.atanh(c * math.sin(lat)))
    xi = math.atan2(t, math.cos(lon - lon0))
    eta = math.atanh(math.sin(lon - lon0) / math.hypot(1, t))
    east = eta + sum(a * math.cos(2 * j * xi) * math.sinh(2 * j * eta) for j, a in enumerate(alpha, start=1))
    north = xi + sum(a * math.sin(2 * j * xi) * math.cosh(2 * j * eta) for j, a in enumerate(alpha, 1))
    E, N = E0 + k0 * ell.A * east, k0 * ell.A * north
    return E / 1e6 + N / 1e7


# neuroscience: Hodgkin-Huxley with gates in a dict of rate-function pairs and a stimulus generator
def vtrap(x, y):
    return y * (1 - x / y / 2) if abs(x / y) < 1e-6 else x / (math.exp(x / y) - 1)


RATES = {
    "m": (lambda v: 0.1 * vtrap(-(v + 40), 10), lambda v: 4 * math.exp(-(v + 65) / 18)),
    "h": (lambda v: 0.07 * math.exp(-(v + 65) / 20), lambda v: 1 / (math.exp(-(v + 35) / 10) + 1)),
    "n": (lambda v: 0.01 * vtrap(-(v + 55), 10), lambda v: 0.125 * math.exp(-(v + 65) / 80)),
}


def pulses(amp, n, on=5, off=35):
    for k in range(n):
        yield amp if on <= k < off else 0.0


@prog("neuroscience", lambda: ({"gna": 120.0, "gk": 36.0, "gl": 0.3}, 15.0), (0, 1))
def hodgkin_huxley(g, amp):
    v = -65.0
    gates = {k: a(v) / (a(v) + b(v)) for k, (a, b) in RATES.items()}
    trace = []
    dt = 0.05
    for I in pulses(amp, 80):
        m, h, n = (gates[k] for k in "mhn")
        ina = g["gna"] * m**3 * h * (v - 50)
        ik = g["gk"] * n**4 * (v + 77)
        il = g["gl"] * (v + 54.387)
        v += dt * (I - ina - ik - il)
        for key, (alpha, beta) in RATES.items():
            gates[key] += dt * (alpha(v) * (1 - gates[key]) - beta(v) * gates[key])
        trace.append(v)
    return np.mean(np.exp(np.array(trace) / 40))


# chemistry: Hartree-Fock H2 in STO-3G, with ERI by symmetric loops and DIIS left out
def boys(t):
    if t < 1e-8:
        return 1.0 - t / 3
    return 0.5 * math.sqrt(math.pi / t) * math.erf(math.sqrt(t))


@prog("quantum chemistry", lambda: (np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.4]]), 1.24), (0, 1))
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


# epidemiology: age-structured SEIR, namedtuple state, solve_ivp, contact matrix
class SEIR(NamedTuple):
    S: np.ndarray
    E: np.ndarray
    I: np.ndarray
    R: np.ndarray

    def total(self):
        return self.S + self.E + self.I + self.R


@prog("epidemiology", lambda: (np.array([[2.0, 0.5], [0.5, 1.0]]), 0.3, 0.2), (0, 1, 2))
def age_seir(contact, sigma, gamma, days=30):
    state = SEIR(S=np.array([990.0, 1990]), E=np.zeros(2), I=np.array([10.0, 10]), R=np.zeros(2))
    peak = 0.0
    for day in range(days):
        N = state.total()
        lam = 0.25 * contact @ (state.I / N)
        new_e = state.S * -np.expm1(-lam)
        new_i = state.E * -np.expm1(-sigma)
        new_r = state.I * (1 - np.exp(-gamma))
        state = state._replace(
            S=state.S - new_e, E=state.E + new_e - new_i, I=state.I + new_i - new_r, R=state.R + new_r
        )
        peak = max(peak, state.I.sum())
    return peak + state.R[1]


# astrodynamics: Lambert by universal variables with Stumpff functions and Newton, try/except around it
def stumpff(psi):
    if psi > 1e-6:
        s = np.sqrt(psi)
        return (1 - np.cos(s)) / psi, (s - np.sin(s)) / s**3
    elif psi < -1e-6:
        s = np.sqrt(-psi)
        return (1 - np.cosh(s)) / psi, (np.sinh(s) - s) / s**3
    return 1 / 2 - psi / 24, 1 / 6 - psi / 120


class ConvergenceError(RuntimeError):
    pass


def lambert(r1, r2, tof, mu=1.0, *, prograde=True, maxiter=200, tol=1e-4):
    n1, n2 = np.linalg.norm(r1), np.linalg.norm(r2)
    cosd = np.dot(r1, r2) / (n1 * n2)
    tm = 1 if prograde else -1
    A = tm * np.sqrt(n1 * n2 * (1 + cosd))
    if A == 0:
        raise ConvergenceError(f"orbit cannot be computed, {A = }")

    def flight(psi):
        c2, c3 = stumpff(psi)
        y = n1 + n2 + A * (psi * c3 - 1) / np.sqrt(c2)
        chi = np.sqrt(y / c2)
        return (chi**3 * c3 + A * np.sqrt(y)) / np.sqrt(mu), y

    psi, lo, up = 0.0, -4 * np.pi, 4 * np.pi**2
    for _ in range(maxiter):
        dt, y = flight(psi)
        if abs(dt - tof) < tol:
            break
        if dt <= tof:
            lo = psi
        else:
            up = psi
        psi = (lo + up) / 2
    else:
        raise ConvergenceError("no convergence")
    for _ in range(4):
        slope = (flight(psi + 1e-4)[0] - flight(psi - 1e-4)[0]) / 2e-4
        psi -= (flight(psi)[0] - tof) / slope
    _, y = flight(psi)
    f, g, gdot = 1 - y / n1, A * np.sqrt(y / mu), 1 - y / n2
    return (r2 - f * r1) / g, (gdot * r2 - r1) / g


# rheology: spectrum of relaxation, complex moduli, nonneg by softplus
@prog("rheology", lambda: (np.array([1.0, 0.2, -0.5]), np.logspace(-2, 2, 9)), (0,))
def moduli(logG, omega):
    tau = np.geomspace(0.01, 10, num=logG.size)
    G = np.logaddexp(0, logG)
    Gstar = np.sum(G * (1j * omega[:, None] * tau) / (1 + 1j * omega[:, None] * tau), axis=-1)
    Gp, Gpp = Gstar.real, Gstar.imag
    tan_delta = np.divide(Gpp, Gp, out=np.zeros_like(Gp), where=Gp > 1e-12)
    eta = np.abs(Gstar) / omega
    return np.trapezoid(tan_delta, np.log(omega)) + np.log(eta).mean() + np.angle(Gstar).max()


# structural engineering: truss by direct stiffness, np.ix_, elements as list of tuples, reactions
@prog(
    "structures",
    lambda: (np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.5], [3.0, 1.4]]), np.array([1.0, 1.2, 0.8, 1.5, 1.1])),
    (0, 1),
)
def truss(nodes, area):
    elems = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    ndof = 2 * len(nodes)
    K = np.zeros((ndof, ndof))
    for A, (i, j) in zip(area, elems):
        d = nodes[j] - nodes[i]
        L = np.linalg.norm(d)
        c, s = d / L
        T = np.array([[c, s, 0, 0], [0, 0, c, s]])
        k = 200.0 * A / L * np.array([[1, -1], [-1, 1]])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += T.T @ k @ T
    fixed = [0, 1, 3]
    free = np.setdiff1d(np.arange(ndof), fixed)
    F = np.zeros(ndof)
    F[[5, 7]] = -1.0, -2.0
    u = np.zeros(ndof)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], F[free])
    reactions = K[fixed] @ u
    stress = []
    for i, j in elems:
        d = nodes[j] - nodes[i]
        stress.append(200 * d @ (u[2 * j : 2 * j + 2] - u[2 * i : 2 * i + 2]) / (d @ d))
    return F @ u + np.max(np.abs(stress)) + reactions[2]


# PDE constrained optimisation: Poisson with control, sparse LU
@prog("pde control", lambda: (np.sin(np.arange(9.0)), 1e-3), (0, 1))
def pde_control(u, beta):
    n = u.size
    h = 1.0 / (n + 1)
    kappa = 1.0 + 0.1 * u**2
    main = (np.r_[kappa, kappa[-1]][:-1] + np.r_[kappa[0], kappa][:-1]) / h**2
    off = -kappa[:-1] / h**2
    A = sparse.diags([off, main, off], [-1, 0, 1], format="csc")
    y = sparse.linalg.spsolve(A, u)
    x = np.arange(1, n + 1) * h
    target = x * (1 - x)
    return 0.5 * h * np.sum((y - target) ** 2) + 0.5 * beta * h * np.sum(u**2)


# neural ODE: RK4 with parameters in nested dicts
def mlp(params, x, act=np.tanh):
    *hidden, last = params
    for layer in hidden:
        x = act(layer["w"] @ x + layer["b"])
    return last["w"] @ x + last["b"]


def odeint_rk4(f, y0, ts, args=()):
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        h, y = t1 - t0, ys[-1]
        k1 = f(y, t0, *args)
        k2 = f(y + h / 2 * k1, t0 + h / 2, *args)
        k3 = f(y + h / 2 * k2, t0 + h / 2, *args)
        k4 = f(y + h * k3, t1, *args)
        ys.append(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.stack(ys)


def init_mlp(seed, *sizes):
    r = rng(seed)
    return [{"w": r.normal(size=(m, n)) / np.sqrt(n), "b": np.zeros(m) + 0.1} for n, m in zip(sizes, sizes[1:])]


@prog("neural ode", lambda: (init_mlp(7, 3, 5, 2), np.linspace(0, 1, 6)), (0, 1))
def neural_ode(params, ts):
    def dynamics(y, t, params):
        return mlp(params, np.append(y, t))

    true = np.stack([np.cos(ts), np.sin(ts)], axis=1)
    pred = odeint_rk4(dynamics, np.array([1.0, 0.0]), ts, args=(params,))
    return np.mean(np.abs(pred - true) ** 2)


# RBC: value of a real business cycle model by iteration on a grid
@prog("economics", lambda: (0.36, 0.95, 0.05), (0, 1, 2))
def rbc(alpha, beta, rho_shock):
    z = np.array([1 - rho_shock, 1 + rho_shock])
    Pi = np.array([[0.9, 0.1], [0.1, 0.9]])
    kss = (alpha * beta) ** (1 / (1 - alpha))
    k = np.linspace(0.7, 1.3, 12) * kss
    y = z[:, np.newaxis] * k**alpha
    V = np.zeros((2, 12))
    diff = 10.0
    n_iter = 0
    while diff > 1e-12 and n_iter < 40:
        EV = Pi @ V
        TV = np.empty_like(V)
        for iz in range(2):
            kp0 = 0
            for ik in range(12):
                best = -np.inf
                for ikp in range(kp0, 12):
                    c = y[iz, ik] - k[ikp]
                    if c <= 0:
                        break
                    val = (1 - beta) * np.log(c) + beta * EV[iz, ikp]
                    if val > best:
                        best = val
                        kp0 = ikp
                    else:
                        break
                TV[iz, ik] = best
        diff = np.abs(TV - V).max()
        V = TV
        n_iter += 1
    return V.mean()


# the Lambert program
@prog("astrodynamics", lambda: (np.array([1.0, 0.1, 0.0]), np.array([-0.2, 1.3, 0.1])), (0, 1))
def transfer_dv(r1, r2):
    try:
        v1, v2 = lambert(r1, r2, 1.7)
    except ConvergenceError:
        return 100.0
    circ = np.array([0.0, 1.0, 0.0])
    return np.linalg.norm(v1 - circ) + np.linalg.norm(v2)
