"""Division by zero and roots of negative numbers in plain Python, as compiled code and NumPy have them: inf or nan.

In: the syntax tree of generated text. Out: the same with quotients, remainders and powers that do not raise. A sum over
an array without elements is a number of Python's own, and these raise where NumPy's numbers do not; a root of a
negative one is complex.

    total / n      quotient(total, n)
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
            return operation(np.float64(left), right)
        is_real = not isinstance(left, complex) and not isinstance(right, complex)
        return math.nan if isinstance(found, complex) and is_real else found

    return apply


_OPERATIONS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Div: ("quotient__", _as_numpys(operator.truediv)),
    ast.FloorDiv: ("floor__", _as_numpys(operator.floordiv)),
    ast.Mod: ("remainder__", _as_numpys(operator.mod)),
    ast.Pow: ("power__", _as_numpys(operator.pow)),
}

NAMES = dict(_OPERATIONS.values())


class _Divisions(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if type(node.op) not in _OPERATIONS:
            return node
        return _call(node.op, node.left, node.right, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if type(node.op) not in _OPERATIONS:
            return node
        # the targets of generated text are names and elements, of which nothing has effects
        before = ast.parse(ast.unparse(node.target), mode="eval").body
        made = ast.Assign([node.target], _call(node.op, before, node.value, node))
        return ast.copy_location(made, node)


def _call(operation: ast.operator, left: ast.expr, right: ast.expr, node: ast.AST) -> ast.expr:
    name = ast.Name(_OPERATIONS[type(operation)][0], ast.Load())
    return ast.copy_location(ast.Call(name, [left, right], []), node)


def without_errors(tree: ast.Module) -> ast.Module:
    """The text with operations on numbers that give what NumPy's do."""
    _Divisions().visit(tree)
    return ast.fix_missing_locations(tree)
