"""Algorithms of numerical analysis."""

import collections
import math

import numpy as np
import scipy.special as sc
from scipy.interpolate import CubicSpline

from tests.field_programs import program, rng


# ---------------------------------------------------------------- rk45_adaptive
@program("RK45 adaptive", lambda: (np.array([0.4, 1.3, 0.2]),))
def rk45_adaptive(p):
    k, w, y = p
    t, h, v = 0.0, 0.1, 0.0
    accepted = rejected = 0
    while t < 2.0:
        if t + h > 2.0:
            h = 2.0 - t
        a1 = v
        b1 = -k * v - w * np.sin(y)
        a2 = v + 0.5 * h * b1
        b2 = -k * (v + 0.5 * h * b1) - w * np.sin(y + 0.5 * h * a1)
        a3 = v + 0.75 * h * b2
        b3 = -k * (v + 0.75 * h * b2) - w * np.sin(y + 0.75 * h * a2)
        yn = y + h * (2 * a1 + 3 * a2 + 4 * a3) / 9
        vn = v + h * (2 * b1 + 3 * b2 + 4 * b3) / 9
        err = abs(yn - (y + h * a2)) + abs(vn - (v + h * b2))
        if err > 1e-3 and h > 1e-4:
            h *= 0.5
            rejected += 1
            continue
        y, v, t = yn, vn, t + h
        accepted += 1
        if err < 1e-4:
            h *= 1.5
    return y * y + v + 0.01 * accepted


# ---------------------------------------------------------------- backtracking
@program("backtracking", lambda: (np.array([1.0, 2.0, 0.5]),))
def backtracking(p):
    a, b, x = p
    f = lambda z: a * (z - 1) ** 2 + b * np.log1p(z * z)
    for it in range(6):
        g = 2 * a * (x - 1) + 2 * b * x / (1 + x * x)
        step, fx = 1.0, f(x)
        while f(x - step * g) > fx - 0.3 * step * g * g:
            step *= 0.5
            if step < 1e-6:
                break
        x -= step * g
        if abs(g) < 1e-3:
            break
    else:
        x += 0.001 * a
    return x + f(x)


# ---------------------------------------------------------------- bisection_then_secant
@program("bisection then secant", lambda: (np.array([0.7, 0.3]),))
def bisection_then_secant(p):
    a, c = p
    lo, hi = 0.0, 3.0
    F = lambda z: z**3 + a * z - 2 - c
    for _ in range(8):
        mid = (lo + hi) / 2
        if F(lo) * F(mid) <= 0:
            hi = mid
        else:
            lo = mid
    x0, x1 = lo, hi
    f0, f1 = F(x0), F(x1)
    while abs(f1) > 1e-13:
        x0, x1, f0 = x1, x1 - f1 * (x1 - x0) / (f1 - f0), f1
        f1 = F(x1)
    return x1


# ---------------------------------------------------------------- bubble_swaps
@program("bubble swaps", lambda: (np.array([3.0, 1.0, 2.5, 0.5]),))
def bubble_swaps(x):
    a = list(x)
    n = len(a)
    swaps = 0
    while True:
        moved = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                moved = True
                swaps += 1
        if not moved:
            break
    return sum(v * (i + 1) ** 2 for i, v in enumerate(a)) + swaps


# ---------------------------------------------------------------- sor_solver
@program("SOR solver", lambda: (rng(1).normal(size=(5, 5)) + 5 * np.eye(5), rng(2).normal(size=5)), wrt=(0, 1))
def sor_solver(A, b):
    n = len(b)
    x = np.zeros(n)
    omega, tol = 1.1, 1e-12
    for sweep in range(200):
        biggest = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= A[i, j] * x[j]
            new = (1 - omega) * x[i] + omega * s / A[i, i]
            biggest = max(biggest, abs(new - x[i]))
            x[i] = new
        if biggest < tol:
            break
    return x @ x + x[0]


