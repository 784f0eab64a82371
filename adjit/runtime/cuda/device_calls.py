"""Functions that kernels call and that are made for the types of each call.

In: an object, and what makes a function for types of arguments. Out: calls of the object in kernels are typed and
compiled by the backend; in the simulator, what a simulated thread calls.

    declare(gradient, stub, make)        gradient(x[i], 2.0) in a kernel is make((float64, float64))(x[i], 2.0)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import typeof, types

from adjit.runtime.compile import register
from adjit.runtime.library.gpus import BACKEND, PACKAGES, SIMULATED, is_installed
from adjit.runtime.plain_numbers import NAMES, as_compiled


def declare(
    called: Any, stub: FunctionType, make: Callable[[Sequence[types.Type]], FunctionType], fastmath: bool
) -> None:
    """Tells what compiles kernels, where that is installed, what a call of `called` is; `stub` has its parameters."""
    if SIMULATED or not (BACKEND in PACKAGES and is_installed(BACKEND)):
        return
    from adjit.runtime.cuda.backend import overload

    names = list(stub.__code__.co_varnames[: stub.__code__.co_argcount])
    scope: dict[str, Any] = {"make__": lambda given: _for_call(stub, make, given)}
    text = f"def {stub.__name__}({', '.join(names)}):\n    return make__(({' '.join(f'{n},' for n in names)}))\n"
    exec(compile(text, "<adjit call>", "exec", dont_inherit=True), scope)
    typed = scope[stub.__name__]
    typed.__defaults__ = stub.__defaults__
    overload(called, jit_options={"fastmath": fastmath}, strict=False)(typed)


def _for_call(stub: FunctionType, make: Callable[[Sequence[types.Type]], FunctionType], given: Sequence[Any]) -> Any:
    from adjit.runtime.cuda.backend import as_numba_type

    # what is left out comes as the default itself
    found = make(list(map(as_numba_type, given)))
    found.__defaults__ = stub.__defaults__
    return found


def load(text: str, names: Mapping[str, Any], name: str, title: str) -> FunctionType:
    """The function that generated text defines: as it stands for the compiler, or for a simulated thread."""
    from adjit.runtime.cuda.launch import resolved

    filename = register(text, title)
    scope: dict[str, Any] = {"__name__": __name__, "__builtins__": __builtins__}
    scope |= {own: resolved(value) for own, value in names.items()}
    tree = ast.parse(text, filename)
    definition = tree.body[-1]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list.clear()
    if SIMULATED:
        # its `cuda` changes under a device function that another thread leaves
        scope["cuda"] = SimpleNamespace(local=SimpleNamespace(array=np.empty))
        tree = as_compiled(tree, is_single=any("float32" in said for said in (title, text)))
        scope |= NAMES
    exec(compile(tree, filename, "exec", dont_inherit=True), scope)
    found = scope[name]
    assert isinstance(found, FunctionType)
    return found


def in_simulated_kernel() -> bool:
    """Whether a simulated thread runs."""
    if not SIMULATED:
        return False
    from adjit.runtime.cuda.backend import is_in_kernel

    return is_in_kernel()


def type_of(value: Any) -> types.Type:
    """numba's type of what a simulated thread passes."""
    if isinstance(value, tuple) and value:
        return types.Tuple(tuple(map(type_of, value)))
    # arrays of the simulator's are round NumPy's
    while hasattr(value, "_item") or hasattr(value, "_ary"):
        value = value._item if hasattr(value, "_item") else value._ary
    found: types.Type = typeof(value)
    return found
