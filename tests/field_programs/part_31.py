import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from enum import Enum
from functools import lru_cache
from typing import List, Tuple

import numpy as np
import scipy.linalg as sla
from scipy import integrate, special, stats

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# wind energy: blade element momentum, abstract airfoil classes, induction iteration
class Airfoil(ABC):
    @abstractmethod
    def cl(self, alpha): ...

    @abstractmethod
    def cd(self, alpha): ...

    def forces(self, alpha, phi):
        cl, cd = self.cl(alpha), self.cd(alpha)
        return cl * np.cos(phi) + cd * np.sin(phi), cl * np.sin(phi) - cd * np.cos(phi)


class ThinAirfoil(Airfoil):
    def __init__(self, slope: float = 2 * np.pi, cd0: float = 0.008):
        self.slope, self.cd0 = slope, cd0

    def cl(self, alpha):
        return self.slope * np.sin(alpha) * np.cos(alpha)

    def cd(self, alpha):
        return self.cd0 + 0.1 * alpha**2


class Cylinder(Airfoil):
    def cl(self, alpha):
        return 0.0

    def cd(self, alpha):
        return 1.1


@prog("wind energy", lambda: (np.array([0.35, 0.3, 0.2, 0.12]), np.array([0.3, 0.25, 0.12, 0.05]), 7.0), (0, 1, 2))
def bem_power(chord, twist, tsr, B=3):
    r = np.linspace(0.2, 0.95, len(chord))
    foils: List[Airfoil] = [Cylinder(), ThinAirfoil(), ThinAirfoil(cd0=0.01), ThinAirfoil(5.9)]
    dQ = np.zeros_like(r)
    for i, (ri, c, th) in enumerate(zip(r, chord, twist)):
        sigma = B * c / (2 * np.pi * ri)
        a, ap = 0.3, 0.0
        for it in range(100):
            phi = np.arctan2(1 - a, (1 + ap) * ri * tsr)
            cn, ct = foils[i].forces(phi - th, phi)
            F = 2 / np.pi * np.arccos(np.exp(-B / 2 * (1 - ri) / (ri * np.sin(phi))))
            k = sigma * cn / (4 * F * np.sin(phi) ** 2)
            a_new = k / (1 + k) if k < 2 / 3 else 0.4
            kp = sigma * ct / (4 * F * np.sin(phi) * np.cos(phi))
            ap_new = kp / (1 - kp)
            if max(abs(a_new - a), abs(ap_new - ap)) < 1e-11:
                break
            a, ap = 0.5 * (a + a_new), 0.5 * (ap + ap_new)
        W2 = (1 - a) ** 2 + ((1 + ap) * ri * tsr) ** 2
        dQ[i] = 0.5 * W2 * B * c * ct * ri
    return np.trapezoid(dQ * tsr, r)


# glaciology: shallow ice with masked flux, boundaries by slicing, np.errstate
@prog("glaciology", lambda: (np.maximum(0, 1 - np.linspace(-1.1, 1.1, 21) ** 2) + 0.01, 0.3), (0, 1))
def ice_sheet(H, A):
    b = 0.05 * np.cos(np.linspace(0, 6, H.size))
    x = np.linspace(-1, 1, H.size)
    dx = x[1] - x[0]
    acc = np.where(np.abs(x) < 0.6, 0.2, -0.4)
    t, dt = 0.0, 0.0
    H = H.copy()
    steps = 0
    while t < 0.05 and steps < 200:
        s = b + H
        Hs = 0.5 * (H[1:] + H[:-1])
        grad = np.diff(s) / dx
        D = A * Hs**5 * np.abs(grad) ** 2
        with np.errstate(divide="ignore"):
            dt = min(0.1 * dx**2 / (D.max() + 1e-10), 0.005)
        q = -D * grad
        H[1:-1] += dt * (acc[1:-1] - np.diff(q) / dx)
        H[H < 0] = 0
        t += dt
        steps += 1
    return np.sum(H) * dx


