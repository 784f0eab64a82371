"""What is compiled from the text computes the same bits as what numba makes of bytecode: goldens, and the benchmarks.

Random programs are compared so by `tests/random_programs/checks.py`.
"""

import copy
import runpy

import numpy as np
import pytest
from numba import njit

import adjit
from adjit.api.specialise import dispatch
from adjit.runtime.backend.compiler import GeneratedCompiler
from adjit.runtime.backend.versions import is_plain
from tests.benchmarked import SHARED, kinds, softmax, workloads
from tests.golden.generate import OUTPUTS, golden
from tests.runtime.backend.flow import bits

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")


def both_ways(make, arguments, monkeypatch):
    """What a function gives that is compiled anew by each way."""
    found = []
    for switch in "10":
        monkeypatch.setenv("ADJIT_READING", switch)
        # what is derived is kept, and would be what it was
        dispatch._slot.cache_clear()
        found.append(bits(make()(*copy.deepcopy(arguments))))
    return found


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("case", "tuned"), OUTPUTS, ids=[f"{case.name}{', tuned' * tuned}" for case, tuned in OUTPUTS])
def test_goldens(case, tuned, monkeypatch):
    *_, saved = runpy.run_path(str(golden(case, tuned))).values()
    arguments = case.arguments
    if case.mode == "forward":
        arguments = (*arguments, *(np.ones_like(a)[()] for a in map(np.asarray, arguments)))
    own, plain = both_ways(lambda: njit(pipeline_class=GeneratedCompiler)(saved.py_func), arguments, monkeypatch)
    assert own == plain


WORKLOADS = [
    *workloads.own("small"), *kinds.kinds("small"), *softmax.softmaxes("small"), *softmax.products("small"),
    *workloads.shared(SHARED, "small"),
]  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_benchmarks(workload, monkeypatch):
    own, plain = both_ways(
        lambda: adjit.value_and_grad(workload.function, wrt=workload.wrt, cache=False), workload.arguments, monkeypatch
    )
    assert own == plain
