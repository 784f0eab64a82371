"""What numba makes of Python functions and classes beside dispatchers: ufuncs, and instances of jitclasses.

In: an object. Out: the Python functions in it.

    element_function(vectorize(f)) is f        members(JitClass(2.0))      {"times": <function times>}, {"twice": ...}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numba.core import types
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc


def element_function(thing: object) -> tuple[Callable[..., Any], tuple[str, ...]] | None:
    """The function of numbers in what numba.vectorize makes, and the types for which it was asked, `dd->d`, if it is
    for these alone; None of anything else."""
    if not isinstance(thing, DUFunc):
        return None
    made: Any = thing
    return made._dispatcher.py_func, tuple(made.types) if made._frozen else ()


def members(thing: object) -> tuple[Mapping[str, Callable[..., Any]], Mapping[str, Callable[..., Any]]] | None:
    """The methods and the getters of properties of an instance of a jitclass; None of anything else."""
    own = getattr(type(thing), "_numba_type_", None) and getattr(thing, "_numba_type_", None)
    if not isinstance(own, types.ClassInstanceType):
        return None
    methods = {name: dispatcher.py_func for name, dispatcher in own.jit_methods.items()}
    getters = {name: made["get"].py_func for name, made in own.jit_props.items() if "get" in made}
    return methods, getters


def core_function(thing: object) -> tuple[Callable[..., Any], str, Sequence[Sequence[types.Type]]] | None:
    """The function in what numba.guvectorize makes, its signature `(n),()->(n)`, and the types of its arguments, one
    sequence for each way that it was asked for; None of anything else."""
    if not isinstance(thing, GUFunc):
        return None
    made: Any = thing
    builder = made.gufunc_builder
    return builder.py_func, str(made.signature), [] if made.is_dynamic else [tuple(sig.args) for sig in builder._sigs]
