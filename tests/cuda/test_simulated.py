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


@pytest.mark.parametrize("which", ["not long", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("file", sorted(path.name for path in (HERE / "simulated").glob("test_*.py")))
def test_in_the_simulator(file, which):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTEST_ADDOPTS": ""}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", which]
    run = subprocess.run(
        [*command, str(HERE / "simulated" / file)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout
