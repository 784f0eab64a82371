"""Robots and control."""

import functools
import math
from collections import deque, namedtuple
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import scipy.linalg as la
from numpy import linalg as LA
from numpy.linalg import inv, norm
from scipy import linalg, sparse

from tests.field_programs import program, rng


# ---------------------------------------------------------------- reach_cost
def dh_matrix(theta, d, a, alpha):
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1.0]])


@program(
    "chain of Denavit-Hartenberg matrices",
    lambda: (np.array([0.3, -0.4, 0.8, 0.2, 0.1, -0.7]), np.array([0.4, 0.2, 0.9])),
)
def reach_cost(q, target):
    table = [
        (0.3, 0.0, np.pi / 2),
        (0.0, 0.4, 0.0),
        (0.0, 0.35, 0.0),
        (0.1, 0.0, np.pi / 2),
        (0.1, 0.0, -np.pi / 2),
        (0.05, 0.0, 0.0),
    ]
    T = functools.reduce(np.matmul, (dh_matrix(th, *row) for th, row in zip(q, table)))
    p, R = T[:3, 3], T[:3, :3]
    manip = np.linalg.det(R @ np.diag([1.0, 2.0, 3.0]))
    return np.linalg.norm(p - target) ** 2 + 1e-2 * np.trace(R) + 1e-3 * manip + 0.01 * q @ q


# ---------------------------------------------------------------- quat_chain
class Quat:
    def __init__(self, w, x, y, z):
        self.w, self.x, self.y, self.z = w, x, y, z

    @classmethod
    def from_axis_angle(cls, axis, angle):
        a = np.asarray(axis, dtype=float)
        a = a / np.linalg.norm(a)
        s = np.sin(angle / 2)
        return cls(np.cos(angle / 2), *(s * a))

    def __mul__(self, o):
        return Quat(
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
            self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
            self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
            self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w,
        )

    def conj(self):
        return Quat(self.w, -self.x, -self.y, -self.z)

    def __abs__(self):
        return math.sqrt(self.w**2 + self.x**2 + self.y**2 + self.z**2)

    def rotate(self, v):
        q = self * Quat(0.0, *v) * self.conj()
        return np.array([q.x, q.y, q.z])

    @property
    def angle(self):
        return 2 * math.atan2(math.sqrt(self.x**2 + self.y**2 + self.z**2), self.w)


@program(
    "dual quaternion-like class with operators",
    lambda: (np.array([0.3, -0.2, 0.9]), np.array([1.0, 0.5, -0.3])),
    wrt=(0, 1),
)
def quat_chain(angles, v):
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    q = Quat(1.0, 0.0, 0.0, 0.0)
    for ax, th in zip(axes, angles):
        q = q * Quat.from_axis_angle(ax, th)
    p = q.rotate(v)
    assert len(p) == 3, f"bad length {len(p)}"
    return p[0] + 2 * p[1] - p[2] ** 2 + q.angle * abs(q)


# ---------------------------------------------------------------- poe
def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def exp6(S, th):
    w, v = S[:3], S[3:]
    W = skew(w)
    Rm = np.eye(3) + np.sin(th) * W + (1 - np.cos(th)) * W @ W
    G = np.eye(3) * th + (1 - np.cos(th)) * W + (th - np.sin(th)) * (W @ W)
    T = np.eye(4)
    T[:3, :3] = Rm
    T[:3, 3] = G @ v
    return T


@program("product of exponentials, list of screws", lambda: (np.array([0.3, -0.5, 0.8]), np.array([0.5, 0.2, 0.4])))
def poe(theta, target):
    screws = [np.array([0, 0, 1, 0, 0, 0.0]), np.array([0, -1, 0, 0, 0, -0.5]), np.array([1, 0, 0, 0, 0.3, 0.0])]
    M = np.eye(4)
    M[0, 3] = 1.0
    T = functools.reduce(np.matmul, [exp6(S, t) for S, t in zip(screws, theta)] + [M])
    return norm(T[:3, 3] - target) ** 2


# ---------------------------------------------------------------- reach_by_dh
def dh_transform(theta, d, a, alpha):
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]])


