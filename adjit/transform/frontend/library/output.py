"""`print`, `warnings.warn`, `logging` and loggers: said in the forward sweep, once, and not differentiated.

In: the call as it is written. Out: an effect; texts with formats keep their formats.

    print("step", k, f"loss {loss:.3f}")        the same line in the forward sweep
    log.debug("loss %s", loss)                  logging.getLogger("solver").debug("loss %s", loss)

What is asked of a logger, as `log.isEnabledFor(10)`, is known while compiling.
"""

from __future__ import annotations

import dataclasses
import logging
import string
import warnings
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import libcst as cst

from adjit.transform import ir
from adjit.transform.frontend.values.cells import MADE_TEXT, Poison
from adjit.transform.frontend.values.elementwise import materialise
from adjit.transform.frontend.values.frame import Frame
from adjit.transform.frontend.values.lists import TupleValue, is_tuple
from adjit.transform.frontend.values.numbers import is_array, is_number
from adjit.transform.frontend.values.statics import Static, stands_for
from adjit.transform.frontend.values.values import Value, dereference, describe

Evaluate = Callable[[Frame, cst.BaseExpression], Value]

# what says something at a level, as a function of `logging` and as a method of a logger
LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "fatal", "log")
_SAYING = frozenset({print, warnings.warn, *(getattr(logging, name) for name in LEVELS)})
_OF_LOGGERS = frozenset(getattr(logging.Logger, name) for name in LEVELS)


def says(thing: Any) -> bool:
    """Whether it is a function that says something, or such a method of a logger."""
    if isinstance(thing, MethodType):
        return isinstance(thing.__self__, logging.Logger) and thing.__func__ in _OF_LOGGERS
    return isinstance(thing, FunctionType | BuiltinFunctionType) and thing in _SAYING


def said(frame: Frame, node: cst.Call, function: Any, evaluate: Evaluate) -> None:
    """The call `node` of a function that says something."""
    ctx, writer = frame.ctx, _Writer(frame, evaluate)
    method = ""
    if isinstance(function, MethodType):
        logger: Any = function.__self__
        method = f"({ir.quoted(logger.name)}).{function.__name__}"
        if logging.getLogger(logger.name) is not logger:
            raise ctx.unsupported(
                f"the logger {logger.name}, which logging.getLogger does not return",
                "Create it with logging.getLogger.",
                why="adjit finds loggers by name.",
            )
    for k, argument in enumerate(node.args):
        if argument.star or (argument.keyword is not None and argument.keyword.value == "file"):
            raise ctx.unsupported(f"`{function.__name__}` with this argument", "Leave it out.", node=argument)
        writer.text(", " if k else "")
        if argument.keyword is not None:
            writer.text(f"{argument.keyword.value}=")
        writer.argument(argument.value)
    is_native = function is print and not writer.is_formatted and all(a.keyword is None for a in node.args)
    if not is_native and ctx.loop.in_prange:
        raise ctx.unsupported(
            "a formatted string inside a prange loop", "Print plain numbers, or print after the loop."
        )
    callee = ir.Said(logging.getLogger if method else function, tuple(writer.pieces), is_native, method)
    ctx.builder.emit(ir.Call(callee=callee, args=tuple(writer.operands), outs=(), effect=True))


class _Writer:
    """The text of the arguments so far, in pieces with operands between them; texts with formats by `str.format`."""

    def __init__(self, frame: Frame, evaluate: Evaluate):
        self.frame, self.evaluate = frame, evaluate
        self.pieces: list[str] = [""]
        self.operands: list[ir.Operand] = []
        self.is_formatted = False

    def text(self, text: str) -> None:
        self.pieces[-1] += text

    def argument(self, node: cst.BaseExpression) -> None:
        made = None if isinstance(node, cst.SimpleString) else text_of(self.frame, node, self.evaluate)
        if made is None:
            self.value(materialise(self.frame.ctx, self.evaluate(self.frame, node)))
            return
        # numba takes no f-string with formats, not even where the interpreter runs it
        self.is_formatted = True
        # (of `%` with a literal Python makes an f-string)
        self.text(ir.quoted(made.text) + (".__mod__((" if made.by_percent else ".format("))
        for k, value in enumerate(made.values):
            self.text(", " if k else "")
            self.value(value)
        self.text(",))" if made.by_percent else ")")

    def value(self, value: Value) -> None:
        value = dereference(self.frame.env, value)
        if isinstance(value, TupleValue):
            opening, closing = "[]" if value.is_list else "()"
            self.text(opening)
            for k, one in enumerate(value.items):
                self.text(", " if k else "")
                self.value(one)
            self.text(("," if len(value.items) == 1 and not value.is_list else "") + closing)
            self.is_formatted = True
        elif isinstance(value, Static) and (value.value is None or isinstance(value.value, str)):
            self.text(ir.quoted(value.value) if isinstance(value.value, str) else "None")
        elif stands_for(value, type) and issubclass(value.value, Warning):
            self.text(value.value.__name__)
        elif is_number(value) or is_array(value):
            assert isinstance(value, ir.Operand)
            self.operands.append(value)
            self.pieces.append("")
        else:
            raise self.frame.ctx.unsupported(f"{describe(value)} in a message that is printed", "Print its contents.")


class Text(NamedTuple):
    """A text that is made of values as the program runs, by `str.format` or by `%`."""

    text: str
    values: tuple[Value, ...] = ()
    by_percent: bool = False


