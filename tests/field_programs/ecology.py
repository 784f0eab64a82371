"""Populations of animals, plants and people."""

import enum
import itertools
import math
from collections import deque
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import scipy.special as sc
from numpy.linalg import norm
from scipy import stats
from scipy.special import expit, ive
from scipy.stats import norm as gauss

from tests.field_programs import program, rng


# ---------------------------------------------------------------- rm_log_error
class PredatorPrey:
    """Rosenzweig-MacArthur model."""

    def __init__(self, r, K, a, h, e, m):
        self.r, self.K, self.a, self.h, self.e, self.m = r, K, a, h, e, m

    def functional_response(self, n):
        return self.a * n / (1 + self.a * self.h * n)

    def step(self, n, p, dt):
        f = self.functional_response(n)
        dn = self.r * n * (1 - n / self.K) - f * p
        dp = self.e * f * p - self.m * p
        return n + dt * dn, p + dt * dp

    def simulate(self, n0, p0, dt=0.1, steps=30):
        out = [(n0, p0)]
        for _ in range(steps):
            out.append(self.step(*out[-1], dt))
        return np.array(out)


@program(
    "Rosenzweig-MacArthur model, logarithmic error",
    lambda: (
        1.1,
        12.0,
        0.5,
        0.3,
        6.0,
        2.0,
        np.column_stack([5 + np.cos(np.arange(7)), 2.2 + 0.3 * np.sin(np.arange(7))]),
    ),
    wrt=(0, 1, 2, 3, 4, 5),
)
def rm_log_error(r, K, a, h, n0, p0, data):
    model = PredatorPrey(r, K, a, h, e=0.4, m=0.25)
    traj = model.simulate(n0, p0)
    pred = traj[::5]
    return np.sum((np.log(pred) - np.log(data)) ** 2)


# ---------------------------------------------------------------- predator_prey_cost
@program(
    "predator and prey with while and random thinning (fixed seeds)",
    lambda: (np.array([0.8, 0.02, 0.5, 0.01]), np.array([30.0, 8.0])),
    wrt=(0, 1),
)
def predator_prey_cost(p, s0):
    np.random.seed(4)
    prey, pred = s0
    t, h, history = 0.0, 0.05, []
    while t < 5.0:
        noise = 1 + 0.01 * np.random.normal()
        dprey = p[0] * prey - p[1] * prey * pred
        dpred = -p[2] * pred + p[3] * prey * pred
        prey, pred = max(prey + h * dprey * noise, 1e-3), max(pred + h * dpred, 1e-3)
        history.append((prey, pred))
        t += h
    H = np.asarray(history)
    return np.std(np.log(H[:, 0])) + np.median(H[:, 1]) / 10


# ---------------------------------------------------------------- foodweb
@program(
    "predator and prey, match, string mode", lambda: (np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0])), wrt=(0, 1)
)
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


# ---------------------------------------------------------------- leslie_growth
@program(
    "Leslie matrix with np.diag k, eig power; slices assign",
    lambda: (np.array([0.0, 1.2, 1.5, 0.3]), np.array([0.5, 0.8, 0.4])),
    wrt=(0, 1),
)
def leslie_growth(fec, surv):
    L = np.zeros((4, 4))
    L[0, :] = fec
    L[range(1, 4), range(3)] = surv
    n = np.ones(4)
    for _ in range(100):
        n, prev = L @ n, n
        lam = np.linalg.norm(n) / np.linalg.norm(prev)
        n = n / n.sum()
    v = np.ones(4)
    for _ in range(100):
        v = v @ L
        v = v / v.sum()
    sens = np.outer(v, n) / (v @ n)
    elast = sens * L / lam
    assert np.isclose(elast.sum(), 1.0), "elasticities sum to one"
    return np.log(lam) + elast[0, 1:].sum() + 1 / lam


# ---------------------------------------------------------------- leslie
@program(
    "Leslie matrix, dominant eigenvalue by power iteration",
    lambda: (np.array([0.0, 1.5, 1.0]), np.array([0.5, 0.25])),
    wrt=(0, 1),
)
def leslie(f, s):
    L = np.zeros((3, 3))
    L[0] = f
    L[np.arange(1, 3), np.arange(2)] = s
    n = np.ones(3)
    lam = 0.0
    while True:
        m = L @ n
        new = norm(m)
        n = m / new
        if abs(new - lam) < 1e-14:
            break
        lam = new
    return np.log(new)


