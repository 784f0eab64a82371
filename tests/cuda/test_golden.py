"""Generated sources for a GPU, reviewed like code, the same byte for byte each time.

After a change that is meant to change them: `pytest tests/cuda/test_golden.py --update-golden`, and read what differs.
"""

from pathlib import Path

import pytest

import adjit
import adjit.cuda
from tests.cuda.kernels import blocks
from tests.cuda.simulated.functions import centred, misfit, seep

CASES = {
    "misfit_grad": (
        adjit.grad(misfit, wrt=("x", "w", "a"), target="cuda"),
        "float64[:], float64[:], float64[:], float64[:]",
    ),
    "seep_grad": (adjit.grad(seep, wrt=("p0", "k"), target="cuda"), "float32[:], float32[:], int64"),
    "centred_jacobian": (adjit.jacfwd(centred, target="cuda"), "float64[:, :]"),
}


@pytest.mark.parametrize("name", CASES)
def test_output(name, request):
    derived, types = CASES[name]
    text, file = derived.source(types) + "\n", Path(__file__).parent / "golden" / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert text == derived.source(types) + "\n"


KERNELS = {
    "fir_adjoint": (blocks.fir, "float64[::1], float64[::1], float64[::1]"),
    "log_sum_exp_adjoint": (blocks.log_sum_exp, "float64[:, ::1], float64[::1]"),
    "staged_adjoint": (blocks.staged, "float64[:, ::1], float64[::1], float64[::1]"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_adjoints_of_kernels(name, request):
    kernel, types = KERNELS[name]
    text = adjit.cuda.adjoint(kernel).source(types, block=8) + "\n"
    file = Path(__file__).parent / "golden" / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_explanation():
    derived, types = CASES["misfit_grad"]
    text, file = f"{derived.explain(types)}\n", Path(__file__).parent / "golden" / "misfit_explained.txt"
    assert text == file.read_text(encoding="utf-8")
