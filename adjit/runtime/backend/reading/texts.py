"""The syntax of functions, for those that read it.

In: a function. Out: its `def`, as Python parses it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import weakref
from types import FunctionType

_known: weakref.WeakKeyDictionary[FunctionType, ast.FunctionDef] = weakref.WeakKeyDictionary()


def remember(function: FunctionType, module: ast.Module) -> None:
    """Keeps the syntax of a function that was made of a module of its own."""
    (_known[function],) = (node for node in module.body if isinstance(node, ast.FunctionDef))


def syntax_of(function: FunctionType) -> ast.FunctionDef | None:
    """The syntax of a function, with the lines that it has in its file; None if its text is not at hand."""
    found = _known.get(function)
    if found is not None:
        return found
    try:
        (statement,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if not isinstance(statement, ast.FunctionDef):
        return None
    ast.increment_lineno(statement, function.__code__.co_firstlineno - 1)
    return statement
