"""A call for every rule there is, from the examples that the tests of the rules have: a new rule is written, too.

    calls()     (Call("np.interp(<x>, <xp>, <fp>)", ...), ...)

An example is a lambda and a way to sample its arguments; its text, with other names, is a line of a program, and the
sampled arguments are arguments of the program.
"""

from __future__ import annotations

import ast
import functools
import math
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from tests.rules import rows, table


@dataclass(frozen=True)
class Call:
    """`text` is an expression of `names`; `active`: the names that carry a derivative."""

    text: str
    names: tuple[str, ...]
    active: tuple[int, ...]
    sample: Any

    def values(self, seed: int) -> list[str] | None:
        """Arguments as text; None where they have none."""
        return _texts(self.sample(np.random.default_rng(seed)))


@functools.cache
def calls() -> tuple[Call, ...]:
    found = []
    for row in [*table.SCALARS, *table.ARRAYS]:
        text = _text(row)
        if text is not None:
            names = tuple(row.function.__code__.co_varnames[: row.function.__code__.co_argcount])
            found.append(Call(text, names, row.active, row.sample))
    return tuple(found)


def _text(row: rows.Row) -> str | None:
    function = row.function
    if not isinstance(function, FunctionType):
        return None
    name = _name(row.callee)
    if Path(function.__code__.co_filename).name == "rows.py":
        arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
        return f"{name}({', '.join(arguments)})" if name else None
    for node in _lambdas(function.__code__.co_filename):
        if node.lineno == function.__code__.co_firstlineno:
            if tuple(a.arg for a in node.args.args) == function.__code__.co_varnames[: len(node.args.args)]:
                text = ast.unparse(node.body)
                return text if _known(node.body) else None
    return None


@functools.cache
def _lambdas(filename: str) -> list[ast.Lambda]:
    tree = ast.parse(Path(filename).read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]


def _known(node: ast.expr) -> bool:
    """Whether a program can say it: with NumPy, `math` and builtins alone."""
    called = [ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)]
    return all(name.startswith(("np.", "math.")) or name in ("divmod", "abs", "max", "min") for name in called)


def _name(callee: Any) -> str | None:
    name = getattr(callee, "__name__", "")
    if isinstance(callee, np.ufunc) or getattr(np, name, None) is callee:
        return f"np.{name}"
    if getattr(math, name, None) is callee:
        return f"math.{name}"
    return name if callee in (divmod, abs, max, min) else None


def _texts(values: tuple[Any, ...]) -> list[str] | None:
    found = []
    for value in values:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fib":
            kind = "" if value.dtype.kind == "f" else f", dtype=np.{value.dtype}"
            shown = np.round(value, 3).tolist() if value.dtype.kind == "f" else value.tolist()
            found.append(f"np.array({shown!r}{kind})".replace("nan", "np.nan"))
        elif isinstance(value, int | float):
            found.append(repr(round(value, 3)))
        else:
            return None
    return found
