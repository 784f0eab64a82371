"""np.fft in programs: as numba compiles it, SciPy's names, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft

import adjit
from adjit.errors import AdjitError
from adjit.rules.numpy import fft
from tests.programs.harness import check
from tests.programs.rows import wave

needs_rocket_fft = pytest.mark.skipif(not fft.HAS_ROCKET_FFT, reason="rocket-fft is not installed")


def steps_of_a_wave(x: Any) -> Any:
    """The split-step method, with a nonlinear phase."""
    k = 2.0 * np.pi * np.fft.fftfreq(x.size, 0.5)
    u = x * np.exp(0.3j * x)
    for _ in range(3):
        u = np.fft.ifft(np.exp(-0.05j * k**2) * np.fft.fft(u)) * np.exp(-0.1j * np.abs(u) ** 2)
    return np.sum(np.abs(u) ** 4) + np.sum(u.imag * np.fft.fftshift(x))


@needs_rocket_fft
def test_program() -> None:
    check(steps_of_a_wave, lambda: (wave(6),))


@needs_rocket_fft
def test_compiled_program() -> None:
    found = adjit.grad(steps_of_a_wave)(wave(6))
    np.testing.assert_allclose(found, adjit.grad(steps_of_a_wave, target="python")(wave(6)), rtol=1e-12)


def by_scipy(x: Any) -> Any:
    z = scipy.fft.fft(x, norm="ortho") * scipy.fft.fftfreq(x.size)
    return np.sum(scipy.fft.irfft(scipy.fft.fftshift(z)) ** 3) + np.sum(np.abs(scipy.fft.rfft(x)))


@needs_rocket_fft
def test_names_of_scipy() -> None:
    check(by_scipy, lambda: (wave(5),), second=False)


def of_reals(x: Any) -> Any:
    return np.abs(np.fft.rfft(x * 1j)[0])


def other_norm(x: Any) -> Any:
    return np.abs(np.fft.fft(x, norm="both")[0])


@needs_rocket_fft
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (of_reals, "a transform for real numbers of complex numbers: use np.fft.fft or np.fft.fftn"),
        (other_norm, "a transform with a norm other than 'backward', 'ortho' and 'forward'"),
    ],
)
def test_what_is_refused(function: Any, message: str) -> None:
    with pytest.raises(AdjitError) as fault:
        adjit.grad(function, target="python")(wave(4))
    assert fault.value.message.splitlines()[0] == f"Unsupported: {message}"


def transform(x: Any) -> Any:
    return np.abs(np.fft.fft(x)[0])


def test_without_rocket_fft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fft, "HAS_ROCKET_FFT", False)
    with pytest.raises(AdjitError, match=r"np.fft needs the package rocket-fft: pip install 'adjit\[fft\]'"):
        adjit.grad(transform, target="python")(wave(4))
