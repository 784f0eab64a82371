"""What to derive, and the parameters that the derived function has.

In: a function and a kind. Out: a `Derivative`, which the pipeline turns into source for a tuple of argument types.

    Derivative(energy, "vjp", (0,))      its parameters: those of energy, and `out_bar`
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from adjit.transform import functions
from adjit.transform.strategy import CHEAPEST, Strategy

# Columns of a Jacobian that forward mode makes at once: their values are unrolled, and fill a vector register or two.
WIDEST = 8


@dataclass(frozen=True)
class Derivative:
    """What to derive: `kind` of `function`, which may be a derivative itself.

    kind:   'primal', 'grad', 'value_and_grad', 'vjp' (arguments and seed to adjoints), 'jvp' (arguments and tangents
            to value and tangent), 'hvp' (arguments and the tangents of those in `wrt` to the tangent), 'jacfwd' and
            'jacrev' (arguments to Jacobian, made by columns or by rows), 'split_forward' (arguments to value, what is
            saved, and what of it the reverse sweep changes; None where that cannot be handed on) or 'split_reverse'
            (those two and seed to adjoints; `given`: the types of the arguments)
    wrt:    positions of the arguments to differentiate with respect to; `single`: the result is bare, not a tuple. The
            tangents of the other arguments are ignored
    into:   (of 'grad' and 'value_and_grad') there is a last parameter an argument of `wrt`, which takes its gradient
            if that is an array; None for a number, whose gradient is returned
    stretches: axes of length 1 are stretched wherever NumPy would; else the code may begin with the check that axes of
            arguments are of one length, and raise Stretched
    memory_limit: the bytes that snapshots of loops may take, whose trips are then run again; None: no such loops
    strategy: which mechanisms are used
    parallel: whether loops over prange run in parallel where they can
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


def signature(derivative: Derivative) -> inspect.Signature:
    """The parameters of the derived function."""
    inner = derivative.function
    own = signature(inner) if isinstance(inner, Derivative) else functions.signature(functions.python_function(inner))
    parameters = list(own.parameters.values())
    if derivative.kind == "split_reverse":
        return inspect.Signature([_parameter(name) for name in ("saved", "changed", "out_bar")])
    if derivative.kind == "vjp":
        parameters = [p.replace(default=inspect.Parameter.empty) for p in parameters]
        parameters.append(_parameter(_unused("out_bar", parameters)))
    elif derivative.into:
        assert derivative.wrt is not None
        taken = [p.replace(default=inspect.Parameter.empty) for p in parameters]
        parameters = [*taken, *(_parameter(_unused(f"{taken[p].name}_bar", taken)) for p in derivative.wrt)]
    elif derivative.kind in ("jvp", "hvp"):
        parameters = [p.replace(default=inspect.Parameter.empty) for p in parameters]
        for position, p in enumerate(list(parameters)):
            if derivative.kind == "jvp" or derivative.wrt is None or position in derivative.wrt:
                parameters.append(_parameter(_unused(f"{p.name}_dot", parameters)))
    return inspect.Signature(parameters)


def _parameter(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _unused(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    taken = {p.name for p in parameters}
    while name in taken:
        name += "_"
    return name
