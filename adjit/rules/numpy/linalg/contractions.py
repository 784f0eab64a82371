"""Products of arrays of any number of axes, by matrix products and fused sums.

In: the arguments of the NumPy function; axes and subscripts are static. Out: what it returns.

    np.einsum("ij,jk->ik", a, b)      np.dot(a, b)          np.tensordot(a, b, 1)      np.dot of a and b as matrices
"""

import numpy as np

from adjit.rules.numpy.arrays import as_view, overlaps
from adjit.rules.numpy.axes import product
from adjit.rules.numpy.manipulation import copied_diagonal
from adjit.rules.registry import builtin, known_when_compiled

general, decomposition = builtin.general, builtin.decomposition

# ----------------------------------------------------------------------------------------------------- matrix products


def matmul(a, b):
    if (a.ndim == 1 or b.ndim == 1) and (overlaps(a) or overlaps(b)):
        return np.dot(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return np.dot(a, b)
    if b.ndim <= 2:
        # one product, of all rows at once
        rows = a.reshape((product(a.shape[:-1]), a.shape[-1]))
        return np.dot(rows, b).reshape(a.shape[:-1] + b.shape[1:])
    if a.ndim == 1:
        return np.sum(a.reshape(-1, 1) * b, axis=-2)
    if a.ndim <= 3 and b.ndim <= 3:
        return products(a.reshape((-1,) + a.shape[-2:]) if a.ndim == 2 else a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = product(batch)
    left = np.broadcast_to(a, batch + a.shape[-2:]).reshape((count,) + a.shape[-2:])
    right = np.broadcast_to(b, batch + b.shape[-2:]).reshape((count,) + b.shape[-2:])
    return products(left, right).reshape(batch + (a.shape[-2], b.shape[-1]))


def products(a, b):
    """The product of each of a stack of matrices with its own of another stack, or with the only one."""
    (count,) = np.broadcast_shapes((a.shape[0],), (b.shape[0],))
    none = np.zeros(0, a.dtype) * np.zeros(0, b.dtype)
    out = np.empty((count, a.shape[1], b.shape[2]), none.dtype)
    for k in range(count):
        out[k] = np.dot(a[k if a.shape[0] > 1 else 0], b[k if b.shape[0] > 1 else 0])
    return out


decomposition(np.matmul)(matmul)


@decomposition(np.inner)
def inner(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    return np.tensordot(a, b, (-1, -1))


@decomposition(np.vecdot, np.linalg.vecdot)
def vecdot(x1, x2, axis=-1):
    return np.sum(x1 * x2, axis=axis)


@decomposition(np.matvec)
def matvec(x1, x2):
    return np.dot(x1, x2) if x1.ndim == 2 and x2.ndim == 1 else np.sum(x1 * x2[..., np.newaxis, :], axis=-1)


@decomposition(np.vecmat)
def vecmat(x1, x2):
    return np.dot(x1, x2) if x1.ndim == 1 and x2.ndim == 2 else np.sum(x1[..., np.newaxis] * x2, axis=-2)


@general(np.vdot)
def vdot(a, b):
    return np.vdot(a.ravel(), b.ravel())


@decomposition(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2):
    if isinstance(axes, int):
        first, second = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        first = tuple(k % a.ndim for k in (axes[0] if isinstance(axes[0], (tuple, list)) else (axes[0],)))
        second = tuple(k % b.ndim for k in (axes[1] if isinstance(axes[1], (tuple, list)) else (axes[1],)))
    left = tuple(k for k in range(a.ndim) if k not in first)
    right = tuple(k for k in range(b.ndim) if k not in second)
    for p, q in zip(first, second, strict=True):
        if a.shape[p] != b.shape[q]:
            raise ValueError("shape-mismatch for sum")
    return contracted(a, b, left, first, second, right)


def contracted(a, b, left, first, second, right):
    """The sum over the axes `first` of `a` and `second` of `b`; the others stay, those of `a` before those of `b`."""
    outer_a, outer_b = tuple(a.shape[k] for k in left), tuple(b.shape[k] for k in right)
    inside = product(tuple(a.shape[k] for k in first))
    if (len(left) == 0 or len(right) == 0) and (overlaps(a) or overlaps(b)):
        # a matrix with elements that stand in it several times is not written out to be read once
        factors = np.transpose(a, left + first) * np.transpose(b, right + second)
        return np.sum(factors, axis=tuple(range(-len(first), 0)))
    if len(left) == 0 and len(right) == 0:
        return np.dot(np.transpose(a, first).ravel(), np.transpose(b, second).ravel())
    if len(left) == 0:
        columns = np.transpose(b, second + right).reshape((inside, product(outer_b)))
        return np.dot(np.transpose(a, first).reshape((inside,)), columns).reshape(outer_b)
    rows = np.transpose(a, left + first).reshape((product(outer_a), inside))
    if len(right) == 0:
        return np.dot(rows, np.transpose(b, second).reshape((inside,))).reshape(outer_a)
    columns = np.transpose(b, second + right).reshape((inside, product(outer_b)))
    return np.dot(rows, columns).reshape(outer_a + outer_b)


@decomposition(np.linalg.multi_dot)
def multi_dot(arrays):
    found = arrays[0]
    for a in arrays[1:]:
        found = np.dot(found, a)
    return found


@general(np.outer)
def outer(a, b):
    return np.outer(np.asarray(a), np.asarray(b))


@general(np.kron)
def kron(a, b):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    ones = (1,) * max(a.ndim, b.ndim)
    first, second = ones[: len(ones) - a.ndim] + a.shape, ones[: len(ones) - b.ndim] + b.shape
    left = a.reshape(tuple(n for pair in zip(first, ones, strict=True) for n in pair))
    right = b.reshape(tuple(n for pair in zip(ones, second, strict=True) for n in pair))
    return (left * right).reshape(tuple(n * m for n, m in zip(first, second, strict=True)))


@general(np.cross)
def cross(a, b, axis=-1):
    if axis == -1:
        return np.cross(a, b)
    found = np.cross(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1))
    return np.moveaxis(found, -1, axis)


# -------------------------------------------------------------------------------------------------------------- einsum


@known_when_compiled
def letters_of(subscripts, ranks):
    """For each operand, and then for the result, a number for each axis: one number a letter, or axis of the dots."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError("np.einsum needs one operand per term of the subscripts")
    dotted = [(t.replace("...", ""), rank) for t, rank in zip(terms, ranks, strict=True) if "..." in t]
    spread = max((rank - len(letters) for letters, rank in dotted), default=0)
    if not arrow:
        letters = "".join(terms).replace(".", "")
        output = ("..." if spread else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))

    def numbers(term, count):
        before, dots, after = term.partition("...")
        return tuple(map(ord, before)) + tuple(range(spread - count, spread)) * bool(dots) + tuple(map(ord, after))

    found = [numbers(t, rank - len(t.replace("...", ""))) for t, rank in zip(terms, ranks, strict=True)]
    if any(len(own) != rank for own, rank in zip(found, ranks, strict=True)):
        raise ValueError("np.einsum needs one subscript per axis of an operand")
    return (*found, numbers(output, spread))


@decomposition(np.einsum)
def einsum(all_given, optimize=False):
    operands = all_given[1:]
    letters = letters_of(all_given[0], tuple(np.ndim(a) for a in operands))
    output = letters[len(operands)]
    if len(operands) == 1 and set_of(letters[0]) == set_of(output):
        return taken_as_view(operands[0], letters[0], output)
    found, own = simplified(operands[0], letters[0], needed(letters[1:]))
    for k in tuple(range(1, len(operands))):
        other, its = simplified(operands[k], letters[k], needed(letters[:k] + letters[k + 1 :]))
        found, own = contracted_pair(found, own, other, its, needed(letters[k + 1 :]))
    gone = tuple(k for k in range(len(own)) if own[k] not in output)
    if len(gone) > 0:
        found = np.sum(found, axis=gone)
    left = tuple(c for c in own if c in output)
    if left == output:
        return found
    return np.transpose(found, tuple(place_of(c, left) for c in output)).copy()


@known_when_compiled
def set_of(letters):
    return tuple(sorted(set(letters)))


def taken_as_view(a, letters, output):
    """The view of one operand that no sum is taken of: its axes in another order, and its diagonals."""
    pair = repeated(letters)
    if len(pair) == 0:
        return np.transpose(a, tuple(place_of(c, letters) for c in output))
    own, rest = diagonal_of(a, letters, pair)
    if len(repeated(rest)) > 0:
        raise NotImplementedError(TWICE)
    return np.transpose(as_view(own, a, "np.einsum", False), tuple(place_of(c, rest) for c in output))


@known_when_compiled
def needed(terms):
    """All letters of these."""
    return tuple(sorted({c for term in terms for c in term}))


@known_when_compiled
def place_of(letter, letters):
    return letters.index(letter)


@known_when_compiled
def repeated(letters):
    """The first letter that is there twice, by its two places; nothing if there is none."""
    for k, c in enumerate(letters):
        if c in letters[k + 1 :]:
            return (k, letters.index(c, k + 1))
    return ()


TWICE = "np.einsum of an operand with two letters repeated, or one three times"


def simplified(a, letters, others):
    """An operand without repeated letters, and without those that are nowhere else."""
    pair = repeated(letters)
    if len(pair) == 0:
        return summed_out(a, letters, others)
    own, rest = diagonal_of(a, letters, pair)
    if len(repeated(rest)) > 0:
        raise NotImplementedError(TWICE)
    return summed_out(own, rest, others)


def diagonal_of(a, letters, pair):
    """An operand without a letter that it has at these two places, but for the last axis, and its letters."""
    first, second = pair[0], pair[1]
    rest = tuple(letters[k] for k in range(len(letters)) if k != first and k != second)
    return copied_diagonal(a, 0, first, second), rest + (letters[first],)


def summed_out(a, letters, others):
    gone = tuple(k for k in range(len(letters)) if letters[k] not in others)
    if len(gone) == 0:
        return a, letters
    return np.sum(a, axis=gone), tuple(c for c in letters if c in others)


def contracted_pair(a, first, b, second, others):
    """The product of two operands, summed over the letters that nothing else needs; and its letters."""
    if len(first) == 0 or len(second) == 0:
        return a * b, first + second
    both = tuple(c for c in first if c in second and c in others)
    inside = tuple(c for c in first if c in second and c not in others)
    left, right = tuple(c for c in first if c not in second), tuple(c for c in second if c not in first)
    if len(both) == 0 and len(inside) > 0:
        places = tuple(place_of(c, first) for c in left), tuple(place_of(c, first) for c in inside)
        places_of_b = tuple(place_of(c, second) for c in inside), tuple(place_of(c, second) for c in right)
        return contracted(a, b, places[0], places[1], places_of_b[0], places_of_b[1]), left + right
    one = np.transpose(a, tuple(place_of(c, first) for c in both + left + inside))
    other = np.transpose(b, tuple(place_of(c, second) for c in both + inside + right))
    if len(inside) == 0 or len(left) == 0 or len(right) == 0:
        return multiplied(one, both + left + inside, other, both + inside + right, both, inside)
    return stacked_products(one, other, len(both), len(left), len(inside)), both + left + right


def multiplied(a, first, b, second, both, inside):
    """Element by element, and summed."""
    letters = both + tuple(c for c in first + second if c not in both and c not in inside) + inside
    one = a.reshape(tuple(a.shape[place_of(c, first)] if c in first else 1 for c in letters))
    ordered = tuple(c for c in letters if c in second)
    turned = np.transpose(b, tuple(place_of(c, second) for c in ordered))
    other = turned.reshape(tuple(turned.shape[place_of(c, ordered)] if c in second else 1 for c in letters))
    kept = tuple(c for c in letters if c not in inside)
    if len(inside) == 0:
        return one * other, kept
    return np.sum(one * other, axis=tuple(range(len(kept), len(letters)))), kept


def stacked_products(a, b, stack, left, inside):
    """Matrix products of stacks: the axes of `a` are those of the stack, of the rows and of the sums, in order."""
    batch = np.broadcast_shapes(a.shape[:stack], b.shape[:stack])
    rows, columns = a.shape[stack : stack + left], b.shape[stack + inside :]
    length = product(a.shape[stack + left :])
    if stack == 1:
        # the only matrix of a stack is not copied for each of the other
        one = a.reshape((a.shape[0], product(rows), length))
        other = b.reshape((b.shape[0], length, product(columns)))
        return products(one, other).reshape(batch + rows + columns)
    one = np.broadcast_to(a, batch + a.shape[stack:]).reshape((product(batch), product(rows), length))
    other = np.broadcast_to(b, batch + b.shape[stack:]).reshape((product(batch), length, product(columns)))
    return products(one, other).reshape(batch + rows + columns)
