"""Acoustics, audio and music."""

import collections
import itertools
import math
import operator
from collections import deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import reduce

import numpy as np
import scipy.signal as ss
from numpy import linalg as LA
from numpy.fft import rfft
from scipy import signal
from scipy.signal import lfilter

from tests.field_programs import program, rng


# ---------------------------------------------------------------- image_sources
@program(
    "image source with itertools.product and distance dictionary",
    lambda: (np.array([4.0, 3.0, 2.5]), 0.8, np.array([1.0, 1.2, 1.1])),
    wrt=(0, 1, 2),
)
def image_sources(room, beta, src):
    mic = np.array([2.5, 1.5, 1.3])
    energy = 0.0
    for idx in itertools.product((-1, 0, 1), repeat=3):
        idx = np.asarray(idx)
        img = (
            np.where(idx % 2 == 0, src, -src) + 2 * room * (idx + 1) // 2 * 0 + np.abs(idx) * room * np.sign(idx + 0.5)
        )
        d = LA.norm(img - mic)
        energy += beta ** np.abs(idx).sum() / (4 * np.pi * d**2)
    return 10 * np.log10(energy)


# ---------------------------------------------------------------- pluck
@program("music acoustics: Karplus-Strong with a deque buffer", lambda: (rng(51).uniform(-1, 1, 20), 0.49), wrt=(0, 1))
def pluck(noise, decay):
    buf = deque(noise)
    out = []
    for _ in range(60):
        first = buf.popleft()
        buf.append(decay * (first + buf[0]))
        out.append(first)
    y = np.array(out)
    return np.sum(y[20:] ** 2)


# ---------------------------------------------------------------- karplus
@program(
    "Karplus-Strong string with a fractional delay, ring buffer by deque",
    lambda: (np.array([0.3, -0.5, 0.8, 0.1, -0.9, 0.4]), 0.98, 0.3),
    wrt=(0, 1, 2),
)
def karplus(burst, damping, frac):
    buf = collections.deque(burst)
    out = []
    prev = 0.0
    for n in range(24):
        x = buf.popleft()
        y = damping * ((1 - frac) * x + frac * prev)
        prev = x
        buf.append(y)
        out.append(y)
    spectrum = np.abs(np.fft.rfft(np.array(out) * np.hanning(len(out)))) ** 2
    return np.sum(spectrum * np.arange(spectrum.size)) / spectrum.sum()


# ---------------------------------------------------------------- room
@program(
    "image source room impulse with fractional delay, fft convolution",
    lambda: (np.array([4.0, 3.0, 2.5]), np.array([1.0, 1.5, 1.2]), 0.7),
    wrt=(0, 1, 2),
)
def room(dim, src, beta):
    mic = np.array([2.5, 1.1, 1.4])
    fs, c, n = 2000, 343.0, 64
    h = np.zeros(n)
    k = np.arange(n)
    for nx, ny, nz in itertools.product((-1, 0, 1), repeat=3):
        for px, py, pz in itertools.product((0, 1), repeat=3):
            img = np.array([(1 - 2 * p) * s + 2 * m * d for p, s, m, d in zip((px, py, pz), src, (nx, ny, nz), dim)])
            dist = np.sqrt(np.sum((img - mic) ** 2))
            refl = abs(2 * nx - px) + abs(2 * ny - py) + abs(2 * nz - pz)
            h += beta**refl / (4 * np.pi * dist) * np.sinc(k - dist / c * fs)
    H = np.fft.rfft(h, n=128)
    edc = np.cumsum(h[::-1] ** 2)[::-1]
    return 10 * np.log10(np.abs(H[5:20])).sum() + 10 * np.log10(edc[20] / edc[0])


# ---------------------------------------------------------------- muffler
class Duct:
    def __init__(self, length, area):
        self.length, self.area = length, area

    def matrix(self, k):
        z = 1 / self.area
        c, s = np.cos(k * self.length), np.sin(k * self.length)
        return np.array([[c, 1j * z * s], [1j / z * s, c]])


class Helmholtz:
    def __init__(self, volume, neck):
        self.volume, self.neck = volume, neck

    def matrix(self, k):
        z = 1j * (k * 0.1 / self.neck - 1 / (k * self.volume)) + 0.05
        return np.array([[1, 0], [1 / z, 1]])


