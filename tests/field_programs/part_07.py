import numpy as np
from scipy.signal import savgol_filter
from scipy.spatial.distance import cdist, pdist, squareform

PROGRAMS = []


# ---------------------------------------------------------------- portfolio risk
def cvar(losses, level):
    """Average of the worst (1 - level) share of the losses."""
    s = np.sort(losses)
    k = int(np.ceil(level * len(s)))
    return s[k:].mean()


def risk_objective(w_raw, returns, level=0.8, risk_aversion=2.0):
    w = np.exp(w_raw) / np.exp(w_raw).sum()
    port = returns @ w
    vol = np.std(port, ddof=1)
    var = np.percentile(-port, 100 * level)
    return -port.mean() + risk_aversion * (0.5 * vol + 0.3 * cvar(-port, level) + 0.2 * var)


PROGRAMS.append(
    (
        "portfolio_cvar",
        "finance, portfolio risk",
        risk_objective,
        lambda: (np.array([0.1, -0.3, 0.4, 0.0]), np.random.default_rng(21).normal(0.01, 0.05, (22, 4))),
        (0, 1),
    )
)


# ---------------------------------------------------------------- materials: tensile test
def ramberg_osgood(stress, E, K, n):
    return stress / E + (stress / K) ** (1 / n)


def fit_energy(E, K, n, strain, stress):
    """Strain residual plus mismatch of the absorbed energy density."""
    model = ramberg_osgood(stress, E, K, n)
    energy_model = np.trapezoid(stress, model)
    energy_exp = np.trapezoid(stress, strain)
    return 1e6 * np.mean((model - strain) ** 2) + (energy_model - energy_exp) ** 2


