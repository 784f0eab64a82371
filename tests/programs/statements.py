"""Programs with each kind of statement but loops: assignment, branches, assert and raise, early return."""

import math

import numpy as np

from tests.programs.rows import Rows, vector, wave

STATEMENTS = Rows()
add = STATEMENTS.add


@add(lambda: (0.7,), compiled=True)
def plain_assignment(x):
    """With a docstring."""
    y = x * x
    z = np.sin(y)
    return y * z


@add(lambda: (0.7, 1.2), (0, 1))
def chained_assignment(x, y):
    a = b = x * y
    a = a * b
    return a + b


@add(lambda: (wave(3),))
def chained_assignment_of_an_array(x):
    a = b = x * 2.0
    a[0] = x[1] * x[2]
    return (a * b).sum()


@add(lambda: (wave(3),))
def chained_assignment_into_elements(x):
    a = np.zeros(3)
    a[0] = a[2] = b = x[0] * x[1]
    a[1] = b * b
    return a[0] * a[1] + a[2]


@add(lambda: (0.7, 1.2), (0, 1))
def tuple_unpacking(x, y):
    a, b = x * y, x + y
    (c, d), e = (a, b), a * b
    [f, g] = c, d
    return f * g + e


@add(lambda: (0.7, 1.2), (0, 1), compiled=True)
def swapped_names(x, y):
    x, y = y, x * x
    x, y = y, x * y
    return x - 2.0 * y


@add(lambda: (wave(3),))
def unpacked_shape(a):
    (n,) = a.shape
    return a[n - 1] * a[0] * n


@add(lambda: (wave(2, 3),))
def unpacked_shape_of_a_matrix(a):
    n, m = a.shape
    return a[n - 1, m - 1] * a[0, 0] + m


@add(lambda: (wave(3),), compiled=True)
def unpacked_array(x):
    a, b, c = x
    x[0], x[1] = np.sin(x[1:])
    p, q = 2.0 * x[:2]
    return a * b + c * p * q + x[0]


@add(lambda: (wave(2, 3), wave(4, 2)), (0, 1), compiled=True)
def unpacked_rows(x, pairs):
    first, second = x
    first[1] = second[0] * second[1]
    total = np.sum(x * x)
    for a, b in pairs:
        total += a * np.exp(b)
        b = a
        total += b * x[0, 1]
    return total


@add(lambda: (wave(2), wave(2) + 0.5), (0, 1))
def unpacked_pairs(x, y):
    (a, b), (c, d) = zip(x, y)
    (i, e), (j, f) = enumerate(x * y, 3)
    k, l = range(5, 7)
    return a * b * k + c * d * l + i * e + j * f


@add(lambda: (wave(2), wave(2) + 0.5), (0, 1))
def unpacked_complex_numbers(x, y):
    z, w = x + 1j * y
    return (z * w * w).real + abs(z)


@add(lambda: (wave(5),))
def unpacked_slices(x):
    total = 0.0
    for k in range(3):
        a, b = x[k : k + 2]
        [c, d] = x[k::2][:2] if k < 3 else x[:2]
        total += a * b + c * d * k
    return total


@add(lambda: (0.7, 1.2), (0, 1))
def augmented_scalars(x, y):
    z = x
    z += y * x
    z -= 0.3 * y
    z *= x
    z /= 1.5 + y
    z **= 2
    z %= 10.0
    return z


@add(lambda: (0.7,))
def augmented_integers(x):
    n = 7
    n //= 2
    n <<= 2
    n |= 1
    n &= 9
    n ^= 3
    n >>= 1
    n -= 2
    return x**n * n


@add(lambda: (0.7,))
def annotated_assignment(x: float) -> float:
    y: float = x * x
    z: float
    z = y * x
    return z + y


@add(lambda: (0.7,))
def several_on_a_line(x):
    y = x * x; z = y * x; y += z  # fmt: skip  # noqa: E702
    return y * z


@add(lambda: (0.7,))
def passes(x):
    pass
    if x > 0.0:
        pass
    else:
        x = -x
    return x * x


@add(lambda: (0.7, 1.2), (0, 1), compiled=True)
def if_elif_else(x, y):
    if x > y:
        z = x * y
    elif x > 0.5:
        z = x - y * y
    elif x > 0.0:
        z = x
    else:
        z = y
    return z * x


@add(lambda: (0.7, 1.2), (0, 1))
def branch_without_else(x, y):
    z = x * y
    if z > 0.5:
        z = z * z
    if z > 100.0:
        z = 0.0 * z
    return z * y


