"""Questions about statements that their syntax answers: where control goes, which names are assigned, whose memory is
stored to.

In: nodes of the tree. Out: yes or no, or names.

    if x > 0:           always_returns: no, for `x > 0` may be false
        return y        always_leaves of the body: yes
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import libcst as cst


def body_of(node: cst.BaseSuite) -> list[Any]:
    return list(node.body)


def else_of(node: cst.If) -> list[Any]:
    if node.orelse is None:
        return []
    return [node.orelse] if isinstance(node.orelse, cst.If) else body_of(node.orelse.body)


def always_leaves(statements: Sequence[Any]) -> bool:
    """Whether control never reaches the end of these statements."""
    return any(_ends_in(s, (cst.Return, cst.Break, cst.Continue), always_leaves) for s in statements)


def always_returns(statements: Sequence[Any]) -> bool:
    """Whether every path through these statements ends in return or raise, as far as the syntax tells."""
    return any(_ends_in(s, (cst.Return, cst.Raise), always_returns) or _loop_returns(s) for s in statements)


def _ends_in(statement: Any, kinds: tuple[type, ...], holds: Callable[[Sequence[Any]], bool]) -> bool:
    """Whether the statement is of one of the kinds, or an `if` or a `try` of which it holds for all sides."""
    node = statement.body[-1] if isinstance(statement, cst.SimpleStatementLine) else statement
    if isinstance(node, cst.If):
        return node.orelse is not None and holds(body_of(node.body)) and holds(else_of(node))
    if isinstance(node, cst.Try):
        sides = [[*body_of(node.body), *([] if node.orelse is None else body_of(node.orelse.body))]]
        sides += [body_of(handler.body) for handler in node.handlers]
        return all(map(holds, sides))
    return isinstance(node, kinds)


def _loop_returns(node: Any) -> bool:
    if isinstance(node, cst.While) and _is_endless(node):
        return True
    is_loop = isinstance(node, cst.For | cst.While)
    return is_loop and node.orelse is not None and always_returns(body_of(node.orelse.body))


def _is_endless(node: cst.While) -> bool:
    return isinstance(node.test, cst.Name) and node.test.value == "True" and not contains(node.body, cst.Break)


class Assigned(NamedTuple):
    """The names that statements assign, and whether they return; nested functions are left alone."""

    names: tuple[str, ...]
    returns: bool


def children(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """What is directly in a node, in the order of the text, but blanks, comments and brackets."""
    found: list[cst.CSTNode] = []
    names = _PARTS.get(type(node))
    for name in _learned(node) if names is None else names:
        part = getattr(node, name)
        if type(part) is tuple or type(part) is list:
            found += part
        elif type(part) not in _NO_NODES:
            found.append(part)
    return found


# The fields of each kind of node that `children` looks at. libcst tells their order only by making a node anew.
_PARTS: dict[type[cst.CSTNode], Sequence[str]] = {}
_NO_NODES = frozenset((type(None), str, bool, cst.MaybeSentinel))
_BLANKS = "whitespace", "leading_", "lines_", "trailing_", "header", "footer", "indent", "lpar", "rpar", "lbr", "rbr"


def _learned(node: cst.CSTNode) -> Sequence[str]:
    visitor = _Order()
    node._visit_and_replace_children(visitor)
    # what libcst looks at only if it is there comes last
    names = dict.fromkeys((*visitor.names, *(field.name for field in dataclasses.fields(node))))
    found = _PARTS[type(node)] = [name for name in names if not name.startswith(_BLANKS)]
    return found


class _Order(cst.CSTVisitor):
    """Which fields of a node are visited, one after the other."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return False

    def on_leave(self, original_node: cst.CSTNode) -> None:
        pass

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        self.names.append(attribute)

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        pass


def inside(node: cst.CSTNode, but: tuple[type[cst.CSTNode], ...] = (cst.FunctionDef,)) -> Iterator[cst.CSTNode]:
    """The node and all that is in it, in the order of the text; of nodes of some types, nothing that is in them."""
    left = [node]
    while left:
        each = left.pop()
        yield each
        # the kinds are those of libcst, which has none below them, and its own test of kinds takes ten times as long
        if type(each) not in but:
            left.extend(reversed(children(each)))


def _targets(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, cst.Tuple | cst.List):
        for element in node.elements:
            yield from _targets(element.value)


def assigned(nodes: Iterable[cst.CSTNode]) -> Assigned:
    """What is assigned in any of these nodes."""
    found = [_assigned_in(node) for node in nodes]
    names = dict.fromkeys(name for each in found for name in each.names)
    return Assigned(tuple(names), any(each.returns for each in found))


