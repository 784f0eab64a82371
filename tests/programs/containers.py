"""Containers at run time: heaps, orders by keys, dictionaries, sets and queues."""

import collections
import copy
import functools
import heapq
import itertools
import math
import operator

import numba
import numpy as np
from numba import typed

import adjit
from tests.programs.rows import Rows, wave

CONTAINERS = Rows()
add = CONTAINERS.add(lambda: (wave(7),), (0,))
quick = CONTAINERS.add(lambda: (wave(7),), (0,), second=False)
compiled = CONTAINERS.add(lambda: (wave(7),), (0,), second=False, compiled=True)


@compiled
def sets_of_what_is_in_others(w):
    wanted = [(v, k) for k, v in enumerate(w) if v > 0.0]
    times = sorted({*(v for v, _ in wanted), 0.5 * w[0], 7.0})
    found = {1.0}
    for v in w:
        if v > 0.1:
            found.add(v)
    union = sorted({*found, *found, w[0], 9.0, *range(2)})
    pairs = sorted({*wanted, (w[0], 0), (w[1] + 2.0, 9)})
    total = sum(k * v for k, v in enumerate(times)) * len(times) + sum(k * v * v for k, v in enumerate(union, 1))
    return total + sum((k + 1) * a * b for k, (a, b) in enumerate(pairs)) * len({*"abca", "d"}) * len({*{"a": 1}, "b"})


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


@quick
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


@add
def histogram(x):
    d = {}
    for i in range(x.size):
        d[i % 3] = d.get(i % 3, 0.0) + x[i] ** 2
    s = 0.0
    for k in d:
        s += d[k] ** 2 * (k + 1)
    for k, v in d.items():
        s += k * v
    return s + sum(d.values()) * len(d) + max(d.values())


@quick
def default_sums(x):
    d = collections.defaultdict(float)
    for i in range(x.size):
        d[(i % 2, i % 3)] += x[i] ** 2
    s = 0.0
    for (a, b), v in d.items():
        s += (a + 2 * b) * v * v
    return s + d[0, 0] + d[(5, 5)] + len(d)


@quick
def memo(x):
    table = {0: 1.0, 1: x[0]}
    n = int(len(x))
    for k in range(2, n + 3):
        table[k] = table[k - 1] * x[1] + table[k - 2] * x[2]
    return table[n] + table[n + 2]


@quick
def visited(x):
    seen = set()
    order = []
    node = 0
    while node not in seen:
        seen.add(node)
        order.append(node)
        node = (node * 3 + 2) % 7
    s = 0.0
    for k in sorted(seen):
        s = s * 0.5 + x[k] ** 2
    seen.discard(2)
    if 5 in seen:
        seen.remove(5)
    return s + len(seen) * x[0] + sum(seen) * x[1]


@quick
def with_pop(x):
    d = {}
    for i in range(x.size):
        d[i * i % 5] = x[i]
    del d[1]
    v = d.pop(4)
    w = d.pop(77, x[2] * 3)
    keys = d.keys()
    d[9] = x[3]
    return v * w + sum(d.values()) + len(keys) + (9 in d) * x[4]


@quick
def arrays_in(x):
    d = {}
    for i in range(6):
        k = i % 2
        if k in d:
            d[k] = d[k] + x * i
        else:
            d[k] = x * x
    return np.sum(d[0] * d[1])


@quick
def tuples_in(x):
    best = {}
    for i in range(x.size):
        k = int(x[i] > 0)
        if k not in best or x[i] ** 2 > best[k][0]:
            best[k] = (x[i] ** 2, i)
    s = 0.0
    for k, (v, i) in best.items():
        s += v * (i + k + 1)
    return s


@quick
def counted(x):
    c = collections.Counter(int(v > 0) for v in x)
    c[1] += 2
    m = c.most_common(1)[0]
    return x[0] * c[1] + x[1] * c[0] + c[55] * x[2] + m[0] * x[3] + m[1] * x[4]


@quick
def in_branch(x):
    d = {0: x[0]}
    if x[1] > 0:
        d[int(x.size)] = x[1] ** 2
    else:
        d[1] = x[2]
    s = 0.0
    for k, v in sorted(d.items()):
        s += k * v + v * v
    return s


@quick
def nested_loops(x):
    memo = {}
    total = 0.0
    for i in range(x.size):
        for j in range(i):
            k = (i - j, j % 2)
            if k not in memo:
                memo[k] = np.sin(x[i] * x[j])
            total += memo[k] * x[j]
    return total + len(memo)


