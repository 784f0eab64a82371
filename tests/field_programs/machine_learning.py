"""Machine learning."""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Literal, Optional, TypedDict

import numpy as np
import scipy.special as sc
from numpy.linalg import LinAlgError
from scipy import linalg, special
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import erfc, logsumexp
from scipy.stats import multivariate_normal

from tests.field_programs import program, rng


# ---------------------------------------------------------------- transformer_loss
def layer_norm(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return g * (x - mu) / np.sqrt(var + eps) + b


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def mk():
    r = rng(5)
    d, h = 8, 2
    P = {
        "wqkv": r.normal(size=(d, 3 * d)) * 0.3,
        "wo": r.normal(size=(d, d)) * 0.3,
        "w1": r.normal(size=(d, 16)) * 0.3,
        "w2": r.normal(size=(16, d)) * 0.3,
        "g": np.ones(d),
        "b": np.zeros(d),
    }
    return P, r.normal(size=(5, d))


@program("tiny transformer block dict params", mk, wrt=(0, 1))
def transformer_loss(P, x, heads=2):
    n, d = x.shape
    h = layer_norm(x, P["g"], P["b"])
    q, k, v = np.split(h @ P["wqkv"], 3, axis=-1)
    q, k, v = (z.reshape(n, heads, -1).transpose(1, 0, 2) for z in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads)
    scores = np.where(np.tril(np.ones((n, n), dtype=bool)), scores, -1e9)
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    y = (w @ v).transpose(1, 0, 2).reshape(n, d) @ P["wo"]
    x = x + y
    x = x + gelu(layer_norm(x, P["g"], P["b"]) @ P["w1"]) @ P["w2"]
    return np.mean((x[1:] - x[:-1]) ** 2)


# ---------------------------------------------------------------- mlp_loss
ACT = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "softplus": lambda z: np.log1p(np.exp(z))}


def init_mlp():
    r = np.random.default_rng(4)
    sizes = [3, 5, 5, 1]
    return [(r.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])]


@program(
    "MLP with list of layers, activations dictionary of lambdas",
    lambda: (init_mlp(), np.random.default_rng(5).normal(size=(6, 3)), np.random.default_rng(6).normal(size=6)),
    wrt=(0, 1),
)
def mlp_loss(params, X, y, acts=("tanh", "softplus"), l2=1e-3):
    h = X
    *hidden, (Wl, bl) = params
    for (W, b), name in zip(hidden, acts):
        h = ACT[name](h @ W + b)
    out = (h @ Wl + bl).ravel()
    reg = sum(np.sum(W**2) for W, _ in params)
    return 0.5 * np.mean(np.square(out - y)) + l2 * reg


# ---------------------------------------------------------------- pipeline
def compose(*fs):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)


@program(
    "pipeline of callables, reduce compose",
    lambda: (np.random.default_rng(3).normal(size=(4, 5)), np.array([0.5, -0.2, 0.1])),
    wrt=(0, 1),
)
def pipeline(x, w):
    standardize = lambda z: (z - z.mean(0)) / (z.std(0, ddof=1) + 1e-8)
    clip = functools.partial(np.clip, a_min=-1.2, a_max=1.2)
    poly = lambda z: w[0] + w[1] * z + w[2] * z**2
    f = compose(standardize, clip, poly, np.tanh)
    return f(x).sum() + f(x[::-1, ::-2]).prod()


# ---------------------------------------------------------------- meta_loss
class Config(TypedDict):
    lr: float
    steps: int
    kind: Literal["adam", "sgd"]


