"""The text of expressions, with no more parentheses than Python needs.

In: operands and operations, the names of variables, and what folds. Out: `Text`, a string and how tightly it binds.

    call add(call mul(%a, %b), -1.0)        a * b + -1.0
    call mul(%a, call sub(%b, %c))          a * (b - c)
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types

from adjit.runtime.library import check_apart, check_separate, joined
from adjit.runtime.library.workspace import product_type
from adjit.runtime.vectormath import OF_ROWS
from adjit.transform import ir
from adjit.transform.emit.folding import Folding
from adjit.transform.emit.naming import Globals
from adjit.transform.ir.types import array_type_of, complex_of, is_scalar, written_selectors

# How tightly an expression binds, loosest first.
CHOICE, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, POWER, ATOM = range(14)

# The signs that bind so tightly, with the functions of `operator` that they stand for.
_SIGNS = {
    COMPARE: {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "is": "is_", "is not": "is_not"},
    BIT_OR: {"|": "or_ ior"},
    BIT_XOR: {"^": "xor ixor"},
    BIT_AND: {"&": "and_ iand"},
    SHIFT: {"<<": "lshift ilshift", ">>": "rshift irshift"},
    SUM: {"+": "add iadd", "-": "sub isub"},
    PRODUCT: {
        "*": "mul imul", "/": "truediv itruediv", "//": "floordiv ifloordiv", "%": "mod imod", "@": "matmul imatmul"
    },
    POWER: {"**": "pow ipow"},
}  # fmt: skip
INFIX: dict[Any, tuple[str, int]] = {
    getattr(operator, name): (sign, binds)
    for binds, signs in _SIGNS.items()
    for sign, names in signs.items()
    for name in names.split()
}
PREFIX: dict[Any, tuple[str, int]] = {
    operator.neg: ("-", SIGN),
    operator.pos: ("+", SIGN),
    operator.invert: ("~", SIGN),
    operator.not_: ("not ", NOT),
}
# `not a < b` is `a >= b` only for integers: comparisons with nan are false.
_OPPOSITE = {"==": "!=", "!=": "=="}
_OPPOSITE_OF_INTEGERS = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_FILLS = {"0.0": "zeros", "0": "zeros", "False": "zeros", "1.0": "ones", "1": "ones", "True": "ones"}
_METHODS = frozenset(
    id(method) for owner in (np.ndarray, np.random.Generator) for method in vars(owner).values() if callable(method)
)
_SIMPLE = re.compile(r"-?\w*\Z")


class Text(NamedTuple):
    text: str
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """The text where at least `binds` is called for."""
        return self.text if self.binds >= binds else f"({self.text})"


class Expressions:
    """Prints operands and operations. `names` has the name of each variable that does not fold; `temporaries` are the
    allocations to make in the workspace, with products of matrices; None: NumPy's own functions make all."""

    def __init__(
        self,
        names: Callable[[ir.Var], str],
        folding: Folding,
        found: Globals,
        temporaries: frozenset[ir.Var] | None = frozenset(),
        wholes: Mapping[ir.Var, ir.Var] = {},
    ):
        self.names = names
        self.folding = folding
        self.globals = found
        self.temporaries = temporaries
        self.wholes = wholes

    # ---------------------------------------------------------------------------------------------- operands

    def text(self, operand: ir.Operand) -> str:
        return self.operand(operand).text

    def operand(self, operand: ir.Operand) -> Text:
        if isinstance(operand, ir.Const):
            return self.literal(operand.value, operand.type)
        op = self.folding.folded.get(operand)
        return Text(self.names(operand)) if op is None else self.op(op)

    def atom(self, operand: ir.Operand) -> str:
        """The operand where something follows it: a bracket or a dot."""
        found = self.operand(operand)
        return f"({found.text})" if found.binds < ATOM or found.text[0].isdigit() else found.text

    def operands(self, operands: Sequence[ir.Operand]) -> str:
        return ", ".join(self.text(o) for o in operands)

    def literal(self, value: Any, type_: ir.Type) -> Text:
        """A number as Python writes it, in a form that numba gives the type `type_`."""
        if isinstance(type_, types.Boolean):
            return Text(repr(bool(value)))
        if isinstance(type_, types.Integer):
            return self._typed(_signed(repr(int(value))), type_, types.int64)
        if isinstance(type_, types.Float):
            return self._typed(self._float(value, type_), type_, types.float64)
        if isinstance(type_, types.Complex):
            parts = (self._float(part, types.float64).text for part in (complex(value).real, complex(value).imag))
            return self._typed(Text(f"{self.globals.builtin('complex')}({', '.join(parts)})"), type_, types.complex128)
        if isinstance(value, np.ndarray):
            return Text(self.globals.text(value))
        return Text(self.static(value))

    def _typed(self, text: Text, type_: ir.Type, usual: ir.Type) -> Text:
        return text if type_ == usual else Text(f"{self.scalar(type_)}({text.text})")

    def _float(self, value: Any, type_: ir.Type) -> Text:
        number = float(value)
        if math.isnan(number) or math.isinf(number):
            text = f"{self.globals.module('np')}.{'nan' if math.isnan(number) else 'inf'}"
            return Text(f"-{text}", SIGN) if number < 0 else Text(text)
        short = str(np.float32(value)) if type_ == types.float32 else repr(number)
        return _signed(short if type_ != types.float32 or np.float32(short) == np.float32(value) else repr(number))

    def static(self, value: Any) -> str:
        """A keyword argument that is no value of the program: a dtype, a string, an axis."""
        if isinstance(value, tuple):
            return parenthesised([self.static(part) for part in value])
        if isinstance(value, types.Type):
            return self.scalar(value)
        if isinstance(value, np.dtype):
            return self.scalar_named(value.name)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int):
            return repr(value)
        if isinstance(value, float):
            return self._float(value, types.float64).text
        if isinstance(value, str):
            return ir.quoted(value)
        return self.globals.text(value)

    def scalar(self, type_: ir.Type) -> str:
        """NumPy's name for the type of a number."""
        return self.scalar_named("bool" if isinstance(type_, types.Boolean) else str(type_))

    def scalar_named(self, name: str) -> str:
        return f"{self.globals.module('np')}.{'bool_' if name == 'bool' else name}"

    def default(self, type_: ir.Type) -> Text:
        """Some value of the type, for a variable that is read only where it has been assigned another."""
        if isinstance(type_, types.Array):
            shape = "0" if type_.ndim == 1 else repr((0,) * type_.ndim)
            return Text(self._new("empty", [shape], type_.dtype))
        if isinstance(type_, types.List):
            return Text(self.empty_list(type_))
        return self.literal(0, type_)

    def empty_list(self, type_: ir.Type) -> str:
        """An empty list whose type numba knows although nothing is appended to it."""
        assert isinstance(type_, types.List)
        return f"[{self.default(type_.dtype).text} for _ in {self.globals.builtin('range')}(0)]"

    # ---------------------------------------------------------------------------------------------- operations

    def op(self, op: ir.Op) -> Text:
        match op:
            case ir.Call():
                return self.call(op)
            case ir.If():
                return self.choice(op)
            case ir.Load():
                return Text(self.element(op.array, op.index))
            case ir.Pull():
                return Text(f"{self.atom(op.tape)}[{self.text(op.index)}]")
            case ir.Extent(array=array, axis=axis):
                extent = "size" if array_type_of(array).ndim == 1 else f"shape[{axis}]"
                return Text(f"{self.atom(array)}.{extent}")
            case ir.Slice():
                return self.slice(op)
            case ir.Transpose():
                return self.transpose(op)
            case ir.Reshape():
                return self.reshape(op)
            case ir.Copy(source=source, out=out):
                # copy() makes C order, in numba as in NumPy
                copied = ".T.copy().T" if array_type_of(out).layout == "F" else ".copy()"
                return Text(f"{self.atom(source)}{copied}")
            case ir.Alloc():
                return Text(self.alloc(op))
            case ir.NewTape():
                return Text(self.empty_list(op.out.type))
            case ir.Undefined():
                return self.default(op.out.type)
            case _:
                raise NotImplementedError(type(op).__name__)

    def element(self, array: ir.Operand, index: Sequence[ir.Operand]) -> str:
        return f"{self.atom(array)}[{self.operands(index) or '()'}]"

    def atomic(self, op: ir.Store) -> str:
        """An addition that no other thread gets into; so of raising an element, or lowering it."""
        callee = self.globals.text(ir.of_cuda(f"atomic.{op.extreme or 'add'}"))
        index = op.index
        place = self.text(index[0]) if len(index) == 1 else parenthesised([self.text(i) for i in index])
        return f"{callee}({self.atom(op.array)}, {place if index else '()'}, {self.text(op.value)})"

    def added(self, op: ir.AddProduct) -> str:
        """A product that is added to a matrix, or taken off."""
        return f"{self.globals.text(op.callee)}({self.operands((op.target, op.left, op.right))})"

    def of_rows(self, op: ir.OfRows) -> str:
        """A function of the elements of rows, each less a number."""
        return f"{self.globals.text(OF_ROWS[op.callee])}({self.operands((op.target, op.source, op.less))})"

    def barrier(self) -> str:
        """All threads of a block wait for each other."""
        return f"{self.globals.text(ir.of_cuda('syncthreads'))}()"

    def slice(self, op: ir.Slice) -> Text:
        return Text(f"{self.atom(op.base)}[{self.selectors(op)}]")

    def selectors(self, op: ir.Slice) -> str:
        """What stands between the brackets of a view."""
        written = op.selectors[: written_selectors(array_type_of(op.base), op.selectors)]
        return ", ".join(map(self.selector, written))

    def reshape(self, op: ir.Reshape) -> Text:
        shape = self.operands(op.shape) if op.shape else "()"
        return Text(f"{self.atom(op.base)}.reshape({shape})")

    def selector(self, selector: ir.Selector) -> str:
        if isinstance(selector, ir.NewAxis):
            return f"{self.globals.module('np')}.newaxis"
        if isinstance(selector, ir.At):
            return self.text(selector.index)
        ends = ["" if e is None else self.text(e) for e in (selector.start, selector.stop, selector.step)]
        ends = ends if ends[2] else ends[:2]
        if all(_SIMPLE.match(end) for end in ends):
            return ":".join(ends)
        spaced = " : ".join(ends).strip()
        return spaced.replace(":  :", "::")

    def transpose(self, op: ir.Transpose) -> Text:
        base = self.atom(op.base)
        if op.axes == tuple(range(len(op.axes))):
            return self.operand(op.base)
        if op.axes == tuple(reversed(range(len(op.axes)))):
            return Text(f"{base}.T")
        return Text(f"{self.globals.module('np')}.transpose({base}, {op.axes})")

    def alloc(self, op: ir.Alloc) -> str:
        dtype = array_type_of(op.out).dtype
        fill = None if op.fill is None else self.text(op.fill)
        kind = "empty" if op.fill is None else _FILLS.get(str(op.fill.value))
        if op.like is not None:
            same = array_type_of(op.like).dtype == dtype
            args = [self.text(op.like)]
            name = f"{kind or 'full'}_like"
        else:
            same = False
            shape = [self.text(extent) for extent in op.shape]
            args = shape if len(shape) == 1 else [parenthesised(shape)]
            name = kind or "full"
        if kind is None:
            assert fill is not None
            args.append(fill)
            # np.full takes the type of a number as it is written
            same |= op.like is None and dtype in (types.float64, types.int64, types.boolean)
        home = "workspace" if self.temporaries is not None and op.out in self.temporaries else "np"
        return self._new(name, args, None if same else dtype, home)

    def _new(self, name: str, args: list[str], dtype: ir.Type | None, home: str = "np") -> str:
        if dtype is not None and (dtype != types.float64 or name.endswith("_like")):
            args = [*args, self.scalar(dtype)]
        return f"{self.globals.module(home)}.{name}({', '.join(args)})"

    # ---------------------------------------------------------------------------------------------- calls

    def call(self, op: ir.Call) -> Text:
        callee, args = op.callee, op.args
        is_product = not op.options and product_type(callee, [a.type for a in args]) is not None
        if is_product and self.temporaries is not None:
            return Text(f"{self.globals.module('workspace')}.dot({self.operands(args)})")
        if callee in INFIX and len(args) == 2:
            return self.infix(*INFIX[callee], self.operand(args[0]), self.operand(args[1]))
        if callee in PREFIX and len(args) == 1:
            # Python's ~True is -2, compiled code's is False
            if callee is operator.not_ or (callee is operator.invert and isinstance(args[0].type, types.Boolean)):
                return self.negation(args[0])
            return self.prefix(*PREFIX[callee], args[0])
        if callee in (check_apart, check_separate):
            # of what the caller gave, and not of the copies of its parts
            args = tuple(self.wholes.get(a, a) if isinstance(a, ir.Var) else a for a in args)
        if callee is ir.cast:
            return self.cast(args[0], op.outs[0].type)
        if callee is ir.select:
            return conditional(*(self.operand(a) for a in args))
        if callee in (np.real, np.imag):
            return Text(f"{self.atom(args[0])}.{callee.__name__}")
        if callee is operator.getitem:
            return Text(f"{self.atom(args[0])}[{self.text(args[1])}]")
        options = [f"{key}={self.static(value)}" for key, value in op.options]
        if id(callee) in _METHODS:
            inner = ", ".join([*(self.text(a) for a in args[1:]), *options])
            return Text(f"{self.atom(args[0])}.{callee.__name__}({inner})")
        return Text(f"{self.globals.text(callee)}({', '.join([*(self.text(a) for a in args), *options])})")

    def joined(self, real: str, imag: str, part: ir.Type) -> str:
        """The complex number, or array of them, with these parts of a type."""
        if not isinstance(part, types.Array):
            number = f"{self.globals.builtin('complex')}({real}, {imag})"
            return number if part == types.float64 else f"{self.scalar(complex_of(part))}({number})"
        return f"{self.globals.text(joined)}({real}, {imag}, {self.scalar(complex_of(part.dtype))})"

    def infix(self, sign: str, binds: int, left: Text, right: Text) -> Text:
        if binds == POWER:
            return Text(f"{left.within(ATOM)} ** {right.within(SIGN)}", POWER)
        # Python reads `a < b < c` as two comparisons of b
        least = binds + 1 if binds == COMPARE else binds
        return Text(f"{left.within(least)} {sign} {right.within(binds + 1)}", binds)

    def prefix(self, sign: str, binds: int, operand: ir.Operand) -> Text:
        found = self.operand(operand)
        inner = found.within(binds)
        return Text(f"{sign}({inner})" if inner[0] in "+-~" else f"{sign}{inner}", binds)

    def negation(self, operand: ir.Operand) -> Text:
        """`not operand`, by the opposite comparison where that says the same."""
        op = self.folding.folded.get(operand)
        if isinstance(op, ir.Call) and op.callee is operator.not_ and isinstance(op.args[0].type, types.Boolean):
            return self.operand(op.args[0])
        if isinstance(op, ir.Call) and op.callee in INFIX and all(is_scalar(a.type) for a in op.args):
            sign, binds = INFIX[op.callee]
            opposite = _OPPOSITE.get(sign)
            if opposite is None and all(isinstance(a.type, types.Integer) for a in op.args):
                opposite = _OPPOSITE_OF_INTEGERS.get(sign)
            if opposite is not None:
                return self.infix(opposite, binds, self.operand(op.args[0]), self.operand(op.args[1]))
        if isinstance(operand, ir.Const):
            return Text(repr(not operand.value))
        return Text(f"not {self.operand(operand).within(NOT)}", NOT)

    def cast(self, operand: ir.Operand, type_: ir.Type) -> Text:
        """numba's float(x) and int(x) keep the width of what is a float or an integer already, and take no booleans."""
        source = operand.type
        if isinstance(type_, types.Array):
            if array_type_of(operand).dtype == type_.dtype:
                return self.operand(operand)
            return Text(f"{self.atom(operand)}.astype({self.scalar(type_.dtype)})")
        if type_ == source:
            return self.operand(operand)
        if type_ == types.float64 and isinstance(source, types.Integer):
            name = self.globals.builtin("float")
        elif type_ == types.int64 and isinstance(source, (types.Float, types.Boolean)):
            name = self.globals.builtin("int")
        elif isinstance(type_, types.Boolean):
            name = self.globals.builtin("bool")
        elif type_ == types.complex128:
            name = self.globals.builtin("complex")
        else:
            name = self.scalar(type_)
        return Text(f"{name}({self.text(operand)})")

    def choice(self, op: ir.If) -> Text:
        """`a and b`, `a or b`, or `x if c else y`."""
        condition = self.operand(op.condition)
        (yes,), (no,) = op.then.yields, op.orelse.yields
        if isinstance(op.outs[0].type, types.Boolean) and isinstance(op.condition.type, types.Boolean):
            if ir.is_literal(yes, True):
                return condition if ir.is_literal(no, False) else _joined("or", OR, condition, self.operand(no))
            if ir.is_literal(no, False):
                return _joined("and", AND, condition, self.operand(yes))
            if ir.is_literal(yes, False) and ir.is_literal(no, True):
                return self.negation(op.condition)
        return conditional(condition, self.operand(yes), self.operand(no))

    def raised(self, op: ir.Raise) -> str:
        """`ValueError("...")`."""
        return f"{self.globals.text(op.exception)}({', '.join(self.message(op))})"

    def message(self, op: ir.Raise) -> list[str]:
        values = iter(op.values)

        def argument(given: ir.Operand | str | ir.Made) -> str:
            if isinstance(given, ir.Made):
                return given.written([self.text(next(values)) for _ in range(given.count)])
            return ir.quoted(given) if isinstance(given, str) else self.text(given)

        return list(map(argument, op.args))


def conditional(condition: Text, yes: Text, no: Text) -> Text:
    return Text(f"{yes.within(OR)} if {condition.within(OR)} else {no.text}", CHOICE)


def parenthesised(parts: Sequence[str]) -> str:
    """A tuple."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _joined(word: str, binds: int, left: Text, right: Text) -> Text:
    return Text(f"{left.within(binds)} {word} {right.within(binds)}", binds)


def _signed(text: str) -> Text:
    return Text(text, SIGN if text.startswith("-") else ATOM)
