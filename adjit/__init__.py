"""Automatic differentiation of plain Python and numba functions, as readable source that numba compiles.

@adjit.grad
def energy(x): return x * x          energy(3.0) == 6.0
"""

from adjit import rules
from adjit.api.ahead import precompile
from adjit.api.cache import cache_info, clear_cache
from adjit.api.functions import (
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jet,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from adjit.api.tools.check import check_grads
from adjit.api.tools.implicit import fixed_point, implicit
from adjit.api.tools.rounding import rounding_error
from adjit.errors import (
    AdjitError,
    Aliased,
    InternalError,
    NoRule,
    NotCached,
    NotScalar,
    Race,
    SourceUnavailable,
    TypeMismatch,
    Unsupported,
    Unwritten,
    WrongCall,
    WrongDevice,
    WrongWrt,
)
from adjit.runtime.backend.pool import clear_workspaces, workspace_bytes
from adjit.transform.source.marks import checkpoint, intermediate

__version__ = "0.1.0"

_LOADED_LATE = {
    "cuda": ("adjit.cuda", ""),
    "plot": ("adjit.plot", ""),
    "progress": ("adjit.api.progress", "progress"),
}


def __getattr__(name: str) -> object:
    if name in _LOADED_LATE:
        import importlib

        module, part = _LOADED_LATE[name]
        found = importlib.import_module(module)
        return getattr(found, part) if part else found
    raise AttributeError(f"module 'adjit' has no attribute {name!r}")


__all__ = [
    "AdjitError", "Aliased", "InternalError", "NoRule", "NotCached", "NotScalar", "Race", "SourceUnavailable",
    "TypeMismatch", "Unsupported", "Unwritten", "WrongCall", "WrongDevice", "WrongWrt", "cache_info", "check_grads",
    "checkpoint", "clear_cache", "clear_workspaces", "fixed_point", "grad", "hessian", "hvp", "implicit",
    "intermediate", "jacfwd", "jacobian", "jacrev", "jet", "jvp", "plot", "precompile", "progress", "rounding_error",
    "rules", "stop_gradient", "value_and_grad", "vjp", "vmap", "workspace_bytes",
]  # fmt: skip
