"""Array code as NumPy users write it, and the same as loops. adjit differentiates both, and both are timed.

In:  nothing. Out: `PAIRS`, each with the arguments of some sizes. All arguments are of float64 and differentiated.

Softmax, normalisation, attention, convolutions and pooling; with `axis` and `keepdims`, slices, windows and blocks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


@dataclass(frozen=True)
class Pair:
    """`arrays` and `loops` have the same arguments and value; `arguments` has those of each size, under its name."""

    arrays: Callable
    loops: Callable
    arguments: dict[str, tuple]

    @property
    def wrt(self) -> tuple[int, ...]:
        (given, *_) = self.arguments.values()
        return tuple(range(len(given)))


def sizes(*shapes_of_all):
    """Arguments of the shapes in each of the tuples, named after the first shape."""
    draw = np.random.default_rng(3)
    return {
        " x ".join(map(str, shapes[0])): tuple(draw.normal(size=shape) for shape in shapes) for shapes in shapes_of_all
    }


# ------------------------------------------------------------------------------------------------------------- softmax


def softmax(x, w):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return np.sum(w * p)


def softmax_loops(x, w):
    n, m = x.shape
    e = np.empty(m)
    total = 0.0
    for i in range(n):
        largest = x[i, 0]
        for j in range(1, m):
            largest = max(largest, x[i, j])
        norm = 0.0
        for j in range(m):
            e[j] = math.exp(x[i, j] - largest)
            norm += e[j]
        for j in range(m):
            total += w[i, j] * e[j] / norm
    return total


def log_sum_exp(x, w):
    return np.sum(w * np.log(np.sum(np.exp(x - x.max(1, keepdims=True)), 1)))


def log_sum_exp_loops(x, w):
    n, m = x.shape
    total = 0.0
    for i in range(n):
        largest = x[i, 0]
        for j in range(1, m):
            largest = max(largest, x[i, j])
        norm = 0.0
        for j in range(m):
            norm += math.exp(x[i, j] - largest)
        total += w[i] * math.log(norm)
    return total


# ------------------------------------------------------------------------------------------------------- normalisation


def layer_norm(x, scale, shift, w):
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    y = (x - mean) / np.sqrt(variance + 1e-5)
    return np.sum(w * (scale * y + shift))


def layer_norm_loops(x, scale, shift, w):
    n, m = x.shape
    total = 0.0
    for i in range(n):
        mean = 0.0
        for j in range(m):
            mean += x[i, j]
        mean /= m
        variance = 0.0
        for j in range(m):
            variance += (x[i, j] - mean) ** 2
        root = math.sqrt(variance / m + 1e-5)
        for j in range(m):
            total += w[i, j] * (scale[j] * (x[i, j] - mean) / root + shift[j])
    return total


def batch_norm(x, scale, shift, w):
    mean = x.mean(axis=0)
    variance = x.var(axis=0)
    y = (x - mean) / np.sqrt(variance + 1e-5)
    return np.sum(w * (scale * y + shift))


def batch_norm_written_out(x, scale, shift, w):
    mean = x.mean(axis=0, keepdims=True)
    centred = x - mean
    variance = np.mean(centred**2, axis=0, keepdims=True)
    return np.sum(w * (scale * centred / np.sqrt(variance + 1e-5) + shift))


def batch_norm_loops(x, scale, shift, w):
    n, m = x.shape
    mean, root = np.zeros(m), np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += x[i, j]
    for j in range(m):
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            root[j] += (x[i, j] - mean[j]) ** 2
    for j in range(m):
        root[j] = math.sqrt(root[j] / n + 1e-5)
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += w[i, j] * (scale[j] * (x[i, j] - mean[j]) / root[j] + shift[j])
    return total


def image_norm(x, scale, shift, w):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    variance = x.var(axis=(0, 2, 3), keepdims=True)
    y = (x - mean) / np.sqrt(variance + 1e-5)
    return np.sum(w * (scale[:, None, None] * y + shift[:, None, None]))


def image_norm_loops(x, scale, shift, w):
    n, channels, h, v = x.shape
    count = n * h * v
    total = 0.0
    for c in range(channels):
        mean = 0.0
        for k in range(n):
            for i in range(h):
                for j in range(v):
                    mean += x[k, c, i, j]
        mean /= count
        variance = 0.0
        for k in range(n):
            for i in range(h):
                for j in range(v):
                    variance += (x[k, c, i, j] - mean) ** 2
        root = math.sqrt(variance / count + 1e-5)
        for k in range(n):
            for i in range(h):
                for j in range(v):
                    total += w[k, c, i, j] * (scale[c] * (x[k, c, i, j] - mean) / root + shift[c])
    return total


def standardised(x, w):
    centred = x - x.mean(axis=0, keepdims=True)
    z = centred / x.std(axis=0, keepdims=True)
    return np.sum(w * z**2)


def standardised_loops(x, w):
    n, m = x.shape
    mean, deviation = np.zeros(m), np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += x[i, j]
    for j in range(m):
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            deviation[j] += (x[i, j] - mean[j]) ** 2
    for j in range(m):
        deviation[j] = math.sqrt(deviation[j] / n)
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += w[i, j] * ((x[i, j] - mean[j]) / deviation[j]) ** 2
    return total


# ----------------------------------------------------------------------------------------------------------- attention


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.sum((e / e.sum(axis=1, keepdims=True) @ v) ** 2)


def attention_loops(q, k, v):
    n, d = q.shape
    m = k.shape[0]
    scores = np.empty(m)
    total = 0.0
    for i in range(n):
        largest = -np.inf
        for j in range(m):
            s = 0.0
            for t in range(d):
                s += q[i, t] * k[j, t]
            scores[j] = s / math.sqrt(d)
            largest = max(largest, scores[j])
        norm = 0.0
        for j in range(m):
            scores[j] = math.exp(scores[j] - largest)
            norm += scores[j]
        for t in range(d):
            out = 0.0
            for j in range(m):
                out += scores[j] * v[j, t]
            out /= norm
            total += out * out
    return total


def heads(q, k, v):
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[3])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return np.sum(np.einsum("bhqk,bhkd->bhqd", p, v) ** 2)


def heads_loops(q, k, v):
    total = 0.0
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            total += attention_loops(q[b, h], k[b, h], v[b, h])
    return total


# -------------------------------------------------------------------------------------------------------- convolutions


def convolution(x, w):
    n, m = x.shape
    h, v = w.shape
    y = np.zeros((n - h + 1, m - v + 1))
    for a in range(h):
        for b in range(v):
            y += w[a, b] * x[a : a + n - h + 1, b : b + m - v + 1]
    return np.sum(y**2)


def convolution_by_windows(x, w):
    return np.sum(np.einsum("ijab,ab->ij", sliding_window_view(x, w.shape), w) ** 2)


def convolution_loops(x, w):
    n, m = x.shape
    h, v = w.shape
    total = 0.0
    for i in range(n - h + 1):
        for j in range(m - v + 1):
            y = 0.0
            for a in range(h):
                for b in range(v):
                    y += w[a, b] * x[i + a, j + b]
            total += y * y
    return total


def written_out(x, w):
    y = w[0, 0] * x[:-2, :-2] + w[0, 1] * x[:-2, 1:-1] + w[0, 2] * x[:-2, 2:]
    y += w[1, 0] * x[1:-1, :-2] + w[1, 1] * x[1:-1, 1:-1] + w[1, 2] * x[1:-1, 2:]
    y += w[2, 0] * x[2:, :-2] + w[2, 1] * x[2:, 1:-1] + w[2, 2] * x[2:, 2:]
    return np.sum(y**2)


def written_out_loops(x, w):
    n, m = x.shape
    total = 0.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            y = w[0, 0] * x[i - 1, j - 1] + w[0, 1] * x[i - 1, j] + w[0, 2] * x[i - 1, j + 1]
            y += w[1, 0] * x[i, j - 1] + w[1, 1] * x[i, j] + w[1, 2] * x[i, j + 1]
            y += w[2, 0] * x[i + 1, j - 1] + w[2, 1] * x[i + 1, j] + w[2, 2] * x[i + 1, j + 1]
            total += y * y
    return total


def channels(x, w):
    _, _, m, p = x.shape
    _, _, h, v = w.shape
    y = np.zeros((x.shape[0], w.shape[0], m - h + 1, p - v + 1))
    for a in range(h):
        for b in range(v):
            window = x[:, :, a : a + m - h + 1, b : b + p - v + 1]
            y += np.einsum("ncij,oc->noij", window, w[:, :, a, b])
    return np.sum(y**2)


def channels_by_windows(x, w):
    windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.sum(np.tensordot(windows, w, axes=([1, 4, 5], [1, 2, 3])) ** 2)


def channels_loops(x, w):
    n, count, m, p = x.shape
    outputs, _, h, v = w.shape
    total = 0.0
    for k in range(n):
        for o in range(outputs):
            for i in range(m - h + 1):
                for j in range(p - v + 1):
                    y = 0.0
                    for c in range(count):
                        for a in range(h):
                            for b in range(v):
                                y += w[o, c, a, b] * x[k, c, i + a, j + b]
                    total += y * y
    return total


# ------------------------------------------------------------------------------------------------------------- pooling


def largest_of_slices(x, w):
    rows = np.maximum(x[:, ::2, ::2], x[:, 1::2, ::2])
    return np.sum(w * np.maximum(rows, np.maximum(x[:, ::2, 1::2], x[:, 1::2, 1::2])))


def largest_of_blocks(x, w):
    n, h, v = x.shape
    return np.sum(w * np.max(x.reshape(n, h // 2, 2, v // 2, 2), axis=(2, 4)))


def largest_loops(x, w):
    n, h, v = x.shape
    total = 0.0
    for k in range(n):
        for i in range(h // 2):
            for j in range(v // 2):
                left = np.maximum(x[k, 2 * i, 2 * j], x[k, 2 * i + 1, 2 * j])
                right = np.maximum(x[k, 2 * i, 2 * j + 1], x[k, 2 * i + 1, 2 * j + 1])
                total += w[k, i, j] * np.maximum(left, right)
    return total


def mean_of_slices(x, w):
    y = 0.25 * (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2])
    return np.sum(w * y**2)


def mean_of_blocks(x, w):
    n, h, v = x.shape
    return np.sum(w * x.reshape(n, h // 2, 2, v // 2, 2).mean(axis=(2, 4)) ** 2)


def mean_loops(x, w):
    n, h, v = x.shape
    total = 0.0
    for k in range(n):
        for i in range(h // 2):
            for j in range(v // 2):
                upper = x[k, 2 * i, 2 * j] + x[k, 2 * i, 2 * j + 1]
                lower = x[k, 2 * i + 1, 2 * j] + x[k, 2 * i + 1, 2 * j + 1]
                y = 0.25 * (upper + lower)
                total += w[k, i, j] * y * y
    return total


# --------------------------------------------------------------------------------------------------------------- table

ROWS = sizes(((200, 100), (200, 100)), ((2000, 10), (2000, 10)), ((1000, 400), (1000, 400)))
TOTALS = sizes(((200, 100), (200,)), ((2000, 10), (2000,)), ((1000, 400), (1000,)))
NORMED = sizes(*((s, s[1:], s[1:], s) for s in ((200, 100), (4000, 16), (1000, 400))))
IMAGES = sizes(*((s, s[1:2], s[1:2], s) for s in ((8, 4, 16, 16), (16, 16, 32, 32))))
TOKENS = sizes(*((s, s, s) for s in ((64, 16), (256, 64))))
HEADS = sizes(*((s, s, s) for s in ((2, 4, 32, 16), (4, 4, 128, 32))))
FILTERED = sizes(((64, 64), (3, 3)), ((256, 256), (5, 5)))
SMALL_FILTERS = sizes(((64, 64), (3, 3)), ((512, 512), (3, 3)))
CHANNELS = sizes(((2, 3, 20, 20), (8, 3, 3, 3)), ((4, 8, 32, 32), (16, 8, 3, 3)))
POOLED = sizes(*((s, (s[0], s[1] // 2, s[2] // 2)) for s in ((16, 32, 32), (64, 64, 64))))

PAIRS = (
    Pair(softmax, softmax_loops, ROWS),
    Pair(log_sum_exp, log_sum_exp_loops, TOTALS),
    Pair(layer_norm, layer_norm_loops, NORMED),
    Pair(batch_norm, batch_norm_loops, NORMED),
    Pair(batch_norm_written_out, batch_norm_loops, NORMED),
    Pair(image_norm, image_norm_loops, IMAGES),
    Pair(standardised, standardised_loops, ROWS),
    Pair(attention, attention_loops, TOKENS),
    Pair(heads, heads_loops, HEADS),
    Pair(convolution, convolution_loops, FILTERED),
    Pair(convolution_by_windows, convolution_loops, FILTERED),
    Pair(written_out, written_out_loops, SMALL_FILTERS),
    Pair(channels, channels_loops, CHANNELS),
    Pair(channels_by_windows, channels_loops, CHANNELS),
    Pair(largest_of_slices, largest_loops, POOLED),
    Pair(largest_of_blocks, largest_loops, POOLED),
    Pair(mean_of_slices, mean_loops, POOLED),
    Pair(mean_of_blocks, mean_loops, POOLED),
)
