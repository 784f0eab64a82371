"""Derivatives of methods, partials and objects that are called: of their function, at what they hold at the call.

In: a bound method, a `functools.partial`, an object with `__call__`. Out: its function, and the arguments that it has.

    grad(model.loss)(x)     grad(Model.loss, wrt="x")(model, x): the model is read at each call
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any

from adjit.errors import Unsupported
from adjit.transform.source.callables import held_by, outermost, python_function, signature
from adjit.transform.source.derivative import Wrt, check_call, positions_of, shown
from adjit.transform.source.parameters import plain


class Bound:
    """A function of which some parameters are given by name: `held`, which is read at each call."""

    def __init__(self, function: Any, held: Mapping[str, Any]) -> None:
        self.function, self.held = function, dict(held)
        self.names = list(plain(shown(function), signature(python_function(function))).parameters)
        self.free = [name for name in self.names if name not in self.held]
        own = signature(python_function(function)).parameters
        self.signature = inspect.Signature([own[name] for name in self.free])

    def positions(self, wrt: Wrt) -> Wrt:
        """`wrt` among all parameters."""
        single = isinstance(wrt, int | str)
        asked = [wrt] if isinstance(wrt, int | str) else list(wrt)
        found = [
            self.free[one] if isinstance(one, int) and -len(self.free) <= one < len(self.free) else one for one in asked
        ]
        positions_of(self.function, found)
        return found[0] if single else tuple(found)

    def places(self, count: int) -> list[int]:
        """Where so many arguments of a call are among all parameters."""
        return [self.names.index(name) for name in self.free[:count]]

    def all(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments of a call, in order."""
        check_call(shown(self.function), self.signature, len(arguments), keywords)
        given = self.signature.bind(*arguments, **keywords)
        given.apply_defaults()
        everything = self.held | given.arguments
        return tuple(everything[name] for name in self.names)


def bound(function: Any) -> Bound | None:
    """What a method, a partial or an object that is called is made of, or one of those of another; None for a
    function."""
    args: tuple[Any, ...] = ()
    named: dict[str, Any] = {}
    inner = function
    while (held := held_by(inner)) is not None:
        inner, args, named = held[0], held[1] + args, {**held[2], **named}
    if inner is function:
        return None
    if (instead := outermost(function)) is not None:
        raise Unsupported(f"a derivative of {function!r}", instead=instead)
    return Bound(inner, signature(python_function(inner)).bind_partial(*args, **named).arguments)


class BoundDerived:
    """A derived function of what is bound: the object's state when it is called is what counts."""

    _adjit_outermost = 'Name the parameter and pass the object: adjit.grad(adjit.grad(A.f, wrt="x"), wrt="x")(a, x).'

    def __init__(self, derived: Any, whole: Bound, more: int) -> None:
        self._derived, self._whole, self._more = derived, whole, more  # arguments after the function's own
        functools.update_wrapper(self, python_function(whole.function), updated=())
        self.__signature__ = whole.signature

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        own = len(arguments) - self._more
        return self._derived(*self._whole.all(arguments[:own], keywords), *arguments[own:])

    def __repr__(self) -> str:
        return repr(self._derived)

    def source(self, *arguments: Any, tuned: bool = False) -> str:
        """The generated source for these arguments, which are values."""
        return str(self._derived.source(*self._whole.all(arguments, {}), tuned=tuned))

    def precompile(self, *arguments: Any) -> None:
        """Compiles for these arguments, which are values, and keeps that; as `adjit.precompile`."""
        self._derived.precompile(*self._whole.all(arguments, {}))

    def explain(self, *arguments: Any) -> Any:
        """What was decided for these arguments, which are values."""
        return self._derived.explain(*self._whole.all(arguments, {}))

    def report(self, path: str | os.PathLike[str], *arguments: Any) -> None:
        """Writes a page for these arguments, which are values, to be looked at in a browser."""
        self._derived.report(path, *self._whole.all(arguments, {}))
