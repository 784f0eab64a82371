"""Graphics, geometry and colour."""

import functools
import itertools
import math
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce
from types import SimpleNamespace

import numpy as np
from scipy.spatial.distance import cdist

from tests.field_programs import program, rng


# ---------------------------------------------------------------- march_depth
def sdf(p, r):
    q = np.abs(p) - np.array([0.6, 0.4, 0.3])
    box = np.linalg.norm(np.maximum(q, 0)) + min(max(q[0], max(q[1], q[2])), 0.0)
    return min(box - 0.05, np.sqrt((p**2).sum()) - r) if r < 0.5 else max(box, -(np.linalg.norm(p) - r))


@program("ray marcher sdf", lambda: (np.array([0.1, 0.2, -3.0]), 0.4), wrt=(0, 1))
def march_depth(origin, r):
    d = np.array([0.05, -0.02, 1.0])
    d = d / np.linalg.norm(d)
    t = 0.0
    hit = None
    for _ in range(60):
        dist = sdf(origin + t * d, r)
        if dist < 1e-10:
            hit = t
            break
        t += dist
        if t > 10:
            break
    return t if hit is None else hit * hit


# ---------------------------------------------------------------- render
class Material(Enum):
    DIFFUSE = 0
    MIRROR = 1


@dataclass(frozen=True)
class Sphere:
    center: np.ndarray
    radius: float
    color: np.ndarray
    material: Material = Material.DIFFUSE

    def hit(self, o, d):
        oc = o - self.center
        b = oc @ d
        c = oc @ oc - self.radius**2
        disc = b * b - c
        if disc < 0:
            return None
        t = -b - np.sqrt(disc)
        return t if t > 1e-6 else None


@program(
    "ray-sphere shading with enum and early return",
    lambda: (np.array([0.1, 0.2, 3.0]), 1.1, np.array([0.9, 0.3, 0.2])),
    wrt=(0, 1, 2),
)
def render(center, radius, color):
    scene = [Sphere(center, radius, color), Sphere(np.array([1.5, 0.0, 4.0]), 0.8, np.array([0.2, 0.4, 0.9]))]
    light = np.array([1.0, 1.0, -1.0]) / np.sqrt(3)
    img = np.zeros((4, 4, 3))
    for r in range(4):
        for c in range(4):
            d = np.array([(c - 1.5) / 3, (r - 1.5) / 3, 1.0])
            d /= np.linalg.norm(d)
            best, best_t = None, np.inf
            for s in scene:
                t = s.hit(np.zeros(3), d)
                if t is not None and t < best_t:
                    best, best_t = s, t
            if best is None:
                img[r, c] = 0.1
            else:
                n = (best_t * d - best.center) / best.radius
                img[r, c] = best.color * max(n @ light, 0.05)
    return (img**2).sum()


# ---------------------------------------------------------------- bezier_length
@program(
    "Bezier with de Casteljau, arc length; list of arrays same length shrinking",
    lambda: (np.array([[0.0, 0], [1, 2], [3, 3], [4, 0.5]]),),
)
def bezier_length(ctrl, n=30):
    def at(t):
        pts = ctrl
        while len(pts) > 1:
            pts = (1 - t) * pts[:-1] + t * pts[1:]
        return pts[0]

    P = np.array([at(t) for t in np.linspace(0, 1, n)])
    seg = np.hypot(*np.diff(P, axis=0).T)
    kappa = (P[1:-1, 0] - P[:-2, 0]) * (P[2:, 1] - P[1:-1, 1]) - (P[1:-1, 1] - P[:-2, 1]) * (P[2:, 0] - P[1:-1, 0])
    return seg.sum() + np.sum(kappa**2)


