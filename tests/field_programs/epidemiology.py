"""Epidemics and infections."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy import integrate
from scipy.special import gammaln

from tests.field_programs import program


# ---------------------------------------------------------------- seir_loglik
@program(
    "Poisson log likelihood of daily new cases under an SEIR model, Euler with 4 substeps per day",
    lambda: (0.62, 0.25, 0.18, [1, 2, 2, 3, 5, 4, 7, 9, 8, 12, 15, 14]),
    wrt=(0, 1, 2),
)
def seir_loglik(beta, sigma, gamma, cases, N=10000.0, I0=12.0):
    """Poisson log likelihood of daily new cases under an SEIR model, Euler with 4 substeps per day."""
    S, E, I, R = N - I0, 0.0, I0, 0.0
    sub = 4
    dt = 1.0 / sub
    ll = 0.0
    for c in cases:
        new = 0.0
        for _ in range(sub):
            inf = beta * S * I / N * dt
            onset = sigma * E * dt
            rec = gamma * I * dt
            S -= inf
            E += inf - onset
            I += onset - rec
            R += rec
            new += onset
        mu = new + 1e-6
        ll += c * np.log(mu) - mu - gammaln(c + 1)
    return ll


# ---------------------------------------------------------------- vaccination_objective
def next_generation_r0(contact, suscept, infectious, vacc, ve):
    """Dominant eigenvalue by power iteration."""
    eff = suscept * (1.0 - ve * vacc)
    K = eff[:, None] * contact * infectious[None, :]
    x = np.ones(len(vacc)) / len(vacc)
    r = 0.0
    for _ in range(40):
        y = K @ x
        r = np.sum(y)
        x = y / r
    return r


@program(
    "allocation of a vaccine",
    lambda: (
        np.array([0.2, 0.5, 0.7]),
        np.array([[8.0, 3.0, 1.0], [3.0, 6.0, 2.0], [1.0, 2.0, 3.0]]),
        np.array([0.05, 0.08, 0.1]),
        np.array([4.0, 5.0, 6.0]),
        np.array([20.0, 55.0, 25.0]),
        0.8,
    ),
    wrt=(0, 1, 2, 3, 5),
)
def vaccination_objective(vacc, contact, suscept, infectious, pop, ve=0.85, price=0.3):
    doses = np.dot(pop, vacc) / pop.sum()
    return next_generation_r0(contact, suscept, infectious, vacc, ve) + price * doses**2


# ---------------------------------------------------------------- seir_lockdown
@program(
    "SEIR with dictionary of compartments and interventions",
    lambda: ({"beta": 0.4, "sigma": 0.2, "gamma": 0.1, "mu": 0.01}, np.array([0.99, 0.0, 0.01, 0.0])),
    wrt=(0, 1),
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


# ---------------------------------------------------------------- seir
@program(
    "Gillespie-free SEIR with age groups, dict state",
    lambda: (np.array([0.3, 0.5]), np.array([[1.2, 0.4], [0.4, 0.9]])),
    wrt=(0, 1),
)
def seir(beta, C):
    state = dict(S=np.array([0.9, 0.8]), E=np.array([0.05, 0.1]), I=np.array([0.05, 0.1]), R=np.zeros(2))

    def rhs(st):
        lam = beta * (C @ st["I"])
        new = lam * st["S"]
        return {"S": -new, "E": new - 0.2 * st["E"], "I": 0.2 * st["E"] - 0.1 * st["I"], "R": 0.1 * st["I"]}

    peak = 0.0
    for _ in range(30):
        k1 = rhs(state)
        k2 = rhs({k: state[k] + 0.5 * k1[k] for k in state})
        state = {k: v + 0.5 * (k1[k] + k2[k]) for k, v in state.items()}
        peak = max(peak, state["I"].sum())
    return peak + state["R"].sum()


# ---------------------------------------------------------------- age_structured_seir
@dataclass(frozen=True)
class State:
    S: np.ndarray
    E: np.ndarray
    I: np.ndarray
    R: np.ndarray

    def step(self, beta, C, sigma, gamma, dt):
        force = beta * C @ (self.I / 1000.0)
        new_e, new_i, new_r = force * self.S * dt, sigma * self.E * dt, gamma * self.I * dt
        return replace(self, S=self.S - new_e, E=self.E + new_e - new_i, I=self.I + new_i - new_r, R=self.R + new_r)


@program(
    "epidemics: age structured SEIR with dataclass state and replace",
    lambda: (0.4, np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.7], [0.5, 0.7, 1.0]]), 0.2, 0.1),
    wrt=(0, 1, 2, 3),
)
def age_structured_seir(beta, C, sigma, gamma):
    st = State(np.array([990.0, 995.0, 999.0]), np.zeros(3), np.array([10.0, 5.0, 1.0]), np.zeros(3))
    peak = 0.0
    for _ in range(50):
        st = st.step(beta, C, sigma, gamma, 0.5)
        peak = max(peak, st.I.sum())
    return peak / 100 + np.log(st.R.sum())


# ---------------------------------------------------------------- age_seir
class SEIR(NamedTuple):
    S: np.ndarray
    E: np.ndarray
    I: np.ndarray
    R: np.ndarray

    def total(self):
        return self.S + self.E + self.I + self.R


@program(
    "age-structured SEIR, namedtuple state, solve_ivp, contact matrix",
    lambda: (np.array([[2.0, 0.5], [0.5, 1.0]]), 0.3, 0.2),
    wrt=(0, 1, 2),
)
def age_seir(contact, sigma, gamma, days=30):
    state = SEIR(S=np.array([990.0, 1990]), E=np.zeros(2), I=np.array([10.0, 10]), R=np.zeros(2))
    peak = 0.0
    for day in range(days):
        N = state.total()
        lam = 0.25 * contact @ (state.I / N)
        new_e = state.S * -np.expm1(-lam)
        new_i = state.E * -np.expm1(-sigma)
        new_r = state.I * (1 - np.exp(-gamma))
        state = state._replace(
            S=state.S - new_e, E=state.E + new_e - new_i, I=state.I + new_i - new_r, R=state.R + new_r
        )
        peak = max(peak, state.I.sum())
    return peak + state.R[1]


# ---------------------------------------------------------------- expected_cases
@program(
    "contact tracing on a network that grows, by levels from the first case",
    lambda: (np.array([0.3, 0.5, 0.2, 0.4, 0.6, 0.35]), 0.7),
    wrt=(0, 1),
)
def expected_cases(transmit, detect):
    contacts = {0: [1, 2], 1: [3, 4], 2: [4, 5], 3: [], 4: [5], 5: []}
    chance = {0: 1.0}
    frontier, seen, generation = [0], {0}, 0
    while frontier:
        following = []
        for person in frontier:
            for other in contacts[person]:
                p = chance[person] * transmit[other] * (1 - detect) ** generation
                chance[other] = 1 - (1 - chance.get(other, 0.0)) * (1 - p)
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        frontier, generation = following, generation + 1
    return sum(chance.values()) + chance[5] ** 2


# ---------------------------------------------------------------- metapop
@program("metapopulation with list of dicts", lambda: (np.array([0.4, 0.3, 0.5]), 0.1, 0.05), wrt=(0, 1, 2))
def metapop(betas, gamma, mix):
    cities = [{"S": 0.99, "I": 0.01, "R": 0.0, "beta": b} for b in betas]
    for day in range(30):
        total = sum(c["I"] for c in cities) / len(cities)
        for c in cities:
            force = c["beta"] * ((1 - mix) * c["I"] + mix * total)
            new = force * c["S"]
            rec = gamma * c["I"]
            c["S"] -= new
            c["I"] += new - rec
            c["R"] += rec
    return sum(c["R"] for c in cities) + max(c["I"] for c in cities)


# ---------------------------------------------------------------- viral_load
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


@program(
    "immunology: an infection with delayed effectors, kinetic proofreading of the receptor, a booster on a given day",
    lambda: (np.array([1.6, 8.0, 1.5, 1.1]), np.array([4.0, 1.5, 9.0]), np.array([1.0, 0.0, 1e-3, 0.02])),
    wrt=(0, 1, 2),
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
