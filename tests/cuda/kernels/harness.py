"""The checks of a kernel: tangent against differences, adjoint against tangent, and what is left as it was."""

import functools

import numpy as np

from adjit.api.gpu.kernels import DerivedKernel
from adjit.api.specialise.options import make_options


@functools.lru_cache(maxsize=64)
def derived(kernel, kind, **options):
    """One for all tests of a kernel, which is made once for arguments of the same types."""
    return DerivedKernel(kernel, kind, make_options(options))


def is_float(value):
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def copies(arguments):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def shadow(value, values):
    """An array for the shadow of a value, that of a number of one element, filled with these."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(values).reshape(value.shape).astype(value.dtype)
    return np.array([values]).reshape(1).astype(float)


class Checked:
    """A kernel, launched on arguments, with everything that is a float differentiated."""

    def __init__(self, kernel, launch, arguments, seed, **options):
        self.kernel, self.launch, self.arguments, self.options = kernel, launch, arguments, options
        self.names = list(DerivedKernel(kernel, "primal", make_options({})).parameters)
        self.active = [k for k, a in enumerate(arguments) if is_float(a)]
        g = np.random.default_rng(seed)
        self.directions = {k: g.normal(size=np.shape(arguments[k])) for k in self.active}
        self.seeds = {k: g.normal(size=np.shape(arguments[k])) for k in self.active}

    def primal(self, h=0.0):
        """What the arrays hold after the launch, the arguments moved by h along the directions."""
        given = copies(self.arguments)
        for k in self.active:
            moved = given[k] + h * self.directions[k]
            given[k] = moved.astype(given[k].dtype) if isinstance(given[k], np.ndarray) else float(moved)
        derived(self.kernel, "primal", **self.options)[self.launch](*given)
        return {k: given[k] for k in self.active if isinstance(given[k], np.ndarray)}

    def tangent(self):
        given = copies(self.arguments)
        dots = {k: shadow(given[k], self.directions[k]) for k in self.active}
        named = {f"{self.names[k]}_dot": dot for k, dot in dots.items()}
        derived(self.kernel, "tangent", **self.options)[self.launch](*given, **named)
        values = {k: given[k] for k in self.active if isinstance(given[k], np.ndarray)}
        return values, {k: dots[k] for k in values}

    def adjoint(self):
        given = copies(self.arguments)
        bars = {k: shadow(given[k], self.seeds[k] if isinstance(given[k], np.ndarray) else 0.0) for k in self.active}
        named = {f"{self.names[k]}_bar": bar for k, bar in bars.items()}
        derived(self.kernel, "adjoint", **self.options)[self.launch](*given, **named)
        for before, after in zip(self.arguments, given, strict=True):
            np.testing.assert_array_equal(before, after)
        return bars

    def difference(self, h):
        moved = {m: self.primal(m * h) for m in (-2, -1, 1, 2)}
        return {k: (8 * (moved[1][k] - moved[-1][k]) - (moved[2][k] - moved[-2][k])) / (12 * h) for k in moved[1]}

    def check(self, h=1e-3, tolerance=1e-8):
        values, dots = self.tangent()
        for k, value in self.primal().items():
            np.testing.assert_array_equal(values[k], value)
        for k, expected in self.difference(h).items():
            scale = 1.0 + np.abs(expected).max(initial=0.0)
            np.testing.assert_allclose(dots[k] / scale, expected / scale, atol=tolerance)
        self.check_transposed(dots)

    def check_transposed(self, dots):
        bars = self.adjoint()
        left = sum(np.vdot(self.seeds[k], dots[k]) for k in dots)
        right = sum(np.vdot(bars[k], self.directions[k]) for k in self.active)
        scale = sum(np.linalg.norm(bars[k]) * np.linalg.norm(self.directions[k]) for k in self.active)
        single = any(getattr(a, "dtype", None) == np.float32 for a in self.arguments)
        assert abs(left - right) <= (1e-5 if single else 1e-12) * (1.0 + scale)