_NAMING = frozenset((
    cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.NamedExpr, cst.For, cst.Del, cst.ImportAlias, cst.FunctionDef,
    cst.MatchAs, cst.MatchStar, cst.Return,
))  # fmt: skip


# A rule is elaborated at each use, and its syntax stays the same; to walk through libcst's nodes is slow.
@functools.lru_cache(maxsize=4096)
def _assigned_in(node: cst.CSTNode) -> Assigned:
    names: dict[str, None] = {}
    returns = False
    for each in inside(node, (cst.FunctionDef, cst.Lambda)):
        if type(each) not in _NAMING:
            continue
        if isinstance(each, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.NamedExpr | cst.For | cst.Del):
            names.update(dict.fromkeys(_targets(each.target)))
        elif isinstance(each, cst.ImportAlias):
            names[each.evaluated_alias or each.evaluated_name.partition(".")[0]] = None
        elif isinstance(each, cst.FunctionDef | cst.MatchAs | cst.MatchStar) and each.name is not None:
            names[each.name.value] = None
        returns |= isinstance(each, cst.Return)
    return Assigned(tuple(names), returns)


@functools.lru_cache(maxsize=4096)
def walrus_names(node: cst.Lambda | cst.FunctionDef) -> frozenset[str]:
    """The variables that expressions assign in a function, those in its comprehensions among them."""
    found = (each for each in inside(node.body, (cst.FunctionDef, cst.Lambda)) if isinstance(each, cst.NamedExpr))
    return frozenset(name for each in found for name in _targets(each.target))


@functools.lru_cache(maxsize=4096)
def names_in(node: cst.CSTNode) -> frozenset[str]:
    """The names that stand in it, but for those in functions that are defined there."""
    return frozenset(each.value for each in inside(node) if isinstance(each, cst.Name))


@functools.lru_cache(maxsize=4096)
def nonlocals(node: cst.Lambda | cst.FunctionDef) -> tuple[str, ...]:
    """The variables of the function around it that a function assigns."""
    if isinstance(node, cst.Lambda):
        return ()
    declared = [each for each in inside(node.body) if isinstance(each, cst.Nonlocal)]
    return tuple(dict.fromkeys(one.name.value for each in declared for one in each.names))


@functools.lru_cache(maxsize=4096)
def own_names(node: cst.FunctionDef) -> frozenset[str]:
    """The parameters and variables of a function that are its own."""
    given = node.params
    several = [one for one in (given.star_arg, given.star_kwarg) if isinstance(one, cst.Param)]
    params = (*given.posonly_params, *given.params, *given.kwonly_params, *several)
    return frozenset((*(p.name.value for p in params), *assigned([node.body]).names)) - {*nonlocals(node)}


@functools.lru_cache(maxsize=4096)
def contains(node: cst.CSTNode, kind: type[cst.CSTNode]) -> bool:
    """Whether there is such a node, which a `break` of a loop inside is not."""
    if isinstance(node, kind):
        return True
    if isinstance(node, cst.For | cst.While):
        # a break belongs to the innermost loop; one after a loop's `else` to the loop around it
        return node.orelse is not None and contains(node.orelse, kind)
    if isinstance(node, cst.FunctionDef | cst.Lambda):
        return False
    return any(contains(child, kind) for child in children(node))


@functools.lru_cache(maxsize=4096)
def yield_in(statement: cst.CSTNode) -> cst.CSTNode | None:
    """The last `yield` or `await` in a statement."""
    found = [
        node for node in inside(statement, (cst.FunctionDef, cst.Lambda)) if isinstance(node, cst.Yield | cst.Await)
    ]
    return found[-1] if found else None


def clauses(part: cst.CompFor | None) -> list[cst.CompFor]:
    """The `for` clauses of a comprehension, from its first."""
    return [] if part is None else [part, *clauses(part.inner_for_in)]


