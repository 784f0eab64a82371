import bisect
import cmath
import enum
import itertools
import math
import operator
from collections import Counter, deque, namedtuple
from dataclasses import dataclass, replace
from functools import reduce
from types import SimpleNamespace

import numpy as np
from scipy import integrate, interpolate, optimize, special

from tests.field_programs import collection

PROGRAMS, prog = collection()
rng = np.random.default_rng


# volcanology: steady ascent of magma in a conduit, with water coming out of solution, to where it fragments
@prog("magma_ascent", lambda: (np.array([0.045, 6.0, 1150.0, 25.0]), 2.2), (0, 1))
def eruption_rate(magma, u0, depth=5000.0, dz=50.0):
    n0, log_mu, T, radius = magma
    R, s, rho_l, g = 461.5, 4.11e-6, 2400.0, 9.81
    mu0 = 10.0**log_mu
    p = rho_l * g * depth + 1.0e7
    z, flux = 0.0, None
    history = []
    while z < depth:
        dissolved = min(n0, s * math.sqrt(p))
        n = (n0 - dissolved) / (1.0 - dissolved)
        rho_g = p / (R * T)
        rho = 1.0 / (n / rho_g + (1.0 - n) / rho_l)
        if flux is None:
            flux = rho * u0
        u = flux / rho
        phi = n * rho / rho_g
        if phi > 0.75:
            break
        mu = mu0 * (1.0 - phi / 0.9) ** -2.0 * math.exp(0.02 * (n0 - dissolved) * 1000.0)
        friction = 8.0 * mu * u / radius**2 if phi < 0.6 else 0.0025 * rho * u * u / radius
        dpdz = -(rho * g + friction)
        if p + dpdz * dz < 1.0e5:
            break
        p += dpdz * dz
        z += dz
        history.append((z, p, phi))
    zs, ps, phis = zip(*history)
    return np.interp(3000.0, zs, ps) / 1e7 + np.trapezoid(phis, zs) / 1e3 + math.pi * radius**2 * flux / 1e7


Sail = namedtuple("Sail", "area cl cd ce")


# yacht design: speed of a sailing boat for a true wind, by balance of drive and resistance, heel and righting moment
@prog("yacht_speed", lambda: (np.array([30.0, 22.0]), np.array([7.5, 2.2, 1.9, 3200.0]), 12.0), (0, 1, 2))
def vpp(areas, hull, tws):
    lwl, beam, draft, mass = hull
    knots = 0.5144
    sails = [Sail(areas[0], 1.4, 0.10, 5.2), Sail(areas[1], 1.5, 0.06, 4.0)]

    def apparent(v, angle):
        wx = tws * knots * math.cos(angle) + v
        wy = tws * knots * math.sin(angle)
        return math.hypot(wx, wy), math.atan2(wy, wx)

    def forces(v, heel, angle):
        aws, awa = apparent(v, angle)
        awa = math.atan(math.tan(awa) * math.cos(heel)) if awa < math.pi / 2 else awa
        q = 0.5 * 1.225 * aws**2
        total = sum(s.area for s in sails)
        cl = sum(s.area * s.cl * math.sin(2 * min(awa, math.pi / 4)) for s in sails) / total
        cd = sum(s.area * (s.cd + 0.9 * math.sin(awa) ** 2) for s in sails) / total + cl**2 / (math.pi * 4.5)
        lift, drag = q * total * cl, q * total * cd
        drive = lift * math.sin(awa) - drag * math.cos(awa)
        side = lift * math.cos(awa) + drag * math.sin(awa)
        arm = sum(s.area * s.ce for s in sails) / total + 0.4 * draft
        return drive, side, side * arm * math.cos(heel)

    def resistance(v, heel, side):
        fn = v / math.sqrt(9.81 * lwl)
        wetted = 1.9 * math.sqrt(mass / 1025.0 * lwl)
        friction = 0.5 * 1025.0 * v**2 * wetted * 0.075 / (math.log10(v * lwl * 0.7 / 1.19e-6) - 2.0) ** 2
        wave = mass * 9.81 * 0.035 * (fn / 0.4) ** 6 / (1.0 + math.exp(-20.0 * (fn - 0.3)))
        induced = side**2 / (math.pi * 0.5 * 1025.0 * v**2 * draft**2 * math.cos(heel))
        return friction + wave + induced

    polar = {}
    for degrees in range(45, 150, 35):
        angle = math.radians(degrees)
        v, heel = 2.0, 0.1
        for _ in range(60):
            drive, side, moment = forces(v, heel, angle)
            heel += 0.3 * (math.atan(moment / (mass * 9.81 * 0.12 * beam * 3.0)) - heel)
            v += 0.0006 * (drive - resistance(v, heel, side))
        polar[degrees] = v / knots
    return sum(w * polar[d] for d, w in zip(polar, (0.5, 0.3, 0.1, 0.1)))


