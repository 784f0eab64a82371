"""Semantics of Python and NumPy that are easy to get wrong."""

from dataclasses import dataclass, field

import numpy as np

from tests.field_programs import program, rng


# ---------------------------------------------------------------- int_store_truncates
@program("int store truncates", lambda: (np.array([1.7, 2.4, 3.9]), 2.5), wrt=(0, 1))
def int_store_truncates(x, s):
    a = np.zeros(3, dtype=int)
    a[0] = x[0]
    a[1] = s
    b = np.array([1, 2, 3])
    b[:] = x
    c = x.astype(int) * s
    d = np.zeros_like(b)
    d[1] = 7.9
    e = np.full(3, 2)
    e[2] = s
    f = np.zeros_like(x, dtype=np.int32)
    f += x.astype(np.int32)
    return (a * x).sum() + (b * x).sum() + c.sum() + (d * s).sum() + (e @ x) + f @ x


# ---------------------------------------------------------------- overlapping_views
@program("overlapping views", lambda: (np.array([1.0, 2.0, 3.0, 4.0]),))
def overlapping_views(x):
    a = x.copy()
    a[1:] += a[:-1]
    b = a[::-1]
    b[0] *= 2.0
    a[:2] = a[2:]
    c = a.reshape(2, 2)
    c.T[0] = c[0] * 3
    d = np.ravel(c)
    d[1] += 1.0
    e = c.flatten()
    e[:] = 0
    a[[0, 1]] = a[[1, 0]]
    a[0], a[3] = a[3], a[0]
    return (a * np.arange(1.0, 5)).sum() + c[1] @ c[0]


# ---------------------------------------------------------------- mutable_default
@program("mutable default", lambda: (np.array([0.3, 0.5, 0.9]),))
def mutable_default(x):
    def push(v, acc=[]):
        acc.append(v * v)
        return sum(acc)

    return push(x[0]) + 2 * push(x[1]) + 3 * push(x[2])


# ---------------------------------------------------------------- aliased_lists
@program("aliased lists", lambda: (np.array([3.0, 1.0, 2.0, 5.0, 4.0]), 0.5), wrt=(0, 1))
def aliased_lists(x, s):
    rows = [x] * 2
    m = [list(r) for r in rows]
    m[0][1] = s
    n = [[0.0] * 3] * 2
    n[0][0] = x[0] * s
    a = b = [x[1]]
    b.append(s)
    c = a[:]
    c[0] = 10.0
    a += [x[2]]
    return sum(m[1]) + m[0][1] ** 2 + n[1][0] + sum(b) + c[0] * c[1]


# ---------------------------------------------------------------- order_of_evaluation
@program("order of evaluation", lambda: (np.array([[1.0, 2.0], [3.0, 4.0]]), 0.7), wrt=(0, 1))
def order_of_evaluation(A, s):
    x = A.copy()
    i = 0
    i, x[i, i] = 1, s
    x[i], i = x[0] * 2, 0
    y = [x[0, 0], (x := x * 2)[0, 0], x[1, 1]]
    j = 0
    z = np.zeros(3)
    z[j] = j = 2
    z[j] += s

    def bump():
        x[0, 0] += 1
        return s

    total = x[0, 0] + bump() * x[0, 0]
    return sum(y) + total + z[2] * 3 + i


# ---------------------------------------------------------------- sorting_with_ties
@program("sorting with ties", lambda: (np.array([2.0, 2.0, 1.0, 3.0]), np.array([1.0, 3.0, 0.5, 2.0])), wrt=(1,))
def sorting_with_ties(keys, v):
    order = np.argsort(keys, kind="stable")
    s = v[order] @ np.array([1.0, 2, 3, 4])
    pairs = sorted(zip(keys, v), key=lambda p: (-p[0], p[1]))
    t = sum(k * w * (i + 1) for i, (k, w) in enumerate(pairs))
    best = max(pairs, key=lambda p: p[0])
    lex = np.lexsort((v, keys))
    u, inv, cnt = np.unique(keys, return_inverse=True, return_counts=True)
    sums = np.zeros(len(u))
    np.add.at(sums, inv, v)
    mx = np.full(len(u), -np.inf)
    np.maximum.at(mx, inv, v)
    return s + t + best[1] + v[lex][0] * 5 + (sums / cnt) @ u + mx.sum() + np.bincount(inv, weights=v)[0]


# ---------------------------------------------------------------- shared_state
@dataclass
class State:
    pos: np.ndarray
    t: float = 0.0
    log: list = field(default_factory=list)

    def advance(self, dt):
        self.pos += dt * np.array([1.0, 2.0])
        self.t += dt
        self.log.append(self.t * self.pos[0])
        return self


@program("shared state", lambda: (np.array([0.5, 1.0]), 0.1), wrt=(0, 1))
def shared_state(p, dt):
    a = State(p.copy())
    b = a
    c = State(a.pos)
    a.advance(dt).advance(2 * dt)
    b.t *= 3
    c.pos[1] = 7 * dt
    d = {"s": a}
    d["s"].log.append(dt)
    del d["s"].log[0]
    return a.pos.sum() + b.t + c.pos[0] + sum(a.log) + len(b.log) * dt


# ---------------------------------------------------------------- broadcasting_zoo
@program("broadcasting zoo", lambda: (rng(3).normal(size=(2, 3, 4)), rng(4).normal(size=(3, 4))), wrt=(0, 1))
def broadcasting_zoo(x, y):
    a = x - x.mean(axis=(0, 2), keepdims=True)
    b = x[..., None] * y[:, None, :][None]
    c = x[:, [0, 2]][..., ::2]
    d = x[:, :, 0][..., np.newaxis] @ y[0][None, :]
    e = x[np.arange(2), [1, 2], :]
    f = x[0, :, [1, 2]]
    g = np.swapaxes(x, 0, -1)[1:, ::-1]
    h = y[None].repeat(2, axis=0) * x
    k = x.reshape(6, -1).T.reshape(2, 12)
    l = np.einsum("abc,bc->ac", x, y)
    n = np.ptp(x, axis=1).sum() + x.max(axis=(1, 2)) @ [1.0, 2.0]
    return (
        a.std()
        + b.sum() * 0.1
        + c.prod()
        + d.max()
        + e.sum()
        + (f**2).sum()
        + g[0].sum()
        + h.min()
        + k[0] @ k[1]
        + l.sum()
        + n
    )
