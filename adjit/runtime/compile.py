"""From generated text to a Python function that tracebacks, debuggers and `inspect.getsource` can show.

In: text, the objects it names, the function's name and a title. Out: the function.

    load(emitted, "energy_vjp float64[:], float64")     a function in the file `<adjit energy_vjp float64[:], float64>`
"""

from __future__ import annotations

import ast
import linecache
import threading
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from numba import objmode

from adjit.runtime.backend.reading import texts
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
    exec(compile(tree, filename, "exec", dont_inherit=True), scope)
    found = scope[name]
    assert isinstance(found, FunctionType)
    texts.remember(found, tree)
    return found


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
