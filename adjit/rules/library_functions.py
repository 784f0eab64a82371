"""Functions of libraries, as Python functions that call them: so that `grad(np.tanh)` has a text to read.

In: a ufunc, a builtin, a function of NumPy's or SciPy's. Out: a function of what it is called with by position.

    np.tanh      def tanh(x):
                     return np.tanh(x)
"""

from __future__ import annotations

import cmath
import functools
import importlib
import inspect
import linecache
import math
import sys
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from adjit.rules.registry import ALL_GIVEN, lookup

_LIBRARIES = ("numpy", "scipy", "math", "cmath", "builtins", "_operator", "operator")
_KINDS = (np.ufunc, np.vectorize, BuiltinFunctionType, type(np.sum))
# Where those are that do not say where they are from.
_HOMES = ("numpy", "scipy.special")


def as_python(callee: Any) -> Any:
    """The Python function that calls a library's; whatever else is given, as it is."""
    if not _is_of_library(callee):
        return callee
    try:
        return _written(callee) or callee
    except TypeError:
        # it has no hash, so it has no rule
        return callee


def _is_of_library(callee: Any) -> bool:
    if isinstance(callee, BuiltinFunctionType) and callee.__module__ == "builtins":
        return callee in (abs, max, min, sum, pow, round)
    # numba's ufuncs are objects of a class of its own
    if isinstance(callee, _KINDS) or isinstance(getattr(callee, "nin", None), int):
        return True
    root = str(getattr(callee, "__module__", None) or "").partition(".")[0]
    is_function = isinstance(callee, FunctionType | MethodType) and not hasattr(callee, "derivative")
    return is_function and root in _LIBRARIES and lookup(callee) is not None


@functools.lru_cache(maxsize=1024)
def _written(callee: Any) -> FunctionType | None:
    """The function, one for each callee; None where nobody knows its parameters."""
    parameters = _parameters(callee)
    if not parameters:
        return None
    name = str(getattr(callee, "__name__", "function"))
    name = name if name.isidentifier() else "function"
    spoken, scope = _spoken(callee, name)
    given = ", ".join(parameters)
    declared = ", ".join(f"{one}=None" if is_optional else one for one, is_optional in parameters.items())
    text = f"def {name}({declared}):\n    return {spoken}({given})\n"
    file = f"<adjit {spoken}({given})>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope["__name__"] = "adjit.library"
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    made: FunctionType = scope[name]
    made.__doc__ = getattr(callee, "__doc__", None)
    return made


def _parameters(callee: Any) -> dict[str, bool]:
    """The names of the parameters, as the rule has them, if there is one, and whether they may be left out."""
    count = getattr(callee, "nin", None)
    if isinstance(count, int):
        return dict.fromkeys(["x"] if count == 1 else [f"x{k + 1}" for k in range(count)], False)
    entry = lookup(callee)
    rules = () if entry is None else (entry.general, entry.decomposition, entry.tangent, entry.partials, entry.adjoint)
    rule = next((one for one in rules if one is not None), None)
    own = {} if rule is None else _taken(rule)
    if own and ALL_GIVEN not in own:
        return own
    try:
        known = _taken(callee.pyfunc if isinstance(callee, np.vectorize) else callee)
    except ValueError:
        # logarithms, whose base need not be given
        return {"x": False} if callee in (math.log, cmath.log) else {}
    return {name: False for name, is_optional in known.items() if not is_optional}


def _taken(function: Any) -> dict[str, bool]:
    """The parameters before the first one with a default other than None; of `...` they are not left out."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    found: dict[str, bool] = {}
    for p in inspect.signature(function).parameters.values():
        if p.kind not in kinds or p.default not in (p.empty, None, ...):
            break
        if not p.name.endswith("_dot"):
            found[p.name] = p.default is None
    return found


def _spoken(callee: Any, name: str) -> tuple[str, dict[str, Any]]:
    """How the function is written, and the names that this needs."""
    own = str(getattr(callee, "__module__", None) or "").split(".")
    for home in (*(".".join(own[:k]) for k in range(1, len(own) + 1)), *_HOMES):
        module = sys.modules.get(home)
        if home and module is not None and getattr(module, name, None) is callee:
            root = home.partition(".")[0]
            if root == "numpy":
                return home.replace("numpy", "np", 1) + f".{name}", {"np": np}
            return f"{home}.{name}", {root: importlib.import_module(root)}
    return f"{name}_", {f"{name}_": callee}
