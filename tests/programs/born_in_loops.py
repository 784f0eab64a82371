"""Variables first assigned inside a loop and read after it, or in a later trip: arrays, views, tuples, numbers."""

import numpy as np

from tests.programs.rows import Rows, vector

BORN = Rows()
program = BORN.add


def arguments():
    return (vector(0.3, -0.7, 1.1),)


@program(arguments, compiled=True)
def array_born_in_a_loop(x):
    for it in range(3):
        v = x * it
    return np.sum(v * v)


@program(arguments)
def view_of_it_stored_to(x, n=3):
    for it in range(n):
        v = x * it
        w = v[1:]
    w[0] = 5.0
    return np.sum(v * v) + w[1]


@program(arguments, compiled=True)
def tuple_born_in_a_loop(x, n=3):
    for it in range(n):
        t = (x * it, it)
    return np.sum(t[0]) * t[1]


@program(arguments)
def array_born_in_a_while_loop(x):
    k = 0
    while k < 3:
        v = x * k
        k += 1
    return np.sum(v * v)


@program(arguments)
def array_born_in_two_loops(x):
    for i in range(2):
        for j in range(3):
            v = x * i + j
    return np.sum(v * v)


@program(arguments, compiled=True)
def array_born_in_a_branch(x):
    for i in range(4):
        if i % 2 == 0:
            v = x * i
    return np.sum(v * v)


@program(arguments)
def array_born_before_a_break(x):
    for i in range(4):
        if i == 2:
            v = x * i
            break
    return np.sum(v)


@program(arguments)
def array_born_after_a_continue(x):
    for i in range(4):
        if i < 2:
            continue
        v = x * i
    return np.sum(v**2)


def last_multiple(x, n):
    for i in range(n):
        v = x * i
    return v


@program(arguments)
def array_born_in_a_helper(x):
    return np.sum(last_multiple(x, 3) ** 2)


@program(arguments)
def number_born_in_a_loop(x):
    for i in range(3):
        y = x[i] * i
    return y * y


@program(arguments, compiled=True)
def array_born_in_the_first_trip(x):
    for i in range(3):
        if i == 0:
            v = np.zeros(3)
        v = v + x * i
    return np.sum(v**2)


@program(arguments)
def array_made_of_that_of_the_trip_before(x):
    for i in range(3):
        if i == 0:
            v = x * 1.0
        else:
            v = v * x
    return np.sum(v**2)


@program(arguments)
def array_of_the_trip_before_in_a_branch(x):
    for i in range(3):
        if i > 0:
            v = w * x  # noqa: F821
        w = x * i + 1.0
    return np.sum(v**2) + w[0]


@program(arguments)
def array_born_in_an_endless_loop(x):
    while True:
        v = np.sin(x)
        if v[0] < 5:
            break
    return np.sum(v)


@program(arguments)
def loop_variable_read_afterwards(x):
    for a in x:
        y = a * a
    return y + a


@program(arguments)
def row_read_afterwards(x):
    m = np.outer(x, x)
    for row in m:
        v = row * 2.0
    return np.sum(v * v) + row[0]


@program(arguments)
def pair_that_is_swapped(x):
    for i in range(3):
        a, b = x * i, x + i
        a, b = b, a
    return np.sum(a * b)


@program(arguments)
def matrix_read_by_a_product(x):
    for i in range(3):
        A = np.outer(x, x) * i
    return np.sum(A @ x)


@program(arguments)
def view_of_another_length_each_trip(x):
    for i in range(3):
        v = x[i:]
    return np.sum(v) * x[0]


@program(arguments)
def copy_that_is_stored_to(x):
    for i in range(3):
        v = x.copy()
        v[i] = 0.0
    v[0] *= 2.0
    return np.sum(v * v)


@program(arguments)
def inner_loop_without_a_trip_at_first(x):
    for i in range(3):
        for j in range(i):
            v = x * j + 1
    return np.sum(v * v)


@program(arguments)
def two_things_born_in_a_branch(x):
    for i in range(3):
        if x[i] > 0:
            s = np.sin(x)
            y = s[i]
    return np.sum(s) * y


@program(arguments)
def complex_array_born_in_a_loop(x):
    for i in range(3):
        z = x * 1j * i
    return np.sum(np.abs(z) ** 2)


