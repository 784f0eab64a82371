"""Where were the cameras? Bundle adjustment: poses and points from images, by sparse least squares.

In:  an artificial scene: points on a torus and a saddle, seen by cameras with half a pixel of noise (a fixed seed).
Out: the reprojection error and the error of the points before and after, and a picture (build/demo/scene.png).

The residuals are a loop over observations. Each residual depends on one camera and one point, so adjit computes the
Jacobian, with more than a thousand columns, in some ten forward sweeps.

    python examples/bundle_adjustment.py [--cameras 16] [--points 500] [--small] [--out build/demo]
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

import adjit

FOCAL, NOISE = 800.0, 0.5  # pixels


def rotated(w, x, y, z):
    """A point turned about the axis w by |w|, by Rodrigues' formula."""
    angle2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if angle2 > 1e-16:
        angle = math.sqrt(angle2)
        s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle2
    else:
        s, c = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0
    a, b, d = w[1] * z - w[2] * y, w[2] * x - w[0] * z, w[0] * y - w[1] * x
    return (
        x + s * a + c * (w[1] * d - w[2] * b),
        y + s * b + c * (w[2] * a - w[0] * d),
        z + s * d + c * (w[0] * b - w[1] * a),
    )


def residuals(p, cameras, camera_of, point_of, seen):
    """Pixels, two per observation; p: six numbers per camera (rotation, translation), then three per point."""
    out = np.empty(2 * camera_of.size)
    for k in range(camera_of.size):
        c, j = 6 * camera_of[k], 6 * cameras + 3 * point_of[k]
        x, y, z = rotated(p[c : c + 3], p[j], p[j + 1], p[j + 2])
        depth = z + p[c + 5]
        out[2 * k] = FOCAL * (x + p[c + 3]) / depth - seen[k, 0]
        out[2 * k + 1] = FOCAL * (y + p[c + 4]) / depth - seen[k, 1]
    return out


def scene(cameras, points, seed=2):
    """The true parameters, who sees what, and what is seen."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.0, 2.0 * np.pi, (2, points))
    r = 1.0 + 0.35 * np.cos(b)
    torus = np.array([r * np.cos(a), 0.35 * np.sin(b), r * np.sin(a)]).T
    flat = rng.uniform(-1.0, 1.0, (points, 2))
    saddle = np.column_stack([flat[:, 0], 0.4 * (flat[:, 0] ** 2 - flat[:, 1] ** 2) - 0.9, flat[:, 1]])
    x = np.where((np.arange(points) % 2 == 0)[:, None], torus, saddle)
    turn = np.linspace(-1.2, 1.2, cameras)
    poses = np.zeros((cameras, 6))
    poses[:, 1], poses[:, 5] = turn, 6.0
    poses += 0.05 * rng.normal(size=poses.shape)
    p = np.concatenate([poses.ravel(), x.ravel()])
    # a camera sees two thirds of the points
    camera_of, point_of = np.nonzero(rng.random((cameras, points)) < 2.0 / 3.0)
    exact = residuals(p, cameras, camera_of, point_of, np.zeros((camera_of.size, 2))).reshape(-1, 2)
    return p, camera_of, point_of, exact + NOISE * rng.normal(size=exact.shape)


def aligned(x, onto):
    """The points moved, turned and scaled to fit others best (Umeyama 1991), as images do not determine these."""
    a, b = x - x.mean(axis=0), onto - onto.mean(axis=0)
    u, s, vt = np.linalg.svd(b.T @ a)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    scale = np.sum(s * signs) / np.sum(a * a)
    return scale * a @ (u * signs @ vt).T + onto.mean(axis=0)


def solve(cameras, points):
    truth, camera_of, point_of, seen = scene(cameras, points)
    rng = np.random.default_rng(4)
    start = truth + np.repeat([0.03, 0.1], [6 * cameras, 3 * points]) * rng.normal(size=truth.size)
    given = (cameras, camera_of, point_of, seen)
    jacobian = adjit.jacobian(residuals, sparse=True)
    begin = time.perf_counter()
    pattern = jacobian.sparsity(start, *given)
    jacobian(start, *given)
    compiled = time.perf_counter() - begin
    begin = time.perf_counter()
    jacobian(start, *given)
    one = time.perf_counter() - begin
    begin = time.perf_counter()
    found = least_squares(
        residuals, start, jac=jacobian, args=given, x_scale="jac", tr_solver="lsmr", ftol=1e-10, max_nfev=60
    )
    true_points = truth[6 * cameras :].reshape(-1, 3)
    errors = [
        np.sqrt(np.mean(np.sum((aligned(p[6 * cameras :].reshape(-1, 3), true_points) - true_points) ** 2, axis=1)))
        for p in (start, found.x)
    ]
    sizes = [np.sqrt(np.mean(residuals(p, *given) ** 2)) for p in (start, found.x)]
    return {
        "seconds": time.perf_counter() - begin, "calls": found.njev, "pattern": pattern,
        "compiled": compiled, "one": one,
        "errors": errors, "sizes": sizes,
        "freedom": 1.0 - (start.size - 7) / (2 * camera_of.size), "jacobian": jacobian, "given": given,
        "start": start, "points": [p[6 * cameras :].reshape(-1, 3) for p in (start, found.x, truth)],
    }  # fmt: skip


def check(found):
    """The residuals that remain are the noise, reduced by the number of unknowns; and the scene is the true one."""
    assert found["pattern"].directions <= 12, found["pattern"]
    assert abs(found["sizes"][1] / (NOISE * math.sqrt(found["freedom"])) - 1.0) < 0.05, found["sizes"]
    assert found["errors"][1] < 0.25 * found["errors"][0], found["errors"]
    # the matrix, along a direction, against a difference quotient
    p, v = found["start"], np.random.default_rng(5).normal(size=found["start"].size)
    ahead, behind = (residuals(p + s * v, *found["given"]) for s in (1e-6, -1e-6))
    along = found["jacobian"](p, *found["given"]) @ v
    assert np.abs((ahead - behind) / 2e-6 - along).max() < 1e-5 * np.abs(along).max()


def draw(found, file):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharex=True, sharey=True)
    _, _, truth = found["points"]
    for axis, points, title in zip(axes, found["points"][:2], ("before", "after"), strict=True):
        shown = aligned(points, truth)
        axis.scatter(truth[:, 0], truth[:, 1], s=14, facecolors="none", edgecolors="grey", label="truth")
        axis.scatter(shown[:, 0], shown[:, 1], s=4, label="estimate")
        axis.set(title=title, aspect="equal")
    axes[0].legend()
    figure.savefig(file, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cameras", type=int, default=16)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--small", action="store_true", help="a small scene, and no picture")
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    asked = parser.parse_args(arguments)
    found = solve(6, 60) if asked.small else solve(asked.cameras, asked.points)
    check(found)
    print(found["pattern"])
    print(f"first call {found['compiled']:.1f} s, then {1e3 * found['one']:.1f} ms per Jacobian")
    print(f"the fit: {found['calls']} Jacobians, {found['seconds']:.1f} s")
    print(f"residuals  {found['sizes'][0]:.1f} -> {found['sizes'][1]:.3f} pixels; the noise's deviation {NOISE}")
    print(f"points     {found['errors'][0]:.4f} -> {found['errors'][1]:.5f}, after alignment")
    if not asked.small:
        asked.out.mkdir(parents=True, exist_ok=True)
        draw(found, asked.out / "scene.png")
        print(f"wrote {asked.out / 'scene.png'}")


if __name__ == "__main__":
    main()
