import cmath
import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from scipy import signal
from scipy.integrate import solve_ivp
from scipy.special import gammaln

from tests.field_programs import collection

PROGRAMS, prog = collection()

# standard atmosphere for the plume model: height (m), temperature (K), wind (m/s)
ATMOSPHERE = [
    (0.0, 288.15, 4.0),
    (3000.0, 268.65, 9.0),
    (7000.0, 242.65, 18.0),
    (11000.0, 216.65, 29.0),
    (20000.0, 216.65, 12.0),
    (32000.0, 228.65, 20.0),
]
Z_ATM, T_ATM, U_ATM = map(np.array, zip(*ATMOSPHERE, strict=True))


# volcano plume: the column model of Woods (1988) by RK4 up to neutral buoyancy, then the ash falls out of the umbrella
@prog("volcano_plume", lambda: (130.0, 1080.0, 0.04, 70.0), (0, 1, 2, 3))
def tephra_centroid_km(u0, temp0, n0, radius, dz=100.0):
    G, RA, RV, CA, CM, RHO_S = 9.81, 287.0, 462.0, 998.0, 1617.0, 1200.0

    def ambient(z):
        t = np.interp(z, Z_ATM, T_ATM)
        p = 101325.0 * np.exp(-z / 7800.0)
        return t, p, p / (RA * t)

    def bulk(y, z):
        q, m, e = y
        _, p, _ = ambient(z)
        n = 1 - (1 - n0) * q0 / q
        r_gas = RA + (RV - RA) * (1 - n) / n * n0 / (1 - n0)
        cp = CA + (CM - CA) * (1 - n) / (1 - n0)
        t = e / (q * cp)
        rho = 1.0 / ((1 - n) / RHO_S + n * r_gas * t / p)
        u = m / q
        return rho, u, np.sqrt(q / (rho * u)), t

    def rhs(z, y):
        rho, u, L, _ = bulk(y, z)
        ta, _, rho_a = ambient(z)
        eps = 0.09 if rho < rho_a else np.sqrt(rho / rho_a) / 16.0
        dq = 2 * eps * u * L * rho_a
        return np.array([dq, (rho_a - rho) * G * L**2, (CA * ta + 0.5 * u * u) * dq - rho_a * L**2 * u * G])

    rho_vent = 1.0 / ((1 - n0) / RHO_S + n0 * RV * temp0 / 101325.0)
    q0 = rho_vent * u0 * radius**2
    y, z = np.array([q0, q0 * u0, q0 * CM * temp0]), 0.0
    buoyant, excess_old = False, bulk(y, z)[0] - ambient(z)[2]
    while z < 30e3:
        k1 = rhs(z, y)
        k2 = rhs(z + dz / 2, y + dz / 2 * k1)
        k3 = rhs(z + dz / 2, y + dz / 2 * k2)
        k4 = rhs(z + dz, y + dz * k3)
        y = y + dz / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        z += dz
        if y[1] <= 0:
            return z / 1000  # the column has collapsed
        excess = bulk(y, z)[0] - ambient(z)[2]
        if buoyant and excess > 0:
            break
        buoyant = buoyant or excess < 0
        excess_old = excess
    h_nbl = z - dz * excess / (excess - excess_old)

    @np.vectorize
    def drift(phi):
        d, x, n_layers = 1e-3 * 2.0**-phi, 0.0, 20
        for i in range(n_layers):
            zi = h_nbl * (i + 0.5) / n_layers
            rho_a, mu = ambient(zi)[2], 1.8e-5
            v = G * d * d * RHO_S / (18 * mu)
            if rho_a * v * d / mu > 6:
                v = d * (4 * (G * RHO_S) ** 2 / (225 * mu * rho_a)) ** (1 / 3)
            if rho_a * v * d / mu > 500:
                v = math.sqrt(3.1 * RHO_S * G * d / rho_a)
            x += np.interp(zi, Z_ATM, U_ATM) * h_nbl / n_layers / v
        return x

    phis = np.arange(-4.0, 4.5, 1.0)
    weights = np.exp(-((phis - 0.5) ** 2) / (2 * 1.7**2))
    return float(np.sum(weights * drift(phis)) / weights.sum() / 1000)


