"""Digests of functions and values: of all that a function reaches, by what it is.

In: functions, classes, objects, values. Out: a digest, or `NotKeyed` with the reason why there is none.

    def f(x): return k * helpers.shift(x)      text and code of f and shift, the value of k, and what shift reaches

Of a module or a class of the user's, each part counts whose name is anywhere in the functions that are reached: which
of them a name is looked up in is only known when the program is elaborated. Too much in a digest costs a compilation,
too little a wrong result. Of what comes with Python, NumPy, numba, SciPy and adjit the name counts, and the version of
the whole.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import hashlib
import ntpath
import random
import sys
import types as python_types
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, Protocol

import numpy as np
from numba import objmode, typeof, types

from adjit.errors import SourceUnavailable
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.library import own_attribute, under_cache
from adjit.transform.source.callables import file_lines, is_distribution
from adjit.transform.source.code_names import imports, last_line, names_in, values_of_names
from adjit.transform.source.derivative import derivative_of
from adjit.transform.source.external_reads import (
    contents_read,
    definitions_read,
    function_read,
    read_attribute,
    specials_read,
)
from adjit.transform.source.frozen_names import all_kept
from adjit.transform.source.structures import attributes, is_object, known_by

# Packages that a version stands for. Of Python's own only those that NumPy imports: another file of theirs may be the
# user's, as `statistics.py` beside a script is.
KNOWN = frozenset((
    "builtins", "math", "cmath", "operator", "_operator", "random", "functools", "itertools", "typing", "abc", "enum",
    "collections", "dataclasses", "types", "numbers", "warnings", "numpy", "numba", "llvmlite", "scipy", "adjit",
))  # fmt: skip

_NUMBERS = types.Number | types.Boolean | types.NPDatetime | types.NPTimedelta

# numba compiles larger arrays as addresses.
_LARGEST = 10**6

# With these a name is found that stands nowhere in the text.
_BY_TEXT = frozenset((
    "getattr", "hasattr", "setattr", "vars", "dir", "globals", "locals", "eval", "exec", "attrgetter", "methodcaller",
    "__dict__", "import_module", "__import__",
))  # fmt: skip

# Methods that are not Python's code.
_OF_BUILTINS = (
    python_types.WrapperDescriptorType, python_types.MethodDescriptorType, python_types.ClassMethodDescriptorType,
    python_types.BuiltinFunctionType,
)  # fmt: skip
_WRITTEN_IN_PYTHON = 1 << 9  # among the flags of a class
_GENERATORS = (np.random.RandomState, random.Random)
_CONTAINERS = (tuple, list, dict, set, frozenset)
# Bases whose objects are their attributes, and no more.
_EMPTY_BASES = (object, abc.ABC, Generic, Protocol, python_types.SimpleNamespace)
_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta, type(Protocol))
# Python's own that write methods for classes: what these do follows from the fields.
_WRITERS = ("dataclasses", "collections", "reprlib", "enum", "typing", "abc")
# What classes have besides what their users wrote, or for other readers than compilers.
_UNREAD = frozenset((
    "__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__qualname__", "__firstlineno__", "__static_attributes__", "__parameters__",
    "__orig_bases__", "__abstractmethods__", "__hash__", "__type_params__", "__dataclass_fields__",
    "__dataclass_params__", "__classcell__",
))  # fmt: skip


class NotKeyed(Exception):
    """Something that the generated code may depend on has no digest."""


class Walk:
    """A digest in the making. Each piece is written with its kind and its length, so that no two texts run together.

    packages:  those whose versions stand for what is reached of them
    functions: Python's functions, of the user's, whose text is in the digest
    callables: whatever may be called
    memory:    arrays, lists, dictionaries and objects that are in the digest, in the order of the walk
    """

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=20)
        # places and things: what is met stays alive, so that its identity stays its own
        self._met: dict[object, tuple[int, object]] = {}
        self._owners: dict[int, tuple[str, Any]] = {}
        self._names: dict[str, None] = {}
        self._parts: set[tuple[int, str]] = set()
        self.packages: set[str] = set()
        self.functions: set[FunctionType] = set()
        self.callables: list[Any] = []
        self.memory: list[Any] = []

    def digest(self) -> str:
        """What is written; with it the parts of modules and classes under all names that were met."""
        count = -1
        while count != len(self._parts):
            count = len(self._parts)
            for title, owner in tuple(self._owners.values()):
                for name in tuple(self._names):
                    if (id(owner), name) not in self._parts:
                        self._parts.add((id(owner), name))
                        self._part(title, owner, name)
        return self._hash.hexdigest()

    def bytes(self, kind: str, data: bytes | memoryview) -> None:
        self._hash.update(f"{kind} {len(data)}\0".encode())
        self._hash.update(data)

    def text(self, kind: str, text: str) -> None:
        self.bytes(kind, text.encode("utf-8", "surrogatepass"))

    def many(self, kind: str, texts: Iterable[str]) -> None:
        self.text(kind, "\0".join(texts))

    def is_met(self, thing: object, identity: object) -> bool:
        """Whether this was written before; then its place is written, and later ones of it count as met."""
        if identity in self._met:
            self.text("met", str(self._met[identity][0]))
            return True
        self._met[identity] = len(self._met), thing
        return False

    def separately(self, values: Iterable[Any]) -> list[str]:
        """A digest each, which does not depend on what else was met."""
        made = []
        for value in values:
            walk = Walk()
            walk.value(value)
            made.append(walk.digest())
            self.functions |= walk.functions
            self.packages |= walk.packages
            self.callables += walk.callables
        return made

    # -------------------------------------------------------------------------------------------------- functions

    def function(self, function: FunctionType) -> None:
        """A function of Python's: its text, its code, and whatever the names in it stand for."""
        code = function.__code__
        try:
            lines = file_lines(function)
        except SourceUnavailable:
            raise NotKeyed(f"the source of {function.__qualname__} is unknown") from None
        self.functions.add(function)
        function_read(function)
        # a file is one module when it is imported, and another when it is run
        self.text("function", f"{function.__qualname__} {ntpath.basename(code.co_filename)}")
        self.text("source", "".join(lines[code.co_firstlineno - 1 : last_line(code)]))
        self.code(code)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        contents_read(vars(function))
        self.value({name: value for name, value in vars(function).items() if not name.startswith("__")})
        names = names_in(code)
        by_text = _BY_TEXT.intersection(names)
        if by_text:
            raise NotKeyed(f"{function.__qualname__} looks names up by {min(by_text)}")
        if imports(code):
            raise NotKeyed(f"{function.__qualname__} imports as it runs")
        self._names.update(dict.fromkeys(names))
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

    # ----------------------------------------------------------------------------------------- modules and classes

    def named(self, value: object, names: tuple[str, ...]) -> None:
        """What a name in a function stands for, where these are all the names in it."""
        if not isinstance(value, ModuleType):
            self.value(value)
        elif path_of(value) is None:
            self.owner(value, value.__name__)
        else:
            self.library(value, names)

    def library(self, module: ModuleType, names: tuple[str, ...]) -> None:
        """A module of a library's: what is found there under these names, which may be another's."""
        self.text("library", module.__name__)
        self.packages.add(module.__name__.partition(".")[0])
        if self.is_met(module, (id(module), names)):
            return
        for name in names:
            part = read_attribute(module, name, self)
            if part is self:
                continue
            self.text("part", name)
            try:
                self.named(part, names)
            except NotKeyed:
                # an object of the library's own, which its version stands for
                if path_of(type(part)) is None:
                    raise
                self.text("object", f"{module.__name__}.{name}")

    def owner(self, owner: Any, title: str) -> None:
        """A module or a class of the user's, whose parts are looked at in the end."""
        self.text("owner", title)
        if id(owner) in self._owners:
            return
        self._owners[id(owner)] = f"{title} {len(self._owners)}", owner
        if isinstance(owner, type):
            self._class(owner)

    def _class(self, owner: type) -> None:
        """What of a class is used without its name."""
        specials_read(owner)
        for base in owner.__mro__[1:]:
            path = path_of(base)
            if path is None:
                self.type(base)
            else:
                self.text("base", path)
        if dataclasses.is_dataclass(owner):
            self.text("fields", repr(getattr(owner, "__dataclass_params__", None)))
            for field in dataclasses.fields(owner):
                self.text("field", f"{field.name} {field.init} {field.kw_only} {field.compare} {field.repr}")
                for default in (field.default, field.default_factory):
                    if default is dataclasses.MISSING:
                        self.text("field", "none")
                    else:
                        self.value(default)
        if issubclass(owner, enum.Enum):
            for name, member in owner.__members__.items():
                self.text("member", name)
                self.value(member.value)
        for name, thing in vars(owner).items():
            if name.startswith("__") and name not in _UNREAD and not _is_written(thing):
                self.text("special", name)
                self.member(thing)

    def _part(self, title: str, owner: Any, name: str) -> None:
        if not isinstance(owner, type):
            part = read_attribute(owner, name, self)
        elif name in getattr(owner, "__members__", ()) or name in getattr(owner, "_fields", ()):
            part = self
        else:
            definitions_read(owner, (name,))
            part = vars(owner).get(name, self)
        if part is not self and not (isinstance(owner, type) and name.startswith("__")):
            self.text("part", f"{title}.{name}")
            if isinstance(part, ModuleType):
                self.named(part, tuple(self._names))
            else:
                self.member(part)

    def member(self, thing: Any) -> None:
        """Something under a name in a class or a module."""
        if isinstance(thing, staticmethod | classmethod):
            self.text("member", type(thing).__name__)
            self.value(thing.__func__)
        elif isinstance(thing, property):
            self.text("member", "property")
            for function in (thing.fget, thing.fset):
                self.value(function)
        elif isinstance(thing, functools.cached_property):
            self.text("member", "cached property")
            self.value(thing.func)
        elif isinstance(thing, python_types.MemberDescriptorType):
            self.text("member", "slot")
        elif not _is_written(thing):
            self.value(thing)

    def type(self, kind: type) -> None:
        """A class, by its name if it is a library's, or else by what it is made of."""
        path = path_of(kind)
        if path is not None:
            self.packages.add(path.partition(".")[0])
            self.text("known", path)
        elif kind.__module__ == "builtins" and not kind.__flags__ & _WRITTEN_IN_PYTHON:
            # the interpreter's own, as that of functions, which has no place in a module
            self.text("built in", kind.__qualname__)
        elif issubclass(kind, BaseException):
            self.text("exception", f"{kind.__module__}.{kind.__qualname__}")
        elif type(kind) in _METACLASSES:
            self.owner(kind, f"{kind.__module__}.{kind.__qualname__}")
        else:
            raise NotKeyed(f"the class {kind.__qualname__} is of a kind that has no digest")

    # ----------------------------------------------------------------------------------------------------- values

    def value(self, value: Any) -> None:
        """Any value that generated code may hold, by what it is."""
        if value is None or value is Ellipsis or value is NotImplemented or isinstance(value, bool):
            self.text("constant", repr(value))
        elif type(value) in (int, float, complex, str, bytes):
            self.text(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray | np.generic):
            self.numbers(value)
        elif isinstance(value, enum.Enum):
            self.text("enum", value.name)
            self.type(type(value))
            self.value(value.value)
        elif type(value) in _CONTAINERS or (isinstance(value, tuple) and hasattr(value, "_fields")):
            self.container(value)
        elif isinstance(value, slice | range):
            self.text("places", type(value).__name__)
            self.container((value.start, value.stop, value.step))
        elif isinstance(value, types.Type):
            if isinstance(value, types.NumberClass):
                self.text("numba type", str(value))
            else:
                self.numba_type(value)
        elif isinstance(value, np.dtype):
            self.text("dtype", repr(value))
        elif known := known_by(value):
            self.text("identified by its parts", f"{type(value).__module__}.{type(value).__qualname__}")
            for part in known.values():
                self.value(part)
        elif dataclasses.is_dataclass(value) and type(value).__module__.startswith("adjit."):
            self.dataclass(value)
        else:
            self.callable(value)

    def numba_type(self, type_: types.Type) -> None:
        """A type of an argument."""
        if isinstance(type_, types.BaseTuple):
            named = getattr(type_, "instance_class", tuple)
            parts: tuple[types.Type, ...] = tuple(type_.types)  # type: ignore[attr-defined]
            self.text("tuple", f"{named.__module__}.{named.__qualname__} {len(parts)}")
            if named is not tuple:
                self.type(named)
            for part in parts:
                self.numba_type(part)
        elif isinstance(type_, types.Omitted):
            # the value is a default of the function
            self.text("type", "omitted")
            self.numba_type(typeof(type_.value))  # type: ignore[no-untyped-call]
        elif isinstance(type_, types.Array) and isinstance(type_.dtype, _NUMBERS):
            self.text("type", str(type_))
        elif isinstance(type_, _NUMBERS | types.NoneType | types.StringLiteral | types.Literal | types.UnicodeType):
            self.text("type", f"{type(type_).__name__} {type_}")
        else:
            raise NotKeyed(f"an argument is of type {type_}")

    def numbers(self, value: np.ndarray[Any, Any] | np.generic) -> None:
        if value.dtype.hasobject:
            raise NotKeyed("there is an array of objects")
        if value.nbytes > _LARGEST:
            raise NotKeyed(f"it reads a global array of {value.nbytes:,} bytes, which is compiled in as an address")
        if isinstance(value, np.ndarray):
            self.memory.append(value)
            flags = value.flags
            layout = (value.shape, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned)
            self.text("array", f"{type(value).__name__} {value.dtype!r} {layout}")
        else:
            self.text("scalar", f"{value.dtype!r}")
        self.bytes("elements", np.ascontiguousarray(value).tobytes())

    def container(self, value: Any) -> None:
        self.text("container", f"{type(value).__module__}.{type(value).__qualname__} {len(value)}")
        if type(value) not in _CONTAINERS:
            self.type(type(value))
        if not isinstance(value, tuple) and self.is_met(value, id(value)):
            return
        if not isinstance(value, tuple):
            self.memory.append(value)
            contents_read(value)
        if isinstance(value, set | frozenset):
            # their order changes from process to process
            for digest in sorted(self.separately(value)):
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
        """A function, a class or a dispatcher; or an object of the user's."""
        self.callables.append(value)
        if derivative_of(value) is not None and hasattr(value, "options"):
            self.text("derived", type(value).__name__)
            self.value(value.derivative)
            self.value(value.options)
        elif isinstance(value, functools._lru_cache_wrapper):
            self.value(under_cache(value))
        elif is_dispatcher(value):
            # its compiled form is found again by its module
            self.text("dispatcher", f"{type(value).__name__} {value.py_func.__module__}")
            self.value(value.targetoptions)
            self.value(value._compiler.locals)
            for kinds, name, kept in all_kept(value):
                self.text("kept", f"{name} {kinds}")
                self.value(None if isinstance(kept, CodeType) else kept)
            self.value(None if value._can_compile else list(map(str, value.nopython_signatures)))
            self.value(value.py_func)
            self.value(own_attribute(value, "adjit_rules"))
        elif isinstance(value, type):
            self.type(value)
        elif (path := path_of(value)) is not None:
            self.packages.add(path.partition(".")[0])
            self.text("known", path)
        elif isinstance(value, BuiltinFunctionType) and (home := _home_of_builtin(value)) is not None:
            self.text("known", home)  # of Python itself, whose version is in the key
        elif value is objmode:
            # what stands in its blocks is in the text and the code of the function
            self.text("known", "numba.objmode")
        elif isinstance(value, FunctionType):
            self.text("plain", value.__qualname__)
            if not self.is_met(value, id(value)):
                self.function(value)
        elif is_object(value) and _is_its_attributes(type(value)):
            self.object(value)
        else:
            raise NotKeyed(f"{_shown(value)} is of a kind that has no digest")

    def object(self, value: Any) -> None:
        """An object of a class of the user's: that, and its attributes."""
        self.type(type(value))
        if not self.is_met(value, id(value)):
            self.memory.append(value)
            contents_read(getattr(value, "__dict__", ()))
            for name, part in sorted(attributes(value).items()):
                read_attribute(value, name, None)
                self.text("attribute", name)
                self.value(part)


