"""Elementary functions that LLVM can vectorise: without branches, calls or tables, where the machine's are calls.

In: a float64 or a float32. Out: the function's value, to 1 unit in the last place (ulp), at every argument from
subnormal ones to inf and nan.

    for i in range(x.size):
        y[i] = vectormath.exp(x[i])      four or eight elements at a time

They are for compiled code. Python itself takes them from NumPy and the math module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from adjit.runtime.vectormath import error_functions, exponentials, hyperbolic, logarithms, powers
from adjit.runtime.vectormath.library import Definition, call


def _elementary(name: str, definition: Definition, python: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """The function: numba compiles `definition`, Python calls `python`."""

    def function(x: Any) -> Any:
        return _in_python(python, x)

    @type_callable(function)
    def typed(context: Any) -> Callable[[Any], Any]:
        return lambda x: x if isinstance(x, types.Float) else None

    return _compiled(function, name, definition, definition, doc, 1)


def _compiled(
    function: Callable[..., Any], name: str, double: Definition, single: Definition, doc: str, arity: int
) -> Callable[..., Any]:
    """The function under its name, with numba told how to compile it for float64 and for float32."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc

    @lower_builtin(function, *[types.Float] * arity)  # type: ignore[no-untyped-call,untyped-decorator]
    def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        definition = single if signature.return_type == types.float32 else double
        return call(context, builder, name, definition, arguments)

    return function


def _in_python(python: Callable[..., Any], *arguments: Any) -> Any:
    with np.errstate(all="ignore"):
        value = python(*arguments)
    return np.float32(value) if isinstance(arguments[0], np.float32) else value


def _power(x: Any, y: Any) -> Any:
    return _in_python(np.power, x, y)


@type_callable(_power)
def _typed_power(context: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: x if x == y and isinstance(x, types.Float) else None


exp = _elementary("exp", exponentials.exp, np.exp, "e ** x.")
exp2 = _elementary("exp2", exponentials.exp2, np.exp2, "2 ** x.")
expm1 = _elementary("expm1", exponentials.expm1, np.expm1, "e ** x - 1, exact near 0 too.")
log = _elementary("log", logarithms.log, np.log, "The natural logarithm.")
log1p = _elementary("log1p", logarithms.log1p, np.log1p, "log(1 + x), exact near 0 too.")
log2 = _elementary("log2", logarithms.log2, np.log2, "The logarithm to base 2.")
log10 = _elementary("log10", logarithms.log10, np.log10, "The logarithm to base 10.")
sinh = _elementary("sinh", hyperbolic.sinh, np.sinh, "The hyperbolic sine.")
cosh = _elementary("cosh", hyperbolic.cosh, np.cosh, "The hyperbolic cosine.")
tanh = _elementary("tanh", hyperbolic.tanh, np.tanh, "The hyperbolic tangent.")
erf = _elementary("erf", error_functions.erf, math.erf, "The error function.")
erfc = _elementary("erfc", error_functions.erfc, math.erfc, "1 - erf(x), to full accuracy where it is small.")
pow = _compiled(_power, "pow", powers.pow, powers.pow_single, "x ** y, nan where x < 0 and y is not whole.", 2)
