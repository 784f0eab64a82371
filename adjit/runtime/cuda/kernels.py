"""Kernels for arguments of known types, launched with the least work of the host's.

In: a function, and the types of its arguments as a signature has them. Out: what is launched as `kernel[grid, block,
stream](...)`, with arrays as generated code has them.

The dispatcher of numba-cuda wraps each array anew and looks for what to copy back: 20 to 36 microseconds a launch.
Types and arrays are known here; what is left is to hand over the words.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
from numba import types

from adjit.runtime.cuda.backend import as_backend, as_numba_type, cuda
from adjit.runtime.cuda.driver import Extra, driver
from adjit.runtime.library.gpus import BACKEND

NONE_APART: Mapping[str, Sequence[bool]] = MappingProxyType({})


@functools.cache
def for_types(function: Any, given: str) -> Any:
    """A kernel for arguments of these types."""
    return quick(cuda.jit(f"void({given})")(function))


def quick(dispatcher: Any) -> Any:
    """A compiled kernel of one signature, which is launched by less; by the backend itself where that is unknown."""
    if BACKEND == "simulator":
        return dispatcher
    return Kernel(dispatcher) if BACKEND == "numba-cuda" else ByBackend(dispatcher)


@contextlib.contextmanager
def told_apart(apart: Mapping[str, Sequence[bool]]) -> Iterator[None]:
    """Within it, numba-cuda tells LLVM of kernels of these names which of their arrays no other pointer leads to.

    Then loads of what is not stored to need not wait for stores, and go through a cache of their own.
    """
    if BACKEND != "numba-cuda":
        yield
        return
    compiler = importlib.import_module("numba.cuda.compiler")
    # names as they are mangled: with their lengths
    known = {f"{len(name)}{name}": flags for name, flags in apart.items()}
    fixed = compiler.kernel_fixup

    def told(kernel: Any, debug: Any) -> None:
        fixed(kernel, debug)
        flags = next((own for name, own in known.items() if name in kernel.name), ())
        # an array comes with three addresses: of who counts its references, of its owner, of its elements
        pointers = [argument for argument in kernel.args if argument.type.is_pointer]
        for argument, is_apart in zip(pointers[2::3], flags, strict=bool(flags)):
            if is_apart:
                argument.add_attribute("noalias")

    with mock.patch.object(compiler, "kernel_fixup", told):
        yield


class ByBackend:
    """A kernel that the backend launches, with its own arrays."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher

    def __getitem__(self, shape: tuple[Any, ...]) -> Callable[..., None]:
        return functools.partial(self.launch, shape)

    def launch(self, shape: tuple[Any, ...], *arguments: Any) -> None:
        """Launches it on a grid of blocks."""
        self.dispatcher[shape](*map(as_backend, arguments))


class Kernel(ByBackend):
    """A kernel of numba-cuda's, launched as its dispatcher does once it has found out what the arguments are."""

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher)
        (self.compiled,) = dispatcher.overloads.values()
        given = list(map(as_numba_type, self.compiled.argument_types))
        self.numbers = [None if isinstance(type_, types.Array) else _number(type_) for type_ in given]
        self.layout = struct.Struct(layout(given))
        self.room = ctypes.c_char * self.layout.size
        self.size = ctypes.c_size_t(self.layout.size)
        self.handles: dict[Any, int] = {}

    def launch(self, shape: tuple[Any, ...], *arguments: Any) -> None:
        """Launches it on a grid of blocks."""
        grid, block, stream = shape
        words: list[Any] = []
        for number, argument in zip(self.numbers, arguments, strict=True):
            if number is None:
                words += argument.words
            else:
                words.append(number(argument).value)
        packed = self.room()
        self.layout.pack_into(packed, 0, *words)
        extra = Extra(_BUFFER, ctypes.addressof(packed), _SIZE, ctypes.addressof(self.size), _END)
        failed = driver().cuLaunchKernel(
            self.handle(), *_extents(grid, block), 0, int(stream) if stream else 0, None, extra
        )
        if failed:
            fault = importlib.import_module("numba.cuda.cudadrv.driver").CudaAPIError
            raise fault(failed, f"cuLaunchKernel of {self.dispatcher.__name__} failed")

    def handle(self) -> int:
        """The driver's, in this context."""
        own = self.compiled._codelibrary.get_cufunc()
        found = self.handles.get(own)
        if found is None:
            found = self.handles[own] = int(own.kernel.handle)
        return found


_END, _BUFFER, _SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_END, _BUFFER_POINTER and _BUFFER_SIZE of the driver's API


@functools.lru_cache(maxsize=4096)
def _extents(grid: Any, block: Any) -> tuple[int, ...]:
    """The extents of a grid and of a block along x, y and z."""
    shapes = (extents if isinstance(extents, tuple) else (extents,) for extents in (grid, block))
    return tuple(int(n) for shape in shapes for n in (*shape, 1, 1)[:3])


def layout(given: Sequence[types.Type]) -> str:
    """How a kernel finds arguments of these types, as `struct` writes it: one behind the other, each where a number of
    its size may lie; of an array the words of `DeviceArray.words`."""
    found = ("q" * (5 + 2 * type_.ndim) if isinstance(type_, types.Array) else _number(type_)._type_ for type_ in given)
    return f"@{''.join(found)}"


def _number(type_: types.Type) -> Any:
    """What makes a number of this type, as C has it: integers wrap around, what is too large for a float32 is inf."""
    if isinstance(type_, types.Boolean):
        return ctypes.c_bool
    kinds: dict[Any, Any] = {np.dtype(name): getattr(ctypes, f"c_{name}") for name in _INTEGERS}
    kinds |= {np.dtype(np.float64): ctypes.c_double, np.dtype(np.float32): ctypes.c_float}
    return kinds[np.dtype(str(type_))]


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
