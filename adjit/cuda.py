"""Derivatives of `@cuda.jit` kernels, and in them; what generated code for a GPU calls; what users need besides.

What is named here is imported when it is asked for first, and the backend not before.

    adjoint = adjit.cuda.adjoint(kernel)
    adjoint[grid, block](x, y, y_bar=y_bar, x_bar=x_bar)

    y[adjit.cuda.unique(k)[i]]                      a promise that no two elements of k are the same
    newton = adjit.cuda.device(newton_step)         a function for kernels that calls adjit.grad itself

    from adjit.cuda import cover, empty_like        as generated text has it
    with adjit.cuda.on(stream): gradient(x, y)      launches go to that stream
    step = adjit.cuda.graph(gradient, x, y)         step() issues all of its launches as one
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "arrays": "is_device_array",
    "backend": "backend",
    "device": "THREADS block_max block_min block_number block_sum block_total cbrt ceil degrees floor fmax fmin "
    "greater heaviside lesser logaddexp logaddexp2 logical_and logical_or max_of_parts maximum "
    "min_of_parts minimum radians rint row_barrier row_max row_min row_sum sign signbit sum_of_parts "
    "thread_number trunc",
    "launch": "block_count bounds cover in_blocks one_block one_thread parts row_count rows rows_across rows_along "
    "share spread thread_count",
    "memory": "arange check_apart check_output check_separate clear_workspaces constant copy copy_in_f_order empty "
    "empty_like full full_like linspace number ones ones_like read reshaped sliced transposed zeros zeros_like",
    "ordered_sums": "add_in_order",
    "promises": "unique",
    "streams": "current on",
}
_MODULES = {name: f"adjit.runtime.cuda.{module}" for module, names in _HOMES.items() for name in names.split()}
_MODULES |= dict.fromkeys(("adjoint", "tangent"), "adjit.api.gpu.kernels")
_MODULES |= {"device": "adjit.api.gpu.in_kernels", "graph": "adjit.api.gpu.graphs"}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'adjit.cuda' has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
