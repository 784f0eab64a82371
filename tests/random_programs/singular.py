"""Whether a program's result rests on a function at a point where its derivative is infinite, or does not exist.

In: a program and its arguments. Out: true where the derivative is undefined for that, and not for a fault.

Such a function gives nan there, and the program runs as it stands: the result has nan if it reads what was made, and
has none if that is overwritten, or not selected.

    np.sqrt(x)[1:]            at x[0] == 0: the element is not read, so the derivative is finite
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from tests.random_programs.analytic import Module, flat
from tests.random_programs.program import Program


def is_read(program: Program, arguments: Sequence[Any], of_gradient: bool = False) -> bool:
    """Whether nan in the place of such values reaches the result. `of_gradient`: lengths of zero count, too."""
    function = program.instead(
        np=_NUMPY_KINKED if of_gradient else _NUMPY,
        math=_MATH,
        power__=_poisoned(operator.pow, _is_root_of_zero),
        **({"abs": _poisoned(abs, _is_zero)} if of_gradient else {}),
    )
    with np.errstate(all="ignore"):
        try:
            made = function(*arguments)
        except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError):
            # nan decides about something
            return True
    return any(bool(np.any(np.isnan(part))) for part in flat(made) if np.asarray(part).dtype.kind in "fc")


def _poisoned(function: Callable[..., Any], is_singular: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        return np.where(is_singular(*args), np.nan, function(*args, **options))[()]

    return made


def _is_zero(x: Any) -> Any:
    return np.asarray(x) == 0


def _is_one(x: Any) -> Any:
    return np.abs(x) == 1


def _is_root_of_zero(x: Any, y: Any) -> Any:
    return (np.asarray(x) == 0) & (np.asarray(y) < 1) & (np.asarray(y) != 0)


def _is_minus_one(x: Any) -> Any:
    return np.asarray(x) == -1


def _is_origin(y: Any, x: Any) -> Any:
    return (np.asarray(x) == 0) & (np.asarray(y) == 0)


def _of_close_values(function: Callable[..., Any], values: Callable[..., Any]) -> Callable[..., Any]:
    """nan where two of the values are as good as equal, or one as good as zero, or a basis is completed at will."""

    def made(a: Any, *args: Any, **options: Any) -> Any:
        result, found = function(a, *args, **options), np.sort(np.abs(values(a)))
        is_whole = function is not np.linalg.svd or len(set(np.shape(a))) == 1 or args[:1] == (False,)
        if is_whole and np.all(np.diff(found, prepend=0.0) > 1e-7 * np.max(found, initial=0.0)):
            return result
        parts = result if isinstance(result, tuple) else (result,)
        spoiled = [np.full_like(part, np.nan) for part in parts]
        return tuple(spoiled) if isinstance(result, tuple) else spoiled[0][()]

    return made


def with_other_vectors(program: Program, arguments: Sequence[Any]) -> Any:
    """The value, where numba's LAPACK takes matrices apart and not NumPy's: each chooses the signs of the vectors."""
    with np.errstate(all="ignore"):
        return program.instead(np=Module(np, {"linalg": Module(np.linalg, _compiled_decompositions())}))(*arguments)


@functools.cache
def _compiled_decompositions() -> dict[str, Any]:
    return {
        "eigh": numba.njit(lambda a: np.linalg.eigh(a)),
        "qr": numba.njit(lambda a: np.linalg.qr(a)),
        "svd": numba.njit(lambda a, full_matrices=True: np.linalg.svd(a, full_matrices)),
    }


def _singular_values(a: Any) -> Any:
    return np.linalg.svd(a)[1]


_LINALG = Module(
    np.linalg,
    {
        **{
            name: _of_close_values(getattr(np.linalg, name), _singular_values)
            for name in ("qr", "svd", "pinv", "lstsq")
        },
        **{name: _of_close_values(getattr(np.linalg, name), np.linalg.eigvals) for name in ("eig", "eigvals")},
        **{name: _of_close_values(getattr(np.linalg, name), np.linalg.eigvalsh) for name in ("eigh", "eigvalsh")},
    },
)
_SINGULAR = {
    "linalg": _LINALG,
    **{name: _poisoned(getattr(np, name), _is_zero) for name in ("sqrt", "cbrt", "log", "log2", "log10")},
    **{name: _poisoned(getattr(np, name), _is_one) for name in ("arcsin", "arccos", "arctanh", "arccosh")},
    **{name: _poisoned(getattr(np, name), _is_root_of_zero) for name in ("power", "float_power")},
    "log1p": _poisoned(np.log1p, _is_minus_one),
    "arctan2": _poisoned(np.arctan2, _is_origin),
    "angle": _poisoned(np.angle, _is_zero),
}
_NUMPY = Module(np, _SINGULAR)
# derivatives of these at zero are zero by convention, and theirs is not that of what a square makes of them
_LENGTHS = {
    **{name: _poisoned(getattr(np, name), _is_zero) for name in ("abs", "absolute", "fabs")},
    "hypot": _poisoned(np.hypot, _is_origin),
}
_NUMPY_KINKED = Module(np, {**_SINGULAR, **_LENGTHS})
_MATH = Module(
    math,
    {
        "sqrt": _poisoned(math.sqrt, _is_zero),
        "asin": _poisoned(math.asin, _is_one),
        "acos": _poisoned(math.acos, _is_one),
        "pow": _poisoned(math.pow, _is_root_of_zero),
        "atan2": _poisoned(math.atan2, _is_origin),
    },
)
