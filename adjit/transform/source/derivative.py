"""What to derive, and the parameters that the derived function has.

In: a function and a kind. Out: a `Derivative`, which the pipeline turns into source for a tuple of argument types.

    Derivative(energy, "vjp", (0,))      its parameters: those of energy, and `out_bar`
    made("hessian", energy, "x")         the Jacobian of the gradient
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from adjit.errors import WrongCall, WrongWrt
from adjit.runtime.library import own_attribute
from adjit.transform.source.callables import no_function, python_function
from adjit.transform.source.callables import signature as own_signature
from adjit.transform.source.external_reads import definition_read, while_it_holds
from adjit.transform.source.marks import Checkpointed
from adjit.transform.source.parameters import by_name, listed, misfit, plain
from adjit.transform.source.structures import Layout
from adjit.transform.strategy import CHEAPEST, Strategy

if TYPE_CHECKING:
    from adjit.transform import ir

Wrt = int | str | Sequence[int | str]

# Columns of a Jacobian that forward mode makes at once: their values are unrolled, and fill a vector register or two.
WIDEST = 8

# Kinds whose last parameter is a vector: of one argument, or a tuple of those.
ALONG_A_VECTOR = ("hvp", "jet")


@dataclass(frozen=True)
class Derivative:
    """What to derive: `kind` of `function`, which may be a derivative itself.

    kind:   'primal', 'grad', 'value_and_grad', 'vjp' (arguments and seed to adjoints), 'jvp' (arguments and tangents
            to value and tangent), 'hvp' (of a gradient: arguments and a vector, which is a tuple unless `single`, to
            the tangent), 'jet' (arguments and such a vector to Taylor coefficients), 'jacfwd' and 'jacrev' (arguments
            to Jacobian, made by columns or by rows), 'jacobian' (one of those, as the types suggest), 'sparsity'
            (arguments and a table of unions to the sets of columns that results depend on, and which arguments these
            sets do), 'compressed_columns' and 'compressed_rows' (arguments and which columns or rows travel together
            to entries of a Jacobian), 'vmap' (arguments with one axis more to results with one axis more),
            'rounding' (arguments to value and, for each statement, a bound of what its rounding changes of that),
            'split_forward' (arguments to value, what is saved, and what of it the reverse sweep changes; None where
            that cannot be handed on) or 'split_reverse' (those two and seed to adjoints; `given`: the types of the
            arguments)
    wrt:    positions of the arguments to differentiate with respect to; `single`: the result is bare, not a tuple. The
            tangents of the other arguments are ignored
    into:   (of 'grad' and 'value_and_grad') there is a last parameter an argument of `wrt`, which takes its gradient
            if that is an array; None for a number, whose gradient is returned
    stretches: axes of length 1 are stretched wherever NumPy would; else the code may begin with the check that axes of
            arguments are of one length, and raise Stretched
    memory_limit: the bytes that snapshots of loops may take, whose trips are then run again; None: no such loops
    strategy: which mechanisms are used
    parallel: whether loops over prange run in parallel where they can
    boundscheck, nancheck: whether what is emitted checks each index, and each number that it makes
    watched: what is emitted says how far its long loops are, and leaves them when that is asked for
    intermediates: (of 'grad' and 'value_and_grad') the names of places in the function whose adjoints stand where the
            second result of a function with `has_aux` does; `bare`: there is one, and it is no tuple
    axes, out_axis: (of 'vmap') which axis of each argument is the new one, None for those without, and of the results
    order:  (of 'jet') of the last coefficient
    several: (of 'jvp', 'vjp' and 'split_reverse') tangents, or the seed, have one axis more, the first, and so has what
            they give
    width: (of those, and of 'compressed_columns') how many directions travel together
    holomorphic: (of 'grad' and 'value_and_grad') the complex derivative of a complex function of complex arguments
    implied: `wrt` is all that can be differentiated, and nobody has named it
    called: the name that the user asked for it by, where that is not the kind, as 'hessian'
    """

    function: Any
    kind: str
    wrt: tuple[int, ...] | None = None
    single: bool = False
    has_aux: bool = False
    given: tuple[types.Type, ...] = ()
    into: bool = False
    stretches: bool = False
    memory_limit: int | None = None
    strategy: Strategy = CHEAPEST
    parallel: bool = False
    holomorphic: bool = False
    boundscheck: bool = False
    nancheck: bool = False
    watched: bool = False
    order: int = 0
    several: bool = False
    width: int = 1
    intermediates: tuple[str, ...] = ()
    bare: bool = False
    axes: tuple[int | None, ...] = ()
    out_axis: int = 0
    implied: bool = False
    called: str = ""

    @property
    def title(self) -> str:
        """What the user calls it: 'hessian' of f for what is a Jacobian of a gradient."""
        return self.called or self.kind

    @property
    def differentiated(self) -> Any:
        """What the user took it of."""
        is_of_gradient = self.title in ("hvp", "hessian")
        return self.function.function if is_of_gradient else self.function


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A function defined inside one that is compiled: what it reads around it are further parameters, the last ones."""

    name: str
    given: inspect.Signature  # the parameters in its text, with their defaults
    parameters: inspect.Signature  # those, and the others
    elaborate: Callable[[Sequence[types.Type], Callable[[Any, tuple[types.Type, ...]], ir.Function]], ir.Function]