# ---------------------------------------------------------------- cg_solve
@program("CG solve", lambda: (rng(3).normal(size=(4, 4)), rng(4).normal(size=4)), wrt=(0, 1))
def cg_solve(B, b):
    A = B @ B.T + np.eye(4)
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for k in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rs_new = r @ r
        if np.sqrt(rs_new) < 1e-14:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return np.sum(x**2) + x[1]


# ---------------------------------------------------------------- lu_pivot
@program("LU pivot", lambda: (rng(5).normal(size=(4, 4)) + 4 * np.eye(4), rng(6).normal(size=4)), wrt=(0, 1))
def lu_pivot(A, b):
    A = A.copy()
    b = b.copy()
    n = len(b)
    sign = 1.0
    for k in range(n):
        piv = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[piv, k]):
                piv = i
        if piv != k:
            A[[k, piv]] = A[[piv, k]]
            b[k], b[piv] = b[piv], b[k]
            sign = -sign
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    x = np.empty(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    det = sign
    for i in range(n):
        det *= A[i, i]
    return x.sum() + 0.01 * det


# ---------------------------------------------------------------- jacobi_eigen
@program("Jacobi eigen", lambda: (rng(7).normal(size=(3, 3)),))
def jacobi_eigen(B):
    A = B + B.T
    n = 3
    for sweep in range(10):
        off = 0.0
        for p in range(n - 1):
            for q in range(p + 1, n):
                off += A[p, q] ** 2
                if abs(A[p, q]) < 1e-15:
                    continue
                theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                t = np.sign(theta) / (abs(theta) + np.sqrt(theta**2 + 1))
                c = 1 / np.sqrt(t * t + 1)
                s = t * c
                R = np.eye(n)
                R[p, p] = R[q, q] = c
                R[p, q] = s
                R[q, p] = -s
                A = R.T @ A @ R
        if off < 1e-20:
            break
    d = np.sort(np.diag(A))
    return d[0] + 2 * d[1] - d[2] ** 2


# ---------------------------------------------------------------- bellman_ford
@program("Bellman-Ford", lambda: (rng(8).uniform(0.2, 2, (5, 5)),))
def bellman_ford(w):
    n = 5
    dist = [math.inf] * n
    dist[0] = 0.0
    for _ in range(n - 1):
        changed = False
        for u in range(n):
            for v in range(n):
                if u != v and dist[u] + w[u, v] < dist[v]:
                    dist[v] = dist[u] + w[u, v]
                    changed = True
        if not changed:
            break
    return sum(d**2 for d in dist)


# ---------------------------------------------------------------- viterbi_score
@program("Viterbi score", lambda: (rng(9).normal(size=(4, 6)), rng(10).normal(size=(4, 4))), wrt=(0, 1))
def viterbi_score(emit, trans):
    S, T = emit.shape
    score = emit[:, 0].copy()
    back = np.zeros((T, S), dtype=int)
    for t in range(1, T):
        new = np.empty(S)
        for s in range(S):
            best, arg = -np.inf, 0
            for r in range(S):
                c = score[r] + trans[r, s]
                if c > best:
                    best, arg = c, r
            new[s] = best + emit[s, t]
            back[t, s] = arg
        score = new
    s = int(np.argmax(score))
    path = [s]
    for t in range(T - 1, 0, -1):
        s = back[t, s]
        path.append(s)
    return score.max() + 0.1 * sum(trans[path[k + 1], path[k]] for k in range(len(path) - 1))


# ---------------------------------------------------------------- projectile_event
@program("projectile event", lambda: (np.array([20.0, 0.9, 9.81]),))
def projectile_event(p):
    v0, ang, g = p
    x = y = 0.0
    vx, vy = v0 * math.cos(ang), v0 * math.sin(ang)
    dt = 0.01
    while True:
        xp, yp = x, y
        x += vx * dt
        y += vy * dt
        vx -= 0.01 * vx * dt
        vy -= (g + 0.01 * vy) * dt
        if y < 0:
            frac = yp / (yp - y)
            return xp + frac * (x - xp)


# ---------------------------------------------------------------- event_queue
@program("event queue", lambda: (np.array([0.5, 1.2, 0.8, 2.0]),))
def event_queue(rates):
    t, served, busy = 0.0, 0, 0.0
    nxt = [1 / r for r in rates]
    while t < 10.0:
        k = min(range(len(nxt)), key=lambda i: nxt[i])
        t_new = nxt[k]
        busy += (t_new - t) * (1 + 0.1 * k)
        t = t_new
        nxt[k] = t + (1 + 0.3 * math.sin(served)) / rates[k]
        served += 1
    return busy + 0.01 * served


# ---------------------------------------------------------------- romberg
@program("Romberg", lambda: (np.array([1.0, 0.3]),))
def romberg(p):
    a, b = p
    f = lambda x: np.exp(-a * x * x) * np.cos(b * x)
    R = [[0.5 * (f(0.0) + f(1.0))]]
    n, h = 1, 1.0
    for i in range(1, 6):
        h /= 2
        R.append([0.5 * R[i - 1][0] + h * sum(f((2 * k - 1) * h) for k in range(1, n + 1))])
        n *= 2
        for m in range(1, i + 1):
            R[i].append(R[i][m - 1] + (R[i][m - 1] - R[i - 1][m - 1]) / (4**m - 1))
        if abs(R[i][i] - R[i - 1][i - 1]) < 1e-12:
            break
    return R[-1][-1]


# ---------------------------------------------------------------- online_stats
@program("online stats", lambda: (rng(11).normal(size=40), 0.3), wrt=(0, 1))
def online_stats(x, alpha):
    mean = m2 = 0.0
    ewma = x[0]
    hi, hi_at = x[0], 0
    dd = 0.0
    window = collections.deque(maxlen=5)
    acc = 0.0
    for n, v in enumerate(x, 1):
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
        ewma += alpha * (v - ewma)
        if v > hi:
            hi, hi_at = v, n
        dd = max(dd, hi - v)
        window.append(v)
        if len(window) == 5:
            acc += max(window) - min(window)
    return m2 / (len(x) - 1) + ewma + dd + 0.1 * acc + 0.01 * hi_at


# ---------------------------------------------------------------- polygon
@program("polygon", lambda: (rng(12).uniform(-1, 1, (6, 2)),))
def polygon(pts):
    area = per = 0.0
    cx = cy = 0.0
    px, py = pts[-1]
    for x, y in pts:
        cross = px * y - x * py
        area += cross / 2
        cx += (px + x) * cross
        cy += (py + y) * cross
        per += math.hypot(x - px, y - py)
        px, py = x, y
    return area**2 + per + (cx * cx + cy * cy) / (36 * area * area + 0.1)


# ---------------------------------------------------------------- soft_edit_distance
@program("soft edit distance", lambda: (np.array([0.1, 0.5, 0.9, 0.2]), "kitten", "sitting"))
def soft_edit_distance(cost, a, b):
    D = np.zeros((len(a) + 1, len(b) + 1))
    D[:, 0] = cost[0] * np.arange(len(a) + 1)
    D[0] = cost[1] * np.arange(len(b) + 1)
    for i, ca in enumerate(a, 1):
        for j, cb in enumerate(b, 1):
            c = 0.0 if ca == cb else cost[2]
            o = np.array([D[i - 1, j] + cost[0], D[i, j - 1] + cost[1], D[i - 1, j - 1] + c])
            D[i, j] = -cost[3] * np.log(np.sum(np.exp(-o / cost[3])))
    return D[-1, -1]


# ---------------------------------------------------------------- aitken
@program("Aitken", lambda: (np.array([2.0, 1.0, 0.5]), 0.3), wrt=(0, 1))
def aitken(c, x):
    seq = []
    for _ in range(30):
        seq.append(x)
        x = math.cos(x) * c[1] / c[0] + c[2] * 0.1
        if len(seq) >= 3:
            s0, s1, s2 = seq[-3:]
            den = s2 - 2 * s1 + s0
            if abs(den) < 1e-14:
                break
            acc = s0 - (s1 - s0) ** 2 / den
            if abs(acc - x) < 1e-10:
                return acc
    return x


# ---------------------------------------------------------------- kmeans_inertia
@program("k-means inertia", lambda: (rng(13).normal(size=(8, 2)), 3))
def kmeans_inertia(pts, k):
    centers = pts[:k].copy()
    labels = np.zeros(len(pts), dtype=int)
    for it in range(10):
        for i, p in enumerate(pts):
            labels[i] = np.argmin(((centers - p) ** 2).sum(axis=1))
        new = np.array([pts[labels == j].mean(axis=0) for j in range(3)])
        shift = np.abs(new - centers).max()
        centers = new
        if shift < 1e-9:
            break
    return sum(np.sum((p - centers[l]) ** 2) for p, l in zip(pts, labels))


# ---------------------------------------------------------------- american_put
@program("american put", lambda: (np.array([100.0, 0.05, 0.2, 1.0]),))
def american_put(p):
    S, r, sig, T = p
    n = 20
    dt = T / n
    u = math.exp(sig * math.sqrt(dt))
    d = 1 / u
    q = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    vals = [max(105.3 - S * u ** (2 * j - n), 0.0) for j in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            cont = disc * (q * vals[j + 1] + (1 - q) * vals[j])
            ex = 105.3 - S * u ** (2 * j - i)
            vals[j] = cont if cont > ex else ex
    return vals[0]


# ---------------------------------------------------------------- garch
@program("GARCH", lambda: (np.array([0.3, 0.1, 0.05]), rng(14).normal(size=50) * 0.1))
def garch(p, r):
    om, al, be = p[0] * 0.01, p[1], 0.8 + p[2]
    h = np.var(r)
    ll, prev = 0.0, None
    for x in r:
        if prev is not None:
            h = om + al * prev**2 + be * h
        ll -= 0.5 * (math.log(2 * math.pi * h) + x * x / h)
        prev = x
    return ll


# ---------------------------------------------------------------- continued_fraction
@program("continued fraction", lambda: (np.array([0.5, 1.5]), 7))
def continued_fraction(p, n):
    a, x = p
    f, C, D = 1e-30, 1e-30, 0.0
    C = f
    j = 0
    while True:
        j += 1
        an = x * j * (a + j) if j % 2 else -x * (j - a)
        b = 1.0 + j
        D = b + an * D
        D = 1 / (D if D != 0 else 1e-30)
        C = b + an / (C if C != 0 else 1e-30)
        delta = C * D
        f *= delta
        if abs(delta - 1) < 1e-9 or j > 60:
            break
    return f * 1e30


# ---------------------------------------------------------------- game_stencil
@program("game stencil", lambda: (rng(15).normal(size=(6, 6)),))
def game_stencil(u):
    u = u.copy()
    for it in range(5):
        old = u.copy()
        for i in range(1, 5):
            for j in range(1, 5):
                s = sum(old[i + di, j + dj] for di in (-1, 0, 1) for dj in (-1, 0, 1) if (di, dj) != (0, 0))
                if s > 0.5:
                    u[i, j] = 0.7 * old[i, j] + 0.05 * s
                elif s < -1:
                    continue
                else:
                    u[i, j] = math.tanh(s)
        if np.abs(u - old).max() < 1e-8:
            break
    return (u**2).sum()


# ---------------------------------------------------------------- state_machine
@program("state machine", lambda: (np.array([0.9, 0.4, 0.2]),))
def state_machine(p):
    state, x, total = "idle", 0.0, 0.0
    for t in range(40):
        if state == "idle":
            x += p[0] * 0.1
            if x > 0.5:
                state = "run"
        elif state == "run":
            total += p[1] * x
            x *= 1 - p[2] * 0.3
            if x < 0.2:
                state = "cool"
        else:
            total -= 0.01 * x
            x *= 0.9
            if x < 0.1:
                state = "idle"
    return total + x


# ---------------------------------------------------------------- golden_section
@program("golden section", lambda: (np.array([0.3, 0.7, 0.2, 0.5]),))
def golden_section(c):
    f = lambda t: (t - c[0]) ** 2 + 0.1 * np.sin(3 * t * c[1])
    a, b = -1.0, 2.0
    g = (math.sqrt(5) - 1) / 2
    x1, x2 = b - g * (b - a), a + g * (b - a)
    f1, f2 = f(x1), f(x2)
    while b - a > 1e-2:
        if f1 < f2:
            b, x2, f2 = x2, x1, f1
            x1 = b - g * (b - a)
            f1 = f(x1)
        else:
            a, x1, f1 = x1, x2, f2
            x2 = a + g * (b - a)
            f2 = f(x2)
    return min(f1, f2) + c[2] * a + c[3]


# ---------------------------------------------------------------- newton_dual
class Dual:
    def __init__(self, re, eps=0.0):
        self.re = re
        self.eps = eps

    def __add__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re + o.re, self.eps + o.eps)

    __radd__ = __add__

    def __mul__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re * o.re, self.re * o.eps + self.eps * o.re)

    __rmul__ = __mul__

    def __neg__(self):
        return Dual(-self.re, -self.eps)

    def __sub__(self, o):
        return self + (-o)

    def __rsub__(self, o):
        return (-self) + o

    def __pow__(self, n):
        return Dual(self.re**n, n * self.re ** (n - 1) * self.eps)

    def sin(self):
        return Dual(np.sin(self.re), np.cos(self.re) * self.eps)


