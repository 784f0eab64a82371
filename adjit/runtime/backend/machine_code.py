"""How LLVM writes machine code for generated code: without what costs it most and gains nothing.

    with quickly():
        ...             no loop strength reduction in what is compiled here

    new_library(state)  the library of a function, which LLVM's passes go over once

LLVM looks for the cheapest way to step all addresses of a loop, which takes it half of the time in which it writes
machine code, for loops in SIMD lanes with their remainders two thirds. On x86 an address is a base, a scaled index and
an offset anyway: over 28 workloads the code takes 1.00 of the time without. ADJIT_LSR=1 has it done.

numba has LLVM simplify each function, and then, in the module, all of them again, at its highest level. Generated code
is simplified already: one level lower, once, it is as fast (1.00 over 13 workloads), and a first
gradient takes 0.88 of the time. Before that choices are laid straight: a division whose result an element may get
would be made in its loop, which is no loop over vectors then (the gradient of a greatest element takes 0.5 of the
time, that of a softmax 0.83). ADJIT_PASSES=3 has numba's own passes made.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary, _parse_refprune_flags

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


def is_sparing() -> bool:
    """Whether generated code is simplified once: not with ADJIT_PASSES=3, nor where numba times its own passes."""
    return os.environ.get("ADJIT_PASSES", "1") != "3" and not _config.LLVM_PASS_TIMINGS


class _Library(JITCodeLibrary):
    """numba's own, but for its passes, which go over each function twice, and over those of other modules."""

    def _optimize_functions(self, ll_module: Any) -> None:
        # the passes on modules do it
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        builder = self._codegen._pass_builder(opt=0, loop_vectorize=True, slp_vectorize=False)
        passes = builder.getModulePassManager()
        passes.add_sroa_pass()
        passes.add_loop_rotate_pass()
        passes.add_instruction_combine_pass()
        passes.add_jump_threading_pass()
        # `a if test else b` is a choice then, before what makes a is moved to where it is chosen
        passes.add_simplify_cfg_pass()
        if _config.LLVM_REFPRUNE_PASS:
            passes.add_refprune_pass(_parse_refprune_flags())
        passes.run(self._final_module, builder)
        passes, builder = self._codegen._module_pass_manager(opt=2)
        passes.run(self._final_module, builder)


def new_library(state: Any) -> Any:
    """An empty library for the function that is compiled, which is kept as machine code, as numba's own are."""
    codegen = state.targetctx.codegen()
    made = codegen.create_library(state.func_id.func_qualname)
    if type(made) is JITCodeLibrary and is_sparing():
        made.__class__ = _Library
    made.enable_object_caching()
    return made
