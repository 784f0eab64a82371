"""Circuits, fields and power grids."""

import enum
import math
from abc import ABC, abstractmethod
from collections import defaultdict, namedtuple
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.linalg import norm
from scipy import sparse
from scipy.sparse.linalg import spsolve

from tests.field_programs import program


# ---------------------------------------------------------------- mna_gain
@program(
    "electronic circuits: three-node amplifier, nodal analysis at each frequency",
    lambda: (np.array([50.0, 200.0, 4000.0]), np.array([2e-9, 30e-12, 2e-12]), 0.02, np.logspace(4, 7, 6), 25.0),
    wrt=(0, 1, 2),
)
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


# ---------------------------------------------------------------- rlc_bandpass
class Z:
    def __init__(self, val):
        self.val = val

    def __add__(self, other):  # series
        return Z(self.val + other.val)

    def __or__(self, other):  # parallel
        return Z(self.val * other.val / (self.val + other.val))

    def __truediv__(self, other):
        return self.val / other.val


@program(
    "electronics: AC circuit with class of components with operator overloading",
    lambda: (100.0, 1e-3, 1e-6),
    wrt=(0, 1, 2),
)
def rlc_bandpass(R, L, C):
    total = 0.0
    for f in np.logspace(3, 5, 20):
        w = 2 * math.pi * f
        tank = Z(1j * w * L) | Z(1 / (1j * w * C))
        H = tank / (Z(R + 0j) + tank)
        total += 20 * np.log10(np.abs(H)) + 0.1 * np.angle(H)
    return total


# ---------------------------------------------------------------- ac_gain
NETLIST = """
R1 1 2 R
C1 2 0 C
L1 2 3 L
R2 3 0 R
"""


@program(
    "electrical: MNA circuit with netlist of strings, AC sweep complex",
    lambda: ({"R1": 100.0, "C1": 1e-6, "L1": 1e-3, "R2": 50.0},),
)
def ac_gain(values, freqs=(1e3, 5e3, 2e4)):
    gains = []
    for f in freqs:
        w = 2 * np.pi * f
        Y = np.zeros((3, 3), dtype=complex)
        for line in NETLIST.strip().splitlines():
            name, n1, n2, kind = line.split()
            i, j, val = int(n1), int(n2), values[name]
            y = {"R": 1 / val, "C": 1j * w * val, "L": 1 / (1j * w * val)}[kind]
            for a, b, s in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                if a > 0 and b > 0:
                    Y[a - 1, b - 1] += s * y
        Y[0, 0] += 1e6
        I = np.array([1e6, 0, 0], dtype=complex)
        V = np.linalg.solve(Y, I)
        gains.append(20 * np.log10(abs(V[2])))
    return sum(gains)


# ---------------------------------------------------------------- matching_loss
def abcd_line(z0, theta):
    return np.array([[np.cos(theta), 1j * z0 * np.sin(theta)], [1j * np.sin(theta) / z0, np.cos(theta)]])


@program(
    "microwave engineering: mean |Gamma|^2 of a multisection transformer over a relative band",
    lambda: ([55.0, 72.0, 93.0], np.pi / 2, 100 + 8j, np.linspace(0.7, 1.3, 7)),
    wrt=(0, 1),
)
def matching_loss(z_lines, theta0, load, band, z_ref=50.0):
    """Mean |Gamma|^2 of a multisection transformer over a relative band."""
    gammas = []
    for w in band:
        M = reduce(np.matmul, [abcd_line(z, theta0 * w) for z in z_lines])
        zl = load.real + 1j * w * load.imag
        zin = (M[0, 0] * zl + M[0, 1]) / (M[1, 0] * zl + M[1, 1])
        gammas.append((zin - z_ref) / (zin + z_ref))
    return np.mean(np.abs(np.array(gammas)) ** 2)


# ---------------------------------------------------------------- multipole_potential
@program(
    "electro: multipole using Legendre and sph harmonics via loops; scipy eval",
    lambda: (
        np.array([[0.1, 0.2, 0.3], [-0.2, 0.1, -0.1], [0.0, -0.3, 0.2]]),
        np.array([1.0, -2.0, 1.5]),
        np.array([2.0, 1.0, 1.5]),
    ),
    wrt=(0, 1, 2),
)
def multipole_potential(src, q, obs):
    R = norm(obs)
    phi = 0
    for l in range(5):
        ql = 0.0
        for s, qq in zip(src, q):
            rs = norm(s)
            ct = s @ obs / (rs * R)
            p0, p1 = 1.0, ct
            if l == 0:
                pl = p0
            elif l == 1:
                pl = p1
            else:
                for m in range(2, l + 1):
                    p0, p1 = p1, ((2 * m - 1) * ct * p1 - (m - 1) * p0) / m
                pl = p1
            ql += qq * rs**l * pl
        phi += ql / R ** (l + 1)
    direct = sum(qq / norm(obs - s) for s, qq in zip(src, q))
    return phi + (phi - direct) ** 2