# ---------------------------------------------------------------- slerp
@dataclass
class Quat:
    w: float
    x: float
    y: float
    z: float

    def __mul__(self, o):
        if isinstance(o, Quat):
            return Quat(
                self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
                self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
                self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
                self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
            )
        return Quat(self.w * o, self.x * o, self.y * o, self.z * o)

    __rmul__ = lambda self, o: self * o

    def __add__(self, o):
        return Quat(self.w + o.w, self.x + o.x, self.y + o.y, self.z + o.z)

    def conj(self):
        return Quat(self.w, -self.x, -self.y, -self.z)

    def dot(self, o):
        return self.w * o.w + self.x * o.x + self.y * o.y + self.z * o.z

    @classmethod
    def axis_angle(cls, ax, th):
        s = math.sin(th / 2)
        return cls(math.cos(th / 2), *(s * a for a in ax))

    @staticmethod
    def slerp(a, b, t):
        om = math.acos(a.dot(b))
        return (math.sin((1 - t) * om) / math.sin(om)) * a + (math.sin(t * om) / math.sin(om)) * b


@program(
    "game dev: quaternion rotation slerp with operator overloading dataclass", lambda: (0.4, 1.1, 0.3), wrt=(0, 1, 2)
)
def slerp(a, b, t):
    q1 = Quat.axis_angle((0, 0, 1), a)
    q2 = Quat.axis_angle((0, 1, 0), b)
    q = Quat.slerp(q1, q2, t)
    v = q * Quat(0.0, 1.0, 2.0, 3.0) * q.conj()
    return v.x * v.y + v.z


# ---------------------------------------------------------------- phong
@program(
    "photogrammetry/graphics: Phong shading with ray-sphere, objects as SimpleNamespace, any/all/min with default",
    lambda: (np.array([[0.0, 0.1, 4.0], [0.9, -0.2, 5.0]]), np.array([1.0, 0.7]), np.array([3.0, 4.0, -2.0])),
    wrt=(0, 1, 2),
)
def phong(centers, radii, light):
    spheres = [
        SimpleNamespace(c=c, r=r, color=np.array(col))
        for c, r, col in zip(centers, radii, [(1, 0.2, 0.1), (0.3, 0.8, 0.4)])
    ]
    image = np.zeros((4, 4, 3))
    normalize = lambda v: v / np.linalg.norm(v)

    def hit(s, o, d):
        oc = o - s.c
        b = oc @ d
        disc = b * b - (oc @ oc - s.r**2)
        if disc < 0:
            return None
        t = -b - np.sqrt(disc)
        return t if t > 1e-4 else None

    for iy, ix in np.ndindex(4, 4):
        d = normalize(np.array([(ix - 1.43) / 4, (1.47 - iy) / 4, 1.0]))
        o = np.zeros(3)
        hits = [(t, k) for k, s in enumerate(spheres) if (t := hit(s, o, d)) is not None]
        if not hits:
            continue
        t, k = min(hits)
        s = spheres[k]
        p = o + t * d
        n = normalize(p - s.c)
        l = normalize(light - p)
        shadow = any(hit(other, p + 1e-3 * n, l) is not None for other in spheres if other is not s)
        diffuse = 0.0 if shadow else max(n @ l, 0.0)
        image[iy, ix] = s.color * (0.1 + diffuse)
    return (image**2).mean() * 10


# ---------------------------------------------------------------- polygon_moments
@program(
    "computational geometry: smallest enclosing via softmax, polygon clipping area, centroid and moments by shoelace",
    lambda: (np.array([[0.0, 0.1], [2.0, 0.0], [2.5, 1.5], [1.0, 2.2], [-0.3, 1.2]]),),
)
def polygon_moments(P):
    Q = np.roll(P, -1, axis=0)
    cross = P[:, 0] * Q[:, 1] - Q[:, 0] * P[:, 1]
    area = cross.sum() / 2
    centroid = ((P + Q) * cross[:, None]).sum(axis=0) / (6 * area)
    C = P - centroid
    D = np.roll(C, -1, axis=0)
    c2 = C[:, 0] * D[:, 1] - D[:, 0] * C[:, 1]
    Ixx = np.sum(c2 * (C[:, 1] ** 2 + C[:, 1] * D[:, 1] + D[:, 1] ** 2)) / 12
    Iyy = np.sum(c2 * (C[:, 0] ** 2 + C[:, 0] * D[:, 0] + D[:, 0] ** 2)) / 12
    Ixy = np.sum(c2 * (C[:, 0] * D[:, 1] + 2 * C[:, 0] * C[:, 1] + 2 * D[:, 0] * D[:, 1] + D[:, 0] * C[:, 1])) / 24
    axes = np.linalg.eigvalsh(np.array([[Ixx, -Ixy], [-Ixy, Iyy]]))
    perimeter = np.linalg.norm(Q - P, axis=1).sum()
    diameter = cdist(P, P).max()
    return axes[1] / axes[0] + 4 * np.pi * area / perimeter**2 + diameter


