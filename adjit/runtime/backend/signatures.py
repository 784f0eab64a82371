"""Types of calls that numba would have to compile to tell them, 0.05 to 4 s each.

In: callees and numba types. Out: the type of the result, as numba would infer it; None where numba has to be asked.

    known_type(np.linalg.solve, (float64[:, ::1], float64[::1]))  ->  float64[::1]
    drawn_type(np.random.Generator.normal, (float64, float64))    ->  float64
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

# ------------------------------------------------------------------------------------------------------------- NumPy

_DTYPES = (types.float64, types.float32)

# What takes what and gives what, where all arrays are of one float dtype. Taken: a vector, a matrix, an array
# of any number of axes, a number of the dtype, an integer, the length of what is made. Given: these, contiguous by rows
# (`F`: by columns), vectors of integers, and doubles.
_SIGNATURES: dict[Any, tuple[str, ...]] = {
    np.linalg.solve: ("MV V", "MM F"),
    np.linalg.inv: ("M F",),
    np.linalg.pinv: ("M F",),
    np.linalg.cholesky: ("M M",),
    np.linalg.det: ("M d",),
    np.linalg.norm: ("V s", "M d"),
    np.dot: ("VV s", "MV V", "VM V", "MM M"),
    operator.matmul: ("VV s", "MV V", "VM V", "MM M"),
    np.outer: ("VV M",),
    np.sort: ("V V",),
    np.argsort: ("V I",),
    np.cumsum: ("X V",),
    np.cumprod: ("X V",),
    np.max: ("X s",),
    np.min: ("X s",),
    np.ptp: ("X d",),
    np.sum: ("X s",),
    np.nansum: ("X s",),
    np.prod: ("X s",),
    np.mean: ("X s",),
    np.trace: ("M d",),
    np.argmax: ("X i",),
    np.argmin: ("X i",),
    np.median: ("X d",),
    np.percentile: ("Xs d", "XV D"),
    np.quantile: ("Xs d", "XV D"),
    np.interp: ("VVV D", "sVV d"),
    np.searchsorted: ("Vs i", "VV I"),
    np.digitize: ("VV I", "sV i"),
    np.diag: ("V M", "M V"),
    np.unique: ("V V",),
    np.repeat: ("Vi V",),
    np.roll: ("Vi V",),
    np.tril: ("M M",),
    np.triu: ("M M",),
    np.convolve: ("VV V",),
    np.eye: ("i N",),
    np.identity: ("i N",),
}
_TAKEN: dict[str, Callable[[types.Type, types.Type], bool]] = {
    "V": lambda t, dtype: isinstance(t, types.Array) and t.ndim == 1,
    "M": lambda t, dtype: isinstance(t, types.Array) and t.ndim == 2,
    "X": lambda t, dtype: isinstance(t, types.Array) and t.ndim > 0,
    "s": lambda t, dtype: t == dtype,
    "i": lambda t, dtype: t == types.int64,
}
_GIVEN: dict[str, Callable[[types.Type], types.Type]] = {
    "V": lambda dtype: types.Array(dtype, 1, "C"),
    "M": lambda dtype: types.Array(dtype, 2, "C"),
    "F": lambda dtype: types.Array(dtype, 2, "F"),
    "I": lambda dtype: types.Array(types.int64, 1, "C"),
    "D": lambda dtype: types.Array(types.float64, 1, "C"),
    "N": lambda dtype: types.Array(types.float64, 2, "C"),
    "s": lambda dtype: dtype,
    "d": lambda dtype: types.float64,
    "i": lambda dtype: types.int64,
}


def known_type(callee: Any, args: Sequence[types.Type]) -> types.Type | None:
    """The type of `callee(*args)`, where the table has it."""
    signatures = _SIGNATURES.get(callee, ()) if callable(callee) else ()
    arrays = [t for t in args if isinstance(t, types.Array)]
    dtype = arrays[0].dtype if arrays else types.float64
    if not signatures or dtype not in _DTYPES or not all(t.dtype == dtype and t.aligned for t in arrays):
        return None
    for signature in signatures:
        taken, _, given = signature.partition(" ")
        if len(taken) == len(args) and all(_TAKEN[c](t, dtype) for c, t in zip(taken, args, strict=True)):
            return _GIVEN[given](dtype)
    return None


# ---------------------------------------------------------------------------------------------------------- generators

# What generators draw, and from how many parameters.
_PARAMETERS = {
    types.float64: {
        "random": 0, "standard_normal": 0, "standard_exponential": 0, "standard_cauchy": 0, "standard_gamma": 1,
        "chisquare": 1, "standard_t": 1, "rayleigh": 1, "laplace": 2, "logistic": 2, "beta": 2, "f": 2, "wald": 2,
        "noncentral_chisquare": 2,
    },
    types.int64: {
        "integers": 2, "poisson": 1, "binomial": 2, "negative_binomial": 2, "geometric": 1, "logseries": 1, "zipf": 1,
    },
}  # fmt: skip
_OF_INTEGERS = (np.random.Generator.integers, np.random.Generator.permutation)
_DRAWS = {
    getattr(np.random.Generator, name): (kind, count)
    for kind, counts in _PARAMETERS.items()
    for name, count in counts.items()
}


def drawn_type(method: Any, given: Sequence[types.Type]) -> types.Type | None:
    """The type of what a method of a generator draws, with these parameters and, after them, perhaps how many."""
    taken = types.Integer if method in _OF_INTEGERS else types.Integer | types.Float
    if method is np.random.Generator.permutation:
        return types.Array(types.int64, 1, "C") if [isinstance(one, taken) for one in given] == [True] else None
    kind, count = _DRAWS.get(method, (None, 0))
    sizes = given[count:]
    if kind is None or len(given) < count or not all(isinstance(one, taken) for one in given[:count]):
        return None
    if not sizes:
        return kind
    return types.Array(kind, 1, "C") if len(sizes) == 1 and isinstance(sizes[0], types.Integer) else None