PROGRAMS.append(
    (
        "ramberg_osgood",
        "materials testing",
        fit_energy,
        lambda: (
            70e3,
            530.0,
            0.11,
            np.array([0.0007, 0.0015, 0.0029, 0.0045, 0.008, 0.015]),
            np.array([50.0, 100.0, 200.0, 280.0, 320.0, 345.0]),
        ),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- graph Laplacians
def laplacian(W, normalized=True):
    d = W.sum(axis=1)
    L = np.diag(d) - W
    if normalized:
        s = 1.0 / np.sqrt(d)
        L = s[:, None] * L * s[None, :]
    return L


def label_propagation_loss(X, log_bw, labels, mask, mu=0.3):
    """Semi-supervised learning: harmonic labels on a Gaussian affinity graph."""
    D2 = squareform(pdist(X, "sqeuclidean"))
    W = np.exp(-D2 / (2 * np.exp(2 * log_bw)))
    np.fill_diagonal(W, 0.0)
    L = laplacian(W)
    y = np.where(mask, labels, 0.0)
    f = np.linalg.solve(np.diag(mask.astype(float)) + mu * L + 1e-3 * np.eye(len(y)), y)
    return np.mean((f[~mask] - labels[~mask]) ** 2)


def _graph_args():
    rng = np.random.default_rng(14)
    X = np.vstack([rng.normal(-1, 0.6, (5, 2)), rng.normal(1, 0.6, (5, 2))])
    labels = np.repeat([-1.0, 1.0], 5)
    mask = np.isin(np.arange(10), [0, 3, 6, 8])
    return X, -0.1, labels, mask


PROGRAMS.append(("graph_label_prop", "graph Laplacians", label_propagation_loss, _graph_args, (0, 1)))


# ---------------------------------------------------------------- population genetics
def coalescent_loglik(log_theta, growth, times, lineages):
    """Coalescent density of observed intercoalescent times with exponential growth."""
    theta = np.exp(log_theta)
    ll, t = 0.0, 0.0
    for k, dt in zip(lineages, times):
        rate = k * (k - 1) / theta
        t_new = t + dt
        hazard = rate * (np.exp(growth * t_new) - np.exp(growth * t)) / growth
        ll += np.log(rate) + growth * t_new - hazard
        t = t_new
    return ll


PROGRAMS.append(
    (
        "coalescent_growth",
        "population genetics",
        coalescent_loglik,
        lambda: (0.4, 0.8, [0.03, 0.05, 0.11, 0.2, 0.6], [6, 5, 4, 3, 2]),
        (0, 1, 2),
    )
)


# ---------------------------------------------------------------- optical flow
def horn_schunck_energy(u, v, I1, I2, alpha=0.3):
    """Variational optical flow energy with a Charbonnier data term."""
    Iy, Ix = np.gradient(0.5 * (I1 + I2))
    It = I2 - I1
    data = np.sqrt((Ix * u + Iy * v + It) ** 2 + 1e-3)
    uy, ux = np.gradient(u)
    vy, vx = np.gradient(v)
    smooth = ux**2 + uy**2 + vx**2 + vy**2
    return np.sum(data + alpha * smooth)


def _flow_args():
    y, x = np.mgrid[0:5, 0:6]
    I1 = np.sin(0.8 * x) + np.cos(0.6 * y)
    I2 = np.sin(0.8 * (x - 0.3)) + np.cos(0.6 * (y + 0.2))
    return 0.1 * np.cos(x + y), 0.05 * np.sin(x - y), I1, I2


PROGRAMS.append(("horn_schunck", "computer vision", horn_schunck_energy, _flow_args, (0, 1, 2, 3)))


# ---------------------------------------------------------------- natural language
def skipgram_loss(emb_in, emb_out, corpus, window=2, negatives=((3, 5), (0, 4), (1, 2))):
    """Skip-gram with a fixed set of negative samples."""
    pairs = [
        (c, corpus[j])
        for i, c in enumerate(corpus)
        for j in range(max(0, i - window), min(len(corpus), i + window + 1))
        if j != i
    ]
    loss = 0.0
    for n, (c, o) in enumerate(pairs):
        loss += np.log1p(np.exp(-emb_in[c] @ emb_out[o]))
        for k in negatives[n % len(negatives)]:
            loss += np.log1p(np.exp(emb_in[c] @ emb_out[k]))
    return loss / len(pairs)


PROGRAMS.append(
    (
        "skipgram_neg",
        "natural language processing",
        skipgram_loss,
        lambda: (
            0.5 * np.random.default_rng(0).normal(size=(6, 3)),
            0.5 * np.random.default_rng(1).normal(size=(6, 3)),
            [0, 2, 1, 4, 3, 5, 2, 0],
        ),
        (0, 1),
    )
)


# ---------------------------------------------------------------- attention
def multi_head_attention(x, wq, wk, wv, wo, n_heads=2):
    T, d = x.shape
    q = (x @ wq).reshape(T, n_heads, -1).transpose(1, 0, 2)
    k = (x @ wk).reshape(T, n_heads, -1).transpose(1, 0, 2)
    v = (x @ wv).reshape(T, n_heads, -1).transpose(1, 0, 2)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    causal = np.triu(np.ones((T, T), dtype=bool), k=1)
    scores = np.where(causal, -1e9, scores)
    w = np.exp(scores - scores.max(axis=-1, keepdims=True))
    w = w / w.sum(axis=-1, keepdims=True)
    out = (w @ v).transpose(1, 0, 2).reshape(T, -1)
    return out @ wo


def layer_norm(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return g * (x - mu) / np.sqrt(var + eps) + b


def transformer_block_loss(params, x, target):
    h = x + multi_head_attention(layer_norm(x, params["g"], params["b"]), *params["attn"])
    return np.mean((h @ params["head"] - target) ** 2)


def _attn_args():
    rng = np.random.default_rng(3)
    params = {
        "attn": [rng.normal(size=(4, 4)) / 2 for _ in range(4)],
        "g": np.array([1.0, 0.9, 1.1, 1.0]),
        "b": np.array([0.0, 0.1, -0.1, 0.05]),
        "head": rng.normal(size=(4, 2)),
    }
    return params, rng.normal(size=(5, 4)), rng.normal(size=(5, 2))


PROGRAMS.append(("causal_attention", "deep learning", transformer_block_loss, _attn_args, (0, 1)))


# ---------------------------------------------------------------- wind energy
def jensen_wakes(xy, wind_dir, u_inf, ct=0.8, rotor=80.0, k=0.05):
    """Park model with Gaussian lateral profile, root-sum-square superposition."""
    c, s = np.cos(wind_dir), np.sin(wind_dir)
    down = xy[:, 0] * c + xy[:, 1] * s
    cross = -xy[:, 0] * s + xy[:, 1] * c
    dx = down[:, None] - down[None, :]
    dy = cross[:, None] - cross[None, :]
    behind = dx > 0
    safe = np.where(behind, dx, 1.0)
    width = 0.5 * rotor + k * safe
    deficit = (1 - np.sqrt(1 - ct)) * (0.5 * rotor / width) ** 2 * np.exp(-0.5 * (dy / width) ** 2)
    deficit = np.where(behind, deficit, 0.0)
    return u_inf * (1 - np.sqrt(np.sum(deficit**2, axis=1) + 1e-8))


def farm_power(xy, rose, ct):
    """Expected farm power in MW over a discrete wind rose of (direction, speed, probability)."""
    total = 0.0
    for direction, speed, prob in rose:
        u = jensen_wakes(xy, np.deg2rad(direction), speed, ct=ct)
        total += prob * np.sum(0.5 * 1.225 * 0.4 * np.pi * 40.0**2 * u**3)
    return total / 1e6


PROGRAMS.append(
    (
        "wind_farm_wakes",
        "wind energy",
        farm_power,
        lambda: (
            np.array([[0.0, 0.0], [500.0, 60.0], [950.0, -80.0], [300.0, 520.0], [820.0, 480.0]]),
            [(3.0, 9.0, 0.4), (48.0, 7.5, 0.35), (95.0, 10.5, 0.25)],
            0.78,
        ),
        (0, 2),
    )
)


# ---------------------------------------------------------------- spectroscopy
def pseudo_voigt(x, x0, area, fwhm, eta):
    s = fwhm / (2 * np.sqrt(2 * np.log(2)))
    g = np.exp(-0.5 * ((x - x0) / s) ** 2) / (s * np.sqrt(2 * np.pi))
    lo = (fwhm / 2) / np.pi / ((x - x0) ** 2 + (fwhm / 2) ** 2)
    return area * (eta * lo + (1 - eta) * g)


def xps_fit(p, x, y):
    """Sum of pseudo-Voigts over a linear background; p is a flat vector as passed by the optimiser."""
    n_peaks = (len(p) - 2) // 4
    model = p[-2] + p[-1] * (x - x.mean())
    for k in range(n_peaks):
        model = model + pseudo_voigt(x, *p[4 * k : 4 * k + 4])
    resid = savgol_filter(y, 5, 2) - model
    return np.sum(resid**2)


def _xps_args():
    x = np.linspace(-3, 5, 25)  # relative to the C 1s reference at 285 eV
    y = 5 * np.exp(-((x + 0.2) ** 2)) + 2 * np.exp(-((x - 1.5) ** 2) / 1.5) + 0.4 + 0.05 * np.sin(9 * x)
    return np.array([-0.3, 8.0, 1.5, 0.3, 1.4, 4.0, 1.8, 0.2, 0.4, 0.01]), x, y


PROGRAMS.append(("xps_peaks", "spectroscopy", xps_fit, _xps_args, (0, 2)))


# ---------------------------------------------------------------- spatial statistics
def matern32(d, sill, rng):
    a = np.sqrt(3) * d / rng
    return sill * (1 + a) * np.exp(-a)


def loo_kriging_mse(log_theta, z, coords):
    """Closed-form leave-one-out error of simple kriging."""
    sill, rng, nugget = np.exp(log_theta)
    K = matern32(cdist(coords, coords), sill, rng) + nugget * np.eye(len(z))
    Ki = np.linalg.inv(K)
    zc = z - z.mean()
    e = (Ki @ zc) / np.diag(Ki)
    return np.mean(e**2)


PROGRAMS.append(
    (
        "kriging_loo",
        "geostatistics",
        loo_kriging_mse,
        lambda: (
            np.log(np.array([1.4, 0.8, 0.1])),
            np.random.default_rng(5).normal(size=10),
            np.random.default_rng(6).uniform(0, 2, (10, 2)),
        ),
        (0, 1),
    )
)
