"""Names that share memory, updates in place and Python's order of things, all in a few lines: right, or refused.

Each is a function of one array; value, gradient and tangents against plain Python and differences.
"""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np
import pytest

import adjit
from tests.programs.harness import check

X = np.array([0.7, -1.3, 2.1, 0.4, 1.9])
PART = np.s_[1:4]


def flat_write(x):
    a = np.zeros((2, 3))
    a.flat[1:6] = x
    a.flat[0] = x[0] * x[1]
    a.T[1, 0] *= x[2]
    return np.sum(a**3)


def ravel_view(x):
    a = np.outer(x, x)
    r = a.ravel()
    r[3] = x[0]
    r2 = a.T.ravel()
    r2[2] = 100.0
    return np.sum(a * a)


def reshape_view(x):
    a = np.concatenate((x, x[:1]))
    b = a.reshape(2, 3)
    b[1] += a[:3]
    c = a.reshape(3, 2).T
    c[0, 1] = x[4] ** 2
    return np.sum(np.sin(a))


def overlap(x):
    a = x.copy()
    a[1:] += a[:-1]
    a[:-1] *= a[1:]
    a[::2] = a[::-2]
    return a @ np.arange(1, 6)


def swap_rows(x):
    a = np.outer(x, x * x)[:4]
    a[[0, 1]] = a[[1, 0]]
    a[2], a[3] = (a[3], a[2].copy())
    return np.sum(a * np.arange(20.0).reshape(4, 5) ** 2)


def swap_rows_alias(x):
    a = np.outer(x, x * x)[:4]
    a[2], a[3] = (a[3], a[2])
    return np.sum(a * np.arange(20.0).reshape(4, 5) ** 2)


def mask_aug(x):
    a = x * 2
    a[a > 0] += x[:3].sum()
    a[a < 0] **= 2
    np.putmask(a, a > 3, [x[0], x[1]])
    return a.sum() * a[0]


def place_put(x):
    a = np.outer(x, x)
    np.put(a, [1, 7, 7], [x[0], x[1], x[2]])
    np.place(a, a > 2, [x[3], x[4]])
    return np.sum(a**2)


def out_view(x):
    a = np.zeros(10)
    np.multiply(x, x, out=a[::2])
    np.add(a[1::2], x, out=a[1::2])
    np.exp(a[:3], out=a[2:5])
    return np.sum(a * np.arange(10))


def where_out(x):
    a = x.copy()
    np.log(x, out=a, where=x > 0)
    np.subtract(a, 1, out=a, where=a > 0.5)
    return np.sum(a**2)


def late_binding(x):
    fs = [lambda v: v * k * x[k] for k in range(3)]
    gs = [lambda v, k=k: v * k * x[k] for k in range(3)]
    return sum((f(x[1]) for f in fs)) + sum((g(x[2]) ** 2 for g in gs))


def mutable_default(x):

    def acc(v, store=[]):
        store.append(v)
        return sum(store)

    return acc(x[0]) * acc(x[1]) + acc(x[2])


def dict_of_views(x):
    a = x.copy()
    d = {"l": a[:2], "r": a[2:]}
    d["l"][0] = x[4]
    d["r"] *= 2
    d["l"] = d["l"] + 1
    d["l"][1] = 9
    return a.sum() + d["l"].sum() * a[0]


def list_alias(x):
    rows = [x[:2] * 1.0] * 3
    rows[0][0] = x[3]
    rows[1] = rows[1] * 2
    rows[2] += 1
    return sum((r.sum() * (i + 1) for i, r in enumerate(rows)))


def nested_list_mul(x):
    g = [[0.0] * 2 for _ in range(2)]
    h = [[x[0]] * 2] * 2
    g[0][1] = x[1]
    h[0][1] = x[2]
    h[1][0] += x[3]
    return sum(map(sum, g)) * sum(map(sum, h)) + h[0][0] ** 2


def aug_on_tuple_item(x):
    t = (x[:3] * 1.0, [x[0]])
    t[1].append(x[1] * 2)
    t[0][1] = x[4]
    s = t[1]
    s += [x[2]]
    return t[0].sum() * sum(t[1])


def try_partial(x):
    a = x.copy()
    tot = 0.0
    for i in range(7):
        try:
            tot += a[i % 5]
            d = {0: 1, 1: 2, 2: 3}
            k = d[i]
            a[i] *= k
        except KeyError:
            a[i % 5] += tot
        else:
            tot *= 1.1
        finally:
            tot += 0.1 * a[0]
    return tot


