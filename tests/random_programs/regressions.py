"""Programs that once were wrong, each cut down to what it takes, with what was wrong.

They go through the same checks as the random programs, second order included. Without arguments of their own they have
ARGUMENTS.

    regression("name", "def program(x, y, u, v, A, k, n, idx): ...")
"""

from __future__ import annotations

from tests.random_programs.program import Program

ARGUMENTS = """

def arguments():
    wave = np.sin(1.0 + 0.9 * np.arange(22.0))
    A = wave[10:].reshape(4, 3).copy()
    return 0.62, -0.47, wave[:5].copy(), wave[5:10].copy(), A, 2, 4, np.array([2, 0, 1, 2])
"""

REGRESSIONS: dict[str, Program] = {}


def regression(name: str, text: str) -> None:
    assert name not in REGRESSIONS
    REGRESSIONS[name] = Program(text if "def arguments" in text else text + ARGUMENTS)


# a loop left by return, of which no trip runs: whether the function has returned was undefined after it
regression(
    "return_in_a_loop_without_trips",
    """
def program(x, y, u, v, A, k, n, idx):
    while k < 0:
        return 0.31
    return x
""",
)

# scattered values are read from the array that they are stored in: they have to be read first
regression(
    "scatter_of_own_elements",
    """
def program(x, y, u, v, A, k, n, idx):
    v[idx] = v[1:]
    return np.sum(v * np.arange(5.0)) * x
""",
)

regression(
    "masked_store_of_own_elements",
    """
def program(x, y, u, v, A, k, n, idx):
    w = np.array([True, False, True, True, False])
    v[w] = v[1:4]
    return np.sum(v * np.arange(5.0)) * x
""",
)

# the adjoint of a product reads the matrix through a view of its own, A.T: what overwrites the matrix has to be undone
regression(
    "matrix_overwritten_after_a_product",
    """
def program(x, y, u, v, A, k, n, idx):
    w = A @ u[2:]
    A[2, 0] = 0.3
    return np.sum(w * w)
""",
)

regression(
    "rows_overwritten_after_products",
    """
def program(x, y, u, v, A, k, n, idx):
    total = 0.0
    for i in range(3):
        w = A @ u[2:]
        A[i] *= 0.8 * w[i]
        total += np.sum(np.sin(w))
    return total
""",
)

# the adjoint of a maximum over all axes compares a flat view with it
regression(
    "maximum_overwrites_itself",
    """
def program(x, y, u, v, A, k, n, idx):
    A[1] = 0.3 * A.max()
    return np.sum(A * A)
""",
)

# what a branch makes and its adjoint reads is saved once a trip; on the other path there is nothing to save
regression(
    "value_made_in_a_branch_of_a_loop",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in u:
        if 0.1 <= i < 0.9:
            x = 0.31 / np.cos(x)
    return x
""",
)

regression(
    "overwritten_in_a_branch_of_a_loop",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in range(5):
        if i % 2:
            u[i - 1] = np.sin(u[i] * x)
            x = x * np.cos(u[i - 1])
            u[i] = y * x
    return np.sum(u) + x
""",
)

regression(
    "while_loop_in_a_branch_of_a_loop",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in range(4):
        if i > 1:
            c = 0
            while c < k:
                u[2] = np.sin(u[2] * x)
                c += 1
    return np.sum(u)
""",
)

regression(
    "break_before_a_value_is_made",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in range(5):
        s = np.sin(y * x)
        if i > 2:
            break
        u[i] = abs(s - 2.0) * u[i]
        y = y + 0.1 * s
    return np.sum(u) + y
""",
)

regression(
    "mask_counted_in_a_branch_of_a_loop",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in range(3):
        if k >= i + 1:
            v[u > 0.1237] *= 0.2 * x
    return np.sum(v)
""",
)

# a break after the `else` of an inner loop leaves the outer one, which did not look for it there
regression(
    "break_after_else_of_an_inner_loop",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in range(4):
        for j in range(3):
            u[j] = np.sin(u[j] * x)
            if j > n:
                break
        else:
            u[1] *= y
            if i == 1:
                break
        u[0] += 0.3 * x
    return np.sum(u)
""",
)

