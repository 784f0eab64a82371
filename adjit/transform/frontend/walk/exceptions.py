"""`raise`, `assert` and `try`.

In: the statement. Out: an operation that raises; or, where a handler around catches it, in this function or in one that
calls it, a flag and the number of the class, which are followed as `return` is, so that what handles it is a branch.

    try:                                        if is_positive_definite(k):
        l = np.linalg.cholesky(k)                   l = np.linalg.cholesky(k)
        if l[0, 0] > 9.0:                           raised = l[0, 0] > 9.0
            raise ValueError("large")           else:
    except (LinAlgError, ValueError):               raised = True
        return np.inf                           if raised: return np.inf

A call that may raise what is caught around it is a statement of its own: another one is taken apart
(`source/anf.py`), and what comes after it is elaborated under `if not raised`.

A handler for what operations raise in Python and not here, such as ZeroDivisionError, would never run: it is refused.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

import libcst as cst
import numpy as np

from adjit import errors
from adjit.rules.numpy.linalg.triangular import is_positive_definite
from adjit.transform import ir
from adjit.transform.frontend.heap.references import as_reference
from adjit.transform.frontend.library.output import text_of
from adjit.transform.frontend.operations import control
from adjit.transform.frontend.operations.operators import either
from adjit.transform.frontend.values import scalars
from adjit.transform.frontend.values.cells import MADE_TEXT, Poison
from adjit.transform.frontend.values.dictionaries import Instance
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import CallRaises, Frame
from adjit.transform.frontend.values.lists import TupleValue, items_or_one
from adjit.transform.frontend.values.numbers import is_array
from adjit.transform.frontend.values.statics import Static, stands_for
from adjit.transform.frontend.values.values import Value, dereference
from adjit.transform.frontend.walk.expressions import condition, evaluate
from adjit.transform.ir.types import array_type_of
from adjit.transform.source.external_reads import static_attribute
from adjit.transform.source.syntax import always_returns, body_of, inside

Block = Callable[[Frame, Sequence[Any]], None]
Message = tuple[ir.Operand | str | ir.Made, ...]


@dataclasses.dataclass(frozen=True)
class Handler:
    """What one `except` catches."""

    kinds: tuple[type[BaseException], ...]
    node: cst.ExceptHandler

    def catches(self, kind: type[BaseException]) -> bool:
        return issubclass(kind, self.kinds)


def assertion(frame: Frame, node: cst.Assert) -> None:
    held = condition(frame, node.test)
    handler = _caught(frame, AssertionError)
    if handler is not None:
        thrown = functools.partial(_leave, frame, handler, AssertionError, [] if node.msg is None else [node.msg])
        control.conditional(frame, held, lambda: None, thrown)
        return
    with control.aside(frame.ctx) as ops:
        args, values = _message(frame, [node.msg] if node.msg is not None else [])
    if not values:
        frame.ctx.builder.ops.extend(ops)
        frame.ctx.builder.emit(ir.Raise(exception=AssertionError, args=args, condition=held))
        return

    def fails() -> None:
        # what is said is worked out where it is
        frame.ctx.builder.ops.extend(ops)
        frame.ctx.builder.emit(ir.Raise(exception=AssertionError, args=args, values=values))

    control.conditional(frame, held, lambda: None, fails)


def raising(frame: Frame, node: cst.Raise) -> None:
    ctx = frame.ctx
    raised = node.exc
    if raised is None or _is_caught(frame, raised):
        _raised_again(frame, node)
        return
    arguments: Sequence[cst.BaseExpression] = ()
    if isinstance(raised, cst.Call):
        arguments = [a.value for a in raised.args]
        raised = raised.func
    kind = evaluate(frame, raised) if raised is not None else None
    if not stands_for(kind, type) or not issubclass(kind.value, BaseException):
        raise ctx.unsupported("this raise", "Raise an exception class with a constant message.")
    handler = _caught(frame, kind.value)
    if handler is not None:
        _leave(frame, handler, kind.value, arguments)
        return
    message, values = _message(frame, arguments)
    if frame.is_rule and issubclass(kind.value, NotImplementedError) and ctx.builder.ops is frame.own_ops:
        # whatever the values are: what types tell a rule, it is known to be without
        what = " ".join(map(str, message)) or f"a call that {frame.source.name} does not know"
        raise ctx.unsupported(what, "Write the computation out, in loops.")
    if frame.is_rule and len(message) == 1 and isinstance(message[0], str):
        message = (ir.said_at(ctx.builder.origin, message[0]),)
    ctx.builder.emit(ir.Raise(exception=kind.value, args=message, values=values))


def _message(frame: Frame, arguments: Iterable[cst.BaseExpression]) -> tuple[Message, tuple[ir.Operand, ...]]:
    """What an exception says, and the values in it; for one that no string can contain the expression, as in <x>."""
    args: list[ir.Operand | str | ir.Made] = []
    values: list[ir.Operand] = []
    for node in arguments:
        made = _made(frame, node)
        if made is None:
            known = _known(frame, node)
            args.append(_written(node) if known is None else known)
        else:
            args.append(made[0])
            values += made[1]
    return tuple(args), tuple(values)


def _made(frame: Frame, node: cst.BaseExpression) -> tuple[ir.Made | str, tuple[ir.Operand, ...]] | None:
    """An argument of an exception that contains values known at run time, and these; None where there is no string for
    them, or where no error gets out with it."""
    ctx = frame.ctx
    if frame.is_rule or ctx.kernel is not None or ctx.loop.in_prange:
        return None
    forget = control.as_it_is(frame)
    try:
        with control.aside(ctx) as ops:
            text = text_of(frame, node, evaluate)
            given = (materialise(ctx, evaluate(frame, node)),) if text is None else text.values
    except errors.AdjitError:
        forget()
        return None
    is_known = text is None and isinstance(given[0], ir.Const)
    if is_known or not all(isinstance(one, ir.Operand) for one in given):
        forget()
        return None
    ctx.builder.ops.extend(ops)
    values = tuple(one for one in given if isinstance(one, ir.Operand))
    if text is None:
        return ir.Made(1), values
    if not values:
        return text.text if text.by_percent else text.text.format(), ()
    return ir.Made(len(values), text.text, text.by_percent), values


def _known(frame: Frame, node: cst.BaseExpression) -> ir.Const | str | None:
    match node:
        case cst.SimpleString():
            text = node.evaluated_value
            return text if isinstance(text, str) else repr(text)
        case cst.FormattedString():
            return "".join(p.value if isinstance(p, cst.FormattedStringText) else _hole(frame, p) for p in node.parts)
        case cst.ConcatenatedString() | cst.BinaryOperation(operator=cst.Add()):
            left, right = _known(frame, node.left), _known(frame, node.right)
            return left + right if isinstance(left, str) and isinstance(right, str) else None
        case cst.BinaryOperation(left=cst.SimpleString() as text, operator=cst.Modulo(), right=right):
            parts = [e.value for e in right.elements] if isinstance(right, cst.Tuple) else [right]
            return _filled(frame, text, _PERCENT, parts)
        case cst.Call(func=cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name(value="format")), args=given):
            is_plain = not any(a.keyword or a.star for a in given)
            return _filled(frame, text, _BRACES, [a.value for a in given]) if is_plain else None
        case cst.Name() | cst.Integer() | cst.Float():
            value = evaluate(frame, node)
            found = value.value if isinstance(value, Static) else value
            return found if isinstance(found, str | ir.Const) else None
    return None


def _hole(frame: Frame | None, part: cst.BaseFormattedStringContent) -> str:
    """What stands in the braces of a string with formats; without a frame nothing is known of it."""
    assert isinstance(part, cst.FormattedStringExpression)
    known = None if frame is None else _known(frame, part.expression)
    is_plain = part.conversion is None and part.format_spec is None
    return known if is_plain and isinstance(known, str) else _written(part.expression)


_PERCENT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")
_BRACES = re.compile(r"\{(?:![rsa])?(?::[^{}]*)?\}")


def _filled(
    frame: Frame, text: cst.SimpleString, hole: re.Pattern[str], values: Sequence[cst.BaseExpression]
) -> str | None:
    """A string with these values in the place of its holes; None where they are not as many."""
    written = text.evaluated_value
    if not isinstance(written, str) or len(hole.findall(written)) != len(values):
        return None
    known = ((value, _known(frame, value)) for value in values)
    said = iter([found if isinstance(found, str) else _written(value) for value, found in known])
    return hole.sub(lambda _: next(said), written)


# --------------------------------------------------------------------------------------------------------------- try


def _caught(frame: Frame, kind: type[BaseException]) -> Handler | None:
    """The handler around that catches it, the innermost first."""
    return next((h for handlers in reversed(frame.catching) for h in handlers if h.catches(kind)), None)


def _leave(
    frame: Frame,
    handler: Handler,
    kind: type[BaseException],
    arguments: Sequence[cst.BaseExpression] = (),
) -> None:
    """Control goes to the handler; `arguments`: what the exception is made with."""
    ctx = frame.ctx
    if kind not in ctx.thrown:
        ctx.thrown.append(kind)
    frame.env[control.RAISED] = ir.boolean(True)
    frame.env[control.EXCEPTION] = ir.integer(ctx.thrown.index(kind))
    if handler.node.name is not None:
        frame.env[control.THROWN] = as_reference(frame, _exception(frame, kind, arguments))


def _exception(frame: Frame, kind: type[BaseException], arguments: Sequence[cst.BaseExpression]) -> Value:
    """The object that is raised, as far as it is known: its arguments, and what its class makes of them."""
    args: list[Value] = []
    for node in arguments:
        is_text = isinstance(node, cst.FormattedString | cst.ConcatenatedString | cst.BinaryOperation | cst.Call)
        known = _known(frame, node) if is_text else None
        if isinstance(known, str):
            args.append(Static(known))
        else:
            is_made = is_text and any(isinstance(each, cst.FormattedString | cst.SimpleString) for each in inside(node))
            args.append(MADE_TEXT if is_made else materialise(frame.ctx, evaluate(frame, node)))
    made = Instance(("args",), (TupleValue(tuple(args)),), of=kind)
    own = static_attribute(kind, "__init__", None)
    if not isinstance(own, FunctionType):
        return made
    cell = as_reference(frame, made)
    outer, frame.ctx.makes_error = frame.ctx.makes_error, True
    frame.ctx.call(frame, Static(own), [dereference(frame.env, cell), *args], {})
    frame.ctx.makes_error = outer
    return cell


def _is_caught(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether it is the name of the exception that is handled here."""
    return isinstance(node, cst.Name) and bool(frame.handling) and node.value == frame.handling[-1][1]


