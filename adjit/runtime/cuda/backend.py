"""The package that compiles kernels, numba-cuda or numba-cuda-mlir. Here alone is it imported; so is the simulator.

In: ADJIT_CUDA_BACKEND, or else what is installed. Out: `cuda`, as kernels name it, and what of its driver is needed;
Unsupported where neither is installed, or not the one that is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from typing import Any

import numpy as np
from numba import types

from adjit.errors import Unsupported, WrongCall
from adjit.runtime.cuda.array_interface import Described
from adjit.runtime.cuda.device_array import DeviceArray
from adjit.runtime.cuda.dlpack import described
from adjit.runtime.cuda.pool import Pool
from adjit.runtime.cuda.streams import current, recorded
from adjit.runtime.library.gpus import ASKED, BACKEND, MODULE, PACKAGES, SIMULATED, as_numba_scalar, is_installed


def _imported() -> Any:
    if not SIMULATED and BACKEND not in PACKAGES:
        raise WrongCall(
            f"unknown ADJIT_CUDA_BACKEND={ASKED}",
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
            why="Its code for arrays needs functions that NumPy removed in version 2.5.",
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
    if SIMULATED:
        return cuda.device_array(shape, dtype)
    if not size:
        return DeviceArray(0, shape, None, dtype, None)
    recorder = recorded()
    block = (pool if recorder is None else recorder.pool).take(size, int(stream) if stream else 0)
    return DeviceArray(block.memory.place, shape, None, dtype, block)


class Memory:
    """Memory of the driver's."""

    def __init__(self, size: int) -> None:
        self.array = cuda.device_array(size, np.uint8)
        self.place: int = self.array.__cuda_array_interface__["data"][0]


pool = Pool(Memory)


def as_device_array(value: Any) -> Any:
    """An array of any library on the device, as generated code has it; itself if it is one.

    Of what another stream than the current one works on, the work is waited for.
    """
    if isinstance(value, DeviceArray):
        return value
    if SIMULATED:
        return _simulated(value)
    if BACKEND == "numba-cuda" and hasattr(type(value), "__cuda_ndarray__"):
        # without the interface, which it puts together each time that it is asked
        if value.stream:
            _wait_for(int(value.stream))
        place = int(value.gpu_data.device_pointer)
        return DeviceArray(place, value.shape, value.strides, value.dtype, value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        keep = value
        _wait_for(interface.get("stream"))
    else:
        interface, keep = described(value, _LEGACY_STREAM)
        keep = (value, keep)
    # of records, numba's leave out what fields they have
    dtype = value.dtype if isinstance(getattr(value, "dtype", None), np.dtype) else np.dtype(interface["typestr"])
    strides = interface.get("strides")
    shape = tuple(map(int, interface["shape"]))
    return DeviceArray(interface["data"][0], shape, None if strides is None else tuple(strides), dtype, keep)


def _simulated(value: Any) -> Any:
    if hasattr(value, "__cuda_ndarray__"):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return cuda.as_cuda_array(value)
    fake = importlib.import_module("numba.cuda.simulator.cudadrv.devicearray")
    return fake.FakeCUDAArray(np.asarray(Described(*described(value, None))))


_LEGACY_STREAM = 1  # whose work comes after that of all others, and before


def _wait_for(stream: int | None) -> None:
    """Waits for the work on a stream, unless what is launched now comes after it anyway."""
    own = current()
    number = int(own) if own else _LEGACY_STREAM
    if stream is not None and stream != number:
        cuda.external_stream(stream).synchronize()


def as_backend(array: Any) -> Any:
    """The backend's own array for one of generated code's."""
    return cuda.as_cuda_array(array, sync=False) if isinstance(array, DeviceArray) else array


def alias(array: Any) -> np.ndarray[Any, Any]:
    """An array of NumPy's with the place, shape and strides of one on the device, of which no element may be read."""
    if SIMULATED:
        own: np.ndarray[Any, Any] = array._ary
        return own
    found: np.ndarray[Any, Any] = as_device_array(array).alias()
    return found


def view(base: Any, seen: np.ndarray[Any, Any]) -> Any:
    """The part of an array on the device that `seen` shows of its alias."""
    return type(base)(seen) if SIMULATED else as_device_array(base).seen(seen)


def set_to_zero(array: Any, stream: Any) -> None:
    """Zeros in all of an array in C order."""
    if SIMULATED:
        array._ary[...] = 0
    elif array.size:
        cuda.driver.driver.cuMemsetD8Async(array.place, 0, array.nbytes, int(stream) if stream else 0)


def copy_flat(source: Any, target: Any, stream: Any) -> None:
    """The elements of an array in C order to another such one of as many bytes."""
    if SIMULATED:
        target._ary.reshape(-1)[...] = source._ary.reshape(-1)
    elif target.size:
        cuda.driver.driver.cuMemcpyDtoDAsync(
            target.place, as_device_array(source).place, target.nbytes, int(stream) if stream else 0
        )


def in_context() -> contextlib.AbstractContextManager[Any]:
    """Within it, the backend asks the driver once for the context of this thread."""
    return contextlib.nullcontext() if SIMULATED else cuda.cudadrv.devices._runtime.ensure_context()


@functools.cache
def has_one_device() -> bool:
    """Whether there is one GPU, so that nobody has to ask which it is."""
    return not SIMULATED and len(cuda.gpus) == 1
