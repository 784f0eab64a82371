"""Functions of a program that stay functions, and what is derived of them.

In: a function of numbers as it was read, and what a pass asks of it. Out: `Routine`, which calls in the IR have as
their callee. `Routines` has those of one program, each once for the constants and types that it is called with.

    E = call kepler_E(M, e)          reverse:  M_bar, e_bar = call kepler_E_vjp(M, e, E_bar)
                                     forward:  E_dot = call kepler_E_jvp(M, e, M_dot, e_dot)

What is derived of a routine is a routine, so that derivatives of any order have calls where the program has some.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numba import types

from adjit.transform import ir
from adjit.transform.ir.types import tuple_type
from adjit.transform.source.derivative import Derivative, Enclosed
from adjit.transform.source.parameters import by_name

Build = Callable[[Any, tuple[types.Type, ...]], ir.Function]


@dataclass(frozen=True, eq=False)
class Routine(Enclosed, ir.Subprogram):
    """A function of numbers, one by one, under a name that no other function of the program has.

    derivative: what is built for it, which takes and gives more: a call has the leaves `takes` of its arguments, which
             are of the types `arg_types`, and gets the yields `gives`
    """

    derivative: Derivative
    arg_types: tuple[types.Type, ...]
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    routines: Routines
    build: Callable[[], ir.Function]
    derived: dict[tuple[object, ...], Routine] = field(default_factory=dict)

    @functools.cached_property
    def whole(self) -> ir.Function:
        """The IR of the derivative."""
        return self.build()

    @functools.cached_property
    def function(self) -> ir.Function:
        """Its IR, of which the parameters are numbers, and the result is a tuple of numbers or one."""
        return self.flat(self.whole)

    def flat(self, whole: ir.Function) -> ir.Function:
        """Its IR, of that of the derivative."""
        args = tuple(whole.body.args[k] for k in self.takes)
        body = ir.Region(args, whole.body.ops, tuple(whole.body.yields[k] for k in self.gives))
        result = 0 if len(self.gives) == 1 else tuple(range(len(self.gives)))
        names = tuple(self.parameters.parameters)
        return dataclasses.replace(whole, name=self.name, names=names, params=args, body=body, result=result)

    def vjp(self, active: Sequence[int], build: Build) -> Routine:
        """The adjoint: from its arguments, and the adjoints of all results that are floats, to those of the arguments
        at the positions `active`."""
        outs = [y.type for y in self.function.body.yields]
        seed = outs[0] if len(outs) == 1 else tuple_type(outs)
        further = [
            ("out_bar" if len(outs) == 1 else f"out_bar_{k}", type_, k)
            for k, type_ in enumerate(outs)
            if ir.is_float(type_)
        ]
        return self._derived("vjp", active, (seed,), further, range(len(active)), build)

    def jvp(self, active: Sequence[int], flowing: Sequence[int], build: Build) -> Routine:
        """The tangents of the results at the positions `flowing`, from its arguments and the tangents of those at the
        positions `active`."""
        tangents = [type_ if k in active else types.float64 for k, type_ in enumerate(self.arg_types)]
        names = list(self.parameters.parameters)
        further = [(f"{names[k]}_dot", self.arg_types[k], k) for k in active]
        return self._derived("jvp", active, tangents, further, [len(self.gives) + k for k in flowing], build)

    def _derived(
        self,
        kind: str,
        active: Sequence[int],
        seeds: Sequence[types.Type],
        further: Sequence[tuple[str, types.Type, int]],
        gives: Sequence[int],
        build: Build,
    ) -> Routine:
        """A derivative with more arguments: names, types, and which of their leaves a call has."""
        count = len(self.arg_types)
        takes = (*range(count), *(count + k for *_, k in further))
        key = kind, tuple(active), takes, tuple(gives)
        if key not in self.derived:
            derivative = dataclasses.replace(self.derivative, function=self, kind=kind, wrt=tuple(active))
            given = (*self.arg_types, *seeds)
            self.derived[key] = self.routines.made(
                f"{self.name}_{kind}",
                derivative,
                [*zip(self.parameters.parameters, self.arg_types, strict=True), *(own[:2] for own in further)],
                takes,
                gives,
                lambda: build(derivative, given),
            )
        return self.derived[key]


class Routines:
    """The routines of a program, by what they are called with; `settings`: how each is derived."""

    def __init__(self, settings: Derivative) -> None:
        self.settings = dataclasses.replace(
            settings,
            has_aux=False,
            into=False,
            single=False,
            parallel=False,
            holomorphic=False,
            watched=False,
            several=False,
        )
        self.known: dict[Hashable, Routine | None] = {}
        self.depth = 0  # of functions that are read for each other
        self.places: dict[object, set[tuple[object, bool]]] = {}  # where functions are called, and whether in a loop
        self.lengths: dict[object, int] = {}  # of calls of functions that were written out
        self.single: set[object] = set()  # short ones that are called from one place alone, in a loop
        self._names: set[str] = set()

    def primal(self, function: Enclosed) -> Derivative:
        """What is built for a function itself."""
        return dataclasses.replace(self.settings, function=function, kind="primal", wrt=None)

    def made(
        self,
        name: str,
        derivative: Derivative,
        parameters: Sequence[tuple[str, types.Type]],
        takes: Sequence[int],
        gives: Sequence[int],
        build: Callable[[], ir.Function],
    ) -> Routine:
        """A routine, with a name of its own."""
        own = _unused(name, self._names)
        self._names.add(own)
        names: list[str] = []
        for each, _ in parameters:
            names.append(_unused(each, names))
        signature, given = by_name(names), tuple(type_ for _, type_ in parameters)
        return Routine(
            own, signature, signature, _elaborate, derivative, given, tuple(takes), tuple(gives), self, build
        )


def has_routines(derivative: Derivative) -> bool:
    """Whether functions may stay functions in a derivative."""
    kinds = ("grad", "value_and_grad", "vjp", "jvp", "jacfwd")
    return derivative.kind in kinds and not derivative.intermediates and derivative.strategy.machine == "cpu"


def _unused(name: str, names: Collection[str]) -> str:
    return next(each for each in ir.names_like(name) if each not in names)


def _elaborate(arg_types: Sequence[types.Type], build: Build) -> ir.Function:
    raise NotImplementedError("a routine has its IR")
