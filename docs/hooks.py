"""What the site takes from other files: the address of the project from pyproject.toml, its first page from README.md,
and a page for each script in examples/.

MkDocs calls these while it builds; mkdocs.yml names this file under `hooks`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
HERE = "<!-- README.md stands here -->"


def address() -> str:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return str(tomllib.loads(text)["project"]["urls"]["Repository"])


def front() -> str:
    """README.md as the site shows it: without its last line of links, and with links that lead from docs/."""
    text = (ROOT / "README.md").read_text("utf-8").partition("\nRead on:")[0]
    text = text.replace("](docs/", "](").replace('srcset="docs/', 'srcset="').replace('src="docs/', 'src="')
    return re.sub(r"\]\([A-Z]\w*(\.\w+)?\)", f"]({address()})", text)


def on_config(config: Any) -> Any:
    config.repo_url, config.repo_name, config.edit_uri = address(), "Source code", ""
    return config


def on_files(files: Files, config: Any) -> Files:
    """With a page for each example: its source."""
    from mkdocs.structure.files import File

    for script in sorted((ROOT / "examples").glob("*.py")):
        text = f"# {script.name}\n\n[All examples](../examples.md)\n\n```python\n{script.read_text('utf-8')}```\n"
        files.append(File.generated(config, f"examples/{script.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri == "index.md":
        return markdown.replace(HERE, front())
    if page.file.src_uri == "examples.md":
        return re.sub(r"\(\.\./examples/(\w+)\.py\)", r"(examples/\1.md)", markdown)
    return markdown
