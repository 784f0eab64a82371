"""Arrays on the device, as callers give them and get them.

In: what has `__cuda_array_interface__`: arrays of CuPy, torch or numba. Out: the backend's arrays, without a copy,
their types, and results of the kind of the first of them.

    given(cupy.ones(3))  ->  a device array on the same memory      results of that call are CuPy's
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import from_dtype, types

from adjit.errors import WrongDevice
from adjit.runtime.cuda.backend import alias, as_backend, as_device_array, cuda, has_one_device, view
from adjit.runtime.cuda.device_array import DeviceArray
from adjit.runtime.library.gpus import MODULE
from adjit.runtime.library.gpus import is_on_device as is_device_array
from adjit.runtime.library.xoroshiro import States


def type_of(array: Any) -> types.Array:
    """numba's type for an array on the device."""
    own = as_device_array(array)
    if isinstance(own, DeviceArray):
        return _type_of(*own.kind)
    seen = alias(own)
    layout = "C" if seen.flags.c_contiguous else "F" if seen.flags.f_contiguous else "A"
    return _type_of(seen.dtype, seen.ndim, layout)


@functools.cache
def _type_of(dtype: np.dtype[Any], ndim: int, layout: str) -> types.Array:
    found: types.Array = types.Array(from_dtype(dtype), ndim, layout)  # type: ignore[call-overload]
    return found


def given(owner: str, name: str, value: Any) -> Any:
    """An argument of a call, for the host's function; WrongDevice for arrays in NumPy's memory."""
    if isinstance(value, tuple):
        return tuple(given(owner, name, part) for part in value)
    if isinstance(value, np.ndarray) and not is_device_array(value):
        raise WrongDevice(
            f"argument `{name}` of {owner} is a NumPy array, which is not on the device",
            why='With target="cuda" adjit copies nothing to the device.',
            instead=f"Pass {MODULE}.cuda.to_device({name}), cupy.asarray({name}), or a torch tensor on the device.",
        )
    return as_device_array(value) if is_device_array(value) else value


_NUMBERS = frozenset({float, int, np.float64, np.float32, np.int64, np.int32})


def at_once(arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """Numbers and arrays of the backend's own, for the host's function; None if there are others among them, or
    several GPUs, so that more has to be asked."""
    if not has_one_device():
        return None
    found = []
    for value in arguments:
        kind = type(value)
        if kind is DeviceArray or (hasattr(kind, "__cuda_ndarray__") and not value.dtype.names):
            found.append(as_device_array(value))
        elif kind in _NUMBERS:
            found.append(value)
        else:
            return None
    return tuple(found)


def kinds(own: Sequence[Any]) -> tuple[Any, ...] | None:
    """What types of such arguments are made of, which takes less to compare; None if there are others among them."""
    found: list[Any] = []
    for value in own:
        kind = type(value)
        if kind is DeviceArray:
            found.append(value.kind)
        elif kind in _NUMBERS:
            found.append(kind)
        else:
            return None
    return tuple(found)


def check_one_device(owner: str, arguments: Sequence[Any]) -> None:
    """WrongDevice where arrays are on several GPUs, as far as they say on which."""
    found = {place for a in _flat(arguments) if is_device_array(a) and (place := _device(a)) is not None}
    if len(found) > 1:
        numbers = " and ".join(map(str, sorted(found)))
        raise WrongDevice(
            f"arguments of {owner} are on devices {numbers}",
            why="A kernel runs on one device, and sees only its memory.",
            instead="Copy all of them to one device.",
        )


def _device(array: Any) -> int | None:
    """The number of the GPU that an array is on: of one of CuPy's or torch's, or of the backend's; None if unknown."""
    speaks = getattr(array, "__dlpack_device__", None)
    if speaks is not None:
        return int(speaks()[1])
    context = getattr(getattr(array, "gpu_data", None), "context", None)
    return None if context is None else int(context.device.id)


def words(states: Any) -> States:
    """The words of the states that kernels draw from, on the same memory."""
    own = as_device_array(states)
    return States(*(view(own, alias(own)[name]) for name in States._fields))


def taken(value: Any) -> Any:
    """An array of any library's on the device as the backend's, on the same memory."""
    return as_device_array(value)


def stream_for(arguments: Sequence[Any]) -> Any:
    """The stream that the library of the first array launches on now; 0 for the default one."""
    kind = library_of(arguments)
    if kind == "cupy":
        place = sys.modules["cupy"].cuda.get_current_stream().ptr
    elif kind == "torch":
        place = sys.modules["torch"].cuda.current_stream().cuda_stream
    else:
        place = 0
    return cuda.external_stream(place) if place else 0


def library_of(arguments: Sequence[Any]) -> str:
    """The library of the first array on the device among these, the backend if it is none that is known."""
    return next((_library(a) for a in _flat(arguments) if is_device_array(a)), "numba")


def as_first(result: Any, arguments: Sequence[Any]) -> Any:
    """Results as arrays of the library whose array is the first among the arguments."""
    return converted(result, library_of(arguments))


def _flat(values: Sequence[Any]) -> list[Any]:
    return [leaf for v in values for leaf in (_flat(v) if isinstance(v, tuple) else [v])]


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def converted(result: Any, kind: str) -> Any:
    """A result, in tuples as well, as arrays of a library; what a caller gave is itself again."""
    if isinstance(result, tuple):
        return tuple(converted(part, kind) for part in result)
    if not is_device_array(result):
        return result
    if isinstance(result, DeviceArray) and is_device_array(result.keep) and not isinstance(result.keep, DeviceArray):
        return result.keep
    if kind == "cupy":
        return sys.modules["cupy"].asarray(result)
    if kind == "torch":
        return sys.modules["torch"].as_tensor(result, device="cuda")
    return as_backend(result)