def text_of(frame: Frame, node: cst.BaseExpression, evaluate: Evaluate) -> Text | None:
    """The text that an expression makes: a string, an f-string, `"..." % x`, `"...".format(x)`, `str(x)`, or a sum of
    those; None of any other expression."""

    def of(one: cst.BaseExpression) -> Value:
        return dereference(frame.env, materialise(frame.ctx, evaluate(frame, one)))

    match node:
        case cst.SimpleString():
            known = node.evaluated_value
            return Text(_braced(known)) if isinstance(known, str) else None
        case cst.Name():
            named = frame.env.get(node.value)
            return named.text if isinstance(named, Poison) else None
        case cst.FormattedString():
            held: list[Value] = []
            return Text("".join(_part(part, of, held) for part in node.parts), tuple(held))
        case cst.ConcatenatedString() | cst.BinaryOperation(operator=cst.Add()):
            left, right = (text_of(frame, one, evaluate) for one in (node.left, node.right))
            if left is None and right is None:
                return None
            left, right = left or _text(of(node.left)), right or _text(of(node.right))
            if left is None or right is None or left.by_percent or right.by_percent:
                return None
            return Text(left.text + right.text, left.values + right.values)
        case cst.BinaryOperation(operator=cst.Modulo(), left=cst.SimpleString() | cst.ConcatenatedString()):
            template = text_of(frame, node.left, evaluate)
            if template is None or template.values:
                return None
            given = of(node.right)
            values = given.items if is_tuple(given) else (given,)
            return Text(template.text.format(), tuple(values), by_percent=True)
        case cst.Call(func=cst.Attribute(value=cst.SimpleString() as own, attr=cst.Name("format"))):
            return _formatted(own.evaluated_value, node, of) if isinstance(own.evaluated_value, str) else None
        case cst.Call(func=cst.Name("str" | "repr") as name, args=[cst.Arg(keyword=None, star="")]):
            is_builtin = evaluate(frame, name) == Static({"str": str, "repr": repr}[name.value])
            held = []
            return Text(_hole(of(node.args[0].value), name.value[0], "", held), tuple(held)) if is_builtin else None
    return None


def named_text(frame: Frame, node: cst.Assign, evaluate: Evaluate) -> bool:
    """Whether a statement gives a name to a text that is made as the program runs; what is raised, printed or logged on
    this path may have it by that."""
    (target,) = (one.target for one in node.targets) if len(node.targets) == 1 else (None,)
    if not isinstance(target, cst.Name) or isinstance(node.value, cst.Name | cst.SimpleString):
        return False
    made = text_of(frame, node.value, evaluate)
    if made is None or all(isinstance(value, ir.Const | Static) for value in made.values):
        return False
    frame.store(target.value, dataclasses.replace(MADE_TEXT, text=made))
    return True


def _text(value: Value) -> Text | None:
    return Text(_braced(value.value)) if stands_for(value, str) else None


def _braced(text: str) -> str:
    """A text as `str.format` takes it."""
    return text.replace("{", "{{").replace("}", "}}")


def _hole(value: Value, conversion: str, spec: str, held: list[Value]) -> str:
    """What stands for a value in a text with formats; it is added to `held`."""
    if stands_for(value, str) and "{" not in spec:
        known = {"r": repr, "a": ascii}.get(conversion, str)(value.value)
        return _braced(format(known, spec))
    if isinstance(value, TupleValue) and not spec:
        inner = ", ".join(_hole(one, "r", "", held) for one in value.items)
        single = "," if len(value.items) == 1 and not value.is_list else ""
        return f"[{inner}]" if value.is_list else f"({inner}{single})"
    held.append(value)
    return "{" + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"


def literal_text(part: cst.FormattedStringText) -> str:
    """What an f-string has between its braces, without escapes."""
    text = cst.ensure_type(cst.parse_expression(f'''"""{part.value} """'''), cst.SimpleString).evaluated_value
    return str(text)[:-1].replace("{{", "{").replace("}}", "}")


def _part(part: cst.BaseFormattedStringContent, of: Callable[[cst.BaseExpression], Value], held: list[Value]) -> str:
    """A part of an f-string as `str.format` takes it; what stands in its braces is added to `held`."""
    if isinstance(part, cst.FormattedStringText):
        return _braced(literal_text(part))
    assert isinstance(part, cst.FormattedStringExpression)
    within: list[Value] = []
    value = of(part.expression)
    spec = "".join(_part(one, of, within) for one in part.format_spec or ())
    shown = cst.Module([]).code_for_node(part.expression) + "=" if part.equal is not None else ""
    conversion = part.conversion or ("r" if part.equal is not None and not spec else "")
    found = _braced(shown) + _hole(value, conversion, spec, held)
    held += within
    return found


def _formatted(text: str, node: cst.Call, of: Callable[[cst.BaseExpression], Value]) -> Text | None:
    """`text.format(...)`, the fields of which are taken in their order; None where they are parts of values."""
    if any(argument.star for argument in node.args):
        return None
    given: dict[str, Value] = {}
    for argument in node.args:
        key = str(len(given)) if argument.keyword is None else argument.keyword.value
        given[key] = of(argument.value)
    held: list[Value] = []
    pieces, count = "", 0
    for literal, name, spec, conversion in string.Formatter().parse(text):
        pieces += _braced(literal)
        if name is None:
            continue
        key = name or str(count)
        count += not name
        if key not in given or "{" in (spec or ""):
            return None
        pieces += _hole(given[key], conversion or "", spec or "", held)
    return Text(pieces, tuple(held))
