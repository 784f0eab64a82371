"""Derivatives of `@cuda.jit` kernels, and what programs for GPUs call.

adjoint = adjit.cuda.adjoint(kernel)
adjoint[grid, block](x, y, y_bar=y_bar, x_bar=x_bar)
"""

from adjit.api.kernels import adjoint, tangent

__all__ = ["adjoint", "tangent"]
