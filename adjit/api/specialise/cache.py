"""Derived functions that a later process takes from disk, neither transformed nor compiled again.

In: a derivative, as numba asks for its compiled form. Out: that form, from the folder of `store.py` under the key of
`keys.py`, or nothing; then numba compiles, and what it made is kept.

    gradient = grad(energy)      the first call in a later process: 0.1 s, neither transformed nor compiled

Code that cannot be kept is compiled in each process; with `cache=True` a warning says why. The key covers all
functions that the transformation read: if it read another one, the code is not kept.
"""

from __future__ import annotations

import contextlib
import pickle
import re
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from numba import types

from adjit import switches
from adjit.api.arguments.outside_memory import OutsideMemory, Written, places_of
from adjit.api.specialise import store
from adjit.api.specialise.digests import KNOWN, NotKeyed, path_of
from adjit.api.specialise.keys import Key, key_of, stamp
from adjit.errors import NotCached
from adjit.runtime.backend import calls, is_dispatcher, third_party_overloads
from adjit.runtime.backend.caching import (
    Cache,
    argument_types,
    holds_addresses,
    packed,
    packed_code,
    symbols,
    unpacked_code,
)
from adjit.runtime.compile import register
from adjit.transform.source.derivative import Derivative
from adjit.transform.source.external_reads import Changed, Reads, Warned, noting, warn_at

if TYPE_CHECKING:
    from adjit.transform.emit.emit import Emitted

# What an entry that is whole can still fail with: it names something that is no longer there, or that changed.
_STALE = (
    pickle.UnpicklingError, EOFError, ImportError, AttributeError, LookupError, TypeError, ValueError, RuntimeError,
)  # fmt: skip
_UNPICKLABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)


class CacheInfo(NamedTuple):
    """`folder` holds `entries` derivatives, of `bytes` together. In this process `hits` came from there."""

    folder: Path
    entries: int
    bytes: int
    hits: int
    misses: int
    refused: dict[str, str]


def cache_info() -> CacheInfo:
    """What is kept for later processes and how it served this one; `refused` says why a function is not kept."""
    found = list(store.entries())
    count = sum(path.suffix == ".bin" for path, _ in found)
    size = sum(status.st_size for _, status in found)
    return CacheInfo(store.folder(), count, size, _count["hits"], _count["misses"], dict(_refused))


def clear_cache() -> None:
    """Removes everything that is kept for later processes; derived functions that are in use stay as they are."""
    store.clear()


def is_on() -> bool:
    """Whether derivatives are kept at all: not with ADJIT_CACHE=0."""
    return switches.is_on("ADJIT_CACHE", usually=True)


def why_off() -> str | None:
    """Why nothing is kept in this process; None if derivatives are."""
    return store.unusable() if is_on() else "ADJIT_CACHE turns it off"


_count = {"hits": 0, "misses": 0}
_refused: dict[str, str] = {}


class _Made(NamedTuple):
    """Generated code on its way to the compiler; `extensions` of numba's, with versions, are what compiles it, too.
    `whole`: the text with those of the functions that it calls."""

    key: str
    title: str
    text: str
    whole: str
    as_module: str
    extensions: tuple[tuple[str, str], ...]
    written: tuple[Written, ...]
    changed: tuple[Changed, ...]
    memory: tuple[int, ...]
    warned: tuple[Warned, ...]


class _Kept(NamedTuple):
    """What is in an entry: the generated code, the machine code, and the symbols that this takes from elsewhere; and
    what may not share memory with what (`outside_memory.py`), that from outside by where it stands in the key; and what
    it warns of."""

    title: str
    text: str
    whole: str
    extensions: tuple[tuple[str, str], ...]
    code: bytes
    symbols: tuple[str, ...]
    written: tuple[Written, ...]
    changed: tuple[Changed, ...]
    memory: tuple[int, ...]
    warned: tuple[Warned, ...]


