"""Flow of fluids and of heat."""

import functools
import itertools
import math
import operator

import numba
import numpy as np
import scipy.sparse as sp
from scipy import special
from scipy.linalg import solve_banded
from scipy.sparse.linalg import spsolve

from tests.field_programs import program, rng


# ---------------------------------------------------------------- burgers_energy
@program(
    "kinetic energy of viscous Burgers flow on a periodic grid",
    lambda: (np.sin(2 * np.pi * np.arange(20) / 20) + 0.3, 0.02),
    wrt=(0, 1),
)
def burgers_energy(u0, nu, dt=0.004, steps=15):
    """Kinetic energy of viscous Burgers flow on a periodic grid."""
    u = u0
    dx = 1.0 / len(u0)
    for _ in range(steps):
        up, um = np.roll(u, -1), np.roll(u, 1)
        flux = (0.5 * up**2 - 0.5 * um**2) / (2 * dx)
        diff = nu * (up - 2 * u + um) / dx**2
        u = u + dt * (-flux + diff)
    return 0.5 * dx * np.sum(u**2)


# ---------------------------------------------------------------- sor_poisson
@program(
    "lid-driven Poisson with SOR in place, red-black slicing",
    lambda: (np.random.default_rng(8).normal(size=(8, 9)), 1.5),
    wrt=(0, 1),
)
def sor_poisson(f, omega):
    ny, nx = f.shape
    p = np.zeros((ny + 2, nx + 2))
    h2 = 0.01
    for it in range(10):
        for color in (0, 1):
            for i in range(1, ny + 1):
                start = 1 + (i + color) % 2
                row = p[i, start:-1:2]
                gs = 0.25 * (
                    p[i - 1, start:-1:2]
                    + p[i + 1, start:-1:2]
                    + p[i, start - 1 : -2 : 2]
                    + p[i, start + 1 :: 2]
                    - h2 * f[i - 1, start - 1 :: 2]
                )
                p[i, start:-1:2] = (1 - omega) * row + omega * gs
        p[0, :], p[-1, :] = p[1, :], p[-2, :]
    vx = (p[1:-1, 2:] - p[1:-1, :-2]) / 2
    vy = (p[2:, 1:-1] - p[:-2, 1:-1]) / 2
    return np.sqrt(vx**2 + vy**2 + 1e-8).sum() * 100


# ---------------------------------------------------------------- shock_tube
def prim(U, gamma=1.4):
    rho, mom, E = U
    u = mom / rho
    return rho, u, (gamma - 1) * (E - 0.5 * rho * u**2)


def flux(U):
    rho, u, p = prim(U)
    return np.array([rho * u, rho * u**2 + p, u * (U[2] + p)])


@program(
    "SIMPLE-like 1D shock tube with Roe/HLL flux, tuple-of-arrays state",
    lambda: (np.array([1.0, 0.125]), np.array([1.0, 0.1])),
    wrt=(0, 1),
)
def shock_tube(rho0, p0):
    n, dx, dt = 16, 1 / 16, 0.01
    left = np.arange(n) < n // 2
    rho, p = np.where(left, rho0[0], rho0[1]), np.where(left, *p0)
    U = np.stack([rho, np.zeros(n), p / 0.4])
    for _ in range(6):
        UL, UR = U[:, :-1], U[:, 1:]
        (rl, ul, pl), (rr, ur, pr) = prim(UL), prim(UR)
        al, ar = np.sqrt(1.4 * pl / rl), np.sqrt(1.4 * pr / rr)
        sl, sr = np.minimum(ul - al, ur - ar), np.maximum(ul + al, ur + ar)
        FL, FR = flux(UL), flux(UR)
        F = np.where(sl >= 0, FL, np.where(sr <= 0, FR, (sr * FL - sl * FR + sl * sr * (UR - UL)) / (sr - sl)))
        U[:, 1:-1] -= dt / dx * np.diff(F, axis=1)
    rho, u, p = prim(U)
    return np.sum(rho * u**2) + np.trapezoid(p, dx=dx)


