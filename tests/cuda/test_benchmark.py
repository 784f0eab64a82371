"""The benchmark for a GPU: without one it says so; in the simulator what it would time is right."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "cuda.py"


def run(*arguments, **environment):
    given = {**os.environ, "PYTHONPATH": str(FILE.parents[1]), **environment}
    return subprocess.run([sys.executable, str(FILE), *arguments], capture_output=True, text=True, env=given)


def test_without_a_gpu_it_says_so():
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU")
    found = run()
    assert found.returncode == 0, found.stderr
    assert "No GPU here" in found.stdout


@pytest.mark.long
def test_what_is_timed_is_right(tmp_path):
    found = run("--out", str(tmp_path), NUMBA_ENABLE_CUDASIM="1")
    assert found.returncode == 0, found.stdout + found.stderr
    told = json.loads((tmp_path / "cuda.json").read_text())
    ways = {(row["workload"], row["precision"], row["way"]) for row in told["rows"]}
    assert len(ways) == 2 * (7 * 4 + 5)
    assert not any("WRONG" in note for note in told["notes"])
    assert "| lse | float32 | adjit, kernel |" in (tmp_path / "cuda.md").read_text()
