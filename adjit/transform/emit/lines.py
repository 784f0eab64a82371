"""The lines of a function body: statements, headings, and lines that are too long for one line.

In: the statements of a program, and the names of its variables. Out: lines of source.

    Loop %i: Copies [(%s0, add(%s0, %e))]        for i in range(u.size):
                                                     s += u[i]
"""

from __future__ import annotations

import operator
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adjit.transform import ir
from adjit.transform.analysis.alias import followed
from adjit.transform.emit.comments import Mark
from adjit.transform.emit.expression import INFIX, PREFIX, Expressions, parenthesised
from adjit.transform.emit.folding import Folding
from adjit.transform.emit.shared_names import Classes
from adjit.transform.emit.statement_form import Assign, Branch, Break, Copies, Loop, Repeat, Return, Statement, Unpack
from adjit.transform.emit.wrapping import INDENT, WIDTH, wrapped
from adjit.transform.ir.types import is_scalar

COMPOUND = ("for ", "while ", "if ", "elif ")
_AUGMENTED = (operator.add, operator.sub, operator.mul, operator.truediv, operator.iadd, operator.isub, operator.imul)
_COMMUTES = (operator.add, operator.iadd)
_COMMUTES_IN_REVERSE = (*_COMMUTES, operator.mul)  # where the order is ours and not the user's


