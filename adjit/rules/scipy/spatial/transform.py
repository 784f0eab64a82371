"""Rotations in space, of scipy.spatial.transform, as unit quaternions (x, y, z, w): one, or the rows of a matrix.

In: what a rotation is given by. Out: a rotation, what else it is described by, or vectors that it turns.

    Rotation.from_rotvec(v) * r      q = (v * sin(|v| / 2) / |v|, cos(|v| / 2));  Turn(product(q, r.quat))
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from adjit.rules.registry import builtin, known_when_compiled

decomposition = builtin.decomposition

# ---------------------------------------------------------------------------------------------------------- quaternions


def part(q, k):
    return q[k] if q.ndim == 1 else q[:, k]


def joined(parts):
    return np.array(parts) if np.ndim(parts[0]) == 0 else np.stack(parts, axis=-1)


def times(q, factor):
    """One number, or one for each row, times a quaternion or a vector."""
    return q * factor if q.ndim == 1 else q * factor[:, None]


def rows_of(given, count, what):
    """As an array of floats, of `count` numbers or rows of so many."""
    given = np.asarray(given) * 1.0
    if given.ndim > 2:
        raise NotImplementedError("rotations in an array of more than two axes: loop over them")
    if given.ndim == 0 or given.shape[given.ndim - 1] != count:
        raise ValueError(what)
    return given


def unit(q):
    square = sum_of_squares(q, 4)
    if np.any(square == 0.0):
        raise ValueError("Found zero norm quaternions in `quat`.")
    return times(q, 1.0 / np.sqrt(square))


def sum_of_squares(q, count):
    total = part(q, 0) ** 2
    for k in range(1, count):
        total = total + part(q, k) ** 2
    return total


def product(p, q):
    """The rotation `q`, and then `p`."""
    a, b, c, d = part(p, 0), part(p, 1), part(p, 2), part(p, 3)
    x, y, z, w = part(q, 0), part(q, 1), part(q, 2), part(q, 3)
    return joined((
        d * x + a * w + b * z - c * y,
        d * y + b * w + c * x - a * z,
        d * z + c * w + a * y - b * x,
        d * w - a * x - b * y - c * z,
    ))  # fmt: skip


def turned_sign(q):
    """1, or -1 where the quaternion is not the one of its two that has w > 0, or the first positive part."""
    x, y, z, w = part(q, 0), part(q, 1), part(q, 2), part(q, 3)
    is_other = (w < 0.0) | ((w == 0.0) & ((x < 0.0) | ((x == 0.0) & ((y < 0.0) | ((y == 0.0) & (z < 0.0))))))
    return np.where(is_other, -1.0, 1.0)


SMALL = 1e-6  # of a square: where series take the place of quotients


def of_vector(v):
    """The quaternion of a rotation vector."""
    square = sum_of_squares(v, 3)
    is_small = square <= SMALL
    angle = np.sqrt(np.where(is_small, 1.0, square))
    scale = np.where(is_small, 0.5 - square / 48.0 + square * square / 3840.0, np.sin(0.5 * angle) / angle)
    w = np.where(is_small, 1.0 - square / 8.0 + square * square / 384.0 - square**3 / 46080.0, np.cos(0.5 * angle))
    return joined((part(v, 0) * scale, part(v, 1) * scale, part(v, 2) * scale, w))


def angle_by_sine(q):
    """Of a quaternion with w >= 0, the angle over the sine of its half."""
    square = sum_of_squares(q, 3)
    is_small = square <= SMALL
    sine = np.sqrt(np.where(is_small, 1.0, square))
    whole = 2.0 * np.arctan2(sine, part(q, 3)) / sine
    return np.where(is_small, 2.0 + square / 3.0 + 3.0 * square * square / 20.0 + 5.0 * square**3 / 56.0, whole)


def cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def nearest(matrix):
    """The orthogonal matrix that is nearest, by Newton's iteration (Higham 1986)."""
    for _ in range(60):
        new = 0.5 * (matrix + np.linalg.inv(matrix).T)
        change = np.max(np.abs(new - matrix))
        matrix = new
        if change < 1e-15:
            break
    return matrix