@program(
    "training loop inside: meta-gradient with typed dict config",
    lambda: ({"w": np.array([0.1, -0.3]), "b": 0.2}, 0.05, 0.9),
    wrt=(0, 1, 2),
)
def meta_loss(params, lr, b1):
    cfg: Config = {"lr": lr, "steps": 12, "kind": "adam"}
    X = np.linspace(-1, 1, 10)[:, None] ** np.array([1, 2])
    y = 0.7 * X[:, 0] - 0.2
    w, b = params["w"].copy(), params["b"]
    m: dict = {"w": np.zeros_like(w), "b": 0.0}
    v: dict = {"w": np.zeros_like(w), "b": 0.0}
    loss = math.nan
    for step in range(1, cfg["steps"] + 1):
        pred = X @ w + b
        err = pred - y
        loss = (err**2).mean()
        grads = {"w": 2 * X.T @ err / len(y), "b": 2 * err.mean()}
        if cfg["kind"] == "adam":
            for key in grads:
                m[key] = b1 * m[key] + (1 - b1) * grads[key]
                v[key] = 0.99 * v[key] + 0.01 * grads[key] ** 2
            mh = {k: u / (1 - b1**step) for k, u in m.items()}
            vh = {k: u / (1 - 0.99**step) for k, u in v.items()}
            w -= cfg["lr"] * mh["w"] / (np.sqrt(vh["w"]) + 1e-8)
            b -= cfg["lr"] * mh["b"] / (np.sqrt(vh["b"]) + 1e-8)
        else:
            w, b = w - lr * grads["w"], b - lr * grads["b"]
    return loss


# ---------------------------------------------------------------- softmax_xent
@program(
    "softmax and cross entropy",
    lambda: (rng(6).normal(size=(5, 3)), rng(7).normal(size=(3, 4)), rng(8).normal(size=4)),
    wrt=(0, 1, 2),
)
def softmax_xent(X, W, b):
    labels = np.array([0, 3, 1, 1, 2])
    logits = X @ W + b
    logp = logits - sc.logsumexp(logits, axis=1, keepdims=True)
    nll = -np.take_along_axis(logp, labels[:, None], axis=1).mean()
    onehot = np.eye(4)[labels]
    brier = ((sc.softmax(logits, axis=1) - onehot) ** 2).sum(1).mean()
    smooth = -(0.9 * logp[np.arange(5), labels] + 0.025 * logp.sum(1)).mean()
    acc = (logits.argmax(1) == labels).mean()
    focal = ((1 - np.exp(logp[range(5), labels])) ** 2 * -logp[range(5), labels]).sum()
    return nll + brier + smooth + acc + focal


# ---------------------------------------------------------------- manual_backprop_norm
@dataclass
class Layer:
    W: np.ndarray
    b: np.ndarray
    cache: Optional[np.ndarray] = None

    def forward(self, x):
        self.cache = x
        return np.tanh(x @ self.W + self.b)


@program(
    "manual autodiff tape: Value class à la micrograd (list of nodes, closures)",
    lambda: (rng(1).normal(size=(3, 4)), rng(2).normal(size=(4, 4)), rng(3).normal(size=(5, 3))),
    wrt=(0, 1, 2),
)
def manual_backprop_norm(W1, W2, X):
    layers = [Layer(W1, np.zeros(4)), Layer(W2, np.ones(4) * 0.1)]
    h = X
    for layer in layers:
        h = layer.forward(h)
    grad = 2 * (h - 0.5) / h.size
    out = h
    norms = []
    for layer in reversed(layers):
        dz = grad * (1 - out**2)
        gW = layer.cache.T @ dz
        grad = dz @ layer.W.T
        out = layer.cache
        norms.append((gW**2).sum())
    return sum(norms) + (grad**2).sum()


