"""Derivatives on a GPU: derived functions that launch kernels, and `jvp` and `vjp` of arrays on the device.

In: a `Derivative`, options, arrays on the device. Out: results there; nothing is copied from or to the host.

    grad(misfit, wrt=("x", "a"), target="cuda")(x, d, w, a)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from adjit.api.arguments import type_of
from adjit.api.dispatch import TARGETS, Specialising, derive
from adjit.api.notation import to_text
from adjit.api.options import Options
from adjit.errors import Stretched, TypeMismatch, WrongCall
from adjit.runtime.backend.dispatcher import Picklable, compiler_lock
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, shown

if TYPE_CHECKING:
    from adjit.transform.emit.emit import Emitted


class OnDevice(Specialising, Picklable):
    """A derived function that launches kernels on a GPU: arrays are on the device, the results of kernels as well."""

    def __init__(self, derivative: Derivative, options: Options) -> None:
        self._describe(derivative, options)
        self.overloads: dict[tuple[types.Type, ...], Any] = {}
        self._dress()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from adjit.runtime.cuda import arrays

        bound = derivatives.bound(self.derivative, arguments, keywords)
        owner = shown(self.derivative)
        given = [arrays.given(owner, n, a) for n, a in zip(self.__signature__.parameters, bound, strict=True)]
        try:
            found = self.strict(*given)
        except Stretched:
            if self.derivative.stretches:
                raise
            found = self.stretching.strict(*given)
        return arrays.as_first(found, bound)

    def of_leaves(self, *arguments: Any) -> Any:
        """A call with arguments that are known to be taken."""
        return self(*arguments)

    def strict(self, *arguments: Any) -> Any:
        """A call with the backend's arrays, which raises Stretched where the code would have to be made anew."""
        with np.errstate(all="ignore"):
            return self._made_for(arguments)(*arguments)

    def prepare(self, *arguments: Any) -> None:
        """Makes the code for these arguments, without a call."""
        self._made_for(arguments)

    def emitted(self, *arguments: Any) -> Emitted:
        """The kernels and the function that launches them, for these arguments: values, numba types or text."""
        return self._emitted(self.derivative, self._specialised(self._types_of(arguments)))

    def source(self, *arguments: Any, tuned: bool = True) -> str:
        """The generated source for these arguments: a module with kernels and the function that launches them."""
        from adjit.transform.emit import module_text

        return module_text(self.emitted(*arguments), is_tuned=True)

    def _made_for(self, arguments: Sequence[Any]) -> Any:
        given = tuple(map(self._type_of, arguments))
        found = self.overloads.get(given)
        if found is None:
            with compiler_lock:
                found = self.overloads.get(given) or self.overloads.setdefault(given, self._compiled(given))
        return found

    def _compiled(self, given: Sequence[types.Type]) -> Any:
        from adjit.runtime.cuda import launch

        taken = self._specialised(given)
        emitted = self._emitted(self.derivative, taken)
        title = f"{emitted.name} {', '.join(map(to_text, taken))} for cuda"
        return launch.load(emitted.text, emitted.globals, emitted.name, title)

    @staticmethod
    def _type_of(argument: Any) -> types.Type:
        if isinstance(argument, tuple) and argument:
            return types.Tuple(tuple(map(OnDevice._type_of, argument)))  # type: ignore[no-untyped-call]
        if hasattr(argument, "__cuda_array_interface__") or hasattr(argument, "__cuda_ndarray__"):
            from adjit.runtime.cuda import arrays

            return arrays.type_of(argument)
        return type_of(argument)


TARGETS["cuda"] = OnDevice


# ------------------------------------------------------------------------------------------------------ jvp and vjp


