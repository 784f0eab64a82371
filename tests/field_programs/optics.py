"""Optics, photonics and spectroscopy."""

import cmath
import functools
import itertools
import math
import operator

import numpy as np
from scipy import linalg, special
from scipy.signal import savgol_filter

from tests.field_programs import program


# ---------------------------------------------------------------- thin_film_merit
def layer_matrix(n, d, wavelength):
    delta = 2 * np.pi * n * d / wavelength
    return np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])


@program(
    "mean reflectance of a coating at normal incidence, transfer matrix method",
    lambda: (np.array([99.0, 62.0, 55.0]), np.array([1.38, 2.1, 1.7]), 1.52, np.linspace(450.0, 650.0, 9)),
    wrt=(0, 1, 2),
)
def thin_film_merit(thicknesses, indices, n_sub, wavelengths):
    """Mean reflectance of a coating at normal incidence, transfer matrix method."""
    total = 0.0
    for wl in wavelengths:
        M = np.eye(2, dtype=complex)
        for n, d in zip(indices, thicknesses):
            M = M @ layer_matrix(n, d, wl)
        B, C = M @ np.array([1.0, n_sub])
        r = (B - C) / (B + C)
        total += np.abs(r) ** 2
    return total / len(wavelengths)


# ---------------------------------------------------------------- reflectance
@program(
    "transfer matrix multilayer",
    lambda: (np.array([0.1, 0.06, 0.12, 0.08]), np.array([1.38, 2.3, 1.46, 2.1])),
    wrt=(0, 1),
)
def reflectance(thickness, index):
    total = 0.0
    for lam in (0.45, 0.55, 0.65):
        M = np.eye(2, dtype=complex)
        for n, d in zip(index, thickness):
            delta = 2 * np.pi * n * d / lam
            M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        n0, ns = 1.0, 1.52
        B = M @ np.array([1.0, ns])
        r = (n0 * B[0] - B[1]) / (n0 * B[0] + B[1])
        total += abs(r) ** 2
    return total / 3


# ---------------------------------------------------------------- thin_film
@program(
    "transfer matrix method with complex",
    lambda: (np.array([1.38, 2.3, 1.45]), np.array([0.1, 0.06, 0.12])),
    wrt=(0, 1),
)
def thin_film(n_layers, d):
    wl = np.linspace(0.4, 0.7, 16)
    n_all = [1.0, *n_layers, 1.52]
    R = np.empty(wl.size)
    for iw, w in enumerate(wl):
        M = np.eye(2, dtype=complex)
        for n, t in zip(n_all[1:-1], d):
            delta = 2 * np.pi * n * t / w
            layer = np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
            M = M @ layer
        B, C = M @ np.array([1.0, n_all[-1]])
        r = (n_all[0] * B - C) / (n_all[0] * B + C)
        R[iw] = abs(r) ** 2
    return R.mean() + R.max()


# ---------------------------------------------------------------- thin_film_matrix
@program("transfer matrix of thin film (complex)", lambda: (np.array([0.1, 0.2, 0.15]),))
def thin_film_matrix(d):
    ns = [1.0, 2.3 + 0.01j, 1.38, 2.3, 1.52]
    total = 0.0
    for lam in np.linspace(0.4, 0.7, 7):
        M = np.eye(2, dtype=complex)
        for n, t in zip(ns[1:-1], d):
            delta = 2 * np.pi * n * t / lam
            M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        n0, nsb = ns[0], ns[-1]
        B, C = M @ np.array([1, nsb])
        r = (n0 * B - C) / (n0 * B + C)
        total += abs(r) ** 2
    return total


