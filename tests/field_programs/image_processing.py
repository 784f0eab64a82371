"""Images, their registration, and cameras."""

import itertools
import math

import numpy as np
import scipy.linalg
import scipy.signal as sig
from numpy.lib.stride_tricks import sliding_window_view
from scipy import interpolate, signal, special
from scipy.ndimage import gaussian_filter

from tests.field_programs import program, rng


# ---------------------------------------------------------------- image_filters
@program(
    "image filters", lambda: (rng(9).normal(size=(8, 8)), np.array([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])), wrt=(0, 1)
)
def image_filters(img, ker):
    lap = sig.convolve2d(img, ker, mode="same")
    pad = np.pad(img, 1, mode="edge")
    gx = pad[1:-1, 2:] - pad[1:-1, :-2]
    gy = pad[2:, 1:-1] - pad[:-2, 1:-1]
    mag = np.hypot(gx, gy)
    pooled = img.reshape(4, 2, 4, 2).max(axis=(1, 3))
    win = np.lib.stride_tricks.sliding_window_view(img, (3, 3))
    blur = np.tensordot(win, np.ones((3, 3)) / 9, axes=((2, 3), (0, 1)))
    gy2, gx2 = np.gradient(img)
    return (
        (lap**2).mean()
        + mag.sum() * 0.1
        + pooled.sum()
        + blur.std()
        + np.abs(gx2 * gy2).sum()
        + np.median(win, axis=(2, 3)).sum()
    )


# ---------------------------------------------------------------- bilateral
@program("bilateral filter with padding and shifts", lambda: (rng(11).random((7, 8)), 0.8, 0.3), wrt=(0, 1, 2))
def bilateral(img, sigma_s, sigma_r):
    pad = np.pad(img, 1, mode="reflect")
    out = np.zeros_like(img)
    norm = np.zeros_like(img)
    h, w = img.shape
    for dy, dx in itertools.product((-1, 0, 1), repeat=2):
        shifted = pad[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w]
        weight = np.exp(-(dx * dx + dy * dy) / (2 * sigma_s**2) - (shifted - img) ** 2 / (2 * sigma_r**2))
        out += weight * shifted
        norm += weight
    return np.mean((out / norm - img) ** 2) + np.abs(np.gradient(out / norm, axis=0)).max()


# ---------------------------------------------------------------- smoothed_but_sharp
@program(
    "anisotropic diffusion after Perona and Malik, then the sharpness of what is left",
    lambda: (rng(3).random((9, 8)) + np.eye(9, 8), 0.3, 0.2),
    wrt=(0, 1, 2),
)
def smoothed_but_sharp(image, kappa, lam):
    def conduct(d):
        return 1.0 / (1.0 + (d / kappa) ** 2)

    u = image.astype(float)
    for _ in range(6):
        padded = np.pad(u, 1, mode="edge")
        flows = [
            padded[:-2, 1:-1] - u,
            padded[2:, 1:-1] - u,
            padded[1:-1, :-2] - u,
            padded[1:-1, 2:] - u,
        ]
        u = u + lam * sum(conduct(d) * d for d in flows)
    gy, gx = np.gradient(u)
    kernel = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    return np.hypot(gx, gy).mean() + np.var(signal.convolve2d(u, kernel, mode="valid"))


# ---------------------------------------------------------------- ncc_loss
def warp_image(img, theta, tx, ty):
    """Bilinear resampling of img after a rigid motion."""
    ny, nx = img.shape
    yy, xx = np.meshgrid(np.arange(ny), np.arange(nx), indexing="ij")
    cy, cx = (ny - 1) / 2, (nx - 1) / 2
    c, s = np.cos(theta), np.sin(theta)
    xs = c * (xx - cx) - s * (yy - cy) + cx + tx
    ys = s * (xx - cx) + c * (yy - cy) + cy + ty
    x0 = np.clip(np.floor(xs).astype(int), 0, nx - 2)
    y0 = np.clip(np.floor(ys).astype(int), 0, ny - 2)
    fx, fy = xs - x0, ys - y0
    return (
        (1 - fy) * (1 - fx) * img[y0, x0]
        + (1 - fy) * fx * img[y0, x0 + 1]
        + fy * (1 - fx) * img[y0 + 1, x0]
        + fy * fx * img[y0 + 1, x0 + 1]
    )


