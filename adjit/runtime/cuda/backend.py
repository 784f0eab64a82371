"""The package that compiles kernels. Here alone is it imported; numba's CUDA simulator is the same package.

In: nothing. Out: `cuda`, as kernels name it, and what of its driver is needed; Unsupported where it is not installed.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
from numba import config

from adjit.errors import Unsupported

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]


def _imported() -> Any:
    if importlib.util.find_spec("numba_cuda") is None and not SIMULATED:
        raise Unsupported(
            'target="cuda" without a compiler for it',
            why="The package numba-cuda is not installed.",
            instead="pip install 'adjit[cuda]', and a driver for the GPU.",
        )
    from numba import cuda

    return cuda


cuda = _imported()


def allocated(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A fresh array on the device, in C order, with nothing stored in it."""
    return cuda.device_array(shape, dtype)


def as_device_array(value: Any) -> Any:
    """The backend's array for what has `__cuda_array_interface__`; itself if it is one."""
    if hasattr(value, "__cuda_ndarray__"):
        return value
    return cuda.as_cuda_array(value)


def alias(array: Any) -> np.ndarray[Any, Any]:
    """An array of NumPy's with the place, shape and strides of one on the device, of which no element may be read."""
    if SIMULATED:
        own: np.ndarray[Any, Any] = array._ary
        return own
    return np.asarray(_Described(array.__cuda_array_interface__))


def view(base: Any, seen: np.ndarray[Any, Any]) -> Any:
    """The part of an array on the device that `seen` shows of its alias."""
    if SIMULATED:
        return type(base)(seen)
    place = seen.__array_interface__["data"][0]
    described = {
        "shape": seen.shape,
        "strides": seen.strides,
        "typestr": seen.dtype.str,
        "data": (place, False),
        "version": 3,
        "stream": None,
    }
    return cuda.as_cuda_array(_Part(described, base), sync=False)


def set_to_zero(array: Any, stream: Any) -> None:
    """Zeros in all of an array in C order."""
    if SIMULATED:
        array._ary[...] = 0
    elif array.size:
        cuda.driver.device_memset(array, 0, array.nbytes, stream=stream)


class _Described:
    """What NumPy takes an array's description from."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = {
            "shape": interface["shape"],
            "strides": interface["strides"],
            "typestr": interface["typestr"],
            "data": interface["data"],
            "version": 3,
        }


class _Part:
    """A part of an array, which keeps that."""

    def __init__(self, interface: dict[str, Any], base: Any) -> None:
        self.__cuda_array_interface__ = interface
        self.base = base
