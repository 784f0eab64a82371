"""Statements of the user's program, one function a kind.

`break`, `continue` and `return` set flags in the environment; what follows a statement that may set one is elaborated under
`if not left`, or in the other branch where a branch always leaves.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst
from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.elaborate import indexing, scalars
from adjit.transform.elaborate.control import BREAK, CONTINUE, FLAGS, RETURN, VALUE, carried_loop, conditional, flag, left
from adjit.transform.elaborate.elementwise import elementwise, materialise, store_all
from adjit.transform.elaborate.expressions import condition, evaluate, subscript_place
from adjit.transform.elaborate.frame import Frame, as_index
from adjit.transform.elaborate.operators import BINARY, binary
from adjit.transform.elaborate.values import (
    Lazy,
    Paired,
    Range,
    Static,
    TupleValue,
    Value,
    is_array,
    is_number,
    ndim,
)


def block(frame: Frame, statements: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> None:
    """Statements in order, until control has certainly left."""
    for k, statement in enumerate(statements):
        rest = statements[k + 1 :]
        if isinstance(statement, cst.SimpleStatementLine):
            if len(statement.body) > 1:
                block(frame, [*statement.body, *rest])
                return
        elif isinstance(statement, cst.If) and rest and _if_with_rest(frame, statement, rest):
            return
        one(frame, statement)
        gone = left(frame)
        if isinstance(gone, ir.Const):
            if gone.value:
                return
            continue
        if rest:
            conditional(frame, gone, lambda: None, lambda rest=rest: block(frame, rest))
        return


def one(frame: Frame, statement: cst.BaseStatement | cst.BaseSmallStatement) -> None:
    ctx = frame.ctx
    node: cst.CSTNode = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else statement
    if not frame.is_rule:
        ctx.frame, ctx.node = frame, node
        frame.begun = len(ctx.builder.ops)
        comments = frame.source.comments_above(statement)
        ctx.builder.origin = frame.source.origin(statement, comments)
    handler = _HANDLERS.get(type(node))
    if handler is None:
        name, instead = _REFUSED.get(type(node), (type(node).__name__, ""))
        raise ctx.fail(errors.Unsupported, f"{name} is not supported", "", instead, node)
    handler(frame, node)


# ------------------------------------------------------------------------------------------------------- simple ones


def _assign(frame: Frame, node: cst.Assign) -> None:
    value = evaluate(frame, node.value)
    targets = [t.target for t in node.targets]
    if len(targets) > 1:
        value = materialise(frame.ctx, value)
    elif isinstance(targets[0], cst.Subscript):
        value = _named_item(frame, targets[0], value)
    for target in targets:
        assign(frame, target, value)
        if isinstance(target, cst.Name):
            # the operation that made it has its name now
            value = frame.env[target.value]


def _annotated(frame: Frame, node: cst.AnnAssign) -> None:
    if node.value is not None:
        assign(frame, node.target, evaluate(frame, node.value))


def assign(frame: Frame, target: cst.BaseExpression, value: Value, is_item: bool = False) -> None:
    """`target = value`; `is_item`: of a tuple, which others may know."""
    ctx = frame.ctx
    if isinstance(target, cst.Name):
        frame.env[target.value] = named(frame, target.value, value, is_item)
    elif isinstance(target, cst.Tuple | cst.List):
        starred = [k for k, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)]
        items = _unpacked(frame, value, len(target.elements), starred[0] if starred else None)
        for element, item in zip(target.elements, items, strict=True):
            assign(frame, element.value, item, is_item=True)
    elif isinstance(target, cst.Subscript):
        indexing.write(ctx, subscript_place(frame, target), value)
    else:
        raise ctx.fail(errors.Unsupported, "assignment to an attribute", "", "Assign to a variable.", target)


def _unpacked(frame: Frame, value: Value, count: int, starred: int | None) -> tuple[Value, ...]:
    """The items for `count` targets, of which the `starred` one takes all that the others leave."""
    ctx = frame.ctx
    if isinstance(value, TupleValue):
        if starred is not None and len(value.items) >= count - 1:
            end = len(value.items) - (count - 1 - starred)
            rest = TupleValue(value.items[starred:end], is_list=True)
            return (*value.items[:starred], rest, *value.items[end:])
        if len(value.items) != count:
            raise ctx.fail(errors.TypeMismatch, f"{len(value.items)} values for {count} names")
        return value.items
    raise ctx.fail(
        errors.Unsupported, "unpacking of something that is not a tuple", "Its length is not known when the code is compiled.",
        "Index it: `a, b = x[0], x[1]`.",
    )  # fmt: skip


def named(frame: Frame, name: str, value: Value, is_item: bool = False) -> Value:
    """The value under the user's name, where it has none yet; lazy arrays are computed."""
    ctx = frame.ctx
    if isinstance(value, Lazy):
        return materialise(ctx, value, name, user=True)
    if not isinstance(value, ir.Var) or value.user or frame.is_rule:
        return value
    made = None if is_item else _renamed(frame, name, value, user=True)
    if made is None:
        # known by its variable already: an array's extent, an item of a tuple
        ctx.called.setdefault(value, (name, ctx.builder.origin))
    return made or value


