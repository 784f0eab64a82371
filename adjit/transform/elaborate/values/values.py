"""What an expression of the user's program stands for while it is elaborated.

A value is an operand of the IR (a number or an array), or one of the static or lazy kinds below, which never reach the
IR. `leaves_of` and `rebuild` take a value apart into operands and put it together again, for loops, branches and
results.

    (x, (y, 2))    TupleValue((%x, TupleValue((%y, 2))))
    a * b + 1      Lazy: the scalar body of an elementwise expression, written as a loop where it is stored or summed
    x + 1j         Complex(%x, 1.0), a pair of numbers; an array of complex numbers is a pair of arrays
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeGuard

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import complex_of

Index = tuple[ir.Operand, ...]


@dataclass(frozen=True)
class Static:
    """A Python object known at compile time: a function, a module, None, a string, a dtype."""

    value: Any


@dataclass(frozen=True)
class TupleValue:
    """A tuple (or, with `is_list`, a list display) of values; `fields`: the names that a named one has for them."""

    items: tuple[Value, ...]
    is_list: bool = False
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Lazy:
    """An array expression that is not computed yet: its element at an index, and the arrays that reading one reads.

    view_by: the function by which NumPy takes this as a read-only view of the sources, "" where it computes an array.
    has_gaps: it is a part of an array of complex numbers, so what wants it contiguous copies it in NumPy.
    """

    shape: tuple[ir.Operand, ...]
    dtype: types.Type
    element: Callable[[Index], Number]
    sources: tuple[ir.Operand, ...]
    # sources that are read at an index other than the element's own: such an expression cannot be stored over them
    moved: tuple[ir.Operand, ...] = ()
    view_by: str = ""
    has_gaps: bool = False
    # arrays besides the sources whose order NumPy's result takes; and whether that is in any order, whatever theirs is
    like: tuple[ir.Operand, ...] = ()
    is_free: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Complex:
    """A complex number, or an array of them, as its real and imaginary part: two numbers or two arrays, of one type."""

    real: ir.Operand
    imag: ir.Operand


Number = ir.Operand | Complex


@dataclass(frozen=True)
class Flat:
    """`x.flat`, by the vector of all elements: its slices are copies, while stores into it reach `x`."""

    array: Number


@dataclass(frozen=True)
class Method:
    """`value.name` before it is called."""

    owner: Value
    name: str


@dataclass(frozen=True)
class Range:
    start: ir.Operand
    stop: ir.Operand
    step: ir.Operand
    snapshots: int | None = None  # for the reverse sweep, where the user asks for some
    parallel: bool = False  # written prange


@dataclass(frozen=True)
class Paired:
    """enumerate and zip: several things iterated over together; None stands for the counter of enumerate."""

    parts: tuple[Value | None, ...]
    first: ir.Operand | None = None


@dataclass(frozen=True)
class SliceValue:
    """`start:stop:step` in a subscript."""

    span: ir.Span


@dataclass(frozen=True)
class OneOf:
    """One of several functions, which one is known at run time only.

    which: of two, whether it is the first; of more, its number.
    """

    options: tuple[Static, ...]
    which: ir.Operand


@dataclass(frozen=True)
class Poison:
    """A name that holds things of different kinds, depending on the path taken, or nothing. Reading it is an error."""

    why: str
    is_deleted: bool = False


Value = Number | Static | OneOf | TupleValue | Lazy | Flat | Method | Range | Paired | SliceValue | Poison


def is_array(value: Value) -> bool:
    """An array or an array expression."""
    if isinstance(value, ir.Var | ir.Const | Complex):
        return isinstance(operands_in(value)[0].type, types.Array)
    return isinstance(value, Lazy)


def is_number(value: Value) -> TypeGuard[ir.Operand]:
    """A real number."""
    return isinstance(value, ir.Var | ir.Const) and not isinstance(value.type, types.Array)


def is_scalar(value: Value) -> TypeGuard[Number]:
    """A number, real or complex."""
    return isinstance(value, ir.Var | ir.Const | Complex) and not is_array(value)


def is_numeric(value: Value) -> bool:
    """A number or an array, real or complex."""
    return isinstance(value, ir.Var | ir.Const | Lazy | Complex)


def is_complex(value: Value) -> bool:
    """A complex number, or an array of them."""
    return isinstance(value, Complex) or (isinstance(value, Lazy) and isinstance(value.dtype, types.Complex))


def operands_in(value: Number) -> tuple[ir.Operand, ...]:
    """The operand, or the two that a complex value is."""
    return (value.real, value.imag) if isinstance(value, Complex) else (value,)


def elements(value: Value) -> Value:
    """What a function or an operator sees of a value: of `x.flat`, the vector."""
    return value.array if isinstance(value, Flat) else value


def dtype(value: Value) -> types.Type:
    if isinstance(value, Lazy):
        return value.dtype
    if isinstance(value, Complex):
        return complex_of(dtype(value.real))
    assert isinstance(value, ir.Var | ir.Const)
    return value.type.dtype if isinstance(value.type, types.Array) else value.type


def ndim(value: Value) -> int:
    if isinstance(value, Lazy):
        return value.ndim
    assert isinstance(value, ir.Var | ir.Const | Complex)
    type_ = operands_in(value)[0].type
    return type_.ndim if isinstance(type_, types.Array) else 0


@dataclass(frozen=True)
class Shape:
    """How a value is put together, and its parts.

    'leaf', 'tuple', 'list', 'complex', 'function', 'static' or 'poison'.
    """

    kind: str
    parts: tuple[Any, ...] = ()
    fields: tuple[str, ...] = ()


LEAF = Shape("leaf")


def described(value: Value) -> str:
    """What a value is, for a message."""
    if isinstance(value, TupleValue):
        if value.fields:
            return f"a named tuple of {', '.join(value.fields)}"
        return f"{'a list' if value.is_list else 'a tuple'} of {len(value.items)}"
    if isinstance(value, Method):
        return f"the method `{value.name}`"
    if isinstance(value, Static):
        return _described_object(value.value)
    return _DESCRIBED.get(type(value)) or ("an array" if is_array(value) else "a number")


_DESCRIBED: Mapping[type, str] = {
    Complex: "a complex number",
    Range: "a range",
    Paired: "what enumerate or zip gives",
    SliceValue: "a slice",
    Poison: "a value whose type depends on the path taken",
    OneOf: "a function chosen at run time",
}


def _described_object(thing: Any) -> str:
    if thing is None or thing is Ellipsis:
        return "None" if thing is None else "`...`"
    if isinstance(thing, str):
        return "a string"
    name = getattr(thing, "__name__", None) or getattr(thing, "name", None)
    if isinstance(thing, ModuleType):
        return f"the module {name}"
    if isinstance(thing, type):
        return f"the class {name}"
    return f"the function {name}" if isinstance(name, str) else f"an object of type {type(thing).__name__}"


def structure(value: Value) -> Shape:
    if isinstance(value, ir.Var | ir.Const):
        return LEAF
    if isinstance(value, TupleValue):
        return Shape("list" if value.is_list else "tuple", tuple(structure(v) for v in value.items), value.fields)
    if isinstance(value, Complex):
        return Shape("complex")
    if isinstance(value, OneOf):
        return Shape("function", value.options)
    return Shape("poison" if isinstance(value, Poison) else "static", (value,))


def joint(left: Shape, right: Shape) -> Shape | None:
    """How a value is put together that is `left` on one path and `right` on another; a number may become complex."""
    if left == right:
        return left
    if {left.kind, right.kind} == {"leaf", "complex"}:
        return Shape("complex")
    if left.kind == right.kind and left.kind in ("tuple", "list") and len(left.parts) == len(right.parts):
        parts = [joint(a, b) for a, b in zip(left.parts, right.parts, strict=True)]
        return None if None in parts else Shape(left.kind, tuple(parts))
    return None


def leaves_of(value: Value) -> list[ir.Operand]:
    if isinstance(value, ir.Var | ir.Const):
        return [value]
    if isinstance(value, TupleValue):
        return [leaf for v in value.items for leaf in leaves_of(v)]
    if isinstance(value, Complex):
        return [value.real, value.imag]
    return [value.which] if isinstance(value, OneOf) else []


def parts_of(value: Value) -> list[Value]:
    """What is in a tuple and in the tuples in it, in order; of what is no tuple, that."""
    return [part for item in value.items for part in parts_of(item)] if isinstance(value, TupleValue) else [value]


def rebuild(shape: Shape, operands: Iterable[ir.Operand]) -> Value:
    rest = iter(operands)
    if shape.kind == "leaf":
        return next(rest)
    if shape.kind in ("tuple", "list"):
        return TupleValue(tuple(rebuild(part, rest) for part in shape.parts), shape.kind == "list", shape.fields)
    if shape.kind == "complex":
        return Complex(next(rest), next(rest))
    if shape.kind == "function":
        return OneOf(shape.parts, next(rest))
    value: Value = shape.parts[0]
    return value
