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
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
from numba import types

from adjit.runtime.cuda.backend import as_backend, as_numba_type, cuda
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
        self.packs = tuple(map(_pack, self.compiled.argument_types))

    def launch(self, shape: tuple[Any, ...], *arguments: Any) -> None:
        """Launches it on a grid of blocks."""
        grid, block, stream = shape
        words: list[Any] = []
        for pack, argument in zip(self.packs, arguments, strict=True):
            if pack is None:
                words += argument.words
            else:
                words.append(pack(argument))
        function = self.compiled._codelibrary.get_cufunc().kernel
        _core().launch(_stream(int(stream) if stream else 0), _config(grid, block), function, *words)


@functools.cache
def _core() -> Any:
    return importlib.import_module("cuda.core")


@functools.lru_cache(maxsize=4096)
def _config(grid: Any, block: Any) -> Any:
    return _core().LaunchConfig(grid=grid, block=block)


@functools.cache
def _stream(number: int) -> Any:
    return _core().Stream.from_handle(number)


def _pack(type_: Any) -> Callable[[Any], Any] | None:
    """What makes a word of an argument of this type; None for arrays, which have theirs."""
    own = as_numba_type(type_)
    if isinstance(own, types.Array):
        return None
    if isinstance(own, types.Boolean):
        return bool
    kinds = {np.dtype(name): getattr(ctypes, f"c_{name}") for name in _INTEGERS}
    kinds |= {np.dtype(np.float64): ctypes.c_double, np.dtype(np.float32): ctypes.c_float}
    make: Callable[[Any], Any] = kinds[np.dtype(str(own))]
    return make


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