# ---------------------------------------------------------------- kabsch_rmsd
@program("geometry: RMSD by Kabsch", lambda: (rng(4).normal(size=(6, 3)), rng(5).normal(size=(6, 3))), wrt=(0, 1))
def kabsch_rmsd(P, Q):
    Pc, Qc = P - P.mean(0), Q - Q.mean(0)
    H = Pc.T @ Qc
    U, S, Vt = np.linalg.svd(H)
    d = np.sign(np.linalg.det(Vt.T @ U.T))
    D = np.diag([1.0, 1.0, d])
    Rm = Vt.T @ D @ U.T
    diff = Pc @ Rm.T - Qc
    return np.sqrt((diff**2).sum() / len(P)) + np.trace(Rm) * 0.1


# ---------------------------------------------------------------- clip_area
@program(
    "geometry: polygon clipping (Sutherland-Hodgman) with list of points",
    lambda: (np.array([[0.0, 0], [2, 0.3], [1.7, 2], [-0.2, 1.5]]),),
)
def clip_area(poly):
    clip = [(1, 0, 1.5), (0, 1, 1.4), (-1, 0, 0.1), (0, -1, 0.05)]
    pts = [tuple(p) for p in poly]
    for a, b, c in clip:
        out = []
        prev = pts[-1]
        for cur in pts:
            dc, dp = c - a * cur[0] - b * cur[1], c - a * prev[0] - b * prev[1]
            if (dc >= 0) != (dp >= 0):
                t = dp / (dp - dc)
                out.append((prev[0] + t * (cur[0] - prev[0]), prev[1] + t * (cur[1] - prev[1])))
            if dc >= 0:
                out.append(cur)
            prev = cur
        pts = out
    x, y = zip(*pts)
    x, y = np.array(x), np.array(y)
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


# ---------------------------------------------------------------- hull_area
@program("computational geometry: convex hull area then polygon moments", lambda: (rng(21).normal(size=(15, 2)),))
def hull_area(pts):
    order = sorted(range(len(pts)), key=lambda i: (pts[i, 0], pts[i, 1]))

    def cross(o, a, b):
        return (pts[a, 0] - pts[o, 0]) * (pts[b, 1] - pts[o, 1]) - (pts[a, 1] - pts[o, 1]) * (pts[b, 0] - pts[o, 0])

    def half(idx):
        out = []
        for p in idx:
            while len(out) >= 2 and cross(out[-2], out[-1], p) <= 0:
                out.pop()
            out.append(p)
        return out[:-1]

    hull = half(order) + half(order[::-1])
    area = 0.0
    for i, j in zip(hull, hull[1:] + hull[:1]):
        area += pts[i, 0] * pts[j, 1] - pts[j, 0] * pts[i, 1]
    return abs(area) / 2


# ---------------------------------------------------------------- banner_xpbd_energy
class Node:
    __slots__ = ("inv_mass", "pos", "prev", "vel")

    def __init__(self, pos, inv_mass):
        self.pos, self.prev = np.array(pos, dtype=float), np.array(pos, dtype=float)
        self.vel, self.inv_mass = np.zeros(3), inv_mass


