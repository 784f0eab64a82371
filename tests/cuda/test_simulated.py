"""Values of generated kernels, in numba's CUDA simulator: a process of its own, as numba is told of it first.

NUMBA_ENABLE_CUDASIM=1 pytest tests/cuda/simulated        the same by hand
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


FILES = sorted(path for path in (HERE / "simulated").glob("test_*.py") if "mark.long" in path.read_text("utf-8"))


def passes(which, folder):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTEST_ADDOPTS": ""}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", which]
    run = subprocess.run([*command, str(folder)], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout


def test_in_the_simulator():
    # one process: what is imported and compiled first takes half the time of all of them
    passes("not long", HERE / "simulated")


@pytest.mark.long
@pytest.mark.parametrize("file", FILES, ids=[path.name for path in FILES])
def test_more_in_the_simulator(file):
    passes("long", file)
