"""Rows for np.fft and scipy.fft: each function with each of its arguments; none where rocket-fft is not installed.

Results are numbers or arrays of real ones, so of complex ones the parts are weighted and added up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjit.rules.numpy.fft import HAS_ROCKET_FFT, transformed
from tests.rules.rows import Row, array, row, vector


def mixed(z: Any) -> Any:
    """A real array that depends on both parts."""
    return np.real(z) - 0.5 * np.imag(z) + 0.1 * np.abs(z) ** 2


TRANSFORMS: list[Row] = [
    row(transformed, lambda a, b: transformed(a, b)[0] + 0.5 * transformed(a, b)[1] ** 2, vector(), vector()),
    row(np.fft.fft, lambda a: mixed(np.fft.fft(a)), vector()),
    row(np.fft.fft, lambda a, b: mixed(np.fft.fft(a + 1j * b, 4, norm="ortho")), vector(), vector(), note="cut"),
    row(np.fft.fft, lambda a: mixed(np.fft.fft(a, axis=0, norm="forward")), array(3, 2), note="columns"),
    row(np.fft.ifft, lambda a, b: mixed(np.fft.ifft(a + 1j * b, n=8)), vector(), vector()),
    row(np.fft.fft2, lambda a: mixed(np.fft.fft2(a)), array(2, 3)),
    row(np.fft.ifft2, lambda a: mixed(np.fft.ifft2(1j * a, s=(3, 2), norm="forward")), array(2, 3)),
    row(np.fft.fftn, lambda a: mixed(np.fft.fftn(a)), array(2, 3, 2)),
    row(np.fft.ifftn, lambda a: mixed(np.fft.ifftn(a, axes=(0,), norm="ortho")), array(2, 3)),
    row(np.fft.rfft, lambda a: mixed(np.fft.rfft(a, 8)), vector()),
    row(np.fft.irfft, lambda a, b: np.fft.irfft(a + 1j * b), vector(), vector()),
    row(np.fft.irfft, lambda a, b: np.fft.irfft(a + 1j * b, 5, 0), array(4, 2), array(4, 2), note="odd"),
    row(np.fft.hfft, lambda a, b: np.fft.hfft(a + 1j * b, norm="forward"), vector(), vector()),
    row(np.fft.ihfft, lambda a: mixed(np.fft.ihfft(a)), vector()),
    row(np.fft.rfft2, lambda a: mixed(np.fft.rfft2(a)), array(2, 3)),
    row(np.fft.irfft2, lambda a, b: np.fft.irfft2(a + 1j * b), array(2, 3), array(2, 3)),
    row(np.fft.rfftn, lambda a: mixed(np.fft.rfftn(a, (2, 4), (0, 1))), array(2, 3)),
    row(np.fft.irfftn, lambda a, b: np.fft.irfftn(a + 1j * b, s=(3, 5), axes=(0, 1)), array(2, 3), array(2, 3)),
]

FOURIER: list[Row] = [
    *(TRANSFORMS if HAS_ROCKET_FFT else ()),
    row(np.fft.fftfreq, lambda d: np.fft.fftfreq(5, d[0]), vector()),
    row(np.fft.rfftfreq, lambda d: np.fft.rfftfreq(6, d[0]), vector()),
    row(np.fft.fftshift, lambda a: np.fft.fftshift(a), array(3, 2)),
    row(np.fft.fftshift, lambda a: mixed(np.fft.fftshift(a + 1j * a**2, axes=0)), array(3, 2), note="columns"),
    row(np.fft.ifftshift, lambda a: np.fft.ifftshift(a), vector()),
]

WITHOUT_TRANSFORMS = () if HAS_ROCKET_FFT else (transformed.py_func, *(row.callee for row in TRANSFORMS))