class Layout:
    """Prints statements into `lines`."""

    def __init__(self, function: ir.Function, classes: Classes, folding: Folding, expressions: Expressions):
        self.lines: list[str] = []
        self.marks: list[Mark] = []  # the lines of the user's statements in the forward sweep
        self.places: dict[int, ir.Origin] = {}  # the statement of the user's that each line is for, in both sweeps
        self._end: int | None = None
        self._function = function
        self._classes = classes
        self._folding = folding
        self._print = expressions
        self._is_reverse = False
        self._is_in_nest = False
        self._headings = 0  # over the statements of the reverse sweep, so far
        self._pushed = {op.tape for op in ir.walk(function.body) if isinstance(op, ir.Push)}
        # variables that are copied from, or read by what the derivative adds: where one of them may be undefined, it
        # must be given a value first
        self._copied = {
            expressions.names(source)
            for pairs in classes.copies.values()
            for target, source in pairs
            if isinstance(source, ir.Var)
            and source not in folding.folded
            and expressions.names(source) != expressions.names(target)
        } | {expressions.names(arg) for arg in (*_read_undefined(function), *_kept_undefined(function))}

    @property
    def end(self) -> int:
        """The line before which the forward sweep ends."""
        return len(self.lines) if self._end is None else self._end

    def block(self, statements: Sequence[Statement], indent: str, heading: ir.Origin | None = None) -> None:
        """Print `statements`. `heading` is the user's statement whose text stands above them already."""
        was_reverse = self._is_reverse
        for position, statement in enumerate(statements):
            origin = statement.origin
            if isinstance(statement, Assign) and isinstance(statement.op, ir.Comment):
                if statement.op.text == ir.REVERSE_SWEEP:
                    self._end = len(self.lines)
                if self._heads_something(statements[position + 1 :]):
                    self._note(statement.op, indent)
                self._is_reverse = self._is_reverse or statement.op.text in ir.REVERSED
                heading = None
                continue
            start = len(self.lines)
            if origin is not None and self._prints(statement):
                self._head(origin, heading, statements[position:], indent)
                if not origin.text.startswith(COMPOUND):
                    heading = origin
            headings = self._headings
            self._statement(statement, indent, heading)
            self._mark(start, indent, origin)
            if self._headings > headings:
                heading = None  # inside the statement others came after it
        # the reverse sweep of one trip ends with the trip
        self._is_reverse = was_reverse

    def _mark(self, start: int, indent: str, origin: ir.Origin | None) -> None:
        """Notes which statement of the user's the lines from `start` on are for, if there are any."""
        printed = self.lines[start:]
        if origin is not None:
            # lines inside a block have theirs, or none
            inner = f"{indent} " if origin.text.startswith(COMPOUND) else "\n"
            for line in range(start, len(self.lines)):
                if not self.lines[line].startswith(inner):
                    self.places.setdefault(line, origin)
        if origin is not None and not self._is_reverse and not all(line.lstrip().startswith("#") for line in printed):
            self.marks.append(Mark(start, len(self.lines), indent, origin.text, origin))

    def _head(self, origin: ir.Origin, heading: ir.Origin | None, rest: Sequence[Statement], indent: str) -> None:
        """What stands above: the primal's line in the reverse sweep, and an array statement in the forward sweep."""
        if origin == heading or not origin.text or origin.text.startswith(COMPOUND):
            return
        if self._is_reverse:
            own = self._function.origin is None or origin.function == self._function.origin.function
            self._comment(f"L{origin.line}{'' if own else f' in {origin.function}'}: {origin.text}", indent)
            self._headings += 1
        elif self._is_in_nest or self._is_lowered(rest, origin):
            self._comment(origin.text, indent)

    def _heads_something(self, rest: Sequence[Statement]) -> bool:
        """Whether anything is printed between a comment and the next one."""
        for statement in rest:
            if isinstance(statement, Assign) and isinstance(statement.op, ir.Comment):
                if statement.op.text in ir.HEADINGS:
                    return False
            elif self._says_something(statement) and not isinstance(statement, Return):
                return True
        return False

    # ---------------------------------------------------------------------------------------------- comments

    def _comment(self, text: str, indent: str) -> None:
        for line in text.splitlines():
            self.lines.append(f"{indent}# {line}".rstrip())

    def _note(self, op: ir.Comment, indent: str) -> None:
        # an array that has got another axis since then is called as it was
        names = [self._print.names(var) if self._classes.has(var) else var.name for var in op.about]
        text = op.text.format(*names) if op.about else op.text
        self._comment("\n".join(textwrap.wrap(text, WIDTH - len(indent) - 2)), indent)

    def _is_lowered(self, statements: Sequence[Statement], origin: ir.Origin) -> bool:
        """Whether these begin with statements of one array statement of the user's that became loops."""
        for statement in statements:
            if statement.origin != origin:
                # copies that only hand values on belong to what is around them
                if isinstance(statement, Copies) and not self._prints(statement):
                    continue
                # and so do tapes
                if isinstance(statement, Assign) and isinstance(statement.op, ir.Alloc) and not statement.op.out.user:
                    continue
                return False
            if isinstance(statement, Loop) and _is_nest(statement.op):
                return True
        return False

    def _prints(self, statement: Statement) -> bool:
        return not isinstance(statement, Copies) or bool(self._left(statement))

    # ---------------------------------------------------------------------------------------------- statements

    def _statement(self, statement: Statement, indent: str, heading: ir.Origin | None) -> None:
        match statement:
            case Assign():
                self._assign(statement, indent)
            case Copies():
                self._copies(statement, indent, heading)
            case Branch():
                self._branch(statement, indent, heading, "if")
            case Loop(op=op, counter=counter, body=body):
                self._line(f"for {self._print.names(counter)} in ", self._range(op), ":", indent)
                outside = self._is_in_nest
                self._is_in_nest = outside or _is_nest(op)
                self._nested(body, indent, heading)
                self._is_in_nest = outside
            case Repeat():
                self._repeat(statement, indent, heading)
            case Break():
                self.lines.append(f"{indent}break")
            case Return(operands=operands):
                rest = map(self._print.text, operands)
                if indent == INDENT and not self._is_reverse:
                    self._end = len(self.lines)
                result = self._tree(self._function.result, lambda k: "None" if k is None else next(rest), outer=True)
                self._line("return ", result, "", indent)
            case Unpack(source=source, tree=ir.Pair() as pair):
                copied = ".copy()" if ir.is_array(pair[0]) else ""
                whole = self._print.names(source)
                parts = f"{whole}.real{copied}, {whole}.imag{copied}"
                self.lines.append(f"{indent}{', '.join(map(self._target, pair))} = {parts}")
            case Unpack(source=source, tree=tree):
                self.lines.append(f"{indent}{self._tree(tree, self._target, outer=True)} = {self._print.names(source)}")
            case _:
                raise NotImplementedError(type(statement).__name__)

    def _line(self, before: str, expression: str, after: str, indent: str) -> None:
        line = f"{indent}{before}{expression}{after}"
        if len(line) <= WIDTH:
            self.lines.append(line)
        else:
            self.lines += wrapped(before, expression, after, indent)

    def _nested(self, block: Sequence[Statement], indent: str, heading: ir.Origin | None) -> None:
        """A block that must have a statement."""
        start = len(self.lines)
        self.block(block, indent + INDENT, heading)
        if all(line.lstrip().startswith("#") for line in self.lines[start:]):
            self.lines.append(f"{indent}{INDENT}pass")

    def _range(self, op: ir.For) -> str:
        if ir.is_literal(op.step, 1):
            bounds = [op.stop] if ir.is_literal(op.start, 0) else [op.start, op.stop]
        else:
            bounds = [op.start, op.stop, op.step]
        found = self._print.globals
        return f"{found.prange() if op.parallel else found.builtin('range')}({self._print.operands(bounds)})"

    def _repeat(self, statement: Repeat, indent: str, heading: ir.Origin | None) -> None:
        condition = self._print.text(statement.condition)
        start = len(self.lines)
        self.lines.append(f"{indent}while True:")
        self.block(statement.test, indent + INDENT, heading)
        if len(self.lines) == start + 1:
            del self.lines[start:]
            self._line("while ", condition, ":", indent)
            self._nested(statement.body, indent, heading)
            return
        self._line("if ", self._print.negation(statement.condition).text, ":", indent + INDENT)
        self.lines.append(f"{indent}{INDENT}{INDENT}break")
        self.block(statement.body, indent + INDENT, heading)

    def _branch(self, statement: Branch, indent: str, heading: ir.Origin | None, word: str) -> None:
        then, orelse = statement.then, statement.orelse
        condition = self._print.text(statement.condition)
        if not self._is_something(then):
            if not self._is_something(orelse):
                return
            condition = self._print.negation(statement.condition).text
            then, orelse = orelse, []
        self._line(f"{word} ", condition, ":", indent)
        self._nested(then, indent, heading)
        if not self._is_something(orelse):
            return
        inner = [s for s in orelse if self._says_something(s)]
        if len(inner) == 1 and isinstance(inner[0], Branch):
            start = len(self.lines)
            self._branch(inner[0], indent, heading, "elif")
            self._mark(start, indent, inner[0].origin)
            return
        self.lines.append(f"{indent}else:")
        self._nested(orelse, indent, heading)

    def _is_something(self, block: Sequence[Statement]) -> bool:
        """Whether anything but comments is printed for `block`."""
        return any(map(self._says_something, block))

    def _says_something(self, statement: Statement) -> bool:
        match statement:
            case Copies():
                return bool(self._left(statement))
            case Branch(then=then, orelse=orelse):
                return self._is_something(then) or self._is_something(orelse)
            case _:
                return not (isinstance(statement, Assign) and isinstance(statement.op, ir.Comment))

    # ---------------------------------------------------------------------------------------------- assignments

    def _assign(self, statement: Assign, indent: str) -> None:
        op = statement.op
        match op:
            case ir.Store(atomic=True):
                self._line("", self._print.atomic(op), "", indent)
            case ir.Store(array=array, index=index, value=value, add=add):
                self._update(self._print.element(array, index), value, add, indent)
            case ir.AddProduct():
                self._line("", self._print.added(op), "", indent)
            case ir.OfRows():
                self._line("", self._print.of_rows(op), "", indent)
            case ir.Barrier():
                self._line("", self._print.barrier(), "", indent)
            case ir.Push(tape=tape, value=value):
                self._line("", f"{self._print.atom(tape)}.append({self._print.text(value)})", "", indent)
            case ir.Raise():
                self._raise(op, indent)
            case ir.Call(callee=ir.Said() as said):
                self._say(said, op.args, indent)
            case ir.NewTape(out=out) if out in self._pushed:
                self.lines.append(f"{indent}{self._print.names(out)} = []")
            case _:
                unread = statement in self._classes.unread and _is_call(op)
                self._assign_result(op, () if unread else statement.targets, indent)

    def _assign_result(self, op: ir.Op, targets: tuple[ir.Var, ...], indent: str) -> None:
        if len(targets) == 1 and is_scalar(targets[0].type) and isinstance(op, ir.Call):
            target = self._print.names(targets[0])
            if self._augmented(target, op, targets[0].type, indent):
                return
        expression = self._print.op(op).text
        names = ", ".join(self._print.names(target) for target in targets)
        if names != expression:
            self._line(f"{names} = " if names else "", expression, "", indent)

    def _update(self, target: str, value: ir.Operand, add: bool, indent: str) -> None:
        op = self._folding.folded.get(value)
        if add:
            self._increase(target, value, indent)
        elif not (isinstance(op, ir.Call) and self._augmented(target, op, value.type, indent)):
            self._line(f"{target} = ", self._print.text(value), "", indent)

    def _augmented(self, target: str, op: ir.Call, type_: ir.Type, indent: str) -> bool:
        """Print `target += e` for `target = target + e`, if it is of that kind."""
        if op.callee not in _AUGMENTED or len(op.args) != 2:
            return False
        commutes = op.callee in (_COMMUTES_IN_REVERSE if self._is_reverse else _COMMUTES)
        for own, other in ((0, 1), (1, 0)) if commutes else ((0, 1),):
            left, right = op.args[own], op.args[other]
            if left.type == type_ and self._print.text(left) == target:
                if op.callee in _COMMUTES:
                    self._increase(target, right, indent)
                else:
                    self._line(f"{target} {INFIX[op.callee][0]}= ", self._print.text(right), "", indent)
                return True
        return False

    def _increase(self, target: str, value: ir.Operand, indent: str) -> None:
        op = self._folding.folded.get(value)
        if isinstance(op, ir.Call) and op.callee is operator.neg:
            self._line(f"{target} -= ", self._print.text(op.args[0]), "", indent)
        else:
            self._line(f"{target} += ", self._print.text(value), "", indent)

    def _raise(self, op: ir.Raise, indent: str) -> None:
        if op.condition is None:
            self._line("raise ", self._print.raised(op), "", indent)
        elif op.exception is AssertionError:
            message = "".join(f", {m}" for m in self._print.message(op))
            self._line("assert ", self._print.text(op.condition), message, indent)
        else:
            self._line("if ", self._print.negation(op.condition).text, ":", indent)
            self._line("raise ", self._print.raised(op), "", indent + INDENT)

    def _say(self, said: ir.Said, operands: Sequence[ir.Operand], indent: str) -> None:
        found = self._print.globals
        if not said.is_native:
            self.lines.append(f"{indent}with {found.objmode()}():")
            indent += INDENT
        arguments = said.arguments(tuple(map(self._print.text, operands)))
        self.lines.append(f"{indent}{found.function(said.function)}{said.method}({arguments})")

    # ---------------------------------------------------------------------------------------------- copies

    def _left(self, statement: Copies) -> list[tuple[ir.Var, ir.Operand]]:
        """The copies that are not from a name to itself."""
        names, folded = self._print.names, self._folding.folded
        found = []
        for target, source in self._classes.copies[statement]:
            if isinstance(source, ir.Var):
                op = folded.get(source)
                if op is None and names(source) == names(target):
                    continue
                if isinstance(op, ir.Undefined) and names(target) not in self._copied:
                    continue
            found.append((target, source))
        return found

    def _copies(self, statement: Copies, indent: str, heading: ir.Origin | None) -> None:
        for group in _ordered(self._left(statement), self._print, self._folding):
            if len(group) > 1:
                targets = ", ".join(self._print.names(target) for target, _ in group)
                sources = ", ".join(self._print.text(source) for _, source in group)
                self._line(f"{targets} = ", sources, "", indent)
                continue
            target, source = group[0]
            op = self._folding.folded.get(source)
            if op is None:
                self._line(f"{self._print.names(target)} = ", self._print.text(source), "", indent)
                continue
            start = len(self.lines)
            if op.origin is not None:
                self._head(op.origin, heading, (), indent)
                heading = op.origin
            self._assign_result(op, (target,), indent)
            self._mark(start, indent, op.origin)

    # ---------------------------------------------------------------------------------------------- trees

    def _tree(self, tree: ir.Tree, leaf: Callable[[Any], str], outer: bool = False) -> str:
        if not isinstance(tree, tuple):
            return leaf(tree)
        parts = [self._tree(part, leaf) for part in tree]
        if isinstance(tree, ir.Pair):
            real, imag = parts
            return self._print.joined(real, imag, self._function.body.yields[tree[0]].type)
        return ", ".join(parts) if outer and len(parts) > 1 else parenthesised(parts)

    def _target(self, leaf: Any) -> str:
        return self._print.names(leaf) if isinstance(leaf, ir.Var) else "_"


