import math

import numpy as np
from scipy.linalg import cholesky, expm, solve_discrete_lyapunov
from scipy.signal import lfilter
from scipy.special import expit, logsumexp

PROGRAMS = []


# ---------------------------------------------------------------- solar energy
def sun_position(doy, hour, lat):
    decl = math.radians(23.45) * math.sin(2 * math.pi * (284 + doy) / 365)
    ha = math.radians(15.0 * (hour - 12.0))
    sin_el = math.sin(lat) * math.sin(decl) + math.cos(lat) * math.cos(decl) * math.cos(ha)
    el = math.asin(sin_el)
    az = math.atan2(math.sin(ha), math.cos(ha) * math.sin(lat) - math.tan(decl) * math.cos(lat))
    return el, az


def daily_yield(tilt, azimuth, lat, doy=172, eff=0.19, albedo=0.2):
    """Clear-sky energy on a tilted panel, kWh per square metre and day."""
    total = 0.0
    for hour in range(5, 20):
        el, az = sun_position(doy, hour, lat)
        if el <= 0:
            continue
        air_mass = 1.0 / (math.sin(el) + 0.50572 * (math.degrees(el) + 6.07995) ** -1.6364)
        dni = 1353.0 * 0.7 ** (air_mass**0.678)
        cos_inc = math.sin(el) * math.cos(tilt) + math.cos(el) * math.sin(tilt) * math.cos(az - azimuth)
        dhi = 0.1 * dni
        ghi = dni * math.sin(el) + dhi
        poa = dni * max(cos_inc, 0.0)
        poa += dhi * 0.5 * (1 + math.cos(tilt)) + albedo * ghi * 0.5 * (1 - math.cos(tilt))
        total += eff * poa
    return total / 1000.0


PROGRAMS.append(("solar_panel", "solar energy", daily_yield, lambda: (0.5, 0.15, 0.83), (0, 1, 2)))


# ---------------------------------------------------------------- change of variables: normalizing flow
def coupling_layer(x, params, flip):
    d = x.shape[1] // 2
    a, b = (x[:, d:], x[:, :d]) if flip else (x[:, :d], x[:, d:])
    h = np.tanh(a @ params["w1"] + params["b1"])
    s = np.tanh(h @ params["ws"])
    t = h @ params["wt"]
    b = b * np.exp(s) + t
    out = np.concatenate([b, a], axis=1) if flip else np.concatenate([a, b], axis=1)
    return out, s.sum(axis=1)


def flow_nll(layers, x):
    """Negative log likelihood of an affine coupling flow with standard normal base."""
    logdet = 0.0
    for k, layer in enumerate(layers):
        x, ld = coupling_layer(x, layer, flip=k % 2 == 1)
        logdet = logdet + ld
    logp = -0.5 * np.sum(x**2, axis=1) - 0.5 * x.shape[1] * np.log(2 * np.pi)
    return -np.mean(logp + logdet)


def _flow_args():
    rng = np.random.default_rng(41)
    layers = [
        dict(
            w1=rng.normal(size=(1, 3)),
            b1=rng.normal(size=3),
            ws=0.3 * rng.normal(size=(3, 1)),
            wt=0.3 * rng.normal(size=(3, 1)),
        )
        for _ in range(3)
    ]
    return layers, rng.normal(size=(8, 2))


PROGRAMS.append(("affine_flow", "density estimation", flow_nll, _flow_args, (0, 1)))


# ---------------------------------------------------------------- convolutional network
def conv2d(x, k, b):
    """Valid convolution, x (C, H, W), k (O, C, kh, kw)."""
    o, c, kh, kw = k.shape
    H, W = x.shape[1] - kh + 1, x.shape[2] - kw + 1
    out = np.zeros((o, H, W))
    for i in range(kh):
        for j in range(kw):
            out += np.tensordot(k[:, :, i, j], x[:, i : i + H, j : j + W], axes=1)
    return out + b[:, None, None]


