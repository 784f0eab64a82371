"""Numbers in plain Python as compiled code and NumPy have them: inf, nan, and wide enough.

In: the syntax tree of generated text. Out: the same with operations that do so. A sum over an array without elements is
a number of Python's own, and these raise at a division by zero, where NumPy's numbers do not; a root of a negative one
is complex. And NumPy rounds a number of Python's own to float32 where it meets one; compiled code has both as float64.

    total / n      quotient__(total, n)
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def _as_numpys(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        try:
            found = operation(left, right)
        except ZeroDivisionError:
            if isinstance(left, int) and isinstance(right, int) and operation is not operator.truediv:
                # what whole number should it be?
                raise
            # threads of the simulator's have settings of their own
            with np.errstate(all="ignore"):
                return operation(np.float64(left), right)
        is_real = not isinstance(left, complex) and not isinstance(right, complex)
        return math.nan if isinstance(found, complex) and is_real else found

    return apply


def _together(*operands: Any) -> tuple[Any, ...]:
    """The operands of one operation; Python's own numbers as NumPy's where one of the others is a float32."""
    if np.float32 not in map(type, operands):
        return operands
    return tuple(np.float64(o) if type(o) is float else np.int64(o) if type(o) is int else o for o in operands)


# An operation by the name that the text calls it by: those that need it in any case, and those of float32.
_ALWAYS: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Div: ("quotient__", _as_numpys(operator.truediv)),
    ast.FloorDiv: ("floor__", _as_numpys(operator.floordiv)),
    ast.Mod: ("remainder__", _as_numpys(operator.mod)),
    ast.Pow: ("power__", _as_numpys(operator.pow)),
}
_SINGLE: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = _ALWAYS | {
    ast.Add: ("sum__", operator.add),
    ast.Sub: ("difference__", operator.sub),
    ast.Mult: ("product__", operator.mul),
    ast.Lt: ("lt__", operator.lt),
    ast.LtE: ("le__", operator.le),
    ast.Gt: ("gt__", operator.gt),
    ast.GtE: ("ge__", operator.ge),
    ast.Eq: ("eq__", operator.eq),
    ast.NotEq: ("ne__", operator.ne),
}
_TOGETHER = "together__"
NAMES: dict[str, Any] = {**dict(_SINGLE.values()), _TOGETHER: _together}


class _Numbers(ast.NodeTransformer):
    def __init__(self, is_single: bool) -> None:
        self.is_single = is_single
        self.operations = _SINGLE if is_single else _ALWAYS

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._call(node.op, node.left, node.right, node) if type(node.op) in self.operations else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if type(node.op) not in self.operations:
            return node
        # the targets of generated text are names and elements, of which nothing has effects
        before = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.copy_location(ast.Assign([node.target], self._call(node.op, before, node.value, node)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in self.operations:
            return node
        return self._call(node.ops[0], node.left, node.comparators[0], node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        # those of `math` take all numbers as doubles
        root = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        is_math = isinstance(root, ast.Name) and root.id.startswith(("math", "cmath"))
        has_starred = any(isinstance(a, ast.Starred) for a in node.args)
        if self.is_single and len(node.args) > 1 and not is_math and not has_starred:
            node.args = [_starred(node.args)]
        return node

    def _call(self, operation: ast.AST, left: ast.expr, right: ast.expr, node: ast.AST) -> ast.expr:
        name = ast.Name(self.operations[type(operation)][0], ast.Load())
        args = [_starred([left, right])] if self.is_single else [left, right]
        return ast.copy_location(ast.Call(name, args, []), node)


def _starred(args: list[ast.expr]) -> ast.expr:
    return ast.Starred(ast.Call(ast.Name(_TOGETHER, ast.Load()), args, []), ast.Load())


def as_compiled(tree: ast.Module, is_single: bool = False) -> ast.Module:
    """The text with operations on numbers that give what compiled code gives. `is_single`: float32 occurs in it."""
    _Numbers(is_single).visit(tree)
    return ast.fix_missing_locations(tree)