@program("dual numbers by hand", lambda: (0.7, 1.3), wrt=(0, 1))
def newton_dual(x0, a):
    def f(x):
        return a * x**3 - 2 * x.sin() + 1 - x * 0.5

    x = x0
    for _ in range(4):
        y = f(Dual(x, 1.0))
        x = x - y.re / y.eps
    return x + (1 + Dual(x0, a) * 2 - 3).eps


# ---------------------------------------------------------------- robertson
@program(
    "Rosenbrock stiff with jacobian finite; complex-step derivative",
    lambda: (np.array([0.04, 3e1, 1e2]), np.array([1.0, 0.0, 0.0])),
    wrt=(0, 1),
)
def robertson(k, y0):
    def f(y):
        r1, r2, r3 = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return np.array([-r1 + r2, r1 - r2 - r3, r3])

    def jac(y):
        J = np.zeros((3, 3))
        for j in range(3):
            yc = y.astype(complex)
            yc[j] += 1e-20j
            J[:, j] = np.imag(f(yc)) / 1e-20
        return J

    y, h = y0, 0.1
    for _ in range(15):
        yn = y
        for it in range(3):
            F = yn - y - h * f(yn)
            yn = yn - np.linalg.solve(np.eye(3) - h * jac(yn), F)
        y = yn
    return y @ np.array([1.0, 100.0, 2.0])


