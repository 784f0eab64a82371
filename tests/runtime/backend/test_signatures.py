"""Types of calls that the table tells: those that numba infers."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba import types

from adjit.runtime.backend import signatures
from adjit.runtime.backend.typing import inferred_type

QUICK = (np.linalg.inv, np.linalg.norm, np.dot, np.cumsum, np.sum, np.trace, np.eye)


def arguments(taken: str, dtype: types.Type, layout: str) -> Iterator[tuple[types.Type, ...]]:
    vector = types.Array(dtype, 1, "A" if layout == "A" else "C")
    arrays = [types.Array(dtype, axes, layout) for axes in (2, 3)]
    kinds = {"V": [vector], "M": arrays[:1], "X": [vector, *arrays], "s": [dtype], "i": [types.int64]}
    return itertools.product(*(kinds[letter] for letter in taken))


@pytest.mark.filterwarnings("ignore::numba.NumbaPerformanceWarning")
@pytest.mark.parametrize(
    "callee",
    [pytest.param(c, marks=() if c in QUICK else pytest.mark.long) for c in signatures._SIGNATURES],
    ids=lambda callee: callee.__name__,
)
def test_as_numba_infers(callee: Any) -> None:
    kinds = [(types.float64, "C")] if callee in QUICK else itertools.product(signatures._DTYPES, "CFA")
    for (dtype, layout), signature in itertools.product(kinds, signatures._SIGNATURES[callee]):
        for given in arguments(signature.partition(" ")[0], dtype, layout):
            known = signatures.known_type(callee, given)
            assert known is not None
            assert known == inferred_type(callee, given, {}), given


@pytest.mark.parametrize(
    ("callee", "given"),
    [
        (np.sum, (types.Array(types.int64, 1, "C"),)),
        (np.dot, (types.Array(types.float64, 1, "C"), types.Array(types.float32, 1, "C"))),
        (np.sum, (types.Array(types.float64, 0, "C"),)),
        (np.linalg.solve, (types.Array(types.float64, 2, "C"),)),
        (np.interp, (types.Array(types.float64, 2, "C"), types.float64, types.float64)),
        (np.tanh, (types.float64,)),
    ],
)
def test_numba_is_asked_for_the_rest(callee: Any, given: tuple[types.Type, ...]) -> None:
    assert signatures.known_type(callee, given) is None