def _is_call(op: ir.Op) -> bool:
    """Whether it reads well as a statement of its own, when its results are not read: a check, a random draw."""
    if not isinstance(op, ir.Call) or op.callee in INFIX or op.callee in PREFIX or op.callee in (ir.cast, ir.select):
        return False
    return not any(out.user for out in op.outs)


def _ordered(
    pairs: list[tuple[ir.Var, ir.Operand]], expressions: Expressions, folding: Folding
) -> list[list[tuple[ir.Var, ir.Operand]]]:
    """Parallel copies one by one where that is the same, and together where they need each other's old values."""
    names = [expressions.names(target) for target, _ in pairs]
    reads = [{expressions.names(leaf) for leaf in folding.leaves(source)} for _, source in pairs]
    left = list(range(len(pairs)))
    # waits[k]: the copies that must come before copy k, as they read what it assigns
    waits = {k: {j for j in left if j != k and names[k] in reads[j]} for k in left}
    found = []
    while left:
        together = min((_before(k, waits) for k in left), key=len) if all(waits[k] for k in left) else set()
        if not together:
            together = {next(k for k in left if not waits[k])}
        found.append([pairs[k] for k in sorted(together)])
        left = [k for k in left if k not in together]
        waits = {k: waits[k] - together for k in left}
    return found