# ---------------------------------------------------------------- powerflow
@program(
    "power systems: Newton-Raphson power flow, complex admittance",
    lambda: (np.array([0.5, 0.3]), np.array([10.0, 8.0, 9.0])),
    wrt=(0, 1),
)
def powerflow(load, y):
    lines = [(0, 1), (1, 2), (0, 2)]
    Y = np.zeros((3, 3), dtype=complex)
    for (a, b), yy in zip(lines, y):
        adm = yy / (0.1 + 1j)
        Y[a, a] += adm
        Y[b, b] += adm
        Y[a, b] -= adm
        Y[b, a] -= adm
    V = np.ones(3, dtype=complex)
    for _ in range(40):
        for i in (1, 2):
            S = -load[i - 1] * (1 + 0.3j)
            cur = np.conj(S / V[i])
            V[i] = (cur - sum(Y[i, j] * V[j] for j in range(3) if j != i)) / Y[i, i]
    loss = (V * np.conj(Y @ V)).sum().real
    return loss + abs(V[2])


# ---------------------------------------------------------------- grid_losses
@program(
    "power engineering: AC power flow by Newton steps written out, losses of a small grid",
    lambda: (np.array([0.5, 0.3]), np.array([0.2, 0.1]), np.array([0.02, 0.03, 0.025])),
    wrt=(0, 1, 2),
)
def grid_losses(P, Q, r):
    lines = [(0, 1), (1, 2), (0, 2)]
    Y = np.zeros((3, 3), complex)
    for (a, b), resistance in zip(lines, r):
        y = 1.0 / (resistance + 0.1j)
        Y[a, b] -= y
        Y[b, a] -= y
        Y[a, a] += y
        Y[b, b] += y
    V = np.ones(3, complex)
    S = -(P + 1j * Q)
    for sweep in range(60):
        for k in (1, 2):
            others = sum(Y[k, m] * V[m] for m in range(3) if m != k)
            V[k] = (np.conj(S[k - 1] / V[k]) - others) / Y[k, k]
    current = Y @ V
    return (V * current.conj()).sum().real


# ---------------------------------------------------------------- mismatch_norm
def power_injections(vm, va, Y):
    V = vm * np.exp(1j * va)
    S = V * np.conj(Y @ V)
    return S.real, S.imag


@program(
    "power flow: squared power mismatch, pi-model lines (from, to, r, x, b)",
    lambda: (
        np.array([1.05, 1.02, 0.97, 0.98]),
        np.array([0.0, -0.03, -0.08, -0.06]),
        np.array([0.0, 0.5, -0.8, -0.4]),
        np.array([0.0, 0.0, -0.3, -0.2]),
        [
            (0, 1, 0.02, 0.06, 0.03),
            (0, 2, 0.05, 0.2, 0.02),
            (1, 2, 0.04, 0.18, 0.02),
            (2, 3, 0.03, 0.12, 0.01),
            (1, 3, 0.06, 0.25, 0.02),
        ],
    ),
    wrt=(0, 1, 4),
)
def mismatch_norm(vm, va, p_spec, q_spec, lines, n=4):
    """Squared power mismatch, pi-model lines (from, to, r, x, b)."""
    Y = np.zeros((n, n), dtype=complex)
    for f, t, r, x, b in lines:
        y = 1.0 / (r + 1j * x)
        Y[f, f] += y + 0.5j * b
        Y[t, t] += y + 0.5j * b
        Y[f, t] -= y
        Y[t, f] -= y
    P, Q = power_injections(vm, va, Y)
    dp = P[1:] - p_spec[1:]
    dq = Q[2:] - q_spec[2:]
    return np.sum(np.concatenate([dp, dq]) ** 2)


# ---------------------------------------------------------------- line_losses
@program(
    "power systems: Newton power flow of four buses, losses of the lines",
    lambda: (np.array([0.4, 0.6, 0.3]), np.array([0.1, 0.25, 0.15]), 0.05),
    wrt=(0, 1, 2),
)
def line_losses(P, Q, r):
    lines = [(0, 1), (1, 2), (2, 3), (0, 3)]
    Y = np.zeros((4, 4), dtype=complex)
    for i, j in lines:
        y = 1 / (r + 0.1j)
        Y[i, j] -= y
        Y[j, i] -= y
        Y[i, i] += y
        Y[j, j] += y
    V = np.ones(4, dtype=complex)
    for _ in range(15):
        for k in range(1, 4):
            S = -(P[k - 1] + 1j * Q[k - 1])
            others = sum(Y[k, m] * V[m] for m in range(4) if m != k)
            V[k] = (np.conj(S / V[k]) - others) / Y[k, k]
    flows = [(V[i] - V[j]) * np.conj((V[i] - V[j]) / (r + 0.1j)) for i, j in lines]
    sag = min(np.abs(V))
    return np.sum(flows).real * 10 + sag