@dataclass(frozen=True)
class Spread:
    """A function with `*` or `**` parameters, as a call gives it so many arguments by position, and these by name:
    each is a parameter, `args_0` and so on."""

    function: Any
    count: int
    keywords: tuple[str, ...]


@dataclass(frozen=True)
class Structured:
    """A function of which some arguments are lists, dictionaries or objects: each is the tuple of its leaves here, put
    together as its layout says. Branches of them, which layouts know by number, may be further parameters, with names.
    """

    function: Any
    layouts: tuple[Layout | None, ...]
    further: tuple[str, ...] = ()
    branches: tuple[int, ...] = ()


# ---------------------------------------------------------------------------------------------------- what is asked for


def made(kind: str, function: Any, wrt: Wrt = 0, has_aux: bool = False, **settings: Any) -> Derivative:
    """The derivative that `adjit.<kind>(function, wrt)` stands for; WrongWrt if `wrt` does not fit."""
    spec = specification(function)
    positions, single = positions_of(spec, wrt)
    if kind == "jet":
        _check_order(spec, settings.get("order"))
    if kind in ("hvp", "hessian"):
        spec = Derivative(function=spec, kind="grad", wrt=positions, single=single, **settings)
        if kind == "hessian":
            kind, settings = "jacfwd", settings | {"called": kind}
    return Derivative(function=spec, kind=kind, wrt=positions, single=single, has_aux=has_aux, **settings)


def _check_order(spec: Any, order: Any) -> None:
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or order < 1:
        raise WrongCall(
            f"order={order!r} for jet({shown(spec)})",
            why="The order is the number of the last Taylor coefficient.",
            instead="Give an integer of at least 1.",
        )


def mapping(function: Any, in_axes: Any, out_axes: Any, **settings: Any) -> Derivative:
    """The function mapped over axes, as `adjit.vmap` has it; WrongCall where they do not fit."""
    spec = specification(function)
    asked = axes_by_name(spec, in_axes, named_parameters(spec).parameters)
    if out_axes is None or not _is_axis(out_axes):
        raise WrongCall(f"out_axes={out_axes!r} for vmap({shown(spec)})", instead="Give one axis, for all results.")
    axes = tuple(None if asked.get(name) is None else int(asked[name]) for name in parameters(spec).parameters)
    return Derivative(function=spec, kind="vmap", axes=axes, out_axis=int(out_axes), **settings)


