"""How LLVM writes machine code for generated code: without what costs it most and gains nothing.

    with quickly():
        ...             no loop strength reduction in what is compiled here

LLVM looks for the cheapest way to step all addresses of a loop, which takes it half of the time in which it writes
machine code, for loops in SIMD lanes with their remainders two thirds. On x86 an address is a base, a scaled index and
an offset anyway: over 28 workloads the code takes 1.00 of the time without. ADJIT_LSR=1 has it done.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator

import llvmlite.binding as llvm

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
