"""The names in a function, and what they stand for, without parsing it.

In: a function, or its code. Out: names; and the values that they have around it and in its module.

    def f(x): return k * x.size + shift(x)      names_in: k, size, shift;  of them k and shift are looked up
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType, FunctionType

_LOOKED_UP = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> tuple[str, ...]:
    """The names in a function and in those defined inside it, as globals, attributes and texts."""
    inner = (name for c in code.co_consts if isinstance(c, CodeType) for name in names_in(c))
    said = (c for c in code.co_consts if isinstance(c, str) and c.isidentifier())
    return tuple(dict.fromkeys((*code.co_names, *said, *inner)))


@functools.lru_cache(maxsize=4096)
def globals_in(code: CodeType) -> tuple[str, ...]:
    """The names in a function, and in those defined inside it, that are looked up in its module."""
    inner = (name for c in code.co_consts if isinstance(c, CodeType) for name in globals_in(c))
    own = (one.argval for one in dis.get_instructions(code) if one.opname in _LOOKED_UP)
    return tuple(dict.fromkeys((*own, *inner)))


@functools.lru_cache(maxsize=4096)
def imports(code: CodeType) -> bool:
    """Whether a function, or one defined inside it, has an `import` in it."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return any(one.opname == "IMPORT_NAME" for one in dis.get_instructions(code)) or any(map(imports, inner))


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
    for name in globals_in(function.__code__):
        if name in function.__globals__:
            yield "global", name, function.__globals__[name]


def last_line(code: CodeType) -> int:
    """The line of its file on which a function ends."""
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    inner = [last_line(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return max([code.co_firstlineno, *ends, *inner])
