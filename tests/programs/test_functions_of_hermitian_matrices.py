"""Functions of complex matrices by eigenvalues and vectors, where values are equal, exactly or nearly.

Both modes give what differences give; what depends on the phases of vectors is nan there.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import adjit
from adjit.transform.strategy import CHEAPEST

PLAIN = {"target": "python", "strategy": CHEAPEST}
DRAWN = np.random.default_rng(7)
TURN = np.linalg.qr(DRAWN.normal(size=(4, 4)) + 1j * DRAWN.normal(size=(4, 4)))[0]
WEIGHTS = DRAWN.normal(size=(4, 4)) + 1j * DRAWN.normal(size=(4, 4))
START = WEIGHTS[0]


def like(*values):
    found = (TURN * np.array(values)) @ TURN.conj().T
    return 0.5 * (found + found.conj().T)


MATRICES = {
    "all equal": 2.0 * np.eye(4) + 0j,
    "pairs": like(1.0, 1.0, 3.0, 3.0),
    "nearly, 1e-14": like(1.0, 1.0 + 1e-14, 1.0, 2.0),
    "nearly, 1e-9": like(1.0, 1.0 + 1e-9, 2.0, 3.0),
    "none": like(1.0, 2.0, 2.5, 4.0),
}


def weighed(found):
    return np.sum(found.real * WEIGHTS.real + found.imag * WEIGHTS.imag)


def evolved(h):
    w, v = np.linalg.eigh(h)
    return weighed((v * np.exp(-1j * w * 0.7)) @ v.conj().T)


def evolved_state(h):
    w, v = np.linalg.eigh(h)
    c = v @ (np.exp(-1j * w) * (v.conj().T @ START))
    return np.sum(np.abs(c) ** 2 * np.arange(4.0)) + np.abs(np.vdot(WEIGHTS[1], c)) ** 2


def diagonal(h):
    w, v = np.linalg.eigh(h)
    return weighed(v @ np.diag(np.sqrt(w)) @ v.conj().T) + weighed(v @ (np.diag(np.exp(1j * w)) @ v.conj().T))


def probabilities(h):
    w, v = np.linalg.eigh(h)
    return np.sum(np.abs(v.conj().T @ START) ** 2 * np.exp(w))


def thermal(h):
    w, v = np.linalg.eigh(h)
    rho = (v * np.exp(-w)) @ v.conj().T
    return np.trace((rho / np.trace(rho)) @ WEIGHTS).real


def lyapunov(h):
    w, v = np.linalg.eigh(h)
    inner = (v.conj().T @ WEIGHTS @ v) / (w[:, None] + w[None, :])
    return weighed(v @ inner @ v.conj().T)


def clipped(h):
    w, v = np.linalg.eigh(h)
    w[w < 1.5] = 1.5
    return weighed((v * w) @ v.conj().T)


def loops(h):
    w, v = np.linalg.eigh(h)
    total = 0.0
    for i in range(w.size):
        for j in range(w.size):
            for k in range(w.size):
                total += (v[i, k] * np.exp(1j * w[k]) * np.conj(v[j, k]) * WEIGHTS[i, j]).real
    return total


def projection(h):
    w, v = np.linalg.eigh(h)
    part, rest = v[:, :2], v[:, 2:]
    return weighed(part @ part.conj().T) + weighed((rest * np.exp(w[2:])) @ rest.conj().T)


def lower_differences(function, h):
    """By real and imaginary parts of the lower triangle, which is what is read."""
    found = np.zeros(h.shape, complex)
    for i, j in zip(*np.tril_indices(len(h)), strict=True):
        for unit in (1.0, 1j)[: 1 if i == j else 2]:
            step = np.zeros(h.shape, complex)
            step[i, j] = 1e-5 * unit
            found[i, j] += unit * (function(h + step) - function(h - step)) / 2e-5
    return found


def check(function, h, **options):
    direction = np.tril(WEIGHTS.T, -1) + np.diag([1.0, -0.5, 0.3, 2.0])
    with np.errstate(all="ignore"):
        reverse = adjit.grad(function, **options)(h)
        _, forward = adjit.jvp(function, (h,), (direction,), **options)
    wanted = lower_differences(function, h)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(reverse, wanted, rtol=1e-6, atol=1e-6 * scale)
    np.testing.assert_allclose(forward, np.sum((reverse.conj() * direction).real), rtol=1e-8, atol=1e-8 * scale)


FUNCTIONS = [evolved, evolved_state, diagonal, probabilities, thermal, lyapunov, clipped, loops]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_a_matrix(function):
    for h in MATRICES.values():
        check(function, h, **PLAIN)


@pytest.mark.parametrize("name", ["pairs", "none"])
def test_a_projection_on_a_whole_space(name):
    check(projection, MATRICES[name], **PLAIN)


def test_compiled():
    gradient = adjit.grad(evolved)
    for name in ("all equal", "pairs", "nearly, 1e-14"):
        h, direction = MATRICES[name], WEIGHTS + WEIGHTS.conj().T
        _, moved = scipy.linalg.expm_frechet(-0.7j * h, -0.7j * direction)
        found = np.sum((gradient(h).conj() * direction).real)
        np.testing.assert_allclose(found, weighed(moved), rtol=1e-9)


# ---------------------------------------------------------------------------------------------- where phases matter


def without_conjugation(h):
    w, v = np.linalg.eigh(h)
    return weighed((v * np.exp(w)) @ v.T)


def real_parts(h):
    w, v = np.linalg.eigh(h)
    return np.sum((v.real * w) @ v.real.T * WEIGHTS.real)


def one_element(h):
    w, v = np.linalg.eigh(h)
    return v[1, 0].real * w[0]


def by_half(h):
    """The real part of v f(w) v' and a part of the imaginary one, whose products do not complete each other."""
    w, v = np.linalg.eigh(h)
    re, im = v.real, v.imag
    return np.sum(((re * w) @ re.T + (im * w) @ im.T + (re * w) @ im.T) * WEIGHTS.real)


def stored_outside_of_a_loop(h):
    found = np.zeros(3)
    for t in range(3):
        w, v = np.linalg.eigh(h)
        found[t] = ((v.real * np.exp(-w * t)) @ v.real.T)[0, 1]
    return np.sum(found * WEIGHTS.real[0, :3])


@pytest.mark.parametrize("function", [without_conjugation, real_parts, one_element, by_half, stored_outside_of_a_loop])
def test_what_depends_on_phases_is_nan(function):
    for name in ("pairs", "nearly, 1e-14"):
        with np.errstate(all="ignore"):
            reverse = adjit.grad(function, **PLAIN)(MATRICES[name])
            _, forward = adjit.jvp(function, (MATRICES[name],), (WEIGHTS,), **PLAIN)
        assert np.isnan(reverse).any()
        assert np.isnan(forward)
    check(function, MATRICES["none"], **PLAIN)
