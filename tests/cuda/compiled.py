"""Generated kernels as PTX, without a GPU: the backend compiles for a compute capability that it is told.

report(adjit.grad(misfit, target="cuda"), "float64[:], ...")      by kernel, its `Code`
"""

import contextlib
import importlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np
import pytest

from adjit.api.dispatch import derive
from adjit.api.notation import to_text, to_types
from adjit.api.options import make_options
from adjit.runtime.library.gpus import BACKEND, MODULE, PACKAGES, is_installed
from adjit.transform import ir, pipeline
from adjit.transform.source.derivative import Derivative

needs_compiler = pytest.mark.skipif(
    BACKEND not in PACKAGES or not is_installed(BACKEND), reason="needs what compiles kernels"
)
PTXAS = next(iter(Path(numba.__file__).parents[1].glob("nvidia/*/bin/ptxas")), None)


@dataclass
class Code:
    """What is in a kernel's code. `spills`, in bytes, and `registers` are ptxas's, None where that is not installed."""

    ptx: str
    spills: int | None
    registers: int | None

    @property
    def atomics(self):
        return len(self._atomics())

    @property
    def has_global_atomics(self):
        return any(".global" in what for what in self._atomics())

    def _atomics(self):
        # not those on the word that says which error there was, as of a range in steps of zero
        words = set(re.findall(r"mov\.u64\s+(%rd\d+), __numba_cuda_mlir_error_code;", self.ptx))
        found = re.findall(r"^\s*(?:@\S+\s+)?((?:atom|red)\.[^\[]*)\[(%\w+)", self.ptx, re.M)
        return [what for what, address in found if address not in words]

    @property
    def doubles(self):
        return len(re.findall(r"^\s*(?:add|sub|mul|fma|div|neg|cvt\.\w*)[.\w]*\.f64", self.ptx, re.M))

    @property
    def calls(self):
        return len(re.findall(r"^\s*call", self.ptx, re.M))


def adjoint(function, shapes, dtype):
    """The adjoint of a function of the table, and the types of its arguments and of a seed."""
    types = [_type(shape, dtype) for shape in shapes]
    wrt = tuple(k for k, shape in enumerate(shapes) if isinstance(shape, list | float))
    primal = pipeline.build(Derivative(function, "primal"), tuple(to_types(", ".join(types))))
    seed = ir.map_tree(lambda k: to_text(primal.body.yields[k].type), primal.result)
    derived = derive(Derivative(function, "vjp", wrt), make_options({"target": "cuda"}))
    return derived, ", ".join([*types, seed if isinstance(seed, str) else f"({', '.join(seed)})"])


def _type(shape, dtype):
    if isinstance(shape, list):
        count = len(shape[0]) if isinstance(shape[0], tuple) else len(shape)
        return f"{dtype}[{', '.join([':'] * count)}]"
    if isinstance(shape, np.ndarray):
        return f"int64[{', '.join([':'] * shape.ndim)}]"
    return "float64" if isinstance(shape, float) else "int64"


def report(derived, types, cc=(9, 0)):
    """The code of each kernel of a derivative for these types."""
    return code_of(derived.emitted(types), cc)


def code_of(emitted, cc=(9, 0)):
    """The code of each kernel of emitted text."""
    from adjit.runtime.cuda.launch import resolved

    found = {}

    def jit(signature, **options):
        def made(function):
            bounds = {name: value for name, value in options.items() if name == "launch_bounds"}
            found[function.__name__] = function, signature, bounds
            return function

        return made

    scope = {name: resolved(value) for name, value in emitted.globals.items()} | {"_jit": jit}
    exec(compile(emitted.text.replace("@cuda.jit(", "@_jit("), "<kernels>", "exec"), scope)
    codes = {}
    with _told(cc):
        for name, (function, signature, bounds) in found.items():
            ptx = ptx_of(function, signature.removeprefix("void(").removesuffix(")"), cc, **bounds)
            codes[name] = Code(ptx, *_assembled(ptx, cc))
    return codes


def compiled(text, names, types, cc=(9, 0)):
    """The PTX of a kernel of our own."""
    from adjit.runtime.cuda.backend import cuda

    scope = {"cuda": cuda, **names}
    exec(compile(text, "<kernel>", "exec"), scope)
    with _told(cc):
        return ptx_of(scope["kernel"], types, cc)


def code_of_kernel(kernel, types, cc=(9, 0)):
    """The code of a user's kernel for arguments of these types."""
    with _told(cc):
        ptx = ptx_of(kernel, types, cc)
    return Code(ptx, *_assembled(ptx, cc))


def ptx_of(function, types, cc, **options):
    """The PTX of a kernel for arguments of these types."""
    from adjit.runtime.cuda.backend import cuda

    names = vars(importlib.import_module(f"{MODULE}.{'cuda.types' if MODULE == 'numba' else 'types'}"))
    given = tuple(eval(f"[{types}]", {}, names)) if types else ()
    return cuda.compile_ptx(function, given, cc=cc, **options)[0]


@contextlib.contextmanager
def _told(cc):
    """A device function asks the driver for the compute capability that the kernel is compiled for."""
    if MODULE == "numba":
        from numba.cuda import dispatcher

        device = SimpleNamespace(compute_capability=cc)
        asked = mock.patch.object(dispatcher, "get_current_device", return_value=device)
    else:
        from numba_cuda_mlir import tools

        asked = mock.patch.object(tools, "_cached_cc", cc)
    with asked:
        yield


def _assembled(ptx, cc):
    if PTXAS is None:
        return None, None
    command = [PTXAS, f"-arch=sm_{cc[0]}{cc[1]}", "-v", "-o", os.devnull, "-"]
    run = subprocess.run(command, input=ptx, capture_output=True, text=True, check=True)
    spills, registers = (
        sum(map(int, re.findall(pattern, run.stderr))) for pattern in (r"(\d+) bytes spill", r"(\d+) registers")
    )
    return spills, registers
