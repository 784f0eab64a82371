"""The road of kernels: from a `@cuda.jit` function and what is asked of it to the source of that.

    source ──► elaborate ──► nest ──► by elements ──► arrays ──► derive ──► machine ──► emit
      read      a kernel     loops    caches gone     shape     both sweeps   tune       write

In: an `Asked`, which says what of which kernel, and numba types. Out: its IR, or its source as text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from numba import types

from adjit.errors import Unsupported
from adjit.transform import ir
from adjit.transform.arrays import shape
from adjit.transform.emit import Emitted, emit
from adjit.transform.frontend import KernelLaunch, elaborate
from adjit.transform.gpu import Plan, Told, emit_plan, planned, told
from adjit.transform.gpu.kernels import (
    Asked,
    derived_kernel,
    in_few_stretches,
    launched_apart,
    nested,
    telling,
    without_levels,
)
from adjit.transform.machine import tune
from adjit.transform.pipeline import build, compiler
from adjit.transform.rewrite.notes import Record, recording
from adjit.transform.rewrite.strip_markers import without_stop_gradient
from adjit.transform.rewrite.verified import checked
from adjit.transform.source.derivative import Derivative


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
    asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type], fastmath: bool = False
) -> Told:
    """What is launched on a GPU, as `launches` has it."""
    return told(build_kernel(asked, arg_types, given).analysis(_planner(asked)), fastmath)


def build_kernel(asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]) -> ir.Function:
    """Its IR: for a GPU the nest, with its levels, for the CPU loops."""
    if asked.strategy.machine == "cuda":
        return _nest_for_threads(asked, arg_types, given)
    made = without_stop_gradient(derived_nest(asked, arg_types, given))
    values = range(len(made.body.yields) - len(given))
    return tune(without_levels(made), values, values, asked.strategy, False, False, False)


def _nest_for_threads(asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]) -> ir.Function:
    """The nest. Where threads have no memory to keep values that its reverse reads, these are computed again; or the
    threads make trips alike, so that it is known how many values there are."""
    first: ir.Function | None = None
    for changed in ({}, {"values": "again"}, {"alike": True}, {"alike": True, "values": "again"}):
        strategy = dataclasses.replace(asked.strategy, **changed)
        made = without_stop_gradient(
            derived_nest(dataclasses.replace(asked, strategy=strategy), arg_types, given), for_gpu=True
        )
        first = first or made
        with contextlib.suppress(Unsupported):
            made.analysis(_planner(asked))
            return made
    assert first is not None
    # which says what is wanted
    return first


def _planner(asked: Asked) -> Callable[[ir.Function], Plan]:
    return _planner_of(asked.strategy.deterministic, asked.strategy.wide)


@functools.cache
def _planner_of(deterministic: bool, wide: bool) -> Callable[[ir.Function], Plan]:
    """One for each choice, so that what a function is planned as is known by it."""
    return functools.partial(planned, of_kernel=True, deterministic=deterministic, wide=wide)


def derived_nest(asked: Asked, arg_types: Sequence[types.Type], given: Sequence[types.Type]) -> ir.Function:
    """Its IR, with loops that say what are blocks and what are threads."""
    function = shape(in_few_stretches(asked, arg_types, build), True, asked.strategy, False)
    return derived_kernel(asked, function, given, compiler())


def watched_program(
    function: Any, arg_types: Sequence[types.Type], launching: Callable[[KernelLaunch], Callable[..., None]]
) -> Emitted | None:
    """The source of a program, for plain Python, in which launches are calls of what `launching` gives, with the
    arguments of the kernel, the number of blocks along each axis, and the bytes of shared memory; None if it has none.
    """
    found: list[KernelLaunch] = []

    def inner(asked: Derivative | KernelLaunch, given: tuple[types.Type, ...]) -> ir.Function:
        if isinstance(asked, Derivative):
            return build(asked, given)
        found.append(asked)
        args = tuple(ir.Var(f"argument_{k}", type_) for k, type_ in enumerate(given))
        call = ir.Call(callee=launching(asked), args=args, outs=(), effect=True)
        return ir.Function("launch", tuple(a.name for a in args), args, ir.Region(args, (call,), ()), None)

    made = checked(elaborate(function, arg_types, inner), "elaborated")
    return emit(without_stop_gradient(launched_apart(made)), in_workspace=False) if found else None


def watched_source(asked: Asked, arg_types: Sequence[types.Type]) -> Emitted:
    """The source of the kernel's own nest, which notes who touches which element: for plain Python."""
    return emit(without_levels(telling(nested(asked, arg_types, build))), in_workspace=False)
