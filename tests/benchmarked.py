"""The modules of the benchmarks, which import each other by their names alone.

from tests.benchmarked import kinds
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "bench"

sys.path.append(str(ROOT / "benchmarks"))

import array_code  # noqa: E402
import kinds  # noqa: E402
import mechanisms  # noqa: E402
import numpy_style  # noqa: E402
import softmax  # noqa: E402
import workloads  # noqa: E402

# one of the benchmarks is called as a package of NVIDIA's is, which kernels need
sys.path.remove(str(ROOT / "benchmarks"))

__all__ = ["ROOT", "SHARED", "array_code", "kinds", "mechanisms", "numpy_style", "softmax", "workloads"]