# ---------------------------------------------------------------- ipm
@program(
    "integral projection model with outer products and power iteration", lambda: (np.array([0.2, 0.9, 0.3, -2.0, 1.1]),)
)
def ipm(p):
    a, b, sd, s0, s1 = p
    L, U, n = 0.0, 8.0, 20
    h = (U - L) / n
    mesh = L + h * (np.arange(n) + 0.5)
    G = h * stats.norm.pdf(mesh[:, np.newaxis], loc=a + b * mesh, scale=sd + 0.3)
    S = expit(s0 + s1 * mesh)
    F = h * np.outer(stats.norm.pdf(mesh, 1.0, 0.4), np.where(mesh > 4, 0.3 * mesh, 0))
    K = G * S + F
    v = np.ones(n)
    for _ in range(60):
        v = K @ v
        lam = norm(v)
        v /= lam
    return np.log(lam)


# ---------------------------------------------------------------- ipm_growth
@program(
    "an integral projection model, dominant eigenvalue by power iteration",
    lambda: (np.array([-1.0, 0.8, 0.3, 0.9, 0.2]),),
)
def ipm_growth(theta):
    b0, b1, g0, g1, sg = theta
    L, U, m = 0.0, 5.0, 20
    h = (U - L) / m
    y = L + h * (np.arange(m) + 0.5)
    surv = 1 / (1 + np.exp(-(b0 + b1 * y)))
    G = stats.norm.pdf(y[:, None], loc=g0 + g1 * y[None, :], scale=np.exp(sg))
    F = 0.6 * np.outer(stats.norm.pdf(y, 0.5, 0.4), np.exp(0.2 * y))
    K = h * (G * surv + F)
    w = np.ones(m) / m
    lam, prev = 1.0, 0.0
    while abs(lam - prev) > 1e-13:
        w = K @ w
        prev, lam = lam, w.sum()
        w /= lam
    return np.log(lam) + w @ y


# ---------------------------------------------------------------- food_web
@dataclass
class Link:
    prey: int
    predator: int
    response: object
    efficiency: float = 0.3


class Holling2:
    def __init__(self, a, h):
        self.a, self.h = a, h

    def rate(self, n):
        return self.a * n / (1 + self.a * self.h * n)


class Holling3(Holling2):
    def rate(self, n):
        return super().rate(n**2)


class Linear:
    def __init__(self, a):
        self.a = a

    def rate(self, n):
        return self.a * n


@program(
    "food web with functional responses as strategies held by links",
    lambda: (np.array([1.0, 0.5, 0.3, 0.2]), 1.2, 0.4),
    wrt=(0, 1, 2),
)
def food_web(start, attack, handling):
    links = [Link(0, 1, Holling2(attack, handling)), Link(0, 2, Linear(0.3)), Link(1, 3, Holling3(attack, 0.5), 0.2)]
    growth = {0: 1.0, 1: -0.2, 2: -0.15, 3: -0.1}
    N = start.copy()
    for _ in range(60):
        dN = np.array([growth[i] * n * (1 - n / 2 if growth[i] > 0 else 1) for i, n in enumerate(N)])
        for l in range(len(links)):
            link = links[l]
            eaten = link.response.rate(N[link.prey]) * N[link.predator]
            dN[link.prey] -= eaten
            dN[link.predator] += link.efficiency * eaten
        N = np.maximum(N + 0.05 * dN, 1e-6)
    p = N / N.sum()
    return -np.sum(p * np.log(p)) + N[3]


# ---------------------------------------------------------------- harvested_biomass
@program(
    "age classes with harvest, density dependence and a deque of delayed recruitment",
    lambda: (np.array([100.0, 60.0, 30.0]), np.array([0.5, 0.6, 0.7]), 2.0, 0.004),
    wrt=(0, 1, 2, 3),
)
def harvested_biomass(n0, survival, fecundity, density):
    delayed = deque([5.0, 4.0], maxlen=2)
    n, caught = n0.copy(), 0.0
    for year in range(6):
        recruits = delayed.popleft()
        spawners = n[1:].sum()
        delayed.append(fecundity * spawners * np.exp(-density * spawners))
        quota = 0.2 if year % 2 else 0.1
        caught += (quota * n * np.array([0.1, 0.5, 1.2])).sum()
        n *= (1 - quota) * survival
        n[-1] += n[-2]
        n[1:-1] = n[:-2]
        n[0] = recruits
    return caught + 0.1 * n @ np.arange(1.0, 4.0)