def while_else(x):
    i = 0
    s = 0.0
    while i < 5:
        if x[i] < -1:
            i += 1
            continue
        s += x[i] ** (i + 1)
        if s > 100:
            break
        i += 1
    else:
        s *= x[1]
    return s


def gen_state(x):

    def running(v):
        t = 0.0
        for e in v:
            t = 0.5 * t + e
            got = yield t

    g = running(x)
    a = next(g) + next(g)
    rest = list(g)
    return a * sum(rest)


def gen_views(x):
    a = x.copy()

    def parts():
        for k in range(0, 4, 2):
            yield a[k : k + 2]

    for q in parts():
        q *= q[::-1]
    return a @ x


def recursion_views(x):
    a = x.copy()

    def rec(v):
        if len(v) < 2:
            return
        m = len(v) // 2
        v[:m] += v[-m:]
        rec(v[:m])
        rec(v[m:])
        v[0] *= 1.5

    rec(a)
    return np.sum(a**2)


def sort_inplace(x):
    a = x * x
    a.sort()
    b = np.argsort(x)
    l = list(x)
    l.sort(key=lambda v: -v)
    l.reverse()
    return a @ np.arange(5) + x[b] @ np.arange(5) ** 2 + l[0] * l[-1]


def nonlocal_counter(x):
    n = 0
    tot = 1.0

    def hit(v):
        nonlocal n, tot
        n += 1
        tot = tot * v + n
        return tot

    r = [hit(v) for v in x if v > 0]
    return tot + sum(r) / n


def chain_compare(x):
    calls = []

    def t(v):
        calls.append(v)
        return v

    ok = t(x[1]) < t(x[0]) < t(x[2]) < t(x[3]) < t(x[4])
    return sum(calls) * (2 if ok else 3)


def walrus(x):
    s = [y for v in x if (y := (v * v)) > 0.3]
    return y * sum(s)


def star(x):

    def f(a, *b, c=2.0, **d):
        return a * sum(b) + c * d["e"]

    h, *m, t = x
    return f(*x[:3], e=h, **{"c": t}) + m[1] * len(m)


def deque_rot(x):
    d = deque(x, maxlen=3)
    d.rotate(1)
    d.appendleft(x[0] * 2)
    d[1] *= 3
    return d[0] * d[1] + d[-1]


@dataclass
class S:
    a: np.ndarray
    b: float = 1.0
    hist: list = field(default_factory=list)

    def step(self, k):
        self.a = self.a * k
        self.b += self.a[0]
        self.hist.append(self.a)
        return self


def obj_alias(x):
    s = S(x.copy())
    t = s
    u = copy.copy(s)
    t.step(x[1]).step(2.0)
    u.a[0] = x[4]
    u.b *= 3
    return s.b * s.a.sum() + u.a.sum() + u.b + sum((h[1] for h in s.hist))


def deep(x):
    s = S(x.copy())
    u = copy.deepcopy(s)
    u.a[0] = x[4]
    s.a[1] = x[3]
    return s.a.sum() * u.a.sum()


def ufunc_at(x):
    a = np.zeros(3)
    np.add.at(a, [0, 1, 1, 2, 0], x)
    np.multiply.at(a, [0, 0, 2], x[:3])
    np.maximum.at(a, [1, 1], [x[2], x[4]])
    return a @ a


def reduceat(x):
    return (
        np.add.reduceat(x * x, [0, 3, 1]) @ x[:3]
        + np.multiply.reduce(x[:3])
        + np.maximum.accumulate(x).sum()
        + np.multiply.accumulate(x)[3]
    )


def slices_obj(x):
    s = slice(1, None, 2)
    a = x.copy()
    a[s] = a[s][::-1] * 2
    b = np.s_[::2]
    a[b] -= x[b] ** 2
    return a.prod()


def broadcast_view(x):
    b = np.broadcast_to(x, (3, 5))
    c = b.copy()
    c[1] = 0
    x2 = x[:, None]
    d = x2 + x2.T
    d[np.diag_indices(5)] = x
    return (b * c).sum() + d.sum() * d[1, 2]


def cumulative_overwritten(x):
    a = x.copy()
    for i in range(1, 5):
        a[i] = a[i - 1] * a[i] + np.sin(a[i])
        a[i - 1] = a[i] - a[i - 1]
    return a[-1] * a[0]


def int_float_mix(x):
    n = int(x[2] * 2)
    r = 0.0
    for k in range(n):
        r += x[k] // 1 + x[k] % 1.0 * k + divmod(x[4], 0.7)[1]
    return r + round(x[0], 1) * x[1]


