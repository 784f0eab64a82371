"""What kernels may call, and what it is called there.

In: a resolved callee. Out: the function that a kernel calls in its place; None if there is none.

    in_kernel(np.exp, 1)   ->   math.exp            in_kernel(np.maximum, 2)   ->   External("adjit.cuda", "maximum")
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from adjit.runtime.library import check_apart, check_output, check_separate, distinct
from adjit.transform import ir
from adjit.transform.ir.launches import External

OURS = "adjit.cuda"

GRID = ir.of_cuda("grid")
GRID_SIZE = ir.of_cuda("gridsize")
THREAD = ir.of_cuda("threadIdx.x")
COVER = ir.external(OURS, "cover")
SPREAD = ir.external(OURS, "spread")
SHARE = ir.external(OURS, "share")
ROW_COUNT = ir.external(OURS, "row_count")
THREAD_COUNT = ir.external(OURS, "thread_count")
ONE_BLOCK = ir.external(OURS, "one_block")
ONE_THREAD = ir.external(OURS, "one_thread")
IN_BLOCKS = ir.external(OURS, "in_blocks")
BLOCK_COUNT = ir.external(OURS, "block_count")
BLOCK_NUMBER = ir.external(OURS, "block_number")
THREAD_NUMBER = ir.external(OURS, "thread_number")
ROWS = ir.external(OURS, "rows")
ROWS_ALONG = ir.external(OURS, "rows_along")
ROWS_ACROSS = ir.external(OURS, "rows_across")
ROW_BARRIER = ir.external(OURS, "row_barrier")
BLOCK_TOTAL = ir.external(OURS, "block_total")
PARTS = ir.external(OURS, "parts")
# of the threads of a block, and of the blocks of a launch: sums, greatest and least values
OF_BLOCK = {
    None: ir.external(OURS, "block_sum"), "greatest": ir.external(OURS, "block_max"),
    "least": ir.external(OURS, "block_min"),
}  # fmt: skip
OF_PARTS = {
    None: ir.external(OURS, "sum_of_parts"), "greatest": ir.external(OURS, "max_of_parts"),
    "least": ir.external(OURS, "min_of_parts"),
}  # fmt: skip
# of the threads of a row
OF_ROW = {
    None: ir.external(OURS, "row_sum"), "greatest": ir.external(OURS, "row_max"),
    "least": ir.external(OURS, "row_min"),
}  # fmt: skip
NUMBER = ir.external(OURS, "number")
READ = ir.external(OURS, "read")
ADD_IN_ORDER = ir.external(OURS, "add_in_order")
CONSTANT = ir.external(OURS, "constant")

# functions that numba compiles for a GPU under their names in `math`, with the names that NumPy has for them
_MATH = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "copysign": "copysign", "cos": "cos", "cosh": "cosh", "erf": "", "erfc": "", "exp": "exp",
    "exp2": "exp2", "expm1": "expm1", "fabs": "fabs", "fmod": "fmod", "gamma": "", "hypot": "hypot",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "ldexp": "ldexp", "lgamma": "", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "nextafter": "nextafter", "pow": "float_power", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
}  # fmt: skip
# those that `adjit.cuda` has device functions for
_OURS = (
    "cbrt", "ceil", "degrees", "floor", "fmax", "fmin", "heaviside", "logaddexp", "logaddexp2", "maximum", "minimum",
    "radians", "rint", "sign", "signbit", "trunc",
)  # fmt: skip
_ROUNDING = (round, np.round, np.around)
_OPERATORS: dict[Any, Any] = {
    np.greater: operator.gt, np.greater_equal: operator.ge, np.less: operator.lt, np.less_equal: operator.le,
    np.equal: operator.eq, np.not_equal: operator.ne, np.floor_divide: operator.floordiv,
    np.remainder: operator.mod, np.power: operator.pow, np.bitwise_and: operator.and_, np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor, np.left_shift: operator.lshift, np.right_shift: operator.rshift,
    np.invert: operator.invert, np.absolute: abs,
}  # fmt: skip


def _table() -> dict[Any, Any]:
    found: dict[Any, Any] = dict(_OPERATORS)
    for name, numpys in _MATH.items():
        own = getattr(math, name, None)
        if own is not None:
            found[own] = own
            if numpys:
                found[getattr(np, numpys)] = own
    for name in _OURS:
        found[getattr(np, name)] = ir.external(OURS, name)
    found |= {math.degrees: found[np.degrees], math.radians: found[np.radians], abs: abs}
    found |= {np.deg2rad: found[np.radians], np.rad2deg: found[np.degrees], np.fix: found[np.trunc]}
    found |= {np.logical_and: ir.external(OURS, "logical_and"), np.logical_or: ir.external(OURS, "logical_or")}
    # of integers Python's, of floats with Python's choice among nan and equal ones
    found |= {max: ir.external(OURS, "greater"), min: ir.external(OURS, "lesser")}
    found |= {math.floor: found[np.floor], math.ceil: found[np.ceil], math.trunc: found[np.trunc]}
    # to whole numbers; to so many digits, with a second argument, kernels do not
    found |= dict.fromkeys(_ROUNDING, found[np.rint])
    return found | {callee: callee for callee in (ir.cast, ir.select, distinct)}


_TABLE = _table()
# what the host does about arrays on the device
ON_HOST: dict[Any, External] = {
    check_output: ir.external(OURS, "check_output"), check_separate: ir.external(OURS, "check_separate"),
    check_apart: ir.external(OURS, "check_apart"),
    np.arange: ir.external(OURS, "arange"), np.linspace: ir.external(OURS, "linspace"),
}  # fmt: skip
_OPERATOR = frozenset(value for name, value in vars(operator).items() if not name.startswith("_") and callable(value))
_NO_OPERATOR = frozenset({operator.matmul, operator.imatmul, operator.getitem, operator.contains, operator.concat})


def in_kernel(callee: Any, count: int) -> Any:
    """The stand-in in kernels of a callee with so many arguments, itself for operators; None if there is none."""
    if isinstance(callee, External):
        return callee
    try:
        own = ir.canonical(callee)
        if own in _OPERATOR:
            return None if own in _NO_OPERATOR else own
        if callee in _ROUNDING and count > 1:
            return None
        return _TABLE.get(own, _TABLE.get(callee))
    except TypeError:
        # what cannot be looked up is none of them
        return None
