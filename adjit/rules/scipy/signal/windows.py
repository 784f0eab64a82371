"""Windows of scipy.signal, of a length that may be known at run time only, and of parameters with derivatives.

In: the arguments of the SciPy function; the name of a window is known while compiling. Out: a vector.

    w = gaussian(M, std)      n = np.arange(M) - (M - 1) / 2;  w = np.exp(-0.5 * (n / std) ** 2)

A periodic window (`sym=False`) is a symmetric one with a point more, of which the last is left out.
"""

import numpy as np
import scipy.signal as ss
from scipy.signal import windows

from adjit.rules.registry import builtin

decomposition = builtin.decomposition


def intervals(M, sym):
    """How many lie between the first and the last point of the symmetric window."""
    return M - 1 if sym else M


def from_middle(M, sym):
    return np.arange(M) - 0.5 * intervals(M, sym)


def from_end(M, sym):
    """How far each point is from the nearer end."""
    return 0.5 * intervals(M, sym) - np.abs(from_middle(M, sym))


# ----------------------------------------------------------------------------------------------------- sums of cosines


def of_cosines(M, a, sym):
    if M <= 1:
        return np.ones(M)
    angles = 2.0 * np.pi / intervals(M, sym) * from_middle(M, sym)
    return sum(weight * np.cos(k * angles) for k, weight in enumerate(a))


@decomposition(windows.general_cosine)
def general_cosine(M, a, sym=True):
    return of_cosines(M, a, sym)


@decomposition(windows.general_hamming)
def general_hamming(M, alpha, sym=True):
    return of_cosines(M, (alpha, 1.0 - alpha), sym)


@decomposition(windows.hann)
def hann(M, sym=True):
    return of_cosines(M, (0.5, 0.5), sym)


@decomposition(windows.hamming)
def hamming(M, sym=True):
    return of_cosines(M, (0.54, 0.46), sym)


@decomposition(windows.blackman)
def blackman(M, sym=True):
    return of_cosines(M, (0.42, 0.50, 0.08), sym)


@decomposition(windows.nuttall)
def nuttall(M, sym=True):
    return of_cosines(M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym)


@decomposition(windows.blackmanharris)
def blackmanharris(M, sym=True):
    return of_cosines(M, (0.35875, 0.48829, 0.14128, 0.01168), sym)


@decomposition(windows.flattop)
def flattop(M, sym=True):
    return of_cosines(M, (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368), sym)


# ------------------------------------------------------------------------------------------------------ of other shapes


@decomposition(windows.boxcar)
def boxcar(M, sym=True):
    return np.ones(M)


@decomposition(windows.triang)
def triang(M, sym=True):
    points = intervals(M, sym) + 1
    if M <= 1:
        return np.ones(M)
    # between the points and one more: the ends are not zero
    return 1.0 - np.abs(from_middle(M, sym)) / (0.5 * (points + points % 2))


@decomposition(windows.bartlett)
def bartlett(M, sym=True):
    if M <= 1:
        return np.ones(M)
    return 2.0 / intervals(M, sym) * from_end(M, sym)


@decomposition(windows.cosine)
def cosine(M, sym=True):
    if M <= 1:
        return np.ones(M)
    return np.cos(np.pi / (intervals(M, sym) + 1) * from_middle(M, sym))


@decomposition(windows.parzen)
def parzen(M, sym=True):
    if M <= 1:
        return np.ones(M)
    far = np.abs(from_middle(M, sym))
    share = far / (0.5 * (intervals(M, sym) + 1))
    return np.where(far <= 0.25 * intervals(M, sym), 1.0 - 6.0 * share**2 * (1.0 - share), 2.0 * (1.0 - share) ** 3)


@decomposition(windows.tukey)
def tukey(M, alpha=0.5, sym=True):
    if M <= 1 or alpha <= 0:
        return np.ones(M)
    ends, length = from_end(M, sym), min(alpha, 1.0) * intervals(M, sym)
    return np.where(ends <= np.floor(0.5 * length), 0.5 - 0.5 * np.cos(2.0 * np.pi * ends / length), 1.0)


@decomposition(windows.gaussian)
def gaussian(M, std, sym=True):
    if M <= 1:
        return np.ones(M)
    return np.exp(-0.5 * (from_middle(M, sym) / std) ** 2)