# ---------------------------------------------------------------- buckley_leverett
@program("reservoir: Buckley-Leverett, upwind and CFL subcycling", lambda: (2.0, 3.0, np.full(20, 0.2)), wrt=(0, 1, 2))
def buckley_leverett(nw, M, s0):
    s = np.array(s0)
    t, t_end, dx = 0.0, 0.15, 1.0 / len(s)
    frac = lambda s: s**nw / (s**nw + (1 - s) ** nw / M)
    while t < t_end:
        ds = 1e-4
        speed = (frac(np.minimum(s + ds, 1)) - frac(s)) / ds
        dt = min(0.01, t_end - t)
        f = np.concatenate(([1.0], frac(s)))
        s -= dt / dx * np.diff(f)
        np.clip(s, 0.0, 1.0, out=s)
        t += dt
    return s.mean() + s[np.argmax(s < 0.5)]


# ---------------------------------------------------------------- hardy_cross
@program(
    "fluid mechanics: pipe network Hardy Cross, loops given as dicts of signed pipes",
    lambda: (np.array([10.0, 20.0, 15.0, 8.0, 12.0]), np.array([0.6, 0.4, 0.1, 0.5, 0.3])),
    wrt=(0, 1),
)
def hardy_cross(r, q0):
    loops = [{0: 1, 2: 1, 1: -1}, {3: 1, 4: -1, 2: -1}]
    q = list(q0)
    for _ in range(10):
        for loop in loops:
            num = sum(s * r[k] * (s * q[k]) * abs(q[k]) * s for k, s in loop.items())
            den = sum(2 * r[k] * abs(q[k]) for k in loop)
            dq = -num / den
            for k, s in loop.items():
                q[k] += s * dq
    return sum(r_ * abs(q_) ** 3 for r_, q_ in zip(r, q))


# ---------------------------------------------------------------- penstock
@numba.njit
def vane_opening(t, closing):
    if t >= closing:
        return 0.0
    return (1.0 - t / closing) ** 1.5


@program(
    "hydropower: water hammer in a penstock by the method of characteristics while the guide vanes close",
    lambda: (2.1, 1080.0, 0.018, 4.3, 95.0),
    wrt=(0, 1, 2, 3, 4),
)
@numba.njit
def penstock(diameter, celerity, friction, closing, gross):
    g, length, reaches = 9.81, 900.0, 9
    area = np.pi * diameter**2 / 4
    dx = length / reaches
    dt = dx / celerity
    B = celerity / (g * area)
    R = friction * dx / (2 * g * diameter * area**2)
    flow0 = 3.2 * area
    H = np.zeros(reaches + 1)
    Q = np.full(reaches + 1, flow0)
    for i in range(reaches + 1):
        H[i] = gross - R * i * flow0**2
    net0 = H[-1]
    highest, energy = 0.0, 0.0
    Hn, Qn = np.zeros_like(H), np.zeros_like(Q)
    for step in range(1, 71):
        t = step * dt
        for i in range(1, reaches):
            cp = H[i - 1] + B * Q[i - 1] - R * Q[i - 1] * abs(Q[i - 1])
            cm = H[i + 1] - B * Q[i + 1] + R * Q[i + 1] * abs(Q[i + 1])
            Hn[i] = 0.5 * (cp + cm)
            Qn[i] = (cp - Hn[i]) / B
        Hn[0] = gross
        Qn[0] = (gross - (H[1] - B * Q[1] + R * Q[1] * abs(Q[1]))) / B
        cp = H[reaches - 1] + B * Q[reaches - 1] - R * Q[reaches - 1] * abs(Q[reaches - 1])
        tau = vane_opening(t, closing)
        if tau > 0.0:
            cv = (flow0 * tau) ** 2 / (2 * net0)
            Qn[-1] = -B * cv + math.sqrt((B * cv) ** 2 + 2 * cv * cp)
        else:
            Qn[-1] = 0.0
        Hn[-1] = cp - B * Qn[-1]
        H, Hn = Hn, H
        Q, Qn = Qn, Q
        highest = max(highest, H[-1])
        energy += 0.9 * g * Q[-1] * H[-1] * dt
    return highest / net0 + energy / 1e4


