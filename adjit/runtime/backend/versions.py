"""The numba that adjit's own code generation is made for; under another one all is numba's own.

In: what is installed, and ADJIT_PLAIN_NUMBA. Out: whether numba is left alone.

    is_plain()      numba 0.68: False;  0.69, or ADJIT_PLAIN_NUMBA=1: True
"""

from __future__ import annotations

import functools
import os
import warnings

import llvmlite
import numba
import numpy as np
from numba.core.registry import cpu_target

from adjit import switches

TESTED = ("0.68",)


@functools.cache
def is_plain() -> bool:
    """Whether generated code is compiled as any other: by numba's pipeline, with numba's arrays, and no pool.

    It means the same then, takes longer to compile, and is somewhat slower. A warning says so, once, where it is for
    the version's sake.
    """
    if switches.is_on("ADJIT_PLAIN_NUMBA"):
        return True
    installed = ".".join(numba.__version__.split(".")[:2])
    if installed in TESTED:
        return False
    warnings.warn(
        f"adjit is tested with numba {', '.join(TESTED)}, and this is {numba.__version__}: derivatives are compiled by "
        "numba's own means, which takes longer.",
        stacklevel=2,
    )
    return True


_SWITCHES = ("ADJIT_LSR", "ADJIT_PASSES", "ADJIT_READING", "ADJIT_INTERLEAVE", "ADJIT_TILES")


def versions() -> tuple[str, ...]:
    """The versions of what compiles generated code, and how it does."""
    passes = (os.environ.get(switch, "") for switch in _SWITCHES)
    return (numba.__version__, llvmlite.__version__, np.__version__, "plain" if is_plain() else "own", *passes)


def target() -> str:
    """The processor that code is compiled for."""
    return repr(cpu_target.target_context.codegen().magic_tuple())
