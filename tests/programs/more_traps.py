"""Small programs that are easily differentiated wrong: state that is overwritten, shared memory, early exits, shapes.

Each says in `why` what goes wrong where it goes wrong. They complement the language table, which has one feature a row.
"""

import math

import numpy as np
from numba import njit

from tests.programs.rows import Rows, wave

MORE_TRAPS = Rows()
trap = MORE_TRAPS.add


# ------------------------------------------------------------------------------------------------- loops with state


@trap(lambda: (0.6, 5), why="two carried values of which one is read only after the loop")
def fibonacci_of_reals(x, n):
    a, b, unused = x, x * x, 0.0
    for k in range(n):
        a, b, unused = b, a + b * x, a * b
    return a * unused + b


@trap(lambda: (0.6, 4), why="the value at the start of the trip is used after it was overwritten in the same trip")
def old_and_new_in_one_trip(x, n):
    y = x
    for _ in range(n):
        old = y
        y = np.sin(y) + x
        y = y * old
        old = y - old
        y = y + old * old
    return y


@trap(lambda: (wave(6), 0.9), (0, 1), why="the carried value is reset in some trips: its adjoint must stop there")
def reset_in_the_loop(a, x):
    run, best = 1.0, 0.0
    for k in range(a.size):
        run = run * a[k] * x + 1.0
        if a[k] < 0.0:
            best += run * run
            run = x
    return best + run


@trap(lambda: (wave(5),), why="the largest so far, its place, and a use of both")
def running_maximum(a):
    best, place = a[0], 0
    for k in range(1, a.size):
        if a[k] > best:
            best, place = a[k], k
    return best * a[place - 1] + a[place] * place


@trap(lambda: (0.7, 3, 4), why="the inner loop's state starts from the outer's and flows back into it")
def nested_state(x, n, m):
    outer = x
    for i in range(n):
        inner = outer
        for j in range(m):
            inner = inner * x + 0.1 * i - outer
        outer = 0.5 * outer + inner
    return outer


@trap(lambda: (0.7, 4), why="the inner loop's length depends on the outer counter and is zero at first")
def growing_inner_loop(x, n):
    total, y = 0.0, x
    for i in range(n):
        for j in range(i):
            y = y * x + 0.3
            total += y * j
    return total * y


@trap(lambda: (wave(8), 3), why="trip counts from integer arithmetic on carried integers")
def collatz_lengths(a, n):
    total, k = 0.0, n
    while k != 1:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        total = total * 0.5 + a[k % 8] * a[k % 3]
    return total


@trap(lambda: (0.7,), why="the loop runs exactly once, then never")
def loops_of_one_and_zero_trips(x):
    y = x
    for k in range(1):
        y = y * y
    for k in range(0):
        y = y * 100.0
    while y > 1e3:
        y = y * x
    return y * x


@trap(lambda: (wave(4),), why="the loop variable is overwritten in the body and used as an index after that")
def counter_shifted(a):
    total = 1.0
    for k in range(a.size):
        k = (k + 1) % a.size
        total = total * a[k] + a[k - 1]
    return total * k


@trap(lambda: (wave(4), 3), why="the array is replaced by a new one that is made of it, in each trip")
def array_rebound_each_trip(a, n):
    for k in range(n):
        a = a * a + a[::-1] * (k + 1)
        a = a / a.sum()
    return a[0] * a[1]


@trap(lambda: (wave(3), 5), why="three buffers that rotate: the number of trips is no multiple of three")
def three_buffers(a, n):
    old, now, new = a.copy(), a * 2.0, np.zeros(3)
    for _ in range(n):
        for k in range(3):
            new[k] = now[k] * 0.5 + old[k - 1] * now[k - 2]
        old, now, new = now, new, old
    return (old * now).sum() + new[0]


@trap(lambda: (wave(6), 3), why="the row that is read and the row that is written change places by arithmetic")
def rows_modulo_two(a, n):
    rows = np.zeros((2, 6))
    rows[0] = a
    for s in range(n):
        for k in range(6):
            rows[(s + 1) % 2, k] = rows[s % 2, k] * rows[s % 2, k - 1] + a[k]
    return rows[n % 2, 3] * rows[(n + 1) % 2, 2]


@trap(lambda: (wave(5),), why="prefix products in place: each reads what the trip before has written")
def prefix_products(a):
    for k in range(1, a.size):
        a[k] *= a[k - 1]
    return a.sum()