# nuclear magnetic resonance: spin echoes of an inhomogeneous line by rotations of Bloch vectors, and a fit's misfit
@prog("spin_echoes", lambda: (np.array([0.08, 0.9]), 1.5, np.array([60.0, 170.0])), (0, 1, 2))
def echo_train(relaxation, width, flips):
    t2, t1 = relaxation
    offsets = np.linspace(-3.0, 3.0, 31) * width
    weights = np.exp(-0.5 * (offsets / width) ** 2)
    weights /= weights.sum()
    M = np.zeros((3, offsets.size))
    M[2] = 1.0

    def rx(M, degrees):
        a = np.deg2rad(degrees)
        R = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(a), np.sin(a)], [0.0, -np.sin(a), np.cos(a)]])
        return R @ M

    def ry(M, degrees):
        a = np.deg2rad(degrees)
        R = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
        return R @ M

    def free(M, t):
        phase = np.exp(-1j * offsets * t) * np.exp(-t / t2)
        xy = (M[0] + 1j * M[1]) * phase
        return np.stack([xy.real, xy.imag, 1.0 + (M[2] - 1.0) * np.exp(-t / t1)])

    tau = 0.01
    M = rx(M, flips[0])
    echoes = []
    for k in range(8):
        M = free(M, tau)
        M = ry(M, flips[1])
        M = free(M, tau)
        echoes.append(np.abs(np.sum(weights * (M[0] + 1j * M[1]))))
    echoes = np.array(echoes)
    data = 0.8 * np.exp(-2 * tau * np.arange(1, 9) / 0.075)
    return np.sum((echoes - data) ** 2) + 0.1 * np.log(echoes / echoes[0]) @ np.arange(8)


@dataclass(frozen=True)
class Soil:
    cohesion: float
    friction: float
    weight: float


# geotechnics: a slope's factor of safety by Bishop's method of slices, the worst of several circles
@prog("slope_stability", lambda: (np.array([8.0, 28.0, 18.5]), 0.25, 32.0), (0, 1, 2))
def slope_safety(strength, ru, face):
    soil = Soil(*strength)
    height = 10.0
    run = height / math.tan(math.radians(face))

    def surface(x):
        return 0.0 if x <= 0 else height * x / run if x < run else height

    def bishop(xc, yc, soil):
        radius = math.hypot(xc, yc)
        # where the circle meets the ground behind the crest
        right = xc + math.sqrt(radius**2 - (yc - height) ** 2)
        edges = [right * k / 24 for k in range(25)]
        slices = []
        for a, b in itertools.pairwise(edges):
            mid, width = 0.5 * (a + b), b - a
            base = yc - math.sqrt(radius**2 - (mid - xc) ** 2)
            h = max(surface(mid) - base, 0.0)
            slices.append((width, h, math.asin((mid - xc) / radius)))
        tan_phi = math.tan(math.radians(soil.friction))
        fs, previous = 1.0, 0.0
        while abs(fs - previous) > 1e-12:
            previous = fs
            resisting = driving = 0.0
            for width, h, alpha in slices:
                w = soil.weight * h * width
                m = math.cos(alpha) * (1.0 + math.tan(alpha) * tan_phi / previous)
                resisting += (soil.cohesion * width + w * (1.0 - ru) * tan_phi) / m
                driving += w * math.sin(alpha)
            fs = resisting / driving
        return fs

    circles = [(x, y) for x in (2.0, 5.0) for y in (16.0, 22.0)]
    found = min((bishop(x, y, soil), x, y) for x, y in circles)
    weaker = bishop(found[1], found[2], replace(soil, cohesion=0.8 * soil.cohesion))
    return found[0] + 0.5 * weaker