def _raised_again(frame: Frame, node: cst.Raise) -> None:
    """`raise`, or `raise error`, of what is handled here: by the handlers around, or for good."""
    ctx = frame.ctx
    if not frame.handling:
        raise ctx.unsupported("this raise", "Raise an exception class with a constant message.")
    kinds, _, which, thrown = frame.handling[-1]

    def again(place: int) -> None:
        kind = kinds[place]
        if place + 1 < len(kinds):
            is_that = scalars.scalar(ctx, operator.eq, (which, ir.integer(ctx.thrown.index(kind))))
            control.conditional(frame, is_that, lambda: one(kind), lambda: again(place + 1))
        else:
            one(kind)

    def one(kind: type[BaseException]) -> None:
        handler = _caught(frame, kind)
        if handler is None:
            ctx.builder.emit(ir.Raise(exception=kind, args=()))
            return
        frame.env[control.RAISED] = ir.boolean(True)
        frame.env[control.EXCEPTION] = which
        if handler.node.name is not None:
            frame.env[control.THROWN] = thrown or Poison(_UNKNOWN)

    again(0)


_UNKNOWN = "It is an exception, and adjit only keeps that it was raised."


def handed_on(frame: Frame, callee: Frame) -> None:
    """What a call may have raised that is caught in this function, or in one that called it."""
    raised = callee.env.get(control.RAISED, ir.boolean(False))
    if raised == ir.boolean(False):
        return
    for name in (control.RAISED, control.EXCEPTION, control.THROWN):
        if name in callee.env:
            frame.env[name] = callee.env[name]
    if not frame.is_alone():
        raise CallRaises(frame)