def push_on_device(spec: Any, options: Options, arguments: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value, and its change along tangents, of the first so many arguments."""
    names = list(derivatives.parameters(spec).parameters)
    given = _given(spec, names, arguments)
    dots = [
        _like(tangents[k], a, f"the tangent of argument {n!r}") if k < len(tangents) else _zero(a)
        for k, (n, a) in enumerate(zip(names, given, strict=True))
    ]
    active = tuple(k for k in range(len(tangents)) if _is_active(given[k]))
    if not active:
        value = _value_of(spec, options)(*given)
        return value, _zero(value)
    found: tuple[Any, Any] = derive(Derivative(function=spec, kind="jvp", wrt=active), options)(*given, *dots)
    return found


@dataclass(eq=False, repr=False)
class PullbackOnDevice:
    """The adjoint at the arguments that the value was computed at: seed -> an adjoint an argument.

    Each call runs both sweeps; the arguments were copied, so they may be changed in between.
    """

    _spec: Any
    _value: Any
    _count: int
    _active: tuple[int, ...]
    _sweep: Any
    _arguments: tuple[Any, ...]

    def __call__(self, *seeds: Any) -> tuple[Any, ...]:
        if len(seeds) != 1:
            raise WrongCall(
                f"the pullback of {shown(self._spec)} takes one seed, not {len(seeds)}",
                instead="Give one that is shaped as the value: a tuple where that is one.",
            )
        seed = _like(seeds[0], self._value, "the seed")
        bars = () if not self._active else self._sweep(*self._arguments, seed)
        found = dict(zip(self._active, bars, strict=True))
        return tuple(found.get(k) for k in range(self._count))

    def __repr__(self) -> str:
        return f"<pullback of {shown(self._spec)} with respect to {self._active}>"

    def source(self) -> str:
        """The generated source that a call runs."""
        return str(self._sweep.source(*self._arguments, self._value)) if self._active else ""


def pull_on_device(spec: Any, options: Options, arguments: Sequence[Any], count: int) -> tuple[Any, PullbackOnDevice]:
    """The value, and the function that takes an adjoint of it to those of the first `count` arguments."""
    from adjit.runtime.cuda import memory

    given = _given(spec, list(derivatives.parameters(spec).parameters), arguments)
    kept = tuple(_mapped(lambda leaf: memory.copy(leaf) if _is_array(leaf) else leaf, a) for a in given)
    active = tuple(k for k in range(count) if _is_active(kept[k]))
    value = _value_of(spec, options)(*kept)
    sweep = derive(Derivative(function=spec, kind="vjp", wrt=active), options) if active else None
    return value, PullbackOnDevice(spec, value, count, active, sweep, kept)


def _value_of(spec: Any, options: Options) -> Any:
    return derive(spec if isinstance(spec, Derivative) else Derivative(function=spec, kind="primal", wrt=None), options)


def _given(spec: Any, names: Sequence[str], arguments: Sequence[Any]) -> tuple[Any, ...]:
    from adjit.runtime.cuda import arrays

    return tuple(arrays.given(shown(spec), n, a) for n, a in zip(names, arguments, strict=True))


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return tuple(_mapped(function, part) for part in value) if isinstance(value, tuple) else function(value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "__cuda_array_interface__") or hasattr(value, "__cuda_ndarray__")


def _is_active(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_active, value))
    return value.dtype.kind == "f" if _is_array(value) else isinstance(value, float | np.floating)


def _zero(value: Any) -> Any:
    from adjit.runtime.cuda import memory

    def zero(leaf: Any) -> Any:
        if _is_array(leaf):
            return memory.zeros_like(leaf)
        return type(leaf)(0) if isinstance(leaf, int | float | np.number) else leaf

    return _mapped(zero, value)


def _like(given: Any, wanted: Any, what: str) -> Any:
    """A seed or tangent that is like what it belongs to; TypeMismatch, in which `what` names it, where it is not."""
    from adjit.runtime.cuda import arrays

    if isinstance(wanted, tuple):
        if not isinstance(given, tuple | list) or len(given) != len(wanted):
            raise TypeMismatch(f"{what} is not a tuple of {len(wanted)}", instead="Build it like what it belongs to.")
        return tuple(_like(g, w, f"{what}[{k}]") for k, (g, w) in enumerate(zip(given, wanted, strict=True)))
    if not _is_active(wanted):
        return _zero(wanted)
    if not _is_array(wanted):
        if not isinstance(given, int | float | np.number) or isinstance(given, bool):
            raise TypeMismatch(f"{what} is of type {type(given).__name__}, not a number", instead="Give a float.")
        return type(wanted)(given)
    if not wanted.shape and isinstance(given, int | float | np.number):
        from adjit.runtime.cuda import memory

        return memory.number(given, wanted.dtype)
    if not _is_array(given) or tuple(given.shape) != tuple(wanted.shape) or given.dtype != wanted.dtype:
        raise TypeMismatch(
            f"{what} is not an array on the device of shape {tuple(wanted.shape)} and type {wanted.dtype}",
            instead="Give one that is like what it belongs to.",
        )
    return arrays.given(what, "", given)
