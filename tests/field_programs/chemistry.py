"""Chemistry: equilibria, kinetics, biochemistry."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg, optimize
from scipy.integrate import odeint

from tests.field_programs import program


# ---------------------------------------------------------------- batch_reactor
@program(
    "reaction network with dicts",
    lambda: ({"k1": 1.2, "k2": 0.4, "k3": 0.7}, np.array([1.0, 0.5, 0.0, 0.0])),
    wrt=(0, 1),
)
def batch_reactor(rates, c0):
    reactions = [("k1", (0, 1), (2,)), ("k2", (2,), (0, 1)), ("k3", (2, 2), (3,))]
    c = c0.copy()
    for _ in range(50):
        dc = np.zeros_like(c)
        for name, reac, prod in reactions:
            r = rates[name] * np.prod([c[s] for s in reac])
            for s in reac:
                dc[s] -= r
            for s in prod:
                dc[s] += r
        c += 0.02 * dc
    return c[3] / (c[:3].sum() + 1e-9)


# ---------------------------------------------------------------- carbonate_ph
@dataclass
class Species:
    name: str
    charge: int
    logK: float


@program("equilibrium by Newton with dict of species and line search", lambda: (np.array([-6.3, -10.3]), 1e-3))
def carbonate_ph(logK, total):
    species = [Species("H2CO3", 0, 0.0), Species("HCO3", -1, logK[0]), Species("CO3", -2, logK[0] + logK[1])]
    pH = 8.0
    for _ in range(40):
        H = 10.0**-pH
        terms = {s.name: 10.0 ** (s.logK - s.charge * pH) for s in species}
        Z = sum(terms.values())
        resid = H - 1e-14 / H + 0.002 + sum(s.charge * total * terms[s.name] / Z for s in species)
        dZ = sum(-s.charge * math.log(10) * terms[s.name] for s in species)
        d = -math.log(10) * (H + 1e-14 / H) + sum(
            s.charge * total * (-s.charge * math.log(10) * terms[s.name] * Z - terms[s.name] * dZ) / Z**2
            for s in species
        )
        step = resid / d
        pH -= max(min(step, 0.5), -0.5)
        if abs(step) < 1e-12:
            break
    return pH


# ---------------------------------------------------------------- stoichiometric_network
@program("stoichiometric network from strings", lambda: (np.array([0.5, 0.3, 0.8]),))
def stoichiometric_network(k):
    rxns = ["A + B -> C", "C -> A + B", "2 C -> D"]
    species = ["A", "B", "C", "D"]
    idx = {s: i for i, s in enumerate(species)}

    def parse(side):
        out = []
        for term in side.split("+"):
            parts = term.split()
            n, s = (int(parts[0]), parts[1]) if len(parts) == 2 else (1, parts[0])
            out.append((n, idx[s]))
        return out

    net = [tuple(parse(s) for s in r.split("->")) for r in rxns]
    c = np.array([1.0, 0.8, 0.1, 0.0])
    for _ in range(30):
        dc = np.zeros(4)
        for (lhs, rhs), kr in zip(net, k):
            rate = kr
            for n, i in lhs:
                rate = rate * c[i] ** n
            for n, i in lhs:
                dc[i] -= n * rate
            for n, i in rhs:
                dc[i] += n * rate
        c = c + 0.05 * dc
    return c[3] + 0.1 * c[0]


# ---------------------------------------------------------------- ph_of_a_buffer
@program(
    "equilibrium of a buffer by Newton's method on charges, activity after Davies",
    lambda: (0.1, 0.05, 4.76, 0.509),
    wrt=(0, 1, 2, 3),
)
def ph_of_a_buffer(acid, base, pKa, A):
    Kw, Ka = 1e-14, 10.0**-pKa
    ionic = base
    for outer in range(8):
        root = math.sqrt(ionic)
        log_gamma = -A * (root / (1 + root) - 0.3 * ionic)
        K = Ka / 10 ** (2 * log_gamma)
        h = Ka

        def charge(h):
            return h + base - Kw / h - (acid + base) * K / (K + h)

        def slope(h):
            return 1 + Kw / h**2 + (acid + base) * K / (K + h) ** 2

        for _ in range(100):
            step = charge(h) / slope(h)
            new = h - step
            h = new if new > 0 else h / 2
            if abs(step) < 1e-16:
                break
        ionic = 0.5 * (h + base + Kw / h + (acid + base) * K / (K + h))
    return -math.log10(h) - log_gamma


# ---------------------------------------------------------------- equilibrium_extent
@program(
    "parse of a formula string, molar mass and reaction equilibrium with bisection",
    lambda: (350.0, 2.0, np.array([1.0, 3.0, 0.0])),
    wrt=(0, 1, 2),
)
def equilibrium_extent(T, P, n0):
    nu = np.array([-1, -3, 2])
    dH, dS = -92.2e3, -198.0
    R = 8.314
    lnK = -(dH - T * dS) / (R * T)

    def g(xi):
        n = n0 + nu * xi
        y = n / n.sum()
        return np.sum(nu * np.log(y * P)) - lnK

    lo, hi = 1e-9, n0[:2].min() - 1e-9
    for _ in range(60):
        mid = (lo + hi) / 2
        if g(mid) < 0:
            lo = mid
        else:
            hi = mid
    xi = (lo + hi) / 2
    for _ in range(3):
        h = 1e-6
        xi = xi - g(xi) / ((g(xi + h) - g(xi - h)) / (2 * h))
    return xi


# ---------------------------------------------------------------- mass_action
REACTIONS = ["A + B -> C", "C -> A + B", "C -> D"]


def parse(r):
    left, right = r.split("->")
    return [s.strip() for s in left.split("+")], [s.strip() for s in right.split("+")]


NETWORK = [parse(r) for r in REACTIONS]


SPECIES = sorted({s for l, r in NETWORK for s in l + r})


@program(
    "reaction network with parsed strings and dict stoich",
    lambda: (np.array([1.0, 0.3, 0.2]), np.array([1.0, 0.8, 0.1, 0.0])),
    wrt=(0, 1),
)
def mass_action(k, c0):
    index = {s: i for i, s in enumerate(SPECIES)}
    c = c0.copy()
    for step in range(40):
        dc = np.zeros_like(c)
        for rate, (reactants, products) in zip(k, NETWORK):
            flux = rate
            for s in reactants:
                flux *= c[index[s]]
            for s in reactants:
                dc[index[s]] -= flux
            for s in products:
                dc[index[s]] += flux
        c += 0.05 * dc
    return c[index["D"]] + (c**2).sum()


# ---------------------------------------------------------------- batch_yield
def rk4_step(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def arrhenius(T, A, Ea, R=8.314):
    return A * np.exp(-Ea / (R * T))


def batch_rhs(t, y, k1, k2, k3):
    a, b, c = y
    r1, r2, r3 = k1 * a, k2 * b, k3 * b * c
    return np.array([-r1, r1 - r2 - r3, r2 - r3])


@program(
    "chemical kinetics: concentration of the intermediate after a batch A -> B -> C with a side reaction",
    lambda: (np.array([14.0, 16.0, 12.0]), np.array([35e3, 44e3, 33e3]), 310.0),
    wrt=(0, 1, 2),
)
def batch_yield(log_A, Ea, T, t_end=4.0, n=20):
    """Concentration of the intermediate after a batch A -> B -> C with a side reaction."""
    k = arrhenius(T, np.exp(log_A), Ea)
    rhs = partial(batch_rhs, k1=k[0], k2=k[1], k3=k[2])
    y = np.array([1.0, 0.0, 0.0])
    h = t_end / n
    for i in range(n):
        y = rk4_step(rhs, y, i * h, h)
    return y[1]


# ---------------------------------------------------------------- oregonator_steady
@program(
    "chemical kinetics: steady state of an Oregonator by fsolve, its Jacobian's eigenvalues, relaxation",
    lambda: (np.array([0.1, 0.6, 0.8]),),
)
def oregonator_steady(p):
    eps, f, q = p

    def rates(u):
        x, z = u
        return np.array([(x * (1 - x) - f * z * (x - q * 0.01) / (x + q * 0.01)) / eps, x - z])

    x, z = optimize.fsolve(rates, [0.5, 0.5])
    dq = q * 0.01
    J = np.array([[(1 - 2 * x - f * z * 2 * dq / (x + dq) ** 2) / eps, -f * (x - dq) / (x + dq) / eps], [1.0, -1.0]])
    ev = np.linalg.eigvals(J.astype(complex))
    return x + ev.real.max() + np.abs(ev).sum()


# ---------------------------------------------------------------- conversion
@program(
    "mechanism as a table of texts, mass action, Rosenbrock steps with a Jacobian by hand",
    lambda: ({"k1": 0.04, "k2": 0.9, "k3": 1.4}, np.array([1.0, 0.2, 0.0])),
    wrt=(0, 1),
)
def conversion(rates, start):
    species = ["A", "B", "C"]
    mechanism = ["A -> B : k1", "B + B -> C + B : k2", "B + C -> A + C : k3"]
    reactions = []
    for line in mechanism:
        equation, name = line.split(" : ")
        left, right = ([species.index(s) for s in side.split(" + ")] for side in equation.split(" -> "))
        reactions.append((left, right, rates[name]))

    def rhs(c):
        out = np.zeros(3)
        for left, right, k in reactions:
            rate = k * np.prod([c[i] for i in left])
            for i in left:
                out[i] -= rate
            for i in right:
                out[i] += rate
        return out

    def jacobian(c):
        J = np.zeros((3, 3))
        for left, right, k in reactions:
            for position, j in enumerate(left):
                d = k * np.prod([c[i] for p, i in enumerate(left) if p != position])
                for i in left:
                    J[i, j] -= d
                for i in right:
                    J[i, j] += d
        return J

    c, h, gamma = start, 0.5, 1 - np.sqrt(0.5)
    for _ in range(6):
        lu = linalg.lu_factor(np.eye(3) - h * gamma * jacobian(c))
        k1 = linalg.lu_solve(lu, rhs(c))
        k2 = linalg.lu_solve(lu, rhs(c + h * k1) - 2 * k1)
        c = c + 1.5 * h * k1 + 0.5 * h * k2
    return c[2] / c.sum() + 0.1 * c[0]


# ---------------------------------------------------------------- progress_curve_ssq
def mm_rhs(y, t, vmax, km, ki, kd):
    s, p = y
    v = vmax * s / (km * (1 + p / ki) + s)
    return [-v, v - kd * p]


@program(
    "enzymology: product inhibited Michaelis-Menten progress curve",
    lambda: (1.2, 0.8, 2.5, 0.05, 5.0, np.linspace(0, 6, 7), np.array([0, 1.0, 1.75, 2.4, 2.9, 3.2, 3.5])),
    wrt=(0, 1, 2, 3, 4),
)
def progress_curve_ssq(vmax, km, ki, kd, s0, t, product):
    """Product inhibited Michaelis-Menten progress curve."""
    sol = odeint(mm_rhs, [s0, 0.0], t, args=(vmax, km, ki, kd), rtol=1e-11, atol=1e-12)
    return np.sum((sol[:, 1] - product) ** 2)


# ---------------------------------------------------------------- pathway
@program(
    "biochemistry: Michaelis-Menten network with stoichiometry, stiff implicit Euler with own Newton",
    lambda: (dict(vmax=(1.0, 0.8, 0.5), km=(0.3, 0.5, 0.2), ki=1.5),),
)
def pathway(p):
    N = np.array([[-1, 0, 0], [1, -1, 0], [0, 1, -1.0]])
    vmax, km = np.array(p["vmax"]), np.asarray(p["km"])

    def rates(s):
        inhib = 1 / (1 + s[2] / p["ki"])
        return vmax * s / (km + s) * np.array([inhib, 1, 1])

    def jac(s, eps=1e-6):
        cols = []
        for j in range(3):
            e = np.zeros(3)
            e[j] = eps
            cols.append((N @ rates(s + e) - N @ rates(s - e)) / (2 * eps))
        return np.stack(cols, axis=1)

    s, dt = np.array([2.0, 0.1, 0.05]), 0.5
    for _ in range(6):
        guess = s
        for _ in range(12):
            res = guess - s - dt * N @ rates(guess)
            guess = guess - np.linalg.solve(np.eye(3) - dt * jac(guess), res)
        s = guess
    return s[1] + s.max() / 3