# ---------------------------------------------------------------- point_process
@program(
    "spatial ecology: inhomogeneous Poisson process, thin plate intensity, Ripley K",
    lambda: (np.array([1.0, 0.6, -0.8]), 0.15),
    wrt=(0, 1),
)
def point_process(beta, sigma):
    pts = rng(8).random((15, 2))
    gx, gy = np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 11), indexing="ij")
    cov = lambda x, y: np.stack([np.ones_like(x), x, np.sin(3 * y)])
    log_lam = np.tensordot(beta, cov(pts[:, 0], pts[:, 1]), axes=1)
    lam_grid = np.exp(np.einsum("k,kij->ij", beta, cov(gx, gy)))
    wx = np.full(11, 0.1)
    wx[[0, -1]] /= 2
    integral = wx @ lam_grid @ wx
    d = np.sqrt(((pts[:, None] - pts[None]) ** 2).sum(-1) + np.eye(15))
    weights = np.exp(-(d**2) / (2 * sigma**2)) / np.outer(np.exp(log_lam), np.exp(log_lam))
    np.fill_diagonal(weights, 0)
    return log_lam.sum() - integral + np.log(weights.sum())


# ---------------------------------------------------------------- occupancy
def log_prior(spec, params):
    dists = {
        "normal": lambda x, m, s: gauss.logpdf(x, m, s),
        "halfcauchy": lambda x, s: np.log(2) - np.log(np.pi * s * (1 + (x / s) ** 2)),
    }
    return sum(dists[kind](params[name], *args) for name, (kind, *args) in spec.items())


@program(
    "occupancy model with missing visits; helper decorator; Bayesian log posterior with dict of priors",
    lambda: ({"psi": 0.3, "beta": np.array([0.4, -0.2]), "tau": 0.8}, rng(8).normal(size=(5, 3))),
)
def occupancy(params, cov):
    spec = {"psi": ("normal", 0, 1.5), "tau": ("halfcauchy", 1.0)}
    y = np.array([[1, 0, -1], [0, 0, 0], [0, 1, 1], [-1, -1, 0], [0, 0, -1]])
    observed = y >= 0
    logit_p = params["beta"][0] + params["beta"][1] * cov
    p = sc.expit(logit_p) ** params["tau"]
    like = np.where(observed, np.where(y == 1, p, 1 - p), 1.0).prod(axis=1)
    psi = sc.expit(params["psi"])
    never = ~np.any((y == 1) & observed, axis=1)
    ll = np.log(psi * like + (1 - psi) * never).sum()
    return ll + log_prior(spec, params) + gauss(0, 1).logpdf(params["beta"]).sum()


# ---------------------------------------------------------------- cjs_nll
@program(
    "wildlife statistics: Cormack-Jolly-Seber likelihood from capture histories",
    lambda: (
        np.array([0.8, 0.5, 0.9, 0.4]),
        np.array([0.2, 0.1, -0.3, 0.0]),
        {"11010": 3, "10110": 5, "01101": 4, "00111": 6, "10000": 7, "01001": 2, "00010": 3},
    ),
    wrt=(0, 1),
)
def cjs_nll(logit_phi, logit_p, histories):
    """Cormack-Jolly-Seber likelihood from capture histories."""
    phi = 1 / (1 + np.exp(-logit_phi))
    p = 1 / (1 + np.exp(-logit_p))
    K = len(phi) + 1
    chi = np.ones(K)
    for t in range(K - 2, -1, -1):
        chi[t] = 1 - phi[t] + phi[t] * (1 - p[t]) * chi[t + 1]
    nll = 0.0
    for hist, count in histories.items():
        seen = [i for i, c in enumerate(hist) if c == "1"]
        first, last = seen[0], seen[-1]
        lp = np.log(chi[last])
        for t in range(first, last):
            lp += np.log(phi[t])
            lp += np.log(p[t]) if hist[t + 1] == "1" else np.log(1 - p[t])
        nll -= count * lp
    return nll


# ---------------------------------------------------------------- occupancy_nll
def site_loglik(y, psi, p):
    detected = any(v == 1 for v in y if v is not None)
    lik = psi
    for v, pj in zip(y, p):
        if v is None:
            continue
        lik = lik * (pj if v == 1 else 1 - pj)
    if not detected:
        lik = lik + (1 - psi)
    return math.log(lik)


