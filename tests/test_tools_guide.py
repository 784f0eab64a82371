"""The examples of docs/tools.md run, each as a file of its own, and print what stands below them."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "tools.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_prints_what_is_shown(number, tmp_path):
    text, expected = EXAMPLES[number]
    file = tmp_path / "example.py"
    file.write_text(text, encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(file), run_name="__main__")
    assert printed.getvalue() == expected


def test_every_block_is_an_example():
    assert GUIDE.read_text(encoding="utf-8").count("```python") == len(EXAMPLES) > 0