class DerivativeCache(Cache):
    """The part of a derived function's dispatcher that numba asks before it compiles and tells afterwards."""

    def __init__(self, derivative: Derivative, options: Any, name: str, reads: Reads, outside: OutsideMemory) -> None:
        self.derivative, self.options, self.name = derivative, options, name
        self.reads = reads  # of what was made from what is kept, too
        self.outside = outside
        self.enabled = True
        self._looked_for: dict[tuple[types.Type, ...], Key] = {}
        self._made: dict[tuple[types.Type, ...], _Made] = {}

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
        given = argument_types(sig)
        with noting() as read:
            key = self._key(given)
        kept = self._found(key)
        if kept is None:
            if key is not None:
                self._looked_for[given] = key
            return None
        if not all(third_party_overloads.is_installed(*extension) for extension in kept.extensions):
            return None
        try:
            found = unpacked_code(target_context, kept.code, kept.symbols, kept.text)
        except _STALE:
            return None
        if found is None:
            return None
        register(kept.text, kept.title)
        if key is not None and (kept.memory or kept.changed):
            self.outside.add(kept.written, kept.changed, [key.memory[place] for place in kept.memory])
        self.reads.add(read)
        _count["hits"] += 1
        for warned in kept.warned:
            warn_at(warned)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        given = argument_types(sig)
        made = self._made.pop(given, None)
        now = None if made is None else self._key(given)
        # a global that was bound anew in the meantime may or may not have been seen
        if made is None or now is None or made.key != now.text:
            return
        if holds_addresses(data):
            self._refuse("its machine code contains addresses of this process")
            return
        try:
            own = made.title, made.text, made.whole, made.extensions
            kept = _Kept(*own, packed_code(data), symbols(data), made.written, made.changed, made.memory, made.warned)
            store.write(self._name_of(made.key), packed(tuple(kept)), made.as_module)
        except OSError as fault:
            self._refuse(f"the cache cannot be written: {fault}")
        except _UNPICKLABLE as fault:
            self._refuse(f"it cannot be written: {fault}")

    def made(
        self,
        given: Sequence[types.Type],
        emitted: Emitted,
        function: FunctionType,
        title: str,
        read: Reads,
    ) -> None:
        """Takes note of code that was generated for these types, from what was `read`, before it is compiled."""
        from adjit.transform.emit import module_text

        # what was bound anew since it was looked for makes another one in the end
        key = self._looked_for.pop(tuple(given), None) or self._key(tuple(given))
        if key is None:
            return
        extensions = third_party_overloads.implementers((*key.callables, *emitted.names.values()), KNOWN)
        versions = {package: third_party_overloads.version(package) for package in extensions}
        reason = _unsure(key, read.functions, emitted) or next(
            (f"{extensions[p]} is compiled by code of {p}" for p, version in versions.items() if version is None), None
        )
        if reason is not None:
            self._refuse(reason)
            return
        # symbols are the same in each process that compiles or loads this, and no others are
        function.__qualname__ = f"{function.__name__}_{key.text}"
        needed = tuple((package, str(version)) for package, version in sorted(versions.items()))
        as_module = module_text(emitted, is_tuned=True)
        written, changed = self.outside.named(read.written), self.outside.of_own(read.changed)
        memory = places_of(read.memory.values(), key.memory) if written or changed else ()
        noted = written, changed, memory, tuple(sorted(read.warned))
        self._made[tuple(given)] = _Made(key.text, title, emitted.text, emitted.whole.text, as_module, needed, *noted)

    def text(self, given: Sequence[types.Type]) -> str | None:
        """The generated source for these types, if it is kept."""
        kept = self._found(self._key(tuple(given)))
        return None if kept is None else kept.whole

    def check_kept(self, given: tuple[types.Type, ...]) -> None:
        """Warns NotCached if there is no entry for these types."""
        key = self._key(given)
        if key is None or not (store.folder() / f"{self._name_of(key.text)}.bin").exists():
            why = _refused.get(self.name, "ADJIT_DUMP or ADJIT_VERIFY is set")
            warnings.warn(f"{self.name} is compiled in each process: {why}.", NotCached, stacklevel=5)

    def _key(self, given: tuple[types.Type, ...]) -> Key | None:
        asks_to_see = switches.is_on("ADJIT_DUMP") or switches.is_on("ADJIT_VERIFY")
        # numba comes back with the values of strings
        if not self.enabled or asks_to_see or any(isinstance(t, types.UnicodeType) for t in given):
            return None
        try:
            return key_of(self.derivative, given, self.options)
        except NotKeyed as reason:
            self._refuse(str(reason))
            return None

    def _found(self, key: Key | None) -> _Kept | None:
        """What is kept under a key, if there is one."""
        if key is None:
            return None
        try:
            payload = store.read(self._name_of(key.text))
        except OSError as fault:
            self._refuse(f"the cache cannot be read: {fault}")
            return None
        if payload is None:
            _count["misses"] += 1
            return None
        return _Kept(*pickle.loads(payload))

    def _name_of(self, key: str) -> str:
        return f"{re.sub(r'[^A-Za-z0-9_]', '', self.name)[:60]}_{self.derivative.kind}-{key}"

    def _refuse(self, why: str) -> None:
        if _refused.get(self.name) != why:
            _refused[self.name] = why
            if self.options.cache:
                said = f"cache=True: {self.name} is compiled in each process: {why}."
                warnings.warn(said, NotCached, stacklevel=2)


class _Calls:
    """Keeps functions of libraries that are compiled apart (`backend/separate_compilation.py`): `solve-5f0c...call`."""

    def stamp(self) -> str:
        # to read all of adjit's source takes longer than to compile a short function
        return stamp() if is_on() else ""

    def read(self, name: str, target_context: Any) -> tuple[calls.Call, Any] | None:
        if not is_on():
            return None
        try:
            payload = store.read(f"call-{name}", ".call")
            if payload is None:
                return None
            call, code, needed = pickle.loads(payload)
            found = unpacked_code(target_context, code, needed)
        except (OSError, *_STALE):
            return None
        return None if found is None else (call, found)

    def write(self, name: str, call: calls.Call, result: Any) -> None:
        if not is_on() or holds_addresses(result):
            return
        # a folder that cannot be written to is said of derivatives
        with contextlib.suppress(OSError, *_UNPICKLABLE):
            store.write(f"call-{name}", packed((call, packed_code(result), symbols(result))), None, ".call")


calls.kept_by(_Calls())


def _unsure(key: Key, read: Collection[FunctionType], emitted: Emitted) -> str | None:
    """Why the key may not stand for all that the code was made from; None if it does."""
    for function in read:
        home = str(function.__globals__.get("__name__")).partition(".")[0]
        if function not in key.functions and home not in KNOWN:
            return f"{function.__qualname__} is called in a way that the key of the cache does not cover"
    for value in emitted.names.values():
        if is_dispatcher(value):
            if "<locals>" in value.py_func.__qualname__:
                # numba's symbols do not tell one closure from another of the same name
                return f"it calls {value.py_func.__qualname__}, which is defined inside a function"
        elif isinstance(value, type | types.Type) or not callable(value):
            continue
        elif path_of(value) is None:
            return f"it calls {getattr(value, '__qualname__', value)}, which numba compiles in its own way"
    return None