# tokamak equilibrium: Cerfon and Freidberg's "one size fits all" Solov'ev solution, polynomials kept as dictionaries
@prog("tokamak_equilibrium", lambda: (0.32, 1.7, 0.33, -0.155), (0, 1, 2, 3))
def solovev_axis_and_current(eps, kappa, delta, A):
    # {(power of x, power of y, power of ln x): coefficient}
    homogeneous = [
        {(0, 0, 0): 1},
        {(2, 0, 0): 1},
        {(0, 2, 0): 1, (2, 0, 1): -1},
        {(4, 0, 0): 1, (2, 2, 0): -4},
        {(0, 4, 0): 2, (2, 2, 0): -9, (4, 0, 1): 3, (2, 2, 1): -12},
        {(6, 0, 0): 1, (4, 2, 0): -12, (2, 4, 0): 8},
        {(0, 6, 0): 8, (2, 4, 0): -140, (4, 2, 0): 75, (6, 0, 1): -15, (4, 2, 1): 180, (2, 4, 1): -120},
    ]
    particular = {(4, 0, 0): (1 - A) / 8, (2, 0, 1): A / 2}

    def diff(poly, how):
        if not how:
            return poly
        out = defaultdict(float)
        for (a, b, l), c in poly.items():
            if how[0] == "y":
                if b:
                    out[a, b - 1, l] += b * c
                continue
            if a:
                out[a - 1, b, l] += a * c
            if l:
                out[a - 1, b, l - 1] += l * c
        return diff(dict(out), how[1:])

    def ev(poly, x, y):
        return sum(c * x**a * y**b * np.log(x) ** l for (a, b, l), c in poly.items())

    alpha = math.asin(delta)
    N1, N2 = -((1 + alpha) ** 2) / (eps * kappa**2), (1 - alpha) ** 2 / (eps * kappa**2)
    N3 = -kappa / (eps * math.cos(alpha) ** 2)
    out_, in_, top = (1 + eps, 0.0), (1 - eps, 0.0), (1 - delta * eps, kappa * eps)
    conditions = [
        lambda f: ev(f, *out_),
        lambda f: ev(f, *in_),
        lambda f: ev(f, *top),
        lambda f: ev(diff(f, "x"), *top),
        lambda f: ev(diff(f, "yy"), *out_) + N1 * ev(diff(f, "x"), *out_),
        lambda f: ev(diff(f, "yy"), *in_) + N2 * ev(diff(f, "x"), *in_),
        lambda f: ev(diff(f, "xx"), *top) + N3 * ev(diff(f, "y"), *top),
    ]
    M = np.array([[cond(f) for f in homogeneous] for cond in conditions])
    c = np.linalg.solve(M, -np.array([cond(particular) for cond in conditions]))
    psi = defaultdict(float, particular)
    for ci, poly in zip(c, homogeneous, strict=True):
        for key, coef in poly.items():
            psi[key] += ci * coef
    px, py, pxx = diff(psi, "x"), diff(psi, "y"), diff(psi, "xx")
    x_axis = 1.0 + 0.1 * eps
    for _ in range(25):
        dx = ev(px, x_axis, 0.0) / ev(pxx, x_axis, 0.0)
        x_axis -= dx
        if abs(dx) < 1e-14:
            break
    tau = np.linspace(0, 2 * np.pi, 181)
    xb, yb = 1 + eps * np.cos(tau + alpha * np.sin(tau)), eps * kappa * np.sin(tau)
    dl = np.hypot(np.gradient(xb, tau), np.gradient(yb, tau))
    current = np.trapezoid(np.hypot(ev(px, xb, yb), ev(py, xb, yb)) / xb * dl, tau)
    return float((x_axis - 1) / eps + current / (2 * np.pi))


# neural spike trains: Poisson GLM with raised-cosine history (Pillow et al.), IRLS, then the time-rescaling test
@prog("neural_spike_trains", lambda: (9.0, 1.3, 0.7), (0, 1, 2))
def spike_history_bits(tau_stim, log_offset, ridge):
    T, n_basis, dt = 700, 3, 1e-3
    rng = np.random.default_rng(20260311)
    stim = rng.standard_normal(T)
    spikes = np.zeros(T, dtype=int)
    refractory, drive = 0, signal.lfilter([0.35], [1, -0.88], stim)
    for t in range(T):
        if refractory > 0:
            refractory -= 1
            continue
        if rng.random() < min(0.6, 0.055 * np.exp(drive[t])):
            spikes[t] = 1
            refractory = 3

    # design matrix
    lags = np.arange(1, 31)
    log_t = np.log(lags + log_offset)
    centres = np.linspace(np.log(1 + log_offset), np.log(22 + log_offset), n_basis)
    spacing = centres[1] - centres[0]
    phase = np.clip((log_t[None, :] - centres[:, None]) * np.pi / (2 * spacing), -np.pi, np.pi)
    bumps = 0.5 * (np.cos(phase) + 1)
    kernel = np.exp(-np.arange(60) / tau_stim)
    kernel /= np.linalg.norm(kernel)
    cols = [np.ones(T), np.convolve(stim, kernel)[:T]]
    for b in bumps:
        h = np.convolve(spikes, b)
        cols.append(np.r_[0.0, h[: T - 1]])
    X = np.stack(cols, axis=1)
    train = np.arange(T) < 500
    penalised = np.arange(1, X.shape[1])
    w = np.zeros(X.shape[1])
    w[0] = np.log(spikes[train].mean())
    for it in range(60):
        mu = np.exp(X[train] @ w)
        grad = X[train].T @ (spikes[train] - mu)
        grad[penalised] -= ridge * w[penalised]
        H = (X[train] * mu[:, None]).T @ X[train]
        H[np.ix_(penalised, penalised)] += ridge * np.eye(len(penalised))
        step = np.linalg.solve(H, grad)
        w += step / (1 + np.abs(step).max()) if it < 3 else step
        if np.max(np.abs(step)) < 1e-13:
            break
    else:
        raise RuntimeError("IRLS did not converge")
    rate = np.exp(X @ w)
    y, mu = spikes[~train], rate[~train]
    null = spikes[train].mean()
    ll = np.sum(y * np.log(mu) - mu - gammaln(y + 1))
    ll0 = np.sum(y * np.log(null) - null - gammaln(y + 1))
    bits = (ll - ll0) / np.log(2) / y.sum()
    # KS plot against the uniform
    cum = np.cumsum(rate)[np.flatnonzero(spikes)]
    z = np.sort(1 - np.exp(-np.diff(cum)))
    n = z.size
    cvm = 1 / (12 * n) + ((z - (2 * np.arange(1, n + 1) - 1) / (2 * n)) ** 2).sum()
    return float(bits - 0.1 * cvm + 1e-3 * rate.mean() / dt)