def attempt(frame: Frame, node: cst.Try, block: Block) -> None:
    """`try`; `block` runs statements."""
    ctx, outer = frame.ctx, frame.catching
    handlers = [_handler(frame, one) for one in node.handlers]
    frame.catching = (*outer, tuple(handlers))
    with ctx.builder.region() as own:
        block(frame, body_of(node.body))
    frame.catching, ops = outer, tuple[ir.Op, ...](own)
    for handler in handlers:
        ops = _under(frame, handler, ops)
    ctx.builder.ops.extend(ops)

    def case(k: int) -> None:
        if k == len(handlers):
            return
        kinds = [kind for kind in ctx.thrown if handlers[k].catches(kind)]
        kinds = [kind for kind in kinds if not any(earlier.catches(kind) for earlier in handlers[:k])]
        which = frame.env.get(control.EXCEPTION)
        if not kinds or not isinstance(which, ir.Operand):
            case(k + 1)
            return
        # with nothing around that catches, the last one is meant where no other is
        held: ir.Operand = ir.boolean(not any(outer) and k == len(handlers) - 1)
        for kind in kinds if held == ir.boolean(False) else ():
            number = ir.integer(ctx.thrown.index(kind))
            is_that = functools.partial(scalars.scalar, ctx, operator.eq, (which, number))
            held = either(frame, held, is_that)
        handled = functools.partial(_handled, frame, handlers[k], kinds, which, block)
        control.conditional(frame, held, handled, lambda: case(k + 1))

    def passed() -> None:
        frame.env[control.RAISED] = ir.boolean(False)
        if node.orelse is not None:
            orelse = body_of(node.orelse.body)
            control.conditional(frame, control.left(frame), lambda: None, lambda: block(frame, orelse))

    control.conditional(frame, control.flag(frame, control.RAISED), lambda: case(0), passed)
    if node.finalbody is not None:
        _finally(frame, node.finalbody, block)