# genetics: pedigree peeling by recursion over dict of parents with lru_cache kinship
@prog("genetics", lambda: (0.3, np.array([0.02, 0.4, 0.85])), (0, 1))
def pedigree(q, pen):
    parents = {"a": None, "b": None, "c": ("a", "b"), "d": None, "e": ("c", "d"), "f": ("c", "d")}
    affected = {"a": True, "b": False, "e": True, "f": False}

    @lru_cache(maxsize=None)
    def kinship(i, j):
        if i == j:
            return 0.5 * (1 + (kinship(*parents[i]) if parents[i] else 0))
        if i < j:
            i, j = j, i
        return 0.5 * sum(kinship(p, j) for p in parents[i]) if parents[i] else 0.0

    hw = [(1 - q) ** 2, 2 * q * (1 - q), q**2]
    tr = lambda g, gf, gm: {
        0: (1 - gf / 2) * (1 - gm / 2),
        1: gf / 2 * (1 - gm / 2) + gm / 2 * (1 - gf / 2),
        2: gf * gm / 4,
    }[g]
    people = list(parents)
    total = 0.0
    for genos in itertools.product(range(3), repeat=len(people)):
        g = dict(zip(people, genos))
        pr = 1.0
        for who in people:
            pr *= hw[g[who]] if parents[who] is None else tr(g[who], g[parents[who][0]], g[parents[who][1]])
            if who in affected:
                pr *= pen[g[who]] if affected[who] else 1 - pen[g[who]]
        total += pr
    return math.log(total) + kinship("e", "f") * q


# remote sensing: radiative transfer, look-up table by RegularGridInterpolator-like bilinear, searchsorted
@prog("remote sensing", lambda: (np.array([0.12, 0.35, 0.22]), rng(0).random((4, 5)) + 0.5), (0, 1))
def lut_reflectance(aot, lut):
    grid_a = np.array([0.0, 0.1, 0.3, 0.6])
    grid_z = np.array([0, 15, 30, 45, 60.0])
    sza = np.array([22.0, 31.0, 50.0])
    ia = np.clip(np.searchsorted(grid_a, aot, side="right") - 1, 0, grid_a.size - 2)
    iz = np.clip(np.digitize(sza, grid_z) - 1, 0, grid_z.size - 2)
    u = (aot - grid_a[ia]) / (grid_a[ia + 1] - grid_a[ia])
    v = (sza - grid_z[iz]) / np.diff(grid_z)[iz]
    corners = [
        ((1 - u) if da == 0 else u) * ((1 - v) if dz == 0 else v) * lut[ia + da, iz + dz]
        for da in (0, 1)
        for dz in (0, 1)
    ]
    rho = sum(corners)
    toa = 0.3 * rho / (1 - 0.1 * rho)
    return np.log(toa).sum()


# signal processing: Kalman filter/RTS smoother class with optional control
class KalmanFilter:
    def __init__(self, F, H, Q, R, x0=None, P0=None):
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.n = F.shape[0]
        self.x = np.zeros((self.n, 1)) if x0 is None else x0
        self.P = np.eye(self.n) if P0 is None else P0
        self.history: List[Tuple[np.ndarray, np.ndarray]] = []
        self.loglik = 0

    def predict(self, u=0, B=None):
        self.x = self.F @ self.x
        if B is not None:
            self.x = self.x + B * u
        self.P = np.linalg.multi_dot([self.F, self.P, self.F.T]) + self.Q
        return self

    def update(self, z):
        y = z - self.H @ self.x
        S = self.R + self.H @ self.P @ self.H.T
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ y
        I = np.eye(self.n)
        self.P = (I - K @ self.H) @ self.P @ (I - K @ self.H).T + K @ self.R @ K.T
        self.history.append((self.x, self.P))
        self.loglik += -0.5 * (y.T @ np.linalg.inv(S) @ y).item() - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
        return self


