"""Functions out of text, of which `inspect` finds the source."""

from __future__ import annotations

import linecache
from typing import Any


def define(text: str, filename: str, **names: Any) -> dict[str, Any]:
    """What the text defines, beside these names, as if it stood in a file of this name."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names
