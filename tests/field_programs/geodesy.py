"""Geodesy, surveying, maps and navigation."""

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy import pi
from scipy import linalg, optimize

from tests.field_programs import program, rng


# ---------------------------------------------------------------- baseline_residual
def geodetic_to_ecef(lat, lon, h, a=6378137.0, f=1 / 298.257223563):
    e2 = f * (2 - f)
    N = a / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    return (
        (N + h) * math.cos(lat) * math.cos(lon),
        (N + h) * math.cos(lat) * math.sin(lon),
        (N * (1 - e2) + h) * math.sin(lat),
    )


def vincenty_inverse(lat1, lon1, lat2, lon2, a=6378137.0, f=1 / 298.257223563):
    """Geodesic distance on the ellipsoid."""
    b = (1 - f) * a
    U1 = math.atan((1 - f) * math.tan(lat1))
    U2 = math.atan((1 - f) * math.tan(lat2))
    L = lon2 - lon1
    lam = L
    while True:
        sl, cl = math.sin(lam), math.cos(lam)
        sin_sigma = math.hypot(math.cos(U2) * sl, math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * cl)
        if sin_sigma == 0:
            return 0.0
        cos_sigma = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * cl
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(U1) * math.cos(U2) * sl / sin_sigma
        cos2a = 1 - sin_alpha**2
        c2sm = cos_sigma - 2 * math.sin(U1) * math.sin(U2) / cos2a
        C = f / 16 * cos2a * (4 + f * (4 - 3 * cos2a))
        lam_new = L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * (c2sm + C * cos_sigma * (-1 + 2 * c2sm**2)))
        if abs(lam_new - lam) < 1e-14:
            break
        lam = lam_new
    u2 = cos2a * (a**2 - b**2) / b**2
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    dsig = (
        B
        * sin_sigma
        * (
            c2sm
            + B / 4 * (cos_sigma * (-1 + 2 * c2sm**2) - B / 6 * c2sm * (-3 + 4 * sin_sigma**2) * (-3 + 4 * c2sm**2))
        )
    )
    return b * A * (sigma - dsig)


@program(
    "sum of squared relative residuals of surface distance and chord to known stations",
    lambda: (
        0.83,
        0.12,
        250.0,
        [(0.80, 0.05, 10.0), (0.9, 0.2, 300.0), (0.78, 0.22, 120.0)],
        [330000.0, 540000.0, 510000.0],
    ),
    wrt=(0, 1, 2),
)
def baseline_residual(lat, lon, h, stations, slant):
    """Sum of squared relative residuals of surface distance and chord to known stations."""
    p = geodetic_to_ecef(lat, lon, h)
    total = 0.0
    for (la, lo, hh), obs in zip(stations, slant):
        q = geodetic_to_ecef(la, lo, hh)
        chord = math.dist(p, q)
        arc = vincenty_inverse(lat, lon, la, lo)
        total += ((chord - obs) / obs) ** 2 + 0.1 * ((arc - obs) / obs) ** 2
    return total


# ---------------------------------------------------------------- vincenty
@program("Vincenty with break", lambda: (np.array([0.7, -0.2, 0.9, 1.1]),))
def vincenty(p):
    lat1, lon1, lat2, lon2 = p
    a, f = 6378.137, 1 / 298.257
    b = (1 - f) * a
    U1, U2 = math.atan((1 - f) * math.tan(lat1)), math.atan((1 - f) * math.tan(lat2))
    L = lam = lon2 - lon1
    for _ in range(100):
        sl, cl = math.sin(lam), math.cos(lam)
        ss = math.sqrt((math.cos(U2) * sl) ** 2 + (math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * cl) ** 2)
        cs = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * cl
        s = math.atan2(ss, cs)
        sa = math.cos(U1) * math.cos(U2) * sl / ss
        c2a = 1 - sa**2
        c2m = cs - 2 * math.sin(U1) * math.sin(U2) / c2a if c2a else 0.0
        C = f / 16 * c2a * (4 + f * (4 - 3 * c2a))
        prev, lam = lam, L + (1 - C) * f * sa * (s + C * ss * (c2m + C * cs * (-1 + 2 * c2m**2)))
        if abs(lam - prev) < 1e-13:
            break
    u2 = c2a * (a * a - b * b) / (b * b)
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    return b * A * s


