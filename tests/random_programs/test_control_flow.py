"""Random programs of control flow, compiled from their text: some of them here, 20,000 by `make test-long`."""

import pytest

from adjit.runtime.backend.versions import is_plain
from tests.random_programs.control_flow import check_gradients, check_values


@pytest.mark.skipif(is_plain(), reason="numba's own means are used")
@pytest.mark.parametrize("first", range(0, 100, 50))
def test_values_of_some_random_programs(first):
    failures = [failure for seed in range(first, first + 50) if (failure := check_values(seed))]
    assert not failures, failures[0]


@pytest.mark.parametrize("first", range(0, 8, 4))
def test_derivatives_of_some_random_programs(first):
    failures = [failure for seed in range(first, first + 4) if (failure := check_gradients(seed))]
    assert not failures, failures[0]
