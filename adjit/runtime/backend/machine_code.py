"""How LLVM writes machine code for generated code: without what costs it most and gains nothing.

    with quickly():
        ...             no loop strength reduction in what is compiled here

    without_declarations(library)       no passes on functions of other modules

LLVM looks for the cheapest way to step all addresses of a loop, which takes it half of the time in which it writes
machine code, for loops in SIMD lanes with their remainders two thirds. On x86 an address is a base, a scaled index and
an offset anyway: over 28 workloads the code takes 1.00 of the time without. ADJIT_LSR=1 has it done.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary

_config: Any = config
_inside = 0  # of how many `quickly`; what compiles holds numba's lock


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """For what is compiled within. LLVM's options are those of the process, so others are compiled as ever outside."""
    if not is_on():
        yield
        return
    global _inside
    _inside += 1
    if _inside == 1:
        llvm.set_option("", "-disable-lsr=true")
    try:
        yield
    finally:
        _inside -= 1
        if not _inside:
            llvm.set_option("", "-disable-lsr=false")


def is_on() -> bool:
    """Whether loops are compiled without strength reduction: on x86, and not with ADJIT_LSR=1."""
    return platform.machine() in ("x86_64", "AMD64") and os.environ.get("ADJIT_LSR", "0") != "1"


class _Library(JITCodeLibrary):
    """numba's own, which makes the passes on functions anew for each function, also for those of other modules."""

    def _optimize_functions(self, ll_module: Any) -> None:
        if _config.LLVM_PASS_TIMINGS:
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


def without_declarations(library: Any) -> None:
    """Has LLVM's passes on functions run on those alone that are written in the modules of this library."""
    if type(library) is JITCodeLibrary:
        library.__class__ = _Library
