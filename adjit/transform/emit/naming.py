"""The names in emitted source: of variables, and of the modules and functions that the text refers to.

In: the groups of variables that share a name, and Python objects. Out: identifiers. A user's variable keeps its name;
what is left takes `name`, `name_2`, ...; a module or function gives way to a variable.

    a user's variable called np          np = ...; numpy.sin(np)
"""

from __future__ import annotations

import builtins
import cmath
import functools
import keyword
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import types

from adjit.runtime import vectormath
from adjit.runtime.library import workspace
from adjit.transform import ir
from adjit.transform.emit.shared_names import Classes, Group, chosen_name

_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
# Modules by their usual names, with spare ones for where those are variables of the user's.
_MODULES: dict[str, tuple[ModuleType, str]] = {
    "np": (np, "numpy"), "math": (math, "math_module"), "cmath": (cmath, "cmath_module"),
    "vectormath": (vectormath, "vectormath_module"), "workspace": (workspace, "adjit_workspace"),
}  # fmt: skip
_NAMESPACES: dict[str, Any] = {"math": math, "cmath": cmath, "np": np, "vectormath": vectormath} | {
    f"np.{name}": getattr(np, name) for name in ("linalg", "random", "fft")
}
# The names under which people know what NumPy has more than one name for.
_USUAL = {np.absolute: "np.abs", np.bool_: "np.bool_", np.divide: "np.divide"}
# A value that nobody named is called after the operation that made it; these read better than the operator's own name.
_PLAIN = {
    "add": "total", "sum": "total", "sub": "difference", "mul": "product", "truediv": "ratio", "floordiv": "quotient",
    "mod": "remainder", "pow": "power", "neg": "negated", "cast": "value", "select": "choice",
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne", "not_"), "test"),
}  # fmt: skip
# An integer is more often a place or a count than a sum.
_PLAIN_INTEGER = {"add": "index", "sub": "index", "mul": "count"}


def identifier(name: str) -> str:
    """`name`, or the nearest thing to it that Python takes for a name."""
    if name.isidentifier():
        return name + "_" if keyword.iskeyword(name) else name
    cleaned = re.sub(r"\W+", "_", name).strip("_")
    if not cleaned:
        return "value"
    return identifier("_" + cleaned if cleaned[0].isdigit() else cleaned)


@dataclass
class _Taken:
    """What bears a name so far."""

    members: int = 0
    clashes: int = 0
    types: set[ir.Type] = field(default_factory=set)
    takes_types: bool = True

    def admits(self, group: Group) -> bool:
        if group.clashes & self.members or self.clashes & group.members:
            return False
        return self.types <= {group.type} or (self.takes_types and _takes_types(group))

    def add(self, group: Group) -> None:
        self.members |= group.members
        self.clashes |= group.clashes
        self.types.add(group.type)
        self.takes_types &= _takes_types(group)


def _takes_types(group: Group) -> bool:
    """Whether a name may be one of another type elsewhere. numba gives each version of a user's variable its own type,
    where it sees which of them is read; ours keep to one."""
    return group.user is not None and not group.is_loose


