"""The key of a derivative: a digest of everything that its generated code depends on, found without transforming it.

In: a `Derivative`, argument types and options. Out: a digest, or `NotKeyed` with the reason why there is none.

    def f(x): return k * helper(x)       the text and the code of f and helper, the value of k, the type of x, ...

Whatever a name in a function may stand for counts, even where the name is only an attribute (`x.size` counts a global
`size`): too much in a key costs a compilation, too little a wrong result. Of what comes with Python, NumPy, numba,
SciPy and adjit the name counts, and the version of the whole.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import ntpath
import platform
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import config, typeof, types

from adjit import rules
from adjit.errors import SourceUnavailable
from adjit.rules import registry
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.backend import versions as backend_versions
from adjit.transform.source.callables import file_lines, is_distribution
from adjit.transform.source.derivative import Derivative
from adjit.transform.source.structures import known_by

# Packages that a version stands for. Of Python's own only those that NumPy imports: another file of theirs may be the
# user's, as `statistics.py` beside a script is.
KNOWN = frozenset((
    "builtins", "math", "cmath", "operator", "_operator", "random", "functools", "itertools", "typing",
    "numpy", "numba", "llvmlite", "scipy", "adjit",
))  # fmt: skip

# Settings of numba's that change the code it makes.
_SETTINGS = (
    "OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "ENABLE_AVX", "USING_SVML",
    "DISABLE_PERFORMANCE_WARNINGS", "CPU_NAME", "CPU_FEATURES", "THREADING_LAYER",
)  # fmt: skip

_NUMBERS = types.Number | types.Boolean | types.NPDatetime | types.NPTimedelta

# numba compiles larger arrays as addresses.
_LARGEST = 10**6


class NotKeyed(Exception):
    """Something that the generated code may depend on has no digest."""


def key_of(derivative: Derivative, arg_types: Iterable[types.Type], options: Any) -> str:
    """The digest for these argument types; `options` is a dataclass. Raises NotKeyed."""
    walk = _Walk()
    walk.text("adjit", versions())
    walk.value(derivative)
    walk.many("types", [_type_text(t) for t in arg_types])
    walk.value(options)
    # all rules of the user's: which of them an operation falls under is only known when it is elaborated
    walk.many("rules", sorted(map(_digest, registry.user.entries.items())))
    walk.text("target", backend_versions.target())
    walk.text("settings", repr([getattr(config, name, None) for name in _SETTINGS]))
    for name in sorted(walk.packages - {"numpy", "numba", "llvmlite", "adjit"}):
        walk.text(name, str(getattr(sys.modules.get(name), "__version__", "")))
    return walk.digest()


@functools.cache
def versions() -> str:
    """adjit's own source, and the versions of what compiles it."""
    own = hashlib.blake2b()
    root = Path(rules.__file__).parents[1]
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".ll")):
        own.update(f"{path.relative_to(root)}\0".encode())
        own.update(path.read_bytes())
    return repr((own.hexdigest(), *backend_versions.versions(), sys.version, platform.machine()))


def _type_text(type_: types.Type) -> str:
    """A text that no other type has."""
    if isinstance(type_, types.BaseTuple):
        named = getattr(type_, "instance_class", tuple)
        parts = ", ".join(map(_type_text, type_.types))  # type: ignore[attr-defined]
        return f"{named.__module__}.{named.__qualname__}({parts})"
    if isinstance(type_, types.Omitted):
        # the value is a default of the function
        return f"omitted {_type_text(typeof(type_.value))}"  # type: ignore[no-untyped-call]
    if isinstance(type_, types.Array) and isinstance(type_.dtype, _NUMBERS):
        return str(type_)
    if isinstance(type_, _NUMBERS | types.NoneType | types.StringLiteral | types.Literal | types.UnicodeType):
        return f"{type(type_).__name__} {type_}"
    raise NotKeyed(f"an argument is of type {type_}")