# apiculture: a colony's brood, hive bees and foragers through a year of temperature and nectar, by Euler steps
@prog("bee_colony", lambda: (np.array([1600.0, 0.25, 0.75, 0.154]), 2.5), (0, 1))
def honey(rates, nectar):
    laying, recruit, inhibit, mortality = rates

    class Season(enum.Enum):
        WINTER = 0.0
        SPRING = 0.7
        SUMMER = 1.0
        AUTUMN = 0.45

    def season(day):
        if day < 60 or day >= 320:
            return Season.WINTER
        return Season.SPRING if day < 140 else Season.SUMMER if day < 240 else Season.AUTUMN

    brood = deque([0.0] * 21, maxlen=21)
    hive, foragers, food = 8000.0, 4000.0, 9.0
    peak = 0.0
    for day in range(365):
        s = season(day).value
        bees = hive + foragers
        eggs = laying * s * bees / (bees + 8000.0) * food / (food + 2.0)
        emerging = brood[0]
        brood.append(eggs)
        social = recruit - inhibit * foragers / bees
        moving = hive * max(social, 0.0) * (s > 0) - foragers * max(-social, 0.0) * 0.1
        hive = hive + emerging - moving - 0.008 * hive
        foragers = foragers + moving - mortality * s * foragers - 0.006 * foragers
        income = nectar * 1e-4 * foragers * s
        eaten = 2.4e-5 * bees + 1.5e-5 * sum(brood)
        food = max(food + income - eaten, 0.05)
        peak = max(peak, bees)
    return food + 1e-4 * peak


# crystallography: structure factors of a small cell with symmetry, temperature factors, and a weighted residual
@prog(
    "structure_factors",
    lambda: (np.array([[0.11, 0.23, 0.34], [0.41, 0.07, 0.18]]), np.array([1.2, 2.0]), 0.9),
    (0, 1, 2),
)
def structure_residual(xyz, b_iso, scale):
    cell = np.array([5.2, 6.1, 7.3])
    table = {
        "O": ((3.0485, 13.2771), (2.2868, 5.7011), (1.5463, 0.3239), (0.867, 32.9089), 0.2508),
        "Si": ((6.2915, 2.4386), (3.0353, 32.3337), (1.9891, 0.6785), (1.541, 81.6937), 1.1407),
    }
    elements = ("Si", "O")
    operations = ["x,y,z", "-x,-y,z+1/2", "-x,y+1/2,-z", "x,-y+1/2,-z+1/2"]

    def apply(op, p):
        out = []
        for term in op.split(","):
            shift = 0.5 if term.endswith("+1/2") else 0.0
            body = term.removesuffix("+1/2")
            value = p["xyz".index(body[-1])]
            out.append((-value if body.startswith("-") else value) + shift)
        return out

    hkl = [(h, k, l) for h in range(3) for k in range(3) for l in range(3) if 0 < h + k + l <= 4]
    total = weight = 0.0
    for h, k, l in hkl:
        s2 = (h / cell[0]) ** 2 / 4 + (k / cell[1]) ** 2 / 4 + (l / cell[2]) ** 2 / 4
        F = 0j
        for element, p, b in zip(elements, xyz, b_iso):
            *gaussians, c = table[element]
            f = c + sum(a * math.exp(-w * s2) for a, w in gaussians)
            for op in operations:
                x, y, z = apply(op, p)
                F += f * math.exp(-b * s2) * cmath.exp(2j * math.pi * (h * x + k * y + l * z))
        measured = 12.0 + 3.0 * math.cos(1.7 * h + 0.9 * k - 1.3 * l)
        w = 1.0 / (1.0 + 0.02 * measured**2)
        total += w * (scale * abs(F) - measured) ** 2
        weight += w * measured**2
    return math.sqrt(total / weight)


