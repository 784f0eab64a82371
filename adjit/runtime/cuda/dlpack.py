"""Arrays that speak DLPack alone: where they are, and how they lie, read from what they hand over.

In: an object with `__dlpack__`. Out: its `__cuda_array_interface__`, and what keeps the memory.

    described(tensor)  ->  {"data": (0x7f..., False), "shape": (3, 4), "typestr": "<f8", ...}, capsule

The structures are those of DLPack's header, version 0 (dmlc/dlpack, `DLManagedTensor`), which all producers give that
are not asked for a later one.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from adjit.errors import TypeMismatch

_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # DLDataTypeCode, as NumPy calls it


class _Tensor(ctypes.Structure):
    """DLTensor, which stands first in a DLManagedTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def described(array: Any, stream: int | None) -> tuple[dict[str, Any], Any]:
    """The interface of an array, ready for work on a stream, and the capsule that its memory lives as long as.

    stream: its number; 1 is the legacy default stream, as DLPack counts, and None leaves the producer's alone.
    """
    capsule = array.__dlpack__() if stream is None else array.__dlpack__(stream=stream)
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    size = tensor.bits // 8
    if tensor.lanes != 1 or tensor.code not in _KINDS or size not in (1, 2, 4, 8, 16):
        raise TypeMismatch(
            f"an array with elements of {tensor.bits} bits (DLPack's type {tensor.code}, {tensor.lanes} lanes)",
            instead="Pass an array of float64, float32, integers or booleans.",
        )
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] * size for k in range(tensor.ndim)) if tensor.strides else None
    interface = {
        "shape": shape,
        "strides": strides,
        "typestr": np.dtype(f"{_KINDS[tensor.code]}{size}").str,
        "data": ((tensor.data or 0) + tensor.byte_offset, False),
        "version": 3,
        "stream": None,
    }
    return interface, capsule
