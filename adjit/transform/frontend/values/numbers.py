"""Complex numbers, array expressions, and what tells numbers from arrays.

In: operands. Out: values that are numbers or arrays, and their types.

    x + 1j         Complex(%x, 1.0), a pair of numbers; an array of complex numbers is a pair of arrays
    a * b + 1      Lazy: its element at an index
    a.flat         Flat(%a)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numba import types

from adjit.transform import ir
from adjit.transform.frontend.values.values import LEAF, Composite, Kind, Value
from adjit.transform.ir.types import complex_of

Index = tuple[ir.Operand, ...]


@dataclass(frozen=True)
class Complex(Composite, made_of="real imag"):
    """A complex number, or an array of them, as its real and imaginary part: two numbers or two arrays, of one type."""

    what = "a complex number"

    real: ir.Operand
    imag: ir.Operand

    @property
    def classes(self) -> tuple[type, ...]:
        return (np.ndarray,) if is_array(self) else (complex, np.complex128)


COMPLEX = Complex(LEAF, LEAF)
Number = ir.Operand | Complex


@dataclass(frozen=True, eq=False)
class Lazy(Kind):
    """An array expression that is not computed yet: its element at an index, and the arrays that reading one reads.

    view_by: the function by which NumPy takes this as a read-only view of the sources, "" where it computes an array.
    has_gaps: it is a part of an array of complex numbers, so what wants it contiguous copies it in NumPy.
    is_dear: an element takes a division, a root or the like, so it is worked out once and not for each row.
    """

    what, classes = "an array", (np.ndarray,)

    shape: tuple[ir.Operand, ...]
    dtype: types.Type
    element: Callable[[Index], Number]
    sources: tuple[ir.Operand, ...]
    # sources that are read at an index other than the element's own: such an expression cannot be stored over them
    moved: tuple[ir.Operand, ...] = ()
    view_by: str = ""
    has_gaps: bool = False
    is_dear: bool = False
    # arrays besides the sources whose order NumPy's result takes; and whether that is in any order, whatever theirs is
    like: tuple[ir.Operand, ...] = ()
    is_free: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Flat(Kind):
    """`x.flat`, by the vector of all elements: its slices are copies, while stores into it reach `x`."""

    array: Number


def is_array(value: Value) -> bool:
    """An array or an array expression."""
    if isinstance(value, Number):
        return isinstance(operands_in(value)[0].type, types.Array)
    return isinstance(value, Lazy)


def is_number(value: Value) -> TypeGuard[ir.Operand]:
    """A real number."""
    return isinstance(value, ir.Operand) and not isinstance(value.type, types.Array)


def is_scalar(value: Value) -> TypeGuard[Number]:
    """A number, real or complex."""
    return isinstance(value, Number) and not is_array(value)


def is_numeric(value: Value) -> bool:
    """A number or an array, real or complex."""
    return isinstance(value, ir.Var | ir.Const | Lazy | Complex)


def is_complex(value: Value) -> bool:
    """A complex number, or an array of them."""
    return isinstance(value, Complex) or (isinstance(value, Lazy) and isinstance(value.dtype, types.Complex))


def operands_in(value: Number) -> tuple[ir.Operand, ...]:
    """The operand, or the two that a complex value is."""
    return (value.real, value.imag) if isinstance(value, Complex) else (value,)


def dtype(value: Value) -> types.Type:
    if isinstance(value, Lazy):
        return value.dtype
    if isinstance(value, Complex):
        return complex_of(dtype(value.real))
    assert isinstance(value, ir.Operand)
    return value.type.dtype if isinstance(value.type, types.Array) else value.type


def ndim(value: Value) -> int:
    if isinstance(value, Lazy):
        return value.ndim
    assert isinstance(value, Number)
    type_ = operands_in(value)[0].type
    return type_.ndim if isinstance(type_, types.Array) else 0
