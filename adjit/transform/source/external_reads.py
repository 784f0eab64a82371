"""What is read from outside while a function is elaborated, kept to see later whether it is still so.

In: owners and names, as they are read. Out: the values; and in the `Reads` under way where each was found.

    with noting() as reads: ...      reads.hold() until a global is bound anew, a method patched, a default replaced

Functions, classes, modules and arrays are the same if they are one object, numbers and texts if they have the same
bits: 0.0 and -0.0, 1 and True differ. Elements of arrays are not looked at.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from adjit.errors import OnlyDecides
from adjit.transform.source.code_names import globals_in

MISSING = object()
_IMMUTABLE = 1 << 8  # among the flags of a class: nobody can set an attribute of it
_Look = Callable[[Any, Any], Any]  # what is found under a key, or the second argument
_Found = TypeVar("_Found")
# a list, dictionary or object that is changed: the parameter, the places of parts that lead there, and whether what is
# in it may be, too
Changed = tuple[str, tuple[int, ...], bool]
Warned = tuple[str, str, int]  # a text, at a line of a file
_told: dict[Any, Any] = {}  # Python's list of what was said once


class Reads:
    """Where things were found, and what. `functions`: those whose source was read.

    memory:  the arrays, lists, dictionaries and objects that plain Python functions read, by their identity
    written: the arguments that functions write into, as (function, name of the parameter, places in tuples that lead
             there)
    changed: the lists, dictionaries and objects among the arguments that functions change
    warned:  what was warned of (`OnlyDecides`), as (text, file, line)
    """

    def __init__(self) -> None:
        self.functions: set[FunctionType] = set()
        self.memory: dict[int, Any] = {}
        self.written: set[tuple[FunctionType, str, tuple[int, ...]]] = set()
        self.changed: set[tuple[FunctionType, Changed]] = set()
        self.warned: set[Warned] = set()
        self._found: dict[tuple[int, object], tuple[_Look, Any, Any]] = {}
        self._is_mixed = False  # whether one place had two values

    def hold(self) -> bool:
        """Whether everything is as it was found."""
        for look, key, value in self._found.values():
            found = look(key, MISSING)
            if found is not value and not is_same(found, value):
                return False
        return not self._is_mixed

    def add(self, others: Reads) -> None:
        """Takes note of what others found."""
        self.functions |= others.functions
        self.memory |= others.memory
        self.written |= others.written
        self.changed |= others.changed
        self.warned |= others.warned
        self._is_mixed |= others._is_mixed
        for place, found in others._found.items():
            self._note(place, *found)

    def function(self, function: FunctionType) -> None:
        """A function: its code, its defaults, and what the names in it stand for around it."""
        if function in self.functions:
            return
        self.functions.add(function)
        if str(function.__globals__.get("__name__")).startswith("adjit."):
            return  # rules, which stay as they are
        self.definition(function)
        for cell in function.__closure__ or ():
            self._note((id(cell), "cell"), _content, cell, _content(cell, MISSING))
        for name in globals_in(function.__code__):
            self._item(function.__globals__, name)
            if name not in function.__globals__:
                self._item(vars(builtins), name)

    def definition(self, function: FunctionType) -> None:
        """A function's code, and the defaults of its parameters."""
        self._again(function, "__code__", function.__code__)
        if function.__code__.co_argcount:
            self._again(function, "__defaults__", function.__defaults__)
        if function.__code__.co_kwonlyargcount:
            self._again(function, "__kwdefaults__", function.__kwdefaults__)
            self.contents(function.__kwdefaults__ or {})

    def contents(self, container: Any) -> None:
        """All that is in a list, a dictionary, a set or a queue."""
        self._note((id(container), "contents"), _contents, container, _contents(container, MISSING))

    def of_class(self, kind: type, name: str) -> None:
        """What a class has under a name, be it by inheritance."""
        if kind.__flags__ & _IMMUTABLE:
            return
        self._again(kind, "__mro__", kind.__mro__)
        self.of_first(kind.__mro__, name)

    def whole_class(self, kind: type) -> None:
        """All that a class has, be it by inheritance."""
        self._again(kind, "__mro__", kind.__mro__)
        for base in kind.__mro__:
            if not base.__flags__ & _IMMUTABLE:
                self.contents(vars(base))

    def of_first(self, kinds: Sequence[type], name: str) -> None:
        """What the first of these classes that has the name itself has under it."""
        for base in kinds:
            if not base.__flags__ & _IMMUTABLE and self._item(vars(base), name, base) is not MISSING:
                return

    def answer(self, owner: Any, look: _Look, value: Any) -> None:
        """What a question about something gives."""
        self._note((id(owner), look), look, owner, value)

    def specials(self, kind: type) -> None:
        """What a class itself has under names such as `__add__`."""
        self._note((id(kind), "specials"), _specials, kind, _specials(kind, MISSING))

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name`, which has this value."""
        kind = type(owner)
        if isinstance(owner, ModuleType):
            if self._item(vars(owner), name) is MISSING:
                self._again(owner, name, value)
            return
        if isinstance(owner, type):
            self.of_class(owner, name)
        self.of_class(kind, name)
        if not kind.__flags__ & _IMMUTABLE:
            self._again(owner, "__class__", kind)
        if isinstance(getattr(owner, "__dict__", None), dict):
            own = owner.__dict__.get(name, MISSING)
            self._note((id(owner), name), functools.partial(_own, owner), name, own)
            if own is not MISSING:
                self.memory[id(owner)] = owner
                return
        if not kind.__flags__ & _IMMUTABLE and not isinstance(owner, type):
            thing = inspect.getattr_static(kind, name, MISSING)
            is_known = not hasattr(type(thing), "__get__") or isinstance(
                thing, FunctionType | staticmethod | classmethod
            )
            if thing is MISSING or not is_known:
                self._computed(owner, name, value)

    def _computed(self, owner: Any, name: str, value: Any) -> None:
        """What a property or a slot gives, or `__getattr__`, if it gives the same each time."""
        self.memory[id(owner)] = owner
        if is_same(getattr(owner, name, MISSING), value):
            self._again(owner, name, value)
        elif isinstance(value, np.ndarray) and is_same(_bits(owner, name), _bits_of(value)):
            self._note((id(owner), (name,)), functools.partial(_bits, owner), name, _bits_of(value))

    def _item(self, mapping: Mapping[str, Any], key: str, owner: Any = None) -> Any:
        found = mapping.get(key, MISSING)
        self._note((id(mapping if owner is None else owner), key), mapping.get, key, found)
        return found

    def _again(self, owner: Any, name: str, value: Any) -> None:
        self._note((id(owner), (name,)), functools.partial(getattr, owner), name, value)

    def _note(self, place: tuple[int, object], look: _Look, key: Any, value: Any) -> None:
        _, _, known = self._found.setdefault(place, (look, key, value))
        self._is_mixed |= known is not value and not is_same(known, value)


def is_same(left: Any, right: Any) -> bool:
    """Whether two things are one, or numbers or texts with the same bits."""
    kind = type(left)
    if left is right or kind is not type(right):
        return left is right
    if kind in (int, bool, str, bytes, slice, range):
        return bool(left == right)
    if kind is float:
        return struct.pack("d", left) == struct.pack("d", right)
    if kind is complex:
        return is_same((left.real, left.imag), (right.real, right.imag))
    if isinstance(left, np.generic):
        return bool(left.dtype == right.dtype and left.tobytes() == right.tobytes())
    if isinstance(left, tuple):
        is_one = len(left) == len(right) and all(map(operator.is_, left, right))
        return is_one or (len(left) == len(right) and all(map(is_same, left, right)))
    return bool(kind is MethodType and left.__func__ is right.__func__ and left.__self__ is right.__self__)


def _content(cell: CellType, default: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return default  # the variable has no value yet


def _contents(container: Any, default: Any) -> tuple[Any, ...]:
    return (*container, *container.values()) if isinstance(container, Mapping) else tuple(container)


def _specials(kind: type, default: Any) -> tuple[Any, ...]:
    return tuple(part for name, thing in vars(kind).items() if name.startswith("__") for part in (name, thing))


def _own(owner: Any, name: str, default: Any) -> Any:
    return owner.__dict__.get(name, default)


def _bits(owner: Any, name: str, default: Any = None) -> Any:
    return _bits_of(getattr(owner, name, default))


def _bits_of(value: Any) -> Any:
    is_array = isinstance(value, np.ndarray) and not value.dtype.hasobject
    return (value.dtype.str, value.shape, value.tobytes()) if is_array else value


# --------------------------------------------------------------------------------------------------- what reads things

_under_way: ContextVar[Reads | None] = ContextVar("reads under way", default=None)


@contextmanager
def noting() -> Iterator[Reads]:
    """What is read meanwhile; so it is for those around."""
    around, reads = _under_way.get(), Reads()
    token = _under_way.set(reads)
    try:
        yield reads
    finally:
        _under_way.reset(token)
        if around is not None:
            around.add(reads)


def function_read(function: FunctionType) -> None:
    """Takes note that the source of a function is read."""
    reads = _under_way.get()
    if reads is not None:
        reads.function(function)


def read_by(owner: Any, look: Callable[..., _Found]) -> _Found:
    """`look(owner)`, which says something of it that can be compared."""
    found = look(owner)
    reads = _under_way.get()
    if reads is not None:
        reads.answer(owner, look, found)
    return found


def definition_read(function: FunctionType) -> None:
    """Takes note that the parameters of a function are read."""
    reads = _under_way.get()
    if reads is not None:
        reads.definition(function)


def memory_read(thing: Any) -> None:
    """Takes note that compiled code has a copy of what is in an array, a list or a dictionary, which Python would read
    where it is."""
    reads = _under_way.get()
    if reads is not None:
        reads.memory[id(thing)] = thing


def argument_written(function: FunctionType, name: str, path: tuple[int, ...]) -> None:
    """Takes note that a function writes into an argument, or what is at these places in a tuple."""
    reads = _under_way.get()
    if reads is not None:
        reads.written.add((function, name, path))


def argument_changed(function: FunctionType, changed: Changed) -> None:
    """Takes note that a function changes a list, a dictionary or an object among its arguments."""
    reads = _under_way.get()
    if reads is not None:
        reads.changed.add((function, changed))


def warn_at(warned: Warned) -> None:
    """Warns OnlyDecides at a line, and takes note of it: what is kept on disk warns of the same."""
    reads = _under_way.get()
    if reads is not None:
        reads.warned.add(warned)
    text, filename, line = warned
    warnings.warn_explicit(text, OnlyDecides, filename, line, registry=_told)


def contents_read(container: Any) -> None:
    """Takes note that what is in a list, a dictionary, a set or a queue is read."""
    reads = _under_way.get()
    if reads is not None:
        reads.contents(container)


def read_attribute(owner: Any, name: str, *default: Any) -> Any:
    """`getattr(owner, name, default)` of something from outside."""
    found = getattr(owner, name, MISSING)
    reads = _under_way.get()
    if reads is not None:
        reads.attribute(owner, name, found)
    return found if found is not MISSING else getattr(owner, name, *default)


def is_defined(owner: Any, name: str) -> bool:
    """`hasattr(owner, name)` of something from outside."""
    return read_attribute(owner, name, MISSING) is not MISSING


def static_attribute(kind: type, name: str, default: Any = None) -> Any:
    """What a class has under a name, as it stands there: a property, a static method."""
    reads = _under_way.get()
    if reads is not None:
        reads.of_class(kind, name)
    return inspect.getattr_static(kind, name, default)


def definitions_read(kind: type, names: Iterable[str]) -> None:
    """Takes note that it is read which of these names a class has, and what under them."""
    reads = _under_way.get()
    if reads is not None:
        for name in names:
            reads.of_class(kind, name)


def specials_read(kind: type) -> None:
    """Takes note that it is read which special methods a class has itself."""
    reads = _under_way.get()
    if reads is not None:
        reads.specials(kind)


def inherited_attribute(kind: type, above: Sequence[type], name: str) -> Any:
    """What the first of some of the classes that a class is derived from has under a name; None if none has."""
    reads = _under_way.get()
    if reads is not None:
        reads.of_class(kind, name)
        reads.of_first(above, name)
    return next((vars(base)[name] for base in above if name in vars(base)), None)


def while_it_holds(work: Callable[[Any], _Found]) -> Callable[[Any], _Found]:
    """`functools.cache` of a question about functions, which is asked again when what it read has changed."""

    @functools.lru_cache(maxsize=4096)
    def known_of(key: Any) -> list[tuple[_Found, Reads]]:
        return []

    @functools.wraps(work)
    def asked(key: Any) -> _Found:
        known = known_of(key)
        for found, reads in known:
            if reads.hold():
                around = _under_way.get()
                if around is not None:
                    around.add(reads)
                return found
        with noting() as reads:
            found = work(key)
        known[:] = [(found, reads)]
        return found

    return asked


def while_class_holds(work: Callable[[type], _Found]) -> Callable[[type], _Found]:
    """`functools.cache` of a question about a class, which is asked again when anything in the class has changed. That
    is no note for those around: they name what they read."""

    @functools.lru_cache(maxsize=1024)
    def known_of(kind: type) -> list[tuple[_Found, Reads]]:
        return []

    @functools.wraps(work)
    def asked(kind: type) -> _Found:
        known = known_of(kind)
        for found, reads in known:
            if reads.hold():
                return found
        found, reads = work(kind), Reads()
        reads.whole_class(kind)
        known[:] = [(found, reads)]
        return found

    return asked
