"""The workloads of `run.py`: programs with hand-written adjoints, to compare with adjit's gradients.

In:  a folder of workload modules (`wl_*.py`: inputs, primal, WRT, CONTENDERS), where there is one; the functions below.
Out: `Workload`s. `own()` lists those of this file, `shared(folder)` those of the folder.

    for workload in own():
        value, gradients = workload.hand()
"""

import functools
import importlib
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numba import njit


@dataclass(frozen=True)
class Workload:
    """`function` is what adjit differentiates, at `arguments`, with respect to the positions `wrt`."""

    name: str
    function: Callable
    arguments: tuple
    wrt: tuple[int, ...]
    primal: Callable[[], object]
    hand: Callable[[], tuple]  # (value, gradients), one a position of wrt
    tapeless: bool = False  # its reverse sweep needs nothing saved, and must not save anything
    jax: Callable[[], Callable] | None = (
        None  # makes the call of JAX's version, where there is one and JAX is installed
    )
    moved: tuple[float, float] | None = None  # numbers of matrices read or written, by the primal and by adjit


def shared(folder: Path, size: str) -> list[Workload]:
    """The workloads of `folder`, each in a module of its own; empty where the folder is missing."""
    sys.path.insert(0, str(folder))
    has_jax = find_spec("jax") is not None
    found = []
    for file in sorted(folder.glob("wl_*.py")):
        module = importlib.import_module(file.stem)
        arguments = module.inputs(size)
        function = getattr(module, "differentiated", module.primal)
        primal, hand = (module.CONTENDERS[which](arguments) for which in ("primal", "hand"))
        jax = functools.partial(module.CONTENDERS["jax"], arguments) if has_jax and "jax" in module.CONTENDERS else None
        name = file.stem.removeprefix("wl_")
        found.append(Workload(name, function, arguments, tuple(module.WRT), primal, hand, jax=jax))
    return found


def own(size: str) -> list[Workload]:
    draw = np.random.default_rng(0)
    scale = {"small": 1, "default": 10, "large": 40}[size]
    rod = (np.sin(np.arange(100.0 * scale)), 0.1, 50 * scale)
    points = (draw.normal(size=(200 * scale, 5)), draw.normal(size=(12, 5)), draw.normal(size=12))
    layer = (
        draw.normal(size=(50 * scale, 10 * scale)),
        draw.normal(size=(10 * scale, 5 * scale)) / math.sqrt(10 * scale),
        draw.normal(size=5 * scale),
        draw.normal(size=(50 * scale, 5 * scale)),
    )
    roots = (1.0 + draw.random(1000 * scale), 1e-12)
    return [
        workload("diffuse (u)", diffuse, diffuse_by_hand_u, rod, (0,), tapeless=True),
        workload("diffuse (u, alpha)", diffuse, diffuse_by_hand, rod, (0, 1)),
        workload("square roots", square_roots, square_roots_by_hand, roots, (0,)),
        workload("log-likelihood", log_likelihood, log_likelihood_by_hand, points, (1, 2)),
        workload("dense layer", loss, loss_by_hand, layer, (1, 2)),
    ]


def workload(name, function, hand, arguments, wrt, tapeless=False):
    return Workload(
        name, function, arguments, wrt, lambda: function(*arguments), lambda: hand(*arguments), tapeless=tapeless
    )


# -------------------------------------------------------------------------------------- a stencil, swept in place


@njit
def diffuse(u, alpha, steps):
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


@njit
def diffuse_by_hand(u, alpha, steps):
    n = u.size
    v = u.copy()
    tape = np.empty((steps, n - 2))
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            tape[t, i - 1] = here
            v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            left = here
    energy = 0.0
    v_bar = np.empty(n)
    for i in range(n):
        energy += v[i] * v[i]
        v_bar[i] = 2.0 * v[i]
    alpha_bar = 0.0
    for t in range(steps - 1, -1, -1):
        left_bar = 0.0
        for i in range(n - 2, 0, -1):
            here = tape[t, i - 1]
            left = tape[t, i - 2] if i > 1 else v[0]
            v[i] = here
            here_bar, stored_bar = left_bar, v_bar[i]
            alpha_bar += (left - 2.0 * here + v[i + 1]) * stored_bar
            left_bar = alpha * stored_bar
            v_bar[i + 1] += alpha * stored_bar
            v_bar[i] = here_bar + (1.0 - 2.0 * alpha) * stored_bar
        v_bar[0] += left_bar
    return energy, (v_bar, alpha_bar)


