"""Emitted text as a module of its own: its imports, the functions of adjit's that it calls, its frozen arrays.

In: `Emitted`. Out: the text of a module that needs NumPy and numba alone; SciPy, where it calls special functions; and
adjit, where its temporaries or its elementary functions are adjit's.

    module_text(emitted)      import numpy as np ... def same_extent(left, right): ... def energy_grad(x): ...
"""

from __future__ import annotations

import builtins
import inspect
import json
import re
import string
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import libcst
import numpy as np
from numba import njit, objmode
from numba.extending import is_jitted

from adjit.errors import AdjitError, with_cells
from adjit.transform import ir
from adjit.transform.emit import special
from adjit.transform.emit.bundling import Bundle, Untyped
from adjit.transform.emit.emit import Emitted
from adjit.transform.emit.wrapping import INDENT, WIDTH

_NEEDS_ADJIT = "# Tuned code: it needs adjit for its workspaces and elementary functions."
_NEEDS_SCIPY = "# It needs SciPy for its special functions."


def module_text(
    emitted: Emitted, decorator: str = "", is_tuned: bool = False, needs: str = _NEEDS_ADJIT, is_bundled: bool = False
) -> str:
    """The text under all that it needs, to be saved as a module; ends like `@njit(nogil=True)\\ndef energy_grad(x):`.

    A global that no module has under its own name is mentioned in a comment; frozen arrays are written out, and so
    are adjit's own functions unless the text is tuned. Then the first line says that it needs adjit. `is_bundled`:
    what it names of adjit's modules that are imported when it runs is written out, too.
    """
    head = _Head(emitted, is_tuned and not is_bundled, is_compiled=bool(decorator), is_bundled=is_bundled)
    if decorator:
        head.add("njit", njit)
    paragraphs = head.paragraphs()
    first = (
        needs if paragraphs[2] or is_bundled else "",
        _NEEDS_SCIPY if head.calls_special else "",
        *sorted(head.needs),
    )
    parts = [
        "\n".join(filter(None, (*first, "\n\n".join(filter(None, paragraphs))))),
        *_together(head.definitions.values()),
        *(_decorated(each.text, decorator).rstrip() for each in emitted.routines),
        "\n".join(head.aliases),
        _decorated(emitted.text, decorator),
    ]
    return "\n\n\n".join(part for part in parts if part)


def _decorated(text: str, decorator: str) -> str:
    return f"{decorator}\n{_as_numba_raises(text) if decorator else text}".lstrip()


def _together(definitions: Iterable[str]) -> list[str]:
    """Definitions, with such as are lines that follow each other in one."""
    found: list[str] = []
    for text in filter(None, definitions):
        is_line = not text.startswith(("def ", "class ", "@", "if "))
        if is_line and found and not found[-1].startswith(("def ", "class ", "@", "if ")):
            found[-1] += f"\n{text}"
        else:
            found.append(text)
    return found


def not_importable(emitted: Emitted) -> list[str]:
    """The names of what the text refers to and no module has, with where that is defined."""
    head = _Head(emitted, is_tuned=True)
    return sorted(line.removeprefix("# ") for line in head.constants.values() if line.startswith("#"))


