"""The examples of docs/bridges.md run, each as a file of its own, and print what stands below them."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "bridges.md"
BLOCK = re.compile(r"```python\n(.*?)```\n+```text\n(.*?)```", re.DOTALL)
EXAMPLES = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
LIBRARIES = ("torch", "jax", "pymc", "dask", "sklearn", "numba_mpi", "matplotlib")


def library(text):
    return next((name for name in LIBRARIES if re.search(rf"^(import|from) {name}\b", text, re.MULTILINE)), "scipy")


@pytest.mark.bridge
@pytest.mark.parametrize("number", [pytest.param(k, id=library(text)) for k, (text, _) in enumerate(EXAMPLES)])
def test_example_prints_what_is_shown(number, tmp_path):
    text, expected = EXAMPLES[number]
    if not find_spec(library(text)):
        pytest.skip(f"needs {library(text)}")
    file = tmp_path / "example.py"
    file.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(GUIDE.parent.parent), "ADJIT_CACHE_DIR": str(tmp_path / "cache")}
    environment["MPLBACKEND"] = "Agg"
    for name in ("ADJIT_VERIFY", "ADJIT_CACHE"):
        environment.pop(name, None)
    beside = Path(sys.executable).with_name("mpiexec")
    starter = [beside if beside.exists() else "mpiexec", "-n", "4"] if library(text) == "numba_mpi" else []
    ran = subprocess.run(
        [*starter, sys.executable, file], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == expected


def test_every_block_is_an_example():
    assert GUIDE.read_text(encoding="utf-8").count("```python") == len(EXAMPLES) > 0
