"""Programs with complex numbers: arguments held fixed, constants, arrays, accumulators, powers, functions."""

import cmath
import math

import numpy as np
from scipy import linalg

from tests.programs.rows import Rows, wave

COMPLEX = Rows()
program = COMPLEX.add

Z = 1.0 + 1.0j
PHASES = np.array([1.0 + 2.0j, 0.3 - 1.0j, -0.5 + 0.2j])
MIXING = np.array([[1.0 + 2.0j, 0.3 - 1.0j, 0.1], [-0.5 + 0.2j, 2.0j, 1.0]])


# -------------------------------------------------------------------------------- held fixed: arguments, constants


@program(lambda: (0.5, 1.0 + 1.0j), compiled=True, expected=(math.sqrt(2.0),))
def size_of_a_multiple(x, z):
    return abs(x * z)


@program(lambda: (wave(3), PHASES.copy()), compiled=True)
def array_argument(x, z):
    return np.sum(np.abs(x * z + 0.5j) ** 2)


@program(lambda: (0.7, PHASES[::-1]))
def strided_argument_in_a_loop(x, z):
    s = 0j
    for k in range(z.size):
        s += x**k * z[k]
    return abs(s)


@program(lambda: (0.7, (0.4 - 1.0j, 2.0, PHASES.copy())))
def argument_in_a_tuple(x, p):
    z, w, a = p
    return abs(x * z + a[1]) * w


@program(lambda: (wave(3), PHASES.copy()))
def argument_that_is_written_to(x, z):
    z[0] = x[0] * z[1]
    z[1:] *= 2.0
    return abs(z[0] * z[1] * x[1] + z[2])


@program(lambda: (0.6, MIXING.copy()))
def rank_two_argument(x, m):
    return np.sum(np.abs(m * x + 1j * m.T[0, 1])) + np.abs(m[:, 1].sum() * x)


@program(lambda: (0.5,))
def constants_from_outside(x):
    return abs(x * Z + 1.0) + np.sum(np.abs(x * PHASES + 1.0)) + abs(x * PHASES[1] - 1j)


@program(lambda: (0.5,))
def default_argument(x, z=2.0 - 1.0j):
    return abs(x * z + 0.3)


def moved(z, k):
    w = z
    for _ in range(k):
        w = w * z + 0.1
    return w, w.conjugate()


@program(lambda: (0.4, 0.3 + 0.2j))
def results_of_a_helper(x, z):
    w, v = moved(x + z, 2)
    return (w * v).real + w.imag + moved(x, 1)[0]


# --------------------------------------------------------------------------------------------- made inside, numbers


@program(lambda: (0.8,))
def taken_apart_and_put_together(x):
    c = complex(x, 2.0 * x)
    d = complex(x + 1j) * complex(real=x, imag=1) + complex(1j, x) + complex(x) + np.complex128(x)
    return abs(x * complex(c.real, c.imag)) + d.real * d.imag


@program(lambda: (0.8,))
def real_number_that_becomes_complex(x):
    s, p = 0.0, 1
    for k in range(4):
        s = s + x**k * np.exp(1j * k * x)
        p = p * (x + 1j)
    z = x
    if x > 0.5:
        z = z * 1j
    return s.real + abs(p) + abs(z + 1.0)


@program(lambda: (0.8,))
def pair_of_which_one_becomes_complex(x):
    t = (x, 2.0)
    for _ in range(3):
        t = (t[0] * (0.5 + 1j), t[1] + 1.0)
    return abs(t[0]) * t[1]


@program(lambda: (0.8, 3, -2))
def powers(x, n, m):
    z = x + 0.5j
    w = z**2 + z**-3 + z**0.5 + z**1.7 + z**n + z**m + z**x + z ** (1j + x) + 2.0 ** (1j * x) + x ** (1.0 + 1j) + z**0
    return w.real + 2.0 * w.imag


@program(lambda: (0.0, 1), expected=(1.0,), second=False)
def power_of_zero(x, n):
    return ((x + 0j) ** n).real + ((x + 0j) ** 2).real


@program(lambda: (0.7,))
def functions(x):
    z = x - 0.4j
    a = np.sin(z) * np.cos(z) + np.tan(z) - np.sinh(z) * np.cosh(z) + np.tanh(z)
    b = cmath.log(z) + np.log10(z) + np.log2(z) + np.sqrt(z) * cmath.exp(z) + np.square(z) + np.reciprocal(z)
    c = cmath.rect(x, 0.3) + cmath.sqrt(x - 2.0) + cmath.polar(z)[1] + cmath.phase(1j * z)
    w = a + b + c
    return abs(w) + np.angle(w) + np.real(w) * np.imag(-w) + np.conj(w).imag + w.conjugate().real


@program(lambda: (0.7,))
def root_beside_the_cut(x):
    return np.sqrt(-x + 1e-9j).imag + 1e6 * np.sqrt(-x + 1e-9j).real + np.sqrt(-x - 1e-9j).imag


@program(lambda: (0.7,))
def quotient_of_large_and_small(x):
    return ((x + 1e200j) / (2e200 + 1e200j)).real + 1e-200 * ((x + 1j) / (2e-200 + 1e-200j)).real + (1 / (x + 1j)).imag