def _handler(frame: Frame, node: cst.ExceptHandler) -> Handler:
    named = Static(BaseException) if node.type is None else evaluate(frame, node.type)
    given = items_or_one(named)
    kinds = [one.value for one in given if isinstance(one, Static)]
    is_of_classes = all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds)
    if not kinds or len(kinds) < len(given) or not is_of_classes:
        raise frame.ctx.unsupported("`except` without an exception class", "Name exception classes.", node=node)
    return Handler(tuple(kinds), node)


def _handled(
    frame: Frame, handler: Handler, kinds: Sequence[type[BaseException]], which: ir.Operand, block: Block
) -> None:
    frame.env[control.RAISED] = ir.boolean(False)
    name, thrown = "", frame.env.pop(control.THROWN, None)
    if handler.node.name is not None:
        assert isinstance(handler.node.name.name, cst.Name)
        name = handler.node.name.name.value
        frame.store(name, thrown or Poison(_UNKNOWN))
    frame.handling = (*frame.handling, (kinds, name, which, thrown))
    block(frame, body_of(handler.node.body))
    frame.handling = frame.handling[:-1]


def _finally(frame: Frame, node: cst.Finally, block: Block) -> None:
    """What is done in any case; control has left then or not, as before."""
    if any(isinstance(each, cst.Return | cst.Break | cst.Continue) for each in inside(node)):
        raise frame.ctx.unsupported("leaving from `finally`", "Leave after it.", node=node)
    flags = {name: frame.env[name] for name in control.FLAGS if name in frame.env}
    before = {n: frame.env[n] for n in (*flags, control.EXCEPTION, control.THROWN) if n in frame.env}
    frame.env.update(dict.fromkeys(flags, ir.boolean(False)))
    block(frame, body_of(node.body))
    frame.env.update(before)


