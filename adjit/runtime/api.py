"""The public transformations of functions.

In: a Python function, a numba dispatcher, or what these return. Out: derived functions, or values and derivatives.

    grad(energy, wrt="x")(x, k)              the gradient, shaped as x
    value, pullback = vjp(forces, x, k)      pullback(seed) == (x_bar, k_bar)
    value, tangent = jvp(forces, (x, k), (x_dot, 0.0))

Every function takes the options `target` ("cpu", or "python" to run the generated code uncompiled), `fastmath`
(numba's flags), `parallel` (loops over prange run in parallel, where it is proved that they may; the source says so of
each, and the result does not depend on the number of threads), `vectormath` (elementary functions of our own in loops
that vectorise; they may differ from libm's by 1 ulp, erfc by 2), `cache` (what is compiled is kept for later
processes) and `memory_limit` ("200 MB", or bytes): loops that would keep values of all their trips run them again
instead, from as many snapshots of what a trip starts from as fit, by Griewank and Walther's schedule. With `fastmath`
and `vectormath` False the value is that of the compiled primal bit for bit.

Global and enclosing variables are constants, as in numba: a derived function keeps the values that they had when it
was made for the types of a call. Asking again (`grad(energy)`, or any call of `vjp` and the like) sees a name that was
bound anew, but not an array whose elements changed. A pullback belongs to the values that its forward sweep saw.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numba import types
from numba.extending import overload, typeof_impl

from adjit import rules
from adjit.errors import Stretched, TypeMismatch, WrongWrt
from adjit.runtime.dispatch import Derived, Interpreted, Options, derive, plain_signature
from adjit.runtime.notation import to_bytes
from adjit.runtime.trees import Template, conform, described, is_active, snapshot, template, zero
from adjit.transform import derivative as derivatives
from adjit.transform.derivative import Derivative
from adjit.transform.marks import Checkpointed, checkpoint

Wrt = int | str | Sequence[int | str]
Value = TypeVar("Value")


def grad(function: Any = None, wrt: Wrt = 0, *, has_aux: bool = False, **options: Any) -> Any:
    """The gradient of a function whose result is one real number, with respect to the parameters that `wrt` names.

    A single `wrt` gives a bare gradient with the shape of that argument, a tuple gives a tuple. With `has_aux` the
    function returns (value, aux) and the result is (gradient, aux). Also a decorator: `@grad`, `@grad(wrt="x")`.
    Raises NotScalar, WrongWrt and whatever stands in the way of differentiating the function, at the first call.
    """
    return _derived(function, "grad", wrt, has_aux, options)


def value_and_grad(function: Any = None, wrt: Wrt = 0, *, has_aux: bool = False, **options: Any) -> Any:
    """Like `grad`, and the value with it: (value, gradient), or ((value, aux), gradient)."""
    return _derived(function, "value_and_grad", wrt, has_aux, options)


def jvp(function: Any, primals: Sequence[Any], tangents: Sequence[Any], **options: Any) -> tuple[Any, Any]:
    """The value at `primals` and its change along `tangents`, one an argument, shaped as the arguments.

    The tangent of an integer or boolean is ignored; that of a complex argument, which is held fixed, has to be zero.
    Raises TypeMismatch if a tangent is unlike its argument.
    """
    spec, chosen = specification(function), make_options(options)
    arguments = bind(spec, primals)
    if not isinstance(tangents, tuple | list) or len(tangents) != len(primals):
        raise TypeMismatch(f"the tangents are {described(tangents)}, not a tuple of {len(primals)}")
    names, shapes = list(signature(spec).parameters), [template(a) for a in arguments]
    dots = [conform(t, s, f"the tangent of argument {n!r}") for t, s, n in zip(tangents, shapes, names, strict=False)]
    dots += [zero(s) for s in shapes[len(dots) :]]
    return push(spec, chosen, arguments, shapes, dots, range(len(primals)))


def push(
    spec: Any,
    options: Options,
    arguments: Sequence[Any],
    shapes: Sequence[Template],
    tangents: Sequence[Any],
    positions: Sequence[int],
) -> tuple[Any, Any]:
    """`jvp` with every argument given and every tangent in order, those at `positions` alone not zero."""
    active = tuple(p for p in active_positions(shapes) if p in positions)
    if not active:
        value = value_of(spec, options)(*arguments)
        return value, zero(template(value))
    value, tangent = derive(Derivative(function=spec, kind="jvp", wrt=active), options)(*arguments, *tangents)
    return value, tangent


def vjp(function: Any, *arguments: Any, **options: Any) -> tuple[Any, Pullback]:
    """The value, and the function that takes an adjoint of it (a seed) to the adjoints of the arguments.

    The pullback returns a tuple with an entry an argument, None where none flows (integers, complex numbers). It may
    be called many times, and the arguments may be changed in between. The seed is shaped as the value; a tuple where
    that is one.
    """
    spec, chosen = specification(function), make_options(options)
    return evaluate(spec, chosen, bind(spec, arguments), range(len(arguments)))


def evaluate(spec: Any, options: Options, arguments: Sequence[Any], positions: Sequence[int]) -> tuple[Any, Pullback]:
    """`vjp` with every argument given, and the pullback to those at `positions` alone."""
    # copies, so that what the pullback sees is what the function saw
    kept = snapshot(arguments)
    carrying = active_positions([template(a) for a in kept])
    active = tuple(p for p in positions if p in carrying)
    if not active:
        value = value_of(spec, options)(*kept)
        return value, Pullback(template(value), positions, active, _nothing)
    forward = derive(Derivative(function=spec, kind="split_forward", wrt=active), options)
    try:
        value, saved, changed = forward.strict(*kept)
    except Stretched:
        # both halves assume the same of their arguments
        forward = forward.stretching
        value, saved, changed = forward(*kept)
    result = template(value)
    if saved is None:
        # the value may be one of the arguments kept, and belongs to the caller
        (value,) = snapshot((value,))
        joint = derive(Derivative(function=spec, kind="vjp", wrt=active), options)
        sweep: Callable[[Any], Any] = lambda seed: joint(*kept, seed)  # noqa: E731
        joint.prepare(*kept, zero(result))
    else:
        given = forward.argument_types(*kept)
        reverse = derive(Derivative(function=spec, kind="split_reverse", wrt=active, given=given), options)
        if forward.derivative.stretches:
            reverse = reverse.stretching
        sweep = lambda seed: reverse(saved, snapshot(changed), seed)  # noqa: E731
        reverse.prepare(saved, snapshot(changed), zero(result))
    return value, Pullback(result, positions, active, sweep)


class Pullback:
    """The reverse sweep of one evaluation: seed -> an adjoint an argument.

    It starts from what the forward sweep saved. Where that cannot leave compiled code (a tape of arrays made anew in a
    loop), both sweeps run.
    """

    def __init__(
        self, result: Template, positions: Sequence[int], active: tuple[int, ...], sweep: Callable[[Any], Any]
    ) -> None:
        self.result = result
        self._positions = positions
        self._active = active
        self._sweep = sweep

    def __call__(self, seed: Any) -> tuple[Any, ...]:
        bars = self._sweep(conform(seed, self.result, "the seed"))
        of = dict(zip(self._active, bars, strict=True))
        return tuple(of.get(position) for position in self._positions)


def _nothing(seed: Any) -> tuple[()]:
    return ()


def hvp(function: Any = None, wrt: Wrt = 0, **options: Any) -> Any:
    """The product of the Hessian of a scalar function with a vector: `hvp(f)(*args, v)`, v as the argument (a tuple of
    those if `wrt` is one), without the Hessian. Forward over reverse: the price of a few gradients."""
    if function is None:
        return functools.partial(hvp, wrt=wrt, **options)
    gradient = specification(grad(function, wrt, **options))
    positions, single = positions_of(specification(function), wrt)
    names = list(signature(gradient).parameters)
    # the compiled function takes the vectors by position
    order = sorted(range(len(positions)), key=positions.__getitem__)
    derived = derive(Derivative(function=gradient, kind="hvp", wrt=positions), make_options(options))

    def product(*arguments: Any, **keywords: Any) -> Any:
        if not arguments:
            raise TypeError("the last argument is the vector")
        *primals, vector = arguments
        bound = primals if len(primals) == len(names) and not keywords else bind(gradient, primals, keywords)
        vectors = (vector,) if single else vector
        if not isinstance(vectors, tuple | list) or len(vectors) != len(positions):
            raise TypeMismatch(f"the vector is not a tuple of {len(positions)}, as wrt is")
        along = [
            conform(v, template(bound[position]), f"the vector along {names[position]!r}")
            for position, v in zip(positions, vectors, strict=True)
        ]
        return derived(*bound, *(along[k] for k in order))

    return named_after(function, product)


def stop_gradient(x: Value) -> Value:
    """x itself (an array is copied), which every derivative takes as constant; also for @njit functions."""
    return x.copy() if isinstance(x, np.ndarray) else x


@overload(stop_gradient)
def _compiled_stop_gradient(x):  # type: ignore[no-untyped-def]  # numba wants the annotations of both to be equal
    return (lambda x: x.copy()) if isinstance(x, types.Array) else (lambda x: x)


rules.constant(stop_gradient)


@overload(checkpoint)
def _compiled_checkpoint(what, snapshots=0):  # type: ignore[no-untyped-def]
    return (lambda what, snapshots=0: what) if isinstance(what, types.RangeType | types.Dispatcher) else None


@typeof_impl.register(Checkpointed)
def _type_of_checkpointed(value: Checkpointed[..., Any], c: Any) -> Any:
    """In compiled code what is checkpointed is the function, which has to be one that compiled code can call."""
    return typeof_impl(value.function, c)


# --------------------------------------------------------------------------------------- what all of these do alike


def _derived(function: Any, kind: str, wrt: Wrt, has_aux: bool, options: dict[str, Any]) -> Any:
    if function is None:
        return functools.partial(_derived, kind=kind, wrt=wrt, has_aux=has_aux, options=options)
    spec = specification(function)
    positions, single = positions_of(spec, wrt)
    made = Derivative(function=spec, kind=kind, wrt=positions, single=single, has_aux=has_aux)
    return derive(made, make_options(options))


def specification(function: Any) -> Any:
    """What a Derivative is made of: the derivative that `function` computes, or the function itself."""
    if isinstance(function, Checkpointed):
        function = function.function  # which says something to those who call it
    return function.derivative if isinstance(function, Derived | Interpreted) else function


def make_options(options: dict[str, Any]) -> Options:
    """TypeError for an option that there is not, as for any other keyword."""
    fastmath = options.get("fastmath")
    if isinstance(fastmath, set | frozenset | list | tuple):
        options = {**options, "fastmath": frozenset(fastmath)}
    if "memory_limit" in options:
        options = {**options, "memory_limit": to_bytes(options["memory_limit"])}
    return Options(**options)


def value_of(spec: Any, options: Options) -> Any:
    """The function itself, compiled as its derivatives are."""
    made = spec if isinstance(spec, Derivative) else Derivative(function=spec, kind="primal", wrt=None)
    return derive(made, options)


def signature(spec: Any) -> inspect.Signature:
    """The parameters, each by position or by name."""
    return _signature(spec if isinstance(spec, Derivative) else Derivative(function=spec, kind="primal", wrt=None))


@functools.lru_cache(maxsize=4096)
def _signature(derivative: Derivative) -> inspect.Signature:
    return plain_signature(derivatives.signature(derivative))


def bind(spec: Any, arguments: Sequence[Any], keywords: Mapping[str, Any] = MappingProxyType({})) -> tuple[Any, ...]:
    """The arguments with the defaults of those left out. TypeError if there are too many or too few, as in any call."""
    if not isinstance(arguments, tuple | list):
        raise TypeMismatch(
            f"the arguments are {described(arguments)}, not a tuple", instead="Write (x,) for a single x."
        )
    bound = signature(spec).bind(*arguments, **keywords)
    bound.apply_defaults()
    return bound.args


def active_positions(shapes: Sequence[Template]) -> tuple[int, ...]:
    """The arguments that a derivative flows into: floats, arrays of floats, and tuples with any of those."""
    return tuple(position for position, shape in enumerate(shapes) if is_active(shape))


def positions_of(spec: Any, wrt: Wrt) -> tuple[tuple[int, ...], bool]:
    """The positions that `wrt` names, and whether it is a single one; raises WrongWrt."""
    names = list(signature(spec).parameters)
    single = isinstance(wrt, int | str | np.integer)
    asked = [wrt] if single else wrt
    if not isinstance(asked, list | tuple) or not asked:
        raise WrongWrt(f"wrt={wrt!r}", instead="Give a position or a name of a parameter, or a tuple of those.")
    found = tuple(_position(one, names) for one in asked)
    if len(set(found)) < len(found):
        raise WrongWrt(f"wrt={wrt!r} names a parameter twice")
    return found, single


def _position(one: object, names: list[str]) -> int:
    if isinstance(one, str) and one in names:
        return names.index(one)
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and -len(names) <= one < len(names):
        return int(one) % len(names)
    raise WrongWrt(
        f"there is no parameter {one!r} to differentiate with respect to",
        why=f"The parameters are {', '.join(names)}." if names else "The function has no parameters.",
    )


def named_after(function: Any, made: Callable[..., Any]) -> Callable[..., Any]:
    """`made` with the name and the documentation of the user's function."""
    return functools.update_wrapper(made, function, updated=())