def _before(start: int, waits: Mapping[int, set[int]]) -> set[int]:
    """`start` and all that it waits for, directly or not. The smallest of these sets is a cycle."""
    found = {start}
    edge = [start]
    while edge:
        edge = [j for j in waits[edge.pop()] if j not in found] + edge
        found.update(edge)
    return found


def _is_nest(op: ir.For) -> bool:
    """Whether a loop stands for array statements: its counter is none of the user's."""
    return not op.body.args[0].user


def _read_undefined(function: ir.Function) -> list[ir.Var]:
    """What loops carry that a trip may not find assigned, and that may be read in one."""
    sources: dict[ir.Operand, list[ir.Operand]] = {}
    undefined: set[ir.Operand] = set()
    carried: list[tuple[Sequence[ir.Var], ir.Operand]] = []
    for op in ir.walk(function.body):
        if isinstance(op, ir.Undefined):
            undefined.add(op.out)
            continue
        sources.update((name, [first, last]) for name, first, last in ir.joined(op))
        if isinstance(op, ir.For | ir.While):
            carried += [(names, slot.init) for slot, names in zip(op.slots, ir.names_of_slots(op), strict=True)]
    if not undefined:
        return []
    read = followed(sources, _read_in_loops(function))
    found: list[ir.Var] = []
    for (*inside, _), init in carried:
        # loops come before those inside them
        if init in undefined:
            undefined.update(inside)
            if not read.isdisjoint(inside):
                found.append(inside[-1])
    return found


