"""What can be asked of a function without parsing its source.

In: a function, a lambda or a numba dispatcher. Out: the Python function that runs, its parameters, the file it is from.

    python_function(njit(f)) is f
"""

from __future__ import annotations

import functools
import inspect
import linecache
import operator
import sys
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from adjit.errors import SourceUnavailable
from adjit.runtime.backend import is_dispatcher
from adjit.runtime.backend.objects import runs_in_python
from adjit.runtime.library import own_attribute, under_cache
from adjit.transform.source.external_reads import static_attribute
from adjit.transform.source.marks import Checkpointed


def python_function(function: object) -> FunctionType:
    """The Python function that runs when `function` is called.

    A wrapper made with functools.wraps is a function of its own: what it wraps may be only part of what it computes.
    """
    if isinstance(function, functools._lru_cache_wrapper):
        function = under_cache(function)
    if is_dispatcher(function):
        function = function.py_func
    if isinstance(function, FunctionType):
        return function
    # the dispatchers of kernels, and the simulator's, are others than numba's
    of_kernel = own_attribute(function, "py_func")
    if isinstance(of_kernel, FunctionType):
        return of_kernel
    raise no_function(function)


def compiled_by(function: object) -> Any:
    """What numba compiles the function by that runs; None where Python runs it."""
    if isinstance(function, functools._lru_cache_wrapper):
        function = under_cache(function)
    return function if is_dispatcher(function) and not runs_in_python(function) else None


def held_by(thing: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The function that a bound method, a `functools.partial` or an object with `__call__` runs, and the arguments that
    it has for it; None of anything else."""
    if isinstance(thing, MethodType):
        return thing.__func__, (thing.__self__,), {}
    if is_called_as(thing, functools.partial):
        return thing.func, thing.args, thing.keywords
    own = static_attribute(type(thing), "__call__")
    is_derived = own_attribute(thing, "derivative") is not None
    is_known = is_dispatcher(thing) or is_derived or isinstance(thing, type | Checkpointed)
    return (own, (thing,), {}) if isinstance(own, FunctionType) and not is_known else None


def outermost(function: Any) -> str | None:
    """What to do instead where a derived function that only a user can call is called or differentiated; None of
    others."""
    found = own_attribute(function, "_adjit_outermost")
    return found if isinstance(found, str) else None


def is_called_as(thing: Any, kind: type) -> bool:
    """Whether it is an object of this class of a library, and no class derived from that calls it in its own way."""
    called = inspect.getattr_static(type(thing), "__call__", None)
    return isinstance(thing, kind) and called is inspect.getattr_static(kind, "__call__")


def no_function(thing: Any) -> SourceUnavailable:
    """The refusal of an argument that is not a function, with what to pass instead."""
    reads = "adjit reads functions, lambdas and functions that numba compiles."
    if isinstance(thing, type):
        what = f"{thing.__qualname__} is a class, not a function"
        return SourceUnavailable(what, why=reads, instead="Write a function of the numbers and arrays in its objects.")
    if isinstance(getattr(thing, "__name__", None), str) and callable(thing):
        name = spoken(thing)
        return SourceUnavailable(
            f"{name} is not a Python function",
            why=f"It is of type {type(thing).__name__}; {reads}",
            instead=f"Write a function that calls it: lambda x: {name}(x).",
        )
    return SourceUnavailable(
        f"an object of type {type(thing).__name__} is not a function",
        why=reads,
        instead="Write a function that takes its contents as arguments."
        if callable(thing)
        else "Pass the function itself, and the arguments to its derivative: adjit.grad(f)(x), not adjit.grad(f(x)).",
    )


def spoken(callee: object) -> str:
    """What people write for a function: `np.random.beta` and `scipy.special.logsumexp`, not `beta` and `logsumexp`."""
    name = getattr(callee, "__name__", None)
    if not isinstance(name, str):
        return f"an object of type {type(callee).__name__}"
    owner: Any = getattr(callee, "__self__", None)
    if is_distribution(owner):
        return f"scipy.stats.{owner.name}.{name}"
    if isinstance(getattr(callee, "__self__", None), np.ufunc):
        return f"{spoken(callee.__self__)}.{name}"  # type: ignore[attr-defined]
    own = str(getattr(callee, "__module__", None) or "").split(".")
    homes = [".".join(own[:k]) for k in range(1, len(own) + 1)]
    for home in ("builtins", "os", *homes, "numpy", "numpy.random", "scipy.special"):
        root = home.partition(".")[0]
        if root in _LIBRARIES and getattr(sys.modules.get(home), name, None) is callee:
            shown = f"{home.removeprefix('_')}.{name}".replace("numpy.", "np.", 1)
            return shown.removeprefix("builtins.")
    return name


_SIGNS: dict[object, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>", operator.lt: "<", operator.le: "<=",
    operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=", operator.neg: "-", operator.pos: "+",
    operator.invert: "~", operator.not_: "not",
}  # fmt: skip


def sign_of(callee: object) -> str:
    """How people write an operator: `**` for operator.pow. The name of any other function."""
    return _SIGNS.get(callee) or str(getattr(callee, "__name__", callee))


def is_distribution(thing: Any) -> bool:
    """Whether this is an object that scipy.stats has under its own name, as `scipy.stats.norm`."""
    name = getattr(thing, "name", None)
    return isinstance(name, str) and getattr(sys.modules.get("scipy.stats"), name, None) is thing


_LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy"}


def signature(function: FunctionType) -> inspect.Signature:
    """The function's own parameters: neither `__signature__` nor `__wrapped__` of a decorator replaces them."""
    bare = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    bare.__annotations__ = dict(getattr(function, "__annotations__", {}))
    return inspect.signature(bare)


def file_of(function: FunctionType) -> str:
    """The file, notebook cell or prompt that the function was written in."""
    own = function.__code__.co_filename
    # what reloads a part of a file may execute its text
    return str(function.__globals__.get("__file__", own)) if own == "<string>" else own


def file_lines(function: FunctionType) -> tuple[str, ...]:
    """All lines of the file, notebook cell or prompt that the function was written in."""
    filename = file_of(function)
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        try:
            lines = inspect.findsource(function)[0]
        except (OSError, TypeError, IndexError):
            raise unavailable(function.__code__, *told_of_string(filename)) from None
    return tuple(lines)


_ELSEWHERE = "Define it in a file or a notebook cell. After an edit, import the file or run the cell again."


def told_of_string(filename: str) -> tuple[str, str]:
    """Why Python has no source of code that was executed as a string under this name, and what to do."""
    if filename == "<stdin>":
        why = "Python keeps no source of what is typed at its prompt before version 3.13, or read from standard input."
        return why, "Define it in a file, or use IPython or a notebook."
    if filename.startswith(("<timed exec", "<magic-timeit")):
        why = "IPython keeps no source of a cell that begins with %%time or %%timeit."
        return why, "Move the definition into a cell without them."
    return "Python keeps no source of code that is executed as a string.", _ELSEWHERE


def unavailable(code: CodeType, why: str, instead: str = _ELSEWHERE) -> SourceUnavailable:
    return SourceUnavailable(
        f"the source of {code.co_name} cannot be read",
        why=f"It was defined in {code.co_filename}, line {code.co_firstlineno}. {why}",
        instead=instead,
    )