def max_pool(x, s=2):
    c, h, w = x.shape
    return x[:, : h - h % s, : w - w % s].reshape(c, h // s, s, w // s, s).max(axis=(2, 4))


def cnn_loss(kernels, bias, dense, image, label):
    z = conv2d(np.pad(image, ((0, 0), (1, 1), (1, 1))), kernels, bias)
    z = max_pool(np.maximum(z, 0.1 * z))
    logits = dense @ z.ravel()
    return logsumexp(logits) - logits[label]


def _cnn_args():
    rng = np.random.default_rng(19)
    return (
        rng.normal(size=(2, 1, 3, 3)) / 2,
        np.array([0.1, -0.1]),
        rng.normal(size=(3, 18)) / 3,
        rng.normal(size=(1, 6, 6)),
        1,
    )


PROGRAMS.append(("small_cnn", "image classification", cnn_loss, _cnn_args, (0, 1, 2, 3)))


# ---------------------------------------------------------------- recurrent network
def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_step(x, h, c, W, U, b):
    z = W @ x + U @ h + b
    i, f, o, g = np.split(z, 4)
    c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, c


def forecast_loss(W, U, b, v, series):
    """One-step-ahead squared error of a tiny LSTM."""
    n = U.shape[1]
    h, c = np.zeros(n), np.zeros(n)
    errors = []
    for now, nxt in zip(series[:-1], series[1:]):
        h, c = lstm_step(np.array([now, 1.0]), h, c, W, U, b)
        errors.append((v @ h - nxt) ** 2)
    return sum(errors) / len(errors)


def _lstm_args():
    rng = np.random.default_rng(23)
    return (
        0.5 * rng.normal(size=(12, 2)),
        0.5 * rng.normal(size=(12, 3)),
        np.zeros(12) + 0.05,
        rng.normal(size=3),
        np.sin(0.6 * np.arange(12)),
    )


PROGRAMS.append(("lstm_forecast", "load forecasting", forecast_loss, _lstm_args, (0, 1, 2, 3)))


# ---------------------------------------------------------------- variational inference
def kl_diag_normal(m, log_s):
    return 0.5 * np.sum(m**2 + np.exp(2 * log_s) - 2 * log_s - 1)


def neg_elbo(m, log_s, X, y, n_samples=6, seed=0):
    """Reparameterised ELBO for Bayesian logistic regression with common random numbers."""
    rng = np.random.default_rng(seed)
    eps = rng.standard_normal((n_samples, m.size))
    w = m + np.exp(log_s) * eps
    z = w @ X.T
    ll = y * z - np.logaddexp(0.0, z)
    return kl_diag_normal(m, log_s) - ll.sum(axis=1).mean()


PROGRAMS.append(
    (
        "logistic_elbo",
        "variational inference",
        neg_elbo,
        lambda: (
            np.array([0.3, -0.5, 0.2]),
            np.array([-0.5, -0.8, -0.3]),
            np.random.default_rng(1).normal(size=(10, 3)),
            np.array([1, 0, 0, 1, 1, 0, 1, 1, 0, 0]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- Monte Carlo simulation
def heston_paths_payoff(s0, v0, kappa, theta, xi, rho, strike, n_paths=30, n_steps=12, T=1.0, seed=42):
    """Asian call by Euler Monte Carlo under stochastic volatility, antithetic normals."""
    rng = np.random.default_rng(seed)
    dt = T / n_steps
    z = rng.standard_normal((2, n_steps, n_paths // 2))
    z = np.concatenate([z, -z], axis=2)
    z1 = z[0]
    z2 = rho * z[0] + np.sqrt(1 - rho**2) * z[1]
    log_s = np.full(n_paths, np.log(s0))
    v = np.full(n_paths, v0)
    running = np.zeros(n_paths)
    for k in range(n_steps):
        vp = np.maximum(v, 0.0)
        log_s = log_s - 0.5 * vp * dt + np.sqrt(vp * dt) * z1[k]
        v = v + kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * z2[k]
        running += np.exp(log_s)
    return np.mean(np.maximum(running / n_steps - strike, 0.0))


PROGRAMS.append(
    (
        "asian_mc",
        "Monte Carlo pricing",
        heston_paths_payoff,
        lambda: (100.0, 0.06, 2.0, 0.06, 0.2, -0.5, 98.0),
        (0, 1, 2, 3, 4, 5, 6),
    )
)


# ---------------------------------------------------------------- DSGE, state-space
def var_stationary_nll(Phi, log_sd, corr_raw, Y):
    """Exact Gaussian likelihood of a VAR(1) started from its stationary distribution."""
    sd = np.exp(log_sd)
    r = np.tanh(corr_raw)
    Q = np.outer(sd, sd) * np.array([[1.0, r], [r, 1.0]])
    P = solve_discrete_lyapunov(Phi, Q)

    def half_quad(e, S):
        c = cholesky(S, lower=True)
        z = np.linalg.solve(c, e)
        return 0.5 * z @ z + np.log(np.diag(c)).sum() + 0.5 * len(e) * np.log(2 * np.pi)

    nll = half_quad(Y[0], P)
    for t in range(1, len(Y)):
        nll += half_quad(Y[t] - Phi @ Y[t - 1], Q)
    return nll


PROGRAMS.append(
    (
        "var1_exact",
        "macroeconometrics",
        var_stationary_nll,
        lambda: (
            np.array([[0.6, 0.1], [-0.2, 0.5]]),
            np.array([0.1, -0.2]),
            0.3,
            np.random.default_rng(15).normal(size=(8, 2)),
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- credit risk
def generator_from_rates(rates):
    """Rating migration generator with an absorbing default state."""
    n = 4
    G = np.zeros((n, n))
    pos = 0
    for i in range(n - 1):
        for j in range(n):
            if i != j:
                G[i, j] = rates[pos]
                pos += 1
    G -= np.diag(G.sum(axis=1))
    return G


def cds_pricing_error(rates, spreads, tenors, rating=1, recovery=0.4, r=0.03):
    G = generator_from_rates(rates)
    err = 0.0
    for spread, T in zip(spreads, tenors):
        grid = np.linspace(0.0, T, int(2 * T) + 1)
        pd = np.array([expm(G * t)[rating, -1] for t in grid])
        df = np.exp(-r * grid)
        protection = (1 - recovery) * np.sum(0.5 * (df[1:] + df[:-1]) * np.diff(pd))
        annuity = np.sum(0.5 * df[1:] * (1 - pd[1:]))
        err += (1e4 * protection / annuity - spread) ** 2
    return err / len(spreads)


PROGRAMS.append(
    (
        "rating_migration_cds",
        "credit risk",
        cds_pricing_error,
        lambda: (np.array([0.08, 0.01, 0.002, 0.05, 0.07, 0.01, 0.01, 0.09, 0.06]), [80.0, 120.0, 150.0], [1, 2, 3]),
        (0,),
    )
)


# ---------------------------------------------------------------- audio: dynamics processing
def one_pole_envelope(x, attack, release, fs):
    """Peak envelope follower."""
    ga = np.exp(-1.0 / (attack * fs))
    gr = np.exp(-1.0 / (release * fs))
    env = []
    e = 0.01
    for s in np.abs(x):
        g = ga if s > e else gr
        e = g * e + (1.0 - g) * s
        env.append(e)
    return np.array(env)


def compressor_error(threshold_db, ratio, attack, release, x, target, knee=6.0, fs=1000.0):
    """Soft-knee compressor matched to a target in the pre-emphasised domain."""
    level = 20 * np.log10(one_pole_envelope(x, attack, release, fs) + 1e-6)
    over = level - threshold_db
    gain = np.zeros_like(over)
    for i, o in enumerate(over):
        if o >= knee / 2:
            gain[i] = (1 / ratio - 1) * o
        elif o > -knee / 2:
            gain[i] = (1 / ratio - 1) * (o + knee / 2) ** 2 / (2 * knee)
    y = x * 10 ** (gain / 20)
    e = lfilter([1.0, -0.85], [1.0], y - target)
    return float(np.sum(e**2) / np.sum(target**2))


PROGRAMS.append(
    (
        "soft_knee_compressor",
        "audio effects",
        compressor_error,
        lambda: (
            -12.0,
            4.0,
            0.004,
            0.03,
            np.sin(0.9 * np.arange(36) + 0.2) * (0.2 + 0.8 * (np.arange(36) > 10)),
            0.5 * np.sin(0.9 * np.arange(36) + 0.2),
        ),
        (0, 1, 2, 3),
    )
)


# ---------------------------------------------------------------- topic: occupancy modelling of species
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


def occupancy_nll(beta_psi, beta_p, elevation, effort, detections):
    """Single season occupancy model with missing visits, plus a weak Gaussian prior."""
    total = 0.0
    for elev, eff, y in zip(elevation, effort, detections):
        psi = expit(beta_psi[0] + beta_psi[1] * elev + beta_psi[2] * elev**2)
        p = [expit(beta_p[0] + beta_p[1] * e) for e in eff]
        total += site_loglik(y, psi, p)
    prior = sum(b**2 for b in [*beta_psi, *beta_p]) / (2 * 2.5**2)
    return -total + prior


PROGRAMS.append(
    (
        "species_occupancy",
        "conservation biology",
        occupancy_nll,
        lambda: (
            [0.3, 0.8, -0.4],
            [-0.2, 0.5],
            [-1.2, -0.3, 0.4, 1.1, 0.0],
            [[1.0, 0.5, 0.8], [0.2, 1.5, 1.0], [0.9, 0.9, 0.3], [1.2, 0.4, 0.6], [0.7, 1.1, 0.1]],
            [[0, 0, None], [1, 0, 1], [1, 1, 0], [0, None, 0], [0, 1, 0]],
        ),
        (0, 1, 2),
    )
)