@program(
    "duct network by transfer matrices, elements in a list of different classes",
    lambda: (np.array([0.5, 0.8]), np.array([1.0, 2.0]), 0.02),
    wrt=(0, 1, 2),
)
def muffler(lengths, areas, volume):
    elements = [Duct(lengths[0], areas[0]), Helmholtz(volume, 0.01), Duct(lengths[1], areas[1])]
    tl = []
    for f in np.linspace(50, 300, 6):
        k = 2 * np.pi * f / 343.0
        T = np.eye(2, dtype=complex)
        for i in range(len(elements)):
            T = T @ elements[i].matrix(k)
        total = T[0, 0] + T[0, 1] + T[1, 0] + T[1, 1]
        tl.append(20 * np.log10(np.abs(total) / 2))
    return np.mean(tl) + max(tl)


# ---------------------------------------------------------------- decay_of_a_room
class Material(Enum):
    PLASTER = (0.02, 0.03, 0.04)
    CARPET = (0.08, 0.24, 0.57)
    GLASS = (0.35, 0.25, 0.18)


@program(
    "reverberation of a room by its surfaces, a filter bank and the decay of a response",
    lambda: (np.array([7.0, 5.0, 3.0]), 1.2, np.array([0.9, 0.5, 0.2])),
    wrt=(0, 1, 2),
)
def decay_of_a_room(size, scale, weights):
    lx, ly, lz = size
    surfaces = [
        (Material.PLASTER, 2 * (lx * lz + ly * lz) - 4.0),
        (Material.CARPET, lx * ly),
        (Material.PLASTER, lx * ly),
        (Material.GLASS, 4.0),
    ]
    bands = list(zip(*(material.value for material, _ in surfaces)))
    volume, total = lx * ly * lz, sum(area for _, area in surfaces)
    times = []
    for coefficients in bands:
        mean = sum(scale * alpha * area for alpha, (_, area) in zip(coefficients, surfaces)) / total
        times.append(0.161 * volume / (-total * math.log(1 - mean)))
    t = np.arange(0, 0.2, 0.004)
    response = sum(w * np.exp(-6.91 * t / T) for w, T in zip(weights, times))
    energy = np.cumsum(response[::-1] ** 2)[::-1]
    level = 10 * np.log10(energy / energy[0])
    inside = (level < -0.5) & (level > -6)
    slope, offset = np.polyfit(t[inside], level[inside], 1)
    return -60 / slope + 0.01 * offset


# ---------------------------------------------------------------- eq_energy
@program("audio: biquad filter cascade", lambda: (np.array([1000.0, 0.7, 3.0]), rng(21).normal(size=64)), wrt=(0, 1))
def eq_energy(p, x):
    f0, Q, gain = p
    A = 10 ** (gain / 40)
    w0 = 2 * np.pi * f0 / 44100
    al = np.sin(w0) / (2 * Q)
    b = np.array([1 + al * A, -2 * np.cos(w0), 1 - al * A])
    a = np.array([1 + al / A, -2 * np.cos(w0), 1 - al / A])
    b, a = b / a[0], a / a[0]
    y = np.empty_like(x)
    z1 = z2 = 0.0
    for n, s in enumerate(x):
        o = b[0] * s + z1
        z1 = b[1] * s - a[1] * o + z2
        z2 = b[2] * s - a[2] * o
        y[n] = o
    spec = np.abs(np.fft.rfft(y * np.hanning(len(y))))
    return np.log10(np.sum(spec**2)) + np.percentile(y, 75)


# ---------------------------------------------------------------- biquad_chain
@program(
    "signal: biquad IIR chain, lists of coeffs, zip star",
    lambda: (np.array([0.2, 0.35]), np.array([0.9, 1.4]), np.random.default_rng(8).normal(size=40)),
    wrt=(0, 1, 2),
)
def biquad_chain(w0, Q, x):
    def lowpass(w, q):
        alpha = math.sin(w) / (2 * q)
        c = math.cos(w)
        b = [(1 - c) / 2, 1 - c, (1 - c) / 2]
        a = [1 + alpha, -2 * c, 1 - alpha]
        return [v / a[0] for v in b], [v / a[0] for v in a]

    y = x
    for b, a in itertools.starmap(lowpass, zip(w0, Q)):
        z1 = z2 = 0.0
        out = []
        for s in y:
            o = b[0] * s + z1
            z1 = b[1] * s - a[1] * o + z2
            z2 = b[2] * s - a[2] * o
            out.append(o)
        y = np.array(out)
    yf = ss.lfilter([0.2, 0.3], [1.0, -0.4], y)
    return 10 * np.log10(np.mean(y**2)) + yf[-1]


