"""Programs whose value depends on the order of evaluation: calls that store, inside expressions and conditions.

Each name says where the call stands. `put` and its like write into the array that they are given.
"""

import numpy as np

import adjit
from tests.programs.rows import Rows, vector

ORDER = Rows()


def start():
    return (vector(0.75, 0.4, 1.3),)


def put(a):
    a[0] = 2.0 * a[0] + 0.3
    return a[0] * a[1]


def scale(a):
    for i in range(a.size):
        a[i] = a[i] * a[i] + 0.5
    return a.copy()


def same(a):
    for i in range(a.size):
        a[i] = 1.5 * a[i] * a[i]
    return a


def halve(x):
    x[0] = 0.5 * x[0] * x[0] + 0.1 * x[0]
    return x[0]


class M:
    put = staticmethod(put)
    scale = staticmethod(scale)


@ORDER.add(start)
def aug_el(a):
    a = a.copy()
    a[0] += put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_el_mul(a):
    a[0] *= put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_el_div(a):
    a[1] /= put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_slice(a):
    a[1:] += scale(a)[1:]
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_slice_num(a):
    a[:2] *= put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_gather(a):
    i = np.array([0, 2])
    a[i] += put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_gather_mul(a):
    i = np.array([2, 0])
    a[i] *= scale(a)[:2]
    return np.sum(a * a)


@ORDER.add(start)
def aug_mask(a):
    a[a > 0.5] *= put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_name(a):
    s = a[0]
    s += put(a)
    return s * a[0]


