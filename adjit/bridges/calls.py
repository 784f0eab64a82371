"""A call of which some numbers and arrays are open, to be filled in by a library that differentiates around it.

In: a function and the arguments of a call, with tensors of the library in them. Out: a `Call`, which gives results
for what is filled in; its adjoint, and the same over a new axis, which are a `Call` each, so that derivatives of every
order are asked for in one way.

    call, tensors = opened(energy, options, ({"w": W}, 0.5), {}, library)      energy({"w": #0}, 0.5), [W]
    call.run([W])                                                              [1.5]
    call.adjoint([0]).run([W, 1.0])                                            [W_bar]
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numba import types

from adjit.api.arguments.structures import laid_out
from adjit.api.arguments.trees import leaves, map_leaves, nested
from adjit.api.bound_callables import bound
from adjit.api.functions import value_of
from adjit.api.specialise.options import Options
from adjit.bridges.shapes import extents_of_results
from adjit.errors import TypeMismatch, Unsupported
from adjit.rules.library_functions import as_python
from adjit.runtime.backend.dispatcher import compiler_lock
from adjit.runtime.library.gpus import is_on_device
from adjit.transform import ir
from adjit.transform.analysis.effects import is_check
from adjit.transform.explain import Shaped
from adjit.transform.source import derivative as derivatives
from adjit.transform.source.derivative import Derivative, shown, specification
from adjit.transform.source.structures import attributes, is_object


@dataclass(frozen=True)
class Slot:
    """Where a tensor goes, by number."""

    number: int


@dataclass(frozen=True)
class Kind:
    """What a number or an array is: its type, and its extents, None where one is not known before the call runs."""

    dtype: np.dtype[Any]
    extents: tuple[int | None, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether a derivative flows through it."""
        return self.dtype.kind == "f"

    @property
    def shape(self) -> tuple[int, ...] | None:
        """All extents; None where one is not known."""
        known = tuple(extent for extent in self.extents if extent is not None)
        return known if len(known) == len(self.extents) else None


class Wrapped:
    """A function of a library's tensors."""

    library: str

    def __init__(self, of: Any, options: Options) -> None:
        self._function, self._options = of, options
        named: Any = self
        functools.update_wrapper(named, of, updated=())

    def __repr__(self) -> str:
        return f"<{self.__name__} for {self.library}>"  # type: ignore[attr-defined]


class Library(Protocol):
    """What a call asks of the library whose tensors it is given. `is_ahead`: whether it makes a program of calls before
    it runs them, as often as it likes: the shapes of results are wanted before, and draws of random numbers nowhere."""

    is_ahead: bool

    def is_tensor(self, value: Any) -> bool: ...

    def kind_of(self, tensor: Any) -> Kind: ...


