"""Crystals and scattering."""

import cmath
import itertools
import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.special import spherical_jn

from tests.field_programs import program, rng


# ---------------------------------------------------------------- structure_factor
@program(
    "structure factors, complex exp and dict of atoms",
    lambda: (np.array([[0.1, 0.2, 0.3], [0.4, 0.1, 0.7]]), np.array([1.0, 0.5])),
    wrt=(0, 1),
)
def structure_factor(pos, B):
    hkl = [h for h in itertools.product(range(-1, 2), repeat=3) if any(h)]
    F = []
    for h in hkl:
        h = np.array(h)
        s2 = h @ h / 4
        F.append(sum(f * np.exp(-b * s2) * np.exp(2j * np.pi * (h @ p)) for f, p, b in zip((6.0, 8.0), pos, B)))
    I = np.abs(F) ** 2
    return np.log1p(I).sum()


# ---------------------------------------------------------------- structure_factor_with_symmetry
SYM = [(np.eye(3), np.zeros(3)), (-np.eye(3), np.zeros(3)), (np.diag([-1.0, 1, -1]), np.array([0, 0.5, 0.5]))]


@program(
    "structure factors with symmetry operations, list of (R, t)",
    lambda: (rng(2).random((3, 3)), np.array([1.0, 2.0, 1.5])),
    wrt=(0, 1),
)
def structure_factor_with_symmetry(xyz, B):
    f = {"C": 6.0, "O": 8.0}
    kinds = ["C", "O", "C"]
    total = 0.0
    for hkl in itertools.product(range(2), repeat=3):
        h = np.array(hkl)
        F = 0j
        for atom, b, kind in zip(xyz, B, kinds):
            for R, t in SYM:
                x = R @ atom + t
                F += f[kind] * np.exp(-b * (h @ h) / 40) * np.exp(2j * np.pi * (h @ x))
        total += abs(F) ** 2
    return total / 1000


# ---------------------------------------------------------------- structure_factors
FORM = {"Na": (4.8, 3.3), "Cl": (11.5, 1.2)}


SYMMETRY = [lambda r: r, lambda r: -r, lambda r: np.array([r[1], r[0], r[2]])]


@program(
    "structure factors with symmetry operations as lambdas, atoms by element",
    lambda: (np.array([[0.1, 0.2, 0.3], [0.4, 0.15, 0.25]]), np.array([0.5, 0.8])),
    wrt=(0, 1),
)
def structure_factors(positions, B):
    atoms = [dict(element=e, r=p, B=b) for e, p, b in zip(["Na", "Cl"], positions, B)]
    hkl = [(1, 0, 0), (1, 1, 0), (2, 1, 1), (0, 0, 2)]
    observed = dict(zip(hkl, (8.0, 5.0, 6.5, 4.0)))
    num = den = 0.0
    for h in hkl:
        F = 0j
        s2 = sum(i * i for i in h) / 4
        for atom in atoms:
            a, b = FORM[atom["element"]]
            f = a * np.exp(-b * s2 / 10) * np.exp(-atom["B"] * s2)
            for op in SYMMETRY:
                F += f * cmath.exp(2j * np.pi * np.dot(h, op(atom["r"])))
        num += abs(abs(F) - observed[h])
        den += observed[h]
    return num / den


# ---------------------------------------------------------------- r_factor
@program(
    "structure factors with symmetry operations, B factors, R-factor",
    lambda: (rng(7).random((4, 3)), np.array([1.2, 0.8, 2.0, 1.5]), np.array([5.0, 6.0, 7.0])),
    wrt=(0, 1, 2),
)
def r_factor(xyz, B, cell):
    ops = [(np.eye(3), np.zeros(3)), (np.diag([-1, -1, 1]), np.array([0.5, 0, 0.5]))]
    hkl = np.array(
        [(h, k, l) for h in range(-1, 3) for k in range(0, 3) for l in range(0, 2) if (h, k, l) != (0, 0, 0)]
    )
    s2 = ((hkl / cell) ** 2).sum(axis=1) / 4
    f0 = np.array([6.0, 7.0, 8.0, 16.0])
    F = np.zeros(len(hkl), dtype=complex)
    for R, t in ops:
        pos = (xyz @ R.T + t) % 1.0
        F += (f0 * np.exp(-np.outer(s2, B)) * np.exp(2j * np.pi * hkl @ pos.T)).sum(axis=1)
    Fc = np.abs(F)
    Fo = 10 + 5 * np.cos(np.arange(len(hkl)))
    k = (Fo * Fc).sum() / (Fc**2).sum()
    return np.abs(Fo - k * Fc).sum() / Fo.sum()


# ---------------------------------------------------------------- r_value
class Atom(NamedTuple):
    element: str
    xyz: tuple[float, float, float]
    occupancy: float = 1.0


FORM_FACTORS = {"Na": (4.7626, 3.285, 3.1736, 8.8422), "Cl": (11.4604, 0.0104, 7.1964, 1.1662)}


