"""The site builds without a warning, its pages ask no other host for anything, and each page is in the contents."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not find_spec("mkdocs") or not find_spec("material") or not find_spec("mkdocstrings"):
        pytest.skip("needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.mark.long
def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    loads = re.compile(
        r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=\"?https?://|<link\b(?=[^>]*rel=\"?(?:stylesheet|preconnect|preload))[^>]*href=\"?https?://"
    )
    assert [page.name for page in pages if loads.search(page.read_text("utf-8"))] == []
    sheets = [
        path for path in site.rglob("*.css") if re.search(r"url\([\"']?https?://|@import", path.read_text("utf-8"))
    ]
    assert sheets == []


@pytest.mark.long
def test_no_formula_is_left_as_latex(site):
    assert [page.name for page in site.rglob("*.html") if "arithmatex" in page.read_text("utf-8")] == []


@pytest.mark.long
def test_the_reference_has_every_name(site):
    import adjit

    text = (site / "reference.html").read_text("utf-8")
    # modules, whose functions are there
    functions = [name for name in adjit.__all__ if name not in ("rules", "plot")]
    assert [name for name in functions if not re.search(rf'id="adjit\.[\w.]*\b{name}"', text)] == []


def test_every_page_is_in_the_contents():
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    found = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(found)


def test_readers_need_no_network():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "font: false" in text
    assert "http" not in text


def test_every_example_has_a_row_and_its_picture():
    text = (ROOT / "docs" / "examples.md").read_text("utf-8")
    for script in (ROOT / "examples").glob("*.py"):
        if pictures := set(re.findall(r"\b(\w+\.png)", script.read_text("utf-8"))):
            assert f"[`{script.name}`](../examples/{script.name})" in text
            assert all(f"(pictures/{name})" in text for name in pictures)
            assert all((ROOT / "docs" / "pictures" / name).exists() for name in pictures)


def test_signatures_have_the_options_that_help_shows():
    griffe = pytest.importorskip("griffe")
    import adjit

    loader = griffe.GriffeLoader(
        extensions=griffe.load_extensions(ROOT / "docs" / "signatures.py"), search_paths=[ROOT], allow_inspection=False
    )
    functions = loader.load("adjit")["api.functions"]
    for name in ("grad", "vjp", "jvp", "hessian", "vmap"):
        shown = inspect.signature(getattr(adjit, name)).parameters.values()
        assert [p.name for p in functions[name].parameters] == [p.name for p in shown]
        defaults = {p.name: p.default for p in functions[name].parameters}
        assert [eval(str(defaults[p.name])) for p in shown if p.default is not p.empty] == [
            p.default for p in shown if p.default is not p.empty
        ]


def test_formulas_are_drawn():
    pytest.importorskip("ziamath")
    hooks = _module_of("hooks")
    text = hooks.on_page_content(
        r'<p>so <span class="arithmatex">\(a &lt; \bar b\)</span>, and</p><div class="arithmatex">\[ c \]</div>'
    )
    assert text.count("<svg") == 2
    assert "arithmatex" not in text
    assert r'aria-label="a &lt; \bar b"' in text
    # the comma stays with its formula
    assert "</svg>,</span> and" in text


def test_the_first_page_has_a_picture_for_each_scheme():
    text = _module_of("hooks").front()
    found = re.findall(r'"(pictures/derivative-\S+?)"', text)
    assert found == [
        f"pictures/derivative-{width}-{scheme}.svg{part}"
        for scheme in ("light", "dark")
        for width, part in (("narrow", ""), ("wide", f"#only-{scheme}"))
    ]
    assert all((ROOT / "docs" / name.partition("#")[0]).exists() for name in found)


def _module_of(name):
    """A file of docs/ that MkDocs imports."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