class _Head:
    """What stands above a function.

    `imports`: by how the line begins, what it imports. `definitions`: by name, what is needed first.
    """

    def __init__(self, emitted: Emitted, is_tuned: bool, is_compiled: bool = False, is_bundled: bool = False) -> None:
        self.is_tuned, self.is_compiled = is_tuned, is_compiled
        self.bundle = Bundle() if is_bundled else None
        self.calls_special = False
        self.needs: set[str] = set()  # what is to be said of the modules that it imports
        self.imports: dict[str, set[str]] = {}
        self.constants: dict[str, str] = {}
        self.definitions: dict[str, str] = {}
        self.aliases: list[str] = []
        self._begun: set[str] = set()  # a function may call itself
        for name, value in emitted.names.items():
            self.add(name, value)
        if self.bundle is not None:
            self._take(self.bundle, emitted)

    def _take(self, bundle: Bundle, emitted: Emitted) -> None:
        """Takes up what is bundled."""
        own = re.findall(r"^def (\w+)", emitted.text, re.M)
        definitions = bundle.apart_from([*own, *self.constants, *self.definitions])
        for line in bundle.imports:
            begins, _, names = line.partition(" import ")
            self.imports.setdefault(f"{begins} import " if names else line, set()).update([names] if names else [])
        self.definitions.update(definitions)

    def add(self, name: str, value: Any) -> None:
        """Gives `name` its value in the module."""
        if isinstance(value, ir.Subprogram):
            # whose text stands there, under a name that a parameter may have taken
            if name != value.__name__:
                self.aliases.append(f"{name} = {value.__name__}")
        elif isinstance(value, ir.External) and self.bundle is not None and _is_module_of_ours(value.module):
            self.bundle.add(value.module, value.root, name)
        elif isinstance(value, ir.External):
            self.imports.setdefault(f"from {value.module} import ", set()).add(_renamed(value.root, name))
        elif value is objmode:
            # an object, which does not say where it is from
            self.imports.setdefault("from numba import ", set()).add(_renamed("objmode", name))
        elif isinstance(value, np.ndarray):
            self._import("np", np)
            self.constants[name] = f"{name} = {_array(value)}"
        elif isinstance(value, str):
            self.constants[name] = f"{name} = {json.dumps(value)}"
        elif isinstance(value, int | float | tuple):
            self.constants[name] = _constant(name, value)
        elif not self.is_tuned and _is_ours(value):
            own = value.__name__
            if own not in self._begun:
                self._begun.add(own)
                self.definitions[own] = self._definition(value)
            if name != own:
                self.definitions[name] = f"{name} = {own}"
        elif self.is_compiled and special.is_special(value):
            # numba does not know of SciPy's functions by itself
            self.calls_special = True
            self._import("np", np)
            for begins, names in special.imports(value).items():
                self.imports.setdefault(begins, set()).update(names)
            self.definitions[name] = special.definition(name, value)
        else:
            self._import(name, value)

    def _import(self, name: str, value: Any) -> None:
        """Has `name` imported, or says why it is not."""
        own = str(getattr(value, "__name__", ""))
        package, _, last = own.rpartition(".")
        module = package if isinstance(value, ModuleType) else _home(own, value)
        if isinstance(value, ModuleType) and not (package and last == name):
            self.imports[f"import {_renamed(own, name)}"] = set()
        elif getattr(builtins, own, None) is value:
            self.constants[name] = f"{name} = {own}"
        elif module is not None:
            if _imports_us(module):
                self.needs.add(f"# It needs {module}, which imports adjit.")
            self.imports.setdefault(f"from {module} import ", set()).add(_renamed(last, name))
        else:
            origin = f"{getattr(value, '__module__', None)}.{own or type(value).__name__}"
            self.constants[name] = f"# {name} is {origin}, which cannot be imported"

    def _definition(self, value: Any) -> str:
        """The text of a function or an error of ours, after what it needs was added."""
        if isinstance(value, type) and "__init__" in vars(value):
            return libcst.parse_module(inspect.getsource(value)).visit(Untyped()).visit(_WithoutCells()).code.strip()
        if isinstance(value, type):
            base = value.__bases__[0]
            own = base.__name__ if base is not AdjitError else "Exception"
            if base is not AdjitError:
                self.add(own, base)
            return f'class {value.__name__}({own}):\n    """{_documented(value)}"""'
        function = value.py_func if is_jitted(value) else value
        for used in (*function.__code__.co_names, *function.__code__.co_freevars):
            if used in function.__globals__:
                self.add(used, function.__globals__[used])
        self.add("njit", njit)
        return libcst.parse_module(inspect.getsource(function)).visit(_Bare()).code.strip()

    def paragraphs(self) -> list[str]:
        """What comes first: imports of Python's own modules, of others, of adjit's; what is no import."""
        found: list[list[str]] = [[], [], [], sorted(self.constants.values())]
        # `import ...` before `from ...`
        for begins in sorted(self.imports, key=lambda line: (line.startswith("from "), line)):
            root = begins.split()[1].partition(".")[0]
            section = 0 if root in sys.stdlib_module_names else 2 if root == "adjit" else 1
            found[section].append(begins + ", ".join(sorted(self.imports[begins])))
        return ["\n".join(lines) for lines in found]


