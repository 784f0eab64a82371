"""A derivative as it is compiled: with threads, lanes and vectors, or without.

    threads ──► products of rows ──► extrema ──► short sums ──► rows at once ──► lanes ──► reassociation ──► one pass
            ──► functions of rows ──► vectors ──► search ──► hoisting ──► fused products

In: a derivative, the places of the user's values among its results. Out: the same, for the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

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
from adjit.transform.rewrite.passes import Pass, run_passes
from adjit.transform.rewrite.simplify import simplify
from adjit.transform.rewrite.views import see_through_views
from adjit.transform.strategy import Strategy


def tune(
    function: ir.Function,
    values: Sequence[int],
    exact: Sequence[int],
    strategy: Strategy,
    is_parallel: bool,
    is_half: bool,
    vectormath: bool,
) -> ir.Function:
    """The function as it is emitted. `values`: results that are not derivatives, of which sums keep their order;
    `exact`: those whose products round before they are added.

    `is_half`: one half of two sweeps, which went through threads before they were cut. `vectormath`: elementary
    functions of strips.
    """
    if function.overlapping:
        # what they prove of elements they prove of arrays under one name
        return function
    if strategy.tuned and not (is_half and is_parallel):
        # views of the rules' own; what threads make sees its chunk through views
        function = run_passes((Pass("direct", see_through_views, then=simplify),), function)
    made = function if is_half else threaded(function, values, is_parallel, strategy)
    if not strategy.tuned:
        return made
    uses = strategy.uses
    passes = (
        Pass("program order", in_program_order, not uses("sums")),
        Pass("products of rows", write_row_products, uses("dots"), lambda made: simplify(see_through_views(made))),
        Pass("extrema", write_extrema, uses("extrema")),
        Pass("short sums", write_out, then=simplify),
        Pass("rows at once", partial(take_rows, values=values), uses("jam"), simplify),
        Pass("lanes", partial(lay_lanes, values=values, strategy=strategy), uses("lanes"), simplify),
        Pass("reassociation", partial(reassociate, values=values, vectormath=vectormath), uses("reassociate")),
        Pass("one pass", go_through_once, uses("merge"), simplify),
        Pass("functions of rows", partial(call_for_rows, values=values), vectormath and uses("functions"), simplify),
        Pass("vectors", vectorise, vectormath),
        Pass("search", search_extrema, uses("search"), simplify),
        Pass("hoisting", hoist_scratch, uses("hoist")),
        Pass("fused products", partial(fuse_products, values=values, exact=exact), uses("contract")),
    )
    return run_passes(passes, made)
