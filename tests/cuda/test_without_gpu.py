"""What holds without a GPU, and without the packages for one."""

import subprocess
import sys

import numpy as np
import pytest

import adjit
from tests.cuda.compiled import adjoint
from tests.cuda.simulated.functions import FUNCTIONS, misfit


def run(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)


def test_import_adjit_imports_no_package_for_gpus():
    text = """
import sys, numpy as np, adjit, adjit.cuda
from tests.cuda.simulated.functions import norm
adjit.grad(norm, target="cuda").source("float64[:]")
loaded = {name.partition(".")[0] for name in sys.modules} & {"numba_cuda", "numba_cuda_mlir", "cupy", "torch", "cuda"}
assert not loaded and "numba.cuda" not in sys.modules, loaded
"""
    found = run(text)
    assert found.returncode == 0, found.stderr


WITHOUT_COMPILER = """
import importlib.util
there = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.startswith("numba_cuda") else there(name, *rest)
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [(WITHOUT_COMPILER, "adjit[cuda]"), ("del np.row_stack", "numpy<2.5")],
    ids=["no compiler", "NumPy too new for it"],
)
def test_it_says_what_to_install(before, said):
    text = f"""
import numpy as np
{before}
import adjit
try:
    from tests.cuda.simulated.functions import norm
    adjit.grad(norm, target="cuda")(np.ones(3))
except adjit.Unsupported as fault:
    assert "{said}" in str(fault), fault
else:
    raise SystemExit("nothing was raised")
"""
    found = run(text)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("option", [{"boundscheck": True}, {"debug": "nan"}, {"cache": True}, {"parallel": True}])
def test_options_that_kernels_do_not_have(option):
    with pytest.raises(adjit.WrongCall, match='target="cuda"'):
        adjit.grad(misfit, target="cuda", **option)


def test_source_needs_no_gpu():
    text = adjit.grad(misfit, wrt=("x", "a"), target="cuda").source("float64[:], float64[:], float64[:], float64[:]")
    assert "from numba import cuda" in text
    assert "from adjit.cuda import" in text
    compile(text, "<source>", "exec")
    assert np.sum([line.startswith("@cuda.jit(") for line in text.splitlines()]) == 2


@pytest.mark.parametrize(
    "name", ["outer_product", "pairs", "softmax_rows", "loss_of_rows", "broadcast", "nearest", "largest_of_rows"]
)
def test_what_rows_add_to_one_element_is_no_atomic_addition(name):
    # neither where the values that are added are stored in the same trip, nor through views with an axis of one element
    function, shapes = FUNCTIONS[name]
    derived, types = adjoint(function, shapes, "float64")
    assert "cuda.atomic" not in derived.emitted(types).text


def test_fastmath_is_handed_on():
    types = "float64[:], float64[:], float64[:], float64[:]"
    assert "fastmath" not in adjit.grad(misfit, target="cuda").source(types)
    text = adjit.grad(misfit, target="cuda", fastmath=True).source(types)
    assert text.count("fastmath=True") == text.count("@cuda.jit(")