# F-16 tables from Stevens and Lewis (alpha = -10, -5, ..., 45; elevator = -24, -12, 0, 12, 24)
F16_CX = """
 -.099 -.081 -.081 -.063 -.025 .044 .097 .113 .145 .167 .174 .166
 -.048 -.038 -.040 -.021  .016 .083 .127 .137 .162 .177 .179 .167
 -.022 -.020 -.021 -.004  .032 .094 .128 .130 .154 .161 .155 .138
 -.040 -.038 -.039 -.025  .006 .062 .087 .085 .100 .110 .104 .091
 -.083 -.073 -.076 -.072 -.046 .012 .024 .025 .043 .053 .047 .040"""
F16_CM = """
  .205  .168  .186  .196  .213  .251  .245  .238  .252  .231  .198  .192
  .081  .077  .107  .110  .110  .141  .127  .119  .133  .108  .081  .093
 -.046 -.020 -.009 -.005 -.006  .010  .006 -.001  .014  .000 -.013  .032
 -.174 -.145 -.121 -.127 -.129 -.102 -.097 -.113 -.087 -.084 -.069 -.006
 -.259 -.202 -.184 -.193 -.199 -.150 -.160 -.167 -.104 -.076 -.041 -.005"""
F16_CX, F16_CM = (np.array([row.split() for row in t.strip().splitlines()], dtype=float) for t in (F16_CX, F16_CM))
F16_CZ = [0.770, 0.241, -0.100, -0.416, -0.731, -1.053, -1.366, -1.646, -1.917, -2.120, -2.248, -2.229]
F16_CZQ = [-8.8, -25.8, -28.9, -31.4, -31.2, -30.7, -27.7, -28.2, -29.0, -29.8, -38.3, -35.3]
F16_CMQ = [-7.21, -5.40, -5.23, -5.26, -6.11, -6.64, -5.69, -6.00, -6.20, -6.40, -6.60, -6.00]


# aircraft trim: F-16 in a level coordinated turn, Newton with a differenced Jacobian, the elevator per g of the turn
@prog("aircraft_trim", lambda: (520.0, 6000.0, 48.0, 0.31), (0, 1, 2, 3))
def elevator_per_g(vt, alt, bank_deg, xcg):
    GD, S, CBAR, XCGR, MASS = 32.17, 300.0, 11.32, 0.35, 20490.4 / 32.17
    RTOD = 180 / math.pi

    def qmul(a, b):
        w, v, s, u = a[0], a[1:], b[0], b[1:]
        return np.concatenate([[w * s - v @ u], w * u + s * v + np.cross(v, u)])

    def into_body(q, vec):
        conj = q * np.array([1, -1, -1, -1])
        return qmul(qmul(conj, np.concatenate([[0.0], vec])), q)[1:]

    def lookup(table, alpha, el):
        s = 0.2 * alpha
        k = min(max(int(s), -1), 8)
        da = s - k
        l = k + int(math.copysign(1.1, da))
        s = el / 12.0
        m = min(max(int(s), -1), 1)
        de = s - m
        n = m + int(math.copysign(1.1, de))
        k, l, m, n = k + 2, l + 2, m + 2, n + 2
        v = table[m, k] + abs(da) * (table[m, l] - table[m, k])
        w = table[n, k] + abs(da) * (table[n, l] - table[n, k])
        return v + (w - v) * abs(de)

    def residual(u, bank):
        alpha, el, thrust = u
        tfac = 1 - 0.703e-5 * alt
        qbar = 0.5 * 2.377e-3 * tfac**4.14 * vt**2
        half_a, half_b = alpha / RTOD / 2, bank / 2
        att = qmul(
            np.array([math.cos(half_b), math.sin(half_b), 0.0, 0.0]),
            np.array([math.cos(half_a), 0.0, math.sin(half_a), 0.0]),
        )
        specific = into_body(att, np.array([0.0, GD * math.tan(bank), -GD]))
        _, q, _ = into_body(att, np.array([0.0, 0.0, GD * math.tan(bank) / vt]))
        grid = np.arange(-10.0, 46.0, 5.0)
        qhat = q * CBAR / (2 * vt)
        cz = np.interp(alpha, grid, F16_CZ) - 0.19 * el / 25 + qhat * np.interp(alpha, grid, F16_CZQ)
        cx = lookup(F16_CX, alpha, el)
        cm = lookup(F16_CM, alpha, el) + qhat * np.interp(alpha, grid, F16_CMQ) + cz * (XCGR - xcg)
        return np.array([(qbar * S * cx + thrust) / MASS - specific[0], qbar * S * cz / MASS - specific[2], 40 * cm])

    def trim(bank):
        u = np.array([4.0, -2.0, 2500.0])
        for _ in range(40):
            f = residual(u, bank)
            jac = np.empty((3, 3))
            for j, h in enumerate((1e-4, 1e-4, 1.0)):
                du = np.zeros(3)
                du[j] = h
                jac[:, j] = (residual(u + du, bank) - residual(u - du, bank)) / (2 * h)
            delta = np.linalg.solve(jac, f)
            u -= delta
            if np.abs(delta / [1, 1, 1000]).max() < 1e-12:
                return u
        return u * np.nan

    bank = bank_deg / RTOD
    return float((trim(bank)[1] - trim(0.0)[1]) / (1 / math.cos(bank) - 1))


MU_EARTH, R_EARTH, FLATTENING = 398600.4418, 6378.1363, 1 / 298.257


