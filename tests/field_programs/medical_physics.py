"""Tomography, resonance imaging and radiotherapy."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from tests.field_programs import program, rng


# ---------------------------------------------------------------- ct_objective
def siddon_free_projection(mu, angle, offsets, pixel=1.0, nsamples=24):
    """Line integrals through a bilinear interpolated image."""
    n = mu.shape[0]
    half = (n - 1) / 2
    s = np.linspace(-0.9 * half, 0.9 * half, nsamples)
    ds = s[1] - s[0]
    proj = []
    for o in offsets:
        x = o * np.cos(angle) - s * np.sin(angle) + half
        y = o * np.sin(angle) + s * np.cos(angle) + half
        i, j = np.floor(y).astype(int), np.floor(x).astype(int)
        a, b = y - i, x - j
        vals = (
            (1 - a) * (1 - b) * mu[i, j]
            + a * (1 - b) * mu[i + 1, j]
            + (1 - a) * b * mu[i, j + 1]
            + a * b * mu[i + 1, j + 1]
        )
        proj.append(vals.sum() * ds * pixel)
    return np.array(proj)


def _ct_args():
    y, x = np.mgrid[0:6, 0:6]
    mu = 0.02 + 0.1 * np.exp(-((x - 2.6) ** 2 + (y - 2.2) ** 2) / 3)
    return mu, np.array([0.13, 0.71, 1.37]), np.array([-1.1, -0.35, 0.4, 1.15]), np.full((3, 4), 8000.0)


@program("tomography: transmission Poisson likelihood with a quadratic smoothness penalty", _ct_args)
def ct_objective(mu, angles, offsets, counts, I0=1e4, lam=0.5):
    """Transmission Poisson likelihood with a quadratic smoothness penalty."""
    nll = 0.0
    for k, ang in enumerate(angles):
        expected = I0 * np.exp(-siddon_free_projection(mu, ang, offsets))
        nll += np.sum(expected - counts[k] * np.log(expected))
    rough = np.sum(np.diff(mu, axis=0) ** 2) + np.sum(np.diff(mu, axis=1) ** 2)
    return nll + lam * rough


# ---------------------------------------------------------------- radon
@program(
    "tomography: bilinear sampling along rays, np.floor indices, clip",
    lambda: (rng(21).uniform(size=(6, 6)), np.array([0.1, 0.7, 1.3])),
    wrt=(0, 1),
)
def radon(img, angles):
    ny, nx = img.shape
    tot = 0.0
    for th in angles:
        c, s = np.cos(th), np.sin(th)
        t = np.linspace(-2, 2, 5)
        T, U = np.meshgrid(t, t, indexing="ij")
        X = (nx - 1) / 2 + T * c - U * s
        Y = (ny - 1) / 2 + T * s + U * c
        x0 = np.clip(np.floor(X).astype(int), 0, nx - 2)
        y0 = np.clip(np.floor(Y).astype(int), 0, ny - 2)
        fx, fy = X - x0, Y - y0
        val = (
            img[y0, x0] * (1 - fx) * (1 - fy)
            + img[y0, x0 + 1] * fx * (1 - fy)
            + img[y0 + 1, x0] * (1 - fx) * fy
            + img[y0 + 1, x0 + 1] * fx * fy
        )
        proj = val.sum(axis=1)
        tot += np.sum(proj**2)
    return tot


# ---------------------------------------------------------------- despot1_cost
def spgr_signal(m0, t1, alpha, tr):
    e1 = np.exp(-tr / t1)
    return m0 * np.sin(alpha) * (1 - e1) / (1 - np.cos(alpha) * e1)


def _mri_args():
    flips = np.array([2.0, 5.0, 10.0, 15.0, 20.0])
    sig = 20 + 10 * np.cos(np.arange(15).reshape(3, 5))
    return np.array([900.0, 1000.0, 750.0]), np.array([800.0, 1200.0, 600.0]), 0.95, flips, sig


@program("MRI: variable flip angle T1 fit, Rician-free residual", _mri_args, wrt=(0, 1, 2))
def despot1_cost(m0, t1, b1, flip_deg, signal, tr=5.0):
    """Variable flip angle T1 fit, Rician-free residual."""
    alpha = np.radians(flip_deg) * b1
    model = spgr_signal(m0[:, None], t1[:, None], alpha[None, :], tr)
    return 0.5 * np.sum((model - signal) ** 2) / signal.size


# ---------------------------------------------------------------- weighted_fa
def dti_design(bvals, bvecs):
    x, y, z = bvecs.T
    return -bvals[:, None] * np.stack([x * x, y * y, z * z, 2 * x * y, 2 * x * z, 2 * y * z], axis=1)


def fa_of_tensor(d):
    D = np.array([[d[0], d[3], d[4]], [d[3], d[1], d[5]], [d[4], d[5], d[2]]])
    ev = np.linalg.eigvalsh(D)
    return np.sqrt(1.5 * np.sum((ev - ev.mean()) ** 2) / np.sum(ev**2))


def _dti_args():
    rng = np.random.default_rng(17)
    v = rng.normal(size=(12, 3))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    b = np.r_[0.0, np.full(11, 1.0)]
    D = np.array([[1.6, 0.2, 0.1], [0.2, 0.5, 0.05], [0.1, 0.05, 0.35]])
    s = np.exp(-b * np.einsum("ni,ij,nj->n", v, D, v)) * (1 + 0.01 * rng.normal(size=12))
    return s, b, v


@program("diffusion MRI: fractional anisotropy from a weighted log-linear tensor fit", _dti_args)
def weighted_fa(signal, bvals, bvecs):
    """Fractional anisotropy from a weighted log-linear tensor fit."""
    X = np.column_stack([dti_design(bvals, bvecs), np.ones(len(bvals))])
    w = signal**2
    XtW = X.T * w
    beta = np.linalg.solve(XtW @ X, XtW @ np.log(signal))
    return fa_of_tensor(beta[:6])


# ---------------------------------------------------------------- contrast_to_noise
@program(
    "radiology: fan-beam projections through ellipses, filtered, a contrast-to-noise ratio of two regions",
    lambda: (
        np.array([[0.013, 0.027, 0.71, 0.93, 1.0], [0.22, 0.11, 0.23, 0.31, -0.4], [-0.33, 0.02, 0.137, 0.119, 0.6]]),
    ),
)
def contrast_to_noise(ellipses):
    angles, offsets = np.linspace(0, np.pi, 12, endpoint=False), np.linspace(-1, 1, 21)
    sinogram = np.empty((angles.size, offsets.size))
    for i, theta in enumerate(angles):
        c, s = np.cos(theta), np.sin(theta)
        row = np.zeros_like(offsets)
        for x0, y0, a, b, mu in ellipses:
            width2 = (a * c) ** 2 + (b * s) ** 2
            t = offsets - (x0 * c + y0 * s)
            inside = np.maximum(width2 - t**2, 0.0)
            row += np.where(inside > 0, 2.0 * mu * a * b * np.sqrt(np.where(inside > 0, inside, 1.0)) / width2, 0.0)
        sinogram[i] = row
    taps = np.arange(-10, 11)
    ramp = np.zeros(taps.size)
    ramp[10] = 0.25
    odd = taps % 2 != 0
    ramp[odd] = -1.0 / (np.pi * taps[odd]) ** 2
    filtered = np.array([np.convolve(row, ramp, mode="same") for row in sinogram])

    def value_at(x, y):
        t = x * np.cos(angles) + y * np.sin(angles)
        return sum(np.interp(tk, offsets, row) for tk, row in zip(t, filtered)) * np.pi / angles.size

    lesion = np.array([value_at(0.2 + dx, 0.1) for dx in (-0.05, 0.0, 0.05)])
    background = np.array([value_at(x, -0.5) for x in (-0.2, 0.0, 0.2)])
    return (background.mean() - lesion.mean()) / (0.01 + background.std())


# ---------------------------------------------------------------- plan_quality
@dataclass
class Organ:
    mask: np.ndarray
    a: float
    limit: float

    def eud(self, dose):
        d = dose[self.mask]
        return np.mean(d**self.a) ** (1 / self.a)


@program(
    "gamma-ray dose kernels, DVH by soft thresholds, EUD; organs in a dataclass",
    lambda: (np.array([1.0, 0.8, 1.3, 0.6]), 0.5),
    wrt=(0, 1),
)
def plan_quality(weights, width):
    x = np.linspace(-3, 3, 25)
    X, Y = np.meshgrid(x, x)
    dose = np.zeros_like(X)
    for k, w in enumerate(weights):
        ang = k * np.pi / 4
        lateral = X * np.cos(ang) + Y * np.sin(ang)
        depth = -X * np.sin(ang) + Y * np.cos(ang) + 3
        dose += (
            w
            * 0.5
            * (special.erf((lateral + 0.8) / width) - special.erf((lateral - 0.8) / width))
            * np.exp(-0.2 * depth)
        )
    target = Organ(X**2 + Y**2 < 0.8, -8.0, 1.0)
    cord = Organ((X - 1.6) ** 2 + Y**2 < 0.3, 6.0, 0.4)
    penalty = np.square(np.maximum(cord.eud(dose) - cord.limit, 0)) + (target.eud(dose) - target.limit) ** 2
    d95 = np.quantile(dose[target.mask], 0.05)
    dvh = special.expit((dose[cord.mask] - 0.3) / 0.05).mean()
    return penalty + d95 + dvh


# ---------------------------------------------------------------- tumour_control
@program(
    "oncology: linear-quadratic survival with repopulation over fractions, a "
    "Poisson control probability over a dose volume",
    lambda: (np.array([0.3, 0.03, 0.05]), np.array([0.2, 0.5, 0.3]), np.array([1.8, 2.0, 2.2])),
    wrt=(0, 1, 2),
)
def tumour_control(radiobiology, volumes, doses):
    alpha, beta, repopulation = radiobiology
    days = [d for d in range(39) if d % 7 < 5]
    log_survival = np.zeros(len(doses))
    memory = 0.0
    previous = None
    for day in days:
        gap = 0 if previous is None else day - previous
        memory = 1.0 * np.exp(-0.7 * gap) * (memory + 1.0) if gap else memory
        incomplete = 2.0 * beta * memory * doses**2
        log_survival -= alpha * doses + beta * doses**2 + 0.01 * incomplete
        if day > 21:
            log_survival += repopulation * gap
        previous = day
    clonogens = 1e7 * volumes / volumes.sum()
    survivors = clonogens * np.exp(log_survival)
    control = np.exp(-np.sum(survivors))
    equivalent = np.sum(volumes * doses ** (1 / 0.7)) ** 0.7
    return control + 0.01 * special.ndtr((equivalent - 2.0) / 0.3)


# ---------------------------------------------------------------- speed_in_lesion
def siddon(source, target, edges):
    direction = target - source
    crossings = ((edges[None, :] - source[:, None]) / direction[:, None]).ravel()
    crossings = np.sort(crossings[(crossings > 0) & (crossings < 1)])
    alpha = np.concatenate([[0.0], crossings, [1.0]])
    middle = source + 0.5 * (alpha[1:] + alpha[:-1])[:, None] * direction
    cell = np.floor((middle - edges[0]) / (edges[1] - edges[0])).astype(int)
    ok = np.all((cell >= 0) & (cell < edges.size - 1), axis=1)
    return cell[ok], (np.diff(alpha) * np.linalg.norm(direction))[ok]


def ring_pairs(n, least=3):
    return [(i, j) for i, j in itertools.combinations(range(n), 2) if least <= j - i <= n - least]


def _delays_of_cyst():
    """Delays in microseconds against water: chords through a fast lump and a slow one."""
    i, j = np.array(ring_pairs(10)).T
    return -0.35 * np.exp(-(((i - 2.0) ** 2 + (j - 6.5) ** 2) / 6)) + 0.2 * np.exp(-((i - 4) ** 2 + (j - 8) ** 2) / 4)


def roughening(n):
    d = np.diff(np.eye(n), axis=0)
    return np.vstack([np.kron(d, np.eye(n)), np.kron(np.eye(n), d)])


@program(
    "tomography of ultrasound: the delays between transducers on a ring, Siddon's rays, a reweighted inversion",
    lambda: (_delays_of_cyst(), 52.3, 1.483, 0.9),
    wrt=(0, 1, 2, 3),
    near_kink=True,
)
def speed_in_lesion(delays, ring_radius, water_speed, damping, n_transducers=10, n_grid=8):
    bearing = 0.137 + 2 * np.pi * np.arange(n_transducers) / n_transducers
    ring = ring_radius * np.stack([np.cos(bearing), np.sin(bearing)], axis=-1)
    edges = np.linspace(-40.0, 40.0, n_grid + 1)
    pairs = ring_pairs(n_transducers)

    lengths = np.zeros((len(pairs), n_grid, n_grid))
    for row, (i, j) in zip(lengths, pairs, strict=True):
        cells, segments = siddon(ring[i], ring[j], edges)
        np.add.at(row, (cells[:, 0], cells[:, 1]), segments)
    a = lengths.reshape(len(pairs), -1)

    d = roughening(n_grid)
    weights = np.ones(len(d))
    slowness = np.zeros(a.shape[1])
    for _ in range(4):
        normal = a.T @ a + damping**2 * (d.T * weights) @ d + 1e-3 * np.eye(a.shape[1])
        try:
            factor = linalg.cho_factor(normal)
        except linalg.LinAlgError:
            normal[np.diag_indices_from(normal)] += 1.0
            factor = linalg.cho_factor(normal)
        slowness = linalg.cho_solve(factor, a.T @ delays)
        steps = 1e3 * (d @ slowness)
        weights = 100.0 / np.sqrt(steps**2 + 1.0)

    speed = 1 / (1 / water_speed + slowness.reshape(n_grid, n_grid))
    centre = 0.5 * (edges[1:] + edges[:-1])
    xx, yy = np.meshgrid(centre, centre, indexing="ij")
    lesion = np.hypot(xx + 12, yy - 6) < 17
    residual = delays - a @ slowness
    return 1e3 * (speed[lesion].mean() - speed[~lesion].mean()) + 5 * np.sqrt(np.mean(residual**2))


# ---------------------------------------------------------------- radon_energy
@program(
    "medical imaging: Radon + filtered back-projection with interp",
    lambda: (np.random.default_rng(10).uniform(size=(9, 9)),),
)
def radon_energy(img):
    n = img.shape[0]
    c = (n - 1) / 2
    angles = np.deg2rad(np.arange(0, 180, 45))
    sino = np.zeros((len(angles), n))
    ys, xs = np.indices(img.shape)
    for a, th in enumerate(angles):
        s = (xs - c) * math.cos(th) + (ys - c) * math.sin(th) + c
        lo = np.floor(s).astype(int)
        w = s - lo
        for off, wt in ((0, 1 - w), (1, w)):
            idx = lo + off
            valid = (idx >= 0) & (idx < n)
            np.add.at(sino[a], idx[valid], (img * wt)[valid])
    ramp = np.abs(np.fft.fftfreq(n))
    filt = np.real(np.fft.ifft(np.fft.fft(sino, axis=1) * ramp, axis=1))
    return np.sum(filt**2) + sino[1].max()