@trap(lambda: (wave(5),), why="the same from behind, through a negative step")
def suffix_products(a):
    for k in range(a.size - 2, -1, -1):
        a[k] = a[k] * a[k + 1] + a[k]
    return a.sum() * a[0]


@trap(lambda: (0.8, 30), why="a long loop: tapes that grow")
def long_loop(x, n):
    y, k = x, 0
    while k < n:
        y = np.sin(y) * 1.1 + 0.05 * x
        k += 1
    return y


@trap(lambda: (wave(3), wave(2)), (0, 1), why="a loop over elements inside another; both variables are carried out")
def pairs_of_elements(a, b):
    total = 0.1
    for v in a:
        for w in b:
            total = total * v + w * w
    return total * v * w


# ------------------------------------------------------------------------------------------------------------- exits


@trap(lambda: (wave(5), 0.3), (0, 1), why="break in the first trip")
def broken_at_once(a, x):
    for k in range(a.size):
        x = x * a[k]
        break
    return x * x


@trap(lambda: (wave(5), 0.3), (0, 1), why="continue in the last trip, after a store")
def continued_at_the_end(a, x):
    b = np.zeros(5)
    for k in range(a.size):
        b[k] = a[k] * x
        if k == a.size - 1:
            continue
        x = x + b[k]
    return (b * b).sum() * x


@trap(lambda: (wave(4, 3), 1.2), (0, 1), why="a flag that ends the outer loop from the inner one")
def two_loops_left_by_a_flag(a, x):
    found = False
    y = x
    for i in range(4):
        for j in range(3):
            y = y * a[i, j] + x
            if y < 0.1:
                found = True
                break
        if found:
            break
        y = y + a[i, 0]
    return y * x


@trap(lambda: (0.9, 3), why="return from a while in a for, with different expressions")
def returned_from_different_places(x, n):
    for k in range(n):
        y = x * (k + 1)
        while y < 2.0:
            y = y * 1.7
            if y > 2.5:
                return y * x + k
        if y > 100.0:
            return x
    return y


@trap(lambda: (wave(6),), why="break and else both write the result; and what was stored before the break stays")
def else_after_stores(a):
    for k in range(a.size):
        a[k] = a[k] * a[k]
        if a[k] > 1.5:
            last = k
            break
    else:
        last = 0
    return a.sum() * a[last]


@trap(lambda: (wave(6),), why="the counter after break is the one of the trip that was left")
def counter_after_break(a):
    for k in range(a.size):
        if a[k] < 0.0:
            break
    return a[k] * a[k] * k + a[0]


@trap(lambda: (0.4, 7), why="while with the test on a value that is computed in the test")
def tested_expression(x, n):
    y, k = x, 0
    while math.sin(y) * (k + 1) < 3.0 and k < n:
        y = y + 0.2 * x
        k = k + 1
    return y * y * k


@trap(lambda: (wave(5),), why="an early return in a function called in a loop; its variables are new each time")
def early_return_in_a_callee(a):
    total = 1.0
    for k in range(a.size):
        total = total * 0.5 + clipped_cube(a[k], total)
    return total


def clipped_cube(v, limit):
    if v > limit:
        return limit * v
    w = v * v
    if w > 1.0:
        return w
    return w * v


# ---------------------------------------------------------------------------------------------- memory that is shared


@trap(lambda: (wave(6),), why="two views that overlap; a store through one is read through the other")
def overlapping_views(a):
    left, right = a[:4], a[2:]
    left[3] = right[0] * right[3]
    right[1] *= left[2]
    left *= 2.0
    return (right * right).sum() + left[0]


@trap(lambda: (wave(6),), why="every other element through one view, the whole through another")
def interleaved_views(a):
    even, odd = a[::2], a[1::2]
    even += odd * odd
    odd *= even
    return (a * a).sum() + even[0] * odd[2]


@trap(lambda: (wave(3, 3),), why="the diagonal is in the row and in the column")
def row_and_column_cross(a):
    row, column = a[1, :], a[:, 1]
    row *= 2.0
    column[1] = row[1] * row[0]
    column += row
    return (a * a).sum()


@trap(lambda: (wave(3, 3),), why="a matrix and its transpose are one memory")
def matrix_and_transpose(a):
    t = a.T
    for i in range(3):
        for j in range(i):
            t[i, j] = a[i, j] * t[j, i]
    return (a * a).sum() + t[2, 0]