# ---------------------------------------------------------------- cascade
@program(
    "audio: biquad cascade with sosfilt-like loops, dB and windows",
    lambda: (np.array([[1.0, 0.5, 0.2, 0.3, 0.1], [0.9, -0.3, 0.1, -0.2, 0.05]]), np.sin(np.arange(64) * 0.4)),
    wrt=(0, 1),
)
def cascade(sos, x):
    y = x
    for b0, b1, b2, a1, a2 in sos:
        z1 = z2 = 0.0
        out = np.empty_like(y)
        for n, xn in enumerate(y):
            out[n] = b0 * xn + z1
            z1 = b1 * xn - a1 * out[n] + z2
            z2 = b2 * xn - a2 * out[n]
        y = out
    spec = np.abs(np.fft.rfft(y * np.hanning(len(y)))) ** 2
    return 10 * np.log10(spec[3:20] + 1e-9).mean()


# ---------------------------------------------------------------- effects
class Biquad:
    def __init__(self, b, a):
        self.b, self.a = b, a
        self.z = [0.0, 0.0]

    def process(self, x):
        y = self.b[0] * x + self.z[0]
        self.z[0] = self.b[1] * x - self.a[1] * y + self.z[1]
        self.z[1] = self.b[2] * x - self.a[2] * y
        return y


class Compressor:
    def __init__(self, threshold, ratio):
        self.threshold, self.ratio = threshold, ratio
        self.level = 0.0

    def process(self, x):
        self.level = 0.9 * self.level + 0.1 * abs(x)
        over = max(self.level - self.threshold, 0.0)
        return x / (1 + over * (self.ratio - 1))


@program(
    "audio: biquad filter chain and compressor with state objects, deque delay",
    lambda: (0.25, 4.0, rng(3).normal(size=24)),
    wrt=(0, 1, 2),
)
def effects(cutoff, ratio, samples):
    w = math.tan(math.pi * cutoff / 2)
    n = 1 / (1 + math.sqrt(2) * w + w * w)
    low = Biquad([w * w * n, 2 * w * w * n, w * w * n], [1.0, 2 * (w * w - 1) * n, (1 - math.sqrt(2) * w + w * w) * n])
    chain = [low, Compressor(0.2, ratio)]
    delay = deque([0.0] * 3, maxlen=3)
    out = []
    for s in samples:
        for stage in chain:
            s = stage.process(s)
        echo = delay.popleft()
        delay.append(s + 0.3 * echo)
        out.append(s + 0.5 * echo)
    return np.sqrt(np.mean(np.square(out))) + np.max(out)


# ---------------------------------------------------------------- equalised_loudness
@program(
    "audio: biquad cascade, A-weighting in dB, spectral centroid of frames",
    lambda: (np.array([800.0, 2000.0]), np.array([0.9, 1.4]), rng(3).normal(size=256)),
    wrt=(0, 1, 2),
)
def equalised_loudness(fc, q, x, fs=8000.0):
    y = x
    for f, Q in zip(fc, q):
        w = 2 * np.pi * f / fs
        alpha = np.sin(w) / (2 * Q)
        b = np.array([1 + alpha * 2, -2 * np.cos(w), 1 - alpha * 2])
        a = np.array([1 + alpha / 2, -2 * np.cos(w), 1 - alpha / 2])
        y = signal.lfilter(b / a[0], a / a[0], y)
    frames = np.lib.stride_tricks.sliding_window_view(y, 64)[::32] * np.hanning(64)
    spec = np.abs(np.fft.rfft(frames, axis=-1)) ** 2
    f = np.fft.rfftfreq(64, 1 / fs)
    f2 = f[1:] ** 2
    ra = 12194**2 * f2**2 / ((f2 + 20.6**2) * np.sqrt((f2 + 107.7**2) * (f2 + 737.9**2)) * (f2 + 12194**2))
    level = 10 * np.log10((spec[:, 1:] * ra**2).sum(axis=1))
    centroid = (spec * f).sum(axis=1) / spec.sum(axis=1)
    return level.mean() + np.median(centroid) / 1000


