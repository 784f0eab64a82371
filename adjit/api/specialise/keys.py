"""The key of a derivative: a digest of everything that its generated code depends on, found without transforming it.

In: a `Derivative`, argument types and options. Out: its `Key`, or `NotKeyed` with the reason why there is none.

    def f(x): return k * helper(x)       the text and the code of f and helper, the value of k, the type of x, ...

Beside what the function reaches (`digests.py`) these are all the rules of the user's, the versions of what compiles,
the processor, and numba's settings. Of a file its name counts, not the folder, and the lines on which the function
stands: they are in the comments and messages of the generated code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from numba import config, types

from adjit import rules
from adjit.api.specialise.digests import NotKeyed, Walk
from adjit.rules import registry
from adjit.runtime.backend import third_party_overloads
from adjit.runtime.backend import versions as backend_versions
from adjit.transform.source.derivative import Derivative

# Settings of numba's that make no difference to the code that it makes.
_IRRELEVANT = frozenset((
    "CACHE_DIR", "CACHE_LOCATOR_CLASSES", "COLOR_SCHEME", "FULL_TRACEBACKS", "FUNCTION_CACHE_SIZE", "GDB_BINARY",
    "HIGHLIGHT_DUMPS", "NUMBA_DEFAULT_NUM_THREADS", "NUMBA_NUM_THREADS", "RUNNING_UNDER_PROFILER", "SHOW_HELP",
))  # fmt: skip


class Key(NamedTuple):
    """`text` is the digest; `functions` and `callables` are of the user's, and of all, that it stands for; `memory`,
    arrays, lists, dictionaries and objects, comes in the same order wherever the digest is the same."""

    text: str
    functions: frozenset[FunctionType]
    callables: tuple[Any, ...]
    memory: tuple[Any, ...]


def key_of(derivative: Derivative, arg_types: Iterable[types.Type], options: Any) -> Key:
    """The key for these argument types; `options` is a dataclass. Raises NotKeyed."""
    walk = Walk()
    walk.text("adjit", versions())
    walk.value(derivative)
    for type_ in arg_types:
        walk.numba_type(type_)
    walk.value(dataclasses.replace(options, cache=None))
    # all rules of the user's: which of them an operation falls under is only known when it is elaborated
    walk.many("rules", sorted(walk.separately(registry.user.entries.items())))
    walk.text("target", backend_versions.target())
    walk.text("settings", _settings())
    # what numba compiles in the place of what is called
    walk.digest()
    for overload in third_party_overloads.overloads(tuple(walk.callables)):
        walk.value(overload)
    found = walk.digest()
    of_packages = [(name, _version(name)) for name in sorted(walk.packages - {"numpy", "numba", "llvmlite", "adjit"})]
    text = hashlib.blake2b(f"{found} {of_packages}".encode(), digest_size=20).hexdigest()
    return Key(text, frozenset(walk.functions), tuple(walk.callables), tuple(walk.memory))


@functools.cache
def versions() -> str:
    """adjit's own source, and the versions of what compiles it."""
    own = hashlib.blake2b()
    root = Path(rules.__file__).parents[1]
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".ll")):
        own.update(f"{path.relative_to(root)}\0".encode())
        own.update(path.read_bytes())
    return repr((own.hexdigest(), *backend_versions.versions(), sys.version, platform.machine()))


def stamp() -> str:
    """What the code of libraries depends on that is compiled for derivatives, besides what it is."""
    return repr((versions(), backend_versions.target(), _settings(), _version("scipy")))


def _version(package: str) -> str:
    return str(getattr(sys.modules.get(package), "__version__", ""))


def _settings() -> str:
    """numba's settings, as they are now: too many of them rather than too few."""
    names = sorted(n for n in vars(config) if n.isupper() and not n.startswith("CUDA_") and n not in _IRRELEVANT)
    plain = (bool, int, float, str, type(None))
    return repr([(name, value) for name in names if isinstance(value := getattr(config, name), plain)])


__all__ = ["Key", "NotKeyed", "key_of", "stamp", "versions"]
