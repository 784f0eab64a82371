"""The programs of the golden outputs. The derivative that adjit writes for a case stands in `<name>.py` beside it.

`CASES` lists them: the function, which derivative, with respect to what, and arguments to try it at.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    name: str  # of the golden file
    function: Callable
    arguments: tuple
    wrt: tuple[int, ...]
    mode: str = "reverse"  # or "forward", or "value", for the value and the gradient in one


# ------------------------------------------------------------------------------------------- straight lines and arrays


def damped(x, w):
    # phase of the oscillator
    phase = w * x
    return np.exp(-x) * np.sin(phase)


def diffuse(u, alpha, steps):
    # one sweep a time step, in place
    n = u.size
    v = u.copy()
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            left = here
    energy = 0.0
    for i in range(n):
        energy += v[i] * v[i]
    return energy


def square_root(a, tolerance):
    # Newton's iteration
    x = a
    while abs(x * x - a) > tolerance:
        x = x - (x * x - a) / (2.0 * x)
    return x


def log_likelihood(points, means, log_weights):
    total = 0.0
    for i in range(points.shape[0]):
        logits = np.empty(means.shape[0])
        largest = -np.inf
        for k in range(means.shape[0]):
            # squared distance from the centre
            distance = 0.0
            for d in range(points.shape[1]):
                offset = points[i, d] - means[k, d]
                distance += offset * offset
            logits[k] = log_weights[k] - 0.5 * distance
            largest = max(largest, logits[k])
        summed = 0.0
        for k in range(means.shape[0]):
            summed += math.exp(logits[k] - largest)
        total += largest + math.log(summed)
    return total


def loss(inputs, weights, bias, targets):
    hidden = np.tanh(inputs @ weights + bias)
    residual = hidden - targets
    return np.mean(residual * residual)


# ------------------------------------------------------------------------------------------------- two buffers, swapped


def smooth(u, rate, steps):
    now = u.copy()
    after = u.copy()
    for t in range(steps):
        for i in range(1, u.size - 1):
            after[i] = now[i] + rate * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        now, after = after, now
    return np.sum(now * now * now)


def heat(u, conductivity, steps):
    n, m = u.shape
    now, after = u.copy(), u.copy()
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                flow = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1] - 4.0 * now[i, j]
                after[i, j] = now[i, j] + conductivity[i, j] * flow
        now, after = after, now
    return np.sum(now * now)


# ------------------------------------------------------------------------------------------- returns, breaks, branches


def huber(residual, width):
    size = abs(residual)
    if size <= width:
        return 0.5 * residual * residual
    return width * (size - 0.5 * width)


def first_passage(drift, noise, barrier):
    # time at which a walk crosses the barrier, linear between the steps
    position = 0.0
    crossing = float(noise.size)
    for k in range(noise.size):
        step = drift + noise[k]
        if position + step >= barrier:
            crossing = k + (barrier - position) / step
            break
        position += step
    return crossing


# ------------------------------------------------------------------------------------------------ products, recurrences


def compound(rates):
    # capital after each period, and its mean
    capital = 1.0
    total = 0.0
    for i in range(rates.size):
        capital *= 1.0 + rates[i]
        total += capital
    return total / rates.size


def log_determinant(a):
    # Cholesky factorisation in place, lower triangle
    n = a.shape[0]
    lower = a.copy()
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                lower[i, j] -= lower[i, k] * lower[j, k]
        pivot = math.sqrt(lower[j, j])
        for i in range(j, n):
            lower[i, j] /= pivot
    total = 0.0
    for j in range(n):
        total += math.log(lower[j, j])
    return 2.0 * total


# ------------------------------------------------------------------------------------------------------- time stepping


def acceleration(position, stiffness):
    return -stiffness * np.sin(position)


def pendulum(position, velocity, stiffness, dt, steps):
    # classical Runge-Kutta
    for step in range(steps):
        p1 = velocity
        v1 = acceleration(position, stiffness)
        p2 = velocity + 0.5 * dt * v1
        v2 = acceleration(position + 0.5 * dt * p1, stiffness)
        p3 = velocity + 0.5 * dt * v2
        v3 = acceleration(position + 0.5 * dt * p2, stiffness)
        p4 = velocity + dt * v3
        v4 = acceleration(position + dt * p3, stiffness)
        position += dt / 6.0 * (p1 + 2.0 * p2 + 2.0 * p3 + p4)
        velocity += dt / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
    return position


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def memory_cell(signal, weight, bias):
    # one unit with input, forget and output gates
    state = 0.0
    output = 0.0
    for t in range(signal.size):
        admit = sigmoid(weight[0] * signal[t] + bias[0])
        keep = sigmoid(weight[1] * output + bias[1])
        show = sigmoid(weight[2] * signal[t] + bias[2])
        state = keep * state + admit * math.tanh(weight[3] * signal[t])
        output = show * math.tanh(state)
    return output


# ------------------------------------------------------------------------------------------------- gather and scatter


def histogram(values, bins, scale):
    # soft weights fall into the bins that an index array names
    counts = np.zeros(scale.size)
    for i in range(values.size):
        counts[bins[i]] += np.exp(-values[i])
    total = 0.0
    for b in range(scale.size):
        total += scale[b] * counts[b] * counts[b]
    return total


def trimmed(x, lower, upper):
    # slices as values and as targets of stores
    y = x.copy()
    y[1:] -= lower * x[:-1]
    y[:-1] *= upper
    return np.dot(y, y)


_draw = np.random.default_rng(0)
_square = _draw.normal(size=(4, 4))

# Those that the machine's side of the road changes much.
TUNED = {"diffuse", "heat", "log_likelihood", "loss", "memory_cell", "smooth"}

CASES = (
    Case("damped", damped, (0.7, 3.0), (0, 1)),
    Case("damped_forward", damped, (0.7, 3.0), (0, 1), mode="forward"),
    Case("diffuse", diffuse, (np.sin(np.arange(12.0)), 0.1, 5), (0, 1)),
    Case("diffuse_u", diffuse, (np.sin(np.arange(12.0)), 0.1, 5), (0,)),
    Case("square_root", square_root, (2.0, 1e-12), (0,)),
    Case(
        "log_likelihood",
        log_likelihood,
        (_draw.normal(size=(6, 3)), _draw.normal(size=(4, 3)), _draw.normal(size=4)),
        (1, 2),
        mode="value",
    ),
    Case(
        "loss",
        loss,
        (_draw.normal(size=(7, 5)), _draw.normal(size=(5, 3)), _draw.normal(size=3), _draw.normal(size=(7, 3))),
        (1, 2),
    ),
    Case("smooth", smooth, (np.cos(np.arange(9.0)), 0.2, 4), (0, 1)),
    Case("heat", heat, (_draw.normal(size=(5, 6)), 0.1 * np.ones((5, 6)), 3), (0, 1)),
    Case("huber", huber, (1.7, 0.8), (0,)),
    Case("first_passage", first_passage, (0.3, 0.1 * _draw.normal(size=12), 1.0), (0, 1)),
    Case("compound", compound, (0.1 * _draw.normal(size=8),), (0,)),
    Case("log_determinant", log_determinant, (_square @ _square.T + 4.0 * np.eye(4),), (0,)),
    Case("pendulum", pendulum, (0.4, 0.1, 2.0, 0.05, 10), (0, 1, 2)),
    Case("memory_cell", memory_cell, (_draw.normal(size=6), _draw.normal(size=4), _draw.normal(size=3)), (1, 2)),
    Case("histogram", histogram, (_draw.normal(size=10), _draw.integers(0, 4, size=10), _draw.normal(size=4)), (0,)),
    Case("trimmed", trimmed, (_draw.normal(size=8), 0.3, 1.2), (0, 1, 2)),
    Case("pendulum_forward", pendulum, (0.4, 0.1, 2.0, 0.05, 10), (0, 1, 2, 3), mode="forward"),
)
