"""Derivatives by the complex step: exact to rounding, of programs that are analytic in their inputs.

In: a program, its arguments and a direction. Out: how its results change along it; None if an operation cannot take
complex numbers.

Each number is x + i h dx with h so small that its square vanishes, and the program runs as it stands, with another `np`
and `math`: what they make is complex, and functions that are not analytic everywhere, such as `abs`, are those
branches of them that the real numbers take.
"""

from __future__ import annotations

import builtins
import math
import re
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.random_programs.program import Program

STEP = 1e-40

# what conjugates, or computes with sizes of complex numbers
_OTHERWISE = re.compile(
    r"complex|\d+j\b|\bz\b|\bZ\b|omega|field|\.real|\.imag|np\.real|conj|cholesky|eig|\bqr\b|svd|pinv|lstsq|slogdet|cond\(|cov\(|"
    r"integrate|optimize|ndimage|sparse|"
    r"corrcoef|correlate|\.var\(|\.std\(|\bdivmod|\bnorm\([^()]*, |float32|int8|int16|sinc|percentile|quantile"
)


def along(program: Program, arguments: Sequence[Any], direction: Sequence[Any]) -> list[Any] | None:
    """The change of each float in the result, with shapes as the results."""
    if _OTHERWISE.search(program.text):
        return None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            function = program.instead(np=NUMPY, math=MATH, **_BUILTINS)
            made = function(*map(_lifted, arguments, direction))
    except Exception:  # noqa: BLE001  whatever an operation says to complex numbers
        return None
    return [np.imag(part) / STEP for part in flat(made) if np.asarray(part).dtype.kind in "fc"]


def flat(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, tuple | list) else [tree]


def _lifted(value: Any, direction: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_lifted, value, direction))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        made = like(value, np.complex128)
        made[...] = value + 1j * STEP * direction
        return made
    if isinstance(value, float | np.floating):
        return np.complex128(complex(value, STEP * direction))
    return like(value, value.dtype) if isinstance(value, np.ndarray) else value


def like(array: Any, dtype: Any = None) -> Any:
    """A copy whose elements lie in memory as those of the array."""
    dtype = np.dtype(dtype or array.dtype)
    strides = tuple(s // array.itemsize * dtype.itemsize for s in array.strides)
    reaches = [s * (n - 1) for s, n in zip(strides, array.shape, strict=True)] if array.size else []
    low = sum(min(r, 0) for r in reaches)
    high = sum(max(r, 0) for r in reaches)
    buffer = np.zeros(high - low + dtype.itemsize, np.uint8)
    made = np.ndarray(array.shape, dtype, buffer.data, -low, strides)
    made[...] = array
    return made


# ------------------------------------------------------------------------------------------ functions of real numbers


def _first_order(function: Callable[..., Any], *partials: Callable[..., Any]) -> Callable[..., Any]:
    """A real function of complex numbers with tiny imaginary parts, by its partial derivatives."""

    def lifted(*args: Any) -> Any:
        reals = [np.real(a) for a in args]
        change = sum(p(*reals) * np.imag(a) for p, a in zip(partials, args, strict=True))
        return (function(*reals) + 1j * change)[()]

    return lifted


_ABS = _first_order(np.abs, np.sign)
_ATAN2 = _first_order(np.arctan2, lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y))
_HYPOT = _first_order(np.hypot, lambda x, y: x / np.hypot(x, y), lambda x, y: y / np.hypot(x, y))
_MAX = _first_order(np.maximum, lambda a, b: (a > b) + 0.5 * (a == b), lambda a, b: (a < b) + 0.5 * (a == b))
_MIN = _first_order(np.minimum, lambda a, b: (a < b) + 0.5 * (a == b), lambda a, b: (a > b) + 0.5 * (a == b))
_LOGADDEXP = _first_order(np.logaddexp, lambda a, b: 1 / (1 + np.exp(b - a)), lambda a, b: 1 / (1 + np.exp(a - b)))
_COPYSIGN = _first_order(np.copysign, lambda a, b: np.sign(a) * np.copysign(1.0, b), lambda a, b: 0.0 * b)


def _var(a: Any, axis: Any = None) -> Any:
    centred = a - np.mean(a, axis=axis, keepdims=axis is not None)
    return np.mean(centred * centred, axis=axis)


class _Real:
    """`np.float64` and the like: complex in the place of float, as a type and as a function."""

    def __new__(cls, value: Any = 0.0) -> Any:
        return np.complex128(value)


def _kind(dtype: Any) -> Any:
    return np.complex128 if dtype in (None, float, np.float64, np.float32, np.complex128) else dtype


def _maker(function: Callable[..., Any], position: int | None) -> Callable[..., Any]:
    def made(*args: Any, dtype: Any = None, **options: Any) -> Any:
        if position is not None and len(args) > position:
            args, dtype = args[:position], args[position]
        return function(*args, dtype=_kind(dtype), **options)

    return made


def _likes(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(a: Any, *args: Any, dtype: Any = None) -> Any:
        return function(a, *args, dtype=None if dtype is None else _kind(dtype))

    return made


class Module(types.ModuleType):
    """A module with others in the place of some of its functions."""

    def __init__(self, module: types.ModuleType, others: Mapping[str, Any]):
        super().__init__(module.__name__)
        self.__dict__.update(others)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


NUMPY = Module(np, {})
for _name, _position in (("zeros", 1), ("ones", 1), ("empty", 1), ("full", 2)):
    setattr(NUMPY, _name, _maker(getattr(np, _name), _position))
for _name in ("eye", "identity"):
    setattr(NUMPY, _name, _maker(getattr(np, _name), None))
for _name in ("zeros_like", "ones_like", "empty_like", "full_like", "asarray"):
    setattr(NUMPY, _name, _likes(getattr(np, _name)))
for _name, _value in {
    "float64": np.complex128, "abs": _ABS, "absolute": _ABS, "fabs": _ABS, "arctan2": _ATAN2, "hypot": _HYPOT,
    "maximum": _MAX, "minimum": _MIN, "fmax": _MAX, "fmin": _MIN, "logaddexp": _LOGADDEXP, "copysign": _COPYSIGN,
    "var": _var, "std": lambda a, axis=None: np.sqrt(_var(a, axis)), "vdot": lambda a, b: np.sum(a * b),
    "sign": lambda a: np.sign(np.real(a)), "floor": lambda a: np.floor(np.real(a)),
    "ceil": lambda a: np.ceil(np.real(a)),
    "linalg": Module(np.linalg, {"norm": lambda a: np.sqrt(np.sum(np.asarray(a) * a))}),
}.items():  # fmt: skip
    setattr(NUMPY, _name, _value)

MATH = types.ModuleType("math")
for _name in ("sin", "cos", "tan", "exp", "log", "sqrt", "sinh", "cosh", "tanh", "log1p", "expm1", "log2", "log10"):
    setattr(MATH, _name, getattr(np, _name))
for _name, _value in {
    "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "asinh": np.arcsinh, "fabs": _ABS, "hypot": _HYPOT,
    "atan2": _ATAN2, "copysign": _COPYSIGN, "pi": math.pi, "e": math.e, "inf": math.inf, "pow": np.power,
    "floor": lambda a: math.floor(np.real(a)), "ceil": lambda a: math.ceil(np.real(a)),
}.items():  # fmt: skip
    setattr(MATH, _name, _value)

_BUILTINS: dict[str, Any] = {
    "abs": _ABS,
    "float": lambda a: np.complex128(a),
    "int": lambda a: builtins.int(np.real(a)),
    "round": lambda a, n=None: builtins.round(builtins.float(np.real(a)), n),
}