class DistanceConstraint:
    def __init__(self, a, b, compliance):
        self.a, self.b, self.compliance = a, b, compliance
        self.rest = np.linalg.norm(a.pos - b.pos)

    def solve(self, dt):
        if (w := self.a.inv_mass + self.b.inv_mass) == 0.0:
            return
        along = self.a.pos - self.b.pos
        length = np.linalg.norm(along)
        lam = -(length - self.rest) / (w + self.compliance / dt**2)
        self.a.pos += self.a.inv_mass * lam / length * along
        self.b.pos -= self.b.inv_mass * lam / length * along


class Cloth:
    gravity = np.array([0.0, -9.81, 0.0])

    def __init__(self, n, spacing, mass, stretch, shear):
        self.grid = [[Node((c * spacing, 0.02 * r * c, r * spacing), n**2 / mass) for c in range(n)] for r in range(n)]
        self.grid[0][0].inv_mass = self.grid[0][-1].inv_mass = 0.0
        self.nodes = sum(self.grid, [])
        self.constraints = []
        for r, c in itertools.product(range(n), repeat=2):
            for dr, dc, soft in ((0, 1, stretch), (1, 0, stretch), (1, 1, shear), (1, -1, shear)):
                if r + dr < n and 0 <= c + dc < n:
                    self.constraints.append(DistanceConstraint(self.grid[r][c], self.grid[r + dr][c + dc], soft))

    def faces(self):
        for upper, lower in itertools.pairwise(self.grid):
            for a, b, c, d in zip(upper, upper[1:], lower, lower[1:]):
                yield from ((a, b, c), (b, d, c))

    def step(self, dt, wind, damping, centre, radius):
        for tri in self.faces():
            p, q, r = (n.pos for n in tri)
            normal = np.cross(q - p, r - p)
            push = normal * (normal @ (wind - sum(n.vel for n in tri) / 3)) / np.linalg.norm(normal)
            for n in tri:
                n.vel += dt * n.inv_mass * 0.2 * push
        for n in self.nodes:
            n.prev = n.pos.copy()
            if n.inv_mass:
                n.vel += dt * self.gravity
                n.pos += dt * n.vel
        for con in self.constraints:
            con.solve(dt)
        for n in self.nodes:
            if (dist := np.linalg.norm(n.pos - centre)) < radius:
                n.pos = centre + (n.pos - centre) * (radius / dist)
            n.vel = (n.pos - n.prev) / dt * math.exp(-damping * dt)


@program(
    "cloth simulation: XPBD on a hanging banner in the wind that drapes over a ball, potential plus kinetic energy",
    lambda: (np.array([1.5, 0.2, -2.5]), 2e-4, 0.35, 0.8),
    wrt=(0, 1, 2, 3),
)
def banner_xpbd_energy(wind, compliance, mass, damping):
    banner = Cloth(4, 0.25, mass, compliance, 3 * compliance)
    for _ in range(24):
        banner.step(1 / 60, wind, damping, centre=np.array([0.4, -0.35, 0.5]), radius=0.25)
    kinetic = sum(0.5 * (n.vel @ n.vel) / n.inv_mass for n in banner.nodes if n.inv_mass)
    potential = sum(-(banner.gravity @ n.pos) / n.inv_mass for n in banner.nodes if n.inv_mass)
    return float(kinetic + potential)


# ---------------------------------------------------------------- paint_delta_e_under_lamp
def _lobe(wl, mean, left, right):
    return np.exp(-0.5 * ((wl - mean) / np.where(wl < mean, left, right)) ** 2)


def wyman_cmfs(wl):
    x = (
        1.056 * _lobe(wl, 599.8, 37.9, 31.0)
        + 0.362 * _lobe(wl, 442.0, 16.0, 26.7)
        - 0.065 * _lobe(wl, 501.1, 20.4, 26.2)
    )
    y = 0.821 * _lobe(wl, 568.8, 46.9, 40.5) + 0.286 * _lobe(wl, 530.9, 16.3, 31.1)
    z = 1.217 * _lobe(wl, 437.0, 11.8, 36.0) + 0.681 * _lobe(wl, 459.0, 26.0, 13.8)
    return np.stack([x, y, z])


