"""What numba loads before it compiles anything, and of that what a program needs.

In: a callee, as its call is typed. Out: numba's extensions are loaded if what compiles it may need them.

    with only_what_is_needed(): ...      without rocket-fft, and so without scipy.fft, until a call of np.fft comes

numba's registries import SciPy's linear algebra, to see whether it is there, and each extension that is installed: half
of what a first derivative takes. BLAS is looked up when it is first called, in any case.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from numba.core import entrypoints
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from adjit.runtime.backend.versions import is_plain

# The extensions that are known to compile nothing but the functions of these modules.
_OF = {"rocket_fft": ("numpy.fft", "scipy.fft", "adjit.rules.fourier")}
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
