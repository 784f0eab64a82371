"""A statement with an expression in it that is to be a statement of its own, before the rest of it.

In: a statement, and an expression in it that may raise what is caught around. Out: statements that do the same, in the
same order, of which one assigns that expression to a variable: what follows it is then left out where it raises.

    y[i] = a[i] * f(x) + 1.0      item = a[i];  f_value = f(x);  y[i] = item * f_value + 1.0
    while f(x) > tol: ...         while True:  f_value = f(x);  if not f_value > tol: break;  ...
    r = [f(v) for v in x]         r_items = [];  for v in x: f_value = f(v); r_items.append(f_value);  r = r_items
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from adjit.transform.source.node_builders import append, branch
from adjit.transform.source.syntax import assigned, body_of, clauses, inside, operands

Statements = list[Any]

_CONSTANT = (cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)


def calls_first(node: Any, site: cst.CSTNode, fresh: Callable[[str], str]) -> Statements | None:
    """The statements; None where that cannot be. `fresh`: makes a name that nobody has of one."""
    return _Apart(site, fresh).statement(node)


class _Fixed(Exception):
    """The expression stands where nothing can be done before it."""


class _Apart:
    def __init__(self, site: cst.CSTNode, fresh: Callable[[str], str]):
        self.site, self.fresh = site, fresh

    def statement(self, node: Any) -> Statements | None:
        try:
            if isinstance(node, cst.While):
                return self._while(node)
            if isinstance(node, cst.AugAssign) and not isinstance(node.target, cst.Name):
                # what is there before the call is read first
                return None
            parts = ("value", "test", "iter", "exc", "subject")
            if name := next((n for n in parts if self._is_in(getattr(node, n, None))), ""):
                before, value = self.taken(getattr(node, name))
                return [*before, _as_line(node.with_changes(**{name: value}))]
            return self._target(node)
        except _Fixed:
            return None

    def _is_in(self, node: Any) -> bool:
        return isinstance(node, cst.CSTNode) and any(each is self.site for each in inside(node))

    def _while(self, node: cst.While) -> Statements:
        if node.orelse is not None:
            raise _Fixed
        before, test = self.taken(node.test)
        ends = branch(cst.UnaryOperation(cst.Not(), test), [cst.SimpleStatementLine([cst.Break()])])
        body = cst.IndentedBlock([*before, ends, *body_of(node.body)])
        return [node.with_changes(test=cst.Name("True"), body=body)]

    def _target(self, node: Any) -> Statements:
        """What is assigned to is evaluated after the value."""
        if not isinstance(node, cst.Assign) or len(node.targets) != 1:
            raise _Fixed
        name = self.fresh("assigned")
        before, target = self.taken(node.targets[0].target)
        last = cst.Assign([cst.AssignTarget(target)], cst.Name(name))
        return [_assign(name, node.value), *before, _as_line(last)]

    def taken(self, node: Any) -> tuple[Statements, Any]:
        """The statements before an expression, and what is left of it."""
        if node is self.site and not isinstance(node, cst.BaseComp):
            name = self.fresh(_name_of(node))
            return [_assign(name, node)], cst.Name(name)
        if not self._is_in(node):
            return [], node
        if isinstance(node, cst.IfExp):
            return self._conditional(node)
        if isinstance(node, cst.BooleanOperation):
            return self._boolean(node)
        if isinstance(node, cst.ListComp):
            return self._comprehension(node)
        if isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.args[0].value, cst.GeneratorExp):
            if not isinstance(node.func, cst.Name) or node.func.value not in _WHOLE:
                raise _Fixed
            before, items = self._comprehension(node.args[0].value)
            return before, node.with_changes(args=[cst.Arg(items)])
        is_chain = isinstance(node, cst.Comparison) and len(node.comparisons) > 1
        if isinstance(node, cst.BaseComp | cst.Lambda) or is_chain:
            raise _Fixed
        return self._operands(node)

    def _operands(self, node: Any) -> tuple[Statements, Any]:
        """An expression in an operand of another; the operands before it are evaluated before it."""
        parts = list(operands(node))
        last = next((k for k, part in enumerate(parts) if self._is_in(part)), None)
        if last is None:
            raise _Fixed
        before: Statements = []
        new: list[tuple[cst.CSTNode, cst.CSTNode]] = []
        for part in parts[:last]:
            if not isinstance(part, _CONSTANT):
                name = self.fresh("operand")
                before.append(_assign(name, part))
                new.append((part, cst.Name(name)))
        more, rest = self.taken(parts[last])
        for old, other in [*new, (parts[last], rest)]:
            node = node.deep_replace(old, other)
        return [*before, *more], node

    def _conditional(self, node: cst.IfExp) -> tuple[Statements, Any]:
        name = self.fresh("chosen")
        before, test = self.taken(node.test)
        sides = [self._into(name, side) for side in (node.body, node.orelse)]
        return [*before, branch(test, *sides)], cst.Name(name)

    def _boolean(self, node: cst.BooleanOperation) -> tuple[Statements, Any]:
        name = self.fresh("holds")
        held: cst.BaseExpression = cst.Name(name)
        test = held if isinstance(node.operator, cst.And) else cst.UnaryOperation(cst.Not(), held)
        return [*self._into(name, node.left), branch(test, self._into(name, node.right))], cst.Name(name)

    def _into(self, name: str, node: cst.BaseExpression) -> Statements:
        before, value = self.taken(node)
        return [*before, _assign(name, value)]

    def _comprehension(self, node: cst.ListComp | cst.GeneratorExp) -> tuple[Statements, Any]:
        """The list that a comprehension makes, by a loop with names of its own for its variables."""
        items = self.fresh("items")
        parts = clauses(node.for_in)
        own = assigned([cst.AssignTarget(clause.target) for clause in parts]).names
        renamed = {name: self.fresh(name) for name in own}
        first = parts[0].iter
        inner: Statements = [append(items, node.elt)]
        for clause in reversed(parts):
            for condition in reversed(clause.ifs):
                inner = [branch(condition.test, inner)]
            inner = [cst.For(clause.target, clause.iter, cst.IndentedBlock(inner))]
        loop = inner[0].visit(_Renaming(renamed))
        # what the first clause runs over is evaluated around the comprehension
        before, iterated = self.taken(first) if self._is_in(first) else ([], first)
        made = cst.Assign([cst.AssignTarget(cst.Name(items))], cst.List([]))
        return [*before, _as_line(made), loop.with_changes(iter=iterated)], cst.Name(items)


class _Renaming(cst.CSTTransformer):
    """Other names for variables."""

    def __init__(self, names: dict[str, str]):
        super().__init__()
        self.names = names

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        return

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.names.get(original_node.value, original_node.value))


# Functions that run through all that they are given.
_WHOLE = frozenset(("sum", "max", "min", "sorted", "list", "tuple", "set", "dict"))


def _name_of(node: Any) -> str:
    called = node.func if isinstance(node, cst.Call) else None
    called = called.attr if isinstance(called, cst.Attribute) else called
    return f"{called.value}_value" if isinstance(called, cst.Name) else "value"


def _assign(name: str, value: Any) -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(cst.Name(name))], value)])


def _as_line(node: Any) -> Any:
    return cst.SimpleStatementLine([node]) if isinstance(node, cst.BaseSmallStatement) else node


def names_from(used: Sequence[str]) -> Callable[[str], str]:
    """Makes names that are not among these, nor made before."""
    taken = set(used)

    def fresh(base: str) -> str:
        name = next(n for n in itertools.chain([base], (f"{base}_{k}" for k in itertools.count(2))) if n not in taken)
        taken.add(name)
        return name

    return fresh
