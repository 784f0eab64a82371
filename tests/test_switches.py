"""Each switch in the environment is read in one way."""

import re
from pathlib import Path

import pytest
from numba import float64

import adjit
from adjit import switches
from adjit.errors import InternalError
from adjit.transform import ir
from adjit.transform.rewrite.verified import checked

ROOT = Path(adjit.__file__).parent
# variables with a value of their own: a folder, a package, a number, a file
VALUES = {"ADJIT_CACHE_DIR", "ADJIT_CUDA_BACKEND", "ADJIT_INTERLEAVE", "ADJIT_PASSES", "ADJIT_RECORD"}


@pytest.mark.parametrize("usually", [False, True])
@pytest.mark.parametrize(
    ("given", "is_on"),
    [(None, None), ("", None), (" ", None), ("0", False), ("off", False), ("No", False), ("false", False)]
    + [("1", True), ("yes", True), ("on", True)],
)
def test_off_is_off(monkeypatch: pytest.MonkeyPatch, given: str | None, is_on: bool | None, usually: bool) -> None:
    monkeypatch.delenv("ADJIT_VERIFY")
    if given is not None:
        monkeypatch.setenv("ADJIT_VERIFY", given)
    assert switches.is_on("ADJIT_VERIFY", usually) == (usually if is_on is None else is_on)


def test_the_verifier_is_off_with_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = ir.Var("x", float64), ir.Var("y", float64)
    wrong = ir.Function("f", ("x",), (x,), ir.Region((x,), (), (y,)), 0, None, ())
    for off in ("0", ""):
        monkeypatch.setenv("ADJIT_VERIFY", off)
        monkeypatch.setenv("ADJIT_DUMP", off)
        assert checked(wrong, "step") is wrong
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("ADJIT_VERIFY", "1")
    with pytest.raises(InternalError):
        checked(wrong, "step")


def test_nothing_reads_a_switch_by_itself() -> None:
    read = re.compile(r"environ\S*\(\s*\"(ADJIT_\w+)\"|environ\[\"(ADJIT_\w+)\"\]")
    found = {name for path in ROOT.rglob("*.py") for both in read.findall(path.read_text("utf-8")) for name in both}
    assert found - {""} == VALUES
