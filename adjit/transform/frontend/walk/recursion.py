"""Recursion whose depth is known at run time only, as a loop with stacks: a rewriting of the user's text.

In: functions that call each other. Out: one function of the same parameters, the body of which is a loop. A trip runs
the *steps*, the stretches of statements between one recursive call and the next: it begins with the one that `step`
names. At a call, what is read after it goes to stacks, one a variable, last in first out, and so does the step after
it; the arguments become the parameters, and the first step is next. What a function returns is in `returned` then.

    def power(x, n):                  while True:
        if n == 0:                        if step == 0:
            return 1.0                        if n == 0: returned = 1.0; step = -1
        return x * power(x, n - 1)            else: n_stack.append(n); steps.append(1); n = n - 1; step = 0
                                          if step == 1:
                                              value = returned
                                              returned = x * value; step = -1
                                          if step == -1:
                                              if len(steps) == 0: break
                                              step = steps.pop()

A parameter that every call hands on as it is stays one variable, such as `x` here, and a call that is all that is
returned needs no stack. All that is in the statements is elaborated as elsewhere, and stands at the user's line.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import libcst as cst

from adjit import errors
from adjit.runtime.backend import is_dispatcher
from adjit.transform.source.callables import python_function
from adjit.transform.source.node_builders import append, branch, compared, equal, integer, is_name, length
from adjit.transform.source.parsing import FunctionSource, read_source
from adjit.transform.source.syntax import (
    always_leaves,
    assigned,
    body_of,
    changes_others,
    clauses,
    contains,
    else_of,
    inside,
    names_read,
    operands,
    read_before,
)


def held_number(value: Any) -> Any:
    """What goes to a stack where arrays are stored to: a copy there would not be the array that is stored to."""
    return value


def last_taken(stack: Any) -> Any:
    """The last item of a stack, which leaves it: there is one."""
    return stack.pop()


def with_places(value: Any) -> Any:
    """What a loop runs over, as what has its items by their places: of a dictionary the list of its keys."""
    return value


RETURN = -1  # the step that goes back to the caller
DEEPEST = 1_000_000  # calls that wait for others; more of them are taken to have no end


def as_loop(source: FunctionSource, is_local: bool, owner: str | None) -> FunctionSource:
    """The function, which calls itself by its name, as one that does not.

    `is_local`: it is defined inside another one. `owner`: the parameter of whose object it is a method, as `self`.
    """
    if not isinstance(source.node, cst.FunctionDef):
        place = source.place(source.node)
        raise errors.Unsupported(f"{source.name} calls itself", place, "", "Write it as a function with `def`.")
    if owner in assigned(body_of(source.node.body)).names:
        owner = None
    root = _Member(source.called, source, source.node, source.parameters, owner)
    return _Machine([root] if is_local or owner is not None else _members(root)).made()


# ------------------------------------------------------------------------------------------------------------ who calls


@dataclass(frozen=True)
class _Member:
    """One of the functions that call each other: the name that calls it, its text, and its own names for variables."""

    name: str
    source: FunctionSource
    node: cst.FunctionDef
    parameters: inspect.Signature
    owner: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)


def _called(node: cst.CSTNode) -> list[str]:
    """The names that are called in a body, functions inside it aside."""
    calls = [each for each in inside(node) if isinstance(each, cst.Call)]
    return list(dict.fromkeys(each.func.value for each in calls if isinstance(each.func, cst.Name)))


def _members(root: _Member) -> list[_Member]:
    """The functions from which a way of calls by name leads back to one, that one first."""
    found, to_look_at = {root.name: root}, [root]
    while to_look_at:
        for other in _called(to_look_at.pop().node.body):
            function = None if other in found else _function_named(root.source, other)
            # what a function sees around it belongs to it alone
            is_like = function is not None and function.__globals__ is root.source.globals and not function.__closure__
            theirs = read_source(function) if is_like else None
            if theirs is not None and isinstance(theirs.node, cst.FunctionDef):
                found[other] = _Member(other, theirs, theirs.node, theirs.parameters)
                to_look_at.append(found[other])
    back = {root.name}
    while more := {name for name, member in found.items() if name not in back and back & {*_called(member.node.body)}}:
        back |= more
    return [member for name, member in found.items() if name in back]


def _function_named(source: FunctionSource, name: str) -> FunctionType | None:
    value = source.closure.get(name, source.globals.get(name))
    is_function = isinstance(value, FunctionType | functools._lru_cache_wrapper) or is_dispatcher(value)
    return python_function(value) if is_function else None


# ----------------------------------------------------------------------------------------------------- what a step does


@dataclass(frozen=True)
class _Plain:
    """A statement without recursive calls that leads to the next one."""

    statement: Any
    of: cst.CSTNode


@dataclass(frozen=True)
class _Goto:
    """What is left to do is that step."""

    step: int


@dataclass(frozen=True)
class _Back:
    """The end of a call, with what it gives, if anything."""

    value: cst.BaseExpression | None
    of: cst.CSTNode


@dataclass(frozen=True)
class _CallSite:
    """A recursive call, after which the step `then` is next; None: the caller's caller goes on."""

    member: _Member
    arguments: Mapping[str, cst.BaseExpression]
    then: int | None
    of: cst.CSTNode