@prog("tracking", lambda: (0.3, 0.5, np.array([0.1, 0.4, 0.7, 1.3, np.nan, 2.2, 2.4])), (0, 1))
def tracking(q, r, zs, dt=1.0):
    F = np.array([[1, dt], [0, 1]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    kf = KalmanFilter(F=F, H=np.array([[1.0, 0.0]]), Q=Q, R=np.array([[r**2]]))
    for z in zs:
        kf.predict()
        if not np.isnan(z):
            kf.update(z)
    xs, Ps = kf.history[-1]
    for x, P in reversed(kf.history[:-1]):
        Pp = F @ P @ F.T + Q
        G = np.linalg.solve(Pp, F @ P).T
        xs = x + G @ (xs - F @ x)
        Ps = P + G @ (Ps - Pp) @ G.T
    return kf.loglik + float(xs[0, 0]) + np.trace(Ps)


# materials: phase-field Cahn-Hilliard with roll, energy; Embedded-atom with neighbour lists in dict of lists
def laplacian(u, dx=1.0):
    return (sum(np.roll(u, s, axis=a) for s in (1, -1) for a in (0, 1)) - 4 * u) / dx**2


@prog("materials", lambda: (0.1 * rng(1).normal(size=(8, 8)), 0.5), (0, 1))
def cahn_hilliard(c, kappa, *, M=0.05, nsteps=10):
    df = lambda c: c**3 - c
    for _ in range(nsteps):
        mu = df(c) - kappa * laplacian(c)
        c = c + M * laplacian(mu)
    gy, gx = np.gradient(c)
    return (0.25 * (c**2 - 1) ** 2 + 0.5 * kappa * (gx**2 + gy**2)).sum()


# quantum optics: Lindblad master equation with kron operators, RK4 on complex density
def destroy(n):
    return np.diag(np.sqrt(np.arange(1, n)), k=1).astype(complex)


@prog("quantum optics", lambda: (1.0, 0.3, 0.2), (0, 1, 2))
def jaynes_cummings(g, kappa, gamma, N=3, steps=20, dt=0.1):
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


# finance: Heston by characteristic function, Black-Scholes implied vol by Newton, option enum
class Kind(Enum):
    CALL = 1
    PUT = -1


def bs_price(S, K, T, r, sigma, kind=Kind.CALL):
    d1 = (np.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    w = kind.value
    return w * (S * stats.norm.cdf(w * d1) - K * np.exp(-r * T) * stats.norm.cdf(w * d2))


def implied_vol(price, S, K, T, r, kind):
    sigma = 0.3
    for _ in range(50):
        d1 = (np.log(S / K) + (r + sigma**2 / 2) * T) / (sigma * np.sqrt(T))
        vega = S * stats.norm.pdf(d1) * np.sqrt(T)
        if (step := (bs_price(S, K, T, r, sigma, kind) - price) / vega) ** 2 < 1e-24:
            break
        sigma -= step
    return sigma


@prog("finance", lambda: ({"kappa": 1.5, "theta": 0.04, "xi": 0.5, "rho": -0.7, "v0": 0.05}, 100.0), (0, 1))
def heston_smile(params, S0):
    kappa, theta, xi, rho, v0 = params.values()
    r, T = 0.02, 0.75

    def phi(u):
        d = np.sqrt((rho * xi * 1j * u - kappa) ** 2 + xi**2 * (1j * u + u**2))
        g = (kappa - rho * xi * 1j * u - d) / (kappa - rho * xi * 1j * u + d)
        e = np.exp(-d * T)
        C = r * 1j * u * T + kappa * theta / xi**2 * (
            (kappa - rho * xi * 1j * u - d) * T - 2 * np.log((1 - g * e) / (1 - g))
        )
        D = (kappa - rho * xi * 1j * u - d) / xi**2 * (1 - e) / (1 - g * e)
        return np.exp(C + D * v0 + 1j * u * np.log(S0))

    nodes, weights = np.polynomial.legendre.leggauss(32)
    u = 25 * (nodes + 1)
    w = 25 * weights
    vols = []
    for K, kind in zip((90.0, 100.0, 112.0), itertools.cycle([Kind.PUT, Kind.CALL])):
        P1 = 0.5 + np.sum(w * (np.exp(-1j * u * np.log(K)) * phi(u - 1j) / (1j * u * phi(-1j))).real) / np.pi
        P2 = 0.5 + np.sum(w * (np.exp(-1j * u * np.log(K)) * phi(u) / (1j * u)).real) / np.pi
        price = S0 * P1 - K * np.exp(-r * T) * P2
        if kind is Kind.PUT:
            price = price - S0 + K * np.exp(-r * T)
        vols.append(implied_vol(price, S0, K, T, r, kind))
    return 100 * (vols[0] - vols[-1]) + np.mean(vols)


# oceanography: TEOS-like polynomial density and brunt-vaisala with polyval
@prog("oceanography", lambda: (np.array([18.0, 15.0, 9.0, 5.0, 3.5]), np.array([36.0, 35.8, 35.1, 34.8, 34.7])), (0, 1))
def stratification(T, S):
    z = np.array([0, -50, -200, -500, -1000.0])
    rho0 = np.polyval([6.536332e-9, -1.120083e-6, 1.001685e-4, -9.09529e-3, 6.793952e-2, 999.842594], T)
    A = np.polyval([5.3875e-9, -8.2467e-7, 7.6438e-5, -4.0899e-3, 8.24493e-1], T)
    B = np.polynomial.polynomial.polyval(T, [-5.72466e-3, 1.0227e-4, -1.6546e-6])
    rho = rho0 + A * S + B * S**1.5 + 4.8314e-4 * S**2
    N2 = -9.81 / 1025 * np.gradient(rho, z)
    N = np.sqrt(np.clip(N2, 1e-8, None))
    mixed = z[np.argmax(rho > rho[0] + 0.3)]
    c1 = -np.trapezoid(N, z) / np.pi
    return c1 + 0.001 * mixed * rho[2] / 1000


# sports: Elo / Bradley Terry with defaultdict and Counter
@prog("sports", lambda: (dict(ana=0.3, bea=-0.1, cyd=0.2), 0.4), (0, 1))
def ratings(start, k):
    games = [("ana", "bea", 1), ("bea", "cyd", 0), ("cyd", "ana", 1), ("ana", "bea", 0), ("bea", "cyd", 1)]
    elo = defaultdict(float, start)
    played = Counter()
    ll = 0.0
    for home, away, won in games:
        p = special.expit(elo[home] - elo[away] + 0.05)
        ll += special.xlogy(won, p) + special.xlog1py(1 - won, -p)
        eff = k / (1 + 0.1 * played[home])
        elo[home] += eff * (won - p)
        elo[away] -= eff * (won - p)
        played.update([home, away])
    top = sorted(elo.items(), key=lambda kv: kv[1], reverse=True)
    return ll + 0.1 * top[0][1] - 0.2 * elo["cyd"] + max(elo.values())


# robotics: DH forward kinematics, Jacobian by cross product, manipulability, structured array of joints
@prog("robotics", lambda: (np.array([0.1, -0.7, 1.2, 0.3, 0.8, -0.2]),))
def manipulability(q):
    dh = np.array(
        [
            (0, 0.089, np.pi / 2),
            (-0.425, 0, 0),
            (-0.392, 0, 0),
            (0, 0.109, np.pi / 2),
            (0, 0.095, -np.pi / 2),
            (0, 0.082, 0),
        ],
        dtype=[("a", "f8"), ("d", "f8"), ("alpha", "f8")],
    )
    T = np.eye(4)
    frames = [T]
    for th, joint in zip(q, dh):
        ct, st, ca, sa = np.cos(th), np.sin(th), np.cos(joint["alpha"]), np.sin(joint["alpha"])
        A = np.array(
            [
                [ct, -st * ca, st * sa, joint["a"] * ct],
                [st, ct * ca, -ct * sa, joint["a"] * st],
                [0, sa, ca, joint["d"]],
                [0, 0, 0, 1],
            ]
        )
        T = T @ A
        frames.append(T)
    p_end = T[:3, 3]
    J = np.vstack(
        [
            np.array([np.cross(F[:3, 2], p_end - F[:3, 3]) for F in frames[:-1]]).T,
            np.array([F[:3, 2] for F in frames[:-1]]).T,
        ]
    )
    return np.sqrt(np.linalg.det(J @ J.T)) + np.linalg.norm(p_end) + np.arccos((np.trace(T[:3, :3]) - 1) / 2)


# climate: two-box energy balance with forcing callable, singledispatch-ish, odeint
@prog("climate", lambda: (np.array([1.1, 0.7, 8.0, 100.0]), np.linspace(0, 3.7, 50)), (0, 1))
def two_box(theta, forcing):
    lam, gamma, C, Cd = theta
    years = np.arange(forcing.size)

    def rhs(state, t):
        T, Td = state
        F = np.interp(t, years, forcing)
        return np.array([(F - lam * T - gamma * (T - Td)) / C, gamma * (T - Td) / Cd])

    state = np.zeros(2)
    out = np.empty((forcing.size, 2))
    for n, t in enumerate(years):
        out[n] = state
        mid = state + 0.5 * rhs(state, t)
        state = state + rhs(mid, t + 0.5)
    anomalies = out[:, 0] - out[:10, 0].mean()
    smooth = np.convolve(anomalies, np.ones(5) / 5, mode="valid")
    return smooth[-1] + np.ptp(out[:, 1]) + np.percentile(anomalies, 60)


# linguistics: HMM part of speech Viterbi and forward with word dict; edit distance with learned costs
@prog("linguistics", lambda: (np.array([1.0, 0.9, 1.3, 0.4]), "kitten", "sitting"))
def edit_cost(c, source, target):
    ins, dele, sub, vowel = c
    vowels = set("aeiou")

    def cost(a, b):
        if a == b:
            return 0.0
        return vowel if a in vowels and b in vowels else sub

    soft = lambda *xs: -special.logsumexp([-5 * x for x in xs]) / 5
    m, n = len(source), len(target)
    D = [[0.0] * (n + 1) for _ in range(m + 1)]
    for i in range(1, m + 1):
        D[i][0] = D[i - 1][0] + dele
    for j in range(1, n + 1):
        D[0][j] = D[0][j - 1] + ins
    for i, a in enumerate(source, 1):
        for j, b in enumerate(target, 1):
            D[i][j] = soft(D[i - 1][j] + dele, D[i][j - 1] + ins, D[i - 1][j - 1] + cost(a, b))
    return D[-1][-1]


# LSTM as in ADBench
def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_model(weight, bias, hidden, cell, _input):
    gates = np.concatenate((_input * weight[0:1].ravel(), hidden * weight[1:2].ravel())).reshape(2, 4, -1).sum(0) + bias
    forget, ingate, outgate = map(sigmoid, gates[:3])
    change = np.tanh(gates[3])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


@prog(
    "ADBench lstm",
    lambda: (rng(11).normal(size=(4, 12)) * 0.3, rng(12).normal(size=(2, 4, 3)) * 0.1, rng(13).random((5, 3))),
    (0, 1, 2),
)
def lstm_objective(main_params, state, sequence):
    s = state.copy()
    weights = main_params.reshape(2, 2, 12)
    total, count = 0.0, 0
    h, c = [s[l, 0] for l in range(2)], [s[l, 1] for l in range(2)]
    for t in range(len(sequence) - 1):
        x = sequence[t]
        for l in range(2):
            W = np.stack([np.tile(x, 4) * weights[l, 0], np.tile(h[l], 4) * weights[l, 1]])
            gates = W.sum(axis=0).reshape(4, 3)
            f, i, o = (sigmoid(g) for g in gates[:3])
            c[l] = f * c[l] + i * np.tanh(gates[-1])
            h[l] = o * np.tanh(c[l])
            x = h[l]
        ynorm = x - np.log(np.sum(np.exp(x), axis=0) + 2)
        total += (sequence[t + 1] * ynorm).sum()
        count += x.shape[0]
    return -total / count


# nuclear engineering: point kinetics with expm and six delayed groups, block matrix
@prog(
    "nuclear",
    lambda: (0.003, np.array([0.00021, 0.0014, 0.0013, 0.0026]), np.array([0.0124, 0.0305, 0.111, 0.301])),
    (0, 1, 2),
)
def point_kinetics(rho, beta, lam, Lam=1e-3):
    n = beta.size
    A = np.block([[np.array([[(rho - beta.sum()) / Lam]]), lam[None, :]], [beta[:, None] / Lam, -np.diag(lam)]])
    c0 = beta / (lam * Lam)
    y = np.concatenate(([1.0], c0))
    P = sla.expm(A * 0.5)
    power = [y[0]]
    for _ in range(4):
        y = P @ y
        power.append(y[0])
    w = np.roots([1.0, 2.0, 3.0])
    return np.log(power[-1]) + integrate.simpson(power, dx=0.5)