def _named_item(frame: Frame, target: cst.Subscript, value: Value) -> Value:
    """The value of `x[i] = ...` named after the array, for those who read the element again."""
    array = target.value
    if not isinstance(array, cst.Name) or not isinstance(value, ir.Var) or value.user or frame.is_rule:
        return value
    return value if is_array(value) else _renamed(frame, f"{array.value}_item", value, user=False) or value


def _renamed(frame: Frame, name: str, value: ir.Var, user: bool) -> ir.Var | None:
    """The value with another name, if the statement at hand just made it, so that nobody knows its variable."""
    ctx = frame.ctx
    # the operation that made it is among the last ones: views and fresh arrays are followed by their extents
    for k in range(len(ctx.builder.ops) - 1, max(frame.begun - 1, len(ctx.builder.ops) - 9), -1):
        op = ctx.builder.ops[k]
        if any(r is value for r in op.results):
            renamed = dataclasses.replace(value, name=name, user=user)
            cloner = ir.Cloner({value: renamed})
            results = [renamed if r is value else r for r in op.results]
            ctx.builder.ops[k] = op.rebuilt(op.operands, op.regions, results)
            for later in range(k + 1, len(ctx.builder.ops)):
                following = ctx.builder.ops[later]
                operands = [cloner.operand(o) for o in following.operands]
                ctx.builder.ops[later] = following.rebuilt(operands, following.regions, following.results)
            if value in ctx.shapes:
                ctx.shapes[renamed] = ctx.shapes[value]
                roots = ctx.roots[value]
                ctx.roots[renamed] = frozenset(renamed if r is value else r for r in roots)
            return renamed
        if op.regions:
            break
    return None


def _augmented(frame: Frame, node: cst.AugAssign) -> None:
    ctx = frame.ctx
    callee = BINARY[type(node.operator).__name__.removesuffix("Assign")]
    target = node.target
    if isinstance(target, cst.Subscript):
        place = subscript_place(frame, target)
        value = evaluate(frame, node.value)
        if not is_number(value) and not is_array(value):
            raise ctx.fail(errors.Unsupported, "this value cannot be stored in an array", node=node)
        indexing.update(ctx, place, callee, value)
        return
    if not isinstance(target, cst.Name):
        raise ctx.fail(errors.Unsupported, "augmented assignment to an attribute", "", "Assign to a variable.", target)
    old = evaluate(frame, target)
    value = evaluate(frame, node.value)
    if isinstance(old, ir.Var | ir.Const) and isinstance(old.type, types.Array):
        if isinstance(old, ir.Const):
            raise ctx.fail(errors.Unsupported, "a global array is changed", "", "Copy it first.", node)
        if callee is operator.matmul:
            raise ctx.fail(errors.Unsupported, "`@=` on an array", "", f"Write `{target.value} = {target.value} @ ...`.", node)
        store_all(ctx, old, value, callee)
        return
    frame.env[target.value] = named(frame, target.value, binary(frame, callee, old, value))


