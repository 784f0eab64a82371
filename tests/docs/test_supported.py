"""Each function that docs/supported.md names is there and has a rule, and docs/limits.md does not refuse it."""

import importlib
import re
from collections.abc import Iterator

import numpy as np

from adjit.rules import registry
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "supported.md").read_text("utf-8")

# What the compiler knows by itself: how arrays are created, viewed and run through.
WITHOUT_RULE = set(
    "zeros ones empty full zeros_like ones_like empty_like full_like r_ c_ mgrid ogrid reshape ravel moveaxis swapaxes "
    "transpose expand_dims squeeze broadcast_to copy where sum vectorize real Rotation newaxis".split()
)
# Rows that name other things than functions of the module.
OTHER = ("indexing", "functions of functions", "`stats`: distributions", "distribution")


def named() -> Iterator[tuple[str, object]]:
    """The names in the tables of NumPy and SciPy, with what they are."""
    for line in PAGE[PAGE.index("\n## NumPy") : PAGE.index("\n### Random")].splitlines():
        yield from _of_row(line, np)
    for line in PAGE[PAGE.index("\n## SciPy") : PAGE.index("\n## numba")].splitlines():
        yield from _of_row(line, None)


def _of_row(line: str, module: object) -> Iterator[tuple[str, object]]:
    cells = line.strip("| ").split(" | ")
    if len(cells) != 2 or cells[0] in ("subject", "module", *OTHER):
        return
    if of := re.match(r"`([\w.]+)`", cells[0]):
        module = importlib.import_module(of[1].replace("np.", "numpy.") if "np." in of[1] else f"scipy.{of[1]}")
    for names in re.findall(r"`([\w. ]+)`", cells[1]):
        for name in names.split():
            if name == "numpy.polynomial":
                continue
            found = module
            for part in name.split("."):
                found = getattr(found, part)
            yield name, found


def test_names_have_a_rule():
    registry.lookup(np.sin)
    without = [name for name, found in named() if name.rpartition(".")[2] not in WITHOUT_RULE and not has_rule(found)]
    assert without == []


def has_rule(found: object) -> bool:
    return callable(found) and registry.lookup(found) is not None


def test_what_is_refused_is_not_listed():
    """Rows of docs/limits.md that are names alone; others refuse some arguments."""
    limits = (ROOT / "docs" / "limits.md").read_text("utf-8")
    cells = re.findall(r"^\| ([^|]*) \|", limits[limits.index("\n## SciPy") :], re.MULTILINE)
    alone = [cell for cell in cells if not re.sub(r"`\w+`|,|and similar functions|and|\.\.\.| ", "", cell)]
    refused = {name for cell in alone for name in re.findall(r"\w+", cell)} - {"and", "similar", "functions"}
    assert {"logm", "minimize", "orth"} <= refused
    assert refused & {name for name, _ in named()} == set()


def test_names_are_read():
    names = [name for name, _ in named()]
    assert len(names) > 350
    assert {"where", "solve", "expit", "brentq", "distance.cdist", "irfft"} <= set(names)
