"""More kinds of numeric code with hand-written adjoints, besides the shared workloads.

In:  a size. Out: `Workload`s, as those of `workloads.py`.

Least squares with branches, a recurrent cell with arrays of states, Gauss-Seidel in place, a factorisation written out,
Monte Carlo paths, attention, a stencil with constant coefficients.
"""

import dataclasses
import math

import numpy as np
from numba import njit

from kinds_in_jax import in_jax
from workloads import Workload, workload


def kinds(size: str) -> list[Workload]:
    draw = np.random.default_rng(1)
    scale = {"small": 1, "default": 4, "large": 12}[size]
    points = 500 * scale * scale
    features, targets = draw.normal(size=(points, 6)), draw.standard_t(2, size=points)
    units, steps = 16 * scale, 40 * scale
    cell = (
        0.5 * draw.normal(size=(steps, units)),
        draw.normal(size=(units, units)) / math.sqrt(units),
        draw.normal(size=(units, units)) / math.sqrt(units),
    )
    order = 40 * scale
    root = draw.normal(size=(order, order)) / math.sqrt(order)
    paths = (draw.normal(size=(500 * scale, 20 * scale)), 100.0, 0.05, 0.2, 101.0)
    width = 8 * scale
    attended = [draw.normal(size=(24 * scale, width)) for _ in range(3)]
    plate = draw.normal(size=(32 * scale, 32 * scale))
    found = [
        workload("least squares", huber, huber_by_hand, (features, targets, draw.normal(size=6), 1.5), (2,)),
        workload("recurrent cell", recurrent, recurrent_by_hand, cell, (1, 2)),
        workload("Gauss-Seidel", gauss_seidel, gauss_seidel_by_hand, (plate, 20 * scale), (0,), tapeless=True),
        workload("factorisation", factorisation, factorisation_by_hand, (root @ root.T + np.eye(order),), (0,)),
        workload("paths", paths_mean, paths_mean_by_hand, paths, (1, 2, 3)),
        workload("attention", attention, attention_by_hand, tuple(attended), (0, 1, 2)),
        workload("stencil", stencil, stencil_by_hand, (plate, 0.2, 10 * scale), (0,), tapeless=True),
    ]
    return [dataclasses.replace(kind, jax=in_jax(kind.name, kind.arguments, kind.wrt)) for kind in found]


# ----------------------------------------------------------------------------------------- least squares, with branches


@njit
def huber(features, targets, weights, width):
    total = 0.0
    for i in range(targets.size):
        r = -targets[i]
        for j in range(weights.size):
            r += features[i, j] * weights[j]
        if abs(r) <= width:
            total += 0.5 * r * r
        else:
            total += width * (abs(r) - 0.5 * width)
    return total / targets.size


@njit
def huber_by_hand(features, targets, weights, width):
    total = 0.0
    weights_bar = np.zeros_like(weights)
    for i in range(targets.size):
        r = -targets[i]
        for j in range(weights.size):
            r += features[i, j] * weights[j]
        if abs(r) <= width:
            total += 0.5 * r * r
            r_bar = r
        else:
            total += width * (abs(r) - 0.5 * width)
            r_bar = width if r > 0.0 else -width
        for j in range(weights.size):
            weights_bar[j] += features[i, j] * r_bar
    return total / targets.size, (weights_bar / targets.size,)


# ----------------------------------------------------------------------------------- a recurrent cell, arrays of states


@njit
def recurrent(inputs, gates, weights):
    steps, units = inputs.shape
    h = np.zeros(units)
    new = np.empty(units)
    total = 0.0
    for t in range(steps):
        for i in range(units):
            a = inputs[t, i]
            b = 0.0
            for j in range(units):
                a += weights[i, j] * h[j]
                b += gates[i, j] * h[j]
            z = 1.0 / (1.0 + math.exp(-b))
            new[i] = z * h[i] + (1.0 - z) * math.tanh(a)
        for i in range(units):
            h[i] = new[i]
            total += h[i] * h[i]
    return total


