"""Loops that Python runs while the program is compiled, as all that they read is known then.

In: a function's statements, one of them a loop, what is known of its parameters, and which functions are known to have
no effects. Out: the variables that the loop assigns or changes, as Python has them after it; None of a loop that reads
what is known at run time only, or does what a program might see.

    rng = np.random.default_rng(3)
    spikes = np.zeros(50)
    for t in range(50):
        if rng.random() < 0.1: spikes[t] = 1        spikes, t, and the generator after 50 draws

Before the loop run all the statements that have a name in common with it, or with one of these. What they work on is
made by them: arguments, and what is around the function, are not touched.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from adjit.transform.source.external_reads import read_attribute

MOST_STEPS = 1_000_000  # trips and calls
GENERATORS = (np.random.Generator, np.random.RandomState)
IsKnown = Callable[[Any], bool]


# What Python and its libraries raise of numbers and arrays that do not fit.
_RAISED = (ArithmeticError, AttributeError, LookupError, MemoryError, NameError, RuntimeError, TypeError, ValueError)


class _NotKnown(Exception):
    """The statements do what may not be done beforehand."""


def run_beforehand(
    statements: Sequence[ast.stmt],
    loop: ast.stmt,
    own: frozenset[str],
    given: Mapping[str, Any],
    outside: Callable[[str], Any],
    is_known: IsKnown,
) -> dict[str, Any] | None:
    """The variables that have another value after a loop, one of the statements, than before it, or something else in
    them.

    own: the names of parameters and variables; given: the parameters that are known
    outside: what a name stands for around the function
    is_known: whether a function of a library gives the same for the same arguments, and at most changes these
    """
    first, names = _reaching(statements[: statements.index(loop)], loop, own)
    try:
        namespace = _Namespace(own, given, outside, _Guards(is_known))
        made = set().union(*map(namespace.reads, (*first, loop)))
        if not names <= made | given.keys():
            return None
        namespace.run(first)
        before = {name: _kept(namespace.values[name]) for name in names & namespace.values.keys()}
        namespace.run([loop])
        after = {name: namespace.values[name] for name in names & namespace.values.keys()}
        return dict(_changed(before, after))
    except (*_RAISED, _NotKnown):
        # what Python refuses is told where the program runs
        return None


# ------------------------------------------------------------------------------------------------- which statements


def _reaching(earlier: Sequence[ast.stmt], loop: ast.stmt, own: frozenset[str]) -> tuple[list[ast.stmt], set[str]]:
    """The statements before a loop that may have to do with it, and the variables in them and in the loop."""
    mentioned = [_mentioned(statement) & own for statement in earlier]
    names, count = _mentioned(loop) & own, -1
    while count != len(names):
        count = len(names)
        names.update(*(found for found in mentioned if found & names))
    return [statement for statement, found in zip(earlier, mentioned, strict=True) if found & names], names


def _mentioned(statement: ast.stmt) -> set[str]:
    """All names in a statement, of variables and functions that it makes, too."""
    found: set[str] = set()
    for node in ast.walk(statement):
        found.update(n for field in ("id", "name", "asname", "arg", "rest") if isinstance(n := _part(node, field), str))
        found.update(each for each in _part(node, "names") or () if isinstance(each, str))
    return found


def _part(node: ast.AST, field: str) -> Any:
    return getattr(node, field, None)


# --------------------------------------------------------------------------------------------------------- running

_TAKEN = (
    ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Break, ast.Continue, ast.Pass, ast.Expr, ast.BinOp,
    ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Constant, ast.Name, ast.Attribute, ast.Subscript,
    ast.Slice, ast.Tuple, ast.List, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.Starred, ast.keyword,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip
_BUILTINS = frozenset((
    abs, all, any, bool, divmod, enumerate, float, int, len, list, max, min, pow, range, reversed, round, sorted, sum,
    tuple, zip,
))  # fmt: skip
_SEEDED = (np.random.default_rng, np.random.RandomState)
_PLAIN = (bool, int, float, str, type(None))
_OWNERS = (*_PLAIN, list, tuple, np.ndarray, *GENERATORS)
# What methods do besides giving something, or gives other than numbers.
_UNTAKEN = frozenset((
    "tofile", "dump", "dumps", "setflags", "ctypes", "base", "data", "bit_generator", "spawn", "seed", "get_state",
    "set_state", "format", "format_map",
))  # fmt: skip
_PACKAGES = ("numpy", "scipy", "math")


class _Namespace:
    """The variables of the statements, and the names that they read around the function."""

    def __init__(
        self, own: frozenset[str], given: Mapping[str, Any], outside: Callable[[str], Any], guards: _Guards
    ) -> None:
        self.own, self.outside, self.guards = own, outside, guards
        self.values: dict[str, Any] = {"__builtins__": {}, **guards.names, **given}

    def reads(self, statement: ast.stmt) -> set[str]:
        """Looks up what a statement reads around the function, and refuses what may not be done beforehand; the names
        that it assigns."""
        bound = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and _is_stored(node)}
        for node in ast.walk(statement):
            is_stored_part = isinstance(node, ast.Attribute) and _is_stored(node)
            if not isinstance(node, _TAKEN) or is_stored_part:
                raise _NotKnown
            if isinstance(node, ast.Name) and node.id not in self.own | bound:
                self.values[node.id] = self.guards.outer(self.outside(node.id))
        return bound

    def run(self, statements: Sequence[ast.stmt]) -> None:
        body = [_Guarded().visit(copy.deepcopy(statement)) for statement in statements]
        tree = ast.fix_missing_locations(ast.Module(body, type_ignores=[]))
        with np.errstate(all="ignore"):
            exec(compile(tree, "<known while compiling>", "exec"), self.values)


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


class _Guarded(ast.NodeTransformer):
    """Statements that ask at each call, attribute and trip whether that may be done."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(_name(_Guards.CALL), [node.func, *node.args], node.keywords)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(_name(_Guards.PART), [node.value, ast.Constant(node.attr)], [])

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(ast.Call(_name(_Guards.STEP), [], [])))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = ast.Call(_name(_Guards.EACH), [node.iter], [])
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = ast.Call(_name(_Guards.EACH), [node.iter], [])
        return node