@add(lambda: (0.7, 1.2), (0, 1))
def nested_branches(x, y):
    if x > 0.0:
        if y > 1.0:
            z = x * y
            if z > 10.0:
                z = 1.0
        else:
            z = x
        z = z * z
    else:
        z = y
    return z + x


@add(lambda: (0.7, 3))
def branch_on_integer(x, n):
    y = x
    if n:
        y = y * x
    if not n:
        y = 1.0
    if n % 2 == 1 and n > 2:
        y = y * y
    return y


@add(lambda: (0.7, True))
def branch_on_boolean_argument(x, flag):
    if flag:
        return x * x
    return x


@add(lambda: (0.7, False))
def integer_on_one_path_float_on_the_other(x, flag):
    y = 1
    if flag:
        y = 2
    else:
        y = x * x
    return y * x


@add(lambda: (0.7, 1.2), (0, 1), compiled=True)
def early_returns(x, y):
    if x > y:
        return x
    z = x * y
    if z > 0.5:
        return z * z
    z = z + 1.0
    return z


@add(lambda: (0.7,))
def return_in_each_branch(x):
    if x > 1.0:
        return x
    elif x > 0.5:
        y = x * x
        return y * x
    else:
        return 1.0


@add(lambda: (0.7,))
def statements_after_return(x):
    y = x * x
    return y
    y = y * x
    return y


@add(lambda: (0.7,))
def asserts(x):
    assert x > 0.0
    assert x < 100.0, "too large"
    y = x * x
    assert y > 0.0 and y == x * x, "the square"  # noqa: PT018
    return y * x


@add(lambda: (0.7, 4))
def raises_elsewhere(x, n):
    if n < 0:
        raise ValueError("n is negative")
    if x < 0.0:
        raise ValueError
    y = x
    if n > 100:
        raise RuntimeError("too many")
    else:
        y = y * n * x
    return y


@add(lambda: (0.7, 2))
def raise_at_the_end(x, kind):
    if kind == 1:
        return x
    if kind == 2:
        return x * x * x
    raise ValueError("unknown kind")


@add(lambda: (0.7,))
def expression_statement(x):
    np.sin(x)
    x * x
    "a string"
    return x * x


@add(lambda: (wave(4),), compiled=True)
def stores_into_elements(a):
    a[0] = a[1] * a[2]
    a[1] += a[0] * a[3]
    a[2] -= a[0]
    a[3] *= a[1]
    a[0] /= 2.0 + a[3] * a[3]
    a[-1] **= 2
    return a[0] + a[1] * a[2] + a[3]


@add(lambda: (0.7, 1.2), (0, 1))
def comments_and_blank_lines(x, y):
    # a comment at the start

    z = x * y  # one at the end of a line

    # and one
    # of two lines
    if z > 0:
        # in a branch
        z = z * z

    return z
    # at the very end


@add(lambda: (0.7,))
def one_line_branch(x):
    if x > 0: x = x * x  # fmt: skip  # noqa: E701
    else: x = -x  # fmt: skip  # noqa: E701
    return x * x


@add(lambda: (0.7,))
def conditional_definition(x):
    if x > 0.0:
        a, b = x, x * x
    else:
        a, b = 1.0, 2.0
    return a * b


@add(lambda: (0.7, 1.2), (0, 1))
def constant_conditions(x, y):
    if True:
        x = x * y
    if False:
        x = undefined_name(x)  # noqa: F821
    while False:
        x = 0.0
    if 0:
        y = 0.0
    return x * y


@add(lambda: (0.7,))
def names_reused_for_other_types(x):
    y = 2
    z = x * y
    y = z * x
    y = y * y
    return y


@add(lambda: (0.7,))
def walrus(x):
    if (y := x * x) > 0.2:
        return y * x
    return y


@add(lambda: (0.9, 1.4), (0, 1))
def branches_that_share_work(x, y):
    s = math.sin(x)
    t = s * y
    if t > 0.5:
        u = t * s
    else:
        u = t - s
    if u > 0.1:
        t = u * t
    return t * u + s


@add(lambda: (vector(0.5, 1.5), 1.1), (0, 1))
def array_made_in_a_branch(a, x):
    if x > 1.0:
        b = a * x
    else:
        b = a + x
    b[0] = b[1] * x
    return (a * b).sum()


@add(lambda: (vector(0.5, 1.5), vector(0.3, 0.8), True), (0, 1))
def array_chosen_in_a_branch(a, b, flag):
    if flag:
        c = a
    else:
        c = b
    c[0] = c[1] * c[1]
    return (a * b).sum() + c[0]
