"""Sets of numbers as sorted vectors, and orders by several keys.

In: the arguments of the NumPy function; truth values and None are static. Out: what it returns. Which numbers are
chosen is held fixed; those that are keep their derivative. Of equal ones, it is that of the one which np.unique takes.

    np.intersect1d(x, y)      kept = np.unique(x);  kept[which of them are in y]
"""

import numpy as np

from adjit.rules.arrays import common_dtype
from adjit.rules.registry import builtin

decomposition = builtin.decomposition


def among(values, others):
    """Which of the values there are among the others."""
    known, found = np.sort(others.ravel()), np.zeros(values.size, np.bool_)
    for k in range(values.size):
        place = np.searchsorted(known, values[k])
        if place < known.size:
            found[k] = known[place] == values[k]
    return found


def members(ar, assume_unique):
    return ar.ravel() if assume_unique else np.unique(ar)


@decomposition(np.union1d)
def union1d(ar1, ar2):
    return np.unique(np.concatenate((ar1.ravel(), ar2.ravel())))


@decomposition(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    if return_indices:
        raise NotImplementedError("np.intersect1d with `return_indices`: take np.searchsorted of what it gives")
    found = np.unique(ar1)
    return found[among(found, ar2)].astype(common_dtype((ar1, ar2)))


@decomposition(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    found = members(ar1, assume_unique)
    return found[~among(found, ar2)]


@decomposition(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    left, right = members(ar1, assume_unique), members(ar2, assume_unique)
    return np.sort(np.concatenate((left[~among(left, right)], right[~among(right, left)])))


@decomposition(np.lexsort)
def lexsort(keys, axis=-1):
    if np.ndim(keys[0]) != 1:
        raise NotImplementedError("np.lexsort of keys that are no vectors")
    order = np.argsort(keys[0], kind="stable")
    for k in tuple(range(1, len(keys))) if isinstance(keys, (tuple, list)) else range(1, len(keys)):
        order = order[np.argsort(keys[k][order], kind="stable")]
    return order
