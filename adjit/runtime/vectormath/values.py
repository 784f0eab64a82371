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
from typing import Any

from llvmlite import ir

DOUBLE, FLOAT, INTEGER = ir.DoubleType(), ir.FloatType(), ir.IntType(64)


def _on_doubles(count: int) -> ir.FunctionType:
    return ir.FunctionType(DOUBLE, [DOUBLE] * count)


@dataclass(frozen=True)
class Machine:
    """Where instructions go. `has_fma`: a * b + c with one rounding is one instruction here."""

    builder: ir.IRBuilder
    has_fma: bool

    def intrinsic(self, name: str, *arguments: ir.Value) -> ir.Value:
        """A call of one of LLVM's own functions on float64, such as llvm.fma."""
        function = self.builder.module.declare_intrinsic(name, [DOUBLE], _on_doubles(len(arguments)))
        return self.builder.call(function, arguments)


@dataclass(frozen=True, eq=False)
class Real:
    """A float64."""

    machine: Machine
    value: ir.Value

    def __add__(self, other: Real | float) -> Real:
        return self._made(self._builder.fadd, other)

    def __sub__(self, other: Real | float) -> Real:
        return self._made(self._builder.fsub, other)

    def __mul__(self, other: Real | float) -> Real:
        return self._made(self._builder.fmul, other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._made(self._builder.fdiv, other)

    def __radd__(self, other: float) -> Real:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Real:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Real:
        return self.like(other) * self

    def __rtruediv__(self, other: float) -> Real:
        return self.like(other) / self

    def __neg__(self) -> Real:
        return Real(self.machine, self._builder.fneg(self.value))

    def __abs__(self) -> Real:
        return Real(self.machine, self.machine.intrinsic("llvm.fabs", self.value))

    def __lt__(self, other: Real | float) -> Truth:
        return self._compared("<", other)

    def __gt__(self, other: Real | float) -> Truth:
        return self._compared(">", other)

    def __ge__(self, other: Real | float) -> Truth:
        return self._compared(">=", other)

    def equals(self, other: Real | float) -> Truth:
        return self._compared("==", other)

    def is_nan(self) -> Truth:
        return Truth(self.machine, self._builder.fcmp_unordered("uno", self.value, self.value))

    def like(self, number: Real | float) -> Real:
        """A constant, for the same machine."""
        return number if isinstance(number, Real) else Real(self.machine, ir.Constant(DOUBLE, float(number)))

    def bits(self) -> Whole:
        """The 64 bits that stand for it."""
        return Whole(self.machine, self._builder.bitcast(self.value, INTEGER))

    @property
    def _builder(self) -> Any:
        return self.machine.builder

    def _made(self, instruction: Callable[[ir.Value, ir.Value], ir.Value], other: Real | float) -> Real:
        return Real(self.machine, instruction(self.value, self.like(other).value))

    def _compared(self, sign: str, other: Real | float) -> Truth:
        return Truth(self.machine, self._builder.fcmp_ordered(sign, self.value, self.like(other).value))


@dataclass(frozen=True, eq=False)
class Whole:
    """An int64, which wraps."""

    machine: Machine
    value: ir.Value

    def __add__(self, other: Whole | int) -> Whole:
        return self._made(self._builder.add, other)

    def __sub__(self, other: Whole | int) -> Whole:
        return self._made(self._builder.sub, other)

    def __rsub__(self, other: int) -> Whole:
        return Whole(self.machine, self._builder.sub(self._like(other), self.value))

    def __and__(self, other: Whole | int) -> Whole:
        return self._made(self._builder.and_, other)

    def __or__(self, other: Whole | int) -> Whole:
        return self._made(self._builder.or_, other)

    def __lshift__(self, count: int) -> Whole:
        return self._made(self._builder.shl, count)

    def __rshift__(self, count: int) -> Whole:
        """Zeros come in from the left."""
        return self._made(self._builder.lshr, count)

    def real(self) -> Real:
        """The float64 that these bits stand for."""
        return Real(self.machine, self._builder.bitcast(self.value, DOUBLE))

    @property
    def _builder(self) -> Any:
        return self.machine.builder

    def _like(self, number: Whole | int) -> ir.Value:
        return number.value if isinstance(number, Whole) else ir.Constant(INTEGER, number & (2**64 - 1))

    def _made(self, instruction: Callable[[ir.Value, ir.Value], ir.Value], other: Whole | int) -> Whole:
        return Whole(self.machine, instruction(self.value, self._like(other)))


@dataclass(frozen=True, eq=False)
class Truth:
    """A bit."""

    machine: Machine
    value: ir.Value

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.machine, self.machine.builder.and_(self.value, other.value))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.machine, self.machine.builder.or_(self.value, other.value))

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
