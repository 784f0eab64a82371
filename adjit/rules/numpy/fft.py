"""Discrete Fourier transforms: one operation on pairs of real arrays, and the functions of np.fft and scipy.fft.

In: arrays of real or complex numbers. Out: what NumPy returns. The transform is linear, and its transpose the transform
with real and imaginary parts exchanged. Rocket-FFT compiles it: `pip install 'adjit[fft]'`.

    np.fft.fft(z)              transformed(z.real, z.imag)
    np.fft.ifft(z)             transformed(z.imag, z.real), exchanged, over n
"""

import importlib.util

import numba
import numpy as np

from adjit.rules.numpy.complex_numbers import complex_of, parts
from adjit.rules.registry import builtin

tangent, adjoint = builtin.tangent, builtin.adjoint
decomposition, of_complex = builtin.decomposition, builtin.of_complex

HAS_ROCKET_FFT = importlib.util.find_spec("rocket_fft") is not None

# -------------------------------------------------------------------------------------------------------- the operation


@numba.njit
def transformed(real, imag):
    """The sums over j of z[..., j] exp(-2 pi i j k / n), in parts, of complex numbers with these parts."""
    z = np.empty(real.shape, np.complex128)
    z.real[...] = real
    z.imag[...] = imag
    found = np.fft.fft(z)
    return found.real.astype(real.dtype), found.imag.astype(real.dtype)


tangent(transformed)(lambda real, imag, real_dot, imag_dot, *, y: transformed(real_dot, imag_dot))


@adjoint(transformed)
def transformed_adjoint(real, imag, *, y, y_bar):
    imag_bar, real_bar = transformed(y_bar[1], y_bar[0])
    return real_bar, imag_bar


# ------------------------------------------------------------------------------------------------------ along some axes


def resized(a, n):
    """The first n elements along the last axis, zeros after the last one; all of them where n is None."""
    if n is None:
        return np.ascontiguousarray(a)
    if n < 1:
        raise ValueError("Invalid number of FFT data points specified.")
    shape = a.shape
    out = np.zeros(shape[: a.ndim - 1] + (n,), a.dtype)
    kept = min(n, shape[a.ndim - 1])
    out[..., :kept] = a[..., :kept]
    return out


def along(real, imag, n, axis, is_back):
    """The transform along an axis, or with +i in the exponent `is_back`, without a factor."""
    if not HAS_ROCKET_FFT:
        raise NotImplementedError("np.fft needs the package rocket-fft: pip install 'adjit[fft]'")
    u, v = resized(np.swapaxes(real, axis, -1), n), resized(np.swapaxes(imag, axis, -1), n)
    if is_back:
        v, u = transformed(v, u)
    else:
        u, v = transformed(u, v)
    return np.swapaxes(u, axis, -1), np.swapaxes(v, axis, -1)


def scaled(a, count, norm, is_back):
    """The transform of so many elements as `norm` has it."""
    if norm is None or norm == "backward":
        return a * (1.0 / count) if is_back else a
    if norm == "forward":
        return a if is_back else a * (1.0 / count)
    if norm == "ortho":
        return a * (1.0 / np.sqrt(count))
    raise NotImplementedError("a transform with a norm other than 'backward', 'ortho' and 'forward'")


def named_axes(a, s, axes):
    """The axes, which are the last ones, as many as sizes, where none are named."""
    if axes is None:
        return tuple(range(a.ndim)) if s is None else tuple(range(a.ndim))[a.ndim - len(s) :]
    return axes


def over_axes(a, s, axes, norm, is_back):
    """The transform along several axes."""
    (real, imag), axes, count = parts(a), named_axes(a, s, axes), 1
    for axis, n in zip(axes, (None,) * len(axes) if s is None else s, strict=True):
        real, imag = along(real, imag, n, axis, is_back)
        count *= real.shape[axis]
    return scaled(complex_of(real, imag), count, norm, is_back)


@decomposition(np.fft.fft)
def own_fft(a, n=None, axis=-1, norm=None):
    return over_axes(a, None if n is None else (n,), (axis,), norm, False)


@decomposition(np.fft.ifft)
def own_ifft(a, n=None, axis=-1, norm=None):
    return over_axes(a, None if n is None else (n,), (axis,), norm, True)


decomposition(np.fft.fft2)(lambda a, s=None, axes=(-2, -1), norm=None: over_axes(a, s, axes, norm, False))
decomposition(np.fft.ifft2)(lambda a, s=None, axes=(-2, -1), norm=None: over_axes(a, s, axes, norm, True))
decomposition(np.fft.fftn)(lambda a, s=None, axes=None, norm=None: over_axes(a, s, axes, norm, False))
decomposition(np.fft.ifftn)(lambda a, s=None, axes=None, norm=None: over_axes(a, s, axes, norm, True))
builtin.as_of_real(np.fft.fft, np.fft.ifft, np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn)