@program(lambda: (0.7,))
def conditions(x):
    z, w = x + 1j, 1j + x
    total = 0.0
    if z == w and z != 2.0 and z:
        total += abs(z)
    if not z * 0.0:
        total += z.real
    if np.isfinite(z) and not np.isnan(z) and bool(z):
        total *= abs(w) if x > 0.5 else x
    return total + (z if x > 0.1 else x).imag * x


# ---------------------------------------------------------------------------------------------- made inside, arrays


@program(lambda: (wave(4),), compiled=True)
def spectrum(x):
    n, power = x.size, 0.0
    for k in range(n):
        c = 0j
        for t in range(n):
            c += x[t] * np.exp(-2j * np.pi * k * t / n)
        power += abs(c) ** 2 * k
    return power


@program(lambda: (wave(4),))
def spectrum_as_a_product(x):
    k = np.arange(4.0)
    matrix = np.exp(-2j * np.pi * np.outer(k, k) / 4)
    c = matrix @ x
    return np.sum(k * np.abs(c) ** 2) + np.vdot(c, 1j + x).real + np.abs(np.dot(x, c)) + np.dot(c, c).imag


@program(lambda: (wave(3),))
def stores_of_every_kind(x):
    z = np.zeros(3, dtype=np.complex128)
    for k in range(3):
        z[k] = np.exp(1j * k * x[k])
    z *= 1j + x
    z[0] += 2.0
    z[1:] -= 1j * x[:2]
    z[2] *= z[0]
    z[0], z[1] = z[1], z[0]
    z.real[1] = x[0]
    z[np.array([2, 0])] = z[np.array([0, 1])] + x[1]
    w = z[1:]
    w[0] = 0.5j * x[2]
    z[z.real > 0.0] = 1.0 + 1.0j
    return np.sum(z.real * z.imag)


@program(lambda: (wave(3),))
def arrays_made_of_arrays(x):
    z = np.array([x[0] + 1j, x[1], 2]) + np.full(3, 1j * x[2]) * np.ones_like(x + 0j)
    w = np.concatenate((x, z, z[::-1])).reshape(3, 3)
    v = np.where(x > 0.0, 1j * x, x) + x.astype(np.complex128).conj()
    return np.abs(w.sum(axis=0)).sum() + np.abs(np.trace(w) + z.mean()) + np.sum(np.abs(v * w.T[0] + w.copy()[1]))


@program(lambda: (wave(3),))
def attributes_and_loops(x):
    z, s = x * np.exp(1j * x), 0.0
    for k, w in enumerate(z):
        s += w.real * abs(w) + k * z.imag[k]
    for v, w in zip(x, z):
        s += v * w.imag
    return s + np.sum(np.angle(z)) + np.sum(z.real) * len(z) + z.size + z.shape[0] + z.ndim


@program(lambda: (wave(3),))
def carried_round_a_loop(x):
    z = np.zeros(3, complex)
    for _ in range(3):
        z = 0.2 * z * z + x
    w = z if x[0] > 5.0 else z * 1j
    return np.sum(np.abs(w - 1j))


@program(lambda: (wave(3),))
def with_a_plus(x):
    z = +(x + 2.0j * x)
    return np.sum(np.abs(z) ** 2) + np.sum(np.positive(z).real) + (+z[1]).imag


# ------------------------------------------------------------------------------------------------ inverses of functions


@program(lambda: (0.4, -1.7), active=(0, 1))
def inverse_functions(x, y):
    z = complex(x, y)
    circular = cmath.asin(z) + 2.0 * cmath.acos(z / 3.0) - cmath.atan(z)
    hyperbolic = cmath.asinh(z) * cmath.acosh(z) + 1j * cmath.atanh(z)
    return abs(circular * hyperbolic) if cmath.isclose(z, z, rel_tol=1e-6) else x


@program(lambda: (wave(3),))
def inverse_functions_of_arrays(x):
    z = np.arcsin(x + 0.2j) + np.arctanh(PHASES * x) * np.arccosh(x - 1.0j)
    return np.sum(z.real - 2.0 * z.imag) + cmath.log(complex(x[0], 0.3), 2.0).real + cmath.log(2.0, 1j + x[1]).imag


# ---------------------------------------------------------------------------------------------- lists, matrices, mixed


@program(lambda: (0.7, 1.3), active=(0, 1))
def functions_of_lists(x, y):
    waves = [x * cmath.exp(1j * y * k) for k in range(3)]
    sizes = np.abs(waves) ** 2 + np.angle(waves)
    return np.sum(sizes) + np.sum(np.real(waves)) * np.sum(np.imag([x + 2j * y, y * 1j])) + abs(np.conj(waves)[1] + x)


@program(lambda: (0.7, 1.3), active=(0, 1))
def products_of_real_and_complex(x, y):
    spin = np.array([[0, 1j], [-1j, 0]])
    energy = x * np.kron(np.eye(2), spin) + np.kron(spin * y, np.array([[1, 2], [0, 1]]))
    moved = linalg.expm(-1j * energy) @ np.array([1.0, 0.0, 0.5, 0.0])
    return np.vdot(moved, energy @ moved).real
