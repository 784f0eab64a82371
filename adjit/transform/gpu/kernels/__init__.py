"""Kernels and their derivatives: blocks around stretches of threads, as the loops that they are.

In: a `@cuda.jit` kernel, how it is launched and the types of its arguments. Out: a function of the IR that does what
the launch does, or what its tangent or adjoint does, to the arrays of the caller's.

    kernel ──► elaborate ──► stretches ──► shape ──► forward, or reverse of a block ──► sweeps ──► tune
"""

from adjit.transform.gpu.kernels.kernel_nest import in_few_stretches, launched, nested
from adjit.transform.gpu.kernels.launch_derivatives import Asked, derived_kernel
from adjit.transform.gpu.kernels.launches import without_levels
from adjit.transform.gpu.kernels.noalias_launches import launched_apart
from adjit.transform.gpu.kernels.race_instrumentation import telling

__all__ = [
    "Asked",
    "derived_kernel",
    "in_few_stretches",
    "launched",
    "launched_apart",
    "nested",
    "telling",
    "without_levels",
]
