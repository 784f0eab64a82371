"""Programs that count: elements of integer arrays that are stepped in place, and read before and after that.

What was read of an element and what stands in it now are two numbers, which the text of the derivative must not take
for one. Each program has integers in memory beside the floats that it differentiates.
"""

import numpy as np

from tests.programs.rows import Rows, wave

COUNTING = Rows()
add = COUNTING.add


@add(lambda: (wave(6), np.zeros(1, np.int64)), compiled=True)
def counter_in_an_array(x, n):
    n = n.copy()
    t = 0.0
    for k in range(x.size):
        n[0] += 1
        t += x[k] * x[k] * n[0]
    return t


@add(lambda: (wave(7), np.array([0, 2, 1, 0, 2, 2, 1])), compiled=True)
def bins_counted_and_read(x, bins):
    counts = np.zeros(3, np.int64)
    t = 0.0
    for k in range(x.size):
        b = bins[k]
        counts[b] += 1
        t += np.sin(x[k]) * counts[b]
    return t * counts[0]


@add(lambda: (wave(7), np.array([0, 2, 1, 0, 2, 2, 1])))
def online_means_of_bins(x, bins):
    counts = np.zeros(3, np.int64)
    means = np.zeros(3)
    for k in range(x.size):
        b = bins[k]
        counts[b] += 1
        means[b] += (x[k] - means[b]) / counts[b]
    return (means * means).sum()


@add(lambda: (wave(5),))
def while_on_an_element(x):
    n = np.zeros(2, np.int64)
    t = 0.0
    while n[0] < x.size:
        n[0] += 1
        t += x[n[0] - 1] * n[0] * x[0]
        n[1] = n[0] - 1
    return t + x[n[1]] ** 2


@add(lambda: (wave(5), np.array([3, 1, 4, 0, 2])), compiled=True)
def indices_that_change_places(x, order):
    order = order.copy()
    t = 0.0
    for k in range(4):
        order[k], order[k + 1] = order[k + 1], order[k]
        t += x[order[k]] * x[order[k + 1]] * (order[k] + 1)
    return t


@add(lambda: (wave(5), np.array([3, 1, 4, 0, 2])))
def swapped_with_a_temporary(x, order):
    order = order.copy()
    t = 0.0
    for k in range(4):
        first = order[k] - 1
        order[k] = order[k + 1]
        order[k + 1] = first + 1
        t += x[first] ** 2 * order[k] + x[first + 1] * order[k + 1]
    return t


@add(lambda: (wave(6), np.array([1, 0])))
def old_element_in_an_inner_loop(x, n):
    n = n.copy()
    t = 0.0
    for k in range(2):
        beside = n[0] + 1
        for j in range(3):
            n[0] = (n[0] + k + 1) % 4
            t += x[beside] * x[j] * n[0]
    return t


@add(lambda: (wave(6), np.array([1, 0])))
def old_element_in_a_branch(x, n):
    n = n.copy()
    t = 0.0
    for k in range(4):
        beside = n[k % 2] + 1
        n[k % 2] += 1
        if x[k] > 0.0:
            t += x[beside] * x[k]
        else:
            n[1] -= 1
            t -= x[beside] * n[1] * x[k]
        t += x[beside - 1] ** 2
    return t


@add(lambda: (wave(8), np.array([2, 5, 7])))
def cursors_into_one_array(x, starts):
    # as in a merge: each cursor moves on by itself
    place = starts.copy()
    t = 0.0
    for k in range(5):
        c = k % 3
        place[c] -= 1
        t = t * x[place[c]] + x[place[c] + 1] * place[c]
    return t


@add(lambda: (wave(4), np.array([[0, 1], [2, 3]])))
def stack_of_places(x, pairs):
    stack = np.zeros(4, np.int64)
    top = np.zeros(1, np.int64)
    t = 1.0
    for k in range(2):
        for j in range(2):
            stack[top[0]] = pairs[k, j]
            top[0] += 1
    while top[0] > 0:
        top[0] -= 1
        t = t * x[stack[top[0]]] + x[0] * (top[0] + 1)
    return t


@add(lambda: (wave(6), np.zeros(3, np.int32)))
def narrow_counts(x, n):
    n = n.copy()
    t = 0.0
    for k in range(x.size):
        before = n[k % 3] + 1
        n[k % 3] += 2
        t += x[k] * before * n[k % 3] * x[0]
    return t


@add(lambda: (wave(6), np.array([[1, 2], [0, 1]])))
def products_of_integers(x, m):
    rows = m @ m
    row = m[0] @ rows + rows @ m[1]
    return x[row @ row % 6] * x[0] + np.inner(m[0], m[1]) * x[1] + np.dot(m, m)[0, 1] * x[2] + np.vdot(m, m) * x[3]
