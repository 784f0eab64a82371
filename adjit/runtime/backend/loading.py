"""What numba loads before it compiles anything, and of that what a program needs.

In: a callee, as its call is typed. Out: numba's extensions are loaded if what compiles it may need them.

    with only_what_is_needed(): ...      without rocket-fft, and so without scipy.fft, until a call of np.fft comes
    load_routines()                      BLAS and LAPACK, without scipy.linalg, whose modules they are

numba's registries import SciPy's linear algebra, to see whether it is there, and each extension that is installed: half
of what a first derivative takes. BLAS is looked up when it is first called, in any case: in two modules of their own,
which load in 0.01 s where the package they belong to takes 0.14.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Collection, Iterator
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, cast

import llvmlite.binding as llvm
from numba.core import entrypoints
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from adjit.runtime.backend.versions import is_plain

# The extensions that are known to compile nothing but the functions of these modules.
_OF = {"rocket_fft": ("numpy.fft", "scipy.fft", "adjit.rules.numpy.fft")}
# Whose functions call nothing of an extension's, but for those.
_ALONE = frozenset((
    "", "builtins", "math", "cmath", "operator", "_operator", "random", "_random", "numpy", "scipy", "numba", "adjit",
))  # fmt: skip


class _State:
    are_held_back = False


@contextlib.contextmanager
def only_what_is_needed() -> Iterator[None]:
    """Has numba leave its extensions alone meanwhile, where all that are installed are known."""
    if is_plain() or entrypoints._already_initialized or not _are_known():
        yield
        return
    _load_arrays()
    _State.are_held_back = entrypoints._already_initialized = True
    try:
        yield
    finally:
        if _State.are_held_back:
            _State.are_held_back = entrypoints._already_initialized = False


def prepare(callee: Any) -> None:
    """Loads the extensions if what numba compiles for this callee may call what they have."""
    if _State.are_held_back and _may_need_extensions(callee):
        _State.are_held_back = entrypoints._already_initialized = False
        entrypoints.init_all()
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


def _may_need_extensions(callee: Any) -> bool:
    function = callee.py_func if isinstance(callee, Dispatcher) else callee
    home = str(getattr(function, "__module__", None) or "")
    modules = [module for modules in _OF.values() for module in modules]
    return home.partition(".")[0] not in _ALONE or any(f"{home}.".startswith(f"{module}.") for module in modules)


@functools.cache
def _are_known() -> bool:
    found = metadata.entry_points(group="numba_extensions", name="init")
    return all(entry.module.partition(".")[0] in _OF for entry in found)


@functools.cache
def _load_arrays() -> None:
    """Imports numba's functions of arrays, which ask whether there is a BLAS, by importing it."""
    asking: Any = importlib.import_module("numba.np.linalg")
    ask = asking.ensure_blas
    asking.ensure_blas = _is_installed
    try:
        made: Any = importlib.import_module("numba.np.arraymath")
    finally:
        asking.ensure_blas = ask
    made.ensure_blas = ask


def _is_installed() -> None:
    """Raises ImportError if SciPy, with which BLAS comes, is not installed."""
    if importlib.util.find_spec("scipy") is None:
        raise ImportError("scipy is required for linear algebra")


# ------------------------------------------------------------------------------------------------------ BLAS and LAPACK

_PACKAGE = "scipy.linalg"
_ROUTINES = (f"{_PACKAGE}.cython_blas", f"{_PACKAGE}.cython_lapack")
_OF_ROUTINES = ("numba_x", "numba_ez")  # how the symbols begin of what numba calls them by


def load_routines_for(symbols: Collection[str]) -> None:
    """Loads BLAS and LAPACK if one of the symbols of machine code stands for a routine of theirs."""
    if any(symbol.startswith(_OF_ROUTINES) for symbol in symbols):
        load_routines()


def load_routines() -> None:
    """Loads the modules in which numba looks up BLAS and LAPACK.

    Where they cannot be loaded alone, numba imports their package as ever.
    """
    if _PACKAGE in sys.modules or _ROUTINES[0] in sys.modules:
        return
    specs = [_spec(name) for name in _ROUTINES]
    if all(spec is not None and spec.loader is not None for spec in specs):
        sys.meta_path.insert(0, _Package())
        for spec in cast("list[Any]", specs):
            sys.modules[spec.name] = made = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(made)


THREADS = "adjit_blas_threads"
_COUNTING = ("scipy_openblas_get_num_threads", "openblas_get_num_threads")


def counts_threads() -> bool:
    """Whether BLAS says in how many threads it makes a product; LLVM finds the function as THREADS then."""
    load_routines()
    address = _counting()
    if address:
        llvm.add_symbol(THREADS, address)
    return bool(address)


@functools.cache
def _counting() -> int:
    """The address of that function of OpenBLAS, as it is loaded for SciPy; 0 where none is found."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return 0
    # NumPy's own one has other names for its functions
    for path in sorted({line.split()[-1] for line in lines if "openblas" in line.rpartition("/")[2]}):
        library = ctypes.CDLL(path)
        for name in _COUNTING:
            if hasattr(library, name):
                return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    return 0


def _spec(name: str) -> ModuleSpec | None:
    """Where a module of the package is, which is not imported for the question."""
    if importlib.util.find_spec("scipy") is None:
        return None
    # the libraries that it comes with lie where it says
    scipy = importlib.import_module("scipy")
    return PathFinder.find_spec(name, [os.path.join(folder, "linalg") for folder in scipy.__path__])


class _Package(MetaPathFinder):
    """Asked for the package of the routines, it has them loaded anew, as modules that the package knows."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == _PACKAGE:
            sys.meta_path.remove(self)
            for routine in _ROUTINES:
                sys.modules.pop(routine, None)
