"""The tangent and the adjoint of a launch.

In: a kernel, how it is launched, the types of its arguments and of the shadows that are given. Out: a function of the
arguments, the grid and the shadows, which changes arrays of the caller's and returns nothing.

    primal     what the launch does
    tangent    that, and beside each operation its tangent: y and y_dot are stored to
    adjoint    for each block: the block again, and its mirror; the arguments hold what they held before the launch
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numba import types

from adjit import errors
from adjit.transform import ir
from adjit.transform.analysis.alias import named_by
from adjit.transform.derive import Compiler, forward, reverse
from adjit.transform.derive.activity import Activity
from adjit.transform.frontend import Launched
from adjit.transform.gpu.kernels.launches import Launch, launch_in
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked
from adjit.transform.source.derivative import unused
from adjit.transform.strategy import CHEAPEST, Strategy
from adjit.transform.sweeps import both_sweeps

Kind = Literal["primal", "tangent", "adjoint"]
SUFFIXES: Mapping[str, str] = {"primal": "", "tangent": "_dot", "adjoint": "_bar"}


@dataclass(frozen=True)
class Asked:
    """What to derive of a kernel. `shadows`: the positions of the parameters of which a shadow is given, in order."""

    kernel: Any
    kind: Kind
    launched: Launched
    shadows: tuple[int, ...] = ()
    strategy: Strategy = CHEAPEST


def derived_kernel(asked: Asked, function: ir.Function, given: Sequence[types.Type], compiler: Compiler) -> ir.Function:
    """The function that does what is asked, of that which does what the launch does; `given`: the types of the shadows.

    Its parameters: those of the kernel, the number of blocks along each axis, the bytes of dynamic shared memory, the
    shadows. That of a number is an array of one element. Raises WrongCall where a shadow is missing.
    """
    params = [function.params[position] for position in asked.shadows]
    names = list(function.names)
    for position in asked.shadows:
        names.append(unused(function.names[position] + SUFFIXES[asked.kind], names))
    shadows = [ir.Var(name, type_, user=True) for name, type_ in zip(names[len(function.names) :], given, strict=True)]
    pairs = dict(zip(params, shadows, strict=True))
    _check_given(asked, function, pairs)
    if asked.kind == "primal":
        return function
    made = (_tangent if asked.kind == "tangent" else _adjoint)(asked, function, pairs, compiler)
    kind, origin = asked.kind.capitalize(), function.origin
    where = "" if origin is None else f" at {origin.filename.rpartition('/')[2]}:{origin.line}"
    asked_for = ", ".join(function.names[p] for p in asked.shadows)
    doc = f"{kind} of the kernel {function.name}{where} with respect to {asked_for}."
    return dataclasses.replace(made, name=f"{function.name}_{asked.kind}", doc=doc)


def _check_given(asked: Asked, function: ir.Function, pairs: Mapping[ir.Var, ir.Var]) -> None:
    """WrongCall where an array is stored to that depends on something active, and its shadow is left out."""
    activity = Activity(function, pairs, ())
    for p in function.body.yields:
        if isinstance(p, ir.Var) and p not in pairs and activity.is_varied(p):
            suffix = SUFFIXES[asked.kind]
            stores = (op for op in function.body.inside if isinstance(op, ir.Store))
            origin = next((op.origin for op in stores if p in named_by(function, [op.array])), None)
            raise errors.WrongCall(
                f"{asked.kind}({function.name}) is called without `{p.name}{suffix}`",
                ir.place_of(origin),
                f"The values that the kernel stores to {p.name} depend on {', '.join(q.name for q in pairs)}.",
                f"Give {p.name}{suffix}=, an array like {p.name}.",
            )


# ------------------------------------------------------------------------------------------------------------- tangent


def _tangent(asked: Asked, function: ir.Function, pairs: Mapping[ir.Var, ir.Var], compiler: Compiler) -> ir.Function:
    builder = ir.Builder()
    dots: list[ir.Var | None] = []
    for p in function.body.args:
        dot = pairs.get(p)
        if dot is not None and not ir.is_array(p):
            dot = builder.load(dot, (ir.integer(0),), dot.name)
        dots.append(dot)
    extra = tuple(pairs.values())
    made = forward(function, dots, extra, [shadow.name for shadow in extra], compiler.derivative)
    body = made.body
    made = ir.with_body(made, ir.Region(body.args, (*builder.ops, *body.ops), body.yields))
    return checked(simplify(dataclasses.replace(made, result=None)), "forward")


# ------------------------------------------------------------------------------------------------------------- adjoint


def _adjoint(asked: Asked, function: ir.Function, pairs: Mapping[ir.Var, ir.Var], compiler: Compiler) -> ir.Function:
    launch = launch_in(function)
    if launch is None:
        raise errors.InternalError(f"{function.name} is not a nest of loops over blocks")
    trip, extra = launch.trip, tuple(pairs.values())
    arrays = {p: shadow for p, shadow in pairs.items() if ir.is_array(p)}
    numbers = {p: shadow for p, shadow in pairs.items() if p not in arrays}
    # what shadows there are the mirror names as it does what the function is called with
    own = dataclasses.replace(
        trip, names=(*trip.names, *(s.name for s in extra)), params=(*trip.params, *extra),
        body=ir.Region((*trip.body.args, *extra), trip.body.ops, trip.body.yields),
    )  # fmt: skip
    sweeps = reverse(own, [*arrays, *numbers], [None] * len(own.body.yields), compiler, arrays)

    def around(both: ir.Function) -> ir.Function:
        bars = both.body.yields[len(arrays) :]
        alone = ir.with_body(both, ir.with_ops(both.body, both.body.ops, bars))
        whole = launch.around(alone, list(numbers.values()))
        body = ir.with_ops(whole.body, whole.body.ops, extra)
        return checked(simplify(ir.with_body(whole, body)), "launched")

    made = both_sweeps(sweeps, (), False, None, _strategy(asked, launch), around)
    return checked(_leaving_arguments(made, set(extra)), "leaving arguments")


def _strategy(asked: Asked, launch: Launch) -> Strategy:
    """What makes the adjoint faster on the CPU takes the threads of a block one after the other."""
    has_threads = any(loop.level is not None for loop in launch.loops)
    is_plain = asked.strategy.machine == "cuda" and has_threads
    return dataclasses.replace(asked.strategy, tuned=False) if is_plain else asked.strategy


def _leaving_arguments(function: ir.Function, shadows: set[ir.Var]) -> ir.Function:
    """The function with copies of the arguments that it stores to, shadows aside: the caller's stay as they are."""
    stores = [op.array for op in function.body.inside if isinstance(op, ir.Store)]
    stored = named_by(function, stores)
    own = {p: dataclasses.replace(p) for p in function.body.args if ir.is_array(p) and p in stored and p not in shadows}
    if not own:
        return function
    copies = [ir.Copy(source=p, out=copy) for p, copy in own.items()]
    ops = (ir.substituted(op, own) for op in function.body.ops)
    return ir.with_body(function, ir.with_ops(function.body, (*copies, *ops)))
