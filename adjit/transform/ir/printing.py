"""The intermediate representation as text, for people and for tests.

In: a function, or a part of one. Out: text in which each variable has a name of its own; equal functions give equal
text.

    func square(x = %x:float64) -> 0 {
      %y:float64 = call mul(%x, %x)
      yield %y
    }
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

import numpy as np

from adjit.transform import ir

# Operations that are printed as their fields, in order.
_FORMS: dict[type[ir.Op], str] = {
    ir.Undefined: "undefined",
    ir.Copy: "copy {source}",
    ir.Extent: "extent {array}, {axis}",
    ir.Load: "load {array}[{index}]",
    ir.AddProduct: "{callee} {target}, {left}, {right}",
    ir.OfRows: "{callee} of rows {target}, {source}, {less}",
    ir.Slice: "slice {base}[{selectors}]",
    ir.Transpose: "transpose {base}, {axes}",
    ir.Reshape: "reshape {base}, ({shape})",
    ir.NewTape: "tape",
    ir.Push: "push {tape}[{index}] = {value}",
    ir.Pull: "pull {tape}[{index}]",
    ir.If: "if {condition}",
    ir.Comment: "# {text}",
}


def to_text(function: ir.Function) -> str:
    """The whole function."""
    printer = _Printer()
    params = ", ".join(
        f"{name} = {_tree(ir.map_tree(printer.definition, tree))}"
        for name, tree in zip(function.names, function.params, strict=True)
    )
    return printer.text(f"func {function.name}({params}) -> {_tree(function.result)}", function.body)


def region_text(region: ir.Region) -> str:
    """A region by itself; what it reads from outside keeps its name."""
    printer = _Printer()
    return printer.text(f"({printer.definitions(region.args)})", region)


def op_text(op: ir.Op) -> str:
    """An operation by itself, without its regions."""
    return _Printer().head(op)


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[ir.Var, str] = {}
        self._taken: dict[str, int] = {}
        self._depth = 0
        self._shown: tuple[str, int] | None = None

    def text(self, head: str, region: ir.Region) -> str:
        self.line(f"{head} {{")
        self.block(region)
        self.line("}")
        return "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def name(self, var: ir.Var) -> str:
        """The n-th variable called x is %x.n, in the order of printing; the first is %x."""
        if var not in self._names:
            count = self._taken.get(var.name, 0)
            self._taken[var.name] = count + 1
            self._names[var] = f"%{var.name}.{count}" if count else f"%{var.name}"
        return self._names[var]

    def operand(self, operand: Any) -> str:
        if isinstance(operand, ir.Var):
            return self.name(operand)
        if isinstance(operand, ir.Const) and isinstance(operand.value, np.ndarray):
            return f"constant {operand.type}"
        return repr(operand)

    def operands(self, operands: Iterable[Any]) -> str:
        return ", ".join(self.operand(o) for o in operands)

    def definition(self, var: ir.Var) -> str:
        return f"{self.name(var)}:{var.type}"

    def definitions(self, variables: Iterable[ir.Var]) -> str:
        return ", ".join(self.definition(v) for v in variables)

    def block(self, region: ir.Region) -> None:
        self._depth += 1
        for op in region.ops:
            self.op(op)
        if region.yields:
            self.line(f"yield {self.operands(region.yields)}")
        self._depth -= 1

    def op(self, op: ir.Op) -> None:
        origin = op.origin
        if origin is not None and (origin.filename, origin.line) != self._shown:
            self._shown = (origin.filename, origin.line)
            lines = origin.text.splitlines() or [""]
            self.line(f"# L{origin.line}: {lines[0]}")
        if not op.regions:
            self.line(self.head(op))
            return
        self.line(self.head(op) + " {")
        first, *others = op.regions
        self.block(first)
        for other in others:
            if isinstance(op, ir.While):
                self.line(f"}} do ({self.definitions(other.args)}) {{")
            elif other.ops or other.yields:
                self.line("} else {")
            self.block(other)
        self.line("}")

    def head(self, op: ir.Op) -> str:
        """The operation on one line, without its regions."""
        # what is read is named before what is defined, as it comes first in the program
        text = self._action(op)
        return f"{self.definitions(op.results)} = {text}" if op.results else text

    def _action(self, op: ir.Op) -> str:
        form = _FORMS.get(type(op))
        if form is not None:
            names = [name for _, name, _, _ in string.Formatter().parse(form) if name is not None]
            return form.format_map({name: self._field(getattr(op, name)) for name in names})
        match op:
            case ir.Call():
                options = [f"{key}={value!r}" for key, value in op.options]
                effect = " effect" if op.effect else ""
                return f"call{effect} {callee_name(op.callee)}({', '.join([*map(self.operand, op.args), *options])})"
            case ir.Alloc():
                shape = f"({self.operands(op.shape)})" if op.like is None else f"like {self.operand(op.like)}"
                return f"alloc {shape}" + ("" if op.fill is None else f" fill {self.operand(op.fill)}")
            case ir.Store():
                sign = ("atomic " if op.atomic else "") + ("+=" if op.add else f"{op.extreme}=")
                return f"store {self.operand(op.array)}[{self.operands(op.index)}] {sign} {self.operand(op.value)}"
            case ir.For():
                flags = [flag for flag in ("stops", "order_free", "parallel") if getattr(op, flag)]
                bounds = f"({self.operands((op.start, op.stop, op.step))})"
                counters = self.definitions(op.body.args[:1])
                carrying = self._carrying(op.body.args[1:], op.inits)
                level = [] if op.level is None else [f"over {op.level}"]
                return " ".join([f"for {counters} in {bounds}", *level, *carrying, *flags])
            case ir.While():
                flags = ["stops"] if op.stops else []
                return " ".join(["while", *self._carrying(op.test.args, op.inits), *flags])
            case ir.Barrier():
                return "barrier"
            case ir.Launch():
                return f"launch {op.kernel.name}[{self.operand(op.shape)}]({self.operands(op.args)})"
            case ir.Raise():
                unless = "" if op.condition is None else f" unless {self.operand(op.condition)}"
                values = iter(op.values)
                args = (
                    a.written([self.operand(next(values)) for _ in range(a.count)])
                    if isinstance(a, ir.Made)
                    else self.operand(a)
                    for a in op.args
                )
                return f"raise {op.exception.__name__}({', '.join(args)}){unless}"
            case _:
                raise NotImplementedError(type(op).__name__)

    def _field(self, value: Any) -> str:
        """What a field holds: an operand, several, the selectors of a view, or what is no operand."""
        if isinstance(value, ir.At | ir.Span | ir.NewAxis):
            return self._selector(value)
        if isinstance(value, tuple) and not any(isinstance(part, int) for part in value):
            return ", ".join(map(self._field, value))
        return self.operand(value) if isinstance(value, ir.Var | ir.Const) else str(value)

    def _carrying(self, args: tuple[ir.Var, ...], inits: tuple[ir.Operand, ...]) -> list[str]:
        starts = self.operands(inits)
        return [f"carrying ({self.definitions(args)}) = ({starts})"] if args else []

    def _selector(self, selector: ir.Selector) -> str:
        if isinstance(selector, ir.At):
            return self.operand(selector.index)
        if isinstance(selector, ir.NewAxis):
            return "newaxis"
        ends = ["" if e is None else self.operand(e) for e in (selector.start, selector.stop, selector.step)]
        return ":".join(ends if ends[2] else ends[:2])


def callee_name(callee: Any) -> str:
    """The callee's name with the module that people know it by; those of `operator` and of Python itself go bare."""
    name = getattr(callee, "__name__", type(callee).__name__)
    module = "numpy" if isinstance(callee, np.ufunc) else getattr(callee, "__module__", None) or ""
    if module in ("operator", "_operator", "builtins", "") or module.startswith("adjit."):
        return str(name)
    return f"{module.replace('numpy', 'np', 1)}.{name}"


def _tree(tree: Any) -> str:
    if isinstance(tree, tuple):
        return f"({', '.join(_tree(part) for part in tree)}{',' if len(tree) == 1 else ''})"
    return str(tree)
