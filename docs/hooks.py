"""What the site takes from other files: the address of the project from pyproject.toml, its first page from README.md,
and a page for each script in examples/. And formulas, which become SVG: readers need no script and no font.

MkDocs calls these while it builds; mkdocs.yml names this file under `hooks`.
"""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
HERE = "<!-- README.md stands here -->"
EM = 16.0
# what pymdownx.arithmatex makes of $...$ and of $$...$$; a formula and the comma after it stay on one line
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>([.,;:)]*)', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
# The reader may choose another scheme than that of the system, so each scheme has its picture.
OF_A_SCHEME = (
    '<picture><source media="(max-width: 600px)" srcset="pictures/derivative-narrow-{scheme}.svg">'
    '<img alt="{alt}" src="pictures/derivative-wide-{scheme}.svg#only-{scheme}"></picture>'
)


def address() -> str:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return str(tomllib.loads(text)["project"]["urls"]["Repository"])


def front() -> str:
    """README.md as the site shows it: without its last line of links, and with links that lead from docs/."""
    text = (ROOT / "README.md").read_text("utf-8").partition("\nRead on:")[0]
    text = re.sub("<picture>.*?</picture>", lambda found: pictures(found.group()), text, flags=re.DOTALL)
    text = text.replace("](docs/", "](")
    return re.sub(r"\]\([A-Z]\w*(\.\w+)?\)", f"]({address()})", text)


def pictures(text: str) -> str:
    alt = re.search('alt="(.*?)"', text)
    assert alt is not None
    return "".join(OF_A_SCHEME.format(scheme=scheme, alt=alt[1]) for scheme in ("light", "dark"))


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


def on_page_content(content: str, **_: Any) -> str:
    content = INLINE.sub(
        lambda found: f'<span class="formula">{drawn(found[1], is_inline=True)}{found[2]}</span>', content
    )
    return BLOCK.sub(lambda found: f'<div class="formula">{drawn(found[1], is_inline=False)}</div>', content)


def drawn(formula: str, is_inline: bool) -> str:
    """A formula of LaTeX as SVG, which grows with the text around it and stands on its line."""
    import ziamath

    # symbols that are defined once and used often would have one name in all formulas of a page
    ziamath.config.svg2 = False
    formula = html.unescape(formula).strip()
    made = ziamath.Latex(formula, size=EM, inline=is_inline, color="currentColor")
    svg = made.svgxml()
    svg.attrib |= {side: f"{float(svg.attrib[side]) / EM:.3f}em" for side in ("width", "height")}
    svg.attrib |= {"style": f"vertical-align: {made.getyofst() / EM:.3f}em", "role": "img", "aria-label": formula}
    return ElementTree.tostring(svg, encoding="unicode")