# ---------------------------------------------------------------- coating
@program(
    "transfer matrix of multilayer with wavelength loop, matrices multiplied by operator.matmul",
    lambda: (np.array([100.0, 80.0, 120.0]), np.array([2.3, 1.38, 2.3])),
    wrt=(0, 1),
)
def coating(d, n):
    def layer(nk, dk, lam):
        phi = 2 * np.pi * nk * dk / lam
        return np.array([[np.cos(phi), 1j * np.sin(phi) / nk], [1j * nk * np.sin(phi), np.cos(phi)]])

    refl = []
    for lam in np.arange(450, 700, 50.0):
        M = functools.reduce(operator.matmul, (layer(nk, dk, lam) for nk, dk in zip(n, d)))
        B, C = M @ np.array([1.0, 1.52])
        r = (B - C) / (B + C)
        refl.append(abs(r) ** 2)
    return np.mean(refl)


# ---------------------------------------------------------------- beam
@program(
    "Gaussian beam through lenses, complex q parameter, elements as list of tuples",
    lambda: ([("space", 0.2), ("lens", 0.1), ("space", 0.15), ("lens", 0.05), ("space", 0.06)], 1e-3),
)
def beam(elements, waist):
    wavelength = 633e-9
    q = 1j * math.pi * waist**2 / wavelength
    for kind, value in elements:
        if kind == "space":
            q = q + value
        elif kind == "lens":
            q = q / (-q / value + 1)
        else:
            raise ValueError(kind)
    w = np.sqrt(-wavelength / (np.pi * (1 / q).imag))
    return w * 1e6 + 1e-3 * q.real


# ---------------------------------------------------------------- mean_reflectance
@program(
    "a stack of thin films by characteristic matrices, reflectance over a band",
    lambda: (np.array([99.0, 145.0, 99.0, 145.0]), np.array([2.35, 1.45, 2.3, 1.46]), 1.52),
    wrt=(0, 1, 2),
)
def mean_reflectance(thickness, index, substrate):
    total = 0.0
    wavelengths = np.linspace(450.0, 650.0, 9)
    for lam in wavelengths:
        M = np.eye(2, dtype=complex)
        for d, n in zip(thickness[::-1], index[::-1]):
            delta = 2.0 * np.pi * n * d / lam
            layer = np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
            M = layer @ M
        B, C = M @ np.array([1.0, substrate])
        r = (B - C) / (B + C)
        total += abs(r) ** 2
    return total / wavelengths.size


# ---------------------------------------------------------------- resonator
@program(
    "ABCD matrices with functools.reduce and operator.matmul", lambda: (np.array([0.1, 0.25, 0.5]), 0.2), wrt=(0, 1)
)
def resonator(d, f):
    free = lambda L: np.array([[1.0, L], [0.0, 1.0]])
    lens = lambda f: np.array([[1.0, 0.0], [-1 / f, 1.0]])
    M = functools.reduce(operator.matmul, itertools.chain.from_iterable((free(x), lens(f)) for x in d))
    A, B, C, D = M.ravel()
    q = 1j * 0.3
    q2 = (A * q + B) / (C * q + D)
    return (1 / q2).real ** 2 - (1 / q2).imag + np.trace(M) / 2


# ---------------------------------------------------------------- mirror
class Material:
    def __init__(self, index):
        self.index = index

    def n(self, lam):
        return self.index


class Sellmeier(Material):
    def __init__(self, *terms):
        self.terms = terms

    def n(self, lam):
        return np.sqrt(1 + sum(b * lam**2 / (lam**2 - c) for b, c in self.terms))


@program(
    "photonics: multilayer mirror, materials by Sellmeier coefficients or constants, lookup with fallback",
    lambda: (np.array([0.1, 0.15, 0.1, 0.15]), 2.3, 1.1),
    wrt=(0, 1, 2),
)
def mirror(d, high, b1):
    library = {"H": Material(high), "L": Sellmeier((b1, 0.01), (0.2, 0.05))}
    stack = "HLHL"
    reflect = []
    for lam in (0.5, 0.6, 0.7):
        M = np.eye(2, dtype=complex)
        for name, thickness in zip(stack, d):
            n = library.get(name, Material(1.0)).n(lam)
            delta = 2 * np.pi * n * thickness / lam
            M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]])
        B, C = M @ np.array([1.0, 1.5])
        reflect.append(abs((B - C) / (B + C)) ** 2)
    return sum(reflect) / len(reflect)


