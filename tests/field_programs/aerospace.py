"""Orbits, rockets, aircraft and helicopters."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from tests.field_programs import program


# ---------------------------------------------------------------- satellite_range
def solve_kepler(M, e, tol=1e-13, max_iter=50):
    """Newton iteration for the eccentric anomaly."""
    E = M if e < 0.8 else math.pi
    for _ in range(max_iter):
        dE = (E - e * math.sin(E) - M) / (1.0 - e * math.cos(E))
        E -= dE
        if abs(dE) < tol:
            return E
    raise RuntimeError(f"Kepler solver did not converge for M={M}, e={e}")


@program(
    "orbital mechanics: range of a satellite",
    lambda: ([8200.0, 0.12, 0.9, 1.1, 0.4, 0.3], 900.0, (4000.0, 3500.0, 3300.0)),
    wrt=(0, 1, 2),
)
def satellite_range(elements, t, observer, mu=398600.4418):
    a, e, inc, raan, argp, M0 = elements
    n = math.sqrt(mu / a**3)
    E = solve_kepler(M0 + n * t, e)
    xp = a * (math.cos(E) - e)
    yp = a * math.sqrt(1 - e * e) * math.sin(E)
    cO, sO = math.cos(raan), math.sin(raan)
    cw, sw = math.cos(argp), math.sin(argp)
    ci, si = math.cos(inc), math.sin(inc)
    x = (cO * cw - sO * sw * ci) * xp + (-cO * sw - sO * cw * ci) * yp
    y = (sO * cw + cO * sw * ci) * xp + (-sO * sw + cO * cw * ci) * yp
    z = sw * si * xp + cw * si * yp
    return math.sqrt((x - observer[0]) ** 2 + (y - observer[1]) ** 2 + (z - observer[2]) ** 2)


# ---------------------------------------------------------------- universal_kepler
def stumpff(z):
    if z > 1e-6:
        s = math.sqrt(z)
        return (1 - math.cos(s)) / z, (s - math.sin(s)) / s**3
    if z < -1e-6:
        s = math.sqrt(-z)
        return (1 - math.cosh(s)) / z, (math.sinh(s) - s) / s**3
    return 0.5 - z / 24, 1 / 6 - z / 120


@program(
    "astronomy: orbit from Gauss, Stumpff functions and universal Kepler by Newton",
    lambda: (np.array([1.0, 0.1, 0.05]), np.array([0.1, 1.05, 0.2]), 2.3),
    wrt=(0, 1, 2),
)
def universal_kepler(r0, v0, t):
    r, v2 = np.linalg.norm(r0), v0 @ v0
    vr = r0 @ v0 / r
    alpha = 2 / r - v2
    chi = alpha * t
    for _ in range(100):
        C, S = stumpff(alpha * chi**2)
        F = r * vr * chi**2 * C + (1 - alpha * r) * chi**3 * S + r * chi - t
        dF = r * vr * chi * (1 - alpha * chi**2 * S) + (1 - alpha * r) * chi**2 * C + r
        step = F / dF
        chi -= step
        if abs(step) < 1e-14:
            break
    C, S = stumpff(alpha * chi**2)
    f = 1 - chi**2 / r * C
    g = t - chi**3 * S
    return np.sum((f * r0 + g * v0) * np.array([1.0, 2.0, 3.0]))


# ---------------------------------------------------------------- transfer_dv
# astrodynamics: Lambert by universal variables with Stumpff functions and Newton, try/except around it
def lambert_stumpff(psi):
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
        c2, c3 = lambert_stumpff(psi)
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


@program(
    "astrodynamics: Lambert by universal variables with Stumpff functions and Newton, try/except around it",
    lambda: (np.array([1.0, 0.1, 0.0]), np.array([-0.2, 1.3, 0.1])),
    wrt=(0, 1),
)
def transfer_dv(r1, r2):
    try:
        v1, v2 = lambert(r1, r2, 1.7)
    except ConvergenceError:
        return 100.0
    circ = np.array([0.0, 1.0, 0.0])
    return np.linalg.norm(v1 - circ) + np.linalg.norm(v2)


# ---------------------------------------------------------------- gauss_semi_major_axis
MU_EARTH, R_EARTH, FLATTENING = 398600.4418, 6378.1363, 1 / 298.257


@program(
    "satellite orbit determination: Gauss's method from three angle pairs, "
    "refined with universal variables (Curtis 5.10)",
    lambda: (np.array([43.537, 54.420, 64.318]), np.array([-8.7833, -12.074, -15.105]), 118.10, 237.58),
    wrt=(0, 1, 2, 3),
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


# ---------------------------------------------------------------- apogee
@dataclass
class Stage:
    propellant: float
    dry: float
    thrust: float
    exhaust: float


@program(
    "rocketry: a two-stage ascent by events, with gravity and drag, height at burnout and coasting",
    lambda: (np.array([900.0, 250.0]), np.array([2.4e4, 6.5e3]), 0.35),
    wrt=(0, 1, 2),
)
def apogee(propellant, thrust, drag_area):
    g0, scale_height = 9.80665, 8400.0
    stages = [Stage(p, 0.12 * p, t, v) for p, t, v in zip(propellant, thrust, (2500.0, 2950.0))]
    payload, dt = 60.0, 0.5
    height = velocity = 0.0
    mass = payload + sum(s.propellant + s.dry for s in stages)
    while stages:
        stage = stages.pop(0)
        left = stage.propellant
        flow = stage.thrust / stage.exhaust
        for _ in range(int(40)):
            burn = min(flow * dt, left)
            push = stage.exhaust * burn / dt
            density = 1.225 * math.exp(-height / scale_height)
            drag = 0.5 * density * drag_area * 0.4 * velocity * abs(velocity)
            velocity += dt * ((push - drag) / mass - g0)
            height = max(height + dt * velocity, 0.0)
            left -= burn
            mass -= burn
        mass -= stage.dry
    return (height + velocity**2 / (2.0 * g0)) / 1000.0


# ---------------------------------------------------------------- rotor_trim
@program(
    "helicopter dynamics: harmonic balance of the flapping of a rotor in forward flight with a uniform Glauert inflow",
    lambda: (np.array([0.14, -0.02, 0.03]), 0.22, np.array([0.05, -0.09])),
    wrt=(0, 1, 2),
)
def rotor_trim(controls, mu, twist):
    theta_0, theta_1c, theta_1s = controls
    psi = np.deg2rad(np.arange(0.0, 360.0, 15.0))
    r = np.linspace(0.12, 1.0, 12)
    PSI, R = np.meshgrid(psi, r, indexing="ij")
    solidity, lift_slope, lock, nu = 0.08, 5.73, 8.0, 1.04
    c, s = np.cos(PSI), np.sin(PSI)
    pitch = theta_0 + theta_1c * c + theta_1s * s + np.interp(R, [0.12, 1.0], twist)
    tangential = R + mu * s
    advancing = tangential > 0.0
    beta, inflow = np.zeros(3), 0.05
    converged = False
    while not converged:
        flap = beta[0] + beta[1] * c + beta[2] * s
        rate = beta[2] * c - beta[1] * s
        normal = inflow + R * rate + mu * flap * c
        lift = np.where(advancing, tangential**2 * pitch - tangential * normal, 0.0)
        moment = 0.5 * lock * np.trapezoid(lift * R, r, axis=1)
        thrust = 0.5 * solidity * lift_slope * np.mean(np.trapezoid(lift, r, axis=1))
        harmonics = np.array([moment.mean(), 2.0 * (moment * c[:, 0]).mean(), 2.0 * (moment * s[:, 0]).mean()])
        error = harmonics - np.array([nu**2, nu**2 - 1.0, nu**2 - 1.0]) * beta
        step = 0.5 * np.array([error[0], -8.0 / lock * error[2], 8.0 / lock * error[1]])
        wanted = mu * math.tan(0.08) + 0.5 * thrust / np.hypot(mu, inflow)
        converged = np.abs(step).max() < 1e-12 and abs(wanted - inflow) < 1e-12
        beta += step
        inflow += 0.5 * (wanted - inflow)
    return 100.0 * thrust / solidity + np.degrees(beta) @ np.array([0.2, 1.0, -1.0]) + inflow


# ---------------------------------------------------------------- section_lift
@program(
    "aerodynamics: a Hess-Smith panel method about a four-digit section with a flap, lift and moment coefficients",
    lambda: (4.0, np.array([0.0, 0.004, 0.006, 0.002]), 8.0),
    wrt=(0, 1, 2),
)
def section_lift(alpha, bumps, flap, code="2412"):
    m, p, t = int(code[0]) / 100, int(code[1]) / 10, int(code[2:]) / 100
    x = 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 16)))
    yt = 5 * t * (0.2969 * np.sqrt(x) + x * (-0.1260 + x * (-0.3516 + x * (0.2843 - 0.1036 * x))))
    front = x < p
    yc = np.where(front, m / p**2 * (2 * p * x - x**2), m / (1 - p) ** 2 * (1 - 2 * p + 2 * p * x - x**2))
    slope = np.where(front, 2 * m / p**2 * (p - x), 2 * m / (1 - p) ** 2 * (p - x))
    yc = yc - np.tan(np.radians(flap)) * np.clip(x - 0.75, 0.0, None)
    yt = yt + sum(b * np.sin(np.pi * (k + 1) * x) for k, b in enumerate(bumps))
    th = np.arctan(slope)
    X = np.r_[(x + yt * np.sin(th))[::-1], (x - yt * np.sin(th))[1:]]
    Y = np.r_[(yc - yt * np.cos(th))[::-1], (yc + yt * np.cos(th))[1:]]
    dx, dy = np.diff(X), np.diff(Y)
    S = np.sqrt(dx**2 + dy**2)
    phi = np.arctan2(dy, dx)
    xm, ym = 0.5 * (X[1:] + X[:-1]), 0.5 * (Y[1:] + Y[:-1])
    n = S.size
    # panel j seen from the middle of panel i
    r2 = np.hypot(xm[:, None] - X[None, 1:], ym[:, None] - Y[None, 1:])
    r1 = np.hypot(xm[:, None] - X[None, :-1], ym[:, None] - Y[None, :-1])
    nx = (xm[:, None] - X[:-1]) * (xm[:, None] - X[1:]) + (ym[:, None] - Y[:-1]) * (ym[:, None] - Y[1:])
    ny = (ym[:, None] - Y[1:]) * (xm[:, None] - X[:-1]) - (xm[:, None] - X[1:]) * (ym[:, None] - Y[:-1])
    turn = np.arctan2(ny, nx)
    np.fill_diagonal(turn, np.pi)
    rot = phi[:, None] - phi[None, :]
    ratio = np.log(r2 / r1)
    normal_source = np.sin(rot) * ratio + np.cos(rot) * turn
    normal_vortex = np.cos(rot) * ratio - np.sin(rot) * turn
    A = np.empty((n + 1, n + 1))
    A[:n, :n] = normal_source / (2 * np.pi)
    A[:n, n] = normal_vortex.sum(axis=1) / (2 * np.pi)
    tangent = -normal_vortex[[0, -1]] / (2 * np.pi)
    A[n, :n] = tangent.sum(axis=0)
    A[n, n] = normal_source[[0, -1]].sum() / (2 * np.pi)
    a = np.radians(alpha)
    b = np.append(np.sin(phi - a), -np.cos(phi[0] - a) - np.cos(phi[-1] - a))
    q = np.linalg.solve(A, b)
    Vt = np.cos(phi - a) - normal_vortex @ q[:n] / (2 * np.pi) + q[n] * normal_source.sum(axis=1) / (2 * np.pi)
    cp = 1.0 - Vt**2
    cx, cy = np.sum(cp * dy), -np.sum(cp * dx)
    moment = np.sum(cp * (dx * (xm - 0.25) + dy * ym))
    return cy * np.cos(a) - cx * np.sin(a) + moment


# ---------------------------------------------------------------- elevator_per_g
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


@program(
    "aircraft trim: F-16 in a level coordinated turn, Newton with a differenced "
    "Jacobian, the elevator per g of the turn",
    lambda: (520.0, 6000.0, 48.0, 0.31),
    wrt=(0, 1, 2, 3),
    slow=True,
)
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


# ---------------------------------------------------------------- attitude_error
def cross_matrix(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def hamilton(p, q):
    return np.concatenate(([p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])))


def quaternion_of(rotation_vector):
    angle = np.linalg.norm(rotation_vector)
    if angle < 1e-10:
        return np.concatenate(([1.0], 0.5 * rotation_vector))
    return np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * rotation_vector / angle))


def to_body(q, v):
    w, u = q[0], q[1:]
    t = 2 * np.cross(v, u)
    return v + w * t + np.cross(t, u)


class AttitudeFilter:
    def __init__(self, gyro_noise, bias_walk, attitude_sigma=0.2, bias_sigma=0.03):
        self.q = np.array([1.0, 0.0, 0.0, 0.0])
        self.bias = np.zeros(3)
        self.P = np.diag([attitude_sigma**2] * 3 + [bias_sigma**2] * 3)
        self.noise = gyro_noise, bias_walk
        self.nis = []

    def predict(self, gyro, dt):
        rate = gyro - self.bias
        self.q = hamilton(self.q, quaternion_of(rate * dt))
        F = np.eye(6)
        F[:3, :3] -= cross_matrix(rate) * dt
        F[:3, 3:] = -np.eye(3) * dt
        self.P = F @ self.P @ F.T
        self.P[:3, :3] += np.eye(3) * self.noise[0] ** 2 * dt
        self.P[3:, 3:] += np.eye(3) * self.noise[1] ** 2 * dt

    def update(self, measured, reference, sigma, gate=60.0):
        expected = to_body(self.q, reference)
        H = np.hstack([cross_matrix(expected), np.zeros((3, 3))])
        S = H @ self.P @ H.T + sigma**2 * np.eye(3)
        innovation = measured - expected
        distance = innovation @ np.linalg.solve(S, innovation)
        if distance > gate:
            return
        self.nis.append(distance)
        K = np.linalg.solve(S, H @ self.P).T
        dx = K @ innovation
        self.q = hamilton(self.q, quaternion_of(dx[:3]))
        self.q /= np.linalg.norm(self.q)
        self.bias += dx[3:]
        A = np.eye(6) - K @ H
        self.P = A @ self.P @ A.T + sigma**2 * K @ K.T


@program(
    "gyroscope attitude filter: a multiplicative extended Kalman filter of "
    "attitude and bias, by gravity and magnetometer",
    lambda: (np.array([0.021, -0.013, 0.017]), 0.012, 0.002, 0.03, 0.11, 4),
    wrt=(0, 1, 2, 3, 4),
    slow=True,
)
def attitude_error(true_bias, gyro_noise, bias_walk, accel_sigma, dip, n=60, dt=0.05):
    rng = np.random.default_rng(5)
    t = dt * np.arange(n)
    rates = np.column_stack([0.6 * np.sin(1.1 * t), 0.4 * np.cos(0.7 * t), 0.3 + 0.2 * np.sin(2 * t)])
    gravity, north = np.array([0.0, 0.0, 1.0]), np.array([np.cos(dip), 0.0, -np.sin(dip)])
    kf = AttitudeFilter(gyro_noise, bias_walk)
    truth = Rotation.from_rotvec([0.05, -0.08, 0.12])
    loss = 0.0
    for k, rate in enumerate(rates):
        truth = truth * Rotation.from_rotvec(rate * dt)
        kf.predict(rate + true_bias + 0.01 * rng.standard_normal(3), dt)
        to_sensor = truth.as_matrix().T
        kf.update(to_sensor @ gravity + 0.03 * rng.standard_normal(3), gravity, accel_sigma)
        if k % 3 == 0:
            kf.update(to_sensor @ north + 0.05 * rng.standard_normal(3), north, 0.05)
        x, y, z, w = truth.as_quat()
        error = hamilton(np.array([w, -x, -y, -z]), kf.q)
        loss += 4 * np.sum(error[1:] ** 2)
    bias_error = np.linalg.norm(kf.bias - true_bias)
    return np.sqrt(loss / n) + bias_error + 0.01 * np.mean(kf.nis)


# ---------------------------------------------------------------- elements_sum
@program(
    "astrodynamics: orbital elements from state, arccos and sign fix",
    lambda: (np.array([7000.0, 1200.0, 300.0]), np.array([-1.0, 7.0, 2.0])),
    wrt=(0, 1),
)
def elements_sum(r, v, mu=398600.4418):
    rn, vn = map(np.linalg.norm, (r, v))
    h = np.cross(r, v)
    K = np.array([0.0, 0.0, 1.0])
    n = np.cross(K, h)
    e = ((vn**2 - mu / rn) * r - r.dot(v) * v) / mu
    ecc = np.linalg.norm(e)
    energy = vn**2 / 2 - mu / rn
    if not np.isclose(ecc, 1.0):
        a = -mu / (2 * energy)
        p = a * (1 - ecc**2)
    else:
        p = h @ h / mu
        a = np.inf
    i = np.arccos(h[2] / np.linalg.norm(h))
    Om = np.arccos(n[0] / np.linalg.norm(n))
    if n[1] < 0:
        Om = 2 * np.pi - Om
    argp = np.arccos(n.dot(e) / (np.linalg.norm(n) * ecc))
    argp = argp if e[2] >= 0 else 2 * np.pi - argp
    nu = np.arccos(np.clip(e @ r / (ecc * rn), -1, 1))
    if r @ v < 0:
        nu = 2 * np.pi - nu
    return a / 1000 + p / 1000 + ecc + np.rad2deg(i) / 10 + Om + argp + nu
