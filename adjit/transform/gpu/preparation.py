"""A program as a GPU does it best, before anyone asks where its loops run.

In: a function. Out: the same with extrema and products of matrices as loops, no idle fills and copies, checks before
loops, and products for powers.

    y = x ** 3.0        y = x ** 3, which is two products
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence

from numba import types

from adjit.errors import Unsupported
from adjit.transform import ir
from adjit.transform.analysis.extremes import as_atomic
from adjit.transform.machine.lanes import write_extrema
from adjit.transform.rewrite.hoisted_checks import checked_first
from adjit.transform.rewrite.products import products_as_loops
from adjit.transform.rewrite.verified import checked
from adjit.transform.rewrite.views import see_through_views
from adjit.transform.sweeps.clears import leave_out_fills, merge_clears, with_rims

_PRODUCTS = (2.0, 3.0, 4.0, -1.0, -2.0)  # exponents that are products, which a call of pow is not


def prepared(function: ir.Function) -> ir.Function:
    """The function for a GPU; Unsupported where complex numbers go in or come out."""
    if ir.pairs((*function.params, function.result)):
        raise Unsupported(
            f"complex numbers as arguments or results of {function.name}, for a GPU",
            ir.place_of(function.origin),
            "",
            "Pass and return real and imaginary parts.",
        )
    function = checked(see_through_views(checked(products_as_loops(function), "products")), "views")
    function = checked(write_extrema(function, for_gpu=True), "extrema")
    function = checked(leave_out_fills(merge_clears(function), stored_too=True), "filled")
    function = checked(with_rims(function), "with rims")
    return checked(ir.with_body(function, ir.rewritten(function.body, _for_kernels)), "checked first")


def _for_kernels(op: ir.Op) -> ir.Op | Sequence[ir.Op]:
    """The operation as a GPU does it best: checks are before loops, a power of a whole number is products, and one
    operation raises an element."""
    if isinstance(op, ir.For):
        return checked_first(op)
    if isinstance(op, ir.If):
        return as_atomic(op)
    if isinstance(op, ir.Store) and op.add and ir.is_literal(op.value, 0):
        return ()
    if isinstance(op, ir.Call) and ir.canonical(op.callee) is operator.pow:
        base, exponent = op.args
        is_float = isinstance(exponent, ir.Const) and isinstance(exponent.type, types.Float)
        if is_float and op.outs[0].type == base.type and exponent.value in _PRODUCTS:  # type: ignore[union-attr]
            return dataclasses.replace(op, args=(base, ir.integer(int(exponent.value))))  # type: ignore[union-attr]
    return op
