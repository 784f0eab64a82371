"""`hvp`, whose last argument is the vector, whatever arguments before it are left to their defaults.

In: arguments and a vector like those of `wrt`. Out: the product of the Hessian with it.

    hvp(energy, wrt=("x", "k"))(x, k, (x_dot, k_dot))
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from adjit.api.dispatch import Derived, Interpreted
from adjit.api.trees import conform, described, template
from adjit.errors import TypeMismatch, WrongCall
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, shown


class _AlongVectors:
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
                f"{shown(made)} is called without a vector", instead="Give it last, after the function's arguments."
            )
        *primals, vector = arguments
        if len(primals) != len(names) or keywords:
            primals = list(derivatives.bound(made.function, primals, keywords, f"{shown(made)}, before the vector,"))
        vectors = (vector,) if made.single else vector
        if not isinstance(vectors, tuple | list) or len(vectors) != len(made.wrt):
            raise TypeMismatch(
                f"the vector of {shown(made)} is {described(vector)}, not a tuple of {len(made.wrt)}",
                instead="Give one vector an argument in wrt, shaped as that.",
            )
        along = tuple(
            conform(v, template(primals[p]), f"the vector along {names[p]!r}")
            for p, v in zip(made.wrt, vectors, strict=True)
        )
        return (*primals, along[0] if made.single else along)


class DerivedProduct(_AlongVectors, Derived):
    pass


class InterpretedProduct(_AlongVectors, Interpreted):
    pass
