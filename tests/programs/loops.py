"""Programs with each form of loop and each way out of one."""

import numpy as np
from numba import njit, prange

from tests.programs.rows import Rows, vector, wave

LOOPS = Rows()
add = LOOPS.add


@add(lambda: (0.7, 4), compiled=True)
def range_of_one(x, n):
    y = 1.0
    for k in range(n):
        y = y * x + k
    return y


@add(lambda: (wave(7),), compiled=True)
def range_of_two(a):
    total = 0.0
    for k in range(1, a.size - 1):
        total += a[k - 1] * a[k + 1]
    return total


@add(lambda: (0.9, -5, 3, 11))
def part_of_range(x, a, b, n):
    total = x
    for k in range(2, n, 3)[a:b]:
        total = total * x + k
    for k in range(n, 0, -1)[1:3]:
        total = total * x - k
    for k in range(n)[b::-2]:
        total = total * x + k
    for k in range(n)[:a:-1]:
        total = total * x - k
    for part in (slice(-2, None), slice(20), slice(4, 20)):
        for k in range(n)[part]:
            total += k * x**2
    return total


@add(lambda: (wave(7),))
def range_of_three(a):
    total = 1.0
    for k in range(1, 7, 2):
        total = total * a[k] + a[k - 1]
    return total


@add(lambda: (wave(7),), compiled=True)
def negative_step(a):
    total = 0.5
    for k in range(a.size - 1, -1, -1):
        total = total * a[k] + 1.0
    return total


@add(lambda: (wave(8),))
def negative_step_with_a_remainder(a):
    total = 0.5
    for k in range(7, 0, -3):
        total = total * a[k] + a[k - 1]
    return total


@add(lambda: (wave(9), 7, 1, -2))
def bounds_and_step_at_run_time(a, start, stop, step):
    y = 0.3
    for k in range(start, stop, step):
        y = y * a[k] + k
    for k in range(stop, start, -step):
        y = y * a[k] - 0.1 * k
    return y


@add(lambda: (wave(4), 0))
def empty_range(a, n):
    y = a[0] * a[1]
    for k in range(n):
        y = y * a[k]
    for k in range(3, 1):
        y = 0.0
    for k in range(1, 3, -1):
        y = 0.0
    return y * y


@add(lambda: (wave(6),))
def parallel_range(a):
    out = np.zeros(a.size)
    for k in prange(a.size):
        out[k] = a[k] * a[k]
    total = 0.0
    for k in prange(1, a.size):
        total += out[k] * a[k - 1]
    return total


@add(lambda: (wave(5),), compiled=True)
def over_elements(a):
    total = 1.0
    for v in a:
        total = total * v + 0.3
    return total


@add(lambda: (wave(3, 2),))
def over_rows(a):
    total = 1.0
    for row in a:
        total = total * row[0] + row[1]
    return total


@add(lambda: (wave(3, 2),))
def over_rows_that_are_written(a):
    for row in a:
        row *= row[0]
        row[1] = row[0] * row[1]
    return a.sum() * a[0, 1]


@add(lambda: (wave(5),))
def over_a_slice(a):
    total = 1.0
    for v in a[::-2]:
        total = total * v + v
    return total


@add(lambda: (wave(4), vector(0.3, 0.6, 0.2, 0.9)), (0, 1))
def over_an_expression(a, b):
    total = 1.0
    for v in a * b + 1.0:
        total *= v
    return total


@add(lambda: (wave(5),))
def enumerated(a):
    total = 1.0
    for k, v in enumerate(a):
        total = total * v + k
    return total


@add(lambda: (wave(5),))
def enumerated_from_two(a):
    total = 1.0
    for k, v in enumerate(a[1:], 2):
        total = total * v + k * a[0]
    return total


@add(lambda: (wave(4), vector(0.5, 1.5, 0.3)), (0, 1))
def zipped(a, b):
    total = 0.2
    for v, w in zip(a, b):
        total = total * v + w
    return total


