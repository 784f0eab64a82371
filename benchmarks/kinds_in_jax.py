"""The kinds of `kinds.py` and `softmax.py` in JAX: `lax.scan` and `fori_loop` for steps, else array expressions.

In:  a kind's name and the arguments of its `Workload`. Out: the call of JAX's value and gradient. `jit` compiles it at
its first call; its arrays are already JAX's.
"""

import functools
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np


def in_jax(name: str, arguments: tuple, wrt: tuple[int, ...]) -> Callable[[], Callable] | None:
    """What makes the call; None where JAX is not installed."""
    return functools.partial(_call, _VERSIONS[name], arguments, wrt) if find_spec("jax") is not None else None


def _call(version: Callable, arguments: tuple, wrt: tuple[int, ...]) -> Callable[[], object]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    fixed = tuple(k for k, given in enumerate(arguments) if isinstance(given, int))
    given = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    both = jax.jit(jax.value_and_grad(version, argnums=wrt), static_argnums=fixed)
    return lambda: jax.block_until_ready(both(*given))


def _huber(features, targets, weights, width):
    import jax.numpy as jnp

    r = features @ weights - targets
    return jnp.mean(jnp.where(jnp.abs(r) <= width, 0.5 * r * r, width * (jnp.abs(r) - 0.5 * width)))


def _recurrent(inputs, gates, weights):
    import jax
    import jax.numpy as jnp

    def step(h, row):
        z = jax.nn.sigmoid(gates @ h)
        h = z * h + (1.0 - z) * jnp.tanh(row + weights @ h)
        return h, jnp.sum(h * h)

    return jnp.sum(jax.lax.scan(step, jnp.zeros(inputs.shape[1]), inputs)[1])


def _gauss_seidel(right, sweeps):
    import jax
    import jax.numpy as jnp

    n, m = right.shape

    def element(i, k, u):
        j = k + 1
        around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
        return u.at[i, j].set(0.25 * (around - right[i, j]))

    def row(k, u):
        return jax.lax.fori_loop(0, m - 2, functools.partial(element, k + 1), u)

    u = jax.lax.fori_loop(0, sweeps, lambda _, u: jax.lax.fori_loop(0, n - 2, row, u), jnp.zeros((n, m)))
    return jnp.sum(u * u)


def _factorisation(a):
    import jax
    import jax.numpy as jnp

    n = a.shape[0]

    def column(j, state):
        factor, total = state
        done = jnp.arange(n) < j
        s = a[:, j] - factor @ jnp.where(done, factor[j], 0.0)
        d = jnp.sqrt(s[j])
        below = jnp.where(jnp.arange(n) > j, s / d, 0.0)
        factor = factor.at[:, j].set(below.at[j].set(d))
        return factor, total + 2.0 * jnp.log(d) + jnp.sum(below * below)

    return jax.lax.fori_loop(0, n, column, (jnp.zeros((n, n)), 0.0))[1]


def _paths(noise, start, rate, volatility, strike):
    import jax
    import jax.numpy as jnp

    count, steps = noise.shape
    dt = 1.0 / steps

    def step(s, drawn):
        s = s + rate * s * dt + volatility * s * jnp.sqrt(dt) * drawn
        return s, s

    path = jax.lax.scan(step, jnp.full(count, start), noise.T)[1]
    return jnp.exp(-rate) * jnp.mean(jnp.maximum(jnp.mean(path, axis=0) - strike, 0.0))


def _attention(queries, keys, values):
    import jax
    import jax.numpy as jnp

    weights = jax.nn.softmax(queries @ keys.T / jnp.sqrt(queries.shape[1]), axis=-1)
    return jnp.sum((weights @ values) ** 2)


def _stencil(u, c, steps):
    import jax
    import jax.numpy as jnp

    def step(_, a):
        middle = a[1:-1, 1:-1]
        around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        return a.at[1:-1, 1:-1].set(middle + c * (around - 4.0 * middle))

    a = jax.lax.fori_loop(0, steps, step, u)
    return jnp.sum(a * a)


def _softmax_of_four(x, w):
    import jax
    import jax.numpy as jnp

    return jnp.sum(w * jax.nn.softmax(x, axis=-1))


def _regress(w, b, x, labels):
    import jax.numpy as jnp

    return _cross_entropy(x @ w + b, labels) + 0.5e-3 * jnp.sum(w * w)


def _cross_entropy(logits, labels):
    import jax
    import jax.numpy as jnp

    log_p = jax.nn.log_softmax(logits, axis=1)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))


def _layer_norm(x, scale, shift, w):
    import jax
    import jax.numpy as jnp

    y = (x - x.mean(axis=1, keepdims=True)) * jax.lax.rsqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return jnp.sum(w * (scale * y + shift))


_VERSIONS: dict[str, Callable] = {
    "least squares": _huber,
    "recurrent cell": _recurrent,
    "Gauss-Seidel": _gauss_seidel,
    "factorisation": _factorisation,
    "paths": _paths,
    "attention": _attention,
    "stencil": _stencil,
    "attention, loops": _attention,
    "attention, arrays": _attention,
    "softmax, 4 axes": _softmax_of_four,
    "softmax regression": _regress,
    "cross-entropy": _cross_entropy,
    "layer norm": _layer_norm,
}