def _is_written(thing: Any) -> bool:
    """Whether this is a method that Python wrote, for the fields of a class."""
    thing = getattr(thing, "__func__", thing)
    if not isinstance(thing, FunctionType):
        return isinstance(thing, _OF_BUILTINS)
    return thing.__code__.co_filename == "<string>" or thing.__globals__.get("__name__") in _WRITERS


def _is_its_attributes(kind: type) -> bool:
    """Whether its objects have nothing in them but what their attributes are."""
    return all(base in _EMPTY_BASES or path_of(base) is None for base in kind.__mro__)


def path_of(value: Any) -> str | None:
    """Where a library has this under its own name, so that the name and the library's version stand for it."""
    if isinstance(value, ModuleType):
        return value.__name__ if value.__name__.partition(".")[0] in KNOWN else None
    if isinstance(value, FunctionType):
        # what a decorator copies onto its wrapper is left aside
        module, name = str(value.__globals__.get("__name__")), value.__code__.co_qualname
        is_own = module.partition(".")[0] in KNOWN and "<locals>" not in name
        return f"{module}.{name}:{value.__code__.co_firstlineno}" if is_own else None
    owner = getattr(value, "__self__", None)
    if isinstance(value, BuiltinFunctionType | MethodType) and isinstance(owner, _GENERATORS):
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


def _home_of_builtin(value: BuiltinFunctionType) -> str | None:
    """Where a module of Python's own has a function that is not written in Python, as `time.thread_time`."""
    home, name = value.__module__, value.__name__
    is_own = home in sys.stdlib_module_names and getattr(sys.modules.get(home), name, None) is value
    return f"{home}.{name}" if is_own else None


def _shown(value: Any) -> str:
    return getattr(value, "__qualname__", None) or f"an object of type {type(value).__qualname__}"