# ---------------------------------------------------------------- mha
@program(
    "audio/ML: attention with heads via einsum and masks",
    lambda: (rng(16).normal(size=(5, 8)), rng(17).normal(size=(3, 8, 8)) * 0.3),
    wrt=(0, 1),
)
def mha(x, W):
    T, D = x.shape
    H = 2
    q, k, v = (np.reshape(x @ w, (T, H, D // H)).transpose(1, 0, 2) for w in W)
    att = np.einsum("hid,hjd->hij", q, k) / np.sqrt(D // H)
    att = np.where(np.tri(T, dtype=bool), att, -1e9)
    att = np.exp(att - att.max(-1, keepdims=True))
    att /= att.sum(-1, keepdims=True)
    y = (att @ v).swapaxes(0, 1).reshape(T, D)
    mu, sd = y.mean(1, keepdims=True), y.std(1, keepdims=True)
    return np.sum(((y - mu) / (sd + 1e-5))[:, 0] ** 3)


# ---------------------------------------------------------------- rnn
@program(
    "small RNN with list-of-dict params and einsum attention readout",
    lambda: (
        [
            {"W": rng(70 + i).normal(size=(4, 4)) * 0.3, "U": rng(80 + i).normal(size=(4, 4)) * 0.3, "b": np.zeros(4)}
            for i in range(2)
        ],
        rng(90).normal(size=(6, 4)),
    ),
    wrt=(0, 1),
)
def rnn(params, xs):
    seq = xs
    for layer in params:
        h, outs = np.zeros(4), []
        for x in seq:
            h = np.tanh(x @ layer["W"] + h @ layer["U"] + layer["b"])
            outs.append(h)
        seq = np.stack(outs)
    score = np.einsum("td,d->t", seq, seq[-1]) / 2.0
    w = np.exp(score - logsumexp(score))
    return (w @ seq).sum() ** 2


# ---------------------------------------------------------------- cross_entropy
def init_params(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(m, n)) / np.sqrt(m), 0.1 * rng.normal(size=n)) for m, n in zip(sizes[:-1], sizes[1:])]


def forward(params, x):
    for W, b in params[:-1]:
        x = np.tanh(x @ W + b)
    W, b = params[-1]
    return x @ W + b


@program(
    "neural networks: cross entropy of a multilayer perceptron",
    lambda: (init_params([3, 5, 4, 3]), np.random.default_rng(1).normal(size=(6, 3)), np.array([0, 2, 1, 1, 0, 2])),
    wrt=(0, 1),
)
def cross_entropy(params, X, labels, l2=1e-3):
    logits = forward(params, X)
    logp = logits - logsumexp(logits, axis=1, keepdims=True)
    nll = -np.mean(logp[np.arange(len(labels)), labels])
    return nll + l2 * sum(np.sum(W**2) for W, _ in params)


# ---------------------------------------------------------------- transformer_block_loss
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


def _attn_args():
    rng = np.random.default_rng(3)
    params = {
        "attn": [rng.normal(size=(4, 4)) / 2 for _ in range(4)],
        "g": np.array([1.0, 0.9, 1.1, 1.0]),
        "b": np.array([0.0, 0.1, -0.1, 0.05]),
        "head": rng.normal(size=(4, 2)),
    }
    return params, rng.normal(size=(5, 4)), rng.normal(size=(5, 2))


@program("deep learning: a transformer block with causal attention", _attn_args, wrt=(0, 1))
def transformer_block_loss(params, x, target):
    h = x + multi_head_attention(layer_norm(x, params["g"], params["b"]), *params["attn"])
    return np.mean((h @ params["head"] - target) ** 2)


# ---------------------------------------------------------------- train
@program(
    "decision via try/except and kwargs config, batchnorm training loop with momentum dict",
    lambda: (
        {"W1": rng(6).normal(size=(3, 4)) * 0.5, "b1": np.zeros(4), "W2": rng(7).normal(size=(4, 1))},
        rng(8).normal(size=(6, 3)),
    ),
    wrt=(0, 1),
)
def train(params, X):
    y = np.sin(X.sum(1, keepdims=True))
    cfg = dict(lr=0.1, momentum=0.9, steps=3)

    def forward(p, X):
        h = X @ p["W1"] + p["b1"]
        h = (h - h.mean(0)) / np.sqrt(h.var(0) + 1e-5)
        a = np.maximum(0.01 * h, h)
        return h, a, a @ p["W2"]

    vel = {k: np.zeros_like(v) for k, v in params.items()}
    p = {k: v.copy() for k, v in params.items()}
    for s in range(cfg["steps"]):
        h, a, out = forward(p, X)
        g = 2 * (out - y) / len(X)
        grads = {
            "W2": a.T @ g,
            "b1": ((g @ p["W2"].T) * np.where(h > 0, 1, 0.01)).sum(0),
            "W1": X.T @ ((g @ p["W2"].T) * np.where(h > 0, 1, 0.01)),
        }
        for k in p:
            vel[k] = cfg["momentum"] * vel[k] - cfg["lr"] * grads[k]
            p[k] += vel[k]
    *_, out = forward(p, X)
    return float(((out - y) ** 2).mean())


# ---------------------------------------------------------------- cnn_loss
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


def _cnn_args():
    rng = np.random.default_rng(19)
    return (
        rng.normal(size=(2, 1, 3, 3)) / 2,
        np.array([0.1, -0.1]),
        rng.normal(size=(3, 18)) / 3,
        rng.normal(size=(1, 6, 6)),
        1,
    )


@program("image classification: a small convolutional network", _cnn_args, wrt=(0, 1, 2, 3))
def cnn_loss(kernels, bias, dense, image, label):
    z = conv2d(np.pad(image, ((0, 0), (1, 1), (1, 1))), kernels, bias)
    z = max_pool(np.maximum(z, 0.1 * z))
    logits = dense @ z.ravel()
    return logsumexp(logits) - logits[label]


# ---------------------------------------------------------------- nca
@program(
    "k-nearest soft voting with a Mahalanobis metric, NCA loss",
    lambda: (rng(21).normal(size=(2, 3)), rng(22).normal(size=(8, 3)), np.array([0, 1, 0, 1, 1, 0, 0, 1])),
    wrt=(0, 1),
)
def nca(L, X, labels):
    Z = X @ L.T
    D = ((Z[:, np.newaxis] - Z) ** 2).sum(-1)
    np.fill_diagonal(D, np.inf)
    P = special.softmax(-D, axis=1)
    same = labels[:, None] == labels
    return -np.log((P * same).sum(1)).mean()


# ---------------------------------------------------------------- gmm_nll
@program(
    "clustering: full-covariance Gaussian mixture, covariances through their Cholesky factors",
    lambda: (
        np.array([0.1, -0.2]),
        np.array([[-1.0, 0.0], [1.2, 0.8]]),
        np.array([[0.9, 0.1, 0.8], [1.0, -0.3, 0.7]]),
        np.random.default_rng(13).normal(size=(9, 2)) * 1.3,
    ),
    wrt=(0, 1, 2, 3),
)
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


# ---------------------------------------------------------------- gp_nlml
def rbf(X1, X2, lengthscale, variance):
    d2 = np.sum(X1**2, axis=1)[:, None] + np.sum(X2**2, axis=1)[None, :] - 2 * X1 @ X2.T
    return variance * np.exp(-0.5 * d2 / lengthscale**2)


def _gp_args():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (9, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=9)
    return np.array([0.1, -0.2, -3.0]), X, y


@program("Gaussian processes: negative log marginal likelihood of a zero-mean GP", _gp_args, wrt=(0, 2))
def gp_nlml(log_hyper, X, y):
    """Negative log marginal likelihood of a zero-mean GP."""
    ell, sf2, sn2 = np.exp(log_hyper)
    n = X.shape[0]
    K = rbf(X, X, ell, sf2) + sn2 * np.eye(n)
    c, low = cho_factor(K, lower=True)
    alpha = cho_solve((c, low), y)
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(c))) + 0.5 * n * np.log(2 * np.pi)


