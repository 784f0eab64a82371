"""`jacobian`, which is by columns or by rows, as the sizes in a call suggest.

In: arguments. Out: the matrix that `jacfwd` or `jacrev` gives, whichever takes fewer sweeps.

    jacobian(residuals)(x)      30 residuals of 4 numbers: one sweep of four columns
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.api.dispatch import Derived, Interpreted, derive
from adjit.api.trees import Template, leaves, template
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import WIDEST, Derivative

MOST_KEPT = 4096  # shapes of arguments that a Jacobian's choice is remembered for


class _Choosing:
    """Each call goes to the Jacobian by columns, if that takes no more sweeps than there are rows, or by rows."""

    derivative: Derivative
    options: Any

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if keywords:
            arguments = derivatives.bound(self.derivative, arguments, keywords)
        key = tuple(map(_kind, arguments))
        found = self._taken.get(key)
        if found is None:
            if len(self._taken) >= MOST_KEPT:
                self._taken.clear()
            found = self._taken[key] = self._suited(arguments)
        return found(*arguments)

    @functools.cached_property
    def _taken(self) -> dict[Any, Any]:
        return {}

    @functools.cached_property
    def _ways(self) -> tuple[Any, Any]:
        """The Jacobian by columns, and by rows."""
        kinds = (dataclasses.replace(self.derivative, kind=kind) for kind in ("jacfwd", "jacrev"))
        by_columns, by_rows = (derive(made, self.options) for made in kinds)
        return by_columns, by_rows

    def _suited(self, arguments: Sequence[Any]) -> Any:
        made = self.derivative
        given = derivatives.bound(made, arguments)
        assert made.wrt is not None
        columns = sum(_size(template(given[p])) for p in made.wrt)
        inner = made.function if isinstance(made.function, Derivative) else Derivative(made.function, "primal")
        rows = _size(template(derive(inner, self.options)(*given)))
        return self._ways[-(-columns // WIDEST) > rows]

    def _for(self, arguments: Sequence[Any]) -> Any:
        """What a call with these values runs, or, without any, the calls so far; of types alone no sizes are known."""
        if not arguments:
            called = [way for way in self._ways if way.seen()]
            return called[0] if len(called) == 1 else self
        return self if any(isinstance(a, types.Type | str) for a in arguments) else self._suited(arguments)


class DerivedJacobian(_Choosing, Derived):
    pass


class InterpretedJacobian(_Choosing, Interpreted):
    pass


def _kind(argument: Any) -> Any:
    """What the number of results may depend on, as far as it is cheap to know."""
    if isinstance(argument, np.ndarray):
        return argument.shape
    if isinstance(argument, tuple):
        return tuple(map(_kind, argument))
    return argument if isinstance(argument, int) else None


def _size(found: Template) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves(found) if leaf.is_active)