# ---------------------------------------------------------------- sensor_misfit
def crank_nicolson_rod(T0, k, source, q_left, dx=0.1, dt=0.02, nt=6):
    """Tridiagonal Crank-Nicolson, flux on the left and fixed temperature on the right."""
    n = len(T0)
    r = k * dt / (2 * dx**2)
    ab = np.zeros((3, n))
    ab[0, 1:] = -r
    ab[1, :] = 1 + 2 * r
    ab[2, :-1] = -r
    ab[0, 1] = -2 * r
    ab[1, -1] = 1.0
    ab[2, -2] = 0.0
    T = T0.copy()
    for _ in range(nt):
        rhs = np.empty(n)
        rhs[1:-1] = T[1:-1] + r * (T[2:] - 2 * T[1:-1] + T[:-2]) + dt * source[1:-1]
        rhs[0] = T[0] + 2 * r * (T[1] - T[0]) + 2 * dt * q_left / dx + dt * source[0]
        rhs[-1] = T[-1]
        T = solve_banded((1, 1), ab, rhs)
    return T


@program(
    "heat conduction: a rod by Crank-Nicolson, misfit of a sensor",
    lambda: (0.7, 1.2, 20 + np.sin(np.arange(10)), np.linspace(0, 3, 10), np.array([20.5, 19.8, 21.0])),
    wrt=(0, 1, 2, 3),
)
def sensor_misfit(k, q_left, T0, source, readings):
    T = crank_nicolson_rod(T0, k, source, q_left)
    return np.sum((T[[1, 4, 7]] - readings) ** 2)


