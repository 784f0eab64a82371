"""A kernel as the nest that is derived: elaborated, cut into stretches, tiles that are caches seen through.

In: an `Asked`, or a launch in a program, and numba types. Out: loops over elements, or over blocks and threads.

    d[i] = a[i] * b[i]   in a thread      ->      for i in range(n): d[i] = a[i] * b[i]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from numba import types

from adjit.transform import ir
from adjit.transform.frontend import KernelLaunch, elaborate_kernel, without_comments
from adjit.transform.gpu.kernels.atomic_extrema import in_rounds
from adjit.transform.gpu.kernels.barrier_intervals import nest
from adjit.transform.gpu.kernels.block_limits import check_shared
from adjit.transform.gpu.kernels.element_loops import by_elements
from adjit.transform.gpu.kernels.interval_merging import in_one_stretch
from adjit.transform.gpu.kernels.launch_derivatives import Asked
from adjit.transform.gpu.kernels.launches import without_levels
from adjit.transform.gpu.kernels.race_detection import check_races
from adjit.transform.gpu.kernels.tile_forwarding import see_through_tiles
from adjit.transform.gpu.kernels.uniform_trip_counts import trips_alike
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked
from adjit.transform.strategy import Strategy

Build = Callable[..., ir.Function]  # what makes the derivatives that a kernel calls


def nested(asked: Asked, arg_types: Sequence[types.Type], build: Build) -> ir.Function:
    """The nest as the user wrote it."""
    elaborated = checked(elaborate_kernel(asked.kernel, arg_types, asked.launched, build), "elaborated")
    return checked(simplify(checked(nest(elaborated), "nest")), "simplified")


def in_few_stretches(asked: Asked, arg_types: Sequence[types.Type], build: Build) -> ir.Function:
    """The nest as it is to be derived: tiles are seen through, and elements are what it is over."""
    made = nested(asked, arg_types, build)
    check_races(made)
    check_shared(made)
    made = checked(in_rounds(made, asked.launched, functools.partial(_few, strategy=asked.strategy)), "rounds")
    return checked(simplify(trips_alike(made)), "alike") if asked.strategy.alike else made


def _few(made: ir.Function, strategy: Strategy) -> ir.Function:
    if strategy.uses("tiles"):
        made = checked(simplify(see_through_tiles(made)), "seen through")
        made = checked(simplify(in_one_stretch(made)), "one stretch")
    return checked(by_elements(made), "by elements")


def launched(launch: KernelLaunch, given: Sequence[types.Type], strategy: Strategy, build: Build) -> ir.Function:
    """What a launch does, in a program: loops over elements, or over blocks and threads."""
    kernel = Asked(launch.kernel, "adjoint", launch.launched, (), strategy)
    made = without_comments(in_few_stretches(kernel, given[: len(given) - launch.launched.axes - 1], build))
    return made if strategy.machine == "cuda" else without_levels(made)
