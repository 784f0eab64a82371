"""Which package compiles kernels for a GPU, and what its `cuda` is imported from. Nothing is imported here.

In: what is installed, and ADJIT_CUDA_BACKEND. Out: `BACKEND`, by the name of its distribution, and `MODULE`.

    from numba import cuda                  numba-cuda, and numba's simulator
    from numba_cuda_mlir import cuda        numba-cuda-mlir, its successor
"""

import importlib.util
import os
from typing import Any

import numpy as np
from numba import config, types

from adjit.errors import TypeMismatch

ASKED = os.environ.get("ADJIT_CUDA_BACKEND")
SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
PACKAGES = {"numba-cuda": "numba_cuda", "numba-cuda-mlir": "numba_cuda_mlir"}


def is_installed(backend: str) -> bool:
    """Whether it can be imported."""
    return importlib.util.find_spec(PACKAGES[backend]) is not None


def is_on_device(value: Any) -> bool:
    """Whether it is an array on a GPU, of whatever library."""
    if hasattr(type(value), "is_on_gpu") or hasattr(value, "__cuda_ndarray__"):
        return True
    if hasattr(value, "__cuda_array_interface__"):
        return True
    device = getattr(value, "__dlpack_device__", None)
    return callable(device) and not isinstance(value, type) and device()[0] in _CUDA


def dtype_of(array: Any) -> np.dtype[Any]:
    """NumPy's type for the elements of an array on a GPU, of whatever library; TypeMismatch where it has none."""
    if isinstance(array.dtype, np.dtype):
        return array.dtype
    try:
        return np.dtype(str(array.dtype).rpartition(".")[2])  # "torch.float64"
    except TypeError:
        raise TypeMismatch(
            f"an array of {array.dtype} on a GPU", instead="Pass an array of float64, float32, integers or booleans."
        ) from None


_CUDA = (2, 13)  # DLPack's numbers of memory of a GPU's, and of managed memory


def _chosen() -> str:
    if SIMULATED:
        return "simulator"
    if ASKED:
        return ASKED
    return next((name for name in PACKAGES if is_installed(name)), "numba-cuda")


def as_numba_scalar(value: Any) -> Any:
    """numba's type of numbers for that of a package that has its own; anything else as it is."""
    kind = type(value)
    is_other = kind.__name__ in ("Float", "Integer", "Boolean") and kind.__module__.startswith("numba_cuda_mlir.")
    return getattr(types, str(value)) if is_other else value


BACKEND = _chosen()
MODULE = "numba_cuda_mlir" if BACKEND == "numba-cuda-mlir" else "numba"
