"""Questions about statements that their syntax answers: where control goes, and which names are assigned.

In: nodes of the tree. Out: yes or no, or names.

    if x > 0:           always_returns: no, for `x > 0` may be false
        return y        always_leaves of the body: yes
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import libcst as cst


def body_of(node: cst.BaseSuite) -> list[Any]:
    if isinstance(node, cst.IndentedBlock):
        return list(node.body)
    assert isinstance(node, cst.SimpleStatementSuite)
    return list(node.body)


def else_of(node: cst.If) -> list[Any]:
    if node.orelse is None:
        return []
    return [node.orelse] if isinstance(node.orelse, cst.If) else body_of(node.orelse.body)


def always_leaves(statements: Sequence[Any]) -> bool:
    """Whether control never reaches the end of these statements."""
    for s in statements:
        node = s.body[-1] if isinstance(s, cst.SimpleStatementLine) else s
        if isinstance(node, cst.Return | cst.Break | cst.Continue):
            return True
        if isinstance(node, cst.If) and node.orelse is not None and _both(always_leaves, node):
            return True
    return False


def _both(holds: Callable[[Sequence[Any]], bool], node: cst.If) -> bool:
    return holds(body_of(node.body)) and holds(else_of(node))


def _is_endless(node: cst.While) -> bool:
    return isinstance(node.test, cst.Name) and node.test.value == "True" and not contains(node.body, cst.Break)


def always_returns(statements: Sequence[Any]) -> bool:
    """Whether every path through these statements ends in return or raise, as far as the syntax tells."""
    for s in statements:
        node = s.body[-1] if isinstance(s, cst.SimpleStatementLine) else s
        if isinstance(node, cst.Return | cst.Raise):
            return True
        if isinstance(node, cst.If) and node.orelse is not None and _both(always_returns, node):
            return True
        if isinstance(node, cst.While) and _is_endless(node):
            return True
        if (
            isinstance(node, cst.For | cst.While)
            and node.orelse is not None
            and always_returns(body_of(node.orelse.body))
        ):
            return True
    return False


class Assigned(NamedTuple):
    """The names that statements assign, and whether they return; nested functions are left alone."""

    names: tuple[str, ...]
    returns: bool


class _Assignments(cst.CSTVisitor):
    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.returns = False

    def _target(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Name):
            self.names[node.value] = None
        elif isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                self._target(element.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._target(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._target(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self._target(node.target)

    def visit_Return(self, node: cst.Return) -> None:
        self.returns = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.names[node.name.value] = None
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False


def assigned(nodes: Iterable[cst.CSTNode]) -> Assigned:
    """What is assigned in any of these nodes."""
    found = [_assigned_in(node) for node in nodes]
    names = dict.fromkeys(name for each in found for name in each.names)
    return Assigned(tuple(names), any(each.returns for each in found))


# A rule is elaborated at each use, and its syntax stays the same; libcst's visitors are slow.
@functools.lru_cache(maxsize=4096)
def _assigned_in(node: cst.CSTNode) -> Assigned:
    visitor = _Assignments()
    node.visit(visitor)
    return Assigned(tuple(visitor.names), visitor.returns)


class _Finder(cst.CSTVisitor):
    def __init__(self, kind: type[cst.CSTNode]):
        self.kind = kind
        self.found = False

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.found = self.found or isinstance(node, self.kind)
        if isinstance(node, cst.For | cst.While):
            # a break belongs to the innermost loop; one after a loop's `else` to the loop around it
            if node.orelse is not None:
                node.orelse.visit(self)
            return False
        return not self.found and not isinstance(node, cst.FunctionDef | cst.Lambda)


@functools.lru_cache(maxsize=4096)
def contains(node: cst.CSTNode, kind: type[cst.CSTNode]) -> bool:
    finder = _Finder(kind)
    node.visit(finder)
    return finder.found