@add(lambda: (wave(4), vector(0.5, 1.5, 0.3, 0.8)), (0, 1))
def enumerated_zip(a, b):
    total = 0.2
    for k, (v, w) in enumerate(zip(a, b)):
        total = total * v + k * w
    return total


@add(lambda: (wave(4),))
def zipped_with_range(a):
    total = 0.2
    for k, v in zip(range(10, 0, -2), a):
        total = total * v + k
    return total


@add(lambda: (0.7, 1.2), (0, 1))
def over_a_tuple(x, y):
    total = 0.0
    for v in (x, y, x * y, 2.0):
        total = total * v + v
    return total


@add(lambda: (0.7, 1.2), (0, 1))
def over_tuples_of_several_kinds(x, y):
    total = 1.0
    for k, (v, f) in enumerate(((x, np.sin), (y, np.cos))):
        total = total * f(v) + k
    return total


@add(lambda: (0.7, 3))
def over_a_tuple_numbered_from_a_variable(x, n):
    total = 1.0
    for k, v in enumerate((x, 2.0, x * x), n):
        total = total * v + k * x
    return total


@add(lambda: (0.7, 3))
def over_numbered_tuples_side_by_side(x, n):
    total = 1.0
    for (k, v), (j, w) in zip(enumerate((x, 2.0), n + 1), enumerate((1.5, x * x), 7)):
        total = total * v * k + w * j
    return total


@add(lambda: (0.7,))
def over_nothing_side_by_side(x):
    total = x * x
    for _ in zip():
        total *= 7.0
    return total


@add(lambda: (0.7,), compiled=True)
def while_loop(x):
    y = x
    n = 0
    while y < 20.0:
        y = y * 1.5 + x
        n += 1
    return y * n


@add(lambda: (0.7,))
def while_with_two_conditions(x):
    y, k = x, 0
    while k < 10 and y * y < 5.0:
        y = y + x * y
        k += 1
    return y


@add(lambda: (0.7,))
def while_true(x):
    y = 1.0
    while True:
        y = y * (1.0 + x)
        if y > 5.0:
            break
    return y * x


@add(lambda: (0.7,))
def while_true_with_return(x):
    y = 1.0
    while True:
        y = y * (1.0 + x)
        if y > 5.0:
            return y * x


@add(lambda: (0.7,))
def while_else(x):
    y = x
    while y < 5.0:
        y = y * 2.0 * x + 1.0
        if y > 1000.0:
            break
    else:
        y = y * y
    return y


@add(lambda: (0.7,))
def while_else_left_by_break(x):
    y = x
    while y < 50.0:
        y = y * 2.0 + 1.0
        if y > 10.0:
            break
    else:
        y = y * y
    return y * x


@add(lambda: (wave(6),), compiled=True)
def broken(a):
    total = 1.0
    for k in range(a.size):
        if a[k] < -1.0:
            break
        total = total * a[k] + 0.5
    return total


@add(lambda: (wave(6),), compiled=True)
def continued(a):
    total = 1.0
    for k in range(a.size):
        if a[k] < 0.0:
            continue
        total = total * a[k] + 0.5
    return total


@add(lambda: (wave(6),))
def broken_and_continued(a):
    total, skipped = 1.0, 0
    for v in a:
        if v < 0.0:
            skipped += 1
            if skipped > 2:
                break
            continue
        total = total * v + skipped
    return total * skipped


@add(lambda: (wave(6),))
def break_after_the_work(a):
    total = 1.0
    for v in a:
        total = total * v + 0.7
        if total < 0.5:
            total = total * total
            break
    return total


@add(lambda: (wave(6), 0.9), (0, 1), compiled=True)
def returned_from_a_loop(a, x):
    total = x
    for k in range(a.size):
        total = total * a[k] + 1.0
        if total < 0.0:
            return total * x
    return total