def _return(frame: Frame, node: cst.Return) -> None:
    ctx = frame.ctx
    value: Value = Static(None) if node.value is None else evaluate(frame, node.value)
    frame.env[VALUE] = materialise(ctx, value, "result")
    frame.env[RETURN] = ir.boolean(True)


def _break(frame: Frame, node: cst.Break) -> None:
    frame.env[BREAK] = ir.boolean(True)


def _continue(frame: Frame, node: cst.Continue) -> None:
    frame.env[CONTINUE] = ir.boolean(True)


def _expression(frame: Frame, node: cst.Expr) -> None:
    if not isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
        evaluate(frame, node.value)


def _pass(frame: Frame, node: cst.CSTNode) -> None:
    return


def _assert(frame: Frame, node: cst.Assert) -> None:
    held = condition(frame, node.test)
    message = _message(frame, [node.msg] if node.msg is not None else [])
    frame.ctx.builder.emit(ir.Raise(exception=AssertionError, args=message, condition=held))


def _raise(frame: Frame, node: cst.Raise) -> None:
    ctx = frame.ctx
    raised = node.exc
    arguments: Sequence[cst.BaseExpression] = ()
    if isinstance(raised, cst.Call):
        arguments = [a.value for a in raised.args]
        raised = raised.func
    kind = evaluate(frame, raised) if raised is not None else None
    if not isinstance(kind, Static) or not isinstance(kind.value, type) or not issubclass(kind.value, BaseException):
        raise ctx.fail(errors.Unsupported, "this raise", "", "Raise an exception class with a constant message.", node)
    ctx.builder.emit(ir.Raise(exception=kind.value, args=_message(frame, arguments)))


def _message(frame: Frame, arguments: Iterable[cst.BaseExpression]) -> tuple[ir.Operand | str, ...]:
    found: list[ir.Operand | str] = []
    for argument in arguments:
        if isinstance(argument, cst.SimpleString | cst.ConcatenatedString):
            text = argument.evaluated_value
            found.append(text if isinstance(text, str) else repr(text))
    return tuple(found)


# -------------------------------------------------------------------------------------------------------- branches


def _if(frame: Frame, node: cst.If) -> None:
    test = condition(frame, node.test)
    yes, no = _body(node.body), _else_body(node)
    if isinstance(test, ir.Const):
        block(frame, yes if test.value else no)
        return
    conditional(frame, test, lambda: block(frame, yes), lambda: block(frame, no))


def _if_with_rest(frame: Frame, node: cst.If, rest: Sequence[Any]) -> bool:
    """An `if` of which a branch always leaves takes the statements after it into the other branch."""
    yes, no = _body(node.body), _else_body(node)
    yes_leaves, no_leaves = always_leaves(yes), always_leaves(no)
    if not yes_leaves and not no_leaves:
        return False
    ctx = frame.ctx
    ctx.frame, ctx.node = (frame, node) if not frame.is_rule else (ctx.frame, ctx.node)
    if not frame.is_rule:
        ctx.builder.origin = frame.source.origin(node, frame.source.comments_above(node))
    origin = ctx.builder.origin
    test = condition(frame, node.test)
    if yes_leaves:
        no = [*no, *rest]
    else:
        yes = [*yes, *rest]
    if isinstance(test, ir.Const):
        block(frame, yes if test.value else no)
        return True
    conditional(frame, test, lambda: block(frame, yes), lambda: block(frame, no))
    ctx.builder.ops[-1] = dataclasses.replace(ctx.builder.ops[-1], origin=origin)
    return True


def _body(node: cst.BaseSuite) -> list[Any]:
    if isinstance(node, cst.IndentedBlock):
        return list(node.body)
    assert isinstance(node, cst.SimpleStatementSuite)
    return list(node.body)


def _else_body(node: cst.If) -> list[Any]:
    if node.orelse is None:
        return []
    return [node.orelse] if isinstance(node.orelse, cst.If) else _body(node.orelse.body)


def always_leaves(statements: Sequence[Any]) -> bool:
    """Whether control never reaches the end of these statements."""
    for s in statements:
        node = s.body[-1] if isinstance(s, cst.SimpleStatementLine) else s
        if isinstance(node, cst.Return | cst.Break | cst.Continue):
            return True
        if isinstance(node, cst.If) and node.orelse is not None:
            if always_leaves(_body(node.body)) and always_leaves(_else_body(node)):
                return True
    return False