# ---------------------------------------------------------------- gp_nll
@program(
    "Gaussian process: negative log likelihood",
    lambda: (np.array([0.1, -0.2, -1.0]), np.sort(rng(18).uniform(0, 5, 12)), rng(19).normal(size=12)),
)
def gp_nll(logp, x, y):
    ell, sf, sn = np.exp(logp)
    D = np.abs(np.subtract.outer(x, x))
    K = sf**2 * (1 + np.sqrt(3) * D / ell) * np.exp(-np.sqrt(3) * D / ell) + sn**2 * np.eye(len(x))
    L, low = linalg.cho_factor(K, lower=True)
    a = linalg.cho_solve((L, low), y)
    return 0.5 * y @ a + np.log(np.diag(L)).sum() + 0.5 * len(x) * np.log(2 * np.pi)


# ---------------------------------------------------------------- gp_marginal
class Kernel:
    def __add__(self, other):
        return Sum(self, other)

    def __mul__(self, other):
        return Product(self, other)

    def __call__(self, X, Y=None):
        raise NotImplementedError


class Sum(Kernel):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __call__(self, X, Y=None):
        return self.a(X, Y) + self.b(X, Y)


class Product(Sum):
    def __call__(self, X, Y=None):
        return self.a(X, Y) * self.b(X, Y)


