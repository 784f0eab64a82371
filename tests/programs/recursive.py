"""Functions that call themselves and each other, as deep as is known at run time only."""

import math

import numpy as np
from numba import njit

from tests.programs.rows import Rows, vector, wave

RECURSIVE = Rows()


def _power(x, n):
    if n == 0:
        return 1
    return x * _power(x, n - 1)


@RECURSIVE.add(lambda: (1.2, 4), compiled=True)
def power(x, n):
    return _power(x, n) + _power(x, 2)


@RECURSIVE.add(lambda: (1.2, 4))
def in_an_expression_of_two_ways(x, n):
    return x * in_an_expression_of_two_ways(x, n - 1) if n > 0 else 1.0


@RECURSIVE.add(lambda: (0.1, 2.5, 1.7, 1e-2), (1, 2), second=False)
def adaptive_quadrature(a, b, c, tolerance):
    middle = 0.5 * (a + b)
    whole = (b - a) * np.sin(c * middle)
    left = (middle - a) * np.sin(c * 0.5 * (a + middle))
    right = (b - middle) * np.sin(c * 0.5 * (middle + b))
    if abs(left + right - whole) < tolerance:
        return left + right
    return adaptive_quadrature(a, middle, c, tolerance / 2) + adaptive_quadrature(middle, b, c, tolerance / 2)


def _pruned(left, right, w, x, node):
    if node < 0:
        return 0.0
    s = math.tanh(w[node] * x)
    s += _pruned(left, right, w, x, left[node]) * s
    t = _pruned(left, right, w, x, right[node])
    return s + t * x


@RECURSIVE.add(lambda: (vector(0.3, 0.5, 0.7, 0.2, 0.9), 0.8), (0, 1))
def binary_tree(w, x):
    left, right = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])
    return _pruned(left, right, w, x, 0)


def _halves(x, lo, hi):
    n = hi - lo
    if n <= 2:
        s = 0.0
        for i in range(lo, hi):
            s += x[i] ** 2
        return s
    middle = lo + n // 2
    return _halves(x, lo, middle) * _halves(x, middle, hi)


@RECURSIVE.add(lambda: (wave(7),))
def halves(x):
    return _halves(x, 0, x.size)


def _even(x, n):
    if n == 0:
        return x
    return math.sin(_odd(x, n - 1))


def _odd(x, n):
    if n == 0:
        return 2 * x
    y = _even(x, n - 1)
    return y * y + x


@RECURSIVE.add(lambda: (0.7, 5))
def of_each_other(x, n):
    return _even(x, n) + _odd(x, n + 1)


def _children(x, kids, start, node):
    total = x[node] ** 2
    for k in range(start[node], start[node + 1]):
        if kids[k] == 3:
            continue
        total += 0.5 * _children(x, kids, start, kids[k]) * x[node]
        if total > 1e9:
            break
    else:
        total *= 1.1
    return total


@RECURSIVE.add(lambda: (wave(6),))
def tree_of_any_width(x):
    return _children(x, np.array([1, 2, 3, 4, 5]), np.array([0, 3, 5, 5, 5, 5, 5]), 0)


def _summed(x, start, kids, node):
    return x[node] * (1 + sum(_summed(x, start, kids, kids[k]) for k in range(start[node], start[node + 1]) if k != 2))


@RECURSIVE.add(lambda: (wave(6),))
def sum_over_children(x):
    return _summed(x, np.array([0, 3, 5, 5, 5, 5, 5]), np.array([1, 2, 3, 4, 5]), 0)


def _for_each_side(x, n):
    s = x
    for side in (-1.0, 0.5):
        if n > 0:
            s += side * _for_each_side(x * 0.5, n - 1)
    for k in range(n, 0, -2):
        s *= 1.0 + 0.1 * _for_each_side(x, k - 2)
    return s


@RECURSIVE.add(lambda: (0.8, 3))
def loops_over_items_and_downwards(x, n):
    return _for_each_side(x, n)


@RECURSIVE.add(lambda: (wave(6), 4))
def defined_inside(x, n):
    def go(k):
        if k >= n:
            return 0.0
        return x[k] + x[k] * go(k + 1)

    return go(0)


def _pair(x, n):
    if n == 0:
        return x, 1.0
    a, b = _pair(x, n - 1)
    return a * x + b, a - b


@RECURSIVE.add(lambda: (1.2, 4))
def several_results(x, n):
    a, b = _pair(x, n)
    return a * b


def _filled(a, x, lo, hi):
    if hi - lo == 1:
        a[lo] = x * lo
        return
    middle = (lo + hi) // 2
    _filled(a, x, lo, middle)
    a[lo] += x
    _filled(a, x, middle, hi)
    a[hi - 1] *= a[lo]


@RECURSIVE.add(lambda: (0.7, 5))
def stores_for_its_caller(x, n):
    a = np.zeros(n)
    _filled(a, x, 0, n)
    return a.sum()


def _element_before(a, x, n):
    if n > 0:
        a[0] += x * _element_before(a, x + a[1], n - 1)
        a[1] = a[0] * x
    return a[0] + a[1]


@RECURSIVE.add(lambda: (0.3, 3))
def element_is_read_before_the_call(x, n):
    return _element_before(np.array([x, 0.5]), x, n)


def _operand_before(a, x, n):
    if n == 0:
        return x
    return a[0] * _changes(a, x, n) + a[0]


def _changes(a, x, n):
    a[0] += 0.5 * x
    return _operand_before(a, x, n - 1)


@RECURSIVE.add(lambda: (0.3, 3))
def operand_is_read_before_the_call(x, n):
    return _operand_before(np.array([1.0, x]), x, n)


