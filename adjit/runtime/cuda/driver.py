"""The driver's own library, which the backend has found already, for what is asked of it past the backend.

In: nothing. Out: the library, whose functions return the number of an error.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

# of a launch: where its parameters are, and how many bytes
Extra = ctypes.c_void_p * 5


@functools.cache
def driver() -> Any:
    """The driver's library. Handles are given as `ctypes.c_void_p`, but to what launches a kernel."""
    found = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    counts: list[Any] = [ctypes.c_uint] * 7
    found.cuLaunchKernel.argtypes = [ctypes.c_void_p, *counts, ctypes.c_void_p, ctypes.c_void_p, Extra]
    return found
