"""New pieces of a syntax tree, for text that is rewritten.

In: names, numbers and nodes. Out: nodes, which have no place in the file of the user until they stand for something.

    append("n_stack", cst.Name("n"))    ->    n_stack.append(n)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst


def is_name(node: Any, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def is_generated(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.GeneratorExp)


def integer(value: int) -> cst.BaseExpression:
    return cst.Integer(str(value)) if value >= 0 else cst.UnaryOperation(cst.Minus(), cst.Integer(str(-value)))


def compared(left: cst.BaseExpression, operator: Any, right: cst.BaseExpression) -> cst.Comparison:
    return cst.Comparison(left, [cst.ComparisonTarget(operator, right)])


def equal(left: cst.BaseExpression, right: cst.BaseExpression) -> cst.Comparison:
    return compared(left, cst.Equal(), right)


def length(node: cst.BaseExpression) -> cst.Call:
    return cst.Call(cst.Name("len"), [cst.Arg(node)])


def call_of(owner: str, method: str, *args: cst.BaseExpression) -> cst.Call:
    return cst.Call(cst.Attribute(cst.Name(owner), cst.Name(method)), [cst.Arg(arg) for arg in args])


def append(owner: str, value: cst.BaseExpression) -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine([cst.Expr(call_of(owner, "append", value))])


def branch(test: cst.BaseExpression, yes: Sequence[Any], no: Sequence[Any] = ()) -> cst.If:
    other = cst.Else(cst.IndentedBlock(list(no))) if no else None
    return cst.If(test, cst.IndentedBlock(list(yes)), other)