# operations research: staffing of a call centre by the Erlang C formula, waiting and abandonment costs over a day
@prog("call_centre", lambda: (np.array([0.9, 1.8, 1.3]), 4.5, 0.8), (0, 1, 2))
def cost_of_day(load, handling, patience):
    def erlang_c(agents, a):
        inverse = 1.0
        for k in range(1, agents + 1):
            inverse = 1.0 + inverse * k / a
        b = 1.0 / inverse
        rho = a / agents
        return b / (1.0 - rho * (1.0 - b))

    shifts = Counter({8: 4, 12: 7, 16: 5})
    starts = sorted(shifts)
    total = 0.0
    for hour in range(8, 20):
        agents = shifts[starts[bisect.bisect_right(starts, hour) - 1]] + 3
        day = math.pi * (hour - 8) / 12
        calls = 60.0 * (load[0] + load[1] * math.sin(day) ** 2 + load[2] * math.exp(-((hour - 15.0) ** 2) / 6.0)) / 2
        a = calls * handling / 60.0
        while a >= 0.97 * agents:
            agents += 1
        pw = erlang_c(agents, a)
        wait = pw * handling / (agents - a)
        within = 1.0 - pw * math.exp(-(agents - a) * (20.0 / 60.0) / handling)
        lost = calls * (1.0 - math.exp(-wait / patience))
        total += 22.0 * agents + 8.0 * lost + 15.0 * special.expit(20.0 * (0.8 - within))
    return total / 1000.0


# music theory: sensory dissonance of chords by Plomp and Levelt's curves, and how far a tuning is from its valleys
@prog("dissonance", lambda: (np.array([3.9, 7.05]), 0.88, 261.6), (0, 1, 2))
def roughness(semitones, decay, root):
    Partial = namedtuple("Partial", ["frequency", "loudness"])

    def partials(f0):
        return [Partial(f0 * k, decay ** (k - 1)) for k in range(1, 7)]

    def pair(p, q):
        low, high = sorted((p, q), key=lambda t: t.frequency)
        s = 0.24 / (0.0207 * low.frequency + 18.96)
        d = s * (high.frequency - low.frequency)
        return min(p.loudness, q.loudness) * (5.0 * math.exp(-3.51 * d) - 5.0 * math.exp(-5.75 * d))

    notes = [root] + [root * 2.0 ** (s / 12.0) for s in semitones]
    voices = list(itertools.chain.from_iterable(map(partials, notes)))
    total = sum(itertools.starmap(pair, itertools.combinations(voices, 2)))
    energy = reduce(operator.add, (v.loudness**2 for v in voices))
    return total / energy