def planck(wl, kelvin):
    return (560.0 / wl) ** 5 * np.expm1(1.4388e7 / (560.0 * kelvin)) / np.expm1(1.4388e7 / (wl * kelvin))


D65_WHITE = np.array([0.95047, 1.0, 1.08883])


BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


def adapt(xyz, source_white, target_white=D65_WHITE):
    gain = (BRADFORD @ target_white) / (BRADFORD @ source_white)
    return np.einsum("ij,j,jk,...k->...i", np.linalg.inv(BRADFORD), gain, BRADFORD, xyz)


def xyz_to_lab(xyz, white=D65_WHITE):
    t = xyz / white
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def delta_e_2000(lab1, lab2, kL=1.0, kC=1.0, kH=1.0):
    (L1, a1, b1), (L2, a2, b2) = np.moveaxis(lab1, -1, 0), np.moveaxis(lab2, -1, 0)
    c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 1 + 0.5 * (1 - np.sqrt(c7 / (c7 + 25.0**7)))
    C1, C2 = np.hypot(g * a1, b1), np.hypot(g * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    dh = (h2 - h1 + 180) % 360 - 180
    h_bar = np.where(np.abs(h1 - h2) > 180, (h1 + h2 + 360) / 2, (h1 + h2) / 2) % 360
    L_bar, C_bar = (L1 + L2) / 2, (C1 + C2) / 2
    waves = [(-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63)]
    T = 1 + sum(amp * np.cos(np.radians(n * h_bar + shift)) for amp, n, shift in waves)
    S_L = 1 + 0.015 * (L_bar - 50) ** 2 / np.sqrt(20 + (L_bar - 50) ** 2)
    S_C, S_H = 1 + 0.045 * C_bar, 1 + 0.015 * C_bar * T
    R_T = -2 * np.sqrt(C_bar**7 / (C_bar**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h_bar - 275) / 25) ** 2))))
    l_term, c_term = (L2 - L1) / (kL * S_L), (C2 - C1) / (kC * S_C)
    h_term = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(dh) / 2) / (kH * S_H)
    return np.sqrt(l_term**2 + c_term**2 + h_term**2 + R_T * c_term * h_term)


@program(
    "colour science: paints under a black-body lamp, spectra to XYZ to adapted "
    "Lab, the mean CIEDE2000 to the print targets",
    lambda: (np.array([[0.1, 0.2, 0.5, 0.4, 0.2], [0.05, 0.1, 0.2, 0.6, 0.7]]), 3100.0, 1.5),
    wrt=(0, 1, 2),
)
def paint_delta_e_under_lamp(knots, kelvin, lightness_weight):
    wl = np.arange(400.0, 701.0, 10.0)
    reflectance = np.array([np.interp(wl, np.linspace(400, 700, row.size), row) for row in knots])
    weights = wyman_cmfs(wl) * planck(wl, kelvin)
    weights = weights / weights[1].sum()
    pipeline = [lambda s: s @ weights.T, functools.partial(adapt, source_white=weights.sum(axis=1)), xyz_to_lab]
    lab = functools.reduce(lambda value, stage: stage(value), pipeline, reflectance)
    targets = np.array([[68.0, -22.0, 30.0], [55.0, 30.0, 35.0]])
    return float(delta_e_2000(lab, targets, kL=lightness_weight).mean())


