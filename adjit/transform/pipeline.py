"""The road: from a function and the types of its arguments to the source of its derivative.

    source ──► elaborate ──► arrays ──► derive ──► storage ──► sweeps ──► machine ──► emit
      read                   shape      forward, or both sweeps, as its kind asks   tune   write

In: a `Derivative`, which says what of which function, and numba types. Out: its IR, or its source as text.

What is for a GPU is loaded when a derivative for one is made, and the road of kernels is `kernel_pipeline.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numba import types

from adjit.errors import Unsupported
from adjit.transform import ir
from adjit.transform.arrays import fuse_launches, shape
from adjit.transform.derive import Compiler, Wanted, check_flow, check_places, mix_equal_values, wanted
from adjit.transform.emit import Emitted, emit, recorded
from adjit.transform.frontend import KernelLaunch, apart, elaborate, without_comments
from adjit.transform.kinds import IN_HALVES, derived, values_in
from adjit.transform.machine import check_finite, poll_progress, tune
from adjit.transform.rewrite.notes import Record, note, recording
from adjit.transform.rewrite.strip_markers import counting, drop_unrequested_intermediates, without_stop_gradient
from adjit.transform.rewrite.verified import checked
from adjit.transform.source.derivative import Derivative, at_level
from adjit.transform.source.routines import Routine, Routines, has_routines
from adjit.transform.strategy import CHEAPEST, Strategy
from adjit.transform.sweeps import gather_at_once, transposed_tangent

if TYPE_CHECKING:
    from adjit.transform.gpu import Plan
    from adjit.transform.gpu import Told as Told  # for those who ask


def source(
    derivative: Derivative, arg_types: Sequence[types.Type], vectormath: bool = False, fastmath: bool = False
) -> Emitted:
    """The source of a derivative for these argument types. `vectormath`: with vectorisable elementary functions;
    `fastmath`: what kernels are compiled with, which their source says."""
    if derivative.strategy.machine == "thread":
        from adjit.transform.gpu import emit_in_thread

        return recorded(emit_in_thread(_in_a_thread(derivative, tuple(arg_types))))
    if derivative.strategy.machine == "cuda":
        from adjit.transform.gpu import emit_plan

        return recorded(emit_plan(_plan_of(derivative, arg_types), fastmath))
    made = _tuned(derivative, build(derivative, tuple(arg_types)), vectormath)
    in_workspace = derivative.strategy.tuned and derivative.strategy.uses("workspace")
    routines, others = _routines_in(made, vectormath)
    main = emit(made, in_workspace=in_workspace, others=others)
    return recorded(dataclasses.replace(main, routines=routines))


def _routines_in(main: ir.Function, vectormath: bool) -> tuple[list[Emitted], dict[str, Any]]:
    """The sources of the functions that a function calls, each once, after those that it calls itself; and all that
    has a name there."""
    found: dict[Routine, Emitted] = {}
    others: dict[str, Any] = {}

    def add(function: ir.Function) -> None:
        for op in function.body.inside:
            if isinstance(op, ir.Call) and isinstance(op.callee, Routine) and op.callee not in found:
                routine = op.callee
                made = routine.flat(_tuned(routine.derivative, routine.whole, vectormath))
                add(made)
                emitted = emit(made, in_workspace=False, others=others)
                others.update({routine.name: routine, **emitted.globals})
                found[routine] = dataclasses.replace(emitted, arg_types=routine.arg_types)

    add(main)
    return list(found.values()), others


def explained(
    derivative: Derivative, arg_types: Sequence[types.Type], vectormath: bool = False
) -> tuple[ir.Function, list[Record]]:
    """The IR whose text `source` gives, and what the passes noted while it was made."""
    if derivative.strategy.machine == "thread":
        with recording() as records:
            made = _in_a_thread(derivative, tuple(arg_types))
        return made, records
    if derivative.strategy.machine == "cuda":
        from adjit.transform.gpu import as_numbers

        with recording() as records:
            made = _for_launches(without_stop_gradient(_built(derivative, tuple(map(as_numbers, arg_types)))))
        return made, records
    with recording() as records:
        made = _tuned(derivative, _built(derivative, tuple(arg_types)), vectormath)
    return made, records


def launches(derivative: Derivative, arg_types: Sequence[types.Type], fastmath: bool = False) -> Told:
    """What a derivative for a GPU launches, in order: the kernel, its line, its threads, how it adds up."""
    from adjit.transform.gpu import told

    return told(_plan_of(derivative, arg_types), fastmath)


def _plan_of(derivative: Derivative, arg_types: Sequence[types.Type]) -> Plan:
    from adjit.transform.gpu import as_numbers, numbers, planned

    def plan(made: ir.Function) -> Plan:
        asked = derivative.strategy
        given = numbers(made, arg_types)
        return planned(_for_launches(made), given, False, asked.deterministic, asked.wide, asked.uses("rows"))

    given = tuple(map(as_numbers, arg_types))
    made = without_stop_gradient(build(derivative, given), for_gpu=True)
    try:
        return plan(made)
    except Unsupported as fault:
        if not any(isinstance(op, ir.For) and op.level == "threads" for op in made.body.inside):
            raise
        # the threads of kernels that the program launches may have no memory for loops of lengths of their own
        alike = dataclasses.replace(derivative, strategy=dataclasses.replace(derivative.strategy, alike=True))
        try:
            return plan(without_stop_gradient(build(alike, given), for_gpu=True))
        except Unsupported:
            raise fault from None


def _for_launches(made: ir.Function) -> ir.Function:
    """The derivative with as few launches as may be."""
    return gather_at_once(fuse_launches(made))


def _in_a_thread(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """What one thread of a kernel does for it; values are computed again where it has no memory to keep them."""
    from adjit.transform.gpu import in_a_thread

    try:
        return in_a_thread(without_stop_gradient(_built(derivative, arg_types)))
    except Unsupported as fault:
        again = dataclasses.replace(derivative, strategy=dataclasses.replace(derivative.strategy, values="again"))
        try:
            return in_a_thread(without_stop_gradient(_built(again, arg_types)))
        except Unsupported:
            # the first one says what is wanted
            raise fault from None


def build(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    """The IR of a derivative for these argument types."""
    with recording():
        # a derivative inside another is just a function there
        return _built(derivative, arg_types)


def compiler() -> Compiler:
    """What the makers of derivatives ask for the rest of the road."""
    return Compiler(_primal_of, build, transposed_tangent)


def _built(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    is_primal = derivative.kind == "primal"
    return _primal_of(derivative, arg_types) if is_primal else derived(derivative, arg_types, compiler())


def _primal_of(derivative: Derivative, arg_types: tuple[types.Type, ...]) -> ir.Function:
    limited = derivative.memory_limit is not None
    asked = derivative.intermediates
    bounds = derivative.boundscheck and derivative.strategy.machine == "cpu"
    function, stretches, strategy = derivative.function, derivative.stretches, derivative.strategy
    differentiated = derivative.kind not in ("primal", "rounding")
    routines = Routines(derivative) if has_routines(derivative) else None
    given = function, arg_types, stretches, strategy, limited, asked, bounds, wanted(derivative), differentiated
    return primal(*given, routines)


def primal(
    function: Any,
    arg_types: tuple[types.Type, ...],
    stretches: bool = False,
    strategy: Strategy = CHEAPEST,
    run_again: bool = False,
    asked: Sequence[str] = (),
    bounds: bool = False,
    want: Wanted | None = None,
    differentiated: bool = False,
    routines: Routines | None = None,
) -> ir.Function:
    """The typed IR of the function to derive. `run_again`: the trips of its loops are, wherever that can be. `asked`:
    the names of places in it that are asked for. `bounds`: whether its indices are checked. `want`: the derivative that
    is, where one is to be looked for. `differentiated`: whether derivatives of it are made. `routines`: where functions
    that it calls may stay functions."""

    def inner(derivative: Derivative | KernelLaunch, given: tuple[types.Type, ...]) -> ir.Function:
        if isinstance(derivative, KernelLaunch):
            from adjit.transform.gpu.kernels import launched

            return launched(derivative, given, strategy, build)
        asked = derivative if strategy.tuned else at_level(derivative, tuned=False)
        checks = derivative.boundscheck and bounds
        return build(dataclasses.replace(asked, stretches=derivative.stretches or stretches, boundscheck=checks), given)

    if isinstance(function, Derivative):
        return without_comments(inner(function, arg_types))
    if isinstance(function, Routine):
        return without_comments(function.function)
    with recording() as records:
        elaborated = elaborate(function, arg_types, inner, routines)
    note(*records)
    check_places(elaborated, asked)
    if want is not None:
        check_flow(function, elaborated, records, want)
    elaborated = checked(counting(drop_unrequested_intermediates(elaborated, asked)), "elaborated")
    if differentiated:
        elaborated = checked(mix_equal_values(elaborated, inner), "mixed")
    launches = any(isinstance(op, ir.Call) and op.callee is apart for op in elaborated.body.inside)
    if launches:
        from adjit.transform.gpu.kernels import launched_apart

        elaborated = launched_apart(elaborated)
    return shape(elaborated, stretches, strategy, run_again, launches=launches, bounds=bounds)


def _tuned(derivative: Derivative, function: ir.Function, vectormath: bool) -> ir.Function:
    values, is_half = values_in(derivative, function.result), derivative.kind in IN_HALVES
    # what one half hands to the other may decide there
    is_fused = vectormath and derivative.kind in ("value_and_grad", "jvp")
    exact = [k for k in values if not is_fused or ir.is_reference(function.body.yields[k])]
    given = derivative.strategy, derivative.parallel, is_half, vectormath
    made = tune(without_stop_gradient(function), values, exact, *given)
    if derivative.nancheck:
        made = checked(check_finite(made), "guarded")
    return checked(poll_progress(made), "watched") if derivative.watched else made