# trips that were fused share a tape, so in the derivative of that loop they may not run in any order
regression(
    "second_order_of_a_fused_loop",
    """
def program(x, y, u, v, A, k, n, idx):
    return 0.2 * np.sum(A / (1.6 + np.sin(v[2:]))) + np.sum(A * 0.5)
""",
)

# a pullback has views of one array as arguments of their own: a store to one of them was taken for lost
regression(
    "views_of_what_a_pullback_puts_back",
    """
def program(x, y, u, v, A, k, n, idx):
    c = 0
    while c < 3:
        c += 1
        u[:-1] = v[-4:].copy()
        A[2, 0] = 0.2 * A[2:].sum()
    u[u > -0.2718] = 0.2 * np.dot(u[-3:], u[2::-1])
    return x + y + np.sum(u * 0.3) + np.sum(v * 0.4) + np.sum(A * 0.5)
""",
)

# what a nest adds to an array is what it reads of it: no store before it may go past that
regression(
    "added_to_itself",
    """
def program(x, y, u, v, A, k, n, idx):
    w = u
    w[1] = u[0] * u[2]
    u += w
    return np.sum(w * w) * x
""",
)

# an array of a size of its own in each trip, of which what is after the loop sees the last: the trip before got a
# shadow of the size of what was there before the loop, which may be nothing
for name, body in (
    ("slice", "w = np.sin(u[i:]) * x"),
    ("slices", "w = v[: i + 2] * u[3 - i] if i % 2 else v[i:] * x"),
    ("product", "w = np.zeros((2, 3, 3)); w[1] = u[i] * x; w = w[1] @ w[1]"),
    ("copy", "w = u[::2].copy(); w *= w"),
):
    for when, before in (("born", ""), ("smaller_before", "w = np.zeros(1) * y" if name != "product" else "")):
        regression(
            f"{name}_of_another_size_in_each_trip_{when}",
            f"""
def program(x, y, u, v, A, k, n, idx):
    {before}
    for i in range(n):
        {body}
    return np.sum(w * w)

asked = {{'memory_limit': 100}}
""",
        )

regression(
    "arrays_of_another_size_after_no_trip",
    """
def program(x, y, u, v, A, k, n, idx):
    w, r = np.zeros(3), np.sin(v)
    for i in range(k - 2):
        w = np.sin(u[i:]) * y
        r = u[i:] * x
    for i in range(k, -1, -2):
        w = u[i:] * u[i] + w.size
    return np.sum(w * w) * x + np.sum(r)
""",
)

# the adjoint of a product's first factor is the second, read where the first is: stores between are undone there
regression(
    "factor_read_after_a_store_that_is_undone",
    """
def program(x, y, u, v, A, k, n, idx):
    for i in range(1, 3):
        u[i] += u[i - 1] * u[i]
    s = 0.0
    if u[(k + 1) % 3] > 0.0:
        a = u[0]
        u[0] += u[(k + 1) % 3]
        s = a * u[0]
    return s
""",
)

regression(
    "factors_of_trips_read_after_stores_that_are_undone",
    """
def program(x, y, u, v, A, k, n, idx):
    total = 0.0
    for i in range(n):
        a, b = u[i] * y, v[i]
        v[0] *= np.sin(u[i + 1])
        u[i] = v[0] * a
        w = np.cos(u[k] + v[i])
        u[i] = w
        total += a * w * v[0] * b * u[k]
        u[i + 1] += v[1] * total
        v[0] += u[i] * a
    return total + np.sum(u * v)
""",
)

# the shape of an array from a library is looked at in one branch, and afterwards
regression(
    "extents_met_in_a_branch",
    """
def program(x, y, u, v, A, k, n, idx):
    w = np.identity(2)
    s = 0.0
    if u[1] > 0.0:
        s = np.sum(w.T * x)
    return s + np.sum(w * y)
""",
)

regression(
    "fixed_argument_that_may_be_replaced",
    """
def program(x, y, u, v, A, k, n, idx):
    if u[0] > 5.0:
        A = np.outer(u, v)
    return np.sum(A * x)

asked = {'wrt': (0, 2)}
""",
)

regression(
    "place_that_tells_itself",
    """
def program(x, y, u, v, A, k, n, idx):
    r = np.outer(u, v)
    for i in range(1, len(r)):
        r[i] += r[i - 1] * 0.8
    return np.sum(r * r) * x
""",
)