def _is_factorisation(function: Any) -> bool:
    """Whether it is a Cholesky factorisation of NumPy's or SciPy's."""
    scipys = sys.modules.get("scipy.linalg")
    known = (np.linalg.cholesky, getattr(scipys, "cholesky", None), getattr(scipys, "cho_factor", None))
    return any(function is one for one in known if one is not None)


def factorises(frame: Frame, node: cst.CSTNode, run: Callable[[], None]) -> bool:
    """Whether a statement is a Cholesky factorisation whose failure is caught; then it is run where it succeeds."""
    call = getattr(node, "value", None)
    if not frame.catching or not isinstance(call, cst.Call) or not call.args:
        return False
    function, handler = evaluate(frame, call.func), _caught(frame, np.linalg.LinAlgError)
    if handler is None or not isinstance(function, Static) or not _is_factorisation(function.value):
        return False
    matrix = materialise(frame.ctx, evaluate(frame, call.args[0].value))
    if not isinstance(matrix, ir.Operand) or not is_array(matrix) or array_type_of(matrix).ndim != 2:
        return False
    held = frame.ctx.call(frame, Static(is_positive_definite), [matrix], {})
    assert isinstance(held, ir.Operand)
    thrown = functools.partial(_leave, frame, handler, np.linalg.LinAlgError)
    control.conditional(frame, held, run, thrown)
    return True


# What operations raise in Python, and do not here: nobody would call the handler.
_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod)
_LAPACK = (
    np.linalg.inv, np.linalg.solve, np.linalg.eig, np.linalg.eigvals, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd,
    np.linalg.lstsq, np.linalg.pinv,
)  # fmt: skip
_SILENT = (ZeroDivisionError, OverflowError, FloatingPointError, IndexError)


def _under(frame: Frame, handler: Handler, ops: tuple[ir.Op, ...]) -> tuple[ir.Op, ...]:
    """Operations as they are under a handler: one that does nothing but raise changes no value, and what they raise is
    what it makes of that. Refuses any other that Python would call where this code does not."""
    raised = _only_raises(frame, handler)
    new = {} if raised is None else {kind: args for kind, args in raised.items() if kind is not None}
    is_caught = any(h.catches(kind) for f in frame.ctx.frames for tried in f.catching for h in tried for kind in new)
    own = {op.exception for op in ir.Region((), ops, ()).inside if isinstance(op, ir.Raise)}
    of_calls = set(_unseen(ops, with_raised=False)) & {np.linalg.LinAlgError}
    is_one = len(raised or ()) == 1 and not any(map(handler.catches, of_calls - new.keys()))
    if raised is None or is_caught or (new and not is_one and any(map(handler.catches, own | of_calls))):
        _refuse_unseen(frame, handler, ops)
        return ops

    def made(op: ir.Op) -> ir.Op:
        if not new or not isinstance(op, ir.Raise) or not handler.catches(op.exception):
            return op
        ((kind, args),) = new.items()
        return dataclasses.replace(op, exception=kind, args=args, values=())

    return ir.rewritten(ir.Region((), ops, ()), made).ops