# ---------------------------------------------------------------- compressor_error
def one_pole_envelope(x, attack, release, fs):
    """Peak envelope follower."""
    ga = np.exp(-1.0 / (attack * fs))
    gr = np.exp(-1.0 / (release * fs))
    env = []
    e = 0.01
    for s in np.abs(x):
        g = ga if s > e else gr
        e = g * e + (1.0 - g) * s
        env.append(e)
    return np.array(env)


@program(
    "audio effects: soft-knee compressor matched to a target in the pre-emphasised domain",
    lambda: (
        -12.0,
        4.0,
        0.004,
        0.03,
        np.sin(0.9 * np.arange(36) + 0.2) * (0.2 + 0.8 * (np.arange(36) > 10)),
        0.5 * np.sin(0.9 * np.arange(36) + 0.2),
    ),
    wrt=(0, 1, 2, 3),
)
def compressor_error(threshold_db, ratio, attack, release, x, target, knee=6.0, fs=1000.0):
    """Soft-knee compressor matched to a target in the pre-emphasised domain."""
    level = 20 * np.log10(one_pole_envelope(x, attack, release, fs) + 1e-6)
    over = level - threshold_db
    gain = np.zeros_like(over)
    for i, o in enumerate(over):
        if o >= knee / 2:
            gain[i] = (1 / ratio - 1) * o
        elif o > -knee / 2:
            gain[i] = (1 / ratio - 1) * (o + knee / 2) ** 2 / (2 * knee)
    y = x * 10 ** (gain / 20)
    e = lfilter([1.0, -0.85], [1.0], y - target)
    return float(np.sum(e**2) / np.sum(target**2))


# ---------------------------------------------------------------- eq_match
def biquad_peaking(f0, gain_db, q, fs=48000.0):
    A = 10 ** (gain_db / 40)
    w0 = 2 * np.pi * f0 / fs
    alpha = np.sin(w0) / (2 * q)
    b = np.array([1 + alpha * A, -2 * np.cos(w0), 1 - alpha * A])
    a = np.array([1 + alpha / A, -2 * np.cos(w0), 1 - alpha / A])
    return b / a[0], a / a[0]


@program(
    "audio engineering: mean squared dB error between a cascade of peaking filters and a target curve",
    lambda: (
        [200.0, 1500.0, 6000.0],
        [3.0, -4.0, 2.5],
        [0.8, 1.4, 0.9],
        np.geomspace(50, 16000, 15),
        2.0 * np.sin(np.linspace(0, 5, 15)),
    ),
    wrt=(0, 1, 2),
)
def eq_match(f0s, gains, qs, freqs, target_db, fs=48000.0):
    """Mean squared dB error between a cascade of peaking filters and a target curve."""
    z = np.exp(-2j * np.pi * freqs / fs)
    H = np.ones(len(freqs), dtype=complex)
    for f0, g, q in zip(f0s, gains, qs):
        b, a = biquad_peaking(f0, g, q, fs)
        H *= (b[0] + b[1] * z + b[2] * z**2) / (a[0] + a[1] * z + a[2] * z**2)
    db = 20 * np.log10(np.abs(H))
    return np.mean((db - target_db) ** 2)


# ---------------------------------------------------------------- roughness_of_a_chord
@program(
    "music: tuning of partials, roughness of a chord after Sethares",
    lambda: (np.array([261.6, 329.0, 392.5]), 0.88, 3.5),
    wrt=(0, 1, 2),
)
def roughness_of_a_chord(roots, decay, sharpness):
    partials = [(f * (k + 1), decay**k) for f in roots for k in range(5)]
    total = 0.0
    for (f1, a1), (f2, a2) in itertools.combinations(sorted(partials, key=operator.itemgetter(0)), 2):
        s = 0.24 / (0.0207 * f1 + 18.96)
        d = s * (f2 - f1)
        total += min(a1, a2) * (math.exp(-sharpness * d) - math.exp(-5.75 * d))
    return total


