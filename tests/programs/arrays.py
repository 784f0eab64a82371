"""Programs that read and write parts of arrays: indices, slices, views that alias, masks and gathers."""

import numpy as np

from tests.programs.rows import Rows, wave

ARRAYS = Rows()
add = ARRAYS.add


@add(lambda: (wave(4),), compiled=True)
def integer_indices(a):
    k = 2
    return a[0] * a[-1] + a[k] * a[k - 3] + a[a.size - 2]


@add(lambda: (wave(2, 3, 2),))
def indices_of_rank_three(a):
    return a[0, 1, 1] * a[1, -1, 0] + a[1][2][1] * a[0][1, 0]


@add(lambda: (wave(6),))
def slices_as_values(a):
    return (a[1:4] * a[:3]).sum() + a[3:].sum() * a[-2:].sum() + a[:-4].sum()


@add(lambda: (wave(9),))
def slices_with_steps(a):
    return (a[::2] * a[8::-2]).sum() + (a[1::3] * a[:7:3][:3]).sum() + a[-2:2:-3].sum() * a[::-1][0]


@add(lambda: (wave(7), 1, 6, 2))
def slices_at_run_time(a, start, stop, step):
    b = a[start:stop:step] * a[stop : start - 1 : -step][:3]
    return b.sum() + a[start:].sum() * a[:stop].sum() + a[-stop:stop].sum()


@add(lambda: (wave(4, 5),), compiled=True)
def slices_of_matrices(a):
    return (a[1:3, ::2] * a[:2, 1:4]).sum() + (a[1] * a[:, 2][0]).sum() + a[1:, 3].sum() * a[-1, :-1].sum()


@add(lambda: (wave(2, 3, 4),))
def ellipsis_and_newaxis(a):
    b = a[..., 1]
    c = a[0, ..., 2:]
    d = a[:, None, 1, ...]
    return (b * b).sum() + (c * c[::-1]).sum() + (d * d).sum() + a[...].sum() * d[1, 0, 3]


@add(lambda: (wave(3), 0.7), (0, 1))
def newaxis_in_front_and_behind(a, x):
    b = a[np.newaxis, :]
    c = a[:, np.newaxis]
    return (b * c * x).sum() + (b @ c)[0, 0]


@add(lambda: (wave(5), wave(3)), (0, 1))
def slice_stores(a, b):
    a[1:4] = b * b
    a[::4] = 0.5
    a[4:2:-1] = a[:2]
    return (a * a).sum()


@add(lambda: (wave(4, 3), wave(3), 0.6), (0, 1, 2), compiled=True)
def slice_stores_into_matrices(a, v, x):
    a[0] = v
    a[:, 1] = x
    a[1:3, ::2] = a[2:, :2] * x
    a[-1, 1:] += v[:2]
    a[3] *= a[0]
    return (a * a).sum()


@add(lambda: (wave(2, 3), 0.6), (0, 1))
def stores_through_ellipsis(a, x):
    a[..., 0] = x * a[..., 1]
    a[0, ...] *= x
    b = np.empty((2, 3))
    b[...] = a
    b[...] += x
    b[:] = b * b
    return b.sum()


@add(lambda: (wave(6), wave(3)), (0, 1), compiled=True)
def augmented_slices(a, b):
    a[:3] += b
    a[3:] -= b * a[:3]
    a[::2] *= b
    a[1::2] /= 2.0 + b * b
    a[2:4] **= 2
    a[:] += 1.0
    return (a * a).sum()


@add(lambda: (wave(3, 3),))
def augmented_elements(a):
    for i in range(3):
        for j in range(3):
            a[i, j] += a[j, i] * 0.5
            a[i, j] *= 1.0 + a[i, i]
    return a.sum()


@add(lambda: (wave(5),), compiled=True)
def view_then_base(a):
    tail = a[2:]
    tail[0] = a[0] * a[1]
    a[3] = tail[2] * tail[0]
    return tail.sum() * a[3]


@add(lambda: (wave(5),))
def view_of_a_view(a):
    b = a[1:]
    c = b[::2]
    c[0] *= a[0]
    b[2] = c[0] * c[1]
    return (a * a).sum()


@add(lambda: (wave(3, 4),))
def rows_and_columns_as_views(a):
    row, column = a[1], a[:, 2]
    row[2] = a[0, 0] * a[0, 1]
    column *= row[0]
    return (a * a).sum() + row[2] * column[0]


@add(lambda: (wave(2, 3), 0.7), (0, 1))
def transposed_view(a, x):
    t = a.T
    t[0, 1] = x
    t[2] *= a[0, :2]
    return (a * a).sum() + (t @ a)[0, 2]


@add(lambda: (wave(6),))
def reshaped_and_raveled_views(a):
    m = a.reshape(2, 3)
    m[1] *= m[0]
    flat = m.ravel()
    flat[0] = a[5]
    return (a * a).sum() + m[0, 0] * flat[1]


@add(lambda: (wave(4),))
def reversed_view(a):
    b = a[::-1]
    for k in range(a.size - 1):
        b[k] = a[k] * b[k + 1]
    return (a * vector_of_weights(4)).sum()


def vector_of_weights(n):
    return np.arange(1.0, n + 1.0)