@add(lambda: (wave(3, 4), 0.9), (0, 1))
def returned_from_two_loops(a, x):
    total = x
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total = total * a[i, j] + 1.0
            if total < -0.2:
                return total * x * a[i, 0]
        total = total * x
    return total


@add(lambda: (wave(3, 4), 0.9), (0, 1))
def inner_break_outer_continue(a, x):
    total = x
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] < -0.5:
                break
            total = total * a[i, j] + x
        if i == 1:
            continue
        total = total * x + 1.0
    return total


@add(lambda: (wave(6), 5.0), (0, 1))
def for_else(a, level):
    total = 1.0
    for v in a:
        if v > level:
            break
        total = total * v + 1.0
    else:
        total = total * level
    return total


@add(lambda: (wave(6), 0.8), (0, 1))
def for_else_left_by_break(a, level):
    total = 1.0
    for v in a:
        total = total * v + 1.0
        if v > level:
            break
    else:
        total = total * level
    return total * level


@add(lambda: (wave(3, 4),))
def nested_else(a):
    total = 1.0
    for i in range(3):
        for j in range(4):
            if a[i, j] < -1.0:
                total = total * a[i, j]
                break
        else:
            total = total + a[i, 0] * a[i, 1]
    else:
        total = total * total
    return total


@add(lambda: (wave(5),), compiled=True)
def triangular_loops(a):
    total = 0.0
    for i in range(a.size):
        for j in range(i):
            total += a[i] * a[j] * a[j]
    return total


@add(lambda: (wave(2, 3), wave(3, 2)), (0, 1), compiled=True)
def triple_loop(a, b):
    c = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            for k in range(3):
                c[i, j] += a[i, k] * b[k, j]
    total = 0.0
    for i in range(2):
        total += c[i, i] * c[i, 1 - i]
    return total


@add(lambda: (wave(6), np.array([0, 2, 2, 6])))
def bounds_from_data(a, starts):
    total = 0.0
    for row in range(starts.size - 1):
        product = 1.0
        for k in range(starts[row], starts[row + 1]):
            product = product * a[k]
        total += product * product
    return total


@add(lambda: (0.7, 3))
def while_in_a_for(x, n):
    total = 0.0
    for k in range(n):
        y = x
        while y < k + 2.0:
            y = y * 1.6 + 0.1
        total += y * y
    return total


@add(lambda: (0.7,))
def for_in_a_while(x):
    y, n = x, 1
    while y < 30.0:
        for k in range(n):
            y = y * 1.3 + x * k
        n += 1
    return y


@add(lambda: (0.7, 4))
def two_loops_one_variable(x, n):
    y = x
    for k in range(n):
        y = y * x + 0.1
    for k in range(n):
        y = y * y * 0.5
    return y + k


@add(lambda: (0.7, 4))
def loop_variable_after_the_loop(x, n):
    for k in range(n):
        y = x * k
    return y * k


@add(lambda: (wave(4),))
def target_is_an_element(a):
    total = 0.0
    place = np.zeros(2)
    for v in a:
        place[0] = v * v
        total += place[0] * place[1]
        place[1] = total + 1.0
    return total


@add(lambda: (0.7, 5))
def integer_state(x, n):
    i, j, y = 0, 1, x
    for _ in range(n):
        i, j = j, i + j
        y = y * x + i
    return y * j


@add(lambda: (0.7, 5))
def boolean_state(x, n):
    up = True
    y = x
    for _ in range(n):
        if up:
            y = y * x + 1.0
        else:
            y = y - x * x
        up = not up
    return y


@add(lambda: (wave(5), 3), compiled=True)
def time_steps(u, steps):
    for _ in range(steps):
        new = u.copy()
        for k in range(1, u.size - 1):
            new[k] = u[k] + 0.2 * (u[k - 1] - 2.0 * u[k] + u[k + 1]) * u[k]
        u = new
    return (u * u).sum()