@njit
def diffuse_by_hand_u(u, alpha, steps):
    """Linear in u: nothing of the forward sweep is needed on the way back but its last state."""
    n = u.size
    v = u.copy()
    for t in range(steps):
        left = v[0]
        for i in range(1, n - 1):
            here = v[i]
            v[i] = here + alpha * (left - 2.0 * here + v[i + 1])
            left = here
    energy = 0.0
    v_bar = np.empty(n)
    for i in range(n):
        energy += v[i] * v[i]
        v_bar[i] = 2.0 * v[i]
    for t in range(steps - 1, -1, -1):
        left_bar = 0.0
        for i in range(n - 2, 0, -1):
            here_bar, stored_bar = left_bar, v_bar[i]
            left_bar = alpha * stored_bar
            v_bar[i + 1] += alpha * stored_bar
            v_bar[i] = here_bar + (1.0 - 2.0 * alpha) * stored_bar
        v_bar[0] += left_bar
    return energy, (v_bar,)


# --------------------------------------------------------------------------------------- trip counts that data decide


@njit
def square_roots(a, tolerance):
    total = 0.0
    for i in range(a.size):
        x = a[i]
        while abs(x * x - a[i]) > tolerance:
            x = x - (x * x - a[i]) / (2.0 * x)
        total += x
    return total


@njit
def square_roots_by_hand(a, tolerance):
    """The trips of one element are run and reversed before the next one's, so a short tape is used again and again."""
    a_bar = np.empty_like(a)
    tape = np.empty(16)
    total = 0.0
    for i in range(a.size):
        x = a[i]
        trips = 0
        while abs(x * x - a[i]) > tolerance:
            if trips == tape.size:
                longer = np.empty(2 * trips)
                for k in range(trips):
                    longer[k] = tape[k]
                tape = longer
            tape[trips] = x
            trips += 1
            x = x - (x * x - a[i]) / (2.0 * x)
        total += x
        x_bar = 1.0
        found = 0.0
        for trip in range(trips - 1, -1, -1):
            x = tape[trip]
            found += x_bar / (2.0 * x)
            x_bar *= (x * x - a[i]) / (2.0 * x * x)
        a_bar[i] = found + x_bar
    return total, (a_bar,)


# ------------------------------------------------------------------------------------ iterations that only share a sum


@njit
def log_likelihood(points, means, log_weights):
    total = 0.0
    for i in range(points.shape[0]):
        logits = np.empty(means.shape[0])
        largest = -np.inf
        for k in range(means.shape[0]):
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


@njit
def log_likelihood_by_hand(points, means, log_weights):
    """Forward and reverse of one point run back to back; the adjoint of `largest` sums to zero."""
    means_bar = np.zeros_like(means)
    log_weights_bar = np.zeros_like(log_weights)
    logits = np.empty(means.shape[0])
    total = 0.0
    for i in range(points.shape[0]):
        largest = -np.inf
        for k in range(means.shape[0]):
            distance = 0.0
            for d in range(points.shape[1]):
                offset = points[i, d] - means[k, d]
                distance += offset * offset
            logits[k] = log_weights[k] - 0.5 * distance
            largest = max(largest, logits[k])
        summed = 0.0
        for k in range(means.shape[0]):
            logits[k] = math.exp(logits[k] - largest)
            summed += logits[k]
        total += largest + math.log(summed)
        for k in range(means.shape[0]):
            share = logits[k] / summed
            log_weights_bar[k] += share
            for d in range(points.shape[1]):
                means_bar[k, d] += (points[i, d] - means[k, d]) * share
    return total, (means_bar, log_weights_bar)


# --------------------------------------------------------------------------------------------------------- whole arrays


@njit
def loss(inputs, weights, bias, targets):
    hidden = np.tanh(inputs @ weights + bias)
    residual = hidden - targets
    return np.mean(residual * residual)


@njit
def loss_by_hand(inputs, weights, bias, targets):
    hidden = inputs @ weights
    bias_bar = np.zeros_like(bias)
    total = 0.0
    scale = 2.0 / hidden.size
    for i in range(hidden.shape[0]):
        for j in range(hidden.shape[1]):
            y = math.tanh(hidden[i, j] + bias[j])
            residual = y - targets[i, j]
            total += residual * residual
            hidden[i, j] = scale * residual * (1.0 - y * y)
            bias_bar[j] += hidden[i, j]
    return total / hidden.size, (inputs.T @ hidden, bias_bar)
