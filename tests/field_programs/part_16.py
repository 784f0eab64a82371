import itertools
import math

import numpy as np
from scipy import special

from tests.field_programs import collection

PROGRAMS, prog = collection()


# robotics: dual quaternion-like class with operators
class Quat:
    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    @classmethod
    def from_axis_angle(cls, axis, angle):
        a = np.asarray(axis, dtype=float)
        a = a / np.linalg.norm(a)
        s = np.sin(angle / 2)
        return cls(np.cos(angle / 2), *(s * a))

    def __mul__(self, o):
        return Quat(
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
            self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
        )

    def conj(self):
        return Quat(self.w, -self.x, -self.y, -self.z)

    def __abs__(self):
        return math.sqrt(self.w**2 + self.x**2 + self.y**2 + self.z**2)

    def rotate(self, v):
        q = self * Quat(0.0, *v) * self.conj()
        return np.array([q.x, q.y, q.z])

    @property
    def angle(self):
        return 2 * math.atan2(math.sqrt(self.x**2 + self.y**2 + self.z**2), self.w)


@prog("robotics", lambda: (np.array([0.3, -0.2, 0.9]), np.array([1.0, 0.5, -0.3])), (0, 1))
def quat_chain(angles, v):
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    q = Quat(1.0, 0.0, 0.0, 0.0)
    for ax, th in zip(axes, angles):
        q = q * Quat.from_axis_angle(ax, th)
    p = q.rotate(v)
    assert len(p) == 3, f"bad length {len(p)}"
    return p[0] + 2 * p[1] - p[2] ** 2 + q.angle * abs(q)


# hydrology: bucket model with generator of steps, for/else
def bucket(precip, pet, cap, k):
    storage = 0.5 * cap
    for p, e in zip(precip, pet):
        storage += p
        excess = max(storage - cap, 0.0)
        storage -= excess
        et = min(e * storage / cap, storage)
        storage -= et
        q = k * storage
        storage -= q
        yield q + excess


@prog("hydrology", lambda: (60.0, 0.12, np.abs(np.random.default_rng(0).normal(5, 8, 40))), (0, 1, 2))
def bucket_nse(cap, k, precip):
    pet = 2.0 + np.sin(np.arange(precip.size) / 6)
    sim = np.array([q for q in bucket(precip, pet, cap, k)])
    obs = np.linspace(1, 4, precip.size)
    return 1 - ((sim - obs) ** 2).sum() / ((obs - obs.mean()) ** 2).sum()


# finance: Longstaff-Schwartz with polynomials
@prog("finance", lambda: (100.0, 0.2, 0.05, 98.0), (0, 1, 2))
def american_put_lsm(
    s0: float, sigma: float, r: float, strike: float = 100.0, *, n_paths: int = 64, n_steps: int = 6
) -> float:
    rng = np.random.default_rng(0)
    dt = 1.0 / n_steps
    z = rng.standard_normal((n_paths, n_steps))
    log_s = np.cumsum((r - 0.5 * sigma**2) * dt + sigma * math.sqrt(dt) * z, axis=1)
    s = s0 * np.exp(log_s)
    cash = np.maximum(strike - s[:, -1], 0)
    for t in range(n_steps - 2, -1, -1):
        cash *= math.exp(-r * dt)
        itm = s[:, t] < strike
        if itm.sum() < 4:
            continue
        X = np.vander(s[itm, t] / strike, 3)
        beta, *_ = np.linalg.lstsq(X, cash[itm], rcond=None)
        cont = X @ beta
        exercise = strike - s[itm, t]
        ex = exercise > cont
        idx = np.where(itm)[0][ex]
        cash[idx] = exercise[ex]
    return float(np.mean(cash) * math.exp(-r * dt))


# epidemiology: SEIR with dictionary of compartments & interventions
@prog(
    "epidemiology",
    lambda: ({"beta": 0.4, "sigma": 0.2, "gamma": 0.1, "mu": 0.01}, np.array([0.99, 0.0, 0.01, 0.0])),
    (0, 1),
)
def seir_lockdown(params, init):
    names = ["S", "E", "I", "R"]
    state = dict(zip(names, init))
    peak = 0.0
    deaths = 0.0
    dt: float = 0.5
    for day in range(100):
        beta = params["beta"]
        if 20 <= day < 40:
            beta *= 0.3
        elif day >= 40 and state["I"] > 0.05:
            beta = beta * 0.6
        new_inf = beta * state["S"] * state["I"]
        flows = {
            "S": -new_inf,
            "E": new_inf - params["sigma"] * state["E"],
            "I": params["sigma"] * state["E"] - (params["gamma"] + params["mu"]) * state["I"],
            "R": params["gamma"] * state["I"],
        }
        deaths += dt * params["mu"] * state["I"]
        state = {k: v + dt * flows[k] for k, v in state.items()}
        peak = max(peak, state["I"])
    return peak + 10 * deaths + sum(state.values())


# chemistry: LJ cluster with combinations and Gupta; nested functions
@prog("chemistry", lambda: (np.random.default_rng(1).uniform(0, 3, (6, 3)), 0.8, 1.1), (0, 1, 2))
def lj_cluster(pos, eps, sigma):
    def pair(r2):
        s6 = (sigma * sigma / r2) ** 3
        return 4 * eps * (s6 * s6 - s6)

    total = 0
    for i, j in itertools.combinations(range(len(pos)), 2):
        d = pos[i] - pos[j]
        r2 = d @ d
        if r2 > 9.0:
            continue
        total += np.tanh(pair(r2) * 1e-2)
    return total