@njit
def recurrent_by_hand(inputs, gates, weights):
    steps, units = inputs.shape
    states = np.zeros((steps + 1, units))
    candidates, opened = np.empty((steps, units)), np.empty((steps, units))
    total = 0.0
    for t in range(steps):
        for i in range(units):
            a = inputs[t, i]
            b = 0.0
            for j in range(units):
                a += weights[i, j] * states[t, j]
                b += gates[i, j] * states[t, j]
            z = 1.0 / (1.0 + math.exp(-b))
            c = math.tanh(a)
            opened[t, i] = z
            candidates[t, i] = c
            h = z * states[t, i] + (1.0 - z) * c
            states[t + 1, i] = h
            total += h * h
    gates_bar, weights_bar = np.zeros_like(gates), np.zeros_like(weights)
    h_bar, old_bar = np.zeros(units), np.zeros(units)
    for t in range(steps - 1, -1, -1):
        for i in range(units):
            h_bar[i] += 2.0 * states[t + 1, i]
            old_bar[i] = 0.0
        for i in range(units):
            z, c = opened[t, i], candidates[t, i]
            old_bar[i] += z * h_bar[i]
            a_bar = (1.0 - c * c) * (1.0 - z) * h_bar[i]
            b_bar = z * (1.0 - z) * (states[t, i] - c) * h_bar[i]
            for j in range(units):
                weights_bar[i, j] += a_bar * states[t, j]
                gates_bar[i, j] += b_bar * states[t, j]
                old_bar[j] += a_bar * weights[i, j] + b_bar * gates[i, j]
        h_bar, old_bar = old_bar, h_bar
    return total, (gates_bar, weights_bar)


# --------------------------------------------------------------------------------------------- Gauss-Seidel, in place


@njit
def gauss_seidel(right, sweeps):
    n, m = right.shape
    u = np.zeros((n, m))
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - right[i, j])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += u[i, j] * u[i, j]
    return total


@njit
def gauss_seidel_by_hand(right, sweeps):
    n, m = right.shape
    u = np.zeros((n, m))
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - right[i, j])
    total = 0.0
    u_bar, right_bar = np.empty((n, m)), np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            total += u[i, j] * u[i, j]
            u_bar[i, j] = 2.0 * u[i, j]
    for _ in range(sweeps):
        for i in range(n - 2, 0, -1):
            for j in range(m - 2, 0, -1):
                part = 0.25 * u_bar[i, j]
                u_bar[i, j] = 0.0
                u_bar[i - 1, j] += part
                u_bar[i + 1, j] += part
                u_bar[i, j - 1] += part
                u_bar[i, j + 1] += part
                right_bar[i, j] -= part
    return total, (right_bar,)


# --------------------------------------------------------------------------------------- a factorisation, written out


@njit
def factorisation(a):
    """log det of a symmetric positive definite matrix, and the squares of its Cholesky factor."""
    n = a.shape[0]
    factor = np.zeros((n, n))
    total = 0.0
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= factor[j, k] * factor[j, k]
        d = math.sqrt(s)
        factor[j, j] = d
        total += 2.0 * math.log(d)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            factor[i, j] = s / d
            total += factor[i, j] * factor[i, j]
    return total


@njit
def factorisation_by_hand(a):
    n = a.shape[0]
    factor = np.zeros((n, n))
    total = 0.0
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= factor[j, k] * factor[j, k]
        d = math.sqrt(s)
        factor[j, j] = d
        total += 2.0 * math.log(d)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            factor[i, j] = s / d
            total += factor[i, j] * factor[i, j]
    a_bar, factor_bar = np.zeros((n, n)), np.zeros((n, n))
    for j in range(n - 1, -1, -1):
        d = factor[j, j]
        d_bar = factor_bar[j, j] + 2.0 / d
        for i in range(n - 1, j, -1):
            bar = factor_bar[i, j] + 2.0 * factor[i, j]
            d_bar -= factor[i, j] * bar / d
            s_bar = bar / d
            a_bar[i, j] = s_bar
            for k in range(j):
                factor_bar[i, k] -= factor[j, k] * s_bar
                factor_bar[j, k] -= factor[i, k] * s_bar
        s_bar = 0.5 * d_bar / d
        a_bar[j, j] = s_bar
        for k in range(j):
            factor_bar[j, k] -= 2.0 * factor[j, k] * s_bar
    return total, (a_bar,)


# --------------------------------------------------------------------------------------------------- Monte Carlo paths


@njit
def paths_mean(noise, start, rate, volatility, strike):
    """The mean payoff of an option on the mean of a path, by Euler's steps."""
    count, steps = noise.shape
    dt = 1.0 / steps
    total = 0.0
    for p in range(count):
        s = start
        mean = 0.0
        for t in range(steps):
            s = s + rate * s * dt + volatility * s * math.sqrt(dt) * noise[p, t]
            mean += s
        total += max(mean / steps - strike, 0.0)
    return math.exp(-rate) * total / count