# ---------------------------------------------------------------- power_mismatch
@program(
    "power systems: power mismatch",
    lambda: (np.array([0.02, -0.05, -0.08]), np.array([1.01, 0.98, 0.99]), np.array([0.5, -0.6, -0.4])),
    wrt=(0, 1),
)
def power_mismatch(theta, vm, pspec):
    n = 4
    Y = np.zeros((n, n), dtype=np.complex128)
    for i, j, r, x in [(0, 1, 0.02, 0.1), (1, 2, 0.03, 0.12), (2, 3, 0.01, 0.08), (0, 3, 0.02, 0.15)]:
        y = 1 / complex(r, x)
        Y[i, j] -= y
        Y[j, i] -= y
        Y[i, i] += y
        Y[j, j] += y
    V = np.concatenate(([1.0], vm)) * np.exp(1j * np.concatenate(([0.0], theta)))
    S = V * np.conj(Y @ V)
    return np.sum((S.real[1:] - pspec) ** 2) + 0.1 * np.sum(S.imag**2)


# ---------------------------------------------------------------- power_flow
@program(
    "power systems: Newton power flow with Ybus complex",
    lambda: (np.array([0.5, 0.6, -0.4]), np.array([0.2, 0.1, 0.15])),
    wrt=(0, 1),
)
def power_flow(P, Q):
    lines = {
        (0, 1): 0.02 + 0.06j,
        (0, 2): 0.08 + 0.24j,
        (1, 2): 0.06 + 0.18j,
        (1, 3): 0.06 + 0.18j,
        (2, 3): 0.01 + 0.03j,
    }
    n = 4
    Y = np.zeros((n, n), dtype=complex)
    for (i, j), z in lines.items():
        y = 1 / z
        Y[i, i] += y
        Y[j, j] += y
        Y[i, j] -= y
        Y[j, i] -= y
    V = np.ones(n, dtype=complex)
    S = np.concatenate([[0], -P - 1j * Q])
    for sweep in range(30):
        for i in range(1, n):
            V[i] = (np.conj(S[i] / V[i]) - Y[i] @ V + Y[i, i] * V[i]) / Y[i, i]
    slack = V[0] * np.conj(Y[0] @ V)
    return slack.real + np.abs(V).min()


# ---------------------------------------------------------------- dispatch
class Unit(ABC):
    limits = (0.0, 2.0)

    @abstractmethod
    def output(self, lam): ...

    def dispatch(self, lam):
        lo, hi = self.limits
        return min(max(self.output(lam), lo), hi)


@dataclass
class Thermal(Unit):
    a: float
    b: float
    name: str = "thermal"

    def output(self, lam):
        return (lam - self.b) / (2 * self.a)

    def cost(self, p):
        return self.a * p**2 + self.b * p


@dataclass
class Hydro(Unit):
    value: float
    name: str = "hydro"
    limits = (0.1, 1.0)

    def output(self, lam):
        return 1 / (1 + math.exp(-4 * (lam - self.value)))

    def cost(self, p):
        return self.value * p + 0.1 * math.log1p(p)


@program(
    "power systems: economic dispatch by lambda iteration, generator classes with limits, piecewise costs",
    lambda: (np.array([0.5, 0.8, 0.35]), np.array([1.0, 0.7, 1.3]), 2.4),
    wrt=(0, 1, 2),
)
def dispatch(a, b, demand):
    units = [*(Thermal(ai, bi) for ai, bi in zip(a, b)), Hydro(1.1)]
    lam = 1.5
    for _ in range(30):
        supply = sum(u.dispatch(lam) for u in units)
        h = 1e-5
        slope = (sum(u.dispatch(lam + h) for u in units) - sum(u.dispatch(lam - h) for u in units)) / (2 * h)
        if slope <= 0:
            raise RuntimeError("no unit can move")
        lam += (demand - supply) / slope
        if abs(demand - supply) < 1e-12:
            break
    total = defaultdict(float)
    for u in units:
        total[u.name] += u.cost(u.dispatch(lam))
    return total["thermal"] + 2 * total["hydro"] + lam


# ---------------------------------------------------------------- cost_of_losses
class BusType(enum.IntEnum):
    PQ = 1
    PV = 2
    SLACK = 3


Branch = namedtuple("Branch", "frm to r x b tap", defaults=(0.0, 1.0))


