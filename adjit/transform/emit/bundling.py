"""What a text names of adjit's modules, as text of its own: the statements that define it, and what those name.

In: modules and names. Out: imports of other packages' modules, and definitions, what is needed first. Modules are read,
not imported: those for a GPU could not be where there is none.

    adjit.cuda, "cover"      import math
                             def cover(*extents): ...        def _block(extents): ...        _MOST_HIGH = 65535
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import re
import symtable
from collections.abc import Iterator, Sequence
from pathlib import Path

import libcst

from adjit.errors import InternalError
from adjit.runtime.library.gpus import MODULE, PACKAGES

_OURS = "adjit"
# what is chosen when adjit is imported, and known by now
_IMPORTED = {("adjit.runtime.cuda.backend", "cuda"): f"from {MODULE} import cuda"}
_COMPILER = next((name for name, module in PACKAGES.items() if module == MODULE), "numba-cuda")
_KNOWN = {("adjit.runtime.library.gpus", "BACKEND"): f'BACKEND = "{_COMPILER}"'}


class Bundle:
    """definitions: by name; imports: lines."""

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}
        self.imports: set[str] = set()
        self._homes: dict[str, tuple[str, str]] = {}

    def add(self, module: str, name: str, called: str | None = None) -> None:
        """Defines what a module of adjit's has under a name; `called`: by another one."""
        called = called or name
        home = _home(module, name)
        if self._homes.setdefault(called, home) != home:
            raise InternalError(f"two objects of adjit are called {called}: {self._homes[called]} and {home}")
        if home in _IMPORTED:
            self.imports.add(_IMPORTED[home])
            return
        if called != home[1]:
            self.add(*home)
            self.definitions[called] = f"{called} = {home[1]}"
            return
        if home in _KNOWN:
            self.definitions[called] = _KNOWN[home]
            return
        found = _read(home[0])
        if home[1] in found.imports:
            self._imported(found, home[1], called)
            return
        statement = found.statements[home[1]]
        own = [bound for bound in _bound(statement) if bound in found.statements]
        if called in self.definitions:
            return
        # that it is begun: what it names may name it
        self.definitions.update(dict.fromkeys(own, ""))
        code = found.text(statement)
        for used in _named(code):
            if used in own or hasattr(builtins, used) or self._homes.get(used) == (home[0], used):
                continue
            if used in found.statements:
                self.add(home[0], used)
            elif used in found.imports:
                self._imported(found, used, used)
        for bound in own:
            self._homes.setdefault(bound, (home[0], bound))
            del self.definitions[bound]
        self.definitions[own[0]] = code
        self.definitions.update(dict.fromkeys(own[1:], ""))

    def _imported(self, module: _Module, name: str, called: str) -> None:
        package, own = module.imports[name]
        if package.partition(".")[0] == _OURS:
            self.add(package, own, called)
        elif own:
            self.imports.add(f"from {package} import {own}" + (f" as {called}" if called != own else ""))
        else:
            renamed = called != package.partition(".")[0]
            self.imports.add(f"import {package}" + (f" as {called}" if renamed else ""))

    def apart_from(self, taken: Sequence[str]) -> dict[str, str]:
        """The definitions, with other names for those that something else has."""
        found = dict(self.definitions)
        for name in [name for name in found if name in taken]:
            # not of attributes, and not the keywords of calls, which stand without spaces
            named = re.compile(rf"(?<![\w.]){name}(?!\w)(?!=(?!=))")
            renamed = f"{_OURS}_{name}"
            found = {renamed if own == name else own: named.sub(renamed, text) for own, text in found.items()}
        return found


