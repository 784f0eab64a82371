"""Functions of `math` as a GPU has them, for kernels in the simulator: inf and nan where Python raises.

In: a function of `math`. Out: one of the same name in `MATH`.

    math.log(0.0)   ->   -inf       math.exp(1e4)   ->   inf        math.sqrt(-1.0)   ->   nan
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special

_OF_SCIPY = {"gamma": special.gamma, "lgamma": special.gammaln, "erf": special.erf, "erfc": special.erfc}
_CALLED = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "float_power",
}  # fmt: skip


def _without_errors(own: Callable[..., Any], ufunc: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        try:
            return own(*args)
        except (ArithmeticError, ValueError):
            with np.errstate(all="ignore"):
                return float(ufunc(*args))

    return apply


def _made() -> SimpleNamespace:
    found = {name: getattr(math, name) for name in dir(math)}
    for name, own in found.items():
        ufunc = _OF_SCIPY.get(name) or getattr(np, _CALLED.get(name, name), None)
        if callable(own) and isinstance(ufunc, np.ufunc) and name not in ("ceil", "floor", "trunc"):
            found[name] = _without_errors(own, ufunc)
    return SimpleNamespace(**found)


MATH = _made()
