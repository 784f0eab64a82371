"""The text depends on nothing but the source and the types: not on the order in sets, addresses or hash seeds."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import generate
from tests.golden.explained import programs

ROOT = Path(__file__).resolve().parent.parent.parent


def digests(seed, *beginnings):
    """The lines of `texts.py` from a process of their own, with a hash seed of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.transform.texts", str(seed), *beginnings]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_golden_texts_and_a_mixture():
    # the mixture, emitted twice, has scratch arrays that are given axes, which came in the order of a set
    found = [line for line in digests(1, "golden", "explained", "gmm") if not line.startswith("gmm")]
    wanted = {
        f"golden {case.name}{', tuned' * tuned}": generate.golden(case, tuned) for case, tuned in generate.OF_ARRAYS
    }
    wanted |= {f"explained {name}": Path(programs.__file__).parent / f"{name}.txt" for name in programs.CASES}
    assert found == [f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for name, file in wanted.items()]


@pytest.mark.long
def test_all_functions():
    first, *others = (digests(seed) for seed in range(4))
    assert all(other == first for other in others)
