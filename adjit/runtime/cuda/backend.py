"""The package that compiles kernels. Here alone is it imported; numba's CUDA simulator is the same package.

In: nothing. Out: `cuda`, as kernels name it, and what of its driver is needed; Unsupported where it is not installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import numpy as np
from numba import config

from adjit.errors import Unsupported
from adjit.runtime.cuda.pool import Pool

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


def backend() -> str:
    """What compiles kernels: "numba-cuda", or "simulator" where numba only simulates a GPU."""
    return "simulator" if SIMULATED else "numba-cuda"


def overload(called: Any, **options: Any) -> Any:
    """Gives `called` a meaning in kernels: what the decorated function returns for the types of a call."""
    # not what numba has under this name, which is for the simulator alone
    return importlib.import_module("numba.cuda.extending").overload(called, **options)


def is_in_kernel() -> bool:
    """Whether a thread of the simulator's runs."""
    return importlib.import_module("numba.cuda.simulator.kernel")._get_kernel_context() is not None


def allocated(shape: tuple[int, ...], dtype: np.dtype[Any], stream: Any) -> Any:
    """An array on the device, in C order, with nothing stored in it, for kernels on this stream."""
    size = math.prod(shape) * dtype.itemsize
    if SIMULATED or not size:
        return cuda.device_array(shape, dtype)
    block = pool.take(size, int(stream) if stream else 0)
    interface = block.memory.__cuda_array_interface__
    described = {**interface, "shape": shape, "strides": None, "typestr": dtype.str, "stream": None}
    return cuda.as_cuda_array(_Part(described, block), sync=False)


def _raw(size: int) -> Any:
    return cuda.device_array(size, np.uint8)


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
    if not array.size:
        # there is no memory to describe
        return np.empty(array.shape, array.dtype)
    return np.asarray(_Described(array.__cuda_array_interface__))


def view(base: Any, seen: np.ndarray[Any, Any]) -> Any:
    """The part of an array on the device that `seen` shows of its alias."""
    if SIMULATED:
        return type(base)(seen)
    if not seen.size:
        return cuda.device_array(seen.shape, seen.dtype)
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


pool = Pool(_raw)


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