@dataclass(frozen=True, eq=False)
class Call:
    """A call of `spec`, a function or a derivative, whose arguments are numbers, arrays, slots and tuples of those.

    kinds: of what goes into the slots; result: the tree of what the function returns, with a Kind for each number and
    array that is wanted, None for others; draws: whether it draws random numbers; adjoints: (of an adjoint) the slots
    whose adjoints it returns.
    """

    spec: Any
    options: Options
    arguments: tuple[Any, ...]
    kinds: tuple[Kind, ...]
    result: Any
    draws: bool = False
    adjoints: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return shown(self.spec)

    @property
    def results(self) -> list[Kind]:
        """What `run` returns."""
        return [kind for kind in leaves(self.result) if kind is not None]

    @property
    def has_floats(self) -> bool:
        """Whether a derivative flows out of it, or a complex number of which none is taken."""
        return any(kind.dtype.kind in "fc" for kind in self.results)

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The numbers and arrays of the result, as NumPy's, for such in the slots, with which they share no memory."""
        found = leaves(self._function(*self._filled(tensors)))
        wanted = [(v, kind) for v, kind in zip(found, leaves(self.result), strict=True) if kind is not None]
        return [_alone(value, kind, tensors) for value, kind in wanted]

    def adjoint(self, wanted: Collection[int]) -> Call:
        """The adjoint: its slots are this one's, and then one for the adjoint of each float in the result. What it
        returns is for the slots wanted, and all others in the same arguments. Unsupported for complex numbers, and for
        functions that draw random numbers."""
        if any(kind.dtype.kind == "c" for kind in (*self.results, *(self.kinds[k] for k in wanted))):
            raise Unsupported(
                f"the adjoint of {self.name} for complex numbers in another library",
                why="Some libraries define it as the conjugate.",
                instead="Pass and return real and imaginary parts.",
            )
        if self.draws:
            raise _drawing(self.spec, "Its adjoint would draw other numbers")
        asked = [k for k, own in enumerate(self.arguments) if any(s.number in wanted for s in _slots(own))]
        of = tuple(self.arguments[k] for k in asked)
        numbers = itertools.count(len(self.kinds))
        seed = map_leaves(lambda k: Slot(next(numbers)) if k is not None and k.is_active else None, self.result)
        bars = map_leaves(lambda leaf: self._kind_of(leaf), of)
        return Call(
            Derivative(function=self.spec, kind="vjp", wrt=tuple(asked), **self.options.for_derivatives()),
            self.options,
            (*self.arguments, seed),
            (*self.kinds, *(kind for kind in self.results if kind.is_active)),
            bars,
            adjoints=tuple(s.number for s in _slots(of) if self.kinds[s.number].is_active),
        )

    def mapped(self, along: Collection[int], size: int) -> Call:
        """The same over a new first axis of what goes into the slots `along`, and into the others in the same
        arguments, and of all results."""
        is_mapped = [any(s.number in along for s in _slots(own)) for own in self.arguments]
        numbers = {
            s.number for own, is_own in zip(self.arguments, is_mapped, strict=True) if is_own for s in _slots(own)
        }
        arguments = tuple(
            map_leaves(lambda leaf: _repeated(leaf, size), own) if is_own else own
            for own, is_own in zip(self.arguments, is_mapped, strict=True)
        )
        axes = {
            name: 0
            for name, is_own in zip(derivatives.parameters(self.spec).parameters, is_mapped, strict=True)
            if is_own
        }
        return dataclasses.replace(
            self,
            spec=derivatives.mapping(self.spec, axes, 0, **self.options.for_derivatives()),
            arguments=arguments,
            kinds=tuple(_along(kind, size) if k in numbers else kind for k, kind in enumerate(self.kinds)),
            result=map_leaves(lambda kind: None if kind is None else _along(kind, size), self.result),
        )

    def mapped_slots(self, along: Collection[int]) -> frozenset[int]:
        """The slots of the arguments that have one of these in them."""
        owns = [{s.number for s in _slots(own)} for own in self.arguments]
        return frozenset(number for own in owns if not own.isdisjoint(along) for number in own)

    def prepare(self) -> None:
        """Makes what runs for arrays in C order, so that what stands in the way of it is said now."""
        self._function.prepare(*self._filled([_example(kind) for kind in self.kinds]))

    @functools.cached_property
    def _function(self) -> Any:
        return value_of(self.spec, self.options)

    def _filled(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        def filled(leaf: Any) -> Any:
            return tensors[leaf.number] if isinstance(leaf, Slot) else leaf

        return tuple(map_leaves(filled, own) for own in self.arguments)

    def _kind_of(self, leaf: Any) -> Kind | None:
        """What the adjoint of a leaf of the arguments is, where it is wanted."""
        kind = self.kinds[leaf.number] if isinstance(leaf, Slot) else None
        return kind if kind is not None and kind.is_active else None


def put_together(call: Call, found: Iterable[Any]) -> Any:
    """The result of a call, from the tensors in it, in their order."""
    rest = iter(found)
    return nested(call.result, [None if kind is None else next(rest) for kind in leaves(call.result)])


def opened(
    function: Any, options: Options, arguments: Sequence[Any], keywords: Mapping[str, Any], library: Library
) -> tuple[Call, list[Any]]:
    """The call with slots for the tensors, and what goes into them. Raises what stands in the way of compiling it."""
    function = as_python(function)
    whole = bound(function)
    if whole is not None:
        function, arguments = whole.function, whole.all(arguments, keywords)
    else:
        arguments = derivatives.bound(specification(function), arguments, keywords)
    spec = specification(function)
    tensors: list[Any] = []
    examples: list[Any] = []
    kinds: list[Kind] = []

    def example(value: Any) -> Any:
        tensors.append(value)
        kinds.append(library.kind_of(value))
        if kinds[-1] == Kind(np.dtype(bool)):
            # NumPy has one object for all that are true, so that two could not be told apart
            raise TypeMismatch(
                f"a boolean tensor without axes, among the arguments of {shown(spec)}",
                instead="Pass an integer, or a Python bool.",
            )
        examples.append(_example(kinds[-1]))
        return examples[-1]

    given = tuple(_replaced(value, library.is_tensor, example) for value in arguments)
    home = value_of(spec, options)
    found: tuple[Call, list[Any]] = home.retried(
        given, lambda: _opened(spec, options, given, (tensors, examples, kinds), home, library.is_ahead)
    )
    return found


def _drawing(spec: Any, why: str) -> Unsupported:
    return Unsupported(
        f"{shown(spec)}, which draws random numbers, in another library",
        why=f"{why}.",
        instead="Draw the numbers before the call, and pass them as an argument.",
    )


def _opened(
    spec: Any,
    options: Options,
    given: tuple[Any, ...],
    of: tuple[Sequence[Any], Sequence[Any], Sequence[Kind]],
    home: Any,
    is_ahead: bool,
) -> tuple[Call, list[Any]]:
    """`opened`, of arguments with examples in the place of tensors; `of`: tensors, examples, and what they are."""
    tensors, examples, of_all = of
    if home.has_extents and any(kind.shape is None for kind in of_all):
        raise Unsupported(
            f"{shown(spec)} with arrays of unknown shape, though it is compiled for each shape",
            instead="Give the shapes with the types.",
        )
    names = list(derivatives.parameters(spec).parameters)
    laid = laid_out(spec, names, given, home.has_constants, home.has_extents)
    apart = given if laid is None else laid[1]
    spec = spec if laid is None else derivatives.of_structures(spec, laid[0])
    by_place = {id(example): k for k, example in enumerate(examples)}
    order = [by_place[id(leaf)] for leaf in leaves(apart) if id(leaf) in by_place]
    if len(order) < len(tensors):
        raise TypeMismatch(
            f"a list of tensors in the arguments of {shown(spec)}",
            why="adjit stores a list of similar items in one array.",
            instead="Pass a tuple, or one tensor.",
        )
    slots = {id(examples[k]): Slot(number) for number, k in enumerate(order)}
    open_ = tuple(map_leaves(lambda leaf: slots.get(id(leaf), leaf), own) for own in apart)
    kinds = tuple(of_all[k] for k in order)
    result, draws = _outcome(value_of(spec, options), apart, (open_, kinds), is_ahead)
    if draws and is_ahead:
        raise _drawing(spec, "The other library decides when it calls the function, and how often")
    return Call(spec, options, open_, kinds, result, draws), [tensors[k] for k in order]


# of functions that are in use, by the types of their arguments
_PRIMALS: WeakKeyDictionary[Any, dict[Any, ir.Function]] = WeakKeyDictionary()


def _primal(home: Any, given: tuple[types.Type, ...]) -> ir.Function:
    """The function's IR, for arrays of any lengths: what is made for those that fit together says nothing of others."""
    own = _PRIMALS.setdefault(home, {})
    if given not in own:
        from adjit.transform import pipeline

        with compiler_lock:
            own[given] = pipeline.build(dataclasses.replace(home.derivative, stretches=True), given)
    return own[given]


def _outcome(
    home: Any, examples: tuple[Any, ...], open_: tuple[tuple[Any, ...], Sequence[Kind]], is_ahead: bool
) -> tuple[Any, bool]:
    """The tree of a function's result, and whether it draws random numbers; `open_`: the arguments with slots, and what
    goes into these."""
    arguments, kinds = open_
    primal = _primal(home, home.argument_types(*examples))
    values: dict[ir.Var, Any] = {}
    for tree, own in zip(primal.params, arguments, strict=True):
        for part, leaf in zip(_whole(tree), leaves(own), strict=True):
            for var in ir.leaves(part):
                if not isinstance(leaf, Slot):
                    values[var] = leaf
                elif ir.is_array(var) and (shape := kinds[leaf.number].shape) is not None:
                    values[var] = Shaped(shape)
    yields = primal.body.yields
    extents = extents_of_results(primal, values) if is_ahead else [_unknown(y) for y in yields]

    def kind(part: Any) -> Any:
        if part is None:
            return None
        if isinstance(part, tuple) and not isinstance(part, ir.Pair):
            return tuple(map(kind, part))
        place = ir.leaves(part)[0]
        dtype = _dtype(yields[place].type)
        return Kind(np.result_type(dtype, np.complex64) if isinstance(part, ir.Pair) else dtype, extents[place])

    calls = [op for op in primal.body.inside if isinstance(op, ir.Call) and not is_check(op)]
    return kind(primal.result), any(call.effect and call.outs for call in calls)


def _unknown(operand: ir.Operand) -> tuple[None, ...]:
    return (None,) * operand.type.ndim if isinstance(operand.type, types.Array) else ()


def _dtype(type_: types.Type) -> np.dtype[Any]:
    scalar = type_.dtype if isinstance(type_, types.Array) else type_
    return np.dtype("bool" if isinstance(scalar, types.Boolean) else str(scalar))


def _whole(tree: Any) -> list[Any]:
    """The leaves of a tree of parameters, complex ones as one."""
    if isinstance(tree, tuple) and not isinstance(tree, ir.Pair):
        return [leaf for part in tree for leaf in _whole(part)]
    return [tree]


def _replaced(value: Any, is_tensor: Callable[[Any], bool], made: Callable[[Any], Any]) -> Any:
    """A structure with something else in the place of each tensor; the object itself where there is none."""
    if is_tensor(value):
        return made(value)
    if isinstance(value, tuple | list):
        parts = [_replaced(part, is_tensor, made) for part in value]
        if all(map(operator.is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if type(value) is dict:
        named = {key: _replaced(part, is_tensor, made) for key, part in value.items()}
        return value if all(map(operator.is_, named.values(), value.values())) else named
    if is_object(value):
        own = attributes(value)
        named = {name: _replaced(part, is_tensor, made) for name, part in own.items()}
        if all(map(operator.is_, named.values(), own.values())):
            return value
        copied = copy.copy(value)
        for name, part in named.items():
            object.__setattr__(copied, name, part)
        return copied
    return value


def _slots(tree: Any) -> list[Slot]:
    return [leaf for leaf in leaves(tree) if isinstance(leaf, Slot)]


def _example(kind: Kind) -> Any:
    """A number or an array of a kind, of which nobody reads the elements."""
    shape = tuple(1 if extent is None else extent for extent in kind.extents)
    return np.empty(shape, kind.dtype) if shape else kind.dtype.type(1)


def _along(kind: Kind, size: int) -> Kind:
    return dataclasses.replace(kind, extents=(size, *kind.extents))


def _repeated(leaf: Any, size: int) -> Any:
    """What is the same in all calls, where others of the same argument are not."""
    return leaf if isinstance(leaf, Slot) or leaf is None else np.repeat(np.asarray(leaf)[None], size, axis=0)


def _alone(value: Any, kind: Kind, given: Sequence[Any]) -> Any:
    """A result with its type, in memory of its own."""
    if is_on_device(value):
        # what is done with those is for the library that has them
        return value
    if not isinstance(value, np.ndarray):
        return kind.dtype.type(value)
    is_shared = any(isinstance(other, np.ndarray) and np.may_share_memory(value, other) for other in given)
    return value.copy() if is_shared else value