# ---------------------------------------------------------------- bfgs_rosen
@program(
    "optimization: BFGS by hand with line search, closure for gradient",
    lambda: (np.array([-1.2, 1.0, 0.5]), 5.0),
    wrt=(0, 1),
)
def bfgs_rosen(x0, b):
    def f(x):
        return sum(b * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(len(x) - 1))

    def g(x):
        out = np.zeros_like(x)
        out[:-1] += -4 * b * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        out[1:] += 2 * b * (x[1:] - x[:-1] ** 2)
        return out

    n = x0.size
    H = np.identity(n)
    x, gx = x0, g(x0)
    I = np.eye(n)
    for it in range(5):
        p = -H @ gx
        t = 1.0
        while f(x + t * p) > f(x) + 1e-4 * t * gx @ p:
            t *= 0.5
            if t < 1e-8:
                break
        s = t * p
        x = x + s
        gn = g(x)
        y = gn - gx
        rho = 1 / (y @ s)
        H = (I - rho * np.outer(s, y)) @ H @ (I - rho * np.outer(y, s)) + rho * np.outer(s, s)
        gx = gn
    return f(x)


# ---------------------------------------------------------------- simplex_projection
@program("optimisation: projection to a simplex", lambda: (np.array([1.0, 2.0, 0.5]), 1.5), wrt=(0, 1))
def simplex_projection(v, z):
    u = np.sort(v)[::-1]
    css = np.cumsum(u) - z
    rho = np.nonzero(u * np.arange(1, len(u) + 1) > css)[0][-1]
    theta = css[rho] / (rho + 1.0)
    w = np.maximum(v - theta, 0)
    return w @ np.array([1.0, 3.0, 2.0]) + (w**2).sum()