# satellite orbit determination: Gauss's method from three angle pairs, refined with universal variables (Curtis 5.10)
@prog(
    "orbit_determination",
    lambda: (np.array([43.537, 54.420, 64.318]), np.array([-8.7833, -12.074, -15.105]), 118.10, 237.58),
    (0, 1, 2, 3),
)
def gauss_semi_major_axis(ra, dec, t2, t3):
    lat, h_site, lst = np.radians(40.0), 1.0, np.radians([44.506, 45.000, 45.499])
    denom = np.sqrt(1 - (2 * FLATTENING - FLATTENING**2) * np.sin(lat) ** 2)
    rxy = (R_EARTH / denom + h_site) * np.cos(lat)
    rz = (R_EARTH * (1 - FLATTENING) ** 2 / denom + h_site) * np.sin(lat)
    R = [np.array([rxy * np.cos(th), rxy * np.sin(th), rz]) for th in lst]
    a, d = np.deg2rad(ra), np.deg2rad(dec)
    L = np.column_stack((np.cos(d) * np.cos(a), np.cos(d) * np.sin(a), np.sin(d)))
    tau1, tau3 = -t2, t3 - t2
    tau = tau3 - tau1
    p = [np.cross(L[1], L[2]), np.cross(L[0], L[2]), np.cross(L[0], L[1])]
    D0 = L[0] @ p[0]
    D = [[R[i] @ p[j] for j in range(3)] for i in range(3)]
    A = (-D[0][1] * tau3 / tau + D[1][1] + D[2][1] * tau1 / tau) / D0
    B = (D[0][1] * (tau3**2 - tau**2) * tau3 / tau + D[2][1] * (tau**2 - tau1**2) * tau1 / tau) / 6 / D0
    E = R[1] @ L[1]
    poly = [1, 0, -(A**2 + 2 * A * E + R[1] @ R[1]), 0, 0, -2 * MU_EARTH * B * (A + E), 0, 0, -(MU_EARTH**2) * B**2]
    candidates = [r.real for r in np.roots(poly) if abs(r.imag) < 1e-6 and r.real > R_EARTH]
    r2 = min(candidates)
    u = MU_EARTH / r2**3
    f1, f3 = 1 - 0.5 * u * tau1**2, 1 - 0.5 * u * tau3**2
    g1, g3 = tau1 - u * tau1**3 / 6, tau3 - u * tau3**3 / 6

    def stumpff(z):
        if z > 1e-2:
            s = math.sqrt(z)
            return (1 - math.cos(s)) / z, (s - math.sin(s)) / s**3
        return 1 / 2 - z / 24 + z * z / 720 - z**3 / 40320, 1 / 6 - z / 120 + z * z / 5040 - z**3 / 362880

    def lagrange(r, vr, alpha, dt):
        chi = math.sqrt(MU_EARTH) * abs(alpha) * dt
        for _ in range(50):
            C, S = stumpff(alpha * chi**2)
            k = r * vr / math.sqrt(MU_EARTH)
            F = k * chi**2 * C + (1 - alpha * r) * chi**3 * S + r * chi - math.sqrt(MU_EARTH) * dt
            dF = k * chi * (1 - alpha * chi**2 * S) + (1 - alpha * r) * chi**2 * C + r
            chi -= F / dF
            if abs(F / dF) < 1e-13 * abs(chi):
                break
        C, S = stumpff(alpha * chi**2)
        return 1 - chi**2 / r * C, dt - chi**3 * S / math.sqrt(MU_EARTH)

    for _ in range(40):
        c1, c3 = g3 / (f1 * g3 - f3 * g1), -g1 / (f1 * g3 - f3 * g1)
        rho = [
            (-D[0][0] + D[1][0] / c1 - c3 / c1 * D[2][0]) / D0,
            (-c1 * D[0][1] + D[1][1] - c3 * D[2][1]) / D0,
            (-c1 / c3 * D[0][2] + D[1][2] / c3 - D[2][2]) / D0,
        ]
        pos = [R[i] + rho[i] * L[i] for i in range(3)]
        vel = (-f3 * pos[0] + f1 * pos[2]) / (f1 * g3 - f3 * g1)
        r, v2 = np.linalg.norm(pos[1]), vel @ vel
        alpha = 2 / r - v2 / MU_EARTH
        new = [lagrange(r, vel @ pos[1] / r, alpha, t) for t in (tau1, tau3)]
        f1, g1, f3, g3 = [(old + n) / 2 for old, n in zip((f1, g1, f3, g3), new[0] + new[1], strict=True)]
    return float(1 / alpha)


