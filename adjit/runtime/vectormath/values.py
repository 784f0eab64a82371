"""Numbers in the making: Python expressions over them write LLVM instructions, without branches or calls.

In: the builder of a function, and LLVM values. Out: more instructions, and the values that they make.

    select(x > 1.0, x * x + 0.5, x)      fcmp, fmul, fadd, select

A `Real` is a float64, a `Whole` an int64, a `Truth` a bit. No instruction carries a fast-math flag: what is exact
stays so. Only `multiply_add` may be fused or not, as the machine likes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from llvmlite import ir

DOUBLE, FLOAT, INTEGER = ir.DoubleType(), ir.FloatType(), ir.IntType(64)


@dataclass(frozen=True)
class Machine:
    """Where instructions go. `has_fma`: a * b + c with one rounding is one instruction here."""

    builder: ir.IRBuilder
    has_fma: bool

    def intrinsic(self, name: str, *arguments: ir.Value) -> ir.Value:
        """A call of one of LLVM's own functions on float64, such as llvm.fma."""
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(arguments))
        return self.builder.call(self.builder.module.declare_intrinsic(name, [DOUBLE], kind), arguments)


_Own = TypeVar("_Own", bound="_Value")


def _instruction(name: str, is_reflected: bool = False) -> Callable[[_Own, _Own | float], _Own]:
    """The operator that writes this instruction; `is_reflected`: with the number on the right."""

    def operator(number: _Own, other: _Own | float) -> _Own:
        operands = number.value, number.like(other).value
        made = getattr(number.machine.builder, name)(*(operands[::-1] if is_reflected else operands))
        return type(number)(number.machine, made)

    return operator


def _comparison(sign: str) -> Callable[[Real, Real | float], Truth]:
    """The operator that compares so; false where one of the two is nan."""

    def operator(number: Real, other: Real | float) -> Truth:
        made = number.machine.builder.fcmp_ordered(sign, number.value, number.like(other).value)
        return Truth(number.machine, made)

    return operator


@dataclass(frozen=True, eq=False)
class _Value:
    """What an instruction made."""

    machine: Machine
    value: ir.Value

    def like(self: _Own, number: _Own | float) -> _Own:
        """A constant, for the same machine."""
        return number if isinstance(number, _Value) else type(self)(self.machine, self._constant(number))

    @staticmethod
    def _constant(number: float) -> ir.Constant:
        raise NotImplementedError


class Real(_Value):
    """A float64."""

    __add__ = _instruction("fadd")
    __sub__ = _instruction("fsub")
    __mul__ = _instruction("fmul")
    __truediv__ = _instruction("fdiv")
    __radd__ = _instruction("fadd", is_reflected=True)
    __rsub__ = _instruction("fsub", is_reflected=True)
    __rmul__ = _instruction("fmul", is_reflected=True)
    __rtruediv__ = _instruction("fdiv", is_reflected=True)
    __lt__ = _comparison("<")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    equals = _comparison("==")

    def __neg__(self) -> Real:
        return Real(self.machine, self.machine.builder.fneg(self.value))

    def __abs__(self) -> Real:
        return Real(self.machine, self.machine.intrinsic("llvm.fabs", self.value))

    def is_nan(self) -> Truth:
        return Truth(self.machine, self.machine.builder.fcmp_unordered("uno", self.value, self.value))

    def bits(self) -> Whole:
        """The 64 bits that stand for it."""
        return Whole(self.machine, self.machine.builder.bitcast(self.value, INTEGER))

    @staticmethod
    def _constant(number: float) -> ir.Constant:
        return ir.Constant(DOUBLE, float(number))


class Whole(_Value):
    """An int64, which wraps."""

    __add__ = _instruction("add")
    __sub__ = _instruction("sub")
    __rsub__ = _instruction("sub", is_reflected=True)
    __and__ = _instruction("and_")
    __or__ = _instruction("or_")
    __lshift__ = _instruction("shl")
    __rshift__ = _instruction("lshr")  # zeros come in from the left

    def real(self) -> Real:
        """The float64 that these bits stand for."""
        return Real(self.machine, self.machine.builder.bitcast(self.value, DOUBLE))

    @staticmethod
    def _constant(number: float) -> ir.Constant:
        return ir.Constant(INTEGER, int(number) & (2**64 - 1))


class Truth(_Value):
    """A bit."""

    __and__ = _instruction("and_")
    __or__ = _instruction("or_")

    def __invert__(self) -> Truth:
        return Truth(self.machine, self.machine.builder.not_(self.value))


def select(condition: Truth, yes: Real | float, no: Real | float) -> Real:
    """`yes if condition else no`, both computed."""
    machine = condition.machine
    operands = [n.value if isinstance(n, Real) else ir.Constant(DOUBLE, float(n)) for n in (yes, no)]
    return Real(machine, machine.builder.select(condition.value, *operands))


def multiply_add(a: Real, b: Real | float, c: Real | float) -> Real:
    """a * b + c, with one rounding or two."""
    return Real(a.machine, a.machine.intrinsic("llvm.fmuladd", a.value, a.like(b).value, a.like(c).value))


def copysign(size: Real, sign: Real) -> Real:
    return Real(size.machine, size.machine.intrinsic("llvm.copysign", size.value, sign.value))


def round_to_whole(x: Real) -> Real:
    """The nearest whole number."""
    return Real(x.machine, x.machine.intrinsic("llvm.rint", x.value))


def bits_of(number: float) -> int:
    """The 64 bits of a float64, as an integer."""
    return int.from_bytes(struct.pack("<d", number), "little")