@RECURSIVE.add(lambda: (0.4, 3, 3))
def in_tests_of_loops(x, m, n):
    while n > 0 and m > 0:
        x = math.cos(x)
        n = n - 1
        if in_tests_of_loops(x, m - 1, n) > 0.3 or in_tests_of_loops(x * 0.5, m - 2, n) > 0.7:
            m -= 1
    return x + m


@RECURSIVE.add(lambda: (0.7, 5))
def by_keyword_and_default(x, n, depth=0, scale=0.9):
    if depth >= n:
        return x
    y = by_keyword_and_default(x * scale, n, depth=depth + 1)
    return y + math.sin(x)


@njit
def _compiled_one(x, n):
    if n < 2:
        return x if n else 1.0
    return _compiled_one(x, n - 1) + _compiled_one(x, n - 2) * x


@RECURSIVE.add(lambda: (0.7, 6))
def of_numba(x, n):
    return _compiled_one(x, n)


@RECURSIVE.add(lambda: (wave(5),))
def what_is_left_of_an_array(x):
    if x.size == 0:
        return 1.0
    return x[0] * what_is_left_of_an_array(x[1:])


@RECURSIVE.add(lambda: (0.97,))
def deeper_than_can_be_written_out(x):
    return _power(x, 90)


def _matrix_power(a, n):
    if n == 0:
        return np.eye(a.shape[0])
    if n % 2 == 1:
        return a @ _matrix_power(a, n - 1)
    h = _matrix_power(a, n // 2)
    return h @ h


@RECURSIVE.add(lambda: (0.5 * wave(2, 2), 5))
def matrix_power(a, n):
    return _matrix_power(a, n).sum()


def _arrays_on_the_stack(x, n):
    if n == 0:
        return x
    y = np.sin(x)
    return _arrays_on_the_stack(y * 0.5, n - 1) * y


@RECURSIVE.add(lambda: (wave(4), 3))
def arrays_on_the_stack(x, n):
    return _arrays_on_the_stack(x, n).sum()


class Tree:
    def __init__(self, w):
        self.w = w

    def walk(self, x, k):
        if k >= 5:
            return 0.0
        return self.w[k] * x + x * self.walk(x, 2 * k + 1)


@RECURSIVE.add(lambda: (0.7, 0))
def method_of_one_object(x, k):
    return Tree(np.arange(5.0) + x).walk(x, k)


class Node:
    def __init__(self, w, left=None, right=None):
        self.w, self.left, self.right = w, left, right

    def value(self, x):
        s = self.w * x
        if self.left is not None:
            s += math.sin(self.left.value(x))
        if self.right is not None:
            s *= self.right.value(x)
        return s


@RECURSIVE.add(lambda: (0.7,))
def objects_in_objects(x):
    return Node(1.0, Node(2.0, Node(x)), Node(3.0, None, Node(0.1))).value(x)


def _expression(tree, x):
    if isinstance(tree, tuple):
        op, a, b = tree
        if op == "+":
            return _expression(a, x) + _expression(b, x)
        return _expression(a, x) * _expression(b, x)
    return x if tree == "x" else tree


@RECURSIVE.add(lambda: (0.7,))
def tuples_in_tuples(x):
    return _expression(("+", ("*", "x", "x"), ("*", 3.0, ("+", "x", 1.0))), x)


def _bisected(x, lo, hi, target):
    if hi - lo < 2:
        return x[lo]
    middle = (lo + hi) // 2
    if x[middle] > target:
        return _bisected(x, lo, middle, target)
    return _bisected(x, middle, hi, target)


@RECURSIVE.add(lambda: (np.sort(wave(8)),))
def hands_on_what_it_gets(x):
    return _bisected(x, 0, x.size, 0.7) ** 2


def _newton(x, y, step=0):
    error = y * y - x
    if abs(error) < 1e-12 or step > 50:
        return y
    return _newton(x, y - error / (2 * y), step + 1)


@RECURSIVE.add(lambda: (2.0, 1.0))
def newton(x, y):
    return _newton(x, y)


@RECURSIVE.add(lambda: (wave(4, 3), 3), single=True)
def of_rows(a, n):
    def go(k, row):
        if k == n:
            return np.sum(row)
        return go(k + 1, np.tanh(row + a[k])) * a[k, 0]

    return go(0, a[n])


def _by_halves(x):
    if len(x) == 1:
        return x[0] ** 2
    middle = len(x) // 2
    a = _by_halves(x[:middle])
    b = _by_halves(x[middle:])
    return a * x[0] + b * x[-1]


@RECURSIVE.add(lambda: (wave(6),), second=False)
def parts_of_an_array(x):
    return _by_halves(x)


def _merged(a, b):
    out = np.empty(a.size + b.size)
    i = j = 0
    for k in range(out.size):
        if j == b.size or (i < a.size and a[i] < b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def _in_order(x):
    if x.size <= 1:
        return x
    middle = x.size // 2
    left = _in_order(x[:middle])
    right = _in_order(x[middle:])
    return _merged(left, right)


@RECURSIVE.add(lambda: (wave(6),), second=False)
def merge_sort(x):
    return _in_order(x) @ np.arange(1.0, x.size + 1)


def _fourier(x, w):
    n = len(x)
    if n == 1:
        return x
    even, odd = _fourier(x[::2], w), _fourier(x[1::2], w)
    out = np.empty(n)
    for k in range(n // 2):
        turned = np.cos(2.0 * np.pi * k / n * w) * odd[k]
        out[k] = even[k] + turned
        out[k + n // 2] = even[k] - turned
    return out


@RECURSIVE.add(lambda: (wave(8), 1.3), (0, 1), second=False)
def even_and_odd_parts(x, w):
    return np.sum(_fourier(x, w) ** 3)
