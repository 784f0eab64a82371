"""Kernels of many kinds: the nest's tangent and adjoint against differences and each other."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cuda.kernels import (
    blocks,
    extremes,
    fields,
    fields_at_random,
    fields_drawn,
    fields_of_blocks,
    fields_once_more,
    maps,
)
from tests.cuda.kernels.harness import Checked

ROOT = Path(__file__).parents[3]
CASES = {**maps.CASES, **blocks.CASES, **fields.CASES, **fields_of_blocks.CASES, **fields_at_random.CASES}
CASES |= {**extremes.CASES, **fields_drawn.CASES, **fields_once_more.CASES}
# whole computations, but for some that went wrong once
SELDOM = fields.CASES.keys() | fields_of_blocks.CASES.keys() | fields_at_random.CASES.keys() | fields_drawn.CASES.keys()
SELDOM |= fields_once_more.CASES.keys()
SELDOM |= extremes.CASES.keys() - {"greatest", "softmax of rows", "walks"}
SELDOM -= {"allen cahn", "hidden markov", "march", "scan", "logistic maps", "weighted histogram", "metropolis"}
# where a step of differences would cross a kink, or numbers are of single precision
STEPS = {
    "gravity": (4e-3, 1e-3),
    "render": (1e-3, 3e-3),
    "nearest": (1e-2, 1e-3),
    "march": (1e-5, 1e-6),
    **dict.fromkeys(
        ("crack growth", "iterated", "overland", "soft dtw", "eliminate", "red black", "kalman"), (1e-4, 1e-7)
    ),
    "table": (1e-5, 1e-6),
    "path": (1e-5, 1e-6),
    "single": (1e-2, 2e-4),
    "cube": (1e-2, 2e-4),
    **dict.fromkeys((*fields_at_random.CASES, *fields_drawn.CASES, *fields_once_more.CASES), (1e-5, 1e-6)),
    **dict.fromkeys(fields_at_random.CASES, (1e-4, 1e-7)),
    "bilateral": (1e-2, 2e-4),
    "backprojected": (1e-6, 1e-5),
}

# numba's code of the nest, which is what plain Python runs as well: of each third, and of what went wrong once
COMPILED = {*[name for name in CASES if name not in SELDOM][::3], "staged", "stored again", "swapping", "scan", "march"}
NAMES = [pytest.param(name, marks=[pytest.mark.long] if name in SELDOM else []) for name in CASES]


def checked(name, target):
    kernel, launch, arguments = CASES[name]
    return Checked(kernel, launch, arguments(np.random.default_rng(3)), 5, target=target)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_the_nest(name):
    checked(name, "python").check(*STEPS.get(name, ()))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in COMPILED else [pytest.mark.long]) for n in CASES])
def test_compiled_adjoint(name):
    # normal numbers are drawn in single precision, of which compiled code has other last bits
    _, dots = checked(name, "cpu" if name in ("walks", "metropolis") else "python").tangent()
    checked(name, "cpu").check_transposed(dots)


@pytest.mark.parametrize("which", ["", pytest.param("seldom", marks=pytest.mark.long)])
def test_nests_do_what_the_kernels_do(which):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.cuda.kernels.simulated", which]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=540)
    assert done.returncode == 0, done.stdout + done.stderr
