"""Functions whose source adjit does not read: those of libraries, those with rules, and those with finite differences.

In: a ufunc, a builtin, a function of NumPy or SciPy, or a function with its own rules, as of `implicit`. Out: a Python
function that calls it by position, so that `grad(np.tanh)` has a source to read.

    np.tanh      def tanh(x):
                     return np.tanh(x)

In: a function that compiled code can call. Out: rules for it, by central differences, in which it is called itself.

    y_dot = (black_box(x + h) - black_box(x - h)) / (2 h) x_dot
"""

from __future__ import annotations

import cmath
import contextlib
import functools
import importlib
import inspect
import linecache
import math
import sys
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from adjit.errors import WrongCall
from adjit.rules.registry import ALL_GIVEN, has_own_rule, lookup, user
from adjit.runtime.library import home_of, own_attribute

_LIBRARIES = ("numpy", "scipy", "math", "cmath", "builtins", "_operator", "operator")
_KINDS = (np.ufunc, np.vectorize, BuiltinFunctionType, type(np.sum))
# Where those are that do not say where they are from.
_HOMES = ("numpy", "scipy.special")


def as_python(callee: Any) -> Any:
    """The Python function that calls a library's, or one with rules; whatever else is given, as it is."""
    try:
        if _is_of_library(callee):
            return _written(callee) or callee
        return _calling(callee) if has_own_rule(callee) else callee
    except TypeError:
        # it has no hash, so it has no rule
        return callee


def _is_of_library(callee: Any) -> bool:
    if isinstance(callee, BuiltinFunctionType) and callee.__module__ == "builtins":
        return callee in (abs, max, min, sum, pow, round)
    # numba's ufuncs are objects of a class of its own
    if isinstance(callee, _KINDS) or isinstance(getattr(callee, "nin", None), int):
        return True
    root = home_of(callee).partition(".")[0]
    is_function = isinstance(callee, FunctionType | MethodType) and own_attribute(callee, "derivative") is None
    return is_function and root in _LIBRARIES and lookup(callee) is not None


@functools.lru_cache(maxsize=1024)
def _calling(callee: Any) -> Any:
    """The function that calls one of the user's, with the same parameters; itself where nobody knows those."""
    plain = own_attribute(callee, "py_func") or callee
    if not isinstance(plain, FunctionType):
        return callee
    name = plain.__name__ if plain.__name__.isidentifier() else "function"
    parameters = inspect.signature(plain, follow_wrapped=False).parameters
    bare = inspect.Signature([p.replace(default=p.empty, annotation=p.empty) for p in parameters.values()])
    called = _unlike(f"{name}_", list(parameters))
    before = {"KEYWORD_ONLY": "{0}={0}", "VAR_POSITIONAL": "*{0}", "VAR_KEYWORD": "**{0}"}
    given = [before.get(p.kind.name, "{0}").format(key) for key, p in parameters.items()]
    text = f"def {name}{bare}:\n    return {called}({', '.join(given)})\n"
    # equal texts have equal names, whatever they call
    made = _defined(text, f"<adjit {name}{bare}>", {called: callee}, plain.__module__)[name]
    made.__defaults__, made.__kwdefaults__, made.__doc__ = plain.__defaults__, plain.__kwdefaults__, plain.__doc__
    return made


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


# --------------------------------------------------------------------------------------------------------- differences

_Function = TypeVar("_Function", bound=Callable[..., Any])