def _kept_undefined(function: ir.Function) -> list[ir.Var]:
    """What a branch does not assign, or a loop without trips, and that is put aside whichever way was taken."""
    made = function.body.made
    pending = [op.value for op in ir.walk(function.body) if isinstance(op, ir.Store | ir.Push)]
    seen: set[ir.Operand] = set()
    found: list[ir.Var] = []
    while pending:
        value = pending.pop()
        op = made.get(value) if isinstance(value, ir.Var) and value not in seen else None
        seen.add(value)
        if isinstance(op, ir.If):
            slots = [(first, out, second, out) for out, first, second in ir.joined(op)]
        elif isinstance(op, ir.For | ir.While):
            slots = list(op.slots)
        else:
            continue
        first, assigned, second, _ = slots[op.results.index(value)]
        pending.extend((first, second))
        if any(isinstance(y, ir.Var) and isinstance(made.get(y), ir.Undefined) for y in (first, second)):
            found.append(assigned)
    return found


def _read_in_loops(function: ir.Function) -> Iterator[ir.Operand]:
    """What is read inside loops, without what is only carried on."""
    loops = (op for op in ir.walk(function.body) if isinstance(op, ir.For | ir.While))
    for op in {inner for loop in loops for region in loop.regions for inner in ir.walk(region)}:
        if isinstance(op, ir.For):
            yield from (op.start, op.stop, op.step)
        elif not isinstance(op, ir.While):
            yield from op.operands
