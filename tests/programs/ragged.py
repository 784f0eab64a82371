"""Lists of arrays and of lists that have lengths of their own."""

from collections import defaultdict

import numpy as np

from tests.programs.rows import Rows, vector

RAGGED = Rows()
add = RAGGED.add


def values():
    return vector(1.0, 2.0, 3.0, 1.7, 0.6, 2.2), 4


@add(values, second=False)
def slices_of_lengths_known_at_run_time(x, n):
    starts = np.array([0, 1, 3])
    ends = np.array([1, 3, 6])
    out = []
    for k in range(3):
        out.append(x[starts[k] : ends[k]] ** 2)
    s = 0.0
    for p in out:
        s += p.sum() * len(p) + p[0]
    return s


@add(values, second=False)
def concatenated_parts(x, n):
    out = []
    for k in range(n):
        out.append(x[: k + 1] * k)
    return np.sum(np.concatenate(out) ** 2)


@add(values, second=False)
def triangle_of_lists(x, n):
    rows = [[x[j] * i for j in range(i + 1)] for i in range(n)]
    return sum(sum(r) ** 2 for r in rows) + rows[-1][0]


@add(values, compiled=True)
def lists_of_neighbours(x, n):
    nbrs = [[] for _ in range(n)]
    edges = np.array([[0, 1], [1, 2], [0, 3], [2, 3], [1, 3]])
    for i, j in edges:
        nbrs[i].append(j)
        nbrs[j].append(i)
    s = 0.0
    for i in range(n):
        for j in nbrs[i]:
            s += (x[i] - x[j]) ** 2 / len(nbrs[i])
    return s


@add(values, second=False)
def default_dictionary_of_lists(x, n):
    d = defaultdict(list)
    for i in range(len(x)):
        d[i % 2].append(x[i] ** 2)
    s = 0.0
    for k in d:
        s += sum(d[k]) / len(d[k])
    return s


@add(values, second=False)
def dictionary_of_lists(x, n):
    d = {}
    for i in range(len(x)):
        k = i * i % 3
        if k not in d:
            d[k] = []
        d[k].append(x[i])
    s = 0.0
    for k, vals in d.items():
        a = np.array(vals)
        s += a.mean() + k * a.sum() ** 2
    return s


@add(values, second=False)
def lists_by_setdefault(x, n):
    d = {}
    for i in range(len(x)):
        d.setdefault(i % 3, []).append(x[i])
    return sum(max(v) for v in d.values())


@add(values, second=False)
def selections(x, n):
    out = []
    for t in range(n):
        out.append(x[x > t * 0.7])
    return sum(np.sum(p**2) * (k + 1) for k, p in enumerate(out))


@add(values, second=False)
def rows_that_get_longer(x, n):
    rows = [[x[0]]]
    for i in range(1, n):
        prev = rows[-1]
        row = [prev[0] * x[1]]
        for j in range(1, i):
            row.append(prev[j - 1] + prev[j])
        row.append(prev[-1] + x[2])
        rows.append(row)
    return sum(rows[-1])


@add(values, second=False)
def row_under_another_name(x, n):
    L = [[x[j] for j in range(n)] for i in range(n)]
    row = L[0]
    row.append(5.0)
    return sum(L[0]) + sum(L[1])


@add(values, second=False)
def rows_that_shrink(x, n):
    L = [[x[j] for j in range(i + 1)] for i in range(n)]
    s = 0.0
    for r in L:
        s += r.pop() ** 2
    L[1].extend([x[0], x[1]])
    return s + sum(sum(r) for r in L)


@add(values, second=False)
def matrices_of_other_shapes(x, n):
    out = []
    for k in range(1, n):
        out.append(np.outer(x[:k], x[: k + 1]))
    s = 0.0
    for m in out:
        s += np.sum(m) + m[0, -1] + m.shape[1]
    return s


@add(values, second=False)
def items_replaced_by_longer_ones(x, n):
    out = [x[:1] for _ in range(n)]
    for k in range(n):
        out[k] = x[: k + 1] * 2.0
    return sum(np.sum(p**2) for p in out)


@add(values, second=False)
def values_in_bins(x, n):
    bins = [[] for _ in range(3)]
    for v in x:
        if v < 1.5:
            bins[0].append(v)
        elif v < 2.5:
            bins[1].append(v)
        else:
            bins[2].append(v)
    s = 0.0
    for b in bins:
        if len(b) > 0:
            s += np.mean(np.array(b)) ** 2
    return s


@add(values, second=False)
def children_of_a_tree(x, n):
    children = [[] for _ in range(n)]
    parent = [-1, 0, 0, 1]
    for i in range(1, n):
        children[parent[i]].append(i)
    val = [0.0] * n
    for i in range(n - 1, -1, -1):
        v = x[i]
        for c in children[i]:
            v += 0.5 * val[c] * x[i]
        val[i] = v
    return val[0]


@add(lambda: (vector(0.1, 0.2, 0.3, 0.17, 0.6, 0.22), 4), second=False)
def levels_of_a_pyramid(x, n):
    level = [x]
    while len(level[-1]) > 1:
        cur = level[-1]
        level.append(0.5 * (cur[:-1] + cur[1:]) ** 2)
    return sum(np.sum(l) for l in level)


@add(values, compiled=True)
def segments(x, n):
    segs = []
    cur = []
    for v in x:
        if v > 1.8 and len(cur) > 0:
            segs.append(cur)
            cur = []
        cur.append(v)
    segs.append(cur)
    return sum(sum(s) ** 2 for s in segs)
