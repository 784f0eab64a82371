"""The README's example runs, gives the numbers it states, and prints the adjoint that stands below it."""

import contextlib
import io
import math
import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def block(marker: str) -> str:
    found = re.search(
        rf"<!-- {marker} -->\n```(?:python|text)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found, f"README.md has no block marked {marker}"
    return found.group(1)


def result_of(marker: str, folder: Path) -> tuple[dict[str, object], str]:
    """The variables of a block after it ran, and what it printed."""
    file = folder / "example.py"
    file.write_text(block(marker), encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        variables = runpy.run_path(str(file))
    return variables, printed.getvalue()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return result_of("example", tmp_path_factory.mktemp("readme"))


def test_example_is_right(run):
    variables, _ = run
    x, w = 0.7, 3.0
    phase, decay = w * x, math.exp(-x)
    assert variables["x_bar"] == pytest.approx(decay * (w * math.cos(phase) - math.sin(phase)), rel=1e-14)
    assert variables["w_bar"] == pytest.approx(decay * x * math.cos(phase), rel=1e-14)


def test_example_states_its_numbers(run):
    variables, _ = run
    stated = re.search(r"# (-?[\d.]+?)\.\.\., (-?[\d.]+?)\.\.\.", block("example"))
    assert stated
    for text, value in zip(stated.groups(), (variables["x_bar"], variables["w_bar"]), strict=True):
        assert repr(float(value)).startswith(text)


def test_example_prints_the_adjoint_shown(run):
    _, printed = run
    assert printed.strip() == block("output").strip()


def test_explanation_is_the_one_shown(tmp_path):
    _, printed = result_of("why", tmp_path)
    assert printed.strip() == block("why output").strip()