def axes_by_name(spec: Any, in_axes: Any, own: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Which axis of each of these parameters `in_axes` names; WrongCall where it does not fit them."""
    asked = dict(in_axes) if isinstance(in_axes, Mapping) else in_axes
    needed = [name for name, parameter in own.items() if parameter.default is parameter.empty]
    if isinstance(asked, int | np.integer):
        asked = dict.fromkeys(needed, asked)
    elif isinstance(asked, tuple | list) and len(needed) <= len(asked) <= len(own):
        asked = dict(zip(own, asked, strict=False))
    is_known = isinstance(asked, dict) and asked.keys() <= own.keys()
    if not is_known or not all(map(_is_axis, asked.values())) or all(axis is None for axis in asked.values()):
        raise WrongCall(
            f"in_axes={in_axes!r} for vmap({shown(spec)})",
            why=listed(by_name(list(own))),
            instead="Give one axis, a tuple with one per argument, or {name: axis}. None holds an argument fixed.",
        )
    return asked


def _is_axis(axis: Any) -> bool:
    return axis is None or (isinstance(axis, int | np.integer) and not isinstance(axis, bool))


def specification(function: Any) -> Any:
    """What a Derivative is made of: the derivative that `function` computes, or the function itself."""
    # an array, a list, a dictionary: tables of functions have no place for it
    if not callable(function) and type(function).__hash__ is None:
        raise no_function(function)
    if isinstance(function, Checkpointed):
        function = function.function  # which says something to those who call it
    return derivative_of(function) or function


def derivative_of(function: Any) -> Derivative | None:
    """The derivative that a function of adjit's computes; None of any other."""
    found = own_attribute(function, "derivative")
    return found if isinstance(found, Derivative) else None


def at_level(derivative: Derivative, tuned: bool) -> Derivative:
    """The same derivative, and those that it is made of, as one reads them; or, `tuned`, as they are compiled."""
    inner = derivative.function
    return dataclasses.replace(
        derivative,
        function=at_level(inner, tuned) if isinstance(inner, Derivative) else inner,
        strategy=dataclasses.replace(derivative.strategy, tuned=tuned),
    )


def root(spec: Any) -> Any:
    """The user's function under derivatives of derivatives, or that itself."""
    while isinstance(spec, Derivative | Structured | Spread):
        spec = spec.function
    return spec


def has_derivative(spec: Any) -> bool:
    """Whether something is differentiated for it: it is more than the function itself, or that mapped."""
    return isinstance(spec, Derivative) and (spec.kind not in ("primal", "vmap") or has_derivative(spec.function))


def layout_of(spec: Any, position: int) -> Layout | None:
    """How an argument is put together that is a list, a dictionary or an object; None of any other."""
    while isinstance(spec, Derivative):
        spec = spec.function
    layouts = spec.layouts if isinstance(spec, Structured) else ()
    return layouts[position] if position < len(layouts) else None


def of_structures(spec: Any, layouts: tuple[Layout | None, ...]) -> Any:
    """The same derivative, or function, of arguments of which some are put together so."""
    if isinstance(spec, Derivative):
        return dataclasses.replace(spec, function=of_structures(spec.function, layouts))
    if isinstance(spec, Structured):
        # what is a tuple of leaves stays one: what is known besides is said of other arguments
        both = itertools.zip_longest(layouts, spec.layouts)
        return dataclasses.replace(spec, layouts=tuple(own if own is not None else known for own, known in both))
    return Structured(spec, layouts)


def is_of_arguments(spec: Any) -> bool:
    """Whether its arguments are those of the function under it, as they are: no parts of them, and no leaves."""
    while isinstance(spec, Derivative) and spec.kind not in ("vmap", "split_reverse"):
        spec = spec.function
    return not isinstance(spec, Derivative | Structured)


def shown(spec: Any) -> str:
    """What a message calls a function or a derivative of it: `grad(energy)`."""
    if isinstance(spec, Structured | Spread):
        return shown(spec.function)
    if not isinstance(spec, Derivative):
        return str(getattr(spec, "__name__", None) or getattr(spec, "name", "the function"))
    inner = shown(spec.differentiated)
    return inner if spec.kind == "primal" else f"{spec.title}({inner})"


def positions_of(spec: Any, wrt: Wrt) -> tuple[tuple[int, ...], bool]:
    """The positions that `wrt` names, and whether it is a single one; raises WrongWrt."""
    names = list(named_parameters(spec).parameters)
    single = isinstance(wrt, int | str | np.integer)
    asked = [wrt] if single else wrt
    if not isinstance(asked, list | tuple) or not asked:
        is_value = not isinstance(asked, list | tuple)
        instead = f"{_POSITION}\n{_CALL}" if is_value else _POSITION
        raise _wrong_wrt(f"wrt={reprlib.repr(wrt)} for {shown(spec)}", names, instead)
    found = tuple(_position(spec, one, names) for one in asked)
    if len(set(found)) < len(found):
        raise _wrong_wrt(f"wrt={wrt!r} names a parameter of {shown(spec)} twice", names, "Name each only once.")
    return found, single


def _position(spec: Any, one: object, names: list[str]) -> int:
    if isinstance(one, str) and one in names:
        return names.index(one)
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and -len(names) <= one < len(names):
        return int(one) % len(names)
    raise _wrong_wrt(f"{shown(spec)} has no parameter {one!r} to differentiate with respect to", names)


_POSITION = "Give the position or the name of a parameter, or a tuple of them."
_CALL = "adjit.grad(f) gives a function: write adjit.grad(f)(x)."


def _wrong_wrt(what: str, names: Sequence[str], instead: str = _POSITION) -> WrongWrt:
    return WrongWrt(what, why=listed(by_name(names)), instead=instead)


# ---------------------------------------------------------------------------------------------------------- parameters


def parameters(spec: Any) -> inspect.Signature:
    """The parameters of a derivative or a function, each by position or by name."""
    # what is defined inside a function lives no longer than that is compiled
    return signature(spec) if isinstance(root(spec), Enclosed) else _parameters(spec)


def named_parameters(spec: Any) -> inspect.Signature:
    """The parameters that a caller knows: none for what a function defined inside another reads around it."""
    function = root(spec)
    return function.given if isinstance(function, Enclosed) else parameters(spec)


@while_it_holds
def _parameters(spec: Any) -> inspect.Signature:
    return signature(spec)


def bound(
    spec: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any] = MappingProxyType({}),
    name: str = "",
    expected: inspect.Signature | None = None,
) -> tuple[Any, ...]:
    """The arguments of a call with the defaults of those left out; raises WrongCall. `expected`: the parameters, where
    the caller has asked for them."""
    expected = expected or named_parameters(spec)
    check_call(name or shown(spec), expected, len(arguments), keywords)
    found = expected.bind(*arguments, **keywords)
    found.apply_defaults()
    return found.args