class _Walk:
    """A digest in the making. Each piece is written with its kind and its length, so that no two texts run together."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=20)
        # places and things: what is met stays alive, so that its identity stays its own
        self._met: dict[object, tuple[int, object]] = {}
        self.packages: set[str] = set()

    def digest(self) -> str:
        return self._hash.hexdigest()

    def bytes(self, kind: str, data: bytes | memoryview) -> None:
        self._hash.update(f"{kind} {len(data)}\0".encode())
        self._hash.update(data)

    def text(self, kind: str, text: str) -> None:
        self.bytes(kind, text.encode("utf-8", "surrogatepass"))

    def many(self, kind: str, texts: Iterable[str]) -> None:
        self.text(kind, "\0".join(texts))

    # -------------------------------------------------------------------------------------------------- functions

    def function(self, function: FunctionType) -> None:
        """A function of Python's: its text, its code, and whatever the names in it stand for."""
        code = function.__code__
        try:
            lines = file_lines(function)
        except SourceUnavailable:
            raise NotKeyed(f"the source of {function.__qualname__} is unknown") from None
        self.text("function", f"{function.__module__} {function.__qualname__} {ntpath.basename(code.co_filename)}")
        self.text("source", "".join(lines[code.co_firstlineno - 1 : _last_line(code)]))
        self.code(code)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        self.value({name: value for name, value in vars(function).items() if not name.startswith("__")})
        names = names_in(code)
        for kind, name, value in values_of_names(function):
            self.text(kind, name)
            self.named(value, names)

    def code(self, code: CodeType) -> None:
        """A code object, without the folder that it was compiled in."""
        self.bytes("code", code.co_code)
        self.bytes("handlers", code.co_exceptiontable)
        self.bytes("positions", code.co_linetable)
        shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_firstlineno)
        self.text("shape", repr(shape))
        self.many("names", (code.co_name, *code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars))
        self.many("kinds", map(str, map(len, (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.code(constant)
            else:
                self.value(constant)

    # ----------------------------------------------------------------------------------------------------- values

    def named(self, value: object, names: tuple[str, ...]) -> None:
        """What a name stands for; if it has parts that are reached through it, those that `names` may mean."""
        if isinstance(value, ModuleType):
            self.parts(value, value.__name__, names)
        elif type(value) is type and _path(value) is None:
            self.parts(value, f"{value.__module__}.{value.__qualname__}", names)
        else:
            self.value(value)

    def parts(self, owner: Any, title: str, names: tuple[str, ...]) -> None:
        self.text("owner", title)
        if self.is_met(owner, (id(owner), names)):
            return
        for name in names:
            part = getattr(owner, name, self)
            if part is self:
                continue
            self.text("part", name)
            try:
                self.named(part, names)
            except NotKeyed:
                # an object of a library's own, which its version stands for
                if _path(owner) is None or _path(type(part)) is None:
                    raise
                self.text("library", f"{title}.{name}")

    def is_met(self, thing: object, identity: object) -> bool:
        """Whether this was written before; then its place is written, and later ones of it count as met."""
        if identity in self._met:
            self.text("met", str(self._met[identity][0]))
            return True
        self._met[identity] = len(self._met), thing
        return False

    def value(self, value: Any) -> None:
        """Any value that generated code may hold, by what it is."""
        if value is None or value is Ellipsis or value is NotImplemented or isinstance(value, bool):
            self.text("constant", repr(value))
        elif type(value) in (int, float, complex, str, bytes):
            self.text(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray | np.generic):
            self.numbers(value)
        elif isinstance(value, enum.Enum):
            self.text("enum", f"{type(value).__module__}.{type(value).__qualname__}.{value.name}")
            self.value(value.value)
        elif type(value) in _CONTAINERS or (isinstance(value, tuple) and hasattr(value, "_fields")):
            self.container(value)
        elif isinstance(value, slice):
            self.container((value.start, value.stop, value.step))
        elif isinstance(value, types.Type):
            self.text("numba type", _type_text(value) if not isinstance(value, types.NumberClass) else str(value))
        elif isinstance(value, np.dtype):
            self.text("dtype", f"{value.str} {value.name}")
        elif known := known_by(value):
            self.text("known by its parts", f"{type(value).__module__}.{type(value).__qualname__}")
            for part in known.values():
                self.value(part)
        elif dataclasses.is_dataclass(value) and type(value).__module__.startswith("adjit."):
            self.dataclass(value)
        else:
            self.callable(value)

    def numbers(self, value: np.ndarray[Any, Any] | np.generic) -> None:
        if value.dtype.hasobject:
            raise NotKeyed("there is an array of objects")
        if value.nbytes > _LARGEST:
            raise NotKeyed(f"it reads a global array of {value.nbytes:,} bytes, which is compiled as an address")
        if isinstance(value, np.ndarray):
            flags = value.flags
            layout = (value.shape, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned)
            self.text("array", f"{type(value).__name__} {value.dtype!r} {layout}")
        else:
            self.text("scalar", f"{value.dtype!r}")
        self.bytes("elements", np.ascontiguousarray(value).tobytes())

    def container(self, value: Any) -> None:
        self.text("container", f"{type(value).__module__}.{type(value).__qualname__} {len(value)}")
        if not isinstance(value, tuple) and self.is_met(value, id(value)):
            return
        if isinstance(value, set | frozenset):
            # their order changes from process to process
            for digest in sorted(map(_digest, value)):
                self.text("member", digest)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.value(key)
                self.value(item)
        else:
            for item in value:
                self.value(item)

    def dataclass(self, value: Any) -> None:
        self.text("dataclass", type(value).__name__)
        for field in dataclasses.fields(value):
            self.text("field", field.name)
            self.value(getattr(value, field.name))

    def callable(self, value: Any) -> None:
        """A function, a class or a dispatcher."""
        if hasattr(value, "derivative") and hasattr(value, "options"):
            self.text("derived", type(value).__name__)
            self.value(value.derivative)
            self.value(value.options)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.value(value.__wrapped__)
        elif is_dispatcher(value):
            self.text("dispatcher", type(value).__name__)
            self.value(value.targetoptions)
            self.value(value._compiler.locals)
            self.value(value.py_func)
        elif (path := _path(value)) is not None:
            self.packages.add(path.partition(".")[0])
            self.text("known", path)
        elif isinstance(value, FunctionType):
            self.text("plain", value.__qualname__)
            if not self.is_met(value, id(value)):
                self.function(value)
        elif isinstance(value, type) and issubclass(value, BaseException):
            self.text("exception", f"{value.__module__}.{value.__qualname__}")
        else:
            raise NotKeyed(f"{_shown(value)} is of a kind that has no digest")


_CONTAINERS = (tuple, list, dict, set, frozenset)


def _digest(value: Any) -> str:
    walk = _Walk()
    walk.value(value)
    return walk.digest()


def _path(value: Any) -> str | None:
    """Where a library has this under its own name, so that the name and the library's version stand for it."""
    if isinstance(value, ModuleType):
        return value.__name__ if value.__name__.partition(".")[0] in KNOWN else None
    if isinstance(value, FunctionType):
        # what a decorator copies onto its wrapper is left aside
        module, name = str(value.__globals__.get("__name__")), value.__code__.co_qualname
        is_own = module.partition(".")[0] in KNOWN and "<locals>" not in name
        return f"{module}.{name}:{value.__code__.co_firstlineno}" if is_own else None
    owner = getattr(value, "__self__", None)
    if isinstance(value, BuiltinFunctionType) and isinstance(owner, np.random.RandomState | random.Random):
        # numba puts generators of its own in the place of those behind np.random and random
        return f"{type(owner).__module__}.{value.__qualname__}"
    if is_distribution(value):
        return f"scipy.stats.{value.name}"
    own_name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    modules = ("numpy", "scipy.special") if isinstance(value, np.ufunc) else (getattr(value, "__module__", None),)
    for home in modules:
        if isinstance(home, str) and isinstance(own_name, str) and home.partition(".")[0] in KNOWN:
            found: Any = sys.modules.get(home)
            for part in own_name.split("."):
                found = getattr(found, part, None)
            if found is value:
                return f"{home}.{own_name}"
    return None


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> tuple[str, ...]:
    """The names in a function and in those defined inside it."""
    inner = (name for c in code.co_consts if isinstance(c, CodeType) for name in names_in(c))
    return tuple(dict.fromkeys((*code.co_names, *inner)))


class Empty:
    """What stands for a name around a function that has no value yet."""


def values_of_names(function: FunctionType) -> Iterator[tuple[str, str, object]]:
    """What the enclosing and global names in a function stand for: `cell` or `global`, the name, the value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            value = Empty
        yield "cell", name, value
    for name in names_in(function.__code__):
        if name in function.__globals__:
            yield "global", name, function.__globals__[name]


def _last_line(code: CodeType) -> int:
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    inner = [_last_line(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return max([code.co_firstlineno, *ends, *inner])


def _shown(value: Any) -> str:
    return getattr(value, "__qualname__", None) or f"an object of type {type(value).__qualname__}"