# ---------------------------------------------------------------- vincenty_iterated
@program("Vincenty with while loop and else", lambda: (np.radians([52.0, 13.0]), np.radians([40.7, -74.0])), wrt=(0, 1))
def vincenty_iterated(p1, p2, a=6378137.0, f=1 / 298.257223563, tol=1e-12):
    b = (1 - f) * a
    (phi1, lam1), (phi2, lam2) = p1, p2
    U1, U2 = np.arctan((1 - f) * np.tan([phi1, phi2]))
    L = lam2 - lam1
    lam = L
    for _ in range(200):
        sinl, cosl = np.sin(lam), np.cos(lam)
        sins = np.hypot(np.cos(U2) * sinl, np.cos(U1) * np.sin(U2) - np.sin(U1) * np.cos(U2) * cosl)
        if sins == 0:
            return 0.0
        coss = np.sin(U1) * np.sin(U2) + np.cos(U1) * np.cos(U2) * cosl
        sig = np.arctan2(sins, coss)
        sina = np.cos(U1) * np.cos(U2) * sinl / sins
        cos2a = 1 - sina**2
        cos2sm = coss - 2 * np.sin(U1) * np.sin(U2) / cos2a if cos2a != 0 else 0.0
        C = f / 16 * cos2a * (4 + f * (4 - 3 * cos2a))
        lam_prev, lam = lam, L + (1 - C) * f * sina * (sig + C * sins * (cos2sm + C * coss * (-1 + 2 * cos2sm**2)))
        if abs(lam - lam_prev) < tol:
            break
    else:
        raise RuntimeError("did not converge")
    u2 = cos2a * (a**2 - b**2) / b**2
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    ds = B * sins * (cos2sm + B / 4 * (coss * (-1 + 2 * cos2sm**2)))
    return b * A * (sig - ds) * 1e-6


# ---------------------------------------------------------------- helmert
@program(
    "coordinate transforms and least squares adjustment with scipy block_diag",
    lambda: (np.array([0.1, -0.2, 0.3, 1.001]), rng(1).normal(size=(5, 3)), rng(2).normal(size=(5, 3))),
    wrt=(0, 1),
)
def helmert(t, src, dst):
    *angles, scale = t
    cx, cy, cz = np.cos(angles)
    sx, sy, sz = np.sin(angles)
    Rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    moved = scale * src @ (Rz @ Ry @ Rx).T
    W = linalg.block_diag(*[np.eye(3) * (i + 1) for i in range(len(src))])
    r = (moved - dst).reshape(-1)
    return r @ W @ r


# ---------------------------------------------------------------- utm_forward
@dataclass(frozen=True)
class Ellipsoid:
    a: float = 6378137.0
    f: float = 1 / 298.257223563

    @property
    def n(self) -> float:
        return self.f / (2 - self.f)

    @property
    def A(self) -> float:
        return self.a / (1 + self.n) * (1 + self.n**2 / 4 + self.n**4 / 64)

    @classmethod
    def grs80(cls) -> "Ellipsoid":
        return cls(f=1 / 298.257222101)


@program(
    "UTM forward by Krueger series, dataclass ellipsoid with properties",
    lambda: (np.radians([47.3, 8.5]), math.radians(9.0)),
    wrt=(0, 1),
)
def utm_forward(latlon, lon0, *, k0: float = 0.9996, E0=500e3, ell: Optional[Ellipsoid] = None):
    ell = ell or Ellipsoid.grs80()
    lat, lon = latlon
    n = ell.n
    alpha = [n / 2 - 2 * n**2 / 3 + 5 * n**3 / 16, 13 * n**2 / 48 - 3 * n**3 / 5, 61 * n**3 / 240]
    c = 2 * math.sqrt(n) / (1 + n)
    t = math.sinh(math.atanh(math.sin(lat)) - c * math.atanh(c * math.sin(lat)))
    xi = math.atan2(t, math.cos(lon - lon0))
    eta = math.atanh(math.sin(lon - lon0) / math.hypot(1, t))
    east = eta + sum(a * math.cos(2 * j * xi) * math.sinh(2 * j * eta) for j, a in enumerate(alpha, start=1))
    north = xi + sum(a * math.sin(2 * j * xi) * math.cosh(2 * j * eta) for j, a in enumerate(alpha, 1))
    E, N = E0 + k0 * ell.A * east, k0 * ell.A * north
    return E / 1e6 + N / 1e7