# ---------------------------------------------------------------- karplus_brightness
@program(
    "music synthesis: additive tone: squared error between its spectral centroid and a target",
    lambda: (np.array([2.1, 4.3, 6.2]), np.array([1.0, 0.5, 0.3]), 0.8, np.linspace(0, 1.5, 40), 6.0),
    wrt=(0, 1, 2),
)
def karplus_brightness(freqs, amps, decay, t, target_centroid):
    """Additive tone: squared error between its spectral centroid and a target."""
    y = np.zeros_like(t)
    for k, (f, a) in enumerate(zip(freqs, amps), start=1):
        y += a * np.exp(-decay * k * t) * np.sin(2 * np.pi * f * t)
    mag = np.abs(rfft(y * np.hanning(len(t))))
    bins = np.arange(len(mag))
    centroid = np.sum(bins * mag) / np.sum(mag)
    return (centroid - target_centroid) ** 2


# ---------------------------------------------------------------- stiff_string
def string_energy(u, v, tension, density, stiffness, dx):
    du = (u[1:] - u[:-1]) / dx
    d2u = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2
    return 0.5 * dx * (density * np.sum(v**2) + tension * np.sum(du**2) + stiffness * np.sum(d2u**2))


@program(
    "musical acoustics: finite difference stiff string, energy left after a few periods plus bridge velocity",
    lambda: (0.02, 0.23, 60.0, 2e-4, 3.0),
    wrt=(0, 1, 2, 3, 4),
)
def stiff_string(pluck, pos, tension, stiffness, loss, density=0.01, n=21, dt=2e-4, steps=25):
    """Finite difference stiff string, energy left after a few periods plus bridge velocity."""
    x = np.linspace(0, 1, n)
    dx = x[1] - x[0]
    u = pluck * np.exp(-200 * (x - pos) ** 2) * np.sin(np.pi * x)
    up = u.copy()
    bridge = []
    for _ in range(steps):
        lap = np.zeros(n)
        lap[1:-1] = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx**2
        bih = np.zeros(n)
        bih[1:-1] = (lap[2:] - 2 * lap[1:-1] + lap[:-2]) / dx**2
        acc = (tension * lap - stiffness * bih) / density
        un = (2 * u - (1 - loss * dt) * up + dt**2 * acc) / (1 + loss * dt)
        un[0] = un[-1] = 0.0
        bridge.append((un[-2] - u[-2]) / dt)
        up, u = u, un
    return string_energy(u, (u - up) / dt, tension, density, stiffness, dx) + 1e-3 * np.mean(np.square(bridge))


# ---------------------------------------------------------------- hammered_string_centroid
@dataclass
class PianoString:
    length: float
    tension: float
    diameter: float
    young: float = 2.0e11
    density: float = 7850.0
    modes: int = 24
    b1: float = 0.6
    b3: float = 2.5e-9

    @property
    def linear_density(self) -> float:
        return self.density * math.pi * self.diameter**2 / 4

    @property
    def inharmonicity(self) -> float:
        return math.pi**3 * self.young * self.diameter**4 / (64 * self.tension * self.length**2)

    def poles(self) -> np.ndarray:
        n = np.arange(1, self.modes + 1)
        f0 = math.sqrt(self.tension / self.linear_density) / (2 * self.length)
        omega = 2 * np.pi * n * f0 * np.sqrt(1 + self.inharmonicity * n**2)
        return -(self.b1 + self.b3 * omega**2) + 1j * omega

    def shape(self, where: float) -> np.ndarray:
        return np.sin(np.pi * np.arange(1, self.modes + 1) * where)


def felt_hammer(mass: float, velocity: float, stiffness: float, exponent: float, dt: float) -> Iterator[float]:
    """Coroutine: send it the string's displacement, it yields the contact force."""
    position, force = 0.0, 0.0
    while True:
        string = yield force
        squeeze = position - string
        force = stiffness * squeeze**exponent if squeeze > 0 else 0.0
        velocity -= dt * force / mass
        position += dt * velocity


