"""What is left of a program that fails when all goes that the failure does not need.

In: a program, and whether one fails in the same way. Out: the smallest found in so much CPU time.

    reduced(program, lambda p: check(p).outcome is Outcome.INTERNAL, seconds=30)

The text is cut as a tree, whatever wrote it: statements go, loops and branches are replaced by what is in them,
expressions by parts of them or by numbers, arguments and what is asked of the derivative go, and lists of numbers get
shorter.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

from tests.random_programs.program import Program

Cuts = Iterator[ast.Module]


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    end = time.process_time() + seconds
    tree = ast.parse(program.text)
    tried: set[str] = set()

    def is_good(candidate: ast.Module) -> bool:
        text = ast.unparse(candidate)
        if text in tried:
            return False
        tried.add(text)
        return fails(Program(text + "\n"))

    if not is_good(tree):
        return program
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for cuts in (_halves, _statements, _unwrapped, _asked, _parameters, _functions, _expressions, _shorter):
            position = 0
            while time.process_time() < end:
                found = _from(cuts, tree, position, is_good, end)
                if found is None:
                    break
                tree, position = found
                is_smaller = True
        if time.process_time() >= end:
            break
    return Program(ast.unparse(tree) + "\n")


def _from(
    cuts: Callable[[ast.Module], Cuts],
    tree: ast.Module,
    position: int,
    is_good: Callable[[ast.Module], bool],
    end: float,
) -> tuple[ast.Module, int] | None:
    """The first cut from a position on that is good, and where it is."""
    for k, candidate in enumerate(cuts(tree)):
        if k < position:
            continue
        if time.process_time() >= end:
            return None
        if is_good(candidate):
            return candidate, k
    return None


# ------------------------------------------------------------------------------------------------------- statements


def _bodies(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    """Lists of statements, those of the program and its helpers."""
    return [
        (node, name)
        for node in ast.walk(tree)
        for name in ("body", "orelse")
        if isinstance(getattr(node, name, None), list) and not isinstance(node, ast.Module) and not _is_data(node)
    ]


def _is_data(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in ("arguments", "others")


def _halves(tree: ast.Module) -> Cuts:
    for k, (node, name) in enumerate(_bodies(tree)):
        size = len(getattr(node, name))
        if size < 4:
            continue
        for start, stop in ((0, size // 2), (size // 2, size - 1)):
            made = copy.deepcopy(tree)
            found, field = _bodies(made)[k]
            del getattr(found, field)[start:stop]
            yield made


def _statements(tree: ast.Module) -> Cuts:
    for k, (node, name) in enumerate(_bodies(tree)):
        for at in range(len(getattr(node, name)) - 1, -1, -1):
            made = copy.deepcopy(tree)
            found, field = _bodies(made)[k]
            body = getattr(found, field)
            del body[at]
            if not body and field == "body":
                body.append(ast.Pass())
            yield made


def _unwrapped(tree: ast.Module) -> Cuts:
    """What is inside a loop or a branch in its place."""
    for k, (node, name) in enumerate(_bodies(tree)):
        for at, statement in enumerate(getattr(node, name)):
            for part in ("body", "orelse"):
                if not isinstance(statement, ast.For | ast.While | ast.If) or not getattr(statement, part):
                    continue
                made = copy.deepcopy(tree)
                found, field = _bodies(made)[k]
                body = getattr(found, field)
                inner = getattr(body[at], part)
                if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
                    inner = [ast.Assign([body[at].target], ast.Constant(0)), *inner]
                body[at : at + 1] = [ast.fix_missing_locations(s) for s in inner]
                yield made


def _functions(tree: ast.Module) -> Cuts:
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name not in ("program", "arguments"):
            made = copy.deepcopy(tree)
            del made.body[at]
            yield made
            if node.decorator_list:
                made = copy.deepcopy(tree)
                made.body[at].decorator_list = []  # type: ignore[attr-defined]
                yield made


# ------------------------------------------------------------------------------------------------------ expressions


def _places(tree: ast.Module) -> list[tuple[ast.AST, str, int | None]]:
    """Where expressions stand that are read, the outermost first."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or _is_data(function):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.arguments):
                continue
            for name, value in ast.iter_fields(node):
                if name == "func" or name == "decorator_list":
                    continue
                if isinstance(value, ast.expr) and _is_read(value):
                    found.append((node, name, None))
                elif isinstance(value, list):
                    found += [(node, name, k) for k, v in enumerate(value) if isinstance(v, ast.expr) and _is_read(v)]
    return found


def _is_read(node: ast.expr) -> bool:
    return not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def _get(place: tuple[ast.AST, str, int | None]) -> ast.expr:
    node, name, at = place
    found: ast.expr = getattr(node, name) if at is None else getattr(node, name)[at]
    return found


def _put(place: tuple[ast.AST, str, int | None], value: ast.expr) -> None:
    node, name, at = place
    if at is None:
        setattr(node, name, value)
    else:
        getattr(node, name)[at] = value