def name_groups(classes: Classes, function: ir.Function) -> dict[Group, str]:
    """A name for each group: parameters first, then the user's variables, then the rest."""
    taken: dict[str, _Taken] = {}
    found: dict[Group, str] = {}
    # numba calls the versions of a variable x.1, x.2, and in parallel code that is x_1, x_2
    is_parallel = any(isinstance(op, ir.For) and op.parallel for op in ir.walk(function.body))
    mark = "n" if is_parallel else ""
    calls = [op.callee for op in ir.walk(function.body) if isinstance(op, ir.Call)]
    called = {own_name(callee) for callee in calls if _dotted(callee) is None}
    of_program = {callee.__name__ for callee in calls if isinstance(callee, ir.Subprogram)}
    reserved = _BUILTINS | set(_MODULES) | {spare for _, spare in _MODULES.values()} | {"prange", *called}
    for group in sorted(classes.all(), key=lambda g: (g.fixed is None, g.user is None, min(g.bits))):
        wanted = chosen_name(group)
        if group.user is None:
            plain = _PLAIN | _PLAIN_INTEGER if isinstance(group.type, types.Integer) else _PLAIN
            wanted = plain.get(wanted, wanted)
        if is_parallel and group.fixed is None:
            wanted = re.sub(r"_(\d+)$", r"_n\1", wanted)
        for name in ir.names_like(identifier(wanted), mark):
            if name in (reserved if group.user is None else of_program if group.fixed is None else ()):
                continue
            bearer = taken.get(name)
            if bearer is None:
                bearer = taken[name] = _Taken()
            elif not bearer.admits(group):
                continue
            bearer.add(group)
            found[group] = name
            break
    return found


def own_name(value: Any) -> str:
    """The name that a function goes by."""
    if isinstance(value, ir.External):
        return value.root
    return identifier(str(getattr(value, "__name__", "") or "constant").replace("<lambda>", "function"))


@functools.cache
def _paths() -> dict[int, str]:
    """What people write for the functions of NumPy and the math modules, by identity."""
    found: dict[int, str] = {}
    for prefix, namespace in _NAMESPACES.items():
        for name, value in sorted(vars(namespace).items()):
            if callable(value) and not name.startswith("_"):
                own = getattr(value, "__name__", "") == name
                if own or id(value) not in found:
                    found[id(value)] = f"{prefix}.{name}"
    found.update((id(value), path) for value, path in _USUAL.items())
    found.update((id(getattr(builtins, name)), name) for name in _BUILTINS)
    return found


def _dotted(value: Any) -> str | None:
    if getattr(value, "__module__", "") == "_operator":
        return f"operator.{value.__name__}"
    return _paths().get(id(value))


class Globals:
    """The names that the text refers to and does not assign; `found` maps them to their values. `others`: the names of
    texts that stand above, with what they are there."""

    def __init__(self, variables: Iterable[str], others: Mapping[str, Any] = MappingProxyType({})):
        self.found: dict[str, Any] = {}
        self._others = others
        self._variables = frozenset(variables)
        self._names: dict[int, str] = {}
        self._builtins: set[str] = set()

    def text(self, value: Any) -> str:
        """The expression for a function, a class or a frozen array."""
        if isinstance(value, ir.External):
            return value.name.replace(value.root, self._name(ir.external(value.module, value.root), value.root), 1)
        path = _dotted(value)
        if path is None:
            return self._name(value, own_name(value))
        root, dot, rest = path.partition(".")
        if not dot:
            return self.builtin(root)
        return f"{self.module(root)}.{rest}"

    def module(self, name: str) -> str:
        """The name of a module, given the usual one."""
        module, spare = (operator, name) if name == "operator" else _MODULES[name]
        return self._name(module, spare if name in self._variables else name)

    def builtin(self, name: str) -> str:
        """The name of one of Python's own functions, which needs an entry only where it must go by another name."""
        if name not in self._variables and self.found.get(name) is None:
            self._builtins.add(name)
            return name
        return self._name(getattr(builtins, name), name)

    def prange(self) -> str:
        return self._name(numba.prange, "prange")

    def objmode(self) -> str:
        return self._name(numba.objmode, "objmode")

    def function(self, function: Callable[..., Any]) -> str:
        """The name of a function of Python's own libraries."""
        name = function.__name__
        return self.builtin(name) if getattr(builtins, name, None) is function else self._name(function, name)

    def _name(self, value: Any, wanted: str) -> str:
        known = self._names.get(id(value))
        if known is None:
            used = (self._variables, self.found, self._builtins)
            known = next(
                name
                for name in ir.names_like(wanted)
                if not any(name in names for names in used) and self._others.get(name, value) is value
            )
            self._names[id(value)] = known
            self.found[known] = value
        return known