@dataclass(frozen=True)
class _Branch:
    test: cst.BaseExpression
    yes: Sequence[Any]
    no: Sequence[Any]
    of: cst.CSTNode


@dataclass(frozen=True)
class _Ends:
    """What `break` and `continue` lead to."""

    broken: Any
    trip: Any


_GoOn = Callable[[cst.BaseExpression], list[Any]]
_GoOnAll = Callable[[list[cst.BaseExpression]], list[Any]]
_Loop = _Ends | None


class _Machine:
    """The rewriting of functions that call each other."""

    def __init__(self, members: Sequence[_Member]):
        nodes = [node for member in members for node in inside(member.node, ())]
        self.used = {node.value for node in nodes if isinstance(node, cst.Name)}
        self.known = set(nodes)
        self.fixed = _handed_on(members)
        self.members = {m.name: self._told_apart(m, k == 0) for k, m in enumerate(members)}
        self.root, self.current = (next(iter(self.members.values())),) * 2
        self.own = {name for m in self.members.values() for name in m.renamed.values()} - self.fixed
        self.entries = {name: k for k, name in enumerate(self.members)}
        self.count = itertools.count(len(self.members))
        self.step, self.returned, self.steps_left = map(self.fresh, ("step", "returned", "steps"))
        self.made_up = {self.returned}  # variables that hold the user's values, and have no name in the user's text
        self.held, self.taken = self.fresh("held_number"), self.fresh("last_taken")
        self.with_places = self.fresh("with_places")
        self.stores = any(changes_others(member.node) for member in members)
        self.stacks = {name: self.fresh(f"{name}_stack") for name in sorted(self.own)}
        self.stands_for: dict[cst.CSTNode, tuple[FunctionSource, cst.CSTNode]] = {}
        self.steps: dict[int, list[Any]] = {}
        self.resumed: list[int] = []
        self.owner: dict[int, _Member] = {}

    def made(self) -> FunctionSource:
        for name, member in self.members.items():
            self.current = member
            statements = body_of(member.node.body)
            self._begin(self.entries[name], functools.partial(self.run, statements, _Back(None, member.node), None))
        live, first = self._live(), self.root.node
        blocks = []
        for step in sorted(self.steps):
            self.current = self.owner[step]
            back = [self._assign(n, self._taken(self.stacks[n])) for n in self._saved(step, live)]
            body = [*back, *self._written(self.steps[step], live)]
            blocks.append(branch(equal(cst.Name(self.step), integer(step)), body))
        is_empty = equal(length(cst.Name(self.steps_left)), integer(0))
        next_step = self._assign(self.step, self._taken(self.steps_left))
        ended = equal(cst.Name(self.step), integer(RETURN))
        blocks.append(branch(ended, [branch(is_empty, [cst.SimpleStatementLine([cst.Break()])]), next_step]))
        stacked = sorted({name for step in self.resumed for name in self._saved(step, live)})
        lists = [self._assign(name, cst.List([])) for name in (*(self.stacks[n] for n in stacked), self.steps_left)]
        is_endless = compared(length(cst.Name(self.steps_left)), cst.GreaterThan(), integer(DEEPEST))
        message = cst.SimpleString(repr(f"{self.root.name} calls itself more than {DEEPEST} calls deep"))
        error = cst.Raise(cst.Call(cst.Name("RecursionError"), [cst.Arg(message)]))
        blocks.insert(0, branch(is_endless, [cst.SimpleStatementLine([error])]))
        loop = cst.While(cst.Name("True"), cst.IndentedBlock(blocks))
        inner = (node for member in self.members.values() for node in inside(member.node.body))
        gives = any(isinstance(node, cst.Return) and node.value is not None for node in inner)
        end = [cst.SimpleStatementLine([cst.Return(cst.Name(self.returned))])] if gives else []
        body = [*lists, self._assign(self.step, integer(self.entries[self.root.name])), loop, *end]
        node = first.with_changes(body=cst.IndentedBlock(body))
        self.current = self.root
        self._adopt(node, first)
        for member in self.members.values():
            if member is not self.root:
                self.stands_for |= {each: (member.source, each) for each in inside(member.node, ())}
        own = {self.held: held_number, self.taken: last_taken, self.with_places: with_places}
        closure = {**self.root.source.closure, **own}
        made_up = frozenset(self.made_up)
        return dataclasses.replace(
            self.root.source, node=node, closure=closure, stands_for=self.stands_for, made_up=made_up
        )

    # ----------------------------------------------------------------------------------------------------------- names

    def fresh(self, base: str) -> str:
        """A name that nobody has."""
        name = next(
            n for n in itertools.chain([base], (f"{base}_{k}" for k in itertools.count(2))) if n not in self.used
        )
        self.used.add(name)
        return name

    def temporary(self, base: str) -> str:
        """A variable of the function at hand."""
        name = self.fresh(base)
        self.own.add(name)
        self.made_up.add(name)
        self.stacks[name] = self.fresh(f"{name}_stack")
        return name

    def _told_apart(self, member: _Member, is_root: bool) -> _Member:
        """The member, with names of its own for its variables, which may be of other types than those of the first."""
        own = dict.fromkeys([*member.parameters.parameters, *assigned(body_of(member.node.body)).names])
        is_kept = {name: is_root or name in self.fixed for name in own}
        renamed = {n: n if kept else self.fresh(f"{n}_{member.name}") for n, kept in is_kept.items()}
        return dataclasses.replace(member, renamed=renamed)

    def _refused(self, what: str, node: cst.CSTNode, instead: str = "Write it as a loop.") -> errors.Unsupported:
        why = "The depth of the recursion is only known at run time, so adjit makes it a loop with stacks."
        return errors.Unsupported(
            f"{self.current.name} calls itself {what}", self.current.source.place(node), why, instead
        )

    def _adopt(self, node: cst.CSTNode, of: cst.CSTNode) -> None:
        """Takes note that new nodes stand for a place in the user's text."""
        place = self.stands_for.get(of, (self.current.source, of))
        for each in inside(node, ()):
            if each not in self.known:
                self.stands_for.setdefault(each, place)

    def _replaced(self, node: Any, new: Callable[[cst.CSTNode], cst.CSTNode | None]) -> Any:
        """The node with some of those in it replaced; all others stay the objects they were, and keep their places."""
        other = new(node)
        if other is not None:
            return other
        changes: dict[str, Any] = {}
        for name in node.__dataclass_fields__:
            if (type(node), name) in _NO_VARIABLES:
                continue
            old = getattr(node, name)
            if isinstance(old, cst.CSTNode):
                made: Any = self._replaced(old, new)
                is_same = made is old
            elif isinstance(old, tuple | list) and old and isinstance(old[0], cst.CSTNode):
                made = [self._replaced(each, new) for each in old]
                is_same = all(a is b for a, b in zip(made, old, strict=True))
            else:
                continue
            if not is_same:
                changes[name] = made
        if not changes:
            return node
        changed = node.with_changes(**changes)
        self.stands_for[changed] = self.stands_for.get(node, (self.current.source, node))
        return changed

    def _renamed(self, node: Any) -> Any:
        names = self.current.renamed

        def new(each: cst.CSTNode) -> cst.CSTNode | None:
            is_other = isinstance(each, cst.Name) and names.get(each.value, each.value) != each.value
            return each.with_changes(value=names[each.value]) if is_other else None  # type: ignore[attr-defined]

        return node if all(a == b for a, b in names.items()) else self._replaced(node, new)

    def _taken(self, stack: str) -> cst.Call:
        return cst.Call(cst.Name(self.taken), [cst.Arg(cst.Name(stack))])

    def _assign(self, name: str, value: cst.BaseExpression) -> cst.SimpleStatementLine:
        return cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(cst.Name(name))], value)])

    # ------------------------------------------------------------------------------------------------------- statements

    def _begin(self, step: int, items: Callable[[], list[Any]]) -> None:
        self.owner[step] = self.current
        self.steps[step] = []
        self.steps[step] = items()

    def _new_step(self, items: Callable[[], list[Any]]) -> int:
        step = next(self.count)
        self._begin(step, items)
        return step

    def _is_site(self, node: cst.CSTNode) -> bool:
        return _target(node, self.members) is not None

    def _has_site(self, node: cst.CSTNode) -> bool:
        return any(map(self._is_site, inside(node)))

    def _leads_elsewhere(self, node: cst.CSTNode, loop: _Loop) -> bool:
        """Whether control may go elsewhere than to the next statement."""
        if any(isinstance(each, cst.Return) or self._is_site(each) for each in inside(node)):
            return True
        return loop is not None and (contains(node, cst.Break) or contains(node, cst.Continue))

    def run(self, statements: Sequence[Any], then: Any, loop: _Loop) -> list[Any]:
        """Statements in order and then `then`, as far as the first recursive call; after that come further steps."""
        done: list[Any] = []
        for k, statement in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) > 1:
                return [*done, *self.run([*statement.body, *rest], then, loop)]
            if self._leads_elsewhere(statement, loop):
                is_line = isinstance(statement, cst.SimpleStatementLine)
                node = statement.body[0] if is_line else statement
                handler = self._HANDLERS.get(type(node))
                if handler is None:
                    keyword = next((word for kind, word in _KEYWORDS.items() if isinstance(node, kind)), "this")
                    raise self._refused(f"inside `{keyword}`", node)
                return [*done, *handler(self, node, rest, then, loop, statement)]
            done.append(_Plain(self._renamed(statement), statement))
        return [*done, then]

    def _after(self, rest: Sequence[Any], then: Any, loop: _Loop) -> Any:
        """What leads on to the statements after one that is left in several ways."""
        return _Goto(self._new_step(lambda: self.run(rest, then, loop))) if rest else then

    def _return(self, node: cst.Return, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        if node.value is None:
            return [_Back(None, of)]
        if self._is_site(node.value):
            return self._called_here(node.value, None, of)
        return self._value(node.value, lambda value: [_Back(value, of)], of)

    def _leave(self, node: Any, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        assert loop is not None
        return [loop.broken if isinstance(node, cst.Break) else loop.trip]

    def _assignment(self, node: Any, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        for target in node.targets if isinstance(node, cst.Assign) else [node.target]:
            if self._has_site(target):
                raise self._refused(
                    "in the target of an assignment",
                    node,
                    "Call it in a statement before, and assign its result to a variable.",
                )

        def stored(value: cst.BaseExpression) -> list[Any]:
            made = self._replaced(of, lambda each: value if each is node.value else None)
            return [_Plain(self._renamed(made), of), *self.run(rest, then, loop)]

        return self._value(node.value, stored, of)

    def _check_target(self, node: cst.CSTNode, target: cst.CSTNode) -> None:
        if self._has_site(target):
            raise self._refused(
                "in the target of an assignment",
                node,
                "Call it in a statement before, and assign its result to a variable.",
            )

    def _augmented(self, node: cst.AugAssign, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        if isinstance(node.target, cst.Name):
            return self._assignment(node, rest, then, loop, of)
        # the element is read before the call, which may change it
        self._check_target(node, node.target)
        if not all(isinstance(e, _IN_PLACES) for e in inside(node.target, ())):
            what = "in an augmented assignment to an element whose index is computed"
            raise self._refused(what, node, "Assign the index to a variable first.")
        old, target = self.temporary("element"), self._renamed(node.target)
        operator = getattr(cst, type(node.operator).__name__.removesuffix("Assign"))()

        def stored(value: cst.BaseExpression) -> list[Any]:
            total = cst.BinaryOperation(cst.Name(old), operator, value)
            line = cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(target)], total)])
            return [_Plain(line, of), *self.run(rest, then, loop)]

        return [_Plain(self._assign(old, target), of), *self._value(node.value, stored, of)]

    def _expression(self, node: cst.Expr, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        if not self._is_site(node.value):
            return self._value(node.value, lambda value: self.run(rest, then, loop), of)
        if not rest and isinstance(then, _Back) and then.value is None:
            return self._called_here(node.value, None, of)
        step = self._new_step(lambda: self.run(rest, then, loop))
        return self._called_here(node.value, step, of)

    def _branched(self, node: cst.If, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        yes, no = body_of(node.body), else_of(node)
        if always_leaves(yes):
            no = [*no, *rest]
        elif always_leaves(no):
            yes = [*yes, *rest]
        else:
            then = self._after(rest, then, loop)

        def sides(test: cst.BaseExpression) -> list[Any]:
            return [_Branch(test, self.run(yes, then, loop), self.run(no, then, loop), of)]

        return self._value(node.test, sides, of)

    def _while(self, node: cst.While, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        after, head = self._after(rest, then, loop), next(self.count)
        ends = _Ends(after, _Goto(head))

        def trip(test: cst.BaseExpression) -> list[Any]:
            return [_Branch(test, self.run(body_of(node.body), ends.trip, ends), self._ended(node, after, loop), of)]

        self._begin(head, lambda: self._value(node.test, trip, of))
        return [_Goto(head)]

    def _ended(self, node: cst.While | cst.For, after: Any, loop: _Loop) -> list[Any]:
        return [after] if node.orelse is None else self.run(body_of(node.orelse.body), after, loop)

    def _for(self, node: cst.For, rest: Any, then: Any, loop: _Loop, of: Any) -> list[Any]:
        after = self._after(rest, then, loop)
        begin, test, item, more = self._trips(node.iter, node, of)
        head = next(self.count)
        ends = _Ends(after, _Goto(head))

        def trip() -> list[Any]:
            assigned_ = cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(self._renamed(node.target))], item)])
            body = [_Plain(assigned_, of), _Plain(more, of), *self.run(body_of(node.body), ends.trip, ends)]
            return [_Branch(test, body, self._ended(node, after, loop), of)]

        def started(values: Sequence[cst.BaseExpression]) -> list[Any]:
            return [*(_Plain(self._assign(n, v), of) for (n, _), v in zip(begin, values, strict=True)), _Goto(head)]

        self._begin(head, trip)
        return self._values([value for _, value in begin], started, of)

    def _trips(self, iterated: cst.BaseExpression, node: cst.For, of: Any) -> tuple[Any, Any, Any, Any]:
        """A loop as one with a counter: what it starts from, the test, the item, and what counts."""
        counter = self.temporary("counter")
        if isinstance(iterated, cst.Call) and is_name(iterated.func, "range"):
            given = [arg.value for arg in iterated.args]
            if any(arg.keyword is not None or arg.star for arg in iterated.args) or not 1 <= len(given) <= 3:
                raise self._refused("in a loop over this range", node)
            start, stop = ([integer(0)] if len(given) == 1 else []) + given[:2]
            step: cst.BaseExpression = given[2] if len(given) == 3 else integer(1)
            last, width = self.temporary("last"), self.temporary("width")
            count, end = cst.Name(counter), cst.Name(last)
            up: cst.BaseExpression = compared(count, cst.LessThan(), end)
            down = compared(count, cst.GreaterThan(), end)
            if len(given) < 3 or isinstance(step, cst.Integer):
                test, by, begin = up, step, [(counter, start), (last, stop)]
            elif isinstance(step, cst.UnaryOperation) and isinstance(step.expression, cst.Integer):
                test, by, begin = down, step, [(counter, start), (last, stop)]
            else:
                by = cst.Name(width)
                is_up = compared(by, cst.GreaterThan(), integer(0))
                test = cst.IfExp(is_up, up, down)
                begin = [(counter, start), (last, stop), (width, step)]
            item: cst.BaseExpression = cst.Name(counter)
        else:
            by = integer(1)
            begin, tests, item = self._items(iterated, counter)
            begin.append((counter, integer(0)))
            test = functools.reduce(lambda one, other: cst.BooleanOperation(one, cst.And(), other), tests)
        more = cst.AugAssign(cst.Name(counter), cst.AddAssign(), by)
        return begin, test, item, cst.SimpleStatementLine([more])

    def _items(
        self, iterated: cst.BaseExpression, counter: str
    ) -> tuple[list[tuple[str, cst.BaseExpression]], list[cst.BaseExpression], cst.BaseExpression]:
        """What a loop over anything else starts from, the tests for a further trip, and the item of a trip: of zip and
        enumerate, those of what they are made with."""
        given = iterated.args if isinstance(iterated, cst.Call) else ()
        is_plain = all(arg.keyword is None and not arg.star for arg in given)
        count = cst.Name(counter)
        if isinstance(iterated, cst.Call) and is_plain and self._is_of_python(iterated.func, "zip") and given:
            parts = [self._items(arg.value, counter) for arg in given]
            begin = [one for part in parts for one in part[0]]
            tests = [one for part in parts for one in part[1]]
            return begin, tests, cst.Tuple([cst.Element(part[2]) for part in parts])
        if isinstance(iterated, cst.Call) and is_plain and self._is_of_python(iterated.func, "enumerate"):
            begin, tests, item = self._items(given[0].value, counter)
            number: cst.BaseExpression = count
            if len(given) > 1:
                first = self.temporary("first")
                begin.append((first, given[1].value))
                number = cst.BinaryOperation(cst.Name(first), cst.Add(), count)
            return begin, tests, cst.Tuple([cst.Element(number), cst.Element(item)])
        whole: cst.BaseExpression = cst.Call(cst.Name(self.with_places), [cst.Arg(iterated)])
        begin = []
        is_kept = isinstance(iterated, cst.Name) and iterated.value not in self.current.renamed.keys() - self.fixed
        if not is_kept:
            # what a name stands for is the same after the calls, anything else is kept for after them
            items = self.temporary("items")
            begin.append((items, whole))
            whole = cst.Name(items)
        test = compared(count, cst.LessThan(), length(whole))
        return begin, [test], cst.Subscript(whole, [cst.SubscriptElement(cst.Index(count))])

    def _is_of_python(self, node: cst.CSTNode, name: str) -> bool:
        """Whether it names Python's own function."""
        source = self.current.source
        is_own = name in self.current.renamed or name in source.closure or name in source.globals
        return is_name(node, name) and not is_own

    # ------------------------------------------------------------------------------------------------------ expressions

    def _value(self, node: cst.BaseExpression, go_on: _GoOn, of: Any) -> list[Any]:
        """What is evaluated, and then what `go_on` makes of the value, which it uses at once."""
        if not self._has_site(node):
            return go_on(self._renamed(node))
        if self._is_site(node):
            assert isinstance(node, cst.Call)
            step = self._new_step(lambda: go_on(cst.Name(self.returned)))
            return self._called_here(node, step, of)
        if isinstance(node, cst.IfExp):
            chosen = self.temporary("chosen")
            join = _Goto(self._new_step(lambda: go_on(cst.Name(chosen))))

            def sides(test: cst.BaseExpression) -> list[Any]:
                return [
                    _Branch(
                        test, self._into(chosen, node.body, join, of), self._into(chosen, node.orelse, join, of), of
                    )
                ]

            return self._value(node.test, sides, of)
        if isinstance(node, cst.BooleanOperation):
            holds = self.temporary("holds")
            join = _Goto(self._new_step(lambda: go_on(cst.Name(holds))))

            def second(first: cst.BaseExpression) -> list[Any]:
                more = self._into(holds, node.right, join, of)
                yes, no = (more, [join]) if isinstance(node.operator, cst.And) else ([join], more)
                return [_Plain(self._assign(holds, first), of), _Branch(cst.Name(holds), yes, no, of)]

            return self._value(node.left, second, of)
        if (
            isinstance(node, cst.Call)
            and is_name(node.func, "sum")
            and isinstance(node.args[0].value, cst.GeneratorExp)
        ):
            return self._sum(node, go_on, of)
        if isinstance(node, cst.BaseComp | cst.Lambda):
            raise self._refused("inside a comprehension or lambda", node, "Write a `for` loop.")
        if isinstance(node, cst.Comparison) and len(node.comparisons) > 1:
            raise self._refused(
                "in a chain of comparisons", node, "Call it in a statement before, and assign its result to a variable."
            )
        parts = list(operands(node))

        def put_together(values: Sequence[cst.BaseExpression]) -> list[Any]:
            new: dict[cst.CSTNode, cst.BaseExpression] = dict(zip(parts, values, strict=True))
            return go_on(self._renamed(self._replaced(node, lambda each: new.get(each))))

        return self._values(parts, put_together, of)

    def _into(self, name: str, node: cst.BaseExpression, then: Any, of: Any) -> list[Any]:
        return self._value(node, lambda value: [_Plain(self._assign(name, value), of), then], of)

    def _values(
        self, nodes: Sequence[cst.BaseExpression], go_on: Callable[[list[Any]], list[Any]], of: Any
    ) -> list[Any]:
        """Several values, from left to right; what is there before a recursive call is kept under a name."""
        last = max((k for k, node in enumerate(nodes) if self._has_site(node)), default=-1)

        def after(k: int, values: list[Any]) -> list[Any]:
            if k == len(nodes):
                return go_on(values)

            def one(value: cst.BaseExpression) -> list[Any]:
                if k >= last or isinstance(nodes[k], _ALWAYS_THE_SAME):
                    return after(k + 1, [*values, value])
                name = self.temporary("operand")
                return [_Plain(self._assign(name, value), of), *after(k + 1, [*values, cst.Name(name)])]

            return self._value(nodes[k], one, of)

        return after(0, [])

    def _sum(self, node: cst.Call, go_on: _GoOn, of: Any) -> list[Any]:
        """`sum(f(k) for k in ...)` as a loop, with names of its own for its variables."""
        generator = node.args[0].value
        assert isinstance(generator, cst.GeneratorExp)
        total = self.temporary("total")
        bound = {
            name for clause in clauses(generator.for_in) for name in assigned([cst.AssignTarget(clause.target)]).names
        }
        new = {name: self.temporary(name) for name in sorted(bound)}

        def other(each: cst.CSTNode) -> cst.CSTNode | None:
            is_own = isinstance(each, cst.Name) and each.value in new
            return each.with_changes(value=new[each.value]) if is_own else None  # type: ignore[attr-defined]

        def loops(clause: cst.CompFor) -> cst.For:
            inner: Any = (
                cst.SimpleStatementLine([cst.AugAssign(cst.Name(total), cst.AddAssign(), generator.elt)])
                if clause.inner_for_in is None
                else loops(clause.inner_for_in)
            )
            for condition in reversed(clause.ifs):
                inner = branch(condition.test, [inner])
            return cst.For(clause.target, clause.iter, cst.IndentedBlock([inner]))

        loop = loops(generator.for_in)
        self._adopt(loop, of)
        loop = self._replaced(loop, other)
        self._adopt(loop, of)
        join = _Goto(self._new_step(lambda: go_on(cst.Name(total))))

        def started(first: cst.BaseExpression) -> list[Any]:
            return [_Plain(self._assign(total, first), of), *self.run([loop], join, None)]

        return self._value(node.args[1].value if len(node.args) > 1 else integer(0), started, of)

    def _called_here(self, node: cst.BaseExpression, then: int | None, of: Any) -> list[Any]:
        assert isinstance(node, cst.Call)
        member = _target(node, self.members)
        assert member is not None
        try:
            given = _bound(member, node)
        except _Unbound as error:
            raise self._refused(error.what, node, error.instead) from None
        if then is not None:
            self.resumed.append(then)

        def called(values: list[Any]) -> list[Any]:
            return [_CallSite(member, dict(zip(given, values, strict=True)), then, of)]

        return self._values(list(given.values()), called, of)

    # --------------------------------------------------------------------------------------------- what has to be kept

    def _live(self) -> dict[int, frozenset[str]]:
        """The variables that each step reads before it assigns them, or hands on to one that does."""
        live: dict[int, frozenset[str]] = dict.fromkeys(self.steps, frozenset())
        while True:
            found = {step: self._before(items, live) for step, items in self.steps.items()}
            if found == live:
                return live
            live = found

    def _before(self, items: Sequence[Any], live: Mapping[int, frozenset[str]]) -> frozenset[str]:
        needed: frozenset[str] = frozenset()
        for item in reversed(items):
            if isinstance(item, _Goto):
                needed = live[item.step]
            elif isinstance(item, _Back):
                needed = frozenset() if item.value is None else frozenset(names_read(item.value))
            elif isinstance(item, _CallSite):
                needed = frozenset() if item.then is None else live[item.then]
                needed |= {name for value in item.arguments.values() for name in names_read(value)}
            elif isinstance(item, _Branch):
                needed = self._before(item.yes, live) | self._before(item.no, live) | {*names_read(item.test)}
            else:
                needed = read_before(item.statement, needed)
        return needed & self.own

    def _saved(self, step: int, live: Mapping[int, frozenset[str]]) -> list[str]:
        return sorted(live[step]) if step in self.resumed else []

    # --------------------------------------------------------------------------------------------------------- as text

    def _held(self, value: cst.BaseExpression) -> cst.BaseExpression:
        return cst.Call(cst.Name(self.held), [cst.Arg(value)]) if self.stores else value

    def _written(self, items: Sequence[Any], live: Mapping[int, frozenset[str]]) -> list[Any]:
        made: list[Any] = []
        for item in items:
            lines = self._lines(item, live)
            if not isinstance(item, _Goto):
                for line in lines:
                    self._adopt(line, item.of)
            made += lines
        return made

    def _lines(self, item: Any, live: Mapping[int, frozenset[str]]) -> list[Any]:
        if isinstance(item, _Plain):
            is_part = isinstance(item.statement, cst.BaseSmallStatement)
            return [cst.SimpleStatementLine([item.statement]) if is_part else item.statement]
        if isinstance(item, _Goto):
            return [self._assign(self.step, integer(item.step))]
        if isinstance(item, _Back):
            value = [] if item.value is None else [self._assign(self.returned, item.value)]
            return [*value, self._assign(self.step, integer(RETURN))]
        if isinstance(item, _Branch):
            return [branch(item.test, self._written(item.yes, live), self._written(item.no, live))]
        saved = [] if item.then is None else self._saved(item.then, live)
        lines = [append(self.stacks[name], self._held(cst.Name(name))) for name in saved]
        if item.then is not None:
            lines.append(append(self.steps_left, integer(item.then)))
        given = {item.member.renamed[name]: value for name, value in item.arguments.items() if name not in self.fixed}
        changed = {name: value for name, value in given.items() if not is_name(value, name)}
        if len(changed) == 1:
            ((name, value),) = changed.items()
            lines.append(self._assign(name, value))
        elif changed:
            names = cst.Tuple([cst.Element(cst.Name(name)) for name in changed])
            values = cst.Tuple([cst.Element(value) for value in changed.values()])
            lines.append(cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(names)], values)]))
        return [*lines, self._assign(self.step, integer(self.entries[item.member.name]))]

    _HANDLERS: Mapping[type, Callable[..., list[Any]]] = {
        cst.Return: _return,
        cst.Break: _leave,
        cst.Continue: _leave,
        cst.Assign: _assignment,
        cst.AnnAssign: _assignment,
        cst.AugAssign: _augmented,
        cst.Expr: _expression,
        cst.If: _branched,
        cst.While: _while,
        cst.For: _for,
    }


