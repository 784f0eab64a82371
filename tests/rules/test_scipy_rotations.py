"""Rotations of scipy.spatial.transform: SciPy's values, and gradients by differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import adjit

V, W = np.random.default_rng(0).normal(size=3), np.random.default_rng(1).normal(size=(4, 3))
OUTSIDE, SEVERAL = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]), Rotation.from_rotvec(W)
VECTOR = [0.05, -0.08, 0.12]


def from_euler(seq):
    def f(v, w):
        several = Rotation.from_euler(seq, 30.0 * w[:, : len(seq)], degrees=True)
        return Rotation.from_euler(seq, v[: len(seq)]).as_quat() * several.as_quat(scalar_first=True)

    return f


def as_euler(seq):
    return lambda v, w: Rotation.from_rotvec(v).as_euler(seq, degrees=True) * Rotation.from_rotvec(w).as_euler(seq)


def in_a_loop(v, w):
    truth = Rotation.from_rotvec(VECTOR)
    for row in w:
        truth = truth * Rotation.from_rotvec(0.1 * row)
    return truth.as_matrix().T @ v


def by_matrices(v, w):
    far = Rotation.from_matrix(np.eye(3) + 0.1 * np.outer(v, v[::-1]))
    several = Rotation.from_matrix(Rotation.from_rotvec(3.0 * w).as_matrix())
    return several.as_matrix() @ far.as_rotvec() + Rotation.from_matrix([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).apply(v)


def vectors(v, w):
    return Rotation.from_rotvec(30.0 * v, degrees=True).as_rotvec(True) * Rotation.from_rotvec(w).as_rotvec()


def short_vectors(v, w):
    return 1e4 * Rotation.from_rotvec(1e-4 * v).as_rotvec() + Rotation.from_rotvec(v - V).as_matrix()


def items(v, w):
    several = Rotation.from_rotvec(w)
    return several[1].apply(v) * len(several) + several[1:3].apply(v)


def by_quaternions(v, w):
    first = Rotation.from_quat([v[0], 1, 2, v[1]])
    return (first * Rotation.from_quat(np.concatenate([v, v[:1]]), scalar_first=True)).as_quat(canonical=True)


TAKEN = {
    "vectors": vectors,
    "short vectors": short_vectors,
    "quaternions": by_quaternions,
    "matrices": by_matrices,
    "loop": in_a_loop,
    "apply": lambda v, w: Rotation.from_rotvec(v).apply(w) + Rotation.from_rotvec(v).apply([1, v[1], 0], inverse=True),
    "apply several": lambda v, w: Rotation.from_rotvec(w).apply(v) * Rotation.from_rotvec(w).apply(w[::-1], True),
    "products": lambda v, w: (Rotation.from_rotvec(v).inv() * Rotation.from_rotvec(w)).as_quat(),
    "powers": lambda v, w: (Rotation.from_rotvec(v) ** 2.3).as_quat() + (Rotation.from_rotvec(v) ** -1).as_quat(),
    "magnitude": lambda v, w: Rotation.from_rotvec(w).magnitude() * Rotation.from_rotvec(v).magnitude(),
    "identity": lambda v, w: (Rotation.identity(2) * Rotation.from_rotvec(v) * Rotation.identity()).as_quat(),
    "items": items,
    "outside": lambda v, w: (OUTSIDE * Rotation.from_rotvec(v) * OUTSIDE.inv()).as_quat()[:3] + OUTSIDE.as_matrix() @ v,
    "apply outside": lambda v, w: OUTSIDE.apply(w) + SEVERAL.apply(v, inverse=True),
    "one angle": lambda v, w: Rotation.from_euler("z", v[0]).apply(Rotation.from_euler("ZYX", [v[0], 0.2, 1]).apply(v)),
    **{f"from {seq}": from_euler(seq) for seq in ("xyz", "ZYX", "XYX", "yz")},
    **{f"as {seq}": as_euler(seq) for seq in ("xyz", "ZYX", "zxz", "XYX")},
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name):
    function, step, rng = TAKEN[name], 1e-6, np.random.default_rng(2)
    value, pullback = adjit.vjp(function, V, W, target="python")
    expected = function(V, W)
    assert np.shape(value) == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-13)
    seed = rng.normal(size=np.shape(expected))
    for k, bar in enumerate(pullback(seed)):
        way = rng.normal(size=(V, W)[k].shape)
        moved = [(V + s * way, W) if k == 0 else (V, W + s * way) for s in (step, -step)]
        above, below = (function(*args) for args in moved)
        wanted = np.sum(seed * (above - below)) / (2.0 * step)
        assert np.sum(bar * way) == pytest.approx(wanted, rel=1e-6, abs=1e-7)


def test_compiled():
    value, found = adjit.value_and_grad(lambda v, w: np.sum(in_a_loop(v, w)))(V, W)
    truth = Rotation.from_rotvec(VECTOR)
    for row in W:
        truth = truth * Rotation.from_rotvec(0.1 * row)
    assert value == pytest.approx(np.sum(truth.as_matrix().T @ V))
    np.testing.assert_allclose(found, truth.as_matrix().sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda v: Rotation.from_mrp(v).as_quat()[0], adjit.AdjitError, "from_rotvec"),
        (lambda v: Rotation.from_rotvec(v).as_davenport(np.eye(3), "e")[0], adjit.AdjitError, "as_davenport"),
        (lambda v: Rotation.from_rotvec(v[:2]).as_quat()[0], ValueError, "shape"),
        (lambda v: Rotation.from_quat([0.0 * v[0], 0.0, 0.0, 0.0]).as_quat()[0], ValueError, "zero norm"),
        (lambda v: Rotation.from_matrix(-np.eye(3) * v[0] ** 2).as_quat()[0], ValueError, "determinant"),
        (lambda v: Rotation.from_euler("xxy", v).as_quat()[0], adjit.AdjitError, "consecutive axes"),
        (lambda v: Rotation.from_euler("xyz", v * [1, 0, 0]).as_euler("xzx")[0], ValueError, "gimbal"),
    ],
)
def test_refused(function, error, says):
    with pytest.raises(error) as raised:
        adjit.grad(function, target="python")(V)
    assert says in str(raised.value)