# ---------------------------------------------------------------- bvp_functional
def cheb(N):
    """Chebyshev differentiation matrix and nodes."""
    x = np.cos(np.pi * np.arange(N + 1) / N)
    c = np.hstack([2, np.ones(N - 1), 2]) * (-1) ** np.arange(N + 1)
    X = np.tile(x, (N + 1, 1)).T
    dX = X - X.T
    D = np.outer(c, 1 / c) / (dX + np.eye(N + 1))
    D = D - np.diag(D.sum(axis=1))
    return D, x


@program(
    "spectral methods: int u dx for -eps u'' + u = f on [-1, 1] with Dirichlet data",
    lambda: (0.15, np.array([1.0, -0.5, 0.3]), (0.2, -0.1)),
    wrt=(0, 1, 2),
)
def bvp_functional(eps, f_amp, bc, N=12):
    """int u dx for -eps u'' + u = f on [-1, 1] with Dirichlet data."""
    D, x = cheb(N)
    L = -eps * D @ D + np.eye(N + 1)
    rhs = f_amp[0] * np.cos(np.pi * x / 2) + f_amp[1] * np.sin(np.pi * x) + f_amp[2]
    L[0] = 0.0
    L[-1] = 0.0
    L[0, 0] = L[-1, -1] = 1.0
    rhs[0], rhs[-1] = bc
    u = np.linalg.solve(L, rhs)
    xs, us = x[::-1], u[::-1]
    return np.sum(0.5 * (us[1:] + us[:-1]) * np.diff(xs))