# ---------------------------------------------------------------- length_of_traverse
@program(
    "Vincenty's inverse formula, iterated to convergence, and a network of distances",
    lambda: (np.array([[0.83, 0.15], [0.9, 0.21], [0.86, 0.3]]), 6378.137),
    wrt=(0, 1),
)
def length_of_traverse(stations, a, f=1 / 298.257223563):
    def distance(p, q):
        b = a * (1 - f)
        (lat1, lon1), (lat2, lon2) = p, q
        U1, U2 = np.arctan((1 - f) * np.tan(lat1)), np.arctan((1 - f) * np.tan(lat2))
        L = lam = lon2 - lon1
        while True:
            sin_sigma = np.hypot(
                np.cos(U2) * np.sin(lam), np.cos(U1) * np.sin(U2) - np.sin(U1) * np.cos(U2) * np.cos(lam)
            )
            cos_sigma = np.sin(U1) * np.sin(U2) + np.cos(U1) * np.cos(U2) * np.cos(lam)
            sigma = np.arctan2(sin_sigma, cos_sigma)
            sin_alpha = np.cos(U1) * np.cos(U2) * np.sin(lam) / sin_sigma
            cos2 = 1 - sin_alpha**2
            mid = cos_sigma - 2 * np.sin(U1) * np.sin(U2) / cos2
            C = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
            before = lam
            lam = L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * (mid + C * cos_sigma * (2 * mid**2 - 1)))
            if abs(lam - before) < 1e-13:
                break
        u2 = cos2 * (a**2 - b**2) / b**2
        A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
        B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
        ds = B * sin_sigma * (mid + B / 4 * (cos_sigma * (2 * mid**2 - 1)))
        return b * A * (sigma - ds)

    legs = [distance(p, q) for p, q in zip(stations, stations[1:])]
    return sum(legs) / 100 + distance(stations[0], stations[-1]) / max(legs)


# ---------------------------------------------------------------- distance_on_the_ellipsoid
@program(
    "an orbit's ground track on an ellipsoid, distances by Vincenty's formula",
    lambda: (np.array([48.1, 11.6]), np.array([52.5, 13.4]), 6378.137, 298.257),
    wrt=(0, 1, 2, 3),
)
def distance_on_the_ellipsoid(here, there, a, inverse):
    f = 1 / inverse
    b = (1 - f) * a
    (phi1, lam1), (phi2, lam2) = np.deg2rad(here), np.deg2rad(there)
    U1, U2 = (math.atan((1 - f) * math.tan(phi)) for phi in (phi1, phi2))
    L = lam = lam2 - lam1
    for _ in range(50):
        sin_sigma = math.hypot(
            math.cos(U2) * math.sin(lam),
            math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * math.cos(lam),
        )
        cos_sigma = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * math.cos(lam)
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = math.cos(U1) * math.cos(U2) * math.sin(lam) / sin_sigma
        cos2 = 1 - sin_alpha**2
        mid = cos_sigma - 2 * math.sin(U1) * math.sin(U2) / cos2 if cos2 else 0.0
        C = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
        last, lam = (
            lam,
            L + (1 - C) * f * sin_alpha * (sigma + C * sin_sigma * (mid + C * cos_sigma * (-1 + 2 * mid**2))),
        )
        if abs(lam - last) < 1e-14:
            break
    else:
        raise ArithmeticError("nearly antipodal")
    u2 = cos2 * (a * a - b * b) / (b * b)
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    B = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    delta = B * sin_sigma * (mid + B / 4 * (cos_sigma * (-1 + 2 * mid**2)))
    return b * A * (sigma - delta)


# ---------------------------------------------------------------- geodesic
@program(
    "distance on an ellipsoid by Vincenty's iteration, adjusted for a loop closure",
    lambda: (np.array([0.86, 0.12]), np.array([0.88, 0.15]), 1 / 298.257),
    wrt=(0, 1, 2),
)
def geodesic(p, q, f, b=6356.752):
    U1, U2 = math.atan((1 - f) * math.tan(p[0])), math.atan((1 - f) * math.tan(q[0]))
    L = lam = q[1] - p[1]
    while True:
        sin_s = math.hypot(
            math.cos(U2) * math.sin(lam), math.cos(U1) * math.sin(U2) - math.sin(U1) * math.cos(U2) * math.cos(lam)
        )
        cos_s = math.sin(U1) * math.sin(U2) + math.cos(U1) * math.cos(U2) * math.cos(lam)
        sigma = math.atan2(sin_s, cos_s)
        sin_a = math.cos(U1) * math.cos(U2) * math.sin(lam) / sin_s
        cos2_a = 1 - sin_a**2
        cos_2m = cos_s - 2 * math.sin(U1) * math.sin(U2) / cos2_a if cos2_a else 0.0
        C = f / 16 * cos2_a * (4 + f * (4 - 3 * cos2_a))
        lam, old = (
            L + (1 - C) * f * sin_a * (sigma + C * sin_s * (cos_2m + C * cos_s * (2 * cos_2m**2 - 1))),
            lam,
        )
        if abs(lam - old) < 1e-13:
            break
    a = b / (1 - f)
    u2 = cos2_a * (a * a - b * b) / (b * b)
    A = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    return b * A * sigma