@program(
    "structure factors with Debye-Waller factors and an R value against amplitudes",
    lambda: (5.64, np.array([0.9, 1.3]), np.array([0.01, -0.02, 0.015])),
    wrt=(0, 1, 2),
)
def r_value(a, B, shift):
    basis = [Atom("Na", (0.0, 0.0, 0.0)), Atom("Cl", (0.5, 0.0, 0.0), 0.95)]
    centring = [(0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
    observed = {(1, 1, 1): 18.0, (2, 0, 0): 78.0, (2, 2, 0): 64.0, (3, 1, 1): 13.0, (2, 2, 2): 52.0}
    numerator = denominator = 0.0
    for hkl, amplitude in observed.items():
        h = np.array(hkl, dtype=float)
        s2 = (h @ h) / (4.0 * a * a)
        F = 0j
        for k, atom in enumerate(basis):
            a1, b1, a2, b2 = FORM_FACTORS[atom.element]
            f = a1 * np.exp(-b1 * s2) + a2 * np.exp(-b2 * s2)
            for c in centring:
                r = np.add(atom.xyz, c) + (shift if atom.element == "Cl" else 0.0)
                F += atom.occupancy * f * np.exp(-B[k] * s2) * np.exp(2j * np.pi * (h @ r))
        numerator += abs(amplitude - abs(F)) ** 2
        denominator += amplitude**2
    return math.sqrt(numerator / denominator)


# ---------------------------------------------------------------- scaled_r_factor
SYMMETRY_OPERATIONS = [lambda x, y, z: (x, y, z), lambda x, y, z: (-x, y + 0.5, -z), lambda x, y, z: (-x, -y, -z)]


@program(
    "structure factors of a cell with symmetry, a scale by least squares, the R factor",
    lambda: (rng(3).uniform(0, 1, (4, 3)), np.array([6.0, 8.0, 7.0, 16.0]), np.array([1.2, 2.0, 1.5, 1.1])),
    wrt=(0, 1, 2),
)
def scaled_r_factor(xyz, electrons, B):
    observed = {(1, 0, 0): 11.0, (0, 2, 0): 25.0, (1, 1, 1): 9.5, (2, 0, -1): 14.0, (0, 1, 2): 8.0}
    s = {hkl: sum(i * i for i in hkl) / 60.0 for hkl in observed}

    def amplitude(hkl):
        h, k, l = hkl
        re = im = 0.0
        for (x, y, z), f, b in zip(xyz, electrons, B):
            damping = f * np.exp(-b * s[hkl])
            for op in SYMMETRY_OPERATIONS:
                X, Y, Z = op(x, y, z)
                phase = 2.0 * np.pi * (h * X + k * Y + l * Z)
                re += damping * np.cos(phase)
                im += damping * np.sin(phase)
        return np.hypot(re, im)

    calculated = {hkl: amplitude(hkl) for hkl in observed}
    scale = sum(observed[k] * calculated[k] for k in observed) / sum(c * c for c in calculated.values())
    numerator = sum(abs(observed[k] - scale * calculated[k]) for k in observed)
    return numerator / sum(observed.values())


# ---------------------------------------------------------------- structure_factor_by_einsum
@program(
    "structure factor complex exponent with einsum",
    lambda: (np.random.default_rng(6).uniform(size=(5, 3)), np.array([1.0, 1.5, 2.0, 0.7, 0.9]), 0.02),
    wrt=(0, 1, 2),
)
def structure_factor_by_einsum(xyz, occ, B):
    hkl = np.array(list(itertools.product(range(-1, 2), repeat=3)))
    phase = np.einsum("hi,ai->ha", hkl, xyz) * 2j * np.pi
    q2 = (hkl**2).sum(axis=-1)
    F = np.einsum("ha,a->h", np.exp(phase), occ) * np.exp(-B * q2)
    I = (F * F.conj()).real
    return np.sum(I * np.arange(len(I))) / I.sum() + np.sum(np.angle(F[F.real > 0.5]))


# ---------------------------------------------------------------- powder_residual
SCATTER = {"Na": (10.8, 3.2), "Cl": (16.5, 2.1)}


def form_factor(element, s2, B):
    z, w = SCATTER[element]
    return z * np.exp(-w * s2) * np.exp(-B * s2)


@program(
    "crystal diffraction: R-type residual between observed and calculated peak intensities and positions (rock salt)",
    lambda: (5.64, 1.1, 0.01, [31.7, 45.5, 56.5], [1100.0, 900.0, 300.0], [(2, 0, 0), (2, 2, 0), (2, 2, 2)]),
    wrt=(0, 1, 2),
)
def powder_residual(cell_a, B, scale, two_theta_obs, intensity_obs, hkl, wavelength=1.5406):
    """R-type residual between observed and calculated peak intensities and positions (rock salt)."""
    na = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    cl = na + np.array([0.5, 0.0, 0.0])
    res = 0.0
    for (h, k, l), tt, I_obs in zip(hkl, two_theta_obs, intensity_obs):
        g = np.array([h, k, l], dtype=float)
        d = cell_a / np.sqrt(g @ g)
        s2 = 1.0 / (4 * d**2)
        theta = np.arcsin(wavelength / (2 * d))
        F = 0j
        for element, pos in (("Na", na), ("Cl", cl)):
            F += form_factor(element, s2, B) * np.sum(np.exp(2j * np.pi * (pos @ g)))
        lp = (1 + np.cos(2 * theta) ** 2) / (np.sin(theta) ** 2 * np.cos(theta))
        I_calc = scale * np.abs(F) ** 2 * lp
        res += (I_calc - I_obs) ** 2 / I_obs + 50.0 * (np.degrees(2 * theta) - tt) ** 2
    return res


# ---------------------------------------------------------------- saxs_chi2
def sphere_form_factor(q, R):
    qr = q * R
    return 3 * spherical_jn(1, qr) / qr


def core_shell_intensity(q, r_core, shell, rho_core, rho_shell, rho_solv):
    r_out = r_core + shell
    vc = 4 / 3 * np.pi * r_core**3
    vo = 4 / 3 * np.pi * r_out**3
    F = (rho_core - rho_shell) * vc * sphere_form_factor(q, r_core) + (rho_shell - rho_solv) * vo * sphere_form_factor(
        q, r_out
    )
    return F**2 / vo


@program(
    "small-angle scattering: core and shell, chi squared",
    lambda: (
        30.0,
        10.0,
        12.0,
        10.5,
        0.8,
        1.3,
        np.geomspace(0.01, 0.25, 14),
        200 * np.exp(-np.linspace(0, 5, 14)) + 1,
    ),
    wrt=(0, 1, 2, 3, 4, 5),
)
def saxs_chi2(r_core, shell, rho_core, rho_shell, bkg, scale, q, I_obs):
    I = scale * core_shell_intensity(q, r_core, shell, rho_core, rho_shell, 9.4) * 1e-4 + bkg
    return np.sum(((np.log(I) - np.log(I_obs)) / 0.05) ** 2) / (q.size - 6)


# ---------------------------------------------------------------- structure_residual
@program(
    "structure factors of a small cell with symmetry, temperature factors, and a weighted residual",
    lambda: (np.array([[0.11, 0.23, 0.34], [0.41, 0.07, 0.18]]), np.array([1.2, 2.0]), 0.9),
    wrt=(0, 1, 2),
)
def structure_residual(xyz, b_iso, scale):
    cell = np.array([5.2, 6.1, 7.3])
    table = {
        "O": ((3.0485, 13.2771), (2.2868, 5.7011), (1.5463, 0.3239), (0.867, 32.9089), 0.2508),
        "Si": ((6.2915, 2.4386), (3.0353, 32.3337), (1.9891, 0.6785), (1.541, 81.6937), 1.1407),
    }
    elements = ("Si", "O")
    operations = ["x,y,z", "-x,-y,z+1/2", "-x,y+1/2,-z", "x,-y+1/2,-z+1/2"]

    def apply(op, p):
        out = []
        for term in op.split(","):
            shift = 0.5 if term.endswith("+1/2") else 0.0
            body = term.removesuffix("+1/2")
            value = p["xyz".index(body[-1])]
            out.append((-value if body.startswith("-") else value) + shift)
        return out

    hkl = [(h, k, l) for h in range(3) for k in range(3) for l in range(3) if 0 < h + k + l <= 4]
    total = weight = 0.0
    for h, k, l in hkl:
        s2 = (h / cell[0]) ** 2 / 4 + (k / cell[1]) ** 2 / 4 + (l / cell[2]) ** 2 / 4
        F = 0j
        for element, p, b in zip(elements, xyz, b_iso):
            *gaussians, c = table[element]
            f = c + sum(a * math.exp(-w * s2) for a, w in gaussians)
            for op in operations:
                x, y, z = apply(op, p)
                F += f * math.exp(-b * s2) * cmath.exp(2j * math.pi * (h * x + k * y + l * z))
        measured = 12.0 + 3.0 * math.cos(1.7 * h + 0.9 * k - 1.3 * l)
        w = 1.0 / (1.0 + 0.02 * measured**2)
        total += w * (scale * abs(F) - measured) ** 2
        weight += w * measured**2
    return math.sqrt(total / weight)


# ---------------------------------------------------------------- peaks
@program(
    "crystallography of quasicrystals / tilings: diffraction of a Fibonacci chain made by substitution",
    lambda: (1.618, 1.0, np.array([1.1, 2.3, 3.7])),
    wrt=(0, 1, 2),
)
def peaks(long, short, q):
    word = "L"
    for _ in range(7):
        word = "".join({"L": "LS", "S": "L"}[letter] for letter in word)
    spacing = {"L": long, "S": short}
    sites = np.array(list(itertools.accumulate((spacing[w] for w in word), initial=0.0)))
    amplitude = np.exp(1j * np.outer(q, sites)).sum(axis=1) / len(sites)
    counted = Counter(word)
    mean = (counted["L"] * long + counted["S"] * short) / len(word)
    return float(np.sum(np.abs(amplitude) ** 2)) * 10 + mean
