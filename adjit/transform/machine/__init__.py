"""What makes it fast on a machine, and is never differentiated: threads, SIMD lanes, vectors, memory.

In: a derivative. Out: the same, as it is compiled.

    lanes: several trips at once;  vectors: strips for libraries;  threads: trips of prange;  scratch used again
"""

from adjit.transform.machine.finite_checks import check_finite
from adjit.transform.machine.progress_polling import poll_progress
from adjit.transform.machine.steps import tune

__all__ = ["check_finite", "poll_progress", "tune"]
