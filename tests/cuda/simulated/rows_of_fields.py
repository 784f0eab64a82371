"""Functions over rows, as people of ten fields write them: optimal transport, attention, clustering, interpolation by
radial functions, graphs, hidden Markov models, learning, retrieval, imaging, geostatistics.

ROWS_OF_FIELDS: by name, a function and the shapes of its arguments, as in `functions.py`.
"""

import math

import numpy as np
from numba import prange


def transported(cost, a, b):
    """Sinkhorn's iterations for the cost of transport between two histograms."""
    kernel = np.exp(-cost / 0.3)
    u = np.ones(a.size)
    v = np.ones(b.size)
    for _ in range(4):
        v = b / (kernel.T @ u)
        u = a / (kernel @ v)
    plan = u[:, np.newaxis] * kernel * v
    return np.sum(plan * cost)


def causal_attention(q, k, v):
    """A head that looks at what came before."""
    n, d = q.shape
    scores = q @ k.T / math.sqrt(d)
    mask = np.tri(n) > 0.5
    scores = np.where(mask, scores, -1e30)
    weights = np.exp(scores - np.max(scores, axis=1)[:, None])
    weights = weights / np.sum(weights, axis=1)[:, None]
    return weights @ v


def mixture_of_centres(x, centres, log_weights):
    """The log-likelihood of points under round Gaussians."""
    d2 = np.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    z = log_weights - 0.5 * d2
    top = z.max(axis=1)
    return np.sum(top + np.log(np.sum(np.exp(z - top[:, None]), axis=1)))


def radial(points, centres, weights, width):
    """A field of radial functions at points."""
    out = np.empty(points.shape[0])
    for i in prange(points.shape[0]):
        value = 0.0
        for j in range(centres.shape[0]):
            dx = points[i, 0] - centres[j, 0]
            dy = points[i, 1] - centres[j, 1]
            value += weights[j] * math.exp(-(dx * dx + dy * dy) / (2.0 * width * width))
        out[i] = value
    return out


def messages(h, w, start, neighbour):
    """A step of messages along the edges of a graph, kept as a sparse matrix."""
    out = np.zeros(h.size)
    for i in prange(start.size - 1):
        total = 0.0
        for e in range(start[i], start[i + 1]):
            total += w[e] * math.tanh(h[neighbour[e]] - h[i])
        out[i] = h[i] + 0.5 * total
    return out


def forward_algorithm(log_pi, log_a, log_b, observed):
    """The log-likelihoods of sequences under a hidden Markov model."""
    total = 0.0
    for s in prange(observed.shape[0]):
        states = log_pi.size
        alpha = np.empty(states)
        for k in range(states):
            alpha[k] = log_pi[k] + log_b[k, observed[s, 0]]
        for t in range(1, observed.shape[1]):
            new = np.empty(states)
            for k in range(states):
                top = -1e300
                for j in range(states):
                    top = max(top, alpha[j] + log_a[j, k])
                rest = 0.0
                for j in range(states):
                    rest += math.exp(alpha[j] + log_a[j, k] - top)
                new[k] = top + math.log(rest) + log_b[k, observed[s, t]]
            alpha = new
        top = alpha[0]
        for k in range(1, states):
            top = max(top, alpha[k])
        rest = 0.0
        for k in range(states):
            rest += math.exp(alpha[k] - top)
        total += top + math.log(rest)
    return total


def batch_normalised(x, gain, shift):
    """A layer's batch, normalised column by column."""
    mean = x.mean(axis=0)
    var = ((x - mean) ** 2).mean(axis=0)
    return np.maximum(gain * (x - mean) / np.sqrt(var + 1e-5) + shift, 0.0)


def retrieved(queries, documents, temperature):
    """The loss of matching each query with its own document, by cosines."""
    q = queries / np.sqrt(np.sum(queries**2, axis=1))[:, None]
    d = documents / np.sqrt((documents * documents).sum(axis=1)).reshape(-1, 1)
    logits = q @ d.T / temperature
    loss = 0.0
    for i in range(logits.shape[0]):
        loss += np.log(np.sum(np.exp(logits[i]))) - logits[i, i]
    return loss / logits.shape[0]


def sharpened(image, taps, amount):
    """Rows of an image, blurred with a few taps, and what that takes away added again."""
    n, m = image.shape
    out = np.empty_like(image)
    half = taps.size // 2
    for i in prange(n):
        for j in range(m):
            blurred = 0.0
            for k in range(taps.size):
                at = min(max(j + k - half, 0), m - 1)
                blurred += taps[k] * image[i, at]
            out[i, j] = image[i, j] + amount * (image[i, j] - blurred)
    return out


def variogram_misfit(x, z, sill, reach):
    """How far squared differences of all pairs are from an exponential variogram."""
    total = 0.0
    for i in prange(x.shape[0]):
        row = 0.0
        for j in range(x.shape[0]):
            if i != j:
                h = math.sqrt((x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2)
                gamma = sill * (1.0 - math.exp(-h / reach))
                row += (0.5 * (z[i] - z[j]) ** 2 - gamma) ** 2
        total += row
    return total


_G = np.random.default_rng(12)
_START = np.concatenate([[0], np.cumsum(_G.integers(0, 6, 9))])

ROWS_OF_FIELDS = {
    "transported": (transported, ([6, 5], [6], [5])),
    "causal_attention": (causal_attention, ([7, 4], [7, 4], [7, 3])),
    "mixture_of_centres": (mixture_of_centres, ([19, 3], [5, 3], [5])),
    "radial": (radial, ([18, 2], [11, 2], [11], 0.4)),
    "messages": (messages, ([9], [int(_START[-1])], _START, _G.integers(0, 9, _START[-1]))),
    "forward_algorithm": (forward_algorithm, ([4], [4, 4], [4, 3], _G.integers(0, 3, (5, 6)))),
    "batch_normalised": (batch_normalised, ([17, 6], [6], [6])),
    "retrieved": (retrieved, ([6, 9], [6, 9], 0.5)),
    "sharpened": (sharpened, ([5, 21], [5], 0.7)),
    "variogram_misfit": (variogram_misfit, ([12, 2], [12], 0.6, 0.3)),
}