def always_returns(statements: Sequence[Any]) -> bool:
    """Whether every path through these statements ends in return or raise, as far as the syntax tells."""
    for s in statements:
        node = s.body[-1] if isinstance(s, cst.SimpleStatementLine) else s
        if isinstance(node, cst.Return | cst.Raise):
            return True
        if isinstance(node, cst.If) and node.orelse is not None:
            if always_returns(_body(node.body)) and always_returns(_else_body(node)):
                return True
        if isinstance(node, cst.While) and isinstance(node.test, cst.Name) and node.test.value == "True":
            if not _contains(node.body, cst.Break):
                return True
        if isinstance(node, cst.For | cst.While) and node.orelse is not None and always_returns(_body(node.orelse.body)):
            return True
    return False


# ------------------------------------------------------------------------------------------------------------ loops


class _Assigned(cst.CSTVisitor):
    """The names that statements assign, and whether they break or return; nested functions are left alone."""

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

    def visit_Return(self, node: cst.Return) -> None:
        self.returns = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.names[node.name.value] = None
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False


def assigned(nodes: Iterable[cst.CSTNode]) -> _Assigned:
    visitor = _Assigned()
    for node in nodes:
        node.visit(visitor)
    return visitor


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


def _contains(node: cst.CSTNode, kind: type[cst.CSTNode]) -> bool:
    finder = _Finder(kind)
    node.visit(finder)
    return finder.found


def _loop_names(frame: Frame, node: cst.For | cst.While, more: Iterable[cst.CSTNode]) -> tuple[list[str], bool]:
    """The variables a loop carries, and whether it may end early."""
    found = assigned([node.body, *more])
    names = [n for n in found.names if not isinstance(frame.env.get(n), Static)]
    breaks = _contains(node.body, cst.Break)
    if breaks and node.orelse is not None:
        names.append(BREAK)
    if found.returns:
        names.extend((RETURN, VALUE))
    return names, breaks or found.returns


def _trip(frame: Frame, node: cst.For | cst.While, stops: bool) -> list[ir.Operand]:
    """The body of a loop; what it yields besides the carried values."""
    for name in FLAGS:
        frame.env[name] = ir.boolean(False)
    block(frame, _body(node.body))
    frame.env[CONTINUE] = ir.boolean(False)
    return [left(frame)] if stops else []


def _after_loop(frame: Frame, node: cst.For | cst.While, outer_break: Value | None) -> None:
    broke = flag(frame, BREAK)
    if outer_break is None:
        frame.env.pop(BREAK, None)
    else:
        frame.env[BREAK] = outer_break
    if node.orelse is None:
        return
    orelse = _body(node.orelse.body)
    if isinstance(broke, ir.Const) and not broke.value:
        block(frame, orelse)
    else:
        conditional(frame, broke, lambda: None, lambda: block(frame, orelse))


def _for(frame: Frame, node: cst.For) -> None:
    ctx = frame.ctx
    origin = ctx.builder.origin
    iterated = evaluate(frame, node.iter)
    if isinstance(iterated, TupleValue) or (isinstance(iterated, Paired) and _is_static(iterated)):
        _unrolled(frame, node, _static_items(iterated))
        return
    iterated = _materialised_parts(frame, iterated)
    names, stops = _loop_names(frame, node, [cst.AssignTarget(node.target)])
    outer_break = frame.env.get(BREAK)
    start, stop, step, item = _iteration(frame, iterated)
    counter_name = node.target.value if isinstance(node.target, cst.Name) and isinstance(iterated, Range) else "i"
    counter = ir.Var(counter_name, types.intp, user=isinstance(iterated, Range))

    def body() -> list[ir.Operand]:
        ctx.builder.origin = origin
        assign(frame, node.target, item(counter))
        return _trip(frame, node, stops)

    def build(
        inits: tuple[ir.Operand, ...], args: tuple[ir.Var, ...], ops: list[ir.Op],
        yields: tuple[ir.Operand, ...], outs: tuple[ir.Var, ...],
    ) -> ir.Op:  # fmt: skip
        region = ir.Region((counter, *args), tuple(ops), yields)
        return ir.For(
            start=start, stop=stop, step=step, inits=inits, body=region, outs=outs, stops=stops, origin=origin
        )

    carried_loop(frame, names, body, build)
    _after_loop(frame, node, outer_break)


