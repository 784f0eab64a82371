"""The picture of the front page is what the report of its function shows now."""

import importlib.util
import sys

import pytest

from tests.docs.blocks import ROOT

SCRIPT = ROOT / "docs" / "pictures" / "derivative.py"


@pytest.fixture(scope="module")
def drawn():
    spec = importlib.util.spec_from_file_location("derivative", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    # its lines are looked up by the name of their module
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "derivative", module)
        spec.loader.exec_module(module)
        yield module


def test_pictures_are_those_of_the_report(drawn):
    for path, text in drawn.files():
        assert path.read_text("utf-8") == text, f"python {SCRIPT.relative_to(ROOT)} draws {path.name} anew"


def test_lines_that_belong_together_have_one_key(drawn):
    primal, derived = drawn.panes()
    shared = {line.key for line in primal if line.key} & {line.key for line in derived}
    assert len(shared) == 5
    reversed_lines = ["".join(word for _, word in line.parts).strip() for line in derived if line.key.endswith(":4")]
    assert reversed_lines[-2:] == ["x = x_tape[t]", "x_bar -= np.cos(x) * (h * v_bar)"]