# ---------------------------------------------------------------- profile_error
def srgb_to_linear(c):
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def rgb_to_lab(rgb, white=(0.9505, 1.0, 1.089)):
    M = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = srgb_to_linear(rgb) @ M.T / np.asarray(white)
    eps = (6 / 29) ** 3
    f = np.where(xyz > eps, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    L = 116 * f[:, 1] - 16
    a = 500 * (f[:, 0] - f[:, 1])
    b = 200 * (f[:, 1] - f[:, 2])
    return np.stack([L, a, b], axis=-1)


@program(
    "colour science: mean CIE76 error of a colour correction matrix with a tone exponent",
    lambda: (
        np.array([[0.9, 0.05, 0.02], [0.03, 0.88, 0.04], [0.0, 0.06, 0.9]]),
        0.9,
        np.array([[0.4, 0.3, 0.2], [0.1, 0.6, 0.3], [0.7, 0.7, 0.65], [0.2, 0.15, 0.5], [0.02, 0.03, 0.4]]),
        np.array([[36.0, 10, 15], [55, -40, 20], [75, 0, 3], [22, 20, -40], [12, 25, -45.0]]),
    ),
    wrt=(0, 1, 2),
)
def profile_error(ccm, gamma, camera, reference):
    """Mean CIE76 error of a colour correction matrix with a tone exponent."""
    rgb = np.clip(camera @ ccm.T, 1e-4, 1.0) ** gamma
    lab = rgb_to_lab(rgb)
    return np.mean(np.sqrt(np.sum((lab - reference) ** 2, axis=1)))


# ---------------------------------------------------------------- delta_e
@program(
    "color science: the difference of two colours by CIEDE2000, from linear RGB",
    lambda: (np.array([0.42, 0.31, 0.17]), np.array([0.40, 0.35, 0.12])),
    wrt=(0, 1),
)
def delta_e(one, other):
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    white = to_xyz.sum(axis=1)

    def lab(rgb):
        t = to_xyz @ rgb / white
        f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
        return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])

    (L1, a1, b1), (L2, a2, b2) = map(lab, (one, other))
    Cm = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    G = 0.5 * (1 - math.sqrt(Cm**7 / (Cm**7 + 25**7)))
    a1, a2 = (1 + G) * a1, (1 + G) * a2
    C1, C2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    dh = h2 - h1
    if abs(dh) > 180:
        dh -= math.copysign(360, dh)
    dH = 2 * math.sqrt(C1 * C2) * math.sin(math.radians(dh / 2))
    Lm, Cm, hm = (L1 + L2) / 2, (C1 + C2) / 2, (h1 + h2) / 2
    T = 1 - sum(
        w * math.cos(math.radians(n * hm + o))
        for w, n, o in ((0.17, 1, -30), (-0.24, 2, 0), (-0.32, 3, 6), (0.2, 4, -63))
    )
    SL = 1 + 0.015 * (Lm - 50) ** 2 / math.sqrt(20 + (Lm - 50) ** 2)
    SC, SH = 1 + 0.045 * Cm, 1 + 0.015 * Cm * T
    RT = -2 * math.sqrt(Cm**7 / (Cm**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((hm - 275) / 25) ** 2))))
    return math.sqrt(((L2 - L1) / SL) ** 2 + ((C2 - C1) / SC) ** 2 + (dH / SH) ** 2 + RT * ((C2 - C1) / SC) * (dH / SH))


# ---------------------------------------------------------------- hand_objective
BONES = [("root", -1), ("palm", 0), ("index1", 1), ("index2", 2), ("thumb1", 1), ("thumb2", 4)]


def angle_axis_to_rotation_matrix(angle_axis):
    n = np.sqrt(np.sum(angle_axis**2))
    if n < 0.0001:
        return np.identity(3)
    x, y, z = angle_axis / n
    s, c = np.sin(n), np.cos(n)
    return np.array(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )


def euler_angles_to_rotation_matrix(xzy):
    tx, tz, ty = xzy
    Rx = np.array([[1, 0, 0], [0, np.cos(tx), -np.sin(tx)], [0, np.sin(tx), np.cos(tx)]])
    Ry = np.array([[np.cos(ty), 0, np.sin(ty)], [0, 1, 0], [-np.sin(ty), 0, np.cos(ty)]])
    Rz = np.array([[np.cos(tz), -np.sin(tz), 0], [np.sin(tz), np.cos(tz), 0], [0, 0, 1]])
    return Rz @ Ry @ Rx


