"""These run where numba simulates a GPU, which it has to know when it is imported: `tests/cuda/test_simulated.py`."""

import os

import pytest

if not os.environ.get("NUMBA_ENABLE_CUDASIM"):
    collect_ignore_glob = ["*"]


@pytest.fixture(scope="session", autouse=True)
def types_of_launches():
    """What the simulator would take and a GPU would not."""
    from tests.cuda.simulated.signatures import checked

    with checked():
        yield
