"""The memory behind `library/workspace.py`: blocks that arrays of generated code gave back and later ones take again.

In: nothing. Out: a function for compiled code to call, under the symbol `SYMBOL`; what is kept can be cleared.

The pool (`pool.ll`) is one a process, safe with threads, and holds at most 1 GiB. A block returns to it when nothing
refers to the array any more, so that no array that somebody holds is ever taken again. Long blocks are in pages of 2 MB
where Linux has them to give: a sweep over a tape of 100 MB takes a sixth less time.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys

from adjit.runtime.backend.versions import is_plain

# Where compiled code, also that of earlier processes, finds the function that makes memory: numba's own at first.
SYMBOL = "adjit_workspace"
_maker = ctypes.c_void_p(_nrt_python.c_helpers["MemInfo_alloc_aligned"])
llvm.add_symbol(SYMBOL, ctypes.addressof(_maker))

# The function that tells compiled code where the elements of a new array are: numba's own, under a name that is used
# for nothing else, so that LLVM may be told more of it.
MEMORY = "adjit_new_memory"
llvm.add_symbol(MEMORY, _nrt_python.c_helpers["MemInfo_data"])

# Another thread that holds the lock gives it back at once; after a fork there may be none to do so.
_TRIES = 1000

# What is made and given back, to see that it comes back: more than numba's own allocator is left with.
_TRIAL, _ALIGNMENT = 2 << 20, 64


def clear_workspaces() -> None:
    """Frees the memory that derived functions keep for later calls; what they are using stays."""
    if is_plain():
        return
    for _ in range(_TRIES):
        if _pool().clear():
            return


def workspace_bytes() -> int:
    """The bytes that are kept for later calls."""
    return 0 if is_plain() else int(_pool().held())


class _Pool:
    """The functions of `pool.ll`, compiled."""

    def __init__(self) -> None:
        with global_compiler_lock:
            # with it come the functions of numba's runtime that the pool calls
            rtsys.initialize(cpu_target.target_context)
        module = llvm.parse_assembly(Path(__file__).with_suffix(".ll").read_text("utf-8"))
        machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        self.held = self._function("adjit_pool_held", ctypes.c_int64)
        self.clear = self._function("adjit_pool_clear", ctypes.c_int32)
        self.limits = self._function("adjit_pool_limits", None, ctypes.c_int64, ctypes.c_int64)
        if sys.platform == "linux":
            libc = ctypes.CDLL(None)
            pages = self._function("adjit_pool_pages", None, *[ctypes.c_void_p] * 3, ctypes.c_int32, ctypes.c_int32)
            system = [ctypes.cast(f, ctypes.c_void_p) for f in (libc.mmap, libc.munmap, libc.madvise)]
            pages(*system, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MADV_HUGEPAGE)
        if self._is_sound():
            _maker.value = self._engine.get_function_address("adjit_pool_array")

    def _is_sound(self) -> bool:
        """Whether blocks come back: numba's table has the function that the pool takes from it where it was."""
        make = self._function("adjit_pool_array", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
        data = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_nrt_python.c_helpers["MemInfo_data"])
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_nrt_python.c_helpers["MemInfo_release"])
        block = make(_TRIAL, _ALIGNMENT)
        is_aligned = bool(block) and (data(block) or 1) % _ALIGNMENT == 0
        if not is_aligned:
            return False
        release(block)
        is_back = self.held() >= _TRIAL
        self.clear()
        return bool(is_back)

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(self._engine.get_function_address(name))


@functools.cache
def _pool() -> _Pool:
    return _Pool()


def ready() -> None:
    """Gives compiled code the pool, where it may have one."""
    if not is_plain():
        _pool()
