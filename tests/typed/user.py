"""A user's file that calls every name of adjit, for type checkers: mypy is asked what it sees (tests/test_types.py)."""

import math
from pathlib import Path
from typing import reveal_type

import numpy as np

import adjit

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
x, u = np.ones(3), np.zeros(5)


def energy(x: Vector, k: float = 1.0) -> float:
    return 0.5 * k * float(np.sum(x * x))


def split(x: Vector, k: float) -> tuple[float, Vector]:
    return energy(x, k), k * x


def spectrum(z: complex) -> complex:
    return z * z


def heat(u: Vector, nu: float) -> Vector:
    return adjit.intermediate(adjit.stop_gradient(u), "u") * nu


@adjit.grad
def slope(x: float) -> float:
    return x * x


@adjit.value_and_grad(parallel=True, memory_limit="1 GB")
def steep(x: Vector, k: float) -> float:
    return energy(x, k)


@adjit.checkpoint
def layer(x: Vector, w: float) -> Vector:
    return np.tanh(w * x)


def newton(a: float) -> float:
    return math.sqrt(a)


def square(x: float, a: float) -> float:
    return x * x - a


@adjit.rules.differences
def measured(x: float) -> float:
    return x


gradient = adjit.grad(energy)
reveal_type(gradient)
reveal_type((gradient(x, k=2.0), gradient(x=x), gradient.into(x, 2.0, out=x)))
reveal_type((gradient.source(x, 1.0), gradient.explain(x, 1.0).total))
reveal_type((adjit.grad(energy, wrt=1)(x, 1.0), adjit.grad(energy, wrt=(0, 1))(x, 1.0)))
reveal_type((adjit.grad(split, has_aux=True)(x, 1.0), adjit.grad(spectrum, holomorphic=True)(1j)))
reveal_type((slope, steep, steep(x, 1.0), adjit.value_and_grad(energy)(x)))
reveal_type((adjit.vjp(heat, u, 0.1), adjit.vjp(heat, u, 0.1)[1](u), adjit.jvp(heat, (u, 0.1), (u, 0.0))))
reveal_type((adjit.jacfwd(heat)(u, 0.1), adjit.jacrev(energy)(x), adjit.jacobian(heat, sparse=True).sparsity(u, 0.1)))
reveal_type((adjit.hessian(energy)(x), adjit.hvp(energy)(x, 1.0, x), adjit.jet(slope, 2)(1.0, 1.0)))
reveal_type((adjit.vmap(slope)(x), layer(x, 0.5), [t for t in adjit.checkpoint(range(3))]))
reveal_type((adjit.implicit(newton, square)(2.0), adjit.implicit(newton, square), adjit.fixed_point(heat)(u, 0.1)))
reveal_type((adjit.rounding_error(energy)(x).statements[0].bound, measured))
reveal_type((adjit.cache_info().bytes, adjit.workspace_bytes(), adjit.__version__))

with adjit.progress():
    reveal_type(adjit.check_grads(energy, (x, 1.0)).convergence().slopes)
adjit.plot.tape(gradient, (x, 1.0))
adjit.precompile(gradient, (x, 1.0))
gradient.save(Path("gradient.py"), x, 1.0)
adjit.clear_cache()
adjit.clear_workspaces()
for fault in (
    adjit.Aliased, adjit.InternalError, adjit.NoRule, adjit.NotDifferentiable, adjit.NotScalar, adjit.Race,
    adjit.ReadOnly, adjit.SourceUnavailable, adjit.TypeMismatch, adjit.Unsupported, adjit.Unwritten, adjit.WrongCall,
    adjit.WrongDevice, adjit.WrongWrt,
):  # fmt: skip
    kind: type[adjit.AdjitError] = fault
warning: type[UserWarning] = adjit.NotCached
warning = adjit.OnlyDecides
