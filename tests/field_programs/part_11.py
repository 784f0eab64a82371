import numpy as np
from numba import njit
from scipy.integrate import odeint, simpson
from scipy.special import ive
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student_t

PROGRAMS = []


# ---------------------------------------------------------------- directional statistics
def vonmises_mixture_nll(weights_raw, mu, log_kappa, angles):
    """Mixture of von Mises distributions (animal headings)."""
    w = np.exp(weights_raw)
    w = w / w.sum()
    kappa = np.exp(log_kappa)
    log_c = -np.log(2 * np.pi * ive(0, kappa)) - kappa
    comp = np.log(w) + log_c + kappa * np.cos(angles[:, None] - mu)
    m = comp.max(axis=1)
    return -np.sum(m + np.log(np.exp(comp - m[:, None]).sum(axis=1)))


PROGRAMS.append(
    (
        "vonmises_mixture",
        "animal movement",
        vonmises_mixture_nll,
        lambda: (
            np.array([0.2, -0.1]),
            np.array([0.5, 2.6]),
            np.array([0.7, 1.1]),
            np.array([0.3, 0.7, 2.4, 2.9, -0.4, 1.1, 2.5, 3.0, 0.6]),
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- shallow water
@njit
def shallow_water_energy(h, u, g, drag, dt, steps):
    """1-D linearised-drag shallow water, staggered grid with periodic boundary."""
    n = h.size
    h = h.copy()
    u = u.copy()
    for _ in range(steps):
        un = np.empty(n)
        for i in range(n):
            left = h[i - 1] if i > 0 else h[n - 1]
            un[i] = u[i] - dt * g * (h[i] - left) - dt * drag * u[i]
        hn = np.empty(n)
        for i in range(n):
            j = (i + 1) % n
            hn[i] = h[i] - dt * (1.0 + 0.1 * h[i]) * (un[j] - un[i])
        u = un
        h = hn
    e = 0.0
    for i in range(n):
        e += 0.5 * u[i] ** 2 + 0.5 * g * h[i] ** 2
    return e


PROGRAMS.append(
    (
        "shallow_water",
        "physical oceanography",
        shallow_water_energy,
        lambda: (np.exp(-0.5 * (np.arange(14) - 6.0) ** 2), np.zeros(14) + 0.02, 1.0, 0.05, 0.1, 12),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- stochastic volatility pricing
def heston_cf(u, tau, kappa, theta, xi, rho, v0, r, s0):
    """Characteristic function of log S in the stable formulation."""
    d = np.sqrt((rho * xi * 1j * u - kappa) ** 2 + xi**2 * (1j * u + u**2))
    g = (kappa - rho * xi * 1j * u - d) / (kappa - rho * xi * 1j * u + d)
    e = np.exp(-d * tau)
    C = r * 1j * u * tau + kappa * theta / xi**2 * (
        (kappa - rho * xi * 1j * u - d) * tau - 2 * np.log((1 - g * e) / (1 - g))
    )
    D = (kappa - rho * xi * 1j * u - d) / xi**2 * (1 - e) / (1 - g * e)
    return np.exp(C + D * v0 + 1j * u * np.log(s0))


def heston_call(s0, K, tau, r, params, n=81, umax=60.0):
    u = np.linspace(1e-3, umax, n)
    kappa, theta, xi, rho, v0 = params
    cf1 = heston_cf(u - 1j, tau, kappa, theta, xi, rho, v0, r, s0) / (s0 * np.exp(r * tau))
    cf2 = heston_cf(u, tau, kappa, theta, xi, rho, v0, r, s0)
    k = np.exp(-1j * u * np.log(K)) / (1j * u)
    p1 = 0.5 + simpson((k * cf1).real, x=u) / np.pi
    p2 = 0.5 + simpson((k * cf2).real, x=u) / np.pi
    return s0 * p1 - K * np.exp(-r * tau) * p2


def calibration_error(params, s0, quotes, r=0.02):
    err = [(heston_call(s0, K, tau, r, params) - px) ** 2 for K, tau, px in quotes]
    return sum(err) / len(err)


PROGRAMS.append(
    (
        "heston_calibration",
        "quantitative finance",
        calibration_error,
        lambda: ([1.8, 0.05, 0.5, -0.6, 0.045], 100.0, [(90.0, 0.5, 13.0), (100.0, 0.5, 6.9), (110.0, 1.0, 5.2)]),
        (0, 1),
    )
)


# ---------------------------------------------------------------- enzyme kinetics
def mm_rhs(y, t, vmax, km, ki, kd):
    s, p = y
    v = vmax * s / (km * (1 + p / ki) + s)
    return [-v, v - kd * p]


def progress_curve_ssq(vmax, km, ki, kd, s0, t, product):
    """Product inhibited Michaelis-Menten progress curve."""
    sol = odeint(mm_rhs, [s0, 0.0], t, args=(vmax, km, ki, kd), rtol=1e-11, atol=1e-12)
    return np.sum((sol[:, 1] - product) ** 2)


PROGRAMS.append(
    (
        "progress_curve",
        "enzymology",
        progress_curve_ssq,
        lambda: (1.2, 0.8, 2.5, 0.05, 5.0, np.linspace(0, 6, 7), np.array([0, 1.0, 1.75, 2.4, 2.9, 3.2, 3.5])),
        (0, 1, 2, 3, 4),
    )
)


# ---------------------------------------------------------------- mixture model clustering
def gmm_nll(pi_raw, means, chol_flat, X):
    """Full-covariance Gaussian mixture, covariances through their Cholesky factors."""
    n, d = X.shape
    logw = pi_raw - np.log(np.sum(np.exp(pi_raw)))
    tril = np.tril_indices(d)
    logp = np.empty((n, len(means)))
    for k, (mu, c) in enumerate(zip(means, chol_flat)):
        L = np.zeros((d, d))
        L[tril] = c
        logp[:, k] = logw[k] + multivariate_normal(mu, L @ L.T).logpdf(X)
    return -np.logaddexp.reduce(logp, axis=1).sum()


PROGRAMS.append(
    (
        "gmm_full_cov",
        "clustering",
        gmm_nll,
        lambda: (
            np.array([0.1, -0.2]),
            np.array([[-1.0, 0.0], [1.2, 0.8]]),
            np.array([[0.9, 0.1, 0.8], [1.0, -0.3, 0.7]]),
            np.random.default_rng(13).normal(size=(9, 2)) * 1.3,
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- radiocarbon and dating
def age_depth(sed_rate, depth_knots, depth):
    """Piecewise linear age-depth model from accumulation rates per segment (years per cm)."""
    thickness = np.diff(depth_knots)
    cum = np.concatenate([[0.0], np.cumsum(sed_rate * thickness)])
    return np.interp(depth, depth_knots, cum)


def chronology_logpost(sed_rate, surface_age, memory, depth_knots, depth, dates, errors):
    """Student-t dates with gamma prior on the rates and an AR(1) memory term."""
    age = surface_age + age_depth(sed_rate, depth_knots, depth)
    z = (dates - age) / errors
    loglik = np.sum(student_t.logpdf(z, df=7) - np.log(errors))
    innov = (sed_rate[1:] - memory * sed_rate[:-1]) / (1 - memory)
    prior = np.sum(0.5 * np.log(innov) - 1.5 * innov / 20.0)
    return loglik + prior + 3 * np.log(memory) + 6 * np.log(1 - memory)


PROGRAMS.append(
    (
        "age_depth_model",
        "palaeoclimate",
        chronology_logpost,
        lambda: (
            np.array([18.0, 22.0, 25.0, 19.0]),
            -60.0,
            0.4,
            np.array([0.0, 20.0, 45.0, 70.0, 100.0]),
            np.array([12.0, 33.0, 58.0, 88.0]),
            np.array([170.0, 600.0, 1150.0, 1900.0]),
            np.array([30.0, 35.0, 40.0, 60.0]),
        ),
        (0, 1, 2, 5),
    )
)


# ---------------------------------------------------------------- contact mechanics / string instrument
def string_energy(u, v, tension, density, stiffness, dx):
    du = (u[1:] - u[:-1]) / dx
    d2u = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2
    return 0.5 * dx * (density * np.sum(v**2) + tension * np.sum(du**2) + stiffness * np.sum(d2u**2))


def stiff_string(pluck, pos, tension, stiffness, loss, density=0.01, n=21, dt=2e-4, steps=25):
    """Finite difference stiff string, energy left after a few periods plus bridge velocity."""
    x = np.linspace(0, 1, n)
    dx = x[1] - x[0]
    u = pluck * np.exp(-200 * (x - pos) ** 2) * np.sin(np.pi * x)
    up = u.copy()
    bridge = []
    for _ in range(steps):
        lap = np.zeros(n)
        lap[1:-1] = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2
        bih = np.zeros(n)
        bih[1:-1] = (lap[2:] - 2 * lap[1:-1] + lap[:-2]) / dx**2
        acc = (tension * lap - stiffness * bih) / density
        un = (2 * u - (1 - loss * dt) * up + dt**2 * acc) / (1 + loss * dt)
        un[0] = un[-1] = 0.0
        bridge.append((un[-2] - u[-2]) / dt)
        up, u = u, un
    return string_energy(u, (u - up) / dt, tension, density, stiffness, dx) + 1e-3 * np.mean(np.square(bridge))


PROGRAMS.append(
    ("stiff_string", "musical acoustics", stiff_string, lambda: (0.02, 0.23, 60.0, 2e-4, 3.0), (0, 1, 2, 3, 4))
)


# ---------------------------------------------------------------- capture-recapture
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


PROGRAMS.append(
    (
        "cormack_jolly_seber",
        "wildlife statistics",
        cjs_nll,
        lambda: (
            np.array([0.8, 0.5, 0.9, 0.4]),
            np.array([0.2, 0.1, -0.3, 0.0]),
            {"11010": 3, "10110": 5, "01101": 4, "00111": 6, "10000": 7, "01001": 2, "00010": 3},
        ),
        (0, 1),
    )
)


# ---------------------------------------------------------------- network meta / sports ranking
class BradleyTerry:
    def __init__(self, n_teams, prior_sd=1.0):
        self.n_teams = n_teams
        self.prior_sd = prior_sd

    def win_prob(self, strength, home, away, home_adv):
        return 1.0 / (1.0 + 10 ** (-(strength[home] - strength[away] + home_adv) / 0.4))

    def __call__(self, strength, home_adv, games):
        lp = norm.logpdf(strength, 0.0, self.prior_sd).sum()
        for home, away, hg, ag in games:
            p = self.win_prob(strength, home, away, home_adv)
            margin = np.log1p(abs(hg - ag))
            lp += margin * (np.log(p) if hg > ag else np.log(1 - p))
        return lp


def season_log_posterior(strength, home_adv, prior_sd, games):
    model = BradleyTerry(len(strength), prior_sd=prior_sd)
    return model(strength, home_adv, games)


PROGRAMS.append(
    (
        "bradley_terry",
        "sports analytics",
        season_log_posterior,
        lambda: (
            np.array([0.2, -0.1, 0.05, -0.3]),
            0.08,
            0.7,
            [(0, 1, 3, 1), (2, 3, 2, 0), (1, 2, 0, 1), (3, 0, 1, 4), (0, 2, 2, 1), (1, 3, 3, 2)],
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- magnetism: Stoner-Wohlfarth, gradient flow
def sw_energy(phi, h, psi, k2):
    return np.sin(phi) ** 2 + k2 * np.sin(phi) ** 4 - 2 * h * np.cos(phi - psi)


def equilibrium_angle(h, psi, k2, phi0):
    """Newton on the energy derivative with the previous field step as start."""
    phi = phi0
    for _ in range(12):
        g = np.sin(2 * phi) * (1 + 2 * k2 * np.sin(phi) ** 2) + 2 * h * np.sin(phi - psi)
        dg = (
            2 * np.cos(2 * phi) * (1 + 2 * k2 * np.sin(phi) ** 2)
            + 2 * k2 * np.sin(2 * phi) ** 2
            + 2 * h * np.cos(phi - psi)
        )
        phi = phi - g / dg
    return phi


def loop_misfit(psi, k2, ms, fields, moment):
    phi, res = psi, 0.0
    for h, m in zip(fields, moment):
        phi = equilibrium_angle(h, psi, k2, phi)
        res += (ms * np.cos(phi - psi) - m) ** 2
    return res


PROGRAMS.append(
    (
        "stoner_wohlfarth",
        "magnetism",
        loop_misfit,
        lambda: (0.6, 0.08, 1.1, np.linspace(2.0, 0.1, 9), np.linspace(1.05, 0.9, 9)),
        (0, 1, 2, 3),
    )
)
