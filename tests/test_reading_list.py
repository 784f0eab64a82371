"""The reading list of docs/design.md is true: what a gradient runs through is in its files, or behind a face.

The face of a stage is what its package names in `__all__`; that of a toolbox is everything without an underscore.
"""

import importlib
import re
import sys
from pathlib import Path

import adjit
from tests.golden import primals

ROOT = Path(adjit.__file__).parent
DESIGN = ROOT.parent / "docs" / "design.md"
MOST = 10
TOOLS = (
    "api.arguments", "api.specialise", "errors", "rules", "runtime.backend", "runtime.library", "switches",
    "transform.analysis", "transform.frontend.arrays", "transform.frontend.heap", "transform.frontend.library",
    "transform.frontend.numba", "transform.frontend.operations", "transform.frontend.values", "transform.ir",
    "transform.rewrite", "transform.source", "transform.strategy",
)  # fmt: skip


def reading_list():
    chapter = DESIGN.read_text("utf-8").partition("## What to read first\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/.]+)`", chapter, re.MULTILINE)


def home(code):
    """The file of a function of adjit's, from adjit/ on, and its package; None of others."""
    path = Path(code.co_filename)
    if ROOT not in path.parents:
        return None
    file = path.relative_to(ROOT)
    parts = file.with_suffix("").parts
    # a module that stands beside packages is on its own
    return str(file), ".".join(parts if len(parts) == 1 or parts[:-1] == ("transform",) else parts[:-1])


def is_face(package, code):
    name = code.co_qualname.partition(".")[0]
    if package in TOOLS or package.startswith("rules."):
        # what Python itself calls, as at a `with`, is of an object that a public function made
        return not name.startswith("_") or code.co_name.startswith("__")
    return name in importlib.import_module(f"adjit.{package}").__all__


def entered(run):
    """Each function that is entered from another package, whose own is not at work already."""
    found = {}

    def note(frame, event, _):
        where = home(frame.f_code) if event == "call" else None
        if where is None:
            return
        around, back = [], frame.f_back
        while back is not None:
            around.append(home(back.f_code))
            back = back.f_back
        if not any(at is not None and at[1] == where[1] for at in around):
            found[frame.f_code] = where

    profiled(run, note)
    return found


def profiled(run, note):
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)


def test_the_list_is_short_and_its_files_are_there():
    files = reading_list()
    assert 5 < len(files) <= MOST
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_a_gradient_runs_through_its_files_and_through_faces():
    gradient = adjit.grad(primals.damped, wrt=(0, 1))
    gradient.source(0.7, 3.0)  # what is made once is made
    found = entered(lambda: gradient.source(0.7, 3.0, tuned=True))
    files = set(reading_list())
    behind = [
        f"{file}: {code.co_qualname}"
        for code, (file, package) in found.items()
        if file not in files and not is_face(package, code)
    ]
    assert behind == []
    # and none of them is idle
    ran = set()
    profiled(lambda: gradient.source(0.7, 3.0), lambda frame, event, _: ran.add(home(frame.f_code)))
    assert files - {at[0] for at in ran if at is not None} == set()
