"""Compiled code on its way to disk and back.

In: numba's result of a compilation. Out: bytes, and the result again in a later process.

    packed(result)      ->      bytes;      unpacked(target_context, bytes)      ->      a result of this process
"""

from __future__ import annotations

import pickle
from typing import Any

from numba import types
from numba.core import sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from adjit.runtime.backend import pool, special

# The part of a dispatcher that numba asks before it compiles and tells afterwards.
Cache = _Cache


def argument_types(signature: Any) -> tuple[types.Type, ...]:
    return tuple(sigutils.normalize_signature(signature)[0])


def holds_addresses(result: Any) -> bool:
    """Whether the machine code holds addresses of this process."""
    return bool(result.library.has_dynamic_globals)


def packed(value: Any) -> bytes:
    """A value as bytes: numba's pickle, which takes functions that modules do not have."""
    made: bytes = dumps(value)
    return made


def packed_code(result: Any) -> bytes:
    return packed(result._reduce())


def unpacked_code(target_context: Any, data: bytes) -> Any:
    """The result of a compilation; what pickle raises, and RuntimeError, where it does not fit any more."""
    pool.ready()
    if special.has_symbols(data):
        special.give_symbols()
    return CompileResult._rebuild(target_context, *pickle.loads(data))
