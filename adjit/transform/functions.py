"""What can be asked of a function without reading its source.

In: a function, a lambda or a numba dispatcher. Out: the Python function that runs, and its parameters.

    python_function(njit(f)) is f
"""

from __future__ import annotations

import functools
import inspect
from types import FunctionType

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