def _blob(cx, cy, n=10):
    y, x = np.mgrid[0:n, 0:n]
    return np.exp(-((x - cx) ** 2 + 1.5 * (y - cy) ** 2 + 0.4 * (x - cx) * (y - cy)) / 8.0)


@program(
    "image registration: a rigid motion by normalised cross-correlation",
    lambda: (0.0371, 0.313, -0.273, _blob(4.2, 5.1), _blob(4.8, 4.6)),
    wrt=(0, 1, 2, 3),
)
def ncc_loss(theta, tx, ty, moving, fixed):
    w = warp_image(moving, theta, tx, ty)[1:-1, 1:-1]
    f = fixed[1:-1, 1:-1]
    w = w - w.mean()
    f = f - f.mean()
    return 1.0 - np.sum(w * f) / np.sqrt(np.sum(w**2) * np.sum(f**2))


# ---------------------------------------------------------------- mutual_information
@program(
    "image registration: bicubic spline warp, mutual information with soft histogram, smoothness",
    lambda: (np.array([0.3, -0.2, 0.05]), rng(11).random((8, 8))),
    wrt=(0, 1),
)
def mutual_information(p, image):
    tx, ty, phi = p
    ii, jj = np.mgrid[0:8, 0:8].astype(float)
    ci, cj = ii - 3.5, jj - 3.5
    u = np.clip(np.cos(phi) * ci - np.sin(phi) * cj + 3.5 + tx, 0, 6.999)
    v = np.clip(np.sin(phi) * ci + np.cos(phi) * cj + 3.5 + ty, 0, 6.999)
    interp = interpolate.RegularGridInterpolator((np.arange(8.0), np.arange(8.0)), image)
    moved = interp(np.stack([u, v], axis=-1))
    fixed = np.sqrt(image)
    centers = np.linspace(0, 1, 6)
    k = lambda a: np.exp(-((a.ravel()[:, None] - centers) ** 2) / (2 * 0.1**2))
    A, B = k(fixed), k(moved)
    joint = A.T @ B
    joint /= joint.sum()
    px, py = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    return np.sum(joint * np.log(joint / (px @ py)))


# ---------------------------------------------------------------- edge_density
@program(
    "image science: unsharp masking, Canny-like gradient magnitude, soft edges density",
    lambda: (rng(12).random((10, 10)), 0.8),
    wrt=(0, 1),
)
def edge_density(img, amount):
    smooth = gaussian_filter(img, 1.0)
    sharp = img + amount * (img - smooth)
    gy, gx = np.gradient(sharp)
    mag = np.hypot(gx, gy)
    edges = 1 / (1 + np.exp(-(mag - mag.mean()) / (mag.std() + 1e-6)))
    return edges[1:-1, 1:-1].mean() + np.abs(np.diff(sharp, axis=0)).mean()


# ---------------------------------------------------------------- warp_energy
@program("TV denoise energy, bilinear warp", lambda: (rng(9).normal(size=(10, 12)), np.array([0.3, -0.6])), wrt=(0, 1))
def warp_energy(img, shift):
    H, W = img.shape
    yy, xx = np.mgrid[0:H, 0:W]
    ys, xs = np.clip(yy + shift[0], 0, H - 1.001), np.clip(xx + shift[1], 0, W - 1.001)
    y0, x0 = np.floor(ys).astype(int), np.floor(xs).astype(int)
    fy, fx = ys - y0, xs - x0
    warped = (
        img[y0, x0] * (1 - fy) * (1 - fx)
        + img[y0, x0 + 1] * (1 - fy) * fx
        + img[y0 + 1, x0] * fy * (1 - fx)
        + img[y0 + 1, x0 + 1] * fy * fx
    )
    gx, gy = np.gradient(warped)
    return np.sqrt(gx**2 + gy**2 + 1e-2).sum() + 0.1 * np.sum((warped - img) ** 2)