def _name(of: str) -> ast.Name:
    return ast.Name(of, ast.Load())


class _Guards:
    """What is asked while the statements run, under names that no program has."""

    CALL, PART, STEP, EACH = "%call", "%part", "%step", "%each"

    def __init__(self, is_known: IsKnown) -> None:
        self.is_known, self.left = is_known, MOST_STEPS
        self.names = {self.CALL: self.call, self.PART: self.part, self.STEP: self.step, self.EACH: self.each}

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _NotKnown

    def each(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.step()
            yield item

    def call(self, function: Any, /, *args: Any, **named: Any) -> Any:
        self.step()
        given = (*args, *named.values())
        if not (self._is_function(function) or _is_method(function)):
            raise _NotKnown
        if any(callable(one) and not isinstance(one, type) for one in given):
            raise _NotKnown
        if function in _SEEDED and not (len(given) == 1 and isinstance(given[0], int | np.integer)):
            raise _NotKnown
        found = function(*args, **named)
        if function in (np.empty, np.empty_like):
            # what is in it before it is stored is nobody's number
            if found.dtype.kind != "f":
                raise _NotKnown
            found.fill(np.nan)
        return found

    def part(self, owner: Any, name: str) -> Any:
        """`owner.name`."""
        if isinstance(owner, ModuleType):
            return self.outer(read_attribute(owner, name))
        if type(owner) not in _OWNERS and not isinstance(owner, np.generic | np.ufunc):
            raise _NotKnown
        if name.startswith("_") or name in _UNTAKEN:
            raise _NotKnown
        return getattr(owner, name)

    def outer(self, thing: Any) -> Any:
        """What a name stands for around the function, if nothing can change it; arrays as copies to be read."""
        is_module = isinstance(thing, ModuleType) and thing.__name__.partition(".")[0] in _PACKAGES
        if is_module or _is_plain(thing) or (callable(thing) and self._is_function(thing)):
            return thing
        if _is_array(thing):
            thing = thing.copy()
            thing.flags.writeable = False
            return thing
        raise _NotKnown

    def _is_function(self, thing: Any) -> bool:
        if isinstance(thing, type) and issubclass(thing, np.generic):
            return True
        try:
            is_own = thing in _BUILTINS or thing in _SEEDED
        except TypeError:
            return False
        if is_own or isinstance(thing, np.ufunc):
            return True
        home = (getattr(thing, "__module__", None) or "").partition(".")[0]
        if home == math.__name__:
            return isinstance(thing, BuiltinFunctionType)
        is_free = not isinstance(getattr(thing, "__self__", None), GENERATORS)
        return home in _PACKAGES and is_free and self.is_known(thing)


def _is_method(thing: Any) -> bool:
    """Whether it is a method of what the statements have made, or of a number."""
    owner = getattr(thing, "__self__", None)
    return owner is not None and (type(owner) in _OWNERS or isinstance(owner, np.generic | np.ufunc))


# ----------------------------------------------------------------------------------------------------- what changes


def _is_plain(thing: Any) -> bool:
    is_number = isinstance(thing, np.bool_ | np.integer | np.floating)
    return is_number or type(thing) in _PLAIN or (type(thing) is tuple and all(map(_is_plain, thing)))


def _is_array(thing: Any) -> bool:
    return type(thing) is np.ndarray and thing.dtype.kind in "biuf"


def _contents(thing: Any) -> Any:
    """What is in a list, an array or a generator, to be compared; None of what has nothing in it that may change."""
    if _is_plain(thing):
        return None
    if _is_array(thing):
        return thing.shape, thing.dtype, thing.tobytes()
    if type(thing) is list and all(map(_is_plain, thing)):
        return list(map(repr, thing))
    if isinstance(thing, np.random.Generator):
        return repr(thing.bit_generator.state)
    if isinstance(thing, np.random.RandomState):
        state: Any = thing.get_state()
        return [part.tobytes() if isinstance(part, np.ndarray) else part for part in state]
    raise _NotKnown


def _kept(thing: Any) -> tuple[Any, Any]:
    return thing, _contents(thing)


def _changed(before: Mapping[str, tuple[Any, Any]], after: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The variables that changed; raises _NotKnown where one of them shares memory with another."""
    for name, thing in after.items():
        old, contents = before.get(name, (_NotKnown, None))
        if _is_plain(thing) and _is_plain(old) and type(thing) is type(old) and repr(thing) == repr(old):
            continue
        if thing is old and _contents(thing) == contents:
            continue
        others = (other for key, other in after.items() if key != name)
        is_read_only = isinstance(thing, np.ndarray) and not thing.flags.writeable
        if is_read_only or any(_is_one(thing, other) for other in others):
            raise _NotKnown
        _contents(thing)
        yield name, thing


def _is_one(thing: Any, other: Any) -> bool:
    """Whether a change of one is seen in the other."""
    if isinstance(thing, np.ndarray) and isinstance(other, np.ndarray):
        return np.may_share_memory(thing, other)
    return thing is other and not _is_plain(thing)