def _expressions(tree: ast.Module) -> Cuts:
    for k, place in enumerate(_places(tree)):
        expression = _get(place)
        if isinstance(expression, ast.Constant | ast.Name):
            continue
        for part in _parts(expression):
            made = copy.deepcopy(tree)
            _put(_places(made)[k], copy.deepcopy(part))
            yield made
    for k, place in enumerate(_places(tree)):
        if isinstance(_get(place), ast.Slice):
            continue
        for constant in (1, 0, 2.0):
            old = _get(place)
            if isinstance(old, ast.Constant) and (old.value == constant or isinstance(old.value, int)):
                continue
            made = copy.deepcopy(tree)
            _put(_places(made)[k], ast.Constant(constant))
            yield made


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions in an expression, the largest first; sums also without one of their terms."""
    found = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, ast.Call):
        found = [*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args]
    if isinstance(node, ast.Subscript):
        found = [node.value]
    deeper = [part for child in found for part in ast.iter_child_nodes(child) if isinstance(part, ast.expr)]
    kept = [p for p in [*found, *deeper] if not isinstance(p, ast.Slice | ast.Constant) and _is_read(p)]
    return [p for p in kept if not (isinstance(p, ast.Name) and p.id in ("np", "math", "adjit"))]


# ------------------------------------------------------------------------------------------------------- arguments


def _named(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _parameters(tree: ast.Module) -> Cuts:
    program = _named(tree, "program")
    if program is None:
        return
    for at in range(len(program.args.args) - 1, -1, -1):
        made = copy.deepcopy(tree)
        _named(made, "program").args.args.pop(at)  # type: ignore[union-attr]
        for name in ("arguments", "others"):
            data = _named(made, name)
            if data is not None:
                result = data.body[-1].value  # type: ignore[attr-defined]
                if not isinstance(result, ast.Tuple) or len(result.elts) <= at:
                    break
                result.elts.pop(at)
        else:
            asked = _asked_of(made)
            if asked is not None and "wrt" in asked:
                asked["wrt"] = tuple(p - (p > at) for p in asked["wrt"] if p != at)
            _set_asked(made, asked)
            yield made


def _asked_of(tree: ast.Module) -> dict[str, object] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "asked":
            found: dict[str, object] = ast.literal_eval(node.value)
            return found
    return None


def _set_asked(tree: ast.Module, asked: dict[str, object] | None) -> None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "asked":
            node.value = ast.parse(repr(asked), mode="eval").body


def _asked(tree: ast.Module) -> Cuts:
    asked = _asked_of(tree) or {}
    for key in asked:
        made = copy.deepcopy(tree)
        _set_asked(made, {k: v for k, v in asked.items() if k != key})
        yield made
    positions = asked.get("wrt", ())
    if isinstance(positions, tuple) and len(positions) > 1:
        for one in positions:
            made = copy.deepcopy(tree)
            _set_asked(made, {**asked, "wrt": tuple(p for p in positions if p != one)})
            yield made


def _lists(tree: ast.Module) -> list[ast.List]:
    data = [f for f in (_named(tree, "arguments"), _named(tree, "others")) if f is not None]
    return [node for function in data for node in ast.walk(function) if isinstance(node, ast.List)]


def _shorter(tree: ast.Module) -> Cuts:
    """Arrays with fewer elements: all that have one length, or one; plain numbers; plain layouts."""
    sizes = sorted({len(found.elts) for found in _lists(tree)}, reverse=True)
    for size in sizes:
        if size > 1:
            made = copy.deepcopy(tree)
            for found in _lists(made):
                if len(found.elts) == size:
                    found.elts.pop()
            yield made
    for k, found in enumerate(_lists(tree)):
        if len(found.elts) > 1:
            made = copy.deepcopy(tree)
            _lists(made)[k].elts.pop()
            yield made
    data = [f for f in (_named(tree, "arguments"), _named(tree, "others")) if f is not None]
    for which, function in enumerate(data):
        for k, node in enumerate(ast.walk(function)):
            plainer: ast.expr | None = None
            if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Call):
                plainer = node.value
            elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Call):
                plainer = node.args[0]
            elif (
                isinstance(node, ast.Constant) and isinstance(node.value, float) and round(node.value, 1) != node.value
            ):
                plainer = ast.Constant(round(node.value, 1))
            if plainer is None:
                continue
            made = copy.deepcopy(tree)
            target = [f for f in (_named(made, "arguments"), _named(made, "others")) if f is not None][which]
            _replace(target, list(ast.walk(target))[k], copy.deepcopy(plainer))
            yield made


def _replace(tree: ast.AST, old: ast.AST, new: ast.expr) -> None:
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if value is old:
                setattr(node, name, new)
            elif isinstance(value, list):
                value[:] = [new if v is old else v for v in value]