def _materialised_parts(frame: Frame, iterated: Value) -> Value:
    if isinstance(iterated, Paired):
        return Paired(tuple(p if p is None else _materialised_parts(frame, p) for p in iterated.parts), iterated.first)
    return materialise(frame.ctx, iterated)


def _iteration(
    frame: Frame, iterated: Value
) -> tuple[ir.Operand, ir.Operand, ir.Operand, Callable[[ir.Operand], Value]]:
    """The range a loop runs over and what its target is bound to at a counter."""
    ctx = frame.ctx
    if isinstance(iterated, Range):
        return iterated.start, iterated.stop, iterated.step, lambda counter: counter
    length = _length(frame, iterated)
    return ir.integer(0), length, ir.integer(1), lambda counter: _item(frame, iterated, counter)


def _length(frame: Frame, iterated: Value) -> ir.Operand:
    ctx = frame.ctx
    if isinstance(iterated, Paired):
        lengths = [_length(frame, p) for p in iterated.parts if p is not None]
        shortest = lengths[0]
        for other in lengths[1:]:
            shortest = shortest if other == shortest else scalars.scalar(ctx, min, (shortest, other), "n")
        return shortest
    if isinstance(iterated, Range):
        span = scalars.scalar(ctx, operator.sub, (iterated.stop, iterated.start))
        ahead = scalars.scalar(ctx, operator.add, (span, iterated.step))
        sign = scalars.branch(
            ctx, scalars.scalar(ctx, operator.gt, (iterated.step, ir.integer(0))),
            lambda: ir.integer(-1), lambda: ir.integer(1), "sign",
        )  # fmt: skip
        ahead = scalars.scalar(ctx, operator.add, (ahead, sign))
        count = scalars.scalar(ctx, operator.floordiv, (ahead, iterated.step))
        return scalars.scalar(ctx, max, (count, ir.integer(0)), "n")
    if isinstance(iterated, TupleValue):
        return ir.integer(len(iterated.items))
    if is_array(iterated) and ndim(iterated) > 0:
        assert isinstance(iterated, ir.Var | ir.Const)
        return ctx.shape(iterated)[0]
    raise ctx.fail(
        errors.Unsupported, "a loop over this", "", "Loop over a range, an array, a tuple, enumerate(...) or zip(...)."
    )


def _item(frame: Frame, iterated: Value, counter: ir.Operand) -> Value:
    ctx = frame.ctx
    if isinstance(iterated, Paired):
        parts: list[Value] = []
        for p in iterated.parts:
            if p is not None:
                parts.append(_item(frame, p, counter))
            elif iterated.first is None or iterated.first == ir.integer(0):
                parts.append(counter)
            else:
                parts.append(scalars.scalar(ctx, operator.add, (counter, iterated.first)))
        return TupleValue(tuple(parts))
    if isinstance(iterated, Range):
        moved = scalars.scalar(ctx, operator.mul, (counter, iterated.step))
        return scalars.scalar(ctx, operator.add, (iterated.start, moved))
    if isinstance(iterated, TupleValue):
        raise ctx.fail(errors.Unsupported, "a tuple zipped with an array", "", "Loop over a range and index both.")
    return indexing.read(ctx, indexing.resolve(ctx, iterated, (counter,)))


def _is_static(iterated: Paired) -> bool:
    return all(p is None or isinstance(p, TupleValue) or (isinstance(p, Paired) and _is_static(p)) for p in iterated.parts)


def _static_items(iterated: Value) -> list[Value]:
    if isinstance(iterated, TupleValue):
        return list(iterated.items)
    assert isinstance(iterated, Paired)
    columns = [_static_items(p) if p is not None else None for p in iterated.parts]
    length = min(len(c) for c in columns if c is not None)
    first = iterated.first.value if isinstance(iterated.first, ir.Const) else 0
    return [
        TupleValue(tuple(ir.integer(first + k) if c is None else c[k] for c in columns)) for k in range(length)
    ]