@program("robot arm: DH table with functools.reduce of matrices", lambda: (np.array([0.1, 0.5, -0.7, 0.2, 0.3, -0.1]),))
def reach_by_dh(q):
    table = [
        (0.3, 0.0, np.pi / 2),
        (0, 0.4, 0),
        (0, 0.05, np.pi / 2),
        (0.4, 0, -np.pi / 2),
        (0, 0, np.pi / 2),
        (0.1, 0, 0),
    ]
    T = functools.reduce(np.dot, [dh_transform(t, *row) for t, row in zip(q, table)], np.eye(4))
    target = np.array([0.4, 0.2, 0.5])
    err = T[:3, 3] - target
    z = T[:3, 2]
    return err @ err + 0.1 * (1 - z @ np.array([0, 0, 1.0])) ** 2


# ---------------------------------------------------------------- ilqr
Gains = namedtuple("Gains", "K k")


@program(
    "iterative LQR, backward and forward pass, namedtuple for the gains",
    lambda: (np.array([1.0, 0.2]), 0.5, np.array([0.0, 0.1, 0.0, -0.1, 0.0])),
)
def ilqr(x0, mass, u):
    dt = 0.1

    def f(x, u):
        return np.array([x[0] + dt * x[1], x[1] + dt * (u / mass - np.sin(x[0]))])

    u = list(u)
    for _ in range(2):
        xs = [x0]
        for ut in u:
            xs.append(f(xs[-1], ut))
        Vx, Vxx = 2 * xs[-1], 2 * np.eye(2)
        gains = []
        for x, ut in zip(reversed(xs[:-1]), reversed(u)):
            A = np.array([[1.0, dt], [-dt * np.cos(x[0]), 1.0]])
            B = np.array([0.0, dt / mass])
            Qu = 0.02 * ut + B @ Vx
            Qx = 0.2 * x + A.T @ Vx
            Quu = 0.02 + B @ Vxx @ B
            Qux = B @ Vxx @ A
            gains.insert(0, Gains(K=-Qux / Quu, k=-Qu / Quu))
            Vx = Qx + gains[0].K * Qu
            Vxx = 0.2 * np.eye(2) + A.T @ Vxx @ A + np.outer(gains[0].K, Qux)
        x, new = x0, []
        for g, ut, ref in zip(gains, u, xs):
            unew = ut + g.k + g.K @ (x - ref)
            new.append(unew)
            x = f(x, unew)
        u = new
    cost = 0.0
    x = x0
    for ut in u:
        cost += 0.1 * x @ x + 0.01 * ut**2
        x = f(x, ut)
    return cost + x @ x


# ---------------------------------------------------------------- manipulability
@program(
    "DH forward kinematics, Jacobian by cross product, manipulability, structured array of joints",
    lambda: (np.array([0.1, -0.7, 1.2, 0.3, 0.8, -0.2]),),
)
def manipulability(q):
    dh = np.array(
        [
            (0, 0.089, np.pi / 2),
            (-0.425, 0, 0),
            (-0.392, 0, 0),
            (0, 0.109, np.pi / 2),
            (0, 0.095, -np.pi / 2),
            (0, 0.082, 0),
        ],
        dtype=[("a", "f8"), ("d", "f8"), ("alpha", "f8")],
    )
    T = np.eye(4)
    frames = [T]
    for th, joint in zip(q, dh):
        ct, st, ca, sa = np.cos(th), np.sin(th), np.cos(joint["alpha"]), np.sin(joint["alpha"])
        A = np.array(
            [
                [ct, -st * ca, st * sa, joint["a"] * ct],
                [st, ct * ca, -ct * sa, joint["a"] * st],
                [0, sa, ca, joint["d"]],
                [0, 0, 0, 1],
            ]
        )
        T = T @ A
        frames.append(T)
    p_end = T[:3, 3]
    J = np.vstack(
        [
            np.array([np.cross(F[:3, 2], p_end - F[:3, 3]) for F in frames[:-1]]).T,
            np.array([F[:3, 2] for F in frames[:-1]]).T,
        ]
    )
    return np.sqrt(np.linalg.det(J @ J.T)) + np.linalg.norm(p_end) + np.arccos((np.trace(T[:3, :3]) - 1) / 2)


