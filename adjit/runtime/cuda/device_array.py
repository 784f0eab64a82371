"""An array on the device as generated code has it: where it lies, how, and what keeps it there.

In: an address, a shape, strides and a type. Out: what `__cuda_array_interface__` says, so that every library takes it;
and the words that a kernel is given for it. Made in a microsecond, where the backend's own takes ten.

    DeviceArray(0x7f0000, (3, 4), None, np.dtype(float), keep).words      (0, 0, 12, 8, 0x7f0000, 3, 4, 32, 8)
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from adjit.runtime.cuda.array_interface import Described
from adjit.runtime.library.gpus import MODULE


@functools.lru_cache(maxsize=4096)
def _in_order(shape: tuple[int, ...], itemsize: int) -> tuple[int, tuple[int, ...]]:
    """How many elements an array of this shape has, and its strides in C order."""
    strides, size = [], 1
    for extent in reversed(shape):
        strides.append(size * itemsize)
        size *= extent
    return size, tuple(reversed(strides))


class DeviceArray:
    """An array on the device. `keep`: what its memory belongs to; `strides`: in bytes, None in C order."""

    is_on_gpu = True
    __slots__ = ("dtype", "is_c_contiguous", "keep", "place", "shape", "size", "strides")

    def __init__(
        self, place: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any], keep: Any
    ) -> None:
        self.place, self.shape, self.dtype, self.keep = place, shape, dtype, keep
        self.size, in_order = _in_order(shape, dtype.itemsize)
        self.strides = in_order if strides is None else strides
        self.is_c_contiguous = (
            self.strides == in_order
            or not self.size
            or all(s == o or n == 1 for s, o, n in zip(self.strides, in_order, shape, strict=True))
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def layout(self) -> str:
        """C, F or A, as numba has it."""
        if self.is_c_contiguous:
            return "C"
        return "F" if self.alias().flags.f_contiguous else "A"

    @property
    def kind(self) -> tuple[np.dtype[Any], int, str]:
        """What its type says of it."""
        return self.dtype, len(self.shape), "C" if self.is_c_contiguous else self.layout

    @property
    def bounds(self) -> tuple[int, int]:
        """The addresses between which its elements lie; the same twice if it has none."""
        if self.is_c_contiguous or not self.size:
            return self.place, self.place + self.size * self.dtype.itemsize
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        first = self.place + sum(r for r in reach if r < 0)
        return first, self.place + sum(r for r in reach if r > 0) + self.dtype.itemsize

    @property
    def words(self) -> tuple[int, ...]:
        """What a kernel is given for it: numba's structure of an array, a word each."""
        return (0, 0, self.size, self.dtype.itemsize, self.place, *self.shape, *self.strides)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        fields = {"descr": self.dtype.descr} if self.dtype.names else {}
        return fields | {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous else self.strides,
            "typestr": self.dtype.str,
            "data": (self.place, False),
            "version": 3,
            "stream": None,
        }

    def alias(self) -> np.ndarray[Any, Any]:
        """An array of NumPy's with the same place, shape and strides, of which no element may be read."""
        if not self.size:
            # there is no memory to describe
            return np.empty(self.shape, self.dtype)
        return np.asarray(Described(self.__cuda_array_interface__))

    def seen(self, part: np.ndarray[Any, Any]) -> DeviceArray:
        """The part of it that an array shows that was made of its alias."""
        place = part.__array_interface__["data"][0] if part.size else 0
        return DeviceArray(place, part.shape, part.strides, part.dtype, self)

    def copy_to_host(self, stream: Any = 0) -> np.ndarray[Any, Any]:
        """Its elements in an array of NumPy's; waits for the kernels before it on the stream."""
        cuda = importlib.import_module(f"{MODULE}.cuda")
        found: np.ndarray[Any, Any] = cuda.as_cuda_array(self, sync=False).copy_to_host(stream=stream)
        return found