# pharmacokinetics: phenytoin, saturable elimination, an infused load then capsules; -2 log likelihood of the levels
@prog("pharmacokinetics", lambda: (np.array([7.2, 4.4, 0.68, 0.21]), 71.0, 0.12), (0, 1, 2))
def phenytoin_minus_2ll(theta, weight, cv):
    vmax_mgkgd, km, v_lkg, ka = theta
    V, vmax = v_lkg * weight, vmax_mgkgd * weight / 24.0  # L, mg/h
    doses = [
        {"t": 0.0, "mg_per_kg": 15.0, "route": "iv", "rate": 1500.0},
        {"t": 12.0, "mg": 100.0, "route": "po"},
        {"t": 20.0, "mg": 100.0, "route": "po"},
        {"t": 28.0, "mg": 200.0, "route": "po"},
    ]
    levels = [(2.0, 20.6), (11.5, 15.1), (19.0, 16.4), (27.5, 13.2), (36.0, 15.6)]  # h, mg/L
    infusions, boluses, breaks = [], {}, {0.0, levels[-1][0]}
    for d in doses:
        amount = d.get("mg") or d["mg_per_kg"] * weight
        breaks.add(d["t"])
        if d["route"] == "iv":
            t_end = d["t"] + amount / d["rate"]
            infusions.append((d["t"], t_end, d["rate"] * 0.92))
            breaks.add(t_end)
        else:
            boluses[d["t"]] = 0.92 * amount
    breaks = sorted(breaks)
    y = np.zeros(3)  # gut, plasma, cumulated area
    predicted = {}
    for t0, t1 in zip(breaks[:-1], breaks[1:], strict=True):
        y[0] += boluses.get(t0, 0.0)
        rate_in = sum(rate for a, b, rate in infusions if a <= t0 < b)

        def ode(t, s, rate_in=rate_in):
            conc = s[1] / V
            return [-ka * s[0], ka * s[0] + rate_in - vmax * conc / (km + conc), conc]

        wanted = [t for t, _ in levels if t0 < t <= t1]
        sol = solve_ivp(ode, (t0, t1), y, method="DOP853", t_eval=sorted({*wanted, t1}), rtol=1e-12, atol=1e-13)
        if not sol.success:
            return float("inf")
        for i, t in enumerate(wanted):
            predicted[t] = sol.y[1, i] / V
        y = sol.y[:, -1].copy()
    m2ll = 0.0
    for t, c_obs in levels:
        var = (cv * predicted[t]) ** 2 + 0.3**2
        m2ll += math.log(2 * math.pi * var) + (c_obs - predicted[t]) ** 2 / var
    return float(m2ll + ((y[2] / levels[-1][0] - 14.0) / 5.0) ** 2)


@dataclass
class Stem:
    x: float
    y: float
    dbh: float  # cm
    height: float = 0.0  # m
    alive: bool = True
    rings: list = field(default_factory=list)

    @property
    def basal_area(self):
        return math.pi * (self.dbh / 200) ** 2

    @property
    def volume(self):
        return 0.42 * self.basal_area * self.height