# ---------------------------------------------------------------- adi
def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.empty(n), np.empty(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m if i < n - 1 else 0
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = dp
    for i in reversed(range(n - 1)):
        x[i] -= cp[i] * x[i + 1]
    return x


@program(
    "crystal growth / discrete: simulated heat equation solver ADI with Thomas algorithm via helper writing in place",
    lambda: (rng(7).random((6, 5)), 0.4),
    wrt=(0, 1),
)
def adi(u, r):
    u = u.copy()
    for step in range(3):
        half = np.zeros_like(u)
        for j in range(u.shape[1]):
            n = u.shape[0]
            left = u[:, j - 1] if j > 0 else 0 * u[:, j]
            right = u[:, j + 1] if j < u.shape[1] - 1 else np.zeros(n)
            half[:, j] = thomas(
                np.full(n, -r / 2),
                np.full(n, 1 + r),
                np.full(n, -r / 2),
                u[:, j] + r / 2 * (left - 2 * u[:, j] + right),
            )
        u = np.apply_along_axis(
            lambda row: thomas(np.full(row.size, -r / 2), (1 + r) * np.ones(row.size), np.full(row.size, -r / 2), row),
            1,
            half,
        )
    return (u**2).sum() + u[2, 2]


# ---------------------------------------------------------------- fin_efficiency
@program(
    "thermal engineering: fin with temperature dependent conductivity, Newton on a tridiagonal system",
    lambda: (0.4, 25.0, 0.02),
    wrt=(0, 1, 2),
)
def fin_efficiency(k0, h, beta, n=21, length=0.05, thick=0.002):
    dx = length / (n - 1)
    T = np.full(n, 80.0)
    for _ in range(8):
        k = k0 * 400 * (1 + beta * 1e-2 * T)
        km = 0.5 * (k[1:] + k[:-1])
        main = np.r_[1.0, (km[:-1] + km[1:]) / dx**2 + 2 * h / thick, km[-1] / dx]
        upper = np.r_[0.0, -km[1:] / dx**2]
        lower = np.r_[-km[:-1] / dx**2, -km[-1] / dx]
        rhs = np.zeros(n)
        rhs[0] = 80.0
        A = sp.diags([lower, main, upper], [-1, 0, 1], format="csc")
        T = spsolve(A, rhs)
    q = -k0 * 400 * (1 + beta * 1e-2 * T[0]) * (T[1] - T[0]) / dx * thick
    return q / (2 * h * length * 80.0) + T[-1] / 80


# ---------------------------------------------------------------- exchanger
@program(
    "heat exchangers: effectiveness-NTU network with fixed point through scipy optimise-like brent",
    lambda: (np.array([1.2, 0.8]), np.array([350.0, 290.0]), 2.0),
    wrt=(0, 1, 2),
)
def exchanger(cp_flow, inlet, ua):
    cmin, cmax = cp_flow.min(), cp_flow.max()
    cr = cmin / cmax
    ntu = ua / cmin
    match round(float(cr), 12):
        case 1.0:
            eff = ntu / (1 + ntu)
        case 0.0:
            eff = 1 - np.exp(-ntu)
        case _:
            e = np.exp(-ntu * (1 - cr))
            eff = (1 - e) / (1 - cr * e)
    heat = eff * cmin * (inlet[0] - inlet[1])
    hot, cold = inlet + np.array([-1, 1]) * heat / cp_flow
    return heat + abs(hot - cold)


# ---------------------------------------------------------------- fused_share
def serpentine(tracks, length, hatch, speed, dwell):
    clock, sign = 0.0, 1
    for k in range(tracks):
        duration = length / speed
        yield -sign * length / 2, sign * speed, k * hatch, clock, clock + duration
        clock += duration + dwell
        sign = -sign


@program(
    "additive manufacturing: heat of a laser that goes back and forth over a powder bed, share of what is molten",
    lambda: (180.0, 0.9, 1.0e-4, 5.5e-5, np.array([0.35, 22.0])),
    wrt=(0, 1, 2, 3, 4),
)
def fused_share(power, speed, hatch, spot, material):
    absorption, conductivity = material
    density, heat, melting, bed = np.float32(7.9e3), np.float32(620.0), 1680.0, 350.0
    diffusivity = conductivity / (density * heat)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    grid = np.mgrid[-1:1:5j, -0.5:2.5:7j, 0:1:4j].reshape(3, -1)
    x, y, z = grid * np.array([3e-4, 1e-4, 6e-5])[:, None]
    hottest = np.full(x.shape, bed)
    *path, final = serpentine(3, 1.2e-3, hatch, speed, 4e-4)
    for now in (path[0][4], path[1][4], final[3] + 0.5 * (final[4] - final[3]), final[4]):
        T = np.full_like(x, bed)
        for x0, v, y0, t0, t1 in [*path, final]:
            if t0 >= now:
                continue
            # the age of the heat goes with the square of the variable of integration
            young, old = math.sqrt(max(now - t1, 0.0)), math.sqrt(now - t0)
            s = 0.5 * (old - young) * nodes + 0.5 * (old + young)
            age = s**2
            spread = 4 * diffusivity * age + 0.5 * spot**2
            xs = x0 + v * (now - age - t0)
            across = np.exp(-((x[:, None] - xs) ** 2 + (y[:, None] - y0) ** 2) / spread)
            kernel = across * np.exp(-(z[:, None] ** 2) / (4 * diffusivity * age)) / spread
            T += (
                absorption
                * power
                / (density * heat * np.pi**1.5 * diffusivity**0.5)
                * (kernel @ weights)
                * (old - young)
            )
        hottest = np.fmax(hottest, T)
    molten = special.expit((hottest - melting) / 60.0)
    return molten.mean() + 1e-4 * np.percentile(hottest, 70)


# ---------------------------------------------------------------- bearing
class NotConverged(RuntimeError):
    def __init__(self, residual):
        super().__init__("no convergence", residual)
        self.residual = residual


def pressure_field(h, omega, tol, limit=200):
    p = np.zeros_like(h)
    for it in range(limit):
        change = 0.0
        for i in range(1, len(h) - 1):
            he, hw = 0.5 * (h[i] + h[i + 1]), 0.5 * (h[i] + h[i - 1])
            new = (he**3 * p[i + 1] + hw**3 * p[i - 1] - 0.1 * (he - hw)) / (he**3 + hw**3)
            step = omega * (max(new, 0.0) - p[i])
            p[i] += step
            change = max(change, abs(step))
        if change < tol:
            return p
    raise NotConverged(change)


@program(
    "tribology: bearing with Reynolds equation by SOR until converged, raising when it does not",
    lambda: (0.6, 1.0),
    wrt=(0, 1),
)
def bearing(eccentricity, clearance):
    theta = np.linspace(0, 2 * np.pi, 14)
    h = clearance * (1 + eccentricity * np.cos(theta))
    try:
        p = pressure_field(h, 1.9, 1e-13, limit=30)
    except NotConverged as failure:
        omega = 1.2 if failure.residual > 1e-12 else 1.0
        p = pressure_field(h, omega, 1e-13, limit=600)
    return np.sum(p * np.cos(theta)) ** 2 + np.sum(p)


# ---------------------------------------------------------------- bearing_load
@program(
    "tribology: Reynolds' equation for a misaligned journal bearing, red-black over-relaxation with cavitation",
    lambda: (0.6, 0.12, 1.1, np.array([0.02, -0.01, 0.015])),
    wrt=(0, 1, 2, 3),
)
def bearing_load(eccentricity, tilt, slenderness, wear):
    nt, nz = 37, 11
    theta, dt = np.linspace(0, 2 * np.pi, nt, retstep=True)
    z, dz = np.linspace(-0.5, 0.5, nz, retstep=True)
    waves = np.array([np.cos((k + 2) * theta) for k in range(len(wear))])
    h = 1 + eccentricity * np.cos(theta)[:, np.newaxis] + tilt * np.outer(np.sin(theta), z) + (wear @ waves)[:, None]
    east, west = (0.5 * (h[1:-1] + h[2:])) ** 3, (0.5 * (h[1:-1] + h[:-2])) ** 3
    east, west = east[:, 1:-1] / dt**2, west[:, 1:-1] / dt**2
    north = (0.5 * (h[1:-1, 1:-1] + h[1:-1, 2:])) ** 3 / (dz * slenderness) ** 2
    south = (0.5 * (h[1:-1, 1:-1] + h[1:-1, :-2])) ** 3 / (dz * slenderness) ** 2
    centre = east + west + north + south
    wedge = (h[2:, 1:-1] - h[:-2, 1:-1]) / (2 * dt)
    p = np.zeros((nt, nz))
    i, j = np.indices(centre.shape)
    red = (i + j) % 2 == 0
    omega, change = 1.7, 1.0
    while change > 1e-11:
        change = 0.0
        for colour in (red, ~red):
            inner = p[1:-1, 1:-1]
            around = east * p[2:, 1:-1] + west * p[:-2, 1:-1] + north * p[1:-1, 2:] + south * p[1:-1, :-2]
            new = np.maximum(inner + omega * ((around - wedge) / centre - inner), 0.0)
            change = max(change, np.abs(new - inner)[colour].max())
            inner[colour] = new[colour]
    across = np.trapezoid(p, z, axis=1)
    radial, tangential = np.trapezoid(across * np.cos(theta), theta), np.trapezoid(across * np.sin(theta), theta)
    attitude = np.arctan2(tangential, -radial)
    friction = np.trapezoid(np.trapezoid(1 / h + 0.5 * h * np.gradient(p, dt, axis=0), z, axis=1), theta)
    return np.hypot(radial, tangential) + 0.5 * attitude + friction


# ---------------------------------------------------------------- excess
def smooth_excess(value, low, high, width=0.5):
    return width * (np.logaddexp(0, (value - high) / width) + np.logaddexp(0, (low - value) / width))


@program(
    "museums: humidity in a showcase with a buffer, RLC of moisture, and how far it goes out of the band",
    lambda: (np.array([0.35, 18.0]), 0.012, np.sin(np.arange(48) / 7.6) * 9 + 52),
    wrt=(0, 1, 2),
)
def excess(buffer, leakage, room):
    exchange, capacity = buffer
    state = np.array([50.0, 50.0])
    out = []
    A = np.array([[-leakage - exchange, exchange], [exchange / capacity, -exchange / capacity]])
    eye = np.eye(2)
    step = np.linalg.solve(eye - 0.5 * A, eye + 0.5 * A)
    for outside in room:
        state = step @ state + np.linalg.solve(eye - 0.5 * A, np.array([leakage * outside, 0.0]))
        out.append(state[0])
    series = np.asarray(out)
    drift = functools.reduce(operator.add, (abs(b - a) for a, b in itertools.pairwise(out[::8])))
    return smooth_excess(series, 48.0, 52.0).sum() + 0.5 * drift + np.ptp(series)