@quick
def comprehensions_of_both(x):
    d = {i % 3: x[i] ** 2 for i in range(len(x))}
    e = {k: v * 2 for k, v in d.items() if k > 0}
    f = {**e}
    s = {i * i % 4 for i in range(len(x))}
    t = {0, 1, 5} & s
    u = s | {9}
    return sum(d.values()) + e[1] * f[2] + len(s) * x[0] + len(t) * x[1] + sum(u - s) * x[2]


@quick
def floats_keys(x):
    d = {}
    for v in x:
        d[round(v)] = d.get(round(v), 1.0) * v
    best = max(d, key=d.get)
    return d[best] * 2 + sum(d[k] for k in sorted(d)) + best


@quick
def ints_then_floats(x):
    d = {}
    for i in range(x.size):
        d[i % 2] = d.get(i % 2, 0) + x[i]
    return d[0] * d[1]


@quick
def overwritten_int(x):
    d = {0: 1, 1: 2}
    n = len(x)
    d[n % 2] = x[3]
    c = [0, 0, 0]
    for i in range(n):
        c[i % 3] = x[i]
    return d[0] * 3 + d[1] + sum(c)


@quick
def typed_ones(x):
    d = typed.Dict.empty(numba.types.int64, numba.types.float64)
    l = typed.List.empty_list(numba.types.float64)
    for i in range(x.size):
        d[i // 2] = x[i] ** 2
        l.append(d[i // 2] * x[0])
    return sum(l) + d[1]


@compiled
def bfs(x):
    q = collections.deque([0])
    seen = {0}
    s = 0.0
    step = 1
    while q:
        u = q.popleft()
        s += step * x[u] ** 2
        step += 1
        for v in ((2 * u + 1) % 7, (u + 3) % 7):
            if v not in seen:
                seen.add(v)
                q.append(v)
    return s


@quick
def window(x):
    w = collections.deque(maxlen=3)
    s = 0.0
    for i in range(x.size):
        w.append(x[i])
        s += sum(w) * w[0] / len(w)
    w.appendleft(x[0] ** 2)
    return s + w[0] * w[-1] + max(w)


@quick
def both_ends(x):
    d = collections.deque(x)
    for k in range(3):
        a = d.popleft()
        b = d.pop()
        d.append(a * b)
        d.appendleft(a + b)
    return sum(k * v for k, v in enumerate(d)) + np.sum(np.array(d))


class Cache:
    def __init__(self):
        self.known = {}
        self.hits = 0

    def value(self, k, x):
        if k in self.known:
            self.hits += 1
            return self.known[k]
        self.known[k] = np.cos(x[k]) * x[k]
        return self.known[k]


@quick
def a_cache_in_an_object(x):
    memo = Cache()
    s = 0.0
    for i in range(x.size):
        s += memo.value(i % 4, x)
    return s + memo.hits * x[0]


@quick
def live_views(x):
    d = {}
    for i in range(len(x) // 2):
        d[i] = x[i]
    vs = d.values()
    for i in range(len(x) // 2):
        d[i] = d[i] * 2
    d[50] = x[5]
    return sum(vs) + len(vs)


@quick
def swap_values(x):
    d = {}
    for i in range(len(x)):
        d[i] = x[i]
    n = len(x) - 1
    d[0], d[n] = d[n], d[0]
    e = d.copy()
    e[0] = x[1] * 2
    d.update({0: x[2], n + 3: x[4]})
    return d[0] * d[n] + e[0] * e[n] + d[n + 3] + len(e)


@quick
def set_by_default(x):
    d = {}
    for i in range(len(x)):
        d.setdefault(i % 3, x[i] ** 2)
    k, v = d.popitem()
    return sum(d.values()) * k + v


@quick
def by_group(x):
    d = collections.defaultdict(list)
    for i in range(6):
        d[i % 2].append(x[i])
    return sum(d[0]) * len(d[1]) + d[1][0]


Point = collections.namedtuple("Point", "a b")
by_first = operator.itemgetter(0)


@functools.lru_cache(maxsize=None)
def cached(v):
    return v * v * 2


@quick
def iterators(x):
    it = iter(x)
    a = next(it)
    s = a * a
    for v in it:
        s += v * a
    b = next(it, x[2] * 3)
    l = [x[0], x[1]]
    j = iter(l)
    l.append(x[2] * 5)
    s += next(j)
    n = 0
    while n < 2:
        s = s * 0.5 + next(j)
        n += 1
    return s + b + sum(j)


@quick
def next_of_generators(x):
    first = next((v for v in x if v < -0.5), x[0] * 3)
    none = next((v for v in x if v > 100.0), x[1] * 2)
    k = next(i for i in range(x.size) if x[i] < 0)
    safe = next((1.0 / x[i] for i in range(x.size) if i > 1), 0.0)
    endless = next(x[1] * k for k in itertools.count(1) if k * x[0] ** 2 > 3.0)
    pair = next(x[0] * a - x[1] * b for a in range(9) for b in range(a) if a * b > 5)
    return first * none + k * x[0] + safe + endless * pair


@quick
def filtered(x):
    pos = list(filter(lambda v: v > 0, x))
    s = 0.0
    for k, v in enumerate(filter(lambda v: v < 0, x)):
        s += k * v * v
    return s + pos[-1] * len(pos) + sum(filter(None, [x[0], 0.0]))


@quick
def accumulated(x):
    c = list(itertools.accumulate(x))
    m = list(itertools.accumulate(x, max))
    i = list(itertools.accumulate(x, lambda a, b: a * b + 1.0, initial=2.0))
    e = list(itertools.accumulate([v for v in x if v > 99.0]))
    return c[-1] * c[2] + m[3] + i[-1] + len(i) + len(e)


@quick
def products(x):
    n = len(x)
    s = 0.0
    for i, j in itertools.product(range(n), range(n - 1)):
        s += x[i] * x[j] * (i - j)
    for a, b in itertools.product(x[:2], repeat=2):
        s += a * b
    whole = [*itertools.chain(x, [x[0] ** 2], x[: n - 2])]
    flat = list(itertools.chain.from_iterable([[v, v * v] for v in x]))
    return s + whole[n] * whole[-1] + flat[3] + len(flat)


@quick
def starred(x):
    a, *b = x
    *c, d = x
    e, *f, g = b
    return a * b[0] + d * len(c) + e * g + sum(f)


@quick
def getters(x):
    pts = [Point(x[0], x[1]), Point(x[2], x[3])]
    g = operator.attrgetter("a", "b")
    a, b = g(pts[1])
    pairs = sorted([(v, v * v) for v in x], key=operator.itemgetter(1))
    first, second = operator.itemgetter(1, 2)(x)
    y = x.copy()
    operator.setitem(y, 1, x[0] ** 2)
    m = max(pairs, key=by_first)
    s = a * b + pairs[0][0] * 2 + first * second + operator.getitem(y, 1) + m[1]
    return s + math.hypot(x[0], x[1], x[2]) + cached(x[0])


@quick
def copies(x):
    y = copy.deepcopy(x)
    y[0] = x[1] * 2
    state = {"a": [x[0], x[1]], "b": x}
    other = copy.deepcopy(state)
    other["a"].append(x[2])
    other["b"][0] = 5.0
    shallow = copy.copy(state)
    shallow["a"].append(x[3])
    s = np.sum(y) + sum(other["a"]) * 2 + np.sum(other["b"])
    return s + sum(state["a"]) * 3 + len(shallow["a"]) + np.sum(state["b"])


@quick
def powers(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * pow(3, i + 2, 7) + x[pow(i, 2, 7)] ** 2
    return s + pow(x[0], 2)


@quick
def texts(x):
    kind = "  Sine,cos ".strip().lower().split(",")
    name = "{}_{:02d}".format(kind[0], 3)
    s = x[0] if name == "sine_03" and "abc".startswith("ab") else 0.0
    t = x[1] if kind[1].upper() + "!" == "COS!" and "os" in kind[1] and len(kind[1]) == 3 else 0.0
    return s * t + float("inf") ** -1 + int("3") * x[2] + (str(2) == "2")


@quick
def remembers_inside(x):
    @functools.lru_cache
    def g(k):
        return x[k] ** 2

    return g(0) + g(1) * g(0)


@quick
def empty_rest(x):
    s = 0.0
    for k in range(3):
        a, b, *r = x[k : k + 2 + k]
        s += a * b + sum(r) + len(r)
    return s


@quick
def sort_by_dict(x):
    rank = {}
    for i in range(len(x)):
        rank[i] = x[i] ** 2
    o = sorted(rank, key=rank.get)
    q = sorted(rank.items(), key=lambda kv: -kv[1])
    return x[o[0]] * 3 + q[0][1] * 2 + q[1][0]


@quick
def replaced_array_under_a_key(x):
    d = {}
    for i in range(len(x)):
        d[i] = x * i
    a = d[1]
    d[1] = a * 2
    return np.sum(a * d[1])


@quick
def replaced_array_in_a_list(x):
    d = []
    for i in range(len(x)):
        d.append(x * i)
    a = d[1]
    d[1] = a * 2
    return np.sum(a * d[1])


@quick
def replaced_array_in_a_queue(x):
    q = collections.deque()
    for i in range(len(x)):
        q.append(x * i)
    a = q[1]
    b = q.popleft()
    q[0] = b + 1
    return np.sum(a * q[0] * q[1])


@quick
def stores_while_it_iterates(x):
    d = {}
    for i in range(len(x)):
        d[i] = x[i]
    it = d.items()
    s = 0.0
    for k, v in it:
        if k < 2:
            d[k + 2] = v * v
        s += v
    return s + sum(d.values())


@quick
def compared_sets(x):
    s = {len(x)}
    t = s
    t.add(3)
    u = s.copy()
    u.add(99)
    return x[0] * len(s) + len(u) * x[1] + (s == t) + (s != u) * x[2]


@quick
def floats_into_integers(x):
    l = [0] * len(x)
    l.append(x[0])
    m = [1, 2, 3]
    m[len(x) % 3] = x[1]
    m.extend([x[2]])
    m.insert(0, x[3] ** 2)
    return sum(l) + sum(m) * m[0] + m[2]


@quick
def keys_of_different_kinds(x):
    d = {}
    key = (len(x), 2)
    d[key] = x[0]
    d["name"] = x[1]
    return d[key] * d["name"]


@quick
def dict_arg_state(x):
    def bump(d, k, v):
        d[k] = d.get(k, 0.0) + v

    d = {}
    for i in range(len(x)):
        bump(d, i % 2, x[i])
        if i > 2:
            bump(d, (i * 7) % 5, x[i] ** 2)
    return sum(v * v for v in d.values()) + len(d)


@quick
def complex_values(x):
    d = {}
    for i in range(len(x)):
        d[i % 3] = d.get(i % 3, 0j) + x[i] * 1j + x[i] ** 2
    return sum(abs(v) ** 2 for v in d.values())


@quick
def two_dicts(x):
    a, b = {}, {}
    for i in range(len(x)):
        if x[i] > 0:
            a[i] = x[i]
        else:
            b[i] = x[i] ** 2
    a.update(b)
    return sum(k * v for k, v in a.items()) + sum(k for k in b)


@quick
def iterate_and_store(x):
    d = {}
    for i in range(len(x)):
        d[i] = x[i]
    for k in d:
        d[k] = d[k] * (k + 1) + d[(k + 1) % len(d)]
    for k, v in d.items():
        d[k] = v * 2 + d[0]
    return sum(d.values())


@quick
def value_lists(x):
    d = {}
    for i in range(len(x)):
        d[i % 2] = [x[i], x[i] ** 2]
    return d[0][0] * d[1][1]


@quick
def record_payload(x):
    h = []
    for i in range(4):
        heapq.heappush(h, (x[i], i, {"w": x[i] ** 2}))
    s = 0.0
    while len(h) > 1:
        a, i, d = heapq.heappop(h)
        s = s * 0.5 + d["w"] * i
    return s


@quick
def pop_array(x):
    stack = collections.deque()
    for i in range(4):
        stack.append(x * i)
    a = stack.popleft()
    b = stack.pop()
    stack.append(b + a)
    return np.sum(stack[0] * stack[-1]) + len(stack)


@quick
def captured_by_a_derivative(x):
    d = {}
    for i in range(len(x)):
        d[i % 3] = x[i] ** 2
    seen = {1, 2}
    seen.add(len(x))

    def f(v):
        return d[1] * v**3 + d[len(x) % 3] * v + len(seen) * v

    return adjit.grad(f)(x[0] * 2) + x[1]


@quick
def queues_captured_by_a_derivative(x):
    h = [(x[0], 1)]
    heapq.heappush(h, (x[2], 2))
    q = collections.deque([x[1], x[3]], maxlen=2)

    def f(v):
        return h[0][0] * v**3 + q[1] * v * v

    return adjit.grad(f)(x[0] * 2) + x[1]


@quick
def queue_in_loops_of_loops(x):
    q = collections.deque(maxlen=len(x) // 2)
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            q.append(x[i] * x[j])
        if len(q) > 1:
            s += q[0] * q[-1]
    q.extend(x)
    q.extendleft([x[0], x[1]])
    return s + sum(q) * q[0]


@quick
def while_there_is_work(x):
    q = collections.deque()
    q.append((0, x[0]))
    s = 0.0
    while len(q) > 0:
        k, v = q.popleft()
        s += v * (k + 1)
        if k < 5:
            q.append((k + 1, v * x[k]))
            if k % 2 == 0:
                q.append((k + 3, v + x[k + 1]))
    return s


def _of_three(a, b, c, scale=1.0):
    return (a + b * c) * scale


class _OfTwo:
    def __init__(self, first, second, third=0.5):
        self.first, self.second, self.third = first, second, third

    def value(self):
        return self.first * self.second + self.third


@CONTAINERS.add(lambda: (wave(3),), (0,))
def as_many_items_of_an_array_as_are_needed(x):
    def inner(a, b):
        return a - b * b

    return (
        _of_three(*x, scale=2.0) + _OfTwo(*x[1:]).value() + np.hypot(*x[:2]) + inner(*x[::2]) + _of_three(x[0], *x[1:])
    )