def _as_numba_raises(text: str) -> str:
    """The text with exceptions that say what is known before it runs, as numba puts no numbers into texts."""
    if "raise " not in text:
        return text
    return libcst.parse_module(text).visit(_AsWritten()).code


class _AsWritten(libcst.CSTTransformer):
    """Texts that exceptions make of values as they are written: `"no root in {}".format(x)` says `no root in <x>`."""

    def leave_Raise(self, original_node: libcst.Raise, updated_node: libcst.Raise) -> libcst.Raise:
        call = updated_node.exc
        if not isinstance(call, libcst.Call):
            return updated_node
        args = [argument.with_changes(value=_said(argument.value)) for argument in call.args]
        return updated_node.with_changes(exc=call.with_changes(args=args))


def _said(node: libcst.BaseExpression) -> libcst.BaseExpression:
    code = libcst.Module([]).code_for_node
    match node:
        case libcst.SimpleString() | libcst.Integer() | libcst.Float() | libcst.UnaryOperation():
            return node
        case libcst.Call(func=libcst.Attribute(value=libcst.SimpleString() as own, attr=libcst.Name("format"))):
            values = iter(node.args)
            fields = string.Formatter().parse(str(own.evaluated_value))
            text = "".join(f + ("" if name is None else f"<{code(next(values).value)}>") for f, name, _, _ in fields)
            return libcst.SimpleString(ir.quoted(text))
    return libcst.SimpleString(ir.quoted(f"<{code(node)}>"))


class _WithoutCells(libcst.CSTTransformer):
    """Messages that do not look for the cells of a notebook, which a saved module is not part of."""

    def leave_Call(self, original_node: libcst.Call, updated_node: libcst.Call) -> libcst.BaseExpression:
        is_of_cells = isinstance(updated_node.func, libcst.Name) and updated_node.func.value == with_cells.__name__
        return updated_node.args[0].value if is_of_cells else updated_node


class _Bare(libcst.CSTTransformer):
    """A function under numba's decorator alone, without types."""

    def leave_FunctionDef(
        self, original_node: libcst.FunctionDef, updated_node: libcst.FunctionDef
    ) -> libcst.FunctionDef:
        return updated_node.with_changes(decorators=[libcst.Decorator(libcst.Name("njit"))], returns=None)

    def leave_Param(self, original_node: libcst.Param, updated_node: libcst.Param) -> libcst.Param:
        return updated_node.with_changes(annotation=None)


def _documented(value: Any) -> str:
    """What a class says of itself, with its margin."""
    return str(inspect.getdoc(value)).replace("\n", f"\n{INDENT}")


def _is_ours(value: Any) -> bool:
    return not isinstance(value, ModuleType) and str(getattr(value, "__module__", "")).partition(".")[0] == "adjit"


def _is_module_of_ours(module: str) -> bool:
    return module.partition(".")[0] == "adjit"


def _constant(name: str, value: Any) -> str:
    """A number, or a tuple of numbers."""
    line = f"{name} = {value!r}"
    if len(line) <= WIDTH:
        return line
    return "\n".join((f"{name} = (", *(f"{INDENT}{number!r}," for number in value), ")"))


def _renamed(own: str, name: str) -> str:
    return own if name == own else f"{own} as {name}"


def _home(own: str, value: Any) -> str | None:
    """A module that has `value` under its own name."""
    for module in ("adjit.runtime.library", "numba", "scipy.special", getattr(value, "__module__", None)):
        found = sys.modules.get(module) if module else None
        if module != "__main__" and getattr(found, own, None) is value:
            return module
    return None


def _imports_us(module: str) -> bool:
    """Whether it is a module of the user's that has something of ours in it."""
    if module.partition(".")[0] == "adjit":
        return False
    values = list(vars(sys.modules[module]).values())
    names = (str(getattr(v, "__name__" if isinstance(v, ModuleType) else "__module__", "")) for v in values)
    return any(name.partition(".")[0] == "adjit" for name in names)


def _array(value: np.ndarray[Any, Any]) -> str:
    elements = re.sub(r"\b(inf|nan)\b", r"np.\1", repr(value.tolist()))
    shape = f".reshape({value.shape})" if value.size == 0 else ""
    return f"np.array({elements}, dtype=np.{value.dtype.name}){shape}"