# ---------------------------------------------------------------- zonal_potential
def legendre_poly(n, x):
    if n == 0:
        return 1.0
    if n == 1:
        return x
    return ((2 * n - 1) * x * legendre_poly(n - 1, x) - (n - 1) * legendre_poly(n - 2, x)) / n


@program(
    "physical geodesy: potential with zonal harmonics J2, J3, ... plus the centrifugal term",
    lambda: (6900.0, 0.7, [1.08263e-3, -2.54e-6, -1.62e-6, -2.3e-7]),
    wrt=(0, 1, 2),
)
def zonal_potential(r, lat, J, GM=398600.44, R=6378.137):
    """Potential with zonal harmonics J2, J3, ... plus the centrifugal term."""
    s = math.sin(lat)
    u = GM / r
    total = 1.0
    for n, jn in enumerate(J, start=2):
        total -= jn * (R / r) ** n * legendre_poly(n, s)
    return u * total + 0.5 * (7.292e-5 * r * math.cos(lat)) ** 2


# ---------------------------------------------------------------- mollweide
@program(
    "cartography: map projection inverse by Newton per point, distortion ellipse by SVD of a Jacobian",
    lambda: (np.deg2rad(np.array([[10.0, 50.0], [-20.0, 35.0], [40.0, -15.0]])), 0.9),
    wrt=(0, 1),
)
def mollweide(lonlat, scale):
    total = 0.0
    for lon, lat in lonlat:
        theta = optimize.newton(
            lambda th: 2 * th + np.sin(2 * th) - np.pi * np.sin(lat),
            lat,
            fprime=lambda th: 2 + 2 * np.cos(2 * th),
        )
        x = scale * 2 * np.sqrt(2) / np.pi * lon * np.cos(theta)
        y = scale * np.sqrt(2) * np.sin(theta)
        dth = np.pi * np.cos(lat) / (4 * np.cos(theta) ** 2)
        J = scale * np.array(
            [
                [
                    2 * np.sqrt(2) / np.pi * np.cos(theta) / np.cos(lat),
                    -2 * np.sqrt(2) / np.pi * lon * np.sin(theta) * dth,
                ],
                [0.0, np.sqrt(2) * np.cos(theta) * dth],
            ]
        )
        a, b = np.linalg.svd(J, compute_uv=False)
        total += 2 * np.arcsin((a - b) / (a + b)) + 0.1 * x * y
    return total


# ---------------------------------------------------------------- polygon_props
Point = namedtuple("Point", "x y")


@program(
    "surveying: polygon area/centroid/moment via roll and zip",
    lambda: (np.array([[0.0, 0], [4, 0.2], [5, 3], [2, 4.5], [-0.5, 2]]),),
)
def polygon_props(pts):
    x, y = pts.T
    x2, y2 = np.roll(x, -1), np.roll(y, -1)
    cr = x * y2 - x2 * y
    A = cr.sum() / 2
    cx, cy = ((x + x2) * cr).sum() / (6 * A), ((y + y2) * cr).sum() / (6 * A)
    per = 0.0
    poly = [Point(*p) for p in pts]
    for a, b in zip(poly, poly[1:] + poly[:1]):
        per += math.dist(a, b)
    Ixx = (cr * (y * y + y * y2 + y2 * y2)).sum() / 12
    return 4 * pi * A / per**2 + cx * cy + Ixx / A


# ---------------------------------------------------------------- strapdown
def qmul(p, q):
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    return np.array(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ]
    )


def rotate(q, v):
    t = 2 * np.cross(q[1:], v)
    return v + q[0] * t + np.cross(q[1:], t)


@program(
    "navigation: strapdown quaternion integration with helper functions and np.cross",
    lambda: (np.array([0.01, -0.02, 0.005]), rng(3).normal(0, 0.3, (25, 3)), rng(4).normal(0, 1, (25, 3))),
)
def strapdown(bias, gyro, accel):
    q = np.array([1.0, 0, 0, 0])
    vel, pos = np.zeros(3), np.zeros(3)
    dt = 0.02
    for w, f in zip(gyro - bias, accel):
        angle = np.linalg.norm(w) * dt
        axis = w / np.linalg.norm(w)
        dq = np.concatenate(([np.cos(angle / 2)], np.sin(angle / 2) * axis))
        q = qmul(q, dq)
        q /= np.linalg.norm(q)
        vel = vel + (rotate(q, f) + np.array([0, 0, -9.81])) * dt
        pos += vel * dt
    return pos @ pos + (1 - q[0]) ** 2
