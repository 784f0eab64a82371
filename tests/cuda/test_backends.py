"""Both packages that compile kernels: which one is chosen, and the tests of code with the one that is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjit.runtime.library.gpus import BACKEND, PACKAGES, is_installed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OTHER = "numba-cuda-mlir" if BACKEND == "numba-cuda" else "numba-cuda"
needs_both = pytest.mark.skipif(not all(map(is_installed, PACKAGES)), reason="needs both")

LONG = ("test_code.py", "kernels/test_device.py", "test_in_kernels.py")  # with long tests
CODE = [(name, which) for name in LONG for which in ("not long", "long")]
CODE += [(name, "not long") for name in ("test_unique.py", "test_in_order.py")]
# sums and their tails, trees, derivatives in kernels, of both precisions
FEW = [
    "test_code.py::test_no_atomics_and_no_spills[misfit]",
    "test_code.py::test_single_precision_stays_so[two_sums]",
    "test_code.py::test_device_functions_compile[float32]",
    "kernels/test_device.py::test_no_atomics_and_no_spills[log sum exp]",
    "kernels/test_device.py::test_code_adds_to_shared_memory_where_the_text_does[eliminate]",
    "kernels/test_device.py::test_code_that_would_add_to_the_wrong_memory_is_refused",
    "test_in_kernels.py::test_kernels_compile_without_spills[newton]",
]


def run(arguments, backend):
    environment = {**os.environ, "ADJIT_CUDA_BACKEND": backend, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    environment.pop("PYTEST_XDIST_WORKER", None)
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def passes(arguments):
    found = run(["-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *arguments], OTHER)
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    assert " passed" in found.stdout
    assert "skipped" not in found.stdout


@needs_both
def test_some_code_of_the_other_backend():
    passes([str(HERE / name) for name in FEW])


@needs_both
@pytest.mark.long
@pytest.mark.parametrize(("file", "which"), CODE)
def test_all_code_of_the_other_backend(file, which):
    passes(["-m", which, "-k", "compile or code or spill or atomic or precision or device or powers", str(HERE / file)])


@needs_both
def test_kernels_that_are_written_for_the_successor():
    found = run(["-m", "tests.cuda.of_mlir"], "numba-cuda-mlir")
    assert found.returncode == 0, found.stdout + found.stderr


def test_a_backend_that_is_not_known():
    text = (
        "import numpy as np, adjit\ntry:\n    adjit.cuda.backend()\nexcept adjit.WrongCall as fault:\n    print(fault)"
    )
    found = run(["-c", text], "opencl")
    assert "ADJIT_CUDA_BACKEND=opencl" in found.stdout, found.stderr
    assert "numba-cuda or numba-cuda-mlir" in found.stdout