def complex_view(x):
    z = x + 1j * x[::-1]
    z.real[1] = x[0]
    z.imag *= 2
    z[2] = z[2].conjugate() * x[3]
    return (abs(z) ** 2).sum() + np.angle(z[0])


def unpack_swap(x):
    a, b, c = x[:3]
    i = 0
    l = [1.0, 2.0, 3.0]
    i, l[i] = (1, a)
    a, b = (b, a * b)
    l[0], l[i] = (l[i], l[0] * c)
    return a * l[0] + b * l[1] + l[2]


def default_dict_lists(x):
    d = defaultdict(list)
    for k, v in enumerate(x):
        d[k % 2].append(v * v)
    d[5]
    return sum((np.prod(v) if v else 3 * x[0] for v in d.values()))


def two_names_loop(x):
    a = x.copy()
    b = a
    for i in range(4):
        b[i] += a[i + 1] * 0.5
        if i == 1:
            b = a.copy()
        if i == 2:
            a = b
    return a @ x + b[0]


def maximum_ties(x):
    return np.max(np.array([x[0], x[0] * 1.0, x[1]])) + max(x[2], x[2]) + np.clip(x, 0, 1) @ x


def einsum_repeat(x):
    A = np.outer(x, x + 1)
    return np.einsum("ii->i", A) @ x + np.einsum("ij,ji,i->", A, A, x) + np.einsum("i...,i->...", A, x).sum()


def meshes(x):
    X, Y = np.meshgrid(x[:2], x[2:], indexing="ij")
    X[0, 0] = 5
    return (X * Y).sum() + np.ix_(x, x)[0].sum()


def string_keys(x):
    d = dict(zip("abcde", x))
    d["f"] = d.pop("a") * d.setdefault("g", d["b"])
    d.update(c=d["c"] ** 2)
    return sum((v * i for i, (k, v) in enumerate(sorted(d.items()))))


def inner_shadow(x):
    s = x.sum()

    def f(x):
        s = x * 2
        return s

    return f(s) * s + [s for s in x][1] + s


def loop_var_after(x):
    for v in x:
        pass
    for i, w in enumerate(x[:3]):
        u = w * i
    return v * w * u + i


def cond_alias(x):
    a = x.copy()
    b = x * 2
    c = a if x[0] > 0 else b
    c[0] = 7 * x[1]
    d = (b if x[1] > 0 else a)[1:]
    d[0] += x[2]
    return a.sum() * b.sum()


def strides(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3)
    return (w.sum(axis=1) ** 2).sum() + w[0, 2] * w[2, 0]


def matrix_inplace(x):
    A = np.eye(5) + 0.1 * np.outer(x, x)
    A @= A
    A[:, 0] /= A[0, 0]
    A -= A.mean(axis=0)
    A[1:3, 1:3] @= A[1:3, 1:3]
    return np.trace(A @ A.T)


def alias_inplace(x):
    A = np.eye(5) + 0.1 * np.outer(x, x)
    B = A
    B @= A.T
    d = {"m": A}
    d["m"] @= B
    l = [A[:2]]
    l[0] @= np.outer(x, x)
    return A.sum() + B[0, 1]


class Empty:
    pass


def attr_inplace(x):
    o = Empty()
    o.m = np.outer(x, x)
    k = o.m
    o.m @= o.m + np.eye(5)
    return k.sum() * 0.1


def loop_inplace(x):
    A = np.eye(5) + 0.1 * np.outer(x, x)
    for i in range(3):
        A @= np.eye(5) + x[i] * 0.1
    return np.log(np.abs(np.linalg.det(A))) + A.sum()


def cplx(x):
    A = np.outer(x, x) + 1j * np.eye(5)
    A @= A
    return np.abs(A).sum()


def stacks(x):
    A = np.stack([np.outer(x[:2], x[1:3]), np.outer(x[2:4], x[3:])])
    A @= A
    return (A**2).sum()


def s_(x):
    b = np.s_[::2]
    c = np.index_exp[1:3, None]
    d = np.s_[1:, 0]
    M = np.outer(x, x)
    a = x.copy()
    a[b] -= x[b] ** 2
    return a.prod() + (x[c] ** 2).sum() + M[d].sum() + M[np.s_[..., 1]].sum()


def global_s(x):
    return (x[PART] ** 2).sum()


def rowvec(x):
    v = x.copy()
    v @= np.outer(x, x) + np.eye(5)
    return (v * v).sum()


