"""The package that compiles kernels, numba-cuda or numba-cuda-mlir. Here alone is it imported; so is the simulator.

In: ADJIT_CUDA_BACKEND, or else what is installed. Out: `cuda`, as kernels name it, and what of its driver is needed;
Unsupported where neither is installed, or not the one that is asked for.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
from numba import types

from adjit.errors import Unsupported, WrongCall
from adjit.runtime.cuda.dlpack import described
from adjit.runtime.cuda.pool import Pool
from adjit.runtime.library.gpus import ASKED, BACKEND, MODULE, PACKAGES, SIMULATED, as_numba_scalar, is_installed


def _imported() -> Any:
    if not SIMULATED and BACKEND not in PACKAGES:
        raise WrongCall(
            f"ADJIT_CUDA_BACKEND={ASKED}, which nothing is known of",
            instead=f"Set it to {' or '.join(PACKAGES)}, or leave it out.",
        )
    if not SIMULATED and not is_installed(BACKEND):
        raise Unsupported(
            'target="cuda" without a compiler for it',
            why=f"The package {BACKEND} is not installed.",
            instead="pip install 'adjit[cuda]', and a driver for the GPU.",
        )
    if not SIMULATED and not hasattr(np, "row_stack"):
        raise Unsupported(
            f"{BACKEND} with NumPy {np.__version__}",
            why="What it compiles for arrays asks NumPy for functions that are gone from version 2.5 on.",
            instead="pip install 'numpy<2.5'",
        )
    return importlib.import_module(f"{MODULE}.cuda")


cuda = _imported()

# Of functions with shared memory of their own: numba-cuda-mlir leaves that out of what it links.
INLINED = {"inline": "always"} if BACKEND == "numba-cuda-mlir" else {}


def backend() -> str:
    """What compiles kernels: "numba-cuda", "numba-cuda-mlir", or "simulator" where numba only simulates a GPU."""
    return BACKEND


def overload(called: Any, **options: Any) -> Any:
    """Gives `called` a meaning in kernels: what the decorated function returns for the types of a call."""
    if MODULE == "numba":
        # not what numba has under this name, which is for the simulator alone
        return importlib.import_module("numba.cuda.extending").overload(called, **options)
    extending = importlib.import_module(f"{MODULE}.extending")
    return extending.overload(called, typing_registry=extending.typing_registry, **options)


def as_numba_type(type_: Any) -> types.Type:
    """numba's type for the backend's, whose classes may be its own; what is no type is a default."""
    if isinstance(type_, types.Type):
        return type_
    kind = type(type_).__name__
    if kind == "Omitted":
        return types.Omitted(type_.value)
    if kind in ("Literal", "IntegerLiteral", "BooleanLiteral"):
        return as_numba_type(type_.literal_type)
    if kind == "NoneType":
        return types.none
    if kind in ("UniTuple", "Tuple"):
        return types.Tuple(tuple(map(as_numba_type, type_.types)))
    if kind == "Array":
        return types.Array(as_numba_type(type_.dtype), type_.ndim, type_.layout, readonly=not type_.mutable)
    found = as_numba_scalar(type_)
    return found if isinstance(found, types.Type) else types.Omitted(type_)


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
    """The backend's array for what has `__cuda_array_interface__`, or speaks DLPack; itself if it is one."""
    if hasattr(value, "__cuda_ndarray__") and (SIMULATED or isinstance(value, cuda.devicearray.DeviceNDArrayBase)):
        return value
    if not hasattr(value, "__cuda_array_interface__"):
        interface, capsule = described(value, None if SIMULATED else _LEGACY_STREAM)
        if SIMULATED:
            fake = importlib.import_module("numba.cuda.simulator.cudadrv.devicearray")
            return fake.FakeCUDAArray(np.asarray(_Described(interface, capsule)))
        value = _Part(interface, capsule)
    return cuda.as_cuda_array(value)


_LEGACY_STREAM = 1  # whose work comes after that of all others, and before


def alias(array: Any) -> np.ndarray[Any, Any]:
    """An array of NumPy's with the place, shape and strides of one on the device, of which no element may be read."""
    if SIMULATED:
        own: np.ndarray[Any, Any] = array._ary
        return own
    if not array.size:
        # there is no memory to describe
        return np.empty(array.shape, array.dtype)
    interface = array.__cuda_array_interface__
    # of records, the backend leaves out what fields they have
    fields = {"descr": array.dtype.descr} if array.dtype.names else {}
    return np.asarray(_Described(interface | fields))


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
    """What NumPy takes an array's description from; `owner`: what keeps the memory."""

    def __init__(self, interface: dict[str, Any], owner: Any = None) -> None:
        self.owner = owner
        fields = {"descr": interface["descr"]} if "descr" in interface else {}
        self.__array_interface__ = fields | {
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
