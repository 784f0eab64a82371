"""The memory of arrays: in the workspace (`library/workspace.py`) blocks that others gave back.

In: nothing. Out: functions for compiled code to call, by way of the symbols `BLOCK` and `ALLOCATION`; what is kept can
be cleared. They check sizes and raise what numba does: checks in each module would take 6 % of LLVM's time.

The pool (`pool.ll`) is one a process, safe with threads, and holds at most 1 GiB. A block returns to it when nothing
refers to the array any more, so that no array that somebody holds is ever taken again. Long blocks are in pages of 2 MB
where Linux has them to give: a sweep over a tape of 100 MB takes a sixth less time.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import mmap
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from adjit.runtime.backend.versions import is_plain

# Where compiled code, also that of earlier processes, finds what makes the memory of an array of some extents, in the
# workspace or not: at first what has the pool compiled.
BLOCK, ALLOCATION = "adjit_block", "adjit_allocation"
_Maker = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 4, ctypes.c_void_p)


def _made_first(name: str) -> Any:
    def make(*given: Any) -> Any:
        _pool()
        return _Maker(_makers[name].value or 0)(*given)

    return _Maker(make)


_FIRST = {name: _made_first(name) for name in (BLOCK, ALLOCATION)}
_makers = {name: ctypes.cast(make, ctypes.c_void_p) for name, make in _FIRST.items()}
for _name, _place in _makers.items():
    llvm.add_symbol(_name, ctypes.addressof(_place))

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


class _Fault(ctypes.Structure):
    """What numba has of an error that compiled code raises: a pickle, and its digest."""

    _fields_ = (
        ("text", ctypes.c_char_p),
        ("length", ctypes.c_int32),
        ("digest", ctypes.c_char_p),
        ("make", ctypes.c_void_p),
        ("is_made", ctypes.c_int32),
    )

    def __init__(self, error: type[Exception], message: str) -> None:
        text = dumps((error, (message,), None))
        super().__init__(text, len(text), hashlib.sha1(text).digest(), None, 0)


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
        self._faults = (_Fault * 3)(
            _Fault(ValueError, "negative dimensions not allowed"),
            _Fault(ValueError, "array is too big"),
            _Fault(MemoryError, "Allocation failed (probably too large)."),
        )
        if sys.platform == "linux":
            libc = ctypes.CDLL(None)
            pages = self._function("adjit_pool_pages", None, *[ctypes.c_void_p] * 3, ctypes.c_int32, ctypes.c_int32)
            system = [ctypes.cast(f, ctypes.c_void_p) for f in (libc.mmap, libc.munmap, libc.madvise)]
            pages(*system, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MADV_HUGEPAGE)
        own = self._engine.get_function_address("adjit_pool_array")
        make = own if self._is_sound() else _nrt_python.c_helpers["MemInfo_alloc_aligned"]
        alignment = cpu_target.target_context.get_preferred_array_alignment(None)
        self._function("adjit_pool_set", None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)(
            make, alignment, self._faults
        )
        for name, place in _makers.items():
            place.value = self._engine.get_function_address(f"adjit_pool_{name.removeprefix('adjit_')}")

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