TAKEN = [
    walrus,
    flat_write,
    reshape_view,
    overlap,
    swap_rows,
    swap_rows_alias,
    mask_aug,
    place_put,
    out_view,
    where_out,
    mutable_default,
    dict_of_views,
    list_alias,
    nested_list_mul,
    aug_on_tuple_item,
    while_else,
    gen_views,
    sort_inplace,
    nonlocal_counter,
    chain_compare,
    star,
    obj_alias,
    deep,
    ufunc_at,
    reduceat,
    slices_obj,
    broadcast_view,
    cumulative_overwritten,
    int_float_mix,
    complex_view,
    unpack_swap,
    default_dict_lists,
    two_names_loop,
    maximum_ties,
    einsum_repeat,
    meshes,
    string_keys,
    inner_shadow,
    loop_var_after,
    cond_alias,
    strides,
    matrix_inplace,
    alias_inplace,
    attr_inplace,
    loop_inplace,
    cplx,
    stacks,
    s_,
    global_s,
    rowvec,
]

REFUSED = {
    ravel_view: "memory that ravel shares",
    late_binding: "of a comprehension, in a function",
    try_partial: "a dictionary without the key",
    gen_state: "next of an iterator",
    recursion_views: "used after a recursive call",
    deque_rot: "the method `rotate`",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", TAKEN)
def test_taken(function) -> None:
    check(function, lambda: (X.copy(),), (0,), second=False)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("function", TAKEN)
def test_compiled(function) -> None:
    check(function, lambda: (X.copy(),), (0,), second=False, target="cpu")


@pytest.mark.parametrize("function", REFUSED)
def test_refused(function) -> None:
    with pytest.raises(adjit.AdjitError, match=REFUSED[function]):
        adjit.grad(function, target="python")(X)


def wide(x):
    a = np.outer(x, x)
    a @= a[:, :1]
    return a.sum()


def wide_by_out(x):
    a = np.outer(x, x)
    np.matmul(a, a[:, :1], out=a)
    return a.sum()


def wide_by_dot(x):
    a = np.outer(x, x)
    np.dot(a, a[:, :1], out=a)
    return a.sum()


def sums_in_a_row(x):
    totals = np.zeros(x.size)
    np.sum(np.outer(x, x), axis=0, keepdims=True, out=totals[None, :1])
    return totals.sum()


def wide_means(x):
    totals = np.zeros((x.size, x.size))
    np.mean(np.outer(x, x), axis=1, keepdims=True, out=totals)
    return totals.sum()


def wide_extrema(x):
    largest = np.zeros((x.size, x.size))
    np.max(np.outer(x, x), axis=1, keepdims=True, out=largest)
    return largest.sum()


def wide_deviations(x):
    found = np.zeros(x.size)
    np.std(x[:, None] * x[:1], axis=0, out=found)
    return found.sum()


WIDE = [wide, wide_by_out, wide_by_dot, sums_in_a_row, wide_means, wide_extrema, wide_deviations]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("function", WIDE, ids=lambda f: f.__name__)
def test_a_result_is_not_stretched_over_what_it_is_put_into(function, target) -> None:
    with pytest.raises(ValueError, match="core dimension|wrong dimensions|non-broadcast|reduction"):
        function(X)
    with pytest.raises(ValueError, match="the output array and the result differ in shape"):
        adjit.grad(function, target=target)(X)


def stretched_elements(x):
    a, b = np.zeros((2, x.size)), np.zeros((2, x.size))
    np.multiply(x, x, out=a)
    np.clip(x, 0.5, 1.5, out=b)
    return np.sum(a * b)


def put(x):
    product, total = np.zeros((x.size, x.size)), np.zeros(())
    np.dot(x[:, None], x[None, :], out=product)
    np.sum(product, out=total)
    np.sum(product, axis=0, out=product[0])
    return product.sum() + total


@pytest.mark.parametrize("function", [stretched_elements, put])
def test_what_fits_is_put(function) -> None:
    check(function, lambda: (X.copy(),), (0,))


def by_a_vector(x):
    a = np.outer(x, x)
    a @= x
    return a.sum()


def gathered(x):
    a = np.outer(x, x)
    a[[0, 1]] @= a
    return a.sum()


@pytest.mark.parametrize(
    ("function", "said"),
    [(by_a_vector, "a result of rank 1 is put into"), (gathered, "`@=` on a value that is not a view")],
)
def test_products_in_place_that_are_refused(function, said) -> None:
    with pytest.raises(adjit.AdjitError, match=said):
        adjit.grad(function, target="python")(X)
