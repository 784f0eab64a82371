"""Jacobians and Hessians, by columns or by rows.

In: a function of numbers and arrays. Out: a function that returns the matrix, of shape result.shape + argument.shape.

    jacfwd(f)(x)[i, j] == d f(x)[i] / d x[j]

Where the result or an argument is a tuple, or `wrt` is one, so is the Jacobian: by result first, then by argument.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from adjit.runtime.api import (
    Wrt,
    bind,
    grad,
    make_options,
    named_after,
    positions_of,
    specification,
    value_of,
)
from adjit.runtime.dispatch import derive
from adjit.runtime.trees import Template, leaves, template
from adjit.transform.derivative import WIDEST, Derivative

MOST_KEPT = 4096  # shapes of arguments that a Jacobian's choice is remembered for


def jacfwd(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, eight columns a forward sweep, in one compiled function, which @njit code can call too.

    Its parameters are the function's. For functions with more results than arguments, or not many more arguments.
    """
    return _derived(jacfwd, function, wrt, options)


def jacrev(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, a row a reverse sweep after one forward sweep, in one compiled function, as `jacfwd`.

    For functions with fewer results than arguments.
    """
    return _derived(jacrev, function, wrt, options)


def _derived(entry: Any, function: Any, wrt: Wrt, options: dict[str, Any]) -> Any:
    if function is None:
        return functools.partial(entry, wrt=wrt, **options)
    spec = specification(function)
    positions, single = positions_of(spec, wrt)
    made = Derivative(function=spec, kind=entry.__name__, wrt=positions, single=single)
    return derive(made, make_options(options))


def jacobian(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Jacobian, by columns (`jacfwd`) where that takes no more sweeps, of eight columns each, than there are rows,
    and by rows (`jacrev`) otherwise. How many results there are is found out by one evaluation for each new tuple of
    shapes (and integers) of the arguments."""
    if function is None:
        return functools.partial(jacobian, wrt=wrt, **options)
    spec, chosen = specification(function), make_options(options)
    positions, _ = positions_of(spec, wrt)
    forward, reverse = jacfwd(function, wrt, **options), jacrev(function, wrt, **options)
    taken: dict[Any, Any] = {}

    def matrix(*arguments: Any, **keywords: Any) -> Any:
        given = bind(spec, arguments, keywords) if keywords else arguments
        key = tuple(map(_kind, given))
        found = taken.get(key)
        if found is None:
            bound = bind(spec, given)
            columns = sum(_size(template(bound[p])) for p in positions)
            rows = _size(template(value_of(spec, chosen)(*bound)))
            if len(taken) >= MOST_KEPT:
                taken.clear()
            found = taken[key] = forward if -(-columns // WIDEST) <= rows else reverse
        return found(*given)

    return named_after(function, matrix)


def _kind(argument: Any) -> Any:
    """What the number of results may depend on, as far as it is cheap to know."""
    if isinstance(argument, np.ndarray):
        return argument.shape
    if isinstance(argument, tuple):
        return tuple(map(_kind, argument))
    return argument if isinstance(argument, int) else None


def hessian(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The Hessian of a scalar function: the Jacobian, by columns, of its gradient."""
    if function is None:
        return functools.partial(hessian, wrt=wrt, **options)
    return jacfwd(grad(function, wrt, **options), wrt, **options)


def _size(found: Template) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves(found) if leaf.is_active)
