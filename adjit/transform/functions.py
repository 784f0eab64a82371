"""What can be asked of a function without parsing its source.

In: a function, a lambda or a numba dispatcher. Out: the Python function that runs, its parameters, the file it is from.

    python_function(njit(f)) is f
"""

from __future__ import annotations

import functools
import inspect
import linecache
from types import CodeType, FunctionType

from numba.core.dispatcher import Dispatcher

from adjit.errors import SourceUnavailable


def python_function(function: object) -> FunctionType:
    """The Python function that runs when `function` is called.

    A wrapper made with functools.wraps is a function of its own: what it wraps may be only part of what it computes.
    """
    if isinstance(function, functools._lru_cache_wrapper):
        function = function.__wrapped__
    if isinstance(function, Dispatcher):
        function = function.py_func
    if isinstance(function, FunctionType):
        return function
    name = getattr(function, "__qualname__", None) or repr(function)
    raise SourceUnavailable(
        f"{name} is no Python function",
        why=f"It is of type {type(function).__name__}; adjit reads functions, lambdas and numba dispatchers.",
        instead="Write a function that calls it, or give it a derivative rule with adjit.rules.",
    )


def signature(function: FunctionType) -> inspect.Signature:
    """The function's own parameters: neither `__signature__` nor `__wrapped__` of a decorator replaces them."""
    bare = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    bare.__annotations__ = dict(getattr(function, "__annotations__", {}))
    return inspect.signature(bare)


def file_lines(function: FunctionType) -> tuple[str, ...]:
    """All lines of the file, notebook cell or prompt that the function was written in."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        try:
            lines = inspect.findsource(function)[0]
        except (OSError, TypeError, IndexError):
            raise unavailable(function.__code__, "No text is kept of code that is executed as a string.") from None
    return tuple(lines)


def unavailable(code: CodeType, why: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"the source of {code.co_name} cannot be read",
        why=f"It was defined in {code.co_filename}, line {code.co_firstlineno}. {why}",
        instead="Define it in a file or a notebook cell, and import or run that again after editing.",
    )
