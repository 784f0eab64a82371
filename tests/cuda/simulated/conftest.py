"""These run where numba simulates a GPU, which it has to know when it is imported: `tests/cuda/test_simulated.py`."""

import os

if not os.environ.get("NUMBA_ENABLE_CUDASIM"):
    collect_ignore_glob = ["*"]
