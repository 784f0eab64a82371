"""The statements of numba's form that compute an expression, with their types.

In: the syntax of an expression. Out: the variable that holds its value; what is computed for it stands in the block.

    a[i, 0] * 2.0        $1 = build_tuple(i, $c0)   $2 = getitem(a, $1)   $3 = $2 * $c1

Each constant, and each global that is a value, is a variable that is set where the function begins.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core import ir, types
from numba.np.ufunc.dufunc import DUFunc

from adjit.runtime.backend.reading.type_queries import NotRead, attribute, signature

OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}  # fmt: skip
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip

# Functions of which numba asks for no value where it calls them.
_CALLED_BY_TYPE = (types.Function, types.Dispatcher, types.NumberClass)

_NONE = object()


class Known(NamedTuple):
    """An object that the text names."""

    value: Any
    kind: Any


class Event(NamedTuple):
    """The text sets a name, or reads it, before statement `position` of a block: by this variable."""

    body: list[Any]
    position: int
    is_set: bool
    name: str
    variable: str


class Expressions:
    """Writes expressions into the block that is being written.

    names: the variables that hold the names of the text here. stand_in: what is called in the place of a function with
    so many arguments, if anything is.
    """

    def __init__(self, context: Any, function: Any, filename: str, stand_in: Callable[[Any, int], Any]) -> None:
        self.context, self.stand_in = context, stand_in
        closure = (cell.cell_contents for cell in function.__closure__ or ())
        self._outer = function.__globals__, dict(zip(function.__code__.co_freevars, closure, strict=True))
        self.filename = filename
        self.names: dict[str, ir.Var] = {}
        self.events: list[Event] = []  # where the text sets and reads its names, in the order of writing
        self.typemap: dict[str, Any] = {}
        self.calltypes: dict[Any, Any] = {}
        self.definitions: dict[str, list[Any]] = {}
        self.body: list[Any] = []  # of the block that is being written
        self.prologue: list[Any] = []
        self.location: Any = None
        self._locations: dict[int, Any] = {}
        self._scope: Any = None
        self._constants: dict[Any, ir.Var] = {}
        self._callees: dict[int, ir.Var] = {}
        self._known: dict[str, Known | None] = {}
        self.untold: set[str] = set()  # what holds a list of which it is not known yet what it is of

    def at(self, line: int) -> None:
        """Says where in the text what is written now comes from."""
        found = self._locations.get(line)
        if found is None:
            found = self._locations[line] = ir.Loc(self.filename, line)
            if self._scope is None:
                self._scope = ir.Scope(None, found)
        self.location = found

    # ------------------------------------------------------------------------------------------------- variables

    def bind(self, name: str, value: ir.Var) -> None:
        """Sets a name of the text."""
        self.names[name] = value
        self._happens(True, name, value)

    def _happens(self, is_set: bool, name: str, variable: ir.Var) -> None:
        self.events.append(Event(self.body, len(self.body), is_set, name, variable.name))

    def variable(self, kind: Any) -> ir.Var:
        name = f"${len(self.typemap)}"
        self.typemap[name] = kind
        return ir.Var(self._scope, name, self.location)

    def made(self, value: Any, kind: Any) -> ir.Var:
        """A new variable with this value."""
        target = self.variable(kind)
        self.assign(target, value)
        return target

    def assign(self, target: ir.Var, value: Any) -> None:
        self.definitions.setdefault(target.name, []).append(value)
        self.body.append(ir.Assign(value, target, self.location))

    def called(self, expression: ir.Expr, found: Any) -> ir.Var:
        """The value of an operation with a signature."""
        self.calltypes[expression] = found
        return self.made(expression, found.return_type)

    def type_of(self, variable: ir.Var) -> Any:
        return self.typemap[variable.name]

    def set_at_beginning(self, value: Any, kind: Any) -> ir.Var:
        target = self.variable(kind)
        self.definitions[target.name] = [value]
        self.prologue.append(ir.Assign(value, target, self.location))
        return target

    def constant(self, value: Any) -> ir.Var:
        # 0.0 and -0.0, 1 and True are equal
        key = type(value), repr(value)
        found = self._constants.get(key)
        if found is None:
            kind = types.maybe_literal(value) or self.context.resolve_value_type(value)
            found = self._constants[key] = self.set_at_beginning(ir.Const(value, self.location), kind)
        return found

    # --------------------------------------------------------------------------------------------------- objects

    def known(self, node: ast.expr) -> Known | None:
        """The object that a name stands for, or an attribute of a module; None for what is a value of the function."""
        if isinstance(node, ast.Name):
            if node.id not in self._known:
                self._known[node.id] = self._named(node.id)
            return self._known[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.known(node.value)
            if owner is not None and isinstance(owner.value, ModuleType):
                name = f"{owner.value.__name__}.{node.attr}"
                if name not in self._known:
                    kind = attribute(self.context, owner.kind, node.attr)
                    self._known[name] = Known(getattr(owner.value, node.attr), kind)
                return self._known[name]
        return None

    def _named(self, name: str) -> Known | None:
        if self.is_local(name):
            return None
        around, held = self._outer
        value = held[name] if name in held else around.get(name, _NONE)
        if value is _NONE:
            value = getattr(builtins, name, _NONE)
        if value is _NONE:
            raise NotRead(f"{name} is not defined")
        return Known(value, self._kind_of(value))

    def is_local(self, name: str) -> bool:
        """Whether a name is one of the function's own."""
        raise NotImplementedError

    def _kind_of(self, value: Any) -> Any:
        try:
            kind: Any = self.context.resolve_value_type(value)
        except ValueError as why:
            raise NotRead(str(why)) from None
        if isinstance(kind, types.Dispatcher) and kind.dispatcher.is_compiling:
            raise NotRead("it calls itself")
        if isinstance(kind, types.Array):
            return kind.copy(readonly=True)
        if isinstance(kind, types.BaseAnonymousTuple):
            raise NotRead("a tuple among its globals")
        return types.maybe_literal(value) or kind

    def _callee(self, known: Known) -> ir.Var:
        found = self._callees.get(id(known.value))
        if found is None:
            value = ir.Global(str(getattr(known.value, "__name__", "callee")), known.value, self.location)
            if isinstance(known.kind, _CALLED_BY_TYPE):
                found = self.variable(known.kind)
                self.definitions[found.name] = [value]
            else:
                found = self.set_at_beginning(value, known.kind)
            self._callees[id(known.value)] = found
        return found

    # ----------------------------------------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> ir.Var:
        kind = type(node)
        if kind is ast.Name:
            return self._name(node)
        read = _READERS.get(kind)
        if read is None:
            raise NotRead(kind.__name__)
        return read(self, node)

    def _name(self, node: Any) -> ir.Var:
        found = self.names.get(node.id)
        if found is not None:
            if self.type_of(found) is None:
                raise NotRead(f"{node.id} is read where no value of it is known")
            self._happens(False, node.id, found)
            return found
        known = self.known(node)
        if known is None:
            raise NotRead(f"{node.id} is read before it is set")
        return self._value(known)

    def _value(self, known: Known) -> ir.Var:
        """A variable that holds an object."""
        if known.value is None or isinstance(known.value, bool | int | float | str):
            return self.constant(known.value)
        key = id(known.value)
        found = self._constants.get(key)
        if found is None:
            name = str(getattr(known.value, "__name__", "value"))
            found = self.set_at_beginning(ir.Global(name, known.value, self.location), known.kind)
            self._constants[key] = found
        return found

    def _constant(self, node: Any) -> ir.Var:
        return self.constant(node.value)

    def _attribute(self, node: Any) -> ir.Var:
        known = self.known(node)
        return self._value(known) if known is not None else self.attribute_of(self.expression(node.value), node.attr)

    def attribute_of(self, owner: ir.Var, name: str) -> ir.Var:
        kind = attribute(self.context, self.type_of(owner), name)
        return self.made(ir.Expr.getattr(owner, name, self.location), kind)

    def _tuple(self, node: Any) -> ir.Var:
        return self.tuple_of([self.expression(part) for part in node.elts])

    def tuple_of(self, items: list[ir.Var]) -> ir.Var:
        kinds = tuple(map(self.type_of, items))
        are_one = kinds and all(kind == kinds[0] for kind in kinds)
        kind = types.UniTuple(kinds[0], len(kinds)) if are_one else types.Tuple(kinds)
        return self.made(ir.Expr.build_tuple(items, self.location), kind)

    def _list(self, node: Any) -> ir.Var:
        if node.elts:
            raise NotRead("a list with elements")
        made = self.made(ir.Expr.build_list([], self.location), types.List(types.undefined))
        self.untold.add(made.name)
        return made

    def _comprehension(self, node: Any) -> ir.Var:
        """`[0.0 for _ in range(0)]`: an empty list, whose elements have the type of what it shows."""
        if ast.unparse(node.generators[0]) != " for _ in range(0)" or len(node.generators) != 1:
            raise NotRead("a comprehension")
        kind = types.List(types.unliteral(self.type_of(self.expression(node.elt))))
        return self.made(ir.Expr.build_list([], self.location), kind)

    # ------------------------------------------------------------------------------------------------ operations

    def _sign(self, node: Any) -> ir.Var:
        folded = folded_constant(node)
        if folded is not _NONE:
            return self.constant(folded)
        value, operation = self.expression(node.operand), _SIGNS[type(node.op)]
        found = signature(self.context, operation, (self.type_of(value),))
        return self._number(ir.Expr.unary(operation, value, self.location), found)

    def _number(self, expression: ir.Expr, found: Any) -> ir.Var:
        if isinstance(found.return_type, types.Array):
            raise NotRead("an array expression")
        return self.called(expression, found)

    def _operation(self, node: Any) -> ir.Var:
        folded = folded_constant(node)
        if folded is not _NONE:
            return self.constant(folded)
        return self.operation(type(node.op), self.expression(node.left), self.expression(node.right))

    def operation(self, kind: type[ast.operator], left: ir.Var, right: ir.Var) -> ir.Var:
        operation = OPERATIONS[kind]
        if kind is ast.MatMult:
            made = self.stand_in(operation, 2)
            if made is not None:
                return self.call(Known(made, self._kind_of(made)), [left, right])
        return self._binary(operation, left, right)

    def _binary(self, operation: Any, left: ir.Var, right: ir.Var) -> ir.Var:
        found = signature(self.context, operation, (self.type_of(left), self.type_of(right)))
        return self._number(ir.Expr.binop(operation, left, right, self.location), found)

    def _comparison(self, node: Any) -> ir.Var:
        if len(node.ops) > 1:
            return self._chosen(node)
        return self.compared(node.ops[0], self.expression(node.left), self.expression(node.comparators[0]))

    def compared(self, sign: ast.cmpop, left: ir.Var, right: ir.Var) -> ir.Var:
        operation = _COMPARISONS.get(type(sign))
        if operation is None:
            raise NotRead(type(sign).__name__)
        return self._binary(operation, left, right)

    def _chosen(self, node: Any) -> ir.Var:
        """A value that depends on the way taken: of `a if b else c`, `a and b`, `a < b < c`."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------------- parts

    def _part(self, node: Any) -> ir.Var:
        base = self.expression(node.value)
        kind = self.type_of(base)
        fixed = constant_index(node.slice)
        if isinstance(kind, types.BaseTuple) and isinstance(fixed, int):
            return self.item(base, fixed)
        index = self.index(node.slice)
        given = kind, self.type_of(index)
        found = signature(self.context, operator.getitem, given)
        if fixed is not _NONE and isinstance(kind, types.Array) and isinstance(found.return_type, types.Array):
            taken = ir.Expr.static_getitem(base, fixed, index, self.location)
            return self.called(taken, found)
        return self.called(ir.Expr.getitem(base, index, self.location), found)

    def item(self, base: ir.Var, place: int) -> ir.Var:
        """The part of a tuple at a place."""
        kind = self.context.resolve_static_getitem(self.type_of(base), place)
        if kind is None:
            raise NotRead(f"no place {place} in {self.type_of(base)}")
        taken = ir.Expr.static_getitem(base, place, self.constant(place), self.location)
        return self.called(taken, kind)

    def index(self, node: ast.expr) -> ir.Var:
        """What stands between brackets."""
        if isinstance(node, ast.Tuple):
            return self.tuple_of([self.index(part) for part in node.elts])
        return self._slice(node) if isinstance(node, ast.Slice) else self.expression(node)

    def _slice(self, node: ast.Slice) -> ir.Var:
        ends = [node.lower, node.upper] if node.step is None else [node.lower, node.upper, node.step]
        given = [self.constant(None) if end is None else self.expression(end) for end in ends]
        return self.call(Known(slice, self._kind_of(slice)), given)

    # ----------------------------------------------------------------------------------------------------- calls

    def _call(self, node: Any) -> ir.Var:
        known = self.known(node.func)
        *given, last = [*node.args, None] if not node.args or not isinstance(node.args[-1], ast.Starred) else node.args
        if any(isinstance(argument, ast.Starred) for argument in given):
            raise NotRead("arguments after starred ones")
        owner = None
        if known is None and isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value)
        args = [self.expression(argument) for argument in given]
        rest = None if last is None else self.expression(last.value)
        named = [(one.arg, self.expression(one.value)) for one in node.keywords]
        if any(name is None for name, _ in named):
            raise NotRead("starred keywords")
        if known is not None:
            return self.call(known, args, named, rest)
        if owner is not None:
            return self._method(owner, node.func.attr, args, named)
        return self._called(self.expression(node.func), args, named, rest)

    def call(
        self, known: Known, args: list[ir.Var], named: Sequence[tuple[str, ir.Var]] = (), rest: ir.Var | None = None
    ) -> ir.Var:
        if not named and rest is None and callable(known.value):
            made = self.stand_in(known.value, len(args))
            if made is not None:
                known = Known(made, self._kind_of(made))
        if isinstance(known.kind, types.Module):
            raise NotRead("a call of a module")
        return self._called(self._callee(known), args, named, rest)

    def _called(
        self, callee: ir.Var, args: list[ir.Var], named: Sequence[tuple[str, ir.Var]], rest: ir.Var | None
    ) -> ir.Var:
        kind = self.type_of(callee)
        found = self._resolved(kind, args, named, rest)
        if isinstance(found.return_type, types.Array) and _is_elementwise(kind):
            raise NotRead("an array expression")
        expression = ir.Expr.call(callee, args, list(named), self.location, vararg=rest)
        return self.called(expression, found)

    def _resolved(
        self, kind: Any, args: Sequence[ir.Var], named: Sequence[tuple[str, ir.Var]] = (), rest: ir.Var | None = None
    ) -> Any:
        kinds = tuple(map(self.type_of, args))
        if rest is not None:
            more = self.type_of(rest)
            if not isinstance(more, types.BaseTuple):
                raise NotRead("starred arguments that are not a tuple")
            kinds += tuple(more.types)  # type: ignore[attr-defined]
        if isinstance(kind, types.TypeRef):
            kind = kind.instance_type
        if isinstance(kind, types.FunctionType | types.ObjModeDispatcher):
            raise NotRead("a call by address")
        given = {name: self.type_of(value) for name, value in named}
        if isinstance(kind, types.Function) and not given and not isinstance(kind.typing_key, str):
            found = self._plain_call(kind, kinds)
        else:
            found = self.context.resolve_function_type(kind, kinds, given)
        if found is None:
            raise NotRead(f"no {kind} of {kinds}")
        if not found.return_type.is_precise():
            raise NotRead("what a call returns is not known")
        if _is_inlined(kind, found.args):
            raise NotRead("a call that is inlined")
        return found

    def _plain_call(self, kind: Any, kinds: tuple[types.Type, ...]) -> Any:
        if kind.typing_key in (range, slice, bool):
            return signature(self.context, kind.typing_key, kinds)
        return self.context.resolve_function_type(kind, kinds, {})

    def _method(self, owner: ir.Var, name: str, args: list[ir.Var], named: Sequence[tuple[str, ir.Var]]) -> ir.Var:
        method = self.attribute_of(owner, name)
        kind = self.type_of(method)
        found = self._resolved(kind, args, named)
        own = self.type_of(owner)
        if isinstance(own, types.List) and not own.is_precise():
            if owner.name not in self.untold or found.recvr is None or not found.recvr.is_precise():
                raise NotRead("what is in a list is not known")
            self.typemap[owner.name] = found.recvr
            self.typemap[method.name] = kind.copy(this=found.recvr)
            self.untold.remove(owner.name)
        elif found.recvr is not None and found.recvr != kind.this:
            raise NotRead(f"{name} changes the type of what it is called of")
        return self.called(ir.Expr.call(method, args, list(named), self.location), found)


def _is_elementwise(kind: Any) -> bool:
    return isinstance(getattr(kind, "typing_key", None), np.ufunc | DUFunc)


def _is_inlined(kind: Any, args: Any) -> bool:
    """Whether there is no function to call, as numba puts its body there."""
    templates = getattr(kind, "templates", ())
    own = getattr(kind, "template", None)
    if own is not None:
        templates = (*templates, own)
    return any(not getattr(t, "_inline", _NEVER).is_never_inline and args in t._inline_overloads for t in templates)


class _NEVER:
    is_never_inline = True


def constant_index(node: ast.expr) -> Any:
    """What stands between brackets, if it is made of integers and slices of them."""
    if isinstance(node, ast.Tuple):
        parts = tuple(map(constant_index, node.elts))
        return _NONE if any(part is _NONE for part in parts) else parts
    if isinstance(node, ast.Slice):
        ends = [None if end is None else constant_index(end) for end in (node.lower, node.upper, node.step)]
        return _NONE if any(end is not None and not isinstance(end, int) for end in ends) else slice(*ends)
    found = folded_constant(node)
    return found if type(found) is int else _NONE


def folded_constant(node: ast.expr) -> Any:
    """The number that an expression of constants is, as Python's own compiler has it; `_NONE` if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float) else _NONE
    try:
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            inner = folded_constant(node.operand)
            return _NONE if inner is _NONE else _SIGNS[type(node.op)](inner)
        if isinstance(node, ast.BinOp):
            left = folded_constant(node.left)
            right = _NONE if left is _NONE else folded_constant(node.right)
            return _NONE if right is _NONE else OPERATIONS[type(node.op)](left, right)
    except (ArithmeticError, TypeError):
        pass
    return _NONE


_READERS: dict[type[ast.expr], Callable[[Expressions, Any], ir.Var]] = {
    ast.Constant: Expressions._constant,
    ast.Attribute: Expressions._attribute,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._list,
    ast.ListComp: Expressions._comprehension,
    ast.UnaryOp: Expressions._sign,
    ast.BinOp: Expressions._operation,
    ast.Compare: Expressions._comparison,
    ast.Subscript: Expressions._part,
    ast.Call: Expressions._call,
    ast.IfExp: lambda reader, node: reader._chosen(node),
    ast.BoolOp: lambda reader, node: reader._chosen(node),
}
