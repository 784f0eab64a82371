"""Functions that the tests of all bridges call."""

from dataclasses import dataclass

import numpy as np


def heat(u, k, steps):
    """An array and a number to an array."""
    v = u.copy()
    for t in range(steps):
        w = v.copy()
        for i in range(1, v.size - 1):
            w[i] = v[i] + k * (v[i - 1] - 2.0 * v[i] + v[i + 1])
        v = w
    return v


def energy(x, w):
    """To a number."""
    total = 0.0
    for i in range(x.size):
        total += np.sin(w * x[i]) * x[i] ** 2
    return total


def several(x, w, n):
    """Several results, one of them an integer, and nothing of one for a part."""
    return x * w, np.sum(x) * w**2, n + x.size


def layers(params, x):
    """A dictionary with a list of layers."""
    h = x
    for layer in params["layers"]:
        h = np.tanh(layer["w"] @ h + layer["b"])
    return params["scale"] * np.sum(h * h)


def overwrites(x):
    """It changes its argument."""
    for i in range(1, x.size):
        x[i] += 0.5 * x[i - 1] ** 2
    return np.sum(x * x)


def itself(x, w):
    """A result that is an argument."""
    return x, np.sum(w * x)


def drawing(x):
    """Random numbers of its own."""
    return np.sum(x * np.random.normal(0.0, 1.0, x.size))


def chosen(x):
    """A result whose length depends on values."""
    return x[x > 0.0] * 2.0


def adds_to(x, y):
    """It changes one argument, by another."""
    for i in range(x.size):
        x[i] += y[i]
    return np.sum(x * y)


@dataclass
class Model:
    rate: float
    weights: np.ndarray

    def loss(self, x):
        return self.rate * np.sum((self.weights * x) ** 2)


def of_model(model, x):
    return model.rate * np.sum((model.weights * x) ** 2)