@program(arguments)
def two_ways_out_of_a_while_loop(x):
    k = 0
    while k < 10:
        k += 1
        v = x * k
        if k > 3:
            continue
        w = v + 1
        if v[2] > 3:
            break
    return np.sum(v * w)


@program(arguments)
def loop_with_an_else(x):
    for i in range(3):
        v = x * i
    else:
        u = v * 2
    return np.sum(u * v)


@program(arguments)
def result_of_a_library_call(x):
    for i in range(5):
        v = np.linalg.solve(np.eye(3) * (i + 1.0) + np.outer(x, x), x)
    return np.sum(v)


@program(arguments)
def loop_in_a_branch(x):
    if x[0] > 0:
        for i in range(3):
            v = x * i
    return np.sum(v)


@program(arguments)
def function_defined_in_a_loop(x):
    for i in range(3):

        def g(y):
            return y * i

        v = g(x)
    return np.sum(v**2)


@program(arguments)
def argument_rebound_as_well(x):
    for i in range(3):
        v = x * i
        x = v + 1
    return np.sum(v * x)


@program(arguments)
def matrix_stored_to_by_columns(x):
    for i in range(3):
        v = np.zeros((3, 2))
        v[:, 0] = x
        v[:, 1] = x * i
    return np.sum(v.T @ x)


@program(arguments, compiled=True)
def array_read_in_a_branch_before_it_is_made(x):
    t = 0.0
    for i in range(3):
        if i > 0:
            t += np.sum(v)  # noqa: F821
        v = x * i
    return t + np.sum(v)


@program(arguments)
def arrays_of_two_levels(x):
    t = 0.0
    for i in range(3):
        v = x * i
        for j in range(2):
            t += np.sum(v * j)
            u = v + j
    return t + np.sum(u)


@program(arguments)
def array_born_in_trips_that_end_early(x):
    for i in range(4):
        if i < 2:
            v = x * (i + 1)
    return np.sum(v * v)


@program(arguments, compiled=True)
def inner_loops_that_get_shorter(x):
    for i in range(4):
        for j in range(3 - i):
            v = x * (i + 1) + j
    return np.sum(v * v)


@program(arguments)
def number_made_in_the_first_trip(x):
    t = 0.0
    for i in range(4):
        if i == 0:
            y = x[0]
        y = y * x[1]
        t += y
    return t


@program(arguments)
def number_of_the_trip_before(x):
    t = 0.0
    for i in range(4):
        if i > 0:
            t += y * x[2]  # noqa: F821
        y = x[0] * i
    return t


@program(arguments, compiled=True)
def branches_of_inner_loops(x):
    for i in range(4):
        for j in range(2):
            if i == 1 and j == 0:
                v = np.sin(x)
            if i > 1:
                w = v * x
    return np.sum(w)


@program(arguments)
def tuple_born_in_a_branch(x):
    for i in range(4):
        if i % 2 == 0:
            a, b = x[0] * i, (x, i)
    return a * np.sum(b[0]) * b[1]


@program(arguments)
def array_of_the_trip_before_in_a_while_loop(x):
    k, t = 0, 0.0
    while k < 4:
        if k > 1:
            t = t + np.sum(v)  # noqa: F821
        if k < 3:
            v = x * k
        k += 1
    return t + v[0]


@program(arguments)
def argument_then_a_product(x):
    for i in range(3):
        if i == 0:
            v = x
        else:
            v = v * x
    return np.sum(v)


@program(arguments)
def view_then_copy(x):
    for i in range(3):
        if i == 0:
            v = x[::2]
        if i == 1:
            v = x.copy()
    return np.sum(v * v)


@program(arguments)
def integer_that_becomes_a_number(x):
    for i in range(3):
        if i == 0:
            k = 1
        else:
            k = k * 0.5 * x[0]
    return k


@program(arguments)
def elements_of_the_trip_before(x):
    s = 0.0
    for i in range(3):
        for j in range(i):
            s += v[j]  # noqa: F821
        v = x * (i + 1)
    return s


@program(arguments)
def matrix_made_in_the_first_trip(x):
    for i in range(3):
        if i == 0:
            A = np.zeros((2, 3))
        A[i % 2] = x * i
        A = A * 1.5
    return np.sum(A * A)


@program(arguments)
def break_and_continue(x):
    for i in range(5):
        if i == 3:
            break
        if i == 1:
            v = x * 2
        if i == 2:
            continue
        w = x + i
    return np.sum(v * w)
