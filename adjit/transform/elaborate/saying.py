"""`print`, `warnings.warn`, `logging` and loggers: said in the forward sweep, once, and not differentiated.

In: the call as it is written. Out: an effect; texts with formats keep their formats.

    print("step", k, f"loss {loss:.3f}")        the same line in the forward sweep
    log.debug("loss %s", loss)                  logging.getLogger("solver").debug("loss %s", loss)

What is asked of a logger, as `log.isEnabledFor(10)`, is known while compiling.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import libcst as cst

from adjit.transform import ir
from adjit.transform.elaborate.values.elementwise import materialise
from adjit.transform.elaborate.values.frame import Frame
from adjit.transform.elaborate.values.values import Static, TupleValue, Value, described, is_array, is_number, seen

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
    if not is_native and ctx.in_prange:
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
        if not isinstance(node, cst.FormattedString):
            self.value(materialise(self.frame.ctx, self.evaluate(self.frame, node)))
            return
        # numba takes no f-string with formats, not even where the interpreter runs it
        self.is_formatted = True
        held: list[Value] = []
        template = "".join(self.part(part, held) for part in node.parts)
        self.text(ir.quoted(template) + ".format(")
        for k, value in enumerate(held):
            self.text(", " if k else "")
            self.value(value)
        self.text(")")

    def value(self, value: Value) -> None:
        value = seen(self.frame.env, value)
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
        elif isinstance(value, Static) and isinstance(value.value, type) and issubclass(value.value, Warning):
            self.text(value.value.__name__)
        elif is_number(value) or is_array(value):
            assert isinstance(value, ir.Var | ir.Const)
            self.operands.append(value)
            self.pieces.append("")
        else:
            raise self.frame.ctx.unsupported(f"{described(value)} in a message that is printed", "Print its contents.")

    def part(self, part: cst.BaseFormattedStringContent, held: list[Value]) -> str:
        """A part of an f-string as `str.format` takes it; what stands in its braces is added to `held`."""
        if isinstance(part, cst.FormattedStringText):
            text = cst.ensure_type(cst.parse_expression(f'''"""{part.value} """'''), cst.SimpleString).evaluated_value
            return str(text)[:-1]
        assert isinstance(part, cst.FormattedStringExpression)
        held.append(seen(self.frame.env, materialise(self.frame.ctx, self.evaluate(self.frame, part.expression))))
        conversion = f"!{part.conversion}" if part.conversion else ""
        spec = "".join(self.part(one, held) for one in part.format_spec or ())
        return "{" + conversion + (f":{spec}" if spec else "") + "}"