# ------------------------------------------------------------------------------------------------------ of real numbers


def half(a, axis):
    """The frequencies that are not negative."""
    turned = np.swapaxes(a, axis, -1)
    return np.swapaxes(turned[..., : turned.shape[a.ndim - 1] // 2 + 1], axis, -1)


def doubled(a, n, axis):
    """The half that `half` leaves of n frequencies, with zeros for the others, which it counts for."""
    turned = np.swapaxes(a, axis, -1)
    out = resized(resized(turned, n // 2 + 1), n)
    out[..., 1 : (n + 1) // 2] *= 2.0
    return np.swapaxes(out, axis, -1)


@decomposition(np.fft.rfft)
def own_rfft(a, n=None, axis=-1, norm=None):
    return half(np.fft.fft(a, n, axis, norm), axis)


@decomposition(np.fft.irfft)
def own_irfft(a, n=None, axis=-1, norm=None):
    real, imag = parts(a)
    count = 2 * (a.shape[axis] - 1) if n is None else n
    found, _ = along(doubled(real, count, axis), doubled(imag, count, axis), None, axis, True)
    return scaled(found, count, norm, True)


def swapped(norm):
    """The norm of the transform in the other direction."""
    return "backward" if norm == "forward" else "forward" if norm is None or norm == "backward" else norm


@decomposition(np.fft.hfft)
def own_hfft(a, n=None, axis=-1, norm=None):
    return np.fft.irfft(np.conj(a), n, axis, swapped(norm))


@decomposition(np.fft.ihfft)
def own_ihfft(a, n=None, axis=-1, norm=None):
    return np.conj(np.fft.rfft(a, n, axis, swapped(norm)))


def real_over_axes(a, s, axes, norm):
    """The transform of real numbers along several axes, of which the last one keeps half."""
    axes = named_axes(a, s, axes)
    return half(over_axes(a, s, axes, norm, False), axes[len(axes) - 1])


def back_to_real(a, s, axes, norm):
    """The real numbers of which that is the transform."""
    axes = named_axes(a, s, axes)
    last = len(axes) - 1
    inner = a if last == 0 else over_axes(a, None if s is None else s[:last], axes[:last], norm, True)
    return np.fft.irfft(inner, None if s is None else s[last], axes[last], norm)


decomposition(np.fft.rfft2)(lambda a, s=None, axes=(-2, -1), norm=None: real_over_axes(a, s, axes, norm))
decomposition(np.fft.irfft2)(lambda a, s=None, axes=(-2, -1), norm=None: back_to_real(a, s, axes, norm))
decomposition(np.fft.rfftn)(lambda a, s=None, axes=None, norm=None: real_over_axes(a, s, axes, norm))
decomposition(np.fft.irfftn)(lambda a, s=None, axes=None, norm=None: back_to_real(a, s, axes, norm))
builtin.as_of_real(np.fft.irfft, np.fft.hfft, np.fft.irfft2, np.fft.irfftn)


@of_complex(np.fft.rfft, np.fft.ihfft, np.fft.rfft2, np.fft.rfftn)
def of_complex_numbers(a, *others):
    raise NotImplementedError("a transform for real numbers of complex numbers: use np.fft.fft or np.fft.fftn")


# ---------------------------------------------------------------------------------------------------------- frequencies


@decomposition(np.fft.fftfreq)
def own_fftfreq(n, d=1.0):
    k = np.arange(n)
    return np.where(k < (n + 1) // 2, k, k - n) * (1.0 / (n * d))


decomposition(np.fft.rfftfreq)(lambda n, d=1.0: np.arange(n // 2 + 1) * (1.0 / (n * d)))


def rolled(a, axis, is_back):
    """The first half of an axis after the second one, or the other way round."""
    turned = np.swapaxes(a, axis, -1)
    n = turned.shape[a.ndim - 1]
    count = n - n // 2 if is_back else n // 2
    out = np.empty(turned.shape, a.dtype)
    out[..., :count] = turned[..., n - count :]
    out[..., count:] = turned[..., : n - count]
    return np.swapaxes(out, axis, -1)


def shifted(x, axes, is_back):
    if axes is None:
        axes = tuple(range(x.ndim))
    if np.ndim(axes) == 0:
        return rolled(x, axes, is_back)
    if len(axes) == 0:
        return x.copy()
    for axis in axes:
        x = rolled(x, axis, is_back)
    return x


decomposition(np.fft.fftshift)(lambda x, axes=None: shifted(x, axes, False))
decomposition(np.fft.ifftshift)(lambda x, axes=None: shifted(x, axes, True))
builtin.as_of_real(np.fft.fftshift, np.fft.ifftshift)
