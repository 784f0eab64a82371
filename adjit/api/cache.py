"""Derived functions that a later process takes from disk, neither transformed nor compiled again.

In: a derivative, as numba asks for its compiled form. Out: that form, from the folder of `store.py` under the key of
`keys.py`, or nothing; then numba compiles, and what it made is kept.

    gradient = grad(energy, cache=True)      the first call in a later process: 0.3 s, of which numba's start is most

What cannot be kept is compiled in each process, with a warning that says why.
"""

from __future__ import annotations

import os
import pickle
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from numba import types

from adjit.api import store
from adjit.api.keys import NotKeyed, key_of
from adjit.errors import NotCached
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.backend.caching import Cache, argument_types, holds_addresses, packed, packed_code, unpacked_code
from adjit.runtime.compile import register
from adjit.transform.source.derivative import Derivative

if TYPE_CHECKING:
    from adjit.transform.emit.emit import Emitted

# What an entry that is whole can still fail with: it names something that is no longer there, or that changed.
_STALE = (
    pickle.UnpicklingError, EOFError, ImportError, AttributeError, LookupError, TypeError, ValueError, RuntimeError,
)  # fmt: skip
_UNPICKLABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)


class CacheInfo(NamedTuple):
    """`folder` holds `entries` derivatives in `bytes`; of those asked for in this process, `hits` came from there."""

    folder: Path
    entries: int
    bytes: int
    hits: int
    misses: int
    refused: dict[str, str]


def cache_info() -> CacheInfo:
    """What `cache=True` keeps and how it served this process; `refused` says why a function is not kept."""
    found = list(store.entries())
    count = sum(path.suffix == ".bin" for path, _ in found)
    size = sum(status.st_size for _, status in found)
    return CacheInfo(store.folder(), count, size, _count["hits"], _count["misses"], dict(_refused))


def clear_cache() -> None:
    """Removes everything that `cache=True` has kept; derived functions that are in use stay as they are."""
    store.clear()


_count = {"hits": 0, "misses": 0}
_refused: dict[str, str] = {}


class DerivativeCache(Cache):
    """The part of a derived function's dispatcher that numba asks before it compiles and tells afterwards."""

    def __init__(self, derivative: Derivative, options: Any, name: str) -> None:
        self.derivative, self.options, self.name = derivative, options, name
        self.enabled = True
        # of generated code on its way to the compiler: its key, its title, its text, and that as a module
        self._made: dict[tuple[types.Type, ...], tuple[str, str, str, str]] = {}

    @property
    def cache_path(self) -> str:
        return str(store.folder())

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def flush(self) -> None:
        clear_cache()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        kept = self._kept(argument_types(sig))
        if kept is None:
            return None
        title, text, machine_code = kept
        target_context.refresh()
        try:
            found = unpacked_code(target_context, machine_code)
        except _STALE:
            return None
        register(text, title)
        _count["hits"] += 1
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        given = argument_types(sig)
        key, title, text, as_module = self._made.pop(given, ("",) * 4)
        # a global that was bound anew in the meantime may or may not have been seen
        if not key or key != self._key(given):
            return
        if holds_addresses(data):
            self._refuse("its machine code holds addresses of this process")
            return
        try:
            store.write(self._name_of(key), packed((title, text, packed_code(data))), as_module)
        except OSError as fault:
            self._refuse(f"the cache cannot be written: {fault}")
        except _UNPICKLABLE as fault:
            self._refuse(f"it cannot be written: {fault}")

    def made(self, given: Sequence[types.Type], emitted: Emitted, function: FunctionType, title: str) -> None:
        """Takes note of code that was generated for these types, before it is compiled."""
        from adjit.transform.emit import module_text

        key = self._key(tuple(given))
        if key is None:
            return
        for value in emitted.globals.values():
            if is_dispatcher(value) and "<locals>" in value.py_func.__qualname__:
                # numba's symbols do not tell one closure from another of the same name
                self._refuse(f"it calls {value.py_func.__qualname__}, which is defined inside a function")
                return
        # symbols are the same in each process that compiles or loads this, and no others are
        function.__qualname__ = f"{function.__name__}_{key}"
        self._made[tuple(given)] = key, title, emitted.text, module_text(emitted, is_tuned=True)

    def text(self, given: Sequence[types.Type]) -> str | None:
        """The generated source for these types, if it is kept."""
        kept = self._kept(tuple(given))
        return None if kept is None else kept[1]

    def _key(self, given: tuple[types.Type, ...]) -> str | None:
        asks_to_see = os.environ.get("ADJIT_DUMP") or os.environ.get("ADJIT_VERIFY")
        # numba comes back with the values of strings
        if not self.enabled or asks_to_see or any(isinstance(t, types.UnicodeType) for t in given):
            return None
        try:
            return key_of(self.derivative, given, self.options)
        except NotKeyed as reason:
            self._refuse(str(reason))
            return None

    def _kept(self, given: tuple[types.Type, ...]) -> tuple[str, str, bytes] | None:
        """What is kept for these types: a title, the text, machine code."""
        key = self._key(given)
        if key is None:
            return None
        try:
            payload = store.read(self._name_of(key))
        except OSError as fault:
            self._refuse(f"the cache cannot be read: {fault}")
            return None
        if payload is None:
            _count["misses"] += 1
            return None
        kept: tuple[str, str, bytes] = pickle.loads(payload)
        return kept

    def _name_of(self, key: str) -> str:
        return f"{re.sub(r'[^A-Za-z0-9_]', '', self.name)[:60]}_{self.derivative.kind}-{key}"

    def _refuse(self, why: str) -> None:
        if _refused.get(self.name) != why:
            _refused[self.name] = why
            warnings.warn(f"cache=True: {self.name} is compiled anew in each process: {why}.", NotCached, stacklevel=2)
