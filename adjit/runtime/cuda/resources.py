"""What kernels take of a GPU: registers, memory of a thread's own, shared memory; and how many threads fit at a time.

In: kernels that a GPU has compiled; or generated text and a compute capability, which needs no GPU but ptxas. Out: a
`Taken` for each kernel.

    taken_by(text, names, (9, 0))["f_L3"]     Taken(registers=38, local=0, shared=4096)
    resident(38, 4096, 256, (9, 0))           (1536, 2048): six blocks of 256 threads on a multiprocessor
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from adjit.errors import Unsupported, WrongCall
from adjit.runtime.cuda.backend import cuda
from adjit.runtime.cuda.device import THREADS
from adjit.runtime.cuda.kernels import NONE_APART, told_apart
from adjit.runtime.cuda.launch import resolved
from adjit.runtime.library.gpus import MODULE, SIMULATED

CC = tuple[int, int]  # a compute capability

# where each package asks the driver, or keeps what it was told
_ASKED = {
    "numba": ("numba.cuda.dispatcher", "get_current_device"),
    "numba_cuda_mlir": ("numba_cuda_mlir.tools", "_cached_cc"),
}

# by compute capability, of a multiprocessor: warps, blocks, kilobytes of shared memory (CUDA C++ Programming Guide,
# table of technical specifications)
_LIMITS = {
    (7, 0): (64, 32, 96), (7, 5): (32, 16, 64), (8, 0): (64, 32, 164), (8, 6): (48, 16, 100), (8, 7): (48, 16, 164),
    (8, 9): (48, 24, 100), (9, 0): (64, 32, 228), (10, 0): (64, 32, 228), (12, 0): (48, 24, 100),
}  # fmt: skip
_REGISTERS, _WARP = 65536, 32  # of a multiprocessor; threads
_MANY = 128  # registers: a multiprocessor has few threads then
_OF_SINES = 40  # bytes of local memory, of sines and cosines of large numbers: seldom used
_OF_BLOCK = 1024  # bytes of shared memory that each block takes beside its own, from 8.0 on


@dataclass(frozen=True)
class Taken:
    """What a kernel takes: registers and bytes of local memory of a thread, bytes of shared memory of a block.

    spilled: bytes of stores and loads of registers that are not there, as far as that is known
    """

    registers: int
    local: int
    shared: int
    spilled: int = 0


def resident(registers: int, shared: int, threads: int, cc: CC) -> tuple[int, int] | None:
    """How many threads of blocks of so many a multiprocessor has at a time, and how many it could have.

    Registers are given out to warps in units of 256, and warps in fours; None for a compute capability that is not
    known.
    """
    if cc not in _LIMITS:
        return None
    most_warps, most_blocks, kilobytes = _LIMITS[cc]
    warps = -(-threads // _WARP)
    own = -(-registers * _WARP // 256) * 256
    by_registers = _REGISTERS // own // 4 * 4 // warps if own else most_blocks
    by_shared = kilobytes * 1024 // max(shared + (_OF_BLOCK if cc >= (8, 0) else 0), 1)
    blocks = min(most_blocks, most_warps // warps, by_registers, by_shared)
    return min(blocks * threads, most_warps * _WARP), most_warps * _WARP


def row(name: str, taken: Taken, threads: int, cc: CC) -> tuple[str, str, str, str, str]:
    """What a kernel takes, in words: its name, registers, local and shared memory, and the threads that fit.

    threads: of its blocks; 0 for as many as those have of which adjit chooses the grid
    """
    found = resident(taken.registers, taken.shared, threads or THREADS, cc)
    remarks = ["" if found is None else f"{found[0]:,} of {found[1]:,}"]
    if taken.registers > _MANY:
        remarks.append("many registers")
    if taken.spilled:
        remarks.append(f"{taken.spilled:,} bytes spilled")
    elif taken.local > _OF_SINES:
        remarks.append("local memory, which is slow")
    local, shared = (f"{size:,} bytes" if size else "" for size in (taken.local, taken.shared))
    return name, str(taken.registers), local, shared, "; ".join(filter(None, remarks))


def checked(cc: Any) -> CC:
    """The compute capability, as it is given: (9, 0)."""
    if isinstance(cc, tuple) and len(cc) == 2 and all(type(n) is int for n in cc):
        return cc
    raise WrongCall(f"cc={cc!r}, which is not a compute capability", instead="Write cc=(9, 0), or cc=(8, 0).")


def of_device() -> CC:
    """The compute capability of the current device."""
    major, minor = cuda.get_current_device().compute_capability
    return major, minor


def taken_of(kernel: Any) -> Taken:
    """What a kernel takes that a GPU has compiled for one signature."""
    kernel = getattr(kernel, "dispatcher", kernel)
    asked = (kernel.get_regs_per_thread, kernel.get_local_mem_per_thread, kernel.get_shared_mem_per_block)
    return Taken(*map(_most, asked))


def _most(asked: Callable[[], Any]) -> int:
    found = asked()
    return max(found.values(), default=0) if isinstance(found, dict) else int(found)


def taken_by(
    text: str, names: Mapping[str, Any], cc: CC, apart: Mapping[str, Sequence[bool]] = NONE_APART
) -> dict[str, Taken]:
    """What each kernel of generated text takes when it is compiled for a compute capability; `apart`: as `load` has it.

    Raises Unsupported where ptxas is not installed, and in the simulator.
    """
    if ptxas() is None:
        raise Unsupported(
            f"the resources of kernels for cc={cc}",
            why="ptxas, which counts the registers, is not installed.",
            instead="pip install nvidia-cuda-nvcc",
        )
    return {name: assembled(ptx, cc) for name, ptx in ptx_by_kernel(text, names, cc, apart).items()}


def ptx_by_kernel(
    text: str, names: Mapping[str, Any], cc: CC, apart: Mapping[str, Sequence[bool]] = NONE_APART
) -> dict[str, str]:
    """The PTX of each kernel of generated text."""
    found: dict[str, tuple[Callable[..., None], str, dict[str, Any]]] = {}

    def jit(signature: str, **options: Any) -> Callable[[Any], Any]:
        def made(function: Any) -> Any:
            found[function.__name__] = function, signature, options
            return function

        return made

    scope = {name: resolved(value) for name, value in names.items()} | {"_jit": jit}
    exec(compile(text.replace("@cuda.jit(", "@_jit("), "<kernels>", "exec"), scope)
    own = {name: (f, types.removeprefix("void(").removesuffix(")"), given) for name, (f, types, given) in found.items()}
    with told_apart(apart):
        return {name: ptx_of(f, types, cc, **given) for name, (f, types, given) in own.items()}


def ptx_of(function: Any, types: str, cc: CC, **options: Any) -> str:
    """The PTX of a kernel for arguments of these types, as numba reads them in a signature."""
    if SIMULATED:
        raise Unsupported(
            "code for a compute capability in the simulator",
            why="It compiles nothing.",
            instead="Leave NUMBA_ENABLE_CUDASIM out.",
        )
    names = vars(importlib.import_module(f"{MODULE}.{'cuda.types' if MODULE == 'numba' else 'types'}"))
    given = tuple(eval(f"[{types}]", {}, dict(names))) if types else ()
    with told(cc):
        try:
            found: str = cuda.compile_ptx(function, given, cc=cc, **options)[0]
        except RuntimeError as fault:
            if type(fault).__name__ != "CCSupportError":
                raise
            raise WrongCall(
                f"cc={cc}, for which numba has no code", why=f"{fault}.", instead="Write cc=(9, 0), or cc=(8, 0)."
            ) from None
    return found


@contextlib.contextmanager
def told(cc: CC) -> Iterator[None]:
    """A device function asks the driver for the compute capability that the kernel is compiled for: this is told."""
    home, name = _ASKED[MODULE]
    value = cc if name == "_cached_cc" else lambda: SimpleNamespace(compute_capability=cc)
    module = importlib.import_module(home)
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def assembled(ptx: str, cc: CC) -> Taken:
    """What ptxas, which is there, says of a kernel's PTX."""
    command = [str(ptxas()), f"-arch=sm_{cc[0]}{cc[1]}", "-v", "-o", os.devnull, "-"]
    run = subprocess.run(command, input=ptx, capture_output=True, text=True)
    said = run.stderr
    if run.returncode:
        why = next((line.partition(":")[2].strip() for line in said.splitlines() if "fatal" in line), "")
        raise Unsupported(
            f"the resources of kernels for cc={cc}",
            why=f"ptxas cannot assemble the code alone, because functions of half precision are linked later: {why}",
            instead="Launch it on a GPU, and ask explain without cc.",
        )
    patterns = (r"Used (\d+) registers", r"(\d+) bytes stack frame", r"(\d+) bytes smem", r"(\d+) bytes spill")
    return Taken(*(sum(map(int, re.findall(pattern, said))) for pattern in patterns))


def ptxas() -> str | None:
    """Where ptxas is: of the package nvidia-cuda-nvcc, or of an installed toolkit."""
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else spec.submodule_search_locations or []
    found = next((path for folder in folders for path in Path(folder).glob("*/bin/ptxas")), None)
    return shutil.which("ptxas") if found is None else str(found)
