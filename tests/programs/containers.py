"""Containers at run time: heaps, orders by keys, dictionaries, sets and queues."""

import heapq

import numpy as np

from tests.programs.rows import Rows, wave

CONTAINERS = Rows()
add = CONTAINERS.add(lambda: (wave(7),), (0,))
quick = CONTAINERS.add(lambda: (wave(7),), (0,), second=False)
compiled = CONTAINERS.add(lambda: (wave(7),), (0,), second=False, compiled=True)


@quick
def dijkstra(w):
    n = 5
    src = np.array([0, 0, 1, 1, 2, 3, 2])
    dst = np.array([1, 2, 2, 3, 3, 4, 4])
    dist = np.full(n, np.inf)
    dist[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for e in range(len(src)):
            if src[e] == u:
                nd = d + w[e] ** 2 + 0.1
                if nd < dist[dst[e]]:
                    dist[dst[e]] = nd
                    heapq.heappush(heap, (nd, dst[e]))
    return dist[4] + 2 * dist[3]


@compiled
def top_k(w):
    h = []
    for v in w:
        if len(h) < 3:
            heapq.heappush(h, v)
        else:
            heapq.heappushpop(h, v)
    s = 0.0
    for k, v in enumerate(h):
        s += (k + 1) * v * v
    return s


@add
def ties(w):
    h = [(1, w[0]), (1, w[1]), (0, w[2]), (1, w[3]), (0, w[4])]
    heapq.heapify(h)
    s = 0.0
    k = 1
    while h:
        a, b = heapq.heappop(h)
        s += k * b + a
        k += 1
    return s


@add
def payload(w):
    h = []
    for k in range(4):
        heapq.heappush(h, ((7 * k) % 4, k, w * k))
    s = 0.0
    c = 1
    while h:
        q, i, a = heapq.heappop(h)
        s += c * np.sum(a**2) + q * a[0]
        c += 1
    return s


@quick
def by_key(w):
    o = sorted(range(w.size), key=lambda i: -w[i])
    pts = [(round(v), v * v, i) for i, v in enumerate(w)]
    pts.sort(key=lambda q: (q[0], -q[1]))
    s = sum(k * q[1] for k, q in enumerate(pts))
    pts.sort(reverse=True)
    s += sum(k * q[1] for k, q in enumerate(pts))
    names = sorted(["b", "a"], key=lambda n: n)
    m = max(pts, key=lambda q: q[1])
    mm = min(pts)
    return s + w[o[0]] * w[o[2]] + m[1] * 2 + mm[1] + (w[0] if names[0] == "a" else 0.0)


@add
def small(w):
    l = heapq.nsmallest(2, list(w)) + heapq.nlargest(3, list(w), key=lambda v: v * v)
    z = max([v for v in w if v > 100], default=w[0] * 3) + min((v for v in w if v > 0), default=0.0)
    return sum(k * v for k, v in enumerate(l)) + z + min(w[0], w[1], key=abs) + max((w[0], 1), (w[1], 2))[0]


@quick
def arrays_sorted(w):
    rows = [w * k for k in (3, 1, 2)]
    rows.sort(key=lambda r: r[0])
    t = rows[0] * 2 + rows[1]
    pts = []
    for i in range(3):
        pts.append((w[i], w * i))
    pts.sort(key=lambda q: q[0])
    return np.sum(t) + np.sum(pts[0][1]) * pts[1][0]


@add
def events(w):
    q = [(w[0] ** 2, 0), (w[1] ** 2, 1)]
    heapq.heapify(q)
    t = 0.0
    x = 1.0
    for _ in range(8):
        t, kind = heapq.heappop(q)
        if kind == 0:
            x = x * (1 + 0.1 * w[2])
            heapq.heappush(q, (t + w[3] ** 2, 0))
        else:
            x = x + w[4]
            heapq.heappush(q, (t + 0.37 + w[5] ** 2, 1))
    return t * x


@add
def replaced(w):
    h = list(w)
    heapq.heapify(h)
    s = 0.0
    for i in range(4):
        a = heapq.heapreplace(h, h[0] * 2 + 3 * i)
        s += a * a * (i + 1)
    return s + h[0] * h[1]