def operands(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions directly in another, in the order in which they are evaluated."""
    skipped = _skipped(node)
    for child in children(node):
        if child is skipped or (isinstance(node, cst.Call) and child is node.func and isinstance(child, cst.Name)):
            continue
        is_method = isinstance(node, cst.Call) and child is node.func and isinstance(child, cst.Attribute)
        if isinstance(child, cst.BaseExpression) and not is_method:
            yield child
        else:
            yield from operands(child)


def _skipped(node: cst.CSTNode) -> cst.CSTNode | None:
    """The name in a node that is no variable."""
    if isinstance(node, cst.Attribute):
        return node.attr
    if isinstance(node, cst.Arg):
        return node.keyword
    return node.name if isinstance(node, cst.FunctionDef | cst.Param) else None


def names_read(node: cst.CSTNode) -> Iterator[str]:
    """The variables that an expression or the whole of a statement reads."""
    if isinstance(node, cst.Name):
        yield node.value
        return
    if isinstance(node, cst.AssignTarget | cst.CompFor) and isinstance(node.target, cst.Name | cst.Tuple | cst.List):
        skipped: Any = node.target
    elif isinstance(node, cst.For | cst.AnnAssign) and isinstance(node.target, cst.Name | cst.Tuple | cst.List):
        skipped = node.target
    else:
        skipped = _skipped(node)
    own: set[str] = set()
    if isinstance(node, cst.BaseComp):
        own = {*assigned([cst.AssignTarget(clause.target) for clause in clauses(node.for_in)]).names}
    elif isinstance(node, cst.Lambda):
        own = {param.name.value for param in node.params.params}
    for child in children(node):
        if child is not skipped:
            yield from (name for name in names_read(child) if name not in own)


def read_before(node: Any, after: frozenset[str]) -> frozenset[str]:
    """The variables that a statement reads before it assigns them, or that are read after it; those `after` are."""
    if isinstance(node, cst.SimpleStatementLine | cst.BaseSuite | cst.Else):
        body = body_of(node.body) if isinstance(node, cst.Else) else list(node.body)
        return _read_before_all(body, after)
    if isinstance(node, cst.If):
        other = after if node.orelse is None else read_before(node.orelse, after)
        return read_before(node.body, after) | other | {*names_read(node.test)}
    if isinstance(node, cst.For | cst.While):
        head = frozenset(names_read(node.iter if isinstance(node, cst.For) else node.test))
        ended = after if node.orelse is None else read_before(node.orelse, after)
        around = head | ended | after
        own = frozenset(assigned([cst.AssignTarget(node.target)]).names) if isinstance(node, cst.For) else frozenset()
        once = read_before(node.body, around)
        return around | (read_before(node.body, around | once) - own)
    if isinstance(node, cst.Assign | cst.AnnAssign):
        return (after - {*assigned([node]).names}) | {*names_read(node)}
    return after | {*names_read(node)}


def _read_before_all(statements: Iterable[Any], after: frozenset[str]) -> frozenset[str]:
    for statement in reversed(list(statements)):
        after = read_before(statement, after)
    return after


# ---------------------------------------------------------------------------------------------------- arrays of its own
# out = np.empty(n);  out[k] = even[k]     `out` is made here, and only elements of it are read before it is returned
# even[k] = 0.0                            somebody else may know it

_MAKERS = frozenset(
    ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "eye", "arange", "copy")
)
_ASKED = frozenset(("size", "shape", "ndim", "dtype"))
_Use = tuple[cst.CSTNode, cst.Name]


def changes_others(node: cst.FunctionDef) -> bool:
    """Whether it may store into an array that is not its own."""
    nodes = list(inside(node.body))
    own = _own(nodes) - {param.name.value for param in inside(node.params) if isinstance(param, cst.Param)}
    return any(_may_store(each, own) for each in nodes)


def _own(nodes: list[cst.CSTNode]) -> frozenset[str]:
    """The variables that hold numbers, or arrays that are known by this name alone until they are returned."""
    assigned: dict[str, list[cst.BaseExpression]] = {}
    for target, value in _assignments(nodes):
        assigned.setdefault(target.value, []).append(value)
    numbers = {name for name, values in assigned.items() if all(map(_is_number, values))}
    arrays = {name for name, values in assigned.items() if all(map(_is_made, values))}
    stored = [each.target for each in nodes if isinstance(each, cst.AssignTarget | cst.AugAssign | cst.For)]
    for parent, name in _uses(nodes):
        if name.value in arrays and not _keeps_to_itself(parent, name, stored):
            arrays.discard(name.value)
    return frozenset(numbers | arrays)


def _assignments(nodes: list[cst.CSTNode]) -> Iterator[tuple[cst.Name, cst.BaseExpression]]:
    for node in nodes:
        if isinstance(node, cst.Assign):
            targets: list[cst.CSTNode] = [each.target for each in node.targets]
        else:
            targets = [node.target] if isinstance(node, cst.AnnAssign | cst.NamedExpr | cst.For | cst.CompFor) else []
        for target in targets:
            assert isinstance(node, cst.Assign | cst.AnnAssign | cst.NamedExpr | cst.For | cst.CompFor)
            value = node.iter if isinstance(node, cst.For | cst.CompFor) else node.value
            names = target.elements if isinstance(target, cst.Tuple | cst.List) else [target]
            for each in names:
                name = each.value if isinstance(each, cst.BaseElement) else each
                if isinstance(name, cst.Name) and value is not None:
                    yield name, value


def _is_number(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Integer | cst.Float)


def _is_made(value: cst.BaseExpression) -> bool:
    """Whether it is a call that makes an array: np.zeros(n), x.copy()."""
    return isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in _MAKERS


def _uses(nodes: list[cst.CSTNode]) -> Iterator[_Use]:
    for parent in nodes:
        for child in children(parent):
            if isinstance(child, cst.Name):
                yield parent, child


def _keeps_to_itself(parent: cst.CSTNode, name: cst.Name, stored: Sequence[cst.CSTNode]) -> bool:
    """Whether a use of an array leaves it without another name."""
    if isinstance(parent, cst.Subscript) and parent.value is name:
        parts = (each.slice for each in parent.slice)
        return any(parent is target for target in stored) or not any(isinstance(part, cst.Slice) for part in parts)
    if isinstance(parent, cst.Attribute):
        return parent.value is not name or parent.attr.value in _ASKED
    is_argument = isinstance(parent, cst.Arg) and parent.value is name
    return isinstance(parent, cst.AssignTarget | cst.Return | cst.AugAssign | cst.For | cst.CompFor | cst.Param) or (
        isinstance(parent, cst.Arg) and not is_argument
    )


def _may_store(node: cst.CSTNode, own: frozenset[str]) -> bool:
    """Whether a statement may change an array in place that is not its own."""
    if isinstance(node, cst.AugAssign):
        return not _is_of(node.target, own)
    if isinstance(node, cst.AssignTarget | cst.For | cst.CompFor):
        parts = (each for each in inside(node.target, ()) if isinstance(each, cst.Subscript | cst.Attribute))
        return any(not _is_of(part, own) for part in parts)
    return isinstance(node, cst.Expr) and isinstance(node.value, cst.Call)


def _is_of(target: cst.CSTNode, own: frozenset[str]) -> bool:
    while isinstance(target, cst.Subscript):
        target = target.value
    return isinstance(target, cst.Name) and target.value in own


# what people ask of numbers that may be complex, and what holds the same numbers
_OF_PARTS = frozenset(("real", "imag", "isreal", "iscomplex", "real_if_close", "abs", "absolute", "angle", "conj"))
_OF_SPECTRA = frozenset(("eigenvalues", "eigenvectors", "T"))
_SORTED = frozenset(("sorted", "sort", "list", "array", "asarray", "reversed", "enumerate", "zip"))


def parts_are_read(function: cst.CSTNode, given: cst.CSTNode) -> bool:
    """Whether a function looks at real and imaginary parts, or sizes, of what an expression in it gives, by its names.

    lam = np.linalg.eigvals(A);  growth = lam.real.max()        [r.real for r in np.roots(p) if abs(r.imag) < 1e-9]
    """
    held: set[str] = set()

    def is_held(node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Subscript) or (isinstance(node, cst.Attribute) and node.attr.value in _OF_SPECTRA):
            return is_held(node.value)
        if isinstance(node, cst.Call) and node is not given:
            return _name_called(node) in _SORTED and any(is_held(arg.value) for arg in node.args)
        return node is given or (isinstance(node, cst.Name) and node.value in held)

    def is_asked(node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Call):
            return _name_called(node) in _OF_PARTS and any(is_held(arg.value) for arg in node.args)
        return isinstance(node, cst.Attribute) and node.attr.value in _OF_PARTS and is_held(node.value)

    nodes = list(inside(function, ()))
    given_to = [pair for node in nodes for pair in _taken_from(node)]
    known = -1
    while known < len(held):
        known = len(held)
        held.update(name for target, value in given_to if is_held(value) for name in _targets(target))
    return any(map(is_asked, nodes))


def _name_called(node: cst.Call) -> str:
    """The last name of what is called."""
    named = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return named.value if isinstance(named, cst.Name) else ""


def _taken_from(node: cst.CSTNode) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """What is assigned to by a statement or a clause, and from what."""
    if isinstance(node, cst.Assign):
        return [(target.target, node.value) for target in node.targets]
    if isinstance(node, cst.For | cst.CompFor):
        return [(node.target, node.iter)]
    if isinstance(node, cst.AnnAssign | cst.NamedExpr) and node.value is not None:
        return [(node.target, node.value)]
    return []
