"""What users promise about their arrays, in kernels as well as elsewhere.

In: an array. Out: the same, for whoever runs the program; what is promised is read where it is differentiated.

    y[unique(k)[i]]      no two elements of k are the same
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

from numba import types

from adjit.runtime.cuda.device_calls import declare
from adjit.runtime.library import unique as unique


def _same(given: Sequence[types.Type]) -> FunctionType:
    def unique(index):  # type: ignore[no-untyped-def]
        return index

    del given
    assert isinstance(unique, FunctionType)
    return unique


declare(unique, _same(()), _same, False)