# tree growth forestry: distance-dependent growth of single spruces (Hegyi), a thinning from below, the present value
@prog(
    "tree_growth",
    lambda: (np.array([11.2, 9.4, 14.1, 8.3, 12.7, 10.5, 13.4, 7.6, 15.0, 9.9, 11.8, 12.2]), 26.0, 0.55, 0.025),
    (0, 1, 2, 3),
)
def thinned_stand_value(dbhs, site_index, sensitivity, interest):
    def top_height(age):
        b1, b2 = 0.0245, 1.32
        return site_index * ((1 - math.exp(-b1 * age)) / (1 - math.exp(-b1 * 100))) ** b2

    stand = []
    for i, d in enumerate(dbhs):
        row, col = divmod(i, 4)
        stand.append(Stem(x=2.4 * col + 0.3 * (row % 2), y=2.5 * row + 0.2 * ((i * 7) % 3), dbh=d))
    price = lambda d: np.interp(d, [8, 14, 20, 30, 40], [0, 22, 41, 63, 71])  # per m3, by diameter
    area_ha = 9.6 * 7.5 / 1e4
    income, age = 0.0, 30
    while age < 75:
        living = [s for s in stand if s.alive]
        h100, d100 = top_height(age), sorted((s.dbh for s in living), reverse=True)[1]
        for s in living:
            s.height = 1.3 + (h100 - 1.3) * (1 - math.exp(-1.9 * s.dbh / d100)) / (1 - math.exp(-1.9))
        if age == 45:
            ranked = sorted(living, key=lambda s: s.dbh / (1 + sum(o.dbh > s.dbh for o in living)))
            for s in ranked[: len(ranked) // 3]:
                s.alive = False
                income += s.volume * price(s.dbh) / area_ha / (1 + interest) ** (age - 30)
            living = ranked[len(ranked) // 3 :]
        growth = {}
        for k, s in enumerate(living):
            hegyi = 0.0
            for m, o in enumerate(living):
                if m == k:
                    continue
                dx = (s.x - o.x + 4.8) % 9.6 - 4.8
                dy = (s.y - o.y + 3.75) % 7.5 - 3.75
                dist = math.hypot(dx, dy)
                if dist > 5.0:
                    continue
                hegyi += o.dbh / s.dbh / (dist + 1)
            potential = 0.11 * site_index * math.exp(-0.017 * s.dbh) * (1 - math.exp(-0.12 * s.dbh))
            growth[id(s)] = potential * math.exp(-sensitivity * hegyi)
        for s in living:
            s.dbh += growth[id(s)]
            s.rings.append(growth[id(s)])
            s.alive = len(s.rings) < 4 or s.rings[-1] > 0.12
        age += 5
    for s in stand:
        if s.alive:
            income += s.volume * price(s.dbh) / area_ha * (1 + interest) ** (30 - age)
    return float(income)


TIDES = {  # degrees per hour
    "M2": 28.9841042,
    "S2": 30.0,
    "K1": 15.0410686,
    "O1": 13.9430356,
    "N2": 28.4397295,
    "K2": 30.0821373,
    "P1": 14.9589314,
    "M4": 57.9682084,
}


# tidal harmonics: analysis of 15 days of hourly levels, close constituents inferred, then the next high water
@prog(
    "tidal_harmonics",
    lambda: (
        np.array([1.62, 0.55, 0.14, 0.11, 0.31, 0.15, 0.045, 0.09]),
        np.array([143.0, 187.0, 38.0, 342.0, 121.0, 185.0, 36.0, 210.0]),
        2.35,
    ),
    (0, 1, 2),
)
def high_water_after_analysis(amps, lags, msl, hours=360):
    t = np.arange(hours) - (hours - 1) / 2
    truth = {name: cmath.rect(a, -math.radians(g)) for name, a, g in zip(TIDES, amps, lags, strict=True)}
    level = np.full(hours, msl) + np.random.default_rng(5).normal(0, 0.03, hours)
    for name, phasor in truth.items():
        level += np.real(phasor * np.exp(1j * np.deg2rad(TIDES[name]) * t))
    # Rayleigh criterion
    chosen = []
    for name in TIDES:
        for other in chosen:
            if abs(TIDES[name] - TIDES[other]) * hours < 0.9 * 360:
                break
        else:
            chosen.append(name)
    w = np.deg2rad([TIDES[n] for n in chosen])
    arg = np.outer(t, w)
    design = np.hstack([np.ones((hours, 1)), t[:, None] / hours, np.cos(arg), np.sin(arg)])
    coef, *_ = np.linalg.lstsq(design, level, rcond=None)
    n = len(chosen)
    fit = dict(zip(chosen, coef[2 : 2 + n] - 1j * coef[2 + n :], strict=True))
    for small, big, ratio, dg in [("K2", "S2", 0.272, -2.0), ("P1", "K1", 0.331, -2.0)]:
        if small in fit:
            continue
        x = math.radians(TIDES[small] - TIDES[big]) * hours / 2
        r = ratio * cmath.exp(-1j * math.radians(dg))
        fit[big] /= 1 + r * math.sin(x) / x
        fit[small] = fit[big] * r
    speed = np.array([math.radians(TIDES[k]) for k in fit])
    z = np.array(list(fit.values()))

    def height(when, derivative=0):
        return (z * (1j * speed) ** derivative * np.exp(1j * speed * when)).sum().real

    start = hours / 2 + 24.0
    quarter = np.arange(start, start + 26, 0.25)
    curve = np.array([height(q) for q in quarter])
    peaks = np.flatnonzero((curve[1:-1] > curve[:-2]) & (curve[1:-1] >= curve[2:])) + 1
    hw = quarter[peaks[0]]
    for _ in range(20):
        step = height(hw, 1) / height(hw, 2)
        hw -= step
        if abs(step) < 1e-13:
            break
    rms = np.sqrt(np.mean((level - design @ coef) ** 2))
    return float(coef[0] + height(hw) + 0.05 * (hw - start) + rms)


# hearing aids: NAL-R gains for an audiogram, a wide dynamic range compressor, audibility of the bands (SII)
@prog("hearing_aid", lambda: (np.array([20.0, 27.0, 38.0, 52.0, 61.0, 66.0]), 2.1, 3.0, 62.0), (0, 1, 2, 3))
def aided_speech_audibility(audiogram, ratio, attack_ms, level_db):
    fs = 16000
    freqs = np.array([250, 500, 1000, 2000, 4000, 6000])
    k_nal = np.array([-17, -8, 1, -1, -2, -2])
    x = 0.05 * audiogram[1:4].sum()
    gain_db = np.maximum(x + 0.31 * audiogram + k_nal, 0.0)
    # speech-shaped noise that comes in bursts
    n = 640
    noise = np.random.default_rng(11).standard_normal(n)
    noise = signal.lfilter([1.0], [1.0, -0.75], noise)
    noise *= 1 + 0.8 * np.sign(np.sin(2 * np.pi * 50 * np.arange(n) / fs))
    pressure = noise / np.sqrt(np.mean(noise**2)) * 10 ** ((level_db - 94) / 20)
    # frequency sampling design of the insertion gain
    nfft = 64
    grid = np.fft.rfftfreq(nfft, 1 / fs)
    mag = 10 ** (np.interp(np.log2(np.maximum(grid, 62.5)), np.log2(freqs), gain_db) / 20)
    fir = np.roll(np.fft.irfft(mag, nfft), nfft // 2) * np.hamming(nfft)
    shaped = np.convolve(pressure, fir)[nfft // 2 : nfft // 2 + n]

    def make_compressor(threshold, release_ms=40.0):
        a_att, a_rel = (math.exp(-1 / (1e-3 * ms * fs)) for ms in (attack_ms, release_ms))
        env = 10 ** ((threshold - 94) / 20)

        def process(sample):
            nonlocal env
            mag = abs(sample)
            a = a_att if mag > env else a_rel
            env = a * env + (1 - a) * mag
            spl = 94 + 20 * math.log10(env)
            if spl <= threshold:
                return sample
            return sample * 10 ** (-(spl - threshold) * (1 - 1 / ratio) / 20)

        return process

    wdrc = make_compressor(52.0)
    out = np.array([wdrc(s) for s in shaped])
    importance = {250: 0.0617, 500: 0.1671, 1000: 0.2373, 2000: 0.2648, 4000: 0.2142, 6000: 0.0549}
    reference = {250: 7.8, 500: 6.0, 1000: 4.2, 2000: -1.0, 4000: -3.8, 6000: 4.5}
    sii = 0.0
    for (fc, weight), htl in zip(importance.items(), audiogram, strict=True):
        sos = signal.butter(2, [fc / 2**0.5, min(fc * 2**0.5, 0.49 * fs)], "bandpass", fs=fs, output="sos")
        band = signal.sosfilt(sos, out)
        spl = 94 + 10 * np.log10(np.mean(band[100:] ** 2))
        audible = (spl - (htl + reference[fc]) + 15) / 30
        distortion = min(1.0, 1 - (spl - 73) / 160)
        sii += weight * min(max(audible, 0.0), 1.0) * distortion
    return sii


class GlickoPlayer:
    def __init__(self, rating, rd, vol=0.06):
        self.mu, self.phi, self.vol = (rating - 1500) / 173.7178, rd / 173.7178, vol

    @staticmethod
    def g(phi):
        return 1 / math.sqrt(1 + 3 * phi**2 / math.pi**2)

    def expect(self, other):
        return 1 / (1 + math.exp(-self.g(other.phi) * (self.mu - other.mu)))

    def updated(self, results, tau):
        if not results:
            return self.mu, math.hypot(self.phi, self.vol), self.vol
        v = 1 / sum(self.g(o.phi) ** 2 * self.expect(o) * (1 - self.expect(o)) for o, _ in results)
        total = sum(self.g(o.phi) * (s - self.expect(o)) for o, s in results)
        spare = (v * total) ** 2 - self.phi**2 - v
        a = A = math.log(self.vol**2)

        def f(x):
            ex = math.exp(x)
            return ex * (spare - ex) / (2 * (self.phi**2 + v + ex) ** 2) - (x - a) / tau**2

        B = math.log(spare) if spare > 0 else next(a - k * tau for k in itertools.count(1) if f(a - k * tau) >= 0)
        fa, fb = f(A), f(B)
        while abs(B - A) > 1e-13 and fb != 0:  # Illinois
            C = A + (A - B) * fa / (fb - fa)
            fc = f(C)
            if fc * fb <= 0:
                A, fa = B, fb
            else:
                fa /= 2
            B, fb = C, fc
        vol = math.exp(B / 2)
        phi = 1 / math.sqrt(1 / (self.phi**2 + vol**2) + 1 / v)
        return self.mu + phi**2 * total, phi, vol


# chess ratings: Glicko-2 over three rating periods of a club, results packed in bits, the loss on the rapid games after
@prog(
    "chess_ratings",
    lambda: (
        np.array([1812.0, 1530.0, 1655.0, 1490.0, 1720.0, 1601.0]),
        np.array([60.0, 210.0, 95.0, 300.0, 75.0, 130.0]),
        0.5,
    ),
    (0, 1, 2),
)
def glicko_two_log_loss(ratings, deviations, tau):
    players = [GlickoPlayer(r, rd) for r, rd in zip(ratings, deviations, strict=True)]
    n = len(players)
    packed = [0x2A16_1862, 0x0919_2264, 0x2580_6A18]  # two bits a game: 0 loss, 1 draw, 2 win of the first
    for period, bits in enumerate(packed):
        results = {i: [] for i in range(n)}
        order = list(range(n))
        for _ in range(n - 1):
            for a, b in zip(order[: n // 2], reversed(order[n // 2 :]), strict=True):
                code, bits = bits & 0b11, bits >> 2
                if code == 3 or (a ^ b) & 7 == period:
                    continue  # not played
                results[a].append((players[b], code / 2))
                results[b].append((players[a], 1 - code / 2))
            order[1:] = order[-1:] + order[1:-1]
        fresh = [p.updated(results[i], tau) for i, p in enumerate(players)]
        for p, state in zip(players, fresh, strict=True):
            p.mu, p.phi, p.vol = state
    rapid = [(0, 1, 1.0), (2, 3, 0.5), (4, 5, 1.0), (1, 4, 0.0), (3, 0, 0.0), (5, 2, 0.5), (3, 1, 1.0)]
    loss = 0.0
    for i, j, s in rapid:
        both = math.hypot(players[i].phi, players[j].phi)
        p = 1 / (1 + math.exp(-GlickoPlayer.g(both) * (players[i].mu - players[j].mu)))
        loss -= s * math.log(p) + (1 - s) * math.log1p(-p)
    table = np.zeros(3)
    np.add.at(table, [0, 1, 1, 2, 0, 2], [p.phi for p in players])  # by team
    volatility = sum(p.vol for p in players) / n
    return loss / len(rapid) + 0.05 * float(table.max()) + 10 * volatility


SELLMEIER = {
    "N-BK7": ((1.03961212, 0.00600069867), (0.231792344, 0.0200179144), (1.01046945, 103.560653)),
    "SF5": ((1.52481889, 0.011254756), (0.187085527, 0.0588995392), (1.42729015, 129.141675)),
    "air": (),
}


# lens design: cemented doublet, paraxial matrices then skew rays in three colours, the RMS spot at the best focus
@prog(
    "lens_design",
    lambda: (np.array([1 / 61.0, -1 / 44.5, -1 / 129.0]), np.array([6.0, 2.5]), 1.5, 10.5),
    (0, 1, 2, 3),
)
def doublet_spot_radius_um(curvatures, thickness, field_deg, semi_aperture):
    media = ["air", "N-BK7", "SF5", "air"]

    def index(glass, um):
        return math.sqrt(1 + sum(b * um**2 / (um**2 - c) for b, c in SELLMEIER[glass]))

    def matmul(p, q):
        return [[sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*q, strict=True)] for row in p]

    def radical_inverse(i, bits=6):
        out = 0
        for _ in range(bits):
            out, i = out << 1 | i & 1, i >> 1
        return out / (1 << bits)

    system = [[1.0, 0.0], [0.0, 1.0]]
    for s, c in enumerate(curvatures):
        n1, n2 = index(media[s], 0.5876), index(media[s + 1], 0.5876)
        system = matmul([[1.0, 0.0], [-c * (n2 - n1) / n2, n1 / n2]], system)
        if s < len(thickness):
            system = matmul([[1.0, thickness[s]], [0.0, 1.0]], system)
    bfd = -system[0][0] / system[1][0]

    def trace(px, py, um):
        th = math.radians(field_deg)
        pos, d = [px, py, 0.0], [0.0, math.sin(th), math.cos(th)]
        for s, c in enumerate(curvatures):
            n1, n2 = index(media[s], um), index(media[s + 1], um)
            along = d[2] - c * sum(p * q for p, q in zip(pos, d, strict=True))
            gap = c * sum(p * p for p in pos) - 2 * pos[2]
            disc = along**2 - c * gap
            if disc < 0:
                return None
            run = gap / (along + math.sqrt(disc))
            pos = [p + run * q for p, q in zip(pos, d, strict=True)]
            normal = [-c * pos[0], -c * pos[1], 1 - c * pos[2]]
            cos_i = sum(p * q for p, q in zip(normal, d, strict=True))
            eta = n1 / n2
            cos_t2 = 1 - eta**2 * (1 - cos_i**2)
            if cos_t2 <= 0:
                return None
            gamma = math.sqrt(cos_t2) - eta * cos_i
            d = [eta * q + gamma * m for q, m in zip(d, normal, strict=True)]
            pos[2] -= thickness[s] if s < len(thickness) else bfd
        run = -pos[2] / d[2]
        return pos[0] + run * d[0], pos[1] + run * d[1], d[0] / d[2], d[1] / d[2]

    hits = []
    for um, weight in ((0.4861, 1.0), (0.5876, 2.0), (0.6563, 1.0)):
        for i in range(1, 25):
            r, phi = semi_aperture * math.sqrt(radical_inverse(i)), i * math.pi * (3 - math.sqrt(5))
            ray = trace(r * math.cos(phi), r * math.sin(phi), um)
            if ray is not None:
                hits.append((weight, *ray))
    w, x, y, u, v = np.array(hits).T
    w /= w.sum()
    x, y, u, v = (q - w @ q for q in (x, y, u, v))
    defocus = -(w @ (x * u + y * v)) / (w @ (u * u + v * v))
    return 1e3 * math.sqrt(w @ ((x + defocus * u) ** 2 + (y + defocus * v) ** 2))


CK_A = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [3 / 10, -9 / 10, 6 / 5],
    [-11 / 54, 5 / 2, -70 / 27, 35 / 27],
    [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
]
CK_B5 = [37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771]
CK_B4 = [2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4]


# coffee roasting: Schwartzberg's drum model with moisture and exotherm, Cash-Karp steps, the development time ratio
@prog("coffee_roasting", lambda: (195.0, np.array([0.95, 0.8, 0.62, 0.45]), 0.12, 0.105), (0, 1, 2, 3))
def roast_development_ratio(charge_temp, gas, batch_kg, moisture0):
    first_crack_C, drop_C = 196.0, 214.0
    events = {}
    n_rejected = 0

    def rates(s, burner):
        bean, air, water, heat = s
        kelvin = bean + 273.15
        drying = 4.32e9 * water**2 / 5.5**2 * math.exp(-9889.0 / kelvin)
        exotherm = 116.2 * math.exp(-5500.0 / kelvin) * (232.0 - heat) / 232.0
        cp = 1.099 + 0.007 * bean / 10 + 5.0 * water
        d_bean = (0.00045 / batch_kg * (air - bean) + 0.5 * exotherm - 2.79e3 * drying / (1 + water) * 0.3) / cp
        d_air = (charge_temp * 0.4 + 430.0 * burner - air) / 45.0 - 0.0022 / batch_kg * (air - bean) * 0.05
        return [d_bean, d_air, -drying, exotherm]

    def step(s, h, burner):
        k = []
        for row in CK_A:
            stage = [si + h * sum(a * kj[i] for a, kj in zip(row, k, strict=True)) for i, si in enumerate(s)]
            k.append(rates(stage, burner))
        combine = lambda b: [si + h * sum(bj * kj[i] for bj, kj in zip(b, k, strict=True)) for i, si in enumerate(s)]
        return combine(CK_B5), combine(CK_B4)

    def advance(t, s, t_end, burner):
        nonlocal n_rejected
        h = 2.0
        while t < t_end:
            h = min(h, t_end - t)
            new, low = step(s, h, burner)
            err = max(abs(a - b) / (1e-11 + 1e-11 * abs(a)) for a, b in zip(new, low, strict=True)) + 1e-12
            if err > 1:
                n_rejected += 1
                h *= max(0.2, 0.9 * err**-0.25)
                continue
            for name, mark in (("FC", first_crack_C), ("drop", drop_C)):
                if name in events or not s[0] < mark <= new[0]:
                    continue
                part = h * (mark - s[0]) / (new[0] - s[0])
                for _ in range(8):
                    there = step(s, part, burner)[0]
                    part -= (there[0] - mark) / rates(there, burner)[0]
                events[name] = (t + part, step(s, part, burner)[0][2])
            if "drop" in events:
                return t, new
            t, s = t + h, new
            h *= min(4.0, 0.9 * err**-0.2)
        return t_end, s

    t, s = 0.0, [25.0, charge_temp, moisture0, 0.0]
    for i, burner in enumerate(gas):
        t, s = advance(t, s, 120.0 * (i + 1) if i < 3 else 1500.0, burner)
        if "drop" in events:
            break
    if "drop" not in events:
        return -s[0] / 100  # stalled roast
    t_fc, t_drop = events["FC"][0], events["drop"][0]
    return 100 * (t_drop - t_fc) / t_drop + 1e3 * events["drop"][1] + 1e-3 * t_drop
