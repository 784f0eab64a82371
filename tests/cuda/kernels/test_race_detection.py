"""Races that only the data show are found with ADJIT_CUDA_CHECK=1; kernels without any pass."""

import numpy as np
import pytest
from numba import cuda, float64

from adjit.errors import Race
from tests.cuda.kernels.harness import copies, derived
from tests.cuda.kernels.maps import scattered
from tests.cuda.kernels.test_kernels import CASES, NAMES


@cuda.jit
def read_early(x, order, y):
    part = cuda.shared.array(8, float64)
    t = cuda.threadIdx.x
    part[order[t]] = x[t]
    cuda.syncthreads()
    y[t] = part[t]


@cuda.jit
def exchanged(x, order):
    t = cuda.threadIdx.x
    x[t] = x[order[t]] * 2.0


@cuda.jit
def of_all_blocks(x, y):
    y[cuda.threadIdx.x] = x[cuda.grid(1)]


@cuda.jit
def added_plainly(x, index, y):
    y[index[cuda.grid(1)]] += x[cuda.grid(1)]


X, SWAPPED = np.linspace(0.0, 1.0, 16), np.array([1, 0, 3, 2, 5, 4, 7, 6])
PLANTED = {
    "a promise broken": (scattered, (1, 8), (X[:8], np.array([0, 1, 2, 3, 4, 5, 6, 0]), np.zeros(8)), "two threads"),
    "read before stored": (read_early, (1, 8), (X[:8], np.array([0, 1, 2, 3, 4, 5, 6, 6]), np.zeros(8)), "read before"),
    "no barrier": (exchanged, (1, 8), (X[:8].copy(), SWAPPED), "two threads"),
    "two blocks": (of_all_blocks, (2, 8), (X, np.zeros(8)), "two blocks"),
    "a plain addition": (added_plainly, (1, 8), (X[:8], np.zeros(8, np.int64), np.zeros(3)), "two threads"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name, monkeypatch):
    kernel, launch, arguments, fault = PLANTED[name]
    derived(kernel, "primal", target="python")[launch](*copies(arguments))
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    with pytest.raises(Race, match=fault):
        derived(kernel, "primal", target="python")[launch](*copies(arguments))


@pytest.mark.parametrize("name", NAMES)
def test_kernels_have_no_races(name, monkeypatch):
    monkeypatch.setenv("ADJIT_CUDA_CHECK", "1")
    kernel, launch, arguments = CASES[name]
    given = arguments(np.random.default_rng(3))
    before = copies(given)
    derived(kernel, "primal", target="python")[launch](*given)
    monkeypatch.delenv("ADJIT_CUDA_CHECK")
    derived(kernel, "primal", target="python")[launch](*before)
    for one, other in zip(given, before, strict=True):
        np.testing.assert_array_equal(one, other)
