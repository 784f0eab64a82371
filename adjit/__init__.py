"""Automatic differentiation of plain Python and numba functions, as readable source that numba compiles.

@adjit.grad
def energy(x): return x * x          energy(3.0) == 6.0
"""

from adjit.errors import (
    AdjitError,
    Aliased,
    InternalError,
    NoRule,
    NotCached,
    NotDifferentiable,
    NotScalar,
    OnlyDecides,
    Race,
    ReadOnly,
    SourceUnavailable,
    TypeMismatch,
    Unsupported,
    Unwritten,
    WrongCall,
    WrongDevice,
    WrongWrt,
)

# with it comes what numba is told of the functions that tuned files name
from adjit.runtime.backend.pool import clear_workspaces, workspace_bytes

__version__ = "0.1.0"

_DERIVATIVES = (
    "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jet", "jvp", "stop_gradient", "value_and_grad", "vjp",
    "vmap",
)  # fmt: skip
# What is loaded when it is first asked for, so that importing adjit takes little time: the module that has it.
_LOADED_LATE = {
    **dict.fromkeys(("cuda", "plot", "rules"), ""),
    **dict.fromkeys(_DERIVATIVES, "api.functions"),
    **dict.fromkeys(("cache_info", "clear_cache"), "api.specialise.cache"),
    **dict.fromkeys(("checkpoint", "intermediate"), "transform.source.marks"),
    **dict.fromkeys(("fixed_point", "implicit"), "api.tools.implicit"),
    "check_grads": "api.tools.check",
    "precompile": "api.specialise.ahead_of_time",
    "progress": "api.progress",
    "rounding_error": "api.tools.rounding",
}


def __getattr__(name: str) -> object:
    if name not in _LOADED_LATE:
        raise AttributeError(f"module 'adjit' has no attribute {name!r}")
    import importlib

    home = _LOADED_LATE[name]
    found = importlib.import_module(f"adjit.{home or name}")
    made = globals()[name] = getattr(found, name) if home else found
    return made


def __dir__() -> list[str]:
    return [*{**globals(), **_LOADED_LATE}]


__all__ = [
    "AdjitError", "Aliased", "InternalError", "NoRule", "NotCached", "NotDifferentiable", "NotScalar", "OnlyDecides",
    "Race", "ReadOnly", "SourceUnavailable", "TypeMismatch", "Unsupported", "Unwritten", "WrongCall", "WrongDevice",
    "WrongWrt", "cache_info", "check_grads", "checkpoint", "clear_cache", "clear_workspaces", "fixed_point", "grad",
    "hessian", "hvp", "implicit", "intermediate", "jacfwd", "jacobian", "jacrev", "jet", "jvp", "plot", "precompile",
    "progress", "rounding_error", "rules", "stop_gradient", "value_and_grad", "vjp", "vmap", "workspace_bytes",
]  # fmt: skip