# ---------------------------------------------------------------- reflectance_of_stack
@program(
    "thin-film stack by characteristic matrices, reflectance over a band, s and p",
    lambda: (np.array([0.11, 0.07, 0.12]), np.array([1.38, 2.1, 1.46]), 0.4),
    wrt=(0, 1, 2),
)
def reflectance_of_stack(thickness, index, angle):
    n0, ns = 1.0, 1.52
    result = {}
    for pol in "sp":
        found = []
        for wavelength in np.linspace(0.45, 0.65, 5):
            cos0 = np.cos(angle)
            M = np.eye(2, dtype=complex)
            for d, n in zip(thickness, index):
                c = np.sqrt(1 - (n0 * np.sin(angle) / n) ** 2)
                delta = 2 * np.pi * n * d * c / wavelength
                eta = n * c if pol == "s" else n / c
                M = M @ np.array([[np.cos(delta), 1j * np.sin(delta) / eta], [1j * eta * np.sin(delta), np.cos(delta)]])
            cs = np.sqrt(1 - (n0 * np.sin(angle) / ns) ** 2)
            eta0, etas = (n0 * cos0, ns * cs) if pol == "s" else (n0 / cos0, ns / cs)
            B, C = M @ np.array([1, etas])
            r = (eta0 * B - C) / (eta0 * B + C)
            found.append(abs(r) ** 2)
        result[pol] = np.mean(found)
    return 0.5 * sum(result.values()) + 0.1 * (result["p"] - result["s"]) ** 2


# ---------------------------------------------------------------- band_reflectance
@program(
    "thin films: reflectance of a stack of layers over a band, by characteristic matrices",
    lambda: (np.array([98.0, 120.0, 95.0, 70.0]), 1.38, 2.1),
    wrt=(0, 1, 2),
)
def band_reflectance(thickness, low, high, theta=0.3):
    total = 0.0
    band = np.linspace(450.0, 700.0, 11)
    for wavelength in band:
        for polarisation in "sp":
            M = np.eye(2, dtype=complex)
            for k, d in enumerate(thickness):
                n = (high if k % 2 else low) + 0.002j
                c = cmath.sqrt(1 - (math.sin(theta) / n) ** 2)
                eta = n * c if polarisation == "s" else n / c
                delta = 2 * math.pi * n * d * c / wavelength
                M = M @ np.array(
                    [[cmath.cos(delta), 1j * cmath.sin(delta) / eta], [1j * eta * cmath.sin(delta), cmath.cos(delta)]]
                )
            c0, cs = math.cos(theta), cmath.sqrt(1 - (math.sin(theta) / 1.52) ** 2)
            e0, es = (c0, 1.52 * cs) if polarisation == "s" else (1 / c0, 1.52 / cs)
            B, C = M @ np.array([1.0, es])
            r = (e0 * B - C) / (e0 * B + C)
            total += abs(r) ** 2 / (2 * band.size)
    return 100.0 * total


# ---------------------------------------------------------------- phase_retrieval_loss
def pupil_phase(zern, x, y):
    """Low order Zernike polynomials: tilt, defocus, astigmatism, coma."""
    r2 = x**2 + y**2
    modes = [
        2 * x,
        2 * y,
        math.sqrt(3) * (2 * r2 - 1),
        math.sqrt(6) * 2 * x * y,
        math.sqrt(6) * (x**2 - y**2),
        math.sqrt(8) * (3 * r2 - 2) * x,
    ]
    return sum(c * z for c, z in zip(zern, modes))


def _pr_args():
    y, x = np.mgrid[0:8, 0:8]
    m = np.exp(-((x - 4.2) ** 2 + (y - 3.7) ** 2) / 2.5)
    return np.array([0.1, -0.2, 0.4, 0.15, -0.1, 0.2]), m / m.sum()