@trap(lambda: (wave(4),), why="a += on a slice of itself with another offset has to copy first")
def shifted_sum_with_copy(a):
    a[1:] += a[:-1].copy()
    a[:-1] *= a[1:].copy()
    return (a * a).sum()


@trap(lambda: (wave(5),), why="reversal onto itself")
def reversed_onto_itself(a):
    a[:] = a[::-1].copy() * a
    b = a[::-1] + a
    a[::-1] = b
    return a[0] * a[1] + a[4]


@trap(lambda: (wave(4), True), why="which array is written is decided at run time; both are read afterwards")
def written_by_choice(a, flag):
    b = a * a
    c = a if flag else b
    c[1] = b[0] * a[2]
    c[2] *= c[1]
    return (a * b).sum()


@trap(lambda: (wave(4), 3), why="the name changes arrays in the loop while both are written")
def alternating_targets(a, n):
    b = np.ones(4)
    now, other = a, b
    for k in range(n):
        now[k] = other[k + 1] * now[k + 1] + 0.5
        now, other = other, now
    return (a * b).sum() + now[0]


@trap(lambda: (wave(4),), why="a view taken before and one taken after the store")
def views_before_and_after(a):
    early = a[1:3]
    a[1] = a[0] * a[3]
    late = a[1:3]
    late[1] = early[0] * early[1]
    return (early * late).sum() * a[2]


@trap(lambda: (wave(4),), why="a copy of a view of a copy")
def copies_and_views(a):
    b = a.copy()
    v = b[1:]
    c = v.copy()
    v[0] = c[1] * a[0]
    c[0] = v[0] * b[3]
    return (a * b).sum() + (c * v).sum()


@trap(lambda: (wave(4),), why="the argument is rebound to a copy: the original may be written no longer")
def rebound_to_a_copy(a):
    b = a
    a = a.copy()
    a[0] = b[1] * b[2]
    b[3] = a[0] * a[1]
    return (a * b).sum()


@trap(lambda: (wave(2, 2),), why="swapped rows through a temporary copy, then through fancy indices")
def swapped_rows(a):
    saved = a[0].copy()
    a[0] = a[1] * 2.0
    a[1] = saved
    b = a[np.array([1, 0])]
    return (a * b).sum() + b[0, 0] * a[1, 1]


def scale_first(v, x):
    v[0] = v[0] * x
    return v


@trap(lambda: (wave(4), 0.7), (0, 1), why="a function returns the array it was given; it is one memory with two names")
def returned_argument(a, x):
    b = scale_first(a, x)
    c = scale_first(b[1:], x)
    c[1] = a[0] * b[3]
    return (a * a).sum() + c[0]


def same_twice(u, v):
    u[0] = v[1] * v[0]
    v[1] = u[0] + u[1]
    return (u * v).sum()


@trap(lambda: (wave(3),), why="inside, one array may be given twice: the two parameters are one memory")
def helper_called_with_one_array_twice(a):
    return same_twice(a, a) + a[1]


@trap(lambda: (wave(3), 0.4), (0, 1), why="the row of a three-dimensional array by repeated indexing")
def views_of_views_in_a_loop(a, x):
    cube = np.zeros((2, 3, 3))
    for i in range(2):
        plane = cube[i]
        for j in range(3):
            row = plane[j]
            row += a * x
            row[j] *= x + i
    return (cube * cube).sum() + cube[1, 2, 2]


# -------------------------------------------------------------------------------------------- overwritten, then needed


@trap(lambda: (wave(3),), why="x is squared in place, twice, and the factor in between is read")
def squared_twice_in_place(a):
    a *= a
    s = a.sum()
    a *= a
    a += s
    return (a * s).sum()


@trap(lambda: (wave(4),), why="the exponential is overwritten: its derivative needs the old value")
def exponential_overwritten(a):
    e = np.exp(a)
    s = e.sum()
    e /= s
    e[0] = e[1] * e[2]
    return (e * e).sum() + s


@trap(lambda: (wave(4), 0.8), (0, 1), why="a scalar loaded from an array that is overwritten afterwards")
def loaded_then_overwritten(a, x):
    first, last = a[0], a[-1]
    a[0] = last * x
    a[-1] = first * first
    a[1] = a[0] * a[-1] * first
    return a.sum() * last


@trap(lambda: (wave(3), 4), why="the divisor is overwritten in each trip")
def divisor_overwritten(a, n):
    for _ in range(n):
        a[0] = a[0] / (2.0 + a[1] * a[1])
        a[1] = a[1] / (2.0 + a[0] * a[0]) + a[2]
    return a[0] * a[1]


