"""Compiled code on its way to disk and back.

In: numba's result of a compilation. Out: bytes, and the result again in a later process.

    packed_code(result)  ->  bytes;      unpacked_code(target_context, bytes, symbols)  ->  a result of this process

What numba loads when it first compiles, its registries and extensions, is not loaded for that: machine code needs no
more than the symbols that it names, and the registries only if one of these is not there.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.typing.templates import Signature

from adjit.runtime.backend import calls, pool, special, wrapper
from adjit.runtime.backend.loading import THREADS, counts_threads, load_routines_for

# The part of a dispatcher that numba asks before it compiles and tells afterwards.
Cache = _Cache


def argument_types(signature: Any) -> tuple[types.Type, ...]:
    return tuple(sigutils.normalize_signature(signature)[0])


def is_signature(value: Any) -> bool:
    """Whether it is one of numba's, as `float64(float64)`."""
    return isinstance(value, Signature)


def holds_addresses(result: Any) -> bool:
    """Whether the machine code holds addresses of this process."""
    return bool(result.library.has_dynamic_globals)


def symbols(result: Any) -> tuple[str, ...]:
    """The names of what the machine code takes from elsewhere."""
    module = result.library._final_module
    named = (thing.name for thing in (*module.functions, *module.global_variables) if thing.is_declaration)
    return tuple(sorted(name for name in named if not name.startswith("llvm.")))


def packed(value: Any) -> bytes:
    """A value as bytes: numba's pickle, which takes functions that modules do not have."""
    made: bytes = dumps(value)
    return made


def packed_code(result: Any) -> bytes:
    """The result, but for what numba says of the type of each variable, which takes half of the time to write out."""
    return packed((tuple(result.reload_init), result._replace(type_annotation="")._reduce()))


def unpacked_code(target_context: Any, data: bytes, names: Collection[str], text: str = "") -> Any:
    """The result of a compilation that takes these symbols from elsewhere, or None if one of them is not there; what
    pickle raises, and RuntimeError, where it does not fit any more. `text`: what numba shows for it."""
    rtsys.initialize(target_context)
    pool.ready()
    if wrapper.is_called(names):
        wrapper.give_symbols()
    if any(name.startswith(special.PREFIX) for name in names):
        special.give_symbols()
    load_routines_for(names)
    if THREADS in names:
        counts_threads()
    calls.give_symbols(names)
    started, parts = pickle.loads(data)
    for start in started:
        # numba's threads, with symbols of their own
        start()
    if not _are_there(names):
        target_context.refresh()
        if not _are_there(names):
            return None
    return CompileResult._rebuild(target_context, *parts)._replace(type_annotation=text)


def _are_there(names: Collection[str]) -> bool:
    return all(llvm.address_of_symbol(name) for name in names)