@program(
    "conservation biology: single season occupancy model with missing visits, plus a weak Gaussian prior",
    lambda: (
        [0.3, 0.8, -0.4],
        [-0.2, 0.5],
        [-1.2, -0.3, 0.4, 1.1, 0.0],
        [[1.0, 0.5, 0.8], [0.2, 1.5, 1.0], [0.9, 0.9, 0.3], [1.2, 0.4, 0.6], [0.7, 1.1, 0.1]],
        [[0, 0, None], [1, 0, 1], [1, 1, 0], [0, None, 0], [0, 1, 0]],
    ),
    wrt=(0, 1, 2),
)
def occupancy_nll(beta_psi, beta_p, elevation, effort, detections):
    """Single season occupancy model with missing visits, plus a weak Gaussian prior."""
    total = 0.0
    for elev, eff, y in zip(elevation, effort, detections):
        psi = expit(beta_psi[0] + beta_psi[1] * elev + beta_psi[2] * elev**2)
        p = [expit(beta_p[0] + beta_p[1] * e) for e in eff]
        total += site_loglik(y, psi, p)
    prior = sum(b**2 for b in [*beta_psi, *beta_p]) / (2 * 2.5**2)
    return -total + prior


# ---------------------------------------------------------------- cjs
@program(
    "ornithology: Cormack-Jolly-Seber with capture histories as strings",
    lambda: (np.array([0.8, -0.3]), ["1011", "1100", "0110", "1111", "1000", "0101"]),
)
def cjs(theta, histories):
    phi, p = expit(theta)
    T = len(histories[0])
    chi = [1.0] * T
    for t in reversed(range(T - 1)):
        chi[t] = 1 - phi + phi * (1 - p) * chi[t + 1]
    ll = 0.0
    for h in histories:
        first, last = h.index("1"), h.rindex("1")
        for t in range(first + 1, last + 1):
            ll += math.log(phi) + (math.log(p) if h[t] == "1" else math.log1p(-p))
        ll += math.log(chi[last])
    return -ll


# ---------------------------------------------------------------- vonmises_mixture_nll
@program(
    "animal movement: mixture of von Mises distributions (animal headings)",
    lambda: (
        np.array([0.2, -0.1]),
        np.array([0.5, 2.6]),
        np.array([0.7, 1.1]),
        np.array([0.3, 0.7, 2.4, 2.9, -0.4, 1.1, 2.5, 3.0, 0.6]),
    ),
    wrt=(0, 1, 2, 3),
)
def vonmises_mixture_nll(weights_raw, mu, log_kappa, angles):
    """Mixture of von Mises distributions (animal headings)."""
    w = np.exp(weights_raw)
    w = w / w.sum()
    kappa = np.exp(log_kappa)
    log_c = -np.log(2 * np.pi * ive(0, kappa)) - kappa
    comp = np.log(w) + log_c + kappa * np.cos(angles[:, None] - mu)
    m = comp.max(axis=1)
    return -np.sum(m + np.log(np.exp(comp - m[:, None]).sum(axis=1)))


# ---------------------------------------------------------------- honey
@program(
    "apiculture: a colony's brood, hive bees and foragers through a year of temperature and nectar, by Euler steps",
    lambda: (np.array([1600.0, 0.25, 0.75, 0.154]), 2.5),
    wrt=(0, 1),
    refused="a class inside a function",
)
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


# ---------------------------------------------------------------- harvest
class Hive:
    def __init__(self, eggs_a_day, mortality):
        self.rate, self.mortality = eggs_a_day, mortality
        self.brood = deque([0.0] * 21, maxlen=21)
        self.bees, self.honey = 9000.0, 12.0
        self.swarms = 0

    def __len__(self):
        return int(self.bees)

    def day(self, flow, temperature):
        capacity = 60000.0
        laid = self.rate * max(0.0, min(1.0, (temperature - 5) / 15)) * (1 - self.bees / capacity)
        hatched = self.brood[0]
        self.brood.append(laid)
        foragers = 0.35 * self.bees if temperature > 12 else 0.0
        self.bees += 0.92 * hatched - self.mortality * self.bees - 0.02 * foragers * flow
        self.honey += 3e-5 * foragers * flow - 1.4e-6 * self.bees - 4e-6 * sum(self.brood)
        if self.bees > 45000 and not self.swarms:
            self.bees *= 0.5
            self.swarms += 1
        return self


@program(
    "beekeeping: a colony through a season, brood in cohorts, foragers by weather, swarming when it is full",
    lambda: (1800.0, 0.028, np.array([0.6, 1.4, 0.3])),
    wrt=(0, 1, 2),
)
def harvest(eggs, mortality, flows):
    hive = Hive(eggs, mortality)
    for week, flow in zip(range(1, 25), itertools.cycle(flows)):
        temperature = 14 + 9 * math.sin(2 * math.pi * (week - 6) / 52)
        for _ in range(7):
            hive.day(flow, temperature)
    assert len(hive) > 0, "the colony died"
    return hive.honey + 1e-4 * hive.bees


