"""Kernels of many kinds: the nest's tangent and adjoint against differences and each other."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cuda.kernels import blocks, maps
from tests.cuda.kernels.harness import Checked

ROOT = Path(__file__).parents[3]
CASES = {**maps.CASES, **blocks.CASES}
# where a step of differences would cross a kink, or numbers are of single precision
STEPS = {"table": (1e-5, 1e-6), "path": (1e-5, 1e-6), "single": (1e-2, 2e-4), "cube": (1e-2, 2e-4)}


def checked(name, target):
    kernel, launch, arguments = CASES[name]
    return Checked(kernel, launch, arguments(np.random.default_rng(3)), 5, target=target)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_the_nest(name):
    checked(name, "python").check(*STEPS.get(name, ()))


@pytest.mark.parametrize("name", CASES)
def test_compiled_adjoint(name):
    _, dots = checked(name, "python").tangent()
    checked(name, "cpu").check_transposed(dots)


def test_nests_do_what_the_kernels_do():
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.cuda.kernels.simulated"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stdout + done.stderr
