"""Generated kernels as PTX, without a GPU: numba-cuda compiles for a compute capability that it is told.

report(adjit.grad(misfit, target="cuda"), "float64[:], ...")      by kernel, its `Code`
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numba

PTXAS = next(iter(Path(numba.__file__).parents[1].glob("nvidia/*/bin/ptxas")), None)


@dataclass
class Code:
    """What is in a kernel's code. `spills`, in bytes, and `registers` are ptxas's, None where that is not installed."""

    ptx: str
    spills: int | None
    registers: int | None

    @property
    def atomics(self):
        return len(re.findall(r"^\s*(?:@\S+\s+)?(?:atom|red)\.", self.ptx, re.M))

    @property
    def doubles(self):
        return len(re.findall(r"^\s*(?:add|sub|mul|fma|div|neg|cvt\.\w*)[.\w]*\.f64", self.ptx, re.M))

    @property
    def calls(self):
        return len(re.findall(r"^\s*call", self.ptx, re.M))


def report(derived, types, cc=(9, 0)):
    """The code of each kernel of a derivative for these types."""
    from numba import cuda
    from numba.cuda import dispatcher
    from numba.cuda import types as cuda_types

    from adjit.runtime.cuda.launch import resolved

    emitted = derived.emitted(types)
    found = {}

    def jit(signature, **options):
        def made(function):
            found[function.__name__] = function, signature
            return function

        return made

    scope = {name: resolved(value) for name, value in emitted.globals.items()} | {"_jit": jit}
    exec(compile(emitted.text.replace("@cuda.jit(", "@_jit("), "<kernels>", "exec"), scope)
    # a device function asks the driver for the compute capability that the kernel is compiled for
    before = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    try:
        codes = {}
        for name, (function, signature) in found.items():
            given = eval(signature.removeprefix("void"), {}, vars(cuda_types))
            ptx, _ = cuda.compile_ptx(function, given if isinstance(given, tuple) else (given,), cc=cc)
            codes[name] = Code(ptx, *_assembled(ptx, cc))
        return codes
    finally:
        dispatcher.get_current_device = before


def _assembled(ptx, cc):
    if PTXAS is None:
        return None, None
    command = [PTXAS, f"-arch=sm_{cc[0]}{cc[1]}", "-v", "-o", os.devnull, "-"]
    run = subprocess.run(command, input=ptx, capture_output=True, text=True, check=True)
    spills, registers = (
        sum(map(int, re.findall(pattern, run.stderr))) for pattern in (r"(\d+) bytes spill", r"(\d+) registers")
    )
    return spills, registers
