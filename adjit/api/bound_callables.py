"""Derivatives of methods, partials and objects that are called: of their function, at what they hold at the call.

In: a bound method, a `functools.partial`, an object with `__call__`. Out: its function, and the arguments that it has.

    grad(model.loss)(x)     grad(Model.loss, wrt="x")(model, x): the model is read at each call

And of functions with `*` and `**` parameters, with a parameter per argument of a call.

    def energy(*args, **options)        energy(x, y, k=2.0) has the parameters args_0, args_1 and k
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjit.api.specialise.notation import names_types, to_types
from adjit.errors import SourceUnavailable, Unsupported, WrongCall
from adjit.transform.source.callables import held_by, outermost, python_function, signature
from adjit.transform.source.derivative import Spread, Wrt, check_call, derivative_of, positions_of, shown
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


# -------------------------------------------------------------------------------------------- `*` and `**` parameters


def has_stars(function: Any) -> bool:
    """Whether it is a function with such parameters, or a derived function of one."""
    if isinstance(function, SpreadDerived):
        return True
    if derivative_of(function) is not None:
        return False
    try:
        code = python_function(function).__code__
    except SourceUnavailable:
        return False
    return bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


def spread(function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Spread, tuple[Any, ...]]:
    """The function with a parameter per argument of this call, and their values; WrongCall if the call does not fit."""
    own = signature(python_function(function))
    check_call(shown(function), own, len(arguments), keywords)
    found = own.bind(*arguments, **keywords)
    found.apply_defaults()
    spec = Spread(function, len(found.args), tuple(found.kwargs))
    return spec, (*found.args, *found.kwargs.values())


def called(spec: Spread, *given: Any) -> Any:
    """What the function returns for the values of these parameters."""
    return spec.function(*given[: spec.count], **dict(zip(spec.keywords, given[spec.count :], strict=True)))


class SpreadDerived:
    """A derived function of such a function. `more`: how many arguments come after the function's own."""

    _adjit_outermost = "Write a function with named parameters that calls it, and differentiate that."

    def __init__(self, function: Any, make: Callable[[Any], Any], title: str, more: int) -> None:
        self._inner: SpreadDerived | None = function if isinstance(function, SpreadDerived) else None
        self._function: Any = function if self._inner is None else self._inner._function
        self._more: int = more if self._inner is None else more + self._inner._more
        self._make, self._title = make, title
        self._made: dict[Spread, Any] = {}
        plain = python_function(self._function)
        functools.update_wrapper(self, plain, updated=())
        self.__signature__ = signature(plain)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        run, given = self._for(arguments, keywords)
        return run(*given)

    def __repr__(self) -> str:
        return f"<{self._title} of {shown(self._function) if self._inner is None else repr(self._inner)}>"

    def source(self, *arguments: Any, tuned: bool = False, **keywords: Any) -> str:
        """The generated source for these arguments, values or types."""
        run, given = self._for(_apart(arguments), keywords)
        return str(run.source(*given, tuned=tuned))

    def save(self, path: str | os.PathLike[str], *arguments: Any, tuned: bool = False, **keywords: Any) -> None:
        """Writes that source as a module with all that it needs; as `save` of other derivatives."""
        run, given = self._for(_apart(arguments), keywords)
        run.save(path, *given, tuned=tuned)

    def precompile(self, *arguments: Any, **keywords: Any) -> None:
        """Compiles for these arguments, and keeps that; as `adjit.precompile`."""
        run, given = self._for(_apart(arguments), keywords)
        run.precompile(*given)

    def explain(self, *arguments: Any, **keywords: Any) -> Any:
        """What was decided for these arguments, and why."""
        run, given = self._for(_apart(arguments), keywords)
        return run.explain(*given)

    def report(self, path: str | os.PathLike[str], *arguments: Any, **keywords: Any) -> None:
        """Writes a page for the browser, for these arguments."""
        run, given = self._for(_apart(arguments), keywords)
        run.report(path, *given)

    def into(self, *arguments: Any, out: Any, **keywords: Any) -> Any:
        """What a call returns, with the gradient stored in arrays of the caller's."""
        run, given = self._for(arguments, keywords)
        return run.into(*given, out=out)

    def _of(self, spec: Spread) -> Any:
        """The derived function for calls of this kind."""
        if spec not in self._made:
            self._made[spec] = self._make(spec if self._inner is None else self._inner._of(spec))
        return self._made[spec]

    def _for(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """What runs for these arguments, and what it is called with."""
        own = len(arguments) - self._more
        if own < 0:
            raise WrongCall(f"{self!r} is called without a vector", instead="Give it last.")
        spec, given = spread(self._function, arguments[:own], keywords)
        return self._of(spec), (*given, *arguments[own:])


def _apart(arguments: Sequence[Any]) -> list[Any]:
    """The arguments of `source` and the like, with types in one string apart."""
    return [
        one
        for argument in arguments
        for one in (to_types(argument) if isinstance(argument, str) and names_types(argument) else (argument,))
    ]