def differences(function: _Function, step: float | None = None) -> _Function:
    """Registers central differences as the derivative of a function, and returns the function.

    It is for functions that compiled code can call and adjit cannot differentiate: an `@njit` function with object
    mode, or one that calls a C library. Its arguments are floats, arrays of floats, and others, which are held fixed.
    Its result is a float or an array of floats. A derivative of either mode calls it twice per float of its arguments.
    A second derivative is the difference of differences.

    - `step`: relative to the size of a number, or to 1 for smaller numbers. The default is the cube root of the
      precision, 6e-6 for float64. It balances the truncation error, proportional to the square of the step, and the
      rounding error, proportional to its inverse (Nocedal and Wright, Numerical Optimization, 2nd edition,
      section 8.1). About ten digits are right. For a less exact function give the cube root of its relative error.

    Raises WrongCall for a function whose parameters are not known.
    """
    if step is not None and (isinstance(step, bool) or not isinstance(step, int | float) or not 0.0 < step < 1.0):
        raise WrongCall(f"step={step!r}", instead="Give a number between 0 and 1, relative to the size of arguments.")
    names = _names_of(function)
    own = {key: _unlike(key, names) for key in ("function", "along", "against", "step", "y", "y_bar")}
    dots = [_unlike(f"{name}_dot", names) for name in names]
    calls = [f"lambda {name}: {own['function']}({', '.join(names)}), {name}" for name in names]
    along = [f"{own['along']}({call}, {dot}, {own['y']}, {own['step']})" for call, dot in zip(calls, dots, strict=True)]
    against = [f"{own['against']}({call}, {own['y']}, {own['y_bar']}, {own['step']})" for call in calls]
    text = (
        f"def tangent({', '.join((*names, *dots))}, *, {own['y']}):\n    return {' + '.join(along)}\n"
        f"def adjoint({', '.join(names)}, *, {own['y']}, {own['y_bar']}):\n    return {', '.join(against)}\n"
    )
    scope: dict[str, Any] = {own["function"]: function, own["along"]: _along, own["against"]: _against}
    made = _defined(text, f"<adjit differences of {_named(function)} {id(function):x}>", scope | {own["step"]: step})
    user.tangent(function)(made["tangent"])
    user.adjoint(function)(made["adjoint"])
    return function


def _names_of(function: Any) -> list[str]:
    """The names of its parameters."""
    given: Any = {}
    plain: Any = getattr(function, "py_func", function)
    if callable(plain) and isinstance(function, Hashable):
        # a builtin may have none that are known
        with contextlib.suppress(TypeError, ValueError):
            given = inspect.signature(plain).parameters
    kinds = {p.kind for p in given.values()}
    if not given or not kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY}:
        raise WrongCall(
            f"finite differences of {_named(function)}, whose parameters are not known",
            instead="Call it in an @njit function with named parameters, and pass that function.",
        )
    return list(given)


def _named(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _unlike(name: str, names: list[str]) -> str:
    while name in names:
        name += "_"
    return name


def _defined(text: str, filename: str, scope: dict[str, Any], module: str = __name__) -> dict[str, Any]:
    """What a text defines, which can be read again."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope["__name__"] = module
    exec(compile(text, filename, "exec", dont_inherit=True), scope)
    return scope


def _along(g: Any, x: Any, x_dot: Any, y: Any, step: Any) -> Any:
    """What an argument adds to the tangent of the result."""
    if isinstance(y, tuple):
        raise NotImplementedError(
            "finite differences of a function with more than one result: write one function per result"
        )
    if x.dtype.kind != "f":
        return 0.0 * y
    if np.ndim(x) == 0:
        h = _step_at(x, step)
        return (g(x + h) - g(x - h)) * (x_dot / (2.0 * h))
    total = 0.0 * y
    for i in range(x.size):
        above, below = x.copy().reshape(-1), x.copy().reshape(-1)
        h = _step_at(above[i], step)
        above[i] += h
        below[i] -= h
        slope = (g(above.reshape(x.shape)) - g(below.reshape(x.shape))) / (2.0 * h)
        total = total + slope * x_dot.reshape(-1)[i]
    return total


def _against(g: Any, x: Any, y: Any, y_bar: Any, step: Any) -> Any:
    """The adjoint of an argument."""
    if isinstance(y, tuple):
        raise NotImplementedError(
            "finite differences of a function with more than one result: write one function per result"
        )
    if x.dtype.kind != "f":
        return 0
    if np.ndim(x) == 0:
        h = _step_at(x, step)
        return np.sum(y_bar * (g(x + h) - g(x - h))) / (2.0 * h)
    bar = np.empty(x.size, x.dtype)
    for i in range(x.size):
        above, below = x.copy().reshape(-1), x.copy().reshape(-1)
        h = _step_at(above[i], step)
        above[i] += h
        below[i] -= h
        bar[i] = np.sum(y_bar * (g(above.reshape(x.shape)) - g(below.reshape(x.shape)))) / (2.0 * h)
    return bar.reshape(x.shape)


def _step_at(x: Any, step: Any) -> Any:
    """The step for a number: a constant in any derivative, as a floor is."""
    size = 2.0 ** np.floor(np.log2(max(abs(x), 1.0)))
    return (np.finfo(x.dtype).eps ** (1.0 / 3.0) if step is None else step) * size
