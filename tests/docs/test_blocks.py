"""The reader of pages: what is a block, when it runs, what it prints, and that a wrong page is found out."""

import pytest

from tests.docs import blocks as module
from tests.docs.blocks import blocks_of, program_of, run

PAGE = """# A page

<!-- hidden
scale = 3.0
-->

```python
print(scale)
```

```text
3.0
```

Text.

```text
not an output
```

<!-- run: long -->
```python
print(2 * scale)
```

which is

<!-- output -->
```text
6.0
```

<!-- run: no, it is theirs -->
```python
jax.grad
```

1. A list:

    ```python
    import adjit

    print(3)
    ```

    <!-- output -->
    ```python
    3
    ```
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOT", tmp_path)
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_blocks_of_a_page(page):
    found = [(b.line, b.kind, b.output, b.is_hidden) for b in blocks_of(page)]
    assert found == [
        (4, "short", None, True),
        (7, "short", "3.0\n", False),
        (22, "long", "6.0\n", False),
        (34, "no", None, False),
        (40, "short", "3\n", False),
    ]
    assert blocks_of(page)[-1].text == "import adjit\n\nprint(3)\n"


def test_blocks_share_a_namespace(page, tmp_path):
    (tmp_path / "run").mkdir()
    assert run(blocks_of(page)[:3], tmp_path / "run")["scale"] == 3.0


def test_bridge_blocks_have_what_the_page_shares_above_them(page):
    text = PAGE.replace("run: long", "run: long, shared")
    bridge = "<!-- run: bridge -->\n```python\nprint(scale)\n```\n\n"
    page.write_text(bridge + text + bridge, encoding="utf-8")
    blocks = blocks_of(page)
    assert program_of(blocks[0], blocks) == "print(scale)\n"
    assert program_of(blocks[-1], blocks) == "print(2 * scale)\nprint(scale)\n"


@pytest.mark.parametrize("wrong, right", [("6.0", "6.5"), ("2 * scale", "2.0"), ("print(scale)", "scale")])
def test_a_page_that_is_wrong_is_found_out(page, tmp_path, wrong, right):
    page.write_text(PAGE.replace(wrong, right), encoding="utf-8")
    (tmp_path / "run").mkdir()
    with pytest.raises(AssertionError, match=r"page.md:\d+ prints"):
        run(blocks_of(page)[:3], tmp_path / "run")


def test_a_page_says_which_error_is_raised(page, tmp_path):
    text = "<!-- raises: WrongCall -->\n```python\nimport adjit\nadjit.precompile(3)\n```\n"
    page.write_text(text, encoding="utf-8")
    (tmp_path / "run").mkdir()
    run(blocks_of(page), tmp_path / "run")
    page.write_text(text.replace("adjit.precompile(3)", ""), encoding="utf-8")
    (tmp_path / "again").mkdir()
    with pytest.raises(AssertionError, match="does not raise WrongCall"):
        run(blocks_of(page), tmp_path / "again")


def test_unknown_kinds_are_refused(page):
    page.write_text(PAGE.replace("run: long", "run: sometimes"), encoding="utf-8")
    with pytest.raises(AssertionError, match="sometimes"):
        blocks_of(page)