# signal: goertzel + windows + argmax peak interpolation
@prog("signal", lambda: (np.array([50.3, 120.7]), np.array([1.0, 0.4])), (0, 1))
def peak_estimate(freqs, amps):
    fs = 512.0
    n = 256
    t = np.arange(n) / fs
    x = sum(a * np.sin(2 * np.pi * f * t) for a, f in zip(amps, freqs))
    w = np.hanning(n)
    spec = np.abs(np.fft.rfft(x * w))
    k = np.argmax(spec)
    alpha, beta, gamma = np.log(spec[k - 1 : k + 2])
    delta = 0.5 * (alpha - gamma) / (alpha - 2 * beta + gamma)
    return (k + delta) * fs / n + spec[::-4].mean()


# geodesy: vincenty with while loop and else
@prog("geodesy", lambda: (np.radians([52.0, 13.0]), np.radians([40.7, -74.0])), (0, 1))
def vincenty_iterated(p1, p2, a=6378137.0, f=1 / 298.257223563, tol=1e-12):
    b = (1 - f) * a
    (phi1, lam1), (phi2, lam2) = p1, p2
    U1, U2 = np.arctan((1 - f) * np.tan([phi1, phi2]))
    L = lam2 - lam1
    lam = L
    for _ in range(200):
        sinl, cosl = np.sin(lam), np.cos(lam)
        sins = np.hypot(np.cos(U2) * sinl, np.cos(U1) * np.sin(U2) - np.sin(U1) * np.cos(U2) * cosl)
        if sins == 0:
            return 0.0
        coss = np.sin(U1) * np.sin(U2) + np.cos(U1) * np.cos(U2) * cosl
        sig = np.arctan2(sins, coss)
        sina = np.cos(U1) * np.cos(U2) * sinl / sins
        cos2a = 1 - sina**2
        cos2sm = coss - 2 * np.sin(U1) * np.sin(U2) / cos2a if cos2a != 0 else 0.0
        C = f / 16 * cos2a * (4 + f * (4 - 3 * cos2a))
        lam_prev, lam = lam, L + (1 - C) * f * sina * (sig + C * sins * (cos2sm + C * coss * (-1 + 2 * cos2sm**2)))
        if abs(lam - lam_prev) < tol:
            break
    else:
        raise RuntimeError("did not converge")
    u2 = cos2a * (a**2 - b**2) / b**2
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    ds = B * sins * (cos2sm + B / 4 * (coss * (-1 + 2 * cos2sm**2)))
    return b * A * (sig - ds) * 1e-6


# psychometrics: 2PL IRT with EM quadrature
@prog(
    "psychometrics",
    lambda: (
        np.array([1.0, 0.7, 1.5, 1.2]),
        np.array([-1.0, 0.0, 0.5, 1.0]),
        np.random.default_rng(3).integers(0, 2, (10, 4)),
    ),
    (0, 1),
)
def irt_marginal(a, b, resp):
    nodes, weights = np.polynomial.hermite.hermgauss(15)
    theta = np.sqrt(2) * nodes
    w = weights / np.sqrt(np.pi)
    P = special.expit(a[:, None] * (theta[None, :] - b[:, None]))
    ll = 0.0
    for row in resp:
        like = np.where(row[:, None] == 1, P, 1 - P).prod(axis=0)
        ll += np.log(like @ w)
    return -ll / len(resp)


# ecology: predator-prey, match, string mode
@prog("ecology", lambda: (np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0])), (0, 1))
def foodweb(theta, y0, method="rk2", response="holling2"):
    alpha, beta, delta, gamma = theta

    def rhs(y):
        prey, pred = y
        match response:
            case "linear":
                f = beta * prey
            case "holling2" | "type2":
                f = beta * prey / (1 + 0.1 * prey)
            case _:
                raise ValueError(f"unknown response {response!r}")
        return np.array([alpha * prey - f * pred, delta * f * pred - gamma * pred])

    h = 0.05
    y = y0.astype(float)
    traj = np.empty((60, 2))
    for n in range(60):
        k1 = rhs(y)
        if method == "euler":
            y = y + h * k1
        elif method == "rk2":
            y = y + h * rhs(y + h / 2 * k1)
        traj[n] = y
    return np.log(traj).mean() + traj[-1].min()


# materials: Voce hardening return mapping with Newton loop
@prog("materials", lambda: (70e3, 250.0, 120.0, 15.0, np.linspace(0, 0.02, 25)), (0, 1, 2, 3, 4))
def return_mapping(E, sy, Q, b, strains):
    ep, alpha = 0.0, 0.0
    stress = []
    for eps in strains:
        trial = E * (eps - ep)
        fy = abs(trial) - (sy + Q * (1 - math.exp(-b * alpha)))
        if fy <= 0:
            stress.append(trial)
            continue
        dg = 0.0
        it = 0
        while True:
            res = abs(trial) - E * dg - (sy + Q * (1 - math.exp(-b * (alpha + dg))))
            if abs(res) < 1e-9 or (it := it + 1) > 50:
                break
            dg += res / (E + Q * b * math.exp(-b * (alpha + dg)))
        ep += dg * np.sign(trial)
        alpha += dg
        stress.append(E * (eps - ep))
    s = np.array(stress)
    return np.trapezoid(s, strains) if hasattr(np, "trapezoid") else np.trapz(s, strains)