_KEYWORDS = {cst.With: "with", cst.Try: "try", cst.Match: "match", cst.Raise: "raise", cst.Assert: "assert"}
_ALWAYS_THE_SAME = (cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)
_IN_PLACES = (
    cst.Subscript, cst.SubscriptElement, cst.Index, cst.Name, cst.Integer, cst.Attribute, cst.BinaryOperation,
    cst.UnaryOperation, cst.BaseBinaryOp, cst.BaseUnaryOp, cst.Dot, cst.Comma, cst.LeftParen, cst.RightParen,
    cst.LeftSquareBracket, cst.RightSquareBracket, cst.BaseParenthesizableWhitespace, cst.Tuple, cst.Element,
)  # fmt: skip
# names that are no variables
_NO_VARIABLES = {(cst.Attribute, "attr"), (cst.Arg, "keyword")}


# -------------------------------------------------------------------------------------------------------- who hands on


def _target(node: cst.CSTNode, members: Mapping[str, _Member]) -> _Member | None:
    """The function that is called, if it is one of them: by its name, or as a method of the same object."""
    if not isinstance(node, cst.Call):
        return None
    if isinstance(node.func, cst.Name):
        found = members.get(node.func.value)
        return found if found is not None and found.owner is None else None
    if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name):
        found = members.get(node.func.attr.value)
        return found if found is not None and found.owner == node.func.value.value else None
    return None


