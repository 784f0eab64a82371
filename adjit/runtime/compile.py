"""From generated text to a Python function that tracebacks, debuggers and `inspect.getsource` can show.

In: text, the objects it names, the function's name and a title. Out: the function.

    load(emitted, "energy_vjp float64[:], float64")     a function in the file `<adjit energy_vjp float64[:], float64>`
"""

from __future__ import annotations

import ast
import json
import linecache
import threading
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from numba import objmode

from adjit.runtime.backend.reading import texts
from adjit.runtime.library import raise_made
from adjit.runtime.plain_numbers import NAMES, as_compiled

_registering = threading.Lock()


def load(text: str, names: Mapping[str, Any], name: str, title: str, is_plain: bool = False) -> FunctionType:
    """The function `name` that `text` defines; the same text and title give the same file name in each run.

    `is_plain`: it runs uncompiled, and so with numbers as compiled code has them.
    """
    filename = register(text, title)
    scope: dict[str, Any] = {"__name__": __name__, "__builtins__": __builtins__, **(NAMES if is_plain else {}), **names}
    if any(value is objmode for value in names.values()):
        # numba looks for what object mode calls in the module, if there is one
        del scope["__name__"]
    tree = ast.parse(text, filename)
    if is_plain:
        tree = as_compiled(tree, is_single=any("float32" in said for said in (title, text)))
    elif "raise " in text:
        scope[raise_made.__name__] = raise_made
        tree = ast.fix_missing_locations(_Raising().visit(tree))
    exec(compile(tree, filename, "exec", dont_inherit=True), scope)
    found = scope[name]
    assert isinstance(found, FunctionType)
    texts.remember(found, tree)
    return found


class _Raising(ast.NodeTransformer):
    """Exceptions that are made of values, as compiled code raises them; what is as it is written stands behind, so that
    the way ends there."""

    def visit_Raise(self, node: ast.Raise) -> ast.Raise | list[ast.stmt]:
        made = node.exc
        if not isinstance(made, ast.Call) or all(map(_is_constant, made.args)):
            return node
        how, values = zip(*map(_made_of, made.args), strict=True)
        given = ast.Tuple([value for own in values for value in own], ast.Load())
        args = [made.func, ast.Constant(json.dumps(how)), given]
        raised = ast.Call(ast.Name(raise_made.__name__, ast.Load()), args, [])
        last = ast.Raise(ast.Call(made.func, [ast.Constant("")], []), None)
        return [ast.copy_location(ast.Expr(raised), node), ast.copy_location(last, node)]


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _made_of(node: ast.expr) -> tuple[Any, list[ast.expr]]:
    """How an argument is made, as `raise_made` takes it, and of which values."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"), args=values):
            return (text, len(values), "format"), values
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=ast.Tuple(elts=values)):
            return (text, len(values), "%"), values
        case ast.Constant(value=str() | int() | float() as known):
            return known, []
    return (None, 1, ""), [node]


def register(text: str, title: str) -> str:
    """Gives the text to linecache, under a name that no other text has; that name."""
    lines = text.splitlines(keepends=True)
    with _registering:
        filename, copies = f"<adjit {title}>", 1
        while filename in linecache.cache and linecache.getlines(filename) != lines:
            copies += 1
            filename = f"<adjit {title} ({copies})>"
        # without a modification time linecache never looks for the file
        linecache.cache[filename] = (len(text), None, lines, filename)
    return filename