@njit
def paths_mean_by_hand(noise, start, rate, volatility, strike):
    count, steps = noise.shape
    dt = 1.0 / steps
    root = math.sqrt(dt)
    path = np.empty(steps)
    total, start_bar, rate_bar, volatility_bar = 0.0, 0.0, 0.0, 0.0
    for p in range(count):
        s = start
        mean = 0.0
        for t in range(steps):
            path[t] = s
            s = s + rate * s * dt + volatility * s * root * noise[p, t]
            mean += s
        payoff = mean / steps - strike
        if payoff > 0.0:
            total += payoff
            s_bar = 0.0
            for t in range(steps - 1, -1, -1):
                s_bar += 1.0 / steps
                rate_bar += path[t] * dt * s_bar
                volatility_bar += path[t] * root * noise[p, t] * s_bar
                s_bar *= 1.0 + rate * dt + volatility * root * noise[p, t]
            start_bar += s_bar
    discount = math.exp(-rate) / count
    return discount * total, (discount * start_bar, discount * (rate_bar - total), discount * volatility_bar)


# ----------------------------------------------------------------------------------------------------------- attention


@njit
def attention(queries, keys, values):
    n, d = queries.shape
    scores = np.empty(n)
    total = 0.0
    for i in range(n):
        largest = -np.inf
        for j in range(n):
            s = 0.0
            for k in range(d):
                s += queries[i, k] * keys[j, k]
            scores[j] = s / math.sqrt(d)
            largest = max(largest, scores[j])
        weight = 0.0
        for j in range(n):
            scores[j] = math.exp(scores[j] - largest)
            weight += scores[j]
        for k in range(d):
            out = 0.0
            for j in range(n):
                out += scores[j] * values[j, k]
            out /= weight
            total += out * out
    return total


@njit
def attention_by_hand(queries, keys, values):
    n, d = queries.shape
    root = 1.0 / math.sqrt(d)
    scores, scores_bar, out = np.empty(n), np.empty(n), np.empty(d)
    queries_bar, keys_bar, values_bar = np.zeros_like(queries), np.zeros_like(keys), np.zeros_like(values)
    total = 0.0
    for i in range(n):
        largest = -np.inf
        for j in range(n):
            s = 0.0
            for k in range(d):
                s += queries[i, k] * keys[j, k]
            scores[j] = s * root
            largest = max(largest, scores[j])
        weight = 0.0
        for j in range(n):
            scores[j] = math.exp(scores[j] - largest)
            weight += scores[j]
        for k in range(d):
            out[k] = 0.0
        for j in range(n):
            scores[j] /= weight
            for k in range(d):
                out[k] += scores[j] * values[j, k]
        for k in range(d):
            total += out[k] * out[k]
        inner = 0.0
        for j in range(n):
            bar = 0.0
            for k in range(d):
                bar += 2.0 * out[k] * values[j, k]
                values_bar[j, k] += 2.0 * out[k] * scores[j]
            scores_bar[j] = bar
            inner += bar * scores[j]
        for j in range(n):
            s_bar = scores[j] * (scores_bar[j] - inner) * root
            for k in range(d):
                queries_bar[i, k] += s_bar * keys[j, k]
                keys_bar[j, k] += s_bar * queries[i, k]
    return total, (queries_bar, keys_bar, values_bar)


# -------------------------------------------------------------------------------- a stencil with constant coefficients


@njit
def stencil(u, c, steps):
    n, m = u.shape
    a = u.copy()
    b = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = a[i, j] + c * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j])
        a, b = b, a
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += a[i, j] * a[i, j]
    return total


@njit
def stencil_by_hand(u, c, steps):
    n, m = u.shape
    a = u.copy()
    b = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = a[i, j] + c * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j])
        a, b = b, a
    total = 0.0
    # inside: what flows to the interior of the old state; with a rim of zeros no border is special
    bar, old = np.zeros((n, m)), np.zeros((n, m))
    border = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            total += a[i, j] * a[i, j]
            if 0 < i < n - 1 and 0 < j < m - 1:
                bar[i, j] = 2.0 * a[i, j]
            else:
                border[i, j] = 2.0 * a[i, j]
    for _ in range(steps):
        for j in range(1, m - 1):
            border[0, j] += c * bar[1, j]
            border[n - 1, j] += c * bar[n - 2, j]
        for i in range(1, n - 1):
            border[i, 0] += c * bar[i, 1]
            border[i, m - 1] += c * bar[i, m - 2]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = bar[i - 1, j] + bar[i + 1, j] + bar[i, j - 1] + bar[i, j + 1]
                old[i, j] = bar[i, j] + c * (around - 4.0 * bar[i, j])
        bar, old = old, bar
    return total, (bar + border,)
