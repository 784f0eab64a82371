"""Passes in a table, and that the arrows in the docstrings are those of the tables."""

import re
from pathlib import Path

import pytest

from adjit.transform import ir
from adjit.transform.machine import steps
from adjit.transform.rewrite.passes import Pass, run_passes
from adjit.transform.sweeps import sweeps
from tests.transform.building import F, Program


def test_what_changes_a_function_is_seen_to(monkeypatch, capsys):
    program = Program(x=F)
    function = program.function(program["x"])
    other = ir.with_body(function, ir.with_ops(function.body, [ir.Comment(text="other")]))
    done = []
    passes = (
        Pass("same", lambda given: given, then=lambda changed: done.append("same") or changed),
        Pass("left out", lambda given: other, when=False),
        Pass("changed", lambda given: other, then=lambda changed: done.append("changed") or changed),
    )
    monkeypatch.setenv("ADJIT_DUMP", "1")
    assert run_passes(passes, function) is other
    assert done == ["changed"]
    assert re.findall("^---- (.*)", capsys.readouterr().err, re.MULTILINE) == ["changed"]


@pytest.mark.parametrize("module", [steps, sweeps])
def test_arrows_are_the_passes(module):
    text = Path(module.__file__).read_text(encoding="utf-8")
    arrows = [name.strip() for name in module.__doc__.split("\n\n")[1].split("──►")]
    unlisted = {"direct", "program order", "simplified"}
    assert set(re.findall(r'Pass\("([^"]+)"', text)) - unlisted == set(arrows) - {"threads", "storage", "fusion"}