# railways: a train's time and energy over a line with grades and speed limits, coasting before the stations
@prog("train_run", lambda: (np.array([310.0, 2.4, 0.055, 0.0041]), 27.0, 0.623), (0, 1, 2))
def train_run(train, vmax, coast):
    mass, a, b, c = train
    limits = [(0.0, 25.0), (1200.0, 60.0), (5200.0, 33.0), (6400.0, 60.0)]
    grades = {0.0: 0.0, 1500.0: 0.008, 3000.0: -0.006, 4500.0: 0.0, 7000.0: 0.004}
    positions = list(grades)
    length, ds = 9000.0, 60.0
    v2, t, energy = 1.0, 0.0, 0.0
    s = 0.0
    while s < length - ds:
        limit = limits[bisect.bisect([p for p, _ in limits], s) - 1][1]
        grade = grades[positions[bisect.bisect(positions, s) - 1]]
        v = math.sqrt(v2)
        resistance = a + b * v + c * v * v + mass * 9.81 * grade
        target = min(limit, vmax)
        braking = v2 - 2 * 0.7 * (length - s) > 0.0
        if braking:
            force = -0.7 * mass * 1.06
        elif s > coast * length and v > 0.6 * target:
            force = 0.0
        elif v < target:
            force = min(280.0, 4200.0 / max(v, 1.0))
        else:
            force = min(max(resistance, 0.0), 280.0)
        v2_next = max(v2 + 2 * ds * (force - resistance) / (mass * 1.06), 0.5)
        v_mean = 0.5 * (v + math.sqrt(v2_next))
        t += ds / v_mean
        energy += max(force, 0.0) * ds / 3.6e6 * 1e3
        v2, s = v2_next, s + ds
    return t / 60.0 + 0.05 * energy


# sports analytics: margins of matches under strengths with home advantage, Elo updates, and a Brier score for the end
@prog("elo_ratings", lambda: (np.array([24.0, 65.0, 400.0]), 0.8), (0, 1))
def elo_score(parameters, regress):
    k, home, width = parameters
    teams = ["ajax", "boca", "celtic", "dinamo", "everton"]
    ratings = dict.fromkeys(teams, 1500.0)
    g = rng(12)
    strength = {team: value for team, value in zip(teams, g.normal(0.0, 1.0, len(teams)))}
    brier, played = [], SimpleNamespace(count=0)
    for season in range(3):
        for at_home, away in itertools.permutations(teams, 2):
            margin = strength[at_home] - strength[away] + 0.4 + g.normal()
            result = 1.0 if margin > 0.5 else 0.5 if margin > -0.2 else 0.0
            gap = ratings[at_home] + home - ratings[away]
            expected = 1.0 / (1.0 + 10.0 ** (-gap / width))
            if season:
                brier.append((expected - result) ** 2)
            times = math.log1p(abs(margin)) * 2.2 / (2.2 + 0.001 * abs(gap))
            change = k * times * (result - expected)
            ratings[at_home] += change
            ratings[away] -= change
            played.count += 1
        ratings = {team: 1500.0 + regress * (rating - 1500.0) for team, rating in ratings.items()}
    table = sorted(ratings.items(), key=lambda item: -item[1])
    return np.mean(brier) + 1e-4 * (table[0][1] - table[-1][1]) + 1e-3 * played.count


# combustion: a perfectly stirred reactor's temperature, found by bracketing, and its slope over residence times
@prog("stirred_reactor", lambda: (np.array([2.0e8, 15000.0]), 0.85, np.array([0.004, 0.02])), (0, 1, 2))
def reactor(arrhenius, phi, residence):
    a, ta = arrhenius
    t_in, q, cp = 600.0, 2.6e6, 1350.0
    grid = np.array([600.0, 1000.0, 1400.0, 1800.0, 2200.0, 2600.0])
    heat = interpolate.CubicSpline(grid, cp * (1.0 + 0.05 * ((grid - 600.0) / 1000.0) ** 1.5))

    def balance(t, tau):
        fuel = phi * 0.06
        rate = a * np.exp(-ta / t)
        burnt = rate * tau / (1.0 + rate * tau)
        return fuel * q * burnt * 10.0 - heat(t) * (t - t_in)

    found = [optimize.brentq(balance, 1200.0, 2599.0, args=(tau,)) for tau in residence]
    mean, _ = integrate.quad(lambda tau: a * np.exp(-ta / found[0]) * tau, 0.0, residence[-1])
    return np.dot(found, [1.0, -0.5]) / 1000.0 + 1e-4 * mean
