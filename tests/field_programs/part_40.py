import heapq
import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial, reduce

import numba
import numpy as np
from scipy import integrate, special
from scipy.signal import windows

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# helicopter dynamics: harmonic balance of the flapping of a rotor in forward flight with a uniform Glauert inflow
@prog(
    "helicopter_flapping",
    lambda: (np.array([0.14, -0.02, 0.03]), 0.22, np.array([0.05, -0.09])),
    (0, 1, 2),
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


# aerodynamics: a Hess-Smith panel method about a four-digit section with a flap, lift and moment coefficients
@prog("panel_method", lambda: (4.0, np.array([0.0, 0.004, 0.006, 0.002]), 8.0), (0, 1, 2))
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


# hydropower: water hammer in a penstock by the method of characteristics while the guide vanes close
@numba.njit
def vane_opening(t, closing):
    if t >= closing:
        return 0.0
    return (1.0 - t / closing) ** 1.5


@prog("hydropower", lambda: (2.1, 1080.0, 0.018, 4.3, 95.0), (0, 1, 2, 3, 4))
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


# immunology: an infection with delayed effectors, kinetic proofreading of the receptor, a booster on a given day
@dataclass(frozen=True)
class Host:
    infection: float
    production: float
    killing: float
    expansion: float
    booster: dict = field(default_factory=lambda: {12: 0.4, 20: 0.2})

    def proofreading(self, dwell, steps=5):
        survive = 1.0
        for _ in range(steps):
            survive *= dwell / (1.0 + dwell)
        return survive

    def rates(self, now, then, signal):
        target, infected, virus, effector = now
        new = self.infection * target * virus
        stimulus = signal * then[1] / (0.1 + then[1])
        return np.array(
            [
                0.1 * (1.0 - target) - new,
                new - 0.5 * infected - self.killing * effector * infected,
                self.production * infected - 3.0 * virus,
                0.01 + self.expansion * stimulus * effector - 0.15 * effector,
            ]
        )


@prog(
    "immunology",
    lambda: (np.array([1.6, 8.0, 1.5, 1.1]), np.array([4.0, 1.5, 9.0]), np.array([1.0, 0.0, 1e-3, 0.02])),
    (0, 1, 2),
)
def viral_load(rates, dwell_times, start):
    host = Host(*rates)
    signal = max(host.proofreading(tau) for tau in dwell_times) + np.mean(
        [host.proofreading(t, 3) for t in dwell_times]
    )
    per_day, days, delay = 8, 25, 1.5
    h, lag = 1.0 / per_day, int(delay * per_day)
    history = np.zeros((days * per_day + 1, 4))
    history[0] = start
    for i in range(days * per_day):
        y = history[i].copy()
        past = history[max(i - lag, 0)]
        day, tick = divmod(i, per_day)
        if tick == 0:
            y[3] += host.booster.get(day, 0.0)
        k1 = host.rates(y, past, signal)
        k2 = host.rates(y + 0.5 * h * k1, past, signal)
        k3 = host.rates(y + 0.5 * h * k2, past, signal)
        k4 = host.rates(y + h * k3, past, signal)
        history[i + 1] = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    virus = history[:, 2]
    peak = int(virus.argmax())
    return np.log10(virus[peak]) + integrate.simpson(virus, dx=h) + history[-1, 3] - 0.1 * np.log(virus[peak:].min())


# choreography: dancers between formations on Catmull-Rom paths in the complex plane, spacing, mirror symmetry and effort
@prog(
    "choreography",
    lambda: (rng(7).normal(size=(4, 6)) * 2.0, rng(8).normal(size=(4, 6)) * 2.0, 0.45, np.array([0.2, -0.3, 0.1])),
    (0, 1, 2, 3),
)
def phrase(xs, ys, tension, turns):
    beats = np.linspace(0.0, 1.0, 8, endpoint=False)

    def segment(tension, keys):
        p0, p1, p2, p3 = keys
        m1, m2 = tension * (p2 - p0), tension * (p3 - p1)
        basis = [2 * beats**3 - 3 * beats**2 + 1, beats**3 - 2 * beats**2 + beats]
        basis += [3 * beats**2 - 2 * beats**3, beats**3 - beats**2]
        return reduce(lambda path, term: path + term[0] * term[1], zip(basis, (p1, m1, p2, m2)), 0j)

    curve = partial(segment, tension)
    floor = xs + 1j * ys
    rotated = [z * np.exp(1j * np.cumsum(np.concatenate(([0.0], turns, [0.0, 0.0])))) for z in floor]
    paths = [np.concatenate(list(map(curve, zip(z, z[1:], z[2:], z[3:])))) for z in rotated]
    effort = sum(np.sum(np.abs(np.diff(z, n=3)) ** 2) for z in paths)
    crowding = sum(np.exp(-(np.abs(a - b) ** 2)).mean() for a, b in itertools.combinations(paths, 2))
    left, right = paths[:2], paths[2:]
    mirror = sum(np.abs(a + b.conj()).mean() for a, b in zip(left, reversed(right)))
    facing = np.angle(np.vdot(paths[0], paths[-1]))
    return effort + 3.0 * crowding + 0.1 * mirror + facing


# tribology: Reynolds' equation for a misaligned journal bearing, red-black over-relaxation with cavitation
@prog("journal_bearing", lambda: (0.6, 0.12, 1.1, np.array([0.02, -0.01, 0.015])), (0, 1, 2, 3))
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


# biomechanics: muscle and tendon in equilibrium at each angle of the elbow, and the moment about the joint
class HillMuscle:
    width = 0.45

    def __init__(self, strength, optimum, slack, path):
        self.strength, self.optimum, self.slack, self.path = strength, optimum, slack, path

    @staticmethod
    def tendon(strain):
        if strain <= 0.0:
            return 0.0
        if strain < 0.02:
            return 0.33 * math.expm1(3.0 * strain / 0.02) / math.expm1(3.0)
        return 0.33 + 1.35 / 0.02 * 0.5 * (strain - 0.02)

    def fibre(self, length, activation):
        active = math.exp(-(((length - 1.0) / self.width) ** 2))
        passive = math.expm1(4.0 * (length - 1.0) / 0.6) / math.expm1(4.0) if length > 1.0 else 0.0
        return activation * active + passive

    def imbalance(self, length, activation, whole):
        cosine = math.sqrt(1.0 - (0.2 / length) ** 2)
        strain = (whole - length * self.optimum * cosine) / self.slack - 1.0
        return self.tendon(strain) - cosine * self.fibre(length, activation)

    def force(self, activation, angle):
        whole = np.polyval(self.path, angle)
        length, step = 0.9, 1.0
        for _ in range(60):
            f = self.imbalance(length, activation, whole)
            slope = (
                self.imbalance(length + 1e-6, activation, whole) - self.imbalance(length - 1e-6, activation, whole)
            ) / 2e-6
            step = -f / slope
            length += max(min(step, 0.05), -0.05)
            if abs(step) < 1e-11:
                break
        else:
            raise RuntimeError("no equilibrium of fibre and tendon")
        return self.strength * self.fibre(length, activation) * math.sqrt(1.0 - (0.2 / length) ** 2)

    def arm(self, angle):
        return -np.polyval(np.polyder(self.path), angle)


@prog(
    "biomechanics",
    lambda: (
        np.array([[620.0, 0.116, 0.25], [980.0, 0.086, 0.054], [800.0, 0.134, 0.143]]),
        {"biceps": 0.5, "brachialis": 0.3, "triceps": 0.15},
    ),
    (0, 1),
)
def elbow_moment(architecture, activation):
    paths = {
        "biceps": np.array([0.004, -0.008, -0.033, 0.392]),
        "brachialis": np.array([0.003, -0.007, -0.018, 0.153]),
        "triceps": np.array([0.0, 0.001, 0.021, 0.262]),
    }
    muscles = {name: HillMuscle(*row, path) for row, (name, path) in zip(architecture, paths.items())}
    moments = defaultdict(float)
    for degrees in range(20, 121, 25):
        angle = math.radians(degrees)
        for name, muscle in muscles.items():
            moments[degrees] += muscle.force(activation[name], angle) * muscle.arm(angle)
    best = max(moments, key=moments.get)
    return moments[best] + 0.1 * sum(moments.values())


# genomics: occupancy of a promoter by a transcription factor, all places on both strands, against counts of reads
@prog(
    "genomics",
    lambda: (rng(11).normal(size=(4, 6)), -1.0, 0.8, np.array([30.0, 12.0, 55.0])),
    (0, 1, 2, 3),
)
def chip_likelihood(weights, log_concentration, cooperativity, background):
    promoters = ["ACGTTGACATTGCAGGTCATTA", "TTGACCATATGGCAACGT", "GGCATTGACAATTGTCAATCCGTA"]
    reads = [140, 35, 260]
    code = {base: k for k, base in enumerate("ACGT")}
    pwm = weights - special.logsumexp(weights, axis=0, keepdims=True)
    width = pwm.shape[1]

    def scan(sequence):
        digits = np.array([code[base] for base in sequence])
        sites = np.lib.stride_tricks.sliding_window_view(digits, width)
        return pwm[sites, np.arange(width)].sum(axis=-1) - width * math.log(0.25)

    def log_partition(affinity, n):
        # Z[i]: the first i bases; bound[i]: the same with a factor that ends there
        Z, bound = [1.0] * (n + 1), [0.0] * (n + 1)
        for i in range(1, n + 1):
            if i >= width:
                start = i - width
                close = sum(bound[max(start - 3, 0) : start + 1])
                bound[i] = affinity[start] * (Z[start] + (math.exp(cooperativity) - 1.0) * close)
            Z[i] = Z[i - 1] + bound[i]
        return math.log(Z[n]), bound[n] / Z[n]

    total = 0.0
    for sequence, count, noise in zip(promoters, reads, background):
        reverse = sequence.translate(str.maketrans("ACGT", "TGCA"))[::-1]
        strands = np.stack([scan(sequence), scan(reverse)[::-1]])
        affinity = np.exp(log_concentration + np.logaddexp.reduce(strands, axis=0))
        gc = (sequence.count("G") + sequence.count("C")) / len(sequence)
        logz, last = log_partition(affinity, len(sequence))
        rate = noise * (1.0 + 0.5 * gc) + 60.0 * logz + 5.0 * last
        total += special.xlogy(count, rate) - rate - special.gammaln(count + 1)
    return total


# additive manufacturing: heat of a laser that goes back and forth over a powder bed, share of what is molten
def serpentine(tracks, length, hatch, speed, dwell):
    clock, sign = 0.0, 1
    for k in range(tracks):
        duration = length / speed
        yield -sign * length / 2, sign * speed, k * hatch, clock, clock + duration
        clock += duration + dwell
        sign = -sign


@prog("laser_powder_bed", lambda: (180.0, 0.9, 1.0e-4, 5.5e-5, np.array([0.35, 22.0])), (0, 1, 2, 3, 4))
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


# photovoltaics: a string of cells partly in the shade with bypass diodes, its point of greatest power
@prog(
    "photovoltaics",
    lambda: (np.array([1.0, 0.95, 0.42, 0.9]), np.array([8.2, 1.3, 0.012, 60.0]), 318.0, 35.0),
    (0, 1, 2, 3),
)
def string_power(shade, module, temperature, tilt):
    photo, ideality, series, shunt = module
    vt = 24 * ideality * 1.380649e-23 * temperature / 1.602176634e-19
    saturation = 2e-8 * (temperature / 298.15) ** 3 * np.exp(1.12 / 8.617e-5 * (1 / 298.15 - 1 / temperature))
    # hour angles of a spring day at 48 degrees north, a plane that looks south
    lat, decl, slope = np.radians([48.0, 10.0, tilt])
    hour = np.radians(15.0 * (np.array([9.5, 12.25, 15.0]) - 12.0))
    elevation = np.arcsin(np.sin(lat) * np.sin(decl) + np.cos(lat) * np.cos(decl) * np.cos(hour))
    incidence = np.sin(decl) * np.sin(lat - slope) + np.cos(decl) * np.cos(lat - slope) * np.cos(hour)
    mass = 1 / (np.sin(elevation) + 0.50572 * (np.degrees(elevation) + 6.07995) ** -1.6364)
    beam = 1.353 * 0.7 ** (mass**0.678)
    suns = beam * np.maximum(incidence, 0) + 0.1 * (1 + np.cos(slope)) / 2

    def voltage(current, light):
        v = np.full(light.shape, 12.0)
        for _ in range(80):
            e = np.exp((v + current * series) / vt)
            f = light - saturation * (e - 1) - (v + current * series) / shunt - current
            df = -saturation * e / vt - 1 / shunt
            dv = np.clip(f / df, -2.0, 2.0)
            v = v - dv
            if np.all(np.abs(dv) < 1e-12):
                break
        return np.where(v < -0.5, -0.5 - 0.01 * current, v)

    total = 0.0
    for sun in suns:
        light = photo * sun * shade * (1 + 5e-4 * (temperature - 298.15))
        currents = np.linspace(0.05, 0.97, 24) * light.max()
        power = np.array([i * voltage(i, light).sum() for i in currents])
        k = int(np.argmax(power))
        a, b, c = np.polyfit(currents[k - 1 : k + 2] - currents[k], power[k - 1 : k + 2], 2)
        total += c - b**2 / (4 * a)
    return total / len(suns)


# radar: pulses of a chirp compressed and filtered by Doppler, a detector of constant false alarm rate, range and speed
@prog(
    "radar",
    lambda: (
        np.array([410.0, 985.0, 640.0]),
        np.array([31.0, -52.0, 8.0]),
        np.array([1.0, 0.6, 0.45]),
        (rng(21).normal(size=(16, 128)) + 1j * rng(22).normal(size=(16, 128))) * 0.05,
    ),
    (0, 1, 2),
)
def track_estimate(ranges, speeds, amplitudes, noise):
    c, carrier, bandwidth, width, fs, pri = 2.998e8, 9.4e9, 4e6, 6e-6, 5e6, 1e-4
    pulses, samples = noise.shape
    fast = np.arange(samples) / fs
    slow = np.arange(pulses)[:, None] * pri
    chirp = lambda t: np.exp(1j * np.pi * bandwidth / width * (t - width / 2) ** 2)  # noqa: E731
    echo = noise.copy()
    for R, v, a in zip(ranges, speeds, amplitudes):
        delay = 2 * (R + v * slow) / c
        inside = (fast >= delay) & (fast < delay + width)
        echo += a * chirp(fast - delay) * np.exp(-4j * np.pi * carrier * v * slow / c) * inside
    reference = np.where(fast < width, chirp(fast), 0)
    reference[: int(width * fs)] *= windows.hamming(int(width * fs))
    compressed = np.fft.ifft(np.fft.fft(echo, axis=1) * np.conj(np.fft.fft(reference)), axis=1)
    taper = windows.chebwin(pulses, at=50)
    power = np.abs(np.fft.fftshift(np.fft.fft(compressed * taper[:, None], axis=0), axes=0)) ** 2
    # mean of the neighbours but for the guard cells, by differences of a running sum
    sums = np.cumsum(np.pad(power, ((0, 0), (8, 8)), mode="wrap"), axis=1)
    wide = sums[:, 15:-1] - sums[:, :samples]
    snr = power / ((wide - power) / 14.0)
    found = []
    left = power.copy()
    for _ in range(3):
        d, r = np.unravel_index(left.argmax(), left.shape)
        lo, mid, hi = np.log(power[d, r - 1 : r + 2])
        bin_ = r + 0.5 * (lo - hi) / (lo - 2 * mid + hi)
        column = np.log(np.take(power[:, r], [d - 1, d, d + 1], mode="wrap"))
        doppler = d - pulses // 2 + 0.5 * (column[0] - column[2]) / (column[0] - 2 * column[1] + column[2])
        found.append((bin_ * c / (2 * fs), doppler * c / (2 * carrier * pulses * pri), 10 * np.log10(snr[d, r])))
        left[max(d - 2, 0) : d + 3, max(r - 4, 0) : r + 5] = 0.0
    found.sort()
    return sum(0.01 * distance + 0.05 * speed + level for distance, speed, level in found)


# elevator traffic: a group of lifts in the morning peak, trips with limited jerk, a heap of the lifts by when they are free
@prog(
    "elevator_traffic",
    lambda: (np.array([2.5, 0.9, 1.4]), rng(31).exponential(3.7, size=40), rng(32).uniform(size=40), 1.15),
    (0, 1, 3),
)
def mean_journey(kinematics, gaps, draws, transfer):
    speed, acceleration, jerk = kinematics
    population = {1: 30, 2: 45, 3: 45, 4: 20, 5: 60, 7: 35, 8: 10, 11: 5}
    share = np.cumsum(list(population.values())) / sum(population.values())
    floors = [list(population)[i] for i in np.searchsorted(share, draws)]

    def travel(distance):
        # full speed, full acceleration or neither is reached
        if distance >= (acceleration**2 * speed + speed**2 * jerk) / (jerk * acceleration):
            return distance / speed + speed / acceleration + acceleration / jerk
        if distance >= 2 * acceleration**3 / jerk**2:
            return acceleration / jerk + math.sqrt(4 * distance / acceleration + (acceleration / jerk) ** 2)
        return (32 * distance / jerk) ** (1 / 3)

    arrivals = np.cumsum(gaps)
    waiting = list(zip(arrivals, floors))
    lifts = [(0.0, 0), (4.1, 1), (11.3, 2)]
    heapq.heapify(lifts)
    waits, journeys = [], []
    while waiting:
        free, lift = heapq.heappop(lifts)
        depart = max(free, waiting[0][0])
        aboard = []
        while waiting and len(aboard) < 6 and waiting[0][0] <= depart + 1.5:
            aboard.append(waiting.pop(0))
            depart += 0.8 if len(aboard) > 1 else transfer
        waits.extend(max(depart - arrived, 0.0) for arrived, _ in aboard)
        clock, here = depart, 0
        for floor, group in itertools.groupby(sorted(aboard, key=lambda p: p[1]), key=lambda p: p[1]):
            group = list(group)
            clock += travel(3.6 * (floor - here)) + 2.9 + transfer * len(group)
            journeys += [clock - arrived for arrived, _ in group]
            here = floor
        heapq.heappush(lifts, (clock + travel(3.6 * here), lift))
    longest = np.sort(np.array(waits))[-4:]
    return np.mean(journeys) + 0.5 * longest.mean() + 0.1 * max(t for t, _ in lifts)
