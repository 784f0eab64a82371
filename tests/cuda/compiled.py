"""Generated kernels as PTX, without a GPU: the backend compiles for a compute capability that it is told.

report(adjit.grad(misfit, target="cuda"), "float64[:], ...")      by kernel, its `Code`
"""

import re
from dataclasses import dataclass

import numpy as np
import pytest

import adjit.api.gpu.on_device  # noqa: F401  whose target this is
from adjit.api.gpu.on_device import OnDevice
from adjit.api.specialise.dispatch import derive
from adjit.api.specialise.notation import to_text, to_types
from adjit.api.specialise.options import make_options
from adjit.runtime.library.gpus import BACKEND, PACKAGES, is_installed
from adjit.transform import ir, pipeline
from adjit.transform.source.derivative import Derivative

needs_compiler = pytest.mark.skipif(
    BACKEND not in PACKAGES or not is_installed(BACKEND), reason="needs what compiles kernels"
)


@dataclass
class Code:
    """What is in a kernel's code. `spills`, `registers` and `stack`, in bytes, are ptxas's, None where that is not
    installed."""

    ptx: str
    spills: int | None
    registers: int | None
    stack: int | None

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
    assert isinstance(derived, OnDevice)  # whose module knows the target
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
    from adjit.runtime.cuda.resources import ptx_by_kernel

    found = ptx_by_kernel(emitted.text, emitted.globals, cc, emitted.apart)
    return {name: _code(ptx, cc) for name, ptx in found.items()}


def doubles_unasked(emitted):
    """By kernel, the instructions in double precision of those whose text names none: no number of the user's is one.

    Less three for each sine and cosine, whose range reductions have them.
    """
    texts = {found.group(1): part for part in emitted.text.split("\n\n\n") if (found := _DEF.search(part))}
    found = {}
    for name, code in code_of(emitted).items():
        own = "\n".join(line for line in texts[name].splitlines() if not line.lstrip().startswith("#"))
        if "float64" not in own and not _LITERAL.search(own):
            found[name] = max(0, code.doubles - 3 * len(_SINES.findall(own)))
    return found


_DEF = re.compile(r"^def (\w+)\(", re.M)
_LITERAL = re.compile(r"(?<!np\.float32\()(?<![\w.])\d+\.\d+")
_SINES = re.compile(r"math\.(?:sin|cos|tan)\(")


def compiled(text, names, types, cc=(9, 0)):
    """The PTX of a kernel of our own."""
    from adjit.runtime.cuda.backend import cuda

    scope = {"cuda": cuda, **names}
    exec(compile(text, "<kernel>", "exec"), scope)
    return code_of_kernel(scope["kernel"], types, cc).ptx


def code_of_kernel(kernel, types, cc=(9, 0)):
    """The code of a user's kernel for arguments of these types."""
    from adjit.runtime.cuda.resources import ptx_of

    return _code(ptx_of(kernel, types, cc), cc)


def _code(ptx, cc):
    from adjit.runtime.cuda.resources import assembled, ptxas

    if ptxas() is None:
        return Code(ptx, None, None, None)
    taken = assembled(ptx, cc)
    return Code(ptx, taken.spilled, taken.registers, taken.local)