# ---------------------------------------------------------------- spline_bend
@program(
    "spline fitting: bending of a spline", lambda: (np.array([0.1, 0.8, 0.3, -0.2, 0.5]), np.linspace(0.1, 3.8, 15))
)
def spline_bend(y, q):
    cs = CubicSpline(np.arange(5.0), y, bc_type="natural")
    return np.sum(np.sin(cs(q)) ** 2) + 0.1 * np.sum(cs(q, 2) ** 2)


# ---------------------------------------------------------------- deboor
@program("B-splines de Boor recursive with lru", lambda: (rng(28).normal(size=7), 2.3), wrt=(0, 1))
def deboor(c, x):
    k = 3
    t = np.concatenate([np.zeros(k), np.arange(5.0), np.full(k, 4.0)])

    def B(i, k, x):
        if k == 0:
            return 1.0 if t[i] <= x < t[i + 1] else 0.0
        left = 0.0 if t[i + k] == t[i] else (x - t[i]) / (t[i + k] - t[i]) * B(i, k - 1, x)
        right = 0.0 if t[i + k + 1] == t[i + 1] else (t[i + k + 1] - x) / (t[i + k + 1] - t[i + 1]) * B(i + 1, k - 1, x)
        return left + right

    return sum(ci * B(i, k, x) for i, ci in enumerate(c))


# ---------------------------------------------------------------- special_zoo
@program("special functions", lambda: (0.3, 1.2, np.linspace(0.1, 5, 8)), wrt=(0, 1, 2))
def special_zoo(a, b, x):
    t = sc.j0(x) + sc.jv(1, x) + sc.erf(a * x) + sc.gammaln(x + b) + sc.digamma(b * x) * 0.1
    t += sc.ellipk(a) + sc.i0e(x) + sc.erfc(b) + np.sinc(x)
    t += sc.log1p(x) + sc.xlogy(a, x) + sc.exprel(a) + np.logaddexp(a, x) + np.cbrt(x) + np.heaviside(x - 1, 0.5) * b
    t += sc.lambertw(x).real + sc.eval_legendre(2, a)
    return (
        t.sum()
        + sc.comb(5, 2) * a
        + sc.factorial(4) * b
        + math.lgamma(b)
        + math.comb(5, 2) * a
        + math.hypot(a, b)
        + math.copysign(a, -1)
    )
