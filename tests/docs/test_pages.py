"""Every Python block of README.md, CONTRIBUTING.md and docs/ runs, and prints what stands below it (`blocks.py`)."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import adjit.api.functions  # noqa: F401  # registers stop_gradient, before registrations are taken back
from adjit.rules import registry
from tests.docs.blocks import ROOT, blocks_of, pages, program_of, run

PAGES = {str(page.relative_to(ROOT)): blocks_of(page) for page in pages() if page.exists()}
LIBRARIES = (
    "torch", "jax", "pymc", "pytensor", "dask", "sklearn", "matplotlib", "numba_mpi", "mpi4py",
    # of docs/gradient-into.md; cyipopt has to be built, with Ipopt of the system
    "blackjax", "cyipopt", "emcee", "filterpy", "iminuit", "joblib", "lmfit", "mici", "nlopt", "openmdao", "pymanopt",
    "statsmodels",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_lasting_registrations(monkeypatch):
    monkeypatch.setattr(registry.user, "entries", dict(registry.user.entries))


def with_any(*kinds):
    return [name for name, blocks in PAGES.items() if any(block.kind in kinds for block in blocks)]


def in_own_process(command, tmp_path, folder=ROOT, **variables):
    """What a command prints, as a user runs it in a folder: nothing is verified, and what is compiled is kept."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    environment |= {"ADJIT_CACHE_DIR": str(tmp_path / "cache"), "MPLBACKEND": "Agg", **variables}
    for name in ("ADJIT_VERIFY", "ADJIT_CACHE"):
        environment.pop(name, None)
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("page", with_any("short"))
def test_blocks(page, tmp_path):
    run([block for block in PAGES[page] if block.kind == "short"], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("page", with_any("long"))
def test_blocks_that_take_longer(page, tmp_path):
    run([block for block in PAGES[page] if block.kind in ("short", "long")], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("page", with_any("simulator"))
def test_blocks_in_the_simulator(page, tmp_path):
    command = [sys.executable, "-m", "tests.docs.blocks", page, "simulator"]
    in_own_process(command, tmp_path, NUMBA_ENABLE_CUDASIM="1")


@pytest.mark.bridge
@pytest.mark.parametrize(
    "block", [b for blocks in PAGES.values() for b in blocks if b.kind == "bridge"], ids=lambda block: block.name
)
def test_blocks_with_other_libraries(block, tmp_path):
    program = program_of(block, PAGES[str(block.page.relative_to(ROOT))])
    needed = [one for one in LIBRARIES if re.search(rf"^(import|from) {one}\b", program, re.MULTILINE)]
    missing = [one for one in needed if not find_spec(one)]
    if missing:
        pytest.skip(f"needs {missing[0]}")
    file, beside = tmp_path / "example.py", Path(sys.executable).with_name("mpiexec")
    file.write_text(program, encoding="utf-8")
    starter = [str(beside) if beside.exists() else "mpiexec", "-n", str(block.processes)] if block.processes > 1 else []
    printed = in_own_process([*starter, sys.executable, str(file)], tmp_path, tmp_path)
    assert block.output is None or printed == block.output


def test_adjit_from_scratch_is_as_short_as_it_says():
    """The page says 300 lines of Python; empty lines, comments and docstrings do not count."""
    lines = "".join(block.text for block in PAGES["docs/adjit-from-scratch.md"]).splitlines()
    assert len([line for line in lines if line.strip() and not line.strip().startswith(("#", '"""'))]) <= 300


def test_what_does_not_run_is_another_tools():
    """On the pages for those who come from elsewhere; there, each of ours has one of theirs above it."""
    assert all(name.startswith("docs/coming-from/") for name in with_any("no"))


def test_no_block_depends_on_one_that_runs_less_often():
    """A block that runs in the short run comes before all others of its page, or its page has no others."""
    for blocks in PAGES.values():
        kinds = [block.kind for block in blocks if block.kind in ("short", "long")]
        assert kinds == sorted(kinds, key=("short", "long").index), blocks[0].name
