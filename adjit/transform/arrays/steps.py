"""The shape of a program: its arrays and loops, as one would have written them, before it is differentiated.

    sizes ──► bounds ──► in place ──► views ──► dissolve ──► shared ──► picked ──► maps ──► interchange ──► substitution
          ──► origins ──► sink

In: a function as it was elaborated. Out: the same with few loops and few arrays. `stretches`: axes of length 1 may be
stretched; else sizes are checked first. `run_again`: the trips of its loops are, wherever that can be.
"""

from __future__ import annotations

import functools

from adjit.transform import ir
from adjit.transform.arrays.bounds import settle_indices, unchecked, without_places
from adjit.transform.arrays.in_place import change_in_place, make_all_trips
from adjit.transform.arrays.interchange import turn_inside_out
from adjit.transform.arrays.launches import settle_launches
from adjit.transform.arrays.offsets import move_origins
from adjit.transform.arrays.shared_nests import share_nests
from adjit.transform.arrays.sizes import settle_sizes
from adjit.transform.arrays.small_arrays import dissolve
from adjit.transform.arrays.uninitialised import check_written
from adjit.transform.rewrite.cheap_elements import substitute_elements, substitute_picked
from adjit.transform.rewrite.fusion import fuse_maps
from adjit.transform.rewrite.induction_variables import solve_list_lengths
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.sinking import sink
from adjit.transform.rewrite.verified import checked
from adjit.transform.rewrite.views import see_through_views
from adjit.transform.strategy import Strategy


def shape(
    elaborated: ir.Function,
    stretches: bool,
    strategy: Strategy,
    run_again: bool,
    launches: bool = False,
    bounds: bool = False,
) -> ir.Function:
    """The function to derive. `launches`: it has loops that were launches of kernels; `bounds`: indices are checked."""
    check_written(elaborated)
    read = elaborated if bounds else unchecked(elaborated)
    first = simplify(read if stretches else without_places(read))
    counted = solve_list_lengths(first)
    counted = checked(first if counted.body is first.body else simplify(counted), "simplified")
    settled = checked(settle_sizes(counted, not stretches), "settled")
    if bounds:
        settled = checked(settle_indices(settled, not stretches), "bounded")
    if launches:
        settled = checked(settle_launches(simplify(settled)), "launches settled")
    in_place = change_in_place(settled, run_again or strategy.trips == "again", not stretches)
    settled = checked(make_all_trips(in_place), "in place")
    if not strategy.uses("maps"):
        return checked(sink(simplify(settled)), "sunk")
    direct = see_through_views(simplify(settled))
    direct = checked(simplify(dissolve(direct) if strategy.uses("dissolve") else direct), "direct")
    shared = share_nests(direct)
    direct = direct if shared is direct else checked(simplify(shared), "shared")
    if strategy.uses("substitute"):
        direct = checked(substitute_picked(direct), "picked")
    fuse = functools.partial(fuse_maps, launched=strategy.machine == "cuda")
    mapped = checked(fuse(direct), "mapped")
    if strategy.uses("interchange"):
        mapped = checked(turn_inside_out(mapped, fuse), "turned")
    if strategy.uses("substitute"):
        mapped = checked(substitute_elements(mapped), "substituted")
    moved = checked(simplify(move_origins(mapped)), "moved") if strategy.uses("origins") else mapped
    return checked(sink(moved), "sunk")
