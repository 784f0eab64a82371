"""Blocks of numba's form: what a function does in which order, and what its names are where ways meet.

In: the syntax of a function, and what numba holds of its compilation. Out: blocks, types, signatures.

    if t > 1.0:          block 0   ...  branch $3, 1, 2
        t = 1.0          block 1   $5 = $c0      jump 3
                         block 2   $5 = $2       jump 3
    y = t + 1.0          block 3   $6 = $5 + $c0

An assignment gives a name to the variable that holds the value, and writes nothing. Where ways meet on which a name is
one variable or another, and it is needed afterwards, each way ends with an assignment to one that both share; a loop
has one for each name that a trip changes and that is needed when the next begins, or after the loop. On a way on which
the name is not set, what they share is set to zero bits. `verifier.py` holds the blocks to that.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numba.core import errors, ir, types

from adjit.runtime.backend.reading.expressions import Event, Expressions, Known
from adjit.runtime.backend.reading.names import Exits, Names
from adjit.runtime.backend.reading.type_queries import NotRead, set_signature, signature

_Place = tuple[int, int, str]  # a line and a column, and a name


class _Wider(Exception):
    """A name has another type at the end of a trip than at its beginning."""

    def __init__(self, place: _Place, kind: Any) -> None:
        self.place, self.kind = place, kind


class _Label:
    """A place in the function. number: that of its block, once it is written. is_reached: whether a way leads there."""

    number = -1
    is_reached = False


class _End(NamedTuple):
    """The end of a way: the block, and what the names are there."""

    body: list[Any]
    names: Mapping[str, ir.Var]


@dataclass
class _Loop:
    """A loop that is being written.

    carried: what is handed from trip to trip, by name. rounds: the blocks that end trips. left: where it is broken off.
    """

    carried: dict[str, ir.Var]
    place: tuple[int, int]
    after: int
    exit: _Label = field(default_factory=_Label)
    rounds: list[list[Any]] = field(default_factory=list)
    left: list[_End] = field(default_factory=list)


class Record(NamedTuple):
    """What a reader did. called: variables that hold functions, of which no value is asked. events: see `Event`."""

    called: frozenset[str]
    events: Sequence[Event]


def read(state: Any, tree: ast.FunctionDef, stand_in: Callable[[Any, int], Any]) -> Record:
    """Gives what numba holds of a compilation its typed form. Raises NotRead, and then has changed nothing."""
    wider: dict[_Place, Any] = {}
    while True:
        reader = Reader(state, tree, stand_in, wider)
        try:
            with state.typingctx.callstack.register(state.targetctx.target, reader, state.func_id, state.args):
                reader.read()
            break
        except _Wider as found:
            if wider.get(found.place) == found.kind:
                raise NotRead("a name with more than one type") from None
            wider[found.place] = found.kind
        except errors.NumbaError as why:
            # numba says it better, and where
            raise NotRead(str(why)) from None
        except RecursionError:
            raise NotRead("an expression with too many levels") from None
    function = state.func_id
    state.func_ir = ir.FunctionIR(
        reader.blocks, False, function, reader.beginning, reader.definitions, function.arg_count, function.arg_names
    )
    state.func_ir.generator_info = None
    state.typemap, state.calltypes, state.return_type = reader.typemap, reader.calltypes, reader.returned
    state.typing_errors = []
    return Record(frozenset(one.name for one in reader._callees.values()), reader.events)


class Reader(Expressions):
    """Reads one function.

    blocks, typemap, calltypes, definitions: numba's form. returned: the type of what it returns.
    """

    def __init__(
        self, state: Any, tree: ast.FunctionDef, stand_in: Callable[[Any, int], Any], wider: Mapping[_Place, Any]
    ) -> None:
        function = state.func_id
        super().__init__(state.typingctx, function.func, function.filename, stand_in)
        self._function, self._tree, self._args, self._wider = function, tree, state.args, wider
        self.beginning = ir.Loc.from_function_id(function)
        self.blocks: dict[int, Any] = {}
        self.returned: Any = None
        self._text = Names()
        self._local: frozenset[str] = frozenset()
        self._loops: list[_Loop] = []
        self._returns: list[tuple[ir.Var, ir.Var]] = []
        self._labelled: list[tuple[Any, str, _Label]] = []  # what ends blocks, with where it goes
        self._late: dict[str, _Place] = {}  # what loops carry that is not set before them, and where
        self._of_late: list[Any] = []  # copies of these, and of copies, made when their type was not known
        self._is_open = False

    def return_types_from_partial(self) -> Any:
        """numba asks for it where a function calls itself."""
        raise NotRead("it calls itself")

    def read(self) -> None:
        """Writes the function. Raises _Wider where it is to be begun again, with a wider type for a name."""
        tree, given = self._tree, self._tree.args
        if given.vararg or given.kwarg or given.kwonlyargs:
            raise NotRead("arguments of other kinds")
        if any(isinstance(kind, types.Omitted | types.Literal) for kind in self._args):
            raise NotRead("an argument that is left out, or known by its value")
        parameters = [one.arg for one in (*given.posonlyargs, *given.args)]
        self._local = frozenset((*parameters, *self._text.of(self._text.block(tree.body).may_assign)))
        self.at(tree.lineno)
        self.place(_Label())
        for position, (name, kind) in enumerate(zip(parameters, self._args, strict=True)):
            self.typemap[f"arg.{name}"] = kind
            self.bind(name, self.made(ir.Arg(name, position, self.location), kind))
        first = self.body
        self._block(tree.body, Exits(0))
        if self._is_open:
            self._return(self.constant(None))
        for terminator, way, label in self._labelled:
            setattr(terminator, way, label.number)
        if self.untold:
            raise NotRead("what is in a list is not known")
        self._settle_late()
        first[:0] = self.prologue
        count = len(self.prologue)
        self.events = [e._replace(position=e.position + count) if e.body is first else e for e in self.events]
        self._unify_returns()

    def is_local(self, name: str) -> bool:
        return name in self._local

    def _settle_late(self) -> None:
        """Gives a type to what loops carry that is not set before them. Raises _Wider where a copy of one that was made
        before its type was known is of another."""
        for copy in self._of_late:
            kind, target = self.type_of(copy.value), self.type_of(copy.target)
            if kind is not None and (target is None or self._unified([target, kind]) != target):
                raise _Wider(self._late[copy.value.name], kind)
        for copy in self._of_late:
            if self.type_of(copy.value) is None:
                # never set
                self.definitions[copy.target.name].remove(copy.value)
                copy.value = ir.Expr.null(copy.loc)
                self.definitions[copy.target.name].append(copy.value)
        self.typemap.update([(name, types.none) for name, kind in self.typemap.items() if kind is None])

    # ------------------------------------------------------------------------------------------------------ blocks

    def place(self, label: _Label) -> None:
        """Begins the block that a label stands for. It is reached from the one before, if that is still open."""
        if self._is_open:
            self._jump(label)
        label.number = len(self.blocks)
        block = self.blocks[label.number] = ir.Block(self._scope, self.location)
        self.body, self._is_open = block.body, True

    def _jump(self, label: _Label) -> None:
        self._jump_from(self.body, label)
        self._is_open = False

    def _jump_from(self, body: list[Any], label: _Label) -> None:
        made = ir.Jump(label.number, self.location)
        self._labelled.append((made, "target", label))
        label.is_reached = True
        body.append(made)

    def _branch(self, condition: ir.Var, then: _Label, orelse: _Label) -> None:
        kind = self.type_of(condition)
        if not isinstance(kind, types.Boolean):
            found = signature(self.context, bool, (kind,))
            asked = ir.Expr.call(self._callee(Known(bool, self._kind_of(bool))), [condition], (), self.location)
            condition = self.called(asked, found)
        made = ir.Branch(condition, 0, 0, self.location)
        self._labelled += [(made, "truebr", then), (made, "falsebr", orelse)]
        then.is_reached = orelse.is_reached = True
        self.body.append(made)
        self._is_open = False

    def _condition(self, node: ast.expr, then: _Label, orelse: _Label) -> None:
        """Goes on at one of two labels."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._condition(operand, orelse, then)
            case ast.BoolOp(op=sign, values=values):
                for value in values[:-1]:
                    following = _Label()
                    ways = (following, orelse) if isinstance(sign, ast.And) else (then, following)
                    self._condition(value, *ways)
                    self.place(following)
                self._condition(values[-1], then, orelse)
            case ast.Compare(ops=ops, comparators=others) if len(ops) > 1:
                left = self.expression(node.left)
                for comparison, other in zip(ops, others, strict=True):
                    right = self.expression(other)
                    following = then if other is others[-1] else _Label()
                    self._branch(self.compared(comparison, left, right), following, orelse)
                    if following is not then:
                        self.place(following)
                    left = right
            case ast.Constant(value=bool() as value):
                self._jump(then if value else orelse)
            case _:
                self._branch(self.expression(node), then, orelse)

    def _chosen(self, node: Any) -> ir.Var:
        if isinstance(node, ast.IfExp):
            return self._choice(node.test, node.body, node.orelse)
        if isinstance(node, ast.Compare):
            return self._choice(node, ast.Constant(True), ast.Constant(False))
        ends: list[tuple[list[Any], ir.Var]] = []
        for value in node.values[:-1]:
            found, following, chosen = self.expression(value), _Label(), _Label()
            self._branch(found, *((following, chosen) if isinstance(node.op, ast.And) else (chosen, following)))
            self.place(chosen)
            ends.append((self.body, found))
            self._is_open = False
            self.place(following)
        found = self.expression(node.values[-1])
        ends.append((self.body, found))
        self._is_open = False
        return self._met(ends)

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> ir.Var:
        ways = _Label(), _Label()
        self._condition(test, *ways)
        ends = []
        for label, value in zip(ways, (body, orelse), strict=True):
            self._is_open = False
            if not label.is_reached:
                continue
            self.place(label)
            found = self.expression(value)
            ends.append((self.body, found))
        self._is_open = False
        return self._met(ends)

    def _met(self, ends: Sequence[tuple[list[Any], ir.Var]]) -> ir.Var:
        """Goes on where ways meet, with one variable for what each has."""
        after = _Label()
        met = self.variable(self._unified([self.type_of(found) for _, found in ends]))
        for body, found in ends:
            self._copy(body, met, found)
            self._jump_from(body, after)
        self.place(after)
        return met

    def _unified(self, kinds: Sequence[Any]) -> Any:
        first, *others = [types.unliteral(kind) for kind in kinds]
        if all(other == first for other in others):
            return first
        found = self.context.unify_types(first, *others)
        if found is None or isinstance(found, types.Optional):
            raise NotRead("values with more than one type")
        return found

    def _copy(self, body: list[Any], target: ir.Var, source: ir.Var) -> None:
        self._write(body, target, source)
        if self.type_of(source) is None:
            self._of_late.append(body[-1])

    def _clear(self, body: list[Any], target: ir.Var) -> None:
        """Gives a variable a value on a way on which its name is not set."""
        self._write(body, target, ir.Expr.null(self.location))

    def _write(self, body: list[Any], target: ir.Var, value: Any) -> None:
        self.definitions.setdefault(target.name, []).append(value)
        body.append(ir.Assign(value, target, self.location))

    # -------------------------------------------------------------------------------------------------- statements

    def _block(self, block: Sequence[ast.stmt], exits: Exits) -> None:
        needed = self._text.needed_after(block, exits)
        for statement, after in zip(block, needed, strict=True):
            self.at(statement.lineno)
            self._statement(statement, after, exits)
            if not self._is_open:
                # nothing leads to what follows
                return

    def _statement(self, statement: ast.stmt, after: int, exits: Exits) -> None:
        match statement:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AugAssign():
                self._augment(statement)
            case ast.For():
                self._for(statement, after)
            case ast.While():
                self._while(statement, after)
            case ast.If():
                self._if(statement, exits._replace(end=after))
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self.expression(value)
            case ast.Return(value=value):
                self._return(self.constant(None) if value is None else self.expression(value))
            case ast.Break():
                self._loops[-1].left.append(_End(self.body, self.names))
                self._is_open = False
            case ast.Continue():
                self._go_round(self._loops[-1])
            case ast.Raise(exc=error) if error is not None:
                self._raise(error)
            case ast.Assert(test=test, msg=message):
                then, otherwise = _Label(), _Label()
                self._condition(test, then, otherwise)
                self.place(otherwise)
                self._raised(AssertionError, [] if message is None else [message])
                self.place(then)
            case ast.Pass():
                pass
            case _:
                raise NotRead(type(statement).__name__)

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        (target, *others) = targets
        are_tuples = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if not others and are_tuples and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            pairs = zip(target.elts, map(self.expression, value.elts), strict=True)  # type: ignore[attr-defined]
            for part, found in list(pairs):
                self._set(part, found)
            return
        found = self.expression(value)
        for target in targets:
            self._set(target, found)

    def _set(self, target: ast.expr, value: ir.Var) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, value)
            case ast.Subscript(value=base, slice=index):
                self._store(self.expression(base), self.index(index), value)
            case ast.Tuple(elts=parts):
                kind = self.type_of(value)
                if not isinstance(kind, types.BaseTuple) or len(kind) != len(parts):
                    raise NotRead("unpacking of a value that is not a tuple")
                for place, part in enumerate(parts):
                    if not (isinstance(part, ast.Name) and part.id == "_"):
                        self._set(part, self.item(value, place))
            case _:
                raise NotRead(f"an assignment to {type(target).__name__}")

    def _store(self, base: ir.Var, index: ir.Var, value: ir.Var) -> None:
        given = self.type_of(base), self.type_of(index), self.type_of(value)
        made = ir.SetItem(base, index, value, self.location)
        self.calltypes[made] = set_signature(self.context, given)
        self.body.append(made)

    def _augment(self, statement: ast.AugAssign) -> None:
        target, kind = statement.target, type(statement.op)
        if isinstance(target, ast.Name):
            old = self._name(target)
            self._check_mutable(old)
            self.bind(target.id, self.operation(kind, old, self.expression(statement.value)))
            return
        if not isinstance(target, ast.Subscript):
            raise NotRead("an assignment to an attribute")
        base, index = self.expression(target.value), self.index(target.slice)
        found = signature(self.context, operator.getitem, (self.type_of(base), self.type_of(index)))
        old = self.called(ir.Expr.getitem(base, index, self.location), found)
        self._check_mutable(old)
        self._store(base, index, self.operation(kind, old, self.expression(statement.value)))

    def _check_mutable(self, value: ir.Var) -> None:
        if self.type_of(value).mutable:
            raise NotRead("an operation in place on an array")

    def _return(self, value: ir.Var) -> None:
        cast = self.variable(None)
        self.assign(cast, ir.Expr.cast(value, self.location))
        self.body.append(ir.Return(cast, self.location))
        self._returns.append((cast, value))
        self._is_open = False

    def _unify_returns(self) -> None:
        if not self._returns:
            raise NotRead("it does not return")
        kinds = [self.type_of(value) for _, value in self._returns]
        self.returned = self._unified(kinds)
        if not self.returned.is_precise() or isinstance(self.returned, types.Function | types.Phantom):
            raise NotRead("what it returns is no value")
        for cast, _ in self._returns:
            self.typemap[cast.name] = self.returned

    def _raise(self, node: ast.expr) -> None:
        made, given = (node.func, node.args) if isinstance(node, ast.Call) else (node, [])
        known = self.known(made)
        if known is None or not isinstance(known.value, type) or (isinstance(node, ast.Call) and node.keywords):
            raise NotRead("an error of another kind")
        self._raised(known.value, given)

    def _raised(self, kind: type[BaseException], given: Sequence[ast.expr]) -> None:
        if all(isinstance(one, ast.Constant) for one in given):
            arguments = tuple(one.value for one in given)  # type: ignore[attr-defined]
            self.body.append(ir.StaticRaise(kind, arguments or None, self.location))
        else:
            found = tuple(one.value if isinstance(one, ast.Constant) else self.expression(one) for one in given)
            self.body.append(ir.DynamicRaise(kind, found, self.location))
        self._is_open = False

    # ------------------------------------------------------------------------------------------------------- ways

    def _if(self, statement: ast.If, exits: Exits) -> None:
        then, orelse = _Label(), _Label()
        self._condition(statement.test, then, orelse)
        before = self.names
        ends = []
        for label, block in ((then, statement.body), (orelse, statement.orelse)):
            self.names, self._is_open = dict(before), False
            if not label.is_reached:
                continue
            self.place(label)
            self._block(block, exits)
            if self._is_open:
                ends.append(_End(self.body, self.names))
        self._is_open = False
        self._join(ends, exits.end)

    def _join(self, ends: Sequence[_End], needed: int) -> None:
        """Goes on where ways meet, if there are any."""
        if not ends:
            return
        after = _Label()
        names: dict[str, ir.Var] = {}
        for name in self._text.of(needed):
            found = [end.names.get(name) for end in ends]
            one = found[0]
            if any(other is not one for other in found):
                one = self._joined([end.body for end in ends], found)
            if one is not None:
                names[name] = one
        for end in ends:
            self._jump_from(end.body, after)
        self.names = names
        self.place(after)

    def _joined(self, bodies: Sequence[list[Any]], found: Sequence[ir.Var | None]) -> ir.Var:
        """One variable for what a name is at the ends of several ways: None where it is not set."""
        kinds = [kind for one in found if one is not None and (kind := self.type_of(one)) is not None]
        met = self.variable(self._unified(kinds) if kinds else None)
        for body, one in zip(bodies, found, strict=True):
            if one is None:
                self._clear(body, met)
            else:
                self._copy(body, met, one)
        return met

    # ------------------------------------------------------------------------------------------------------- loops

    def _for(self, statement: ast.For, after: int) -> None:
        if statement.orelse:
            raise NotRead("an `else` of a loop")
        over = self.expression(statement.iter)
        kind = self.type_of(over)
        begun = signature(self.context, "getiter", (kind,))
        iterator = self.called(ir.Expr.getiter(over, self.location), begun)
        loop, header, body = self._begun(statement, after), _Label(), _Label()
        self.place(header)
        found = signature(self.context, "iternext", (begun.return_type,))
        pair = self.called(ir.Expr.iternext(iterator, self.location), found)
        item = self.made(ir.Expr.pair_first(pair, self.location), found.return_type.first_type)
        goes_on = self.made(ir.Expr.pair_second(pair, self.location), types.boolean)
        self._branch(goes_on, body, loop.exit)
        self.place(body)
        before = self.names
        self.names = dict(before)
        self._set(statement.target, item)
        self._finish(loop, header, statement, before)

    def _while(self, statement: ast.While, after: int) -> None:
        if statement.orelse:
            raise NotRead("an `else` of a loop")
        loop, header, body = self._begun(statement, after), _Label(), _Label()
        self.place(header)
        self._condition(statement.test, body, loop.exit)
        before = self.names
        self.names = dict(before)
        self.place(body)
        self._finish(loop, header, statement, before)

    def _begun(self, statement: ast.For | ast.While, after: int) -> _Loop:
        """The loop, with a variable for each name that its trips change and that is needed at their ends."""
        changed = self._text.summary(statement).may_assign
        place = statement.lineno, statement.col_offset
        carried: dict[str, ir.Var] = {}
        for name in self._text.of(changed & self._text.at_test(statement, after)):
            first, wider = self.names.get(name), self._wider.get((*place, name))
            known = None if first is None else self.type_of(first)
            carried[name] = made = self.variable(wider or (known and types.unliteral(known)))
            if self.type_of(made) is None:
                self._late[made.name] = (*place, name)
            if first is None:
                self._clear(self.body, made)
            else:
                self._copy(self.body, made, first)
        self.names = {**self.names, **carried}
        return _Loop(carried, place, after)

    def _finish(self, loop: _Loop, header: _Label, statement: ast.For | ast.While, before: dict[str, ir.Var]) -> None:
        """The body of a loop, whose block is begun, and what follows. before: the names where a trip begins."""
        self._loops.append(loop)
        at_test = self._text.at_test(statement, loop.after)
        self._block(statement.body, Exits(at_test, loop.after, at_test))
        if self._is_open:
            self._go_round(loop)
        self._loops.pop()
        if len(loop.rounds) == 1:
            self._jump_from(loop.rounds[0], header)
        elif loop.rounds:
            # a loop has one way back
            latch = _Label()
            for body in loop.rounds:
                self._jump_from(body, latch)
            self.place(latch)
            self._jump(header)
        ends = list(loop.left)
        if loop.exit.is_reached:
            self.names = before
            self.place(loop.exit)
            ends.insert(0, _End(self.body, self.names))
        if loop.left:
            self._is_open = False
            self._join(ends, loop.after)

    def _go_round(self, loop: _Loop) -> None:
        """Ends a trip: what it hands on is copied to what the next begins with."""
        pairs = []
        for name, target in loop.carried.items():
            source = self.names[name]
            kind, found = self.type_of(target), self.type_of(source)
            if source is target or found is None:
                # nothing is known to be set to it in this trip
                continue
            unified = self._unified([found] if kind is None else [kind, found])
            if kind is None:
                self.typemap[target.name] = unified
            elif unified != kind:
                raise _Wider((*loop.place, name), unified)
            pairs.append((target, source))
        # what one is copied to another may be copied from
        targets = {target.name for target, _ in pairs}
        held = [(t, self.made(s, self.type_of(s)) if s.name in targets else s) for t, s in pairs]
        for target, source in held:
            self._copy(self.body, target, source)
        loop.rounds.append(self.body)
        self._is_open = False