class RBF(Kernel):
    def __init__(self, ls=1.0):
        self.ls = ls

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return np.exp(-0.5 * cdist(X / self.ls, Y / self.ls, "sqeuclidean"))


class Periodic(Kernel):
    def __init__(self, ls, period):
        self.ls, self.period = ls, period

    def __call__(self, X, Y=None):
        d = np.abs(X[:, None, 0] - (X if Y is None else Y)[None, :, 0])
        return np.exp(-2 * np.sin(np.pi * d / self.period) ** 2 / self.ls**2)


class White(Kernel):
    def __init__(self, noise):
        self.noise = noise

    def __call__(self, X, Y=None):
        return self.noise * np.eye(len(X)) if Y is None else np.zeros((len(X), len(Y)))


@program(
    "Gaussian process: kernels composed with operator overloading",
    lambda: (np.log([0.8, 1.3, 2.0, 0.1]), rng(0).random((8, 1)) * 5, rng(1).normal(size=8)),
    wrt=(0, 1, 2),
)
def gp_marginal(theta, X, y):
    ls, lp, per, noise = np.exp(theta)
    kernel = RBF(ls) * Periodic(lp, per) + White(noise)
    K = kernel(X)
    try:
        L = linalg.cholesky(K, lower=True)
    except LinAlgError:
        return np.inf
    alpha = linalg.cho_solve((L, True), y)
    lml = -0.5 * y @ alpha - np.log(np.diagonal(L)).sum() - 0.5 * len(X) * np.log(2 * np.pi)
    Xs = np.linspace(0, 5, 4)[:, None]
    Ks = kernel(X, Xs)
    v = linalg.solve_triangular(L, Ks, lower=True)
    var = 1.0 - np.einsum("ij,ij->j", v, v)
    return -lml + var.mean()


# ---------------------------------------------------------------- mf_loss
@program(
    "recommender systems: regularised matrix factorisation with biases, observed triples only",
    lambda: (
        np.random.default_rng(0).normal(0, 0.4, (4, 2)),
        np.random.default_rng(1).normal(0, 0.4, (5, 2)),
        np.array([0.1, -0.2, 0.3, 0.05]),
        np.array([0.2, 0.1, -0.1, 0.0, 0.4]),
        [(0, 0, 5), (0, 3, 3), (1, 1, 4), (1, 4, 1), (2, 0, 4), (2, 2, 2), (3, 3, 5), (3, 4, 2)],
    ),
    wrt=(0, 1, 2, 3),
)
def mf_loss(U, V, bu, bi, ratings, reg=0.05):
    """Regularised matrix factorisation with biases, observed triples only."""
    mu = np.mean([r for _, _, r in ratings])
    loss = 0.0
    for u, i, r in ratings:
        pred = mu + bu[u] + bi[i] + np.dot(U[u], V[i])
        loss += (r - pred) ** 2 + reg * (bu[u] ** 2 + bi[i] ** 2 + U[u] @ U[u] + V[i] @ V[i])
    return loss / len(ratings)


