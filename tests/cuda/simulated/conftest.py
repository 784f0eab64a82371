"""These run where numba simulates a GPU, which it has to know when it is imported: `tests/cuda/test_simulated.py`.

With ADJIT_TEST_GPU=1 they run on a GPU: `make test-cuda`.
"""

import os

import pytest

ON_GPU = bool(os.environ.get("ADJIT_TEST_GPU"))
SIMULATED = bool(os.environ.get("NUMBA_ENABLE_CUDASIM"))

if not SIMULATED and not ON_GPU:
    collect_ignore_glob = ["*"]


def pytest_collection_modifyitems(config, items):
    """Leaves out what needs a GPU in the simulator, and on a GPU what needs the simulator."""
    other = "gpu" if SIMULATED else "simulator"
    out = [item for item in items if item.get_closest_marker(other)]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


@pytest.fixture(scope="session", autouse=True)
def types_of_launches():
    """What the simulator would take and a GPU would not."""
    if not SIMULATED:
        yield
        return
    from tests.cuda.simulated.signatures import checked

    with checked():
        yield