class _Module:
    """The statements of a module that define something, by name, and what its imports bring."""

    def __init__(self, name: str) -> None:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        self.tree = libcst.parse_module(Path(spec.origin).read_text("utf-8"))
        self.statements: dict[str, libcst.CSTNode] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        for statement in self.tree.body:
            for small in getattr(statement, "body", ()) if isinstance(statement, libcst.SimpleStatementLine) else ():
                if isinstance(small, libcst.Import | libcst.ImportFrom):
                    self._bring(small)
            self.statements.update(dict.fromkeys(_bound(statement), statement))

    def _bring(self, statement: libcst.Import | libcst.ImportFrom) -> None:
        if isinstance(statement.names, libcst.ImportStar):
            raise InternalError("a module of adjit imports everything of another one")
        for alias in statement.names:
            own = self.tree.code_for_node(alias.name)
            name = alias.asname.name.value if alias.asname else own  # type: ignore[union-attr]
            if isinstance(statement, libcst.ImportFrom):
                assert statement.module is not None
                self.imports[name] = (self.tree.code_for_node(statement.module), own)
            else:
                self.imports[name.partition(".")[0]] = (own, "")

    def text(self, statement: libcst.CSTNode) -> str:
        """A statement without types."""
        bare = statement.visit(Untyped())
        assert isinstance(bare, libcst.CSTNode)
        code = self.tree.code_for_node(bare)
        return re.sub(r"  # type: ignore\[[\w, -]+\]", "", code).strip("\n")


@functools.cache
def _read(module: str) -> _Module:
    return _Module(module)


def _home(module: str, name: str) -> tuple[str, str]:
    """The module that defines a name, where another one has it from there when it is asked for."""
    late = getattr(importlib.import_module(module), "_MODULES", {}) if module == "adjit.cuda" else {}
    module = late.get(name, module)
    found = _read(module)
    if name not in found.statements and name in found.imports and found.imports[name][0].startswith(_OURS):
        return _home(*found.imports[name])
    return module, name


def _bound(statement: libcst.CSTNode) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, libcst.FunctionDef | libcst.ClassDef):
        return [statement.name.value]
    if isinstance(statement, libcst.If):
        sides = [*statement.body.body, *(statement.orelse.body.body if statement.orelse else ())]
        return list(dict.fromkeys(name for side in sides for name in _bound(side)))
    found: list[str] = []
    for small in statement.body if isinstance(statement, libcst.SimpleStatementLine) else ():
        targets: list[libcst.BaseExpression] = []
        if isinstance(small, libcst.Assign):
            targets = [target.target for target in small.targets]
        elif isinstance(small, libcst.AnnAssign) and small.value is not None:
            targets = [small.target]
        for target in targets:
            parts = [e.value for e in target.elements] if isinstance(target, libcst.Tuple) else [target]
            found += [part.value for part in parts if isinstance(part, libcst.Name)]
    return found


def _named(code: str) -> list[str]:
    """The names that a statement takes from its module, or from Python."""

    def of(table: symtable.SymbolTable, is_top: bool) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_global() or (is_top and symbol.is_referenced()):
                yield symbol.get_name()
        for inner in table.get_children():
            yield from of(inner, False)

    return list(dict.fromkeys(of(symtable.symtable(code, "<bundled>", "exec"), True)))


_NO_SPACE = libcst.SimpleWhitespace("")


class Untyped(libcst.CSTTransformer):
    """Statements without types, but for the fields of classes, which are written at theirs."""

    def __init__(self) -> None:
        self._around: list[type[libcst.CSTNode]] = [libcst.Module]

    def visit_ClassDef(self, node: libcst.ClassDef) -> None:
        self._around.append(libcst.ClassDef)

    def leave_ClassDef(self, original_node: libcst.ClassDef, updated_node: libcst.ClassDef) -> libcst.ClassDef:
        self._around.pop()
        return updated_node

    def visit_FunctionDef(self, node: libcst.FunctionDef) -> None:
        self._around.append(libcst.FunctionDef)

    def leave_FunctionDef(
        self, original_node: libcst.FunctionDef, updated_node: libcst.FunctionDef
    ) -> libcst.FunctionDef:
        self._around.pop()
        return updated_node.with_changes(returns=None)

    def leave_Param(self, original_node: libcst.Param, updated_node: libcst.Param) -> libcst.Param:
        if updated_node.annotation is None or updated_node.default is None:
            return updated_node.with_changes(annotation=None)
        equal = libcst.AssignEqual(whitespace_before=_NO_SPACE, whitespace_after=_NO_SPACE)
        return updated_node.with_changes(annotation=None, equal=equal)

    def leave_AnnAssign(
        self, original_node: libcst.AnnAssign, updated_node: libcst.AnnAssign
    ) -> libcst.Assign | libcst.AnnAssign:
        if updated_node.value is None or self._around[-1] is libcst.ClassDef:
            return updated_node
        return libcst.Assign([libcst.AssignTarget(updated_node.target)], updated_node.value)