@program("adaptive optics: phase retrieval", _pr_args, wrt=(0, 1))
def phase_retrieval_loss(zern, measured, n=8):
    g = (np.arange(n) - (n - 1) / 2) / (n / 2)
    x, y = np.meshgrid(g, g)
    aperture = (x**2 + y**2 <= 1.0).astype(float)
    field = aperture * np.exp(1j * pupil_phase(zern, x, y))
    psf = np.abs(np.fft.fftshift(np.fft.fft2(field))) ** 2
    psf /= psf.sum()
    return np.sum((np.sqrt(psf) - np.sqrt(measured)) ** 2)


# ---------------------------------------------------------------- strehl
def zernike_radial(n, m, r):
    m = abs(m)
    return sum(
        (-1) ** k
        * math.factorial(n - k)
        / (math.factorial(k) * math.factorial((n + m) // 2 - k) * math.factorial((n - m) // 2 - k))
        * r ** (n - 2 * k)
        for k in range((n - m) // 2 + 1)
    )


@program(
    "optics/imaging: Zernike polynomials with factorials and PSF by fft2", lambda: (np.array([0.1, -0.2, 0.15, 0.05]),)
)
def strehl(coef, N=16):
    y, x = np.mgrid[-1 : 1 : N * 1j, -1 : 1 : N * 1j]
    r, th = np.hypot(x, y), np.arctan2(y, x)
    pupil = (r <= 1).astype(float)
    modes = [(2, 0), (2, 2), (2, -2), (3, 1)]
    phase = np.zeros_like(r)
    for c, (n, m) in zip(coef, modes):
        ang = np.cos(m * th) if m >= 0 else np.sin(-m * th)
        phase += c * zernike_radial(n, m, r) * ang
    field = pupil * np.exp(2j * np.pi * phase)
    psf = np.abs(np.fft.fftshift(np.fft.fft2(field, s=(32, 32)))) ** 2
    ref = pupil.sum() ** 2
    return psf.max() / ref + (psf**2).sum() / psf.sum() ** 2


# ---------------------------------------------------------------- doublet_spot_radius_um
SELLMEIER = {
    "N-BK7": ((1.03961212, 0.00600069867), (0.231792344, 0.0200179144), (1.01046945, 103.560653)),
    "SF5": ((1.52481889, 0.011254756), (0.187085527, 0.0588995392), (1.42729015, 129.141675)),
    "air": (),
}


@program(
    "lens design: cemented doublet, paraxial matrices then skew rays in three colours, the RMS spot at the best focus",
    lambda: (np.array([1 / 61.0, -1 / 44.5, -1 / 129.0]), np.array([6.0, 2.5]), 1.5, 10.5),
    wrt=(0, 1, 2, 3),
)
def doublet_spot_radius_um(curvatures, thickness, field_deg, semi_aperture):
    media = ["air", "N-BK7", "SF5", "air"]

    def index(glass, um):
        return math.sqrt(1 + sum(b * um**2 / (um**2 - c) for b, c in SELLMEIER[glass]))

    def matmul(p, q):
        return [[sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*q, strict=True)] for row in p]

    def radical_inverse(i, bits=6):
        out = 0
        for _ in range(bits):
            out, i = out << 1 | i & 1, i >> 1
        return out / (1 << bits)

    system = [[1.0, 0.0], [0.0, 1.0]]
    for s, c in enumerate(curvatures):
        n1, n2 = index(media[s], 0.5876), index(media[s + 1], 0.5876)
        system = matmul([[1.0, 0.0], [-c * (n2 - n1) / n2, n1 / n2]], system)
        if s < len(thickness):
            system = matmul([[1.0, thickness[s]], [0.0, 1.0]], system)
    bfd = -system[0][0] / system[1][0]

    def trace(px, py, um):
        th = math.radians(field_deg)
        pos, d = [px, py, 0.0], [0.0, math.sin(th), math.cos(th)]
        for s, c in enumerate(curvatures):
            n1, n2 = index(media[s], um), index(media[s + 1], um)
            along = d[2] - c * sum(p * q for p, q in zip(pos, d, strict=True))
            gap = c * sum(p * p for p in pos) - 2 * pos[2]
            disc = along**2 - c * gap
            if disc < 0:
                return None
            run = gap / (along + math.sqrt(disc))
            pos = [p + run * q for p, q in zip(pos, d, strict=True)]
            normal = [-c * pos[0], -c * pos[1], 1 - c * pos[2]]
            cos_i = sum(p * q for p, q in zip(normal, d, strict=True))
            eta = n1 / n2
            cos_t2 = 1 - eta**2 * (1 - cos_i**2)
            if cos_t2 <= 0:
                return None
            gamma = math.sqrt(cos_t2) - eta * cos_i
            d = [eta * q + gamma * m for q, m in zip(d, normal, strict=True)]
            pos[2] -= thickness[s] if s < len(thickness) else bfd
        run = -pos[2] / d[2]
        return pos[0] + run * d[0], pos[1] + run * d[1], d[0] / d[2], d[1] / d[2]

    hits = []
    for um, weight in ((0.4861, 1.0), (0.5876, 2.0), (0.6563, 1.0)):
        for i in range(1, 25):
            r, phi = semi_aperture * math.sqrt(radical_inverse(i)), i * math.pi * (3 - math.sqrt(5))
            ray = trace(r * math.cos(phi), r * math.sin(phi), um)
            if ray is not None:
                hits.append((weight, *ray))
    w, x, y, u, v = np.array(hits).T
    w /= w.sum()
    x, y, u, v = (q - w @ q for q in (x, y, u, v))
    defocus = -(w @ (x * u + y * v)) / (w @ (u * u + v * v))
    return 1e3 * math.sqrt(w @ ((x + defocus * u) ** 2 + (y + defocus * v) ** 2))


# ---------------------------------------------------------------- xps_fit
def pseudo_voigt(x, x0, area, fwhm, eta):
    s = fwhm / (2 * np.sqrt(2 * np.log(2)))
    g = np.exp(-0.5 * ((x - x0) / s) ** 2) / (s * np.sqrt(2 * np.pi))
    lo = (fwhm / 2) / np.pi / ((x - x0) ** 2 + (fwhm / 2) ** 2)
    return area * (eta * lo + (1 - eta) * g)


def _xps_args():
    x = np.linspace(-3, 5, 25)  # relative to the C 1s reference at 285 eV
    y = 5 * np.exp(-((x + 0.2) ** 2)) + 2 * np.exp(-((x - 1.5) ** 2) / 1.5) + 0.4 + 0.05 * np.sin(9 * x)
    return np.array([-0.3, 8.0, 1.5, 0.3, 1.4, 4.0, 1.8, 0.2, 0.4, 0.01]), x, y


@program(
    "spectroscopy: sum of pseudo-Voigts over a linear background; p is a flat vector as passed by the optimiser",
    _xps_args,
    wrt=(0, 2),
)
def xps_fit(p, x, y):
    """Sum of pseudo-Voigts over a linear background; p is a flat vector as passed by the optimiser."""
    n_peaks = (len(p) - 2) // 4
    model = p[-2] + p[-1] * (x - x.mean())
    for k in range(n_peaks):
        model = model + pseudo_voigt(x, *p[4 * k : 4 * k + 4])
    resid = savgol_filter(y, 5, 2) - model
    return np.sum(resid**2)


# ---------------------------------------------------------------- voigt_fit
@program(
    "spectroscopy: sum of Voigt peaks, unpacking a flat vector of parameters in groups",
    lambda: (np.array([1.0, -1.0, 0.3, 0.2, 0.6, 1.2, 0.5, 0.1, 0.05]), np.linspace(-3, 3, 61)),
)
def voigt_fit(p, x):
    *peaks, offset = [p[i : i + 4] for i in range(0, 8, 4)] + [p[8]]
    model = np.full(x.shape, offset)
    for amp, mu, sigma, gamma in peaks:
        model = model + amp * special.voigt_profile(x - mu, sigma, gamma)
    target = np.exp(-((x + 0.9) ** 2) / 0.2) + 0.6 / (1 + (x - 1.1) ** 2 / 0.1)
    return np.sum((model - target) ** 2)


# ---------------------------------------------------------------- cpmg
@program("NMR: CPMG with matrix exponentials, complex", lambda: (np.array([50.0, 300.0, 0.05]),))
def cpmg(p):
    kex, dw, pb = p
    pa = 1 - pb
    R2 = 10.0
    out = []
    for ncyc in (1, 2, 4, 8):
        tcp = 0.02 / ncyc / 4
        L = np.array([[-R2 - kex * pb, kex * pa], [kex * pb, -R2 - kex * pa + 1j * dw]])
        A = linalg.expm(L * tcp)
        B = linalg.expm(L.conj() * tcp)
        one = A @ B @ B @ A
        M = np.linalg.matrix_power(one, ncyc) @ np.array([pa, pb])
        out.append(-np.log(np.abs(M[0]) / pa) / 0.02)
    return np.sum((np.array(out) - 15.0) ** 2)


# ---------------------------------------------------------------- bloch_signal
@program("NMR Bloch with expm", lambda: (np.array([1.2, 0.3]), np.array([0.5, 0.2, 0.9])), wrt=(0, 1))
def bloch_signal(T, w):
    T1, T2 = T
    total = 0.0
    for off in w:
        B = np.array([[-1 / T2, off, 0.0], [-off, -1 / T2, 1.0], [0.0, -1.0, -1 / T1]])
        m = linalg.expm(B * 0.5) @ np.array([0.0, 0.0, 1.0])
        total += m[0] ** 2 + m[1] ** 2 + 0.1 * m[-1]
    return total


# ---------------------------------------------------------------- echo_train
@program(
    "nuclear magnetic resonance: spin echoes of an inhomogeneous line by "
    "rotations of Bloch vectors, and a fit's misfit",
    lambda: (np.array([0.08, 0.9]), 1.5, np.array([60.0, 170.0])),
    wrt=(0, 1, 2),
)
def echo_train(relaxation, width, flips):
    t2, t1 = relaxation
    offsets = np.linspace(-3.0, 3.0, 31) * width
    weights = np.exp(-0.5 * (offsets / width) ** 2)
    weights /= weights.sum()
    M = np.zeros((3, offsets.size))
    M[2] = 1.0

    def rx(M, degrees):
        a = np.deg2rad(degrees)
        R = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(a), np.sin(a)], [0.0, -np.sin(a), np.cos(a)]])
        return R @ M

    def ry(M, degrees):
        a = np.deg2rad(degrees)
        R = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
        return R @ M

    def free(M, t):
        phase = np.exp(-1j * offsets * t) * np.exp(-t / t2)
        xy = (M[0] + 1j * M[1]) * phase
        return np.stack([xy.real, xy.imag, 1.0 + (M[2] - 1.0) * np.exp(-t / t1)])

    tau = 0.01
    M = rx(M, flips[0])
    echoes = []
    for k in range(8):
        M = free(M, tau)
        M = ry(M, flips[1])
        M = free(M, tau)
        echoes.append(np.abs(np.sum(weights * (M[0] + 1j * M[1]))))
    echoes = np.array(echoes)
    data = 0.8 * np.exp(-2 * tau * np.arange(1, 9) / 0.075)
    return np.sum((echoes - data) ** 2) + 0.1 * np.log(echoes / echoes[0]) @ np.arange(8)