def of_matrix(m):
    """By the greatest of the four parts (Shepperd 1978)."""
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    if trace >= m[0, 0] and trace >= m[1, 1] and trace >= m[2, 2]:
        q = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + trace])
    elif m[0, 0] >= m[1, 1] and m[0, 0] >= m[2, 2]:
        q = np.array([1.0 - trace + 2.0 * m[0, 0], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2], m[2, 1] - m[1, 2]])
    elif m[1, 1] >= m[2, 2]:
        q = np.array([m[1, 0] + m[0, 1], 1.0 - trace + 2.0 * m[1, 1], m[2, 1] + m[1, 2], m[0, 2] - m[2, 0]])
    else:
        q = np.array([m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], 1.0 - trace + 2.0 * m[2, 2], m[1, 0] - m[0, 1]])
    return unit(q)


# ------------------------------------------------------------------------------------------------------- Euler's angles


@known_when_compiled
def axes_of(seq):
    """The numbers of the axes, and whether they are those of the turned body."""
    if not 1 <= len(seq) <= 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"axes are up to 3 letters of 'xyz', or of 'XYZ', not {seq!r}")
    if any(one == other for one, other in itertools.pairwise(seq)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return tuple("xyz".index(axis) for axis in seq.lower()), seq.isupper()


def about(axis, angle):
    sine, none = np.sin(0.5 * angle), 0.0 * angle
    return joined((
        sine if axis == 0 else none, sine if axis == 1 else none, sine if axis == 2 else none, np.cos(0.5 * angle),
    ))  # fmt: skip


def composed(seq, angles):
    axes, is_of_body = axes_of(seq)
    q = about(axes[0], part(angles, 0))
    for k in range(1, len(axes)):
        one = about(axes[k], part(angles, k))
        q = product(q, one) if is_of_body else product(one, q)
    return q


def between(angle):
    """The same angle from -pi to pi."""
    return np.where(angle < -np.pi, angle + 2.0 * np.pi, np.where(angle > np.pi, angle - 2.0 * np.pi, angle))


def angles_of(q, seq):
    """Of one rotation (Bernardes and Viollet 2022)."""
    axes, is_of_body = axes_of(seq)
    if len(axes) != 3:
        raise ValueError("Expected 3 axes.")
    i, j, last = (axes[2], axes[1], axes[0]) if is_of_body else axes
    is_symmetric = i == last
    k = 3 - i - j if is_symmetric else last
    sign = (i - j) * (j - k) * (k - i) // 2
    if is_symmetric:
        a, b, c, d = q[3], q[i], q[j], q[k] * sign
    else:
        a, b, c, d = q[3] - q[j], q[i] + q[k] * sign, q[j] + q[3], q[k] * sign - q[i]
    second = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    if abs(second) <= 1e-7 or abs(second - np.pi) <= 1e-7:
        raise ValueError("Euler's angles in gimbal lock, where they have no derivative.")
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    if not is_symmetric:
        second -= 0.5 * np.pi
        third *= sign
    if is_of_body:
        first, third = third, first
    return np.array([between(first), between(second), between(third)])


# ------------------------------------------------------------------------------------------------------------ rotations


@dataclass(frozen=True)
class Turn:
    """A rotation, or several, as SciPy's `Rotation`."""

    quat: Any

    def __len__(self):
        if self.quat.ndim == 1:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __getitem__(self, indexer):
        if self.quat.ndim == 1:
            raise TypeError("Single rotation is not subscriptable.")
        return Turn(self.quat[indexer])

    def __mul__(self, other):
        return Turn(product(self.quat, quaternion(other)))

    def __rmul__(self, other):
        return Turn(product(quaternion(other), self.quat))

    def __pow__(self, n):
        return Turn(of_vector(n * self.as_rotvec()))

    @property
    def single(self):
        return self.quat.ndim == 1

    def inv(self):
        return Turn(self.quat * np.array([-1.0, -1.0, -1.0, 1.0]))

    def magnitude(self):
        square = sum_of_squares(self.quat, 3)
        is_none = square == 0.0
        sine = np.where(is_none, 0.0, np.sqrt(np.where(is_none, 1.0, square)))
        return 2.0 * np.arctan2(sine, np.abs(part(self.quat, 3)))

    def as_quat(self, canonical=False, *, scalar_first=False):
        q = times(self.quat, turned_sign(self.quat)) if canonical else self.quat.copy()
        if scalar_first:
            return joined((part(q, 3), part(q, 0), part(q, 1), part(q, 2)))
        return q

    def as_rotvec(self, degrees=False):
        q = times(self.quat, turned_sign(self.quat))
        scale = angle_by_sine(q) * (180.0 / np.pi if degrees else 1.0)
        return joined((part(q, 0) * scale, part(q, 1) * scale, part(q, 2) * scale))

    def as_matrix(self):
        x, y, z, w = part(self.quat, 0), part(self.quat, 1), part(self.quat, 2), part(self.quat, 3)
        rows = (
            (x * x - y * y - z * z + w * w, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
            (2.0 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2.0 * (y * z - x * w)),
            (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), -x * x - y * y + z * z + w * w),
        )
        if self.quat.ndim == 1:
            return np.array(rows)
        return np.stack((joined(rows[0]), joined(rows[1]), joined(rows[2])), axis=1)

    def as_euler(self, seq, degrees=False, *, suppress_warnings=False):
        scale = 180.0 / np.pi if degrees else 1.0
        if self.quat.ndim == 1:
            return angles_of(self.quat, seq) * scale
        out = np.empty((self.quat.shape[0], 3))
        for n in range(self.quat.shape[0]):
            out[n] = angles_of(self.quat[n], seq) * scale
        return out

    def apply(self, vectors, inverse=False):
        vectors = rows_of(vectors, 3, "Expected input of shape (3,) or (P, 3).")
        q = self.inv().quat if inverse else self.quat
        ux, uy, uz, w = part(q, 0), part(q, 1), part(q, 2), part(q, 3)
        x, y, z = part(vectors, 0), part(vectors, 1), part(vectors, 2)
        tx, ty, tz = cross(ux, uy, uz, x, y, z)
        sx, sy, sz = cross(ux, uy, uz, tx, ty, tz)
        return joined((x + 2.0 * (w * tx + sx), y + 2.0 * (w * ty + sy), z + 2.0 * (w * tz + sz)))


@known_when_compiled
def quaternion_outside(rotation):
    return rotation.as_quat()


def quaternion(other):
    return other.quat if isinstance(other, Turn) else quaternion_outside(other)


@decomposition(Rotation.from_quat)
def from_quat(quat, *, scalar_first=False):
    q = rows_of(quat, 4, "Expected `quat` to have shape (4,) or (N, 4).")
    return Turn(unit(joined((part(q, 1), part(q, 2), part(q, 3), part(q, 0))) if scalar_first else q))


@decomposition(Rotation.from_rotvec)
def from_rotvec(rotvec, degrees=False):
    v = rows_of(rotvec, 3, "Expected `rot_vec` to have shape (3,) or (N, 3).")
    return Turn(of_vector(v * (np.pi / 180.0) if degrees else v))


@decomposition(Rotation.from_matrix)
def from_matrix(matrix, *, assume_valid=False):
    m = np.asarray(matrix) * 1.0
    if m.ndim == 2:
        return Turn(of_matrix(checked(m)))
    if m.ndim != 3:
        raise NotImplementedError("rotations in an array of more than three axes: loop over them")
    out = np.empty((m.shape[0], 4))
    for n in range(m.shape[0]):
        out[n] = of_matrix(checked(m[n]))
    return Turn(out)


def checked(m):
    if m.shape[0] != 3 or m.shape[1] != 3:
        raise ValueError("Expected `matrix` to have shape (3, 3) or (N, 3, 3).")
    if np.linalg.det(m) <= 0.0:
        raise ValueError("Non-positive determinant (left-handed or null coordinate frame) in rotation matrix.")
    return nearest(m)


@decomposition(Rotation.from_euler)
def from_euler(seq, angles, degrees=False):
    scale = np.pi / 180.0 if degrees else 1.0
    if np.ndim(angles) == 0:
        return Turn(composed(seq, np.array([angles * scale])))
    return Turn(composed(seq, rows_of(angles, len(seq), "Expected an angle for each axis.") * scale))


@decomposition(Rotation.identity)
def identity(num=None, *, shape=None):
    if shape is not None:
        raise NotImplementedError("Rotation.identity with `shape`: give a number, or nothing")
    one = np.array([0.0, 0.0, 0.0, 1.0])
    return Turn(one if num is None else np.zeros((num, 4)) + one)


@decomposition(Rotation.apply)
def applied(self, vectors, inverse=False):
    return Turn(quaternion(self)).apply(vectors, inverse)


@decomposition(Rotation.from_mrp, Rotation.from_davenport, Rotation.align_vectors, Rotation.concatenate)
def others(*given, **named):
    raise NotImplementedError("this rotation: adjit knows from_quat, from_rotvec, from_matrix and from_euler")
