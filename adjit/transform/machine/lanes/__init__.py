"""Several trips of an outer loop at once, in the lanes of SIMD registers.

In: a function. Out: the same, with a last loop over lanes in blocks that are laid out for it.

    lay_lanes(function, ...)      for k in range(n): ...   ->   for k in range(0, n, width): for j in range(width)
"""

from adjit.transform.machine.lanes.extrema import write_extrema
from adjit.transform.machine.lanes.lanes import LEAST_LANES, fitting_lanes, lay_lanes

__all__ = ["LEAST_LANES", "fitting_lanes", "lay_lanes", "write_extrema"]