@add(lambda: (wave(4),))
def alias_by_name(a):
    b = a
    b[1] = a[0] * a[2]
    a += b
    return (b * b).sum()


@add(lambda: (wave(4),))
def rebinding_is_no_alias(a):
    b = a
    b = b + 1.0
    b[0] = 7.0 * a[0]
    return (a * b).sum()


@add(lambda: (wave(4),))
def copies_do_not_alias(a):
    b, c = a.copy(), np.copy(a)
    b[0] = a[1] * a[2]
    a[3] = b[0]
    c *= a
    return (a * b * c).sum()


@add(lambda: (wave(5),))
def overlapping_assignment(a):
    b = a.copy()
    b[1:] = b[:-1] * a[1:]
    return (b * b).sum()


@add(lambda: (wave(5), wave(5)), (0, 1), compiled=True)
def mask_as_value(a, b):
    positive = a[a > 0.0]
    chosen = b[(a < 0.5) & (b > -1.0)]
    return (positive * positive).sum() + chosen.sum() * positive.size + b[b > 100.0].sum()


@add(lambda: (wave(5), 0.6), (0, 1))
def mask_as_target(a, x):
    a[a < 0.0] = x * x
    a[a > 1.0] *= x
    a[a > 0.9] += a[0]
    return (a * a).sum()


@add(lambda: (wave(3, 4),))
def mask_of_a_matrix(a):
    chosen = a[a > 0.2]
    a[a < 0.0] = 0.5
    return (chosen * chosen).sum() * a.sum()


@add(lambda: (wave(5),))
def mask_store_of_a_vector(a):
    mask = a > 0.0
    a[mask] = a[mask] * a[mask]
    return a.sum() * a[0]


@add(lambda: (wave(5), np.array([3, 0, 3, -1])), (0,), compiled=True)
def gather(a, places):
    b = a[places]
    return (b * b).sum() * b[0]


@add(lambda: (wave(4, 3), np.array([3, 0, 3])))
def gather_of_rows(a, places):
    rows = a[places]
    columns = a[:, places[1:] - 1]
    return (rows * rows).sum() + columns.sum() * rows[0, 1]


@add(lambda: (wave(5), np.array([[3, 0], [1, 3]])))
def gather_of_two_axes(a, places):
    b = a[places]
    return b[0, 0] * b[1, 1] + (b * b.T).sum()


@add(lambda: (wave(5), np.array([3, 0, 1]), wave(3)), (0, 2))
def scatter(a, places, v):
    a[places] = v * v
    a[places[:2]] *= 2.0
    a[places[1:]] += a[2]
    return (a * a).sum()


@add(lambda: (wave(4), np.array([1, 3]), 2))
def indices_from_integer_arrays(a, places, k):
    return a[places[0]] * a[places[1]] + a[places[0] + k] + a[k : places[1] + 1].sum()


@add(lambda: (np.array(1.3),))
def rank_zero(a):
    b = a * 2.0
    a[()] = a[()] * a[()]
    return a[()] * b + np.sum(a)


@add(lambda: (np.array(1.3), wave(3)), (0, 1))
def rank_zero_with_arrays(a, v):
    return (a * v).sum() + float(a) * a.item()


@add(lambda: (wave(4), 0), (0,))
def empty_parts(a, n):
    return a[:n].sum() + (a[n:n] * a[3:3]).sum() + a[0] * a[1:1].size + a.sum() * a[2]


@add(lambda: (np.asfortranarray(wave(3, 2)), wave(6)[::2]), (0, 1))
def other_layouts(a, v):
    a[1] = v[:2] * a[0]
    return (a * a).sum() + a.T.copy()[0] @ v


@add(lambda: (wave(3),))
def written_argument(a):
    for k in range(a.size):
        a[k] = a[k] * a[k - 1]
    a *= 2.0
    a.fill(a[1])
    return a.sum()


@add(lambda: (wave(3), 4))
def buffer_grown_in_steps(x, n):
    states = np.empty((n + 1, 3))
    states[0] = x
    for k in range(n):
        states[k + 1] = states[k] * x + states[k, ::-1]
    return states[n].sum() + states[1, 0] * states[2, 1]


@add(lambda: (wave(3, 3),), compiled=True)
def factorised_in_place(a):
    for i in range(3):
        a[i, i] += 4.0
    for k in range(3):
        for i in range(k + 1, 3):
            a[i, k] /= a[k, k]
            for j in range(k + 1, 3):
                a[i, j] -= a[i, k] * a[k, j]
    return a[0, 0] * a[1, 1] * a[2, 2]


@add(lambda: (wave(2, 2), wave(2)), (0, 1))
def functions_that_combine(a, v):
    b = np.concatenate((a[0], v))
    c = np.vstack((v, a[1]))
    d = np.stack((a[:, 0], v))
    e = np.hstack((v, v * 2.0))
    return (b * e).sum() + (c * d).sum() * v[0]


@add(lambda: (wave(5),))
def functions_that_rearrange(a):
    b = np.flip(a) * np.roll(a, 2) + np.cumsum(a) * np.repeat(a[:1], 5)
    return b.sum() + np.diag(np.outer(a, a)).sum() * a[0]
