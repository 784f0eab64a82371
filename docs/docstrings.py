"""How docstrings are shown in the reference: lines such as `name: what it is` become a list.

In: the docstrings that Griffe has read. Out: the same as Markdown. mkdocs.yml names `Listed` as an extension.

    wrt: the parameters to differentiate with respect to, by position         - **wrt**: the parameters to differentiate
         or name                                                                with respect to, by position or name
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ITEM = re.compile(r"(?P<names>\*{0,2}`?[a-z_]\w*`?(?:, `?[a-z_]\w*`?)*): +(?P<text>\S.*)")


def as_markdown(text: str) -> str:
    """Paragraphs that begin with an item, and have only items and lines that go on further in, as lists."""
    return "\n\n".join(_listed(paragraph) for paragraph in re.split(r"\n[ ]*\n", text))


def _listed(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if not ITEM.fullmatch(lines[0]) or not all(ITEM.fullmatch(line) or line.startswith("  ") for line in lines):
        return paragraph
    found: list[str] = []
    for line in lines:
        if item := ITEM.fullmatch(line):
            found.append(f"- **{item['names'].strip('`*')}**: {item['text']}")
        else:
            found[-1] += f" {line.strip()}"
    return "\n".join(found)


class Listed(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
