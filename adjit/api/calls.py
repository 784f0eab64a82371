"""Derived functions that do something of their own in a call: `jacobian` and `hvp`.

In: arguments. Out: the matrix that `jacfwd` or `jacrev` gives; the product of the Hessian with the vector.

    jacobian(residuals)(x)                         30 residuals of 4 numbers: one sweep of four columns
    hvp(energy, wrt=("x", "k"))(x, k, (x_dot, k_dot))
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import types

from adjit.api.arguments.trees import Template, conform, leaves, parts_of, template
from adjit.errors import WrongCall
from adjit.runtime.library.gpus import is_on_device
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import WIDEST, Derivative, shown

MOST_KEPT = 4096  # shapes of arguments that a Jacobian's choice is remembered for


class Choosing:
    """Each call of `jacobian` is one by columns, if that takes no more sweeps than there are rows, or by rows."""

    derivative: Derivative
    _derived: Callable[[Derivative], Any]
    _in_place: Callable[[Derivative], Any]

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
    def _ways(self) -> Sequence[Any]:
        """The Jacobian by columns, and by rows."""
        kinds = ("jacfwd", "jacrev")
        title = self.derivative.title
        return [self._in_place(dataclasses.replace(self.derivative, kind=kind, called=title)) for kind in kinds]

    @property
    def _valued(self) -> Derivative:
        """What gives the values that there is a row for each of."""
        inner = self.derivative.function
        return inner if isinstance(inner, Derivative) else Derivative(inner, "primal")

    def _suited(self, arguments: Sequence[Any]) -> Any:
        made = self.derivative
        given = derivatives.bound(made, arguments)
        assert made.wrt is not None
        columns = sum(_size(template(given[p])) for p in made.wrt)
        rows = _size(template(self._derived(self._valued)(*given)))
        return self._ways[-(-columns // WIDEST) > rows]

    def precompile(self, *arguments: Any) -> None:
        """As of any derivative; of types alone both ways, since which of them a call takes depends on sizes."""
        suited = self._for(arguments)
        for one in (*self._ways, self._derived(self._valued)) if suited is self else (suited,):
            one.precompile(*arguments)

    def _for(self, arguments: Sequence[Any]) -> Any:
        """What a call with these values runs, or, without any, the calls so far; of types alone no sizes are known."""
        if not arguments:
            called = [way for way in self._ways if way.overloads]
            return called[0] if len(called) == 1 else self
        return self if any(isinstance(a, types.Type | str) for a in arguments) else self._suited(arguments)


def _kind(argument: Any) -> Any:
    """What the number of results may depend on, as far as it is cheap to know."""
    if isinstance(argument, np.ndarray) or is_on_device(argument):
        return tuple(argument.shape)
    if isinstance(argument, tuple):
        return tuple(map(_kind, argument))
    return argument if isinstance(argument, int) else None


def _size(found: Template) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves(found) if leaf.is_active)


class AlongVectors:
    """The last argument of a call of `hvp` is the vector, whatever arguments before it are left to their defaults."""

    derivative: Derivative

    @functools.cached_property
    def _taken(self) -> tuple[Derivative, list[str], str]:
        """What is derived, the names of its arguments, and that of the vector; looked up once, for the calls' sake."""
        *names, last = derivatives.parameters(self.derivative).parameters
        return self.derivative, names, last

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return super().__call__(*self._complete(arguments, keywords))  # type: ignore[misc]

    def _complete(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments, and last the vector with the types of those that it belongs to."""
        made, names, last = self._taken
        assert made.wrt is not None
        if last in keywords:
            arguments = (*arguments, keywords[last])
            keywords = {name: value for name, value in keywords.items() if name != last}
        if not arguments:
            raise WrongCall(
                f"{shown(made)} is called without a vector",
                instead="Give the vector last, after the function's arguments.",
            )
        *primals, vector = arguments
        if len(primals) != len(names) or keywords:
            primals = list(derivatives.bound(made.function, primals, keywords, f"{shown(made)}, before the vector,"))
        instead = "Give one vector per argument in wrt, with the shape of the argument."
        vectors = (vector,) if made.single else vector
        vectors = parts_of(vectors, len(made.wrt), f"the vector of {shown(made)} is", instead)
        along = tuple(
            conform(v, template(primals[p]), f"the vector along {names[p]!r}")
            for p, v in zip(made.wrt, vectors, strict=True)
        )
        return (*primals, along[0] if made.single else along)