def _only_raises(frame: Frame, handler: Handler) -> dict[type[BaseException] | None, Message] | None:
    """What a handler raises, and what that says, None for what it has caught; None if it may do anything else."""
    body = handler.node.body
    nodes = list(inside(body, (cst.FunctionDef, cst.Lambda)))
    if not always_returns(body_of(body)) or any(isinstance(n, cst.Return | cst.Break | cst.Continue) for n in nodes):
        return None
    name = None if handler.node.name is None else handler.node.name.name
    found: dict[type[BaseException] | None, Message] = {}
    for each in (node for node in nodes if isinstance(node, cst.Raise)):
        raised = each.exc.func if isinstance(each.exc, cst.Call) else each.exc
        if raised is None or (isinstance(raised, cst.Name) and raised is each.exc and _is_name(name, raised.value)):
            found[None] = ()
            continue
        if isinstance(raised, cst.Name) and raised.value in frame.local_names:
            return None
        kind = evaluate(frame, raised)
        if not stands_for(kind, type) or not issubclass(kind.value, BaseException):
            return None
        args = each.exc.args if isinstance(each.exc, cst.Call) else ()
        found[kind.value] = tuple(_written(argument.value) for argument in args)
    return found


def _is_name(node: cst.CSTNode | None, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _written(node: cst.BaseExpression) -> str:
    """What an exception says where nothing is known of it: for each value the expression, as in <x>."""
    if isinstance(node, cst.SimpleString):
        return str(node.evaluated_value)
    if isinstance(node, cst.FormattedString):
        said = (p.value if isinstance(p, cst.FormattedStringText) else _hole(None, p) for p in node.parts)
        return "".join(said)
    return f"<{cst.Module([]).code_for_node(node)}>"


def _refuse_unseen(frame: Frame, handler: Handler, ops: Sequence[ir.Op]) -> None:
    """Refuses a handler that Python would call where this code does not."""
    wanted = next((kind for kind in _unseen(ops) if handler.catches(kind)), None)
    named = next((kind for kind in _SILENT if kind in handler.kinds), None)
    if wanted is None and named is None:
        return
    kind = (wanted or named or Exception).__name__
    if wanted is not None and wanted.__module__ not in ("builtins", "numpy.linalg"):
        raise frame.ctx.unsupported(
            f"`try` around a call inside a larger statement, which raises {kind}",
            "Write the call as a single statement, `value = f(x)`, also in a loop.",
            why="If the call raises, the rest of the statement must not run.",
            node=handler.node,
        )
    raise frame.ctx.unsupported(
        f"`except` for a {kind} that an operation raises",
        "Test with `if` before the operation.",
        why="adjit catches `raise`, `assert`, and a Cholesky factorisation that fails,\n"
        "written as a single statement: `l = np.linalg.cholesky(k)`.",
        node=handler.node,
    )


def _unseen(
    ops: Sequence[ir.Op], in_array: bool = False, is_positive: bool = False, with_raised: bool = True
) -> Iterator[type[BaseException]]:
    """What these operations may raise in Python; divisions of whole arrays raise nothing there."""
    tests = {op.outs[0] for op in ops if isinstance(op, ir.Call) and op.callee is is_positive_definite}
    for op in ops:
        if isinstance(op, ir.Raise) and with_raised:
            yield op.exception
        elif isinstance(op, ir.Call):
            yield from _raised_by(op, in_array, is_positive)
        in_map = in_array or (isinstance(op, ir.For) and op.order_free)
        for k, region in enumerate(op.regions):
            is_tested = isinstance(op, ir.If) and op.condition in tests and k == 0
            yield from _unseen(region.ops, in_map, is_positive or is_tested, with_raised)


def _raised_by(op: ir.Call, in_array: bool, is_positive: bool) -> Iterator[type[BaseException]]:
    if op.callee in _DIVISIONS and not in_array:
        divisor = op.args[1]
        if not isinstance(divisor, ir.Const) or divisor.value == 0:
            yield ZeroDivisionError
    elif op.callee in _LAPACK or (op.callee is np.linalg.cholesky and not is_positive):
        yield np.linalg.LinAlgError
    elif getattr(math, getattr(op.callee, "__name__", ""), None) is op.callee:
        yield from (ValueError, OverflowError)