# the extent of what a tape has is that of a view which only the branch of the forward sweep knows
regression(
    "copies_of_a_view_of_a_branch",
    """
def program(x, y, u, v, A, k, n, idx):
    if k == 1:
        a, c = v[::-1], 0
        while c < 3:
            a[c] = np.linalg.norm(a, 1) * x
            c += 1
    return np.sum(v * v)
""",
)

# an element of an array that each trip makes, and what it is made of just before
regression(
    "cheap_element_of_what_a_trip_stores",
    """
def program(x, y, u, v, A, k, n, idx):
    s = 0.0
    for i in range(u.size):
        v[i] = v[i] * 2.0 + u[i]
        r = v * x
        s += r[i]
    return s * y
""",
)

regression(
    "cheap_element_of_what_a_trip_computes",
    """
def program(x, y, u, v, A, k, n, idx):
    s = 0.0
    for i in range(u.size):
        r = u * np.minimum(x, 1)
        s += r[i] * y
    return s
""",
)

# made in a loop that may make no trip, and read in a branch alone
regression(
    "array_that_only_trips_make",
    """
def program(x, y, u, v, A, k, n, idx):
    c = 0
    while c < 3 and x > 5.0:
        w = np.zeros_like(A)
        for i in range(A.shape[0]):
            w[i] += A[i] * x / (np.sum(A[i]) + 0.5)
        c += 1
    return w[0, -1] if x > 6.0 else x * y
""",
)

regression(
    "array_that_only_trips_in_a_branch_make",
    """
def program(x, y, u, v, A, k, n, idx):
    s = x
    if x > 0.5:
        c = 0
        while c < 2 and x > 5.0:
            w = np.sin(u) * x
            c += 1
        s = w[0] * w[-1] if x > 6.0 else y
    return s * x
""",
)

regression(
    "extent_of_what_only_trips_make",
    """
def program(x, y, u, v, A, k, n, idx):
    s = x
    for i in range(k - 2):
        w = np.sin(u) * x
    if x > 5.0:
        s += np.sum(w * w)
    return s * y
""",
)

# under plain Python the product was rounded to float32, to zero, whose root has no derivative
regression(
    "product_that_float32_cannot_hold",
    """
def program(x, y, u, v, A, k, n, idx):
    w = u * math.exp(-((20.0 + x) ** 2))
    z = np.sqrt(np.abs(w - w[0]))
    z[0] = 2.0
    return np.sum(z * z * w) + u.sum() * y


def arguments():
    u = np.array([0.95, -0.609, 0.812], dtype=np.float32)
    return 0.62, -0.47, u, u.copy(), np.ones((2, 2)), 2, 4, np.array([0, 1])
""",
)

# a list that a trip made, of a loop over a generator, was still there after the loop, and so after the branch around it
regression(
    "list_made_while_a_generator_runs",
    """
def program(x, y, u, v, A, k, n, idx):
    def halves(t, m):
        for _ in range(m):
            t = 0.5 * t + y
            yield t
    s = x
    if x > 0.1:
        for t in halves(x, k):
            s += t * np.gradient(v)[1]
            if np.gradient(u)[2] > 5.0:
                break
    return s
""",
)

# a filter along an axis without elements: how many rows there are was left to NumPy, which cannot tell then
regression(
    "a_filter_of_nothing",
    """
def program(x, A):
    r = ndimage.convolve1d(A, np.array([0.25, 0.5, 0.25]), axis=0, mode="nearest")
    return x * x + r.sum()


def arguments():
    return 1.36, np.empty((0, 2))
""",
)

# sums of one array statement may be added up in any order, but what each finds is put back from the last to the first
regression(
    "elements_that_are_added_to_twice_and_put_back",
    """
def program(A, u, idx):
    for i in range(3):
        u[i] += A[i, 0] * np.tanh(u[idx].sum())
    return np.sum(np.sin(u))


def arguments():
    A = np.array([[-0.22, 0.601], [-1.066, -0.265], [0.348, 1.289]])
    return A, np.array([-0.33, -1.059, -0.228]), np.array([1, 0, 1])
""",
)
