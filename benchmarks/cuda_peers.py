"""The workloads of `cuda_workloads.py` in JAX and torch, if installed, as their users write them.

`ways(name, arguments, wrt, seed)` returns the gradients of a workload by library, as functions without arguments. Their
`wait` waits for the result, and `found` returns it by the names in `wrt`. `seed` is the cotangent of an array; None if
the value is a number.

    JAX             one jitted function of the arguments and the seed
    torch           eager, by autograd
    torch.compile   the same, compiled; only on request (--beside), as compiling takes half a minute
"""

import importlib
import importlib.util
import os

import numpy as np

STEPS, ROWS, TAPS = 48, 12, 5


class Jax:
    """What differs between the libraries: JAX's side."""

    def __init__(self):
        # or it takes three quarters of the GPU's memory
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.xp = self.jax.numpy
        self.send = self.xp.asarray

    def padded(self, x, width):
        return self.xp.pad(x, width)

    def logsumexp(self, x):
        return self.jax.scipy.special.logsumexp(x, axis=1)

    def with_interior(self, u, inner):
        return u.at[1:, 1:].set(inner)

    def gradient(self, function, wrt, arguments, seed):
        jax, places = self.jax, tuple(wrt)

        @jax.jit
        def made(arguments, seed):
            def of(*own):
                given = list(arguments)
                for place, value in zip(places, own, strict=True):
                    given[place] = value
                return function(self, *given)

            value, pull = jax.vjp(of, *(arguments[place] for place in places))
            return pull(jax.numpy.ones((), value.dtype) if seed is None else seed)

        return lambda: made(arguments, seed)

    def wait(self, values):
        self.jax.block_until_ready(values)

    def fetch(self, value):
        return np.asarray(value)


class Torch:
    """What differs between the libraries: torch's side."""

    def __init__(self, is_compiled=False):
        self.xp = self.torch = importlib.import_module("torch")
        self.is_compiled = is_compiled
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"

    def send(self, array):
        return self.torch.as_tensor(array, device=self.device)

    def padded(self, x, width):
        return self.torch.nn.functional.pad(x, (width, width))

    def logsumexp(self, x):
        return self.torch.logsumexp(x, 1)

    def with_interior(self, u, inner):
        made = u.clone()
        made[1:, 1:] = inner
        return made

    def gradient(self, function, wrt, arguments, seed):
        given = [a.clone().requires_grad_() if k in wrt else a for k, a in enumerate(arguments)]
        own = [given[k] for k in wrt]

        def value():
            return function(self, *given)

        value = self.torch.compile(value) if self.is_compiled else value
        return lambda: self.torch.autograd.grad(value(), own, grad_outputs=seed)

    def wait(self, values):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def fetch(self, value):
        return value.cpu().numpy()


def misfit(lib, x, d, w, a):
    r = a[0] * lib.xp.tanh(a[1] * x) - d
    return lib.xp.sum(w * r * r)


def advection(lib, u0, speed, weight, steps):
    u, s = u0, speed[1:, 1:]
    for _ in range(steps):
        here = u[1:, 1:]
        u = lib.with_interior(u, here - s * (here - u[:-1, 1:]) - s * (here - u[1:, :-1]))
    return lib.xp.sum(u * weight)


def fir(lib, x, h):
    wide = lib.padded(x, TAPS // 2)
    return lib.xp.tanh(sum(h[k] * wide[k : k + x.shape[0]] for k in range(TAPS)))


def lse(lib, x):
    return lib.logsumexp(x)


def interpolation(lib, table, k, f):
    return (1.0 - f) * table[k] + f * table[k + 1]


def logistic(lib, x0, r):
    x = x0
    for _ in range(STEPS):
        x = r * x * (1.0 - x)
    return x


def tridiagonal(lib, a, b, c, d):
    up, right = [c[0] / b[0]], [d[0] / b[0]]
    for k in range(1, ROWS):
        pivot = b[k] - a[k] * up[-1]
        up.append(c[k] / pivot)
        right.append((d[k] - a[k] * right[-1]) / pivot)
    x = [right[-1]]
    for k in range(ROWS - 2, -1, -1):
        x.append(right[k] - up[k] * x[-1])
    return lib.xp.stack(x[::-1])


FUNCTIONS = {f.__name__: f for f in (misfit, advection, fir, lse, interpolation, logistic, tridiagonal)}
LIBRARIES = {"JAX": ("jax", Jax), "torch": ("torch", Torch), "torch.compile": ("torch", lambda: Torch(True))}
USUAL = ("JAX", "torch")


class Way:
    """A gradient, and what its last call has found."""

    def __init__(self, lib, run, names):
        self.lib, self.run, self.names, self.last = lib, run, names, ()

    def __call__(self):
        self.last = self.run()

    def wait(self):
        self.lib.wait(self.last)

    def found(self):
        return {name: self.lib.fetch(bar) for name, bar in zip(self.names, self.last, strict=True)}


def ways(name, arguments, wrt, seed=None, asked=USUAL):
    """The gradients of a workload by the libraries that are asked for and installed; `wrt`: names by position."""
    made = {}
    for library in asked:
        package, make = LIBRARIES[library]
        if importlib.util.find_spec(package) is None:
            continue
        lib = make()
        sent = [lib.send(a) for a in arguments if isinstance(a, np.ndarray)]
        numbers = [a for a in arguments if not isinstance(a, np.ndarray)]
        given = None if seed is None else lib.send(seed)
        made[library] = Way(lib, lib.gradient(_fixed(FUNCTIONS[name], numbers), wrt, sent, given), wrt.values())
    return made


def _fixed(function, numbers):
    """The function with the numbers, which stand last, as they are."""
    return lambda lib, *arrays: function(lib, *arrays, *numbers)