@trap(lambda: (wave(3, 3), wave(3)), (0, 1), why="the matrix of a product is overwritten after the product")
def matrix_overwritten_after_product(a, v):
    w = a @ v
    a[0] = w
    u = a @ w
    a *= 2.0
    v[:] = u
    return (u * w).sum() + v[0] * a[0, 1]


@trap(lambda: (wave(3, 3), wave(3)), (0, 1), why="the operands of a solve are overwritten")
def operands_of_solve_overwritten(a, b):
    for k in range(3):
        a[k, k] += 4.0
    x = np.linalg.solve(a, b)
    a[0, 1] = x[0] * x[1]
    b[:] = x * x
    y = np.linalg.solve(a, b)
    x[0] = 7.0
    return (y * b).sum() + x[0] * x[1]


@trap(lambda: (wave(4),), why="zeroed and filled again")
def zeroed_and_filled(a):
    b = a * a
    s = b.sum()
    b[:] = 0.0
    b[1:3] = a[1:3] * s
    b.fill(b[1])
    return b.sum() * s


@trap(lambda: (wave(4),), why="a store of a constant ends the derivative of what was there")
def cut_by_a_constant(a):
    b = a * 3.0
    b[2] = 1.0
    c = b * a
    b[0] = 0.0
    return (b * c).sum()


@trap(lambda: (wave(4), np.array([2, 0, 2])), why="places from data: which store stays is known at run time alone")
def stores_at_places_from_data(a, places):
    b = np.zeros(4)
    for k in range(places.size):
        b[places[k]] = a[k] * a[k] + b[places[k]] * 0.5
    return (b * b).sum()