# ---------------------------------------------------------------- reach
class JointLimit(Exception):
    pass


class Joint:
    def __init__(self, kind, offset, limit):
        self.kind = kind
        self.offset = offset
        self.limit = limit

    def transform(self, q):
        if abs(q) > self.limit:
            raise JointLimit(q)
        c, s = np.cos(q), np.sin(q)
        if self.kind == "revolute":
            return np.array([[c, -s, self.offset * c], [s, c, self.offset * s], [0.0, 0.0, 1.0]])
        return np.array([[1.0, 0.0, self.offset + q], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@program(
    "inverse kinematics with damped least squares, joints of several types, joint limits raise",
    lambda: (np.array([1.0, 0.8, 0.3]), np.array([1.2, 0.9])),
    wrt=(0, 1),
)
def reach(lengths, target):
    joints = [Joint(k, l, m) for k, l, m in zip(("revolute", "revolute", "prismatic"), lengths, (3.0, 2.5, 2.0))]

    def forward(q):
        T = np.eye(3)
        for joint, angle in zip(joints, q):
            T = T @ joint.transform(angle)
        return T[:2, 2]

    q = np.array([0.3, 0.5, 0.0])
    clipped = 0
    for _ in range(8):
        e = target - forward(q)
        J = np.column_stack([(forward(q + d) - forward(q - d)) / 2e-4 for d in 1e-4 * np.eye(3)])
        dq = np.linalg.solve(J.T @ J + 0.05 * np.eye(3), J.T @ e)
        try:
            forward(q + dq)
            q = q + dq
        except JointLimit:
            clipped += 1
            q = q + 0.3 * dq
    return np.linalg.norm(target - forward(q)) * 10 + q @ q + clipped


# ---------------------------------------------------------------- wrist_manipulability
@program(
    "forward kinematics by Denavit-Hartenberg rows, manipulability of the wrist",
    lambda: (np.array([0.3, -0.7, 1.1]), np.array([0.5, 0.4, 0.2])),
    wrt=(0, 1),
)
def wrist_manipulability(q, lengths):
    def link(theta, d, a, alpha):
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        return np.array(
            [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
        )

    rows = [(lengths[0], 0.0, np.pi / 2), (0.0, lengths[1], 0.0), (0.0, lengths[2], 0.0)]
    frames = list(accumulate((link(t, *row) for t, row in zip(q, rows)), np.matmul, initial=np.eye(4)))
    end = frames[-1][:3, 3]
    J = np.column_stack([np.cross(T[:3, 2], end - T[:3, 3]) for T in frames[:-1]])
    return np.sqrt(np.linalg.det(J @ J.T)) + np.linalg.norm(end)


# ---------------------------------------------------------------- reach_error
@dataclass
class DHJoint:
    theta: float
    d: float
    a: float
    alpha: float
    limits: tuple[float, float] = field(default=(-math.pi, math.pi))

    def matrix(self, q):
        lo, hi = self.limits
        t = min(max(self.theta + q, lo), hi)
        ct, st, ca, sa = math.cos(t), math.sin(t), math.cos(self.alpha), math.sin(self.alpha)
        return np.array(
            [
                [ct, -st * ca, st * sa, self.a * ct],
                [st, ct * ca, -ct * sa, self.a * st],
                [0, sa, ca, self.d],
                [0, 0, 0, 1],
            ]
        )


@program(
    "inverse kinematics residual through homogeneous transforms from Denavit-Hartenberg rows",
    lambda: (np.array([0.3, -0.6, 0.9]), np.array([0.5, 0.2, 0.7])),
    wrt=(0, 1),
)
def reach_error(q, target):
    arm = [DHJoint(0.0, 0.4, 0.0, math.pi / 2), DHJoint(0.1, 0.0, 0.6, 0.0), DHJoint(0.0, 0.0, 0.5, 0.0, (-0.8, 0.8))]
    T = np.identity(4)
    elbows = []
    for joint, angle in zip(arm, q, strict=True):
        T = T @ joint.matrix(angle)
        elbows.append(T[:3, 3].copy())
    *_, tip = elbows
    penalty = sum(max(0.0, 0.05 - z) ** 2 for *_, z in elbows)
    return np.linalg.norm(tip - target) + 10.0 * penalty


# ---------------------------------------------------------------- ik_cost
def dh(theta, d, a, alpha):
    ct, st = np.cos(theta), np.sin(theta)
    ca, sa = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@program(
    "robotics kinematics: squared position error of a 4-link arm plus a joint-space regulariser",
    lambda: (np.array([0.3, -0.5, 0.9, 0.2]), np.array([0.5, 0.2, 0.6]), np.zeros(4)),
    wrt=(0, 1),
)
def ik_cost(q, target, q_rest, w=0.01):
    """Squared position error of a 4-link arm plus a joint-space regulariser."""
    links = [(0.3, 0.0, np.pi / 2), (0.0, 0.5, 0.0), (0.0, 0.4, 0.0), (0.1, 0.1, -np.pi / 2)]
    T = np.eye(4)
    for qi, (d, a, alpha) in zip(q, links):
        T = T @ dh(qi, d, a, alpha)
    err = T[:3, 3] - target
    return err @ err + w * np.sum((q - q_rest) ** 2)


# ---------------------------------------------------------------- pose_graph_cost
def wrap(a):
    return np.arctan2(np.sin(a), np.cos(a))


@program(
    "robotics, SLAM: SE(2) pose graph optimisation objective",
    lambda: (
        np.array([[0.01, -0.02, 0.0], [1.1, 0.1, 0.3], [1.9, 0.7, 1.2], [1.7, 1.8, 2.0]]),
        [(0, 1, (1.0, 0.0, 0.35)), (1, 2, (1.0, 0.3, 0.8)), (2, 3, (1.0, 0.5, 0.9)), (0, 3, (1.6, 1.7, 1.9))],
    ),
)
def pose_graph_cost(poses, edges, info=(10.0, 10.0, 40.0)):
    """SE(2) pose graph optimisation objective."""
    w = np.array(info)
    cost = np.sum(poses[0] ** 2) * 100.0
    for i, j, meas in edges:
        xi, yi, ti = poses[i]
        xj, yj, tj = poses[j]
        c, s = np.cos(ti), np.sin(ti)
        dx, dy = xj - xi, yj - yi
        e = np.array([c * dx + s * dy - meas[0], -s * dx + c * dy - meas[1], wrap(tj - ti - meas[2])])
        cost += e @ (w * e)
    return cost


# ---------------------------------------------------------------- ekf
@program(
    "EKF SLAM tiny with dict of landmarks and np.block",
    lambda: (np.array([0.1, 0.2]), np.array([[1.0, 0.5], [1.2, 0.8], [0.9, 1.4]])),
    wrt=(0, 1),
)
def ekf(noise, obs):
    x, Pm = np.zeros(3), np.eye(3) * 0.1
    landmarks = {0: np.array([2.0, 1.0]), 1: np.array([1.5, 2.0])}
    Q, Rn = np.diag([noise[0], noise[0], noise[1]]), np.eye(2) * noise[1]
    ll = 0.0
    for t, z in enumerate(obs):
        v, w = 0.5, 0.1
        th = x[2]
        x = x + np.array([v * np.cos(th), v * np.sin(th), w])
        F = np.block(
            [[np.eye(2), np.array([[-v * np.sin(th)], [v * np.cos(th)]])], [np.zeros((1, 2)), np.ones((1, 1))]]
        )
        Pm = F @ Pm @ F.T + Q
        lm = landmarks[t % 2]
        d = lm - x[:2]
        r = np.sqrt(d @ d)
        zhat = np.array([r, np.arctan2(d[1], d[0]) - x[2]])
        H = np.array([[-d[0] / r, -d[1] / r, 0], [d[1] / r**2, -d[0] / r**2, -1]])
        S = H @ Pm @ H.T + Rn
        K = Pm @ H.T @ LA.inv(S)
        y = z - zhat
        y[1] = (y[1] + np.pi) % (2 * np.pi) - np.pi
        x = x + K @ y
        Pm = (np.eye(3) - K @ H) @ Pm
        ll -= 0.5 * (y @ LA.solve(S, y) + np.log(LA.det(S)))
    return ll


# ---------------------------------------------------------------- pendulum_cost
def lqr_gain(A, B, Q, R):
    P = la.solve_continuous_are(A, B, Q, R)
    return np.linalg.solve(R, B.T @ P)


def _pend_args():
    A = np.array([[0.0, 1.0], [9.81 / 0.5, 0.0]])
    B = np.array([[0.0], [1 / (0.2 * 0.25)]])
    K = lqr_gain(A, B, np.diag([10.0, 1.0]), np.array([[2.0]]))
    return K[0], 0.2, 0.5, [0.3, -0.1]


@program(
    "control: closed-loop quadratic cost of a nonlinear inverted pendulum under a fixed linear feedback",
    _pend_args,
    wrt=(0, 1, 2, 3),
)
def pendulum_cost(K, m, l, x0, dt=0.02, steps=25, g=9.81):
    """Closed-loop quadratic cost of a nonlinear inverted pendulum under a fixed linear feedback."""
    x = np.array(x0)
    J = 0.0
    for _ in range(steps):
        u = -K @ x
        th, om = x
        acc = g / l * np.sin(th) + u / (m * l**2)
        x = x + dt * np.array([om, acc])
        J += dt * (10.0 * th**2 + om**2 + 0.1 * u**2)
    return J


# ---------------------------------------------------------------- lqr_cost
@program(
    "control: iLQR backward pass",
    lambda: (np.array([[1.0, 0.1], [0, 0.95]]), np.array([[0.0], [0.1]]), np.array([1.0, 0.1])),
    wrt=(0, 1, 2),
)
def lqr_cost(A, B, q):
    Q, R = np.diag(q), np.array([[0.05]])
    P = Q
    gains = []
    for _ in range(20):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(K)
    x = np.array([1.0, -0.5])
    J = 0.0
    for K in gains[::-1]:
        u = -K @ x
        J += x @ Q @ x + (u @ R @ u)
        x = A @ x + B @ u
    return J + np.linalg.norm(x)


# ---------------------------------------------------------------- pid_cost
@dataclass
class PID:
    kp: float
    ki: float
    kd: float
    limit: float = 2.0
    integral: float = field(default=0.0, init=False)
    last: float = field(default=0.0, init=False)

    def step(self, err: float, dt: float) -> float:
        self.integral += err * dt
        deriv = (err - self.last) / dt
        u = self.kp * err + self.ki * self.integral + self.kd * deriv
        if not -self.limit <= u <= self.limit:
            self.integral -= err * dt
            u = max(-self.limit, min(self.limit, u))
        self.last = err
        return u


@program(
    "control: discrete PID with deque history and anti-windup, dataclass state method",
    lambda: (np.array([2.0, 0.8, 0.1]), 0.3),
    wrt=(0, 1),
)
def pid_cost(gains, tau):
    ctl = PID(*gains)
    delay = deque([0.0] * 5, maxlen=5)
    y, cost, dt = 0.0, 0.0, 0.05
    for k in range(80):
        sp = 1.0 if k > 5 else 0.0
        u = ctl.step(sp - y, dt)
        delay.append(u)
        y += dt / tau * (delay[0] - y)
        cost += abs(sp - y) * dt * k * dt
    return cost


# ---------------------------------------------------------------- lqr
@program(
    "control: iLQR-lite backward pass with lists and reversed zip",
    lambda: (rng(22).normal(size=(8, 1)) * 0.1, np.array([1.0, 0.0])),
    wrt=(0, 1),
)
def lqr(us, x0):
    A = np.array([[1, 0.1], [-0.1, 0.98]])
    B = np.array([[0.0], [0.1]])
    Q, Rr = np.eye(2), 0.1 * np.eye(1)
    xs = [x0]
    for u in us:
        xs.append(A @ xs[-1] + B @ u + 0.01 * np.sin(xs[-1]))
    V = Q.copy()
    Ks = []
    for x in reversed(xs[:-1]):
        J = A + 0.01 * np.diag(np.cos(x))
        K = np.linalg.solve(Rr + B.T @ V @ B, B.T @ V @ J)
        V = Q + J.T @ V @ (J - B @ K)
        Ks.insert(0, K)
    cost = sum(x @ Q @ x for x in xs) + sum(float(u @ Rr @ u) for u in us)
    return cost + sum((K @ x).item() for K, x in zip(Ks, xs))


# ---------------------------------------------------------------- lqg
@program(
    "control: discrete Riccati recursion + LQG with list of gains",
    lambda: (np.array([[1.0, 0.1], [-0.2, 0.95]]), np.array([[0.0], [0.1]]), np.diag([1.0, 0.1])),
    wrt=(0, 1, 2),
)
def lqg(A, B, Q):
    P, R = Q, np.array([[0.5]])
    gains = []
    for _ in range(30):
        K = inv(R + B.T @ P @ B) @ (B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(K)
    x, J = np.array([[1.0], [0.0]]), 0.0
    for K in gains[::-1]:
        u = -K @ x
        J += (x.T @ Q @ x + u.T @ R @ u).item()
        x = A @ x + B @ u
    return J


# ---------------------------------------------------------------- lqr_closed_loop_cost
@program(
    "control: LQR by Riccati, closed loop poles, Lyapunov cost, Bode margin sampled",
    lambda: (np.array([[0.0, 1.0], [-1.0, -0.4]]), np.array([2.0, 0.5]), 0.3),
    wrt=(0, 1, 2),
)
def lqr_closed_loop_cost(A, q, r):
    Bm = np.array([[0.0], [1.0]])
    Q, R = np.diag(q), np.array([[r]])
    P = np.eye(2)
    for _ in range(60):
        K = np.linalg.solve(R, Bm.T @ P)
        Ac = A - Bm @ K
        P = la.solve_continuous_lyapunov(Ac.T, -(Q + K.T @ R @ K))
    w = np.logspace(-1, 1, 15)
    loop = np.array([(K @ np.linalg.solve(1j * wi * np.eye(2) - A, Bm))[0, 0] for wi in w])
    margin = np.abs(1 + loop).min()
    return np.trace(P) + margin + np.linalg.norm(K)


# ---------------------------------------------------------------- cost_of_swinging
@program(
    "control engineering: a linear quadratic regulator by value iteration, applied to a pendulum with saturation",
    lambda: (np.array([10.0, 1.0]), 0.5, np.array([0.6, 0.0])),
    wrt=(0, 1, 2),
)
def cost_of_swinging(q, r, start):
    dt, grav = 0.05, 9.81
    A = np.array([[1.0, dt], [grav * dt, 1.0]])
    B = np.array([[0.0], [dt]])
    Q, R = np.diag(q), np.array([[r]])
    P = Q.copy()
    while True:
        K = linalg.solve(R + B.T @ P @ B, B.T @ P @ A, assume_a="pos")
        new = Q + A.T @ P @ (A - B @ K)
        change = np.abs(new - P).max()
        P = 0.5 * (new + new.T)
        if change < 1e-9:
            break
    x, cost = start.copy(), 0.0
    for k in range(60):
        u = float(np.clip(-(K @ x).item(), -8.0, 8.0))
        cost += (x @ Q @ x + r * u * u) * dt
        theta, omega = x
        x = np.array([theta + dt * omega, omega + dt * (grav * math.sin(theta) + u)])
    return cost


# ---------------------------------------------------------------- pde_control
@program(
    "PDE constrained optimisation: Poisson with control, sparse LU", lambda: (np.sin(np.arange(9.0)), 1e-3), wrt=(0, 1)
)
def pde_control(u, beta):
    n = u.size
    h = 1.0 / (n + 1)
    kappa = 1.0 + 0.1 * u**2
    main = (np.r_[kappa, kappa[-1]][:-1] + np.r_[kappa[0], kappa][:-1]) / h**2
    off = -kappa[:-1] / h**2
    A = sparse.diags([off, main, off], [-1, 0, 1], format="csc")
    y = sparse.linalg.spsolve(A, u)
    x = np.arange(1, n + 1) * h
    target = x * (1 - x)
    return 0.5 * h * np.sum((y - target) ** 2) + 0.5 * beta * h * np.sum(u**2)
