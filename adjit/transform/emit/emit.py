"""From the intermediate representation to Python source that people read, numba compiles and plain Python runs.

In: a function. Out: `Emitted`: the text of one `def`, and the values of the names that the text refers to.

    %s1 = for %i in (0, %n, 1) carrying %s0 = (0.0,) {     def total(u):
      %e = load %u[%i]                                         s = 0.0
      %s2 = call add(%s0, %e)                                  for i in range(u.size):
      yield %s2 }                                                  s += u[i]
    return %s1                                                 return s
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from adjit.transform import ir
from adjit.transform.emit.expression import Expressions
from adjit.transform.emit.folding import Folding
from adjit.transform.emit.lines import INDENT, Layout
from adjit.transform.emit.naming import Globals, identifier, name_groups
from adjit.transform.emit.placed_comments import commented
from adjit.transform.emit.shared_names import Classes, Group
from adjit.transform.emit.statement_form import Program, program
from adjit.transform.emit.workspace_arrays import temporaries
from adjit.transform.emit.wrapping import WIDTH, wrapped

_IMPORTED = re.compile(r"(?:import|from) (\w+)")


@dataclass(frozen=True)
class Emitted:
    """`text` is one `def` of the name `name`; `globals` maps the names that it refers to, to their values."""

    name: str
    text: str
    globals: Mapping[str, Any]

    @property
    def module_text(self) -> str:
        """The text under the imports that it needs, to be saved as a module.

        A global that no module has under its own name is mentioned in a comment; frozen arrays are written out.
        """
        lines = _joined({_import(name, value) for name, value in self.globals.items()})
        if any(isinstance(value, np.ndarray) for value in self.globals.values()):
            lines.add("import numpy as np")
        sections = [[line for line in lines if _section(line) == k] for k in range(4)]
        head = "\n\n".join("\n".join(sorted(part, key=_import_order)) for part in sections if part)
        return f"{head}\n\n\n{self.text}" if head else self.text


def emit(function: ir.Function, header: str = "") -> Emitted:
    """The source of `function`; `header` is a comment to stand above it."""
    folding, lowered, classes, names = _lowered(function)
    cache: dict[ir.Var, str] = {}

    def name_of(var: ir.Var) -> str:
        found = cache.get(var)
        if found is None:
            found = cache[var] = names[classes.group(var)]
        return found

    found = Globals([*names.values(), identifier(function.name)])
    layout = Layout(function, classes, folding, Expressions(name_of, folding, found, temporaries(function)))
    layout.block(lowered.body, INDENT)
    name = identifier(function.name)
    parameters = ", ".join(name_of(parameter) for parameter in lowered.parameters)
    head = f"def {name}({parameters}):"
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    lines += [head] if len(head) <= WIDTH else wrapped(f"def {name}", f"({parameters})", ":", "")
    lines += _docstring(function.doc)
    lines += commented(function, layout.lines, layout.marks, layout.end)
    if not any(line.strip() and not line.lstrip().startswith("#") for line in layout.lines) and not function.doc:
        lines.append(f"{INDENT}pass")
    return Emitted(name, "\n".join(lines) + "\n", found.found)


def variable_names(function: ir.Function) -> Callable[[ir.Var], str]:
    """The names that variables have in the source of `function`; those that have none there keep their own."""
    folding, _, classes, names = _lowered(function)
    known = function.body.defines - folding.folded.keys()
    return lambda var: names.get(classes.group(var), var.name) if var in known else var.name


def _lowered(function: ir.Function) -> tuple[Folding, Program, Classes, dict[Group, str]]:
    folding = Folding(function)
    lowered = program(function, folding)
    classes = Classes(function, lowered, folding)
    return folding, lowered, classes, name_groups(classes, function)


def _docstring(doc: str) -> list[str]:
    if not doc:
        return []
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    first, *rest = text.splitlines()
    if rest:
        return [f'{INDENT}"""{first}', *(f"{INDENT}{line}".rstrip() for line in rest), f'{INDENT}"""']
    return [f'{INDENT}"""{first}{" " if first.endswith(chr(34)) else ""}"""']


def _import(name: str, value: Any) -> str:
    """The line that gives `name` its value in a module."""
    if isinstance(value, ModuleType):
        package, _, last = value.__name__.rpartition(".")
        if package and last == name:
            return f"from {package} import {name}"
        return f"import {value.__name__}" + ("" if name == value.__name__ else f" as {name}")
    if isinstance(value, np.ndarray):
        return f"{name} = {_array(value)}"
    own = str(getattr(value, "__name__", ""))
    if getattr(builtins, own, None) is value:
        return f"{name} = {own}"
    module = _home(own, value)
    if module is None:
        origin = f"{getattr(value, '__module__', None)}.{own or type(value).__name__}"
        return f"# {name} is {origin}, which cannot be imported"
    return f"from {module} import {own}" + ("" if name == own else f" as {name}")


def _joined(lines: set[str]) -> set[str]:
    """What is imported from one module, in one line."""
    names: dict[str, list[str]] = {}
    others = set()
    for line in lines:
        if line.startswith("from "):
            module, _, name = line.partition(" import ")
            names.setdefault(module, []).append(name)
        else:
            others.add(line)
    return others | {f"{module} import {', '.join(sorted(found))}" for module, found in names.items()}


def _home(own: str, value: Any) -> str | None:
    """A module that has `value` under its own name."""
    for module in ("adjit.runtime.library", getattr(value, "__module__", None), "numba", "scipy.special"):
        found = sys.modules.get(module) if module else None
        if module != "__main__" and getattr(found, own, None) is value:
            return module
    return None


def _array(value: np.ndarray[Any, Any]) -> str:
    elements = re.sub(r"\b(inf|nan)\b", r"np.\1", repr(value.tolist()))
    shape = f".reshape({value.shape})" if value.size == 0 else ""
    return f"np.array({elements}, dtype=np.{value.dtype.name}){shape}"


def _section(line: str) -> int:
    """Which paragraph of a module's head a line belongs to: Python's own modules, others, adjit's, and no imports."""
    found = _IMPORTED.match(line)
    if found is None:
        return 3
    root = found.group(1)
    return 0 if root in sys.stdlib_module_names else 2 if root == "adjit" else 1


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line