# ---------------------------------------------------------------- chambolle
@program(
    "total variation denoising, Chambolle projection with np.gradient/roll",
    lambda: (rng(25).uniform(size=(6, 5)), 0.3),
    wrt=(0, 1),
)
def chambolle(f, lam):
    p = np.zeros((2,) + f.shape)

    def div(p):
        d = np.zeros_like(f)
        d[:-1] += p[0, :-1]
        d[1:] -= p[0, :-1]
        d[:, :-1] += p[1, :, :-1]
        d[:, 1:] -= p[1, :, :-1]
        return d

    for _ in range(10):
        u = div(p) - f / lam
        g = np.stack(
            [
                np.append(np.diff(u, axis=0), np.zeros((1, f.shape[1])), axis=0),
                np.append(np.diff(u, axis=1), np.zeros((f.shape[0], 1)), axis=1),
            ]
        )
        p = (p + 0.2 * g) / (1 + 0.2 * np.sqrt((g**2).sum(0)))
    u = f - lam * div(p)
    return np.sum((u - 0.5) ** 2)


# ---------------------------------------------------------------- tv
@program(
    "total variation denoise gradient steps with boundary by np.pad",
    lambda: (rng(41).random((10, 12)), 0.15),
    wrt=(0, 1),
)
def tv(img, lam):
    u = img.copy()
    for _ in range(5):
        p = np.pad(u, 1, mode="edge")
        gx = p[1:-1, 2:] - p[1:-1, 1:-1]
        gy = p[2:, 1:-1] - p[1:-1, 1:-1]
        mag = np.sqrt(gx**2 + gy**2 + 1e-3)
        px, py = gx / mag, gy / mag
        div = np.diff(px, axis=1, prepend=0) + np.diff(py, axis=0, prepend=0)
        u -= 0.1 * ((u - img) - lam * div)
    return np.abs(u - img).sum() + (u**2).mean()


# ---------------------------------------------------------------- conv_tv
@program(
    "total variation denoise, sliding windows, structure tensor",
    lambda: (rng(3).random((7, 8)), rng(4).normal(size=(3, 3))),
    wrt=(0, 1),
)
def conv_tv(img, kern):
    padded = np.pad(img, 1, mode="reflect")
    win = sliding_window_view(padded, kern.shape)
    out = np.einsum("ijkl,kl->ij", win, kern)
    dx = out[:, 1:] - out[:, :-1]
    dy = out[1:] - out[:-1]
    tv = np.sqrt(dx[:-1] ** 2 + dy[:, :-1] ** 2 + 1e-3).sum()
    pooled = out[:6, :8].reshape(3, 2, 4, 2).max(axis=(1, 3))
    med = np.median(pooled, axis=0)
    return tv + np.square(med).sum() + signal.convolve2d(img, kern, mode="valid").std()


# ---------------------------------------------------------------- register
@program(
    "image registration: bilinear warp with meshgrid and clip",
    lambda: (np.array([0.05, 0.3, -0.2]), rng(12).random((9, 9)), rng(13).random((9, 9))),
    wrt=(0, 1),
)
def register(p, moving, fixed):
    ang, ty, tx = p
    yy, xx = np.meshgrid(np.arange(9), np.arange(9), indexing="ij")
    c, s = np.cos(ang), np.sin(ang)
    y = c * (yy - 4) - s * (xx - 4) + 4 + ty
    x = s * (yy - 4) + c * (xx - 4) + 4 + tx
    y0 = np.clip(np.floor(y).astype(int), 0, 7)
    x0 = np.clip(np.floor(x).astype(int), 0, 7)
    wy, wx = y - y0, x - x0
    warped = (
        moving[y0, x0] * (1 - wy) * (1 - wx)
        + moving[y0 + 1, x0] * wy * (1 - wx)
        + moving[y0, x0 + 1] * (1 - wy) * wx
        + moving[y0 + 1, x0 + 1] * wy * wx
    )
    inside = (y >= 0) & (y <= 8) & (x >= 0) & (x <= 8)
    return ((warped - fixed)[inside] ** 2).mean()


