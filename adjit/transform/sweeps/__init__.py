"""Both sweeps as one would write them.

In: sweeps with a mirror. Out: a function: joined, loops back to back, clears and sums where they belong, gathered.

    both_sweeps(sweeps, ...)      the forward sweep, then the reverse sweep;  sweeps_apart: to be split between them
"""

from adjit.transform.sweeps.gather import gather_at_once
from adjit.transform.sweeps.output_arrays import into
from adjit.transform.sweeps.split import split
from adjit.transform.sweeps.sweeps import both_sweeps, sweeps_apart
from adjit.transform.sweeps.transposition import transposed_tangent

__all__ = ["both_sweeps", "gather_at_once", "into", "split", "sweeps_apart", "transposed_tangent"]