def check_call(name: str, expected: inspect.Signature, given: int, keywords: Mapping[str, Any]) -> None:
    """WrongCall if a call of `name` does not fit its parameters."""
    problem = misfit(name, expected, given, keywords)
    if problem:
        raise WrongCall(problem, why=listed(expected), instead="Give each parameter one value, by position or by name.")


def signature(spec: Any) -> inspect.Signature:
    """The parameters of a derived function, or of a function."""
    if isinstance(spec, Enclosed):
        return spec.parameters
    if isinstance(spec, Structured):
        inner = signature(spec.function)
        return by_name((*inner.parameters, *spec.further)) if spec.further else inner
    if isinstance(spec, Spread):
        return _spread(spec)
    if not isinstance(spec, Derivative):
        function = python_function(spec)
        definition_read(function)
        return plain(function.__name__, own_signature(function))
    if spec.kind == "split_reverse":
        return by_name(("saved", "changed", "out_bar"))
    own = list(signature(spec.function).parameters.values())
    names, wrt = [p.name for p in own], spec.wrt or ()
    more: list[str]
    if spec.kind == "vjp":
        more = ["out_bar"]
    elif spec.into:
        more = [f"{names[p]}_bar" for p in wrt]
    elif spec.kind in ALONG_A_VECTOR:
        more = [f"{names[wrt[0]]}_dot" if spec.single else "vectors"]
    elif spec.kind == "sparsity":
        more = ["table"]
    elif spec.kind in ("compressed_columns", "compressed_rows"):
        more = ["colours", "lines", "via", "count"]
    elif spec.kind == "jvp":
        more = [f"{name}_dot" for name in names]
    else:
        return inspect.Signature(own)
    for name in more:
        names.append(unused(name, names))
    bare = [p.replace(default=inspect.Parameter.empty) for p in own]
    return inspect.Signature([*bare, *by_name(names[len(own) :]).parameters.values()])


def _spread(spec: Spread) -> inspect.Signature:
    """A parameter for each argument: by position, then by name."""
    function = python_function(spec.function)
    definition_read(function)
    own = list(own_signature(function).parameters.values())
    names = [p.name for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][: spec.count]
    several = next((p.name for p in own if p.kind is p.VAR_POSITIONAL), "")
    names += [f"{several}_{k}" for k in range(spec.count - len(names))]
    found: list[str] = []
    for name in (*names, *spec.keywords):
        found.append(unused(name, found))
    return by_name(found)


def unused(name: str, names: Collection[str]) -> str:
    """The name, with underscores behind it where there are such names."""
    while name in names:
        name += "_"
    return name
