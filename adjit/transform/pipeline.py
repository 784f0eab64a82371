"""The road: from a function and the types of its arguments to the source of its derivative.

    source ──► elaborate ──► arrays ──► derive ──► storage ──► sweeps ──► machine ──► emit
      read                   shape      forward, or both sweeps, as its kind asks   tune   write

In: a `Derivative`, which says what of which function, and numba types. Out: its IR, or its source as text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from adjit.errors import Unsupported
from adjit.transform import ir
from adjit.transform.arrays import shape
from adjit.transform.cuda import (
    Plan,
    as_numbers,
    emit_in_thread,
    emit_plan,
    in_a_thread,
    launch_table,
    numbers,
    planned,
)
from adjit.transform.derive import Compiler
from adjit.transform.elaborate import KernelLaunch, elaborate, elaborate_kernel, without_comments
from adjit.transform.emit import Emitted, emit
from adjit.transform.kernels import (
    Asked,
    by_elements,
    check_races,
    check_shared,
    derived_kernel,
    in_one_stretch,
    launched_apart,
    nest,
    see_through_tiles,
    telling,
    without_levels,
)
from adjit.transform.kinds import IN_HALVES, derived, values_in
from adjit.transform.machine import guarded, tune
from adjit.transform.rewrite.checked import checked
from adjit.transform.rewrite.notes import Record, recording
from adjit.transform.rewrite.released import released
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.source.derivative import Derivative, at_level
from adjit.transform.strategy import CHEAPEST, Strategy
from adjit.transform.sweeps import transposed_tangent


def source(
    derivative: Derivative, arg_types: Sequence[types.Type], vectormath: bool = False, fastmath: bool = False
) -> Emitted:
    """The source of a derivative for these argument types. `vectormath`: with vectorisable elementary functions;
    `fastmath`: what kernels are compiled with, which their source says."""
    if derivative.strategy.machine == "thread":
        return emit_in_thread(_in_a_thread(derivative, tuple(arg_types)))
    if derivative.strategy.machine == "cuda":
        made = released(build(derivative, tuple(map(as_numbers, arg_types))), for_gpu=True)
        return emit_plan(_plan_of(derivative, made, arg_types), fastmath)
    made = _tuned(derivative, build(derivative, tuple(arg_types)), vectormath)
    return emit(made, in_workspace=derivative.strategy.tuned and derivative.strategy.uses("workspace"))


def explained(
    derivative: Derivative, arg_types: Sequence[types.Type], vectormath: bool = False
) -> tuple[ir.Function, list[Record]]:
    """The IR whose text `source` gives, and what the passes noted while it was made."""
    if derivative.strategy.machine == "thread":
        with recording() as records:
            made = _in_a_thread(derivative, tuple(arg_types))
        return made, records
    if derivative.strategy.machine == "cuda":
        with recording() as records:
            made = released(_built(derivative, tuple(map(as_numbers, arg_types))))
        return made, records
    with recording() as records:
        made = _tuned(derivative, _built(derivative, tuple(arg_types)), vectormath)
    return made, records


def _in_a_thread(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """What one thread of a kernel does for it; values are computed again where it has no memory to keep them."""
    try:
        return in_a_thread(released(_built(derivative, arg_types)))
    except Unsupported as fault:
        again = dataclasses.replace(derivative, strategy=dataclasses.replace(derivative.strategy, values="again"))
        try:
            return in_a_thread(released(_built(again, arg_types)))
        except Unsupported:
            # the first one says what is wanted
            raise fault from None


def launches(derivative: Derivative, arg_types: Sequence[types.Type]) -> list[tuple[str, str, str, str]]:
    """What a derivative for a GPU launches, in order: the kernel, its line, its threads, how it adds up."""
    made = released(build(derivative, tuple(map(as_numbers, arg_types))), for_gpu=True)
    return launch_table(_plan_of(derivative, made, arg_types))


def _plan_of(derivative: Derivative, made: ir.Function, arg_types: Sequence[types.Type]) -> Plan:
    return planned(made, numbers(made, arg_types), deterministic=derivative.strategy.deterministic)


def build(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """The IR of a derivative for these argument types."""
    with recording():
        # a derivative inside another is just a function there
        return _built(derivative, arg_types)


def _built(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    compiler = Compiler(_primal_of, build, transposed_tangent)
    is_primal = derivative.kind == "primal"
    return _primal_of(derivative, arg_types) if is_primal else derived(derivative, arg_types, compiler)


def _primal_of(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    limited = derivative.memory_limit is not None
    return primal(derivative.function, arg_types, derivative.stretches, derivative.strategy, limited)


def primal(
    function: Any,
    arg_types: tuple[types.Type, ...],
    stretches: bool = False,
    strategy: Strategy = CHEAPEST,
    run_again: bool = False,
) -> ir.Function:
    """The typed IR of the function to derive. `run_again`: the trips of its loops are, wherever that can be."""

    def inner(derivative: Derivative | KernelLaunch, given: tuple[types.Type, ...]) -> ir.Function:
        if isinstance(derivative, KernelLaunch):
            return _launched(derivative, given, strategy)
        asked = derivative if strategy.tuned else at_level(derivative, tuned=False)
        return build(dataclasses.replace(asked, stretches=derivative.stretches or stretches), given)

    if isinstance(function, Derivative):
        return without_comments(inner(function, arg_types))
    elaborated = checked(elaborate(function, arg_types, inner), "elaborated")
    alone = launched_apart(elaborated)
    return shape(alone, stretches, strategy, run_again, launches=alone is not elaborated)


def _tuned(derivative: Derivative, function: ir.Function, vectormath: bool) -> ir.Function:
    values, is_half = values_in(derivative, function.result), derivative.kind in IN_HALVES
    made = tune(released(function), values, derivative.strategy, derivative.parallel, is_half, vectormath)
    if not derivative.boundscheck and not derivative.nancheck:
        return made
    return checked(guarded(made, derivative.boundscheck, derivative.nancheck), "guarded")


# ------------------------------------------------------------------------------------------------------------- kernels


def kernel_source(
    asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type], fastmath: bool = False
) -> Emitted:
    """The source of what is asked of a kernel, for arguments and shadows of these types; as `source`."""
    return emitted_kernel(asked, build_kernel(asked, arg_types, given), fastmath)


def emitted_kernel(asked: Asked, made: ir.Function, fastmath: bool = False) -> Emitted:
    """The source of what `build_kernel` makes."""
    if asked.strategy.machine == "cuda":
        return emit_plan(made.analysis(_planner(asked)), fastmath)
    return emit(made, in_workspace=asked.strategy.tuned and asked.strategy.uses("workspace"))


def explained_kernel(
    asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]
) -> tuple[ir.Function, list[Record]]:
    """The IR whose text `kernel_source` gives, and what the passes noted while it was made."""
    with recording() as records:
        made = build_kernel(asked, arg_types, given)
    return without_levels(made), records


def kernel_launches(
    asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]
) -> list[tuple[str, str, str, str]]:
    """What is launched on a GPU, as `launches` has it."""
    return launch_table(build_kernel(asked, arg_types, given).analysis(_planner(asked)))


def build_kernel(asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]) -> ir.Function:
    """Its IR: for a GPU the nest, with its levels, for the CPU loops."""
    if asked.strategy.machine == "cuda":
        return _nest_for_threads(asked, arg_types, given)
    made = released(derived_nest(asked, arg_types, given))
    return tune(without_levels(made), range(len(made.body.yields) - len(given)), asked.strategy, False, False, False)


def _nest_for_threads(asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]) -> ir.Function:
    """The nest, whose values are computed again where threads have no memory to keep them."""
    made = released(derived_nest(asked, arg_types, given), for_gpu=True)
    try:
        made.analysis(_planner(asked))
    except Unsupported:
        again = dataclasses.replace(asked, strategy=dataclasses.replace(asked.strategy, values="again"))
        other = released(derived_nest(again, arg_types, given), for_gpu=True)
        try:
            other.analysis(_planner(asked))
        except Unsupported:
            # the first one says what is wanted
            return made
        return other
    return made


def _planner(asked: Asked) -> Callable[[ir.Function], Plan]:
    return _planned_in_order if asked.strategy.deterministic else _planned


def _planned(function: ir.Function) -> Plan:
    return planned(function, of_kernel=True)


def _planned_in_order(function: ir.Function) -> Plan:
    return planned(function, of_kernel=True, deterministic=True)


def derived_nest(asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]) -> ir.Function:
    """Its IR, with loops that say what are blocks and what are threads."""
    function = shape(_in_few_stretches(asked, arg_types), True, asked.strategy, False)
    compiler = Compiler(_primal_of, build, transposed_tangent)
    return derived_kernel(asked, function, given, compiler)


def _launched(asked: KernelLaunch, given: Sequence[types.Type], strategy: Strategy) -> ir.Function:
    """What a launch does, in a program: loops over elements, or over blocks and threads."""
    kernel = Asked(asked.kernel, "adjoint", asked.launched, (), strategy)
    made = without_comments(_in_few_stretches(kernel, given[: len(given) - asked.launched.axes - 1]))
    return made if strategy.machine == "cuda" else without_levels(made)


def _in_few_stretches(asked: Asked, arg_types: Sequence[types.Type]) -> ir.Function:
    """The nest of a kernel as it is to be derived: tiles are seen through, and elements are what it is over."""
    nested = _nest(asked, arg_types)
    check_races(nested)
    check_shared(nested, asked.kind != "primal")
    if asked.strategy.uses("tiles"):
        nested = checked(simplify(see_through_tiles(nested)), "seen through")
        nested = checked(simplify(in_one_stretch(nested)), "one stretch")
    return checked(by_elements(nested), "by elements")


def watched_source(asked: Asked, arg_types: Sequence[types.Type]) -> Emitted:
    """The source of the kernel's own nest, which notes who touches which element: for plain Python."""
    return emit(without_levels(telling(_nest(asked, arg_types))), in_workspace=False)


def _nest(asked: Asked, arg_types: Sequence[types.Type]) -> ir.Function:
    elaborated = checked(elaborate_kernel(asked.kernel, arg_types, asked.launched, build), "elaborated")
    return checked(simplify(checked(nest(elaborated), "nest")), "simplified")