@program(
    "piano string physics: a felt hammer strikes a stiff lossy string (modes as "
    "complex phasors), the centroid of its sound",
    lambda: (670.0, np.array([4.2e9, 2.5]), 2.1, 0.12),
    wrt=(0, 1, 2, 3),
    refused="next of an iterator",
)
def hammered_string_centroid(tension, felt, velocity, strike_point):
    fs = 96_000.0
    string = PianoString(length=0.62, tension=tension, diameter=1.0e-3)
    poles = string.poles()
    advance = np.exp(poles / fs)
    shape = string.shape(strike_point)
    modal_mass = string.linear_density * string.length / 2
    kick = shape / (modal_mass * poles.imag) / fs

    hammer = felt_hammer(2.9e-3, velocity, felt[0], felt[1], 1 / fs)
    next(hammer)
    phasors = np.zeros(string.modes, dtype=complex)
    for _ in range(420):
        force = hammer.send(shape @ phasors.imag)
        phasors = advance * (phasors + kick * force)

    t = np.arange(512) / 16_000.0
    bridge = (string.tension * np.pi / string.length * np.arange(1, string.modes + 1)) * (-1.0) ** np.arange(
        string.modes
    )
    audible = np.abs(poles.imag) < 2 * np.pi * 7_500
    sound = ((bridge * phasors)[audible, None] * np.exp(np.outer(poles[audible], t))).sum(axis=0).imag
    power = np.abs(np.fft.rfft(sound * np.hanning(t.size))) ** 2
    return float((np.fft.rfftfreq(t.size, 1 / 16_000.0) * power).sum() / power.sum())


# ---------------------------------------------------------------- roughness
@program(
    "music theory: sensory dissonance of chords by Plomp and Levelt's curves, and how far a tuning is from its valleys",
    lambda: (np.array([3.9, 7.05]), 0.88, 261.6),
    wrt=(0, 1, 2),
)
def roughness(semitones, decay, root):
    Partial = namedtuple("Partial", ["frequency", "loudness"])

    def partials(f0):
        return [Partial(f0 * k, decay ** (k - 1)) for k in range(1, 7)]

    def pair(p, q):
        low, high = sorted((p, q), key=lambda t: t.frequency)
        s = 0.24 / (0.0207 * low.frequency + 18.96)
        d = s * (high.frequency - low.frequency)
        return min(p.loudness, q.loudness) * (5.0 * math.exp(-3.51 * d) - 5.0 * math.exp(-5.75 * d))

    notes = [root] + [root * 2.0 ** (s / 12.0) for s in semitones]
    voices = list(itertools.chain.from_iterable(map(partials, notes)))
    total = sum(itertools.starmap(pair, itertools.combinations(voices, 2)))
    energy = reduce(operator.add, (v.loudness**2 for v in voices))
    return total / energy


# ---------------------------------------------------------------- meantone_key_tension
SYNTONIC = Fraction(81, 80)


JUST = {"third": Fraction(5, 4), "fifth": Fraction(3, 2)}


NAMES = "Eb Bb F C G D A E B F# C# G#".split()


def chain_of_fifths(fifth, start=-3):
    """Pitch ratios to C from Eb to G#, folded into one octave."""

    def fold(ratio):
        while ratio >= 2:
            ratio /= 2
        while ratio < 1:
            ratio *= 2
        return ratio

    return {name: fold(fifth**k) for k, name in enumerate(NAMES, start)}


def timbre(partials, rolloff, stretch):
    series = [(k**stretch, rolloff ** (k - 1)) for k in range(1, partials + 1)]

    def sounding(freq):
        yield from ((freq * ratio, amp) for ratio, amp in series)

    return sounding


def triad_roughness(chord, sounding):
    spectrum = sorted((p for f in chord for p in sounding(f)), key=lambda p: p[0])
    total = 0.0
    for (f1, a1), (f2, a2) in itertools.combinations(spectrum, 2):
        s = 0.24 / (0.0207 * f1 + 18.96) * (f2 - f1)
        total += min(a1, a2) * (math.exp(-3.51 * s) - math.exp(-5.75 * s))
    return total


def cents(ratio):
    return 1200 * math.log2(ratio)