@trap(lambda: (wave(5),), why="bubble sort: the order is data, the values move")
def bubble_sort(a):
    for i in range(a.size):
        for j in range(a.size - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a[0] * a[4] + a[1] * a[1] * a[2]


# ------------------------------------------------------------------------------------------------------------- shapes


@trap(lambda: (wave(1), wave(3)), (0, 1), why="a vector of one element in sums, products and stores")
def one_element_everywhere(a, b):
    c = np.zeros(3)
    c[:] = a
    c += a * b
    c -= a
    return (c * b).sum() + (a + a).sum()


@trap(lambda: (wave(3, 1), wave(1, 3)), (0, 1), why="sizes of one that are known at run time alone")
def stretched_both_ways(a, b):
    c = a * b
    d = c + a
    d *= b
    e = np.where(c > 0.0, a, b)
    return (d * e).sum()


@trap(lambda: (wave(2, 3, 4),), why="sums over each axis of three, and of what is left")
def sums_over_axes(a):
    s = a.sum(axis=1)
    t = s.sum(axis=-1)
    return (s * s).sum() * t[0] + t[1] * a.sum(0)[1, 2]


@trap(lambda: (wave(4, 4), 1, 3), why="blocks of a matrix with bounds at run time")
def blocks(a, i, j):
    block = a[i:j, i:j]
    a[:i, :i] = block[0, 0]
    block += a[j:, j:]
    return (block @ block).sum() + a[0, 0] * a[3, 3]


@trap(lambda: (wave(5),), why="slices that are empty, clamped or negative")
def odd_slices(a):
    return a[3:100].sum() * a[-100:2].sum() + (a[4:1] * a[2:2]).sum() + a[-1:-4:-1].sum() * a[1:-1:2].sum()


@trap(lambda: (wave(2, 3),), why="reshape, transpose and ravel in a row: where it copies, stores do not come back")
def copies_made_by_ravel(a):
    flat = a.T.copy().reshape(6)
    flat[1] = a[0, 0] * a[1, 1]
    again = a.reshape(3, 2)
    again[2] = flat[:2]
    return (a * a).sum() + flat.sum()


@trap(lambda: (wave(3),), why="newaxis, broadcasting against itself, and a sum that takes it back")
def all_pairs(a):
    d = a[:, None] - a[None, :]
    k = np.exp(-d * d)
    return (k * a).sum() + k[0, 2]


# ------------------------------------------------------------------------------------------------ kinds of numbers


@trap(lambda: (1.3, 3), why="integers and floats in one variable")
def integer_becomes_float(x, n):
    y = n
    for k in range(n):
        y = y * x
    z = 0
    if n > 2:
        z = z + y
    return z * z


@trap(lambda: (2.6,), why="rounded values are constants; the remainder is not")
def fractional_part(x):
    n = int(x)
    f = x - n
    r = x - np.floor(x)
    return f * n + r * r * math.ceil(x) + x // 1.0


@trap(lambda: (wave(4),), why="booleans as numbers, as indices' sum and as factors")
def booleans_as_factors(a):
    up = a > 0.0
    n = up.sum()
    return (a * up).sum() * n + (a * (1 - up)).sum() + up[0] * a[1] * a[1]


@trap(lambda: (0.7, 1.9), (0, 1), why="math's functions with two arguments, one of them constant in one call")
def mixed_activity(x, y):
    return math.pow(x, 3.0) * math.pow(2.0, y) + math.atan2(1.0, x) * math.hypot(3.0, y) + math.copysign(x, -2.0) * y


@trap(lambda: (0.7, 2.0), (0,), why="constants that look active: x - x, x * 0, x / x")
def cancelled(x, c):
    zero = x - x
    one = x / x
    return x * x * one + zero * c + 0.0 * x + (x + c) * (x - c)


# -------------------------------------------------------------------------------------------------------- functions


@njit
def newton_step(x, a):
    return x - (x * x - a) / (2.0 * x)


@njit
def newton_sqrt(a, tolerance=1e-12):
    x = a
    while abs(x * x - a) > tolerance:
        x = newton_step(x, a)
    return x


@trap(lambda: (2.0,), second=False, why="a solver inside a function, called twice")
def solver_in_a_function(a):
    return newton_sqrt(a) * newton_sqrt(a + 1.0, 1e-10)


@trap(lambda: (0.7, 1.2), (0, 1), why="a local variable of a callee has the name of a variable of the caller")
def names_in_two_functions(y, x):
    total = swapped_difference(x, y)
    return total * swapped_difference(y, x) + x


def swapped_difference(x, y):
    total = x * x
    x = y
    y = total
    return x - y * x


@trap(lambda: (wave(3),), why="a lambda sees the variable as it is when it is called")
def late_binding(a):
    scale = a[0]
    f = lambda v: v * scale
    first = f(a[1])
    scale = a[2]
    return first * f(a[1])


@trap(lambda: (wave(3), 3), why="a callee writes into a local array of the caller, in a loop")
def scratch_of_the_caller(a, n):
    scratch = np.zeros(3)
    total = 0.0
    for k in range(n):
        fill_scratch(scratch, a, k)
        total += scratch[k] * scratch[k - 1]
    return total


def fill_scratch(scratch, a, k):
    for j in range(scratch.size):
        scratch[j] = scratch[j] * 0.5 + a[j] * a[k]


@trap(lambda: (0.5, 6), why="a recurrence with a conditional in a called function and a random-like integer state")
def pseudo_random_walk(x, n):
    seed, y = 7, x
    for _ in range(n):
        seed = (seed * 5 + 3) % 16
        y = y + x * y if seed % 2 == 0 else y * 0.9 - x
    return y


# ------------------------------------------------------------------- variables that a trip takes over from earlier ones


@trap(lambda: (0.75,), why="the last trip assigns nothing before it leaves the loop")
def assigned_in_trips_before_the_last(x):
    n = 0
    while True:
        n += 1
        if n > 4:
            break
        y = x * n
        if y > 2.0:
            z = y * y
        else:
            w = y * 3.0
    return z * y + w


@trap(lambda: (wave(3),), why="the last trips of the outer loop run no inner one")
def assigned_in_an_inner_loop(a):
    for i in range(4):
        for j in range(3 - i):
            v = a[j] * (i + 1)
            z = v * v
    return v * z


@trap(lambda: (wave(2),), why="a tuple, assigned in the first trip alone")
def assigned_in_the_first_trip(a):
    for i in range(3):
        if i == 0:
            v, k = (a[0], a[1]), 2
    return v[0] * v[1] * k


@trap(lambda: (wave(2),), why="an integer in one trip, a float in the next, nothing in the last")
def assigned_with_two_types(a):
    for i in range(4):
        if i == 1:
            v = 2
        if i == 2:
            v = a[0] * 1.5
    return v * a[1]


@trap(lambda: (wave(3),), why="two functions have a variable of one name, and each loop assigns its own in some trips")
def assigned_under_one_name(a):
    def first(b):
        for i in range(3):
            if b[i] > 0.1:
                v = b[i] * b[i]
        return v

    for i in range(3):
        if i < 2:
            v = first(a) * (i + 1)
    return v * a[1]
