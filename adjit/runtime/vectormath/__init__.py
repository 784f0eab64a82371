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
from adjit.runtime.vectormath.rows import of_rows


def _of_one(context: Any) -> Callable[[Any], Any]:
    return lambda x: x if isinstance(x, types.Float) else None


def _of_two(context: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: x if x == y and isinstance(x, types.Float) else None


def _elementary(
    name: str, double: Definition, python: Any, doc: str, single: Definition | None = None, arity: int = 1
) -> Callable[..., Any]:
    """The function: Python calls `python`, numba compiles `double`, for float32 `single` if there is one."""

    def function(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            value = python(*arguments)
        return np.float32(value) if isinstance(arguments[0], np.float32) else value

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    type_callable(function)(_of_one if arity == 1 else _of_two)

    @lower_builtin(function, *[types.Float] * arity)  # type: ignore[no-untyped-call,untyped-decorator]
    def lowered(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        definition = single if single and signature.return_type == types.float32 else double
        return call(context, builder, name, definition, arguments)

    return function


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
pow = _elementary(
    "pow", powers.pow, np.power, "x ** y, nan where x < 0 and y is not whole.", single=powers.pow_single, arity=2
)

# of rows, each less a number
exp_of_rows = of_rows(exp)
exp2_of_rows = of_rows(exp2)
expm1_of_rows = of_rows(expm1)
log_of_rows = of_rows(log)
log1p_of_rows = of_rows(log1p)
log2_of_rows = of_rows(log2)
log10_of_rows = of_rows(log10)
sinh_of_rows = of_rows(sinh)
cosh_of_rows = of_rows(cosh)
tanh_of_rows = of_rows(tanh)
erf_of_rows = of_rows(erf)
erfc_of_rows = of_rows(erfc)

OF_ROWS: dict[Any, Any] = {
    exp: exp_of_rows, exp2: exp2_of_rows, expm1: expm1_of_rows,
    log: log_of_rows, log1p: log1p_of_rows, log2: log2_of_rows, log10: log10_of_rows,
    sinh: sinh_of_rows, cosh: cosh_of_rows, tanh: tanh_of_rows, erf: erf_of_rows, erfc: erfc_of_rows,
}  # fmt: skip