def admittances(branches, shunts):
    n, m = len(shunts), len(branches)
    frm, to = (np.array([getattr(br, end) for br in branches]) for end in ("frm", "to"))
    r, x, b, tap = np.array([br[2:] for br in branches]).T
    series = 1 / (r + 1j * x)
    ytt = series + 0.5j * b
    rows = np.arange(m)
    cf = sparse.csr_matrix((np.ones(m), (rows, frm)), shape=(m, n))
    ct = sparse.csr_matrix((np.ones(m), (rows, to)), shape=(m, n))
    yf = sparse.diags(ytt / tap**2) @ cf - sparse.diags(series / tap) @ ct
    yt = -sparse.diags(series / tap) @ cf + sparse.diags(ytt) @ ct
    return (cf.T @ yf + ct.T @ yt + sparse.diags(1j * shunts)).tocsr(), (cf, yf), (ct, yt)


def newton_power_flow(ybus, injection, v, pv, pq, tol=1e-12):
    va, vm = np.angle(v), np.abs(v)
    pvpq = np.concatenate([pv, pq])
    for _ in range(20):
        current = ybus @ v
        mismatch = v * np.conj(current) - injection
        f = np.concatenate([mismatch[pvpq].real, mismatch[pq].imag])
        if np.linalg.norm(f, np.inf) < tol:
            return v
        diag_v, diag_i = sparse.diags(v), sparse.diags(current)
        ds_dvm = diag_v @ np.conj(ybus @ sparse.diags(v / vm)) + np.conj(diag_i) @ sparse.diags(v / vm)
        ds_dva = 1j * diag_v @ np.conj(diag_i - ybus @ diag_v)
        ds_dvm, ds_dva = ds_dvm.tocsr(), ds_dva.tocsr()
        jacobian = sparse.bmat(
            [
                [ds_dva[np.ix_(pvpq, pvpq)].real, ds_dvm[np.ix_(pvpq, pq)].real],
                [ds_dva[np.ix_(pq, pvpq)].imag, ds_dvm[np.ix_(pq, pq)].imag],
            ],
            format="csc",
        )
        dx = spsolve(jacobian, -f)
        va[pvpq] += dx[: len(pvpq)]
        vm[pq] += dx[len(pvpq) :]
        v = vm * np.exp(1j * va)
    raise RuntimeError(f"no convergence, the mismatch is {np.abs(f).max():.2e}")


@program(
    "power grid load flow: Newton's method in polar form on sparse matrices, the limits of the generators enforced",
    lambda: (np.array([0.0, 0.21, 0.47, 0.42, 0.63]), np.array([0.0, 0.11, 0.17, 0.08, 0.14]), 0.975, 1.035, 0.4),
    wrt=(0, 1, 2, 3, 4),
    refused="diags of complex numbers",
)
def cost_of_losses(demand_p, demand_q, tap, setpoint, generation):
    branches = [
        Branch(0, 1, 0.02, 0.06, 0.06),
        Branch(0, 2, 0.08, 0.24, 0.05),
        Branch(1, 2, 0.06, 0.18, 0.04),
        Branch(1, 3, 0.06, 0.18, 0.04),
        Branch(1, 4, 0.04, 0.12, 0.03),
        Branch(2, 3, 0.0, 0.03, tap=tap),
        Branch(3, 4, 0.08, 0.24, 0.05),
    ]
    ybus, *ends = admittances(branches, np.array([0.0, 0.0, 0.0, 0.0, 0.05]))
    kinds = [BusType.SLACK, BusType.PV, BusType.PV, BusType.PQ, BusType.PQ]
    q_limits = {1: (-0.3, 0.5), 2: (-0.2, 0.12)}
    injection = np.array([0.0, generation, 0.3, 0.0, 0.0]) - demand_p - 1j * demand_q
    v = np.array([1.05, setpoint, 1.03, 1.0, 1.0], dtype=complex)

    while True:
        pv, pq = ([i for i, kind in enumerate(kinds) if kind is wanted] for wanted in (BusType.PV, BusType.PQ))
        v = newton_power_flow(ybus, injection, v, np.array(pv, dtype=int), np.array(pq, dtype=int))
        produced = (v * np.conj(ybus @ v)).imag + demand_q
        violated = {i: lim for i in pv if not (lim := q_limits[i])[0] <= produced[i] <= lim[1]}
        if not violated:
            break
        for i, (low, high) in violated.items():
            kinds[i] = BusType.PQ
            injection[i] = injection[i].real + 1j * ((high if produced[i] > high else low) - demand_q[i])

    s_from, s_to = (end @ v * np.conj(y @ v) for end, y in ends)
    losses = (s_from + s_to).real.sum()
    overload = np.maximum(np.abs(s_from) - 0.5, 0) ** 2
    sag = np.sum((np.abs(v[3:]) - 1) ** 2)
    return 100 * losses + 20 * overload.sum() + 50 * sag