def to_pose_params(theta, nbones):
    pose = np.zeros((nbones + 3, 3))
    pose[0] = theta[0:3]
    pose[1] = 1.0
    pose[2] = theta[3:6]
    i_theta, i_pose = 6, 5
    for _ in range(2):
        for i in (2, 3):
            if i_pose >= nbones + 3:
                break
            pose[i_pose, 0] = theta[i_theta]
            i_theta += 1
            if i == 2:
                pose[i_pose, 1] = theta[i_theta]
                i_theta += 1
            i_pose += 1
    return pose


@program(
    "ADBench: hand tracking, the skinning of a small hand with theta -> pose -> vertex positions",
    lambda: (rng(0).normal(size=12) * 0.4, rng(1).random((8, 3)), rng(2).random((8, 3))),
    wrt=(0, 1),
)
def hand_objective(theta, verts, points):
    n = len(BONES)
    pose = to_pose_params(theta, n)
    base_relative = [np.eye(4) for _ in range(n)]
    for i in range(n):
        base_relative[i][:3, 3] = [0.1 * i, 0.3, -0.05 * i]
    relatives = []
    for i in range(n):
        tr = np.eye(4)
        R = euler_angles_to_rotation_matrix(pose[i + 3])
        tr[:3, :3] = R
        relatives.append(base_relative[i] @ tr)
    absolutes = []
    for (name, parent), rel in zip(BONES, relatives):
        absolutes.append(rel if parent == -1 else absolutes[parent] @ rel)
    weights = np.abs(np.sin(np.arange(n * len(verts)).reshape(n, -1) + 1.0))
    weights /= weights.sum(axis=0, keepdims=True)
    homog = np.hstack([verts, np.ones((verts.shape[0], 1))])
    positions = np.zeros((len(verts), 3))
    for i, transform in enumerate(absolutes):
        positions += (transform[:3, :] @ homog.T).T * weights[i][:, None]
    R = angle_axis_to_rotation_matrix(pose[0])
    positions = (positions * pose[1]) @ R.T + pose[2]
    err = points - positions
    return np.sum(err**2)


# ---------------------------------------------------------------- phrase
@program(
    "choreography: dancers between formations on Catmull-Rom paths in the complex "
    "plane, spacing, mirror symmetry and effort",
    lambda: (rng(7).normal(size=(4, 6)) * 2.0, rng(8).normal(size=(4, 6)) * 2.0, 0.45, np.array([0.2, -0.3, 0.1])),
    wrt=(0, 1, 2, 3),
)
def phrase(xs, ys, tension, turns):
    beats = np.linspace(0.0, 1.0, 8, endpoint=False)

    def segment(tension, keys):
        p0, p1, p2, p3 = keys
        m1, m2 = tension * (p2 - p0), tension * (p3 - p1)
        basis = [2 * beats**3 - 3 * beats**2 + 1, beats**3 - 2 * beats**2 + beats]
        basis += [3 * beats**2 - 2 * beats**3, beats**3 - beats**2]
        return reduce(lambda path, term: path + term[0] * term[1], zip(basis, (p1, m1, p2, m2)), 0j)

    curve = partial(segment, tension)
    floor = xs + 1j * ys
    rotated = [z * np.exp(1j * np.cumsum(np.concatenate(([0.0], turns, [0.0, 0.0])))) for z in floor]
    paths = [np.concatenate(list(map(curve, zip(z, z[1:], z[2:], z[3:])))) for z in rotated]
    effort = sum(np.sum(np.abs(np.diff(z, n=3)) ** 2) for z in paths)
    crowding = sum(np.exp(-(np.abs(a - b) ** 2)).mean() for a, b in itertools.combinations(paths, 2))
    left, right = paths[:2], paths[2:]
    mirror = sum(np.abs(a + b.conj()).mean() for a, b in zip(left, reversed(right)))
    facing = np.angle(np.vdot(paths[0], paths[-1]))
    return effort + 3.0 * crowding + 0.1 * mirror + facing