# ---------------------------------------------------------------- expected_return
def policy(theta, n_states, n_actions):
    logits = theta.reshape(n_states, n_actions)
    z = np.exp(logits - logits.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def _mdp_args():
    rng = np.random.default_rng(9)
    P = rng.dirichlet(np.ones(4), size=(4, 3))
    return rng.normal(size=12), P, rng.normal(size=(4, 3))


@program(
    "reinforcement learning: exact discounted return of a softmax policy with entropy bonus, tabular MDP",
    _mdp_args,
    wrt=(0, 1, 2),
)
def expected_return(theta, P, R, gamma=0.9, tau=0.05):
    """Exact discounted return of a softmax policy with entropy bonus, tabular MDP."""
    S, A = R.shape
    pi = policy(theta, S, A)
    P_pi = np.einsum("sa,sat->st", pi, P)
    r_pi = np.einsum("sa,sa->s", pi, R) - tau * np.sum(pi * np.log(pi), axis=1)
    v = np.linalg.solve(np.eye(S) - gamma * P_pi, r_pi)
    return v.mean()


# ---------------------------------------------------------------- gae
@program(
    "bandit/RL: GAE and discounted returns with reversed ranges",
    lambda: (rng(26).normal(size=10), rng(27).normal(size=11), 0.95),
    wrt=(0, 1, 2),
)
def gae(rew, val, gamma):
    adv = np.empty_like(rew)
    last = 0
    done = {4, 9}
    for t in reversed(range(len(rew))):
        mask = 0.0 if t in done else 1.0
        delta = rew[t] + gamma * val[t + 1] * mask - val[t]
        adv[t] = last = delta + gamma * 0.9 * mask * last
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    return (adv * rew).sum() + np.percentile(adv, 75)


# ---------------------------------------------------------------- reinforce
@program(
    "reinforcement learning: policy gradient surrogate with episodes of different "
    "lengths, discounted returns by accumulate",
    lambda: (rng(5).normal(size=(3, 2)), [rng(6).normal(size=(n, 3)) for n in (3, 5, 2)]),
)
def reinforce(W, episodes, gamma=0.9):
    total = 0.0
    entropies = []
    for k, obs in enumerate(episodes):
        logits = obs @ W
        logp = logits - sc.logsumexp(logits, axis=1, keepdims=True)
        actions = np.arange(len(obs)) % 2
        rewards = np.cos(np.arange(len(obs)) + k)
        returns = np.array(list(itertools.accumulate(rewards[::-1], lambda acc, r: r + gamma * acc)))[::-1]
        adv = (returns - returns.mean()) / (returns.std() + 1e-8)
        total -= (np.take_along_axis(logp, actions[:, None], axis=1).squeeze(1) * adv).sum()
        entropies.append(-(np.exp(logp) * logp).sum(-1).mean())
    return total - 0.01 * sum(entropies) / len(entropies)


# ---------------------------------------------------------------- neural_ode
def mlp(params, x, act=np.tanh):
    *hidden, last = params
    for layer in hidden:
        x = act(layer["w"] @ x + layer["b"])
    return last["w"] @ x + last["b"]


def odeint_rk4(f, y0, ts, args=()):
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        h, y = t1 - t0, ys[-1]
        k1 = f(y, t0, *args)
        k2 = f(y + h / 2 * k1, t0 + h / 2, *args)
        k3 = f(y + h / 2 * k2, t0 + h / 2, *args)
        k4 = f(y + h * k3, t1, *args)
        ys.append(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.stack(ys)


def init_layers(seed, *sizes):
    r = rng(seed)
    return [{"w": r.normal(size=(m, n)) / np.sqrt(n), "b": np.zeros(m) + 0.1} for n, m in zip(sizes, sizes[1:])]


@program(
    "neural ODE: RK4 with parameters in nested dicts",
    lambda: (init_layers(7, 3, 5, 2), np.linspace(0, 1, 6)),
    wrt=(0, 1),
)
def neural_ode(params, ts):
    def dynamics(y, t, params):
        return mlp(params, np.append(y, t))

    true = np.stack([np.cos(ts), np.sin(ts)], axis=1)
    pred = odeint_rk4(dynamics, np.array([1.0, 0.0]), ts, args=(params,))
    return np.mean(np.abs(pred - true) ** 2)


# ---------------------------------------------------------------- label_propagation_loss
def laplacian(W, normalized=True):
    d = W.sum(axis=1)
    L = np.diag(d) - W
    if normalized:
        s = 1.0 / np.sqrt(d)
        L = s[:, None] * L * s[None, :]
    return L


def _graph_args():
    rng = np.random.default_rng(14)
    X = np.vstack([rng.normal(-1, 0.6, (5, 2)), rng.normal(1, 0.6, (5, 2))])
    labels = np.repeat([-1.0, 1.0], 5)
    mask = np.isin(np.arange(10), [0, 3, 6, 8])
    return X, -0.1, labels, mask


@program(
    "graph Laplacians: semi-supervised learning: harmonic labels on a Gaussian affinity graph", _graph_args, wrt=(0, 1)
)
def label_propagation_loss(X, log_bw, labels, mask, mu=0.3):
    """Semi-supervised learning: harmonic labels on a Gaussian affinity graph."""
    D2 = squareform(pdist(X, "sqeuclidean"))
    W = np.exp(-D2 / (2 * np.exp(2 * log_bw)))
    np.fill_diagonal(W, 0.0)
    L = laplacian(W)
    y = np.where(mask, labels, 0.0)
    f = np.linalg.solve(np.diag(mask.astype(float)) + mu * L + 1e-3 * np.eye(len(y)), y)
    return np.mean((f[~mask] - labels[~mask]) ** 2)


# ---------------------------------------------------------------- lstm_objective
def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@program(
    "LSTM as in ADBench",
    lambda: (rng(11).normal(size=(4, 12)) * 0.3, rng(12).normal(size=(2, 4, 3)) * 0.1, rng(13).random((5, 3))),
    wrt=(0, 1, 2),
)
def lstm_objective(main_params, state, sequence):
    s = state.copy()
    weights = main_params.reshape(2, 2, 12)
    total, count = 0.0, 0
    h, c = [s[l, 0] for l in range(2)], [s[l, 1] for l in range(2)]
    for t in range(len(sequence) - 1):
        x = sequence[t]
        for l in range(2):
            W = np.stack([np.tile(x, 4) * weights[l, 0], np.tile(h[l], 4) * weights[l, 1]])
            gates = W.sum(axis=0).reshape(4, 3)
            f, i, o = (sigmoid(g) for g in gates[:3])
            c[l] = f * c[l] + i * np.tanh(gates[-1])
            h[l] = o * np.tanh(c[l])
            x = h[l]
        ynorm = x - np.log(np.sum(np.exp(x), axis=0) + 2)
        total += (sequence[t + 1] * ynorm).sum()
        count += x.shape[0]
    return -total / count


# ---------------------------------------------------------------- expected_improvement
def matern52_cov(x, y, ell):
    r = np.abs(x[:, None] - y[None, :]) / ell
    return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r)


@program(
    "Bayesian optimisation: EI at a query point under a standardised GP surrogate (minimisation)",
    lambda: (1.37, np.array([0.0, 0.8, 1.9, 2.5, 3.1]), np.array([1.0, 0.2, -0.5, 0.1, 0.7]), 0.7),
    wrt=(0, 2, 3),
)
def expected_improvement(xq, X, y, ell=0.7, noise=1e-2):
    """EI at a query point under a standardised GP surrogate (minimisation)."""
    K = matern52_cov(X, X, ell) + noise * np.eye(len(X))
    L = np.linalg.cholesky(K)
    ys = (y - y.mean()) / y.std()
    ks = matern52_cov(X, np.array([xq]), ell)[:, 0]
    a = solve_triangular(L, ks, lower=True)
    b = solve_triangular(L, ys, lower=True)
    mu = a @ b
    sd = np.sqrt(1.0 - a @ a)
    z = (ys.min() - mu) / sd
    return sd * (z * 0.5 * erfc(-z / math.sqrt(2)) + np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))


# ---------------------------------------------------------------- forecast_loss
def lstm_step(x, h, c, W, U, b):
    z = W @ x + U @ h + b
    i, f, o, g = np.split(z, 4)
    c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, c


def _lstm_args():
    rng = np.random.default_rng(23)
    return (
        0.5 * rng.normal(size=(12, 2)),
        0.5 * rng.normal(size=(12, 3)),
        np.zeros(12) + 0.05,
        rng.normal(size=3),
        np.sin(0.6 * np.arange(12)),
    )


@program("load forecasting: one-step-ahead squared error of a tiny LSTM", _lstm_args, wrt=(0, 1, 2, 3))
def forecast_loss(W, U, b, v, series):
    """One-step-ahead squared error of a tiny LSTM."""
    n = U.shape[1]
    h, c = np.zeros(n), np.zeros(n)
    errors = []
    for now, nxt in zip(series[:-1], series[1:]):
        h, c = lstm_step(np.array([now, 1.0]), h, c, W, U, b)
        errors.append((v @ h - nxt) ** 2)
    return sum(errors) / len(errors)
