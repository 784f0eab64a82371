"""Arguments on the device, and the comparison that all functions of the table go through."""

import contextlib

import numpy as np
import pytest

import adjit
from adjit.runtime.cuda import check as races
from adjit.runtime.cuda.backend import cuda
from adjit.runtime.cuda.check import UNWRITTEN
from adjit.runtime.library.gpus import SIMULATED

# looks into the simulator, or at what a GPU does not have
simulated = pytest.mark.simulator
on_gpu = pytest.mark.gpu

PRECISE = {np.float64: 1e-11, np.float32: 3e-4}


def arguments(shapes, dtype, seed=3):
    g = np.random.default_rng(seed)
    return tuple(g.uniform(0.1, 0.9, s).astype(dtype) if isinstance(s, list) else s for s in shapes)


def is_active(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def like(value, g):
    if isinstance(value, tuple):
        return tuple(like(v, g) for v in value)
    return g.normal(size=value.shape).astype(value.dtype) if isinstance(value, np.ndarray) else g.normal()


def on_device(value):
    if isinstance(value, tuple):
        return tuple(map(on_device, value))
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def on_host(value):
    if isinstance(value, tuple):
        return tuple(map(on_host, value))
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def flat(value):
    if value is None:
        return np.zeros(0)
    if isinstance(value, tuple):
        return np.concatenate([flat(v) for v in value] or [np.zeros(0)])
    return np.ravel(np.asarray(value, np.float64))


def assert_close(got, wanted, tolerance):
    got, wanted = flat(got), flat(wanted)
    assert got.shape == wanted.shape
    assert np.isfinite(wanted).all()
    scale = max(1.0, np.abs(wanted).max(initial=0.0))
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale)


@contextlib.contextmanager
def watched():
    """Yields a list of what is wrong with the launches inside, which the simulator alone can tell."""
    with races.watched() if SIMULATED else contextlib.nullcontext([]) as found:
        yield found


def check(function, args, dtype):
    """Value, tangent and adjoint against those of the CPU, tangent against adjoint, and no races in kernels."""
    with watched() as faults:
        compare(function, args, dtype)
    assert [fault for fault in faults if UNWRITTEN not in fault] == []


def compare(function, args, dtype):
    """The same with no eye on races."""
    wrt = tuple(k for k, a in enumerate(args) if isinstance(a, float) or is_active(a))
    g = np.random.default_rng(8)
    dots = tuple(like(a, g) if k in wrt else a for k, a in enumerate(args))
    value, tangent = adjit.jvp(function, args, dots, target="python")
    got = adjit.jvp(function, tuple(map(on_device, args)), tuple(map(on_device, dots)), target="cuda")
    assert_close(on_host(got), (value, tangent), PRECISE[dtype])

    bars = like(value, g)
    _, pullback = adjit.vjp(function, *args, target="python")
    wanted = pullback(bars)
    _, pulled = adjit.vjp(function, *map(on_device, args), target="cuda")
    adjoint = pulled(on_device(bars))
    assert_close(on_host(adjoint), wanted, PRECISE[dtype])
    left = np.sum(flat(bars) * flat(on_host(got[1])))
    right = sum(np.sum(flat(on_host(adjoint[k])) * flat(dots[k])) for k in wrt)
    assert left == pytest.approx(right, rel=100 * PRECISE[dtype], abs=100 * PRECISE[dtype])
