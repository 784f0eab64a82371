"""The code of generated kernels, for compute capabilities 8.0 and 9.0: compiled, and assembled where ptxas is there."""

import importlib.util

import pytest

import adjit
from tests.cuda.simulated.functions import chain, misfit, seep

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="needs numba-cuda")

OWN = [
    (adjit.value_and_grad(misfit, wrt=("x", "w", "a"), target="cuda"), "{0}[:], {0}[:], {0}[:], {0}[:]"),
    (adjit.grad(seep, wrt=("p0", "k"), target="cuda"), "{0}[:], {0}[:], int64"),
]


@pytest.mark.parametrize("cc", [(8, 0), (9, 0)])
@pytest.mark.parametrize("derived, types", OWN)
def test_own_elements_and_gathers_need_no_atomics(derived, types, cc):
    from tests.cuda.compiled import report

    for name, code in report(derived, types.format("float64"), cc).items():
        assert code.atomics == 0, name
        assert not code.spills, name


def test_float32_stays_so():
    from tests.cuda.compiled import report

    derived = adjit.jacfwd(chain, wrt="x", target="cuda")
    for name, code in report(derived, "float32[:], float32[:]").items():
        # the range reduction inside sinf and cosf has up to three instructions in double precision, each
        assert code.doubles <= 6 * 8, name