def _unrolled(frame: Frame, node: cst.For, items: Sequence[Value]) -> None:
    """A loop over a tuple, written out."""
    outer_break = frame.env.get(BREAK)
    frame.env[BREAK] = ir.boolean(False)

    def trips(rest: Sequence[Value]) -> None:
        if not rest:
            return
        frame.env[CONTINUE] = ir.boolean(False)
        assign(frame, node.target, rest[0])
        block(frame, _body(node.body))
        frame.env[CONTINUE] = ir.boolean(False)
        gone = left(frame)
        if isinstance(gone, ir.Const):
            if not gone.value:
                trips(rest[1:])
        else:
            conditional(frame, gone, lambda: None, lambda: trips(rest[1:]))

    trips(items)
    _after_loop(frame, node, outer_break)


def _while(frame: Frame, node: cst.While) -> None:
    ctx = frame.ctx
    origin = ctx.builder.origin
    names, stops = _loop_names(frame, node, [node.test])
    outer_break = frame.env.get(BREAK)
    test_ops: list[ir.Op] = []
    test_yield: list[ir.Operand] = []

    def body() -> list[ir.Operand]:
        ctx.builder.origin = origin
        test_ops.clear()
        before = dict(frame.env)
        with ctx.builder.region() as ops:
            held = condition(frame, node.test)
        test_ops.extend(ops)
        test_yield[:] = [held]
        if any(frame.env.get(n) is not before.get(n) for n in frame.env):
            raise ctx.fail(errors.Unsupported, "an assignment in the condition of while", "", "Assign in the body.", node)
        return _trip(frame, node, stops)

    def build(
        inits: tuple[ir.Operand, ...], args: tuple[ir.Var, ...], ops: list[ir.Op],
        yields: tuple[ir.Operand, ...], outs: tuple[ir.Var, ...],
    ) -> ir.Op:  # fmt: skip
        # the test has arguments of its own, and asks for their extents itself
        own = tuple(dataclasses.replace(a) for a in args)
        cloner = ir.Cloner(dict(zip(args, own, strict=True)))
        extents = [o for o in ops if isinstance(o, ir.Extent) and any(o.array is a for a in args)]
        tested = tuple(cloner.op(o) for o in (*extents, *test_ops))
        test = ir.Region(own, tested, (cloner.operand(test_yield[0]),))
        body_region = ir.Region(args, tuple(ops), yields)
        return ir.While(inits=inits, test=test, body=body_region, outs=outs, stops=stops, origin=origin)

    carried_loop(frame, names, body, build)
    _after_loop(frame, node, outer_break)


def _function(frame: Frame, node: cst.FunctionDef) -> None:
    raise frame.ctx.fail(
        errors.Unsupported, "a function defined inside a differentiated one", "", "Define it outside, or use a lambda.", node
    )


_HANDLERS: dict[type, Callable[[Frame, Any], None]] = {
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Break: _break,
    cst.Continue: _continue,
    cst.Expr: _expression,
    cst.Pass: _pass,
    cst.Assert: _assert,
    cst.Raise: _raise,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.FunctionDef: _function,
}

_REFUSED: dict[type, tuple[str, str]] = {
    cst.Try: ("`try`", "Test the condition with `if` before the operation that may raise."),
    cst.TryStar: ("`try`", "Test the condition with `if` before the operation that may raise."),
    cst.With: ("`with`", "Move it outside the differentiated function."),
    cst.Import: ("`import` inside a function", "Import at the top of the file."),
    cst.ImportFrom: ("`import` inside a function", "Import at the top of the file."),
    cst.Global: ("`global`", "Pass the value as an argument and return the new one."),
    cst.Nonlocal: ("`nonlocal`", "Pass the value as an argument and return the new one."),
    cst.Del: ("`del`", "Leave it out."),
    cst.ClassDef: ("a class inside a function", "Define it outside."),
    cst.Match: ("`match`", "Use `if` and `elif`."),
}