@program(
    "music tuning temperament: fractional-comma meantone on twelve keys, Sethares' roughness of the triads, key by key",
    lambda: (0.2317, 261.6, {"rolloff": 0.83, "stretch": 1.0012}),
    wrt=(0, 1, 2),
    refused="a list of items of different kinds",
)
def meantone_key_tension(comma_fraction, middle_c, tone):
    scale = chain_of_fifths(JUST["fifth"] / SYNTONIC**comma_fraction)
    sounding = timbre(5, **tone)
    tension, wolves = {}, []
    for i, key in enumerate(NAMES):
        root, third, fifth = (scale[NAMES[(i + step) % 12]] for step in (0, 4, 1))
        third, fifth = (r if r > root else 2 * r for r in (third, fifth))
        errors = [cents(got / root) - cents(JUST[k]) for k, got in (("third", third), ("fifth", fifth))]
        tension[key] = triad_roughness([middle_c * r for r in (root, third, fifth)], sounding)
        if max(map(abs, errors)) > 15:
            wolves.append((key, math.hypot(*errors)))
    usage = {key: math.exp(-abs(i - 4.5) / 2.5) for i, key in enumerate(NAMES)}
    played = sum(usage[k] * tension[k] for k in tension) / sum(usage.values())
    return played + 0.001 * sum(howl for _, howl in wolves)


# ---------------------------------------------------------------- aided_speech_audibility
@program(
    "hearing aids: NAL-R gains for an audiogram, a wide dynamic range compressor, audibility of the bands (SII)",
    lambda: (np.array([20.0, 27.0, 38.0, 52.0, 61.0, 66.0]), 2.1, 3.0, 62.0),
    wrt=(0, 1, 2, 3),
)
def aided_speech_audibility(audiogram, ratio, attack_ms, level_db):
    fs = 16000
    freqs = np.array([250, 500, 1000, 2000, 4000, 6000])
    k_nal = np.array([-17, -8, 1, -1, -2, -2])
    x = 0.05 * audiogram[1:4].sum()
    gain_db = np.maximum(x + 0.31 * audiogram + k_nal, 0.0)
    # speech-shaped noise that comes in bursts
    n = 640
    noise = np.random.default_rng(11).standard_normal(n)
    noise = signal.lfilter([1.0], [1.0, -0.75], noise)
    noise *= 1 + 0.8 * np.sign(np.sin(2 * np.pi * 50 * np.arange(n) / fs))
    pressure = noise / np.sqrt(np.mean(noise**2)) * 10 ** ((level_db - 94) / 20)
    # frequency sampling design of the insertion gain
    nfft = 64
    grid = np.fft.rfftfreq(nfft, 1 / fs)
    mag = 10 ** (np.interp(np.log2(np.maximum(grid, 62.5)), np.log2(freqs), gain_db) / 20)
    fir = np.roll(np.fft.irfft(mag, nfft), nfft // 2) * np.hamming(nfft)
    shaped = np.convolve(pressure, fir)[nfft // 2 : nfft // 2 + n]

    def make_compressor(threshold, release_ms=40.0):
        a_att, a_rel = (math.exp(-1 / (1e-3 * ms * fs)) for ms in (attack_ms, release_ms))
        env = 10 ** ((threshold - 94) / 20)

        def process(sample):
            nonlocal env
            mag = abs(sample)
            a = a_att if mag > env else a_rel
            env = a * env + (1 - a) * mag
            spl = 94 + 20 * math.log10(env)
            if spl <= threshold:
                return sample
            return sample * 10 ** (-(spl - threshold) * (1 - 1 / ratio) / 20)

        return process

    wdrc = make_compressor(52.0)
    out = np.array([wdrc(s) for s in shaped])
    importance = {250: 0.0617, 500: 0.1671, 1000: 0.2373, 2000: 0.2648, 4000: 0.2142, 6000: 0.0549}
    reference = {250: 7.8, 500: 6.0, 1000: 4.2, 2000: -1.0, 4000: -3.8, 6000: 4.5}
    sii = 0.0
    for (fc, weight), htl in zip(importance.items(), audiogram, strict=True):
        sos = signal.butter(2, [fc / 2**0.5, min(fc * 2**0.5, 0.49 * fs)], "bandpass", fs=fs, output="sos")
        band = signal.sosfilt(sos, out)
        spl = 94 + 10 * np.log10(np.mean(band[100:] ** 2))
        audible = (spl - (htl + reference[fc]) + 15) / 30
        distortion = min(1.0, 1 - (spl - 73) / 160)
        sii += weight * min(max(audible, 0.0), 1.0) * distortion
    return sii