@ORDER.add(start, second=False)
def aug_arr(a):
    a += scale(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_arr2(a):
    b = a
    a += (a * 2.0) * scale(b)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def aug_view(a):
    b = a[::-1]
    b += scale(a)
    return np.sum(a * a * np.array([1.0, 2.0, 3.0]))


@ORDER.add(start, second=False)
def aug_attr(a):
    m = a.reshape(3, 1)
    m.T[0] += scale(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def st_el(a):
    a[1] = put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def st_idx_lazy(a):
    b = np.zeros(3)
    b[int(halve(a)) * 0 :] = a + 1.0
    return np.sum(b * b)


@ORDER.add(start, second=False)
def st_lazy_num(a):
    b = np.zeros((2, 3))
    b[int(put(a)) * 0] = a * 2.0
    return np.sum(b * b)


@ORDER.add(start, second=False)
def bin_ref(a):
    return np.sum(a + scale(a))


@ORDER.add(start)
def bin_lazy(a):
    return np.sum((a + 1.0) * scale(a))


@ORDER.add(start, second=False)
def bin_lazy_same(a):
    return np.sum((a + 1.0) * same(a))


@ORDER.add(start, second=False)
def bin_lazy_attr(a):
    return np.sum((a + 1.0) * M.scale(a))


@ORDER.add(start, second=False)
def bin_lazy_local(a):
    def g(b):
        b[0] = 3.0 * b[1]
        return b[0]

    return np.sum((a + 1.0) * g(a))


@ORDER.add(start, second=False)
def bin_lazy_lambda_ufunc(a):
    return np.sum((a + 1.0) * np.add(a, 1.0, a))


@ORDER.add(start, second=False)
def bin_lazy_out(a):
    return np.sum((a + 1.0) * np.exp(a, out=a))


@ORDER.add(start, second=False)
def bin_load2(a):
    return put(a) + a[0] * put(a) - a[0]


@ORDER.add(start, second=False)
def bin_load3(a):
    return a[0] * a[1] + (a[0] + put(a)) * a[0]


@ORDER.add(start, second=False)
def bin_gather(a):
    i = np.array([0, 0, 1])
    return np.sum(a[i] * scale(a))


@ORDER.add(start, second=False)
def bin_view(a):
    return np.sum(a[::-1] * scale(a))


@ORDER.add(start, second=False)
def bin_deep(a):
    return np.sum(np.sqrt(a) + a * put(a) + a)


@ORDER.add(start, second=False)
def arguments(a):
    def f(x, y, z):
        return x + 2 * y * z

    return f(a[0], put(a), a[0])


@ORDER.add(start, second=False)
def args_kw(a):
    def f(x, y, z):
        return x + 2 * y * z

    return f(z=a[0], y=put(a), x=a[0])


@ORDER.add(start, second=False)
def args_lazy(a):
    def f(x, y):
        return np.sum(x * y)

    return f(a + 1.0, put(a))


@ORDER.add(start, second=False)
def args_lazy_kw(a):
    def f(x, y):
        return np.sum(x * y)

    return f(y=a + 1.0, x=M.put(a))


@ORDER.add(start, second=False)
def args_where(a):
    return np.sum(np.where(a > 0.5, a + 1.0, M.put(a)))


@ORDER.add(start, second=False)
def method_lazy(a):
    return (a + 1.0).dot(M.scale(a))


@ORDER.add(start, second=False)
def method_lazy2(a):
    return (a * 2.0).clip(0.0, M.put(a) + 1.0).sum()


@ORDER.add(start, second=False)
def method_lazy3(a):
    f = (a + 1.0).sum
    a[0] = 5.0
    return f() * a[1]


@ORDER.add(start, second=False)
def sub_lazy(a):
    return (a + 1.0)[int(M.put(a)) * 0]


@ORDER.add(start, second=False)
def sub_lazy_gather(a):
    i = np.array([0, 1])
    return a[i][int(M.put(a)) * 0]


@ORDER.add(start, second=False)
def sub_call(a):
    return a[int(put(a)) * 0] * a[1]


@ORDER.add(start, second=False)
def sub_call2(a):
    return same(a)[0] * a[0]


@ORDER.add(start, second=False)
def comparisons(a):
    return a[2] if a[0] < put(a) < a[0] else a[0] + a[1]


@ORDER.add(start, second=False)
def comparisons_2(a):
    return a[2] if put(a) > a[0] > put(a) else a[0] + a[1]


@ORDER.add(start, second=False)
def comp_lazy(a):
    return np.sum(np.where((a + 0.2) < M.scale(a), a, 2.0 * a))


@ORDER.add(start, second=False)
def both_sides(a):
    return (a[0] if a[0] > 0.1 and put(a) > 0.1 else a[1]) * a[0]


@ORDER.add(start, second=False)
def or_number(a):
    return (0.0 * a[0] or put(a)) * a[0]


@ORDER.add(start, second=False)
def conditional_expressions(a):
    return (a[0] if put(a) > 0.1 else a[1]) + a[0] * (put(a) if a[0] > 0 else 1.0)


@ORDER.add(start, second=False)
def if_test(a):
    if put(a) > 0.3:
        a[1] = a[0] * a[1]
    elif put(a) > 0.2:
        a[1] = a[0]
    else:
        a[2] = a[0] ** 2
    return np.sum(a * a)


@ORDER.add(start, second=False)
def elif_test(a):
    if put(a) > 10.3:
        a[1] = a[0] * a[1]
    elif put(a) > 0.2:
        a[1] = a[0] * a[1] * 2.0
    else:
        a[2] = a[0] ** 2
    return np.sum(a * a)


@ORDER.add(start, second=False)
def in_a_tuple(a):
    t = (a[0], put(a), a[0])
    return t[0] + 2 * t[1] * t[2]


@ORDER.add(start, second=False)
def tup_lazy(a):
    t = (a + 1.0, put(a), a)
    return np.sum(t[0] * t[1] * t[2])


@ORDER.add(start, second=False)
def chained(a):
    a[0] = b = a[1] = put(a)
    return b * np.sum(a * a)


@ORDER.add(start, second=False)
def chained_arrays(a):
    b = np.zeros(3)
    b[:] = a[:] = c = a * 2.0 + put(a)
    c[0] = 3.0 * c[1]
    return np.sum(a * b * c)


@ORDER.add(start, second=False)
def unpack(a):
    i, a[i + 1] = 0, put(a)
    return a[0] + 3 * a[1] + a[2] * i


@ORDER.add(start, second=False)
def swap_views(a):
    a[:2], a[1:] = a[1:], a[:2]
    return a[0] + 3 * a[1] + 5 * a[2]


@ORDER.add(start, second=False)
def swap_idx(a):
    k = np.array([0, 1])
    k[0], a[k[0]] = 2, put(a)
    return a[0] + 3 * a[1] + 5 * a[2]


@ORDER.add(start)
def assignment_expression(a):
    return a[0] * (y := put(a)) + y * a[0]


@ORDER.add(start)
def walrus_and(a):
    return (y if a[0] > 0.1 and (y := put(a)) > 0.1 else a[1]) * a[0]


@ORDER.add(start)
def walrus_and_stmt(a):
    y = 1.0 * a[1]
    if a[0] > 0.1 and (y := put(a)) > 0.1:
        a[1] = y * y
    return y * np.sum(a)


@ORDER.add(start)
def walrus_or_stmt(a):
    y = 1.0 * a[1]
    if a[0] > 0.1 or (y := put(a)) > 0.1:
        a[1] = y * y
    return y * np.sum(a)


@ORDER.add(start)
def walrus_chain(a):
    y = 1.0 * a[1]
    if 0.0 < a[0] < (y := put(a)):
        a[1] = y * y
    return y * np.sum(a)


@ORDER.add(start)
def walrus_aug(a):
    s = a[0]
    s += (s := a[1]) * s
    return s


@ORDER.add(start)
def walrus_order(a):
    y = a[0]
    return y + (y := a[1]) * y


@ORDER.add(start, second=False)
def in_return(a):
    return put(a) + a[0]


@ORDER.add(start, second=False)
def in_a_returned_tuple(a):
    return a[0] * put(a), a[0], a + put(a), a


@ORDER.add(start, second=False)
def enumerate_(a):
    t = 0.0
    for i, v in enumerate(same(a)):
        t += v * i
    return t * a[0]


@ORDER.add(start, second=False)
def zip_(a):
    t = 0.0
    for u, v in zip(a + 1.0, M.scale(a)):
        t += v * u
    return t * a[0]


@ORDER.add(start, second=False)
def zip_held(a):
    t = 0.0
    z = zip(a + 1.0, a)
    a[0] = 3.0 * a[1]
    for u, v in z:
        t += v * u
    return t * a[0]


@ORDER.add(start, second=False)
def for_live(a):
    t = 0.0
    for v in a:
        a[2] = a[2] * v
        t += v
    return t


@ORDER.add(start, second=False)
def for_lazy_live(a):
    t = 0.0
    for v in a * 1.0:
        a[2] = a[2] * v
        t += v
    return t


@ORDER.add(start, second=False)
def default_of_a_local_function(a):
    def f(x, y=put(a)):
        return x * y

    a[1] = 3.0 * a[0]
    return f(a[1]) + f(a[0])


@ORDER.add(start, second=False)
def asrt_msg(a):
    assert a[0] > 0.0, put(a)
    return a[0] * a[1]


@ORDER.add(start)
def while1(a):
    t = 0.0
    while halve(a) > 0.02:
        t += a[0]
    return t


@ORDER.add(start)
def while_else(a):
    t = 0.0
    while halve(a) > 0.02:
        t += a[0]
        if t > 10.0:
            break
    else:
        t *= a[0] * a[1]
    return t


@ORDER.add(start)
def while_break(a):
    t = 0.0
    while halve(a) > 0.02:
        t += a[0]
        if t > 0.4:
            break
    else:
        t *= a[0] * a[1]
    return t


@ORDER.add(start)
def while_cont(a):
    t = 0.0
    while halve(a) > 0.02:
        if t > 0.3:
            continue
        t += a[0]
    return t * a[0]


@ORDER.add(start)
def while_and(a):
    t = 0.0
    while halve(a) > 0.02 and put(a) > 0.01:
        a[0] *= 0.3
        t += a[0] * a[1]
    return t * a[0]


@ORDER.add(start)
def while_zero(a):
    t = a[1]
    while halve(a) > 20.0:
        t += a[0]
    return t * a[0]


@ORDER.add(start)
def while_nested(a):
    t = 0.0
    for k in range(2):
        while halve(a) > 0.02:
            b = a.copy()
            while halve(b) > 0.1:
                t += b[0] * a[0]
        a[0] = a[0] + 0.9
    return t


@ORDER.add(start)
def while_walrus(a):
    t = 0.0
    while (d := halve(a)) > 0.02:
        t += d * d
    return t * d


@ORDER.add(start)
def while_walrus_pure(a):
    t, x = 0.0, a[0]
    while (d := x * x) > 0.02:
        x = x * 0.6
        t += d * x
    return t * d


@ORDER.add(start)
def while_out(a):
    o = np.empty(3)
    t = 0.0
    while res(a, o) > 0.1:
        for i in range(3):
            a[i] -= 0.4 * o[i]
        t += o[0]
    return t + np.sum(o * o)


def res(a, o):
    for i in range(3):
        o[i] = a[i] * a[i]
    return np.sum(o)


@ORDER.add(start)
def while_pure_scratch(a):
    t = 0.0
    while nrm(a) > 0.1:
        a[0] *= 0.3
        a[1] *= 0.5
        a[2] *= 0.5 * a[2]
        t += a[0] + a[2]
    return t


def nrm(a):
    o = np.empty(3)
    for i in range(3):
        o[i] = a[i] * a[i]
    return np.sum(o)


@ORDER.add(start)
def while_aug_arr(a):
    t = 0.0
    while np.sum(np.multiply(a, 0.5, a)) > 0.5:
        t += a[0] * a[1]
    return t


@ORDER.add(start, second=False)
def places_in_the_target(x):
    k = np.array([2, 0, 1])
    k[k] = np.array([0, 1, 2])
    return x[0] * k[0] + x[1] * k[1] + 3 * x[2] * k[2]


@ORDER.add(start, second=False)
def places_in_the_target_2(x):
    k = np.array([2, 0, 1])
    k[k] = 0
    return x[0] * k[0] + x[1] * k[1] + 3 * x[2] * (k[2] + 1)


@ORDER.add(start, second=False)
def places_updated(x):
    k = np.array([1, 2, 0])
    k[k] += 1
    return x[0] * k[0] + x[1] * k[1] + 3 * x[2] * (k[2] + 1)


@ORDER.add(start, second=False)
def places_reversed(x):
    k = np.array([1, 2, 0])
    k[k[::-1]] = k
    return x[0] * k[0] + x[1] * k[1] + 3 * x[2] * (k[2] + 1)


@ORDER.add(start)
def wal_arr(x):
    y = np.array([1.0, 2.0, 3.0]) * x[0]
    b = x
    x += (x := y)
    return np.sum(x * b * y)


@ORDER.add(start)
def while_conditional_expression(a):
    t = 0.0
    while (put(a) if a[1] > 0.6 else halve(a)) > 0.02:
        t += a[0] * a[1]
    return t


@ORDER.add(start)
def while_not(a):
    t = 0.0
    while not done(a):
        t += a[0] * a[1]
    return t


def done(a):
    a[0] = a[0] * a[0] * 0.9
    if a[0] < 0.1:
        a[1] = a[0]
        return True
    return False


@ORDER.add(start)
def while_in_checkpoint(a):
    t = 0.0
    for k in adjit.checkpoint(range(3)):
        b = a.copy()
        while halve(b) > 0.02:
            t += b[0] * a[1]
        a[0] += 0.1 * t
    return t


@ORDER.add(start)
def while_of_a_copy(a):
    t = np.zeros(3)
    for i in range(3):
        b = a[i:].copy()
        while halve(b) > 0.02:
            t[i] += b[0] * a[i]
    return np.sum(t)


@ORDER.add(start)
def while_in_while(a):
    t = 0.0
    while halve(a) > 0.02:
        while put(a) < 0.3:
            a[0] += 0.05
            t += a[0]
            if t > 5:
                return t * a[0]
        a[0] *= 0.5
        t += a[0] * a[1]
    return t


@ORDER.add(start)
def while_else_in_while(a):
    t = 0.0
    while True:
        while halve(a) > 0.02:
            t += a[0] * a[1]
            if t > 0.1:
                break
        else:
            break
    return t


@ORDER.add(start)
def while_assignments(a):
    t = 0.0
    n = 0
    while (n := n + 1) < 5 and (d := halve(a)) > 0.02:
        t += d * n * a[1]
    return t * n


@ORDER.add(start)
def while_same(a):
    t = 0.0
    while np.sum(same(a)) > 0.9 and a[2] < 50.0:
        t += a[0] * a[1]
    return t + np.sum(a)


@ORDER.add(start)
def while_of_a_view(a):
    q = a[1:]
    t = 0.0
    while np.sum(same(q)) > 0.9 and a[2] < 50.0:
        t += a[0] * a[1]
    return t + np.sum(a)


@ORDER.add(start)
def while_of_a_shrinking_view(a):
    b = a
    t = 0.0
    while halve(b) > 0.02:
        b = b[1:] if b.size > 2 else b
        t += b[0] * a[1]
    return t + np.sum(a)


@ORDER.add(start)
def while_swapped_scratch(a):
    t = 0.0
    while sw(a) > 0.3:
        a *= 0.8
        t += a[0] * a[2]
    return t


def sw(a):
    u = a.copy()
    v = np.empty_like(a)
    for k in range(3):
        for i in range(a.size):
            v[i] = u[i] * 0.9
        u, v = v, u
    return u[0]


@ORDER.add(start, second=False)
def in_assert(a):
    assert (y := put(a)) > 0
    return y * a[0]


@ORDER.add(start, second=False)
def into_a_slice(a):
    b = np.zeros(5)
    b[int(put(a)) * 0 + 1 : int(put(a)) * 0 + 3] = a[0]
    return np.sum(b * b)


@ORDER.add(start, second=False)
def into_what_a_call_returns(a):
    same(a)[0] = put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def added_to_what_a_call_returns(a):
    same(a)[0] += put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def multiplied_into_what_a_call_returns(a):
    same(a)[1:] *= put(a)
    return np.sum(a * a)


@ORDER.add(start, second=False)
def starred(a):
    def f(x, y, z):
        return x + 2 * y * z

    return f(*(a[0], put(a)), a[0])


@ORDER.add(start, second=False)
def arr_disp(a):
    return np.sum(np.array([a[0], put(a), a[0] * put(a)]) * a)


@ORDER.add(start, second=False)
def stack(a):
    return np.sum(np.stack((a, same(a)))) + np.sum(np.concatenate((a + 1.0, M.scale(a))))


@ORDER.add(start, second=False)
def in_a_loop(a):
    t = 0.0
    for i in range(3):
        a[i] += a[i - 1] * put(a)
        t += a[i] * (a[0] + put(a) * a[i])
    return t


@ORDER.add(start, second=False)
def ifexp_lazy(a):
    return np.sum((a + 1.0 if put(a) > 0 else a) * a)


@ORDER.add(start, second=False)
def cmp_arr(a):
    return np.sum(a[(a + 0.2) < M.scale(a)])


@ORDER.add(start, second=False)
def of_a_lambda(a):
    return (lambda v: v * a[0])(put(a)) + a[0]


@ORDER.add(start, second=False)
def for_store(a):
    for a[0] in (1.0 * a[1], a[2] * a[0]):
        a[1] += a[0]
    return np.sum(a * a)