@decomposition(windows.exponential)
def exponential(M, center=None, tau=1.0, sym=True):
    if sym and center is not None:
        raise ValueError("If sym==True, center must be None.")
    if M <= 1:
        return np.ones(M)
    centre = 0.5 * intervals(M, sym) if center is None else center
    return np.exp(-np.abs(np.arange(M) - centre) / tau)


@decomposition(windows.kaiser)
def kaiser(M, beta, sym=True):
    if M <= 1:
        return np.ones(M)
    places = 2.0 / intervals(M, sym) * from_middle(M, sym)
    return np.i0(beta * np.sqrt(1.0 - places * places)) / np.i0(beta)


@decomposition(windows.chebwin)
def chebwin(M, at, sym=True):
    if M <= 1:
        return np.ones(M)
    order = intervals(M, sym)
    points = order + 1
    k = np.arange(points)
    # the Chebyshev polynomial of this order at these places is the window's transform
    x = np.cosh(np.arccosh(10.0 ** (abs(at) / 20.0)) / order) * np.cos(np.pi * k / points)
    is_outside = np.abs(x) > 1.0
    sign = np.where(x < 0.0, (-1.0) ** order, 1.0)
    outside = sign * np.cosh(order * np.arccosh(np.where(is_outside, np.abs(x), 2.0)))
    transform = np.where(is_outside, outside, np.cos(order * np.arccos(np.where(is_outside, 0.0, x))))
    found = np.real(np.fft.fft(transform * np.exp(1j * np.pi * order / points * k)))
    return found[:M] / np.max(found)


# -------------------------------------------------------------------------------------------------------------- by name

BY_NAME = {
    **dict.fromkeys(("barthann", "brthan", "bth"), windows.barthann),
    **dict.fromkeys(("bartlett", "bart", "brt"), windows.bartlett),
    **dict.fromkeys(("blackman", "black", "blk"), windows.blackman),
    **dict.fromkeys(("blackmanharris", "blackharr", "bkh"), windows.blackmanharris),
    **dict.fromkeys(("bohman", "bman", "bmn"), windows.bohman),
    **dict.fromkeys(("boxcar", "box", "ones", "rect", "rectangular"), windows.boxcar),
    **dict.fromkeys(("chebwin", "cheb"), windows.chebwin),
    **dict.fromkeys(("cosine", "halfcosine"), windows.cosine),
    "dpss": windows.dpss,
    **dict.fromkeys(("exponential", "poisson"), windows.exponential),
    **dict.fromkeys(("flattop", "flat", "flt"), windows.flattop),
    **dict.fromkeys(("gaussian", "gauss", "gss"), windows.gaussian),
    **dict.fromkeys(("general cosine", "general_cosine"), windows.general_cosine),
    **dict.fromkeys(("general gaussian", "general_gaussian"), windows.general_gaussian),
    **dict.fromkeys(("general hamming", "general_hamming"), windows.general_hamming),
    **dict.fromkeys(("hamming", "hamm", "ham"), windows.hamming),
    **dict.fromkeys(("hann", "han"), windows.hann),
    **dict.fromkeys(("kaiser", "ksr"), windows.kaiser),
    **dict.fromkeys(("lanczos", "sinc"), windows.lanczos),
    **dict.fromkeys(("nuttall", "nutl", "nut"), windows.nuttall),
    **dict.fromkeys(("parzen", "parz", "par"), windows.parzen),
    **dict.fromkeys(("taylor", "taylorwin"), windows.taylor),
    **dict.fromkeys(("triangle", "triang", "tri"), windows.triang),
    **dict.fromkeys(("tukey", "tuk"), windows.tukey),
}


@decomposition(ss.get_window)
def get_window(window, Nx, fftbins=True):
    if isinstance(window, tuple):
        name, *parameters = window
    elif isinstance(window, str):
        name, parameters = window, []
    else:
        name, parameters = "kaiser", [window]
    if name not in BY_NAME:
        raise NotImplementedError("scipy.signal.get_window of this name: call the window of scipy.signal.windows")
    return BY_NAME[name](Nx, *parameters, sym=not fftbins)
