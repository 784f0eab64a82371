"""Products of two vectors, of which one is a part of an array that a trip looks at, as sums in the text.

    for i in range(n):                           for i in range(n):
        x[i] = b[i] - L[i, :i] @ x[:i]               total = 0.0
                                                     for k in range(i): total += L[i, k] * x[k]
                                                     x[i] = b[i] - total

In: a function that is ready to be emitted. Out: the same without such calls. A call of BLAS, the views for it and the
check that they fit take as long as some hundred products. Whole vectors are left to BLAS, which has threads for
long ones. The sums are in any order, as those of BLAS are.
"""

from __future__ import annotations

from adjit.transform import ir
from adjit.transform.analysis.extents import is_product, ndim
from adjit.transform.analysis.uses import Uses
from adjit.transform.ir.types import array_type_of
from adjit.transform.rewrite.products import product_as_loops


def write_row_products(function: ir.Function) -> ir.Function:
    """The function with its products of rows as sums; the same object if there are none."""
    products = [op for op in function.body.inside if isinstance(op, ir.Call) and _is_of_vectors(op)]
    if not products:
        return function
    uses, made = function.analysis(Uses), function.body.made
    replaced: dict[ir.Op, list[ir.Op]] = {}
    for product in products:
        views = [made.get(factor) for factor in product.args]
        is_of_trip = any(isinstance(view, ir.Slice) and any(map(_is_loop, uses.around[view])) for view in views)
        # what a thread raises does not get out of it
        is_threads = any(isinstance(op, ir.For) and op.parallel for op in uses.around[product])
        if is_of_trip and not is_threads:
            replaced[product] = product_as_loops(product, made)
    return ir.with_body(function, ir.replaced(function.body, replaced)) if replaced else function


def _is_loop(op: ir.Op) -> bool:
    return isinstance(op, ir.For | ir.While)


def _is_of_vectors(op: ir.Call) -> bool:
    if not is_product(op) or any(ndim(factor) != 1 for factor in op.args):
        return False
    kinds = {array_type_of(factor).dtype for factor in op.args}
    return len(kinds) == 1 and ir.is_float(op.outs[0].type)