class _Unbound(Exception):
    """The arguments of a call are not known by their parameters."""

    def __init__(self, what: str, instead: str):
        super().__init__(what)
        self.what, self.instead = what, instead


def _bound(member: _Member, call: cst.Call) -> dict[str, cst.BaseExpression]:
    """The argument for each parameter."""
    if any(arg.star for arg in call.args):
        raise _Unbound("with `*` or `**`", "Give each argument by itself.")
    plain = [arg.value for arg in call.args if arg.keyword is None]
    if isinstance(call.func, cst.Attribute):
        plain = [call.func.value, *plain]
    named = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    try:
        given = member.parameters.bind(*plain, **named).arguments
    except TypeError as error:
        raise _Unbound(f"with arguments that it does not take ({error})", "Give each argument only once.") from None
    nodes = {param.name.value: param.default for param in _parameters(member.node)}
    for name in member.parameters.parameters:
        if name not in given:
            default = nodes[name]
            inner = default.expression if isinstance(default, cst.UnaryOperation) else default
            if not isinstance(inner, cst.Integer | cst.Float) and not any(
                is_name(inner, n) for n in ("None", "True", "False")
            ):
                what = f"without `{name}`, whose default is not a number"
                raise _Unbound(what, "Pass it in each call, or remove the parameter if nothing reads it.")
            given[name] = default
    return dict(given)


def _parameters(node: cst.FunctionDef) -> list[cst.Param]:
    return [*node.params.posonly_params, *node.params.params, *node.params.kwonly_params]


def _handed_on(members: Sequence[_Member]) -> frozenset[str]:
    """The parameters that all of the functions have, and that each call hands on as they are."""
    of_all = [set(m.parameters.parameters) - set(assigned(body_of(m.node.body)).names) for m in members]
    fixed = set.intersection(*of_all)
    by_name = {m.name: m for m in members}
    for member in members:
        for node in inside(member.node.body):
            target = _target(node, by_name)
            if target is not None and isinstance(node, cst.Call):
                try:
                    given = _bound(target, node)
                except _Unbound:
                    return frozenset()
                fixed -= {name for name in fixed if not is_name(given[name], name)}
    return frozenset(fixed)