# ---------------------------------------------------------------- deblurred_entropy
@program(
    "image reconstruction: Richardson-Lucy with a Moffat blur made by broadcasting, entropy of the result",
    lambda: (1.4, 2.2, rng(4).random((8, 8)) + 0.2),
    wrt=(0, 1, 2),
)
def deblurred_entropy(alpha, beta, image):
    y, x = np.ogrid[-2:3, -2:3]
    psf = (1 + (x**2 + y**2) / alpha**2) ** -beta
    psf /= psf.sum()

    def blur(a):
        padded = np.pad(a, 2, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
        return np.einsum("ijkl,kl->ij", windows, psf)

    estimate = np.full_like(image, image.mean())
    for _ in range(4):
        ratio = image / np.maximum(blur(estimate), 1e-9)
        estimate *= blur(ratio)
    p = estimate / estimate.sum()
    return special.entr(p).sum() + 0.1 * np.abs(np.gradient(estimate)[0]).max()


# ---------------------------------------------------------------- horn_schunck_energy
def _flow_args():
    y, x = np.mgrid[0:5, 0:6]
    I1 = np.sin(0.8 * x) + np.cos(0.6 * y)
    I2 = np.sin(0.8 * (x - 0.3)) + np.cos(0.6 * (y + 0.2))
    return 0.1 * np.cos(x + y), 0.05 * np.sin(x - y), I1, I2


@program("computer vision: variational optical flow energy with a Charbonnier data term", _flow_args, wrt=(0, 1, 2, 3))
def horn_schunck_energy(u, v, I1, I2, alpha=0.3):
    """Variational optical flow energy with a Charbonnier data term."""
    Iy, Ix = np.gradient(0.5 * (I1 + I2))
    It = I2 - I1
    data = np.sqrt((Ix * u + Iy * v + It) ** 2 + 1e-3)
    uy, ux = np.gradient(u)
    vy, vx = np.gradient(v)
    smooth = ux**2 + uy**2 + vx**2 + vy**2
    return np.sum(data + alpha * smooth)


# ---------------------------------------------------------------- reprojection
def rodrigues_matrix(r):
    th = np.linalg.norm(r)
    k = r / th
    Kx = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(th) * Kx + (1 - np.cos(th)) * Kx @ Kx


@program(
    "computer vision: reprojection",
    lambda: (
        np.array([0.1, -0.2, 0.3]),
        np.array([0.1, 0.2, 4.0]),
        rng(10).normal(size=(7, 3)),
        rng(11).normal(size=(7, 2)) * 50 + 320,
    ),
    wrt=(0, 1, 2),
)
def reprojection(r, t, X, uv):
    Xc = X @ rodrigues_matrix(r).T + t
    xy = Xc[:, :2] / Xc[:, 2:]
    r2 = (xy**2).sum(axis=1, keepdims=True)
    dist = xy * (1 + 0.1 * r2 - 0.05 * r2**2)
    pix = 500 * dist + np.array([320, 240])
    e = pix - uv
    huber = np.where(np.abs(e) < 30, 0.5 * e**2, 30 * (np.abs(e) - 15))
    return huber.sum() / 1e4


# ---------------------------------------------------------------- reprojection_error
def rodrigues(rvec):
    theta = np.linalg.norm(rvec)
    k = rvec / theta
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * (K @ K)


def project(points, rvec, tvec, focal, dist):
    p = points @ rodrigues(rvec).T + tvec
    xy = p[:, :2] / p[:, 2:]
    r2 = np.sum(xy**2, axis=1, keepdims=True)
    return focal * xy * (1 + dist[0] * r2 + dist[1] * r2**2)


def _ba_args():
    cams = [
        (np.array([0.1, -0.2, 0.05]), np.array([0.1, 0.0, 4.0])),
        (np.array([-0.15, 0.25, 0.1]), np.array([-0.3, 0.1, 4.5])),
    ]
    pts = np.array([[0.2, 0.1, 0.5], [-0.5, 0.4, -0.2], [0.6, -0.3, 0.1], [-0.2, -0.6, 0.3]])
    obs = [(0, 0, 30, 12), (0, 1, -40, 55), (0, 3, -10, -70), (1, 0, 5, 20), (1, 2, 60, -25), (1, 3, -35, -60)]
    return cams, pts, obs, 500.0, np.array([-0.1, 0.02])


@program("photogrammetry: bundle adjustment cost; observations hold (camera, point, u, v)", _ba_args, wrt=(0, 1, 3, 4))
def reprojection_error(cameras, points, observations, focal, dist):
    """Bundle adjustment cost; observations hold (camera, point, u, v)."""
    cost = 0.0
    for cam, (rvec, tvec) in enumerate(cameras):
        obs = [(p, u, v) for c, p, u, v in observations if c == cam]
        idx = [o[0] for o in obs]
        uv = np.array([[o[1], o[2]] for o in obs])
        r = project(points[idx], rvec, tvec, focal, dist) - uv
        s = np.sum(r**2, axis=1)
        cost += np.sum(np.sqrt(1 + s) - 1)
    return cost


# ---------------------------------------------------------------- bundle_residual
def rotation(omega, phi, kappa):
    co, so, cp, sp, ck, sk = (f(a) for a in (omega, phi, kappa) for f in (math.cos, math.sin))
    Rx = np.array([[1, 0, 0], [0, co, -so], [0, so, co]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rz = np.array([[ck, -sk, 0], [sk, ck, 0], [0, 0, 1]])
    return Rx @ Ry @ Rz


@program(
    "photogrammetry: collinearity with lens distortion, residuals of two images, a Tukey loss",
    lambda: (
        np.array([[0.0, 0.0, 100.0, 0.01, -0.02, 0.1], [20.0, 5.0, 102.0, -0.015, 0.01, 0.05]]),
        rng(8).uniform(-10, 30, (5, 3)) * np.array([1.0, 1.0, 0.2]),
        np.array([0.15, -2e-4, 1e-7]),
    ),
    wrt=(0, 1, 2),
)
def bundle_residual(cameras, points, lens):
    f, k1, k2 = lens
    measured = rng(9).normal(0, 0.01, (2, 5, 2))
    losses = []
    for camera, image in zip(cameras, measured):
        centre, angles = camera[:3], camera[3:]
        R = rotation(*angles)
        for P, uv in zip(points, image):
            x, y, z = R.T @ (P - centre)
            p = np.array([-f * x / z, -f * y / z])
            r2 = p @ p
            p = p * (1.0 + k1 * r2 + k2 * r2**2)
            e = math.hypot(*(p - uv)) / 0.05
            losses.append(1.0 - (1.0 - e**2) ** 3 if e < 1.0 else 1.0)
    return math.fsum(losses) / len(losses)


# ---------------------------------------------------------------- lut_reflectance
@program(
    "remote sensing: radiative transfer, look-up table by RegularGridInterpolator-like bilinear, searchsorted",
    lambda: (np.array([0.12, 0.35, 0.22]), rng(0).random((4, 5)) + 0.5),
    wrt=(0, 1),
)
def lut_reflectance(aot, lut):
    grid_a = np.array([0.0, 0.1, 0.3, 0.6])
    grid_z = np.array([0, 15, 30, 45, 60.0])
    sza = np.array([22.0, 31.0, 50.0])
    ia = np.clip(np.searchsorted(grid_a, aot, side="right") - 1, 0, grid_a.size - 2)
    iz = np.clip(np.digitize(sza, grid_z) - 1, 0, grid_z.size - 2)
    u = (aot - grid_a[ia]) / (grid_a[ia + 1] - grid_a[ia])
    v = (sza - grid_z[iz]) / np.diff(grid_z)[iz]
    corners = [
        ((1 - u) if da == 0 else u) * ((1 - v) if dz == 0 else v) * lut[ia + da, iz + dz]
        for da in (0, 1)
        for dz in (0, 1)
    ]
    rho = sum(corners)
    toa = 0.3 * rho / (1 - 0.1 * rho)
    return np.log(toa).sum()


# ---------------------------------------------------------------- tikhonov_cg
@program("tomography: sparse operators and CG", lambda: (np.random.default_rng(4).normal(size=12), 0.3), wrt=(0, 1))
def tikhonov_cg(d, lam):
    n = d.size
    D = np.diff(np.eye(n), axis=0)
    A = scipy.linalg.toeplitz(np.exp(-0.3 * np.arange(n) ** 2))

    def matvec(v):
        return A.T @ (A @ v) + lam * D.T @ (D @ v)

    x = np.zeros(n)
    r = A.T @ d - matvec(x)
    p, rs = r.copy(), r @ r
    for k in range(2 * n):
        Ap = matvec(p)
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        if math.sqrt(rs_new) < 1e-12:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return np.linalg.norm(x, 1) + np.abs(D @ x).max()


# ---------------------------------------------------------------- ba_objective
ROT_IDX, C_IDX, F_IDX, X0_IDX, RAD_IDX = 0, 3, 6, 7, 9


def rodrigues_rotate_point(rot, X):
    sqtheta = np.sum(np.square(rot))
    if sqtheta != 0.0:
        theta = np.sqrt(sqtheta)
        costheta = np.cos(theta)
        sintheta = np.sin(theta)
        theta_inverse = 1.0 / theta
        w = theta_inverse * rot
        w_cross_X = np.cross(w, X)
        tmp = np.dot(w, X) * (1.0 - costheta)
        return X * costheta + w_cross_X * sintheta + w * tmp
    else:
        return X + np.cross(rot, X)


def radial_distort(rad_params, proj):
    rsq = np.sum(np.square(proj))
    L = 1.0 + rad_params[0] * rsq + rad_params[1] * rsq * rsq
    return proj * L


def project_point(cam, X):
    Xcam = rodrigues_rotate_point(cam[ROT_IDX : ROT_IDX + 3], X - cam[C_IDX : C_IDX + 3])
    distorted = radial_distort(cam[RAD_IDX : RAD_IDX + 2], Xcam[0:2] / Xcam[2])
    return distorted * cam[F_IDX] + cam[X0_IDX : X0_IDX + 2]


@program(
    "bundle adjustment as in ADBench",
    lambda: (
        rng(3).random((2, 11)),
        rng(4).random((4, 3)) + np.array([0, 0, 3.0]),
        rng(5).random(6),
        np.array([[0, 0], [0, 1], [1, 1], [1, 2], [0, 3], [1, 3]]),
        rng(6).random((6, 2)),
    ),
    wrt=(0, 1, 2),
)
def ba_objective(cams, X, w, obs, feats):
    p = obs.shape[0]
    reproj_err = np.zeros((p, 2))
    for i in range(p):
        reproj_err[i] = w[i] * (project_point(cams[obs[i, 0]], X[obs[i, 1]]) - feats[i])
    w_err = 1.0 - np.square(w)
    return 0.5 * (np.sum(reproj_err**2) + np.sum(w_err**2))
