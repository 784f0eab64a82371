"""Kernels and their derivatives: blocks around stretches of threads, as the loops that they are.

In: a `@cuda.jit` kernel, how it is launched and the types of its arguments. Out: a function of the IR that does what
the launch does, or what its tangent or adjoint does, to the arrays of the caller's.

    kernel ──► elaborate ──► stretches ──► shape ──► forward, or reverse of a block ──► sweeps ──► tune
"""

from adjit.transform.kernels.apart import launched_apart
from adjit.transform.kernels.derived import Asked, derived_kernel
from adjit.transform.kernels.elements import by_elements
from adjit.transform.kernels.forwarding import see_through_tiles
from adjit.transform.kernels.launches import without_levels
from adjit.transform.kernels.limits import check_shared
from adjit.transform.kernels.one_stretch import in_one_stretch
from adjit.transform.kernels.races import check_races
from adjit.transform.kernels.stretches import nest
from adjit.transform.kernels.watching import telling

__all__ = [
    "Asked",
    "by_elements",
    "check_races",
    "check_shared",
    "derived_kernel",
    "in_one_stretch",
    "launched_apart",
    "nest",
    "see_through_tiles",
    "telling",
    "without_levels",
]