@add(lambda: (wave(5), 3))
def time_steps_of_slices(u, steps):
    v = np.zeros_like(u)
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.2 * (u[:-2] - 2.0 * u[1:-1] + u[2:]) * u[1:-1]
        u[:] = v
    return (u * u).sum()


@add(lambda: (0.4, 4))
def array_carried_by_name(x, n):
    a = np.ones(2)
    for k in range(n):
        b = a * x
        a = b + a[0] * x
    return a[0] * a[1]


@add(lambda: (0.7, 6))
def tuple_carried(x, n):
    pair = (x, 1.0)
    for _ in range(n):
        pair = (pair[1] * x, pair[0] + pair[1])
    return pair[0] * pair[1]


@add(lambda: (vector(0.7, 0.4), 1e-10), (0,), second=False)
def fixed_point(p, tolerance):
    x, change = 0.5, 1.0
    while change > tolerance:
        new = p[0] * np.cos(x) + p[1] * 0.3
        change = abs(new - x)
        x = new
    return x * x


@njit
def bisect(target, low, high):
    for _ in range(3):
        middle = 0.5 * (low + high)
        if middle * middle > target:
            high = middle
        else:
            low = middle
        if high - low < 1e-8:
            break
    return low, high


@add(lambda: (2.0, 1.1, 1.9), (1, 2))
def search_in_a_function(target, low, high):
    a, b = bisect(target, low, high)
    return a * b


# --------------------------------------------------------------------------------------------------- NumPy's iterators


@add(lambda: (wave(6).reshape(2, 3), wave(2)), (0, 1), compiled=True)
def places_and_elements(a, x):
    total = 0.0
    for (i, j), v in np.ndenumerate(a):
        total = 0.9 * total + v * v * x[i] * (j + 1)
    for i, j in np.ndindex(a.shape):
        total += a[i, j] * a[i - 1, j]
    for place in np.ndindex(2, 1):
        total += a[place] * x[place[0]]
    return total


@add(lambda: (wave(6).reshape(2, 3), wave(3)), (0, 1))
def elements_of_several(a, x):
    total = 0.0
    for v in np.nditer(a):
        total = 0.9 * total + v.item() ** 2
    for v, w in np.nditer((a * a, x)):
        total += v * w[()] + v[...] * w.item()
    for v in np.nditer(a.T, order="C"):
        total = 0.9 * total + v * v
    return total


@add(lambda: (0.4,))
def stops_when_nothing_moves(x):
    y = x
    for _ in range(100):
        old = y
        y = x + 0.3 * np.sin(y)
        if abs(y - old) < 1e-13:
            break
    return y


@add(lambda: (0.4,), compiled=True)
def stops_when_nothing_moves_by_one_assignment(x):
    y = x
    for _ in range(100):
        old, y = y, x + 0.3 * np.sin(y)
        if abs(y - old) < 1e-13:
            break
    return y


@add(lambda: (0.4, 0.9), (0, 1))
def stops_when_neither_of_two_moves(x, u):
    y, z = x, u
    k = 0
    while True:
        old, older = y, z
        y = 0.5 * older + 0.3 * x * np.sin(old)
        z = 0.4 * old
        k += 1
        if abs(y - old) + abs(z - older) < 1e-12 or k > 80:
            break
    return y * z + old


@add(lambda: (wave(4),))
def stops_when_no_element_moves(a):
    y = a
    for _ in range(100):
        new = a + 0.3 * np.sin(y)
        change = np.abs(new - y).max()
        y = new
        if change < 1e-13:
            break
    return np.sum(y * y)


@add(lambda: (wave(4), 0.4))
def goes_on_where_it_grows(a, x):
    for k in range(a.size):
        old = x
        x = x + 0.3 * a[k]
        if x > old:
            continue
        a[k] = x * old
    return x + np.sum(a)
