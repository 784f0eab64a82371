"""A derivative as it is compiled: with threads, lanes and vectors, or without.

    views ──► threads ──► products of rows ──► extrema ──► short sums ──► rows ──► lanes ──► reassociate ──► one pass
          ──► functions of rows ──► vectors ──► hoisting ──► fused products

In: a derivative, the places of the user's values among its results. Out: the same, for the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjit.transform import ir
from adjit.transform.machine.hoisted_arrays import hoist_scratch
from adjit.transform.machine.lanes import lay_lanes, write_extrema
from adjit.transform.machine.multiply_add import fuse_products
from adjit.transform.machine.row_products import write_row_products
from adjit.transform.machine.threads import threaded
from adjit.transform.machine.unroll_and_jam import take_rows
from adjit.transform.machine.unroll_short_sums import write_out
from adjit.transform.machine.vectors import (
    call_for_rows,
    go_through_once,
    in_program_order,
    reassociate,
    search_extrema,
    vectorise,
)
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.verified import checked
from adjit.transform.rewrite.views import see_through_views
from adjit.transform.strategy import Strategy


def tune(
    function: ir.Function,
    values: Sequence[int],
    strategy: Strategy,
    is_parallel: bool,
    is_half: bool,
    vectormath: bool,
) -> ir.Function:
    """The function as it is emitted. `values`: results that are not derivatives, and keep their bits.

    `is_half`: one half of two sweeps, which went through threads before they were cut. `vectormath`: elementary
    functions of strips.
    """
    if function.overlapping:
        # what they prove of elements they prove of arrays under one name
        return function
    if strategy.tuned and not (is_half and is_parallel):
        # views of the rules' own; what threads make sees its chunk through views
        direct = see_through_views(function)
        function = function if direct is function else checked(simplify(direct), "direct")
    made = function if is_half else threaded(function, values, is_parallel, strategy)
    if not strategy.tuned:
        return made
    if not strategy.uses("sums"):
        made = in_program_order(made)
    if strategy.uses("dots"):
        summed = write_row_products(made)
        made = made if summed is made else checked(simplify(see_through_views(summed)), "products of rows")
    if strategy.uses("extrema"):
        made = checked(write_extrema(made), "extrema")
    short = write_out(made)
    made = made if short is made else checked(simplify(short), "written out")
    if strategy.uses("jam"):
        several = take_rows(made, values)
        made = made if several is made else checked(simplify(several), "rows at once")
    if strategy.uses("lanes"):
        laid = lay_lanes(made, values, strategy)
        made = made if laid is made else checked(simplify(checked(laid, "in lanes")), "in lanes")
    if strategy.uses("reassociate"):
        made = checked(reassociate(made, values, vectormath), "reassociated")
    if strategy.uses("merge"):
        fewer = go_through_once(made)
        made = made if fewer is made else checked(simplify(fewer), "in one pass")
    if vectormath:
        if strategy.uses("functions"):
            rows = call_for_rows(made, values)
            made = made if rows is made else checked(simplify(checked(rows, "rows")), "functions of rows")
        made = checked(vectorise(made), "vectorised")
    if strategy.uses("search"):
        searched = search_extrema(made)
        made = made if searched is made else checked(simplify(searched), "searched")
    if strategy.uses("hoist"):
        made = checked(hoist_scratch(made), "hoisted")
    if strategy.uses("contract"):
        made = checked(fuse_products(made, values), "contracted")
    return made