# ---------------------------------------------------------------- diversity
class Level(IntEnum):
    LOW = 1
    MID = 2
    HIGH = 4


@program(
    "a food web with functional responses by trophic level, run until it settles, and its diversity",
    lambda: (np.array([1.2, 0.9, 0.5]), 0.35, np.array([0.3, 0.25])),
    wrt=(0, 1, 2),
)
def diversity(growth, attack, death):
    web = {"algae": Level.LOW, "weed": Level.LOW, "snail": Level.MID, "carp": Level.HIGH}
    eats = {"snail": ("algae", "weed"), "carp": ("snail",)}
    rate = dict(zip((k for k, l in web.items() if l is Level.LOW), growth))
    loss = dict(zip(eats, death))
    n = dict.fromkeys(web, 0.6)
    for _ in range(150):
        change = {k: 0.0 for k in n}
        for k, r in rate.items():
            change[k] += r * n[k] * (1 - n[k] / (2.0 / web[k]))
        for hunter, prey in eats.items():
            found = sum(n[p] for p in prey)
            for p in prey:
                eaten = attack * web[hunter] * n[hunter] * n[p] / (1 + growth[2] * found)
                change[p] -= eaten
                change[hunter] += 0.4 * eaten
            change[hunter] -= loss[hunter] * n[hunter]
        n = {k: max(v + 0.1 * change[k], 1e-6) for k, v in n.items()}
    total = sum(n.values())
    return -sum(v / total * math.log(v / total) for v in n.values()) + 0.1 * total


# ---------------------------------------------------------------- leslie_life_table
@program(
    "demography: Leslie matrix, Gompertz-Makeham life table with np.add.reduceat groups",
    lambda: (np.array([0.0003, 0.00004, 0.1]), np.array([0.05, 0.12, 0.1, 0.04])),
    wrt=(0, 1),
)
def leslie_life_table(gm, asfr):
    a, b, c = gm
    ages = np.arange(0, 100)
    mu = a + b * np.exp(c * ages)
    lx = np.concatenate([[1], np.exp(-np.cumsum(mu))[:-1]])
    Lx = np.add.reduceat(lx, np.arange(0, 100, 10)) / 10
    Leslie = np.diag(Lx[1:] / Lx[:-1], k=-1)
    Leslie[0, 1:5] += asfr * 8
    w, v = np.linalg.eig(Leslie[:5, :5].astype(complex))
    dom = np.argmax(np.abs(w))
    r = np.log(np.abs(w[dom])) / 10
    e0 = lx.sum() - 0.5
    return e0 + 100 * r


# ---------------------------------------------------------------- projection
@program(
    "demography: Leslie matrices per scenario, dictionary of rates overridden by updates",
    lambda: (np.array([1.2, 0.8]), np.array([0.7, 0.9])),
    wrt=(0, 1),
)
def projection(fertility, survival):
    scenarios = {"base": {}, "low": {"fertility": [0.0, *(0.8 * fertility)]}, "health": {"survival": survival**0.5}}
    growth = []
    for name, override in scenarios.items():
        rates = {"fertility": [0.0, *fertility], "survival": survival, **override}
        L = np.zeros((3, 3))
        L[0] = rates["fertility"]
        for k, s in enumerate(rates["survival"]):
            L[k + 1, k] = s
        n = np.array([1.0, 0.8, 0.5])
        for _ in range(10):
            n = L @ n
        growth.append(np.log(n.sum() / 2.3) / 10)
    return sum(growth) + max(growth) - min(growth)


# ---------------------------------------------------------------- stable_population
@program(
    "demography: Leslie matrix, growth rate, stable ages, and elasticities by the reproductive values",
    lambda: (np.array([0.0, 1.1, 0.8, 0.2]), np.array([0.5, 0.7, 0.4])),
    wrt=(0, 1),
)
def stable_population(fertility, survival):
    L = np.diag(survival, -1).astype(complex)
    L[0] += fertility
    values, vectors = np.linalg.eig(L)
    lead = np.argmax(values.real)
    growth = values[lead].real
    ages = vectors[:, lead].real
    ages = ages / ages.sum()
    w, left = np.linalg.eig(L.T)
    v = left[:, np.argmax(w.real)].real
    v = v / v[0]
    elasticity = np.outer(v, ages) * L.real / (growth * (v @ ages))
    expectancy = 1 + np.cumprod(survival).sum()
    return np.log(growth) + elasticity[0].sum() + 0.1 * expectancy + np.average(np.arange(4), weights=ages)
