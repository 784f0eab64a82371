"""Times Jacobians, Hessians and Hessian products of small residuals by adjit and JAX: `python benchmarks/jacobians.py`.

    python benchmarks/jacobians.py [--rounds 9] [--size 30]

The residuals are loops. For JAX they are written twice, as loops (`fori_loop`) and as array expressions, both under
jit. The Hessian is that of the sum of squares. All take turns within each round, and medians of the rounds count.
Without JAX only adjit's times are printed. JAX uses threads even for small work, so its times are several times longer
on a busy machine.
"""

import argparse
import importlib.util
import math

import numpy as np

import adjit
from run import medians

STEPS = 10


def tridiagonal(x, t):
    """Broyden's tridiagonal function with an exponential coupling."""
    n = x.size
    r = np.empty(n)
    for i in range(n):
        s = (3.0 - 2.0 * x[i]) * x[i] + 1.0
        if i > 0:
            s -= x[i - 1]
        if i < n - 1:
            s -= math.exp(t[i] * x[i + 1])
        r[i] = s
    return r


def exponentials(x, t):
    """A sum of damped exponentials, fitted to samples."""
    r = np.empty(t.size)
    for i in range(t.size):
        s = -math.cos(t[i])
        for k in range(x.size // 2):
            s += x[2 * k] * math.exp(-x[2 * k + 1] * t[i])
        r[i] = s
    return r


def kinetics(x, t):
    """A ring of reacting species after some steps of the midpoint rule."""
    n = x.size
    y = x.copy()
    middle = np.empty(n)
    for _ in range(STEPS):
        for i in range(n):
            middle[i] = y[i] + 0.005 * rate(y[i - 1], y[i], y[i + 1 if i + 1 < n else 0], t[i])
        for i in range(n):
            y[i] += 0.01 * rate(middle[i - 1], middle[i], middle[i + 1 if i + 1 < n else 0], t[i])
    return y


def rate(left, own, right, k):
    return k * left * own - own * own * right + math.exp(-own)


def jax_versions():
    """For each residual its loop form and its array form."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def tridiagonal_loop(x, t):
        n = x.size

        def body(i, r):
            s = (3.0 - 2.0 * x[i]) * x[i] + 1.0
            s = jnp.where(i > 0, s - x[jnp.maximum(i - 1, 0)], s)
            s = jnp.where(i < n - 1, s - jnp.exp(t[i] * x[jnp.minimum(i + 1, n - 1)]), s)
            return r.at[i].set(s)

        return jax.lax.fori_loop(0, n, body, jnp.zeros(n))

    def tridiagonal_arrays(x, t):
        r = (3.0 - 2.0 * x) * x + 1.0
        return r.at[1:].add(-x[:-1]).at[:-1].add(-jnp.exp(t[:-1] * x[1:]))

    def exponentials_loop(x, t):
        def body(i, r):
            term = lambda k, s: s + x[2 * k] * jnp.exp(-x[2 * k + 1] * t[i])  # noqa: E731
            return r.at[i].set(jax.lax.fori_loop(0, x.size // 2, term, -jnp.cos(t[i])))

        return jax.lax.fori_loop(0, t.size, body, jnp.zeros(t.size))

    def exponentials_arrays(x, t):
        return jnp.exp(-jnp.outer(t, x[1::2])) @ x[::2] - jnp.cos(t)

    def slope(y, t):
        return t * jnp.roll(y, 1) * y - y * y * jnp.roll(y, -1) + jnp.exp(-y)

    def kinetics_arrays(x, t):
        step = lambda _, y: y + 0.01 * slope(y + 0.005 * slope(y, t), t)  # noqa: E731
        return jax.lax.fori_loop(0, STEPS, step, x)

    def kinetics_loop(x, t):
        n = x.size

        def rates(y):
            def body(i, out):
                right = y[jnp.where(i + 1 < n, i + 1, 0)]
                return out.at[i].set(t[i] * y[i - 1] * y[i] - y[i] * y[i] * right + jnp.exp(-y[i]))

            return jax.lax.fori_loop(0, n, body, jnp.zeros(n))

        step = lambda _, y: y + 0.01 * rates(y + 0.005 * rates(y))  # noqa: E731
        return jax.lax.fori_loop(0, STEPS, step, x)

    return {
        "tridiagonal": (tridiagonal_loop, tridiagonal_arrays),
        "exponentials": (exponentials_loop, exponentials_arrays),
        "kinetics": (kinetics_loop, kinetics_arrays),
    }


def squares(residual):
    """The sum of the squares of a residual, as a loop."""

    def total(x, t):
        r = residual(x, t)
        s = 0.0
        for i in range(r.size):
            s += r[i] * r[i]
        return s

    return total


def derivatives(residual):
    """What is timed, by adjit."""
    total = squares(residual)
    return {"jacobian": adjit.jacobian(residual), "hessian": adjit.hessian(total), "hvp": adjit.hvp(total)}


def jax_derivatives(residual):
    """The same by JAX."""
    import jax
    import jax.numpy as jnp

    def total(x, t):
        return jnp.sum(residual(x, t) ** 2)

    def product(x, t, v):
        return jax.jvp(lambda x: jax.grad(total)(x, t), (x,), (v,))[1]

    return {
        "jacobian": jax.jit(jax.jacfwd(residual)),
        "hessian": jax.jit(jax.hessian(total)),
        "hvp": jax.jit(product),
    }


def main():
    """Prints a line for each residual and each derivative."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size", type=int, default=30)
    options = parser.parse_args()
    x, t = np.linspace(0.1, 1.0, options.size), np.linspace(0.0, 1.0, options.size)
    versions = jax_versions() if importlib.util.find_spec("jax") else {}
    print(f"{'':24}{'adjit, us':>10}" + f"{'/ JAX, loops':>14}{'/ JAX, arrays':>15}{'difference':>12}" * bool(versions))
    for residual in (tridiagonal, exponentials, kinetics):
        name = residual.__name__
        for what, own in derivatives(residual).items():
            given = (x, t, t) if what == "hvp" else (x, t)
            timed = {"adjit": lambda own=own, given=given: own(*given)}
            worst = 0.0
            for form, written in zip(("loops", "arrays"), versions.get(name, ()), strict=False):
                theirs = jax_derivatives(written)[what]
                found = np.asarray(theirs(*given))
                worst = max(worst, float(np.abs(found - own(*given)).max() / np.abs(found).max()))
                timed[form] = on_device(theirs, given)
            times = medians(timed, options.rounds)
            line = f"{name + ' ' + what:24}{times['adjit'] * 1e6:10.2f}"
            if versions:
                line += f"{times['adjit'] / times['loops']:14.3f}{times['adjit'] / times['arrays']:15.3f}{worst:12.1e}"
            print(line, flush=True)


def on_device(function, given):
    """A call of a JAX function with arguments that are already JAX's."""
    import jax.numpy as jnp

    arguments = [jnp.asarray(a) for a in given]
    return lambda: function(*arguments).block_until_ready()


if __name__ == "__main__":
    main()
